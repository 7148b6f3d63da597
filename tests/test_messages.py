"""Errors: text as a weight names attribute and edge; whatever came is abbreviated in every message."""

import ast
import importlib
import io
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from people import in_dicts, in_igraph, in_rustworkx

import apsp
from apsp import Graph, as_graph, closure, plan, shortest_paths, transitive_closure
from apsp.generate import random_graph
from apsp.io.formats import read
from semiring.host import errors
from semiring.host.errors import DTypeError, FormatError, SemiringError
from semiring.host.spelling import came, shortened

MANY = [(f"street {k}", f"street {k + 1}", 3) for k in range(100_000)]
LONG = "x" * 10**6


def osmnx_as_saved() -> io.BytesIO:
    """GraphML whose attributes are all strings, as OSMnx writes it."""
    G = nx.MultiDiGraph(simplified="True")
    for node, (x, y) in {33: ("6.10", "49.60"), 7: ("6.12", "49.60"), 21: ("6.12", "49.62")}.items():
        G.add_node(node, x=x, y=y, street_count="3")
    for u, v, length in ((33, 7, "1444.5"), (7, 21, "2224.0")):
        G.add_edge(u, v, osmid="5", oneway="False", length=length, lanes="2", name="Rue 5")
    file = io.BytesIO()
    nx.write_graphml(G, file)
    file.seek(0)
    return file


def test_numbers_as_texts_in_graphml_are_read_as_those_of_csv():
    g = read(osmnx_as_saved(), format="graphml")
    assert sorted(g.weights.tolist()) == [1444.5, 2224.0]
    assert g.places[g.index(33)].tolist() == [6.10, 49.60]
    assert read(osmnx_as_saved(), format="graphml", weight="lanes").weights.tolist() == [2, 2]
    G = nx.DiGraph([("a", "b", {"time": "00:01:30"}), ("b", "c", {"time": "01:00:00"})])
    assert read(io.StringIO("\n".join(nx.generate_graphml(G)))).weights.tolist() == [90, 3600]
    assert read(io.StringIO("\n".join(nx.generate_gml(G)))).weights.tolist() == [90, 3600]


def in_geojson(edges):
    rows = ",".join(
        f'{{"geometry": null, "properties": {{"u": "{u}", "v": "{v}", "length": "{data["length"]}"}}}}'
        for u, v, data in edges
    )
    return io.StringIO(f'{{"type": "FeatureCollection", "features": [{rows}]}}')


@pytest.mark.parametrize("make", [nx.DiGraph, in_dicts, in_igraph, in_rustworkx, in_geojson])
@pytest.mark.parametrize("text", ["4", LONG])
def test_text_as_a_weight_names_attribute_edge_and_way_out(make, text):
    edges = [("a", "b", {"length": text}), ("b", "c", {"length": text})]
    with pytest.raises(
        DTypeError, match=r"got '[4x]*…?' under 'length' on the edge 'a' → 'b'\. .*weight=None"
    ) as caught:
        shortest_paths(make(edges))
    assert len(str(caught.value)) < 400
    if make is not in_geojson:
        assert shortest_paths(as_graph(make(edges), weight=None)).graph.weights is None


def test_text_in_tuples_and_tables_names_its_place():
    for edges in ([("a", "b", "4"), ("b", "c", "7")], [("a", "b", 3), ("b", "c", "x")], {("a", "b"): "4"}):
        with pytest.raises(DTypeError, match=r"must be real numbers.*got '[4x]' on edge [01]\. Make numbers of them"):
            as_graph(edges)
    pd = pytest.importorskip("pandas")
    with pytest.raises(FormatError, match="got '4' in row 0 of the column 'km' of String"):
        as_graph(pd.DataFrame({"from": ["a"], "to": ["b"], "km": ["4"]}))


