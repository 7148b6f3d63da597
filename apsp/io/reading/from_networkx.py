"""NetworkX graphs → `Graph`, also for files that NetworkX reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import timedelta
from typing import Any

import numpy as np

from semiring.host.errors import DTypeError
from semiring.host.spelling import came
from semiring.host.types import Input, Label, Scalar, Weight

from ..graph import Graph
from ..labels import Labels
from .options import ANYHOW, BY_RULE, Reading, choose_attribute, is_number, kinds_of


def from_networkx(source: Input, reading: Reading = ANYHOW) -> Graph:
    """The graph of a NetworkX graph or multigraph; nodes keep names and order.

    The weight is an edge attribute (by default that of `choose_attribute`; missing: 1), a function `weight(u, v, data)`
    returning a number, or None for no edge; or None. Numeric node attributes `x` and `y` are the places. DTypeError for
    a missing or ambiguous attribute.
    """
    names, position = Labels(source.nodes), {node: index for index, node in enumerate(source.nodes)}
    directed, name, places = source.is_directed(), str(getattr(source, "name", "")), _places(source)
    if callable(reading.weight):
        rows, cols, weights, directed = _called(source, reading.weight, position)
        found = Graph.from_arrays(rows, cols, weights, labels=names, directed=directed, name=name)
        return found.having(places=places, crs=source.graph.get("crs"))
    arcs = list(source.edges(data=True))
    rows, cols = (np.array([position[arc[side]] for arc in arcs], np.int64) for side in (0, 1))
    values = weights_of([data for _, _, data in arcs], reading, arcs)
    return Graph.from_arrays(rows, cols, values, labels=names, directed=directed, name=name).having(
        places=places, crs=source.graph.get("crs")
    )


def _places(source: Input) -> np.ndarray | None:
    """The node attributes `x` and `y`, as in OSMnx; NaN where missing or not finite, None if all are."""
    found = np.full((len(source.nodes), 2), np.nan)
    for k, (_, data) in enumerate(source.nodes.data()):
        x, y = data.get("x"), data.get("y")
        if is_number(x) and is_number(y) and math.isfinite(x) and math.isfinite(y):
            found[k] = x, y
    return None if np.isnan(found).all() else found


def attribute(reading: Reading, kinds: Mapping[Any, Set[type]]) -> Any:
    """The weight attribute, requested or by rule (None: unweighted), from types by attribute; raises DTypeError."""
    if reading.weight is BY_RULE:
        return choose_attribute(kinds, lambda problem: DTypeError(f"as_graph: {problem}"))
    if reading.named and reading.weight not in kinds:
        raise missing(reading.weight, sorted(map(str, kinds)))
    return reading.weight


def weights_of(
    data: Sequence[Mapping[Any, Any]], reading: Reading, ends: Sequence[Sequence[Label]]
) -> list[Any] | None:
    """The weights among attributes of edges, None of unweighted ones; DTypeError as below.

    An edge without one weighs 1, unless the reading is `complete`.
    """
    name = attribute(reading, kinds_of(data)) if data else None
    if (
        name is not None
        and reading.complete
        and (lacking := [k for k, values in enumerate(data) if name not in values])
    ):
        u, v, *_ = ends[lacking[0]]
        raise DTypeError(
            f"as_graph: an edge must have a weight, got none under {came(name)} on the edge {came(u)} → {came(v)}. "
            "Give it one, or say weight=None for unweighted edges."
        )
    found = None if name is None else [values.get(name, 1) for values in data]
    require_numbers(found, name, ends)
    return found


def require_numbers(values: Sequence[Scalar] | None, name: Any, ends: Sequence[Sequence[Label]]) -> None:
    """DTypeError for a non-number under attribute `name`, with the `ends` of its edge."""
    others = {kind for kind in set(map(type, values or ())) if not (hasattr(kind, "__float__") or kind is timedelta)}
    for value, (u, v, *_) in zip(values or (), ends, strict=True) if others else ():
        if not hasattr(value, "__float__") and not isinstance(value, timedelta):
            raise DTypeError(
                f"as_graph: weights must be real numbers, got {came(value)} under {came(name)} on the edge "
                f"{came(u)} → {came(v)}. Make numbers of them, as by float(…), or say weight= another attribute, "
                "weight=None for unweighted edges."
            )


def missing(weight: Weight, attributes: list[str]) -> DTypeError:
    have = f"attributes {', '.join(map(came, attributes[:20]))}" if attributes else "no attributes"
    return DTypeError(
        f"as_graph: some edge must have the attribute {came(weight)} that weight names, got edges with {have}. "
        "Say weight=None for unweighted edges."
    )


def _called(
    source: Input, weight: Callable[[Any, Any, Any], Any], position: dict[Any, int]
) -> tuple[np.ndarray, np.ndarray, list[Any], bool]:
    """Arcs weighted by a function; directed if some edge's reverse weighs differently."""
    found = {}
    for u, neighbours in source.adjacency():
        for v, data in neighbours.items():
            value = weight(u, v, data)
            if value is not None:
                found[position[u], position[v]] = value
    directed = bool(source.is_directed()) or any(found.get((j, i)) != value for (i, j), value in found.items())
    arcs = [(i, j, value) for (i, j), value in found.items() if directed or i <= j]
    rows, cols = (np.array([arc[side] for arc in arcs], np.int64) for side in (0, 1))
    return rows, cols, [w for _, _, w in arcs], directed
