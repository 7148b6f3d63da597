"""numba: approximate minimum degree, on the quotient graph of Amestoy, Davis and Duff 1996.

A variable that is eliminated becomes an *element*, the clique of its neighbours, held as one list instead of its edges;
a variable's neighbours are those in the lists of its elements and those it still has by edges. Variables of the same
neighbours are one *supervariable*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .compile import kernel


@kernel
def minimum_degree(start: Any, heads: Any, factor: int) -> Any:
    n = len(start) - 1
    size = len(heads)
    room = size + size // 5 + n + 1
    lists = np.empty(room, np.int32)  # of variables: their elements, then their neighbours; of elements: variables
    for q in range(size):  # a slice would take seconds to compile, for its error
        lists[q] = heads[q]
    at = start[:n].copy()  # where a list begins
    length = np.empty(n, np.int32)
    elements = np.zeros(n, np.int32)  # how many of a variable's list are elements
    weight = np.ones(n, np.int32)  # vertices of a supervariable; 0 once eliminated or absorbed; < 0 while in the pivot
    degree = np.empty(n, np.int32)  # of a variable: bound on its external degree; of an element: its size
    outside = np.ones(n, np.int64)  # stamp + |L_e \ L_pivot| of elements; 0 of absorbed ones
    into = np.full(n, -1, np.int32)  # what a variable was absorbed by
    step = np.full(n, -1, np.int32)  # when it was a pivot
    first = np.full(n + 1, -1, np.int32)  # variables of a degree, doubly linked
    after = np.full(n, -1, np.int32)
    before = np.full(n, -1, np.int32)
    bucket = np.full(n + 1, -1, np.int32)  # variables of a hash value
    chain = np.full(n, -1, np.int32)
    hashes = np.zeros(n, np.int32)
    limit = max(16.0, factor * np.sqrt(n))
    free, done, ended, stamp, steps, hubs = size, 0, 0, np.int64(2), 0, 0
    for v in range(n):
        length[v] = start[v + 1] - start[v]
        degree[v] = length[v]
    for v in range(n):
        if length[v] > limit:
            weight[v], into[v] = 0, -2
            hubs += 1
    for v in range(n - 1, -1, -1):
        if weight[v]:
            d = degree[v]
            after[v] = first[d]
            if first[d] >= 0:
                before[first[d]] = v
            first[d] = v
    done = hubs
    least = 0
    while done < n:
        while first[least] < 0:
            least += 1
        p = first[least]
        remain = n - done
        if 2 * least >= remain and remain > 8:
            break
        first[least] = after[p]
        if after[p] >= 0:
            before[after[p]] = -1
        own = weight[p]
        done += own
        step[p] = steps
        steps += 1
        # The pivot's list: L_p = (A_p ∪ ⋃ L_e) \ p, in place where it has no elements, else behind all lists.
        count_elements = elements[p]
        size_p = 0
        if count_elements > 0 and free + least + 1 > room:
            free = _compact(lists, free, at, length, into)
        weight[p] = -own
        if count_elements == 0:
            begin = at[p]
            end, size_p = _gather(lists, begin, begin + length[p], begin, weight, degree, first, after, before)
        else:
            begin = free
            end = begin
            for k in range(count_elements + 1):
                if k < count_elements:
                    e = lists[at[p] + k]
                    low, high = at[e], at[e] + length[e]
                else:
                    e = p
                    low, high = at[p] + count_elements, at[p] + length[p]
                end, added = _gather(lists, low, high, end, weight, degree, first, after, before)
                size_p += added
                if e != p:
                    into[e], outside[e] = p, 0  # element e is absorbed by p
            free = end
        at[p], length[p], degree[p] = begin, end - begin, size_p
        outside[p] = 0  # not to be counted as an element of its own variables
        # |L_e \ L_p| for every element e that touches L_p.
        for q in range(begin, end):
            v = lists[q]
            heavy = -weight[v]
            for k in range(at[v], at[v] + elements[v]):
                e = lists[k]
                if outside[e] >= stamp:
                    outside[e] -= heavy
                elif outside[e] != 0:
                    outside[e] = degree[e] + stamp - heavy
        # New lists and degrees: d_v ≤ |A_v \ v| + |L_p \ v| + Σ |L_e \ L_p|.
        for q in range(begin, end):
            v = lists[q]
            low = at[v]
            put = low
            sum_degree, code = 0, np.int64(0)
            for k in range(low, low + elements[v]):
                e = lists[k]
                if outside[e] != 0:
                    rest = outside[e] - stamp
                    if rest > 0:
                        sum_degree += rest
                        lists[put] = e
                        put += 1
                        code += e
                    else:  # L_e ⊂ L_p
                        into[e], outside[e] = p, 0
            kept = put - low
            moved = put
            for k in range(low + elements[v], low + length[v]):
                u = lists[k]
                if weight[u] > 0:
                    sum_degree += weight[u]
                    lists[put] = u
                    put += 1
                    code += u
            if sum_degree == 0:  # its neighbours are in L_p, all of them: it goes with p
                into[v] = p
                heavy = -weight[v]
                size_p -= heavy
                own += heavy
                done += heavy
                weight[v], elements[v], length[v] = 0, 0, 0
                continue
            degree[v] = min(degree[v], sum_degree)
            # p becomes the first of its elements; there is room, as p or an absorbed element was in the list.
            lists[put] = lists[moved]
            lists[moved] = lists[low]
            lists[low] = p
            put += 1
            elements[v], length[v] = kept + 1, put - low
            key = (code + p) % n
            hashes[v] = key
            chain[v] = bucket[key]
            bucket[key] = v
        degree[p] = size_p
        stamp += n + 1
        # Supervariables: of the same lists.
        for q in range(begin, end):
            v = lists[q]
            if weight[v] == 0:
                continue
            i = bucket[hashes[v]]
            bucket[hashes[v]] = -1
            while i >= 0 and chain[i] >= 0:
                for k in range(at[i] + 1, at[i] + length[i]):
                    outside[lists[k]] = stamp
                last, j = i, chain[i]
                while j >= 0:
                    same = length[j] == length[i] and elements[j] == elements[i]
                    k = at[j] + 1
                    while same and k < at[j] + length[j]:
                        same = outside[lists[k]] == stamp
                        k += 1
                    if same:
                        into[j] = i
                        weight[i] += weight[j]
                        weight[j], elements[j], length[j] = 0, 0, 0
                        j = chain[j]
                        chain[last] = j
                    else:
                        last, j = j, chain[j]
                stamp += 1
                i = chain[i]
        ended = begin
        remain = n - done
        for q in range(begin, end):
            v = lists[q]
            heavy = -weight[v]
            if heavy <= 0:
                continue
            weight[v] = heavy
            d = min(degree[v] + size_p - heavy, remain - heavy)
            degree[v] = d
            after[v], before[v] = first[d], -1
            if first[d] >= 0:
                before[first[d]] = v
            first[d] = v
            least = min(least, d)
            lists[ended] = v
            ended += 1
        weight[p] = 0
        length[p] = ended - begin
        outside[p] = 1 if ended > begin else 0
        if count_elements:
            free = ended
    return _sequence(into, step, steps), (n - done + hubs if done < n else 0)


@njit(inline="always")
def _unlink(v: Any, d: Any, first: Any, after: Any, before: Any) -> None:
    """Take v out of the variables of degree d."""
    if after[v] >= 0:
        before[after[v]] = before[v]
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        first[d] = after[v]
    before[v] = -1


@njit
def _gather(
    lists: Any, low: Any, high: Any, end: Any, weight: Any, degree: Any, first: Any, after: Any, before: Any
) -> Any:
    """Append the variables of lists[low:high] that are not in the pivot's list yet; its end, and the vertices added."""
    added = 0
    for q in range(low, high):
        v = lists[q]
        if weight[v] > 0:
            added += weight[v]
            weight[v] = -weight[v]
            lists[end] = v
            end += 1
            _unlink(v, degree[v], first, after, before)
    return end, added


