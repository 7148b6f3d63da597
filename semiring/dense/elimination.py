"""LU factorisation without pivoting over the reals, by the closure's recursion.

Buluç, Gilbert and Budak 2010, "Solving path problems on the GPU", section 3.3: Gaussian elimination without pivoting,
like Floyd–Warshall, is three nested loops over A[i,j], A[i,k], A[k,j], and divides the same way.
"""

from __future__ import annotations

import numpy as np

from ..algebra.catalog import plus_times
from ..algebra.conversion import conform
from ..host.arrays import require_square, take_in
from ..host.devices import diagonal, module, on_device
from ..host.errors import AlgebraError, DTypeError
from ..host.types import Array

#: Size of the base case.
_BLOCK = 32


def lu(A: Array) -> tuple[Array, Array]:
    """A = L U without pivoting: L unit lower triangular, U upper triangular.

    Parameters
    ----------
    A : array_like, shape (n, n)
        float32, float64, or integers (converted to float64); NumPy, CuPy, PyTorch, JAX or anything with DLPack.
        Accurate only where no pivot is small against its column, as in diagonally dominant or positive definite
        matrices.

    Returns
    -------
    L, U : arrays, shape (n, n)
        Of A's library, on its device.

    Raises
    ------
    ShapeError, DTypeError
        If A is not square, or not real.
    AlgebraError
        If a pivot vanishes or is not finite, naming its row.

    See Also
    --------
    scipy.linalg.lu : With pivoting.
    eliminate : Sparse matrices over any semiring.
    apsp.closure : (I − A)⁻¹ over (+, ×).

    Notes
    -----
    In quadrants, A11 = L11 U11; U12 = L11⁻¹ A12; L21 = A21 U11⁻¹; A22 − L21 U12 = L22 U22 (Buluç, Gilbert and Budak
    2010, section 3.3). n³ / 3 pairs, and memory for three matrices of A's size, on a GPU in float64.

    Examples
    --------
    >>> import semiring
    >>> L, U = semiring.lu([[4.0, 2.0], [2.0, 3.0]])
    >>> L.tolist(), U.tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [[4.0, 2.0], [0.0, 2.0]])
    """
    taken = take_in(A, where="lu")
    array = taken.array
    require_square(array.shape, where="lu")
    if array.dtype.kind == "b":
        raise DTypeError("lu: A must hold real numbers, got bool.")
    xp = module(array)
    with on_device(array):
        array = conform(array, plus_times, None if array.dtype.kind == "f" else "float64", where="lu")
        dtype = array.dtype
        if xp is np:
            F = xp.array(array, dtype=dtype, order="C")
            _factor(F, 0)
        else:
            F = _factored_on_device(array).astype(dtype, copy=False)
        L = xp.tril(F, -1)
        diagonal(L)[...] = 1
        return taken.give_back(L, where="lu"), taken.give_back(xp.triu(F), where="lu")


def _factored_on_device(A: Array) -> Array:
    """L \\ U in float64: many updates round each entry, and float32 would lose digits."""
    from ..kernels.cuda.dense.lu import factor

    F = module(A).array(A, dtype=np.float64, order="C")
    if len(F) and (failed := factor(F)):
        raise _pivot_error(*failed)
    return F


def _factor(A: np.ndarray, row: int) -> None:
    """A ← L \\ U in place: L below the diagonal, U on and above it."""
    from scipy.linalg import solve_triangular

    n = len(A)
    if n <= _BLOCK:
        return _eliminate(A, row)
    h = n // 2
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    _factor(A11, row)  # A11 = L11 U11
    A12[...] = solve_triangular(A11, A12, lower=True, unit_diagonal=True, check_finite=False)  # U12 ← L11⁻¹ A12
    A21[...] = solve_triangular(A11.T, A21.T, lower=True, check_finite=False).T  # L21 ← A21 U11⁻¹: U11ᵀ L21ᵀ = A21ᵀ
    A22 -= A21 @ A12
    _factor(A22, row + h)  # A22 − L21 U12 = L22 U22
    return None


def _eliminate(A: np.ndarray, row: int) -> None:
    """Base case: one pivot after another."""
    scale = float(np.finfo(A.dtype).tiny)
    with np.errstate(all="ignore"):
        for k in range(len(A)):
            pivot = float(A[k, k])
            if not np.isfinite(pivot) or abs(pivot) < scale:
                raise _pivot_error(row + k, pivot)
            A[k + 1 :, k] /= A[k, k]
            A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def _pivot_error(row: int, pivot: float) -> AlgebraError:
    return AlgebraError(
        f"lu: no pivot may vanish without row exchanges, got {pivot:g} in row {row}. "
        "Use a diagonally dominant matrix, or scipy.linalg.lu, which pivots."
    )
