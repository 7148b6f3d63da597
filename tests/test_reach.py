"""Reachability against NetworkX: queries, classes, reduction, files; by components and by every schedule."""

from __future__ import annotations

import pickle
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from damage import check_damaged

from apsp import Graph, Reachability, Result, shortest_paths, transitive_closure
from apsp.doors.cli import main
from apsp.road import schedules
from apsp.road.engines import indexed, united
from semiring import FormatError, MemoryNeeded, NoPathError, ShapeError, VertexError
from semiring.dense.acyclic import close_acyclic
from semiring.host.errors import TileError
from semiring.stores.tiles import StoredBits


def random_digraph(n: int, degree: float, seed: int = 0) -> nx.DiGraph:
    graph = nx.gnp_random_graph(n, min(1.0, degree / max(n, 1)), seed=seed, directed=True)
    if n > 2:
        graph.add_edge(n - 1, n - 1)
    return graph


def oracle(graph: nx.DiGraph, reflexive: bool) -> np.ndarray:
    """Who reaches whom, by a search from every vertex."""
    out = np.zeros((len(graph), len(graph)), dtype=bool)
    for u in graph:
        for v in graph[u]:
            out[u, [v, *nx.descendants(graph, v)]] = True
        out[u, u] |= reflexive
    return out


@pytest.fixture
def how(request, monkeypatch):
    """A schedule; of "components" and "index", components are found even where all vertices are closed as quickly."""
    if request.param in ("components", "index"):
        kind = united.ENGINE if request.param == "components" else indexed.ENGINE
        monkeypatch.setattr("apsp.road.road.engines.candidates", lambda *_, **__: (kind,))
        return "auto"
    return request.param


GRAPHS = [(0, 0), (1, 0), (2, 1), (65, 0.7), (130, 1.1), (140, 3), (70, 30)]
HOWS = ["auto", "components", "index", *schedules.names()]


