"""Lines on a map → `Graph`, each an edge, for GeoJSON and GeoPandas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from semiring.host.spelling import came
from semiring.host.types import Label

from ..graph import Graph
from ..labels import number_pairs
from .directions import direction_columns, turned
from .from_networkx import require_numbers
from .options import BY_RULE, SOURCES, TARGETS, Reading, choose, choose_attribute, folded, kinds_of

#: The end points of a line, or None.
Ends = tuple[tuple[float, float], tuple[float, float]] | None


def ends_of(geometry: Any) -> Ends:
    """End points of a line; parts, as across the antimeridian, must be contiguous."""
    if geometry is None:
        return None
    points = geometry["coordinates"]
    if geometry["type"] == "MultiLineString":
        for end, begin in pairwise(points):
            if (end[-1][0] - begin[0][0]) % 360 or end[-1][1] != begin[0][1]:
                raise ValueError("lines of parts that do not follow one another")
        points = [point for part in points for point in part]
    elif geometry["type"] != "LineString":
        raise ValueError(f"a {geometry['type']}; points go in as places=")
    (x, y), (u, v) = ((float(number) for number in point[:2]) for point in (points[0], points[-1]))
    if not all(map(math.isfinite, (x, y, u, v))):
        raise ValueError("coordinates that are not finite")
    return (x, y), (u, v)


def from_lines(
    lines: Sequence[Ends],
    properties: Sequence[Mapping[Any, Any]],
    reading: Reading,
    refuse: Callable[[str], Exception],
    what: str = "feature",
) -> Graph:
    """The graph of edges from the first to the last point of each line; these points are the places.

    Vertices are named by the properties from and to (or source, u, … and target, v, …) or those in `columns`; else by
    coordinates (x, y). The weight is the property requested, else that of `choose_attribute`; without numbers `weight`
    must be None. Raises FormatError, or what `refuse` makes, for missing lines, ambiguous ends or weights.
    """
    if reading.columns is not None and len(reading.columns) == 3 and reading.weight is BY_RULE:
        reading = replace(reading, weight=reading.columns[2], columns=reading.columns[:2])
    named = _ends_of(properties, reading, refuse)
    if named is not None:
        pairs = [tuple(p.get(name) for name in named) for p in properties]
    else:
        if None in lines:
            raise refuse(
                f"an edge must be a line, or name its ends (from, to), got none in {what} {lines.index(None)}."
            )
        pairs = [ends for ends in lines if ends is not None]
    for k, pair in enumerate(pairs):
        if None in pair:
            raise refuse(f"an edge must name both of its ends, got {came(pair)} in {what} {k}.")
    labels, rows, cols = number_pairs([(u, v) for u, v in pairs])
    placed = np.array([k for k, line in enumerate(lines) if line is not None], np.int64)
    points = np.array([lines[k] for k in placed.tolist()], np.float64).reshape(-1, 2)
    vertices = np.stack([rows, cols], axis=1)[placed].reshape(-1)
    places = np.full((len(labels), 2), np.nan)
    places[vertices] = points
    apart = ~np.isclose(places[vertices], points, rtol=1e-9, atol=1e-9).all(axis=1)
    if apart.any():
        first = int(np.argmax(apart))
        both = f"{tuple(points[first].tolist())} and {tuple(places[vertices[first]].tolist())}"
        raise refuse(
            f"lines must begin and end at their vertices, each at one place, got {both} for "
            f"{came(labels[int(vertices[first])])}. Drop the geometry, and give places=."
        )
    weight = reading.weight
    names = list(kinds_of(properties))
    which = [names[k] for k in direction_columns(names, lambda k: [p.get(names[k]) for p in properties])]
    if weight is BY_RULE:
        passed = (*(named or ()), *which)
        kinds = kinds_of({name: x for name, x in p.items() if name not in passed} for p in properties)
        weight = choose_attribute(kinds, refuse)
        if weight is None and (kinds or any(lines)):
            raise refuse(
                f"a property of the edges must be the weight, got {', '.join(map(came, [*kinds][:20])) or 'none'}, of "
                "which none holds numbers. Say weight=None for unweighted edges."
            )
    elif weight is not None and not any(weight in p for p in properties):
        have = ", ".join(map(came, [*kinds_of(properties)][:20])) or "none"
        raise refuse(f"some edge must have the property {came(weight)} that weight names, got {have}.")
    lacking = next((k for k, p in enumerate(properties) if weight is not None and p.get(weight) is None), None)
    if lacking is not None:
        raise refuse(f"an edge must have a weight, got none under {came(weight)} in {what} {lacking}. Leave it out.")
    weights = None if weight is None else [p[weight] for p in properties]
    require_numbers(weights, weight, pairs)
    graph = Graph.from_arrays(rows, cols, weights, labels=labels)
    columns = {name: [p.get(name) for p in properties] for name in which}
    graph = turned(graph, columns, reading, lambda problem, row: refuse(f"{problem} ({what} {row})"))
    return graph if np.isnan(places).all() else graph.having(places=places)


def _ends_of(
    properties: Sequence[Mapping[Any, Any]], reading: Reading, refuse: Callable[[str], Exception]
) -> tuple[Label, Label] | None:
    """The properties that name an edge's ends, or None."""
    names = list(kinds_of(properties))
    if reading.columns is None and {*map(folded, names)}.isdisjoint((*SOURCES, *TARGETS)):
        return None
    source, target, _ = choose(names, replace(reading, weight=None), refuse)
    return names[source], names[target]
