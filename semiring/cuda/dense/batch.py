"""The verbs on many small matrices at once: each a launch, with a row of thread blocks for every matrix."""

from __future__ import annotations

from dataclasses import dataclass

from ...types import Array
from . import tiles
from .launches import Launches
from .matrix import Matrix


@dataclass(frozen=True)
class Batch:
    """The verbs of a backend on views of shape (rows, columns, batch), as a schedule cuts them from the entire batch.

    All views must come from one array whose rows are contiguous; block sizes must not exceed that of a pivot block.
    """

    ops: Launches

    def closure(self, D: Array) -> None:
        """D ← D*, a thread block a matrix."""
        self.ops.close_pivots(len_batch(D), self._matrix(D), batch_stride(D))

    def left_mul(self, D: Array, R: Array) -> None:
        """R ← D ⊗ R, in place: a thread block writes the columns that it alone has read."""
        self._in_place("rows", R, D, R)

    def right_mul(self, C: Array, D: Array) -> None:
        """C ← C ⊗ D."""
        self._in_place("columns", C, C, D)

    def gemm(self, C: Array, A: Array, B: Array) -> None:
        """C ← C ⊕ A ⊗ B."""
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
    """How many matrices a view has."""
    return int(X.shape[2])


def batch_stride(X: Array) -> int:
    """Elements from one matrix of a view to the next."""
    return int(X.strides[2]) // int(X.itemsize)
