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
from .devices import module
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
        if not isinstance(X, np.ndarray):
            from .cuda.dense.lengths import to_lengths

            to_lengths(module(X).ascontiguousarray(X), new, self.sign, infinity, -self.sign * offset)
            return new
        unsigned, shift = np.dtype(f"u{X.dtype.itemsize}"), X.dtype.type(offset)
        for part in _parts(X):
            # The zero is at the end of the dtype, and 0 between offset and zero: their distance is that end or more.
            x = (X[part] - shift if self.sign > 0 else shift - X[part]).view(unsigned)
            if infinity <= np.iinfo(X.dtype).max:
                new[part] = np.minimum(x, unsigned.type(infinity))
            else:  # a wider dtype
                new[part] = np.where(X[part] == absent(X.dtype, self.sign), dtype.type(infinity), x.astype(dtype))
        return new

    def restore(self, C: Array, lengths: Array, infinity: int) -> None:
        """C ← the sums of entries whose sums of lengths these are; it may be the same array."""
        offset = self.left + self.right
        if not isinstance(C, np.ndarray):
            from .cuda.dense.lengths import to_entries

            to_entries(lengths, C, self.sign, infinity, -self.sign * offset)
            return
        end = C.dtype.type(absent(C.dtype, self.sign))
        for part in _parts(C):
            missing, to = lengths[part] >= infinity, C[part]
            x = lengths[part].astype(C.dtype, copy=False)
            if self.sign > 0:
                np.add(x, C.dtype.type(offset), out=to)
            else:
                np.subtract(C.dtype.type(offset), x, out=to)
            to[missing] = end


def absent(dtype: np.dtype, sign: int) -> int:
    """The end of an integer dtype that stands for the semiring's zero."""
    info = np.iinfo(dtype)
    return int(info.max if sign > 0 else info.min)


def _parts(X: Array) -> Sequence[tuple[slice, ...]]:
    return list(chunks(X.shape, _TOGETHER)) if isinstance(X, np.ndarray) else [(slice(None),)]


def shift_of(A: Array, B: Array, looks: Sequence[Survey], s: Semiring) -> Shift | None:
    """How integers of the semiring become lengths; None where they are none, or sums of two may leave the dtype."""
    if A.ndim < 2 or B.ndim < 2:
        return None
    sign = sign_of(s, A.dtype)
    if sign is None:
        return None
    (low_a, high_a), (low_b, high_b) = (finite(X, look, sign) for X, look in zip((A, B), looks, strict=True))
    info = np.iinfo(A.dtype)
    if low_a + low_b <= info.min or high_a + high_b >= info.max:
        return None
    if sign > 0:
        left, right = min(low_a, 0), min(low_b, 0)
        return Shift(sign, left, right, high_a - left + high_b - right)
    left, right = max(high_a, 0), max(high_b, 0)
    return Shift(sign, left, right, left - low_a + right - low_b)


def sign_of(s: Semiring, dtype: np.dtype) -> int | None:
    """1 where entries are integers that ⊕ keeps the least of, −1 where the greatest; None where they are no lengths."""
    if dtype.kind != "i" or not s.lengths:
        return None
    sign = 1 if s.add.selects == "least" else -1
    return sign if zero(s, dtype) == absent(dtype, sign) else None


def finite(X: Array, look: Survey, sign: int) -> tuple[int, int]:
    """The least and the greatest entry that is not the semiring's zero; (0, 0) without any."""
    info, least, greatest = np.iinfo(X.dtype), int(look.least), int(look.greatest)
    # One more or less than the end that stands for ∞ is the other end.
    if sign > 0 and greatest == info.max:
        greatest = max(int((X[part] + X.dtype.type(1)).max()) for part in _parts(X)) - 1
    elif sign < 0 and least == info.min:
        least = min(int((X[part] - X.dtype.type(1)).min()) for part in _parts(X)) + 1
    return (least, greatest) if info.min < greatest and least < info.max else (0, 0)
