"""The NetworkX backend: its functions against NetworkX's, dispatched by NetworkX, and NetworkX's own tests."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from networkx_installed import run

import _apsp_networkx
from apsp.doors import networkx_backend as backend


def graphs() -> dict[str, nx.Graph]:
    """Graphs of all kinds; weights are whole numbers or multiples of 1/4, so that sums are exact in any order."""
    rng = np.random.default_rng(1)
    found = {}
    for name, kind in (
        ("graph", nx.Graph),
        ("digraph", nx.DiGraph),
        ("multi", nx.MultiGraph),
        ("multidi", nx.MultiDiGraph),
    ):
        G = kind(title=name)
        G.add_nodes_from("abcdefghijklmnopqrst")
        nodes = list(G)
        for i, j in rng.integers(0, 20, (90, 2)).tolist():
            G.add_edge(nodes[i], nodes[j], weight=int(rng.integers(1, 30)), length=float(rng.integers(1, 99)) / 4)
        G.nodes["a"]["color"] = "red"
        found[name] = G
    found["connected"] = nx.cycle_graph(range(17, 0, -1))
    found["grid"] = nx.grid_2d_graph(3, 4)  # nodes are tuples
    found["tree"] = nx.balanced_tree(2, 3)
    found["two parts"] = nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(3))
    found["ring"] = nx.cycle_graph(9, create_using=nx.DiGraph)
    found["dag"] = nx.DiGraph([(u, v) for u in range(12) for v in range(u + 1, 12) if (u * v + u) % 3 == 0])
    found["zeros"] = nx.DiGraph()
    found["zeros"].add_weighted_edges_from([(3, 1, 0), (1, 2, 0), (2, 0, 0), (0, 3, 0), (2, 4, 1), (4, 2, 0)])
    found["one"] = nx.empty_graph(1)
    found["none"] = nx.Graph()
    return found


GRAPHS = graphs()


def converted(G: nx.Graph):
    return backend.convert_from_nx(G, edge_attrs={"weight": 1}, preserve_graph_attrs=True, name="x", graph_name="G")


def outcome(function, *args, **kwargs):
    """What a function returns, generators drained; or the exception with its message."""
    try:
        result = function(*args, **kwargs)
        return list(result) if hasattr(result, "__next__") else result
    except (nx.NetworkXException, ValueError, ZeroDivisionError, KeyError) as error:
        return type(error), str(error)


def same(ours, theirs, inner: bool = False) -> None:
    """Equal, down to the types of numbers and the order of the outer dict."""
    assert type(ours) is type(theirs)
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs) if inner else list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key], True)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-13)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, isinstance(theirs, tuple))
    else:
        assert ours == theirs


def test_the_dict_of_a_source_is_in_the_order_of_distance():
    for G in GRAPHS.values():
        for u, lengths in backend.all_pairs_dijkstra_path_length(converted(G), weight="length"):
            assert next(iter(lengths)) == u
            assert list(lengths.values()) == sorted(lengths.values())
        for _, (lengths, paths) in backend.all_pairs_dijkstra(converted(G)):
            assert list(lengths) == list(paths)


BETWEENNESS = [
    ("betweenness_centrality", {}),
    ("betweenness_centrality", {"weight": "weight"}),
    ("betweenness_centrality", {"weight": "length", "normalized": False}),
    ("betweenness_centrality", {"weight": "length", "endpoints": True}),
    ("betweenness_centrality", {"endpoints": True, "normalized": False}),
    ("betweenness_centrality", {"endpoints": 2}),
    ("betweenness_centrality", {"endpoints": None}),
    ("betweenness_centrality", {"k": 1, "seed": 3}),
    ("betweenness_centrality", {"k": 4, "seed": 1, "weight": "length"}),
    ("betweenness_centrality", {"k": 4, "seed": 2, "normalized": False, "endpoints": True}),
    ("betweenness_centrality", {"k": 12, "seed": 7}),
    ("betweenness_centrality", {"k": 1000, "seed": 1}),
    ("betweenness_centrality", {"k": 0, "seed": 4}),
    ("edge_betweenness_centrality", {}),
    ("edge_betweenness_centrality", {"weight": "weight"}),
    ("edge_betweenness_centrality", {"weight": "length", "normalized": False}),
    ("edge_betweenness_centrality", {"k": 4, "seed": 5, "weight": "weight"}),
    ("edge_betweenness_centrality", {"k": 4, "seed": 5, "normalized": False}),
]


@pytest.mark.parametrize(("name", "options"), BETWEENNESS)
def test_betweenness(name, options):
    for G in GRAPHS.values():
        ours, theirs = (outcome(f, H, **options) for f, H in (
            (getattr(backend, name), converted(G)), (getattr(nx, name), G)))  # fmt: skip
        assert type(ours) is type(theirs)
        if isinstance(theirs, dict):
            assert list(ours) == list(theirs)
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15, nan_ok=True)
        else:
            assert ours == theirs


@pytest.mark.parametrize("name", ["betweenness_centrality_subset", "edge_betweenness_centrality_subset"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("weight", [None, "weight", "length"])
def test_betweenness_of_subsets(name, normalized, weight):
    """NetworkX's, which shares alike before vertices that are no target; sources that come twice count twice."""
    for G in GRAPHS.values():
        nodes = list(G)
        for sources, targets in ((nodes[:3], nodes[2:6]), (nodes[-1:] * 2, ["nowhere", *nodes[:1]]), (nodes, nodes)):
            ours, theirs = (
                f(H, sources, targets, normalized=normalized, weight=weight)
                for f, H in ((getattr(backend, name), converted(G)), (getattr(nx, name), G))
            )
            assert list(ours) == list(theirs)
            assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15)
    G = GRAPHS["digraph"]
    asked = (outcome(f, H, ["nowhere"], ["a"]) for f, H in (
        (getattr(backend, name), converted(G)), (getattr(nx, name), G)))  # fmt: skip
    assert len(set(asked)) == 1


