"""numba: what predecessors tell of paths. They are trees, one a source: P[i,·] leads from every vertex back to i."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import kernel


@kernel
def hops(P: Any, sources: Any, H: Any, first: int, last: int) -> int:
    """H[r,j] ← the edges on the path from sources[r] to j, for rows first … last; a row that is no tree, or −1."""
    n = P.shape[1]
    climbed = np.empty(n, np.int32)
    for r in range(first, last):
        p, h = P[r], H[r]
        h[:] = -1
        for j in range(n):
            if p[j] < 0:
                h[j] = -9999
        h[sources[r]] = 0
        for j in range(n):
            v, steps = j, 0
            while h[v] == -1:
                if steps == n or p[v] >= n:
                    return r
                climbed[steps] = v
                steps += 1
                v = p[v]
            if steps and h[v] < 0:  # a predecessor that has none itself, and is not the source
                return r
            for s in range(steps - 1, -1, -1):
                h[climbed[s]] = h[v] + steps - s
    return -1


@kernel
def lengths(P: Any, rows: Any, sources: Any, targets: Any, order: Any, count: Any, first: int, last: int) -> int:
    """count[x] ← the vertices of path x: 0 where there is none; a path that does not end, or −1.

    Path x = order[c], first ≤ c < last, leads from sources[x] to targets[x] in the tree P[rows[x]].
    """
    n = P.shape[1]
    for c in range(first, last):
        x = order[c]
        p, i, v, steps = P[rows[x]], sources[x], targets[x], 1
        while v != i and v >= 0:
            v = p[v]
            steps += 1
            if steps > n + 1 or v >= n:
                return x
        count[x] = steps if v == i else 0
    return -1


@kernel
def fill(
    P: Any, rows: Any, sources: Any, targets: Any, order: Any, starts: Any, vertices: Any, first: int, last: int
) -> None:
    """vertices[starts[x] : starts[x + 1]] ← path x, from its source to its target."""
    for c in range(first, last):
        x = order[c]
        p, v = P[rows[x]], targets[x]
        for at in range(starts[x + 1] - 1, starts[x] - 1, -1):
            vertices[at] = v
            v = p[v]


@kernel
def by_row(rows: Any, m: int, order: Any) -> None:
    """order ← the paths, those of one row together."""
    at = np.zeros(m + 1, np.int64)
    for r in rows:
        at[r + 1] += 1
    for r in range(m):
        at[r + 1] += at[r]
    for x in range(len(rows)):
        order[at[rows[x]]] = x
        at[rows[x]] += 1
