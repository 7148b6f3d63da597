"""Dense matrices whose distances are few multiples of a unit, by products of bits: against SciPy's searches."""

from __future__ import annotations

import cases
import numpy as np
import pytest

from apsp import AlgebraError, as_graph, closure, plan, shortest_paths
from semiring import get
from semiring.dense.levels import MOST, common_unit

rng = np.random.default_rng(14)


def matrix(n, arcs, dtype, weight=1):
    """Some arcs of one weight, nothing else; few loops."""
    zero = np.iinfo(dtype).max if np.dtype(dtype).kind == "i" else np.inf
    A = np.full((n, n), zero, dtype)
    A.flat[rng.choice(n * n, arcs, replace=False)] = weight
    return A


#: (n, arcs, weight)
SIZES = [(1024, 100_000, 1), (1100, 4000, 1), (1031, 900, 1), (1057, 20_000, 4)]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize(("n", "arcs", "weight"), SIZES)
def test_all_pairs_are_scipys(dtype, n, arcs, weight):
    """Two levels, eight, and parts that do not reach each other; sizes that fill words and that do not."""
    A = matrix(n, arcs, dtype, weight)
    r = shortest_paths(as_graph(A, null_value=None), dtype=dtype, engine="levels")
    assert (r.plan.engine, r.plan.schedule, r.dtype) == ("levels", "bits", np.dtype(dtype))
    np.testing.assert_array_equal(r.distances[::37], cases.distances(A, range(0, n, 37)))


def test_sums_of_a_weight_that_is_no_binary_fraction_are_those_of_walks():
    A = matrix(1024, 4000, "float64", 0.1)
    D = shortest_paths(as_graph(A, null_value=None), engine="levels").distances
    assert set(np.unique(D[np.isfinite(D)])) <= set(np.cumsum(np.full(40, 0.1))) | {0.0}


def test_a_dense_matrix_of_hops_is_planned_so():
    A = matrix(2000, 1_000_000, "float64")
    p = plan(A, null_value=None)
    assert (p.engine, p.schedule) == ("levels", "bits")
    assert "2 levels from one vertex" in p.reason
    np.testing.assert_array_equal(closure(A, null_value=None)[::37], cases.distances(A, range(0, len(A), 37)))


def test_negated_lengths_and_paths():
    A = matrix(1024, 30_000, "float64")
    D = np.where(np.isinf(A), -np.inf, -A)
    r = shortest_paths(as_graph(D, null_value=None), "max_plus", engine="levels")
    np.testing.assert_array_equal(-r.distances[::37], cases.distances(A, range(0, len(A), 37)))
    u, v = 5, 1000
    assert len(r.path(u, v)) == 1 - r.distance(u, v)


#: (n, share of pairs that are arcs, weights, what each is multiplied with), and two dtypes in turn
WEIGHTED = [
    (1024, 1.0, range(1, 100), 1),
    (1031, 0.3, range(1, 4), 1),
    (1100, 0.05, (1, 2, 5), 1),
    (1024, 0.02, (2, 3), 1),  # of which none is the unit
    (1057, 0.5, (2, 4, 7, 500), 0.25),
    (1024, 0.9, (10, 25, 35, 1000), 1),
    (1090, 0.004, (1, 2), 3),  # some are not reached
]


@pytest.mark.parametrize(
    ("n", "share", "weights", "unit", "dtype"),
    [(*row, dtype) for k, row in enumerate(WEIGHTED) for dtype in (("int16", "float64"), ("int32", "float32"))[k % 2]],
)
def test_weights_of_few_units_are_scipys(dtype, n, share, weights, unit):
    zero = np.iinfo(dtype).max if np.dtype(dtype).kind == "i" else np.inf
    if zero != np.inf and unit % 1:
        unit *= 8
    A = np.where(rng.random((n, n)) < share, rng.choice(np.array(weights) * unit, (n, n)), zero).astype(dtype)
    A[0, 1:4] = np.array(weights[:3] if len(weights) > 2 else [*weights, weights[0]]) * unit
    before = A.copy()
    r = shortest_paths(as_graph(A, null_value=None), dtype=dtype, engine="levels")
    assert r.plan.schedule == "bits"
    np.testing.assert_array_equal(r.distances[::37], cases.distances(A, range(0, len(A), 37)))
    np.testing.assert_array_equal(A, before)
    with np.errstate(over="ignore"):
        negated = np.where(zero == A, -np.inf if zero == np.inf else np.iinfo(dtype).min, -A).astype(dtype)
    found = shortest_paths(as_graph(negated, null_value=None), "max_plus", dtype=dtype, engine="levels").distances
    unreached = found == (-np.inf if zero == np.inf else np.iinfo(dtype).min)
    np.testing.assert_array_equal(np.where(unreached, zero, -found), r.distances)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_arcs_longer_than_any_distance_need_be_no_multiples(dtype):
    A = rng.integers(1, 50, (1024, 1024)).astype(dtype)
    A[rng.random(A.shape) < 0.2] = 1000.5 if dtype == "float64" else 100_003
    r = shortest_paths(A, engine="levels")
    np.testing.assert_array_equal(r.distances[::37], cases.distances(A, range(0, len(A), 37)))