def test_floats_that_tie_only_in_some_order_of_sums():
    rng = np.random.default_rng(0)
    for kind in (nx.Graph, nx.DiGraph):
        G = nx.gnm_random_graph(150, 900, seed=2, directed=kind is nx.DiGraph)
        for u, v in G.edges:
            G[u][v]["weight"] = int(rng.integers(1, 8)) / 10
        for name in ("betweenness_centrality", "edge_betweenness_centrality"):
            ours, theirs = (
                f(H, weight="weight") for f, H in ((getattr(backend, name), converted(G)), (getattr(nx, name), G))
            )
            assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-15)


def test_edges_too_short_to_change_a_distance():
    """NetworkX's values in fractions: in floats it counts what leads back to a vertex, too."""
    rng = np.random.default_rng(0)
    for scales in ((1.0, 1e-20, 1e-40), (1e20, 1.0)):
        G = nx.gnm_random_graph(25, 45, seed=1)
        for u, v in G.edges:
            G[u][v]["weight"] = float((1 + rng.random()) * rng.choice(scales))
        exact = nx.Graph([(u, v, {"weight": Fraction(w)}) for u, v, w in G.edges(data="weight")])
        H, ends = converted(G), ([3, 1, 8], [20, 4, 8, 9])
        for name, given in {
            "betweenness_centrality": (),
            "edge_betweenness_centrality": (),
            "betweenness_centrality_subset": ends,
            "edge_betweenness_centrality_subset": ends,
        }.items():
            ours, theirs = (f(X, *given, weight="weight") for f, X in (
                (getattr(backend, name), H), (getattr(nx, name), exact)))  # fmt: skip
            assert {key if key in theirs else key[::-1]: x for key, x in ours.items()} == pytest.approx(
                theirs, rel=1e-12
            )
        theirs = dict(nx.all_pairs_all_shortest_paths(exact, weight="weight"))
        assert dict(backend.all_pairs_all_shortest_paths(H, weight="weight")) == theirs
        for u, v in itertools.product(ends[0], theirs[3]):
            assert list(backend.all_shortest_paths(H, u, v, weight="weight")) == theirs[u][v]


