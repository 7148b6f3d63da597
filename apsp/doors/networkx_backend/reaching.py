"""Transitive closures and the transitive reduction, on packed bits."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from semiring.algebra.catalog import lor_land
from semiring.host.types import Label

from ...answers.reach import transitive_closure as reachability
from ...answers.reach.reachability import Reachability
from ...io.graph import Graph
from .graphs import Converted, hand_over_if

#: Rows unpacked at a time.
_ROWS = 1024


def transitive_closure(G: Converted, reflexive: bool | None = False) -> nx.Graph:
    """The graph with an edge for every walk, and all of its data: `networkx.transitive_closure`."""
    hand_over_if(not any(reflexive is known for known in (None, True, False)))  # 1 adds nothing in NetworkX
    # Undirected walks in NetworkX use an edge once, so none returns to its source.
    loops = True if reflexive else None if reflexive is False and G.is_directed() else False
    return _extended(G, _reached(G), loops)


def transitive_closure_dag(G: Converted, topo_order: list[Label] | None = None) -> nx.DiGraph:
    """Transitive closure of an acyclic graph: `networkx.transitive_closure_dag`."""
    hand_over_if(topo_order is not None)
    return _extended(G, _acyclic(G), None)


def transitive_reduction(G: Converted) -> nx.DiGraph:
    """The fewest edges with the same reachability, without data: `networkx.transitive_reduction`."""
    tails, heads, _ = _acyclic(G).reduction().edges(lor_land)
    made, nodes = nx.DiGraph(), G.nodes
    made.add_nodes_from(nodes)
    made.add_edges_from((nodes[i], nodes[j]) for i, j in zip(tails.tolist(), heads.tolist(), strict=True))
    return made


def _reached(G: Converted) -> Reachability:
    arcs = G.arcs()
    return reachability(Graph.from_arrays(arcs.tails, arcs.heads, n=arcs.n))


def _acyclic(G: Converted) -> Reachability:
    """The reachability of a graph; Unsupported if it has a cycle."""
    t = _reached(G)
    hand_over_if(bool(t.condensation.cyclic.any()) or bool((t.condensation.sizes > 1).any()))
    return t


def _extended(G: Converted, t: Reachability, loops: bool | None) -> nx.Graph:
    """A copy of the graph with an edge to each vertex reached; loops at all vertices, none, or by walks."""
    extended = G.graph.copy()
    # For NetworkX's own classes write the adjacency directly: `add_edges_from` looks up every vertex again.
    plain, predecessors = type(extended) in (nx.Graph, nx.DiGraph), extended._pred if G.is_directed() else extended._adj
    for u, reached in _rows(G, t, loops):
        successors = extended._adj[u]
        missing = [v for v in reached if v not in successors]
        if plain:
            for v in missing:
                successors[v] = predecessors[v][u] = {}
        else:
            extended.add_edges_from([(u, v) for v in missing])
    return extended


def _rows(G: Converted, t: Reachability, loops: bool | None) -> Iterator[tuple[Label, list[Label]]]:
    every, matrix = G.names, t.matrix
    for start in range(0, len(G), _ROWS):
        block = matrix.rows(np.arange(start, min(start + _ROWS, len(G))))
        for k, row in enumerate(block, start):
            if loops is not None:
                row[k] = loops
            yield G.nodes[k], every[row].tolist()
