"""`matmul`, `matvec`, `power`, `eye` against uncompiled loops, in NumPy's shapes."""

from __future__ import annotations

import itertools
import re
from functools import partial

import cases
import numpy as np
import pytest
import scipy.sparse as sp

import semiring
from semiring import DeviceError, DTypeError, MemoryNeeded, ShapeError, eye, get, matmul, matvec, power
from semiring.kernels.backend import cuda_available

ALL = [*cases.CASES, *cases.USER_CASES]
MIN_PLUS = next(c for c in cases.CASES if str(c) == "min_plus-int64")


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1), (7, 5, 3), (17, 66, 33), (65, 9, 70)])
def test_products_agree_with_the_oracle(case, shape):
    m, k, n = shape
    A = cases.random_matrix(case, (m, k), 1, negative=True)
    B = cases.random_matrix(case, (k, n), 2, negative=True)
    C = cases.random_matrix(case, (m, n), 3, negative=True)
    expected = cases.product(case, A, B)
    cases.same(case, matmul(A, B, case.semiring), expected)
    out = C.copy()
    assert matmul(A, B, case.semiring, out=out, accumulate=True) is out
    cases.same(case, out, cases.product(case, A, B, C))
    matmul(A, B, case.semiring, out=out)
    cases.same(case, out, expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_operands_in_every_layout(case):
    A, B = cases.random_matrix(case, (19, 23), 1), cases.random_matrix(case, (23, 18), 2)
    expected = cases.product(case, A, B)
    for (_, a), (_, b) in itertools.product(cases.layouts(A), cases.layouts(B)):
        cases.same(case, matmul(a, b, case.semiring), expected)


def test_out_in_every_layout_and_over_an_operand():
    A, B = cases.random_matrix(MIN_PLUS, (20, 20), 1), cases.random_matrix(MIN_PLUS, (20, 20), 2)
    expected = cases.product(MIN_PLUS, A, B)
    for layout, out in cases.layouts(np.zeros((20, 20), dtype=np.int64)):
        if layout == "read-only":
            with pytest.raises(ValueError, match="writeable"):
                matmul(A, B, out=out)
        elif layout == "byte-swapped":
            with pytest.raises(DTypeError, match="dtype"):
                matmul(A, B, out=out)
        else:
            matmul(A, B, out=out)
            np.testing.assert_array_equal(out, expected)
    matmul(A, B, out=A)
    np.testing.assert_array_equal(A, expected)


@pytest.mark.parametrize(
    ("a", "b"),
    [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 2)), ((0, 3, 4), (4, 1))],
)
def test_shapes_follow_numpy(a, b):
    rng = np.random.default_rng(0)
    A, B = rng.random(a), rng.random(b)
    expected = A @ B
    got = matmul(A, B, "plus_times")
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((3, 4), (5, 3), r"inner sizes must match, got A \(3, 4\) and B \(5, 3\)"),
        ((), (3,), "not scalars"),
        ((2, 3, 4), (3, 4, 5), "broadcast"),
    ],
)
def test_shapes_that_do_not_fit(a, b, message):
    with pytest.raises(ShapeError, match=message):
        matmul(np.zeros(a), np.zeros(b))


def test_out_that_does_not_fit():
    A = np.zeros((3, 3))
    with pytest.raises(ShapeError, match=r"\(3, 3\), got \(3, 4\)"):
        matmul(A, A, out=np.zeros((3, 4)))
    with pytest.raises(DTypeError, match="float64, got float32"):
        matmul(A, A, out=np.zeros((3, 3), dtype=np.float32))
    with pytest.raises(DTypeError, match="list"):
        matmul(A, A, out=[[0] * 3] * 3)
    with pytest.raises(ShapeError, match="out=C"):
        matmul(A, A, accumulate=True)


def test_dtypes_meet_in_one_that_the_semiring_allows():
    small, wide = np.array([[1, 32767]], dtype=np.int16), np.array([[1], [5]], dtype=np.int64)
    product = matmul(small, wide)
    assert product.dtype == np.int64
    assert product.tolist() == [[2]]  # the int16 maximum is ∞, not 32767
    assert matmul(small, np.array([[0.5], [0.5]])).tolist() == [[1.5]]
    assert matmul(np.array([[2, 3]]), np.array([[1], [1]]), "plus_times").dtype == np.float64
    assert matmul([[1, 0]], [[0], [1]], "boolean").tolist() == [[False]]
    with pytest.raises(DTypeError, match="bool"):
        matmul(np.eye(2, dtype=bool), np.eye(2, dtype=bool))


