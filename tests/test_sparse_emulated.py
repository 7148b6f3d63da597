"""The GPU's kernels of sparse eliminations where there is no GPU, against SciPy."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from itertools import pairwise

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
    """Twelve rooms of 16, each beside the next, all doors open; and ways of two steps between a room's places."""
    rooms = np.arange(192).reshape(12, 16)
    inside = [(i, j) for a, b in pairwise(rooms) for i in (*a, *b) for j in (*a, *b) if i != j]
    ways = [
        edge
        for k in range(104)
        for u, v, w in [rng.choice(rooms[k % 12], 3, replace=False)]
        for edge in ((u, 192 + 2 * k), (192 + 2 * k, 193 + 2 * k), (193 + 2 * k, v), (w, 192 + 2 * k))
    ]
    tails, heads = np.unique(np.concatenate((inside, ways, np.flip(ways, axis=1))), axis=0).T
    return *rng.permutation(400)[[tails, heads]], rng.integers(1, 1000, len(tails))


def test_every_distance_of_a_network_is_scipys(tmp_path):
    """Levels, regions and a wide root, for all vertices and for some."""
    n = 400
    tails, heads, weights = network(np.random.default_rng(0))
    want = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    with emulated.installed(tmp_path):
        from semiring.cuda import sweep

        small = replace(sweep.Shape.of(4, "sm_90"), warps=2, stack=8, program=1 << 10, run=2, level_warps=2)
        sweep.Shape.of = staticmethod(lambda itemsize, arch: small)
        sweep.WIDE = 16
        E = semiring.Elimination.from_arrays(tails, heads, weights, n, dtype="float32", device="cuda")
        tree = E.on_device.tree
        assert len(tree.regions) > 10
        assert any((tiles[:, 2] > 1).any() for tiles in tree.tiles[1:])  # strips that a warp computes together
        np.testing.assert_array_equal(E.to_dense().get(), want)
        assert (E.on_device.diagonal() == 0).all()
        some = np.arange(n)[::-3]
        np.testing.assert_array_equal(E.on_device.batch(some, mirrored=True).get()[:, : len(some)], want[:, some])
