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
#: Vertices that a part searches from until it is the next one's turn.
TURN = 32

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
def tally(values: Any, low: int, high: int, count: Any) -> None:
    """count[v − low + 2] ← how often v occurs among the values, in addition to what it holds, for v of low … high."""
    first, many = np.uint32(low), np.uint32(high - low)
    for e in range(len(values)):
        k = values[e] - first  # of a value before `low` more than any
        if k < many:
            count[k + _TWO] += np.uint32(1)


@kernel
def neighbours(
    tails: Any, heads: Any, low: int, high: int, start: Any, adjacency: Any, place: Any, seen: Any
) -> Any:  # fmt: skip
    """The neighbours of the vertices low … high, each once, without the vertex itself; returns how many they are.

    `start` gets where those of each end. place[v − low + 2] is in how many arcs v is, those from v to v counted twice,
    and has an item more than that. `seen` holds n times n; `adjacency` has an item for each end counted.
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
    # place[v − low] is now where the neighbours of v begin, and the next one where they end.
    put = np.uint64(0)
    for k in range(many):
        own = k + first
        seen[own] = own
        for q in range(place[k], place[k + _ONE]):
            u = adjacency[q]
            adjacency[put] = u  # overwritten by the next one if it has been seen
            put += np.uint64(seen[u] != own)
            seen[u] = own
        start[k] = put
    return put


@kernel
def grow(start: Any, adjacency: Any, edges: Any, order: Any, place: Any, done: Any, found: Any) -> None:
    """All vertices by parts, each as a breadth-first search meets them that takes turns with the others'.

    Part p has the places edges[p] … edges[p + 1]. `order` has n + 1 items, the last for what follows; `place` holds n
    times n. Of each part, those before `done` have been searched from, and those before `found` are there.
    """
    n, parts, count, root = len(place), np.uint64(len(edges) - 1), np.uint64(0), np.uint64(0)
    for p in range(parts):
        v = np.uint64(edges[p])
        while place[v] != n:
            v = v + _ONE if v + _ONE < n else np.uint64(0)
        order[edges[p]], place[v], done[p], found[p] = v, edges[p], edges[p], edges[p] + _ONE
    while count < parts:  # parts that are full
        stuck = True
        for p in range(parts):
            k, end, stop = done[p], found[p], edges[p + _ONE]
            stuck &= k == end or end == stop
            turn = k + np.uint64(TURN)
            while k < end and k < turn and end < stop:
                v = np.uint64(order[k])
                k += _ONE
                for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
                    u = adjacency[q]
                    new = place[u] == n and end < stop
                    place[u] = end if new else place[u]
                    order[end] = u if end < stop else order[end]  # overwritten by the next one if it is not new
                    end += np.uint64(new)
            done[p], found[p] = k, end
        count = np.uint64(0)
        empty: Any = parts
        for p in range(parts):
            full = found[p] == edges[p + _ONE]
            count += np.uint64(full)
            empty = empty if full else p
        if stuck and empty < parts:  # whatever comes next
            while place[root] != n:
                root += _ONE
            order[found[empty]], place[root] = root, found[empty]
            found[empty] += _ONE


@kernel
def renumber(start: Any, adjacency: Any, order: Any, place: Any, low: int, high: int, begin: Any, found: Any) -> None:
    """The neighbours of the vertices at the places low … high, by their places."""
    for k in range(np.uint64(low), np.uint64(high)):
        v, put = np.uint64(order[k]), np.uint64(begin[k])
        for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
            found[put] = place[adjacency[q]]
            put += _ONE


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
def in_postorder(
    low: int, high: int, parent: Any, counts: Any, size: Any, place: Any, C: Any, up: Any, post: Any
) -> None:
    """What is known of the columns low … high, and their parents, n for none, by their places in postorder."""
    n, none = len(parent), np.uint32(len(parent))
    for v in range(low, high):
        k = place[v]
        up[k], post[k] = place[parent[v]] if parent[v] >= 0 else n, v
        X = C[k]
        X.count = X.entries = counts[v]
        X.size, X.width, X.into, X.head, X.after = size[v], 1, none, k, none


@kernel
def supernodes(
    order: Any, dense: int, narrow: int, zeros: float, C: Any, up: Any, post: Any, number: Any, permutation: Any,
    first: Any, above: Any, height: Any,
) -> int:  # fmt: skip
    """Columns become supernodes: chains of the same structure, and what is close enough to it; returns how many.

    A supernode is known by its last column, whose rows are its rows. It may be joined by any of its children, whose
    columns then go before its own. The last `dense` columns are one supernode, whatever joins them. `first` begins with
    a zero, and `number` has n + 1 items. Columns are numbered in postorder: what is read together is contiguous.
    """
    n, none = len(post), np.uint32(len(post))
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
def rows(
    low: int, high: int, start: Any, adjacency: Any, permutation: Any, position: Any, owner: Any, S: Any, rows: Any
) -> None:
    """Add the columns low … high to R of every supernode below: each belongs to all from its neighbours up to its own.

    Ascending, if what is below goes first.
    """
    for i in range(low, high):
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
def relatives(parent: Any, begin: Any, child: Any, sibling: Any, update: Any, leaf: Any) -> None:
    """The first child of each supernode and its next sibling, which hold −1; where its subtree begins.

    And the place of its update on a stack in postorder.
    """
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
    low: int, high: int, first: Any, parent: Any, begin: Any, rows: Any, local: Any, slot: Any, base: Any
) -> None:
    """The position of the rows of supernodes low … high in their parents' fronts, columns first.

    Also on the path from the root, and the place on it of each supernode's first column. What is above goes first;
    `base` holds zeros.
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
def diagonal(first: Any, panel: Any, high: Any, strip: int, padded: bool, position: Any) -> None:
    """The position of the diagonal of each D, by column: in panels of so many rows, in strips of so many columns.

    The last strip of a panel is as wide as the others where they are padded, else as wide as the columns that are left.
    """
    for s in range(len(panel)):
        w = first[s + 1] - first[s]
        for column in range(w):
            left = column - column % strip
            wide = strip if padded else min(strip, w - left)
            position[first[s] + column] = panel[s] + left * high[s] + column * wide + column - left


@kernel
def owners(tails: Any, heads: Any, position: Any, owner: Any, of: Any) -> None:
    """of ← the supernodes of arcs: those that own the lower end."""
    for e in range(len(tails)):
        of[e] = owner[min(position[tails[e]], position[heads[e]])]


@kernel
def arcs(
    tails: Any, heads: Any, position: Any, of: Any, first: Any, begin: Any, rows: Any, low: int, high: int, start: Any,
    base: int, found: Any, place: Any, arc: Any, row: Any, col: Any,
) -> None:  # fmt: skip
    """The arcs of the supernodes low … high, and the position of each in its front.

    start[s − low + 2] is how many arcs are of s, and at the end start[s − low] how many are of those before; `base` is
    how many are of those before `low`. `place` is that in the front at hand.
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
