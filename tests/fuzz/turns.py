"""Graphs with forbidden, costly, by-way and U-turns: every answer held to a search over the last vertices of walks."""

from __future__ import annotations

import heapq
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from apsp import Graph, Result, shortest_paths

from .draw import Draw

Rules = dict[tuple[int, ...], float]


def case(draw: Draw) -> None:
    """One graph with turns, and everything that can be asked of it."""
    rng, n = draw.rng(), draw.pick((4, 1, 2, 3, 5, 7))
    directed, positive = draw.chance(60), draw.chance(70)
    tails, heads = rng.integers(0, n, (2, draw.below(4 * n) + 1))
    weights = rng.integers(1 if positive else 0, 9, len(tails))
    floats = draw.chance(30)
    weights = weights / 8 if floats else weights
    graph = Graph.from_arrays(tails, heads, weights, n=n, directed=directed)
    arcs = _arcs(graph)
    rules = _rules(draw, rng, arcs, draw.below(8))
    u_turns = draw.pick((None, math.inf, 3, 1))
    engine = draw.pick(("elimination", "dense", "searches", "scipy", "auto"))
    draw.note(n=n, edges=list(zip(tails, heads, weights, strict=True)), directed=directed, rules=rules)
    draw.note(u_turns=u_turns, engine=engine)
    r = shortest_paths(graph, turns=_told(draw, rules), u_turns=u_turns, engine=engine)
    D = held(r, arcs, rules, u_turns, positive=positive)
    if draw.chance(40):
        some, ends = (rng.permutation(n)[: draw.between(1, n)] for _ in "st")
        limit = draw.pick((None, 4, 9))
        part = shortest_paths(
            graph, turns=rules, u_turns=u_turns, sources=some, targets=ends, engine=engine, limit=limit
        )
        wanted = D[np.ix_(some, ends)]
        wanted = np.where(wanted <= (math.inf if limit is None else limit), wanted, math.inf)
        np.testing.assert_array_equal(part.table(), wanted)
        np.testing.assert_array_equal(part.reduce("total"), np.where(wanted < math.inf, wanted, 0).sum(axis=1))
        np.testing.assert_array_equal(part.reduce(np.minimum, axis=0), wanted.min(axis=0))
        np.testing.assert_array_equal(part.paths().hops >= 0, (wanted < math.inf).ravel())
    if draw.chance(50) and engine != "scipy":
        r = r.hub_labels() if engine == "elimination" else r
        new = rng.integers(1, 9, len(tails)) / (8 if floats else 1)
        changed = np.flatnonzero(rng.random(len(new)) < draw.pick((0.1, 1.0)))
        weights = np.array(weights)
        weights[changed] = new[changed].astype(weights.dtype)
        graph = Graph.from_arrays(tails, heads, weights, n=n, directed=directed)
        arcs, more = _arcs(graph), _rules(draw, rng, _arcs(graph), draw.below(3))
        more = more if draw.chance(60) else {}
        r = r.update(weights, turns=more) if more else r.update(weights)
        held(r, arcs, rules | more, u_turns, positive=bool((weights > 0).all()))


def held(r: Result, arcs: dict[tuple[int, int], Any], rules: Rules, u_turns: Any, *, positive: bool) -> np.ndarray:
    """The distances of walks, after a result has been compared with them."""
    n, found = r.graph.n, [walks(r.graph.n, arcs, rules, u_turns or 0, s) for s in range(r.graph.n)]
    D = np.array([[float(x[0].get(v, math.inf)) for v in range(n)] for x in found])
    np.testing.assert_array_equal(r.table(), D)
    i, j = np.divmod(np.arange(n * n), n)
    np.testing.assert_array_equal(r.distance(i, j), D.ravel())
    for (u, v), path in zip(zip(i.tolist(), j.tolist(), strict=True), r.paths(), strict=True):
        for walk in (path, r.path(u, v) if D[u, v] < math.inf else []):
            assert (walk[:1], walk[-1:]) == (([u], [v]) if D[u, v] < math.inf else ([], []))
            assert not walk or _length(walk, arcs, rules, u_turns or 0) == D[u, v]
    near = D[:2].min(axis=0)
    np.testing.assert_array_equal(r.nearest(list(range(n))[:2]).distance, near)
    np.testing.assert_array_equal(r.nearest(list(range(n))[:2], towards=True).distance, D[:, :2].min(axis=1))
    np.testing.assert_array_equal(r.within(5).toarray() > 0, (D <= 5) & (D > 0))
    assert r.verify("all")
    np.testing.assert_array_equal(r.reduce("reached"), (D < math.inf).sum(axis=1))
    np.testing.assert_array_equal(r.reduce(np.maximum, axis=0), D.max(axis=0))
    np.testing.assert_array_equal(r.reduce("eccentricity"), D.max(axis=1))
    if positive:
        counts, along = np.zeros((n, n), np.int64), dict.fromkeys(arcs, 0.0)
        through = np.zeros(n)
        for s, (_, count, flow, passed) in enumerate(found):
            counts[s] = [count.get(v, 0) for v in range(n)]
            through += passed
            for arc, x in flow.items():
                along[arc] += x
        np.testing.assert_array_equal(r.counts, counts)
        told: dict[tuple[int, int], float] = {}
        flows = r.flows(np.ones((n, n)), unreachable="drop")
        for u, v, x in zip(r.graph.rows.tolist(), r.graph.cols.tolist(), flows.tolist(), strict=True):
            key = (u, v) if r.graph.directed else (min(u, v), max(u, v))
            told[key] = told.get(key, 0.0) + x
        for (u, v), x in along.items():
            key = (u, v) if r.graph.directed else (min(u, v), max(u, v))
            told[key] -= x
        assert max(map(abs, told.values()), default=0) < 1e-9
        if n > 2:
            between = np.array(list(r.betweenness(normalized=False).values()))
            np.testing.assert_allclose(between * (1 if r.graph.directed else 2), through, atol=1e-9)
        for u, v in zip(i.tolist(), j.tolist(), strict=True):
            if counts[u, v] and counts[u, v] < 20:
                every = {tuple(path) for path in r.all_paths(u, v)}
                assert len(every) == counts[u, v]
    with tempfile.TemporaryDirectory() as folder:
        r.save(Path(folder) / "r.npz")
        again = Result.load(Path(folder) / "r.npz")
        np.testing.assert_array_equal(again.table(), D)
        assert list(map(len, again.paths())) == list(map(len, r.paths())) or not positive
    return D


