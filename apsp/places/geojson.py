"""GeoJSON (RFC 7946): vertices as points, edges and paths as lines, what is within a limit as polygons."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from . import Plane, require_degrees
from .colours import colours

Feature = dict[str, Any]


def plain(value: Any) -> Any:
    """A label or a number as JSON has it: integers and texts as they are, numbers that are not finite as null."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if type(value) in (int, str, type(None)) else str(value)


def feature(geometry: Feature | None, **properties: Any) -> Feature:
    """A Feature; labels and numbers as `plain` has them."""
    named = {name: plain(value) for name, value in properties.items()}
    return {"type": "Feature", "geometry": geometry, "properties": named}


def dumps(features: Iterable[Feature]) -> bytes:
    """A file of them."""
    return json.dumps({"type": "FeatureCollection", "features": list(features)}, allow_nan=False).encode()


def require_places(xy: np.ndarray) -> None:
    """Refuse what GeoJSON cannot say: it knows longitudes and latitudes alone."""
    require_degrees(xy, where="GeoJSON", way_out="It knows no other: transform them, and give graph.having(places=…).")


def line(xy: np.ndarray) -> Feature:
    """A LineString through these coordinates; cut at the antimeridian where it crosses it; of a single one, a Point."""
    points = [tuple(p) for p in xy.tolist()]
    if len(points) == 1:
        return {"type": "Point", "coordinates": points[0]}
    parts: list[list[tuple[float, float]]] = [points[:1]]
    for (x, y), (u, v) in pairwise(points):
        if abs(u - x) > 180:  # the shorter way is across it
            edge = math.copysign(180, x)
            share = (edge - x) / ((u + 2 * edge) - x or 1)
            cut = y + share * (v - y)
            parts[-1].append((edge, cut))
            parts.append([(-edge, cut)])
        parts[-1].append((u, v))
    if len(parts) == 1:
        return {"type": "LineString", "coordinates": parts[0]}
    return {"type": "MultiLineString", "coordinates": parts}


def edges(
    xy: np.ndarray, labels: Sequence[Any], tails: np.ndarray, heads: np.ndarray, weights: np.ndarray | None
) -> list[Feature]:
    """Every edge as a line between its ends; without a geometry where one of them has no coordinates."""
    require_places(xy)
    unplaced = np.isnan(xy[:, 0])
    found = []
    for edge, (u, v) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        weight = {} if weights is None else {"weight": weights[edge]}
        geometry = None if unplaced[u] or unplaced[v] else line(xy[[u, v]])
        found.append(feature(geometry, **{"from": labels[u], "to": labels[v], **weight}))
    return found


def points(xy: np.ndarray, labels: Sequence[Any], values: np.ndarray, limits: Sequence[float] | None) -> list[Feature]:
    """Every vertex that has coordinates, with its value, the least limit that it is within, and a colour."""
    require_places(xy)
    within = np.full(len(values), np.nan)
    for limit in sorted(limits or (), reverse=True):
        within[values <= limit] = limit
    shown = colours(values if limits is None else within)
    return [
        feature(
            {"type": "Point", "coordinates": xy[k].tolist()},
            label=labels[k],
            value=values[k],
            **({} if limits is None else {"limit": within[k]}),
            **{"marker-color": shown[k]},
        )
        | {"id": plain(labels[k])}
        for k in np.flatnonzero(np.isfinite(xy).all(axis=1)).tolist()
    ]


def polygons(
    xy: np.ndarray, edges: tuple[np.ndarray, np.ndarray], values: np.ndarray, limits: Sequence[float], buffer: float
) -> list[Feature]:
    """For each limit, the greatest first, what is within `buffer` metres of vertices within it and edges between them.

    Raises
    ------
    ImportError
        If shapely is missing.
    """
    try:
        import shapely
    except ImportError:
        raise ImportError("to_geojson: polygons need shapely. Install it: `pip install shapely`.") from None
    require_places(xy)
    placed = np.isfinite(xy).all(axis=1)
    if not placed.any():
        return []
    plane = Plane.around(xy[placed])
    local = plane.project(xy)
    shown, found = colours(np.array(sorted(limits), float))[::-1], []
    for limit, colour in zip(sorted(limits, reverse=True), shown, strict=True):
        inside = placed & (values <= limit)
        both = inside[edges[0]] & inside[edges[1]] & (edges[0] != edges[1])
        ways = shapely.linestrings(np.stack([local[edges[0][both]], local[edges[1][both]]], axis=1))
        area = shapely.union_all(shapely.buffer([*ways, *shapely.points(local[inside])], buffer, quad_segs=4))
        on_earth = shapely.transform(area, plane.back)
        geometry = None if area.is_empty else json.loads(shapely.to_geojson(on_earth))
        found.append(feature(geometry, limit=limit, fill=colour))
    return found
