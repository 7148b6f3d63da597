"""Products of CSR matrices on one GPU: launches of gather.cu and spgemm.cu."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS, one, zero
from ....algebra.records import Semiring
from ....host import memory
from ....host.errors import DeviceError
from ....host.types import Array, Matrix
from .. import algebra, compile, gpu
from ..library import cuda, cupy

HINT = "Multiply in parts, or give a mask."
#: Block size; log₂ entries of a tile for one column, and for several; tiles per device, about.
THREADS, ONE, MANY, TILES = 256, 11, (5, 9), 1 << 14
#: log₂ keys of the largest tables in shared memory; and if one strip spans all columns.
TABLE, BESIDE_ONE = 12, 8
#: Tiles up to which blocks of one column find their rows, and the last block joins what others began: fewer launches.
ALONE_TILES = 512
#: Shared-memory bytes per block of several teams; log₂ keys from which a team is an entire block.
SHARED, ALONE = 24 << 10, 9
#: Strip sizes in bytes, ascending; most strips per row; threads per strip, unordered and in order.
STRIP, STRIPS, STRIP_THREADS, IN_TURN = (36 << 10, 72 << 10, 144 << 10), 48, 512, 128
#: Shared memory of a block outside the strip, bytes.
RESERVED = 1 << 10
#: Most entries of full-width strips for all rows: clearing them is faster than sorting rows.
CLEARED = 1 << 26
#: Products of a masked row that cost as much as one entry.
LOOKED_UP = 16
#: Rows per thread, and threads per block, of the sums of counts.
SCANNED, SCANNERS = 11, 1024
#: Classes of rows by the size of their tables, as in spgemm.cu.
CLASSES = 16
#: Keys up to which all rows have tables of one size; products per row, by the mean, up to which that is tried unseen.
ALIKE, FEW = 96, 48
#: Most thread blocks of passes over rows or indices.
BLOCKS = 1 << 10
#: Most workspace bytes for the longest rows; blocks per multiprocessor.
WORKSPACE, RESIDENT = 2 << 30, 4
#: Most columns: column numbers are 31 bits of a key.
COLUMNS = (1 << 31) - 2


@compile.unit("gather.cu")
def gather_text(s: Semiring, dtype: np.dtype, mirrored: bool, vec: int, group: int) -> str:
    shape = algebra.constants(mirrored=mirrored, vec=vec, group=group)
    return compile.source("gather.cu", algebra.text(s, dtype), shape, _outside(s))


def _outside(s: Semiring) -> str:
    """Predicate in CUDA C++: whether a float lies outside the semiring's domain."""
    low, high = s.domain
    ends = (low, "<=" if s.open_low else "<"), (high, ">=" if s.open_high else ">")
    tests = [f"a {sign} V({_bound(end)})" for end, sign in ends if math.isfinite(end) or "=" in sign]
    return f"template <class V> __device__ inline bool outside(V a) {{ return {' || '.join(['a != a', *tests])}; }}\n"


def _bound(end: float) -> str:
    return repr(float(end)) if math.isfinite(end) else f"{'-' if end < 0 else ''}INFINITY"


@compile.unit("spgemm.cu")
def spgemm_text(s: Semiring, dtype: np.dtype) -> str:
    ordered = s.add.selects is None and SCALARS[dtype].floating
    return compile.source("spgemm.cu", algebra.text(s, dtype), algebra.constants(ordered=ordered), _outside(s))


@compile.unit("inspect.cu")
def inspect_text(index: np.dtype) -> str:
    return f"using Index = unsigned {'int' if index.itemsize == 4 else 'long long'};\n" + compile.source("inspect.cu")


