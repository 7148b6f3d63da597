"""The words of partitioning. Pure slices: nothing is copied, and every block is a view of the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semiring.types import Array


def pivots(n: int, block: int, begun: int = 0) -> Iterator[slice]:
    """The diagonal's pivot ranges from `begun` on, in order; the last may be ragged."""
    for start in range(begun, n, block):
        yield slice(start, min(start + block, n))


def around(n: int, pivot: slice) -> list[slice]:
    """What lies before and after a pivot range; empty sides are left out."""
    sides = (slice(0, pivot.start), slice(pivot.stop, n))
    return [side for side in sides if side.start < side.stop]


def half(n: int, block: int) -> int:
    """Where to halve n vertices so that the first part is complete blocks."""
    return -(-n // (2 * block)) * block


def quadrants(A: Array, h: int) -> tuple[Any, Any, Any, Any]:
    """A11, A12, A21, A22 of a matrix cut before row and column h."""
    return A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
