"""The verbs on CuPy matrices: which kernel, which tile, which grid. Nothing here waits for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from ..algebra import Semiring
from ..errors import DTypeError, ShapeError
from . import algebra, compile, gpu, matrix, team, texts, tiles, transfer
from .batch import Batch
from .matrix import Matrix

#: Rows and columns that pivot.cu takes at once.
PIVOT = 64
#: Up to here one launch is fastest: the products of a recursion below are too small for the device.
CUTOVER = 2048
#: A matrix is held in registers if that occupies so much of the device; else smaller tiles that come and go are faster.
HELD = 0.5
#: Pairs that one launch may work on: about half a second's worth.
LONG = 1 << 43
#: Panels of so many elements are copied as a whole for a product in place; in matrices of so many columns and more,
#: those that are no more than a 64th of the matrix.
COPIED, LARGE = 4096 * 4096, 16384
#: Products that one launch may hold.
MOST = 65535
#: Batches of matrices up to this size are closed by a thread block a matrix; from so many on, larger ones together.
EACH, MANY = 128, 4


@dataclass(eq=False)
class CudaBackend:
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
    pivot: int = CUTOVER
    cutover: int = CUTOVER
    grain: int = 1

    # Verbs

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        """C ← C ⊕ A ⊗ B."""
        self._check("gemm", C, A, B)
        if not A.shape[1]:
            return
        height = max(512, LONG // max(1, A.shape[1] * C.shape[1]) // 512 * 512)
        for i in range(0, len(C), height):  # a single launch could last for minutes, and nothing stops it
            self._rows_of_product(C[i : i + height], A[i : i + height], B)

    def _rows_of_product(self, C: Any, A: Any, B: Any) -> None:
        self._output(C, lambda c: self._product(c, self._operand(A), self._operand(B), accumulate=True))
        self._pace(len(C) * A.shape[1] * C.shape[1])

    def left_mul(self, D: Any, R: Any) -> None:
        """R ← D ⊗ R, a strip of columns at a time: a copy is the operand, so no block reads what another wrote."""
        self._check("left_mul", R, D, R)
        self._output(R, lambda r: self._left(self._operand(D), r))

    def right_mul(self, C: Any, D: Any) -> None:
        """C ← C ⊗ D, a strip of rows at a time."""
        self._check("right_mul", C, C, D)
        self._output(C, lambda c: self._right(c, self._operand(D)))

    def closure(self, D: Any) -> None:
        """D ← D* in one launch: a thread block up to 64 rows, all of the device beyond."""
        self._check("closure", D, D, D)
        if len(D):
            self._output(D, lambda d: self.close_pivots(1, d, 0) if d.rows <= PIVOT else self._blocked(d))

    def closure_batch(self, A: Any, blocked: Callable[..., None] | None = None) -> None:
        """A[i] ← A[i]* for every matrix of (batch, n, n).

        Small matrices take one launch for all, a thread block a matrix. Larger ones are closed by a schedule of
        blocks on all of them at once, if one is given and they are many; else a launch each.
        """
        import cupy

        if A.dtype != self.dtype:
            raise DTypeError(f"closure_batch: matrices must be {self.dtype}, got {A.dtype}. Convert them with upload.")
        if A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ShapeError(f"closure_batch: A must be (batch, n, n), got shape {A.shape}.")
        if not A.size:
            return
        whole = cupy.ascontiguousarray(A)
        count, n, _ = A.shape
        first = Matrix(whole.data.ptr, n, n, n, whole)
        if n <= PIVOT:
            self.close_pivots(count, first, n * n)
        elif n <= EACH:
            self._each(count, first, n * n)
        elif blocked is not None and count >= MANY and self.tile == "tuned":  # a plain tile spans no block
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

    # Memory

    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new CuPy matrix, uninitialised."""
        import cupy

        return cupy.empty(shape, self.dtype)

    def upload(self, array: Any, *, copy: bool = True) -> Any:
        """The array on the device; a CuPy array of this dtype is itself where `copy` is false."""
        import cupy

        if isinstance(array, cupy.ndarray):
            return cupy.array(array, self.dtype, order="C", copy=True) if copy else cupy.asarray(array, self.dtype)
        return transfer.upload(np.asarray(array), self.dtype)

    def download(self, matrix: Any, out: Any = None) -> Any:
        """The matrix as a NumPy array, or into `out`, NumPy or CuPy."""
        import cupy

        if isinstance(out, cupy.ndarray):
            if out is not matrix:
                out[...] = matrix
            return out
        return transfer.download(matrix, np.empty(matrix.shape, matrix.dtype) if out is None else out)

    def landing(self, shape: tuple[int, ...]) -> tuple[np.ndarray, Any]:
        """A new NumPy array to download into, and what is done (`result()`) when all its pages are there; or None."""
        return transfer.fresh(shape, self.dtype)

    def synchronize(self) -> None:
        """Wait for the current stream, in a way that Ctrl-C ends."""
        transfer.synchronize()

    def workspace(self, n: int) -> int:
        """Bytes beside an n × n matrix: two panels of one launch, or the strips of the largest product in place."""
        if n <= PIVOT:
            return 0
        most, half = 0, n
        while half > self.cutover:
            half = -(-half // 2)
            strip = self._strip(half, half, n)
            most = max(most, half * (half if strip >= half else min(2 * strip, half)))
        return max(most * self.dtype.itemsize, self._team(half).room(half))

    # Products

    def _product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool) -> None:
        """One product by the tile that suits its shape."""
        if C.rows and C.columns:
            tile = tiles.choose(self.tile_table, C.rows, C.columns, A.columns, self.multiprocessors)
            self.multiply(tile, C, A, B, accumulate=accumulate)

    def _spanning(self, side: str, C: Matrix, A: Matrix, B: Matrix) -> bool:
        """C ← A ⊗ B where C is A (or B), if a tile covers all columns (rows): a block writes what it alone has read."""
        tile = tiles.spanning(self.tile_table, side, C.rows, C.columns, self.multiprocessors)
        if tile and C.rows and C.columns:
            self.multiply(tile, C, A, B, accumulate=False, whole=True)
        return tile is not None

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

        A tile comes in pieces of k, as `tiles.pieces` says, unless it shall be `whole` or rows of B are not aligned.
        `batch` = (count, apart): so many products, whose matrices lie `apart` elements from each other.
        """
        import cupy

        size, (m, n, k) = self.dtype.itemsize, (C.rows, C.columns, A.columns)
        aligned = matrix.aligned(B, size)
        if max(tile.bm * A.ld, tile.bk * B.ld, B.columns) * size >= 1 << 32:
            raise ShapeError(
                f"gemm: on a GPU the rows of operands must be less than {(1 << 32) // (tile.bm * size):,} elements "
                f"apart, got {max(A.ld, B.ld):,}. Multiply in parts, each copied."
            )
        count, apart = batch
        pieces = 1 if whole or not aligned or count > 1 else tiles.pieces(tile, m, n, k, self.multiprocessors)
        undivided = tile.whole(m, n, self.multiprocessors) if pieces > 1 else 0
        divided = tile.covers(m, n) - undivided
        done = cupy.zeros(divided if pieces > 1 else 0, np.uint32)
        way = "batch" if count > 1 else "parts" if pieces > 1 else ""
        function = self._gemm(tile, aligned and apart * size % 16 == 0, way)
        sizes = (*map(np.int32, (m, n, k, accumulate, undivided, pieces)), done.data.ptr, apart)
        for i in range(0, count, MOST):
            addresses = (x for X in (C, A, B) for x in (X.address + i * apart * size, X.ld))
            grid = (undivided + divided * pieces, min(MOST, count - i))
            function(grid, (tile.threads,), (*addresses, *sizes), tile.shared(size))

    def _left(self, D: Matrix, R: Matrix) -> None:
        if self._spanning("rows", R, D, R):
            return
        self._strips(R.rows, R.columns, R.ld, lambda j, width, copy: self._left_strip(D, R, j, width, copy))

    def _left_strip(self, D: Matrix, R: Matrix, start: int, width: int, room: int) -> None:
        part = matrix.columns(R, start, min(start + width, R.columns), self.dtype.itemsize)
        copy = Matrix(room, width, part.rows, part.columns)
        self._copy(copy, part)
        self._product(part, D, copy, accumulate=False)

    def _right(self, C: Matrix, D: Matrix) -> None:
        if self._spanning("columns", C, C, D):
            return
        self._strips(C.columns, C.rows, C.ld, lambda i, height, copy: self._right_strip(C, D, i, height, copy))

    def _right_strip(self, C: Matrix, D: Matrix, start: int, height: int, room: int) -> None:
        part = matrix.rows(C, start, min(start + height, C.rows), self.dtype.itemsize)
        copy = Matrix(room, C.columns, part.rows, part.columns)
        self._copy(copy, part)
        self._product(part, copy, D, accumulate=False)

    def _strips(self, along: int, across: int, apart: int, do: Callable[[int, int, int], None]) -> None:
        """Call do(start, size, room for a copy) for strips of a panel, in turn on the caller's stream and another.

        A strip fills the device once; the next begins on those multiprocessors that are done with it.
        """
        import cupy

        size = min(self._strip(along, across, apart), across)
        if size == across:
            room = self.empty((along, size))
            do(0, size, room.data.ptr)
            self._pace(along * along * size)
            return
        bytes_each = along * size * self.dtype.itemsize
        rooms = cupy.empty(2 * bytes_each, np.uint8)
        here, aside = cupy.cuda.get_current_stream(), _second_stream(gpu.current())
        aside.wait_event(here.record())
        for index, start in enumerate(range(0, across, size)):
            with aside if index % 2 else here:
                do(start, size, rooms.data.ptr + index % 2 * bytes_each)
                self._pace(along * along * size)
        here.wait_event(aside.record())

    def _pace(self, pairs: int) -> None:
        """After long work: let the host run at most two such launches ahead, so that Ctrl-C need not wait for more."""
        import cupy
        from cupy.cuda import runtime

        stream = cupy.cuda.get_current_stream()
        if pairs < LONG // 16 or runtime.streamIsCapturing(stream.ptr):
            return
        self._ahead.append(stream.record())
        if len(self._ahead) > 2:
            transfer.wait(self._ahead.popleft())

    def _strip(self, along: int, across: int, apart: int) -> int:
        """How many of a panel's `across` rows (columns) to do at once, `along` being the other side.

        All of them if the panel is small, so that blocks can share it evenly. Else as many as fill the device once with
        the largest tile, of which two may be 3 % of a large matrix: `apart` is from row to row, so the panel is part of
        a matrix of so many columns or more.
        """
        large = apart >= LARGE
        if along * across <= (apart * apart // 64 if large else COPIED):
            return across
        tile = self.tile_table[0]
        filling = self.multiprocessors * tile.blocks // -(-along // tile.bm)
        allowed = 3 * apart * apart // (200 * along * tile.bn)
        return max(1, min(filling, allowed) if large else filling) * tile.bn

    # Steps

    def close_pivots(self, count: int, first: Matrix, apart: int) -> None:
        """D ← D* for `count` matrices like `first`, `apart` elements from each other; at most 64 rows."""
        # A single block is fastest with many threads, a full device with few that have much to do.
        entries = (8, 4) if count == 1 else (8, 8) if self.dtype.itemsize <= 4 else (4, 4)
        function = self._compiled("pivot", lambda: texts.pivot_text(self._text, *entries), "pivot.cu", entries)
        function(
            (count,),
            (PIVOT * PIVOT // (entries[0] * entries[1]),),
            (first.address, first.ld, np.int32(first.rows), apart),
        )

    def _blocked(self, A: Matrix) -> None:
        """A ← A* by all multiprocessors, which meet twice a pivot block of 64."""
        import cupy

        n = A.rows
        sizes = self._team(n)
        function = self._closing(sizes)
        grid = min(sizes.blocks(n), self.multiprocessors)
        room, arrived = cupy.empty(sizes.room(n), np.uint8), cupy.zeros(2, np.uint32)
        beside = (room.data.ptr, np.int32(sizes.width(n)), arrived.data.ptr, np.int32(1))
        arguments = (A.address, A.ld, np.int32(n), *beside)
        function((grid,), (team.THREADS,), arguments, sizes.shared, enable_cooperative_groups=True)

    def _each(self, count: int, first: Matrix, apart: int) -> None:
        """A ← A* for `count` matrices like `first`, a thread block a matrix."""
        import cupy

        sizes, n = self._teams[0], first.rows
        function = self._closing(sizes)
        resident = _resident(function.ptr, team.THREADS, sizes.shared, gpu.current())
        grid = min(count, resident * self.multiprocessors)
        room = cupy.empty(grid * sizes.room(n), np.uint8)
        beside = (room.data.ptr, np.int32(sizes.width(n)), np.int32(1))
        arguments = (first.address, first.ld, np.int32(n), apart, np.int32(count), *beside)
        function((grid,), (team.THREADS,), arguments, sizes.shared)

    def _step(self, A: Matrix, k: int) -> None:
        itemsize, n = self.dtype.itemsize, A.rows
        row, column, apart = A.address + k * A.ld * itemsize, A.address + k * itemsize, A.ld
        kept = None
        if not self.semiring.idempotent:
            kept = self.empty((2, n))
            row, column, apart = kept.data.ptr, kept.data.ptr + n * itemsize, 1
            arguments = (A.address, A.ld, np.int32(n), np.int32(k), row, column)
            self._stepper("snapshot")((-(-n // 256),), (256,), arguments)
        grid = (-(-n // 64), -(-n // (4 * self.per_thread)))
        self._stepper("step")(grid, (256,), (A.address, A.ld, np.int32(n), np.int32(k), row, column, apart))

    # Kernels

    @cached_property
    def _variant(self) -> Any:
        return algebra.variant_of(self.semiring, self.dtype, nonnegative=self.nonnegative)

    @cached_property
    def _text(self) -> str:
        return algebra.text(self.semiring, self.dtype, self._variant)

    @cached_property
    def tile_table(self) -> tuple[tiles.Tile, ...]:
        """The tiles among which products choose."""
        kind = tiles.kind(self.semiring, self.dtype, self._variant)
        tuned = tiles.table(compile.device_arch(gpu.current()), kind, self.dtype)
        return tuned if self.tile == "tuned" else (texts.plain_tile(tuned[0].lanes),)

    @property
    def multiprocessors(self) -> int:
        """How many the current device has."""
        return gpu.multiprocessors(gpu.current())

    def _team(self, n: int) -> team.Team:
        """The sizes with which n × n is closed in one launch."""
        _, coming, *held = self._teams
        device = self.multiprocessors
        return next((sizes for sizes in held if HELD * device <= sizes.blocks(n) <= device), coming)

    @cached_property
    def _teams(self) -> tuple[team.Team, ...]:
        """The sizes for a thread block a matrix, then those for one matrix."""
        kind = tiles.kind(self.semiring, self.dtype, self._variant)
        step = kind, self.dtype.itemsize, self.tile_table[0].lanes
        return team.each(*step), team.whole(*step), *team.holding(*step)

    @cached_property
    def _ahead(self) -> deque[Any]:
        return deque()

    @cached_property
    def _functions(self) -> dict[Any, Any]:
        return {}

    def _gemm(self, tile: tiles.Tile, aligned: bool, way: str) -> Any:
        def text() -> str:
            return texts.gemm_text(self._text, tile, aligned=aligned, way=way)

        return self._compiled("gemm", text, "gemm.cu", (tile, aligned, way), shared=tile.shared(self.dtype.itemsize))

    def _closing(self, sizes: team.Team) -> Any:
        text = partial(team.text, self._text, sizes)
        return self._compiled(sizes.kernel, text, f"{sizes.kernel}.cu", sizes, shared=sizes.shared)

    def _stepper(self, entry: str) -> Any:
        return self._compiled(entry, lambda: texts.step_text(self._text, self.per_thread), "step.cu")

    def _compiled(self, entry: str, text: Callable[[], str], file: str, variant: Any = None, *, shared: int = 0) -> Any:
        """An entry function on the current device, compiled when it is first asked for."""
        key = entry, variant, gpu.current()
        if key not in self._functions:
            function = compile.functions(text(), name=file).get_function(entry)
            compile.allow_shared(function, shared)
            self._functions[key] = function
        return self._functions[key]

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

    def _copy(self, to: Matrix, source: Matrix) -> None:
        """to ← source."""
        size = self.dtype.itemsize
        gpu.copy_rows(to.address, to.ld * size, source.address, source.ld * size, source.columns * size, source.rows)


@cache
def _second_stream(device: int) -> Any:
    """A stream on which work runs beside the caller's."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


@cache
def _resident(function: int, threads: int, shared: int, device: int) -> int:
    """Blocks of a function that a multiprocessor holds."""
    from cupy_backends.cuda.api import driver

    return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared))
