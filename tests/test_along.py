"""Quantities along best paths: `along=`, a list of weights, `of=`; the oracle is Dijkstra's algorithm on tuples."""

from __future__ import annotations

import heapq
import io
import json
import pickle
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from apsp import Graph, Result, plan, shortest_paths
from semiring import get
from semiring.host.errors import DomainError, DTypeError, FormatError, NegativeCycleError, ShapeError
from semiring.sparse.cycles import Weighted

ENGINES = ("dense", "elimination", "searches", "scipy")


def drawn(rng, n, m, most=4):
    """Edges with ties, weights of 0, loops and parallel ones: tails, heads, weights and two quantities."""
    return *rng.integers(0, n, (2, m)), *rng.integers(0, most, (3, m))


def least(n, edges, directed, parts=3):
    """The least tuples of sums from each vertex to each, None for no path: Dijkstra with tuples."""
    leaving = [[] for _ in range(n)]
    for u, v, *words in zip(*(x.tolist() for x in edges), strict=True):
        leaving[u].append((v, words[:parts]))
        if not directed:
            leaving[v].append((u, words[:parts]))
    table = []
    for source in range(n):
        best, queue = {}, [((0,) * parts, source)]
        while queue:
            sums, u = heapq.heappop(queue)
            if u not in best:
                best[u] = sums
                for v, words in leaving[u]:
                    if v not in best:
                        heapq.heappush(queue, (tuple(map(sum, zip(sums, words, strict=True))), v))
        table.append([best.get(v) for v in range(n)])
    return table


def words(table, k):
    return np.array([[np.inf if x is None else x[k] for x in row] for row in table], float).reshape(len(table), -1)


def summed(path, edges, values, directed=True, *, greatest=False):
    """A quantity along a path, by the best of parallel edges, then the least quantities, then the first."""
    tails, heads, weights, *quantities = (x.tolist() for x in edges)
    total = 0
    for u, v in pairwise(path):
        ways = [(u, v)] if directed else [(u, v), (v, u)]
        arcs = [e for e in range(len(tails)) if (tails[e], heads[e]) in ways]
        best = min(arcs, key=lambda e: (-weights[e] if greatest else weights[e], *(q[e] for q in quantities), e))
        total += values[best]
    return total


@pytest.mark.parametrize("engine", ENGINES)
def test_lexicographic_against_tuples(engine):
    rng = np.random.default_rng(1)
    for trial in range(60):
        n, directed = int(rng.integers(1, 11)), bool(trial % 2)
        edges = drawn(rng, n, int(rng.integers(0, 4 * n)))
        g = Graph.from_arrays(*edges[:3], n=n, directed=directed)
        r = shortest_paths(g, along={"q": edges[3], "p": edges[4]}, engine=engine)
        wanted = least(n, edges, directed)
        assert "carry q, p" in r.plan.reason
        for k, name in enumerate((None, "q", "p")):
            assert np.array_equal(r.table(of=name), words(wanted, k)), (trial, name)
        i, j = rng.integers(0, n, (2, 10))
        assert np.array_equal(r.distance(i, j, of="p"), words(wanted, 2)[i, j])
        for u, v in zip(i.tolist(), j.tolist(), strict=True):
            if wanted[u][v] is not None:
                path = r.path(u, v)
                assert path == r.paths([(u, v)])[0]
                for of, values in ((None, edges[2]), ("q", edges[3]), ("p", edges[4])):
                    found = r.distance(u, v, of=of)
                    assert found == summed(path, edges, values, directed)
                    assert isinstance(found, int)


def test_list_of_weights():
    rng = np.random.default_rng(2)
    for trial in range(200):
        n = int(rng.integers(2, 9))
        edges = drawn(rng, n, 3 * n, most=3)
        listed = [
            (u, v, {"time": w, "changes": c, "m": m})
            for u, v, w, c, m in zip(*map(np.ndarray.tolist, edges), strict=True)
        ]
        r = shortest_paths(listed, weight=["time", "changes"], along="m", directed=bool(trial % 2))
        wanted = least(n, edges, bool(trial % 2))
        at = [k for k in range(n) if k in r.labels]
        for k, name in enumerate(("time", "changes", "m")):
            assert np.array_equal(r.table(at, at, of=name), words(wanted, k)[np.ix_(at, at)])


