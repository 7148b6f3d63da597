"""Whatever a person holds: one table of inputs × the matrix they must give, and what comes back in kind.

The oracle of a matrix is NetworkX, SciPy or a loop over the edges that the input was made of. Libraries that are not
installed are skipped, each with its name.
"""

from __future__ import annotations

import io
import os
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import networkx as nx
import numpy as np
import people
import pytest
from scipy import sparse
from scipy.sparse.csgraph import floyd_warshall

import apsp
import semiring
from apsp import (
    Graph,
    as_graph,
    closure,
    csgraph,
    negative_cycle,
    plan,
    read,
    shortest_paths,
    transitive_closure,
    write,
)
from apsp.io.inputs import NAMES, is_array, kinds
from semiring import BitMatrix, eliminate, eye, lu, matmul, matvec, outer, power, prod
from semiring.host.arrays import take_in
from semiring.host.errors import DomainError, DTypeError, FormatError, ShapeError, VertexError

INF = np.inf
#: Edges, and the vertices in the order in which they are first named.
EDGES = [("b", "a", 4), ("a", "c", 7), ("c", "b", 1), ("a", "b", 9)]
MATRIX = np.array([[2, INF, 3], [5, 2, INF], [INF, 1, INF]])


def weights_of(graph: Graph) -> dict:
    """{(u, v): weight} of every arc, by label."""
    rows, cols, weights = graph.edges("min_plus")
    return {
        (graph.labels[u], graph.labels[v]): w
        for u, v, w in zip(rows.tolist(), cols.tolist(), weights.tolist(), strict=True)
    }


EXPECTED = {(u, v): w for u, v, w in EDGES}
UNIT = dict.fromkeys(EXPECTED, 1)


def columns(*names):
    return dict(zip(names, zip(*EDGES, strict=True), strict=True))


def pandas_table(*names, **options):
    return pytest.importorskip("pandas").DataFrame(columns(*names), **options)


def polars_table(*names):
    return pytest.importorskip("polars").DataFrame({k: list(v) for k, v in columns(*names).items()})


def polars_lazy(*names):
    return polars_table(*names).lazy()


def arrow_table(*names):
    return pytest.importorskip("pyarrow").table({k: list(v) for k, v in columns(*names).items()})


TABLES = (pandas_table, polars_table, polars_lazy, arrow_table)


class TestTables:
    @pytest.mark.parametrize("make", TABLES)
    def test_long_table(self, make):
        assert weights_of(as_graph(make("from", "to", "minutes"))) == EXPECTED
        assert as_graph(make("from", "to", "minutes")).labels == ("a", "b", "c")
        assert weights_of(as_graph(make("from", "to", "minutes"), weight=None)) == UNIT
        assert weights_of(as_graph(make("x", "y", "z"), columns=("x", "y", "z"))) == EXPECTED
        assert weights_of(as_graph(make("x", "y", "z"), columns=(0, 1, 2))) == EXPECTED
        assert weights_of(as_graph(make("x", "y", "z"), columns=("x", "y"), weight="z")) == EXPECTED
        assert weights_of(as_graph(make("Target", "Source", "km"))) == {(v, u): w for u, v, w in EDGES}

    @pytest.mark.parametrize("make", TABLES)
    def test_table_that_does_not_say(self, make):
        for names, words in (
            (("a", "b", "minutes"), "columns 'a', 'b', 'minutes'"),
            (("from", "src", "to"), "more than one is"),
            (("from", "weight", "to"), "a weight must be a number"),
        ):
            with pytest.raises(FormatError, match=words) as caught:
                as_graph(make(*names))
            assert "columns=" in str(caught.value) or "weight=" in str(caught.value)
        with pytest.raises(FormatError, match="one column 'hours', got the columns 'from', 'to', 'minutes'"):
            as_graph(make("from", "to", "minutes"), weight="hours")

    def test_several_other_columns_of_a_table(self):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"from": ["A"], "to": ["B"], "distance": [5], "lanes": [2]})
        assert as_graph(table).weights.tolist() == [5]
        table["cost"] = [7]
        with pytest.raises(FormatError, match="more than one of them could be it"):
            as_graph(table)
        assert as_graph(table, weight="cost").weights.tolist() == [7]
        assert as_graph(table, weight=3).weights.tolist() == [2]
        assert as_graph(table, unweighted=True).weights is None
        with pytest.raises(FormatError, match="none is called weight"):
            as_graph(table[["from", "to", "lanes"]].assign(tolls=1))

    def test_three_rows_of_a_table_are_edges(self):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        rows = {"u": [0, 1, 2], "v": [1, 2, 0], "minutes": [5, 6, 7]}
        for table in (pandas.DataFrame(rows), polars.DataFrame(rows)):
            assert weights_of(as_graph(table)) == {(0, 1): 5, (1, 2): 6, (2, 0): 7}
        for table in (
            polars.DataFrame({"a": [0, 1], "b": [1, 2]}),
            pandas.DataFrame([[0, 1, 5], [1, 2, 6], [2, 0, 7]]),
        ):
            with pytest.raises(FormatError, match="a matrix or edges"):
                as_graph(table)
        assert as_graph(pandas.DataFrame([[0, 1, 5], [1, 2, 6], [2, 0, 7]]), columns=(0, 1, 2)).edge_count == 3

    def test_wide_table(self):
        pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
        names = ["a", "b", "c"]
        wide = {name: MATRIX[:, k] for k, name in enumerate(names)}
        labelled = {"row": names, **wide}
        for table in (
            pandas.DataFrame(MATRIX, index=names, columns=names),
            polars.DataFrame(wide),
            polars.DataFrame(labelled),
            arrow.table(wide),
            arrow.table({k: list(v) for k, v in labelled.items()}),
        ):
            graph = as_graph(table)
            assert graph.labels == ("a", "b", "c")
            np.testing.assert_array_equal(graph.dense, MATRIX)
        assert as_graph(arrow.table(wide).to_batches()[0]) == as_graph(arrow.table(wide))
        holes = pandas.DataFrame([[0, 3], [None, 0]], index=names[:2], columns=names[:2], dtype="Int64")
        with pytest.raises(ShapeError, match=r"Say table\.astype\(float\)\.fillna\(float\('inf'\)\)"):
            as_graph(holes)
        assert as_graph(holes.astype(float).fillna(float("inf"))).dense.tolist() == [[0, 3], [INF, 0]]
        assert as_graph(pandas.DataFrame(MATRIX)).labels == range(3)
        np.testing.assert_array_equal(closure(pandas.DataFrame(MATRIX)), floyd_warshall(MATRIX))
        assert shortest_paths(polars.DataFrame(wide)).distance("a", "b") == 4
        with pytest.raises(FormatError, match="as its columns, in their order"):
            as_graph(pandas.DataFrame(MATRIX, index=["c", "a", "b"], columns=names))
        with pytest.raises(FormatError, match="columns 'a', 'b', 'c'"):
            as_graph(pandas.DataFrame(MATRIX, index=["x", "y", "z"], columns=names))
        with pytest.raises(FormatError, match="columns 'a', 'b', 'c'"):
            as_graph(pandas.DataFrame(MATRIX, columns=names))
        with pytest.raises(ShapeError, match="all its entries"):
            as_graph(polars.DataFrame({"a": [1.5, None], "b": [0.0, 1.0]}))

    def test_columns_of_several_dtypes_are_one_matrix_without_rounding(self):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

        def wide(a, b):
            return as_graph(pandas.DataFrame({"a": a, "b": b}, index=["a", "b"])).dense

        assert wide([0, 2**53], [1.5, 0]).tolist() == [[0, 1.5], [2**53, 0]]
        with pytest.raises(DTypeError, match="must hold every integer exactly, got 9007199254740993"):
            wide([0, 2**53 + 1], [1.5, 0])
        far = np.iinfo(np.int32).max
        assert wide(np.array([0, 32767], "int16"), np.array([3, 0], "int32")).tolist() == [[0, 3], [far, 0]]
        with pytest.raises(DTypeError, match="numbers or truth values"):
            wide([True, False], [3, 0])
        decimals = polars.Series(["0", "1.5"]).cast(polars.Decimal(10, 2))
        table = polars.DataFrame({"": ["a", "b"], "a": decimals, "b": polars.Series([1, 0], dtype=polars.Int128)})
        assert as_graph(table).dense.tolist() == [[0, 1], [1.5, 0]]
        table = polars.DataFrame({"from": ["a"], "to": ["b"], "w": polars.Series([2**40], dtype=polars.Int128)})
        assert as_graph(table).weights.tolist() == [2**40]

    def test_missing_cells_of_a_table(self):
        pandas = pytest.importorskip("pandas")
        with pytest.raises(FormatError, match="none in row 1 of the column 'to'"):
            as_graph(pandas.DataFrame({"from": ["a", "b"], "to": ["b", None], "w": [1, 2]}))
        with pytest.raises(FormatError, match="none in row 0 of the column 'w'"):
            as_graph(pandas.DataFrame({"from": ["a", "b"], "to": ["b", "a"], "w": [np.nan, 2]}))

    def test_an_empty_table(self):
        polars = pytest.importorskip("polars")
        assert (
            as_graph(polars.DataFrame({"from": [], "to": [], "w": []}, schema={"from": str, "to": str, "w": int})).n
            == 0
        )


