"""How far vertices are apart at most, for integers: known again after a change of few arcs without a look at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes
from semiring.devices import host

if TYPE_CHECKING:
    from semiring.sparse import Elimination


@dataclass(frozen=True)
class Line:
    """Entries to or from a vertex, and where there are none; the longest; arcs among those without; their sum."""

    entries: np.ndarray
    missing: np.ndarray
    most: int
    among: np.ndarray | None
    apart: float


@dataclass(frozen=True)
class Bounds:
    """How far vertices are apart at most, in lengths that are not negative.

    Two vertices are joined by way of a third, the centre. Where one of them cannot reach it, or is not reached from it,
    nor can any between them, or is: their path is no longer than all arcs among those.

    Attributes
    ----------
    farthest : float
        No distance is greater.
    heaviest : float
        No arc is longer.
    centre : int
    sign : int
        What makes lengths of entries.
    lines : tuple of Line
        From all vertices to the centre, and back; none where they may have changed.
    """

    farthest: float
    heaviest: float
    centre: int
    sign: int
    lines: tuple[Line, ...] = ()

    @classmethod
    def of(cls, E: Elimination, centre: int, sign: int, like: Bounds | None = None) -> Bounds:
        """By two lines of distances; like those of other weights, perhaps."""
        zero, found = dtypes.zero(E.semiring, E.dtype), []
        tails, heads, weights = E.analysis.tails, E.analysis.heads, E.weights
        for k, entries in enumerate((host(E.column(centre)), host(E.row(centre)))):
            missing = entries == zero
            near, far = (tails, heads) if k == 0 else (heads, tails)
            if missing.any() and bool((missing[near] & ~missing[far] & (weights != zero)).any()):
                return cls(math.inf, dtypes.largest_finite(weights), centre, sign)  # an entry that integers do not hold
            among = None
            if like is not None and like.lines and np.array_equal(missing, like.lines[k].missing):
                among = like.lines[k].among
            if among is None:
                among = np.flatnonzero(missing[tails])
                among = among[missing[heads[among]]]
            lengths = weights[among]
            apart = float(np.abs(lengths[lengths != zero].astype(np.float64)).sum())
            found.append(Line(entries, missing, int((sign * entries[~missing]).max()), among, apart))
        return cls._joined(dtypes.largest_finite(weights), centre, sign, *found)

    @classmethod
    def _joined(cls, heaviest: float, centre: int, sign: int, into: Line, out: Line) -> Bounds:
        # Together, so that it holds of what is missing only because integers do not hold it, too.
        return cls(into.most + out.most + max(into.apart, out.apart), heaviest, centre, sign, (into, out))

    def changed(
        self, ends: list[tuple[int, int]], weights: list[list[float]], E: Elimination, before: Elimination
    ) -> Bounds:
        """After these arcs have become so long, [from, to]: E instead of `before`.

        As long as no arc leaves a shortest path to or from the centre, or makes one shorter, lines stay. Else a path is
        one of before, but for arcs that are longer now, or closed: those are replaced by the way around.
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
            if math.inf in (was, after) and was != after:  # ends that are joined without this arc stay joined
                around = self._length((E if after == math.inf else before).entry(u, v), zero)
                if around == math.inf:
                    if not lines:
                        return Bounds.of(E, self.centre, self.sign)
                    found = (self._again(k, lines[k], E, heaviest) if stale[k] else lines[k] for k in range(2))
                    return self._joined(heaviest, self.centre, self.sign, *found)
            farthest += max(0, around - was) if was < math.inf else 0
        return Bounds(farthest, heaviest, self.centre, self.sign)

    def scaled(self, before: np.ndarray, after: np.ndarray, zero: Any) -> Bounds | None:
        """With other weights of all arcs: a path of before is longer at most as the arc is that has grown most."""
        if not np.array_equal(before == zero, after == zero) or after[before == 0].any():
            return None
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN, which counts for nothing
            factor = float(np.fmax.reduce(np.divide(after, before, dtype=np.float32), initial=0))
        if (after.min() if self.sign > 0 else -after.max()) < 0:
            return None
        return Bounds(factor * self.farthest * (1 + 2**-20), dtypes.largest_finite(after), self.centre, self.sign)

    def _again(self, k: int, old: Line, E: Elimination, heaviest: float) -> Line:
        """A line; two arcs of a path at most lead to and from each vertex that is newly missing."""
        entries = host(E.row(self.centre) if k else E.column(self.centre))
        missing = entries == dtypes.zero(E.semiring, E.dtype)
        newly = int(np.count_nonzero(missing & ~old.missing))
        most = int((self.sign * entries[~missing]).max())
        return Line(entries, missing, most, None, old.apart + 2 * newly * heaviest)

    def _length(self, entry: Any, zero: Any) -> float:
        return math.inf if entry == zero else self.sign * int(entry)
