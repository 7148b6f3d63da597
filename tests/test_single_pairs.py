"""Few entries of a sparse table, and single paths, without rows: against uncompiled loops, SciPy and the rule."""

from __future__ import annotations

import math
from itertools import pairwise

import cases
import numpy as np
import pytest
from cases import CASES, USER_CASES, same
from test_routes import CERTAINTY, by_the_rule
from test_sparse import SHAPES, made, values

from apsp import Graph, NoPathError, shortest_paths
from apsp.answers.result.nearest import nearest
from apsp.answers.result.paths import best_path
from apsp.generate import grid, random_graph, road_like
from apsp.road.engines.elimination import Eliminated
from semiring import Elimination, get
from semiring.algebra import dtypes
from semiring.host.errors import MemoryNeeded, VertexError
from semiring.sparse import paths, queries
from semiring.sparse.paths import predecessor_paths

SELECTING = [case for case in CASES if case.semiring.add.selects]


def without_rows(monkeypatch):
    """From here on rows, and columns, of an elimination are an error."""

    def refused(*_, **__):
        raise AssertionError("a row was swept")

    for name in ("row", "rows", "column", "panels"):
        monkeypatch.setattr(Elimination, name, refused)


def question(case, name, seed=0):
    """The eliminated graph of a shape, its weights in the dtype of the case, none an end of it: graphs have numbers."""
    n, arcs = SHAPES[name]
    weights = values(case, arcs.shape[1], n, seed)
    ends = list(dtypes.SCALARS[case.dtype].bounds) if case.dtype.kind == "i" else []
    kept = ~np.isin(weights, [case.zero, *ends])
    arcs, weights = arcs[:, kept], weights[kept]
    graph = Graph.from_arrays(*arcs, weights.astype(int) if weights.dtype == bool else weights, n=n)
    return shortest_paths(graph, case.semiring, dtype=case.dtype, engine="elimination")


# Entries and blocks


@pytest.mark.parametrize("case", cases.few([*CASES, *USER_CASES], cases.TRAITS))
def test_blocks_and_recurring_entries_of_every_semiring(case, monkeypatch):
    for seed, name in enumerate(SHAPES):
        E, A = made(case, name, seed)
        expected, n, rng = cases.closure(case, A), len(A), np.random.default_rng(seed)
        empty = np.empty(0, int)
        same(case, E.block(empty, empty), expected[:0, :0])
        if not n:
            continue
        some = [rng.integers(0, n, k) for k in (1, 2, 7, 19)]
        for i, j in [(empty, some[1]), (some[1], empty), *((i, j) for i in some for j in some), (range(n), range(n))]:
            same(case, E.block(i, j), expected[np.ix_(np.array(i, int), np.array(j, int))])
        few, many = rng.integers(0, n, 2), rng.integers(0, n, 40)
        recurring = [(np.resize(few, 40), many), (many, np.resize(few, 40)), (many, many), (few[:1], many)]
        for grid_from in (16, 1000):  # as blocks, and one by one
            monkeypatch.setattr(queries, "GRID", grid_from)
            for i, j in recurring:
                same(case, E.entries(i, j), expected[i, j])
        same(case, E.entries(many[:20, None], many[20:]), expected[many[:20, None], many[20:]])


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_of_many_lanes_on_threads(dtype, threads):
    graph = road_like(900, seed=3)
    tails, heads, weights = graph.edges()
    E = Elimination.from_arrays(tails, heads, weights, graph.n, dtype=dtype, threads=threads)
    expected = cases.distances(cases.lengths(graph.n, (tails, heads), weights), dtype=dtype)
    rng = np.random.default_rng(0)
    for k, m in ((300, 500), (500, 300), (1, 900), (900, 1), (257, 257)):
        i, j = rng.integers(0, graph.n, k), rng.permutation(graph.n)[:m]
        for rows, columns in ((i, j), (j, i)):
            found = E.block(rows, columns)
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, expected[np.ix_(rows, columns)])
    i, j = rng.integers(0, 5, 400) * 7, rng.integers(0, graph.n, 400)
    np.testing.assert_array_equal(E.entries(i, j), expected[i, j])
    np.testing.assert_array_equal(E.entries(j, i), expected[j, i])


