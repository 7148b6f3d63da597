"""Closures held to little memory, and closures that go on where they were interrupted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from click.testing import CliRunner
from processes import ROOT
from reference import Reference

import semiring
from apsp import Graph, Result, closure, plan, shortest_paths, transitive_closure
from apsp.big.distributed import DistributedMatrix, world
from apsp.big.large import checkpoints
from apsp.big.large.limits import Limits
from apsp.big.large.sources import Source
from apsp.doors.cli import main
from apsp.generate import road_like
from apsp.io.formats import write
from apsp.io.saving import tiles
from apsp.road.question import Question
from apsp.road.wants import Wants
from semiring.host.errors import (
    AlgebraError,
    DivergenceError,
    DomainError,
    DTypeError,
    FormatError,
    MemoryNeeded,
    NegativeCycleError,
    ShapeError,
)
from semiring.host.memory import parsed, shown
from semiring.kernels.backend import bind
from semiring.stores.files import claimed
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import is_store

N, LITTLE = 700, "1.5 MiB"
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    A = np.where(rng.random((N, N)) < 0.008, rng.integers(1, 1000, (N, N)), np.iinfo("int32").max).astype("int32")
    A.setflags(write=False)
    return A


@pytest.fixture(scope="module")
def expected(matrix):
    return cases.distances(matrix)


class Stop(Exception):
    """The caller gives up in the middle."""


def until(share):
    def stop(done, total):
        if done >= share * total:
            raise Stop

    return stop


def begins(seen):
    def see(done, total):
        seen.append(done / total)

    return see


def test_a_matrix_larger_than_memory_streams_from_disk(tmp_path, matrix, expected):
    np.save(tmp_path / "a.npy", matrix)
    A = np.load(tmp_path / "a.npy", mmap_mode="r")
    store = closure(A, memory=LITTLE, output=tmp_path / "d")
    assert isinstance(store, TileStore)
    np.testing.assert_array_equal(store[:], expected)
    assert store.attributes["semiring"] == "min_plus"
    again = closure(store, memory=LITTLE, output=tmp_path / "e")  # a store goes in too; D* = D
    np.testing.assert_array_equal(again[:], expected)


def test_a_place_on_disk_is_asked_for(tmp_path, matrix):
    with pytest.raises(MemoryNeeded, match=r"output='tiles/'"):
        closure(matrix, memory=LITTLE)
    small = np.ones((41, 41), np.float32)
    most = plan(small, threads=1).workspace_bytes
    with pytest.raises(MemoryNeeded, match=rf"6\.6 KiB with {shown(most)} of workspace must fit into {shown(most)},"):
        closure(small, memory=most, threads=1)
    part = matrix[:300, :300]
    with pytest.raises(MemoryNeeded, match="a super-block") as error:
        closure(part, memory="5 kB", output="nowhere")
    least = re.search(r"must fit into memory, (\S+ \S+) at least", str(error.value))[1]
    store = closure(part, memory=least, output=tmp_path / "d")
    assert store.shape == part.shape


@pytest.mark.parametrize("n", [5, 41, 200])
def test_a_small_matrix_streams_in_few_tiles(tmp_path, n):
    """Of single entries, 200 vertices were 40,000 files, written in each of 200 rounds."""
    from scipy.sparse.csgraph import floyd_warshall

    A = np.random.default_rng(n).integers(1, 1000, (n, n)).astype(np.float64)
    with pytest.raises(MemoryNeeded, match="a super-block") as error:
        closure(A, memory=8 * n, threads=1, output="nowhere")
    least = re.search(r"must fit into memory, (\S+ \S+) at least", str(error.value))[1]
    store = closure(A, memory=least, threads=1, output=tmp_path / "d")
    assert len(list(store.tiles())) <= 64
    np.testing.assert_array_equal(store[:], floyd_warshall(A))


def test_a_plan_tells_what_streams(matrix, monkeypatch):
    told = str(plan(matrix, memory=LITTLE))
    assert "1.9 MiB pass through" in told
    assert "1.5 MiB in 3 rounds" in told
    assert "it fits into 1.0 GiB" in str(plan(matrix, memory="1GiB"))
    for room in ("road", "question"):
        monkeypatch.setattr(f"apsp.road.{room}.available", lambda device: 64 << 30)
    told = str(plan(131072, dtype="float32", memory="16GiB"))
    assert "64.0 GiB pass through" in told
    for room in ("road", "question"):
        monkeypatch.setattr(f"apsp.road.{room}.available", lambda device: 9 << 30)
    with pytest.raises(MemoryNeeded, match=r"got 9.0 GiB free .* say less than memory='16.0 GiB'"):
        plan(131072, dtype="float32", memory="16GiB")
    assert "64.0 GiB pass through" in str(plan(131072, dtype="float32", memory="8GiB"))


@pytest.mark.parametrize("share", [0.0, 0.8, 1.0])
def test_an_interrupted_closure_on_disk_goes_on(tmp_path, matrix, expected, share):
    where = {"memory": LITTLE, "checkpoint": tmp_path / "ck"}
    with pytest.raises(Stop):
        closure(matrix, **where, callback=until(share))
    seen = []
    store = closure(matrix, **where, callback=begins(seen), output=tmp_path / "d")
    np.testing.assert_array_equal(store[:], expected)
    assert store.path == tmp_path / "d"
    assert not seen or seen[0] >= (0.5 if share > 0.5 else 0)
    np.testing.assert_array_equal(closure(matrix, **where)[:], expected)  # all done already


def test_an_interrupted_closure_in_memory_goes_on_with_another_block(tmp_path, matrix, expected):
    with pytest.raises(Stop):
        closure(matrix, checkpoint=tmp_path, every=0, callback=until(0.5))
    seen = []
    D = closure(matrix, checkpoint=tmp_path, every=0, block=100, callback=begins(seen))
    assert isinstance(D, np.ndarray)
    np.testing.assert_array_equal(D, expected)
    assert seen[0] > 0.3
    # … and one that began in memory ends on disk, and the other way round.
    np.testing.assert_array_equal(closure(matrix, checkpoint=tmp_path, output=tmp_path)[:], expected)
    with pytest.raises(FormatError, match="too large"):
        closure(matrix, checkpoint=tmp_path, memory=LITTLE)


@pytest.mark.parametrize("how", ["disk", "memory", "ranks", "output"])
def test_a_store_half_closed_is_no_matrix_until_the_same_call_has_ended(tmp_path, matrix, expected, how):
    where = {"checkpoint": tmp_path / "ck"} | (
        {"memory": LITTLE} if how in ("disk", "output") else {"every": 0, "block": 100}
    )
    where |= {"gpus": world(ranks=2)} if how == "ranks" else {}
    where |= {"output": tmp_path / "ck"} if how == "output" else {}
    with pytest.raises(Stop):
        closure(matrix, **where, callback=until(0.6))
    store = TileStore(tmp_path / "ck")
    reads = [
        lambda: store[:],
        lambda: store[0, 1],
        lambda: np.asarray(store),
        lambda: store.read(0, 0),
        lambda: Result.load(tmp_path / "ck"),
        lambda: shortest_paths(tmp_path / "ck"),
        lambda: closure(store),
        lambda: closure(store, memory=LITTLE, output=tmp_path / "d"),
        lambda: closure(store, gpus=world(ranks=2)),
    ]
    for read in reads:
        with pytest.raises(FormatError, match=r"the checkpoint of an unfinished closure.*checkpoint='.*ck'"):
            read()
    assert not store.inspect().errors
    assert closure(matrix, **where) is not None
    np.testing.assert_array_equal(TileStore(tmp_path / "ck")[:], expected)
    if how == "disk":  # of tiles that are lost it starts over, and is half closed again
        for lost in ((0, 0), (1, 2)):
            TileStore(tmp_path / "ck").tile_path(*lost).unlink()
        with pytest.raises(Stop):
            closure(matrix, **where, callback=until(0.1))
        with pytest.raises(FormatError, match="unfinished closure"):
            TileStore(tmp_path / "ck")[3:, :]


def test_a_closure_in_memory_goes_on_from_disk_amid_a_tile(tmp_path, matrix, expected, monkeypatch):
    """300 pivots are done, which is no multiple of a tile: its round begins again."""
    monkeypatch.setattr(tiles, "TILE", 64)
    with pytest.raises(Stop):
        closure(matrix, checkpoint=tmp_path, every=0, block=100, callback=until(4 / 7))
    assert TileStore(tmp_path).inspect().oldest == 300
    seen = []
    store = closure(matrix, checkpoint=tmp_path, memory=LITTLE, callback=begins(seen))
    np.testing.assert_array_equal(store[:], expected)
    assert seen[0] > 256 / 700


def test_the_last_round_is_kept_whatever_the_time(tmp_path, matrix, expected):
    closure(matrix, checkpoint=tmp_path, every=3600)
    assert TileStore(tmp_path).inspect().oldest == N
    np.testing.assert_array_equal(TileStore(tmp_path)[:], expected)


@pytest.mark.parametrize("lost", ["one", "pivot", "two", "description"])
def test_lost_tiles_are_computed_again(tmp_path, matrix, expected, lost, caplog):
    where = {"memory": LITTLE, "checkpoint": tmp_path}
    with pytest.raises(Stop):
        closure(matrix, **where, callback=until(0.9))
    store = TileStore(tmp_path)
    gone = {"one": [(0, 6)], "pivot": [(1, 1)], "two": [(0, 1), (5, 2)], "description": []}[lost]
    for i, j in gone:
        store.tile_path(i, j).write_bytes(b"not any more")
    if lost == "description":
        (tmp_path / "store.json").write_text("{}")
        with pytest.raises(FormatError, match=r"store\.json"):
            closure(matrix, **where)
        return
    seen = []
    np.testing.assert_array_equal(closure(matrix, **where, callback=begins(seen))[:], expected)
    assert seen[0] > 0.4 if lost != "two" else seen[0] < 0.4
    assert "tile" in caplog.text


@pytest.mark.parametrize(
    "case", [c for c in cases.CASES if c.semiring.idempotent and c.dtype.name in ("int32", "bool")], ids=str
)
@pytest.mark.parametrize("v", [0, 3, 5, 6, 11])
def test_any_tile_follows_from_the_others_by_one_product(tmp_path, case, v):
    """After v pivots by the textbook, whatever tile is lost, in whatever place relative to the pivots."""
    A = cases.random_matrix(case, (11, 11), seed=2)
    ops, D = Reference(case), A.copy()
    for k in range(v):
        ops.step(D, k)
    store = TileStore.create(tmp_path, A.shape, A.dtype, block=3)
    store.put(D, round=v)
    source = Source.of(A, case.semiring, where="test")
    for i, j in store.tiles():
        path = store.tile_path(i, j)
        path.rename(path.with_suffix(".lost"))
        found = checkpoints.recomputed_tile(store, i, j, v, source, ops)
        path.with_suffix(".lost").rename(path)
        if (i, j) != (v // 3, v // 3) or v % 3 == 0:
            cases.same(case, found, D[store.layout.window(i, j)])


def test_checkpoints_take_a_tenth_of_the_time_at_most(tmp_path, monkeypatch):
    """One that takes 5 seconds is followed by 45 of work, however often they were asked for."""
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])

    def fetch(rows, columns):
        now[0] += 5.0
        return np.zeros((4, 4))

    every, store = slice(0, 4), TileStore.create(tmp_path / "t", (4, 4), "float64", block=4)
    writer = checkpoints.PartWriter(store, every, every, every=1.0)
    assert not writer.due()
    now[0] += 1.0
    assert writer.due()
    writer.write(4, fetch)
    for later, due in ((44.0, False), (1.5, True)):
        now[0] += later
        assert writer.due() is due


def test_a_plan_of_a_stream_tells_its_numbers(matrix):
    """A round reads and writes all, and reads its row panel once a band."""
    p = plan(matrix, memory=LITTLE)
    size, held, room, rounds, rows, moved = re.fullmatch(
        r"(.+) pass through (.+) of (.+) in (\d+) rounds, windows of (\d+) × \d+; (.+) are moved from disk and back",
        p.reason,
    ).groups()
    assert (size, held, room) == (shown(4 * N * N), shown(p.workspace_bytes), LITTLE)
    assert int(rounds) == -(-N // p.block)
    assert N % p.block
    assert moved == shown(int(rounds) * 2 * 4 * N * N + 4 * N * N * -(-N // int(rows)))


def test_a_checkpoint_of_another_closure_is_refused(tmp_path, matrix):
    closure(matrix[:50, :50], checkpoint=tmp_path)
    for other in (matrix[:60, :60], matrix[1:51, 1:51]):
        with pytest.raises(FormatError, match="of another"):
            closure(other, checkpoint=tmp_path)


def test_a_checkpoint_is_one_closures(tmp_path, matrix):
    """Not that of another thread or process, which writes there."""
    with claimed(tmp_path / "ck"), pytest.raises(OSError, match="another process is writing it"):
        ThreadPoolExecutor(1).submit(closure, matrix, checkpoint=tmp_path / "ck").result()
    assert not (tmp_path / "ck").exists()


def test_sums_that_are_not_idempotent_start_over_and_say_so(tmp_path, caplog):
    A = np.triu(np.full((30, 30), 0.01), 1)
    with pytest.raises(Stop):
        closure(A, "plus_times", checkpoint=tmp_path / "ck", every=0, block=5, callback=until(0.6))
    seen = []
    D = closure(A, "plus_times", checkpoint=tmp_path / "ck", every=0, block=5, callback=begins(seen))
    np.testing.assert_allclose(D, np.linalg.inv(np.eye(30) - A))
    assert seen[0] < 0.3
    assert "starts over" in caplog.text
    with pytest.raises(DivergenceError):
        closure(np.full((3, 3), 0.9), "plus_times", checkpoint=tmp_path / "none")
    with pytest.raises(AlgebraError, match="no limit"):
        closure(np.full((700, 700), 0.9), "plus_times", memory=LITTLE, checkpoint=tmp_path / "no")


def test_negative_cycles_are_found(tmp_path, matrix):
    A = matrix.copy()
    A[3, 4], A[4, 3] = -5, 4
    with pytest.raises(NegativeCycleError, match="3 → 4 → 3"):
        closure(A[:80, :80], checkpoint=tmp_path / "ck")
    with pytest.raises(NegativeCycleError, match="vertex"):
        closure(A, memory=LITTLE, output=tmp_path / "d")
    ring = np.full((N, N), np.inf)
    ring[0, 1], ring[1, 2], ring[2, 0] = 0.1, 0.7, -0.8
    assert closure(ring)[0, 2] == ring[0, 1] + ring[1, 2]
    with pytest.raises(NegativeCycleError, match="rounding alone"):  # which a matrix on disk does not tell
        closure(ring, memory=LITTLE, output=tmp_path / "d")
    with pytest.raises(Stop):
        closure(matrix, memory=LITTLE, output=tmp_path / "d", callback=until(0.5))
    assert not is_store(tmp_path / "d")  # that would seem to be a result
    A[4, 3] = 5
    np.testing.assert_array_equal(closure(A[:80, :80], checkpoint=tmp_path / "two"), closure(A[:80, :80]))


def test_checkpoints_beside_cycles_of_length_zero_hold_lengths_of_the_matrix_itself(tmp_path, monkeypatch):
    """Such a closure is computed on Johnson's lengths; what is kept, and may be the result, must not be."""
    n, rng = 24, np.random.default_rng(0)
    h = rng.uniform(-1, 1, n)
    A = np.where(rng.random((n, n)) < 0.3, rng.choice([0, 0.5, 1.25], (n, n)), np.inf) + h[:, None] - h
    D = cases.floyd_warshall(A)
    assert (np.abs(D + D.T)[~np.eye(n, dtype=bool)] < 1e-9).any()
    monkeypatch.setattr(tiles, "TILE", 9)  # bands of rows are restored apart
    where = {"checkpoint": tmp_path / "ck", "every": 0}
    with pytest.raises(Stop):
        closure(A, **where, block=8, callback=until(0.6))
    assert (TileStore(tmp_path / "ck", unfinished=True)[:] >= D - 1e-9).all()  # weights of walks
    for result in (closure(A, **where), closure(A, **where, output=tmp_path / "ck")[:], closure(A, **where)):
        np.testing.assert_allclose(result, D, atol=1e-9)
    shortest_paths(A, **where, output=tmp_path / "ck")
    np.testing.assert_allclose(Result.load(tmp_path / "ck").distances, D, atol=1e-9)


