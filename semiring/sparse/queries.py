"""Rows, columns, entries and products of A* from its factors, by batched climbs and sweeps on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.conversion import conform
from ..algebra.ranges import steps
from ..algebra.records import Semiring
from ..algebra.survey import fast, survey
from ..host.arrays import asarray, check_out
from ..host.errors import DeviceError, ShapeError
from ..host.memory import require
from ..host.types import Array, Scalar
from ..kernels.cpu.kinds import Kind, choose
from ..kernels.cpu.pool import run
from ..kernels.cpu.sparse.strips import wide
from . import fronts
from .analysis import Analysis
from .answers import Columns, Pairs, vertex
from .batches import Worker, batches, calls, find
from .buffers import Buffers, aligned
from .paths import Lazy
from .pattern import indices, paired, rows_wanted
from .structure import Cost
from .sweep import LANES, Sweeper

#: Largest panel in bytes, unless a single vector is wider.
PANEL = 1 << 27
#: Number of pairs from which `entries` tests whether they form a block.
GRID = 64
#: Largest root path in bytes that stays in a core's private cache.
NEAR = 1 << 20


def panel_bytes(analysis: Analysis, semiring: Semiring, dtype: np.dtype) -> int:
    """Bytes of one batch's panel; each thread holds one while all rows are computed."""
    lanes = lanes_of(choose(semiring, dtype, False), dtype.itemsize, analysis.cost.height, analysis.n)
    return analysis.n * lanes * dtype.itemsize


def lanes_of(kind: Kind, size: int, height: int, n: int) -> int:
    """Sources of a batch: the lanes of a register tile, doubled while root paths fit the cache.

    Fewer where the panel would exceed `PANEL`. `height` is the number of columns of the longest root path.
    """
    least = kind.lanes
    lanes = max(LANES, wide(kind) * least)
    if 2 * lanes * size * height <= NEAR and 2 * lanes * size * n <= PANEL:
        lanes *= 2
    while lanes > least and n * lanes * size > PANEL:
        lanes //= 2
    return lanes


