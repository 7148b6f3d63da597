"""What a few steps from some sources tell of searches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import apsp
from apsp.answers.neighbourhoods import VERTICES, Neighbourhoods, around
from apsp.generate import grid
from apsp.road import estimates


def csr(tails, heads, n):
    weights = np.random.default_rng(0).random(len(tails)) + 0.1
    return scipy.sparse.coo_array((weights, (tails, heads)), shape=(n, n)).tocsr()


def looked(A, sources):
    return around(A.indptr, A.indices, np.asarray(sources))


def test_a_search_that_ends_soon_is_followed_to_its_end():
    """Three layers: 0 reaches 1 … 4, and these 5 … 8; nothing leaves the last."""
    A = csr(np.repeat(np.arange(5), [4, 1, 1, 1, 1]), [1, 2, 3, 4, 5, 6, 7, 8], 2000)
    assert looked(A, [0, 8, 1]) == Neighbourhoods(0.0, (9 + 1 + 2) / 3)
    assert looked(A, []) == Neighbourhoods(0.0, 0.0)


def test_the_plane_is_told_from_graphs_that_grow():
    plane, n = grid(60, 60), 3600
    A = csr(np.r_[plane.rows, plane.cols], np.r_[plane.cols, plane.rows], n)
    found, hops = looked(A, [1830, 77]), scipy.sparse.csgraph.dijkstra(A, indices=1830, unweighted=True).max()
    assert found.planar
    assert found.cut == 1
    assert found.arcs > 2
    assert hops / 2.5 < found.deep(n) < 2.5 * hops
    found = looked(csr(*np.random.default_rng(1).integers(0, 4000, (2, 24_000)), 4000), [5, 6])
    assert not found.planar
    assert found.arcs < 1.2
    assert found.deep(4000) < 10
    # Of a hundred cliques, joined at random, most arcs close cycles, too, but few levels have many vertices.
    clique = np.arange(4000) // 40
    tails, heads = np.nonzero(clique[:, None] == clique)
    joined = np.random.default_rng(2).permutation(4000)
    found = looked(csr(np.r_[tails, np.arange(4000)], np.r_[heads, joined], 4000), [5])
    assert found.confined
    assert not found.planar


def test_a_vertex_of_many_arcs_takes_no_longer():
    n = 100_000
    found = looked(csr(np.zeros(n - 1, int), np.arange(1, n), n), [0])
    assert found.cut == 1
    assert found.arcs <= 4 * VERTICES


def test_a_path_is_as_narrow_as_it_is():
    """Levels end before so many vertices are seen: two vertices a level, and half of all vertices are the levels."""
    n = 3000
    ends = np.arange(n - 1)
    found = looked(csr(np.r_[ends, ends + 1], np.r_[ends + 1, ends], n), [1500, 700])
    assert 2 <= found.width < 2.1
    assert n / 8 < found.deep(n) < n


def test_searches_in_a_shallow_tree_are_predicted_to_meet():
    """What 16 sources take is little more than what one does, though few arcs leave a vertex; not so in a path."""

    def sixteen(A):
        plans = [apsp.plan(A, sources=range(100, 100 + k), engine="searches") for k in (1, 16)]
        return plans[1].considered[0].seconds / plans[0].considered[0].seconds

    n, rng = 4000, np.random.default_rng(3)
    v = np.arange(1, n)
    parents = {"shallow": rng.integers(0, 2, n - 1) * (v % 50), "path": v - 1}
    shallow, path = (sixteen(csr(np.r_[v, p], np.r_[p, v], n)) for p in parents.values())
    assert shallow < 2.5 < 3 < path


@pytest.mark.parametrize("sources", [[0], [0, 1, 2, 3], list(range(12))])
def test_few_vertices_that_are_reached_are_left_to_scipy(sources):
    """Fifty vertices that reach each other, and 7,940 that reach each other."""
    rng = np.random.default_rng(0)
    tails, heads = np.concatenate((rng.integers(0, 50, (2, 200)), rng.integers(60, 8000, (2, 20_000))), axis=1)
    A = csr(tails, heads, 8000)
    r = apsp.shortest_paths(A, sources=sources)
    assert r.plan.engine == "scipy"
    np.testing.assert_array_equal(r.distances, scipy.sparse.csgraph.dijkstra(A, indices=sources))


@pytest.mark.parametrize(
    ("weights", "least", "most"),
    [
        (np.ones(1000), 0, 0),
        (np.arange(1, 100_001), 0.95, 1),
        (np.arange(1, 30_001, dtype=np.int16), 0.9, 1),
        (np.linspace(5, 6, 777), 0.08, 0.1),
        (np.r_[np.ones(500), np.full(500, 1e308)], 0.95, 1),
        (np.zeros(9), 1, 1),
        (np.empty(0), 1, 1),
        (np.array([1, np.inf]), 1, 1),
        (np.array([1, -np.inf]), 1, 1),
        (np.array([3.0]), 0, 0),
    ],
)
def test_the_spread_of_weights(weights, least, most):
    """Of equal ones 0, of those between 0 and anything about 1; where nothing is known, as if they were random."""
    before = weights.copy()
    assert least <= estimates.spread(weights) <= most
    np.testing.assert_array_equal(weights, before)


def test_scipys_searches_are_predicted_shorter_where_weights_are_alike():
    n, rng = 3000, np.random.default_rng(5)
    A = csr(*rng.integers(0, n, (2, 10 * n)), n)
    far, near = A.copy(), A.copy()
    far.data, near.data = rng.random(A.nnz), 1 + rng.random(A.nnz) / 10
    one, other = (apsp.plan(X, sources=[0], engine="scipy").considered[0].seconds for X in (far, near))
    assert other < 0.8 * one
