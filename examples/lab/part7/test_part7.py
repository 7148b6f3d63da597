import numpy as np
import pytest
from elimination import lu


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
def test_the_product_is_a(n):
    A = np.random.default_rng(n).normal(size=(n, n)) + 2 * n * np.eye(n)  # needs no pivoting
    before = A.copy()
    L, U = lu(A)
    np.testing.assert_array_equal(A, before, "A is the caller's")
    np.testing.assert_allclose(L, np.tril(L), atol=1e-12, err_msg="above the diagonal, L is 0")
    np.testing.assert_array_equal(np.diag(L), 1, "the diagonal of L is 1")
    np.testing.assert_allclose(U, np.triu(U), atol=1e-12, err_msg="below the diagonal, U is 0")
    np.testing.assert_allclose(L @ U, A, atol=1e-9, err_msg="L U is not A")


def test_by_hand():
    L, U = lu(np.array([[2.0, 1.0], [6.0, 7.0]]))
    np.testing.assert_array_equal(L, [[1, 0], [3, 1]])
    np.testing.assert_array_equal(U, [[2, 1], [0, 4]])
