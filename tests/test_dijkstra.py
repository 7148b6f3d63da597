"""Dijkstra's algorithm on a heap, one search a source and one from all, against an uncompiled loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from apsp import csgraph, shortest_paths
from semiring.kernels.cpu.sparse.dijkstra import search
from semiring.sparse.dijkstra import dijkstra, nearest, neighbours


def relaxed(tails, heads, weights, n, sources, limit):
    """Distances ≤ limit from the nearest source by relaxing all arcs until nothing changes, and the sources of each."""
    d = [math.inf] * n
    for s in sources:
        d[s] = 0.0
    changed = True
    while changed:
        changed = False
        for u, v, w in zip(tails, heads, weights, strict=True):
            if d[u] + w < d[v] and d[u] + w <= limit:
                d[v], changed = d[u] + w, True
    return d


def network(n, arcs, rng, index):
    """CSR of random arcs: parallel ones, loops, lengths that tie, zeros and a few that are long."""
    tails, heads = rng.integers(0, n, (2, arcs))
    weights = rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 40.0], arcs)
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(n + 1)).astype(index)
    return csr_array((weights[order], heads[order].astype(index), starts), shape=(n, n)), (tails, heads, weights)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "arcs"), [(1, 0), (1, 3), (2, 2), (7, 9), (30, 40), (60, 400), (200, 900)])
def test_distances_are_those_of_a_loop(index, n, arcs, monkeypatch):
    """Three sources by one call, or by two."""
    monkeypatch.setattr("semiring.sparse.dijkstra.TOGETHER", 1 << 22 if index is np.int32 else 1 + n + arcs)
    rng = np.random.default_rng(n + arcs)
    for _ in range(6):
        A, listed = network(n, arcs, rng, index)
        sources = rng.integers(0, n, 3)
        for limit in (math.inf, 3.0, 0.0):
            lists = [x.tolist() for x in listed]
            expected = [relaxed(*lists, n, [s], limit) for s in sources.tolist()]
            np.testing.assert_array_equal(dijkstra(A, sources, limit), expected)
            counts = [sum(x < math.inf for x in row) for row in expected]
            assert neighbours(A, sources, limit, max(counts)) == sum(counts) / 3  # each is settled once
            distance, which = nearest(A, sources, limit)
            np.testing.assert_array_equal(distance, relaxed(*lists, n, sources.tolist(), limit))
            for v in range(n):  # any of those as near
                assert expected[which[v]][v] == distance[v] if which[v] >= 0 else distance[v] == math.inf


def test_distances_that_decrease_again_and_again():
    """From the source to all, far; from each to the next, near: every entry of the heap rises past all others."""
    n = 300
    tails, heads = np.zeros(n - 1, int), np.arange(1, n)
    chain = np.arange(n - 2, 0, -1) + 1
    A = coo_array(
        (np.append(1000.0 - heads, np.full(n - 2, 0.25)), (np.append(tails, chain), np.append(heads, chain - 1))),
        shape=(n, n),
    ).tocsr()
    lists = [x.tolist() for x in (*A.tocoo().coords, A.tocoo().data)]
    np.testing.assert_array_equal(dijkstra(A, np.array([0]))[0], relaxed(*lists, n, [0], math.inf))


def test_searches_of_few_and_of_many_vertices_one_after_the_other():
    """Rows are cleared by what the last search settled: few of a path's end, all from its beginning."""
    n = 80
    A = coo_array((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n)).tocsr()
    sources = np.array([79, 0, 75, 78, 70, 69, 1, 79])
    for limit in (math.inf, 9.0, 3.0, 0.0):
        expected = [[v - s if 0 <= v - s <= limit else math.inf for v in range(n)] for s in sources.tolist()]
        np.testing.assert_array_equal(dijkstra(A, sources, limit), expected)
        for most in (1, 2, 4, 10, 80):
            counts = [sum(x < math.inf for x in row) for row in expected]
            mean = sum(counts) / len(counts) if max(counts) <= most else None
            assert neighbours(A, sources, limit, most) == mean


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_limits_near_and_far_by_every_door(dtype):
    """Distances within limits; the graph is large enough for the planner to count vertices within them."""
    n, rng = 1500, np.random.default_rng(3)
    A = network(n, 4 * n, rng, np.int32)[0]
    A.data = rng.integers(1, 9, len(A.data)).astype(dtype)
    A.sum_duplicates()
    lists = [x.tolist() for x in (*A.tocoo().coords, A.tocoo().data)]
    for count in (1, 16, 70):
        sources = rng.choice(n, count, replace=False)
        whole = np.array([relaxed(*lists, n, [s], math.inf) for s in sources[:3].tolist()])
        for limit in (-1, 0, 4, 9.5, 14, 40):
            expected = np.where(whole <= limit, whole, math.inf)
            D = csgraph.dijkstra(A, indices=sources, limit=max(limit, 0)) if limit >= 0 else None
            r = shortest_paths(A, sources=sources, limit=limit)
            for found in (D, r.distances):
                if found is not None:
                    none = np.iinfo(dtype).max if found.dtype.kind == "i" else math.inf
                    np.testing.assert_array_equal(np.where(found == none, math.inf, found)[:3], expected)
            if limit == 4 and count > 1 and dtype == "float64":
                assert "few vertices lie within the limit" in str(r.plan)


def test_arrays_that_are_not_written_to():
    A = csr_array((np.ones(2), ([0, 1], [1, 2])), shape=(3, 3))
    for array in (A.data, A.indices, A.indptr):
        array.flags.writeable = False
    compiled = len(search.signatures)
    assert dijkstra(A, np.array([0])).tolist() == [[0, 1, 2]]
    assert len(search.signatures) <= max(compiled, 1)


def test_nothing_is_asked():
    A = csr_array((0, 0))
    assert dijkstra(A, np.empty(0, int)).shape == (0, 0)
    assert nearest(csr_array((3, 3)), np.empty(0, int))[1].tolist() == [-1, -1, -1]
