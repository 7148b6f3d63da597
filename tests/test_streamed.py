"""Closures of matrices that stream through a little memory: the same bits as of those that lie there whole."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from reference import Reference

from apsp.schedules import distributed
from semiring.distributed import Grid, Layout
from semiring.distributed.threads import run
from semiring.tiles import TileStore
from semiring.tiles.courier import InArray, InStore
from semiring.tiles.streamed import Streamed

ALL = [*cases.CASES, *cases.USER_CASES]


def streamed(case, slow, block, window, grid=None):
    layout = Layout(slow.shape[0], block, grid or Grid(1, 1))

    def work(comm):
        ops = Reference(case)
        with Streamed(slow, ops, layout, comm, window) as part:
            distributed.closure(part, ops, block=block)
            part.finish()

    run(layout.grid, work)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_an_array_streams_through_three_rooms(case):
    A = cases.random_matrix(case, (11, 11), seed=1)
    D = A.copy()
    streamed(case, InArray(D), 3, (3, 6))
    cases.same(case, D, cases.closure(case, A))


@pytest.mark.parametrize(("n", "block", "window"), [(0, 2, (2, 2)), (1, 2, (2, 4)), (9, 2, (2, 2)), (10, 4, (8, 4))])
@pytest.mark.parametrize("grid", ["1x1", "2x1", "2x2"])
def test_a_store_streams_through_three_rooms(tmp_path, n, block, window, grid):
    case = next(c for c in ALL if str(c) == "min_plus-int32")
    A = cases.random_matrix(case, (n, n), seed=n)
    store = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=block)
    store.put(A)
    streamed(case, InStore(store), block, window, Grid.parse(grid))
    np.testing.assert_array_equal(store[:], cases.closure(case, A))
    assert store.inspect().oldest == n


def test_a_damaged_tile_ends_the_closure_and_is_named(tmp_path):
    case = ALL[0]
    A = cases.random_matrix(case, (9, 9), seed=0)
    store = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=3)
    store.put(A)
    store.tile_path(1, 2).write_bytes(store.tile_path(1, 1).read_bytes())
    with pytest.raises(Exception, match=r"tile 1, 2: .*the tile 1, 1"):
        streamed(case, InStore(store), 3, (3, 3))
