"""Memory and ⊕, ⊗, * on scalars, compiled from `Op.python`; kernels are written in these words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic, overload

from .kinds import Kind, semiring_of

#: Compiles a function that others call. Division by zero gives ∞ or NaN, as in NumPy, and never an exception.
kernel = njit(error_model="numpy")


@intrinsic
def load(typing: Any, kind: Any, address: Any) -> Any:
    """The entry at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        return context.unpack_value(builder, kind.scalar, pointer)

    return kind.scalar(kind, types.intp), codegen


@intrinsic
def store(typing: Any, kind: Any, address: Any, value: Any) -> Any:
    """Put an entry at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        context.pack_value(builder, kind.scalar, args[2], pointer)
        return context.get_dummy_value()

    return types.none(kind, types.intp, kind.scalar), codegen


@intrinsic
def _convert(typing: Any, kind: Any, value: Any) -> Any:
    """A value in the kind's dtype."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[1], value, kind.scalar)

    return kind.scalar(kind, value), codegen


def plus(kind: Any, a: Any, b: Any) -> Any:
    """a ⊕ b."""
    raise NotImplementedError("compiled code only")


def times(kind: Any, a: Any, b: Any) -> Any:
    """a ⊗ b."""
    raise NotImplementedError("compiled code only")


def star(kind: Any, a: Any) -> Any:
    """a* = 1 ⊕ a ⊕ a² ⊕ …; 1 ⊕ a where the semiring declares no other."""
    raise NotImplementedError("compiled code only")


def zero(kind: Any) -> Any:
    """The semiring's 0."""
    raise NotImplementedError("compiled code only")


def itemsize(kind: Any) -> Any:
    """Bytes of an entry, a constant in compiled code."""
    raise NotImplementedError("compiled code only")


@overload(itemsize, strict=False)
def _itemsize(kind: Any) -> Any:
    value = kind.itemsize
    return lambda kind: value


@overload(zero, strict=False)
def _zero(kind: Any) -> Any:
    value = kind.zero
    return lambda kind: _convert(kind, value)


@overload(plus, strict=False)
def _plus(kind: Any, a: Any, b: Any) -> Any:
    op = semiring_of(kind).add
    f = _saturated(kind, op) if op.saturating and isinstance(kind.scalar, types.Integer) else njit(op.python)
    return lambda kind, a, b: _convert(kind, f(a, b))


@overload(times, strict=False)
def _times(kind: Any, a: Any, b: Any) -> Any:
    op = semiring_of(kind).mul
    if not (op.saturating and isinstance(kind.scalar, types.Integer)):
        f = njit(op.python)
        return lambda kind, a, b: _convert(kind, f(a, b))
    g, nil = _saturated(kind, op), kind.zero

    def absorbing(kind: Any, a: Any, b: Any) -> Any:
        # 0 ⊗ x = 0 is no consequence of clamping: ∞ + (−5) must stay ∞.
        return _convert(kind, nil if a == nil or b == nil else g(a, b))

    return absorbing


@overload(star, strict=False)
def _star(kind: Any, a: Any) -> Any:
    declared = semiring_of(kind).star
    if declared is None:
        unit = kind.one
        return lambda kind, a: plus(kind, _convert(kind, unit), a)
    f = njit(declared.python)
    return lambda kind, a: _convert(kind, f(a))


def _saturated(kind: Kind, op: Any) -> Any:
    """The operation on integers, exact, then clamped to the dtype's range."""
    f = njit(op.python)
    low, high = (int(end) for end in (np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max))
    if kind.itemsize < 8:
        return njit(lambda a, b: min(max(f(np.int64(a), np.int64(b)), low), high))
    far = 2.0**63 * (1 + 2.0**-40)

    @njit
    def checked(a: Any, b: Any) -> Any:
        # The float is right but for rounding, the wrapped integer but for a multiple of 2⁶⁴: far outside the range
        # the float decides; near its ends, the sign of the wrapped integer, which then differs by one wrap at most.
        wrapped, about = f(np.int64(a), np.int64(b)), f(float(a), float(b))
        if about >= far or (about > 2.0**62 and wrapped < 0):
            return high
        if about <= -far or (about < -(2.0**62) and wrapped >= 0):
            return low
        return wrapped

    return checked
