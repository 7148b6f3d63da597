"""Packed Boolean matrices on the GPU: the verbs of `lor_land`, as strips of products (`words`).

The kernels are in bits*.cu, the choice among products in `product`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....algebra.catalog import lor_land
from ....dense.bits import BitMatrix
from ....host.errors import DTypeError, ShapeError
from ....host.types import Array
from .. import cards, compile, gpu
from ..dense.backend import DeviceBackend
from ..library import cupy
from . import words
from .product import Bits

#: Pivot rows per launch of the kernel `panel`.
PIVOT = 256


class CudaBitBackend(words.Products, DeviceBackend):
    """The verbs of `semiring.kernels.backend.Backend` over `lor_land`, on `BitMatrix` views of CuPy words.

    Work goes to the caller's current device and stream, without waiting.

    Parameters
    ----------
    instructions : {"wgmma", "mma", "logic"}, optional
        Instructions of products; default: the fastest on the device.

    Raises
    ------
    DeviceError
        If the device lacks the instructions.

    Examples
    --------
    >>> from semiring.kernels.cuda.bits.backend import CudaBitBackend
    >>> ops = CudaBitBackend()  # doctest: +SKIP
    >>> D = ops.upload(np.array([[False, True], [False, False]]))  # doctest: +SKIP
    >>> ops.closure(D)  # doctest: +SKIP
    >>> ops.download(D)  # doctest: +SKIP
    array([[ True,  True],
           [False,  True]])
    """

    semiring = lor_land
    dtype = np.dtype(bool)
    #: 16-byte rows, as the copy engine and ldmatrix require.
    grain = 128
    knows_workspaces = True

    def __init__(self, instructions: str | None = None) -> None:
        super().__init__(instructions)
        self.pivot = self.cutover = cards.limits(compile.device_arch(gpu.current())).packed

    def __repr__(self) -> str:
        return f"CudaBitBackend(instructions={self.instructions!r})"

    # Verbs

    def gemm(self, C: BitMatrix, A: BitMatrix, B: BitMatrix) -> None:
        """C ← C ∨ A ∧ B; C must not overlap A or B. Transposes strips of columns of B in turn."""
        self.accumulate(*_fitting("gemm", C, A, B))

    def gemms(self, products: Sequence[tuple[BitMatrix, BitMatrix, BitMatrix]]) -> None:
        """C ← C ∨ A ∧ B for each, in short blocks, so that work ahead on other streams gets its turn."""
        for C, A, B in products:
            self.accumulate(*_fitting("gemms", C, A, B), gives_way=True)

    def left_mul(self, D: BitMatrix, R: BitMatrix) -> None:
        r, d, _ = _fitting("left_mul", R, D, R)
        if not (r.rows and r.columns):
            return
        left, _copy = self._operand(d)
        for j, strip in self._transposed(r):
            self._multiply(r.cut_columns(j, j + strip.rows), left, strip, accumulate=False)

    def right_mul(self, C: BitMatrix, D: BitMatrix) -> None:
        c, _, d = _fitting("right_mul", C, C, D)
        if not (c.rows and c.columns):
            return
        width = words.strip_size(d.columns, d.rows, words.MOST_TRANSPOSED)
        height = words.strip_size(c.rows, c.columns, words.MOST_COPIED, unit=128)
        ld = words.padded(c.words)
        workspace = self._reserve(8 * height * ld + words.transposed_bytes(width, d.rows))
        copy, strip = Bits(workspace, ld, height, c.columns), workspace + 8 * height * ld
        for i in range(0, c.rows, height):
            part = c.cut_rows(i, i + height)
            original = copy._replace(rows=part.rows)
            words.copy_bits(original, part)
            for j in range(0, d.columns, width):
                if i == 0 or width < d.columns:
                    right = words.transposed(d.cut_columns(j, j + width), strip)
                self._multiply(part.cut_columns(j, j + width), original, right, accumulate=False)

    def closure(self, D: BitMatrix) -> None:
        """D ← D*, reflexive: Floyd–Warshall on blocks of 256: R ← P* R, then D ← D ∨ D[:,p] ∧ R, in place.

        In place is safe: an updated bit of D[:,p] is one of D[:,p] ∧ P*, which changes nothing.
        """
        (d, _, _), n = _fitting("closure", D, D, D), len(D)
        if not n:
            return
        if not d.aligned:
            aligned = _of(copy := self.empty((n, n)))
            words.copy_bits(aligned, d)
            self.closure(copy)
            words.copy_bits(d, aligned)
            return
        panel = words.text.functions()["panel"]
        workspace = self._reserve(8 * 64 * d.words * PIVOT // 64)
        for p in range(0, n, PIVOT):
            size = min(PIVOT, n - p)
            panel((d.words,), (256,), (d.address, d.ld, np.int32(p), np.int32(size), workspace))
            if size < n:
                R = Bits(workspace, PIVOT // 64, n, size)
                self._multiply(d, d.cut_columns(p, p + size), R, accumulate=True)

    def step(self, A: BitMatrix, k: int) -> None:
        """A ← A ∨ A[:,k] ∧ A[k,:], setting bit (k, k), so that n steps give the reflexive A*."""
        (a, _, _), n = _fitting("step", A, A, A), len(A)
        if not 0 <= k < n:
            raise ShapeError(f"step: k must name a row of A {A.shape}, got {k}.")
        words.text.functions()["step"]((-(-n // 8),), (256,), (a.address, a.ld, np.int32(n), np.int32(k)))

    # Memory

    def clear(self, C: BitMatrix) -> None:
        C.words[...] = 0

    def copy(self, B: BitMatrix, A: BitMatrix) -> None:
        B.words[...] = A.words

    def set_diagonal(self, A: BitMatrix, value: Any) -> None:
        A.set_diagonal(value)

    def empty(self, shape: tuple[int, ...]) -> BitMatrix:
        """A new matrix of zeros: the tails of words must be zero."""
        return BitMatrix._of(words.zeros(shape), (shape[0], shape[1]))

    def flat(self, panel: BitMatrix) -> Any:
        return panel.words.reshape(-1) if panel.words.base is None else panel.words.base.reshape(-1)

    def upload(self, array: Array, *, copy: bool = True) -> BitMatrix:
        if not isinstance(array, BitMatrix):
            return BitMatrix._of(words.pack(array), array.shape)
        if isinstance(array.words, cupy.ndarray) and not copy:
            return array
        new = self.empty(array.shape)
        new.words[...] = cupy.asarray(array.words)
        return new

    def download(self, matrix: BitMatrix, out: Array = None) -> Any:
        return words.unpack(matrix, np.empty(matrix.shape, bool) if out is None else out)

    def workspace(self, n: int) -> int:
        if n <= self.pivot:
            return self.verb_workspace("closure", n, n, n)
        h = -(-n // (2 * self.pivot)) * self.pivot
        return self.verb_workspace("right_mul", h, h, h)

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        """Workspace in bytes of a verb with an m × n output and inner size k, per stream; `closure`: m × m."""
        if verb == "closure":
            return -(-m // 64) * PIVOT * 8
        transposed = words.transposed_bytes(words.strip_size(n, k, words.MOST_TRANSPOSED), k)
        if verb == "right_mul":
            return 8 * words.strip_size(m, n, words.MOST_COPIED, unit=128) * words.padded(-(-n // 64)) + transposed
        return transposed if verb in ("gemm", "matmul", "left_mul") else 0


def _fitting(verb: str, C: BitMatrix, A: BitMatrix, B: BitMatrix) -> tuple[Bits, Bits, Bits]:
    for X in (C, A, B):
        if not isinstance(X, BitMatrix) or X._on_cpu:
            raise DTypeError(f"{verb}: matrices must be BitMatrix on the GPU, got {X!r}. Convert them with upload.")
    if (A.shape[1], C.shape) != (B.shape[0], (A.shape[0], B.shape[1])):
        raise ShapeError(f"{verb}: sizes must fit, got {C.shape} from {A.shape} ∧ {B.shape}.")
    return _of(C), _of(A), _of(B)


def _of(matrix: BitMatrix) -> Bits:
    return words.bits_of(matrix.words, matrix.shape[1])
