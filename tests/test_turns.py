"""Turns: forbidden, costly, by way, back; the oracle is `walks` of `tests/fuzz/turns.py`."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from fuzz import draw, turns

from apsp import Graph, Result, as_graph, plan, shortest_paths
from apsp.io.expansion import Turns, expand
from apsp.io.turns import turns_of
from semiring import get
from semiring.host.errors import (
    AlgebraError,
    AmbiguityWarning,
    DivergenceError,
    DomainError,
    FormatError,
    NoPathError,
    ShapeError,
    VertexError,
)
from semiring.sparse import turning

ROADS = [("A", "B", 1), ("B", "C", 1), ("B", "D", 1), ("D", "C", 3), ("C", "B", 1)]
LEFT = {("A", "B", "C"): np.inf}


def test_drawn_networks():
    for index in range(60):
        turns.case(draw.of(61, "turns", index))


@pytest.mark.parametrize(
    "given",
    [
        LEFT,
        [("A", "B", "C")],
        [("A", "B", "C", np.inf)],
        {"from": ["A"], "via": ["B"], "to": ["C"]},
        [{"from_node": "A", "via_node_id": "B", "to_node": "C", "penalty": "inf"}],
        {"from": ["A"], "via": ["B"], "to": ["C"], "restriction": ["no_right_turn"]},
        {"From": ["A"], "Via": ["B"], "To": ["D"], "Restriction": ["only_straight_on"]},
        {"path": [["A", "B", "C"]], "cost": [np.inf]},
    ],
)
def test_a_forbidden_turn_in_every_spelling(given):
    r = shortest_paths(ROADS, turns=given)
    assert (r.distance("A", "C"), r.path("A", "C"), r.distance("B", "C")) == (5, ["A", "B", "D", "C"], 1)
    assert r.plan.reason.endswith("turns: 1 of 4 vertices split, 6 copies")
    assert "1 of 4 vertices split" in repr(r)


def test_a_frame_with_costs_keeps_integers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"from": ["A", "A"], "via": ["B", "B"], "to": ["C", "D"], "cost": [2.0, np.inf]})
    r = shortest_paths(ROADS, turns=frame)
    assert (r.distance("A", "C"), r.dtype.kind) == (4, "i")
    assert r.path("A", "D") == ["A", "B", "C", "B", "D"]
    assert shortest_paths(ROADS, turns=frame.assign(cost=[0.5, 1])).distance("A", "C") == 2.5


def test_how_far_it_is_without_turns():
    """In the numbers of the graph, whatever dtype costs ask for, and where these alone forbid a cycle."""
    roads = [("A", "B", 1234567), ("B", "C", 1), ("D", "A", 1)]
    for options, told in (
        ({}, " that turns allow: without them, its distance is 1234568."),
        ({"limit": 5}, r" within the limit of 5\."),
    ):
        r = shortest_paths(roads, turns={("A", "B", "C"): np.inf, ("D", "A", "B"): 0.5}, **options)
        with pytest.raises(NoPathError, match=f"'C' must be .*no walk between them{told}$"):
            r.path("A", "C")
    with pytest.raises(NoPathError, match=r"no walk between them\.$"):
        shortest_paths(roads, turns={("A", "B", "C"): 0.5}).path("A", "D")
    cycle = [("A", "B", 1), ("B", "C", 1), ("C", "B", -2), ("B", "D", 1)]
    forbidden = [("C", "B", "C"), ("B", "C", "B"), ("A", "B", "D"), ("C", "B", "D")]
    with pytest.raises(NoPathError, match=r"no walk between them that turns allow\.$"):
        shortest_paths(cycle, turns=forbidden).path("A", "D")


def test_closeness_is_that_of_vertices(tmp_path):
    r = shortest_paths(ROADS, turns=LEFT)
    r.save(tmp_path / "r.npz")
    others, D = (
        np.array([0, 3, 3, 3]),
        np.array([[0, 1, 5, 2], [np.inf, 0, 1, 1], [np.inf, 1, 0, 2], [np.inf, 4, 3, 0]]),
    )
    wanted = others / np.maximum(np.where(D < np.inf, D, 0).sum(axis=0), 1) * others / 3
    for x in (r, Result.load(tmp_path / "r.npz")):
        np.testing.assert_allclose(x.reduce("closeness"), wanted)
        np.testing.assert_allclose(list(x.closeness().values()), wanted)
        assert len(x.reduce("harmonic")) == 4


def test_files(tmp_path):
    path = tmp_path / "turns.csv"
    path.write_text('from,via,to,cost\nA,B,C,inf\nA,"B,D",C,2\n')
    assert shortest_paths(ROADS, turns=path).distance("A", "C") == 7
    path.write_text("from;via;to\nA;B;C\nA;B D;C\n")
    r = shortest_paths(ROADS, turns=path)
    with pytest.raises(NoPathError, match="no walk between them that turns allow: without them, its distance is 2"):
        r.path("A", "C")
    with pytest.raises(NoPathError, match="that turns allow"):
        r.flows({("A", "C"): 1})
    path.write_text("from,via,to\n1,x,y\n")
    with pytest.raises(VertexError, match="'1', as which two are written"):
        shortest_paths([(1, "x", 1), ("1", "x", 1), ("x", "y", 1)], turns=path)
    path.write_text("path\n1 2\n")
    roads = [(1, "x", 1), ("1", "x", 1), ("x", "y", 1)]
    assert shortest_paths(roads, turns=path, ways=range(3)).distance("1", "y") == np.inf  # the ways 1, 2
    path.write_text("from,via,to\nA,B\n")
    with pytest.raises(FormatError, match=r"turns\.csv:2: a turn must have 3 fields"):
        shortest_paths(ROADS, turns=path)


def test_ways_of_openstreetmap_and_pgrouting(tmp_path):
    ways = [10, 11, [12, 99], 13, 11]
    ref = [{"type": "way", "ref": 10, "role": "from"}]
    node = {"type": "node", "ref": "B", "role": "via"}
    banned = {
        "tags": {"restriction": "no_right_turn"},
        "members": [*ref, node, {"type": "way", "ref": 11, "role": "to"}],
    }
    by_way = [*ref, {"type": "way", "ref": 12, "role": "via"}, {"type": "way", "ref": 13, "role": "to"}]
    extract = {"elements": [banned, {"members": by_way, "tags": {"restriction": "no_u_turn"}}, {"members": ref}]}
    assert shortest_paths(ROADS, turns=extract, ways=ways).distance("A", "C") == np.inf
    with pytest.raises(VertexError, match=r"must follow ways of the graph, got 10 → 99, and no such"):
        shortest_paths(ROADS, turns={"path": [[10, 99]]}, ways=[10, 11, 12, 13, 14])
    (tmp_path / "r.json").write_text(json.dumps(extract))
    assert shortest_paths(ROADS, turns=tmp_path / "r.json", ways=ways).distance("A", "C") == np.inf
    for path in ([10, 12, 13], "{10,12,13}"):
        r = shortest_paths(ROADS, turns={"path": [[10, 11], path], "cost": [np.inf, 7]}, ways=ways)
        assert r.distance("A", "C") == 12
    pd = pytest.importorskip("pandas")
    edges = pd.DataFrame(ROADS, columns=["from", "to", "weight"]).assign(id=[10, 11, 12, 13, 14])
    rows = pd.DataFrame({"from_edge": [10], "via_node": ["B"], "to_edge": [11]})
    assert shortest_paths(edges, weight="weight", turns=rows, ways="id").distance("A", "C") == 5
    only = {"from_way": [10], "via": ["B"], "to_way": [13], "restriction": ["only_left_turn"]}
    with pytest.warns(AmbiguityWarning, match="left out: 1 that are of edges that the graph lacks"):
        assert shortest_paths(ROADS, turns=only, ways=ways).distance("A", "C") == 2
    only = {**only, "to_way": [12], "restriction": ["only_straight_on @ (Mo-Fr)"]}
    with pytest.warns(AmbiguityWarning, match=r"1 that hold at some times"):
        assert shortest_paths(ROADS, turns=only, ways=ways).distance("A", "C") == 2
    through = {**only, "to_way": [11], "restriction": ["no_left_turn"]}
    with pytest.warns(AmbiguityWarning, match="1 that fit several ways"):
        shortest_paths([*ROADS, ("B", "E", 1)], turns=through, ways=[*ways, 11])


def test_u_turns_but_in_dead_ends():
    roads = [("A", "B", 1), ("B", "C", 1), ("B", "D", 1)]
    turned = {("A", "B", "C"): np.inf}
    free, charged, banned = (shortest_paths(roads, directed=False, turns=turned, u_turns=u) for u in (None, 5, np.inf))
    assert free.path("A", "C") == charged.path("A", "C") == banned.path("A", "C") == ["A", "B", "D", "B", "C"]
    longer = [*roads, ("D", "E", 1)]
    free, charged, banned = (shortest_paths(longer, directed=False, turns=turned, u_turns=u) for u in (None, 5, np.inf))
    assert [r.distance("A", "C") for r in (free, charged, banned)] == [4, 6, 6]
    assert banned.path("A", "C") == ["A", "B", "D", "E", "D", "B", "C"]
    listed = shortest_paths(longer, directed=False, turns=turned | {("B", "D", "B"): 1}, u_turns=np.inf)
    assert listed.distance("A", "C") == 5


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({("A", "X", "C"): 1}, VertexError, "'X'"),
        ({("A", "D", "C"): 1}, VertexError, "'A' → 'D' → 'C'"),
        ({("A", "B", "D", "B"): 1}, VertexError, "'A' → 'B' → 'D' → 'B'"),
        ({("A", "B", "C"): True}, DomainError, "costs must be numbers, inf to forbid, got"),  # forbidden, or one of 1?
        ([("A", "B", "C", "x")], DomainError, "costs must be numbers, inf to forbid, got"),
        ([("A", "B", "C", 10**400)], DomainError, "costs must be numbers, inf to forbid, got"),
        ([{"members": 5}], ShapeError, "a relation must have members and tags as Overpass returns them, got"),
        ([{"members": [{"role": "from"}, "B"]}], ShapeError, "a relation must have members and tags"),
        ([{"members": [], "tags": ["restriction"]}], ShapeError, "a relation must have members and tags"),
        ([("A", "B", "C", -np.inf)], DomainError, "costs"),
        ({"from": ["A"], "via": ["B"], "to": ["C"], "cost": np.ma.array([3], mask=True)}, DomainError, "costs"),
        ([("A", "B", "C", 1), ("A", "B", "C", 2)], DomainError, "one cost, got two for 'A' → 'B' → 'C'"),
        ([("A", ["B", "D"], "C", 1), ("A", ["B", "D"], "C", 2)], DomainError, "'A' → 'B' → 'D' → 'C'"),
        ([("A", "B")], ShapeError, r"\(from, via, to\)"),
        (5, ShapeError, "got"),
        ({"a": [1]}, ShapeError, "columns must be from, via, to"),
        ({"from": ["A"], "via": ["B"], "to": ["C"], "cost": [1], "weight": [2]}, ShapeError, "columns"),
        ({"from_way": ["A"], "via": ["B"], "to_way": ["C"]}, ShapeError, "Pass ways="),
        ({(): 3}, ShapeError, "keys must be"),
        ({("A", "B"): 3}, ShapeError, r"keys must be .* got \('A', 'B'\)"),
        ([("A", None, "B", 2)], VertexError, "three vertices or more, got 'A' → 'B'"),
        ([("A", [], "B", 2)], VertexError, "three vertices or more"),
        ({"path": [[]]}, VertexError, "three vertices or more, got none"),
        ({"from": ["A", "A"], "via": ["B"], "to": ["C"]}, ShapeError, "lists of one length"),
        ({"from": ["A"], "via": ["B"], "to": ["C"], "cost": [1, 2]}, ShapeError, "lists of one length"),
        ({"from": "A", "via": "B", "to": "C"}, ShapeError, "lists of one length.* Pass records, in a list"),
        ({"from": ["A"], "From": ["B"], "via": ["B"], "to": ["C"]}, ShapeError, "names that differ"),
    ],
)
def test_what_is_refused(given, error, match):
    with pytest.raises(error, match=match):
        shortest_paths(ROADS, turns=given)


def test_a_plan_of_turns_is_that_of_the_copies():
    for given in ({"turns": [("A", "B", "C", 20)]}, {"turns": [(10, "B", 11)], "ways": range(10, 15)}, {"u_turns": 3}):
        for more in ({}, {"sources": ["A"]}, {"along": {"metres": [1, 2, 3, 4, 5]}}):
            made, done = plan(ROADS, **given, **more), shortest_paths(ROADS, **given, **more).plan
            assert (made.n, made.engine) == (done.n, done.engine)
            assert re.search(r"turns: \d of \d vertices split", made.reason)
            assert ("lengths carry metres" in made.reason) == ("along" in more)
    with pytest.raises(ValueError, match="turns must come without paths="):
        plan(ROADS, u_turns=3, paths=True)
    with pytest.raises(ValueError, match=r"turns=.* must come with a graph"):
        plan(5, u_turns=3)


def test_arrays_and_columns_of_a_frame_that_was_filtered():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"from": "A", "via": ["B", "B"], "to": ["D", "C"], "restriction": "no_left_turn"})[1:]
    for given in (np.array([["A", "B", "C"]]), {x: frame[x] for x in frame}):
        assert shortest_paths(ROADS, turns=given).distance("A", "C") == 5
    edges = pd.DataFrame(ROADS, columns=["from", "to", "t"]).assign(id=[10, 11, 12, 13, 14])
    options = {"weight": "t", "turns": {"path": [[10, 11]]}}
    for ways in (edges["id"], edges["id"].to_numpy(), list(edges["id"])):
        assert shortest_paths(edges, ways=ways, **options).distance("A", "C") == 5
    with pytest.raises(ShapeError, match=r"turns: ways must have the index of the table, got another\. Say x\.reindex"):
        shortest_paths(edges, ways=edges["id"][::-1], **options)


def test_gaps_and_floats_in_tables_of_ways():
    rows = {"from_way": [10.0, 10.0], "via_node": ["B", np.nan], "via_way": [np.nan, 12.0], "to_way": [11.0, 13.0]}
    for given in (rows, rows | {"restriction": ["no_left_turn", "no_right_turn"]}):
        r = shortest_paths(ROADS, turns=given, ways=[10, 11, 12.0, "13", 14])
        assert (r.distance("A", "C"), r.distance("B", "C"), r.distance("A", "D")) == (np.inf, 1, 2)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows).convert_dtypes()  # with pd.NA in the gaps
    assert shortest_paths(ROADS, turns=frame, ways=[10, 11, 12, 13, 14]).distance("A", "C") == np.inf
    with pytest.warns(AmbiguityWarning, match=r"1 that are neither no_… nor only_…") as warned:
        shortest_paths(ROADS, turns={"from": ["A"], "via": ["B"], "to": ["C"], "restriction": [None]})
    assert warned[0].filename == __file__


def test_relations_beside_nodes_and_ways(tmp_path):
    members = [("way", 10, "from"), ("node", "B", "via"), ("way", 11, "to")]
    members = [dict(zip(("type", "ref", "role"), x, strict=True)) for x in members]
    found = [{"type": "node", "id": 1, "lat": 1.0}, {"type": "way", "id": 10, "nodes": [1, 2]}]
    for tag, far in (("restriction", 5), ("restriction:hgv", 2), ("restriction:conditional", 2), ("route", 2)):
        relation = {"type": "relation", "tags": {tag: "no_left_turn"}, "members": members}
        (tmp_path / "a.json").write_text(json.dumps({"elements": [*found, relation, relation | {"members": None}]}))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            r = shortest_paths(ROADS, turns=tmp_path / "a.json", ways=range(10, 15))
        assert r.distance("A", "C") == far
        told = [str(x.message) for x in warned]
        assert ["1 that hold at some times" in x for x in told] == [True] * (tag.startswith("restriction:"))
    for spared, far in (("psv; bicycle", 5), ("psv;motorcar", 2), ("motor_vehicle", 2)):
        tags = {"restriction": "no_left_turn", "except": spared}
        table = {"from_way": [10], "via": ["B"], "to_way": [11]} | {x: [y] for x, y in tags.items()}
        for given in ({"elements": [{"type": "relation", "tags": tags, "members": members}]}, table):
            with (
                nullcontext() if far == 5 else pytest.warns(AmbiguityWarning, match="1 that hold at some times or for")
            ):
                assert shortest_paths(ROADS, turns=given, ways=range(10, 15)).distance("A", "C") == far
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(FormatError, match=r"a\.json: must be JSON"):
        shortest_paths(ROADS, turns=tmp_path / "a.json")
    with pytest.raises(VertexError, match="two ways or more, got 10"):
        shortest_paths(ROADS, turns={"path": [[10]], "cost": [4]}, ways=range(10, 15))
    with pytest.raises(ShapeError, match="Pass ways= to shortest_paths"):
        shortest_paths(ROADS).update(turns=[{"from_way": 10, "via": "B", "to_way": 11}])
    listed = ((u, v, {"weight": w, "id": k}) for k, (u, v, w) in enumerate(ROADS))
    assert shortest_paths(listed, weight="weight", turns=[(0, "B", 1)], ways="id").distance("A", "C") == 5


def test_ways_of_a_series_are_taken_in_order():
    pd = pytest.importorskip("pandas")
    ways = pd.Series([10, np.array([11, 5]), 12, None, np.nan], index=[4, 3, 2, 1, 0], dtype=object)
    for given in ({"path": [[10, 11]]}, {"path": ["{10,5}"]}):
        assert shortest_paths(ROADS, turns=given, ways=ways).distance("A", "C") == 5
    named = ["Main St", "Oak, 1st", 12, 13, 14]
    assert shortest_paths(ROADS, turns=[("Main St", "B", "Oak, 1st")], ways=named).distance("A", "C") == 5
    frame = pd.DataFrame(ROADS, columns=["from", "to", "weight"]).assign(name=named, id=[10, 11, None, 13, 14])
    for column in ("name", "id"):
        with pytest.raises(ShapeError, match=f"ways='{column}' must be numbers, got.*Pass a list, the way of each"):
            shortest_paths(frame, weight="weight", turns=[(10, "B", 11)], ways=column)
        listed = frame[column].tolist()
        turns_by_way = [(listed[0], "B", listed[1])]
        assert shortest_paths(ROADS, turns=turns_by_way, ways=listed).distance("A", "C") == 5
    with pytest.raises(VertexError, match="got nan → 11, and no such"):
        shortest_paths(ROADS, turns={"path": [[np.nan, 11]]}, ways=ways)
    with pytest.raises(ShapeError, match="ways must list one for each of 5 edges"):
        shortest_paths(ROADS, turns={"path": [[10, 11]]}, ways=dict.fromkeys(range(5), 10))
    with pytest.raises(ShapeError, match="'from_node' names vertices, but ways= names edges"):
        shortest_paths(ROADS, turns=[{"from_node": "A", "via": "B", "to_node": "C"}], ways=ways)
    members = [{"type": "way", "ref": x, "role": role} for x, role in ((10, "from"), (11, "to"))]
    relations = pd.DataFrame({"id": [1], "members": [members], "tags": [{"restriction": "no_left_turn"}]})
    assert shortest_paths(ROADS, turns=relations, ways=ways).distance("A", "C") == 5


def test_a_turn_back_over_another_edge():
    roads = [("A", "B", 1), ("B", "C", 1), ("C", "B", 1), ("B", "D", 1)]
    r = shortest_paths(roads, turns={"path": [[0, 3], [1, 2]], "cost": [np.inf, 3]}, ways=range(4))
    assert (r.distance("A", "D"), r.path("A", "D")) == (7, ["A", "B", "C", "B", "D"])


@pytest.mark.parametrize(
    ("more", "warns"), [({"id": [3]}, False), ({"turn_penalty": [1]}, True), ({"type": ["only_straight_on"]}, True)]
)
def test_a_column_that_may_be_a_cost_is_named(more, warns):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert shortest_paths(ROADS, turns={"from": ["A"], "via": ["B"], "to": ["C"], **more}).distance("A", "C") == 5
    assert [f"got {list(more)} too" in str(x.message) for x in warned] == [True] * warns


def test_of_several_that_alone_are_allowed_each_is():
    rows = {
        "from": ["A"] * 2,
        "via": ["B"] * 2,
        "to": ["C", "D"],
        "restriction": ["only_straight_on", "only_right_turn"],
    }
    roads = [*ROADS, ("B", "E", 1)]
    assert shortest_paths(roads, turns=rows).table(["A"]).tolist() == [[0, 1, 2, 2, 4]]


def test_ways_by_attributes_of_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.MultiDiGraph()
    for k, (u, v, w) in enumerate([*ROADS, ("A", "B", 9)]):
        graph.add_edge(u, v, weight=w, osmid=[k, f"w{k}"])
    r = shortest_paths(graph, turns=[{"from_way": "w0", "via": "B", "to_way": 1}], ways="osmid")
    assert (r.distance("A", "C"), r.path("A", "C")) == (5, ["A", "B", "D", "C"])
    with pytest.raises(ShapeError, match="attribute of edges, got 'road'"):
        shortest_paths(graph, turns=[("w0", "B", 1)], ways="road")


def test_integers_that_floats_do_not_hold_are_refused():
    roads = [(0, 1, 2**60 + 1), (1, 2, 1), (1, 3, 1)]
    assert shortest_paths(roads, turns={(0, 1, 2): 5}).distance(0, 2) == 2**60 + 7
    with pytest.raises(DomainError, match=r"2⁵³.* integers"):
        shortest_paths(roads, turns={(0, 1, 2): 0.5})


def test_a_forbidden_turn_stays_so_beside_a_cost():
    assert shortest_paths(ROADS, turns=[("A", "B", "C", 1), ("A", "B", "C", np.inf)]).distance("A", "C") == 5
    with pytest.raises(DomainError, match="u_turns"):
        shortest_paths(ROADS, u_turns="x")


def test_ways_out_work():
    r = shortest_paths(ROADS, turns=LEFT)
    for ask in (
        lambda: r.predecessors,
        lambda: r.next_hops,
        lambda: r.hops,
        lambda: r.predecessor_rows(),
        lambda: r.save_predecessors("p.npy"),
        lambda: r.k_paths("A", "C", 2),
        lambda: r.tied(0.1),
    ):
        with pytest.raises(ValueError, match="a result with turns has none"):
            ask()
    assert r.paths([("A", "C")]).hops.tolist() == [3]
    assert (r.edges("A", "C").tolist(), r.edges("A", "B").tolist(), r.edges("B", "B").tolist()) == ([0, 2, 3], [0], [])
    assert list(r.all_paths("A", "C")) == [["A", "B", "D", "C"]]
    for options, way in (
        ({"memory": "1GiB"}, "save"),
        ({"gpus": 2}, "cuda"),
        ({"on_negative_cycle": "-inf"}, "out"),
        ({"paths": True}, "pairs"),
    ):
        with pytest.raises(ValueError, match=f"turns must come without .*{way}"):
            shortest_paths(ROADS, turns=LEFT, **options)
    with pytest.raises(ValueError, match="order='degree'"):
        shortest_paths(ROADS, turns=LEFT, order=[0, 1, 2, 3])
    A = np.full((4, 4), np.inf)  # nothing leads to the last, which stays
    A[[0, 1, 2], [1, 2, 0]] = 1, 1, 9
    with pytest.raises(ShapeError, match=r"np\.fill_diagonal\(A, np\.inf\), pass Graph\.from_arrays"):
        shortest_paths(A, turns=[(0, 1, 2)])
    A = A.astype(float)
    np.fill_diagonal(A, np.inf)
    listed = Graph.from_arrays(*as_graph(A).edges(), n=len(A))
    assert shortest_paths(listed, turns=[(0, 1, 2)]).table([0]).tolist() == [[0, 1, np.inf, np.inf]]
    with pytest.raises(ValueError, match="ways must come with turns"):
        shortest_paths(ROADS, ways=[1])
    with pytest.raises(AlgebraError, match="added to weights"):
        shortest_paths(ROADS, "bottleneck", turns=[("A", "B", "C", 3)])


@pytest.mark.parametrize("semiring", ["max_min", "boolean", "max_times", "plus_times"])
def test_forbidden_turns_over_other_semirings(semiring):
    roads = [(u, v, 0.5) for u, v, _ in ROADS[:4]]
    r, s = shortest_paths(roads, semiring, turns=LEFT), get(semiring)
    assert r.distance("B", "B") == s.one
    assert r.distance("A", "C") == {"max_min": 0.5, "boolean": True, "max_times": 0.125, "plus_times": 0.125}[semiring]
    assert r.distance("B", "C") == {"max_min": 0.5, "boolean": True, "max_times": 0.5, "plus_times": 0.75}[semiring]


def test_a_cycle_is_named_by_vertex():
    with pytest.raises(DivergenceError, match="By label: the cycle B → C → B") as error:
        shortest_paths([*ROADS[:4], ("C", "B", -2)], turns={("A", "B", "D"): 1})
    assert set(error.value.cycle) == {"B", "C"}
    allowed = shortest_paths([*ROADS[:4], ("C", "B", -2)], turns={("C", "B", "C"): np.inf})
    assert allowed.distance("A", "B") == 0


@pytest.mark.parametrize("engine", ["elimination", "dense", "searches", "scipy"])
def test_quantities_along_and_updates(engine):
    roads = [(u, v, {"time": w, "metres": 10 * k}) for k, (u, v, w) in enumerate(ROADS, 1)]
    r = shortest_paths(roads, weight="time", along=["metres", "edges"], turns=LEFT, engine=engine)
    assert [r.distance("A", "C", of=of) for of in ("time", "metres", "edges")] == [5, 80, 3]
    assert r.table(["A"], ["C"], of="metres").tolist() == [[80]]
    assert r.edges("A", "C").tolist() == [0, 2, 3]
    assert (r.edges("A", "B").tolist(), r.edges("B", "B").tolist()) == ([0], [])
    with pytest.raises(ValueError, match="hub labels or turns"):
        r.save("r.npz")
    opened = r.update({("A", "B"): 2}, turns={("A", "B", "C"): 1})
    assert [opened.distance("A", "C", of=of) for of in ("time", "metres", "edges")] == [4, 30, 2]
    assert r.update({("D", "C"): 1}).distance("A", "C", of="metres") == 80
    floats = [(u, v, {"time": w * np.pi, "metres": 10 * k}) for k, (u, v, w) in enumerate(ROADS, 1)]
    summed = shortest_paths(floats, weight="time", along="metres", turns=LEFT, engine=engine)
    assert "along predecessors" in summed.plan.reason
    assert summed.distance("A", "C", of="metres") == 80
    assert summed.table(["A"], ["C"], of="metres").tolist() == [[80]]


def test_few_new_weights_and_costs_follow_hub_labels():
    rng = np.random.default_rng(4)
    tails, heads = rng.integers(0, 60, (2, 200))
    given = {}
    g = Graph.from_arrays(tails, heads, rng.integers(1, 99, 200), n=60)
    arcs = list(zip(tails.tolist(), heads.tolist(), strict=True))
    for k in range(40):
        u, v = arcs[k]
        given |= {(u, v, b): int(rng.integers(1, 50)) for a, b in arcs if a == v}
    r = shortest_paths(g, turns=given, engine="elimination", hub_labels=True)
    few = r.update({(int(tails[0]), int(heads[0])): 1})
    costs = {next(iter(given)): 3}
    for made, changed in ((few, {}), (r.update(turns=costs), costs), (r.update(few.graph.weights, turns=costs), costs)):
        assert made.engine.all_pairs.analysis is r.engine.all_pairs.analysis
        assert made.engine.all_pairs.hubs is not None
        anew = shortest_paths(made.graph, turns=given | changed, engine="dense")
        i, j = np.divmod(np.arange(3600), 60)
        np.testing.assert_array_equal(made.distance(i, j), anew.distance(i, j))
    forbidden = r.update(turns={next(iter(given)): np.inf})
    anew = shortest_paths(g, turns=given | {next(iter(given)): np.inf}, engine="dense")
    np.testing.assert_array_equal(forbidden.table(), anew.table())


def test_turns_for_a_result_without():
    r = shortest_paths(ROADS)
    assert r.update(turns=LEFT).distance("A", "C") == 5
    assert r.update({("D", "C"): 1}, turns=LEFT).distance("A", "C") == 3
    assert r.update(turns=LEFT).update(turns={("A", "B", "C"): 0}).distance("A", "C") == 2
    assert r.distance("A", "C") == 2


@pytest.mark.parametrize("suffix", [".npz", ".tiles", ".hubs"])
def test_saved_results_have_their_turns(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    r = shortest_paths(ROADS, turns=LEFT | {("A", "B", "D", "C"): 9}, u_turns=2, engine="elimination")
    r = r.hub_labels() if suffix == ".hubs" else r
    r.save(path)
    again = Result.load(path)
    np.testing.assert_array_equal(again.table(), r.table())
    assert again.path("A", "C") == r.path("A", "C")
    assert list(again.paths()) == list(r.paths())
    assert again.update(turns={("A", "B", "C"): 0}).distance("A", "C") == 2
    np.testing.assert_array_equal(again.flows({("A", "C"): 10}), r.flows({("A", "C"): 10}))
    part = shortest_paths(ROADS, turns=LEFT, sources=["A"], targets=["C", "D"])
    part.save(tmp_path / "part.npz")
    assert Result.load(tmp_path / "part.npz").paths()[0] == ["A", "B", "D", "C"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).table(), r.table())


@pytest.mark.parametrize("options", [{}, {"sources": ["C", "B", "A", "D"]}, {"targets": ["C", "B", "A", "D"]}])
def test_what_a_file_tells_is_verified(tmp_path, options):
    """Not what is computed again from its graph; the first pair whose distance was changed is named."""
    r = shortest_paths(ROADS, turns=LEFT, **options)
    r.save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").verify("all")
    parts = dict(np.load(tmp_path / "r.npz"))
    i, j = (r.sources.position("A"), r.targets.position("C"))
    parts["distances"][i, j] -= 1
    np.savez(tmp_path / "r.npz", **parts)
    told = Result.load(tmp_path / "r.npz").verify("all")
    assert (bool(told), told.pair) == (False, ("A", "C"))
    with pytest.raises(ShapeError, match="without sources=, targets= and limit="):
        shortest_paths(ROADS, turns=LEFT, limit=4, engine="searches").verify()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_sums_over_no_edges(n):
    r = shortest_paths(Graph.from_arrays([], [], n=n), u_turns=np.inf)
    assert r.betweenness() == dict.fromkeys(range(n), 0.0)
    assert r.edge_betweenness().shape == r.flows({}).shape == (0,)


def test_hub_labels_of_sources_in_another_order_are_not_saved(tmp_path):
    """A permutation of all vertices as sources: once loaded, rows would be read in the order of the graph."""
    for side in ("sources", "targets"):
        r = shortest_paths(ROADS, turns=LEFT, engine="elimination", **{side: ["B", "A", "D", "C"]})
        with pytest.raises(ValueError, match="Leave sources, targets and limit out"):
            r.save(tmp_path / "r.hubs")
        r.save(tmp_path / "r.npz")
        np.testing.assert_array_equal(Result.load(tmp_path / "r.npz").table(["A"], ["C"]), [[5]])


@pytest.mark.parametrize(
    "wrong", [{"arcs": [0, 9]}, {"arcs": [0, 3]}, {"starts": [0, 1]}, {"starts": [0, 3]}, {"costs": [np.nan]}]
)
def test_a_damaged_archive_is_refused(tmp_path, wrong):
    shortest_paths(ROADS, turns=LEFT).save(tmp_path / "r.npz")
    parts = dict(np.load(tmp_path / "r.npz"))
    np.savez(tmp_path / "r.npz", **parts | {f"turns_{name}": np.array(x) for name, x in wrong.items()})
    with pytest.raises(FormatError):
        Result.load(tmp_path / "r.npz")


def test_flows_are_conserved_and_weigh_what_demand_travels():
    rng = np.random.default_rng(5)
    n = 40
    tails, heads = rng.integers(0, n, (2, 160))
    g = Graph.from_arrays(tails, heads, rng.integers(1, 30, 160), n=n)
    arcs = list(dict.fromkeys(zip(tails.tolist(), heads.tolist(), strict=True)))
    costs = {(u, v, b): int(rng.integers(0, 20)) for u, v in arcs for a, b in arcs if a == v}
    r = shortest_paths(g, turns=costs, engine="elimination")
    demand = rng.random((n, n)) * (r.table() < np.inf)
    np.fill_diagonal(demand, 0)
    flow = r.flows(demand)
    out, into = np.bincount(tails, flow, n), np.bincount(heads, flow, n)
    np.testing.assert_allclose(out - into, demand.sum(1) - demand.sum(0), atol=1e-9)
    paths = r.paths()
    paid = sum(
        q * sum(costs.get(tuple(path[k : k + 3]), 0) for k in range(len(path) - 2))
        for q, path in zip(demand.ravel().tolist(), paths, strict=True)
    )
    total = (demand * np.where(demand > 0, r.table(), 0)).sum()
    alone = np.array([len(list(r.all_paths(u, v))) == 1 for u, v in np.argwhere(demand > 0).tolist()]).all()
    if alone:
        np.testing.assert_allclose((flow * g.weights).sum() + paid, total)
    assert (flow * g.weights).sum() <= total + 1e-9


def test_only_vertices_whose_turns_differ_are_split():
    grid = [
        (u, v, 1) for u in range(9) for v in range(9) if abs(u - v) in (1, 3) and (u // 3 == v // 3 or u % 3 == v % 3)
    ]
    g = Graph.from_edges(grid)
    none = Turns(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0))
    assert expand(g, none, get("min_plus")).graph.n == 9
    made = expand(g, turns_of({(1, 4, 3): np.inf, (5, 4, 3): np.inf, (0, 1, 2): 0}, g), get("min_plus"))
    assert made.split.tolist() == [4]
    assert made.graph.n == 9 + 2  # the arcs from 1 and 5 share a copy, and there is a goal
    assert expand(g, turns_of(None, g, u_turns=1), get("min_plus")).split.tolist() == list(range(9))
    for cost, other, copies in ((0.1, 0.1, 1), (0.1, float(np.float32(0.1)), 2), (1e300, np.inf, 2), (0.0, -0.0, -1)):
        made = expand(g, turns_of({(1, 4, 3): cost, (5, 4, 3): other}, g), get("min_plus"))
        assert made.graph.n == 9 + copies + 1


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 3), (5, 30), (4, 900), (300, 900)])
def test_arcs_are_found_by_their_ends(n, m):
    rng = np.random.default_rng(n + m)
    tails, heads = rng.integers(0, n, (2, m))
    order = np.array(sorted(range(m), key=lambda e: (tails[e], heads[e], e)), np.int64)
    starts = np.array([int((tails < v).sum()) for v in range(n + 1)])
    asked = rng.integers(0, m, m and 50)
    u, v = np.repeat(tails[asked], 2), np.repeat(heads[asked], 2)
    first, count, lost = turning.find(starts, heads[order], u, v)
    assert lost == len(u)
    for k, (a, b) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        between = [e for e in range(m) if (tails[e], heads[e]) == (a, b)]
        assert order[first[k] : first[k] + count[k]].tolist() == between
    there = set(zip(tails.tolist(), heads.tolist(), strict=True))
    for a, b in [(a, b) for a in range(n) for b in range(n) if (a, b) not in there][:9]:
        assert turning.find(starts, heads[order], np.append(u, a), np.append(v, b))[2] == len(u)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 5000])
def test_turns_that_come_twice_are_seen(size):
    rng = np.random.default_rng(size)
    for most in (int(size**0.5) + 1, 10**9):
        pairs = rng.integers(0, most, (size, 2))
        distinct = np.array(sorted(set(map(tuple, pairs.tolist()))), np.int64).reshape(-1, 2)
        assert turning.once(distinct.ravel())
        assert turning.once(pairs.ravel()) is (len(distinct) == size)
        assert size == 0 or not turning.once(np.append(distinct, pairs[:1]))
    ahead = rng.permutation(10**6)[:size]  # that share slots
    assert turning.once(np.column_stack((np.zeros(size, np.int64), ahead)).ravel())


@pytest.mark.parametrize("values", [(0.0, -0.0, 1, 2, np.inf), (-2, -1, 0, 3), (-0.1, 0.1, 7), (0.5, 0.5 + 2**-40)])
@pytest.mark.parametrize("count", [1, 2])
def test_equal_rows_are_numbered_by_what_tells_them_apart(values, count):
    """Saved files list distances by the numbers of copies, which therefore must not change."""
    rng = np.random.default_rng(len(values))
    states = np.append(rng.integers(0, 9, 40), 300)
    starts, width = np.append(0, states.cumsum()), np.repeat(np.append(rng.integers(0, 4, 40), 5), states)
    begin = np.append(0, width.cumsum())
    costs = [rng.choice(np.array(values, float), begin[-1]) for _ in range(count)]
    exact = [(x.astype(np.float32) == x).all() for x in costs]
    keys = [
        [
            (x < 0 and exact[c], -x if exact[c] and x < 0 else x)
            for k in range(a, b)
            for c in range(count)
            for x in [costs[c][k]]
        ]
        for a, b in pairwise(begin.tolist())
    ]
    told = []
    for r, key in enumerate(keys):
        v = int(np.searchsorted(starts, r, "right")) - 1
        others = [keys[q] for q in range(starts[v], starts[v + 1]) if q != r]
        alone = [p for p in range(1, len(key) + 1) if all(other[:p] != key[:p] for other in others)]
        told.append((min([*alone, len(key)]), v, key))
    group, shown = turning.groups(starts, begin, *costs)
    distinct = sorted(told, key=lambda x: x[:2] + tuple(x[2]))
    distinct = [x for k, x in enumerate(distinct) if k == 0 or x != distinct[k - 1]]
    assert group.tolist() == [distinct.index(x) for x in told]
    assert shown.tolist() == [told.index(x) for x in distinct]


def test_a_turn_is_one_of_all_parallel_edges():
    g = Graph.from_edges([("A", "B", 4), ("B", "C", 1), ("A", "B", 2), ("C", "B", 1), ("B", "C", 7), ("B", "C", 3)])
    found = turns_of([("A", "B", "C", 5), ("C", "B", "C", 6)], g)
    assert sorted(zip(*found.arcs.reshape(-1, 2).T.tolist(), found.costs.tolist(), strict=True)) == sorted(
        [(a, b, 5.0) for a in (0, 2) for b in (1, 4, 5)] + [(3, b, 6.0) for b in (1, 4, 5)]
    )


def test_weights_near_the_end_of_64_bits():
    with pytest.raises(DomainError, match="64 bits"):
        shortest_paths([("A", "B", 2**63 - 5), ("B", "C", 1)], turns=[("A", "B", "C", 100)])
    r = shortest_paths([("A", "B", 5), ("B", "C", 2**63 - 1)], turns=[("A", "B", "C", 3)])  # closed, and stays so
    assert r.distance("A", "C") == np.inf


def test_edges_without_weights():
    r = shortest_paths([("A", "B"), ("B", "C"), ("B", "D"), ("D", "C")], turns=[("A", "B", "C")])
    assert (r.distance("A", "C"), r.update([1, 1, 1, 5], turns={("A", "B", "D"): 1}).distance("A", "C")) == (3, 8)


def test_the_nearest_within_a_limit():
    r = shortest_paths(ROADS, turns=LEFT, limit=2, engine="elimination")
    assert r.nearest(["A"]).source == ["A", "A", None, "A"]
    assert r.nearest(["C"], towards=True).distance.tolist() == [np.inf, 1, 0, np.inf]
    assert shortest_paths(ROADS, turns=LEFT, engine="elimination").nearest(["A"]).source == ["A"] * 4


def test_betweenness_with_endpoints():
    """Of a network in which best ways are single: the walks counted one by one."""
    r = shortest_paths(ROADS, turns=LEFT)
    through, ends = dict.fromkeys("ABCD", 0), dict.fromkeys("ABCD", 0)
    for path in r.paths():
        for v in path[1:-1]:
            through[v] += 1
        for v in {*path[:1], *path[-1:]} if len(path) > 1 else ():
            ends[v] += 1
    assert r.betweenness(normalized=False) == through
    both = r.betweenness(normalized=False, endpoints=True)
    assert both == pytest.approx({v: through[v] + ends[v] for v in "ABCD"})
    some = shortest_paths(ROADS, turns=LEFT, sources=["A", "B"], targets=["C"])
    assert some.betweenness(normalized=False) == {"A": 0, "B": 1, "C": 0, "D": 1}


def test_restrictions_by_way_hold_for_those_who_come_all_the_way():
    roads = [("A", "B", 1), ("X", "B", 1), ("B", "D", 1), ("D", "C", 1), ("D", "E", 1)]
    r = shortest_paths(roads, turns={("B", "D", "C"): 4, ("A", "B", "D", "C"): 9, ("A", "B", "D", "E"): np.inf})
    assert [r.distance(u, v) for u, v in ("AC", "XC", "BC", "DC", "AE", "XE")] == [16, 7, 6, 1, np.inf, 3]
    assert list(r.paths([("A", "D"), ("A", "B"), ("B", "B")])) == [["A", "B", "D"], ["A", "B"], ["B"]]


def test_new_turns_of_a_part_with_quantities():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        u, v = rng.integers(0, 5, (2, 18))
        graph = Graph.from_arrays(u, v, rng.integers(0, 6, 18), n=5)
        ends = [(a, b, c) for a, b in zip(u, v, strict=True) for x, c in zip(u, v, strict=True) if x == b]
        first, second = ({ends[k]: x for k in rng.integers(0, len(ends), 3)} for x in (np.inf, 1))
        options = {"sources": [2, 3], "along": {"a": rng.integers(0, 9, 18)}, "engine": "elimination"}
        r = shortest_paths(graph, turns=first, u_turns=np.inf, **options).update(turns=second)
        wanted = shortest_paths(graph, turns=first | second, u_turns=np.inf, **options)
        for of in (None, "a"):
            np.testing.assert_array_equal(r.table(of=of), wanted.table(of=of))


@pytest.mark.parametrize("u_turns", [False, np.True_])
def test_whether_one_may_turn_back_is_said_by_a_cost(u_turns):
    """False would be a cost of 0, that is free."""
    with pytest.raises(DomainError, match="u_turns must be numbers, inf to forbid"):
        shortest_paths([("A", "B", 1), ("B", "C", 1)], u_turns=u_turns)
