"""Dijkstra's algorithm on a heap of four children a node, whose entries move when a distance decreases.

Dijkstra 1959, "A note on two problems in connexion with graphs"; Johnson 1975, "Priority queues with update and finding
minimum spanning trees", on heaps of several children. A vertex' distance and its place in the heap share a cache line.
"""

from __future__ import annotations

import numpy as np

from ..compile import kernel
from ..instructions import Array

#: Record of a vertex: its distance; its place in the heap, −1 before, −2 − the vertex settled before it after; and the
#: source that it is reached from.
NODE = np.dtype([("distance", np.float64), ("place", np.int32), ("source", np.int32)])
#: Share of the vertices, 1 / FEW, up to which those that a search settled are visited one by one after it.
FEW = 8
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def search(
    starts: Array, heads: Array, weights: Array, sources: Array, ends: Array, limit: float, most: int, N: Array,
    key: Array, vertex: Array, found: Array,
) -> int:  # fmt: skip
    """found[row] ← distances ≤ limit from the nearest of the row's sources, ∞ beyond; returns the number of rows.

    It ends before the first row that settles more than `most` vertices.

    starts, heads, weights : CSR of arcs of lengths ≥ 0
    ends : where the sources of each row end
    N : in the end of the last row, with the index of that source among its own, any of equals
    key, vertex : the heap: float64 and int32 workspace of n items
    """
    first, n, count, latest = 0, len(N), len(N), -1
    for row in range(len(ends)):
        if count * FEW < n:
            for _ in range(count):
                X = N[np.uint64(latest)]
                latest = -2 - X.place
                X.distance, X.place, X.source = np.inf, -1, -1
        else:
            for v in range(n):
                N[v].distance, N[v].place, N[v].source = np.inf, -1, -1
        size, count, latest = np.uint64(0), 0, -1
        for k in range(first, ends[row]):  # equal keys are a heap in any order
            X = N[np.uint64(sources[k])]
            if X.place < 0:
                X.distance, X.place, X.source = 0.0, size, k - first
                key[size], vertex[size] = 0.0, sources[k]
                size += _ONE
        while size > 0 and count < most:
            d, u = key[0], np.uint64(vertex[0])
            size -= _ONE
            last, moved, hole = key[size], vertex[size], np.uint64(0)
            while True:  # the last entry sinks from the root
                child = (hole << _TWO) + _ONE
                if child + _THREE < size:
                    least = key[child]
                    first, second, third = key[child + _ONE], key[child + _TWO], key[child + _THREE]
                    base = child
                    if first < least:
                        least, child = first, base + _ONE
                    if second < least:
                        least, child = second, base + _TWO
                    if third < least:
                        least, child = third, base + _THREE
                elif child < size:
                    least, q = key[child], child + _ONE
                    while q < size:
                        if key[q] < least:
                            least, child = key[q], q
                        q += _ONE
                else:
                    break
                if least >= last:
                    break
                key[hole], vertex[hole] = least, vertex[child]
                N[np.uint64(vertex[child])].place = hole
                hole = child
            key[hole], vertex[hole] = last, moved
            N[np.uint64(moved)].place = hole
            N[u].place, latest = -2 - latest, int(u)
            count += 1
            for e in range(np.uint64(starts[u]), np.uint64(starts[u + _ONE])):
                head = np.uint64(heads[e])
                total, X = d + weights[e], N[head]
                if total < X.distance and total <= limit:
                    hole = np.uint64(X.place)
                    if X.place < 0:
                        hole = size
                        size += _ONE
                    while hole > 0:  # it rises
                        above = (hole - _ONE) >> _TWO
                        if key[above] <= total:
                            break
                        key[hole], vertex[hole] = key[above], vertex[above]
                        N[np.uint64(vertex[above])].place = hole
                        hole = above
                    key[hole], vertex[hole] = total, head
                    X.distance, X.place, X.source = total, hole, N[u].source
        if size > 0:
            return row
        if count * FEW < n:
            found[row] = np.inf
            v = latest
            for _ in range(count):
                X = N[np.uint64(v)]
                found[row, np.uint64(v)], v = X.distance, -2 - X.place
        else:
            for v in range(n):
                found[row, v] = N[v].distance
        first = ends[row]
    return len(ends)
