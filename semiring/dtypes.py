"""What ∞ and 0 are in each dtype, which dtype a computation runs in, and whether the entries belong there."""

from __future__ import annotations

import math
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
    given = np.dtype(dtype)
    native = given.newbyteorder("=")
    allowed = [np.dtype(name) for name in semiring.dtypes]
    if native in allowed:
        return native
    if native.kind != "b":
        for candidate in allowed:
            if np.can_cast(native, candidate, "safe"):
                return candidate
    hint = "Convert the array first"
    if native.kind == "b":
        hint = "Say what True and False weigh, for instance np.where(A, 1.0, np.inf)"
    elif allowed == [np.dtype(bool)]:
        hint = "Say which entries are edges, for instance A < np.inf or A != 0"
    raise DTypeError(f"{where}: {semiring.name} is defined on {', '.join(semiring.dtypes)}, got {given}. {hint}.")


class Survey(NamedTuple):
    """What one pass over the entries found.

    `nonnegative`: no entry is below 0 other than the semiring's zero. `largest`: the largest finite |entry|.
    """

    nonnegative: bool
    largest: float


def survey(A: Any, semiring: Semiring, *, where: str) -> Survey:
    """Check that every entry of A (NumPy or CuPy, any shape) lies in the semiring, and report what is there.

    Raises
    ------
    DomainError
        Naming the first entry that is outside, and its index.
    """
    if A.size == 0 or A.dtype.kind == "b":
        return Survey(True, 1.0 if A.dtype.kind == "b" else 0.0)
    least, greatest = _extremes(A, semiring)
    low, high = semiring.domain
    integer = A.dtype.kind == "i"
    # An integer dtype has no infinities of its own: its ends stand for them, and open ends exclude nothing.
    bad_low = least < low or (semiring.open_low and least == low and not integer)
    bad_high = greatest > high or (semiring.open_high and greatest == high and not integer)
    if math.isnan(least) or math.isnan(greatest) or bad_low or bad_high:
        _refuse(A, semiring, where)
    end = _finite_extremes(A, semiring)
    return Survey(end[0] >= 0, max(abs(end[0]), abs(end[1])))


def _extremes(A: Any, semiring: Semiring) -> tuple[Any, Any]:
    if A.dtype.kind == "i":
        return int(A.min()), int(A.max())
    return float(A.min()), float(A.max())


def _finite_extremes(A: Any, semiring: Semiring) -> tuple[Any, Any]:
    """The least and greatest entries that are neither the semiring's zero nor infinite."""
    z = zero(semiring, A.dtype)
    keep = A != z
    if A.dtype.kind == "f":
        keep &= abs(A) != math.inf
    if not bool(keep.any()):
        return 0, 0
    big = np.iinfo(A.dtype) if A.dtype.kind == "i" else np.finfo(A.dtype)
    least = A.min(where=keep, initial=big.max) if isinstance(A, np.ndarray) else A[keep].min()
    greatest = A.max(where=keep, initial=big.min) if isinstance(A, np.ndarray) else A[keep].max()
    return least.item(), greatest.item()


def _refuse(A: Any, semiring: Semiring, where: str) -> None:
    low, high = semiring.domain
    outside = (A != A) | (A < low) | (A > high)
    if semiring.open_low:
        outside |= A == low
    if semiring.open_high:
        outside |= A == high
    index = tuple(int(i[0]) for i in outside.nonzero())
    raise DomainError(
        f"{where}: entries of a {semiring.name} matrix must lie in {semiring.interval}, got {A[index].item()} at "
        f"{index if len(index) != 1 else index[0]}. A missing edge is the semiring's zero, {semiring.zero}."
    )
