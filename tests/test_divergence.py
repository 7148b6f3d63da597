"""Closures that do not exist, and those that only rounding makes look so: named, refused or computed.

The oracles are exact sums of fractions, NetworkX and NumPy's eigenvalues.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import cases
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from processes import holding_less_than

from apsp import closure, negative_cycle
from apsp.road import schedules
from apsp.road.convergence.divergence import beaten
from semiring import DivergenceError, DomainError, NegativeCycleError, Op, Semiring, Star, eliminate, get
from semiring.dense.cycles import Lengths, search
from semiring.kernels.backend import bind

FLOATS = ["float32", "float64"]
BOTH = pytest.mark.parametrize("overwrite", [False, True], ids=["kept", "overwritten"])
NONE = np.inf


def matrix(n: int, edges: dict[tuple[int, int], float], dtype: str = "float64", none: float = NONE) -> np.ndarray:
    A = np.full((n, n), none, dtype)
    for at, w in edges.items():
        A[at] = w
    return A


def weight(A: np.ndarray, cycle: list[int]) -> Fraction:
    """The exact weight of a cycle of A, which must be simple and made of edges."""
    assert len(set(cycle)) == len(cycle) > 0
    return sum((Fraction(A[u, v].item()) for u, v in itertools.pairwise([*cycle, cycle[0]])), Fraction(0))


def refused(A: np.ndarray, semiring: str = "min_plus", **options) -> DivergenceError:
    """The error, where A must be as it was."""
    before = A.copy()
    with pytest.raises(DivergenceError) as caught:
        closure(A, semiring, null_value=None, **options)
    np.testing.assert_array_equal(A, before)
    return caught.value


# A cycle is judged by the weights of its own edges.


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["min_plus", "max_plus"])
@pytest.mark.parametrize(
    "far",
    [
        {(3, 4): 1e18},  # somebody's "no edge", elsewhere
        {(1, 3): 1e18, (4, 0): 1e18},  # in the same component
        {(3, 4): -1e18, (4, 5): 1.0},  # a long way down, elsewhere
        {(3, 0): -1e18, (3, 4): 2e18},  # a long way down into the cycle
        {(1, 3): 3e18, (3, 0): -1e18},  # a long way down and up again
    ],
    ids=["elsewhere", "same component", "negative elsewhere", "into the cycle", "round"],
)
def test_a_huge_weight_hides_no_cycle(far, name, dtype, overwrite):
    sign = 1 if name == "min_plus" else -1
    A = sign * matrix(6, {(0, 1): -2.0, (1, 0): -3.0, **far}, dtype)
    error = refused(A, name, overwrite=overwrite)
    assert sorted(error.cycle) == [0, 1]
    assert isinstance(error, NegativeCycleError) == (name == "min_plus")


@BOTH
def test_not_even_weights_sixty_orders_of_magnitude_apart(overwrite):
    for size in (1e30, 1e60, 1e200):
        A = matrix(4, {(0, 1): -2.0, (1, 0): -3.0, (3, 0): -size, (1, 3): 3 * size, (2, 3): -size * 1e20})
        assert sorted(refused(A, overwrite=overwrite).cycle) == [0, 1]


@BOTH
@pytest.mark.parametrize(("dtype", "short"), [("float32", 0.125), ("float64", 2.0**-36)])
def test_a_cycle_just_beyond_rounding_is_negative_among_thousands_of_vertices(dtype, short, overwrite):
    """1000 and −1000 − short: some last digits, far less than n · eps · 1000."""
    n = 700
    A = matrix(n, {(5, 600): 1000.0, (600, 5): -1000.0 - short}, dtype)
    assert refused(A, overwrite=overwrite).cycle == [5, 600]
    A[600, 5] = -1000.0
    assert closure(A, overwrite=overwrite)[600, 5] == -1000


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_sum_of_floats_and_its_negative_are_no_cycle(dtype, overwrite):
    """The last edge is minus the float sum of the others: whatever rounding left is not a negative cycle."""
    rng = np.random.default_rng(0)
    for n in (3, 4, 20, 300):
        for _ in range(5):
            w = rng.random(n).astype(dtype)
            order = rng.permutation(n)
            A = matrix(n, {}, dtype)
            A[order, np.roll(order, -1)] = w
            A[order[-1], order[0]] = -w[:-1].cumsum(dtype=dtype)[-1]
            D = closure(A, overwrite=overwrite)
            assert (D.diagonal() == 0).all()
            along = np.concatenate([[0], w[:-1].astype(np.float64).cumsum()])
            expected = np.empty((n, n))
            expected[np.ix_(order, order)] = along[None, :] - along[:, None]
            np.testing.assert_allclose(D, expected, atol=4 * n * np.finfo(dtype).eps * n)


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["min_plus", "max_plus"])
def test_differences_of_a_potential_are_no_cycles(name, dtype, overwrite):
    """w(i, j) = h(i) − h(j): every cycle weighs 0 but for rounding."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        h = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
        A = (h[:, None] - h[None, :]).astype(dtype)
        expected = A.copy()
        D = closure(A, name, overwrite=overwrite)
        assert (D is A) == overwrite
        np.testing.assert_allclose(D, expected, rtol=0, atol=4 * np.finfo(dtype).eps * abs(expected).max())
        assert (D.diagonal() == 0).all()


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_true_cycle_among_cycles_of_weight_zero_is_named_and_the_matrix_is_whole(dtype, overwrite):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 40
        h = rng.standard_normal(n) * 100
        A = (h[:, None] - h[None, :]).astype(dtype)
        u, v = rng.permutation(n)[:2]
        A[u, v] -= 0.5
        error = refused(A, overwrite=overwrite)
        assert weight(A, error.cycle) < -0.4
        assert {u, v} <= set(error.cycle)


