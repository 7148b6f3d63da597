"""Coordinates of vertices from a file: DIMACS `.co`, GeoJSON points, or columns of a `.csv`; optionally gzipped.

| file                | vertex                                              | coordinates                       |
|---------------------|-----------------------------------------------------|-----------------------------------|
| `.co`               | the number in `v number x y`                        | x, y as they are                  |
| `.geojson`, `.json` | a Point's `id`, or its property named so, or label  | `coordinates`                     |
| `.csv`              | a column named label, vertex, node, id, name, stop  | columns x, y or lon, lat          |
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from semiring.host.errors import FormatError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Fields, Input, Label

from ..labels import Labels
from ..places import COLUMNS, as_places, chosen_columns
from ..places.geojson import system_of
from .files import Source, csv_rows
from .options import SOURCES, TARGETS

NAMES = COLUMNS["the vertex"]


def read_positions(path: str | os.PathLike[str], labels: Labels) -> tuple[np.ndarray, str | None]:
    """(x, y) of every vertex, shape (n, 2), NaN where the file has none, and its coordinate system.

    The format is that of the suffix before `.gz`. Names match labels by their text; unknown names are ignored.
    FormatError for an unknown suffix, a malformed line, no known vertex, or ambiguous names; OSError.
    """
    source = Source(path, holds="positions of vertices")
    suffix = os.path.splitext(str(path).lower().removesuffix(".gz"))[1]
    known = (".co", ".geojson", ".json", ".csv")
    if suffix not in known:
        raise source.error(f"positions must be in a file {', '.join(known)}, got the suffix {came(suffix)}.")
    xy = np.full((len(labels), 2), np.nan)
    found, crs = 0, None
    if "json" in suffix:
        places, crs = _geojson(source)
    else:
        places = _dimacs(source) if suffix == ".co" else _columns(source)
    for name, x, y in places:
        k = labels.find_text(str(name))
        if k is not None:
            if k < 0:
                raise source.error(f"a position must be of one vertex, got {came(name)}, as which two are written.")
            if not np.isnan(xy[k, 0]) and tuple(xy[k]) != (x, y):
                raise source.error(
                    f"a vertex must have one position, got {tuple(xy[k].tolist())} and {x, y} for {came(name)}."
                )
            xy[k] = x, y
            found += 1
    if not found and len(labels):
        raise source.error("must give the position of a vertex, got none of the graph's labels.")
    return xy, crs


def places_of(source: Input, labels: Labels) -> tuple[np.ndarray, Input]:
    """Coordinates of every vertex from a file, or anything for `as_places`, and their system if it names one."""
    crs = getattr(source, "crs", None)
    if isinstance(source, (str, os.PathLike)):
        source, crs = read_positions(source, labels)
    return as_places(source, labels), crs


def _number(source: Source, text: Any, line: int | None, what: str = "a coordinate") -> float:
    try:
        value = math.nan if isinstance(text, bool) or "_" in str(text) else float(text)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise source.error(f"{what} must be a finite number, got {came(text)}.", line)
    return value


def _dimacs(source: Source) -> Iterator[tuple[Label, float, float]]:
    for line, text in enumerate(source.lines.decode("utf-8", "replace").split("\n"), 1):
        parts = text.split()
        if not parts or parts[0] in ("c", "p"):
            continue
        if len(parts) != 4 or parts[0] != "v" or not parts[1].isdecimal():
            raise source.error(f"a line must be `v number x y`, got {text[:60]!r}.", line)
        yield int(parts[1]), _number(source, parts[2], line), _number(source, parts[3], line)


def _geojson(source: Source) -> tuple[Iterator[tuple[Label, float, float]], str | None]:
    try:
        found = json.loads(source.lines)
        features, crs = found["features"] if found.get("type") == "FeatureCollection" else [found], system_of(found)
        points = [f for f in features if (f.get("geometry") or {}).get("type") == "Point"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise source.error(f"must be GeoJSON, a FeatureCollection of points, got {came(error)}.") from error
    return _of_points(source, points), crs


def _of_points(source: Source, points: list[Fields]) -> Iterator[tuple[Label, float, float]]:
    for k, point in enumerate(points):
        properties = point.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        names = [point["id"]] if "id" in point else [properties[name] for name in NAMES if name in properties]
        place = point["geometry"].get("coordinates")
        if not names or not isinstance(place, list) or len(place) < 2:
            raise source.error(f"a point must have an id and coordinates, got feature {k}: {str(point)[:80]}.")
        yield names[0], _number(source, place[0], None), _number(source, place[1], None)


def _columns(source: Source) -> Iterator[tuple[Label, float, float]]:
    for line, name, x, y in _chosen(source, COLUMNS):
        yield name, _number(source, x, line), _number(source, y, line)


def _chosen(source: Source, wanted: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, str, str, str]]:
    """Lines of a table, and their fields in three columns, each called by one of several names."""
    rows = csv_rows(source, source.lines.decode("utf-8-sig", "replace"))
    header = next(rows, (1, []))[1]
    chosen = chosen_columns(header, wanted, lambda problem: source.error(problem, 1))
    for line, row in rows:
        if len(row) != len(header):
            raise source.error(f"a line must have {len(header)} columns, got {row}.", line)
        first, second, third = (row[k].strip() for k in chosen)
        yield line, first, second, third


def read_pairs(path: str | os.PathLike[str], labels: Labels) -> list[tuple[Label, Label]]:
    """Pairs of labels, two a line by comma, tab or blanks; a first line `from,to` is skipped; raises FormatError."""
    pairs, source = [], Source(path, holds="pairs of labels")
    for line, text in enumerate(source.lines.decode("utf-8-sig", "replace").split("\n"), 1):
        mark = next((mark for mark in "\t," if mark in text), " ")
        rows = [text.split()] if mark == " " else [row for _, row in csv_rows(source, text, mark, line - 1)]
        ends = [name.strip() for name in rows[0]] if rows else []
        if not any(ends) or (line == 1 and _is_header(ends) and all(labels.find_text(name) is None for name in ends)):
            continue
        if len(ends) != 2:
            raise FormatError(path, line, f"a pair must be two labels, got {len(ends)}.")
        u, v = (labels[_position(source, line, name, labels)] for name in ends)
        pairs.append((u, v))
    return pairs


def read_trips(path: str | os.PathLike[str], labels: Labels) -> list[tuple[Label, Label, float]]:
    """Demand from a `.csv` with columns origin, destination, trips in any order; FormatError names the bad line."""
    source = Source(path, holds="origin, destination and trips")
    found = []
    for line, u, v, trips in _chosen(source, {name: (name,) for name in ("origin", "destination", "trips")}):
        ends = (labels[_position(source, line, name, labels)] for name in (u, v))
        found.append((*ends, _number(source, trips, line, "trips")))
    return found


def _position(source: Source, line: int, name: str, labels: Labels) -> int:
    try:
        return labels.position_of_text(name)
    except VertexError as error:
        raise source.error(str(error), line) from None


def _is_header(ends: list[str]) -> bool:
    """Whether two words are names of source and target columns."""
    return len(ends) == 2 and ends[0].casefold() in SOURCES and ends[1].casefold() in TARGETS


def read_labels(path: str | os.PathLike[str], labels: Labels) -> list[Label]:
    """Labels, one a line or in the first column of a `.csv`, no header; FormatError for unknown or repeated ones."""
    source = Source(path, holds="labels of vertices")
    comma = str(path).lower().removesuffix(".gz").endswith(".csv")
    text = source.lines.decode("utf-8-sig", "replace")
    rows = csv_rows(source, text) if comma else ((line, [text]) for line, text in enumerate(text.split("\n"), 1))
    found: dict[int, int] = {}
    for line, row in rows:
        name = row[0].strip()
        if not name or (line == 1 and name.casefold() in NAMES and labels.find_text(name) is None):
            continue
        position = _position(source, line, name, labels)
        if position in found:
            raise source.error(f"a vertex must come once, got {came(name)} in line {found[position]} too.", line)
        found[position] = line
    if not found:
        raise source.error("must hold labels of vertices, got none.")
    return [labels[k] for k in found]
