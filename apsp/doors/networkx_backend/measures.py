"""Eccentricities, centralities and indices of all-pairs distances, by blocks of rows; NetworkX raises the errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from semiring.host.errors import NegativeCycleError
from semiring.host.types import Label, Scalar, Weight

from .graphs import AllLengths, Arcs, Converted, Lengths, Unsupported, hand_over_if, nonnegative

_METHODS = (None, "unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy")


def eccentricity(G: Converted, v: Label = None, sp: AllLengths | None = None, weight: Weight = None) -> Any:
    """The distance to the farthest vertex, {node: number} or that of one: `networkx.eccentricity`."""
    wanted = None if v is None else [*G.graph.nbunch_iter(v)]
    hand_over_if(sp is not None or not len(G))
    found = _farthest(nonnegative(G, weight), None if wanted is None else G.positions(wanted))
    e = dict(zip(G.nodes if wanted is None else wanted, found, strict=True))
    return e[v] if v in G else e


def diameter(G: Converted, e: Lengths | None = None, usebounds: bool = False, weight: Weight = None) -> Scalar:
    """The greatest eccentricity: `networkx.diameter`."""
    return max(_eccentricities(G, e, weight))


def radius(G: Converted, e: Lengths | None = None, usebounds: bool = False, weight: Weight = None) -> Scalar:
    """The least eccentricity: `networkx.radius`."""
    return min(_eccentricities(G, e, weight))


def center(G: Converted, e: Lengths | None = None, usebounds: bool = False, weight: Weight = None) -> list[Label]:
    """The nodes of least eccentricity: `networkx.center`."""
    found = _eccentricities(G, e, weight)
    return _where(G, found, min(found))


def periphery(G: Converted, e: Lengths | None = None, usebounds: bool = False, weight: Weight = None) -> list[Label]:
    """The nodes of greatest eccentricity: `networkx.periphery`."""
    found = _eccentricities(G, e, weight)
    return _where(G, found, max(found))


def barycenter(
    G: Converted, weight: Weight = None, attr: str | None = None, sp: AllLengths | None = None
) -> list[Label]:
    """The nodes of the least sum of distances: `networkx.barycenter`."""
    hand_over_if(attr is not None or sp is not None or not len(G))
    sums = np.concatenate([D.sum(axis=1) for _, D in nonnegative(G, weight).blocks()])
    hand_over_if(bool(np.isinf(sums).any()))
    return _where(G, sums.tolist(), sums.min())


def centroid(G: Converted, weight: Weight = None, attr: str | None = None, sp: AllLengths | None = None) -> list[Label]:
    """`networkx.centroid`, the name of `barycenter` since 3.7."""
    return barycenter(G, weight, attr, sp)


def average_shortest_path_length(G: Converted, weight: Weight = None, method: str | None = None) -> Scalar:
    """The mean distance of two nodes: `networkx.average_shortest_path_length`."""
    n = len(G)
    ignored = callable(weight) and method in ("floyd-warshall", "floyd-warshall-numpy")  # NetworkX takes 1 instead
    hand_over_if(ignored or method not in _METHODS or n < 2)
    arcs_of = nonnegative if method in (None, "unweighted", "dijkstra") else Converted.arcs
    return _total(arcs_of(G, None if method == "unweighted" else weight)) / (n * (n - 1))


def wiener_index(G: Converted, weight: Weight = None) -> Scalar:
    """The sum of distances of all pairs: `networkx.wiener_index`."""
    hand_over_if(not len(G))
    total = _total(nonnegative(G, weight))
    return total if G.is_directed() else total / 2


def global_efficiency(G: Converted) -> float:
    """The mean of the inverse distances: `networkx.global_efficiency`."""
    n = len(G)
    hand_over_if(n < 2)
    return sum(float(_inverse(D).sum()) for _, D in G.arcs().blocks()) / (n * (n - 1))


def closeness_centrality(
    G: Converted, u: Label = None, distance: Weight = None, wf_improved: bool = True, *, sp: AllLengths | None = None
) -> Any:
    """The inverse of the mean distance from others, {node: number} or that of one: `networkx.closeness_centrality`."""
    backwards = callable(distance) and G.is_directed()  # NetworkX asks the function about reversed edges
    hand_over_if(backwards or sp is not None or (u is not None and u not in G))
    arcs, n, found = nonnegative(G, distance), len(G), []
    towards = arcs.reversed() if G.is_directed() else arcs  # a function may weigh an undirected edge by direction
    for _, D in towards.blocks(None if u is None else G.positions([u])):
        reached = np.isfinite(D)
        others, sums = reached.sum(axis=1) - 1.0, np.where(reached, D, 0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            close = np.where(sums > 0, others / sums, 0.0)
        found += (close * (others / (n - 1)) if wf_improved and n > 1 else close).tolist()
    return found[0] if u is not None else dict(zip(G.nodes, found, strict=True))


def harmonic_centrality(
    G: Converted, nbunch: Iterable[Label] | None = None, distance: Weight = None, sources: Iterable[Label] | None = None
) -> dict[Label, float]:
    """The sum of the inverse distances from others, {node: number}: `networkx.harmonic_centrality`."""
    targets, origins = (
        set(G.graph.nbunch_iter(nodes) if nodes is not None else G.nodes) for nodes in (nbunch, sources)
    )
    backwards = len(targets) < len(origins)
    hand_over_if(backwards and callable(distance) and G.is_directed())
    arcs = nonnegative(G, distance)
    ends, starts = (np.sort(G.positions(nodes)) for nodes in (targets, origins))
    sums = np.zeros(len(ends))
    # Searches start from the smaller set; from targets of a digraph on reversed arcs.
    searched = arcs.reversed() if backwards and G.is_directed() else arcs
    for here, D in searched.blocks(ends if backwards else starts):
        if backwards:
            sums[np.searchsorted(ends, here)] += _inverse(D[:, starts]).sum(axis=1)
        else:
            sums += _inverse(D[:, ends]).sum(axis=0)
    value = dict(zip(ends.tolist(), sums.tolist(), strict=True))
    return {node: value[k] or 0 for node, k in zip(targets, G.positions(targets).tolist(), strict=True)}


# Helpers


def _farthest(arcs: Arcs, sources: np.ndarray | None) -> list[Scalar]:
    """The maximum of each row of distances; Unsupported if one is infinite."""
    found: list[Scalar] = []
    for _, D in arcs.blocks(sources):
        most = D.max(axis=1)
        hand_over_if(bool(np.isinf(most).any()))
        found += arcs.numbers(most)
    return found


def _eccentricities(G: Converted, e: Lengths | None, weight: Weight) -> list[Scalar]:
    hand_over_if(e is not None or not len(G))
    return _farthest(nonnegative(G, weight), None)


def _where(G: Converted, values: list[Scalar], wanted: Scalar) -> list[Label]:
    return [node for node, value in zip(G.nodes, values, strict=True) if value == wanted]


def _total(arcs: Arcs) -> Scalar:
    """The sum of all distances; Unsupported if it is infinite, or for a negative cycle."""
    total = 0
    try:
        for _, D in arcs.blocks():
            part = D.sum()
            hand_over_if(np.isinf(part))
            total += arcs.number(part)
    except NegativeCycleError:
        raise Unsupported from None
    return total


def _inverse(D: np.ndarray) -> np.ndarray:
    """1 / d, and 0 for d = 0 and no path."""
    return np.divide(1.0, D, out=np.zeros_like(D), where=D != 0)
