"""The k best simple paths: held to NetworkX, to SciPy, and to a list of all simple paths."""

from __future__ import annotations

import _thread
import itertools
import math
import threading
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.csgraph as scipys
from fuzz import draw, ranked

import semiring
from apsp import Graph, csgraph, shortest_paths
from apsp.generate import road_like
from semiring.host.errors import (
    AlgebraError,
    DivergenceError,
    DomainError,
    MemoryNeeded,
    NegativeCycleError,
    NoPathError,
    ShapeError,
    VertexError,
)
from semiring.kernels.cpu.routes import ranked as kernels

INF = math.inf
EDGES = [("A", "B", 4), ("B", "C", 7), ("A", "C", 12), ("B", "D", 1), ("D", "C", 9)]


def simple_paths(arcs: dict[tuple[int, int], Any], u: int, v: int) -> list[list[int]]:
    G = nx.DiGraph(list(arcs))
    G.add_nodes_from((u, v))
    return [[u]] if u == v else [list(path) for path in nx.all_simple_paths(G, u, v)]


def weighed(arcs: dict[tuple[int, int], Any], path: list[int], s: Any) -> Any:
    total = s.one
    for arc in itertools.pairwise(path):
        total = s.mul.python(total, arcs[arc])
    return total


@pytest.mark.parametrize("part", range(4))
def test_small_graphs_with_ties_zeros_parallel_edges_and_parts(part):
    for k in range(80 * part, 80 * (part + 1)):
        ranked.case(draw.of(1, "ranked", k))


SEMIRINGS = {
    "max_plus": [1, 2, -1, 3],
    "max_min": [1, 2, 3],
    "min_max": [1, 2, 3],
    "reliability": [0.5, 0.25, 0.9, 1.0],
    "min_times": [1.5, 2.0, 1.0],
    "boolean": [1],
}


@pytest.mark.parametrize("name", SEMIRINGS)
def test_semirings(name):
    """Any whose ⊕ selects, in the order of lengths and then of the last vertices."""
    s, rng, n = semiring.get(name), np.random.default_rng(5), 6
    for _ in range(12):
        arcs = {
            (i, j): SEMIRINGS[name][int(rng.integers(len(SEMIRINGS[name])))]
            for i, j in itertools.permutations(range(n), 2)
            if rng.random() < 0.5 and (name != "max_plus" or i < j)
        }
        r = shortest_paths(Graph.from_edges([(i, j, w) for (i, j), w in arcs.items()], labels=range(n)), name)
        for u, v in itertools.permutations(range(n), 2):
            paths = simple_paths(arcs, u, v)
            if not paths:
                with pytest.raises(NoPathError):
                    r.k_paths(u, v)
                continue
            sign = 1 if s.add.selects == "least" else -1
            found = list(r.k_paths(u, v))
            lengths = [weighed(arcs, path, s) for path in found]
            assert sorted(found) == sorted(paths)
            np.testing.assert_allclose(r.k_distances(u, v, len(paths)), lengths, rtol=1e-14)
            if s.mul.ufunc is not np.multiply:
                assert found == sorted(paths, key=lambda p: (sign * weighed(arcs, p, s), p[::-1]))
            else:
                assert (np.diff(sign * np.array(lengths, float)) >= -1e-14).all()


