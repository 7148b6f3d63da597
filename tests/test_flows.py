"""Sums over best paths: NetworkX's values, and those of paths listed one by one by an uncompiled loop."""

from __future__ import annotations

import functools
from fractions import Fraction
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from processes import ROOT

from apsp import Graph, Result, cycle, grid, road_like, shortest_paths
from apsp.answers.result.flowing import Flowing
from semiring import Elimination, Op, Semiring, min_plus
from semiring.dense.routes import adjoint
from semiring.host.errors import (
    AlgebraError,
    DivergenceError,
    DomainError,
    DTypeError,
    MemoryNeeded,
    NoPathError,
    ShapeError,
    VertexError,
)
from semiring.sparse import flows as swept


def weights_of(kind: str, m: int, rng: np.random.Generator):
    return {
        "unit": lambda: None,
        "integers": lambda: rng.integers(1, 10, m),
        "tenths": lambda: rng.integers(1, 6, m) / 10,  # sums are rounded, and which of them tie depends on their order
        "floats": lambda: rng.random(m) + 0.01,
    }[kind]()


def random(kind: str, *, directed: bool, n: int = 40, m: int = 150, parallel: bool = False, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, m))
    if not parallel:
        pairs = dict.fromkeys(
            (u, v) if directed else (min(u, v), max(u, v)) for u, v in np.stack((tails, heads), axis=1).tolist()
        )
        tails, heads = np.array(list(pairs)).T
    return Graph.from_arrays(tails, heads, weights_of(kind, len(tails), rng), n=n, directed=directed)


def ends_of(graph: Graph) -> list[tuple[int, int]]:
    return np.stack((graph.rows, graph.cols), axis=1).tolist()


def of_networkx(G: nx.Graph, graph: Graph, values: dict) -> np.ndarray:
    """NetworkX's values of edges in the graph's order."""
    return np.array([values.get((u, v), values.get((v, u))) for u, v in ends_of(graph)])


