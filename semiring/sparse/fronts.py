"""Numeric elimination: each front assembled, eliminated and stored in panels, subtrees in parallel.

Runs of small fronts are one call into compiled code. Of a large front, pivot blocks are eliminated in turn from the
other rows on all threads. Every row undergoes the same operations either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from ..algebra.ranges import steps
from ..kernels.cpu.code import CALL, Entry, gain, machine_code
from ..kernels.cpu.dense.backend import CpuBackend
from ..kernels.cpu.kinds import Kind, raw
from ..kernels.cpu.pool import run
from ..kernels.cpu.routes import pairs
from ..kernels.cpu.sparse import abreast, fronts, hubs, movers, strips
from ..kernels.cpu.sparse.abreast import ABREAST, BLOCK
from .buffers import Buffers
from .sharing import costs, shares
from .structure import Arcs, Ranges, Structure, outside

#: Pairs above which a front is parallelised by itself (in vector pairs).
LARGE = 1 << 24
#: Overhead of a supernode, in vector pairs.
OVERHEAD = 1 << 14
#: Pairs below which a second thread does not pay.
ALONE = 1 << 21
#: Weights gathered by one call.
MANY = 1 << 18
#: Alignment of vectors in bytes.
ALIGNED = 64


@dataclass(frozen=True, eq=False, repr=False)
class Panels:
    """Factors: [D; L] of each supernode in `lower` and [D U]ᵀ in `upper`, strip by strip."""

    lower: np.ndarray
    upper: np.ndarray


class Code:
    """Machine code for fronts and queries of one kind (`STEPS`), compiled on first use."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.raw = kind, raw(kind.itemsize)

    @cached_property
    def steps(self) -> np.ndarray:
        """Addresses of the steps of small fronts, in the order of `cpu.sparse.fronts`."""
        entries = (self.fill, self.place, self.extend, self.pivots, self.others, self.scatter, self.leaf)
        return np.array([entry.address for entry in entries])

    def __getattr__(self, name: str) -> Entry:
        if name not in STEPS:
            raise AttributeError(name)
        function, by_size, signature, called = STEPS[name]
        entry = machine_code(function, self.raw if by_size else self.kind, signature, called=called)
        setattr(self, name, entry)
        return entry


#: Kernels of `Code`: function, whether only the entry size matters, signature, whether Python calls it.
STEPS: dict[str, tuple[Any, bool, str, bool]] = {
    "pivots": (abreast.pivots, False, "iiiiii", True),
    "others": (abreast.others, False, "iiiiiii", True),
    "fill": (strips.fill, False, "iii", True),
    "scatter": (movers.take_apart, True, "biiiiiii", True),
    "collect": (movers.collect, True, "isii", True),
    "copy": (movers.copy_entries, True, "iii", False),
    "transpose": (movers.transpose, True, "iiiiii", True),
    "place": (fronts.place, False, "iiiiiii", False),
    "extend": (fronts.extend, False, "iiiii", False),
    "leaf": (fronts.leaf, False, "iiiiiiii", False),
    "climb": (strips.climb_strip, False, "biiiiiii", False),
    "sweep": (strips.sweep_strip, False, "biiiiiiiiiiiii", False),
    "pair": (strips.pair_strip, False, "iiiiii", False),
    "combine": (hubs.combine_strip, False, "biiiiiiii", False),
    "add_pivots": (hubs.add_pivots, False, "iiiii", False),
    "put": (hubs.put_labels, False, "iiiiii", False),
    "meet": (hubs.meet, False, "iiii", False),
    "losses": (pairs.losses, False, "b" + "iiiiii", False),
    "inspect": (pairs.inspect, False, "iii" + "iiiiii", False),
}

code_of = cache(Code)
_eliminate = cache(partial(machine_code, fronts.eliminate, None, "liiii" + "slsssl" + "l" + "lssi" + "iiii"))
renew = cache(partial(machine_code, fronts.renew, None, "liiss" + "slsssl" + "slls" + "s" + "lssi" + "iiii"))
bring = cache(partial(machine_code, fronts.bring, None, "iis" + "slll" + "lll"))
_gather = cache(partial(machine_code, fronts.gather, None, "liii" + "slsssl" + "lssi" + "i"))


def collected(index: np.ndarray, weights: np.ndarray, ops: CpuBackend) -> np.ndarray:
    """weights[index], in parallel."""
    code, found = code_of(ops.kind), np.empty(len(index), weights.dtype)

    def collect(_: int, start: int, stop: int) -> None:
        ends = weights.ctypes.data, found.ctypes.data + start * weights.itemsize
        code.collect.call(code.raw, stop - start, index[start:stop], *ends)

    run(collect, steps(len(index), MANY), ops.threads)
    return found


