"""Cycles that beat `one` where ⊕ selects: Bellman–Ford, and potentials that exclude them (Johnson 1977)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..host.devices import module
from ..host.errors import AlgebraError, DivergenceError, NegativeCycleError
from ..host.signals import load
from ..host.types import Array, DType, Scalar

#: Spacing of float64 at 1, in which lengths are computed.
_EPS = 2.0**-52


@dataclass(frozen=True)
class Lengths:
    """Entries as lengths ℓ to be minimised: ±x where ⊗ adds, ±log x where it multiplies (`logarithmic`).

    A walk weighs the sum of its lengths, ⊕ keeps the shortest, `zero` is ∞ and `one` is 0. sign: 1 where ⊕ keeps the
    least entry, −1 the greatest.
    """

    sign: float
    logarithmic: bool

    @classmethod
    def of(cls, semiring: Semiring) -> Lengths | None:
        """Lengths of a semiring; None if it has none.

        Examples
        --------
        >>> import semiring
        >>> Lengths.of(semiring.get("max_times"))
        Lengths(sign=-1.0, logarithmic=True)
        >>> Lengths.of(semiring.get("max_min"))
        """
        factors = semiring.mul.ufunc is np.multiply and semiring.domain[0] >= 0
        if semiring.add.selects is None or not (semiring.lengths or factors):
            return None
        return cls(1.0 if semiring.add.selects == "least" else -1.0, factors)

    @classmethod
    def required(cls, semiring: Semiring, where: str = "cycles") -> Lengths:
        """Lengths of a semiring; AlgebraError if it has none."""
        lengths = cls.of(semiring)
        if lengths is None:
            raise AlgebraError(f"{where}: ⊕ must select and ⊗ add, or multiply numbers ≥ 0, got {semiring.name}.")
        return lengths

    def of_entries(self, entries: Array, absent: Array) -> Array:
        """Lengths, float64, of a NumPy or CuPy array; `absent` marks missing edges."""
        with np.errstate(divide="ignore"):
            lengths = entries.astype(np.float64)
            lengths = np.log(lengths) if self.logarithmic else lengths
            lengths = -lengths if self.sign < 0 else lengths
        missing = entries == absent
        if missing.any():
            lengths[missing] = math.inf
        return lengths

    def to_entries(self, lengths: Array) -> Array:
        return np.exp(self.sign * lengths) if self.logarithmic else self.sign * lengths

    def slack(self, dtype: DType, allowed: float) -> tuple[float, float]:
        """(base, rate): rounding may take `allowed` · (base + rate · |ℓ|) from an edge of length ℓ.

        A sum is off by eps · |x| an edge, exact for integers. A product is off by a factor of 1 + eps an edge, eps in
        its logarithm, which is itself rounded.
        """
        eps = dtypes.SCALARS[dtype].eps
        if self.logarithmic:
            return allowed * max(eps, _EPS), allowed * 2 * _EPS
        return 0.0, allowed * eps

    def exact(self, A: Array) -> bool:
        """Whether no walk of this matrix is rounded: integer sums, and products of powers of two in range.

        Examples
        --------
        >>> Lengths(-1.0, True).exact(np.array([[1.0, 8.0], [0.125, 1.0]]))
        True
        """
        if not self.logarithmic:
            return dtypes.SCALARS[A.dtype].integer
        longest = 0  # in powers of two: that of the largest edge out of each vertex
        for part in dtypes.parts(A):
            edges = np.isfinite(part) & (part != 0)
            mantissa, exponent = np.frexp(np.where(edges, part, 1))
            if bool((mantissa != 0.5).any()):
                return False
            longest += int(abs(exponent - 1).max(axis=1).sum())
        return longest < -int(np.finfo(A.dtype).minexp)

    def rounding(self, edges: Any) -> tuple[float, bool]:
        """Length of a cycle with these entries, in order, and whether it is non-negative but for rounding.

        With m edges, and P the largest |sum| of lengths along a part of it, a cycle of exact length Σℓ is negative if

            its sums are exact      Σℓ < 0
            other sums of floats    Σℓ < −2√m · eps · P
            products                Σℓ < −2√m · eps − 2⁻⁵¹ · Σ|ℓ|

        so that only its own edges matter. Each weight, and each partial sum, is rounded by at most eps / 2 · P, and
        errors of m roundings grow as √m (Higham and Mary 2019, "A new approach to probabilistic rounding error
        analysis"); the worst-case m would hide long cycles. Sums are exact for integers, and for floats that are
        multiples of some q with P < q / eps, such as small whole numbers.

        Examples
        --------
        >>> tropical = Lengths(1.0, False)
        >>> tropical.rounding(np.array([0.1, 0.7, -0.8]))[1]
        True
        >>> tropical.rounding(np.array([1e6, 3.0, -1000004.0]))
        (-1.0, False)
        """
        if dtypes.SCALARS[edges.dtype].integer and not self.logarithmic:
            length = int(self.sign) * sum(edges.tolist())
            return float(length), length >= 0
        x = edges.astype(np.float64)
        down = 1.0 if self.logarithmic else headroom(abs(x).max(), len(x))
        x = x * down
        lengths = self.sign * (np.log(x) if self.logarithmic else x)
        length, twice = math.fsum(lengths), 2 * math.sqrt(len(x))
        base, rate = self.slack(edges.dtype, 1.0)
        if self.logarithmic:
            return length, length >= -(twice * base + rate * math.fsum(abs(lengths)))
        part = float(np.ptp(np.concatenate([[0.0], lengths.cumsum()])))
        exact = part * rate < _quantum(x)
        return length / down, length >= -(0.0 if exact else twice * rate * part)


@dataclass(frozen=True)
class Tolerance:
    """Tolerance for cycles that are negative by rounding, of sums and perhaps of the weights themselves.

    With `most`, a cycle counts as negative below −most. Without it, for m edges and P as in `Lengths.rounding`, below
    −2√m · eps · P and −2√m · min(eps, √eps · P): the logarithm of a rounded factor is off by eps, however small it is.
    Integers and products are as in `Lengths.rounding`.
    """

    lengths: Lengths
    most: float | None = None

    def rounding(self, edges: Any) -> tuple[float, bool]:
        length, rounding = self.lengths.rounding(edges)
        if self.most is not None:
            return length, length >= -self.most
        if rounding or self.lengths.logarithmic or dtypes.SCALARS[edges.dtype].integer:
            return length, rounding
        x = edges.astype(np.float64)
        x *= self.lengths.sign * headroom(abs(x).max(), len(x))
        part = float(np.ptp(np.concatenate([[0.0], x.cumsum()])))
        return length, math.fsum(x) >= -2 * math.sqrt(len(edges)) * float(self._rounded(part, edges.dtype))

    def slack(self, length: Scalar, dtype: DType, n: int) -> Scalar:
        """Allowance to add to each length, repeatedly, until no cycle within tolerance is negative (n vertices)."""
        base, rate = self.lengths.slack(dtype, 1.0)
        granted = base + rate * np.abs(length)
        if self.most is not None:
            return granted + self.most / n
        return granted if self.lengths.logarithmic or not rate else self._rounded(np.abs(length), dtype)

    def _rounded(self, size: Any, dtype: DType) -> Array:
        eps = dtypes.SCALARS[dtype].eps
        return np.maximum(eps * size, np.minimum(eps, math.sqrt(eps) * size))


def searchable(semiring: Semiring) -> bool:
    """Whether vectorised searches find the best walks of a semiring."""
    if semiring.add.selects is None or not (semiring.add.simd and semiring.mul.simd):
        return False
    return Lengths.of(semiring) is not None or {semiring.add.simd, semiring.mul.simd} == {"min", "max"}


def headroom(largest: float, count: int) -> float:
    """Power of 2 that scales `count` numbers up to `largest` so that sums stay in float64; 1 unless they may not."""
    fits = not np.finfo(float).max / (2 * count + 2) < largest < math.inf
    return 1.0 if fits else 2.0 ** -(count.bit_length() + 1)


def _quantum(x: np.ndarray) -> float:
    """Largest power of 2 that divides all these floats; ∞ if all are 0."""
    ratios = (value.as_integer_ratio() for value in x.tolist() if value)
    return min(((above & -above) / below for above, below in ratios), default=math.inf)


def cycle_error(cycle: list[int], length: float, semiring: Semiring, *, where: str) -> DivergenceError:
    shown = " → ".join(str(v) for v in (*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]))
    lengths = Lengths.required(semiring)
    weight = float(lengths.to_entries(np.float64(length)))
    least = lengths.sign > 0
    if lengths.logarithmic:
        rule, extent = f"weigh {'less' if least else 'more'} than one", "lower" if least else "upper"
        walks = f"{'Least' if least else 'Greatest'} products of walks have no {extent} bound on it."
    else:
        rule = f"have a {'negative' if least else 'positive'} weight"
        walks = "Shortest walks have no lower bound on it." if least else "Longest walks have no upper bound on it."
    kind = NegativeCycleError if semiring.lengths and least else DivergenceError
    return kind(f"{where}: no cycle may {rule}, got {shown} of weight {weight:g}. {walks}", cycle[0], cycle)


def search(A: np.ndarray, semiring: Semiring, allowed: float = 0.0) -> tuple[list[int], np.ndarray]:
    """A negative cycle, or potentials that prove there is none; at most n³ steps, in practice n² · log n.

    Bellman–Ford–Moore with Tarjan's subtree disassembly, compiled; rows are read in place, the workspace is a few
    vectors. `allowed` adds `Lengths.slack` to each edge, so that rounding makes no cycle negative; if negative, it also
    finds positive cycles that are too short.

    Returns
    -------
    cycle : list of int
        Vertices in order, the first not repeated; empty if there is none.
    potential : float64 array, shape (2, n)
        Without a cycle, h = potential.sum(axis=0), in double-double, satisfies ℓ(i, j) + slack + h(i) − h(j) ≥ 0.

    Examples
    --------
    >>> import numpy as np, semiring
    >>> A = np.array([[0, 2, 9], [9, 0, -4], [1, 9, 0]])
    >>> search(A, semiring.get("min_plus"))[0]
    [0, 1, 2]
    """
    lengths = Lengths.required(semiring)
    if A.strides[0] < A.strides[1]:  # columns are contiguous: the same cycles, backwards
        cycle, potential = search(A.T, semiring, allowed)
        return cycle[:1] + cycle[:0:-1], -potential
    base, rate = lengths.slack(A.dtype, allowed)
    relax, absent = load("semiring.kernels.cpu.routes.cycles").relax, dtypes.zero(semiring, A.dtype)
    cycle, potential = relax(A, absent, lengths.sign, lengths.logarithmic, base, rate)
    if not (cycle or lengths.logarithmic) and (down := headroom(dtypes.largest_finite(A), len(A))) < 1:
        cycle, potential = relax(A * down, absent, lengths.sign, False, base, rate)  # sums may have left float64
        with np.errstate(over="ignore"):
            potential /= down
    first = cycle.index(min(cycle)) if cycle else 0
    return cycle[first:] + cycle[:first], potential


class Johnson(NamedTuple):
    """Lengths ℓ'(i, j) = max(ℓ(i, j) + h(i) − h(j), 0), with the same best walks (Johnson 1977), of NumPy or CuPy."""

    semiring: Semiring
    #: h (2, n), as `search` finds it.
    potential: np.ndarray

    @property
    def verbs(self) -> tuple[Semiring, bool]:
        """The semiring of the reweighted entries, and whether they are at least 0, as their lengths are."""
        return self.semiring, bool(self.semiring.lengths and self.semiring.add.selects == "least")

    def reweight(self, A: Array) -> None:
        """A ← A', in place, a few rows at a time."""
        lengths = Lengths.required(self.semiring)
        absent = dtypes.zero(self.semiring, A.dtype)
        top = float(np.finfo(A.dtype).max)
        top = math.log(top) if lengths.logarithmic else top  # an edge stays one, however long it becomes
        for part, shift in _parts(A, self.potential, self.potential):
            old = lengths.of_entries(part, absent)
            new = (old + shift).clip(0.0, top) + 0.0
            new[old == math.inf] = math.inf
            part[...] = lengths.to_entries(new)

    def restore(self, D: Array) -> None:
        """D ← closure of A from that of A'."""
        every = slice(0, len(D))
        self.restore_window(D, every, every)
        D[range(len(D)), range(len(D))] = dtypes.one(self.semiring, D.dtype)

    def restore_window(self, D: Array, rows: slice, columns: slice) -> None:
        """These rows and columns of a closure: ℓ(i, j) = ℓ'(i, j) − h(i) + h(j)."""
        lengths = Lengths.required(self.semiring)
        absent = dtypes.zero(self.semiring, D.dtype)
        for part, shift in _parts(D, self.potential[:, rows], self.potential[:, columns]):
            with np.errstate(over="ignore"):
                part[...] = lengths.to_entries(lengths.of_entries(part, absent) - shift)


def _parts(A: Array, left: np.ndarray, above: np.ndarray) -> Array:
    """(rows of A, h(i) − h(j)) a few rows at a time; h of its rows, and of its columns."""
    xp = module(A)
    (high, low), (high_j, low_j) = xp.asarray(left), xp.asarray(above)
    for (i,) in dtypes.chunks(A, dtypes.TOGETHER):
        yield A[i], (high[i, None] - high_j[None, :]) + (low[i, None] - low_j[None, :])
