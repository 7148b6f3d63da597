"""numba: the undirected pattern, the elimination tree, its supernodes and their rows. No weight is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..compile import kernel

# What is an index is unsigned where it is read much: numba checks whether a signed one is negative.
_ONE, _TWO = np.uint64(1), np.uint64(2)

#: What is known of a column, side by side, for it is read together. `entries`: its own and of what joined it, on and
#: below the diagonal, without the zeros that joining adds. `size`: of its subtree. `into`: what it joined. `head`,
#: `after`: the first column of a supernode, and the one after each.
COLUMN = np.dtype(
    [("entries", np.int64), *((name, np.uint32) for name in ("count", "size", "width", "into", "head", "after"))]
)
#: Of a supernode: where its next row is put, the last row that came by, and its parent.
SUPERNODE = np.dtype([("put", np.uint64), ("seen", np.uint32), ("parent", np.uint32)])
#: An arc, and the columns of its ends.
ARC = np.dtype([("arc", np.int32), ("row", np.uint32), ("col", np.uint32)])


@kernel
def neighbours(tails: Any, heads: Any, n: int) -> Any:
    place = np.zeros(n + 2, np.uint32)
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            place[u + _TWO] += _ONE
            place[v + _TWO] += _ONE
    for v in range(n):
        place[v + 2] += place[v + 1]
    adjacency = np.empty(place[n + 1], np.uint32)
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            adjacency[place[u + _ONE]] = v
            adjacency[place[v + _ONE]] = u
            place[u + _ONE] += _ONE
            place[v + _ONE] += _ONE
    # place[v] is now where the neighbours of v begin, place[v + 1] where they end.
    seen = np.full(n, n, np.uint32)
    start = np.zeros(n + 1, np.int64)
    put = np.uint64(0)
    for v in range(n):
        for q in range(place[v], place[v + 1]):
            u = adjacency[q]
            adjacency[put] = u  # overwritten by the next one if it has been seen
            put += np.uint64(seen[u] != v)
            seen[u] = v
        start[v + 1] = put
    return start, adjacency[:put].copy()


@kernel
def breadth_first(start: Any, adjacency: Any) -> Any:
    """All vertices as breadth-first searches meet them, one after the other until none is left; the graph so numbered.

    Returns
    -------
    order : int32 array (n,)
    start, adjacency : int64 array (n + 1,), uint32 array
        The neighbours of each vertex by its place in the order, by theirs.
    """
    n = len(start) - 1
    order, place = np.empty(n + 1, np.uint32), np.full(n, n, np.uint32)
    begin, renumbered = np.zeros(n + 1, np.int64), np.empty(len(adjacency), np.uint32)
    found = done = put = np.uint64(0)
    for root in range(n):
        if place[root] == n:
            order[found], place[root] = root, found
            found += _ONE
        while done < found:
            v = order[done]
            done += _ONE
            for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
                u = adjacency[q]
                new = place[u] == n
                place[u] = found if new else place[u]
                order[found] = u  # overwritten by the next one if it is not new
                found += np.uint64(new)
                renumbered[put] = place[u]
                put += _ONE
            begin[done] = put
    return order[:n].astype(np.int32), begin, renumbered


@kernel
def columns(start: Any, adjacency: Any, permutation: Any, position: Any, dense: int) -> Any:
    """The elimination tree and the number of entries on and below the diagonal of each column."""
    n = len(permutation)
    parent = np.full(n, -1, np.int32)
    ancestor = np.full(n, -1, np.int32)
    for k in range(n):
        v = permutation[k]
        for q in range(start[v], start[v + 1]):
            i = position[adjacency[q]]
            while i >= 0 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above < 0:
                    parent[i] = k
                i = above
    post = np.empty(n, np.int32)
    place, _ = _postorder(parent)
    for k in range(n):
        post[place[k]] = k
    # Column counts by the leaves of row subtrees: each row subtree adds 1 at its leaves and takes 1 away where two
    # paths meet.
    delta = np.zeros(n, np.int32)
    begin = np.full(n, -1, np.int32)  # the first descendant, in postorder
    for k in range(n):
        j = post[k]
        delta[j] = 1 if begin[j] < 0 else 0
        while j >= 0 and begin[j] < 0:
            begin[j] = k
            j = parent[j]
    reached = np.full(n, -1, np.int32)  # the greatest first descendant of row i's leaves so far
    leaf = np.full(n, -1, np.int32)  # the last leaf of row i
    for k in range(n):
        ancestor[k] = k
    for k in range(n):
        j = post[k]
        if parent[j] >= 0:
            delta[parent[j]] -= 1
        v = permutation[j]
        for q in range(start[v], start[v + 1]):
            i = position[adjacency[q]]
            if i > j and begin[j] > reached[i]:
                reached[i] = begin[j]
                delta[j] += 1
                last = leaf[i]
                leaf[i] = j
                if last >= 0:
                    top = last
                    while ancestor[top] != top:
                        top = ancestor[top]
                    while last != top:
                        last, ancestor[last] = ancestor[last], top
                    delta[top] -= 1
        if parent[j] >= 0:
            ancestor[j] = parent[j]
    for k in range(n):
        j = post[k]
        if parent[j] >= 0:
            delta[parent[j]] += delta[j]
    # What is to be one supernode at the end is a clique, and so a path in the tree.
    for j in range(n - dense):
        parent[j] = min(parent[j], n - dense)
    for j in range(n - dense, n):
        parent[j], delta[j] = j + 1 if j + 1 < n else -1, n - j
    return parent, delta


@kernel
def _postorder(parent: Any) -> Any:
    """Each one's place where children come before parents, a subtree in one piece; and how many its subtree has."""
    n = len(parent)
    size, place = np.ones(n + 1, np.uint32), np.empty(n + 1, np.uint32)
    for v in range(n):
        size[np.uint64(parent[v] if parent[v] >= 0 else n)] += size[v]
    end = place.copy()  # where the next child's subtree ends, the last child's first; n is the parent of all roots
    place[n] = end[n] = n
    for v in range(n - 1, -1, -1):
        p = np.uint64(parent[v] if parent[v] >= 0 else n)
        place[v] = end[v] = end[p] - _ONE
        end[p] -= size[v]
    return place, size


