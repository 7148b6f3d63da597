"""Cycles that beat `one` where ⊕ selects: found by Bellman–Ford, or ruled out by potentials (Johnson 1977)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dtypes
from .algebra import Semiring
from .devices import module
from .errors import AlgebraError, DivergenceError, NegativeCycleError
from .signals import load
from .types import Array, DType

#: The spacing of float64 at 1, in which lengths are computed.
_EPS = 2.0**-52


@dataclass(frozen=True)
class Lengths:
    """The entries of a semiring as lengths ℓ to be minimised: ±x where ⊗ adds, ±log x where it multiplies.

    A walk then weighs the sum of its edges' lengths, ⊕ keeps the shortest walk, `zero` is ∞ and `one` is 0.

    Attributes
    ----------
    sign : float
        1 where ⊕ keeps the least entry, −1 where it keeps the greatest.
    logarithmic : bool
    """

    sign: float
    logarithmic: bool

    @classmethod
    def of(cls, semiring: Semiring) -> Lengths | None:
        """How this semiring's entries are lengths; None where they are not.

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
    def required(cls, semiring: Semiring) -> Lengths:
        """The same, for a semiring that must have lengths.

        Raises
        ------
        AlgebraError
            If it has none.
        """
        lengths = cls.of(semiring)
        if lengths is None:
            raise AlgebraError(f"cycles: ⊕ must select and ⊗ add, or multiply numbers ≥ 0, got {semiring.name}.")
        return lengths

    def of_entries(self, entries: Any, absent: Any) -> Any:
        """Lengths, as float64, of an array (NumPy or CuPy) in which `absent` marks what is no edge."""
        with np.errstate(divide="ignore"):
            lengths = entries.astype(np.float64)
            lengths = np.log(lengths) if self.logarithmic else lengths
            lengths = -lengths if self.sign < 0 else lengths
        missing = entries == absent
        if missing.any():
            lengths[missing] = math.inf
        return lengths

    def to_entries(self, lengths: Any) -> Any:
        """The entries that have these lengths, as float64."""
        return np.exp(self.sign * lengths) if self.logarithmic else self.sign * lengths

    def slack(self, dtype: DType, allowed: float) -> tuple[float, float]:
        """(base, rate): rounding may take `allowed` · (base + rate · |ℓ|) from an edge of length ℓ.

        A sum is off by eps · |x| an edge; of integers it is exact. A product is off by a factor of 1 + eps an edge,
        which is eps in its logarithm, and that itself is rounded.
        """
        eps = float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0
        if self.logarithmic:
            return allowed * max(eps, _EPS), allowed * 2 * _EPS
        return 0.0, allowed * eps

    def exact(self, A: Array) -> bool:
        """Whether no walk of this matrix is rounded: sums of integers, and products of powers of two in range.

        Examples
        --------
        >>> import numpy as np
        >>> Lengths(-1.0, True).exact(np.array([[1.0, 8.0], [0.125, 1.0]]))
        True
        """
        if not self.logarithmic:
            return bool(A.dtype.kind == "i")
        longest = 0  # in powers of two: that of the largest edge out of each vertex
        for part in dtypes.parts(A):
            edges = np.isfinite(part) & (part != 0)
            mantissa, exponent = np.frexp(np.where(edges, part, 1))
            if bool((mantissa != 0.5).any()):
                return False
            longest += int(abs(exponent - 1).max(axis=1).sum())
        return longest < -int(np.finfo(A.dtype).minexp)

    def rounding(self, edges: Any) -> tuple[float, bool]:
        """The length of a cycle with these entries, in order, and whether it is not negative but for rounding.

        With m edges, and P the largest |sum| of lengths along a part of it, a cycle of exact length Σℓ is negative if

            its sums are exact      Σℓ < 0
            other sums of floats    Σℓ < −2√m · eps · P
            products                Σℓ < −2√m · eps − 2⁻⁵¹ · Σ|ℓ|

        so that only its own edges matter. Each weight, and each sum along the cycle, is rounded by no more than
        eps / 2 · P, and √m is how the errors of m roundings add up (Higham and Mary 2019, "A new approach to
        probabilistic rounding error analysis"); their bound, m, would hide long cycles. Sums are exact of integers, and
        of floats that are multiples of some q with P < q / eps, such as small whole numbers.

        Examples
        --------
        >>> import numpy as np
        >>> tropical = Lengths(1.0, False)
        >>> tropical.rounding(np.array([0.1, 0.7, -0.8]))[1]
        True
        >>> tropical.rounding(np.array([1e6, 3.0, -1000004.0]))
        (-1.0, False)
        """
        if edges.dtype.kind == "i" and not self.logarithmic:
            length = int(self.sign) * sum(edges.tolist())
            return float(length), length >= 0
        x = edges.astype(np.float64)
        lengths = self.sign * (np.log(x) if self.logarithmic else x)
        length, twice = math.fsum(lengths), 2 * math.sqrt(len(x))
        base, rate = self.slack(edges.dtype, 1.0)
        if self.logarithmic:
            return length, length >= -(twice * base + rate * math.fsum(abs(lengths)))
        part = float(np.ptp(np.concatenate([[0.0], lengths.cumsum()])))
        exact = part * rate < _quantum(x)
        return length, length >= -(0.0 if exact else twice * rate * part)


