"""`as_graph` on every kind of input: the matrix it stands for, against an uncompiled loop, SciPy or NetworkX."""

from __future__ import annotations

import pickle
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import people
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import bellman_ford

from apsp import closure, shortest_paths, transitive_closure
from apsp.io.graph import Graph, compressed
from apsp.io.graph.entries import present
from apsp.io.inputs import as_graph
from apsp.io.labels import Labels, number_ends, number_pairs
from semiring import Op
from semiring.algebra import catalog
from semiring.host.errors import DomainError, DTypeError, FormatError, ShapeError, VertexError

INF = np.inf
SIZES = (0, 1, 2, 3, 7, 13, 31)


def oracle(n, edges, semiring="min_plus"):
    """⊕ over all edges from i to j, in plain Python."""
    s = catalog.get(semiring)
    A = [[s.zero] * n for _ in range(n)]
    for u, v, w in edges:
        A[u][v] = s.add.python(A[u][v], w)
    return np.array(A, dtype=float).reshape(n, n)


def random_edges(n, m, seed=0, low=-3, high=9):
    rng = np.random.default_rng(seed)
    return [] if n == 0 else [(*map(int, rng.integers(0, n, 2)), int(rng.integers(low, high))) for _ in range(m)]


class TestMatrices:
    @pytest.mark.parametrize("n", SIZES)
    def test_any_strides_order_and_writability(self, n):
        A = np.random.default_rng(n).random((n, n))
        big = np.zeros((2 * n + 1, 3 * n + 2))
        big[1::2, 2::3] = A
        frozen = A.copy()
        frozen.setflags(write=False)
        for variant in (A, np.asfortranarray(A), big[1::2, 2::3], frozen, A.astype(">f8"), A[::-1, ::-1][::-1, ::-1]):
            graph = as_graph(variant)
            assert graph.n == n
            assert graph.labels == range(n)
            np.testing.assert_array_equal(graph.matrix("min_plus"), A)

    def test_the_array_itself_is_kept(self):
        A = np.random.default_rng(0).random((4, 4)).astype(np.float32)
        assert as_graph(A).matrix("min_plus") is A

    def test_list_of_lists(self):
        np.testing.assert_array_equal(as_graph([[0, 1.5], [INF, 0]]).matrix(), [[0, 1.5], [INF, 0]])
        assert as_graph([]).n == 0

    @pytest.mark.parametrize("empty", [[], (), {}, set()])
    def test_no_edges_have_no_directions(self, empty):
        graph = as_graph(empty, directed=False)
        assert (graph.n, graph.directed) == (0, False)

    def test_dlpack(self):
        A = np.arange(9.0).reshape(3, 3)
        np.testing.assert_array_equal(as_graph(people.Exported(A)).matrix(), A)

    def test_boolean_reading_of_lengths(self):
        A = np.array([[0, 3.5, INF], [INF, INF, 0], [-2, INF, INF]])
        expected = [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
        np.testing.assert_array_equal(as_graph(A).matrix("boolean"), np.array(expected, bool))
        ints = np.where(np.isinf(A), np.iinfo(np.int32).max, A).astype(np.int32)
        np.testing.assert_array_equal(as_graph(ints).matrix("boolean"), np.array(expected, bool))
        np.testing.assert_array_equal(Graph.from_matrix(np.array(expected)).matrix("boolean"), np.array(expected, bool))
        with pytest.raises(DTypeError):
            as_graph([[0, 2], [0, 3]]).matrix("boolean")
        assert as_graph([[0, 2], [3, 0]]).matrix("boolean").tolist() == [[False, True], [True, False]]
        assert as_graph([[0, 2], [3, INF]]).matrix("boolean").tolist() == [[True, True], [True, False]]
        with pytest.raises(DomainError, match=r"NaN at \(1, 0\)"):
            as_graph(np.array([[0, INF], [np.nan, 0]])).matrix("boolean")

    def test_edges_of_a_large_matrix(self):
        """Which is looked at in parts."""
        rng = np.random.default_rng(0)
        A = np.where(rng.random((700, 700)) < 0.01, rng.random((700, 700)), INF)
        tails, heads, weights = Graph.from_matrix(A).edges("min_plus")
        i, j = np.nonzero(A < INF)
        np.testing.assert_array_equal((tails, heads), (i, j))
        np.testing.assert_array_equal(weights, A[i, j])

    def test_the_ends_of_integers_are_no_edges(self):
        for dtype in ("int16", "int32", "int64"):
            info = np.iinfo(dtype)
            there = present(np.array([info.min, info.min + 1, 0, info.max - 1, info.max], dtype))
            assert there.tolist() == [False, True, True, True, False]
        assert present(np.array([0, 255], np.uint8)).all()

    def test_edges_of_a_matrix(self):
        A = np.array([[INF, 0.0], [2.5, INF]])
        rows, cols, weights = as_graph(A).edges()
        assert (rows.tolist(), cols.tolist(), weights.tolist()) == ([0, 1], [1, 0], [0.0, 2.5])
        assert as_graph(A).edge_count == 2
        assert as_graph(A < INF).edge_count == 2

    @pytest.mark.parametrize(
        ("source", "error", "words"),
        [
            (np.zeros((2, 3)), ShapeError, "square"),
            (np.zeros((5, 2), int), ShapeError, r"Graph\.from_edges"),
            (np.zeros(4), ShapeError, "square"),
            (np.zeros((2, 2, 2)), ShapeError, "square"),
            ([[0, 1], [2]], ShapeError, "equally long"),
            ([[0, [1]], [2, 3]], ShapeError, "equally long"),
            ([[0, 2**1100], [0.5, 0]], DTypeError, r"1101 bits at \(0, 1\)"),
            ([[0, 2**64 + 1], [1, 0]], DTypeError, r"18446744073709551617 at \(0, 1\)"),
            ([[0, 2**53 + 1], [0.5, 0]], DTypeError, r"9007199254740993 at \(0, 1\)"),
            ([[-1, 2**63 + 1], [1, 0]], DTypeError, r"at \(0, 1\)"),
            (np.zeros((2, 2), complex), DTypeError, "real"),
            (np.array([["a", "b"], ["c", "d"]]), DTypeError, "real"),
            ([["a", "b"], ["c", "d"]], DTypeError, "real"),
            (np.ma.masked_equal(np.eye(2), 0), DTypeError, "masked"),
            (None, (DTypeError, ShapeError), "as_graph"),
            (3, (DTypeError, ShapeError), "as_graph"),
            ({"a": 1}, DTypeError, "dict"),
            (object(), DTypeError, "a NetworkX graph; an igraph Graph"),
        ],
    )
    def test_what_is_no_graph(self, source, error, words):
        with pytest.raises(error, match=words):
            as_graph(source)


class TestEdges:
    @pytest.mark.parametrize("n", SIZES)
    @pytest.mark.parametrize("semiring", ["min_plus", "max_plus", "max_min", "min_max", "plus_times", "min_times"])
    def test_duplicates_meet_by_plus(self, n, semiring):
        low = 0 if semiring == "min_times" else -3
        edges = random_edges(n, 4 * n, seed=n, low=low)
        rows, cols, weights = (np.array(x) for x in zip(*edges, strict=True)) if edges else ([], [], [])
        A = Graph.from_arrays(rows, cols, weights, n=n).matrix(semiring, "float64")
        np.testing.assert_array_equal(A, oracle(n, edges, semiring))

    def test_duplicates_of_an_operation_without_ufunc(self):
        A = Graph.from_edges([(0, 1, 0.0), (0, 1, 0.0), (1, 0, -2.0)]).matrix("log_plus")
        assert A[0, 1] == pytest.approx(np.log(2))
        assert A[1, 0] == -2.0
        lesser = Op("lesser", python=lambda a, b: a if a < b else b, cuda="min(a, b)", selects="least")
        s = replace(catalog.get("min_plus"), name="own", aliases=(), add=lesser, variants=())
        A = Graph.from_edges([(0, 1, 5.0), (1, 0, 3.0), (0, 1, 2.0), (0, 1, 7.0)]).matrix(s)
        assert A.tolist() == [[INF, 2], [3, INF]]

    @pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="long double is float64 here")
    def test_weights_beyond_float64_are_no_missing_edges(self):
        weights = np.array(["1", "1e4000"], np.longdouble)
        with pytest.raises(DTypeError, match=r"numbers that float64 holds, got 1e\+4000 on edge 1"):
            Graph.from_arrays([0, 1], [1, 0], weights)
        weights[1] = np.inf
        assert Graph.from_arrays([0, 1], [1, 0], weights).weights.tolist() == [1, np.inf]

    def test_graphs_of_equal_edges_are_equal(self):
        edges = [("A", "B", 4), ("B", "C", 7), ("C", "C", 1), ("A", "B", 4)]
        g = as_graph(edges)
        assert g == as_graph(edges[::-1], name="other")  # vertices in another order
        assert hash(g) == hash(as_graph(edges[::-1]))
        assert g == as_graph([(u, v, float(w)) for u, v, w in edges])
        for others in (edges[:3], [*edges[:3], ("A", "B", 5)], [*edges, ("D", "D", 0)], [("X", "B", 4), *edges[1:]]):
            assert g != as_graph(others)
        A = np.array([[np.inf, 4], [4, 2]])
        matrix = Graph.from_matrix(A, labels="AB")
        assert matrix == as_graph([("B", "B", 2), ("A", "B", 4)], directed=False)
        assert matrix == Graph.from_matrix(A[::-1, ::-1], labels="BA") != Graph.from_matrix(A, labels="BA")
        assert as_graph([("A", "B")]) == as_graph([("A", "B", 1)]) != "AB"

    def test_undirected_edges_lead_both_ways_and_loops_once(self):
        edges = [(0, 1, 4), (1, 1, 5), (2, 0, 1)]
        graph = as_graph(edges, directed=False)
        both = oracle(3, [(0, 1, 4), (1, 0, 4), (1, 1, 5), (2, 0, 1), (0, 2, 1)])
        np.testing.assert_array_equal(graph.matrix("min_plus", "float64"), both)
        assert graph.matrix("plus_times")[1, 1] == 5
        assert graph.edge_count == 3
        assert len(graph.edges()[0]) == 5

    def test_labels_sort_where_they_compare(self):
        assert as_graph([("b", "c"), ("a", "b")]).labels == ("a", "b", "c")
        assert as_graph([(9, 7), (3, 9)]).labels == (3, 7, 9)
        assert as_graph([(9, "x"), ((1, 2), 9)]).labels == (9, "x", (1, 2))
        assert Graph.from_edges([("b", "a")], labels=["b", "a", "z"]).matrix().shape == (3, 3)

    def test_lists_of_tuples_are_edges_and_lists_of_lists_matrices(self):
        assert as_graph([(0, 1), (1, 0)]).edge_count == 2
        assert as_graph([[0, 1], [1, 0]]).dense is not None
        assert as_graph(zip("ab", "bc", strict=True)).labels == ("a", "b", "c")
        assert as_graph({("a", "b", 2)}).matrix()[0, 1] == 2

    @pytest.mark.parametrize("dtype", ["int64", "int16", "uint8", ">i4"])
    def test_an_array_that_may_be_a_matrix_or_edges_is_refused_as_a_table_is(self, dtype):
        pandas = pytest.importorskip("pandas")
        for rows in ([[0, 1], [1, 0]], [[0, 1, 5], [1, 0, 2], [5, 2, 0]]):
            A = np.array(rows, dtype)
            with pytest.raises(FormatError, match="may be a matrix or edges"):
                as_graph(pandas.DataFrame(A.astype("int64")))
            for source in (A, np.asfortranarray(A)):
                with pytest.raises(ShapeError, match=r"Graph\.from_matrix\(A\).*Graph\.from_edges\(A\)"):
                    as_graph(source)
            assert as_graph(Graph.from_matrix(A)).dense is not None
            assert as_graph(Graph.from_edges(A)).edge_count == len(A)
            # Floats, truth values, infinities and lists of lists are no edges.
            for matrix in (A.astype(float), A.astype(bool), A.tolist(), A.astype(float).tolist()):
                assert as_graph(matrix).dense is not None
        assert as_graph(np.array([[0, 3, 32767], [32767, 0, 4], [1, 32767, 0]], "int16")).dense is not None
        for n in (0, 1, 4):
            assert as_graph(np.ones((n, n), int)).dense is not None

    def test_arrays_of_edges(self):
        graph = Graph.from_edges(np.array([[10, 30], [30, 20]]))
        assert graph.labels == (10, 20, 30)
        assert graph.weights is None
        graph = Graph.from_edges(np.array([[10, 30, 0.5], [30, 20, 2.0]]))
        assert graph.matrix()[graph.index(10), graph.index(30)] == 0.5
        with pytest.raises(DomainError, match="integers"):
            Graph.from_edges(np.array([[0.5, 1.0]]))
        for wrong in (np.array([[2**63, 1]], np.uint64), np.array([[1e300, 1]]), np.array([[INF, 1]])):
            with pytest.raises(DomainError, match="integers"):
                Graph.from_edges(wrong)

    def test_unweighted_edges_weigh_one(self):
        np.testing.assert_array_equal(as_graph([(0, 1), (1, 0)]).edges()[2], [1, 1])
        np.testing.assert_array_equal(as_graph([(0, 1, 7), (1, 0, 3)], weight=None).edges()[2], [1, 1])

    @pytest.mark.parametrize(
        ("weights", "dtype"),
        [
            (None, "int16"),
            ([1, 2], "int32"),
            ([1, 2**30], "int32"),
            ([2**30, 2**30], "int64"),
            ([1, 2**63 - 1], "int32"),  # closed
            ([1, -(2**31)], "int64"),
            ([2**62, 1], "int64"),
            ([-(2**63), 1], "int64"),
            ([0.5, 1], "float64"),
            (np.array([1, 2], ">u2"), "int32"),
            (np.array([1, 2], np.float32), "float64"),
        ],
    )
    def test_default_dtype(self, weights, dtype):
        graph = Graph.from_arrays([0, 1], [1, 2], weights)
        A = graph.matrix("min_plus")
        assert A.dtype == dtype
        assert A[0, 1] == (1 if weights is None else weights[0])
        assert graph.matrix("max_times").dtype == "float64"
        assert graph.matrix("boolean").dtype == bool

    def test_without_edges_it_is_that_of_the_weights_or_integers(self):
        for dtype, expected in (("int16", "int32"), ("int64", "int32"), ("float32", "float64"), ("float64", "float64")):
            assert as_graph(sp.csr_array((3, 3), dtype=dtype)).matrix("min_plus").dtype == expected
            assert Graph.from_arrays([], [], np.empty(0, dtype), n=3).matrix("min_plus").dtype == expected
        for graph in (Graph.from_arrays([], [], [], n=3), as_graph({"a": {}, "b": {}})):
            assert graph.matrix("min_plus").dtype == "int32"

    def test_a_loop_is_held_too(self):
        assert Graph.from_arrays([0, 0], [0, 1], [2**40, 1]).matrix("min_plus")[0, 0] == 2**40

    @pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
    def test_a_dtype_asked_for(self, dtype):
        edges = random_edges(13, 40)
        graph = Graph.from_arrays(*(np.array(x) for x in zip(*edges, strict=True)), n=13)
        expected = oracle(13, edges)
        A = graph.matrix("min_plus", dtype)
        assert A.dtype == dtype
        infinity = np.iinfo(dtype).max if dtype.startswith("int") else INF
        np.testing.assert_array_equal(A == infinity, np.isinf(expected))
        np.testing.assert_array_equal(A[A != infinity], expected[np.isfinite(expected)])

    def test_boolean_edges_of_any_finite_weight(self):
        A = Graph.from_arrays([0, 0, 1], [1, 2, 0], [0.0, INF, -1.0]).matrix("boolean")
        np.testing.assert_array_equal(A, [[False, True, False], [True, False, False], [False, False, False]])

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (dict(rows=[0], cols=[1, 2]), ShapeError, "equally long"),
            (dict(rows=[0], cols=[3], n=3), VertexError, r"0 … 2, got 3 on edge 0"),
            (dict(rows=[-1], cols=[0]), VertexError, "-1"),
            (dict(rows=[0.0], cols=[1.0]), ShapeError, "integers"),
            (dict(rows=["a"], cols=["b"]), ShapeError, "from_edges"),
            (dict(rows=[0], cols=[1], weights=[1, 2]), ShapeError, "one weight an edge"),
            (dict(rows=[0], cols=[1], weights=[np.nan]), DomainError, "NaN on edge 0, 0 → 1"),
            (dict(rows=[0], cols=[1], weights=["x"]), DTypeError, "real numbers"),
            (dict(rows=[0], cols=[1], weights=[None]), DTypeError, "None on edge 0"),
            (dict(rows=[0], cols=[1], weights=[2**64 + 1]), DTypeError, "18446744073709551617 at 0"),
            (dict(rows=[0, 1], cols=[1, 0], weights=[0.5, 2**53 + 1]), DTypeError, "9007199254740993 at 1"),
            (dict(rows=[0, 1], cols=[1, 0], weights=[-1, 2**63 + 1]), DTypeError, "at 1"),
            (dict(rows=[0, 1], cols=[1, 0], weights=[2**53 + 1, 2**63]), DTypeError, "at 0"),
            (dict(rows=[0], cols=[1], weights=np.array([2**63 + 1], np.uint64)), DTypeError, "exactly"),
            (dict(rows=[0], cols=[1], weights=[2**1100]), DTypeError, "1101 bits at 0"),
            (dict(rows=[0, 0], cols=[1, 1], weights=[0.5, 2**20_000]), DTypeError, "20001 bits at 1"),
            (dict(rows=[0], cols=[1], weights=[Fraction(10**400)]), DTypeError, "every number"),
            (dict(rows=[0], cols=[1], weights=[Decimal("1e999")]), DTypeError, "every number"),
            (dict(rows=[0, 1], cols=[1, 0], weights=[[1], [2, 3]]), ShapeError, "equally long"),
            (dict(rows=[[0], [1, 2]], cols=[1, 0]), ShapeError, "equally long"),
            (dict(rows=[2**1100], cols=[0]), DTypeError, "1101 bits"),
            (dict(rows=[2**63], cols=[0]), (ShapeError, VertexError), "9223372036854775808"),
            (dict(rows=[], cols=[], n=10**30), ShapeError, "10¹⁵"),
            (dict(rows=[0], cols=[1], weights=[True]), DTypeError, "got True on edge 0"),
            (dict(rows=[0], cols=[1], labels=["a", "a"]), VertexError, "'a' twice"),
            (dict(rows=[0], cols=[1], labels=["a"], n=2), ShapeError, "one label a vertex"),
            (dict(rows=[], cols=[], n=-1), ShapeError, "0 or more"),
        ],
    )
    def test_malformed_arrays(self, arguments, error, words):
        with pytest.raises(error, match=words):
            Graph.from_arrays(**arguments)

    @pytest.mark.parametrize(
        ("edges", "error"),
        [
            ([(0, 1), (2,)], ShapeError),
            ([(0, 1), "ab"], ShapeError),
            ([(0, 1), 5], ShapeError),
            ([(0, 1, 2, 3)], ShapeError),
            ([([0], 1)], VertexError),
            ([(0, 1, np.nan)], DomainError),
            ([(0, 1, "x")], DTypeError),
            ([(0, 1, [1]), (1, 2, [3, 4])], ShapeError),
            ([(0, 1, 2**1100)], DTypeError),
            ([(0, 1, 0.5), (1, 0, 2**64 + 1)], DTypeError),
            (iter([np.array([1, 2, 3]), (0,)]), ShapeError),
        ],
    )
    def test_malformed_lists(self, edges, error):
        with pytest.raises(error):
            as_graph(edges)