@kernel
def supernodes(parent: Any, counts: Any, order: Any, dense: int, narrow: int, zeros: float) -> Any:
    """Columns become supernodes: chains of the same structure, and what is close enough to it.

    A supernode is known by its last column, whose rows are its rows. It may be joined by any of its children, whose
    columns then go before its own. The last `dense` columns are one supernode, whatever joins them.
    """
    n, none = len(parent), np.uint32(len(parent))
    # From here on columns are numbered in postorder, so that what is read together is contiguous.
    place, size = _postorder(parent)
    C, up, post = np.empty(n, COLUMN), np.empty(n, np.uint32), np.empty(n, np.uint32)
    for v in range(n):
        k = place[v]
        up[k], post[k] = place[parent[v]] if parent[v] >= 0 else n, v
        X = C[k]
        X.count = X.entries = counts[v]
        X.size, X.width, X.into, X.head, X.after = size[v], 1, none, k, none
    left = n
    for k in range(n):
        p = np.uint64(k)
        P = C[p]
        stop = p - (P.size - _ONE)  # where its subtree begins; a child ends where the next one's subtree begins
        closest: Any = none
        c = p
        while c > stop:
            child = c - _ONE
            if closest == none or C[child].count > C[closest].count:
                closest = child
            c -= C[child].size
        left -= _join(closest, p, C, post, n - dense, narrow, zeros) if closest != none else 0
        c = p
        while c > stop:
            child = c - _ONE
            if child != closest:
                left -= _join(child, p, C, post, n - dense, narrow, zeros)
            c -= C[child].size
    # Those that are left, by their last columns, are in postorder too.
    number = np.empty(n + 1, np.int32)
    number[n] = -1
    first, above, height = np.zeros(left + 1, np.int32), np.empty(left, np.int32), np.empty(left, np.int64)
    s = left
    for k in range(n - 1, -1, -1):
        X = C[k]
        if X.into == none:
            s -= 1
            number[k], above[s], height[s] = s, number[up[k]], X.count - 1
        else:
            number[k] = number[X.into]
    permutation = np.empty(n, np.int32)
    put = 0
    for k in range(n):
        if C[k].into == none:
            j = C[k].head
            while j != none:
                permutation[put] = order[post[j]]
                put += 1
                j = C[j].after
            first[number[k] + 1] = put
    return permutation, first, above, height


@njit(inline="always")
def _join(c: Any, p: Any, C: Any, post: Any, last: Any, narrow: Any, zeros: Any) -> Any:
    """The columns of c go before those of its parent p if few zeros come with them: 1 if so, else 0."""
    X, P = C[c], C[p]
    w = np.int64(X.width) + np.int64(P.width)
    size = w * (w + 1) // 2 + w * (np.int64(P.count) - 1)
    added = size - X.entries - P.entries
    if post[c] < last and added != 0 and w > narrow and added > zeros * size:
        return 0
    P.width, P.entries = w, P.entries + X.entries
    X.after, P.head, X.into = P.head, X.head, p
    return 1


