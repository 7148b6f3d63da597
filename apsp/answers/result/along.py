"""Quantities added up along best paths: metres of the fastest way, fewest changes of the quickest (docs/along.md).

Where a bound shows that all of it fits, a weight w and quantities q ≥ 0 are packed into one length, w · 2ᵏ + q: every
engine answers for both at once, and its best path is the best by weight, of those the best by the first quantity, and
so on. Other quantities are added up along predecessors, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.dense.routes import lengths
from semiring.host.devices import host, on_device, to_device
from semiring.host.errors import DivergenceError
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Array, Blocks, Edges, Function, Scalar

from ...io.expansion import Expansion
from ...io.graph import Graph
from ...io.graph.entries import is_boolean, present
from ...io.graph.reweighted import weighted
from ...io.quantities import Weighed
from ...road.engines.base import Engine, placed
from ...road.engines.dense import Dense
from ...road.engines.part import Limit, Part, as_limit
from ...road.packing import WIDE, Word, carrying, no_path
from ...road.question import Question
from ...road.road import Answer, answer
from .nearest import nearest
from .walked import FEW, paths_of

if TYPE_CHECKING:
    from . import Result


def _word_of(name: str, **way: bool) -> Function:
    return lambda self, *place: self.word(getattr(self.engine, name)(*place), **way)


def _words_of(name: str) -> Callable[..., Iterator[Any]]:
    return lambda self, *place, **way: ((k, self.word(D)) for k, D in getattr(self.engine, name)(*place, **way))


class Unpacked(Engine):
    """One word of the packed lengths of another engine."""

    fresh = True

    def __init__(self, engine: Engine, word: Word, limit: float | None = None) -> None:
        self.engine, self.word, self.limit, self.name = engine, word, limit, engine.name
        self.shape, self.dtype, self.threads = engine.shape, word.dtype, getattr(engine, "threads", None)
        self.stored, self.repeats, self.known = engine.stored, engine.repeats, engine.known
        self.refuse_unbounded, self.hub_labels = engine.refuse_unbounded, engine.hub_labels  # type: ignore[method-assign]  # its own words

    @cached_property
    def all_pairs(self) -> Engine:
        every = self.engine.all_pairs
        return self if every is self.engine else Unpacked(every, self.word)

    column = _word_of("column")
    entries, block = (_word_of(name, overwrite=True) for name in ("entries", "block"))  # new memory
    rows, panels = map(_words_of, ("rows", "panels"))

    def table(self) -> Array:
        return self.engine.quantity(self.word)

    def entry(self, i: int, j: int) -> Scalar:
        return self.word.entry(self.engine.entry(i, j))

    def reduced(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        return self.engine.reduced(lambda panel: of(self.word(panel)), columns=columns, **share)

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray]:
        which, best = nearest(self.engine, get("min_plus"), wanted, towards=towards)
        return which, self.word(best)


class Summed(Engine):
    """A quantity added up along the predecessors of a result."""

    def __init__(self, r: Result, along: Along, values: np.ndarray) -> None:
        self.trees, self.weighed, self.along = r._trees, r.engine.all_pairs, along
        self.values, self.dtype = values, values.dtype
        self.shape, self.arcs = (self.trees.graph.n,) * 2, None
        self.fresh = self.trees.engine.in_memory  # the predecessors, most of the work, are kept
        if r.graph.dense is None:
            starts, heads, which = along.arcs
            self.arcs = starts, heads, values[which]
        self.within = None if r.engine.limit is None else Limit(r.engine.limit, r.semiring, r.dtype)
        on_device = self.fresh and self.arcs is None and self.within is None
        self.device = self.trees.engine.device if on_device else "cpu"

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        if self.device != "cpu":
            yield from Dense(self.table()).rows(wanted, block)
            return
        trees = self.trees
        whole = trees.complete or (self.fresh and 8 * len(wanted) >= trees.graph.n)
        for sources, D in trees.engine.rows(wanted, block):
            yield sources, self._sums(sources, host(trees.predecessors)[sources] if whole else trees.of(sources, D))

    def _sums(self, sources: np.ndarray, P: np.ndarray) -> np.ndarray:
        matrix = to_device(self.values, self.device) if self.arcs is None else None
        L = lengths(get("min_plus"), P, sources, self.dtype, A=matrix, edges=self.arcs)
        if self.within is not None:
            near = self.weighed.block(sources, np.arange(self.shape[1]))
            L[self.within(near) == self.within.zero] = no_path(self.dtype)  # some engines cut rows themselves
        return L

    def _all(self) -> Array:
        """Sums of all paths, on the device of the predecessors of a matrix."""
        if not self.fresh:
            return super()._all()
        P = to_device(self.trees.predecessors, self.device)
        with on_device(P):
            return self._sums(np.arange(self.shape[0]), P)

    def column(self, j: int) -> np.ndarray:
        return self.block(np.arange(self.shape[0]), np.array([j]))[:, 0]

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Rows, one block after the other: a column depends on every row."""
        out = np.empty((len(i), len(j)), self.dtype)
        for here, D in placed(self.rows(i)):
            np.take(host(D), j, axis=1, out=out[here], mode="clip")
        return out

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Few along single paths, many by rows."""
        if i.size > FEW:
            return super().entries(i, j)
        vertices, starts = paths_of(self.trees, i.ravel(), j.ravel())
        out = np.full(i.shape, no_path(self.dtype), self.dtype)
        for place, (start, stop) in zip(np.ndindex(i.shape), pairwise(starts.tolist()), strict=True):
            if len(path := vertices[start:stop]):
                edges = (path[:-1], path[1:]) if self.arcs is None else self.along.along(path.tolist())
                out[place] = sum(host(self.values[edges]), self.dtype.type(0))
        if self.within is not None:
            near = self.weighed.entries(i, j)
            out[self.within(near) == self.within.zero] = no_path(self.dtype)
        return out


@dataclass(frozen=True)
class Along:
    """Quantities along the paths of a result, by name, a number an edge; the first `ordered` break ties.

    `weight` names the weight. `words` are of the weight and of the packed quantities, of the lengths of `graph` that
    `engine` found; empty where none is packed. `given` are the quantities by edge, where turns make arcs of edges.
    """

    weight: str
    quantities: Mapping[str, np.ndarray]
    ordered: int
    semiring: Semiring
    words: tuple[Word, ...]
    graph: Graph
    engine: Engine
    given: Mapping[str, np.ndarray]

    @cached_property
    def arcs(self) -> Edges:
        """CSR of the best of parallel edges: starts, heads, numbers of edges; the first of equal ones."""
        graph, s = self.graph, self.semiring
        tails, heads, weights = graph.edges(s, self.engine.dtype)
        every, rows, cols = np.arange(graph.edge_count), *(np.asarray(x) for x in (graph.rows, graph.cols))
        if is_boolean(s) and graph.weights is not None:  # their edges are those present
            every = every[present(graph.weights)]
        which = every if graph.directed else np.concatenate((every, every[rows[every] != cols[every]]))
        loss = -weights if s.add.selects == "greatest" and not dtypes.SCALARS[weights.dtype].boolean else weights
        order = np.lexsort((which, *(q[which] for q in reversed(list(self.quantities.values()))), loss, heads, tails))
        order = order[weights[order] != dtypes.zero(s, weights.dtype)]
        order = order[np.flatnonzero(np.diff(tails[order] * graph.n + heads[order], prepend=-1))]
        return np.searchsorted(tails[order], np.arange(graph.n + 1)), heads[order].astype(np.int32), which[order]

    def along(self, path: Sequence[int]) -> np.ndarray:
        """Numbers of the edges along a path of vertices."""
        starts, heads, which = self.arcs
        places = [starts[u] + np.searchsorted(heads[starts[u] : starts[u + 1]], v) for u, v in pairwise(path)]
        return which[np.array(places, np.int64)]

    def position(self, name: Any) -> int:
        """0 for the weight or None, 1 for the first quantity; ValueError for others."""
        names = [self.weight, *self.quantities]
        if name is not None and name not in names:
            hint = did_you_mean(str(name), list(map(str, names)))
            raise ValueError(f"of: it must be one of {', '.join(map(came, names))}, got {came(name)}.{hint}")
        return 0 if name is None else names.index(name)

    def of(self, r: Result, k: int, *, shown: bool = False) -> Result:
        """The result r with the quantity at a position for its weight, in float64 where it is `shown` so, and exact."""
        word = self.words[k] if k < len(self.words) else None
        exact = word is not None and (self.engine.dtype != np.int64 or (word.bits or WIDE - word.shift) <= 53)
        floats = shown and exact
        if not (k or floats):
            return r
        if word is None:
            values = list(self.quantities.values())[k - 1]
            ends = () if values.dtype.kind == "f" else dtypes.hull(values, ())
            most = self.graph.n * max((abs(float(x)) for x in ends), default=0.0)
            if most >= 2.0**63 or (shown and most < 2.0**53):
                values = values.astype(np.float64, copy=False)
            i, j = (np.arange(size) for size in r.engine.shape)
            every = Summed(r, self, values)
            engine: Engine = every if r._all_pairs else Part(every, r._in_graph(r.sources, i), r._ends(j))
        else:
            engine = Unpacked(self.engine, replace(word, dtype=np.dtype(np.float64)) if floats else word)
        return replace(r, engine=engine, semiring=get("min_plus"), along=None)


def carried(
    question: Question, told: Weighed | Along, turned: Expansion | None, before: Result | None = None
) -> tuple[Answer, Along]:
    """The answer to a question, with quantities told by edge along its paths; `before` is that of other weights.

    Raises as `carrying`.
    """
    quantities = {name: x if turned is None else turned.along(x) for name, x in told.given.items()}
    s, limit = question.semiring, question.wants.limit
    packing = carrying(question, told.weight, quantities, told.ordered)
    posed, words, note = packing.asked, packing.words, packing.note
    start, was, renewed = perf_counter(), before and before.along, None
    try:
        same = was and words == was.words and weighted(posed.graph) == weighted(was.graph)
        if was and words and same and posed.graph.rows is was.graph.rows:  # turns may have other copies
            renewed = was.engine.renewed(posed.graph, was.graph, s)
        found = Answer(renewed, before.plan, perf_counter() - start) if before and renewed else answer(posed)
    except DivergenceError:
        answer(question)  # names the cycle by its weights
        raise
    plan = replace(found.plan, reason=found.plan.reason.removesuffix(note) + note)
    along = Along(told.weight, quantities, told.ordered, s, words, posed.graph, found.engine, told.given)
    engine = Unpacked(found.engine, words[0], None if limit is None else as_limit(limit)) if words else found.engine
    return Answer(engine, plan, found.seconds), along
