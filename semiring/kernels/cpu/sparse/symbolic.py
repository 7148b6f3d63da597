"""Symbolic analysis: undirected pattern, elimination tree, supernodes and their rows, independent of weights.

Outputs and workspace are arguments: a kernel that allocates takes up to twice as long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..compile import kernel
from ..instructions import Array
from ..intrinsics import prefetch

# Hot indices are unsigned: numba tests signed ones for negative values.
_ONE, _TWO = np.uint64(1), np.uint64(2)
#: Vertices searched from per turn of a part, and how many before its turn the neighbours of one are prefetched.
TURN, AHEAD = 32, np.uint64(8)

#: Record of a column. `entries`: of it and the columns merged into it, on and below the diagonal, without fill by
#: merging. `size`: of its subtree. `into`: column it was merged into. `head`, `after`: list of a supernode's columns.
COLUMN = np.dtype(
    [("entries", np.int64), *((name, np.uint32) for name in ("count", "size", "width", "into", "head", "after"))]
)
#: Record of a supernode: end of its rows so far, last row seen, parent.
SUPERNODE = np.dtype([("put", np.uint64), ("seen", np.uint32), ("parent", np.uint32)])
#: An arc, and the columns of its ends.
ARC = np.dtype([("arc", np.int32), ("row", np.uint32), ("col", np.uint32)])


@kernel
def tally(values: Array, low: int, high: int, count: Array) -> None:
    """count[v − low + 2] += occurrences of v among the values, for v of low … high − 1."""
    first, many = np.uint32(low), np.uint32(high - low)
    for e in range(len(values)):
        k = values[e] - first  # wraps for values below `low`
        if k < many:
            count[k + _TWO] += np.uint32(1)


@kernel
def neighbours(
    tails: Array, heads: Array, low: int, high: int, start: Array, adjacency: Array, place: Array, seen: Array
) -> Any:
    """Distinct neighbours of the vertices low … high − 1, without themselves; returns their number.

    `start` ← their ends per vertex. place[v − low + 2] is the degree of v in arcs, self-loops counted twice, with one
    more item; `seen` holds n times n; `adjacency` has an item per arc end.
    """
    first, many, one = np.uint32(low), np.uint32(high - low), np.uint32(1)
    for v in range(many):
        place[v + _TWO] += place[v + _ONE]
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u - first < many:
            adjacency[place[u - first + _ONE]] = v
            place[u - first + _ONE] += one
        if v - first < many:
            adjacency[place[v - first + _ONE]] = u
            place[v - first + _ONE] += one
    # place[v − low] is now the start of the neighbours of v, the next one their end.
    put = np.uint64(0)
    for k in range(many):
        own = k + first
        seen[own] = own
        for q in range(place[k], place[k + _ONE]):
            u = adjacency[q]
            adjacency[put] = u  # overwritten unless new
            put += np.uint64(seen[u] != own)
            seen[u] = own
        start[k] = put
    return put


@njit(inline="always")
def _expect(start: Array, adjacency: Array, order: Array, k: np.uint64, end: np.uint64) -> None:
    """Prefetch the neighbours of a vertex after the k-th, and where those of a later one begin."""
    if k + AHEAD + AHEAD < end:
        prefetch(adjacency.ctypes.data + adjacency.itemsize * np.int64(start[np.uint64(order[k + AHEAD])]))
        prefetch(start.ctypes.data + start.itemsize * np.int64(order[k + AHEAD + AHEAD]))


@kernel
def grow(start: Array, adjacency: Array, edges: Array, order: Array, place: Array, done: Array, found: Array) -> None:
    """Partition all vertices into parts by breadth-first searches that take turns.

    Part p has the places edges[p] … edges[p + 1]. `order` has n + 1 items, the last a scratch; `place` holds n times n.
    Vertices of a part before `done` have been searched from, those before `found` are listed.
    """
    n, parts, count, root = len(place), np.uint64(len(edges) - 1), np.uint64(0), np.uint64(0)
    for p in range(parts):
        v = np.uint64(edges[p])
        while place[v] != n:
            v = v + _ONE if v + _ONE < n else np.uint64(0)
        order[edges[p]], place[v], done[p], found[p] = v, edges[p], edges[p], edges[p] + _ONE
    while count < parts:  # full parts
        stuck = True
        for p in range(parts):
            k, end, stop = done[p], found[p], edges[p + _ONE]
            stuck &= k == end or end == stop
            turn = k + np.uint64(TURN)
            while k < end and k < turn and end < stop:
                v = np.uint64(order[k])
                _expect(start, adjacency, order, k, end)
                k += _ONE
                for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
                    u = adjacency[q]
                    new = place[u] == n and end < stop
                    place[u] = end if new else place[u]
                    order[end] = u if end < stop else order[end]  # overwritten unless new
                    end += np.uint64(new)
            done[p], found[p] = k, end
        count = np.uint64(0)
        empty: Any = parts
        for p in range(parts):
            full = found[p] == edges[p + _ONE]
            count += np.uint64(full)
            empty = empty if full else p
        if stuck and empty < parts:  # next unvisited vertex
            while place[root] != n:
                root += _ONE
            order[found[empty]], place[root] = root, found[empty]
            found[empty] += _ONE


@kernel
def renumber(
    start: Array, adjacency: Array, order: Array, place: Array, low: int, high: int, begin: Array, found: Array
) -> None:
    """Neighbours of the vertices at places low … high − 1, as places."""
    for k in range(np.uint64(low), np.uint64(high)):
        v, put = np.uint64(order[k]), np.uint64(begin[k])
        _expect(start, adjacency, order, np.uint64(k), np.uint64(high))
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            found[put] = place[adjacency[q]]
            put += _ONE


@kernel
def tree(start: Array, adjacency: Array, permutation: Array, position: Array, parent: Array, ancestor: Array) -> None:
    """Parents in the elimination tree; `parent` and `ancestor` hold −1."""
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
    start: Array, adjacency: Array, permutation: Array, position: Array, dense: int, post: Array, parent: Array,
    delta: Array, ancestor: Array, begin: Array, reached: Array, leaf: Array,
) -> None:  # fmt: skip
    """delta ← column counts, diagonal included; the last `dense` columns become a path of the tree.

    By leaves of row subtrees: each adds 1 at its leaves and subtracts 1 where two paths meet. `begin` is each vertex'
    first descendant in postorder, `leaf` the last leaf of a row, and `reached` the greatest first descendant of its
    leaves; these hold −1.
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
    # The dense columns form a clique, hence a path in the tree.
    for j in range(n - dense):
        parent[j] = min(parent[j], n - dense)
    for j in range(n - dense, n):
        parent[j], delta[j] = j + 1 if j + 1 < n else -1, n - j