@pytest.mark.parametrize("weight", [None, "weight", "length"])
def test_all_shortest_paths(weight):
    for name, G in GRAPHS.items():
        for method in ("dijkstra", "bellman-ford", "nonsense"):
            pairs = (backend.all_pairs_all_shortest_paths, converted(G)), (nx.all_pairs_all_shortest_paths, G)
            ours, theirs = (outcome(f, H, weight=weight, method=method) for f, H in pairs)
            if isinstance(theirs, tuple):
                assert ours == theirs
                continue
            assert [u for u, _ in ours] == [u for u, _ in theirs]
            for (u, paths), (_, expected) in zip(ours, theirs, strict=True):
                assert name == "zeros" or next(iter(paths)) == u
                assert {v: sorted(several) for v, several in paths.items()} == {
                    v: sorted(several) for v, several in expected.items()
                }
            for v in (*list(G)[:4], "nowhere"):
                for u in (*list(G)[3:5], "nowhere"):
                    ours, theirs = (outcome(f, H, u, v, weight, method) for f, H in (
                        (backend.all_shortest_paths, converted(G)), (nx.all_shortest_paths, G)))  # fmt: skip
                    assert sorted(ours, key=str) == sorted(theirs, key=str)


def weighed(G: nx.Graph, path: list, weight: str | None):
    """The length of a path; an edge without the attribute weighs 1."""
    edges = (G[u][v].values() if G.is_multigraph() else [G[u][v]] for u, v in pairwise(path))
    return sum(min(data.get(weight, 1) for data in several) for several in edges)


LENGTHS = [
    ("all_pairs_shortest_path_length", {}),
    ("all_pairs_shortest_path_length", {"cutoff": 2}),
    ("all_pairs_dijkstra_path_length", {}),
    ("all_pairs_dijkstra_path_length", {"weight": "length", "cutoff": 10.25}),
    ("all_pairs_dijkstra_path_length", {"weight": None}),
    ("all_pairs_dijkstra_path_length", {"cutoff": -1}),
    ("all_pairs_bellman_ford_path_length", {"weight": "length"}),
    ("eccentricity", {}),
    ("eccentricity", {"weight": "weight"}),
    ("diameter", {"weight": "length"}),
    ("diameter", {"usebounds": True}),
    ("radius", {"weight": "weight"}),
    ("center", {}),
    ("center", {"weight": "length"}),
    ("periphery", {"weight": "weight"}),
    ("barycenter", {"weight": "weight"}),
    ("average_shortest_path_length", {}),
    ("average_shortest_path_length", {"weight": "weight"}),
    ("average_shortest_path_length", {"weight": "weight", "method": "unweighted"}),
    ("average_shortest_path_length", {"weight": "weight", "method": "floyd-warshall"}),
    ("average_shortest_path_length", {"method": "nonsense"}),
    ("closeness_centrality", {}),
    ("closeness_centrality", {"distance": "length", "wf_improved": False}),
    ("harmonic_centrality", {}),
    ("harmonic_centrality", {"distance": "length"}),
    ("wiener_index", {}),
    ("wiener_index", {"weight": "weight"}),
]


@pytest.mark.parametrize(("name", "options"), LENGTHS)
def test_numbers_are_networkxs(name, options):
    for G in GRAPHS.values():
        same(outcome(getattr(backend, name), converted(G), **options), outcome(getattr(nx, name), G, **options))


@pytest.mark.parametrize("name", ["global_efficiency"])
def test_undirected_measures(name):
    for G in GRAPHS.values():
        if not G.is_directed():
            same(getattr(backend, name)(converted(G)), getattr(nx, name)(G))


