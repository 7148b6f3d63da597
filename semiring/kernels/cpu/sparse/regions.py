"""Low subtrees of an elimination tree that need only a short stack: independent work for a GPU."""

from __future__ import annotations

from ..compile import kernel
from ..instructions import Array

INNER, ROOT, TOP = 0, 1, 2


@kernel
def subtrees(
    parent: Array, child: Array, leaf: Array, first: Array, begin: Array, total: Array, most: int, limit: int,
    spared: int, alone: bool, deep: Array, kind: Array, low: Array, high: Array,
) -> int:  # fmt: skip
    """Partition supernodes into regions, runs of neighbouring subtrees; returns their number.

    A subtree is walked with a stack of its root's rows and, below them, the path from the root without the lowest
    `spared` columns of a leaf, at most `most` rows; supernodes that need more are the top. A region has at most `limit`
    of what `total` counts of earlier supernodes; it is one subtree if `alone`. Outputs hold zeros:

    deep : most rows below each supernode
    kind : ROOT of a subtree, INNER below it, or TOP
    low, high : supernodes of each region, the last region first
    """
    count = len(parent)
    for s in range(count):
        w = first[s + 1] - first[s]
        deep[s] += w - (min(spared, w) if child[s] < 0 else 0)
        p = parent[s]
        if p >= 0:
            deep[p] = max(deep[p], deep[s])
    found = 0
    s = count - 1
    while s >= 0:
        start = leaf[s]
        if begin[s + 1] - begin[s] + deep[s] > most or total[s + 1] - total[start] > limit:
            kind[s] = TOP
            s -= 1
            continue
        kind[s] = ROOT
        if found and not alone and low[found - 1] == s + 1 and total[high[found - 1]] - total[start] <= limit:
            low[found - 1] = start
        else:
            low[found], high[found] = start, s + 1
            found += 1
        s = start - 1
    return found


@kernel
def places(
    child: Array, leaf: Array, first: Array, begin: Array, base: Array, rows: Array, owner: Array, high: Array,
    most: int, deep: Array, kind: Array, local: Array, own: Array, ahead: Array,
) -> None:  # fmt: skip
    """Stack places of rows and columns, region by region from the last supernode to the first.

    If a root's rows fit beside all that the previous subtree needs, they go to the other end of the stack, for
    prefetching.

    local : stack place of each row
    own : stack place of each supernode's columns, −1 at first and for a leaf
    ahead : of a root, distance to the next root, if its rows can be prefetched, else 0, as at first
    """
    region, last, other = -1, -1, False
    for s in range(len(child) - 1, -1, -1):
        if kind[s] != ROOT:
            continue
        above, edge = begin[s + 1] - begin[s], first[s + 1]
        if region + 1 < len(high) and high[region + 1] == s + 1:
            region, other = region + 1, False
        elif begin[last + 1] - begin[last] + deep[last] + above <= most:
            ahead[last], other = last - s, not other
        for t in range(s, leaf[s] - 1, -1):
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
        last = s


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
