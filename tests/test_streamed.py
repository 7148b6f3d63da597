"""Closures of matrices that stream through a little memory: the same bits as of those that lie there whole."""

from __future__ import annotations

import math
import time

import cases
import numpy as np
import pytest
from reference import Reference

import semiring
from apsp.big.large import streaming
from apsp.big.large.streaming import Cut
from apsp.road.schedules import distributed
from apsp.road.schedules.blocks import pivots
from semiring.kernels.backend import bind
from semiring.kernels.cpu.dense import backend
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.windows import InArray, InStore

ALL = [*cases.CASES, *cases.USER_CASES]


def test_a_damaged_tile_ends_the_closure_and_is_named(tmp_path):
    case = ALL[0]
    A = cases.random_matrix(case, (9, 9), seed=0)
    store = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=3)
    store.put(A)
    store.tile_path(1, 2).write_bytes(store.tile_path(1, 1).read_bytes())
    with pytest.raises(Exception, match=r"tile 1, 2: .*the tile 1, 1"):
        streaming.closure(InStore(store), Reference(case), Cut(3, 3, 3, 3, 0))


@pytest.mark.parametrize("case", cases.few(ALL))
@pytest.mark.parametrize("cut", [Cut(4, 2, 1, 1, 0), Cut(6, 4, 2, 2, 0)], ids=["4", "6"])
def test_super_blocks_stream_through_little_memory(case, cut):
    A = cases.random_matrix(case, (15, 15), seed=1)
    D = A.copy()
    streaming.closure(InArray(D), Reference(case), cut)
    cases.same(case, D, cases.closure(case, A))


@pytest.mark.parametrize("n", [0, 1, 3, 8, 13])
def test_super_blocks_stream_from_a_store(tmp_path, n):
    case = next(c for c in ALL if str(c) == "min_plus-int32")
    A = cases.random_matrix(case, (n, n), seed=n)
    store = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=2)
    store.put(A)
    seen, told, ops = [], [], Reference(case)

    def report(*at):
        told.append(at)

    streaming.closure(InStore(store), ops, Cut(4, 2, 2, 2, 0), after=seen.append, callback=report)
    np.testing.assert_array_equal(store[:], cases.closure(case, A))
    assert seen == list(pivots(n, 4))
    assert told == sorted(set(told))
    assert not n or told[-1] == (n**3, n**3)
    assert store.inspect().oldest == n


class Late(InArray):
    """Writes that take their time: what is read too early is what was there before."""

    def write(self, rows, columns, entries, round):
        time.sleep(0.01)
        super().write(rows, columns, entries, round)


@pytest.mark.parametrize("n", [5, 8, 9, 12])
def test_a_window_is_read_when_it_has_been_written(n):
    case = next(c for c in ALL if str(c) == "min_plus-int32")
    A = cases.random_matrix(case, (n, n), seed=n)
    D = A.copy()
    streaming.closure(Late(D), Reference(case), Cut(4, 2, 2, 1, 0))
    np.testing.assert_array_equal(D, cases.closure(case, A))


@pytest.mark.parametrize("begun", [1, 4, 6, 14, 15])
def test_super_blocks_begin_after_any_pivot(begun):
    case = next(c for c in ALL if str(c) == "min_plus-int32")
    A = cases.random_matrix(case, (15, 15), seed=1)
    D, E, ops = A.copy(), A.copy(), Reference(case)
    for k in range(begun):
        ops.step(D, k)
        ops.step(E, k)
    streaming.closure(InArray(D), ops, Cut(4, 2, 1, 1, 0), begun=begun)
    np.testing.assert_array_equal(D, cases.closure(case, A))
    distributed.closure(E, ops, block=4, begun=begun)
    np.testing.assert_array_equal(E, cases.closure(case, A))


@pytest.mark.parametrize("n", [1, 7, 700, 16384, 131072])
def test_what_is_cut_to_fit_fits(n):
    ops = bind(semiring.min_plus, "float32")
    for share in (4, 13):
        memory = max(n * n * 4 // share, 8 << 20)
        cut = streaming.fit(n, ops, memory)
        assert cut.bytes <= memory
        assert cut.block % cut.tile == cut.rows % cut.tile == cut.columns % cut.tile == 0
        rounds = -(-n // cut.block)
        assert n < 2000 or rounds <= 2 * share**0.5 + 1
        again = streaming.fit(n, ops, memory // 2, tile=cut.tile)
        assert again is None or (again.tile == cut.tile and again.block <= cut.block)
    assert streaming.fit(1 << 20, ops, 1 << 16) is None


@pytest.mark.parametrize("share", [3, 5])
def test_what_a_cut_says_is_what_is_held(share, monkeypatch):
    """Every matrix that is made, T among them, and the largest workspace that a verb asks for."""
    n, made, asked = 900, [], []
    ops = bind(semiring.min_plus, "float64", threads=1)
    cut = streaming.fit(n, ops, n * n * 8 // share)
    empty, reserve = ops.empty, backend._scratch.reserve
    monkeypatch.setattr(ops, "empty", lambda shape: [made.append(math.prod(shape) * 8), empty(shape)][1])
    monkeypatch.setattr(backend._scratch, "reserve", lambda size: [asked.append(size), reserve(size)][1])
    streaming.closure(InArray(np.ones((n, n))), ops, cut)
    assert sum(made) + max(asked) == cut.bytes
