"""LU factorisation without pivoting over the reals, by the same recursion as the closure.

Buluç, Gilbert and Budak 2010, "Solving path problems on the GPU", section 3.3: Gaussian elimination without pivoting,
like Floyd–Warshall, is three nested loops over A[i,j], A[i,k], A[k,j], and halves in the same way.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .arrays import take_in
from .backend import bind
from .catalog import plus_times
from .devices import diagonal, module, on_device
from .errors import AlgebraError, DTypeError, ShapeError
from .types import Array

#: Blocks of this many rows are eliminated row by row.
_BLOCK = 32


def lu(A: Array) -> tuple[Any, Any]:
    """A = L U: L unit lower triangular, U upper triangular, no rows exchanged.

    Parameters
    ----------
    A : array_like, shape (n, n)
        float32, float64, or integers (which become float64); of NumPy, CuPy, PyTorch, JAX or whatever exports DLPack.
        Without pivoting the factors are accurate only where no pivot is small against its column, as in diagonally
        dominant or positive definite matrices.

    Returns
    -------
    L, U : arrays, shape (n, n)
        Of the library that A is from, and on its device.

    Raises
    ------
    ShapeError
        If A is not square.
    DTypeError
        If A is not real.
    AlgebraError
        If a pivot vanishes, or is no finite number: naming its row.

    See Also
    --------
    scipy.linalg.lu : With row exchanges.
    eliminate : Sparse matrices over any semiring.
    apsp.closure : Over (+, ×), (I − A)⁻¹.

    Notes
    -----
    With A cut into quadrants, A11 = L11 U11; U12 = L11⁻¹ A12; L21 = A21 U11⁻¹; A22 − L21 U12 = L22 U22.

    The same recursion as that of the closure: Buluç, Gilbert and Budak 2010, section 3.3. n³ / 3 pairs, and three
    matrices of A's size: the factors, and both in one.

    Examples
    --------
    >>> import semiring
    >>> L, U = semiring.lu([[4.0, 2.0], [2.0, 3.0]])
    >>> L.tolist(), U.tolist()
    ([[1.0, 0.0], [0.5, 1.0]], [[4.0, 2.0], [0.0, 2.0]])
    """
    taken = take_in(A, where="lu")
    array = taken.array
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ShapeError(f"lu: A must be square, (n, n), got shape {array.shape}.")
    if array.dtype.kind == "b":
        raise DTypeError("lu: A must hold real numbers, got bool.")
    dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    xp = module(array)
    with on_device(array):
        F = xp.array(array, dtype=dtype, order="C")
        _factor(F, 0)
        L = xp.tril(F, -1)
        diagonal(L)[...] = 1
        return taken.give_back(L, where="lu"), taken.give_back(xp.triu(F), where="lu")


def _factor(A: Array, row: int) -> None:
    """A ← L \\ U in place: L below the diagonal (its ones left out), U on and above it."""
    n = len(A)
    if n <= _BLOCK:
        return _eliminate(A, row)
    h = n // 2
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    _factor(A11, row)  # A11 = L11 U11
    A12[...] = _solve(A11, A12, lower=True)  # U12 ← L11⁻¹ A12
    A21[...] = _solve(A11.T, A21.T, lower=True, unit=False).T  # L21 ← A21 U11⁻¹, as U11ᵀ L21ᵀ = A21ᵀ
    _subtract(A22, A21, A12)
    _factor(A22, row + h)  # A22 − L21 U12 = L22 U22
    return None


def _subtract(C: Array, A: Array, B: Array) -> None:
    """C ← C − A B: on a CPU by NumPy's BLAS, on a GPU by the verbs, whose float32 products are on tensor cores."""
    if isinstance(C, np.ndarray):
        C -= A @ B
    else:
        bind(plus_times, C.dtype, device="cuda").gemm(C, -A, B)


def _eliminate(A: Array, row: int) -> None:
    """The base case: one pivot after the other, on the host where the matrix is tiny."""
    host = A if isinstance(A, np.ndarray) else A.get()
    scale = float(np.finfo(host.dtype).tiny)
    with np.errstate(all="ignore"):
        for k in range(len(host)):
            pivot = float(host[k, k])
            if not np.isfinite(pivot) or abs(pivot) < scale:
                raise AlgebraError(
                    f"lu: no pivot may vanish without row exchanges, got {pivot:g} in row {row + k}. "
                    "Use a diagonally dominant matrix, or scipy.linalg.lu, which pivots."
                )
            host[k + 1 :, k] /= host[k, k]
            host[k + 1 :, k + 1 :] -= np.outer(host[k + 1 :, k], host[k, k + 1 :])
    if host is not A:
        A[...] = module(A).asarray(host)


def _solve(T: Any, B: Array, *, lower: bool, unit: bool = True) -> Any:
    """T⁻¹ B for a triangular T, by the platform's own solver."""
    platform = "scipy.linalg" if isinstance(T, np.ndarray) else "cupyx.scipy.linalg"
    solve = importlib.import_module(platform).solve_triangular
    return solve(T, B, lower=lower, unit_diagonal=unit, check_finite=False)