@BOTH
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", *FLOATS])
def test_random_matrices_agree_with_networkx(dtype, overwrite):
    """Small integers: sums are exact, so a cycle is negative or it is not."""
    diverged = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        W = rng.integers(-3, 12, (n, n))
        missing = rng.random((n, n)) < rng.choice([0.2, 0.5, 0.7])
        none = np.inf if dtype.startswith("float") else np.iinfo(dtype).max
        A = np.array(np.where(missing, none, W.astype(dtype)), dtype, order="CF"[seed % 2])
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_weighted_edges_from((i, j, int(A[i, j])) for i, j in np.argwhere(~missing))
        given = A.copy(order="K")
        if nx.negative_edge_cycle(graph):
            diverged += 1
            assert weight(A, refused(A, overwrite=overwrite).cycle) < 0
        else:
            expected = np.full((n, n), none, dtype)
            for i, row in nx.johnson(graph).items() if graph.number_of_edges() else ():
                for j, path in row.items():
                    expected[i, j] = sum(given[a, b] for a, b in itertools.pairwise(path))
            np.fill_diagonal(expected, 0)
            np.testing.assert_array_equal(closure(A, overwrite=overwrite), expected)
    assert 5 < diverged < 55


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("listed", [False, True], ids=["matrix", "edges"])
def test_cycles_whose_sums_leave_float64(listed, seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 4
    ring = rng.permutation(n)
    weights = rng.choice([-1.7e308, -1e308, 1e308, 1.5e308], n)
    A = np.full((n, n), NONE)
    A[ring, np.roll(ring, -1)] = weights
    edges = [(int(i), int(j), float(A[i, j])) for i, j in zip(*np.nonzero(A < NONE), strict=True)]
    found = negative_cycle(edges) if listed else negative_cycle(A, null_value=None)
    exact = sum(map(Fraction, weights.tolist()))
    assert (found is not None) == (exact < 0)
    if exact < 0:
        assert sorted(found) == list(range(n))
        with pytest.raises(NegativeCycleError, match="no cycle may have a negative weight"):
            closure(edges if listed else A, null_value=None)


def test_integers_that_no_float_holds():
    big = 2**62
    A = np.full((3, 3), np.iinfo(np.int64).max)
    A[0, 1], A[1, 0] = big + 1, -big - 1
    assert closure(A.copy(), overwrite=True)[0, 1] == big + 1
    A[1, 0] = -big - 2
    assert refused(A, overwrite=True).cycle == [0, 1]


def test_a_small_cycle_behind_a_huge_edge_is_found_by_the_last_digits_of_labels():
    """Labels are about −2⁶⁰, whose neighbours among floats are 128 away; the cycle weighs −1."""
    none = np.iinfo(np.int64).max
    A = np.full((4, 4), none)
    A[0, 1], A[1, 2], A[2, 3], A[3, 1] = -(2**60), 1, 1, -3
    assert sorted(refused(A, overwrite=True).cycle) == [1, 2, 3]
    A[3, 1] = -2
    assert closure(A)[0].tolist() == [0, -(2**60), 1 - 2**60, 2 - 2**60]


def test_sums_of_small_whole_numbers_are_exact_however_long():
    """In float32 their bound for rounding is 1.65 here, and −1 beyond it."""
    tropical = Lengths(1.0, False)
    assert tropical.rounding(np.array([4e6, 3, -4000004], np.float32)) == (-1.0, False)
    assert tropical.rounding(np.array([4e6, 3.0625, -4000004], np.float32))[1]  # which float32 has rounded


# Long cycles.


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_long_cycle_of_whole_numbers_is_never_rounding(dtype, overwrite):
    """A weight of −1 in all, far less than m · eps · Σ|w| in float32: but nothing is rounded."""
    n = 1200
    rng = np.random.default_rng(2)
    order, h = rng.permutation(n), rng.integers(0, 20_000, n)
    A = matrix(n, {}, dtype)
    A[order, np.roll(order, -1)] = h[np.roll(order, -1)] - h[order]
    assert closure(A.copy(), overwrite=overwrite)[order[0], order[-1]] == h[order[-1]] - h[order[0]]
    A[order[3], order[4]] -= 1
    assert len(refused(A, overwrite=overwrite).cycle) == n


@pytest.mark.parametrize("n", [1, 2, 3, 64, 300])
@pytest.mark.parametrize("kind", ["falling", "one step down", "up and down", "among longer edges", "among potentials"])
def test_a_negative_cycle_through_all_vertices_is_named(n, kind):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    follow = np.roll(order, -1)
    A = np.full((n, n), np.inf)
    if kind == "among longer edges":
        A = rng.integers(10 * n, 20 * n, (n, n)).astype(np.float64)
    if kind == "among potentials":
        h = rng.integers(0, 10_000, n)
        A = rng.integers(1, 100, (n, n)) + h[None, :] - h[:, None] + 0.0
        A[order, follow] = h[follow] - h[order]
        A[order[0], follow[0]] -= 1
    else:
        steps = {"one step down": np.ones(n), "up and down": rng.integers(-99, 100, n)}.get(kind, -np.ones(n))
        steps[0] -= steps.sum() + 1
        A[order, follow] = steps
    for given in (A, np.asfortranarray(A)):
        error = refused(given)
        assert set(error.cycle) == set(range(n))
        assert weight(A, error.cycle) == -1


def test_the_search_itself_finds_a_cycle_or_potentials_in_any_layout():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        h = rng.integers(-50, 50, n)
        W = np.where(rng.random((n, n)) < 0.3, rng.integers(0, 9, (n, n)) + h[None, :] - h[:, None], np.inf)
        W[rng.integers(n), rng.integers(n)] -= rng.integers(0, 8)
        wide = np.full((n, 2 * n), -1e9)
        wide[:, ::2] = W

        for A in (W, np.asfortranarray(W), wide[:, ::2], W.astype(np.float32)):
            cycle, (high, low) = search(A, get("min_plus"))
            if cycle:
                assert weight(W, cycle) < 0
            else:
                assert not low.any()
                assert (W + high[:, None] - high[None, :] >= 0).all()
    ring = matrix(5, {(0, 3): 1.0, (3, 1): -4.0, (1, 4): 1.0, (4, 0): 1.0})
    for A in (ring, np.asfortranarray(ring)):
        assert search(A, get("min_plus"))[0] == [0, 3, 1, 4]


# Overwriting.


def test_overwriting_with_a_negative_entry_holds_next_to_nothing_beside_the_matrix():
    n = 1500
    for dtype in FLOATS:
        A = np.full((n, n), 3, dtype)
        A[7, 9] = -1
        closure(A[:4, :4].copy(), overwrite=True)  # what is compiled is not counted
        with holding_less_than(0.1 * A.nbytes + 2**23):
            closure(A, overwrite=True)
        assert A[7, 9] == -1


#: (min, +) by an operation that says nothing of itself, so that its products cannot be undone.
SILENT = Semiring(
    "silent",
    add=Op("least", python=lambda a, b: a if a < b else b, cuda="min(a, b)", selects="least"),
    mul=Op("sum", python=lambda a, b: a + b, cuda="a + b"),
    zero=math.inf,
    one=0,
    samples=(0.0, 1.0, math.inf),
)


def test_an_error_that_comes_too_late_says_that_the_matrix_is_lost():
    A = matrix(3, {(0, 1): -2.0, (1, 0): 1.0})
    with pytest.raises(DivergenceError, match="lost by now"):
        closure(A.copy(), SILENT, overwrite=True)
    assert "lost" not in str(refused(A, SILENT))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["plus_times", "log_plus"])
