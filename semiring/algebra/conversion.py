"""Lossless conversion between dtypes, in which ∞ keeps its meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sized

import numpy as np

from ..host import memory
from ..host.devices import module
from ..host.errors import DomainError, DTypeError, SemiringError, ShapeError
from ..host.types import Array, DType, Scalar
from . import dtypes
from .records import Semiring

#: Kinds of non-numeric dtypes: complex, objects, texts, bytes, dates, durations.
_NO_NUMBERS = "cOUSMm"
#: Below this, float64 represents every integer.
_EXACT = 2**53


def from_sequence(source: Array, *, where: str) -> np.ndarray:
    """Nested sequences as an array, where NumPy would round integers beyond 2⁵³ next to floats.

    Raises ShapeError for ragged rows, DTypeError for numbers that do not fit; see `exact`.
    """
    if isinstance(source, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in source):
        way = "numpy.ma.stack(A).astype(float).filled(numpy.inf)"
        raise DTypeError(f"{where}: plain rows are required, got masked ones. Fill them: {way}.")
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


def with_ends(values: list[Scalar], read: Callable[[list[Scalar]], np.ndarray]) -> np.ndarray:
    """Numbers as `read` makes an array of them; next to integers alone, infinities as the ends of int64.

    >>> with_ends([3, math.inf], np.array)
    array([                  3, 9223372036854775807])
    """
    infinite = np.array([isinstance(x, (float, np.floating)) and math.isinf(x) for x in values], bool)
    finite = read([x for x, far in zip(values, infinite.tolist(), strict=True) if not far])
    if not infinite.any() or (len(finite) and finite.dtype.kind not in "iu"):
        return finite if len(finite) == len(values) else read(values)
    ends, found = np.iinfo(np.int64), np.empty(len(values), np.int64)
    found[infinite] = [ends.max if x > 0 else ends.min for x in values if isinstance(x, (float, np.floating))]
    found[~infinite] = finite
    return found


def _lengths(rows: Array) -> set[int]:
    """Distinct lengths of ragged rows, at the first level where they differ; 0 for numbers."""
    while len(found := {len(row) if isinstance(row, Sized) else 0 for row in rows}) == 1 and found != {0}:
        rows = [x for row in rows for x in row]
    return found


def exact(values: np.ndarray, *, where: str) -> np.ndarray:
    """Python numbers as int64 if all fit, else as float64; DTypeError if that overflows or rounds an integer."""
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


def conform(array: Array, semiring: Semiring, dtype: DType = None, *, where: str, first: int = 0) -> Array:
    """Array in the requested dtype, or as the semiring resolves it; unchanged if it fits.

    ∞ keeps its meaning: inf becomes an integer dtype's end, and an integer's end becomes inf or the wider end. `first`:
    index of the array's first item, for messages. Raises DTypeError if the semiring lacks the dtype, entries are not
    real, or a finite value is not representable (a fraction in integers, overflow, an integer that float64 rounds;
    rounding to float32 is allowed); DomainError for NaN, or an infinity outside the semiring, in an integer dtype.
    """
    if array.dtype.kind in _NO_NUMBERS:
        raise DTypeError(f"{where}: entries must be real numbers or truth values, got {array.dtype}.")
    truth = semiring.dtypes == ("bool",) and array.dtype.kind != "b"
    if not (array.ndim or truth):
        return conform(array.reshape(1), semiring, dtype, where=where, first=first).reshape(())
    target = np.dtype(bool) if truth else dtypes.resolve(semiring, dtype, array.dtype, where=where)
    if array.dtype == target and array.dtype.isnative:
        return array
    if array.dtype.kind == "b":
        dtypes.resolve(semiring, array.dtype, where=where)  # bool is no number: same refusal for any dtype
    name = dtypes.SCALARS[target].name  # `str` of a dtype takes as long as the conversion of a few entries
    device = "cpu" if isinstance(array, np.ndarray) else "cuda"
    memory.require(
        array.size * target.itemsize, device, where=f"{where}: a copy in {name}", hint=f"Pass an array of {name}."
    )
    out = module(array).empty(array.shape, target)
    for part in dtypes.chunks(array):  # bounds the size of masks
        if truth:
            out[part] = array[part] != 0
            if bool((out[part] != array[part]).any()):  # what is an edge among others than 0 and 1, the caller decides
                dtypes.resolve(semiring, array.dtype, where=where)
        else:
            origin = (part[0].start + first, *(axis.start for axis in part[1:]))
            out[part] = _converted(array[part], semiring, target, origin, where)
    return out


def _converted(array: Array, semiring: Semiring, target: np.dtype, origin: tuple[int, ...], where: str) -> Array:
    """Part of an array, whose first item is at `origin`, in dtype `target`."""
    with np.errstate(all="ignore"):
        out = array.astype(target)
    source = array.dtype.newbyteorder("=")
    record = dtypes.SCALARS[target]
    if record.integer:
        if source.kind == "f":
            top, bottom, fraction = array == math.inf, array == -math.inf, array != np.floor(array)
            # NaN, and infinities outside the semiring, would become ordinary numbers.
            outside = np.isnan(array) | (top & semiring.open_high) | (bottom & semiring.open_low)
            requirement = f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}"
            hint = f"A missing edge is the semiring's zero, {semiring.zero}."
            _refuse(array, outside, origin, requirement, hint, DomainError)
        elif isinstance(array, np.ndarray) and array.size and _between(array, np.iinfo(source), np.iinfo(target)):
            return out  # none stands for ∞, and all fit
        else:
            top, bottom, fraction = *_ends(source, array), False
        low, high = record.bounds
        wrong = ~top & ~bottom & (fraction | (array >= high) | (array <= low))
        out[top], out[bottom] = high, record.low
        if -math.inf not in record.infinities:
            wrong |= bottom
        _refuse(array, wrong, origin, f"{where}: {record.name} must hold every entry exactly")
    elif source.kind in "iu":
        top, bottom = _ends(source, array)
        if target.itemsize == source.itemsize == 8:
            wrong, hint = rounded(array, out, ~top & ~bottom), "Convert them first if they may be rounded."
            _refuse(array, wrong, origin, f"{where}: {record.name} must hold every integer exactly", hint)
        if semiring.zero in (math.inf, -math.inf):
            out[top], out[bottom] = math.inf, -math.inf
    elif source.kind == "f":
        _refuse(array, np.isinf(out) & ~np.isinf(array), origin, f"{where}: {record.name} must hold every finite entry")
    return out


def _between(array: np.ndarray, *ends: np.iinfo) -> bool:
    """Whether all integers lie strictly between the ends of these dtypes."""
    return bool(max(x.min for x in ends) < array.min() and array.max() < min(x.max for x in ends))


def _ends(source: np.dtype, array: Array) -> tuple[Scalar, Scalar]:
    """Masks of +∞ and −∞ in an integer array."""
    record = dtypes.SCALARS.get(source)
    ends = record.infinities if record and record.entries else {}
    none = np.zeros_like(array, bool)
    top, bottom = (array == ends[x] if x in ends else none for x in (math.inf, -math.inf))
    return top, bottom


def rounded(integers: Array, floats: Array, finite: Array) -> Array:
    """Mask of finite 64-bit integers changed by conversion to float64."""
    wrong = finite & ((floats >= _EXACT) | (floats <= -_EXACT))
    index = wrong.nonzero()  # few, as a rule
    back = floats[index]
    inside = back < 2.0 ** (63 if integers.dtype.kind == "i" else 64)  # others cannot be converted back
    wrong[index] = ~inside | ((back * inside).astype(integers.dtype.newbyteorder("=")) != integers[index])
    return wrong


def _refuse(
    array: Array,
    wrong: Array,
    origin: tuple[int, ...],
    requirement: str,
    hint: str = "Use a wider dtype; fractions take float64.",
    error: type[SemiringError] = DTypeError,
) -> None:
    """Raise for the first wrong entry; `origin` is the index of the array's first item."""
    if bool(wrong.any()):
        index = tuple(int(i[0]) for i in wrong.nonzero())
        shown = tuple(i + (origin[axis] if axis < len(origin) else 0) for axis, i in enumerate(index))
        raise error(f"{requirement}, got {array[index].item()} at {shown}. {hint}")
