"""Approximate minimum degree by parts: interiors of vertex ranges in parallel, then the rest.

Of neighbours in two parts, the one in the later part is *frozen*: no part eliminates it. So vertices eliminated in
different parts are never adjacent, and each part has its own quotient graph. Frozen neighbours, a part's *halo*, count
in degrees (Pellegrini, Roman and Amestoy 2000, "Hybridizing nested dissection and halo approximate minimum degree"). A
part stops at vertices of more than BOUND neighbours; the remainders form one quotient graph, in which frozen vertices
are eliminated in turn. So parts need no good separators.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..algebra.ranges import positions
from ..kernels.cpu.pool import run

#: Graphs of CUT vertices are cut into at most MOST parts of at least LEAST, unless a larger share than FROZEN is
#: frozen. The order does not depend on threads.
CUT, LEAST, MOST, FROZEN = 100_000, 15_000, 16, 0.1
#: Most neighbours of a vertex eliminated within a part. With 24, sweeps take 3 % longer than with one part, with 5
#: below 1 %.
BOUND = 16
#: Vertices of at most LOW neighbours are eliminated on the graph itself, if each neighbour has at most SEARCHED, and
#: has gained at most SPARE.
LOW, SPARE, SEARCHED = 3, 4, 64
#: Where no walk passes through more than a share ENDS of the vertices, these go first if they have at most ENDING
#: neighbours, and each of them has gained at most ROOM.
ENDS, ENDING, ROOM = 1 / 8, 5, 12
#: Vertices of more than max(16, FACTOR √n) neighbours are ordered last: their lists would be read again at each step.
FACTOR = 10
#: Most vertices that can queue 1 + LOW times each with 32-bit indices; largest stamp of quotient graphs.
NUMBERED, STAMPS = 2**30, 2**31 - 1

_NOTHING = np.empty(0, np.int64)


def cuts(n: int) -> list[int]:
    """Boundaries of the parts of n vertices."""
    parts = max(1, min(MOST, n // LEAST)) if n >= CUT else 1
    return [n * k // parts for k in range(parts + 1)]


def spans(n: int) -> list[tuple[int, int]]:
    return list(pairwise(cuts(n)))


class Quotient:
    """Quotient graph after some variables were eliminated.

    V, lists               array of cpu.sparse.degree.VERTEX (nodes + 1,), uint32 lists
    inner                  nodes that may be eliminated, and elements; the halo follows
    into, step (nodes,)    absorbing node (−1: none, −2: hub), pivot step (−1: none)
    above (steps,)         vertices of each step besides the pivot
    dense, hubs            vertices left that are as good as complete (with hubs), hubs among them
    """

    def __init__(
        self, V: np.ndarray, lists: np.ndarray, inner: int, total: int, most: int,
        start: np.ndarray = _NOTHING, limit: float = math.inf,
    ) -> None:  # fmt: skip
        from ..kernels.cpu.sparse import degree

        n, size = len(V) - 1, len(lists)
        self.V, self.inner = V, inner
        self.lists = np.empty(min(size + size // 5 + n + 1, 2**32 - 1), np.uint32)
        self.lists[:size] = lists
        self.into, self.step, above = *np.full((2, n), -1, np.int32), np.empty(n, np.int32)
        steps, self.dense, self.hubs = degree.minimum_degree(
            start, size, total, inner, most, limit, STAMPS, self.lists, V, self.into, self.step, above,
            np.full(total + 1, n, np.uint32), np.full(degree.HASHES, n, np.uint32),
        )  # fmt: skip
        self.above = above[:steps]

    def left(self) -> tuple[np.ndarray, int]:
        """Remaining variables and elements without the halo, and the number of vertices in these variables."""
        V, weight = self.V[: self.inner], self.V["weight"][: self.inner]
        nodes = np.flatnonzero((weight > 0) | ((self.step[: self.inner] >= 0) & (V["outside"] > 0)))
        return nodes.astype(np.uint32), int(weight[nodes].sum())


class Part:
    """Vertices of a part in local numbers, interior first, then halo; and its elimination so far.

    names             original vertices (None: all)
    halo              indices of the frozen vertices in the halo
    first             vertices eliminated on the graph itself, in order, their neighbours then in `V`
    (cpu.sparse.peeling.VERTEX) and `adjacent`
    rest              the others; `start` and `heads` are their initial graph, `graph` its quotient graph
    """

    def __init__(
        self, start: np.ndarray, heads: np.ndarray, inner: int, names: np.ndarray | None, halo: np.ndarray,
        ending: np.ndarray | None,
    ) -> None:  # fmt: skip
        from ..kernels.cpu.sparse import degree, peeling

        self.names, self.halo, n = names, halo, len(start) - 1
        low, spare = LOW if n < NUMBERED else 0, SPARE if ending is None else ROOM
        early = np.zeros(n, bool) if ending is None else ending if names is None else ending[names]
        V, adjacent = np.empty(n + 1, peeling.VERTEX), np.empty(len(heads) + n * spare, np.uint32)
        V["start"] = start + spare * np.arange(n + 1)
        first, turns = np.empty(n, np.int32), np.empty((2, 2 + n + low * n), np.uint32)
        heads_and_tails = np.zeros((2, low + 1), np.uint32)
        count = peeling.peel(start, heads, inner, low, SEARCHED, early, V, adjacent, first, *heads_and_tails, *turns)
        del turns
        self.V, self.adjacent, self.first = V, adjacent, first[:count]
        self.rest = rest = np.flatnonzero(V["turn"][:n] != peeling.GONE).astype(np.int32)
        self.start, place = np.concatenate(([0], np.cumsum(V["degree"][rest], dtype=np.int64))), np.empty(n, np.uint32)
        place[rest], self.heads = np.arange(len(rest), dtype=np.uint32), np.empty(self.start[-1], np.uint32)
        peeling.among_themselves(V, adjacent, rest, place, self.heads)
        m, limit = len(rest), max(16.0, FACTOR * len(rest) ** 0.5) if names is None else math.inf
        nodes = np.empty(m + 1, degree.VERTEX)
        self.graph = Quotient(nodes, self.heads, inner - count, m, n if names is None else BOUND, self.start, limit)

    def named(self, vertices: np.ndarray) -> np.ndarray:
        return vertices if self.names is None else self.names[vertices].view(np.int32)


def parts(
    start: np.ndarray, heads: np.ndarray, threads: int, ending: np.ndarray | None
) -> tuple[list[Part], np.ndarray, np.ndarray]:
    """Parts of a graph after their eliminations; frozen vertices; n + index of each frozen vertex, by vertex."""
    from ..kernels.cpu.sparse import peeling

    n = len(start) - 1
    ranges, place, frozen, none = spans(n), np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(0, np.uint32)
    found: dict[int, np.ndarray] = {}
    made: dict[int, Part] = {}

    def freeze(_: int, low: int, high: int) -> None:
        found[low] = frozen[low : low + peeling.freeze(start, heads, low, high, place, frozen)]

    def eliminate(_: int, low: int, high: int) -> None:
        inner = high - low - len(found[low])
        names, halo = np.empty(inner + len(outer), np.uint32), np.empty(len(outer), np.uint32)
        begin, adjacent = np.zeros(len(names) + 1, np.int64), np.empty(2 * (start[high] - start[low]), np.uint32)
        seen = np.full(len(outer), n, np.uint32)
        count = peeling.cut_out(start, heads, low, high, place, outer, seen, names, halo, begin, adjacent)
        begin = begin[: inner + count + 1]
        made[low] = Part(begin, adjacent[: begin[-1]], inner, names[: inner + count], halo[:count], ending)

    if len(ranges) == 1 or np.diff(start).max() > max(16, FACTOR * n**0.5):
        return [Part(start, heads, n, None, none, ending)], none, place
    run(freeze, ranges, threads)
    outer = np.concatenate([found[low] for low, _ in ranges])
    if len(outer) > FROZEN * n:
        return [Part(start, heads, n, None, none, ending)], none, place
    place[outer] = np.arange(n, n + len(outer), dtype=np.uint32)
    run(eliminate, ranges, threads)
    return [made[low] for low, _ in ranges], outer, place


def join(
    parts: list[Part], start: np.ndarray, heads: np.ndarray, frozen: np.ndarray, place: np.ndarray
) -> tuple[Quotient, list[np.ndarray]]:
    """Final quotient graph of all remainders, frozen vertices first, eliminated; and the nodes left of each part."""
    from ..kernels.cpu.sparse import degree

    n, count = len(start) - 1, len(frozen)
    left = [part.graph.left() for part in parts]
    ends = np.cumsum([count, *(len(nodes) for nodes, _ in left)])
    total = count + sum(vertices for _, vertices in left)
    V = np.zeros(ends[-1] + 1, degree.VERTEX)
    V["weight"][:count], V["outside"] = 1, 1
    # Edges between frozen vertices.
    degrees = start[frozen + 1] - start[frozen]
    tails = np.repeat(np.arange(count), degrees)
    found = place[heads[positions(start[frozen], degrees)]]
    tails, found = tails[found >= n], found[found >= n] - np.uint32(n)
    own = np.bincount(tails, minlength=count)
    V["length"][:count] = V["degree"][:count] = own
    calls = []
    for part, (nodes, _), low, high in zip(parts, left, ends, ends[1:], strict=False):
        graph, to = part.graph, np.empty(len(part.graph.V), np.uint32)
        to[nodes], to[graph.inner : -1] = np.arange(low, high, dtype=np.uint32), part.halo
        every = np.concatenate((nodes, np.arange(graph.inner, len(graph.V) - 1, dtype=np.uint32)))
        calls.append((graph.V, graph.lists, every, to, V))
    for call in calls:
        degree.unite(False, *call, np.empty(0, np.uint32))
    for part, (nodes, _), low, high in zip(parts, left, ends, ends[1:], strict=False):
        V["degree"][low:high] = part.graph.V["degree"][nodes]
    length = V["length"] + V["elements"].astype(np.int64)
    begin = np.cumsum(length) - length
    lists = np.empty(length.sum(), np.uint32)
    V["start"] = V["before"] = begin
    middle = begin + V["elements"]
    lists[positions(middle[:count], own)] = found
    V["after"], V["length"] = middle, length
    V["after"][:count] += own.astype(np.uint32)
    for call in calls:
        degree.unite(True, *call, lists)
    V["degree"] = np.minimum(V["degree"], np.where(V["weight"] > 0, total - V["weight"], V["degree"]))
    return Quotient(V, lists, len(V) - 1, total, total), [nodes for nodes, _ in left]