@pytest.mark.parametrize("how", HOWS, indirect=True)
@pytest.mark.parametrize(("n", "degree"), GRAPHS)
def test_every_question_agrees_with_networkx(n, degree, how, request):
    # Reflexive or not, each way and each graph in turn.
    reflexive = (HOWS.index(request.node.callspec.params["how"]) + GRAPHS.index((n, degree))) % 2 == 0
    graph = random_digraph(n, degree, seed=n)
    t = transitive_closure(graph, reflexive=reflexive, schedule=how)
    expected = oracle(graph, reflexive)
    np.testing.assert_array_equal(t.to_bool(), expected)
    np.testing.assert_array_equal(t.counts(), expected.sum(axis=1))
    np.testing.assert_array_equal(t.counts(axis=0), expected.sum(axis=0))
    assert len(t) == expected.sum()
    assert t
    np.testing.assert_array_equal(t.to_sparse().toarray(), expected)
    assert t.to_edges() == [tuple(pair) for pair in np.argwhere(expected).tolist()]
    u, v = (x.ravel() for x in np.indices((n, n)))
    np.testing.assert_array_equal(t.reaches(u, v), expected.ravel())
    for i in range(0, n, 11):
        assert t.descendants(i) == np.flatnonzero(expected[i]).tolist()
        assert t.ancestors(i) == np.flatnonzero(expected[:, i]).tolist()
        assert t.reaches(i, n // 2) is bool(expected[i, n // 2])
    classes = sorted((sorted(c) for c in nx.strongly_connected_components(graph)), key=lambda c: (-len(c), c[0]))
    assert t.components() == classes
    assert t.component_count == len(classes)


@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize(
    ("n", "degree", "memory"), [(0, 0, "1kB"), (1, 0, "1kB"), (700, 0.9, "25kB"), (700, 1.5, "26kB")]
)
def test_what_is_larger_than_memory_answers_from_its_store(tmp_path, n, degree, memory, reflexive):
    graph = random_digraph(n, degree, seed=n)
    t = transitive_closure(graph, reflexive=reflexive, memory=memory, output=tmp_path / "r")
    assert isinstance(t.closed, StoredBits) is (n > 1)
    expected, rng = oracle(graph, reflexive), np.random.default_rng(0)
    for found in (t, Reachability.load(tmp_path / "r")):
        np.testing.assert_array_equal(found.counts(), expected.sum(axis=1))
        np.testing.assert_array_equal(found.counts(axis=0), expected.sum(axis=0))
        np.testing.assert_array_equal(found.to_bool(), expected)
        classes = sorted((sorted(c) for c in nx.strongly_connected_components(graph)), key=lambda c: (-len(c), c[0]))
        assert found.components() == classes
        if n:
            u, v = rng.integers(0, n, (2, 100, 3))
            np.testing.assert_array_equal(found.reaches(u, v), expected[u, v])
            assert found.descendants(n - 1) == np.flatnonzero(expected[n - 1]).tolist()
            assert found.ancestors(n // 2) == np.flatnonzero(expected[:, n // 2]).tolist()
            assert found.reaches(n // 2, n - 1) is bool(expected[n // 2, n - 1])


def test_what_is_larger_than_memory_needs_a_place_and_some_memory(tmp_path):
    graph = random_digraph(700, 0.9)
    with pytest.raises(MemoryNeeded, match=r"output='reach/'"):
        transitive_closure(graph, memory="10kB")
    with pytest.raises(MemoryNeeded, match="64 columns"):
        transitive_closure(graph, memory="1kB", output=tmp_path / "r")
    with pytest.raises(MemoryNeeded, match="closed as a matrix of all vertices"):
        transitive_closure(graph, memory="10kB", output=tmp_path / "r", schedule="blocked")
    with pytest.raises(ValueError, match="gpus="):
        transitive_closure(graph, memory="10kB", gpus=2)
    assert not list(tmp_path.iterdir())


def test_a_damaged_store_is_told_and_is_no_graph(tmp_path):
    path = tmp_path / "r"
    transitive_closure([(0, 1), (1, 2)]).save(f"{path}/")
    assert Reachability.load(path).reaches(0, 2)
    with pytest.raises(FormatError, match=r"Reachability\.load"):
        shortest_paths(path)
    tile = path / "00000-00000.tile"
    tile.write_bytes(tile.read_bytes()[:-1])
    with pytest.raises(TileError, match="truncated"):
        Reachability.load(path).reaches(0, 2)
    (path / "result.npz").unlink()
    with pytest.raises(FormatError, match=r"result\.npz"):
        Reachability.load(path)


def test_the_command_writes_a_store(tmp_path):
    (tmp_path / "g.txt").write_text("a b\nb c\n")
    command = ["reach", str(tmp_path / "g.txt"), "--memory", "1MiB", "--output", f"{tmp_path}/r/"]
    done = CliRunner().invoke(main, [*command, "--from", "a", "--to", "c"])
    assert (done.exit_code, "yes" in done.output.splitlines()) == (0, True), done.output
    assert Reachability.load(tmp_path / "r").reaches("a", "c")
    done = CliRunner().invoke(main, [*command[:2], "--memory", "1", "--from", "a"])
    assert done.exit_code != 0
    assert "must fit into memory, got 1 B" in done.output


@pytest.mark.parametrize("how", ["components", "index", "recursive"], indirect=True)
@pytest.mark.parametrize("seed", range(5))
def test_the_reduction_of_an_acyclic_graph_is_networkx_s(seed, how):
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(60))
    graph.add_edges_from((int(order[i]), int(order[j])) for i in range(60) for j in range(i) if rng.random() < 0.1)
    reduced = transitive_closure(graph, schedule=how).reduction()
    expected = nx.transitive_reduction(graph)
    assert set(zip(reduced.rows.tolist(), reduced.cols.tolist(), strict=True)) == set(expected.edges)


@pytest.mark.parametrize("how", ["components", "index", "recursive"], indirect=True)
@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize("degree", [0.8, 1.3, 4])
def test_the_reduction_of_any_graph_reaches_the_same_with_as_few_edges(degree, reflexive, how):
    graph = random_digraph(80, degree, seed=1)
    t = transitive_closure(graph, reflexive=reflexive, schedule=how)
    reduced = t.reduction()
    assert transitive_closure(reduced, reflexive=reflexive).matrix == t.matrix
    condensed = nx.condensation(graph)
    rings = sum(len(c) for c in nx.strongly_connected_components(graph) if len(c) > 1)
    loops = sum(1 for c in nx.strongly_connected_components(graph) if len(c) == 1 and graph.has_edge(*list(c) * 2))
    expected = nx.transitive_reduction(condensed).number_of_edges() + rings + (0 if reflexive else loops)
    assert len(reduced.rows) == expected


def test_plans_say_whether_the_graph_shrank():
    rng, n = np.random.default_rng(0), 3000
    sparse, dense = Graph.from_arrays(*rng.integers(n, size=(2, n)), n=n), random_digraph(60, 30)
    assert "shrink" in transitive_closure(sparse).plan.reason
    assert "shrink" not in transitive_closure(dense).plan.reason
    assert "shrink" not in transitive_closure(sparse, schedule="blocked").plan.reason


def test_an_edge_of_the_semiring_s_zero_is_none():
    edges = [("a", "b", 0.5), ("b", "c", 0.0), ("c", "a", 1.0)]
    assert transitive_closure(edges).reaches("a", "c")
    t = transitive_closure(edges, semiring="max_times")
    assert t.descendants("c") == ["a", "b"]
    assert t.descendants("a") == ["b"]
    both = transitive_closure(edges, semiring="max_times", directed=False)
    assert both.reaches("b", "c")
    assert both.reaches("c", "b")
    A = np.array([[0, 0.5, 0], [0, 0, 0], [1.0, 0, 0]])
    t = transitive_closure(A, semiring="max_times")
    assert np.asarray(t.matrix).tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]


def test_labels_that_a_store_cannot_hold_are_refused_by_its_own_path(tmp_path):
    edges = [(frozenset("a"), "b")]
    t = transitive_closure(edges)
    for name in ("r.npz", "r.tiles", "r/"):
        with pytest.raises(FormatError, match=f"^{tmp_path}/{name}: save: labels"):
            t.save(f"{tmp_path}/{name}")
    with pytest.raises(FormatError, match=f"^{tmp_path}/o: save: labels"):
        transitive_closure(edges, output=f"{tmp_path}/o")
    assert not list(tmp_path.iterdir())


def test_labels_and_undirected_edges():
    t = transitive_closure([("a", "b", 3), ("b", "c", 0), ("c", "b", 1)])
    assert t.reaches("a", "c")
    assert t.reaches("a", "a") is False
    assert t.reaches("b", "b") is True
    assert t.reaches(["a", "b"], ["a", "b"]).tolist() == [False, True]
    assert t.reaches("a", ["a", "b", "c"]).tolist() == [False, True, True]
    assert t.descendants("a") == ["b", "c"]
    assert t.ancestors("b") == ["a", "b", "c"]
    assert t.components() == [["b", "c"], ["a"]]
    with pytest.raises(VertexError, match="'z'"):
        t.reaches("a", "z")
    both = transitive_closure([("a", "b"), ("c", "d")], directed=False)
    assert both.reaches("b", "a")
    assert not both.reaches("a", "c")


def test_saved_and_loaded_it_answers_the_same(tmp_path):
    t = transitive_closure(nx.relabel_nodes(random_digraph(70, 1.2), str))
    t.save(tmp_path / "t.npz")
    again = Reachability.load(tmp_path / "t.npz")
    assert again.matrix == t.matrix
    assert again.descendants("5") == t.descendants("5")
    assert again.plan == t.plan
    assert again.seconds == t.seconds
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FormatError, match="Reachability"):
        Reachability.load(tmp_path / "other.npz")
    with pytest.raises(ValueError, match=r"\.csv"):
        t.save(tmp_path / "t.csv")


