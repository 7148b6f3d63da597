"""A sparse graph eliminated on every rank, and all pairs shared out: each sweeps from some of the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.distributed import Comm, World

from ..choosing import Asked, Question
from ..eliminating import eliminated
from ..engines.base import host
from ..engines.elimination import Eliminated
from ..graph import Graph
from ..log import tell
from ..plans import Plan
from ..problem import Request


class SharedOut(Eliminated):
    """An elimination of which every rank has the whole; reductions of all pairs are done side by side.

    Rows and single distances are asked of one of them.

    Parameters
    ----------
    ranks : World
    engines : list of Eliminated
        Those of the ranks in this process.
    """

    _ranks: World | None = None

    def __init__(self, ranks: World, engines: list[Eliminated]) -> None:
        self.__dict__.update(engines[0].__dict__)
        self._ranks, self._engines = ranks, engines

    def reduced(
        self, of: Callable[[Any], Any], *, columns: bool = False, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Every rank takes a share of the panels."""
        return self._shared(Eliminated.reduced, of, columns, share)

    def worst(
        self, of: Callable[[Any], Any], *, columns: bool = False, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Every rank takes a share of the lines."""
        return self._shared(Eliminated.worst, of, columns, share)

    def _shared(
        self, found_by: Callable[..., Any], of: Callable[[Any], Any], columns: bool, share: tuple[int, int]
    ) -> Iterator[tuple[np.ndarray, Any]]:
        ranks = self._ranks
        if ranks is None:  # unpickled elsewhere
            yield from found_by(self, of, columns=columns, share=share)
            return

        def work(comm: Comm) -> list[tuple[np.ndarray, Any]]:
            engine = self._engines[ranks.mine.index(comm.rank)]
            # All is given to the device before anything is fetched, which waits for what was given until then.
            found = list(found_by(engine, of, columns=columns, share=(comm.rank, ranks.grid.size)))
            return [(at, host(values)) for at, values in found]

        for found in ranks.everyone(ranks.each(work)):
            yield from found


def engine(graph: Graph, s: Semiring, request: Request, ranks: World, asked: Asked) -> tuple[Eliminated, Plan]:
    """The elimination on every rank, and its plan on one.

    Raises
    ------
    As `shortest_paths` with engine="elimination".
    """
    device = "cuda" if ranks.device == "cuda" else None
    question = Question(graph, s, request, replace(asked, gpus=None, engine="elimination", device=device))
    plan = question.plan  # order and structure are found once, here
    tell(plan, request.callback, stacklevel=6)
    return SharedOut(ranks, ranks.each(lambda comm: eliminated(question))), plan
