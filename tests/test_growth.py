"""What is found by being there: a store and a format, one file each, that nothing else knows of."""

from __future__ import annotations

import json
from pathlib import Path

import click.testing
import numpy as np
import pytest

import apsp
from apsp import FormatError, Graph, Result, as_graph, shortest_paths
from apsp.doors import cli
from apsp.io import formats, saving

EDGES = [("A", "B", 4), ("B", "C", 7), ("D", "A", 1)]


@pytest.fixture
def grown(monkeypatch):
    """The packages with one module more each, for as long as a test takes."""
    registries = {saving: saving.stores, formats: formats.formats}
    for package, known in registries.items():
        more = Path(__file__).with_name("growth") / ("stores" if package is saving else "formats")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(more)])
        known.cache_clear()
    yield
    for known in registries.values():
        known.cache_clear()


def command(*words: object) -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli.main, list(map(str, words)), standalone_mode=False)


@pytest.mark.usefixtures("grown")
def test_a_store_in_one_file_gives_back_all_that_answers(tmp_path):
    r = shortest_paths(EDGES)
    r.save(tmp_path / "d.json")
    again = Result.load(tmp_path / "d.json")
    np.testing.assert_array_equal(again.distances, r.distances)
    assert (again.path("D", "C"), again.plan, list(again.labels)) == (["D", "A", "B", "C"], r.plan, list(r.labels))
    part = shortest_paths(EDGES, sources=["D"], limit=8)
    part.save(tmp_path / "d.json")
    assert Result.load(tmp_path / "d.json").distance("D", "B") == 5
    r.save_predecessors(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["labels"][1] == list(r.labels)
    (tmp_path / "d.json").write_text("[]")
    with pytest.raises(FormatError, match=r"d\.json: a Result that `save` wrote is required"):
        Result.load(tmp_path / "d.json")


@pytest.mark.usefixtures("grown")
def test_a_store_in_one_file_is_listed_where_a_suffix_is_none(tmp_path):
    with pytest.raises(
        ValueError, match=r"one of \.csv, \.json, \.npy, \.npz, \.txt, \.hubs, \.tiles, \.zarr, got 'd\.doc'"
    ):
        shortest_paths(EDGES).save(tmp_path / "d.doc")
    with pytest.raises(FormatError, match="labels must be text"):
        saving.check_labels([object()], tmp_path / "d.json")


@pytest.mark.usefixtures("grown")
def test_the_command_line_writes_and_asks_a_store_in_one_file(tmp_path):
    (tmp_path / "g.csv").write_text("from,to,km\n" + "".join(f"{u},{v},{w}\n" for u, v, w in EDGES))
    for words in (
        ("solve", tmp_path / "g.csv", "--output", tmp_path / "d.json", "--predecessors", tmp_path / "p.json"),
        ("query", tmp_path / "d.json", "--from", "D", "--to", "C"),
        ("reach", tmp_path / "g.csv", "--output", tmp_path / "r.json"),
    ):
        done = command(*words)
        assert done.exception is None, done
        if words[0] == "query":
            assert "12" in done.output
    assert json.loads((tmp_path / "r.json").read_text())["distances"][0] == "|b1"
    assert command("solve", "--help").output.count("[.csv|.json|.npy|.npz") == 3


@pytest.mark.usefixtures("grown")
@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_arrays([0, 1], [1, 2], n=4, directed=False),
        Graph.from_arrays([0, 1], [1, 2], [1, 1], n=4, directed=False),
        Graph.from_arrays([0, 1, 1, 2], [1, 0, 2, 1], [1.0, 1.0, 1.0, 1.0], n=4),
        Graph.from_matrix(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], bool)),
        Graph.from_matrix(np.where(np.eye(4, k=1) + np.eye(4, k=-1) > 0, 1.0, np.inf)[[0, 1, 2, 3]]),
    ],
    ids=["no weights", "ones", "arcs both ways", "bool", "matrix"],
)
def test_a_format_without_weights_takes_edges_that_all_weigh_one(tmp_path, graph):
    apsp.write(graph, tmp_path / "g.links")
    again = apsp.read(tmp_path / "g.links")
    assert (again.weights, again.directed, again.n) == (None, False, 4)
    np.testing.assert_array_equal(again.matrix("lor_land"), graph.matrix("lor_land"))


@pytest.mark.usefixtures("grown")
def test_a_format_without_weights_refuses_them_with_a_way_out(tmp_path):
    (tmp_path / "g.csv").write_text("from,to,km\na,b,1\nb,c,2.5\n")
    for graph in (as_graph(tmp_path / "g.csv"), as_graph([[np.inf, 2.5], [2.5, np.inf]])):
        with pytest.raises(FormatError, match=r"links: write: every edge must weigh 1, .* got 2\.5 on .*weight=None"):
            apsp.write(graph, tmp_path / "g.links")
    assert not (tmp_path / "g.links").exists()
    apsp.write(as_graph(tmp_path / "g.csv", weight=None, directed=False), tmp_path / "g.links")
    done = command("convert", "--unweighted", "--undirected", tmp_path / "g.csv", tmp_path / "s.links")
    assert done.exception is None, done
    assert (tmp_path / "g.links").read_text() == (tmp_path / "s.links").read_text() == "3\n0 1\n1 2\n"


def test_graph6_knows_neither_directions_nor_weights():
    known = formats.formats()["graph6"]
    assert not known.directions
    assert not known.weights