@pytest.mark.parametrize("name", ["min_plus", "plus_times", "max_min"])
def test_power_is_repeated_product(name):
    rng = np.random.default_rng(1)
    A = rng.integers(0, 4, (5, 5)).astype(float)
    P = eye(5, name)
    for k in range(8):
        np.testing.assert_array_equal(power(A, k, name), P)
        P = cases.product(cases.Case(get(name), np.dtype("float64")), P, A)
    with pytest.raises(ValueError, match="-1"):
        power(A, -1, name)
    with pytest.raises(ShapeError, match=r"\(5, 4\)"):
        power(A[:, :4], 2, name)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_eye_is_neutral(case):
    A = cases.random_matrix(case, (9, 9), 4)
    identity = eye(9, case.semiring, dtype=case.dtype)
    cases.same(case, matmul(identity, A, case.semiring), A)
    cases.same(case, matmul(A, identity, case.semiring), A)


def test_matvec_is_one_round_of_bellman_ford():
    A = cases.six_matrix()
    x = np.array([np.inf] * 5 + [0.0])
    assert matvec(A, x).tolist() == (A + x).min(axis=1).tolist()
    with pytest.raises(ShapeError, match=r"\(6, 6\) and x \(5,\)"):
        matvec(A, x[:5])


def test_eye_of_a_bad_size_or_dtype():
    with pytest.raises(ValueError, match="-1"):
        eye(-1)
    for wrong in (2.0, "2", None):
        with pytest.raises(ValueError, match="n must be an integer of at least 0, got"):
            eye(wrong)
    with pytest.raises(DTypeError, match="int16"):
        eye(2, "plus_times", dtype="int16")
    assert eye(0).shape == (0, 0)
    assert eye(True).tolist() == [[0.0]]
    with pytest.raises(MemoryNeeded, match="eye: "):  # not the product of two int32 numbers
        eye(np.int32(2_000_000))


@pytest.mark.parametrize(
    ("a", "x"),
    [
        ((5, 4), (4,)),
        ((3, 5, 4), (4,)),
        ((5, 4), (3, 4)),
        ((3, 5, 4), (3, 4)),
        ((2, 1, 5, 4), (3, 4)),
        ((0, 5, 4), (4,)),
    ],
)
def test_many_vectors_each_meet_their_matrix(a, x):
    A, X = cases.random_matrix(MIN_PLUS, a, 1), cases.random_matrix(MIN_PLUS, x, 2)
    batch = np.broadcast_shapes(a[:-2], x[:-1])
    expected = np.empty((*batch, a[-2]), np.int64)
    As, Xs = np.broadcast_to(A, (*batch, *a[-2:])), np.broadcast_to(X, (*batch, x[-1]))
    for index in np.ndindex(*batch):
        expected[index] = cases.product(MIN_PLUS, As[index], Xs[index][:, None])[:, 0]
    np.testing.assert_array_equal(matvec(A, X), expected)
    out = np.empty_like(expected)
    assert matvec(A, X, out=out) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(ShapeError, match="matvec"):
        matvec(A, X[..., :-1])
    with pytest.raises(ShapeError, match=re.escape(f"matvec: out must have shape {expected.shape}, got {(9,)}.")):
        matvec(A, X, out=np.empty(9))


def test_the_dtype_to_compute_in():
    A, B = np.array([[0, 3], [32767, 0]], np.int16), np.array([[1, 2], [3, 4]], np.int16)
    C = matmul(A, B, dtype="float64")
    assert C.dtype == np.float64
    np.testing.assert_array_equal(C, [[1, 2], [3, 4]])
    assert matvec(A, B[0], dtype="int32").dtype == np.int32
    assert matvec(A, B, dtype="int32").dtype == np.int32
    np.testing.assert_array_equal(power(A, 3, dtype="float32"), [[0, 3], [np.inf, 0]])
    assert power(A, 0, dtype="float32").dtype == np.float32
    assert matmul(A < 9, B < 3, "boolean", dtype=bool).dtype == bool
    with pytest.raises(DTypeError, match="int16 must hold"):
        matmul([[0.5]], [[1.0]], dtype="int16")
    with pytest.raises(DTypeError, match="number"):
        matmul(A, B, dtype="number")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_the_device_by_name(threads):
    A, B = cases.random_matrix(MIN_PLUS, (70, 80), 1), cases.random_matrix(MIN_PLUS, (80, 90), 2)
    expected = cases.product(MIN_PLUS, A, B)
    np.testing.assert_array_equal(matmul(A, B, threads=threads, device="cpu"), expected)
    np.testing.assert_array_equal(matvec(A, B[:, 0], threads=threads, device="cpu"), expected[:, 0])
    S = A[:, :70]
    np.testing.assert_array_equal(power(S, 2, threads=threads, device="cpu"), cases.product(MIN_PLUS, S, S))
    with pytest.raises(DeviceError, match="threads"):
        matmul(A, B, threads=0)
    with pytest.raises(DeviceError, match="abacus"):
        matmul(A, B, device="abacus")
    if not cuda_available():
        for ask in (lambda: matmul(A, B, device="cuda"), lambda: power(S, 2, device="cuda")):
            with pytest.raises(DeviceError, match="GPU"):
                ask()


