"""Kernels of turns: arcs by their ends, equal rows of costs, arcs of copies (apsp/io/expansion.py)."""

from __future__ import annotations

import math

import numpy as np

from ..compile import inner, kernel
from ..instructions import Array

#: Multiplier of Fibonacci hashing, 2⁶⁴ / φ (Knuth, volume 3, section 6.4).
FACTOR = np.uint64(0x9E3779B97F4A7C15)


@kernel
def find(starts: Array, heads: Array, sources: Array, targets: Array, found: Array, count: Array) -> int:
    """The count[k] arcs from sources[k] to targets[k] begin at found[k], in CSR of ascending heads; returns the first
    k without any, or their number.
    """
    for k in range(len(found)):
        if k > 0 and sources[k] == sources[k - 1] and targets[k] == targets[k - 1]:
            found[k], count[k] = found[k - 1], count[k - 1]
            continue
        low, end, target = starts[sources[k]], starts[sources[k] + 1], targets[k]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if heads[middle] < target:
                low = middle + 1
            else:
                high = middle
        while high < end and heads[high] == target:
            high += 1
        if low == high:
            return k
        found[k], count[k] = low, high - low
    return len(found)


@kernel
def once(pairs: Array, table: Array) -> bool:
    """Whether no pair of arcs comes twice; `table`: a power of two of zeros, twice as many as pairs or more."""
    last = np.uint64(len(table) - 1)
    for k in range(0, len(pairs), 2):
        code = np.uint64(pairs[k]) << np.uint64(32) ^ np.uint64(pairs[k + 1])
        slot = (code ^ code >> np.uint64(29)) * FACTOR >> np.uint64(32) & last
        while table[slot] > 0:
            other = table[slot] - 1
            if pairs[other] == pairs[k] and pairs[other + 1] == pairs[k + 1]:
                return False
            slot = (slot + np.uint64(1)) & last
        table[slot] = k + 1
    return True


@inner
def common(x: Array, a: int, b: int, width: int) -> int:
    """Length of the common prefix of two rows."""
    k = 0
    while k < width and x[a + k] == x[b + k]:
        k += 1
    return k


@kernel
def group(starts: Array, begin: Array, x: Array, rows: Array, groups: Array, shown: Array, told: Array) -> int:
    """groups[r] ← number of a row, the same for equal rows of a vertex; returns how many numbers there are.

    Vertex v has the rows starts[v] … starts[v + 1], of entries x[begin[r] : begin[r + 1]], as many in each.
    shown, told ← by number, the first row, and how many entries tell it from others of the vertex.
    rows (0, 1, …) ← in the order of their entries, by Shell's sort.
    """
    count = 0
    for v in range(len(starts) - 1):
        low, high = starts[v], starts[v + 1]
        width = begin[low + 1] - begin[low] if low < high else 0
        gap = high - low
        while gap > 1:
            gap = max(1, gap * 5 // 11)
            for i in range(low + gap, high):
                r, j = rows[i], i
                while j >= low + gap:
                    q = rows[j - gap]
                    k = common(x, begin[q], begin[r], width)
                    if q < r if k == width else x[begin[q] + k] < x[begin[r] + k]:
                        break
                    rows[j] = q
                    j -= gap
                rows[j] = r
        before = 0
        for i in range(low, high):
            r = rows[i]
            after = common(x, begin[r], begin[rows[i + 1]], width) if i + 1 < high else 0
            if i == low or before < width:
                shown[count], told[count] = r, min(width, 1 + max(before, after))
                count += 1
            groups[r], before = count - 1, after
    return count


@kernel
def join(
    tails: Array, entered: Array, edges: Array, split: Array, rows: Array, owner: Array, goal: Array, begin: Array,
    out: Array, then: Array, cost: Array, ends: Array, edge: Array, costs: Array,
) -> int:  # fmt: skip
    """List the arcs out of vertices that are not split, out of the copies of rows, and into their goals; how many."""
    p = 0
    for e in range(len(tails)):
        if not split[tails[e]]:
            ends[0, p], ends[1, p], edge[p], costs[p] = tails[e], entered[e], edges[e], 0.0
            p += 1
    for k in range(len(rows)):
        for q in range(begin[rows[k]], begin[rows[k] + 1]):
            if cost[q] < math.inf:
                ends[0, p], ends[1, p], edge[p], costs[p] = owner[k], entered[then[q]], edges[out[q]], cost[q]
                p += 1
    for k in range(len(rows)):
        ends[0, p], ends[1, p], edge[p], costs[p] = owner[k], goal[k], -1, 0.0
        p += 1
    return p
