"""Statistics of short breadth-first searches: whether searches end soon, meet, and have many levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Maximum vertices and levels of a neighbourhood; sources tried.
VERTICES, LEVELS, TRIED = 128, 24, 16
#: Neighbourhoods that suffice, cut off or else whole; and for few searches, which take about as long.
ENOUGH, FEW = (2, 4), (1, 2)
#: Level width below which a graph is narrow; arcs per new vertex above which most close cycles, as in the plane and in
#: space. Either means more levels than log n.
NARROW, CLOSED = 16, 2.0
#: Minimum levels of a neighbourhood in the plane.
PLANAR = 5


@dataclass(frozen=True)
class Neighbourhoods:
    """Truncated breadth-first searches from a few sources.

    `cut` is the share of sources whose search was truncated; `few` the vertices reached from the others, over all
    tried; `arcs` the arcs followed per vertex found, `levels` and `vertices` those of truncated searches.
    """

    cut: float = 1.0
    few: float = 0.0
    arcs: float = 1.0
    levels: float = 1.0
    vertices: float = VERTICES

    @property
    def planar(self) -> bool:
        """Whether it grows as in the plane or slower, with little fill in eliminations."""
        return self.levels >= PLANAR and self.confined

    @property
    def confined(self) -> bool:
        """Whether levels stay narrow, or most arcs lead back."""
        return self.width < NARROW or self.arcs > CLOSED

    @property
    def width(self) -> float:
        return self.vertices / self.levels

    def deep(self, n: int) -> float:
        """The estimated number of levels of a search through n vertices."""
        more, seen = max(1.0, n / self.vertices), math.log(self.vertices)
        if self.levels > 1 and self.confined:
            return self.levels * more ** (math.log(self.levels) / seen)
        return self.levels * (1 + math.log(more) / seen)


def around(
    start: np.ndarray, heads: np.ndarray, sources: np.ndarray, enough: tuple[int, int] = ENOUGH
) -> Neighbourhoods:
    """The neighbourhoods of some sources, in CSR, until `enough` are cut off or whole; about 50 µs each."""
    tried = cut = few = arcs = levels = found = 0
    # Entries of a memoryview are Python ints, cheaper than array scalars.
    begin, ends = (memoryview(np.require(x, requirements="A").data) for x in (start, heads))
    for source in sources[:TRIED].tolist():
        seen, front, level, followed = {source}, [source], 0, 0
        while front and len(seen) < VERTICES and level < LEVELS:
            level += 1
            nearer, front = front, []
            for u in nearer:
                first, last = begin[u], begin[u + 1]
                new = ends[first : min(last, first + 2 * VERTICES)].tolist()
                followed += len(new)
                for v in new:
                    if v not in seen:
                        seen.add(v)
                        front.append(v)
                if len(seen) >= VERTICES:
                    break
        tried += 1
        if not front:
            few += len(seen)
            if not cut and (tried == enough[1] or few >= VERTICES):
                break
            continue
        cut, arcs, levels, found = cut + 1, arcs + followed, levels + level, found + len(seen)
        if cut == enough[0]:
            break
    if not cut:
        return Neighbourhoods(0.0, few / max(1, tried))
    return Neighbourhoods(cut / tried, few / tried, arcs / found, levels / cut, found / cut)
