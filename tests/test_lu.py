"""LU without pivoting: against the definition, on CPU and GPU."""

from __future__ import annotations

import numpy as np
import pytest

from semiring import AlgebraError, DTypeError, lu


def dominant(n: int, dtype: str, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((n, n))
    A[range(n), range(n)] = abs(A).sum(axis=1) + 1
    return A.astype(dtype)


def check(A: np.ndarray, L: np.ndarray, U: np.ndarray, tolerance: float) -> None:
    assert L.dtype == U.dtype
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_array_equal(U, np.triu(U))
    assert (L.diagonal() == 1).all()
    residual = A.astype(np.float64) - L.astype(np.float64) @ U.astype(np.float64)
    assert np.linalg.norm(residual) <= tolerance * np.linalg.norm(A)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 67, 300])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-14), ("int32", 1e-14)])
def test_the_product_of_the_factors_is_the_matrix(n, dtype, tolerance):
    A = dominant(n, "float64") * 10
    A = A.astype(dtype)
    before = A.copy()
    L, U = lu(A)
    check(A, L, U, tolerance)
    assert L.dtype == (np.float32 if dtype == "float32" else np.float64)
    np.testing.assert_array_equal(A, before)


def test_factors_are_the_textbook_ones():
    A = dominant(40, "float64")
    F = A.tolist()
    for k in range(40):
        for i in range(k + 1, 40):
            F[i][k] /= F[k][k]
            for j in range(k + 1, 40):
                F[i][j] -= F[i][k] * F[k][j]
    L, U = lu(np.asfortranarray(A))
    np.testing.assert_allclose(np.tril(L, -1) + U, F, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [2, 50])
def test_a_vanishing_pivot_is_named(n):
    A = np.eye(n)
    A[n - 1, n - 1] = 0
    with pytest.raises(AlgebraError, match=f"0 in row {n - 1}"):
        lu(A)
    with pytest.raises(AlgebraError, match="row 0"):
        lu(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_integers_that_floats_would_round_are_refused():
    with pytest.raises(
        DTypeError, match=r"lu: float64 must hold every integer exactly, got 9007199254740993 at \(0, 0\)"
    ):
        lu([[2**53 + 1, 1], [1, 2]])
    assert lu(np.array([[4, 2], [2, 3]], np.int16))[1].tolist() == [[4, 2], [0, 2]]
    assert lu(np.eye(2, dtype=np.float16))[0].dtype == np.float32


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 33, 1000])
def test_on_the_gpu(n):
    import cupy

    A = dominant(n, "float32")
    L, U = lu(cupy.asarray(A))
    assert isinstance(L, cupy.ndarray)
    check(A, L.get(), U.get(), 1e-5)
