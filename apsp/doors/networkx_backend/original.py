"""Fallback to NetworkX on the original graph, for weights that only Python can add, and for exceptions."""

from __future__ import annotations

from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

from .graphs import Converted


def original(name: str, graph: Converted, *args: Any, **kwargs: Any) -> Any:
    function = _registered_algorithms.get(name) or getattr(nx, name)  # not registered: barycenter, an alias since 3.7
    return function.orig_func(graph.graph, *args, **kwargs)
