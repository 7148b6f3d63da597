"""NetworkX graphs."""

from __future__ import annotations

from collections.abc import Hashable

from ..reading.from_networkx import from_networkx
from .base import Kind

KIND = Kind(
    "a NetworkX graph",
    lambda source, reading: hasattr(source, "adjacency") and hasattr(source, "is_multigraph"),
    from_networkx,
    weights="the name of an edge attribute, or a function of u, v and the edge's data",
    accepts=lambda weight: isinstance(weight, Hashable),
)
