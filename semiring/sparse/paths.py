"""Best paths between single pairs, from the few distances of an elimination near them; the nearest of several."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..cpu.code import CALL
from ..cpu.kinds import choose
from ..cpu.pool import run
from ..cpu.routes import voronoi
from ..cpu.routes.code import compiled
from ..cpu.routes.predecessors import beats_one
from .nearby import Edges, Nearby
from .queries import Queries

#: The arguments of kernels after the kind, see `cpu.routes.code`.
_CLIMB, _SWEEP = "iip" + "plpl" + "aap", "ii" + "plpl" + "aap" + "pap"


def best_path(E: Queries, u: int, v: int, edges: Edges) -> list[int] | None:
    """The vertices of the path from u to v whose edges lose least, fewest first among equals: None if there is none.

    An edge (x, y) of weight w loses |D[x, v] − w ⊗ D[y, v]|, as in `apsp.result.paths`.

    Parameters
    ----------
    E : Elimination
        On the CPU; its ⊕ selects.
    u, v : int
    edges : (starts, heads, weights)
        By tail: int64, int32, and of the dtype of E.
    """
    with E._sweepers(1) as (sweeper,):
        return Nearby.of(sweeper).search(u, v, edges)


def predecessor_paths(
    E: Queries, sources: np.ndarray, targets: np.ndarray, edges: Edges
) -> tuple[np.ndarray, np.ndarray] | None:
    """The paths between pairs that predecessors make by their rule: their vertices, and how many each has.

    None where edges beat `one`, for which the rule needs entire rows. A path of which some other pair of its row would
    decide has −1 vertices; one that does not exist has none.

    Parameters
    ----------
    E : Elimination
        On the CPU; its ⊕ selects.
    sources, targets : int arrays, shape (pairs,)
        Fastest where pairs of one source are next to one another.
    edges : (starts, tails, weights)
        By head, tails ascending: int64, int32, and of the dtype of E.
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
            found[start] = Nearby.of(workers[worker]).walk_back(
                sources[start:stop], targets[start:stop], edges, counts[start:stop]
            )

        run(work, [(start, stop) for start, stop in pairwise(bounds) if start < stop], threads)
    return np.concatenate([np.empty(0, np.int32), *(found[start] for start in sorted(found))]), counts


def nearest(E: Queries, sources: np.ndarray, *, mirrored: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(which, best): for every vertex the first of the sources from which it is nearest, −1 for none, and how near.

    Over a semiring of lengths. Where they are rounded, "as near" is decided on the way: see `cpu.routes.voronoi`.

    Parameters
    ----------
    E : Elimination
    sources : int array
    mirrored : bool
        Whether walks lead from the vertex to a source.
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
