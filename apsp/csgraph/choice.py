"""Which engine answers: the one whose predicted time is least.

The dense closure does n³ pairs. Elimination does what its structure counts, once that is known; finding it out takes
time too. SciPy's Dijkstra takes a search a source. A structure is looked for where that is cheap beside the answer, or
where earlier questions about the same pattern have already taken as long as looking would have: then one more look at
most doubles what was spent (the rule for renting or buying skis).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.catalog import min_plus

from .. import estimates
from .conversion import Network

#: Questions that take less than this, in seconds, are not worth a thought.
SHORT = 1.2e-3
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


def choose(network: Network, sources: int, threads: int) -> Choice:
    """The engine for so many rows of a network's distances."""
    n, arcs, dtype = network.n, network.size, network.dtype
    seconds = {"dense": estimates.closure(n, min_plus, dtype, pairs=n**3, threads=threads)}
    if dtype.kind == "f":  # SciPy computes in float64
        one = estimates.search(n, arcs, "dijkstra")
        seconds["search"] = sources * one * (1 if network.least >= 0 else 2)  # Johnson's weights take as long
    best = min(seconds, key=lambda name: seconds[name])
    if arcs > CROWDED * n or seconds[best] < SHORT:
        return Choice(best, seconds)
    thin = network.arcs()
    analysis, fresh = STRUCTURES.find(thin, seconds[best])
    if analysis is None:
        return Choice(best, seconds)
    seconds["elimination"] = estimates.elimination(
        analysis.cost, n, len(analysis.tails), sources, dtype.itemsize, threads=threads, known=not fresh
    ).seconds
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
            before = self._spent.pop(name, 0.0)
            look = estimates.counting(thin.n, len(tails))
            if look > SHARE * otherwise and look > before:
                self._spent[name] = before + otherwise
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