@kernel
def postorder(parent: Array, size: Array, place: Array, end: Array) -> None:
    """place ← postorder, subtrees contiguous; size, n + 1 ones at first, ← subtree sizes; n: parent of all roots."""
    n = len(parent)
    for v in range(n):
        size[np.uint64(parent[v] if parent[v] >= 0 else n)] += size[v]
    place[n] = end[n] = n  # `end`: end of the next child's subtree, last child first
    for v in range(n - 1, -1, -1):
        p = np.uint64(parent[v] if parent[v] >= 0 else n)
        place[v] = end[v] = end[p] - _ONE
        end[p] -= size[v]


@kernel
def in_postorder(
    low: int, high: int, parent: Array, counts: Array, size: Array, place: Array, C: Array, up: Array, post: Array
) -> None:
    """Records of columns low … high − 1, and their parents (n for none), in postorder."""
    n, none = len(parent), np.uint32(len(parent))
    for v in range(low, high):
        k = place[v]
        up[k], post[k] = place[parent[v]] if parent[v] >= 0 else n, v
        X = C[k]
        X.count = X.entries = counts[v]
        X.size, X.width, X.into, X.head, X.after = size[v], 1, none, k, none


@kernel
def supernodes(
    order: Array, dense: int, narrow: int, zeros: float, C: Array, up: Array, post: Array, alone: Array, number: Array,
    permutation: Array, first: Array, above: Array, height: Array,
) -> int:  # fmt: skip
    """Merge columns into fundamental and relaxed supernodes; returns their number.

    A supernode is represented by its last column, whose rows are its rows. Any child may join, its columns before the
    parent's, but columns that are `alone` (in postorder) like all below them. The last `dense` columns are one
    supernode. `first` starts with a zero, and `number` has n + 1 items. Columns are numbered in postorder for locality.
    """
    n, none = len(post), np.uint32(len(post))
    left = n
    for k in range(n):
        p = np.uint64(k)
        P = C[p]
        stop = p - (P.size - _ONE)  # start of its subtree; a child ends where the next one's subtree begins
        closest: Any = none
        c = p
        while c > stop:
            child = c - _ONE
            if not alone[child]:
                alone[p] = False
                if closest == none or C[child].count > C[closest].count:
                    closest = child
            c -= C[child].size
        left -= _join(closest, p, C, post, n - dense, narrow, zeros) if closest != none else 0
        c = p
        while c > stop:
            child = c - _ONE
            if child != closest and not alone[child]:
                left -= _join(child, p, C, post, n - dense, narrow, zeros)
            c -= C[child].size
    # The representatives are in postorder, too.
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
def _join(c: Any, p: Any, C: Array, post: Array, last: Any, narrow: Any, zeros: Any) -> Any:
    """Merge c's columns before those of its parent p if that adds few zeros; returns 1 if merged, else 0."""
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
def paths(parent: Array, w: Array, r: Array, pairs: Array, columns: Array, from_children: Array) -> Any:
    """Pairs and columns of the heaviest root path, and the maximum size of the update stack.

    `from_children` (zeros) sums the updates of each supernode's children.
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
def rows(
    low: int, high: int, start: Array, adjacency: Array, permutation: Array, position: Array, owner: Array, S: Array,
    rows: Array,
) -> None:  # fmt: skip
    """Append columns low … high − 1 to R of every supernode on the tree paths from their lower neighbours.

    Rows are ascending if lower columns go first.
    """
    for i in range(low, high):
        v = permutation[i]
        _expect(start, adjacency, permutation, np.uint64(i), np.uint64(high))
        S[owner[i]].seen = i
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            X = S[owner[min(np.uint32(i), position[adjacency[q]])]]  # its own supernode, unless the neighbour is lower
            while X.seen != i:
                X.seen = i
                rows[X.put] = i
                X.put += _ONE
                X = S[X.parent]


@kernel
def relatives(parent: Array, begin: Array, child: Array, sibling: Array, update: Array, leaf: Array) -> None:
    """First child and next sibling (hold −1), first node of each subtree, and place of each update on a stack."""
    for s in range(len(parent) - 1, -1, -1):
        if parent[s] >= 0:
            sibling[s], child[parent[s]] = child[parent[s]], s
    top = 0
    for s in range(len(parent)):
        update[s], leaf[s] = top, s
        if child[s] >= 0:
            update[s], leaf[s] = update[child[s]], leaf[child[s]]
        r = begin[s + 1] - begin[s]
        top = update[s] + r * r


@kernel
def places(
    low: int, high: int, first: Array, parent: Array, begin: Array, rows: Array, local: Array, slot: Array, base: Array
) -> None:
    """Places of the rows of supernodes low … high − 1 in their parents' fronts, columns first.

    Also in `slot` on the path from the root, and in `base` (zeros) the place of each supernode's first column there.
    Ancestors go first.
    """
    for s in range(high - 1, low - 1, -1):
        p = parent[s]
        if p < 0:
            continue
        start, stop = first[p], first[p + 1]
        base[s] = base[p] + stop - start
        q = np.uint64(begin[p])
        below = stop - start - begin[p]
        for k in range(np.uint64(begin[s]), np.uint64(begin[s + 1])):
            i = rows[k]
            if i < stop:
                local[k] = i - start
                slot[k] = base[p] + i - start
            else:
                while rows[q] < i:
                    q += _ONE
                local[k] = below + np.int64(q)
                slot[k] = slot[q]


@kernel
def diagonal(first: Array, panel: Array, high: Array, strip: int, padded: bool, position: Array) -> None:
    """Position of the diagonal of each D, by column, in panels of `high` rows in strips of `strip` columns.

    The last strip of a panel is full width if padded, else narrowed.
    """
    for s in range(len(panel)):
        w = first[s + 1] - first[s]
        for column in range(w):
            left = column - column % strip
            wide = strip if padded else min(strip, w - left)
            position[first[s] + column] = panel[s] + left * high[s] + column * wide + column - left


@kernel
def owners(tails: Array, heads: Array, position: Array, owner: Array, of: Array) -> None:
    """of ← supernode of each arc: the owner of its lower end."""
    for e in range(len(tails)):
        of[e] = owner[min(position[tails[e]], position[heads[e]])]


@kernel
def arcs(
    tails: Array, heads: Array, position: Array, of: Array, first: Array, begin: Array, rows: Array, low: int,
    high: int, start: Array, base: int, found: Array, place: Array, arc: Array, row: Array, col: Array,
) -> None:  # fmt: skip
    """Arcs of the supernodes low … high − 1, and the place of each in its front.

    start[s − low + 2] is the number of arcs of s, and finally start[s − low] that of arcs before s; `base` counts arcs
    before `low`. `place` is workspace: places in the current front.
    """
    least, many, one = np.uint32(low), np.uint32(high - low), np.uint32(1)
    for k in range(many):
        start[k + _TWO] += start[k + _ONE]
    for e in range(len(tails)):
        k = of[e] - least
        if k < many:
            X = found[np.uint64(base) + start[k + _ONE]]
            X.arc, X.row, X.col = e, position[tails[e]], position[heads[e]]
            start[k + _ONE] += one
    for s in range(low, high):
        k = 0
        for j in range(first[s], first[s + 1]):
            place[j] = k
            k += 1
        for q in range(begin[s], begin[s + 1]):
            place[rows[q]] = k
            k += 1
        for a in range(base + start[s - low], base + start[s - low + 1]):
            X = found[a]
            arc[a], row[a], col[a] = X.arc, place[X.row], place[X.col]
