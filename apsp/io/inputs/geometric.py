"""PyTorch Geometric's `Data`: `edge_index` of shape (2, m), with `edge_weight` or `edge_attr`."""

from __future__ import annotations

from typing import Any

from semiring.host.errors import DTypeError
from semiring.host.spelling import came
from semiring.host.types import Array, Input

from ..graph import Graph
from ..reading.from_networkx import attribute
from ..reading.options import BY_RULE, Reading
from .base import Kind
from .indices import from_indices


def convert(source: Input, reading: Reading) -> Graph:
    """Weights: the only numeric edge field, the one named so (`edge_weight`), or that of `weight` (also a column)."""
    return from_indices(source.edge_index, _weights(source, reading), n=int(source.num_nodes))


def _weights(source: Input, reading: Reading) -> Any:
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


KIND = Kind(
    "PyTorch Geometric's Data",
    lambda source, reading: hasattr(source, "edge_index") and hasattr(source, "num_nodes"),
    convert,
    weights="the name of an attribute, or a column of edge_attr",
    accepts=lambda weight: isinstance(weight, (str, int)),
)
