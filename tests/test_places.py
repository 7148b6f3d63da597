"""Coordinates of a graph: where they come from, the vertex nearest to a point, GeoJSON, GeoPandas, and the page."""

from __future__ import annotations

import math
import pickle

import networkx as nx
import numpy as np
import pytest

from apsp import Graph, Result, as_graph, read, shortest_paths, write
from semiring.errors import DomainError, DTypeError, FormatError, ShapeError, VertexError

EDGES = [("a", "b", 3), ("b", "c", 4)]
XY = {"a": (6.10, 49.60), "b": (6.12, 49.60), "c": (6.12, 49.62)}


def street_network() -> nx.MultiDiGraph:
    """As OSMnx has one: labels are ids of OpenStreetMap, nodes have x and y, edges many attributes."""
    G = nx.MultiDiGraph(crs="epsg:4326", simplified=True)
    for node, (x, y) in zip((33, 7, 21), XY.values(), strict=True):
        G.add_node(node, x=x, y=y, street_count=3)
    common = {"osmid": 5, "highway": "residential", "lanes": "2", "oneway": False, "speed_kph": 30.0}
    G.add_edge(33, 7, 0, length=1444.0, travel_time=173.3, **common)
    G.add_edge(33, 7, 1, length=1600.0, travel_time=90.5, **common | {"osmid": [6, 8]})
    G.add_edge(7, 21, 0, length=2224.0, travel_time=266.9, **common)
    return G


class TestGiven:
    def test_by_label_in_order_and_in_part(self):
        g = as_graph(EDGES)
        assert g.places is None
        by_label, in_order = g.having(places=XY), as_graph(EDGES, places=list(XY.values()))
        assert by_label.places.tolist() == in_order.places.tolist() == [[6.10, 49.60], [6.12, 49.60], [6.12, 49.62]]
        part = g.having(places={"c": (1, 2), "elsewhere": (3, 4), "b": (5, math.nan)})
        np.testing.assert_array_equal(part.places, [[np.nan] * 2, [np.nan] * 2, [1, 2]])
        assert part.having(name="roads").places is part.places
        assert Graph.from_edges([]).having(places=np.empty((0, 2))).places.shape == (0, 2)
        assert Graph.from_edges([]).having(places={}).places.shape == (0, 2)

    def test_an_array_is_copied_and_cannot_be_written_to(self):
        xy = np.array(list(XY.values()))
        g = as_graph(EDGES, places=xy)
        xy[:] = 0
        assert g.places[0, 0] == 6.10
        with pytest.raises(ValueError, match="read-only"):
            g.places[0, 0] = 1

    @pytest.mark.parametrize(
        ("places", "error", "words"),
        [
            ([(1, 2)], ShapeError, r"shape \(n, 2\), here \(3, 2\), got \(1, 2\)"),
            ([(1, 2, 3)] * 3, ShapeError, r"got \(3, 3\)"),
            ([("x", "y")] * 3, DTypeError, "two numbers a vertex"),
            ([(math.inf, 0)] * 3, DomainError, "inf"),
            ({"z": (1, 2)}, VertexError, "such as 'a'"),
            ({}, VertexError, "none of the labels"),
            ({"a": (1, 2, 3)}, DTypeError, "two numbers"),
            ({"a": 5}, DTypeError, "two numbers"),
        ],
    )
    def test_what_is_no_place_is_refused(self, places, error, words):
        with pytest.raises(error, match=words):
            as_graph(EDGES, places=places)

    def test_files(self, tmp_path):
        path = tmp_path / "roads.co"
        path.write_text("c places\np aux sp co 3\nv 1 6100000 49600000\nv 3 6120000 49620000\n")
        g = as_graph([(1, 2, 3), (2, 3, 4)], places=path)
        np.testing.assert_array_equal(g.places, [[6100000, 49600000], [np.nan] * 2, [6120000, 49620000]])
        degrees = g.having(places=g.places / 1e6)
        assert degrees.nearest(6.13, 49.63) == 3
        path.rename(tmp_path / "roads.txt")
        with pytest.raises(FormatError, match="suffix"):
            as_graph(EDGES, places=tmp_path / "roads.txt")

    def test_they_stay_with_updates_pickles_and_archives(self, tmp_path):
        r = shortest_paths(as_graph(EDGES, places=XY), engine="elimination")
        r.save(tmp_path / "r.npz")
        for other in (r.update({("a", "b"): 9}), r.update([9, 4]), pickle.loads(pickle.dumps(r))):
            assert other.graph.places.tolist() == r.graph.places.tolist()
        assert Result.load(tmp_path / "r.npz").graph.places.tolist() == r.graph.places.tolist()
        write(r.graph, tmp_path / "g.npz")
        assert read(tmp_path / "g.npz").places.tolist() == r.graph.places.tolist()


