"""Hop counts of dense matrices by products of bits: against SciPy's breadth-first search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

from apsp import AlgebraError, as_graph, closure, plan, shortest_paths

rng = np.random.default_rng(14)


def matrix(n, arcs, dtype, weight=1):
    """Some arcs of one weight, nothing else; few loops."""
    zero = np.iinfo(dtype).max if np.dtype(dtype).kind == "i" else np.inf
    A = np.full((n, n), zero, dtype)
    A.flat[rng.choice(n * n, arcs, replace=False)] = weight
    return A


def hops(A, weight=1):
    zero = np.iinfo(A.dtype).max if A.dtype.kind == "i" else np.inf
    graph = scipy.sparse.csr_array((A == weight).astype(float))
    D = csgraph.dijkstra(graph, unweighted=True, indices=range(0, len(A), 37)) * weight
    found = np.where(np.isinf(D), 0, D).astype(A.dtype)
    found[np.isinf(D)] = zero
    return found


#: (n, arcs, weight)
SIZES = [(1024, 100_000, 1), (1100, 4000, 1), (1031, 900, 1), (1057, 20_000, 4)]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize(("n", "arcs", "weight"), SIZES)
def test_all_pairs_are_scipys(dtype, n, arcs, weight):
    """Two levels, eight, and parts that do not reach each other; sizes that fill words and that do not."""
    A = matrix(n, arcs, dtype, weight)
    r = shortest_paths(as_graph(A, null_value=None), dtype=dtype, engine="levels")
    assert (r.plan.engine, r.plan.schedule, r.dtype) == ("levels", "bits", np.dtype(dtype))
    np.testing.assert_array_equal(r.distances[::37], hops(A, weight))


def test_sums_of_a_weight_that_is_no_binary_fraction_are_those_of_walks():
    A = matrix(1024, 4000, "float64", 0.1)
    D = shortest_paths(as_graph(A, null_value=None), engine="levels").distances
    assert set(np.unique(D[np.isfinite(D)])) <= set(np.cumsum(np.full(40, 0.1))) | {0.0}


def test_a_dense_matrix_of_hops_is_planned_so():
    A = matrix(2000, 1_000_000, "float64")
    p = plan(A, null_value=None)
    assert (p.engine, p.schedule) == ("levels", "bits")
    assert "2 levels from one vertex" in p.reason
    np.testing.assert_array_equal(closure(A, null_value=None)[::37], hops(A))


def test_negated_lengths_and_paths():
    A = matrix(1024, 30_000, "float64")
    D = np.where(np.isinf(A), -np.inf, -A)
    r = shortest_paths(as_graph(D, null_value=None), "max_plus", engine="levels")
    np.testing.assert_array_equal(-r.distances[::37], hops(A))
    u, v = 5, 1000
    assert len(r.path(u, v)) == 1 - r.distance(u, v)


@pytest.mark.parametrize("name", ["two weights", "a zero weight", "one differs", "deep", "int16 too long", "small"])
def test_what_is_no_question_of_hops_is_refused(name):
    n = 1024
    A = matrix(n, 50_000, "float64")
    if name == "two weights":
        A[A == 1] = rng.integers(1, 3, 50_000)
    elif name == "a zero weight":
        A[A == 1] = 0
    elif name == "one differs":
        A[n - 1, 3] = 2
    elif name == "deep":
        A = np.full((n, n), np.inf)
        A[np.arange(n - 1), np.arange(1, n)] = 1
    elif name == "int16 too long":
        A = matrix(n, 50_000, "int16", 40)
    else:
        A = A[:900, :900]
    with pytest.raises(AlgebraError, match="all entries off the diagonal are alike"):
        shortest_paths(as_graph(A, null_value=None), engine="levels", dtype=A.dtype)


def test_the_diagonal_is_whatever_it_is():
    A = matrix(1024, 20_000, "int32")
    expected = hops(A)
    np.fill_diagonal(A, rng.integers(0, 9, 1024))
    np.testing.assert_array_equal(
        shortest_paths(as_graph(A, null_value=None), engine="levels").distances[::37], expected
    )


def test_progress_ends_with_all_pairs():
    calls = []
    shortest_paths(
        as_graph(matrix(1024, 5000, "int32"), null_value=None), engine="levels", callback=lambda *x: calls.append(x)
    )
    assert calls[-1] == (1024**2, 1024**2)
    assert calls == sorted(calls)
