"""Which engine answers: the one whose predicted time is least.

The dense closure does n³ pairs. Elimination does what its structure counts, once that is known; finding it out takes
time too. SciPy's Dijkstra takes a search a source. A structure is looked for where that is cheap beside the answer, or
where earlier questions about the same pattern have already taken as long as looking would have: then one more look at
most doubles what was spent (the rule for renting or buying skis).
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conversion import Network

#: Pairs a second of one thread: the closure in float64, elimination, sweeps.
DENSE, FRONTS, SWEEPS = 2e10, 8e9, 1.2e10
#: Seconds for an entry that is written, a dense closure's and a sweep's.
ENTRY, LANE = 6e-9, 0.8e-9
#: Seconds to look for a structure, and for each vertex and arc in that.
LOOK, LOOK_EACH = 3e-4, 3.5e-7
#: Seconds that SciPy's Dijkstra takes for a vertex and each doubling of their number, and for an arc.
VERTEX, ARC = 1.2e-8, 7e-9
#: What a look may take of the best that is known.
SHARE = 0.2
#: Arcs a vertex from which elimination is as good as dense.
CROWDED = 16
#: Structures that are remembered, and patterns that questions are counted of.
KEPT, COUNTED = 4, 64


@dataclass(frozen=True)
class Choice:
    """An engine, and what it was predicted to take.

    Attributes
    ----------
    engine : {"dense", "elimination", "search"}
    seconds : dict
        The prediction for each engine that was thought of.
    analysis : Analysis, optional
        The structure to eliminate.
    """

    engine: str
    seconds: dict[str, float]
    analysis: Any = None


def dense_seconds(n: int, threads: int) -> float:
    """What a dense closure takes."""
    return n**3 / (DENSE * (threads if n > 256 else 1)) + ENTRY * n * n + 2e-5


def search_seconds(n: int, arcs: int, sources: int) -> float:
    """What SciPy's Dijkstra takes from so many sources."""
    return sources * (VERTEX * n * math.log2(n + 2) + ARC * arcs) + 4e-5


def elimination_seconds(analysis: Any, sources: int, threads: int, *, fresh: bool) -> float:
    """What elimination and a row a source take, in float64."""
    cost, n = analysis.cost, analysis.n
    numbers = cost.elimination / FRONTS + (look_seconds(n, len(analysis.tails)) if fresh else 2e-4)
    return numbers + sources * (n * LANE + (cost.sweep + cost.climb) / SWEEPS) / threads + 3e-4


def look_seconds(n: int, arcs: int) -> float:
    """What finding a structure takes."""
    return LOOK + LOOK_EACH * (n + arcs)


def choose(network: Network, sources: int, threads: int) -> Choice:
    """The engine for so many rows of a network's distances."""
    n, arcs = network.n, network.size
    seconds = {"dense": dense_seconds(n, threads)}
    if network.dtype.kind == "f":  # SciPy computes in float64
        seconds["search"] = search_seconds(n, arcs, sources) * (1 if network.least >= 0 else 2)
    best = min(seconds, key=lambda name: seconds[name])
    if arcs > CROWDED * n or seconds[best] < 4 * LOOK:
        return Choice(best, seconds)
    thin = network.arcs()
    analysis, fresh = STRUCTURES.find(thin, seconds[best])
    if analysis is None:
        return Choice(best, seconds)
    seconds["elimination"] = elimination_seconds(analysis, sources, threads, fresh=fresh)
    best = min(seconds, key=lambda name: seconds[name])
    return Choice(best, seconds, analysis if best == "elimination" else None)


class Structures:
    """The structures of patterns that were seen: a few of them, found again by their arcs."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Any] = OrderedDict()
        self._spent: OrderedDict[int, float] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, thin: Network, otherwise: float) -> tuple[Any, bool]:
        """The structure of these arcs and whether it was made now; None where looking for it does not pay yet.

        `otherwise` is what the question takes without it.
        """
        tails, heads = (np.ascontiguousarray(x, dtype=np.int32) for x in (thin.tails, thin.heads))
        name = hash((thin.n, tails.tobytes(), heads.tobytes()))
        with self._lock:
            known = self._known.get(name)
            if known is not None and _same(known, tails, heads, thin.n):
                self._known.move_to_end(name)
                return known, False
            spent = self._spent.pop(name, 0.0) + otherwise
            look = look_seconds(thin.n, len(tails))
            if look > SHARE * otherwise and look > spent - otherwise:
                self._spent[name] = spent
                while len(self._spent) > COUNTED:
                    self._spent.popitem(last=False)
                return None, False
        from semiring.sparse import analyse

        made = analyse((tails, heads), thin.n)
        with self._lock:
            self._known[name] = made
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return made, True


def _same(known: Any, tails: np.ndarray, heads: np.ndarray, n: int) -> bool:
    return known.n == n and np.array_equal(known.tails, tails) and np.array_equal(known.heads, heads)


STRUCTURES = Structures()
