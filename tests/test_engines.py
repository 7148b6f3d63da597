"""One `Result`, whatever stands behind it: every engine answers every question alike."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import cases
import networkx as nx
import numba
import numpy as np
import people
import pytest
import scipy.sparse
import scipy.sparse.csgraph

import apsp
from apsp import (
    AlgebraError,
    DivergenceError,
    DomainError,
    DTypeError,
    Graph,
    MemoryNeeded,
    NegativeCycleError,
    NoPathError,
    ShapeError,
    VertexError,
    plan,
    shortest_paths,
)
from apsp.generate import grid, random_graph, road_like
from apsp.road import engines, estimates, rates, road
from apsp.road.engines.scipy import Searches
from apsp.road.question import Question
from apsp.road.wants import Wants
from semiring.algebra.catalog import get
from semiring.sparse import analyse

# One engine more, of a single file, that nothing else knows of.
engines.__path__.append(str(Path(__file__).with_name("growth") / "engines"))
engines.names.cache_clear()
engines.kinds.cache_clear()
#: Those that answer for any graph whose ⊕ and ⊗ are min and +, by their records.
WEIGHTED = Question(Graph.from_edges([(0, 1, 4), (1, 2, -3)]), get("min_plus"), Wants())
ENGINES = tuple(kind.name for kind in engines.kinds() if not kind.refuses(WEIGHTED))


def digraph(n: int, degree: float, seed: int, low: int = 0) -> Graph:
    """A random digraph with parallel arcs, loops, zero weights, and vertices that reach nothing; labels are text."""
    rng = np.random.default_rng(seed)
    m = int(n * degree)
    tails, heads = rng.integers(n, size=(2, m))
    return Graph.from_arrays(tails, heads, rng.integers(low, 20, size=m), n=n, labels=[f"v{k}" for k in range(n)])


def truth(graph: Graph) -> np.ndarray:
    """SciPy's distances; of parallel arcs the shortest, and zeros are arcs."""
    *arcs, weights = graph.edges()
    return cases.distances(cases.lengths(graph.n, arcs, weights))


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
        assert len(r.text().splitlines()) == min(11, graph.n + 1) + (graph.n > 10)
    assert repr(r.graph.n) in repr(r)
    assert "<table>" in r._repr_html_()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["road", "digraph", "negative arcs"])
def test_paths_are_simple_and_as_long_as_their_distances(name, engine):
    """From each vertex to a seventh of all, and to each from a seventh."""
    graph = GRAPHS[name]
    r = shortest_paths(graph, engine=engine)
    tails, heads, weights = graph.edges()
    best: dict = {}
    for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        best[graph.labels[u], graph.labels[v]] = min(w, best.get((graph.labels[u], graph.labels[v]), w))
    expected = truth(graph)
    labelled = list(enumerate(graph.labels))
    for i, u in labelled:
        for j, v in labelled[i % 7 :: 7]:
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


@pytest.mark.parametrize("lengths", [(1, 2, 3), (4, -2, 1)])
def test_pickles_of_searches_without_potentials_are_read(lengths):
    edges = [(u, v, length) for (u, v), length in zip(("ab", "bc", "ca"), lengths, strict=True)]
    expected = shortest_paths(edges, engine="dense").distances
    engine = shortest_paths(edges, engine="scipy").engine
    kept = engine.__getstate__()
    del kept["_potential"]
    old = object.__new__(type(engine))
    old.__setstate__(kept)
    for k in range(3):
        np.testing.assert_array_equal(old.column(k), expected[:, k])
        np.testing.assert_array_equal(old.row(k), expected[k])


def test_deep_graphs_of_equal_weights_are_searched_by_weight():
    """SciPy's breadth-first order tells no levels: many of them take longer to count than a search by weight."""
    side = 40
    g = grid(side, side)
    graph = Graph.from_arrays(g.rows, g.cols, np.full(len(g.rows), 3.0), n=g.n, directed=False)
    both = graph.matrix("min_plus", "float64")
    A = scipy.sparse.csr_array(np.where(np.isfinite(both) & (both > 0), both, 0))
    r = shortest_paths(A, sources=[0, 7], engine="scipy")
    assert r.plan.schedule == "dijkstra"
    there = np.arange(g.n)
    np.testing.assert_array_equal(r.distances[0], 3.0 * (there // side + there % side))
    wide = scipy.sparse.csr_array(np.ones((1100, 1100)) - np.eye(1100))
    assert shortest_paths(wide, sources=[0], engine="scipy").plan.schedule == "breadth-first"


def test_pickles_of_searches_by_lists_of_arcs_are_read():
    engine = shortest_paths(GRAPHS["digraph"], engine="searches").engine
    kept = engine.__getstate__()
    kept["arcs"] = kept.pop("_given")
    old = object.__new__(type(engine))
    old.__setstate__(kept)
    np.testing.assert_array_equal(old.table(), engine.table())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_negative_cycle_is_named_by_label(engine):
    edges = [("a", "b", 1), ("b", "c", -3), ("c", "a", 1), ("c", "d", 5), ("x", "y", 1)]
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(edges, engine=engine)
    assert set(caught.value.cycle) == set("abc")
    assert caught.value.vertex in "abc"
    assert "a → b → c → a" in str(caught.value)
    assert str(caught.value).startswith("shortest_paths: no cycle may")


def test_a_table_too_large_names_what_streams_it(monkeypatch):
    r = shortest_paths(road_like(70, seed=1), engine="elimination")
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device="cpu": 1000)
    with pytest.raises(MemoryNeeded, match=r"Stream them by rows\(\)"):
        _ = r.distances
    assert r.distance(0, 69) > 0


@pytest.mark.parametrize("threads", [0, [1], float("nan"), "2"])
def test_threads_that_are_no_number_are_refused(threads):
    for source in ([("a", "b", 1)], scipy.sparse.csr_array([[0, 1.0], [2.0, 0]])):
        for ask in (shortest_paths, plan):
            with pytest.raises(apsp.DeviceError, match=f"{ask.__name__}: threads must be a positive integer, got"):
                ask(source, threads=threads)
    with pytest.raises(apsp.DeviceError, match="closure: threads must be a positive integer, got"):
        apsp.closure(np.eye(2), threads=threads, null_value=None)


# Rows, reductions, nearest sources, tables, new weights


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["road", "digraph", "two parts", "negative arcs", "no edge", "nothing"])
def test_rows_are_the_distances(name, engine):
    graph = GRAPHS[name]
    r = shortest_paths(graph, engine=engine)
    expected = shortest_paths(graph, engine="dense").distances
    labels = list(graph.labels)
    for block in (None, 1, 7):
        blocks = [(list(names), D.copy()) for names, D in r.rows(block=block)]
        assert [u for names, _ in blocks for u in names] == labels
        assert all(len(names) <= (block or 64) for names, _ in blocks)
        if labels:
            np.testing.assert_array_equal(np.concatenate([D for _, D in blocks]), expected)
    if not labels:
        return
    mixed = [0, 2, 1, 3] if len(labels) > 3 else [0]  # as many as there are from the first to the last
    ((_, D),) = r.rows([labels[k] for k in mixed])
    np.testing.assert_array_equal(D, expected[mixed])
    some, ends = labels[::-2], labels[1:3]
    ((names, D),) = r.rows(some, ends, limit=20)
    part = expected[::-2, 1:3]
    assert names == some
    np.testing.assert_array_equal(D, np.where(part > 20, r.infinity, part))
    np.testing.assert_array_equal(r.table(some, ends), np.where(part == r.infinity, np.inf, part))
    np.testing.assert_array_equal(r.table(targets=ends), np.asarray(r)[:, 1:3])
    with pytest.raises(VertexError, match="'nobody'"):
        r.rows(["nobody"])
    with pytest.raises(VertexError, match="'nobody'"):
        r.table(None, ["nobody"])
    with pytest.raises(TypeError, match=r"Pass \[10\]"):
        r.table(10)


