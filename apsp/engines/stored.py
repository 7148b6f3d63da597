"""A table on disk, of which windows are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from semiring.types import Array, Blocks

from .base import BLOCK, Engine


class Stored(Engine):
    """Distances in a tile store, in a Zarr array, or in whatever else gives NumPy arrays for slices.

    Parameters
    ----------
    matrix : array-like, shape (rows, columns)
        With `shape`, `dtype`, and `matrix[a:b, c:d]`.
    """

    name = "dense"

    stored = True

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.shape, self.dtype = tuple(matrix.shape), np.dtype(matrix.dtype)

    @property
    def storage(self) -> Any:
        """The store itself; what is distributed is gathered."""
        return self.matrix.gather() if hasattr(self.matrix, "gather") else self.matrix

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Read from the disk; those that follow one another together."""
        step = block or BLOCK
        for start in range(0, len(wanted), step):
            part = wanted[start : start + step]
            yield part, self._gathered(part, slice(0, self.shape[1]))

    def column(self, j: int) -> np.ndarray:
        """One column."""
        return self._read(slice(0, self.shape[0]), slice(j, j + 1))[:, 0]

    def entry(self, i: int, j: int) -> Any:
        """One entry."""
        return self._read(slice(i, i + 1), slice(j, j + 1))[0, 0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries of each row within the columns between the first and the last that are wanted of it."""
        out = np.empty(i.size, self.dtype)
        sources, targets = i.ravel(), j.ravel()
        order = np.lexsort((targets, sources))
        for here in np.split(order, np.flatnonzero(np.diff(sources[order])) + 1) if i.size else ():
            row, first, last = int(sources[here[0]]), int(targets[here[0]]), int(targets[here[-1]])
            line = self._read(slice(row, row + 1), slice(first, last + 1))[0]
            out[here] = line[targets[here] - first]
        return out.reshape(i.shape)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The rows, within the columns between the first and the last."""
        if not (len(i) and len(j)):
            return np.empty((len(i), len(j)), self.dtype)
        first, last = int(j.min()), int(j.max())
        return self._gathered(i, slice(first, last + 1))[:, j - first]

    def _gathered(self, wanted: np.ndarray, columns: slice) -> np.ndarray:
        """Rows in the order wanted."""
        if not len(wanted):
            return np.empty((0, columns.stop - columns.start), self.dtype)
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) != 1) + 1)
        parts = [self._read(slice(int(run[0]), int(run[-1]) + 1), columns) for run in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _read(self, rows: slice, columns: slice) -> np.ndarray:
        return np.asarray(self.matrix[rows, columns])