@pytest.mark.parametrize(
    ("semiring", "dtype"),
    [
        *(("min_plus", "float64"), ("max_min", "float64"), ("max_times", "float32")),
        *(pytest.param(*pair, marks=pytest.mark.release) for pair in (("min_max", "int64"), ("max_plus", "float64"))),
    ],
)
@pytest.mark.parametrize("dense", [False, True])
def test_along_predecessors(semiring, dtype, dense):
    """Floats without a unit, and semirings that are not packed: the sums along `paths`, and along `path`."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        n = int(rng.integers(2, 12))
        tails, heads, weights, q, p = drawn(rng, n, 3 * n)
        if semiring == "max_plus":  # without cycles
            tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
            tails, heads, weights, q, p = (x[tails != heads] for x in (tails, heads, weights, q, p))
        weights = np.array([0.1, 0.3, 0.7, 0.9])[weights] * np.pi / 4 if dtype != "int64" else weights + 1
        p = p / 3 - 0.5
        if dense:
            code = np.unique(tails * n + heads, return_index=True)[1]
            tails, heads, weights, q, p = (x[code] for x in (tails, heads, weights, q, p))
            A, (Q, P) = np.full((n, n), -np.inf if semiring[:3] == "max" else np.inf), np.zeros((2, n, n))
            A = np.zeros((n, n)) if semiring == "max_times" else A
            A[tails, heads], Q[tails, heads], P[tails, heads] = weights, q, p
            null = 0 if semiring == "max_times" else None
            r = shortest_paths(A, semiring, dtype=dtype, along={"q": Q, "p": P}, null_value=null)
        else:
            graph = Graph.from_arrays(tails, heads, weights, n=n)
            r = shortest_paths(graph, semiring, dtype=dtype, along={"q": q, "p": p})
        edges = tails, heads, weights, q, p
        paths = [r.paths([(u, v)])[0] for u in range(n) for v in range(n)]
        assert "along predecessors" in r.plan.reason
        for name, values in (("q", q), ("p", p)):
            wanted = [summed(x, edges, values, greatest=semiring[:3] == "max") if x else np.inf for x in paths]
            table = np.reshape(wanted, (n, n))
            np.testing.assert_allclose(r.table(of=name), table, atol=1e-12)
            i = np.arange(n)
            np.testing.assert_allclose(r.distance(i, i[::-1], of=name), table[i, i[::-1]], atol=1e-12)
            np.testing.assert_allclose(r.table([0], [n - 1], of=name), table[:1, -1:], atol=1e-12)
        for (u, v), x in zip(np.ndindex(n, n), paths, strict=True):
            if x:
                assert r.path(u, v) == x


@pytest.mark.parametrize("floats", [False, True])
def test_parts_limits_blocks_and_nearest(floats):
    rng = np.random.default_rng(4)
    n = 30
    tails, heads, weights, q, _ = drawn(rng, n, 90, most=9)
    weights = weights * np.pi if floats else weights + 1
    g = Graph.from_arrays(tails, heads, weights, n=n)
    whole = shortest_paths(g, along={"q": q}, engine="dense")
    D, Q = whole.table(), whole.table(of="q")
    assert np.array_equal(np.concatenate([x for _, x in whole.rows(block=7, of="q")]), whole._of("q").distances)
    for limit in (None, 12.5):
        r = shortest_paths(g, along={"q": q}, sources=[3, 5, 1], targets=[2, 29, 4, 7], limit=limit)
        at = np.ix_([3, 5, 1], [2, 29, 4, 7])
        within = D[at] <= (np.inf if limit is None else limit)
        np.testing.assert_allclose(r.table(), np.where(within, D[at], np.inf), rtol=1e-13)
        assert np.array_equal(r.table(of="q"), np.where(within, Q[at], np.inf))
        assert np.array_equal(r.distance([3, 1], [29, 2], of="q"), r.table(of="q")[[0, 2], [1, 0]])
        assert next(P[0].tolist() for _, P in r.predecessor_rows([3])) == [
            p if d <= (np.inf if limit is None else limit) else -9999
            for p, d in zip(whole.predecessors[3].tolist(), D[3].tolist(), strict=True)
        ]
    near, told = whole.nearest([3, 8]), whole.nearest([3, 8], of="q")
    assert told.source == near.source
    assert told.distance.tolist() == [np.inf if s is None else Q[s, v] for v, s in enumerate(near.source)]
    back = whole.nearest([3, 8], towards=True, of="q")
    assert back.distance.tolist() == [np.inf if s is None else Q[v, s] for v, s in enumerate(back.source)]
    assert whole.reduce("reached").tolist() == np.isfinite(D).sum(axis=1).tolist()
    assert np.array_equal(pickle.loads(pickle.dumps(whole)).table(of="q"), Q)
    assert whole.verify("all", paths=True)


def test_other_answers_are_those_of_the_weights():
    rng = np.random.default_rng(8)
    n = 25
    edges = drawn(rng, n, 70)
    g = Graph.from_arrays(*edges[:2], edges[2] + 1, n=n)
    plain = shortest_paths(g, engine="dense")
    for engine in ENGINES:
        r = shortest_paths(g, along={"q": edges[3]}, engine=engine)
        assert r.distances.dtype == plain.distances.dtype
        assert np.array_equal(r.distances, plain.distances)
        assert np.array_equal(np.asarray(r), np.asarray(plain))
        assert (r.within(3) != plain.within(3)).nnz == 0
        assert np.array_equal(r.reduce("total"), plain.reduce("total"))
        assert np.array_equal(r.reduce("eccentricity", axis=0), plain.reduce("eccentricity", axis=0))
        assert r.nearest([1, 2]).distance.tolist() == plain.nearest([1, 2]).distance.tolist()
        np.testing.assert_allclose(r.edge_betweenness(), plain.edge_betweenness())
        u, v = next((u, v) for u, v in np.argwhere(np.asarray(plain) > 5).tolist() if np.isfinite(plain.distance(u, v)))
        assert r.k_distances(u, v, 4).tolist() == plain.k_distances(u, v, 4).tolist()
        assert list(r.all_paths(u, v)) == list(plain.all_paths(u, v))
        assert r.hops[u, v] == len(r.path(u, v)) - 1
        assert r.next_hops[u, v] == r.path(u, v)[1]
        part = shortest_paths(g, along={"q": edges[3]}, sources=[u], targets=[v])
        assert part.path(u, v) == r.path(u, v)


def test_matrices_with_gaps():
    """Matrices that no vertex of leads everywhere, and complete ones, integers and unweighted."""
    rng = np.random.default_rng(9)
    n = 9
    for density in (0.2, 0.6, 1.0):
        there = rng.random((n, n)) < density
        W, Q = rng.integers(0, 10**9, (n, n)), rng.integers(0, 5, (n, n))
        A = np.where(there, W, np.inf)
        tails, heads = np.nonzero(there)
        wanted = least(n, (tails, heads, W[there], Q[there]), True, parts=2)
        for matrix in (A, np.where(there, W, np.iinfo(np.int64).max)):
            r = shortest_paths(matrix, null_value=None, along={"q": Q})
            assert "carry" in r.plan.reason
            assert np.array_equal(r.table(of="q"), words(wanted, 1))
            assert np.array_equal(r.table(), words(wanted, 0))
    r = shortest_paths(A - 10**9 * np.subtract.outer(range(n), range(n)), null_value=None, along={"q": Q})
    assert np.array_equal(r.table(of="q"), words(wanted, 1))  # weights of both signs, the same cycles
    r = shortest_paths(there & (Q > 2), unweighted=True, along={"q": Q})
    tails, heads = np.nonzero(there & (Q > 2))
    wanted = least(n, (tails, heads, np.ones_like(tails), Q[tails, heads]), True, parts=2)
    assert np.array_equal(r.table(of="q"), words(wanted, 1))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_bits_of_complete_matrices(dtype):
    """Bounds by the largest rate of a quantity to the weight, loops left out, where they narrow the lengths."""
    rng = np.random.default_rng(13)
    n = 70
    W, Q = rng.integers(500, 1000, (n, n)), rng.integers(0, 900, (n, n))
    W[1:, 0], W[0, 1:] = W[1:, 0] // 9, W[0, 1:] // 9  # short ways through a vertex
    np.fill_diagonal(W, 0)
    np.fill_diagonal(Q, 10**9)
    tails, heads = np.nonzero(~np.eye(n, dtype=bool))
    wanted = least(n, (tails, heads, W[tails, heads], Q[tails, heads]), True, parts=2)
    for scale, kind in ((1, np.int32), (50, np.int32), (10**5, np.float64)):
        r = shortest_paths(W.astype(dtype), null_value=None, along={"q": Q * scale})
        assert r.along.engine.dtype == kind
        assert np.array_equal(r.table(of="q"), words(wanted, 1) * scale)
        assert np.array_equal(r.table(), words(wanted, 0))


def test_negative_weights_and_large_ones():
    rng = np.random.default_rng(5)
    n = 12
    tails, heads, weights, q, p = drawn(rng, n, 40)
    h = rng.integers(0, 50, n)
    turned = weights + h[tails] - h[heads]  # the same cycles, so none is negative
    wanted = least(n, (tails, heads, weights, q, p), True)
    r = shortest_paths(Graph.from_arrays(tails, heads, turned, n=n), along={"q": q, "p": p})
    assert np.array_equal(r.table(of="q"), words(wanted, 1))
    assert np.array_equal(r.table(of="p"), words(wanted, 2))
    for scale, kind in ((1, np.int32), (10**9, np.float64), (10**13, np.int64)):
        for engine in ENGINES[: 3 if kind is np.int64 else 4]:  # SciPy's searches are in float64
            g = Graph.from_arrays(tails, heads, weights * scale, n=n)
            r = shortest_paths(g, along={"q": q, "p": p}, engine=engine)
            assert r.along.engine.dtype == kind
            for k, name in enumerate((None, "q", "p")):
                assert np.array_equal(r.table(of=name), words(wanted, k) * (1 if k else scale))
    free = shortest_paths([(0, 1, 0), (1, 2, 2**40), (2, 0, 2**40)], along={"q": [10**6, 1, 1]})  # most where w is 0
    assert free.table(of="q").tolist() == [[0, 10**6, 10**6 + 1], [2, 0, 1], [1, 10**6 + 1, 0]]
    with pytest.raises(NegativeCycleError, match="-1"):
        shortest_paths([(0, 1, -3), (1, 0, 2)], along=[5, 6])


def test_floats_of_a_unit():
    edges = [("A", "B", {"h": 0.25, "km": 1.5}), ("B", "C", {"h": 1.0, "km": 2.25}), ("A", "C", {"h": 1.25, "km": 4.0})]
    r = shortest_paths(edges, weight="h", along="km")
    assert "carry km" in r.plan.reason
    assert (r.distance("A", "C"), r.distance("A", "C", of="km"), r.path("A", "C")) == (1.25, 3.75, ["A", "B", "C"])
    assert r.to_frame(["A"], ["C"], of=["h", "km"]).values.tolist() == [["A", "C", 1.25, 3.75]]
    assert shortest_paths(edges, weight="h", along="km", limit=1.24).table(["A"], ["B", "C"], of="km").tolist() == [
        [1.5, np.inf]
    ]


def test_decimals():
    """Floats with a fixed number of decimals are packed as integers: exact ties, sums rounded once."""
    rng = np.random.default_rng(10)
    for _ in range(20):
        n = int(rng.integers(2, 12))
        edges = drawn(rng, n, 3 * n, most=30)
        g = Graph.from_arrays(*edges[:2], edges[2] / 10, n=n)
        r = shortest_paths(g, along={"km": edges[3] / 1000, "p": edges[4]})
        wanted = least(n, edges, True)
        assert "carry km, p" in r.plan.reason
        for name, k, over in ((None, 0, 10), ("km", 1, 1000), ("p", 2, 1)):
            assert np.array_equal(r.table(of=name), words(wanted, k) / over)
        assert r.distance(0, 1, of="km") == words(wanted, 1)[0, 1] / 1000
        for limit in (0.3, 1.7, 2.9):
            near = shortest_paths(g, along={"km": edges[3] / 1000}, limit=limit)
            assert np.array_equal(near.table(), np.where(words(wanted, 0) / 10 <= limit, words(wanted, 0) / 10, np.inf))


@pytest.mark.parametrize("engine", ENGINES[:3])
def test_a_limit_that_not_even_a_vertex_itself_keeps(engine):
    """An engine that stops at the limit leaves nothing to cut: distances are no paths, and so are quantities."""
    r = shortest_paths([("A", "B", -2)], "max_plus", limit=3, along=[4], engine=engine)
    assert np.isneginf(r.table()).all()
    assert np.isinf(r.table(of="along")).all()
    assert r.distance("A", "A", of="along") == np.inf


def test_integers_in_floats_are_not_counted_in_tenths():
    """Whose sums exceed 53 bits: tenths take three bits more, and the way out was to count them in units of 1."""
    roads = [(k, k + 1, {"time": 230000000000001.0 + k, "changes": 20}) for k in range(19)]
    r = shortest_paths(roads, weight=["time", "changes"])
    assert (r.distance(0, 19), r.distance(0, 19, of="changes")) == (19 * 230000000000001 + 9 * 19, 19 * 20)


def test_names_differ():
    edges = [("A", "B", {"time": 1, "m": 2})]
    with pytest.raises(ValueError, match="names that differ"):
        shortest_paths(edges, weight="time", along=["m", "m"])
    for name in ("time", "from"):  # a column of to_frame(of=[…])
        with pytest.raises(ValueError, match="another name than the weight, from, to and path"):
            shortest_paths(edges, weight="time", along={name: "m"})


@pytest.mark.parametrize("engine", ENGINES)
def test_update_keeps_quantities(engine):
    rng = np.random.default_rng(6)
    n = 20
    tails, heads, weights, q, p = drawn(rng, n, 60)
    r = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), along={"q": q, "p": p}, engine=engine)
    for new in (weights[::-1].copy(), weights * np.pi, weights + 1):
        r = r.update(new)
        if new.dtype.kind == "i":
            wanted = least(n, (tails, heads, new, q, p), True)
            assert np.array_equal(r.table(of="q"), words(wanted, 1))
            assert np.array_equal(r.table(of="p"), words(wanted, 2))
    edge = int(tails[0]), int(heads[0])
    new = np.where((tails == edge[0]) & (heads == edge[1]), 7, weights + 1)
    r = r.update({edge: 7})
    assert np.array_equal(r.table(of="p"), words(least(n, (tails, heads, new, q, p), True), 2))


def test_hub_labels_answer_quantities():
    rng = np.random.default_rng(7)
    n = 40
    edges = drawn(rng, n, 120)
    r = shortest_paths(Graph.from_arrays(*edges[:3], n=n), along={"q": edges[3]}, hub_labels=True)
    i, j = rng.integers(0, n, (2, 500))
    assert np.array_equal(r.distance(i, j, of="q"), words(least(n, edges, True), 1)[i, j])


def test_sources_of_all_kinds(tmp_path):
    import networkx as nx
    import pandas as pd

    rows = [("A", "B", 4, 300), ("B", "C", 7, 900), ("A", "C", 12, 500)]
    frame = pd.DataFrame(rows, columns=["from", "to", "time", "metres"])
    path = tmp_path / "roads.csv"
    frame.to_csv(path, index=False)
    G = nx.DiGraph()
    G.add_weighted_edges_from([row[:3] for row in rows], weight="time")
    nx.set_edge_attributes(G, {(u, v): m for u, v, _, m in rows}, "metres")
    for source in (frame, path, G, [(u, v, {"time": t, "metres": m}) for u, v, t, m in rows]):
        r = shortest_paths(source, weight="time", along=["metres", "edges"])
        assert (r.distance("A", "C", of="metres"), r.distance("A", "C", of="edges")) == (1200, 2)
    r = shortest_paths(
        (x for x in [(u, v, {"time": t, "metres": m}) for u, v, t, m in rows]), weight="time", along="metres"
    )
    assert r.distance("A", "C", of="metres") == 1200
    r = shortest_paths(G, weight="time", along={"km": lambda u, v, data: data["metres"] / 1000})
    assert r.distance("A", "C", of="km") == pytest.approx(1.2)
    r = shortest_paths(path, columns=("from", "to", "time"), along=[300, 900, 500])
    assert r.distance("A", "C", of="along") == 1200
    assert shortest_paths([("A", "B"), ("B", "C")], along="edges").distance("A", "C", of="edges") == 2
    with pytest.raises(ValueError, match="Pass the path"):
        shortest_paths(io.StringIO(path.read_text()), weight="time", along="metres", format="csv")
    with pytest.raises(ShapeError, match=r"of shape \(3,\), got \(2,\)"):
        shortest_paths(frame, weight="time", along=[1, 2])


def test_what_does_not_fit_is_refused_with_the_unit():
    w, q = np.array([2**40, 1]), np.array([2**40, 1])
    g = Graph.from_arrays([0, 1], [1, 2], w)
    r = shortest_paths(g, along={"q": q})
    assert "along predecessors" in r.plan.reason
    assert r.distance(0, 2, of="q") == 2**40 + 1
    listed = [(0, 1, {"time": 2**40, "changes": 2**40}), (1, 2, {"time": 1, "changes": 1})]
    with pytest.raises(DomainError, match=r"Count 'time' in units of 1e\+07"):
        shortest_paths(listed, weight=["time", "changes"])
    listed[0][2]["time"] = round(2**40 / 10**7)
    assert shortest_paths(listed, weight=["time", "changes"]).distance(0, 2, of="changes") == 2**40 + 1
    listed = [(0, 1, {"time": 1, "changes": -1})]
    for options in ({}, {"dtype": "float32"}, {"semiring": "max_min"}, {"memory": "1GiB"}):
        with pytest.raises(DomainError, match="Else pass one weight, and the others as along="):
            shortest_paths(listed, weight=["time", "changes"], **options)
        assert shortest_paths(listed, weight="time", along="changes", **options).distance(0, 1, of="changes") == -1


@pytest.mark.parametrize("scales", [(1, 2**60), (2**60, 1), (2**40, 2**40), (1e-3, 1e10), (1e12, 1e-7)])
def test_ways_out_of_what_does_not_fit(scales):
    """Followed to the letter, errors of a list of weights lead to lengths that fit."""
    rng = np.random.default_rng(15)
    ends, wanted = rng.integers(0, 9, (2, 40)).tolist(), rng.random((2, 40)) + 0.1
    values = {
        name: np.rint(5 * x).astype(int) * scale if isinstance(scale, int) else x * scale
        for name, x, scale in zip("tc", wanted, scales, strict=True)
    }
    for _ in range(5):
        named = ({name: x[k].item() for name, x in values.items()} for k in range(40))
        try:
            assert "carry c" in shortest_paths(list(zip(*ends, named, strict=True)), weight=["t", "c"]).plan.reason
            break
        except DomainError as error:
            name, way = re.search(r"'([tc])' (?:in|must be mult).*: (.*)\. Else", str(error)).groups()
            values[name] = eval(way, {"x": values[name]})
            assert np.count_nonzero(values[name]) == 40
    else:
        pytest.fail("no way out")


def test_sums_of_integers_beyond_64_bits_are_floats():
    ends = np.array([0, 1, 0, 3]), np.array([1, 2, 3, 2])
    for large in (2**62, 2**63 - 1, -(2**62), -(2**63)):
        r = shortest_paths(Graph.from_arrays(*ends, [1, 1, 3, 3]), along=[large, large, 0, 0])
        wanted = 2.0 * large
        found = r.distance(0, 2, of="along"), r.table(of="along")[0, 2], *(D[0, 2] for _, D in r.rows(of="along"))
        assert found == (wanted,) * 3
        assert r.distance([0] * 99, [2] * 99, of="along").tolist() == [wanted] * 99


def test_semirings_of_your_own_and_exact_limits():
    for dtypes in (("float64",), ("int32", "float32")):  # without the dtypes of packed lengths
        mine = replace(get("min_plus"), name="mine", dtypes=dtypes)
        r = shortest_paths(Graph.from_arrays([0, 1, 0], [1, 2, 2], [4, 7, 12]), mine, along=[3 * 10**9, 9, 5])
        assert r.distance(0, 2, of="along") == 3 * 10**9 + 9
    for more in (0, 1):
        g = Graph.from_arrays([0, 1], [1, 2], [2**53, 1])
        r = shortest_paths(g, limit=2**53 + more, along=[3, 9])
        assert r.distance(0, 2, of="along") == (12 if more else np.inf)


def test_a_dtype_asked_for_is_that_of_the_weights(tmp_path):
    g = Graph.from_arrays([0, 1, 0], [1, 2, 2], [4.0, 8, 16])  # of a common unit
    r = shortest_paths(g, dtype="int64", along=[1, 2, 3])
    r.save(tmp_path / "r.npz")
    for found in (r, Result.load(tmp_path / "r.npz"), r.update([8.0, 8, 8])):
        assert (found.dtype, found.distance(0, 2, of="along")) == (np.int64, 3)
    with pytest.raises(DTypeError, match=r"int64 must hold every entry exactly, got 0\.1 .*float64"):
        shortest_paths(Graph.from_arrays([0], [1], [0.1]), dtype="int64", along=[1])


def test_labels_of_tables_count():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"from": ["A", "B"], "to": ["B", "C"], "t": [4, 7], "m": [30, 90]}, index=[5, 3])
    square = pd.DataFrame([[0, 4.0], [np.inf, 0]], index=["A", "B"], columns=["A", "B"])
    metres = pd.DataFrame([[0, 30], [0, 0]], index=["A", "B"], columns=["A", "B"])
    for source, along, other, axis in (
        (table, table["m"], table["m"][::-1], "index"),
        (square, metres, metres[["B", "A"]], "columns"),
    ):
        options = {"weight": "t"} if axis == "index" else {}
        for given in (along, other.reindex(**{axis: getattr(source, axis)}), along.to_numpy()):
            assert shortest_paths(source, along=given, **options).distance("A", "B", of="along") == 30
        with pytest.raises(ShapeError, match=rf"have the {axis} of the table, got another. Say x.reindex\({axis}="):
            shortest_paths(source, along=other, **options)


def test_values_that_are_no_numbers_and_names_that_are_none():
    edges = [("A", "B", {"t": 4, "ferry": True}), ("B", "C", {"t": 7, "ferry": False})]
    for along, text in (
        ("ferry", "'ferry' must be a number on every edge, got True on edge 0. Pass an array"),
        ("metres", "'metres' must be a number on every edge, got edges with attributes 'ferry', 't'. Pass an array"),
        ({"m": ["1", "2"]}, "'m' must be a number on every edge, got '1' on edge 0. Pass an array"),
    ):
        with pytest.raises(DTypeError, match=text):
            shortest_paths(edges, weight="t", along=along)
    r = shortest_paths(edges, weight="t", along=("edges",))
    assert r.distance("A", "C", of="edges") == 2
    with pytest.raises(ValueError, match=r"of: it must be one of 't', 'edges', got \['edges'\]"):
        r.table(of=["edges"])
    assert shortest_paths(edges, weight="t", along={}).along is None


@pytest.mark.parametrize("engine", ENGINES)
def test_nearest_of_equally_near_ones(engine):
    """Quantities that break ties do so among sources, by every engine; there may be none to a vertex."""
    edges = np.array([0, 1, 2, 2]), np.array([3, 3, 4, 2]), np.array([5, 5, 1, 0]), np.array([9, 3, 1, 1])
    r = shortest_paths(Graph.from_arrays(*edges[:3], n=6), along={"q": edges[3]}, engine=engine)
    near = r.nearest([0, 1], of="q")
    assert (near.source[3], near.distance[3]) == (1, 3)
    assert r.nearest([5], of="q").distance.tolist() == [np.inf] * 5 + [0]
    assert shortest_paths(r.graph, "max_min", along={"q": edges[3]}, targets=[0]).nearest([4], of="q").source == [None]


def told(p):
    """The reason of a plan before any work, beside that of the result's plan."""
    return p.engine, p.schedule, p.dtype, p.variant, p.beside_bytes, p.reason, [e.engine for e in p.considered]


