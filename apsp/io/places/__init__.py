"""Places of vertices: coordinates, nearest vertices, GeoJSON, and an HTML page of a network.

Coordinates have shape (n, 2): longitude and latitude in degrees, or x and y of a plane. They are untyped: functions
that depend on it take degrees, refuse other numbers, and offer `planar=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from semiring.host.errors import AmbiguityWarning, DomainError, DTypeError, FormatError, ShapeError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Array

from ...road.log import warn
from ..labels import Labels

#: The mean radius of the Earth in metres (IUGG).
RADIUS = 6_371_008.8
#: Advice for a graph without places.
GIVE = "Give them: as_graph(…, places=…) or graph.having(places=…)."


#: Columns of tables of places, by use.
COLUMNS = {
    "the vertex": ("label", "vertex", "node", "id", "name", "stop"),
    "x": ("x", "lon", "longitude", "lng"),
    "y": ("y", "lat", "latitude"),
}


def chosen_columns(
    header: Iterable[Any], wanted: Mapping[str, Sequence[str]], refuse: Callable[[str], Exception]
) -> list[int]:
    """Positions of the columns called by one of several names, for each use."""
    plain = [str(name).strip().casefold() for name in header]
    found = {what: [k for k, name in enumerate(plain) if name in known] for what, known in wanted.items()}
    for what, columns in found.items():
        if len(columns) != 1:
            known = " or ".join(wanted[what])
            raise refuse(f"one column must name {what}, called {known}, got the columns {plain}. Rename one.")
    return [columns[0] for columns in found.values()]


def is_projected(crs: Any) -> bool:
    """Whether a coordinate reference system is a projection; of a text or number, if pyproj says so."""
    if isinstance(crs, (str, int)):
        with suppress(Exception):  # no pyproj, or none that it knows
            crs = import_module("pyproj").CRS(crs)
    return bool(getattr(crs, "is_projected", False))


def by_label(source: Any) -> Any:
    """Places by label of a table with columns such as id, lon, lat, or of a GeoPandas frame; else the source itself."""
    if not hasattr(source, "columns") or hasattr(source, "geometry"):
        return getattr(source, "geometry", source)
    chosen = chosen_columns(source.columns, COLUMNS, lambda problem: FormatError("table of places", None, problem))
    names, *xy = (list(source[source.columns[k]]) for k in chosen)
    listed = list(zip(names, zip(*xy, strict=True), strict=True))
    found = dict(listed)
    for name, place in listed:
        if found[name] != place:
            problem = f"a vertex must have one position, got {came(place)} and {came(found[name])} for {came(name)}."
            raise FormatError("table of places", None, problem)
    return found


def as_places(source: Array, labels: Labels) -> np.ndarray:
    """The coordinates of every vertex, read-only float64 (n, 2); NaN where missing.

    `source` is an array in label order, a mapping from labels to (x, y) or to points with `x` and `y` (unknown keys are
    ignored), a table with columns such as id, lon, lat, or a GeoPandas frame of points. Raises ShapeError, DTypeError
    or DomainError unless they are two finite numbers each; FormatError for a table without such columns; VertexError if
    a mapping has no label of the graph.
    """
    source = by_label(source)
    try:
        if callable(getattr(source, "items", None)):
            known = {labels.position(label): _pair(point) for label, point in source.items() if label in labels}
            if not known and len(labels):
                raise VertexError(
                    f"Graph: places must be of vertices, such as {came(labels[0])}, got a mapping with none of "
                    "the labels. Of a frame of points the index names them: frame.set_index(COLUMN)."
                )
            xy = np.full((len(labels), 2), np.nan)
            if known:
                xy[list(known)] = list(known.values())
        else:
            xy = np.array(source, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, VertexError):
            raise
        raise DTypeError(f"Graph: places must be two numbers a vertex, (x, y), got {came(source)}.") from error
    if xy.shape != (len(labels), 2):
        raise ShapeError(f"Graph: places must have shape (n, 2), here {(len(labels), 2)}, got {xy.shape}.")
    if np.isinf(xy).any():
        raise DomainError("Graph: places must be finite, or NaN where they are unknown, got inf.")
    xy[np.isnan(xy).any(axis=1)] = np.nan
    xy.flags.writeable = False
    return xy


def _pair(point: Any) -> Any:
    """The coordinates of a pair or a shapely point; NaN for None and an empty one."""
    if point is None or getattr(point, "is_empty", False):
        return np.nan, np.nan
    x, y = (point.x, point.y) if hasattr(point, "x") else point
    return x, y


def require_degrees(xy: np.ndarray, *, where: str, way_out: str) -> None:
    """DomainError, with advice `way_out`, unless coordinates are longitudes and latitudes."""
    wrong = (np.abs(xy) > (360, 90)).any(axis=-1)
    if wrong.any():
        shown = tuple(xy[wrong][0].tolist())
        raise DomainError(f"{where}: places must be longitudes and latitudes in degrees, got {shown}. {way_out}")


@dataclass(frozen=True)
class Plane:
    """A local projection of degrees to metres around a middle point, across the antimeridian."""

    middle: np.ndarray
    metres: np.ndarray

    @staticmethod
    def around(xy: np.ndarray) -> Plane:
        """The projection around the middle of some points (non-empty, no NaN)."""
        lon, lat = np.radians(xy).T
        middle = np.degrees([np.arctan2(np.sin(lon).mean(), np.cos(lon).mean()), lat.mean()])
        degree = np.radians(1) * RADIUS
        return Plane(middle, np.array([degree * max(np.cos(np.radians(middle[1])), 0.01), degree]))

    def project(self, xy: np.ndarray) -> np.ndarray:
        """Metres east and north of the middle."""
        apart = xy - self.middle
        apart[:, 0] = (apart[:, 0] + 180) % 360 - 180
        return apart * self.metres

    def back(self, metres: np.ndarray) -> np.ndarray:
        """Degrees; beyond 180 across the antimeridian."""
        return metres / self.metres + self.middle


class Snapping:
    """A k-d tree of the vertices that have coordinates.

    Degrees become points of the unit sphere in 3D, where straight-line order is that on the ground: no projection, and
    no special case at the poles or antimeridian.
    """

    def __init__(self, places: np.ndarray | None, *, planar: bool) -> None:
        from scipy.spatial import cKDTree

        self.placed = np.flatnonzero(np.isfinite(places).all(axis=1)) if places is not None else np.zeros(0, np.int64)
        if places is None or not len(self.placed):
            raise ValueError(f"Graph.nearest: vertices must have places, got a graph without any. {GIVE}")
        self.planar = planar
        self.tree = cKDTree(self._points(places[self.placed]))

    def nearest(self, x: Array, y: Array) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the nearest vertices, and distances in metres or units of the plane; ShapeError, DomainError."""
        try:
            at = np.stack(np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64)), axis=-1)
        except (TypeError, ValueError):
            message = f"Graph.nearest: there must be as many x as y, all numbers, got {came(x)} and {came(y)}."
            raise ShapeError(message) from None
        if at.ndim > 2:
            raise ShapeError(f"Graph.nearest: points must be in arrays of one axis, got shape {at.shape[:-1]}.")
        if not np.isfinite(at).all():
            raise DomainError("Graph.nearest: points must be finite, got NaN or inf. Leave such points out.")
        apart, found = self.tree.query(self._points(at))
        metres = apart if self.planar else 2 * RADIUS * np.arcsin(np.minimum(apart / 2, 1))
        self._warn_of_strangers(at, np.asarray(metres))
        return np.asarray(self.placed[found]), np.asarray(metres)

    def _warn_of_strangers(self, at: np.ndarray, apart: np.ndarray) -> None:
        """Warn of points farther from all places than these are from one another."""
        extent = np.linalg.norm(np.ptp(self.tree.data, axis=0)) * (1 if self.planar else RADIUS)
        far = np.ravel(apart) > extent
        if len(self.placed) > 1 and far.any():
            point, distance = at.reshape(-1, 2)[far][0], np.ravel(apart)[far][0]
            unit = "" if self.planar else " m"
            warn(
                f"Graph.nearest: a point must be within the extent of the places, {extent:.6g}{unit} across, got "
                f"{tuple(point.tolist())}, {distance:.6g}{unit} from the nearest. Swap them if they are latitude and "
                "longitude; distances=True tells how far each is.",
                AmbiguityWarning,
            )

    def _points(self, xy: np.ndarray) -> np.ndarray:
        if self.planar:
            return xy
        require_degrees(xy, where="Graph.nearest", way_out="Of x and y in a plane, say planar=True.")
        lon, lat = np.moveaxis(np.radians(xy), -1, 0)
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)
