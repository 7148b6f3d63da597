"""Gradients as sums along predecessor trees; `adjoint` shares them among ties.

The derivative of Σ Q[s,t] · D[s,t] by an edge's weight is the flow of the demand Q over that edge. Sums are float64, in
an order independent of the number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....host.types import Scalar
from ..compile import kernel
from ..instructions import Array
from ..pool import calls, run

#: Columns collected together; columns of a product searched together.
STRIP, WIDTH = 64, 512


def subtrees(P: np.ndarray, Q: np.ndarray, threads: int) -> np.ndarray:
    """sums[s,j] ← Σ Q[s,t] over the t whose path in P passes j or ends there; (…, n, n)."""
    n, sums = P.shape[-1], np.empty(P.shape, Q.dtype)
    rows = [X.reshape(-1, max(n, 1)) for X in _matrices(P, Q, sums)]

    def sources(_: int, first: int, last: int) -> None:
        _subtrees(*rows, np.empty(n + 1), *np.empty((2, n + 1), np.int32), first, last)

    run(sources, calls(P.size // max(n, 1), n, threads), threads)
    return sums


def collected(K: np.ndarray, values: np.ndarray, rows: int, threads: int) -> np.ndarray:
    """F[k,j] ← Σ values[i,j] over the i with K[i,j] = k; (…, rows, n). Negative k are skipped."""
    m, n = K.shape[-2:]
    F = np.empty((*K.shape[:-2], rows, n), values.dtype)
    matrices, batch = _matrices(K, values, F), F.size // max(rows * n, 1)

    def columns(_: int, b: int, first: int, last: int) -> None:
        _collect(*(X[b] for X in matrices), np.empty((STRIP, rows + 1)), first, last)

    run(columns, [(b, *part) for b in range(batch) for part in calls(n, m + rows, threads, STRIP)], threads)
    return F


def chosen(A: np.ndarray, B: np.ndarray, *, greatest: bool, times: bool, zero: float, threads: int) -> np.ndarray:
    """K[i,j] ← the least k of the best A[i,k] ⊗ B[k,j], or −1 if none beats zero; int32 (…, m, n)."""
    (m, _), n, sign = A.shape[-2:], B.shape[-1], -1 if greatest else 1
    K, worst = np.empty((*A.shape[:-1], n), np.int32), A.dtype.type(sign * zero)
    operands = sign * A, B if times else sign * B, K  # negated for max: the least is best
    matrices, batch = _matrices(*operands), K.size // max(m * n, 1)

    def rows(_: int, b: int, first: int, last: int) -> None:
        left, right, found = (X[b] for X in matrices)
        _choose(left, right, times, worst, found, np.empty(WIDTH, A.dtype), first, last)

    run(rows, [(b, *part) for b in range(batch) for part in calls(m, B.shape[-2] * n, threads)], threads)
    return K


def _matrices(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(X).reshape(math.prod(X.shape[:-2]), *X.shape[-2:]) for X in arrays]


@kernel
def _subtrees(P: Array, Q: Array, sums: Array, total: Array, waits: Array, queue: Array, first: int, last: int) -> None:
    """Add each vertex to its predecessor once all its successors have been added; n stands for no predecessor."""
    n: Any = np.uint32(P.shape[1])
    for s in range(first, last):
        p, q, out = P[s], Q[s], sums[s]
        for j in range(n):
            total[j] = q[j]
            waits[j] = 0
        waits[n] = 1
        for j in range(n):
            waits[min(np.uint32(p[j]), n)] += 1
        end = np.uint32(0)
        for j in range(n):
            queue[end] = j
            end += np.uint32(waits[j] == 0)
        begin = np.uint32(0)
        while begin < end:
            v = np.uint32(queue[begin])
            k = min(np.uint32(p[v]), n)
            begin += np.uint32(1)
            total[k] += total[v]
            waits[k] -= 1
            queue[end] = k
            end += np.uint32(waits[k] == 0)
        for j in range(n):
            out[j] = total[j]


@kernel
def _collect(K: Array, values: Array, F: Array, strip: Array, first: int, last: int) -> None:
    """Columns first … last − 1, strip by strip; the last entry of a strip collects the skipped ones."""
    none: Any = np.uint32(F.shape[0])
    for begin in range(first, last, STRIP):
        width = min(STRIP, last - begin)
        for w in range(width):
            for k in range(none):
                strip[w, k] = 0.0
        for i in range(K.shape[0]):
            for w in range(width):
                strip[w, min(np.uint32(K[i, begin + w]), none)] += values[i, begin + w]
        for k in range(none):
            for w in range(width):
                F[k, begin + w] = strip[w, k]


@kernel
def _choose(A: Array, B: Array, times: bool, worst: Scalar, K: Array, best: Array, first: int, last: int) -> None:
    """Least product of each pair and its first witness, rows first … last − 1."""
    for begin in range(0, B.shape[1], WIDTH):
        width = min(WIDTH, B.shape[1] - begin)
        for i in range(first, last):
            found = K[i, begin : begin + width]
            for j in range(width):
                best[j], found[j] = worst, -1
            for k in range(A.shape[1]):
                a, b = A[i, k], B[k, begin : begin + width]
                for j in range(width):
                    c = a * b[j] if times else a + b[j]
                    better = c < best[j]
                    best[j] = c if better else best[j]
                    found[j] = k if better else found[j]
