"""Launches on matrices in kernel terms: choice of kernel, tile and grid; asynchronous."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ....algebra.catalog import plus_times
from ....algebra.ranges import steps
from ....algebra.records import Semiring
from ....host.errors import ShapeError
from .. import cards, gpu, transfer
from ..library import cupy
from . import cooperative, matrix, registry, sums, tiles
from .matrix import Matrix
from .registry import Kernels
from .sums import Sums

#: Most products per launch (grid y).
MOST = 65535
#: Terms of each entry from which a copy of unaligned rows takes less than a product unsplit.
DEEP = 4096
#: Kernel booleans.
_FLAGS = np.int32(0), np.int32(1)


class Pace(threading.local):
    """Limit on the host's lead over the device: two long launches, and half of a maximal launch.

    Thread-local, since the threads of a device grid share a backend: waiting for one another would idle devices in
    turn.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._ahead: deque[tuple[int, Any]] = deque()

    def after(self, pairs: int, most: int) -> None:
        """Record `pairs` begun on the current stream; a launch does at most `most`."""
        self._begun += pairs
        if self._begun < most // 16 or gpu.capturing():
            return
        self._ahead.append((self._begun, gpu.recorded()))
        self._begun = 0
        while len(self._ahead) > 2 and sum(done for done, _ in self._ahead) > most // 2:
            transfer.wait(self._ahead.popleft()[1])


