"""numba: the undirected pattern, the elimination tree, its supernodes and their rows. No weight is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import kernel

# What is an index is unsigned where it is read much: numba asks of every signed one whether it is negative.
_ONE, _TWO = np.uint64(1), np.uint64(2)


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
    beside = np.empty(place[n + 1], np.uint32)
    for e in range(len(tails)):
        u, v = tails[e], heads[e]
        if u != v:
            beside[place[u + _ONE]] = v
            beside[place[v + _ONE]] = u
            place[u + _ONE] += _ONE
            place[v + _ONE] += _ONE
    # place[v] is now where the neighbours of v begin, place[v + 1] where they end.
    seen = np.full(n, n, np.uint32)
    start = np.zeros(n + 1, np.int64)
    put = np.uint64(0)
    for v in range(n):
        for q in range(place[v], place[v + 1]):
            u = beside[q]
            beside[put] = u  # overwritten by the next one if it has been seen
            put += np.uint64(seen[u] != v)
            seen[u] = v
        start[v + 1] = put
    return start, beside[:put].copy()


@kernel
def breadth_first(start: Any, beside: Any) -> Any:
    """All vertices as breadth-first searches meet them, one after the other until none is left; the graph so numbered.

    Returns
    -------
    order : int32 array (n,)
    start, beside : int64 array (n + 1,), uint32 array
        The neighbours of each vertex by its place in the order, by theirs.
    """
    n = len(start) - 1
    order, place = np.empty(n + 1, np.uint32), np.full(n, n, np.uint32)
    begin, there = np.zeros(n + 1, np.int64), np.empty(len(beside), np.uint32)
    found = done = put = np.uint64(0)
    for root in range(n):
        if place[root] == n:
            order[found], place[root] = root, found
            found += _ONE
        while done < found:
            v = order[done]
            done += _ONE
            for q in range(np.uint64(start[v]), np.uint64(start[v + _ONE])):
                u = beside[q]
                new = place[u] == n
                place[u] = found if new else place[u]
                order[found] = u  # overwritten by the next one if it is not new
                found += np.uint64(new)
                there[put] = place[u]
                put += _ONE
            begin[done] = put
    return order[:n].astype(np.int32), begin, there


@kernel
def columns(start: Any, beside: Any, permutation: Any, position: Any, dense: int) -> Any:
    """The elimination tree and the number of entries on and below the diagonal of each column."""
    n = len(permutation)
    parent = np.full(n, -1, np.int32)
    ancestor = np.full(n, -1, np.int32)
    for k in range(n):
        v = permutation[k]
        for q in range(start[v], start[v + 1]):
            i = position[beside[q]]
            while i >= 0 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above < 0:
                    parent[i] = k
                i = above
    post = _postorder(parent)
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
            i = position[beside[q]]
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
    """Children before parents, a subtree in one piece, without recursion."""
    n = len(parent)
    child = np.full(n, -1, np.int32)
    sibling = np.full(n, -1, np.int32)
    for v in range(n - 1, -1, -1):
        if parent[v] >= 0:
            sibling[v] = child[parent[v]]
            child[parent[v]] = v
    post = np.empty(n, np.int32)
    put = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        v = root
        while True:
            while child[v] >= 0:
                v = child[v]
            post[put] = v
            put += 1
            while v != root and sibling[v] < 0:
                v = parent[v]
                post[put] = v
                put += 1
            if v == root:
                break
            v = sibling[v]
    return post


@kernel
def supernodes(parent: Any, counts: Any, given: Any, dense: int, narrow: int, zeros: float) -> Any:
    """Columns become supernodes: chains of the same structure, and what is close enough to it.

    A supernode is known by its last column, whose rows are its rows. It may be joined by any of its children, whose
    columns then go before its own. The last `dense` columns are one supernode, whatever joins them.
    """
    n = len(parent)
    # From here on columns are numbered in postorder, so that what is read together lies together.
    post = _postorder(parent)
    place = np.empty(n, np.int32)
    for k in range(n):
        place[post[k]] = k
    up = np.empty(n, np.int32)
    count = np.empty(n, np.int64)
    child = np.full(n, -1, np.int32)
    sibling = np.full(n, -1, np.int32)
    for k in range(n):
        v = post[k]
        up[k] = place[parent[v]] if parent[v] >= 0 else -1
        count[k] = counts[v]
        if up[k] >= 0:
            sibling[k] = child[up[k]]
            child[up[k]] = k
    width = np.ones(n, np.int64)
    entries = count.copy()  # on and below the diagonal, without the zeros that joining adds
    into = np.full(n, -1, np.int32)
    head = np.arange(n).astype(np.int32)  # the first column of a supernode, and the one after each
    after = np.full(n, -1, np.int32)
    for p in range(n):
        closest = -1
        c = child[p]
        while c >= 0:
            if closest < 0 or count[c] > count[closest]:
                closest = c
            c = sibling[c]
        c = closest
        while c >= 0:
            w = width[c] + width[p]
            size = w * (w + 1) // 2 + w * (count[p] - 1)
            added = size - entries[c] - entries[p]
            if post[c] >= n - dense or added == 0 or w <= narrow or added <= zeros * size:
                width[p], into[c] = w, p
                entries[p] += entries[c]
                after[c], head[p] = head[p], head[c]
            c = child[p] if c == closest else sibling[c]
            if c == closest:
                c = sibling[c]
    # Number what is left, children before parents.
    top = np.empty(n, np.int32)
    number = np.empty(n, np.int32)
    left = 0
    for k in range(n - 1, -1, -1):
        top[k] = k if into[k] < 0 else top[into[k]]
        if into[k] < 0:
            number[k] = left
            left += 1
    above = np.full(left, -1, np.int32)
    last = np.empty(left, np.int32)
    for k in range(n):
        if into[k] < 0:
            last[number[k]] = k
            if up[k] >= 0:
                above[number[k]] = number[top[up[k]]]
    order = _postorder(above)
    renumber = np.empty(left, np.int32)
    for s in range(left):
        renumber[order[s]] = s
    permutation = np.empty(n, np.int32)
    first = np.zeros(left + 1, np.int32)
    upper = np.full(left, -1, np.int32)
    height = np.empty(left, np.int64)
    put = 0
    for s in range(left):
        k = last[order[s]]
        height[s] = count[k] - 1
        if above[order[s]] >= 0:
            upper[s] = renumber[above[order[s]]]
        j = head[k]
        while True:
            permutation[put] = given[post[j]]
            put += 1
            if j == k:
                break
            j = after[j]
        first[s + 1] = put
    return permutation, first, upper, height


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
    kept = np.zeros(s_count, np.int64)  # what the children of a supernode left
    for s in range(s_count):
        own = r[s] * r[s]
        waiting += own - kept[s]
        most = max(most, waiting + kept[s])
        if parent[s] >= 0:
            kept[parent[s]] += own
    return heaviest, longest, most


@kernel
def bases(parent: Any, first: Any) -> Any:
    base = np.zeros(len(parent), np.int32)
    for s in range(len(parent) - 1, -1, -1):
        p = parent[s]
        if p >= 0:
            base[s] = base[p] + first[p + 1] - first[p]
    return base


@kernel
def rows(start: Any, beside: Any, permutation: Any, position: Any, owner: Any, parent: Any, begin: Any) -> Any:
    """R of every supernode, ascending: row i belongs to all supernodes from its neighbours below up to its own."""
    put = begin[:-1].copy()
    seen = np.full(len(parent), -1, np.int32)
    rows = np.empty(begin[-1], np.int32)
    for i in range(len(permutation)):
        v = permutation[i]
        own = owner[i]
        seen[own] = i
        for q in range(start[v], start[v + 1]):
            k = position[beside[q]]
            if k < i:
                s = owner[k]
                while seen[s] != i:
                    seen[s] = i
                    rows[put[s]] = i
                    put[s] += 1
                    s = parent[s]
    return rows


@kernel
def places(first: Any, parent: Any, begin: Any, rows: Any) -> Any:
    """Where each row of a supernode lies in its parent's front, columns first; and the children of each."""
    s_count = len(parent)
    local = np.empty(len(rows), np.int32)
    child = np.full(s_count, -1, np.int32)
    sibling = np.full(s_count, -1, np.int32)
    for s in range(s_count - 1, -1, -1):
        p = parent[s]
        if p < 0:
            continue
        sibling[s], child[p] = child[p], s
        low, high = first[p], first[p + 1]
        q = begin[p]
        for k in range(begin[s], begin[s + 1]):
            i = rows[k]
            if i < high:
                local[k] = i - low
            else:
                while rows[q] < i:
                    q += 1
                local[k] = high - low + q - begin[p]
    return local, child, sibling