class TestExactness:
    """Integers stay what they are, or are refused; a float beside them rounds none of them."""

    def test_what_fits_stays(self):
        for weights in (
            [2**63 - 1, 1],
            [-(2**63), 0],
            np.array([1, 2**63 - 1], np.uint64),
            np.array([2**62, 1], object),
        ):
            found = Graph.from_arrays([0, 1], [1, 0], weights).weights
            assert found.dtype == np.int64
            assert found.tolist() == list(weights)
        for weights in (
            [2**64, 1],
            [2**63, -1],
            [0.5, 2**60],
            np.array([2**63], np.uint64),
            [Fraction(1, 4)],
            [INF, 2**60],
        ):
            found = Graph.from_arrays([0] * len(weights), [1] * len(weights), weights).weights
            assert found.dtype == np.float64
            assert found.tolist() == list(weights)
        assert Graph.from_arrays([0], [1], [Decimal("Infinity")]).weights.tolist() == [INF]

    @pytest.mark.parametrize("dtype", ["int64", "uint64", ">u8", ">i8"])
    def test_a_matrix_that_floats_would_round_is_refused(self, dtype):
        for wrong in (2**53 + 1, 2**62 + 1, *((2**63 + 1, 2**64 - 1) if "u" in dtype else (-(2**53) - 1, 2**63 - 2))):
            A = np.array([[0, 3], [wrong, 0]], dtype=dtype)
            with pytest.raises(DTypeError, match=rf"float64 must hold every integer exactly, got {wrong} at \(1, 0\)"):
                Graph.from_matrix(A).matrix("max_times")
        A = np.array([[0, 3], [2**62, 2**53]], dtype=dtype)
        np.testing.assert_array_equal(Graph.from_matrix(A).matrix("max_times"), A.astype(float))
        if "u" in dtype:
            assert as_graph(np.array([[2**63]], dtype)).matrix("min_plus")[0, 0] == 2.0**63

    def test_the_ends_of_int64_are_infinite(self):
        A = np.array([[0, 2**63 - 1], [5, 0]])
        assert as_graph(A).matrix("min_plus", "float64").tolist() == [[0, INF], [5, 0]]

    def test_float32_rounds_as_asked(self):
        assert as_graph([(0, 1, 2**24 + 1)]).matrix("min_plus", "float32")[0, 1] == 2**24

    def test_lists_of_large_numbers(self):
        assert as_graph([[0, 2**64], [1, 0]]).dense.tolist() == [[0, 2**64], [1, 0]]
        assert as_graph([[0, 2**60], [INF, 0]]).dense.tolist() == [[0, 2**60], [INF, 0]]
        assert as_graph([[0, 1e300], [INF, 2]]).dense.tolist() == [[0, 1e300], [INF, 2]]


