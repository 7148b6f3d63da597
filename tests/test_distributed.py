"""Closures over grids of processes: threads of this one here, each with a part that no other sees."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from reference import Reference

from apsp.schedules import distributed
from semiring.distributed import Grid, InMemory, Layout
from semiring.distributed.threads import run

ALL = [*cases.CASES, *cases.USER_CASES]
GRIDS = ("1x1", "2x1", "1x2", "2x2", "1x4", "4x1", "1x3")


def closed(A, grid, block, backend):
    """A*, from parts that were cut and are put together here."""
    layout, D = Layout(len(A), block, grid), np.empty_like(A)

    def work(comm):
        rows, columns = layout.part(comm.rank)
        ops, mine = backend(), A[rows, columns].copy()
        distributed.closure(InMemory(mine, ops, layout, comm), ops, block=block)
        D[rows, columns] = mine

    run(grid, work)
    return D


class Beside:
    """A queue beside the caller's, as if its verbs were done at once."""

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass

    def join(self):
        pass


class LooksAhead(Reference):
    """A reference whose next pivot is closed before the product of this one."""

    def beside(self):
        return Beside()


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize("grid", ["1x2", "2x1", "2x2", "1x3"])
def test_parts_close_to_what_the_whole_does(case, grid):
    A = cases.random_matrix(case, (11, 11), seed=1)
    for backend in (Reference, LooksAhead):
        cases.same(case, closed(A, Grid.parse(grid), 3, lambda b=backend: b(case)), cases.closure(case, A))


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


def test_what_one_process_refuses_all_refuse():
    def refuse(rank):
        if rank:
            raise MemoryError(f"rank {rank} has no room")

    def work(comm):
        with pytest.raises(MemoryError, match="rank 1"):
            comm.together(lambda: refuse(comm.rank))
        return comm.together(lambda: comm.rank)

    assert run(Grid(1, 3), work) == [0, 1, 2]
