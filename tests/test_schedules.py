"""Every schedule over every semiring, on a backend of uncompiled loops: the order of the verbs alone is on trial."""

from __future__ import annotations

import importlib
from pathlib import Path

import cases
import numpy as np
import pytest
from parts import PartsBackend
from reference import Reference

from apsp import closure
from apsp.road import schedules
from apsp.road.schedules import blocks
from semiring import AlgebraError, DivergenceError, get
from semiring.algebra import dtypes
from semiring.kernels.backend import Backend, bind
from semiring.kernels.observed import Clock, Observed, Progress, Traffic

ALL = [*cases.CASES, *cases.USER_CASES]


@pytest.mark.parametrize(("name", "case"), cases.few_by_schedule(ALL))
def test_a_schedule_computes_the_closure(name, case):
    for n, block in ((0, 4), (1, 4), (5, 1), (7, 2), (13, 4), (16, 4)):
        A = cases.random_matrix(case, (n, n), seed=n + block)
        expected = cases.closure(case, A)
        schedules.get(name)(A, Reference(case), block=block)
        cases.same(case, A, expected)


@pytest.mark.parametrize("case", cases.few(ALL))
def test_recursion_hands_over_to_the_blocked_schedule(case):
    A = cases.random_matrix(case, (23, 23), seed=3)
    expected = cases.closure(case, A)
    schedules.get("recursive")(A, Reference(case, cutover=12), block=3)
    cases.same(case, A, expected)


@pytest.mark.parametrize(("n", "block"), [(2, 1), (5, 4), (65, 64), (127, 64), (128, 64), (1000, 64), (129, 128)])
def test_halving_leaves_whole_blocks_first_and_nothing_empty(n, block):
    h = blocks.half(n, block)
    assert 0 < h < n
    assert h % block == 0
    assert h >= n - h or h + block > n - h


def test_pivots_and_what_lies_around_them_cover_the_diagonal():
    covered = np.zeros(10, dtype=int)
    for k in blocks.pivots(10, 4):
        covered[k] += 1
        assert sum(s.stop - s.start for s in blocks.around(10, k)) == 10 - (k.stop - k.start)
        assert all(s.start < s.stop for s in blocks.around(10, k))
    assert (covered == 1).all()


class Eliminates(Reference):
    """A reference with an elimination of its own, as backends may have."""

    eliminations = 0

    def eliminate(self, D, R, C, rest):
        self.eliminations += 1
        super().eliminate(D, R, C, rest)


@pytest.mark.parametrize("case", cases.few(ALL))
def test_recursion_takes_a_backend_s_own_elimination(case):
    A = cases.random_matrix(case, (17, 17), seed=5)
    expected = cases.closure(case, A)
    ops = Eliminates(case)
    schedules.get("recursive")(A, ops, block=4)
    cases.same(case, A, expected)
    assert ops.eliminations == 8  # four matrices are halved


@pytest.mark.parametrize("apart", [False, True])
def test_an_elimination_is_counted_as_its_three_products(apart):
    case = ALL[0]
    A = cases.random_matrix(case, (17, 17), seed=5)
    ops, seen = Eliminates(case), []
    progress, clock = Progress(17**3, lambda done, total: seen.append(done)), Clock(ops)
    schedules.get("recursive")(A, Observed(ops, clock, progress, apart=apart), block=4)
    assert progress.done == seen[-1] == 17**3
    assert ("eliminate" in clock.seconds) is not apart
    assert (ops.eliminations > 0) is not apart


@pytest.mark.parametrize("name", schedules.names())
@pytest.mark.parametrize(("n", "block"), [(0, 4), (1, 4), (2, 1), (13, 4), (16, 4), (17, 5)])
def test_a_schedule_does_the_pairs_that_it_promises(name, n, block):
    case, schedule, done = ALL[0], schedules.get(name), []
    total = schedule.pairs(n)
    progress = Progress(total, lambda *counted: done.append(counted))
    schedule(cases.random_matrix(case, (n, n), seed=1), Observed(Reference(case), progress), block=block)
    assert progress.done == total
    assert not done or done[-1] == (total, total)


