"""What a `Result` tells of routes, whatever engine stands behind it."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import apsp
from apsp import Graph, negative_cycle, shortest_paths
from semiring.host.errors import AlgebraError, DomainError, NoPathError, ShapeError, VertexError

NONE = -9999
ENGINES = ("dense", "elimination")


def edges(n: int = 40, seed: int = 0, whole: bool = False) -> list[tuple[str, str, float]]:
    """A sparse graph with names, zero weights, duplicates and loops."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 5, 3 * n) if whole else rng.random(3 * n) * (rng.random(3 * n) < 0.8)
    return [
        (f"v{a}", f"v{b}", w)
        for a, b, w in zip(rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), weights.tolist(), strict=True)
    ]


class TestTables:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_predecessors_and_next_hops_lead_along_best_paths(self, engine):
        r = shortest_paths(edges(), engine=engine)
        n, names = r.graph.n, list(r.labels)
        best: dict = {}
        for u, v, w in edges():
            best[u, v] = min(w, best.get((u, v), np.inf))
        for i, j in itertools.product(range(n), range(n)):
            if i == j or r.distance(names[i], names[j]) == np.inf:
                assert r.predecessors[i, j] == r.next_hops[i, j] == NONE
                continue
            back, forth = [j], [i]
            while back[-1] != i and len(back) <= n:
                back.append(int(r.predecessors[i, back[-1]]))
            while forth[-1] != j and len(forth) <= n:  # by the table of whoever stands there
                forth.append(int(r.next_hops[forth[-1], j]))
            for path in (back[::-1], forth):
                assert len(set(path)) == len(path)
                length = sum(best[names[a], names[b]] for a, b in itertools.pairwise(path))
                assert length == pytest.approx(r.distance(names[i], names[j]), abs=1e-12)
            assert r.hops[i, j] == len(back) - 1

    def test_engines_agree_to_the_bit_where_sums_are_exact(self):
        a, b = (shortest_paths(edges(whole=True), engine=engine) for engine in ENGINES)
        for name in ("predecessors", "next_hops", "hops"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))

    @pytest.mark.parametrize("engine", [*ENGINES, "scipy"])
    def test_rows_end_at_the_limit_as_the_table_does(self, engine):
        r = shortest_paths(edges(whole=True), engine=engine, limit=4)
        np.testing.assert_array_equal(np.concatenate([P for _, P in r.predecessor_rows(block=7)]), r.predecessors)
        assert (r.predecessors == NONE).sum() > r.graph.n
        with pytest.raises(ShapeError, match="predecessor_rows: block must be a positive integer, got -1"):
            r.predecessor_rows(block=-1)
        with pytest.raises(TypeError, match="predecessor_rows: vertices must be a list"):
            r.predecessor_rows("v1")

    def test_they_are_kept_and_found_at_once_where_asked_for(self):
        r = shortest_paths(edges(), paths=True)
        assert r.predecessors is r.predecessors
        again = pickle.loads(pickle.dumps(r))
        np.testing.assert_array_equal(again.predecessors, r.predecessors)

    def test_rows_are_streamed(self):
        r = shortest_paths(edges(), engine="elimination")
        wanted = ["v3", "v7", "v3", "v1"]
        parts = list(r.predecessor_rows(wanted, block=3))
        assert [len(positions) for positions, _ in parts] == [3, 1]
        for positions, P in parts:
            np.testing.assert_array_equal(P, r.predecessors[positions])
        assert sum(len(P) for _, P in r.predecessor_rows()) == r.graph.n