def test_batches_of_sums_are_judged_matrix_by_matrix(name, dtype):
    rng, log = np.random.default_rng(3), name == "log_plus"
    P = rng.random((6, 9, 9))
    P[1] = np.triu(P[1], 1)  # acyclic
    P[2, 4:, :4] = P[3, :4, 4:] = 0  # two components, one way and the other
    P[1:] /= np.maximum(P[1:].sum(axis=2, keepdims=True), 1e-3)
    P[0] /= 10  # rows of the first sum to less than 1 ...
    P[1:, 0] *= 0.5
    P[2:4, 8] *= 0.5  # ... of others one or two, so that components decide
    with np.errstate(divide="ignore"):
        A = (np.log(P) if log else P).astype(dtype)
        expected = np.linalg.inv(np.eye(9) - P)
        expected = np.log(np.where(expected > 1e-12, expected, 0)) if log else expected
    np.testing.assert_allclose(closure(A, name), expected, rtol=1e-4, atol=1e-4)
    for at, vertex in ((2, 8), (3, 0), (4, 0), (5, 0)):
        bad = A.copy()
        bad[at, vertex] += np.log(2) if log else bad[at, vertex]
        for overwrite in (False, True):  # before anything is written
            before = bad.copy()
            with pytest.raises(DivergenceError, match=f"all rows.* It is matrix {at} of the batch") as caught:
                closure(bad, name, overwrite=overwrite)
            assert caught.value.vertex == (4 if at == 2 else 0)
            np.testing.assert_array_equal(bad, before)


