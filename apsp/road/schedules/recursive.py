"""R-Kleene: the closure of a matrix from the closures of its two diagonal quadrants, in place.

Sources: D'Alberto and Nicolau 2007, "R-Kleene: a high-performance divide-and-conquer algorithm for the all-pair
shortest path for densely connected networks", section 3; Buluç, Gilbert and Budak 2010, "Solving path problems on the
GPU", section 3.1. The host recurses, the backend multiplies. The order of products counts every intermediate path once:
right in every closed semiring, not only where a ⊕ a = a.
"""

from __future__ import annotations

from semiring.host.types import Array
from semiring.kernels.backend import Backend

from . import blocked
from .base import Schedule
from .blocks import half, quadrants


def closure(A: Array, ops: Backend, *, block: int, mirrored: bool | None = None) -> None:
    """A ← A*: halve while large, then the blocked schedule.

    A backend's `cutover` is the size below which recursion has too little work for a GPU; at `cutover` = `pivot` the
    blocked schedule is one call of the pivot kernel. `mirrored`: A is symmetric, so A12 = A21ᵀ throughout, and a
    backend may compute half of the products.
    """
    n = len(A)
    if n > max(block, ops.cutover):
        if mirrored is None:
            mirrored = 0 < ops.mirrors <= n and ops.mirrored(A)
        eliminate = ops.eliminate_mirrored if mirrored else ops.eliminate
        A11, A12, A21, A22 = quadrants(A, half(n, block))
        closure(A11, ops, block=block, mirrored=mirrored)  # A11 ← A11*
        eliminate(A11, A12, A21, A22)  # A12 ← A11 A12, A22 ← A22 ⊕ A21 A12, A21 ← A21 A11
        closure(A22, ops, block=block, mirrored=mirrored)  # A22 ← A22*
        eliminate(A22, A21, A12, A11)  # A21 ← A22 A21, A11 ← A11 ⊕ A12 A21, A12 ← A12 A22
        return
    if n <= block:
        ops.closure(A)
    else:
        blocked.closure(A, ops, block=block)
    if mirrored:  # sums beyond the diagonal round in another order
        ops.mirror(A)


def verb_bytes(n: int, ops: Backend, *, block: int) -> int:
    """The largest workspace of a level of the recursion."""
    most, sizes = 0, {n}
    while sizes:
        halved = set()
        for size in sizes:
            if size <= max(block, ops.cutover):
                most = max(most, blocked.verb_bytes(size, ops, block=block))
                continue
            h = half(size, block)
            rest = size - h
            most = max(most, ops.elimination_workspace(h, rest), ops.elimination_workspace(rest, h))
            halved |= {h, rest}
        sizes = halved
    return most


SCHEDULE = Schedule(closure, "R-Kleene: halves recursively, the blocked schedule finishes", verb_bytes=verb_bytes)
