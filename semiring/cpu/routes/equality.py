"""What counts as equal, and what as better, among entries of a kind: in lists of candidates for predecessors.

Where ⊗ is exact, entries are equal if they are; where it rounds, within a slack of a few eps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..intrinsics import part, zero
from ..kinds import Kind, semiring_of

#: How much an entry of D may be off, as a power of the rounding error of one operation: relative to the entry, 2e-12 in
#: float64 and 6e-6 in float32.
SLACK = 0.75


def emit_better(builder: Any, kind: Any, a: Any, b: Any) -> Any:
    """Whether ⊕ selects a of a and b, and they differ: on scalars or vectors."""
    relation = "<" if semiring_of(kind).add.selects == "least" else ">"
    compare = builder.fcmp_ordered if kind.dtype.startswith("float") else builder.icmp_signed
    return (builder.icmp_unsigned if kind.dtype == "bool" else compare)(relation, a, b)


@intrinsic
def better(typing: Any, kind: Any, a: Any, b: Any) -> Any:
    """Whether ⊕ selects a of a and b, and they differ."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_better(builder, kind, *args[1:])

    return types.boolean(kind, kind.scalar, kind.scalar), codegen


def rounds(kind: Kind) -> bool:
    """Whether ⊗ rounds: on floats, unless it selects one of its operands."""
    return kind.dtype.startswith("float") and semiring_of(kind).mul.selects is None


@intrinsic
def inexact(typing: Any, kind: Any) -> Any:
    """`rounds`, as a constant."""
    return types.boolean(kind), lambda context, builder, signature, args: ir.Constant(ir.IntType(1), rounds(kind))


def emit_size(builder: Any, x: Any) -> Any:
    """|x| of floats, scalars or vectors."""
    none = ir.Constant(x.type, None)
    return builder.select(builder.fcmp_ordered("<", x, none), builder.fsub(none, x), x)


def emit_limit(builder: Any, kind: Any, d: Any, size: Any, slack: Any) -> Any:
    """d, where ⊗ rounds worse by slack · size and a last digit: on scalars or vectors."""
    if not rounds(kind):
        return d
    digit = float(np.finfo(kind.dtype).smallest_subnormal)
    last = ir.Constant(d.type, [digit] * d.type.count if isinstance(d.type, ir.VectorType) else digit)
    away = builder.fadd(builder.fmul(slack, size), last)
    return (builder.fadd if semiring_of(kind).add.selects == "least" else builder.fsub)(d, away)


@intrinsic
def limit(typing: Any, kind: Any, d: Any, scale: Any, slack: Any) -> Any:
    """The worst entry that counts as d: d itself where ⊗ is exact, else slack · |scale| and a last digit away."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, d, scale, slack = args
        return emit_limit(builder, kind, d, emit_size(builder, scale) if rounds(kind) else None, slack)

    return kind.scalar(kind, kind.scalar, kind.scalar, kind.scalar), codegen


@part
def larger(kind: Any, a: Any, b: Any) -> Any:
    """The one of larger absolute value, where ⊗ rounds."""
    return a if inexact(kind) and abs(a) > abs(b) else b


@part
def tight(kind: Any, a: Any, d: Any, slack: Any, floor: Any) -> bool:
    """Whether an edge of weight a is a best path of weight d."""
    present = (a != zero(kind)) & (d != zero(kind))  # without branches, which could not be predicted
    return present & (not better(kind, limit(kind, d, larger(kind, d, floor), slack), a))