def test_a_batch_says_which_matrix_diverges():
    A = np.zeros((3, 2, 2))
    A[1, 0, 1] = -1
    with pytest.raises(NegativeCycleError, match="matrix 1 of the batch") as caught:
        closure(A, null_value=None)
    assert caught.value.cycle == [0, 1]


# Products.


@BOTH
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["max_times", "min_times"])
def test_exchange_rates_without_arbitrage_have_a_closure(name, dtype, overwrite):
    """w(i, j) = p(i) / p(j): every product round a cycle is 1 but for rounding."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = np.exp(rng.standard_normal(30) * 3)
        A = (p[:, None] / p[None, :]).astype(dtype)
        expected = A.copy()
        D = closure(A, name, overwrite=overwrite)
        np.testing.assert_allclose(D, expected, rtol=100 * np.finfo(dtype).eps)
        assert (D.diagonal() == 1).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["max_times", "min_times"])
def test_products_of_powers_of_two_are_exact_in_place_too(name, dtype):
    """Cycles of exactly 1, whose products no arithmetic rounds: no logarithm is taken of them."""
    sign, rng = 1 if name == "max_times" else -1, np.random.default_rng(5)
    for n in (2, 3, 7, 11):
        p = rng.integers(-4, 5, n)
        exponents = p[None, :] - p[:, None] - sign * rng.integers(0, 3, (n, n))
        np.fill_diagonal(exponents, 0)
        A = (2.0**exponents).astype(dtype)
        shortest = cases.floyd_warshall(-sign * exponents)
        for overwrite in (False, True):
            np.testing.assert_array_equal(
                closure(A.copy(), name, overwrite=overwrite), 2.0 ** (-sign * shortest).astype(float)
            )
        A[0, 1] *= 2.0 ** (7 * sign)
        assert refused(A, name, overwrite=True).vertex is not None


@BOTH
@pytest.mark.parametrize("name", ["max_times", "min_times"])
def test_arbitrage_is_named(name, overwrite):
    rng = np.random.default_rng(0)
    p = np.exp(rng.standard_normal(30) * 3)
    A = p[:, None] / p[None, :]
    gain = 1.001 if name == "max_times" else 1 / 1.001
    A[3, 17] *= gain
    A[20, 21] *= 1 / gain
    error = refused(A, name, overwrite=overwrite)
    ring = list(itertools.pairwise([*error.cycle, error.cycle[0]]))
    assert (3, 17) in ring
    assert np.prod([A[edge] for edge in ring]) == pytest.approx(gain)
    assert f"of weight {gain:g}" in str(error)


@BOTH
def test_a_huge_factor_hides_no_cycle(overwrite):
    A = matrix(6, {(0, 1): 0.5, (1, 0): 2.000001, (3, 4): 1e18}, none=0.0)
    assert refused(A, "max_times", overwrite=overwrite).cycle == [0, 1]
    A = matrix(6, {(0, 1): 0.5, (1, 0): 1.999999, (3, 4): 1e-18})
    assert refused(A, "min_times", overwrite=overwrite).cycle == [0, 1]


def test_an_unknown_operation_is_judged_within_its_component():
    assert refused(matrix(6, {(0, 1): -2.0, (1, 0): -3.0, (3, 4): 1e18}), SILENT).vertex in (0, 1)
    leads_away = {(0, 1): -2.0, (1, 0): -3.0, (1, 3): 1e18}
    assert refused(matrix(6, leads_away), SILENT).vertex in (0, 1)
    assert refused(matrix(6, leads_away).T.copy(), SILENT).vertex in (0, 1)
    rounded = matrix(3, {(0, 1): 0.1, (1, 2): 0.7, (2, 0): -0.8})
    assert (closure(rounded, SILENT).diagonal() == 0).all()


@pytest.mark.parametrize(
    ("diagonal", "vertex"), [([0, 0], None), ([0, -1], 1), ([0, np.nan, -9], 1), ([-1, np.inf], 1)]
)
def test_the_vertex_furthest_from_one_is_named(diagonal, vertex):
    assert beaten(np.array(diagonal, float), get("min_plus")) == vertex


# Sums over all walks.


def chain(n: int, seed: int) -> np.ndarray:
    """Transition probabilities: rows that sum to 1, in one of several shapes."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n))
    if seed % 3 == 1:
        P = np.where(rng.random((n, n)) < 2 / n, P, 0)
        P[range(n), np.roll(range(n), -1)] += rng.random(n) + 0.01
    if seed % 3 == 2:
        P = np.roll(np.eye(n), 1, axis=1)
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ["rows", "columns", "scaled", "followed by an acyclic part"])
def test_a_spectral_radius_of_one_has_no_limit(dtype, shape):
    for seed in range(60):
        n = 2 + seed % 13
        P = chain(n, seed)
        if shape == "columns":
            P = P.T
        if shape == "scaled":
            d = np.exp(np.random.default_rng(seed).standard_normal(n) * 2)
            P = P * d[:, None] / d[None, :]
        if shape == "followed by an acyclic part":
            P = np.block([[P, np.ones((n, 3))], [np.zeros((3, n)), np.triu(np.ones((3, 3)), 1)]])
        P = P.astype(dtype)
        refused(P, "plus_times")
        with np.errstate(divide="ignore"):
            refused(np.log(P), "log_plus")


