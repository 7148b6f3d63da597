"""Equality and preference of entries of a kind, for candidates of predecessors.

Equality is exact if ⊗ is; if it rounds, within a slack of a few eps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ....host.types import Scalar
from ..instructions import Builder, Entry, Flag, Value, instruction
from ..intrinsics import part, zero
from ..kinds import Kind, semiring_of
from ..vectors import compare

#: Tolerance of entries of D, as a power of eps: relatively 2e-12 in float64, 6e-6 in float32.
SLACK = 0.75


def emit_better(builder: Builder, kind: Kind, a: Value, b: Value) -> Value:
    """Whether ⊕ strictly prefers a to b; scalars or vectors."""
    return compare(builder, kind, "<" if semiring_of(kind).add.selects == "least" else ">", a, b)


@instruction
def better(builder: Builder, kind: Kind, a: Entry, b: Entry) -> Flag:
    return emit_better(builder, kind, a, b)


def rounds(kind: Kind) -> bool:
    """Whether ⊗ rounds: on floats, unless it selects an operand."""
    return kind.record.floating and semiring_of(kind).mul.selects is None


@instruction
def inexact(builder: Builder, kind: Kind) -> Flag:
    return ir.Constant(ir.IntType(1), rounds(kind))


def emit_size(builder: Builder, x: Value) -> Value:
    none = ir.Constant(x.type, None)
    return builder.select(builder.fcmp_ordered("<", x, none), builder.fsub(none, x), x)


def emit_limit(builder: Builder, kind: Kind, d: Value, size: Value, slack: Value) -> Value:
    """d, worsened by slack · size and one subnormal if ⊗ rounds; scalars or vectors."""
    if not rounds(kind):
        return d
    digit = float(np.finfo(kind.dtype).smallest_subnormal)
    last = ir.Constant(d.type, [digit] * d.type.count if isinstance(d.type, ir.VectorType) else digit)
    away = builder.fadd(builder.fmul(slack, size), last)
    return (builder.fadd if semiring_of(kind).add.selects == "least" else builder.fsub)(d, away)


@instruction
def limit(builder: Builder, kind: Kind, d: Entry, scale: Entry, slack: Entry) -> Entry:
    """The worst entry equal to d: d itself if ⊗ is exact, else slack · |scale| and one subnormal worse."""
    return emit_limit(builder, kind, d, emit_size(builder, scale) if rounds(kind) else None, slack)


@part
def larger(kind: Kind, a: Any, b: Any) -> Any:
    """The operand of larger absolute value if ⊗ rounds, else b."""
    return a if inexact(kind) and abs(a) > abs(b) else b


@part
def tight(kind: Kind, a: Any, d: Any, slack: Scalar, floor: Scalar) -> bool:
    """Whether an edge of weight a is a best path of weight d."""
    present = (a != zero(kind)) & (d != zero(kind))  # branchless: unpredictable
    return present & (not better(kind, limit(kind, d, larger(kind, d, floor), slack), a))
