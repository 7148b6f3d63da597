"""Closures over grids of processes: threads of this one here, each with a part that no other sees."""

from __future__ import annotations

import pickle
import time
from threading import Barrier, current_thread

import cases
import networkx as nx
import numpy as np
import pytest
from reference import Reference

from apsp import (
    Graph,
    NegativeCycleError,
    Result,
    ShapeError,
    as_graph,
    closure,
    plan,
    shortest_paths,
    transitive_closure,
)
from apsp.big.distributed import DistributedMatrix, plans, solving, world
from apsp.generate import road_like
from apsp.io.saving import tiles
from apsp.road.engines.elimination import Eliminated
from apsp.road.schedules import distributed
from semiring import (
    AlgebraError,
    BitMatrix,
    DeviceError,
    DomainError,
    DTypeError,
    FormatError,
    MemoryNeeded,
    SemiringError,
    get,
)
from semiring.distributed import Grid, Layout, LocalMatrix, RankError, threads
from semiring.distributed.threads import run
from semiring.distributed.world import Threads
from semiring.host import errors, memory
from semiring.kernels import cpu
from semiring.kernels.backend import bind
from semiring.kernels.observed import Observed, Progress
from semiring.stores.tiles import TileStore

ALL = [*cases.CASES, *cases.USER_CASES]
GRIDS = ("1x1", "2x1", "1x2", "2x2", "1x4", "4x1", "1x3")


def closed(A, grid, block, backend):
    """A*, from parts that were cut and are put together here."""
    layout, D = Layout(len(A), block, grid), np.empty_like(A)

    def work(comm):
        rows, columns = layout.part(comm.rank)
        ops, part = backend(), A[rows, columns].copy()
        distributed.closure(LocalMatrix(part, ops, layout, comm), ops, block=block)
        D[rows, columns] = part

    run(grid, work)
    return D


class Queue:
    """A queue concurrent with the caller's, as if its verbs were done at once."""

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass

    def join(self):
        pass


class LooksAhead(Reference):
    """A reference whose next pivot is closed before the product of this one."""

    def concurrent_queue(self):
        return Queue()


@pytest.mark.parametrize("case", ALL, ids=str)
def test_parts_close_to_what_the_whole_does(case):
    A = cases.random_matrix(case, (11, 11), seed=1)
    expected = cases.closure(case, A)
    for grid in ("1x2", "2x1", "2x2", "1x3") if str(case) in cases.FEW else ("2x2",):
        for backend in (Reference, LooksAhead):
            cases.same(case, closed(A, Grid.parse(grid), 3, lambda b=backend: b(case)), expected)


@pytest.mark.parametrize("backend", [Reference, LooksAhead])
def test_nothing_is_computed_twice(backend):
    progress = Progress(11**3, lambda done, total: None)
    A = cases.random_matrix(ALL[0], (11, 11), seed=1)
    distributed.closure(A, Observed(backend(ALL[0]), progress), block=3)
    assert progress.done == 11**3


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("grid", GRIDS)
def test_grids_may_be_larger_than_the_matrix(n, grid):
    case = ALL[0]
    A = cases.random_matrix(case, (n, n), seed=n)
    for backend in (Reference, LooksAhead):
        cases.same(case, closed(A, Grid.parse(grid), 4, lambda b=backend: b(case)), cases.closure(case, A))


@pytest.mark.parametrize("name", ["min_plus-float32", "plus_times-float64", "log_plus-float32"])
def test_floats_have_the_same_bits_on_every_grid(name):
    case = next(c for c in ALL if str(c) == name)
    A = cases.random_matrix(case, (13, 13), seed=2, density=0.9)
    if case.semiring.idempotent:
        A += np.random.default_rng(3).random(A.shape, A.dtype)
    results = [
        closed(A, Grid.parse(grid), 3, lambda b=backend: b(case))
        for grid in GRIDS
        for backend in (Reference, LooksAhead)
    ]
    assert len({D.tobytes() for D in results}) == 1


def test_an_error_of_one_process_ends_all():
    def work(comm):
        if comm.rank == 2:
            raise ValueError("rank 2 has had enough")
        comm.barrier()

    with pytest.raises(ValueError, match="rank 2"):
        run(Grid(2, 2), work)