class TestPaths:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_of_all_pairs(self, engine):
        r = shortest_paths(edges(), engine=engine)
        found = r.paths()
        assert len(found) == r.graph.n**2
        pairs = list(itertools.product(r.labels, r.labels))
        for (u, v), path in zip(pairs, found, strict=True):
            if path:
                assert (path[0], path[-1]) == (u, v)
            else:
                assert r.distance(u, v) == np.inf
        assert found[5] == list(found)[5]
        assert found[:3] == list(found)[:3]
        np.testing.assert_array_equal(found.hops, r.hops.ravel())

    @pytest.mark.parametrize("engine", ENGINES)
    def test_through_all_vertices(self, engine):
        r = shortest_paths(Graph.from_arrays(np.arange(8), np.arange(1, 9)), engine=engine)
        assert list(r.paths([(0, 8), (1, 8)])) == [list(range(9)), list(range(1, 9))]
        assert list(r.paths())[8] == list(range(9))

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("count", [0, 1, 3, 200])
    def test_of_some(self, engine, count):
        r = shortest_paths(edges(), engine=engine)
        rng = np.random.default_rng(1)
        pairs = [(r.labels[a], r.labels[b]) for a, b in rng.integers(0, r.graph.n, (count, 2))]
        expected = {pair: path for pair, path in zip(itertools.product(r.labels, r.labels), r.paths(), strict=True)}
        some = shortest_paths(edges(), engine=engine).paths(pairs)
        assert list(some) == [expected[pair] for pair in pairs]
        for (u, v), path in zip(pairs, some, strict=True):
            if path:
                assert len(path) >= len(r.path(u, v))  # which has the fewest edges of all

    def test_of_numbers(self):
        rng = np.random.default_rng(0)
        A = np.where(rng.random((50, 50)) < 0.1, rng.integers(1, 9, (50, 50)), np.inf)
        r = shortest_paths(A)
        pairs = rng.integers(0, 50, (300, 2))
        for (u, v), path in zip(pairs.tolist(), r.paths(pairs), strict=True):
            assert path == ([] if r.distance(u, v) == np.inf else path)
            assert sum(A[a, b] for a, b in itertools.pairwise(path)) == (r.distance(u, v) if path else 0)
        shifted = shortest_paths([(7, 8, 1), (8, 9, 1)])
        assert list(shifted.paths([(7, 9), (9, 9)])) == [[7, 8, 9], [9]]

    def test_what_is_no_pair_is_refused(self):
        r = shortest_paths([("A", "B", 4)])
        with pytest.raises(VertexError):
            r.paths([("A", "Z")])
        with pytest.raises(ShapeError, match="each"):
            r.paths([("A", "B", "A")])
        with pytest.raises(ShapeError, match="shape"):
            r.paths(np.zeros((2, 3)))


class TestVerify:
    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("whole", [False, True])
    def test_what_is_right_is_said_to_be(self, engine, whole):
        r = shortest_paths(edges(whole=whole), engine=engine)
        told = r.verify("all", paths=True)
        assert told
        assert "all 40 rows" in str(told)
        assert ("exactly" in str(told)) is whole
        assert "5 of 40 rows" in str(r.verify(5))

    @pytest.mark.parametrize("matrix", [False, True])
    @pytest.mark.parametrize("change", [1, -1])
    def test_a_wrong_entry_is_found_and_named(self, matrix, change):
        rng = np.random.default_rng(0)
        A = rng.integers(1, 9, (20, 20))
        listed = [(i, j, int(A[i, j])) for i in range(20) for j in range(20)]
        r = shortest_paths(A if matrix else listed)
        assert r.verify()
        r.engine.table()[7, 9] += change
        told = r.verify()
        assert not told
        assert "7" in str(told)
        assert told.pair[0] == 7
        assert told.largest >= 1

    def test_too_short_distances_around_a_cycle_of_zeros_are_found_by_the_walk_alone(self):
        A = np.full((4, 4), np.inf)
        A[0, 1] = A[1, 0] = 0
        A[2, 3], A[3, 0] = 1, 5
        r = shortest_paths(A)
        r.engine.table()[2:, :2] -= 1  # vertices 0 and 1 support each other
        assert r.verify("all")
        told = r.verify("all", paths=True)
        assert not told
        assert "no edge attains" in str(told)

    @pytest.mark.parametrize("semiring", ["boolean", "max_min", "reliability", "plus_times", "log_plus"])
    def test_over_other_semirings(self, semiring):
        rng = np.random.default_rng(0)
        A = rng.random((12, 12)) / 30
        A = A > 0.02 if semiring == "boolean" else np.log(A) if semiring == "log_plus" else A
        A = A.astype("float32") if semiring in ("reliability", "log_plus") else A
        assert shortest_paths(A, semiring).verify("all", paths=semiring not in ("plus_times", "log_plus"))

    @pytest.mark.parametrize("rows", ["some", 1.5, -1])
    def test_rows_are_an_integer_or_all(self, rows):
        with pytest.raises(ValueError, match="'all'"):
            shortest_paths([("A", "B", 4)]).verify(rows)


