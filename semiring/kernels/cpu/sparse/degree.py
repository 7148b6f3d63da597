"""Approximate minimum degree on the quotient graph of Amestoy, Davis and Duff 1996.

An eliminated variable becomes an *element*, the clique of its neighbours: one list instead of edges; a variable's
neighbours are the variables of its elements and its remaining edges. Indistinguishable variables form a
*supervariable*.

Indices are unsigned: numba tests signed ones for negative values, a fifth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..compile import inner, kernel
from ..instructions import Array

#: Record of a vertex, half a cache line. `start`, `length`: its list, of `elements` elements, then neighbours, for a
#: variable; of variables for an element. `weight`: vertices of a supervariable; 0 once eliminated or absorbed; < 0 in
#: the pivot. `degree`: bound on a variable's external degree; size of an element. `outside`: of an element stamp + |L_e
#: \ L_pivot|, 0 if absorbed. `after`, `before`: list of equal degree; in the pivot, next of equal hash, and the hash.
VERTEX = np.dtype(
    [
        ("start", np.uint32),
        ("length", np.uint32),
        ("elements", np.uint32),
        ("weight", np.int32),
        ("degree", np.uint32),
        ("outside", np.int32),
        ("after", np.uint32),
        ("before", np.uint32),
    ]
)
#: Number of hash values, a power of two.
HASHES = 1024

_ONE = np.uint64(1)


@kernel
def minimum_degree(
    start: Array, size: int, total: int, inner: int, most: int, limit: float, stamps: int, lists: Array, V: Array,
    into: Array, step: Array, above: Array, first: Array, bucket: Array,
) -> Any:  # fmt: skip
    """Returns the numbers of pivots, of dense vertices, and of hubs (more than `limit` neighbours), which come last.

    Pivots are variables before node `inner` with at most `most` neighbours. Stamps above `stamps` restart.

    start : CSR row starts; empty if V has variables and elements (of weight 0) already
    lists : `size` entries in use
    V : array of VERTEX (n + 1,), `total` vertices; the last one is a sentinel
    into : absorbing variable or element, parent of an element; −1 at first, −2 for a hub
    step, above : step of each pivot, −1 at first; vertices other than the pivot, by step
    first, bucket : list heads by degree (`total`: the others), doubly linked, and by hash value; n at first
    """
    n, capacity = len(into), len(lists)
    none = np.uint32(n)
    hubs, largest = _begin(start, total, inner, limit, first, V, into, none)
    free, done, stamp, steps = np.uint64(size), hubs, 2, 0
    least = 0
    while done < total - (n - inner):
        while first[least] == none:
            least += 1
        p = first[least]
        remain = total - done
        if least > most or (2 * least >= remain and remain > 8):
            break
        P = V[p]
        first[least] = P.after
        V[P.after].before = none
        done += P.weight
        step[p] = steps
        listed = P.elements > 0
        if listed and capacity - np.int64(free) <= least:
            free = _compact(lists, free, V, into)
        begin, end, size_p = _construct(p, free, lists, first, V, into, none)
        largest = max(largest, size_p)
        if stamp > stamps - 3 * largest:
            for v in range(n):
                V[v].outside = min(V[v].outside, 1)
            stamp = 2
        _compare(begin, end, stamp, lists, V)
        gone = _update(p, begin, end, inner, stamp, lists, V, into, bucket)
        done += gone
        size_p -= gone
        P.degree = size_p
        stamp = _merge(begin, end, stamp + largest + 1, lists, V, into, bucket, none)
        ended, least = _finish(begin, end, size_p, total, total - done, inner, least, lists, first, V, none)
        P.weight = 0
        P.length = ended - begin
        P.outside = 1 if ended > begin else 0
        above[steps] = size_p
        steps += 1
        if listed:
            free = ended
    return steps, total - done + hubs if done < total else 0, hubs


@njit(inline="always")
def _begin(start: Array, total: Any, inner: Any, limit: Any, first: Array, V: Array, into: Array, none: Any) -> Any:
    """Link all vertices but hubs by degree; returns the number of hubs and the size of the largest element."""
    hubs, largest = 0, np.int64(0)
    for v in range(len(start) - 1):
        X = V[v]
        X.start, X.length, X.elements = start[v], start[v + 1] - start[v], 0
        X.weight, X.degree, X.outside = 1, X.length, 1
        if X.length > limit:
            X.weight, into[v] = 0, -2
            hubs += 1
    for v in range(np.int64(none) - 1, -1, -1):
        if V[v].weight:
            V[v].degree = V[v].degree if v < inner else total
            _link(np.uint32(v), V[v].degree, first, V, none)
        else:
            largest = max(largest, np.int64(V[v].degree))
    return hubs, largest


@njit(inline="always")
def _construct(p: Any, free: Any, lists: Array, first: Array, V: Array, into: Array, none: Any) -> Any:
    """The pivot's list L_p = (A_p ∪ ⋃ L_e) ∖ p; returns its begin, end and number of vertices.

    In place if p has no elements, else behind all lists; its elements are absorbed.
    """
    P = V[p]
    P.weight = -P.weight
    low = np.uint64(P.start)
    middle, high = low + P.elements, low + P.length
    begin = end = free if P.elements > 0 else low
    size = 0
    for k in range(low, middle):
        e = lists[k]
        E = V[e]
        if not E.outside:  # absorbed since p was last visited; its list may be gone
            continue
        end, added = _gather(lists, np.uint64(E.start), np.uint64(E.start) + E.length, end, first, V, none)
        size += added
        into[e], E.outside = p, 0
    end, added = _gather(lists, middle, high, end, first, V, none)
    size += added
    P.start, P.length, P.degree = begin, end - begin, size
    P.outside = 0  # excluded as an element of its own variables
    return begin, end, size


@njit(inline="always")
def _compare(begin: Any, end: Any, stamp: Any, lists: Array, V: Array) -> None:
    """|L_e ∖ L_p| for every element e adjacent to L_p."""
    for q in range(begin, end):
        X = V[lists[q]]
        heavy = -X.weight
        low = np.uint64(X.start)
        for k in range(low, low + X.elements):
            E = V[lists[k]]
            if E.outside >= stamp:
                E.outside -= heavy
            else:
                E.outside = E.degree + stamp - heavy if E.outside else 0


@njit(inline="always")
def _update(
    p: Any, begin: Any, end: Any, inner: Any, stamp: Any, lists: Array, V: Array, into: Array, bucket: Array
) -> Any:
    """New lists, degrees d_v ≤ |A_v ∖ v| + |L_p ∖ v| + Σ |L_e ∖ L_p| without |L_p ∖ v|, and hashes.

    Returns the number of vertices eliminated with p.
    """
    gone = 0
    for q in range(begin, end):
        v = lists[q]
        X = V[v]
        low = put = np.uint64(X.start)
        middle, high = low + X.elements, low + X.length
        sum_degree, code = 0, np.uint64(p)
        for k in range(low, middle):
            e = lists[k]
            rest = V[e].outside
            if rest:
                sum_degree += rest - stamp
                lists[put] = e
                put += _ONE
                code += e
        moved = put
        for k in range(middle, high):
            u = lists[k]
            if V[u].weight > 0:
                sum_degree += V[u].weight
                lists[put] = u
                put += _ONE
                code += u
        if sum_degree == 0 and v < inner:  # neighbours all in L_p: eliminated with p, which absorbs its elements
            for k in range(low, moved):
                into[lists[k]], V[lists[k]].outside = p, 0
            into[v] = p
            gone -= X.weight
            X.weight = X.elements = X.length = 0
            continue
        X.degree = min(np.int64(X.degree), sum_degree)
        # p becomes the first element; a place is free, as p or an absorbed element was in the list.
        lists[put] = lists[moved]
        lists[moved] = lists[low]
        lists[low] = p
        X.elements, X.length = moved - low + _ONE, put - low + _ONE
        if v >= inner:  # indistinguishable from none: it has neighbours outside the graph
            X.before = HASHES
            continue
        code %= np.uint64(HASHES)
        X.before, X.after = code, bucket[code]
        bucket[code] = v
    return gone


@njit(inline="always")
def _merge(begin: Any, end: Any, stamp: Any, lists: Array, V: Array, into: Array, bucket: Array, none: Any) -> Any:
    """Merge variables of L_p with equal lists into supervariables; returns the next stamp."""
    for q in range(begin, end):
        X = V[lists[q]]
        if X.weight == 0 or X.before == HASHES:
            continue
        i = bucket[X.before]
        bucket[X.before] = none
        while i != none and V[i].after != none:
            X = V[i]
            low = np.uint64(X.start)
            for k in range(low + _ONE, low + X.length):
                if V[lists[k]].outside:  # absorbed elements stay so
                    V[lists[k]].outside = stamp
            last, j = i, X.after
            while j != none:
                Y = V[j]
                same = Y.length == X.length and Y.elements == X.elements
                index = np.uint64(Y.start) + _ONE
                high = np.uint64(Y.start) + Y.length
                while same and index < high:
                    same = V[lists[index]].outside == stamp
                    index += _ONE
                if same:
                    into[j] = i
                    X.weight += Y.weight
                    Y.weight = Y.elements = Y.length = 0
                    j = Y.after
                    V[last].after = j
                else:
                    last, j = j, Y.after
            stamp += 1
            i = X.after
    return stamp


@njit(inline="always")
def _finish(
    begin: Any, end: Any, size: Any, total: Any, remain: Any, inner: Any, least: Any, lists: Array, first: Array,
    V: Array, none: Any,
) -> Any:  # fmt: skip
    """Complete degrees and relink the remaining variables of L_p; returns the end of its list and the least degree."""
    ended = begin
    for q in range(begin, end):
        v = lists[q]
        X = V[v]
        heavy = -X.weight
        if heavy <= 0:
            continue
        X.weight = heavy
        d = total if v >= inner else min(X.degree + size - heavy, remain - heavy)
        X.degree = d
        _link(v, d, first, V, none)
        least = min(least, d)
        lists[ended] = v
        ended += _ONE
    return ended, least


@njit(inline="always")
def _link(v: Any, d: Any, first: Array, V: Array, none: Any) -> None:
    V[v].after, V[v].before = first[d], none
    V[first[d]].before = v
    first[d] = v


@inner
def _gather(lists: Array, low: Any, high: Any, end: Any, first: Array, V: Array, none: Any) -> Any:
    """Append the variables of lists[low:high] not yet in the pivot's list; returns its end and the vertices added."""
    added = 0
    for q in range(low, high):
        v = lists[q]
        X = V[v]
        if X.weight > 0:
            added += X.weight
            X.weight = -X.weight
            lists[end] = v
            end += _ONE
            V[X.after].before = X.before  # unlink from its degree
            if X.before != none:
                V[X.before].after = X.after
            else:
                first[X.degree] = X.after
    return end, added


