"""Engine: an elimination on every rank, with the sources of all-pairs reductions shared out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partialmethod
from typing import Any

import numpy as np

from semiring.distributed import Comm, World
from semiring.host.devices import host
from semiring.host.types import Array, Blocks, Edges, Fields

from ..estimates import Estimate
from ..plans import Plan
from ..question import Question
from . import elimination
from .base import Asked, Engine, Kind, planned
from .elimination import eliminated
from .factored import Eliminated


class Spread(Engine):
    """An engine on every GPU (one for host ranks); each reduces its `share` (rank, ranks) of lines, one has rows."""

    _ranks: World | None = None

    def __init__(self, ranks: World, engines: list[Any]) -> None:
        self.__dict__.update(engines[0].__dict__)
        self._ranks, self._engines = ranks, engines

    def _shared(self, name: str, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        ranks = self._ranks
        if ranks is None:  # unpickled elsewhere
            yield from getattr(super(), name)(of, columns=columns, **share)
            return

        def work(comm: Comm) -> list[tuple[np.ndarray, Array]]:
            engine = self._engines[ranks.local_ranks.index(comm.rank)]
            # Queue everything on the device before fetching, which synchronises.
            found = list(getattr(engine, name)(of, columns=columns, share=(comm.rank, ranks.grid.size)))
            return [(positions, host(values)) for positions, values in found]

        for found in ranks.allgather(ranks.run(work)):
            yield from found

    reduced, worst = partialmethod(_shared, "reduced"), partialmethod(_shared, "worst")


class SharedOut(Spread, Eliminated):
    """An elimination on each of several ranks."""

    def flows(
        self, edges: Edges, sources: np.ndarray, asked: Asked, report: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Each rank takes a share of the sources; results are added in rank order."""
        ranks = self._ranks
        if ranks is None:
            return super().flows(edges, sources, asked, report)
        bounds = [len(sources) * k // ranks.grid.size for k in range(ranks.grid.size + 1)]
        lock, done = threading.Lock(), [0] * ranks.grid.size

        def work(comm: Comm) -> tuple[np.ndarray, np.ndarray] | None:
            start, stop = bounds[comm.rank : comm.rank + 2]

            def lines(part: slice) -> np.ndarray:
                assert callable(asked)
                return asked(slice(start + part.start, start + part.stop))

            def progress(count: int) -> None:
                with lock:
                    done[comm.rank] = count
                    report(sum(done))

            engine = self._engines[ranks.local_ranks.index(comm.rank)]
            return Eliminated.flows(engine, edges, sources[start:stop], lines if callable(asked) else asked, progress)

        found = [of_rank for of_rank in ranks.allgather(ranks.run(work)) if of_rank is not None]
        if len(found) < ranks.grid.size:
            return None
        along, ends = (sum(parts[1:], start=parts[0]) for parts in zip(*found, strict=True))
        return along, ends


def ranks_of(question: Question, options: Fields | None = None) -> World:
    from ...big.distributed.solving import world_of

    return world_of(question.wants.gpus, options)


def on_one(question: Question) -> Question:
    ranks = ranks_of(question, question.wants.options)
    device = "cuda" if ranks.device == "cuda" else None
    return replace(question, wants=replace(question.wants, gpus=None, device=device, options=ranks.options))


def spread(question: Question, name: str, found: Estimate) -> Estimate:
    """One rank's estimate; on the host times the processes of a machine."""
    ranks, plan = ranks_of(question), planned(question.once(on_one), found)
    here = found.bytes * (ranks.processes_on_node if ranks.device == "cpu" else 1)
    plan = replace(
        plan, engine=name, matrix_bytes=here, beside_bytes=here,
        host_bytes=ranks.processes_on_node * plan.host_bytes,
    )  # fmt: skip
    return replace(found, engine=name, bytes=here, plan=plan)


def _estimate(question: Question) -> Estimate:
    # Order and structure are found once, there.
    return spread(question, ENGINE.name, elimination.ENGINE.estimate(question.once(on_one)))


def _open(question: Question, plan: Plan) -> SharedOut:
    ranks, one = ranks_of(question), question.once(on_one)
    if ranks.device == "cpu" and ranks.in_one_process:
        return SharedOut(ranks, [eliminated(one)] * ranks.grid.size)
    return SharedOut(ranks, ranks.run(lambda comm: eliminated(one)))


ENGINE = Kind(
    "shared", _estimate, _open, devices=("cpu", "cuda"), orders=True, gpus=True, answers_to="elimination",
    on_request_only=True,
)  # fmt: skip
