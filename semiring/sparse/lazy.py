"""Distances from or to one vertex, computed lazily near the vertices queried: entries and paths without rows."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ..algebra.dtypes import SCALARS
from ..host.types import Edges
from ..kernels.cpu.code import machine_code
from ..kernels.cpu.kinds import choose, semiring_of
from ..kernels.cpu.routes import pairs
from ..kernels.cpu.routes.equality import rounds
from ..kernels.cpu.routes.predecessors import ALLOWED
from .buffers import aligned
from .fronts import code_of
from .sweep import ALIGNED, Sweeper

#: Largest number of vertices on a plateau (edges of weight `one`) searched for one predecessor.
PLATEAU = 64
#: Queries of one call into compiled code, so that Ctrl-C is handled.
SHORT = 1 << 12
#: Kernel signatures (`cpu.code`): tree, and distances.
_TREE, _DISTANCES = "i" + "iii" + "sssss" + "l" + "ssss" + "l" + "ii", "iii" + "ls"


_distances = cache(partial(machine_code, pairs.distances, None, "biiss" + _TREE + _DISTANCES + "cc" + "l"))
_search = cache(partial(machine_code, pairs.search, None, "ibiii" + _TREE + _DISTANCES + "lsi" + "fsss" + "ls" + "l"))
_walk_back = cache(
    partial(machine_code, pairs.walk_back, None, "iiiss" + _TREE + _DISTANCES + "lsi" + "i" + "sssss" + "ls" + "l")
)


class Lazy:
    """Lazy distances from or to one vertex after another; part of a sweeper."""

    def __init__(self, sweeper: Sweeper) -> None:
        S, n, dtype = sweeper.S, sweeper.S.n, sweeper.dtype
        # Equality and order of the general kind, as where rows are compared.
        self.kind = choose(semiring_of(sweeper.kind), dtype, False)
        self.z, (self.y, self.d) = aligned((S.height + ALIGNED,), dtype), np.empty((2, n), dtype)
        self.done, self.path = np.zeros(len(S), np.int64), np.empty(len(S), np.int32)
        self.settled, self.walked = np.zeros(n, np.int64), np.empty(n + 1, np.int32)
        self.stamp, code = 0, sweeper.code
        self.tree = (
            dtype.itemsize, code.fill.address, code.climb.address, code.sweep.address,
            S.position, S.permutation, S.owner, S.parent, S.first, S.begin, S.rows, S.slot, S.base, S.leaf, S.panel,
        )  # fmt: skip
        self.panels = sweeper.lower, sweeper.upper
        self.distances = *(x.ctypes.data for x in (self.z, self.y, self.d)), self.done, self.path

    @classmethod
    def of(cls, sweeper: Sweeper) -> Lazy:
        if sweeper.lazy is None:
            sweeper.lazy = cls(sweeper)
        return sweeper.lazy

    def entries(self, lines: np.ndarray, others: np.ndarray, out: np.ndarray, *, mirrored: bool) -> None:
        """out[q] ← A*[lines[q], others[q]], mirrored A*[others[q], lines[q]]; equal consecutive lines are fast."""
        state, panels = np.array([self.stamp, -1]), self.panels if mirrored else self.panels[::-1]
        for start in range(0, len(lines), SHORT):
            _distances().call(
                mirrored, start, min(start + SHORT, len(lines)), lines, others, *self.tree, *panels, *self.distances,
                self.d.view(np.uint8), out.view(np.uint8), state,
            )  # fmt: skip
        self.stamp = int(state[0])

    def search(self, u: int, v: int, edges: Edges) -> list[int] | None:
        self.stamp += 1
        (starts, heads, weights), previous, state = edges, self.walked, np.zeros(2, np.int64)
        look, exact = code_of(self.kind).losses.address, SCALARS[self.d.dtype].integer
        lost, ends, found = np.empty(1024), np.empty((3, 1024), np.int32), -1
        while found < 0:
            count = int(state[0])
            needed = count + int(np.diff(starts[ends[1, 0] :][:2])[0]) if count else 1
            if needed > len(lost):
                lost, ends = np.resize(lost, 2 * needed), np.concatenate((ends, np.empty((3, 2 * needed), np.int32)), 1)
            found = _search().call(
                look, exact, u, v, self.stamp, *self.tree, *self.panels, *self.distances,
                starts, heads, weights.ctypes.data, lost, *ends, self.settled, previous, state,
            )  # fmt: skip
        if not found:
            return None
        path = [v]
        while path[-1] != u:
            path.append(int(previous[path[-1]]))
        return path[::-1]

    def walk_back(self, sources: np.ndarray, targets: np.ndarray, edges: Edges, counts: np.ndarray) -> np.ndarray:
        """Concatenated paths, their lengths into counts; implements `paths.predecessor_paths`."""
        (ends, tails, weights), look = edges, code_of(self.kind).inspect.address
        equal = np.array([ALLOWED * SCALARS[self.d.dtype].eps if rounds(self.kind) else 0, 0], self.d.dtype)
        attain, also = np.empty((2, int(np.diff(ends).max(initial=1))), np.int32)
        queue, found, state = np.empty(PLATEAU, np.int32), np.empty(1, np.int32), np.array([0, self.stamp, -1])
        vertices, done = np.empty(64 * len(sources), np.int32), 0
        while done < len(sources):
            before = done
            done = _walk_back().call(
                look, done, len(sources), sources, targets, *self.tree, *self.panels, *self.distances,
                ends, tails, weights.ctypes.data, equal.ctypes.data, queue, attain, also, found, self.walked,
                counts, vertices, state,
            )  # fmt: skip
            if done == before:
                vertices = np.resize(vertices, 2 * len(vertices) + len(self.d))
        self.stamp = int(state[1])
        return vertices[: state[0]]