def test_what_limits_would_leave_out_is_refused():
    A = np.zeros((2, 2))
    with pytest.raises(ValueError, match="overwrite=True"):
        closure(A, memory="1GiB", overwrite=True)
    with pytest.raises(ValueError, match=r"^closure: every=5 .* checkpoint='ck/'"):
        closure(A, memory="1GiB", every=5)
    for every in (-1, np.nan, "5"):
        with pytest.raises(ValueError, match=r"^shortest_paths: every must be .*number of seconds"):
            shortest_paths(A, checkpoint="nowhere", every=every)
    for ask in (closure, shortest_paths, plan, transitive_closure):
        name = ask.__name__
        with pytest.raises(ValueError, match=f"^{name}: memory must be a number of bytes"):
            ask(A, memory="much")
    for ask in (shortest_paths, plan):
        with pytest.raises(ValueError, match="all pairs"):
            ask([(0, 1, 2)], memory="1GiB", sources=[0])
        for given in ({"order": "degree"}, {"engine": "scipy"}):
            with pytest.raises(ValueError, match="the dense closure"):
                ask([(0, 1, 2)], checkpoint="nowhere", **given)
            assert ask([(0, 1, 2)], memory="1GiB", **given)
    assert "predecessors" in vars(shortest_paths([(0, 1, 2)], memory="1GiB", paths=True))