def test_a_root_waits_until_all_have_read_what_it_sent(monkeypatch):
    """Also where the next broadcast has begun before the root of this one looks who has."""

    class Transport:
        def __init__(self):
            self.waited = []

        def send(self, memory):
            return "sent", memory

        def receive(self, memory, sent):
            return "read", sent[1]

        def wait(self, events):
            self.waited += events

    transport = Transport()
    monkeypatch.setattr(threads, "_transport", lambda memory: transport)
    wait = Barrier.wait

    def late(self, *args):
        found = wait(self, *args)
        if current_thread().name == "rank 0":
            time.sleep(0.02)
        return found

    monkeypatch.setattr(Barrier, "wait", late)

    def work(comm):
        for root in (0, 1, 2, 0):
            comm._broadcast(root, root, "row")

    run(Grid(1, 3), work)
    assert sorted(transport.waited) == [("read", root) for root in (0, 0, 0, 0, 1, 1, 2, 2)]


def test_what_one_process_refuses_all_refuse():
    def refuse(rank):
        if rank:
            raise MemoryError(f"rank {rank} has no room")

    def work(comm):
        with pytest.raises(MemoryError, match="rank 1"):
            comm.fail_together(lambda: refuse(comm.rank))
        return comm.fail_together(lambda: comm.rank)

    assert run(Grid(1, 3), work) == [0, 1, 2]
    called, ranks = [], world(ranks=3, threads=1)
    assert ranks.on_first(lambda: called.append("once")) is None
    assert called == ["once"]
    with pytest.raises(MemoryError, match="rank 1"):
        ranks.on_first(lambda: refuse(1))


def table(name, n, density=0.1):
    case = next(c for c in ALL if str(c) == name)
    return case, cases.random_matrix(case, (n, n), seed=n, density=density)


@pytest.mark.parametrize("name", ["min_plus-int16", "max_min-float64", "lor_land-bool"])
@pytest.mark.parametrize("grid", GRIDS)
def test_a_distributed_matrix_is_closed_and_read(name, grid):
    case, A = table(name, 70, 0.05)
    expected = cases.closure(case, A)
    shape = Grid.parse(grid)
    M = DistributedMatrix.from_array(A, case.semiring, world=world(ranks=shape.size, grid=shape, threads=1), block=64)
    np.testing.assert_array_equal(M.gather(), A)
    done = []
    M.close(callback=lambda *counted: done.append(counted))
    assert done[-1] == (70**3, 70**3)
    cases.same(case, M.gather(), expected)
    cases.same(case, M.rows([69, 0, 5]), expected[[69, 0, 5]])
    cases.same(case, M.rows(slice(60, 70)), expected[60:])
    cases.same(case, M.pairs([0, 69, -1], [69, 0, 3]), expected[[0, 69, -1], [69, 0, 3]])
    cases.same(case, M.diagonal(), expected.diagonal())
    with pytest.raises(IndexError):
        M.rows([70])


