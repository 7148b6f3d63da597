"""`shortest_paths` and its `Result`: distances, paths, tables, files, checksums."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import cases
import networkx as nx
import numpy as np
import pytest

import semiring
from apsp import Result, closure, predecessors, reachable, shortest_paths, transitive_closure
from apsp.doors.cli.checksum import crc32, fletcher16
from semiring import AlgebraError, DomainError, NoPathError, Op, Semiring, VertexError


def walk_weight(graph: nx.DiGraph, path: list) -> float:
    return sum(graph[u][v]["weight"] for u, v in pairwise(path))


def random_digraph(n: int, degree: float, seed: int, weights) -> nx.DiGraph:
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, degree / n, seed=seed, directed=True)
    for u, v in graph.edges:
        graph[u][v]["weight"] = weights(rng)
    return graph


KINDS = {
    "integers": lambda rng: int(rng.integers(1, 20)),
    "zeros and ones": lambda rng: int(rng.integers(0, 2)),
    "all zero": lambda rng: 0,
    "floats": lambda rng: float(rng.random()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_path_is_simple_and_as_long_as_its_distance(kind):
    graph = random_digraph(40, 4, 3, KINDS[kind])
    r = shortest_paths(graph)
    expected = dict(nx.all_pairs_dijkstra_path_length(graph))
    for u in graph:
        for v in graph:
            if v in expected[u]:
                path = r.path(u, v)
                assert path[0] == u
                assert path[-1] == v
                assert len(set(path)) == len(path)
                assert walk_weight(graph, path) == pytest.approx(expected[u][v], abs=1e-12)
                assert r.distance(u, v) == pytest.approx(expected[u][v], abs=1e-12)
            else:
                with pytest.raises(NoPathError, match=f"{v}.*reachable from {u}"):
                    r.path(u, v)


def test_paths_with_negative_edges_and_rounding():
    rng = np.random.default_rng(0)
    p = rng.standard_normal(30)
    A = np.where(
        rng.random((30, 30)) < 0.2,
        p[None, :] - p[:, None] + rng.random((30, 30)) * (rng.random((30, 30)) < 0.5),
        np.inf,
    )
    r = shortest_paths(A)
    for u in range(30):
        for v in range(30):
            if np.isfinite(r.distances[u, v]):
                path = r.path(u, v)
                assert len(set(path)) == len(path)
                assert sum(A[a, b] for a, b in pairwise(path)) == pytest.approx(r.distance(u, v), abs=1e-9)


@pytest.mark.parametrize("name", ["max_min", "min_max", "max_times", "min_times", "max_plus"])
def test_paths_in_other_semirings_attain_their_value(name):
    case = next(c for c in cases.CASES if str(c) == f"{name}-float64")
    A = cases.random_matrix(case, (25, 25), 7, density=0.15)
    r = shortest_paths(A, name)
    for u in range(25):
        for v in range(25):
            if u != v and r.distances[u, v] != case.zero:
                path = r.path(u, v)
                assert len(set(path)) == len(path)
                value = case.one.item()
                for a, b in pairwise(path):
                    value = case.semiring.mul.python(value, A[a, b])
                assert value == r.distance(u, v)


def test_a_best_path_is_exact_where_floats_would_not_tell():
    """At 2⁶⁰ two sums that differ by 1 are one float64."""
    big = 2**60
    for around in permutations([("a", "c", big), ("c", "d", big), ("a", "b", big), ("b", "d", big + 1)]):
        r = shortest_paths(list(around))
        assert r.distances.dtype == np.int64
        assert r.distance("a", "d") == 2 * big
        assert r.path("a", "d") == ["a", "c", "d"]


def test_a_sum_that_wraps_around_is_on_no_best_path():
    """By b it is 3 · 2⁶², which in 64 bits is −2⁶²: what the walk by c and e weighs."""
    quarter = 2**62
    by_b = [("a", "b", quarter + quarter // 2), ("b", "d", quarter + quarter // 2)]
    r = shortest_paths([*by_b, ("a", "c", -quarter), ("c", "e", 0), ("e", "d", 0)])
    assert r.distance("a", "d") == -quarter
    assert r.path("a", "d") == ["a", "c", "e", "d"]


def test_paths_over_integers_by_an_operation_of_ones_own():
    """⊗ without a ufunc, which knows integers alone: the colours that all edges of a walk have, the most of them."""
    most = Semiring(
        "most",
        add=Op("most", python=lambda a, b: a if a > b else b, cuda="max(a, b)", selects="greatest"),
        mul=Op("fewest", python=lambda a, b: a if a < b else b, cuda="min(a, b)"),
        zero=0,
        one=2**62,
        dtypes=("int64",),
        domain=(0, 2**62),
        samples=(0, 1, 5, 2**62),
    )
    r = shortest_paths([("a", "b", 2**60), ("b", "d", 2**60 + 1), ("a", "c", 2**60 - 1), ("c", "d", 9)], most)
    assert r.path("a", "d") == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("edges", "options"),
    [
        ([("a", "b", 2**62), ("b", "c", 2**62)], {}),
        ([("a", "b", 2**62), ("b", "c", 2**62 - 1)], {}),  # the very number that stands for ∞
        ([("a", "b", 2**62), ("b", "c", 2**62), ("c", "d", -(2**62))], {}),
        ([("a", "b", -(2**62)), ("b", "c", -(2**62)), ("c", "d", 7)], {}),
        ([("a", "b", 30_000), ("b", "c", 30_000)], {"dtype": "int16"}),
        ([("a", "b", -30_000), ("b", "c", -30_000)], {"dtype": "int16", "semiring": "max_plus"}),
        ([("a", "b", 30_000), ("b", "c", 30_000)], {"dtype": "int16", "semiring": "max_plus"}),
    ],
)
def test_a_distance_beyond_the_integers_is_no_missing_walk(edges, options):
    with pytest.raises(DomainError, match=r"'a' to 'c'|'a' to 'd'"):
        shortest_paths(edges, **options)
    floats = [(u, v, float(w)) for u, v, w in edges]
    wide = shortest_paths(floats, **{**options, "dtype": "float64"})
    assert wide.distance("a", "c") == float(sum(w for _, _, w in edges[:2]))


@pytest.mark.parametrize("options", [{}, {"turns": {("a", "b", "c"): 1}}, {"sources": ["a"]}])
def test_no_path_within_a_limit_says_the_limit(options):
    r = shortest_paths([("a", "b", 3), ("b", "c", 4)], limit=6, **options)
    match = r"none within the limit of 6|got no walk between them within the limit of 6\."
    for ask in (r.path, r.edges, lambda u, v: r.flows({(u, v): 1})):
        with pytest.raises(NoPathError, match=match):
            ask("a", "c")


def test_large_weights_that_fit_are_answered():
    r = shortest_paths([("a", "b", 2**62), ("b", "c", 2**62 - 2), ("d", "a", 1 - 2**62)])
    assert r.distance("a", "c") == 2**63 - 2
    assert r.path("d", "c") == ["d", "a", "b", "c"]
    with pytest.raises(NoPathError):
        r.path("c", "a")


def test_distances_of_another_graph_have_no_path():
    r = shortest_paths([("a", "b", 1), ("c", "a", 2)])
    other = replace(r, graph=shortest_paths([("b", "a", 1), ("c", "a", 2)]).graph)
    with pytest.raises(NoPathError, match="must be those of the graph"):
        other.path("a", "b")


def test_a_sum_over_paths_is_no_path():
    r = shortest_paths(np.array([[0, 0.25], [0.25, 0]]), "plus_times")
    with pytest.raises(AlgebraError, match="plus_times"):
        r.path(0, 1)


def test_labels_distances_and_tables():
    r = shortest_paths([*cases.SIX_EDGES])
    assert list(r.labels) == list("ABCDEF")
    assert r.distances.dtype.kind == "i"
    assert r.distances[2].tolist() == [7, 11, 0, 6, 5, 4]
    assert r.distance("C", "B") == 11
    assert r.path("C", "B") == ["C", "F", "E", "A", "B"]
    assert r.text().splitlines()[3].split() == ["C", "7", "11", "0", "6", "5", "4"]
    assert "first 3 of 6" in r.text(3)
    assert r.rate > 0
    assert r.plan.n == 6
    with pytest.raises(VertexError, match="'Z'"):
        r.distance("A", "Z")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_saving_distances(tmp_path, suffix):
    r = shortest_paths([*cases.SIX_EDGES])
    path = tmp_path / f"d{suffix}"
    r.save(path)
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load(path), r.distances)
    elif suffix == ".npz":
        with np.load(path) as data:
            np.testing.assert_array_equal(data["distances"], r.distances)
            assert data["labels"].tolist() == list("ABCDEF")
    else:
        rows = [line.split(",") for line in path.read_text().splitlines()]
        assert rows[0] == ["", *"ABCDEF"]
        assert rows[3] == ["C", "7", "11", "0", "6", "5", "4"]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_table_that_is_held_is_saved_as_it_is(tmp_path, monkeypatch):
    """An engine may add up rows in another order than its table, as eliminations do on GPUs."""
    r = shortest_paths([*cases.SIX_EDGES], dtype="float64")
    rounded = np.nextafter(r.engine.table(), np.inf)
    monkeypatch.setattr(type(r.engine), "table", lambda self: rounded)
    np.testing.assert_array_equal(r.distances, rounded)
    r.save(tmp_path / "d.npz")
    np.testing.assert_array_equal(Result.load(tmp_path / "d.npz").distances, r.distances)


def test_saving_elsewhere_leaves_nothing_behind(tmp_path):
    r = shortest_paths([*cases.SIX_EDGES])
    with pytest.raises(ValueError, match=r"\.xyz"):
        r.save(tmp_path / "d.xyz")
    with pytest.raises(OSError, match="missing"):
        r.save(tmp_path / "missing" / "d.npy")
    assert list(tmp_path.iterdir()) == []


def test_checksums_of_known_bytes():
    """Fletcher-16 of "abcde" and "abcdef" as its encyclopedia entries list them; CRC-32's check value."""
    assert fletcher16(np.frombuffer(b"abcde", np.uint8)) == 0xC8F0
    assert fletcher16(np.frombuffer(b"abcdef", np.uint8)) == 0x2057
    assert fletcher16(np.frombuffer(b"abcdefgh", np.uint8)) == 0x0627
    assert crc32(np.frombuffer(b"123456789", np.uint8)) == 0xCBF43926
    A = np.arange(12, dtype=">i4").reshape(3, 4)
    assert crc32(A) == crc32(A.astype("<i4"))
    assert crc32(A.T) != crc32(A)


