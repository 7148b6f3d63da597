"""What a look at the entries of a matrix finds: do they belong to the semiring, and which faster steps are right?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from .algebra import Semiring
from .catalog import CATALOG
from .dtypes import chunks, parts, zero
from .errors import DomainError
from .types import Array

#: For so few entries a call takes longer than what it computes.
_FEW = 4096


class Survey(NamedTuple):
    """What one look at the entries found: the least and greatest, and whether none is below 0.

    The semiring's zero does not count towards `nonnegative`: −∞ marks a missing edge in max-plus. `ambiguous` is
    whether nothing says what zeros are: one stands off the diagonal, where no entry is the semiring's zero; `declared`
    whether such an entry says it. The diagonal and the signs of entries say nothing.
    """

    least: float
    greatest: float
    nonnegative: bool
    ambiguous: bool = False
    declared: bool = False


def survey(
    A: Array,
    semiring: Semiring,
    *,
    where: str,
    first: tuple[int, ...] = (),
    null_undeclared: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Survey:
    """Check that every entry of A (NumPy or CuPy, any shape) lies in the semiring, and report what is found.

    Parameters
    ----------
    first : tuple of int
        Where A begins in what it is a part of, axis by axis.
    null_undeclared : bool
        Whether A is a matrix, a batch of them or a part of one, of which no caller has said which entries are no edges:
        zeros off the diagonal are looked for too.
    bounds : (float, float), optional
        The least and the greatest entry of an A on the host, where they are known.

    Raises
    ------
    DomainError
        Naming the first entry that is outside, and its index.
    """
    if A.size == 0 or A.dtype.kind == "b":
        return Survey(0, 1 if A.size else 0, True)
    A = A if A.ndim else A.reshape(1)
    if isinstance(A, np.ndarray):
        return _survey_on_host(A, semiring, where, first, null_undeclared, bounds)
    return _survey_on_device((A,), semiring, where, first, null_undeclared)()[0]


def united(looks: Iterable[Survey]) -> Survey:
    """What looks at the parts of something found, as one."""
    parts = list(looks)
    least, greatest = min((x.least for x in parts), default=0), max((x.greatest for x in parts), default=0)
    nonnegative, declared = all(x.nonnegative for x in parts), any(x.declared for x in parts)
    return Survey(least, greatest, nonnegative, not declared and any(x.ambiguous for x in parts), declared)


def off_diagonal(A: Array, value: float, first: tuple[int, ...] = (), counted: int | None = None) -> bool:
    """Whether an entry of A off the diagonal is `value`, of which there are `counted`, where that is known.

    A is a matrix, a batch of them or a part of one that begins at `first`.
    """
    on, found = math.prod(A.shape[:-2]) * min(A.shape[-2:]), counted or 0  # so many are on it at most
    if counted is None:
        for part in (A,) if A.size <= _FEW else parts(A):
            found += _count(part, value)
            if found > on:
                return True
    row, column = (*first, 0, 0)[:2]
    return found > on or bool(found and found > _count(A.diagonal(row - column, -2, -1), value))


def surveys(arrays: Sequence[Any], semiring: Semiring, *, where: str) -> Callable[[], list[Survey]]:
    """`survey` of several arrays of one dtype and device, begun now; on a GPU all are waited for together when called.

    What was begun must be waited for before the next survey of this thread.
    """
    if all(A.size and A.dtype.kind != "b" and not isinstance(A, np.ndarray) for A in arrays):
        return _survey_on_device(arrays, semiring, where)
    found = [survey(A, semiring, where=where) for A in arrays]
    return lambda: found


def _survey_on_device(
    arrays: Sequence[Any], semiring: Semiring, where: str, first: tuple[int, ...] = (), null_undeclared: bool = False
) -> Callable[[], list[Survey]]:
    from .cuda.survey import survey as look

    wait = look(arrays, zero(semiring, arrays[0].dtype))

    def found() -> list[Survey]:
        return [
            _survey_of(A, seen, semiring, where, first, null_undeclared) for A, seen in zip(arrays, wait(), strict=True)
        ]

    return found


def _survey_of(
    A: Array, seen: Any, semiring: Semiring, where: str, first: tuple[int, ...], null_undeclared: bool
) -> Survey:
    """What a look on the device found, if it belongs to the semiring."""
    _check_domain(A, math.nan if seen.nan else seen.least, seen.greatest, semiring, where, first)
    risky = -math.inf in (semiring.zero, semiring.one) and seen.minus_zero
    null = _null(A, seen.least, seen.greatest, semiring, first, seen.zeros, seen.missing) if null_undeclared else ()
    return Survey(seen.least, seen.greatest, not (seen.negative or risky), *null)


def _null(
    A: Array,
    least: float,
    greatest: float,
    semiring: Semiring,
    first: tuple[int, ...],
    zeros: int | None = None,
    missing: int | None = None,
) -> tuple[bool, bool]:
    """`ambiguous` and `declared` of A, where nobody has said which entries are no edges; its zeros and those missing.

    Entries are counted only where the least and the greatest leave the question open.
    """
    if semiring.zero == 0:
        return False, False  # which is no edge
    none = zero(semiring, A.dtype) if A.dtype.kind == "i" else semiring.zero
    declared = bool(least <= none <= greatest) and off_diagonal(A, none, first, missing)
    return not declared and least <= 0 <= greatest and off_diagonal(A, 0, first, zeros), declared


def _count(A: Array, value: float) -> int:
    """How many entries are `value`; of few entries zeros are counted without an array of truth values."""
    if not isinstance(A, np.ndarray):
        return int((A == value).sum())
    few = value == 0 and A.size <= _FEW
    return int(A.size - np.count_nonzero(A) if few else np.count_nonzero(A == value))


def _check_domain(
    A: Array, least: float, greatest: float, semiring: Semiring, where: str, first: tuple[int, ...]
) -> None:
    low, high = semiring.domain
    # An integer dtype has no infinities of its own: its ends stand for them, and open ends exclude nothing.
    closed = A.dtype.kind == "i"
    below = least < low or (semiring.open_low and least == low and not closed)
    above = greatest > high or (semiring.open_high and greatest == high and not closed)
    if below or above or math.isnan(least) or math.isnan(greatest):
        _refuse(A, semiring, where, first)


def _survey_on_host(
    A: np.ndarray,
    semiring: Semiring,
    where: str,
    first: tuple[int, ...],
    null_undeclared: bool,
    bounds: tuple[float, float] | None = None,
) -> Survey:
    # The ufuncs themselves: the methods `min` and `max` reach them by way of Python, which small matrices feel.
    least, greatest = bounds or (np.minimum.reduce(A, axis=None).item(), np.maximum.reduce(A, axis=None).item())
    _check_domain(A, least, greatest, semiring, where, first)
    nonnegative = least >= 0
    if not nonnegative and least == zero(semiring, A.dtype):
        nonnegative = all(not bool(((part < 0) & (part != least)).any()) for part in parts(A))
    if nonnegative and -math.inf in (semiring.zero, semiring.one) and A.dtype.kind == "f":
        # −0 is not below 0, but its bit pattern is below that of −∞, which variants over −∞ rely on.
        nonnegative = all(not bool((np.signbit(part) & (part == 0)).any()) for part in parts(A))
    return Survey(
        least, greatest, nonnegative, *(_null(A, least, greatest, semiring, first) if null_undeclared else ())
    )


def extremes(A: Array) -> tuple[float, float]:
    """The least and the greatest entry of an array that is not empty; NaN for both if one entry is NaN."""
    if isinstance(A, np.ndarray):
        return A.min().item(), A.max().item()
    from .cuda.survey import survey as look

    (seen,) = look((A,), A.dtype.type(0))()
    return (math.nan, math.nan) if seen.nan else (seen.least, seen.greatest)


def fast(seen: Survey, semiring: Semiring, dtype: np.dtype, edges: int) -> bool:
    """Whether the steps for non-negative weights are right on such entries, for walks of so many edges.

    Where −∞ is an integer, they also need headroom: no such walk may weigh half of what the dtype holds.
    """
    most = math.inf if dtype.kind != "i" or semiring.zero != -math.inf else np.iinfo(dtype).max // 2
    return seen.nonnegative and seen.greatest * edges <= most


def _refuse(A: Array, semiring: Semiring, where: str, first: tuple[int, ...]) -> None:
    low, high = semiring.domain
    for slices in chunks(A.shape):
        part = A[slices]
        outside = (part != part) | (part < low) | (part > high)
        if semiring.open_low:
            outside |= part == low
        if semiring.open_high:
            outside |= part == high
        if not bool(outside.any()):
            continue
        found = tuple(int(i[0]) for i in outside.nonzero())
        begins = (span.start for span in slices)
        index = tuple(map(sum, zip_longest(found, begins, first, fillvalue=0)))
        raise DomainError(
            f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}, "
            f"got {part[found].item()} at {index if len(index) != 1 else index[0]}. "
            f"A missing edge is the semiring's zero, {semiring.zero}.{_wider(semiring, part[found].item())}"
        )


def _wider(semiring: Semiring, entry: float) -> str:
    """That another semiring computes the same on more numbers, this entry among them, if one does."""
    for other in CATALOG:
        low, high = other.domain
        same = (other.add, other.mul, other.zero, other.one) == (
            semiring.add,
            semiring.mul,
            semiring.zero,
            semiring.one,
        )
        if same and low < entry < high and not semiring.domain[0] <= entry <= semiring.domain[1]:
            return f" Over {other.name} entries lie in {other.interval}."
    return ""
