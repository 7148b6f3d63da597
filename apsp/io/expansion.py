"""Graphs with turns: vertices split into copies, so that a walk over copies weighs what its turns cost (docs/turns.md).

A copy stands for the arcs into a vertex that may be continued at the same costs, or for the part of a restriction by
way that has been passed. A vertex without turn costs is not split. A split vertex has two more: the start of its
walks, which keeps its number and has free turns, and the goal, which all copies lead to. So the row of the start and
the column of the goal hold the vertex's distances (edge-based graphs: Caldwell 1961, "On finding minimum routes in a
network with turn penalties"; arcs whose turns cost the same share a copy, as in Geisberger and Vetter 2011, "Efficient
routing in road networks with turn costs").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.ranges import positions
from semiring.algebra.records import Semiring
from semiring.dense.cycles import Lengths
from semiring.host.errors import AlgebraError, DomainError
from semiring.host.types import Edges
from semiring.sparse.csr.matrix import arranged
from semiring.sparse.order import inverse
from semiring.sparse.turning import groups, joined

from .graph import Graph
from .graph.entries import both_ways
from .labels import Labels


@dataclass(frozen=True)
class Turns:
    """Costs of sequences of arcs, `arcs[starts[k] : starts[k + 1]]`, at least two that meet; inf forbids.

    Arcs are numbered as `arcs_of` lists them; the last of equal sequences counts. `u_turns` is the cost of a way back
    to the vertex that one comes from, where no sequence says another, and there is another way out.
    """

    arcs: np.ndarray
    starts: np.ndarray
    costs: np.ndarray
    u_turns: float = 0.0

    def checked(self, graph: Graph) -> Turns:
        """Itself; ValueError unless its sequences are of arcs of the graph that meet, and have costs."""
        (tails, heads, _), inner = arcs_of(graph), np.ones(len(self.arcs), bool)
        inner[self.starts[:-1]] = False
        right = self.starts[0] == 0 and self.starts[-1] == len(self.arcs) and len(self.costs) == len(self.starts) - 1
        meet = heads[self.arcs[:-1]] == tails[self.arcs[1:]]
        long = (np.diff(self.starts) > 1).all() and (self.costs > -np.inf).all()
        if not (right and long and meet[inner[1:]].all()):
            raise ValueError("turns that do not follow arcs")
        return self

    def followed_by(self, other: Turns) -> Turns:
        """Concatenation; of equal sequences the cost of `other` counts."""
        arcs, costs = (np.concatenate(pair) for pair in ((self.arcs, other.arcs), (self.costs, other.costs)))
        return Turns(arcs, np.concatenate((self.starts, other.starts[1:] + self.starts[-1])), costs, self.u_turns)


class Copies(Sequence[Any]):
    """The names of copies, which are those of their vertices."""

    def __init__(self, labels: Labels, origin: np.ndarray) -> None:
        self.labels, self.origin = labels, origin

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, k: Any) -> Any:
        return self.labels[int(self.origin[k])]


@dataclass(frozen=True, eq=False)
class Expansion:
    """A graph whose vertices are copies of those of a graph with turns; vertex v begins at copy v.

    Attributes
    ----------
    graph : Graph
        Directed, its arcs in any order.
    goal : int64 array, shape (n,)
        The copy at which walks to a vertex end; those of split vertices are the last copies.
    origin : int64 array, shape (copies,)
        The vertex of each copy.
    edges : int64 array, shape (arcs,)
        The edge that each arc stands for, as the given graph lists it; −1 for the arcs into goals.
    costs : int64 or float64 array, shape (arcs,)
        The cost of the turn before it.
    charged : int
        No less than any cost's size, 0 if all are free.
    turns : Turns
    """

    graph: Graph
    goal: np.ndarray
    origin: np.ndarray
    edges: np.ndarray
    costs: np.ndarray
    charged: int
    turns: Turns

    @cached_property
    def split(self) -> np.ndarray:
        """The vertices that have several copies."""
        return np.flatnonzero(self.goal >= len(self.goal))

    @property
    def note(self) -> str:
        return f"turns: {len(self.split):,} of {len(self.goal):,} vertices split, {len(self.origin):,} copies"

    def of(self, graph: Graph, s: Semiring) -> Expansion:
        """Expansion with new weights of the same edges; AlgebraError if the semiring adds no lengths."""
        weights = np.ones(graph.edge_count, np.int64) if graph.weights is None else graph.weights
        return replace(self, graph=replace(self.graph, weights=_weighed(weights, self, s)))

    def along(self, values: np.ndarray) -> np.ndarray:
        """A quantity of edges, by arc of the copies."""
        return np.where(self.edges < 0, 0, values[self.edges])

    def carried(self, flows: np.ndarray, count: int) -> np.ndarray:
        """Flows on arcs of the copies, by edge."""
        used = self.edges >= 0
        return np.bincount(self.edges[used], flows[used], count).astype(float)  # of none it is integers

    def walks(self, copies: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Walks over copies, in CSR, as walks over vertices."""
        kept = copies < len(self.origin) - len(self.split)
        return self.origin[copies[kept]], np.concatenate(([0], kept.cumsum()))[starts]


