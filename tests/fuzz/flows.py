"""Sums over best paths, within limits or none, of edges of any scale, by each engine: held to a loop in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from apsp import Graph, shortest_paths

from .draw import Draw

#: Weights of edges; those of floats are drawn so that no two paths are as long.
WEIGHTS: dict[str, Any] = {
    "unit": lambda rng, m: np.ones(m, np.int64),
    "integers": lambda rng, m: rng.integers(1, 7, m),
    "eighths": lambda rng, m: rng.integers(1, 5, m) / 8,
    "floats": lambda rng, m: rng.random(m) + 0.01,
    "float32": lambda rng, m: ((1 + rng.random(m)) * rng.choice([2.0**25, 1.0], m)).astype(np.float32),
    "short": lambda rng, m: (1 + rng.random(m)) * rng.choice([1.0, 1e-20, 1e-40], m),
    "penalties": lambda rng, m: (1 + rng.random(m)) * rng.choice([1e20, 1.0], m),
}


def case(draw: Draw) -> None:
    """One graph, and all sums of it."""
    rng, n = draw.rng(), draw.pick((4, 1, 2, 7, 12, 20))
    directed, kind = draw.chance(50), draw.pick(tuple(WEIGHTS))
    if kind in ("short", "penalties", "float32"):  # one way, what is lost in rounding ties, as NetworkX has it
        directed = False
    pairs = {(u, v) if directed else (min(u, v), max(u, v)) for u, v in rng.integers(0, n, (draw.below(3 * n) + 1, 2))}
    tails, heads = np.array(sorted((int(u), int(v)) for u, v in pairs if u != v), np.int64).reshape(-1, 2).T
    weights = WEIGHTS[kind](rng, len(tails))
    graph = Graph.from_arrays(tails, heads, None if kind == "unit" else weights, n=n, directed=directed)
    engine = draw.pick(("dense", "searches", "scipy", "elimination", "auto", *(["hops"] if kind == "unit" else [])))
    some = draw.chance(50)
    sources, targets = (np.sort(rng.permutation(n)[: draw.between(1, n)]).tolist() if some else range(n) for _ in "st")
    reached = np.array(weights if len(weights) else [1.0], float)
    limit = float(reached.sum() * draw.pick((0.21, 0.03, 0.5, 2.0))) if draw.chance(60) else None
    asked: dict[str, Any] = {"sources": list(sources), "targets": list(targets)} if some else {}
    draw.note(n=n, edges=list(zip(tails, heads, weights, strict=True)), directed=directed, engine=engine, limit=limit)
    draw.note(**asked)
    r = shortest_paths(graph, engine=engine, limit=limit, threads=draw.pick((1, 3)), **asked)
    counts, through, along = _sums(n, tails, heads, weights, directed, sources, targets, limit)
    np.testing.assert_array_equal(r.counts, counts)
    halved = 1 if directed or n < 2 else 2
    found = r.betweenness(normalized=False) if n > 2 else {}
    rounding = {"rtol": 1e-12, "atol": 1e-14 * through.max(initial=1.0)}  # of what enters, less what ends there
    np.testing.assert_allclose(list(found.values()), through[: len(found)] / halved, **rounding)
    np.testing.assert_allclose(r.flows(np.ones(counts.shape), unreachable="drop"), along, rtol=1e-12)
    if n > 1:
        np.testing.assert_allclose(r.edge_betweenness(normalized=False), along / halved, rtol=1e-12)
    for i, j in np.argwhere(counts > 0)[:3].tolist():
        paths = list(r.all_paths(sources[i], targets[j]))
        assert len({tuple(path) for path in paths}) == len(paths) == counts[i, j]


def _sums(
    n: int, tails: Any, heads: Any, weights: Any, directed: bool, sources: Any, targets: Any, limit: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many best paths there are, and what passes vertices and edges of one unit for each pair that has any."""
    arcs: list[dict[int, tuple[Fraction, int]]] = [{} for _ in range(n)]
    for e, (u, v, w) in enumerate(zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True)):
        arcs[u][v] = Fraction(w), e
        if not directed:
            arcs[v][u] = Fraction(w), e
    counts, through, along = np.zeros((len(sources), len(targets)), np.int64), np.zeros(n), np.zeros(len(tails))
    for i, s in enumerate(sources):
        d: dict[int, Fraction] = {s: Fraction(0)}
        for _ in range(n):
            for k in list(d):
                for j, (w, _) in arcs[k].items():
                    d[j] = min(d.get(j, d[k] + w), d[k] + w)
        order = sorted(d, key=d.__getitem__)
        before = {j: [k for k in order if j in arcs[k] and d[k] + arcs[k][j][0] == d[j]] for j in order}
        paths, owed = {s: 1}, dict.fromkeys(order, Fraction(0))
        for j in order[1:]:
            paths[j] = sum(paths[k] for k in before[j])
        ends = {j for j in targets if j in d and (limit is None or d[j] <= limit)}
        counts[i] = [paths[j] if j in ends else 0 for j in targets]
        for j in order[:0:-1]:
            through[j] += float(owed[j])
            for k in before[j]:
                share = (owed[j] + (j in ends)) * Fraction(paths[k], paths[j])
                along[arcs[k][j][1]] += float(share)
                owed[k] += share
    assert not any(map(math.isnan, through))
    return counts, through, along
