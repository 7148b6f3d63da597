"""Sums and extremes of all distances from one pass, the input of the measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import NamedTuple

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.host.devices import module, on_device
from semiring.host.errors import DomainError, NoPathError
from semiring.host.spelling import came
from semiring.host.types import Array, Blocks, Label, Scalar

from ..io.labels import Labels


class OverPairs(float):
    """A measure over the `pairs` of different vertices with a path, `of` all pairs."""

    pairs: int
    of: int

    def __repr__(self) -> str:
        return f"{float(self)!r} over {self.pairs} of {self.of} pairs"


class FarthestPair(NamedTuple):
    """Two vertices at the diameter, and a best path between them."""

    source: Label
    target: Label
    distance: Scalar
    path: list[Label]


@dataclass(frozen=True)
class Totals:
    """Sums and extremes of all distances, from one pass.

    `inward` and `reaching` are the sum of distances to each vertex and the number of vertices that reach it, itself
    included. `total` and `inverse`, sums of distances and of reciprocals of those above 0, may exceed float64; `least`
    is at most 0; `apart` are two vertices without a path.
    """

    farthest: Array
    inward: Array
    reaching: Array
    total: Fraction
    inverse: Fraction
    least: float
    apart: tuple[int, int] | None

    @property
    def n(self) -> int:
        return len(self.farthest)

    @classmethod
    def of(cls, blocks: Blocks, n: int, dtype: np.dtype) -> Totals:
        """The totals of blocks of rows (positions, entries)."""
        farthest: Array = None
        total, inverse, least = Fraction(0), Fraction(0), 0.0
        apart, zero = None, dtypes.zero(min_plus, dtype)
        for rows, D in blocks:
            xp = module(D)
            with on_device(D):
                if farthest is None:
                    farthest, inward, reaching = xp.zeros(n, dtype), xp.zeros(n), xp.zeros(n, np.int64)
                path = D != zero
                lengths = xp.where(path, D, 0)
                least = min(float(lengths.min()), least)
                if not math.isfinite(least):
                    raise DomainError(f"measures: D must hold distances, inf for no path, got {least}.")
                if apart is None and not bool(path.all()):
                    i, j = (int(x[0]) for x in (~path).nonzero())
                    apart = int(rows[i]), j
                farthest[xp.asarray(rows)] = lengths.max(axis=1)
                with np.errstate(over="ignore"):
                    inward += lengths.sum(axis=0, dtype=np.float64)
                reaching += path.sum(axis=0)
                total += _sum(xp, lengths)
                inverse += _sum(xp, lengths, inverse=True)
        if farthest is None:
            return cls(np.zeros(0, dtype), np.zeros(0), np.zeros(0, np.int64), total, inverse, least, None)
        return cls(farthest, inward, reaching, total, inverse, least, apart)

    def connected(self, where: str, names: tuple[Labels, Labels] | None = None, *, allowed: bool = False) -> Totals:
        """Self if every vertex reaches every other, or need not, else NoPathError naming two vertices."""
        if not self.n:
            raise NoPathError(f"{where}: there must be a vertex, got a graph without any.")
        if self.apart is not None and not allowed:
            u, v = self.apart if names is None else (side[x] for side, x in zip(names, self.apart, strict=True))
            raise NoPathError(
                f"{where}: every vertex must reach every other one, got no path from {came(u)} to {came(v)}. Take the "
                "largest (strongly) connected component; of average_path_length, diameter and global_efficiency, "
                "connected=True takes the pairs that have a path."
            )
        return self

    def diameter(self, connected: bool, names: tuple[Labels, Labels] | None = None) -> Scalar:
        most = self.connected("diameter", names, allowed=connected).farthest.max().item()
        return self._over_pairs(most) if connected else most

    def _over_pairs(self, value: float) -> OverPairs:
        found = OverPairs(value)
        found.pairs, found.of = int(self.reaching.sum()) - self.n, self.n * (self.n - 1)
        return found

    def mean(self, which: str, connected: bool = False) -> float:
        """The named sum over the number of ordered pairs of different vertices, or of those with a path."""
        if which == "inverse" and self.least < 0:
            raise negative_error("global_efficiency", self.least)
        every = self._over_pairs(0.0)
        try:
            found = float(getattr(self, which) / max(every.pairs if connected else every.of, 1))
        except OverflowError:
            found = math.inf
        return self._over_pairs(found) if connected else found

    def closeness(self, wf_improved: bool) -> Array:
        xp, others = module(self.inward), self.reaching - 1
        reached = self.inward > 0
        with np.errstate(over="ignore"):
            values = xp.where(reached, others / xp.where(reached, self.inward, 1.0), 0.0)
        return values * others / (self.n - 1) if wf_improved and self.n > 1 else values


def negative_error(where: str, least: float) -> DomainError:
    return DomainError(
        f"{where}: 1 / distance must be of distances of at least 0, got {least:g}. Leave negative weights out, or take "
        "the distances themselves: reduce('total'), average_path_length()."
    )


def _sum(xp: ModuleType, lengths: Array, *, inverse: bool = False) -> Fraction:
    """Σ lengths, or Σ 1 / length over those above 0: float64 precision, unlimited range."""
    above = lengths > 0

    def scaled(exponent: int) -> float:
        """The sum for the lengths divided by 2**exponent."""
        x = xp.ldexp(lengths.astype(np.float64), -exponent) if exponent else lengths
        x = xp.where(above, 1.0 / xp.where(above, x, 1).astype(np.float64), 0.0) if inverse else x
        return float(x.sum(dtype=np.float64))

    with np.errstate(over="ignore"):
        plain = scaled(0)
        if math.isfinite(plain):
            return Fraction(plain)
        ends = lengths[above]
        exponent = math.frexp(float(ends.min() if inverse else ends.max()))[1]
        return Fraction(scaled(exponent)) * Fraction(2) ** (-exponent if inverse else exponent)
