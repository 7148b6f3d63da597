"""Symbolic analysis of a sparse matrix: elimination order, elimination tree, and cost, from the pattern alone."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..host.types import Array
from ..kernels.cpu.processors import threads_of
from . import structure
from .buffers import Buffers
from .order import FOUND, candidates, inverse
from .pattern import SMALL, ends, near, neighbours, stored
from .structure import Arcs, Cost, Structure

#: Arcs per thread: waking more takes longer than they save.
SHARE = 40_000


class Analysis:
    """Symbolic analysis: elimination order, elimination tree, and the cost of every step, from the pattern alone.

    Made by `analyse`; `eliminate` takes it in place of a matrix, so that several sets of weights share it.

    Attributes
    ----------
    n : int
        Vertices.
    tails, heads : int32 arrays (arcs,)
    cost : Cost
        Pairs, fill and bytes.
    order, orders : str, int
        Name of the order chosen, and number of orders compared.
    """

    def __init__(
        self, tails: np.ndarray, heads: np.ndarray, n: int, order: Any = "auto", threads: int | None = None
    ) -> None:
        tails, heads = (np.ascontiguousarray(ends, np.int32) for ends in (tails, heads))  # for kernels
        self.n, self.tails, self.heads = n, tails, heads
        self.on_devices: dict[Any, Any] = {}  # the structure, by GPU and entry size
        self.panels = Buffers(4)  # for two eliminations: the last one's, and that of new weights
        asked = threads_of(threads, "analyse") if threads is not None or n >= SMALL else 1
        self._threads = threads = min(asked, max(1, len(tails) // SHARE)) if n >= SMALL else 1
        self._start, self._adjacent = neighbours(tails, heads, n, threads)
        self._labels: np.ndarray | None = None
        ending = ends(tails, heads, n)
        if isinstance(order, str) and order in FOUND:  # a user's order refers to the user's labels
            renumbered = near(tails, heads, self._start, self._adjacent, threads)
            if renumbered is not None:
                self._labels, self._start, self._adjacent = renumbered
                ending = None if ending is None else ending[self._labels]
        trees = {
            name: structure.supernodes(self._start, self._adjacent, found, threads, ending)
            for name, found in candidates(self._start, self._adjacent, order, threads, ending).items()
        }
        costs = {name: structure.cost(tree, len(tails)) for name, tree in trees.items()}
        # All pairs: n sweeps and one numeric elimination.
        self.orders = len(costs)
        self.order = min(costs, key=lambda name: costs[name].sweep * n + costs[name].elimination)
        self.cost: Cost = costs[self.order]
        self._tree = trees[self.order]

    def __repr__(self) -> str:
        return f"<Analysis of {self.n:,} vertices, {len(self.tails):,} arcs, order {self.order}: {self.cost}>"

    @cached_property
    def structure(self) -> Structure:
        built = structure.build(self._start, self._adjacent, self._tree, self._threads)
        return built if self._labels is None else built.relabelled(self._labels)

    @cached_property
    def arcs(self) -> Arcs:
        return structure.arcs(self.structure, self.tails, self.heads, self._threads)

    @cached_property
    def place(self) -> np.ndarray:
        """Index of each arc in `arcs`."""
        return inverse(self.arcs.arc).astype(np.intp)  # else every indexing would convert

    def between(self, u: int, v: int) -> np.ndarray:
        """Indices of the arcs from u to v, found in one front."""
        S = self.structure
        s = S.owner[min(S.position[u], S.position[v])]
        placed = self.arcs.arc[self.arcs.begin[s] : self.arcs.begin[s + 1]]
        return placed[(self.tails[placed] == u) & (self.heads[placed] == v)]


def analyse(A: Array, n: int | None = None, *, order: Any = "auto", threads: int | None = None) -> Analysis:
    """Order, elimination tree and cost of eliminating a sparse matrix; values are ignored.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n), or pair of integer arrays (rows, columns)
        Every stored entry is an arc, whatever its value; a pair of arrays needs `n`.
    n : int, optional
    order : str, array_like or Order
        As in `eliminate`.
    threads : int, optional
        By default SEMIRING_NUM_THREADS, or one a processor; the result does not depend on it.

    Raises
    ------
    ShapeError, VertexError, DTypeError
        If A is not square, rows and columns differ in length, an index lies outside 0 … n − 1, or A is neither a sparse
        matrix nor a pair of arrays.
    AlgebraError, DeviceError
        If there is no such order, or `order="metis"` and pymetis is not installed.

    See Also
    --------
    eliminate : Takes the analysis with weights.
    Cost : The counts.

    Notes
    -----
    The structure takes `cost.index_bytes` bytes; "auto" compares up to two orders by count. Dissection by levels is
    George 1973, and Lipton and Tarjan 1979.

    Examples
    --------
    >>> import semiring
    >>> semiring.sparse.analyse(([0, 1, 2], [1, 2, 0]), 3).cost.height
    3
    """
    if isinstance(A, Analysis):
        return A
    rows, cols, _, n = stored(A, n, where="analyse")
    return Analysis(rows, cols, n, order, threads)
