"""Tensors that require gradients and arrays that are traced: which they are, and which closure they take."""

from __future__ import annotations

from typing import Any

from semiring.algebra import Semiring
from semiring.gradients import asked_by

from ..reading.options import BY_RULE, NullValue


def is_differentiated(A: Any) -> bool:
    """Whether A is a tensor of PyTorch that requires gradients, or an array that JAX traces; see `asked_by`."""
    return (hasattr(A, "requires_grad") or hasattr(A, "aval")) and bool(asked_by(A))


def differentiable(
    A: Any,
    semiring: str | Semiring,
    *,
    schedule: str,
    block: int | None,
    threads: int | None,
    ties: str,
    steps: bool,
    null_value: NullValue,
    **others: Any,
) -> Any:
    """`apsp.closure` of what `is_differentiated`, with a gradient.

    Raises
    ------
    ValueError
        If the other options are not as they are by default.
    """
    if steps:
        raise ValueError(
            "closure: steps=True must have a matrix without gradients, got a tensor that requires them. Pass "
            "A.detach(), or jax.lax.stop_gradient(A) outside of transformations."
        )
    if asked_by(A) == "torch":
        from .tensors import closure
    else:
        from .tracers import closure
    others["null_value"] = None if null_value is BY_RULE else null_value
    return closure(A, semiring, ties, null_value is None, schedule, block, threads, **others)