def test_your_own_semiring_and_what_is_refused():
    plus = semiring.Op("sum", python=lambda a, b: a + b, cuda="a + b", ufunc=np.add)
    own = semiring.Semiring("own_lengths", semiring.min_plus.add, plus, zero=INF, one=0, samples=(0, 1, INF))
    assert list(shortest_paths(EDGES, own).k_paths("A", "C", 2)) == [["A", "B", "C"], ["A", "C"]]
    twice = semiring.Op("mean", python=lambda a, b: (a + b) / 2, cuda="(a + b) / 2")
    odd = semiring.Semiring("odd", semiring.min_plus.add, twice, zero=INF, one=0, samples=(0,))
    for s in ("plus_times", "log_plus", odd):
        r = shortest_paths([("A", "B", 0.25), ("B", "C", 0.25)], s)
        with pytest.raises(AlgebraError, match=r"k_paths: ⊗? ?.* must"):
            r.k_paths("A", "C")
    product = semiring.min_times
    own = semiring.Semiring(
        "own_factors", product.add, product.mul, zero=INF, one=1, domain=(0, INF), samples=(1, 2, INF)
    )
    with pytest.raises(DomainError, match="factors must be greater than 0"):
        shortest_paths([("A", "B", 0.0), ("B", "C", 2.0)], own).k_paths("A", "C")
    with pytest.raises(DomainError, match="Say dtype='float64'"):
        shortest_paths([("A", "B", 2**61), ("B", "C", 1)], dtype="int64").k_paths("A", "C")
    far = [(k, k + 1, 2**60) for k in range(6)] + [(0, 6, 1)]
    assert list(shortest_paths(far, dtype="float64").k_paths(0, 6)) == [[0, 6], list(range(7))]
    with pytest.raises(DomainError, match=r"at most 2⁶¹ to be compared.*limit="):
        list(shortest_paths(far, dtype="int64").k_paths(0, 6))
    assert list(shortest_paths(far, dtype="int64").k_paths(0, 6, limit=2**60)) == [[0, 6]]
    with pytest.raises(DomainError, match="to be compared"):
        list(shortest_paths(far, dtype="int64").k_paths(0, 6, limit=2**62 + 2**61))
    with pytest.raises(DomainError, match="to be compared"):
        list(shortest_paths(far[:-1], dtype="int64").k_paths(0, 6))
    with pytest.raises(DomainError, match="to be compared"):
        list(shortest_paths(far, dtype="int64").k_paths(0, 6, 3, overlap=0.5))


def test_integers_near_their_ends():
    """Whatever is given is in order and leaves nothing out; what cannot be compared ends in an error."""
    for case in range(60):
        rng = np.random.default_rng(case)
        n, big = int(rng.integers(4, 11)), 2 ** int(rng.integers(58, 61)) - int(rng.integers(9))
        weights = [-big, big, 3 - big, big - 5, 0, 1] if case % 3 else [big, big - 5, 0, 1]
        arcs = {pair: weights[rng.integers(len(weights))] for pair in itertools.combinations(range(n), 2)}
        for name, sign in (("min_plus", 1), ("max_plus", -1)):
            lengths = [(sign * sum(map(arcs.get, itertools.pairwise(p))), p) for p in simple_paths(arcs, 0, n - 1)]
            paths = [path for _, path in sorted(lengths, key=lambda x: (x[0], x[1][::-1]))]
            edges, found = [(i, j, w) for (i, j), w in arcs.items()], []
            try:
                found.extend(shortest_paths(edges, name, dtype="int64").k_paths(0, n - 1))
                assert len(found) == len(paths)
            except DomainError as error:
                assert "2⁶¹" in str(error) or "int64" in str(error)  # noqa: PT017  # it need not be raised
            assert found == paths[: len(found)]


@pytest.mark.parametrize("engine", ["dense", "elimination", "searches"])
def test_negative_edges(engine):
    rng, n = np.random.default_rng(2), 7
    for _ in range(6):
        height = rng.integers(0, 9, n)
        arcs = {
            (i, j): int(rng.integers(0, 5) + height[j] - height[i])
            for i, j in itertools.permutations(range(n), 2)
            if rng.random() < 0.5
        }
        r = shortest_paths(Graph.from_edges([(i, j, w) for (i, j), w in arcs.items()], labels=range(n)), engine=engine)
        for v in range(1, n):
            if r.distance(0, v) < INF:
                paths = sorted(
                    simple_paths(arcs, 0, v), key=lambda p: (sum(map(arcs.get, itertools.pairwise(p))), p[::-1])
                )
                assert list(r.k_paths(0, v)) == paths


