"""The same numbers in another dtype, exactly or not at all; ∞ keeps its meaning."""

from __future__ import annotations

import math
from collections.abc import Sized
from typing import Any

import numpy as np

from . import dtypes, memory
from .algebra import Semiring
from .devices import module
from .errors import DomainError, DTypeError, SemiringError, ShapeError
from .types import Array, DType

#: The integer dtypes whose largest value stands for ∞.
_WITH_INFINITY = (np.dtype("int16"), np.dtype("int32"), np.dtype("int64"))
#: Kinds of dtypes of what is none: complex numbers, objects, texts, bytes, dates, durations.
_NO_NUMBERS = "cOUSMm"
#: Below this float64 holds every integer, and a float is no rounded one.
_EXACT = 2**53


def from_sequence(source: Any, *, where: str) -> np.ndarray:
    """Nested sequences as an array. NumPy alone would round integers beyond 2⁵³ that have a float among them.

    Raises
    ------
    ShapeError
        If rows are not equally long.
    DTypeError
        If a number does not fit; see `exact`.
    """
    try:
        array = np.asarray(source)
    except OverflowError:
        array = np.asarray(source, dtype=object)
    except ValueError:
        lengths = ", ".join(map(str, sorted(_lengths(source))))
        raise ShapeError(f"{where}: rows must be equally long, got lengths {lengths}.") from None
    rounded = isinstance(source, (list, tuple)) and array.dtype.kind == "f"
    rounded = rounded and bool((np.isfinite(array) & (np.abs(array) >= _EXACT)).any())
    if array.dtype.kind == "O" or rounded:
        objects = np.asarray(source, dtype=object)
        if all(isinstance(value, (int, float, np.integer, np.floating)) for value in objects.flat):
            return exact(objects, where=where)
    return array


def _lengths(rows: Any) -> set[int]:
    """The lengths of rows that are not equally long, or of the rows in them; a number's is 0."""
    while len(found := {len(row) if isinstance(row, Sized) else 0 for row in rows}) == 1 and found != {0}:
        rows = [x for row in rows for x in row]
    return found


def exact(values: np.ndarray, *, where: str) -> np.ndarray:
    """An array of Python's numbers as int64 where all are integers that fit, else as float64.

    Raises
    ------
    DTypeError
        If float64 is too small for a number, or would round an integer. Fractions and decimals are rounded.
    """
    integers = [int(value) if isinstance(value, (int, np.integer)) else None for value in values.flat]
    info = np.iinfo(np.int64)
    if all(integer is not None and info.min <= integer <= info.max for integer in integers):
        return np.array(integers, dtype=np.int64).reshape(values.shape)
    floats: list[float] = []
    for offset, (value, integer) in enumerate(zip(values.flat, integers, strict=True)):
        try:
            near = float(value)
        except OverflowError:
            near = math.inf
        if (integer is not None and integer != near) or (math.isinf(near) and value != near):
            shown = value if integer is None else _digits(integer)
            index = offset if values.ndim == 1 else tuple(map(int, np.unravel_index(offset, values.shape)))
            raise DTypeError(
                f"{where}: 64 bits must hold every integer exactly and every number, got {shown} at {index}. "
                "Convert it to a float if it may be rounded."
            )
        floats.append(near)
    return np.array(floats, dtype=np.float64).reshape(values.shape)


def _digits(integer: int) -> str:
    return str(integer) if integer.bit_length() <= 128 else f"an integer of {integer.bit_length()} bits"


def conform(array: Array, semiring: Semiring, dtype: DType = None, *, where: str, first: int = 0) -> Any:
    """The array in the dtype requested, or in the one the semiring resolves; the same array where it already fits.

    ∞ keeps its meaning: inf becomes an integer dtype's end, and an integer's end becomes inf or the wider end. `first`
    is the number of the array's first item, for messages.

    Raises
    ------
    DTypeError
        If the semiring has no such dtype, or entries are no real numbers.
    DTypeError
        If a finite value cannot be represented: a fraction in an integer dtype, a number beyond its range, an integer
        that float64 would round. (To float32 all values are rounded, which is not refused.)
    DomainError
        If an integer dtype is requested, and an entry is NaN, or an infinity that is none of the semiring's.
    """
    if array.dtype.kind in _NO_NUMBERS:
        raise DTypeError(f"{where}: entries must be real numbers or truth values, got {array.dtype}.")
    if semiring.dtypes == ("bool",) and array.dtype.kind != "b":
        return _as_bool(array, semiring, where)
    if not array.ndim:
        return conform(array.reshape(1), semiring, dtype, where=where, first=first).reshape(())
    target = dtypes.resolve(semiring, dtype, array.dtype, where=where)
    if array.dtype == target and array.dtype.isnative:
        return array
    if array.dtype.kind == "b":
        dtypes.resolve(semiring, array.dtype, where=where)  # a boolean is no number: the same refusal, whatever dtype
    memory.require(
        array.size * target.itemsize,
        _device(array),
        where=f"{where}: a copy in {target}",
        hint=f"Pass an array of {target}.",
    )
    out = module(array).empty(array.shape, target)
    for part in dtypes.chunks(array.shape):  # no mask is as large as the array
        out[part] = _converted(array[part], semiring, target, part, where, first)
    return out