def test_parts_come_of_functions_graphs_and_files(tmp_path):
    _, A = table("min_plus-int16", 70)
    ranks = world(ranks=4, threads=1)
    np.save(tmp_path / "a.npy", A)
    store = TileStore.create(tmp_path / "tiles", A.shape, A.dtype, block=32)
    store.put(A)
    made = (
        DistributedMatrix.from_array(store, world=ranks, block=16),
        DistributedMatrix.from_function(lambda i, j: A[i, j], 70, world=ranks, dtype="int16", block=16),
        DistributedMatrix.from_array(np.load(tmp_path / "a.npy", mmap_mode="r"), world=ranks, block=16),
        DistributedMatrix.from_array(
            np.where(A == 32767, np.iinfo(np.int64).max, A.astype(np.int64)).astype(">i8"),
            world=ranks,
            dtype="int16",
            block=16,
        ),
        DistributedMatrix.from_graph(as_graph(A), world=ranks, block=16),
        DistributedMatrix.from_graph(
            Graph.from_arrays(*np.nonzero(A < 32767), A[A < 32767], n=70), world=ranks, dtype="int16", block=16
        ),
    )
    np.testing.assert_array_equal(made[0][-20:, 3:9], A[-20:, 3:9])
    assert made[0][5:3, :].shape == (0, 70)
    for span in (slice(None), slice(60, 90), slice(-3, None)):  # beyond the matrix was what the memory held
        np.testing.assert_array_equal(made[0].window(span, slice(3, 9)), A[span, 3:9])
    for wrong in ((slice(0, 9, 2), slice(0, 9)), (slice(None, None, -1), slice(0, 9)), (0, slice(0, 9)), 3):
        with pytest.raises(IndexError, match="DistributedMatrix: "):
            made[0][wrong]
    for size in (-1, 2.5):
        with pytest.raises(ShapeError, match="n must be an integer of 0 or more"):
            DistributedMatrix.from_function(np.add, size, world=ranks)
    for block in (0, -3, 1.5):
        with pytest.raises(ValueError, match="block must be an integer of at least 1"):
            DistributedMatrix.from_array(A, world=ranks, block=block)
    with pytest.raises(IndexError, match="integer"):
        made[0].pairs([0.5], [1])
    assert made[0].pairs([], []).shape == (0,)
    with pytest.raises(ShapeError, match=r"out must have shape \(70, 70\), got \(71, 71\)"):
        made[0].gather(np.empty((71, 71), "int16"))
    with pytest.raises(DTypeError, match="out must be of int16, got int8"):
        made[0].gather(np.empty((70, 70), "int8"))
    for M in made:
        np.testing.assert_array_equal(M.gather(), np.where(A == 32767, np.iinfo(M.dtype).max, A.astype(M.dtype)))
    bits = DistributedMatrix.from_array(BitMatrix.from_bool(A < 32767), "boolean", world=ranks)
    np.testing.assert_array_equal(bits.gather(), A < 32767)
    assert "2 × 2 ranks on the host" in repr(bits)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_whole_matrix_goes_there_and_back(overwrite):
    ranks = world(ranks=2, threads=1)
    for name in ("min_plus-int16", "plus_times-float64"):
        case, A = table(name, 40)
        B = A.copy()
        D = solving.close(B, case.semiring, ranks, block=16, overwrite=overwrite)
        assert (D is B) == overwrite
        cases.same(case, D, cases.closure(case, A))
        assert overwrite or (A == B).all()
    bits = BitMatrix.from_bool(table("lor_land-bool", 100, 0.02)[1])
    D = solving.close(bits, get("boolean"), ranks, block=64, overwrite=overwrite)
    assert (D is bits) == overwrite
    case, A = table("lor_land-bool", 100, 0.02)
    cases.same(case, D.to_bool(), cases.closure(case, A))


@pytest.mark.parametrize("overwrite", [False, True])
def test_negative_cycles_are_told_from_rounding(overwrite):
    ranks = world(ranks=2, threads=1)
    ring = np.full((5, 5), np.inf)
    ring[0, 1], ring[1, 2], ring[2, 0], ring[2, 4] = 0.1, 0.7, -0.8, 1
    D = solving.close(ring.copy(), get("min_plus"), ranks, block=2, overwrite=overwrite)
    np.testing.assert_allclose(D[:3, :3], [[0, 0.1, 0.8], [-0.1, 0, 0.7], [-0.8, -0.7, 0]])
    assert (D.diagonal() == 0).all()
    ring[2, 0] = -0.9
    with pytest.raises(NegativeCycleError, match=r"-0\.1"):
        solving.close(ring.copy(), get("min_plus"), ranks, block=2, overwrite=overwrite)
    with pytest.raises(NegativeCycleError, match="closed walk at vertex"):
        DistributedMatrix.from_array(ring, world=ranks, block=2).close()


def test_what_the_whole_matrix_has_to_tell_is_written_all_the_same(tmp_path, caplog):
    """Sums without idempotence, and a cycle that only rounding makes negative, beside an output and a checkpoint."""
    ring = np.full((5, 5), np.inf)
    ring[0, 1], ring[1, 2], ring[2, 0], ring[2, 4] = 0.1, 0.7, -0.8, 1
    A = np.triu(np.full((5, 5), 0.25), 1)
    for matrix, s, one in ((ring, "min_plus", None), (A, "plus_times", np.linalg.inv(np.eye(5) - A))):
        expected = closure(ring) if one is None else one
        where = {"gpus": world(ranks=2, threads=1), "output": tmp_path / f"{s}.d", "checkpoint": tmp_path / f"{s}.ck"}
        np.testing.assert_allclose(closure(matrix, s, **where)[:], expected)
        assert "no checkpoint is written" in caplog.text
        r = shortest_paths(matrix, s, **where)
        np.testing.assert_allclose(r.distances, expected)
        np.testing.assert_allclose(Result.load(where["output"]).distances, expected)
        caplog.clear()


