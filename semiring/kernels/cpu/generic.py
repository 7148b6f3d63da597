"""⊕, ⊗ and star for kinds without instructions of their own: numba functions built from `Op.python`.

Each function takes the kind first, like the intrinsics that it implements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit

from ...algebra.records import Op
from ...host.errors import DivergenceError, DTypeError, star_without_value
from .instructions import Builder, Value
from .kinds import Kind, semiring_of


@cache
def plus(kind: Kind) -> Callable[..., Any]:
    f = _operation(kind, semiring_of(kind).add)
    return lambda kind, a, b: f(a, b)


@cache
def times(kind: Kind) -> Callable[..., Any]:
    """(kind, a, b) ↦ a ⊗ b; saturating sums treat 0 explicitly: ∞ + (−5) must stay ∞."""
    op, nil = semiring_of(kind).mul, kind.zero
    f = _operation(kind, op)
    if not _saturates(kind, op):
        return lambda kind, a, b: f(a, b)
    return lambda kind, a, b: nil if a == nil or b == nil else f(a, b)


def emit(builder: Builder, kind: Kind, function: Callable[..., Any], a: Value, b: Value) -> Value:
    """A function of (kind, a, b) on vectors of one entry."""
    scalar, boolean = kind.scalar, kind.record.boolean
    x, y = (builder.extract_element(v, ir.IntType(32)(0)) for v in (a, b))
    if boolean:
        x, y = (builder.trunc(v, ir.IntType(1)) for v in (x, y))
    given = ir.Constant(ir.IntType(8).as_pointer(), None), x, y
    value = builder.compile_internal(function, scalar(kind, scalar, scalar), given)
    value = builder.zext(value, kind.llvm) if boolean else value
    return builder.insert_element(ir.Constant(a.type, ir.Undefined), value, ir.IntType(32)(0))


def declared_star(kind: Kind) -> Any:
    return semiring_of(kind).star


@cache
def star(kind: Kind) -> Callable[..., Any]:
    """(kind, a) ↦ a* as declared, or 1 ⊕ a."""
    declared = declared_star(kind)
    if declared is None:
        f, unit = _operation(kind, semiring_of(kind).add), kind.one
        return lambda kind, a: f(unit, a)
    g = _compiled(declared.python)
    if not kind.record.integer:
        return lambda kind, a: g(a)
    low, high = kind.record.low, kind.record.high
    message = star_without_value(semiring_of(kind).name, kind.dtype)

    def checked(kind: Kind, a: Any) -> Any:
        value = g(a)
        # Integers have no ∞ or NaN: what means "no limit" in floats raises here.
        if not (value - value == 0 and low <= value <= high and value == math.floor(value)):
            raise DivergenceError(message)
        return value

    return checked


def _compiled(function: Callable[..., Any]) -> Any:
    return njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def _saturates(kind: Kind, op: Op) -> bool:
    return op.saturating and kind.record.integer


def _operation(kind: Kind, op: Op) -> Any:
    """The operation; saturating integers are evaluated exactly, then clamped to the dtype's range."""
    f = _compiled(op.python)
    if not _saturates(kind, op):
        return f
    low, high = kind.record.low, kind.record.high
    if kind.itemsize < 8:
        return _compiled(lambda a, b: min(max(f(np.int64(a), np.int64(b)), low), high))
    if not kind.record.signed:
        raise DTypeError(f"bind: {kind.dtype} has no saturating {op.name} on the CPU. Take int64.")
    near, far = 2.0**62, 2.0**63 * (1 + 2.0**-40)

    def checked(a: Any, b: Any) -> Any:
        # The float is right but for rounding, the wrapped integer modulo 2⁶⁴: far outside the range the float decides;
        # near its ends, the sign of the wrapped integer, which is off by at most one wrap.
        wrapped, about = f(np.int64(a), np.int64(b)), f(float(a), float(b))
        if about >= far or (about > near and wrapped < 0):
            return high
        if about <= -far or (about < -near and wrapped >= 0):
            return low
        return wrapped

    return _compiled(checked)