class Made:
    """A matrix of 400 vertices that makes its windows up."""

    shape, dtype = (400, 400), np.dtype("float32")

    def __init__(self, make):
        self.make = make

    def __getitem__(self, window):
        i, j = (np.arange(span.start, span.stop) for span in window)
        return self.make(i[:, None], j[None, :])


def test_windows_that_are_not_what_they_should_be_are_refused(tmp_path, monkeypatch):
    """By their place in the whole matrix, or among all edges."""
    monkeypatch.setattr("apsp.big.large.sources.height", lambda row, together: 100)
    one = np.float32(1)
    for make, error, told in (
        (lambda i, j: (i + j)[:-1], ShapeError, r"A\[0:\d+, 0:400\] must be of shape"),
        (lambda i, j: i + 1j * j, DTypeError, "real numbers"),
        (lambda i, j: np.where((i == 250) & (j == 7), np.nan, one), DomainError, r"nan at \(250, 7\)"),
    ):
        for where in ({"memory": "1GiB"}, {"gpus": world(ranks=4)}):
            with pytest.raises(error, match=told):
                closure(Made(make), output=tmp_path / "d", **where)
    with pytest.raises(DomainError, match=r"nan at \(350, 7\)"):
        DistributedMatrix.from_function(
            lambda i, j: np.where((i == 350) & (j == 7), np.nan, one), 400, world=world(ranks=4)
        )
    with pytest.raises(ShapeError, match=r"got \(3,\)"):
        DistributedMatrix.from_function(lambda i, j: np.zeros(3), 400, world=world(ranks=4))
    weights = np.ones(70_001)
    weights[-1] = -1
    with pytest.raises(DomainError, match="at 70000"):
        shortest_paths(Graph.from_arrays(np.zeros(70_001, int), np.ones(70_001, int), weights), "max_times")