@pytest.mark.parametrize(
    ("along", "how"),
    [
        ({"weight": ["time", "p"]}, "lengths carry p in "),
        ({"weight": "time", "along": ["q", "edges"]}, "lengths carry q, edges in "),
        ({"weight": "time", "along": ["q", "f"]}, "; f along predecessors: 'f' must be multiples of a unit"),
        ({"weight": "time", "along": "q", "semiring": "max_min"}, "q along predecessors: packed lengths must be sums"),
        ({"weight": "time", "along": "q", "dtype": "float32"}, "q along predecessors: packed lengths need 64 bits"),
    ],
    ids=lambda x: x if isinstance(x, str) else "-".join(x),
)
@pytest.mark.parametrize("options", [{"engine": x} for x in (*ENGINES[:3], "auto")] + [{"sources": [1, 4]}], ids=str)
def test_a_plan_says_before_any_work_what_the_result_says(along, how, options):
    rng = np.random.default_rng(12)
    edges = drawn(rng, 30, 100)
    named = [
        (u, v, {"time": w + 1, "q": q * 10**7, "p": p, "f": float(np.sqrt(w + 2))})
        for u, v, w, q, p in zip(*(x.tolist() for x in edges), strict=True)
    ]
    found = plan(named, **along, **options)
    assert how in found.reason
    assert told(found) == told(shortest_paths(named, **along, **options).plan)
    plain = plan(named, weight="time", **{k: x for k, x in along.items() if k not in ("weight", "along")}, **options)
    assert "along" not in plain.reason
    assert "carry" not in plain.reason