@pytest.mark.parametrize(("dtype", "radius"), [("float32", 0.99), ("float64", 0.999999)])
def test_a_spectral_radius_below_one_has_one(dtype, radius):
    for seed in range(30):
        n = 2 + seed % 13
        P = (chain(n, seed) * radius).astype(dtype)
        expected = np.linalg.inv(np.eye(n) - P.astype(np.float64))
        tolerance = 10 * n * np.finfo(dtype).eps / (1 - radius)
        np.testing.assert_allclose(closure(P, "plus_times"), expected, rtol=tolerance)
        with np.errstate(divide="ignore"):
            D = closure(np.log(P), "log_plus")
        np.testing.assert_allclose(np.exp(D.astype(np.float64)), expected, rtol=40 * tolerance)


def test_a_radius_of_one_is_seen_before_an_overwritten_matrix_is_lost():
    P = chain(9, 0)
    before = P.copy()
    with pytest.raises(DivergenceError):
        closure(P, "plus_times", overwrite=True)
    np.testing.assert_array_equal(P, before)


def test_a_self_loop_near_one_beside_many_others_is_no_divergence():
    A = np.zeros((900, 900), np.float32)
    A[4, 4] = 1 - 2.0**-16
    A[5, 6] = 3.0
    D = closure(A, "plus_times")
    assert D[4, 4] == 2**16
    assert D[5, 6] == 3


