"""Low subtrees of an elimination tree that need only a short stack: a GPU walks each without waiting for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import kernel

INNER, ROOT, TOP = 0, 1, 2


@kernel
def regions(
    parent: Any, child: Any, leaf: Any, first: Any, begin: Any, base: Any, rows: Any, slot: Any, size: Any, most: int,
    room: int,
) -> Any:  # fmt: skip
    """What each supernode is, runs of neighbouring subtrees, and places on their stacks.

    A subtree is walked with a stack of its root's rows and, below them, the path from the root but for leaves, of at
    most `most` rows; what needs more is the top. Subtrees beside one another are a region of at most about so many
    columns.

    Returns
    -------
    kind : int32 array (supernodes,)
    low, high : int32 arrays
        The supernodes of each region.
    local : int32 array (rows,)
        Where each row is on the stack.
    own : int32 array (supernodes,)
        Where each supernode's columns begin on it, −1 for a leaf.
    """
    count = len(parent)
    deep = np.zeros(count, np.int64)
    for s in range(count):
        if child[s] >= 0:
            deep[s] += first[s + 1] - first[s]
        p = parent[s]
        if p >= 0:
            deep[p] = max(deep[p], deep[s])
    kind = np.zeros(count, np.int32)
    low, high = np.empty(count, np.int32), np.empty(count, np.int32)
    local, own = np.zeros(len(rows), np.int32), np.full(count, -1, np.int32)
    total = np.zeros(count + 1, np.int64)
    for s in range(count):
        total[s + 1] = total[s] + size[s]
    found = 0
    s = count - 1
    while s >= 0:
        above = begin[s + 1] - begin[s]
        if above + deep[s] > most or total[s + 1] - total[leaf[s]] > room:
            kind[s] = TOP
            s -= 1
            continue
        kind[s] = ROOT
        start, edge = leaf[s], first[s + 1]
        if found and low[found - 1] == s + 1 and total[high[found - 1]] - total[start] <= room:
            low[found - 1] = start
        else:
            low[found], high[found] = start, s + 1
            found += 1
        for t in range(start, s + 1):
            if child[t] >= 0:
                own[t] = base[t] - base[s] + above
            q = begin[s]
            for k in range(begin[t], begin[t + 1]):
                if rows[k] < edge:
                    local[k] = slot[k] - base[s] + above
                else:
                    while rows[q] < rows[k]:
                        q += 1
                    local[k] = q - begin[s]
        s = start - 1
    return kind, low[:found].copy(), high[:found].copy(), local, own
