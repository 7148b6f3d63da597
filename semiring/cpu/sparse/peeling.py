"""numba: vertices of few neighbours, eliminated on the graph itself, where a quotient graph is not worth its upkeep.

What is an index is unsigned here: numba checks whether a signed one is negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..compile import kernel

#: What is known of a vertex, side by side, for it is read together: where its neighbours begin, how many they are, and
#: its turn. Its capacity for neighbours ends where those of the next vertex begin.
VERTEX = np.dtype([("start", np.uint64), ("degree", np.uint32), ("turn", np.uint32)])
#: In place of a turn: it has none, it is eliminated.
NONE, GONE = 0, 1

_ONE = np.uint64(1)


@kernel
def peel(start: Any, heads: Any, most: int, spare: int, searched: int) -> Any:
    """Eliminate vertices of at most `most` neighbours: of fewest first, of these the one that has waited longest.

    The neighbours of one that goes become neighbours of each other. A vertex has capacity for `spare` neighbours more
    than at first; one whose neighbours have no capacity left, or more of them than are to be searched, stays.

    Returns
    -------
    first, rest : int32 arrays
        The vertices eliminated, in this order, and those that stay.
    start, heads : int64 array (len(rest) + 1,), uint32 array
        The neighbours of those that stay, among them.
    known, adjacency : array of VERTEX (n + 1,), uint32 array
        The neighbours that the eliminated vertices had at the time.
    """
    n = len(start) - 1
    V, adjacency = np.empty(n + 1, VERTEX), np.empty(len(heads) + n * spare, np.uint32)
    first, count = np.empty(n, np.int32), 0
    # Turns are numbered as they are taken; those of a degree are a list. A vertex that takes another one leaves the old
    # one behind.
    head, tail = np.zeros(most + 1, np.uint32), np.zeros(most + 1, np.uint32)
    vertex, after = np.empty(2 + n + most * n, np.uint32), np.empty(2 + n + most * n, np.uint32)
    turns = 2
    for v in range(n + 1):
        V[v].start = start[v] + spare * v
    for v in range(n):
        X, d = V[v], start[v + 1] - start[v]
        X.degree, X.turn = d, NONE
        for k in range(d):
            adjacency[X.start + np.uint64(k)] = heads[start[v] + k]
        if d <= most:
            turns = _wait(v, X, turns, head, tail, vertex, after)
    least = 0
    while least <= most:
        turn = head[least]
        if turn == NONE:
            least += 1
            continue
        v = vertex[turn]
        X = V[v]
        head[least] = after[turn] if turn != tail[least] else NONE
        if X.turn != turn:
            continue
        X.turn = NONE
        low = X.start
        high = low + X.degree
        stays = False
        for i in range(low, high):
            u = adjacency[i]
            d = V[u].degree
            stays |= d > searched or V[u].start + d + X.degree - 2 > V[u + 1].start
        if stays:
            continue
        first[count], X.turn = v, GONE
        count += 1
        for i in range(low, high):
            u = adjacency[i]
            U = V[u]
            index, end, known = U.start, U.start + U.degree, np.int64(0)
            for k in range(U.start, end):
                x = adjacency[k]
                index = k if x == v else index
                for j in range(low, high):
                    known |= np.int64(adjacency[j] == x) << np.int64(j - low)
            end -= _ONE
            adjacency[index] = adjacency[end]  # in place of v
            for j in range(low, high):
                if j != i and not known >> np.int64(j - low) & 1:
                    adjacency[end] = adjacency[j]
                    end += _ONE
            d = np.int64(end - U.start)
            U.degree, U.turn = d, NONE
            if d <= most:
                turns = _wait(u, U, turns, head, tail, vertex, after)
                least = min(least, int(d))
    return first[:count].copy(), *_among_themselves(n - count, V, adjacency), V, adjacency


@njit(inline="always")
def _wait(v: Any, X: Any, turn: Any, head: Any, tail: Any, vertex: Any, after: Any) -> Any:
    """v takes a turn among those of its degree; the next one."""
    vertex[turn], X.turn = v, turn
    if head[X.degree] == NONE:
        head[X.degree] = turn
    else:
        after[tail[X.degree]] = turn
    tail[X.degree] = turn
    return turn + 1


@kernel
def _among_themselves(size: int, V: Any, adjacency: Any) -> Any:
    """The vertices that stay, and their neighbours."""
    n = len(V) - 1
    rest, place = np.empty(size, np.int32), np.empty(n, np.uint32)
    start = np.zeros(size + 1, np.int64)
    put = 0
    for v in range(n):
        if V[v].turn != GONE:
            rest[put], place[v] = v, put
            start[put + 1] = start[put] + V[v].degree
            put += 1
    heads = np.empty(start[size], np.uint32)
    for k in range(size):
        low = V[rest[k]].start
        for q in range(V[rest[k]].degree):
            heads[start[k] + q] = place[adjacency[low + q]]
    return rest, start, heads


@kernel
def followed(first: Any, V: Any, adjacency: Any, rest: Any, parent: Any, counts: Any, dense: int) -> Any:
    """The order: the eliminated vertices first, and then the rest, with the parents and counts of all columns.

    Those of the rest are passed as numbered among themselves. A column's count is of entries on and below the
    diagonal.
    """
    n, count = len(V) - 1, len(first)
    order, position = np.empty(n, np.int32), np.empty(n, np.int32)
    up, size = np.empty(n, np.int32), np.empty(n, np.int32)
    for k in range(n):
        order[k] = first[k] if k < count else rest[k - count]
        position[order[k]] = k
    for k in range(count):
        X, least = V[first[k]], n
        for q in range(X.start, X.start + X.degree):
            least = min(least, position[adjacency[q]])
        up[k] = min(least, n - dense) if least < n else -1
        size[k] = X.degree + np.uint32(1)
    for k in range(n - count):
        up[count + k] = parent[k] + count if parent[k] >= 0 else -1
        size[count + k] = counts[k]
    return order, up, size