def test_a_plan_of_a_matrix_and_its_refusals():
    A, Q = np.add.outer([1, 4, 2, 9], [5, 3, 1, 2]), np.arange(16).reshape(4, 4)
    for more in ({}, {"memory": "1GiB"}):
        found = plan(A, along={"q": Q}, **more)
        assert told(found) == told(shortest_paths(A, along={"q": Q}, **more).plan)
        assert ("carry q" in found.reason) is (not more)
    listed = [(0, 1, {"time": 2**40, "changes": 2**40}), (1, 2, {"time": 1, "changes": 1})]
    for wrong, error, text in (
        ((listed, {"weight": ["time", "changes"]}), DomainError, r"Count 'time' in units of 1e\+07"),
        ((listed, {"weight": "time", "along": {"time": [1, 2]}}), ValueError, "another name than the weight"),
        ((listed, {"weight": "time", "along": [1, 2, 3]}), ShapeError, "a number an edge"),
        ((5, {"along": "edges"}), ValueError, "along=, .* must come with a graph"),
        ((5, {"weight": "time"}), ValueError, "weight=, .* must come with a graph"),
    ):
        with pytest.raises(error, match=text):
            plan(wrong[0], **wrong[1])


def test_command(tmp_path):
    from click.testing import CliRunner

    from apsp.doors.cli import main

    (tmp_path / "roads.csv").write_text("from,to,time,metres\nA,B,4,300\nB,C,7,900\nA,C,12,500\n")
    (tmp_path / "pairs.txt").write_text("A C\nC A\n")
    command = ["-q", "solve", str(tmp_path / "roads.csv"), "--weight", "time", "--along", "metres,edges"]
    said = CliRunner().invoke(main, [*command, "--from", "A", "--to", "C"])
    assert said.output.split("\n")[:3] == ["distance 11", "metres 1200", "edges 2"]
    said = CliRunner().invoke(main, [*command, "--paths", str(tmp_path / "pairs.txt")])
    assert [line.split()[:5] for line in said.output.splitlines()] == [
        ["from", "to", "distance", "metres", "edges"],
        ["A", "C", "11", "1200", "2"],
        ["C", "A", "inf", "inf", "inf"],
    ]
    for name in ("r.npz", "r.tiles/"):
        kept = str(tmp_path / name)
        assert CliRunner().invoke(main, [*command, "--output", kept]).exit_code == 0
        assert Result.load(kept).distance("A", "C", of="metres") == 1200
    assert (
        CliRunner().invoke(main, [*command, "--output", str(tmp_path / "r"), "--output-format", "npz"]).exit_code == 0
    )
    assert Result.load(tmp_path / "r").distance("A", "C", of="metres") == 1200
    for more in ([], ["--output", str(tmp_path / "r.csv")]):
        said = CliRunner().invoke(main, [*command, *more])
        assert said.exit_code == 2
        assert "an --output that apsp query" in said.output
    one, several = [*command[1:], "--from", "A", "--to", "C"], [*command[1:], "--paths", str(tmp_path / "pairs.txt")]
    told = json.loads(CliRunner().invoke(main, ["--json", *one]).output)
    assert (told["distance"], told["metres"], told["edges"], told["n"]) == (11, 1200, 2, 3)  # not all edges
    told = json.loads(CliRunner().invoke(main, ["--json", *several]).output)["rows"]
    assert [x["metres"] for x in told] == [1200, None]
    (tmp_path / "bare.csv").write_text("A,B,4,300\n")
    bare = ["-q", "solve", str(tmp_path / "bare.csv"), "--columns", "0,1,2", "--from", "A", "--to", "B", "--along", "3"]
    assert CliRunner().invoke(main, bare).output.split("\n")[:2] == ["distance 4", "3 300"]
    (tmp_path / "bare.csv").write_text("from,to,time,path\nA,B,4,300\n")
    said = CliRunner().invoke(
        main, [*bare[:3], "--along", "time, path", "--from", "A", "--to", "B", "--weight", "time"]
    )
    assert said.exit_code == 2
    assert "another name than the weight, from, to and path" in said.output
    said = CliRunner().invoke(main, ["plan", *command[2:]])
    assert "lengths carry metres, edges in" in said.output
    said = CliRunner().invoke(main, ["plan", "5", "--along", "metres"])
    assert said.exit_code == 2
    said = CliRunner().invoke(main, command)
    assert said.exit_code == 2
    assert "--from and --to" in said.output


