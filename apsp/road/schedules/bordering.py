"""Bordering (left-looking): the closure of the leading vertices grows by one pivot block at a time.

Right-looking schedules update the whole trailing matrix after every pivot block; this leaves later blocks untouched
(Golub and Van Loan 2013, "Matrix Computations", section 3.2.9, on left-looking LU).
"""

from __future__ import annotations

from semiring.host.types import Array
from semiring.kernels.backend import Backend

from .base import Schedule
from .blocks import pivots, quadrants


def closure(A: Array, ops: Backend, *, block: int) -> None:
    """A ← A*: with A11 = A11* so far, close the next border A12, A21, A22 and unite it with A11."""
    for k in pivots(len(A), block):
        A11, A12, A21, A22 = quadrants(A[: k.stop, : k.stop], k.start)
        if k.start:
            ops.eliminate(A11, A12, A21, A22)  # A12 ← A11 A12, A22 ← A22 ⊕ A21 A12, A21 ← A21 A11
        ops.closure(A22)  # A22 ← A22*
        if k.start:
            ops.eliminate(A22, A21, A12, A11)  # A21 ← A22 A21, A11 ← A11 ⊕ A12 A21, A12 ← A12 A22


def _verb_bytes(n: int, ops: Backend, *, block: int) -> int:
    """The largest workspace of a border; not always the last one's, due to cutting into strips."""
    most = ops.verb_workspace("closure", min(n, block), 0, 0)
    for k in list(pivots(n, block))[-64:]:
        b = k.stop - k.start
        most = max(most, ops.elimination_workspace(k.start, b), ops.elimination_workspace(b, k.start))
    return most


SCHEDULE = Schedule(
    closure, "left-looking: the closure of the first vertices grows by a border", verb_bytes=_verb_bytes
)
