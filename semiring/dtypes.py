"""What ∞ and 0 are in each dtype, which dtype a computation runs in, and whether the entries belong there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .algebra import Semiring
from .errors import DomainError, DTypeError


def encode(value: Any, dtype: Any) -> Any:
    """A mathematical value as a scalar of `dtype`; ±inf become the ends of an integer dtype.

    Examples
    --------
    >>> encode(float("inf"), "int16")
    np.int16(32767)
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "i" and isinstance(value, float) and math.isinf(value):
        info = np.iinfo(dtype)
        return dtype.type(info.max if value > 0 else info.min)
    return dtype.type(value)


def zero(semiring: Semiring, dtype: Any) -> Any:
    """The semiring's zero as a scalar of `dtype`."""
    return encode(semiring.zero, dtype)


def one(semiring: Semiring, dtype: Any) -> Any:
    """The semiring's one as a scalar of `dtype`."""
    return encode(semiring.one, dtype)


def resolve(semiring: Semiring, dtype: Any, *, where: str = "semiring") -> np.dtype:
    """The dtype in which `semiring` computes on data of `dtype`: itself, else the smallest safe one it allows.

    Raises
    ------
    DTypeError
        If no dtype of the semiring holds every value of `dtype`; bool is no number here, and needs a choice.
    """
    try:
        given = np.dtype(dtype)
    except TypeError:
        raise DTypeError(
            f"{where}: dtype must be one of {', '.join(semiring.dtypes)} for {semiring.name}, got {dtype!r}."
        ) from None
    allowed = _allowed(semiring.dtypes)
    if given in allowed:
        return given
    native = given.newbyteorder("=")
    if native in allowed:
        return allowed[allowed.index(native)]
    if native.kind != "b":
        for candidate in allowed:
            if np.can_cast(native, candidate, "safe"):
                return candidate
    hint = "Convert the array first"
    if native.kind == "b":
        hint = "Say what True and False weigh, for instance np.where(A, 1.0, np.inf)"
    elif allowed == (np.dtype(bool),):
        hint = "Say which entries are edges, for instance A < np.inf or A != 0"
    raise DTypeError(f"{where}: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {given}. {hint}.")


@cache
def _allowed(names: tuple[str, ...]) -> tuple[np.dtype, ...]:
    return tuple(np.dtype(name) for name in names)


class Survey(NamedTuple):
    """What one look at the entries found: the least and greatest, and whether none is below 0.

    The semiring's zero does not count towards `nonnegative`: −∞ marks a missing edge in max-plus.
    """

    least: float
    greatest: float
    nonnegative: bool


#: How many entries are looked at or converted together: temporaries stay small beside the matrix.
_CHUNK = 1 << 18


def survey(A: Any, semiring: Semiring, *, where: str) -> Survey:
    """Check that every entry of A (NumPy or CuPy, any shape) lies in the semiring, and report what is there.

    Raises
    ------
    DomainError
        Naming the first entry that is outside, and its index.
    """
    if A.size == 0 or A.dtype.kind == "b":
        return Survey(0, 1 if A.size else 0, True)
    if isinstance(A, np.ndarray):
        return _survey_on_host(A, semiring, where)
    return _survey_on_device((A,), semiring, where)[0]


def surveys(arrays: Sequence[Any], semiring: Semiring, *, where: str) -> list[Survey]:
    """`survey` of several arrays of one dtype and device; on a GPU they are waited for together."""
    if all(A.size and A.dtype.kind != "b" and not isinstance(A, np.ndarray) for A in arrays):
        return _survey_on_device(arrays, semiring, where)
    return [survey(A, semiring, where=where) for A in arrays]


def _survey_on_device(arrays: Sequence[Any], semiring: Semiring, where: str) -> list[Survey]:
    from .cuda.survey import survey as look

    found = []
    for A, seen in zip(arrays, look(arrays, zero(semiring, arrays[0].dtype)), strict=True):
        _check_domain(A, math.nan if seen.nan else seen.least, seen.greatest, semiring, where)
        risky = semiring.zero == -math.inf and seen.minus_zero
        found.append(Survey(seen.least, seen.greatest, not (seen.negative or risky)))
    return found


