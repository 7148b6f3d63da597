"""Products of possibly negative integers as products of lengths ≥ 0, by the fastest step, without overflow.

Over min-plus, (A ⊗ B)[i,j] = min over k of (A[i,k] − a) + (B[k,j] − b), plus a + b, with a and b the least entries;
over max-plus the same of a − A[i,k] and b − B[k,j], with the greatest. The semiring's zero becomes ∞, the largest
integer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..host.devices import module
from ..host.types import Array
from .dtypes import SCALARS, TOGETHER, chunks, zero
from .records import Semiring
from .survey import Survey


class Shift(NamedTuple):
    """Maps from entries of two operands to lengths, and from their sums back.

    sign: 1 where ⊕ keeps the least entry, −1 the greatest; left, right: offset of A and of B; longest: bound of a sum
    of two lengths.
    """

    sign: int
    left: int
    right: int
    longest: int

    def lengths(self, X: Array, offset: int, dtype: np.dtype, infinity: int) -> Array:
        """Lengths of X; `infinity`, above all of them, for the semiring's zero."""
        new = np.empty_like(X, dtype=dtype, order="C")
        if not isinstance(X, np.ndarray):
            from ..kernels.cuda.dense.lengths import to_lengths

            to_lengths(module(X).ascontiguousarray(X), new, self.sign, infinity, -self.sign * offset)
            return new
        unsigned, shift = np.dtype(f"u{X.dtype.itemsize}"), X.dtype.type(offset)
        for part in chunks(X, TOGETHER):
            # The zero is at the end of the dtype, and 0 between offset and zero: their distance is that end or more.
            x = (X[part] - shift if self.sign > 0 else shift - X[part]).view(unsigned)
            if infinity <= SCALARS[X.dtype].high:
                new[part] = np.minimum(x, unsigned.type(infinity))
            else:  # a wider dtype
                new[part] = np.where(X[part] == absent(X.dtype, self.sign), dtype.type(infinity), x.astype(dtype))
        return new

    def restore(self, C: Array, lengths: Array, infinity: int) -> None:
        """C ← sums of entries from sums of lengths; may be in place."""
        offset = self.left + self.right
        if not isinstance(C, np.ndarray):
            from ..kernels.cuda.dense.lengths import to_entries

            to_entries(lengths, C, self.sign, infinity, -self.sign * offset)
            return
        end = C.dtype.type(absent(C.dtype, self.sign))
        for part in chunks(C, TOGETHER):
            missing, to = lengths[part] >= infinity, C[part]
            x = lengths[part].astype(C.dtype, copy=False)
            if self.sign > 0:
                np.add(x, C.dtype.type(offset), out=to)
            else:
                np.subtract(C.dtype.type(offset), x, out=to)
            to[missing] = end


def absent(dtype: np.dtype, sign: int) -> int:
    """End of an integer dtype that represents the semiring's zero."""
    return SCALARS[dtype].infinities[sign * math.inf]


def shift_of(A: Array, B: Array, looks: Sequence[Survey], s: Semiring) -> Shift | None:
    """Shift for the operands of a product; None if they are no lengths, or sums of two may overflow."""
    if A.ndim < 2 or B.ndim < 2:
        return None
    sign = sign_of(s, A.dtype)
    if sign is None:
        return None
    (low_a, high_a), (low_b, high_b) = (finite(X, look, sign) for X, look in zip((A, B), looks, strict=True))
    record = SCALARS[A.dtype]
    if low_a + low_b <= record.low or high_a + high_b >= record.high:
        return None
    if sign > 0:
        left, right = min(low_a, 0), min(low_b, 0)
        return Shift(sign, left, right, high_a - left + high_b - right)
    left, right = max(high_a, 0), max(high_b, 0)
    return Shift(sign, left, right, left - low_a + right - low_b)


def sign_of(s: Semiring, dtype: np.dtype) -> int | None:
    """1 or −1 where integers are lengths of which ⊕ keeps the least or the greatest; else None."""
    record = SCALARS[dtype]
    if not (record.integer and record.signed and s.lengths):
        return None
    sign = 1 if s.add.selects == "least" else -1
    return sign if zero(s, dtype) == absent(dtype, sign) else None


def finite(X: Array, look: Survey, sign: int) -> tuple[int, int]:
    """Least and greatest entry without the semiring's zero; (0, 0) if none."""
    record, least, greatest = SCALARS[X.dtype], int(look.least), int(look.greatest)
    # One past the end that stands for ∞ wraps to the other end.
    if sign > 0 and greatest == record.high:
        greatest = max(int((X[part] + X.dtype.type(1)).max()) for part in chunks(X, TOGETHER)) - 1
    elif sign < 0 and least == record.low:
        least = min(int((X[part] - X.dtype.type(1)).min()) for part in chunks(X, TOGETHER)) + 1
    return (least, greatest) if record.low < greatest and least < record.high else (0, 0)
