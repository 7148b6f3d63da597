"""Distances and paths of all pairs, in NetworkX's containers and order: source, then by distance, then node order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from networkx.utils.backends import _registered_algorithms

from semiring.dense.ranking import in_batches
from semiring.host.errors import NegativeCycleError
from semiring.host.types import Label, Weight

from ...csgraph.engines import Rows
from ...road.log import warn
from .graphs import AllLengths, Arcs, Converted, Lengths, hand_over_if, nonnegative, without_cycle

T = TypeVar("T")
#: {node: its predecessor} and {node: path}, from one source.
Parents = dict[Label, Label]
Paths = dict[Label, list[Label]]


# Between two vertices


def shortest_simple_paths(G: Converted, source: Label, target: Label, weight: Weight = None) -> Iterator[list[Label]]:
    """Simple paths, the shortest first: `networkx.shortest_simple_paths`; equal ones in `Result.k_paths`' order."""
    hand_over_if(source not in G or target not in G)
    arcs, (start, end) = nonnegative(G, weight), G.positions([source, target]).tolist()
    row = arcs.distances(np.array([start]))[0]
    hand_over_if(row[end] == np.inf)
    for starts, vertices, _ in in_batches(arcs.ranking.search(row, start, end)):
        nodes = [G.nodes[x] for x in vertices.tolist()]
        yield from (nodes[a:b] for a, b in pairwise(starts.tolist()))


# From every vertex, by distance


def all_pairs_shortest_path_length(G: Converted, cutoff: float | None = None) -> Iterator[tuple[Label, Lengths]]:
    """(node, {node: number of edges}): `networkx.all_pairs_shortest_path_length`."""
    for node, lengths, _ in _all(G, _unweighted(G, cutoff), cutoff):
        yield node, lengths


def all_pairs_dijkstra_path_length(
    G: Converted, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Label, Lengths]]:
    """(node, {node: distance}): `networkx.all_pairs_dijkstra_path_length`."""
    for node, lengths, _ in _all(G, nonnegative(G, weight), cutoff):
        yield node, lengths


def all_pairs_bellman_ford_path_length(G: Converted, weight: Weight = "weight") -> Iterator[tuple[Label, Lengths]]:
    """(node, {node: distance}): `networkx.all_pairs_bellman_ford_path_length`."""
    for node, lengths, _ in _all(G, without_cycle(G, weight)):
        yield node, lengths


def all_pairs_shortest_path(G: Converted, cutoff: float | None = None) -> Iterator[tuple[Label, Paths]]:
    """(node, {node: path}): `networkx.all_pairs_shortest_path`."""
    for node, _, paths in _all(G, _unweighted(G, cutoff), cutoff, paths=True):
        yield node, paths


def all_pairs_dijkstra_path(
    G: Converted, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Label, Paths]]:
    """(node, {node: path}): `networkx.all_pairs_dijkstra_path`."""
    for node, _, paths in _all(G, nonnegative(G, weight), cutoff, paths=True):
        yield node, paths


def all_pairs_dijkstra(
    G: Converted, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Label, tuple[Lengths, Paths]]]:
    """(node, ({node: distance}, {node: path})): `networkx.all_pairs_dijkstra`."""
    for node, lengths, paths in _all(G, nonnegative(G, weight), cutoff, paths=True):
        yield node, (lengths, paths)


def all_pairs_bellman_ford_path(G: Converted, weight: Weight = "weight") -> Iterator[tuple[Label, Paths]]:
    """(node, {node: path}): `networkx.all_pairs_bellman_ford_path`."""
    for node, _, paths in _all(G, without_cycle(G, weight), paths=True):
        yield node, paths


def johnson(G: Converted, weight: Weight = "weight") -> dict[Label, Paths]:
    """{node: {node: path}}: `networkx.johnson`."""
    return {node: paths for node, _, paths in _all(G, without_cycle(G, weight), paths=True)}


