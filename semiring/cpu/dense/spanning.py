"""numba: closures of symmetric matrices over (max, min) and (min, max), by a best spanning tree, in n² (Hu 1961).

Prim's algorithm adds vertices to a tree by the best edge that leaves it. All that a vertex reaches by edges as good as
t come before the first that is added by a worse one. So the best bottleneck between two vertices is the worst edge by
which any was added after the first of them, up to the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra import Semiring
from ...dtypes import one, zero
from ..compile import kernel
from ..pool import run

#: Vertices that are added between two looks at Ctrl-C, and rows that are written.
_ADDED, _WRITTEN = 256, 64


def close(A: np.ndarray, semiring: Semiring, out: np.ndarray, threads: int) -> None:
    """out ← A*, of a symmetric A over (max, min) or (min, max), whose diagonal is not looked at.

    Parameters
    ----------
    A, out : array, shape (n, n)
        Rows of `out` are contiguous; it is other memory than A.
    threads : int
        Rows are written by so many.
    """
    n, most = len(A), semiring.add.selects == "greatest"
    none = zero(semiring, A.dtype)
    edges, order = np.full(n, none), np.zeros(n, np.int64)
    best, outside = np.full(n, none), np.arange(n)
    for first in range(0, n, _ADDED):
        grow(A, most, best, outside, order, edges, first, min(first + _ADDED, n))
    ends = [(i, min(i + _WRITTEN, n)) for i in range(0, n, _WRITTEN)]
    run(lambda _, begin, end: fill(out, most, order, edges, one(semiring, A.dtype), begin, end), ends, threads)


@kernel
def grow(A: Any, most: bool, best: Any, outside: Any, order: Any, edges: Any, first: int, last: int) -> None:
    """Add vertices number first … last − 1: `order` and `edges` say which, and by what.

    `outside` are the others, the first n − first of it, and `best` the best edge from the tree to each of these.
    """
    for k in range(first, last):
        left = len(order) - k
        chosen = 0
        for j in range(1, left):
            if (best[j] > best[chosen]) if most else (best[j] < best[chosen]):
                chosen = j
        v = outside[chosen]
        order[k], edges[k] = v, best[chosen]
        outside[chosen], best[chosen] = outside[left - 1], best[left - 1]
        row = A[v]
        for j in range(left - 1):
            x = row[outside[j]]
            if most:
                best[j] = x if x > best[j] else best[j]
            else:
                best[j] = x if x < best[j] else best[j]


@kernel
def fill(out: Any, most: bool, order: Any, edges: Any, one: Any, begin: int, end: int) -> None:
    """Rows of the vertices number begin … end − 1: the worst of the edges between each two."""
    for k in range(begin, end):
        row, worst = out[order[k]], one
        row[order[k]] = one
        for j in range(k + 1, len(order)):
            x = edges[j]
            worst = (x if x < worst else worst) if most else (x if x > worst else worst)
            row[order[j]] = worst
        worst = one
        for j in range(k, 0, -1):
            x = edges[j]
            worst = (x if x < worst else worst) if most else (x if x > worst else worst)
            row[order[j - 1]] = worst
