"""The GPU's kernels of sparse eliminations where there is no GPU, against SciPy."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import emulated
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import semiring

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)


def network(rng):
    """Rooms, all doors open between neighbours; and ways of two steps between a room's places: arcs and n."""
    sizes, ways = [7, 40, 12, 25, 9, 33, 12, 37], 90
    m = sum(sizes)
    rooms = np.split(np.arange(m), np.cumsum(sizes)[:-1])
    inside = [(i, j) for a, b in pairwise(rooms) for i in (*a, *b) for j in (*a, *b) if i != j]
    between = [
        edge
        for k in range(ways)
        for u, v, w in [rng.choice(rooms[k % len(rooms)], 3, replace=False)]
        for edge in ((u, m + 2 * k), (m + 2 * k, m + 1 + 2 * k), (m + 1 + 2 * k, v), (w, m + 2 * k))
    ]
    tails, heads = np.unique(np.concatenate((inside, between, np.flip(between, axis=1))), axis=0).T
    n = m + 2 * ways
    return *rng.permutation(n)[[tails, heads]], rng.integers(1, 1000, len(tails)), n


@pytest.mark.parametrize(("dtype", "each"), [("float32", 4), ("int16", 1), ("float64", 2)])
def test_every_distance_of_a_network_is_scipys(dtype, each, tmp_path):
    """Roots, levels, regions and a wide root; for all vertices and for some."""
    tails, heads, weights, n = network(np.random.default_rng(0))
    want = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    with emulated.installed(tmp_path):
        from semiring.cuda import sweep

        sizes = {"each": each, "warps": 2, "stack": 8, "program": 1 << 10, "run": 2, "level_warps": 2}
        small = replace(sweep.Shape.of(4, "sm_90"), **sizes)
        sweep.Shape.of = staticmethod(lambda itemsize, arch: small)
        sweep.WIDE = 16
        E = semiring.Elimination.from_arrays(tails, heads, weights, n, dtype=dtype, device="cuda")
        tree = E.on_device.tree
        assert len(tree.regions) > 10
        assert any((tiles[:, 2] > 1).any() for tiles in tree.tiles[1:])  # strips that a warp computes together
        np.testing.assert_array_equal(E.to_dense().get(), want)
        assert (E.on_device.diagonal() == 0).all()
        for some in (np.arange(n)[::-3], np.arange(7)):
            got = E.on_device.batch(some, mirrored=True).get()[:, : len(some)]
            np.testing.assert_array_equal(got, want[:, some])


def test_rows_of_4_gib_are_refused():
    """The kernels count the bytes of a row in 32 bits."""
    from semiring.cuda import sweep

    assert sweep._pitch(SimpleNamespace(strides=((1 << 32) - 128, 4), itemsize=4)) == (1 << 30) - 32
    with pytest.raises(semiring.ShapeError, match="less than 4 GiB"):
        sweep._pitch(SimpleNamespace(strides=(1 << 32, 4), itemsize=4))
