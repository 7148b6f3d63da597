"""log(eᵃ + eᵇ) on vectors, without calls into a library: two polynomials and a division."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir


class _Format(NamedTuple):
    """What a float format requires: its fields, where e^x vanishes next to 1, and how long the series must be."""

    bits: int
    mantissa: int
    bias: int
    smallest: float
    exponential: int
    logarithm: int


# Series are cut where the next term is below half a unit in the last place: 0.347ᵏ / k! and 9⁻ᵏ / (2k + 1).
_SINGLE = _Format(32, 23, 127, -87.0, 8, 8)
_DOUBLE = _Format(64, 52, 1023, -708.0, 14, 17)


def logaddexp(builder: Any, x: Any, y: Any) -> Any:
    """max(x, y) + log(1 + e^−|x − y|), with −∞ and +∞ as limits, within a few units in the last place."""
    element = x.type.element if isinstance(x.type, ir.VectorType) else x.type
    form = _SINGLE if isinstance(element, ir.FloatType) else _DOUBLE
    integer: Any = ir.IntType(form.bits)
    if isinstance(x.type, ir.VectorType):
        integer = ir.VectorType(integer, x.type.count)

    def constant(value: Any, type: Any = x.type) -> Any:
        return ir.Constant(type, [value] * type.count if isinstance(type, ir.VectorType) else value)

    def fused(a: Any, b: Any, c: Any) -> Any:
        suffix = f"f{form.bits}"
        if isinstance(x.type, ir.VectorType):
            suffix = f"v{x.type.count}{suffix}"
        name = f"llvm.fmuladd.{suffix}"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(x.type, [x.type] * 3), name
        )
        return builder.call(function, [a, b, c])

    def series(t: Any, coefficients: list[float]) -> Any:
        """c₀ + c₁ t + c₂ t² + … by Horner's rule."""
        total = constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = fused(total, t, constant(c))
        return total

    less = builder.fcmp_ordered("<", x, y)
    low, high = builder.select(less, x, y), builder.select(less, y, x)
    d = builder.fsub(low, high)  # ≤ 0, or NaN where both are the same infinity
    # e^d = 2ⁿ e^r with n the integer nearest to d / ln 2. Adding 1.5 · 2^mantissa rounds, and leaves n in the low bits.
    magic = constant(1.5 * 2.0**form.mantissa)
    shifted = fused(d, constant(1 / math.log(2)), magic)
    n = builder.fsub(shifted, magic)
    coarse = math.ldexp(round(math.ldexp(math.log(2), 14)), -14)  # so short that n · coarse is exact
    r = fused(n, constant(-coarse), d)
    r = fused(n, constant(coarse - math.log(2)), r)
    power = builder.bitcast(
        builder.shl(builder.add(builder.bitcast(shifted, integer), constant(form.bias, integer)),
                    constant(form.mantissa, integer)), x.type
    )  # fmt: skip
    e = builder.fmul(series(r, [1 / math.factorial(k) for k in range(form.exponential)]), power)
    # Too far apart, or NaN: the greater is the result.
    e = builder.select(builder.fcmp_unordered("<", d, constant(form.smallest)), constant(0.0), e)
    # log(1 + e) = 2 atanh(s) with s = e / (2 + e) ≤ 1/3.
    s = builder.fdiv(e, builder.fadd(constant(2.0), e))
    atanh = series(builder.fmul(s, s), [2 / (2 * k + 1) for k in range(form.logarithm)])
    return fused(s, atanh, high)
