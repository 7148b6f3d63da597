"""Display of a `Result`: array with inf for no path, text, notebook HTML, data frame, picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semiring.host.devices import host
from semiring.host.errors import DTypeError, MemoryNeeded, ShapeError
from semiring.host.escaping import one_line
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Axes, Drawn, DType, Frame, Label

from ...io.display import frames, notebook, output
from ...io.reading.positions import places_of
from . import drawing
from .distances import Distances


class Shown(Distances):
    """Distances as readable text, arrays, frames and pictures."""

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        """All distances with inf for no path; integers become float64 (`distances` keeps the dtype)."""
        D = host(self.distances)
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted == D.dtype or not output.infinities(self.semiring, D.dtype):
            return np.asarray(D, wanted) if copy is None else np.array(D, wanted, copy=copy)
        if wanted is not None and wanted.kind not in "fc":
            raise DTypeError(
                f"Result: an array of floats, or of {D.dtype}, is what distances become, got dtype {wanted}: it has no "
                "inf for no path. Take `distances`, `infinity` and `reachable`."
            )
        if copy is False:
            raise ValueError("Result: an array with inf for no path is a copy of integer distances, got copy=False.")
        return output.numbers(D, self.semiring).astype(wanted or np.float64, copy=False)

    def _repr_html_(self) -> str:
        k, m = (min(notebook.SHOWN, size) for size in self.engine.shape)
        names = [str(label) for label in self.targets[:m]]
        return notebook.table(repr(self), ["", *names], self._texts(notebook.SHOWN), self._left_out(k, m))

    def text(self, count: int = 10) -> str:
        """The distances between the first `count` vertices as text, inf for no path.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> print(shortest_paths([("A", "B", 4)]).text())
              A   B
          A   0   4
          B inf   0
        """
        if count < 0:
            raise ShapeError(f"text: count must be at least 0, got {came(count)}.")
        k, m = (min(count, size) for size in self.engine.shape)
        lines = [["", *(str(label) for label in self.targets[:m])], *self._texts(count)]
        width = max(len(cell) for line in lines for cell in line)
        shown = [one_line(" ".join(cell.rjust(width) for cell in line)) for line in lines]
        left = self._left_out(k, m)
        return "\n".join([*shown, f"({left[0].lower()}{left[1:-1]})"] if left else shown)

    def to_frame(self, rows: Array = None, cols: Array = None, *, long: bool = False, of: Any = None) -> Frame:
        """The distances as a table of pandas or Polars (that of the graph, else the installed one), inf for no path.

        Parameters
        ----------
        rows, cols : list or array of labels, optional
            Sources and targets; all by default.
        long : bool
            A line per pair, columns `from`, `to`, `distance`, instead of a row per source and a column per target. (In
            Polars' wide table row names are the column `from`, and column names are text.)
        of : str or list of str, optional
            A quantity of `shortest_paths(…, along=…)`; or several, a column each of a line per pair.

        Raises
        ------
        VertexError, DTypeError
            If a label is unknown; if float64 would round an integer.
        ImportError
            If neither library is installed.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4)]).to_frame(["B"], long=True)  # doctest: +SKIP
          from to  distance
        0    B  A       inf
        1    B  B       0.0
        """
        i, j = (
            names.checked_positions(names if wanted is None else wanted, where="to_frame")
            for names, wanted in ((self.sources, rows), (self.targets, cols))
        )
        sources, targets = [self.sources[k] for k in i.tolist()], [self.targets[k] for k in j.tolist()]
        refuse_texts("to_frame", long=long)
        if not long and not isinstance(of, list):
            return frames.wide(self.table(rows, cols, of=of), sources, targets, self.frames)
        named = {name or "distance": self.table(rows, cols, of=name) for name in (of if isinstance(of, list) else [of])}
        return frames.long(named, sources, targets, self.frames)

    def plot(
        self,
        path: Sequence[Label] | None = None,
        positions: Array = None,
        *,
        values: Array = None,
        edge: Array = None,
        unit: str | tuple[str, float] = "",
        title: str | None = None,
        ax: Axes = None,
        save: str | Path | None = None,
    ) -> Drawn:
        """Draw the graph on its coordinates, if any, else the distances as an image. Needs matplotlib.

        `r.plot(positions="roads.co", values="A")` colours vertices by distance from A; `edge=r.edge_betweenness()`
        colours edges by the load.

        Parameters
        ----------
        path : sequence of labels, optional
            Shown, for instance `r.path(u, v)`.
        positions : mapping, path, array of shape (n, 2), or GeoPandas frame of points, optional
            (x, y) of each vertex, by label, or a file: DIMACS `.co`, points in `.geojson`, or a `.csv` with columns
            such as id, lon, lat. By default `graph.places`. Vertices without coordinates are omitted.
        values : label, array of shape (n,), list, mapping or pandas Series, optional
            Colour of the vertices, with a colour bar: distances from a source, by label; or a number per vertex, in
            order or by label, such as `r.nearest(…).distance` or `r.closeness()`. Grey if not finite.
        edge : array, optional
            Colour and width of the edges, with a colour bar: as from `edge_betweenness` and `flows`; shape (n, n) for a
            matrix.
        unit : str or (str, float), optional
            The unit of what is drawn, for the title and the colour bar; with a number, how much of it one is:
            ("minutes", 60_000) of milliseconds.
        title : str, optional
            By default of a path its ends, weight and vertices, "17 → 4000, 4.5 minutes, 64 vertices"; else nothing.
        ax : matplotlib Axes, optional
            A new figure by default.
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write.

        Raises
        ------
        VertexError, ShapeError
            If a label is unknown; if values are not one per vertex, or per edge.
        ValueError, FormatError
            If values come without positions; if the file of positions is malformed.
        MemoryNeeded, ImportError
            If an image of all distances does not fit; if matplotlib (extra `plot`) is missing.

        Notes
        -----
        All n² distances for an image; with positions, the edges and `values`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4)]).plot(save="distances.png")  # doctest: +SKIP
        """
        placed = self.graph.places if positions is None else places_of(positions, self.graph.labels)[0]
        if placed is None and not (values is None and edge is None):
            raise ValueError(
                "plot: values colour vertices and edges on their coordinates, got no positions. Pass positions= too."
            )
        unit, scale = (unit, 1) if isinstance(unit, str) else unit
        colours = None if values is None else self._values(values, unit, scale)
        steps = [] if path is None else self.graph.labels.checked_positions(path, where="plot: path").tolist()
        if title is None:
            title = self._titled(path, unit, scale) if path is not None and len(steps) > 1 else ""
        with drawing.canvas(ax, save) as axes:
            if placed is None:
                label = unit or ("distance" if self.semiring.lengths else self.semiring.name)
                drawing.image(axes, self._image() / scale, self.labels, steps, title, label)
            else:
                ends, carried = self._edges(edge)
                named = dict(enumerate(self.labels)) if self.graph.n <= notebook.SHOWN else {}
                named |= {k: self.labels[k] for k in (steps[:1] + steps[-1:])}
                load = None if carried is None else (unit or "carried by an edge", carried / scale)
                drawing.network(axes, placed, ends, named, steps, title, colours, load)
        return axes

    def _titled(self, path: Sequence[Label], unit: str, scale: float) -> str:
        """The ends of a path, its weight and its vertices."""
        weight = self.distance(path[0], path[-1]) / scale
        digits = max(6 if scale == 1 else 2, len(f"{weight:.0f}"))
        return f"{path[0]} → {path[-1]}, {weight:,.{digits}g} {unit}".strip() + f", {len(path)} vertices"

    def _edges(self, edge: Array) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray | None]:
        """Tails and heads of the edges, and a number for each."""
        graph, carried = self.graph, None if edge is None else _numbers(edge)
        if graph.rows is None or graph.cols is None:
            tails, heads, _ = graph.edges(self.semiring)
            shape: tuple[int, ...] = (graph.n, graph.n)
        else:
            tails, heads, shape = graph.rows, graph.cols, graph.rows.shape
        if carried is None:
            return (tails, heads), None
        if carried.shape != shape:
            raise ShapeError(f"plot: edge must be one number an edge, shape {shape}, got shape {carried.shape}.")
        return (tails, heads), carried[tails, heads] if carried.ndim == 2 else carried

    def _values(self, values: Array, unit: str = "", scale: float = 1) -> tuple[str, np.ndarray]:
        """Label of the colour bar, and a number per vertex, NaN for none."""
        names, numbers = self.graph.labels, np.full(self.graph.n, np.nan)
        if callable(getattr(values, "items", None)):  # a mapping, or a Series
            by_label = dict(values.items())
            numbers[names.positions(list(by_label))] = _numbers(list(by_label.values()))
            return unit, numbers / scale
        if values in names or not np.ndim(values):  # a tuple may be one label
            numbers[names.positions(list(self.targets))] = self.table([values])[0]
            return f"{unit or 'distance'} from {values}", numbers / scale
        found = _numbers(values)
        if found.shape != numbers.shape:
            raise ShapeError(
                f"plot: values must be one number a vertex, shape {numbers.shape}, or the label of a source, got shape "
                f"{found.shape}."
            )
        return unit, found / scale

    def _image(self) -> np.ndarray:
        try:
            return np.asarray(self)
        except MemoryNeeded as error:
            raise MemoryNeeded(f"{error} To draw the graph itself, pass positions= to plot.") from None

    def _texts(self, count: int) -> list[list[str]]:
        """The first rows and columns as text, labels first."""
        k, m = (min(count, size) for size in self.engine.shape)
        block = self.engine.block(np.arange(k), np.arange(m))
        return [
            [str(label), *(output.text(x, self.semiring) for x in entries)]
            for label, entries in zip(self.sources[:k], block, strict=True)
        ]

    def _left_out(self, k: int, m: int) -> str:
        if (k, m) == self.engine.shape:
            return ""
        if self.engine.shape == (self.graph.n,) * 2:
            return f"The first {k} of {self.graph.n} vertices."
        return f"The first {k} of {self.engine.shape[0]} sources and {m} of {self.engine.shape[1]} targets."


def _numbers(values: Array) -> np.ndarray:
    """Numbers to be drawn, as float64."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DTypeError(f"plot: values must be numbers, got {came(values)}.") from None
