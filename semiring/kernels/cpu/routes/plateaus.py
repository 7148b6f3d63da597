"""Predecessors source by source, on edge lists: the rule (see routes.py), or its third line.

Edges are listed by tail (`starts`, `heads`, `leaving`) and by head (`ends`, `tails`, `entering`), ascending.
"""

from __future__ import annotations

from typing import Any

from ....host.types import Scalar
from ..compile import kernel as own
from ..instructions import Array
from ..intrinsics import itemsize, kernel, load, one, part, short, times, zero
from ..kinds import Kind
from .equality import better, inexact, larger, limit, tight
from .nearest import NONE, OPEN


@kernel
def count_tight(
    kind: Kind, A: Array, D: Array, slack: Scalar, floor: Scalar, starts: Array, first: int, last: int
) -> None:
    """starts[k + 1] ← number of tight edges out of k, first ≤ k < last."""
    n = len(A)
    for k in range(first, last):
        found = 0
        for j in range(n):
            found += tight(kind, A[k, j], D[k, j], slack, floor) & (j != k)
        starts[k + 1] = found


@kernel
def list_tight(
    kind: Kind, A: Array, D: Array, slack: Scalar, floor: Scalar, starts: Array, heads: Array, leaving: Array,
    found: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Heads and weights of the tight edges; `found` is workspace of n."""
    n = len(A)
    for k in range(first, last):
        count = 0
        for j in range(n):
            found[count] = j
            count += tight(kind, A[k, j], D[k, j], slack, floor) & (j != k)
        for c in range(count):
            heads[starts[k] + c], leaving[starts[k] + c] = found[c], A[k, found[c]]


@own
def count_into(heads: Array, ends: Array) -> None:
    for j in heads:
        ends[j + 1] += 1


@kernel
def list_into(
    kind: Kind, starts: Array, heads: Array, leaving: Array, position: Array, tails: Array, entering: Array, first: int,
    last: int,
) -> None:  # fmt: skip
    """Tails and weights of the edges out of first … last − 1, by head, at position[j], which advances."""
    for k in range(first, last):
        for e in range(starts[k], starts[k + 1]):
            j = heads[e]
            tails[position[j]], entering[position[j]] = k, leaving[e]
            position[j] += 1


@part
def attained(
    kind: Kind, d: Any, w: Any, goal: Any, improving: bool, mirrored: bool, slack: Scalar, floor: Scalar
) -> bool:
    """Whether d ⊗ w is as good as the goal; unless edges may be `improving`, d must be, too."""
    if not improving and better(kind, goal, d):
        return False
    worst = limit(kind, goal, larger(kind, larger(kind, d, goal), floor), slack)
    return not better(kind, worst, times(kind, w, d) if mirrored else times(kind, d, w))


@kernel
def begin(
    kind: Kind, D: Array, P: Array, sources: Array, starts: Array, heads: Array, leaving: Array, slack: Scalar,
    floor: Scalar, chosen: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Line one of the rule for rows chosen[first:last], with sources sources[row]; other pairs stay open."""
    for c in range(first, last):
        i, d, p = sources[chosen[c]], D[chosen[c]], P[chosen[c]]
        for j in range(len(d)):
            p[j] = OPEN if d[j] != zero(kind) else NONE
        for e in range(starts[i], starts[i + 1]):
            j = heads[e]
            if p[j] == OPEN and tight(kind, leaving[e], d[j], slack, floor):
                p[j] = i
        p[i] = NONE


@part
def nearer(kind: Kind, goal: Any, count: int, tails: int, entering: int, d: int, mirrored: bool, slack: Scalar) -> int:
    """Predecessor of a vertex with `count` incoming edges by line two of the rule, or OPEN.

    `tails`, `entering` and `d` (the source's distances) are addresses; `goal` is the vertex' own distance.
    """
    found, least = OPEN, limit(kind, goal, goal, slack)
    for e in range(count):
        k, w = short(tails, e), load(kind, entering + e * itemsize(kind))
        near = load(kind, d + k * itemsize(kind))
        if w == one(kind) or not better(kind, near, goal):
            continue
        s = times(kind, w, near) if mirrored else times(kind, near, w)
        if inexact(kind):
            if better(kind, s, least):
                found, least = k, s
                if not better(kind, goal, s):
                    break
        elif s == goal:
            found = k
            break
    return found


@kernel
def near(
    kind: Kind, D: Array, P: Array, ends: Array, tails: Array, entering: Array, mirrored: bool, slack: Scalar,
    chosen: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Line two of the rule for rows chosen[first:last]."""
    for c in range(first, last):
        d, p = D[chosen[c]], P[chosen[c]]
        for j in range(len(d)):
            if p[j] == OPEN:
                e = ends[j]
                edges = tails.ctypes.data + 4 * e, entering.ctypes.data + e * itemsize(kind)
                p[j] = nearer(kind, d[j], ends[j + 1] - e, edges[0], edges[1], d.ctypes.data, mirrored, slack)


@kernel
def levels(
    kind: Kind, D: Array, P: Array, starts: Array, heads: Array, leaving: Array, ends: Array, tails: Array,
    entering: Array, improving: bool, mirrored: bool, slack: Scalar, floor: Scalar, chosen: Array, failed: Array,
    settled: Array, todo: Array, front: Array, reached: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Line three of the rule for rows chosen[first:last]; failed[row] ← whether pairs stay open.

    Each level expands either the last settled vertices or, backwards, the open ones, whichever have fewer edges
    (Beamer, Asanović, Patterson 2012, "Direction-optimizing breadth-first search").
    """
    n = D.shape[1]
    for c in range(first, last):
        d, p = D[chosen[c]], P[chosen[c]]
        waiting = fronts = out = into = 0
        for j in range(n):
            settled[j] = p[j] >= 0
            if p[j] == OPEN:
                todo[waiting] = j
                waiting += 1
                into += ends[j + 1] - ends[j]
            elif p[j] >= 0:
                front[fronts] = j
                fronts += 1
                out += starts[j + 1] - starts[j]
        listed = waiting  # some may have been settled since
        while waiting and fronts:
            found = 0
            if 8 * out < into:
                for f in range(fronts):
                    k = front[f]
                    for e in range(starts[k], starts[k + 1]):
                        j = heads[e]
                        if settled[j] or not (p[j] == OPEN or p[j] > k):
                            continue
                        if attained(kind, d[k], leaving[e], d[j], improving, mirrored, slack, floor):
                            if p[j] == OPEN:
                                reached[found] = j
                                found += 1
                            p[j] = k
            else:
                still = 0
                for t in range(listed):
                    j = todo[t]
                    if settled[j]:
                        continue
                    todo[still] = j
                    still += 1
                    for e in range(ends[j], ends[j + 1]):
                        k = tails[e]
                        if settled[k] and attained(kind, d[k], entering[e], d[j], improving, mirrored, slack, floor):
                            p[j] = k
                            reached[found] = j
                            found += 1
                            break
                listed = still
            out = 0
            for f in range(found):
                j = reached[f]
                settled[j] = True
                out += starts[j + 1] - starts[j]
                into -= ends[j + 1] - ends[j]
            front, reached, fronts = reached, front, found
            waiting -= found
        failed[chosen[c]] = waiting > 0
