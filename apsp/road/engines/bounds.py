"""Upper bounds of distances, for integers, updated after changes of few arcs without a pass over all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semiring import sparse
from semiring.algebra import dtypes
from semiring.host.devices import host
from semiring.host.types import Scalar


@dataclass(frozen=True)
class Line:
    """Distances to or from the centre, the mask of missing ones, the longest, the sum of arcs among those missing."""

    entries: np.ndarray
    missing: np.ndarray
    most: int
    apart: float


@dataclass(frozen=True)
class Bounds:
    """An upper bound of all distances, for non-negative lengths.

    Two vertices are joined by way of the centre. If one of them cannot reach it (or be reached), nor can any vertex
    between them: their path is no longer than all arcs among such vertices. `farthest` bounds distances, `heaviest`
    arcs; `sign` makes lengths of entries; `lines` are those to and from the centre, empty if outdated.
    """

    farthest: float
    heaviest: float
    centre: int
    sign: int
    lines: tuple[Line, ...] = ()

    @classmethod
    def of(cls, E: sparse.Elimination, weights: np.ndarray, centre: int, sign: int) -> Bounds:
        """From two lines of distances."""
        zero, heaviest, found = dtypes.zero(E.semiring, E.dtype), dtypes.largest_finite(weights), []
        ends = E.analysis.tails, E.analysis.heads
        for (near, far), entries in zip((ends, ends[::-1]), map(host, (E.column(centre), E.row(centre))), strict=True):
            missing = entries == zero
            among = np.flatnonzero(missing[near])
            among = among[weights[among] != zero]
            if not missing[far[among]].all():
                return cls(math.inf, heaviest, centre, sign)  # an entry overflowed
            apart = float(np.abs(weights[among].astype(np.float64)).sum())
            found.append(Line(entries, missing, int((sign * entries[~missing]).max()), apart))
        return cls._joined(heaviest, centre, sign, *found)

    @classmethod
    def _joined(cls, heaviest: float, centre: int, sign: int, into: Line, out: Line) -> Bounds:
        # Summed, to hold also for entries missing only by overflow.
        return cls(into.most + out.most + max(into.apart, out.apart), heaviest, centre, sign, (into, out))

    def changed(
        self, ends: list[tuple[int, int]], weights: list[list[float]], E: sparse.Elimination, before: sparse.Elimination
    ) -> Bounds:
        """The bound after arcs changed [from, to], with E instead of `before`.

        Lines stay if no arc leaves, or shortens, a shortest path to or from the centre. Otherwise a path is an old one
        with arcs that grew or closed replaced by their detours.
        """
        farthest, heaviest = self.farthest, max([self.heaviest, *(x for _, x in weights if x < math.inf)])
        zero = dtypes.zero(E.semiring, E.dtype)
        stale = [False, False]
        for (u, v), (was, after) in zip(ends, weights, strict=True):
            for k, line in enumerate(self.lines):
                one, other = (self._length(line.entries[x], zero) for x in ((u, v) if k == 0 else (v, u)))
                stale[k] |= was != after and other < math.inf and (one == was + other or after + other < one)
        lines = self.lines
        for (u, v), (_, after) in zip(ends, weights, strict=True):
            if after < math.inf and any(line.missing[x] for line in lines for x in (u, v)):
                lines = tuple(replace(line, apart=line.apart + after) for line in lines)
        if lines and not any(stale):
            return self._joined(heaviest, self.centre, self.sign, *lines)
        for (u, v), (was, after) in zip(ends, weights, strict=True):
            around = after
            if math.inf in (was, after) and was != after:  # ends joined without this arc stay joined
                around = self._length((E if after == math.inf else before).entry(u, v), zero)
                if around == math.inf:
                    if not lines:
                        return Bounds.of(E, E.weights, self.centre, self.sign)
                    found = (self._again(k, lines[k], E, heaviest) if stale[k] else lines[k] for k in range(2))
                    return self._joined(heaviest, self.centre, self.sign, *found)
            farthest += max(0, around - was) if was < math.inf else 0
        return Bounds(farthest, heaviest, self.centre, self.sign)

    def scaled(self, before: np.ndarray, after: np.ndarray, zero: Scalar) -> Bounds | None:
        """The bound for new weights of all arcs: paths grow at most by the largest ratio; None if not applicable."""
        if not np.array_equal(before == zero, after == zero):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is NaN, ignored
            factor = float(np.fmax.reduce(np.divide(after, before, dtype=np.float32), initial=0))
        if factor == math.inf or (after.min() if self.sign > 0 else -after.max()) < 0:
            return None
        return Bounds(factor * self.farthest * (1 + 2**-20), dtypes.largest_finite(after), self.centre, self.sign)

    def _again(self, k: int, old: Line, E: sparse.Elimination, heaviest: float) -> Line:
        """A recomputed line; a path has at most two arcs at each newly missing vertex."""
        entries = host(E.row(self.centre) if k else E.column(self.centre))
        missing = entries == dtypes.zero(E.semiring, E.dtype)
        newly = int(np.count_nonzero(missing & ~old.missing))
        most = int((self.sign * entries[~missing]).max())
        return Line(entries, missing, most, old.apart + 2 * newly * heaviest)

    def _length(self, entry: Any, zero: Scalar) -> float:
        return math.inf if entry == zero else self.sign * int(entry)
