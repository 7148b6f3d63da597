"""A distributed matrix read by rank 0, which requests windows; the other processes send their pieces."""

from __future__ import annotations

import numpy as np

from semiring.algebra.ranges import sliced

from .matrix import DistributedMatrix


class Served:
    """A distributed matrix in rank 0's process, by `shape`, `dtype` and `[a:b, c:d]`; other processes run `serve`."""

    def __init__(self, matrix: DistributedMatrix) -> None:
        self._matrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        rows, columns = (sliced(k, n, where="DistributedMatrix") for k, n in zip(key, self.shape, strict=True))
        self._matrix.world.allgather([(rows.start, rows.stop, columns.start, columns.stop)])
        return self._matrix.window(rows, columns, everywhere=False)

    def close(self) -> None:
        self._matrix.world.allgather([None])


def serve(matrix: DistributedMatrix) -> None:
    """Send rank 0 the pieces of requested windows, until `Served.close`."""
    while window := matrix.world.allgather([None])[0]:
        a, b, c, d = window
        matrix.window(slice(a, b), slice(c, d), everywhere=False)
