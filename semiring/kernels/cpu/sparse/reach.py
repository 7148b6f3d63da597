"""Reachability by labels of an acyclic graph, and by a search from both ends that they prune; strong components.

Vertices are numbered so that arcs lead to lower numbers. Labels of u and v decide most pairs (`_decide`); the others
are searched breadth-first from u and against the arcs from v, where each vertex met is decided likewise. Sources:
intervals, Yıldırım, Chaoji and Zaki 2010 (GRAIL); Bloom filters, Su, Zhu, Wei and Yu 2017 (BFL); supports and levels,
Hanauer, Schulz and Trummer 2022 (O'Reach); components, Pearce 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inner, kernel
from ..instructions import Array

#: Label of a vertex u, which reaches all of `first` … u, none below `low`. `height`, `depth`: arcs of a longest walk to
#: a sink, and from a source. Bloom filters of what u reaches (`below`) and what reaches u (`above`); bits of the
#: supports that u reaches (`to`), and that reach u (`of`).
LABEL = np.dtype(
    [
        *((name, np.uint32) for name in ("first", "low", "height", "depth")),
        *((name, np.uint64) for name in ("below", "above", "to", "of")),
    ]
)
#: Frame of a depth-first search: the vertex, its number in order of discovery, its next arc.
FRAME = np.dtype([("vertex", np.uint32), ("found", np.uint32), ("arc", np.int64)])
#: Neighbours in number that share a bit of a Bloom filter; bits of a word.
SHARED, BITS = 16, 64
#: Answers: no and yes are 0 and 1.
OPEN = 2

_ONE = np.uint64(1)


@kernel
def group(keys: Array, values: Array, place: Array, grouped: Array, low: int, high: int) -> None:
    """grouped[place[k]] ← value of key k, of entries low … high − 1 in order; place moves on to the next."""
    for e in range(low, high):
        k = keys[e]
        grouped[place[k]] = values[e]
        place[k] += 1


@inner
def _enter(start: Array, low: Array, frames: Array, state: Array, v: Any) -> None:
    state[1] += 1
    F = frames[state[1]]
    F.vertex, F.found, F.arc = v, state[2], start[v]
    low[v] = state[2]
    state[2] += 1


@kernel
def components(start: Array, heads: Array, low: Array, frames: Array, held: Array, state: Array, budget: int) -> bool:
    """Search for strong components for `budget` steps; whether that is all.

    low : zeros at first; then 2³² − 1 less the number of the component, arcs lead to lower numbers
    held : vertices whose component is not complete
    state = [next root, place of the frame, number of vertices found and one, that of vertices held, 2³² − 1 less that
    of components] : [0, −1, 1, 0, 2³² − 1] at first
    """
    for _ in range(budget):
        if state[1] < 0:
            while state[0] < len(low) and low[state[0]]:
                state[0] += 1
            if state[0] == len(low):
                return True
            _enter(start, low, frames, state, state[0])
        F = frames[state[1]]
        v, e = F.vertex, F.arc
        least, end = low[v], start[v + 1]
        while e < end and low[heads[e]]:
            least = min(least, low[heads[e]])
            e += 1
        low[v], F.arc = least, e
        if e < end:
            _enter(start, low, frames, state, heads[e])
            continue
        state[1] -= 1
        if least < F.found:
            held[state[3]] = v
            state[3] += 1
            continue
        while state[3] and low[held[state[3] - 1]] >= least:
            state[3] -= 1
            low[held[state[3]]] = state[4]
        low[v] = state[4]
        state[4] -= 1
    return False


@kernel
def choose(start: Array, begin: Array, sizes: Array, L: Array, bit: int) -> None:
    """Labels of vertices alone, a 64th of them; that with most walks of two arcs through it becomes a support."""
    n, support, most = len(L), -1, -1.0
    for v in range(bit * n // BITS, (bit + 1) * n // BITS):
        L[v].low = v
        L[v].below = L[v].above = _ONE << np.uint64(v // SHARED % BITS)
        walks = float(start[v + 1] - start[v] + 1) * (begin[v + 1] - begin[v] + 1) * sizes[v]
        if walks > most:
            support, most = v, walks
    if support >= 0:
        L[support].to = L[support].of = _ONE << np.uint64(bit)


@kernel
def ascend(start: Array, heads: Array, L: Array, low: int, high: int) -> None:
    """Labels by what vertices low … high − 1 reach, out of those of their heads."""
    for u in range(low, high):
        U = L[u]
        covered = np.int64(u)  # u reaches all of covered … u
        for e in range(start[u + 1] - 1, start[u] - 1, -1):
            H = L[heads[e]]
            if heads[e] + 1 == covered:
                covered = np.int64(H.first)
            U.low, U.height = min(U.low, H.low), max(U.height, H.height + 1)
            U.below |= H.below
            U.to |= H.to
        U.first = covered


@kernel
def descend(start: Array, heads: Array, L: Array, low: int, high: int) -> None:
    """Labels by what reaches the heads of vertices high − 1 … low."""
    for u in range(high - 1, low - 1, -1):
        U = L[u]
        for e in range(start[u], start[u + 1]):
            H = L[heads[e]]
            H.depth = max(H.depth, U.depth + 1)
            H.above |= U.above
            H.of |= U.of


@inner
def _decide(L: Array, u: Any, v: Any) -> int:
    """Whether u reaches v: 0, 1, or OPEN. Without branches, so that labels of several pairs load at a time."""
    U, V = L[u], L[v]
    yes = (v <= u) & ((v >= U.first) | ((U.to & V.of) != 0))
    no = (v > u) | (v < U.low) | ((u != v) & ((U.height <= V.height) | (U.depth >= V.depth)))
    no |= ((V.below & ~U.below) | (U.above & ~V.above) | (V.to & ~U.to) | (U.of & ~V.of)) != 0
    return 1 if yes else 0 if no else OPEN


@kernel
def decide(L: Array, sources: Array, targets: Array, answers: Array) -> None:
    """Answers by the labels alone."""
    for k in range(len(sources)):
        answers[k] = _decide(L, sources[k], targets[k])


@inner
def _search(starts: Array, ends: Array, L: Array, u: Any, v: Any, met: Array, queues: Array) -> Any:
    """Whether u reaches v, where labels leave it open, and the number of arcs seen; met (zeros) is left as it was."""
    queues[0, 0], queues[1, 0] = u, v
    met[u], met[v] = 1, 2
    side, done, end, done_there, end_there, seen, found = 0, 0, 1, 0, 1, 0, False
    while done < end and done_there < end_there and not found:
        if end - done > end_there - done_there:
            side, done, end, done_there, end_there = 1 - side, done_there, end_there, done, end
        x = queues[side, done]
        done += 1
        for e in range(starts[side][x], starts[side][x + 1]):
            y = ends[side][e]
            answer = 1 if met[y] == 2 - side else 0
            if not met[y]:
                answer = _decide(L, u, y) if side else _decide(L, y, v)
            seen += 1
            if answer == OPEN:
                met[y], queues[side, end] = side + 1, y
                end += 1
            elif answer:
                found = True
                break
    for k in range(end):
        met[queues[side, k]] = 0
    for k in range(end_there):
        met[queues[1 - side, k]] = 0
    return found, seen


@kernel
def search(
    starts: Array, ends: Array, L: Array, sources: Array, targets: Array, answers: Array, met: Array, queues: Array,
    first: int, budget: int,
) -> Any:  # fmt: skip
    """Close OPEN answers from the pair `first` on, until about `budget` arcs are seen: the next pair, and arcs."""
    seen = 0
    for k in range(first, len(sources)):
        if seen >= budget:
            return k, seen
        if answers[k] == OPEN:
            found, more = _search(starts, ends, L, sources[k], targets[k], met, queues)
            answers[k] = found
            seen += more
    return len(sources), seen


@kernel
def spread(start: Array, heads: Array, found: Array, stack: Array, count: int, budget: int) -> int:
    """found ← also all that the `count` vertices on the stack reach; the number left there after `budget` steps."""
    for _ in range(budget):
        if not count:
            break
        count -= 1
        v = stack[count]
        for e in range(start[v], start[v + 1]):
            if not found[heads[e]]:
                found[heads[e]] = True
                stack[count] = heads[e]
                count += 1
    return count


@kernel
def reduce(
    starts: Array, ends: Array, L: Array, tails: Array, needed: Array, met: Array, queues: Array, left: int, budget: int
) -> int:
    """needed[e] ← whether no walk through another head of its tail replaces arc e, from left − 1 down; those left."""
    for e in range(left - 1, -1, -1):
        if budget <= 0:
            return e + 1
        v = ends[0][e]
        for other in range(e + 1, starts[0][tails[e] + 1]):
            if needed[e] and needed[other]:
                u = ends[0][other]
                answer = _decide(L, u, v)
                budget -= 1
                if answer == OPEN:
                    answer, seen = _search(starts, ends, L, u, v, met, queues)
                    budget -= seen
                needed[e] = not answer
    return 0
