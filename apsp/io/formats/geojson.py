"""GeoJSON: lines are edges, with their ends as places (read only; `Result.to_geojson` writes)."""

from __future__ import annotations

import json

from semiring.host.spelling import came

from ..graph import Graph
from ..places.geojson import system_of
from ..reading.files import Source
from ..reading.lines import ends_of, from_lines
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
        lines = [ends_of(feature["geometry"]) for feature in features]
        properties = [feature.get("properties") or {} for feature in features]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise source.error(f"must be GeoJSON, a FeatureCollection of lines, got {came(error)}.") from error
    return from_lines(lines, properties, reading, source.error).having(crs=system)


FORMAT = Format(
    "geojson", (".geojson",), "GeoJSON: lines are edges (read only)", sniff, read, None, takes=("weight", "columns"),
    rank=0,
)  # fmt: skip
