"""`shortest_paths`, and the `Result` it returns: distances with their labels, paths, tables, files, pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import Semiring
from semiring.backend import cuda_available
from semiring.catalog import get
from semiring.errors import DivergenceError
from semiring.observed import Callback
from semiring.tiles import TileStore
from semiring.types import DType

from ..display import frames
from ..engines import Engine
from ..engines.dense import Dense
from ..engines.part import Part
from ..engines.saved import Saved
from ..engines.stored import Stored
from ..engines.streamed import written
from ..estimates import in_units
from ..graph import Graph
from ..graph.reweighted import weighted
from ..inputs import as_graph
from ..labels import Labels
from ..large.limits import Limits
from ..log import PATIENCE
from ..measures import Measured
from ..plans import Plan
from ..question import Question
from ..reading.options import BY_RULE, Columns, NullValue, Weight
from ..road import answer
from ..saving.tiles import save_archive
from ..wants import Wants
from .archives import archive_of, load_result, save_result
from .mapped import Mapped
from .ranked import Ranked
from .reweighting import changed, reweighted

if TYPE_CHECKING:
    from ..distributed.solving import WorldLike


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapped, Ranked, Measured):
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
        are both by default. Where the engine holds no table, it is made on first use, and cached.
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

    See Also
    --------
    shortest_paths : What makes it.
    load : The way back from a file.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    >>> r.distance("A", "C"), r.path("A", "C"), r.distance("C", "A")
    (11, ['A', 'B', 'C'], inf)
    >>> bool(r.distances[2, 0] == r.infinity)
    True
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

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the fields. What was computed on first use is computed again."""
        names = {f.name for f in fields(self)}
        return {name: value for name, value in vars(self).items() if name in names}

    @property
    def rate(self) -> float:
        """Pairs (one ⊕ with one ⊗) a second: n³ / seconds for a dense closure."""
        return self.plan.pairs / self.seconds if self.seconds else 0.0

    def update(self, weights: Any, *, callback: Callback | None = None) -> Result:
        """The result for other weights of the same edges; an elimination keeps its structure, and takes milliseconds.

        Parameters
        ----------
        weights : array_like, shape (edges,), or mapping
            One weight an edge, in the order of the graph's list of edges (`graph.rows`, `graph.cols`); or of some
            edges, {(u, v): weight} by label. All edges from u to v weigh so, of an undirected graph both ways. An edge
            of weight inf is closed; so is one of weight -inf where ⊕ keeps the greatest. Among integers that is the end
            of int64, and distances stay integers.

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

        See Also
        --------
        shortest_paths : Other edges.
        semiring.Elimination.update : Of a sparse matrix.

        Notes
        -----
        An elimination repeats its numeric part, `Cost.elimination` pairs, and keeps the structure; on a CPU, of few
        edges only supernodes on their root paths, as `Elimination.update` says. Another engine begins again.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> r.update({("B", "C"): 9}).distance("A", "C")
        12
        """
        start = perf_counter()
        if isinstance(weights, Mapping) and (few := changed(self.graph, self.engine, weights)) is not None:
            made = replace(self, engine=few[0], graph=few[1], seconds=perf_counter() - start)
            if getattr(made.engine, "hubs", None) is not None:
                made.distance(*next(iter(weights)))  # labels that were written are in caches instead of what asks them
            return made
        graph = reweighted(self.graph, weights)
        if callback is None and self.plan.seconds < PATIENCE and weighted(graph) == weighted(self.graph):
            engine = self.engine.renewed(graph)
            if engine is not None:
                return replace(self, engine=engine, graph=graph, seconds=perf_counter() - start)
        names = self.graph.labels
        i, j = (None if part is names else names.positions(list(part)) for part in (self.sources, self.targets))
        available = self.plan.device == "cpu" or cuda_available()  # a result of a GPU may have been loaded elsewhere
        like = None if isinstance(self.engine, (Saved, Stored)) else self.engine.all_pairs
        wants = Wants.of(
            callback=callback,
            threads=getattr(like, "threads", None),
            dtype=None
            if getattr(like, "narrowed", False) or self.dtype == self.graph.target(self.semiring)
            else self.dtype,
            device=self.plan.device if available else None,
            sources=i,
            targets=j,
            limit=self.engine.limit,
            like=like,
            engine=like.name if like is not None and like.renews else "auto",
            hub_labels=getattr(like, "hubs", None) is not None,
        )
        found = answer(Question(graph, self.semiring, wants))
        return replace(self, engine=found.engine, graph=graph, plan=found.plan, seconds=found.seconds)

    def hub_labels(self) -> Result:
        """Make what answers any pair in about a microsecond: the distances of each vertex to and from its hubs.

        The hubs of a vertex are the vertices on its path to the root of the elimination tree. Every walk from u to v
        passes a hub that both have, and the best of them is their distance. `distance` of two vertices, of arrays of
        them, and `table` of some use hub labels as soon as they are there; all else stays as it is. `update` makes
        those of the new weights: where few edges change, on a CPU, only what differs.

        Returns
        -------
        Result
            This one. A result whose table is there answers from that, and nothing is made.

        Raises
        ------
        ValueError
            If the engine is no elimination: `shortest_paths(graph, hub_labels=True)` takes one.
        AlgebraError
            If ⊕ adds walks up, as in plus_times and log_plus, so that one would count for each hub on it.
        MemoryNeeded
            If they do not fit, before any work.

        See Also
        --------
        distance : Pairs.
        semiring.Elimination.hub_labels : Of a sparse matrix; what they cost, and their sources.

        Notes
        -----
        `plan(graph, hub_labels=True)` counts them. On a road network of 76,595 vertices a vertex has 193 hubs on
        average; all labels take 123 MB in float32, and are made in a tenth of a second, by an H200 in a millisecond.
        On a GPU they stay there, and CuPy arrays of vertices are answered with such arrays.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)], engine="elimination").hub_labels()
        >>> r.distance("A", "C"), r.distance(["A", "B"], "C")
        (11, array([11.,  7.]))
        """
        (self.engine if self.engine.stored else self.engine.all_pairs).hub_labels()
        return self

    def save(self, path: str | Path, *, callback: Callback | None = None) -> None:
        """Write the distances: `.npy`, `.npz`, `.csv`, `.txt`, `.zarr`, `.hubs` or tiles. Files appear complete or not.

        Rows are written as they are computed: no engine makes a table for it. An `.npz` keeps everything, exactly:
        `distances`, `labels` (see `apsp.saving.encoding`), the graph, semiring and plan. `Result.load` reads it, and
        `apsp.formats.read` takes its distances for a graph. An `.npy` has the matrix alone; `np.load(path,
        mmap_mode="r")` reads parts of a large one. A `.csv` has the labels in its first row and column, and inf for no
        path. "tiles/" or `.tiles` is a directory of tiles with checksums (docs/stores.md), and a `.zarr` a group of the
        array `distances` and of the labels (version 3, extra `zarr`), which xarray and dask open: `Result.load` reads
        both on disk, without loading the distances. A `.hubs` is a directory with hub labels in place of the table:
        `Result.load` maps them, so that processes share them, and pairs are answered at once; what else is asked for
        takes the elimination again. Their bytes have no checksums.

        Parameters
        ----------
        path : path
        callback : callable, optional
            `callback(done, total)` in entries. Without one, a warning says so where it will take more than a minute.

        Raises
        ------
        ValueError
            If the suffix is none of these, or distances or edges are read from that very place; for `.hubs`, if there
            are no hub labels of all pairs: see `hub_labels`.
        FormatError
            If the labels are none that `.npz` can hold, or two of them are the same text in a `.csv`.
        OSError
            If the file cannot be written, or does not fit on its disk.
        ImportError
            If zarr is missing.

        See Also
        --------
        load : The way back.
        save_predecessors : The paths.
        to_frame : A table of pandas or Polars.

        Notes
        -----
        n² entries of the dtype of the distances, or text; some rows are held at a time.

        Examples
        --------
        >>> import tempfile
        >>> from apsp import Result, shortest_paths
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shortest_paths([("A", "B", 4)]).save(f"{folder}/roads.npz")
        ...     Result.load(f"{folder}/roads.npz").distance("A", "B")
        4
        """
        save_result(self, path, callback)

    @classmethod
    def load(cls, path: str | Path, semiring: str | Semiring | None = None) -> Result:
        """Read the `.npz` that `save` wrote; or answer from the tiles, `.zarr` or `.hubs` that it wrote, on disk.

        Parameters
        ----------
        path : path
        semiring : str or Semiring, optional
            One of your own, where it was computed over one; those of the catalog are found by the name in the file.

        Returns
        -------
        Result

        Raises
        ------
        FormatError
            If the file is damaged, or something else. Tiles are looked at when they are read: a missing or a damaged
            one is a `TileError` then, which names it.
        AlgebraError
            If its semiring is not in the catalog, or is, and another one was given.
        OSError
            If it cannot be read.

        See Also
        --------
        save : What wrote it.

        Notes
        -----
        An `.npz` is read entirely; of tiles, `.zarr` and `.hubs` only what is asked for later.

        Examples
        --------
        >>> from apsp import Result
        >>> Result.load("roads.npz").distance("A", "B")  # doctest: +SKIP
        """
        return cls(**load_result(path, semiring, _again))


