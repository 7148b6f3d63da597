"""Changed entries of a closure, and quantities along best paths, on a GPU: as a new closure, and as on the CPU."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import apsp
import semiring
from semiring import get

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("name", ["min_plus", "max_plus", "max_min", "min_max", "lor_land"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_changed_entries(cp, name, dtype, overwrite):
    s, rng = get(name), np.random.default_rng(1)
    if dtype not in s.dtypes:
        pytest.skip(f"{name} is not defined on {dtype}")
    A = semiring.random_matrix(s, (70, 70), dtype, seed=2, density=0.1)
    for count in (1, 1, 5):
        ends = [tuple(pair) for pair in rng.integers(0, 70, (count, 2)).tolist()]
        new = semiring.random_matrix(s, (1, count), dtype, seed=int(rng.integers(99)), density=0.7)[0].tolist()
        changed = A.copy()
        for (i, j), weight in zip(ends, new, strict=True):
            changed[i, j] = weight
        D = apsp.closure(cp.asarray(A), s, null_value=None)
        got, edges = apsp.update(D, cp.asarray(A), dict(zip(ends, new, strict=True)), s, overwrite=overwrite)
        assert isinstance(got, cp.ndarray)
        assert (got is D) == overwrite
        np.testing.assert_array_equal(got.get(), apsp.closure(changed, s, null_value=None))
        np.testing.assert_array_equal(edges.get(), changed)
        A = changed


def test_results_of_matrices(cp):
    A = np.random.default_rng(0).integers(1, 100, (90, 90)).astype("float32")
    r = apsp.shortest_paths(cp.asarray(A))
    for weight in (1, 90, np.inf):
        A[3, 7] = weight
        r = r.update({(3, 7): weight})
        np.testing.assert_array_equal(np.asarray(r.distances.get()), apsp.closure(A, null_value=None))
        path = r.path(3, 7)
        assert sum(A[u, v] for u, v in itertools.pairwise(path)) == r.distance(3, 7)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_quantities_of_matrices(cp, dtype):
    rng = np.random.default_rng(3)
    A, metres = rng.integers(1, 30, (80, 80)).astype(dtype), rng.integers(0, 50, (80, 80))
    here, there = (apsp.shortest_paths(X, along={"metres": metres}) for X in (A, cp.asarray(A)))
    some = range(0, 80, 7)
    for of in (None, "metres"):
        np.testing.assert_array_equal(there.table(some, some, of=of), here.table(some, some, of=of))
    path = there.path(0, 9)
    assert sum(metres[u, v] for u, v in itertools.pairwise(path)) == there.distance(0, 9, of="metres")
