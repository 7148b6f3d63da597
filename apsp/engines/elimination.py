"""A sparse graph, eliminated: any row, column, entry or block is computed from its panels when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.sparse import Analysis, Elimination

from .base import Engine


class Eliminated(Engine):
    """The closure of a graph's arcs in factored form.

    Parameters
    ----------
    analysis : Analysis
        The structure of the arcs.
    weights : array, shape (arcs,)
        In the dtype to compute in.
    semiring : Semiring
    threads : int, optional
    order : str or array_like
        How the analysis was asked for: what is pickled is the arcs, and they are eliminated anew.

    Raises
    ------
    DivergenceError
        If the closure does not exist.
    MemoryNeeded
        If the panels do not fit.
    """

    name = "elimination"

    def __init__(
        self,
        analysis: Analysis,
        weights: np.ndarray,
        semiring: Semiring,
        threads: int | None = None,
        order: Any = "auto",
    ) -> None:
        self.analysis, self.weights, self.semiring, self.threads, self.order = (
            *(analysis, weights, semiring, threads, order),
        )
        self.elimination = Elimination(analysis, weights, semiring, dtype=weights.dtype, threads=threads)
        self.shape, self.dtype = (analysis.n, analysis.n), self.elimination.dtype

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in ("weights", "semiring", "threads", "order")}
        return kept | {"tails": self.analysis.tails, "heads": self.analysis.heads, "n": self.analysis.n}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        analysis = Analysis(kept["tails"], kept["heads"], kept["n"], kept["order"])
        self.__init__(analysis, *(kept[name] for name in ("weights", "semiring", "threads", "order")))  # type: ignore[misc]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.elimination.nbytes

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """A climb and a sweep a batch."""
        return self.elimination.rows(wanted, block=block)

    def column(self, j: int) -> np.ndarray:
        """One sweep of the transposed panels."""
        return self.elimination.column(j)

    def row(self, i: int) -> np.ndarray:
        """One sweep."""
        return self.elimination.row(i)

    def entry(self, i: int, j: int) -> Any:
        """Two climbs that meet."""
        return self.elimination.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Two climbs an entry, where rows would take longer."""
        distinct = len(np.unique(i)) if i.size > 1 else 1
        cost = self.elimination.cost
        if 2 * i.size * cost.climb <= distinct * (cost.sweep + cost.climb):
            return self.elimination.entries(i, j)
        return super().entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Entry by entry where they are few, else by rows or columns."""
        cost = self.elimination.cost
        if 2 * cost.climb * len(i) * len(j) <= min(len(i), len(j)) * (cost.sweep + cost.climb):
            return self.elimination.entries(i[:, None], j)
        return super().block(i, j)

    def panels(self, *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """As they are swept, in the order of elimination."""
        return self.elimination.panels(columns=columns)

    def _all(self) -> np.ndarray:
        """All n² entries."""
        return self.elimination.to_dense()
