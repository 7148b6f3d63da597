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
def peel(
    start: Any, heads: Any, most: int, searched: int, V: Any, adjacency: Any, first: Any, head: Any, tail: Any,
    vertex: Any, after: Any,
) -> int:  # fmt: skip
    """Eliminate vertices of at most `most` neighbours: of fewest first, of these the one that has waited longest.

    The neighbours of one that goes become neighbours of each other. One whose neighbours have no capacity left, or more
    of them than are to be searched, stays. Returns how many are eliminated; `first` are those, in this order, with the
    neighbours that they had at the time. Of V, `start` is known.

    Turns are numbered as they are taken, at most 1 + `most` by each vertex, from 2 on; those of a degree are a list. A
    vertex that takes another one leaves the old one behind. `head` and `tail` hold zeros.
    """
    n, count, turns = len(start) - 1, 0, 2
    for v in range(n):
        X, d = V[v], start[v + 1] - start[v]
        X.degree, X.turn = d, NONE
        for k in range(d):
            adjacency[X.start + np.uint64(k)] = heads[start[v] + k]
        if d <= most:
            turns = _wait(v, X, turns, head, tail, vertex, after)
    least: Any = 0
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
                least = min(least, d)
    return count


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
def among_themselves(V: Any, adjacency: Any, rest: Any, place: Any, heads: Any) -> None:
    """The neighbours of the vertices that stay, one vertex after the other, each by its place among these."""
    put = np.uint64(0)
    for k in range(len(rest)):
        X = V[rest[k]]
        for q in range(X.start, X.start + X.degree):
            heads[put] = place[adjacency[q]]
            put += _ONE


@kernel
def followed(first: Any, V: Any, adjacency: Any, position: Any, dense: int, up: Any, size: Any) -> None:
    """Parents and counts of the columns of the vertices eliminated, which are the first; −1 for a root."""
    n = len(position)
    for k in range(len(first)):
        X, least = V[first[k]], n
        for q in range(X.start, X.start + X.degree):
            least = min(least, position[adjacency[q]])
        up[k] = min(least, n - dense) if least < n else -1
        size[k] = X.degree + np.uint32(1)
