"""Each engine's questions on the same road network, beside SciPy's searches for as many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import common
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from apsp import shortest_paths
from apsp.generate import road_like

from . import Figure, Task, in_turns

ENGINES = {"cpu": ("elimination", "searches", "scipy", "dense"), "cuda": ("elimination", "searches", "dense")}
#: Question → rows of SciPy's searches that it is held to (−1: all), and the query of a result `r` of n vertices.
QUESTIONS: dict[str, tuple[float, Callable[[Any, int], Any]]] = {
    "16 rows": (16, lambda r, n: r.table(range(16), range(n))),
    "all rows": (-1, lambda r, n: [float(D[-1, -1]) for _, D in r.rows()]),
    "a pair": (1, lambda r, n: r.distance(1, n - 2)),
    "a path": (1, lambda r, n: r.path(1, n - 2)),
    "eccentricities": (-1, lambda r, n: r.reduce("eccentricity")),
    "betweenness from 32": (32, lambda r, n: r.betweenness(sources=32, seed=1)),
    "nearest of 20": (1, lambda r, n: r.nearest(range(20)).distance),
    "an arc changed, and a pair": (1, lambda r, n: _changed(r).distance(1, n - 2)),
    "new weights, and a pair": (1, lambda r, n: _weighed(r).distance(1, n - 2)),
}


def tasks(device: str) -> Iterator[Task]:
    """The cold answer, and every question of a result that is kept."""
    n = 300 if common.quick() else 3000
    for engine in ENGINES[device]:
        yield _task(f"{engine}: cold, to 16 rows", n, device, engine, None, 16)
        for name, (rows, ask) in QUESTIONS.items():
            yield _task(f"{engine}: {name}", n, device, engine, ask, rows if rows > 0 else n)


@cache
def _graph(n: int) -> tuple[Any, Any]:
    g = road_like(n, seed=1)
    A = sp.coo_array((g.weights, (g.rows, g.cols)), shape=(g.n, g.n)).tocsr()
    return g, A if g.directed else A.maximum(A.T)


def _task(name: str, n: int, device: str, engine: str, ask: Any, rows: int) -> Task:
    def measure() -> Figure:
        g, A = _graph(n)
        pose = partial(shortest_paths, g, engine=engine, device=device)
        r, some = pose(), np.arange(16)
        expected = dijkstra(A, indices=some)
        np.testing.assert_allclose(r.table(range(16), range(g.n)), expected, rtol=1e-5)
        ours = (lambda: pose().table(range(16), range(g.n))) if ask is None else partial(ask, r, g.n)
        mine, theirs = in_turns(ours, partial(dijkstra, A, indices=some))
        return Figure(
            name,
            mine,
            theirs * rows / 16,
            f"SciPy's dijkstra, {rows} rows",
            family=(name.partition(": ")[2],),
            work=1.0,
        )

    return name, measure


def _ends(r: Any) -> tuple[Any, Any]:
    u, v = (int(x[len(x) // 2]) for x in (r.graph.rows, r.graph.cols))
    return r.labels[u], r.labels[v]


def _changed(r: Any) -> Any:
    weight = r.graph.weights[len(r.graph.rows) // 2]
    return r.update({_ends(r): float(weight) * 2})


def _weighed(r: Any) -> Any:
    return r.update(np.asarray(r.graph.weights) * 2)
