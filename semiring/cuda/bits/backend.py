"""Packed Boolean matrices on the GPU: the verbs of `lor_land`, and what `BitMatrix` asks of its device.

Reading order: `CudaBitBackend`, whose verbs are strips of products; then the functions for single matrices. The
kernels are in bits*.cu, the choice among products in `product`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ...backend import Backend, ConcurrentQueue, Stopwatch
from ...bits import BitMatrix
from ...catalog import lor_land
from ...devices import there
from ...errors import DTypeError, ShapeError
from .. import cards, compile, gpu, transfer
from ..dense.launches import Pace
from ..dense.matrix import evenly
from ..routes import predecessors as routes
from . import product as bitproduct
from .product import Bits

P = ParamSpec("P")
R = TypeVar("R")

#: Rows that the kernel `panel` closes at once.
PIVOT = 256
#: Bytes that a workspace may always have, and those beyond which it never grows, for a transposed strip and a copy.
LEAST, MOST_TRANSPOSED, MOST_COPIED = 128 << 20, 4 << 30, 3 << 30
#: Pairs of about half a second: what may be under way on a device while the host goes on.
PAIRS = 1 << 52
#: Bytes of bools that are on the device at once while a host array is packed or unpacked.
TRANSFER = 256 << 20


class CudaBitBackend(Backend):
    """The verbs of `semiring.backend.Backend` over `lor_land`, on `BitMatrix` views whose words are CuPy arrays.

    All work goes to the caller's current device and stream, and no verb waits for it.

    Parameters
    ----------
    instructions : {"wgmma", "mma", "logic"}, optional
        By what products are computed; by default as is fastest on the device.

    Raises
    ------
    DeviceError
        If this device has no such instructions.

    Examples
    --------
    >>> from semiring.cuda.bits.backend import CudaBitBackend
    >>> ops = CudaBitBackend()  # doctest: +SKIP
    >>> D = ops.upload(np.array([[False, True], [False, False]]))  # doctest: +SKIP
    >>> ops.closure(D)  # doctest: +SKIP
    >>> ops.download(D)  # doctest: +SKIP
    array([[ True,  True],
           [False,  True]])
    """

    device = "cuda"
    semiring = lor_land
    dtype = np.dtype(bool)
    #: 16 bytes: what the copy engine and ldmatrix want rows to start at.
    grain = 128
    looks_ahead = True
    knows_workspaces = True

    def __init__(self, instructions: str | None = None) -> None:
        self.instructions = instructions or bitproduct.default(gpu.current())
        bitproduct.check(self.instructions, gpu.current())
        self.pivot = self.cutover = cards.limits(compile.device_arch(gpu.current())).packed
        self._workspaces: dict[tuple[int, int], Any] = {}
        self._pace = Pace()

    def __repr__(self) -> str:
        return f"CudaBitBackend(instructions={self.instructions!r})"

    # Verbs

    def gemm(self, C: BitMatrix, A: BitMatrix, B: BitMatrix) -> None:
        """C ← C ∨ A ∧ B; C must not overlap A or B. Strips of columns of B are transposed one after the other."""
        self._gemm(C, A, B)

    def gemms(self, products: Sequence[tuple[BitMatrix, BitMatrix, BitMatrix]]) -> None:
        """C ← C ∨ A ∧ B for each, in blocks that end early: what is made ahead beside them gets its turn."""
        for C, A, B in products:
            self._gemm(C, A, B, gives_way=True)

    def _gemm(self, C: BitMatrix, A: BitMatrix, B: BitMatrix, gives_way: bool = False) -> None:
        c, a, b = _fitting("gemm", C, A, B)
        if not (c.rows and c.columns and a.columns):
            return
        with self._operand(a) as left:
            for j, strip in self._transposed(b):
                self._multiply(c.cut_columns(j, j + strip.rows), left, strip, accumulate=True, gives_way=gives_way)

    def left_mul(self, D: BitMatrix, R: BitMatrix) -> None:
        """R ← D ∧ R; a transposed strip of columns is what R was."""
        r, d, _ = _fitting("left_mul", R, D, R)
        if not (r.rows and r.columns):
            return
        with self._operand(d) as left:
            for j, strip in self._transposed(r):
                self._multiply(r.cut_columns(j, j + strip.rows), left, strip, accumulate=False)

    def right_mul(self, C: BitMatrix, D: BitMatrix) -> None:
        """C ← C ∧ D; a copy of a strip of rows is what C was."""
        c, _, d = _fitting("right_mul", C, C, D)
        if not (c.rows and c.columns):
            return
        width, height = _strip(d.columns, d.rows, MOST_TRANSPOSED), _strip(c.rows, c.columns, MOST_COPIED, unit=128)
        ld = _padded(c.words)
        workspace = self._reserve(8 * height * ld + _transposed_bytes(width, d.rows))
        copy, strip = Bits(workspace, ld, height, c.columns), workspace + 8 * height * ld
        for i in range(0, c.rows, height):
            part = c.cut_rows(i, i + height)
            kept = copy._replace(rows=part.rows)
            _copy(kept, part)
            for j in range(0, d.columns, width):
                if i == 0 or width < d.columns:
                    right = _transpose(d.cut_columns(j, j + width), strip)
                self._multiply(part.cut_columns(j, j + width), kept, right, accumulate=False)

    def closure(self, D: BitMatrix) -> None:
        """D ← D*, reflexive: Floyd–Warshall on blocks of 256. (R ← P* R, then D ← D ∨ D[:,p] ∧ R, in place.)

        In place because a bit of D[:,p] that is already updated is one of D[:,p] ∧ P*, which changes nothing.
        """
        (d, _, _), n = _fitting("closure", D, D, D), len(D)
        if not n:
            return
        if not d.aligned:
            whole = _of(copy := self.empty((n, n)))
            _copy(whole, d)
            self.closure(copy)
            _copy(d, whole)
            return
        panel = _function("panel", gpu.current())
        workspace = self._reserve(8 * 64 * d.words * PIVOT // 64)
        for p in range(0, n, PIVOT):
            size = min(PIVOT, n - p)
            panel((d.words,), (256,), (d.address, d.ld, np.int32(p), np.int32(size), workspace))
            if size < n:
                R = Bits(workspace, PIVOT // 64, n, size)
                self._multiply(d, d.cut_columns(p, p + size), R, accumulate=True)

    def predecessors(self, P: Any, A: Any, D: Any, mirrored: bool = False) -> None:
        """P[i,j] ← the vertex before j on a path from i, of arrays of bool; waits for the device."""
        routes.predecessors(self.semiring, P, A, D, mirrored)

    def step(self, A: BitMatrix, k: int) -> None:
        """A ← A ∨ A[:,k] ∧ A[k,:]; with it the diagonal's own 1, so that n steps give A*."""
        (a, _, _), n = _fitting("step", A, A, A), len(A)
        if not 0 <= k < n:
            raise ShapeError(f"step: k must name a row of A {A.shape}, got {k}.")
        _function("step", gpu.current())((-(-n // 8),), (256,), (a.address, a.ld, np.int32(n), np.int32(k)))

    # Memory

    def clear(self, C: BitMatrix) -> None:
        """C ← 0."""
        C.words[...] = 0

    def copy(self, B: BitMatrix, A: BitMatrix) -> None:
        """B ← A."""
        B.words[...] = A.words

    def diagonal(self, A: BitMatrix) -> np.ndarray:
        """The bits (k, k) as a NumPy bool array; waits for the device."""
        found: np.ndarray = A.diagonal().get()
        return found

    def set_diagonal(self, A: BitMatrix, value: Any) -> None:
        """Bits (k, k) ← value."""
        A.set_diagonal(value)

    def stopwatch(self) -> Stopwatch:
        """Events on the current stream: the device's own time."""
        return gpu.EventStopwatch()

    def energy(self) -> float | None:
        """Joules that the current card has used; None where NVML does not tell."""
        return gpu.energy()

    def empty(self, shape: tuple[int, ...]) -> BitMatrix:
        """A new matrix; of zeros, as the tails of words must be."""
        return zeros(shape)

    def flat(self, panel: BitMatrix) -> Any:
        """All words of what `panel` returned."""
        return panel.words.reshape(-1) if panel.words.base is None else panel.words.base.reshape(-1)

    def concurrent_queue(self) -> ConcurrentQueue:
        """A stream of high priority."""
        return gpu.ConcurrentStream()

    def upload(self, array: Any, *, copy: bool = True) -> BitMatrix:
        """A bool array (NumPy or CuPy), packed; a BitMatrix on the device, itself where `copy` is false."""
        if not isinstance(array, BitMatrix):
            return pack(array)
        import cupy

        if isinstance(array.words, cupy.ndarray) and not copy:
            return array
        new = zeros(array.shape)
        new.words[...] = cupy.asarray(array.words)
        return new

    def download(self, matrix: BitMatrix, out: Any = None) -> Any:
        """The matrix as a NumPy bool array, or into `out`, NumPy or CuPy."""
        return unpack(matrix, np.empty(matrix.shape, bool) if out is None else out)

    def pace(self, pairs: int) -> None:
        """After long work: keep the host from running far ahead, so that Ctrl-C need not wait for more."""
        self._pace.after(pairs, PAIRS)

    def synchronize(self) -> None:
        """Wait for the current stream, in a way that Ctrl-C ends."""
        transfer.synchronize()

    def workspace(self, n: int) -> int:
        """Bytes held beside an n × n matrix while its closure is computed."""
        if n <= self.pivot:
            return self.verb_workspace("closure", n, n, n)
        h = -(-n // (2 * self.pivot)) * self.pivot
        return self.verb_workspace("right_mul", h, h, h)

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        """Bytes that a verb with an m × n output and inner size k holds, each stream its own; of `closure`, m × m."""
        if verb == "closure":
            return -(-m // 64) * PIVOT * 8
        transposed = _transposed_bytes(_strip(n, k, MOST_TRANSPOSED), k)
        if verb == "right_mul":
            return 8 * _strip(m, n, MOST_COPIED, unit=128) * _padded(-(-n // 64)) + transposed
        return transposed if verb in ("gemm", "matmul", "left_mul") else 0

    # Inside

    def _multiply(self, C: Bits, A: Bits, Bt: Bits, *, accumulate: bool, gives_way: bool = False) -> None:
        bitproduct.multiply(self.instructions, C, A, Bt, accumulate=accumulate, gives_way=gives_way)
        self.pace(C.rows * A.columns * C.columns)

    def _transposed(self, B: Bits) -> Iterator[tuple[int, Bits]]:
        """(first column, the transpose) of one strip of columns of B after the other, in the same workspace."""
        width = _strip(B.columns, B.rows, MOST_TRANSPOSED)
        workspace = self._reserve(_transposed_bytes(width, B.rows))
        for j in range(0, B.columns, width):
            yield j, _transpose(B.cut_columns(j, j + width), workspace)

    def _operand(self, A: Bits) -> _Operand:
        """A as the kernel can read it: itself, or a copy whose rows start where they should."""
        return _Operand(A, A.aligned or not bitproduct.PRODUCTS[self.instructions].aligned)

    def _reserve(self, size: int) -> int:
        """The address of this stream's workspace, kept for the next verb; what it was goes back when it grows."""
        import cupy

        key = gpu.current(), cupy.cuda.get_current_stream().ptr
        workspace = self._workspaces.get(key)
        if workspace is None or workspace.size < size:
            self._workspaces[key] = workspace = None
            if size > LEAST:
                cupy.get_default_memory_pool().free_all_blocks()
            self._workspaces[key] = workspace = cupy.empty(size, np.uint8)
        return int(workspace.data.ptr)


class _Operand:
    """`with _Operand(A, fits) as B`: A, or a copy of it that lives as long as the block."""

    def __init__(self, A: Bits, fits: bool) -> None:
        self.operand, self.copy = A, None
        if not fits:
            self.copy = zeros((A.rows, A.columns))
            self.operand = _of(self.copy)
            _copy(self.operand, A)

    def __enter__(self) -> Bits:
        return self.operand

    def __exit__(self, *problem: object) -> None:
        self.copy = None  # the pool hands memory on in the order of the stream


# What BitMatrix asks for


def beside(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """The function, with the GPU on which its first array lies as the current one."""

    @wraps(function)
    def there_alone(first: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with there(first):
            return function(first, *args, **kwargs)

    return there_alone


def zeros(shape: tuple[int, ...]) -> BitMatrix:
    """A new matrix on the device; rows start at multiples of 16 bytes, those of long rows at multiples of 128."""
    import cupy

    m, n = shape
    words = -(-n // 64)
    return BitMatrix._of(cupy.zeros((m, _padded(words)), np.uint64)[:, :words], (m, n))


@beside
def pack(array: Any) -> BitMatrix:
    """A bool array (NumPy or CuPy, any strides) at one bit an entry, on the device."""
    import cupy

    if array.dtype != np.dtype(bool):
        raise DTypeError(f"bits: the array must be bool, got {array.dtype}. Say which entries are set: A != 0.")
    (m, n), new = array.shape, zeros(array.shape)
    target, function = _of(new), _function("pack", gpu.current())
    height = len(array) if isinstance(array, cupy.ndarray) else max(1, TRANSFER // max(n, 1))
    for i in range(0, m if n else 0, max(height, 1)):
        part = cupy.asarray(array[i : i + height])
        to = target.cut_rows(i, i + height)
        grid = (to.rows, -(-to.words // 32))
        function(grid, (256,), (part.data.ptr, *part.strides, np.int32(n), to.address, to.ld))
    return new


@beside
def unpack(matrix: BitMatrix, out: Any = None) -> Any:
    """The matrix as bools, into `out` (NumPy or CuPy, any strides), else into a new CuPy array."""
    import cupy

    m, n = matrix.shape
    out = cupy.empty((m, n), bool) if out is None else out
    source, function = _of(matrix), _function("unpack", gpu.current())
    on_device = isinstance(out, cupy.ndarray)
    height = m if on_device else max(1, TRANSFER // max(n, 1))
    for i in range(0, m if n else 0, max(height, 1)):
        x = source.cut_rows(i, i + height)
        part = out if on_device else cupy.empty((x.rows, n), bool)
        function((x.rows, -(-x.words // 32)), (256,), (x.address, x.ld, np.int32(n), part.data.ptr, *part.strides))
        if not on_device:
            out[i : i + height] = part.get()
    return out


@beside
def from_edges(rows: Any, cols: Any, shape: tuple[int, int]) -> BitMatrix:
    """Set bit (rows[e], cols[e]) of a new matrix on the device for every e; repeated pairs are welcome.

    Parameters
    ----------
    rows, cols : array of int, shape (edges,), NumPy or CuPy
    shape : (rows, columns)

    Raises
    ------
    ShapeError
        If rows and cols are not two lists of one length.
    IndexError
        If an index lies outside the matrix; negative ones do.
    """
    import cupy

    r, c = (cupy.ascontiguousarray(cupy.asarray(x), dtype=np.int64) for x in (rows, cols))
    if r.ndim != 1 or r.shape != c.shape:
        raise ShapeError(f"from_edges: rows and cols must be two lists of one length, got {r.shape} and {c.shape}.")
    for index, bound, name in ((r, shape[0], "row"), (c, shape[1], "column")):
        low, high = (int(index.min()), int(index.max())) if index.size else (0, -1)
        if low < 0 or high >= bound:
            raise IndexError(f"from_edges: a {name} must lie in 0 … {bound - 1}, got {low} to {high}.")
    new = zeros(shape)
    set_bits(new, r, c)
    return new


@beside
def set_bits(A: BitMatrix, rows: Any, columns: Any) -> None:
    """Set bit (rows[e], columns[e]) for every e; int64 indices (NumPy or CuPy) within bounds, which nobody checks."""
    import cupy

    r, c = (cupy.ascontiguousarray(cupy.asarray(x), dtype=np.int64) for x in (rows, columns))
    if r.size:
        a, function = _of(A), _function("set_bits", gpu.current())
        function((-(-r.size // 256),), (256,), (a.address, a.ld, r.data.ptr, c.data.ptr, r.size))


@beside
def multiply(A: BitMatrix, B: BitMatrix) -> BitMatrix:
    """A ∧ B as a new matrix."""
    C = zeros((A.shape[0], B.shape[1]))
    CudaBitBackend().gemm(C, A, B)
    return C


@beside
def transpose(A: BitMatrix) -> BitMatrix:
    """Aᵀ as a new matrix."""
    m, n = A.shape
    new = zeros((n, m))
    if m and n:
        _transpose_into(_of(new), _of(A))
    return new


@beside
def count(A: BitMatrix, axis: int) -> Any:
    """How many bits are set in each column (axis 0) or row (axis 1), as CuPy int64."""
    import cupy

    a, function = _of(A), _function("count_rows", gpu.current())
    counts = cupy.zeros(A.shape[1 if axis == 0 else 0], np.int64)
    if not (a.rows and a.columns):
        return counts
    if axis == 1:
        strips: Any = [(0, a)]
    else:  # the rows of transposed strips
        width = _strip(a.columns, a.rows, LEAST)
        workspace = cupy.empty(_transposed_bytes(width, a.rows), np.uint8)
        starts = range(0, a.columns, width)
        strips = ((j, _transpose(a.cut_columns(j, j + width), workspace.data.ptr)) for j in starts)
    for j, x in strips:
        to = counts[j : j + x.rows].data.ptr
        function((-(-x.rows // 8),), (256,), (x.address, x.ld, np.int32(x.rows), np.int32(x.words), to))
    return counts


@beside
def columns(A: BitMatrix, total: int) -> Any:
    """The columns of all `total` set bits, row after row, as CuPy int64."""
    import cupy

    found, a = cupy.empty(total, np.int64), _of(A)
    if total:
        counts = count(A, 1)
        starts = cupy.cumsum(counts) - counts
        arguments = (a.address, a.ld, np.int32(a.rows), np.int32(a.words), starts.data.ptr, found.data.ptr)
        _function("list_columns", gpu.current())((-(-a.rows // 8),), (256,), arguments)
    return found


# Helpers


def _of(matrix: BitMatrix) -> Bits:
    words, (m, n) = matrix.words, matrix.shape
    # Of a single row CuPy does not say how far the next would be.
    ld = words.strides[0] // 8 if m > 1 else max(_padded(words.shape[1]), 2)
    return Bits(int(words.data.ptr), ld, m, n)


def _fitting(verb: str, C: BitMatrix, A: BitMatrix, B: BitMatrix) -> tuple[Bits, Bits, Bits]:
    """The operands of C ← A ∧ B as kernels see them, if they are on the device and their sizes fit."""
    for X in (C, A, B):
        if not isinstance(X, BitMatrix) or X._on_cpu:
            raise DTypeError(f"{verb}: matrices must be BitMatrix on the GPU, got {X!r}. Convert them with upload.")
    if (A.shape[1], C.shape) != (B.shape[0], (A.shape[0], B.shape[1])):
        raise ShapeError(f"{verb}: sizes must fit, got {C.shape} from {A.shape} ∧ {B.shape}.")
    return _of(C), _of(A), _of(B)


def _padded(words: int) -> int:
    """Words from row to row of a new matrix: 16 bytes' worth at least, whole cache lines for rows of several."""
    return -(-words // 16) * 16 if words > 16 else words + words % 2


def _strip(across: int, along: int, most: int, *, unit: int = 256) -> int:
    """How many of `across` rows (columns) of `along` bits to do at once: an eighth of them, within limits."""
    whole = across * _padded(-(-along // 64)) * 8
    parts = -(-whole // max(LEAST, min(whole // 8, most))) if whole else 1
    return max(1, evenly(across, parts, unit))


def _transposed_bytes(width: int, rows: int) -> int:
    return width * _padded(-(-rows // 64)) * 8


def _transpose(X: Bits, workspace: int) -> Bits:
    """Xᵀ at the address `workspace`."""
    to = Bits(workspace, _padded(-(-X.rows // 64)), X.columns, X.rows)
    _transpose_into(to, X)
    return to


def _transpose_into(to: Bits, X: Bits) -> None:
    grid = (-(-X.columns // 512), -(-X.rows // 512))
    arguments = (X.address, X.ld, np.int32(X.rows), np.int32(X.columns), to.address, to.ld)
    _function("transpose", gpu.current())(grid, (256,), arguments)


def _copy(to: Bits, source: Bits) -> None:
    gpu.copy_rows(to.address, 8 * to.ld, source.address, 8 * source.ld, 8 * source.words, source.rows)


@cache
def _function(entry: str, device: int) -> Any:
    return compile.functions(compile.source("bits.cu"), name="bits.cu").get_function(entry)
