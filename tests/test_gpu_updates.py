"""Changed entries of a closure, and quantities along best paths, on a GPU: as a new closure, and as on the CPU."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import apsp
import semiring
from semiring import get

pytestmark = pytest.mark.gpu


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


def test_two_matrices_in_one_memory(cp):
    """Halves of one buffer are two, whose addresses alternate; one for both is refused before anything is written."""
    A = np.random.default_rng(0).integers(1, 100, (70, 70)).astype("int32")
    A[0, 1] = 1
    D, changed = apsp.closure(A, null_value=None), A.copy()
    changed[0, 1] = 90
    both = cp.asarray(np.hstack((D, A)))
    apsp.update(both[:, :70], both[:, 70:], {(0, 1): 90}, overwrite=True)
    np.testing.assert_array_equal(both.get(), np.hstack((apsp.closure(changed, null_value=None), changed)))
    one = cp.asarray(D)
    with pytest.raises(ValueError, match="must not share memory"):
        apsp.update(one, one[:], {(0, 1): 90}, overwrite=True)
    np.testing.assert_array_equal(one.get(), D)


def test_results_of_matrices(cp):
    A = np.random.default_rng(0).integers(1, 100, (90, 90)).astype("float32")
    r = apsp.shortest_paths(cp.asarray(A))
    for weight in (1, 90, np.inf):
        A[3, 7] = weight
        r = r.update({(3, 7): weight})
        np.testing.assert_array_equal(np.asarray(r.distances.get()), apsp.closure(A, null_value=None))
        path = r.path(3, 7)
        assert sum(A[u, v] for u, v in itertools.pairwise(path)) == r.distance(3, 7)


@pytest.mark.parametrize("kind", ["int32", "float64", "tenths", "gaps", "below zero"])
def test_quantities_of_matrices(cp, kind):
    """Packed on the device, on the host where edges are missing or negative: as on the CPU, in the same bits."""
    rng, n = np.random.default_rng(3), 80
    A, metres = rng.integers(1, 30, (n, n)).astype(kind if kind == "int32" else "float64"), rng.integers(0, 50, (n, n))
    A = A / 10 if kind == "tenths" else np.where(rng.random((n, n)) < 0.3, 0, A) if kind == "gaps" else A
    if kind == "below zero":
        A[3, 7] = -1
    there = cp.asarray(A)
    here, *others = (
        apsp.shortest_paths(X, along={"metres": Y, "k": metres % 3})
        for X, Y in ((A, metres), (there, metres), (there, cp.asarray(metres)))
    )
    some = range(0, n, 7)
    for r in others:
        assert r.plan.reason.split("; ")[-1] == here.plan.reason.split("; ")[-1]
        for of in (None, "metres", "k"):
            np.testing.assert_array_equal(r.table(some, some, of=of), here.table(some, some, of=of))
        path = r.path(0, 9)
        assert sum(metres[u, v] for u, v in itertools.pairwise(path)) == r.distance(0, 9, of="metres")


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_quantities_along_predecessors_stay_on_the_device(cp, dtype, on_device):
    """Quantities of either sign beside weights without a unit: rows, blocks, tables against sums along paths."""
    n, rng = 150, np.random.default_rng(4)
    A = rng.random((n, n)).astype(np.float32)
    A[rng.random((n, n)) < 0.9] = np.inf
    A[n - 5 :, : n - 5] = np.inf
    metres = (rng.random((n, n)) * 50 - 9).astype(dtype)
    r = apsp.shortest_paths(cp.asarray(A), along={"metres": cp.asarray(metres) if on_device else metres})
    assert "along predecessors" in r.plan.reason
    expected, reached = np.full((n, n), np.inf), np.isfinite(r.table())
    for u, v in np.argwhere(reached).tolist():
        expected[u, v] = sum(metres[step].item() for step in itertools.pairwise(r.path(u, v)))
    exact = np.testing.assert_array_equal if dtype == np.int64 else partial(np.testing.assert_allclose, rtol=1e-6)
    exact(r.table(of="metres"), expected)
    exact(r.table([3, 1, 140], [149, 0], of="metres"), expected[[3, 1, 140]][:, [149, 0]])
    exact(r.distance(0, 9, of="metres"), expected[0, 9])
    for labels, D in r.rows(range(5, 90), block=32, of="metres"):
        assert isinstance(D, cp.ndarray)
        exact(np.where(expected[labels] < np.inf, D.get(), np.inf), expected[labels])


def test_quantities_of_a_network_are_unpacked_where_they_are(cp):
    from apsp.generate import road_like

    g = road_like(3000, seed=2)
    metres = np.random.default_rng(5).integers(1, 5000, g.edge_count)
    here, there = (apsp.shortest_paths(g, along={"m": metres}, engine="elimination", device=x) for x in ("cpu", "cuda"))
    np.testing.assert_array_equal(there.table(of="m"), here.table(of="m"))
    (_, D), (_, E) = (next(iter(r.rows(range(40), of="m"))) for r in (here, there))
    assert isinstance(E, cp.ndarray)
    np.testing.assert_array_equal(E.get(), D)