def in_networkx(kind=nx.DiGraph, **attributes):
    G = kind(**attributes)
    G.add_weighted_edges_from(EDGES)
    return G


def in_igraph():
    return pytest.importorskip("igraph").Graph.TupleList(EDGES, directed=True, weights=True)


def in_rustworkx(payload=lambda w: w):
    G = pytest.importorskip("rustworkx").PyDiGraph()
    at = {name: G.add_node(name) for name in "bac"}
    G.add_edges_from([(at[u], at[v], payload(w)) for u, v, w in EDGES])
    return G


def in_networkit(weighted=True):
    G = pytest.importorskip("networkit").Graph(3, weighted, True)
    for u, v, w in EDGES:
        G.addEdge("bac".index(u), "bac".index(v), w)
    return G


NUMBERED = {("bac".index(u), "bac".index(v)): w for (u, v), w in EXPECTED.items()}
INDEX = np.array([["bac".index(u) for u, _, _ in EDGES], ["bac".index(v) for _, v, _ in EDGES]])
WEIGHTS = np.array([w for _, _, w in EDGES])


def as_data(**more):
    """What PyTorch Geometric's Data looks like from outside; the class itself where it is installed."""
    torch = pytest.importorskip("torch")
    fields = {"edge_index": torch.from_numpy(INDEX), **{k: torch.from_numpy(v) for k, v in more.items()}}
    try:
        from torch_geometric.data import Data
    except ImportError:
        return SimpleNamespace(num_nodes=3, **fields)
    return Data(num_nodes=3, **fields)


#: what: how to make it, how to read it, the arcs it must give
GRAPHS = {
    "tuples": (lambda: EDGES, {}, EXPECTED),
    "iterator": (lambda: iter(EDGES), {}, EXPECTED),
    "networkx": (in_networkx, {}, EXPECTED),
    "networkx unweighted": (in_networkx, {"weight": None}, UNIT),
    "networkx callable": (
        in_networkx,
        {"weight": lambda u, v, data: None if v == "b" else 2 * data["weight"]},
        {(u, v): 2 * w for (u, v), w in EXPECTED.items() if v != "b"},
    ),
    "igraph": (in_igraph, {}, EXPECTED),
    "igraph unweighted": (in_igraph, {"unweighted": True}, UNIT),
    "rustworkx": (in_rustworkx, {}, EXPECTED),
    "rustworkx attribute": (lambda: in_rustworkx(lambda w: {"km": w}), {"weight": "km"}, EXPECTED),
    "rustworkx callable": (in_rustworkx, {"weight": lambda u, v, w: w + 1}, {k: w + 1 for k, w in EXPECTED.items()}),
    "rustworkx none": (lambda: in_rustworkx(lambda w: None), {}, UNIT),
    "networkit": (in_networkit, {}, NUMBERED),
    "networkit unweighted": (lambda: in_networkit(False), {}, dict.fromkeys(NUMBERED, 1)),
    "dict of dicts": (lambda: {"b": {"a": 4}, "a": {"c": 7, "b": 9}, "c": {"b": 1}}, {}, EXPECTED),
    "dict of attributes": (lambda: nx.to_dict_of_dicts(in_networkx()), {}, EXPECTED),
    "dict of lists": (lambda: nx.to_dict_of_lists(in_networkx()), {}, UNIT),
    "edge_index": (lambda: (INDEX, WEIGHTS), {}, NUMBERED),
    "edge_index, column": (lambda: [INDEX, WEIGHTS[:, None]], {}, NUMBERED),
    "edge_index, None": (lambda: (INDEX, None), {}, dict.fromkeys(NUMBERED, 1)),
    "edge_index, weight=": (lambda: INDEX, {"weight": WEIGHTS}, NUMBERED),
    "edge_index, list": (lambda: INDEX, {"weight": WEIGHTS.tolist()}, NUMBERED),
    "edge_index, weight=None": (lambda: INDEX, {"weight": None}, dict.fromkeys(NUMBERED, 1)),
    "geometric": (lambda: as_data(edge_attr=WEIGHTS[:, None]), {}, NUMBERED),
    "geometric edge_weight": (lambda: as_data(edge_weight=WEIGHTS), {}, NUMBERED),
    "geometric column": (lambda: as_data(edge_attr=np.stack([0 * WEIGHTS, WEIGHTS], 1)), {"weight": 1}, NUMBERED),
    "geometric name": (lambda: as_data(km=WEIGHTS), {"weight": "km"}, NUMBERED),
    "geometric unweighted": (as_data, {}, dict.fromkeys(NUMBERED, 1)),
}


class TestGraphs:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_distances_against_scipy(self, name):
        make, options, expected = GRAPHS[name]
        graph, r = as_graph(make(), **options), shortest_paths(make(), **options)
        assert weights_of(graph) == weights_of(r.graph) == expected
        assert (graph.n, graph.directed) == (3, True)
        position = {label: k for k, label in enumerate(r.labels)}
        A = np.full((3, 3), INF)
        for (u, v), w in expected.items():
            A[position[u], position[v]] = w
        D = floyd_warshall(A)
        for u in position:
            for v in position:
                if np.isfinite(D[position[u], position[v]]):
                    assert r.distance(u, v) == D[position[u], position[v]]

    def test_undirected_graphs_stay_so(self):
        graph = as_graph(in_networkx(nx.Graph))
        assert not graph.directed
        igraph = pytest.importorskip("igraph")
        assert not as_graph(igraph.Graph.Ring(4)).directed
        rustworkx = pytest.importorskip("rustworkx")
        G = rustworkx.PyGraph()
        G.extend_from_weighted_edge_list([(0, 1, 5)])
        assert shortest_paths(G).distance(1, 0) == 5

    def test_a_callable_of_an_undirected_graph_may_differ_by_direction(self):
        G = nx.Graph([(0, 1), (1, 2), (2, 2)])

        def up(u, v, data):
            return 1 if u < v else 5 if u > v else None

        r = shortest_paths(G, weight=up)
        lengths = dict(nx.all_pairs_dijkstra_path_length(G, weight=up))
        assert {(u, v): r.distance(u, v) for u in G for v in G} == {(u, v): lengths[u][v] for u in G for v in G}
        assert not as_graph(G, weight=lambda u, v, data: 3).directed

    def test_a_callable_meets_what_networkx_gives_it(self):
        G = nx.MultiDiGraph()
        G.add_edge(0, 1, w=5)
        G.add_edge(0, 1, w=3)

        def lightest(u, v, edges):
            return min(data["w"] for data in edges.values())

        assert nx.dijkstra_path_length(G, 0, 1, weight=lightest) == shortest_paths(G, weight=lightest).distance(0, 1)

    def test_order_and_names(self):
        assert as_graph({"b": {"z": 1}, "a": {}}).labels == ("b", "a", "z")
        assert as_graph({(0, 0): [(0, 1)], (0, 1): []}).labels == ((0, 0), (0, 1))
        assert as_graph(in_networkx()).labels == tuple("bac")
        rustworkx = pytest.importorskip("rustworkx")
        G = rustworkx.PyDiGraph()
        G.add_nodes_from([10, 20, 30])
        G.add_edge(0, 2, 1)
        G.remove_node(1)
        assert as_graph(G).labels == (0, 2)

    def test_networkit_with_gaps(self):
        G = in_networkit()
        G.removeNode(0)
        assert as_graph(G).labels == (1, 2)
        assert weights_of(as_graph(G)) == {(1, 2): 7}

    @pytest.mark.parametrize(
        ("source", "options", "error", "words"),
        [
            (in_networkx, {"weight": "km"}, DTypeError, "attribute 'km' .* attributes 'weight'.*weight=None"),
            (in_igraph, {"weight": "km"}, DTypeError, "attribute 'km' .* attributes 'weight'"),
            (lambda: in_rustworkx(lambda w: {"m": w}), {"weight": "km"}, DTypeError, "'km' .* attributes 'm'"),
            (lambda: {"a": {"b": {"m": 1}}}, {"weight": "km"}, DTypeError, "'km'"),
            (lambda: {"a": {"b": {0: {"m": 1}}}}, {}, DTypeError, "multigraph"),
            (lambda: {"a": {"b": {"m": 1}, "c": 5}}, {}, DTypeError, "not both"),
            (lambda: {"a": [("b", 4)]}, {}, DTypeError, r"got \('b', 4\) under 'a'"),
            (lambda: {"a": "b"}, {}, DTypeError, "got str under 'a'"),
            (lambda: {"a": {"b": "far"}}, {}, DTypeError, "real numbers"),
            (lambda: {"a": [["b"]]}, {}, (VertexError, TypeError), "hash"),
            (lambda: (INDEX, WEIGHTS[:2]), {}, ShapeError, "one weight an edge"),
            (lambda: INDEX, {}, ShapeError, r"\(edge_index, weights\)"),
            (lambda: (INDEX + 0.5, WEIGHTS), {}, ShapeError, "integers"),
            (lambda: as_data(edge_attr=np.ones((4, 2))), {}, DTypeError, "weight=0"),
            (lambda: as_data(edge_attr=np.ones((4, 2))), {"weight": 2}, DTypeError, "column of edge_attr"),
            (as_data, {"weight": "km"}, DTypeError, "'km'"),
            (lambda: EDGES, {"weight": "km"}, ValueError, r"must be \(u, v, \{'km': value\}\)"),
            (lambda: np.eye(2), {"weight": "km"}, ValueError, "weight must be None"),
            (lambda: np.eye(2), {"columns": (0, 1)}, ValueError, "columns must come with a file or a table"),
            (lambda: in_networkit(), {"weight": "km"}, ValueError, "weight must be None"),
            (lambda: in_igraph(), {"weight": len}, ValueError, "name of an edge attribute"),
            (lambda: EDGES, {"weight": "km", "unweighted": True}, ValueError, "without a weight"),
            (lambda: EDGES, {"format": "csv"}, ValueError, "format must come with a file, got it with edges as tuples"),
            (lambda: EDGES, {"columns": "uv"}, ValueError, "columns must be"),
            (lambda: EDGES, {"columns": (0, "v")}, ValueError, "all be names, or all positions"),
            (lambda: EDGES, {"columns": (-1, 0)}, ValueError, "positions from 0"),
            (object, {}, DTypeError, "a NetworkX graph; an igraph Graph; .* Got object"),
        ],
    )
    def test_what_is_refused(self, source, options, error, words):
        with pytest.raises(error, match=words):
            as_graph(source(), **options)

    def test_every_kind_is_in_the_table_of_the_docs(self):
        import apsp.io.inputs

        for name in NAMES:
            assert f"| {name} " in apsp.io.inputs.__doc__
            assert kinds()[name].description