def test_threads_change_no_bit_of_a_reduction():
    graph = road_like(700, seed=3)
    one, three = (shortest_paths(graph, engine="elimination", threads=threads) for threads in (1, 3))
    assert len(list(one.engine.panels())) > 3
    for what in ("harmonic", "closeness", "total", "eccentricity"):
        assert one.reduce(what).tobytes() == three.reduce(what).tobytes()
    with np.errstate(all="ignore"):  # what the caller says of overflow holds on all threads
        np.testing.assert_array_equal(one.reduce(np.multiply), three.reduce(np.multiply))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["road", "digraph"])
def test_reductions_are_numpys_and_networkxs(name, engine):
    graph = GRAPHS[name]
    r = shortest_paths(graph, engine=engine)
    D = truth(graph)
    np.testing.assert_array_equal(r.reduce("eccentricity"), D.max(axis=1))
    np.testing.assert_array_equal(r.reduce(np.minimum, axis=0), D.min(axis=0))
    np.testing.assert_array_equal(r.reduce(np.add), D.sum(axis=1))
    np.testing.assert_array_equal(r.reduce("reached"), np.isfinite(D).sum(axis=1))
    np.testing.assert_array_equal(r.reduce("total"), np.where(np.isfinite(D), D, 0).sum(axis=1))
    tails, heads, weights = graph.edges()
    g = nx.DiGraph()
    g.add_nodes_from(range(graph.n))
    for u, v, w in sorted(zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True), key=lambda e: -e[2]):
        g.add_edge(u, v, weight=w)  # of parallel arcs the shortest comes last
    closeness = nx.closeness_centrality(g, distance="weight")
    np.testing.assert_allclose(r.reduce("closeness"), [closeness[k] for k in range(graph.n)], rtol=1e-12)
    if name == "road":
        harmonic = nx.harmonic_centrality(g, distance="weight")
        np.testing.assert_allclose(r.reduce("harmonic"), [harmonic[k] for k in range(graph.n)], rtol=1e-12)
    with pytest.raises(ValueError, match="eccentricity, closeness"):
        r.reduce("diameter of a circle")
    with pytest.raises(AlgebraError, match="lengths"):
        shortest_paths(graph, "max_min", engine="dense").reduce("eccentricity")


@pytest.mark.parametrize("n", [128, 133, 255, 300])
@pytest.mark.parametrize("engine", ["elimination", "dense"])
def test_the_worst_distance_is_found_wherever_it_stands(n, engine):
    """A line, of which either end is farthest from the other half."""
    r = shortest_paths(Graph.from_arrays(np.arange(n - 1), np.arange(1, n), directed=False), engine=engine)
    k = np.arange(n)
    np.testing.assert_array_equal(r.reduce("eccentricity"), np.maximum(k, n - 1 - k))


def test_counts_of_many_vertices_do_not_wrap():
    """A ring: each of its vertices reaches all, 256 of them among others."""
    for n in (256, 512, 600):
        r = shortest_paths(Graph.from_arrays(np.arange(n), np.roll(np.arange(n), -1)), engine="elimination")
        assert (r.reduce("reached") == n).all()


def test_reductions_by_a_function_of_ones_own():
    r = shortest_paths([("a", "b", 4), ("b", "c", 7), ("c", "a", 1)])
    expected = np.asarray(r).max(axis=1)
    for own in (np.frompyfunc(max, 2, 1), numba.vectorize(lambda a, b: max(a, b))):
        np.testing.assert_array_equal(r.reduce(own).astype(float), expected)
    for none in (np.divmod, np.sin, np.max, max, "diameter", None):
        with pytest.raises(ValueError, match=r"reduce: what must be one of .*, or a ufunc of two"):
            r.reduce(none)


@pytest.mark.parametrize("engine", ["dense", "elimination", "searches"])
def test_the_worst_of_no_distances_is_refused(engine):
    edges = [("a", "b", 4), ("b", "c", 7)]
    r = shortest_paths(edges, engine=engine, targets=[])
    assert r.reduce("reached").tolist() == r.reduce(np.add).tolist() == [0, 0, 0]
    for what in ("eccentricity", np.maximum):
        with pytest.raises(ShapeError, match=r"reduce: .* must be of some distances, got shape \(3, 0\)"):
            r.reduce(what)
        assert r.reduce(what, axis=0).tolist() == []
        assert shortest_paths(edges, engine=engine, sources=[]).reduce(what).tolist() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_the_nearest_of_several_is_the_first_of_those_as_near(engine):
    """Within a limit or none; many are as near, one is named twice, and some vertices none of them reaches."""
    rng, n = np.random.default_rng(5), 400
    tails, heads = rng.integers(0, n - 20, (2, 3 * n))
    weights, sources = rng.integers(0, 3, 3 * n), [77, 5, 300, 6, 5]
    for dtype, limit in product(("int32", "float64", "float32"), (None, 3)):
        graph = Graph.from_arrays(tails, heads, weights.astype(dtype), n=n)
        D = truth(graph)
        if limit:
            D[limit < D] = np.inf
        r = shortest_paths(graph, engine=engine, limit=limit)
        for towards in (False, True):
            lines = (D.T if towards else D)[sources]
            found = r.nearest(sources, towards=towards)
            np.testing.assert_array_equal(found.distance, lines.min(axis=0))
            assert found.source == [None if np.isinf(d.min()) else sources[int(d.argmin())] for d in lines.T]
    with pytest.raises(VertexError, match="'nobody'"):
        r.nearest([1, "nobody"])


@pytest.mark.parametrize("engine", ENGINES)
def test_new_weights_on_the_same_edges(engine):
    graph = GRAPHS["road"]
    r = shortest_paths(graph, engine=engine)
    before = r.distances.copy()
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 50, graph.edge_count)
    again = r.update(weights)
    fresh = Graph.from_arrays(graph.rows, graph.cols, weights, n=graph.n, directed=False)
    np.testing.assert_array_equal(np.asarray(again), truth(fresh))
    np.testing.assert_array_equal(r.distances, before)
    assert again.plan.engine == r.plan.engine == engine
    u, v = int(graph.rows[3]), int(graph.cols[3])
    closed = r.update({(v, u): np.inf})  # an undirected edge by either end
    changed = graph.weights.astype(float)
    changed[3] = np.inf
    np.testing.assert_array_equal(
        np.asarray(closed), truth(Graph.from_arrays(graph.rows, graph.cols, changed, n=graph.n, directed=False))
    )
    assert closed.dtype == r.dtype
    far = r.update({(u, v): 2**30})  # every distance fits, as a search shows, though not every sum of arcs
    changed[3] = 2**30
    np.testing.assert_array_equal(
        np.asarray(far), truth(Graph.from_arrays(graph.rows, graph.cols, changed, n=graph.n, directed=False))
    )
    assert far.dtype == np.int32
    assert r.update({(u, v): 2**31}).dtype == np.int64
    with pytest.raises(VertexError, match=r"\(0, 0\)"):
        r.update({(0, 0): 3})
    with pytest.raises(ShapeError, match="one weight an edge"):
        r.update(weights[1:])


#: The end of 32 bits, which stands for no path.
FAR = 2**31 - 1


