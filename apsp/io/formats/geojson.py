"""GeoJSON: lines are edges, with their ends as places (read only; `Result.to_geojson` writes)."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

from semiring.host.spelling import came

from ..graph import Graph
from ..places.geojson import system_of
from ..reading.files import Source
from ..reading.lines import Ends, from_lines
from ..reading.options import ANYHOW, Reading
from .base import Format
from .tokens import held


def sniff(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"FeatureCollection"' in head


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """The lines of a FeatureCollection, by `from_lines`, in the system that its `crs` names; points are refused."""
    try:
        found = json.loads(source.lines, parse_float=held)
        features, system = found["features"], system_of(found)
        lines = [_ends(feature["geometry"]) for feature in features]
        properties = [feature.get("properties") or {} for feature in features]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise source.error(f"must be GeoJSON, a FeatureCollection of lines, got {came(error)}.") from error
    return from_lines(lines, properties, reading, source.error).having(crs=system)


def _ends(geometry: Any) -> Ends:
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
        raise ValueError(f"a geometry of the type {geometry['type']}; points go in as places=")
    (x, y), (u, v) = ((float(number) for number in point[:2]) for point in (points[0], points[-1]))
    if not all(map(math.isfinite, (x, y, u, v))):
        raise ValueError("coordinates that are not finite")
    return (x, y), (u, v)


FORMAT = Format(
    "geojson", (".geojson",), "GeoJSON: lines are edges (read only)", sniff, read, None, takes=("weight", "columns"),
    rank=0,
)  # fmt: skip