@pytest.mark.parametrize(
    ("name", "weight"),
    [("all_pairs_shortest_path", None), ("all_pairs_dijkstra_path", "weight"), ("all_pairs_dijkstra", "length"),
     ("all_pairs_bellman_ford_path", "weight"), ("johnson", "length")],
)  # fmt: skip
@pytest.mark.parametrize("cutoff", [None, 12])
def test_paths_are_shortest(name, weight, cutoff):
    options = {} if weight is None else {"weight": weight}
    if cutoff is not None and name not in ("johnson", "all_pairs_bellman_ford_path"):
        options["cutoff"] = cutoff
    for G in GRAPHS.values():
        ours, theirs = (
            dict(f(H, **options)) for f, H in ((getattr(backend, name), converted(G)), (getattr(nx, name), G))
        )
        assert list(ours) == list(theirs)
        for u in theirs:
            paths, expected = (x[1] if name == "all_pairs_dijkstra" else x for x in (ours[u], theirs[u]))
            if name == "all_pairs_dijkstra":
                same(ours[u][0], theirs[u][0], True)
            assert set(paths) == set(expected)
            assert next(iter(paths)) == u
            for v, path in paths.items():
                assert path[0] == u
                assert path[-1] == v
                assert len(set(path)) == len(path)
                assert weighed(G, path, weight) == weighed(G, expected[v], weight)


@pytest.mark.parametrize("weight", ["weight", "length"])
def test_floyd_warshall(weight):
    for name, G in GRAPHS.items():
        theirs = nx.floyd_warshall(G, weight)
        for D in (backend.floyd_warshall(converted(G), weight),
                  backend.floyd_warshall_predecessor_and_distance(converted(G), weight)[1]):  # fmt: skip
            assert list(D) == list(theirs)
            for u in theirs:
                assert type(D[u]) is type(theirs[u]) is defaultdict
                assert D[u] == theirs[u]
                assert set(map(type, D[u].values())) <= {int, float}
                if name in ("graph", "digraph"):
                    assert list(D[u]) == list(theirs[u])
        assert not G.number_of_edges() or D[next(iter(D))]["not there"] == math.inf
        before = backend.floyd_warshall_tree(converted(G), weight)[0]
        for u in G:
            for v in G:
                if u != v and theirs[u][v] < math.inf:
                    assert weighed(G, nx.reconstruct_path(u, v, before), weight) == theirs[u][v]
        if len(G):
            order = list(G)[::-1]
            M = backend.floyd_warshall_numpy(converted(G), order, weight)
            np.testing.assert_array_equal(M, nx.floyd_warshall_numpy(G, order, weight))
            assert M.dtype == np.float64
    with pytest.raises(nx.NetworkXError, match="nodelist"):
        backend.floyd_warshall_numpy(converted(GRAPHS["ring"]), [0, 1])


def test_whole_numbers_stay_int():
    G = GRAPHS["digraph"]
    assert {type(d) for _, row in backend.all_pairs_dijkstra_path_length(converted(G)) for d in row.values()} == {int}
    D = backend.floyd_warshall(converted(GRAPHS["two parts"]))
    assert D[0][3] == 3
    assert type(D[0][3]) is int
    assert D[0][4] == math.inf


def test_integers_are_exact_whatever_they_are_added_in():
    """Sums around 2²⁴ and 2⁵³: odd ones, which float32 rounds from there on."""
    for least in (5, 2**22, 2**23 + 1, 2**24 + 1, 2**50 + 1):
        G = nx.path_graph(4)
        for k, (_, _, data) in enumerate(G.edges(data=True)):
            data["weight"] = least + k
        found = dict(backend.all_pairs_dijkstra_path_length(backend.convert_from_nx(G), weight="weight"))
        assert found == dict(nx.all_pairs_dijkstra_path_length.orig_func(G, weight="weight"))
        assert backend.betweenness_centrality(backend.convert_from_nx(G), weight="weight") == {
            0: 0.0,
            1: pytest.approx(2 / 3),
            2: pytest.approx(2 / 3),
            3: 0.0,
        }


def test_weights_that_are_functions():
    for name in ("graph", "digraph", "multi"):
        G = GRAPHS[name]
        many = G.is_multigraph()

        def weight(u, v, data, many=many):
            if u == "c":
                return None
            return 2 * (min(d["weight"] for d in data.values()) if many else data["weight"])

        same(
            dict(backend.all_pairs_dijkstra_path_length(converted(G), weight=weight)),
            dict(nx.all_pairs_dijkstra_path_length(G, weight=weight)),
        )


