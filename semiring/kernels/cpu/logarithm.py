"""Vectorised exponential, logarithm and log(eᵃ + eᵇ), without library calls: polynomials and a division."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from .instructions import Builder, Value


class _Format(NamedTuple):
    """Parameters of a float format: its fields, the underflow threshold of e^x next to 1, and series lengths."""

    bits: int
    mantissa: int
    bias: int
    smallest: float
    exponential: int
    logarithm: int


# Series are cut where the next term is below half a unit in the last place: 0.347ᵏ / k! and 9⁻ᵏ / (2k + 1).
_SINGLE = _Format(32, 23, 127, -87.0, 8, 8)
_DOUBLE = _Format(64, 52, 1023, -708.0, 14, 17)


class Functions:
    """Elementary functions on vectors, or scalars, of one type."""

    def __init__(self, builder: Builder, type: ir.Type) -> None:
        self.builder, self.type = builder, type
        element = type.element if isinstance(type, ir.VectorType) else type
        self.form = _SINGLE if isinstance(element, ir.FloatType) else _DOUBLE
        self.integer: Any = ir.IntType(self.form.bits)
        if isinstance(type, ir.VectorType):
            self.integer = ir.VectorType(self.integer, type.count)

    def constant(self, value: Value, type: ir.Type = None) -> Value:
        type = type or self.type
        return ir.Constant(type, [value] * type.count if isinstance(type, ir.VectorType) else value)

    def fused(self, a: Value, b: Value, c: Value) -> Value:
        suffix = f"f{self.form.bits}"
        if isinstance(self.type, ir.VectorType):
            suffix = f"v{self.type.count}{suffix}"
        name, module = f"llvm.fmuladd.{suffix}", self.builder.module
        function = module.globals.get(name) or ir.Function(module, ir.FunctionType(self.type, [self.type] * 3), name)
        return self.builder.call(function, [a, b, c])

    def series(self, t: Value, coefficients: list[float]) -> Value:
        total = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fused(total, t, self.constant(c))
        return total

    def exponential(self, d: Value, rest: Value = None, scale: int = 0) -> Value:
        """2^scale · e^(d + rest) with a small rest, if that is a normal number; else undefined."""
        form, builder = self.form, self.builder
        # e^d = 2ⁿ e^r with n the integer nearest to d / ln 2. 1.5 · 2^mantissa rounds, and leaves n in the low bits.
        magic = self.constant(1.5 * 2.0**form.mantissa)
        shifted = self.fused(d, self.constant(1 / math.log(2)), magic)
        n = builder.fsub(shifted, magic)
        r = self.fused(n, self.constant(-_COARSE), d)
        r = self.fused(n, self.constant(_COARSE - math.log(2)), r)
        if rest is not None:
            r = builder.fadd(r, rest)
        power = builder.add(builder.bitcast(shifted, self.integer), self.constant(form.bias + scale, self.integer))
        power = builder.bitcast(builder.shl(power, self.constant(form.mantissa, self.integer)), self.type)
        return builder.fmul(self.series(r, [1 / math.factorial(k) for k in range(form.exponential)]), power)

    def atanh(self, s: Value) -> Value:
        """2 atanh(s) / s for |s| ≤ 1/3."""
        return self.series(self.builder.fmul(s, s), [2 / (2 * k + 1) for k in range(self.form.logarithm)])

    def logarithm(self, x: Value, scale: int = 0) -> tuple[Value, Value]:
        """log(x / 2^scale) of a normal number x > 0 as two summands, the first exact; for x = 0 the second is −∞."""
        form, builder = self.form, self.builder
        mantissa = self.constant(form.mantissa, self.integer)
        # x = 2ⁿ y with y in [2/3, 4/3): subtracting the bits of 2/3 leaves n in the exponent.
        least = np.array(2 / 3, f"f{form.bits // 8}").view(f"i{form.bits // 8}").item()
        above = builder.sub(builder.bitcast(x, self.integer), self.constant(least, self.integer))
        n = builder.ashr(above, mantissa)
        y = builder.bitcast(builder.sub(builder.bitcast(x, self.integer), builder.shl(n, mantissa)), self.type)
        s = builder.fdiv(builder.fsub(y, self.constant(1.0)), builder.fadd(y, self.constant(1.0)))
        power = builder.sitofp(builder.sub(n, self.constant(scale, self.integer)), self.type)
        low = self.fused(power, self.constant(math.log(2) - _COARSE), builder.fmul(s, self.atanh(s)))
        low = builder.select(builder.fcmp_ordered("==", x, self.constant(0.0)), self.constant(-math.inf), low)
        return builder.fmul(power, self.constant(_COARSE)), low

    def sum(self, a: Value, *others: Any) -> Value:
        """a + b + … by compensated summation, rounded about once."""
        builder, lost = self.builder, self.constant(0.0)
        for b in others:
            total = builder.fadd(a, b)
            a, lost = total, builder.fadd(lost, self.remainder(a, b, total))
        return builder.fadd(a, lost)

    def remainder(self, a: Value, b: Value, total: Value) -> Value:
        """a + b − total, exactly, for total = fl(a + b) (Knuth 1969, section 4.2.2); 0 if infinite."""
        builder = self.builder
        c = builder.fsub(total, a)
        rest = builder.fadd(builder.fsub(a, builder.fsub(total, c)), builder.fsub(b, c))
        return builder.select(builder.fcmp_ordered("ord", rest, rest), rest, self.constant(0.0))


#: ln 2 cut to few bits, so that its product with an exponent is exact.
_COARSE = math.ldexp(round(math.ldexp(math.log(2), 14)), -14)


def logaddexp(builder: Builder, x: Value, y: Value) -> Value:
    """max(x, y) + log(1 + e^−|x − y|), with −∞ and +∞ as limits, within a few units in the last place."""
    f = Functions(builder, x.type)
    less = builder.fcmp_ordered("<", x, y)
    low, high = builder.select(less, x, y), builder.select(less, y, x)
    d = builder.fsub(low, high)  # ≤ 0, or NaN for two equal infinities
    # Too far apart, or NaN: the greater is the result.
    far = builder.fcmp_unordered("<", d, f.constant(f.form.smallest))
    e = builder.select(far, f.constant(0.0), f.exponential(d))
    # log(1 + e) = 2 atanh(s) with s = e / (2 + e) ≤ 1/3. The square of a tiny s would be subnormal, and slow.
    s = builder.fdiv(e, builder.fadd(f.constant(2.0), e))
    tiny = f.constant(2.0 ** (-f.form.bias // 3))
    return f.fused(s, f.atanh(builder.select(builder.fcmp_ordered("<", s, tiny), tiny, s)), high)
