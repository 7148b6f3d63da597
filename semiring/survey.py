"""What a look at the entries of a matrix finds: do they belong to the semiring, and which faster steps are right?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from .algebra import Semiring
from .dtypes import chunks, parts, zero
from .errors import DomainError


class Survey(NamedTuple):
    """What one look at the entries found: the least and greatest, and whether none is below 0.

    The semiring's zero does not count towards `nonnegative`: −∞ marks a missing edge in max-plus.
    """

    least: float
    greatest: float
    nonnegative: bool


def survey(A: Any, semiring: Semiring, *, where: str, first: tuple[int, ...] = ()) -> Survey:
    """Check that every entry of A (NumPy or CuPy, any shape) lies in the semiring, and report what is there.

    `first` is where A begins in what it is a part of, axis by axis, for messages.

    Raises
    ------
    DomainError
        Naming the first entry that is outside, and its index.
    """
    if A.size == 0 or A.dtype.kind == "b":
        return Survey(0, 1 if A.size else 0, True)
    if isinstance(A, np.ndarray):
        return _survey_on_host(A, semiring, where, first)
    return _survey_on_device((A,), semiring, where, first)()[0]


def surveys(arrays: Sequence[Any], semiring: Semiring, *, where: str) -> Callable[[], list[Survey]]:
    """`survey` of several arrays of one dtype and device, begun now; on a GPU all are waited for together when asked.

    What was begun must be asked for before the next look of this thread.
    """
    if all(A.size and A.dtype.kind != "b" and not isinstance(A, np.ndarray) for A in arrays):
        return _survey_on_device(arrays, semiring, where)
    found = [survey(A, semiring, where=where) for A in arrays]
    return lambda: found


def _survey_on_device(
    arrays: Sequence[Any], semiring: Semiring, where: str, first: tuple[int, ...] = ()
) -> Callable[[], list[Survey]]:
    from .cuda.survey import survey as look

    asked = look(arrays, zero(semiring, arrays[0].dtype))

    def found() -> list[Survey]:
        return [_survey_of(A, seen, semiring, where, first) for A, seen in zip(arrays, asked(), strict=True)]

    return found


def _survey_of(A: Any, seen: Any, semiring: Semiring, where: str, first: tuple[int, ...]) -> Survey:
    """What a look on the device found, if it belongs to the semiring."""
    _check_domain(A, math.nan if seen.nan else seen.least, seen.greatest, semiring, where, first)
    risky = semiring.zero == -math.inf and seen.minus_zero
    return Survey(seen.least, seen.greatest, not (seen.negative or risky))


def _check_domain(
    A: Any, least: float, greatest: float, semiring: Semiring, where: str, first: tuple[int, ...]
) -> None:
    low, high = semiring.domain
    # An integer dtype has no infinities of its own: its ends stand for them, and open ends exclude nothing.
    closed = A.dtype.kind == "i"
    below = least < low or (semiring.open_low and least == low and not closed)
    above = greatest > high or (semiring.open_high and greatest == high and not closed)
    if below or above or math.isnan(least) or math.isnan(greatest):
        _refuse(A, semiring, where, first)


def _survey_on_host(A: np.ndarray, semiring: Semiring, where: str, first: tuple[int, ...]) -> Survey:
    # The ufuncs themselves: the methods `min` and `max` reach them by way of Python, which small matrices feel.
    least, greatest = np.minimum.reduce(A, axis=None).item(), np.maximum.reduce(A, axis=None).item()
    _check_domain(A, least, greatest, semiring, where, first)
    nonnegative = least >= 0
    if not nonnegative and least == zero(semiring, A.dtype):
        nonnegative = all(not bool(((part < 0) & (part != least)).any()) for part in parts(A))
    if nonnegative and semiring.zero == -math.inf and A.dtype.kind == "f":
        # −0 is not below 0, but its bit pattern is below that of −∞, which the variants of max-plus rely on.
        nonnegative = all(not bool((np.signbit(part) & (part == 0)).any()) for part in parts(A))
    return Survey(least, greatest, nonnegative)


def fast(seen: Survey, semiring: Semiring, dtype: np.dtype, edges: int) -> bool:
    """Whether the steps for non-negative weights are right on such entries, for walks of so many edges.

    Where −∞ is an integer, they also need headroom: no such walk may weigh half of what the dtype holds.
    """
    most = math.inf if dtype.kind != "i" or semiring.zero != -math.inf else np.iinfo(dtype).max // 2
    return seen.nonnegative and seen.greatest * edges <= most


def _refuse(A: Any, semiring: Semiring, where: str, first: tuple[int, ...]) -> None:
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
        begins = (span.start for span in at)
        index = tuple(map(sum, zip_longest(found, begins, first, fillvalue=0)))
        raise DomainError(
            f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}, "
            f"got {part[found].item()} at {index if len(index) != 1 else index[0]}. "
            f"A missing edge is the semiring's zero, {semiring.zero}."
        )