def test_tables_are_blocks(monkeypatch):
    graph = road_like(400, seed=5)
    expected = cases.distances(cases.lengths(graph.n, graph.edges()[:2], graph.edges()[2]))
    r = shortest_paths(graph, engine="elimination")
    without_rows(monkeypatch)
    stops = np.random.default_rng(1).integers(0, graph.n, (2, 30))
    np.testing.assert_array_equal(r.table(*stops), expected[np.ix_(*stops)])
    np.testing.assert_array_equal(r.table(stops[0]), expected[stops[0]])
    np.testing.assert_array_equal(r.table(None, stops[1]), expected[:, stops[1]])
    np.testing.assert_array_equal(r.distance(stops[0][:, None], stops[1]), expected[np.ix_(*stops)])
    np.testing.assert_array_equal(r.distance(7, np.arange(60)), expected[7, :60])


def test_a_multiplication_that_does_not_commute_keeps_its_order_in_blocks():
    from test_routes import ORDINALS

    rng, n = np.random.default_rng(2), 16
    A = np.where(rng.random((n, n)) < 0.2, rng.choice([1.0, 2, 1000, 1001], (n, n)), np.inf)
    tails, heads = np.nonzero(np.isfinite(A))
    E = Elimination.from_arrays(tails, heads, A[tails, heads], n, ORDINALS)
    expected = cases.closure(cases.Case(ORDINALS, np.dtype(float)), A)
    for i, j in ((range(n), [1, 5]), ([1, 5], range(n))):
        np.testing.assert_array_equal(E.block(i, j), expected[np.ix_(i, j)])
    every = np.arange(n)
    for v in (0, 3, 15):
        np.testing.assert_array_equal(E.entries(np.full(n, v), every), expected[v])
        np.testing.assert_array_equal(E.entries(every, np.full(n, v)), expected[:, v])


def test_blocks_that_cannot_be_are_refused(monkeypatch):
    E = Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
    with pytest.raises(VertexError, match=r"block: .* got 3"):
        E.block([0, 3], [1])
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device: 1 << 16)
    with pytest.raises(MemoryNeeded, match=r"block: .* must fit on cpu.*stream them by rows"):
        E.block(range(3), np.zeros(1 << 14, int))


# The nearest


