"""igraph's `Graph`, of python-igraph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..reading.from_networkx import missing
from ..reading.options import BY_RULE, Reading
from .base import Kind


def convert(source: Any, reading: Reading) -> Graph:
    """Vertices by their attribute `name` where there is one, else by number; weights by an edge attribute."""
    weight = "weight" if reading.weight is BY_RULE else reading.weight
    held = source.es.attributes()
    if reading.named and weight not in held and source.ecount():
        raise missing(weight, held)
    ends = np.array(source.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    labels = source.vs["name"] if "name" in source.vs.attributes() else None
    weights = source.es[weight] if weight is not None and weight in held else None
    if weights is not None and reading.weight is BY_RULE:
        weights = [1 if value is None else value for value in weights]  # an edge added later, without one
    graph_name = str(source["name"]) if "name" in source.attributes() else ""
    return Graph.from_arrays(
        ends[:, 0],
        ends[:, 1],
        weights,
        n=source.vcount(),
        labels=labels,
        directed=source.is_directed(),
        name=graph_name,
    )


KIND = Kind(
    "an igraph Graph",
    lambda source, reading: all(hasattr(source, sign) for sign in ("es", "vs", "get_edgelist")),
    convert,
    weights="the name of an edge attribute",
    accepts=lambda weight: isinstance(weight, str),
)
