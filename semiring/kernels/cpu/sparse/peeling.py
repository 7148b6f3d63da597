"""Elimination of low-degree vertices on the graph itself, cheaper than a quotient graph.

Indices are unsigned: numba tests signed ones for negative values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..compile import kernel
from ..instructions import Array

#: Record of a vertex: start and number of its neighbours, and its turn. Its capacity ends at the next vertex' start.
VERTEX = np.dtype([("start", np.uint64), ("degree", np.uint32), ("turn", np.uint32)])
#: Special turns: none; eliminated.
NONE, GONE = 0, 1

_ONE = np.uint64(1)


@kernel
def peel(
    start: Array, heads: Array, inner: int, most: int, searched: int, ends: Array, V: Array, adjacency: Array,
    first: Array, head: Array, tail: Array, vertex: Array, after: Array,
) -> int:  # fmt: skip
    """Eliminate vertices before `inner`: all `ends`, then those with at most `most` neighbours, by degree.

    Neighbours of an eliminated vertex become a clique; a vertex stays if a neighbour lacks capacity, or has more than
    `searched` neighbours. Returns the number eliminated; `first` lists them in order, with their neighbours at the time
    in V. V.start is given.

    Turns are numbered consecutively from 2, at most 1 + `most` per vertex, and queued by degree, first come first
    served; a new turn invalidates the old. `head` and `tail` hold zeros.
    """
    n, count, turns = len(start) - 1, 0, 2
    for v in range(n):
        X, d = V[v], start[v + 1] - start[v]
        X.degree, X.turn = d, NONE
        for k in range(d):
            adjacency[X.start + np.uint64(k)] = heads[start[v] + k]
        if (ends[v] or d <= most) and v < inner:
            turns = _wait(v, X, np.uint32(0) if ends[v] else X.degree, turns, head, tail, vertex, after)
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
            adjacency[index] = adjacency[end]  # replaces v
            for j in range(low, high):
                if j != i and not known >> np.int64(j - low) & 1:
                    adjacency[end] = adjacency[j]
                    end += _ONE
            d = np.int64(end - U.start)
            U.degree = d
            if ends[u] and U.turn != NONE:
                continue  # its turn comes anyway
            U.turn = NONE
            if d <= most and u < inner:
                turns = _wait(u, U, U.degree, turns, head, tail, vertex, after)
                least = min(least, d)
    return count


@njit(inline="always")
def _wait(v: Any, X: Any, queue: Any, turn: Any, head: Array, tail: Array, vertex: Array, after: Array) -> Any:
    vertex[turn], X.turn = v, turn
    if head[queue] == NONE:
        head[queue] = turn
    else:
        after[tail[queue]] = turn
    tail[queue] = turn
    return turn + 1


@kernel
def among_themselves(V: Array, adjacency: Array, rest: Array, place: Array, heads: Array) -> None:
    """Neighbours of the remaining vertices, concatenated and renumbered."""
    put = np.uint64(0)
    for k in range(len(rest)):
        X = V[rest[k]]
        for q in range(X.start, X.start + X.degree):
            heads[put] = place[adjacency[q]]
            put += _ONE


@kernel
def followed(
    first: Array, V: Array, adjacency: Array, position: Array, n: int, dense: int, up: Array, size: Array
) -> None:
    """Parents and column counts of the eliminated vertices, which come first; −1 for a root."""
    for k in range(len(first)):
        X, least = V[first[k]], n
        for q in range(X.start, X.start + X.degree):
            least = min(least, position[adjacency[q]])
        up[k] = min(least, n - dense) if least < n else -1
        size[k] = X.degree + np.uint32(1)


@kernel
def freeze(start: Array, heads: Array, low: int, high: int, place: Array, frozen: Array) -> Any:
    """List the vertices of low … high − 1 with a neighbour before `low`, number the others; returns the list's size.

    `frozen` is filled from `low` on, and `place` at the others.
    """
    count, inner = np.uint64(low), np.uint32(0)
    for v in range(np.uint64(low), np.uint64(high)):
        least = np.uint32(v)
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            least = min(least, heads[q])
        if least < low:
            frozen[count] = v
            count += _ONE
        else:
            place[v] = inner
            inner += np.uint32(1)
    return count - np.uint64(low)


@kernel
def cut_out(
    start: Array, heads: Array, low: int, high: int, place: Array, frozen: Array, seen: Array, names: Array,
    halo: Array, begin: Array, adjacency: Array,
) -> Any:  # fmt: skip
    """Graph of the vertices low … high − 1 not frozen, then their frozen neighbours; returns the number of each.

    Edges between frozen vertices are left out.

    place : number within the part, or n + number among the frozen
    seen : local number of a frozen vertex; n at first
    names, halo : the vertices; which frozen ones the last are
    begin, adjacency : the graph; begin[0] is 0
    """
    n, inner, count, put = np.uint32(len(place)), np.uint64(0), np.uint64(0), np.uint64(0)
    for v in range(np.uint64(low), np.uint64(high)):
        if place[v] < n:
            names[inner] = v
            inner += _ONE
    for k in range(inner):
        x = np.uint64(names[k])
        for q in range(np.uint64(start[x]), np.uint64(start[x + _ONE])):
            u = place[heads[q]]
            if u >= n:
                f = u - n
                if seen[f] == n:
                    seen[f], names[inner + count], halo[count] = inner + count, frozen[f], f
                    count += _ONE
                u = seen[f]
            adjacency[put] = u
            put += _ONE
        begin[k + _ONE] = put
    for k in range(inner, inner + count):
        x = np.uint64(names[k])
        for q in range(np.uint64(start[x]), np.uint64(start[x + _ONE])):
            u = heads[q]
            if u >= low and u < high and place[u] < n:
                adjacency[put] = place[u]
                put += _ONE
        begin[k + _ONE] = put
    return count