@pytest.mark.parametrize("name", schedules.names())
def test_a_schedule_is_documented_with_its_source(name):
    assert f"\n| `{name}` | " in (Path(__file__).parents[1] / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert importlib.import_module(f"apsp.road.schedules.{name}").__doc__


def test_traffic_is_counted_without_computing_anything():
    case, counted = ALL[0], Traffic()
    nothing = np.broadcast_to(np.zeros((), np.int8), (12, 12))  # read-only: a verb that computed would raise
    schedules.get("iterative")(nothing, Observed(Reference(case), counted, dry=True), block=4)
    assert counted.entries == 12 * (2 * 12**2 + 2 * 12)
    assert counted.pairs == 12**3


@pytest.mark.parametrize("case", cases.few(ALL))
def test_the_identity_is_added_to_a_matrix(case):
    A = cases.random_matrix(case, (5, 5), seed=2, density=0.8)
    expected = A.copy()
    for k in range(5):
        expected[k, k] = case.semiring.add.python(case.one.item(), A[k, k].item())
    Backend.add_one(Reference(case), A)
    cases.same(case, A, expected)


def test_squaring_is_refused_where_it_would_add_walks_twice():
    assert "idempotent" in schedules.get("squaring").refuses(get("plus_times"))
    with pytest.raises(AlgebraError, match=r"squaring cannot close a matrix over plus_times.*idempotent.*another"):
        closure(np.full((3, 3), 0.1), "plus_times", schedule="squaring")


@pytest.mark.parametrize(
    ("name", "case"), cases.few_by_schedule(ALL, frozenset(("max_plus-int32", "plus_times-float64", "lor_land-bool")))
)
def test_a_schedule_runs_unchanged_on_a_matrix_in_parts(name, case):
    """As on several processes: 2 × 2 parts of unequal size, cut where no block ends."""
    for n, block in ((0, 4), (1, 4), (6, 4), (13, 3)):
        ops = PartsBackend(case)
        A = cases.random_matrix(case, (n, n), seed=n)
        matrix = ops.upload(A)
        schedules.get(name)(matrix, ops, block=block)
        cases.same(case, ops.download(matrix), cases.closure(case, A))


@pytest.mark.parametrize("name", ["recursive", "blocked", "iterative"])
@pytest.mark.parametrize(("n", "block"), [(100, 64), (700, 64), (520, 256), (901, 256), (2000, 256)])
def test_what_a_schedule_holds_is_what_its_verbs_hold(name, n, block, monkeypatch):
    """No verb computes: each tells what it would hold."""
    ops, held = bind(get("min_plus"), "float64", threads=2), [0]

    def holds(verb, *shape):
        held.append(ops.verb_workspace(verb, *shape))

    verbs = {
        "closure": lambda D: holds("closure", len(D), len(D), len(D)),
        "step": lambda A, k: holds("step", len(A), len(A), 1),
        "left_mul": lambda D, R: holds("left_mul", *R.shape, len(D)),
        "right_mul": lambda C, D: holds("right_mul", *C.shape, len(D)),
        "gemm": lambda C, A, B: holds("gemm", *C.shape, len(B)),
    }
    for verb, instead in verbs.items():
        monkeypatch.setattr(ops, verb, instead)
    schedules.get(name)(np.broadcast_to(0.0, (n, n)), ops, block=block)
    assert max(held) == schedules.get(name).workspace(n, ops, block=block)


@pytest.mark.parametrize(("name", "dtype"), [("min_plus", "float32"), ("min_plus", "int16"), ("max_min", "float64")])
@pytest.mark.parametrize("n", [512, 700])
def test_half_of_the_products_of_a_symmetric_matrix_on_a_cpu(name, dtype, n, monkeypatch):
    """SciPy's distances where sums are exact, in a view of rows of any pitch; rounded ones are the same both ways."""
    from scipy.sparse.csgraph import dijkstra

    s, rng = get(name), np.random.default_rng(n)
    ops, zero = bind(s, np.dtype(dtype), threads=2), dtypes.zero(s, np.dtype(dtype))
    weights = np.where(rng.random((n, n)) < 0.02, rng.integers(1, 99, (n, n)), 0)
    weights = np.tril(weights, -1) + np.tril(weights, -1).T
    around = np.full((n, n + 5), 7, dtype)
    A = around[:, 2:-3]
    A[...] = np.where(weights == 0, zero, weights)
    monkeypatch.setattr(ops, "mirrors", 512)
    verbs = []
    for verb in ("eliminate", "eliminate_mirrored"):
        run = getattr(ops, verb)
        monkeypatch.setattr(ops, verb, lambda *X, run=run, verb=verb: verbs.append(verb) or run(*X))
    one_way = A.copy()
    one_way[n - 1, n - 2], one_way[n - 2, n - 1] = zero, 1
    expected = A.copy()
    schedules.get("recursive").closure(A, ops, block=ops.pivot)
    assert set(verbs) == {"eliminate_mirrored"}
    assert (around[:, :2] == 7).all()
    assert (around[:, -3:] == 7).all()
    if name == "min_plus":
        there = dijkstra(weights)
        np.testing.assert_array_equal(A, np.where(np.isinf(there), zero, there).astype(dtype))
    else:
        schedules.get("iterative").closure(expected, ops, block=ops.pivot)
        np.testing.assert_array_equal(A, expected)
    verbs.clear()
    schedules.get("recursive").closure(one_way, ops, block=ops.pivot)
    assert set(verbs) == {"eliminate"}
    if dtype == "float32":
        rounded = np.where(weights == 0, np.inf, np.tril(rng.random((n, n)), -1)).astype(dtype)
        rounded = np.where(np.tri(n) > 0, rounded, rounded.T)
        expected = dijkstra(np.where(weights == 0, 0, rounded.astype(float)))
        schedules.get("recursive").closure(rounded, ops, block=ops.pivot)
        np.testing.assert_array_equal(rounded, rounded.T)
        np.testing.assert_allclose(rounded, expected, rtol=1e-5)


def test_edges_that_gain_both_ways_are_found(monkeypatch):
    """A symmetric matrix with an edge below 0 has a cycle below 0."""
    monkeypatch.setattr("semiring.kernels.cpu.dense.backend.CpuBackend.mirrors", 512)
    A = np.full((600, 600), np.inf)
    A[np.arange(599), np.arange(1, 600)] = A[np.arange(1, 600), np.arange(599)] = 1
    A[3, 4] = A[4, 3] = -1
    with pytest.raises(DivergenceError):
        closure(A)
