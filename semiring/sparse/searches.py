"""Best walks from some vertices of a weighted graph to all, by label-correcting searches from 32 sources at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, cached_property, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.conversion import conform
from ..algebra.records import Semiring
from ..algebra.survey import survey
from ..dense.cycles import Lengths, searchable
from ..host.arrays import refuse_masked
from ..host.errors import AlgebraError, DomainError, DTypeError, ShapeError
from ..host.memory import require
from ..host.types import Array, DType, Edges, Fields, Scalar
from ..kernels.backend import device_of
from ..kernels.cpu.code import machine_code
from ..kernels.cpu.processors import threads_of
from ..kernels.cpu.sparse import growth, relaxation
from ..kernels.cpu.sparse.relaxation import AHEAD
from ..kernels.observed import Callback
from .answers import Columns, Rows
from .batches import Worker, batches, calls, find, table, together
from .csr.matrix import arranged
from .cycles import Weighted
from .pattern import indices, is_square_csr, rows_wanted, stored, tails_of
from .relaxing import LISTS, Search, numbers, padded

#: Lanes (sources of a batch): in general, and for at most that many sources.
LANES, FEW = 32, 4
#: Numbers of sources from which searches are delayed to reach a landmark together (costs one search), and from which
#: the growth of each search counts in its delay.
MANY, GROWN = 128, 1024
#: Bytes of rows found before the first is yielded, so that neighbouring sources share a batch.
WINDOW = 1 << 26
#: Arcs sampled for `Searches.scale`, about.
SAMPLE = 4096
#: Rows between two reports of progress.
REPORTED = 1024


class _Form(NamedTuple):
    """Search problem: semiring, weights in the dtype computed in, and the map back to entries.

    `shift` holds the potentials that made lengths non-negative; `known` the entries of ranks: one, weights best first,
    zero.
    """

    semiring: Semiring
    weights: np.ndarray
    restore: _Shifted | _Placed | None = None
    shift: np.ndarray | None = None
    known: np.ndarray | None = None


class Searches(Rows, Columns):
    """Entries of A* of a sparse matrix, row by row, where ⊕ keeps the better of two walks.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n), or pair of integer arrays (rows, columns)
        Every stored entry is an arc, the best of parallel ones counts; a pair of arrays needs `n` and `weights`.
    semiring : str or Semiring
        ⊕ must select, and ⊗ add, multiply numbers ≥ 0, or select too.
    n : int, optional
    weights : array, shape (arcs,), optional
        By default the stored values.
    dtype : dtype, optional
        Dtype of the entries, one of the semiring's; by default that of the weights, or the smallest that holds them.
    threads : int, optional
        By default SEMIRING_NUM_THREADS, or one a processor.
    potentials : array, shape (n,), optional
        h with ℓ(u, v) + h(u) − h(v) ≥ 0 for every arc's length, where arcs improve walks; computed by default.
    device : {"cpu", "cuda"}, optional
        The CPU by default; on "cuda", the current GPU, entries are CuPy arrays.

    Attributes
    ----------
    n, semiring, dtype, device : int, Semiring, numpy.dtype, str

    Raises
    ------
    AlgebraError
        If the semiring is none of these.
    ShapeError, VertexError, DomainError
        As `eliminate`; in `column`, `row`, `rows` and `to_dense`, if an index, the limit or the block is invalid.
    DTypeError
        If an integer dtype does not hold the sum of the heaviest arcs out of every vertex: a best walk might overflow.
    DivergenceError
        If A* does not exist; in min-plus a NegativeCycleError.
    MemoryNeeded
        If the searches do not fit, or the result of `to_dense`.

    See Also
    --------
    row, rows, column, to_dense, batch : A row, blocks of rows, a column, all; the number of sources of a batch.
    order, effort : Rows in an order that suits batches; work of few sources, from which to predict that of many.
    Hops, eliminate : Arcs without weights; roads and meshes, any semiring.

    Notes
    -----
    Label-correcting searches, ordered by buckets (Meyer and Sanders 2003), relax an arc for 32 sources at once. `row`,
    each of `to_dense`, and `column`, on reversed arcs, take O(n + arcs) if vertices are taken few times, usually two or
    three in graphs of small diameter, `batch` O(1); memory is 32 entries a vertex and thread. Arcs that improve walks
    are first made non-negative by potentials (Johnson 1977), in float64 or int64. Where ⊗ selects, ranks of weights are
    searched instead.

    Examples
    --------
    >>> import semiring
    >>> S = semiring.sparse.Searches(([0, 1, 0], [1, 2, 2]), n=3, weights=[1.0, 2.0, 5.0])
    >>> S.row(0)
    array([0., 1., 3.])
    """

    def __init__(
        self,
        A: Array,
        semiring: str | Semiring = "min_plus",
        *,
        n: int | None = None,
        weights: Array = None,
        dtype: DType = None,
        threads: int | None = None,
        potentials: np.ndarray | None = None,
        device: str | None = None,
    ) -> None:
        where = "Searches"
        self.semiring = s = get(semiring)
        if not searchable(s):
            raise AlgebraError(
                f"{where}: ⊕ must select, and ⊗ add, multiply numbers ≥ 0 or select, with vector instructions; got "
                f"{s.name}. `eliminate` takes any semiring."
            )
        # A csr matrix has its arcs in the order of searches: tails are expanded only on request.
        in_order = weights is None and n is None and is_square_csr(A)
        rows: np.ndarray | None = None
        if in_order:
            cols, own, self.n = A.indices, A.data, A.shape[0]
        else:
            rows, cols, own, self.n = stored(A, n, where=where)
        refuse_masked(weights, where=where)
        values = np.asarray(own if weights is None else weights)
        if values.shape != (len(cols),):
            raise ShapeError(f"{where}: one weight an arc is required, ({len(cols)},), got shape {values.shape}.")
        values = conform(values, s, dtype, where=where)
        self._threads, self.dtype = threads_of(threads, where), values.dtype
        self.device = device_of(np.empty(0), device)
        low, high, zero = *_ends(values), dtypes.zero(s, self.dtype)
        if not low > zero and not high < zero and not (present := values != zero).all():
            rows = tails_of(A.indptr) if rows is None else rows
            rows, cols, values = rows[present], cols[present].astype(np.int32, copy=False), values[present]
            low, high = _ends(values)
        survey(values, s, where=where, bounds=(low.item(), high.item()))
        self._low, self._high = low, high
        self._start = A.indptr.astype(np.int64) if rows is None else None
        self._rows, self._heads, self._values = rows, padded(cols)[: len(cols)] if rows is None else cols, values
        self._form = self._formed(potentials, where)
        self._lanes = LANES if self.n * LANES * self._form.weights.itemsize < 1 << 30 else FEW
        require(
            self._threads * self.n * (2 * self._lanes * self._form.weights.itemsize + 12) + 40 * len(cols),
            where=where,
            hint=f"A search holds {2 * self._lanes} entries a vertex and thread. Pass threads=1, or a smaller dtype.",
        )

    def __repr__(self) -> str:
        return (
            f"<Searches of {self.semiring.name} between {self.n:,} vertices, {len(self._heads):,} arcs, {self.dtype}>"
        )

    def _formed(self, potentials: np.ndarray | None, where: str) -> _Form:
        s, values, dtype = self.semiring, self._values, self.dtype
        lengths = Lengths.of(s)
        if lengths is None:
            return _ranked(values, s)
        most = dtypes.SCALARS[dtype].high
        largest = max(abs(float(self._low)), abs(float(self._high)))
        if self.n * largest >= most and self.n * dtypes.largest_finite(values) >= most and self._arcs.longest >= most:
            raise DTypeError(
                f"{where}: {dtype} must hold the heaviest arc out of each vertex together, got a sum of "
                f"{self._arcs.longest}. Pass a wider dtype, or a float."
            )
        best = self._low if lengths.sign > 0 else self._high
        if not len(values) or float(lengths.of_entries(np.array([best]), np.nan)[0]) >= 0:
            return _Form(s, values)
        arcs = self._arcs
        exact = dtypes.SCALARS[dtype].integer and not lengths.logarithmic
        # Any that leave no length below 0 are as good, so that fractions may be cut.
        h = arcs.potentials(where=where) if potentials is None else np.asarray(potentials, np.int64 if exact else None)
        if h.shape != (self.n,):
            raise ShapeError(f"{where}: one potential a vertex is required, ({self.n},), got shape {h.shape}.")
        if exact and (h.dtype.kind != "i" or arcs.longest >= 2**61):
            raise DTypeError(
                f"{where}: 64 bits must hold twice the longest walk, got {arcs.longest}. Pass a float dtype."
            )
        old = int(lengths.sign) * values.astype(np.int64) if exact else lengths.of_entries(values, np.nan)
        new = old + (h[self._tails] - h[self._heads])
        if not (new >= (0 if exact else -1e-9 * max(np.abs(old).max(), np.abs(h).max()))).all():
            raise DomainError(f"{where}: potentials must leave no length below 0, got {new.min()}. Leave them out.")
        work = get("min_plus")
        ends = dtypes.zero(work, new.dtype), dtypes.zero(s, dtype)
        return _Form(work, np.maximum(new, 0), _Shifted(lengths, h, exact, *ends), shift=h)

    @property
    def _arcs(self) -> Weighted:
        return Weighted(*self.arcs, self.n, self.semiring)

    @cached_property
    def _tails(self) -> np.ndarray:
        if self._rows is not None:
            return self._rows
        assert self._start is not None
        return tails_of(self._start)

    @cached_property
    def _forward(self) -> _Graph:
        if self._start is None:
            return _graph(self._tails, self._heads, self._form.weights, self.n)
        heads = self._heads.base  # not kept by a pickle
        if heads is None or len(heads) != len(self._heads) + AHEAD:
            heads = padded(self._heads)
        return _Graph(self._start, heads, np.ascontiguousarray(self._form.weights))

    @cached_property
    def _gpu(self) -> Any:
        """Searches on the device: weights become lengths, factors, or 1-based indices into `known`."""
        from ..kernels.cuda.sparse.searches import Form, Searches

        found, graph = self._form, self._forward
        lengths, weights = Lengths.of(found.semiring), graph.weights
        if lengths is None:
            weights = weights + np.int32(1)
        elif not lengths.logarithmic:
            weights = weights if lengths.sign > 0 else -weights
        width = np.dtype(np.int32) if weights.itemsize == 2 else weights.dtype
        own = Lengths.of(self.semiring)
        logarithmic = own is not None and own.logarithmic
        form = Form(self.semiring, self.dtype, width, found.shift is not None, logarithmic, ranks=own is None)
        scale = abs(numbers(found.semiring, weights.dtype, self.scale)[0])
        return Searches(form, graph.start, graph.heads, weights, scale, found.shift, found.known)

    @cached_property
    def _backward(self) -> _Graph:
        return _graph(self._heads, self._tails, self._form.weights, self.n)

    @property
    def arcs(self) -> Edges:
        return self._tails, self._heads, self._values

    @cached_property
    def scale(self) -> float:
        """Buckets per unit of length."""
        lengths = Lengths.of(self._form.semiring)
        if lengths is None:
            return min(1.0, LISTS / max(1, len(self._form.weights)))
        some = self._form.weights[:: max(1, len(self._form.weights) // SAMPLE)]
        return growth.scale(lengths.of_entries(some, np.nan))

    @cached_property
    def _landmark(self) -> tuple[np.ndarray, np.ndarray]:
        """(delays, rank): buckets by which each vertex is nearer to a landmark than the farthest, and tree preorder.

        In the tree of best walks to the landmark, a subtree has consecutive ranks.
        """
        graph, n, s = self._forward, self.n, self._form.semiring
        degrees = [np.diff(g.start).astype(np.float64) for g in (graph, self._backward)]
        landmark = int((degrees[0] * degrees[1]).argmax())
        D = np.empty((1, n), graph.weights.dtype)
        Search(self, self._backward, FEW, None, math.inf, restored=False).run(np.array([landmark]), D)
        lengths = Lengths.required(s).of_entries(D[0], dtypes.zero(s, D.dtype))
        order = np.argsort(lengths, kind="stable")
        position = np.empty(n, np.int64)
        position[order] = np.arange(n)
        tails, heads = np.repeat(np.arange(n), np.diff(graph.start)), graph.heads[: len(graph.weights)]
        with np.errstate(over="ignore"):
            best = (s.mul.vectorized(graph.weights, D[0, heads]) == D[0, tails]) & np.isfinite(lengths[tails])
        best &= position[heads] < position[tails]
        parent, size, place = np.full(n, -1), np.empty(n, np.int64), np.empty(n, np.int64)
        parent[tails[best]] = heads[best]
        _preorder().call(order, parent, size, place)
        far = lengths[np.isfinite(lengths)].max(initial=0.0)
        return np.where(np.isfinite(lengths), far - lengths, 0.0) * self.scale, place

    @cached_property
    def _aligned(self) -> tuple[np.ndarray, np.ndarray]:
        """`_landmark` for many sources: delays averaged with those for slow growth of the searches from a vertex."""
        (delays, rank), graph, s = self._landmark, self._forward, self._form.semiring
        lengths = Lengths.required(s).of_entries(graph.weights, np.nan)
        tails = np.repeat(np.arange(self.n), np.diff(graph.start))
        grown = growth.delays(tails, graph.heads[: len(lengths)], lengths, self.n)
        return delays if grown is None else (delays + grown * self.scale) / 2, rank

    def column(self, j: int) -> np.ndarray:
        return self._turned.row(j)

    @cached_property
    def _turned(self) -> Searches:
        options: Fields = {"dtype": self.dtype, "threads": self._threads, "device": self.device}
        return Searches((self._heads, self._tails), self.semiring, n=self.n, weights=self._values, **options)

    def rows(
        self, sources: Array = None, *, limit: float | None = None, block: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        wanted = rows_wanted(sources, self.n, block)
        if limit is not None and not (isinstance(limit, Real) and limit == limit):
            raise DomainError(f"rows: limit must be a number, got {limit!r}. Leave it out.")
        if self.device == "cuda":
            size = int(block or self.batch(len(wanted)))
            return self._gpu.rows(wanted, size, self._guide(len(wanted), limit))
        lanes, searches, rank = self._prepared(len(wanted), limit)
        window = 0 if rank is None else min(WINDOW // max(1, self.n * self.dtype.itemsize), len(wanted))
        found = batches(searches, wanted, self.n, self.dtype, lanes, int(block or lanes), rank=rank, window=window)
        return found if limit is None else ((sources, self._within(D, limit)) for sources, D in found)

    def _prepared(self, count: int, limit: float | None) -> tuple[int, list[Worker], np.ndarray | None]:
        """Lanes, one worker a thread, and the ranks by which sources are batched."""
        lanes, (delays, rank) = self.batch(count), self._together(count)
        furthest = math.inf if limit is None else self._bucket(limit)
        threads = min(self._threads, max(1, -(-count // lanes)))
        return lanes, [Search(self, self._forward, lanes, delays, furthest).run for _ in range(threads)], rank

    def _together(self, count: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Delays with which `count` sources reach a landmark together, and ranks by which to batch them."""
        if count < MANY or Lengths.of(self._form.semiring) is None:
            return None, None
        return self._landmark if count < GROWN else self._aligned

    def order(self) -> np.ndarray:
        """All vertices, int64 (n,), in an order whose neighbours suit one batch.

        Raises
        ------
        MemoryNeeded
            If the search from the landmark does not fit.

        Notes
        -----
        One search, O(n + arcs), on first use.

        Examples
        --------
        >>> import semiring
        >>> semiring.sparse.Searches(([0, 1], [1, 0]), n=2, weights=[5, 6]).order().tolist()
        [0, 1]
        """
        rank = self._together(self.n)[1]
        return np.arange(self.n) if rank is None else np.argsort(rank, kind="stable")

    def _guide(self, count: int, limit: float | None) -> Any:
        from ..kernels.cuda.sparse.searches import Guide

        within = () if limit is None else (self._bucket(limit), self._last_entry(limit))
        return Guide(*self._together(count), *within)

    def _bucket(self, limit: float) -> float:
        """Last bucket of an undelayed source that may hold an entry within `limit`; ∞ if unknown."""
        lengths = Lengths.of(self._form.semiring)
        if lengths is None or self._form.restore is not None:
            return math.inf
        with np.errstate(divide="ignore"):
            length = lengths.sign * (np.log(max(limit, 0.0)) if lengths.logarithmic else limit)
        # Logarithms of bits are off by up to 0.09 of a doubling, and numbers are rounded to float32.
        return (float(length) + 0.1 * lengths.logarithmic) * self.scale * (1 + 2**-20) + 2

    def _within(self, D: np.ndarray, limit: float) -> np.ndarray:
        last = self._last_entry(limit)
        D[D > last if self.semiring.add.selects == "least" else D < last] = dtypes.zero(self.semiring, self.dtype)
        return D

    def _last_entry(self, limit: float) -> np.generic:
        """Worst entry within a limit, in `dtype`; the extremes of integers are infinite."""
        if dtypes.SCALARS[self.dtype].floating:
            with np.errstate(over="ignore"):
                return self.dtype.type(limit)
        within = min(max(limit, dtypes.SCALARS[self.dtype].low), dtypes.SCALARS[self.dtype].high)
        return self.dtype.type(math.floor(within) if self.semiring.add.selects == "least" else math.ceil(within))

    def to_dense(
        self, out: np.ndarray | None = None, *, limit: float | None = None, callback: Callback | None = None
    ) -> np.ndarray:
        if self.device == "cuda":
            X = table(self._gpu.empty(self.n) if out is None else out, self.n, self.dtype)
            return self._gpu.to_dense(X, self._guide(self.n, limit))
        D: np.ndarray = table(out, self.n, self.dtype)
        lanes, searches, rank = self._prepared(self.n, limit)
        every = np.arange(self.n)
        work = calls(every, D, lanes) if rank is None else together(every, D, lanes, rank)
        step = max(1, len(work) if callback is None else REPORTED // lanes)
        for start in range(0, len(work), step):
            find(searches, work[start : start + step])
            if callback is not None:
                callback(min((start + step) * lanes, self.n), self.n)
        return D if limit is None else self._within(D, limit)

    def batch(self, sources: int) -> int:
        if self.device == "cuda":
            return int(self._gpu.batch(sources))
        return self._lanes if sources > FEW else FEW

    def effort(self, sources: Array) -> tuple[int, int]:
        """Work of a batch of few searches, from which to predict that of many.

        Parameters
        ----------
        sources : array_like
            At most four.

        Returns
        -------
        relaxed, reached : int
            Arcs relaxed, for all sources together, and entries that are not zero.

        Raises
        ------
        VertexError
            If a source lies outside 0 … n − 1.

        Notes
        -----
        One batch of at most four searches.

        Examples
        --------
        >>> import semiring
        >>> S = semiring.sparse.Searches(([0, 1, 2], [1, 2, 3]), n=4, weights=[5, 6, 7])
        >>> S.effort([1])[1]
        3
        """
        wanted = indices(sources, self.n, where="effort").ravel()[:FEW]
        search = Search(self, self._forward, FEW, None, math.inf, restored=False)
        D = np.empty((len(wanted), self.n), self._form.weights.dtype)
        search.run(wanted, D)
        return search.relaxed, int((D != dtypes.zero(self._form.semiring, D.dtype)).sum())


class _Shifted(NamedTuple):
    """Entries from lengths under potentials: ℓ(i, j) = ℓ'(i, j) − h(i) + h(j)."""

    lengths: Lengths
    h: np.ndarray
    exact: bool
    none: Any
    zero: Any

    def __call__(self, D: np.ndarray, sources: np.ndarray) -> np.ndarray:
        reached = D != self.none
        moved = np.where(reached, D, 0) - (self.h[sources, None] - self.h)
        with np.errstate(over="ignore"):
            entries = int(self.lengths.sign) * moved if self.exact else self.lengths.to_entries(moved)
            return np.where(reached, entries.astype(self.zero.dtype), self.zero)


class _Placed(NamedTuple):
    """Entries from ranks, by a table whose last item stands for no path."""

    table: np.ndarray

    def __call__(self, D: np.ndarray, sources: np.ndarray) -> np.ndarray:
        return np.asarray(self.table[np.clip(D, -1, len(self.table) - 2) + 1])


def _ranked(values: np.ndarray, semiring: Semiring) -> _Form:
    """Where ⊕ and ⊗ both select: (min, max) over the ranks of all weights, best first."""
    known, rank = np.unique(values, return_inverse=True)
    if semiring.add.selects == "greatest":
        known, rank = known[::-1], len(known) - 1 - rank
    ends = [np.array([value(semiring, values.dtype)], values.dtype) for value in (dtypes.one, dtypes.zero)]
    table = np.concatenate([ends[0], known, ends[1]])
    return _Form(get("min_max"), rank.astype(np.int32).reshape(-1), _Placed(table), known=table)


class _Graph(NamedTuple):
    """CSR: arcs start[v] … start[v + 1]; heads are padded by AHEAD entries."""

    start: np.ndarray
    heads: np.ndarray
    weights: np.ndarray


def _ends(values: np.ndarray) -> tuple[Scalar, Scalar]:
    return (np.minimum.reduce(values), np.maximum.reduce(values)) if len(values) else (values.dtype.type(0),) * 2


def _graph(tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, n: int) -> _Graph:
    if (tails[1:] >= tails[:-1]).all():
        start = np.append(0, np.bincount(tails, minlength=n).cumsum())
    else:
        start, order = arranged(np.ascontiguousarray(tails, np.int32), n, "cpu")
        heads, weights = heads[order], weights[order]
    return _Graph(start, padded(heads), np.ascontiguousarray(weights))


_preorder = cache(partial(machine_code, relaxation.preorder, None, "llll"))
