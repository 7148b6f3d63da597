"""Graphs whose matrix stays on disk: what streams reads windows of it, and what needs all of it says so."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse.csgraph import floyd_warshall

from apsp import Graph, Result, as_graph, closure, plan, read, shortest_paths, transitive_closure
from apsp.big.distributed import DistributedMatrix, world
from apsp.doors.cli import main
from apsp.io.graph import ondisk
from semiring.host.errors import DomainError, FormatError, MemoryNeeded
from semiring.stores.tiles import TileStore

N, LITTLE = 500, "800 kB"


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    return np.where(rng.random((N, N)) < 0.02, rng.integers(1, 1000, (N, N)), np.inf).astype("float32")


@pytest.fixture(scope="module")
def expected(matrix):
    return floyd_warshall(np.where(np.isinf(matrix), 0, matrix).astype(float)).astype("float32")


@pytest.fixture
def big(tmp_path, matrix):
    return stored(tmp_path / "big", matrix)


def stored(path, A, **attributes):
    TileStore.create(path, A.shape, A.dtype, block=64, attributes=attributes).put(A)
    return path


@pytest.fixture
def never_loaded(monkeypatch):
    """An array that fails the test if all of it is read."""

    def refuse(*_):
        raise AssertionError("all of the matrix was read into memory")

    monkeypatch.setattr(ondisk, "_read_all", refuse)
    monkeypatch.setattr("apsp.io.graph.adjacency.listed", refuse)
    monkeypatch.setattr(TileStore, "__array__", refuse)


def ran(*what):
    done = CliRunner().invoke(main, [str(word) for word in what])
    return done.exit_code, done.output


def test_a_store_goes_through_the_limits_without_being_loaded(tmp_path, big, matrix, expected, never_loaded):
    r = shortest_paths(big, memory=LITTLE, output=tmp_path / "d")
    again = Result.load(tmp_path / "d")
    far = np.argwhere(np.isfinite(expected))[-1].tolist()
    for found in (r, again, pickle.loads(pickle.dumps(again))):
        np.testing.assert_array_equal(found.distances, expected)
        assert (found.dtype, found.plan.schedule) == ("float32", "streamed")
        walk = found.path(*far)
        assert matrix[walk[:-1], walk[1:]].sum() == expected[tuple(far)]
    np.testing.assert_array_equal(closure(str(big), memory=LITTLE, checkpoint=tmp_path / "ck")[:], expected)


def test_the_command_streams_a_store(tmp_path, big, expected, never_loaded):
    asked = ("solve", big, "--memory", LITTLE, "--checkpoint", tmp_path / "ck", "--output", f"{tmp_path}/d/")
    code, told = ran(*asked, "--from", 0, "--to", 7)
    assert (code, f"distance {expected[0, 7]:g}" in told, "schedule=streamed" in told) == (0, True, True), told
    np.testing.assert_array_equal(TileStore(tmp_path / "d")[:], expected)
    code, told = ran("plan", big, "--memory", LITTLE)
    assert (code, "pass through" in told) == (0, True), told
    assert "float32" in str(plan(big))
    assert plan(big, gpus=world(ranks=2)).n == N


def test_ranks_read_a_store_each_for_itself(tmp_path, big, expected, never_loaded):
    two = world(ranks=2)
    np.testing.assert_array_equal(shortest_paths(big, gpus=two).distances, expected)
    r = shortest_paths(big, gpus=two, checkpoint=tmp_path / "ck", output=tmp_path / "d")
    np.testing.assert_array_equal(Result.load(tmp_path / "d").distances, expected)
    assert r.dtype == "float32"


def test_what_needs_all_of_it_reads_it_or_says_how_else(big, expected, monkeypatch):
    for more in ({}, {"engine": "elimination"}, {"schedule": "iterative"}):
        np.testing.assert_array_equal(shortest_paths(big, **more).distances, expected)
    np.testing.assert_array_equal(transitive_closure(big, reflexive=True).matrix, np.isfinite(expected))
    graph = read(big)
    assert graph.edge_count == np.isfinite(graph.matrix()).sum() == len(graph.edges()[0])
    monkeypatch.setattr("semiring.host.memory.available", lambda *_: 100_000)
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    with pytest.raises(MemoryNeeded, match=r"--memory.*--output"):
        shortest_paths(big)


def test_a_file_of_numpy_that_does_not_fit_stays_where_it_is(tmp_path, matrix, expected, monkeypatch, never_loaded):
    np.save(tmp_path / "a.npy", matrix)
    assert isinstance(as_graph(tmp_path / "a.npy").dense, np.ndarray)
    monkeypatch.setattr("apsp.io.formats.npy.available", lambda _: matrix.nbytes)
    monkeypatch.setattr("apsp.io.formats.npy.LEAST", 0)
    code, told = ran("solve", tmp_path / "a.npy", "--memory", LITTLE, "--output", f"{tmp_path}/d/")
    assert code == 0, told
    np.testing.assert_array_equal(TileStore(tmp_path / "d")[:], expected)
    wrong = matrix.copy()
    wrong[200, 3] = np.nan
    np.save(tmp_path / "b.npy", wrong)
    with pytest.raises(FormatError, match=r"NaN at \(200, 3\)"):
        read(tmp_path / "b.npy")
    (tmp_path / "c.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-60])  # less than its header has
    with pytest.raises(FormatError, match=r"must be a complete \.npy file"):
        read(tmp_path / "c.npy")


def test_the_matrix_is_not_overwritten_by_its_result(tmp_path, big, matrix):
    for more in (("--memory", LITTLE), ()):
        code, told = ran("solve", big, *more, "--output", f"{big}/")
        assert (code, "another place" in told) == (2, True), told
    r = shortest_paths(big)
    for act in (
        lambda: closure(TileStore(big), memory=LITTLE, output=big),
        lambda: closure(TileStore(big), output=tmp_path / "." / "big"),
        lambda: shortest_paths(big, gpus=world(ranks=2), output=big),
        lambda: r.save(big),
    ):
        with pytest.raises(ValueError, match="another place"):
            act()
    np.testing.assert_array_equal(TileStore(big)[:], matrix)


def test_a_matrix_that_went_or_changed_is_told(tmp_path, big, matrix, expected):
    shortest_paths(big, output=tmp_path / "d")
    r = shortest_paths(big)
    r.save(tmp_path / "r.npz")
    for come in (lambda: None, lambda: stored(big, matrix + 1)):
        shutil.rmtree(big, ignore_errors=True)
        come()
        found = Result.load(tmp_path / "d")
        assert found.distance(0, 7) == expected[0, 7]
        with pytest.raises(FormatError, match="which lay here"):
            found.path(0, 7)
    assert Result.load(tmp_path / "r.npz").path(0, 7)[-1] == 7  # an archive holds its own


def test_a_store_whose_entries_changed_in_place_is_told(tmp_path, big, matrix, expected):
    shortest_paths(big, output=tmp_path / "far")
    store = TileStore(big)
    store.put(matrix * 2)
    with pytest.raises(FormatError, match="got another"):
        Result.load(tmp_path / "far").path(0, 1)
    assert Result.load(tmp_path / "far").distance(0, 1) == expected[0, 1]
    store.put(matrix)  # as it was
    assert Result.load(tmp_path / "far").path(0, 1)[-1] == 1
    found = ondisk.OnDisk.from_path(big)  # as earlier releases recorded it
    assert replace(found, identity=found.identity.split()[0]).matrix.shape == matrix.shape


def test_the_result_of_another_graph_keeps_its_names(tmp_path):
    graph = Graph.from_edges([("a", "b", 4), ("b", "c", 7)])
    shortest_paths(graph).save(f"{tmp_path}/d/")
    assert read(tmp_path / "d").labels == ["a", "b", "c"]
    assert shortest_paths(tmp_path / "d").distance("a", "c") == 11
    for name in ("part/", "part.npz"):
        shortest_paths(graph, sources=["c", "a"], targets=["c", "a"]).save(f"{tmp_path}/{name}")
        assert shortest_paths(tmp_path / name).distance("a", "c") == 11
        for part in ({"sources": ["a", "c"], "targets": ["b", "c"]}, {"sources": ["c", "b", "a"]}):
            shortest_paths(graph, **part).save(f"{tmp_path}/{name}")  # whose rows are others than its columns
            with pytest.raises(FormatError, match=r"Result\.load"):
                read(tmp_path / name)
    shortest_paths(graph, sources=["a"]).save(f"{tmp_path}/row/")
    with pytest.raises(FormatError, match="square"):
        read(tmp_path / "row")


@pytest.mark.parametrize(
    ("own", "dtype"), [("bottleneck", "int32"), ("plus_times", "float64"), ("min_plus", "float32")]
)
def test_a_missing_edge_is_the_zero_of_the_stores_own_semiring(tmp_path, own, dtype, matrix, expected):
    there = np.isfinite(matrix[:80, :80])
    none = {"bottleneck": np.iinfo("int32").min, "plus_times": 0, "min_plus": np.inf}[own]
    A = np.full((80, 80), none, dtype)
    A[there] = matrix[:80, :80][there]
    big = stored(tmp_path / "big", A, semiring=own)
    plain = np.where(there, matrix[:80, :80], np.inf).astype("float64")
    wanted = floyd_warshall(np.where(there, plain, 0))
    np.testing.assert_array_equal(shortest_paths(big, dtype="float64").distances, wanted)
    np.testing.assert_array_equal(transitive_closure(big, reflexive=True).matrix, np.isfinite(wanted))
    ranks, out = {"gpus": world(ranks=2)}, {"output": tmp_path / "d"}
    for A in (str(big), TileStore(big)):
        for asked in (out, ranks, ranks | out, {"memory": "1GiB"}):
            np.testing.assert_array_equal(np.asarray(closure(A, dtype="float64", **asked)), wanted)
    M = DistributedMatrix.from_array(TileStore(big), dtype="float64", world=ranks["gpus"])
    np.testing.assert_array_equal(M.close().gather(), wanted)


@pytest.mark.parametrize(("s", "dtype"), [("min_plus", "float32"), ("min_plus", "int32"), ("bottleneck", "float64")])
def test_routes_are_found_among_the_edges_that_matter(tmp_path, matrix, s, dtype, request):
    """Those that are as good as their distances: of a dense graph few, which are listed as both are read."""
    there, none = np.isfinite(matrix), np.iinfo("int32").max if dtype == "int32" else np.inf
    A = np.where(there, np.where(there, matrix, 0).astype(dtype), np.array(none, dtype))
    A = -A if s == "bottleneck" else A
    pairs, some = [(0, 7), (7, 0), (3, 3), (N - 1, 11)], np.array([4, 400])

    def routes(r):
        return list(r.paths(pairs)), np.concatenate([P for _, P in r.predecessor_rows(some)]), r.next_hops

    paths, rows, hops = routes(shortest_paths(A, s))
    request.getfixturevalue("never_loaded")
    found = routes(shortest_paths(stored(tmp_path / "big", A), s, memory=LITTLE, output=tmp_path / "d"))
    assert found[0] == paths
    np.testing.assert_array_equal(found[1], rows)
    np.testing.assert_array_equal(found[2], hops)


def test_edges_that_only_rounding_makes_longer_matter_too(tmp_path):
    """On a line every edge is as good as the walk along it, to a few eps: the choice is the one in memory."""
    for seed in range(3):
        at = np.sort(np.random.default_rng(seed).random(40)).astype("float32")
        A = abs(at[:, None] - at)
        found = shortest_paths(stored(tmp_path / "big", A)).predecessor_rows(np.arange(40))
        np.testing.assert_array_equal(np.concatenate([P for _, P in found]), shortest_paths(A).predecessors)


@pytest.mark.parametrize("apart", [{"memory": "500 kB", "threads": 1}, {"gpus": 2}], ids=["streamed", "ranks"])
def test_integers_that_have_saturated_are_refused(tmp_path, apart, caplog):
    """A ring whose longest walk fits, with a vertex that none reaches; then one that does not; then bits do not fit."""
    apart = {"gpus": world(ranks=2)} if "gpus" in apart else apart
    A = np.full((N, N), 32767, "int16")
    A[np.arange(N - 1), (np.arange(N - 1) + 1) % (N - 1)] = 1
    A[7, 8] = 32000
    big = stored(tmp_path / "big", A)
    r = shortest_paths(big, output=tmp_path / "d", **apart)
    assert r.distance(8, 7) == N - 2
    assert r.distance(7, 6) == 32000 + N - 3
    assert np.isinf(r.distance(0, N - 1))
    A[7, 8] = 32500
    stored(big, A)
    with pytest.raises(DomainError, match="beyond ±32767"):
        shortest_paths(big, output=tmp_path / "d", **apart)
    assert not caplog.text


def test_integers_that_may_have_saturated_are_told(tmp_path, caplog, monkeypatch):
    """Where not even the bits of the edges fit, the log says so."""
    A = np.full((N, N), 32767, "int16")
    A[np.arange(N), (np.arange(N) + 1) % N] = 3000
    monkeypatch.setattr("apsp.road.engines.saturation.available", lambda: 1000)
    shortest_paths(stored(tmp_path / "big", A), output=tmp_path / "d", gpus=world(ranks=2))
    assert "beyond ±32767, which int16 does not hold" in caplog.text


def test_reachability_packs_a_store_as_it_reads_it(tmp_path, matrix, never_loaded):
    there = np.isfinite(matrix)
    wanted = transitive_closure(there).matrix
    for A, own in ((matrix, {"semiring": "min_plus"}), (there, {})):
        big = stored(tmp_path / "big", A, **own)
        np.testing.assert_array_equal(transitive_closure(big, schedule="recursive").matrix, wanted)
        assert read(big).edge_count == there.sum()


def test_a_store_is_a_matrix_in_python_too(tmp_path, big, expected, never_loaded):
    r = shortest_paths(TileStore(big), memory=LITTLE, output=tmp_path / "d")
    np.testing.assert_array_equal(r.distances, expected)


def test_another_closure_takes_the_place_of_a_result(tmp_path, matrix, expected):
    """What the vertices of the old one were called goes with it, whichever road the new one takes."""
    graph = Graph.from_edges([("a", "b", 4)])
    limits = ({"memory": LITTLE}, {}, {"gpus": world(ranks=2)}, {"memory": LITTLE, "checkpoint": tmp_path / "ck"})
    for more in limits:
        shortest_paths(graph).save(f"{tmp_path}/d/")
        np.testing.assert_array_equal(closure(matrix, output=tmp_path / "d", **more)[:], expected)
        with pytest.raises(FormatError, match="a matrix alone"):
            Result.load(tmp_path / "d")
