"""The verbs on many small matrices at once: one launch each, with a row of thread blocks per matrix."""

from __future__ import annotations

from dataclasses import dataclass

from ....host.types import Array
from . import tiles
from .launches import Launches
from .matrix import Matrix


@dataclass(frozen=True)
class Batch:
    """The verbs on views of shape (rows, columns, batch), cut by a schedule from an entire batch.

    All views must come from one array with contiguous rows; block sizes must not exceed a pivot block's.
    """

    ops: Launches

    def closure(self, D: Array) -> None:
        self.ops.close_pivots(len_batch(D), self._matrix(D), batch_stride(D))

    def left_mul(self, D: Array, R: Array) -> None:
        """R ← D ⊗ R, in place: a thread block overwrites only its own operand."""
        self._in_place("rows", R, D, R)

    def right_mul(self, C: Array, D: Array) -> None:
        self._in_place("columns", C, C, D)

    def gemm(self, C: Array, A: Array, B: Array) -> None:
        c, a, b = (self._matrix(X) for X in (C, A, B))
        tile = tiles.choose(self.ops.tile_table, c.rows * len_batch(C), c.columns, a.columns, self.ops.multiprocessors)
        self.ops.multiply(tile, c, a, b, accumulate=True, batch=(len_batch(C), *(batch_stride(C),) * 3))

    def _in_place(self, side: str, C: Array, A: Array, B: Array) -> None:
        c, a, b = (self._matrix(X) for X in (C, A, B))
        count = len_batch(C)
        all_of_them = (c.rows, c.columns * count) if side == "rows" else (c.rows * count, c.columns)
        tile = tiles.spanning(self.ops.tile_table, side, *all_of_them, self.ops.multiprocessors)
        assert tile is not None, "a table has tiles that span a pivot block"
        self.ops.multiply(tile, c, a, b, accumulate=False, batch=(count, *(batch_stride(C),) * 3))

    @staticmethod
    def _matrix(X: Array) -> Matrix:
        return Matrix(X.data.ptr, X.strides[0] // X.itemsize, *X.shape[:2])


def len_batch(X: Array) -> int:
    return int(X.shape[2])


def batch_stride(X: Array) -> int:
    """Stride between matrices of a view, in elements."""
    return int(X.strides[2]) // int(X.itemsize)
