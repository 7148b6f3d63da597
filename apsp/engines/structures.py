"""Structures of patterns that were asked about before: to be found again by their arcs, or looked for when that pays.

Looking for a structure pays where earlier questions about the same pattern have taken as long as looking would: then
one look at most doubles what was spent (the rule for renting or buying skis).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from semiring import sparse

if TYPE_CHECKING:
    from semiring.sparse import Analysis

#: Structures that are remembered, and patterns that questions are counted of.
CAPACITY, PATTERNS = 4, 64
#: Arcs of which the name of a pattern is made.
SAMPLE = 1 << 14


class Structures:
    """A few structures, and the seconds that questions about other patterns took."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, Analysis] = OrderedDict()
        self._spent: OrderedDict[int, float] = OrderedDict()
        self._lock = threading.Lock()

    def spent(self, tails: np.ndarray, heads: np.ndarray) -> float:
        """Seconds spent on this pattern so far; ∞ where its structure is known."""
        name = _name(tails, heads)
        with self._lock:
            return float("inf") if name in self._cached else self._spent.get(name, 0.0)

    def like(self, n: int, arcs: int) -> bool:
        """Whether the structure of a pattern of so many vertices and arcs is known."""
        with self._lock:
            return any(cached.n == n and len(cached.tails) == arcs for cached in self._cached.values())

    def spend(self, tails: np.ndarray, heads: np.ndarray, seconds: float) -> None:
        """Remember that a question about this pattern took so long without its structure."""
        name = _name(tails, heads)
        with self._lock:
            if name not in self._cached:
                self._spent[name] = self._spent.pop(name, 0.0) + seconds
                while len(self._spent) > PATTERNS:
                    self._spent.popitem(last=False)

    def of(self, tails: np.ndarray, heads: np.ndarray, n: int, threads: int | None = None) -> Analysis:
        """The structure of these arcs: the one that is known, or found now and remembered."""
        name = _name(tails, heads)
        with self._lock:
            cached = self._cached.get(name)
            if cached is not None and _same(cached, tails, heads, n):
                self._cached.move_to_end(name)
                return cached
        made = sparse.analyse((tails, heads), n, threads=threads)
        with self._lock:
            self._spent.pop(name, None)
            self._cached[name] = made
            while len(self._cached) > CAPACITY:
                self._cached.popitem(last=False)
        return made


def _name(tails: np.ndarray, heads: np.ndarray) -> int:
    step = max(1, len(tails) // SAMPLE)  # what is found by this name is compared with all arcs
    return hash((len(tails), tails[::step].tobytes(), heads[::step].tobytes()))


def _same(cached: Analysis, tails: np.ndarray, heads: np.ndarray, n: int) -> bool:
    return cached.n == n and np.array_equal(cached.tails, tails) and np.array_equal(cached.heads, heads)


STRUCTURES = Structures()
