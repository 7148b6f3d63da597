"""numba: vertices of few neighbours, eliminated on the graph itself, where a quotient graph is not worth its upkeep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .compile import kernel

# What is known of a vertex, side by side, for it is read together: it waits in QUEUE, between BEFORE and AFTER, or
# in NONE, or is GONE. Its neighbours begin at start[v] + room · v, for each vertex has room for more than at first.
DEGREE, QUEUE, BEFORE, AFTER = range(4)
NONE, GONE = -1, -2


@kernel
def peel(start: Any, heads: Any, most: int, room: int, searched: int) -> Any:
    """Eliminate vertices of at most `most` neighbours: of fewest first, of these the one that has waited longest.

    The neighbours of one that goes become neighbours of each other. A vertex has room for `room` neighbours more than
    at first; one whose neighbours have no room left, or more of them than are to be searched, stays.

    Returns
    -------
    first, rest : int32 arrays
        Who went, in this order, and who stays.
    start, heads : int64 array (len(rest) + 1,), int32 array
        The neighbours of who stays, among them.
    known, beside : int32 arrays (n, 4), (arcs + room · n,)
        The neighbours that who went had at the time.
    """
    n = len(start) - 1
    known, beside = np.empty((n, 4), np.int32), np.empty(len(heads) + n * room, np.int32)
    head, tail = np.full(most + 1, -1, np.int64), np.full(most + 1, -1, np.int64)
    first, count = np.empty(n, np.int32), 0
    for v in range(n):
        d, at = start[v + 1] - start[v], start[v] + room * v
        known[v, DEGREE], known[v, QUEUE] = d, NONE
        for k in range(d):
            beside[at + k] = heads[start[v] + k]
        if d <= most:
            _append(v, d, head, tail, known)
    least = 0
    while True:
        while least <= most and head[least] < 0:
            least += 1
        if least > most:
            break
        v = head[least]
        low = start[v] + room * v
        high = low + least
        _remove(v, head, tail, known)
        stays = False
        for i in range(low, high):
            u = beside[i]
            d = known[u, DEGREE]
            stays |= d > searched or d + least - 2 > start[u + 1] - start[u] + room
        if stays:
            continue
        first[count], known[v, QUEUE] = v, GONE
        count += 1
        for i in range(low, high):
            u = beside[i]
            begin = start[u] + room * np.int64(u)
            end = begin + known[u, DEGREE] - 1
            k = begin
            while beside[k] != v:
                k += 1
            beside[k] = beside[end]
            for j in range(low, high):
                x = beside[j]
                k = begin
                while k < end and beside[k] != x:
                    k += 1
                if k == end and x != u:
                    beside[end] = x
                    end += 1
            d = end - begin
            known[u, DEGREE] = d
            if known[u, QUEUE] >= 0:
                _remove(u, head, tail, known)
            if d <= most:
                _append(u, d, head, tail, known)
                least = min(least, d)
    return first[:count].copy(), *_among_themselves(n - count, start, room, known, beside), known, beside


@kernel
def _among_themselves(size: int, at: Any, room: int, known: Any, beside: Any) -> Any:
    """Who stays, and their neighbours."""
    n = len(known)
    rest, place = np.empty(size, np.int32), np.empty(n, np.int32)
    start = np.zeros(size + 1, np.int64)
    put = 0
    for v in range(n):
        if known[v, QUEUE] != GONE:
            rest[put], place[v] = v, put
            start[put + 1] = start[put] + known[v, DEGREE]
            put += 1
    heads = np.empty(start[size], np.int32)
    for k in range(size):
        low = at[rest[k]] + room * np.int64(rest[k])
        for q in range(start[k + 1] - start[k]):
            heads[start[k] + q] = place[beside[low + q]]
    return rest, start, heads


@njit(inline="always")
def _append(v: Any, d: Any, head: Any, tail: Any, known: Any) -> None:
    last = tail[d]
    known[v, QUEUE], known[v, BEFORE], known[v, AFTER] = d, last, -1
    if last >= 0:
        known[last, AFTER] = v
    else:
        head[d] = v
    tail[d] = v


@njit(inline="always")
def _remove(v: Any, head: Any, tail: Any, known: Any) -> None:
    d, before, after = known[v, QUEUE], known[v, BEFORE], known[v, AFTER]
    if before >= 0:
        known[before, AFTER] = after
    else:
        head[d] = after
    if after >= 0:
        known[after, BEFORE] = before
    else:
        tail[d] = before
    known[v, QUEUE] = NONE


@kernel
def columns(first: Any, start: Any, room: int, known: Any, beside: Any, position: Any, dense: int) -> Any:
    """Parents in the elimination tree, and entries on and below the diagonal, of the columns of who went first."""
    n = len(position)
    parent, counts = np.empty(len(first), np.int32), np.empty(len(first), np.int32)
    for k in range(len(first)):
        v, least = first[k], n
        low = start[v] + room * np.int64(v)
        for q in range(low, low + known[v, DEGREE]):
            least = min(least, position[beside[q]])
        parent[k] = min(least, n - dense) if least < n else -1
        counts[k] = known[v, DEGREE] + 1
    return parent, counts
