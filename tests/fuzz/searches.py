"""Searches by weight, matrices of which few arcs are said to matter, and few distances on bits: held to plain loops.

Of the large matrices a look at a few vertices tells little: halves that one heavy arc joins, a vertex whose worst arc
is its only way out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

import semiring
from apsp import as_graph, closure, shortest_paths
from semiring.algebra import dtypes
from semiring.host.errors import AlgebraError
from semiring.sparse import Searches

from .draw import Draw

WEIGHTS: dict[str, Any] = {
    "min_plus": lambda rng, m, top: rng.integers(0, top, m),
    "max_plus": lambda rng, m, top: -rng.integers(0, top, m),
    "max_min": lambda rng, m, top: rng.integers(-top, top, m),
    "min_max": lambda rng, m, top: rng.integers(-top, top, m),
    "max_times": lambda rng, m, top: rng.choice([0.0, 0.25, 0.5, 1.0], m),
    "min_times": lambda rng, m, top: rng.choice([1.0, 2.0, 4.0], m),
}


def case(draw: Draw) -> None:
    """Many small graphs, and now and then a large matrix."""
    (_large if draw.chance(15) else _small)(draw)


def _small(draw: Draw) -> None:
    rng, n = draw.rng(), draw.pick((5, 1, 2, 9, 40, 70))
    name = draw.pick(tuple(WEIGHTS))
    s = semiring.get(name)
    dtype = np.dtype(draw.pick(tuple(str(d) for d in dtypes.of(s) if d.kind != "b")))
    m, top = draw.below(4 * n + 1), draw.pick((9, 2, 300))
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    weights = WEIGHTS[name](rng, m, top).astype(dtype)
    if name == "min_plus" and draw.chance(30):  # no negative cycle, but negative arcs
        height = rng.integers(-top, top, n)
        weights = (weights + height[tails] - height[heads]).astype(dtype)
    threads, block = draw.pick((1, 2, 3)), draw.pick((None, 1, 7, 64))
    wanted = rng.integers(0, n, draw.pick((n, 1, 3, 100)))
    draw.note(semiring=name, dtype=dtype, n=n, tails=tails, heads=heads, weights=weights, wanted=wanted, block=block)
    S = Searches((tails, heads), s, n=n, weights=weights, threads=threads)
    expected = star(n, tails, heads, weights, s)
    found = [(u, D.copy()) for u, D in S.rows(wanted, block=block)]
    np.testing.assert_array_equal(np.concatenate([u for u, _ in found]), wanted)
    np.testing.assert_array_equal(np.concatenate([D for _, D in found]), expected[wanted])
    np.testing.assert_array_equal(S.to_dense(), expected)
    j = draw.below(n)
    np.testing.assert_array_equal(S.column(j), expected[:, j])
    limit = draw.pick((0, 5, -1, 100))
    worse = expected > limit if s.add.selects == "least" else expected < limit
    np.testing.assert_array_equal(S.to_dense(limit=limit), np.where(worse, dtypes.zero(s, dtype), expected))


def star(n: int, tails: Any, heads: Any, weights: Any, s: semiring.Semiring) -> np.ndarray:
    """A* of the arcs, by rounds over all of them in Python's numbers."""
    zero, one = (value(s, weights.dtype).item() for value in (dtypes.zero, dtypes.one))
    arcs = [a for a in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True) if a[2] != zero]
    D = [[one if i == j else zero for j in range(n)] for i in range(n)]
    for row in D:
        changed = True
        while changed:
            changed = False
            for u, v, w in arcs:
                if row[u] != zero and (best := s.add.python(row[v], s.mul.python(row[u], w))) != row[v]:
                    row[v], changed = best, True
    return np.array(D, weights.dtype).reshape(n, n)


def _large(draw: Draw) -> None:
    """By whichever engine answers, and by that one by name; some rows by SciPy, in exact numbers."""
    rng, n = draw.rng(), 1024 + draw.below(80)
    engine = draw.pick(("essential", "levels"))
    dtype = np.dtype(draw.pick(("float64", "float32", "int32", "int64")))
    A = rng.integers(1, 30001, (n, n)).astype(float)
    A[rng.random((n, n)) > draw.pick((1.0, 0.3, 0.02))] = np.inf
    worst = 40000.0
    if engine == "levels":
        units = draw.pick(((1,), (1, 2, 5), (2, 3), tuple(range(1, 100)), (3, 3000), (4, 6, 101)))
        joined, worst = np.isfinite(A), float(units[-1])
        A[joined] = rng.choice(np.array(units, float), np.count_nonzero(joined))
    cut, special = n // 2 + draw.below(200), draw.below(n)
    trap = draw.pick(("halves", "way out", "nothing"))
    if trap == "halves":  # joined by one arc, the worst of its vertex
        A[:cut, cut:] = A[cut:, :cut] = np.inf
        A[draw.below(cut), cut + draw.below(n - cut)] = worst
    elif trap == "way out":  # of a vertex whose other arcs all lead to one that is a dead end
        A[special, :] = np.inf
        A[special, draw.below(n)] = worst
        A[special, (special + 1) % n] = 1.0
        A[(special + 1) % n, :] = np.inf
    np.fill_diagonal(A, draw.pick((0.0, 1.0)))
    given = _in(dtype, A)
    few = np.unique([0, special, cut, n - 1, *rng.integers(0, n, 4)])
    draw.note(n=n, engine=engine, dtype=dtype, trap=trap, special=special, cut=cut, few=few)
    finite = np.isfinite(A)
    graph = sp.csr_array((A[finite], np.nonzero(finite)), shape=(n, n))
    D = csgraph.dijkstra(graph, indices=few)
    expected = _in(dtype, D)
    np.testing.assert_array_equal(closure(given, null_value=None)[few], expected)
    try:
        r = shortest_paths(as_graph(given, null_value=None), dtype=dtype, engine=engine)
    except AlgebraError:  # too many arcs matter, or distances are many
        return
    np.testing.assert_array_equal(r.distances[few], expected)


def _in(dtype: np.dtype, A: np.ndarray) -> np.ndarray:
    """Lengths in a dtype, of which ∞ is its own."""
    out = np.where(np.isinf(A), 0, A).astype(dtype)
    out[np.isinf(A)] = dtypes.zero(semiring.get("min_plus"), dtype)
    return out
