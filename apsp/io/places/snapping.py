"""Nearest vertices to points by SciPy's k-d tree, in a plane or on the sphere."""

from __future__ import annotations

import numpy as np

from semiring.host.errors import AmbiguityWarning, DomainError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Array

from ...road.log import warn
from . import GIVE, RADIUS, require_degrees


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
