"""Dicts {u: {v: weight}}, {u: {v: {attribute: value}}} and {u: [v, …]}, as from NetworkX's `to_dict_of_…`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from semiring.host.errors import DTypeError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Label, Scalar

from ..graph import Graph
from ..labels import Labels
from ..reading.from_networkx import weights_of
from ..reading.options import Reading, lists_columns
from .base import Kind
from .frames import is_table


def convert(source: Mapping[Any, Any], reading: Reading) -> Graph:
    """Vertices are the keys in order, then those only in edges; edges are one-way."""
    if lists_columns(source):
        raise DTypeError(
            f"as_graph: the keys of {came(source)} may be columns or vertices. Pass pandas.DataFrame(…) for columns, "
            "edges as tuples for vertices."
        )
    if any(map(is_table, source.values())):
        raise DTypeError(
            "as_graph: the edges must be in one table, got a dict of tables, as of the sheets of a workbook. Pass one "
            f"of them: tables[{came(next(iter(source)))}]."
        )
    weighted = all(isinstance(heads, Mapping) for heads in source.values())
    arcs = [arc for tail, heads in source.items() for arc in _arcs(tail, heads, weighted, source)]
    position: dict[Any, int] = {}
    for name in (*source, *(head for _, head, _ in arcs)):
        try:
            position.setdefault(name, len(position))
        except TypeError:
            raise VertexError(f"as_graph: vertices must be hashable, got {came(name)} in a list of them.") from None
    rows, cols = (np.array([position[arc[side]] for arc in arcs], dtype=np.int64) for side in (0, 1))
    weights = _weights(arcs, reading) if weighted and reading.weight is not None else None
    return Graph.from_arrays(rows, cols, weights, labels=Labels(position))


def _arcs(tail: Label, heads: Any, weighted: bool, source: Mapping[Any, Any]) -> Iterable[tuple[Label, Label, Scalar]]:
    if weighted:
        return ((tail, head, value) for head, value in heads.items())
    if isinstance(heads, (str, bytes, Mapping)) or not isinstance(heads, Iterable):
        raise DTypeError(
            "as_graph: a dict must be {u: {v: weight}}, {u: [v, …]} or {(u, v): weight}, "
            f"got {type(heads).__name__} under {came(tail)}. Of node-link data pass networkx.node_link_graph(data)."
        )
    heads = list(heads)
    for head in heads:
        if isinstance(head, tuple) and head not in source:
            raise DTypeError(
                f"as_graph: a list under a vertex must hold vertices, got {came(head)} under {came(tail)}. "
                "Weights go in as {u: {v: weight}}; if it is a vertex, make it a key as well."
            )
    return ((tail, head, None) for head in heads)


def _weights(arcs: list[tuple[Label, Label, Scalar]], reading: Reading) -> list[Any] | None:
    """The weights, or the attribute requested or chosen by rule; None if there are none."""
    values = [value for _, _, value in arcs]
    attributes = [isinstance(value, Mapping) for value in values]
    if not any(attributes):
        return values
    if not all(attributes):
        raise DTypeError("as_graph: a dict of dicts must hold weights, or attributes, and not both.")
    if any(isinstance(inner, Mapping) for value in values for inner in value.values()):
        raise DTypeError(
            "as_graph: a dict of dicts must hold attributes, got the keys of a multigraph. Pass the graph."
        )
    return weights_of(values, reading, arcs)


KIND = Kind(
    "a dict of dicts or lists",
    lambda source, reading: isinstance(source, Mapping),
    convert,
    weights="the name of an attribute",
    accepts=lambda weight: isinstance(weight, str),
    lists=True,
)
