"""Products over log-plus by exponentials of operands: against sums in wider floats, on hostile ranges, in layouts."""

from __future__ import annotations

from collections.abc import Iterator

import cases
import numpy as np
import pytest

from apsp import closure
from semiring import get
from semiring.backend import bind
from semiring.cpu.dense import logarithmic

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
    for n in (65, 150, 200):
        W = RNG.random((n, n)) / n * 0.9
        expected = np.log(np.linalg.inv(np.eye(n) - W))
        got = closure(np.log(W).astype(dtype), S)
        np.testing.assert_allclose(got, expected, atol=2e-4 if dtype == "float32" else 1e-12)