@pytest.mark.parametrize(("engine", "dtype"), [("elimination", "float64"), ("dense", "float32")])
def test_a_distance_is_a_limit_that_its_paths_keep(engine, dtype):
    """However differently from the path's own sum it was rounded; a limit below it is not kept."""
    g, rng = road_like(300, seed=1), np.random.default_rng(0)
    roads = zip(g.rows.tolist(), g.cols.tolist(), rng.random(len(g.rows)).tolist(), strict=True)
    r = shortest_paths(list(roads), directed=False, engine=engine, dtype=dtype)
    for u, v in rng.choice(r.labels, (60, 2)).tolist():
        d = r.distance(u, v)
        assert list(r.k_paths(u, v, 1, limit=d)) == list(r.k_paths(u, v, 1))
        assert u == v or not list(r.k_paths(u, v, 1, limit=d * (1 - 1e-4)))


def test_labels_limits_and_parts_of_results():
    r = shortest_paths(EDGES)
    assert list(r.k_paths("A", "C")) == [["A", "B", "C"], ["A", "C"], ["A", "B", "D", "C"]]
    assert list(r.k_paths("A", "C", limit=12)) == [["A", "B", "C"], ["A", "C"]]
    assert r.k_distances("A", "C", 9).tolist() == [11, 12, 14]
    assert list(r.k_paths("B", "B", 3)) == [["B"]]
    assert list(shortest_paths(EDGES, limit=13).k_paths("A", "C", limit=20)) == [["A", "B", "C"], ["A", "C"]]
    part = shortest_paths(EDGES, sources=["A"], targets=["C"], dtype="float64")
    assert part.k_distances("A", "C", 3, limit=12.0).tolist() == [11.0, 12.0]
    assert [list(paths) for paths in part.k_paths([("A", "C")], 1)] == [[["A", "B", "C"]]]
    assert [list(paths) for paths in part.k_paths([("A", "C")], k=1)] == [[["A", "B", "C"]]]
    for k in (10**12, 10**30):  # no room is made for paths that there are not
        assert [len(paths) for paths in r.k_paths([("A", "C"), ("C", "A")], k)] == [3, 0]
        assert len(r.k_distances("A", "C", k)) == 3
    assert list(shortest_paths(EDGES, directed=False).k_paths("C", "A", 2)) == [["C", "B", "A"], ["C", "A"]]
    both = shortest_paths([*EDGES, ("A", "C", 5), ("A", "C", 30), ("A", "A", 0)])  # the best of parallel edges
    assert both.k_distances("A", "C", 9).tolist() == [5, 11, 14]
    assert list(shortest_paths(EDGES, "max_plus").k_paths("A", "C", limit=12)) == [["A", "B", "D", "C"], ["A", "C"]]


def test_what_is_no_question():
    r = shortest_paths(EDGES)
    for k in (0, -1, 2.5, True, "3"):
        with pytest.raises(ShapeError, match="k must be a positive integer"):
            r.k_paths("A", "C", k)
    with pytest.raises(VertexError):
        r.k_paths("A", "X")
    with pytest.raises(NoPathError, match="k_paths: 'A' must be reachable from 'C'"):
        r.k_paths("C", "A")
    with pytest.raises(ShapeError, match="k_paths: pairs must be"):
        r.k_paths(["A", "BCD"], 2)
    for wrong in ((), (None,)):
        with pytest.raises(ShapeError, match="of pairs, k must be"):
            r.k_paths([("A", "C")], *wrong)
    with pytest.raises(ValueError, match="callback must come with k"):
        r.k_paths("A", "C", callback=print)
    for overlap in (1, -0.1, "half", INF):
        with pytest.raises(ValueError, match="overlap must be a share"):
            r.k_paths("A", "C", 2, overlap=overlap)
    for k in (None, 63):
        with pytest.raises(ShapeError, match="at most 62"):
            r.k_paths("A", "C", k, overlap=0.5)
    with pytest.raises(AlgebraError, match="overlap must be a share of a sum"):
        shortest_paths(EDGES, "max_min").k_paths("A", "C", 2, overlap=0.5)
    with pytest.raises(DomainError, match="no edge may make a path better"):
        shortest_paths([*EDGES, ("C", "E", -1)]).k_paths("A", "C", 2, overlap=0.5)
    with pytest.raises(NegativeCycleError):
        shortest_paths([("A", "B", 1.0), ("B", "A", -2.0)], on_negative_cycle="-inf").k_paths("A", "B")