class TestAttributes:
    """Which attribute of edges is their weight, by the rule of columns."""

    #: A street of 4 and one of 7, and a short cut that is longer: what OSMnx makes of a map, in short.
    STREETS = (
        ("A", "B", {"osmid": 11, "length": 4.0, "name": "High Street", "oneway": True, "geometry": object()}),
        ("B", "C", {"osmid": [12, 13], "length": 7.0, "highway": "residential", "oneway": False, "lanes": None}),
        ("A", "C", {"osmid": 14, "length": 40.0, "oneway": False}),
    )

    in_dicts, in_igraph, in_rustworkx = map(staticmethod, (people.in_dicts, people.in_igraph, people.in_rustworkx))

    def in_networkx(self, edges):
        G = nx.MultiDiGraph()
        G.add_edges_from(edges)
        return G

    def in_geometric(self, edges):
        names = sorted({x for u, v, _ in edges for x in (u, v)})
        index = np.array([[names.index(u) for u, _, _ in edges], [names.index(v) for _, v, _ in edges]])
        held = {key: [data.get(key) for _, _, data in edges] for key in {k for _, _, data in edges for k in data}}
        kept = {key: np.array(values) for key, values in held.items() if {type(x) for x in values} <= {int, float}}
        more = {"edge_index": index, "edge_attr": np.ones((len(edges), 2)), **kept}
        return SimpleNamespace(num_nodes=len(names), edge_attrs=lambda: list(more), **more)

    @pytest.fixture(params=["networkx", "igraph", "rustworkx", "dicts", "geometric"])
    def made(self, request):
        return getattr(self, f"in_{request.param}")

    def distance(self, graph, **how):
        r = shortest_paths(graph, **how)
        return r.distance(*(("A", "C") if "A" in r.graph.labels else (0, 2)))

    def test_the_length_of_streets_is_found(self, made):
        assert self.distance(made(self.STREETS)) == 11.0
        assert self.distance(made(self.STREETS), weight="length") == 11.0
        assert self.distance(made(self.STREETS), weight=None) == 1

    @pytest.mark.parametrize("names", [("minutes",), ("edge_length", "lanes"), ("Length", "osmid"), ("weight", "id")])
    def test_the_only_one_of_numbers_or_the_one_that_is_called_so(self, made, names):
        edges = [(u, v, {names[0]: w, **dict.fromkeys(names[1:], 3)}) for u, v, w in (("A", "B", 4), ("B", "C", 7))]
        assert self.distance(made(edges)) == 11

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (("lanes", "osmid"), r"got '\w+', '\w+', and none is called weight, length, .*weight=None for unweighted"),
            (("length", "weight"), r"got '\w+', '\w+', and more than one of them could be it. Say weight='"),
        ],
    )
    def test_two_that_qualify_are_refused(self, made, names, words):
        edges = [("A", "B", dict.fromkeys(names, 4)), ("B", "C", dict.fromkeys(names, 7))]
        with pytest.raises(DTypeError, match=words):
            shortest_paths(made(edges))
        for name in names:
            assert self.distance(made(edges), weight=name) == 11

    def test_nothing_of_numbers_makes_hops(self, made):
        if made == self.in_geometric:
            pytest.skip("edge_attr of two columns is refused: one of them may be it")
        edges = [(u, v, {"name": "x", "oneway": True, "osmid": [1]}) for u, v in (("A", "B"), ("B", "C"))]
        assert self.distance(made(edges)) == 2

    @pytest.mark.parametrize("which", ["networkx", "rustworkx", "dicts"])
    def test_a_weight_that_is_text_is_no_other_attribute(self, which):
        """Where "weight" holds text, "osmid" is not taken for it."""
        edges = [("A", "B", {"weight": "4", "osmid": 1}), ("B", "C", {"weight": "7", "osmid": 2})]
        with pytest.raises(DTypeError, match="weights must be real numbers"):
            shortest_paths(getattr(self, f"in_{which}")(edges))

    def test_a_weight_that_no_edge_has_is_refused(self, made):
        with pytest.raises(DTypeError, match="'weight'"):
            shortest_paths(made(self.STREETS), weight="weight")

    def test_numbers_of_any_type(self):
        for number in (np.float32, np.int16, Fraction, Decimal):
            assert self.distance(self.in_networkx([("A", "C", {"minutes": number(3), "flag": np.True_})])) == 3


class TestUnweighted:
    A = np.array([[0, 3.5, INF], [INF, INF, 0.25], [-2, INF, INF]])

    def hops(self, there):
        return floyd_warshall(np.where(there, 1.0, INF))

    @pytest.mark.parametrize(
        "matrix", [A, A < INF, (A < INF).astype(int), np.where(A < INF, A * 4, 2**31 - 1).astype("i4")]
    )
    def test_every_edge_weighs_1(self, matrix):
        expected = self.hops(self.A < INF)
        np.testing.assert_array_equal(closure(matrix, unweighted=True, dtype="float64"), expected)
        np.testing.assert_array_equal(closure(np.stack([matrix] * 2), unweighted=True, dtype="float64")[1], expected)
        assert closure(matrix, unweighted=True).dtype == np.int16
        graph = Graph.from_matrix(matrix)  # integers of shape (3, 3) may as well be edges
        np.testing.assert_array_equal(shortest_paths(graph, unweighted=True).distances, expected)
        np.testing.assert_array_equal(shortest_paths(graph, weight=None).distances, expected)
        assert transitive_closure(graph, unweighted=True).reaches(0, 2)
        assert as_graph(graph, unweighted=True).edge_count == 4

    def test_plans_take_it_too(self):
        there = self.A < INF
        assert plan(there, unweighted=True).dtype == plan(EDGES, unweighted=True).dtype == "int16"
        assert plan(self.A, unweighted=True).variant == "nonnegative"
        with pytest.raises(DTypeError, match="bool"):
            plan(there)

    def test_of_a_matrix_that_does_not_say_what_is_an_edge(self):
        with pytest.raises(DTypeError, match=r"A < np\.inf or A != 0"):
            closure(np.array([[0, 2], [0, 3]]), unweighted=True)
        with pytest.raises(DomainError, match=r"NaN at \(0, 1\)"):
            closure(np.array([[INF, np.nan], [3, 0]]), unweighted=True)

    def test_other_semirings_and_what_is_written(self, tmp_path):
        there = self.A < INF
        np.testing.assert_array_equal(
            as_graph(there, unweighted=True).matrix("max_plus", "float64"), np.where(there, 1.0, -INF)
        )
        np.testing.assert_array_equal(as_graph(self.A, unweighted=True).matrix("boolean"), there)
        for suffix in ("csv", "npy", "npz", "mtx", "snap"):
            path = tmp_path / f"g.{suffix}"
            write(as_graph(self.A, unweighted=True), path)
            np.testing.assert_array_equal(read(path).matrix("min_plus", "float64"), np.where(there, 1.0, INF))

    def test_graphs_and_files_too(self):
        assert closure(EDGES, unweighted=True).max() == 2
        assert shortest_paths(io.StringIO("from,to,minutes\nA,B,295\n"), unweighted=True).distance("A", "B") == 1

    def test_no_memory_to_overwrite(self):
        with pytest.raises(DTypeError, match="overwrite"):
            closure(self.A, unweighted=True, overwrite=True)