def test_what_cannot_be_is_refused_in_every_rank(monkeypatch):
    ranks = world(ranks=2, threads=1)
    with pytest.raises(ShapeError, match="square"):
        DistributedMatrix.from_array(np.zeros((2, 3)), world=ranks)
    with pytest.raises(ShapeError, match="one matrix"):
        solving.close(np.zeros((2, 3, 3)), get("min_plus"), ranks)
    with pytest.raises(AlgebraError, match=r"idempotent.*plus_times.*gpus"):
        DistributedMatrix.from_array(np.eye(3) / 9, "plus_times", world=ranks).close()
    with pytest.raises(MemoryNeeded, match="rank 0 of 2"):
        DistributedMatrix.from_function(lambda i, j: i + j, 1 << 30, world=ranks)
    with pytest.raises(DTypeError):
        DistributedMatrix.from_array(np.full((3, 3), 0.5), world=ranks, dtype="int32")
    for wrong in ({"ranks": 2, "gpus": 2}, {}, {"ranks": 2, "grid": "3x1"}, {"ranks": 4, "grid": "2,2"}):
        with pytest.raises(ValueError, match=r"required|one of"):
            world(**wrong)
    for count in (1.5, "2", 0):
        with pytest.raises(ShapeError, match=f"at least one process is required, got {count!r}"):
            world(ranks=count)
    with pytest.raises(ValueError, match=r"device= is of mpi=True, got device='cuda'\. Say gpus="):
        world(ranks=2, device="cuda")
    with pytest.raises(DeviceError, match="device must be one of cpu, cuda, got 'gpu'"):
        world(mpi=True, device="gpu")
    for count in (0, "2"):
        with pytest.raises(DeviceError, match=f"world: threads must be a positive integer, got {count!r}"):
            world(ranks=2, threads=count)
        with pytest.raises(DeviceError, match=f"world: threads must be a positive integer, got {count!r}"):
            world(mpi=True, threads=count)


@pytest.fixture(scope="module")
def graph():
    _, A = table("min_plus-int16", 70, 0.06)
    return Graph.from_arrays(*np.nonzero(A < 32767), A[A < 32767], n=70)


def test_results_are_answered_from_the_ranks(graph, tmp_path):
    ranks = world(ranks=4, grid="2x2", threads=1)
    one = shortest_paths(graph, engine="dense", dtype="int16")
    r = shortest_paths(graph, gpus=ranks, dtype="int16", block=16)
    assert not r.engine.in_memory
    np.testing.assert_array_equal(r.engine.column(69), one.distances[:, 69])
    np.testing.assert_array_equal(r.table([3, 1], [69, 0]), one.table([3, 1], [69, 0]))
    np.testing.assert_array_equal(r.predecessors, one.predecessors)
    subset = shortest_paths(graph, gpus=ranks, dtype="int16", block=16, sources=[3, 60])
    np.testing.assert_array_equal(subset.distances, one.distances[[3, 60]])
    np.testing.assert_array_equal(subset.predecessors, one.predecessors[[3, 60]])
    assert r.path(0, 69) == one.path(0, 69)
    assert r.verify("all")
    r.save(tmp_path / "r.npz")
    np.testing.assert_array_equal(Result.load(tmp_path / "r.npz").distances, one.distances)
    assert Result.load(tmp_path / "r.npz").plan == r.plan


def test_reachability_is_closed_over_ranks(graph):
    ranks = world(ranks=2, threads=1)
    for schedule in ("auto", "recursive"):
        t = transitive_closure(graph, gpus=ranks, schedule=schedule)
        assert t.matrix == transitive_closure(graph).matrix
    assert t.plan.grid == "1 × 2"
    b = shortest_paths(graph, "boolean", gpus=ranks, block=64)
    np.testing.assert_array_equal(b.engine.column(5), t.matrix.column(5) | (np.arange(70) == 5))


