"""Which subtrees of an elimination tree threads take, one by one, before all work together on what is above them.

(Geist and Ng 1989, "Task scheduling for parallel sparse Cholesky factorization".)
"""

from __future__ import annotations

from heapq import heapreplace
from weakref import WeakKeyDictionary

import numpy as np

from .structure import Ranges, Structure, below

#: What a thread computes of a front that all work on, to what it does of a subtree of its own.
TOGETHER = 0.5
#: Into how many subtrees for each thread the work is divided, roughly.
PARTS = 1, 2, 3, 4, 6, 8

_found: WeakKeyDictionary[Structure, dict[tuple[int, int], Ranges]] = WeakKeyDictionary()


def costs(structure: Structure, each: int) -> np.ndarray:
    """What all supernodes before s cost, for every s and the end, where one costs its pairs and `each`."""
    return structure.work + each * np.arange(len(structure) + 1)


def shares(structure: Structure, each: int, threads: int) -> Ranges:
    """The subtrees with which all is done soonest, where a supernode costs its pairs and `each`; worked out once.

    Few large ones leave little above them; many small ones go up evenly.
    """
    known = _found.setdefault(structure, {})
    if (each, threads) not in known:
        known[each, threads] = divided(structure, costs(structure, each), threads)
    return known[each, threads]


def divided(structure: Structure, cost: np.ndarray, threads: int, *, together: float = TOGETHER) -> Ranges:
    """The same where cost[s] is that of all supernodes before s; `together` is what a thread does of what is above."""
    found = (subtrees(structure, cost, int(cost[-1]) // (parts * threads)) for parts in PARTS)
    return min(found, key=lambda ranges: _time(ranges, cost, threads, together))


def _time(ranges: Ranges, cost: np.ndarray, threads: int, together: float = TOGETHER) -> float:
    """Until all is done: the next subtree goes to the first free thread, and all do the rest."""
    loads = [0] * threads
    for start, stop in ranges:
        heapreplace(loads, loads[0] + int(cost[stop] - cost[start]))
    return max(loads) + (int(cost[-1]) - sum(loads)) / (together * threads)


def subtrees(structure: Structure, cost: np.ndarray, most: int) -> Ranges:
    """Subtrees that cost about so much at most, those that cost most first; cost[s] is that of all before s."""
    found = below(structure.parent, structure.leaf, cost, most)
    return sorted(found, key=lambda span: cost[span[0]] - cost[span[1]])
