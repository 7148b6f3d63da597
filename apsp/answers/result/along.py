"""Quantities added up along best paths: metres of the fastest way, fewest changes of the quickest (docs/along.md).

Where a bound shows that all of it fits, a weight w and quantities q ≥ 0 are packed into one length, w · 2ᵏ + q: every
engine answers for both at once, and its best path is the best by weight, of those the best by the first quantity, and
so on. Other quantities are added up along predecessors, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.units import exact
from semiring.dense.cycles import Lengths
from semiring.dense.routes import lengths
from semiring.host.devices import host, module, to_device
from semiring.host.errors import DivergenceError, DomainError
from semiring.host.memory import require
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Array, Blocks, Fields, Function, Label, Scalar
from semiring.kernels.backend import device_of
from semiring.sparse.cycles import Weighted

from ...io.graph import Graph
from ...io.graph.entries import is_boolean, present
from ...io.graph.reweighted import weighted
from ...road import engines
from ...road.engines.base import Engine, placed
from ...road.engines.part import Limit, Part, as_limit
from ...road.question import Question
from ...road.road import Answer, answer
from .walked import FEW, paths_of

if TYPE_CHECKING:
    from . import Result

#: Bits of packed lengths: in a float64, where predecessors compare exactly, within 4 eps; in an int64.
NARROW, FLOAT, WIDE = 31, 50, 62
#: Entries unpacked at a time, within a core's cache.
TOGETHER = 1 << 15


@dataclass(frozen=True)
class Word:
    """A quantity in a packed length: multiples of `unit`, a quotient, in `bits` above `shift`, or in all above."""

    shift: int
    bits: int
    unit: tuple[float, int]
    dtype: np.dtype

    def __call__(self, D: Array) -> Array:
        """The quantity, in its dtype, its ∞ for no path."""
        xp = module(D)
        out = xp.empty(D.shape, self.dtype)
        with np.errstate(invalid="ignore"):
            for part in dtypes.chunks(D.shape, TOGETHER if xp is np else max(1, D.size)):
                out[part] = self._of(D[part], xp)
        return out

    def _of(self, D: Array, xp: ModuleType) -> Array:
        none, x = D == _no_path(D.dtype), D.astype(np.int64, copy=False) >> self.shift
        x = self._scaled(x & ((1 << self.bits) - 1) if self.bits else x)
        return xp.where(none, _no_path(self.dtype), x.astype(self.dtype, copy=False))

    def entry(self, x: Array) -> Scalar:
        """The quantity in one entry, as `__call__`."""
        if x == _no_path(x.dtype):
            return _no_path(self.dtype)
        value = int(x) >> self.shift
        return self.dtype.type(self._scaled(value & ((1 << self.bits) - 1) if self.bits else value))

    def _scaled(self, x: Array) -> Scalar:
        x = x * self.unit[0] if self.unit[0] != 1 else x
        return x / self.unit[1] if self.unit[1] != 1 else x


def _word_of(name: str) -> Function:
    return lambda self, *place: self.word(getattr(self.engine, name)(*place))


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

    column, entries, block, table = map(_word_of, ("column", "entries", "block", "table"))
    rows, panels = map(_words_of, ("rows", "panels"))

    def entry(self, i: int, j: int) -> Scalar:
        return self.word.entry(self.engine.entry(i, j))

    def reduced(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        return self.engine.reduced(lambda panel: of(self.word(panel)), columns=columns, **share)

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        found = self.engine.nearest(wanted, towards=towards)
        return None if found is None else (found[0], self.word(found[1]))


class Summed(Engine):
    """A quantity added up along the predecessors of a result."""

    def __init__(self, r: Result, along: Along, values: np.ndarray) -> None:
        self.trees, self.weighed, self.along = r._trees, r.engine.all_pairs, along
        self.values, self.dtype = values, values.dtype
        self.shape, self.arcs = (self.trees.graph.n,) * 2, None
        if r.graph.dense is None:
            starts, heads, which = along.arcs
            self.arcs = starts, heads, values[which]
        self.within = None if r.engine.limit is None else Limit(r.engine.limit, r.semiring, r.dtype)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        trees = self.trees
        whole = trees.complete or (trees.engine.in_memory and 8 * len(wanted) >= trees.graph.n)
        for here, D in placed(trees.engine.rows(wanted, block)):
            sources = wanted[here]
            P = host(trees.predecessors)[sources] if whole else trees.of(sources, D)
            matrix = self.values if self.arcs is None else None
            L = lengths(get("min_plus"), P, sources, self.dtype, A=matrix, edges=self.arcs)
            if self.within is not None:
                near = self.weighed.block(sources, np.arange(trees.graph.n))
                L[self.within(near) != near] = _no_path(self.dtype)
            yield sources, L

    def column(self, j: int) -> np.ndarray:
        return self.block(np.arange(self.shape[0]), np.array([j]))[:, 0]

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Rows, one block after the other: a column depends on every row."""
        out = np.empty((len(i), len(j)), self.dtype)
        for here, D in placed(self.rows(i)):
            np.take(D, j, axis=1, out=out[here], mode="clip")
        return out

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Few along single paths, many by rows."""
        if i.size > FEW:
            return super().entries(i, j)
        vertices, starts = paths_of(self.trees, i.ravel(), j.ravel())
        out = np.full(i.shape, _no_path(self.dtype), self.dtype)
        for place, path in zip(np.ndindex(i.shape), np.split(vertices, starts[1:-1]), strict=True):
            if len(path):
                edges = (path[:-1], path[1:]) if self.arcs is None else self.along.along(path.tolist())
                out[place] = sum(self.values[edges], self.dtype.type(0))
        if self.within is not None:
            near = self.weighed.entries(i, j)
            out[self.within(near) != near] = _no_path(self.dtype)
        return out


@dataclass(frozen=True)
class Along:
    """Quantities along the paths of a result, by name, a number an edge; the first `ordered` break ties.

    `weight` names the weight. `words` are of the weight and of the packed quantities, of the lengths of `graph` that
    `engine` found; empty where none is packed.
    """

    weight: str
    quantities: Mapping[str, np.ndarray]
    ordered: int
    semiring: Semiring
    words: tuple[Word, ...]
    graph: Graph
    engine: Engine

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        ranges = ((starts[tail], starts[tail + 1], head) for tail, head in pairwise(path))
        places = [start + np.searchsorted(heads[start:stop], head) for start, stop, head in ranges]
        return which[np.array(places, np.int64)]

    def of(self, r: Result, name: Any, *, shown: bool = False) -> Result:
        """The result r with a quantity in the place of the weight, in float64 where it is `shown` so, and exact."""
        names = [self.weight, *self.quantities]
        k = 0 if name is None else names.index(name) if name in names else -1
        if k < 0:
            hint = did_you_mean(str(name), list(map(str, names)))
            raise ValueError(f"of: it must be one of {', '.join(map(came, names))}, got {came(name)}.{hint}")
        floats = shown and dtypes.SCALARS[self.engine.dtype].floating
        word = self.words[k] if k < len(self.words) else None
        if not k and (word is None or not floats):
            return r
        if word is None:
            i, j = (np.arange(size) for size in r.engine.shape)
            engine: Engine = Part(Summed(r, self, self.quantities[name]), r._in_graph(r.sources, i), r._ends(j))
        else:
            engine = Unpacked(self.engine, replace(word, dtype=np.dtype(np.float64)) if floats else word)
        return replace(r, engine=engine, semiring=get("min_plus"), along=None)


def carried(
    question: Question, weight: str, quantities: Mapping[str, np.ndarray], ordered: int, before: Result | None = None
) -> tuple[Answer, Along]:
    """The answer to a question, with quantities along its paths; `before` is the result of other weights.

    Raises DomainError if the `ordered` quantities, which break ties, cannot be packed.
    """
    if weight in quantities:
        raise ValueError(f"along: a quantity must have another name than the weight, got {came(weight)} for both.")
    names, limit, why, posed = list(quantities), question.wants.limit, "", question
    words: tuple[Word, ...] = ()
    for count in range(len(names), max(ordered, 1) - 1, -1):
        try:
            posed, words = packed(question, {name: quantities[name] for name in names[:count]}, weight)
            break
        except DomainError as error:
            if count == ordered:
                raise
            why = str(error)
    start, was, renewed = perf_counter(), before and before.along, None
    try:
        same = was and words == was.words and weighted(posed.graph) == weighted(was.graph)
        if was and words and same and posed.graph.rows is was.graph.rows:  # turns may have other copies
            renewed = was.engine.renewed(posed.graph, was.graph, question.semiring)
        found = Answer(renewed, before.plan, perf_counter() - start) if before and renewed else answer(posed)
    except DivergenceError:
        answer(question)  # names the cycle by its weights
        raise
    cut = max(0, len(words) - 1)
    note = f"; lengths carry {', '.join(map(str, names[:cut]))} in {words[0].shift} bits" if words else ""
    note += f"; {', '.join(map(str, names[cut:]))} along predecessors: {why.removeprefix('along: ')}" if why else ""
    plan = replace(found.plan, reason=found.plan.reason.removesuffix(note) + note)
    along = Along(weight, quantities, ordered, question.semiring, words, posed.graph, found.engine)
    engine = Unpacked(found.engine, words[0], None if limit is None else as_limit(limit)) if words else found.engine
    return Answer(engine, plan, found.seconds), along


def packed(question: Question, quantities: Mapping[str, Any], weight: str) -> tuple[Question, tuple[Word, ...]]:
    """The question of packed lengths, and their words; DomainError, with the reason, if they do not fit."""
    graph, s, wants, n = question.graph, question.semiring, question.wants, question.graph.n
    if (sums := Lengths.of(s)) is None or sums.logarithmic or sums.sign < 0:
        raise DomainError(f"along: packed lengths must be sums, with ⊕ = min, got {s.name}.")
    if wants.limits is not None or wants.on_negative_cycle != "raise" or graph.windows(s) is not None:
        raise DomainError("along: memory=, checkpoint=, output=, on_negative_cycle= and a matrix on disk go unpacked.")
    own = graph.target(s, wants.dtype)
    if own.itemsize < 8 and (wants.dtype is not None or dtypes.SCALARS[own].floating):
        raise DomainError(f"along: packed lengths need 64 bits, got {own}.")
    which: Any = slice(None)
    every, complete = graph.weights, False
    if graph.dense is not None:
        require(8 * (8 + 2 * len(quantities)) * n * n, where="along", hint="Pass the graph as a list of edges.")
        every = host(graph.matrix(s, wants.dtype))
        which = there = every != dtypes.zero(s, every.dtype)
        complete = bool((which | np.eye(n, dtype=bool)).all())
        which = slice(None) if which.all() else which
    elif every is None:
        every = np.ones(graph.edge_count, np.int64)
    else:
        which = present(every)
    parts, units = zip(*(whole(x[which], n, name) for name, x in {weight: every, **quantities}.items()), strict=True)
    if few := [name for name, part in zip(quantities, parts[1:], strict=True) if part.min(initial=0) < 0]:
        raise DomainError(f"along: {came(few[0])} must be at least 0 to be packed, got {quantities[few[0]].min()}.")
    if complete and parts[0].min(initial=0) >= 0:  # no vertex is farther than its edge
        tops = [int(part.max(initial=0)) for part in parts]
        bounds = _closer([n * most for most in tops], parts, tops[0])
    else:
        ends = [np.asarray(x)[which] for x in (graph.rows, graph.cols)] if graph.dense is None else np.nonzero(there)
        bounds = _bounds(ends, parts, n, graph.directed)
    widths = [max(1, bound.bit_length()) for bound in bounds]
    shifts = list(accumulate(reversed(widths[1:]), initial=0))[::-1]
    top, heaviest = ((int(most) + 1) << shifts[0] for most in (bounds[0], np.abs(parts[0]).max(initial=0)))
    if max(top, heaviest) >> (FLOAT if wants.dtype is not None and dtypes.SCALARS[own].floating else WIDE):
        unit = 10.0 ** math.ceil(
            math.log10(units[0][0] / units[0][1] * 2.0 ** max(1, (max(top, heaviest) >> WIDE).bit_length()))
        )
        raise DomainError(
            f"along: {', '.join(map(came, (weight, *quantities)))} must fit {WIDE} bits of a length, got "
            f"{top.bit_length()}. Round {came(weight)} to multiples of {unit:g}."
        )
    floats = 1 << NARROW <= top < 1 << FLOAT
    total = parts[0] << shifts[0]
    for part, shift in zip(parts[1:], shifts[1:], strict=True):
        total += part << shift if shift else part
    packed = total.astype(np.float64) if floats else total
    if packed.shape != every.shape or isinstance(which, np.ndarray):
        packed = np.full(every.shape, np.inf if floats else np.iinfo(np.int64).max, packed.dtype)
        packed[which] = total
    kinds = [
        own if units[0] == (1, 1) and dtypes.SCALARS[own].integer else np.dtype(np.float64),
        *(q.dtype for q in quantities.values()),
    ]
    words = tuple(map(Word, shifts, [0, *widths[1:]], units, kinds))
    weights: Fields = {"weights": packed}
    if graph.dense is not None:
        weights = {"dense": to_device(packed, device_of(graph.dense)), "nulls": (), "unit": False}
    posed = Graph(**{name: getattr(graph, name) for name in Graph.__dataclass_fields__} | weights)
    limit = wants.limit
    if limit is not None and math.isfinite(bound := as_limit(limit)):
        most = math.floor(bound * units[0][1] / units[0][0]) + 1
        most -= sum((most - k) * units[0][0] / units[0][1] > bound for k in range(2))
        limit = ((most + 1) << shifts[0]) - 1
    asked = Question(posed, s, replace(wants, dtype=None, limit=limit, like=None))
    if wants.engine in engines.names() and (no := engines.get(wants.engine).refuses(asked)):
        raise DomainError(f"along: engine={came(wants.engine)} {no}.")
    return asked, words


def _bounds(ends: Sequence[Label], parts: tuple[np.ndarray, ...], n: int, directed: bool) -> list[int]:
    """Bounds on the sums of weights, and of quantities, along a best path: the largest on an edge from each vertex."""
    ways = 1 if directed else 2
    both = [np.concatenate((x, y)[:ways]) for x, y in (ends, ends[::-1])]
    arcs = [Weighted(both[0], both[1], np.tile(part.ravel(), ways), n, get("min_plus")) for part in parts]
    found = [int(x.longest) for x in arcs]
    return _closer(found, parts, arcs[0].farthest()[0]) if math.prod(x + 1 for x in found) >> FLOAT else found


def _closer(bounds: list[int], parts: tuple[np.ndarray, ...], far: float) -> list[int]:
    """Bounds from a diameter bound `far`: `far` times the largest rate per unit weight, plus all at zero weight."""
    if not math.isfinite(far):
        return bounds
    free, sums = parts[0] == 0, [math.ceil(far * (1 + 2.0**-40))]
    none = np.zeros(free.shape) if free.any() else None
    for part in parts[1:]:
        rates = part / parts[0] if none is None else np.divide(part, parts[0], out=none, where=~free)
        sums.append(math.ceil(rates.max(initial=0) * far * (1 + 2.0**-40)) + int(part[free].sum()))
    return list(map(min, bounds, sums))


def whole(values: np.ndarray, n: int, name: Any) -> tuple[np.ndarray, tuple[float, int]]:
    """Values as int64 multiples of a unit, exactly, or of a decimal one; DomainError if they have none."""
    if values.dtype.kind in "bi":
        return values.astype(np.int64, copy=False), (1, 1)
    if np.isfinite(values).all():
        if (found := exact(values.ravel(), n)) is not None:
            most = np.abs(found).argmax() if len(found) else 0
            unit = float(values.ravel()[most] / found[most]) if found.any() else 1.0
            return found.astype(np.int64).reshape(values.shape), (unit, 1)
        for over in (10**k for k in range(1, 7)):
            units = np.rint(values * over)
            if (units / over == values).all() and np.abs(units).max() < 2.0**53:
                return units.astype(np.int64), (1, over)
    raise DomainError(
        f"along: {came(name)} must be multiples of a unit to be packed, got floats without one. Round it: x.round(3)."
    )


@cache
def _no_path(dtype: np.dtype) -> Scalar:
    return dtypes.zero(get("min_plus"), dtype)
