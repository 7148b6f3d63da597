"""Pendant trees of bidirectional edges: removal, aggregation of demand, and flow over their arcs."""

from __future__ import annotations

import numpy as np

from ..compile import kernel
from ..instructions import Array


@kernel
def remove(
    tails: Array, heads: Array, out: Array, into: Array, after: Array, before: Array, parent: Array, removed: Array
) -> int:
    """List the vertices of trees, each before its parent; returns their number. parent[v] stays −1 in the core.

    out, into, after, before : zeros; degrees, and XOR of heads and of tails
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
def place(
    tails: Array, heads: Array, parent: Array, number: Array, inner: Array, ends: Array, up: Array, down: Array
) -> int:
    """Arcs up and down at each tree vertex; the other arcs with renumbered ends; returns the number of others."""
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
def gather(
    removed: Array, parent: Array, vertices: Array, label: Array, sources: Array, many: Array, asked: Array, of: Array,
    ends: Array,
) -> None:  # fmt: skip
    """Sources and demand of each vertex including its pendant trees, and of each component.

    many, of : zeros; asked : demand of each vertex; ends : decremented at each source
    """
    for v in sources:
        many[v] = 1.0
        ends[v] -= 1
    for v in removed:
        many[parent[v]] += many[v]
        asked[parent[v]] += asked[v]
    for k in range(len(vertices)):
        of[0, label[k]] += many[vertices[k]]
        of[1, label[k]] += asked[vertices[k]]


@kernel
def carry(
    removed: Array, parent: Array, root: Array, vertices: Array, label: Array, of: Array, many: Array, asked: Array,
    ends: Array, sums: Array, used: Array, times: Array, far: Array,
) -> int:  # fmt: skip
    """Add the sources that reach each vertex, and the flow up and down trees; returns the number of core sources.

    of : sources and demand of each component; used, times, far : core sources, their multiplicities, demand of core
    vertices
    """
    for k in range(len(removed)):
        v = removed[k]
        c = label[root[v]]
        sums[0, k] += many[v] * (of[1, c] - asked[v])
        sums[1, k] += (of[0, c] - many[v]) * asked[v]
    for v in range(len(parent)):
        ends[v] += np.int64(np.rint(of[0, label[root[v]]]))
    count = 0
    for k in range(len(vertices)):
        v = vertices[k]
        far[k] = asked[v]
        if many[v] > 0:
            used[count], times[count] = k, many[v]
            count += 1
    return count


@kernel
def taken(lengths: Array, inner: Array, up: Array, down: Array, out: Array) -> bool:
    """out ← core arc lengths; whether each tree edge's two lengths sum to more than 0."""
    for k in range(len(inner)):
        out[k] = lengths[inner[k]]
    longer = True
    for k in range(len(up)):
        longer &= lengths[up[k]] + lengths[down[k]] > 0
    return longer


@kernel
def put(carried: Array, inner: Array, up: Array, down: Array, sums: Array, out: Array) -> None:
    for k in range(len(inner)):
        out[inner[k]] = carried[k]
    for k in range(len(up)):
        out[up[k]], out[down[k]] = sums[0, k], sums[1, k]
