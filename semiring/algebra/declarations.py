"""Validation of declared operations and semirings: types, and functions that do as declared."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..host.errors import AlgebraError
from ..host.signals import undisturbed
from ..host.types import Function, Scalar, Values
from .dtypes import SCALARS

if TYPE_CHECKING:
    from .records import Op, Semiring


def as_tuple(value: Any, what: str) -> Values:
    """Any iterable but text, as a tuple."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise AlgebraError(f"{what} must be a tuple, got {value!r}. Write ({value!r},).")
    return tuple(value.tolist() if isinstance(value, np.ndarray) else value)


def require_representable(value: Any, dtype: str, what: str) -> None:
    """Require a neutral element to be a number of the dtype; infinities stand for the ends of integer dtypes."""
    if not (isinstance(value, (int, float, np.number, np.bool_)) and value == value):
        raise AlgebraError(f"{what} must be a number, got {value!r}.")
    value = value.item() if isinstance(value, np.generic) else value  # NumPy would compare it in its own dtype
    if not SCALARS[np.dtype(dtype)].holds(value):
        raise AlgebraError(f"{what} must be a number that {dtype} holds, got {value!r}. Leave {dtype} out of dtypes.")


def require_interval(domain: Any, neutral: Values, what: str) -> None:
    """Require (low, high) with the neutral elements in between."""
    try:
        low, high = map(float, domain)
    except (TypeError, ValueError):
        raise AlgebraError(f"{what} must be two numbers (low, high), got {domain!r}.") from None
    if not all(low <= float(x) <= high for x in neutral):
        shown = " and ".join(map(repr, neutral))
        raise AlgebraError(f"{what} must hold zero and one, which are {shown}, got ({low:g}, {high:g}).")


def require_idempotent(semiring: Semiring, where: str) -> None:
    for a in semiring.samples:
        if not same(twice := semiring.add.python(a, a), a, max(semiring.tolerance, 1e-12)):
            raise AlgebraError(
                f"{where}: ⊕ must be idempotent, as idempotent=True says by default, got {a!r} ⊕ {a!r} = {twice!r}. "
                "Say idempotent=False, and star= for the closures of cycles."
            )


def require_absorbing(semiring: Semiring, where: str) -> None:
    """Require 0 ⊗ a = 0 where the end of an integer dtype stands for an infinite 0: a sum would wrap."""
    records = () if semiring.mul.saturating else [SCALARS[np.dtype(name)] for name in semiring.dtypes]
    for record, a in product(records, (semiring.one, *semiring.samples)):
        zero, value = (record.infinities.get(x, x) for x in (semiring.zero, a))
        if zero == semiring.zero or not record.holds(value):
            continue
        for found in (semiring.mul.python(zero, value), semiring.mul.python(value, zero)):
            if found != zero:
                raise AlgebraError(
                    f"{where}: 0 ⊗ a must be 0, and of {record.name} {zero} stands for {semiring.zero}, got {found!r} "
                    f"at a = {value!r}. Declare mul=Op(…, saturating=True), or leave {record.name} out of dtypes."
                )


def require_function(function: Any, operands: int, what: str) -> None:
    """Require a Python function of that many operands: numba compiles no other."""
    if not inspect.isfunction(function):
        names = ", ".join("ab"[:operands])
        shown = getattr(function, "__name__", None)
        wrapped = f"lambda {names}: {shown}({names})" if shown else f"lambda {names}: …"
        raise AlgebraError(f"{what} must be a function written in Python, got {function!r}. Wrap it: {wrapped}.")
    try:
        inspect.signature(function).bind(*range(operands))
    except TypeError:
        raise AlgebraError(f"{what} must take {operands} operand{'s'[: operands > 1]}, got {function!r}.") from None


def require_compilable(function: Function, operands: int, dtypes: tuple[str, ...], what: str) -> None:
    """Require that numba compiles a function for every dtype, at declaration rather than during a computation.

    The catalog's functions are exempt: tests compile each, and `import semiring` stays light.
    """
    if function.__module__ == "semiring.algebra.catalog":
        return

    def compile_all() -> None:
        import numba

        uncalled = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # more than half of the time
        for dtype in () if numba.config.DISABLE_JIT else dtypes:
            scalar = numba.from_dtype(np.dtype(dtype))
            try:
                numba.njit(error_model="numpy", **uncalled)(function).compile((scalar,) * operands)
            except numba.core.errors.NumbaError as error:
                reason = next((line for line in str(error).splitlines()[1:] if line.strip()), str(error)).strip()
                raise AlgebraError(
                    f"{what} must be a function that numba compiles for {dtype}, got: {reason}. "
                    "Write it with plain arithmetic and math functions, or declare fewer dtypes."
                ) from error

    undisturbed(compile_all)


def require_expression(text: Any, what: str) -> None:
    """Require a plausible single C++ expression."""
    open_to_close = {"(": ")", "[": "]", "{": "}"}
    expected: list[str] = []
    balanced = isinstance(text, str) and bool(text.strip())
    for sign in text if balanced else "":
        if sign in open_to_close:
            expected.append(open_to_close[sign])
        elif sign in ")]}":
            balanced &= bool(expected) and expected.pop() == sign
    if not balanced or expected or ";" in text or text.lstrip().startswith("return"):
        raise AlgebraError(
            f"{what} must be one C++ expression, such as 'min(a, b)', without `return` or `;`, got {text!r}."
        )


def require_as_declared(op: Op, samples: tuple[Scalar, ...], tolerance: float, what: str) -> None:
    """Require `ufunc` and `selects` to agree with `python` on all pairs of samples."""
    chosen = {"least": min, "greatest": max}.get(op.selects or "")
    for a, b in product(dict.fromkeys(samples), repeat=2):
        try:
            came = op.python(a, b)
        except Exception as error:
            raise AlgebraError(
                f"{what}.python must be defined on the samples, got {error!r} at {a!r} and {b!r}."
            ) from error
        with np.errstate(all="ignore"):
            vectorized = came if op.ufunc is None else op.ufunc(a, b).item()
        if not (same(vectorized, came, max(tolerance, 1e-12)) or (vectorized != vectorized and came != came)):
            raise AlgebraError(
                f"{what}.ufunc must compute what its python does, got {vectorized!r} and {came!r} at {a!r} and {b!r}."
            )
        if chosen is not None and came != chosen(a, b):
            raise AlgebraError(
                f"{what}.selects says that the {op.selects} of two is returned, got {came!r} of {a!r} and {b!r}. "
                "Leave it out where ⊕ returns neither."
            )


def same(left: Scalar, right: Scalar, tolerance: float) -> bool:
    if left == right:
        return True
    return bool(tolerance) and math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)
