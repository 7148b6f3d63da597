"""Repeated squaring: (I ⊕ A)^(2^r) holds the best walks of up to 2^r edges (Aho, Hopcroft, Ullman 1974, section 5.9).

log₂ n times the work of elimination, and a second matrix, but every product is as large as A: a reference for schedules
where products are by far the fastest verb.
"""

from __future__ import annotations

from semiring.algebra.records import Semiring
from semiring.host.types import Array
from semiring.kernels.backend import Backend

from .base import Schedule


def closure(A: Array, ops: Backend, *, block: int) -> None:
    """A ← (I ⊕ A)^(2^r) with 2^r ≥ n, so that cycles through all vertices show; `block` is ignored."""
    ops.add_one(A)  # A ← I ⊕ A
    B = ops.empty(A.shape)
    for _ in range(_rounds(len(A))):
        ops.copy(B, A)
        ops.gemm(A, B, B)  # A ← A ⊕ A²


def _rounds(n: int) -> int:
    return max(n - 1, 0).bit_length()


def _refuses(semiring: Semiring) -> str:
    if semiring.idempotent:
        return ""
    return "⊕ must be idempotent (a ⊕ a = a), as squaring adds the same walks again in every round"


SCHEDULE = Schedule(
    closure, "repeated squaring of I ⊕ A, one product a round", pairs=lambda n: n**3 * _rounds(n),
    verb_bytes=lambda n, ops, *, block: ops.verb_workspace("gemm", n, n, n), matrices=1,
    refuses=_refuses, blocked=False,
)  # fmt: skip