def test_of_without_along_and_unknown_names(tmp_path):
    r = shortest_paths([("A", "B", 4)])
    with pytest.raises(ValueError, match=r"shortest_paths\(…, along=…\)"):
        r.distance("A", "B", of="metres")
    r = shortest_paths([("A", "B", 4)], along={"metres": [7]})
    with pytest.raises(ValueError, match="metres"):
        r.table(of="meters")
    with pytest.raises(ValueError, match="leave along out"):
        r.save(tmp_path / "r.hubs")
    r.save(tmp_path / "r.csv")
    assert shortest_paths(tmp_path / "r.csv").distance("A", "B") == 4


def test_bound_on_distances_of_graphs_with_islands():
    rng = np.random.default_rng(11)
    for _ in range(100):
        n = int(rng.integers(2, 15))
        tails, heads, weights, _, _ = edges = drawn(rng, n, int(rng.integers(1, 2 * n)), most=50)
        bound, _ = Weighted(tails, heads, weights, n, get("min_plus")).farthest()
        assert bound >= max(x[0] for row in least(n, edges, True, parts=1) for x in row if x is not None)
    apart = np.arange(0, 200, 2)  # a hundred islands of one edge each
    assert Weighted(apart, apart + 1, np.full(100, 7), 200, get("min_plus")).farthest()[0] == 7


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("part", [None, range(5)])
def test_what_is_unpacked_stays_packed(engine, part):
    """Tables and pairs, the whole or a part, of lengths in float64, time and again."""
    rng = np.random.default_rng(3)
    edges = drawn(rng, 12, 60)
    along = {"a": edges[3] * 10**6, "b": edges[4] * 1000}
    r = shortest_paths(Graph.from_arrays(*edges[:3], n=12), along=along, engine=engine, sources=part)
    assert r.along.engine.dtype == np.float64
    truth, rows, all_pairs = least(12, edges, True), range(12) if part is None else part, np.indices((12, 12))
    for _ in range(2):
        for of, k in (("a", 1), ("b", 2), (None, 0)):
            D = np.array([[np.inf if x is None else x[k] * [1, 10**6, 1000][k] for x in truth[u]] for u in rows])
            np.testing.assert_array_equal(r.table(of=of), D)
            np.testing.assert_array_equal(r.table(list(rows)[::-1], [3, 1], of=of), D[::-1, [3, 1]])
            u, v = all_pairs[:, : len(rows)]
            np.testing.assert_array_equal(r.distance(u, v, of=of), D)


