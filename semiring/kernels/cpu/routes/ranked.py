"""Simple paths of a pair, the best first (Yen 1971, "Finding the k shortest loopless paths in a network").

Paths found form a tree of prefixes, from the target back to the source. A node s of it stands for all paths that begin
as s does and go on by another arc than those found (Lawler 1972, "A procedure for computing the K best solutions"):
one candidate a node, so that each path is found once. With d(x) the distance from the source to x,

    f(s → x) = f(s) + (d(x) + w(x, y) − d(y))        y the vertex of s, f of the root d(target)

is the length of the best walk that begins so: of paths without the vertices of s a lower bound. A candidate waits with
its bound, and is searched for when that is the least of all: A* by f, which pops few vertices more than the path has.
It ends at the first vertex whose own best path meets none of the prefix, and pauses where f exceeds what waits. Of
equal f, the path whose last vertices come first comes first. Where the worst arc counts, f is max(f, w, d(x)), and a
search begins at its bound, so that it finds the first of its equals.

                     s (prefix, no vertex of it again)      ┌ a child: found already
    target ── · ── · ┤
                     └ x ── · ── source                     by the tree of best paths, if that avoids the prefix
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....host.memory import require
from ..compile import kernel as counted
from ..instructions import Array

kernel = partial(counted, counted=False)
inner = partial(kernel, called=False)

#: A node of the tree of prefixes, or of a search. `child`, `sibling`: what was found beyond it; of its candidate
#: `first`: the next vertex, −1 if unknown; `branch`: the next node, −1 while it is a bound; `work`: arcs of its last
#: search, or vertices that are not written yet.
NODE = np.dtype(
    [(name, np.int32) for name in ("vertex", "parent", "depth", "child", "sibling", "first", "branch", "work")]
    + [("arc", np.int64)],
    align=True,
)
#: Of a vertex: the search that settled it; the search whose walks to the source fail there; the node that has it as a
#: child, counted from 1.
SPOT = np.dtype([(name, np.int32) for name in ("settled", "failed", "child")])
#: Nodes of the tree, and with those of a search; candidates; labels on its stack, in its queue; its stamp; paths found;
#: whether any was cut off.
NODES, LABELS, WAITING, STACKED, QUEUED, STAMP, FOUND, CUT, STATES = range(9)
#: Why `advance` returned: all wanted are found; there are no more; its budget is spent; the arrays are full.
ENOUGH, NONE, PAUSED, FULL = range(4)
#: Arcs that a call looks at, so that Ctrl-C is heard.
CALL = 1 << 19
#: Arcs that a search may meet before it waits again.
PATIENCE = 64
#: Of one type with nodes and vertices, so that functions are compiled for no other.
_NONE, _ZERO = np.int32(-1), np.int32(0)


class Arcs(NamedTuple):
    """Arcs by head, tails ascending, no loops and no two alike; distances from the source, and the best arc into each.

    `nearest` counts from 1, and is 0 where it is not known yet; `none` stands for no path.
    """

    begin: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    d: np.ndarray
    nearest: np.ndarray
    none: Any


class Space(NamedTuple):
    """Nodes with their f; candidates with theirs, as a heap of nodes; the labels of a search; spots of vertices."""

    nodes: np.ndarray
    f: np.ndarray
    key: np.ndarray
    waiting: np.ndarray
    stack: np.ndarray
    queue: np.ndarray
    spots: np.ndarray


@inner
def _onward(f: Any, w: Any, near: Any, here: Any, widest: bool) -> Any:
    """f of a path that goes on by an arc of weight w, from a vertex as far as `here` to one as far as `near`."""
    return max(f, max(w, near)) if widest else f + max(w + near - here, f - f)


@inner
def _better(nodes: Array, key: Array, a: int, b: int) -> bool:
    """Whether the label or candidate of node a comes before that of node b: of equals, that with the first vertices."""
    if key[a] != key[b]:
        return key[a] < key[b]
    x, y = nodes[a].first, nodes[b].first
    while nodes[a].depth > nodes[b].depth:
        a, x = nodes[a].parent, nodes[a].vertex
    while nodes[b].depth > nodes[a].depth:
        b, y = nodes[b].parent, nodes[b].vertex
    while a != b:
        a, x, b, y = nodes[a].parent, nodes[a].vertex, nodes[b].parent, nodes[b].vertex
    return x < y


@inner
def _push(nodes: Array, key: Array, heap: Array, size: int, a: int) -> int:
    """Put a node into a heap; its new size."""
    k = size
    while k > 0 and _better(nodes, key, a, heap[(k - 1) >> 1]):
        heap[k] = heap[(k - 1) >> 1]
        k = (k - 1) >> 1
    heap[k] = a
    return size + 1


@inner
def _pop(nodes: Array, key: Array, heap: Array, size: int) -> int:
    """Take the first node out of a heap; its new size."""
    size -= 1
    a, k = heap[size], 0
    while 2 * k + 1 < size:
        c = 2 * k + 1
        if c + 1 < size and _better(nodes, key, heap[c + 1], heap[c]):
            c += 1
        if not _better(nodes, key, heap[c], a):
            break
        heap[k] = heap[c]
        k = c
    heap[k] = a
    return size


@inner
def _nearest(arcs: Any, y: int) -> int:
    """The arc into y on its best path from the source: of equals that from the first vertex."""
    chosen = arcs.nearest[y] - 1
    if chosen < 0:
        least = arcs.none
        for e in range(arcs.begin[y], arcs.begin[y + 1]):
            near = arcs.d[arcs.tails[e]]
            if near != arcs.none and (chosen < 0 or arcs.weights[e] + near < least):
                chosen, least = e, arcs.weights[e] + near
        arcs.nearest[y] = chosen + 1
    return chosen


@inner
def _remaining(arcs: Any, spots: Array, stamp: int, x: int, goal: int) -> int:
    """Number of vertices after x on its best path to the source; −1 if that path meets the prefix."""
    count = 0
    while x != goal:
        if spots[x].failed == stamp:
            return -1
        spots[x].failed = stamp
        x = arcs.tails[_nearest(arcs, x)]
        count += 1
    return count


@inner
def _mark(nodes: Array, spots: Array, state: Array, s: int) -> None:
    """Begin a search: mark the vertices of a prefix as settled, and as no way to the source."""
    state[STAMP] += 1
    while s >= 0:
        y = nodes[s].vertex
        spots[y].settled = spots[y].failed = state[STAMP]
        s = nodes[s].parent


@inner
def _mark_children(nodes: Array, spots: Array, s: int) -> None:
    c = nodes[s].child
    while c >= 0:
        spots[nodes[c].vertex].child = s + 1
        c = nodes[c].sibling


@inner
def _wait(arcs: Any, space: Any, state: Array, s: int, bound: Any, widest: bool) -> None:
    """Have a node wait for the best of its arcs, if it has any that is allowed; those of its prefix are marked."""
    nodes, spots, y = space.nodes, space.spots, space.nodes[s].vertex
    _mark_children(nodes, spots, s)
    first, key = _NONE, bound
    for e in range(arcs.begin[y], arcs.begin[y + 1]):
        x = arcs.tails[e]
        if _closed(arcs, spots, state[STAMP], x, s + 1):
            continue
        f = _onward(space.f[s], arcs.weights[e], arcs.d[x], arcs.d[y], widest)
        if f > bound:
            state[CUT] = 1
        elif first < 0 or f < key:
            first, key = x, f
    if first >= 0:
        _postpone(space, state, s, first, key, _ZERO)


@inner
def _closed(arcs: Any, spots: Array, stamp: int, x: int, banned: int) -> bool:
    """Whether a path may not go on to a vertex: it is out of reach, settled, or a child of the `banned` node."""
    return arcs.d[x] == arcs.none or spots[x].settled == stamp or spots[x].child == banned


@inner
def _postpone(space: Any, state: Array, s: int, first: int, key: Any, work: int) -> None:
    """Have a node wait with a bound."""
    nodes = space.nodes
    nodes[s].first, nodes[s].branch, nodes[s].work, space.key[s] = first, -1, work, key
    state[WAITING] = _push(nodes, space.key, space.waiting, state[WAITING], s)


@inner
def _node(space: Any, a: int, p: int, x: int, e: int, f: Any) -> None:
    """Node a leads from node p to vertex x by arc e."""
    nodes = space.nodes
    nodes[a].vertex, nodes[a].parent, nodes[a].depth, nodes[a].arc = x, p, nodes[p].depth + 1, e
    nodes[a].child = nodes[a].sibling = nodes[a].first = nodes[a].branch = -1
    space.f[a] = f


@inner
def _keep(arcs: Any, space: Any, state: Array, p: int, e: int, widest: bool) -> int:
    """A new node of the tree, from node p by arc e."""
    a: Any = np.int32(state[NODES])
    x = arcs.tails[e]
    _node(space, a, p, x, e, _onward(space.f[p], arcs.weights[e], arcs.d[x], arcs.d[space.nodes[p].vertex], widest))
    state[NODES] += 1
    return a


@inner
def _accept(arcs: Any, space: Any, state: Array, s: int, goal: int, bound: Any, widest: bool) -> int:
    """The candidate of a node is found: it is written to its end, and its nodes wait for others. Its last node."""
    nodes, t = space.nodes, space.nodes[s].branch
    nodes[t].sibling, nodes[s].child = nodes[s].child, t
    _mark(nodes, space.spots, state, s)
    _wait(arcs, space, state, s, bound, widest)
    while nodes[t].vertex != goal:
        y = nodes[t].vertex
        space.spots[y].settled = state[STAMP]
        if nodes[t].child < 0:
            nodes[t].child = _keep(arcs, space, state, t, _nearest(arcs, y), widest)
        _wait(arcs, space, state, t, bound, widest)
        t = nodes[t].child
    return t


@inner
def _complete(arcs: Any, space: Any, state: Array, s: int, a: int, rest: int, widest: bool) -> None:
    """The labels from s to a become nodes, where labels began, of a candidate that has `rest` vertices more."""
    nodes, key, b = space.nodes, space.f[a], a
    while nodes[b].parent != s:
        nodes[nodes[b].parent].child = b
        b = nodes[b].parent
    p, branch = s, state[NODES]
    while b >= 0:
        e, b = nodes[b].arc, nodes[b].child
        t = _keep(arcs, space, state, p, e, widest)
        if p != s:
            nodes[p].child = t
        p = t
    _postpone(space, state, s, nodes[branch].vertex, key, np.int32(rest))
    nodes[s].branch = branch


@inner
def _expand(arcs: Any, space: Any, state: Array, s: int, a: int, bound: Any, widest: bool) -> None:
    """Labels for where the arcs of a label lead: on the stack, the first on top, if f stays; else in the queue."""
    nodes, y = space.nodes, space.nodes[a].vertex
    f = space.key[a] if widest and a == s else space.f[a]
    banned, only = (a + 1, nodes[a].first) if a == s else (-1, -1)
    for e in range(arcs.begin[y + 1] - 1, arcs.begin[y] - 1, -1):
        x, b = arcs.tails[e], np.int32(state[LABELS])
        if (only >= 0 and x != only) or _closed(arcs, space.spots, state[STAMP], x, banned):
            continue
        g = _onward(f, arcs.weights[e], arcs.d[x], arcs.d[y], widest)
        if g > bound:
            state[CUT] = 1
            continue
        _node(space, b, a, x, e, g)
        state[LABELS] += 1
        if g == f:
            space.stack[state[STACKED]] = b
            state[STACKED] += 1
        else:
            state[QUEUED] = _push(nodes, space.f, space.queue, state[QUEUED], b)


@inner
def _search(arcs: Any, goal: int, bound: Any, widest: bool, space: Any, state: Array, s: int, budget: int) -> int:
    """Have a node wait for the best path beyond it, for a greater bound, or no more: arcs met, −1 if all is full."""
    nodes, spots, y, stamp = space.nodes, space.spots, space.nodes[s].vertex, state[STAMP] + 1
    state[WAITING] = _pop(nodes, space.key, space.waiting, state[WAITING])
    cap = space.key[space.waiting[0]] if state[WAITING] else bound
    most, met = 2 * nodes[s].work, 0
    if arcs.begin[y + 1] - arcs.begin[y] <= PATIENCE:
        nodes[s].first = -1  # of many arcs the best is tried alone
    _mark(nodes, spots, state, s)
    _mark_children(nodes, spots, s)
    space.stack[0], state[STACKED], state[QUEUED], state[LABELS] = s, 1, 0, state[NODES]
    while state[STACKED] + state[QUEUED]:
        a = space.stack[state[STACKED] - 1] if state[STACKED] else space.queue[0]
        y, key = nodes[a].vertex, space.f[a]
        degree = arcs.begin[y + 1] - arcs.begin[y]
        if state[LABELS] + degree > len(nodes):
            _postpone(space, state, s, nodes[s].first, space.key[s], nodes[s].work)
            return -1
        if met > most and ((key > cap and met > PATIENCE) or met > budget):
            _postpone(space, state, s, _NONE, key, np.int32(min(met, 1 << 29)))
            break
        if state[STACKED]:
            state[STACKED] -= 1
        else:
            state[QUEUED] = _pop(nodes, space.f, space.queue, state[QUEUED])
        if a != s:
            if spots[y].settled == stamp:
                continue
            spots[y].settled = stamp
            rest = 0 if y == goal else -1 if widest else _remaining(arcs, spots, stamp, y, goal)
            if rest >= 0 and not (widest and key > space.key[s]):
                _complete(arcs, space, state, s, a, rest, widest)
                break
            if rest >= 0 or nodes[s].first >= 0:  # at that level the first of its equals is found
                _postpone(space, state, s, _NONE, key, _ZERO)
                break
        _expand(arcs, space, state, s, a, bound, widest)
        met += degree
    return met


@kernel
def advance(
    arcs: Any, goal: int, bound: Any, widest: bool, space: Any, found: Array, state: Array, wanted: int, budget: int
) -> int:
    """found ← the last nodes of the next paths, until so many are there; why it ended."""
    nodes, met = space.nodes, 0
    while state[FOUND] < wanted:
        if state[WAITING] == 0:
            return NONE
        if met > budget:
            return PAUSED
        s = space.waiting[0]
        if nodes[s].branch < 0:
            looked = _search(arcs, goal, bound, widest, space, state, s, budget)
            if looked < 0:
                return FULL
            met += looked
        elif state[NODES] + nodes[s].work > len(nodes):
            return FULL
        else:
            state[WAITING] = _pop(nodes, space.key, space.waiting, state[WAITING])
            leaf = _accept(arcs, space, state, s, goal, bound, widest)
            met += nodes[leaf].depth
            found[state[FOUND]] = leaf
            state[FOUND] += 1
    return ENOUGH


@kernel
def write(nodes: Array, found: Array, starts: Array, vertices: Array, steps: Array) -> None:
    """vertices[starts[k] : starts[k + 1]] ← path k, steps ← the arc that leaves each vertex."""
    for k in range(len(found)):
        a = found[k]
        for place in range(starts[k], starts[k + 1]):
            vertices[place], steps[place] = nodes[a].vertex, nodes[a].arc
            a = nodes[a].parent


class Ranked:
    """Simple paths from a source to a target, the best first, none beyond `bound`; `widest` ones by the worst arc."""

    #: Whether all paths are found; whether some were left out for their length.
    ended = cut = False

    def __init__(self, arcs: Arcs, source: int, target: int, bound: Any, widest: bool) -> None:
        self._arcs, self._goal, self._bound, self._widest = arcs, source, arcs.d.dtype.type(bound), widest
        self._space = _space(4096, np.zeros(len(arcs.d), SPOT), arcs.d.dtype)
        self._found, self._state, self._taken = np.zeros(16, np.int32), np.zeros(STATES, np.int64), 0
        self._state[NODES] = 1
        self._space.nodes[0] = target, -1, 0, -1, -1, -1, -1, 0, -1
        self._space.f[0] = self._space.key[0] = d = arcs.d[target]
        self._space.waiting[0] = 0
        if d != arcs.none:
            self._state[CUT if d > self._bound else FOUND if source == target else WAITING] = 1

    def advance(self, count: int) -> bool:
        """Search on for a moment; whether so many paths are there, beside those that were taken, or all there are.

        Raises
        ------
        MemoryNeeded
            If the paths and the search do not fit.
        """
        where, wanted, room = (self._goal, self._bound, self._widest), self._taken + count, len(self._found)
        code = advance(self._arcs, *where, self._space, self._found, self._state, min(wanted, room), CALL)
        if code == FULL:
            self._grow()
        elif code == ENOUGH and wanted > room:
            self._found = np.resize(self._found, 2 * room)
            return False
        self.ended, self.cut = bool(code == NONE), bool(self._state[CUT])
        return bool(code in (ENOUGH, NONE))

    def take(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The paths found since the last call: where each starts, their vertices, the arc that leaves each vertex."""
        ends = self._found[self._taken : int(self._state[FOUND])]
        self._taken += len(ends)
        starts = np.zeros(len(ends) + 1, np.int64)
        np.cumsum(self._space.nodes["depth"][ends] + 1, out=starts[1:])
        vertices, steps = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.int64)
        write(self._space.nodes, ends, starts, vertices, steps)
        return starts, vertices, steps

    def _grow(self) -> None:
        old, size = self._space, 2 * len(self._space.nodes)
        new = _space(size, old.spots, old.f.dtype)
        for into, came in zip(new[:-1], old[:-1], strict=True):
            into[: len(came)] = came
        self._space = new


def _space(size: int, spots: np.ndarray, dtype: np.dtype) -> Space:
    """Room for so many nodes."""
    need = size * (NODE.itemsize + 2 * dtype.itemsize + 12)
    require(need, where="k_paths", hint="Ask for fewer paths: a smaller k=, or limit=.")
    f, key = np.empty((2, size), dtype)
    waiting, stack, queue = np.empty((3, size), np.int32)
    return Space(np.empty(size, NODE), f, key, waiting, stack, queue, spots)
