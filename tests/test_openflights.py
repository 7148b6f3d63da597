"""The airports example: its data, its kilometres, its routes, against NetworkX and plain trigonometry."""

from __future__ import annotations

import gzip
import importlib.util
import math
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from types import ModuleType

import networkx as nx
import numpy as np
import pytest
from people import BESIDE, EXAMPLES

import apsp

ORIGINAL = BESIDE / "openflights"


@pytest.fixture(scope="module")
def airports() -> ModuleType:
    spec = importlib.util.spec_from_file_location("airports_example", EXAMPLES / "airports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_great_circles(airports):
    # A quarter of a great circle, half of one, and the spherical law of cosines.
    points = np.array([[0, 0], [0, 90], [0, 180], [47.46, 8.55], [-37.01, 174.79]], float)
    quarter = math.pi / 2 * 6371.0088
    assert airports.great_circle(points[:1], points[1:2])[0] == pytest.approx(quarter)
    assert airports.great_circle(points[:1], points[2:3])[0] == pytest.approx(2 * quarter)
    (a, b), (c, d) = np.radians(points[3:])
    cosine = math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(d - b)
    assert airports.great_circle(points[3:4], points[4:])[0] == pytest.approx(6371.0088 * math.acos(cosine))


def test_distances_and_routes_against_dijkstra(airports):
    graph, records = airports.load()
    assert (graph.n, graph.edge_count) == (3257, 37041)
    assert set(graph.labels) == set(records)
    result = apsp.shortest_paths(graph, dtype="float32")
    G = nx.DiGraph()
    rows, cols, weights = (x.tolist() for x in graph.edges())
    G.add_weighted_edges_from(
        (graph.labels[u], graph.labels[v], w) for u, v, w in zip(rows, cols, weights, strict=True)
    )
    for start in ("GKA", "LHR", "AKL"):
        exact = nx.single_source_dijkstra_path_length(G, start)
        for end in graph.labels:
            assert result.distance(start, end) == pytest.approx(exact.get(end, math.inf), rel=1e-5)
    path = result.path("GKA", "LHR")
    assert sum(G[u][v]["weight"] for u, v in pairwise(path)) == pytest.approx(result.distance("GKA", "LHR"), rel=1e-5)


def test_it_runs_and_says_what_is_wrong():
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(EXAMPLES / "airports.py"), *arguments]
        env = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "PYTHONIOENCODING": "utf-8"}
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env)

    done = run("zrh", "AKL")
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("ZRH", "AKL", " km", "3,257 × 3,257 ways"):
        assert words in done.stdout
    unknown = run("ZRH", "QQQ")
    assert unknown.returncode == 1
    assert "QQQ" in unknown.stderr
    assert "Traceback" not in unknown.stderr


def test_the_data_is_what_the_script_derives(tmp_path):
    if not ORIGINAL.exists():
        pytest.skip("OpenFlights' own files are not beside the repository")
    shutil.copy(EXAMPLES / "openflights" / "derive.py", tmp_path)
    files = [str(ORIGINAL / name) for name in ("airports.dat", "routes.dat")]
    subprocess.run([sys.executable, tmp_path / "derive.py", *files], check=True, capture_output=True)
    shipped = EXAMPLES / "openflights"
    assert (tmp_path / "airports.csv").read_bytes() == (shipped / "airports.csv").read_bytes()
    routes = [gzip.decompress((folder / "routes.csv.gz").read_bytes()) for folder in (tmp_path, shipped)]
    assert routes[0] == routes[1]
    assert "Open Database License" in (shipped / "LICENSE-ODbL").read_text()
