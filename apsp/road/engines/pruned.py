"""Engines of divergent closures: rows that do not reach a bad cycle, or −∞ where walks have no best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.dense.acyclic import close_acyclic
from semiring.dense.cycles import Lengths
from semiring.host.devices import module, on_device
from semiring.host.errors import AlgebraError, DivergenceError, DTypeError, NegativeCycleError, VertexError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Blocks, Edges
from semiring.sparse.cycles import Weighted

from ...io.display import output
from ...io.graph import Graph
from ...io.graph.entries import listed
from ...io.labels import Labels
from ..plans import Plan
from ..question import Question
from .base import Engine, forwarded, placed
from .condensation import Condensation, condense, reached
from .dense import Dense

Opened = tuple[Engine, Plan]
Open = Callable[["Question"], Opened]


class Pruned(Engine):
    """The table of a graph with some arcs removed, exact in the `known` rows; other rows are refused."""

    renews, known = False, np.empty(0, bool)

    def __init__(self, engine: Engine, labels: Labels, known: np.ndarray) -> None:
        self.engine, self.labels, self.known = engine, labels, known
        self.name, self.shape, self.dtype = engine.name, engine.shape, engine.dtype
        self.seconds, self.repeats, self.workspace = engine.seconds, engine.repeats, engine.workspace

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Known rows; VertexError for others."""
        unknown = wanted[~self.known[wanted]]
        if len(unknown):
            raise VertexError(
                "rows: a vertex must be within reach of the sources, as a cycle beyond has no shortest walks, got "
                f"{came(self.labels[int(unknown[0])])}. Ask shortest_paths(graph, sources=[…]) for it."
            )
        return self.engine.rows(wanted, block)

    def panels(self, *, columns: bool = False) -> Blocks:
        """Panels of all columns, or of the known rows."""
        if columns:
            return super().panels(columns=True)
        return ((positions, D.T) for positions, D in self.rows(np.flatnonzero(self.known)))

    column, entries, hub_labels = map(forwarded, ("column", "entries", "hub_labels"))


