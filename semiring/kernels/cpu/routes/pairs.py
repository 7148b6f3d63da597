"""Single distances and best paths from the panels of an elimination, without sweeping rows.

Distances from or to a vertex follow from its climb z, down a root path,

    y_C = z_C D ⊕ y_R L     (see `cpu.sparse.sweep`).

Nearby vertices share most ancestors, so that all distances near a path take few supernodes. `search` is A* with these
distances as its heuristic; `walk_back` follows predecessors by the rule of `predecessors.py`. Both are independent of
the kind: they call `losses` and `inspect` for the edges of one vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instructions import Array
from ..intrinsics import itemsize, jump, kernel, load, short, times, write, zero
from ..kinds import Kind
from ..sparse.strips import STRIP
from ..sparse.sweep import climb_alone
from .equality import tight
from .nearest import NONE, OPEN
from .plateaus import attained, nearer


@kernel
def losses(kind: Kind, exact: bool, count: int, heads: int, weights: int, d: int, x: int, lost: int) -> None:
    """lost[e] ← |d[x] − w ⊗ d[y]| for edges (x, y) of weight w; NaN if y reaches nothing, or if exact and not 0."""
    size = itemsize(kind)
    goal = load(kind, d + x * size)
    for e in range(count):
        from_head, loss = load(kind, d + short(heads, e) * size), np.nan
        if from_head != zero(kind):
            total = times(kind, load(kind, weights + e * size), from_head)
            if total == goal:
                loss = 0.0
            elif not exact:
                loss = abs(np.float64(total) - np.float64(goal))
        write(lost + 8 * e, loss)


@kernel
def inspect(
    kind: Kind, i: int, j: int, count: int, tails: int, entering: int, d: int, equal: int, attain: int, found: int
) -> None:
    """found[0] ← predecessor of j on a path from i by lines one and two of the rule, OPEN if undecided, NONE if none.

    If OPEN and `attain` is not null, attain[e] ← whether edge e attains d[j]. `equal` holds the slack and floor of
    equality.
    """
    size = itemsize(kind)
    goal, slack, floor = load(kind, d + j * size), load(kind, equal), load(kind, equal + size)
    direct = False
    for e in range(count):
        direct |= short(tails, e) == i and tight(kind, load(kind, entering + e * size), goal, slack, floor)
    before = i if direct else nearer(kind, goal, count, tails, entering, d, False, slack)
    before = before if goal != zero(kind) else NONE
    write(found, np.int32(before))
    if before == OPEN and attain:
        for e in range(count):
            k = short(tails, e)
            w, d_k = load(kind, entering + e * size), load(kind, d + k * size)
            good = k != i and attained(kind, d_k, w, goal, False, False, slack, floor)
            write(attain + 4 * e, np.int32(good))


@kernel
def reach(
    x: int, mirrored: bool, top: int, stamp: int, strip: int, size: int, down: int, z: int, y: int, d: int, tree: Array,
    done: Array, path: Array,
) -> None:  # fmt: skip
    """d[v] ← the distance of vertex x and of all columns on its root path; y has them in elimination order.

    `top` is the supernode of z's vertex; supernodes with done[s] = stamp are known.
    """
    position, permutation, owner, parent, first, begin, rows, base, leaf, panel = tree
    s, count = owner[position[x]], 0
    while s >= 0 and done[s] != stamp:
        done[s] = stamp
        path[count] = s
        count += 1
        s = parent[s]
    for q in range(count - 1, -1, -1):
        s = path[q]
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        on_path = w if leaf[s] <= top <= s else 0
        for j in range(0, w, STRIP):
            columns, p = min(STRIP, w - j), first[s] + j
            panel_strip = down + (panel[s] + j * (w + r)) * size
            jump(
                strip,
                (
                    mirrored, columns, 1, on_path, z + base[s] * size, panel_strip,
                    r, rows.ctypes.data + 4 * low, y, panel_strip + w * columns * size,
                    y + p * size, d, permutation.ctypes.data + 4 * p, size,
                ),
            )  # fmt: skip


@kernel
def distances(
    mirrored: bool, start: int, stop: int, sources: Array, targets: Array, size: int, fill: int, climb: int, strip: int,
    position: Array, permutation: Array, owner: Array, parent: Array, first: Array, begin: Array, rows: Array,
    slot: Array, base: Array, leaf: Array, panel: Array, up: int, down: int, z: int, y: int, d: int, done: Array,
    path: Array, known: Array, out: Array, state: Array,
) -> None:  # fmt: skip
    """out[q] ← the distance from sources[q] to targets[q], or back if mirrored, start ≤ q < stop.

    `known` and `out` are byte views of d and of the entries; `state`: the last stamp, and the source of z.
    """
    tree = position, permutation, owner, parent, first, begin, rows, base, leaf, panel
    for q in range(start, stop):
        i, j = sources[q], targets[q]
        if i != state[1]:
            climb_alone(fill, climb, size, mirrored, position[i], parent, owner, first, begin, slot, base, panel, up, z)
            state[0], state[1] = state[0] + 1, i
        reach(j, mirrored, owner[position[i]], state[0], strip, size, down, z, y, d, tree, done, path)
        for byte in range(size):
            out[q * size + byte] = known[j * size + byte]


@kernel
def _less(lost: Array, steps: Array, head: Array, tail: Array, a: int, b: int) -> bool:
    if lost[a] != lost[b]:
        return lost[a] < lost[b]
    if steps[a] != steps[b]:
        return steps[a] < steps[b]
    return head[a] < head[b] or (head[a] == head[b] and tail[a] < tail[b])


@kernel
def _swap(lost: Array, steps: Array, head: Array, tail: Array, a: int, b: int) -> None:
    lost[a], lost[b] = lost[b], lost[a]
    steps[a], steps[b] = steps[b], steps[a]
    head[a], head[b] = head[b], head[a]
    tail[a], tail[b] = tail[b], tail[a]


@kernel
def search(
    look: int, exact: bool, u: int, v: int, stamp: int, size: int, fill: int, climb: int, strip: int, position: Array,
    permutation: Array, owner: Array, parent: Array, first: Array, begin: Array, rows: Array, slot: Array, base: Array,
    leaf: Array, panel: Array, lower: int, upper: int, z: int, y: int, d: int, done: Array, path: Array, starts: Array,
    heads: Array, weights: int, lost: Array, steps: Array, head: Array, tail: Array, settled: Array, previous: Array,
    state: Array,
) -> int:  # fmt: skip
    """previous[x] ← the vertex before x on the path from u to v with the least loss; returns 1 if found, 0 if none.

    Returns −1 for more work, with a longer heap if it is full: the arrays `lost` … `tail`, with state[0] entries in
    use. Initially state[0] = state[1] = 0. `look` is the address of `losses`.
    """
    tree = position, permutation, owner, parent, first, begin, rows, base, leaf, panel
    top = owner[position[v]]
    if state[1] == 0:
        climb_alone(fill, climb, size, True, position[v], parent, owner, first, begin, slot, base, panel, lower, z)
        state[0], state[1] = 1, 1
        lost[0], steps[0], head[0], tail[0] = 0.0, 0, u, u
        reach(u, True, top, stamp, strip, size, upper, z, y, d, tree, done, path)
    for _ in range(1 << 16):
        count = state[0]
        if count == 0:
            return 0
        x = head[0]
        if settled[x] != stamp and count + starts[x + 1] - starts[x] > len(lost):
            return -1
        so_far, edges, came = lost[0], steps[0], tail[0]
        count -= 1
        a: Any = np.intp(0)
        _swap(lost, steps, head, tail, a, count)
        while True:
            least, left = a, 2 * a + 1
            for b in range(left, min(left + 2, count)):
                if _less(lost, steps, head, tail, b, least):
                    least = b
            if least == a:
                break
            _swap(lost, steps, head, tail, a, least)
            a = least
        state[0] = count
        if settled[x] == stamp:
            continue
        settled[x], previous[x] = stamp, came
        if x == v:
            return 1
        e = starts[x]
        degree = starts[x + 1] - e
        for k in heads[e : e + degree]:
            if done[owner[position[k]]] != stamp:
                reach(np.intp(k), True, top, stamp, strip, size, upper, z, y, d, tree, done, path)
        # losses are written behind the end of the heap, where their entries are pushed
        aside = heads.ctypes.data + 4 * e, weights + e * size
        jump(look, (exact, degree, aside[0], aside[1], d, x, lost.ctypes.data + 8 * count))
        for c in range(degree):
            k, loss = heads[e + c], lost[count + c]
            if loss != loss or settled[k] == stamp:
                continue
            a = state[0]
            state[0] = a + 1
            lost[a], steps[a], head[a], tail[a] = so_far + loss, edges + 1, k, x
            while a and _less(lost, steps, head, tail, a, (a - 1) // 2):
                _swap(lost, steps, head, tail, a, (a - 1) // 2)
                a = (a - 1) // 2
    return -1


@kernel
def _by_lines(
    look: int, i: int, j: int, ends: Array, tails: Array, entering: int, equal: int, attain: int, found: Array,
    around: Any, tree: Array, done: Array, path: Array,
) -> int:  # fmt: skip
    """`inspect` (at `look`) after computing the distances of j and of the tails of its edges."""
    top, stamp, strip, size, down, z, y, d = around
    e = ends[j]
    degree = ends[j + 1] - e
    position, owner = tree[0], tree[2]
    if done[owner[position[j]]] != stamp:
        reach(j, False, top, stamp, strip, size, down, z, y, d, tree, done, path)
    for k in tails[e : e + degree]:
        if done[owner[position[k]]] != stamp:
            reach(k, False, top, stamp, strip, size, down, z, y, d, tree, done, path)
    at_tails, at_entering = tails.ctypes.data + 4 * e, entering + e * size
    jump(look, (i, j, degree, at_tails, at_entering, d, equal, attain, found.ctypes.data))
    return found[0]


@kernel
def _level(
    look: int, i: int, j: int, ends: Array, tails: Array, entering: int, equal: int, attain: Array, found: Array,
    around: Any, tree: Array, done: Array, path: Array, queue: Array,
) -> int:  # fmt: skip
    """Number of edges back from j to the next decided vertex; −1 if too many are visited."""
    queue[0] = j
    taken, count, layer, level = 0, 1, 1, 0
    while taken < count:
        x = queue[taken]
        taken += 1
        if (
            _by_lines(look, i, x, ends, tails, entering, equal, attain.ctypes.data, found, around, tree, done, path)
            >= 0
        ):
            return level
        for e in range(ends[x], ends[x + 1]):
            known = not attain[e - ends[x]]
            for q in range(count):
                known |= queue[q] == tails[e]
            if known:
                continue
            if count == len(queue):
                return -1
            queue[count] = tails[e]
            count += 1
        if taken == layer:
            level, layer = level + 1, count
    return -1


@kernel
def walk_back(
    look: int, start: int, stop: int, sources: Array, targets: Array, size: int, fill: int, climb: int, strip: int,
    position: Array, permutation: Array, owner: Array, parent: Array, first: Array, begin: Array, rows: Array,
    slot: Array, base: Array, leaf: Array, panel: Array, lower: int, upper: int, z: int, y: int, d: int, done: Array,
    path: Array, ends: Array, tails: Array, entering: int, equal: int, queue: Array, attain: Array, also: Array,
    found: Array, walked: Array, counts: Array, vertices: Array, state: Array,
) -> int:  # fmt: skip
    """Write the paths of pairs start … stop − 1 to `vertices`, concatenated; returns the next pair.

    counts[q] ← the number of vertices of path q: 0 without a path, −1 if its predecessors need an entire row. `state`:
    number of vertices, last stamp, source of z. No edge may beat `one`. `attain` and `also` have an entry per edge into
    a vertex.
    """
    tree = position, permutation, owner, parent, first, begin, rows, base, leaf, panel
    looked_at = 0
    for q in range(start, stop):
        i, j = sources[q], targets[q]
        if i != state[2]:
            climb_alone(fill, climb, size, False, position[i], parent, owner, first, begin, slot, base, panel, upper, z)
            state[1], state[2] = state[1] + 1, i
        around = owner[position[i]], state[1], strip, size, lower, z, y, d
        walked[0], count, k = j, 1, j
        while j != i:
            k = _by_lines(look, i, j, ends, tails, entering, equal, attain.ctypes.data, found, around, tree, done, path)
            if k == OPEN:  # a plateau: breadth first from its entry
                level = _level(look, i, j, ends, tails, entering, equal, also, found, around, tree, done, path, queue)
                for e in range(ends[j], ends[j + 1]):
                    if level > 0 and attain[e - ends[j]]:
                        x = tails[e]
                        before = _level(
                            look, i, x, ends, tails, entering, equal, also, found, around, tree, done, path, queue
                        )
                        if before == level - 1:
                            k = x
                        if before < level:  # or not known
                            break
            if k < 0 or count == len(walked):
                break
            walked[count], j = k, k
            count += 1
        looked_at += count
        counts[q] = count if j == i else 0 if k == NONE else -1
        if j == i:
            if count > len(vertices) - state[0]:
                return q
            for c in range(count):
                vertices[state[0] + c] = walked[count - 1 - c]
            state[0] += count
        if looked_at > 1 << 16:
            return q + 1
    return stop