class TestSparse:
    @pytest.mark.parametrize("kind", [sp.coo_matrix, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
    def test_explicit_entries_are_edges(self, kind):
        edges = [(0, 1, 3), (1, 2, 0), (2, 0, -4)]
        rows, cols, weights = zip(*edges, strict=True)
        graph = as_graph(kind((weights, (rows, cols)), shape=(4, 4)))
        np.testing.assert_array_equal(graph.matrix("min_plus", "float64"), oracle(4, edges))

    def test_duplicates_are_not_summed(self):
        coo = sp.coo_array(([5, 3, 9], ([0, 0, 0], [1, 1, 1])), shape=(2, 2))
        assert as_graph(coo).matrix()[0, 1] == 3
        assert as_graph(coo).matrix("max_plus")[0, 1] == 9

    def test_boolean_entries_are_unweighted_edges(self):
        graph = as_graph(sp.coo_array(([True, False], ([0, 1], [1, 0])), shape=(2, 2)))
        assert graph.weights is None
        assert graph.edge_count == 1


class TestNetworkX:
    @pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
    def test_against_networkx(self, kind):
        G = kind()
        rng = np.random.default_rng(3)
        G.add_nodes_from("hgfedcba")
        for _ in range(30):
            u, v = rng.choice(list("abcdefg"), 2)
            G.add_edge(str(u), str(v), weight=int(rng.integers(0, 9)))
        G.add_edge("a", "b")
        graph = as_graph(G)
        assert graph.labels == tuple("hgfedcba")
        assert graph.directed == G.is_directed()
        expected = nx.to_numpy_array(G, nonedge=INF, multigraph_weight=min)
        np.testing.assert_array_equal(graph.matrix("min_plus", "float64"), expected)

    def test_other_attributes_and_none(self):
        G = nx.DiGraph(name="two")
        G.add_edge(1, (2, "x"), km=5.5)
        graph = as_graph(G, weight="km")
        assert graph.name == "two"
        assert graph.matrix()[0, graph.index((2, "x"))] == 5.5
        assert as_graph(G).matrix()[0, 1] == 5.5
        assert as_graph(G, weight=None).weights is None

    def test_empty(self):
        assert as_graph(nx.Graph()).matrix().shape == (0, 0)


class TestLabels:
    def test_rows_of_integers_stay_ranges(self):
        assert repr(Labels([0, 1, 2])) == "Labels(range(0, 3))"
        assert repr(Labels(np.array([5, 6, 7]))) == "Labels(range(5, 8))"
        for others in ((0, 2), (1, 0), (True, 2)):
            assert repr(Labels(others)) == f"Labels({others})"

    @pytest.mark.parametrize("names", [range(7), range(3, 9), (4, 9, 1, 7), ("x", "y", "z"), ((0, 1), "a", 3)])
    def test_positions(self, names):
        labels = Labels(names)
        assert [labels.position(name) for name in names] == list(range(len(names)))
        back = list(reversed(list(names)))
        np.testing.assert_array_equal(labels.positions(back), range(len(names))[::-1])
        assert labels[0] == names[0]
        assert names[1] in labels
        assert list(labels) == list(names)
        assert len(labels.positions([])) == 0

    @pytest.mark.parametrize("names", [[0, ("a", 1)], [7, "x", None], [1, 2**70], [0, ("a", ("b", 2))]])
    def test_positions_of_a_number_among_other_names(self, names):
        assert Labels(names).positions(names[::-1]).tolist() == list(range(len(names)))[::-1]

    @pytest.mark.parametrize("names", [range(3), [0, 1, 5]])
    def test_a_float_that_equals_a_label_is_one(self, names):
        labels = Labels(names)
        assert labels.position(1.0) == labels.position(np.float64(1)) == labels.position(1) == 1
        assert labels.positions(np.array([1.0, 0.0])).tolist() == [1, 0]
        for wrong in (1.5, np.nan, np.inf, "1"):
            with pytest.raises(VertexError):
                labels.position(wrong)

    def test_positions_of_unsigned_numbers_are_exact(self):
        labels = Labels([2**60, 2**60 + 1, 2**60 + 5, 2**63 - 1])
        assert labels.positions(np.array([2**60 + 1, 2**60 + 5], np.uint64)).tolist() == [1, 2]
        for wrong in (2**63, 2**64 - 1, 2**60 + 2):
            with pytest.raises(VertexError, match=f"got {wrong}"):
                labels.positions(np.array([2**60, wrong], np.uint64))
        with pytest.raises(VertexError, match=f"got {2**64 - 1}"):
            Labels([5, -1, 3]).positions(np.array([2**64 - 1], np.uint64))

    def test_positions_keep_their_shape(self):
        labels = Labels([4, 9, 1, 7])
        np.testing.assert_array_equal(labels.positions(np.array([[1, 9], [7, 7]])), [[2, 1], [3, 3]])
        names = Labels(["a", "b"])
        np.testing.assert_array_equal(names.positions(np.array([["b", "a"]])), [[1, 0]])

    @pytest.mark.parametrize("label", [6, -1, "3", 1.5, None, [0], np.int64(99)])
    def test_unknown(self, label):
        for labels in (Labels(range(6)), Labels([1, 5, 3])):
            assert label not in labels
            with pytest.raises(VertexError) as caught:
                labels.position(label)
            assert isinstance(caught.value, KeyError)
            assert str(caught.value).startswith("Graph: a vertex must be one of the")

    def test_a_column_is_to_be_a_list(self):
        column = pytest.importorskip("pandas").Series(["a", "b"], name="from")
        r = shortest_paths([("a", "b", 1), ("b", "c", 2)])
        with pytest.raises(VertexError, match=r"got 0 a 1 b.*Pass column.to_list\(\)"):
            r.distance(column, "c")
        assert r.distance(column.to_list(), "c").tolist() == [3, 2]

    def test_what_a_person_writes(self):
        assert Labels([30, 1412]).parse("30") == 30
        assert Labels(range(5)).parse("4") == 4
        assert Labels(["30", "x"]).parse("30") == "30"
        assert Labels([(0, 1), (1, 0)]).parse("(1, 0)") == (1, 0)
        for mixed in (Labels([1, "1", "2"]), Labels([(0, 1), "(0, 1)", "2"])):
            assert mixed.parse("2") == "2"
            with pytest.raises(VertexError, match="two"):
                mixed.parse(str(mixed[0]))
        for labels in (Labels([7, 10]), Labels(range(12))):
            for text in ("007", "+7", "1_0", " 7", "७"):
                with pytest.raises(VertexError):
                    labels.parse(text)
        for text in ("x", "31"):
            with pytest.raises(VertexError):
                Labels([30, 1412]).parse(text)


def test_as_graph_of_a_graph_and_of_a_path(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text("from,to,minutes\nA,B,4\n")
    graph = as_graph(path, weight="minutes")
    assert graph.matrix()[0, 1] == 4
    assert as_graph(graph).labels is graph.labels
    assert as_graph(str(path)).weights.tolist() == [4]
    assert as_graph(str(path), weight=None).weights is None
    assert as_graph(path, directed=False).matrix("boolean")[1, 0]
    with pytest.raises(FileNotFoundError):
        as_graph(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_text("1,2,3\n")
    with pytest.raises(FormatError):
        as_graph(tmp_path / "bad.csv")


@pytest.mark.gpu
def test_cupy_arrays_stay_on_the_device():
    import cupy

    A = cupy.asarray([[INF, 2.0], [INF, INF]])
    graph = as_graph(A)
    assert isinstance(graph.matrix(), cupy.ndarray)
    rows, cols, weights = graph.edges()
    assert isinstance(rows, np.ndarray)
    assert (rows.tolist(), cols.tolist(), weights.tolist()) == ([0], [1], [2.0])
    assert graph.edge_count == 1
    assert graph.matrix("boolean").get().tolist() == [[False, True], [False, False]]


def test_an_edge_of_infinite_length_is_none_in_every_semiring():
    for far in (np.inf, np.iinfo(np.int64).max):
        graph = Graph.from_arrays([0, 1], [1, 2], [far, 3])
        assert shortest_paths(graph).distance(0, 1) == np.inf
        assert shortest_paths(graph, unweighted=True).distance(0, 1) == np.inf
        assert shortest_paths(graph, unweighted=True).distance(1, 2) == 1
        assert graph.matrix("boolean").tolist() == [[False, False, False], [False, False, True], [False] * 3]
        assert transitive_closure(graph).counts().tolist() == [0, 1, 0]


EXPORTED = {
    "directed": Graph.from_edges([("b", "a", 3), ("a", "c", 0), ("c", "c", 2)], labels="abcd", name="roads"),
    "floats": Graph.from_edges([(0, 1, 0.5), (1, 2, -2.0)]),
    "undirected": Graph.from_edges([("a", "b", 3), ("b", "b", 1), ("c", "a", 0)], directed=False),
    "parallel": Graph.from_edges([("a", "b", 3), ("a", "b", 0), ("b", "a", 2)]),
    "both ways": Graph.from_edges([("a", "b", 3), ("b", "a", 2)], directed=False),
    "hops": Graph.from_edges([((0, 1), 7), (7, "x")]),
    "matrix": Graph.from_matrix(np.array([[INF, 0.0, INF], [2.5, INF, INF], [INF] * 3]), labels="abc"),
    "integers": Graph.from_matrix(np.array([[2**31 - 1, 7], [0, 2**31 - 1]], np.int32)),
    "bool": Graph.from_matrix(np.array([[False, True], [True, True]])),
    "unit": as_graph(np.array([[INF, 0.0], [2.5, INF]]), weight=None, null_value=None),
    "empty": Graph.from_edges([]),
    "no edges": Graph.from_edges([], labels=["a", "b"]),
}


def as_dense(graph, boolean):
    return graph.matrix("boolean") if boolean else graph.matrix("min_plus", "float64")


@pytest.mark.parametrize("name", EXPORTED)
class TestExported:
    def test_to_scipy_and_back(self, name):
        graph = EXPORTED[name]
        boolean = name == "bool"
        A = graph.to_scipy("boolean") if boolean else graph.to_scipy(dtype="float64")
        assert isinstance(A, sp.csr_array)
        assert A.shape == (graph.n, graph.n)
        assert A.has_canonical_format
        dense = as_dense(graph, boolean)
        assert A.nnz == (dense.sum() if boolean else (dense != INF).sum())
        np.testing.assert_array_equal(as_dense(as_graph(A), boolean), dense)
        if not boolean:
            np.testing.assert_array_equal(as_dense(as_graph(graph.to_scipy()), boolean), dense)
            expected = bellman_ford(A) if graph.n else dense
            np.testing.assert_array_equal(expected, closure(dense, null_value=None) if graph.n else dense)

    def test_to_networkx_and_back(self, name):
        graph = EXPORTED[name]
        there = graph.to_networkx()
        assert type(there).__name__ == {
            "undirected": "Graph",
            "both ways": "MultiGraph",
            "parallel": "MultiDiGraph",
        }.get(name, "DiGraph")
        assert list(there) == list(graph.labels)
        assert there.number_of_edges() == graph.edge_count
        assert there.graph.get("name", "") == graph.name
        weighted = any("weight" in data for *_, data in there.edges(data=True))
        assert weighted == (name not in ("hops", "bool", "unit", "empty", "no edges"))
        again = as_graph(there)
        assert again.labels == graph.labels
        boolean = name == "bool"
        np.testing.assert_array_equal(as_dense(again, boolean), as_dense(graph, boolean))

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_to_frame_and_back(self, name, library):
        frames = pytest.importorskip(library)
        pytest.importorskip("narwhals")
        graph = EXPORTED[name]
        if name == "hops" and library == "polars":
            pytest.skip("its columns have one type")
        table = graph.to_frame(library)
        assert isinstance(table, frames.DataFrame)
        assert len(table) == graph.edge_count
        again = as_graph(table, directed=graph.directed)
        kept = [label for label in graph.labels if label in again.labels]
        assert set(kept) == set(again.labels)
        boolean = name == "bool"
        at, there = graph.index_of(kept), again.index_of(kept)
        expected = as_dense(graph, boolean)[np.ix_(at, at)]
        np.testing.assert_array_equal(as_dense(again, boolean)[np.ix_(there, there)], expected)


def test_columns_of_one_name_are_refused():
    frames = pytest.importorskip("pandas")
    table = frames.DataFrame([[1, 2, 3.0, 4.0]], columns=["from", "to", "weight", "weight"])
    with pytest.raises(FormatError, match=r"columns whose names differ, got: .*'weight' 2 times\. Rename or drop some"):
        as_graph(table)


def test_parallel_edges_meet_by_the_semiring():
    graph = Graph.from_edges([("a", "b", 3), ("a", "b", 5), ("a", "c", INF)])
    assert graph.to_scipy().toarray().tolist() == [[0, 3, 0], [0, 0, 0], [0, 0, 0]]
    assert graph.to_scipy("max_min").toarray().tolist()[0] == [0, 5, INF]


def test_the_graph_of_a_csr_matrix_is_that_of_its_entries():
    """Its list of edges is made when it is looked at; the matrix is copied, and may change."""
    rng = np.random.default_rng(3)
    A = sp.csr_array((rng.random(60), rng.integers(0, 12, (2, 60), np.int32)), shape=(12, 12))
    assert A.indices.dtype == np.int32
    coo, graph = A.tocoo(copy=True), as_graph(A)
    A.data[:] = 99
    A.indices[:] = 0
    listed = Graph.from_arrays(coo.row, coo.col, coo.data, n=12)
    for one in (graph, pickle.loads(pickle.dumps(graph)), replace(graph, name="x"), as_graph(graph)):
        for name in ("rows", "cols", "weights"):
            np.testing.assert_array_equal(getattr(one, name), getattr(listed, name))
            assert getattr(one, name).dtype == getattr(listed, name).dtype
        assert (one.n, one.edge_count, one.arc_count, one.labels) == (12, len(coo.data), len(coo.data), range(12))
    assert repr(graph) == repr(listed)
    back = as_graph(coo.tocsr(), directed=False, name="both ways")
    assert (back.directed, back.name, back.arc_count) == (False, "both ways", 2 * len(coo.data))
    np.testing.assert_array_equal(
        shortest_paths(back, sources=[0]).distances,
        shortest_paths(listed.having(directed=False), sources=[0], engine="dense").distances,
    )
    assert as_graph(coo.tocsr(), unweighted=True).weights is None
    assert replace(graph, weights=2 * graph.weights).matrix("min_plus", "float64").min() == 2 * coo.data.min()
    coo.data[7] = np.nan
    with pytest.raises(DomainError, match=r"got NaN on edge \d+"):
        as_graph(coo.tocsr())


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_csr_matrix_is_looked_at_to_its_end(index, monkeypatch):
    """Some entries at a time: their least and greatest, NaN, and indices out of range in the last of them."""
    monkeypatch.setattr(compressed, "TOGETHER", 7)
    rng = np.random.default_rng(4)
    weights, heads, starts = rng.random(60) + 1, rng.integers(0, 12, 60), np.r_[np.arange(0, 60, 5), 60]

    def matrix(at=None, weight=None, head=None):
        A = sp.csr_array((weights.copy(), heads.astype(index), starts.astype(index)), shape=(12, 12))
        A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)  # SciPy narrows them
        if weight is not None:
            A.data[at] = weight
        if head is not None:
            A.indices[at] = head
        return A

    graph = as_graph(matrix())
    assert graph.bounds == (weights.min(), weights.max())
    for at in (0, 20, 59):
        assert as_graph(matrix(at, weight=-3.0)).bounds == (-3.0, np.delete(weights, at).max())
        with pytest.raises(DomainError, match=rf"got NaN on edge {at}"):
            as_graph(matrix(at, weight=np.nan))
        for head in (12, -1, -(2**31), *((2**32 + 3, -(2**63)) if index is np.int64 else ())):
            with pytest.raises(ShapeError, match="indices of a sparse matrix must be consistent"):
                as_graph(matrix(at, head=head))
    none = as_graph(sp.csr_array((12, 12)))
    assert none.bounds is None
    assert np.isinf(shortest_paths(none, sources=[3]).distances).sum() == 11


@pytest.mark.parametrize("semiring", ["min_plus", "max_plus", "max_min", "boolean"])
def test_few_rows_of_a_csr_matrix_are_those_of_a_list(semiring):
    """Parallel entries, zeros, and weights that are no lengths of SciPy's; all semirings."""
    indptr, indices = np.array([0, 3, 4, 4, 6]), np.array([1, 1, 2, 3, 0, 3])
    for weights in ([4.0, 3.0, 0.0, 1.0, 2.0, 0.0], [1.0] * 6, [1.0, np.inf, 2.0, 1.0, 1.0, 5.0]):
        if semiring == "max_plus" and not np.isfinite(weights).all():
            continue
        if semiring == "max_plus":
            weights = [-w for w in weights]
        A = sp.csr_array((np.array(weights), indices, indptr), shape=(4, 4))
        coo = A.tocoo()
        listed = Graph.from_arrays(coo.row, coo.col, coo.data, n=4)
        np.testing.assert_array_equal(
            shortest_paths(A, semiring, sources=[0, 3]).distances,
            shortest_paths(listed, semiring, sources=[0, 3], engine="dense").distances,
        )


@pytest.mark.parametrize("kind", ["i1", "i4", "i8", "list"])
@pytest.mark.parametrize(
    "ends", [[(0, 1), (1, 2)], [(7, 5), (5, 9)], [(-3, 100), (4, -3)], [(2**62, -(2**62)), (3, 3)]]
)
def test_arrays_of_integers_are_numbered_as_their_numbers(kind, ends):
    """Ascending, a range where none is left out; the same objects as from a list."""
    if kind in ("i1", "i4") and max(map(abs, sum(ends, ()))) > 100:
        return
    tails, heads = zip(*ends, strict=True)
    expected = number_pairs(ends)
    sides = (list(side) if kind == "list" else np.array(side, kind) for side in (tails, heads))
    labels, rows, cols = number_ends(*sides)
    assert list(labels) == list(expected[0]) == sorted({*tails, *heads})
    assert [type(name) for name in labels] == [int] * len(labels)
    assert [labels[i] for i in rows] == list(tails)
    assert [labels[j] for j in cols] == list(heads)
    assert (rows.dtype, cols.dtype) == (np.int64, np.int64)
    assert [labels.position(name) for name in labels] == list(range(len(labels)))
    assert labels.positions(np.array(tails)).tolist() == rows.tolist()


@pytest.mark.parametrize("names", [[1, 1, 2], [0, 0], [3, 2, 2]])
def test_an_array_of_names_that_repeat_is_refused(names):
    with pytest.raises(VertexError, match=r"labels must be distinct, got [012] twice"):
        Labels(np.array(names))


@pytest.mark.parametrize("semiring", ["min_plus", "boolean"])
def test_truth_values_among_weights_are_refused_with_a_way_out(semiring):
    """NumPy makes 0 of False, an edge of weight 0; where it is meant to close one, it must not stay."""
    edges = [("A", "B", 5), ("B", "C", 6)]
    r = shortest_paths(edges, semiring)
    way = "got False on edge 0. Say inf for no edge, else 1"
    named = {("A", "B"): False}, {("A", "B"): False, ("B", "C"): 1}  # over truth values False closes an edge
    for truths in (*(() if semiring == "boolean" else named), [False, 6], np.array([False, True])):
        with pytest.raises(DTypeError, match=way):
            r.update(truths)
    for weights in ([False, 6], (np.False_, 6.5), np.array([False, 6], object), np.array([False, True])):
        with pytest.raises(DTypeError, match=way):
            Graph.from_arrays([0, 1], [1, 2], weights, n=3)
    assert r.update({("A", "B"): INF}).distance("A", "C") == (False if semiring == "boolean" else INF)
    assert bool(r.update({("A", "B"): 1}).distance("A", "C"))


def numbered_by_a_loop(tails, heads):
    """Names in order, and the places of both ends among them."""
    names = sorted({*tails, *heads})
    place = {name: k for k, name in enumerate(names)}
    return names, [place[name] for name in tails], [place[name] for name in heads]


@pytest.mark.parametrize("kind", ["short", "unicode", "NUL", "long", "numbers", "of one hash"])
def test_many_names_are_numbered_as_by_a_loop(kind, monkeypatch):
    rng = np.random.default_rng(0)
    letters = {"unicode": "aé漢\U0001f600\udcff ", "NUL": "abcde\0"}.get(kind, "abcde1")
    sizes = rng.integers(0, 40 if kind == "long" else 8, 6000)
    made = ["".join(letters[k] for k in rng.integers(0, len(letters), size)) for size in sizes]
    assert 4 * len({*made}) > len(made)
    if kind == "numbers":
        made = rng.integers(0, 500, 6000).astype(float).tolist()
    if kind == "of one hash":
        monkeypatch.setattr("apsp.io.labels.HASH", np.uint64(0))
    tails, heads = made[:3000], made[3000:]
    found, rows, cols = number_ends(tails, heads)
    names, *ends = numbered_by_a_loop(tails, heads)
    assert (list(found), rows.tolist(), cols.tolist()) == (names, *ends)
    assert set(map(type, found)) == set(map(type, made))
