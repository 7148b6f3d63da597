"""The first ten minutes: graphs as people have them, each with its value, and mistakes, each with its line."""

import bz2
import io
import json
import lzma
import os
import re
import zipfile
from contextlib import suppress
from importlib.util import find_spec

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import coo_array

import apsp
import semiring
from apsp import Graph, as_graph, closure, critical_path, read, shortest_paths, transitive_closure
from apsp.doors.cli import main
from apsp.io.labels import Labels
from semiring.host.errors import (
    AlgebraError,
    DeviceError,
    DomainError,
    DTypeError,
    FormatError,
    SemiringError,
    ShapeError,
    VertexError,
)
from semiring.sparse import Searches

EDGES = [("A", "B", 4), ("B", "C", 7)]
RECORDS = [{"from": u, "to": v, "weight": w} for u, v, w in EDGES]
NETWORK = nx.DiGraph()
NETWORK.add_weighted_edges_from(EDGES)
BOTH_WAYS = nx.Graph(NETWORK)
PARALLEL = nx.MultiDiGraph()
PARALLEL.add_edges_from([("A", "B", {"weight": 5}), ("A", "B", {"weight": 4}), ("B", "C", {"weight": 7})])
TEXTS = nx.DiGraph([("A", "B", {"weight": "4"}), ("B", "C", {"weight": "7"})])


def text_of(lines):
    return "\n".join(lines)


def cytoscape():
    return json.dumps(nx.cytoscape_data(NETWORK))


#: Objects, and the distance from A to C.
OBJECTS = {
    "records": lambda: RECORDS,
    "records of other names": lambda: [{"source": u, "target": v, "km": w, "id": 9} for u, v, w in EDGES],
    "an iterator of records": lambda: iter(RECORDS),
    "records of a database, with a name": lambda: [{**row, "street": "x"} for row in RECORDS],
    "G.edges(data=True)": lambda: NETWORK.edges(data=True),
    "list(G.edges(data=True))": lambda: list(NETWORK.edges(data=True)),
    "G.edges(data='weight')": lambda: NETWORK.edges(data="weight"),
    "edges of a multigraph with keys": lambda: PARALLEL.edges(keys=True, data=True),
    "edges of a multigraph": lambda: PARALLEL.edges(data=True),
    "tuples with attributes": lambda: [(u, v, {"weight": w, "id": 1}) for u, v, w in EDGES],
    "tuples with keys and attributes": lambda: [(u, v, 0, {"weight": w}) for u, v, w in EDGES],
    "pairs": lambda: {(u, v): w for u, v, w in EDGES},
    "a dict of dicts": lambda: {"A": {"B": 4}, "B": {"C": 7}},
    "a dict of dicts of attributes": lambda: nx.to_dict_of_dicts(NETWORK),
    "zipped columns": lambda: zip("AB", "BC", [4, 7], strict=True),
    "a structured array": lambda: np.array(EDGES, dtype=[("from", "U1"), ("to", "U1"), ("km", "i8")]),
    "an array of records": lambda: np.rec.array(EDGES, dtype=[("from", "U1"), ("to", "U1"), ("km", "i8")]),
}
#: Files by name and content, and the distance from A to C.
FILES = {
    "e.csv of Excel in Europe": "from;to;km\nA;B;4,0\nB;C;7,0\n",
    "quoted.csv with decimal commas": 'from,to,km\nA,B,"4,0"\nB,C,"7,0"\n',
    "m.csv with blank cells": ",A,B,C\nA,,4,\nB,,,7\nC,,,\n",
    "eu.csv with blank cells and decimal commas": ";A;B;C\nA;0;4,0;\nB;;0;7,0\nC;;;0\n",
    "t.tsv with blank cells": "\tA\tB\tC\nA\t0\t4\t\nB\t\t0\t7\nC\t\t\t0\n",
    "gephi.csv, edges": "Source,Target,Type,Id,Label,timeset,Weight\nA,B,Directed,0,,,4\nB,C,Directed,1,,,7\n",
    "node-link.json": json.dumps(nx.node_link_data(NETWORK)),
    "links.json": json.dumps(nx.node_link_data(NETWORK, edges="links")),
    "d3.json": json.dumps(
        {"nodes": [{"id": x} for x in "ABC"], "links": [{"source": u, "target": v, "value": w} for u, v, w in EDGES]}
    ),
    "adjacency.json": json.dumps(nx.adjacency_data(NETWORK)),
    "cytoscape.json": cytoscape(),
    "dicts.json": json.dumps({"A": {"B": 4}, "B": {"C": 7}}),
    "attributes.json": json.dumps({"A": {"B": {"weight": 4}}, "B": {"C": {"weight": 7}}}),
    "records.json": json.dumps(RECORDS),
    "lines.jsonl": text_of(map(json.dumps, RECORDS)),
    "g.gexf": text_of(nx.generate_gexf(NETWORK)),
    "strings.graphml": text_of(nx.generate_graphml(TEXTS)),
    "g.dot": 'digraph "roads" {\n  A -> "B" [weight=4];\n  B -> C [weight="7", label="x"];\n}\n',
}


def test_objects_as_people_have_them():
    for name, make in OBJECTS.items():
        assert shortest_paths(make()).table(["A", "C"], ["A", "C"]).tolist() == [[0, 11], [np.inf, 0]], name


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
def test_files_as_people_have_them(name, tmp_path):
    if name.endswith(".dot"):
        pytest.importorskip("pydot")
    path = tmp_path / re.match(r"\S+?\.\w+", name)[0]
    path.write_text(FILES[name])
    r = shortest_paths(path)
    assert r.distance("A", "C") == 11
    assert r.distance("C", "A") == np.inf


def test_names_of_numpy_are_pythons():
    names = np.array(["A", "B", "C"])
    r = shortest_paths([(names[0], names[1], 4), (names[1], names[2], 7)])
    assert list(map(type, r.path("A", "C"))) == [str] * 3
    assert "np." not in repr(r.betweenness())
    assert repr(shortest_paths([(np.int64(5), np.int64(7), 1)]).path(5, 7)) == "[5, 7]"
    day = np.datetime64("2026-01-05", "ns")
    assert as_graph([(day, day + 1)]).labels[0] is day  # whose item would be a number


def test_a_matrix_below_its_size():
    text = "3\n0 4 inf\n9 0 7\ninf 2 0\n"
    assert shortest_paths(read(io.StringIO(text))).distances.tolist() == [[0, 4, 11], [9, 0, 7], [11, 2, 0]]
    with pytest.raises(FormatError, match="3 rows of 3 numbers may be a matrix or edges"):
        read(io.StringIO("3\n0 1 5\n1 2 5\n0 2 7\n"))
    with pytest.raises(FormatError):
        read(io.StringIO("4\n0 4 inf\n9 0 7\ninf 2 0\n"))
    assert read(io.StringIO("4\n")).n == 1


def test_views_have_the_directions_of_their_graph():
    assert shortest_paths(BOTH_WAYS.edges(data=True)).distance("C", "A") == 11
    for view in (NETWORK.edges, NETWORK.edges(), PARALLEL.edges, PARALLEL.edges(), PARALLEL.edges(keys=True)):
        assert shortest_paths(view).distance("A", "C") == 2  # pairs: a key is no weight
    assert shortest_paths(BOTH_WAYS.edges).distance("C", "A") == 2


def test_options_of_records_and_attributes():
    rows = [{"a": "A", "b": "B", "km": 4, "minutes": 1}, {"a": "B", "b": "C", "km": 7, "minutes": 2}]
    assert shortest_paths(as_graph(rows, columns=("a", "b", "km"))).distance("A", "C") == 11
    assert shortest_paths(as_graph(rows, columns=("a", "b"), weight="minutes")).distance("A", "C") == 3
    assert shortest_paths([{"u": "A", "v": "B"}]).distance("A", "B") == 1
    edges = [("A", "B", {"km": 4, "minutes": 1})]
    assert shortest_paths(as_graph(edges, weight="minutes")).distance("A", "B") == 1
    assert as_graph(edges, weight=None).weights is None


def test_ids_are_no_weights():
    with pytest.raises(FormatError, match="Say weight='len_m', or"):  # what one types
        as_graph([{"from": "A", "to": "B", "fid": 1, "len_m": 3}])
    G = nx.DiGraph([("a", "b")])
    ids = '<edge id="5" source="a" target="b"/>'
    plain = text_of(nx.generate_graphml(G)).replace('<edge source="a" target="b" />', ids)
    assert ids in plain
    assert read(io.StringIO(plain)).weights is None
    assert read(io.StringIO(text_of(nx.generate_gexf(G)))).weights is None
    assert as_graph(nx.DiGraph([("a", "b", {"osmid": 44})])).weights is None
    with pytest.raises(FormatError, match="'id' identifies an edge or its kind"):
        read(io.StringIO("from,to,id\nA,B,7\n"))


