"""A* over (log(eᵃ + eᵇ), +) as log((exp A)*) over (+, ×), where that is exact; see logarithmic.py.

What underflows, of an exponential or of a product of two, is less than 2^e, the least normal number, and contributes at
most n² 2^e h² to an entry of the closure, h being the greatest entry. So if all entries lie between n² 2^e h² / eps and
h, each is as exact as sums and products of positive numbers are. Loops must not have weights near 1: 1 − eᵃ would lose
digits that a has.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba.core import cgutils

from ..annotations import Builder, Value
from ..instructions import Flag, Int, instruction
from ..intrinsics import itemsize, kernel, load, store_index
from ..kinds import Kind
from ..logarithm import Functions
from ..vectors import entries

#: log₂ of the greatest closure entry, by float width in bits.
_HIGH = {32: 10, 64: 200}
#: Greatest logarithm of a loop's weight.
_LOOP = -0.125


def any_lane(builder: Builder, mask: Value) -> Value:
    if not isinstance(mask.type, ir.VectorType):
        return mask
    bits = ir.IntType(mask.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(mask, bits), bits(0))


@instruction
def _exponentiate(builder: Builder, kind: Kind, count: Int, x: Int) -> None:
    for v, (here,) in entries(builder, kind, count, x):
        f, entry = Functions(builder, v.type), v.load(here)
        least, most = f.constant(f.form.smallest), f.constant(-f.form.smallest)
        below, above = builder.fcmp_ordered("<", entry, least), builder.fcmp_ordered(">", entry, most)
        power = f.exponential(builder.select(below, least, builder.select(above, most, entry)))
        power = builder.select(above, f.constant(math.inf), power)
        v.store(builder.select(below, f.constant(0.0), power), here)


@instruction
def _take_logarithms(builder: Builder, kind: Kind, count: Int, x: Int) -> None:
    for v, (here,) in entries(builder, kind, count, x):
        f = Functions(builder, v.type)
        v.store(builder.fadd(*f.logarithm(v.load(here))), here)


@instruction
def _exact(builder: Builder, kind: Kind, n: Int, x: Int) -> Flag:
    """Whether all n² entries lie within the bounds above."""
    count, outside = builder.mul(n, n), cgutils.alloca_once_value(builder, ir.IntType(1)(0))
    for v, (here,) in entries(builder, kind, count, x):
        f, entry = Functions(builder, v.type), v.load(here)
        high, element = _HIGH[f.form.bits], v.plain.element
        least = element(math.ldexp(1.0, 2 * high + f.form.mantissa + 2 - f.form.bias))
        low = v.splat(builder.fmul(builder.sitofp(count, element), least))
        inside = builder.and_(
            builder.fcmp_ordered(">=", entry, low), builder.fcmp_ordered("<=", entry, f.constant(2.0**high))
        )
        builder.store(builder.or_(any_lane(builder, builder.not_(inside)), builder.load(outside)), outside)
    return builder.not_(builder.load(outside))


@kernel
def exponentials(kind: Kind, count: int, x: int) -> None:
    """X ← eˣ, flushed to 0 below the normal numbers and to ∞ before overflow."""
    _exponentiate(kind, count, x)


@kernel
def logarithms(kind: Kind, batch: int, n: int, x: int, a: int, a_batch: int, a_diagonal: int, failed: int) -> None:
    """X ← log X of every matrix that is exactly (exp A)*; failed[i] ← 1 for the others."""
    for i in range(batch):
        here, exact = x + i * n * n * itemsize(kind), True
        for k in range(n):
            exact = exact and load(kind, a + i * a_batch + k * a_diagonal) <= _LOOP
        exact = exact and _exact(kind, n, here)
        if exact:
            _take_logarithms(kind, n * n, here)
        store_index(failed + 4 * i, 0 if exact else 1)
