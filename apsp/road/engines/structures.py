"""Cache of elimination structures by arcs.

A structure is computed once questions about the same arcs have taken as long without it: at most double the best cost
(the ski rental rule).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from semiring import sparse

if TYPE_CHECKING:
    from semiring.sparse import Analysis

#: Structures cached, and patterns with counted time.
CAPACITY, PATTERNS = 4, 64
#: Arcs sampled for a pattern's hash.
SAMPLE = 1 << 14


class Structures:
    """Cached structures, and seconds spent on other patterns."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, Analysis] = OrderedDict()
        self._spent: OrderedDict[int, float] = OrderedDict()
        self._lock = threading.Lock()

    def spent(self, tails: np.ndarray, heads: np.ndarray) -> float:
        """Seconds spent on this pattern so far; ∞ if its structure is cached."""
        name = _name(tails, heads)
        with self._lock:
            return float("inf") if name in self._cached else self._spent.get(name, 0.0)

    def like(self, n: int, arcs: int) -> bool:
        """Whether a structure with n vertices and this number of arcs is cached."""
        with self._lock:
            return any(cached.n == n and len(cached.tails) == arcs for cached in self._cached.values())

    def spend(self, tails: np.ndarray, heads: np.ndarray, seconds: float) -> None:
        """Charge seconds to a pattern without a cached structure."""
        name = _name(tails, heads)
        with self._lock:
            if name not in self._cached:
                self._spent[name] = self._spent.pop(name, 0.0) + seconds
                while len(self._spent) > PATTERNS:
                    self._spent.popitem(last=False)

    def of(self, tails: np.ndarray, heads: np.ndarray, n: int, threads: int | None = None) -> Analysis:
        """The structure of these arcs, cached or computed."""
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
    step = max(1, len(tails) // SAMPLE)  # matches are compared with all arcs
    return hash((len(tails), tails[::step].tobytes(), heads[::step].tobytes()))


def _same(cached: Analysis, tails: np.ndarray, heads: np.ndarray, n: int) -> bool:
    return cached.n == n and np.array_equal(cached.tails, tails) and np.array_equal(cached.heads, heads)


STRUCTURES = Structures()