def random_matrix(n=9, dtype="float32"):
    rng = np.random.default_rng(n)
    return np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), INF).astype(dtype)


def torch_tensor(A):
    return pytest.importorskip("torch").from_numpy(A.copy())


def torch_transposed(A):
    return torch_tensor(np.ascontiguousarray(np.swapaxes(A, -1, -2))).mT


def jax_array(A):
    return pytest.importorskip("jax.numpy").asarray(A)


def strict_array(A):
    return pytest.importorskip("array_api_strict").asarray(A)


def torch_half(A):
    return torch_tensor(A).to(pytest.importorskip("torch").float16)


def torch_brain(A):
    return torch_tensor(A).to(pytest.importorskip("torch").bfloat16)


def jax_brain(A):
    return jax_array(A).astype("bfloat16")


def numpy_brain(A):
    return A.astype(pytest.importorskip("ml_dtypes").bfloat16)


def numbers(X):
    """On the host, in a dtype that NumPy has."""
    return np.asarray(X.float() if hasattr(X, "float") else X, dtype=np.float32)


KINDS = (np.array, np.asfortranarray, torch_tensor, torch_transposed, jax_array, strict_array)
HALVES = (lambda A: A.astype(np.float16), torch_half, torch_brain, jax_brain, numpy_brain)


def test_jax_leaves_a_card_to_other_tests():
    """It reads this when it is first used; and so do processes that tests start."""
    assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


class TestArrays:
    @pytest.mark.parametrize("make", [*KINDS, *HALVES])
    def test_what_came_goes_back(self, make):
        A = random_matrix()
        X = make(A)
        D = closure(X)
        assert type(D) is type(X)
        assert str(D.dtype).endswith("float32")
        np.testing.assert_array_equal(np.asarray(D), floyd_warshall(A))
        np.testing.assert_array_equal(numbers(X), A)

    @pytest.mark.parametrize("make", KINDS)
    def test_also_within_limits(self, make, tmp_path):
        X = make(random_matrix())
        for limits in ({"memory": "1MiB"}, {"checkpoint": tmp_path / "state"}):
            D = closure(X, **limits)
            assert type(D) is type(X)
            np.testing.assert_array_equal(np.asarray(D), floyd_warshall(random_matrix()))

    @pytest.mark.parametrize("make", KINDS)
    def test_batches_booleans_and_nothing(self, make):
        A = random_matrix()
        both = np.asarray(closure(make(np.stack([A, A.T]))))
        np.testing.assert_array_equal(both[1], floyd_warshall(np.ascontiguousarray(A.T)))
        assert np.asarray(closure(make(A < INF), "boolean")).dtype == bool
        assert tuple(closure(make(np.zeros((0, 0), np.float32))).shape) == (0, 0)

    @pytest.mark.parametrize("make", [np.array, np.asfortranarray, torch_tensor, torch_transposed, strict_array])
    def test_overwriting_returns_the_very_object(self, make):
        A = random_matrix()
        X = make(A)
        assert closure(X, overwrite=True) is X
        np.testing.assert_array_equal(np.asarray(X), floyd_warshall(A))

    @pytest.mark.parametrize("make", [jax_array, *HALVES, jax_brain, np.ndarray.tolist])
    def test_what_cannot_be_overwritten(self, make):
        X = make(random_matrix())
        with pytest.raises(DTypeError, match="overwrite"):
            closure(X, overwrite=True)
        np.testing.assert_array_equal(numbers(X), random_matrix())

    @pytest.mark.parametrize("declared", [{}, {"null_value": None}], ids=["undeclared", "declared"])
    @pytest.mark.parametrize("dtype", [">f8", "float16", "uint8", "float32"])
    def test_what_has_another_dtype_is_told_so(self, dtype, declared):
        X = np.array([[0, 5], [2, 0]], dtype)
        asked = {"dtype": "float64"} if dtype == "float32" else {}
        found = {">f8": "float64 array, got >f8", "float16": "float32 array, got float16"}.get(dtype, "array, got")
        with pytest.raises(DTypeError, match=f"must be a native .*{found}.*Convert it first"):
            closure(X, overwrite=True, **asked, **declared)
        assert closure(X.astype(closure(X, **asked).dtype), overwrite=True, **declared).tolist() == [[0, 5], [2, 0]]

    def test_read_only_memory(self):
        A = random_matrix()
        A.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            closure(A, overwrite=True)

    def test_a_class_with_an_array_of_its_own(self):
        class Holder:
            def __init__(self, array):
                self.array = array

            def __array__(self, dtype=None, copy=None):
                return self.array

        A = random_matrix()
        held = Holder(A.copy())
        np.testing.assert_array_equal(closure(held), floyd_warshall(A))
        np.testing.assert_array_equal(held.array, A)

    def test_what_torch_does_not_export(self):
        torch = pytest.importorskip("torch")
        for wrong, words in (
            (torch.eye(2).to_sparse(), "coalesce"),
            (torch.ones(2, 2, device="meta"), "without numbers"),
            (torch.ones(2, 2, dtype=torch.complex64).conj(), "closure"),
            (torch.ones(2, 2, dtype=torch.complex64), "real"),
            (torch.ones(2, 2, dtype=torch.float8_e5m2), r"A\.float\(\)"),
        ):
            with pytest.raises(DTypeError, match=words):
                closure(wrong)
            with pytest.raises(DTypeError, match=words.replace("closure", "Graph")):
                as_graph(wrong)
        with pytest.raises(DTypeError, match=r"Graph.*A\.detach\(\)"):  # closure has gradients
            as_graph(torch.ones(2, 2, requires_grad=True))

    def test_numbers_of_torch_that_cannot_be_read(self):
        """NumPy reads uninitialised memory of a fake tensor, and loses the tangent of a dual one."""
        torch = pytest.importorskip("torch")
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fake = torch.ones(2, 2)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.ones(2, 2), torch.ones(2, 2))
            for X, words in ((fake, "without numbers"), (dual, r"tangent of forward mode\. Use torch\.autograd\.grad")):
                for call in (closure, as_graph, csgraph.floyd_warshall, lambda X: power(X, 2), lambda X: matmul(X, X)):
                    with pytest.raises(DTypeError, match=words):
                        call(X)
        assert closure(dual, null_value=None).tolist() == [[0, 1], [1, 0]]  # outside of its level it has no tangent

    @pytest.mark.parametrize("call", [closure, lambda X: power(X, 2), lambda X: matmul(X, X)])
    def test_torch_func_is_refused_with_a_way_out(self, call):
        torch = pytest.importorskip("torch")
        A = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
        for transformed in (torch.func.vmap(call), torch.func.grad(lambda X: call(X).sum())):
            with pytest.raises(DTypeError, match=r"inside of torch\.func\. Instead of vmap pass a batch"):
                transformed(torch.stack([A, A]) if transformed.__name__ != "<lambda>" else A)
        assert torch.equal(torch.func.grad(lambda X: prod(X, axis=0).sum())(A), torch.ones(2, 2))

    def test_scipys_functions_take_tensors(self):
        torch = pytest.importorskip("torch")
        A = torch_tensor(random_matrix())
        np.testing.assert_array_equal(csgraph.floyd_warshall(A.bfloat16()), floyd_warshall(random_matrix()))
        for wrong, words in ((A.requires_grad_(), r"A\.detach\(\)"), (torch.eye(2).to_sparse(), "coalesce")):
            with pytest.raises(DTypeError, match=f"floyd_warshall: .*{words}"):
                csgraph.floyd_warshall(wrong)

    @pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
    @pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
    def test_sparse_tensors_of_torch(self, layout):
        torch = pytest.importorskip("torch")
        A = getattr(torch.tensor([[0, 3.0, 0], [1, 0, 0], [0, 0, 0]]), layout)()
        for call in (closure, shortest_paths, lambda A: matmul(A, A)):
            with pytest.raises(
                DTypeError, match=r"Say C = A\.to_sparse_coo\(\)\.coalesce\(\) and scipy\.sparse\.coo_array"
            ):
                call(A)
        C = A.to_sparse_coo().coalesce()
        way = sparse.coo_array((C.values(), C.indices()), C.shape)
        assert shortest_paths(way).distances.tolist() == [[0, 3, INF], [1, 0, INF], [INF, INF, 0]]

    def test_torch_minus_is_no_plus(self):
        torch = pytest.importorskip("torch")
        z = torch.tensor([[0j, 3j], [2j, 0j]]).conj().imag  # lazily negated: torch exports the bits below
        assert z.is_neg()
        np.testing.assert_array_equal(np.asarray(closure(-z)), [[0, 3], [2, 0]])
        np.testing.assert_array_equal(take_in(z, where="test").array, [[0, -3], [-2, 0]])

    def test_jax_says_what_it_cannot_hold(self):
        jax = pytest.importorskip("jax")
        with pytest.raises(DTypeError, match="jax_enable_x64"):
            closure(jax_array(random_matrix()), dtype="float64")
        with pytest.raises(DTypeError, match="outside of jit"):
            jax.jit(lambda A: power(A, 2))(jax_array(random_matrix()))

    def test_sparse_arrays_of_jax(self):
        A = pytest.importorskip("jax.experimental.sparse").BCOO.fromdense(
            jax_array(np.array([[0, 3, 0], [0, 0, 4], [1, 0, 0]], np.float32))
        )
        for call in (closure, as_graph, shortest_paths, lambda A: matmul(A, A)):
            with pytest.raises(DTypeError, match=r"scipy\.sparse\.coo_array\(\(A\.data, A\.indices\.T\), A\.shape\)"):
                call(A)
        way = sparse.coo_array((A.data, A.indices.T), A.shape)
        assert shortest_paths(way).distances.tolist() == [[0, 3, 7], [5, 0, 4], [1, 4, 0]]

    def test_small_floats_of_jax(self):
        X = jax_array(random_matrix()).astype("float8_e5m2")
        with pytest.raises(DTypeError, match=r"A\.astype\(numpy\.float32\)"):
            closure(X)
        np.testing.assert_array_equal(closure(X.astype(np.float32)), floyd_warshall(random_matrix()))

    def test_immutable_arrays_have_a_way_out(self):
        X = jax_array(random_matrix())
        with pytest.raises(DTypeError, match=r"immutable .*Leave overwrite out"):
            closure(X, overwrite=True)
        with pytest.raises(DTypeError, match=r"immutable .*Leave it out"):
            matmul(X, X, out=X)
        with pytest.raises(TypeError, match=r"sources: vertices must be a list .*got 1\. Pass \[1\]"):
            shortest_paths(X, sources=X[0, 0].astype(int) * 0 + 1)

    @pytest.mark.parametrize("make", [jax_array, strict_array])
    def test_products_along_an_axis(self, make):
        A = np.arange(1.0, 13).reshape(3, 4).astype(np.float32)
        for axis in (0, 1):
            np.testing.assert_array_equal(np.asarray(prod(make(A), "min_plus", axis=axis)), A.sum(axis))

    def test_which_sources_are_arrays(self):
        assert is_array(np.eye(2))
        assert is_array([[0, 1], [1, 0]])
        assert is_array([np.eye(2), np.eye(2)])  # a batch
        assert closure(np.array([np.eye(2), np.eye(2)]), null_value=0).shape == (2, 2, 2)
        assert not is_array(EDGES)
        assert not is_array((INDEX, WEIGHTS))

    def test_reachability_and_plans_of_tensors(self):
        A = torch_tensor(random_matrix())
        assert transitive_closure(A).n == 9
        assert plan(A).n == 9
        assert shortest_paths(A).distances.dtype == np.float32


