"""Best paths between single pairs from few distances of an elimination; nearest sources."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..host.types import Edges
from ..kernels.cpu.code import CALL, compiled
from ..kernels.cpu.kinds import choose
from ..kernels.cpu.pool import run
from ..kernels.cpu.routes import voronoi
from ..kernels.cpu.routes.predecessors import beats_one
from .lazy import Lazy
from .queries import Queries

#: Kernel signatures after the kind (`cpu.code`).
_CLIMB, _SWEEP = "iis" + "slsl" + "aas", "ii" + "slsl" + "aas" + "sas"


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