@pytest.mark.parametrize("engine", ["elimination", "searches", "scipy"])
@pytest.mark.parametrize("n", [20, 400])
def test_distances_at_the_end_of_32_bits(engine, n):
    """Arcs into a centre and out of it, one of them back, and heavier ones past it."""
    tails = np.append(np.arange(1, n // 2), np.zeros(n // 2, int))
    heads = np.append(np.zeros(n // 2 - 1, int), np.arange(n // 2, n))
    for beyond, zeros in product((-1, 0, 1), (False, True)):
        weights = np.where(zeros, 0, np.random.default_rng(0).integers(1, 9, n - 1))
        weights[[3, -3]] = 2**30, FAR + beyond - 2**30
        ends = np.append(tails, [n - 2, 4, 5]), np.append(heads, [0, n - 1, n - 1])
        r = shortest_paths(Graph.from_arrays(*ends, np.append(weights, [9, FAR - 9, FAR - 9]), n=n), engine=engine)
        assert (r.dtype, r.plan.dtype) == (("int32",) * 2 if beyond < 0 else ("int64",) * 2)
        D = weights[: n // 2 - 1, None] + weights[n // 2 - 1 :]
        np.testing.assert_array_equal(r.table(range(1, n // 2), range(n // 2, n)), D)
        assert r.distance(n - 1, 0) == np.inf


@pytest.mark.parametrize("engine", ["elimination", "searches"])
@pytest.mark.parametrize("directed", [True, False])
def test_random_distances_about_the_end_of_32_bits(engine, directed):
    """Parts, arcs of all sizes, zeros; some graphs have a few negative arcs too."""
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([4, 30, 150]))
        ends, h = rng.integers(0, n, (2, 2 * n)), rng.integers(0, 99, n)
        weights = rng.choice([0, 1, 10**7, 2**29, 2**30, FAR - 2], 2 * n, p=rng.dirichlet(np.ones(6)))
        if seed % 4 == 0 and directed:
            weights += h[ends[0]] - h[ends[1]]
        weights[weights >= FAR] = 2**30
        g = Graph.from_arrays(*ends, weights, n=n, directed=directed)
        r = shortest_paths(g, engine=engine)
        np.testing.assert_array_equal(np.asarray(r), D := truth(g))
        far = D[np.isfinite(D)].max()
        assert r.dtype == "int64" or far < FAR
        seen.add((r.dtype.name, far < FAR))
    assert seen == {("int32", True), ("int64", True), ("int64", False)}


@pytest.mark.parametrize("engine", ["elimination", "searches", "scipy"])
def test_a_long_path_is_wider_than_a_lattice(engine):
    """A path of as many vertices as make a fit likely, whose distances do not fit."""
    n, far = 10_000, FAR // 2_000
    r = shortest_paths(Graph.from_arrays(range(n - 1), range(1, n), [far] * (n - 1), n=n), engine=engine)
    assert (r.dtype, r.distance(0, n - 1)) == ("int64", (n - 1) * far)


# Parts of the table


def test_pairs_that_do_not_go_together_are_refused():
    r = shortest_paths([("a", "b", 4), ("b", "c", 7)])
    with pytest.raises(ShapeError, match=r"distance: u and v .* got \(2,\) and \(3,\)\. An array"):
        r.distance(["a", "b"], ["a", "b", "c"])


def test_new_weights_that_are_none_are_refused():
    r = shortest_paths([("a", "b", 4), ("b", "c", 7)], engine="elimination")
    with pytest.raises(ShapeError, match=r"update: .* shape \(2,\), got \(3,\)"):
        r.update([1, 2, 3])
    with pytest.raises(ShapeError, match=r"update: .* got \(\)"):
        r.update(None)
    with pytest.raises(VertexError, match="update: an edge must be one of the graph's"):
        r.update({("a", "c"): 1})
    with pytest.raises(DomainError, match="NaN"):
        r.update({("a", "b"): np.nan})
    assert r.update({}).distance("a", "c") == 11


@pytest.mark.parametrize("engine", ["auto", "dense", "elimination", "united"])
def test_truth_values_close_and_open_edges_of_a_list(engine):
    r = shortest_paths([("a", "b", 1), ("b", "c", 1), ("b", "c", 2)], "boolean", engine=engine)
    for closed in (False, np.False_, 0, 0.0, np.inf, -np.inf):
        found = r.update({("b", "c"): closed})
        assert found.distances.astype(int).tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
        for opened in (True, np.True_, 1, 7.5):
            assert found.update({("b", "c"): opened}).distance("a", "c")
    for wrong in (np.nan, "0", None):
        with pytest.raises((DTypeError, DomainError), match="weights must be"):
            r.update({("b", "c"): wrong})


def test_some_new_weights_are_numbers_of_any_kind():
    r = shortest_paths([("a", "b", 4), ("b", "c", 7), ("b", "c", 9)], engine="elimination")
    for weight in (Fraction(1, 4), Decimal("0.25"), np.float32(0.25), 0.25):
        assert r.update({("b", "c"): weight}).distance("a", "c") == 4.25  # of parallel edges, all
    assert r.update({("a", "b"): np.uint8(250), ("b", "c"): 2**40}).distance("a", "c") == 250 + 2**40
    for weight in ("7", None, True, 2**70 + 1, 1j):
        with pytest.raises((DTypeError, DomainError), match="weights"):
            r.update({("b", "c"): weight})
    both = shortest_paths([("a", "b", 4), ("b", "c", 7)], directed=False, engine="elimination")
    assert both.update({("c", "b"): 1, ("b", "a"): 3, ("a", "b"): 3}).distance("c", "a") == 4
    exact = shortest_paths([("a", "b", 2**53 + 1), ("b", "c", 7)], engine="elimination")
    with pytest.raises(DTypeError, match=r"update: .*float64 must hold every integer exactly"):
        exact.update({("b", "c"): 0.5})
    none = shortest_paths([("a", "b", 2**63 - 1), ("b", "c", 7)], engine="elimination")
    assert none.update({("b", "c"): 0.5}).table(["a", "b"], ["c"]).tolist() == [[np.inf], [0.5]]


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
@pytest.mark.parametrize("name", ["road", "digraph", "negative arcs"])
def test_a_part_of_the_table(name, engine):
    graph = GRAPHS[name]
    labels = list(graph.labels)
    rows, cols = labels[3:0:-1], labels[::2]
    expected = truth(graph)[3:0:-1, ::2]
    r = shortest_paths(graph, sources=rows, targets=cols, engine=engine, limit=25)
    expected = np.where(expected > 25, np.inf, expected)
    np.testing.assert_array_equal(np.asarray(r), expected)
    assert (list(r.sources), list(r.targets)) == (rows, cols)
    np.testing.assert_array_equal([[r.distance(u, v) for v in cols] for u in rows], expected)
    np.testing.assert_array_equal(np.concatenate([D for _, D in r.rows()]), r.distances)
    np.testing.assert_array_equal(r.reduce(np.maximum), expected.max(axis=1))
    np.testing.assert_array_equal(r.reduce(np.maximum, axis=0), expected.max(axis=0))
    with pytest.raises(ShapeError, match=r"all \d+ vertices"):
        r.reduce("closeness")
    np.testing.assert_array_equal(r.nearest(rows[:2]).distance, expected[:2].min(axis=0))
    np.testing.assert_array_equal(np.asarray(r.to_frame()), expected)
    for i, u in enumerate(rows):
        for j, v in enumerate(cols):
            if np.isfinite(expected[i, j]):
                assert (r.path(u, v)[0], r.path(u, v)[-1]) == (u, v)
    assert "3 × " in repr(r)
    for result in (r, shortest_paths(graph, engine=engine)):
        again = pickle.loads(pickle.dumps(result))
        assert again.distance(rows[0], cols[0]) == result.distance(rows[0], cols[0])
        np.testing.assert_array_equal(again.distances, result.distances)
    with pytest.raises(VertexError):
        r.distance(labels[-1] if labels[-1] not in rows else labels[0], cols[0])
    with pytest.raises(VertexError, match="'nobody'"):
        shortest_paths(graph, sources=["nobody"])


@pytest.mark.parametrize("engine", [*ENGINES, "hops"])
def test_limits_at_the_edges(engine):
    edges = [("a", "b", 4), ("b", "c", 4), ("c", "a", 4)]
    far = np.iinfo(np.int32).max
    assert shortest_paths(edges, engine=engine, limit=0).distances.tolist() == np.where(np.eye(3), 0, far).tolist()
    assert (shortest_paths(edges, engine=engine, limit=-1).distances == far).all()
    with pytest.raises(DTypeError, match="limit: it must be a number, got '4'"):
        shortest_paths(edges, engine=engine, limit="4")
    with pytest.raises(DomainError, match="NaN"):
        shortest_paths(edges, engine=engine, limit=float("nan"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_names_its_own_vertices(engine):
    edges = [("a", "b", 4), ("b", "c", 7)]
    with pytest.raises(VertexError, match="sources of this result: labels must be distinct, got 'a' twice"):
        shortest_paths(edges, engine=engine, sources=["a", "a"])
    r = shortest_paths(edges, engine=engine, sources=["a"])
    assert [D.tolist() for _, D in r.rows(sources=["a", "a"], targets=["c"])] == [[[11], [11]]]
    with pytest.raises(VertexError, match="sources of this result: a vertex must be 'a', got 'b'"):
        r.distance("b", "c")
    assert shortest_paths(edges, engine=engine, sources=[]).distances.shape == (0, 3)


@pytest.mark.parametrize("label", [(0, 1), date(2026, 1, 2), frozenset("x"), 2**70], ids=str)
def test_labels_of_any_hashable_kind(label):
    for engine in ENGINES:
        r = shortest_paths([("a", label, 4), (label, "c", 7)], engine=engine)
        assert (r.distance("a", label), r.path("a", "c")) == (4, ["a", label, "c"])
        assert r.table([label], ["c", "a"]).tolist() == [[7, np.inf]]
        assert set(r.nearest([label]).source) == {None, label}
        assert r.update({(label, "c"): 1}).distance("a", "c") == 5


def test_a_limit_needs_a_better_of_two():
    with pytest.raises(AlgebraError, match="limit"):
        shortest_paths([(0, 1, 0.5)], "plus_times", limit=1)
    r = shortest_paths([("a", "b", 5), ("b", "c", 2)], "bottleneck", limit=3)
    assert (r.distance("a", "b"), r.distance("a", "c")) == (5, -np.inf if r.infinity < 0 else 0)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_an_infinite_distance_is_within_an_infinite_limit(dtype):
    edges = [("a", "b", 5), ("b", "c", 2)]
    for semiring, limit, other in (("bottleneck", np.inf, -np.inf), ("minimax", -np.inf, np.inf)):
        expected = np.where(np.eye(3), limit, other)
        for bound in (limit, np.sign(limit) * 1e30):
            r = shortest_paths(edges, semiring, dtype=dtype, limit=bound)
            np.testing.assert_array_equal(np.asarray(r), expected)


def test_a_limit_leaves_paths_that_pass_beyond_it():
    """From a to c within 5, by way of b, which is not."""
    edges = [("a", "b", 9), ("b", "c", -8), ("c", "d", 20)]
    for engine in ENGINES:
        r = shortest_paths(edges, engine=engine, limit=5)
        assert r.table(["a"]).tolist() == [[0, np.inf, 1, np.inf]]
        assert r.path("a", "c") == ["a", "b", "c"]
        assert r.predecessors[0].tolist() == [-9999, -9999, 1, -9999]


def test_labels_are_in_a_list_or_an_array():
    """A tuple is one label in a list, too; only arrays have several axes, and only where the answer has them."""
    r = shortest_paths([(0, 1, 4), (1, 2, 7)])
    t = apsp.transitive_closure([(0, 1), (1, 2)])
    table = np.array([[0, 1], [1, 2]])
    assert r.distance(table, 2).tolist() == [[11, 7], [7, 0]]
    for one in (np.array(0), np.int64(0)):
        assert (r.distance(one, 2), t.reaches(one, 2)) == (11, True)
    for wrong in ([(0, 1)], [[0, 1], [1, 2]], [0, (0, 1)]):
        for ask in (
            lambda wrong=wrong: r.distance(wrong, 2),
            lambda wrong=wrong: t.reaches(wrong, 2),
            lambda wrong=wrong: r.table(wrong),
            lambda wrong=wrong: r.paths([(u, 2) for u in wrong]),
        ):
            with pytest.raises(VertexError, match=r"got [\[(]0, 1"):
                ask()
    asks = (r.table, r.rows, r.nearest, r.to_frame, r.predecessor_rows)
    for ask in (*asks, lambda x: shortest_paths([(0, 1, 4)], sources=x)):
        with pytest.raises(ShapeError, match=r"array of one axis, got shape \(2, 2\)"):
            ask(table)
    with pytest.raises(TypeError, match=r"to_frame: .*got 'ab'"):
        shortest_paths([("a", "b", 1)]).to_frame("ab")
    with pytest.raises(ShapeError, match=r"reaches: .* got \(2,\) and \(3,\)"):
        t.reaches([0, 1], [0, 1, 2])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_may_be_written_to(engine):
    r = shortest_paths([("a", "b", 0.5), ("b", "c", 1.0)], engine=engine)
    expected = r.table().tolist()
    r.table()[:] = r.table(["a"])[:] = r.distance(["a"], ["b"])[:] = -1
    assert r.table().tolist() == expected == r.distances.tolist()
    assert r.path("a", "c") == ["a", "b", "c"]


def test_a_mask_is_not_left_out():
    edges = [(0, 1, 4), (1, 2, 7)]
    for given in (
        lambda: shortest_paths(edges).update(np.ma.array([4, 7], mask=[0, 1])),
        lambda: Graph.from_arrays(np.ma.array([0, 1], mask=[0, 1]), [1, 2]),
        lambda: Graph.from_edges(np.ma.array(edges, mask=[[0, 0, 1], [0, 0, 0]])),
    ):
        with pytest.raises(DTypeError, match="a plain array is required, got a masked one"):
            given()
    with pytest.raises(VertexError, match="got None"):
        shortest_paths(edges).distance(np.ma.array([0, 1], mask=[0, 1]), 2)


def test_a_limit_is_kept_exactly(tmp_path):
    """2⁵³ + 1 is no float."""
    r = shortest_paths([("a", "b", 2**53), ("b", "c", 1), ("c", "d", 1)], limit=2**53 + 1)
    r.save(tmp_path / "r.npz")
    for again in (r.update({("c", "d"): 2}), apsp.Result.load(tmp_path / "r.npz").update({("c", "d"): 2})):
        assert again.distances[0].tolist() == [0, 2**53, 2**53 + 1, r.infinity]
    for all_or_none, far in ((10**400, 5.0), (-(10**400), np.inf)):
        assert shortest_paths([("a", "b", 5)], limit=all_or_none).distance("a", "b") == far


def test_what_is_made_of_all_distances_along_an_axis_wants_them_all_there():
    edges = [("a", "b", 1), ("b", "a", 2), ("b", "c", 4), ("c", "b", 1)]
    whole = shortest_paths(edges)
    some = shortest_paths(edges, sources=["a", "b"])
    turned = shortest_paths([(v, u, w) for u, v, w in edges])
    np.testing.assert_array_equal(whole.reduce("closeness", axis=1), turned.reduce("closeness"))
    np.testing.assert_array_equal(some.reduce("closeness", axis=1), turned.reduce("closeness")[:2])
    with pytest.raises(ShapeError, match="distances to all 3 vertices, got 1 targets"):
        shortest_paths(edges, targets=["a"]).reduce("harmonic", axis=1)


@pytest.mark.parametrize("engine", ["auto", "dense", "elimination", "scipy", "hops"])
def test_where_edges_weigh_the_same_hops_are_networkxs(engine):
    """Hop counts in both directions; the engine `hops` also from graphs with parallel edges and loops."""
    g = nx.gnp_random_graph(80, 0.03, seed=3, directed=True)
    found = dict(nx.all_pairs_shortest_path_length(g))
    hops = np.array([[found[u].get(v, np.inf) for v in range(80)] for u in range(80)])
    tails, heads = np.array(g.edges).T
    listed = [Graph.from_arrays(tails, heads, n=80)]
    if engine == "hops":
        listed += [
            Graph.from_arrays(np.r_[tails, tails, 3], np.r_[heads, heads, 3], n=80, labels=[*map(str, range(80))])
        ]
    for graph, unit in product(listed, (1, 3, 0.5)):
        weights, labels = np.full(len(graph.rows), unit), list(graph.labels)
        graph, expected = replace(graph, weights=weights), unit * hops
        everything, some = (shortest_paths(graph, engine=engine, sources=part) for part in (None, labels[:20]))
        if engine == "hops":
            assert (everything.plan.engine, everything.plan.schedule) == ("hops", "breadth-first")
        if engine == "scipy":
            assert some.plan.schedule == "breadth-first"
        np.testing.assert_array_equal(np.asarray(everything), expected)
        np.testing.assert_array_equal(np.asarray(some), expected[:20])
        rows = [D for _, D in everything.rows([labels[7], labels[5]], block=1)]
        np.testing.assert_array_equal(np.concatenate(rows), everything.distances[[7, 5]])
        np.testing.assert_array_equal(everything.engine.column(3), everything.distances[:, 3])
        np.testing.assert_array_equal(everything.reduce(np.maximum, axis=0), expected.max(axis=0))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(some)).distances, some.distances)
        for u, v in np.argwhere(np.isfinite(expected))[::397].tolist():
            assert everything.distance(labels[u], labels[v]) == expected[u, v]
            assert len(everything.path(labels[u], labels[v])) == 1 + hops[u, v]
        part = shortest_paths(graph, engine=engine, sources=labels[5:2:-1], targets=labels[::3], limit=4 * unit)
        within = expected[5:2:-1, ::3]
        np.testing.assert_array_equal(np.asarray(part), np.where(within <= 4 * unit, within, np.inf))
        other = np.arange(len(weights)) % 7 + 1
        np.testing.assert_array_equal(np.asarray(everything.update(other)), truth(replace(graph, weights=other)))


def test_hops_are_chosen_where_they_take_least_and_refused_where_they_are_none():
    g = nx.barabasi_albert_graph(3000, 8, seed=0)
    r = shortest_paths(g)
    assert (r.plan.engine, r.plan.schedule) == ("hops", "breadth-first")
    hops = nx.single_source_shortest_path_length(g, 7)
    assert r.distance(7, list(g)).tolist() == [hops[v] for v in g]
    with pytest.raises(AlgebraError, match="all edges weigh the same"):
        shortest_paths([(0, 1, 1), (1, 2, 2)], engine="hops")
    with pytest.raises(AlgebraError, match="engine='hops'"):
        shortest_paths([(0, 1, 2**31 - 3), (1, 2, 2**31 - 3)], engine="hops", dtype="int32")


def test_hops_that_reach_the_end_of_a_dtype_are_refused():
    """6 · 5461 is 1 less than int16's ∞; 7 · 4681 is that."""
    line = [(k, k + 1, 5461) for k in range(6)]
    assert shortest_paths(line, engine="hops", dtype="int16").distance(0, 6) == 32766
    with pytest.raises(AlgebraError, match="int16 must hold the longest"):
        shortest_paths([(k, k + 1, 4681) for k in range(7)], engine="hops", dtype="int16")


# The plan


def test_a_plan_is_that_of_the_engine_asked_for():
    A = np.where(np.random.default_rng(0).random((40, 40)) < 0.2, 1, 2**31 - 1).astype("int32")
    for engine in ("scipy", "elimination", "hops", "dense"):
        assert plan(A, engine=engine).engine == shortest_paths(A, engine=engine).plan.engine == engine
    for asked in ({"engine": "hops"}, {"sources": [0]}, {"unweighted": True}):
        with pytest.raises(ValueError, match="40 vertices without edges"):
            plan(40, **asked)


def test_the_plan_takes_what_counts_least():
    road, dense = road_like(3000, seed=1), random_graph(700, 60, seed=1)
    assert shortest_paths(road).plan.engine == "elimination"
    few = shortest_paths(road, sources=[5])
    assert (few.plan.engine, few.plan.schedule) == ("searches", "label-correcting")
    assert apsp.plan(dense).engine == "dense"
    assert apsp.plan(road, device="cpu").engine == "elimination"
    assert apsp.plan(road, schedule="blocked").schedule == "blocked"
    plan = shortest_paths(road).plan
    assert [e.engine for e in plan.considered] == ["elimination", "scipy"]  # the others take longer than that at least
    assert all(word in str(plan) for word in ("elimination:", "scipy:", "pairs"))


def test_estimates_count_threads_and_batches():
    """Each thread that has a batch holds a panel of it; many rows come in batches, a single one alone."""
    one, two, four, few = (
        estimates.hops(1000, 5000, lines, 0, 4, 6, 64, threads).bytes
        for threads, lines in ((1, 640), (2, 640), (4, 640), (4, 65))
    )
    assert (four - two, four - one) == (2 * (two - one), 3 * (two - one))
    assert 1000 * 64 * 8 < two - one < 1000 * 64 * 10
    assert two - 1000 * 64 * 4 == few  # no rows wait beside those of two batches
    cost = analyse((np.arange(4999), np.arange(1, 5000)), 5000).cost
    one, many = (estimates.elimination(cost, 5000, 4999, lines, 4) for lines in (1, 5000))
    assert one.seconds == one.start + one.row
    assert many.seconds < many.start + 5000 * many.row / 2


def test_what_does_not_fit_keeps_no_other_engine_from_being_looked_at():
    """A closure that takes no time, for which there is no memory."""
    question, names = Question(road_like(1500, seed=1), get("min_plus"), Wants()), ("dense", "elimination")
    none = replace(engines.get("dense").estimate(question), seconds=0.0)
    for held, offered in ((1 << 60, [*names]), (1, ["dense"])):
        taken = replace(none, bytes=held)
        free = replace(engines.get("dense"), estimate=lambda _, taken=taken: taken, looks=lambda _: 0.0)
        assert [offer.kind.name for offer in road._offers(question, (free, engines.get("elimination")))] == offered


def test_what_cannot_even_be_looked_at_keeps_no_other_engine_from_answering():
    """A look for which there is no memory; if it is the only engine, that is the error."""

    def refused(question):
        raise MemoryNeeded("Hops: too many")

    question = Question(road_like(1500, seed=1), get("min_plus"), Wants())
    kinds = [replace(engines.get("dense"), estimate=refused, looks=lambda _: 0.0), engines.get("elimination")]
    assert [offer.kind.name for offer in road._offers(question, tuple(kinds))] == ["elimination"]
    with pytest.raises(MemoryNeeded, match="Hops"):
        road._offers(question, (kinds[0], kinds[0]))


@pytest.mark.parametrize(("spent", "chosen"), [(0.0, "dense"), (0.4, "elimination")])
def test_what_a_look_took_is_spent_whatever_is_chosen(monkeypatch, spent, chosen):
    """Counting took 0.4 s of the 1.2 that elimination takes, and the matrix is closed in one."""
    question = Question(road_like(1500, seed=1), get("min_plus"), Wants())
    kinds = []
    for name, seconds, before in (("dense", 1.0, 0.0), ("elimination", 1.2, spent)):
        taken = replace(engines.get(name).estimate(question), seconds=seconds, spent=before)
        kinds.append(replace(engines.get(name), estimate=lambda _, taken=taken: taken, looks=lambda _: 0.0))
    monkeypatch.setattr(engines, "candidates", lambda *_, **__: tuple(kinds))
    plan = road.choose(question)
    assert plan.engine == chosen
    assert {e.engine: e.seconds for e in plan.considered} == {"dense": 1.0, "elimination": 1.2}


def test_of_a_lattice_two_orders_are_counted():
    """By degrees and by levels; where a few vertices have many neighbours, by degrees alone."""
    graph, n = apsp.generate.grid(40, 40), 1600
    tails, heads = np.r_[graph.rows, graph.cols], np.r_[graph.cols, graph.rows]
    A = scipy.sparse.csr_array((np.ones(len(tails)), (tails, heads)), shape=(n, n))
    hub = scipy.sparse.csr_array((np.ones(len(tails)), (np.r_[np.zeros(20, int), tails[20:]], heads)), shape=(n, n))
    lattice, other = (
        engines.get("elimination").looks(Question(apsp.as_graph(M), get("min_plus"), Wants(sources=np.arange(20))))
        for M in (A, hub)
    )
    assert lattice > 1.2 * other


def test_few_rows_of_a_search_are_not_copied(monkeypatch):
    """A block that has all that is wanted is the result; more blocks are put together."""
    searched = []
    search = Searches._search
    monkeypatch.setattr(Searches, "_search", lambda *a, **b: (searched.append(search(*a, **b)), searched[-1])[1])
    tails, heads = np.random.default_rng(0).integers(0, 300, (2, 2000))
    A = scipy.sparse.csr_array((np.ones(2000), (tails, heads)), shape=(300, 300))
    D = shortest_paths(A, sources=[5, 2, 9], engine="scipy").distances
    assert len(searched) == 1
    assert np.shares_memory(D, searched[0])
    monkeypatch.setattr(Searches, "_together", lambda self: 2)
    again = shortest_paths(A, sources=[5, 2, 9], engine="scipy").distances
    assert len(searched) == 3
    np.testing.assert_array_equal(again, D)
    assert shortest_paths(A, sources=[], engine="scipy").distances.shape == (0, 300)


@pytest.mark.parametrize("slow", [False, True])
def test_all_rows_come_by_one_call_where_that_is_short(monkeypatch, slow):
    """Where all would keep Ctrl-C waiting, they come in blocks."""
    searched = []
    search = Searches._search
    monkeypatch.setattr(Searches, "_search", lambda *a, **b: (searched.append(search(*a, **b)), searched[-1])[1])
    monkeypatch.setattr("apsp.road.engines.scipy.STRETCH", -1.0 if slow else 60.0)
    tails, heads = np.random.default_rng(0).integers(0, 300, (2, 2000))
    A = scipy.sparse.csr_array((np.ones(2000), (tails, heads)), shape=(300, 300))
    D = shortest_paths(A, engine="scipy").distances
    assert np.shares_memory(D, searched[-1]) == (not slow)
    assert [len(x) for x in searched[:2]] == ([1, 1] if slow else [300])
    np.testing.assert_array_equal(D, scipy.sparse.csgraph.dijkstra(A))


def test_rows_of_searches_are_found_once(monkeypatch):
    r = shortest_paths(GRAPHS["digraph"], engine="scipy", sources=["v7", "v3"])
    monkeypatch.setattr(type(r.engine.all_pairs), "rows", lambda *_, **__: pytest.fail("searched again"))
    np.testing.assert_array_equal(np.asarray(r), truth(GRAPHS["digraph"])[[7, 3]])


def test_edges_of_a_matrix_that_count_are_counted_in_integers():
    A = np.where(np.eye(3, k=1), np.float32(0.5), np.float32(np.inf))
    for engine in ENGINES:
        r = shortest_paths(apsp.as_graph(A, weight=None), engine=engine)
        assert (r.dtype, r.distance(0, 2)) == (np.int16, 2)


def test_sums_of_both_signs_are_the_matrixs():
    """Where they cancel, elimination can meet a pivot that has no star; the matrix tells whether there is a limit."""
    n = 1500
    line = (np.arange(n - 1), np.arange(1, n))
    for sign, engine in ((1, "elimination"), (-1, "dense")):
        graph = Graph.from_arrays(*line, np.resize([0.5, 0.25 * sign], n - 1), n=n)
        assert plan(graph, "plus_times").engine == engine


def test_the_closure_of_a_list_of_edges_saturates_as_that_of_its_matrix():
    """A distance that is the dtype's ∞ is none in a table of integers; `shortest_paths` refuses it."""
    graph = Graph.from_arrays([0, 1], [1, 2], [30_000, 2767], n=1500)
    np.testing.assert_array_equal(apsp.closure(graph, dtype="int16"), apsp.closure(graph.matrix(dtype="int16")))
    with pytest.raises(DomainError, match="from 0 to 2 that goes beyond"):
        shortest_paths(graph, dtype="int16")


def test_a_table_is_estimated_with_what_finds_it():
    """All entries, and a panel of each thread."""
    graph, engine = road_like(1500, seed=1), engines.get("elimination")
    for threads in (1, 9):
        wants = Wants(options={"threads": threads})
        some, table = (
            engine.estimate(Question(graph, get("min_plus"), replace(wants, table=table))).bytes
            for table in (False, True)
        )
        workspace = shortest_paths(graph, engine="elimination", threads=threads).engine.workspace
        assert workspace >= threads * 1500 * 4
        assert table - some == 1500 * 1500 * 4 + workspace


def test_searches_are_predicted_by_what_they_reach():
    """Arcs lead from even vertices to odd ones: half of the sources reach any, and half of the targets are reached."""
    even = np.arange(0, 4000, 2)
    tails, heads = np.repeat(even, 3), 1 + np.concatenate([np.roll(even, k) for k in range(3)])
    assert estimates.reached(tails, heads, 4000) == 0.25
    assert estimates.reached(tails[:0], heads[:0], 0) == 0

    def predicted(directed):
        graph = Graph.from_arrays(tails, heads, np.arange(1, 6001), n=4000, directed=directed)
        found = {e.engine: e for e in apsp.plan(graph, engine="scipy", threads=1).considered}
        return found["scipy"].row

    assert 4 < predicted(directed=False) / predicted(directed=True) < 16


def test_orders_give_the_same_integers():
    graph = GRAPHS["road"]
    expected = truth(graph)
    for order in ("degree", "levels", "natural", np.arange(graph.n)[::-1]):
        r = shortest_paths(graph, order=order)
        assert r.plan.engine == "elimination"
        np.testing.assert_array_equal(np.asarray(r), expected)


def test_what_an_engine_cannot_do_it_says():
    with pytest.raises(ValueError, match="schedule"):
        shortest_paths([(0, 1, 1)], engine="elimination", schedule="blocked")
    for name in ("max_min", "max_plus"):
        with pytest.raises(AlgebraError, match=name):
            shortest_paths([(0, 1, 1)], name, engine="scipy")
    with pytest.raises(AlgebraError, match="2⁵³"):
        shortest_paths([(0, 1, 2**60)], engine="scipy")


def test_what_fits_nowhere_is_refused_from_the_counts(monkeypatch):
    for room in ("road", "question"):
        monkeypatch.setattr(f"apsp.road.{room}.available", lambda device="cpu": 1000)
    with pytest.raises(MemoryNeeded, match=r"elimination .*sources="):
        shortest_paths(road_like(9000, seed=1))


def test_few_edges_among_more_vertices_than_a_dtype_counts():
    """Searches that weigh hops afterwards need a dtype that holds n of them; others do without."""
    n = 40_000
    for weight, names in ((1, ("auto", "elimination", "hops", "scipy")), (3, ("auto", "elimination", "scipy"))):
        graph = Graph.from_arrays([0, 1], [1, 2], [weight, weight], n=n)
        for engine in names:
            r = shortest_paths(graph, dtype="int16", engine=engine, sources=[0, n - 1])
            assert r.table(targets=[2, n - 1]).tolist() == [[2 * weight, np.inf], [np.inf, 0]]
    with pytest.raises(apsp.AlgebraError, match="int16 must hold"):
        shortest_paths(graph, dtype="int16", engine="hops", sources=[0])


def test_a_limit_is_one_of_the_dtype_in_every_engine():
    """What float32 rounds to the limit is within it, also where searches go on in float64."""
    edges = [(0, 1, 0.1), (1, 2, 0.25), (2, 3, 0.25)]
    for engine in ("dense", "elimination", "scipy"):
        for limit, reached in ((0.1, 2), (0.35, 3), (0.6, 4), (1e300, 4), (0.0, 1), (-1, 0)):
            r = shortest_paths(edges, dtype="float32", engine=engine, limit=limit, sources=[0])
            assert r.reduce("reached").tolist() == [reached]


# Whether there is a limit, and whether integers hold it


@pytest.mark.parametrize("engine", ENGINES)
def test_a_real_negative_cycle_beside_large_weights_is_found(engine):
    """-1e-6 in all, beside weights of 1e9: what rounding may do elsewhere hides it not."""
    edges = [(0, 1, 0.5), (1, 2, 0.25), (2, 0, -0.750001), (3, 4, 1e9), (4, 3, 1e9), (2, 3, 1e9), (4, 0, 1e9)]
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(edges, engine=engine)
    assert caught.value.cycle == [0, 1, 2]


@pytest.mark.parametrize("engine", ["elimination", "scipy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cycles_that_rounding_makes_negative_are_none(dtype, engine):
    """Weights p(v) − p(u), whose cycles all weigh 0, and rounded: distances are p(v) − p(u) within rounding."""
    rng = np.random.default_rng(0)
    n = 200
    p = rng.standard_normal(n)
    tails, heads = rng.integers(n, size=(2, 4 * n))
    ring = np.arange(n)
    tails, heads = np.concatenate((tails, ring)), np.concatenate((heads, (ring + 1) % n))
    weights = (p[heads] - p[tails]).astype(dtype)
    r = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), dtype=dtype, engine=engine)
    expected = p[None, :] - p[:, None]
    tolerance = 200 * np.finfo(dtype).eps * np.abs(p).max()
    np.testing.assert_allclose(r.distances, expected, atol=tolerance)
    assert (r.distances.diagonal() == 0).all()
    for block in (r.table([3, 5], [7]), np.array([[r.distance(3, 7)], [r.distance(5, 7)]])):
        np.testing.assert_allclose(block, expected[[3, 5], 7:8], atol=tolerance)
    np.testing.assert_allclose(r.reduce(np.maximum, axis=0), expected.max(axis=0), atol=tolerance)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).distances, r.distances)


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        ([("a", "b", 2**62), ("b", "c", 2**62)], {}),
        ([("a", "b", -(2**62)), ("b", "c", -(2**62) - 2000), ("c", "d", 7)], {}),
        ([("a", "b", 30_000), ("b", "c", 30_000)], {"dtype": "int16"}),
        ([("a", "b", -(2**30)), ("b", "c", -(2**30) - 1)], {"dtype": "int32", "semiring": "max_plus"}),
        ([("a", "b", 30_000), ("b", "c", 30_000), ("c", "a", 1)], {"dtype": "int16"}),
        (
            [("a", "b", -(2**30)), ("b", "a", -1), ("b", "c", -(2**30) - 1), ("c", "b", -1)],
            {"dtype": "int32", "semiring": "max_plus"},
        ),
        ([("a", "b", -(2**30)), ("b", "c", -(2**30)), ("c", "a", -1)], {"dtype": "int32", "semiring": "max_plus"}),
        ([("a", "b", 2**62), ("b", "c", 2**62 - 1), ("c", "a", 1)], {}),
    ],
)
def test_a_distance_beyond_the_integers_is_refused_by_elimination_too(edges, options):
    with pytest.raises(apsp.DomainError, match=r"'a' to 'c'"):
        shortest_paths(edges, engine="elimination", **options)


@pytest.mark.parametrize("engine", ["dense", "elimination"])
def test_an_edge_of_infinite_weight_is_no_walk_that_saturates(engine):
    edges = [("a", "b", 20_000), ("b", "c", np.inf), ("d", "e", 20_000)]
    assert shortest_paths(edges, engine=engine, dtype="int16").table(["a"], ["b", "c"]).tolist() == [[20_000, np.inf]]


@pytest.mark.parametrize(("semiring", "dtype", "unit"), [("min_plus", "int16", 1), ("max_plus", "int32", -(2**16) - 1)])
def test_long_paths_of_integers_are_refused_by_the_automatic_choice(semiring, dtype, unit):
    """3,000 vertices in a row, both ways: the elimination is chosen. The greatest distance fits, and then does not."""
    n, most = 3000, np.iinfo(dtype).max
    tails, heads = np.arange(n - 1), np.arange(1, n)
    for weight, fits in ((10, True), (11, False)):
        weights = np.full(2 * (n - 1), unit * weight)
        path = Graph.from_arrays(np.append(tails, heads), np.append(heads, tails), weights, n=n)
        if fits:
            r = shortest_paths(path, semiring, dtype=dtype)
            assert (r.plan.engine, r.distance(0, n - 1)) == ("elimination", unit * 29_990)
        else:
            with pytest.raises(DomainError, match=f"from 0 to 2979 that goes beyond ±{most}"):
                shortest_paths(path, semiring, dtype=dtype)
            if dtype == "int16":  # asked for; int32 is what the graph has by itself, and widens
                with pytest.raises(DomainError, match=f"beyond ±{most}"):
                    r.update(weights)


def exact_table(n: int, edges: list[tuple[int, int, int]], sign: int) -> np.ndarray | None:
    """Floyd–Warshall's loop in Python's integers, None where there is no path; None in all where a cycle beats 0."""
    D: list[list[int | None]] = [[0 if i == j else None for j in range(n)] for i in range(n)]

    def better(i: int, j: int, new: int) -> None:
        old = D[i][j]
        D[i][j] = new if old is None or sign * new < sign * old else old

    for u, v, w in edges:
        better(u, v, w)
    for k, i, j in product(range(n), repeat=3):
        left, right = D[i][k], D[k][j]
        if left is not None and right is not None:
            better(i, j, left + right)
    return None if any(D[i][i] != 0 for i in range(n)) else np.array(D, object)


@pytest.mark.parametrize("semiring", ["min_plus", "max_plus"])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_integers_near_their_ends_are_exact_or_refused(semiring, dtype, monkeypatch):
    """Random weights up to the dtype's ends, against Python's integers: every engine, and the automatic choice."""
    monkeypatch.setattr("apsp.road.rates.processor", replace(rates.processor, comparison=0.0))
    rng, info, sign = np.random.default_rng(17), np.iinfo(dtype), 1 if semiring == "min_plus" else -1
    seen = dict.fromkeys(("divergent", "far", "exact"), 0)
    for trial in range(60):
        n, m = int(rng.integers(2, 9)), int(rng.integers(2, 20))
        tails, heads = rng.integers(0, n, (2, m))
        p, top = rng.integers(-(info.max // 3), info.max // 3, n), int(info.max) // int(rng.choice([1, 2, n])) - 1
        # Multiples of one number near an end, weights of one sign, or p(v) − p(u), whose cycles are hardly any.
        weights = [
            [top - int(x) for x in rng.integers(0, 3, m)],
            rng.integers(-1 if trial % 2 else 0, top, m).tolist(),
            [
                int(p[v]) - int(p[u]) + sign * int(x)
                for u, v, x in zip(tails, heads, rng.integers(0, 3, m), strict=True)
            ],
            rng.integers(-top, top, m).tolist(),
        ][trial % 4]
        weights = [sign * w if trial % 4 != 2 else w for w in weights]
        D = exact_table(n, list(zip(tails.tolist(), heads.tolist(), weights, strict=True)), sign)
        fits = D is not None and all(d is None or abs(d) < info.max for d in D.flat)
        graph = Graph.from_arrays(tails, heads, weights, n=n)
        for engine in ("dense", "elimination", "auto"):
            if fits:
                r = shortest_paths(graph, semiring, dtype=dtype, engine=engine)
                expected = np.where(D == None, r.infinity, D).astype(dtype)  # noqa: E711
                np.testing.assert_array_equal(r.distances, expected)
                np.testing.assert_array_equal(np.concatenate([rows for _, rows in r.rows()]), expected)
            else:
                with pytest.raises(DomainError if D is not None else (DivergenceError, DomainError)):
                    shortest_paths(graph, semiring, dtype=dtype, engine=engine)
        seen["exact" if fits else "divergent" if D is None else "far"] += 1
    assert min(seen.values()) >= 5, seen


def test_integers_that_hold_all_distances_are_taken():
    ring = [(k, (k + 1) % 40, 1000) for k in range(40)]
    both = [*ring, *((v, u, w) for u, v, w in ring)]
    r = shortest_paths(
        both, engine="elimination", dtype="int16"
    )  # a path of 39 arcs would weigh too much: none is best
    assert (r.dtype, r.distance(0, 20), r.distances.max()) == (np.int16, 20_000, 20_000)
    with pytest.raises(apsp.DomainError):
        shortest_paths(ring, engine="elimination", dtype="int16")


@pytest.mark.parametrize(("weight", "taken"), [(2**52, True), (2**53, False), (-(2**51), True), (-(2**52), False)])
def test_searches_take_integers_that_floats_hold(weight, taken):
    """Johnson's lengths are up to twice as long as the graph's own."""
    graph = Graph.from_edges([(0, 1, weight), (1, 2, 1)])
    if taken:
        assert shortest_paths(graph, engine="scipy").distance(0, 2) == weight + 1
    else:
        with pytest.raises(AlgebraError, match="below 2⁵³"):
            shortest_paths(graph, engine="scipy")


@pytest.mark.parametrize("low", [0, 1, -1], ids=["breadth-first", "dijkstra", "johnson"])
def test_searches_refuse_distances_that_integers_do_not_hold(low):
    weights = [1000] * 38 + [low or 1000]
    line = Graph.from_arrays(range(39), range(1, 40), weights, n=40, labels=[f"v{k}" for k in range(40)])

    def ask(**what):
        return shortest_paths(line, dtype="int16", engine="scipy", **what)

    np.testing.assert_array_equal(ask(sources=["v7", "v38"]).distances[:, 39], [31000 + weights[38], weights[38]])
    for what in ({"sources": ["v0"]}, {"targets": ["v39"]}):
        with pytest.raises(DomainError, match=r"fit int16, got 3\d+ from 'v0' to 'v3\d'"):
            ask(**what)
    for question in (lambda r: r.distances, lambda r: list(r.rows()), lambda r: r.distance("v0", "v39")):
        with pytest.raises(DomainError, match="from 'v0' to 'v3"):
            question(ask())
    near = ask(sources=["v0"], limit=5000)  # what is beyond is not asked for
    np.testing.assert_array_equal(near.distances[0, :7], [0, 1000, 2000, 3000, 4000, 5000, near.infinity])


@pytest.mark.parametrize("kind", ["scipy", "networkx", "graph"])
def test_the_closure_of_a_sparse_graph_is_eliminated_and_comes_back_as_ever(kind):
    road = road_like(1500, seed=1)
    tails, heads, weights = road.edges()
    sources = {
        "scipy": scipy.sparse.coo_array((weights, (tails, heads)), shape=(1500, 1500)),
        "networkx": nx.from_edgelist(
            [(u, v, {"weight": w}) for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True)],
            nx.DiGraph,
        ),
        "graph": road,
    }
    A = sources[kind]
    if kind == "networkx":
        A = nx.relabel_nodes(A, {})
        A.add_nodes_from(range(1500))
    assert apsp.plan(A).engine == "elimination"
    D, expected = apsp.closure(A), apsp.closure(A, schedule="recursive")
    assert (type(D), D.dtype, D.flags.c_contiguous) == (np.ndarray, expected.dtype, True)
    np.testing.assert_array_equal(D, expected)
    S = scipy.sparse.csr_array((weights, (tails, heads)), shape=(1500, 1500))
    if kind != "networkx":
        np.testing.assert_array_equal(D[:5], scipy.sparse.csgraph.dijkstra(S, indices=range(5)))
    with pytest.raises(NegativeCycleError):
        apsp.closure(Graph.from_arrays(tails, heads, -weights, n=1500))


def test_a_structure_too_large_is_refused_from_its_counts(monkeypatch):
    """Asked for by name; nothing numeric has been made by then."""
    graph = random_graph(1000, 0.8, seed=1)
    monkeypatch.setattr("semiring.host.memory.available", lambda device="cpu": 100_000)
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    with pytest.raises(MemoryNeeded, match=r"eliminate: .* must fit on cpu.*Dijkstra from the sources wanted"):
        shortest_paths(graph, engine="elimination")


# Graphs that people have, and large ones


@pytest.mark.parametrize("path", people.DIMACS, ids=lambda path: path.name)
def test_paths_of_all_pairs_of_a_road_network(path):
    """Each predecessor is the last vertex but one of a best path, and nearer: so all of them lead to the source."""
    r = shortest_paths(path, engine="elimination")
    tails, heads, weights = r.graph.edges()
    W = cases.lengths(r.graph.n, (tails, heads), weights)
    assert weights.min() > 0
    D, P = np.asarray(r), r.predecessors
    for u, (d, before) in enumerate(zip(D, P, strict=True)):
        v = np.flatnonzero(np.isfinite(d) & (np.arange(len(d)) != u))
        p = before[v]
        np.testing.assert_array_equal(d[p] + W[p, v], d[v])
        assert (d[p] < d[v]).all()
    n = r.graph.n
    pairs = [(r.graph.labels[i], r.graph.labels[j]) for i, j in np.random.default_rng(1).integers(0, n, (40, 2))]
    places = {label: k for k, label in enumerate(r.graph.labels)}
    for u, v in pairs:
        if np.isfinite(D[places[u], places[v]]):
            path = r.path(u, v)
            assert (path[0], path[-1]) == (u, v)
            assert sum(W[places[a], places[b]] for a, b in pairwise(path)) == D[places[u], places[v]]


@pytest.mark.skipif(not people.LUXEMBOURG.is_file(), reason="Luxembourg's roads lie beside the repository")
def test_the_reference_queries_of_luxembourg():
    """1,000 pairs with their travel times; where there is none, no way."""
    lines = (people.LUXEMBOURG.parent / "queries.csv").read_text().splitlines()[1:]
    u, v, expected = np.array([[float(x or "inf") for x in line.split(",")] for line in lines]).T
    u, v = u.astype(int), v.astype(int)
    r = shortest_paths(people.LUXEMBOURG)
    assert r.plan.engine == "elimination"
    np.testing.assert_array_equal(r.distance(u, v), expected)
    some = slice(0, 1000, 50)
    np.testing.assert_array_equal(r.table(u[some], v[some]).diagonal(), expected[some])
    for a, b, d in zip(u[some].tolist(), v[some].tolist(), expected[some].tolist(), strict=True):
        assert r.distance(a, b) == d
        if np.isfinite(d):
            assert (r.path(a, b)[0], r.path(a, b)[-1]) == (a, b)


def test_a_long_path_answers_all_questions():
    n = 200_000
    i = np.arange(n - 1)
    r = shortest_paths(Graph.from_arrays(i, i + 1, np.full(n - 1, 2), n=n))
    assert r.plan.engine == "elimination"
    assert r.distance(3, n - 1) == 2 * (n - 4)
    assert r.distance(n - 1, 3) == np.inf
    assert r.path(7, 60) == list(range(7, 61))
    assert r.table([0, n // 2], [n - 1]).tolist() == [[2 * (n - 1)], [2 * (n - 1 - n // 2)]]
    (label,), row = next(iter(r.rows(sources=[n // 2])))
    assert label == n // 2
    np.testing.assert_array_equal(row[0, n // 2 :], 2 * np.arange(n - n // 2))
    assert r.update({(0, 1): 5}).distance(0, 2) == 7
    np.testing.assert_array_equal(r.nearest([0, n // 2]).distance[[1, n // 2 + 1]], [2, 2])
