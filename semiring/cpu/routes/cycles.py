"""numba: Bellman–Ford–Moore on a dense matrix, with Tarjan's subtree disassembly.

A label h(v) is the length of the best walk found to v from a source that is tied to every vertex by an edge of length
0. The tree of those walks is in preorder (`before`, `after`, `children`). Where the edge (u, v) shortens h(v), all
that hangs below v is out of date and leaves the tree; if u is among it, the edge closes a cycle of negative length
(Tarjan 1981; Cherkassky and Goldberg 1999, "Negative-cycle detection algorithms", section 4).

Labels are unevaluated sums of two floats (Dekker 1971), 106 bits: exact for integers of 64 bits, and for floats as
exact as need be to tell a cycle of rounding from a true one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inner, kernel

#: Entries looked at between two looks at Ctrl-C.
_SLICE = 1 << 25
#: Edges of a row that are tried together, in vectors.
_TOGETHER = 128
#: More than what rounding takes from a sum of two floats, relative to them.
_DOUBT = 2.0**-50
#: Negative lengths of sizes further apart than this are not met together.
_SCALE = 2.0**-40
#: What an entry is to be taken for.
_FLOAT, _INTEGER, _LOGARITHM = 0, 1, 2
#: More than the rounding of a label, relative to it.
_LAST = 2.0**-100
_OUT = -1  # of the tree


def relax(
    A: np.ndarray, absent: Any, sign: float, logarithmic: bool, base: float, rate: float
) -> tuple[list[int], np.ndarray]:
    """A negative cycle of the lengths ℓ + base + rate·|ℓ|, or none and potentials: see `semiring.cycles.search`.

    Where negative edges differ very much in size, small ones are met first without the large ones: next to sums of
    those, 106 bits would not show a cycle of small ones.
    """
    n = len(A)
    h = np.zeros((2, n))
    tree = np.empty((4, n + 1), np.int64)
    waiting, state = np.empty(n, np.bool_), np.empty(3, np.int64)
    rows = max(1, _SLICE // max(n, 1))
    form = _LOGARITHM if logarithmic else _FLOAT if A.dtype.kind == "f" else _INTEGER
    for floor in _floors(A, absent, sign) if form == _FLOAT else (-np.inf,):
        h[...], waiting[...], state[...] = 0.0, True, (0, 1, n)
        _plant(tree)
        while state[2]:
            closing = _relax(A, absent, sign, form, base, rate, floor, h, tree, waiting, state, rows)
            if closing >= 0:
                return _trace(tree[0], closing), h
    return [], h


def _floors(A: np.ndarray, absent: Any, sign: float) -> list[float]:
    """Lengths below which edges are left out, one after the other: the last one leaves out none."""
    longest, shortest = _negative(A, absent, sign)
    floors = [-np.inf]
    while longest * _SCALE > shortest:
        longest *= _SCALE
        floors.insert(0, -longest)
    return floors


@kernel
def _negative(A: Any, absent: Any, sign: float) -> Any:
    """The largest and the smallest absolute value of the negative lengths; 0 and ∞ if there are none."""
    largest, smallest = 0.0, np.inf
    for row in A:
        for entry in row:
            if entry != absent and sign * entry < 0.0:
                x = abs(np.float64(entry))
                largest, smallest = max(largest, x), min(smallest, x)
    return largest, smallest


def _trace(parent: np.ndarray, last: int) -> list[int]:
    """The cycle that ends in `last`, whose parents lead back to itself."""
    cycle, v = [last], int(parent[last])
    while v != last:
        cycle.append(v)
        v = int(parent[v])
    return cycle[::-1]


@kernel
def _plant(tree: Any) -> None:
    """Every vertex is a child of the root, n."""
    parent, before, after, children = tree
    n = len(parent) - 1
    for v in range(n + 1):
        parent[v], before[v], after[v], children[v] = n, v - 1, v + 1, 0
    before[0], after[n - 1], before[n], after[n], children[n] = n, n, n - 1, 0, n


@inner
def _length(x: Any, sign: float, form: int) -> Any:
    """An entry as a length, in two floats: sign · x, or sign · log x."""
    high, low = np.float64(x), 0.0
    if form == _LOGARITHM:
        high = np.log(high)
    elif form == _INTEGER:
        if high >= 2.0**63:  # rounded up to what no integer holds
            low = np.float64(np.int64(x) - np.int64(2**63 - 1)) - 1.0
        else:
            low = np.float64(np.int64(x) - np.int64(high))
    return sign * high, sign * low


@inner
def _add(high: float, low: float, x: float, y: float) -> Any:
    """(high + low) + (x + y), again as a float and what it leaves out."""
    s = high + x
    t = s - high
    error = (high - (s - t)) + (x - t) + (low + y)
    total = s + error
    return total, error - (total - s)


@kernel
def _relax(
    A: Any,
    absent: Any,
    sign: float,
    form: int,
    base: float,
    rate: float,
    floor: float,
    h: Any,
    tree: Any,
    waiting: Any,
    state: Any,
    rows: int,
) -> int:
    """Look at the edges out of so many waiting vertices; the last vertex of a negative cycle, or −1.

    They are met in rising, then in falling order, and so on, so that a graph whose edges all lead one way takes two
    rounds (Yen 1970). state: the next vertex, the step to the one after it, and how many wait.
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
        if before[u] == _OUT:  # a vertex that it hung below has changed; u will come by again
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
                # What left the tree comes back as its parent does, even if the parent's gain is lost in rounding.
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
def _promising(row: Any, high: Any, least: float, sign: float, form: int, rate: float) -> bool:
    """Whether any of these edges may shorten a label: in plain floats, so that a vector of them is tried at once."""
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
def _hang(tree: Any, u: int, v: int) -> bool:
    """v becomes a child of u, and what hung below it leaves the tree; False, with u as its parent, if u is below v."""
    parent, before, after, children = tree
    parent_was, parent[v] = parent[v], u
    if before[v] != _OUT:
        previous, y, open_ends = before[v], v, 0
        while open_ends >= 0:  # in preorder a subtree ends where all children have been met
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