def test_what_is_compiled_for_windows_is_known_before_they_are_read():
    """It is announced where a kernel is compiled for the first time."""
    wants = Wants(limits=Limits(memory=1 << 20), dtype="float64", device="cpu")
    question = Question(Made(None), semiring.get("min_plus"), wants)
    assert (question.n, question.dtype, question.device) == (400, np.float64, "cpu")
    assert question.missing("closure") == bind(semiring.get("min_plus"), "float64").missing("closure")


def test_windows_of_edges_are_those_of_the_matrix():
    graph, rng = road_like(60, seed=2), np.random.default_rng(0)
    A, source = graph.matrix(), Source.of(graph, semiring.get("min_plus"), where="test")
    for _ in range(30):
        rows, columns = (slice(*sorted(rng.choice(61, 2, replace=False).tolist())) for _ in range(2))
        np.testing.assert_array_equal(source.window(rows, columns), A[rows, columns])


def test_a_result_within_limits_answers_from_its_store(tmp_path, monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 64)
    graph, whole = road_like(200, seed=3), shortest_paths(road_like(200, seed=3))
    r = shortest_paths(graph, checkpoint=tmp_path / "ck", output=tmp_path / "d")
    assert not r.engine.in_memory
    again = Result.load(tmp_path / "d")
    for found in (r, again):
        assert found.path(3, 150) == whole.path(3, 150)
        np.testing.assert_array_equal(found.distances, whole.distances)
    with pytest.raises(ValueError, match="all pairs"):
        shortest_paths(graph, sources=[1], memory="1GiB")


