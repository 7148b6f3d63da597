"""One step per vertex: the textbook Floyd–Warshall (Floyd 1962, Algorithm 97; Warshall 1962)."""

from __future__ import annotations

from semiring.host.types import Array
from semiring.kernels.backend import Backend

from .base import Schedule


def closure(A: Array, ops: Backend, *, block: int) -> None:
    """A ← A*, by A ← A ⊕ A[:,k] ⊗ A[k,k]* ⊗ A[k,:] for every k; `block` is ignored."""
    for k in range(len(A)):
        ops.step(A, k)


def _verb_bytes(n: int, ops: Backend, *, block: int) -> int:
    return ops.verb_workspace("step", n, n, 1)


SCHEDULE = Schedule(closure, "Floyd–Warshall one vertex at a time", verb_bytes=_verb_bytes, blocked=False)