@kernel
def updates(child: Any, r: Any) -> Any:
    """The place of each update on a stack kept in postorder, and where its subtree begins."""
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
    """The arcs of each supernode, and where each lies in its front: those of which it owns the lower end."""
    s_count = len(first) - 1
    start = np.zeros(s_count + 2, np.int64)
    for e in range(len(tails)):
        start[owner[min(position[tails[e]], position[heads[e]])] + 2] += 1
    for s in range(s_count):
        start[s + 2] += start[s + 1]
    arc = np.empty(len(tails), np.int32)
    for e in range(len(tails)):
        s = owner[min(position[tails[e]], position[heads[e]])]
        arc[start[s + 1]] = e
        start[s + 1] += 1
    row = np.empty(len(tails), np.int32)
    col = np.empty(len(tails), np.int32)
    place = np.empty(len(position), np.int32)  # in the front at hand
    for s in range(s_count):
        for j in range(first[s], first[s + 1]):
            place[j] = j - first[s]
        for k in range(begin[s], begin[s + 1]):
            place[rows[k]] = first[s + 1] - first[s] + k - begin[s]
        for a in range(start[s], start[s + 1]):
            row[a], col[a] = place[position[tails[arc[a]]]], place[position[heads[arc[a]]]]
    return start[: s_count + 1].copy(), arc, row, col
