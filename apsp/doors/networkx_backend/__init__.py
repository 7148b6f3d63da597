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

from _apsp_networkx import FUNCTIONS

from . import betweenness, measures, pairs, reaching
from .graphs import Converted
from .serving import can_run, should_run

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]


def __getattr__(name: str) -> Any:
    """One of `FUNCTIONS`, from the module that defines it."""
    modules = (module for module in (pairs, reaching, measures, betweenness) if hasattr(module, name))
    if name not in FUNCTIONS or (module := next(modules, None)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(module, name)


def convert_from_nx(graph: nx.Graph, *args: Any, **kwargs: Any) -> Converted:
    """A NetworkX graph for this backend, with all attributes; arrays are made on first use."""
    return Converted(graph)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """The NetworkX graph of a converted one; other results unchanged."""
    return result.graph if isinstance(result, Converted) else result
