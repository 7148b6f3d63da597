"""Division of an elimination tree into subtrees for threads, before all threads share the top.

Geist and Ng 1989, "Task scheduling for parallel sparse Cholesky factorization".
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapreplace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from .structure import Ranges, Structure, below

T = TypeVar("T")

#: Efficiency of a thread on a shared front, relative to a subtree of its own.
TOGETHER = 0.5
#: Numbers of subtrees per thread to try, roughly.
PARTS = 1, 2, 3, 4, 6, 8

_known: WeakKeyDictionary[Structure, dict[Any, Any]] = WeakKeyDictionary()


def once(structure: Structure, key: Any, make: Callable[[], T]) -> T:
    """Cache by structure and key; entries live as long as the structure."""
    known: dict[Any, T] = _known.setdefault(structure, {})
    if key not in known:
        known[key] = make()
    return known[key]


def costs(structure: Structure, each: int) -> np.ndarray:
    """Prefix sum of supernode costs: pairs plus `each`."""
    return structure.work + each * np.arange(len(structure) + 1)


def shares(structure: Structure, each: int, threads: int) -> Ranges:
    """Subtrees that minimise the estimated time, cached; supernodes cost their pairs plus `each`.

    Few large subtrees leave little above them; many small ones balance well.
    """
    return once(structure, (each, threads), lambda: divided(structure, costs(structure, each), threads))


def divided(structure: Structure, cost: np.ndarray, threads: int, *, together: float = TOGETHER) -> Ranges:
    """`shares` for a prefix sum of costs; `together`: efficiency of threads on the top."""
    found = (subtrees(structure, cost, int(cost[-1]) // (parts * threads)) for parts in PARTS)
    return min(found, key=lambda ranges: _time(ranges, cost, threads, together))


def _time(ranges: Ranges, cost: np.ndarray, threads: int, together: float = TOGETHER) -> float:
    """Estimated makespan: greedy list scheduling of subtrees, then the rest by all threads."""
    loads = [0] * threads
    for start, stop in ranges:
        heapreplace(loads, loads[0] + int(cost[stop] - cost[start]))
    return max(loads) + (int(cost[-1]) - sum(loads)) / (together * threads)


def subtrees(structure: Structure, cost: np.ndarray, most: int) -> Ranges:
    """Subtrees of cost about `most`, costliest first; cost is a prefix sum."""
    found = below(structure.parent, structure.leaf, cost, most)
    return sorted(found, key=lambda span: cost[span[0]] - cost[span[1]])
