"""Packed words on the GPU: products in strips, and the operations of `BitMatrix`.

Matrix arguments have `words`, a CuPy array, and a `shape` in bits; new matrices are returned as words. The kernels are
in bits*.cu, the choice among products in `product`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ....host.devices import on_device
from ....host.errors import DTypeError, ShapeError
from ....host.types import Array
from .. import compile, gpu
from ..dense.launches import Pace
from ..dense.matrix import evenly
from ..library import cupy
from . import product as bitproduct
from .product import Bits

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix

P = ParamSpec("P")
R = TypeVar("R")

#: Workspace bytes always allowed, and upper bounds for a transposed strip and for a copy.
LEAST, MOST_TRANSPOSED, MOST_COPIED = 128 << 20, 4 << 30, 3 << 30
#: Bit pairs queued ahead of the device, about half a second.
PAIRS = 1 << 52
#: Bytes of bools on the device at once, when packing or unpacking a host array.
TRANSFER = 256 << 20


class Products:
    """C ← C ∨ A ∧ B, on the caller's current device and stream; see `CudaBitBackend` for `instructions`."""

    def __init__(self, instructions: str | None = None) -> None:
        self.instructions = instructions or bitproduct.default(gpu.current())
        bitproduct.check(self.instructions, gpu.current())
        self._workspaces: dict[tuple[int, int], Any] = {}
        self._pace = Pace()

    def accumulate(self, c: Bits, a: Bits, b: Bits, *, gives_way: bool = False) -> None:
        if not (c.rows and c.columns and a.columns):
            return
        left, _copy = self._operand(a)
        for j, strip in self._transposed(b):
            self._multiply(c.cut_columns(j, j + strip.rows), left, strip, accumulate=True, gives_way=gives_way)

    def pace(self, pairs: int) -> None:
        """Throttle the host after long work, so that Ctrl-C is handled soon."""
        self._pace.after(pairs, PAIRS)

    def _multiply(self, C: Bits, A: Bits, Bt: Bits, *, accumulate: bool, gives_way: bool = False) -> None:
        bitproduct.multiply(self.instructions, C, A, Bt, accumulate=accumulate, gives_way=gives_way)
        self.pace(C.rows * A.columns * C.columns)

    def _transposed(self, B: Bits) -> Iterator[tuple[int, Bits]]:
        """Yield (first column, transpose) of strips of columns of B, in one workspace."""
        width = strip_size(B.columns, B.rows, MOST_TRANSPOSED)
        workspace = self._reserve(transposed_bytes(width, B.rows))
        for j in range(0, B.columns, width):
            yield j, transposed(B.cut_columns(j, j + width), workspace)

    def _operand(self, A: Bits) -> tuple[Bits, Any]:
        """A, or an aligned copy if kernels need it; and the copy's array, to be kept alive."""
        if A.aligned or not bitproduct.PRODUCTS[self.instructions].aligned:
            return A, None
        array = zeros((A.rows, A.columns))
        copy_bits(copy := bits_of(array, A.columns), A)
        return copy, array

    def _reserve(self, size: int) -> int:
        """Address of this stream's workspace, kept for the next verb; freed before it grows."""
        key = gpu.current(), cupy.cuda.get_current_stream().ptr
        workspace = self._workspaces.get(key)
        if workspace is None or workspace.size < size:
            self._workspaces[key] = workspace = None
            if size > LEAST:
                cupy.get_default_memory_pool().free_all_blocks()
            self._workspaces[key] = workspace = cupy.empty(size, np.uint8)
        return int(workspace.data.ptr)


# The operations of BitMatrix


