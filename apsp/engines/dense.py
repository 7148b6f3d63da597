"""A table that is there, on the host or on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semiring.devices import module, there

from .base import BLOCK, Engine, host


class Dense(Engine):
    """A matrix of distances, NumPy or CuPy.

    Parameters
    ----------
    matrix : array, shape (rows, columns)
    """

    name = "dense"

    held = stored = True

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """As they lie in the matrix; on its device."""
        for start in range(0, len(wanted), block or BLOCK):
            part = wanted[start : start + (block or BLOCK)]
            first, last = int(part[0]), int(part[-1])
            together = last - first + 1 == len(part) and bool((np.diff(part) == 1).all())
            yield part, self.matrix[first : last + 1] if together else self._gathered(part)

    def column(self, j: int) -> np.ndarray:
        """One column."""
        return host(self.matrix[:, j])

    def row(self, i: int) -> np.ndarray:
        """One row."""
        return host(self.matrix[i])

    def entry(self, i: int, j: int) -> Any:
        """As it stands in the matrix."""
        return self.matrix[i, j]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Gathered where the matrix lies."""
        return host(self._gathered(i, j))

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Gathered where the matrix lies."""
        return host(self._gathered(i[:, None], j))

    def _gathered(self, *index: np.ndarray) -> Any:
        xp = module(self.matrix)
        with there(self.matrix):  # the index lies beside it
            return self.matrix[tuple(xp.asarray(i) for i in index)]

    def panels(self, *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """Views of the matrix."""
        D = self.matrix if columns else self.matrix.T
        for start in range(0, D.shape[1], BLOCK):
            part = D[:, start : start + BLOCK]
            yield np.arange(start, start + part.shape[1]), part

    def table(self) -> Any:
        """The matrix itself."""
        return self.matrix
