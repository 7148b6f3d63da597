"""Elimination after changes of few arcs: refactorise fronts on their root paths, with all other updates kept.

Nothing changes above a front whose update stays bit-identical. Results overwrite the numbers of an elimination that
nothing refers to; stamps tell which panels differ.
"""

from __future__ import annotations

import sys
from functools import cached_property

import numpy as np

from ..algebra.ranges import positions
from ..kernels.cpu.dense.backend import CpuBackend
from ..kernels.cpu.kinds import Kind
from ..kernels.cpu.sparse import sweep
from .analysis import Analysis
from .buffers import STAMPS, Pool
from .fronts import Fronts, Panels, bring, renew
from .hubs import Descent
from .structure import Ranges, Structure

#: Share of an elimination's pairs from which a complete elimination is as fast.
MANY = 0.5
#: Number of eliminations whose memory is pooled for reuse.
REMEMBERED = 4


class Kept(Fronts):
    """Panels, updates of all fronts, and arc weights of an elimination.

    updates: int32 words, that of supernode s from slot[s]. stamp: equal stamps of a supernode mean equal numbers.
    """

    def __init__(self, analysis: Analysis, weights: np.ndarray, kind: Kind) -> None:
        S = analysis.structure
        super().__init__(S, analysis.arcs, weights, CpuBackend(kind, 1), analysis.panels)  # one thread: see `_stack`
        words = -(-(self.rows**2) * self.size // 4)
        self.slot = np.concatenate(([0], np.cumsum(words)))
        spare = kind.lanes * self.size // 4 + 1  # updates are written in full vectors
        self.updates, self.fresh = (np.empty(int(k) + spare, np.int32) for k in (self.slot[-1], words.max(initial=0)))
        self.where[:] = self.updates.ctypes.data + 4 * self.slot[:-1]
        self.stamp = np.zeros(len(S), np.int64)
        self.panels = Panels(self.lower, self.upper)
        self.addresses = np.array([x.ctypes.data for x in (self.lower, self.upper, self.updates, self.weights)])
        self._references = self.references()

    def _stack(self, ranges: Ranges, base: int) -> None:
        """No stack: every update has its own memory; padding is overwritten by the next update."""

    def references(self) -> int:
        return sum(map(sys.getrefcount, (self.panels, self.lower, self.upper)))

    @property
    def free(self) -> bool:
        return self.references() <= self._references

    def bring(self, other: Kept) -> None:
        """Copy the numbers that differ from `other`."""
        stale = np.flatnonzero(self.stamp != other.stamp).astype(np.int32)
        self.stamp[stale] = -1
        S = self.S
        bring().call(
            self.code.copy.address, self.size, stale, S.first, S.begin, S.panel, self.slot, self.arcs[0],
            other.addresses, self.addresses,
        )  # fmt: skip
        self.stamp[stale] = other.stamp[stale]

    def renew(self, path: np.ndarray, dirty: np.ndarray, threads: int) -> None:
        """Refactorise supernodes of an ascending path where dirty[s] is 1; dirty becomes 2 for those computed."""
        workspace = self._workspace(int(self.order[path].max()))
        start = 0
        large = np.flatnonzero(np.isin(path, self.large)).tolist() if len(self.large) else []
        for k in [*large, len(path)]:
            self._renew(path[start:k], dirty, workspace.front, workspace.work)
            if k < len(path) and dirty[path[k]]:
                self._renew_large(int(path[k]), dirty, threads)
            start = k + 1

    def _renew(self, path: np.ndarray, dirty: np.ndarray, front: int, work: int) -> None:
        S = self.S
        renew().call(
            self.code.steps, self.size, self._lanes, path, dirty, *self.tables, S.parent, S.panel, self.slot,
            self.updates, self.fresh, *self.arcs, *self.addresses[:2].tolist(), front, work,
        )  # fmt: skip

    def _renew_large(self, s: int, dirty: np.ndarray, threads: int) -> None:
        own, self.where[s] = int(self.where[s]), self.fresh.ctypes.data
        self._one(s, self._workspace(int(self.order[s])), threads)
        self.where[s] = own
        update = self.updates[self.slot[s] : self.slot[s + 1]]
        fresh = self.fresh[: len(update)]
        dirty[s] = 2
        if not np.array_equal(update, fresh):
            update[:] = fresh
            dirty[self.S.parent[s]] = 1


class Changes:
    """Eliminations related by changes of few arcs; `kept` pools their memory for reuse."""

    def __init__(self, analysis: Analysis, kind: Kind, threads: int) -> None:
        self.analysis, self.kind, self.threads = analysis, kind, threads
        self.kept = Pool(REMEMBERED)

    @cached_property
    def labels(self) -> Descent:
        return Descent(self.analysis.structure, self.kind)

    def base(self, weights: np.ndarray) -> Kept:
        """Complete elimination from all weights, front by front."""
        kept = Kept(self.analysis, weights.copy(), self.kind)
        kept.run()
        self.kept.remember(kept)
        return kept

    def changed(self, kept: Kept, arcs: np.ndarray, values: np.ndarray) -> tuple[Kept, np.ndarray] | None:
        """Elimination with new weights of some arcs, and the supernodes recomputed; None if they are too many."""
        S, tails, heads = self.analysis.structure, self.analysis.tails, self.analysis.heads
        columns = np.minimum(S.position[tails[arcs]], S.position[heads[arcs]])
        dirty, found = np.full(len(S), -1, np.int32), np.empty(len(S), np.int32)
        path = np.sort(found[: sweep.ancestors(columns, S.owner, S.parent, dirty, found)])
        cost = kept.cost
        if len(path) and int((cost[path + 1] - cost[path]).sum()) > MANY * int(cost[-1]):
            return None
        dirty[S.owner[columns]] = 1
        target: Kept = self.kept.get(lambda: self._like(kept))
        target.bring(kept)
        target.stamp[path] = -1  # whatever interrupts this
        target.weights[self.analysis.place[arcs]] = values
        if len(path):
            target.renew(path, dirty, self.threads)
        again = path[dirty[path] == 2]
        target.stamp[path] = kept.stamp[path]
        target.stamp[again] = next(STAMPS)
        return target, again

    def _like(self, kept: Kept) -> Kept:
        made = Kept(self.analysis, kept.weights.copy(), self.kind)
        made.where[kept.where == 0] = 0  # updates of leaves are never written
        made.stamp[:] = -1
        return made


def diagonals(structure: Structure, supernodes: np.ndarray) -> np.ndarray:
    """Panel indices of the diagonals of these supernodes' pivot blocks."""
    first, w = structure.first[supernodes], structure.first[supernodes + 1] - structure.first[supernodes]
    return structure.diagonal[positions(first, w)]