def test_what_a_result_over_ranks_refuses():
    ranks = world(ranks=2, threads=1)
    with pytest.raises(NegativeCycleError, match="a → b → a"):
        shortest_paths([("a", "b", -2.0), ("b", "a", 1.0)], gpus=ranks)
    almost = shortest_paths([("a", "b", 0.1), ("b", "c", 0.7), ("c", "a", -0.8)], gpus=ranks)
    assert almost.distances.diagonal().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="engine='scipy'"):
        shortest_paths([("a", "b", 1)], gpus=ranks, engine="scipy")
    with pytest.raises(DomainError, match="int16"):
        shortest_paths([("a", "b", 30000), ("b", "c", 30000)], gpus=ranks, dtype="int16")


def test_a_plan_says_the_grid_and_what_travels(graph):
    ranks = world(ranks=8, threads=1)
    planned = plan(65536, dtype="float32", gpus=ranks)
    assert "2 × 4 ranks; each receives" in str(planned)
    assert planned.matrix_bytes == 65536**2 * 4 // 8
    # Column strips of half of the rows, row panels of a quarter of the columns, and pivot blocks in every second round.
    assert planned.moved_bytes == 65536 * 4 * (32768 + 16384) + 128 * planned.block**2 * 4
    assert planned.pairs == 65536**3
    assert plan(np.zeros((100, 100)), gpus=ranks).grid == "2 × 4"


def test_a_plan_counts_the_interpreter_that_ranks_share(monkeypatch):
    ops = bind(get("min_plus"), "float32", device="cpu", threads=1)
    monkeypatch.setattr(type(ops), "looks_ahead", True)
    four, eight = (
        plans.plan(n, get("min_plus"), ops, world(ranks=ranks, threads=1), block=256).seconds
        for n, ranks in ((1024, 4), (1024, 8))
    )
    assert eight == 2 * four  # too few vertices for eight: rounds wait for verbs, which one thread gives at a time


def interrupt(checkpoint, pivots):
    """A callback of closures of 70 vertices: Ctrl-C once every tile of the checkpoint has gone through these pivots.

    The first rank reports a round as soon as its own tiles are written; those of others may not be yet.
    """

    def report(done, total):
        if done < pivots * 70 * 70:
            return
        deadline = time.monotonic() + 30
        while TileStore(checkpoint).inspect().oldest < pivots and time.monotonic() < deadline:
            time.sleep(0.001)
        raise KeyboardInterrupt

    return report


def test_a_checkpoint_goes_on_over_another_grid(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 16)
    expected = shortest_paths(graph, engine="dense", dtype="int16").distances
    checkpoint_dir = tmp_path / "ck"

    for grid, rounds in (("2x2", 2), ("1x3", 4)):
        ranks = world(ranks=Grid.parse(grid).size, grid=grid, threads=1)
        with pytest.raises(KeyboardInterrupt):
            shortest_paths(
                graph,
                gpus=ranks,
                dtype="int16",
                block=16,
                checkpoint=checkpoint_dir,
                every=0,
                callback=interrupt(checkpoint_dir, rounds * 16),
            )
        assert TileStore(checkpoint_dir).inspect().oldest == rounds * 16
    ranks = world(ranks=4, grid="4x1", threads=1)
    begun = []
    r = shortest_paths(
        graph,
        gpus=ranks,
        dtype="int16",
        block=32,
        checkpoint=checkpoint_dir,
        output=tmp_path / "out",
        callback=lambda *progress: begun.append(progress),
    )
    assert begun[0][0] > 64 * 70 * 70
    np.testing.assert_array_equal(r.distances, expected)
    np.testing.assert_array_equal(Result.load(tmp_path / "out").distances, expected)
    with pytest.raises(FormatError, match="another"):
        shortest_paths(graph, gpus=ranks, dtype="int32", checkpoint=checkpoint_dir)
    with pytest.raises(ValueError, match="memory="):
        shortest_paths(graph, gpus=ranks, dtype="int16", memory="1GiB")


