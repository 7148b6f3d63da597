"""Closures of symmetric matrices over (max, min) and (min, max) by a best spanning tree, in n² (Hu 1961).

Prim's algorithm adds vertices by the best edge that leaves the tree. Everything reachable from a vertex by edges as
good as t is added before the first vertex with a worse edge. So the bottleneck of two vertices is the worst edge added
after the earlier one, up to the later one.
"""

from __future__ import annotations

import numpy as np

from ....algebra.dtypes import one, zero
from ....algebra.ranges import steps
from ....algebra.records import Semiring
from ....host.types import Scalar
from ..compile import kernel
from ..instructions import Array
from ..pool import run

#: Vertices added, and rows written, per call, so that Ctrl-C is handled.
_ADDED, _WRITTEN = 256, 64


def close(A: np.ndarray, semiring: Semiring, out: np.ndarray, threads: int) -> None:
    """out ← A* of a symmetric A, shape (n, n), over (max, min) or (min, max); the diagonal of A is ignored.

    Rows of `out` are contiguous; it must not overlap A.
    """
    n, most = len(A), semiring.add.selects == "greatest"
    none = zero(semiring, A.dtype)
    edges, order = np.full(n, none), np.zeros(n, np.int64)
    best, outside = np.full(n, none), np.arange(n)
    for first in range(0, n, _ADDED):
        grow(A, most, best, outside, order, edges, first, min(first + _ADDED, n))
    ends = steps(n, _WRITTEN)
    run(lambda _, begin, end: fill(out, most, order, edges, one(semiring, A.dtype), begin, end), ends, threads)


@kernel
def grow(A: Array, most: bool, best: Array, outside: Array, order: Array, edges: Array, first: int, last: int) -> None:
    """Add the vertices number first … last − 1 in `order`, and the edges that added them.

    `outside` lists the n − first remaining vertices, and `best` their best edges to the tree.
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
def fill(out: Array, most: bool, order: Array, edges: Array, one: Scalar, begin: int, end: int) -> None:
    """Rows of the vertices number begin … end − 1: the worst edge between each pair."""
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
