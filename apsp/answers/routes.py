"""Predecessors and next hops of all pairs, from a matrix and its closure, or row by row (docs/routes.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.algebra.selection import require_selection
from semiring.algebra.survey import survey
from semiring.dense.routes import NONE, of_rows
from semiring.host.arrays import Taken, take_in
from semiring.host.devices import host, module, on_device
from semiring.host.errors import DomainError, ShapeError
from semiring.host.memory import require
from semiring.host.signals import load
from semiring.host.types import Algebra, Array, Edges, Fields
from semiring.kernels.backend import bind, device_of, threads_of

from ..io.graph import Graph
from ..io.graph.nulls import Nulls, refuse_ambiguous, without_nulls
from ..io.graph.ondisk import height, together
from ..io.reading.options import BY_RULE, NullValue, nulls_of
from ..road import estimates
from ..road.engines import Engine


def predecessors(
    A: Array,
    D: Array,
    semiring: Algebra = "min_plus",
    *,
    threads: int | None = None,
    null_value: NullValue = BY_RULE,
) -> np.ndarray:
    """P[i, j]: the vertex before j on a best path from i; −9999 on the diagonal and for no path.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n)
        The matrix of edges; a missing edge is the semiring's zero. The diagonal is ignored.
    D : array_like, the same shape
        Its closure, as from `apsp.closure`; A is converted to its dtype.
    semiring : str or Semiring
        With a selective ⊕ (min, max): all catalog names but plus_times and log_plus, or your own.
    threads : int, optional
        CPU threads; all available by default.
    null_value : number or None, optional
        As for the closure: 0 where zeros of A are no edges, None where they are. Required for a numeric matrix with
        zeros off the diagonal and no infinity.

    Returns
    -------
    int32 array, the same shape
        In D's library and device, by SciPy's convention: `scipy.sparse.csgraph` accepts it.

    Raises
    ------
    AlgebraError, ShapeError
        If ⊕ is not selective; if shapes differ or are not square.
    DTypeError, DomainError
        If A does not fit D's dtype, an entry lies outside the semiring, D is not the closure of A, or zeros of A are
        ambiguous.
    MemoryNeeded
        If the table does not fit.

    See Also
    --------
    next_hops, closure : The other end of the paths; D.
    shortest_paths : `Result.path` and `Result.paths`, by label.
    scipy.sparse.csgraph.reconstruct_path : A tree from a row.

    Notes
    -----
    Ties depend on weights alone: the source itself if its own edge is best, else the least vertex with a best edge and
    a better distance, else (edges of weight 0) the least that is reached earlier, breadth first. So every path is
    simple. Predecessors are found after the closure, among the edges with A[k, j] = D[k, j] (McGeoch 1995, "All-pairs
    shortest paths and the essential subgraph"); GPU kernels follow the same rule.

    4 n² bytes, and D's transpose temporarily. At most O(n³) pairs, far fewer where good predecessors come early.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure, predecessors
    >>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    >>> predecessors(A, closure(A))
    array([[-9999,     0,     1],
           [    2, -9999,     1],
           [    2,     0, -9999]], dtype=int32)
    """
    s = get(semiring)
    weights, closed = _operands(A, D, s, nulls_of(null_value), "predecessors")
    return closed.give_back(of_closure(weights, closed.array, s, threads), where="predecessors")


def next_hops(
    A: Array,
    D: Array,
    semiring: Algebra = "min_plus",
    *,
    threads: int | None = None,
    null_value: NullValue = BY_RULE,
) -> np.ndarray:
    """N[i, j]: the vertex after i on a best path to j; −9999 on the diagonal and for no path.

    The predecessors of the reversed graph, chosen by the same rule, so they are routing tables: following N[i, j] from
    row to row leads to j along a best path, without a cycle.

    Parameters
    ----------
    A, D : array_like, shape (n, n) or (batch, n, n)
        The matrix of edges and its closure, as in `predecessors`.
    semiring, threads, null_value
        As in `predecessors`.

    Returns
    -------
    int32 array, the same shape
        In D's library and device.

    Raises
    ------
    AlgebraError, ShapeError, DTypeError, DomainError, MemoryNeeded
        As `predecessors`.

    See Also
    --------
    predecessors, closure : The other end of the paths; D.
    shortest_paths : `Result.next_hops`, for a graph.

    Notes
    -----
    Cost and source as of `predecessors`: 4 n² bytes, at most O(n³) pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure, next_hops
    >>> A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    >>> next_hops(A, closure(A))
    array([[-9999,     1,     1],
           [    2, -9999,     2],
           [    0,     0, -9999]], dtype=int32)
    """
    s = get(semiring)
    weights, closed = _operands(A, D, s, nulls_of(null_value), "next_hops")
    turned = of_closure(weights.swapaxes(-1, -2), closed.array.swapaxes(-1, -2), s, threads, mirrored=True)
    with on_device(turned):
        found = module(turned).ascontiguousarray(turned.swapaxes(-1, -2))
    return closed.give_back(found, where="next_hops")


#: Tolerated rounding between an edge and its distance, in eps of the largest distance; sums compare to 4 eps, where
#: that does not suffice to 256, and at last to n.
DOUBT, WIDER = 16, 256


class Trees:
    """Best-path trees of a graph, one per source, from the distances of `engine`, on demand.

    Edges longer than their distances by `within` count as as good.
    """

    def __init__(self, graph: Graph, semiring: Semiring, engine: Engine, within: float = 0.0) -> None:
        if engine.shape != (graph.n, graph.n):
            raise ShapeError(f"routes: distances of all {graph.n} vertices are needed, got a table {engine.shape}.")
        self.graph, self.semiring, self.engine, self.within = graph, semiring, engine, within
        self._largest: float | None = None  # of the distances that are finite

    @property
    def complete(self) -> bool:
        """Whether the full predecessor table is cached."""
        return "predecessors" in vars(self)

    @cached_property
    def predecessors(self) -> Array:
        """All predecessors, int32 (n, n), on the device of the distances; raises MemoryNeeded."""
        return self._all(backwards=False)

    @cached_property
    def next_hops(self) -> Array:
        """All next hops, likewise."""
        return self._all(backwards=True)

    def _all(self, *, backwards: bool) -> Array:
        n, size, in_memory = self.graph.n, self.engine.dtype.itemsize, self.engine.in_memory
        hint = "Stream them by predecessor_rows(), or ask for paths(pairs), which needs no table."
        needed = estimates.predecessors(n, size, table=in_memory, matrix=self.graph.dense is None)
        if in_memory:
            D = self.engine.table()
            require(needed, device_of(D), where="predecessors", hint=hint)
            return (next_hops if backwards else predecessors)(self._matrix(D), D, self.semiring, null_value=None)
        require(needed, where="predecessors", hint=hint)
        P = np.empty((n, n), np.int32)
        if backwards:
            for targets, panel in self.engine.panels(columns=True):
                P[:, targets] = of_rows(
                    self.semiring, self.edges(reverse=True, essential=True), host(panel).T, targets, mirrored=True
                ).T
        else:
            known = np.ones(n, bool) if self.engine.known is None else self.engine.known
            P[~known] = NONE  # no others: pages are held from when they are written
            for sources, part in self.rows(known.nonzero()[0]):
                P[sources] = part
                del part
        return P

    def rows(self, sources: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of predecessor rows: positions (k,), int32 (k, n), on the host."""
        require_selection(self.semiring, where="predecessors")
        for positions, D in self.engine.rows(sources, block):
            part = self.of(positions, D)
            del D  # before the next block is there
            yield positions, part
            del part

    def of(self, sources: np.ndarray, D: Array) -> np.ndarray:
        """Predecessors of some sources from their distances D: int32 (k, n), on the host."""
        return of_rows(self.semiring, self.edges(essential=True), host(D), sources)

    def near(self, sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Paths of pairs without rows, if the engine can: see `Engine.paths`."""
        if self.graph.dense is not None:
            return None
        return self.engine.paths(sources, targets, self.edges(reverse=True))

    def _matrix(self, D: Array) -> Array:
        return self.graph.matrix(self.semiring, D.dtype)

    def edges(self, *, reverse: bool = False, essential: bool = False) -> Edges:
        """CSR by tail, or reversed; `essential` drops edges worse than their distances, if a table is stored.

        Of lists only where ⊗ selects, as only there such edges can attain a distance; of matrices always, as they may
        have more edges than fit.
        """
        matrix = self.graph.dense is not None and self.graph.n > 0
        essential = essential and self.engine.stored and (matrix or bool(self.semiring.mul.selects))
        if (reverse, essential) not in self._listed:
            if essential and matrix:
                tails, heads, weights = self._essential(max(WIDER, self.graph.n))
            else:
                tails, heads, weights = self.graph.edges(self.semiring, self.engine.dtype)
            used = weights != dtypes.zero(self.semiring, weights.dtype)
            if essential and not matrix:
                used[used] = weights[used] == self.engine.entries(tails[used], heads[used])
            first, second = (x[used].astype(np.int32) for x in ((heads, tails) if reverse else (tails, heads)))
            del tails, heads
            order = np.lexsort((second, first))
            starts = np.searchsorted(first[order], np.arange(self.graph.n + 1)).astype(np.int64)
            self._listed[reverse, essential] = starts, second[order], weights[used][order]
        return self._listed[reverse, essential]

    def tight_edges(self) -> Edges:
        """Candidate edges of best paths, in the order of `Graph.edges`: essential ones of a matrix, all of a list."""
        listed = self.graph.dense is None
        return self.graph.edges(self.semiring, self.engine.dtype) if listed else self._essential()

    def tight_on_gpu(self) -> Array:
        """`tight_edges` for a table on a GPU (`semiring.kernels.cuda.routes.adjoint.Edges`), else None."""
        if self.graph.dense is None or not self.engine.in_memory or device_of(D := self.engine.table()) == "cpu":
            return None
        with on_device(D):
            A = module(D).asarray(self._matrix(D))
            return load("semiring.kernels.cuda.routes.adjoint").essential(self.semiring, A, D, DOUBT)

    def tight(self, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Mask of edges as good as their distances, within rounding; all if no table is in memory."""
        if not self.engine.in_memory:
            return np.ones(len(tails), np.bool_)
        return _as_good(weights, self.engine.entries(tails, heads), self._slack(self.graph.n), self.semiring)

    def _slack(self, step: int) -> float:
        """Absolute rounding tolerance between an edge and its distance; computed once, from `step` rows at a time."""
        if not dtypes.SCALARS[self.engine.dtype].floating or self.semiring.mul.selects:
            return self.within
        if self._largest is None:
            parts = self.engine.rows(np.arange(self.graph.n), step)
            self._largest = max((dtypes.largest_finite(host(D)) for _, D in parts), default=0.0)
        return DOUBT * dtypes.SCALARS[self.engine.dtype].eps * self._largest + self.within

    def _essential(self, wide: int = 1) -> Edges:
        """Tails, heads and weights of matrix edges as good as their distances; raises MemoryNeeded.

        Within rounding, `wide` times what is tolerated of a matrix in memory.
        """
        windows = self.graph.windows(self.semiring, self.engine.dtype, where="paths")
        A: Any = self.graph.matrix(self.semiring, self.engine.dtype) if windows is None else windows
        zero, every = dtypes.zero(self.semiring, A.dtype), np.arange(self.graph.n)
        band = 1 if windows is None else together(windows.of)
        step = height(4 * A.shape[1] * A.dtype.itemsize, band)  # four arrays at a time
        slack = self._slack(step) * (wide if windows is None else 1)
        found: list[Edges] = []
        for sources, rows in self.engine.rows(every, step):
            part, D = host(A[int(sources[0]) : int(sources[-1]) + 1]), host(rows)
            good = _as_good(part, D, slack, self.semiring)
            if not (slack and np.isinf(zero)):  # a slack of ∞ would include missing edges
                good &= part != zero
            i, j = np.divmod(np.flatnonzero(good), A.shape[1])
            found.append((sources[i], j, part[i, j]))
            count = sum(len(tails) for tails, _, _ in found)
            require(2 * 24 * count, where="paths", hint="path(u, v) needs no list of edges.")
        if not found:
            return every, every, np.empty(0, A.dtype)
        tails, heads, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return tails, heads, weights

    @cached_property
    def _listed(self) -> dict[tuple[bool, bool], Edges]:
        return {}


def _as_good(A: np.ndarray, D: np.ndarray, slack: float, s: Semiring) -> np.ndarray:
    """Mask of entries of A as good as D, within the slack."""
    if not slack or A.dtype.kind == "b":  # of truth values none is nearly as good
        return np.asarray(A == D)
    with np.errstate(invalid="ignore"):
        return np.asarray((D - A if s.add.selects == "greatest" else A - D) <= slack)


def _operands(A: Array, D: Array, s: Semiring, nulls: Nulls, where: str) -> tuple[Array, Taken]:
    """The validated matrix and closure, of one dtype and device."""
    require_selection(s, where=where)
    closed = take_in(D, where=where).conformed(s, where=where)
    array = take_in(A, where=where).array
    weights = conform(array, s, closed.array.dtype, where=where)
    weights = without_nulls(weights, array, nulls, s, where=where)
    shape = closed.array.shape
    if len(shape) not in (2, 3) or shape[-1] != shape[-2] or weights.shape != shape:
        raise ShapeError(
            f"{where}: A and D must be square, of one shape, (n, n) or (batch, n, n), got {weights.shape}, {shape}."
        )
    if device_of(weights) != device_of(closed.array):
        with on_device(closed.array):
            weights = module(closed.array).asarray(weights) if device_of(weights) == "cpu" else weights.get()
    refuse_ambiguous(survey(weights, s, where=where, null_undeclared=nulls is None), s, where=where)
    survey(closed.array, s, where=where)
    _refuse_unreached(weights, closed.array, s, where)
    return weights, closed


def _refuse_unreached(A: Array, D: Array, s: Semiring, where: str) -> None:
    """Raise DomainError where A has an edge but D no path: another matrix's closure, or cut at a limit."""
    zero = dtypes.zero(s, D.dtype)
    for part in dtypes.chunks(D):
        lost = D[part] == zero
        if bool(lost.any()) and bool((lost := lost & (A[part] != zero)).any()):
            index = [int(axis[0]) for axis in lost.nonzero()]
            entry = tuple(i + (part[axis].start if axis < len(part) else 0) for axis, i in enumerate(index))
            raise DomainError(
                f"{where}: D must be the closure of A over {s.name}, got no path at {entry}, where A has an edge. "
                "Compute it from this very matrix, as apsp.closure does."
            )


def of_closure(A: Array, D: Array, s: Semiring, threads: int | None, *, mirrored: bool = False) -> Array:
    """The predecessors of a matrix, or of each of a batch."""
    device = device_of(D)
    require(D.size * (4 + D.itemsize), device, where="predecessors", hint="Use a smaller dtype, or fewer vertices.")
    threads = threads_of(threads, "next_hops" if mirrored else "predecessors")
    options: Fields = {"threads": threads} if device == "cpu" else {}
    with on_device(D):
        P = module(D).empty(D.shape, "int32")
        bind(s, D.dtype, device=device, **options).predecessors(P, A, D, mirrored)
    return P