@kernel
def paths(parent: Any, w: Any, r: Any) -> Any:
    """Pairs and columns of the heaviest path to a root, and how many entries of updates wait at most."""
    s_count = len(parent)
    pairs = np.zeros(s_count, np.int64)
    columns = np.zeros(s_count, np.int64)
    heaviest, longest = 0, 0
    for s in range(s_count - 1, -1, -1):
        pairs[s], columns[s] = w[s] * (w[s] + 2 * r[s]), w[s]
        if parent[s] >= 0:
            pairs[s] += pairs[parent[s]]
            columns[s] += columns[parent[s]]
        heaviest, longest = max(heaviest, pairs[s]), max(longest, columns[s])
    waiting, most = 0, 0
    from_children = np.zeros(s_count, np.int64)  # what the children of a supernode left
    for s in range(s_count):
        own = r[s] * r[s]
        waiting += own - from_children[s]
        most = max(most, waiting + from_children[s])
        if parent[s] >= 0:
            from_children[parent[s]] += own
    return heaviest, longest, most


@kernel
def rows(start: Any, adjacency: Any, permutation: Any, position: Any, owner: Any, parent: Any, begin: Any) -> Any:
    """R of every supernode, ascending: row i belongs to all supernodes from its neighbours below up to its own."""
    n = len(permutation)
    S, rows = np.empty(len(parent), SUPERNODE), np.empty(begin[-1], np.int32)
    for s in range(len(parent)):
        S[s].put, S[s].seen, S[s].parent = begin[s], n, parent[s]
    for i in range(n):
        v = permutation[i]
        S[owner[i]].seen = i
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            X = S[owner[min(np.uint32(i), position[adjacency[q]])]]  # its own if the neighbour is not below
            while X.seen != i:
                X.seen = i
                rows[X.put] = i
                X.put += _ONE
                X = S[X.parent]
    return rows


@kernel
def places(first: Any, parent: Any, begin: Any, rows: Any) -> Any:
    """The position of each row of a supernode in its parent's front, columns first, and on the path from the root.

    Also the place on that path of each supernode's first column, and its children.
    """
    s_count = len(parent)
    local, slot, base = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32), np.zeros(s_count, np.int32)
    child, sibling = np.full(s_count, -1, np.int32), np.full(s_count, -1, np.int32)
    for s in range(s_count - 1, -1, -1):
        p = parent[s]
        if p < 0:
            continue
        sibling[s], child[p] = child[p], s
        low, high = first[p], first[p + 1]
        base[s] = base[p] + high - low
        q = np.uint64(begin[p])
        below = high - low - begin[p]
        for k in range(np.uint64(begin[s]), np.uint64(begin[s + 1])):
            i = rows[k]
            if i < high:
                local[k] = i - low
                slot[k] = base[p] + i - low
            else:
                while rows[q] < i:
                    q += _ONE
                local[k] = below + np.int64(q)
                slot[k] = slot[q]
    return local, slot, base, child, sibling


@kernel
def diagonal(first: Any, panel: Any, high: Any, strip: int, padded: bool) -> Any:
    """The position of the diagonal of each D, by column: in panels of so many rows, in strips of so many columns.

    The last strip of a panel is as wide as the others where they are padded, else as wide as the columns that are left.
    """
    offset = np.empty(first[-1], np.int64)
    for s in range(len(panel)):
        w = first[s + 1] - first[s]
        for j in range(w):
            left = j - j % strip
            wide = strip if padded else min(strip, w - left)
            offset[first[s] + j] = panel[s] + left * high[s] + j * wide + j - left
    return offset


@kernel
def updates(child: Any, r: Any) -> Any:
    """The place of each update on a stack in postorder, and where its subtree begins."""
    s_count = len(child)
    place = np.empty(s_count, np.int64)
    leaf = np.arange(s_count).astype(np.int32)
    top = 0
    for s in range(s_count):
        place[s] = top
        if child[s] >= 0:
            place[s], leaf[s] = place[child[s]], leaf[child[s]]
        top = place[s] + r[s] * r[s]
    return place, leaf


@kernel
def arcs(tails: Any, heads: Any, position: Any, owner: Any, first: Any, begin: Any, rows: Any) -> Any:
    """The arcs of each supernode, and the position of each in its front: those of which it owns the lower end."""
    s_count, count = len(first) - 1, len(tails)
    start, of = np.zeros(s_count + 2, np.int64), np.empty(count, np.uint32)
    for e in range(count):
        of[e] = owner[min(position[tails[e]], position[heads[e]])]
        start[of[e] + _TWO] += 1
    for s in range(s_count):
        start[s + 2] += start[s + 1]
    found = np.empty(count, ARC)
    for e in range(count):
        X = found[np.uint64(start[of[e] + _ONE])]
        X.arc, X.row, X.col = e, position[tails[e]], position[heads[e]]
        start[of[e] + _ONE] += 1
    arc, row, col = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
    place = np.empty(len(position), np.int32)  # in the front at hand
    for s in range(s_count):
        k = 0
        for j in range(first[s], first[s + 1]):
            place[j] = k
            k += 1
        for q in range(begin[s], begin[s + 1]):
            place[rows[q]] = k
            k += 1
        for a in range(start[s], start[s + 1]):
            X = found[a]
            arc[a], row[a], col[a] = X.arc, place[X.row], place[X.col]
    return start[: s_count + 1].copy(), arc, row, col
