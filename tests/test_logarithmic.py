"""Products over log-plus by exponentials of operands: against sums in wider floats, on hostile ranges, in layouts."""

from __future__ import annotations

from collections.abc import Iterator

import cases
import numpy as np
import pytest

from apsp import closure
from semiring import get
from semiring.kernels.backend import bind
from semiring.kernels.cpu.dense import logarithmic
from semiring.kernels.cpu.dense.backend import CpuBackend

S = get("log_plus")
RNG = np.random.default_rng(33)


def sums(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """log Σ exp(A[i,k] + B[k,j]) in NumPy's widest floats, each sum from its own greatest."""
    out = np.empty((len(A), B.shape[1]), np.longdouble)
    for i, row in enumerate(A.astype(np.longdouble)):
        x = row[:, None] + B
        top = x.max(axis=0)
        top[~np.isfinite(top)] = 0
        with np.errstate(divide="ignore"):
            out[i] = top + np.log(np.exp(x - top).sum(axis=0))
    return out


def check(got: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """Within the rounding of the result, and of a sum of so many terms."""
    expected, unit = sums(A, B), np.finfo(got.dtype).eps
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(expected))
    finite = ~np.isneginf(expected)
    error = np.abs(got[finite] - expected[finite])
    assert (error <= 2 * unit * (1 + np.log2(len(B))) + np.abs(expected[finite]) * unit / 2).all()


def hostile(m: int, k: int, n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Operands of which exponentials overflow, vanish, or miss one another."""
    A, B = -5 * RNG.random((m, k)), -5 * RNG.random((k, n))
    yield "moderate", A, B
    yield "equal", np.full((m, k), -3.0), np.full((k, n), 1.0)
    yield "wide", 12 * A, 12 * B
    yield "wider", 400 * A, 400 * B
    huge, hidden = A.copy(), B.copy()
    huge[:, 0], hidden[0] = 2000, -5000
    yield "one huge term", huge, B
    yield "hidden", huge, hidden
    left, right = A.copy(), B.copy()
    left[:, ::2] -= 2000
    right[1::2] -= 2000
    yield "alternating", left, right
    left[::3], right[:, ::4] = -np.inf, -np.inf
    yield "rows of zeros", left, right
    yield "few", np.where(A > -0.2, A, -np.inf), np.where(B > -0.2, B, -np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_errors_stay_small_on_hostile_ranges(dtype, monkeypatch):
    monkeypatch.setattr(logarithmic, "PAIRS", 1)
    monkeypatch.setattr(logarithmic, "SHORTEST", 1)
    ops = bind(S, dtype, threads=1)
    for m, k, n in ((1, 1, 1), (5, 33, 17), (37, 70, 65)):
        for name, A, B in hostile(m, k, n):
            A, B = A.astype(dtype), B.astype(dtype)
            C = np.empty((m, n), dtype)
            ops.matmul(C, A, B)
            try:
                check(C, A, B)
            except AssertionError as error:
                raise AssertionError(f"{name}, {m} × {k} × {n}") from error
    _, A, B = next(hostile(m, k, n))
    A, B = A.astype(dtype), B.astype(dtype)
    A[3], B[:, 2] = np.inf, np.inf  # of what diverges already
    ops.matmul(C, A, B)
    assert np.isposinf(C[3]).all()
    assert np.isposinf(C[:, 2]).all()
    np.testing.assert_array_equal(np.isposinf(C).sum(), m + n - 1)


def test_layouts_accumulation_threads_and_products_in_place(monkeypatch):
    for name, value in {
        "PAIRS": 1,
        "SHORTEST": 1,
        "ROWS": 20,
        "DEPTH": 32,
        "COLUMNS": 48,
        "_ALONE": 1,
        "WORKSPACE": 9000,
    }.items():
        monkeypatch.setattr(logarithmic, name, value)
    ops = bind(S, "float32", threads=2)
    A, B = (-9 * RNG.random(shape).astype(np.float32) for shape in ((67, 83), (83, 109)))
    old = -3 * RNG.random((67, 109)).astype(np.float32)
    for (_, a), (_, b), (_, c) in zip(cases.layouts(A), cases.layouts(B), cases.layouts(old), strict=True):
        if not all(x.dtype.isnative and x.flags.writeable for x in (a, b, c)):
            continue
        C = c.copy("K") if 4 in c.strides else c.copy()
        ops.gemm(C, a, b)
        check(
            C,
            np.hstack([A, np.eye(67, dtype=np.float32) * 0 + np.where(np.eye(67), 0, -np.inf).astype(np.float32)]),
            np.vstack([B, old]),
        )
    D, R = (-9 * RNG.random(shape).astype(np.float32) for shape in ((83, 83), (83, 109)))
    for X in (R.copy(), R.copy("F")):
        ops.left_mul(D, X)
        check(X, D, R)
        Y = X.T
        Y[...] = R.T
        ops.right_mul(Y, D)
        check(Y, R.T, D)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_closures_are_inverses(dtype):
    # (I − W)⁻¹ by NumPy, of weights whose rows sum to less than 1.
    for n in (65, 150, 300):
        W = RNG.random((n, n)) / n * 0.9
        expected = np.log(np.linalg.inv(np.eye(n) - W))
        got = closure(np.log(W).astype(dtype), S)
        np.testing.assert_allclose(got, expected, atol=2e-4 if dtype == "float32" else 1e-12)


def eliminated(A: np.ndarray) -> np.ndarray:
    """A* in NumPy's widest floats, one pivot after the other."""
    X = A.astype(np.longdouble)
    with np.errstate(all="ignore"):
        for k in range(len(X)):
            s = -np.log1p(-np.exp(X[k, k])) if X[k, k] < 0 else np.inf
            C, R = X[:, k] + s, X[k] + s
            C[k] = R[k] = s
            X = np.logaddexp(X, X[:, k, None] + R)
            X[:, k], X[k] = C, R
    return X


def closable(n: int) -> Iterator[tuple[str, set[str], np.ndarray]]:
    """Matrices, and the dtypes of which exponentials have the closure exactly."""
    both, double, neither, rng = {"float32", "float64"}, {"float64"}, set(), np.random.default_rng(n)
    P = rng.random((n, n))
    P = np.log(P / P.sum(1, keepdims=True))
    yield "moderate", both, P - 0.2
    yield "almost without a limit", both, P - 0.01
    yield "sparse", both, np.where(rng.random((n, n)) < 0.3, P, -np.inf)
    yield "wide", both, -40 * rng.random((n, n)) - np.log(n)
    yield "wider", double, -400 * rng.random((n, n)) - np.log(n)
    looped = P - 5
    looped[3, 3] = -1e-5  # 1 − eᵃ keeps a's digits, 1 − fl(eᵃ) does not
    yield "a loop of a weight near 1", neither, looped
    path, ring = np.full((2, n, n), -np.inf)
    path[np.arange(n - 1), np.arange(1, n)] = ring[np.arange(n), np.roll(np.arange(n), -1)] = -3
    yield "a path", neither, path
    yield "a ring", double, ring
    far = rng.standard_normal(n) * 60
    yield "vertices of other scales", neither, P - 0.2 + far[:, None] - far
    endless = P.copy()
    endless[0, 1] = np.inf
    yield "∞", neither, endless


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pivot_blocks_are_exact_by_exponentials_or_pair_by_pair(dtype):
    ops, eps = bind(S, dtype, threads=1), np.finfo(dtype).eps

    def check_closure(name: str, got: np.ndarray, pairwise: np.ndarray, expected: np.ndarray) -> None:
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected), name)
        np.testing.assert_array_equal(got[~np.isfinite(got)], expected[~np.isfinite(got)], name)
        finite = np.isfinite(expected)
        errors = [np.abs(D - E) / (1 + np.abs(E)) for E in [expected[finite]] for D in (got[finite], pairwise[finite])]
        assert errors[0].max(initial=0) <= max(16 * eps, 2 * errors[1].max(initial=0)), name

    names, exact, matrices = zip(*closable(40), strict=True)
    batch = np.stack(matrices).astype(dtype)
    pairwise, expected = batch.copy(), [eliminated(A) for A in batch]
    CpuBackend.closure_batch(ops, pairwise)
    for name, dtypes, A, D, E in zip(names, exact, batch, pairwise, expected, strict=True):
        assert bool(len(ops._exponentials(A[None], None))) == (dtype not in dtypes), name
        for layout in (A.copy(), A.copy("F")):
            ops.closure(layout)
            check_closure(name, layout, D, E)
    ops.closure_batch(batch)
    for row in zip(names, batch, pairwise, expected, strict=True):
        check_closure(*row)
    *_, (name, _, A), _, _ = closable(140)  # by halves, and these pair by pair
    D, E = A.astype(dtype), eliminated(A.astype(dtype))
    ops.closure(D)
    check_closure(name, D, D, E)