def test_a_long_checksum_is_the_loop():
    data = np.random.default_rng(0).integers(0, 256, 70_001).astype(np.uint8)
    first = second = 0
    for byte in data.tolist():
        first = (first + byte) % 255
        second = (second + first) % 255
    assert fletcher16(data) == 256 * second + first


@pytest.mark.parametrize("engine", ["dense", "elimination", "searches", "scipy"])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_what_a_result_hands_out_is_read_only_or_a_copy(engine, dtype):
    """`distances` that were written to changed `distance`, and not `path`."""
    edges = [("a", "b", 1), ("b", "c", 2), ("c", "a", 3), ("a", "d", 9)]
    for options in ({}, {"sources": ["a", "c"], "targets": ["b", "c", "d"], "limit": 8}):
        r = shortest_paths(edges, engine=engine, dtype=dtype, **options)

        def answers(r=r):
            return [
                [r.distance(u, v) for u in r.sources for v in r.targets], r.table().tolist(), np.asarray(r).tolist(),
                [r.path(r.sources[0], "c")], r.counts.tolist(), r.predecessors.tolist(), r.hops.tolist(),
                r.next_hops.tolist(), list(r.paths()), r.betweenness(), r.edge_betweenness().tolist(),
                r.nearest(["a"]).distance.tolist(),
            ]  # fmt: skip

        before = answers()
        handed = [r.distances, r.counts, r.predecessors, r.hops, r.next_hops, *(D for _, D in r.rows())]
        for D in handed:
            with pytest.raises(ValueError, match="read-only"):
                D[0, 1] = 7
        copies = [r.table(), r.reachable, r.edge_betweenness(), np.array(r), r.nearest(["a"]).distance]
        copies += [r.to_frame().to_numpy() if hasattr(r.to_frame(), "iloc") else r.table(), r.paths().vertices]
        for A in [*copies, np.asarray(r)]:
            if A.flags.writeable:
                A[...] = 1
        assert answers() == before
    whole = shortest_paths(edges, engine=engine, dtype=dtype)
    frame = whole.to_frame()
    if hasattr(frame, "iloc"):
        frame.iloc[0, 1] = 99
        assert whole.distance("a", "b") == 1


def test_read_only_distances_are_taken_as_any_others():
    A = np.array([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    r = shortest_paths(A)
    np.testing.assert_array_equal(predecessors(A, r.distances), r.predecessors)
    np.testing.assert_array_equal(closure(r.distances), r.distances)
    np.testing.assert_array_equal(semiring.matmul(r.distances, r.distances), r.distances)
    with pytest.raises(ValueError, match="overwrite=True must have a writeable array"):
        closure(r.distances, overwrite=True)
    t = transitive_closure(A, null_value=None)
    with pytest.raises(ValueError, match="read-only"):
        t.matrix.words[0] = 0
    assert t.matrix.to_bool().all()
    assert np.asarray(semiring.matmul(t.matrix, t.matrix, "boolean")).all()
    found = reachable({"x": t.to_bool()}, "x+")
    with pytest.raises(ValueError, match="read-only"):
        found.matrix.words[0] = 0
