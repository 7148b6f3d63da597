"""`shortest_paths` and its `Result`: distances with labels, paths, tables, files, pictures."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.host.spelling import Named
from semiring.host.types import Algebra, Array, DType, Fields, Scalar, Vertices
from semiring.kernels.observed import Callback
from semiring.stores.tiles import TileStore

from ...big.distributed.solving import WorldLike
from ...big.large.limits import Limits
from ...io.display import frames
from ...io.labels import Labels
from ...io.quantities import Weighed, rereadable
from ...io.reading.options import BY_RULE, Columns, NullValue, Weight
from ...io.saving.tiles import save_archive
from ...road.engines import Engine
from ...road.engines.dense import Dense
from ...road.engines.stored import Stored
from ...road.engines.streamed import written
from ...road.estimates import in_units
from ...road.question import Question
from ...road.road import answer
from ...road.turned import expanded, over_copies
from ...road.types import EngineName, ScheduleName, Source
from ...road.wants import Wants
from ..measures import Measured
from .along import carried
from .archives import archive_of, load_result, save_result
from .mapped import Mapped
from .ranked import Ranked
from .reweighting import updated


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapped, Ranked, Measured):
    """Best walks of a graph, between all vertices or from some sources to some targets.

    Every query works on every engine: a table, an elimination that computes rows and pairs on demand, searches, ….
    `distances` is exact, in the computed dtype; `infinity` is its entry for no path (2147483647 in int32), `reachable`
    the mask of the others. All else (`distance`, `table`, `to_frame`, `np.asarray(r)`, `.csv`, pictures) uses inf for
    no path, and -inf in max-plus. Measures of `connected` pairs are `OverPairs`, which say how many have a path.

    Attributes
    ----------
    engine : Engine, or array of shape (n, n)
        Answers the queries; an array is a finished table.
    distances : array, shape (sources, targets)
        D[i, j] is the best weight of a walk from source i to target j, `infinity` if none; made on first use and cached
        where the engine holds no table.
    graph : Graph
    semiring : Semiring
    plan : Plan
        The engine, its reasons and its cost.
    seconds : float
        Time taken.
    frames : {"pandas", "polars"}, optional
        The output of `to_frame`; by default the installed library.
    sources, targets : Labels, optional
        Labels of rows and columns; all vertices by default.
    ties_within : float
        As `tied` sets it.
    along : Along, optional
        Quantities along the paths, by name, which `of=` of `distance`, `table`, `rows`, `to_frame`, `nearest` tells.
    turned : Expansion, optional
        Copies of the vertices, where turns have costs.

    Raises
    ------
    NoPathError
        In `eccentricity`, and unless `connected` in `diameter`, `farthest_pair`, `radius`, `center`, `periphery` and
        `average_path_length`, if a vertex cannot be reached from another one.
    AlgebraError, ShapeError
        In these, `closeness` and `global_efficiency`, if the semiring has no lengths, or this result is partial.
    DomainError
        In `global_efficiency`, if a distance is negative.
    VertexError, ShapeError
        In `rows` and `predecessor_rows`, if a source or target is not in the graph; in `betweenness` and
        `edge_betweenness`, if their number is exceeded.
    AlgebraError, DivergenceError
        In these two and `flows`, if best walks cannot be counted (⊕ does not select, or ⊗ does); for a cycle that costs
        nothing, naming it.

    See Also
    --------
    shortest_paths, load : Computes it; reads it from a file.
    distance, path, paths, edges : Pairs: the weight, a best walk, those of many pairs, their edges.
    k_paths, k_distances, all_paths, networkx.shortest_simple_paths : The next best paths; their lengths; all best ones.
    table, rows, to_frame, text, save : Distances: one array, blocks of rows, with labels, as text, in a file.
    within, nearest : Near vertices: a sparse matrix; the nearest of several sources.
    predecessor_rows, save_predecessors, apsp.predecessors : Trees; for a matrix and its closure.
    eccentricity, diameter, radius, center, periphery, farthest_pair : Greatest distances.
    closeness, average_path_length, global_efficiency : NetworkX's measures; the last also of disconnected graphs.
    reduce : Measures as arrays, with inf where a vertex does not reach all; also "harmonic".
    betweenness, edge_betweenness, flows, tied : Shares of best paths; your own demand; nearly equal paths.
    plot, explore, to_geojson, to_geopandas : A picture, a page, GeoJSON, a frame that `as_graph` reads.
    update, apsp.update, semiring.Elimination.update : New weights; for a matrix and its closure; for a sparse matrix.
    verify, apsp.negative_cycle : Proof of the distances; the reason for missing ones.
    hub_labels, semiring.Elimination.hub_labels : Any pair in about a microsecond; cost and sources.
    apsp.csgraph.dijkstra, apsp.csgraph.yen : The same by SciPy's names.

    Notes
    -----
    `eccentricity`, `diameter`, `farthest_pair`, `radius`, `center`, `periphery`, `closeness`, `average_path_length` and
    `global_efficiency` share one pass over all n² distances; `farthest_pair` adds a row and a path. `text`, `to_frame`,
    `within` and `reduce` cost the rows asked for, a few in memory at a time, and what they return; `rows` holds `block`
    rows of n entries, `predecessor_rows` 4 bytes an entry more. `save` writes n² entries, or text, by rows,
    `save_predecessors` 4 n² bytes. `load` reads an `.npz` entirely; tiles, `.zarr` and `.hubs` on demand.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    >>> r.distance("A", "C"), r.path("A", "C"), r.distance("C", "A")
    (11, ['A', 'B', 'C'], inf)
    >>> bool(r.distances[2, 0] == r.infinity)
    True
    """

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
        also = f", along {', '.join(map(str, self.along.quantities))}" if self.along else ""
        also += f", {self.turned.note}" if self.turned else ""
        return f"<Result: {part}{self.graph.n} vertices{also}, {what}, {self.plan.schedule}, {in_units(self.seconds)}>"

    def __getstate__(self) -> Fields:
        """State without cached properties."""
        names = {f.name for f in fields(self)}
        return {name: value for name, value in vars(self).items() if name in names}

    @property
    def rate(self) -> float:
        """Pairs (one ⊕ with one ⊗) a second: n³ / seconds for a dense closure."""
        return self.plan.pairs / self.seconds if self.seconds else 0.0

    def update(self, weights: Array = None, *, turns: Any = None, callback: Callback | None = None) -> Result:
        """The result for new weights: a matrix and an elimination keep what stays, and take milliseconds.

        Parameters
        ----------
        weights : array_like, shape (edges,), or mapping
            {(u, v): weight} by label for some edges: all parallel ones, both ways if undirected; or one weight per
            listed edge (`graph.rows`, `graph.cols`). Weight inf closes an edge (-inf where ⊕ keeps the greatest, False
            or 0 over a Boolean semiring); among integers that is the end of int64, and distances stay integers. In a
            graph of a matrix every pair can become an edge. With `turns`, by default as they were.
        turns : optional
            Turns that cost something else now, by vertices, as in `shortest_paths`; 0 frees one.

        Returns
        -------
        Result
            A new one; this one is unchanged.

        Raises
        ------
        ShapeError, VertexError
            If the number of weights is wrong, or a matrix gets no mapping; if a list has no edge from u to v.
        DTypeError, DomainError, DivergenceError
            As `shortest_paths`.

        Notes
        -----
        A table of distances is copied, and what changes computed anew, as by `apsp.update`; `plan` says how much. Its
        `graph` must be as it was: an array is not copied. An elimination repeats its numeric part, `Cost.elimination`
        pairs; on a CPU, for few changed edges, only supernodes on their root paths. Other engines start over, as all do
        where vertices get other copies by new turns.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> r.update({("B", "C"): 9}).distance("A", "C")
        12
        """
        with Named("update", "eliminate", "shortest_paths", "Graph.matrix"):
            return updated(self, weights, turns, callback)

    def hub_labels(self) -> Result:
        """Make hub labels, which answer any pair in about a microsecond: distances of each vertex to and from its hubs.

        The hubs of a vertex are its ancestors in the elimination tree; every walk u → v passes a common hub, and the
        best sum over those is the distance. `distance` and small `table`s use them from then on; `update` refreshes
        them, on a CPU only where few edges changed.

        Returns
        -------
        Result
            This one; a result with a table is returned unchanged.

        Raises
        ------
        ValueError
            If the engine is no elimination: use `shortest_paths(graph, hub_labels=True)`.
        AlgebraError
            If ⊕ is not idempotent (plus_times, log_plus): a walk would count once per hub on it.
        MemoryNeeded
            If they do not fit, before any work.

        Notes
        -----
        `plan(graph, hub_labels=True)` counts them. A road network of 76,595 vertices has 193 hubs a vertex: 123 MB in
        float32, made in 0.1 s, by an H200 in 1 ms. On a GPU they stay there, and CuPy arrays of vertices get CuPy
        answers.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7)], engine="elimination").hub_labels()
        >>> r.distance("A", "C"), r.distance(["A", "B"], "C")
        (11, array([11.,  7.]))
        """
        (self.engine if self.engine.stored else self.engine.all_pairs).hub_labels()
        return self

    def save(self, path: str | os.PathLike[str], *, callback: Callback | None = None) -> None:
        """Write the distances, atomically, as `.npy`, `.npz`, `.csv`, `.txt`, `.zarr`, `.hubs` or tiles.

        Rows are written as they are computed, without a table. By suffix:

        - `.npz`: everything, exactly: `distances`, `labels` (see `apsp.io.saving.encoding`), graph, semiring, plan. For
          `Result.load`; `apsp.io.formats.read` takes its distances for a graph.
        - `.npy`: the matrix alone, for `np.load(path, mmap_mode="r")`.
        - `.csv`: labels in the first row and column, inf for no path.
        - `.tiles` or a final "/": a directory of tiles with checksums (docs/stores.md); `.zarr`: a group (version 3,
          extra `zarr`) of `distances` and labels, for xarray and dask. `Result.load` reads both on disk.
        - `.hubs`: a directory of hub labels, without checksums. `Result.load` maps it (shared between processes) and
          answers pairs at once; other queries repeat the elimination.

        Parameters
        ----------
        path : path
        callback : callable, optional
            `callback(done, total)` in entries. Without one, a warning announces more than a minute.

        Raises
        ------
        ValueError
            If the suffix is unknown, or the path is the place that distances or edges are read from; for `.hubs`, if
            there are no hub labels of all pairs.
        FormatError
            If labels cannot be held by `.npz`, or two coincide as text in a `.csv`.
        OSError, ImportError
            If the file cannot be written, or does not fit on the disk; if zarr is missing.

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
        """Read an `.npz` that `save` wrote, or answer from its tiles, `.zarr` or `.hubs` on disk.

        Parameters
        ----------
        path : path
        semiring : str or Semiring, optional
            Your own semiring, if it was computed over one; the catalog's are found by name.

        Raises
        ------
        FormatError
            If the file is damaged or of another kind. Damaged or missing tiles raise `TileError` when read.
        AlgebraError, OSError
            If its semiring is not in the catalog, or differs from the one given; if it cannot be read.

        Examples
        --------
        >>> from apsp import Result
        >>> Result.load("roads.npz").distance("A", "B")  # doctest: +SKIP
        """
        return cls(**load_result(path, semiring))


