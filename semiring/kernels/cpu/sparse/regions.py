"""Low subtrees of an elimination tree that need only a short stack: independent work for a GPU."""

from __future__ import annotations

from ..compile import kernel
from ..instructions import Array

INNER, ROOT, TOP = 0, 1, 2


@kernel
def regions(
    parent: Array, child: Array, leaf: Array, first: Array, begin: Array, base: Array, rows: Array, owner: Array,
    total: Array, most: int, limit: int, deep: Array, kind: Array, low: Array, high: Array, local: Array, own: Array,
    ahead: Array,
) -> int:  # fmt: skip
    """Partition supernodes into regions, runs of neighbouring subtrees, with stack places; returns their number.

    A subtree is walked with a stack of its root's rows and, below them, the path from the root without leaves, at most
    `most` rows; supernodes that need more are the top. A region has at most `limit` entries, and is walked from last to
    first. If a root's rows fit beside all that the previous subtree needs, they go to the other end of the stack, for
    prefetching. `total` counts the entries of earlier supernodes. Outputs hold zeros, and `own` −1:

    deep : most rows below each supernode
    low, high : supernodes of each region
    local : stack place of each row
    own : stack place of each supernode's columns, −1 for a leaf
    ahead : of a root, distance to the next root, if its rows can be prefetched, else 0
    """
    count = len(parent)
    for s in range(count):
        if child[s] >= 0:
            deep[s] += first[s + 1] - first[s]
        p = parent[s]
        if p >= 0:
            deep[p] = max(deep[p], deep[s])
    found, last, other = 0, -1, False
    s = count - 1
    while s >= 0:
        above = begin[s + 1] - begin[s]
        if above + deep[s] > most or total[s + 1] - total[leaf[s]] > limit:
            kind[s] = TOP
            s -= 1
            continue
        kind[s] = ROOT
        start, edge = leaf[s], first[s + 1]
        if found and low[found - 1] == s + 1 and total[high[found - 1]] - total[start] <= limit:
            low[found - 1] = start
            if begin[last + 1] - begin[last] + deep[last] + above <= most:
                ahead[last], other = last - s, not other
        else:
            low[found], high[found] = start, s + 1
            found, other = found + 1, False
        for t in range(s, start - 1, -1):
            if child[t] >= 0:
                place = base[t] - base[s] + above
                own[t] = most - place - (first[t + 1] - first[t]) if other else place
            q = begin[s]
            for k in range(begin[t], begin[t + 1]):
                if rows[k] < edge:
                    u = owner[rows[k]]
                    local[k] = own[u] + rows[k] - first[u]
                else:
                    while rows[q] < rows[k]:
                        q += 1
                    local[k] = most - 1 - (q - begin[s]) if other else q - begin[s]
        last, s = s, start - 1
    return found


@kernel
def depths(parent: Array, depth: Array) -> None:
    for s in range(len(parent) - 1, -1, -1):
        if parent[s] >= 0:
            depth[s] = depth[parent[s]] + 1


@kernel
def even_rows(
    begin: Array, rows: Array, slot: Array, local: Array, labels: Array, start: Array, slots: Array, places: Array,
    names: Array,
) -> None:  # fmt: skip
    """Slots, places and labels of rows from start[s] on, padded to an even number by repeating the last."""
    for s in range(len(begin) - 1):
        for k in range(start[s], start[s + 1]):
            q = min(begin[s] + k - start[s], begin[s + 1] - 1)
            slots[k], places[k], names[k] = slot[q], local[q], labels[rows[q]]
