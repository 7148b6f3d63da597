"""A backend of uncompiled loops: it lets the schedules be tested apart from every kernel."""

from __future__ import annotations

from typing import Any

import cases
import numpy as np

from semiring.kernels.backend import Backend


class Reference(Backend):
    """The verbs of `semiring.kernels.backend.Backend`, each as the oracle's loops."""

    device, pivot = "cpu", 4

    def __init__(self, case: cases.Case, cutover: int = 4) -> None:
        self.case, self.cutover = case, cutover
        self.semiring, self.dtype = case.semiring, case.dtype

    def gemm(self, C: Any, A: Any, B: Any) -> None:
        C[...] = cases.product(self.case, A, B, C)

    def left_mul(self, D: Any, R: Any) -> None:
        R[...] = cases.product(self.case, D, R)

    def right_mul(self, C: Any, D: Any) -> None:
        C[...] = cases.product(self.case, C, D)

    def closure(self, D: Any) -> None:
        D[...] = cases.closure(self.case, D)

    def step(self, A: Any, k: int) -> None:
        others = np.arange(len(A)) != k
        self.closure(A[k : k + 1, k : k + 1])
        D = A[k : k + 1, k : k + 1].copy()
        row = cases.product(self.case, D, A[k : k + 1, others])
        A[np.ix_(others, others)] = cases.product(self.case, A[others, k : k + 1], row, A[np.ix_(others, others)])
        A[others, k : k + 1] = cases.product(self.case, A[others, k : k + 1], D)
        A[k : k + 1, others] = row

    def empty(self, shape: tuple[int, ...]) -> Any:
        return np.full(shape, self.case.one)  # what a schedule does not write, it must not read

    def clear(self, C: Any) -> None:
        C[...] = self.case.zero

    def copy(self, B: Any, A: Any) -> None:
        B[...] = A

    def upload(self, array: Any, *, copy: bool = True) -> Any:
        return array.copy() if copy else array

    def download(self, matrix: Any, out: Any = None) -> Any:
        return matrix

    def diagonal(self, A: Any) -> np.ndarray:
        return A.diagonal().copy()

    def set_diagonal(self, A: Any, value: Any) -> None:
        np.fill_diagonal(A, value)

    def workspace(self, n: int) -> int:
        return 0
