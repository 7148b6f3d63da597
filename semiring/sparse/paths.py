"""Best paths between single pairs from few distances of an elimination, computed lazily; nearest sources."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.dtypes import SCALARS
from ..host.types import Edges
from ..kernels.cpu.code import CALL, compiled, machine_code
from ..kernels.cpu.kinds import choose, semiring_of
from ..kernels.cpu.pool import run
from ..kernels.cpu.routes import pairs, voronoi
from ..kernels.cpu.routes.equality import rounds
from ..kernels.cpu.routes.predecessors import ALLOWED, beats_one
from .buffers import aligned
from .fronts import code_of
from .sweep import ALIGNED, Sweeper

if TYPE_CHECKING:
    from .queries import Queries

#: Largest number of vertices on a plateau (edges of weight `one`) searched for one predecessor.
PLATEAU = 64
#: Queries of one call into compiled code, so that Ctrl-C is handled.
SHORT = 1 << 12
#: Kernel signatures (`cpu.code`): tree, and distances; and after the kind, of a climb and a sweep.
_TREE, _DISTANCES = "i" + "iii" + "sssss" + "l" + "ssss" + "l" + "ii", "iii" + "ls"
_CLIMB, _SWEEP = "iis" + "slsl" + "aas", "ii" + "slsl" + "aas" + "sas"


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


def best_path(E: Queries, u: int, v: int, edges: Edges) -> list[int] | None:
    """Vertices of the path from u to v whose edges lose least, fewest vertices among equals; None if there is none.

    Edge (x, y) of weight w loses |D[x, v] − w ⊗ D[y, v]|, as in `apsp.answers.result.paths`. E is on the CPU, and its ⊕
    selects. edges: CSR by tail (starts int64, heads int32, weights in E's dtype).
    """
    with E._sweepers(1) as (sweeper,):
        return Lazy.of(sweeper).search(u, v, edges)


def predecessor_paths(
    E: Queries, sources: np.ndarray, targets: np.ndarray, edges: Edges
) -> tuple[np.ndarray, np.ndarray] | None:
    """Concatenated paths between pairs by the rule of `predecessors`, and their lengths; None where edges beat `one`.

    In that case the rule needs entire rows. Length −1 marks a path that another pair of its row would decide, 0 a
    missing one. E is on the CPU, and its ⊕ selects. Fastest with pairs sorted by source. edges: CSR by head, tails
    ascending (starts int64, tails int32, weights in E's dtype).
    """
    if beats_one(E.semiring, edges[2]):
        return None
    sources, targets = sources.astype(np.int32), targets.astype(np.int32)
    counts = np.empty(len(sources), np.int64)
    threads = E._threads if len(sources) >= 8 * E._threads else 1
    bounds = np.linspace(0, len(sources), 4 * threads + 1 if threads > 1 else 2).astype(int).tolist()
    found: dict[int, np.ndarray] = {}
    with E._sweepers(threads) as workers:

        def work(worker: int, start: int, stop: int) -> None:
            found[start] = Lazy.of(workers[worker]).walk_back(
                sources[start:stop], targets[start:stop], edges, counts[start:stop]
            )

        run(work, [(start, stop) for start, stop in pairwise(bounds) if start < stop], threads)
    return np.concatenate([np.empty(0, np.int32), *(found[start] for start in sorted(found))]), counts


def nearest(E: Queries, sources: np.ndarray, *, mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(which, best): index of the first nearest source of every vertex, −1 for none, and its distance.

    Over a semiring of lengths; `mirrored`: walks lead from the vertex to a source. Ties under rounding are decided
    during the sweep, see `cpu.routes.voronoi`.
    """
    if E.on_device is not None and len(sources):
        which, best = (x.get() for x in E.on_device.nearest(sources, mirrored=mirrored))
        return which.astype(np.int64), best
    kind, S = choose(E.semiring, E.dtype, False), E.analysis.structure
    z, source = np.full(S.n, kind.zero, E.dtype), np.full(S.n, -1, np.int32)
    source[S.position[sources[::-1]]] = np.arange(len(sources), dtype=np.int32)[::-1]
    z[source >= 0] = kind.one
    numbers, y, found = np.arange(S.n, dtype=np.int32), np.empty(S.n, E.dtype), np.empty(S.n, np.int32)
    up, down = (E._panels.lower, E._panels.upper) if mirrored else (E._panels.upper, E._panels.lower)
    tree = S.first, S.begin, S.rows, S.panel
    with E._sweepers(1) as (sweeper,):
        path = sweeper.wanted(sources).path
        climb, sweep = compiled(voronoi.climb, kind, _CLIMB), compiled(voronoi.sweep, kind, _SWEEP)
        for start, stop in sweeper.pieces(path, CALL):
            climb(start, stop, path, *tree, up, z, source)
        for start, stop in reversed(sweeper.pieces(S.every, CALL)):
            sweep(start, stop, *tree, down, z, source, numbers, y, found)
    return found[S.position].astype(np.int64), y[S.position]