def test_the_command_goes_on_and_writes_a_store(tmp_path, monkeypatch):
    (tmp_path / "g.txt").write_text("a b 4\nb c 7\n")
    command = ["solve", str(tmp_path / "g.txt"), "--checkpoint", str(tmp_path / "ck"), "--memory", "1GiB"]
    for _ in range(2):
        done = CliRunner().invoke(main, [*command, "--output", f"{tmp_path}/t/", "--from", "a", "--to", "c"])
        assert done.exit_code == 0, done.output
        assert "a -> b -> c" in done.output
    assert Result.load(tmp_path / "t").distance("a", "c") == 11
    done = CliRunner().invoke(main, ["solve", str(tmp_path / "g.txt"), "--memory", "plenty"])
    assert done.exit_code == 2
    for room in ("road", "question"):
        monkeypatch.setattr(f"apsp.road.{room}.available", lambda device: 64 << 30)
    done = CliRunner().invoke(main, ["plan", "131072", "--memory", "16GiB", "--dtype", "float32"])
    assert "rounds" in done.output


def test_one_pair_is_asked_of_a_closure_within_limits(tmp_path):
    """Not of a search: what is held, and what is kept, is the closure of all pairs."""
    graph = road_like(600, seed=3)
    write(graph, tmp_path / "g.csv")
    expected = shortest_paths(graph).distance(3, 250)
    for more in (["--memory", "1GiB"], ["--checkpoint", str(tmp_path / "ck")]):
        asked = ["solve", str(tmp_path / "g.csv"), "--from", "3", "--to", "250", *more]
        done = CliRunner().invoke(main, asked)
        assert done.exit_code == 0, done.output
        assert f"distance {expected:g}" in done.output
    assert is_store(tmp_path / "ck")


