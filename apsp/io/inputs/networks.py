"""Graphs of other libraries: NetworkX, igraph, rustworkx, NetworKit, and PyTorch Geometric's `Data`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from semiring.host.errors import DTypeError
from semiring.host.spelling import came
from semiring.host.types import Array, Input

from ..graph import Graph
from ..reading.from_networkx import attribute, from_networkx, require_numbers
from ..reading.options import BY_RULE, Reading, kinds_of
from .base import Kind, named, named_or_placed
from .edges import from_indices, of_tuples


def _is_view(source: Any) -> bool:
    return type(source).__module__ == "networkx.classes.reportviews" and hasattr(source, "__iter__")


def _of_networkx(source: Any, reading: Reading) -> Graph:
    """The graph; of a view the edges as they come, without the keys of a multigraph."""
    if not _is_view(source):
        return from_networkx(source, reading)
    view = getattr(source, "_viewer", source)
    listed = list(source() if view is source else source)
    if getattr(source, "keys", False) is True:
        listed = [(u, v, *rest) for u, v, _, *rest in listed]
    return of_tuples(listed, reading).having(directed=view._graph.is_directed())


def _of_igraph(source: Input, reading: Reading) -> Graph:
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


def _of_rustworkx(source: Input, reading: Reading) -> Graph:
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
            weights = [_of_payload(data, name) for data in payloads_of_edges]
            require_numbers(weights, name, [(payloads[u], payloads[v]) if named else (u, v) for u, v, _ in arcs])
    rows, cols = (np.array([arc[side] for arc in arcs], dtype=np.int64) for side in (0, 1))
    labels = payloads if named and payloads else places
    return Graph.from_arrays(rows, cols, weights, n=len(places), labels=labels, directed=hasattr(source, "in_degree"))


def _of_payload(data: Any, name: Any) -> Any:
    if isinstance(data, Mapping):
        return data.get(name, 1)
    return 1 if data is None else data


def _of_networkit(source: Input, reading: Reading) -> Graph:
    """Vertices by NetworKit's numbers, with gaps after removals."""
    places = np.fromiter(source.iterNodes(), dtype=np.int64)
    arcs = list(source.iterEdgesWeights())
    rows, cols = (np.searchsorted(places, np.array([arc[side] for arc in arcs], dtype=np.int64)) for side in (0, 1))
    weights = [w for _, _, w in arcs] if source.isWeighted() else None
    return Graph.from_arrays(rows, cols, weights, n=len(places), labels=places.tolist(), directed=source.isDirected())


def _of_geometric(source: Input, reading: Reading) -> Graph:
    """Weights: the only numeric edge field, the one named so (`edge_weight`), or that of `weight` (also a column)."""
    return from_indices(source.edge_index, _weights_of(source, reading), n=int(source.num_nodes))


def _weights_of(source: Input, reading: Reading) -> Any:
    weight = reading.weight
    if weight is None:
        return None
    if isinstance(weight, str):
        found = getattr(source, weight, None)
        if found is None:
            raise DTypeError(
                f"as_graph: weight must name what the Data holds, got {came(weight)}. weight=None is unweighted."
            )
        return _one_column(found, weight)
    attributes = getattr(source, "edge_attr", None)
    if weight is not BY_RULE:
        if attributes is None or attributes.ndim != 2 or not 0 <= weight < attributes.shape[1]:
            raise DTypeError(f"as_graph: weight must be a column of edge_attr, got {weight}, which it does not have.")
        return attributes[:, weight]
    count = source.edge_index.shape[1]
    kinds = {name: {float} if _is_weights(getattr(source, name), count) else {list} for name in _fields(source)}
    name = attribute(reading, kinds)
    if name is not None:
        return _one_column(getattr(source, name), name)
    return None if attributes is None else _one_column(attributes, "edge_attr")


def _fields(source: Input) -> list[str]:
    names = source.edge_attrs() if callable(getattr(source, "edge_attrs", None)) else ("edge_weight", "edge_attr")
    return [name for name in names if name != "edge_index" and hasattr(getattr(source, name, None), "shape")]


def _is_weights(array: Array, count: int) -> bool:
    shape, kind = tuple(array.shape), str(array.dtype).rpartition(".")[2]
    return shape in ((count,), (count, 1)) and kind.startswith(("float", "int", "uint", "bfloat"))


def _one_column(array: Array, name: str) -> Any:
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] == 1):
        raise DTypeError(
            f"as_graph: {name} must hold one weight an edge, got shape {tuple(array.shape)}. Say which column "
            "holds it, as weight=0, or weight=None for unweighted edges."
        )
    return array


KINDS = {
    "networkx": Kind(
        "a NetworkX graph",
        lambda source, reading: (hasattr(source, "adjacency") and hasattr(source, "is_multigraph")) or _is_view(source),
        _of_networkx,
        weights="the name of an edge attribute, or a function of u, v and the edge's data",
        accepts=lambda weight: isinstance(weight, Hashable),
    ),
    "igraph": Kind(
        "an igraph Graph",
        lambda source, reading: all(hasattr(source, sign) for sign in ("es", "vs", "get_edgelist")),
        _of_igraph,
        weights="the name of an edge attribute",
        accepts=named,
    ),
    "rustworkx": Kind(
        "a rustworkx graph",
        lambda source, reading: hasattr(source, "weighted_edge_list") and hasattr(source, "node_indices"),
        _of_rustworkx,
        weights="the name of an attribute in the edges' payloads, or a function of u, v and the payload",
        accepts=lambda weight: isinstance(weight, str) or callable(weight),
    ),
    "networkit": Kind(
        "a NetworKit graph",
        lambda source, reading: hasattr(source, "iterEdgesWeights") and hasattr(source, "isDirected"),
        _of_networkit,
    ),
    "geometric": Kind(
        "PyTorch Geometric's Data",
        lambda source, reading: hasattr(source, "edge_index") and hasattr(source, "num_nodes"),
        _of_geometric,
        weights="the name of an attribute, or a column of edge_attr",
        accepts=named_or_placed,
    ),
}