def test_a_checkpoint_goes_on_with_a_block_that_does_not_divide_it(graph, tmp_path, monkeypatch):
    """48 pivots are done: of rounds of 32 or of 64 pivots, the one that they are amid begins again."""
    monkeypatch.setattr(tiles, "TILE", 16)
    expected = shortest_paths(graph, engine="dense", dtype="int16").distances

    for block in (32, 64):
        where = {"gpus": world(ranks=4, grid="2x2", threads=1), "dtype": "int16", "checkpoint": tmp_path / f"{block}"}
        with pytest.raises(KeyboardInterrupt):
            shortest_paths(graph, **where, block=16, every=0, callback=interrupt(where["checkpoint"], 48))
        assert TileStore(where["checkpoint"]).inspect().oldest == 48
        begun = []
        r = shortest_paths(
            graph, **where, block=block, callback=lambda *progress, begun=begun: begun.append(progress[0])
        )
        np.testing.assert_array_equal(r.distances, expected)
        assert begun[0] <= (48 // block + 1) * block * 70 * 70


def test_the_last_round_is_kept_whatever_the_time(graph, tmp_path, monkeypatch):
    """The checkpoint of a closure that ended is its result: nobody computes it twice. A tile is of one rank."""
    monkeypatch.setattr(tiles, "TILE", 32)
    where = {"gpus": world(ranks=4, threads=1), "dtype": "int16", "block": 16, "checkpoint": tmp_path / "ck"}
    r = shortest_paths(graph, **where, every=3600)
    assert TileStore(tmp_path / "ck").inspect().oldest == 70
    np.testing.assert_array_equal(TileStore(tmp_path / "ck")[:], r.table(range(70), range(70)))


@pytest.mark.parametrize(
    "error",
    [
        FormatError("a.csv", 3, "it is torn"),
        NegativeCycleError("there is one", 4, [4, 5]),
        RankError("rank 2 is gone", 2),
        errors.TileError("a.tile", (0, 1), "it is torn"),
        *(
            kind("so it is")
            for kind in vars(errors).values()
            if isinstance(kind, type) and issubclass(kind, SemiringError) and not issubclass(kind, FormatError)
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_from_process_to_process(error):
    error.everywhere = True
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_sweeps_of_an_elimination_are_shared_out(graph):
    ranks = world(ranks=3, threads=1)
    one = shortest_paths(graph, engine="elimination", dtype="int16")
    r = shortest_paths(graph, engine="elimination", dtype="int16", gpus=ranks)
    for name in ("eccentricity", "closeness", "reached"):
        np.testing.assert_array_equal(r.reduce(name), one.reduce(name))
    np.testing.assert_array_equal(r.reduce("eccentricity"), one.reduce("eccentricity"))
    np.testing.assert_array_equal(r.distances, one.distances)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).reduce("eccentricity"), one.reduce("eccentricity"))
    with pytest.raises(NegativeCycleError, match="a → b → a"):
        shortest_paths([("a", "b", -2), ("b", "a", 1)], gpus=ranks, engine="elimination")


def test_an_elimination_over_several_ranks_is_asked_for():
    graph, ranks = road_like(1500, seed=1), world(ranks=2, threads=1)
    assert plan(graph, gpus=ranks).engine == "ranks"
    assert plan(graph, gpus=ranks, engine="elimination").engine == "shared"
    k = np.arange(700)
    line = Graph.from_arrays(k[:-1], k[1:], directed=False)  # of several panels
    r = shortest_paths(line, gpus=ranks, engine="elimination")
    np.testing.assert_array_equal(r.reduce("eccentricity"), np.maximum(k, 699 - k))


def test_options_of_a_call_are_those_of_each_rank(monkeypatch):
    """Those of the world where the call has none; what ranks do not know is refused, not left out."""
    A, ranks, asked = np.random.default_rng(0).random((60, 60)), world(ranks=2, threads=1), []

    def bound(*arguments, **options):
        asked.append(options.get("threads"))
        return bind(*arguments, **options)

    monkeypatch.setattr("apsp.big.distributed.matrix.bind", bound)
    for call in (closure, lambda A, **options: shortest_paths(A, **options).distances):
        for count in (None, 2):
            asked.clear()
            np.testing.assert_allclose(call(A, gpus=ranks, threads=count), closure(A), rtol=1e-12)
            assert set(asked) == {count or 1}
    with pytest.raises(DeviceError, match=r"those of the cpu backend are .*, got per_thread"):
        closure(A, gpus=ranks, per_thread=4)
    assert ranks.options == {"threads": 1}


def test_sums_over_best_paths_are_shared_out_by_sources(monkeypatch):
    """Also where sources ask for different amounts, and where there are fewer of them than ranks."""
    graph, n = road_like(300, seed=1), 300
    r = shortest_paths(graph, engine="elimination", gpus=world(ranks=3, threads=1))
    calls, of_rank = [], Eliminated.flows

    def counted(*arguments):
        found = of_rank(*arguments)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(Eliminated, "flows", counted)
    done = []
    found = r.edge_betweenness(normalized=False, callback=lambda count, total: done.append((count, total)))
    assert calls == [True] * 3
    assert done[-1] == (n, n)
    assert done == sorted(done)
    edges = list(zip(graph.rows.tolist(), graph.cols.tolist(), strict=True))
    G = nx.Graph()
    G.add_weighted_edges_from((u, v, w) for (u, v), w in zip(edges, graph.weights.tolist(), strict=True))
    expected = nx.edge_betweenness_centrality(G, normalized=False, weight="weight")
    np.testing.assert_allclose(found, [expected[e] if e in expected else expected[e[::-1]] for e in edges], rtol=1e-12)
    demand = np.random.default_rng(0).integers(0, 5, (n, n)).astype(float)
    along = r.flows(demand)
    assert calls == [True] * 6
    assert np.dot(along, graph.weights) == pytest.approx((demand * r.distances).sum(), rel=1e-12)
    np.testing.assert_allclose(along, shortest_paths(graph, engine="elimination").flows(demand), rtol=1e-12)
    single, alone = r.betweenness(sources=1, seed=0), shortest_paths(graph).betweenness(sources=1, seed=0)
    np.testing.assert_allclose(list(single.values()), list(alone.values()), rtol=1e-12)


def test_shared_sweeps_are_all_begun_before_a_device_is_waited_for(graph, monkeypatch):
    """A fetch waits for its device: one after each batch would leave the device idle while the next is prepared."""
    r = shortest_paths(graph, engine="elimination", gpus=world(ranks=2, threads=1))
    happened = []

    class There:
        def get(self):
            happened.append("fetched")
            return np.zeros(1)

    def begun(engine, of, *, columns, share):
        for k in range(share[0], graph.n, share[1]):
            happened.append("begun")
            yield np.array([k]), There()

    monkeypatch.setattr(Eliminated, "worst", begun)
    monkeypatch.setattr(r.engine, "_ranks", world(ranks=1))
    r.reduce("eccentricity")
    assert happened == ["begun"] * graph.n + ["fetched"] * graph.n


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x3"])
def test_rows_are_asked_of_all_ranks_once(grid, monkeypatch):
    A = np.arange(90 * 90).reshape(90, 90) % 7 > 3
    shape = Grid.parse(grid)
    for M in (
        DistributedMatrix.from_array(A, "lor_land", world=world(ranks=shape.size, grid=shape, threads=1), block=32),
        DistributedMatrix.from_array(
            A.astype(np.int16), world=world(ranks=shape.size, grid=shape, threads=1), block=32, null_value=None
        ),
    ):
        calls, run_all = [], M.world.run
        monkeypatch.setattr(M.world, "run", lambda work, run=run_all, to=calls: to.append(work) or run(work))
        for k in ([], [5], [89, 3, 3, 4, 40, 0, 41], slice(None), np.arange(90)[::-2]):
            calls.clear()
            np.testing.assert_array_equal(M.rows(k), A[k])
            assert len(calls) == 1


@pytest.mark.parametrize(("n", "grid"), [(300, "2x2"), (500, "1x4"), (290, "3x1")])
def test_what_a_rank_is_said_to_hold_is_what_it_makes(n, grid, monkeypatch):
    """Panels, and the largest workspace that a verb asks for: of the rank that holds most."""
    layout, made = Layout(n, 64, Grid.parse(grid)), {}
    A = np.where(np.eye(n) > 0, 0.0, 1.0)
    ops = bind(get("min_plus"), "float64", threads=1)
    reserve, panel = cpu.dense.backend._Scratch.reserve, ops.panel

    def noted(which, size, given):
        made.setdefault(current_thread(), ([], [0]))[which].append(size)
        return given

    monkeypatch.setattr(cpu.dense.backend._Scratch, "reserve", lambda self, size: noted(1, size, reserve(self, size)))
    monkeypatch.setattr(ops, "panel", lambda shape: noted(0, shape[0] * shape[1] * 8, panel(shape)))

    def work(comm):
        rows, columns = layout.part(comm.rank)
        distributed.closure(LocalMatrix(A[rows, columns].copy(), ops, layout, comm), ops, block=64)

    run(layout.grid, work)
    predicted = plans.panel_bytes(layout, ops)
    # The first four: those of a last, narrower block take their place.
    assert max(sum(panels[:4]) + max(asked) for panels, asked in made.values()) == predicted


def test_what_is_held_on_a_machine_and_on_a_card():
    """Ranks on the host share its memory, and each process has its own table; a card's part is alone there."""
    layout, ops = Layout(1000, 64, Grid(2, 2)), bind(get("min_plus"), "float64", threads=1)
    each = [ops.matrix_bytes(*layout.shape(r)) + plans.panel_bytes(layout, ops, layout.shape(r)) for r in range(4)]
    assert len(set(each)) > 2
    table = plans.OnHost(made=10**6, after=10**8)
    parts = 1000 * 1000 * 8
    assert plans.peak_bytes(layout, ops, Threads(layout.grid, None, 1)) == (sum(each), 0)
    assert plans.peak_bytes(layout, ops, Threads(layout.grid, None, 1), table) == (10**6 + parts + 10**8, 0)
    assert plans.peak_bytes(layout, ops, Threads(layout.grid, (0, 1, 2, 3)), table) == (max(each), 10**6 + 10**8)
    apart = Threads(layout.grid, None, 1)
    apart.local_ranks = (0,)  # as under MPI: a process each
    assert plans.peak_bytes(layout, ops, apart, table) == (4 * 10**6 + parts + 4 * 10**8, 0)
    apart.ranks_on_node = 2  # on two machines
    largest = sum(sorted((ops.matrix_bytes(*layout.shape(r)) for r in range(4)), reverse=True)[:2])
    assert plans.peak_bytes(layout, ops, apart, table) == (2 * 10**6 + largest + 2 * 10**8, 0)
    by_rows = plans.peak_bytes(layout, ops, Threads(layout.grid, (0, 1, 2, 3)), plans.OnHost(before=5, by_rows=True))
    assert by_rows == (max(each), parts + 5)


def test_the_plan_of_a_list_of_edges_over_ranks_makes_no_matrix(graph, monkeypatch):
    signs = Graph.from_arrays([0, 1], [1, 2], [-1.5, 2.0], n=3)
    monkeypatch.setattr(Graph, "matrix", lambda *_: pytest.fail("made"))
    ranks = world(ranks=2, threads=1)
    assert plan(graph, gpus=ranks).variant == "nonnegative"
    assert plan(signs, gpus=ranks).variant == "general"


def test_ranks_of_one_process_share_an_elimination(graph):
    r = shortest_paths(graph, engine="elimination", gpus=world(ranks=3, threads=2))
    assert len({id(engine) for engine in r.engine._engines}) == 1
    assert r.engine.threads == 2
    assert r.plan.beside_bytes == shortest_paths(graph, engine="elimination", threads=2).plan.beside_bytes


def test_ranks_of_one_host_share_its_memory(monkeypatch):
    """A quarter of 128 MB fits four times into 100 MB only if nobody counts the others."""
    ranks = world(ranks=4, threads=1)
    monkeypatch.setattr(memory, "available", lambda device="cpu", **_: 100_000_000)
    with pytest.raises(MemoryNeeded, match=r"rank 0 of 4: \d+\.\d MiB must fit on cpu, got 95\.4 MiB free"):
        DistributedMatrix.from_function(lambda i, j: i + j + 0.5, 4000, world=ranks)