def walks(
    n: int, arcs: dict[tuple[int, int], Any], rules: Rules, u_turns: float, source: int
) -> tuple[dict[int, Any], dict[int, int], dict[tuple[int, int], float], np.ndarray]:
    """From a vertex: distances, numbers of best walks, what a unit to each sends along arcs and through vertices.

    Dijkstra's algorithm on the last vertices of a walk, as many as rules look at.
    """
    kept = max([3, *map(len, rules)]) - 1
    best: dict[tuple[int, ...], Fraction] = {}
    before: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    queue: list[tuple[Fraction, tuple[int, ...], tuple[int, ...] | None]] = [(Fraction(0), (source,), None)]
    order = []
    while queue:
        d, walk, came = heapq.heappop(queue)
        if walk in best:
            if best[walk] == d and came is not None:
                before[walk].append(came)
            continue
        best[walk], before[walk] = d, [] if came is None else [came]
        order.append(walk)
        for (u, v), w in arcs.items():
            if u == walk[-1] and (turn := turning(walk, v, arcs, rules, u_turns)) < math.inf:
                heapq.heappush(queue, (d + Fraction(w) + Fraction(turn), (*walk, v)[-kept:], walk))
    distances: dict[int, Any] = {}
    for walk in order:
        distances.setdefault(walk[-1], best[walk])
    number = {order[0]: 1}
    for walk in order[1:]:
        number[walk] = sum(number.get(x, 0) for x in before[walk])
    ends = {v: [walk for walk in order if walk[-1] == v and best[walk] == d] for v, d in distances.items()}
    counts = {v: sum(number[walk] for walk in those) for v, those in ends.items()}
    owed, along, through = dict.fromkeys(order, 0.0), {}, np.zeros(n)
    for walk in reversed(order[1:]):
        through[walk[-1]] += owed[walk]
        if walk in ends[walk[-1]]:
            owed[walk] += number[walk] / counts[walk[-1]]
        for came in before[walk]:
            share = owed[walk] * number[came] / number[walk]
            owed[came] += share
            along[came[-1], walk[-1]] = along.get((came[-1], walk[-1]), 0.0) + share
    return distances, counts, along, through


def turning(walk: tuple[int, ...], v: int, arcs: Any, rules: Rules, u_turns: float) -> float:
    """What it costs to go on to v."""
    full, cost = (*walk, v), 0.0
    if len(full) > 2 and full[-3:] not in rules and full[-3] == v != full[-2]:
        cost = 0.0 if {b for a, b in arcs if a == full[-2]} == {v} else u_turns
    return cost + sum(c for rule, c in rules.items() if full[-len(rule) :] == rule)


def _length(path: list[int], arcs: Any, rules: Rules, u_turns: float) -> float:
    steps = range(1, len(path))
    return float(
        sum(Fraction(arcs[path[k - 1], path[k]]) for k in steps)
        + sum(Fraction(turning(tuple(path[:k]), path[k], arcs, rules, u_turns)) for k in steps)
    )


def _arcs(graph: Graph) -> dict[tuple[int, int], Any]:
    """The best of parallel arcs."""
    arcs: dict[tuple[int, int], Any] = {}
    for u, v, w in zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist(), strict=True):
        for ends in ((u, v), (v, u))[: 1 if graph.directed else 2]:
            arcs[ends] = min(w, arcs.get(ends, w))
    return arcs


def _rules(draw: Draw, rng: np.random.Generator, arcs: dict[tuple[int, int], Any], count: int) -> Rules:
    """Turns along arcs, from three vertices on."""
    rules: Rules = {}
    for _ in range(count):
        walk, size = list(list(arcs)[int(rng.integers(len(arcs)))]), draw.pick((3, 3, 3, 4, 5))
        while len(walk) < size and (ahead := [b for a, b in arcs if a == walk[-1]]):
            walk.append(ahead[int(rng.integers(len(ahead)))])
        if len(walk) > 2:
            rules[tuple(walk)] = draw.pick((math.inf, 2, 5, 0))
    return rules


def _told(draw: Draw, rules: Rules) -> Any:
    """Turns in one of the ways in which people list them."""
    kind = draw.pick(("mapping", "tuples", "columns", "records"))
    rows = [(x[0], x[1] if len(x) == 3 else list(x[1:-1]), x[-1], cost) for x, cost in rules.items()]
    names = ("from", "via", "to", "cost")
    if kind == "mapping":
        return rules
    if kind == "columns" and rows:
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return [dict(zip(names, row, strict=True)) for row in rows] if kind == "records" else rows
