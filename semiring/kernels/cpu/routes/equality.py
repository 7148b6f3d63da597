"""Equality and preference of entries of a kind, for candidates of predecessors.

Equality is exact if ⊗ is; if it rounds, within a slack of a few eps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..intrinsics import part, zero
from ..kinds import Kind, semiring_of
from ..vectors import compare

#: Tolerance of entries of D, as a power of eps: relatively 2e-12 in float64, 6e-6 in float32.
SLACK = 0.75


def emit_better(builder: Any, kind: Any, a: Any, b: Any) -> Any:
    """Whether ⊕ strictly prefers a to b; scalars or vectors."""
    return compare(builder, kind, "<" if semiring_of(kind).add.selects == "least" else ">", a, b)


@intrinsic
def better(typing: Any, kind: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_better(builder, kind, *args[1:])

    return types.boolean(kind, kind.scalar, kind.scalar), codegen


def rounds(kind: Kind) -> bool:
    """Whether ⊗ rounds: on floats, unless it selects an operand."""
    return kind.record.floating and semiring_of(kind).mul.selects is None


@intrinsic
def inexact(typing: Any, kind: Any) -> Any:
    return types.boolean(kind), lambda context, builder, signature, args: ir.Constant(ir.IntType(1), rounds(kind))


def emit_size(builder: Any, x: Any) -> Any:
    none = ir.Constant(x.type, None)
    return builder.select(builder.fcmp_ordered("<", x, none), builder.fsub(none, x), x)


def emit_limit(builder: Any, kind: Any, d: Any, size: Any, slack: Any) -> Any:
    """d, worsened by slack · size and one subnormal if ⊗ rounds; scalars or vectors."""
    if not rounds(kind):
        return d
    digit = float(np.finfo(kind.dtype).smallest_subnormal)
    last = ir.Constant(d.type, [digit] * d.type.count if isinstance(d.type, ir.VectorType) else digit)
    away = builder.fadd(builder.fmul(slack, size), last)
    return (builder.fadd if semiring_of(kind).add.selects == "least" else builder.fsub)(d, away)


@intrinsic
def limit(typing: Any, kind: Any, d: Any, scale: Any, slack: Any) -> Any:
    """The worst entry equal to d: d itself if ⊗ is exact, else slack · |scale| and one subnormal worse."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, d, scale, slack = args
        return emit_limit(builder, kind, d, emit_size(builder, scale) if rounds(kind) else None, slack)

    return kind.scalar(kind, kind.scalar, kind.scalar, kind.scalar), codegen


@part
def larger(kind: Any, a: Any, b: Any) -> Any:
    """The operand of larger absolute value if ⊗ rounds, else b."""
    return a if inexact(kind) and abs(a) > abs(b) else b


@part
def tight(kind: Any, a: Any, d: Any, slack: Any, floor: Any) -> bool:
    """Whether an edge of weight a is a best path of weight d."""
    present = (a != zero(kind)) & (d != zero(kind))  # branchless: unpredictable
    return present & (not better(kind, limit(kind, d, larger(kind, d, floor), slack), a))