def test_more_units_than_are_counted_are_closed_otherwise(monkeypatch):
    """All vertices are near the first; a line of others is not near one another."""
    from apsp.road.engines import levels

    monkeypatch.setattr(levels, "SPARE", 0)
    n = 1030
    A = np.full((n, n), 90, np.int32)
    A[0], A[1, 2] = 1, 1
    assert plan(A, engine="levels").schedule == "bits"
    found = shortest_paths(A, engine="levels").distances[::37]
    np.testing.assert_array_equal(found, cases.distances(A, range(0, len(A), 37)))


def test_levels_are_counted_from_a_vertex_that_many_arcs_leave():
    """From the first it takes one, from others forty."""
    A = matrix(1100, 0, "float64")
    layer = np.arange(1100) // 27
    A[layer[:, None] + 1 == layer] = 1
    A[0] = np.inf
    A[0, -1] = 1
    assert plan(A, null_value=None).engine != "levels"


def test_parts_where_no_level_would_be_the_last_are_refused():
    A = rng.integers(1, 200, (1024, 1024)).astype(np.float64)
    A[:500, 500:] = A[500:, :500] = np.inf
    with pytest.raises(AlgebraError, match=r"1024 vertices or more.*distances small multiples"):
        shortest_paths(as_graph(A, null_value=None), engine="levels")
    assert plan(A, null_value=None).engine != "levels"


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_small_matrices_are_scipys(n):
    """Far smaller than are asked for: every pair of weights, islands, ends, and few products."""
    from semiring.kernels.backend import bind
    from semiring.kernels.cpu.bits.levels import LevelsOnHost

    ops = bind(get("lor_land"), np.dtype(bool))
    for seed in range(60):
        draw = np.random.default_rng(seed)
        weights = draw.choice(np.arange(1, 9), draw.integers(1, 4), replace=False) * draw.choice([1, 0.5, 3])
        A = np.where(draw.random((n, n)) < draw.choice([0.3, 0.6, 1.0]), draw.choice(weights, (n, n)), np.inf)
        found, out = LevelsOnHost(A, get("min_plus")), np.full((n, n), np.nan)
        want = cases.distances(A)
        if found.unit is None:  # no arc of the first row, or its unit is not that of the others
            assert np.isinf(A[~np.eye(n, dtype=bool)]).all() or len(weights) > 1
            continue
        products = seed % 7 if seed % 2 else 100
        joined = []
        if found.close(ops, out, joined.append, products):
            np.testing.assert_array_equal(out, want)
            assert joined[-1] == np.isfinite(want).sum()
        else:
            assert products < 7
            assert np.isnan(out).all()
        from_start = want[found.start]
        assert found.depth(40) >= from_start[np.isfinite(from_start)].max() / found.unit


@pytest.mark.parametrize(
    "name",
    [
        *("no unit", "none later", "a zero weight", "less later", "deep", "int16 too long", "rounded sums", "small"),
        *("beyond 2⁵³", "an odd integer later"),
    ],
)
def test_what_has_no_few_units_is_refused(name):
    n = 1024
    A = matrix(n, 50_000, "float64")
    if name == "no unit":
        A = rng.random((n, n))
    elif name == "none later":
        A[n - 1, 3] = 2.5
    elif name == "an odd integer later":
        A = matrix(n, 50_000, "int64", 2)
        A[n - 1, 3] = 3
    elif name == "a zero weight":
        A[n - 1, 3] = 0
    elif name == "less later":
        A[n - 1, 3] = 0.5
    elif name == "deep":
        A = np.full((n, n), np.inf)
        A[np.arange(n - 1), np.arange(1, n)] = 1
    elif name == "int16 too long":
        A = matrix(n, 50_000, "int16", 400)
    elif name == "beyond 2⁵³":  # where floats, in which units are counted, hold not all integers
        A = matrix(n, 50_000, "int64", 2**50 + 1)
    elif name == "rounded sums":
        A *= 0.1
        A[n - 1, 3] = 0.2
    else:
        A = A[:900, :900]
    with pytest.raises(AlgebraError, match="multiples of one length, and distances small"):
        shortest_paths(as_graph(A, null_value=None), engine="levels", dtype=A.dtype)


def test_a_unit_is_one_of_few_in_the_least_length():
    assert common_unit(np.array([3.0, 1.5, 6])) == 1.5
    assert common_unit(np.array([100, 101])) == 1
    assert common_unit(np.array([1001, 1000])) is None
    assert common_unit(np.array([0.3, 0.1])) is None


def test_no_more_products_than_are_told():
    from semiring.kernels.backend import bind
    from semiring.kernels.cpu.bits.levels import LevelsOnHost

    n = MOST + 30
    A, out = np.full((n, n), np.inf), np.full((n, n), np.nan)
    A[np.arange(n - 1), np.arange(1, n)] = 1
    ops = bind(get("lor_land"), np.dtype(bool))
    assert not LevelsOnHost(A, get("min_plus")).close(ops, out, lambda pairs: None, 2 * MOST)
    assert np.isnan(out).all()


def test_the_diagonal_is_whatever_it_is():
    A = matrix(1024, 20_000, "int32")
    expected = cases.distances(A, range(0, len(A), 37))
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
