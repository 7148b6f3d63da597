"""Products over (+, ×) and (log-sum-exp, +) by the tensor cores of a GPU, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from test_sums import KINDS, close, logsumexp, ranges

from semiring import get, lu, matmul
from semiring.kernels.backend import bind
from semiring.kernels.cuda.dense import matrix

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("kind", [*KINDS, "against", "far"])
@pytest.mark.parametrize(("m", "k", "n"), [(300, 517, 257), (131, 4097, 1030)])
def test_logarithms(cp, kind, m, k, n):
    """On every range of entries; in memory that is none of the operands', added to it, and in place."""
    A, B = (X.astype(np.float32) for X in ranges(kind, m, k, n, np.random.default_rng(1)))
    ops, C = bind(get("log_plus"), "float32", device="cuda"), cp.full((m, n + 3), np.nan, np.float32)[:, :n]
    assert ops.sums.fast(m, k, n)
    a, b = cp.asarray(A), cp.asarray(B)
    ops.matmul(C, a, b)
    seen = np.unique([0, 3, m // 2, m - 1])
    expected = logsumexp(A[seen], B)
    close(C.get()[seen], expected, k)
    ops.gemm(C, a, b)
    close(C.get()[seen], logsumexp(A[seen], B, expected), k)
    assert not np.isnan(C.get()).any()


@pytest.mark.parametrize("kind", KINDS)
def test_logarithms_in_float64(cp, kind):
    A, B = ranges(kind, 200, 300, 260, np.random.default_rng(2))
    C = matmul(cp.asarray(A), cp.asarray(B), "log_plus").get()
    close(C[:9], logsumexp(A[:9], B), 300)


@pytest.mark.parametrize(
    ("count", "m", "k", "n"), [(70, 16, 16, 16), (9, 65, 70, 90), (5, 128, 130, 150), (3, 300, 200, 270)]
)
@pytest.mark.parametrize("shared", [False, True])
def test_batches(cp, count, m, k, n, shared):
    A, B = (X.astype(np.float32) for X in ranges("infinite", count * m, k, count * n, np.random.default_rng(3)))
    A, B = A.reshape(count, m, k), np.ascontiguousarray(B.reshape(k, count, n).transpose(1, 0, 2))
    A[1] -= 90 * (np.arange(k) % 2).astype(np.float32)
    B[1] -= 90 * (np.arange(k) % 2 == 0).astype(np.float32)[:, None]
    B = B[1] if shared else B
    C = matmul(cp.asarray(A), cp.asarray(B), "log_plus").get()
    for i in (0, 1, count - 1):
        close(C[i], logsumexp(A[i], B if shared else B[i]), k)


@pytest.mark.parametrize("wide", [0, 12])
@pytest.mark.parametrize(("m", "k", "n"), [(2000, 2100, 2001), (4049, 300, 5300)])
def test_sums(cp, m, k, n, wide):
    """The error of an ordinary loop, whatever cancels."""
    rng, ops = np.random.default_rng(4), bind(get("plus_times"), "float32", device="cuda")
    A, B = (rng.standard_normal(shape) * 10 ** (wide * (rng.random(shape) - 0.5)) for shape in ((m, k), (k, n)))
    A, B = (cp.asarray(X.astype(np.float32)) for X in (A, B))
    C, D = (cp.full((m, n), np.nan, np.float32) for _ in range(2))
    assert ops.sums.fast(m, k, n)
    ops.matmul(C, A, B)
    ops.multiply(ops.tile_table[0], *map(matrix.view, (D, A, B)), accumulate=False)
    exact, scale = A.astype(float) @ B.astype(float), abs(A).astype(float) @ abs(B).astype(float)
    by_parts, by_loop = (float((abs(X - exact) / scale).max()) for X in (C, D))
    assert by_parts <= 1.5 * by_loop
    ops.gemm(C, A, B)
    assert float((abs(C - 2 * exact) / scale).max()) <= 2 * 1.5 * by_loop


def test_sums_that_overflow_are_computed_as_before(cp):
    A, B = np.full((2048, 2048), 2, np.float32), np.full((2048, 2048), 3, np.float32)
    A[2, 7], B[7, :3] = 3e38, (2, -2, 0)
    C = matmul(cp.asarray(A), cp.asarray(B), "plus_times").get()
    assert C[2, :4].tolist() == [np.inf, -np.inf, 6 * 2047, np.inf]
    assert (np.delete(C, 2, 0)[:, 3:] == 6 * 2048).all()


@pytest.mark.parametrize("name", ["log_plus", "plus_times"])
def test_closures(cp, name):
    """By products on tensor cores, against (I − A)⁻¹ in float64."""
    import apsp

    A = get(name).draw(np.random.default_rng(5), (2500, 2500))
    closed = apsp.closure(cp.asarray(A, np.float32), name).get()
    inverse = np.linalg.inv(np.eye(2500) - (np.exp(A) if name == "log_plus" else A))
    expected = np.log(inverse) if name == "log_plus" else inverse
    # On the diagonal 2,500 small terms are added to 1, each rounded to 2⁻²⁴ of that.
    np.testing.assert_allclose(closed, expected, rtol=2500 * 2.0**-24, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["log_plus", "plus_times"])
def test_closures_of_batches_and_again(cp, name, dtype):
    """Each matrix of a batch is judged; a matrix like an earlier one is, too."""
    import apsp
    from semiring import DivergenceError

    rng, log = np.random.default_rng(7), name == "log_plus"
    for shape in ((40, 7, 7), (9, 64, 64), (5, 130, 130), (2, 300, 300), (150, 150), (700, 700)):
        for _ in range(2):
            W = get("plus_times").draw(rng, shape)
            A = cp.asarray(np.log(W) if log else W, dtype)
            closed = apsp.closure(A, name).get()
            expected = np.linalg.inv(np.eye(shape[-1]) - W)
            np.testing.assert_allclose(closed, np.log(expected) if log else expected, atol=2e-5)
        bad = A[len(A) - 1] if A.ndim == 3 else A
        bad[-1], bad[:, -1] = (0.5, 0.5) if log else (1.5, 1.5)
        with pytest.raises(
            DivergenceError, match=f"It is matrix {len(A) - 1} of the batch" if len(shape) == 3 else "limit"
        ):
            apsp.closure(A, name)


def test_lu(cp):
    A = np.random.default_rng(6).normal(size=(4100, 4100)).astype(np.float32)
    A += 4100 * np.eye(4100, dtype=np.float32)
    L, U = (X.get().astype(float) for X in lu(cp.asarray(A)))
    np.testing.assert_allclose(L @ U, A, atol=2e-3)