def shortest_paths(
    graph: Any,
    semiring: str | Semiring = "min_plus",
    *,
    sources: Any = None,
    targets: Any = None,
    limit: Any = None,
    dtype: DType = None,
    schedule: str = "auto",
    block: int | None = None,
    device: str | None = None,
    callback: Callback | None = None,
    threads: int | None = None,
    engine: str = "auto",
    order: Any = "auto",
    paths: bool = False,
    hub_labels: bool = False,
    gpus: WorldLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
    on_negative_cycle: str = "raise",
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
        By default integer weights stay integers, int32 where one search each way shows that it holds all distances, or
        no sum is too large; others are float64.
    schedule, block, device, callback, threads
        As in `closure`. A schedule or a block is one of the dense closure's.
    engine : {"auto", "dense", "elimination", "searches", "scipy", "hops", "essential", "levels", "spanning",
        "united"}
        What answers: a matrix of all distances; the elimination of a sparse graph, from which rows and single
        distances are computed when asked for (docs/sparse.md); searches by weight from 32 sources at a time; SciPy's
        searches from each source; where all edges weigh the same, breadth-first searches from hundreds of sources at a
        time; of a large matrix, searches through the few arcs that matter, or hop counts by products of bits; over the
        Boolean semiring, one bit a pair of strongly connected components, whose rows are united. By default the one
        that is predicted to take least of those that fit in memory: `Result.plan` says why, and what the others would
        take.
    order : str or array_like
        Of elimination: "auto", "degree", "levels", "metis" or a permutation of the vertices; see `semiring.eliminate`.
    paths : bool
        Find `Result.predecessors` at once, not on first use.
    hub_labels : bool
        Make `Result.hub_labels` at once; the engine is then an elimination, and the plan has what they take.
    gpus : int, sequence of int or World, optional
        The dense closure over several GPUs, as in `closure`; distances stay there, and are fetched when asked for. With
        engine="elimination" each GPU has the panels, and reductions of all pairs are shared out.
    memory, checkpoint, every, output
        As in `closure`, for all pairs: the dense closure streams through so much memory; of elimination and searches,
        which must fit into it, rows are written as they are found. A result in a store is read from disk, and
        `Result.load(output)` finds it again.
    weight, columns, directed, unweighted, null_value, format, name
        How the graph is read, as in `as_graph`: `weight="minutes"` for a NetworkX graph or a file, `null_value=0` for a
        matrix whose zeros are no edges.
    on_negative_cycle : {"raise", "-inf"}
        As in `closure`: with "-inf", a distance is −∞ where walks pass a cycle of negative weight, and others are as
        ever. `path` raises between such vertices; `predecessors` and `paths`, sums over paths, measures, `.npz` and
        other stores of results are refused then, and so are negative cycles of `update`.

    Returns
    -------
    Result

    Raises
    ------
    NegativeCycleError, DivergenceError
        Naming a cycle, or a vertex, by label; with `sources`, if one of these reaches it.
    FormatError
        If a file is not what its format says, with file and line.
    DomainError
        If a distance is beyond what an integer dtype holds, or zeros of a matrix may be edges or none: `null_value`
        says.
    MemoryNeeded
        If matrix and closure do not fit, before the matrix is built.

    See Also
    --------
    closure : The same of a matrix, as a matrix.
    transitive_closure : Which vertices a walk connects.
    plan : What this would do, and how long it would take.
    as_graph : All that a graph may come as.
    apsp.csgraph.shortest_path : SciPy's names and shapes.

    Notes
    -----
    For n vertices and m edges: a dense closure takes O(n³) pairs and n² entries; elimination what
    `semiring.sparse.analyse` counts, and n entries for each row that is asked for; a search by SciPy O((m + n) log n)
    for each source; breadth-first searches O(m + n) for each source, hundreds of them at a time. `plan` has bytes and
    seconds. Sources: those of `closure`; Johnson 1977 for negative arcs; Then et al. 2014, "The more the merrier", for
    breadth-first searches.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    >>> r.distance("A", "C"), r.path("A", "C")
    (11, ['A', 'B', 'C'])
    """
    s = get(semiring)
    posed = as_graph(
        graph,
        weight=weight,
        columns=columns,
        directed=directed,
        unweighted=unweighted,
        null_value=null_value,
        format=format,
        name=name,
    )
    i = None if sources is None else posed.labels.checked_positions(sources, where="shortest_paths: sources")
    j = None if targets is None else posed.labels.checked_positions(targets, where="shortest_paths: targets")
    wants = Wants.of(
        hub_labels=hub_labels,
        schedule=schedule,
        block=block,
        callback=callback,
        threads=threads,
        paths=paths,
        dtype=dtype,
        device=device,
        engine="elimination" if hub_labels and engine == "auto" else engine,
        order=order,
        sources=i,
        targets=j,
        limit=limit,
        gpus=gpus,
        on_negative_cycle=on_negative_cycle,
    )
    rows = None if i is None else Labels([posed.labels[k] for k in i.tolist()], "sources of this result")
    cols = None if j is None else Labels([posed.labels[k] for k in j.tolist()], "targets of this result")
    limits = Limits.of(memory, checkpoint, output, every, where="shortest_paths")
    with Limits.output_context(limits, gpus) as in_effect:
        found = answer(Question(posed, s, wants if in_effect is None else replace(wants, limits=in_effect)))
        if in_effect is not None:
            found = written(found, in_effect, s, callback)
        result = Result(found.engine, posed, s, found.plan, found.seconds, frames.library_of(graph), rows, cols)
        if in_effect is not None and in_effect.made_in is not None and 0 in getattr(gpus, "local_ranks", (0,)):
            save_archive(TileStore(in_effect.made_in), archive_of(result, os.path.join(output or "", "")))
    if output is not None and isinstance(getattr(found.engine, "matrix", None), TileStore):
        result = replace(result, engine=Stored(TileStore(output)))
    if paths:
        _ = result.predecessors
    return result


def _again(
    graph: Graph, s: Semiring, dtype: DType, targets: Any, engine: str = "auto", *, sources: Any = None
) -> Engine:
    """The engine of the columns at these positions, or of all, in a dtype: what a saved part of some rows lacks."""
    wants = Wants(dtype=dtype, targets=targets, engine=engine)
    try:
        return answer(Question(graph, s, wants)).engine
    except DivergenceError:
        if sources is None:
            raise
    found = answer(Question(graph, s, replace(wants, sources=sources, targets=None))).engine.all_pairs
    return found if targets is None else Part(found, np.arange(graph.n), targets)