CALLS = [
    lambda: shortest_paths("min_plus", MANY),
    lambda: shortest_paths(MANY, semiring=MANY),
    lambda: shortest_paths(MANY, engine=MANY),
    lambda: shortest_paths(MANY[:9], sources=[LONG]),
    lambda: shortest_paths(MANY[:9], device=LONG),
    lambda: shortest_paths(MANY[:9]).betweenness(sources=[f"nowhere {k}" for k in range(3000)]),
    lambda: shortest_paths(MANY[:9]).betweenness(sources=LONG),
    lambda: shortest_paths(MANY[:9]).distance(tuple(MANY), "street 1"),
    lambda: shortest_paths(MANY[:9]).reduce(LONG),
    lambda: shortest_paths(MANY[:9]).flows({LONG: 3}),
    lambda: shortest_paths(MANY[:9]).path("street 1", LONG),
    lambda: shortest_paths(MANY[:9]).save("d." + LONG[:200]),
    lambda: as_graph(MANY, weight=MANY),
    lambda: as_graph(MANY, columns=MANY),
    lambda: as_graph(MANY, null_value=MANY),
    lambda: as_graph(MANY, unweighted=True, weight=LONG),
    lambda: as_graph([*MANY, MANY]),
    lambda: as_graph([*MANY, ("a", "b", MANY)]),
    lambda: as_graph({"a": {"b": MANY}}),
    lambda: as_graph(nx.DiGraph([("a", "b", {LONG + str(k): 3 for k in range(9)})]), weight=LONG),
    lambda: as_graph(nx.DiGraph([("a", "b", dict.fromkeys(map(str, range(9999)), 3))])),
    lambda: Graph.from_edges(MANY, labels=MANY),
    lambda: Graph.from_arrays(LONG, LONG),
    lambda: closure(np.eye(3), semiring=LONG),
    lambda: closure(np.eye(3), schedule=MANY, null_value=0),
    lambda: closure(np.eye(3), block=MANY, null_value=0),
    lambda: closure(np.eye(3), dtype=LONG, null_value=0),
    lambda: closure(np.eye(3), null_value=MANY),
    lambda: plan(MANY, LONG),
    lambda: plan(MANY[:9], engine=LONG),
    lambda: transitive_closure(MANY[:5], schedule=LONG),
    lambda: read(io.StringIO("from,to,km\nA,B," + LONG), format=LONG),
    lambda: read(io.StringIO("from,to,km\nA,B," + LONG)),
    lambda: read(io.StringIO(f"from,{LONG},km\nA,B,3")),
    lambda: read(io.StringIO(",".join(f"{LONG[:99]}{k}" for k in range(9999)) + "\n1")),
    lambda: apsp.hops(MANY),
    lambda: apsp.csgraph.shortest_path(np.eye(3), method=LONG),
    lambda: random_graph(3, 50, weights=MANY),
    lambda: apsp.io.formats.write(as_graph([(LONG, LONG + "y", 3)]), "/dev/null", format="edges"),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_what_came_is_abbreviated(number):
    with pytest.raises(Exception) as caught:  # noqa: PT011 # of any class
        CALLS[number]()
    assert len(str(caught.value)) <= 2000
    assert isinstance(caught.value, (SemiringError, ValueError, TypeError, LookupError, OSError)), repr(caught.value)


def test_names_that_nobody_knows_are_few_in_a_message():
    with pytest.raises(SemiringError) as caught:
        shortest_paths(MANY[:9]).betweenness(sources=[f"nowhere {k}" for k in range(3000)])
    assert len(str(caught.value)) < 300


def test_one_function_abbreviates():
    assert came("A") == "'A'"
    assert came(np.float64(2.5)) == "2.5"
    assert came(10**5000) == "<int>"
    assert came("x" * 99) == repr("x" * 59 + "…")
    for value in (
        MANY,
        dict.fromkeys(range(10**5)),
        set(range(10**5)),
        np.arange(10**6),
        (LONG,) * 9,
        [[MANY] * 9] * 9,
    ):
        assert len(came(value)) <= 200
        assert "\n" not in came(value)
    assert shortened("ab" * 50, 20) == "abababababab … ababab"[:12][:10] + " … " + "bababab"
    assert len(shortened(LONG)) <= 2000
    assert len(str(DTypeError(LONG))) <= 2000
    assert str(DTypeError("short")) == "short"


#: Errors that cut whatever they are told.
CUT = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, SemiringError)}


@pytest.mark.parametrize("package", ["apsp", "semiring"])
def test_raised_messages_abbreviate_what_came(package):
    """A value in an error of Python's goes through `came`: its bare repr may be as long as what it is of."""
    bare = []
    for path in (Path(__file__).parents[1] / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                kind = ast.unparse(node.exc.func)
                parts = [part for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
                bare += [
                    f"{path.name}: {ast.unparse(part.value)}"
                    for part in parts
                    if part.conversion == ord("r")
                    and kind not in (*CUT, "AttributeError", "pickle.PicklingError")
                    and kind.endswith("Error")
                ]
    assert not bare


def test_without_pytorch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "semiring.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"PyTorch is required\. Install it: `pip install torch`"):
        importlib.import_module("semiring.torch")
