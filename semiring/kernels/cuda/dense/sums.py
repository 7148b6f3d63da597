"""Products over (+, ×) and (log-sum-exp, +): on tensor cores, by multiplications, or term by term.

| ⊕, ⊗           | dtype   | by                                                                                  |
|----------------|---------|-------------------------------------------------------------------------------------|
| +, ×           | float32 | tensor cores (Hopper): entries in three parts of bfloat16, six products             |
| log-sum-exp, + | float32 | tensor cores (Hopper): maxima split off, exponentials as two float16, 3 products    |
| log-sum-exp, + | float64 | maxima split off, a product of exponentials over (+, ×)                             |

Tiles of 128 × 128 entries with an unreliable entry (see sums.cuh) are recomputed: over (+, ×) by gemm.cuh, else term by
term (sums_exact.cu), as are small products. The error of the logarithm is at most 2⁻²² (1 + log₂ k) in float32, besides
the rounding of aᵢₖ + bₖⱼ and of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.ranges import steps
from .. import gpu, tensor_maps
from ..library import cupy
from . import matrix, sums_text
from .matrix import Matrix
from .registry import Kernels
from .sums_text import FLAGGED, TENSOR, Tensor, takes_logarithms
from .tiles import Tile

#: Bytes of an operand's parts, and depth in k, per product.
PARTS, DEPTH = 1 << 30, 1 << 16
#: Pairs, and least side, from which log-sum-exp uses tensor cores or multiplications.
LEAST = 1 << 23, 96
#: Cost model of (+, ×) on tensor cores in seconds: launches, splitting an entry, 64 of k in a tile; pairs per second
#: without.
LAUNCHES, SPLIT, STEP, ORDINARY = 1e-4, 2.5e-12, 2.1e-6, 25e12
#: Vertices up to which (log-sum-exp, +) closes in one launch: by exponentials, and pair by pair.
CLOSED, PAIRWISE = 1024, 512
#: Most matrices of a batch per launch.
MOST = 65535


class Batch(NamedTuple):
    """Batch: count and element strides of C, A, B; stride 0 broadcasts."""

    matrices: int = 1
    c: int = 0
    a: int = 0
    b: int = 0


ALONE = Batch()


class Operand(NamedTuple):
    """Parts of an operand: address, rows per matrix (0: shared) and per part, row pitch in bytes, scales."""

    address: int
    rows: int
    part: int
    pitch: int
    scales: int
    owner: Any


@dataclass(eq=False)
class Sums:
    """Products over (+, ×) in float32, or over (log-sum-exp, +); see `of`."""

    kernels: Kernels
    logarithms: bool
    plus_times: Callable[..., None]

    def product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool, batch: Batch = ALONE) -> bool:
        """C ← C ⊕ A ⊗ B, or C ← A ⊗ B; False if left to `gemm.cuh`. C must not overlap A or B."""
        m, k, n = C.rows, A.columns, C.columns
        if not self.logarithms and (batch.matrices > 1 or self.kernels.tile_table[0].exceeded(A, B, 4)):
            return False
        if not self.fast(m, k, n, batch.matrices):
            if self.logarithms:
                self._exact(C, A, B, accumulate, batch)
            return self.logarithms
        if batch.matrices > 1:
            self._batches(C, A, B, accumulate, batch)
            return True
        size = self.kernels.dtype.itemsize
        for start, stop in steps(k, DEPTH):
            left, right = matrix.columns(A, start, stop, size), matrix.rows(B, start, stop, size)
            self._strips(C, left, right, accumulate or start > 0)
        return True

    def fast(self, m: int, k: int, n: int, matrices: int = 1) -> bool:
        """Whether a product is large enough to convert its operands."""
        pairs, side = LEAST
        double = self.kernels.dtype.itemsize == 8
        if not (double or self.kernels.arch == "sm_90") or min(m, k, n) < side:
            return False
        if self.logarithms:
            return (1 if double else matrices) * m * k * n >= pairs
        tiles = 2 * -(-m // (2 * FLAGGED)) * -(-n // FLAGGED)
        steps = -(-tiles // self.kernels.multiprocessors) * -(-k // 64)
        return 1.1 * (LAUNCHES + SPLIT * (m + n) * k + STEP * steps) < m * k * n / ORDINARY

    def workspace(self, m: int, k: int, n: int) -> int:
        if not self.fast(m, k, n):
            return 0
        each = 2 * self._tensor.parts if self.kernels.dtype.itemsize == 4 else 8
        depth = min(k, DEPTH)
        rows, columns = (min(each * depth * side, max(PARTS, each * depth * FLAGGED)) for side in (m, n))
        between = min(8 * m * n, PARTS) if each == 8 else 0
        return rows + columns + between + 32 * (m + n)

    @property
    def _tensor(self) -> Tensor:
        return TENSOR[self.logarithms]

    # Parts of products

    def _strips(self, C: Matrix, A: Matrix, B: Matrix, accumulate: bool) -> None:
        """Products of column and row strips whose parts are at most `PARTS`."""
        size, k = self.kernels.dtype.itemsize, A.columns
        each = 2 * self._tensor.parts if size == 4 else 8
        most = max(FLAGGED, PARTS // (each * k) // FLAGGED * FLAGGED)
        one = self._by_tensor_cores if size == 4 else self._by_multiplications
        for columns in steps(C.columns, most):
            right = matrix.columns(B, *columns, size)
            b = self._operand(right, ALONE, 0, True)
            for rows in steps(C.rows, most):
                left, to = matrix.rows(A, *rows, size), matrix.columns(matrix.rows(C, *rows, size), *columns, size)
                one(to, left, right, self._operand(left, ALONE, 0, False), b, accumulate, ALONE)

    def _batches(self, C: Matrix, A: Matrix, B: Matrix, accumulate: bool, batch: Batch) -> None:
        """Chunks of a batch whose parts are at most `PARTS`; in float64 single matrices."""
        size, k = self.kernels.dtype.itemsize, A.columns
        each = 2 * self._tensor.parts * k * max(C.rows, C.columns)
        most = max(1, min(MOST, PARTS // each)) if size == 4 else 1
        for start, stop in steps(batch.matrices, most):
            c, a, b = (
                X._replace(address=X.address + start * stride * size)
                for X, stride in zip((C, A, B), batch[1:], strict=True)
            )
            these = batch._replace(matrices=stop - start)
            if size == 8:
                self.product(c, a, b, accumulate=accumulate)
            else:
                left, right = self._operand(a, these, batch.a, False), self._operand(b, these, batch.b, True)
                self._by_tensor_cores(c, a, b, left, right, accumulate, these)

    def _operand(self, X: Matrix, batch: Batch, stride: int, columns: bool) -> Operand:
        double = self.kernels.dtype.itemsize == 8
        count = batch.matrices if stride else 1
        lines, k = (X.columns, X.rows) if columns else (X.rows, X.columns)
        along, lines_of_part = (lines, k) if double and columns else (k, count * lines)
        parts, item = (1, 8) if double else (self._tensor.parts, 2)
        pitch = -(-along // 8) * 8
        part = lines_of_part * pitch
        size = -(-parts * part * item // 256) * 256
        memory = gpu.memory(size + 4 * self.kernels.dtype.itemsize * count * lines)
        function = self._splits("columns" if columns else "rows")
        sizes = (np.int32(lines), np.int32(k), memory.ptr, pitch, part, memory.ptr + size)
        if columns:
            function((-(-lines // 32), count), (512,), (X.address, X.ld, stride, *sizes))
        else:
            function((count * lines,), (256,), (X.address, X.ld, stride, *sizes))
        return Operand(memory.ptr, lines if stride else 0, lines_of_part, item * pitch, memory.ptr + size, memory)

    def _by_tensor_cores(
        self, C: Matrix, A: Matrix, B: Matrix, a: Operand, b: Operand, accumulate: bool, batch: Batch
    ) -> None:
        tensor, (m, k, n), count = self._tensor, (C.rows, A.columns, C.columns), batch.matrices
        cluster = 1 if m <= FLAGGED else 2
        function = self._multiplies(cluster)
        rows, columns = -(-m // FLAGGED), -(-n // FLAGGED)
        clusters = min(count * -(-rows // cluster) * columns, self.kernels.multiprocessors // cluster)
        flags = gpu.memory(count * rows * columns)
        left, right = (
            tensor_maps.tensor_map(X.address, X.pitch, 2 * k, tensor.parts * X.part, box)
            for X, box in ((a, FLAGGED), (b, FLAGGED // cluster))
        )
        sizes = (m, n, count, -(-k // 64), a.rows, a.part, b.rows, b.part, accumulate)
        where = (C.address, C.ld, batch.c, a.scales, b.scales, flags.ptr)
        function((cluster * clusters,), (288,), (left, right, *where, *map(np.int32, sizes)), tensor.shared)
        if self.logarithms:
            self._exact(C, A, B, accumulate, batch, flags.ptr)
        else:
            self._flagged(C, A, B, accumulate, flags.ptr)

    def _by_multiplications(
        self, C: Matrix, A: Matrix, B: Matrix, a: Operand, b: Operand, accumulate: bool, batch: Batch
    ) -> None:
        most = max(FLAGGED, PARTS // (8 * C.columns) // FLAGGED * FLAGGED)
        for start, stop in steps(C.rows, most):
            between = cupy.empty((stop - start, C.columns), np.float64)
            sums = Matrix(*matrix.contiguous(between), between)
            scaled = Matrix(a.address + start * a.pitch, a.pitch // 8, stop - start, A.columns)
            self.plus_times(sums, scaled, Matrix(b.address, b.pitch // 8, B.rows, B.columns), accumulate=False)
            to, left = matrix.rows(C, start, stop, 8), matrix.rows(A, start, stop, 8)
            tiles = -(-to.rows // FLAGGED) * -(-to.columns // FLAGGED)
            flags = gpu.memory(tiles)
            function = self._finishes()
            where = (to.address, to.ld, sums.address, sums.ld, a.scales + 32 * start, b.scales, flags.ptr)
            function((tiles,), (256,), (*where, np.int32(to.rows), np.int32(to.columns), np.int32(accumulate)))
            self._exact(to, left, B, accumulate, ALONE, flags.ptr)

    # Recomputed and small products

    def _exact(self, C: Matrix, A: Matrix, B: Matrix, accumulate: bool, batch: Batch, flags: int = 0) -> None:
        smaller = FLAGGED if flags else min(C.rows, C.columns)
        side, tm = next((side, tm) for side, tm in sums_text.EXACT if smaller > side // 2 or side == 16)
        function = self._term_by_term(side, tm)
        size, tiles = self.kernels.dtype.itemsize, -(-C.rows // side) * -(-C.columns // side)
        sizes = *map(np.int32, (C.rows, C.columns, A.columns, accumulate)), flags
        for start, stop in steps(batch.matrices, MOST):  # flags belong to a single matrix
            where = (
                value
                for X, stride in zip((C, A, B), batch[1:], strict=True)
                for value in (X.address + start * stride * size, X.ld, stride)
            )
            function((tiles, stop - start), ((side // tm) ** 2,), (*where, *sizes))

    def _flagged(self, C: Matrix, A: Matrix, B: Matrix, accumulate: bool, flags: int) -> None:
        aligned = matrix.aligned(B, self.kernels.dtype.itemsize)
        tile = sums_text.tile_with_one_flag(self.kernels.tile_table)
        function, shared = self._again(tile, aligned), tile.shared(self.kernels.dtype.itemsize)
        where = (C.address, C.ld, A.address, A.ld, B.address, B.ld)
        sizes = *map(np.int32, (C.rows, C.columns, A.columns, accumulate)), flags
        function((tile.covers(C.rows, C.columns),), (tile.threads,), (*where, *sizes), shared)

    # Kernels

    def large(self) -> tuple[Callable[[], Any], ...]:
        """Compilers of the kernels of large products."""
        splits = partial(self._splits, "rows"), partial(self._splits, "columns")
        if self.kernels.dtype.itemsize == 8:
            return (*splits, self._finishes, partial(self._term_by_term, *sums_text.EXACT[0]))
        if self.kernels.arch != "sm_90":
            return (partial(self._term_by_term, *sums_text.EXACT[0]),) if self.logarithms else ()
        tile = sums_text.tile_with_one_flag(self.kernels.tile_table)
        exact = (
            partial(self._term_by_term, *sums_text.EXACT[0]) if self.logarithms else partial(self._again, tile, True)
        )
        return (*splits, partial(self._multiplies, 2), exact)

    def _splits(self, entry: str) -> Any:
        parts = 1 if self.kernels.dtype.itemsize == 8 else self._tensor.parts
        text = partial(sums_text.split, self.kernels.dtype, parts, self.logarithms)
        return self.kernels.function(entry, text, "sums_split.cu")

    def _multiplies(self, cluster: int) -> Any:
        text, way = partial(self._tensor.text, cluster, self.logarithms), ("tensor", cluster)
        return self.kernels.function("product", text, "sums_wgmma.cu", way, shared=self._tensor.shared, suffix="a")

    def _finishes(self) -> Any:
        return self.kernels.function("finish", sums_text.finish, "sums_finish.cu")

    def _term_by_term(self, side: int, tm: int) -> Any:
        text = partial(sums_text.exact, self.kernels.dtype, side, tm)
        return self.kernels.function("product", text, "sums_exact.cu", ("exact", side))

    def _again(self, tile: Tile, aligned: bool) -> Any:
        text = partial(sums_text.flagged, self.kernels.text, tile, aligned)
        shared = tile.shared(self.kernels.dtype.itemsize)
        return self.kernels.function("gemm_flagged", text, "gemm_flagged.cu", (tile, aligned), shared=shared)


def of(kernels: Kernels, plus_times: Callable[..., None]) -> Sums | None:
    """The sums of a semiring, None unless it is (+, ×) or (log-sum-exp, +).

    `plus_times(C, A, B, accumulate=…)`: C ← A B of matrices of the same dtype.
    """
    logarithms = takes_logarithms(kernels.semiring)
    if logarithms is None or kernels.tile != "tuned" or not SCALARS[kernels.dtype].floating:
        return None
    return Sums(kernels, logarithms, plus_times) if logarithms or kernels.dtype.itemsize == 4 else None