def _converted(
    array: Array, semiring: Semiring, target: np.dtype, part: tuple[slice, ...], where: str, first: int
) -> Any:
    """A part of an array in the dtype `target`."""
    origin = (part[0].start + first, *(axis.start for axis in part[1:]))
    xp = module(array)
    with np.errstate(all="ignore"):
        out = array.astype(target)
    source = array.dtype.newbyteorder("=")
    if target.kind == "i":
        info = np.iinfo(target)
        if source.kind == "f":
            finite = xp.isfinite(array)
            wrong = finite & ((array != xp.floor(array)) | (array >= info.max) | (array <= info.min))
            top, bottom = array == math.inf, array == -math.inf
            out[top], out[bottom] = info.max, info.min
            # What is outside of the semiring would be a number among others: of the infinities, and NaN.
            outside = xp.isnan(array) | (top & semiring.open_high) | (bottom & semiring.open_low)
            requirement = f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}"
            _refuse(
                array,
                outside,
                origin,
                requirement,
                f"A missing edge is the semiring's zero, {semiring.zero}.",
                DomainError,
            )
        elif xp is np and array.size and _between(array, np.iinfo(source), info):
            return out  # none stands for ∞, and all fit
        else:
            top, bottom = _ends(source, xp, array)
            wrong = ~top & ~bottom & ((array >= info.max) | (array <= info.min))  # its ends stand for ∞
            out[top], out[bottom] = info.max, info.min
        _refuse(array, wrong, origin, f"{where}: {target} must hold every entry exactly")
    elif source.kind in "iu":
        top, bottom = _ends(source, xp, array)
        if target.itemsize == source.itemsize == 8:
            _refuse(
                array,
                _rounded(array, out, ~top & ~bottom),
                origin,
                f"{where}: {target} must hold every integer exactly",
                "Convert them first if they may be rounded.",
            )
        if semiring.zero in (math.inf, -math.inf):
            out[top], out[bottom] = math.inf, -math.inf
    elif source.kind == "f":
        _refuse(array, xp.isinf(out) & ~xp.isinf(array), origin, f"{where}: {target} must hold every finite entry")
    return out


def _device(array: Array) -> str:
    return "cpu" if isinstance(array, np.ndarray) else "cuda"


def _between(array: np.ndarray, *ends: np.iinfo) -> bool:
    """Whether all integers are between the ends of these dtypes, and none is such an end."""
    return bool(max(x.min for x in ends) < array.min() and array.max() < min(x.max for x in ends))


def _ends(source: np.dtype, xp: Any, array: Array) -> tuple[Any, Any]:
    """Masks of the entries that stand for +∞ and −∞ in an integer array."""
    if source not in _WITH_INFINITY:
        none = xp.zeros(array.shape, dtype=bool)
        return none, none
    info = np.iinfo(source)
    return array == info.max, array == info.min


def _rounded(integers: Any, floats: Any, finite: Any) -> Any:
    """Which 64-bit integers, of those that stand for no infinity, are no longer what they were."""
    rounded = finite & ((floats >= _EXACT) | (floats <= -_EXACT))
    index = rounded.nonzero()  # few, as a rule
    back = floats[index]
    inside = back < 2.0 ** (63 if integers.dtype.kind == "i" else 64)  # what is outside cannot be turned back
    rounded[index] = ~inside | ((back * inside).astype(integers.dtype.newbyteorder("=")) != integers[index])
    return rounded


def _refuse(
    array: Array,
    wrong: Any,
    origin: tuple[int, ...],
    requirement: str,
    hint: str = "Use a wider dtype.",
    error: type[SemiringError] = DTypeError,
) -> None:
    """Name the first of the wrong entries, where the array begins at index `origin` of the one that came."""
    if bool(wrong.any()):
        index = tuple(int(i[0]) for i in wrong.nonzero())
        shown = tuple(i + (origin[axis] if axis < len(origin) else 0) for axis, i in enumerate(index))
        raise error(f"{requirement}, got {array[index].item()} at {shown}. {hint}")


def _as_bool(array: Array, semiring: Semiring, where: str) -> Any:
    """Numbers as truth values, only where each is 0 or 1: what else would be an edge is for the caller to say."""
    memory.require(array.size, _device(array), where=f"{where}: a copy in bool", hint="Pass an array of bool.")
    out = module(array).empty(array.shape, bool)
    for part in dtypes.chunks(array.shape):
        if bool(((array[part] != 0) & (array[part] != 1)).any()):
            dtypes.resolve(semiring, array.dtype, where=where)
        out[part] = array[part] != 0
    return out
