"""Paths from predecessor trees: hop counts and vertex lists. P[i,·] leads from every vertex back to i."""

from __future__ import annotations

import numpy as np

from ....host.errors import DomainError
from ..compile import kernel
from ..instructions import Array
from ..pool import calls, run


def hops(P: np.ndarray, sources: np.ndarray, threads: int) -> np.ndarray:
    H, wrong = np.empty(P.shape, np.int32), [-1] * len(P)

    def chunk(_: int, first: int, last: int) -> None:
        wrong[first] = _hops(P, sources, H, np.empty(P.shape[1], np.int32), first, last)

    run(chunk, calls(len(P), P.shape[1], threads), threads)
    _refuse(max(wrong, default=-1))
    return H


def walks(
    P: np.ndarray, rows: np.ndarray, sources: np.ndarray, targets: np.ndarray, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    paths = len(rows)
    order, starts, wrong = np.empty(paths, np.int64), np.zeros(paths + 1, np.int64), [-1] * paths
    _by_row(rows, np.zeros(len(P) + 1, np.int64), order)  # for locality of rows
    parts = calls(paths, 32, threads)

    def count(_: int, first: int, last: int) -> None:
        wrong[first] = _lengths(P, rows, sources, targets, order, starts[1:], first, last)

    run(count, parts, threads)
    path = max(wrong, default=-1)
    _refuse(-1 if path < 0 else int(rows[path]))
    np.cumsum(starts, out=starts)
    vertices = np.empty(int(starts[-1]), np.int32)
    run(lambda _, first, last: _fill(P, rows, sources, targets, order, starts, vertices, first, last), parts, threads)
    return vertices, starts


def _refuse(row: int) -> None:
    if row >= 0:
        raise DomainError(
            f"paths: predecessors must lead back to their source, got others in row {row}. Take those of "
            "apsp.predecessors, or of SciPy with return_predecessors=True."
        )


@kernel
def _hops(P: Array, sources: Array, H: Array, climbed: Array, first: int, last: int) -> int:
    """H[r,j] ← number of edges from sources[r] to j, rows first … last − 1; returns a row that is no tree, or −1."""
    n = P.shape[1]
    for r in range(first, last):
        p, h = P[r], H[r]
        for j in range(n):
            h[j] = -9999 if p[j] < 0 else -1
        h[sources[r]] = 0
        for j in range(n):
            v, steps = j, 0
            while h[v] == -1:
                if steps == n or p[v] >= n:
                    return r
                climbed[steps] = v
                steps += 1
                v = p[v]
            if steps and h[v] < 0:  # a predecessor without one that is not the source
                return r
            for s in range(steps - 1, -1, -1):
                h[climbed[s]] = h[v] + steps - s
    return -1


@kernel
def _lengths(
    P: Array, rows: Array, sources: Array, targets: Array, order: Array, count: Array, first: int, last: int
) -> int:
    """count[x] ← vertices of path x, 0 if there is none; returns an endless path, or −1.

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
def _fill(
    P: Array, rows: Array, sources: Array, targets: Array, order: Array, starts: Array, vertices: Array, first: int,
    last: int,
) -> None:  # fmt: skip
    """vertices[starts[x] : starts[x + 1]] ← path x, from its source to its target."""
    for c in range(first, last):
        x = order[c]
        p, v = P[rows[x]], targets[x]
        for position in range(starts[x + 1] - 1, starts[x] - 1, -1):
            vertices[position] = v
            v = p[v]


@kernel
def _by_row(rows: Array, begin: Array, order: Array) -> None:
    """order ← paths grouped by row (counting sort); `begin` holds one zero more than rows."""
    for r in rows:
        begin[r + 1] += 1
    for r in range(len(begin) - 1):
        begin[r + 1] += begin[r]
    for x in range(len(rows)):
        order[begin[rows[x]]] = x
        begin[rows[x]] += 1