@inner
def _compact(lists: Array, free: Any, V: Array, into: Array) -> Any:
    """Compact the lists in use to the front; returns their end."""
    n = len(into)
    for v in range(n):
        if into[v] == -1 and V[v].length > 0:  # list marked by its owner; the overwritten item goes to `start`
            q = V[v].start
            V[v].start, lists[q] = lists[q], n + v
    put = read = np.uint64(0)
    while read < free:
        if lists[read] < n:
            read += _ONE
            continue
        X = V[lists[read] - np.uint32(n)]
        lists[put], X.start = X.start, put
        for k in range(_ONE, np.uint64(X.length)):
            lists[put + k] = lists[read + k]
        put += X.length
        read += X.length
    return put


@kernel
def columns(
    into: Array, step: Array, above: Array, steps: int, dense: int, key: Array, begin: Array, order: Array,
    parent: Array, counts: Array,
) -> None:  # fmt: skip
    """order ← pivots by step, each before its absorbed variables, non-pivots, hubs; `begin` holds steps + 3 zeros."""
    n = len(into)
    for v in range(n):
        top = v
        while step[top] < 0 and into[top] >= 0:
            top = into[top]
        while v != top and step[v] < 0 and into[v] != top:  # path compression
            v, into[v] = into[v], top
    for v in range(n):
        top = v
        while step[top] < 0 and into[top] >= 0:
            top = into[top]
        key[v] = step[top] if step[top] >= 0 else (steps + 1 if into[top] == -2 else steps)
        begin[key[v] + 1] += 1
    for k in range(steps + 2):
        begin[k + 1] += begin[k]
    for v in range(n):
        k = step[v]
        if k < 0:
            continue
        order[begin[k]] = v
        for j in range(begin[k], begin[k + 1]):
            parent[j], counts[j] = j + 1, begin[k + 1] - j + above[k]
        if into[v] >= 0:
            parent[begin[k + 1] - 1] = begin[step[into[v]]]
        else:
            parent[begin[k + 1] - 1] = n - dense if above[k] else -1
    for j in range(n - dense, n):
        parent[j], counts[j] = j + 1 if j + 1 < n else -1, n - j
    for k in range(steps):
        begin[k] += 1
    for v in range(n):
        if step[v] < 0:
            order[begin[key[v]]] = v
            begin[key[v]] += 1


@kernel
def unite(fill: bool, V: Array, lists: Array, nodes: Array, place: Array, into: Array, united: Array) -> None:
    """Add the lists of nodes to those of a graph numbered by `place`, without vanished items.

    Without `fill`, count into `elements`, `length` and `degree`; then fill, `before` being the end of the elements so
    far, and `after` that of the neighbours, or of an element's variables.
    """
    one = np.uint32(1)
    for k in range(len(nodes)):
        x = nodes[k]
        X, Y = V[x], into[place[x]]
        low = np.uint64(X.start)
        middle, high = low + (X.elements if X.weight else np.uint32(0)), low + X.length
        for q in range(low, middle):
            e = lists[q]
            if V[e].outside and fill:
                united[np.uint64(Y.before)] = place[e]
                Y.before += one
            elif V[e].outside:
                Y.elements += one
                Y.degree += V[e].degree - one
        for q in range(middle, high):
            u = lists[q]
            if V[u].weight and fill:
                united[np.uint64(Y.after)] = place[u]
                Y.after += one
            elif V[u].weight:
                Y.length += one
                Y.degree += np.uint32(V[u].weight)
        if not fill:
            Y.weight = X.weight