def test_sizes_of_memory():
    assert [parsed(x) for x in ("16GiB", "1.5 GB", "512", "2k", "3 MiB", 7)] == [
        16 << 30,
        1500000000,
        512,
        2000,
        3 << 20,
        7,
    ]
    for wrong in ("", "GiB", "-1", "1 zB", "1 GiBs"):
        with pytest.raises(ValueError, match="16GiB"):
            parsed(wrong)
    assert semiring.get("min_plus").idempotent


def test_a_store_is_read_as_a_graph(tmp_path):
    matrix = np.array([[0, 4, np.inf], [np.inf, 0, 7], [1, np.inf, 0]])
    TileStore.create(tmp_path / "g", (3, 3), "float64", block=2).put(matrix)
    r = shortest_paths(tmp_path / "g")
    assert (r.distance(0, 2), r.path(0, 2)) == (11, [0, 1, 2])
    done = CliRunner().invoke(main, ["solve", str(tmp_path / "g"), "--memory", "1GiB", "--from", "0", "--to", "2"])
    assert "distance 11" in done.output


def test_the_example_answers_from_its_store(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "relays.py"), "--stations", "500", "--memory", "1 MiB"]
    told = subprocess.run([*command, "--store", str(tmp_path / "t")], env=ENV, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "from 0 to 250: " in told.stdout
    store = TileStore(tmp_path / "t")
    at = np.random.default_rng(0).random((500, 2), np.float32)
    direct = ((at[0] - at[250]) ** 2).sum()
    assert 0 < store[0, 250] < direct / 3


@pytest.mark.parametrize("place", ["output", "checkpoint"])
def test_a_full_disk_is_told_before_all_entries_are_looked_at(tmp_path, matrix, monkeypatch, place):
    looked = []

    class Windows:
        shape, dtype = matrix.shape, matrix.dtype

        def __getitem__(self, key):
            looked.append(key)
            return matrix[key]

    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=matrix.nbytes - 1))
    with pytest.raises(OSError, match="must fit on its disk"):
        closure(Windows(), memory="1 GiB", **{place: tmp_path / "d"})
    assert not looked
    assert plan(Windows(), memory="1 GiB", **{place: tmp_path / "d"}).n == len(matrix)  # of another machine, say


