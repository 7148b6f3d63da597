"""A reference backend whose matrices are cut into 2 × 2 parts, as those of several processes are.

No part is ever seen together with another but by a copy, as if it lay in another process. A schedule that runs here
unchanged uses verbs and slices alone.
"""

from __future__ import annotations

from typing import Any

import cases
import numpy as np
from reference import Reference

from semiring.kernels.backend import Backend


class Parts:
    """A matrix, or a window of one, over parts: the part (p, q) holds rows `rows[p]` and columns `cols[q]`."""

    def __init__(self, parts: list[list[np.ndarray]]) -> None:
        self.parts = parts
        self.heights = [row[0].shape[0] for row in parts]
        self.widths = [part.shape[1] for part in parts[0]]
        self.shape = sum(self.heights), sum(self.widths)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[slice, slice]) -> Parts:
        rows, cols = (cuts(*s.indices(n), sizes) for s, n, sizes in zip(key, self.shape, self.sizes, strict=True))
        return Parts(
            [[part[r, c] for part, c in zip(row, cols, strict=True)] for row, r in zip(self.parts, rows, strict=True)]
        )

    @property
    def sizes(self) -> tuple[list[int], list[int]]:
        return self.heights, self.widths

    def gathered(self) -> np.ndarray:
        """A copy in one piece."""
        return np.block(self.parts)

    def scatter(self, whole: np.ndarray) -> None:
        """Parts ← their pieces of a whole."""
        rows, cols = (np.split(np.arange(n), np.cumsum(s)[:-1]) for n, s in zip(self.shape, self.sizes, strict=True))
        for row, r in zip(self.parts, rows, strict=True):
            for part, c in zip(row, cols, strict=True):
                part[...] = whole[np.ix_(r, c)]


def cuts(start: int, stop: int, step: int, sizes: list[int]) -> list[slice]:
    """A range of global indices as one of each part's own."""
    assert step == 1
    firsts = np.cumsum([0, *sizes])[:-1].tolist()
    ends = [(min(max(start - f, 0), n), min(max(stop - f, 0), n)) for f, n in zip(firsts, sizes, strict=True)]
    return [slice(low, max(low, high)) for low, high in ends]


class PartsBackend(Backend):
    """The verbs on `Parts`: products part by part, small matrices gathered, computed and scattered."""

    device, pivot, cutover = "cpu", 4, 4

    def __init__(self, case: cases.Case) -> None:
        self.semiring, self.dtype, self._one = case.semiring, case.dtype, Reference(case)

    def gemm(self, C: Parts, A: Parts, B: Parts) -> None:
        assert A.widths == B.heights
        for i, row in enumerate(C.parts):
            for j, target in enumerate(row):
                for k in range(len(A.widths)):
                    self._one.gemm(target, A.parts[i][k].copy(), B.parts[k][j].copy())

    def left_mul(self, D: Parts, R: Parts) -> None:
        old = self._moved(R)
        self.gemm(R, D, old)

    def right_mul(self, C: Parts, D: Parts) -> None:
        old = self._moved(C)
        self.gemm(C, old, D)

    def _moved(self, X: Parts) -> Parts:
        """A copy of X, whose own entries become zero."""
        old = Parts([[part.copy() for part in row] for row in X.parts])
        for row in X.parts:
            for part in row:
                part[...] = self._one.case.zero
        return old

    def closure(self, D: Parts) -> None:
        whole = D.gathered()
        self._one.closure(whole)
        D.scatter(whole)

    def step(self, A: Parts, k: int) -> None:
        whole = A.gathered()
        self._one.step(whole, k)
        A.scatter(whole)

    def empty(self, shape: tuple[int, ...]) -> Parts:
        return self.upload(np.full(shape, self._one.case.one))

    def clear(self, C: Parts) -> None:
        for row in C.parts:
            for part in row:
                part[...] = self._one.case.zero

    def copy(self, B: Parts, A: Parts) -> None:
        B.scatter(A.gathered())

    def upload(self, array: np.ndarray, *, copy: bool = True) -> Parts:
        m, n = (-(-2 * size // 3) for size in array.shape)  # parts of unequal size
        return Parts([[rows[:, :n].copy(), rows[:, n:].copy()] for rows in (array[:m], array[m:])])

    def download(self, matrix: Parts, out: Any = None) -> np.ndarray:
        return matrix.gathered()

    def diagonal(self, A: Parts) -> np.ndarray:
        return A.gathered().diagonal().copy()

    def set_diagonal(self, A: Parts, value: Any) -> None:
        whole = A.gathered()
        np.fill_diagonal(whole, value)
        A.scatter(whole)

    def workspace(self, n: int) -> int:
        return 0
