"""The numeric part: every front assembled, eliminated and put into panels, subtrees beside one another.

Many fronts are small: runs of them are one call into compiled code. The large ones are eliminated by the verbs of the
dense backend, on all threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heapreplace
from itertools import pairwise

import numpy as np

from ..backend import Backend
from ..cpu import fronts, movers, strips
from ..cpu.backend import CpuBackend
from ..cpu.code import CALL, Entry, code, gain, machine_code
from ..cpu.intrinsics import DEPTH
from ..cpu.kinds import Kind, raw
from ..cpu.pool import run
from .structure import Arcs, Structure

#: Fronts of more pairs than this go to the dense backend (of pairs that vector code computes).
LARGE = 1 << 24
#: What a supernode costs beside its pairs, in pairs that vector code computes.
OVERHEAD = 1 << 14
#: Below this many pairs a second thread costs more than it brings.
ALONE = 1 << 21
#: What a thread computes of a front that all work on, to what it does of a subtree of its own.
TOGETHER = 0.7
#: Bytes that vectors are aligned to.
ALIGNED = 64


@dataclass(frozen=True, eq=False)
class Panels:
    """What elimination leaves: of each supernode [D; L] in `lower` and [D U]ᵀ in `upper`, strip by strip."""

    lower: np.ndarray
    upper: np.ndarray


class Code:
    """The machine code for fronts and queries of one kind: what knows it, and what does not; compiled when wanted."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.dense, self.raw = kind, code(kind), raw(kind.itemsize)

    @cached_property
    def steps(self) -> np.ndarray:
        """Addresses of the steps of small fronts, in the order of `cpu.fronts`."""
        entries = (
            self.fill,
            machine_code(fronts.place, self.kind, "iiiiiii"),
            machine_code(fronts.extend, self.kind, "iiiiii"),
            machine_code(fronts.pivots, self.kind, "iiiii"),
            self.scatter,
        )
        return np.array([*(entry.address for entry in entries), 0, 0, 0])

    @cached_property
    def all_steps(self) -> np.ndarray:
        """The same, and those of fronts that are eliminated in blocks."""
        dense = self.dense.closure, self.dense.pack, self.dense.block
        return np.array([*self.steps[: -len(dense)], *(entry.address for entry in dense)])

    @cached_property
    def fill(self) -> Entry:
        return machine_code(strips.fill, self.kind, "iii")

    @cached_property
    def scatter(self) -> Entry:
        return machine_code(movers.take_apart, self.raw, "biiiiiii")

    @cached_property
    def transpose(self) -> Entry:
        return machine_code(movers.transpose, self.raw, "iiiiii")

    @cached_property
    def climb(self) -> Entry:
        return machine_code(strips.climb_strip, self.kind, "biiiiiii")

    @cached_property
    def sweep(self) -> Entry:
        return machine_code(strips.sweep_strip, self.kind, "biiiiiiiiiiiii")

    @cached_property
    def pair(self) -> Entry:
        return machine_code(strips.pair_strip, self.kind, "iiiiii")


code_of = cache(Code)


@cache
def _eliminate() -> Entry:
    return machine_code(fronts.eliminate, None, "liiii" + "slsssl" + "l" + "lssi" + "iiii")


@cache
def _gather() -> Entry:
    return machine_code(fronts.gather, None, "liii" + "slsssl" + "lssi" + "i")


def numbers(structure: Structure, arcs: Arcs, weights: np.ndarray, ops: CpuBackend) -> Panels:
    """The panels of all supernodes.

    Parameters
    ----------
    structure : Structure
    arcs : Arcs
        Where each weight goes; those that meet are added by ⊕.
    weights : array (arcs,)
        In the dtype of `ops`.
    ops : CpuBackend
    """
    return _Elimination(structure, arcs, weights, ops).run()