def test_a_damaged_file_is_a_format_error_that_names_it(tmp_path):
    t, path = transitive_closure(nx.relabel_nodes(random_digraph(30, 1.2), str)), tmp_path / "t.npz"
    t.save(path)

    def reads_the_same() -> bool:
        again = Reachability.load(path)
        return again.matrix == t.matrix and again.labels == t.labels and again.plan == t.plan

    check_damaged(path, reads_the_same)


@pytest.mark.parametrize(
    "wrong",
    [
        {"component": np.full(3, 3)},
        {"component": np.array([-1, 0, 1])},
        {"component": np.zeros(3)},
        {"sizes": np.array([3, 0, 0])},
        {"heads": np.array([7, 0])},
        {"tails": np.array([0])},
        {"tails": np.array([0, 1]), "heads": np.array([1, 2])},
        {"cyclic": np.zeros(2, bool)},
        {"labels": np.arange(4)},
        {"labels": np.array(["a", "a", "b"])},
        {"labels_json": np.frombuffer(b'{"a": 1}', np.uint8)},
        {"words": np.zeros((3, 2), np.uint64)},
        {"plan": np.array("no plan")},
        {"seconds": np.zeros(2)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_parts_that_do_not_fit_one_another_are_a_format_error(tmp_path, wrong):
    path = tmp_path / "t.npz"
    transitive_closure([(0, 1), (1, 2)]).save(path)
    with np.load(path) as data:
        parts = {**data, **wrong}
    np.savez(path, **parts)
    with pytest.raises(FormatError, match=r"t\.npz.*Reachability"):
        Reachability.load(path)


@pytest.mark.parametrize("name", ["x.npz", "x.tiles"])
def test_a_file_of_the_other_class_says_which(tmp_path, name):
    transitive_closure([("a", "b")]).save(tmp_path / name)
    with pytest.raises(FormatError, match=r"a Result .* Reachability\.load reads one of transitive_closure\."):
        Result.load(tmp_path / name)
    other = tmp_path / f"other{name}"
    shortest_paths([("a", "b", 1)]).save(other)
    with pytest.raises(FormatError, match=r"a Reachability .* Result\.load reads one of shortest_paths\."):
        Reachability.load(other)


def test_files_of_the_first_version_still_load(tmp_path):
    path = tmp_path / "t.npz"
    t = transitive_closure([("a", "b"), ("b", "c")])
    t.save(path)
    with np.load(path) as data:
        parts = dict(data)
    # As it was written: the attributes of a plan one after the other, all as text.
    first = ["3", "lor_land", "bool", "cpu", "acyclic", "256", "general", "24", "32", "0.5", "3 vertices"]
    np.savez(path, **{**parts, "plan": np.array(first), "labels": np.asarray(["a", "b", "c"])})
    again = Reachability.load(path)
    assert again.descendants("a") == ["b", "c"]
    assert (again.plan.n, again.plan.block, again.plan.seconds, again.plan.reason) == (3, 256, 0.5, "3 vertices")


def test_what_bits_are_too_many_for_an_index_answers():
    n = 3_000_000
    chain = Graph.from_arrays(np.arange(n - 1), np.arange(1, n), n=n)
    with pytest.raises(MemoryNeeded, match="TiB"):
        transitive_closure(chain, engine="united")
    t = transitive_closure(chain)
    assert t.plan.engine == "indexed"
    assert t.reaches([0, n - 1, 7], [n - 1, 0, 7]).tolist() == [True, False, False]
    assert len(t.descendants(n - 4)) == 3
    with pytest.raises(ValueError, match=r"predicted. Ask len\(t\.descendants"):
        t.counts()
    with pytest.raises(MemoryNeeded, match="Ask reaches"):
        _ = t.matrix


@pytest.mark.parametrize("n", [0, 1, 64, 65, 200])
def test_acyclic_closures_agree_with_networkx(n):
    rng = np.random.default_rng(n)
    tails, heads = np.tril_indices(n, -1)
    keep = rng.random(len(tails)) < 3 / max(n, 1)
    tails, heads = tails[keep], heads[keep]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))
    shuffled = rng.permutation(len(tails))
    got = close_acyclic(n, tails[shuffled], heads[shuffled])
    np.testing.assert_array_equal(got.to_bool(), oracle(graph, True))
    with pytest.raises(ShapeError, match="0 → 1"):
        close_acyclic(2, np.array([0]), np.array([1]))


@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize("how", ["auto", "components"], indirect=True)
@pytest.mark.parametrize("form", ["list", "whole", "matrix", "packed", "lengths", "store", "undirected"])
def test_why_a_vertex_reaches_another(form, reflexive, how, tmp_path):
    graph, options = random_digraph(60, 1.3, seed=2), {"reflexive": reflexive}
    graph = nx.relabel_nodes(graph.to_undirected() if form == "undirected" else graph, lambda v: f"v{v}")
    source = graph
    if form in ("matrix", "packed", "lengths"):
        source = nx.to_numpy_array(graph) > 0
        graph = nx.convert_node_labels_to_integers(graph)
    if form == "lengths":
        source = np.where(source, 2.5, np.inf)
    if form == "whole":
        options["schedule"] = "blocked"
    if form == "store":
        options["output"] = tmp_path / "t"
    t = transitive_closure(source, **options)
    if form == "packed":
        t = pickle.loads(pickle.dumps(t))
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    for u in list(graph)[::7]:
        round_trip = min((1 + hops[w][u] for w in graph[u] if u in hops[w]), default=None)
        for v in graph:
            least = hops[u].get(v) if u != v or reflexive else round_trip
            if least is None:
                with pytest.raises(NoPathError, match=f"{v!r} must be reachable from {u!r}"):
                    t.path(u, v)
                continue
            walk = t.path(u, v)
            assert (walk[0], walk[-1], len(walk)) == (u, v, least + 1)
            assert all(graph.has_edge(x, y) for x, y in pairwise(walk))
    with pytest.raises(VertexError):
        t.path("nobody", next(iter(graph)))


def test_an_answer_from_a_file_has_no_edges(tmp_path):
    transitive_closure([("a", "b")]).save(tmp_path / "t.npz")
    t = Reachability.load(tmp_path / "t.npz")
    with pytest.raises(ValueError, match=r"loaded, which has none.*transitive_closure\(graph\)\.path"):
        t.path("a", "b")
    with pytest.raises(NoPathError):
        t.path("b", "a")


def test_edges_that_weigh_a_semiring_s_zero_are_no_reason():
    t = transitive_closure([("a", "b", 0.0), ("a", "c", 0.5), ("c", "b", 0.5)], semiring="max_times")
    assert t.path("a", "b") == ["a", "c", "b"]