def test_functions_that_networkx_never_calls_change_nothing():
    G = nx.DiGraph([(0, 1), (1, 2), (2, 0)])

    def weight(u, v, data):
        return 5

    for name in ("floyd_warshall", "floyd_warshall_numpy", "floyd_warshall_predecessor_and_distance"):
        ours, theirs = (
            f(H, weight=weight) for f, H in ((getattr(backend, name), converted(G)), (getattr(nx, name), G))
        )
        assert str(np.asarray(ours)) == str(np.asarray(theirs)) if name.endswith("numpy") else ours == theirs
    for method in ("floyd-warshall", "dijkstra"):
        ours = backend.average_shortest_path_length(converted(G), weight, method)
        assert ours == nx.average_shortest_path_length(G, weight, method)


def test_edges_that_a_function_hides_do_not_make_the_sum_of_distances_infinite():
    G = nx.path_graph(3)

    def weight(u, v, data):
        return None if 2 in (u, v) else 5

    assert backend.wiener_index(converted(G), weight) == nx.wiener_index(G, weight) == 5


def test_weights_of_parallel_edges_that_do_not_compare_are_left_to_networkx():
    G = nx.MultiDiGraph([("a", "b", {"weight": 2.0}), ("a", "b", {"weight": math.nan})])
    ours, theirs = (f(H)["a"]["b"] for f, H in ((backend.floyd_warshall, converted(G)), (nx.floyd_warshall, G)))
    assert math.isnan(ours)
    assert math.isnan(theirs)
    H = nx.MultiGraph()
    H.add_nodes_from("abc")
    H.add_edges_from([("b", "c", {"weight": None}), ("b", "c", {"weight": None})])
    for f, graph in ((backend.diameter, converted(H)), (nx.diameter, H)):
        with pytest.raises(nx.NetworkXError, match="not connected"):
            f(graph, weight="weight")


@pytest.mark.parametrize("cutoff", [math.nan, 2.5, -0.5, 3.0, math.inf])
def test_cutoffs_that_are_no_whole_numbers(cutoff):
    G = nx.path_graph(6)
    G.add_node("alone")
    for name in ("all_pairs_shortest_path_length", "all_pairs_shortest_path",
                 "all_pairs_dijkstra_path_length", "all_pairs_dijkstra_path"):  # fmt: skip
        ours, theirs = (dict(f(H, cutoff)) for f, H in ((getattr(backend, name), converted(G)), (getattr(nx, name), G)))
        assert ours == theirs


def test_what_only_python_adds_is_left_to_networkx():
    G = nx.path_graph(4, create_using=nx.DiGraph)
    for value in (Fraction(1, 3), 10**30, math.inf, 2**53):
        nx.set_edge_attributes(G, value, "weight")
        assert dict(backend.all_pairs_dijkstra_path_length(converted(G))) == dict(nx.all_pairs_dijkstra_path_length(G))
        assert backend.eccentricity(converted(G.to_undirected()), weight="weight") == nx.eccentricity(
            G.to_undirected(), weight="weight"
        )
    nx.set_edge_attributes(G, {(0, 1): 2**60 + 1, (1, 2): 0.5, (2, 3): 1}, "weight")  # the edge 0 → 1 stays an integer
    assert dict(backend.all_pairs_dijkstra_path_length(converted(G))) == dict(nx.all_pairs_dijkstra_path_length(G))
    nx.set_edge_attributes(G, "x", "weight")
    with pytest.raises(TypeError):
        dict(backend.all_pairs_dijkstra_path_length(converted(G)))


def test_an_iterator_of_nodes_is_read_once():
    G = nx.path_graph(4)
    nx.set_edge_attributes(G, Fraction(1, 3), "weight")
    apart = nx.empty_graph(3)
    for name, H, options in (
        ("harmonic_centrality", G, {"nbunch": [1, 2], "distance": "weight"}),
        ("harmonic_centrality", G, {"nbunch": [1, 2], "sources": [0, 1, 3], "distance": "weight"}),
        ("eccentricity", G, {"v": [1, 2], "weight": "weight"}),
        ("eccentricity", apart, {"v": [1, 2]}),
    ):
        once = {key: iter(value) if isinstance(value, list) else value for key, value in options.items()}
        same(outcome(getattr(backend, name), converted(H), **once), outcome(getattr(nx, name), H, **options))


