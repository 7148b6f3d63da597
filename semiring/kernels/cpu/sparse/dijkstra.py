"""Dijkstra's algorithm on a heap of four children a node, whose entries move when a distance decreases.

Dijkstra 1959, "A note on two problems in connexion with graphs"; Johnson 1975, "Priority queues with update and finding
minimum spanning trees", on heaps of several children. A vertex' distance and its place in the heap share a cache line.
"""

from __future__ import annotations

import numpy as np

from ..compile import kernel
from ..instructions import Array

#: Record of a vertex: its distance, its place in the heap or −1, and the source that it is reached from.
NODE = np.dtype([("distance", np.float64), ("place", np.int32), ("source", np.int32)])
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def search(
    starts: Array, heads: Array, weights: Array, sources: Array, ends: Array, limit: float, N: Array, key: Array,
    vertex: Array, found: Array,
) -> None:  # fmt: skip
    """found[row] ← distances ≤ limit from the nearest of the row's sources, ∞ beyond.

    starts, heads, weights : CSR of arcs of lengths ≥ 0
    ends : where the sources of each row end
    N : in the end of the last row, with the index of that source among its own, any of equals
    key, vertex : the heap: float64 and int32 workspace of n items
    """
    first = 0
    for row in range(len(ends)):
        for v in range(len(N)):
            N[v].distance, N[v].place, N[v].source = np.inf, -1, -1
        size = np.uint64(0)
        for k in range(first, ends[row]):  # equal keys are a heap in any order
            X = N[np.uint64(sources[k])]
            if X.place < 0:
                X.distance, X.place, X.source = 0.0, size, k - first
                key[size], vertex[size] = 0.0, sources[k]
                size += _ONE
        while size > 0:
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
        for v in range(len(N)):
            found[row, v] = N[v].distance
        first = ends[row]
