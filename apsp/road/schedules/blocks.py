"""Partitioning by slices: nothing is copied, every block is a view."""

from __future__ import annotations

from collections.abc import Iterator

from semiring.host.types import Array


def pivots(n: int, block: int, begun: int = 0) -> Iterator[slice]:
    """Pivot ranges of the diagonal from `begun` on; the last may be shorter."""
    for start in range(begun, n, block):
        yield slice(start, min(start + block, n))


def around(n: int, pivot: slice) -> list[slice]:
    """The non-empty ranges before and after a pivot range."""
    sides = (slice(0, pivot.start), slice(pivot.stop, n))
    return [side for side in sides if side.start < side.stop]


def half(n: int, block: int) -> int:
    """Where to halve n vertices so that the first part is complete blocks."""
    return -(-n // (2 * block)) * block


def quadrants(A: Array, h: int) -> tuple[Array, Array, Array, Array]:
    """A11, A12, A21, A22 of a matrix cut before row and column h."""
    return A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