@pytest.mark.parametrize("engine", ["dense", "elimination"])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_along_a_path(engine, directed):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        edges = drawn(rng, 12, 60)
        for along in (None, {"a": edges[3], "b": edges[4]}):
            r = shortest_paths(Graph.from_arrays(*edges[:3], n=12, directed=directed), engine=engine, along=along)
            known = edges[: 3 if along is None else 5]
            for u in range(12):
                for v in range(12):
                    if np.isfinite(r.distance(u, v)):
                        path, found = r.path(u, v), r.edges(u, v)
                        assert len(found) == len(path) - 1
                        assert summed(path, known, range(60), directed) == sum(found.tolist())
                        assert edges[2][found].sum() == r.distance(u, v)
    with pytest.raises(ShapeError, match="edges: the graph must be a list of edges"):
        shortest_paths(np.ones((4, 4))).edges(0, 1)
    assert shortest_paths([("a", "b", 2)]).edges("b", "b").tolist() == []


@pytest.mark.parametrize("suffix", ["npz", "tiles", "zarr"])
@pytest.mark.parametrize("source", ["edges", "matrix", "unpacked", "changes"])
def test_quantities_are_saved(tmp_path, suffix, source):
    rng = np.random.default_rng(1)
    edges = drawn(rng, 15, 70)
    graph, along = Graph.from_arrays(*edges[:3], n=15), {"a": edges[3], "b": edges[4] / 4}
    if source == "matrix":
        A = np.where(rng.random((15, 15)) < 0.4, rng.integers(1, 5, (15, 15)), np.inf)
        graph, along = Graph.from_matrix(A), {"a": rng.integers(0, 5, (15, 15))}
    elif source == "changes":
        graph, along = (
            [(f"v{u}", f"v{v}", {"t": int(w), "c": int(c)}) for u, v, w, c in zip(*edges[:4], strict=True)],
            None,
        )
    options = {"weight": ["t", "c"]} if source == "changes" else {"along": along}
    r = shortest_paths(graph, **options, **({"dtype": "float32"} if source == "unpacked" else {}))
    r.save(tmp_path / f"r.{suffix}")
    found = Result.load(tmp_path / f"r.{suffix}")
    for of in (None, r.along.weight, *r.along.quantities):
        np.testing.assert_array_equal(found.table(of=of), r.table(of=of))
    pairs = [(u, v) for u in r.labels for v in r.labels]
    assert list(found.paths(pairs)) == list(r.paths(pairs))
    changed = (
        {tuple(r.labels[int(x[0])] for x in graph.edges()[:2]): 9} if isinstance(graph, Graph) else {("v1", "v2"): 9}
    )
    if source != "changes" or {("v1", "v2")} & {edge[:2] for edge in graph}:
        for of in r.along.quantities:
            np.testing.assert_array_equal(found.update(changed).table(of=of), r.update(changed).table(of=of))
    part = shortest_paths(graph, **options, limit=5)
    with pytest.raises(ValueError, match="all pairs, without a limit"):
        part.save(tmp_path / f"part.{suffix}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"packed": lambda told: told["packed"] + 1},
        {"packed": lambda told: "2"},
        {"names": lambda told: told["names"][:1]},
        {"names": lambda told: ["a", "a"]},
        {"weight": lambda told: "a"},
        {"ordered": lambda told: 9},
        {"along": lambda parts: "[" * 100_000},
        {"along_0": lambda parts: parts["along_0"][:2]},
        {"along_0": lambda parts: parts["along_0"] + 1},
        {"along_0": lambda parts: parts["along_0"].astype("U3")},
        {"along_weights": lambda parts: parts["along_weights"][:2]},
        {"along_lengths": lambda parts: parts["along_lengths"] // 2},
        {"along_lengths": lambda parts: parts["along_lengths"].astype("U9")},
    ],
)
def test_damaged_quantities_are_refused(tmp_path, wrong):
    graph = Graph.from_arrays([0, 1, 0, 0], [1, 2, 2, 0], [4, 7, 12, 99], n=3)  # a loop may have more than its bits
    shortest_paths(graph, along={"a": [3, 9, 5, 1000], "b": [0.5, 2, 0, 99]}).save(tmp_path / "r.npz")
    parts = dict(np.load(tmp_path / "r.npz"))
    told, ((name, new),) = json.loads(str(parts["along"])), wrong.items()
    assert Result.load(tmp_path / "r.npz").distance(0, 2, of="a") == 12
    more = {name: new(parts)} if name.startswith("along") else {"along": json.dumps({**told, name: new(told)})}
    np.savez(tmp_path / "r.npz", **parts | more)
    with pytest.raises(FormatError):
        Result.load(tmp_path / "r.npz")


