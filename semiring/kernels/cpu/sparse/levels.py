"""Nested dissection by levels of breadth-first searches (George 1973 on meshes, Lipton and Tarjan 1979)."""

from __future__ import annotations

from typing import Any

from ..compile import inner, kernel
from ..instructions import Array


@kernel
def levels(
    start: Array, adjacency: Array, smallest: int, order: Array, part: Array, seen: Array, queue: Array, edge: Array,
    lows: Array, highs: Array,
) -> None:  # fmt: skip
    """order ← nested dissection: each part's middle level comes last, down to parts of `smallest` vertices.

    Parts are ranges of `order`, initially all vertices: before the level, behind it, and the level. `lows` and `highs`
    are a stack of ranges. part : range of each vertex, 0 at first; seen : last search that met it, −1 at first; queue,
    edge : vertices by level and level starts, n + 1.
    """
    parts = searches = 0
    waiting, lows[0], highs[0] = 1, 0, len(start) - 1
    while waiting > 0:
        waiting -= 1
        low, high = lows[waiting], highs[waiting]
        if high - low <= smallest:
            continue
        parts += 1
        for k in range(low, high):
            part[order[k]] = parts
        root, depth, found = order[low], 0, 0
        for _ in range(4):  # restart from the far end while that increases the depth
            searches += 1
            count, reached = _search(start, adjacency, root, part, seen, searches, queue, edge)
            if count <= depth:
                break
            depth, found, root = count, reached, queue[reached - 1]
        searches += 1
        depth, found = _search(start, adjacency, root, part, seen, searches, queue, edge)
        if found < high - low:  # disconnected: this component, and the rest
            put = low + found
            for k in range(low, high):
                if seen[order[k]] != searches:
                    queue[found] = order[k]
                    found += 1
            for k in range(high - low):
                order[low + k] = queue[k]
            lows[waiting], highs[waiting], lows[waiting + 1], highs[waiting + 1] = low, put, put, high
            waiting += 2
            continue
        if depth < 3:
            continue
        # The smallest level that leaves a third on either side, else the middle one.
        best = -1
        middle = 1
        for d in range(1, depth - 1):
            if edge[d] * 2 <= found:
                middle = d
            balanced = 3 * edge[d] >= found and 3 * (found - edge[d + 1]) >= found
            if balanced and (best < 0 or edge[d + 1] - edge[d] < edge[best + 1] - edge[best]):
                best = d
        if best < 0:
            best = middle
        first, last = edge[best], edge[best + 1]
        put = low
        for k in range(first):
            order[put] = queue[k]
            put += 1
        cut = put
        for k in range(last, found):
            order[put] = queue[k]
            put += 1
        lows[waiting], highs[waiting], lows[waiting + 1], highs[waiting + 1] = low, cut, cut, put
        waiting += 2
        for k in range(first, last):
            order[put] = queue[k]
            put += 1


@inner
def _search(
    start: Array, adjacency: Array, root: Any, part: Array, seen: Array, mark: Any, queue: Array, edge: Array
) -> Any:
    """Breadth first within the root's part: numbers of levels and of vertices."""
    queue[0], seen[root] = root, mark
    edge[0], edge[1] = 0, 1
    depth, put = 0, 1
    while edge[depth] < edge[depth + 1]:
        for k in range(edge[depth], edge[depth + 1]):
            v = queue[k]
            for q in range(start[v], start[v + 1]):
                u = adjacency[q]
                if part[u] == part[root] and seen[u] != mark:
                    seen[u] = mark
                    queue[put] = u
                    put += 1
        depth += 1
        edge[depth + 1] = put
    return depth, put