class Queries(Pairs, Columns):
    """Queries of an elimination: batches of rows or columns, shared by threads."""

    n: int
    semiring: Semiring
    dtype: np.dtype
    analysis: Analysis
    on_device: Any
    _threads: int
    _kind: Kind
    _panels: fronts.Panels
    _free: list[Sweeper]

    @property
    def cost(self) -> Cost:
        return self.analysis.cost

    @property
    def order(self) -> np.ndarray:
        """Vertices in elimination order, shape (n,); batches along it are fastest."""
        return self.analysis.structure.permutation

    def row(self, i: int) -> np.ndarray:
        """A*[i, :], shape (n,), on the device of the elimination.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.row(0)
        array([ 0,  5, 12])
        """
        return self._single(vertex(i, self.n, "row"), mirrored=False)

    def column(self, j: int) -> np.ndarray:
        return self._single(vertex(j, self.n, "column"), mirrored=True)

    def entry(self, i: int, j: int) -> Scalar:
        ends = np.array([vertex(x, self.n, "entry") for x in (i, j)])
        if self.on_device is not None:
            return self.on_device.entries(ends[:1], ends[1:]).get()[0]
        out = np.empty(1, self.dtype)
        with self._sweepers(1) as (sweeper,):
            sweeper.pairs(ends[:1], ends[1:], out)
        return out[0]

    def entries(self, i: Array, j: Array) -> np.ndarray:
        i, j = paired(i, j, self.n)
        sources, targets = i.ravel(), j.ravel()
        if self.on_device is not None:
            return self.on_device.entries(sources, targets).reshape(i.shape)
        if not i.size:
            return np.empty(i.shape, self.dtype)
        distinct = [_distinct(x, self.n) for x in (sources, targets)]
        first, second = map(len, distinct)
        if i.size >= GRID and first * second <= 4 * i.size:
            places = [np.searchsorted(known, x) for known, x in zip(distinct, (sources, targets), strict=True)]
            return self.block(*distinct)[tuple(places)].reshape(i.shape)
        out, mirrored = np.empty(i.size, self.dtype), second < first
        order = None
        if 3 * min(first, second) <= i.size:
            order = np.argsort(targets if mirrored else sources, kind="stable")
            sources, targets = (x[order].astype(np.int32) for x in (sources, targets))
        threads = self._threads if 2 * i.size * self.cost.climb > fronts.ALONE else 1
        parts = np.linspace(0, i.size, 4 * threads + 1 if threads > 1 else 2).astype(int).tolist()
        with self._sweepers(threads) as workers:

            def work(worker: int, start: int, stop: int) -> None:
                part = sources[start:stop], targets[start:stop]
                if order is None:
                    workers[worker].pairs(*part, out[start:stop])
                else:
                    ends = part[::-1] if mirrored else part
                    Lazy.of(workers[worker]).entries(*ends, out[start:stop], mirrored=mirrored)

            run(work, list(pairwise(parts)), threads)
        if order is not None:
            out[order] = out.copy()
        return out.reshape(i.shape)

    def block(self, i: Array, j: Array) -> np.ndarray:
        """A*[i[k], j[l]] for all k and l, shape (len(i), len(j)): the submatrix of rows i and columns j.

        Parameters
        ----------
        i, j : int array_like
            One-dimensional, in any order, with or without repeats.

        Raises
        ------
        VertexError, MemoryNeeded
            If an index lies outside 0 … n − 1, or the block does not fit.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.block([1, 0], [2, 1, 2])
        array([[ 7,  0,  7],
               [12,  5, 12]])
        """
        i, j = (indices(x, self.n, where="block").ravel() for x in (i, j))
        if self.on_device is not None:
            return self.on_device.entries(*(x.ravel() for x in np.broadcast_arrays(i[:, None], j))).reshape(
                len(i), len(j)
            )
        entries = 2 * len(i) * len(j) + 2 * min(max(len(i), len(j)), self.n) * self._lanes * self._threads
        require(entries * self.dtype.itemsize, where="block", hint="Ask for fewer, or stream them by rows().")
        mirrored = len(i) > len(j)  # lanes for the fewer: most pairs belong to the others' paths
        lines, others = (j, i) if mirrored else (i, j)
        places, first, line = np.unique(self.analysis.structure.position[lines], return_index=True, return_inverse=True)
        distinct, other = np.unique(others, return_inverse=True)
        repeated = len(distinct) < len(others)
        found = np.empty((len(lines), len(distinct)), self.dtype)
        if found.size:
            self._block(self.order[places], first, distinct if repeated else others, found, mirrored)
        found = found.take(other, axis=1) if repeated else found
        found = found[first[line]] if len(places) < len(lines) else found
        return np.ascontiguousarray(found.T) if mirrored else found

    def rows(self, sources: Array = None, *, block: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of complete rows: (indices (k,), entries (k, n)) with k at most `block`.

        Parameters
        ----------
        sources : array_like, optional
            Rows in the order wanted; by default all. Consecutive vertices of `order` are fastest.
        block : int, optional
            By default 64, fewer if these exceed 128 MiB; on a GPU 1024.

        Yields
        ------
        indices, entries : arrays (k,), (k, n)
            Rows are contiguous, with a stride of slightly more than n. Memory is reused once nothing refers to a block.

        Raises
        ------
        VertexError, ShapeError
            If an index lies outside 0 … n − 1, or block is not a positive integer.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> sum(int((D < 100).sum()) for _, D in E.rows())
        6
        """
        wanted = rows_wanted(sources, self.n, block)
        if self.on_device is not None:
            return self.on_device.rows(wanted, block)
        return self._rows(wanted, min(LANES, self._lanes) if block is None else int(block))

    def panels(self, *, columns: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All of A*, streamed for reductions: (indices (k,), panel (n, k)), in the fastest order.

        panel[:, q] is row indices[q] of A*, with `columns` its column.

        Parameters
        ----------
        columns : bool
            Yield columns instead of rows.

        Yields
        ------
        indices, panel : arrays (k,), (n, k)
            Memory is reused once nothing refers to a panel.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> sum(panel.size for indices, panel in E.panels())
        9
        """
        if self.on_device is not None:
            yield from self.on_device.panels(columns=columns)
            return
        batch, order = self._lanes, self.order
        # Two small panels a thread: fewer waits for the slowest thread.
        each = 2 if self._threads > 1 and 2 * self.n * batch * self.dtype.itemsize <= PANEL else 1
        group = batch * self._threads * each
        self.analysis.panels.release()
        with self._sweepers(self._threads) as workers:
            buffers = Buffers(2 * self._threads * each)
            for start in range(0, self.n, group):
                parts = [order[k : k + batch] for k in range(start, min(start + group, self.n), batch)]
                panels = [buffers.get((self.n, workers[0].lanes(max(2, len(part)))), self.dtype) for part in parts]

                def work(worker: int, part: np.ndarray, panel: np.ndarray) -> None:
                    workers[worker].batch(part, panel, mirrored=columns)

                run(work, list(zip(parts, panels, strict=True)), self._threads)
                while parts:
                    part = parts.pop(0)
                    yield part, panels.pop(0)[:, : len(part)]

    def reduced(
        self, of: Callable[[np.ndarray, np.ndarray], Any], *, columns: bool = False, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """All of A*, each panel reduced on the thread that sweeps it: (indices (k,), of(indices, panel)).

        Parameters
        ----------
        of : callable
            Receives indices and panel as from `panels`; must not keep the panel. Called concurrently; the partition
            into panels does not depend on the number of threads.
        columns : bool
            As in `panels`.
        share : (int, int)
            (k, count): every count-th panel from the k-th, for division among processes.

        Yields
        ------
        indices, reduced : array (k,), return value of `of`

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5.0, 7.0], 3)
        >>> for rows, farthest in E.reduced(lambda indices, panel: panel.max(axis=0)):
        ...     print(sorted(farthest.tolist()))
        [12.0, inf, inf]
        """
        if self.on_device is not None:
            yield from ((part, of(part, panel)) for part, panel in self.on_device.panels(columns=columns, share=share))
            return
        batch, order = self._lanes, self.order
        parts = [order[k : k + batch] for k in range(0, self.n, batch)][share[0] :: share[1]]
        group = 4 * self._threads  # few waits for the last thread, and progress is reported often
        panels, settings = self._workspace(min(self.n, batch)), np.geterr()
        found: dict[int, Any] = {}
        with self._sweepers(self._threads) as workers:

            def work(worker: int, index: int) -> None:
                part, panel = parts[index], panels[worker]
                workers[worker].batch(part, panel, mirrored=columns)
                with np.errstate(**settings):  # the caller's: each thread has its own
                    found[index] = of(part, panel[:, : len(part)])

            for start in range(0, len(parts), group):
                run(work, [(index,) for index in range(start, min(start + group, len(parts)))], self._threads)
                for index in sorted(found):
                    yield parts[index], found.pop(index)

    def to_dense(self, out: np.ndarray | None = None) -> np.ndarray:
        """A*, shape (n, n), into `out` if given.

        Parameters
        ----------
        out : array, shape (n, n), optional
            In the dtype of the elimination.

        Raises
        ------
        ShapeError, DTypeError, MemoryNeeded
            If `out` has another shape or dtype, or A* does not fit; before any work.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.to_dense()[0]
        array([ 0,  5, 12])
        """
        if out is None and self.on_device is not None:
            return self.on_device.dense()
        if out is None:
            hint = "rows() streams blocks of rows, entries() answers pairs."
            require(self.n**2 * self.dtype.itemsize, where="to_dense", hint=hint)
            out = aligned((self.n, self.n), self.dtype)  # complete cache lines are written past the caches
        check_out(out, (self.n, self.n), self.dtype, where="to_dense")
        if self.on_device is not None:
            if isinstance(out, np.ndarray):
                raise DeviceError("to_dense: out must be a CuPy array, as the panels are on a GPU, got one of NumPy.")
            self.on_device.dense(out)
        elif out.flags.c_contiguous:
            find(self._workers(self._lanes), calls(np.arange(self.n), out, self._lanes))
        else:
            for index, block in self.rows():
                out[index] = block
        return out

    def matvec(self, x: Array) -> np.ndarray:
        """A* ⊗ x, in the shape of x, (n,) or (n, k).

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.matvec([9, 9, 0])
        array([9, 7, 0])
        """
        return self._product(x, "matvec", mirrored=True)

    def rmatvec(self, x: Array) -> np.ndarray:
        """(xᵀ ⊗ A*)ᵀ, in the shape of x, (n,) or (n, k).

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.rmatvec([0, 9, 9])
        array([0, 5, 9])
        """
        return self._product(x, "rmatvec", mirrored=False)

    @cached_property
    def _lanes(self) -> int:
        return lanes_of(self._kind, self.dtype.itemsize, self.cost.height, self.n)

    @property
    def workspace(self) -> int:
        """Bytes besides A* while all of it is computed: one panel a thread, on the CPU."""
        return self._threads * self.n * self._lanes * self.dtype.itemsize

    def _sweepers(self, count: int) -> _Lease:
        return _Lease(self, count)

    def _single(self, vertex: int, *, mirrored: bool) -> np.ndarray:
        if self.on_device is not None:
            return self.on_device.line(vertex, mirrored=mirrored)
        out = np.empty((self.n, 1), self.dtype)
        with self._sweepers(1) as (sweeper,):
            sweeper.batch(np.array([vertex]), out, mirrored=mirrored)
        return out[:, 0]

    def _rows(self, wanted: np.ndarray, block: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        batch = min(self._lanes, block)
        yield from batches(self._workers(min(len(wanted), batch)), wanted, self.n, self.dtype, batch, block)

    def _workspace(self, sources: int) -> list[np.ndarray]:
        """One panel of at least `sources` lanes a thread; frees memory that updates left."""
        self.analysis.panels.release()
        unit = self._kind.lanes if self._kind.vector else 1
        lanes = -(-max(sources, 1) // unit) * unit
        return [aligned((self.n, lanes), self.dtype) for _ in range(self._threads)]

    def _workers(self, sources: int) -> list[Worker]:
        """Of each thread what writes rows of A*, contiguous, of at most `sources` sources."""

        def write(panel: np.ndarray, wanted: np.ndarray, rows: np.ndarray) -> None:
            with self._sweepers(1) as (sweeper,):
                sweeper.batch(wanted, panel)
                sweeper.transpose(panel, rows)

        return [partial(write, panel) for panel in self._workspace(sources)]

    def _block(
        self, lines: np.ndarray, rows: np.ndarray, others: np.ndarray, found: np.ndarray, mirrored: bool
    ) -> None:
        """found[rows[k]] ← A*[lines[k], others], mirrored A*[others, lines[k]]; distinct, lines by position."""
        unit = self._kind.lanes if self._kind.vector else 1
        share = -(-len(lines) // (unit * self._threads)) * unit
        batch = min(self._lanes, share)
        threads = min(self._threads, -(-len(lines) // batch))
        with self._sweepers(threads) as workers:
            wanted, lanes = workers[0].wanted(others), workers[0].lanes(batch)
            panels = [aligned((len(others), lanes), self.dtype) for _ in range(threads)]
            turned = np.empty((threads, batch, len(others)), self.dtype)

            def work(worker: int, start: int, stop: int) -> None:
                part = turned[worker, : stop - start]
                workers[worker].batch(lines[start:stop], panels[worker], mirrored=mirrored, wanted=wanted)
                workers[worker].transpose(panels[worker], part)
                found[rows[start:stop]] = part

            run(work, steps(len(lines), batch), threads)

    def _product(self, x: Array, where: str, *, mirrored: bool) -> np.ndarray:
        x = asarray(x, where=where)
        x = x if isinstance(x, np.ndarray) else x.get()
        if x.ndim not in (1, 2) or len(x) != self.n:
            raise ShapeError(f"{where}: x must have shape ({self.n},) or ({self.n}, k), got {x.shape}.")
        values = conform(x, self.semiring, self.dtype, where=where)
        seen = survey(values, self.semiring, where=where)
        nonnegative = fast(seen, self.semiring, self.dtype, self.n)
        kind = self._kind if nonnegative else choose(self.semiring, self.dtype, False)
        columns = values[:, None] if values.ndim == 1 else values
        if self.on_device is not None:
            found = self.on_device.product(columns, mirrored=mirrored, nonnegative=nonnegative)
            return found[:, 0] if values.ndim == 1 else found
        out = np.empty(columns.shape, self.dtype)
        sweeper = Sweeper(self.analysis.structure, self._panels, kind)
        for start in range(0, columns.shape[1], self._lanes):
            part = columns[:, start : start + self._lanes]
            lanes = sweeper.lanes(part.shape[1])
            padded = np.full((self.n, lanes), dtypes.zero(self.semiring, self.dtype), self.dtype)
            padded[:, : part.shape[1]] = part + 0.0 if dtypes.SCALARS[self.dtype].floating else part
            panel = aligned((self.n, lanes), self.dtype)
            sweeper.product(padded, panel, mirrored=mirrored)
            out[:, start : start + self._lanes] = panel[:, : part.shape[1]]
        return out[:, 0] if values.ndim == 1 else out


def _distinct(indices: np.ndarray, n: int) -> np.ndarray:
    """Sorted distinct indices below n."""
    return np.unique(indices) if 16 * len(indices) < n else np.flatnonzero(np.bincount(indices, minlength=n))


class _Lease:
    """Context manager: `count` workspaces from the pool. (A generator would take a microsecond more.)

    After an exception they are dropped, not returned: they may be half written.
    """

    def __init__(self, owner: Queries, count: int) -> None:
        self.owner, self.count = owner, count

    def __enter__(self) -> list[Sweeper]:
        E = self.owner
        self.sweepers: list[Sweeper] = []
        while len(self.sweepers) < self.count:
            try:
                self.sweepers.append(E._free.pop())
            except IndexError:
                self.sweepers.append(Sweeper(E.analysis.structure, E._panels, E._kind))
        return self.sweepers

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.owner._free += self.sweepers