class TestOSMnx:
    def test_a_street_network_as_it_comes(self):
        G = street_network()
        g = as_graph(G)
        assert g.weights.tolist() == [1444, 1600, 2224]  # called as weights are: length, and no other attribute
        np.testing.assert_array_equal(g.places, list(XY.values()))
        assert shortest_paths(as_graph(G, weight="travel_time")).distance(33, 21) == 90.5 + 266.9
        assert as_graph(G, weight=lambda u, v, data: 1).places is not None
        assert g.nearest(6.121, 49.601) == 7

    def test_two_that_qualify_are_refused(self):
        G = street_network()
        nx.set_edge_attributes(G, 1.0, "cost")
        with pytest.raises(DTypeError, match=r"'length', .*more than one of them could be it.*Say weight='length'"):
            as_graph(G)

    def test_nodes_without_numbers_have_no_place(self):
        G = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4)])
        G.nodes[0].update(x=1, y=2)
        G.nodes[1].update(x=1)
        G.nodes[2].update(x="1", y="2")
        G.nodes[3].update(x=np.zeros(3), y=True)
        G.nodes[4].update(x=math.nan, y=1.0)
        np.testing.assert_array_equal(as_graph(G).places, [[1, 2]] + [[np.nan] * 2] * 4)
        G.nodes[0].clear()
        assert as_graph(G).places is None
        assert as_graph(nx.Graph()).places is None


class TestNearest:
    def test_one_and_several(self):
        g = as_graph(EDGES, places=XY)
        assert g.nearest(6.101, 49.601) == "a"
        assert g.nearest([6.101, 6.119], [49.601, 49.63]) == ["a", "c"]
        assert g.nearest([], []) == []
        assert g.nearest([6.101, 6.119], 49.6) == ["a", "b"]
        label, metres = g.nearest(6.10, 49.61, distances=True)
        assert label == "a"
        assert metres == pytest.approx(math.radians(0.01) * 6_371_008.8)
        labels, apart = g.nearest(np.array([6.1]), np.array([49.6]), distances=True)
        assert (labels, apart.tolist()) == (["a"], [0])

    def test_degrees_are_on_a_sphere(self):
        """Against great circles by the haversine formula; the antimeridian and the poles are no borders."""
        rng = np.random.default_rng(3)
        xy = np.stack([rng.uniform(-180, 180, 200), np.degrees(np.arcsin(rng.uniform(-1, 1, 200)))], axis=1)
        xy[:4] = (179.9, 0), (-179.5, 0), (10, 89.9), (-100, -90)
        g = Graph.from_arrays([], [], n=200).having(places=xy)
        at = np.concatenate(
            [[(-179.95, 0), (179.95, 0), (-170, 90), (0, 90), (77, -89.99)], xy[50:] + [[0.5, 0]] * 150]
        )
        at[:, 1] = at[:, 1].clip(-90, 90)
        (a, b), (c, d) = np.radians(xy).T, np.radians(at).T
        h = np.sin((b - d[:, None]) / 2) ** 2 + np.cos(b) * np.cos(d)[:, None] * np.sin((a - c[:, None]) / 2) ** 2
        circle = 2 * 6_371_008.8 * np.arcsin(np.sqrt(h))
        found, metres = g.nearest(*at.T, distances=True)
        assert found == circle.argmin(axis=1).tolist()
        assert found[:5] == [0, 0, 2, 2, 3]
        np.testing.assert_allclose(metres, circle.min(axis=1), rtol=1e-6, atol=1e-3)

    def test_a_degree_east_is_shorter_up_north(self):
        g = as_graph([("a", "b")])
        g = g.having(places={"a": (1.5, 70.0), "b": (0.0, 69.0)})
        assert g.nearest(0, 70) == "a"
        assert g.nearest(0, 70, planar=True) == "b"

    def test_one_vertex_and_vertices_without_a_place(self):
        one = Graph.from_arrays([], [], n=1, labels=["only"]).having(places=[(0, -90)])
        assert one.nearest([0, 90], [90, 0]) == ["only", "only"]
        g = as_graph(EDGES, places={"c": (1000, 2000)})
        assert g.nearest(0, 0, planar=True, distances=True) == ("c", math.hypot(1000, 2000))

    @pytest.mark.parametrize(
        ("places", "point", "error", "words"),
        [
            (None, (0, 0), ValueError, "got a graph without any. Give them"),
            ({"a": (math.nan, 0)}, (0, 0), ValueError, "got a graph without any"),
            ({"a": (6100000, 49600000)}, (0, 0), DomainError, "planar=True"),
            (XY, (49.6, 96.1), DomainError, r"in degrees, got \(49.6, 96.1\)"),
            (XY, (math.nan, 0), DomainError, "got NaN or inf"),
            (XY, ([1, 2], [3, 4, 5]), ShapeError, "as many x as y"),
            (XY, ([[1, 2]], [[3, 4]]), ShapeError, "one axis"),
            (XY, ("here", 0), ShapeError, "numbers"),
        ],
    )
    def test_what_cannot_be_is_refused(self, places, point, error, words):
        g = as_graph(EDGES, places=places)
        with pytest.raises(error, match=words):
            g.nearest(*point)


def test_plot_draws_at_the_places_of_the_graph():
    pytest.importorskip("matplotlib").use("Agg")
    r = shortest_paths(as_graph(EDGES, places=XY))
    at = r.plot(path=["a", "b"], values="a")
    assert at.lines[0].get_xydata().tolist() == [[6.10, 49.60], [6.12, 49.60]]
    other = r.plot(path=["a", "b"], positions={"a": (0, 0), "b": (1, 1)})
    assert other.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