def inspected(starts: Any, indices: Any) -> tuple[int, bool, int]:
    """Number of entries, whether row starts ascend from 0, and the largest index, as unsigned numbers."""
    indices = indices if indices.itemsize in (4, 8) else indices.astype(np.int64)
    found, most = cupy.zeros(3, np.uint64), max(len(starts), len(indices))
    arguments = starts, indices, np.int64(len(starts) - 1), np.int64(len(indices)), found
    blocks = min(BLOCKS, -(-most // THREADS))
    inspect_text.functions(indices.dtype)["inspect"]((blocks,), (THREADS,), arguments)
    used, wrong, largest = found.get().tolist()
    return used, not wrong, largest


def arranged(keys: Any, count: int) -> tuple[Any, Any]:
    """Starts of each of `count` keys in their stable order, and that order."""
    order = cupy.argsort(keys, kind="stable")
    return cupy.searchsorted(keys[order], cupy.arange(count + 1)).astype(np.int64), order


def form(columns: int, itemsize: int) -> tuple[int, int]:
    """Columns of X per lane of `gather_many`, and lanes per row of X."""
    vec = next(v for v in (4, 2, 1) if columns % v == 0 and v * itemsize <= 16)
    return vec, min(32, 1 << (-(-columns // vec) - 1).bit_length())


def gather(A: Any, X: Any, out: Any, s: Semiring, *, mirrored: bool, threads: int | None, where: str) -> None:
    """out ← A ⊗ X, or out[i, j] = ⊕ X[k, j] ⊗ A[i, k] if not mirrored."""
    refuse_threads(threads, where)
    m, columns, count = A.shape[0], X.shape[1], len(A.indices)
    if m == 0 or columns == 0:
        return
    dtype = A.data.dtype
    if columns == 1:
        _gather_one(A.starts, A.indices, A.data, X, out, s, mirrored)
        return
    vec, group = form(columns, dtype.itemsize)
    found = gather_text.functions(s, dtype, mirrored, vec, group)
    shift = min(MANY[1], max(MANY[0], (count // TILES).bit_length()))
    tiles = max(1, -(-count >> shift))
    first = cupy.empty(tiles, np.int32)
    lead, carry = (cupy.empty((tiles, columns), dtype) for _ in range(2))
    sizes = np.int32(m), np.int32(shift), np.int32(tiles), np.int32(1)
    found["first_rows"]((m // THREADS + 1,), (THREADS,), (A.starts, first, *sizes))
    arrays = A.starts, A.indices, A.data, X, out, first, lead, carry
    grid = -(-tiles * 32 // THREADS), -(-columns // (vec * group))
    cuts = np.int32(tiles), np.int32(shift)
    found["gather_many"](grid, (THREADS,), (*arrays, np.int32(m), *cuts, np.int64(count), np.int32(columns)))
    if tiles > 1:
        parts = A.starts, first, lead, carry, out, np.int32(m), *cuts, np.int32(columns), np.int32(1)
        found["join"]((-(-tiles * 32 // THREADS),), (THREADS,), parts)


def _gather_one(
    starts: Any, indices: Any, data: Any, x: Any, y: Any, s: Semiring, mirrored: bool, wrong: int = 0, done: int = 0
) -> None:
    """y ← A ⊗ x; with `wrong`, the address of an int32, and a counter `done` the operands are checked."""
    m, count, size = len(starts) - 1, len(indices), data.itemsize
    found = gather_text.functions(s, data.dtype, mirrored, 1, 1)
    tiles = max(1, -(-count >> ONE))
    beside = gpu.memory(tiles * (8 + 2 * size))  # a row each of 8 bytes, which aligns the others
    first, lead, carry = beside.ptr, beside.ptr + tiles * 8, beside.ptr + tiles * (8 + size)
    rows, cut, shift = np.int32(m), np.int32(tiles), np.int32(ONE)
    wide, wide_indices = (np.int32(x.itemsize == 8) for x in (starts, indices))
    arrays, alone = (starts, indices, data, x, y, first, lead, carry), tiles <= ALONE_TILES
    if not alone:
        found["first_rows"]((m // THREADS + 1,), (THREADS,), (starts, first, rows, shift, cut, wide))
    checks = wide_indices, np.int32(alone), np.int32(len(x)), wrong, done if alone else 0
    found["gather_one"]((tiles,), (THREADS,), (*arrays, rows, cut, np.int64(count), wide, *checks))
    if tiles > 1 and not (alone and done):
        last = rows, cut, shift, np.int32(1), wide
        found["join"]((-(-tiles * 32 // THREADS),), (THREADS,), (starts, first, lead, carry, y, *last))


def gather_vector(A: Any, x: Any, s: Semiring) -> Any:
    """A ⊗ x for a csr matrix of floats as it came, checked by the kernel; None unless both are well-formed."""
    y, (flag, wrong, done) = cupy.empty(A.shape[0], x.dtype), _flag(gpu.current())
    stream = cupy.cuda.get_current_stream()
    try:
        _gather_one(A.indptr, A.indices, A.data, x, y, s, True, wrong.ptr, done.ptr)
    finally:
        stream.synchronize()
        bad, flag[0] = flag[0], 0
    return None if bad else y


_own = threading.local()


def _flag(device: int) -> tuple[np.ndarray, Any, Any]:
    """This thread's number in pinned host memory, 0 between calls, its memory, and a counter on the device."""
    flags: dict[int, tuple[np.ndarray, Any, Any]] = _own.__dict__.setdefault("flags", {})
    if device not in flags:
        memory = cuda.alloc_pinned_memory(4)
        flags[device] = np.frombuffer(memory, np.int32, 1), memory, gpu.memory(4, zeros=4)
        flags[device][0][0] = 0
    return flags[device]


def refuse_threads(threads: int | None, where: str) -> None:
    if threads is not None:
        raise DeviceError(f"{where}: threads are those of a CPU, got {threads} for a GPU. Leave it out.")


def multiply(
    A: Any, B: Any, s: Semiring, mask: Any, complement: bool, threads: int | None, where: str
) -> tuple[Any, Any, Any]:
    """Starts, indices and entries of A ⊗ B, at the mask's positions or at all others; columns unsorted within rows.

    Raises MemoryNeeded, and DeviceError if B has too many columns for the GPU's tables.
    """
    refuse_threads(threads, where)
    if B.shape[1] > COLUMNS:
        raise DeviceError(
            f"{where}: on a GPU a sparse product must have at most {COLUMNS} columns, got {B.shape[1]}. "
            "Use device='cpu'."
        )
    return _Product(A, B, s, mask, complement, where).computed()


def multiply_checked(A: Matrix, B: Matrix, s: Semiring, where: str) -> tuple[Array, Array, Array] | None:
    """`multiply` of unchecked matrices, starts and indices in 32 or 64 bits; None unless both are well-formed.

    Starts are in 32 bits where the entries allow.
    Sums that depend on their order need columns that ascend within rows.
    """
    product = _Product(A, B, s, None, False, where, check=True)
    if product.refused:
        return None
    starts, indices, data = product.computed()
    return starts if len(indices) > COLUMNS else product.narrow, indices, data


def summed(B: Any, s: Semiring, where: str) -> Any:
    """B with duplicates summed, in their order."""
    if B.source is not None and getattr(B.source, "has_canonical_format", False):
        return B
    keys = B.rows().astype(np.int64) * B.shape[1] + B.indices
    order = cupy.argsort(keys, kind="stable")
    keys = keys[order]
    begins = cupy.concatenate([cupy.zeros(1, np.int64), cupy.flatnonzero(keys[1:] != keys[:-1]) + 1])
    if len(begins) >= len(keys):
        return B
    ends = cupy.concatenate([begins, cupy.full(1, len(keys), np.int64)])
    groups = replace(
        B, shape=(len(begins), 1), starts=ends, indices=cupy.zeros(len(keys), np.int32), data=B.data[order]
    )
    unit, sums = cupy.full((1, 1), one(s, B.data.dtype), B.data.dtype), cupy.empty((len(begins), 1), B.data.dtype)
    gather(groups, unit, sums, s, mirrored=True, threads=None, where=where)
    return replace(
        B,
        starts=cupy.searchsorted(begins, B.starts).astype(np.int64),
        indices=B.indices[order][begins],
        data=sums[:, 0],
    )


def _group(mean: int) -> int:
    """Lanes per row of B, given its mean length."""
    return min(32, max(4, 1 << max(0, mean - 1).bit_length()))


class _Product:
    """One sparse product, its rows grouped by table size."""

    def __init__(
        self, A: Matrix, B: Matrix, s: Semiring, mask: Matrix, complement: bool, where: str, *, check: bool = False
    ) -> None:
        self.where, self.dtype, self.rows, self.columns = where, A.data.dtype, A.shape[0], B.shape[1]
        self.mode = 0 if mask is None else 1 + complement
        self.ordered = s.add.selects is None and SCALARS[self.dtype].floating
        self.zero = zero(s, self.dtype)
        self.value = algebra.register(self.dtype)
        self.kernels = spgemm_text.functions(s, self.dtype)
        # Bounds of rows, entries counted and entries computed, 0 at first; totals; a chain of blocks.
        self.blocks = self.rows // (SCANNED * SCANNERS) + 1
        size = 8 * (2 * self.rows + 6 + self.blocks)
        self.room = gpu.memory(size, zeros=size)
        self.bound, self.counts = self.room.ptr, self.room.ptr + 8 * self.rows
        totals, self.chain = self.bound + 16 * self.rows, self.bound + 16 * self.rows + 24
        if check:
            given = self._checked(A, totals + 16)
            A, B = given, given if B is A else self._checked(B, totals + 16)
        elif self.ordered and len(B.indices):
            B = summed(B, s, where)
        self.operands = A, B, mask
        operands = A.starts, A.indices, B.starts, mask.starts if self.mode else 0
        sizes = np.int64(B.shape[0]), np.int64(self.columns)
        limits = np.int32(self.mode), *sizes, np.int32(LOOKED_UP), np.int64(3 << TABLE - 2)
        blocks = min(BLOCKS, max(1, -(-self.rows * 8 // THREADS)))
        found = self.bound, np.int32(self.rows), totals
        self.kernels["bound_rows"]((blocks,), (THREADS,), (*operands, *limits, *found))
        mean = len(B.indices) // max(1, B.shape[0])
        self.group, self.counted = _group(mean), self.mode == 0 and 0 < mean * len(A.indices) <= FEW * self.rows
        if self.counted:  # before the host knows the longest row: one wait less; too long a row, and the kernel returns
            self._hashed(None, self.rows, ALIKE.bit_length(), self.counts, None, totals)
            self._begin()
        total, self.longest, wrong, *self.sizes = gpu.fetch(totals, 5, np.int64).tolist()
        self.refused = wrong & (3 if self.ordered else 1)
        self.counted &= self.longest <= ALIKE
        self.group = _group(total // max(1, len(A.indices)))

    def _checked(self, A: Matrix, found: int) -> Matrix:
        """A with starts in 64 bits and indices in 32; whether it is well-formed is put at the address `found`."""
        (rows, columns), count, wide = A.shape, len(A.data), A.indices.itemsize == 8
        starts, indices = cupy.empty(rows + 1, np.int64), cupy.empty(count, np.int32) if wide else A.indices
        given = A.starts, np.int32(A.starts.itemsize == 8), A.indices, np.int32(wide), A.data
        sizes = np.int32(rows), np.int64(count), np.int64(columns)
        grid = (min(BLOCKS, rows * 8 // THREADS + 1),), (THREADS,)
        self.kernels["check_rows"](*grid, (*given, *sizes, starts, indices, found))
        return replace(A, starts=starts, indices=indices)

    def computed(self) -> tuple[Any, Any, Any]:
        if self.mode == 1:
            return self._within_mask()
        if not self.counted:
            began = self.room + (self.chain - self.room.ptr)  # by a count tried in vain
            began.memset_async(0, 8 * (3 + self.blocks))
            self._over(self.bound, True, self.longest, self.counts, None)
            self._begin()
            self.sizes = self._sizes()
        size, longest = self.sizes
        self._require(size)
        C = self.starts, cupy.empty(size, np.int32), cupy.empty(size, self.dtype)
        within: Any = self.counts
        if self.mode == 2:
            masked, counts = (starts[1:] - starts[:-1] for starts in (self.operands[2].starts, self.starts))
            within, longest = masked * (counts > 0) + counts, self.longest
        self._over(within, self.mode == 2, longest, self.counts + 4 * self.rows, C)
        return C

    def _within_mask(self) -> tuple[Any, Any, Any]:
        """`computed` at the mask's positions, which bound each row: computed there, then compacted."""
        mask = self.operands[2]
        most = len(mask.indices)
        self._require(2 * most)
        C = mask.starts, cupy.empty(most, np.int32), cupy.empty(most, self.dtype)
        self._over(self.bound, True, self.longest, self.counts, C)
        self._begin()
        size, _ = self._sizes()
        if size == most:
            return C
        places = cupy.arange(size)
        rows = cupy.searchsorted(self.starts, places, side="right") - 1
        places += (mask.starts[:-1] - self.starts[:-1])[rows]
        return self.starts, C[1][places], C[2][places]

    def _begin(self) -> None:
        """CSR starts of rows with the counted entries; their total and the longest row into `chain`, initially 0."""
        self.starts, self.narrow = (cupy.empty(self.rows + 1, kind) for kind in (np.int64, np.int32))
        arguments = self.counts, np.int32(self.rows), self.starts, self.narrow, self.chain
        function, shared = self.kernels["begin_rows"], 8 * SCANNED * SCANNERS
        compile.allow_shared(function, shared)
        function((self.blocks,), (SCANNERS,), arguments, shared_mem=shared)

    def _sizes(self) -> list[int]:
        """Entries of C, and those of its longest row."""
        return gpu.fetch(self.chain, 2, np.int64).tolist()

    def _require(self, entries: int) -> None:
        memory.require(entries * (4 + self.dtype.itemsize), "cuda", where=self.where, hint=HINT)

    def _over(self, bound: Any, wide: bool, longest: int, counts: int, C: Any) -> None:
        """Count the entries of rows, or compute them into C; at most `bound` keys each, in 64 or 32 bits."""
        if longest <= ALIKE:  # a table size for all: a power of two ≥ 4/3 of the bound, from 2⁵ on
            if longest:
                self._hashed(None, self.rows, max(5, 2 + (-(-longest // 3) - 1).bit_length()), counts, C)
            return
        width = self._width(C)
        most = BESIDE_ONE if width >= self.columns else TABLE
        if width >= self.columns and self.rows * width <= CLEARED:
            self._strips(None, self.rows, width, counts, C)
            return
        found, order = cupy.zeros((2, CLASSES), np.uint32), cupy.empty(self.rows, np.int32)
        keys = bound, np.int32(wide), np.int32(self.rows), np.int32(most), found
        grid = (min(BLOCKS, -(-self.rows // THREADS)),), (THREADS,)
        self.kernels["count_classes"](*grid, keys)
        self.kernels["list_classes"](*grid, (*keys, found[1], order))
        ends = [0, *accumulate(found[0].get().tolist())]
        for size in range(5, most + 2):
            if count := ends[size + 1] - ends[size]:
                rows = order[ends[size] : ends[size + 1]]
                if size <= most:
                    self._hashed(rows, count, size, counts, C)
                elif -(-self.columns // width) <= STRIPS:
                    self._strips(rows, count, width, counts, C)
                else:
                    self._dense(rows, count, counts, C)

    def _arguments(self, rows: Any, count: int) -> list[Any]:
        A, B, mask = self.operands
        operands = A.starts, A.indices, A.data, B.starts, B.indices, B.data
        outside = (mask.starts, mask.indices) if mask is not None else (0, 0)
        return [0 if rows is None else rows, np.int32(count), *operands, *outside, np.int32(self.mode)]

    @staticmethod
    def _results(counts: Any, C: Any) -> list[Any]:
        return [counts, *(C or (0, 0, 0))]

    def _hashed(self, rows: Any, count: int, size: int, counts: Any, C: Any, totals: Any = 0) -> None:
        """Rows by tables of 2^size keys; with the `totals` of bound_rows, none if one needs more or is malformed."""
        bytes_of = (1 << size) * (4 + (np.dtype(self.value).itemsize if C else 0)) + 8
        in_turn = self.ordered and C is not None
        team = self.group if in_turn or size < 7 else 32
        if size >= ALONE:
            team = THREADS if not in_turn else max(32, 64 if self.group == 32 else 32)
        teams = 1 if team > 32 else max(1, min(THREADS // team, SHARED // bytes_of))
        teams = max(teams, 32 // team) if team < 32 else teams
        group = min(self.group, team)
        shared = -(-bytes_of * teams // 16) * 16
        function = self.kernels["multiply_hashed"]
        compile.allow_shared(function, shared)
        sizes = np.int32(32 - size), np.int32(team), np.int32(group)
        arguments = (*self._arguments(rows, count), *sizes, *self._results(counts, C), totals)
        function((-(-count // teams),), (team * teams,), arguments, shared_mem=shared)

    def _width(self, C: Any) -> int:
        """Columns of a strip, a multiple of 32: as many as fit, at most all."""
        bits = 1 + (self.mode > 0) + 8 * (np.dtype(self.value).itemsize if C else 0)
        most = gpu.most_shared(gpu.current()) - RESERVED
        widths = (max(32, min(8 * min(size, most) // bits, self.columns + 31) // 32 * 32) for size in STRIP)
        return next((width for width in widths if -(-self.columns // width) <= STRIPS), 32)

    def _strips(self, rows: Any, count: int, width: int, counts: Any, C: Any) -> None:
        in_turn = self.ordered and C is not None
        strips, words = -(-self.columns // width), width // 32
        shared = 4 * words * (2 if self.mode else 1) + (width * np.dtype(self.value).itemsize if C else 0)
        function = self.kernels["multiply_strips"]
        compile.allow_shared(function, shared)
        arguments = (*self._arguments(rows, count), *map(np.int32, (words, strips, self.group)))
        threads = IN_TURN if in_turn else STRIP_THREADS
        function((count * strips,), (threads,), (*arguments, *self._results(counts, C)), shared_mem=shared)

    def _dense(self, rows: Any, count: int, counts: Any, C: Any) -> None:
        words = -(-self.columns // 32)
        value = np.dtype(self.value)
        each = 4 * words * (2 if self.mode else 1) + (32 * words * value.itemsize if C else 0)
        free = memory.available("cuda") or WORKSPACE
        blocks = max(1, min(count, RESIDENT * gpu.multiprocessors(gpu.current()), min(WORKSPACE, free // 2) // each))
        memory.require(blocks * each, "cuda", where=self.where, hint=HINT)
        bits = cupy.zeros(blocks * words * (2 if self.mode else 1), np.uint32)
        values = cupy.full(blocks * words * 32 if C else 1, self.zero, value)
        sizes = np.int32(words), np.int32(self.group), bits, values
        arguments = (*self._arguments(rows, count), *sizes, *self._results(counts, C))
        self.kernels["multiply_dense"]((blocks,), (THREADS,), arguments)