@pytest.mark.parametrize("towards", [False, True])
@pytest.mark.parametrize(("name", "dtype"), [
    ("min_plus", "int16"), ("min_plus", "float32"), ("max_plus", "int32"),
    pytest.param("min_plus", "int64", marks=pytest.mark.release),
    pytest.param("max_plus", "float64", marks=pytest.mark.release),
])  # fmt: skip
def test_the_nearest_of_several_is_that_of_their_rows(name, dtype, towards, monkeypatch):
    case = cases.Case(get(name), np.dtype(dtype))
    for seed, shape in enumerate(SHAPES):
        n, arcs = SHAPES[shape]
        if not n or (name == "max_plus" and shape != "acyclic" and arcs.size):
            continue
        weights = np.random.default_rng(seed).integers(0, 5, arcs.shape[1])  # few values, so that many are as near
        r = shortest_paths(Graph.from_arrays(*arcs, weights, n=n), name, dtype=dtype, engine="elimination")
        A = np.full((n, n), case.zero)
        for u, v, w in zip(*arcs.tolist(), weights.tolist(), strict=True):
            A[u, v] = case.semiring.add.python(A[u, v], w)
        D = cases.closure(case, A.astype(dtype))
        D = D.T if towards else D
        for wanted in ([n - 1], [*range(n - 1, -1, -3)], [0, 0, n // 2, 0]):
            rows = D[wanted]
            best = rows.min(axis=0) if name == "min_plus" else rows.max(axis=0)
            first = (rows == best).argmax(axis=0)
            with monkeypatch.context() as context:
                without_rows(context)
                found = r.nearest(wanted, towards=towards)
            expected = [None if d == case.zero else wanted[k] for d, k in zip(best, first, strict=True)]
            assert found.source == expected
            none = math.inf if name == "min_plus" else -math.inf
            np.testing.assert_array_equal(found.distance, np.where(best == case.zero, none, best.astype(float)))


def test_the_nearest_over_fractions_is_as_near_as_any():
    graph = road_like(500, seed=2)
    tails, heads, _ = graph.edges()
    weights = np.random.default_rng(0).random(len(tails))
    r = shortest_paths(Graph.from_arrays(tails, heads, weights, n=graph.n), engine="elimination")
    D, wanted = (
        cases.distances(cases.lengths(graph.n, (tails, heads), weights)),
        np.random.default_rng(1).permutation(graph.n)[:20],
    )
    which, best = r.engine.nearest(wanted, towards=False)
    np.testing.assert_allclose(best, D[wanted].min(axis=0), rtol=1e-12)
    np.testing.assert_allclose(D[wanted[which], np.arange(graph.n)], best, rtol=1e-12)


def test_the_nearest_where_rows_must_tell():
    """Over a bottleneck, and where rounding made a cycle negative: the engine has no answer of its own."""
    r = shortest_paths([("a", "b", 4.0), ("b", "c", 2.0), ("d", "c", 2.0)], "max_min", engine="elimination")
    assert r.engine.nearest(np.array([0, 3]), towards=False) is None
    assert r.nearest(["d", "a"]).source == ["a", "a", "d", "d"]
    which, best = nearest(r.engine, r.semiring, np.array([3, 0]))
    np.testing.assert_array_equal(which, [1, 1, 0, 0])
    np.testing.assert_array_equal(best, [np.inf, 4, 2, np.inf])


def test_negative_arcs_have_a_nearest_source_too():
    edges = [("a", "b", 4), ("b", "c", -3), ("a", "c", 2), ("c", "d", 0), ("e", "c", 0)]
    found = shortest_paths(edges, engine="elimination").nearest(["a", "b", "e"])
    assert found.source == ["a", "b", "b", "b", "e"]
    np.testing.assert_array_equal(found.distance, [0, 0, -3, -3, 0])


# Paths


@pytest.mark.parametrize("case", cases.few(SELECTING, cases.TRAITS))
def test_a_path_is_that_of_the_search_along_an_entire_column(case, monkeypatch):
    for seed, name in enumerate(SHAPES):
        r = question(case, name, seed)
        n, E = r.graph.n, r.engine.elimination
        into = [E.column(v) for v in range(n)]
        with monkeypatch.context() as context:
            without_rows(context)
            for u in range(n):
                for v in range(u % 3, n, 3):
                    if into[v][u] == case.zero and u != v:
                        with pytest.raises(NoPathError):
                            r.path(u, v)
                        continue
                    assert r.path(u, v) == best_path(u, v, into[v], r._neighbours, case.semiring)


@pytest.mark.parametrize("weights", ["fractions", "tenths", "integers", "zeros and ones"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_paths_of_floats_are_those_of_the_search_along_a_column(weights, dtype):
    rng = np.random.default_rng(4)
    graph = road_like(300, seed=4)
    tails, heads, _ = graph.edges()
    m = len(tails)
    w = {"fractions": rng.random(m), "tenths": rng.integers(1, 4, m) / 10, "integers": rng.integers(1, 4, m),
         "zeros and ones": rng.integers(0, 2, m)}[weights]  # fmt: skip
    r = shortest_paths(Graph.from_arrays(tails, heads, w, n=graph.n), dtype=dtype, engine="elimination")
    for u, v in rng.integers(0, graph.n, (60, 2)).tolist():
        expected = best_path(u, v, r.engine.to(v), r._neighbours, r.semiring)
        assert r.path(u, v) == expected
        assert len(set(expected)) == len(expected)


def test_a_path_is_exact_where_floats_would_not_tell():
    """At 2⁶⁰ two sums that differ by 1 are one float64."""
    big = 2**60
    edges = [("a", "b", big), ("b", "d", big + 1), ("a", "c", big), ("c", "d", big)]
    for around in (edges, edges[::-1]):
        assert shortest_paths(around, engine="elimination").path("a", "d") == ["a", "c", "d"]


def every_path(r, each=7):
    """The paths of all pairs, few of each source at a time."""
    n, found = r.graph.n, {}
    for k in range(0, n, each):
        pairs = [(u, v) for u in range(n) for v in range(k, min(k + each, n))]
        found |= dict(zip(pairs, r.paths(pairs), strict=True))
    return found


def along(P, u, v):
    path = [v]
    while path[-1] != u:
        if path[-1] < 0:
            return []
        path.append(int(P[u, path[-1]]))
    return path[::-1]


@pytest.mark.parametrize("case", cases.few(SELECTING, cases.TRAITS))
def test_many_paths_are_those_of_predecessors(case):
    """By the rule in loops, where edges cannot hide behind others that are as wide; there by the rows."""
    for seed, name in enumerate(SHAPES):
        r = question(case, name, seed)
        n = r.graph.n
        if case.semiring.mul.selects is None and case.dtype.kind == "i":
            D = np.array([r.engine.row(i) for i in range(n)]).reshape(n, n)
            P = by_the_rule(r.graph.matrix(case.semiring, case.dtype), D, case.semiring)
        else:
            P = np.concatenate([np.empty((0, n), np.int32), *(part for _, part in r.predecessor_rows())])
        for (u, v), path in every_path(r).items():
            assert path == along(P, u, v), (name, u, v)


@pytest.mark.parametrize("weights", ["fractions", "tenths", "zeros and ones", "all zero", "signed"])
@pytest.mark.parametrize(
    "graph", [grid(6, 7), road_like(60, seed=2), random_graph(40, 0.08, seed=3)], ids=["grid", "road", "random"]
)
def test_paths_among_ties_and_plateaus(graph, weights):
    """Exact where sums are; and simple, along edges and as long as the distance, whatever rounds."""
    rng = np.random.default_rng(5)
    tails, heads, _ = graph.edges()
    m, n = len(tails), graph.n
    potential = rng.integers(0, 9, n)
    w = {"fractions": rng.random(m), "tenths": rng.integers(1, 3, m) / 10, "all zero": np.zeros(m, int),
         "zeros and ones": rng.integers(0, 2, m),
         "signed": rng.integers(0, 3, m) + potential[heads] - potential[tails]}[weights]  # fmt: skip
    r = shortest_paths(Graph.from_arrays(tails, heads, w, n=n), engine="elimination")
    A = r.graph.matrix(r.semiring, r.dtype)
    D = np.array([r.engine.row(i) for i in range(n)])
    P = by_the_rule(A, D, r.semiring) if w.dtype.kind == "i" else None
    for (u, v), path in every_path(r).items():
        if P is not None:
            assert path == along(P, u, v)
        if not path:
            assert D[u, v] == r.infinity
            continue
        assert (path[0], path[-1], len(path)) == (u, v, len(set(path)))
        assert sum(A[a, b] for a, b in pairwise(path)) == pytest.approx(D[u, v], rel=1e-12)


def test_paths_over_a_semiring_of_ones_own():
    rng, n = np.random.default_rng(1), 30
    tails, heads = rng.integers(0, n, (2, 80))
    g = Graph.from_arrays(tails, heads, rng.integers(60, 100, 80), n=n)
    r = shortest_paths(g, CERTAINTY, dtype="int32", engine="elimination")
    D = np.array([r.engine.row(i) for i in range(n)])
    P = by_the_rule(g.matrix(CERTAINTY, np.dtype("int32")), D, CERTAINTY)
    for (u, v), path in every_path(r).items():
        assert path == along(P, u, v)
        if D[u, v] != 0:
            assert r.path(u, v) == best_path(u, v, D[:, v], r._neighbours, CERTAINTY)


def test_single_paths_sweep_no_rows_and_recurring_sources_few(monkeypatch):
    graph = road_like(2000, seed=6)
    r = shortest_paths(graph, engine="elimination", threads=2)
    P = np.concatenate([part for _, part in r.predecessor_rows(block=500)])
    pairs = np.random.default_rng(2).integers(0, graph.n, (300, 2))
    pairs[::9, 1] = pairs[::9, 0]
    without_rows(monkeypatch)
    for (u, v), path in zip(pairs.tolist(), r.paths(pairs), strict=True):
        assert path == along(P, u, v)
    assert list(r.paths([])) == []


def test_a_long_plateau_takes_the_row(monkeypatch):
    """A ring of edges that weigh nothing is longer than what is looked at for one predecessor."""
    n = 2 * paths.PLATEAU + 20
    ring = np.arange(n)
    g = Graph.from_arrays([n, *ring], [0, *((ring + 1) % n)], [5, *np.zeros(n, int)], n=n + 2)
    r = shortest_paths(g, engine="elimination")
    found = predecessor_paths(r.engine.elimination, np.array([n, n, n]), np.array([3, n - 1, n + 1]),
                              r._trees.edges(reverse=True))  # fmt: skip
    assert found is not None
    np.testing.assert_array_equal(found[1], [5, -1, 0])
    np.testing.assert_array_equal(found[0], [n, 0, 1, 2, 3])
    assert list(r.paths([(n, n - 1), (n, 3), (n + 1, 3), (3, n - 1)])) == [
        [n, *range(n)], [n, 0, 1, 2, 3], [], [*range(3, n)],
    ]  # fmt: skip
    assert r.path(n, n - 1) == [n, *range(n)]


def test_edges_that_beat_one_leave_paths_to_rows():
    r = shortest_paths([("a", "b", 4), ("b", "c", -3)], engine="elimination")
    assert predecessor_paths(r.engine.elimination, np.array([0]), np.array([2]), r._trees.edges(reverse=True)) is None
    assert list(r.paths([("a", "c"), ("c", "a"), ("b", "b")])) == [["a", "b", "c"], [], ["b"]]


def test_paths_longer_than_what_was_set_aside():
    """Of vertices, and of edges in the heap of a search: a star's hub has many, none of which loses nothing."""
    n = 70_000
    r = shortest_paths(Graph.from_arrays(range(n - 1), range(1, n), np.full(n - 1, 0.5), n=n), engine="elimination")
    assert r.path(0, n - 1) == list(range(n))
    assert list(r.paths([(0, n - 1), (3, 5)])) == [list(range(n)), [3, 4, 5]]
    leaves = 5000
    star = Graph.from_arrays(np.zeros(leaves, int), range(1, leaves + 1), np.linspace(1, 2, leaves), directed=False)
    r = shortest_paths(star, engine="elimination")
    assert r.path(leaves, 1) == [leaves, 0, 1]
    assert list(r.paths([(leaves, 1), (0, 0), (0, 9)])) == [[leaves, 0, 1], [0], [0, 9]]


def test_parts_and_limits_have_the_same_paths():
    graph = road_like(300, seed=8)
    r = shortest_paths(graph, engine="elimination")
    u, v = 3, 290
    part = shortest_paths(graph, engine="elimination", sources=[u, 7], targets=[9, v], limit=float(r.distance(u, v)))
    assert part.path(u, v) == r.path(u, v)
    assert list(part.paths([(u, v)])) == list(r.paths([(u, v)]))
    near = shortest_paths(graph, engine="elimination", limit=float(r.distance(u, v)) - 1)
    with pytest.raises(NoPathError):
        near.path(u, v)
    assert list(near.paths([(u, v)])) == [[]]


def test_an_interrupted_query_leaves_the_next_one_right(monkeypatch):
    r = shortest_paths(road_like(300, seed=9), engine="elimination", threads=1)
    expected = r.path(0, 299), list(r.paths([(5, 7), (5, 250)]))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(paths.Lazy, "search", interrupted)
        with pytest.raises(KeyboardInterrupt):
            r.path(0, 299)
    assert (r.path(0, 299), list(r.paths([(5, 7), (5, 250)]))) == expected


def test_an_engine_of_reweighted_arcs_answers_by_rows():
    """Cycles that rounding makes negative: distances are put back by potentials, and paths are found in them."""
    rng = np.random.default_rng(0)
    p = rng.standard_normal(30)
    A = np.where(rng.random((30, 30)) < 0.2, p[None, :] - p[:, None], np.inf)
    tails, heads = np.nonzero(np.isfinite(A))
    r = shortest_paths(Graph.from_arrays(tails, heads, A[tails, heads], n=30), engine="elimination")
    assert isinstance(r.engine, Eliminated)
    if r.engine.potential is None:
        pytest.skip("no cycle was rounded to less than 0 here")
    expected = np.asarray(r)
    np.testing.assert_array_equal(r.table([1, 2, 3], [4, 5]), expected[np.ix_([1, 2, 3], [4, 5])])
    np.testing.assert_array_equal(r.nearest([1, 2]).distance, expected[[1, 2]].min(axis=0))
    u, v = np.argwhere(np.isfinite(expected) & ~np.eye(30, dtype=bool))[0].tolist()
    assert sum(A[a, b] for a, b in pairwise(r.path(u, v))) == pytest.approx(r.distance(u, v), abs=1e-9)
    assert sum(A[a, b] for a, b in pairwise(r.paths([(u, v)])[0])) == pytest.approx(r.distance(u, v), abs=1e-9)
