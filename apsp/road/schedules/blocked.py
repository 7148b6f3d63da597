"""Floyd–Warshall on blocks, in three phases a pivot (Venkataraman, Sahni, Mukhopadhyaya 2003, section 3).

The order is row panel, trailing update, column panel: with both panels first, the trailing update would meet D* twice,
wrong unless ⊕ is idempotent.
"""

from __future__ import annotations

from semiring.host.types import Array
from semiring.kernels.backend import Backend

from .base import Schedule
from .blocks import around, pivots


def closure(A: Array, ops: Backend, *, block: int) -> None:
    """A ← A*, one pivot block D = A[k,k] after the other."""
    n = len(A)
    for k in pivots(n, block):
        D, others = A[k, k], around(n, k)
        ops.closure(D)  # D ← D*
        for j in others:
            ops.left_mul(D, A[k, j])  # R ← D R
        for i in others:
            for j in others:
                ops.gemm(A[i, j], A[i, k], A[k, j])  # trailing ← trailing ⊕ C R
        for i in others:
            ops.right_mul(A[i, k], D)  # C ← C D


def verb_bytes(n: int, ops: Backend, *, block: int) -> int:
    """The largest workspace of a pivot's phases, over the sizes before and after it.

    Product workspace grows only until strips are cut, so smaller sizes are tried too, up to 64 blocks.
    """
    most = ops.verb_workspace("closure", min(n, block), 0, 0)
    for k in pivots(min(n, 64 * block), block):
        for side in {k.start, n - k.stop} - {0}:
            most = max(most, ops.elimination_workspace(k.stop - k.start, side))
    return most


SCHEDULE = Schedule(closure, "Floyd–Warshall on blocks, three phases a pivot block", verb_bytes=verb_bytes)