class Unbounded(Pruned):
    """The table with −∞ (or ⊕'s best) where walks pass a cycle that beats `one`.

    `engine` is that of the graph without strong components that have such `cycles` (one each); `c` is the condensation
    of the whole graph.
    """

    def __init__(self, engine: Engine, rest: Rest, cycles: dict[int, list[int]]) -> None:
        c = rest.condensation
        super().__init__(engine, rest.labels, np.ones(len(c.component), bool))
        self.in_memory = self.stored = engine.in_memory
        self.component, self.cycles, self.count, self.semiring = c.component, cycles, c.count, rest.question.semiring
        self.best = engine.dtype.type(Lengths.required(self.semiring).to_entries(np.float64(-np.inf)))
        require(c.count**2 // 2, where="on_negative_cycle", hint="Ask for graphs with fewer strong components.")
        # Two copies of the condensation, one above the other, linked downwards by the components with cycles.
        down = np.fromiter(cycles, np.int64)
        tails, heads = (np.concatenate((x, x + c.count, y)) for x, y in ((c.tails, down + c.count), (c.heads, down)))
        self._closed = close_acyclic(2 * c.count, tails, heads)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        for here, D in placed(self.engine.rows(wanted, block)):
            yield wanted[here], self._marked(D.copy(), wanted[here])

    def column(self, j: int) -> np.ndarray:
        return np.where(self._through(np.arange(self.shape[0]), np.array(j)), self.best, self.engine.column(j))

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.where(self._through(i, j), self.best, self.engine.entries(i, j))

    def table(self) -> Array:
        D = self.engine.table()
        for start in range(0, len(D), 64):
            self._marked(D[start : start + 64], np.arange(start, min(start + 64, len(D))))
        return D

    @property
    def storage(self) -> Array:
        return self.table()

    def refuse_unbounded(self, where: str, labels: Labels, pair: tuple[int, int] | None = None) -> None:
        """As `Engine`: for all pairs, or one."""
        named = list(self.cycles)
        if pair is not None:
            u, v = self.component[list(pair)].tolist()
            named = [b for b in named if self._closed[u + self.count, b + self.count] and self._closed[b, v]]
        if named:
            names = [labels[v] for v in self.cycles[named[0]]]
            least = self.semiring.lengths and self.semiring.add.selects == "least"
            whose = "these" if pair is None else f"{came(labels[pair[0]])} and {came(labels[pair[1]])}"
            raise (NegativeCycleError if least else DivergenceError)(
                f"{where}: no cycle that beats one may be passed, got {output.walk([*names, names[0]])}: walks between "
                f"{whose} have no best. Ask path(u, v) of pairs whose distance is finite.",
                names[0],
                names,
            )

    def _through(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether walks i → j pass a cycle that beats `one`."""
        passed: np.ndarray = self._closed[self.component[i] + self.count, self.component[j]]
        return passed

    def _marked(self, D: Array, i: np.ndarray) -> Array:
        """Rows i of D with −∞ written into them."""
        passed = self._closed.rows(self.component[i] + self.count)[:, self.component]
        with on_device(D):
            D[module(D).asarray(passed)] = self.best
        return D


def refuse_options(question: Question) -> None:
    """Raise for options incompatible with on_negative_cycle="-inf", or another value."""
    wants, s = question.wants, question.semiring
    given = f"{wants.where}: on_negative_cycle"
    if wants.on_negative_cycle not in ("raise", "-inf"):
        raise ValueError(f"{given} must be 'raise' or '-inf', got {came(wants.on_negative_cycle)}.")
    others = {"overwrite=True": wants.overwrite, "gpus=": wants.gpus is not None}
    others["memory=, checkpoint= or output="] = wants.limits is not None
    for name in (name for name, there in others.items() if there):
        raise ValueError(f"{given}='-inf' must be without {name}, got both. Leave one of them out.")
    if Lengths.of(s) is None:
        raise AlgebraError(
            f"{given}='-inf' must have a semiring in which ⊕ selects and ⊗ adds, or multiplies numbers ≥ 0, got "
            f"{s.name}. Leave it out."
        )
    if not dtypes.SCALARS[question.dtype].floating:
        raise DTypeError(f"{given}='-inf' must have floats, got {question.dtype}, without −∞. Say dtype='float64'.")


def reopened(question: Question, error: DivergenceError, opened: Open) -> Opened:
    """The engine of rows that do not diverge; re-raises DivergenceError if a cycle matters and −∞ is not requested."""
    wants = question.wants
    if wants.on_negative_cycle == "-inf":
        error.__traceback__ = None  # its frames hold the first matrix
        return _unbounded(question, error, opened)
    if wants.sources is None or not question.is_graph or wants.limits is not None or wants.gpus is not None:
        raise error
    rest = Rest(question)
    known, tails = rest.known, rest.arcs[0]
    if known[tails].all():
        raise error
    error.__traceback__ = None
    engine, plan = opened(rest.with_arcs(known[tails]))
    return Pruned(engine, rest.labels, known), plan


def _unbounded(question: Question, error: DivergenceError, opened: Open) -> Opened:
    """The engine with −∞ for a matrix or graph; for a batch, a table, matrix by matrix."""
    rest = Rest(question)
    A = rest.matrix
    if A is not None and A.ndim == 3:
        found = [_of_one(rest.with_matrix(M), opened) for M in A]
        return Dense(module(A).stack([engine.storage for engine, _ in found])), found[0][1]
    component, cycles = rest.condensation.component, rest.cycles
    while True:
        where = int(component[error.vertex])
        cycles.setdefault(where, list(error.cycle) or [error.vertex])
        try:
            engine, plan = opened(rest.without(list(cycles)))
            return Unbounded(engine, rest, cycles), plan
        except DivergenceError as again:
            if again.vertex is None or int(component[again.vertex]) in cycles:
                raise
            error = again


def _of_one(question: Question, opened: Open) -> Opened:
    try:
        return opened(question)
    except DivergenceError as error:
        return _unbounded(question, error, opened)


@dataclass(frozen=True)
class Rest:
    """A question, of a graph or a `matrix`, some of whose walks have no best: its arcs, components, and parts."""

    question: Question

    @property
    def matrix(self) -> Array:
        return None if self.question.is_graph else self.question.intake.taken.array

    @cached_property
    def labels(self) -> Labels:
        return Labels(range(self.question.n)) if self.matrix is not None else self.question.graph.labels

    @cached_property
    def arcs(self) -> Edges:
        """Tails, heads and weights of all arcs but those of zero weight."""
        arcs = self.question.arcs.listed if self.matrix is None else listed(self.matrix, self.question.semiring)
        there = arcs[2] != dtypes.zero(self.question.semiring, arcs[2].dtype)
        tails, heads, weights = (x[there] for x in arcs)
        return tails, heads, weights

    @property
    def known(self) -> np.ndarray:
        """Mask of the vertices within reach of the sources."""
        sources = self.question.wants.sources
        assert sources is not None
        return reached(self.question.n, *self.arcs[:2], sources)

    @cached_property
    def condensation(self) -> Condensation:
        return condense(self.question.n, *self.arcs[:2])

    @cached_property
    def cycles(self) -> dict[int, list[int]]:
        """A cycle that beats `one` per strong component that has one, by Bellman–Ford in each."""
        (tails, heads, weights), component, s = self.arcs, self.condensation.component, self.question.semiring
        lengths = Lengths.required(s).of_entries(weights, np.nan)
        inside = np.flatnonzero(component[tails] == component[heads])
        inside = inside[np.argsort(component[tails[inside]], kind="stable")]
        owner = component[tails[inside]]
        found: dict[int, list[int]] = {}
        for which in np.unique(owner[lengths[inside] < 0]).tolist():
            here = inside[slice(*np.searchsorted(owner, (which, which + 1)))]
            vertices, ends = np.unique((tails[here], heads[here]), return_inverse=True)
            begins, leads = ends.reshape(2, -1)
            try:
                Weighted(begins, leads, weights[here], len(vertices), s).potentials(where="closure")
            except DivergenceError as error:
                found[which] = vertices[list(error.cycle)].tolist()
        return found

    def without(self, components: list[int]) -> Question:
        """The question without the arcs of some strong components."""
        left = ~np.isin(self.condensation.component, components)
        if self.matrix is None:
            return self.with_arcs(left[self.arcs[0]] & left[self.arcs[1]])
        M, gone = self.matrix.copy(), module(self.matrix).asarray(np.flatnonzero(~left))
        M[gone] = M[:, gone] = dtypes.zero(self.question.semiring, M.dtype)
        return self.with_matrix(M)

    def with_arcs(self, kept: np.ndarray) -> Question:
        """The question about some arcs of the graph."""
        tails, heads, weights = (x[kept] for x in self.arcs)
        graph = Graph(self.question.n, self.labels, rows=tails, cols=heads, weights=weights)
        return self._about(graph, device=self.question.device, like=None)

    def with_matrix(self, M: Array) -> Question:
        """The question about another matrix, of the computing dtype."""
        return self._about(M, nulls=(), unweighted=False)

    def _about(self, source: Array, **others: Any) -> Question:
        wants = replace(self.question.wants, dtype=self.question.dtype, **others)
        return replace(self.question, source=source, wants=wants)
