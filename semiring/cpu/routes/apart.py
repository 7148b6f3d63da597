"""Paths of a pair that share little: the best, then the best that shares at most a part of each one before.

A label is a path from the target back to a vertex, with f as in `ranked`, and how much of each path found before it
shares. It is dropped where it shares too much of one, or where another of its vertex is no longer and shares no more of
any: what goes on from there can do the same (Chondrogiannis et al. 2020, "Finding k-shortest paths with limited
overlap", OnePass). So the first label that reaches the source is the next path, and it is simple.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .ranked import (
    CALL,
    CUT,
    ENOUGH,
    FULL,
    NODES,
    NONE,
    PAUSED,
    QUEUED,
    SPOT,
    SPUR,
    STACKED,
    STATES,
    Arcs,
    _label,
    _onward,
    _pop,
    _push,
    _space,
    inner,
    kernel,
    write,
)


@inner
def _dominated(nodes: Any, shared: Any, label: int, a: int) -> bool:
    """Whether one of a list of labels shares no more of any path than label a."""
    while label >= 0:
        less = True
        for j in range(shared.shape[1]):
            less &= shared[label, j] <= shared[a, j]
        if less:
            return True
        label = nodes[label].sibling
    return False


@kernel
def search(arcs: Any, goal: int, bound: Any, used: Any, most: Any, shared: Any, space: Any, state: Any) -> int:
    """state[SPUR] ← the label of the next path: ENOUGH, NONE, PAUSED or FULL.

    used : a bit for each path that an arc is on
    most : what may be shared of each
    """
    nodes, spots, met = space.nodes, space.spots, 0
    while state[STACKED] + state[QUEUED]:
        stacked = state[STACKED] > 0
        a = space.stack[state[STACKED] - 1] if stacked else space.queue[0]
        y = nodes[a].vertex
        if state[NODES] + arcs.begin[y + 1] - arcs.begin[y] > len(nodes):
            return FULL
        if met > CALL:
            return PAUSED
        if stacked:
            state[STACKED] -= 1
        else:
            state[QUEUED] = _pop(nodes, space.f, space.queue, state[QUEUED], True)
        if _dominated(nodes, shared, spots[y].child - 1, a):
            continue
        nodes[a].sibling, spots[y].child = spots[y].child - 1, a + 1
        if y == goal:
            state[SPUR] = a
            return ENOUGH
        for e in range(arcs.begin[y + 1] - 1, arcs.begin[y] - 1, -1):
            x, w, b, fits = arcs.tails[e], arcs.weights[e], state[NODES], True
            met += 1
            if arcs.d[x] == arcs.none[0]:
                continue
            g = _onward(space.f[a], w, arcs.d[x], arcs.d[y], False)
            if g > bound:
                state[CUT] = 1
                continue
            for j in range(len(most)):
                shared[b, j] = shared[a, j] + (w if (used[e] >> j) & 1 else w - w)
                fits &= shared[b, j] <= most[j]
            if not fits or _dominated(nodes, shared, spots[x].child - 1, b):
                continue
            _label(space, state, a, x, e, g)
            if g == space.f[a]:
                space.stack[state[STACKED]] = b
                state[STACKED] += 1
            else:
                state[QUEUED] = _push(nodes, space.f, space.queue, state[QUEUED], b, True)
    return NONE


class Apart:
    """What `Ranked` does, for paths of which each shares at most `overlap` of the length of those before it.

    `back` is the arc that leads the other way for arcs that are one edge with it, else None.
    """

    def __init__(
        self, arcs: Arcs, source: int, target: int, bound: Any, overlap: float, back: np.ndarray | None
    ) -> None:
        self._arcs, self._ends, self._bound, self._overlap, self._back = arcs, (source, target), bound, overlap, back
        self._used, self._most = np.zeros(len(arcs.tails), np.int64), np.empty(0, arcs.d.dtype)
        self._found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.ended, self.cut = bool(arcs.d[target] == arcs.none[0] or arcs.d[target] > bound), False
        self._begin()

    def _begin(self) -> None:
        """Search from the target, beside the paths that were found."""
        target, n, dtype = self._ends[1], len(self._arcs.d), self._arcs.d.dtype
        self._space, self._state = _space(1024, np.zeros(n, SPOT), np.empty(0, dtype)), np.zeros(STATES, np.int64)
        self._shared = np.zeros((1024, len(self._most)), dtype)
        self._space.nodes[0] = target, -1, 0, -1, -1, -1, -1, 0, 0, -1
        self._space.f[0], self._space.stack[0] = self._arcs.d[target], 0
        self._state[[NODES, STACKED]] = 1

    def advance(self, count: int) -> bool:
        """Search on for a moment; whether so many paths are there, or all there are.

        Raises
        ------
        MemoryNeeded
        """
        if self.ended or len(self._found) >= count:
            return True
        parts = self._used, self._most, self._shared, self._space, self._state
        code = search(self._arcs, self._ends[0], self._bound, *parts)
        if code == FULL:
            old, size = self._space, 2 * len(self._space.nodes)
            self._space, shared = _space(size, old.spots, old.low), self._shared
            self._shared = np.zeros((size, shared.shape[1]), shared.dtype)
            for into, came in zip((*self._space[:-2], self._shared), (*old[:-2], shared), strict=True):
                into[: len(came)] = came
        elif code != PAUSED:
            self.cut |= bool(self._state[CUT])
            self.ended = code == NONE
            if code == ENOUGH:
                self._keep()
        return self.ended or len(self._found) >= count

    def _keep(self) -> None:
        """The label that was reached is a path; others may share a part of it."""
        leaf = self._state[[SPUR]].astype(np.int32)
        starts = np.append(0, self._space.nodes["depth"][leaf] + 1)
        vertices, steps = np.empty(starts[1], np.int32), np.empty(starts[1], np.int64)
        write(self._space.nodes, leaf, starts, vertices, steps)
        self._found.append((starts, vertices, steps))
        arcs, bit = steps[:-1], 1 << len(self._most)
        self._used[arcs] |= bit
        if self._back is not None:
            self._used[self._back[arcs]] |= bit
        length = self._arcs.weights[arcs].sum()
        self._most = np.append(self._most, (length * self._overlap * (1 + 1e-12))).astype(length.dtype)
        self.ended = bool(length <= 0)
        self._begin()

    def take(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The paths found since the last call, as `Ranked` gives them."""
        found, self._found = self._found, []
        starts = np.cumsum([0, *(len(vertices) for _, vertices, _ in found)], dtype=np.int64)
        none = np.empty(0, np.int32), np.empty(0, np.int64)
        vertices, steps = (np.concatenate(parts) for parts in zip(none, *(part[1:] for part in found), strict=True))
        return starts, vertices, steps
