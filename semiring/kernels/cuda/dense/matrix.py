"""Matrix views for kernels: address, leading dimension, sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....host.types import Array


class Matrix(NamedTuple):
    """A row-contiguous matrix for kernels: address, leading dimension in elements, sizes, owner of the memory."""

    address: int
    ld: int
    rows: int
    columns: int
    owner: Any = None


def view(X: Array) -> Matrix | None:
    """X for kernels; None if its rows are strided or overlap."""
    (rows, columns), size = X.shape, X.itemsize
    down, across = X.strides
    if X.size and columns > 1 and across != size:
        return None
    if rows <= 1 or not X.size:
        return Matrix(*contiguous(X))
    if down % size or down < columns * size:
        return None
    return Matrix(X.data.ptr, down // size, rows, columns)


def contiguous(X: Array) -> tuple[int, int, int, int]:
    rows, columns = X.shape
    return X.data.ptr, columns, rows, columns


def aligned(B: Matrix, itemsize: int) -> bool:
    """Whether rows of B are 16-byte aligned, and the last may be read to the end of its 16 bytes."""
    return not (B.address % 16 or B.ld * itemsize % 16)


def rows(X: Matrix, start: int, stop: int, itemsize: int) -> Matrix:
    return Matrix(X.address + start * X.ld * itemsize, X.ld, stop - start, X.columns)


def columns(X: Matrix, start: int, stop: int, itemsize: int) -> Matrix:
    return Matrix(X.address + start * itemsize, X.ld, X.rows, stop - start)


def evenly(across: int, count: int, unit: int) -> int:
    """Strip width for `count` strips: a multiple of `unit`, except the last."""
    return min(across, -(-across // (count * unit)) * unit)
