"""numba: the undirected pattern, the elimination tree, its supernodes and their rows. No weight is looked at.

Kernels get the arrays that they fill, and their workspace: one that allocates takes up to twice as long to compile.
"""

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
def neighbours(tails: Any, heads: Any, start: Any, adjacency: Any, place: Any, seen: Any) -> Any:
    """The neighbours of every vertex, each once, without itself; returns how many they are.

    `start` holds n + 1 zeros and `place` one more, `seen` n times n; `adjacency` has two items an arc.
    """
    n = len(seen)
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            place[u + _TWO] += _ONE
            place[v + _TWO] += _ONE
    for v in range(n):
        place[v + 2] += place[v + 1]
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            adjacency[place[u + _ONE]] = v
            adjacency[place[v + _ONE]] = u
            place[u + _ONE] += _ONE
            place[v + _ONE] += _ONE
    # place[v] is now where the neighbours of v begin, place[v + 1] where they end.
    put = np.uint64(0)
    for v in range(n):
        for q in range(place[v], place[v + 1]):
            u = adjacency[q]
            adjacency[put] = u  # overwritten by the next one if it has been seen
            put += np.uint64(seen[u] != v)
            seen[u] = v
        start[v + 1] = put
    return put


@kernel
def breadth_first(start: Any, adjacency: Any, order: Any, place: Any, begin: Any, renumbered: Any) -> None:
    """All vertices as breadth-first searches meet them, one after the other until none is left; the graph so numbered.

    `order` has n + 1 items, the last for what follows. `place` holds n times n, `begin` a zero at first.
    """
    n = len(start) - 1
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


@kernel
def tree(start: Any, adjacency: Any, permutation: Any, position: Any, parent: Any, ancestor: Any) -> None:
    """The parents in the elimination tree. `parent` and `ancestor` hold −1."""
    for k in range(len(permutation)):
        v = permutation[k]
        for q in range(start[v], start[v + 1]):
            i = position[adjacency[q]]
            while i >= 0 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above < 0:
                    parent[i] = k
                i = above


@kernel
def counts(
    start: Any, adjacency: Any, permutation: Any, position: Any, dense: int, post: Any, parent: Any, delta: Any,
    ancestor: Any, begin: Any, reached: Any, leaf: Any,
) -> None:  # fmt: skip
    """delta ← the entries on and below the diagonal of each column; the last `dense` columns become a path of the tree.

    By the leaves of row subtrees: each row subtree adds 1 at its leaves and takes 1 away where two paths meet. `begin`
    is each one's first descendant, in postorder, `leaf` the last leaf of a row so far, and `reached` the greatest first
    descendant of its leaves. These hold −1.
    """
    n = len(permutation)
    for k in range(n):
        j = post[k]
        delta[j] = 1 if begin[j] < 0 else 0
        while j >= 0 and begin[j] < 0:
            begin[j] = k
            j = parent[j]
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


@kernel
def postorder(parent: Any, size: Any, place: Any, end: Any) -> None:
    """Each one's place where children come before parents, a subtree in one piece; and how many its subtree has.

    `size` holds n + 1 ones. n stands for the parent of all roots.
    """
    n = len(parent)
    for v in range(n):
        size[np.uint64(parent[v] if parent[v] >= 0 else n)] += size[v]
    place[n] = end[n] = n  # `end` is where the next child's subtree ends, the last child's first
    for v in range(n - 1, -1, -1):
        p = np.uint64(parent[v] if parent[v] >= 0 else n)
        place[v] = end[v] = end[p] - _ONE
        end[p] -= size[v]