def test_a_cycle_that_costs_nothing():
    """All best walks have no end, and are refused; simple paths do."""
    r = shortest_paths([("A", "B", 2), ("B", "C", 0), ("C", "B", 0), ("C", "D", 1), ("B", "D", 1)])
    with pytest.raises(DivergenceError, match="costs nothing"):
        r.all_paths("A", "D")
    assert list(r.k_paths("A", "D")) == [["A", "B", "D"], ["A", "B", "C", "D"]]


def test_best_paths_are_the_first():
    r = shortest_paths(road_like(40, seed=3))
    for v in range(1, 40):
        best = list(r.all_paths(0, v))
        assert list(r.k_paths(0, v, len(best))) == best


def test_pairs_engines_threads_and_pauses(monkeypatch):
    g = road_like(300, seed=1)
    pairs = np.random.default_rng(0).integers(0, 300, (40, 2))
    expected = None
    for engine in ("dense", "elimination", "searches", "scipy"):
        for threads, call in ((1, kernels.CALL), (3, 7)):
            monkeypatch.setattr(kernels, "CALL", call)
            r, heard = shortest_paths(g, engine=engine, threads=threads), []
            found = [list(paths) for paths in r.k_paths(pairs, 6, callback=lambda *x, heard=heard: heard.append(x))]
            expected = found if expected is None else expected
            assert found == expected
            assert heard[-1] == (40, 40)
            assert heard == sorted(heard)
    u, v = pairs[0].tolist()
    assert list(r.k_paths(u, v, 6)) == expected[0]
    assert r.k_paths(np.empty((0, 2), int), 3) == []
    told = []
    assert len(r.k_distances(u, v, 20, callback=lambda *x: told.append(x))) == 20
    assert told[-1] == (20, 20)


def test_alternatives_share_at_most_a_part():
    for directed in (True, False):
        g = road_like(400, seed=2)
        g = Graph.from_arrays(g.rows, g.cols, g.weights, n=400, directed=directed)
        r = shortest_paths(g)
        least = {}
        for a, b, w in zip(g.rows.tolist(), g.cols.tolist(), g.weights.tolist(), strict=True):
            for arc in ((a, b),) if directed else ((a, b), (b, a)):
                least[arc] = min(w, least.get(arc, w))
        for u, v in np.random.default_rng(1).integers(0, 400, (8, 2)).tolist():
            if r.distance(u, v) == INF or u == v:
                continue
            paths = list(r.k_paths(u, v, 4, overlap=0.5))
            assert paths[0] == next(r.k_paths(u, v, 1))
            assert [sum(map(least.get, itertools.pairwise(p))) for p in paths] == r.k_distances(
                u, v, 4, overlap=0.5
            ).tolist()
            sets = [{*map(tuple if directed else frozenset, itertools.pairwise(p))} for p in paths]
            for (i, early), (j, late) in itertools.combinations(enumerate(sets), 2):
                shared = sum(least[tuple(arc) if len(arc) > 1 else (*arc, *arc)] for arc in early & late)
                assert shared <= 0.5 * sum(least[tuple(arc)] for arc in early) * (1 + 1e-9), (i, j)
                assert len(set(paths[j])) == len(paths[j])
            through = [
                r.distance(u, a) + w + r.distance(b, v)
                for (a, b), w in least.items()
                if (a, b) in {*itertools.pairwise(paths[-1])}
            ]
            assert min(through) <= r.k_distances(u, v, 4, overlap=0.5)[-1]
    r = shortest_paths(EDGES)
    assert list(r.k_paths("A", "C", 5, overlap=0)) == [["A", "B", "C"], ["A", "C"]]
    assert list(r.k_paths("A", "C", 5, overlap=np.float32(0.25))) == [["A", "B", "C"], ["A", "C"]]
    assert list(r.k_paths("A", "C", 5, overlap=0.4)) == [["A", "B", "C"], ["A", "C"], ["A", "B", "D", "C"]]
    assert list(r.k_paths("A", "C", 5, overlap=0.4, limit=12)) == [["A", "B", "C"], ["A", "C"]]
    assert [list(x) for x in r.k_paths([("A", "C"), ("C", "A")], 2, overlap=0)] == [[["A", "B", "C"], ["A", "C"]], []]
    zero = shortest_paths([("A", "B", 0), ("A", "C", 0), ("C", "B", 0)])
    assert list(zero.k_paths("A", "B", 3, overlap=0.5)) == [["A", "B"]]  # of no length, nothing is a part