def test_negative_weights():
    G = nx.DiGraph()
    G.add_weighted_edges_from([(0, 1, 4), (0, 2, 2), (2, 1, -3), (1, 3, 1), (5, 0, 1)])
    for name in ("all_pairs_bellman_ford_path_length", "all_pairs_bellman_ford_path", "johnson"):
        same(dict(getattr(backend, name)(converted(G))), dict(getattr(nx, name)(G)))
    same(outcome(backend.all_pairs_dijkstra_path_length, converted(G)), outcome(nx.all_pairs_dijkstra_path_length, G))
    G.add_edge(3, 2, weight=1)
    for name in ("floyd_warshall", "floyd_warshall_numpy", "floyd_warshall_predecessor_and_distance", "johnson"):
        with pytest.raises(nx.NetworkXUnbounded, match="Negative cycle"):
            getattr(backend, name)(converted(G))
    G.add_edge(9, 8, weight=1)
    G = nx.relabel_nodes(G, {9: -1}).subgraph([-1, 8, 0, 1, 2, 3])
    ours, theirs = backend.all_pairs_bellman_ford_path_length(converted(G)), nx.all_pairs_bellman_ford_path_length(G)
    with pytest.raises(nx.NetworkXUnbounded):
        list(theirs)
    with pytest.raises(nx.NetworkXUnbounded):
        list(ours)


@pytest.mark.parametrize("reflexive", [False, True, None, "x", 1, 0.0])
def test_transitive_closure(reflexive):
    for G in GRAPHS.values():
        ours, theirs = (outcome(f, H, reflexive) for f, H in (
            (backend.transitive_closure, converted(G)), (nx.transitive_closure, G)))  # fmt: skip
        if isinstance(theirs, tuple):
            assert ours == theirs
            continue
        assert type(ours) is type(theirs)
        assert nx.utils.graphs_equal(ours, theirs)
        assert list(ours) == list(theirs)


def test_dags():
    for G in GRAPHS.values():
        if not G.is_directed():
            continue
        for name in ("transitive_closure_dag", "transitive_reduction"):
            ours, theirs = (outcome(f, H) for f, H in (
                (getattr(backend, name), converted(G)), (getattr(nx, name), G)))  # fmt: skip
            if isinstance(theirs, tuple):
                assert ours == theirs
            else:
                assert nx.utils.graphs_equal(ours, theirs)


def uphill(u, v, data):
    """A function that weighs an edge by its direction, and hides some."""
    return None if (u + v) % 7 == 0 else 3 if u < v else 1


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph, nx.DiGraph])
def test_functions_that_weigh_edges_by_their_direction(make):
    """Distances are from a node in closeness, and of harmonic centrality from the fewer nodes."""
    G = make(nx.gnm_random_graph(12, 20, seed=1))
    assert backend.can_run("closeness_centrality", (G,), {"distance": uphill}) is True
    for u in (None, 3):
        same(backend.closeness_centrality(converted(G), u, uphill), nx.closeness_centrality(G, u, uphill))
    for few in (None, [2], [2, 5]):
        for arguments in ((few, uphill), (None, uphill, few)):
            same(backend.harmonic_centrality(converted(G), *arguments), nx.harmonic_centrality(G, *arguments))


def test_parts_of_measures():
    G, U = GRAPHS["digraph"], GRAPHS["connected"]
    assert backend.eccentricity(converted(U), 3) == nx.eccentricity(U, 3)
    assert backend.eccentricity(converted(U), [3, 5]) == nx.eccentricity(U, [3, 5])
    same(backend.closeness_centrality(converted(G), "c", "weight"), nx.closeness_centrality(G, "c", "weight"))
    for options in ({"nbunch": ["c", "a"]}, {"sources": ["b"]}, {"nbunch": ["c"], "sources": ["a", "d", "e"]}):
        for weight in (None, "weight"):
            same(
                backend.harmonic_centrality(converted(G), distance=weight, **options),
                nx.harmonic_centrality(G, distance=weight, **options),
            )
    for missing in (outcome(f, H, "nobody") for f, H in (
        (backend.closeness_centrality, converted(G)), (nx.closeness_centrality, G))):  # fmt: skip
        assert missing[0] is nx.NodeNotFound
    with pytest.warns(DeprecationWarning, match="metric_closure"):
        ours = backend.metric_closure(converted(U))
    with pytest.warns(DeprecationWarning, match="metric_closure"):
        theirs = nx.approximation.metric_closure(U)
    assert set(map(frozenset, ours.edges)) == set(map(frozenset, theirs.edges))
    assert all(ours[u][v]["distance"] == d for u, v, d in theirs.edges(data="distance"))
    assert all(ours[u][v]["path"][0] in (u, v) for u, v in theirs.edges)
    with pytest.warns(DeprecationWarning, match="metric_closure"), pytest.raises(nx.NetworkXError, match="connected"):
        backend.metric_closure(converted(GRAPHS["two parts"]))


