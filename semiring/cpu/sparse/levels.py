"""numba: nested dissection by levels of breadth-first searches (George 1973 on meshes, Lipton and Tarjan 1979)."""

from __future__ import annotations

from typing import Any

from ..compile import inner, kernel


@kernel
def levels(
    start: Any, adjacency: Any, smallest: int, order: Any, part: Any, seen: Any, queue: Any, edge: Any, lows: Any,
    highs: Any,
) -> None:  # fmt: skip
    """An order in which the middle level of each part comes after what it separates, down to so many vertices.

    Parts are ranges of one array, which in the end is the order, and at first all vertices: what is before the level,
    what is behind it, and last the level itself. They wait on a stack, `lows` and `highs`.

    part : the range that a vertex is in, 0 at first
    seen : the search that met it, −1 at first
    queue, edge : vertices, and where each level begins among them, at most n + 1 and their end
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
        for _ in range(4):  # from the far end of the search before, while that is farther
            searches += 1
            count, reached = _search(start, adjacency, root, part, seen, searches, queue, edge)
            if count <= depth:
                break
            depth, found, root = count, reached, queue[reached - 1]
        searches += 1
        depth, found = _search(start, adjacency, root, part, seen, searches, queue, edge)
        if found < high - low:  # not connected: this component, and the rest
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
        # The smallest level of those that leave a third on either side; if there is none, the one in the middle.
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
def _search(start: Any, adjacency: Any, root: Any, part: Any, seen: Any, mark: Any, queue: Any, edge: Any) -> Any:
    """Breadth first within the part of the root: how many levels, and how many vertices."""
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