def test_ctrl_c_is_heard_and_the_search_goes_on():
    r = shortest_paths(nx.grid_2d_graph(30, 30))
    paths = r.k_paths((0, 0), (29, 29))
    assert len(next(paths)) == 59
    for work in (lambda: r.k_distances((0, 0), (29, 29), 10**6), lambda: r.k_paths([((0, 0), (29, 29))] * 9, 10**5)):
        timer = threading.Timer(0.5, _thread.interrupt_main)
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work()
        assert time.monotonic() - began < 30  # a busy machine's second
    assert len(next(paths)) == 59


def test_what_does_not_fit_is_said(monkeypatch):
    def require(needed: int, *, where: str, hint: str) -> None:
        if needed > 1 << 20:
            raise MemoryNeeded(f"{where}: {needed} bytes must fit. {hint}")

    r = shortest_paths(nx.grid_2d_graph(12, 12))
    monkeypatch.setattr(kernels, "require", require)
    assert len(r.k_distances((0, 0), (11, 11), 50)) == 50
    with pytest.raises(MemoryNeeded, match="smaller k=, or limit="):
        r.k_distances((0, 0), (11, 11), 10**6)


def test_yen_is_scipys():
    rng = np.random.default_rng(1)
    for case in range(60):
        n = int(rng.integers(2, 8))
        A = rng.integers(-1 if case % 3 == 0 else 0, 5, (n, n)) * (rng.random((n, n)) < 0.6)
        np.fill_diagonal(A, 0)
        A[0, 1] = 2
        s, t, k = *rng.integers(0, n, 2).tolist(), int(rng.integers(1, 9))
        options = {"directed": bool(case % 2), "unweighted": case % 5 == 0}
        try:
            expected = scipys.yen(A, s, t, k, **options)
        except scipys.NegativeCycleError:
            with pytest.raises(scipys.NegativeCycleError) as caught:
                csgraph.yen(A, s, t, k, **options)
            assert isinstance(caught.value, NegativeCycleError)
            continue
        D, P = csgraph.yen(A, s, t, k, return_predecessors=True, **options)
        np.testing.assert_array_equal(D, expected)
        assert (P.shape, P.dtype) == ((len(D), n), np.int32)
        for row in P:
            path = [t]
            while path[-1] != s:
                path.append(int(row[path[-1]]))
            assert len(path) == len(set(path)) == (row >= 0).sum() + 1
    assert csgraph.yen(A, 0, 1, 0).tolist() == csgraph.yen(A, 0, 0, 0).tolist() == []
    for wrong in ((0, n, 1), (-1, 0, 1), (0, 1, -1)):
        with pytest.raises(ValueError, match="yen: "):
            csgraph.yen(A, *wrong)
    with pytest.raises(TypeError):
        csgraph.yen(A, 0.5, 1, 1)


def test_vertices_of_many_edges():
    """Where an edge in a hundred matters, others wait."""
    rng = np.random.default_rng(4)
    for high in (4, 10**6):
        A = rng.integers(1, high, (100, 100)).astype(float)
        r = shortest_paths(A)
        for s, t in rng.integers(0, 100, (6, 2)).tolist():
            if s != t:
                np.testing.assert_array_equal(r.k_distances(s, t, 60), scipys.yen(A, s, t, 60))
                assert len({tuple(path) for path in r.k_paths(s, t, 60)}) == 60


