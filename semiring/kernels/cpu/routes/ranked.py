"""Simple paths of a pair, the best first (Yen 1971, "Finding the k shortest loopless paths in a network").

Paths found form a tree of prefixes, from the target back to the source. A node s of it stands for all paths that begin
as s does and go on by another arc than those found (Lawler 1972, "A procedure for computing the K best solutions"):
one candidate a node, so that each path is found once. With d(x) the distance from the source to x,

    f(s → x) = f(s) + (d(x) + w(x, y) − d(y))        y the vertex of s, f of the root d(target)

is the length of the best walk that begins so: of paths without the vertices of s a lower bound. A candidate waits with
its bound, and is searched for when that is the least of all: A* by f, which pops few vertices more than the path has.
It ends at the first vertex whose own best path meets none of the prefix, and pauses where f exceeds what waits. Of
equal f, the path whose last vertices come first comes first: what keeps f goes on a stack, the rest into a heap. Where
the worst arc counts, f is max(f, w, d(x)), and a search begins at its bound, so that it finds the first of its equals.

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

kernel = partial(counted, counted=False)
inner = partial(kernel, called=False)

#: A node of the tree of prefixes, or of a search. `child`, `sibling`: what was found beyond it; `first`, `leaf`: where
#: its candidate goes next, −1 if unknown, and its last node, −1 while it is a bound; `work`: arcs of the last search;
#: `top`: the greatest place on the first path of all vertices up to it, counted from 1.
NODE = np.dtype(
    [(name, np.int32) for name in ("vertex", "parent", "depth", "child", "sibling", "first", "leaf", "work", "top")]
    + [("arc", np.int64)],
    align=True,
)
#: Of a vertex: twice the search that met it, and 1 more once settled; the search whose walks to the source fail there;
#: the node that has it as a child, counted from 1; its place on the first path.
SPOT = np.dtype([(name, np.int32) for name in ("seen", "failed", "child", "place")])
#: What a search is doing: nodes in use, and those of candidates; candidates; labels on the stack, in the queue; the
#: node searched from, arcs met, its stamp; paths found; whether any was cut off.
NODES, KEPT, WAITING, STACKED, QUEUED, SPUR, MET, STAMP, FOUND, CUT, STATES = range(11)
#: Why `advance` returned: all wanted are found; there are no more; its budget is spent; the arrays are full.
ENOUGH, NONE, PAUSED, FULL = range(4)
#: Arcs that a call looks at, so that Ctrl-C is heard.
CALL = 1 << 19
#: Arcs that a search may meet before it waits again.
PATIENCE = 64


class Arcs(NamedTuple):
    """Arcs by head, tails ascending, no loops and no two alike; distances from the source, and the best arc into each.

    `nearest` is −1 where it is not known yet; `none` stands for no path, and holds what a search has left out.
    """

    begin: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    d: np.ndarray
    nearest: np.ndarray
    none: np.ndarray


class Space(NamedTuple):
    """Nodes with their f; candidates with theirs, as heaps of nodes; the labels of a search; spots of vertices."""

    nodes: np.ndarray
    f: np.ndarray
    key: np.ndarray
    waiting: np.ndarray
    stack: np.ndarray
    queue: np.ndarray
    spots: np.ndarray
    low: np.ndarray


@inner
def _onward(f: Any, w: Any, near: Any, here: Any, widest: bool) -> Any:
    """f of a path that goes on by an arc of weight w, from a vertex as far as `here` to one as far as `near`."""
    return max(f, max(w, near)) if widest else f + max(w + near - here, f - f)


@inner
def _before(nodes: Any, a: int, x: int, b: int, y: int) -> bool:
    """Whether the path of node a, and then x, comes before that of node b, and then y."""
    while nodes[a].depth > nodes[b].depth:
        a, x = nodes[a].parent, nodes[a].vertex
    while nodes[b].depth > nodes[a].depth:
        b, y = nodes[b].parent, nodes[b].vertex
    while a != b:
        a, x, b, y = nodes[a].parent, nodes[a].vertex, nodes[b].parent, nodes[b].vertex
    return x < y


@inner
def _better(nodes: Any, key: Any, a: int, b: int, labels: bool) -> bool:
    """Whether a label, or a candidate, of node a comes before that of node b."""
    if key[a] != key[b]:
        return key[a] < key[b]
    if labels:
        return _before(nodes, nodes[a].parent, nodes[a].vertex, nodes[b].parent, nodes[b].vertex)
    return _before(nodes, a, nodes[a].first, b, nodes[b].first)


@inner
def _push(nodes: Any, key: Any, heap: Any, size: int, a: int, labels: bool) -> int:
    """Put a node into a heap; its new size."""
    k = size
    while k > 0 and _better(nodes, key, a, heap[(k - 1) >> 1], labels):
        heap[k] = heap[(k - 1) >> 1]
        k = (k - 1) >> 1
    heap[k] = a
    return size + 1


@inner
def _pop(nodes: Any, key: Any, heap: Any, size: int, labels: bool) -> int:
    """Take the first node out of a heap; its new size."""
    size -= 1
    a, k = heap[size], 0
    while 2 * k + 1 < size:
        c = 2 * k + 1
        if c + 1 < size and _better(nodes, key, heap[c + 1], heap[c], labels):
            c += 1
        if not _better(nodes, key, heap[c], a, labels):
            break
        heap[k] = heap[c]
        k = c
    heap[k] = a
    return size


@inner
def _nearest(arcs: Any, y: int) -> int:
    """The arc into y on its best path from the source: of equals that from the first vertex."""
    chosen = arcs.nearest[y]
    if chosen < 0:
        least = arcs.none[0]
        for e in range(arcs.begin[y], arcs.begin[y + 1]):
            near = arcs.d[arcs.tails[e]]
            if near != arcs.none[0] and (chosen < 0 or arcs.weights[e] + near < least):
                chosen, least = e, arcs.weights[e] + near
        arcs.nearest[y] = chosen
    return chosen


@inner
def _avoids(arcs: Any, spots: Any, stamp: int, x: int, goal: int, top: int) -> bool:
    """Whether the best path from the source to x meets no vertex of the prefix, whose last on the first path is `top`.

    From where it meets the first path on, it is that.
    """
    y = x
    while y != goal and spots[y].failed != stamp and spots[y].place == 0:
        spots[y].failed = stamp
        y = arcs.tails[_nearest(arcs, y)]
    return spots[y].failed != stamp and (y == goal or spots[y].place > top)


@inner
def _mark(nodes: Any, spots: Any, s: int, stamp: int) -> None:
    """Mark the vertices of a prefix: settled, and no way to the source."""
    while s >= 0:
        y = nodes[s].vertex
        spots[y].seen, spots[y].failed = 2 * stamp + 1, stamp
        s = nodes[s].parent


@inner
def _mark_children(nodes: Any, spots: Any, s: int) -> None:
    c = nodes[s].child
    while c >= 0:
        spots[nodes[c].vertex].child = s + 1
        c = nodes[c].sibling


@inner
def _wait(arcs: Any, space: Any, state: Any, s: int, bound: Any, widest: bool) -> None:
    """Have a node wait for the best of its arcs, if it has any that is allowed; those of its prefix are marked."""
    nodes, spots, y = space.nodes, space.spots, space.nodes[s].vertex
    _mark_children(nodes, spots, s)
    first, key, settled = -1, bound, 2 * state[STAMP] + 1
    for e in range(arcs.begin[y], arcs.begin[y + 1]):
        x = arcs.tails[e]
        if arcs.d[x] == arcs.none[0] or spots[x].seen == settled or spots[x].child == s + 1:
            continue
        f = _onward(space.f[s], arcs.weights[e], arcs.d[x], arcs.d[y], widest)
        if f > bound:
            state[CUT] = 1
        elif first < 0 or f < key:
            first, key = x, f
    if first >= 0:
        nodes[s].first, nodes[s].leaf, nodes[s].work, space.key[s] = first, -1, 0, key
        state[WAITING] = _push(nodes, space.key, space.waiting, state[WAITING], s, False)


@inner
def _write_out(arcs: Any, space: Any, state: Any, a: int, goal: int) -> int:
    """The last node of a candidate whose nodes end with a, after those of the best path to that; −1 if they are full.

    They begin anew if there was no place for all.
    """
    nodes, count = space.nodes, state[KEPT]
    while nodes[a].vertex != goal:
        if count == len(nodes):
            return -1
        y = nodes[a].vertex
        e = _nearest(arcs, y)
        x = arcs.tails[e]
        nodes[count].vertex, nodes[count].arc = x, e
        _link(space, a, count)
        space.f[count] = _onward(space.f[a], arcs.weights[e], arcs.d[x], arcs.d[y], False)
        nodes[a].child = a = count
        count += 1
    state[NODES] = state[KEPT] = count
    return a


@inner
def _link(space: Any, p: int, a: int) -> None:
    """Node a, of which vertex and arc are known, goes on from node p."""
    nodes = space.nodes
    nodes[a].parent, nodes[a].depth = p, nodes[p].depth + 1
    nodes[a].top = max(nodes[p].top, space.spots[nodes[a].vertex].place)
    nodes[a].child = nodes[a].sibling = nodes[a].first = nodes[a].leaf = -1


@inner
def _place(arcs: Any, space: Any, leaf: int) -> None:
    """Number the vertices of the first path, from the source on as far as it is the path of `_nearest`."""
    nodes, a = space.nodes, leaf
    while True:
        nodes[a].top = space.spots[nodes[a].vertex].place = nodes[a].depth + 1
        a = nodes[a].parent
        if a < 0 or arcs.tails[_nearest(arcs, nodes[a].vertex)] != nodes[nodes[a].child].vertex:
            break


@inner
def _accept(arcs: Any, space: Any, state: Any, s: int, leaf: int, bound: Any, widest: bool) -> int:
    """The candidate of a node is found: its nodes are of the tree from here on, and wait for others. How many nodes."""
    nodes, branch = space.nodes, space.nodes[s].leaf
    while nodes[branch].parent != s:
        branch = nodes[branch].parent
    nodes[branch].sibling, nodes[s].child = nodes[s].child, branch
    if state[FOUND] == 0 and not widest:
        _place(arcs, space, leaf)
    state[STAMP] += 1
    _mark(nodes, space.spots, s, state[STAMP])
    _wait(arcs, space, state, s, bound, widest)
    t = branch
    while t != leaf:
        space.spots[nodes[t].vertex].seen = 2 * state[STAMP] + 1
        _wait(arcs, space, state, t, bound, widest)
        t = nodes[t].child
    return nodes[leaf].depth


@inner
def _label(space: Any, state: Any, p: int, x: int, e: int, f: Any) -> int:
    """A new node beyond p."""
    a, nodes = state[NODES], space.nodes
    state[NODES] += 1
    nodes[a].vertex, nodes[a].parent, nodes[a].depth, nodes[a].arc = x, p, nodes[p].depth + 1, e
    space.f[a] = f
    return a


@inner
def _expand(arcs: Any, space: Any, state: Any, a: int, limit: Any, bound: Any, widest: bool) -> None:
    """Labels for where the arcs of a label lead: on the stack, the first on top, if f stays; else in the queue.

    Beyond a limit there are none, and `none[1]` is the least f of these.
    """
    nodes, spots, y = space.nodes, space.spots, space.nodes[a].vertex
    f = space.key[a] if widest and a == state[SPUR] else space.f[a]
    seen, banned = 2 * state[STAMP], a + 1 if a == state[SPUR] else -1
    for e in range(arcs.begin[y + 1] - 1, arcs.begin[y] - 1, -1):
        x = arcs.tails[e]
        if arcs.d[x] == arcs.none[0] or spots[x].seen == seen + 1 or spots[x].child == banned:
            continue
        g = _onward(f, arcs.weights[e], arcs.d[x], arcs.d[y], widest)
        if g > bound:
            state[CUT] = 1
        elif g > limit:
            arcs.none[1] = min(arcs.none[1], g)
        elif spots[x].seen != seen or g <= space.low[x]:
            spots[x].seen, space.low[x] = seen, g
            b = _label(space, state, a, x, e, g)
            if g == f:
                space.stack[state[STACKED]] = b
                state[STACKED] += 1
            else:
                state[QUEUED] = _push(nodes, space.f, space.queue, state[QUEUED], b, True)


@inner
def _complete(space: Any, state: Any, a: int) -> None:
    """Keep a label, and those on the way to it, as the candidate of the spur; beyond it, the best path is not written.

    Its nodes are written beyond all labels, and then moved to where these began.
    """
    nodes, s = space.nodes, state[SPUR]
    own, start, low = nodes[a].depth - nodes[s].depth, state[NODES], state[KEPT]
    nodes[s].leaf, space.key[s] = low + own - 1, space.f[a]
    for b in range(start + own - 1, start - 1, -1):
        nodes[b].vertex, nodes[b].arc = nodes[a].vertex, nodes[a].arc
        a = nodes[a].parent
    for c in range(start, start + own):
        b = low + c - start
        nodes[b].vertex, nodes[b].arc = nodes[c].vertex, nodes[c].arc
        _link(space, b - 1 if c > start else s, b)
        if c > start:
            nodes[b - 1].child = b
    nodes[s].first = nodes[low].vertex
    state[KEPT] = low + own


@inner
def _rate(arcs: Any, space: Any, s: int, leaf: int, widest: bool) -> None:
    """f of the nodes beyond s, which a search has begun at more where `widest`."""
    nodes = space.nodes
    for b in range(leaf + 1 - (nodes[leaf].depth - nodes[s].depth), leaf + 1):
        p, x = nodes[b].parent, nodes[b].vertex
        space.f[b] = _onward(space.f[p], arcs.weights[nodes[b].arc], arcs.d[x], arcs.d[nodes[p].vertex], widest)


@inner
def _end(space: Any, state: Any, candidate: bool) -> None:
    """A search is done: its labels are let go, and the node that it was for waits again, or never."""
    s = state[SPUR]
    state[NODES], state[SPUR], state[STACKED], state[QUEUED] = state[KEPT], -1, 0, 0
    if candidate:
        state[WAITING] = _push(space.nodes, space.key, space.waiting, state[WAITING], s, False)


@inner
def _search(
    arcs: Any, goal: int, bound: Any, widest: bool, space: Any, state: Any, met: int, budget: int
) -> tuple[int, int]:  # fmt: skip
    """The best path beyond the spur: ENOUGH if it is found, waits or is none, PAUSED or FULL; and the arcs met."""
    nodes, spots, s = space.nodes, space.spots, state[SPUR]
    while True:
        left, stacked = state[STACKED] + state[QUEUED] > 0, state[STACKED] > 0
        a = space.stack[state[STACKED] - 1] if stacked else space.queue[0] if left else s
        y, settled = nodes[a].vertex, 2 * state[STAMP] + 1
        fresh, degree = a == s or spots[y].seen != settled, arcs.begin[y + 1] - arcs.begin[y]
        cap = space.key[space.waiting[0]] if state[WAITING] else bound
        if not left or (fresh and space.f[a] > cap and state[MET] > max(PATIENCE, 2 * nodes[s].work)):
            nodes[s].first, nodes[s].work = -1, max(1, min(state[MET], 1 << 29))
            space.key[s] = min(space.f[a] if left else arcs.none[0], arcs.none[1])
            _end(space, state, space.key[s] != arcs.none[0])
            return ENOUGH, met
        if state[NODES] + max(degree, nodes[a].depth - nodes[s].depth) > len(nodes):
            return FULL, met
        if met > budget:
            return PAUSED, met
        if stacked:
            state[STACKED] -= 1
        else:
            state[QUEUED] = _pop(nodes, space.f, space.queue, state[QUEUED], True)
        if not fresh:
            continue
        spots[y].seen = settled
        if a != s and (y == goal or (not widest and _avoids(arcs, spots, state[STAMP], y, goal, nodes[s].top))):
            if widest and space.f[a] > space.key[s]:  # the first of its equals is found at that level
                nodes[s].first, space.key[s] = -1, space.f[a]
            else:
                _complete(space, state, a)
                _rate(arcs, space, s, nodes[s].leaf, widest)
            _end(space, state, True)
            return ENOUGH, met
        many = degree > PATIENCE and nodes[s].work == 0  # which wait beyond the cap with their least f, at first
        _expand(arcs, space, state, a, min(cap, bound) if many else bound, bound, widest)
        state[MET] += degree
        met += degree


@kernel
def advance(
    arcs: Any, goal: int, bound: Any, widest: bool, space: Any, found: Any, state: Any, wanted: int, budget: int
) -> int:
    """found ← the last nodes of the next paths, until so many are there; why it ended."""
    nodes, met = space.nodes, 0
    while state[FOUND] < wanted:
        if state[SPUR] < 0:
            if state[WAITING] == 0:
                return NONE
            if met > budget:
                return PAUSED
            s = space.waiting[0]
            leaf = nodes[s].leaf
            if leaf >= 0:
                leaf = _write_out(arcs, space, state, leaf, goal)
                if leaf < 0:
                    return FULL
            state[WAITING] = _pop(nodes, space.key, space.waiting, state[WAITING], False)
            if leaf >= 0:
                met += _accept(arcs, space, state, s, leaf, bound, widest)
                found[state[FOUND]] = leaf
                state[FOUND] += 1
                continue
            state[SPUR], state[MET], arcs.none[1] = s, 0, arcs.none[0]
            state[STAMP] += 1
            _mark(nodes, space.spots, s, state[STAMP])
            space.spots[nodes[s].vertex].seen = 0
            _mark_children(nodes, space.spots, s)
            space.stack[0], state[STACKED], state[QUEUED] = s, 1, 0
        code, met = _search(arcs, goal, bound, widest, space, state, met, budget)
        if code != ENOUGH:
            return code
    return ENOUGH


@kernel
def write(nodes: Any, found: Any, starts: Any, vertices: Any, steps: Any) -> None:
    """vertices[starts[k] : starts[k + 1]] ← path k, steps ← the arc that leaves each vertex."""
    for k in range(len(found)):
        a = found[k]
        for place in range(starts[k], starts[k + 1]):
            vertices[place], steps[place] = nodes[a].vertex, nodes[a].arc
            a = nodes[a].parent


def arcs_of(begin: np.ndarray, tails: np.ndarray, weights: np.ndarray, d: np.ndarray, none: Any) -> Arcs:
    """Arcs of which no best one is known yet."""
    return Arcs(begin, tails, weights, d, np.full(len(d), -1, np.int64), np.array([none] * 2, d.dtype))


class Ranked:
    """Simple paths from a source to a target, the best first, none beyond `bound`; `widest` ones by the worst arc."""

    #: Whether all paths are found, and whether there are vertices too far to be compared.
    ended = far = False

    def __init__(self, arcs: Arcs, source: int, target: int, bound: Any, widest: bool) -> None:
        self._arcs, self._goal, self._bound, self._widest = arcs, source, arcs.d.dtype.type(bound), widest
        self._space = _space(1024, np.zeros(len(arcs.d), SPOT), np.empty_like(arcs.d))
        self._found, self._state, self._taken = np.zeros(16, np.int32), np.zeros(STATES, np.int64), 0
        self._state[[NODES, KEPT, SPUR]] = 1, 1, -1
        self._space.nodes[0] = target, -1, 0, -1, -1, -1, -1, 0, 0, -1
        self._space.f[0] = self._space.key[0] = d = arcs.d[target]
        self._space.waiting[0] = 0
        within = bool(d != arcs.none[0] and d <= self._bound)
        self._state[FOUND if source == target else WAITING] = within

    @property
    def cut(self) -> bool:
        """Whether paths were left out for their length."""
        return self.far or bool(self._state[CUT])

    def advance(self, count: int) -> bool:
        """Search on for a moment; whether so many paths are there, beside those that were taken, or all there are.

        Raises
        ------
        MemoryNeeded
            If the paths and the search do not fit.
        """
        wanted = self._taken + count
        if wanted > len(self._found):
            self._found = np.resize(self._found, max(wanted, 2 * len(self._found)))
        where = self._goal, self._bound, self._widest
        code = advance(self._arcs, *where, self._space, self._found, self._state, wanted, CALL)
        if code == FULL:
            self._grow()
        self.ended = bool(code == NONE)
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
        new = _space(size, old.spots, old.low)
        for into, came in zip(new[:-2], old[:-2], strict=True):
            into[: len(came)] = came
        self._space = new


def _space(size: int, spots: np.ndarray, low: np.ndarray) -> Space:
    """Room for so many nodes."""
    need = size * (NODE.itemsize + 2 * low.itemsize + 12)
    require(need, where="k_paths", hint="Ask for fewer paths: a smaller k=, or limit=.")
    f, key = np.empty((2, size), low.dtype)
    waiting, stack, queue = np.empty((3, size), np.int32)
    return Space(np.empty(size, NODE), f, key, waiting, stack, queue, spots, low)