class TestProducts:
    """`matmul`, `matvec`, `power`, `eye` and `lu` of whatever came, in kind."""

    A, B = random_matrix(), random_matrix().T.copy()

    @staticmethod
    def product(A, B):
        return (A[..., :, :, None] + B[..., None, :, :]).min(axis=-2)

    @pytest.mark.parametrize("make", [*KINDS, *HALVES])
    def test_what_came_goes_back(self, make):
        A, B = make(self.A), make(self.B)
        for came, wanted in (
            (matmul(A, B), self.product(self.A, self.B)),
            (matvec(A, B[0, :]), self.product(self.A, self.B[0][:, None])[:, 0]),
            (matvec(A, B), self.product(self.A, self.B.T).T),
            (power(A, 1), self.A),
            (power(A, 2), self.product(self.A, self.A)),
            (power(A, 0), np.where(np.eye(9), 0, INF)),
            (eye(9, dtype="float32", like=A), np.where(np.eye(9), 0, INF)),
            (matmul(self.A.tolist(), B, dtype="float32"), self.product(self.A, self.B)),
        ):
            assert type(came) is type(A)
            assert str(came.dtype).endswith("float32")
            np.testing.assert_array_equal(np.asarray(came), wanted)
        np.testing.assert_array_equal(numbers(A), self.A)

    @pytest.mark.parametrize("make", KINDS)
    def test_batches_and_factors(self, make):
        A = make(np.stack([self.A, self.B]))
        both = matmul(A, make(self.B))
        assert type(both) is type(A)
        np.testing.assert_array_equal(np.asarray(both), self.product(np.stack([self.A, self.B]), self.B))
        X = make((np.where(np.isinf(self.A), 0, self.A) + 99 * np.eye(9)).astype("float32"))
        L, U = lu(X)
        assert type(L) is type(U) is type(X)
        np.testing.assert_allclose(np.asarray(L) @ np.asarray(U), np.asarray(X), rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("make", [np.array, np.asfortranarray, torch_tensor, torch_transposed, strict_array])
    def test_out_is_the_very_object(self, make):
        A, B, C = (make(X.copy()) for X in (self.A, self.B, np.ones((9, 9), np.float32)))
        assert matmul(A, B, out=C, accumulate=True) is C
        np.testing.assert_array_equal(np.asarray(C), np.minimum(self.product(self.A, self.B), 1))
        assert matmul(A, B, out=A) is A
        np.testing.assert_array_equal(np.asarray(A), self.product(self.A, self.B))
        assert matvec(B, B, out=C) is C
        np.testing.assert_array_equal(np.asarray(C), self.product(self.B, self.B.T).T)
        row = C[0, :]
        assert matvec(B, B[0, :], out=row) is row
        np.testing.assert_array_equal(np.asarray(C)[0], self.product(self.B, self.B[0][:, None])[:, 0])

    @pytest.mark.parametrize("make", [jax_array, *HALVES, np.ndarray.tolist])
    def test_what_is_no_out(self, make):
        out = make(self.A)
        like = out if make is jax_array else torch_tensor(self.A) if make in (torch_half, torch_brain) else self.A
        with pytest.raises(DTypeError, match="out must"):
            matmul(like, like, out=out)
        np.testing.assert_array_equal(numbers(out), self.A)

    def test_of_one_library(self):
        torch = torch_tensor(self.A)
        for call in (
            lambda: matmul(self.A, torch),
            lambda: matmul(torch, self.A),
            lambda: matvec(torch, self.A[0]),
            lambda: matmul(torch, torch, out=self.A.copy()),
            lambda: matmul(self.A, self.A, out=torch),
        ):
            with pytest.raises(DTypeError, match=r"of one library, got (numpy and torch|torch and numpy)"):
                call()
        parameter = pytest.importorskip("torch").nn.Parameter(torch, requires_grad=False)
        assert matmul(torch, parameter).shape == (9, 9)

    @pytest.mark.parametrize("name", ["matvec", "power", "lu", "eye"])
    def test_what_is_not_exported_is_our_error(self, name):
        X = pytest.importorskip("torch").ones(2, 2, requires_grad=True)
        call = {
            "matvec": lambda: matvec(X, X[0]),
            "power": lambda: power(X, 2),
            "lu": lambda: lu(X),
            "eye": lambda: eye(2, like=X),
        }[name]
        with pytest.raises(DTypeError, match=rf"{name}: .*A\.detach\(\)"):
            call()

    def test_dtypes_of_other_libraries(self):
        torch = pytest.importorskip("torch")
        X = torch_tensor(self.A)
        assert closure(X, dtype=torch.float64).dtype == matmul(X, X, dtype=torch.float64).dtype == torch.float64
        assert eye(2, dtype=torch.int32, like=X).dtype == torch.int32
        with pytest.raises(DTypeError, match=r"got torch\.complex64|got complex64"):
            closure(X, dtype=torch.complex64)

    def test_jax_says_what_it_cannot_hold(self):
        with pytest.raises(DTypeError, match=r"matmul: .*jax_enable_x64"):
            matmul(jax_array(self.A), jax_array(self.A), dtype="float64")


@pytest.mark.gpu
class TestArraysOnAGpu:
    """DLPack hands streams over: what another one still writes is waited for, and what it reads next waits for us."""

    def test_torch_with_a_side_stream_that_is_still_writing(self):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        A = random_matrix(300)
        expected = floyd_warshall(A)
        stream = torch.cuda.Stream()
        for _ in range(5):
            with torch.cuda.stream(stream):
                X = torch.zeros(300, 300, device="cuda")
                torch.cuda._sleep(50_000_000)  # cycles
                X.copy_(torch.from_numpy(A).pin_memory(), non_blocking=True)
                D = closure(X)
                assert D.device == X.device
                again = (D + 0).cpu()
            np.testing.assert_array_equal(again.numpy(), expected)
            with torch.cuda.stream(stream):
                assert closure(X, overwrite=True) is X
                again = X.cpu()
            np.testing.assert_array_equal(again.numpy(), expected)
        half = torch.from_numpy(A).cuda().to(torch.bfloat16)
        np.testing.assert_array_equal(closure(half).cpu().numpy(), expected)

    def test_products_of_torch_with_a_side_stream_that_is_still_writing(self):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        A = random_matrix(300)
        expected = (A[:, :, None] + A[None]).min(axis=1)
        stream = torch.cuda.Stream()
        for _ in range(5):
            with torch.cuda.stream(stream):
                X, C = torch.zeros(300, 300, device="cuda"), torch.zeros(300, 300, device="cuda")
                torch.cuda._sleep(50_000_000)  # cycles
                X.copy_(torch.from_numpy(A).pin_memory(), non_blocking=True)
                D = matmul(X, X)
                assert D.device == X.device
                came = [(D + 0).cpu(), matvec(X, X[:, 0].contiguous()).cpu(), power(X, 2).cpu()]
                torch.cuda._sleep(50_000_000)
                C.fill_(7)
                assert matmul(X, X, out=C, accumulate=True) is C
                came.append(C.cpu())
            for got, wanted in zip(came, (expected, expected[:, 0], expected, np.minimum(expected, 7)), strict=True):
                np.testing.assert_array_equal(got.numpy(), wanted)
        L, U = lu(torch.eye(70, device="cuda") * 3)
        assert L.device == U.device == X.device
        assert eye(3, like=X).device == X.device

    def test_products_of_jax(self):
        jax = pytest.importorskip("jax")
        if jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        A = random_matrix(300)
        X = jax.numpy.asarray(A)
        for _ in range(5):
            D = matmul(X + 0, X + 0)
            assert D.devices() == X.devices()
            np.testing.assert_array_equal(np.asarray(D), (A[:, :, None] + A[None]).min(axis=1))

    def test_on_another_device_than_the_current_one(self):
        cupy = pytest.importorskip("cupy")
        if cupy.cuda.runtime.getDeviceCount() < 2:
            pytest.skip("this machine has one GPU")
        A = random_matrix(300)
        with cupy.cuda.Device(1):
            X = cupy.asarray(A)
        for D in (closure(X), shortest_paths(X).distances):
            assert D.device.id == 1
            np.testing.assert_array_equal(D.get(), floyd_warshall(A))
        assert matmul(X, X).device.id == power(X, 3).device.id == 1
        assert shortest_paths(X).distance([0, 1], [2, 3]).shape == (2,)
        with cupy.cuda.Device(1):
            near = X < 5
        reached = floyd_warshall(np.where(A < 5, 1.0, np.inf)) < np.inf
        found = transitive_closure(near, reflexive=True)
        np.testing.assert_array_equal(found.to_bool(), reached)
        bits = BitMatrix.from_bool(near)
        assert bits.words.device.id == (bits @ bits.T).words.device.id == 1
        np.testing.assert_array_equal((bits @ bits).to_bool().get(), (A < 5) @ (A < 5))
        np.testing.assert_array_equal(bits.counts(axis=1).get(), (A < 5).sum(axis=1))
        assert cupy.cuda.runtime.getDevice() == 0
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            T = torch.from_numpy(A).to("cuda:1")
            assert closure(T).device == matmul(T, T).device == T.device
            assert closure(T, overwrite=True) is T

    def test_jax(self):
        jax = pytest.importorskip("jax")
        if jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        A = random_matrix(300)
        X = jax.numpy.asarray(A)
        for _ in range(5):
            D = closure(X + 0)
            assert D.devices() == X.devices()
            np.testing.assert_array_equal(np.asarray(D), floyd_warshall(A))
        with pytest.raises(DTypeError, match="immutable"):
            closure(X, overwrite=True)
        np.testing.assert_array_equal(np.asarray(X), A)

    def test_cupy(self):
        import cupy

        A = random_matrix(300)
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            X = cupy.asarray(A)
            D = closure(X)
            assert isinstance(D, cupy.ndarray)
            np.testing.assert_array_equal(D.get(), floyd_warshall(A))
            assert closure(X, overwrite=True) is X
            np.testing.assert_array_equal(X.get(), floyd_warshall(A))
        np.testing.assert_array_equal(
            closure(cupy.asarray(A < INF), unweighted=True).get() == 1, (A < INF) & ~np.eye(300, dtype=bool)
        )


def test_two_by_two_integers_without_weights_are_a_matrix_or_edges_and_say_which():
    """[[0, 1], [0, 0]] is the edge 0 → 1 as a matrix, and a loop and 1 → 0 as an edge_index."""
    A = np.array([[0, 1], [0, 0]])
    for reading in ({"unweighted": True}, {"weight": None}):
        with pytest.raises(ShapeError, match=r"Pass A == 1 for a matrix, \(edge_index, None\) for edges"):
            as_graph(A, **reading)
        for given, arcs in (((A, None), [(0, 0), (1, 0)]), (A == 1, [(0, 1)]), (np.where(A == 1, 1, np.inf), [(0, 1)])):
            rows, cols, _ = as_graph(given, **reading).edges("min_plus")
            assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == arcs
    assert as_graph(A, weight=[5, 6]).weights.tolist() == [5, 6]
    with pytest.raises(ShapeError, match=r"Graph\.from_matrix\(A\) for the matrix"):
        as_graph(A)


def test_integers_of_shape_3_by_3_are_a_matrix_or_edges_and_closure_takes_the_matrix():
    A = np.array([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    for ask in (shortest_paths, transitive_closure, negative_cycle):
        with pytest.raises(ShapeError, match=r"may be a matrix or 3 edges \(u, v, weight\)"):
            ask(A)
    np.testing.assert_array_equal(shortest_paths(Graph.from_matrix(A)).distances, [[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    assert shortest_paths(Graph.from_edges(A)).distance(0, 1) == 5
    np.testing.assert_array_equal(closure(A), [[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    for options in ({"device": "cpu"}, {"memory": "1GiB"}, {"unweighted": True, "memory": "1GiB"}):
        closure((A == 1).astype(int), null_value=0, **options)
    plan(A)
    matmul(A, A)


def test_a_number_that_is_the_name_of_another_column_is_refused():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame([[5.5, 1, 2], [1.5, 2, 3]], columns=[2, 0, 1])
    with pytest.raises(FormatError, match="a name or a position, got 0, which is either"):
        as_graph(table, columns=(0, 1, 2))
    assert as_graph(table[[0, 1, 2]], columns=(0, 1, 2)).weights.tolist() == [5.5, 1.5]
    for wrong in (-1, 3):
        with pytest.raises(FormatError, match=f"a column at position {wrong}, counted from 0"):
            as_graph(pd.DataFrame([["a", "b", 3]], columns=["from", "to", "x"]), weight=wrong)


def test_zeros_that_fill_blocks_are_not_taken_for_edges():
    A = np.array([[0, 2, 3], [0, 0, 4], [1, 2, 0.0]])
    padded = sparse.bsr_array(A, blocksize=(3, 3))
    for take in (as_graph, csgraph.shortest_path):
        with pytest.raises(ShapeError, match=r"BSR.*eliminate_zeros"):
            take(padded)
    full = sparse.bsr_array(np.array([[7.0, 2], [5, 7]]), blocksize=(2, 2))
    assert as_graph(full).edge_count == 4
    true = sparse.bsr_array(A != 0, blocksize=(3, 3))
    assert as_graph(true).edge_count == 5  # False is no edge
    with pytest.raises(DomainError, match=r"a stored False.*A\.eliminate_zeros\(\)"):
        csgraph.shortest_path(true)
    expected = floyd_warshall(A)
    np.testing.assert_array_equal(shortest_paths(sparse.bsr_array(A, blocksize=(1, 1))).distances, expected)
    np.testing.assert_array_equal(csgraph.shortest_path(sparse.bsr_array(A, blocksize=(1, 1))), expected)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_the_ends_of_integers_are_infinite_in_sparse_matrices_too(dtype, tmp_path):
    """As in dense ones, in files of them, and in `eliminate`; int8 has no infinity."""
    info = np.iinfo(dtype)
    # Each semiring once: every pair would compile twelve kernels.
    both = {"int16": ["min_plus"], "int32": ["max_plus", "max_min"], "int64": ["min_max"]}
    for name in both[dtype]:
        far = info.max if name[:3] == "min" else info.min
        A = np.array([[far, 3, far], [far, far, 4], [far, far, far]], dtype)
        expected = shortest_paths(Graph.from_matrix(A), name)
        stored = sparse.coo_array((A.ravel(), np.indices(A.shape).reshape(2, -1)), A.shape)
        sparse.save_npz(tmp_path / "a.npz", stored)
        for source in (stored, stored.tocsr(), stored.tocsc(), str(tmp_path / "a.npz")):
            found = shortest_paths(source, name)
            assert found.reachable.tolist() == expected.reachable.tolist() == np.triu(np.ones((3, 3))).tolist()
            assert [found.distance(0, k) for k in range(3)] == [expected.distance(0, k) for k in range(3)]
            assert shortest_paths(source, unweighted=True).distance(0, 2) == 2
        np.testing.assert_array_equal(eliminate(stored, name).row(0) == far, [False, False, False])
        assert eliminate(stored, name).row(2)[0] == far
    tiny = sparse.coo_array((np.array([127, 1], "int8"), ([0, 1], [1, 2])), (3, 3))
    assert shortest_paths(tiny).distance(0, 2) == 128


def test_a_block_is_an_integer():
    for wrong in (0, 1.5, "3"):
        with pytest.raises(ValueError, match=f"^block must be an integer of at least 1, got {wrong!r}"):
            closure([[0, 1], [1, 0]], block=wrong)
    assert closure([[0, 1], [1, 0]], block=np.int64(1)).tolist() == [[0, 1], [1, 0]]


def test_entries_that_share_memory_are_not_written_to():
    sliding = np.lib.stride_tricks.as_strided(np.arange(5.0), (3, 3), (8, 8))
    expected = closure(sliding.copy())
    np.testing.assert_array_equal(closure(sliding), expected)
    for overwriting in (lambda: closure(sliding, overwrite=True), lambda: matmul(expected, expected, out=sliding)):
        with pytest.raises(ValueError, match="do not overlap in memory"):
            overwriting()
    np.testing.assert_array_equal(sliding[0], [0, 1, 2])
    for apart in (np.ones((7, 6))[::2, ::-2], np.ones((3, 3)).T, np.ones((1, 3, 3))[0], np.ones((0, 0))):
        n = min(apart.shape)
        assert closure(apart[:n, :n], overwrite=True).shape == (n, n)


class TestPairs:
    def test_a_dict_by_pairs_is_edges(self):
        graph = as_graph({("b", "c"): 4, ("a", "b"): 3})
        assert graph.labels == ["a", "b", "c"]
        assert shortest_paths({("b", "c"): 4, ("a", "b"): 3}).distance("a", "c") == 7
        G = nx.gnm_random_graph(9, 20, seed=1, directed=True)
        nx.set_edge_attributes(G, {edge: k % 7 + 1 for k, edge in enumerate(G.edges)}, "weight")
        found = shortest_paths(nx.get_edge_attributes(G, "weight"), dtype="float64").distances
        np.testing.assert_array_equal(found, nx.floyd_warshall_numpy(G, sorted(G)))
        assert as_graph({("a", "b"): 3}, unweighted=True).weights is None
        # Pairs as vertices, as of a grid, stay dicts of dicts or of lists.
        assert as_graph({(0, 0): {(0, 1): 5}}).labels == [(0, 0), (0, 1)]
        assert as_graph({(0, 0): [(0, 1)], (0, 1): []}).labels == [(0, 0), (0, 1)]
        with pytest.raises(DTypeError, match=r"\{\(u, v\): weight\}"):
            as_graph({("a", "b"): 3, "c": 4})
        with pytest.raises(ValueError, match="weight must be None for weights by pairs"):
            as_graph({("a", "b"): 3}, weight="length")

    def test_a_series_of_two_levels_is_edges(self):
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame({"from": ["b", "a", "a"], "to": ["c", "b", "b"], "km": [4.5, 3, 2]})
        series = table.set_index(["from", "to"])["km"]
        assert shortest_paths(series).distance("a", "c") == shortest_paths(table).distance("a", "c") == 6.5
        minutes = pd.to_timedelta(series, unit="min")
        assert as_graph(minutes).weights.tolist() == [270, 180, 120]
        with pytest.raises(FormatError, match=r"must be a number, got none in row 2"):
            as_graph(series.where(series > 2))
        with pytest.raises(ShapeError, match="square"):
            as_graph(table["km"])


class TestDurations:
    def test_timedeltas_are_seconds(self):
        from datetime import timedelta

        hours = np.array([90, 30], "m8[m]")
        assert Graph.from_arrays([0, 1], [1, 2], hours).weights.tolist() == [5400, 1800]
        assert Graph.from_arrays([0, 1], [1, 2], hours).weights.dtype == np.int64
        assert Graph.from_arrays([0], [1], np.array([1500], "m8[ms]")).weights.tolist() == [1.5]
        edges = [("a", "b", timedelta(hours=1)), ("b", "c", timedelta(days=-1, seconds=86370))]
        assert as_graph(edges).weights.tolist() == [3600, -30]
        for wrong, error in ((np.array([1], "m8[M]"), DTypeError), (np.array(["NaT"], "m8[s]"), DomainError)):
            with pytest.raises(error, match="durations"):
                Graph.from_arrays([0], [1], wrong)
        with pytest.raises(DTypeError):
            as_graph([("a", "b", timedelta(hours=1)), ("b", "c", 5)])

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_columns_of_tables(self, library):
        from datetime import timedelta

        frames = pytest.importorskip(library)
        ends = {"from": ["a", "b"], "to": ["b", "c"]}
        expected = [300, 90000.5]
        lasting = [timedelta(minutes=5), timedelta(hours=25, seconds=0.5)]
        for column in (lasting, ["00:05:00", "25:00:00.5"]):
            assert as_graph(frames.DataFrame({**ends, "time": column}), weight="time").weights.tolist() == expected
        for odd in (["05:00", "06:00"], ["00:05:00", "5"]):
            with pytest.raises(FormatError, match="duration hh:mm:ss in every row"):
                as_graph(frames.DataFrame({**ends, "time": odd}))
        with pytest.raises(FormatError, match="a weight must be a number, got none in row 1 of the column 'time'"):
            as_graph(frames.DataFrame({**ends, "time": [lasting[0], None]}))

    def test_texts_of_files(self):
        def weights(*lines, **reading):
            return read(io.StringIO("\n".join(("from,to,time", *lines))), format="csv", **reading).weights

        found = weights("a,b,00:05:00", "b,c,25:10:01")
        assert found.dtype == np.int64
        assert found.tolist() == [300, 90601]
        pandas = weights("a,b,0 days 00:05:00", "b,c,-1 days +23:59:00", "c,d,1 days 00:00:00.250000")
        assert pandas.tolist() == [300, -60, 86400.25]
        for lines in (("a,b,05:00",), ("a,b,00:05:00", "b,c,5"), ("a,b,00:61:00",), ("a,b,5", "b,c,00:05:00")):
            with pytest.raises(FormatError, match=r"A duration is written hh:mm:ss|must be a number, got"):
                weights(*lines)
        assert read(io.StringIO("a b 0:05:00\n"), format="edgelist").weights.tolist() == [300]


def odd_csr(how, n=3):
    """The csr matrix of 0 → 1 → 2 of which something is unusual."""
    A = sparse.coo_array((np.array([1.5, 2.5]), ([0, 1], [1, 2])), shape=(n, n)).tocsr()
    indices, start = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    if how == "indices of 64 bits":
        indices, start = indices.astype(np.int64), start.astype(np.int64)
    if how == "big-endian data":
        return sparse.csr_array((A.data.astype(">f8"), indices, start), shape=A.shape)
    if how == "unaligned":
        indices, start = (np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(x.dtype) for x in (indices, start))
    return sparse.csr_array((A.data, indices, start), shape=A.shape)


@pytest.mark.parametrize("how", ["as usual", "indices of 64 bits", "big-endian data", "unaligned"])
def test_a_csr_matrix_that_is_unusual_is_the_same_graph(how):
    A = odd_csr(how, 1200)  # neighbourhoods of so many are looked at
    D = np.full((1, 1200), np.inf)
    D[0, :3] = 0, 1.5, 4
    np.testing.assert_array_equal(shortest_paths(A, sources=[0]).distances, D)
    np.testing.assert_array_equal(csgraph.dijkstra(A, indices=[0]), D)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("indices", [1, 3]),
        ("indices", [1, -1]),
        ("indptr", [0, 2, 1, 2]),
        ("indptr", [1, 1, 2, 2]),
        ("indptr", [0, 1, 2, 3]),
        ("indptr", [0, 1, 2]),
        ("indices", [1]),
    ],
)
def test_indices_that_contradict_each_other_are_refused(kind, name, values):
    A = odd_csr("as usual")
    A.indices, A.indptr = A.indices.astype(kind), A.indptr.astype(kind)
    setattr(A, name, np.array(values, kind))
    with pytest.raises(ShapeError, match="indices of a sparse matrix must be consistent"):
        shortest_paths(A, sources=[0])
    for values in (A.data, A.data.astype(np.int64)):  # read as SciPy's loops take them, and converted
        A.data = values
        with pytest.raises(ShapeError, match="indices of a sparse matrix must be consistent"):
            csgraph.dijkstra(A, indices=[0])


def test_a_csr_matrix_that_was_read_knows_no_more_than_before():
    A = odd_csr("as usual")
    before = set(vars(A))
    shortest_paths(A, sources=[0])
    csgraph.dijkstra(A, indices=[0])
    assert set(vars(A)) == before


def test_a_function_of_other_arguments_is_refused():
    """Before it is called, with the arguments that it would get; rustworkx's own functions take one."""
    for name in ("rustworkx", "networkx"):
        source = GRAPHS[name][0]()
        for wrong in (lambda e: e, lambda u, v: 1, lambda *, data: 1, float):
            with pytest.raises(ValueError, match=r"weight must take u, v and the edge's data .*lambda u, v, data"):
                as_graph(source, weight=wrong)
        for right in (lambda u, v, data: 3, lambda *edge: 3, lambda u, v=0, data=0, more=1: 3):
            assert set(as_graph(source, weight=right).weights.tolist()) == {3}


#: All that take a matrix, in a module or a folder of their own.
MATRICES = {
    "closure": closure,
    "plan": apsp.plan,
    "shortest_paths": shortest_paths,
    "transitive_closure": lambda A: transitive_closure(A, semiring="min_plus"),
    "negative_cycle": negative_cycle,
    "as_graph": as_graph,
    "Graph.from_matrix": Graph.from_matrix,
    "hops": lambda A: apsp.hops([A]),
    "compare": apsp.compare,
    "predecessors": lambda A: apsp.predecessors(A, closure(np.asarray(A))),
    "csgraph.shortest_path": apsp.csgraph.shortest_path,
    "csgraph.csgraph_from_dense": apsp.csgraph.csgraph_from_dense,
    "reachable": lambda A: apsp.reachable({"a": A}, "a"),
    "flows": lambda A: shortest_paths(np.array([[1.0, 2], [3, 4]])).flows(A),
}


@pytest.mark.parametrize("name", MATRICES)
def test_memoryviews_are_matrices(name):
    A = np.array([[1.0, 2], [3, 4]])
    found, expected = MATRICES[name](memoryview(A)), MATRICES[name](A)
    for table in ("distances", "dense", "toarray", "matrix"):
        if hasattr(found, table):
            found, expected = (getattr(x, table) for x in (found, expected))
            found, expected = (x() if callable(x) else x for x in (found, expected))
    if isinstance(found, np.ndarray):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name in MATRICES if name not in ("flows", "predecessors")])
def test_what_is_no_matrix_is_refused_in_our_words(name):
    with pytest.raises(ShapeError, match=r"rows must be equally long, got lengths 1, 2\."):
        MATRICES[name]([[1.0, 2.0], [3.0]])
    with pytest.raises(ShapeError, match=r"must be square|not square|got shape \(\)|got \['\(\)'\]"):
        MATRICES[name](np.array(0.0))


class Labelled:
    """What xarray's DataArray shows of itself: an array, its dimensions, and coordinates along some of them."""

    def __init__(self, values, **coords):
        self.values, self.dims = np.asarray(values), ("from", "to")
        self.coords = {name: Labelled.Coordinate(names) for name, names in coords.items()}

    class Coordinate:
        def __init__(self, names):
            self.names = np.array(names)

        def __array__(self, dtype=None, copy=None):
            return self.names

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_the_names_of_an_xarray_are_those_of_the_vertices():
    A, names = [[0, 4.5], [2.5, 0]], ["x", "y"]
    for along in ({"from": names, "to": names}, {"from": names}, {"to": names}):
        r = shortest_paths(Labelled(A, **along))
        assert r.graph.labels == ("x", "y")
        assert r.distance("x", "y") == 4.5
    assert as_graph(Labelled(A)).labels == (0, 1)
    assert as_graph(Labelled(A, **{"from": [7, 9], "to": [7, 9]})).labels == (7, 9)
    for call in (as_graph, shortest_paths, closure):
        with pytest.raises(ShapeError, match=r"same names along both axes, got \['x', 'y'\] and \['y', 'x'\]"):
            call(Labelled(A, **{"from": names, "to": names[::-1]}))
    np.testing.assert_array_equal(closure(Labelled(A, **{"from": names}), null_value=None), A)


def test_a_series_beside_an_edge_index_is_taken_by_position_unless_it_was_sorted():
    pd = pytest.importorskip("pandas")
    w = pd.Series([4.0, 1.0, 3.0])
    for kept in (w, w.set_axis([2, 5, 9]), w.set_axis([9, 2, 5]), w.set_axis(["c", "a", "b"])):  # of a filtered table
        np.testing.assert_array_equal(as_graph(INDEX[:, :3], weight=kept).weights, w)
    named = w.set_axis(pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 2)]))
    for given in ((INDEX[:, :3], w.sort_values()), (INDEX[:, :3], named)):
        with pytest.raises(ShapeError, match=r"as_graph: weights must come in the order of the edges.*x\.to_numpy\(\)"):
            as_graph(given)
        np.testing.assert_array_equal(as_graph((given[0], given[1].to_numpy())).weights, given[1])
        with pytest.raises(ShapeError, match="as_graph: weights must come in the order"):
            as_graph(given[0], weight=given[1])


@pytest.mark.parametrize("rows", [[3, [5.0, 7.0]], [[1, 2], 3], [np.float64(3), np.array([5.0, 7.0])]])
def test_a_number_among_rows_is_refused(rows):
    for make in (as_graph, closure, shortest_paths):
        with pytest.raises(ShapeError, match="rows must be equally long"):
            make(rows)


def test_a_dataset_is_refused_for_one_of_its_variables():
    class Dataset(dict):
        data_vars = ("time", "metres")

        def __array__(self, dtype=None, copy=None):
            raise TypeError

    held = Dataset(time=Labelled([[0, 4.5], [2.5, 0]]))
    with pytest.raises(DTypeError, match=r"one variable of a Dataset.*Pass dataset\['time'\]") as caught:
        as_graph(held)
    assert as_graph(eval(str(caught.value).rpartition("Pass ")[2].rstrip("."), {"dataset": held})).n == 2
    for name, call in {"sum": semiring.sum, "prod": prod, "outer": lambda x: outer(x, x)}.items():
        with pytest.raises(DTypeError, match=f"^{name}: an array must be exported by DLPack, got Dataset"):
            call(held)


@pytest.mark.parametrize("edges", [[("a", "b", 3), ("b", "c")], [("a", "b"), ("b", "c", 3)]])
def test_a_missing_weight_among_others_is_refused(edges):
    for make in (as_graph, Graph.from_edges, shortest_paths):
        with pytest.raises(ShapeError, match=r"all edges must have a weight or none, got \('\w', '\w'\) for edge [01]"):
            make(edges)