def test_networkx_calls_it():
    nx.config.warnings_to_ignore.add("cache")
    rng = np.random.default_rng(3)
    for case in range(20):
        G: Any = nx.gnp_random_graph(7, 0.4, seed=case, directed=bool(case % 2))
        for u, v in G.edges:
            G[u][v]["weight"] = int(rng.integers(0, 4)) if case % 4 else 0.1 * int(rng.integers(1, 4))
        G = nx.relabel_nodes(G, dict(enumerate("ABCDEFG")))
        for weight in ("weight", None, lambda u, v, data: data["weight"] + 1):
            try:
                expected = list(nx.shortest_simple_paths(G, "A", "G", weight))
            except nx.NetworkXNoPath as error:
                with pytest.raises(nx.NetworkXNoPath, match=str(error)):
                    list(nx.shortest_simple_paths(G, "A", "G", weight, backend="apsp"))
                continue
            found = list(nx.shortest_simple_paths(G, "A", "G", weight, backend="apsp"))
            assert sorted(found) == sorted(expected)
            if isinstance(weight, str):
                lengths = ([nx.path_weight(G, path, weight) for path in paths] for paths in (found, expected))
                np.testing.assert_allclose(*lengths)
    assert list(nx.shortest_simple_paths(G, "A", "A", backend="apsp")) == [["A"]]
    with pytest.raises(nx.NodeNotFound):
        list(nx.shortest_simple_paths(G, "A", "X", backend="apsp"))
    with pytest.raises(nx.NetworkXNotImplemented):
        nx.shortest_simple_paths(nx.MultiGraph(G), "A", "B", backend="apsp")


def test_hub_labels_and_matrices():
    """A row of distances is all that an engine is asked for."""
    r = shortest_paths(EDGES, engine="elimination").hub_labels()
    assert r.k_distances("A", "C", 9).tolist() == [11, 12, 14]
    assert shortest_paths(np.array([[0.0, 4, 9], [INF, 0, 4], [1, INF, 0]])).k_distances(0, 2, 5).tolist() == [8, 9]


def test_lengths_are_told_by_their_own_name():
    turned = shortest_paths(EDGES, turns=[("A", "B", "C")])
    beyond = shortest_paths([("A", "B", 2**61), ("B", "C", 1)], dtype="int64")
    for r, kind in ((turned, ValueError), (beyond, DomainError), (shortest_paths(EDGES, "plus_times"), AlgebraError)):
        with pytest.raises(kind, match=r"^k_distances: "):
            r.k_distances("A", "C", 2)


@pytest.mark.parametrize(("name", "dtype"), [("max_min", "int32"), ("max_min", "int64"), ("min_max", "int64")])
def test_the_length_of_no_edge_is_infinite_where_distances_are(name, dtype):
    r = shortest_paths([("A", "B", 4), ("B", "C", 7)], name, dtype=dtype)
    for u, v in (("A", "A"), ("A", "C")):
        assert r.k_distances(u, v, 1).tolist() == [r.distance(u, v)]
    assert r.k_distances("A", "C", 1).dtype == np.int64


@pytest.mark.parametrize("kind", [int, float])
def test_no_path_is_within_a_limit_that_excludes_the_empty_one(kind):
    r = shortest_paths([("A", "B", kind(4)), ("B", "A", kind(7))], limit=-1)
    assert r.distance("A", "A") == math.inf
    for ask in (r.path, r.edges, r.all_paths, r.k_paths, lambda u, v: r.k_distances(u, v, 1)):
        with pytest.raises(NoPathError, match=r"'A' must be reachable from 'A', .* within the limit of -1"):
            ask("A", "A")
    assert list(r.paths([("A", "A")])) == [[]] == [list(p) for p in r.k_paths([("A", "A")], 1)]
    assert shortest_paths([("A", "B", kind(4))], limit=0).path("A", "A") == ["A"]