@kernel
def _compact(lists: Any, free: Any, at: Any, length: Any, into: Any) -> Any:
    """Move the lists that are still in use to the front; where they end then."""
    for v in range(len(at)):
        if into[v] == -1 and length[v] > 0:  # its first item is kept in `at`, and its owner in the list
            q = at[v]
            at[v] = lists[q]
            lists[q] = -v - 1
    put = read = 0
    while read < free:
        v = -lists[read] - 1
        if v < 0:
            read += 1
            continue
        lists[put] = at[v]
        at[v] = put
        for k in range(1, length[v]):
            lists[put + k] = lists[read + k]
        put += length[v]
        read += length[v]
    return put


@kernel
def _sequence(into: Any, step: Any, steps: int) -> Any:
    """Pivots by step, each with what it absorbed; then what was no pivot's; then the hubs."""
    n = len(into)
    key = np.empty(n, np.int32)
    count = np.zeros(steps + 3, np.int64)
    for v in range(n):
        top = v
        while step[top] < 0 and into[top] >= 0:
            top = into[top]
        while v != top and step[v] < 0 and into[v] != top:  # shorten the way for those who come later
            v, into[v] = into[v], top
    for v in range(n):
        top = v
        while step[top] < 0 and into[top] >= 0:
            top = into[top]
        key[v] = step[top] if step[top] >= 0 else (steps + 1 if into[top] == -2 else steps)
        count[key[v] + 1] += 1
    for k in range(steps + 2):
        count[k + 1] += count[k]
    out = np.empty(n, np.int32)
    for v in range(n):
        out[count[key[v]]] = v
        count[key[v]] += 1
    return out