class _Elimination:
    """One numeric elimination at work."""

    def __init__(self, structure: Structure, arcs: Arcs, weights: np.ndarray, ops: CpuBackend) -> None:
        S = self.S = structure
        self.ops, self.kind, self.code, self.size = ops, ops.kind, code_of(ops.kind), ops.kind.itemsize
        self._lanes = self.kind.lanes if self.kind.vector else 1
        self.weights = weights[arcs.arc]  # is read by address
        self.lower, self.upper = (np.empty(S.sizes.sum(), ops.dtype) for _ in range(2))
        self.where = np.zeros(len(S), np.int64)  # the address of each update
        self.rows = np.diff(S.begin)
        self.order = np.diff(S.first) + self.rows  # of each front
        self.ends = S.update + self.rows**2
        pairs = np.diff(S.work)
        self.large = np.flatnonzero(pairs > LARGE * gain(self.kind) // 64)
        self.cost = np.concatenate(([0], np.cumsum(pairs + OVERHEAD * gain(self.kind) // 64)))
        self.kept: list[np.ndarray] = []  # memory that updates lie in
        self.tables = (S.first, S.begin, S.local, S.child, S.sibling, self.where)
        self.arcs = (arcs.begin, arcs.row, arcs.col, self.weights.ctypes.data)

    def run(self) -> Panels:
        """Every supernode, children first: subtrees on all threads, then what is above them."""
        total = int(self.cost[-1])
        threads = self.ops.threads if total >= 8 * ALONE * gain(self.kind) // 64 else 1
        subtrees = self._shares(threads) if threads > 1 else []
        alone = CpuBackend(self.kind, 1)
        run(lambda _, start, stop: self._subtree(start, stop, alone), subtrees, threads)
        ends = [0, *(edge for subtree in sorted(subtrees) for edge in subtree), len(self.S)]
        above = [(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop]
        if above:
            address = self._arena(max(int(self.ends[a:b].max()) for a, b in above))
            for start, stop in above:
                self.where[start:stop] = address + self.S.update[start:stop] * self.size
                self._stretch(start, stop, self.ops)
        return Panels(self.lower, self.upper)

    def _shares(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of whole subtrees that the threads take one by one, such that all is done soonest.

        Few large ones leave little above them, which all threads work on together; many small ones go up evenly.
        (Geist and Ng 1989, "Task scheduling for parallel sparse Cholesky factorization".)
        """
        total = int(self.cost[-1])
        best, soonest = [], np.inf
        for parts in (1, 2, 4, 8):
            subtrees = self._subtrees(total // (parts * threads))
            loads = [0] * threads
            for start, stop in subtrees:  # the next one goes to who is free first
                heapreplace(loads, loads[0] + int(self.cost[stop] - self.cost[start]))
            time = max(loads) + (total - sum(loads)) / (TOGETHER * threads)
            if time < soonest:
                best, soonest = subtrees, time
        return best

    def _subtrees(self, most: int) -> list[tuple[int, int]]:
        """Ranges of supernodes that are whole subtrees, of about so many pairs at most, those of most pairs first."""
        S, cost = self.S, self.cost
        whole = cost[1:] - cost[S.leaf]
        fits = whole <= most
        tops = np.flatnonzero(fits & ~((S.parent >= 0) & fits[S.parent]))
        start, stop, before = S.leaf[tops], tops + 1, np.cumsum(whole[tops]) - whole[tops]
        # Neighbours go together while they are few pairs.
        apart = (start[1:] != stop[:-1]) | (np.diff(before // max(1, most // 2)) > 0)
        edges = np.flatnonzero(np.concatenate(([True], apart, [True]))[: len(tops) + 1]).tolist()
        found = [(int(start[a]), int(stop[b - 1])) for a, b in pairwise(edges)]
        return sorted(found, key=lambda at: cost[at[0]] - cost[at[1]])

    def _subtree(self, start: int, stop: int, ops: CpuBackend) -> None:
        base = self.S.update[start]
        address = self._arena(int(self.ends[start:stop].max() - base))
        self.where[start:stop] = address + (self.S.update[start:stop] - base) * self.size
        self._stretch(start, stop, ops)

    def _arena(self, entries: int) -> int:
        memory = np.empty(entries + self.kind.lanes, self.ops.dtype)  # updates are written in whole vectors
        self.kept.append(memory)
        return memory.ctypes.data

    def _stretch(self, start: int, stop: int, ops: CpuBackend) -> None:
        """Supernodes start … stop, large ones one by one."""
        for s in self.large[np.searchsorted(self.large, start) : np.searchsorted(self.large, stop)].tolist():
            self._small(start, s)
            self._one(s, ops)
            start = s + 1
        self._small(start, stop)

    def _small(self, start: int, stop: int) -> None:
        """A run of supernodes in calls that are short enough."""
        if start == stop:
            return
        code, S, size = self.code, self.S, self.size
        m, (rows, columns) = int(self.order[start:stop].max()), (self.kind.tile.rows, self.kind.columns)
        # A front; and beside it a row, or two packed operands and what a product needs besides (`CpuBackend.closure`).
        room = -(-m * (m + self.kind.lanes) // ALIGNED) * ALIGNED
        beside = 2 * (m + max(rows, columns)) * DEPTH + columns * (1 + rows)
        memory = np.empty(room + beside + ALIGNED, self.ops.dtype)
        front = memory.ctypes.data + -memory.ctypes.data % ALIGNED
        lanes = self._lanes
        blocks = (self.order[start:stop] * (self.order[start:stop] + lanes - 1) * size).max() > fronts.NEAR
        steps = code.all_steps if blocks else code.steps
        while start < stop:
            most = self.cost[start] + CALL * gain(self.kind)
            end = min(max(int(np.searchsorted(self.cost, most, "right")) - 1, start + 1), stop)
            _eliminate().call(
                steps, size, lanes, start, end, *self.tables, S.panel, *self.arcs,
                self.lower.ctypes.data, self.upper.ctypes.data, front, front + room * size,
            )  # fmt: skip
            start = end

    def _one(self, s: int, ops: CpuBackend) -> None:
        """A large front, by the verbs of the dense backend."""
        S, code, size = self.S, self.code, self.size
        m, w = int(self.order[s]), int(S.first[s + 1] - S.first[s])
        lanes = self._lanes
        F = np.empty((m, -(-m // lanes) * lanes), ops.dtype)
        _gather().call(code.steps, size, lanes, s, *self.tables, *self.arcs, F.ctypes.data)
        D = F[:w, :w]
        closure(ops, D)
        ops.eliminate(D, F[:w, w:m], F[w:, :w], F[w:, w:m])
        lower, upper = (X.ctypes.data + int(S.panel[s]) * size for X in (self.lower, self.upper))
        code.scatter.call(code.raw, lanes > 1, w, m, F.ctypes.data, F.strides[0], lower, upper, int(self.where[s]))


def closure(ops: Backend, A: np.ndarray) -> None:
    """A ← A*, R-Kleene: each quadrant on the diagonal closed in turn, and eliminated from the others."""
    n = len(A)
    if n <= ops.pivot:
        ops.closure(A)
        return
    h = -(-n // 2 // ops.pivot) * ops.pivot
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    closure(ops, A11)
    ops.eliminate(A11, A12, A21, A22)
    closure(ops, A22)
    ops.eliminate(A22, A21, A12, A11)
