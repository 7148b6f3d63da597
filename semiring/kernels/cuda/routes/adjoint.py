"""Sums over best paths on the GPU, from rows of distances; equal operands give the same bits. See adjoint.cu."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ....algebra import dtypes
from ....algebra.records import Semiring
from ....host.memory import available, require
from ....host.types import Array
from ...cpu.routes.equality import SLACK
from .. import algebra, compile, gpu
from ..library import cupy
from . import by_distance, levelled
from .pairs import Pairs, index_of, spelled
from .predecessors import OPTIONS, constants, rounds

#: Sources summed as integers before conversion to floats.
CHUNK = 512
#: Density (one of DENSE pairs) from which dense kernels run; factor on concurrent sources; listed arcs per vertex.
DENSE, MORE, ROOM = 4, 16, 16
#: Initial tolerance of such arcs in eps; verified if distances are within half of the excess over 2.
NEAR = 6
#: (block size, blocks per multiprocessor) by how much of a source's state is in shared memory.
SHAPES = {2: (1024, 1), 1: (1024, 1), 0: (512, 2)}
#: Divisor of free memory for the workspaces of blocks.
WORKSPACE = 4
#: Static shared memory of a kernel, bytes.
OWN = 2200
#: Block size, warps per block and blocks per multiprocessor of the other kernels.
THREADS, WARPS, RESIDENT = 256, 8, 8
#: Sources and arcs per warp of arc tests; rows tested together.
WARP, RUN, MANY = 32, 256, 1 << 13


class Edges(NamedTuple):
    """CSR edges of a matrix on its device, with tails."""

    starts: Any
    tails: Any
    heads: Any
    weights: Any


def essential(semiring: Semiring, A: Array, D: Array, doubt: float) -> Edges:
    """Edges of A that are as good as in its closure D, within rounding: `doubt` eps of the largest entry. CuPy arrays.

    Raises MemoryNeeded if they do not fit.
    """
    A, D = cupy.ascontiguousarray(A), cupy.ascontiguousarray(D)
    n, index = len(D), index_of(len(D))
    off = doubt * dtypes.SCALARS[D.dtype].eps * largest_finite(semiring, D) if rounds(semiring, D.dtype) else 0
    slack, blocks = algebra.register(D.dtype)(off), max(1, -(-n // WARPS))
    counts = cupy.zeros(n + 1, np.int64)
    kernels = text.functions(semiring, D.dtype, index, 0)
    kernels["count_good"]((blocks,), (THREADS,), (A, D, np.int32(n), slack, counts))
    starts = cupy.cumsum(counts)
    count = int(starts[-1])
    require(count * (4 * index.itemsize + 2 * D.itemsize + 24), "cuda", where="paths", hint="Use device='cpu'.")
    edges = Edges(starts, *(cupy.empty(count, d) for d in (index, index, D.dtype)))
    kernels["list_good"]((blocks,), (THREADS,), (A, D, np.int32(n), slack, *edges))
    return edges


def largest_finite(semiring: Semiring, D: Array) -> float:
    """The largest finite |entry| of a contiguous CuPy array; 0 if there is none."""
    found = cupy.zeros(1, np.uint64)
    blocks = max(1, min(RESIDENT * gpu.multiprocessors(gpu.current()), -(-D.size // THREADS)))
    text.functions(semiring, D.dtype, index_of(1), 0)["find_largest"]((blocks,), (THREADS,), (D, D.size, found))
    return float(found.get().view(np.float64)[0])


class Adjoint:
    """Sums over best paths from sources, accumulated by blocks of rows of D.

    Arguments as of `cpu.routes.adjoint.Adjoint`, the fallback for rows that need a search or an error; edges
    are NumPy or CuPy arrays. `of_edges`, whether `along` is wanted, is set before rows are added: vertex sums alone
    take less. Raises MemoryNeeded if the workspace does not fit.
    """

    def __init__(
        self, semiring: Semiring, dtype: np.dtype, edges: Any, threads: int, names: Sequence[Any], where: str
    ) -> None:
        self.semiring, self.dtype, self.where = semiring, np.dtype(dtype), where
        self.threads, self._host_options = threads, (threads, names, where)
        starts, heads, weights = edges
        self.n, self.count, self.index = len(starts) - 1, len(heads), index_of(len(starts) - 1)
        self.rounds = rounds(semiring, self.dtype)
        self._shape()
        self._weights = cupy.ascontiguousarray(cupy.asarray(weights), dtype=self.dtype)
        ends = (self._weights.min(), self._weights.max()) if self.count else ()
        self._extremes = tuple(float(x) for x in ends)
        self._levelled, self.of_edges = self._in_levels(), True
        least = semiring.add.selects == "least"
        known = self._weights, self._extremes
        self._unit = by_distance.unit_of(*known, least=least) if semiring.lengths else 0.0
        held = 8 * self.count + (levelled.needed(1, self.n) if self._levelled else self._held)
        require(held, "cuda", where=where, hint="Use device='cpu'.")
        self._starts = cupy.asarray(starts).astype(np.int64)
        self._heads = cupy.asarray(heads).astype(self.index, copy=False)
        self._arrivals = np.zeros(self.n, np.int64)  # from rows computed on the host

    def _in_levels(self) -> bool:
        """Whether all arcs have one weight, worsen walks, and are dense enough for matrix products."""
        if not (self.semiring.lengths and levelled.suits(self.count, self.n)):
            return False
        least, greatest = self._extremes
        return least == greatest and (least > 0 if self.semiring.add.selects == "least" else least < 0)

    @cached_property
    def _tails(self) -> Any:
        return (self._starts.searchsorted(cupy.arange(self.count), side="right") - 1).astype(self.index)

    @cached_property
    def _by_level(self) -> Any:
        return levelled.Sums(self._tails, self._heads, self.n)

    @cached_property
    def _by_distance(self) -> by_distance.Sums:
        edges = self._tails, self._heads, self._weights
        return by_distance.Sums(self.semiring, self.dtype, edges, self._unit, self.n)

    @cached_property
    def _open(self) -> tuple[Any, Any]:
        """Open sums as integers, one per arc, and the number of other sources that reach each vertex.

        Without `of_edges`, sums per vertex: entering, then leaving.
        """
        require(self._held, "cuda", where=self.where, hint="Use device='cpu'.")
        return cupy.zeros(self._slots, np.uint64), cupy.zeros(self.n, np.int32)

    @property
    def _slots(self) -> int:
        return self._places if self.of_edges else 2 * self.n

    @cached_property
    def _closed(self) -> Any:
        """Sums so far, by arc; by (head, tail) place if dense; or per vertex."""
        return cupy.zeros(self._slots)

    @cached_property
    def _listed(self) -> tuple[Any, Any, Any]:
        """By head: starts, arcs in kernel format, and their indices."""
        if self._apart_heads:  # n
            order, starts = cupy.full(self._places, -1, np.int64), self._apart_heads * cupy.arange(self.n + 1)
            order[self._heads.astype(np.int64) * self._apart_heads + self._tails] = cupy.arange(self.count)
        else:
            order, vertices = cupy.argsort(self._heads, kind="stable"), cupy.arange(self.n + 1).astype(self.index)
            starts = self._heads[order].searchsorted(vertices).astype(np.int64)
        arcs = gpu.memory(max(1, self._places) * self._arc)
        if self._places:
            columns = self._tails, self._heads, self._weights, order, self._places
            self._launch("arrange", -(-self._places // THREADS), *columns, max(1, self._apart_heads), arcs.ptr)
        return starts, arcs, order

    @property
    def _others(self) -> list[Any]:
        """Sums by level and by distance, if any."""
        return [vars(self)[name] for name in ("_by_level", "_by_distance") if name in vars(self)]

    @property
    def arrivals(self) -> np.ndarray:
        """Number of other sources added so far that reach each vertex."""
        found = self._arrivals + (self._open[1].get() if "_open" in vars(self) else 0)
        return np.asarray(sum((other.arrivals.get() for other in self._others), start=found))

    def add(self, D: Array, sources: np.ndarray, demand: Array) -> None:
        """Add the sums of these rows of D, in a fixed order, for demand[r, j] at vertex j.

        A single row of demand serves all rows. Raises DivergenceError if tight arcs form a cycle, so that best
        paths do not end, and DomainError if D is not the closure, or best paths are too many for float64.
        """
        demand = cupy.ascontiguousarray(cupy.asarray(demand), dtype=np.float64)
        together = len(D) > 0 and bool((np.diff(sources) == 1).all())
        rows = slice(int(sources[0]), int(sources[-1]) + 1) if together else cupy.asarray(sources)
        fits = self._levelled and levelled.needed(len(D), self.n) <= (available("cuda") or 0)
        if fits and self._by_level.add(self._hops(D), rows, demand):
            return
        D = self._rows(D)
        if self._unit and self.n < by_distance.VERTICES:
            largest = largest_finite(self.semiring, cupy.ascontiguousarray(D))
            few = largest <= by_distance.LEVELS * self._unit
            if few and self._by_distance.add(D, sources, demand, largest, along=self.of_edges):
                return
        bounds = abs(demand).sum(axis=1)
        every = np.broadcast_to(bounds.get(), len(D))
        failed = cupy.zeros(len(D), np.int32)
        for first, last, sums in self._tried(D, sources, demand, bounds, 0, failed):
            chunk = first - first % self._chunk
            most = np.float64(every[chunk : chunk + self._chunk].sum())
            sums(most)
            if self.count and (last % self._chunk == 0 or last == len(D)):
                order = self._listed[2] if self.of_edges and not self._apart_heads else 0
                ends = self._open[0], order, self._slots, most, self._closed
                self._launch("join", -(-self._slots // THREADS), *ends)
        if len(left := np.flatnonzero(failed.get())):
            some = cupy.asarray(left)
            asked = demand if len(demand) == 1 else demand[some]
            if self._way < len(self._slacks):
                self._way += 1
                self.add(D[some], sources[left], asked)
                self._way -= 1
                return
            self._on_host.add(D[some].get(), sources[left], asked.get())
            self._arrivals += self._reached(D[some].get(), sources[left])

    def finish(self) -> None:
        if "_on_host" in vars(self):
            self._on_host.finish()

    @property
    def carried(self) -> bool:
        return self.of_edges or not {"_by_distance", "_open"} & vars(self).keys()

    @property
    def along(self) -> Any:
        """Flow over each edge, CuPy float64; after `finish`, and only with `of_edges`."""
        along = self._closed if "_closed" in vars(self) else cupy.zeros(self.count)
        if "_closed" in vars(self) and self._apart_heads:
            table, along = along, cupy.empty(self.count)
            self._launch("gather", self.n, table, self._starts, self._heads, np.int32(self.n), along)
        if "_on_host" in vars(self):
            along = along + cupy.asarray(self._on_host.along)
        return sum((other.along for other in self._others), start=along)

    def of_vertices(self) -> tuple[np.ndarray, np.ndarray]:
        """Flow into and out of each vertex."""
        flow = [np.zeros((2, self.n)), *(other.of_vertices() for other in self._others)]
        if "_closed" in vars(self):
            flow.append(self._of_closed())
        if "_on_host" in vars(self):
            flow.append([np.bincount(x.get(), self._on_host.along, self.n) for x in (self._heads, self._tails)])
        entering, leaving = np.sum(flow, axis=0)
        return entering, leaving

    def _of_closed(self) -> Any:
        if not self.of_edges:
            return self._closed.reshape(2, self.n).get()
        if self._apart_heads:
            table = self._closed.reshape(self.n, self.n)
            return table.sum(axis=1).get(), table.sum(axis=0).get()
        sums, (into, _, order) = cupy.zeros((2, self.n)), self._listed
        for out, starts, places in zip(sums, (into, self._starts), (order, 0), strict=True):
            blocks = max(1, -(-self.n // WARPS))
            self._launch("sum_lists", blocks, self._closed, starts, places, np.int32(self.n), out)
        return sums.get()

    def counts(self, D: Array, sources: np.ndarray, out: np.ndarray) -> None:
        """out ← the number of best paths from each source to every vertex, int64; errors as in `add`."""
        D, found, failed = self._rows(D), cupy.empty(D.shape, np.int64), cupy.zeros(len(D), np.int32)
        nothing = cupy.zeros((1, 1))
        for _, _, sums in self._tried(D, sources, nothing, nothing, found, failed):
            sums(np.float64(0))
        out[...] = found.get()
        if len(left := np.flatnonzero(failed.get())):
            rows, D = np.empty((len(left), self.n), np.int64), D[cupy.asarray(left)]
            if self._way < len(self._slacks):
                self._way += 1
                self.counts(D, sources[left], rows)
                self._way -= 1
            else:
                self._on_host.counts(D.get(), sources[left], rows)
            out[left] = rows

    @cached_property
    def _on_host(self) -> Any:
        """Host fallback, for rows that need a search, and for errors."""
        from ...cpu.routes.adjoint import Adjoint as Host

        starts, heads, weights = (x.get() for x in (self._starts, self._heads, self._weights))
        return Host(self.semiring, self.dtype, (starts, heads, weights), *self._host_options)

    def _hops(self, D: Array) -> Any:
        """Hop counts of rows as int8, if all arcs have one weight: −1 without a path, clipped at 127."""
        H = (D / float(self._weights[0])).round().clip(-1, 127)
        H[dtypes.zero(self.semiring, self.dtype) == D] = -1
        return H.astype(np.int8)

    def _reached(self, D: np.ndarray, sources: np.ndarray) -> np.ndarray:
        reached = dtypes.zero(self.semiring, self.dtype) != D
        reached[np.arange(len(D)), sources] = False
        return reached.sum(axis=0)

    @staticmethod
    def _rows(D: Array) -> Any:
        D = cupy.asarray(D)
        return D if D.strides[1] == D.itemsize and D.strides[0] % D.itemsize == 0 else cupy.ascontiguousarray(D)

    def _tried(
        self, D: Array, sources: np.ndarray, demand: Array, bounds: Array, counts: Array, failed: Array
    ) -> Iterator[tuple[int, int, Callable[[np.float64], None]]]:
        """Chunks of rows with tested arcs, each with the launcher of its sums."""
        scalar, n, pitch = algebra.register(self.dtype), np.int32(self.n), D.strides[0] // D.itemsize
        floor = scalar(largest_finite(self.semiring, cupy.ascontiguousarray(D)) if self._cancels else 0)
        where = cupy.asarray(np.ascontiguousarray(sources, np.int32))
        total, arrivals = self._open
        asked = demand, demand.shape[1] if len(demand) > 1 else 0, bounds
        out = total, np.int32(self.of_edges), arrivals, counts, failed
        by_lists, most = self._way < len(self._slacks), ROOM * self.n
        starts, arcs = (0, 0) if by_lists else (self._listed[0], self._listed[1].ptr)
        slack = scalar(self._slacks[self._way] if by_lists else self._doubt)
        off = scalar((NEAR - 2) / 2 * np.finfo(self.dtype).eps if by_lists and slack < self._doubt else -1)
        each = (most * self._arc, 0) if by_lists else (self.n * self.dtype.itemsize, 4 * self._words)
        step = min(self._together(sum(each)), -(-len(D) // WARP) * WARP)
        first_part, bits = (gpu.memory(step * size) for size in each)  # lists of arcs, or transposed rows
        for begin in range(0, len(D), step):
            end = min(begin + step, len(D))
            given = D[begin:end], slack, floor, first_part.ptr
            if by_lists:
                tight = self._pairs.list(given[0], sources[begin:end], *given[1:], most)
            else:
                tight = self._try(*given, bits.ptr)
            most_tight = min(int(tight.max()), most) if by_lists else int(tight.max())
            apart = self._apart + -(-most_tight * self._listing // 16) * 16 + 32
            blocks = max(1, min(self._blocks, (available("cuda") or 0) // WORKSPACE // apart))
            require(blocks * apart, "cuda", where=self.where, hint="Use device='cpu'.")
            buffer = gpu.memory(apart * blocks)
            for first in range(begin, end, self._chunk):
                last = min(first + self._chunk - first % self._chunk, end)
                chunk = D, pitch, where, n, first, last, self._places
                lists = first_part.ptr + most * self._arc * (first - begin) if by_lists else 0
                held = lists, most, tight.data.ptr + 4 * (first - begin), off, np.int32(most_tight)
                tried = bits.ptr + 4 * self._words * (first - begin), self._words, *held
                before = *chunk, starts, arcs, slack, floor, *asked
                after = *tried, buffer.ptr, apart, *out
                yield first, last, partial(self._sum, min(last - first, blocks), before, after)

    def _try(self, D: Array, slack: Any, floor: Any, turned: int, bits: int) -> Any:
        """bits ← candidate arcs of these rows; returns their number per row."""
        tight, groups, over = cupy.zeros(len(D), np.int32), -(-len(D) // WARP), max(1, -(-self.n // WARP))
        rows, width, n = (np.int32(x) for x in (len(D), groups * WARP, self.n))
        pitch = D.strides[0] // D.itemsize
        self._function("turn")((over, groups), (THREADS,), (D, pitch, n, rows, width, turned))
        if not self.count:
            return tight
        over, arcs = -(-self._places // RUN), (self._listed[1].ptr, self._places)
        given = turned, width, rows, *arcs, slack, floor, bits, self._words, tight
        self._function("try_arcs")((over, -(-groups // WARPS)), (THREADS,), given)
        return tight

    @property
    def _doubt(self) -> float:
        return float(np.finfo(self.dtype).eps) ** SLACK if self.rounds else 0.0

    @cached_property
    def _slacks(self) -> tuple[float, ...]:
        """Tolerances of pair lists, tried in turn as rows fail; then bits are tested.

        Rows fail if their lists are too long, if they need a search, or if distances are less accurate than assumed.
        """
        if not self._apart_heads:
            return ()
        near = (NEAR * float(np.finfo(self.dtype).eps),) if self.rounds and not self._cancels else ()
        return (*near, self._doubt)

    @cached_property
    def _pairs(self) -> Pairs:
        nonnegative = self.count > 0 and self._extremes[0] >= 0
        return Pairs(self.semiring, (self._starts, self._heads, self._weights), nonnegative=nonnegative)

    def _sum(self, blocks: int, before: tuple[Any, ...], after: tuple[Any, ...], most: np.float64) -> None:
        threads, _ = SHAPES[self._near]
        self._function("sums")((blocks,), (threads,), (*before, most, *after), self._shared)

    @cached_property
    def _cancels(self) -> bool:
        """Whether lengths of both signs cancel, so that a small sum may carry the rounding error of large ones."""
        if not (self.rounds and self.semiring.lengths):
            return False
        worse = self.count > 0 and self._extremes[0] < dtypes.one(self.semiring, self.dtype)
        return worse or self.semiring.add.selects == "greatest"

    def _shape(self) -> None:
        """Choose the shared memory layout, and the workspace per block."""
        n, size, few = self.n, self.dtype.itemsize, self.index.itemsize
        seen, numbers = -(-size * n // 8) * 8 + -(-2 * few * n // 8) * 8 + few * n, (16 + few) * n
        device = gpu.current()
        most = gpu.most_shared(device) - OWN
        every = numbers + seen
        self._near = 2 if every <= most else 1 if seen <= most else 0
        self._shared = (0, seen, every)[self._near]
        self._apart = -(-(every + 8 * (n + 2) + 32) // 16) * 16
        function, (threads, _) = self._function("sums"), SHAPES[self._near]
        compile.allow_shared(function, self._shared)
        self._blocks = gpu.resident(function, threads, self._shared) * gpu.multiprocessors(device)
        dense = self.count * DENSE >= n * n > 0
        self._way = 0
        self._apart_heads: int = n if dense else 0
        self._chunk: int = MORE * CHUNK if dense else CHUNK
        self._places: int = n * self._apart_heads if dense else self.count
        self._words = -(-self._places // RUN) * (RUN // WARP)
        row = n * size + 4 * self._words
        self._arc = 8 if 2 * few + size <= 8 else 16
        self._listing = self._arc + (4 if few == 2 else 8)
        self._held: int = self.count * (2 * few + size + 32) + self._places * (self._arc + 16)
        self._held += self._apart * self._blocks + 28 * n + WARP * row

    def _together(self, row: int) -> int:
        """Rows tested together, of `row` bytes each: a power of two within their share of memory."""
        most = (available("cuda") or 0) // WORKSPACE // max(1, row)
        return max(WARP, 1 << min(most, MANY).bit_length() - 1) if most else WARP

    def _launch(self, entry: str, blocks: int, *arguments: Any) -> None:
        self._function(entry)((blocks,), (THREADS,), arguments)

    def _function(self, entry: str) -> Any:
        return text.functions(self.semiring, self.dtype, self.index, self._near)[entry]


@compile.unit("adjoint.cu", options=OPTIONS)
def text(semiring: Semiring, dtype: np.dtype, index: np.dtype, near: int) -> str:
    workers, resident = SHAPES[near]
    sizes = algebra.constants(near=near, workers=workers, resident=resident) + spelled(index)
    return compile.source("adjoint.cu", algebra.text(semiring, dtype), constants(semiring, dtype), sizes)
