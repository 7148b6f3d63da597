"""What NetworkX asks a backend for at every `import networkx`: which functions it has. Standard library only."""

from __future__ import annotations

from typing import Any

#: The functions, as NetworkX names them where it dispatches; `centroid` is `barycenter` since 3.7.
FUNCTIONS = (
    *("floyd_warshall", "floyd_warshall_numpy", "floyd_warshall_predecessor_and_distance", "floyd_warshall_tree"),
    *("johnson", "all_pairs_shortest_path", "all_pairs_shortest_path_length"),
    *("all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length"),
    *("all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length"),
    *("transitive_closure", "transitive_closure_dag", "transitive_reduction"),
    *("eccentricity", "diameter", "radius", "center", "periphery", "barycenter", "centroid"),
    *("average_shortest_path_length", "closeness_centrality", "harmonic_centrality", "global_efficiency"),
    *("wiener_index", "metric_closure", "all_shortest_paths", "all_pairs_all_shortest_paths"),
    *("shortest_simple_paths", "betweenness_centrality", "betweenness_centrality_subset"),
    *("edge_betweenness_centrality", "edge_betweenness_centrality_subset"),
)


def get_info() -> dict[str, Any]:
    """The backend's name, what it does, and its functions: NetworkX's entry point `networkx.backend_info`."""
    return {
        "backend_name": "apsp",
        "project": "semiring-apsp",
        "package": "apsp",
        "short_summary": "All pairs of a graph at a time: closures over semirings, elimination of sparse graphs.",
        "functions": {name: {} for name in FUNCTIONS},
    }
