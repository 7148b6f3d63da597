"""The verbs on CuPy matrices: which kernel, which tile, which grid. Nothing here waits for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from .. import dtypes
from ..algebra import Semiring
from ..backend import Backend, Beside, Stopwatch
from ..errors import DivergenceError, DTypeError, ShapeError, star_without_value
from . import algebra, cards, cooperative, gpu, matrix, panels, registry, routes, tiles, transfer
from .batch import Batch
from .matrix import Matrix
from .registry import Kernels

#: Rows and columns that pivot.cu takes at once.
PIVOT = 64
#: Products that one launch may hold.
MOST = 65535
#: False and True as kernels take them.
_FLAGS = np.int32(0), np.int32(1)


@dataclass(eq=False)
class CudaBackend(Backend):
    """The verbs of `semiring.backend.Backend` on CuPy matrices, on the caller's current device and stream.

    A matrix may be any slice whose rows are contiguous. An operand that is not (a transposed view, say) is copied
    first, and an output that is not is computed beside its place.
    """

    semiring: Semiring
    dtype: np.dtype
    nonnegative: bool = False
    per_thread: int = 1
    tile: str = "tuned"
    device: str = "cuda"
    grain: int = 1
    looks_ahead: bool = True
    _stars: int = field(default=0, init=False, repr=False)
    _begun: int = field(default=0, init=False, repr=False)
    _ahead: deque[Any] = field(default_factory=deque, init=False, repr=False)
    _kernels: dict[int, Kernels] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        found = algebra.variant_of(self.semiring, self.dtype, nonnegative=self.nonnegative)
        self.variant = found.name if found else "general"
        if algebra.counts_stars(self.semiring, self.dtype):
            self._stars = self.kernels.stars_without_value()

    # Looked up when first asked for: declarations are checked, and translation units listed, without a device.

    @cached_property
    def pivot(self) -> int:  # type: ignore[override]
        """What one launch closes."""
        return self.limits.one_launch

    @cached_property
    def cutover(self) -> int:  # type: ignore[override]
        """The same: recursion ends there."""
        return self.limits.one_launch

    # Verbs

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        """C ← C ⊕ A ⊗ B."""
        self._multiply("gemm", C, A, B, accumulate=True)

    def gemms(self, products: Sequence[tuple[Any, Any, Any]]) -> None:
        """C ← C ⊕ A ⊗ B for each, on streams of their own: one fills what another leaves of the device."""
        panels.side_by_side([partial(self.gemm, *product) for product in products])

    def matmul(self, C: Any, A: Any, B: Any) -> None:
        """C ← A ⊗ B."""
        self._multiply("matmul", C, A, B, accumulate=False)

    def _multiply(self, verb: str, C: Any, A: Any, B: Any, *, accumulate: bool) -> None:
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
        for i in range(0, len(C), height):  # a single launch could last for minutes, and nothing stops it
            self._rows_of_product(C[i : i + height], A[i : i + height], B, accumulate)

    def _rows_of_product(self, C: Any, A: Any, B: Any, accumulate: bool) -> None:
        self._output(C, lambda c: self.product(c, self._operand(A), self._operand(B), accumulate=accumulate))
        self.pace(len(C) * A.shape[1] * C.shape[1])

    def left_mul(self, D: Any, R: Any) -> None:
        """R ← D ⊗ R, by strips of columns beside the matrix, so that no block reads what another wrote."""
        self._check("left_mul", R, D, R)
        self._output(R, lambda r: self._in_place("rows", r, self._operand(D), r))

    def right_mul(self, C: Any, D: Any) -> None:
        """C ← C ⊗ D, by strips of rows."""
        self._check("right_mul", C, C, D)
        self._output(C, lambda c: self._in_place("columns", c, c, self._operand(D)))

    def eliminate(self, D: Any, R: Any, C: Any, rest: Any) -> None:
        """R ← D ⊗ R, rest ← rest ⊕ C ⊗ R, C ← C ⊗ D: side by side wherever a product need not wait for another."""
        self._check("eliminate", R, D, R)
        self._check("eliminate", C, C, D)
        self._check("eliminate", rest, C, R)
        d, r, c, x = (matrix.view(X) for X in (D, R, C, rest))
        if d and r and c and x and D.size and rest.size:
            panels.eliminate(self, d, r, c, x)
        else:
            super().eliminate(D, R, C, rest)

    def closure(self, D: Any) -> None:
        """D ← D* in one launch: a thread block up to 64 rows, all of the device beyond."""
        self._check("closure", D, D, D)
        if len(D):
            self._output(D, lambda d: self.close_pivots(1, d, 0) if d.rows <= PIVOT else self._blocked(d))

    def closure_batch(self, A: Any, blocked: Callable[..., None] | None = None, *, out: Any = None) -> None:
        """A[i] ← A[i]* for every matrix of (batch, n, n); or out[i] ← A[i]*, for `out` like A that shares no memory.

        Small matrices take one launch for all, a thread block a matrix. Larger ones are closed by a schedule of
        blocks on all of them at once, if one is given and they are many; else a launch each.
        """
        import cupy

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
        whole = cupy.ascontiguousarray(A)
        first = Matrix(whole.data.ptr, n, n, n, whole)
        if n <= PIVOT:
            self.close_pivots(count, first, n * n)
        elif n <= self.limits.one_block:
            self._batched(count, first, n * n)
        elif (
            blocked is not None and count >= self.limits.together and self.tile == "tuned"
        ):  # a plain tile spans no block
            blocked(whole.transpose(1, 2, 0), Batch(self), block=PIVOT)
        else:
            for matrix in whole:
                self.closure(matrix)
        if whole.data.ptr != A.data.ptr:
            A[...] = whole

    def step(self, A: Any, k: int) -> None:
        """A ← A ⊕ A[:,k] ⊗ A[k,k]* ⊗ A[k,:]."""
        self._check("step", A, A, A)
        if not 0 <= k < len(A):
            raise ShapeError(f"step: k must name a row of A {A.shape}, got {k}.")
        self._output(A, lambda a: self._step(a, k))

    def predecessors(self, P: Any, A: Any, D: Any, mirrored: bool = False) -> None:
        """P[i,j] ← the vertex before j on a best path from i; waits for the device."""
        routes.predecessors(self.semiring, P, A, D, mirrored)

    def prepare(self, n: int) -> None:
        """Compile side by side what the closure of more than one pivot block will launch; see `Kernels.prepare`."""
        if n > self.cutover:
            self.kernels.prepare(n, self.cutover)

    # Memory

    def clear(self, C: Any) -> None:
        """C ← 0."""
        C[...] = dtypes.zero(self.semiring, self.dtype)

    def copy(self, B: Any, A: Any) -> None:
        """B ← A."""
        B[...] = A

    def diagonal(self, A: Any) -> np.ndarray:
        """The entries (k, k) as a new NumPy array; waits for the device."""
        found: np.ndarray = A.diagonal().get()
        return found

    def set_diagonal(self, A: Any, value: Any) -> None:
        """Entries (k, k) ← value."""
        import cupy

        k = cupy.arange(len(A))
        A[k, k] = cupy.asarray(value, self.dtype)

    def stopwatch(self) -> Stopwatch:
        """Events on the current stream: the device's own time."""
        return gpu.EventStopwatch()

    def energy(self) -> float | None:
        """Joules that the current card has used since its driver was loaded; None where NVML does not tell."""
        return gpu.energy()

    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new CuPy matrix, uninitialised."""
        import cupy

        return cupy.empty(shape, self.dtype)

    def panel(self, shape: tuple[int, ...]) -> Any:
        """A new matrix whose rows begin at multiples of 16 bytes, in one piece of memory."""
        import cupy

        m, n = shape
        return cupy.zeros((m, -(-n // 64) * 64), self.dtype)[:, :n]

    def flat(self, panel: Any) -> Any:
        """All memory of what `panel` returned."""
        return panel.reshape(-1) if panel.base is None else panel.base.reshape(-1)

    def beside(self) -> Beside:
        """A stream of high priority."""
        return gpu.Beside()

    def upload(self, array: Any, *, copy: bool = True) -> Any:
        """The array on the device; a CuPy array of this dtype is itself where `copy` is false."""
        import cupy

        if isinstance(array, cupy.ndarray):
            if not copy:
                return array if array.dtype == self.dtype else cupy.asarray(array, self.dtype)
            new = self.empty(array.shape)
            _put(new, array)
            return new
        return transfer.upload(np.asarray(array), self.dtype)

    def download(self, matrix: Any, out: Any = None) -> Any:
        """The matrix as a NumPy array, or into `out`, NumPy or CuPy."""
        import cupy

        if isinstance(out, cupy.ndarray):
            if out is not matrix:
                out[...] = matrix
            return out
        return transfer.download(matrix, np.empty(matrix.shape, matrix.dtype) if out is None else out)

    def courier(self, slow: Any, unit: int) -> Any:
        """Two streams that bring windows of a matrix in slow memory, and take them back."""
        from .courier import courier

        return courier(slow, unit, self)

    def landing(self, shape: tuple[int, ...]) -> tuple[np.ndarray, Any]:
        """A new NumPy array to download into, and what is done (`result()`) when all its pages are there; or None."""
        return transfer.fresh(shape, self.dtype)

    def synchronize(self) -> None:
        """Wait for the current stream, in a way that Ctrl-C ends.

        Raises
        ------
        DivergenceError
            If a star of integers had no value since the last wait. Kernels count them for the device, so that threads
            which compute over one such semiring at a time all hear of it.
        """
        transfer.synchronize()
        if algebra.counts_stars(self.semiring, self.dtype):
            before, self._stars = self._stars, self.kernels.stars_without_value()
            if self._stars > before:
                raise DivergenceError(star_without_value(self.semiring.name, self.dtype))

    def workspace(self, n: int) -> int:
        """Bytes beside an n × n matrix: two panels of one launch, or the strips of the largest product in place."""
        if n <= PIVOT:
            return 0
        most, half = 0, n
        while half > self.cutover:
            half = -(-half // 2)
            width, count = panels.sizes(self.tile_table[0], self.multiprocessors, half, half, n)
            most = max(most, half * width * count)
        return max(most * self.dtype.itemsize, self._geometry(half).workspace(half))

    # Products

    def product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool) -> None:
        """One product by the tile that suits its shape."""
        size, pairs = self.dtype.itemsize, C.rows * A.columns * C.columns
        if self.tile_table[0].lanes > 1 and pairs >= self.limits.strip_pairs and not matrix.aligned(B, size):
            width = matrix.evenly(B.columns, -(-B.columns // self.limits.strip), 256)
            for columns in matrix.strips(B.columns, width):
                beside = self._aligned(matrix.columns(B, *columns, size))
                self.product(matrix.columns(C, *columns, size), A, beside, accumulate=accumulate)
        elif pairs:
            tile = self.kernels.choose(C.rows, C.columns, A.columns)
            self.multiply(tile, C, A, B, accumulate=accumulate)

    def _in_place(self, side: str, C: Matrix, A: Matrix, B: Matrix) -> None:
        """C ← A ⊗ B where C is B (or A): at once if a tile covers all "rows" ("columns"), else by strips."""
        if not (C.rows and C.columns):
            return
        tile = tiles.spanning(self.tile_table, side, C.rows, C.columns, self.multiprocessors)
        if tile:  # a block writes what it alone has read
            self.multiply(tile, C, A, B, accumulate=False, whole=True)
        elif side == "rows":
            panels.left_mul(self, A, C)
        else:
            panels.right_mul(self, C, B)

    def multiply(
        self,
        tile: tiles.Tile,
        C: Matrix,
        A: Matrix,
        B: Matrix,
        *,
        accumulate: bool,
        whole: bool = False,
        batch: tuple[int, int] = (1, 0),
    ) -> None:
        """C ← C ⊕ A ⊗ B, or C ← A ⊗ B, in one launch with a given tile; no side may be empty.

        Tiles that fill no whole wave are computed in several parts of k (split-K), as `tiles.splits` says, unless the
        caller asks for `whole` tiles or rows of B are not aligned.
        `batch` = (count, batch stride): so many products, whose matrices lie so many elements from each other.
        """
        size = self.dtype.itemsize
        aligned = matrix.aligned(B, size)
        if max(tile.bm * A.ld, tile.bk * B.ld, B.columns) * size >= 1 << 32:
            raise ShapeError(
                f"gemm: on a GPU the rows of operands must be less than {(1 << 32) // (tile.bm * size):,} elements "
                f"apart, got {max(A.ld, B.ld):,}. Multiply in parts, each copied."
            )
        count, batch_stride = batch
        together = aligned and batch_stride * size % 16 == 0
        way = "batched" if count > 1 else "whole" if whole or not aligned else "split-K"
        launch = self.kernels.product(tile, C.rows, C.columns, A.columns, together, way)
        done = gpu.memory(launch.counters, zeros=launch.counters) if launch.counters else None
        sizes = (*launch.shape, _FLAGS[accumulate], *launch.parts, done.ptr if done else 0, batch_stride)
        for i in range(0, count, MOST):
            at = i * batch_stride * size
            operands = (C.address + at, C.ld, A.address + at, A.ld, B.address + at, B.ld)
            grid = (launch.blocks, min(MOST, count - i))
            launch.function(grid, launch.threads, (*operands, *sizes), launch.shared)

    def pace(self, pairs: int) -> None:
        """After long work: let the host run at most two such launches ahead, so that Ctrl-C need not wait for more."""
        self._begun += pairs
        if self._begun < self.limits.pairs // 16:
            return
        import cupy

        stream = cupy.cuda.get_current_stream()
        if cupy.cuda.runtime.streamIsCapturing(stream.ptr):
            return
        self._begun = 0
        self._ahead.append(stream.record())
        if len(self._ahead) > 2:
            transfer.wait(self._ahead.popleft())

    # Steps

    def close_pivots(self, count: int, first: Matrix, batch_stride: int, *, source: Matrix | None = None) -> None:
        """D ← D* for `count` matrices like `first`, `batch_stride` elements from each other; at most 64 rows.

        Or D ← A*, A in the same way from `source` on.
        """
        function, threads = self.kernels.pivot(count > 1)
        given = source or first
        addresses = first.address, first.ld, given.address, given.ld
        function((count,), (threads,), (*addresses, np.int32(first.rows), batch_stride))

    def _blocked(self, A: Matrix) -> None:
        """A ← A* by all multiprocessors in one cooperative launch: two grid barriers for each pivot block of 64."""
        n = A.rows
        geometry = self._geometry(n)
        function = self.kernels.closing(geometry)
        grid = min(geometry.useful(n), self.multiprocessors)
        size = geometry.workspace(n)
        workspace = gpu.memory(size + 8, zeros=8)  # two counters at the end
        rest = (workspace.ptr, np.int32(geometry.width(n)), workspace.ptr + size, np.int32(1))
        arguments = (A.address, A.ld, np.int32(n), *rest)
        function((grid,), (cooperative.THREADS,), arguments, geometry.shared, enable_cooperative_groups=True)

    def _batched(self, count: int, first: Matrix, batch_stride: int) -> None:
        """A ← A* for `count` matrices like `first`, a thread block a matrix."""
        kernels, n = self.kernels, first.rows
        geometry = kernels.batched
        grid = min(count, kernels.occupancy(geometry) * kernels.multiprocessors)
        workspace = gpu.memory(grid * geometry.workspace(n))
        rest = (workspace.ptr, np.int32(geometry.width(n)), np.int32(1))
        arguments = (first.address, first.ld, np.int32(n), batch_stride, np.int32(count), *rest)
        kernels.closing(geometry)((grid,), (cooperative.THREADS,), arguments, geometry.shared)

    def _step(self, A: Matrix, k: int) -> None:
        itemsize, n = self.dtype.itemsize, A.rows
        row, column, col_stride = A.address + k * A.ld * itemsize, A.address + k * itemsize, A.ld
        kept = None
        if not self.semiring.idempotent:
            kept = self.empty((2, n))
            row, column, col_stride = kept.data.ptr, kept.data.ptr + n * itemsize, 1
            arguments = (A.address, A.ld, np.int32(n), np.int32(k), row, column)
            self.kernels.step("snapshot")((-(-n // 256),), (256,), arguments)
        grid = (-(-n // 64), -(-n // (4 * self.per_thread)))
        self.kernels.step("step")(grid, (256,), (A.address, A.ld, np.int32(n), np.int32(k), row, column, col_stride))

    # Kernels

    @property
    def kernels(self) -> Kernels:
        """What is chosen and compiled for this backend on the current device."""
        device = gpu.current()
        found = self._kernels.get(device)
        if found is None:
            given = self.semiring, self.dtype, self.nonnegative, self.tile, self.per_thread
            found = self._kernels[device] = registry.kernels(*given, device)
        return found

    @property
    def limits(self) -> cards.Limits:
        """From which sizes on the current device computes in another way."""
        return self.kernels.limits

    @property
    def tile_table(self) -> tuple[tiles.Tile, ...]:
        """The tiles among which products choose."""
        return self.kernels.tile_table

    @property
    def multiprocessors(self) -> int:
        """How many the current device has."""
        return self.kernels.multiprocessors

    @property
    def geometries(self) -> tuple[cooperative.Geometry, ...]:
        """The geometries among which closures in one launch choose; of each kernel small tiles first."""
        return self.kernels.geometries

    def _geometry(self, n: int) -> cooperative.Geometry:
        """How n × n is closed in one launch: resident if that suits, else with the smallest tiles that fit."""
        return self.kernels.geometry(n)

    # Matrices

    def _check(self, verb: str, C: Any, A: Any, B: Any) -> None:
        """Shapes and dtypes of C ← A ⊗ B."""
        for X in (C, A, B):
            if X.dtype != self.dtype:
                raise DTypeError(f"{verb}: matrices must be {self.dtype}, got {X.dtype}. Convert them with upload.")
        if C.ndim != 2 or A.ndim != 2 or B.ndim != 2 or (A.shape[1], C.shape) != (B.shape[0], (A.shape[0], B.shape[1])):
            raise ShapeError(f"{verb}: sizes must fit, got {C.shape} from {A.shape} ⊗ {B.shape}.")

    def _operand(self, X: Any) -> Matrix:
        """An operand as it lies, or a row-contiguous copy of it."""
        import cupy

        # The copy must live until the launch that reads it; after that the pool hands memory on in stream order.
        return matrix.view(X) or Matrix(*matrix.whole(copy := cupy.ascontiguousarray(X)), copy)

    def _output(self, X: Any, write: Callable[[Matrix], object]) -> None:
        """Call write(matrix) on X, or on a row-contiguous copy that is then put back."""
        import cupy

        seen = matrix.view(X)
        if seen is not None:
            write(seen)
            return
        copy = cupy.ascontiguousarray(X)
        write(self._operand(copy))
        X[...] = copy

    def _aligned(self, X: Matrix) -> Matrix:
        """A copy whose rows begin at multiples of 16 bytes."""
        padded = self.empty((X.rows, -(-X.columns // 8) * 8))
        padded[:, X.columns :] = 0
        copy = Matrix(padded.data.ptr, padded.shape[1], X.rows, X.columns, padded)
        self.copy_rows(copy, X)
        return copy

    def copy_rows(self, to: Matrix, source: Matrix) -> None:
        """to ← source."""
        size = self.dtype.itemsize
        gpu.copy_rows(to.address, to.ld * size, source.address, source.ld * size, source.columns * size, source.rows)


def _put(to: Any, source: Any) -> None:
    """to ← source, arrays of one shape: by the device's own copy where that can be, else by a kernel of CuPy's."""
    if source.dtype == to.dtype and source.flags.c_contiguous and to.flags.c_contiguous:
        gpu.copy(to.data.ptr, source.data.ptr, source.nbytes)
    else:
        to[...] = source
