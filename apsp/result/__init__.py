"""`shortest_paths`, and the `Result` it returns: distances with their labels, paths, tables, files, pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.errors import DTypeError, NoPathError, ShapeError
from semiring.memory import require
from semiring.observed import Callback

from ..answering import answer, within
from ..choosing import Asked
from ..display import frames, notebook, output
from ..engines import Dense, Engine
from ..engines.base import host
from ..engines.part import Limit, Part
from ..estimates import in_units
from ..graph import Graph
from ..inputs import as_graph
from ..labels import Labels
from ..large.closing import Limits
from ..measures import Measured
from ..plans import Plan
from ..problem import Request
from ..reading.positions import read_positions
from ..saving.results import archive_of, load_result, save_result
from ..saving.stores import save_archive
from . import drawing, sweeps
from .paths import Neighbours, best_path, require_paths
from .reweighting import reweighted
from .routed import Routed
from .sweeps import Nearest

if TYPE_CHECKING:
    from ..distributed.solving import Places


@dataclass(frozen=True, eq=False, repr=False)
class Result(Routed, Measured):
    """Best walks of a graph: between all its vertices, or from some sources to some targets.

    It asks an engine: a matrix that is there, a sparse graph eliminated, from which rows and single distances are
    computed when they are asked for, or SciPy's searches. Every question below is answered by each of them.

    `distances` is exact and in the dtype that was computed in; where that is an integer, `infinity` is its entry for no
    path (2147483647 in int32), and `reachable` is the mask of the others. Everything else (`distance`, `table`,
    `to_frame`, `np.asarray(r)`, `.csv` files, pictures) says inf for no path, and -inf in max-plus.

    Attributes
    ----------
    engine : Engine, or array of shape (n, n)
        What is asked; an array is a table that is there.
    distances : array, shape (sources, targets)
        D[i, j] is the best weight of a walk from source i to target j; `infinity` where there is none. All vertices
        are both by default. Where the engine holds no table, it is made on first use, and kept.
    graph : Graph
    semiring : Semiring
    plan : Plan
        How it was computed.
    seconds : float
        How long that took.
    frames : {"pandas", "polars"}, optional
        What `to_frame` makes; by default the library that is installed.
    sources, targets : Labels, optional
        The labels of the rows and of the columns; those of all vertices by default.
    """

    engine: Engine
    graph: Graph
    semiring: Semiring
    plan: Plan
    seconds: float
    frames: str | None = None
    sources: Any = None
    targets: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.engine, Engine):
            object.__setattr__(self, "engine", Dense(self.engine))
        for name in ("sources", "targets"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.graph.labels)

    def __repr__(self) -> str:
        what = f"{self.semiring.name} in {self.dtype} on {self.plan.device}"
        k, m = self.engine.shape
        part = "" if (k, m) == (self.graph.n,) * 2 else f"{k} × {m} of "
        return f"<Result: {part}{self.graph.n} vertices, {what}, {self.plan.schedule}, {in_units(self.seconds)}>"

    def _repr_html_(self) -> str:
        k, m = (min(notebook.SHOWN, size) for size in self.engine.shape)
        names = [str(label) for label in self.targets[:m]]
        return notebook.table(repr(self), ["", *names], self._texts(notebook.SHOWN), self._left_out(k, m))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All distances, no path as inf. (`np.asarray(r)`; of integers, float64. Their own dtype gives `distances`.)"""
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

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what was found on first use, which is found again."""
        kept = {f.name for f in fields(self)}
        return {name: value for name, value in vars(self).items() if name in kept}

    @cached_property
    def distances(self) -> Any:
        """The table of all distances, in the dtype computed in.

        Raises
        ------
        MemoryNeeded
            If an engine that holds none has no room for it; `rows` streams it.
        """
        return self.engine.table()

    @property
    def labels(self) -> Sequence[Any]:
        """The vertices' names, in the order of the graph."""
        return self.graph.labels

    @property
    def dtype(self) -> np.dtype:
        """What distances are computed in."""
        return self.engine.dtype

    @property
    def reachable(self) -> Any:
        """bool, the shape of `distances`, where that lies: whether there is a path."""
        return self.distances != self.infinity

    @property
    def rate(self) -> float:
        """Pairs (one ⊕ with one ⊗) a second: n³ / seconds for a dense closure."""
        return self.plan.pairs / self.seconds if self.seconds else 0.0

    def distance(self, u: Any, v: Any) -> Any:
        """The best weight of a walk from u to v, given by label; no path is inf (the semiring's zero).

        For lists or arrays of labels, an array of the shape that they broadcast to, so that `distance(us[:, None], vs)`
        is a table; of integers a float64 array, so that no path is inf in it. A tuple is one label.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        DTypeError
            If a float64 array would round an integer.
        """
        if not isinstance(u, (list, np.ndarray)) and not isinstance(v, (list, np.ndarray)):
            return output.number(self.engine.entry(self.sources.position(u), self.targets.position(v)), self.semiring)
        i, j = np.broadcast_arrays(self.sources.some(u), self.targets.some(v))
        return output.numbers(self.engine.entries(i, j), self.semiring)

    def path(self, u: Any, v: Any) -> list[Any]:
        """The labels u, …, v along a best path: a walk of weight `distance(u, v)` that visits no vertex twice.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        NoPathError
            If v cannot be reached from u.
        AlgebraError
            If the semiring's ⊕ does not select one of two walks.
        """
        require_paths(self.semiring)
        i, j, start, end = self.sources.position(u), self.targets.position(v), self.graph.index(u), self.graph.index(v)
        if self.engine.entry(i, j).item() == self.infinity and start != end:
            raise NoPathError(f"path: {v!r} must be reachable from {u!r}, got no walk between them.")
        walk = best_path(start, end, self._column(end), self._neighbours, self.semiring)
        return [self.labels[k] for k in walk]

    def text(self, count: int = 10) -> str:
        """The distances between the first `count` vertices as text; no path is inf."""
        k, m = (min(count, size) for size in self.engine.shape)
        lines = [["", *(str(label) for label in self.targets[:m])], *self._texts(count)]
        width = max(len(cell) for line in lines for cell in line)
        shown = [" ".join(cell.rjust(width) for cell in line) for line in lines]
        left = self._left_out(k, m)
        return "\n".join([*shown, f"({left[0].lower()}{left[1:-1]})"] if left else shown)

    def table(self, sources: Any = None, targets: Any = None) -> np.ndarray:
        """The distances from some vertices to some, shape (sources, targets), as `np.asarray(r)` has them: inf is none.

        Parameters
        ----------
        sources, targets : list or array of labels, optional
            All by default.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        DTypeError
            If a float64 array would round an integer.
        MemoryNeeded
            If the table does not fit.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7)]).table(["A", "C"], ["B", "C"])
        array([[ 4., 11.],
               [inf,  0.]])
        """
        i, j = self._at("table", sources, self.sources), self._at("table", targets, self.targets)
        size = (self.engine.shape[0] if i is None else len(i)) * (self.engine.shape[1] if j is None else len(j))
        require(size * (8 + self.dtype.itemsize), where="table", hint="Ask for fewer, or stream them by rows().")
        if i is None and j is None:
            return output.numbers(host(self.distances), self.semiring)
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
            In the dtype of `distances`, with `infinity` for no path; CuPy where the distances lie on a device. It may
            be a view of what others see, or memory that is used again once you let go of it: copy what you change.

        Raises
        ------
        VertexError
            If a label is not in the graph.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)])
        >>> for labels, D in r.rows(targets=["C"]):
        ...     print(labels, D.ravel())
        ['A', 'B', 'C'] [11  7  0]
        """
        i, j = self._at("rows", sources, self.sources), self._at("rows", targets, self.targets)
        if block is not None and (not isinstance(block, (int, np.integer)) or block < 1):
            raise ShapeError(f"rows: block must be a positive integer, got {block!r}.")
        every = tuple(map(np.arange, self.engine.shape))
        bound = None if limit is None else Limit(limit, self.semiring, self.dtype)
        names = self.sources
        wanted, engine = every[0] if i is None else i, self.engine
        if j is not None or bound is not None:
            engine = Part(engine, every[0], every[1] if j is None else j, bound)
        return (([names[k] for k in at.tolist()], D) for at, D in engine.rows(wanted, block))

    def reduce(self, what: str | np.ufunc, *, axis: int | None = None, callback: Callback | None = None) -> np.ndarray:
        """One number a vertex, of all its distances; every pair is looked at, and none is kept.

        Parameters
        ----------
        what : str or numpy.ufunc
            "eccentricity": the worst distance from the vertex, inf where it does not reach all. "closeness": as
            NetworkX has it, of the distances to the vertex. "harmonic": Σ 1 / distance over all that reach it.
            "total": the sum of the distances from it to all that it reaches. "reached": how many it reaches, itself
            counted. Or a ufunc of two arguments: `r.reduce(np.maximum)` is
            `np.maximum.reduce(np.asarray(r), axis=1)`.
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
        AlgebraError
            If the name is made of lengths, and the semiring has none.
        ShapeError
            If it is made of the distances from all vertices, and this result has those from some.

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
            Hospitals, say. Among equally near ones, the first in this order.
        towards : bool
            Whether walks lead from the vertex to one of them, and not from them to the vertex.

        Returns
        -------
        Nearest
            `source`, a list with a label or None for every vertex, and `distance`, an array with inf for none; in the
            order of the targets (with `towards`, of the sources) of this result.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        AlgebraError
            If the semiring's ⊕ does not select one of two walks.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("C", "D", 1)], directed=False)
        >>> r.nearest(["A", "D"]).source
        ['A', 'A', 'D', 'D']
        """
        names = self.targets if towards else self.sources
        wanted = names.several(sources, where="nearest")
        which, best = sweeps.nearest(self.engine, self.semiring, wanted, towards=towards)
        found = [names[k] for k in wanted.tolist()]
        return Nearest([None if k < 0 else found[k] for k in which.tolist()], output.numbers(best, self.semiring))

    def update(self, weights: Any, *, callback: Callback | None = None) -> Result:
        """The result for other weights of the same edges; an elimination keeps its structure, and takes milliseconds.

        Parameters
        ----------
        weights : array_like, shape (edges,), or mapping
            One weight an edge, in the order of the graph's list of edges (`graph.rows`, `graph.cols`); or of some
            edges, {(u, v): weight} by label. All edges from u to v weigh so, of an undirected graph both ways. An edge
            of weight inf is closed; so is one of weight -inf where ⊕ keeps the greatest.

        Returns
        -------
        Result
            A new one; this one stays as it is.

        Raises
        ------
        ShapeError
            If there is not one weight an edge, or the graph came as a matrix.
        VertexError
            If no edge leads from u to v.
        DTypeError, DomainError, DivergenceError
            As `shortest_paths`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> r.update({("B", "C"): 9}).distance("A", "C")
        12
        """
        graph = reweighted(self.graph, weights)
        names = self.graph.labels
        i, j = (None if part is names else names.positions(list(part)) for part in (self.sources, self.targets))
        asked = Asked(
            dtype=None if self.dtype == self.graph.target(self.semiring) else self.dtype,
            device=self.plan.device,
            sources=i,
            targets=j,
            limit=self.engine.limit,
            like=self.engine.whole,
        )
        request = Request.of(callback=callback, threads=getattr(asked.like, "threads", None))
        found = answer(graph, self.semiring, request, asked)
        return replace(self, engine=found.engine, graph=graph, plan=found.plan, seconds=found.seconds)

    @staticmethod
    def _at(where: str, wanted: Any, names: Labels) -> np.ndarray | None:
        """The positions of labels wanted; None for all."""
        return None if wanted is None else names.several(wanted, where=where)

    def to_frame(self, rows: Any = None, cols: Any = None, *, long: bool = False) -> Any:
        """The distances as a table of pandas or Polars, whichever the graph came in, or is installed; no path is inf.

        Parameters
        ----------
        rows, cols : list or array of labels, optional
            The sources and the targets; all of them by default.
        long : bool
            A line a pair, in columns `from`, `to` and `distance`, instead of a row a source and a column a target.
            (Polars has no row names: in its wide table they are the column `from`, and column names are text.)

        Raises
        ------
        VertexError
            If a label is not in the graph.
        DTypeError
            If float64 would round an integer.
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
        sources = list(self.sources if rows is None else rows)
        targets = list(self.targets if cols is None else cols)
        if rows is None and cols is None:
            D = host(self.distances)
        else:
            D = self.engine.block(self.sources.positions(sources), self.targets.positions(targets))
        make = frames.long if long else frames.wide
        return make(output.numbers(D, self.semiring), sources, targets, self.frames)

    def plot(
        self,
        ax: Any = None,
        path: Sequence[Any] | None = None,
        positions: Mapping[Any, Sequence[float]] | str | Path | None = None,
        *,
        save: str | Path | None = None,
    ) -> Any:
        """Draw the distances as an image; or, with `positions`, the graph on its coordinates. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        path : sequence of labels, optional
            A path to show, such as `r.path(u, v)`.
        positions : mapping or path, optional
            The coordinates (x, y) of each vertex, by label, or the file that has them: DIMACS `.co`, points in
            `.geojson`, or a `.csv` with columns such as id, lon, lat. Vertices without any are not drawn.
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write; none is written without it.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        VertexError
            If a label of the path is not in the graph.
        FormatError
            If the file of positions is malformed.
        MemoryNeeded
            If an image of all distances does not fit.
        ImportError
            If matplotlib is missing: it comes with the extra `plot`.
        """
        steps = [] if path is None else self.graph.labels.positions(list(path)).tolist()
        title = f"{self.semiring.name}, {self.graph.n} vertices"
        with drawing.canvas(ax, save) as axes:
            if positions is None:
                drawing.image(axes, np.asarray(self), self.labels, steps, title)
            else:
                at = self._positions(positions)
                tails, heads, _ = self.graph.edges(self.semiring)
                named = dict(enumerate(self.labels)) if self.graph.n <= notebook.SHOWN else {}
                named |= {k: self.labels[k] for k in (steps[:1] + steps[-1:])}
                drawing.network(axes, at.reshape(-1, 2), (tails, heads), named, steps, title)
        return axes

    def _positions(self, positions: Mapping[Any, Sequence[float]] | str | Path) -> np.ndarray:
        if isinstance(positions, Mapping):
            return np.array([positions.get(label, (np.nan, np.nan)) for label in self.labels], dtype=np.float64)
        return read_positions(positions, self.graph.labels)

    def save(self, path: str | Path, *, callback: Callback | None = None) -> None:
        """Write the distances: `.npy`, `.npz`, `.csv`, `.zarr` or tiles. A file appears whole or not at all.

        Rows are written as they are computed: no engine makes a table for it. An `.npz` keeps everything, exactly:
        `distances`, `labels` (see `apsp.saving.encoding`), the graph, semiring and plan. `Result.load` reads it, and
        `apsp.formats.read` takes its distances for a graph. An `.npy` has the matrix alone; `np.load(path,
        mmap_mode="r")` reads parts of a large one. A `.csv` has the labels in its first row and column, and inf for no
        path. "tiles/" or `.tiles` is a directory of tiles with checksums (docs/stores.md), and a `.zarr` a group of the
        array `distances` and of the labels (version 3, extra `zarr`), which xarray and dask open: `Result.load` reads
        both where they lie, without loading the distances.

        Parameters
        ----------
        path : path
        callback : callable, optional
            `callback(done, total)` in entries. Without one, a warning says so where it will take more than a minute.

        Raises
        ------
        ValueError
            If the suffix is none of these.
        FormatError
            If the labels are none that `.npz` can hold, or two of them are the same text in a `.csv`.
        OSError
            If the file cannot be written, or has no room on its disk.
        ImportError
            If zarr is missing.
        """
        save_result(self, path, callback)

    @classmethod
    def load(cls, path: str | Path, semiring: str | Semiring | None = None) -> Result:
        """Read the `.npz` that `save` wrote; or answer from the tiles or the `.zarr` that it wrote, where they lie.

        Parameters
        ----------
        path : path
        semiring : str or Semiring, optional
            One of your own, where it was computed over one; those of the catalog are found by the name in the file.

        Raises
        ------
        FormatError
            If the file is damaged, or something else. Tiles are looked at when they are read: a missing or a damaged
            one is a `TileError` then, which names it.
        AlgebraError
            If its semiring is not in the catalog.
        OSError
            If it cannot be read.
        """
        return cls(**load_result(path, semiring))

    def _texts(self, count: int) -> list[list[str]]:
        """The first rows and columns as text, the labels first."""
        k, m = (min(count, size) for size in self.engine.shape)
        block = self.engine.block(np.arange(k), np.arange(m))
        return [
            [str(label), *(output.text(x, self.semiring) for x in entries)]
            for label, entries in zip(self.sources[:k], block, strict=True)
        ]

    def _left_out(self, k: int, m: int) -> str:
        """What to say below the first k rows and m columns."""
        if (k, m) == self.engine.shape:
            return ""
        if self.engine.shape == (self.graph.n,) * 2:
            return f"The first {k} of {self.graph.n} vertices."
        return f"The first {k} of {self.engine.shape[0]} sources and {m} of {self.engine.shape[1]} targets."

    def _column(self, end: int) -> np.ndarray:
        """The distances from every vertex of the graph to one."""
        whole = self.engine.whole
        if whole.shape == (self.graph.n,) * 2:
            return whole.column(end)
        # Only a part of the table was saved: the rest is searched for.
        asked = Asked(dtype=self.dtype, targets=np.array([end]))
        return answer(self.graph, self.semiring, Request(), asked).engine.column(0)

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Out-edges by vertex, in the dtype of the distances."""
        dtype = self.dtype
        if self.graph.dense is not None:
            dense, zero = self.graph.matrix(self.semiring, dtype), dtypes.zero(self.semiring, dtype)

            def row(x: int) -> tuple[np.ndarray, np.ndarray]:
                weights = host(dense[x])
                heads = np.flatnonzero(weights != zero)
                return heads, weights[heads]

            return row
        tails, heads, weights = self.graph.edges(self.semiring, dtype)
        order = np.argsort(tails, kind="stable")
        heads, weights = heads[order], weights[order]
        start = np.searchsorted(tails[order], np.arange(self.graph.n + 1))

        def sparse(x: int) -> tuple[np.ndarray, np.ndarray]:
            return heads[start[x] : start[x + 1]], weights[start[x] : start[x + 1]]

        return sparse


def shortest_paths(
    graph: Any,
    semiring: str | Semiring = "min_plus",
    *,
    sources: Any = None,
    targets: Any = None,
    limit: Any = None,
    dtype: Any = None,
    schedule: str = "auto",
    block: int | None = None,
    device: str | None = None,
    callback: Callback | None = None,
    threads: int | None = None,
    engine: str = "auto",
    order: Any = "auto",
    paths: bool = False,
    gpus: Places | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
    **reading: Any,
) -> Result:
    """Best walks between all pairs of a graph's vertices, or between some, whatever the graph comes as.

    Parameters
    ----------
    graph : graph
        A path to a file (see `apsp.formats`), a NumPy or CuPy matrix, a SciPy sparse matrix, a NetworkX graph, an
        edge list, or a `Graph`.
    semiring : str or Semiring
        Another semiring finds other best walks: "bottleneck", "reliability", "critical_path", …
    sources, targets : list or array of labels, optional
        The rows and the columns of the table that are wanted; all by default.
    limit : float, optional
        Distances beyond it count as no path, as in SciPy's `dijkstra`; where ⊕ keeps the greatest, those below.
    dtype : dtype, optional
        By default integer weights stay integers (wide enough for every sum), others are float64.
    schedule, block, device, callback, threads
        As in `closure`. A schedule or a block is one of the dense closure's.
    engine : {"auto", "dense", "elimination", "scipy", "hops"}
        What answers: a matrix of all distances; the elimination of a sparse graph, from which rows and single distances
        are computed when asked for (docs/sparse.md); SciPy's searches from each source; or, where all edges weigh
        the same, breadth-first searches from hundreds of sources at a time. By default the one that is
        predicted to take least of those that fit in memory: `Result.plan` says why, and what the others would take.
    order : str or array_like
        Of elimination: "auto", "degree", "levels", "metis" or a permutation of the vertices; see `semiring.eliminate`.
    paths : bool
        Find `Result.predecessors` at once, not on first use.
    gpus : int, sequence of int or World, optional
        The dense closure over several GPUs, as in `closure`; distances stay there, and are fetched when asked for. With
        engine="elimination" each GPU has the panels, and reductions of all pairs are shared out.
    memory, checkpoint, every, output
        As in `closure`, for the dense closure of all pairs. A result in a store is read where it lies, and
        `Result.load(output)` finds it again.
    **reading
        Passed to `as_graph`, for instance `weight="length"` for NetworkX or `directed=False`.

    Returns
    -------
    Result

    Raises
    ------
    NegativeCycleError, DivergenceError
        Naming a vertex by its label.
    FormatError
        If a file is not what its format says, with file and line.
    DomainError
        If a distance is beyond what an integer dtype holds.
    MemoryNeeded
        If matrix and closure do not fit, before the matrix is built.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    >>> r.distance("A", "C"), r.path("A", "C")
    (11, ['A', 'B', 'C'])
    """
    s = get(semiring)
    posed = as_graph(graph, **reading)
    request = Request.of(schedule=schedule, block=block, callback=callback, threads=threads)
    limits = Limits.of(memory, checkpoint, output, every)
    if gpus is not None and engine not in ("auto", "dense", "elimination"):
        raise ValueError(
            f"shortest_paths: gpus= comes with the dense closure or with engine='elimination', got engine={engine!r}. "
            "Leave gpus out: one device searches."
        )
    if limits is not None:
        if sources is not None or targets is not None or limit is not None or engine not in ("auto", "dense"):
            raise ValueError(
                "shortest_paths: memory=, checkpoint= and output= come with the dense closure of all pairs, got "
                "sources, targets, a limit or another engine beside them. Ask for all, and take parts of the result."
            )
        if gpus is None:
            given = within(posed, s, request, limits, dtype=dtype, device=device)
        else:
            given = answer(posed, s, request, Asked(dtype=dtype, gpus=gpus, limits=limits))
        result = Result(given.engine, posed, s, given.plan, given.seconds, frames.library_of(graph))
        if output is not None and 0 in getattr(gpus, "mine", (0,)):
            save_archive(output, archive_of(result, output))
        return result
    i, j = (
        None if wanted is None else posed.labels.several(wanted, where=f"shortest_paths: {side}")
        for wanted, side in ((sources, "sources"), (targets, "targets"))
    )
    asked = Asked(dtype=dtype, device=device, engine=engine, order=order, sources=i, targets=j, limit=limit, gpus=gpus)
    found = answer(posed, s, request, asked)
    rows, cols = (None if at is None else Labels([posed.labels[k] for k in at.tolist()]) for at in (i, j))
    result = Result(found.engine, posed, s, found.plan, found.seconds, frames.library_of(graph), rows, cols)
    if paths:
        _ = result.predecessors
    return result
