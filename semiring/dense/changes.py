"""A closure after some arcs of its matrix change: the entries that change alone, one arc after the other.

A better arc (u, v) of weight w: D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:], O(n²). A worse one: the entries that may have led over it
are counted, and computed anew (`semiring/kernels/cpu/routes/changed.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..host.devices import diagonal, module
from ..host.signals import load
from ..host.types import Array
from ..kernels.backend import bind
from ..kernels.cpu.processors import default_threads
from .cycles import Lengths

#: Share of the entries from which an update takes as long as a closure; of truth values, closed as bits.
SHARE, OF_BITS = 1 / 20, 1 / 1000
#: Time of a step between entries that begin anew, and of one from others (a vector of them), relative to SHARE's.
SETTLED, BEGUN = 8.0, 1.5
#: Time of a change that affects nothing, likewise.
ARC = 256.0

Ends = tuple[int, int]
#: Weights of arcs by their ends.
Weights = Mapping[Ends, Any]


def put(A: Array, weights: Weights) -> None:
    """Entries of A ← weights."""
    if weights:
        i, j = module(A).asarray(list(weights)).T
        A[i, j] = module(A).asarray(list(weights.values()), A.dtype)


def follow(D: Array, A: Array, changes: Weights, s: Semiring, *, threads: int | None = None) -> int | None:
    """D ← the closure of A after `changes`, from that before; the number of entries computed anew. A stays.

    All in D's dtype, D C-contiguous. None, with D spoilt unless there is one change, if the matrix is to be closed
    anew: where that is cheaper, ⊕ does not select, sums might leave the integers, a cycle might beat `one`, or an arc
    gets worse on a GPU.
    """
    if s.add.selects is None or (D.dtype.kind == "f" and s.mul.selects is None and Lengths.of(s) is None):
        return None
    old, table = {ends: A[ends].item() for ends in changes}, _Table(D, s, len(changes))
    worse = {ends: w for ends, w in changes.items() if old[ends] != w and s.add.python(old[ends], w) != w}
    steps = [partial(table.worsen, A, old, ends, w, threads) for ends, w in worse.items()]
    steps += [partial(table.improve, *ends, w) for ends, w in changes.items() if ends not in worse]
    return table.found if all(step() for step in steps) else None


class _Table:
    """A closure that follows changes; steps return whether they did, else leave it as it was."""

    def __init__(self, D: Array, s: Semiring, arcs: int) -> None:
        self.D, self.s, self.n, self.found, self.slack = D, s, len(D), 0, 0.0
        self.left = D.size * (OF_BITS if s.boolean else SHARE)
        lengths, self.relative = Lengths.of(s), False
        if D.dtype.kind == "f" and lengths is not None:
            # Up to n sums on the way, each at most twice as long as a walk over the arc, are rounded by eps / 2.
            self.slack, self.relative = 4 * self.n * float(np.finfo(D.dtype).eps), lengths.logarithmic
        several = arcs > 1 and self.slack and not self.relative
        self.far = dtypes.largest_finite(D) if several else math.inf  # no distance is longer

    def _beats(self, a: Any, b: Any) -> Any:
        return a < b if self.s.add.selects == "least" else a > b

    def _longest(self, u: int, v: int, w: Any) -> float:
        """A bound of walks over an arc."""
        return sum(dtypes.largest_finite(part) for part in (self.D[:, u], self.D[v], np.array([w], self.D.dtype)))

    def _leaves(self, longest: float) -> bool:
        """Whether a sum might leave the integers."""
        return self.D.dtype.kind == "i" and self.s.mul.saturating and longest >= np.iinfo(self.D.dtype).max

    def _spend(self, cost: float) -> bool:
        self.left -= cost
        return self.left >= 0

    def improve(self, u: int, v: int, w: Any) -> bool:
        """D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:]."""
        D, s = self.D, self.s
        if not self._beats(w, D[u, v].item()):
            return True
        if not self._spend(ARC) or (D.dtype.kind == "i" and self._leaves(self._longest(u, v, w))):
            return False
        if type(D) is np.ndarray:
            found = _arc(s, D, u, v, w).gain()
            self.found += found
            return bool(found >= 0)
        before, after = D[:, u : u + 1].copy(), D[v : v + 1].copy()
        if s.boolean:
            D |= before & after
        else:
            ops, over, arc = bind(s, D.dtype, device="cuda"), before.copy(), before[:1].copy()
            over[...], arc[...] = dtypes.zero(s, D.dtype), w
            ops.gemm(over, before, arc)
            if bool(self._beats(over[v, 0], dtypes.one(s, D.dtype))):
                return False
            ops.gemm(D, over, after)
            diagonal(D)[...] = dtypes.one(s, D.dtype)
        self.found = D.size
        return True

    def worsen(self, A: Array, old: dict[Ends, Any], ends: Ends, new: Any, threads: int | None) -> bool:
        """Compute anew what may lead over an arc; A has the entries `old` when this begins, and one is new then."""
        (u, v), w, D = ends, old[ends], self.D
        d, old[ends] = D[u, v].item(), new
        margin = self.slack * (abs(d) if self.relative else 2 * self.far + abs(w))
        if u == v or (self._beats(d, w) and not abs(w - d) <= margin) or d == dtypes.zero(self.s, D.dtype):
            return True  # no best walk leads over it
        pairs = np.count_nonzero(D[:, u]) * np.count_nonzero(D[v]) if self.s.boolean else 0
        if type(D) is not np.ndarray or not self._spend(ARC) or pairs > self.left:
            return False
        floor = 0.0 if not self.slack else float(np.finfo(D.dtype).tiny) if self.relative else self._longest(u, v, w)
        arc = _arc(self.s, D, u, v, w)
        cols, counts = arc.affected(self.slack, floor)
        found, m = int(counts.sum()), len(cols)
        cost = found + SETTLED * float((counts**2.0).sum()) / self.n + BEGUN * np.count_nonzero(counts) * (m + 16)
        if not found or not self._spend(cost):
            return not found
        edges, place = np.take(A, cols, axis=1), np.full(self.n, -1)
        place[cols] = np.arange(m)
        put(edges, {(i, int(place[j])): x for (i, j), x in old.items() if place[j] >= 0})
        anew = arc.repair(np.ascontiguousarray(edges), threads or default_threads())
        if anew is None:
            return False
        longest = dtypes.largest_finite(anew[2])
        ways = max(longest, dtypes.largest_finite(D[counts > 0])) if D.dtype.kind == "i" else 0.0
        if self._leaves(ways + dtypes.largest_finite(edges)):
            return False
        D[anew[:2]] = anew[2]
        self.found, self.far = self.found + found, max(self.far, longest)
        return True


def _arc(s: Semiring, D: np.ndarray, u: int, v: int, w: Any) -> Any:
    return load("semiring.kernels.cpu.routes.changed").Arc(s, D, u, v, w)