def test_a_plan_takes_a_matrix_for_a_graph_where_the_closure_does(tmp_path):
    A = np.array([[0, 7.5], [np.inf, 0]])
    for unweighted in (False, True):
        closed = closure(A, memory="1 MiB", output=tmp_path / "d", unweighted=unweighted)
        assert plan(A, memory="1 MiB", unweighted=unweighted).dtype == closed.dtype.name


def test_ranks_go_on_where_other_ranks_were_interrupted(tmp_path, matrix, expected):
    with pytest.raises(Stop):
        closure(matrix, gpus=world(ranks=4), checkpoint=tmp_path / "ck", every=0, callback=until(0.5))
    seen = []
    where = {"checkpoint": tmp_path / "ck", "output": tmp_path / "d", "every": 0}
    store = closure(matrix, gpus=world(ranks=2, grid="2x1"), block=128, **where, callback=begins(seen))
    np.testing.assert_array_equal(store[:], expected)
    assert seen[0] > 0.4
    with pytest.raises(ValueError, match="one device"):
        closure(matrix, gpus=world(ranks=2), memory=LITTLE)
    for n in (matrix, len(matrix)):
        with pytest.raises(ValueError, match="one device"):
            plan(n, gpus=world(ranks=2), memory=LITTLE)
        assert plan(n, gpus=world(ranks=2), checkpoint=tmp_path / "ck", output=tmp_path / "d").grid == "1 × 2"


@pytest.mark.parametrize("listed", [True, False], ids=["edges", "matrix"])
def test_integers_that_have_saturated_within_limits_are_refused(tmp_path, listed):
    """A ring whose longest walk fits, then one whose walk does not, streamed from the disk."""
    n = 600
    A = np.full((n, n), 32767, "int16")
    A[np.arange(n - 1), (np.arange(n - 1) + 1) % (n - 1)] = 1
    within = {"memory": "700 kB", "threads": 1, "output": tmp_path / "d"}
    for weight, fits in ((32000, True), (32600, False)):
        A[7, 8] = weight
        tails, heads = (A < 32767).nonzero()
        graph = Graph.from_arrays(tails, heads, A[tails, heads], n=n) if listed else A
        if fits:
            r = shortest_paths(graph, dtype="int16", engine="dense", **within)
            assert r.plan.schedule == "streamed"
            far = weight + n - 3
            assert r.distance(7, 6) == far
            assert np.isinf(r.distance(0, n - 1))
        else:
            for how in (within, {"gpus": world(ranks=2), "output": tmp_path / "e"}):
                with pytest.raises(DomainError, match="beyond ±32767"):
                    shortest_paths(graph, dtype="int16", engine="dense" if how is within else "auto", **how)
            assert not is_store(tmp_path / "e")
            assert Result.load(tmp_path / "d").distance(7, 6) == far  # the result that was there