@kernel
def supernodes(
    parent: Any, counts: Any, order: Any, dense: int, narrow: int, zeros: float, size: Any, place: Any,
    C: Any, up: Any, post: Any, number: Any, permutation: Any, first: Any, above: Any, height: Any,
) -> int:  # fmt: skip
    """Columns become supernodes: chains of the same structure, and what is close enough to it; returns how many.

    A supernode is known by its last column, whose rows are its rows. It may be joined by any of its children, whose
    columns then go before its own. The last `dense` columns are one supernode, whatever joins them. `first` begins with
    a zero, and `number` has n + 1 items.
    """
    n, none = len(parent), np.uint32(len(parent))
    # From here on columns are numbered in postorder, so that what is read together is contiguous.
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
    number[n] = -1
    s = left
    for k in range(n - 1, -1, -1):
        X = C[k]
        if X.into == none:
            s -= 1
            number[k], above[s], height[s] = s, number[up[k]], X.count - 1
        else:
            number[k] = number[X.into]
    put = 0
    for k in range(n):
        if C[k].into == none:
            j = C[k].head
            while j != none:
                permutation[put] = order[post[j]]
                put += 1
                j = C[j].after
            first[number[k] + 1] = put
    return left


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
def paths(parent: Any, w: Any, r: Any, pairs: Any, columns: Any, from_children: Any) -> Any:
    """Pairs and columns of the heaviest path to a root, and how many entries of updates wait at most.

    `from_children` is what the children of a supernode left, and holds zeros.
    """
    s_count = len(parent)
    heaviest, longest = 0, 0
    for s in range(s_count - 1, -1, -1):
        pairs[s], columns[s] = w[s] * (w[s] + 2 * r[s]), w[s]
        if parent[s] >= 0:
            pairs[s] += pairs[parent[s]]
            columns[s] += columns[parent[s]]
        heaviest, longest = max(heaviest, pairs[s]), max(longest, columns[s])
    waiting, most = 0, 0
    for s in range(s_count):
        own = r[s] * r[s]
        waiting += own - from_children[s]
        most = max(most, waiting + from_children[s])
        if parent[s] >= 0:
            from_children[parent[s]] += own
    return heaviest, longest, most


@kernel
def rows(start: Any, adjacency: Any, permutation: Any, position: Any, owner: Any, S: Any, rows: Any) -> None:
    """R of every supernode, ascending: row i belongs to all supernodes from its neighbours below up to its own."""
    for i in range(len(permutation)):
        v = permutation[i]
        S[owner[i]].seen = i
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            X = S[owner[min(np.uint32(i), position[adjacency[q]])]]  # its own if the neighbour is not below
            while X.seen != i:
                X.seen = i
                rows[X.put] = i
                X.put += _ONE
                X = S[X.parent]


@kernel
def places(
    first: Any, parent: Any, begin: Any, rows: Any, local: Any, slot: Any, base: Any, child: Any, sibling: Any,
    update: Any, leaf: Any,
) -> None:  # fmt: skip
    """The position of each row of a supernode in its parent's front, columns first, and on the path from the root.

    Also the place on that path of each supernode's first column, and its children; `base` holds zeros, and these −1.
    And the place of its update on a stack in postorder, and where its subtree begins.
    """
    s_count = len(parent)
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
    top = 0
    for s in range(s_count):
        update[s], leaf[s] = top, s
        if child[s] >= 0:
            update[s], leaf[s] = update[child[s]], leaf[child[s]]
        r = begin[s + 1] - begin[s]
        top = update[s] + r * r


def diagonal(first: np.ndarray, panel: np.ndarray, high: np.ndarray, strip: int, padded: bool) -> np.ndarray:
    """The position of the diagonal of each D, by column: in panels of so many rows, in strips of so many columns.

    The last strip of a panel is as wide as the others where they are padded, else as wide as the columns that are left.
    """
    w = np.diff(first)
    column = np.arange(first[-1], dtype=np.int32) - np.repeat(first[:-1], w)
    left = column - column % strip
    wide = strip if padded else np.minimum(strip, np.repeat(w, w) - left)
    return np.repeat(panel, w) + left * np.repeat(high, w) + (column * wide + column - left)


@kernel
def arcs(
    tails: Any, heads: Any, position: Any, owner: Any, first: Any, begin: Any, rows: Any, start: Any, of: Any,
    found: Any, place: Any, arc: Any, row: Any, col: Any,
) -> None:  # fmt: skip
    """The arcs of each supernode, and the position of each in its front: those of which it owns the lower end.

    `start` holds a zero more than there are supernodes and their end. `place` is that in the front at hand.
    """
    s_count, count = len(first) - 1, len(tails)
    for e in range(count):
        of[e] = owner[min(position[tails[e]], position[heads[e]])]
        start[of[e] + _TWO] += 1
    for s in range(s_count):
        start[s + 2] += start[s + 1]
    for e in range(count):
        X = found[np.uint64(start[of[e] + _ONE])]
        X.arc, X.row, X.col = e, position[tails[e]], position[heads[e]]
        start[of[e] + _ONE] += 1
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