def test_numbers_as_names_in_json():
    r = shortest_paths(read(io.StringIO(json.dumps({"0": [1], "1": [2], "2": []})), format="json"))
    assert r.distance(0, 2) == 2
    assert list(r.labels) == [0, 1, 2]


def test_xarray_with_its_labels():
    xarray = pytest.importorskip("xarray")
    held = xarray.DataArray([[0, 4.0], [9, 0]], dims=("from", "to"), coords={"from": ["A", "B"], "to": ["A", "B"]})
    assert shortest_paths(held).distance("B", "A") == 9


TNTP = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> {first}
<NUMBER OF LINKS> 6
<END OF METADATA>

~ \tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;
\t3\t1\t9.5\t1\t1\t0.15\t4\t0\t0\t1\t;
\t1\t3\t9.5\t1\t1\t0.15\t4\t0\t0\t1\t;
\t1\t4\t9.5\t1\t1\t0.15\t4\t0\t0\t1\t;
\t4\t2\t9.5\t1\t1\t0.15\t4\t0\t0\t1\t;
\t3\t4\t9.5\t9\t9\t0.15\t4\t0\t0\t1\t;
\t2\t3\t9.5\t1\t1\t0.15\t4\t0\t0\t1\t;
"""


def test_tntp_and_its_first_through_node(tmp_path):
    path = tmp_path / "city_net.tntp"
    path.write_text(TNTP.format(first=1))
    assert shortest_paths(as_graph(path, weight="free_flow_time")).distance(3, 4) == 2  # through zone 1
    path.write_text(TNTP.format(first=3))
    with pytest.warns(UserWarning, match="zones below 3 are not passed"):
        r = shortest_paths(as_graph(path, weight="free_flow_time"))
    assert (r.distance(3, 4), r.distance(1, "to 2"), r.distance(2, "to 1"), r.distance(3, "to 2")) == (9, 2, 2, 10)
    with pytest.raises(FormatError, match=r"city_net\.tntp:7: which column holds the weight.*'free_flow_time'"):
        read(path)
    headed = TNTP.format(first=1).replace("init_node", "Init node ").replace("term_node", "Term node ")  # as Anaheim's
    path.write_text(headed.replace("free_flow_time", "Free Flow Time "))
    assert shortest_paths(as_graph(path, weight="free_flow_time")).distance(3, 4) == 2
    path.write_text(headed.rpartition("\t2\t3")[0])
    with pytest.warns(UserWarning, match="6 links are promised, and 5 found"):
        read(path, weight="length")


@pytest.mark.parametrize("name", ["out.moreno", "roads.edges", "roads.txt", "roads.snap"])
def test_konect_and_network_repository(name, tmp_path):
    (tmp_path / name).write_text("% sym weighted\n% 2 3 3\n1 2 4\n2 3 7\n")
    r = shortest_paths(tmp_path / name)
    assert (r.distance(1, 3), r.distance(3, 1)) == (11, 11)
    (tmp_path / name).write_text("% asym unweighted\n1\t2\n2\t3\n")
    r = shortest_paths(tmp_path / name)
    assert (r.distance(1, 3), r.distance(3, 1)) == (2, np.inf)
    (tmp_path / name).write_text("% bip weighted\n1 1 4\n2 1 7\n")
    with pytest.raises(FormatError, match="its rows and columns are vertices of two kinds, got '% bip'"):
        read(tmp_path / name)
    if name != "roads.snap":
        (tmp_path / name).write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n")
        assert shortest_paths(tmp_path / name).distance(1, 3) == 2


@pytest.mark.parametrize("name", ["out.moreno", "roads.edges", "roads.txt", "roads.snap"])
@pytest.mark.parametrize("columns", [None, (0, 1), (0, 1, 2)])
def test_comments_of_konect_are_none_of_the_columns_that_are_chosen(name, columns, tmp_path):
    (tmp_path / name).write_text("% sym weighted\n% 2 3 3\n1 2 4\n2 3 7\n")
    g = read(tmp_path / name, columns=columns)
    assert (list(g.labels), g.directed) == ([1, 2, 3], False)
    assert g.weights.tolist() == [4, 7]


@pytest.mark.parametrize("name", ["out.moreno", "roads.edges", "roads.txt", "roads.snap"])
def test_times_of_konect_are_no_weights(name, tmp_path):
    (tmp_path / name).write_text("% asym positive\n% 2 3 3\n1 2 4 1082040961\n2 3 7 1082040962\n")
    with pytest.raises(FormatError, match=r"got a fourth column, of times. Say columns=\(0, 1, 2\)\.") as caught:
        read(tmp_path / name)
    g = read(tmp_path / name, columns=eval(str(caught.value).rpartition("columns=")[2].rstrip(".")))
    assert (list(g.labels), g.weights.tolist(), g.directed) == ([1, 2, 3], [4, 7], True)


def test_what_others_read_is_named_with_a_way_out_that_works(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"from": ["A", "B"], "to": ["B", "C"], "km": [4, 7]})
    for suffix, reader in ((".xlsx", "read_excel"), (".parquet", "read_parquet"), (".feather", "read_feather")):
        path = tmp_path / f"roads{suffix}"
        path.write_bytes(b"PK\3\4")
        with pytest.raises(FormatError, match=f"pandas.{reader}") as caught:
            shortest_paths(path)
        call = re.search(r"Say (apsp\.as_graph\(.*?\)\))", str(caught.value))[1]
        monkeypatch.setattr(pd, reader, lambda name, expected=str(path): table if name == expected else None)
        assert shortest_paths(eval(call, {"apsp": apsp, "pandas": pd})).distance("A", "C") == 11
    for suffix, word in ((".gpkg", "geopandas.read_file"), (".osm", "osmnx"), (".pbf", "osmium"), (".pkl", "trust")):
        path = tmp_path / f"roads{suffix}"
        path.write_bytes(b"\0")
        with pytest.raises(FormatError, match=word):
            read(path)


def test_an_archive_without_files_is_one(tmp_path):
    zipfile.ZipFile(tmp_path / "none.zip", "w").close()
    with pytest.raises(apsp.FormatError, match="an archive of 0 files"):
        apsp.read(tmp_path / "none.zip")


def test_a_feed_in_an_archive_is_named(tmp_path):
    path = tmp_path / "gtfs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("stop_times.txt", "trip_id,stop_id,stop_sequence\n")
        archive.writestr("transfers.txt", "from_stop_id,to_stop_id,transfer_type,min_transfer_time\nA,B,2,120\n")
    with pytest.raises(FormatError, match="a GTFS feed") as caught:
        read(path)
    call = str(caught.value).partition("Say ")[2].rstrip(".")
    assert shortest_paths(eval(call, {"apsp": apsp, "zipfile": zipfile})).distance("A", "B") == 120


def test_commas_that_may_count_thousands_are_a_question():
    with pytest.raises(FormatError, match=r"comma is clear, as pandas\.read_csv.* makes it, got '1,234'"):
        read(io.StringIO("from;to;km\nA;B;1,234\nB;C;2,500\n"))
    with pytest.raises(FormatError, match=r"must be a number, got '1\.000,5'"):
        read(io.StringIO("from;to;km\nA;B;1.000,5\n"))
    assert read(io.StringIO("from;to;km\nA;B;1,234\nB;C;2,5\n")).weights.tolist() == [1.234, 2.5]
    with pytest.raises(FormatError, match="more than one of them could be it"):  # both columns are numbers
        read(io.StringIO("from;to;length;time\nA;B;1,5;2,5\n"))


class System:
    """A coordinate reference system, as pyproj has them."""

    def __init__(self, projected):
        self.is_projected = projected


def test_a_crs_decides_whether_places_are_planar(tmp_path):
    G = nx.DiGraph([(1, 2, {"length": 5})], crs=System(True))
    nx.set_node_attributes(G, {1: {"x": 300_000.0, "y": 5e6}, 2: {"x": 301_000.0, "y": 5e6}})
    g = as_graph(G)
    assert g.nearest(300_900, 5e6, distances=True) == (2, 100.0)
    r = shortest_paths(g)
    assert r.explore().html.startswith("<!DOCTYPE html>")
    r.save(tmp_path / "r.npz")
    assert apsp.Result.load(tmp_path / "r.npz").graph.planar
    apsp.write(g, tmp_path / "g.npz")
    assert apsp.read(tmp_path / "g.npz").planar
    assert not as_graph(G, places={1: (6.0, 49.0)}).having(crs=System(False)).planar
    if find_spec("pyproj"):
        assert g.having(crs="EPSG:32632").planar
        assert not g.having(crs="EPSG:4326").planar


def test_places_in_a_table():
    rows = {"Name": ["A", "B", "Z"], "Longitude": [6.0, 6.1, 6.2], "Latitude": [49.0, 49.1, 49.2], "Kind": list("xyz")}
    for library in ("pandas", "polars"):
        table = pytest.importorskip(library).DataFrame(rows)
        g = as_graph(EDGES, places=table)
        assert list(g.labels) == ["A", "B", "C", "Z"]  # the last has a place, and no edges
        np.testing.assert_array_equal(g.places, [[6, 49], [6.1, 49.1], [np.nan, np.nan], [6.2, 49.2]])
        np.testing.assert_array_equal(as_graph(EDGES).having(places=table).places, g.places[:3])
        twice = pytest.importorskip(library).DataFrame({**rows, "Name": ["A", "B", "A"]})
        with pytest.raises(FormatError, match=r"one position, got \(6.0, 49.0\) and \(6.2, 49.2\) for 'A'"):
            as_graph(EDGES, places=twice)


def test_a_matrix_that_is_closed_whole_does_not_count_components():
    ring = np.array([[0, 1.0], [1, 0]])
    assert repr(transitive_closure(ring)).startswith("<Reachability: 2 vertices, ")
    assert len(transitive_closure(ring).components()) == 1
    assert "300 vertices in 1 components" in repr(transitive_closure(apsp.cycle(300), engine="united"))


def test_devices_as_pytorch_spells_them():
    assert shortest_paths(EDGES, device="cpu:0").distance("A", "C") == 11
    assert closure(np.array([[0.0, 1], [2, 0]]), device="cpu:0").tolist() == [[0, 1], [2, 0]]
    assert apsp.csgraph.shortest_path(np.array([[0.0, 1], [2, 0]]), device="cpu:0").tolist() == [[0, 1], [2, 0]]
    for device in ("cpu:1", "cuda:", "cuda:x", "gpu"):
        with pytest.raises(DeviceError, match=f"must be one of cpu, cuda, got '{device}'"):
            shortest_paths(EDGES, device=device)


# Mistakes

PAIRS = "from,to,length,time\nA,B,4,5\nB,C,7,6\n"
SQUARE = np.array([[0, 4.0], [9, 0]])
CLOSED = SQUARE.copy()
PLACED = as_graph(EDGES, places={"A": (6.1, 49.6), "B": (6.2, 49.6), "C": (6.3, 49.6)})


def frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


#: What people write, what the one line says (what was needed, and the way out), and where it is told its class.
MISTAKES = [
    (
        lambda: as_graph([["A", "B", 4], ["B", "C", 7]]),
        r"rows of a matrix must be real numbers.*list\(map\(tuple, edges\)\)",
    ),
    (lambda: as_graph({"from": ["A"], "to": ["B"], "km": [4]}), r"may be columns or vertices.*pandas\.DataFrame"),
    (lambda: as_graph([("A", "B", {"km": 4}), ("B", "C")]), r"edge 1 must be \(u, v, \{attribute: value\}\)"),
    (lambda: as_graph([{"from": "A", "to": "B"}, 5]), "every record must be a dict, got int for record 1"),
    (lambda: as_graph([{"from": "A", "km": 4}]), "must name one column target or to .*where an edge leads to"),
    (lambda: as_graph([{"from": "A", "to": "B", "name": "x"}]), r"none holds numbers.*weight=None"),
    (lambda: as_graph([{"from": "A", "to": "B", "km": "4"}]), r"got '4' under 'km'.*float\("),
    (lambda: as_graph([{"from": "A", "to": "B", "km": 4, "time": 5}]), "more than one of them could be it"),
    (lambda: as_graph([{"from": "A", "to": "B", "km": 4}, {"from": "B", "to": "C"}]), "none under 'km' in record 1"),
    (lambda: as_graph(RECORDS, weight="length"), "must have the property 'length' that weight names"),
    (lambda: as_graph(RECORDS, columns=("a", "b")), "must be one column 'a', got the columns 'from'"),
    (
        lambda: as_graph(EDGES, weight="km"),
        r"edges must be \(u, v, \{'km': value\}\) for a weight by name, got \[\('A', 'B', 4\)\]",
    ),
    (lambda: as_graph([("A", "B", 0, 4)]), r"edge 0 must be \(u, v\) or \(u, v, weight\)"),
    (lambda: as_graph([("A", "B", "4")]), r"must be real numbers.*float\("),
    (lambda: as_graph([("A", "B", 4), ("B", "C")]), "all edges must have a weight or none"),
    (lambda: as_graph([("A", "B", float("nan"))]), "got NaN on edge 0.*Leave the edge out"),
    (lambda: as_graph(TEXTS), r"got '4' under 'weight' on the edge 'A' → 'B'\. Make numbers"),
    (lambda: as_graph(NETWORK, weight="km"), "some edge must have the attribute 'km'.*weight=None"),
    (lambda: as_graph({"A": [("B", 4)]}), r"Weights go in as \{u: \{v: weight\}\}"),
    (lambda: as_graph({"A": "BC"}), r"must be \{u: \{v: weight\}\}"),
    (lambda: as_graph(nx.node_link_data(NETWORK)), r"Of node-link data pass networkx\.node_link_graph\(data\)"),
    (
        lambda: as_graph({"Roads": frame(u=["A"]), "Stops": frame(x=[1])}),
        r"a dict of tables.*Pass .*: tables\['Roads'\]",
    ),
    (
        lambda: as_graph(frame(**{"From stop": ["A"], "To stop": ["B"], "t (min)": [4]})),
        "columns=.'From stop', 'To stop'",
    ),
    (lambda: as_graph(EDGES, places=frame(a=[1])), r"one column must name the vertex, .*the columns \['a'\]"),
    (lambda: as_graph(EDGES, places={0: (6, 49)}), r"none of the labels.*frame\.set_index\(COLUMN\)"),
    (lambda: as_graph(np.array([[0, 1], [1, 2]])), r"may be a matrix or.*Graph\.from_edges\(A\)"),
    (lambda: as_graph(frame(a=["A"], b=["B"], km=[4])), r"columns=\(FROM, TO, WEIGHT\)"),
    (lambda: as_graph(frame(u=["A"], v=["B"], km=["4"])), "got '4' in row 0 of the column 'km'.*weight=None"),
    (lambda: as_graph(frame(u=["A"], v=[None], km=[4])), "a vertex must have a name, got none in row 0.*Drop the row"),
    (lambda: as_graph(frame(u=["A"], v=["B"], km=[np.nan])), r"none in row 0.*table\.dropna\(subset=\['km'\]\)"),
    (lambda: shortest_paths([(1, 2, 3)]).path("1", "2"), "one of the 2 labels 1 … 2, got '1'. Did you mean 1?"),
    (lambda: shortest_paths([("1", "2", 3)]).path(1, 2), "Did you mean '1'?"),
    (lambda: as_graph(frame(u=["A"], v=["B"], km=[4], time=[5])), "Say weight='km', or weight=None"),
    (
        lambda: as_graph(frame(A=[0, 1.0], B=[None, 0]).set_index([["A", "B"]])),
        r"table\.astype\(float\)\.fillna\(float\('inf'\)\)",
    ),
    (lambda: read(io.StringIO(PAIRS)), "Say weight='length', or weight=None"),
    (lambda: read(io.StringIO(PAIRS), weight="lenght"), "must be one column 'lenght', got the columns 'from', 'to'"),
    (lambda: read(io.StringIO("A,B,4\nB,C,7\n")), r"columns=\(0, 1, 2\)|columns=\(FROM, TO, WEIGHT\)"),
    (lambda: read(io.StringIO("from,to,km\nA,B\n")), "must have the header's 3 fields, got 2"),
    (lambda: read(io.StringIO("from,to,km\nA,,4\n")), "a vertex must have a name, got an empty field"),
    (lambda: read(io.StringIO("from,to,km\nA,B,\n")), "a km must be a number, got ''.*weight=None"),
    (
        lambda: read(io.StringIO("Roads,,\n,,\nfrom,to,km\nA,B,4\n")),
        r":3: the header must come first.*what stands above",
    ),
    (lambda: read(io.StringIO("sep=;\nfrom;to;km\nA;B;4\n")), r":2: the header must come first.*what stands above"),
    (lambda: read(io.StringIO("from,to,km\nA,B,4\nB,C,NA\n")), "got 'NA'. Leave the row out where there is no edge"),
    (lambda: read(io.StringIO("from,to,km\nA,B,4 km\n")), "a km must be a number, got '4 km'"),
    (lambda: read(io.StringIO("Id,Label\nA,a\n")), "a table of nodes, as Gephi exports it.*Read the table of edges"),
    (lambda: read(io.StringIO("stop_id,stop_name\nA,a\n")), r"GTFS stops.*Read transfers\.txt"),
    (lambda: read(io.StringIO(",A,B\nB,0,1\nA,1,0\n")), "rows of a matrix must be in the order of its columns"),
    (lambda: read(io.StringIO("0 1\n1 0\n")), r"may be a matrix or edges.*format='matrix'.*columns=\(0, 1\)"),
    (lambda: read(io.StringIO('{"a": 1')), "must be JSON, got"),
    (lambda: read(io.StringIO('{"A": "BC"}')), "'BC' under 'A', where vertices must be"),
    (lambda: read(io.StringIO('{"from": ["A"], "to": ["B"]}')), r"pandas\.DataFrame\(json\.load"),
    (lambda: read(io.StringIO("[[0, 1], [1, 0]]"), format="json"), r"apsp\.as_graph\(json\.load\(open"),
    (lambda: read(io.StringIO("")), "must hold a graph, got an empty file"),
    (lambda: read("https://x.org/roads.csv"), r"got an address\. Say apsp\.as_graph\(pandas\.read_csv\('https://x"),
    (lambda: read("/nowhere/roads.csv"), "No such file or directory"),
    (lambda: read(io.StringIO("x"), format="excel"), r"format must be one of .*got 'excel'"),
    (lambda: shortest_paths(EDGES, "min-plus"), "Did you mean 'min_plus'"),
    (lambda: shortest_paths(EDGES, engine="dijkstra"), "engine must be one of"),
    (lambda: shortest_paths(EDGES, device="gpu"), "device must be one of cpu, cuda"),
    (lambda: shortest_paths(EDGES).distance("A", "Z"), "a vertex must be one of the 3 labels 'A' … 'C', got 'Z'"),
    (lambda: shortest_paths(EDGES).path("C", "A"), "'A' must be reachable from 'C'"),
    (lambda: shortest_paths(EDGES).diameter(), "connected=True"),
    (lambda: shortest_paths(EDGES).save("d.xlsx"), r"suffix must be one of.*r\.to_frame\(\)\.to_excel\('d\.xlsx'\)"),
    (lambda: shortest_paths(EDGES).betweenness(sources=["A"]), "sources must be a number from 1 to 3"),
    (lambda: shortest_paths(EDGES).betweenness(sources=2, seed=-1), "betweenness: seed must be an integer from 0 on"),
    (lambda: shortest_paths(EDGES).verify(rows=2, seed="x"), "verify: seed must be an integer from 0 on.*got 'x'"),
    (lambda: shortest_paths(EDGES).flows({"A": 3}), r"triples \(origin, destination, trips\)"),
    (lambda: shortest_paths(EDGES, sources="A"), "'A'|sources"),
    (lambda: transitive_closure(EDGES).reaches("A", "Z"), "got 'Z'"),
    (lambda: closure(SQUARE, schedule="fast"), "schedule must be .* one of"),
    (lambda: closure(np.array([[0, 1], [0, 0]])), "null_value=0 .*null_value=None"),
    (lambda: critical_path({"walls": 5, "roof": 2}, {"roof": 7}), "dependency on 7 without one"),
    (lambda: critical_path([("a", 5, None), ("b", 3, "c")]), "dependency on 'c' without one"),
    (lambda: critical_path([("a", 5, "b"), ("b", 3, "a SS")]), "the cycle b → a → b|the cycle a → b → a"),
    (lambda: critical_path([("a", 5, None), ("b", 3, "a SS+2d")]), "lag must be in the unit of the durations"),
    (lambda: critical_path([("a", "5 days", None), ("b", "1 wk", "a")]), "in one unit, got '5 days' beside '1 wk'"),
    (lambda: critical_path({"a": -1}), "at least 0, got -1 for 'a'"),
    # Of shortest_paths and its results
    (lambda: shortest_paths(None), "source must be one of these: .*Got NoneType"),
    (lambda: shortest_paths(nx.DiGraph), "source must be one of these: .*Got type"),
    (lambda: shortest_paths(b"roads.csv"), "source must be one of these: .*Got bytes"),
    (lambda: shortest_paths(""), "No such file or directory: ''"),
    (lambda: shortest_paths(EDGES, "dijkstra"), r"semiring must be .*min_plus \(tropical.*got 'dijkstra'"),
    (lambda: shortest_paths(EDGES, semiring=min), "semiring must be .*got <built-in function min>"),
    (lambda: shortest_paths(EDGES, limit="5 km"), "limit: it must be a number, got '5 km'"),
    (lambda: shortest_paths(EDGES, limit=np.nan), "limit: it must be a number, got NaN. Leave the limit out"),
    (lambda: shortest_paths(EDGES, dtype="complex128"), "min_plus is defined on int16, .*got complex128"),
    (lambda: shortest_paths(EDGES, threads=0), "threads must be a positive integer, got 0. Leave it out"),
    (lambda: shortest_paths(EDGES, memory="lots"), "memory must be a number of bytes such as \"16GiB\".*got 'lots'"),
    (lambda: shortest_paths(EDGES, memory=-5), "memory must be a number of bytes .*got -5"),
    (lambda: shortest_paths(EDGES, turns={("A", "C"): 3}), r"keys must be \(from, via, to\), .*got \('A', 'C'\)"),
    (lambda: shortest_paths(EDGES, u_turns="no"), "u_turns must be numbers, inf to forbid, got"),
    (lambda: shortest_paths(EDGES, along=["km"]), r"must be \(u, v, \{'km': value\}\).*got \[\('A', 'B', 4\)"),
    (lambda: shortest_paths(EDGES, along={"km": [1]}), r"'km' must be a number an edge, of shape \(2,\), got \(1,\)"),
    (lambda: shortest_paths(EDGES, output="d.csv"), r"makes a directory of tiles, got 'd.*Say output='d\.tiles'"),
    (lambda: shortest_paths(EDGES, schedule="recursive", engine="elimination"), "Leave one of them out"),
    (lambda: shortest_paths(EDGES, "reliability"), r"must lie in \[0, 1\], got 4.0"),
    (lambda: shortest_paths([("A", "B", 1), ("B", "A", 1)], "max_plus"), "cycle A → B → A"),
    (lambda: shortest_paths([("A", None, 4)]), "a vertex must be a name or a finite number, got None. Leave its edges"),
    (lambda: transitive_closure({"A": [None]}), "a vertex must be a name or a finite number, got None"),
    (lambda: shortest_paths([(np.nan, "B", 4)]), "a vertex must be a name or a finite number, got nan"),
    (lambda: shortest_paths([("A", ["B"], 4)]), r"labels must be hashable \(integers"),
    (lambda: shortest_paths([("A", "B", 3 + 4j)]), "weights must be real numbers .*complex128.*float"),
    (lambda: shortest_paths(EDGES).distance("a", "C"), "got 'a'. Did you mean 'A'"),
    (lambda: shortest_paths(EDGES).distance(0, 1), "one of the 3 labels 'A' … 'C', got 0"),
    (
        lambda: shortest_paths(EDGES).paths(("A", "C")),
        r"pairs must be \(source, target\) each, got \['A', 'C'\]. Pass \[",
    ),
    (lambda: shortest_paths(EDGES).paths(5), r"pairs must be \(source, target\) each, got 5. Pass \["),
    (
        lambda: shortest_paths(EDGES, directed=False).update({("A", "B"): [1, 2]}),
        r"weights must be one number an edge, got \[1, 2\]",
    ),
    (lambda: shortest_paths(EDGES).k_paths("A", "C", 0), "k must be a positive integer, how many paths, got 0"),
    (lambda: shortest_paths(EDGES).k_paths("A", "C", 2, overlap=3), "at least 0 and below 1, got 3"),
    (lambda: shortest_paths(EDGES).table("A", "C"), r"a list or an array of labels, got 'A'. Pass \['A'\]"),
    (lambda: shortest_paths(EDGES).nearest(["Z"]), "one of the 3 labels"),
    (lambda: shortest_paths(EDGES).update({("A", "C"): 3}), r"one of the graph's, got \('A', 'C'\)\. List it .*inf"),
    (lambda: shortest_paths(EDGES).update({("A", "B"): "x"}), "must be real numbers .*got 'x' on edge 0"),
    (lambda: shortest_paths(EDGES).update({"A": 3}), r"lead from edges \(u, v\) to weights, got the key 'A'"),
    (lambda: shortest_paths(EDGES).update([("A", "B", 3)]), r"Pass \{\(u, v\): weight\}"),
    (lambda: shortest_paths(EDGES).flows([("A", "C", -3)]), "trips must be at least 0, got -3"),
    (lambda: shortest_paths(EDGES).flows([("C", "A", 3)]), "unreachable='drop'"),
    (lambda: shortest_paths(EDGES).flows(np.ones((2, 2))), r"shape \(3, 3\), got \(2, 2\)"),
    (lambda: shortest_paths(EDGES).tied(-1), "ties_within must be a number of at least 0, got -1"),
    (lambda: shortest_paths(EDGES).center(), "got no path from 'B' to 'A'"),
    (lambda: shortest_paths(EDGES).explore(path=["A", "C"]), r"as_graph\(…, places=…\)"),
    (lambda: shortest_paths(EDGES).save("/nowhere/d.csv"), "its directory must exist"),
    (lambda: apsp.Result.load(os.__file__), "a Result that `save` wrote is required"),
    (lambda: shortest_paths(EDGES).nearest(["A"], towards="no"), "towards must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).to_frame(long="no"), "to_frame: long must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).verify(paths="no"), "verify: paths must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).verify(rows=0), "verify: rows must be an integer from 1 on, or 'all', got 0"),
    (lambda: semiring.matmul(SQUARE, SQUARE, witness="no"), "matmul: witness must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).diameter(connected="no"), "diameter: connected must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).global_efficiency(connected="no"), "efficiency: connected must be True or False"),
    (lambda: shortest_paths(EDGES).average_path_length(connected="no"), "length: connected must be True or False"),
    (lambda: shortest_paths(EDGES).betweenness(normalized="no"), "normalized must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).closeness(wf_improved="no"), "closeness: wf_improved must be True or False"),
    (lambda: shortest_paths(EDGES, paths="no"), "shortest_paths: paths must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES, hub_labels="no"), "shortest_paths: hub_labels must be True or False, got 'no'"),
    (lambda: shortest_paths(PLACED).explore(planar="no"), "explore: planar must be True or False, got 'no'"),
    (lambda: PLACED.nearest(6, 49, planar="no"), "Graph.nearest: planar must be True or False, got 'no'"),
    (lambda: PLACED.nearest(6, 49, distances="no"), "Graph.nearest: distances must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).betweenness(endpoints="no"), "endpoints must be True or False, got 'no'"),
    (lambda: shortest_paths(EDGES).update({("A", "B"): [1, 2]}), r"one number an edge, got \[1, 2\] on edge 0"),
    # Of closures
    (lambda: closure([[0, 1], [1]]), "rows must be equally long, got lengths 1, 2"),
    (lambda: closure(np.zeros((2, 3))), r"A must be square, \(n, n\) or \(batch, n, n\), got shape \(2, 3\)"),
    (lambda: closure(np.array([["0", "4"], ["9", "0"]])), r"got dtype <U1. Say A\.astype\(float\)"),
    (lambda: closure([[0, np.nan], [1, 0]]), r"got nan at \(0, 1\). A missing edge is"),
    (lambda: closure(SQUARE, block=0), "block must be an integer of at least 1, got 0"),
    (lambda: closure(SQUARE, null_value="inf"), "null_value must be a number, such as 0, or None, got 'inf'"),
    (lambda: closure(SQUARE, unweighted="no"), "closure: unweighted must be True or False, got 'no'"),
    (lambda: apsp.update(CLOSED, SQUARE, {(0, 1): 3}, overwrite="no"), "update: overwrite must be True or False"),
    (lambda: closure(SQUARE, overwrite="no"), "overwrite must be True or False, got 'no'"),
    (lambda: closure([[0, 4]] * 2, overwrite=True), "overwrite=True must have an array to write to, got list"),
    (lambda: closure(SQUARE, output="d.xlsx"), r"makes a directory of tiles, got 'd.*Say output='d\.tiles'"),
    (lambda: closure(SQUARE, "boolean"), "Say which entries are edges, for instance A < np.inf"),
    (lambda: closure(SQUARE, "plus_times"), "must have a limit.*Scale the matrix down"),
    (lambda: closure(SQUARE, memory=1), "Give more memory"),
    # Of who reaches whom
    (lambda: transitive_closure({"A": "B"}), r"got str under 'A'. Say \{'A': \['B'\]\}"),
    (lambda: transitive_closure(EDGES, reflexive="no"), "reflexive must be True or False, got 'no'"),
    (lambda: transitive_closure(EDGES, output="d.csv"), r"makes a directory of tiles, got 'd.*Say output='d\.tiles'"),
    (lambda: transitive_closure(EDGES).save("t.xlsx"), r"must be one of \.npz, \.tiles, got 't\.xlsx'\.$"),
    (lambda: transitive_closure(EDGES).path("C", "A"), "'A' must be reachable from 'C'"),
    (lambda: apsp.reachable([("a", "b", "x")], "x*("), r"label or an opening bracket at 3, got the end. Such as"),
    (lambda: apsp.reachable([("a", "b", "x")], "y"), "labels must be among x, got 'y'"),
    # Of graphs
    (lambda: Graph.from_edges(EDGES, labels=["A", "A", "B"]), "labels must be distinct, got 'A' twice"),
    (lambda: Graph.from_arrays([0, 1], [1]), "equally long, got 2 and 1"),
    (lambda: Graph.from_arrays([0, -1], [1, 2]), "got -1 on edge 1. Count vertices from 0"),
    (lambda: Graph.from_arrays(["a"], ["b"]), "Edges with names go through Graph.from_edges"),
    (lambda: as_graph(SQUARE, weight="km"), "weight must be None for a matrix, .*got 'km'"),
    (lambda: as_graph(EDGES, places={"A": (1, 2, 3)}), r"two numbers a vertex, \(x, y\)"),
    (lambda: as_graph(EDGES).nearest(6, 49), r"graph\.having\(places=…\)"),
    (lambda: read(io.StringIO("a: 1"), delimiter=";", format="csv"), "no format takes delimiter="),
    (lambda: read(io.BytesIO("A\tB\n".encode("utf-16"))), r"encoding='utf-16'\)"),
    (lambda: read(io.StringIO("<html>404</html>")), "got '<html>404</html>', which looks like none"),
    (lambda: critical_path([("a", 3), ("a", 4)]), "critical_path: labels must be distinct, got 'a' twice"),
    (lambda: critical_path("tasks.csv"), "must be a mapping, .* a table, or tuples .*got str"),
    (lambda: apsp.random_graph(5, 20, seed=1, weights=(3,)), r"weights must be \(low, high\), .*got \(3,\)"),
    (lambda: apsp.random_graph(5, 20, seed="x"), "seed must be an integer from 0 on"),
    (lambda: apsp.compare(SQUARE, threads=0), "threads must be numbers of at least 1, got 0"),
    (lambda: apsp.order([("a", "b"), ("b", "a")]), "got b → a → b. Leave one of these edges out"),
    # Of SciPy's functions and the NetworkX backend
    (lambda: apsp.csgraph.shortest_path(SQUARE, method="Z"), "method must be one of auto, FW, D, BF, J, got 'Z'"),
    (lambda: apsp.csgraph.shortest_path(SQUARE, indices=[7]), "must lie in -2 … 1, got 7"),
    (lambda: apsp.csgraph.dijkstra(SQUARE, limit=-1), "limit must be >= 0, got -1"),
    (lambda: apsp.csgraph.yen(SQUARE, 0, 9, 2), "source, sink < 2, got 0 and 9"),
    # Of products
    (lambda: semiring.matmul(SQUARE, np.ones((3, 2))), r"inner sizes must match, got A \(2, 2\) and B \(3, 2\)"),
    (lambda: semiring.matmul(SQUARE, SQUARE > 0), r"np\.where\(A, 1\.0, np\.inf\)"),
    (lambda: semiring.einsum(SQUARE, SQUARE), "subscripts must be a text, got array.*'ij,jk->ik'"),
    (lambda: semiring.einsum("ij,jk->il", SQUARE, SQUARE), "different ones of the operands'"),
    (lambda: semiring.power(SQUARE, -1), "k must be an integer of at least 0"),
    (lambda: semiring.sum(SQUARE, axis=5), "axis must be one of the array's"),
    (lambda: semiring.lu(np.zeros((2, 2))), r"scipy\.linalg\.lu"),
    (lambda: semiring.load(f"{os.__file__}:nothing"), "a semiring of the file is required, .*got 'nothing'"),
    # Of errors whose class is told
    (lambda: semiring.get("tropicana"), "min_plus .*tropical.*got 'tropicana'", AlgebraError),
    (lambda: apsp.compare(SQUARE, devices=["zz"]), "one of cpu, cuda, got 'zz'", DeviceError),
    (lambda: apsp.compare(SQUARE, schedules=["magic"]), "got 'magic'", ValueError),
    (lambda: apsp.negative_cycle([("a", "b", 1)], "max_min"), "^negative_cycle: .* got max_min", AlgebraError),
    (lambda: shortest_paths(EDGES, engine="magic"), "auto, dense, elimination", ValueError),
    (lambda: shortest_paths({1: [[2]]}), r"must be hashable, got \[2\]", VertexError),
    (lambda: read(io.StringIO("0;2,5\n1.500;0\n"), format="matrix"), r"a number, got '1\.500'", FormatError),
    (lambda: apsp.road_like(-1, seed=0), "0 or more, got -1", ValueError),
    (lambda: as_graph(np.eye(2), directed=False), "both directions", ShapeError),
    (lambda: as_graph([(0, 1, 2**53 + 1)]).matrix("max_times"), "9007199254740993", DTypeError),
    (lambda: as_graph(coo_array((2, 3))), "square", ShapeError),
    (lambda: Labels([1, 5, 3]).positions([5, 8]), "got 8", VertexError),
    (lambda: Labels([1, 5, 3]).positions([5, 0]), "got 0", VertexError),
    (lambda: Labels([]).positions([0]), "without vertices", VertexError),
    (lambda: Labels(["Heathrow", "Gatwick"]).position("Heatrow"), "Did you mean 'Heathrow'", VertexError),
    (lambda: critical_path(memoryview(np.eye(2))), "durations must be a mapping", DTypeError),
    (lambda: as_graph(pytest.importorskip("polars").Series([1, 2, 3])), "", (DTypeError, ShapeError)),
    (lambda: closure(np.eye(3, dtype=bool), "boolean", memory="1GiB"), "transitive_closure", DTypeError),
    (lambda: semiring.matmul([[1.0], [np.nan]], [[1.0]]), r"nan at \(1, 0\)", DomainError),
    (lambda: semiring.matmul([[1.0]], [[-np.inf]]), "-inf", DomainError),
    (lambda: semiring.matvec(np.zeros((2, 3)), np.zeros(4)), r"got A \(2, 3\) and x \(4,\)", ShapeError),
    (lambda: semiring.lu(np.zeros((2, 3))), r"\(2, 3\)", ShapeError),
    (lambda: semiring.lu(np.eye(2, dtype=bool)), "bool", DTypeError),
    (lambda: shortest_paths([("a", "b", 0.1)], "plus_times", paths=True), "must select", AlgebraError),
    (lambda: apsp.predecessors(np.eye(2), np.eye(2), "plus_times"), "must select", AlgebraError),
    (lambda: apsp.predecessors(np.zeros((2, 2)), np.zeros((3, 3))), "one shape", ShapeError),
    (lambda: apsp.predecessors(np.zeros((2, 3)), np.zeros((2, 3))), "square", ShapeError),
    (lambda: apsp.predecessors(np.array([[0, np.nan], [1, 0]]), np.zeros((2, 2))), "nan", DomainError),
    (lambda: apsp.predecessors([[0, 0.5], [1, 0]], np.array([[0, 1], [1, 0]])), "", DTypeError),
    (
        lambda: Searches(([0, 1], [1, 2]), n=3, weights=np.ma.masked_array([1.0, 2.0], [0, 1])),
        "Searches: a plain array is required, got a masked one",
        DTypeError,
    ),
]
#: What a mistake may end in where its row names no class.
ERRORS = (SemiringError, ValueError, TypeError, LookupError, OSError, UserWarning)


@pytest.mark.filterwarnings("error")
def test_a_mistake_ends_in_one_line_with_its_way_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call, words, *error in MISTAKES:
        with suppress(pytest.skip.Exception):  # of a library that is not installed
            with pytest.raises(error[0] if error else ERRORS) as caught:
                print(words, call())  # which a failure shows
            text = str(caught.value)
            assert re.search(words, text), (words, text)
            assert "\n" not in text
            assert len(text) < 900


#: Mistakes in a shell: arguments, the exit code, what is said, and what is not.
TYPED = [
    (["solve", "r.csv"], 2, "Say --weight length, or --unweighted for", "weight="),
    (["solve", "r.csv", "--weight", "lenght"], 2, "must be one column 'lenght'", "Graph:"),
    (["solve", "nope.csv"], 2, "apsp: nope.csv: No such file or directory.", "Errno"),
    (["solve", "r.csv", "--weight", "length", "--semiring", "min-plus"], 2, "apsp: semiring must be", "get:"),
    (["solve", "r.csv", "--weight", "length", "--from", "Z", "--to", "A"], 2, "apsp: a vertex must be", "Graph:"),
    (["solve", "r.csv", "--weight", "length", "--output", "x.foo"], 2, "apsp: the suffix must be", "save:"),
    (["solve", "square.csv"], 2, "Say --format matrix for the matrix, --columns 0,1 for edges", "apsp.read"),
    (["convert", "r.csv", "g.graph", "--weight", "length"], 2, "Read it with --undirected if", "directed=False"),
    (["solve", "r.csv", "--weight", "length", "--engine", "fast"], 2, "apsp: engine must be one of", "engine="),
    (["solve", "stops.csv"], 2, "Say --columns 'From stop,To stop', by name", "columns="),
    (["solve", "."], 2, "got a folder of 6. Say ./r.csv.", "apsp.read"),
    (["solve", "zeros.csv"], 2, "or --null-value none where they are edges", "null_value"),
    (["solve", "r.csv", "--weight", "length", "--table", "z.txt"], 2, "apsp: z.txt:1: a vertex must be", "Graph:"),
    (["solve", "r.csv", "--weight", "length", "--paths", "zz.txt"], 2, "apsp: zz.txt:1: a vertex must be", "Graph:"),
    (["solve", "r.csv", "--weight", "length", "--semiring", "mini"], 2, "--semiring FILE.py:NAME", "semiring.load"),
    (["solve", "r.csv", "--weight", "length", "--output", "-"], 2, "or say --output-format", "save:"),
    (["convert", "r.csv", "-", "--weight", "length"], 2, "(--to-format of convert)", "write:"),
    (["generate", "cycle", "5", "--output", "-"], 2, "or give --format (", "format="),
    (["generate", "random", "5", "--density", "400", "--output", "c.csv"], 2, "apsp: density is in", "random_graph"),
    (["query", "r.csv"], 2, "a result that apsp solve or apsp reach wrote by --output is required", "`save`"),
    (["flows", "r.csv", "--weight", "length", "--demand", "r.csv"], 2, "Rename one", "(origin)"),
    (["betweenness", "r.csv", "--weight", "length", "--output", "b.xlsx"], 2, "A spreadsheet opens .csv.", "to_frame"),
    (["solve", ""], 2, "No such file or directory", "Is a directory"),
]


def test_a_mistake_in_a_shell_is_told_in_its_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text(PAIRS)
    (tmp_path / "square.csv").write_text("0,1\n1,0\n")
    (tmp_path / "stops.csv").write_text("From stop,To stop,km\nA,B,4\n")
    (tmp_path / "zeros.csv").write_text(",A,B,C\nA,0,1,0\nB,0,0,1\nC,1,0,0\n")
    (tmp_path / "z.txt").write_text("Z\n")
    (tmp_path / "zz.txt").write_text("A Z\n")
    for arguments, code, said, unsaid in TYPED:
        done = CliRunner().invoke(main, arguments)
        assert (done.exit_code, done.stderr.count("\n")) == (code, 1), arguments
        assert said in done.stderr
        assert unsaid not in done.stderr


def answer(*arguments):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    return json.loads(done.stdout), done.exit_code


def test_json_of_every_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("from,to,km\nA,B,4\nB,C,7\n")
    (tmp_path / "pairs.txt").write_text("A C\nC A\n")
    (tmp_path / "trips.csv").write_text("origin,destination,trips\nA,C,10\n")
    found, code = answer("solve", "r.csv", "--json")
    assert found["rows"][0] == {"from": "A", "A": 0, "B": 4, "C": 11}
    assert found["rows"][2] == {"from": "C", "A": None, "B": None, "C": 0}
    assert (found["n"], found["edges"], found["semiring"], code) == (3, 2, "min_plus", 0)
    assert answer("solve", "-q", "r.csv", "--json", "--from", "A", "--to", "C")[0] == {
        "distance": 11, "path": ["A", "B", "C"],
    }  # fmt: skip
    assert answer("solve", "r.csv", "-q", "--json", "--from", "C", "--to", "A") == ({"distance": None, "path": None}, 1)
    rows = answer("--json", "solve", "r.csv", "--paths", "pairs.txt")[0]["rows"]
    assert [row["path"] for row in rows] == [["A", "B", "C"], []]
    assert answer("reach", "r.csv", "--unweighted", "-q", "--json", "--from", "C", "--to", "A") == (
        {"reaches": False},
        1,
    )
    assert answer("reach", "r.csv", "--unweighted", "-q", "--json", "--from", "A")[0] == {"reached": ["B", "C"]}
    assert answer("betweenness", "r.csv", "-q", "--json")[0]["rows"][1] == {"vertex": "B", "betweenness": 0.5}
    assert answer("flows", "r.csv", "--demand", "trips.csv", "-q", "--json")[0]["rows"][0]["trips"] == 10
    assert answer("plan", 100, "--json")[0]["plan"]["n"] == 100
    assert answer("generate", "cycle", 5, "--output", "c.csv", "--json")[0] == {"output": "c.csv", "n": 5, "edges": 5}
    assert answer("info", "--json")[0]["formats"]
    (tmp_path / "r.csv").write_text("from,to,km\nfrom,B,4\n")  # whose column would take the place of the row's name
    told = CliRunner().invoke(main, ["solve", "r.csv", "--json"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert "columns of a row in JSON must differ, got 'from' twice" in told.stderr
    assert answer("solve", "r.csv", "--from", "B", "--json")[0]["rows"][1] == {"to": "from", "distance": None}
    (tmp_path / "r.csv").write_text("from,to,km\nA,B,4\nB,C,7\n")
    answer("solve", "r.csv", "--output", "d.npz", "--json")
    assert answer("query", "d.npz", "--from", "A", "--to", "C", "--json")[0]["distance"] == 11


def test_quiet_after_a_command(tmp_path):
    (tmp_path / "r.csv").write_text("from,to,km\nA,B,4\n")
    before, after = (
        CliRunner().invoke(main, words).stdout
        for words in (["-q", "solve", str(tmp_path / "r.csv")], ["solve", str(tmp_path / "r.csv"), "--quiet"])
    )
    assert before == after
    assert "seconds=" not in after


def test_columns_are_completed(tmp_path):
    from click.shell_completion import ShellComplete

    path = tmp_path / "r.csv"
    path.write_text(PAIRS)
    shell = ShellComplete(main, {}, "apsp", "_APSP_COMPLETE")

    def offered(words, begun):
        return [item.value for item in shell.get_completions(words, begun)]

    assert offered(["solve", str(path), "--weight"], "") == ["from", "to", "length", "time"]
    assert offered(["convert", str(path), "r.gr", "--weight"], "l") == ["length"]
    assert offered(["solve", str(path), "--columns"], "from,t") == ["from,to", "from,time"]
    assert offered(["solve", "--weight"], "l") == []
    if hasattr(os, "mkfifo"):  # which nobody writes to, like standard input
        os.mkfifo(tmp_path / "pipe.csv")
        assert offered(["solve", str(tmp_path / "pipe.csv"), "--weight"], "l") == []


#: DOT, and its edges with their weights.
DOTS = {
    "of a cluster": ("digraph { subgraph cluster_0 { A -> B [weight=4] } B -> C [weight=7] }", {"AB": 4, "BC": 7}),
    "with a default": ("digraph { edge [weight=4]; A -> B; B -> C [weight=7] }", {"AB": 4, "BC": 7}),
    "with a default from there on": ("graph { A -- B [weight=1]; edge [weight=2]; B -- C }", {"AB": 1, "BC": 2}),
    "a default within": ("digraph { subgraph s { edge [len=3]; A -> B } B -> C [len=2] }", {"AB": 3, "BC": 2}),
    "with ports": ('digraph { A:out:n -> "B":in [len=4]; B:out -> C [len=7] }', {"AB": 4, "BC": 7}),
    "between subgraphs": (
        "digraph { {A; B} -> subgraph s {C; D} [len=2] }",
        dict.fromkeys(("AC", "AD", "BC", "BD"), 2),
    ),
}


@pytest.mark.parametrize("name", DOTS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
def test_no_edge_of_a_drawing_is_lost(name):
    pytest.importorskip("pydot")
    text, edges = DOTS[name]
    g = read(io.StringIO(text), format="dot")
    tails, heads, weights = g.edges()
    found = {g.labels[u] + g.labels[v]: w for u, v, w in zip(tails, heads, weights.tolist(), strict=True) if u < v}
    assert found == edges


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
def test_an_arrow_leads_where_it_points(capsys):
    pytest.importorskip("pydot")
    drawing = "digraph { A -> B [dir=back]; C -> D [dir=both]; edge [dir=none]; E -> F; G -> G [dir=back] }"
    tails, heads, _ = (g := read(io.StringIO(drawing), format="dot")).edges()
    assert {g.labels[u] + g.labels[v] for u, v in zip(tails, heads, strict=True)} == {*"BA CD DC EF FE GG".split()}
    with pytest.raises(FormatError, match="found end of text"):
        read(io.StringIO("digraph { A -> B "), format="dot")
    assert not capsys.readouterr().out  # where answers go


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
def test_what_a_drawing_leaves_open_is_refused():
    pytest.importorskip("pydot")
    with pytest.raises(FormatError, match="DOT with one graph, got '2 graphs'"):
        read(io.StringIO("digraph { A -> B }\ndigraph { C -> D }\n"), format="dot")
    with pytest.raises(FormatError, match="an edge within an end of another"):
        read(io.StringIO("digraph { A -> subgraph s { B -> C } }"), format="dot")
    assert list(read(io.StringIO('digraph { "a:b" -> "c\\"d"; Z }\r\n'), format="dot").labels) == ["a:b", 'c"d', "Z"]


@pytest.mark.parametrize("end", [1, "Z"], ids=["a position, as D3 had it", "a name with a mistake"])
def test_ends_of_links_are_among_the_nodes(end, tmp_path):
    data = {"nodes": [{"id": "A"}, {"id": "B"}], "links": [{"source": "A", "target": end, "value": 4}]}
    elements = {"elements": [{"data": x} for x in (*data["nodes"], *data["links"])]}
    for listed in (data, elements):
        (tmp_path / "g.json").write_text(json.dumps(listed))
        with pytest.raises(FormatError, match=f"the end {end!r} of a link, and no node"):
            read(tmp_path / "g.json")


def test_vertices_of_cytoscape_may_have_no_edge():
    for given in (nx.empty_graph(3), nx.path_graph(3), nx.relabel_nodes(nx.path_graph(3), str)):
        assert list(read(io.StringIO(json.dumps(nx.cytoscape_data(given))), format="json").labels) == [0, 1, 2]
    alone = {"elements": {"nodes": [{"data": {"id": "A"}}], "edges": []}}
    assert list(read(io.StringIO(json.dumps(alone)), format="json").labels) == ["A"]


def test_what_lies_deeper_in_json_is_no_name_and_not_lost(tmp_path):
    for data in (
        {"A": [["B", 4]], "B": [["C", 7]]},
        {"A": [{"node": "B", "weight": 4}]},
        {"A": [None]},
        {"columns": ["from", "to"], "index": [0], "data": [["A", "B"]]},
    ):
        with pytest.raises(FormatError, match=r"where a vertex must be; weights are \{u: \{v: weight\}\}"):
            read(io.StringIO(json.dumps(data)), format="json")
    path = tmp_path / "g.json"
    for edges in (
        [{"key": "1", "source": "A", "target": "B", "attributes": {"weight": 4}}],  # graphology, of sigma.js
        [{"from": "A", "to": "B", "value": 4}],  # vis.js
    ):
        path.write_text(json.dumps({"nodes": [{"id": "A"}, {"id": "B"}], "edges": edges}))
        with pytest.raises(FormatError, match="source, target and weight side by side") as caught:
            read(path)
        call = str(caught.value).partition("Say ")[2].rstrip(".")
        with path.open() as file:
            names = {"apsp": apsp, "json": json, "open": lambda name, file=file: file}
            assert shortest_paths(eval(call, names)).distance("A", "B") == 4


@pytest.mark.parametrize("call", [as_graph, shortest_paths, transitive_closure])
def test_a_text_is_no_truth_value(call):
    for word in ("no", "false", ""):
        with pytest.raises(ValueError, match=rf"as_graph: directed must be True or False, got '{word}'"):
            call(EDGES, directed=word)
        with pytest.raises(ValueError, match=rf"as_graph: unweighted must be True or False, got '{word}'\."):
            call(EDGES, unweighted=word)
    with pytest.raises(ValueError, match="directed must be True or False, got 'no'"):
        read(io.StringIO("from,to\nA,B\n"), directed="no")
    for make in (apsp.Graph.from_edges, lambda edges, directed: as_graph(edges).having(directed=directed)):
        with pytest.raises(ValueError, match="Graph: directed must be True or False, got 'no'"):
            make(EDGES, directed="no")
    assert not as_graph(EDGES, directed=np.False_).directed


def test_an_edge_is_added_or_removed_by_true_or_false():
    t = transitive_closure(EDGES)
    for value in ("no", float("nan"), np.inf, 4, None, "True"):
        with pytest.raises(apsp.DomainError, match=r"True or False.* for \('A', 'B'\)\. .*Result\.update"):
            t.update({("A", "B"): value})
    with pytest.raises(TypeError, match=r"update: changes must be \{\(u, v\): True or False\}, got \["):
        t.update([("A", "B", True)])
    with pytest.raises(apsp.ShapeError, match=r"all pairs are needed, .*Ask without sources=, targets="):
        shortest_paths(EDGES, sources=["A"]).eccentricity()
    for value in (False, 0, np.False_):
        assert not t.update({("A", "B"): value}).reaches("A", "B")
    for value in (True, 1, np.True_):
        assert t.update({("C", "A"): value}).reaches("C", "B")


def test_numbers_and_their_texts_are_no_two_vertices_of_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"from": ["1", "2"], "to": [2, 3], "km": [4, 7]})
    for wrong in (table, table.astype({"to": float})):
        with pytest.raises(FormatError, match=r"one type, got '2' as a text and as a number") as caught:
            shortest_paths(wrong)
    way = re.search(r"as by (table\.astype.*\))\.", str(caught.value))[1]
    assert shortest_paths(eval(way)).distance(1, 3) == 11
    with pytest.raises(FormatError, match="got '2' as a text and as a number"):
        as_graph(pd.DataFrame({"from": [1, "2"], "to": [2, "3"], "km": [4, 7]}, dtype=object).astype({"km": int}))
    assert as_graph(pd.DataFrame({"from": ["Ann"], "to": [2], "km": [4]})).labels[1] == 2
    polars = pytest.importorskip("polars")
    with pytest.raises(FormatError, match=r"Make numbers of the column 'from'\."):
        shortest_paths(polars.DataFrame(table.to_dict("list")))


def test_tables_of_other_shapes_have_a_way_out_that_works():
    pd = pytest.importorskip("pandas")
    listed = pd.DataFrame(EDGES, columns=["from", "to", "km"])
    indexed = listed.set_index(["from", "to"])
    for table in (indexed, listed.set_index("from"), indexed.km.unstack()):
        with pytest.raises(FormatError, match="must name the ends of edges by columns, or rows as columns") as caught:
            shortest_paths(table)
        way = re.search(r"Pass (table\S+\(\))", str(caught.value))[1]
        assert shortest_paths(eval(way)).distance("A", "C") == 11
    table = pd.DataFrame({"A": [0, 9.0], "B": [4.0, 0]})
    with pytest.raises(FormatError, match=r"got columns 'A', 'B'\. Pass table\.to_numpy\(\).*columns=\(FROM"):
        shortest_paths(table)
    assert shortest_paths(table.to_numpy()).distance(0, 1) == 4
    for index, way in (([1, 2], "table.set_axis(table.columns)"), (["2", "1"], "table.loc[table.columns]")):
        table = pd.DataFrame([[1, 4], [9, 2]], index=index, columns=["1", "2"])
        with pytest.raises(FormatError, match="named as its columns, in their order, got") as caught:
            shortest_paths(table)
        assert str(caught.value).endswith(f"Say {way}.")
        assert shortest_paths(eval(way)).distance(*map(str, index)) == (4 if index == [1, 2] else 1)
    table = pd.DataFrame([[0, 4], [9, 0]])
    with pytest.raises(FormatError, match="may be a matrix or edges") as caught:
        shortest_paths(table)
    assert shortest_paths(eval(re.search(r"(apsp\.Graph\S+) for", str(caught.value))[1])).distance(0, 1) == 4
    polars = pytest.importorskip("polars")
    for rows, way in (("BA", "Sort or rename the rows"), ("AB", "Say inf where there is no edge")):
        with pytest.raises(ValueError, match=way):
            shortest_paths(polars.DataFrame({"name": [*rows], "A": [0, None], "B": [4.0, 0]}))
    with pytest.raises(FormatError, match=r"Say columns=\(FROM, TO, WEIGHT\)"):
        shortest_paths(pd.DataFrame({"von": ["A"], "nach": ["B"], "km": [4]}))


def test_packed_files_and_lists_of_neighbours_are_named_with_a_way_out_that_works(tmp_path):
    table = b"from,to,km\nA,B,4\nB,C,7\n"
    names = {"apsp": apsp, "bz2": bz2, "lzma": lzma, "networkx": nx}
    for name, data in (
        ("e.csv.bz2", bz2.compress(table)),
        ("e.csv.xz", lzma.compress(table)),
        ("e", bz2.compress(table)),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FormatError, match="must hold one graph as text or numbers, got a packed one") as caught:
            read(tmp_path / name)
        call = str(caught.value).partition("Say ")[2].rstrip(".")
        assert shortest_paths(eval(call, names)).distance("A", "C") == 11
    ring = nx.DiGraph([("A", "B"), ("B", "C"), ("C", "A")])
    nx.write_adjlist(ring, tmp_path / "ring.adjlist")
    nx.write_sparse6(nx.cycle_graph(7), tmp_path / "ring.s6")
    for name, pair, distance in (("ring.adjlist", "AC", 2), ("ring.s6", (0, 3), 3)):
        with pytest.raises(FormatError, match="networkx") as caught:
            read(tmp_path / name)
        call = str(caught.value).partition("Say ")[2].partition(", networkx.Graph where")[0].rstrip(".")
        assert shortest_paths(eval(call, names)).distance(*pair) == distance
    with pytest.raises(IsADirectoryError, match="Name a file"):
        read(tmp_path)
    (tmp_path / "e.csv").write_bytes(table)
    with pytest.raises(IsADirectoryError, match=re.escape(f"Say apsp.read({str(tmp_path / 'e.csv')!r})")):
        read(tmp_path)
    with pytest.raises(TypeError, match="read: a path or an open file is required, got int"):
        read(5)


def test_arrays_of_objects_masks_sets_and_blanks_have_a_way_out_that_works():
    def way(source, words):
        with pytest.raises((apsp.DTypeError, FormatError), match=words) as caught:
            shortest_paths(source)
        return str(caught.value)

    edges = np.array([("A", "B", 4), ("B", "C", 7)], object)
    assert r"pass list(map(tuple, edges))." in way(edges, "Edges are tuples")
    assert shortest_paths(list(map(tuple, edges))).distance("A", "C") == 11
    assert "with directed=False, as a set has no order" in way([{"A", "B"}], "Edges are tuples")
    A = np.array([[0, 4], [np.inf, 0]], object)
    assert "Say A.astype(float)." in way(A, "got dtype object")
    assert shortest_paths(A.astype(float)).distance(0, 1) == 4
    A = np.ma.masked_equal([[0, 4, 9], [9, 0, 7], [9, 9, 0]], 9)
    call = way(A, "got a masked one").partition("Fill it: ")[2].rstrip(".")
    assert shortest_paths(eval(call, {"A": A, "numpy": np})).distance(0, 2) == 11
    assert "Write yes or no where it is blank." in way(
        frame(u=["A"], v=["B"], km=[4], oneway=[None]), "'oneway' must say of each edge"
    )
    with pytest.raises(FormatError, match=r"got '-' in the column 'A'\. No edge is a blank cell, or inf"):
        read(io.StringIO(",A,B\nA,0,4\nB,-,0\n"))
