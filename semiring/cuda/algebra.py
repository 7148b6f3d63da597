"""The C++ text of a semiring: `struct Algebra` and the `Step` that kernels work with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..algebra import Op, Semiring, Variant

#: dtype → what it is in memory, in a register, and where a saturating operation is evaluated.
_TYPES = {
    "bool": ("bool", "int", "int"),
    "int16": ("short", "int", "int"),
    "int32": ("int", "int", "long long"),
    "int64": ("long long", "long long", "__int128"),
    "float32": ("float", "float", "float"),
    "float64": ("double", "double", "double"),
}


def variant_of(semiring: Semiring, dtype: np.dtype, *, nonnegative: bool) -> Variant | None:
    """The faster step that the data permits, if the semiring declares one for this dtype."""
    return next((v for v in semiring.variants if dtype.name in v.dtypes and (nonnegative or not v.nonnegative)), None)


def text(semiring: Semiring, dtype: np.dtype, variant: Variant | None = None) -> str:
    """`struct Algebra` over T (memory) and W (registers), then `Step`; it follows algebra.cuh in a translation unit."""
    memory, register, _ = _TYPES[dtype.name]
    step = variant.cuda if variant else "General"
    star = semiring.star.cuda if semiring.star else "add(one(), a)"
    return f"""\
struct Algebra {{
    using T = {memory};
    using W = {register};
    static __device__ W zero() {{ return {_literal(dtypes.zero(semiring, dtype), register)}; }}
    static __device__ W one() {{ return {_literal(dtypes.one(semiring, dtype), register)}; }}
{_operation("add", semiring.add, dtype)}
{_operation("mul", semiring.mul, dtype, absorbing=True)}
    static __device__ W star(W a) {{ return {star}; }}
}};
using Step = {step}<Algebra>;
"""


def _operation(name: str, op: Op, dtype: np.dtype, *, absorbing: bool = False) -> str:
    """One operation as a static function; on integers a saturating one is wide, clamped, and absorbs zero."""
    head = f"    static __device__ W {name}(W a, W b)"
    memory, _, wide = _TYPES[dtype.name]
    if dtype.kind == "b":
        return f"{head} {{ return ({op.cuda}) ? 1 : 0; }}"
    if not op.saturating or dtype.kind != "i":
        return f"{head} {{ return {op.cuda}; }}"
    absorbed = "(x == zero() || y == zero()) ? zero() : " if absorbing else ""
    return f"""\
    static __device__ {wide} wide_{name}({wide} a, {wide} b) {{ return {op.cuda}; }}
    static __device__ W {name}(W x, W y) {{ return {absorbed}clamp<{memory}>(wide_{name}(x, y)); }}"""


def _literal(value: Any, register: str) -> str:
    """A NumPy scalar as a C++ expression."""
    if isinstance(value, np.floating):
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}{register}(INFINITY)"
        return f"{register}({float(value)!r})"
    number = int(value)
    if register == "long long":
        return f"({number + 1}LL - 1)" if number < 0 else f"{number}LL"
    return f"({number + 1} - 1)" if number < 0 else str(number)
