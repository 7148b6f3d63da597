"""Which calls this backend supports (`can_run`), and which are faster here (`should_run`)."""

from __future__ import annotations

import math
from typing import Any

from _apsp_networkx import FUNCTIONS
from semiring.host.memory import available
from semiring.host.types import Fields, Values

from ...road import estimates

#: Maximum bytes a pair: distances, predecessors, and a copy.
BYTES_PER_PAIR = 28
_MEASURES = (
    *("eccentricity", "diameter", "radius", "center", "periphery", "barycenter", "centroid", "all_shortest_paths"),
    *("shortest_simple_paths", "betweenness_centrality", "betweenness_centrality_subset"),
    *("edge_betweenness_centrality", "edge_betweenness_centrality_subset"),
)


def _argument(args: Values, kwargs: Fields, name: str, position: int) -> Any:
    return kwargs.get(name, args[position] if len(args) > position >= 0 else None)


#: Positions of parameters that decide whether, and from how many vertices, a call is computed.
_POSITIONS = {
    "eccentricity": {"v": 1, "sp": 2},
    "diameter": {"e": 1},
    "radius": {"e": 1},
    "center": {"e": 1},
    "periphery": {"e": 1},
    "barycenter": {"attr": 2, "sp": 3},
    "centroid": {"attr": 2, "sp": 3},
    "closeness_centrality": {"u": 1, "sp": -1},
    "transitive_closure_dag": {"topo_order": 1},
    "betweenness_centrality": {"k": 1},
    "edge_betweenness_centrality": {"k": 1},
    "betweenness_centrality_subset": {"sources": 1},
    "edge_betweenness_centrality_subset": {"sources": 1},
}
#: Unsupported parameters, and the reasons.
_UNSUPPORTED = {
    "sp": "sp gives the distances, so that there is nothing to compute",
    "e": "e gives the eccentricities, so that there is nothing to compute",
    "attr": "attr writes to the nodes of the graph that was passed",
    "topo_order": "topo_order is taken on trust, which the closure does not do",
}


def can_run(name: str, args: Values, kwargs: Fields) -> bool | str:
    """True if this call is supported, else the reason why not."""
    if name not in FUNCTIONS:
        return f"{name} is not one of this backend's functions"
    positions = _POSITIONS.get(name, {})
    for parameter, why in _UNSUPPORTED.items():
        if parameter in positions and _argument(args, kwargs, parameter, positions[parameter]) is not None:
            return why
    return True


def should_run(name: str, args: Values, kwargs: Fields) -> bool | str:
    """True if this call is predicted to fit and be faster, else the reason why not."""
    graph = _argument(args, kwargs, "G", 0)
    n = len(graph)
    arcs = graph.number_of_edges() * (1 if graph.is_directed() else 2) if hasattr(graph, "number_of_edges") else 0
    sources = _sources(name, args, kwargs, n)
    in_networkx, here = estimates.networkx(n, arcs, sources, name)
    if here > in_networkx:
        return f"it is predicted to take {1e3 * in_networkx:.2g} ms in NetworkX and {1e3 * here:.2g} ms here"
    needed, free = BYTES_PER_PAIR * n * n, available("cpu")
    if free is not None and needed > free and name not in _MEASURES:
        return f"its n² entries need {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free"
    return True


def _sources(name: str, args: Values, kwargs: Fields, n: int) -> int:
    """The number of sources that the call needs."""
    positions = _POSITIONS.get(name, {})
    if name in ("all_shortest_paths", "shortest_simple_paths"):
        return 1
    if (drawn := _argument(args, kwargs, "k", positions.get("k", -1))) is not None:
        return min(n, drawn)
    if "sources" in positions:
        chosen = _argument(args, kwargs, "sources", positions["sources"])
        return len(chosen) if hasattr(chosen, "__len__") else n
    one = next((_argument(args, kwargs, p, positions[p]) for p in ("v", "u") if p in positions), None)
    if one is not None:
        try:
            return min(n, math.ceil(len(one))) if not isinstance(one, str) else 1
        except TypeError:
            return 1
    if name == "harmonic_centrality":
        chosen = [_argument(args, kwargs, p, k) for p, k in (("nbunch", 1), ("sources", 3))]
        return min([n, *(len(x) for x in chosen if hasattr(x, "__len__"))])
    return n
