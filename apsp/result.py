"""`shortest_paths`, and the `Result` it returns: distances with their labels, paths on demand, tables, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.catalog import get
from semiring.errors import DivergenceError, DomainError, NoPathError
from semiring.observed import Callback

from .graph import Graph
from .inputs import as_graph
from .paths import Neighbours, best_path, require_paths
from .plans import Plan
from .problem import Memory, Request, matrix_of, pose_array
from .saving import save_matrix
from .solve import solve


@dataclass(frozen=True)
class Result:
    """All best walks of a graph.

    Attributes
    ----------
    distances : array, shape (n, n)
        D[i, j] is the best weight of a walk from vertex i to vertex j; the semiring's zero where there is none.
    graph : Graph
    semiring : Semiring
    plan : Plan
        How it was computed.
    seconds : float
        How long that took.
    """

    distances: Any = field(repr=False)
    graph: Graph = field(repr=False)
    semiring: Semiring
    plan: Plan = field(repr=False)
    seconds: float

    @property
    def labels(self) -> Sequence[Any]:
        """The vertices' names, in the order of the matrix."""
        return self.graph.labels

    @property
    def rate(self) -> float:
        """Pairs (one ⊕ with one ⊗) a second: n³ / seconds."""
        return self.plan.pairs / self.seconds if self.seconds else 0.0

    def distance(self, u: Any, v: Any) -> Any:
        """The best weight of a walk from u to v, given by label; the semiring's zero (∞) if there is none.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        """
        return self.distances[self.graph.index(u), self.graph.index(v)].item()

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
        if D[i, j].item() == dtypes.zero(self.semiring, D.dtype).item() and i != j:
            raise NoPathError(f"path: {v!r} must be reachable from {u!r}, got no walk between them.")
        column = D[:, j]
        to_v = np.asarray(column if isinstance(D, np.ndarray) else column.get())
        walk = best_path(i, j, to_v, self._neighbours, self.semiring)
        return [self.labels[k] for k in walk]

    def table(self, count: int = 10) -> str:
        """The distances between the first `count` vertices as text, ∞ where there is no walk."""
        n = min(count, self.graph.n)
        D = self.distances[:n, :n]
        block = D if isinstance(D, np.ndarray) else D.get()
        names = [str(self.labels[i]) for i in range(n)]
        zero = dtypes.zero(self.semiring, block.dtype)
        cells = [["-" if x == zero else _number(x) for x in row] for row in block]
        width = max((len(text) for text in (*names, *(c for row in cells for c in row))), default=1)
        lines = [" ".join(["".rjust(width), *(name.rjust(width) for name in names)])]
        lines += [
            " ".join([name.rjust(width), *(c.rjust(width) for c in row)])
            for name, row in zip(names, cells, strict=True)
        ]
        if n < self.graph.n:
            lines.append(f"(the first {n} of {self.graph.n} vertices)")
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Write the distances: `.npy`, `.npz` (`distances`, `labels`) or `.csv` (labels in the first row and column).

        The file appears whole or not at all; see `semiring.files.writing`. Labels come back from an `.npz` as they
        are, by `apsp.formats.read`; see `apsp.encoding`.

        Raises
        ------
        ValueError
            If the suffix is none of these.
        FormatError
            If the labels are none that `.npz` can hold, or two of them are the same text in a `.csv`.
        OSError
            If the file cannot be written.
        """
        save_matrix(self.distances, self.labels, path)

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Out-edges by vertex, in the dtype of the distances."""
        dtype = self.distances.dtype
        if self.graph.dense is not None:
            dense, zero = self.graph.matrix(self.semiring, dtype), dtypes.zero(self.semiring, dtype)

            def row(x: int) -> tuple[np.ndarray, np.ndarray]:
                weights = np.asarray(dense[x] if isinstance(dense, np.ndarray) else dense[x].get())
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
    return Result(solved.matrix, graph, s, solved.plan, solved.seconds)


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
        row = D[i] if isinstance(D, np.ndarray) else D[i].get()
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


def _number(x: Any) -> str:
    return str(x.item()) if x.dtype.kind in "ib" else f"{x.item():g}"
