"""NetworkX graphs, and views of their edges, `G.edges(data=True)`: tuples with the directions of their graph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..graph import Graph
from ..reading.from_networkx import from_networkx
from ..reading.options import Reading
from . import edges
from .base import Kind


def _is_view(source: Any) -> bool:
    return type(source).__module__ == "networkx.classes.reportviews" and hasattr(source, "__iter__")


def convert(source: Any, reading: Reading) -> Graph:
    """The graph; of a view the edges as they come, without the keys of a multigraph."""
    if not _is_view(source):
        return from_networkx(source, reading)
    view = getattr(source, "_viewer", source)
    listed = list(source() if view is source else source)
    if getattr(source, "keys", False) is True:
        listed = [(u, v, *rest) for u, v, _, *rest in listed]
    return edges.convert(listed, reading).having(directed=view._graph.is_directed())


KIND = Kind(
    "a NetworkX graph",
    lambda source, reading: (hasattr(source, "adjacency") and hasattr(source, "is_multigraph")) or _is_view(source),
    convert,
    weights="the name of an edge attribute, or a function of u, v and the edge's data",
    accepts=lambda weight: isinstance(weight, Hashable),
)
