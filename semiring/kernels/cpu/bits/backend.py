"""Packed Boolean matrices on the CPU: the verbs of `lor_land`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.catalog import lor_land
from ....dense.bits import BitMatrix
from ....host.compiling import Missing
from ....host.signals import load
from ...contract import Backend
from ..energy import energy
from ..inventory import missing
from ..processors import default_threads
from . import closure as bitclosure
from . import words


class BitBackend(Backend):
    """The verbs of `semiring.kernels.backend.Backend` over `lor_land`, on `BitMatrix` views.

    Parameters
    ----------
    threads : int, optional
        Default: SEMIRING_NUM_THREADS, or the number of processors available to this process.

    Examples
    --------
    >>> from semiring.kernels.cpu.bits.backend import BitBackend
    >>> ops = BitBackend()
    >>> D = ops.upload(np.array([[False, True], [False, False]]))
    >>> ops.closure(D)
    >>> ops.download(D)
    array([[ True,  True],
           [False,  True]])
    """

    device = "cpu"
    knows_workspaces = True
    semiring = lor_land
    dtype = np.dtype(bool)
    grain = 64

    def __init__(self, threads: int | None = None) -> None:
        self.threads = default_threads() if threads is None else threads
        # One worker closes a pivot block, at the rate of large products; several workers should wait for a smaller one.
        self.pivot = self.cutover = 2048 if self.threads < 4 else 1024

    def __repr__(self) -> str:
        return f"BitBackend(threads={self.threads})"

    def missing(self, work: str) -> Missing:
        names = {"closure": "bits", "index": "index"}
        return missing(names[work]) if work in names else Missing()

    def gemm(self, C: BitMatrix, A: BitMatrix, B: BitMatrix) -> None:
        words.multiply(C, A, B, threads=self.threads)

    def left_mul(self, D: BitMatrix, R: BitMatrix) -> None:
        words.left_multiply(D, R, threads=self.threads)

    def right_mul(self, C: BitMatrix, D: BitMatrix) -> None:
        words.right_multiply(C, D, threads=self.threads)

    def closure(self, D: BitMatrix) -> None:
        """D ← D*, reflexive: Warshall's algorithm, 64 pivots at a time, on a packed copy."""
        n = len(D)
        if n:
            bitclosure.close_block(*words.target_of(D), n, words.scratch(bitclosure.closure_bytes(n)))

    def step(self, A: BitMatrix, k: int) -> None:
        """A ← A ∨ A[:,k] ∧ A[k,:], setting bit (k, k), so that n steps give the reflexive A*."""
        (m, _), (a, lda), width = A.shape, words.target_of(A), A.words.shape[1]
        A.words[k, k >> 6] |= np.uint64(1 << (k & 63))

        def rows(i: int, size: int) -> None:
            bitclosure.or_pivot_row(a + i * lda, lda, size, width, k, a + k * lda)

        words.each_rows(rows, m, 8 * width, self.threads)

    def predecessors(self, P: np.ndarray, A: np.ndarray, D: np.ndarray, mirrored: bool = False) -> None:
        load("semiring.kernels.cpu.routes.predecessors").predecessors(self.semiring, P, A, D, mirrored, self.threads)

    def empty(self, shape: tuple[int, ...]) -> BitMatrix:
        """A new matrix of zeros: the tails of words must be zero."""
        return BitMatrix.zeros(shape)

    def flat(self, panel: BitMatrix) -> Any:
        return panel.words.reshape(-1)

    def energy(self) -> float | None:
        return energy()

    def upload(self, array: Any, *, copy: bool = True) -> BitMatrix:
        if isinstance(array, BitMatrix):
            return array.copy() if copy else array
        return BitMatrix.from_bool(array)

    def download(self, matrix: BitMatrix, out: Any = None) -> Any:
        return matrix.to_bool(out)

    def clear(self, C: BitMatrix) -> None:
        C.words[...] = 0

    def copy(self, B: BitMatrix, A: BitMatrix) -> None:
        B.words[...] = A.words

    def diagonal(self, A: BitMatrix) -> np.ndarray:
        return A.diagonal()

    def set_diagonal(self, A: BitMatrix, value: Any) -> None:
        A.set_diagonal(value)

    def verb_workspace(self, verb: str, m: int, n: int, k: int) -> int:
        if verb == "step" or not m:
            return 0
        if verb == "closure":
            return bitclosure.closure_bytes(m)
        if not (n and k):
            return 0
        width = -(-n // 64)
        if verb == "left_mul":
            cut = words.cut_left(m, width, self.threads)
            return cut.workspace(-(-width // cut.words))
        cut = (words.cut_right if verb == "right_mul" else words.cut_product)(m, k, width, self.threads)
        return cut.workspace(-(-m // cut.rows) * (1 if verb == "right_mul" else -(-width // cut.words)))
