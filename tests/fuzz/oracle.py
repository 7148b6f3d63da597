"""What the algebra target knows for certain: lengths as exact integers or fractions, products by loops over k.

Nothing here is compiled, and nothing comes from the library but the declarations of semirings.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import cases
import numpy as np

#: No edge, in int64 matrices of lengths: beyond any sum of two. In matrices of Python's integers it is inf.
FAR = np.int64(1 << 60)


def absent(W: np.ndarray) -> np.ndarray:
    """Which entries of an integer matrix of lengths are no edge."""
    return np.asarray(W == math.inf if W.dtype == object else W >= FAR, dtype=bool)


def shortest(W: np.ndarray) -> np.ndarray | None:
    """All distances of an integer matrix of lengths by Floyd–Warshall; None at a negative cycle. Exact."""
    n, D = len(W), W
    if W.dtype != object and int(np.abs(W[~absent(W)]).max(initial=0)) * (n + 1) >= FAR // 4:
        D = np.where(absent(W), math.inf, W.astype(object))
    if has_negative_cycle(D):
        return None
    for k in range(n):
        gone = absent(D[:, k])[:, None] | absent(D[k])[None, :]
        D = np.where(gone, D, np.minimum(D, D[:, k, None] + D[None, k, :]))
    D[np.arange(n), np.arange(n)] = 0
    return D


def has_negative_cycle(W: np.ndarray) -> bool:
    """Bellman–Ford from a source tied to every vertex: distances still fall after n rounds."""
    h = np.zeros(len(W), dtype=W.dtype)
    gone = absent(W)
    for _ in range(len(W)):
        lower = np.minimum(h, np.where(gone, 0, h[:, None] + W).min(axis=0))
        if (lower == h).all():
            return False
        h = lower
    return len(W) > 0


def exact_shortest(W: list[list[Fraction | None]]) -> list[list[Fraction | None]] | None:
    """All distances of a small matrix of fractions (None where there is no edge); None at a negative cycle."""
    n, D = len(W), [list(row) for row in W]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                a, b, c = D[i][k], D[k][j], D[i][j]
                if a is not None and b is not None and (c is None or a + b < c):
                    D[i][j] = a + b
        if any((d := D[i][i]) is not None and d < 0 for i in range(n)):
            return None
    for i in range(n):
        D[i][i] = Fraction(0)
    return D


def product(case: cases.Case, A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """C ⊕ A ⊗ B for shapes (…, m, k) and (…, k, n), each matrix by the uncompiled loops."""
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A, B = (np.broadcast_to(X, (*batch, *X.shape[-2:])) for X in (A, B))
    out = np.empty((*batch, A.shape[-2], B.shape[-1]), case.dtype)
    for at in np.ndindex(*batch):
        out[at] = cases.product(case, A[at], B[at], None if C is None else C[at])
    return out


def power(case: cases.Case, A: np.ndarray, k: int) -> np.ndarray:
    """A ⊗ … ⊗ A, one factor after the other."""
    n = len(A)
    out = np.full((n, n), case.zero, case.dtype)
    out[np.arange(n), np.arange(n)] = case.one
    for _ in range(k):
        out = cases.product(case, out, A)
    return out


def nilpotent_sum(A: np.ndarray) -> np.ndarray:
    """I + A + A² + … of a matrix without cycles, in fractions."""
    n = len(A)
    rows = [[Fraction(x) for x in row] for row in A.tolist()]
    total = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    term = total
    for _ in range(n):
        term = [[sum((a * rows[k][j] for k, a in enumerate(row) if a), Fraction(0)) for j in range(n)] for row in term]
        total = [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(total, term, strict=True)]
    return np.array([[_float(x) for x in row] for row in total]).reshape(n, n)


def _float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def weight(W: Any, cycle: list[int]) -> Fraction:
    """The exact weight of a cycle."""
    return sum((Fraction(W[u][v]) for u, v in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True)), Fraction(0))
