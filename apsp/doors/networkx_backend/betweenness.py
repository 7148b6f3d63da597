"""Betweenness, and enumeration of all shortest paths, for NetworkX.

Weights must be positive; otherwise NetworkX's counts depend on the order of its search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from semiring import min_plus
from semiring.dense.ranking import ties
from semiring.dense.routes import adjoint
from semiring.host.types import Label, Weight

from ...answers.flows import Scale, Sums
from .graphs import Arcs, Converted, hand_over_if

#: Relative rounding tolerance between an arc and the distance of its ends.
_SLACK = 1e-12


def betweenness_centrality(
    G: Converted,
    k: int | None = None,
    normalized: bool = True,
    weight: Weight = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Label, float]:
    """The share of shortest paths that pass each vertex, {node: number}: `networkx.betweenness_centrality`."""
    arcs = _arcs(G, weight, k)
    sources = None if k is None or k == len(G) else _drawn(G, k, seed)
    sums = _sums(arcs, sources)
    scale = _scale(G, normalized, endpoints, sources)
    factor = np.full(len(G), scale.other)
    factor[[] if sources is None else sources] = scale.source
    return dict(zip(G.nodes, ((sums.through + bool(endpoints) * sums.ending) * factor).tolist(), strict=True))


def edge_betweenness_centrality(
    G: Converted, k: int | None = None, normalized: bool = True, weight: Weight = None, seed: Any = None
) -> dict[tuple[Label, ...], float]:
    """The share of shortest paths that take each edge, {edge: number}: `networkx.edge_betweenness_centrality`."""
    arcs = _arcs(G, weight, k)
    sources = None if k is None else _drawn(G, k, seed)
    along = _sums(arcs, sources).along * _scale(G, normalized, True, sources).other
    return _by_edge(G, arcs, along, weight)


def betweenness_centrality_subset(
    G: Converted, sources: Iterable[Label], targets: Iterable[Label], normalized: bool = False, weight: Weight = None
) -> dict[Label, float]:
    """Betweenness between some nodes: `networkx.betweenness_centrality_subset`."""
    arcs = _arcs(G, weight, None, sources)
    through = _sums(arcs, G.positions(sources), _among(G, targets)).through
    return dict(zip(G.nodes, (through * _scale(G, normalized, False, None).other).tolist(), strict=True))


def edge_betweenness_centrality_subset(
    G: Converted, sources: Iterable[Label], targets: Iterable[Label], normalized: bool = False, weight: Weight = None
) -> dict[tuple[Label, ...], float]:
    """Edge betweenness between some nodes: `networkx.edge_betweenness_centrality_subset`, evenly before no target."""
    arcs = _arcs(G, weight, None, sources)
    along = _sums(arcs, G.positions(sources), _among(G, targets), evenly=True).along
    return _by_edge(G, arcs, along * _scale(G, normalized, True, None).other, weight)


def all_shortest_paths(
    G: Converted, source: Label, target: Label, weight: Weight = None, method: str = "dijkstra"
) -> Iterator[list[Label]]:
    """Every shortest path between two nodes: `networkx.all_shortest_paths`."""
    hand_over_if(source not in G or target not in G)
    arcs = _arcs_by_method(G, weight, method)
    start, end = G.positions([source, target]).tolist()
    d = arcs.distances(np.array([start]), arcs.short)[0]
    hand_over_if(d[end] == np.inf)
    tight = _adjoint(arcs, "all_shortest_paths").tight(d, start)
    return ([G.nodes[x] for x in path.tolist()] for path in ties(tight, arcs.n, start, end, "all_shortest_paths"))


def all_pairs_all_shortest_paths(
    G: Converted, weight: Weight = None, method: str = "dijkstra"
) -> Iterator[tuple[Label, dict[Label, list[list[Label]]]]]:
    """(node, {node: every shortest path}): `networkx.all_pairs_all_shortest_paths`."""
    arcs = _arcs_by_method(G, weight, method)
    sums, nodes = _adjoint(arcs, "all_pairs_all_shortest_paths"), G.nodes
    for here, D in arcs.blocks(dtype=arcs.short):
        for start, d in zip(here.tolist(), D, strict=True):
            tight, paths = sums.tight(d, start), {start: [[nodes[start]]]}
            nearer: dict[int, list[int]] = {}
            for k, j in zip(*(ends[::-1].tolist() for ends in tight), strict=True):  # heads of arcs after their tails
                nearer.setdefault(j, []).append(k)
            for j, before in nearer.items():
                paths[j] = [[*path, nodes[j]] for k in sorted(before) for path in paths[k]]
            yield nodes[start], {nodes[j]: found for j, found in paths.items()}


# Helpers


def _arcs(G: Converted, weight: Weight, k: int | None, sources: Iterable[Label] = ()) -> Arcs:
    """The arcs; Unsupported where NetworkX differs: weight functions, and sampling before 3.6."""
    sampled = k is not None and (hasattr(nx.algorithms.centrality.betweenness, "_rescale_e") or k < 1)
    hand_over_if(callable(weight) or sampled or not len(G) or any(node not in G for node in sources))
    return _above_zero(G, weight)


def _arcs_by_method(G: Converted, weight: Weight, method: str) -> Arcs:
    hand_over_if(not len(G) or (weight is not None and method not in ("dijkstra", "bellman-ford")))
    return _above_zero(G, weight)


def _above_zero(G: Converted, weight: Weight) -> Arcs:
    """The arcs without loops; Unsupported unless all weights are positive."""
    arcs = G.arcs(weight)
    hand_over_if(bool(len(arcs.weights)) and arcs.weights.min() <= 0)
    kept = arcs.tails != arcs.heads
    parts = {"ends": arcs.tails[kept], "heads": arcs.heads[kept], "weights": arcs.weights[kept]}
    return arcs if kept.all() else replace(arcs, **parts)


def _drawn(G: Converted, k: int, seed: Any) -> np.ndarray:
    return G.positions(nx.utils.create_py_random_state(seed).sample(G.nodes, k))


def _among(G: Converted, nodes: Iterable[Label]) -> np.ndarray:
    wanted = set(nodes)
    return np.array([[float(node in wanted) for node in G.nodes]])


def _scale(G: Converted, normalized: bool, endpoints: bool, sources: np.ndarray | None) -> Scale:
    sampled = None if sources is None else len(sources)
    return Scale.of(len(G), directed=G.is_directed(), normalized=normalized, endpoints=endpoints, sampled=sampled)


def _adjoint(arcs: Arcs, where: str, used: np.ndarray | slice = slice(None)) -> Any:
    starts = np.searchsorted(arcs.tails[used], np.arange(arcs.n + 1))
    return adjoint(min_plus, arcs.short, (starts, arcs.heads[used], arcs.weights[used]), where=where)


def _sums(arcs: Arcs, sources: np.ndarray | None, asked: np.ndarray | None = None, *, evenly: bool = False) -> Any:
    """Flows through vertices and along arcs, of paths between sources and `asked` vertices (default: all)."""
    sums, asked = None, np.ones((1, arcs.n)) if asked is None else asked
    used = np.ones(len(arcs.tails), np.bool_)
    for here, D in arcs.blocks(sources, arcs.short):
        if sums is None:
            if sources is None and len(D) == arcs.n:  # no shortest path takes an arc longer than its distance
                used = arcs.weights <= D[arcs.tails, arcs.heads] * (1 + _SLACK)
            sums = _adjoint(arcs, "betweenness", used)
        sums.add(D, here, asked, evenly=evenly)
    sums = _adjoint(arcs, "betweenness") if sums is None else sums
    sums.finish()
    along = np.zeros(len(used))
    along[used] = sums.along
    return Sums(sums.through, sums.ending, along)


def _by_edge(G: Converted, arcs: Arcs, along: np.ndarray, weight: Weight) -> dict[tuple[Label, ...], float]:
    """{edge: number} in NetworkX's order; the shortest parallel edges share equally."""
    n = arcs.n
    code = arcs.tails.astype(np.int64) * n + arcs.heads
    if not G.is_directed():
        order = np.argsort(code)
        back = order[np.searchsorted(code, arcs.heads.astype(np.int64) * n + arcs.tails, sorter=order)]
        along = along + along[back]
    tails, heads = arcs.tails.tolist(), arcs.heads.tolist()
    pairs = {(G.nodes[u], G.nodes[v]): x for u, v, x in zip(tails, heads, along.tolist(), strict=True)}
    if not G.is_multigraph():
        return {edge: pairs.get(edge, 0.0) for edge in G.graph.edges()}
    found = {}
    for u, v, key in G.graph.edges:
        weights = [data.get(weight, 1) for data in G.graph[u][v].values()]
        least = min(weights)
        best = G.graph[u][v][key].get(weight, 1) == least
        found[u, v, key] = pairs.get((u, v), 0.0) / weights.count(least) if best else 0.0
    return found