def test_batches_of_which_few_are_exact_are_closed_pair_by_pair(monkeypatch):
    monkeypatch.setattr(logarithmic, "BATCH", 3 * 40**2)
    (_, _, good), *_, (_, _, bad), _ = closable(40)
    ops, tried = bind(S, "float32", threads=1), []
    monkeypatch.setattr(
        ops, "_exponentials", lambda A, out: tried.append(len(A)) or type(ops)._exponentials(ops, A, out)
    )
    for batch, attempts in (([good, bad, good] * 2, [3, 3]), ([bad, bad, good] * 2, [3])):
        D = np.stack(batch).astype("float32")
        expected = [eliminated(A) for A in D]
        ops.closure_batch(D)
        np.testing.assert_allclose(D, expected, rtol=1e-4, atol=1e-4)
        assert tried == attempts
        tried.clear()


def test_a_batch_has_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(logarithmic, "BATCH", 3 * 40**2)
    (_, _, good), *_, (_, _, bad), _ = closable(40)
    first, *others = (np.stack([bad] * 3 + [good] * 6).astype("float32") for _ in range(3))
    bind(S, "float32", threads=1).closure_batch(first)
    for threads, D in zip((2, 3), others, strict=True):
        bind(S, "float32", threads=threads).closure_batch(D)
        np.testing.assert_array_equal(D, first)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_exponentials(dtype):
    # Of two entries one vanishes, e^a < 2^e, which the other one multiplies by h² before it is read.
    ops, smallest = bind(S, dtype, threads=1), float(np.log(np.finfo(dtype).smallest_normal))
    for gain, least in ((0.0, smallest + 30), (5.0, smallest + 10)):
        A = np.full((40, 40), smallest / 2)
        A[0, 1], A[1, 2], A[2, 3] = gain, least, gain
        assert len(ops._exponentials(A.astype(dtype)[None], None)) == 1, (gain, least)