@dataclass(eq=False)
class Launches:
    """Launches for a semiring on a dtype, on the current device and stream; parameters as `cuda.binding.bind`."""

    semiring: Semiring
    dtype: np.dtype
    nonnegative: bool = False
    per_thread: int = 1
    tile: str = "tuned"
    access: str = "rows"
    _pace: Pace = field(default_factory=lambda: Pace(), init=False, repr=False)
    _kernels: dict[int, Kernels] = field(default_factory=dict, init=False, repr=False)
    _sums: dict[int, Sums | None] = field(default_factory=dict, init=False, repr=False)

    # Kernels

    @property
    def kernels(self) -> Kernels:
        device = gpu.current()
        found = self._kernels.get(device)
        if found is None:
            arguments = self.semiring, self.dtype, self.nonnegative, self.tile, self.per_thread
            found = self._kernels[device] = registry.kernels(*arguments, device)
        return found

    @property
    def sums(self) -> Sums | None:
        """Products on tensor cores on the current device; None unless the semiring is a sum or log-sum-exp."""
        device = gpu.current()
        if device not in self._sums:
            self._sums[device] = sums.of(
                self.kernels, lambda *product, **how: others(plus_times, self.dtype).product(*product, **how)
            )
        return self._sums[device]

    @property
    def limits(self) -> cards.Limits:
        return self.kernels.limits

    @property
    def tile_table(self) -> tuple[tiles.Tile, ...]:
        return self.kernels.tile_table

    @property
    def multiprocessors(self) -> int:
        return self.kernels.multiprocessors

    # Products

    def product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool) -> None:
        """One product with a tile chosen by shape."""
        size, pairs = self.dtype.itemsize, C.rows * A.columns * C.columns
        if pairs and self.sums and self.sums.product(C, A, B, accumulate=accumulate):
            return
        if not matrix.aligned(B, size) and (pairs >= self.limits.strip_pairs or self._deep(C, A)):
            width = matrix.evenly(B.columns, -(-B.columns // self.limits.strip), 256)
            for columns in steps(B.columns, width):
                strip = self._aligned(matrix.columns(B, *columns, size))
                self.product(matrix.columns(C, *columns, size), A, strip, accumulate=accumulate)
        elif pairs:
            tile = self.kernels.choose(C.rows, C.columns, A.columns)
            self.multiply(tile, C, A, B, accumulate=accumulate)

    def _deep(self, C: Matrix, A: Matrix) -> bool:
        """Whether a product has few tiles, which only parts of a long k keep a GPU busy with."""
        few = self.kernels.choose(C.rows, C.columns, A.columns).covers(C.rows, C.columns)
        return A.columns >= DEEP and 4 * few <= self.multiprocessors

    def multiply(
        self, tile: tiles.Tile, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool, unsplit: bool = False,
        batch: tuple[int, int, int, int] = (1, 0, 0, 0),
    ) -> None:  # fmt: skip
        """C ← C ⊕ A ⊗ B, or C ← A ⊗ B, in one launch with a given tile; no side may be empty.

        Partial waves are split along k (split-K), see `tiles.splits`, unless `unsplit` or B's rows are unaligned.
        Batch: count and element strides of C, A, B.
        """
        size = self.dtype.itemsize
        aligned = matrix.aligned(B, size)
        check_apart(tile, A, B, size)
        count, *strides = batch
        together = aligned and strides[2] * size % 16 == 0
        way = "batched" if count > 1 else "unsplit" if unsplit or not aligned else "split-K"
        launch = self.kernels.product(tile, C.rows, C.columns, A.columns, together, way)
        done = gpu.memory(launch.counters, zeros=launch.counters) if launch.counters else None
        sizes = (*launch.shape, _FLAGS[accumulate], *launch.parts, done.ptr if done else 0, *strides)
        for i in range(0, count, MOST):
            c, a, b = (X.address + i * stride * size for X, stride in zip((C, A, B), strides, strict=True))
            operands = (c, C.ld, a, A.ld, b, B.ld)
            grid = (launch.blocks, min(MOST, count - i))
            launch.function(grid, launch.threads, (*operands, *sizes), launch.shared)

    def product_with_witness(self, C: Matrix, K: Matrix, A: Matrix, B: Matrix) -> None:
        """C ← A ⊗ B; K ← the smallest k that attains each entry, −1 where that is zero; C and K of one layout."""
        size, (m, n, k) = self.dtype.itemsize, (C.rows, C.columns, A.columns)
        if not matrix.aligned(B, size) and m * n * k >= self.limits.strip_pairs:
            B = self._aligned(B)
        aligned, table = matrix.aligned(B, size), self.kernels.witnesses[1]
        tile = min(table, key=lambda t: t.cost(m, n, k, self.multiprocessors))
        check_apart(tile, A, B, size)
        sizes = np.int32(m), np.int32(n), np.int32(k), _FLAGS[False]
        arguments = (C.address, K.address, C.ld, A.address, A.ld, B.address, B.ld, *sizes)
        self.kernels.witness(tile, aligned)((tile.covers(m, n),), (tile.threads,), arguments, tile.shared(size))

    def pace(self, pairs: int) -> None:
        self._pace.after(pairs, self.limits.pairs)

    # Steps

    def close_pivots(self, count: int, first: Matrix, batch_stride: int, *, source: Matrix | None = None) -> None:
        """D ← D*, or D ← A* from `source`, for `count` matrices `batch_stride` elements apart; at most 64 rows."""
        function, threads = self.kernels.pivot(count > 1)
        operand = source or first
        addresses = first.address, first.ld, operand.address, operand.ld
        function((count,), (threads,), (*addresses, np.int32(first.rows), batch_stride))

    def close_in_one_launch(self, A: Matrix) -> None:
        """A ← A* in one cooperative launch: two grid barriers per pivot block of 64."""
        n = A.rows
        geometry = self.kernels.geometry(n)
        function = self.kernels.closing(geometry)
        grid = min(geometry.useful(n), self.multiprocessors)
        size = geometry.workspace(n)
        workspace = gpu.memory(size + 8, zeros=8)  # two counters at the end
        rest = (workspace.ptr, np.int32(geometry.width(n)), workspace.ptr + size, np.int32(1))
        arguments = (A.address, A.ld, np.int32(n), *rest)
        function((grid,), (cooperative.THREADS,), arguments, geometry.shared, enable_cooperative_groups=True)

    def close_batch(self, count: int, first: Matrix, batch_stride: int) -> None:
        """A ← A* for `count` matrices like `first`, one thread block each."""
        kernels, n = self.kernels, first.rows
        geometry = kernels.batched
        grid = min(count, kernels.occupancy(geometry) * kernels.multiprocessors)
        workspace = gpu.memory(grid * geometry.workspace(n))
        rest = (workspace.ptr, np.int32(geometry.width(n)), np.int32(1))
        arguments = (first.address, first.ld, np.int32(n), batch_stride, np.int32(count), *rest)
        kernels.closing(geometry)((grid,), (cooperative.THREADS,), arguments, geometry.shared)

    def step_on(self, A: Matrix, k: int) -> None:
        itemsize, n = self.dtype.itemsize, A.rows
        row, column, col_stride = A.address + k * A.ld * itemsize, A.address + k * itemsize, A.ld
        saved = None
        if not self.semiring.idempotent:
            saved = gpu.memory(2 * n * itemsize)
            row, column, col_stride = saved.ptr, saved.ptr + n * itemsize, 1
            arguments = (A.address, A.ld, np.int32(n), np.int32(k), row, column)
            self.kernels.step("snapshot")((-(-n // 256),), (256,), arguments)
        grid = (-(-n // 64), -(-n // (4 * self.per_thread)))
        self.kernels.step("step", self.access)(
            grid, (256,), (A.address, A.ld, np.int32(n), np.int32(k), row, column, col_stride)
        )

    # Copies

    def _aligned(self, X: Matrix) -> Matrix:
        step = max(8, 16 // self.dtype.itemsize)
        padded = cupy.empty((X.rows, -(-X.columns // step) * step), self.dtype)
        padded[:, X.columns :] = 0
        copy = Matrix(padded.data.ptr, padded.shape[1], X.rows, X.columns, padded)
        self.copy_rows(copy, X)
        return copy

    def copy_rows(self, to: Matrix, source: Matrix) -> None:
        size = self.dtype.itemsize
        gpu.copy_rows(to.address, to.ld * size, source.address, source.ld * size, source.columns * size, source.rows)


def check_apart(tile: tiles.Tile, A: Matrix, B: Matrix, itemsize: int) -> None:
    """Raise ShapeError if offsets within a tile exceed 32 bits."""
    if tile.exceeded(A, B, itemsize):
        raise ShapeError(
            f"gemm: on a GPU the rows of operands must be less than {(1 << 32) // (tile.bm * itemsize):,} elements "
            f"apart, got {max(A.ld, B.ld):,}. Multiply in parts, each copied."
        )


@cache
def others(semiring: Semiring, dtype: np.dtype) -> Launches:
    """The launches of another semiring, used within a computation."""
    return Launches(semiring, dtype)