def arcs_of(graph: Graph) -> Edges:
    """Tails, heads and edges of all arcs: each edge, then, if undirected, all but loops backwards."""
    assert graph.rows is not None
    assert graph.cols is not None
    rows, cols = (np.ascontiguousarray(ends, np.int64) for ends in (graph.rows, graph.cols))  # for kernels
    every = np.arange(len(rows))
    return (rows, cols, every) if graph.directed else both_ways(rows, cols, every)


def expand(graph: Graph, turns: Turns, s: Semiring) -> Expansion:
    """Copies of the vertices of a list of edges, one for all arcs whose turns cost the same.

    A state is an arc into a vertex, the beginning of a walk there, or a way: two or more arcs with which a longer
    sequence begins. Its row has the cost of each arc out of the vertex, and the state that follows; states of equal
    rows share a copy. O(m log m) for the m arcs at vertices with turns.
    """
    (tails, heads, edges), n = arcs_of(graph), graph.n
    order, m = np.argsort(tails, kind="stable"), len(tails)
    degree, place = np.bincount(tails, minlength=n), np.empty(m, np.int64)
    first = np.cumsum(degree) - degree
    place[order] = np.arange(m)
    counts, begins = np.diff(turns.starts), turns.starts[:-1]
    longer = {
        tuple(turns.arcs[begins[k] : turns.starts[k + 1]].tolist()): float(turns.costs[k])
        for k in np.flatnonzero(counts > 2).tolist()
    }
    ways = sorted({walk[:size] for walk in longer for size in range(2, len(walk))})
    turning, inner = np.full(n, bool(turns.u_turns)), np.ones(len(turns.arcs), bool)
    inner[turns.starts[1:] - 1] = False
    turning[heads[turns.arcs[inner]]] = True
    # One row a state, by vertex: where walks begin, arcs, ways.
    vertices, into = np.flatnonzero(turning), np.flatnonzero(turning[heads])
    last = np.concatenate((np.full(len(vertices), -1), into, np.array([way[-1] for way in ways], np.int64)))
    at = np.concatenate((vertices, heads[last[len(vertices) :]]))
    (starts, by_vertex), states = arranged(at, n, "cpu"), np.append(into, np.arange(m, m + len(ways)))
    row_of = np.full(m + len(ways), -1)
    row_of[states] = inverse(by_vertex)[len(vertices) :]
    last, at = last[by_vertex], at[by_vertex]
    width = degree[at]
    begin = np.append(0, width.cumsum())
    after = begin[:-1] - first[at]  # what an arc's place is in a row, beyond that among all
    out = order[positions(first[at], width)]
    cost, then = np.zeros(len(out)), out.copy()
    if turns.u_turns:
        came, least, greatest = np.repeat(last, width), np.full(n, n), np.full(n, -1)
        np.minimum.at(least, tails, heads)
        np.maximum.at(greatest, tails, heads)
        back = (came >= 0) & (heads[out] == tails[came]) & (heads[out] != tails[out])
        cost[back & (least[tails[out]] < greatest[tails[out]])] = turns.u_turns  # no dead ends
    pairs = begins[counts == 2]
    cost[after[row_of[turns.arcs[pairs]]] + place[turns.arcs[pairs + 1]]] = turns.costs[counts == 2]
    number = {way: m + k for k, way in enumerate(ways)}
    for way, state in number.items():
        row, base = (slice(begin[r], begin[r + 1]) for r in row_of[[state, way[-1]]])
        cost[row] = cost[base]
        if len(way) == 2:
            then[after[row_of[way[0]]] + place[way[1]]] = state
    for way, state in number.items():
        for k in range(begin[row_of[state]], begin[row_of[state] + 1]):
            ends = [(*way, int(out[k]))[-size:] for size in range(len(way) + 1, 1, -1)]
            cost[k] += sum(longer.get(end, 0.0) for end in ends)
            then[k] = next((number[end] for end in ends if end in number), then[k])
    group, shown = groups(starts, begin, cost)
    while ways:  # states that follow must be of the same group, too (Moore 1956, of automata)
        follows = np.where(row_of[then] < 0, -1, group[row_of[then]])
        finer = groups(starts, begin, cost, follows.astype(float))
        if len(finer[1]) == len(shown):
            break
        group, shown = finer
    copy, more = at[shown], last[shown] >= 0
    origin = np.concatenate((np.arange(n), copy[more]))
    copy[more] = np.arange(n, len(origin))
    entered = np.append(heads, np.zeros(len(ways), np.int64))
    entered[states] = copy[group[row_of[states]]]
    split = np.bincount(at[shown], minlength=n) > 1
    goal = np.arange(n)
    goal[split] = np.arange(len(origin), len(origin) + np.count_nonzero(split))
    row = shown[split[at[shown]]]
    owner, ends = copy[group[row]], goal[at[row]]
    rows, cols, edges, costs = joined((tails, heads, edges), entered, split, row, owner, ends, begin, out, then, cost)
    charged = math.ceil(max(costs.max(initial=0), -costs.min(initial=0)))
    if charged < 2**53 and (costs == (exact := costs.astype(np.int64))).all():
        costs = exact
    origin = np.concatenate((origin, np.flatnonzero(split)))
    copies: Any = Copies(graph.labels, origin)
    made = Graph(len(origin), copies, rows=rows, cols=cols, name=graph.name)
    return Expansion(made, goal, origin, edges, costs, charged, turns).of(graph, s)


