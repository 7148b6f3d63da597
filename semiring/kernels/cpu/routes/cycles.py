"""Negative cycles: Bellman–Ford–Moore on a dense matrix, with Tarjan's subtree disassembly.

A label h(v) is the length of the best walk found to v from a source tied to every vertex by an edge of length 0. The
tree of those walks is kept in preorder (`before`, `after`, `children`). If the edge (u, v) shortens h(v), the subtree
below v is out of date and leaves the tree; if it contains u, the edge closes a negative cycle (Tarjan 1981; Cherkassky
and Goldberg 1999, "Negative-cycle detection algorithms", section 4).

Labels are unevaluated sums of two floats (Dekker 1971), 106 bits: exact for 64-bit integers, and exact enough for
floats to tell a cycle of rounding errors from a true one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....host.types import Scalar
from ..compile import inner, kernel
from ..instructions import Array

#: Entries per call, so that Ctrl-C is handled.
_SLICE = 1 << 25
#: Edges of a row tested together, in vectors.
_TOGETHER = 128
#: Relative bound on the rounding of a sum of two floats.
_DOUBT = 2.0**-50
#: Greatest ratio of negative lengths that are relaxed together.
_SCALE = 2.0**-40
#: Interpretations of an entry.
_FLOAT, _INTEGER, _LOGARITHM = 0, 1, 2
#: Relative bound on the rounding of a label.
_LAST = 2.0**-100
_OUT = -1  # marks `before` of a vertex outside the tree


def relax(
    A: np.ndarray, absent: Any, sign: float, logarithmic: bool, base: float, rate: float
) -> tuple[list[int], np.ndarray]:
    """A negative cycle of the lengths ℓ + base + rate·|ℓ|, else [] and potentials: see `semiring.dense.cycles.search`.

    If negative edges differ widely in size, small ones are relaxed first, alone: next to sums of large ones, 106 bits
    would not show a cycle of small ones.
    """
    n = len(A)
    h = np.zeros((2, n))
    tree = np.empty((4, n + 1), np.int64)
    waiting, state = np.empty(n, np.bool_), np.empty(3, np.int64)
    rows = max(1, _SLICE // max(n, 1))
    form = _LOGARITHM if logarithmic else _FLOAT if SCALARS[A.dtype].floating else _INTEGER
    for floor in _floors(A, absent, sign) if form == _FLOAT else (-np.inf,):
        h[...], waiting[...], state[...] = 0.0, True, (0, 1, n)
        _plant(tree)
        while state[2]:
            closing = _relax(A, absent, sign, form, base, rate, floor, h, tree, waiting, state, rows)
            if closing >= 0:
                return _trace(tree[0], closing), h
    return [], h


def _floors(A: np.ndarray, absent: Any, sign: float) -> list[float]:
    """Lengths below which edges are left out, round by round; the last is −∞."""
    longest, shortest = _negative(A, absent, sign)
    floors = [-np.inf]
    while longest * _SCALE > shortest:
        longest *= _SCALE
        floors.insert(0, -longest)
    return floors


@kernel
def _negative(A: Any, absent: Scalar, sign: float) -> Any:
    """Largest and smallest absolute value of negative lengths; 0 and ∞ if there are none."""
    largest, smallest = 0.0, np.inf
    for row in A:
        for entry in row:
            if entry != absent and sign * entry < 0.0:
                x = abs(np.float64(entry))
                largest, smallest = max(largest, x), min(smallest, x)
    return largest, smallest


def _trace(parent: np.ndarray, last: int) -> list[int]:
    cycle, v = [last], int(parent[last])
    while v != last:
        cycle.append(v)
        v = int(parent[v])
    return cycle[::-1]


@kernel
def _plant(tree: Any) -> None:
    """Make every vertex a child of the root, n."""
    parent, before, after, children = tree
    n = len(parent) - 1
    for v in range(n + 1):
        parent[v], before[v], after[v], children[v] = n, v - 1, v + 1, 0
    before[0], after[n - 1], before[n], after[n], children[n] = n, n, n - 1, 0, n


@inner
def _length(x: Any, sign: float, form: int) -> Any:
    """Length of an entry in two floats: sign · x, or sign · log x."""
    high, low = np.float64(x), 0.0
    if form == _LOGARITHM:
        high = np.log(high)
    elif form == _INTEGER:
        if high >= 2.0**63:  # rounded up beyond int64
            low = np.float64(np.int64(x) - np.int64(2**63 - 1)) - 1.0
        else:
            low = np.float64(np.int64(x) - np.int64(high))
    return sign * high, sign * low


@inner
def _add(high: float, low: float, x: float, y: float) -> Any:
    """(high + low) + (x + y), again as a float and its remainder."""
    s = high + x
    t = s - high
    error = (high - (s - t)) + (x - t) + (low + y)
    total = s + error
    return total, error - (total - s)


@kernel
def _relax(
    A: Array, absent: Scalar, sign: float, form: int, base: float, rate: float, floor: float, h: Any, tree: Array,
    waiting: Array, state: Array, rows: int,
) -> int:  # fmt: skip
    """Relax the edges out of `rows` waiting vertices; returns the last vertex of a negative cycle, or −1.

    Sweeps alternate between ascending and descending order, so that a graph whose edges all point one way takes two
    rounds (Yen 1970). state: next vertex, step, number of waiting vertices.
    """
    n = len(A)
    high, low = h
    before = tree[1]
    while rows > 0 and state[2] > 0:
        u = state[0]
        state[0] += state[1]
        if state[0] < 0 or state[0] == n:
            state[0], state[1] = u, -state[1]
        if not waiting[u]:
            continue
        rows -= 1
        waiting[u] = False
        state[2] -= 1
        if before[u] == _OUT:  # an ancestor changed; u will be relaxed again
            continue
        row, least = A[u], high[u] - _DOUBT * abs(high[u]) + base
        for start in range(0, n, _TOGETHER):
            stop = min(start + _TOGETHER, n)
            if not _promising(row[start:stop], high[start:stop], least, sign, form, rate - _DOUBT):
                continue
            for v in range(start, stop):
                if row[v] == absent:
                    continue
                x, y = _length(row[v], sign, form)
                if x < floor:
                    continue
                x, y = _add(x, y, base + rate * abs(x), 0.0)
                x, y = _add(high[u], low[u], x, y)
                shorter = x < high[v] or (x == high[v] and y < low[v])
                # A vertex outside the tree returns with its parent, even if the parent's gain is lost in rounding.
                if shorter or (before[v] == _OUT and (x - high[v]) + (y - low[v]) <= _LAST * abs(high[v])):
                    if not _hang(tree, u, v):
                        return u
                    if shorter:
                        high[v], low[v] = x, y
                    if not waiting[v]:
                        waiting[v] = True
                        state[2] += 1
    return -1


@inner
def _promising(row: Array, high: Array, least: float, sign: float, form: int, rate: float) -> bool:
    """Whether any of these edges may shorten a label: a vectorised test in plain floats."""
    found = 0
    if form == _LOGARITHM:
        for v in range(len(row)):
            x = np.log(np.float64(row[v]))
            found += least + (sign * x + rate * abs(x)) < high[v]
    else:
        for v in range(len(row)):
            x = np.float64(row[v])
            found += least + (sign * x + rate * abs(x)) < high[v]
    return found > 0


@inner
def _hang(tree: Array, u: int, v: int) -> bool:
    """Make v a child of u and remove v's subtree; False, with u as v's parent, if the subtree contains u."""
    parent, before, after, children = tree
    parent_was, parent[v] = parent[v], u
    if before[v] != _OUT:
        previous, y, open_ends = before[v], v, 0
        while open_ends >= 0:  # in preorder a subtree ends once all children have been seen
            if y == u:
                return False
            before[y] = _OUT
            open_ends += children[y] - 1
            children[y] = 0
            y = after[y]
        after[previous], before[y] = y, previous
        children[parent_was] -= 1
    children[u] += 1
    following = after[u]
    after[u], before[v], after[v], before[following] = v, u, following, v
    return True
