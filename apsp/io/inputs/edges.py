"""Edges as tuples (u, v), (u, v, weight) or (u, v, {attribute: value}) in any iterable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from semiring.host.errors import ShapeError
from semiring.host.spelling import came
from semiring.host.types import Input

from ..graph import Graph
from ..reading.from_networkx import weights_of
from ..reading.options import Reading
from . import records
from .base import Kind


def recognises(source: Input, reading: Reading) -> bool:
    """A list containing a tuple, or an iterator."""
    if isinstance(source, (list, tuple, set, frozenset)):
        return any(isinstance(item, tuple) for item in source) or isinstance(source, (set, frozenset))
    arrays = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return (
        isinstance(source, Iterable)
        and not isinstance(source, memoryview)
        and not any(hasattr(source, sign) for sign in arrays)
    )


def convert(source: Iterable[Any], reading: Reading) -> Graph:
    """Edges of tuples, whose last item may be attributes, behind the key of a multigraph; records."""
    edges = list(source)
    if edges and isinstance(edges[0], Mapping):
        return records.convert(edges, reading)
    having = [isinstance(e, tuple) and len(e) in (3, 4) and isinstance(e[-1], Mapping) for e in edges]
    if not any(having):
        if reading.named:
            raise ValueError(f"as_graph: weight must be None for edges without attributes, got {came(reading.weight)}.")
        return Graph.from_edges(edges)
    if not all(having):
        k = having.index(False)
        raise ShapeError(f"as_graph: edge {k} must be (u, v, {{attribute: value}}) like others, got {came(edges[k])}.")
    values = weights_of([edge[-1] for edge in edges], reading, edges)
    return Graph.from_edges([(*edge[:2], *(values[k : k + 1] if values else ())) for k, edge in enumerate(edges)])


KIND = Kind(
    "edges as tuples", recognises, convert, weights="the name of an attribute, of edges (u, v, {attribute: value})",
    accepts=lambda weight: isinstance(weight, str), lists=True,
)  # fmt: skip