def test_a_graph_comes_back_with_its_data():
    G = GRAPHS["multidi"]
    back = backend.convert_to_nx(converted(G))
    assert nx.utils.graphs_equal(back, G)
    assert back.graph == {"title": "multidi"}
    assert backend.convert_to_nx({"x": 1}) == {"x": 1}


def test_blocks_of_rows(monkeypatch):
    """What does not fit is looked at in pieces."""
    monkeypatch.setattr("apsp.doors.networkx_backend.graphs.BLOCK", 500)
    G = GRAPHS["digraph"]
    same(dict(backend.all_pairs_dijkstra_path_length(converted(G))), dict(nx.all_pairs_dijkstra_path_length(G)))
    ours, theirs = dict(backend.all_pairs_dijkstra(converted(G))), dict(nx.all_pairs_dijkstra(G))
    for u in theirs:
        assert ours[u][0] == theirs[u][0]
        assert all(weighed(G, path, "weight") == ours[u][0][v] for v, path in ours[u][1].items())
    same(backend.closeness_centrality(converted(G)), nx.closeness_centrality(G))
    same(backend.harmonic_centrality(converted(G), "abc"), nx.harmonic_centrality(G, "abc"))


# can_run and should_run


def test_can_run_says_why_not():
    G = GRAPHS["digraph"]
    assert backend.can_run("floyd_warshall", (G,), {}) is True
    assert backend.can_run("eccentricity", (G, None, None, "weight"), {}) is True
    for name, args, kwargs, word in (
        ("eccentricity", (G, None, {}), {}, "sp"),
        ("diameter", (G,), {"e": {}}, "eccentricities"),
        ("barycenter", (G,), {"attr": "x"}, "nodes"),
        ("transitive_closure_dag", (G, [1]), {}, "topo_order"),
        ("closeness_centrality", (G,), {"sp": {}}, "sp"),
        ("pagerank", (G,), {}, "not one of"),
    ):
        said = backend.can_run(name, args, kwargs)
        assert isinstance(said, str)
        assert word in said


def test_should_run_by_time_and_memory(monkeypatch):
    small, large = nx.path_graph(4), nx.gnm_random_graph(300, 1500, seed=1)
    assert "ms" in backend.should_run("all_pairs_shortest_path_length", (small,), {})
    assert backend.should_run("all_pairs_shortest_path_length", (large,), {}) is True
    assert "ms" in backend.should_run("all_pairs_shortest_path", (large,), {})
    assert "ms" in backend.should_run("eccentricity", (large, 5), {})
    assert "ms" in backend.should_run("closeness_centrality", (large,), {"u": 5})
    assert "ms" in backend.should_run("harmonic_centrality", (large, [5]), {})
    assert "ms" in backend.should_run("all_shortest_paths", (large, 5, 6), {})
    for name in ("betweenness_centrality", "edge_betweenness_centrality"):
        assert backend.should_run(name, (large,), {"weight": "weight"}) is True
        assert "ms" in backend.should_run(name, (large, 1), {})
        assert "ms" in backend.should_run(f"{name}_subset", (large, [1], [2]), {})
    monkeypatch.setattr("apsp.doors.networkx_backend.serving.available", lambda device: 1000)
    assert "GiB" in backend.should_run("floyd_warshall", (large,), {})
    assert backend.should_run("eccentricity", (large,), {}) is True  # in blocks


