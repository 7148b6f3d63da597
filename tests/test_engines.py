"""One `Result`, whatever stands behind it: every engine answers every question alike."""

from __future__ import annotations

import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.csgraph

from apsp import Graph, MemoryNeeded, NegativeCycleError, NoPathError, shortest_paths
from apsp.generate import road_like

ENGINES = ("dense", "elimination")


def digraph(n: int, degree: float, seed: int, low: int = 0) -> Graph:
    """A random digraph with parallel arcs, loops, zero weights, and vertices that reach nothing; labels are text."""
    rng = np.random.default_rng(seed)
    m = int(n * degree)
    tails, heads = rng.integers(n, size=(2, m))
    return Graph.from_arrays(tails, heads, rng.integers(low, 20, size=m), n=n, labels=[f"v{k}" for k in range(n)])


def truth(graph: Graph) -> np.ndarray:
    """SciPy's distances; of parallel arcs the shortest, and zeros are arcs."""
    tails, heads, weights = graph.edges()
    A = np.full((graph.n, graph.n), np.inf)
    np.minimum.at(A, (tails, heads), weights)
    np.fill_diagonal(A, np.minimum(A.diagonal(), 0))
    return scipy.sparse.csgraph.floyd_warshall(scipy.sparse.csgraph.csgraph_from_dense(A, null_value=np.inf))


GRAPHS = {
    "road": road_like(70, seed=1),
    "digraph": digraph(60, 1.5, 2),
    "path": Graph.from_arrays(range(30), range(1, 31), range(1, 31), n=31),
    "star": Graph.from_arrays([0] * 20, range(1, 21), [3] * 20, directed=False),
    "two parts": Graph.from_arrays([0, 2], [1, 3], [4, 5], directed=False),
    "no edge": Graph.from_arrays([], [], [], n=3),
    "one vertex": Graph.from_arrays([0], [0], [5], n=1),
    "nothing": Graph.from_arrays([], [], [], n=0),
    "negative arcs": Graph.from_edges([("a", "b", 4), ("b", "c", -3), ("a", "c", 2), ("c", "d", 0)]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_question_has_scipys_answer(name, engine):
    graph = GRAPHS[name]
    r = shortest_paths(graph, engine=engine)
    expected = truth(graph)
    labels = list(graph.labels)
    np.testing.assert_array_equal(np.asarray(r), expected)
    assert r.distances.dtype == r.dtype == np.int32
    np.testing.assert_array_equal(r.reachable, np.isfinite(expected))
    if labels:
        np.testing.assert_array_equal([[r.distance(u, v) for v in labels[:9]] for u in labels], expected[:, :9])
    if labels:
        np.testing.assert_array_equal(r.distance(np.array(labels)[:, None], labels[::2]), expected[:, ::2])
        np.testing.assert_array_equal(r.distance(labels, labels[::-1]), np.diagonal(expected[:, ::-1]))
        frame = r.to_frame(labels[:3], labels[-2:])
        np.testing.assert_array_equal(np.asarray(frame), expected[:3, -2:])
        assert len(r.table().splitlines()) == min(11, graph.n + 1) + (graph.n > 10)
    assert repr(r.graph.n) in repr(r)
    assert "<table>" in r._repr_html_()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["road", "digraph", "negative arcs"])
def test_every_path_is_simple_and_as_long_as_its_distance(name, engine):
    graph = GRAPHS[name]
    r = shortest_paths(graph, engine=engine)
    tails, heads, weights = graph.edges()
    best: dict = {}
    for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        best[graph.labels[u], graph.labels[v]] = min(w, best.get((graph.labels[u], graph.labels[v]), w))
    expected = truth(graph)
    for i, u in enumerate(graph.labels):
        for j, v in enumerate(graph.labels):
            if np.isinf(expected[i, j]):
                with pytest.raises(NoPathError):
                    r.path(u, v)
                continue
            path = r.path(u, v)
            assert (path[0], path[-1], len(path)) == (u, v, len(set(path)))
            assert sum(best[step] for step in pairwise(path)) == expected[i, j]


@pytest.mark.parametrize("name", ["max_min", "plus_times"])
def test_other_semirings_by_elimination(name):
    """Widest walks as NetworkX's maximum spanning tree has them; paths of a DAG as powers of its matrix count them."""
    if name == "max_min":
        g = nx.gnm_random_graph(30, 60, seed=1)
        rng = np.random.default_rng(1)
        nx.set_edge_attributes(g, {e: float(rng.random()) for e in g.edges}, "weight")
        tree = nx.maximum_spanning_tree(g)
        r = shortest_paths(g, "max_min", engine="elimination")
        for u in g:
            for v in g:
                if u != v and nx.has_path(tree, u, v):
                    assert r.distance(u, v) == min(
                        tree[a][b]["weight"] for a, b in pairwise(nx.shortest_path(tree, u, v))
                    )
        return
    A = np.triu(np.random.default_rng(2).integers(0, 3, (12, 12)), 1)
    i, j = A.nonzero()
    r = shortest_paths(Graph.from_arrays(i, j, A[i, j], n=12), "plus_times", engine="elimination", dtype="float64")
    np.testing.assert_array_equal(r.distances, np.linalg.inv(np.eye(12) - A).round())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pickle_answers_the_same(engine):
    r = shortest_paths(GRAPHS["digraph"], engine=engine)
    r.path("v0", "v0"), r.distances
    again = pickle.loads(pickle.dumps(r))
    np.testing.assert_array_equal(again.distances, r.distances)
    assert again.distance("v1", "v7") == r.distance("v1", "v7")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_negative_cycle_is_named_by_label(engine):
    edges = [("a", "b", 1), ("b", "c", -3), ("c", "a", 1), ("c", "d", 5), ("x", "y", 1)]
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(edges, engine=engine)
    assert caught.value.vertex in "abc"


def test_a_table_too_large_names_what_streams_it():
    r = shortest_paths(road_like(70, seed=1), engine="elimination")
    from apsp import engines
    from semiring import memory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LEAST", 0)
        patch.setattr(memory, "available", lambda device="cpu": 1000)
        with pytest.raises(MemoryNeeded, match=r"rows\(\) streams"):
            _ = r.distances
    assert isinstance(r.engine, engines.Engine)
    assert r.distance(0, 69) > 0


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="auto, dense, elimination"):
        shortest_paths([("a", "b", 1)], engine="magic")
