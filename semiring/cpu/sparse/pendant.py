"""numba: trees that hang at a graph, each vertex by one edge both ways; found, summed up, and what their arcs carry."""

from __future__ import annotations

from typing import Any

from ..compile import kernel


@kernel
def remove(tails: Any, heads: Any, out: Any, into: Any, after: Any, before: Any, parent: Any, removed: Any) -> int:
    """List the vertices of trees, each before its parent, and say how many they are; parent[v] stays −1 in the core.

    out, into, after, before : workspace, zeros: numbers of arcs, and the ⊻ of what these lead to and come from
    """
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            out[u] += 1
            into[v] += 1
            after[u] ^= v
            before[v] ^= u
    count = 0
    for start in range(len(parent)):
        v = start
        while parent[v] < 0 and out[v] == 1 and into[v] == 1 and after[v] == before[v]:
            p = after[v]
            parent[v], removed[count] = p, v
            count += 1
            out[p] -= 1
            into[p] -= 1
            after[p] ^= v
            before[p] ^= v
            v = p
    return count


@kernel
def place(tails: Any, heads: Any, parent: Any, number: Any, inner: Any, ends: Any, up: Any, down: Any) -> int:
    """Which arcs lead from and to each vertex of a tree; the others, and their ends in the core; how many others."""
    count = 0
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if parent[u] == v:
            up[u] = e
        elif parent[v] == u:
            down[v] = e
        else:
            inner[count], ends[0, count], ends[1, count] = e, number[u], number[v]
            count += 1
    return count


@kernel
def gather(removed: Any, parent: Any, sums: Any) -> None:
    """To each vertex add what is in the trees that hang at it."""
    for v in removed:
        sums[parent[v]] += sums[v]
