"""What a few steps from some sources tell of searches: whether they end soon, meet, and how many levels they have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Vertices of a neighbourhood and its levels, at most; sources that are tried, and of which no more are cut off.
VERTICES, LEVELS, TRIED, ENOUGH = 128, 24, 16, 2
#: Vertices of a level below which a graph is narrow, and arcs a new vertex above which most of them close cycles, which
#: they do in the plane and in space: such a graph has more levels than the logarithm of its vertices.
NARROW, CLOSED = 16, 2.0
#: Levels of so many vertices in the plane, at least.
PLANAR = 5


@dataclass(frozen=True)
class Neighbourhoods:
    """Breadth-first searches from a few sources, cut off soon.

    Attributes
    ----------
    cut : float
        The share of the sources that reach more than was looked at.
    few : float
        Vertices that the others reach, over all that were tried.
    arcs : float
        Arcs that were followed to find a vertex, where searches were cut off.
    levels, vertices : float
        Levels until then, and vertices on them.
    """

    cut: float = 1.0
    few: float = 0.0
    arcs: float = 1.0
    levels: float = 1.0
    vertices: float = VERTICES

    @property
    def planar(self) -> bool:
        """Whether it grows as in the plane or slower, where eliminations fill in little."""
        return self.levels >= PLANAR and self.confined

    @property
    def confined(self) -> bool:
        """Whether levels stay narrow, or most arcs lead back."""
        return self.width < NARROW or self.arcs > CLOSED

    @property
    def width(self) -> float:
        """Vertices of a level."""
        return self.vertices / self.levels

    def deep(self, n: int) -> float:
        """About how many levels a search through n vertices has."""
        more, seen = max(1.0, n / self.vertices), math.log(self.vertices)
        if self.levels > 1 and self.confined:
            return self.levels * more ** (math.log(self.levels) / seen)
        return self.levels * (1 + math.log(more) / seen)


def around(start: np.ndarray, heads: np.ndarray, sources: np.ndarray) -> Neighbourhoods:
    """The neighbourhoods of some of the sources, in a graph in compressed rows.

    Notes
    -----
    50 µs a source, whatever the graph, but where vertices of many arcs are met.
    """
    tried = cut = few = arcs = levels = found = 0
    # An entry of a memoryview is a Python integer, which takes less than one of an array does.
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
            continue
        cut, arcs, levels, found = cut + 1, arcs + followed, levels + level, found + len(seen)
        if cut == ENOUGH:
            break
    if not cut:
        return Neighbourhoods(0.0, few / max(1, tried))
    return Neighbourhoods(cut / tried, few / tried, arcs / found, levels / cut, found / cut)
