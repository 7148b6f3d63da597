"""Coordinates of a graph: where they come from, the vertex nearest to a point, GeoJSON, GeoPandas, and the page."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import re
import sys
import warnings
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest

from apsp import Graph, Result, as_graph, read, shortest_paths, write
from semiring.host.errors import AmbiguityWarning, DomainError, DTypeError, FormatError, ShapeError, VertexError

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
        np.savez_compressed(tmp_path / "crafted.npz", matrix=np.eye(2), places=np.zeros((10**6, 2)))
        with pytest.raises(FormatError, match=r"two coordinates a vertex, got places of shape \(1000000, 2\)"):
            read(tmp_path / "crafted.npz")


class TestOSMnx:
    def test_a_street_network_as_it_comes(self):
        G = street_network()
        g = as_graph(G, weight="length")
        assert g.weights.tolist() == [1444, 1600, 2224]
        with pytest.raises(DTypeError, match=r"'travel_time'.*more than one of them could be it"):
            as_graph(G)
        for *_, data in G.edges(data=True):
            del data["travel_time"]  # as OSMnx adds it on request
        assert as_graph(G).weights.tolist() == [1444, 1600, 2224]  # no other is called as weights are
        G = street_network()
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


class TestGeoJSON:
    def test_a_route(self, tmp_path):
        r = shortest_paths(as_graph(EDGES, places=XY))
        found = r.to_geojson(path=r.path("a", "c"), save=tmp_path / "route.geojson")
        (route,) = found["features"]
        assert route["geometry"] == {"type": "LineString", "coordinates": list(XY.values())}
        assert route["properties"] == {"from": "a", "to": "c", "distance": 7}
        assert json.loads((tmp_path / "route.geojson").read_text()) == json.loads(json.dumps(found))
        (stay,) = r.to_geojson(path=["b"])["features"]
        assert stay["geometry"] == {"type": "Point", "coordinates": XY["b"]}
        (back,) = r.to_geojson(path=["c", "a"])["features"]  # no path is null, which JSON has
        assert back["properties"]["distance"] is None

    def test_a_route_across_the_antimeridian_is_cut_there(self):
        g = as_graph([(1, 2, 5), (2, 3, 5)], places=[(178, 0), (-178, 4), (170, -8)])
        (route,) = shortest_paths(g).to_geojson(path=[1, 2, 3])["features"]
        assert route["geometry"]["type"] == "MultiLineString"
        first, second, third = route["geometry"]["coordinates"]
        assert first == [(178, 0), (180, 2)]
        assert second == [(-180, 2), (-178, 4), (-180, 2)]
        assert third == [(180, 2), (170, -8)]

    @pytest.mark.parametrize(("u", "v"), [(200, 10), (0, 181), (-190, 175), (182, -178), (350, -5)])
    def test_a_line_takes_the_shorter_way_wherever_degrees_are_counted_from(self, u, v):
        g = as_graph([(1, 2, 5)], places=[(u, 0), (v, 4)])
        geometry = shortest_paths(g).to_geojson()["features"][0]["geometry"]
        parts = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [geometry["coordinates"]]
        walked = sum(abs(b[0] - a[0]) for part in parts for a, b in itertools.pairwise(part))
        assert walked == pytest.approx(min((u - v) % 360, (v - u) % 360))
        assert all(-180 <= x <= 180 and 0 <= y <= 4 for part in parts for x, y in part)

    def test_isochrones_as_points(self):
        r = shortest_paths(as_graph([*EDGES, ("d", "d", 1), ("e", "a", 1)], places=XY | {"d": (6.2, 49.7)}))
        a, b, c, d = r.to_geojson(values="a", limits=[5, 3])["features"]
        assert [p["properties"]["value"] for p in (a, b, c, d)] == [0, 3, 7, None]
        assert [p["properties"]["limit"] for p in (a, b, c, d)] == [3, 3, None, None]
        assert [p["id"] for p in (a, b, c, d)] == ["a", "b", "c", "d"]
        assert a["geometry"] == {"type": "Point", "coordinates": [6.10, 49.60]}
        assert d["properties"]["marker-color"] == "#b3b3b3"
        plain = [p["properties"]["marker-color"] for p in r.to_geojson(values=[0, 1, 2, 3, 4])["features"]]
        assert plain == ["#440154", "#3b528b", "#21918c", "#5ec962"]  # the fifth has no place
        assert set(r.to_geojson(values=[7] * 5)["features"][0]["properties"].values()) == {"a", 7, "#440154"}

    def test_points_read_back_as_places(self, tmp_path):
        g = as_graph([(1, 2, 3), (2, 3, 4)], places=[(6, 49), (7, 50), (math.nan, 0)])
        shortest_paths(g).to_geojson(values=1, save=tmp_path / "p.geojson")
        np.testing.assert_array_equal(g.having(places={1: (0, 0)}).places[0], [0, 0])
        again = as_graph([(1, 2, 3), (2, 3, 4)], places=tmp_path / "p.geojson")
        np.testing.assert_array_equal(again.places, g.places)

    @pytest.mark.parametrize("directed", [True, False])
    def test_edges_read_back_as_a_graph(self, directed, tmp_path):
        g = as_graph([*EDGES, ("a", "b", 9), ("c", "lost", 1)], places=XY, directed=directed)
        shortest_paths(g).to_geojson(save=tmp_path / "g.geojson")
        again = read(tmp_path / "g.geojson", directed=directed)
        assert again.to_frame().equals(g.to_frame())
        np.testing.assert_array_equal(again.places, g.places)
        path = tmp_path / "what"
        path.write_bytes((tmp_path / "g.geojson").read_bytes())
        assert read(path).n == 4  # known by its content

    @pytest.mark.parametrize(
        ("system", "planar"),
        [
            ({"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}, False),
            ({"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32632"}}, True),
            ({"type": "link", "properties": {"href": "http://example.com"}}, False),
            (None, False),
        ],
    )
    def test_the_system_that_a_file_names_is_that_of_its_places(self, system, planar, tmp_path):
        """As GeoPandas and QGIS write it, though RFC 7946 knows degrees alone."""
        pytest.importorskip("pyproj")
        line = {"type": "LineString", "coordinates": [[0, 0], [3, 4]]}
        found = {"type": "FeatureCollection", "features": [{"geometry": line, "properties": {"m": 5}}]}
        path = tmp_path / "roads.geojson"
        path.write_text(json.dumps(found | {"crs": system}))
        assert read(path).planar is planar
        point = {"id": "a", "geometry": {"type": "Point", "coordinates": [3, 4]}}
        placed = {"type": "FeatureCollection", "features": [point], "crs": system}
        (tmp_path / "points.geojson").write_text(json.dumps(placed))
        g = as_graph(EDGES, places=tmp_path / "points.geojson")
        assert g.planar is planar
        assert g.places[0].tolist() == [3, 4]
        (tmp_path / "points.geojson").write_text(json.dumps(placed | {"crs": "EPSG:32632"}))
        with pytest.raises(FormatError, match="must be GeoJSON"):
            as_graph(EDGES, places=tmp_path / "points.geojson")
        path.write_text(json.dumps(found | {"crs": "EPSG:32632"}))
        with pytest.raises(FormatError, match="must be GeoJSON"):
            read(path)

    def test_lines_without_names_join_at_their_ends(self, tmp_path):
        path = tmp_path / "roads.geojson"
        lines = ([[0, 1, 250], [5, 5], [2, 3]], [[2, 3], [4, 5]])
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "LineString", "coordinates": line},
                "properties": {"m": k + 7, "s": "x"},
            }
            for k, line in enumerate(lines)
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        g = read(path)
        assert list(g.labels) == [(0, 1), (2, 3), (4, 5)]
        assert g.places.tolist() == [[0, 1], [2, 3], [4, 5]]
        assert shortest_paths(g).distance((0, 1), (4, 5)) == 15
        assert read(path, weight=None).weights is None

    @pytest.mark.parametrize(
        ("geometry", "properties", "words"),
        [
            (("Point", [1, 2]), {}, "points go in as places="),
            (None, {"m": 1}, "must be a line, or name its ends"),
            (("LineString", []), {}, "IndexError"),
            (("LineString", [[1, 2], [3, "x"]]), {}, "could not convert"),
            (("LineString", [[1, 2], [3, math.inf]]), {}, "not finite"),
            (("LineString", [[1, 2], [3, 4]]), {"name": "Main St"}, "got 'name', of which none.*Say weight=None"),
            (("LineString", [[1, 2], [3, 4]]), {"u": 1, "v": 1, "m": 1}, "each at one place"),
            (("MultiLineString", [[[1, 2], [3, 4]], [[5, 5], [6, 6]]]), {"m": 1}, "do not follow one another"),
            (None, {"u": 1, "v": None, "m": 1}, "name both of its ends"),
            (None, {"u": 1, "m": 1}, "must name one column .*where an edge leads to"),
            (None, {"u": 1, "v": 2, "a": 1, "b": 2}, "got 'a', 'b'"),
            (
                None,
                {"u": 1, "v": 2, "m": None, "length": 1},
                "must have a weight, got none under 'length' in feature 1",
            ),
        ],
    )
    def test_what_is_no_network_is_refused(self, geometry, properties, words, tmp_path):
        shape = geometry and {"type": geometry[0], "coordinates": geometry[1]}
        features = [{"geometry": shape, "properties": properties}]
        if "length" in properties:
            features.append({"geometry": None, "properties": {"u": 1, "v": 2}})
        (tmp_path / "g.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        with pytest.raises(FormatError, match=words):
            read(tmp_path / "g.geojson")

    @pytest.mark.parametrize(
        ("places", "arguments", "error", "words"),
        [
            (None, {"path": ["a"]}, ValueError, "got a graph without any"),
            ({"a": (0, 0)}, {"path": ["a", "b"]}, ValueError, "'b', which has none"),
            (XY, {"path": []}, ValueError, "a path without vertices"),
            (XY, {"path": ["z"]}, VertexError, "'z'"),
            ({"a": (6e6, 4e7)}, {"values": "a"}, DomainError, "It knows no other"),
            (XY, {"limits": [3]}, ValueError, "limits must come with values"),
            (XY, {"values": "a", "buffer": 5}, ValueError, "a buffer with limits"),
            (XY, {"values": "a", "limits": 3}, ValueError, "a list of finite numbers"),
            (XY, {"values": "a", "limits": [math.nan]}, ValueError, "a list of finite numbers"),
            (XY, {"values": "a", "limits": [3], "buffer": -100}, ValueError, "more than 0 metres, got -100"),
            (XY, {"values": "a", "limits": [3], "buffer": math.nan}, ValueError, "more than 0 metres, got nan"),
            (XY, {"values": "a", "save": "map.txt"}, ValueError, r"\.geojson"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, places, arguments, error, words):
        r = shortest_paths(as_graph(EDGES, places=places))
        with pytest.raises(error, match=words):
            r.to_geojson(**arguments)

    def test_labels_are_json(self):
        labels = ['</script><b>"\\', 2**40, (1, 2), np.float64(1.5), None, True]
        g = Graph.from_arrays([], [], n=6, labels=labels).having(places=np.zeros((6, 2)))
        found = json.loads(json.dumps(shortest_paths(g).to_geojson(values=np.arange(6)), allow_nan=False))
        assert [p["properties"]["label"] for p in found["features"]] == [labels[0], 2**40, "(1, 2)", 1.5, None, "True"]

    @pytest.mark.parametrize("lon", [6.0, 179.999])
    def test_isochrones_as_polygons(self, lon):
        """Of areas that are known: a disc, and around a street of 1 km a stadium; across the antimeridian as well."""
        shapely = pytest.importorskip("shapely", reason="shapely is not installed; it comes with the extra `geo`")
        metre = 1 / (math.radians(1) * 6_371_008.8)
        east = lon + 1000 * metre
        g = as_graph([("a", "b", 3), ("b", "c", 4)])
        g = g.having(places={"a": (lon, 0), "b": (east - 360 * (east > 180), 0), "c": (lon, 10)})
        two, one, none = shortest_paths(g).to_geojson(values="a", limits=[0, 3, -1], buffer=100)["features"]
        assert [p["properties"]["limit"] for p in (two, one, none)] == [3, 0, -1]
        assert none["geometry"] is None
        stadium, disc = (shapely.geometry.shape(p["geometry"]) for p in (two, one))
        scale = math.cos(math.radians(10 / 3))  # the middle of the three is there
        assert disc.area / metre**2 * scale == pytest.approx(math.pi * 100**2, rel=0.03)
        assert stadium.area / metre**2 * scale == pytest.approx(math.pi * 100**2 + 200_000 * scale, rel=0.03)
        assert any(stadium.contains(shapely.Point(lon + 500 * metre + turn, 0)) for turn in (0, -360))

    def test_polygons_say_what_they_need(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "shapely", None)
        r = shortest_paths(as_graph(EDGES, places=XY))
        with pytest.raises(ImportError, match="pip install shapely"):
            r.to_geojson(values="a", limits=[3], buffer=100)
        monkeypatch.setitem(sys.modules, "geopandas", None)
        with pytest.raises(ImportError, match="pip install geopandas"):
            r.to_geopandas(values="a")


class TestGeoPandas:
    """There, back, and as OSMnx has them."""

    def test_there_and_back(self):
        geopandas = pytest.importorskip("geopandas", reason="GeoPandas is not installed; it comes with the extra `geo`")
        r = shortest_paths(as_graph(EDGES, places=XY))
        frame = r.to_geopandas()
        assert isinstance(frame, geopandas.GeoDataFrame)
        assert frame.crs == "EPSG:4326"
        g = as_graph(frame)
        assert g.to_frame().equals(r.graph.to_frame())
        assert g.places.tolist() == r.graph.places.tolist()
        points = r.to_geopandas(values="a").set_index("label")
        assert as_graph(EDGES, places=points).places.tolist() == g.places.tolist()
        assert as_graph(EDGES, places=points.geometry).places.tolist() == g.places.tolist()
        assert len(shortest_paths(as_graph([], places=np.empty((0, 2)))).to_geopandas()) == 0
        with pytest.raises(FormatError, match=r"got a Point; points go in as places="):
            as_graph(points)
        shapely = pytest.importorskip("shapely")
        parts = {"follow": [[(0, 0), (1, 0)], [(1, 0), (1, 1)]], "do not": [[(0, 0), (1, 0)], [(2, 0), (1, 1)]]}
        frames = {
            name: geopandas.GeoDataFrame({"km": [4]}, geometry=[shapely.MultiLineString(lines)])
            for name, lines in parts.items()
        }
        assert shortest_paths(frames["follow"]).distance((0, 0), (1, 1)) == 4  # as in GeoJSON
        with pytest.raises(FormatError, match="lines of parts that do not follow one another"):
            as_graph(frames["do not"])
        nodes = points.drop(index="b")
        nodes.loc["c", "geometry"] = None
        np.testing.assert_array_equal(as_graph(EDGES, places=nodes).places, [XY["a"], [np.nan] * 2, [np.nan] * 2])

    def test_edges_of_osmnx(self):
        geopandas = pytest.importorskip("geopandas", reason="GeoPandas is not installed; it comes with the extra `geo`")
        pandas, shapely = pytest.importorskip("pandas"), pytest.importorskip("shapely")
        index = pandas.MultiIndex.from_tuples([(33, 7, 0), (7, 21, 0)], names=["u", "v", "key"])
        lines = [shapely.LineString([XY[u], XY[v]]) for u, v in ("ab", "bc")]
        columns = {"osmid": [5, [6, 8]], "length": [1444.0, 2224.0], "travel_time": [173.3, 266.9]}
        frame = geopandas.GeoDataFrame(columns, geometry=lines, index=index, crs="EPSG:4326")
        g = as_graph(frame, weight="length")
        assert g.weights.tolist() == [1444, 2224]
        assert g.places[g.index(33)].tolist() == list(XY["a"])
        assert shortest_paths(as_graph(frame, weight="travel_time")).distance(33, 21) == 173.3 + 266.9
        assert list(frame.columns) == ["osmid", "length", "travel_time", "geometry"]  # as it was


def data_of(html: str) -> dict:
    """What a page embeds, as a parser of HTML finds it."""

    class Reader(HTMLParser):
        scripts, tags, embedded, within = 0, set(), "", False

        def handle_starttag(self, tag, attrs):
            self.tags.add(tag)
            self.scripts += tag == "script"
            self.within = dict(attrs).get("id") == "data"

        def handle_data(self, text):
            self.embedded += text if self.within else ""

    reader = Reader()
    reader.feed(html)
    assert reader.scripts == 2
    assert not reader.tags & {"b", "img", "iframe"}
    return json.loads(reader.embedded)


BAD = "</script><b>bold</b><script>document.title = 'run'</script><!--<script>"


class TestExplore:
    def test_a_page_has_all_it_needs(self, tmp_path):
        g = as_graph([*EDGES, ("b", "a", 3), ("c", "lost", 1)], places=XY, name=f"roads {BAD}")
        r = shortest_paths(g)
        page = r.explore(path=r.path("a", "c"), values="a", save=tmp_path / "map.html")
        assert (tmp_path / "map.html").read_text(encoding="utf-8") == page.html
        data = data_of(page.html)
        assert data["labels"] == ["a", "b", "c"]
        assert data["values"] == [0, 3, 7]
        assert data["what"] == "distance from a"
        assert data["path"] == [0, 1, 2]
        assert sorted(zip(data["tails"], data["heads"], strict=True)) == [(0, 1), (1, 2)]  # both ways are one line
        assert data["title"] == g.name
        assert data["x"][0] == 0 < data["x"][1] == data["x"][2]
        assert data["y"][2] == 0 < data["y"][0] == data["y"][1]  # north is up
        assert data["x"][1] / data["y"][1] == pytest.approx(math.cos(math.radians(49.61)), rel=1e-3)
        assert not re.search(r"//\w", page.html)  # no address; comments have a space
        assert "default-src 'none'" in page.html
        assert "<script>document" not in page.html
        assert page._repr_html_().count("<") == 2
        assert repr(page).startswith("<Page: ")

    def test_labels_do_not_run(self):
        g = as_graph([(BAD, "b\u202e\n", 1)], places=[(0, 0), (1, 1)] if BAD < "b" else [(1, 1), (0, 0)])
        data = data_of(shortest_paths(g).explore(values=BAD).html)
        assert data["labels"] == [BAD, "b\\u202e\\n"]

    def test_few_and_far(self):
        nothing = shortest_paths(Graph.from_edges([]).having(places=np.empty((0, 2))))
        assert data_of(nothing.explore().html)["x"] == []
        one = shortest_paths(Graph.from_arrays([], [], n=1).having(places=[(0, 90)]))
        assert data_of(one.explore(values=[math.inf]).html)["values"] == [None]
        across = as_graph([(1, 2), (2, 3)], places=[(179, 0), (-179, 0), (178, 1)])
        x = data_of(shortest_paths(across).explore().html)["x"]
        assert x[2] < x[0] < x[1]
        plane = as_graph([(1, 2)], places=[(6e6, 5e6), (6e6 + 100, 5e6)])
        assert data_of(shortest_paths(plane).explore(planar=True).html)["x"] == [0, 1_000_000]
        matrix = Graph.from_matrix([[0.0, 2], [np.inf, 0]]).having(places=[(0, 0), (1, 1)])
        assert data_of(shortest_paths(matrix).explore().html)["labels"] == ["0", "1"]

    @pytest.mark.parametrize(
        ("places", "arguments", "error", "words"),
        [
            (None, {}, ValueError, "explore: vertices must have places"),
            ({"a": (6e6, 5e6)}, {}, DomainError, "planar=True"),
            ({"a": (1, 2)}, {"path": ["a", "b"]}, ValueError, "'b', which has none"),
            (XY, {"values": [1, 2]}, ShapeError, "one number a vertex"),
            (XY, {"save": "map.png"}, ValueError, r"\.html"),
        ],
    )
    def test_what_cannot_be_shown_is_refused(self, places, arguments, error, words):
        with pytest.raises(error, match=words):
            shortest_paths(as_graph(EDGES, places=places)).explore(**arguments)


class TestBeyond:
    """Vertices without edges, and points far from all places."""

    @pytest.mark.parametrize("source", [EDGES, {("a", "b"): 3, ("b", "c"): 4}, {"a": {"b": 3}, "b": {"c": 4}}])
    def test_a_place_without_an_edge_is_a_vertex(self, source):
        g = as_graph(source, places=XY | {"far": (6.5, 49.9)})
        assert list(g.labels) == ["a", "b", "c", "far"]
        assert g.places.tolist()[3] == [6.5, 49.9]
        r = shortest_paths(g)
        assert (r.distance("a", "c"), r.distance("a", "far"), r.distance("far", "far")) == (7, math.inf, 0)
        assert g.nearest(6.49, 49.9) == "far"

    def test_a_matrix_and_a_graph_have_their_vertices(self):
        places = {0: (6.1, 49.6), 1: (6.2, 49.6), 9: (6.3, 49.7)}
        assert as_graph(np.array([[0, 2.0], [1.5, 0]]), places=places).n == 2
        assert as_graph(nx.DiGraph([(0, 1)]), places=places).n == 2

    def test_swapped_coordinates_do_not_pass_without_a_word(self):
        g = as_graph(EDGES, places=XY)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert g.nearest(6.13, 49.62) == "c"
            assert as_graph(EDGES, places={"a": (6.1, 49.6)}).nearest(8, 50) == "a"  # one place has no extent
            assert g.nearest(6.105, 49.59, planar=True) == "a"
        with pytest.warns(AmbiguityWarning, match=r"got \(49.6, 6.1\), 6.*e\+06 m from the nearest. Swap them"):
            g.nearest(49.6, 6.1)
        with pytest.warns(AmbiguityWarning, match=r"within the extent.*got \(49.6, 6.1\), "):
            g.nearest([6.11, 49.6], [49.6, 6.1], planar=True)


@pytest.mark.parametrize("name", ["DATA", "TITLE of DATA", "\\1 \\g<0>", "caf\udce9"])
def test_any_name_is_a_title(name, tmp_path):
    g = as_graph(EDGES, places=XY, name=name)
    r = shortest_paths(as_graph([("DATA", "b\udce9", 3)], places={"DATA": (1, 2), "b\udce9": (2, 3)}, name=name))
    for each in (shortest_paths(g), r):
        page = each.explore(save=tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
        assert data_of(page.html)["title"] == name.replace("\udce9", "\\udce9")