class TestNegativeCycle:
    @pytest.mark.parametrize("seed", range(10))
    def test_one_is_found_where_networkx_finds_one(self, seed):
        rng = np.random.default_rng(seed)
        g = nx.gnp_random_graph(12, 0.2, seed=seed, directed=True)
        for _, _, data in g.edges(data=True):
            data["weight"] = int(rng.integers(-2, 9))
        found = negative_cycle(g)
        assert (found is not None) is nx.negative_edge_cycle(g)
        if found:
            assert sum(g[a][b]["weight"] for a, b in itertools.pairwise([*found, found[0]])) < 0
            assert len(set(found)) == len(found)

    def test_a_loop_is_one_and_rounding_is_none(self):
        assert negative_cycle([("x", "x", -1)]) == ["x"]
        assert negative_cycle([("a", "b", 0.1), ("b", "c", 0.7), ("c", "a", -0.8)]) is None

    @pytest.mark.parametrize("scale", [1e-6, 0.05, 1, 4])
    def test_logarithms_of_consistent_rates_have_none(self, scale):
        """A matrix and a list, of two currencies and of many; a true gain beside them is found."""
        rng = np.random.default_rng(1)
        for _ in range(300):
            worth = np.exp(rng.normal(0, scale, 2))
            ab, ba = -math.log(worth[0] / worth[1]), -math.log(worth[1] / worth[0])
            assert negative_cycle([("a", "b", ab), ("b", "a", ba)]) is None
        worth = np.exp(rng.normal(0, scale, 30))
        L = -np.log(worth[:, None] / worth)
        for gain, tolerance, found in ((0, None, False), (1e-9, None, True), (1e-9, 1e-8, False), (1e-9, 1e-10, True)):
            A = L.copy()
            A[1, 2] -= gain
            for graph in (A, [(i, j, A[i, j]) for i, j in np.ndindex(A.shape)]):
                options = {"null_value": None} if graph is A else {}
                cycle = negative_cycle(graph, tolerance=tolerance, **options)
                assert (cycle is not None) is found
                assert not cycle or (1, 2) in itertools.pairwise([*cycle, cycle[0]])
        assert negative_cycle(L, tolerance=0, null_value=None)

    def test_a_tolerance_is_a_length(self):
        edges = [("a", "b", 3), ("b", "a", -4), ("b", "c", 1)]
        assert negative_cycle(edges) == negative_cycle(edges, tolerance=0.5) == ["a", "b"]
        assert negative_cycle(edges, tolerance=1) is None
        assert negative_cycle([("a", "b", 2.0), ("b", "a", 0.6)], "max_times", tolerance=math.log(1.3)) is None
        assert negative_cycle([("a", "b", 2.0), ("b", "a", 0.6)], "max_times", tolerance=0.1) == ["a", "b"]
        assert negative_cycle([("a", "b", 1e-20), ("b", "a", -2e-20)]) == ["a", "b"]
        assert negative_cycle([("a", "b", 1e6), ("b", "a", -1e6 - 2**-20)]) == ["a", "b"]
        for wrong in (-1, math.nan, math.inf, "1"):
            with pytest.raises(ValueError, match=r"tolerance must be a number of at least 0, got .*Leave it out"):
                negative_cycle(edges, tolerance=wrong)

    def test_other_lengths(self):
        assert negative_cycle([("a", "b", 2.0), ("b", "a", 1.0)], "viterbi") == ["a", "b"]
        with pytest.raises(AlgebraError):
            negative_cycle([("a", "b", 1)], "max_min")