@dataclass(frozen=True)
class Tolerance:
    """Which cycles are none although they are negative: all sums are rounded, and weights may have been before.

    Parameters
    ----------
    lengths : Lengths
    most : float, optional
        A cycle is negative whose length is less than −most. Without it, where m edges have P for the largest |sum| of
        lengths along a part of the cycle, one less than −2√m · eps · P, and than −2√m · min(eps, √eps · P): the
        logarithm of a rounded factor is off by eps, however small it is. Integers and products are as in
        `Lengths.rounding`.
    """

    lengths: Lengths
    most: float | None = None

    def rounding(self, edges: Any) -> tuple[float, bool]:
        """`Lengths.rounding` with this tolerance."""
        length, rounding = self.lengths.rounding(edges)
        if self.most is not None:
            return length, length >= -self.most
        if rounding or self.lengths.logarithmic or edges.dtype.kind == "i":
            return length, rounding
        part = float(np.ptp(np.concatenate([[0.0], edges.astype(np.float64).cumsum()])))
        return length, length >= -2 * math.sqrt(len(edges)) * float(self._rounded(part, edges.dtype))

    def slack(self, length: Any, dtype: DType, n: int) -> Any:
        """What may be added to each length of a graph of n vertices, time and again, until no such cycle is left."""
        base, rate = self.lengths.slack(dtype, 1.0)
        granted = base + rate * np.abs(length)
        if self.most is not None:
            return granted + self.most / n
        return granted if self.lengths.logarithmic or not rate else self._rounded(np.abs(length), dtype)

    def _rounded(self, size: Any, dtype: DType) -> Any:
        eps = float(np.finfo(dtype).eps)
        return np.maximum(eps * size, np.minimum(eps, math.sqrt(eps) * size))


def searchable(semiring: Semiring) -> bool:
    """Whether searches find the best walks of a semiring, by vector instructions."""
    if semiring.add.selects is None or not (semiring.add.simd and semiring.mul.simd):
        return False
    return Lengths.of(semiring) is not None or {semiring.add.simd, semiring.mul.simd} == {"min", "max"}


def _quantum(x: np.ndarray) -> float:
    """The largest power of 2 of which all these floats are multiples; ∞ if all are 0."""
    ratios = (value.as_integer_ratio() for value in x.tolist() if value)
    return min(((above & -above) / below for above, below in ratios), default=math.inf)


def cycle_error(cycle: list[int], length: float, semiring: Semiring, *, where: str) -> DivergenceError:
    """The error that names a cycle and its weight."""
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
    """A cycle of negative length, or potentials that show that there is none.

    Bellman–Ford–Moore with Tarjan's subtree disassembly, in compiled code; rows of A are read in place, and the
    workspace is a few vectors alone. At most n³ steps, in practice n² · log n.

    Parameters
    ----------
    A : NumPy array, shape (n, n)
        A matrix over `semiring`, for which `Lengths.of` is not None.
    semiring : Semiring
    allowed : float
        Each edge of length ℓ is taken to be `Lengths.slack` longer, so that rounding makes no cycle negative. A
        negative number requests cycles that are too short, though positive.

    Returns
    -------
    cycle : list of int
        Its vertices in order, the first not repeated; empty if there is none.
    potential : float64 array, shape (2, n)
        Without a cycle, h = potential.sum(axis=0), to twice a float's digits, satisfies
        ℓ(i, j) + slack + h(i) − h(j) ≥ 0 for every edge.

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
    relax = load("semiring.cpu.routes.cycles").relax
    cycle, potential = relax(A, dtypes.zero(semiring, A.dtype), lengths.sign, lengths.logarithmic, base, rate)
    first = cycle.index(min(cycle)) if cycle else 0
    return cycle[first:] + cycle[:first], potential


def reweight(A: Array, semiring: Semiring, potential: np.ndarray) -> None:
    """A ← A', whose lengths ℓ'(i, j) = max(ℓ(i, j) + h(i) − h(j), 0) have the same best walks (Johnson 1977).

    In place, a few rows at a time; A is NumPy or CuPy.
    """
    lengths = Lengths.required(semiring)
    absent = dtypes.zero(semiring, A.dtype)
    top = float(np.finfo(A.dtype).max)
    top = math.log(top) if lengths.logarithmic else top  # an edge stays one, however long it becomes
    for part, shift in _parts(A, potential, potential):
        old = lengths.of_entries(part, absent)
        new = (old + shift).clip(0.0, top) + 0.0
        new[old == math.inf] = math.inf
        part[...] = lengths.to_entries(new)


def restore(
    D: Array, semiring: Semiring, potential: np.ndarray, rows: slice = slice(None), columns: slice = slice(None)
) -> None:
    """D ← the closure of A, where D is the closure of the reweighted A: ℓ(i, j) = ℓ'(i, j) − h(i) + h(j).

    Of a window of it, where D has these rows and columns alone.
    """
    lengths = Lengths.required(semiring)
    absent = dtypes.zero(semiring, D.dtype)
    for part, shift in _parts(D, potential[:, rows], potential[:, columns]):
        with np.errstate(over="ignore"):
            part[...] = lengths.to_entries(lengths.of_entries(part, absent) - shift)


def _parts(A: Array, left: np.ndarray, above: np.ndarray) -> Any:
    """A few rows of A at a time, with h(i) − h(j) for their entries; h of its rows, and of its columns."""
    xp = module(A)
    (high, low), (high_j, low_j) = xp.asarray(left), xp.asarray(above)
    rows = max(1, (1 << 16) // max(A.shape[1], 1))
    for start in range(0, len(A), rows):
        i = slice(start, start + rows)
        yield A[i], (high[i, None] - high_j[None, :]) + (low[i, None] - low_j[None, :])