def metric_closure(G: Converted, weight: Weight = "weight") -> nx.Graph:
    """The complete graph of distances and paths: `networkx.algorithms.approximation.metric_closure`."""
    hand_over_if(not len(G))
    arcs = nonnegative(G, weight)
    warn(
        "metric_closure is deprecated and will be removed in NetworkX 3.8.\n"
        "Use nx.all_pairs_shortest_path_length instead.",
        DeprecationWarning,
    )
    M, left = nx.Graph(), set(G)
    for u, lengths, paths in _all(G, arcs, paths=True):
        if len(lengths) < len(G):
            raise nx.NetworkXError("G is not a connected graph. metric_closure is not defined.")
        left.remove(u)
        for v in left:
            M.add_edge(u, v, distance=lengths[v], path=paths[v])
    return M


# Floyd–Warshall


def floyd_warshall(G: Converted, weight: Weight = "weight") -> AllLengths:
    """{node: {node: distance}}, inf where there is no path: `networkx.floyd_warshall`."""
    arcs = _arcs_by_attribute(G, weight)
    return _table(G, arcs, _raise_unbounded(arcs.distances))


def floyd_warshall_predecessor_and_distance(
    G: Converted, weight: Weight = "weight"
) -> tuple[dict[Label, Parents], AllLengths]:
    """({node: {node: the node before it}}, distances): `networkx.floyd_warshall_predecessor_and_distance`."""
    arcs = _arcs_by_attribute(G, weight)
    D, P = _raise_unbounded(Rows(arcs).with_predecessors)
    loops = arcs.tails[arcs.tails == arcs.heads]
    P[loops, loops] = loops
    nodes, before = G.nodes, {}
    for i, (order, row) in enumerate(zip(_filling_order(G, arcs).tolist(), P.tolist(), strict=True)):
        found = {nodes[j]: nodes[row[j]] for j in order if row[j] >= 0}
        if found:
            before[nodes[i]] = found
    return before, _table(G, arcs, D)


def floyd_warshall_tree(G: Converted, weight: Weight = "weight") -> tuple[dict[Label, Parents], AllLengths]:
    """`networkx.floyd_warshall_tree` (since 3.7), another name of the same."""
    return floyd_warshall_predecessor_and_distance(G, weight)


