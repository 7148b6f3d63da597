"""Distance queries of a `Result`: pairs, tables, rows, a best path, reductions, the nearest source."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.selection import require_selection
from semiring.host.devices import host, read_only, to_device
from semiring.host.errors import NoPathError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Edges, Label, Scalar, Vertices
from semiring.kernels.observed import Callback

from ...io.display import output
from ...io.expansion import Expansion
from ...io.graph import Graph
from ...io.labels import Labels, between
from ...road.engines import Engine
from ...road.engines.part import Limit, Part
from ...road.plans import Plan
from . import sweeps
from .along import Along
from .nearest import Nearest, nearest
from .paths import Neighbours, best_path, neighbours
from .turned import cut_off
from .walked import paths_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Distances:
    """Distances of a result, read from its engine; the full table is made on first use, and cached.

    Of the fields `Result` tells.
    """

    engine: Engine
    graph: Graph
    semiring: Semiring
    plan: Plan
    seconds: float
    frames: str | None = None
    sources: Labels = None  # type: ignore[assignment]  # the graph's, by `Result.__post_init__`
    targets: Labels = None  # type: ignore[assignment]  # the graph's, by `Result.__post_init__`
    ties_within: float = 0.0
    along: Along | None = None
    turned: Expansion | None = None

    @property
    def _walked(self) -> Graph:
        """The graph of the table of all pairs: with turns, of copies of the vertices."""
        return self.graph if self.turned is None else self.turned.graph

    def _goals(self, index: np.ndarray) -> np.ndarray:
        """The columns of vertices in the table of all pairs."""
        return index if self.turned is None else self.turned.goal[index]

    def _of(self, of: Any, *, shown: bool = False) -> Array:
        """This result with a quantity along its paths for the weight; `shown` in float64."""
        if self.along is None:
            raise ValueError(f"of: quantities come with shortest_paths(…, along=…), got {came(of)} without.")
        k = self.along.position(of)
        if (k, shown) not in self._others:
            self._others[k, shown] = self.along.of(self, k, shown=shown)  # type: ignore[arg-type]  # a base class of Result
        return self._others[k, shown]

    @cached_property
    def _others(self) -> dict[Any, Array]:
        return {}

    @property
    def labels(self) -> Sequence[Label]:
        """Vertex names, in the order of the graph."""
        return self.graph.labels

    @property
    def infinity(self) -> float:
        """The entry of `distances` for no path: the semiring's zero, which may be an integer's largest value."""
        return dtypes.zero(self.semiring, self.engine.dtype).item()

    @cached_property
    def distances(self) -> np.ndarray:
        """All distances in the computed dtype, read-only on the host; raises MemoryNeeded (`rows` streams)."""
        return read_only(self.engine.table())

    @property
    def dtype(self) -> np.dtype:
        """The dtype that distances are computed in."""
        return self.engine.dtype

    @property
    def reachable(self) -> np.ndarray:
        """Whether there is a path: bool, the shape and device of `distances`."""
        return self.distances != self.infinity

    @overload
    def distance(self, u: list[Any] | np.ndarray, v: Vertices, *, of: Any = None) -> np.ndarray: ...
    @overload
    def distance(self, u: Vertices, v: list[Any] | np.ndarray, *, of: Any = None) -> np.ndarray: ...
    @overload
    def distance(self, u: Hashable, v: Hashable, *, of: Any = None) -> float: ...
    def distance(self, u: Vertices, v: Vertices, *, of: Any = None) -> Array:
        """The best weight of a walk from u to v, given by label; no path is inf (the semiring's zero).

        Lists or arrays of labels broadcast: `distance(us[:, None], vs)` is a table, float64 for integers, so that it
        can hold inf. A tuple is one label.

        Parameters
        ----------
        u, v : label, or list or array of labels
            Also CuPy arrays; with hub labels on a GPU and vertices 0, 1, 2, …, pairs stay there.
        of : str, optional
            A quantity of `shortest_paths(…, along=…)`: its sum along the path, inf for no path.

        Returns
        -------
        scalar, or array
            CuPy if u or v is.

        Raises
        ------
        VertexError, ShapeError
            If a label is unknown, or the shapes of u and v do not broadcast.
        DTypeError
            If float64 would round an integer.

        Notes
        -----
        O(1) with a table; two climbs of the tree by elimination; else one search or one row.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
        >>> r.distance("A", "C"), r.distance("A", ["B", "C"])
        (11, array([ 4., 11.]))
        """
        if of is not None and (told := self._of(of, shown=isinstance(u, np.ndarray))) is not self:
            return told.distance(u, v)
        if "cupy" in (type(u).__module__, type(v).__module__):
            return self._distance_on_device(u, v)
        if not isinstance(u, (list, np.ndarray)) and not isinstance(v, (list, np.ndarray)):
            return output.number(self.engine.entry(self.sources.position(u), self.targets.position(v)), self.semiring)
        i, j = between(self.sources, self.targets, u, v, where="distance")
        if not i.ndim:
            return output.number(self.engine.entry(int(i), int(j)), self.semiring)
        return output.numbers(self.engine.entries(i, j), self.semiring)

    def _distance_on_device(self, u: Vertices, v: Vertices) -> Array:
        """`distance` as a CuPy array, for CuPy arguments."""
        on_gpu, pairs = [type(x).__module__ == "cupy" for x in (u, v)], self.engine.pairs_on_device
        if pairs is None or not (self.sources.numbered and self.targets.numbered):
            u, v = (x.get() if moved else x for x, moved in zip((u, v), on_gpu, strict=True))
            return to_device(np.asarray(self.distance(u, v)), "cuda")
        i = u if on_gpu[0] else self.sources.positions_like(u)
        j = v if on_gpu[1] else self.targets.positions_like(v)
        return output.numbers(pairs.entries(i, j), self.semiring)

    def path(self, u: Label, v: Label) -> list[Label]:
        """The labels u, …, v along a best path: a walk of weight `distance(u, v)` that visits no vertex twice.

        Returns
        -------
        list of labels
            [u] if u = v. With turns, a walk that may come to a vertex twice.

        Raises
        ------
        VertexError, NoPathError
            If a label is unknown, or v cannot be reached from u.
        AlgebraError
            If ⊕ is not selective.

        Notes
        -----
        A column of distances to v, and the edges on best paths; by elimination on the CPU only the distances of path
        vertices and their neighbours.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)], directed=False).path("A", "C")
        ['A', 'B', 'C']
        """
        found = self._walk(u, v)
        if self.turned is not None:
            found = self.turned.walks(np.array(found), np.zeros(1, np.int64))[0].tolist()
        return [self.labels[k] for k in found]

    def _walk(self, u: Label, v: Label) -> list[int]:
        """`path`, over the vertices of the table of all pairs."""
        require_selection(self.semiring, where="path")
        start, end = self._connected("path", u, v)
        if self.along is not None:
            routed: Any = self  # whose quantities are told
            return paths_of(routed._trees, np.array([start]), np.array([end]))[0].tolist()
        edges, engine = self._out_edges, self.engine.all_pairs
        self.engine.refuse_unbounded("path", self.graph.labels, (start, end))
        found = None if edges is None else engine.path(start, end, edges)
        return best_path(start, end, self.engine.to(end), self._neighbours, self.semiring) if found is None else found

    def _connected(self, where: str, u: Label, v: Label) -> tuple[int, int]:
        """The row and the column of two vertices in the table of all pairs; VertexError, NoPathError."""
        i, j, start, end = self.sources.position(u), self.targets.position(v), self.graph.index(u), self.graph.index(v)
        if self.engine.entry(i, j).item() == self.infinity:
            why = cut_off(self, start, end)
            raise NoPathError(f"{where}: {came(v)} must be reachable from {came(u)}, got no walk between them{why}")
        return start, int(self._goals(np.array(end)))

    def table(self, sources: Vertices = None, targets: Vertices = None, *, of: Any = None) -> np.ndarray:
        """The distances between some vertices as a fresh array, inf for no path, as `np.asarray(r)`.

        Parameters
        ----------
        sources, targets : list or array of labels, optional
            All by default.
        of : str, optional
            A quantity of `shortest_paths(…, along=…)`, added up along each path.

        Returns
        -------
        array, shape (sources, targets)
            On the host; integers as float64.

        Raises
        ------
        VertexError, DTypeError
            If a label is unknown, or float64 would round an integer.
        MemoryNeeded
            If the table does not fit.

        Notes
        -----
        Rows of the sources, or a few columns; by elimination on the CPU only the entries, see
        `semiring.Elimination.block`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)]).table(["A", "C"], ["B", "C"])
        array([[ 4., 11.],
               [inf,  0.]])
        """
        if (of is not None or self.along) and (told := self._of(of, shown=True)) is not self:
            return told.table(sources, targets)
        i, j = self._positions_of("table", sources, self.sources), self._positions_of("table", targets, self.targets)
        size = (self.engine.shape[0] if i is None else len(i)) * (self.engine.shape[1] if j is None else len(j))
        require(size * (8 + self.dtype.itemsize), where="table", hint="Ask for fewer, or stream them by rows().")
        if i is None and j is None:
            if "distances" not in vars(self) and self.engine.fresh:
                return output.numbers(host(self.engine.table()), self.semiring)
            D = host(self.distances)
            shown = output.numbers(D, self.semiring)
            return D.copy() if shown is D else shown
        every = tuple(map(np.arange, self.engine.shape))
        D = self.engine.block(every[0] if i is None else i, every[1] if j is None else j)
        return output.numbers(D, self.semiring)

    def rows(
        self,
        sources: Vertices = None,
        targets: Vertices = None,
        *,
        limit: Scalar = None,
        block: int | None = None,
        of: Any = None,
    ) -> Iterator[tuple[list[Any], np.ndarray]]:
        """Blocks of complete rows, computed on demand without a full table.

        Parameters
        ----------
        sources, targets : list or array of labels, optional
            Rows in that order, and columns; all by default.
        limit : float, optional
            Distances beyond it become `infinity`, as in SciPy's `dijkstra` (below it, where ⊕ keeps the greatest).
        block : int, optional
            Rows per block; by default 64, fewer where rows are very long, more on a GPU.
        of : str, optional
            A quantity of `shortest_paths(…, along=…)`, added up along each path, and meant by `limit`.

        Yields
        ------
        labels : list
            The sources of these rows.
        D : array, shape (len(labels), targets)
            In the dtype of `distances`, `infinity` for no path; CuPy where the distances are on a device. NumPy blocks
            are read-only and their memory may be reused once released: copy to keep or change.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
        >>> for labels, D in r.rows(targets=["C"]):
        ...     print(labels, D.ravel())
        ['A', 'B', 'C'] [11  7  0]
        """
        if of is not None:
            return self._of(of).rows(sources, targets, limit=limit, block=block)
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

    def within(self, limit: Scalar) -> csr_array:
        """The distances of at most `limit` as a sparse matrix.

        Parameters
        ----------
        limit : float
            Where ⊕ keeps the greatest, the least distance.

        Returns
        -------
        scipy.sparse.csr_array, shape (sources, targets)
            Distances of 0, as of a vertex to itself, are stored entries.

        Raises
        ------
        MemoryNeeded
            If the entries do not fit.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> near = shortest_paths([("A", "B", 4), ("B", "C", 7)]).within(7)
        >>> near.nnz, int(near[0, 1]), near.indices.tolist()
        (5, 4, [0, 1, 1, 2, 2])
        """
        from scipy.sparse import csr_array, vstack

        parts, held = [csr_array((0, self.engine.shape[1]), dtype=self.dtype)], 0
        for _, rows in self.rows(limit=limit):
            D = host(rows)
            near = D != self.infinity
            starts = np.cumsum([0, *near.sum(axis=1)])
            parts.append(csr_array((D[near], near.nonzero()[1], starts), shape=D.shape))
            held += 2 * parts[-1].nnz * (8 + self.dtype.itemsize)
            require(held, where="within", hint="Ask for less, or take rows(limit=…).")
        return vstack(parts, format="csr")

    def reduce(self, what: str | np.ufunc, *, axis: int | None = None, callback: Callback | None = None) -> np.ndarray:
        """One number per vertex from all its distances, shape (sources,), or (targets,) for columns; no full table.

        Parameters
        ----------
        what : str or numpy.ufunc
            "eccentricity": the greatest distance from it, inf unless it reaches all. "closeness": NetworkX's, of
            distances to it. "harmonic": Σ 1 / distance over all that reach it; both are inf beyond float64, as in
            NetworkX. "total": the sum of finite distances from it. "reached": the number of vertices reached, itself
            included. Or a binary ufunc of NumPy, np.frompyfunc or numba.vectorize: `r.reduce(np.maximum)` is
            `np.maximum.reduce(np.asarray(r), axis=1)`.
        axis : {0, 1}, optional
            1 reduces rows (distances from a vertex), 0 columns (distances to it). By default as the name implies; 1 for
            a ufunc.
        callback : callable, optional
            `callback(done, total)` in entries.

        Raises
        ------
        ValueError, AlgebraError
            If the name is unknown, or needs lengths that the semiring lacks.
        DomainError, ShapeError
            If "harmonic" meets a negative distance, or a partial result lacks sources that the name needs.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "A", 1)]).reduce("eccentricity")
        array([4., 1.])
        """
        return sweeps.reduce(self.engine, self.semiring, what, self.graph.n, axis=axis, callback=callback)

    def nearest(self, sources: Vertices, *, towards: bool = False, of: Any = None) -> Nearest:
        """For every vertex the distance from the nearest of several sources, and that source.

        Parameters
        ----------
        sources : list or array of labels
            Facilities, say. Ties go to the least packed quantities of `along`, if any, then to the first in this order,
            or to any where float sums differ by rounding only.
        towards : bool
            Whether walks lead from the vertex to a facility instead.
        of : str, optional
            A quantity of `shortest_paths(…, along=…)`: its sum on the way to what is nearest by weight.

        Returns
        -------
        Nearest
            `source`, a list of labels or None, and `distance`, with inf for none, in the order of the targets of this
            result (with `towards`, of its sources). `to_frame` makes a table.

        Raises
        ------
        VertexError, AlgebraError
            If a label is unknown, or ⊕ is not selective.

        Notes
        -----
        A row per source; by elimination, over a semiring of lengths, one row in all. Source: Erwig 2000, "The graph
        Voronoi diagram with applications".

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("C", "D", 1)], directed=False)
        >>> r.nearest(["A", "D"]).source
        ['A', 'A', 'D', 'D']
        """
        refuse_texts("nearest", towards=towards)
        names = self.targets if towards else self.sources
        wanted = names.checked_positions(sources, where="nearest")
        which, best = nearest(self.engine, self.semiring, wanted, towards=towards)
        found = [names[k] for k in wanted.tolist()]
        sources = list(map([*found, None].__getitem__, which.tolist()))
        vertices = self.sources if towards else self.targets
        if (view := self if of is None else self._of(of)) is not self:
            reached = which >= 0
            ends = wanted[which[reached]], np.flatnonzero(reached)
            best = np.full(len(which), view.infinity, view.dtype)
            best[reached] = view.engine.entries(*(ends[::-1] if towards else ends))
        return Nearest(vertices, sources, output.numbers(best, view.semiring), len(found), self.frames)

    @staticmethod
    def _positions_of(where: str, wanted: Any, names: Labels) -> np.ndarray | None:
        """The positions of labels; None for all."""
        return None if wanted is None else names.checked_positions(wanted, where=where)

    @cached_property
    def _out_edges(self) -> Edges | None:
        """CSR of the out-edges in the dtype of the distances; None for a dense matrix."""
        graph = self._walked
        if graph.dense is not None:
            return None
        tails, heads, weights = graph.edges(self.semiring, self.dtype)
        order = np.argsort(tails, kind="stable")
        start = np.searchsorted(tails[order], np.arange(graph.n + 1))
        return start, heads[order].astype(np.int32), weights[order]

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Out-edges by vertex, in the dtype of the distances."""
        return neighbours(self._walked, self.semiring, self.dtype, self._out_edges)


def require_block(block: Any, *, where: str) -> None:
    """Raise ShapeError unless `block` is None or a positive integer."""
    if block is not None and (not isinstance(block, (int, np.integer)) or block < 1):
        raise ShapeError(f"{where}: block must be a positive integer, got {came(block)}.")
