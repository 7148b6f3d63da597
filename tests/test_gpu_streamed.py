"""Closures of matrices that stream through a GPU, from memory of the host or from disk."""

from __future__ import annotations

import cases
import numpy as np
import pytest

import semiring
from apsp import closure
from apsp.big.large import streaming
from apsp.big.large.streaming import Cut
from semiring.kernels.backend import bind
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.windows import InArray, InStore

pytestmark = pytest.mark.gpu


def graph(n, dtype):
    rng = np.random.default_rng(n)
    return np.where(rng.random((n, n)) < 4 / n, rng.integers(1, 1000, (n, n)), cases.infinity(dtype)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("where", ["pinned", "buffers", "store"])
@pytest.mark.parametrize("n", [700, 1201, 100])
def test_a_matrix_streams_through_the_device(tmp_path, monkeypatch, n, dtype, where):
    from semiring.kernels.cuda import windows

    A = graph(n, dtype)
    D = A.copy()
    slow = InArray(D)
    monkeypatch.setattr(windows, "BUFFER", 1 << 16)
    if where == "buffers":
        monkeypatch.setattr(windows.Pinned, "of", classmethod(lambda cls, array: None))
    if where == "store":
        store = TileStore.create(tmp_path / "t", A.shape, A.dtype, block=128)
        store.put(A)
        slow = InStore(store)
    ops = bind(semiring.min_plus, dtype, device="cuda", nonnegative=True)
    streaming.closure(slow, ops, Cut(512, 256, 128, 128, 0))
    np.testing.assert_array_equal(store[:] if where == "store" else D, cases.distances(A))


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_closure_is_held_to_memory_of_the_device(tmp_path, checkpoint):
    A = graph(2000, "int32")
    kept = {"checkpoint": tmp_path / "ck", "every": 0} if checkpoint else {}
    D = closure(A, device="cuda", memory="12 MiB", **kept)
    np.testing.assert_array_equal(D, cases.distances(A))
    if checkpoint:  # on the device alone it goes on from there
        np.testing.assert_array_equal(closure(A, device="cuda", **kept), D)
