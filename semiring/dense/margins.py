"""Bounds of the spectral radius: ⊕ along rows and columns of a matrix without negative entries; powers of any."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..algebra.records import Semiring
from ..host.devices import host, module
from ..host.types import Array

#: Entries converted to float64 at a time.
_COPIED = 1 << 14


def margins(A: Array, semiring: Semiring, labels: Array = None) -> tuple[np.ndarray, np.ndarray]:
    """Row and column sums ⊕, float64, shape (n,) or (batch, n); over the reals of absolute values.

    A (n, n) or (batch, n, n), NumPy or CuPy, over a semiring whose ⊕ has a ufunc. labels (int32, A's device): entries
    between different labels are left out. n² steps. The greatest row sum bounds the spectral radius from above, the
    least from below (Collatz 1942, Wielandt 1950), and column sums likewise.
    """
    logarithms = semiring.add.ufunc is np.logaddexp
    if isinstance(A, np.ndarray):
        found = _on_host(A, semiring, labels, logarithms)
    else:
        from ..kernels.cuda.margins import margins as on_device

        found = on_device(A, semiring, labels)
    with np.errstate(divide="ignore"):
        rows, columns = np.log(found) if logarithms else found
    return rows, columns


def greatest(A: Array, semiring: Semiring, *, columns: bool = False) -> np.ndarray:
    """Weightiest row (or column) sum of each matrix of (batch, n, n), float64 (batch,)."""
    if isinstance(A, np.ndarray):
        way = semiring.order
        return way * (way * margins(A, semiring)[columns]).max(axis=-1)
    return begun(A, semiring, columns=columns)()


def begun(A: Array, semiring: Semiring, *, columns: bool = False) -> Callable[[], np.ndarray]:
    """Begin `greatest` on the GPU; the result, called, waits for it."""
    from ..kernels.cuda.margins import greatest as on_device

    wait = on_device(A, semiring, columns=columns)

    def found() -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(wait()) if semiring.add.ufunc is np.logaddexp else wait()

    return found


def radius_below_one(A: Array, rounding: float) -> bool:
    """Whether the spectral radius of a real square matrix, NumPy or CuPy in float64, is below 1 by more than rounding.

    Gelfand's formula ρ(A) = lim ‖Aᵏ‖^(1/k): square A until its norm is below ½, or its trace proves some |λ| > 1
    (|tr Aᵏ| ≤ m ρᵏ), or rounding is reached.
    """
    power = _balanced(A)
    for _ in range(1 + math.ceil(-math.log2(rounding))):
        norm = float(abs(power).sum(axis=1).max())
        if norm < 0.5:
            return True
        if not norm < 1e150 or abs(float(power.trace())) > len(power):
            break
        power = power @ power
    return False


def _balanced(A: Array) -> Array:
    """A similar matrix with rows and columns of like norm, scaled exactly by powers of 2."""
    if float(abs(A).max()) < 1e6:
        return A
    from scipy.linalg import matrix_balance

    with np.errstate(invalid="ignore"):  # SciPy casts scale factors, unused here, to indices
        return module(A).asarray(matrix_balance(host(A), permute=False)[0])


def _on_host(A: np.ndarray, semiring: Semiring, labels: Any, logarithms: bool) -> np.ndarray:
    """Both margins, a few rows at a time; of logarithms the sums of exponentials."""
    add: Any = np.add if logarithms else semiring.add.ufunc
    nothing = 0.0 if logarithms else float(semiring.zero)
    found = np.full((2, *A.shape[:-1]), nothing)
    step = max(1, _COPIED * A.shape[-1] // max(1, A.size))
    with np.errstate(over="ignore"):
        for start in range(0, A.shape[-2], step):
            rows = slice(start, start + step)
            part = A[..., rows, :].astype(np.float64)
            if logarithms:
                np.exp(part, out=part)
            elif semiring.series == "real":
                np.abs(part, out=part)
            if labels is not None:
                part[labels[..., rows, None] != labels[..., None, :]] = nothing
            found[0][..., rows] = add.reduce(part, axis=-1)
            add(found[1], add.reduce(part, axis=-2), out=found[1])
    return found