def _check_domain(A: Any, least: float, greatest: float, semiring: Semiring, where: str) -> None:
    low, high = semiring.domain
    # An integer dtype has no infinities of its own: its ends stand for them, and open ends exclude nothing.
    closed = A.dtype.kind == "i"
    below = least < low or (semiring.open_low and least == low and not closed)
    above = greatest > high or (semiring.open_high and greatest == high and not closed)
    if below or above or math.isnan(least) or math.isnan(greatest):
        _refuse(A, semiring, where)


def _survey_on_host(A: np.ndarray, semiring: Semiring, where: str) -> Survey:
    least, greatest = A.min().item(), A.max().item()
    _check_domain(A, least, greatest, semiring, where)
    nonnegative = least >= 0
    if not nonnegative and least == zero(semiring, A.dtype):
        nonnegative = all(not bool(((part < 0) & (part != least)).any()) for part in _chunks(A))
    if nonnegative and semiring.zero == -math.inf and A.dtype.kind == "f":
        # −0 is not below 0, but its bit pattern is below that of −∞, which the variants of max-plus rely on.
        nonnegative = all(not bool((np.signbit(part) & (part == 0)).any()) for part in _chunks(A))
    return Survey(least, greatest, nonnegative)


def fast(seen: Survey, semiring: Semiring, dtype: np.dtype, edges: int) -> bool:
    """Whether the steps for non-negative weights are right on such entries, for walks of so many edges.

    Where −∞ is an integer, they also want room: no such walk may weigh half of what the dtype holds.
    """
    room = math.inf if dtype.kind != "i" or semiring.zero != -math.inf else np.iinfo(dtype).max // 2
    return seen.nonnegative and seen.greatest * edges <= room


def largest_finite(A: Any) -> float:
    """The largest |entry| that stands for no infinity; 0 if there is none."""
    ends: tuple[float, float] = (-math.inf, math.inf)
    if A.dtype.kind == "i":
        ends = (np.iinfo(A.dtype).min, np.iinfo(A.dtype).max)
    largest = 0.0
    for part in _chunks(A):
        finite = part[(part != ends[0]) & (part != ends[1])]
        if finite.size:
            largest = max(largest, abs(float(finite.min())), abs(float(finite.max())))
    return largest


def chunks(shape: tuple[int, ...], entries: int = _CHUNK) -> Iterator[tuple[slice, ...]]:
    """Where to cut an array of this shape so that what is made of a part stays small beside it: so many entries."""
    item = math.prod(shape[1:])
    if item > entries and len(shape) > 2:
        for index in range(shape[0]):
            yield from ((slice(index, index + 1), *part) for part in chunks(shape[1:], entries))
        return
    rows = max(1, entries // max(1, item))
    for start in range(0, shape[0], rows):
        yield (slice(start, min(start + rows, shape[0])),)


def _chunks(A: Any) -> Iterator[Any]:
    return (A[part] for part in chunks(A.shape))


def _refuse(A: Any, semiring: Semiring, where: str) -> None:
    low, high = semiring.domain
    for at in chunks(A.shape):
        part = A[at]
        outside = (part != part) | (part < low) | (part > high)
        if semiring.open_low:
            outside |= part == low
        if semiring.open_high:
            outside |= part == high
        if not bool(outside.any()):
            continue
        found = tuple(int(i[0]) for i in outside.nonzero())
        index = tuple(i + (at[axis].start if axis < len(at) else 0) for axis, i in enumerate(found))
        raise DomainError(
            f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}, "
            f"got {part[found].item()} at {index if len(index) != 1 else index[0]}. "
            f"A missing edge is the semiring's zero, {semiring.zero}."
        )