@pytest.mark.gpu
@pytest.mark.parametrize("home", ["numpy", "cupy"])
def test_products_elsewhere_come_back(home):
    xp = pytest.importorskip(home)
    A, B = cases.random_matrix(MIN_PLUS, (40, 40), 1), cases.random_matrix(MIN_PLUS, (40, 40), 2)
    expected, a, b = cases.product(MIN_PLUS, A, B), xp.asarray(A), xp.asarray(B)
    elsewhere = "cuda" if home == "numpy" else "cpu"
    out = xp.full((40, 40), 7, np.int64)
    assert matmul(a, b, device=elsewhere, out=out, accumulate=True) is out
    for came, wanted in (
        (matmul(a, b, device=elsewhere), expected),
        (matvec(a, b[0], device=elsewhere), cases.product(MIN_PLUS, A, B[0][:, None])[:, 0]),
        (power(a, 2, device=elsewhere), cases.product(MIN_PLUS, A, A)),
        (out, np.minimum(expected, 7)),
    ):
        assert type(came) is type(a)
        np.testing.assert_array_equal(came if home == "numpy" else came.get(), wanted)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_an_error_of_threads_names_the_function(threads):
    A = np.eye(2)
    for name, call in {"matmul": partial(matmul, A, A), "matvec": partial(matvec, A, A[0])}.items():
        with pytest.raises(DeviceError, match=f"{name}: threads must be a positive integer, got {threads!r}"):
            call(threads=threads)
    with pytest.raises(DeviceError, match="matmul: threads must be"):
        matmul(A, A, witness=True, threads=threads)


def test_errors_name_the_function_that_was_called():
    A, wrong, huge = np.eye(2), np.array([np.nan, 0]), np.zeros((3, 1, 2))
    calls = {
        "matvec": [lambda: matvec(A, wrong), lambda: matvec([A] * 2, huge[:, 0]), lambda: matvec(A, [0, 1j])],
        "sum": [lambda: semiring.sum(wrong), lambda: semiring.sum(A, ties="two"), lambda: semiring.sum(A, threads=0)],
        "outer": [lambda: semiring.outer(wrong, A), lambda: semiring.outer(np.zeros((2, 2)), huge[:, 0])],
        "prod": [lambda: semiring.prod(wrong), lambda: semiring.prod(np.zeros(9), threads=0)],
        "einsum": [lambda: semiring.einsum("i->", wrong)],
    }
    for name, failing in calls.items():
        for call in failing:
            with pytest.raises((ValueError, TypeError, DeviceError), match=f"^{name}: "):
                call()


def test_threads_are_checked_though_no_product_asks_for_them():
    sparse = sp.csr_array(np.eye(2))
    with pytest.raises(DeviceError, match="einsum: threads must be a positive integer, got 0"):
        semiring.einsum("ij->ji", sparse, threads=0)
    with pytest.raises(DeviceError, match="matmul: threads must be a positive integer, got 0"):
        matmul(sparse, sparse, threads=0)
    for A in (np.eye(2), sp.csr_array(np.eye(2))):
        for k in (0, 1, 2):
            with pytest.raises(DeviceError, match="threads must be a positive integer, got 0"):
                power(A, k, threads=0)


def test_masks_of_rows_and_of_indices_are_not_lost():
    row = np.ma.masked_array([1.0, 2.0], [False, True])
    for call in (matmul, lambda A, _: power(A, 2), lambda A, _: semiring.sum(A, axis=1), semiring.outer):
        with pytest.raises(DTypeError, match=r"masked ones. Fill them: numpy.ma.stack\(A\).astype\(float\)"):
            call([row, row], [row, row])
    assert matmul(np.ma.stack([row, row]).astype(float).filled(np.inf), [3, 4]).tolist() == [4, 4]
    index = np.ma.masked_array([0, 1], [False, True])
    E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
    for call in (
        lambda: E.entries(index, 2),
        lambda: E.hub_labels().entries(index, 2),
        lambda: E.update([1, 2], arcs=index),
        lambda: semiring.Elimination.from_arrays(index, [1, 2], [5, 7], 3),
    ):
        with pytest.raises(DTypeError, match=r"masked one. Fill it: \w+ = x.compressed\(\)"):
            call()
    with pytest.raises(ShapeError, match=r"must be an integer in 0 … 2³¹ − 2, got 3\.5"):
        semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3.5)
