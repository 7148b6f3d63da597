"""`shortest_paths`, and the `Result` it returns: distances with their labels, paths, tables, files, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import module
from semiring.catalog import get
from semiring.errors import DivergenceError, DomainError, DTypeError, NoPathError
from semiring.observed import Callback

from . import drawing, frames, notebook, outward
from .graph import Graph
from .inputs import as_graph
from .paths import Neighbours, best_path, require_paths
from .plans import Plan, in_units
from .problem import Memory, Request, matrix_of, pose_array
from .saving import load_result, save_result
from .solve import solve


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """All best walks of a graph.

    `distances` is exact and in the dtype that was computed in; where that is an integer, `infinity` is its entry for no
    path (2147483647 in int32), and `reachable` is the mask of the others. Everything else (`distance`, `table`,
    `to_frame`, `np.asarray(r)`, `.csv` files, pictures) says inf for no path, and -inf in max-plus.

    Attributes
    ----------
    distances : array, shape (n, n)
        D[i, j] is the best weight of a walk from vertex i to vertex j; `infinity` where there is none.
    graph : Graph
    semiring : Semiring
    plan : Plan
        How it was computed.
    seconds : float
        How long that took.
    frames : {"pandas", "polars"}, optional
        What `to_frame` makes; by default the library that is installed.
    """

    distances: Any
    graph: Graph
    semiring: Semiring
    plan: Plan
    seconds: float
    frames: str | None = None

    def __repr__(self) -> str:
        what = f"{self.semiring.name} in {self.distances.dtype} on {self.plan.device}"
        return f"<Result: {self.graph.n} vertices, {what}, {self.plan.schedule}, {in_units(self.seconds)}>"

    def _repr_html_(self) -> str:
        n = min(notebook.SHOWN, self.graph.n)
        names = [str(label) for label in self.labels[:n]]
        note = "" if n == self.graph.n else f"The first {n} of {self.graph.n} vertices."
        return notebook.table(repr(self), ["", *names], self._texts(n), note)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All distances, no path as inf. (`np.asarray(r)`; of integers, float64. Their own dtype gives `distances`.)"""
        D = _host(self.distances)
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted == D.dtype or not outward.infinities(self.semiring, D.dtype):
            return np.asarray(D, wanted) if copy is None else np.array(D, wanted, copy=copy)
        if wanted is not None and wanted.kind not in "fc":
            raise DTypeError(
                f"Result: an array of floats, or of {D.dtype}, is what distances become, got dtype {wanted}: it has no "
                "inf for no path. Take `distances`, `infinity` and `reachable`."
            )
        if copy is False:
            raise ValueError("Result: an array with inf for no path is a copy of integer distances, got copy=False.")
        return outward.numbers(D, self.semiring).astype(wanted or np.float64, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what was found for the first path, which the next one finds again."""
        return {name: value for name, value in vars(self).items() if name != "_neighbours"}

    @property
    def labels(self) -> Sequence[Any]:
        """The vertices' names, in the order of the matrix."""
        return self.graph.labels

    @property
    def infinity(self) -> Any:
        """The entry of `distances` that means no path: the semiring's zero, which may be an integer's largest value."""
        return dtypes.zero(self.semiring, self.distances.dtype).item()

    @property
    def reachable(self) -> Any:
        """bool (n, n), where `distances` lies: whether there is a path."""
        return self.distances != self.infinity

    @property
    def rate(self) -> float:
        """Pairs (one ⊕ with one ⊗) a second: n³ / seconds."""
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
        D = self.distances
        if not isinstance(u, (list, np.ndarray)) and not isinstance(v, (list, np.ndarray)):
            return outward.number(D[self.graph.index(u), self.graph.index(v)], self.semiring)
        i, j = np.broadcast_arrays(*(self.graph.labels.some(x) for x in (u, v)))
        xp = module(D)
        return outward.numbers(_host(D[xp.asarray(i), xp.asarray(j)]), self.semiring)

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
        i, j = self.graph.index(u), self.graph.index(v)
        D = self.distances
        if D[i, j].item() == self.infinity and i != j:
            raise NoPathError(f"path: {v!r} must be reachable from {u!r}, got no walk between them.")
        column = D[:, j]
        walk = best_path(i, j, _host(column), self._neighbours, self.semiring)
        return [self.labels[k] for k in walk]

    def table(self, count: int = 10) -> str:
        """The distances between the first `count` vertices as text; no path is inf."""
        n = min(count, self.graph.n)
        lines = [["", *(str(label) for label in self.labels[:n])], *self._texts(n)]
        width = max(len(cell) for line in lines for cell in line)
        shown = [" ".join(cell.rjust(width) for cell in line) for line in lines]
        if n < self.graph.n:
            shown.append(f"(the first {n} of {self.graph.n} vertices)")
        return "\n".join(shown)

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
        sources, targets = (list(self.labels) if names is None else list(names) for names in (rows, cols))
        D, xp = self.distances, module(self.distances)
        if rows is not None or cols is not None:
            i, j = (self.graph.labels.positions(names) for names in (sources, targets))
            D = D[xp.asarray(i)[:, None], xp.asarray(j)]
        make = frames.long if long else frames.wide
        return make(outward.numbers(_host(D), self.semiring), sources, targets, self.frames)

    def plot(
        self,
        ax: Any = None,
        path: Sequence[Any] | None = None,
        positions: Mapping[Any, Sequence[float]] | None = None,
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
        positions : mapping, optional
            The coordinates (x, y) of each vertex, by label; vertices without any are not drawn.
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write; none is written without it.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        VertexError
            If a label of the path is not in the graph.
        ImportError
            If matplotlib is missing: it comes with the extra `plot`.
        """
        steps = [] if path is None else self.graph.labels.positions(list(path)).tolist()
        title = f"{self.semiring.name}, {self.graph.n} vertices"
        with drawing.canvas(ax, save) as axes:
            if positions is None:
                drawing.image(axes, np.asarray(self), self.labels, steps, title)
            else:
                at = np.array([positions.get(label, (np.nan, np.nan)) for label in self.labels], dtype=np.float64)
                tails, heads, _ = self.graph.edges(self.semiring)
                named = dict(enumerate(self.labels)) if self.graph.n <= notebook.SHOWN else {}
                named |= {k: self.labels[k] for k in (steps[:1] + steps[-1:])}
                drawing.network(axes, at.reshape(-1, 2), (tails, heads), named, steps, title)
        return axes

    def save(self, path: str | Path) -> None:
        """Write the distances: `.npy`, `.npz` or `.csv`. The file appears whole or not at all.

        An `.npz` keeps everything, exactly: `distances`, `labels` (see `apsp.encoding`), the graph, semiring and plan.
        `Result.load` reads it, and `apsp.formats.read` takes its distances for a graph. An `.npy` has the matrix alone.
        A `.csv` has the labels in its first row and column, and inf for no path.

        Raises
        ------
        ValueError
            If the suffix is none of these.
        FormatError
            If the labels are none that `.npz` can hold, or two of them are the same text in a `.csv`.
        OSError
            If the file cannot be written.
        """
        save_result(self, path)

    @classmethod
    def load(cls, path: str | Path, semiring: str | Semiring | None = None) -> Result:
        """Read the `.npz` that `save` wrote.

        Parameters
        ----------
        path : path
        semiring : str or Semiring, optional
            One of your own, where it was computed over one; those of the catalog are found by the name in the file.

        Raises
        ------
        FormatError
            If the file is damaged, or something else.
        AlgebraError
            If its semiring is not in the catalog.
        OSError
            If it cannot be read.
        """
        return cls(**load_result(path, semiring))

    def _texts(self, n: int) -> list[list[str]]:
        """The first n rows and columns as text, the labels first."""
        block = _host(self.distances[:n, :n])
        return [
            [str(label), *(outward.text(x, self.semiring) for x in entries)]
            for label, entries in zip(self.labels[:n], block, strict=True)
        ]

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Out-edges by vertex, in the dtype of the distances."""
        dtype = self.distances.dtype
        if self.graph.dense is not None:
            dense, zero = self.graph.matrix(self.semiring, dtype), dtypes.zero(self.semiring, dtype)

            def row(x: int) -> tuple[np.ndarray, np.ndarray]:
                weights = _host(dense[x])
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
    source: Any,
    semiring: str | Semiring = "min_plus",
    *,
    dtype: Any = None,
    schedule: str = "auto",
    block: int | None = None,
    device: str | None = None,
    callback: Callback | None = None,
    threads: int | None = None,
    **reading: Any,
) -> Result:
    """All-pairs best walks of a graph, whatever it comes as.

    Parameters
    ----------
    source : graph
        A path to a file (see `apsp.formats`), a NumPy or CuPy matrix, a SciPy sparse matrix, a NetworkX graph, an
        edge list, or a `Graph`.
    semiring : str or Semiring
        Another semiring finds other best walks: "bottleneck", "reliability", "critical_path", …
    dtype : dtype, optional
        By default integer weights stay integers (wide enough for every sum), others are float64.
    schedule, block, device, callback, threads
        As in `closure`.
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
    graph = as_graph(source, **reading)
    request = Request.of(schedule=schedule, block=block, callback=callback, threads=threads)
    matrix, ours = matrix_of(graph, s, dtype, request, where="shortest_paths")
    risky = _may_saturate(matrix, s)
    try:
        problem = pose_array(matrix, s, Memory.OURS if ours else Memory.THEIRS, device=device)
        solved = solve(problem, request)
    except DivergenceError as error:
        raise _by_label(error, graph) from None
    if risky:
        _refuse_saturated(solved.matrix, graph, s)
    return Result(solved.matrix, graph, s, solved.plan, solved.seconds, frames.library_of(source))


def _may_saturate(matrix: Any, s: Semiring) -> bool:
    """Whether a walk of n − 1 edges can weigh more than the matrix's integers hold; it would seem to be no walk."""
    if matrix.dtype.kind != "i" or not s.mul.saturating:
        return False
    return len(matrix) * dtypes.largest_finite(matrix) >= np.iinfo(matrix.dtype).max


def _refuse_saturated(D: Any, graph: Graph, s: Semiring) -> None:
    """Refuse distances in which a best walk has saturated: the zero where there is a walk, or the other end.

    None is missed. Parts of a best walk are best walks, so that where no best walk saturates, none of its parts does.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    from .reach import transitive_closure

    tails, heads, weights = graph.edges(s, D.dtype)
    info, zero = np.iinfo(D.dtype), dtypes.zero(s, D.dtype)
    there = weights != zero
    t = transitive_closure(Graph.from_arrays(tails[there], heads[there], n=graph.n), reflexive=True)
    component = t.condensation.component
    for i in range(graph.n):
        row = _host(D[i])
        wrong = ((row == info.min) | (row == info.max)) & t.closed.rows(int(component[i]))[component]
        if wrong.any():
            u, v = graph.labels[i], graph.labels[int(wrong.argmax())]
            raise DomainError(
                f"shortest_paths: every distance must fit {D.dtype}, got a walk from {u!r} to {v!r} beyond "
                f"{info.max}. Say dtype='float64', which rounds, or a wider integer."
            )


def _by_label(error: DivergenceError, graph: Graph) -> DivergenceError:
    """The same error in the graph's own names."""
    if error.vertex is None or graph.labels == range(graph.n):
        return error
    names = [graph.labels[v] for v in error.cycle]
    vertex = graph.labels[error.vertex]
    where = f"the cycle {' → '.join(str(v) for v in [*names, names[0]])}" if names else f"vertex {vertex!r}"
    return type(error)(f"{error} By label: {where}.", vertex, names)


def _host(D: Any) -> np.ndarray:
    host: np.ndarray = D if isinstance(D, np.ndarray) else D.get()
    return host