def _weighed(weights: np.ndarray, made: Expansion, s: Semiring) -> np.ndarray:
    """Weights of arcs of the copies: of their edges, with the costs of turns; integers if all are."""
    costs, lengths = made.costs, Lengths.of(s)
    if made.charged and (lengths is None or lengths.logarithmic):
        raise AlgebraError(
            f"turns: their costs are added to weights, over min_plus and its like, got {s.name}. Forbid them, by inf."
        )
    if weights.dtype.kind == "i" and made.charged:
        info = np.iinfo(np.int64)
        closed = (weights == info.max) | (weights == info.min)
        most = int(np.abs(weights[~closed]).max(initial=0))
        if costs.dtype.kind == "f":
            if most > 2**53:
                raise DomainError(f"turns: beside weights above 2⁵³, costs must be integers below, got {most}.")
            weights = np.where(closed, np.copysign(np.inf, weights), weights)
        elif most + made.charged >= info.max:
            raise DomainError(
                f"turns: weights and costs must fit 64 bits together, got {most + made.charged}. Choose a larger unit."
            )
        elif closed.any():
            costs = np.where(closed[made.edges], 0, costs)
    own = np.append(weights, dtypes.encode(s.one, weights.dtype)).take(made.edges, mode="wrap")  # −1 is the last
    return np.add(own, costs, out=own if own.dtype == costs.dtype else None) if made.charged else own
