"""Closures of integers with negative lengths by the step for non-negative ones (Johnson 1977).

h(j) ≤ 0 is the length of the shortest walk to j from anywhere: ℓ′(i, j) = ℓ(i, j) + h(i) − h(j) ≥ 0 has the same
shortest walks. Bellman–Ford finds h in a few passes if most shortest walks have few edges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.catalog import min_plus
from ..algebra.dtypes import SCALARS, TOGETHER, chunks
from ..algebra.records import Semiring
from ..algebra.shifting import absent, finite, sign_of
from ..algebra.survey import Survey
from ..host.types import Array, Scalar

#: Number of vertices from which potentials pay.
SMALLEST = {"cpu": 256, "cuda": 512}


class LengthsOverflowError(OverflowError):
    """Lengths restored may not fit their dtype; the matrix is garbage."""


class Potentials(NamedTuple):
    """Potentials that make lengths non-negative.

    sign: 1 where ⊕ keeps the least entry, −1 the greatest; values: h (n,), on the matrix's device; longest: bound of
    all ℓ′; certain: whether the closure of ℓ′ surely fits the dtype, else `restore` finds out.
    """

    sign: int
    values: Any
    longest: int
    certain: bool

    @property
    def verbs(self) -> tuple[Semiring, bool]:
        """The semiring of the lengths, and whether they are at least 0."""
        return min_plus, True

    def reweight(self, A: Array) -> None:
        """A ← A′, the lengths ℓ′, in place; the greatest integer for missing edges."""
        infinity, zero = SCALARS[A.dtype].high, A.dtype.type(absent(A.dtype, self.sign))
        if not isinstance(A, np.ndarray):
            from ..kernels.cuda.dense.lengths import to_lengths

            _in_place(A, lambda X: to_lengths(X, X, self.sign, infinity, potential=self.values))
            return
        for rows in _rows(A):
            part = A[rows]
            missing = part == zero
            if self.sign < 0:
                np.negative(part, out=part)
            part += self.values[rows, None]
            part -= self.values
            np.copyto(part, part.dtype.type(infinity), where=missing)

    def restore(self, D: Array) -> None:
        """D ← closure of A from that of A′; LengthsOverflowError where it may not fit.

        A shortest walk that does not fit extends one that does by less than an edge.
        """
        infinity, zero = SCALARS[D.dtype].high, D.dtype.type(absent(D.dtype, self.sign))
        if not isinstance(D, np.ndarray):
            import cupy

            from ..kernels.cuda.dense.lengths import to_entries

            record = cupy.zeros(1, np.uint64)
            _in_place(D, lambda X: to_entries(X, X, self.sign, infinity, potential=self.values, greatest=record))
            greatest = 0 if self.certain else int(record.get()[0])
        else:
            greatest = self._restore_on_host(D, infinity, zero)
        if not self.certain and greatest + self.longest >= infinity:
            raise LengthsOverflowError

    def _restore_on_host(self, D: np.ndarray, infinity: int, zero: Scalar) -> int:
        """D restored; the greatest length, if that is not certain to fit."""
        greatest = 0
        for rows in _rows(D):
            part = D[rows]
            missing = part == part.dtype.type(infinity)
            if not self.certain:  # infinity + 1 wraps to the other end
                greatest = max(greatest, int((part + part.dtype.type(1)).max()) - 1)
            part -= self.values[rows, None]
            part += self.values
            if self.sign < 0:
                np.negative(part, out=part)
            np.copyto(part, zero, where=missing)
        return greatest


def potentials_of(A: Array, look: Survey, s: Semiring) -> Potentials | None:
    """Potentials of a square NumPy or CuPy matrix; None if there are none, they take long to find, or do not fit."""
    sign, n = sign_of(s, A.dtype), len(A)
    if sign is None or n < SMALLEST["cpu" if isinstance(A, np.ndarray) else "cuda"]:
        return None
    most = SCALARS[A.dtype].high
    low, high = finite(A, look, sign)
    low, high = (low, high) if sign > 0 else (-high, -low)
    floor = max(0, high, -low) - most + 1  # of all h, so that no sum wraps
    if floor >= 0:
        return None
    backwards = A.strides[0] < A.strides[1]
    found = _search(A.T if backwards else A, sign, floor)
    if found is None:
        return None
    values, least = found
    longest = max(0, high) - least
    complete = not n or (look.greatest < most if sign > 0 else look.least > -most - 1)
    return Potentials(sign, -values if backwards else values, longest, bool(complete or (n + 1) * longest < most))


def _search(A: Array, sign: int, floor: int) -> tuple[Array, int] | None:
    """h and its least value; None below the floor or beyond the step limit, as for negative cycles."""
    if not isinstance(A, np.ndarray):
        from ..kernels.cuda.dense.lengths import potentials

        return potentials(A, sign, floor, 32 + len(A) // 32)
    n, h, changed = len(A), np.zeros(len(A), A.dtype), np.ones(len(A), bool)
    left = n * (16 + n // 128)  # rows to relax before the search is given up
    while changed.any():
        for rows in _rows(A):
            near = changed[rows]
            chosen = near.nonzero()[0] + rows.start
            if not len(chosen):
                continue
            left -= len(chosen)
            if left < 0 or h[chosen].min() < floor:
                return None
            near[:] = False
            relaxed: Any = rows if 2 * len(chosen) > len(near) else chosen  # of a slice nothing is copied
            part, high = A[relaxed], h[relaxed, None]
            lengths = part + high if sign > 0 else high - np.maximum(part, -SCALARS[A.dtype].high)
            best = lengths.min(axis=0)
            changed |= best < h
            np.minimum(h, best, out=h)
    return h, int(h.min())


def _rows(A: Array) -> list[slice]:
    return [rows for (rows,) in chunks(A, TOGETHER)]


def _in_place(A: Array, work: Any) -> None:
    """Apply `work` to A, by way of a contiguous copy if necessary."""
    import cupy

    contiguous = cupy.ascontiguousarray(A)
    work(contiguous)
    if contiguous.data.ptr != A.data.ptr:
        A[...] = contiguous