def shortest_paths(
    graph: Source,
    semiring: Algebra = "min_plus",
    *,
    sources: Vertices = None,
    targets: Vertices = None,
    limit: Scalar = None,
    dtype: DType = None,
    schedule: ScheduleName = "auto",
    block: int | None = None,
    device: str | None = None,
    callback: Callback | None = None,
    threads: int | None = None,
    engine: EngineName = "auto",
    order: Any = "auto",
    paths: bool = False,
    hub_labels: bool = False,
    gpus: WorldLike | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
    weight: Weight = BY_RULE,
    along: Any = None,
    turns: Any = None,
    u_turns: float | None = None,
    ways: Any = None,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
    on_negative_cycle: Literal["raise", "-inf"] = "raise",
) -> Result:
    """Best walks between all pairs of vertices, or between some, of any supported graph.

    Parameters
    ----------
    graph : graph
        A path to a file (see `apsp.io.formats`), a NumPy or CuPy matrix, a SciPy sparse matrix, a NetworkX graph, an
        edge list, or a `Graph`.
    semiring : str or Semiring
        Other semirings find other best walks: "bottleneck", "reliability", "critical_path", …
    sources, targets : list or array of labels, optional
        Rows and columns of the table; all by default.
    limit : float, optional
        Distances beyond it count as no path, as in SciPy's `dijkstra` (below it, where ⊕ keeps the greatest).
    dtype : dtype, optional
        By default integers stay integers, int32 if proven to hold all distances; others are float64.
    schedule, block, device, callback, threads
        As in `closure`; schedule and block are those of the dense closure.
    engine : {"auto", "dense", "elimination", "searches", "scipy", "hops", "essential", "levels", "spanning",
        "united"}
        A matrix of all distances; a sparse elimination, which computes rows and pairs on demand (docs/sparse.md);
        searches by weight from 32 sources at a time; SciPy's searches; for equal weights, breadth-first searches from
        hundreds of sources at a time; for a large matrix, searches through the essential arcs, or hop counts by Boolean
        products; over the Boolean semiring, united rows of strongly connected components. By default the fastest by
        prediction that fits in memory: `Result.plan` gives reasons and alternatives.
    order : str or array_like
        Elimination order: "auto", "degree", "levels", "metis" or a permutation of the vertices; see
        `semiring.eliminate`.
    paths : bool
        Compute `Result.predecessors` at once, not on first use.
    hub_labels : bool
        Make `Result.hub_labels` at once, by elimination; the plan includes their cost.
    gpus : int, sequence of int or World, optional
        Dense closure over several GPUs, as in `closure`; distances stay there until fetched. With engine="elimination"
        each GPU holds the panels, and reductions of all pairs are shared.
    memory, checkpoint, every, output
        As in `closure`, for all pairs: the dense closure streams within `memory`; elimination and searches must fit in
        it and write rows as they are found. A result in a store is read from disk; `Result.load(output)` reopens it.
    weight, columns, directed, unweighted, null_value, format, name
        Reading options, as in `as_graph`: `weight="minutes"` for NetworkX or a file, `null_value=0` for a matrix whose
        zeros are no edges. A list, `weight=["time", "changes"]`, asks for the best by the first, of those the best by
        the second, and so on; `of="changes"` tells the others.
    along : str, callable, array_like, list or dict of them, optional
        Quantities to be added up along the best paths, which `r.table(of="metres")` tells: columns, attributes and
        functions as in `weight`; "edges", their number; arrays with one number per edge; {name: any of
        these}. Where they are packed into the lengths, as the plan says, equally good paths are told apart by them, in
        their order, the least first (docs/along.md).
    turns : table, mapping, list or path, optional
        Turns that cost something, added to the weights, or are forbidden, by cost inf: a table with columns from, via,
        to, cost; {("A", "B", "C"): 20}; (from, via, to) or (from, via, to, cost); a .csv; restrictions of OpenStreetMap
        and pgRouting. Between from and to may be several vertices, of a restriction by way. Everything is asked and
        told by vertex and edge as without (docs/turns.md).
    u_turns : float, optional
        The cost of turning back, inf to forbid it, but in dead ends.
    ways : str, or list with the way of each edge, optional
        A column or attribute of edges: the ways, or the numbers of edges, that `turns` name instead of vertices.
    on_negative_cycle : {"raise", "-inf"}
        As in `closure`: with "-inf", a distance is −∞ where walks pass a negative cycle. `path` raises between such
        vertices; `predecessors`, `paths`, sums over paths, measures, stores of results and `update` then refuse.

    Raises
    ------
    NegativeCycleError, DivergenceError
        Names a cycle or vertex by label; with `sources`, only if one of these reaches it.
    FormatError
        If a file does not follow its format, with file and line.
    DomainError
        If a distance exceeds an integer dtype, or zeros of a matrix are ambiguous: see `null_value`. If a list of
        weights does not fit 62 bits, or has no common unit.
    MemoryNeeded
        If matrix and closure do not fit, before the matrix is built.

    See Also
    --------
    closure, transitive_closure, plan : The same for a matrix; connected pairs; prediction of method, memory and time.
    as_graph, apsp.csgraph.shortest_path : Supported inputs; SciPy's interface.

    Notes
    -----
    For n vertices and m edges: dense closure O(n³) pairs, n² entries; elimination as `semiring.sparse.analyse` counts,
    and n entries a row requested; Dijkstra O((m + n) log n) a source; breadth-first search O(m + n) a source.
    `plan` gives bytes and seconds. Sources: those of `closure`; Johnson 1977 for negative arcs; Then et al. 2014, "The
    more the merrier", for breadth-first searches.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    >>> r.distance("A", "C"), r.path("A", "C")
    (11, ['A', 'B', 'C'])
    """
    s = get(semiring)
    graph = rereadable(graph) if isinstance(ways, (str, int)) else graph
    read = Weighed.read(
        graph, weight, along, columns=columns, directed=directed, unweighted=unweighted, null_value=null_value,
        format=format, name=name,
    )  # fmt: skip
    posed, reading = read.graph, {"columns": columns, "directed": directed, "format": format}
    plain = turns is u_turns is ways is None
    turned = None if plain else expanded(graph, posed, s, turns, u_turns, ways, reading)
    i = None if sources is None else posed.labels.checked_positions(sources, where="shortest_paths: sources")
    j = None if targets is None else posed.labels.checked_positions(targets, where="shortest_paths: targets")
    wants = Wants.of(
        hub_labels=hub_labels, schedule=schedule, block=block, callback=callback, threads=threads, paths=paths,
        dtype=dtype, device=device, engine="elimination" if hub_labels and engine == "auto" else engine, order=order,
        sources=i, targets=j, limit=limit, gpus=gpus, on_negative_cycle=on_negative_cycle,
    )  # fmt: skip
    rows = posed.labels if i is None else Labels([posed.labels[k] for k in i.tolist()], "sources of this result")
    cols = posed.labels if j is None else Labels([posed.labels[k] for k in j.tolist()], "targets of this result")
    limits = Limits.of(memory, checkpoint, output, every, where="shortest_paths")
    with Limits.output_context(limits, gpus) as in_effect:
        # A question that is held would hold its matrix beside the predecessors.
        wants = wants if in_effect is None else replace(wants, limits=in_effect)
        wants = wants if turned is None else over_copies(wants, turned)
        ask = partial(Question, posed if turned is None else turned.graph, s, wants)
        found, carrying = carried(ask(), read, turned) if read.given else (answer(ask()), None)
        if in_effect is not None:
            found = written(found, in_effect, s, callback)
        library = frames.library_of(graph)
        plan = found.plan if turned is None else replace(found.plan, reason=f"{found.plan.reason}; {turned.note}")
        result = Result(found.engine, posed, s, plan, found.seconds, library, rows, cols, 0.0, carrying, turned)
        if in_effect is not None and in_effect.made_in is not None and 0 in getattr(gpus, "local_ranks", (0,)):
            save_archive(TileStore(in_effect.made_in), archive_of(result, os.path.join(output or "", "")))
    if output is not None and isinstance(getattr(found.engine, "matrix", None), TileStore):
        stored = Stored(TileStore(output))
        result = replace(result, engine=stored, along=carrying and replace(carrying, engine=stored))
    if paths:
        _ = result.predecessors
    return result