def test_quantities_of_what_is_streamed_to_a_store(tmp_path):
    A, Q = np.array([[0.0, 4, 12], [np.inf, 0, 7], [1, np.inf, 0]]), np.arange(9).reshape(3, 3)
    r = shortest_paths(A, along=Q, output=str(tmp_path / "r.tiles"))
    for found in (r, Result.load(tmp_path / "r.tiles")):
        assert found.table(of="along").tolist() == [[0, 1, 6], [11, 0, 5], [6, 7, 0]]


def test_quantities_of_other_lengths_on_disk_are_refused(tmp_path):
    for name, weight in (("r", 4), ("other", 5)):
        r = shortest_paths(Graph.from_arrays([0, 1], [1, 2], [weight, 7]), along={"a": [3, 9]})
        r.save(tmp_path / f"{name}.zarr")
    (tmp_path / "r.zarr" / "result_npz").rename(tmp_path / "away")
    (tmp_path / "other.zarr" / "result_npz").rename(tmp_path / "r.zarr" / "result_npz")
    with pytest.raises(FormatError, match="lengths that are not the distances"):
        Result.load(tmp_path / "r.zarr")


def test_names_that_no_file_holds_are_refused_as_they_are_saved(tmp_path):
    graph = Graph.from_arrays([0], [1], [4])
    with pytest.raises(ValueError, match=r"names, got \('a', 1\)"):
        shortest_paths(graph, along={("a", 1): [3]}).save(tmp_path / "r.npz")
    shortest_paths(graph, along={7: [3]}).save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").distance(0, 1, of=7) == 3
