"""Elementwise ⊗ and ⊕ along axes: the operations of contractions besides products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..dense.product import multiplied
from ..host.devices import host, module, to_device
from ..host.types import Array, Matrix

#: Reduction method for each ufunc.
REDUCTIONS: dict[np.ufunc, str] = {
    np.minimum: "min", np.maximum: "max", np.add: "sum", np.logical_or: "any", np.bitwise_or: "any",
}  # fmt: skip


def by_blas(s: Semiring, X: Array) -> bool:
    """Whether products of X are NumPy's."""
    return type(X) is np.ndarray and s.add.ufunc is np.add and s.mul.ufunc is np.multiply


class Arrays:
    """Operations of contractions on NumPy or CuPy arrays of one dtype of the semiring."""

    def __init__(self, semiring: Semiring, threads: int | None = None) -> None:
        self.semiring, self.threads = semiring, threads

    def permuted(self, X: Array, axes: Sequence[int]) -> Matrix:
        return X.transpose(axes)

    def diagonal(self, X: Array, i: int, j: int) -> Matrix:
        """Diagonal of axes i and j, as the last axis."""
        return X.diagonal(0, i, j)

    def product(self, X: Array, Y: Array) -> Matrix:
        """X ⊗ Y, matrices or batches; over (+, ×) by NumPy's BLAS unless `threads` is set."""
        if self.threads is None and by_blas(self.semiring, X):
            with np.errstate(over="ignore", invalid="ignore"):
                return np.matmul(X, Y)
        return multiplied(X, Y, self.semiring, threads=self.threads)

    def times(self, X: Array, Y: Array) -> Matrix:
        """x ⊗ y elementwise; shapes broadcast."""
        mul = self.semiring.mul
        if mul.saturating and dtypes.SCALARS[X.dtype].integer:
            return _saturating(X, Y, self.semiring)
        if mul.ufunc is not None:
            return module(X).asarray(getattr(module(X), mul.ufunc.__name__)(X, Y))  # NumPy returns a scalar for no axes
        return _one_by_one(X, Y, self.semiring)

    def total(self, X: Array, axes: Sequence[int]) -> Matrix:
        """⊕ along axes; the semiring's zero along empty ones."""
        s, xp = self.semiring, module(X)
        left = [axis for axis in range(X.ndim) if axis not in axes]
        shape = tuple(X.shape[axis] for axis in left)
        if not X.size:
            return xp.full(shape, dtypes.zero(s, X.dtype), X.dtype)
        if s.add.ufunc is np.logaddexp and dtypes.SCALARS[X.dtype].floating:
            return logsumexp(xp, X, tuple(axes))
        if s.add.ufunc in REDUCTIONS and not (s.add.saturating and dtypes.SCALARS[X.dtype].integer):
            found = getattr(X, REDUCTIONS[s.add.ufunc])(axis=tuple(axes))
            return xp.asarray(found, X.dtype)
        rows = self.permuted(X, (*left, *axes)).reshape(math.prod(shape), -1)
        ones = xp.full((rows.shape[1], 1), dtypes.one(s, X.dtype), X.dtype)
        return self.product(rows, ones).reshape(shape)


def logsumexp(xp: ModuleType, X: Matrix, axes: tuple[int, ...], fixed: Any = lambda X: X) -> Matrix:
    """log Σ exp along axes, −∞ for empty sums, with finite derivatives of any order.

    `xp`: the library's functions; `fixed`: its stop-gradient.
    """
    greatest = fixed(xp.amax(X, axes, keepdims=True))
    shift = xp.where(greatest == -math.inf, xp.zeros_like(greatest), greatest)
    total = xp.sum(xp.exp(X - shift), axes, keepdims=True)
    none = total == 0
    found = xp.where(none, -math.inf, xp.log(xp.where(none, xp.ones_like(total), total)) + shift)
    return found.reshape([size for axis, size in enumerate(X.shape) if axis not in axes])


def _saturating(X: Array, Y: Array, s: Semiring) -> Matrix:
    """x ⊗ y of integers: clamped at the ends, which stand for ∞, and zero absorbs."""
    xp, record, zero = module(X), dtypes.SCALARS[X.dtype], dtypes.zero(s, X.dtype)
    if s.mul.ufunc not in (np.add, np.multiply) or (s.mul.ufunc is np.multiply and X.dtype.itemsize == 8):
        return _one_by_one(X, Y, s)
    with np.errstate(over="ignore"):
        wide = s.mul.ufunc(X, Y, dtype=np.int64) if xp is np else getattr(xp, s.mul.ufunc.__name__)(X.astype("i8"), Y)
    if X.dtype.itemsize == 8:  # the sign is wrong exactly where a sum has wrapped
        found = xp.where((X >= 0) & (Y >= 0) & (wide < 0), record.high, wide)
        found = xp.where((X < 0) & (Y < 0) & (wide >= 0), record.low, found)
    else:
        found = xp.clip(wide, record.low, record.high)
    return xp.where((X == zero) | (Y == zero), zero, found).astype(X.dtype)


def _one_by_one(X: Array, Y: Array, s: Semiring) -> Matrix:
    """x ⊗ y by Python numbers on the host, exactly: for a ⊗ without library function."""
    dtype, python, zero = X.dtype, s.mul.python, dtypes.zero(s, X.dtype)
    record = dtypes.SCALARS[dtype]

    def one(x: Matrix, y: Matrix) -> Matrix:
        if s.mul.saturating and record.integer:
            return zero if zero in (x, y) else min(max(python(x, y), record.low), record.high)
        return python(x, y)

    a, b = np.broadcast_arrays(host(X), host(Y))
    found = np.fromiter(map(one, a.ravel().tolist(), b.ravel().tolist()), dtype, a.size).reshape(a.shape)
    return to_device(found, "cpu" if module(X) is np else "cuda")