# By NetworkX


def test_the_info_names_functions_that_are_there():
    info = _apsp_networkx.get_info()
    assert set(info["functions"]) == set(_apsp_networkx.FUNCTIONS)
    for name in _apsp_networkx.FUNCTIONS:
        assert callable(getattr(backend, name))


DISPATCHED = """
import sys, warnings
from itertools import islice
import networkx as nx
assert not {"apsp", "numpy", "semiring", "scipy", "numba"} & set(sys.modules), "import networkx stays light"
from _apsp_networkx import FUNCTIONS
from apsp import networkx_backend as backend
warnings.simplefilter("ignore")
U, D = nx.gnm_random_graph(60, 300, seed=1), nx.DiGraph((u, v) for u in range(30) for v in range(u + 1, 30, 3))
calls = {}
def counted(name, function):
    def call(*args, **kwargs):
        calls[name] = calls.get(name, 0) + 1
        assert isinstance(args[0], backend.Converted)
        return function(*args, **kwargs)
    return call
for name in FUNCTIONS:
    setattr(backend, name, counted(name, getattr(backend, name)))
known = nx.utils.backends._registered_algorithms
for name in FUNCTIONS:
    if name in known:
        pair = name in ("all_shortest_paths", "shortest_simple_paths")
        more = [[1, 2], [3, 4]] if "subset" in name else [1, 2] if pair else []
        G = D if "dag" in name or "reduction" in name else U
        result = known[name](G, *more, backend="apsp")
        if hasattr(result, "__next__"):
            list(islice(result, 99))  # of simple paths there are far more
        assert calls.get(name) == 1, name
expected = nx.diameter(U)
nx.config.backend_priority.algos = ["apsp"]
calls.clear()
assert nx.diameter(U) == expected
assert list(calls) == ["diameter"], calls
U.add_edge(0, 100)   # clears the cache of conversions
assert nx.eccentricity(U)[100] > 1
nx.diameter(nx.path_graph(3))
assert calls == {"diameter": 1, "eccentricity": 1}, calls
G = nx.floyd_warshall(U, backend="apsp")
print("dispatched", sum(name in known for name in FUNCTIONS))
"""


def test_every_function_is_dispatched(tmp_path):
    done = run(["-c", DISPATCHED], tmp_path)
    assert done.returncode == 0, done.stderr
    known = nx.utils.backends._registered_algorithms
    assert done.stdout.split() == ["dispatched", str(sum(name in known for name in _apsp_networkx.FUNCTIONS))]


TESTS = (
    *("shortest_paths", "tests.test_dag", "tests.test_distance_measures", "tests.test_efficiency", "tests.test_wiener"),
    *("centrality.tests.test_closeness_centrality", "centrality.tests.test_harmonic_centrality"),
    *("centrality.tests.test_betweenness_centrality", "centrality.tests.test_betweenness_centrality_subset"),
    "approximation.tests.test_steinertree",
)


#: Of these, what takes a third of the time; the others wait for a release.
FEW = TESTS[:1] + tuple(name for name in TESTS if name.endswith(("closeness_centrality", "_subset")))


@pytest.mark.parametrize(
    ("tests", "fallback"),
    [
        pytest.param(FEW, "True", id="few"),
        *(
            pytest.param(TESTS, fallback, id=fallback or "alone", marks=pytest.mark.release)
            for fallback in ("", "True")
        ),
    ],
)
def test_networkxs_own_tests_pass(tmp_path, tests, fallback):
    """Without the fallback, what is not this backend's is xfailed by NetworkX; with it nothing is."""
    names = [f"networkx.algorithms.{name}" for name in tests]
    done = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:zarr", "--tb=native", "--pyargs", *names], tmp_path,
        NETWORKX_TEST_BACKEND="apsp", NETWORKX_FALLBACK_TO_NX=fallback,
    )  # fmt: skip
    told = done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode == 0, told
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|xfailed|failed)", told.splitlines()[-1])}
    assert counts["passed"] > (150 if tests is FEW else 800 if fallback else 50), told
    assert bool(counts.get("xfailed")) is not bool(fallback)