def floyd_warshall_numpy(
    G: Converted, nodelist: Sequence[Label] | None = None, weight: Weight = "weight"
) -> np.ndarray:
    """The matrix of distances, float64: `networkx.floyd_warshall_numpy`."""
    if nodelist is not None and not len(nodelist) == len(G) == len(set(nodelist)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    hand_over_if(not len(G) or (nodelist is not None and set(nodelist) != set(G)))
    D = _raise_unbounded(_arcs_by_attribute(G, weight).distances)
    if nodelist is None:
        return D
    order = G.positions(nodelist)
    return D[np.ix_(order, order)]


def _table(G: Converted, arcs: Arcs, D: np.ndarray) -> AllLengths:
    order, infinite = _filling_order(G, arcs), partial(float, "inf")
    D = np.take_along_axis(D, order, axis=1)
    unreachable = np.isinf(D)
    values = arcs.numbers(np.where(unreachable, 0, D))
    for i, j in zip(*(axis.tolist() for axis in np.nonzero(unreachable)), strict=True):
        values[i][j] = math.inf
    keys = G.names[order].tolist()
    table: AllLengths = {
        node: defaultdict(infinite, zip(k, v, strict=True)) for node, k, v in zip(G.nodes, keys, values, strict=True)
    }
    for node, row in table.items():
        row[node] = 0  # an int, whatever the weights are
    return table


def _filling_order(G: Converted, arcs: Arcs) -> np.ndarray:
    """For each source the order in which NetworkX's Floyd–Warshall first writes its entries.

    Neighbours in adjacency order, itself (unless among them), then others. Before NetworkX 3.7 itself first, and
    undirected neighbours in edge order.
    """
    n, tails, heads = arcs.n, arcs.tails, arcs.heads
    old = "floyd_warshall_tree" not in _registered_algorithms
    by_edges = old and not G.is_directed()
    listed = np.flatnonzero(tails <= heads) if by_edges else np.arange(len(heads))
    first = np.full((n, n), len(heads) + 1, np.int64)
    first[tails[listed], heads[listed]] = listed
    if by_edges:
        first = np.minimum(first, first.T)
    own = np.einsum("ii->i", first)
    own[:] = -1 if old else np.minimum(own, len(heads))
    return np.argsort(first, axis=1, kind="stable")


# Helpers


def _all(
    G: Converted, arcs: Arcs, cutoff: float | None = None, *, paths: bool = False
) -> Iterator[tuple[Label, Lengths, Paths]]:
    """(node, {node: distance}, {node: path}) for every node; paths on request."""
    every, nodes = G.names, G.nodes
    most = np.finfo(np.float64).max
    bound = most if cutoff is None or cutoff != cutoff else min(cutoff, most)  # NaN excludes nothing
    blocks = arcs.blocks_with_predecessors() if paths else ((part, D, None) for part, D in arcs.blocks())
    for sources, D, P in blocks:
        for k, order in enumerate(_by_distance(D, sources, arcs)):
            S = D[k, order]
            count = 1 + int(np.searchsorted(S[1:], bound, side="right"))
            values = arcs.numbers(S[:count])
            values[0] = 0  # an int, whatever the weights are
            order = order[:count]
            lengths = dict(zip(every[order].tolist(), values, strict=True))
            yield nodes[sources[k]], lengths, {} if P is None else _paths(nodes, order.tolist(), P[k].tolist())


def _by_distance(D: np.ndarray, sources: np.ndarray, arcs: Arcs) -> Iterator[np.ndarray]:
    """Per row the vertices by distance, source first, ties by position."""
    finite = D[np.isfinite(D)] if arcs.integral else D[:0]
    low, high = finite.min(initial=0), finite.max(initial=0)
    shift = D.shape[1].bit_length()
    if arcs.integral and max(-low, high) < 2.0 ** (62 - shift):
        # Distance and position packed in one integer: distinct keys sort fastest.
        keys = (np.where(np.isinf(D), high + 1, D).astype(np.int64) << shift) | np.arange(D.shape[1])
        keys[np.arange(len(D)), sources] = np.iinfo(np.int64).min + sources
        keys.sort(axis=1)
        yield from keys & ((1 << shift) - 1)
        return
    for row, source in zip(D, sources.tolist(), strict=True):
        row = row.copy()
        row[source] = -math.inf
        order = np.argsort(row)
        S = row[order]
        # A stable sort is slower.
        yield np.argsort(row, kind="stable") if (S[1:] == S[:-1]).any() else order


def _paths(nodes: list[Label], order: list[int], before: list[int]) -> Paths:
    """{node: path} for `order`, source first, each path extending its predecessor's."""
    source = order[0]
    found: list[Any] = [None] * len(nodes)
    paths = {nodes[source]: [nodes[source]]}
    found[source] = paths[nodes[source]]
    for j in order[1:]:
        path = found[before[j]]
        if path is None:  # the predecessor, at equal distance, is later in the order
            path = _chained(nodes, found, before, before[j])
        if found[j] is None:
            found[j] = [*path, nodes[j]]
        paths[nodes[j]] = found[j]
    return paths


def _chained(nodes: list[Label], found: list[Any], before: list[int], j: int) -> list[Label]:
    """The path of j, after completing those of its predecessors."""
    missing = []
    while found[j] is None:
        missing.append(j)
        j = before[j]
    path: list[Label] = found[j]
    for k in reversed(missing):
        path = found[k] = [*path, nodes[k]]
    return path


def _arcs_by_attribute(G: Converted, weight: Weight) -> Arcs:
    """The arcs; Unsupported for a weight function, which NetworkX's Floyd–Warshall does not call."""
    hand_over_if(callable(weight))
    return G.arcs(weight)


def _unweighted(G: Converted, cutoff: float | None) -> Arcs:
    """Arcs that weigh 1; Unsupported unless the cutoff counts them."""
    hand_over_if(cutoff is not None and not math.isinf(cutoff) and cutoff % 1 != 0)
    return G.arcs()


def _raise_unbounded(compute: Callable[[], T]) -> T:
    """compute(), with NetworkX's exception for a negative cycle."""
    try:
        return compute()
    except NegativeCycleError:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from None
