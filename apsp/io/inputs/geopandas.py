"""GeoPandas frames of lines: edges with their ends as places, also from OSMnx's `graph_to_gdfs`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from semiring.host.errors import FormatError
from semiring.host.types import Input

from ..graph import Graph
from ..reading.lines import Ends, from_lines
from ..reading.options import SOURCES, TARGETS, Reading
from .base import Kind

_refuse = partial(FormatError, "GeoPandas frame", None)


def convert(source: Input, reading: Reading) -> Graph:
    """An edge per row, by `from_lines`; index levels may name the ends."""
    frame = source.drop(columns=source.geometry.name)
    levels = [name for name in source.index.names if str(name).casefold() in (*SOURCES, *TARGETS)]
    for name in levels:
        frame[name] = source.index.get_level_values(name)
    found = frame.to_dict("records")
    properties = [{name: x.item() if isinstance(x, np.generic) else x for name, x in row.items()} for row in found]
    return from_lines(list(map(_ends, source.geometry)), properties, reading, _refuse).having(crs=source.crs)


def _ends(line: Any) -> Ends:
    if line is None or line.is_empty:
        return None
    if line.geom_type != "LineString":
        raise _refuse(
            f"an edge must be a LineString, got a {line.geom_type}. Points go in as places=; parts through explode()."
        )
    (x, y, *_), (u, v, *_) = line.coords[0], line.coords[-1]
    return (x, y), (u, v)


KIND = Kind(
    "a GeoPandas frame of lines",
    lambda source, reading: hasattr(source, "to_crs") and hasattr(source, "columns") and hasattr(source, "geometry"),
    convert,
    columns=True,
    weights="the name of a column",
    accepts=lambda weight: isinstance(weight, str),
    lists=True,
)
