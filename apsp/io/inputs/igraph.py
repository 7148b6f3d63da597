"""igraph's `Graph`, of python-igraph."""

from __future__ import annotations

import numpy as np

from semiring.host.types import Input

from ..graph import Graph
from ..reading.from_networkx import attribute, require_numbers
from ..reading.options import BY_RULE, Reading
from .base import Kind


def convert(source: Input, reading: Reading) -> Graph:
    """Vertices by attribute `name`, else number; weights by attribute, 1 where missing unless the caller named it."""
    attributes = {name: source.es[name] for name in source.es.attributes()}
    kinds = {name: set(map(type, values)) for name, values in attributes.items()}
    weight = attribute(reading, kinds) if source.ecount() else None
    ends = np.array(source.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    labels = source.vs["name"] if "name" in source.vs.attributes() else None
    weights = None if weight is None else attributes[weight]
    if weights is not None and reading.weight is BY_RULE:
        weights = [1 if value is None else value for value in weights]
    require_numbers(weights, weight, [[v if labels is None else labels[v] for v in pair] for pair in ends.tolist()])
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
