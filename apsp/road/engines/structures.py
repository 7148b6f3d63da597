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
#: Heads sampled for a pattern's hash.
SAMPLE = 1 << 8


class Structures:
    """Cached structures, and seconds spent on other patterns, which are known by the heads of their arcs."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, Analysis] = OrderedDict()
        self._spent: OrderedDict[int, float] = OrderedDict()
        self._lost: dict[int, int] = {}
        self._lock = threading.Lock()

    def spent(self, heads: np.ndarray, lines: float = float("inf")) -> float:
        """Seconds spent on this pattern so far.

        ∞ if its structure is cached; 0 if searches were faster with it, from as many vertices as `lines`.
        """
        name = _name(heads)
        with self._lock:
            if name in self._cached:
                return float("inf") if lines > self._lost.get(name, 0) else 0
            return self._spent.get(name, 0.0)

    def spend(self, heads: np.ndarray, seconds: float, lines: int = 0) -> None:
        """Charge seconds to a pattern; if its structure is cached, searches from `lines` vertices are faster."""
        name = _name(heads)
        with self._lock:
            if name in self._cached:
                self._lost[name] = max(lines, self._lost.get(name, 0))
                return
            self._spent[name] = self._spent.pop(name, 0) + seconds
            while len(self._spent) > PATTERNS:
                self._spent.popitem(last=False)

    def of(self, tails: np.ndarray, heads: np.ndarray, n: int, threads: int | None = None) -> Analysis:
        """The structure of these arcs, cached or computed."""
        name = _name(heads)
        with self._lock:
            cached = self._cached.get(name)
            if cached is not None and _same(cached, tails, heads, n):
                self._cached.move_to_end(name)
                return cached
        made = sparse.analyse((tails, heads), n, threads=threads)
        with self._lock:
            self._spent.pop(name, None)
            self._lost.pop(name, None)
            self._cached[name] = made
            while len(self._cached) > CAPACITY:
                self._lost.pop(self._cached.popitem(last=False)[0], None)
        return made


def _name(heads: np.ndarray) -> int:
    step = max(1, len(heads) // SAMPLE)  # matches are compared with all arcs
    return hash((len(heads), heads[::step].astype(np.int64).tobytes()))


def _same(cached: Analysis, tails: np.ndarray, heads: np.ndarray, n: int) -> bool:
    return cached.n == n and np.array_equal(cached.tails, tails) and np.array_equal(cached.heads, heads)


STRUCTURES = Structures()
