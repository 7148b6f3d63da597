"""A backend of uncompiled loops: it lets the schedules be tested apart from every kernel."""

from __future__ import annotations

from typing import Any

import cases
import numpy as np


class Reference:
    """The verbs of `semiring.backend.Backend`, each as the oracle's loops."""

    device, pivot, grain = "cpu", 4, 1

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

    def synchronize(self) -> None:
        pass
