"""Elimination that counts best walks, and its adjoint passes: the basis of sums along best paths.

Over pairs (length, count) with (a, p) ⊕ (b, q) = the one of lesser length, counts added on ties, and (a, p) ⊗ (b, q) =
(a + b, p q), every walk of least length is counted once, as elimination meets each walk once. A quantity X on which Σ
demand · distance depends has G(X) = flow through X / number of walks of X; if X ⊕= P ⊗ Q, and P ⊗ Q is as long as X,
the adjoint (Griewank and Walther 2008, section 3) is

    G(P) += number(Q) G(X)        G(Q) += number(P) G(X),

Brandes' recursion for every step of elimination, climb and sweep. No cycle may have length 0.

Here are those of elimination, in float64, in which lengths must be exact. F(i, j), for i or j in C, is the length of
walks between the two through vertices eliminated before both.

A best path from s to t is one from t to s reversed if weights are symmetric. Then each pair is swept only from the
source eliminated first, whose sweep leaves out all columns before its own; the sum of both directions of an arc is its
flow either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compile import kernel as own
from ..instructions import Array
from ..intrinsics import part

if TYPE_CHECKING:
    from ....sparse.structure import Arcs, Structure

#: Counts from which reciprocals are no longer normal numbers.
MANY = 2.0**1000
HINT = "Add the sums up by rows of distances, which take less."


@own
def eliminate(
    start_at: int, stop_at: int, slack: float, first: Array, begin: Array, local: Array, child: Array, sibling: Array,
    start: Array, arc_row: Array, arc_col: Array, weights: Array, update: Array, factor: Array, waiting: Array,
    counted: Array, front: Array, counts: Array, lower: Array, lower_counts: Array, upper: Array, upper_counts: Array,
) -> int:  # fmt: skip
    """F of supernodes start_at … stop_at − 1; returns 1 if a cycle has length 0.

    Column c of supernode s, and its row, begin at factor[s] + c (m − 1) − c (c − 1) / 2, m = w + r. Lengths are equal
    up to a factor of 1 + slack. waiting and counted hold updates, r × r at update[s], front and counts m × m.
    """
    for s in range(start_at, stop_at):
        w = first[s + 1] - first[s]
        r = begin[s + 1] - begin[s]
        m = w + r
        for x in range(m * m):
            front[x], counts[x] = np.inf, 0.0
        for a in range(start[s], start[s + 1]):
            x = np.int64(arc_row[a]) * m + arc_col[a]
            if weights[a] < front[x]:
                front[x], counts[x] = weights[a], 1.0
        c = child[s]
        while c >= 0:
            low, high = begin[c], begin[c + 1] - begin[c]
            for i in range(high):
                line, source = np.int64(local[low + i]) * m, update[c] + np.int64(i) * high
                for j in range(high):
                    t, x = waiting[source + j], line + local[low + j]
                    counts[x] = met(front[x], counts[x], t, counted[source + j], slack)
                    front[x] = min(front[x], t)
            c = sibling[c]
        to = factor[s]
        for c in range(w):
            pivot = np.int64(c) * m
            for i in range(c + 1, m):
                lower[to + i - c - 1], lower_counts[to + i - c - 1] = front[i * m + c], counts[i * m + c]
                upper[to + i - c - 1], upper_counts[to + i - c - 1] = front[pivot + i], counts[pivot + i]
            to += m - c - 1
            for i in range(c + 1, m):
                a, p, line = front[i * m + c], counts[i * m + c], np.int64(i) * m
                if a < np.inf:
                    for j in range(c + 1, m):
                        t, b = a + front[pivot + j], front[line + j]
                        counts[line + j] = met(b, counts[line + j], t, p * counts[pivot + j], slack)
                        front[line + j] = t if t < b else b
                    if front[line + i] <= 0.0:
                        return 1
                    front[line + i], counts[line + i] = np.inf, 0.0
        for i in range(r):
            line = (w + np.int64(i)) * m
            for j in range(r):
                waiting[update[s] + np.int64(i) * r + j] = front[line + w + j]
                counted[update[s] + np.int64(i) * r + j] = counts[line + w + j]
    return 0


@part
def met(a: float, p: float, b: float, q: float, slack: float) -> float:
    """Number of walks of the lesser of two lengths with counts p and q; 0 for ∞."""
    scale = 1.0 + slack
    return (p if a <= b * scale else 0.0) + (q if b <= a * scale else 0.0)


@own
def inherited(s: int, first: Array, begin: Array, local: Array, parent: Array, offset: Array, X: Array) -> None:
    """Rows and columns R of the front of supernode s ← those of its parent."""
    p, w, low = parent[s], first[s + 1] - first[s], begin[s]
    r, above = begin[s + 1] - low, first[p + 1] - first[p] + begin[p + 1] - begin[p]
    for i in range(r):
        line, source = offset[s] + (w + np.int64(i)) * (w + r) + w, offset[p] + np.int64(local[low + i]) * above
        for j in range(r):
            X[line + j] = X[source + local[low + j]]


@own
def kept(
    start_at: int, stop_at: int, slack: float, first: Array, begin: Array, slot: Array, base: Array, local: Array,
    parent: Array, factor: Array, offset: Array, lower: Array, upper: Array, D: Array, starts: Array, slots: Array,
    entries: Array,
) -> float:  # fmt: skip
    """Entries of F below the diagonal that are distances, which alone best walks may take, column by column.

    For supernodes stop_at − 1 … start_at. Column c has entries[starts[c] : starts[c + 1]] of F, filled from the end, in
    rows `slots` of the path from the root. D holds fronts of distances, as in `spread`; returns the longest. Entries
    longer than distances are dropped, as in the perfect customization of Dibbelt, Strasser and Wagner 2016,
    "Customizable contraction hierarchies".
    """
    longest = 0.0
    for s in range(stop_at - 1, start_at - 1, -1):
        w, low = first[s + 1] - first[s], begin[s]
        m, here = w + begin[s + 1] - low, offset[s]
        if m > w:
            inherited(s, first, begin, local, parent, offset, D)
        for c in range(w - 1, -1, -1):
            pivot, at, place = here + np.int64(c) * m, column(factor[s], m, c) - c - 1, starts[first[s] + c + 1]
            D[pivot + c] = 0.0
            for j in range(c + 1, m):
                D[pivot + j] = upper[at + j]
            for i in range(m - 1, c, -1):
                line, a, b = here + np.int64(i) * m, upper[at + i], np.inf
                for j in range(c + 1, m):
                    D[pivot + j] = min(D[pivot + j], a + D[line + j])
                    b = min(b, D[line + j] + lower[at + j])
                D[line + c] = b
                longest = max(longest, b if b < np.inf else 0.0)
                if lower[at + i] <= b * (1.0 + slack) and b < np.inf:
                    place -= 1
                    slots[place], entries[place] = base[s] + i if i < w else slot[low + i - w], at + i
            for j in range(c + 1, m):
                longest = max(longest, D[pivot + j] if D[pivot + j] < np.inf else 0.0)
            starts[first[s] + c] = place
    return longest


@own
def spread(
    start_at: int, stop_at: int, first: Array, begin: Array, local: Array, parent: Array, start: Array, arc_row: Array,
    arc_col: Array, weights: Array, factor: Array, offset: Array, lower: Array, lower_counts: Array, lower_sums: Array,
    upper: Array, upper_counts: Array, upper_sums: Array, F: Array, G: Array, along: Array,
) -> None:  # fmt: skip
    """along[a] ← flow over arc a of supernodes stop_at − 1 … start_at, from G of F.

    F and G hold a front m × m at offset[s], after those of the ancestors of s.
    """
    for s in range(stop_at - 1, start_at - 1, -1):
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        m, here = w + r, offset[s]
        if r:
            for X in (F, G):
                inherited(s, first, begin, local, parent, offset, X)
        at = factor[s]
        for c in range(w):
            F[here + c * (m + 1)], G[here + c * (m + 1)] = np.inf, 0.0
            for i in range(c + 1, m):
                x, y = here + np.int64(i) * m + c, here + np.int64(c) * m + i
                F[x], G[x] = lower[at + i - c - 1], lower_sums[at + i - c - 1]
                F[y], G[y] = upper[at + i - c - 1], upper_sums[at + i - c - 1]
            at += m - c - 1
        for c in range(w - 1, -1, -1):
            pivot, at = here + np.int64(c) * m, column(factor[s], m, c) - c - 1
            for i in range(c + 1, m):
                line = here + np.int64(i) * m
                a, p, total = F[line + c], lower_counts[at + i], 0.0
                if a < np.inf:
                    for j in range(c + 1, m):
                        g = G[line + j] if a + F[pivot + j] == F[line + j] else 0.0
                        total += upper_counts[at + j] * g
                        G[pivot + j] += p * g
                    G[line + c] += total
        for a in range(start[s], start[s + 1]):
            x = here + np.int64(arc_row[a]) * m + arc_col[a]
            if weights[a] == F[x]:
                along[a] = G[x]


@own
def column(begin: int, m: int, c: int) -> int:
    """Offset of column c of F."""
    return begin + c * (m - 1) - c * (c - 1) // 2


@own
def below(parent: Array, size: Array, offset: Array) -> None:
    """offset[s] ← offset of an item of size[s], after those of the ancestors of s."""
    for s in range(len(parent) - 1, -1, -1):
        p = parent[s]
        offset[s] = offset[p] + size[p] if p >= 0 else 0


def mutual(sources: np.ndarray, asked: np.ndarray, times: np.ndarray) -> bool:
    """Whether all vertices are sources with symmetric demand times[k] · asked[t], s = sources[k]."""
    n = len(asked)
    if not n or len(sources) != n:
        return False
    ascending = bool((sources[1:] > sources[:-1]).all())  # then a permutation
    if not ascending and np.bincount(sources, minlength=n).max() > 1:
        return False
    return bool((asked[sources] * times[0] == asked[sources[0]] * times).all())


def unreached(S: Structure, arcs: Arcs) -> np.ndarray:
    """int32 (n,): number of vertices that do not reach each column, if all arcs are bidirectional."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    of = np.repeat(np.arange(len(S)), np.diff(arcs.begin))
    wide, ends = np.diff(S.first)[of], []
    for place in (arcs.row, arcs.col):
        column, below = S.first[of] + place, place >= wide  # a front has its own columns, then its rows
        column[below] = S.rows[S.begin[of[below]] + (place - wide)[below]]
        ends.append(column)
    A = coo_array((np.ones(len(of), bool), tuple(ends)), shape=(S.n, S.n))
    _, label = connected_components(A, directed=False)
    return (S.n - np.bincount(label)[label]).astype(np.int32)
