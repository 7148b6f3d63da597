"""C++ source of a semiring: `struct Algebra` and the kernels' `Step`."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...algebra import dtypes
from ...algebra.records import Op, Semiring, Variant
from ...host.errors import DTypeError
from . import cards


def spelled(dtype: np.dtype) -> tuple[str, ...]:
    """C++ types of entries in memory, in a register, and for saturating operations; DTypeError if there are none."""
    found = dtypes.SCALARS[dtype].cuda
    if not found:
        raise DTypeError(f"bind: the GPU has no kernels for {dtype}. Convert the array first.")
    return found


@lru_cache(maxsize=256)
def variant_of(semiring: Semiring, dtype: np.dtype, *, nonnegative: bool, arch: str = "sm_90") -> Variant | None:
    """The fastest step variant that data and architecture permit, if the semiring declares one for the dtype."""
    fitting = (v for v in semiring.variants if dtype.name in v.dtypes and v.generation <= cards.number(arch))
    return next((v for v in fitting if nonnegative or not v.nonnegative), None)


def register(dtype: np.dtype) -> Any:
    """NumPy type of an entry in a register."""
    return {"int": np.int32, "long long": np.int64, "float": np.float32, "double": np.float64}[spelled(dtype)[1]]


def text(semiring: Semiring, dtype: np.dtype, variant: Variant | None = None) -> str:
    """`struct Algebra` over T (memory) and W (registers), then `Step`; follows algebra.cuh in a translation unit."""
    memory, register, _ = spelled(dtype)
    add, mul = semiring.add, semiring.mul
    if dtype == np.float64 and (mul.cuda == "a + b" or mul.cuda in _COMPARED):
        add, mul = (replace(op, cuda=_COMPARED.get(op.cuda, op.cuda)) for op in (add, mul))
    step = variant.cuda if variant else "General"
    counter = f"__device__ unsigned {COUNTER};\n" if counts_stars(semiring, dtype) else ""
    return f"""\
{counter}struct Algebra {{
    using T = {memory};
    using W = {register};
    static __device__ W zero() {{ return {literal(dtypes.zero(semiring, dtype), register)}; }}
    static __device__ W one() {{ return {literal(dtypes.one(semiring, dtype), register)}; }}
{_operation("add", add, dtype)}
{_operation("mul", mul, dtype, absorbing=True)}
{_star(semiring, dtype)}
}};
using Step = {step}<Algebra>;
"""


#: Minima of doubles take eight instructions as fmin, three by a comparison. A NaN as the first operand stays, so ⊗ must
#: have none.
_COMPARED = {"min(a, b)": "b < a ? b : a", "max(a, b)": "b > a ? b : a"}
#: Device variable that counts stars without a value.
COUNTER = "stars_without_value"


def counts_stars(semiring: Semiring, dtype: np.dtype) -> bool:
    """Whether kernels count stars without a value: integer dtypes have no ∞ or NaN to mark them."""
    return semiring.star is not None and dtypes.SCALARS[dtype].integer


def _star(semiring: Semiring, dtype: np.dtype) -> str:
    """a* as declared, or 1 ⊕ a; integers evaluate the declared star in double, like Python's division."""
    head = "    static __device__ W star(W a)"
    if semiring.star is None:
        return f"{head} {{ return add(one(), a); }}"
    if not counts_stars(semiring, dtype):
        return f"{head} {{ return {semiring.star.cuda}; }}"
    return f"""\
    static __device__ double real_star(double a) {{
        using T = double;
        return {semiring.star.cuda};
    }}
    static __device__ W star(W a) {{
        const double value = real_star(a), beyond = Limits<T>::high + 1.0;  // NaN fails
        if (W(double(a)) == a && value >= Limits<T>::low && value < beyond && value == trunc(value)) return W(value);
        atomicAdd(&{COUNTER}, 1);
        return zero();
    }}"""


def _operation(name: str, op: Op, dtype: np.dtype, *, absorbing: bool = False) -> str:
    """One operation as a static function; on integers a saturating one is wide, clamped, and absorbs zero."""
    head = f"    static __device__ W {name}(W a, W b)"
    memory, _, wide = spelled(dtype)
    if dtypes.SCALARS[dtype].boolean:
        return f"{head} {{ return ({op.cuda}) ? 1 : 0; }}"
    if not op.saturating or not dtypes.SCALARS[dtype].integer:
        return f"{head} {{ return {op.cuda}; }}"
    absorbed = "(x == zero() || y == zero()) ? zero() : " if absorbing else ""
    return f"""\
    static __device__ {wide} wide_{name}({wide} a, {wide} b) {{ return {op.cuda}; }}
    static __device__ W {name}(W x, W y) {{ return {absorbed}clamp<{memory}>(wide_{name}(x, y)); }}"""


def constants(**values: float) -> str:
    """C++ constants: bool, int or double."""
    kinds = {bool: "bool", int: "int", float: "double"}
    return "".join(f"constexpr {kinds[type(x)]} {name} = {repr(x).lower()};\n" for name, x in values.items())


def literal(value: Any, register: str) -> str:
    """C++ literal of an entry in a type."""
    if isinstance(value, np.floating):
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}{register}(INFINITY)"
        return f"{register}({float(value)!r})"
    number = int(value)
    if register == "long long":
        return f"({number + 1}LL - 1)" if number < 0 else f"{number}LL"
    return f"({number + 1} - 1)" if number < 0 else str(number)
