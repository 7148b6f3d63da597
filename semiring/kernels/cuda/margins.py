"""Row and column sums under ⊕ on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...algebra.records import Semiring
from ...host.types import Array
from . import algebra, compile, gpu
from .library import cupy

#: Rows per part of a large matrix' column sums; most matrices per launch.
DEPTH, MOST = 256, 65535
_BLOCK = (256,)


def margins(A: Array, semiring: Semiring, labels: Array = None) -> np.ndarray:
    """Row sums, then column sums, of (n, n) or (batch, n, n); for log-sum-exp, sums of exponentials."""
    found = cupy.empty((2, *A.shape[:-1]), np.float64)
    A, names = cupy.ascontiguousarray(A), text.functions(A.dtype, semiring)
    _rows(names, A, labels, found[0], None)
    _columns(names, A, labels, found[1], None)
    return found.get()


def greatest(A: Array, semiring: Semiring, *, columns: bool) -> Callable[[], np.ndarray]:
    """Begin the greatest row (or column) sum of each matrix, shape (batch,); the result, called, waits for it."""
    keys = cupy.zeros(A.size // A.shape[-1] ** 2, np.uint64)
    A, names = cupy.ascontiguousarray(A), text.functions(A.dtype, semiring)
    (_columns if columns else _rows)(names, A, None, None, keys)
    wait = gpu.begin_fetch(keys.data.ptr, keys.size, np.uint64)

    def found() -> np.ndarray:
        bits, sign = wait(), np.uint64(1 << 63)
        numbers: np.ndarray = np.where(bits & sign, bits ^ sign, ~bits).view(np.float64)
        return semiring.order * numbers

    return found


def _rows(names: dict[str, Any], A: Array, labels: Array, sums: Array, keys: Array) -> None:
    n = A.shape[-1]
    for here, *operands in _strips(A, labels, sums, keys):
        names["rows"]((-(-n // 8), here), _BLOCK, (operands[0], np.int32(n), *operands[1:]))


def _columns(names: dict[str, Any], A: Array, labels: Array, sums: Array, keys: Array) -> None:
    """Launch the column sums; for one large matrix in parts, which are then summed."""
    n = A.shape[-1]
    parts, size, blocks = -(-n // DEPTH) if A.size == n * n else 1, np.int32(n), -(-n // 32)
    between = cupy.empty((parts, n), np.float64) if parts > 1 else None
    for here, matrix, label, to, key in _strips(A, labels, sums, keys):
        if between is None:
            names["columns"]((blocks, 1, here), _BLOCK, (matrix, size, label, to, key, size))
            continue
        at = between.data.ptr
        names["columns"]((blocks, parts), _BLOCK, (matrix, size, label, at, 0, np.int32(DEPTH)))
        names["total"]((blocks,), _BLOCK, (at, size, to, key, np.int32(parts)))


def _strips(A: Array, labels: Array, sums: Array, keys: Array) -> Iterator[tuple[int, ...]]:
    """Batches of one launch: count, and addresses of matrices, labels, sums and keys."""
    n = A.shape[-1]
    count = A.size // n**2
    operands = (A, n * n), (labels, n), (sums, n), (keys, 1)
    for start in range(0, count, MOST):
        begin = (0 if X is None else X.data.ptr + start * each * X.itemsize for X, each in operands)
        yield min(MOST, count - start), *begin


@compile.unit("margins.cu")
def text(dtype: np.dtype, semiring: Semiring) -> str:
    memory, _, _ = algebra.spelled(dtype)
    double = np.dtype(np.float64)
    if semiring.add.ufunc is np.logaddexp:
        value, add, nothing = "exp(double(a))", "a + b", "0.0"
    else:
        value = "fabs(double(a))" if semiring.series == "real" else "a"
        add = "Algebra::add(a, b)"
        nothing = "Algebra::zero()"
    prelude = f"""{algebra.text(semiring, double)}
using T = {memory};
__device__ inline double value(T a) {{ return {value}; }}
__device__ inline double add(double a, double b) {{ return {add}; }}
__device__ inline double nothing() {{ return {nothing}; }}
constexpr double order = {semiring.order};
"""
    return compile.source("margins.cu", prelude)
