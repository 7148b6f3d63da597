"""`transitive_closure`, and the `Reachability` it returns: who reaches whom, at one bit a pair."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semiring.backend import bind
from semiring.bits import BitMatrix
from semiring.catalog import lor_land

from . import schedules
from .graph import Graph, as_graph
from .plans import Plan, check_memory, make_plan
from .progress import Callback, Metered
from .solve import _options


@dataclass(frozen=True)
class Reachability:
    """Who reaches whom.

    Attributes
    ----------
    matrix : BitMatrix, shape (n, n)
        Bit (i, j): whether a walk leads from i to j; of at least one edge unless `reflexive`.
    graph : Graph
    reflexive : bool
        Whether every vertex counts as reaching itself (A* instead of A⁺).
    plan : Plan
    seconds : float
    """

    matrix: BitMatrix = field(repr=False)
    graph: Graph = field(repr=False)
    reflexive: bool
    plan: Plan = field(repr=False)
    seconds: float

    @property
    def labels(self) -> Sequence[Any]:
        """The vertices' names, in the order of the matrix."""
        return self.graph.labels

    def reaches(self, u: Any, v: Any) -> Any:
        """Whether a walk leads from u to v; for two lists or arrays of labels, an array of answers.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        """
        if isinstance(u, (list, np.ndarray)) or isinstance(v, (list, np.ndarray)):
            sources, targets = np.broadcast_arrays(*(self.graph.index_of(np.atleast_1d(x)) for x in (u, v)))
            return self.matrix[sources, targets]
        return bool(self.matrix[self.graph.index(u), self.graph.index(v)])

    def descendants(self, u: Any) -> list[Any]:
        """The labels of all vertices that u reaches, in the order of the matrix."""
        return self._names(self.matrix.rows(self.graph.index(u)))

    def ancestors(self, v: Any) -> list[Any]:
        """The labels of all vertices that reach v, in the order of the matrix."""
        return self._names(self.matrix.column(self.graph.index(v)))

    def counts(self) -> np.ndarray:
        """How many vertices each one reaches, in the order of the matrix."""
        return self.matrix.counts(axis=1)

    def _names(self, row: np.ndarray) -> list[Any]:
        return [self.labels[k] for k in np.flatnonzero(row).tolist()]


def transitive_closure(
    source: Any,
    *,
    reflexive: bool = False,
    schedule: str = "auto",
    block: int | None = None,
    callback: Callback | None = None,
    threads: int | None = None,
    **reading: Any,
) -> Reachability:
    """A⁺ = A ⊕ A² ⊕ … over the Boolean semiring: which vertices a walk of at least one edge connects.

    Parameters
    ----------
    source : graph
        As `shortest_paths` takes; weights play no part, only which edges are there.
    reflexive : bool
        Let every vertex reach itself: A* = I ⊕ A⁺.
    schedule, block, callback, threads
        As in `closure`.
    **reading
        Passed to `as_graph`.

    Returns
    -------
    Reachability

    Raises
    ------
    MemoryNeeded
        If n² bits do not fit.

    Examples
    --------
    >>> from apsp import transitive_closure
    >>> t = transitive_closure([("a", "b"), ("b", "c")])
    >>> t.reaches("a", "c"), t.reaches("c", "a"), t.descendants("a")
    (True, False, ['b', 'c'])
    """
    graph = as_graph(source, **reading)
    n = graph.n
    ops = bind(lor_land, bool, **_options(threads, None))
    plan = make_plan(n, lor_land, ops, schedule=schedule, block=block)
    check_memory(plan.matrix_bytes + plan.workspace_bytes, "cpu", where="transitive_closure", hint="Split the graph.")
    start = time.perf_counter()
    tails, heads, _ = graph.edges(lor_land)
    matrix = BitMatrix.from_edges(tails, heads, (n, n))
    verbs: Any = Metered(ops, plan.pairs, callback) if callback else ops
    schedules.get(plan.schedule)(matrix, verbs, block=plan.block)
    if not reflexive:
        matrix.set_diagonal(_on_cycles(n, tails, heads))
    return Reachability(matrix, graph, reflexive, plan, time.perf_counter() - start)


def _on_cycles(n: int, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Whether each vertex lies on a cycle: in a component of several vertices, or with an edge to itself."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if n == 0:
        return np.zeros(0, dtype=bool)
    ones = np.ones(len(tails), dtype=bool)
    count, component = connected_components(coo_array((ones, (tails, heads)), shape=(n, n)), connection="strong")
    on_cycle: np.ndarray = np.bincount(component, minlength=count)[component] > 1
    on_cycle[tails[tails == heads]] = True
    return on_cycle
