"""`closure` and `plan` on the CPU: every schedule, semiring and dtype against the oracle, SciPy and NetworkX."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace

import cases
import networkx as nx
import numpy as np
import people
import pytest
import scipy.sparse.csgraph as csgraph

from apsp import AmbiguityWarning, closure, plan
from apsp.road import schedules
from semiring import BitMatrix, DeviceError, DivergenceError, DomainError, DTypeError, NegativeCycleError, ShapeError
from semiring.algebra import dtypes

ALL = [*cases.CASES, *cases.USER_CASES]


@pytest.mark.parametrize(
    ("schedule", "case"), [*(pytest.param("auto", c, id=f"auto-{c}") for c in ALL), *cases.few_by_schedule(ALL)]
)
def test_every_schedule_semiring_and_dtype_agrees_with_the_oracle(schedule, case):
    for n in cases.SMALL:
        A = cases.random_matrix(case, (n, n), seed=n)
        before = A.copy()
        cases.same(case, closure(A, case.semiring, schedule=schedule), cases.closure(case, A))
        np.testing.assert_array_equal(A, before)


@functools.cache
def awkward(name: str) -> tuple[cases.Case, list[tuple[np.ndarray, np.ndarray]]]:
    """Matrices and their closures, once for all schedules."""
    case = next(c for c in cases.CASES if str(c) == name)
    matrices = [cases.random_matrix(case, (n, n), seed=n, density=0.1) for n in cases.SIZES]
    return case, [(A, cases.closure(case, A)) for A in matrices]


@pytest.mark.parametrize("name", ["min_plus-float32", "min_plus-int16", "lor_land-bool", "max_min-float64"])
@pytest.mark.parametrize("schedule", schedules.names())
def test_awkward_sizes_around_the_pivot_block(name, schedule):
    case, matrices = awkward(name)
    for A, expected in matrices:
        cases.same(case, closure(A, case.semiring, schedule=schedule), expected)
        cases.same(case, closure(A, case.semiring, schedule=schedule, block=10), expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_layout_of_memory(case):
    A = cases.random_matrix(case, (37, 37), seed=1)
    expected = cases.closure(case, A)
    for layout, view in cases.layouts(A):
        got = closure(view, case.semiring)
        assert got.dtype.isnative, layout
        cases.same(case, got, expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_overwrite_returns_the_same_memory(case):
    A = cases.random_matrix(case, (37, 37), seed=2)
    expected = cases.closure(case, A)
    for layout, view in cases.layouts(A):
        if layout == "read-only" or not view.dtype.isnative:
            with pytest.raises((ValueError, DTypeError), match="overwrite"):
                closure(view, case.semiring, overwrite=True)
        else:
            assert closure(view, case.semiring, overwrite=True) is view
            cases.same(case, view, expected)


@pytest.mark.busy
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads):
    A = np.where(np.random.default_rng(0).random((200, 200)) < 0.1, np.random.default_rng(1).random((200, 200)), np.inf)
    np.testing.assert_array_equal(closure(A, threads=threads), closure(A))


def test_the_teaching_graph_after_each_k():
    """Its matrices, written out by hand arithmetic of the textbook recurrence."""
    from semiring.algebra.catalog import min_plus
    from semiring.kernels.backend import bind

    D = cases.six_matrix(np.int32)
    ops = bind(min_plus, D.dtype, nonnegative=True)
    A, inf = ops.upload(D), np.iinfo(np.int32).max
    after = {
        0: [[0, 4, inf, 5, 5, inf], [inf, 0, 7, 3, inf, inf], [inf, inf, 0, inf, inf, 4],
            [7, 11, 3, 0, 4, 3], [2, 6, inf, 6, 0, inf], [inf, inf, inf, 2, 1, 0]],
        1: [[0, 4, 11, 5, 5, inf], [inf, 0, 7, 3, inf, inf], [inf, inf, 0, inf, inf, 4],
            [7, 11, 3, 0, 4, 3], [2, 6, 13, 6, 0, inf], [inf, inf, inf, 2, 1, 0]],
        2: [[0, 4, 11, 5, 5, 15], [inf, 0, 7, 3, inf, 11], [inf, inf, 0, inf, inf, 4],
            [7, 11, 3, 0, 4, 3], [2, 6, 13, 6, 0, 17], [inf, inf, inf, 2, 1, 0]],
        3: [[0, 4, 8, 5, 5, 8], [10, 0, 6, 3, 7, 6], [inf, inf, 0, inf, inf, 4],
            [7, 11, 3, 0, 4, 3], [2, 6, 9, 6, 0, 9], [9, 13, 5, 2, 1, 0]],
        4: [[0, 4, 8, 5, 5, 8], [9, 0, 6, 3, 7, 6], [inf, inf, 0, inf, inf, 4],
            [6, 10, 3, 0, 4, 3], [2, 6, 9, 6, 0, 9], [3, 7, 5, 2, 1, 0]],
        5: [[0, 4, 8, 5, 5, 8], [9, 0, 6, 3, 7, 6], [7, 11, 0, 6, 5, 4],
            [6, 10, 3, 0, 4, 3], [2, 6, 9, 6, 0, 9], [3, 7, 5, 2, 1, 0]],
    }  # fmt: skip
    for k, expected in after.items():
        ops.step(A, k)
        np.testing.assert_array_equal(ops.download(A), expected)
    assert closure(D)[2].tolist() == [7, 11, 0, 6, 5, 4]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_negative_edges_agree_with_scipy_and_networkx(seed, dtype):
    """Weights p(j) − p(i) + r with r ≥ 0: negative edges, but no negative cycle."""
    rng = np.random.default_rng(seed)
    n = 80
    potential = rng.integers(-100, 100, n)
    W = rng.integers(0, 60, (n, n)) + potential[None, :] - potential[:, None]
    missing = rng.random((n, n)) < 0.9
    A = np.where(missing, np.inf, W)
    np.fill_diagonal(A, 0)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from((i, j, A[i, j]) for i, j in np.argwhere(np.isfinite(A)) if i != j)
    expected = csgraph.johnson(csgraph.csgraph_from_dense(A, null_value=np.inf))
    np.testing.assert_array_equal(nx.floyd_warshall_numpy(graph, nodelist=range(n)), expected)
    given = encoded(A, dtype)
    np.testing.assert_array_equal(closure(given), encoded(expected, dtype))
    for schedule in schedules.names():
        np.testing.assert_array_equal(closure(given, schedule=schedule), closure(given))


def encoded(A: np.ndarray, dtype: str) -> np.ndarray:
    """A float matrix in an integer dtype whose maximum stands for ∞."""
    out: np.ndarray = np.where(np.isinf(A) & (np.dtype(dtype).kind == "i"), 0, A).astype(dtype)
    if out.dtype.kind == "i":
        out[np.isinf(A)] = np.iinfo(dtype).max
    return out


def planted_cycle(n: int, seed: int, dtype: str) -> tuple[np.ndarray, set[int]]:
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.1, rng.integers(5, 50, (n, n)), 10**6).astype(np.float64)
    A[A == 10**6] = np.inf
    cycle = rng.permutation(n)[: rng.integers(1, 6)]
    for u, v in zip(cycle, np.roll(cycle, -1), strict=True):
        A[u, v] = 2
    A[cycle[-1], cycle[0]] = -2 * (len(cycle) - 1) - 1
    return encoded(A, dtype), set(cycle.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_every_planted_negative_cycle_is_found_and_named(dtype, overwrite):
    for seed in range(12):
        A, cycle = planted_cycle(70, seed, dtype)
        before = A.copy()
        with pytest.raises(NegativeCycleError) as caught:
            closure(A, overwrite=overwrite)
        assert caught.value.vertex in cycle
        assert set(caught.value.cycle) == cycle
        np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("name", ["min_plus", "max_plus"])
def test_a_self_loop_that_pays_diverges(name):
    A = np.full((5, 5), np.inf if name == "min_plus" else -np.inf)
    A[3, 3] = -0.5 if name == "min_plus" else 0.5
    with pytest.raises(DivergenceError) as caught:
        closure(A, name)
    assert caught.value.vertex == 3
    assert isinstance(caught.value, NegativeCycleError) == (name == "min_plus")


@pytest.mark.parametrize(
    ("name", "entries", "vertex"),
    [
        ("max_times", [[0, 2.0], [0.75, 0]], None),
        ("min_times", [[np.inf, 0.5], [1.5, np.inf]], None),
        ("plus_times", [[0.5, 0.75], [0.75, 0.5]], None),
        ("plus_times", [[0, -2.0], [2.0, 0]], None),
        ("plus_times", [[-1.5, 0], [0, 0.25]], None),
        ("log_plus", [[-1.0, 0.5], [0.5, -1.0]], None),
        ("log_plus", [[0.0]], 0),
        ("plus_times", [[1.0]], 0),
    ],
)
@pytest.mark.parametrize("schedule", ["iterative", "blocked", "recursive", "bordering"])
def test_what_has_no_limit_diverges(name, entries, vertex, schedule):
    with pytest.raises(DivergenceError) as caught:
        closure(np.array(entries), name, schedule=schedule)
    if vertex is not None:
        assert caught.value.vertex == vertex


def test_a_signed_matrix_inside_the_unit_circle_has_its_inverse():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((40, 40))
    A *= 0.9 / max(abs(np.linalg.eigvals(A)))
    expected = np.linalg.inv(np.eye(40) - A)
    np.testing.assert_allclose(closure(A, "plus_times"), expected, rtol=1e-8, atol=1e-8)


def test_rounding_is_no_negative_cycle():
    A = np.full((3, 3), np.inf)
    A[0, 1], A[1, 2], A[2, 0] = 0.1, 0.7, -0.8
    D = closure(A)
    np.testing.assert_allclose(D, [[0, 0.1, 0.8], [-0.1, 0, 0.7], [-0.8, -0.7, 0]], atol=1e-12)
    assert (D.diagonal() == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("schedule", schedules.names())
def test_a_graph_of_nothing_but_cycles_of_weight_zero(dtype, schedule):
    """w(i, j) = p(j) − p(i): each cycle weighs 0 but for rounding, which feeds on itself if it is let."""
    n = 150
    p = np.random.default_rng(9).standard_normal(n) * 100
    A = (p[None, :] - p[:, None]).astype(dtype)
    tolerance = n * np.finfo(dtype).eps * abs(A).max()
    D = closure(A, schedule=schedule)
    np.testing.assert_allclose(D, A, atol=2 * tolerance)
    assert (D.diagonal() == 0).all()


def test_weights_far_below_one_are_edges():
    A = np.array([[0, 1e-9, np.inf], [np.inf, 0, 1e-12], [np.inf, np.inf, 0]])
    assert closure(A)[0, 2] == 1e-9 + 1e-12


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_integers_saturate_and_never_wrap(dtype):
    info = np.iinfo(dtype)
    A = np.full((4, 4), info.max, dtype=dtype)
    A[0, 1] = A[1, 2] = info.max - 1
    D = closure(A)
    assert D[0, 2] == info.max
    assert D[0, 1] == info.max - 1
    B = A.copy()
    B[0, 1], B[1, 2], B[2, 3] = info.min + 5, -10, 100
    if dtype == "int64":  # 0 → 3 fits, and would be lost
        with pytest.raises(DomainError, match="from 0 to 2 that goes beyond"):
            closure(B)
        return
    D = closure(B)
    assert D[0, 2] == info.min
    assert D[0, 3] == info.min + 95
    assert D[3, 0] == info.max


def test_empty_single_and_disconnected_graphs():
    assert closure(np.empty((0, 0))).shape == (0, 0)
    assert closure(np.full((1, 1), np.inf)).tolist() == [[0]]
    A = np.full((6, 6), np.inf)
    A[0, 1] = A[1, 0] = A[4, 5] = 1
    D = closure(A)
    assert np.isinf(D[:3, 3:]).all()
    assert D[4, 5] == 1


def test_a_row_of_infinities_and_zero_weights():
    A = np.zeros((5, 5))
    A[2] = np.inf
    D = closure(A)
    assert (D[[0, 1, 3, 4]] == 0).all()
    assert D[2].tolist() == [np.inf, np.inf, 0, np.inf, np.inf]


@pytest.mark.parametrize("n", [0, 1, 31, 65])
@pytest.mark.parametrize("order", ["C", "transposed", "every second", "one matrix many times"])
def test_batches_of_small_matrices_are_scipy_s(n, order):
    rng = np.random.default_rng(n)
    A = np.where(rng.random((40, n, n)) < 0.2, rng.integers(1, 99, (40, n, n)), np.inf)
    A[:, range(n), range(n)] = 0
    given = {
        "C": A,
        "transposed": A.transpose(0, 2, 1),
        "every second": A[::2, ::-1, ::-1],
        "one matrix many times": np.broadcast_to(A[0], (30, n, n)),
    }[order]
    before, seen = given.copy(), []
    expected = [csgraph.floyd_warshall(np.ascontiguousarray(matrix)) if n else matrix for matrix in given]
    np.testing.assert_array_equal(closure(given, callback=lambda done, total: seen.append((done, total))), expected)
    np.testing.assert_array_equal(given, before)
    assert not given.size or seen[-1] == (given.size * n, given.size * n)
    if order != "one matrix many times":
        assert closure(given, overwrite=True) is given
        np.testing.assert_array_equal(given, expected)


def test_a_batch_is_its_matrices():
    A = np.where(np.random.default_rng(0).random((3, 20, 20)) < 0.2, 1.0, np.inf)
    D = closure(A)
    for got, part in zip(D, A, strict=True):
        np.testing.assert_array_equal(got, closure(part))
    with pytest.raises(ShapeError, match=r"\(3, 20, 21\)"):
        closure(np.zeros((3, 20, 21)))
    assert closure(A, overwrite=True) is A
    np.testing.assert_array_equal(A, D)


@pytest.mark.parametrize(
    ("A", "options", "error", "message"),
    [
        (np.zeros((2, 3)), {}, ShapeError, r"square.*\(2, 3\)"),
        (np.zeros(3), {}, ShapeError, r"square.*\(3,\)"),
        (np.zeros((2, 2), dtype=complex), {}, DTypeError, "complex128"),
        (np.array([["a"]]), {}, DTypeError, "real numbers"),
        (np.ma.zeros((2, 2)), {}, DTypeError, "masked"),
        (np.ones((2, 2), dtype=bool), {}, DTypeError, r"np\.where"),
        (np.full((2, 2), np.nan), {}, DomainError, r"nan at \(0, 0\)"),
        (np.array([[0, -np.inf], [1, 0]]), {}, DomainError, r"\(0, 1\)"),
        (np.array([[0, 0.5], [1, 0]]), {"dtype": "int32"}, DTypeError, r"0\.5 at \(0, 1\)"),
        (np.array([[0, 1e39], [1, 0]]), {"dtype": "float32"}, DTypeError, "float32"),
        (np.array([[0, 70000], [1, 0]]), {"dtype": "int16"}, DTypeError, "70000"),
        (np.ones((2, 2)), {"schedule": "magic"}, ValueError, "recursive.*magic"),
        (np.ones((2, 2)), {"block": 0}, ValueError, "at least 1, got 0"),
        (np.zeros((2, 2)), {"dtype": "int31"}, DTypeError, "int16.*got 'int31'"),
        (np.ones((2, 2)), {"per_thread": 4}, DeviceError, "cpu.*threads, access, got per_thread"),
        (np.ones((2, 2)), {"threads": 0}, DeviceError, "positive integer, got 0"),
        (np.zeros((2, 2)), {"device": "tpu"}, DeviceError, "cpu, cuda, got 'tpu'"),
        (np.zeros((2, 2)), {"semiring": "lor_land"}, None, ""),
        (np.array([[0, 2.0], [1, 0]]), {"semiring": "lor_land"}, DTypeError, r"A < np\.inf"),
        (BitMatrix.eye(2), {"semiring": "lor_land", "dtype": "float32"}, DTypeError, "defined on bool, got float32"),
        (BitMatrix.eye(2), {"semiring": "lor_land", "dtype": "bool"}, None, ""),
    ],
)
def test_bad_input_says_what_came_and_what_was_expected(A, options, error, message):
    if error is None:
        closure(A, **options)
    else:
        with pytest.raises(error, match=message):
            closure(A, **options)


def test_infinity_keeps_its_meaning_across_dtypes():
    A = np.array([[0, 3, np.inf], [np.inf, 0, 4], [np.inf, np.inf, 0]])
    D = closure(A, dtype="int16")
    assert D.dtype == np.int16
    assert D.tolist() == [[0, 3, 7], [32767, 0, 4], [32767, 32767, 0]]
    assert closure(D, dtype="int64")[1, 0] == np.iinfo(np.int64).max
    assert closure(D, dtype="float32")[1, 0] == np.inf


@pytest.mark.busy
def test_progress_is_reported_in_pairs():
    seen: list[tuple[int, int]] = []
    A = np.where(np.random.default_rng(0).random((150, 150)) < 0.1, 1.0, np.inf)
    closure(A, callback=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (150**3, 150**3)
    assert all(a[0] < b[0] for a, b in itertools.pairwise(seen))


def test_a_plan_says_what_it_would_do_and_why():
    p = plan(3000, dtype="float32")
    text = str(p)
    assert p.pairs == 3000**3
    assert p.matrix_bytes == 3000**2 * 4
    assert p.workspace_bytes <= 0.1 * p.matrix_bytes + 2**24
    for word in ("3000", "float32", p.schedule, str(p.block), p.reason, "predicted"):
        assert word in text
    A = np.where(np.random.default_rng(0).random((30, 30)) < 0.3, -1.0, np.inf)
    assert plan(A).variant == "general"
    rounded = plan(np.ones((70, 70), bool), "boolean", block=10)
    assert rounded.block == 64
    assert "block rounded up from 10 to whole words of 64 bits" in rounded.reason
    beside = rounded.beside_bytes - rounded.matrix_bytes - rounded.workspace_bytes
    assert beside == 70 * 70  # the result, next to its bits
    assert replace(p, n=5, pairs=-1).pairs == 5**3  # as in files that tell of none
    assert plan(1 << 33).n == 1 << 33
    with pytest.raises(ShapeError, match=f"must lie in 0 … {1 << 33}, got {(1 << 33) + 1}"):
        plan((1 << 33) + 1)


def test_a_plan_counts_threads_where_they_share_the_work():
    assert plan(200, threads=4).seconds == plan(200, threads=1).seconds
    assert plan(4000, threads=4).seconds < plan(4000, threads=1).seconds / 2


def test_a_plan_says_the_step_that_its_backend_takes():
    """Not the one that another backend would: each is named only where it is other machine code."""
    from semiring.kernels.cpu import kinds

    for case in cases.CASES:
        if case.semiring.boolean:
            continue
        A = np.full((4, 4), case.one if case.one >= 0 else case.zero, case.dtype)
        both = [kinds.choose(case.semiring, case.dtype, nonnegative) for nonnegative in (False, True)]
        expected = "nonnegative" if both[0] != both[1] else "general"
        assert plan(A, case.semiring).variant == expected, case
    assert plan(np.ones((4, 4), np.int32)).variant == "nonnegative"
    assert plan(np.ones((4, 4), np.int32), "max_plus").variant == "general"
    assert plan(np.ones((4, 4), np.float32), "max_times").variant == "general"


def test_graphs_of_every_kind_have_a_closure(tmp_path):
    import scipy.sparse as sparse

    expected = [[0, 4, 11], [np.inf, 0, 7], [np.inf, np.inf, 0]]
    edges = [("a", "b", 4.0), ("b", "c", 7.0), ("a", "c", 12.0)]
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(edges)
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\na,b,4.0\nb,c,7.0\na,c,12.0\n")
    matrix = sparse.coo_array(([4.0, 7.0, 12.0], ([0, 1, 0], [1, 2, 2])), shape=(3, 3))
    for source in (edges, graph, path, str(path), matrix, matrix.tocsr()):
        assert closure(source, dtype="float64").tolist() == expected


def test_a_finite_weight_never_becomes_infinity_by_conversion():
    for A in (np.array([[0, 32767], [1, 0]]), np.array([[0, 32767.0], [1, 0]])):
        with pytest.raises(DTypeError, match="32767"):
            closure(A, dtype="int16")
    A = np.array([[0, 1e39], [math.inf, 0]])
    with pytest.raises(DTypeError, match="every finite entry, got 1e\\+39"):
        closure(A, dtype="float32")
    A[0, 1] = 1e38
    np.testing.assert_array_equal(closure(A, dtype="float32"), A.astype("float32"))


def test_lists_and_dlpack_are_arrays():
    assert closure([[0, 1], [math.inf, 0]]).tolist() == [[0, 1], [math.inf, 0]]
    assert closure(people.Exported(np.array([[0.0, 2.0], [2.0, 0.0]]))).tolist() == [[0, 2], [2, 0]]


def test_the_weight_of_a_negative_cycle_is_told():
    A = np.full((4, 4), np.inf)
    A[0, 2], A[2, 1], A[1, 0] = 2, -6.5, 1.5
    with pytest.raises(NegativeCycleError, match=r"got 0 → 2 → 1 → 0 of weight -3\. "):
        closure(A)


SMALL_ONES = (
    "min_plus-float64", "min_plus-int16", "max_plus-float32", "max_plus-int32", "max_min-float64", "log_plus-float64"
)  # fmt: skip


@pytest.mark.parametrize("name", SMALL_ONES)
def test_what_was_decided_for_a_small_matrix_is_not_taken_for_another(name):
    # Entries ≥ 0 permit other steps than those below 0: each of them follows each, in all sizes.
    case = next(c for c in cases.CASES if str(c) == name)
    for n, seed in itertools.product((1, 2, 5, 16), range(2)):
        A = cases.random_matrix(case, (n, n), seed=seed)
        finite = (A > -1e4) & (A < 1e4)
        lower = np.where(finite, A - (A[finite].max(initial=0) + 1), A).astype(case.dtype)
        lower[np.tri(n, dtype=bool)] = dtypes.zero(case.semiring, case.dtype)  # no cycles
        for X in (A, lower, A.copy("F"), lower.T, A[::-1, ::-1], A.astype(A.dtype.newbyteorder()), lower):
            cases.same(case, closure(X, case.semiring), cases.closure(case, X.astype(case.dtype)))


def test_each_small_matrix_is_looked_at():
    good = np.array([[0, 1, np.inf], [np.inf, 0, 2], [3, np.inf, 0.0]])
    for _ in range(3):
        D = closure(good)
        np.testing.assert_array_equal(D, csgraph.floyd_warshall(good))
        assert good[0, 2] == np.inf
        assert D.flags.writeable
        with pytest.raises(DomainError, match="nan"):
            closure(np.where(good == 2, np.nan, good))
        with pytest.raises(NegativeCycleError):
            closure(np.where(good == 2, -9, good))
        with pytest.warns(AmbiguityWarning):
            closure(np.where(good > 2, 0, good))
        frozen = good.copy()
        frozen.flags.writeable = False
        np.testing.assert_array_equal(closure(frozen), D)
        np.testing.assert_array_equal(closure(good, null_value=1), [[0, np.inf, np.inf], [5, 0, 2], [3, np.inf, 0]])
        with pytest.raises(DTypeError, match="mask"):
            closure(np.ma.masked_array(good))
        with pytest.raises(ValueError, match="schedule must be"):
            closure(good, schedule="none")
        np.testing.assert_array_equal(closure(-good, "max_plus"), -D)
        with pytest.raises(DivergenceError):
            closure(np.where(good == 2, 9, -good), "max_plus")
        assert closure(good, dtype="float32").dtype == np.float32
        # NumPy calls this dtype equal to None.
        assert closure(good.astype(np.float32), dtype=np.dtype(np.float64)).dtype == np.float64
        np.testing.assert_array_equal(closure(good, "max_min")[0], [np.inf, np.inf, np.inf])


def test_the_plan_of_each_small_closure_is_logged(caplog):
    with caplog.at_level("INFO", "apsp"):
        for _ in range(3):
            closure(np.ones((3, 3)))
    assert len([r for r in caplog.records if "closure of 3 vertices" in r.getMessage()]) == 3
