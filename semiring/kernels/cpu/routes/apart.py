"""Paths of a pair that share little: the best, then the best through an arc that share at most a part of each before.

Through an arc x → y leads the best path from the source to x, the arc, and the best path from y to the target. Arcs are
tried by the length of that; a path is taken if it is simple and shares little enough. So it is made of two best parts,
which a path with a detour at random is not (Abraham, Delling, Goldberg and Werneck 2013, "Alternative routes in road
networks", who do so through vertices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instructions import Array
from .ranked import CALL, ENOUGH, NONE, PAUSED, Arcs, Ranked, _nearest, kernel

#: What a search knows: how many arcs were tried, and where the path that was taken begins and ends.
TRIED, FIRST, LAST = range(3)


@kernel
def through(
    forth: Arcs, back: Arcs, numbers: Array, source: int, target: int, order: Array, heads: Array, f: Array,
    used: Array, tried: Array, seen: Array, vertices: Array, steps: Array, state: Array, most: Array, shared: Array,
) -> int:  # fmt: skip
    """vertices[FIRST … LAST] ← the path through the next arc in order that shares little: ENOUGH, NONE or PAUSED.

    numbers : of the arcs of `back`, which lead from their heads, which of `forth` they are
    heads, f : of the arcs of `forth`, and the lengths of paths through them
    used, most, shared : a bit for each path that an arc is on, what may be shared of it, and is
    tried, seen : whether an arc is on a path that was tried; the last try that met a vertex
    """
    middle, met = len(seen), 0
    while state[TRIED] < len(order):
        if met > CALL:
            return PAUSED
        through = order[state[TRIED]]
        state[TRIED] += 1
        if tried[through]:
            continue
        stamp, first, last = state[TRIED], middle, middle + 1
        x, y = forth.tails[through], heads[through]
        vertices[first], steps[first], vertices[last] = x, through, y
        seen[x], seen[y], simple = stamp, stamp, True
        while simple and x != source:
            e = _nearest(forth, x)
            x = forth.tails[e]
            first -= 1
            vertices[first], steps[first], simple = x, e, seen[x] != stamp
            seen[x] = stamp
        while simple and y != target:
            e = _nearest(back, y)
            y = back.tails[e]
            steps[last] = numbers[e]
            last += 1
            vertices[last], simple = y, seen[y] != stamp
            seen[y] = stamp
        met += last - first
        for j in range(len(most)):
            shared[j] = 0
        for place in range(first, last if simple else first):
            e = steps[place]
            tried[e] |= f[e] == f[through]  # leads the same way
            for j in range(len(most)):
                shared[j] += ((used[e] >> j) & 1) * forth.weights[e]
        for j in range(len(most)):
            simple &= shared[j] <= most[j]
        if simple:
            state[FIRST], state[LAST] = first, last + 1
            return ENOUGH
    return NONE


class Apart:
    """`Ranked` of paths of which each shares at most `overlap` of the length of each one before.

    `back` has the arcs that leave a vertex, and distances to the target; `numbers` tells which of `forth` they are, and
    `twins` of an undirected graph the arc back of each.
    """

    ended = False

    def __init__(
        self, forth: Arcs, back: Arcs, numbers: np.ndarray, twins: np.ndarray | None, source: int, target: int,
        bound: Any, overlap: float,
    ) -> None:  # fmt: skip
        self._best, self._overlap, self._twins = Ranked(forth, source, target, bound, False), overlap, twins
        n, m, dtype = len(forth.d), len(forth.tails), forth.d.dtype
        heads = np.repeat(np.arange(n, dtype=np.int32), np.diff(forth.begin))
        before, behind = forth.d[forth.tails], back.d[heads]
        f = np.where((before == forth.none) | (behind == forth.none), forth.none, before + forth.weights + behind)
        here = np.flatnonzero((f <= bound) & (f != forth.none))
        self.cut = bool(((f > bound) & (f != forth.none)).any())
        order = here[np.argsort(f[here], kind="stable")]
        self._found: list[tuple[np.ndarray, ...]] = []
        self._used, self._state, self._most = np.zeros(m, np.int64), np.zeros(3, np.int64), np.empty(0, dtype)
        self._path = np.empty(2 * n + 1, np.int32), np.empty(2 * n + 1, np.int64)
        room = self._used, np.zeros(m, np.bool_), np.zeros(n, np.int32), *self._path, self._state
        self._arguments = forth, back, numbers, source, target, order, heads, f, *room

    def advance(self, count: int) -> bool:
        """Search on for a moment; whether so many paths are there, or all there are."""
        if self.ended or len(self._found) >= count:
            return True
        if len(self._most):
            code = through(*self._arguments, self._most, np.empty_like(self._most))
            path = [part[slice(*self._state[1:])].copy() for part in self._path]
        elif self._best.advance(1):
            starts, *path = self._best.take()
            code = ENOUGH if len(starts) > 1 else NONE
        else:
            return False
        self.ended = code == NONE
        if code == ENOUGH:
            self._keep(*path)
        return self.ended or len(self._found) >= count

    def _keep(self, vertices: np.ndarray, steps: np.ndarray) -> None:
        """A path is found; others may share a part of it. One of no length has no others."""
        self._found.append((vertices, steps))
        arcs, forth = steps[:-1], self._arguments[0]
        for part in (arcs, *([] if self._twins is None else [self._twins[arcs]])):
            self._used[part] |= 1 << len(self._most)
        length = float(forth.weights[arcs].sum())
        self._most = np.append(self._most, forth.d.dtype.type(length * self._overlap * (1 + 1e-12)))
        self.ended = length <= 0

    def take(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The paths found since the last call, as `Ranked` gives them."""
        found, self._found = self._found, []
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in found)], dtype=np.int64)
        none = np.empty(0, np.int32), np.empty(0, np.int64)
        vertices, steps = (np.concatenate(parts) for parts in zip(none, *found, strict=True))
        return starts, vertices, steps
