"""What a `Result` answers about distances: one, some, all, by rows; a best path; reductions; the nearest of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.devices import host, read_only, to_device
from semiring.errors import NoPathError, ShapeError
from semiring.memory import require
from semiring.observed import Callback
from semiring.spelling import came
from semiring.types import Array, Label

from ..display import output
from ..engines import Engine
from ..engines.base import Edges
from ..engines.part import Limit, Part
from ..graph import Graph
from ..labels import Labels, between
from ..plans import Plan
from . import sweeps
from .nearest import Nearest, nearest
from .paths import Neighbours, best_path, require_paths


class Distances:
    """Distances of a result, read from its engine; the table of all of them is made on first use, and cached."""

    engine: Engine
    graph: Graph
    semiring: Semiring
    sources: Labels
    targets: Labels
    plan: Plan
    frames: str | None

    @property
    def labels(self) -> Sequence[Any]:
        """The vertices' names, in the order of the graph."""
        return self.graph.labels

    @property
    def infinity(self) -> Any:
        """The entry of `distances` that means no path: the semiring's zero, which may be an integer's largest value."""
        return dtypes.zero(self.semiring, self.engine.dtype).item()

    @cached_property
    def distances(self) -> Array:
        """The table of all distances, in the dtype computed in; on the host read-only: copy what you change.

        Raises
        ------
        MemoryNeeded
            If it is not in memory and does not fit; `rows` streams it.
        """
        return read_only(self.engine.table())

    @property
    def dtype(self) -> np.dtype:
        """What distances are computed in."""
        return self.engine.dtype

    @property
    def reachable(self) -> Array:
        """bool, the shape of `distances`, on its device: whether there is a path."""
        return self.distances != self.infinity

    def distance(self, u: Label, v: Label) -> Any:
        """The best weight of a walk from u to v, given by label; no path is inf (the semiring's zero).

        For lists or arrays of labels, an array of the shape that they broadcast to, so that `distance(us[:, None], vs)`
        is a table; of integers a float64 array, so that no path is inf in it. A tuple is one label.

        Parameters
        ----------
        u, v : label, or list or array of labels
            CuPy arrays too: with hub labels on a GPU, pairs of a graph whose vertices are 0, 1, 2, … stay there.

        Returns
        -------
        scalar, or array
            CuPy's where u or v is.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        ShapeError
            If the shapes of u and v do not go together.
        DTypeError
            If a float64 array would round an integer.

        See Also
        --------
        table : All pairs of two lists.
        path : The walk of that weight.

        Notes
        -----
        O(1) where there is a table; by elimination two climbs of the tree; else one search or one row.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
        >>> r.distance("A", "C"), r.distance("A", ["B", "C"])
        (11, array([ 4., 11.]))
        """
        if "cupy" in (type(u).__module__, type(v).__module__):
            return self._distance_on_device(u, v)
        if not isinstance(u, (list, np.ndarray)) and not isinstance(v, (list, np.ndarray)):
            return output.number(self.engine.entry(self.sources.position(u), self.targets.position(v)), self.semiring)
        i, j = between(self.sources, self.targets, u, v, where="distance")
        if not i.ndim:
            return output.number(self.engine.entry(int(i), int(j)), self.semiring)
        return output.numbers(self.engine.entries(i, j), self.semiring)

    def _distance_on_device(self, u: Any, v: Any) -> Any:
        """`distance` as a CuPy array, of vertices of which some are in such arrays."""
        on_gpu, pairs = [type(x).__module__ == "cupy" for x in (u, v)], self.engine.pairs_on_device
        if pairs is None or not (self.sources.numbered and self.targets.numbered):
            u, v = (x.get() if moved else x for x, moved in zip((u, v), on_gpu, strict=True))
            return to_device(np.asarray(self.distance(u, v)), "cuda")
        i = u if on_gpu[0] else self.sources.positions_like(u)
        j = v if on_gpu[1] else self.targets.positions_like(v)
        return output.numbers(pairs.entries(i, j), self.semiring)

    def path(self, u: Label, v: Label) -> list[Any]:
        """The labels u, …, v along a best path: a walk of weight `distance(u, v)` that visits no vertex twice.

        Parameters
        ----------
        u, v : label

        Returns
        -------
        list of labels
            u first, v last; [u] where they are one.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        NoPathError
            If v cannot be reached from u.
        AlgebraError
            If the semiring's ⊕ does not select one of two walks.

        See Also
        --------
        paths : Between many pairs.
        distance : Its weight.

        Notes
        -----
        A column of distances to v, and the edges of the vertices on best paths; by elimination on the CPU no column,
        only the distances of these vertices and of their neighbours.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).path("A", "C")
        ['A', 'B', 'C']
        """
        require_paths(self.semiring)
        i, j, start, end = self.sources.position(u), self.targets.position(v), self.graph.index(u), self.graph.index(v)
        if self.engine.entry(i, j).item() == self.infinity and start != end:
            raise NoPathError(f"path: {came(v)} must be reachable from {came(u)}, got no walk between them.")
        edges, engine = self._out_edges, self.engine.all_pairs
        self.engine.refuse_unbounded("path", self.graph.labels, (start, end))
        found = None if edges is None else engine.path(start, end, edges)
        if found is None:
            found = best_path(start, end, self.engine.to(end), self._neighbours, self.semiring)
        return [self.labels[k] for k in found]

    def table(self, sources: Any = None, targets: Any = None) -> np.ndarray:
        """The distances from some vertices to some, shape (sources, targets), as `np.asarray(r)` has them: inf is none.

        An array of its own, which may be written to.

        Parameters
        ----------
        sources, targets : list or array of labels, optional
            All by default.

        Returns
        -------
        array, shape (sources, targets)
            On the host; integers as float64.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        DTypeError
            If a float64 array would round an integer.
        MemoryNeeded
            If the table does not fit.

        See Also
        --------
        rows : Some rows at a time.
        to_frame : With the labels.

        Notes
        -----
        The rows of the sources, or few columns; by elimination on the CPU the entries alone: see
        `semiring.Elimination.block`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)]).table(["A", "C"], ["B", "C"])
        array([[ 4., 11.],
               [inf,  0.]])
        """
        i, j = self._positions_of("table", sources, self.sources), self._positions_of("table", targets, self.targets)
        size = (self.engine.shape[0] if i is None else len(i)) * (self.engine.shape[1] if j is None else len(j))
        require(size * (8 + self.dtype.itemsize), where="table", hint="Ask for fewer, or stream them by rows().")
        if i is None and j is None:
            D = host(self.distances)
            shown = output.numbers(D, self.semiring)
            return D.copy() if shown is D else shown
        every = tuple(map(np.arange, self.engine.shape))
        D = self.engine.block(every[0] if i is None else i, every[1] if j is None else j)
        return output.numbers(D, self.semiring)

    def rows(
        self, sources: Any = None, targets: Any = None, *, limit: Any = None, block: int | None = None
    ) -> Iterator[tuple[list[Any], Any]]:
        """Blocks of complete rows, computed as they are taken: no table of all distances is made.

        Parameters
        ----------
        sources : list or array of labels, optional
            The rows, in that order; all by default.
        targets : list or array of labels, optional
            The columns; all by default.
        limit : float, optional
            Distances beyond it become `infinity`, as in SciPy's `dijkstra`; where ⊕ keeps the greatest, those below.
        block : int, optional
            Rows at a time; by default 64, fewer where rows are very long.

        Yields
        ------
        labels : list
            The sources of these rows.
        D : array, shape (len(labels), targets)
            In the dtype of `distances`, with `infinity` for no path; CuPy where the distances are on a device. It is
            read-only, but where it is CuPy's, and memory that may be used again once you let go of it: copy what you
            keep or change.

        Raises
        ------
        VertexError
            If a label is not in the graph.

        See Also
        --------
        table : All at once, as an array.
        reduce : One number a row.
        predecessor_rows : The paths.

        Notes
        -----
        `block` rows of n entries are held at a time. What a row costs depends on the engine: see `shortest_paths`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
        >>> for labels, D in r.rows(targets=["C"]):
        ...     print(labels, D.ravel())
        ['A', 'B', 'C'] [11  7  0]
        """
        i, j = self._positions_of("rows", sources, self.sources), self._positions_of("rows", targets, self.targets)
        require_block(block, where="rows")
        every = tuple(map(np.arange, self.engine.shape))
        bound = None if limit is None else Limit(limit, self.semiring, self.dtype)
        names = self.sources
        wanted, engine = every[0] if i is None else i, self.engine
        if j is not None or bound is not None:
            engine = Part(engine, every[0], every[1] if j is None else j, bound)
        blocks = engine.rows(wanted, block)
        return (([names[k] for k in positions.tolist()], read_only(D)) for positions, D in blocks)

    def reduce(self, what: str | np.ufunc, *, axis: int | None = None, callback: Callback | None = None) -> np.ndarray:
        """One number for each vertex, from all its distances, without a table of them.

        Parameters
        ----------
        what : str or numpy.ufunc
            "eccentricity": the worst distance from the vertex, inf where it does not reach all. "closeness": as
            NetworkX has it, of the distances to the vertex. "harmonic": Σ 1 / distance over all that reach it; both
            inf where float64 does not hold them, as in NetworkX.
            "total": the sum of the distances from it to all that it reaches. "reached": how many it reaches, itself
            counted. Or a ufunc of two arguments, of NumPy, np.frompyfunc or numba.vectorize:
            `r.reduce(np.maximum)` is `np.maximum.reduce(np.asarray(r), axis=1)`.
        axis : {0, 1}, optional
            1 reduces rows, distances from a vertex; 0 columns, distances to it. By default what the name says; rows for
            a ufunc.
        callback : callable, optional
            `callback(done, total)` in entries.

        Returns
        -------
        array, one number a source, or a target for columns, in the order of the labels

        Raises
        ------
        ValueError
            If it is no such name or function.
        AlgebraError
            If the name is made of lengths, and the semiring has none.
        DomainError
            If it is "harmonic", and a distance is negative.
        ShapeError
            If it is made of the distances from all vertices, and this result has those from some.

        See Also
        --------
        rows : The rows themselves.
        eccentricity, closeness : By label.

        Notes
        -----
        Every distance is looked at once: O(n²), in addition to what the rows cost. Memory is that of some rows.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "A", 1)]).reduce("eccentricity")
        array([4., 1.])
        """
        return sweeps.reduce(self.engine, self.semiring, what, axis=axis, callback=callback)

    def nearest(self, sources: Any, *, towards: bool = False) -> Nearest:
        """For every vertex the best of several sources, and which one it is.

        Parameters
        ----------
        sources : list or array of labels
            Hospitals, say. Among equally near ones, the first in this order; where sums of floats are equal only
            by rounding, any of them.
        towards : bool
            Whether walks lead from the vertex to one of them, and not from them to the vertex.

        Returns
        -------
        Nearest
            `source`, a list with a label or None for every vertex, and `distance`, an array with inf for none; in the
            order of the targets (with `towards`, of the sources) of this result. `to_frame` makes a table of it.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        AlgebraError
            If the semiring's ⊕ does not select one of two walks.

        See Also
        --------
        distance : From one of them.
        apsp.csgraph.dijkstra : `min_only`, SciPy's name for it.

        Notes
        -----
        A row of each source; by elimination, over a semiring of lengths, one row in all. Source: Erwig 2000, "The graph
        Voronoi diagram with applications".

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("C", "D", 1)], directed=False)
        >>> r.nearest(["A", "D"]).source
        ['A', 'A', 'D', 'D']
        """
        names = self.targets if towards else self.sources
        wanted = names.checked_positions(sources, where="nearest")
        which, best = nearest(self.engine, self.semiring, wanted, towards=towards)
        found = [names[k] for k in wanted.tolist()]
        sources = list(map([*found, None].__getitem__, which.tolist()))
        vertices = self.sources if towards else self.targets
        return Nearest(vertices, sources, output.numbers(best, self.semiring), len(found), self.frames)

    @staticmethod
    def _positions_of(where: str, wanted: Any, names: Labels) -> np.ndarray | None:
        """The positions of labels wanted; None for all."""
        return None if wanted is None else names.checked_positions(wanted, where=where)

    @cached_property
    def _out_edges(self) -> Edges | None:
        """Edges by tail, in the dtype of the distances; None for a matrix, whose rows have them."""
        if self.graph.dense is not None:
            return None
        tails, heads, weights = self.graph.edges(self.semiring, self.dtype)
        order = np.argsort(tails, kind="stable")
        start = np.searchsorted(tails[order], np.arange(self.graph.n + 1))
        return start, heads[order].astype(np.int32), weights[order]

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Out-edges by vertex, in the dtype of the distances."""
        dtype = self.dtype
        edges = self._out_edges
        if edges is None:
            windows, zero = self.graph.windows(self.semiring, dtype, where="path"), dtypes.zero(self.semiring, dtype)
            dense = self.graph.matrix(self.semiring, dtype) if windows is None else windows

            def row(x: int) -> tuple[np.ndarray, np.ndarray]:
                weights = host(dense[x : x + 1])[0]
                heads = np.flatnonzero(weights != zero)
                return heads, weights[heads]

            return row
        start, heads, weights = edges

        def sparse(x: int) -> tuple[np.ndarray, np.ndarray]:
            return heads[start[x] : start[x + 1]], weights[start[x] : start[x + 1]]

        return sparse


def require_block(block: Any, *, where: str) -> None:
    """Refuse what is no number of rows that come together.

    Raises
    ------
    ShapeError
    """
    if block is not None and (not isinstance(block, (int, np.integer)) or block < 1):
        raise ShapeError(f"{where}: block must be a positive integer, got {came(block)}.")
