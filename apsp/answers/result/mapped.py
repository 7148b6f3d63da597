"""A `Result` on a map: GeoJSON, GeoPandas frames, an interactive HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.lazy import optional
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Fields, Label
from semiring.stores.files import writing

from ...io.graph.exported import listed
from ...io.places import GIVE, geojson, page
from ...io.saving import check_output
from .shown import Shown


class Mapped(Shown):
    """Paths and values at the places of vertices."""

    def to_geojson(
        self,
        path: Sequence[Label] | None = None,
        values: Array = None,
        *,
        limits: Sequence[float] | None = None,
        buffer: float | None = None,
        save: str | Path | None = None,
    ) -> Fields:
        """GeoJSON of a path, of values as coloured points or isochrone polygons, or of the edges.

        Parameters
        ----------
        path : sequence of labels, optional
            Becomes a line with properties `from`, `to` and `distance` (between its ends), for instance `r.path(u, v)`.
        values : label, array of shape (n,), list, mapping or pandas Series, optional
            As in `plot`: distances from a source, or a number per vertex. Become points with properties `label`,
            `value` and `marker-color`, grey if not finite.
        limits : sequence of float, optional
            Classes of the values: each point has the property `limit`, the least bound of its value, and its colour.
        buffer : float, optional
            Instead of points, a polygon per limit, the greatest first: everything within this many metres of the
            vertices within the limit and the edges between them. Needs shapely.
        save : path, optional
            A `.geojson` or `.json` file to write.

        Returns
        -------
        dict
            A FeatureCollection. By default of the edges, with properties `from`, `to` and `weight`; `as_graph` reads
            it.

        Raises
        ------
        ValueError
            If the graph or a path vertex has no places, limits or buffer lack what they apply to, or it is not above 0.
        DomainError
            If places are not longitude and latitude, or limits not finite.
        VertexError, ShapeError, ImportError
            As `plot`; if polygons are requested without shapely.

        Notes
        -----
        O(n) for points, O(m) for edges, plus the values. Lines are cut at the antimeridian. Labels other than integers
        and text are written as text. Source: RFC 7946.

        Examples
        --------
        >>> from apsp import as_graph, shortest_paths
        >>> r = shortest_paths(as_graph([("A", "B", 4)], places={"A": (6.10, 49.62), "B": (6.17, 49.63)}))
        >>> r.to_geojson(path=["A", "B"])["features"][0]["geometry"]
        {'type': 'LineString', 'coordinates': [(6.1, 49.62), (6.17, 49.63)]}
        """
        if save is not None:
            check_output(save, (".geojson", ".json"))
        xy = self._placed("to_geojson")
        if (limits is not None and values is None) or (buffer is not None and limits is None):
            raise ValueError("to_geojson: limits must come with values, and a buffer with limits, got one alone.")
        if buffer is not None and not 0 < buffer < np.inf:
            raise ValueError(f"to_geojson: a buffer must be of more than 0 metres, got {came(buffer)}.")
        if limits is not None and (np.ndim(limits) != 1 or not np.isfinite(np.asarray(limits, float)).all()):
            raise ValueError(f"to_geojson: limits must be a list of finite numbers, got {came(limits)}.")
        features = [] if path is None else [self._route(xy, path)]
        if values is not None:
            numbers = self._values(values)[1]
            if buffer is None:
                features += geojson.points(xy, self.graph.labels, numbers, limits)
            else:
                features += geojson.polygons(xy, self._edges(None)[0], numbers, limits or (), buffer)
        elif path is None:
            features = geojson.edges(xy, self.graph.labels, *listed(self.graph, self.semiring))
        if save is not None:
            with writing(save) as file:
                file.write(geojson.dumps(features))
        return {"type": "FeatureCollection", "features": features}

    def to_geopandas(
        self,
        path: Sequence[Label] | None = None,
        values: Array = None,
        *,
        limits: Sequence[float] | None = None,
        buffer: float | None = None,
    ) -> Any:
        """`to_geojson` as a GeoPandas frame in longitude and latitude.

        Parameters
        ----------
        path, values, limits, buffer
            As in `to_geojson`.

        Returns
        -------
        geopandas.GeoDataFrame
            A row per feature, properties as columns, `crs` EPSG:4326.

        Raises
        ------
        ImportError, ValueError, DomainError, VertexError, ShapeError
            If GeoPandas (extra `geo`) is missing, or as `to_geojson`.

        Notes
        -----
        As `to_geojson`.

        Examples
        --------
        >>> from apsp import as_graph, shortest_paths
        >>> r = shortest_paths(as_graph([("A", "B", 4)], places={"A": (6.10, 49.62), "B": (6.17, 49.63)}))
        >>> r.to_geopandas(values="A")  # doctest: +SKIP
                            geometry label  value marker-color
        0   POINT (6.1 49.62)     A    0.0      #440154
        1  POINT (6.17 49.63)     B    4.0      #fde725
        """
        features = self.to_geojson(path, values, limits=limits, buffer=buffer)["features"]
        geopandas = optional("geopandas", "to_geopandas: GeoPandas is required")
        if not features:
            return geopandas.GeoDataFrame(geometry=[], crs="EPSG:4326")
        return geopandas.GeoDataFrame.from_features(features, crs="EPSG:4326")

    def explore(
        self,
        path: Sequence[Label] | None = None,
        values: Array = None,
        *,
        planar: bool | None = None,
        save: str | Path | None = None,
    ) -> page.Page:
        """The network as one self-contained HTML page: drag, zoom, name and value of the vertex under the pointer.

        Parameters
        ----------
        path : sequence of labels, optional
            Shown, for instance `r.path(u, v)`.
        values : label, array of shape (n,), list, mapping or pandas Series, optional
            Colour of the vertices, as in `plot`.
        planar : bool, optional
            Whether places are x and y of a plane, not degrees; by default the graph's own.
        save : path, optional
            A `.html` file to write.

        Returns
        -------
        Page
            `html` has the text; a notebook shows it.

        Raises
        ------
        ValueError, DomainError
            If the graph or a path vertex has no places, or these are not degrees, without `planar`.
        VertexError, ShapeError
            As `plot`.

        Notes
        -----
        O(n + m) plus the values; about 30 bytes a vertex and 12 an edge. Vertices without a place are omitted, with
        their edges.

        Examples
        --------
        >>> from apsp import as_graph, shortest_paths
        >>> r = shortest_paths(as_graph([("A", "B", 4)], places={"A": (6.10, 49.62), "B": (6.17, 49.63)}))
        >>> r.explore(values="A").html[:15]
        '<!DOCTYPE html>'
        """
        if save is not None:
            check_output(save, (".html",))
        refuse_texts("explore", planar=planar)
        xy = self._placed("explore")
        steps = [] if path is None else self._steps(xy, path, "explore")
        shown = None if values is None else self._values(values)
        title = self.graph.name or f"{self.graph.n} vertices"
        planar = self.graph.planar if planar is None else planar
        made = page.page(xy, self._edges(None)[0], self.graph.labels, steps, title, shown, planar=planar)
        if save is not None:
            with writing(save) as file:
                file.write(made.html.encode())
        return made

    def _placed(self, where: str) -> np.ndarray:
        if self.graph.places is None:
            raise ValueError(f"{where}: vertices must have places, got a graph without any. {GIVE}")
        return self.graph.places

    def _steps(self, xy: np.ndarray, path: Sequence[Label], where: str) -> list[int]:
        """The positions of a path's vertices; ValueError if one has no place."""
        steps: list[int] = self.graph.labels.checked_positions(path, where=f"{where}: path").tolist()
        lost = [k for k in steps if np.isnan(xy[k, 0])]
        if lost or not steps:
            got = f"{came(self.graph.labels[lost[0]])}, which has none" if lost else "a path without vertices"
            raise ValueError(f"{where}: the vertices of a path must have places, got {got}.")
        return steps

    def _route(self, xy: np.ndarray, path: Sequence[Label]) -> Fields:
        steps = self._steps(xy, path, "to_geojson")
        geojson.require_places(xy)
        u, v = (self.graph.labels[k] for k in (steps[0], steps[-1]))
        ends = {"from": u, "to": v, "distance": self.distance(u, v)}
        return geojson.feature(geojson.line(xy[steps]), **ends)