class TestMeasures:
    NAMES = ("diameter", "radius", "center", "periphery", "eccentricity")

    def test_reciprocals_of_negative_distances_are_refused(self):
        edges, D = [("a", "b", -2), ("b", "c", 3)], np.array([[0, -2.0], [np.inf, 0]])
        for engine in ("dense", "elimination"):
            r = shortest_paths(edges, engine=engine)
            for ask in (
                r.global_efficiency,
                lambda r=r: r.reduce("harmonic"),
                lambda: apsp.answers.measures.global_efficiency(D),
            ):
                with pytest.raises(DomainError, match=r"of at least 0, got -2\. Leave negative weights out"):
                    ask()
            assert r.reduce("total").tolist() == [-1, 3, 0]
        assert shortest_paths([("a", "b", 5)], "max_plus").reduce("harmonic").tolist() == [0, 0.2]

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("directed", [False, True])
    def test_they_are_networkx_s(self, engine, directed):
        g = nx.gnp_random_graph(30, 0.2, seed=1, directed=directed)
        for u, v in g.edges:
            g[u][v]["weight"] = (u * 7 + v * 3) % 11 + 1
        assert nx.is_strongly_connected(g) if directed else nx.is_connected(g)
        r = shortest_paths(g, engine=engine)
        for name in self.NAMES:
            assert getattr(r, name)() == getattr(nx, name)(g, weight="weight")
        assert r.closeness() == pytest.approx(nx.closeness_centrality(g, distance="weight"))
        assert r.average_path_length() == pytest.approx(nx.average_shortest_path_length(g, weight="weight"))
        plain = g.to_undirected() if directed else g
        for u, v in plain.edges:
            plain[u][v]["weight"] = 1
        assert shortest_paths(plain, engine=engine).global_efficiency() == pytest.approx(nx.global_efficiency(plain))

    @pytest.mark.parametrize("wf_improved", [False, True])
    @pytest.mark.parametrize("seed", range(3))
    def test_closeness_and_efficiency_of_what_is_not_connected(self, seed, wf_improved):
        g = nx.gnp_random_graph(25, 0.05, seed=seed, directed=True)
        r = shortest_paths(g)
        theirs = nx.closeness_centrality(g, wf_improved=wf_improved)
        assert r.closeness(wf_improved=wf_improved) == pytest.approx(theirs)
        u = g.to_undirected()
        assert shortest_paths(u).global_efficiency() == pytest.approx(nx.global_efficiency(u))

    @pytest.mark.parametrize("engine", ["dense", "elimination"])
    def test_means_of_numbers_near_the_ends_of_floats(self, engine):
        """Reciprocals of denormals, and sums of huge distances, are beyond float64; their means are not."""
        tiny, huge = Fraction(5e-309), Fraction(1.5e308)
        r = shortest_paths([("a", "b", 5e-309), ("b", "a", 2.0)], engine=engine)
        assert r.global_efficiency() == float((1 / tiny + Fraction(1, 2)) / 2)
        r = shortest_paths([("a", "b", 5e-324), ("b", "a", 1.0)], engine=engine)
        assert r.global_efficiency() == math.inf  # 10³²³
        r = shortest_paths([("a", "b", 1.5e308), ("b", "a", 1.5e308)], engine=engine)
        assert (r.average_path_length(), r.global_efficiency()) == (1.5e308, float(1 / huge))
        r = shortest_paths([("a", "b", 1e-42), ("b", "a", 1e-42)], dtype="float32", engine=engine)
        assert r.global_efficiency() == pytest.approx(1 / float(np.float32(1e-42)))
        g = nx.DiGraph()
        g.add_weighted_edges_from([("a", "b", 5e-324), ("b", "a", 1.5e308), ("c", "a", 1.5e308)])
        theirs, r = nx.closeness_centrality(g, distance="weight"), shortest_paths(g, engine=engine)
        assert r.closeness() == theirs == dict(zip("abc", r.reduce("closeness").tolist(), strict=True))
        theirs = nx.harmonic_centrality(g, distance="weight")
        assert dict(zip("abc", r.reduce("harmonic").tolist(), strict=True)) == theirs

    def test_others_raise_where_networkx_does_and_name_the_pair(self):
        g = nx.Graph([("a", "b"), ("c", "d")])
        r = shortest_paths(g)
        for name in (*self.NAMES, "average_path_length"):
            with pytest.raises(NoPathError, match=r"no path from 'a' to 'c'"):
                getattr(r, name)()
        with pytest.raises(nx.NetworkXError):
            nx.diameter(g)
        with pytest.raises(NoPathError, match="without any"):
            shortest_paths(np.empty((0, 0))).diameter()
        ring = np.arange(149)  # all of which reach the last vertex, which reaches none
        far = Graph.from_arrays([*ring, 5], [*np.roll(ring, -1), 149], np.full(150, 2.0))
        with pytest.raises(NoPathError, match="no path from 149 to 0"):
            shortest_paths(far, engine="elimination").diameter()

    def test_rows_and_columns_in_another_order_keep_their_names(self):
        g = nx.DiGraph()
        g.add_weighted_edges_from([("a", "b", 1), ("b", "c", 5), ("c", "a", 2)])
        r = shortest_paths(g, sources=["c", "a", "b"], targets=["b", "c", "a"])
        for name in self.NAMES:
            theirs = getattr(nx, name)(g, weight="weight")
            assert getattr(r, name)() == theirs
        assert r.closeness() == pytest.approx(nx.closeness_centrality(g, distance="weight"))
        g.remove_edge("c", "a")
        with pytest.raises(NoPathError, match="from 'c' to 'b'"):
            shortest_paths(g, sources=["c", "a", "b"], targets=["b", "c", "a"]).diameter()

    @pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
    def test_functions_of_distances_in_every_dtype(self, dtype):
        infinity = np.iinfo(dtype).max if dtype.startswith("int") else np.inf
        D = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype)
        m = apsp.answers.measures
        assert m.eccentricity(D).tolist() == [3, 2, 3]
        assert m.eccentricity(D).dtype == dtype
        assert (m.diameter(D), m.radius(D)) == (3, 2)
        assert (m.center(D).tolist(), m.periphery(D).tolist()) == ([1], [0, 2])
        assert m.average_path_length(D) == 2
        assert m.global_efficiency(D) == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
        D[0, 2] = infinity
        with pytest.raises(NoPathError):
            m.diameter(D)
        assert m.closeness(D).tolist() == pytest.approx([0.5, 2 / 3, 0.25])

    def test_of_one_vertex_and_of_what_has_no_lengths(self):
        one = np.zeros((1, 1))
        m = apsp.answers.measures
        assert (m.diameter(one), m.average_path_length(one), m.global_efficiency(one)) == (0, 0, 0)
        assert m.closeness(one).tolist() == [0]
        with pytest.raises(AlgebraError, match="must add"):
            shortest_paths([("a", "b", 1)], "max_min").diameter()
        with pytest.raises(ShapeError):
            m.diameter(np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_paths_of_a_matrix_read_the_edges_that_are_distances(dtype):
    """Predecessors of few sources are rows of the table of all; weights along a path sum to its distance."""
    n, rng = 90, np.random.default_rng(3)
    A = (rng.random((n, n)) if dtype == "float32" else rng.integers(0, 30, (n, n))).astype(dtype)
    A[rng.random((n, n)) < 0.3] = np.inf if dtype == "float32" else np.iinfo(dtype).max
    r, pairs = shortest_paths(A), [(4, 7), (4, 80), (61, 2)]
    for (u, v), path in zip(pairs, r.paths(pairs), strict=True):
        assert (path[0], path[-1]) == (u, v)
        assert sum(A[path[:-1], path[1:]].tolist()) == pytest.approx(r.distance(u, v), rel=1e-5)
    rows = np.concatenate([P for _, P in r.predecessor_rows([4, 61])])
    assert len(r._trees.edges(essential=True)[1]) < n * n // 4
    np.testing.assert_array_equal(rows, r.predecessors[[4, 61]])


def test_truth_values_tie_exactly_whatever_the_tolerance(tmp_path):
    A = np.zeros((3, 3), bool)
    A[1, 0] = A[0, 2] = True
    r = shortest_paths(Graph.from_matrix(A), "lor_land").tied(0.5)
    r.save(tmp_path / "reach.tiles")
    for found in (r, apsp.Result.load(tmp_path / "reach.tiles")):
        assert found.ties_within == 0.5
        assert found.predecessors.tolist() == [[-9999, -9999, 0], [1, -9999, 0], [-9999] * 3]
        assert list(found.paths([(1, 2), (2, 1)])) == [[1, 0, 2], []]
