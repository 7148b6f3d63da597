"""rustworkx's `PyGraph` and `PyDiGraph`, with arbitrary payloads of vertices and edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semiring.host.types import Input

from ..graph import Graph
from ..reading.from_networkx import attribute, require_numbers
from ..reading.options import Reading, kinds_of
from .base import Kind


def convert(source: Input, reading: Reading) -> Graph:
    """Vertices by payload if distinct strings, else by number; weights by payload or its attribute; 1 for None."""
    places = list(source.node_indices())
    payloads = [source[place] for place in places]
    named = all(isinstance(payload, str) for payload in payloads) and len(set(payloads)) == len(payloads)
    position = {place: index for index, place in enumerate(places)}
    arcs = [(position[u], position[v], data) for u, v, data in source.weighted_edge_list()]
    weights: list[Any] | None = None
    if callable(reading.weight):
        arcs = [(u, v, reading.weight(places[u], places[v], data)) for u, v, data in arcs]
        arcs = [arc for arc in arcs if arc[2] is not None]
        weights = [value for _, _, value in arcs]
    elif reading.weight is not None and any(data is not None for _, _, data in arcs):
        payloads_of_edges = [data for _, _, data in arcs]
        mappings = [data for data in payloads_of_edges if isinstance(data, Mapping)]
        name = attribute(reading, kinds_of(mappings))
        if name is not None or len(mappings) < sum(data is not None for data in payloads_of_edges):
            weights = [_weight(data, name) for data in payloads_of_edges]
            require_numbers(weights, name, [(payloads[u], payloads[v]) if named else (u, v) for u, v, _ in arcs])
    rows, cols = (np.array([arc[side] for arc in arcs], dtype=np.int64) for side in (0, 1))
    labels = payloads if named and payloads else places
    return Graph.from_arrays(rows, cols, weights, n=len(places), labels=labels, directed=hasattr(source, "in_degree"))


def _weight(data: Any, name: Any) -> Any:
    if isinstance(data, Mapping):
        return data.get(name, 1)
    return 1 if data is None else data


KIND = Kind(
    "a rustworkx graph",
    lambda source, reading: hasattr(source, "weighted_edge_list") and hasattr(source, "node_indices"),
    convert,
    weights="the name of an attribute in the edges' payloads, or a function of u, v and the payload",
    accepts=lambda weight: isinstance(weight, str) or callable(weight),
)
