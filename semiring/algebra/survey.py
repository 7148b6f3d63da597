"""Survey of a matrix: whether its entries belong to the semiring, and which faster steps apply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..host.errors import DomainError
from ..host.types import Array
from .catalog import CATALOG
from .dtypes import SCALARS, chunks, parts, zero
from .records import Semiring

#: Number of entries below which a call costs more than its work.
_FEW = 4096


class Survey(NamedTuple):
    """Survey of entries: least, greatest, whether none is below 0, and whether zeros are ambiguous.

    The semiring's zero does not count for `nonnegative`: −∞ is a missing edge in max-plus. ambiguous: a 0 is off the
    diagonal while no entry there is the semiring's zero, so it may be an edge or none; declared: such an entry exists.
    The diagonal and signs decide nothing.
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
    """Check that every entry (NumPy or CuPy, any shape) lies in the semiring; DomainError naming the first outside.

    first: index of A's first item in its parent array. null_undeclared: A is (part of) a matrix or batch and no one has
    said which entries are missing edges: also look for zeros off the diagonal. bounds: least and greatest entry of a
    host array, if known.
    """
    if A.size == 0 or SCALARS[A.dtype].boolean:
        return Survey(0, 1 if A.size else 0, True)
    A = A if A.ndim else A.reshape(1)
    if isinstance(A, np.ndarray):
        return _survey_on_host(A, semiring, where, first, null_undeclared, bounds)
    return _survey_on_device((A,), semiring, where, first, null_undeclared)()[0]


def merge(looks: Iterable[Survey]) -> Survey:
    parts = list(looks)
    least, greatest = min((x.least for x in parts), default=0), max((x.greatest for x in parts), default=0)
    nonnegative, declared = all(x.nonnegative for x in parts), any(x.declared for x in parts)
    return Survey(least, greatest, nonnegative, not declared and any(x.ambiguous for x in parts), declared)


def off_diagonal(A: Array, value: float, first: tuple[int, ...] = (), counted: int | None = None) -> bool:
    """Whether `value` (`counted` times in A, if known) is off the diagonal of a matrix, batch, or part at `first`."""
    on, found = math.prod(A.shape[:-2]) * min(A.shape[-2:]), counted or 0  # on: entries of the diagonal
    if counted is None:
        for part in (A,) if A.size <= _FEW else parts(A):
            found += _count(part, value)
            if found > on:
                return True
    row, column = (*first, 0, 0)[:2]
    return found > on or bool(found and found > _count(A.diagonal(row - column, -2, -1), value))


def surveys(
    arrays: Sequence[Array], semiring: Semiring, *, where: str, null_undeclared: bool = False
) -> Callable[[], list[Survey]]:
    """Begin surveys of arrays of one dtype and device; call the result to wait for all.

    Must be waited for before this thread's next survey.
    """
    if all(A.size and not SCALARS[A.dtype].boolean and not isinstance(A, np.ndarray) for A in arrays):
        return _survey_on_device(arrays, semiring, where, (), null_undeclared)
    found = [survey(A, semiring, where=where, null_undeclared=null_undeclared) for A in arrays]
    return lambda: found


def _survey_on_device(
    arrays: Sequence[Array], semiring: Semiring, where: str, first: tuple[int, ...] = (), null_undeclared: bool = False
) -> Callable[[], list[Survey]]:
    from ..kernels.cuda.survey import survey as look

    wait = look(arrays, zero(semiring, arrays[0].dtype))

    def found() -> list[Survey]:
        return [of(A, seen) for A, seen in zip(arrays, wait(), strict=True)]

    def of(A: Array, seen: Any) -> Survey:
        _check_domain(A, math.nan if seen.nan else seen.least, seen.greatest, semiring, where, first)
        risky = -math.inf in (semiring.zero, semiring.one) and seen.minus_zero
        null = _null(A, seen.least, seen.greatest, semiring, first, seen.zeros, seen.missing) if null_undeclared else ()
        return Survey(seen.least, seen.greatest, not (seen.negative or risky), *null)

    return found


def _null(
    A: Array, least: float, greatest: float, semiring: Semiring, first: tuple[int, ...], zeros: int | None = None,
    missing: int | None = None,
) -> tuple[bool, bool]:  # fmt: skip
    """(ambiguous, declared) of A; entries are counted only if its least and greatest leave the question open."""
    none = SCALARS[A.dtype].infinities.get(semiring.zero, semiring.zero)
    if none == 0:
        return False, False  # 0 is no edge
    declared = bool(least <= none <= greatest) and off_diagonal(A, none, first, missing)
    return not declared and least <= 0 <= greatest and off_diagonal(A, 0, first, zeros), declared


def _count(A: Array, value: float) -> int:
    """Number of entries equal to `value`; zeros of few entries without a mask."""
    if not isinstance(A, np.ndarray):
        return int((A == value).sum())
    few = value == 0 and A.size <= _FEW
    return int(A.size - np.count_nonzero(A) if few else np.count_nonzero(A == value))


def _check_domain(
    A: Array, least: float, greatest: float, semiring: Semiring, where: str, first: tuple[int, ...]
) -> None:
    low, high = semiring.domain
    if low < least and greatest < high:
        return
    # An integer dtype has no infinities of its own: its ends stand for them, and open ends exclude nothing.
    closed = SCALARS[A.dtype].integer
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
    # Ufuncs directly: the methods `min` and `max` go through Python, which slows small matrices.
    least, greatest = bounds or (np.minimum.reduce(A, axis=None).item(), np.maximum.reduce(A, axis=None).item())
    _check_domain(A, least, greatest, semiring, where, first)
    nonnegative = least >= 0
    if not nonnegative and least == zero(semiring, A.dtype):
        nonnegative = all(not bool(((part < 0) & (part != least)).any()) for part in parts(A))
    if nonnegative and -math.inf in (semiring.zero, semiring.one) and SCALARS[A.dtype].floating:
        # −0 is not below 0, but its bit pattern is below that of −∞, which variants over −∞ rely on.
        nonnegative = all(not bool((np.signbit(part) & (part == 0)).any()) for part in parts(A))
    return Survey(
        least, greatest, nonnegative, *(_null(A, least, greatest, semiring, first) if null_undeclared else ())
    )


def extremes(A: Array) -> tuple[float, float]:
    """Least and greatest entry of a nonempty array; NaN for both if there is one."""
    if isinstance(A, np.ndarray):
        return A.min().item(), A.max().item()
    from ..kernels.cuda.survey import survey as look

    (seen,) = look((A,), A.dtype.type(0))()
    return (math.nan, math.nan) if seen.nan else (seen.least, seen.greatest)


def fast(seen: Survey, semiring: Semiring, dtype: np.dtype, edges: int) -> bool:
    """Whether steps for non-negative weights are valid for walks of `edges` edges.

    Where an integer represents −∞ no such walk may exceed half of the dtype's range.
    """
    most = math.inf if not SCALARS[dtype].integer or semiring.zero != -math.inf else SCALARS[dtype].high // 2
    return seen.nonnegative and seen.greatest * edges <= most


def _refuse(A: Array, semiring: Semiring, where: str, first: tuple[int, ...]) -> None:
    low, high = semiring.domain
    for slices in chunks(A):
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
    """Hint at a semiring of the catalog with the same operations whose domain has this entry."""
    operations = attrgetter("add", "mul", "zero", "one")
    for other in CATALOG:
        low, high = other.domain
        same = operations(other) == operations(semiring)
        if same and low < entry < high and not semiring.domain[0] <= entry <= semiring.domain[1]:
            return f" Over {other.name} entries lie in {other.interval}."
    return ""
