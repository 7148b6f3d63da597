"""Detection of differentiable arrays (PyTorch, JAX), and their closure."""

from __future__ import annotations

from typing import Any

from semiring.algebra.records import Semiring
from semiring.host.types import Array
from semiring.kernels.backend import threads_of
from semiring.tensors.gradients import asked_by

from ...io.reading.options import BY_RULE, NullValue
from ...road import schedules
from ...road.plans import require_block


def is_differentiated(A: Array) -> bool:
    """Whether A is a PyTorch tensor that requires gradients, or traced by JAX; see `asked_by`."""
    return (hasattr(A, "requires_grad") or hasattr(A, "aval")) and bool(asked_by(A))


def differentiable(
    A: Array, semiring: str | Semiring, *, schedule: str, block: int | None, threads: int | None, ties: str,
    steps: bool, null_value: NullValue, **others: Any,
) -> Array:  # fmt: skip
    """`apsp.closure` with a gradient; ValueError for options other than these."""
    if steps:
        raise ValueError(
            "closure: steps=True must have a matrix without gradients, got a tensor that requires them. Pass "
            "A.detach(), or jax.lax.stop_gradient(A) outside of transformations."
        )
    require_block(block)
    if not isinstance(schedule, str):  # of names the operator's work begins with that
        schedules.get(schedule)
    if threads is not None:
        threads_of(threads, "closure")
    if asked_by(A) == "torch":
        from .tensors import closure
    else:
        from .tracers import closure
    others["null_value"] = None if null_value is BY_RULE else null_value
    return closure(A, semiring, ties, null_value is None, schedule, block, threads, **others)