@pytest.mark.parametrize("semiring", ["plus_times", "named"])
def test_an_acyclic_matrix_has_a_closure_whatever_its_entries_are(semiring):
    s = semiring if semiring == "plus_times" else OWN_REAL
    A = np.zeros((4, 4))
    A[0, 1], A[1, 2], A[0, 2], A[2, 3] = 1e100, -1e100, 5.0, -1.0
    D = closure(A, s)
    np.testing.assert_array_equal(D, np.eye(4) + A + A @ A + A @ A @ A)
    order = np.random.default_rng(0).permutation(4)
    np.testing.assert_array_equal(closure(A[np.ix_(order, order)], s), D[np.ix_(order, order)])


def test_signed_components_are_judged_one_by_one_by_their_eigenvalues():
    refused_count = settled = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        blocks = [rng.standard_normal((k, k)) * 10.0 ** rng.uniform(-1, 0) for k in rng.integers(1, 5, 3)]
        radius = max(abs(np.linalg.eigvals(B)).max() for B in blocks)
        n = sum(map(len, blocks))
        A = np.triu(rng.standard_normal((n, n)) * 1e50, 1)  # from earlier components to later ones
        at = 0
        for B in blocks:
            A[at : at + len(B), at : at + len(B)] = B
            at += len(B)
        if radius > 1:
            refused_count += 1
            refused(A, "plus_times")
        else:
            with contextlib.suppress(DivergenceError):  # a pivot may be 1 or more though the spectral radius is not
                D = closure(A, "plus_times")
                settled += 1
                np.testing.assert_allclose(D @ (np.eye(n) - A), np.eye(n), atol=1e-6 * abs(D).max() * 1e50)
    assert refused_count > 10
    assert settled > 10


@pytest.mark.parametrize("scale", [1.0, 1e120])
def test_a_signed_rotation_is_judged_by_its_radius_and_not_by_its_norm(scale):
    for radius, exists in ((0.999, True), (1.0, False), (1.001, False)):
        A = np.array([[0, -radius * scale], [radius / scale, 0]])
        if exists:
            np.testing.assert_allclose(closure(A, "plus_times"), np.linalg.inv(np.eye(2) - A), rtol=1e-12)
        else:
            refused(A, "plus_times")


# Nothing is decided by a name.


#: (+, ×) under other names, with a star that knows no bounds.
OWN_REAL = Semiring(
    "ordinary",
    add=Op("sum", python=lambda a, b: a + b, cuda="a + b", ufunc=np.add),
    mul=Op("product", python=lambda a, b: a * b, cuda="a * b", ufunc=np.multiply),
    zero=0,
    one=1,
    idempotent=False,
    star=Star(python=lambda a: 1 / (1 - a), cuda="T(1) / (T(1) - a)"),
    samples=(-0.5, 0.0, 0.25, 0.5),
    tolerance=1e-12,
    series="real",
)


@pytest.mark.parametrize("series", ["real", None])
def test_ordinary_sums_under_other_names_are_refused_too(series):
    s = replace(OWN_REAL, series=series)
    for A in ([[2.0]], [[0.5, 0.75], [0.75, 0.5]], [[0, -2.0], [2.0, 0]], [[0.0, 1.0], [1.0, 0.0]], [[-1.0]]):
        refused(np.array(A), s)
    A = np.array([[0.5, -0.25, 0.0], [0.25, 0.5, 7.0], [0.0, 0.0, -0.75]])
    np.testing.assert_allclose(closure(A, s), np.linalg.inv(np.eye(3) - A), rtol=1e-12)


