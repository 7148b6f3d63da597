"""Integers that may be negative, as lengths that are not: their products take the fastest step, and none wraps.

Over min-plus, (A ⊗ B)[i,j] = min over k of (A[i,k] − a) + (B[k,j] − b), plus a + b, with a and b the least entries;
over max-plus the same of a − A[i,k] and b − B[k,j], with the greatest. The semiring's zero becomes ∞, the largest
integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .algebra import Semiring
from .dtypes import chunks, zero
from .survey import Survey
from .types import Array

#: Entries that are shifted together on the CPU, so that what is in between stays in a cache.
_TOGETHER = 1 << 16


class Shift(NamedTuple):
    """How the entries of two operands become lengths, and sums of these entries again.

    Attributes
    ----------
    sign : int
        1 where ⊕ keeps the least entry, −1 where it keeps the greatest.
    left, right : int
        What is subtracted from entries of A, and of B; or what these are subtracted from.
    longest : int
        No sum of a length of A and one of B is larger.
    """

    sign: int
    left: int
    right: int
    longest: int

    def lengths(self, X: Array, offset: int, dtype: np.dtype, infinity: int) -> Any:
        """The lengths of X; `infinity`, above all of them, where it is the semiring's zero."""
        new = np.empty_like(X, dtype=dtype, order="C")
        unsigned, shift = np.dtype(f"u{X.dtype.itemsize}"), X.dtype.type(offset)
        absent = X.dtype.type(_absent(X.dtype, self.sign))
        for part in _parts(X):
            # The zero is at the end of the dtype, and 0 between offset and zero: their distance is that end or more.
            to = new[part] if X.dtype == dtype else None  # each pass saved counts on a GPU
            operands = (X[part], shift) if self.sign > 0 else (shift, X[part])
            x = (np.subtract(*operands) if to is None else np.subtract(*operands, out=to)).view(unsigned)
            if to is not None:
                np.minimum(x, unsigned.type(infinity), out=x)
            elif infinity <= np.iinfo(X.dtype).max:
                new[part] = np.minimum(x, unsigned.type(infinity))
            else:  # a wider dtype
                new[part] = np.where(X[part] == absent, dtype.type(infinity), x.astype(dtype))
        return new

    def restore(self, C: Array, lengths: Array, infinity: int) -> None:
        """C ← the sums of entries whose sums of lengths these are; it may be the same array."""
        offset, absent = C.dtype.type(self.left + self.right), C.dtype.type(_absent(C.dtype, self.sign))
        for part in _parts(C):
            missing, to = lengths[part] >= infinity, C[part]
            x = lengths[part].astype(C.dtype, copy=False)
            if self.sign > 0:
                np.add(x, offset, out=to)
            else:
                np.subtract(offset, x, out=to)
            to[missing] = absent


def _absent(dtype: np.dtype, sign: int) -> int:
    """The end of an integer dtype that stands for the semiring's zero."""
    info = np.iinfo(dtype)
    return int(info.max if sign > 0 else info.min)


def _parts(X: Array) -> Sequence[tuple[slice, ...]]:
    return list(chunks(X.shape, _TOGETHER)) if isinstance(X, np.ndarray) else [(slice(None),)]


def shift_of(A: Array, B: Array, looks: Sequence[Survey], s: Semiring) -> Shift | None:
    """How integers of the semiring become lengths; None where they are none, or sums of two may leave the dtype."""
    if A.dtype.kind != "i" or not s.lengths or A.ndim < 2 or B.ndim < 2:
        return None
    sign = 1 if s.add.selects == "least" else -1
    if zero(s, A.dtype) != _absent(A.dtype, sign):
        return None
    (low_a, high_a), (low_b, high_b) = (_finite(X, look, sign) for X, look in zip((A, B), looks, strict=True))
    info = np.iinfo(A.dtype)
    if low_a + low_b <= info.min or high_a + high_b >= info.max:
        return None
    if sign > 0:
        left, right = min(low_a, 0), min(low_b, 0)
        return Shift(sign, left, right, high_a - left + high_b - right)
    left, right = max(high_a, 0), max(high_b, 0)
    return Shift(sign, left, right, left - low_a + right - low_b)


def _finite(X: Array, look: Survey, sign: int) -> tuple[int, int]:
    """The least and the greatest entry that is not the semiring's zero; (0, 0) without any."""
    info, least, greatest = np.iinfo(X.dtype), int(look.least), int(look.greatest)
    # One more or less than the end that stands for ∞ is the other end.
    if sign > 0 and greatest == info.max:
        greatest = max(int((X[part] + X.dtype.type(1)).max()) for part in _parts(X)) - 1
    elif sign < 0 and least == info.min:
        least = min(int((X[part] - X.dtype.type(1)).min()) for part in _parts(X)) + 1
    return (least, greatest) if info.min < greatest and least < info.max else (0, 0)
