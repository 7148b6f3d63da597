"""Checks of a closure D and of predecessors P by definition, row by row.

The edges into j are ends[j] … ends[j + 1], their tails ascending; or, if `dense`, a column of A.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..annotations import Array
from ..intrinsics import kernel, one, plus, times, zero
from ..kinds import Kind
from .equality import better

#: Columns of a matrix looked at together: a line of a cache, or two.
TOGETHER = 16


@kernel
def product(
    kind: Kind, D: Array, sources: Array, B: Array, ends: Array, tails: Array, entering: Array, first: int, last: int
) -> None:
    """B[r,·] ← (I ⊕ D ⊗ A)[r,·] for rows first … last − 1."""
    for r in range(first, last):
        d, b = D[r], B[r]
        for j in range(len(d)):
            s = one(kind) if j == sources[r] else zero(kind)
            for e in range(ends[j], ends[j + 1]):
                s = plus(kind, s, times(kind, d[tails[e]], entering[e]))
            b[j] = s


@kernel
def weight(kind: Kind, ends: Array, tails: Array, entering: Array, k: int, j: int) -> Any:
    """Weight of the edge (k, j), the best of parallel ones; 0 without one."""
    low, high = ends[j], ends[j + 1]
    while low < high:
        middle = (low + high) // 2
        if tails[middle] < k:
            low = middle + 1
        else:
            high = middle
    w = zero(kind)
    while low < ends[j + 1] and tails[low] == k:
        w = entering[low] if better(kind, entering[low], w) else w
        low += 1
    return w


@kernel
def attain(
    kind: Kind, P: Array, sources: Array, L: Array, A: Array, dense: bool, ends: Array, tails: Array, entering: Array,
    climbed: Array, known: Array, first: int, last: int,
) -> int:  # fmt: skip
    """L[r,j] ← product of the edges from sources[r] to j along P, 0 without a path; −1, or a row that is no tree.

    If a step of P is no edge, L is 0 from there on, as 0 absorbs.
    """
    n = P.shape[1]
    for left in range(0, n, TOGETHER):  # L ← last edges, of all rows while those of a matrix are in a cache
        for r in range(first, last):
            for j in range(left, min(left + TOGETHER, n)):
                k = np.uint32(P[r, j])
                L[r, j] = A[k, j] if dense and k < n else zero(kind)
    for r in range(first, last):
        p, length = P[r], L[r]
        for j in range(n):
            known[j] = p[j] < 0
        known[sources[r]], length[sources[r]] = True, one(kind)
        for j in range(n):
            v, steps = np.uint32(j), 0
            while not known[v]:
                if steps == n or p[v] >= n:
                    return r
                climbed[steps] = v
                steps += 1
                v = np.uint32(p[v])
            value = length[v]
            for s in range(steps - 1, -1, -1):
                u = np.uint32(climbed[s])
                value = times(kind, value, length[u] if dense else weight(kind, ends, tails, entering, v, u))
                length[u], known[u], v = value, True, u
    return -1