@BOTH
def test_lengths_under_other_names_have_named_cycles(overwrite):
    s = Semiring(
        "plus_times",  # a lie
        add=Op("lor", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max"),
        mul=Op("times", python=lambda a, b: a + b, cuda="a + b", simd="add", saturating=True),
        zero=-math.inf,
        one=0,
        dtypes=("int32", "float64"),
        samples=(-math.inf, -1, 0),
    )
    for dtype, none in (("float64", -np.inf), ("int32", np.iinfo("int32").min)):
        A = matrix(3, {(0, 1): 4, (1, 2): 2, (2, 0): -5}, dtype, none)
        error = refused(A, s, overwrite=overwrite)
        assert error.cycle == [0, 1, 2]
        assert "positive weight" in str(error)
        assert not isinstance(error, NegativeCycleError)


def test_counting_walks_modulo_two_does_not_settle_on_a_cycle():
    parity = Semiring(
        "parity",
        add=Op("xor", python=lambda a, b: a ^ b, cuda="a ^ b"),
        mul=Op("both", python=lambda a, b: a & b, cuda="a & b"),
        zero=0,
        one=1,
        dtypes=("int32",),
        domain=(0, 1),
        idempotent=False,
        star=Star(python=lambda a: math.inf if a else 1, cuda="a ? T(INFINITY) : T(1)"),
        samples=(0, 1),
    )
    A = np.triu(np.ones((4, 4), np.int32), 1)
    assert closure(A, parity)[0].tolist() == [1, 1, 0, 0]  # 1, 1, 2, 4 walks
    A[3, 0] = 1
    refused(A, parity)


def test_a_loop_that_beats_one_is_no_rounding_whatever_else_weighs():
    """⊗ says nothing of itself, so that its cycles cannot be added up; a loop needs no sum."""
    A = np.full((3, 3), 1e18)
    A[2, 0] = A[2, 2] = -1
    with pytest.raises(DivergenceError, match="vertex 2 weighs -1"):
        closure(A, SILENT)


#: One star, so that it is compiled once, of which each of these weights of a cycle meets another case.
STARLESS = cases.counting(
    Star(
        python=lambda a: 1 if a == 0 else math.nan if a == 4 else 2.0**31 if a == 8 else 0.5 if a == 16 else math.inf,
        cuda="a == T(0) ? T(1) : T(INFINITY)",
    )
)


@pytest.mark.parametrize("weight", [2, 4, 8, 16], ids=["inf", "nan", "beyond", "fraction"])
def test_a_star_of_integers_can_have_no_value(weight):
    s = STARLESS
    # Powers of 2 wrap to 0, so that partial sums settle: elimination alone meets what has no value.
    for A in ([[weight]], [[0, weight // 2], [2, 0]]):
        error = refused(np.array(A, np.int32), s)
        assert "star over counting is no number of int32" in str(error)
    assert closure(np.triu(np.full((5, 5), 2, np.int32), 1), s)[0].tolist() == [1, 2, 6, 18, 54]


def test_a_star_of_integers_has_no_value_whatever_the_schedule():
    s = STARLESS
    A = np.zeros((150, 150), np.int32)
    A[149, 140] = A[140, 149] = 1 << 15  # powers of their cycle are 0 modulo 2³²
    for schedule in schedules.names():
        if not schedules.get(schedule).refuses(s):
            refused(A, s, schedule=schedule, block=64)
    with pytest.raises(DivergenceError, match="are lost by now"):
        closure(A.copy(), s, overwrite=True)
    assert "matrix 1 of the batch" in str(refused(np.stack([np.zeros_like(A), A]), s))
    with pytest.raises(DivergenceError, match="no number of int32"):
        eliminate(scipy.sparse.csr_array(A), s)
    with pytest.raises(DivergenceError, match="no number of int32"):
        bind(s, "int32").closure_batch(np.stack([A] * 9))


def test_a_negative_cycle_is_looked_for_among_lengths_alone():
    for graph in ([(0, 1, -math.inf), (1, 0, 3)], np.array([[0, -math.inf], [3, 0]])):
        with pytest.raises(DomainError, match=r"negative_cycle: entries of a min_plus matrix .*got -inf"):
            negative_cycle(graph)
