"""GeoJSON (RFC 7946): vertices as points, edges and paths as lines, isochrones as polygons."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from semiring.host.lazy import optional
from semiring.host.types import Label

from . import Plane, require_degrees

Feature = dict[str, Any]


#: RGB from the least number to the greatest.
STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]


def colours(values: np.ndarray) -> list[str]:
    """A colour `#rrggbb` per number; grey if not finite."""
    finite = np.isfinite(values)
    low, high = values[finite].min(initial=np.inf), values[finite].max(initial=-np.inf)
    share = (np.where(finite, values, low if finite.any() else 0) - low) / (high - low) if high > low else 0 * finite
    stops = np.linspace(0, 1, len(STOPS))
    mixed = np.rint(np.stack([np.interp(share, stops, channel) for channel in zip(*STOPS, strict=True)], axis=-1))
    return [
        "#{:02x}{:02x}{:02x}".format(*rgb) if seen else "#b3b3b3"
        for rgb, seen in zip(mixed.astype(int).tolist(), finite.tolist(), strict=True)
    ]


def plain(value: Any) -> Any:
    """A label or number for JSON: ints and texts unchanged, non-finite numbers null, other labels as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if type(value) in (int, str, type(None)) else str(value)


def feature(geometry: Feature | None, **properties: Any) -> Feature:
    """A Feature, with properties converted by `plain`."""
    named = {name: plain(value) for name, value in properties.items()}
    return {"type": "Feature", "geometry": geometry, "properties": named}


def dumps(features: Iterable[Feature]) -> bytes:
    """A FeatureCollection as bytes."""
    return json.dumps({"type": "FeatureCollection", "features": list(features)}, allow_nan=False).encode()


def system_of(found: Feature) -> str | None:
    """The coordinate system that a FeatureCollection names, as GeoPandas and QGIS write it."""
    name: str | None = (found.get("crs") or {}).get("properties", {}).get("name")
    return name


def require_places(xy: np.ndarray) -> None:
    """DomainError unless coordinates are longitude and latitude."""
    require_degrees(xy, where="GeoJSON", way_out="It knows no other: transform them, and give graph.having(places=…).")


def line(xy: np.ndarray) -> Feature:
    """A LineString cut at the antimeridian, or a Point for one coordinate pair."""
    points = [(x if abs(x) <= 180 else (x + 180) % 360 - 180, y) for x, y in xy.tolist()]
    if len(points) == 1:
        return {"type": "Point", "coordinates": points[0]}
    parts: list[list[tuple[float, float]]] = [points[:1]]
    for (x, y), (u, v) in pairwise(points):
        if abs(u - x) > 180:  # the shorter way crosses it
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
    xy: np.ndarray, labels: Sequence[Label], tails: np.ndarray, heads: np.ndarray, weights: np.ndarray | None
) -> list[Feature]:
    """Every edge as a line, without geometry if an end has no place."""
    require_places(xy)
    unplaced = np.isnan(xy[:, 0])
    found = []
    for edge, (u, v) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        weight = {} if weights is None else {"weight": weights[edge]}
        geometry = None if unplaced[u] or unplaced[v] else line(xy[[u, v]])
        found.append(feature(geometry, **{"from": labels[u], "to": labels[v], **weight}))
    return found


def points(
    xy: np.ndarray, labels: Sequence[Label], values: np.ndarray, limits: Sequence[float] | None
) -> list[Feature]:
    """Every placed vertex, with its value, least limit, and colour."""
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
    """By descending limit, the area within `buffer` metres of vertices within it and their edges; needs shapely."""
    shapely = optional("shapely", "to_geojson: polygons need shapely")
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
