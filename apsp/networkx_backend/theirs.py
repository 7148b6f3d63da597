"""NetworkX's own function, on the graph as it came: for weights that only Python can add, and for its exceptions."""

from __future__ import annotations

from typing import Any

from networkx.utils.backends import _registered_algorithms

from .graphs import Converted


def theirs(name: str, graph: Converted, *args: Any, **kwargs: Any) -> Any:
    """What NetworkX itself returns or raises."""
    return _registered_algorithms[name].orig_func(graph.graph, *args, **kwargs)
