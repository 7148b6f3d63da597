"""A backend for NetworkX's algorithms on all pairs: `apsp`.

Call `nx.floyd_warshall(G, backend="apsp")`, or set `nx.config.backend_priority.algos = ["apsp"]` for all calls faster
here. NetworkX finds this module by its entry point, and caches results of `convert_from_nx`.

| module      | contents                                                                     |
|-------------|------------------------------------------------------------------------------|
| graphs      | `Converted`: a graph's arcs as arrays, and distances; `answered`: the answer |
| serving     | `can_run`, `should_run`                                                      |
| pairs       | distances and paths of all pairs, in NetworkX's dicts                        |
| reaching    | transitive closures and reduction                                            |
| measures    | eccentricities, centralities, and indices                                    |
| betweenness | betweenness, and all shortest paths                                          |
"""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx

from _apsp_networkx import FUNCTIONS

from . import betweenness, measures, pairs, reaching
from .graphs import Converted, answered
from .serving import can_run, should_run

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "should_run"]


def __getattr__(name: str) -> Any:
    """One of `FUNCTIONS`, from the module that defines it; NetworkX's own answers what it does not support."""
    modules = (module for module in (pairs, reaching, measures, betweenness) if hasattr(module, name))
    if name not in FUNCTIONS or (module := next(modules, None)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(answered, name, getattr(module, name))


def convert_from_nx(graph: nx.Graph, *args: Any, **kwargs: Any) -> Converted:
    """A NetworkX graph for this backend, with all attributes; arrays are made on first use."""
    return Converted(graph)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """The NetworkX graph of a converted one; other results unchanged."""
    return result.graph if isinstance(result, Converted) else result
