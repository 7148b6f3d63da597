"""Quantities of the edges of a graph, read by the rule of weights: as `along` of `shortest_paths` names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.host.devices import host, is_plain, module
from semiring.host.errors import DomainError, DTypeError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Fields, Input

from .graph import Graph
from .graph.edge_lists import numbers
from .inputs import as_graph


@dataclass(frozen=True)
class Weighed:
    """A graph, the name of its weight, quantities of its edges by name, and how many of them break ties."""

    graph: Graph
    weight: str
    given: Mapping[Any, np.ndarray]
    ordered: int

    @classmethod
    def read(cls, source: Input, weight: Any, along: Any, **reading: Any) -> Weighed:
        """From a source, by the options of `as_graph`; a list of weights is the weight, then what breaks ties.

        Raises as `quantities`.
        """
        first, *ordered = weight if isinstance(weight, list) and named(weight) else [weight]
        wanted = ordered or along is not None
        source = rereadable(source) if wanted else source
        graph, found = as_graph(source, weight=first, **reading), {}
        if wanted:
            again = {name: reading.get(name) for name in ("columns", "directed", "format")}
            found = quantities(source, graph, ordered or None, **again) | quantities(source, graph, along, **again)
        return cls(graph, first if isinstance(first, str) else "distance", found, len(ordered))


def named(listed: Sequence[Any]) -> bool:
    """Whether a list holds names or functions, and not numbers."""
    return any(isinstance(x, str) or callable(x) for x in listed)


def rereadable(source: Input) -> Any:
    """A source that can be read several times; ValueError for a stream."""
    if (isinstance(source, str) and source == "-") or hasattr(source, "read"):
        raise ValueError("along: a file must be read once for each quantity, got a stream. Pass the path of a file.")
    return list(source) if hasattr(source, "__next__") else source


def quantities(source: Input, graph: Graph, along: Any, **reading: Any) -> dict[Any, np.ndarray]:
    """Quantities by name, int64 or float64, in the order of the graph's edges, or of shape (n, n) for a matrix.

    CuPy arrays of a matrix stay on their device.

    `reading` are `columns`, `directed` and `format` of the source, which is read once for each name. Raises ShapeError,
    DTypeError, DomainError, ValueError or FormatError if one is not a number an edge.

    >>> roads = [("A", "B", {"time": 4, "metres": 300}), ("B", "C", {"time": 7, "metres": 900})]
    >>> quantities(roads, as_graph(roads, weight="time"), ["metres", "edges"])
    {'metres': array([300, 900]), 'edges': array([1, 1])}
    """
    listed = along if isinstance(along, (list, tuple)) and named(along) else [along]
    listed = [] if along is None or isinstance(along, dict) else listed
    names = (x if isinstance(x, str) else getattr(x, "__name__", "along") for x in listed)
    every = along if isinstance(along, dict) else dict(zip(names, listed, strict=True))
    if len(every) < len(listed):
        raise ValueError(f"along: quantities must have names that differ, got {came([*every])}. Pass a dict of names.")
    found = {}
    for name, given in every.items():
        try:
            found[name] = _quantity(source, graph, name, given, reading)
        except DTypeError as error:  # of a weight, whose ways out are others
            got = str(error).partition(", got ")[2].partition(". ")[0]
            raise DTypeError(f"along: {came(name)} must be a number on every edge, got {got}. Pass an array.") from None
    return found


def _quantity(source: Input, graph: Graph, name: Any, given: Any, reading: Fields) -> np.ndarray:
    shape = (graph.n, graph.n) if graph.rows is None else graph.rows.shape
    if isinstance(given, str) and given == "edges":
        return np.ones(shape, np.int64)
    if isinstance(given, (str, int)) or callable(given):
        if graph.rows is None or isinstance(source, Graph):
            raise ValueError(f"along: {came(name)} must be an array of shape {shape}, a number an edge, got a name.")
        columns = reading.get("columns")
        read = as_graph(source, weight=given, **reading | {"columns": columns and columns[:2]})
        if not all(map(np.array_equal, read.ends, graph.ends)):
            raise ShapeError(f"along: {came(name)} must be of the edges that have a weight, got others. Pass an array.")
        return read.weights if read.weights is not None else np.ones(shape, np.int64)
    given = host(given) if is_plain(given) and (graph.rows is not None or given.dtype.kind in "bu") else given
    kept = is_plain(given) and not isinstance(given, np.ndarray)
    values = given.astype(np.float64 if given.dtype.kind == "f" else np.int64) if kept else numbers(given)
    if values.shape != shape:
        raise ShapeError(f"along: {came(name)} must be a number an edge, of shape {shape}, got {values.shape}.")
    refuse_misplaced(f"along: {came(name)}", given, source)
    if bool(module(values).isnan(values).any()):
        raise DomainError(f"along: {came(name)} must be numbers, got NaN. Say 0, or leave those edges out.")
    return values


def refuse_misplaced(what: str, given: object, source: Input) -> None:
    """Raise ShapeError for data of pandas whose labels are not those of the table that it goes with."""
    for axis in ("index", "columns"):
        here, there = (getattr(x, axis, ()) for x in (given, source))
        if hasattr(here, "equals") and hasattr(there, "equals") and not np.array_equal(here, there):
            way = f"Say x.reindex({axis}=table.{axis}), or x.to_numpy()."
            raise ShapeError(f"{what} must have the {axis} of the table, got another. {way}")