@pytest.mark.parametrize("kind", ["unit", "integers", "tenths", "floats"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("engine", ["auto", "dense", "elimination", "searches"])
def test_betweenness_is_networkxs(kind, directed, engine):
    graph = random(kind, directed=directed)
    G, r = graph.to_networkx(), shortest_paths(graph, engine=engine)
    weight = None if kind == "unit" else "weight"
    for normalized in (True, False):
        for endpoints in (True, False):
            options = {"normalized": normalized, "endpoints": endpoints}
            theirs = nx.betweenness_centrality(G, weight=weight, **options)
            assert r.betweenness(**options) == pytest.approx(theirs, rel=1e-12, abs=1e-15)
        theirs = nx.edge_betweenness_centrality(G, weight=weight, normalized=normalized)
        np.testing.assert_allclose(
            r.edge_betweenness(normalized=normalized), of_networkx(G, graph, theirs), rtol=1e-12, atol=1e-15
        )


@pytest.fixture
def always_swept(monkeypatch):
    """Have sums of an elimination come from its sweep run backwards, however few rows they are of."""
    monkeypatch.setattr(swept, "worthwhile", lambda *_: True)


SHAPES = {
    "path": nx.path_graph(5),
    "star": nx.star_graph(7),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 9)),
    "a tree": nx.random_labeled_tree(40, seed=3),
    "complete": nx.complete_graph(20),
    "two components": nx.disjoint_union(nx.cycle_graph(9), nx.gnm_random_graph(30, 60, seed=4)),
    "sparse": nx.gnm_random_graph(150, 200, seed=1),
    "digraph": nx.gnm_random_graph(60, 200, seed=2, directed=True),
    "one arc": nx.DiGraph([(0, 1)]),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("top", "factor", "dtype"),
    [(2, 1, "int32"), (5, 1, "int64"), (100, 7 << 30, "int64"), (4, 0.125, "float64"), (9, 3.0, "float32")],
)
def test_the_sweep_run_backwards(name, top, factor, dtype, always_swept, monkeypatch):
    monkeypatch.delattr(Flowing, "_summed")  # rows are not needed
    G, rng = SHAPES[name], np.random.default_rng(0)
    for _, _, data in G.edges(data=True):
        data["weight"] = int(rng.integers(1, top)) * factor
    tails, heads, weights = zip(*G.edges(data="weight"), strict=True)
    graph = Graph.from_arrays(tails, heads, np.array(weights, dtype), n=len(G), directed=G.is_directed())
    theirs, edges = nx.betweenness_centrality(G, weight="weight"), nx.edge_betweenness_centrality(G, weight="weight")
    q = rng.random((len(G), len(G)))
    found = []
    for threads in (1, 3):
        if threads == 3:  # and with sources put together that are alike in a subtree
            monkeypatch.setattr(swept, "SUBTREES", (1, 25))
        r = shortest_paths(graph, engine="elimination", threads=threads)
        assert r.betweenness() == pytest.approx(theirs, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(r.edge_betweenness(), of_networkx(G, graph, edges), rtol=1e-12, atol=1e-14)
        reached = np.asarray(r.distances) != r.infinity
        flows = r.flows(np.where(reached, q, 0))
        assert (flows * weights).sum() == pytest.approx((q * np.where(reached, r.distances, 0)).sum(), rel=1e-12)
        found.append(flows)
    assert (found[0] == found[1]).all()


def test_half_of_all_pairs_tell_what_edges_carry_both_ways(monkeypatch):
    """If every arc weighs the same both ways; of 3 × 128 lanes.

    A supernode is in two batches, and some vertices are alone.
    """
    n, rng, done = 300, np.random.default_rng(5), []
    ends = np.array(nx.disjoint_union(nx.gnm_random_graph(160, 200, seed=2), nx.complete_graph(140)).edges)
    tails, heads = np.concatenate((ends, ends[:, ::-1])).T
    weights = np.tile(rng.integers(1, 6, len(ends)), 2)
    some, asked = rng.choice(n, 40, replace=False), rng.random(n)
    batches, swept_by = [], swept._Worker.batch

    def batch(self, *args, half, exact):
        batches.append(half)
        swept_by(self, *args, half=half, exact=exact)

    monkeypatch.setattr(swept._Worker, "batch", batch)
    monkeypatch.setattr(swept, "ALIKE", 128)

    def sums(weights, *, all_pairs=False):
        with monkeypatch.context() as patched:
            if all_pairs:
                patched.setattr(swept, "mutual", lambda *_: False)
            E, found = Elimination.from_arrays(tails, heads, weights, n, "min_plus"), []
            for sources, to in ((some, asked), (rng.permutation(n), np.ones(n)), (some[::2], np.ones(n))):
                found.append(swept.Flows(E, tails, heads, weights, 2))
                assert found[-1].add(sources, to, done.append)
        return found

    other = weights + (np.arange(len(weights)) == 0)  # one arc is longer than its way back
    for given, halves in ((weights, 3), (other, 0)):
        batches.clear()
        pairs = zip(sums(given), sums(given, all_pairs=True), strict=True)
        assert sum(batches) == halves
        for half, every in pairs:
            np.testing.assert_allclose(half.along(), every.along(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(half.ends, every.ends)


@pytest.mark.parametrize("kind", ["streets", "one way", "ties", "islands"])
@pytest.mark.parametrize("half", [True, False])
def test_sources_that_are_alike_in_a_subtree_are_swept_together(kind, half, monkeypatch):
    """The same sums, and as many vertices that reach each; by lanes of which most subtrees need a few."""
    graph, rng, told = road_like(900, seed=3), np.random.default_rng(3), []
    tails, heads = np.concatenate((graph.rows, graph.cols)), np.concatenate((graph.cols, graph.rows))
    weights = np.tile(graph.weights if kind != "ties" else rng.integers(1, 3, len(graph.rows)), 2)
    keep = np.ones(len(tails), bool)
    if kind == "one way":
        keep[len(graph.rows) :] = rng.random(len(graph.rows)) < 0.6
    if kind == "islands":
        keep = np.tile(rng.random(len(graph.rows)) < 0.75, 2)
    tails, heads, weights = tails[keep], heads[keep], weights[keep]
    E, together = Elimination.from_arrays(tails, heads, weights, graph.n, "min_plus"), swept.alike.together
    if not half:
        monkeypatch.setattr(swept, "mutual", lambda *_: False)

    def seen(y, *given):
        told.append((together(y, *given)[0], y.shape[1]))
        return together(y, *given)

    monkeypatch.setattr(swept.alike, "together", seen)
    found, some = [], np.sort(rng.permutation(graph.n)[:300])
    for columns, lanes in (((1, 0), 128), ((8, 120), 256), ((1, 50), 16)):
        monkeypatch.setattr(swept, "SUBTREES", columns)
        monkeypatch.setattr(swept, "ALIKE", lanes)
        of_both = []
        for sources in (np.arange(graph.n), some):
            of_both.append(swept.Flows(E, tails, heads, weights, 2))
            assert of_both[-1].add(sources, np.ones(graph.n), lambda _: None)
        if lanes == 256:
            assert sum(2 * wide <= every for wide, every in told) > len(told) / 2 > 10
        told.clear()
        found.append(of_both)
    for of_both in found[1:]:
        for sums, first in zip(of_both, found[0], strict=True):
            np.testing.assert_allclose(sums.along(), first.along(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(sums.ends, first.ends)


@pytest.mark.parametrize("name", ["grid", "digraph", "two components"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_sweep_run_backwards_on_lengths_that_are_rounded(name, dtype, always_swept, monkeypatch):
    monkeypatch.delattr(Flowing, "_summed")  # no two paths are as long, so rows are not needed
    G, rng = SHAPES[name], np.random.default_rng(1)
    tails, heads = np.array(G.edges).T
    graph = Graph.from_arrays(tails, heads, rng.random(len(tails)).astype(dtype), n=len(G), directed=G.is_directed())
    r = shortest_paths(graph, engine="elimination")
    theirs = nx.betweenness_centrality(graph.to_networkx(), weight="weight")
    assert r.betweenness() == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("weight", [2, 0.5])
def test_the_sweep_run_backwards_around_a_street_that_is_closed(weight, always_swept, monkeypatch):
    monkeypatch.delattr(Flowing, "_summed")
    G = SHAPES["grid"].copy()
    nx.set_edge_attributes(G, weight, "weight")
    tails, heads = np.array(G.edges).T
    graph = Graph.from_arrays(tails, heads, np.full(len(tails), weight), n=len(G), directed=False)
    r = shortest_paths(graph, engine="elimination").update({(0, 1): np.inf})
    G.remove_edge(0, 1)
    theirs = nx.edge_betweenness_centrality(G, weight="weight")
    assert r.edge_betweenness().tolist() == pytest.approx(
        [theirs.get((u, v), 0.0) for u, v in ends_of(graph)], rel=1e-12
    )


def test_the_sweep_run_backwards_of_tenths_in_float32(always_swept):
    graph = random("tenths", directed=False)  # in float32 they are other sums, and other ties
    r = shortest_paths(graph, engine="elimination", dtype="float32")
    alone = shortest_paths(graph, engine="dense", dtype="float32")
    np.testing.assert_allclose(r.edge_betweenness(), alone.edge_betweenness(), rtol=1e-12)


def test_the_sweep_run_backwards_on_distances_beyond_int32(always_swept, monkeypatch):
    monkeypatch.delattr(Flowing, "_summed")
    monkeypatch.setattr(swept, "SUBTREES", (1, 12))
    weights = np.arange(40) + (1 << 27)  # a few edges fit, forty do not
    r = shortest_paths(Graph.from_arrays(np.arange(40), np.arange(1, 41), weights, n=41), engine="elimination")
    assert r.edge_betweenness(normalized=False).tolist() == [k * (41 - k) for k in range(1, 41)]


def test_sums_begin_again_where_sources_need_wider_numbers():
    tails, heads, weights = np.arange(40), np.arange(1, 41), np.arange(40) + (1 << 27)
    E = Elimination.from_arrays(tails, heads, weights, 41, "min_plus")
    for sources, dtype in ((np.array([38, 39]), np.int32), (np.arange(40), np.float64)):
        F = swept.Flows(E, tails, heads, weights, 1)
        assert F.add(sources, np.ones(41), lambda _: None)
        assert F.dtype == dtype
    assert F.along().tolist() == [k * (41 - k) for k in range(1, 41)]
    assert F.ends.tolist() == list(range(41))


@pytest.mark.parametrize("number", [0, 1])
def test_the_sweep_run_backwards_leaves_to_rows_what_does_not_fit(number, always_swept, monkeypatch):
    calls = []

    def refuse(*_, **__):
        calls.append(None)
        if len(calls) > number:
            raise MemoryNeeded("too much")

    graph = random("integers", directed=True)
    r, q = shortest_paths(graph, engine="elimination"), np.random.default_rng(0).random((graph.n, graph.n))
    expected = r.flows(q, unreachable="drop")
    monkeypatch.setattr(swept, "require", refuse)
    np.testing.assert_allclose(r.flows(q, unreachable="drop"), expected, rtol=1e-12)
    assert len(calls) == number + 1


def test_the_sweep_run_backwards_leaves_to_rows_what_it_cannot_say(always_swept):
    tenths = random("tenths", directed=False)
    assert shortest_paths(tenths, engine="elimination").betweenness() == pytest.approx(
        nx.betweenness_centrality(tenths.to_networkx(), weight="weight"), rel=1e-12
    )
    unreachable = shortest_paths([("A", "B", 1), ("C", "B", 1)], engine="elimination")
    with pytest.raises(NoPathError, match="from 'A' to 'C'"):
        unreachable.flows({("A", "B"): 1, ("A", "C"): 2})
    assert unreachable.flows({("A", "B"): 1, ("A", "C"): 2}, unreachable="drop").tolist() == [1, 0]
    many = diamonds(1010)  # 2¹⁰¹⁰ best paths from end to end
    assert shortest_paths(many, sources=[0], engine="elimination").betweenness(normalized=False) == pytest.approx(
        nx.betweenness_centrality_subset(many, [0], list(many)), rel=1e-12
    )
    with pytest.raises(DivergenceError, match="costs nothing"):
        shortest_paths([("A", "B", 0), ("B", "A", 0), ("B", "C", 1)], engine="elimination").betweenness()


def diamonds(count: int) -> nx.Graph:
    """So many squares in a row, of each of which there are two ways round."""
    G = nx.Graph()
    for k in range(count):
        G.add_edges_from([(3 * k, 3 * k + 1), (3 * k, 3 * k + 2), (3 * k + 1, 3 * k + 3), (3 * k + 2, 3 * k + 3)])
    return G


def test_a_matrix_has_a_matrix_of_flows():
    rng = np.random.default_rng(1)
    A = np.where(rng.random((50, 50)) < 0.3, rng.integers(1, 9, (50, 50)), np.inf)
    r, G = shortest_paths(A), nx.DiGraph()
    G.add_nodes_from(range(50))
    G.add_weighted_edges_from((i, j, A[i, j]) for i in range(50) for j in range(50) if i != j and A[i, j] < np.inf)
    expected = np.zeros((50, 50))
    for (i, j), value in nx.edge_betweenness_centrality(G, weight="weight").items():
        expected[i, j] = value
    np.testing.assert_allclose(r.edge_betweenness(), expected, rtol=1e-12, atol=1e-15)
    assert r.betweenness() == pytest.approx(nx.betweenness_centrality(G, weight="weight"), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_parallel_edges_share_and_loops_carry_nothing(directed):
    graph = random("integers", directed=directed, n=12, m=150, parallel=True)
    G = nx.MultiDiGraph() if directed else nx.MultiGraph()
    G.add_nodes_from(range(12))
    # In an undirected multigraph the edges of a pair are one list, whatever way they were given.
    edges = [(u, v, G.add_edge(u, v)) for u, v in ends_of(graph)]
    for edge, w in zip(edges, graph.weights.tolist(), strict=True):
        G.edges[edge]["weight"] = w
    theirs = nx.edge_betweenness_centrality(G, weight="weight")
    expected = [0.0 if u == v else theirs.get((u, v, k), theirs.get((v, u, k))) for u, v, k in edges]
    r = shortest_paths(graph)
    np.testing.assert_allclose(r.edge_betweenness(), expected, rtol=1e-12, atol=1e-15)
    assert r.betweenness() == pytest.approx(nx.betweenness_centrality(G, weight="weight"), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_a_sample_is_scaled_as_networkx_does(directed, k):
    graph = random("integers", directed=directed)
    G, r = graph.to_networkx(), shortest_paths(graph)
    drawn = np.sort(np.random.default_rng(5).choice(40, k, replace=False)).tolist()

    class Drawn:
        def sample(self, nodes, count):
            assert count == len(drawn)
            return drawn

    for normalized in (True, False):
        for endpoints in (True, False):
            options = {"normalized": normalized, "endpoints": endpoints}
            theirs = nx.betweenness_centrality.orig_func(G, k=k, weight="weight", seed=Drawn(), **options)
            ours = r.betweenness(sources=k, seed=5, **options)
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15, nan_ok=True)
        theirs = nx.edge_betweenness_centrality.orig_func(G, k=k, weight="weight", seed=Drawn(), normalized=normalized)
        ours = r.edge_betweenness(sources=k, seed=5, normalized=normalized)
        np.testing.assert_allclose(ours, of_networkx(G, graph, theirs), rtol=1e-12, atol=1e-15)
    for wrong in (0, 41, 2.5, True):
        with pytest.raises(ShapeError, match="sources must be"):
            r.betweenness(sources=wrong)


def test_a_result_of_some_sources_and_targets_is_that_of_the_subset():
    graph = random("integers", directed=False)
    sources, targets = [3, 1, 8], [1, 20, 21, 39]
    r = shortest_paths(graph, sources=sources, targets=targets)
    theirs = nx.betweenness_centrality_subset(graph.to_networkx(), sources, targets, weight="weight")
    assert r.betweenness(normalized=False) == pytest.approx(theirs, rel=1e-12)
    whole = shortest_paths(graph)
    np.testing.assert_array_equal(r.counts, whole.counts[np.ix_(sources, targets)])
    q = np.arange(12.0).reshape(3, 4)
    full = np.zeros((40, 40))
    full[np.ix_(sources, targets)] = q
    np.testing.assert_allclose(r.flows(q), whole.flows(full), rtol=1e-13)


def test_beyond_a_limit_there_is_no_path():
    graph = random("integers", directed=True)
    near, r = shortest_paths(graph, limit=9), shortest_paths(graph)
    D, reached = r.table(), np.asarray(near.reachable)
    assert 0 < reached.sum() < (D < np.inf).sum()
    np.testing.assert_array_equal(near.counts, np.where(reached, r.counts, 0))
    np.testing.assert_allclose(near.edge_betweenness(normalized=False), r.flows(reached * 1.0), rtol=1e-13)


def within(graph: Graph, limit: float, sources: list[int], targets: list[int]):
    """Counts, what vertices and edges carry of a unit for each pair, and paths of the last: NetworkX's predecessors."""
    G = graph.to_networkx()
    n, weight = graph.n, "weight" if graph.weights is not None else None
    through, carried = np.zeros(n), dict.fromkeys(map(tuple, ends_of(graph)), 0.0)
    counts = np.zeros((len(sources), len(targets)), np.int64)
    for i, s in enumerate(sources):
        before, lengths = nx.dijkstra_predecessor_and_distance(G, s, limit, weight)

        def walked(v, s=s, before=before):
            return [[s]] if v == s else [[*path, v] for k in before[v] for path in walked(k)]

        for j, t in enumerate(targets):
            found = walked(t) if t in lengths else []
            counts[i, j] = len(found)
            for path in found:
                through[path[1:-1]] += 1 / len(found)
                for u, v in pairwise(path):
                    carried[(u, v) if (u, v) in carried else (v, u)] += 1 / len(found)
    return counts, through, np.array(list(carried.values())), found


@pytest.mark.parametrize("kind", ["unit", "integers", "floats"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("some", [True, False], ids=["some", "all"])
def test_sums_within_a_limit_whatever_finds_the_distances(kind, directed, some):
    """Searches go no further: what arcs lead to from what they reach may be missing from their rows."""
    graph, rng = random(kind, directed=directed, m=90), np.random.default_rng(3)
    every = list(range(graph.n))
    sources, targets = (rng.permutation(graph.n)[:9].tolist(), [*range(5, 38), 2]) if some else (every, every)
    limit = {"unit": 3, "integers": 9, "floats": 0.8}[kind]
    counts, through, carried, paths = within(graph, limit, sources, targets)
    assert 0 < (counts == 0).sum() < counts.size
    asked = {"sources": sources, "targets": targets} if some else {}
    for engine in ("dense", "elimination", "searches", "scipy", *(["hops"] if kind == "unit" else [])):
        for threads in (1, 3):
            r = shortest_paths(graph, limit=limit, engine=engine, threads=threads, **asked)
            np.testing.assert_array_equal(r.counts, counts)
            found = r.betweenness(normalized=False)
            np.testing.assert_allclose(list(found.values()), through / (1 if directed else 2), rtol=1e-12)
            edges = carried / (1 if directed else 2)
            np.testing.assert_allclose(r.edge_betweenness(normalized=False), edges, rtol=1e-12)
            flows = r.flows(np.ones(counts.shape), unreachable="drop")
            np.testing.assert_allclose(flows, carried, rtol=1e-12)
            if paths:
                assert sorted(r.all_paths(sources[-1], targets[-1])) == sorted(paths)
            with pytest.raises(NoPathError):
                r.flows(np.ones(counts.shape))


def test_sums_within_a_limit_near_weights_that_are_lost_in_rounding():
    """Both ways of such an edge may be tight, and the row has to be searched for, no further than the limit."""
    graph = Graph.from_arrays(range(5), range(1, 6), [1.0, 1e-15, 1e-20, 1.0, 1.0], directed=False)
    r = shortest_paths(graph, limit=2.5, engine="searches")
    np.testing.assert_array_equal(r.counts, [[1] * 5 + [0], *[[1] * 6] * 4, [0] + [1] * 5])
    assert r.edge_betweenness(normalized=False).tolist() == [4, 7, 8, 7, 4]


# Paths, one by one


def listed_paths(arcs: dict, mul, better, u: int, v: int) -> list[list[int]]:
    """Every best simple path, by trying all of them."""
    best, found = None, []

    def walk(path, length):
        nonlocal best, found
        if path[-1] == v:
            if best is None or better(length, best):
                best, found = length, []
            if length == best:
                found.append(path)
            return
        for (a, b), w in arcs.items():
            if a == path[-1] and b not in path:
                walk([*path, b], w if length is None else mul(length, w))

    walk([u], None)
    return found


SEMIRINGS = {
    "min_plus": (lambda a, b: a + b, lambda a, b: a < b, [1, 2, 3]),
    "max_plus": (lambda a, b: a + b, lambda a, b: a > b, [1.0, 2.0, 3.0, -1.0]),
    "reliability": (lambda a, b: a * b, lambda a, b: a > b, [0.5, 0.25]),
}


@pytest.mark.parametrize("name", SEMIRINGS)
def test_counts_paths_and_flows_against_all_paths_listed(name):
    mul, better, values = SEMIRINGS[name]
    rng = np.random.default_rng(3)
    n = 8
    arcs = {
        (i, j): values[int(rng.integers(len(values)))]
        for i in range(n)
        for j in range(n)
        if i != j and rng.random() < 0.5 and (name != "max_plus" or i < j)
    }
    graph = Graph.from_edges([(u, v, w) for (u, v), w in arcs.items()], labels=range(n))
    r = shortest_paths(graph, name, dtype="float64" if name == "max_plus" else None)
    q = rng.integers(0, 5, (n, n)).astype(float)
    expected = dict.fromkeys(arcs, 0.0)
    for u in range(n):
        for v in range(n):
            paths = [[u]] if u == v else listed_paths(arcs, mul, better, u, v)
            assert r.counts[u, v] == len(paths)
            if paths:
                assert sorted(r.all_paths(u, v)) == sorted(paths)
            for path in paths:
                for edge in pairwise(path):
                    expected[edge] += q[u, v] / len(paths)
    np.testing.assert_allclose(r.flows(q, unreachable="drop"), list(expected.values()), rtol=1e-13)


def own_min_plus() -> Semiring:
    """Without instructions for its operations."""
    add = Op("least", python=lambda a, b: a if a < b else b, cuda="min(a, b)", selects="least")
    mul = Op("sum", python=lambda a, b: a + b, cuda="a + b")
    return Semiring("own_min_plus", add, mul, zero=np.inf, one=0.0, dtypes=("float64",), samples=(0.0, 1.0, 2.5))


DENSE = [
    *(("min_plus", dtype) for dtype in ("float32", "float64", "int16", "int32")),
    pytest.param("min_plus", "int64", marks=pytest.mark.release),  # max_plus has int64, where paths are listed
]


@functools.cache
def counted_and_carried(products: bool):
    """A graph, by products or by sums; what goes from vertex to vertex; numbers of paths, and flows of edges."""
    rng, n = np.random.default_rng(5), 71
    W = 0.5 ** rng.integers(1, 5, (n, n)) if products else rng.integers(1, 6, (n, n)).astype(float)
    present = rng.random((n, n)) < 0.7
    np.fill_diagonal(present, False)
    tails, heads = present.nonzero()
    graph = Graph.from_arrays(tails, heads, W[present], n=n)
    D = shortest_paths(graph, "reliability" if products else "min_plus").table()
    q = rng.random((n, n))
    counts, flows = np.eye(n, dtype=np.int64), np.zeros((n, n))
    for s in range(n):
        length = -np.log2(D[s]) if products else D[s]
        order = [int(j) for j in np.argsort(length, kind="stable") if length[j] < np.inf]
        assert order[0] == s
        reach = D[s][:, None] * W if products else D[s][:, None] + W
        tight = present & (reach == D[s]) & (np.arange(n) != s)
        for j in order[1:]:
            counts[s, j] = counts[s] @ tight[:, j]
        owed = q[s].copy()
        for j in order[:0:-1]:
            share = owed[j] * counts[s] * tight[:, j] / counts[s, j]
            flows[:, j] += share
            owed += share
    assert (counts > 1).any()
    return graph, q, counts, flows[present]


@pytest.mark.parametrize(("name", "dtype"), [*DENSE, ("reliability", "float64"), ("own_min_plus", "float64")])
def test_counts_and_flows_of_graphs_of_many_edges(name, dtype):
    """More edges a vertex than are tried for one source alone; no multiple of the sources that are tried together."""
    graph, q, counts, flows = counted_and_carried(name == "reliability")
    s, engine = (own_min_plus(), "dense") if name == "own_min_plus" else (name, "elimination")
    r = shortest_paths(graph, s, dtype=dtype, engine="searches" if name == "min_plus" else engine)
    np.testing.assert_array_equal(r.counts, counts)
    np.testing.assert_allclose(r.flows(q), flows, rtol=1e-12)


def test_paths_of_a_grid():
    r = shortest_paths(grid(5, 5))
    assert r.counts[0, -1] == 70
    assert len({tuple(path) for path in r.all_paths(0, 24)}) == 70
    assert list(r.all_paths(3, 3)) == [[3]]
    with pytest.raises(NoPathError, match="reachable"):
        shortest_paths([("A", "B", 1)]).all_paths("B", "A")


def test_negative_edges():
    """No order of distances is one of the paths."""
    G = nx.gnp_random_graph(40, 0.1, directed=True, seed=1)
    rng = np.random.default_rng(2)
    height = rng.integers(0, 30, 40)
    edges = [(u, v, int(rng.integers(1, 4) + height[v] - height[u])) for u, v in G.edges]
    lifted = [(u, v, w + int(height[u] - height[v])) for u, v, w in edges]
    assert min(w for _, _, w in edges) < 0
    for dtype in ("int32", "float64"):
        r, plain = (shortest_paths(Graph.from_edges(e, labels=range(40)), dtype=dtype) for e in (edges, lifted))
        np.testing.assert_array_equal(r.counts, plain.counts)
        np.testing.assert_allclose(r.edge_betweenness(), plain.edge_betweenness(), rtol=1e-13)


@pytest.mark.parametrize("n", [37, 48])
def test_small_sums_of_large_lengths_of_both_signs(n):
    """What is left of them is as doubtful as they are."""
    rng = np.random.default_rng(n)
    tails, heads = np.nonzero(rng.random((n, n)) < 0.3)
    weights, height = rng.random(len(tails)) + 0.1, 1e6 * rng.random(n)
    high = weights + height[heads] - height[tails]
    r, plain = (shortest_paths(Graph.from_arrays(tails, heads, w, n=n), engine="dense") for w in (high, weights))
    np.testing.assert_allclose(r.edge_betweenness(), plain.edge_betweenness(), rtol=1e-12)


def test_what_was_saved_answers_too(tmp_path):
    r = shortest_paths(random("integers", directed=True))
    r.save(tmp_path / "d.npz")
    again = Result.load(tmp_path / "d.npz")
    np.testing.assert_array_equal(again.edge_betweenness(), r.edge_betweenness())
    np.testing.assert_array_equal(again.counts, r.counts)


# Flows


@pytest.mark.parametrize("kind", ["integers", "tenths", "floats"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("engine", ["dense", "elimination", "searches"])
def test_flows_times_weights_are_demand_times_distances(kind, directed, engine):
    graph = random(kind, directed=directed, n=83, m=500)
    r = shortest_paths(graph, engine=engine)
    D = r.table()
    q = np.where(D < np.inf, np.random.default_rng(4).random(D.shape), 0.0)
    total = (q * np.where(D < np.inf, D, 0)).sum()
    assert (r.flows(q) * graph.weights).sum() == pytest.approx(total, rel=1e-12)


def test_demand_as_it_comes():
    pandas = pytest.importorskip("pandas")
    r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    expected = [3.0, 5.0, 0.0]
    table = np.zeros((3, 3))
    table[0, 2], table[1, 2], table[1, 1] = 3, 2, 9
    triples = [("A", "C", 1), ("B", "C", 2), ("A", "C", 2), ("B", "B", 9)]
    frame = pandas.DataFrame({"trips": [2, 3], "destination": ["C", "C"], "origin": ["B", "A"]})
    for demand in (table, table.astype(int), triples, iter(triples), {("A", "C"): 3, ("B", "C"): 2}, frame):
        np.testing.assert_array_equal(r.flows(demand), expected)
    np.testing.assert_array_equal(r.flows([]), [0, 0, 0])
    np.testing.assert_array_equal(r.flows(np.zeros((3, 3))), [0, 0, 0])
    for wrong, error, words in (
        (np.zeros((2, 3)), ShapeError, "shape"),
        (frame.rename(columns={"trips": "n"}), ShapeError, "without trips"),
        ([("A", "C")], ShapeError, "triples"),
        (5, ShapeError, "must be an array"),
        ([("A", "X", 1)], VertexError, "X"),
        ([("A", "C", np.nan)], DomainError, "finite"),
        ([("A", "C", "many")], DomainError, "numbers"),
        (table + 1j, DomainError, "numbers, got complex128"),
        ([("A", "C", ())], DomainError, r"numbers, got \[\(\)\]"),
        ([("A", "C", [1, 2]), ("A", "B", 3)], DomainError, r"numbers, got \[\[1, 2\], 3\]"),
        ([("A", "C", 1j)], DomainError, "numbers"),
        ([("A", "C", "5"), ("B", "C", 2)], DomainError, r"numbers, got \['5', 2\]"),  # as of weights
        ({("A", "C"): b"5"}, DomainError, "numbers, got"),
        (np.full((3, 3), "5"), DomainError, "numbers, got <U1"),
        (np.full((3, 3), "5", object), DomainError, "numbers, got object"),
    ):
        with pytest.raises(error, match=words):
            r.flows(wrong)
    with pytest.raises(ValueError, match="unreachable must be"):
        r.flows([], unreachable="ignore")


def test_demand_that_may_mean_something_else_is_refused():
    """The mask of an array, a name for a pair, and what would go backwards."""
    r = shortest_paths([("a", "b", 1), ("b", "c", 1)])
    trips = np.ma.masked_array(np.ones((3, 3)), [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(DTypeError, match=r"flows: a plain array is required, got a masked one. Fill it: A.filled\(0\)"):
        r.flows(trips, unreachable="drop")
    assert r.flows(trips.filled(0), unreachable="drop").tolist() == [0, 1]
    numbered, rows = shortest_paths([(0, 1, 1), (1, 2, 1)]), [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    with pytest.raises(ShapeError, match=r"may be a table or triples\. Pass an array, or tuples"):
        numbered.flows(rows)
    for demand in (np.array(rows), [(0, 1, 1), (0, 2, 2), (1, 2, 1)]):
        assert numbered.flows(demand).tolist() == [3, 3]
    for demand in ({"ab": 1}, {("a", "b"): 1, "bc": 1}, ["ab1"]):
        with pytest.raises(ShapeError, match="or lead from pairs to trips, got"):
            r.flows(demand)
    for negative in ([("a", "b", 3), ("b", "c", -2)], {("a", "c"): -2.0}, np.diag([1.0, 1.0], 1) * -2):
        with pytest.raises(DomainError, match="at least 0, got -2"):
            r.flows(negative)


def test_demand_without_a_path_is_refused_unless_it_is_dropped():
    r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
    with pytest.raises(NoPathError, match="5 from 'C' to 'A'"):
        r.flows([("A", "C", 1), ("C", "A", 5)])
    np.testing.assert_array_equal(r.flows([("A", "C", 1), ("C", "A", 5)], unreachable="drop"), [1, 1])


def test_only_sources_with_demand_are_searched_from(monkeypatch):
    r = shortest_paths(random("integers", directed=True), engine="searches")
    wanted = []
    rows = type(r.engine).rows
    monkeypatch.setattr(
        type(r.engine), "rows", lambda self, w, block=None: wanted.extend(w.tolist()) or rows(self, w, block)
    )
    done = []
    r.flows([(7, 7, 1), (3, 3, 2), (7, 3, 0)], unreachable="drop", callback=lambda *x: done.append(x))
    assert wanted == [3, 7]
    assert done == [(2, 2)]


def test_sums_are_the_same_bits_whatever_the_threads_and_blocks(monkeypatch):
    graph = random("integers", directed=False, n=300, m=1200)
    found = []
    for threads, block in ((1, 64), (2, 64), (3, 17), (1, 300)):
        monkeypatch.setattr("apsp.answers.result.flowing._BLOCK", block)
        monkeypatch.setattr("semiring.dense.routes.default_threads", lambda threads=threads: threads)
        r = shortest_paths(graph, engine="dense")
        found.append((list(r.betweenness().values()), r.edge_betweenness().tolist()))
    assert all(other == found[0] for other in found[1:])


# Ties, cycles, limits of numbers


def test_ties_of_floats_are_those_of_sums_from_the_source_on():
    """0.1 + 0.2 ≠ 0.3, and (0.1 + 0.2) + 0.3 ≠ 0.1 + (0.2 + 0.3)."""
    for source in "AZ":  # before and after the other vertices
        r = shortest_paths([(source, "B", 0.1), ("B", "C", 0.2), (source, "C", 0.3)])
        assert r.counts.max() == 1
        assert list(r.all_paths(source, "C")) == [[source, "C"]]
    for name in ("dense", "elimination", "searches"):
        graph = Graph.from_arrays([0, 1, 0, 2], [1, 3, 2, 3], [0.5, 0.25, 0.25, 0.5])
        assert shortest_paths(graph, engine=name).counts[0, 3] == 2


@pytest.mark.parametrize("unit", [1.0, 0.25])
def test_ties_of_floats_share_by_paths(unit):
    G = nx.grid_2d_graph(6, 7)
    rng = np.random.default_rng(0)
    for u, v in G.edges:
        G[u][v]["weight"] = unit * float(rng.integers(1, 3))
    r = shortest_paths(G, dtype="float32")
    assert r.betweenness() == pytest.approx(nx.betweenness_centrality(G, weight="weight"), rel=1e-12)


def test_whole_numbers_whose_sums_are_rounded():
    """2²⁴ + 1 + 1 is 2²⁴ in float32, from the source on."""
    arcs, most = [(0, 1), (0, 3), (1, 2), (2, 3)], 2.0**24
    edges = np.array([0, 2, 3, 4, 4]), np.array([v for _, v in arcs]), np.array([most, most + 2, 1, 1], np.float32)
    counts = np.empty((1, 4), np.int64)
    sums = adjoint(min_plus, np.dtype(np.float32), edges, where="counts")
    sums.counts(np.array([[0, most, most, most + 2]], np.float32), np.array([0]), counts)
    assert counts.tolist() == [[1, 1, 1, 1]]
    # Of weights that float32 holds, 2²⁴ − 1 + 3 + 1 + 2 is 2²⁴ + 6 from the source on, and rounded once 2²⁴ + 4.
    edges = np.array([0, 1, 2, 3, 4, 4]), np.arange(1, 5), np.array([most - 1, 3, 1, 2], np.float32)
    counts = np.empty((1, 5), np.int64)
    sums = adjoint(min_plus, np.dtype(np.float32), edges, where="counts")
    sums.counts(np.array([[0, most - 1, most + 2, most + 4, most + 4]], np.float32), np.array([0]), counts)
    assert counts.tolist() == [[1, 1, 1, 1, 1]]


def test_an_arc_that_costs_nothing_leads_no_further():
    """Vertices of one distance are not in the order of their distances: 0 → 1 → 2 at no cost, and on to 3."""
    edges = np.array([0, 1, 2, 3, 3]), np.array([1, 2, 3]), np.array([2, 0, 1], np.int32)
    counts = np.empty((1, 4), np.int64)
    adjoint(min_plus, np.dtype(np.int32), edges, where="counts").counts(
        np.array([[0, 2, 2, 3]], np.int32), np.array([0]), counts
    )
    assert counts.tolist() == [[1, 1, 1, 1]]


#: A diagonal of signs and dtypes: of each pair a kernel is compiled for eight seconds.
WHOLE = [(1, "int32"), (1, "float32"), (1, "float64"), (-1, "int64")]


@pytest.mark.parametrize(
    ("sign", "dtype"),
    [
        pytest.param(*pair, marks=[] if pair in WHOLE else pytest.mark.release)
        for pair in product((1, -1), ("int32", "int64", "float32", "float64"))
    ],
)
def test_whole_distances_that_are_few_and_many(sign, dtype):
    """Vertices are sorted by them if they are few: of long weights they are not."""
    G = nx.gnp_random_graph(60, 0.1, seed=2, directed=True)
    for far in (3, 1000):
        weights = np.random.default_rng(far).integers(1, far, G.number_of_edges())
        for (u, v), w in zip(G.edges, weights.tolist(), strict=True):
            G[u][v]["weight"] = w
        want = nx.betweenness_centrality(G, weight="weight")
        # Shortest walks are the longest of what is less than nothing.
        graph = Graph.from_arrays(*np.array(G.edges).T, weights * sign, n=60)
        r = shortest_paths(graph, "min_plus" if sign > 0 else "max_plus", dtype=dtype, engine="dense")
        assert r.betweenness() == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("n", [9, 1 << 16, (1 << 16) + 1, 1 << 20])
def test_arcs_are_sorted_by_their_heads(n):
    from semiring.kernels.cpu.csr.backend import arranged

    keys = np.random.default_rng(n).integers(0, n, 5000, dtype=np.int32)
    keys[:3] = n - 1, 0, n - 1
    begins, order = arranged(keys, n)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(begins, np.searchsorted(keys[order], np.arange(n + 1)))


def test_edges_that_weigh_less_than_the_doubt_of_a_distance():
    """Both ways of such an edge may be tight, as far as the distances tell."""
    n = 30
    G = nx.cycle_graph(n)
    rng = np.random.default_rng(0)
    for u, v in G.edges:
        G[u][v]["weight"] = float(rng.choice([1e-15, 3e-16, 0.75]))
    r = shortest_paths(G)
    assert r.betweenness() == pytest.approx(nx.betweenness_centrality(G, weight="weight"), rel=1e-12)


SCALES = {
    "short": (np.float64, [1.0, 1e-20]),
    "shorter still": (np.float64, [1.0, 1e-20, 1e-40, 1e-60]),
    "penalties": (np.float64, [1e20, 1.0, 1e-20]),
    "float32": (np.float32, [2.0**24, 1.0, 2.0**-24]),
}


@functools.cache
def scaled(name: str, seed: int):
    """A graph, its weights, NetworkX's values in fractions: in floats it counts what leads back to a vertex, too."""
    dtype, scales = SCALES[name]
    rng, G = np.random.default_rng(seed), nx.gnm_random_graph(24, 40, seed=seed)
    weights = ((1 + rng.random(40)) * rng.choice(scales, 40)).astype(dtype)
    nx.set_edge_attributes(G, dict(zip(G.edges, map(Fraction, weights.tolist()), strict=True)), "weight")
    values = (of(G, weight="weight") for of in (nx.betweenness_centrality, nx.edge_betweenness_centrality))
    return G, weights, *values


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("greatest", [False, True], ids=["min_plus", "max_plus"])
def test_edges_too_short_to_change_a_distance(name, greatest):
    for seed in range(2):
        G, weights, vertices, edges = scaled(name, seed)
        tails, heads = np.array(G.edges).T
        graph = Graph.from_arrays(tails, heads, -weights if greatest else weights, n=len(G), directed=False)
        for engine in ("dense", *(["elimination", "searches"] if not greatest else [])):
            r = shortest_paths(graph, "max_plus" if greatest else "min_plus", engine=engine)
            assert r.betweenness() == pytest.approx(vertices, rel=1e-12)
            np.testing.assert_allclose(r.edge_betweenness(), of_networkx(G, graph, edges), rtol=1e-12)
            assert set(r.counts.ravel().tolist()) <= {0, 1}
        u, v = max(((u, v) for u in G for v in G if nx.has_path(G, u, v)), key=lambda p: len(r.path(*p)))
        assert list(r.all_paths(u, v)) == list(nx.all_shortest_paths(G, u, v, weight="weight"))


def test_ties_among_edges_too_short_to_change_a_distance():
    """Two ways around a square that is far away, and a cycle that costs nothing beside it."""
    square = [("s", "a", 1.0), ("a", "b", 1e-20), ("a", "c", 1e-20), ("b", "d", 1e-20), ("c", "d", 1e-20)]
    r = shortest_paths(square, directed=False)
    assert dict(zip(r.labels, r.counts[r.sources.position("s")].tolist(), strict=True)) == {
        **dict.fromkeys("abcs", 1), "d": 2,
    }  # fmt: skip
    assert r.flows({("s", "d"): 4.0}).tolist() == [4, 2, 2, 2, 2]
    with pytest.raises(DivergenceError, match="'b' → 'd' → 'b'"):
        shortest_paths([*square, ("b", "d", 0.0)], directed=False).flows({("s", "d"): 4.0})


def test_a_cycle_that_costs_nothing_is_named():
    ring = [("A", "B", 2), ("B", "C", 0), ("C", "D", 0), ("D", "B", 0), ("D", "E", 1)]
    for dtype in ("int32", "float64"):
        r = shortest_paths(ring, dtype=dtype)
        for ask in (
            lambda r=r: r.counts,
            r.betweenness,
            lambda r=r: r.flows({("A", "E"): 1}),
            lambda r=r: r.all_paths("A", "E"),
        ):
            with pytest.raises(DivergenceError, match="costs nothing") as caught:
                ask()
            rotated = caught.value.cycle
            assert set(rotated) == {"B", "C", "D"}
            start = rotated.index("B")
            assert rotated[start:] + rotated[:start] == ["B", "C", "D"]
        alone = shortest_paths([edge for edge in ring if edge != ("D", "B", 0)], dtype=dtype)
        assert alone.counts[0, 4] == 1


@pytest.mark.parametrize(
    ("dtype", "entry", "wrong"),
    [("float64", 1, np.inf), ("float64", 2, np.inf), ("int32", 1, 2**31 - 1), ("int32", 2, 1)],
)
def test_rows_that_are_no_closure_are_refused(dtype, entry, wrong):
    edges = np.array([0, 1, 2, 2]), np.array([1, 2]), np.array([3, 4], dtype)
    d = np.array([0, 3, 7], dtype)
    d[entry] = wrong
    sums = adjoint(min_plus, np.dtype(dtype), edges, where="flows", names="ABC")
    with pytest.raises(DomainError, match="must be the closure of the graph over min_plus, got an entry from 'A' to"):
        sums.add(d[None], np.array([0]), np.ones((1, 3)))


@pytest.mark.parametrize(
    ("d", "arcs"),
    [
        ([0, 3, 7, 5], [(0, 1, 3), (0, 2, 7), (1, 2, 4)]),
        ([0, 5, 5, 5.5], [(1, 2, 0), (2, 1, 0), (2, 3, 0.5)]),
        ([np.inf] * 4, [(0, 1, 3), (2, 1, 4)]),
    ],
    ids=["two ways to one", "a circle", "nothing"],
)
def test_as_many_arcs_as_a_tree_has_are_none(d, arcs):
    tails, heads, weights = np.array(arcs, float).T
    edges = np.searchsorted(tails, np.arange(5)), heads.astype(int), weights
    sums = adjoint(min_plus, np.dtype(float), edges, where="flows", names="ABCD")
    with pytest.raises(DomainError, match="must be the closure"):
        sums.add(np.array([d], float), np.array([0]), np.ones((1, 4)))


def test_best_walks_that_go_in_circles_cannot_be_counted():
    for name in ("bottleneck", "boolean", "plus_times"):
        r = shortest_paths([("A", "B", 1)], name)
        for ask in (lambda r=r: r.counts, r.betweenness, r.edge_betweenness, lambda r=r: r.all_paths("A", "B")):
            with pytest.raises(AlgebraError):
                ask()


def doubling(stages: int) -> Graph:
    """Two ways through each stage."""
    tails = [x for k in range(stages) for x in (3 * k, 3 * k, 3 * k + 1, 3 * k + 2)]
    heads = [x for k in range(stages) for x in (3 * k + 1, 3 * k + 2, 3 * k + 3, 3 * k + 3)]
    return Graph.from_arrays(tails, heads)


def test_counts_that_int64_does_not_hold_are_refused():
    assert shortest_paths(doubling(62)).counts[0, -1] == 2**62
    with pytest.raises(DomainError, match="from 0 to 189 must be at most 2"):
        _ = shortest_paths(doubling(63)).counts
    r = shortest_paths(doubling(70))
    assert r.flows({(0, 210): 1.0}) == pytest.approx([0.5] * 280)
    assert len(next(r.all_paths(0, 210))) == 141
    with pytest.raises(DomainError, match="float64"):
        shortest_paths(doubling(1100)).betweenness()


def test_no_vertices_and_one():
    for n in (0, 1, 2):
        r = shortest_paths(Graph.from_arrays([], [], n=n))
        assert list(r.betweenness().values()) == [0.0] * n
        assert r.edge_betweenness().shape == (0,)
        np.testing.assert_array_equal(r.counts, np.eye(n, dtype=np.int64))
    assert shortest_paths(np.array([[0.0]])).edge_betweenness().shape == (1, 1)


def test_a_ring_by_hand():
    r = shortest_paths(cycle(5, directed=False))
    assert set(r.betweenness(normalized=False).values()) == {1.0}
    assert r.edge_betweenness(normalized=False).tolist() == [3.0] * 5


def test_the_equilibrium_of_sioux_falls(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import assignment

    x = assignment.main(1e-4)
    assert "relative gap" in capsys.readouterr().out
    # The flows that the literature gives for the first two roads.
    assert x[:2] == pytest.approx([4494.6576, 8119.0799], rel=1e-3)
    tails, heads, _, _ = (column.astype(int) - 1 for column in assignment.columns("links.csv"))
    origins, destinations, trips = assignment.columns("trips.csv")
    leaving, arriving = (np.bincount(ends, x, 24) for ends in (tails, heads))
    asked, served = (np.bincount(ends.astype(int) - 1, trips, 24) for ends in (origins, destinations))
    np.testing.assert_allclose(leaving - arriving, asked - served, atol=1e-6)


def test_the_busiest_street(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import busiest_street

    monkeypatch.setattr("sys.argv", ["busiest_street.py", str(ROOT / "examples" / "roads.gr")])
    busiest_street.main()
    said = capsys.readouterr().out
    assert "55 – 56: 13.30% of all trips" in said
    assert "a trip is 2.20% longer" in said