class Fronts:
    """Numeric elimination, from weights in the order of `arcs` (see `collected`); parallel arcs meet by ⊕."""

    def __init__(self, structure: Structure, arcs: Arcs, weights: np.ndarray, ops: CpuBackend, memory: Buffers) -> None:
        S = self.S = structure
        self.ops, self.kind, self.code, self.size = ops, ops.kind, code_of(ops.kind), ops.kind.itemsize
        self._lanes = self.kind.lanes if self.kind.vector else 1
        self.weights = weights  # read by address
        self.lower, self.upper = (memory.get((int(S.sizes.sum()),), ops.dtype) for _ in range(2))
        self.where = np.zeros(len(S), np.int64)  # the address of each update
        self.rows = np.diff(S.begin)
        self.order = np.diff(S.first) + self.rows  # of each front
        self.ends = S.update + self.rows**2
        pairs = np.diff(S.work)
        self.large = np.flatnonzero(pairs > LARGE * gain(self.kind) // 64)
        self.each = OVERHEAD * gain(self.kind) // 64
        self.cost = costs(S, self.each)
        self.update_memory: list[np.ndarray] = []  # owners of the memory of updates
        self.workspaces: dict[int, _Workspace] = {}  # by worker
        self.tables = (S.first, S.begin, S.local, S.child, S.sibling, self.where)
        self.arcs = (arcs.begin, arcs.row, arcs.col, self.weights.ctypes.data)

    def run(self) -> Panels:
        """Panels of all supernodes, children first: subtrees in parallel, then those above them."""
        total = int(self.cost[-1])
        threads = self.ops.threads if total >= 8 * ALONE * gain(self.kind) // 64 else 1
        subtrees = shares(self.S, self.each, threads) if threads > 1 else []
        alone = CpuBackend(self.kind, 1)
        run(lambda worker, start, stop: self._subtree(start, stop, alone, worker), subtrees, threads)
        if above := outside(subtrees, len(self.S)):
            self._stack(above, 0)
            for start, stop in above:
                self._stretch(start, stop, self.ops)
        return Panels(self.lower, self.upper)

    def _subtree(self, start: int, stop: int, ops: CpuBackend, worker: int) -> None:
        self._stack([(start, stop)], int(self.S.update[start]))
        self._stretch(start, stop, ops, worker)

    def _stack(self, ranges: Ranges, base: int) -> None:
        """Memory for the updates of ranges of supernodes until their parents consume them."""
        entries = max(int(self.ends[start:stop].max()) for start, stop in ranges) - base
        memory = np.empty(entries + self.kind.lanes, self.ops.dtype)  # updates are written in full vectors
        self.update_memory.append(memory)
        for start, stop in ranges:
            self.where[start:stop] = memory.ctypes.data + (self.S.update[start:stop] - base) * self.size

    def _stretch(self, start: int, stop: int, ops: CpuBackend, worker: int = 0) -> None:
        workspace = self._workspace(int(self.order[start:stop].max()), worker)
        for s in self.large[np.searchsorted(self.large, start) : np.searchsorted(self.large, stop)].tolist():
            self._small(start, s, workspace)
            self._one(s, workspace, ops.threads)
            start = s + 1
        self._small(start, stop, workspace)

    def _workspace(self, m: int, worker: int = 0) -> _Workspace:
        workspace = self.workspaces.get(worker)
        if workspace is None or workspace.m < m:
            workspace = self.workspaces[worker] = _Workspace(m, self.kind)
        return workspace

    def _small(self, start: int, stop: int, workspace: _Workspace) -> None:
        """A run of small supernodes, in calls short enough for Ctrl-C."""
        while start < stop:
            most = self.cost[start] + CALL * gain(self.kind)
            end = min(max(int(np.searchsorted(self.cost, most, "right")) - 1, start + 1), stop)
            _eliminate().call(
                self.code.steps, self.size, self._lanes, start, end, *self.tables, self.S.panel, *self.arcs,
                self.lower.ctypes.data, self.upper.ctypes.data, workspace.front, workspace.work,
            )  # fmt: skip
            start = end

    def _one(self, s: int, workspace: _Workspace, threads: int) -> None:
        """A large front: pivot block by pivot block, the other rows on all threads."""
        S, code, kind, size = self.S, self.code, self.kind, self.size
        m, w, front = int(self.order[s]), int(S.first[s + 1] - S.first[s]), workspace.front
        pitch = -(-m // self._lanes) * self._lanes
        _gather().call(code.steps, size, self._lanes, s, *self.tables, *self.arcs, front)

        def pivots(k: int, end: int) -> None:
            code.pivots.call(kind, code.others.address, k, end, pitch, front, workspace.ahead)

        def others(_: int, start: int, stop: int, k: int, end: int, after: int) -> None:
            work = workspace.work + start * (end - k) * size
            code.others.call(kind, k, end - k, start, stop, pitch, front, work)
            if start == end:  # the next pivot block need not wait for the other rows
                pivots(end, after)

        edges = [*range(0, w, BLOCK), w, w]
        pivots(0, edges[1])
        for k, end, after in zip(edges, edges[1:], edges[2:], strict=False):
            count = self._calls((end - k) * m * m, threads)
            following = [(end, after)] if end < after else []
            rows = -(-m // (count * ABREAST)) * ABREAST  # of a call
            parts = *following, *steps(k, rows), *steps(m, rows, after)
            run(others, [(*part, k, end, after) for part in parts], threads)
        lower, upper = (X.ctypes.data + int(S.panel[s]) * size for X in (self.lower, self.upper))
        code.scatter.call(code.raw, self._lanes > 1, w, m, front, pitch * size, lower, upper, int(self.where[s]))

    def _calls(self, pairs: int, threads: int) -> int:
        """Number of calls: short enough for Ctrl-C, and enough to keep all threads busy."""
        worth = pairs // max(1, ALONE * gain(self.kind) // 64) if threads > 1 else 1
        return max(1, min(3 * threads, worth), -(-pairs // (CALL * gain(self.kind))))


class _Workspace:
    """Memory, by address, for a front of up to `m` vertices and its elimination."""

    def __init__(self, m: int, kind: Kind) -> None:
        self.m = m
        lanes, size = kind.lanes, kind.itemsize
        entries = -(-m * (m + lanes) // ALIGNED) * ALIGNED
        aside = (m + lanes) * BLOCK  # columns of a block, of all rows
        self.memory = np.empty(entries + aside + m + lanes + BLOCK**2 + ALIGNED, kind.dtype)
        self.front = self.memory.ctypes.data + -self.memory.ctypes.data % ALIGNED
        self.work = self.front + entries * size
        self.ahead = self.work + aside * size  # of pivots
