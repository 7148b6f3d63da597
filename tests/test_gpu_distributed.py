"""Closures over GPUs, as many as there are: against SciPy, and with the same bits on every grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall

import apsp
from apsp.big.distributed import DistributedMatrix, Grid, world
from semiring.algebra.catalog import get
from semiring.distributed.threads import Groups, ThreadComm, run
from semiring.kernels.backend import bind, cuda_available

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def count():
    if not cuda_available():
        pytest.skip("no NVIDIA GPU with CuPy on this machine")
    from semiring.kernels.cuda import gpu

    return min(4, gpu.count())


def grids(count):
    return [Grid(r, count // r) for r in range(1, count + 1) if count % r == 0]


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize(("n", "block"), [(1, 128), (300, 128), (1283, 256)])
def test_cards_close_what_scipy_does(count, n, block, dtype):
    rng = np.random.default_rng(n)
    whole = np.where(rng.random((n, n)) < 0.01, rng.integers(1, 100, (n, n)), np.inf)
    expected = floyd_warshall(np.where(np.isinf(whole), 0, whole))
    if dtype == "bool":
        A, expected = np.isfinite(whole), np.isfinite(expected)
    elif dtype == "int16":
        A, expected = (np.where(np.isinf(X), 32767, X).astype(np.int16) for X in (whole, expected))
    else:
        A = whole.astype(dtype)
    for grid in grids(count):
        M = DistributedMatrix.from_array(
            A, "lor_land" if dtype == "bool" else "min_plus", world=world(gpus=count, grid=grid), block=block
        )
        D = M.close().gather()
        np.testing.assert_array_equal(D, expected, err_msg=str(grid))
        np.testing.assert_array_equal(M.rows([n - 1, 0]), D[[n - 1, 0]])
        np.testing.assert_array_equal(M.window(slice(0, n), slice(n // 2, n // 2 + 1)), D[:, n // 2 : n // 2 + 1])
        np.testing.assert_array_equal(M.pairs([n - 1, 0], [0, n - 1]), D[[n - 1, 0], [0, n - 1]])


def test_floats_have_the_same_bits_on_every_grid(count):
    A = np.random.default_rng(0).random((700, 700), np.float32)
    found = {apsp.closure(A, gpus=world(gpus=count, grid=grid), block=128).tobytes() for grid in grids(count)}
    found.add(apsp.closure(A, gpus=1, block=128).tobytes())
    assert len(found) == 1


def test_sums_are_right_without_idempotence(count):
    A = np.random.default_rng(0).random((500, 500)) * 0.003
    np.testing.assert_allclose(apsp.closure(A, "plus_times", gpus=count), np.linalg.inv(np.eye(500) - A), rtol=1e-9)


def test_sweeps_of_an_elimination_are_shared_out(count):
    graph = apsp.road_like(3000, seed=0)
    one = apsp.shortest_paths(graph, engine="elimination", dtype="float32", device="cuda")
    r = apsp.shortest_paths(graph, engine="elimination", dtype="float32", gpus=count)
    np.testing.assert_array_equal(r.reduce("eccentricity"), one.reduce("eccentricity"))
    np.testing.assert_array_equal(r.reduce("reached"), one.reduce("reached"))


def test_a_part_is_whole_after_a_round_where_that_is_asked(count):
    """Between rounds, look-ahead leaves the strips of the next pivot older than the rest."""
    A = np.random.default_rng(1).integers(1, 99, (600, 600)).astype(np.float32)
    ops = bind(get("min_plus"), np.float32, device="cuda", nonnegative=True)
    seen = []
    from apsp.road.schedules import distributed

    M = ops.upload(A)
    distributed.closure(M, ops, block=128, complete=lambda: True, after=lambda k: seen.append(ops.download(M)))
    D = A.copy()
    for index, k in enumerate(range(0, 600, 128)):
        for v in range(k, min(k + 128, 600)):
            D = np.minimum(D, D[:, v : v + 1] + D[v])
        D[range(k, min(k + 128, 600)), range(k, min(k + 128, 600))] = 0
        found = seen[index]
        later = slice(k + 128, 600)
        np.testing.assert_array_equal(found[later, later], D[later, later])


class Communicator:
    """An MPI communicator between threads, as much of it as NCCL's start asks for."""

    def __init__(self, comm, groups, ranks):
        self._comm, self._groups, self._ranks = comm, groups, ranks

    def Get_rank(self):
        return self._ranks.index(self._comm.rank)

    def Get_size(self):
        return len(self._ranks)

    def Split(self, color, key):
        keys = self._comm.allgather((color, key))
        return Communicator(
            self._comm, self._groups, [r for _, r in sorted((k, r) for r, (c, k) in enumerate(keys) if c == color)]
        )

    def bcast(self, value, root):
        return self._comm.allgather(value)[self._ranks[root]]


def test_nccl_carries_what_lies_on_cards(count):
    from semiring.kernels.cuda import gpu

    nccl = pytest.importorskip("cupy.cuda.nccl")
    if not nccl.available or count < 2:
        pytest.skip("NCCL and two GPUs are needed")
    import cupy

    from semiring.distributed.mpi import NcclComm

    grid = Grid(1, count)
    groups = Groups(grid)

    def work(comm):
        threads = ThreadComm(groups, comm.rank)
        nccl_comm = NcclComm(Communicator(threads, groups, list(range(count))), grid)
        ops = bind(get("min_plus"), np.float32, device="cuda")
        panel = ops.panel((100, 65))
        panel[...] = comm.rank
        nccl_comm.broadcast_along_row(panel, ops, count - 1)
        cupy.cuda.get_current_stream().synchronize()
        return panel.get()

    for found in run(grid, work, lambda rank: gpu.device_context(rank, None)):
        assert (found == count - 1).all()
