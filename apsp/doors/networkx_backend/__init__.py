"""A backend for NetworkX's algorithms on all pairs: `apsp`.

Call `nx.floyd_warshall(G, backend="apsp")`, or set `nx.config.backend_priority.algos = ["apsp"]` for all calls faster
here. NetworkX finds this module by its entry point, and caches results of `convert_from_nx`.

| module      | contents                                                                     |
|-------------|------------------------------------------------------------------------------|
| graphs      | `Converted`: a graph's arcs as arrays, and distances from them               |
| serving     | `can_run`, `should_run`                                                      |
| pairs       | distances and paths of all pairs, in NetworkX's dicts                        |
| reaching    | transitive closures and reduction                                            |
| measures    | eccentricities, centralities, and indices                                    |
| betweenness | betweenness, and all shortest paths                                          |
| original    | NetworkX's own function, for weights that only Python can add, and errors    |
"""

from __future__ import annotations

from typing import Any

import networkx as nx

from .betweenness import (
    all_pairs_all_shortest_paths,
    all_shortest_paths,
    betweenness_centrality,
    betweenness_centrality_subset,
    edge_betweenness_centrality,
    edge_betweenness_centrality_subset,
)
from .graphs import Converted
from .measures import (
    average_shortest_path_length,
    barycenter,
    center,
    centroid,
    closeness_centrality,
    diameter,
    eccentricity,
    global_efficiency,
    harmonic_centrality,
    periphery,
    radius,
    wiener_index,
)
from .pairs import (
    all_pairs_bellman_ford_path,
    all_pairs_bellman_ford_path_length,
    all_pairs_dijkstra,
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    floyd_warshall,
    floyd_warshall_numpy,
    floyd_warshall_predecessor_and_distance,
    floyd_warshall_tree,
    johnson,
    metric_closure,
    shortest_simple_paths,
)
from .reaching import transitive_closure, transitive_closure_dag, transitive_reduction
from .serving import can_run, should_run

__all__ = [
    "all_pairs_all_shortest_paths", "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length", "all_pairs_shortest_path",
    "all_pairs_shortest_path_length", "all_shortest_paths", "average_shortest_path_length", "barycenter",
    "betweenness_centrality", "betweenness_centrality_subset", "can_run", "center", "centroid",
    "closeness_centrality", "convert_from_nx", "convert_to_nx", "diameter", "eccentricity",
    "edge_betweenness_centrality", "edge_betweenness_centrality_subset", "floyd_warshall", "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance", "floyd_warshall_tree", "global_efficiency", "harmonic_centrality",
    "johnson", "metric_closure", "periphery", "radius", "shortest_simple_paths", "should_run", "transitive_closure",
    "transitive_closure_dag", "transitive_reduction", "wiener_index",
]  # fmt: skip


def convert_from_nx(graph: nx.Graph, *args: Any, **kwargs: Any) -> Converted:
    """A NetworkX graph for this backend, with all attributes; arrays are made on first use."""
    return Converted(graph)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """The NetworkX graph of a converted one; other results unchanged."""
    return result.graph if isinstance(result, Converted) else result
