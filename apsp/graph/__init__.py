"""The record `Graph`: a dense matrix where it stays, or an edge list; both are checked when it is made.

What else describes a graph is turned into one by `apsp.inputs`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from semiring import catalog, dtypes, memory
from semiring.algebra import Semiring
from semiring.arrays import asarray
from semiring.conversion import conform
from semiring.cycles import Lengths
from semiring.errors import ShapeError, VertexError
from semiring.sparse.cycles import Weighted
from semiring.tiles import TileStore
from semiring.types import Array, DType, Label

from ..display import notebook
from ..labels import Labels, number_pairs
from ..places import as_places
from ..places.snapping import Snapping
from .edge_lists import from_array, from_tuples, numbers, positions, refuse_nan
from .entries import Edges, combine, is_boolean, listed, over, present, unit_dtype
from .exported import to_frame, to_networkx, to_scipy
from .nulls import Nulls
from .ondisk import OnDisk, Windows

#: Vertices: no memory holds an array with more entries.
_MOST = 10**15
#: How many edges go into a matrix together.
_ARCS = 1 << 16


@dataclass(frozen=True, eq=False)
class Graph:
    """Vertices with names, and their edges: a dense matrix, or a list.

    Build one with `as_graph`, `Graph.from_edges`, `Graph.from_arrays` or `Graph.from_matrix`.

    Attributes
    ----------
    n : int
        The number of vertices.
    labels : Labels
        Their names, in the order of the matrix.
    dense : array of shape (n, n), OnDisk, or None
        NumPy or CuPy, as it came; a missing edge is the zero of the semiring it is used with (inf in min-plus). What
        was read from a store of tiles, or from a `.npy` file that does not fit, stays there (docs/stores.md).
    rows, cols : int64 arrays, or None
        Where there is no dense matrix: the positions that each edge leaves and enters. Duplicates may occur.
    weights : int64 or float64 array, or None
        One weight an edge; None where the graph is unweighted, and then every edge weighs 1.
    directed : bool
        If not, each edge of the list (or entry of the matrix) also leads back.
    name : str
        For tables and messages; no more.
    unit : bool
        Whether each edge of `dense` weighs 1, whatever its entry. An edge is a True entry, or a finite one; a matrix of
        numbers with zeros off the diagonal, where none is infinite, must hold zeros and ones, and the ones are edges.
    nulls : tuple of number, or None
        Entries of `dense` that are no edges other than the semiring's zero: (0,) after `null_value=0`, () after
        `null_value=None`; None where nothing was said.
    places : float64 array of shape (n, 2), or None
        Where the vertices are, as longitude and latitude in degrees or x and y; NaN where unknown, None for nowhere.

    See Also
    --------
    as_graph : Of whatever a graph may come as.
    from_edges, from_arrays, from_matrix : What makes one.

    Examples
    --------
    >>> from apsp import Graph
    >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
    >>> g.n, g.edge_count, g.index("C"), g.weights.tolist()
    (3, 2, 2, [4, 7])
    """

    n: int
    labels: Labels = field(repr=False)
    dense: Any = field(default=None, repr=False)
    rows: np.ndarray | None = field(default=None, repr=False)
    cols: np.ndarray | None = field(default=None, repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)
    directed: bool = True
    name: str = ""
    unit: bool = field(default=False, repr=False)
    nulls: Nulls = field(default=None, repr=False)
    places: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def from_matrix(cls, A: Array, *, labels: Iterable[Any] | None = None, name: str = "") -> Graph:
        """The graph of a dense matrix: entry (i, j) is the edge from i to j.

        Parameters
        ----------
        A : array_like or TileStore, shape (n, n)
            It is not copied and stays on its device, or on the disk. A missing edge is the zero of the semiring it is
            used with.
        labels : iterable, optional
            n distinct names; 0 … n − 1 by default.

        Returns
        -------
        Graph

        Raises
        ------
        ShapeError
            If A is not square, or there are more or fewer labels than rows.
        DTypeError
            If entries are not real numbers or booleans. Each is looked at once, on its device, by the closure.

        See Also
        --------
        apsp.as_graph : Of whatever a graph may come as.
        matrix : The way back.
        from_arrays, from_edges : Lists of edges.

        Notes
        -----
        O(1) for an array, which is not copied; O(n) for labels.

        Examples
        --------
        >>> Graph.from_matrix([[0, 3], [1, 0]], labels=["A", "B"]).index("B")
        1
        """
        if isinstance(A, (list, tuple)) and not A:
            A = np.empty((0, 0))
        A = OnDisk.from_path(A.path) if isinstance(A, TileStore) else A
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
        rows: Any,
        cols: Any,
        weights: Any = None,
        *,
        n: int | None = None,
        labels: Iterable[Any] | None = None,
        directed: bool = True,
        name: str = "",
    ) -> Graph:
        """The graph whose edge e leads from position `rows[e]` to position `cols[e]`, with weight `weights[e]`.

        Parameters
        ----------
        rows, cols : integer array_like, shape (m,)
            Positions from 0.
        weights : array_like, shape (m,), optional
            Integers stay integers (int64); among other numbers or beyond 64 bits they become float64, where that holds
            them exactly. Without it every edge weighs 1.
        n : int, optional
            The number of vertices; by default as many as there are labels, or else as the edges name.
        labels : iterable, optional
            n distinct names; 0 … n − 1 by default.

        Returns
        -------
        Graph

        Raises
        ------
        ShapeError
            If lengths differ.
        VertexError
            If a position is not in 0 … n − 1, or a label occurs twice.
        DomainError
            If a weight is NaN.
        DTypeError
            If a weight is no number, an integer that float64 would round, or beyond float64.

        See Also
        --------
        from_edges : Edges of labels.
        from_matrix : A dense matrix.
        edges : The way back.

        Notes
        -----
        O(n + m) time; two int64 and a weight of 8 bytes an edge.

        Examples
        --------
        >>> Graph.from_arrays([0, 1], [1, 2], [4, 7])
        Graph(n=3, directed=True, name='')
        """
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
        cls, edges: Any, *, labels: Iterable[Any] | None = None, directed: bool = True, name: str = ""
    ) -> Graph:
        """The graph of labelled edges (u, v) or (u, v, weight).

        Parameters
        ----------
        edges : iterable of tuples, or array of shape (m, 2) or (m, 3)
            Labels are any hashables; in an array, integers. All edges have a weight, or none.
        labels : iterable, optional
            All vertices, in the order wanted; needed for those without an edge. By default the labels that occur:
            sorted where they compare with each other, else in order of appearance.

        Returns
        -------
        Graph

        Raises
        ------
        ShapeError
            If an edge is no pair or triple, or some have a weight and others none.
        VertexError
            If an edge names a vertex that `labels` lacks.
        DomainError, DTypeError
            If a weight is NaN or no number.

        See Also
        --------
        apsp.as_graph : Of whatever a graph may come as.
        from_arrays : Edges of positions, much faster.
        to_frame : The way back.

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
        places: Any = None,
    ) -> Graph:
        """The same graph with what the caller knows of it; what is left out stays.

        Parameters
        ----------
        directed : bool, optional
        weighted : bool
            If False, every edge weighs 1.
        nulls : tuple of number, or None
            Entries of a dense matrix, or weights of a list of edges, that are no edges.
        name : str
        places : array of shape (n, 2), mapping, or GeoPandas frame of points, optional
            Where the vertices are, (longitude, latitude) or (x, y): in their order, or by label (a frame's index). Of a
            mapping, those that it lacks have none, and keys that are no labels are left out.

        Returns
        -------
        Graph
            A new one, of the same arrays.

        Raises
        ------
        ShapeError
            If a dense matrix is to be undirected, or nulls come with edges whose weights are not read; or places are
            not two numbers a vertex.
        DTypeError, DomainError
            If places are no numbers, or infinite.
        VertexError
            If a mapping of places has no label of the graph.

        See Also
        --------
        apsp.as_graph : `directed`, `unweighted` and `null_value`, as a caller says them.

        Notes
        -----
        O(1), O(n) for places, O(m) for a list whose weights are looked at: edges and labels are shared with this graph.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.having(directed=False, name="roads")
        Graph(n=3, directed=False, name='roads')
        """
        edges: Any = slice(None)
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
        return replace(
            self,
            directed=self.directed if directed is None else directed,
            rows=None if self.rows is None else self.rows[edges],
            cols=None if self.cols is None else self.cols[edges],
            weights=self.weights[edges] if weighted and self.weights is not None else None,
            unit=self.unit or (not weighted and self.dense is not None),
            nulls=self.nulls if nulls is None or self.dense is None else nulls,
            name=name or self.name,
            places=self.places if places is None else as_places(places, self.labels),
        )

    def nearest(self, lon: Any, lat: Any, *, planar: bool = False, distances: bool = False) -> Any:
        """The vertex nearest to a point as the crow flies, or those nearest to several.

        Parameters
        ----------
        lon, lat : float, or arrays of shape (k,)
            In degrees; with `planar`, x and y.
        planar : bool
            Whether places and points are x and y of a plane, as after a projection, and not degrees.
        distances : bool
            Whether to return how far each is, too: in metres on the sphere, or in the unit of the plane.

        Returns
        -------
        label, or list of k labels
            Of several vertices equally near, any of them.
        float, or array of shape (k,)
            With `distances`.

        Raises
        ------
        ValueError
            If no vertex has a place.
        DomainError
            If a point or a place is not in degrees, without `planar`; or a point is NaN or infinite.
        ShapeError
            If there are not as many lon as lat, in one axis.

        Warns
        -----
        AmbiguityWarning
            If a point is further from the nearest vertex than the places are from one another: it may be swapped.

        See Also
        --------
        Result.nearest : By the edges, from vertices.
        having : Gives a graph its places.

        Notes
        -----
        O(n log n) for the first call, which makes a k-d tree of SciPy's, then O(log n) a point. Vertices without a
        place are never nearest. Degrees are compared on a sphere, across the antimeridian and the poles too.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4)]).having(places={"A": (6.10, 49.62), "B": (6.17, 49.63)})
        >>> g.nearest(6.16, 49.63), g.nearest([6.11, 6.12], [49.62, 49.61])
        ('B', ['A', 'A'])
        """
        snapping = self._on_plane if planar else self._on_sphere
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
        """The position of a vertex in the matrix.

        Parameters
        ----------
        label : label

        Returns
        -------
        int

        Raises
        ------
        VertexError
            If no vertex has that label.

        See Also
        --------
        index_of : Of many.

        Notes
        -----
        O(1); the first one makes a table of the n labels.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.index("C")
        2
        """
        return self.labels.position(label)

    def index_of(self, labels: Any) -> np.ndarray:
        """The positions of many vertices at once, int64.

        Parameters
        ----------
        labels : list or array of labels

        Returns
        -------
        int64 array, shape of labels

        Raises
        ------
        VertexError
            If no vertex has one of the labels.

        See Also
        --------
        index : Of one.

        Notes
        -----
        O(k) for k labels; the first call makes a table of the n labels.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.index_of(["C", "A"])
        array([2, 0])
        """
        return self.labels.positions(labels)

    @property
    def edge_count(self) -> int:
        """Edges as listed (an undirected one counts once); of a matrix, its entries other than ∞, or the True ones."""
        if self.rows is not None:
            return len(self.rows)
        boolean = catalog.get("boolean")
        A = self.windows(boolean)
        if A is None:
            A = self.dense if self.nulls is None and not self.unit else self._from_dense(boolean, None)
        return sum(int(present(A[part]).sum()) for part in dtypes.chunks(A.shape))

    @property
    def arc_count(self) -> int:
        """Arcs: edges, an undirected one both ways."""
        return self.edge_count * (1 if self.directed else 2)

    def matrix(self, semiring: str | Semiring = "min_plus", dtype: DType = None) -> Any:
        """A with A[i, j] = ⊕ of the weights of all edges from i to j; the semiring's zero where there is none.

        Parameters
        ----------
        semiring : str or Semiring
        dtype : dtype, optional
            By default float64 for float weights; for integer weights int32 if the sum of the heaviest edges out of all
            vertices fits, so that no sum of a path overflows, else int64; int16 for unweighted graphs of fewer than
            32,767 vertices, else int32; a matrix keeps its own. Each of these only where the semiring is defined on it,
            else the smallest safe one that it allows.

        Returns
        -------
        array, shape (n, n)
            A new one; but where a directed dense matrix already fits, that very array.

        Raises
        ------
        DTypeError, DomainError
            If the weights do not fit the semiring or the dtype.
        MemoryNeeded
            If it does not fit, before any work.

        See Also
        --------
        edges, to_scipy : Only what is there.
        from_matrix : The way back.

        Notes
        -----
        In the Boolean semiring only structure matters: an edge of any finite weight, 0 included, is True. A matrix of
        numbers is then read by its finite entries if it holds infinities, and must else hold zeros and ones.

        O(n² + m) time, and n² entries.

        Examples
        --------
        >>> Graph.from_edges([(0, 1, 5), (0, 1, 3)]).matrix("min_plus", "float64")
        array([[inf,  3.],
               [inf, inf]])
        """
        s = catalog.get(semiring)
        if self.dense is not None:
            return self._from_dense(s, dtype)
        target = self.target(s, dtype)
        memory.require(
            self.n**2 * target.itemsize, where="Graph.matrix", hint="Use a smaller dtype, or fewer vertices."
        )
        A = np.full((self.n, self.n), dtypes.zero(s, target), dtype=target)
        for back in (False, True)[: 1 if self.directed else 2]:
            for i, j, w in self.pieces(s, target):
                if back:  # a loop leads back to where it began, once
                    i, j, w = (x[i != j] for x in (j, i, w))
                combine(A.reshape(-1), i * self.n + j, w, s)
        return A

    def to_scipy(self, semiring: str | Semiring = "min_plus", dtype: DType = None) -> Any:
        """The graph as a SciPy `csr_array`: `matrix` without its missing edges; undirected edges both ways.

        Edges of weight 0 are stored zeros, and so they stay edges in `as_graph` and `scipy.sparse.csgraph`; what SciPy
        computes with, sums and products, takes them for nothing, and `eliminate_zeros` removes them. A sparse array
        has no labels: row k is `labels[k]`.

        Parameters
        ----------
        semiring : str or Semiring
            Entry (i, j) is ⊕ of the weights of all edges from i to j: over min_plus the least.
        dtype : dtype, optional
            As in `matrix`.

        Returns
        -------
        csr_array, shape (n, n)
            Sorted, each entry once. Edges whose weight is the semiring's zero (inf in min-plus) are not stored.

        Raises
        ------
        DTypeError, DomainError
            If the weights do not fit the semiring or the dtype.
        MemoryNeeded
            If the edges of a dense matrix do not fit.

        See Also
        --------
        matrix : With the missing edges.
        edges : Three arrays, parallel edges apart.
        apsp.csgraph.csgraph_to_dense : What becomes of it.

        Notes
        -----
        O(n + m log m) time at most, O(n²) of a matrix; an entry and an index for each edge.

        Examples
        --------
        >>> A = Graph.from_edges([("A", "B", 4), ("A", "B", 3), ("B", "A", 0)]).to_scipy()
        >>> A.nnz, A.toarray()
        (2, array([[0, 3],
               [0, 0]], dtype=int32))
        """
        return to_scipy(self, semiring, dtype)

    def to_networkx(self, semiring: str | Semiring = "min_plus") -> Any:
        """The graph as one of NetworkX: labels are its nodes, in this order, and weights the edge attribute `weight`.

        A `DiGraph` or a `Graph`; where edges are parallel, a `MultiDiGraph` or a `MultiGraph`, which keeps each. Edges
        of an unweighted graph have no attribute.

        Parameters
        ----------
        semiring : str or Semiring
            Which entries of a dense matrix are edges: all but its zero. Of a list of edges all are.

        Returns
        -------
        networkx.DiGraph, Graph, MultiDiGraph or MultiGraph

        Raises
        ------
        ImportError
            If NetworkX is missing.
        ValueError
            If a label is None, which NetworkX has for no node.
        MemoryNeeded
            If the edges of a dense matrix do not fit.

        See Also
        --------
        apsp.as_graph : The way back.
        to_frame, to_scipy : Other forms.

        Notes
        -----
        O(n + m) time, and hundreds of bytes an edge: NetworkX holds dictionaries.

        Examples
        --------
        >>> Graph.from_edges([("A", "B", 4), ("B", "C", 7)]).to_networkx().edges(data=True)
        OutEdgeDataView([('A', 'B', {'weight': 4}), ('B', 'C', {'weight': 7})])
        """
        return to_networkx(self, semiring)

    def to_frame(self, library: str | None = None, *, semiring: str | Semiring = "min_plus") -> Any:
        """The edges as a table of pandas or Polars: `from`, `to` and, where there are weights, `weight`.

        Each line is an edge as it is listed, an undirected one once: `as_graph(table, directed=False)` reads that back.
        A vertex without an edge has no line.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default the one that is installed; pandas if both are.
        semiring : str or Semiring
            Which entries of a dense matrix are edges: all but its zero.

        Returns
        -------
        DataFrame

        Raises
        ------
        ImportError
            If neither library is installed.
        MemoryNeeded
            If the edges of a dense matrix do not fit.

        See Also
        --------
        apsp.as_graph : The way back.
        to_networkx, to_scipy : Other forms.

        Notes
        -----
        O(n + m) time and memory.

        Examples
        --------
        >>> Graph.from_edges([("A", "B", 4), ("B", "C", 7)]).to_frame()  # doctest: +SKIP
          from to  weight
        0    A  B       4
        1    B  C       7
        """
        return to_frame(self, semiring, library)

    def windows(self, s: Semiring, dtype: DType = None, *, where: str = "Graph.matrix") -> Windows | None:
        """`matrix` in windows that are read from the disk; None where it is in memory.

        So it is, too, where it takes all entries to tell which of them are edges of a graph without weights.
        """
        if not isinstance(self.dense, OnDisk) or self.unit:
            return None
        declared = self.dense.dtype.kind == "b" or self.dense.semiring is not None or self.nulls is not None
        return self.dense.over(s, dtype, self.nulls, where=where) if declared or not is_boolean(s) else None

    @property
    def null_undeclared(self) -> bool:
        """Whether nobody has said which entries of the matrix are no edges: not the caller, nor the store it is in."""
        declared = isinstance(self.dense, OnDisk) and self.dense.semiring is not None
        return self.dense is not None and self.nulls is None and not self.unit and not declared

    def pieces(self, s: Semiring, target: np.dtype) -> Iterator[Edges]:
        """The edges of the list, one way, some at a time; weights as a matrix in `target` would hold them."""
        assert self.rows is not None
        for (part,) in dtypes.chunks(self.rows.shape, _ARCS):
            yield self._listed(s, target, part)

    def edges(self, semiring: str | Semiring = "min_plus", dtype: DType = None) -> Edges:
        """Rows, cols and weights of all arcs, undirected edges both ways, weights as `matrix` would hold them.

        Parameters
        ----------
        semiring : str or Semiring
            Which entries of a dense matrix are edges: all but its zero.
        dtype : dtype, optional
            As in `matrix`.

        Returns
        -------
        rows, cols : int64 arrays, shape (arcs,)
        weights : array, shape (arcs,)

        Raises
        ------
        DTypeError, DomainError
            If the weights do not fit the semiring or the dtype.
        MemoryNeeded
            If the edges of a dense matrix do not fit.

        See Also
        --------
        from_arrays : The way back.
        to_scipy : Each pair once.

        Notes
        -----
        O(m) time, O(n²) of a matrix; 16 bytes and a weight an arc.

        Examples
        --------
        >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
        >>> g.edges()
        (array([0, 1]), array([1, 2]), array([4, 7], dtype=int32))
        """
        s = catalog.get(semiring)
        if self.dense is not None:
            windows = self.windows(s, dtype, where="Graph.edges")
            return listed(self._from_dense(s, dtype) if windows is None else windows, s)
        rows, cols, weights = self._listed(s, self.target(s, dtype, where="Graph.edges"), slice(None))
        weights = weights if weights.flags.writeable else weights.copy()
        if self.directed:
            return rows, cols, weights
        # A loop leads back to where it began, once.
        back = rows != cols
        both = np.concatenate
        return both((rows, cols[back])), both((cols, rows[back])), both((weights, weights[back]))

    def _listed(self, s: Semiring, target: np.dtype, part: slice) -> Edges:
        """Part of the list; weights as a view of one number where all weigh 1."""
        assert self.rows is not None
        assert self.cols is not None
        rows, cols, weights = self.rows[part], self.cols[part], None if self.weights is None else self.weights[part]
        if is_boolean(s):
            if weights is not None and not (mask := present(weights)).all():
                rows, cols = rows[mask], cols[mask]
            return rows, cols, np.broadcast_to(True, len(rows))
        if weights is None:
            return rows, cols, np.broadcast_to(conform(np.ones(1, np.int32), s, target, where="Graph"), len(rows))
        return rows, cols, conform(weights, s, target, where="Graph.matrix", first=part.start or 0)

    def target(self, s: Semiring, dtype: DType = None, *, where: str = "Graph.matrix") -> np.dtype:
        """The dtype of its matrix: the one asked for; else its own or, of a list, exact and as narrow as is safe.

        Raises
        ------
        DTypeError
            If the semiring has none that holds it.
        """
        natural: Any = np.int32
        if dtype is not None:
            return dtypes.resolve(s, dtype, where=where)
        if is_boolean(s):
            natural = np.bool_
        elif self.unit or (self.dense is None and self.weights is None):
            natural = unit_dtype(self.n, s)
        elif self.dense is not None:
            natural = self.dense.dtype
        elif self.weights is not None:
            if self.weights.dtype.kind == "f":
                natural = np.float64
            elif self._longest(s) >= np.iinfo(np.int32).max:
                natural = np.int64
        return dtypes.resolve(s, dtype, natural, where=where)

    def _longest(self, s: Semiring) -> float:
        """No edge of integer weight, and no simple path, weighs more."""
        assert self.weights is not None
        finite = self.weights[self.weights != dtypes.zero(s, self.weights.dtype)]
        heaviest, lengths = max(int(finite.max(initial=0)), -int(finite.min(initial=0))), Lengths.of(s)
        most = np.iinfo(np.int32).max
        if self.n * heaviest < most or heaviest >= most or lengths is None or lengths.logarithmic:
            return self.n * heaviest
        return min(self.edge_count * heaviest, self._heaviest if self.n <= 4 * self.edge_count else math.inf)

    @cached_property
    def _heaviest(self) -> int:
        """The sum of the heaviest edges, of integer weights, out of all vertices."""
        assert self.rows is not None
        assert self.cols is not None
        assert self.weights is not None
        finite = present(self.weights)
        tails, weights = self.rows[finite], self.weights[finite]
        if not self.directed:
            tails, weights = np.concatenate((tails, self.cols[finite])), np.tile(weights, 2)
        return int(Weighted(tails, tails, weights, self.n, catalog.get("min_plus")).longest)

    def _from_dense(self, s: Semiring, dtype: DType) -> Any:
        windows = self.windows(s, dtype)
        if windows is not None:
            return windows.to_array()
        dense = self.dense.to_array() if isinstance(self.dense, OnDisk) else self.dense
        return over(dense, s, dtype, nulls=self.nulls, unweighted=self.unit, where="Graph.matrix")


def _meant(shape: tuple[int, ...]) -> str:
    """What a matrix that is not square may have been meant to be."""
    if len(shape) == 2 and shape[0] == 2:
        return " An edge_index with its weights goes in as (edge_index, weights), or (edge_index, None) without."
    if len(shape) == 2 and shape[1] in (2, 3):
        return " Edges in an array go through Graph.from_edges."
    return ""
