"""The record `Graph`: a dense matrix or an edge list, checked on construction; `apsp.io.inputs` converts all else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semiring.host.arrays import asarray
from semiring.host.errors import ShapeError, VertexError
from semiring.host.spelling import refuse_texts
from semiring.host.types import Array, Label, Vertices
from semiring.stores.tiles import TileStore

from ..display import notebook
from ..labels import Labels, number_pairs
from ..places import Snapping, as_places, is_projected
from .edge_lists import from_array, from_tuples, numbers, positions, refuse_nan
from .entries import present
from .exported import Exported, same
from .nulls import Nulls
from .ondisk import OnDisk

#: The largest n accepted; no memory holds an array with more entries.
_MOST = 10**15


@dataclass(frozen=True, eq=False)
class Graph(Exported):
    """Labelled vertices and their edges, as a dense matrix or an edge list.

    Attributes
    ----------
    n : int
        The number of vertices.
    labels : Labels
        Vertex names, in the order of the matrix.
    dense : array of shape (n, n), OnDisk, or None
        NumPy or CuPy, uncopied; a missing edge is the zero of the semiring in use (inf in min-plus). OnDisk for a store
        of tiles, or a `.npy` file that does not fit in memory (docs/stores.md).
    rows, cols : int64 arrays, or None
        Tail and head positions of the edge list; duplicates may occur.
    weights : int64 or float64 array, or None
        One weight per edge; None for an unweighted graph, where every edge weighs 1.
    directed : bool
        If False, each edge (or matrix entry) also leads back.
    name : str
        Shown in tables and messages.
    unit : bool
        Whether every edge of `dense` weighs 1. Edges are True or finite entries; a numeric matrix with zeros off the
        diagonal and no infinity must be 0/1, and its ones are the edges.
    nulls : tuple of number, or None
        Entries of `dense` that are no edges besides the semiring's zero: (0,) after `null_value=0`, () after
        `null_value=None`; None if undeclared.
    places : float64 array of shape (n, 2), or None
        Longitude and latitude in degrees, or x and y; NaN where unknown.
    planar : bool
        Whether places are x and y in a plane, by the `crs` of their source.

    Raises
    ------
    VertexError
        In `index` and `index_of`, if no vertex has that label.
    DTypeError, DomainError
        In `matrix`, `to_scipy` and `edges`, if the weights do not fit the semiring or the dtype.
    MemoryNeeded, ImportError
        In these, `to_networkx` and `to_frame`, if the result, or the edges of a dense matrix, do not fit; in the last
        two, if the library is missing.

    See Also
    --------
    as_graph : From any supported input; the inverse of all conversions.
    from_edges, from_arrays, from_matrix : Constructors, from labels, from positions (much faster), from a dense matrix.
    edges, matrix, to_scipy, to_networkx, to_frame : Three arrays, parallel edges kept; dense, sparse and other forms.
    having : Replaced properties, as by `directed`, `unweighted` and `null_value` of `as_graph`.
    index, index_of : Positions of labels.
    nearest, Result.nearest : The nearest vertex as the crow flies, and by graph distance.
    apsp.csgraph.csgraph_to_dense : Conversion of the result of `to_scipy`.

    Notes
    -----
    The first call of `index` or `index_of` builds a table of the n labels; then O(1) a label. `from_matrix` is O(1) and
    copies no array, `from_arrays` and `edges` O(n + m), with 24 bytes an edge; a dense matrix takes `edges` and
    `to_scipy` O(n²), a list `to_scipy` O(n + m log m).

    Examples
    --------
    >>> from apsp import Graph
    >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
    >>> g.n, g.edge_count, g.index("C"), g.weights.tolist()
    (3, 2, 2, [4, 7])
    """

    def __eq__(self, other: object) -> bool:
        """Equal vertices, in any order, and equal arcs with their weights, parallel ones too; O(m log m).

        An edge without a weight weighs 1. `name` and `places` do not count.
        """
        return same(self, other) if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.n)

    @classmethod
    def from_matrix(cls, A: Array, *, labels: Iterable[Label] | None = None, name: str = "") -> Graph:
        """The graph of a dense matrix: entry (i, j) is the edge from i to j.

        Parameters
        ----------
        A : array_like or TileStore, shape (n, n)
            Not copied; stays on its device or disk. A missing edge is the zero of the semiring in use.
        labels : iterable, optional
            n distinct names; 0 … n − 1 by default.

        Raises
        ------
        ShapeError
            If A is not square, or the number of labels is not n.
        DTypeError
            If entries are not real numbers or booleans (checked by the closure).

        Examples
        --------
        >>> Graph.from_matrix([[0, 3], [1, 0]], labels=["A", "B"]).index("B")
        1
        """
        if isinstance(A, (list, tuple)) and not A:
            A = np.empty((0, 0))
        A = OnDisk.of(A, A.path) if isinstance(A, TileStore) else A
        dense: Any = A if isinstance(A, OnDisk) else asarray(A, where="Graph")
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
            raise ShapeError(f"Graph: a matrix must be square, (n, n), got shape {dense.shape}.{_meant(dense.shape)}")
        names = Labels(range(len(dense)) if labels is None else labels)
        if labels is not None and len(names) != len(dense):
            raise ShapeError(f"Graph: there must be one label a vertex, got {len(names)} labels for n = {len(dense)}.")
        return cls(len(dense), names, dense=dense, name=name)

    def _repr_html_(self) -> str:
        return notebook.table(repr(self), ["vertices", "edges"], [(self.n, self.edge_count)])

    @classmethod
    def from_arrays(
        cls,
        rows: Array,
        cols: Array,
        weights: Array = None,
        *,
        n: int | None = None,
        labels: Iterable[Label] | None = None,
        directed: bool = True,
        name: str = "",
    ) -> Graph:
        """The graph with edges (rows[e], cols[e]) of weight weights[e].

        Parameters
        ----------
        rows, cols : integer array_like, shape (m,)
            Positions from 0.
        weights : array_like, shape (m,), optional
            Integers stay int64; mixed with floats or beyond 64 bits they become float64 if exact there. Every edge
            weighs 1 by default.
        n : int, optional
            The number of vertices; by default the number of labels, else the largest position + 1.
        labels : iterable, optional
            n distinct names; 0 … n − 1 by default.

        Raises
        ------
        ShapeError, VertexError, DomainError
            If lengths differ; if a position is not in 0 … n − 1, or a label occurs twice; if a weight is NaN.
        DTypeError
            If a weight is no number, or float64 cannot represent it exactly or at all.

        Examples
        --------
        >>> Graph.from_arrays([0, 1], [1, 2], [4, 7])
        Graph(n=3, directed=True, name='')
        """
        refuse_texts("Graph", directed=directed)
        tails, heads = (positions(x, side) for x, side in ((rows, "rows"), (cols, "cols")))
        if len(tails) != len(heads):
            raise ShapeError(f"Graph: rows and cols must be equally long, got {len(tails)} and {len(heads)}.")
        ends = np.concatenate((tails, heads))
        names = labels if labels is None or isinstance(labels, Labels) else Labels(labels)
        if n is None:
            n = len(names) if names is not None else int(ends.max()) + 1 if len(ends) else 0
        if not 0 <= n <= _MOST:
            raise ShapeError(f"Graph: n must be 0 or more, and at most 10¹⁵, got {n}.")
        if names is None:
            names = Labels(range(n))
        if len(names) != n:
            raise ShapeError(f"Graph: there must be one label a vertex, got {len(names)} labels for n = {n}.")
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            k = int(np.argmax(outside))
            raise VertexError(
                f"Graph: positions must lie in 0 … {n - 1}, got {ends[k]} on edge {k % len(tails)}. "
                "Count vertices from 0, or give n."
            )
        w = None if weights is None else numbers(weights)
        if w is not None:
            if w.shape != tails.shape:
                raise ShapeError(f"Graph: there must be one weight an edge, got {w.shape} for {len(tails)} edges.")
            refuse_nan(w, tails, heads, names)
        return cls(n, names, rows=tails, cols=heads, weights=w, directed=directed, name=name)

    @classmethod
    def from_edges(
        cls, edges: Any, *, labels: Iterable[Label] | None = None, directed: bool = True, name: str = ""
    ) -> Graph:
        """The graph of labelled edges (u, v) or (u, v, weight).

        Parameters
        ----------
        edges : iterable of tuples, or array of shape (m, 2) or (m, 3)
            Labels are any hashables (integers in an array). Either all edges have a weight or none.
        labels : iterable, optional
            All vertices, in order; needed for isolated ones. By default the labels that occur, sorted if comparable,
            else in order of appearance.

        Raises
        ------
        ShapeError
            If an edge is no pair or triple, or some have a weight and others none.
        VertexError
            If an edge names a vertex that `labels` lacks.
        DomainError, DTypeError
            If a weight is NaN or no number.

        Notes
        -----
        O(m) time, and O(n log n) to sort the labels.

        Examples
        --------
        >>> g = Graph.from_edges([("B", "C", 7), ("A", "B", 4)])
        >>> g.labels, g.index("C")
        (Labels(('A', 'B', 'C')), 2)
        """
        pairs, weights = from_array(edges) if isinstance(edges, np.ndarray) else from_tuples(edges)
        if labels is None:
            names, rows, cols = number_pairs(pairs)
        else:
            names = Labels(labels)
            rows, cols = (np.array([names.position(pair[side]) for pair in pairs], np.int64) for side in (0, 1))
        return cls.from_arrays(rows, cols, weights, n=len(names), labels=names, directed=directed, name=name)

    def having(
        self,
        *,
        directed: bool | None = None,
        weighted: bool = True,
        nulls: Nulls = None,
        name: str = "",
        places: Array = None,
        crs: Any = None,
    ) -> Graph:
        """The graph with some properties replaced: itself if none differs, else one that shares its arrays.

        Parameters
        ----------
        directed : bool, optional
        weighted : bool
            If False, every edge weighs 1.
        nulls : tuple of number, or None
            Matrix entries, or edge weights, that are no edges.
        name : str
        places : array of shape (n, 2), mapping, table, or GeoPandas frame of points, optional
            (longitude, latitude) or (x, y), in vertex order or by label (a frame's index). Labels missing from a
            mapping have no place; its unknown keys are ignored.
        crs : pyproj.CRS, or text such as "EPSG:32632", optional
            Of the places; by default that of a frame, else degrees.

        Raises
        ------
        ShapeError
            If a dense matrix is to be undirected, nulls come with unread weights, or places are not (n, 2).
        DTypeError, DomainError
            If places are no numbers, or infinite.
        VertexError
            If no key of a mapping of places is a label.

        Notes
        -----
        O(1); O(n) for places, O(m) where weights are checked.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.having(directed=False, name="roads")
        Graph(n=3, directed=False, name='roads')
        """
        if isinstance(directed, str):
            refuse_texts("Graph", directed=directed)
        idle = directed in (None, self.directed) and weighted and not name and places is crs is None
        if idle and (nulls is None or (self.dense is None and not nulls)):
            return self
        edges: Any = slice(None)
        crs = getattr(places, "crs", None) if crs is None else crs
        if self.dense is None and self.weights is not None and (nulls or not weighted):
            kept = self.weights != nulls[0] if weighted and nulls else present(self.weights, nulls)
            edges = edges if kept.all() else kept
        elif self.dense is None and nulls and not weighted:
            raise ShapeError(
                f"Graph: null_value={nulls[0]} must come with a matrix or with weights, got a list of edges "
                "whose weights are not read. Leave it out."
            )
        if self.dense is not None and directed is False:
            raise ShapeError(
                "Graph: directed=False must come with a list of edges, got a dense matrix. "
                "A matrix says both directions itself: pass np.minimum(A, A.T)."
            )
        return Graph(
            self.n,
            self.labels,
            self.dense,
            rows=None if self.rows is None else self.rows[edges],
            cols=None if self.cols is None else self.cols[edges],
            weights=self.weights[edges] if weighted and self.weights is not None else None,
            directed=self.directed if directed is None else directed,
            name=name or self.name,
            unit=self.unit or (not weighted and self.dense is not None),
            nulls=self.nulls if nulls is None or self.dense is None else nulls,
            places=self.places if places is None else as_places(places, self.labels),
            planar=self.planar if crs is None else is_projected(crs),
        )

    def nearest(self, lon: Array, lat: Array, *, planar: bool | None = None, distances: bool = False) -> Any:
        """The vertex nearest to a point, or to each of several, as the crow flies.

        Parameters
        ----------
        lon, lat : float, or arrays of shape (k,)
            In degrees; with `planar`, x and y.
        planar : bool, optional
            Whether coordinates are x and y in a plane (projected), not degrees; by default `self.planar`.
        distances : bool
            Also return the distances: metres on the sphere, or the plane's unit.

        Returns
        -------
        label, or list of k labels
            Ties are broken arbitrarily.
        float, or array of shape (k,)
            With `distances`.

        Raises
        ------
        ValueError, DomainError
            If no vertex has a place; if coordinates are not degrees (without `planar`), or a point is not finite.
        ShapeError
            If lon and lat are not equally long vectors.

        Warns
        -----
        AmbiguityWarning
            If a point is farther from its vertex than the places are from one another: lon and lat may be swapped.

        Notes
        -----
        The first call builds SciPy's k-d tree, O(n log n); then O(log n) a point. Vertices without a place are skipped.
        Degrees are compared on the sphere, across the antimeridian and the poles.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4)]).having(places={"A": (6.10, 49.62), "B": (6.17, 49.63)})
        >>> g.nearest(6.16, 49.63), g.nearest([6.11, 6.12], [49.62, 49.61])
        ('B', ['A', 'A'])
        """
        refuse_texts("Graph.nearest", planar=planar, distances=distances)
        snapping = self._on_plane if (self.planar if planar is None else planar) else self._on_sphere
        found, apart = snapping.nearest(lon, lat)
        labels = [self.labels[k] for k in found.tolist()] if found.ndim else self.labels[int(found)]
        if not distances:
            return labels
        return labels, apart if found.ndim else float(apart)

    @cached_property
    def _on_sphere(self) -> Snapping:
        return Snapping(self.places, planar=False)

    @cached_property
    def _on_plane(self) -> Snapping:
        return Snapping(self.places, planar=True)

    def index(self, label: Label) -> int:
        """The position of the vertex `label`.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.index("C")
        2
        """
        return self.labels.position(label)

    def index_of(self, labels: Vertices) -> np.ndarray:
        """The positions of several `labels`, in an int64 array of their shape.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.index_of(["C", "A"])
        array([2, 0])
        """
        return self.labels.positions(labels)


def _meant(shape: tuple[int, ...]) -> str:
    """A hint for a non-square matrix: likely an edge list."""
    if len(shape) == 2 and shape[0] == 2:
        return " An edge_index with its weights goes in as (edge_index, weights), or (edge_index, None) without."
    if len(shape) == 2 and shape[1] in (2, 3):
        return " Edges in an array go through Graph.from_edges."
    return ""