def on_device_of_first(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Run the function with its first array's GPU as the current one."""

    @wraps(function)
    def launched(first: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with on_device(first):
            return function(first, *args, **kwargs)

    return launched


def zeros(shape: tuple[int, ...]) -> Any:
    """Words on the device, all 0; rows 16-byte aligned, long ones 128-byte aligned."""
    m, n = shape
    words = -(-n // 64)
    return cupy.zeros((m, padded(words)), np.uint64)[:, :words]


@on_device_of_first
def pack(array: Array) -> Any:
    if array.dtype != np.dtype(bool):
        raise DTypeError(f"bits: the array must be bool, got {array.dtype}. Say which entries are set: A != 0.")
    (m, n), new = array.shape, zeros(array.shape)
    target, function = bits_of(new, n), text.functions()["pack"]
    height = len(array) if isinstance(array, cupy.ndarray) else max(1, TRANSFER // max(n, 1))
    for i in range(0, m if n else 0, max(height, 1)):
        part = cupy.asarray(array[i : i + height])
        to = target.cut_rows(i, i + height)
        grid = (to.rows, -(-to.words // 32))
        function(grid, (256,), (part.data.ptr, *part.strides, np.int32(n), to.address, to.ld))
    return new


@on_device_of_first
def unpack(matrix: BitMatrix, out: Array = None) -> Any:
    m, n = matrix.shape
    out = cupy.empty((m, n), bool) if out is None else out
    source, function = bits_of(matrix.words, n), text.functions()["unpack"]
    on_device = isinstance(out, cupy.ndarray)
    height = m if on_device else max(1, TRANSFER // max(n, 1))
    for i in range(0, m if n else 0, max(height, 1)):
        x = source.cut_rows(i, i + height)
        part = out if on_device else cupy.empty((x.rows, n), bool)
        function((x.rows, -(-x.words // 32)), (256,), (x.address, x.ld, np.int32(n), part.data.ptr, *part.strides))
        if not on_device:
            out[i : i + height] = part.get()
    return out


@on_device_of_first
def from_edges(rows: Any, cols: Any, shape: tuple[int, int]) -> Any:
    """Words of a new matrix on the device with bits (rows[e], cols[e]) set; repeated pairs are allowed."""
    r, c = (cupy.ascontiguousarray(cupy.asarray(x), dtype=np.int64) for x in (rows, cols))
    if r.ndim != 1 or r.shape != c.shape:
        raise ShapeError(f"from_edges: rows and cols must be two lists of one length, got {r.shape} and {c.shape}.")
    for index, bound, name in ((r, shape[0], "row"), (c, shape[1], "column")):
        low, high = (int(index.min()), int(index.max())) if index.size else (0, -1)
        if low < 0 or high >= bound:
            raise IndexError(f"from_edges: a {name} must lie in 0 … {bound - 1}, got {low} to {high}.")
    new = zeros(shape)
    set_bits(new, shape[1], r, c)
    return new


@on_device_of_first
def set_bits(words: Any, n: int, rows: Any, columns: Any) -> None:
    """Set bits (rows[e], columns[e]) of a matrix of n columns; int64 indices, bounds unchecked."""
    r, c = (cupy.ascontiguousarray(cupy.asarray(x), dtype=np.int64) for x in (rows, columns))
    if r.size:
        a, function = bits_of(words, n), text.functions()["set_bits"]
        function((-(-r.size // 256),), (256,), (a.address, a.ld, r.data.ptr, c.data.ptr, r.size))


@on_device_of_first
def multiply(A: BitMatrix, B: BitMatrix) -> Any:
    (m, k), n = A.shape, B.shape[1]
    C = zeros((m, n))
    Products().accumulate(bits_of(C, n), bits_of(A.words, k), bits_of(B.words, n))
    return C


@on_device_of_first
def transpose(A: BitMatrix) -> Any:
    m, n = A.shape
    new = zeros((n, m))
    if m and n:
        transpose_into(bits_of(new, m), bits_of(A.words, n))
    return new


@on_device_of_first
def count(A: BitMatrix, axis: int) -> Any:
    a, function = bits_of(A.words, A.shape[1]), text.functions()["count_rows"]
    counts = cupy.zeros(A.shape[1 if axis == 0 else 0], np.int64)
    if not (a.rows and a.columns):
        return counts
    if axis == 1:
        strips: Any = [(0, a)]
    else:  # the rows of transposed strips
        width = strip_size(a.columns, a.rows, LEAST)
        workspace = cupy.empty(transposed_bytes(width, a.rows), np.uint8)
        starts = range(0, a.columns, width)
        strips = ((j, transposed(a.cut_columns(j, j + width), workspace.data.ptr)) for j in starts)
    for j, x in strips:
        to = counts[j : j + x.rows].data.ptr
        function((-(-x.rows // 8),), (256,), (x.address, x.ld, np.int32(x.rows), np.int32(x.words), to))
    return counts


@on_device_of_first
def columns(A: BitMatrix, total: int) -> Any:
    found, a = cupy.empty(total, np.int64), bits_of(A.words, A.shape[1])
    if total:
        counts = count(A, 1)
        starts = cupy.cumsum(counts) - counts
        arguments = (a.address, a.ld, np.int32(a.rows), np.int32(a.words), starts.data.ptr, found.data.ptr)
        text.functions()["list_columns"]((-(-a.rows // 8),), (256,), arguments)
    return found


# Layout and copies


def bits_of(words: Any, columns: int) -> Bits:
    # CuPy's stride of a single row is meaningless.
    ld = words.strides[0] // 8 if len(words) > 1 else max(padded(words.shape[1]), 2)
    return Bits(int(words.data.ptr), ld, len(words), columns)


def padded(words: int) -> int:
    """Leading dimension of a new matrix in words: 16-byte multiples, full cache lines for long rows."""
    return -(-words // 16) * 16 if words > 16 else words + words % 2


def strip_size(across: int, along: int, most: int, *, unit: int = 256) -> int:
    """Rows (columns) per strip, of `across` with `along` bits: an eighth of them, within limits."""
    size = across * padded(-(-along // 64)) * 8
    parts = -(-size // max(LEAST, min(size // 8, most))) if size else 1
    return max(1, evenly(across, parts, unit))


def transposed_bytes(width: int, rows: int) -> int:
    return width * padded(-(-rows // 64)) * 8


def transposed(X: Bits, workspace: int) -> Bits:
    to = Bits(workspace, padded(-(-X.rows // 64)), X.columns, X.rows)
    transpose_into(to, X)
    return to


def transpose_into(to: Bits, X: Bits) -> None:
    grid = (-(-X.columns // 512), -(-X.rows // 512))
    arguments = (X.address, X.ld, np.int32(X.rows), np.int32(X.columns), to.address, to.ld)
    text.functions()["transpose"](grid, (256,), arguments)


def copy_bits(to: Bits, source: Bits) -> None:
    gpu.copy_rows(to.address, 8 * to.ld, source.address, 8 * source.ld, 8 * source.words, source.rows)


@compile.unit("bits.cu")
def text() -> str:
    return compile.source("bits.cu")
