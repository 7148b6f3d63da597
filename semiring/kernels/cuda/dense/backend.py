"""The verbs on CuPy matrices, asynchronous except `synchronize` and copies to the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from ....algebra import dtypes
from ....algebra.catalog import max_min, plus_times
from ....algebra.ranges import steps
from ....host import memory
from ....host.errors import DivergenceError, DTypeError, ShapeError, star_without_value
from ....host.types import Array
from ...contract import Backend, ConcurrentQueue, Stopwatch, by_halves
from .. import algebra, gpu, transfer
from ..library import cupy
from ..routes import predecessors as routes
from . import matrix, mirror, panels, sums, sums_text, tiles
from .batch import Batch
from .launches import Launches, others
from .matrix import Matrix

#: Pivot block size of pivot.cu.
PIVOT = 64
#: Rows or columns per copy of an operand in place.
COPIED = 4096
#: Flags set by exponentials.cu.
INEXACT, ZEROS = 1, 2
_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


class DeviceBackend(Backend):
    """The part of a backend on the current device that is the same for numbers and for packed bits."""

    device = "cuda"
    looks_ahead = True

    def predecessors(self, P: Array, A: Array, D: Array, mirrored: bool = False) -> None:
        routes.predecessors(self.semiring, P, A, D, mirrored)

    def diagonal(self, A: Array) -> np.ndarray:
        return A.diagonal().get()

    def stopwatch(self) -> Stopwatch:
        return gpu.EventStopwatch()

    def energy(self) -> float | None:
        return gpu.energy()

    def concurrent_queue(self) -> ConcurrentQueue:
        return gpu.ConcurrentStream()

    def synchronize(self) -> None:
        transfer.synchronize()


@dataclass(eq=False)
class CudaBackend(Launches, DeviceBackend):
    """The verbs of `semiring.kernels.backend.Backend` on CuPy matrices, on the caller's current device and stream.

    Matrices may be any slices with contiguous rows. Other operands (a transposed view, say) are copied first, other
    outputs computed in a copy.
    """

    device: str = "cuda"
    grain: int = 1
    aligns: bool = True
    looks_ahead: bool = True
    mirrors: int = 1
    _stars: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        found = algebra.variant_of(self.semiring, self.dtype, nonnegative=self.nonnegative)
        self.variant = found.name if found else "general"
        if algebra.counts_stars(self.semiring, self.dtype):
            self._stars = self.kernels.stars_without_value()

    # Attributes of other backends, computed on first use, so that declarations are checked, and translation units
    # listed, without a device.

    @cached_property
    def pivot(self) -> int:  # type: ignore[override]
        """Vertices closed by one launch."""
        most = self.limits.one_launch
        return min(most, sums.CLOSED) if self.sums and self.sums.logarithms else most

    @cached_property
    def cutover(self) -> int:  # type: ignore[override]
        return self.pivot

    # Verbs

    def gemm(self, C: Array, A: Array, B: Array) -> None:
        self._multiply("gemm", C, A, B, accumulate=True)

    def gemms(self, products: Sequence[tuple[Any, Any, Any]]) -> None:
        """C ← C ⊕ A ⊗ B for each, on separate streams that fill each other's idle multiprocessors."""
        panels.side_by_side([partial(self.gemm, *product) for product in products])

    def matmul(self, C: Array, A: Array, B: Array) -> None:
        self._multiply("matmul", C, A, B, accumulate=False)

    def prepared(self, m: int, n: int, k: int) -> Callable[[Array, Array, Array], None] | None:
        size, pairs = self.dtype.itemsize, m * n * k
        if self.sums or n * size % 16 or pairs >= min(self.limits.pairs, self.limits.strip_pairs):
            return None
        tile = self.kernels.choose(m, n, k)
        if max(tile.bm * k, tile.bk * n) * size >= 1 << 32:
            return None
        launch = self.kernels.product(tile, m, n, k, True, "split-K")
        sizes, counters = (*launch.shape, np.int32(False), *launch.parts), launch.counters

        def product(C: Array, A: Array, B: Array) -> None:
            if B.data.ptr % 16:
                self.matmul(C, A, B)
                return
            done = gpu.memory(counters, zeros=counters) if counters else None
            operands = C.data.ptr, n, A.data.ptr, k, B.data.ptr, n, *sizes, done.ptr if done else 0, 0, 0, 0
            launch.function((launch.blocks, 1), launch.threads, operands, launch.shared)
            self.pace(pairs)

        return product

    def _multiply(self, verb: str, C: Array, A: Array, B: Array, *, accumulate: bool) -> None:
        self._check(verb, C, A, B)
        k = A.shape[1]
        if not k:
            if not accumulate:
                C[...] = dtypes.zero(self.semiring, self.dtype)
            return
        height = max(512, self.limits.pairs // max(1, k * C.shape[1]) // 512 * 512)
        if height >= len(C):
            self._rows_of_product(C, A, B, accumulate)
            return
        for i in range(0, len(C), height):  # an uninterruptible launch of minutes otherwise
            self._rows_of_product(C[i : i + height], A[i : i + height], B, accumulate)

    def _rows_of_product(self, C: Array, A: Array, B: Array, accumulate: bool) -> None:
        self._output(C, lambda c: self.product(c, self._operand(A), self._operand(B), accumulate=accumulate))
        self.pace(len(C) * A.shape[1] * C.shape[1])

    def matmul_batch(self, C: Array, A: Array, B: Array) -> None:
        """C[i] ← A[i] ⊗ B[i], in one launch if single matrices are too small to fill the device."""
        if not C.size:
            return
        (count, m, n), k = C.shape, A.shape[2]
        self._check("matmul_batch", C[0], A[0], B[0])
        views = [matrix.view(X[0]) for X in (C, A, B)]
        fills = self.tile_table[0].covers(m, n) >= 2 * self.multiprocessors * self.tile_table[0].blocks
        if count == 1 or not k or None in views or fills:
            super().matmul_batch(C, A, B)
            return
        tile = tiles.chosen_for_batch(self.tile_table, count, m, n, k, self.multiprocessors)
        most = max(1, self.limits.pairs // (m * k * n))
        strides = [X.strides[0] // X.itemsize for X in (C, A, B)]
        for i in range(0, count, most):
            part = min(most, count - i)
            c, a, b = (self._operand(X[i]) for X in (C, A, B))
            if not (self.sums and self.sums.product(c, a, b, accumulate=False, batch=sums.Batch(part, *strides))):
                self.multiply(tile, c, a, b, accumulate=False, batch=(part, *strides))
            self.pace(part * m * k * n)

    def matmul_with_witness(self, C: Array, K: Array, A: Array, B: Array) -> None:
        """C ← A ⊗ B; K ← the smallest k that attains each entry, −1 where that is zero; C and K contiguous."""
        self._check("matmul", C, A, B)
        (m, k), n = A.shape, C.shape[1]
        if not C.size:
            return
        if not k:
            C[...], K[...] = dtypes.zero(self.semiring, self.dtype), -1
            return
        height = max(512, self.limits.pairs // (k * n) // 512 * 512)
        b = self._operand(B)
        for i in range(0, m, height):  # an uninterruptible launch of minutes otherwise
            rows = slice(i, i + height)
            a, (c, w) = self._operand(A[rows]), (Matrix(*matrix.contiguous(X[rows])) for X in (C, K))
            self.product_with_witness(c, w, a, b)
            self.pace(c.rows * k * n)

    def left_mul(self, D: Array, R: Array) -> None:
        """R ← D ⊗ R, by strips of columns in a workspace, so that no block reads another's output."""
        self._check("left_mul", R, D, R)
        self._output(R, lambda r: self._in_place("rows", r, self._operand(D), r))

    def right_mul(self, C: Array, D: Array) -> None:
        self._check("right_mul", C, C, D)
        self._output(C, lambda c: self._in_place("columns", c, c, self._operand(D)))

    def eliminate(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D, concurrently where independent."""
        self._check("eliminate", R, D, R)
        self._check("eliminate", C, C, D)
        self._check("eliminate", rest, C, R)
        d, r, c, x = (matrix.view(X) for X in (D, R, C, rest))
        by_copies = self.sums and self.sums.fast(len(R), len(R), R.shape[1])
        if not by_copies and d and r and c and x and D.size and rest.size:
            panels.eliminate(self, d, r, c, x)
        else:
            super().eliminate(D, R, C, rest)

    def eliminate_mirrored(self, D: Array, R: Array, C: Array, rest: Any) -> None:
        d, r, c, x = (matrix.view(X) for X in (D, R, C, rest))
        if d and r and c and x and rest.size:
            panels.eliminate_mirrored(self, d, r, c, x)
        else:
            self.eliminate(D, R, C, rest)

    def symmetric(self, A: Array) -> bool:
        """Whether A is symmetric and nonnegative; waits for the device."""
        seen = matrix.view(A) if self.nonnegative and not gpu.capturing() else None
        return seen is not None and mirror.symmetric(seen, self.dtype.itemsize)

    def mirror(self, A: Array) -> None:
        self._output(A, lambda a: mirror.turn(a, a, self.dtype.itemsize, upper=True))

    def closure(self, D: Array) -> None:
        """D ← D* in one launch: one thread block up to 64 rows, the whole device beyond.

        Log-sum-exp uses a closure of exponentials where that is exact, and waits for the device.
        """
        self._check("closure", D, D, D)
        if not len(D):
            return
        if self.sums and self.sums.logarithms and len(D) > PIVOT and not gpu.capturing():
            exact: list[bool] = []
            self._output(D, lambda d: exact.append(close_by_exponentials(self, d)))
            if exact[0]:
                return
            if len(D) > sums.PAIRWISE:
                by_halves(D, self)
                return
        self._output(D, lambda d: self.close_pivots(1, d, 0) if d.rows <= PIVOT else self.close_in_one_launch(d))

    def closure_batch(self, A: Array, blocked: Callable[..., None] | None = None, *, out: Array = None) -> None:
        """A[i] ← A[i]*, or out[i] ← A[i]*, for every matrix of (batch, n, n); `out` is like A, without overlap.

        Small matrices take one launch, a thread block each. Larger ones are closed together by a `blocked` schedule, if
        given and if they are many; else by a launch each.
        """
        if A.dtype != self.dtype:
            raise DTypeError(f"closure_batch: matrices must be {self.dtype}, got {A.dtype}. Convert them with upload.")
        if A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ShapeError(f"closure_batch: A must be (batch, n, n), got shape {A.shape}.")
        if out is not None and (out.shape, out.dtype) != (A.shape, A.dtype):
            raise ShapeError(f"closure_batch: out must be {A.shape} of {A.dtype}, got {out.shape} of {out.dtype}.")
        if not A.size:
            return
        count, n, _ = A.shape
        if out is not None and n <= PIVOT and A.flags.c_contiguous and out.flags.c_contiguous:
            first, source = (Matrix(X.data.ptr, n, n, n) for X in (out, A))
            self.close_pivots(count, first, n * n, source=source)
            return
        if out is not None:
            _put(out, A)
            A = out
        contiguous = cupy.ascontiguousarray(A)
        first = Matrix(contiguous.data.ptr, n, n, n, contiguous)
        if n <= PIVOT:
            self.close_pivots(count, first, n * n)
        elif n <= self.limits.one_block and (blocked is None or count < self.limits.crowd or self.tile != "tuned"):
            self.close_batch(count, first, n * n)
        elif (
            blocked is not None and count >= self.limits.together and self.tile == "tuned"
        ):  # a plain tile covers no whole block
            blocked(contiguous.transpose(1, 2, 0), Batch(self), block=PIVOT)
        else:
            for matrix in contiguous:
                self.closure(matrix)
        if contiguous.data.ptr != A.data.ptr:
            A[...] = contiguous

    def step(self, A: Array, k: int) -> None:
        self._check("step", A, A, A)
        if not 0 <= k < len(A):
            raise ShapeError(f"step: k must name a row of A {A.shape}, got {k}.")
        self._output(A, lambda a: self.step_on(a, k))

    def aligned(self, A: Array) -> Any:
        """A, or, if products gain and memory suffices, a copy with 16-byte aligned rows."""
        (m, n), size = A.shape, self.dtype.itemsize
        found = matrix.view(A)
        if n <= self.limits.one_launch or (found and matrix.aligned(found, size)):
            return A
        width = -(-n * size // 16) * 16 // size
        if not memory.fits(m * width * size, "cuda"):
            return A
        copy = cupy.empty((m, width), self.dtype)[:, :n]
        self.copy(copy, A)
        return copy

    def prepare(self, n: int) -> None:
        if n > self.cutover:
            self.kernels.prepare(n, self.cutover, self.sums.large() if self.sums else ())

    # Memory

    def clear(self, C: Array) -> None:
        C[...] = dtypes.zero(self.semiring, self.dtype)

    def copy(self, B: Array, A: Array) -> None:
        B[...] = A

    def set_diagonal(self, A: Array, value: Any) -> None:
        k = cupy.arange(len(A))
        A[k, k] = cupy.asarray(value, self.dtype)

    def resources(self, verb: str, n: int) -> str:
        """Multiprocessor resources of the kernel of a step on n × n, or of a product, as the compiler reports."""
        if verb == "step":
            return gpu.resources(self.kernels.step("step", self.access), 256)
        tile = self.kernels.choose(n, n, n)
        launch = self.kernels.product(tile, n, n, n, True, "unsplit")
        return gpu.resources(launch.function, tile.threads, launch.shared)

    def empty(self, shape: tuple[int, ...]) -> Any:
        if self.access == "pitched" and len(shape) == 2:
            in_row = gpu.PITCH // self.dtype.itemsize
            return cupy.empty((shape[0], -(-shape[1] // in_row) * in_row), self.dtype)[:, : shape[1]]
        return cupy.empty(shape, self.dtype)

    def panel(self, shape: tuple[int, ...]) -> Any:
        m, n = shape
        return cupy.zeros((m, -(-n // 64) * 64), self.dtype)[:, :n]

    def flat(self, panel: Array) -> Any:
        return panel.reshape(-1) if panel.base is None else panel.base.reshape(-1)

    def upload(self, array: Array, *, copy: bool = True) -> Any:
        if isinstance(array, cupy.ndarray):
            if not copy:
                return array if array.dtype == self.dtype else cupy.asarray(array, self.dtype)
            new = self.empty(array.shape)
            _put(new, array)
            return new
        return transfer.upload(np.asarray(array), self.dtype)

    def download(self, matrix: Array, out: Array = None) -> Any:
        if isinstance(out, cupy.ndarray):
            if out is not matrix:
                out[...] = matrix
            return out
        return transfer.download(matrix, np.empty(matrix.shape, matrix.dtype) if out is None else out)

    def window_io(self, slow: Any, unit: int) -> Any:
        from ..windows import window_io

        return window_io(slow, unit, self)

    def allocate_result(self, shape: tuple[int, ...]) -> tuple[np.ndarray, Future[None] | None]:
        return transfer.fresh(shape, self.dtype)

    def synchronize(self) -> None:
        """Wait for the current stream, interruptibly.

        Raises
        ------
        DivergenceError
            If an integer star had no value since the last wait. The count is per device: all concurrent threads over
            one such semiring get the error.
        """
        transfer.synchronize()
        if algebra.counts_stars(self.semiring, self.dtype):
            before, self._stars = self._stars, self.kernels.stars_without_value()
            if self._stars > before:
                raise DivergenceError(star_without_value(self.semiring.name, self.dtype))

    def workspace(self, n: int) -> int:
        """Workspace in bytes for an n × n matrix: two panels of one launch, or strips of the largest product."""
        if n <= PIVOT:
            return 0
        most, half = 0, n
        while half > self.cutover:
            half = -(-half // 2)
            width, count = panels.sizes(self.tile_table[0], self.multiprocessors, half, half, n)
            most = max(most, half * width * count)
        first = -(-n // 2)
        copied = self.sums.workspace(first, first, first) if self.sums else 0
        copied += min(first, COPIED) * first * self.dtype.itemsize if copied else 0
        closing = self.kernels.geometry(half).workspace(half)
        if self.sums and self.sums.logarithms:
            closing = max(closing, exponentials_workspace(half))
        return max(most * self.dtype.itemsize, copied, closing)

    # Matrices

    def _in_place(self, side: str, C: Matrix, A: Matrix, B: Matrix) -> None:
        """C ← A ⊗ B where C is B (or A): in one launch if a tile spans all "rows" ("columns"), else by strips."""
        if not (C.rows and C.columns):
            return
        if self.sums and self.sums.fast(C.rows, A.columns, C.columns):
            self._by_copies(side, C, A, B)
            return
        tile = tiles.spanning(self.tile_table, side, C.rows, C.columns, self.multiprocessors)
        if tile:  # a block overwrites only its own operand
            self.multiply(tile, C, A, B, accumulate=False, unsplit=True)
        elif side == "rows":
            panels.left_mul(self, A, C)
        else:
            panels.right_mul(self, C, B)

    def _by_copies(self, side: str, C: Matrix, A: Matrix, B: Matrix) -> None:
        """C ← A ⊗ B where C is B (or A), from copies of strips: a tile may be computed twice, see sums.py."""
        size, cut = self.dtype.itemsize, matrix.columns if side == "rows" else matrix.rows
        for start, stop in steps(C.columns if side == "rows" else C.rows, COPIED):
            part = cut(C, start, stop, size)
            memory = cupy.empty((part.rows, part.columns), self.dtype)
            copy = Matrix(*matrix.contiguous(memory), memory)
            self.copy_rows(copy, part)
            self.product(part, *((A, copy) if side == "rows" else (copy, B)), accumulate=False)
            self.pace(part.rows * A.columns * part.columns)

    def _check(self, verb: str, C: Array, A: Array, B: Array) -> None:
        for X in (C, A, B):
            if X.dtype != self.dtype:
                raise DTypeError(f"{verb}: matrices must be {self.dtype}, got {X.dtype}. Convert them with upload.")
        if C.ndim != 2 or A.ndim != 2 or B.ndim != 2 or (A.shape[1], C.shape) != (B.shape[0], (A.shape[0], B.shape[1])):
            raise ShapeError(f"{verb}: sizes must fit, got {C.shape} from {A.shape} ⊗ {B.shape}.")

    def _operand(self, X: Array) -> Matrix:
        """An operand in place, or its row-contiguous copy."""
        # Keep the copy until its launch; afterwards the pool reuses memory in stream order.
        return matrix.view(X) or Matrix(*matrix.contiguous(copy := cupy.ascontiguousarray(X)), copy)

    def _output(self, X: Array, write: Callable[[Matrix], object]) -> None:
        """Apply `write` to X, or to a row-contiguous copy that is written back."""
        seen = matrix.view(X)
        if seen is not None:
            write(seen)
            return
        copy = cupy.ascontiguousarray(X)
        write(self._operand(copy))
        X[...] = copy


def _put(to: Any, source: Any) -> None:
    """to ← source, of one shape: by a device copy if possible, else by a CuPy kernel."""
    if source.dtype == to.dtype and source.flags.c_contiguous and to.flags.c_contiguous:
        gpu.copy(to.data.ptr, source.data.ptr, source.nbytes)
    else:
        to[...] = source


def exponentials_workspace(n: int) -> int:
    return 12 * n * n + others(plus_times, _DOUBLE).kernels.geometry(n).workspace(n)


def close_by_exponentials(ops: Launches, A: Matrix) -> bool:
    """A ← A* over (log-sum-exp, +) by exponentials over (+, ×) in float64, in one launch; returns whether exact.

    A is unchanged if not. Zeros of X* are verified by the closure of arcs. Waits for the device.
    """
    n, kernels = A.rows, ops.kernels
    text, blocks = partial(sums_text.exponentials, ops.dtype), min(n, 4 * kernels.multiprocessors)

    def launch(entry: str, grid: int, *arguments: Any) -> None:
        kernels.function(entry, text, "exponentials.cu")((grid,), (256,), arguments)

    found, memory = gpu.memory(4, zeros=4), gpu.memory(8 * n * n)
    X, rows = Matrix(memory.ptr, n, n, n), np.int32(n)
    launch("enter", n, A.address, A.ld, X.address, rows, found.ptr)
    others(plus_times, _DOUBLE).close_in_one_launch(X)
    launch("judge", blocks, X.address, n * n, found.ptr)
    seen = gpu.number(found.ptr)
    if seen == ZEROS:
        arcs = gpu.memory(4 * n * n)
        launch("arcs", n, A.address, A.ld, arcs.ptr, rows)
        others(max_min, _SINGLE).close_in_one_launch(Matrix(arcs.ptr, n, n, n))
        launch("compare", n, X.address, arcs.ptr, rows, found.ptr)
        seen = gpu.number(found.ptr)
    if seen & INEXACT:
        return False
    launch("leave", n, A.address, A.ld, X.address, rows)
    return True
