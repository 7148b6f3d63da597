"""New weights of the same edges, and new turns: traffic, closed roads, what-if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra.catalog import min_plus
from semiring.algebra.conversion import conform, with_ends
from semiring.algebra.ranges import positions
from semiring.algebra.records import Semiring
from semiring.dense.changes import put
from semiring.host.errors import ShapeError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Array, Edges, Scalar
from semiring.kernels.backend import cuda_available
from semiring.kernels.observed import Callback

from ...io.expansion import Expansion, expand
from ...io.graph import Graph
from ...io.graph.edge_lists import numbers, refuse_nan, refuse_reordered
from ...io.graph.reweighted import Reweighted, weighted
from ...io.turns import turns_of
from ...road.engines import Engine
from ...road.engines.stored import Saved, Stored
from ...road.log import PATIENCE
from ...road.question import Question
from ...road.road import answer
from ...road.turned import over_copies
from ...road.wants import Wants
from .along import carried

if TYPE_CHECKING:
    from . import Result

#: Maximum number of changes applied one by one.
FEW = 256


def updated(r: Result, weights: Array, turns: Any, callback: Callback | None) -> Result:
    """The result for new weights, by a mapping or all, and turns; None leaves them as they are."""
    start, a = perf_counter(), r.along
    if turns is not None and r.ties_within:
        raise ValueError("update: turns must come without ties_within, got both. Say r.tied(0).update(turns=…).")
    if r.semiring.boolean and isinstance(weights, Mapping):
        weights = {ends: _truth(w, np.inf if r.graph.dense is None else 0) for ends, w in weights.items()}
    plain = a is None and r.turned is None and turns is None
    few = changed(r.graph, r.engine, weights) if plain and isinstance(weights, Mapping) else None
    if few is not None:
        made = replace(r, engine=few[0], graph=few[1], seconds=perf_counter() - start)
        if getattr(made.engine, "hubs", None) is not None:
            made.distance(*next(iter(weights)))  # warm up: writing the labels evicted the query code from caches
        return made
    graph = r.graph if weights is None and turns is not None else reweighted(r.graph, weights, r.semiring)
    turned = _turned(r, graph, turns)
    new, old = graph if turned is None else turned.graph, r._walked
    quick = a is None and callback is None and (r.engine.in_memory or r.plan.seconds < PATIENCE)
    if quick and weighted(new) == weighted(old) and (turned is None or new.rows is old.rows):
        engine = (turned and _changed(r.engine, new, old)) or r.engine.renewed(new, old, r.semiring)
        if engine is not None:
            plan, seconds = replace(r.plan, reason=engine.updated or r.plan.reason), perf_counter() - start
            return replace(r, engine=engine, graph=graph, plan=plan, seconds=seconds, turned=turned)
    ask = partial(asked_anew, r, graph, turned, callback)
    found, along = carried(ask(), a, turned, r) if a else (answer(ask()), None)
    plan = replace(found.plan, reason=f"{found.plan.reason}; all computed anew")
    return replace(r, engine=found.engine, graph=graph, plan=plan, seconds=found.seconds, along=along, turned=turned)


def _truth(weight: Scalar, absent: float) -> Scalar:
    """A truth value as a weight: False, 0 and infinities close the edge; NaN and no numbers stay, and are refused."""
    if weight in (0, np.inf, -np.inf):
        return absent
    return 1 if weight == 1 or (isinstance(weight, Real) and weight == weight) else weight


def reweighted(graph: Graph, weights: Array, semiring: Semiring) -> Graph:
    """The graph with one weight per listed edge, or by a mapping with some changed; of a matrix, by a mapping.

    ShapeError for a wrong number of weights; VertexError for a missing edge; DTypeError or DomainError for non-numbers,
    or old weights inexact in a float64 that new ones need.

    >>> from semiring import min_plus
    >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
    >>> reweighted(g, {("B", "C"): 9}, min_plus).weights
    array([4, 9])
    """
    if graph.rows is None or graph.cols is None:
        return _with_entries(graph, weights, semiring)
    values = _of_mapping(graph, weights) if isinstance(weights, Mapping) else weights
    if (shape := np.shape(values)) != (len(graph.rows),):
        raise ShapeError(
            f"update: there must be one weight an edge, shape ({len(graph.rows)},), got {shape}. "
            "Pass {(u, v): weight} to change some."
        )
    way = "x.sort_index(), x.to_numpy() if it is theirs, or, by the ends of edges, dict(x)"
    refuse_reordered(values, "update: weights must come in the order of graph.rows", way)
    found = numbers(values)
    refuse_nan(found, graph.rows, graph.cols, graph.labels)
    return replace(graph, weights=found)


def asked_anew(r: Result, graph: Graph, turned: Expansion | None, callback: Callback | None) -> Question:
    """The question that a result answers, of a reweighted graph, or of copies of its vertices."""
    names = r.graph.labels
    i, j = (None if part is names else names.positions(list(part)) for part in (r.sources, r.targets))
    available = r.plan.device == "cpu" or cuda_available()  # a result of a GPU may have been loaded elsewhere
    engine = r.along.engine if r.along else r.engine
    like = None if isinstance(engine, (Saved, Stored)) else engine.all_pairs
    own, new = (g.target(r.semiring) for g in (r._walked, graph if turned is None else turned.graph))
    proven = graph.rows is not None and r.dtype == np.int32 and np.int64 in (own, new)
    natural = getattr(like, "narrowed", False) or r.dtype == own or proven
    # A table says nothing of what computed it, which may not suit other lengths.
    same = like is not None and like.renews and (not like.stored or like.name == r.plan.engine)
    # A matrix, and a list over truth values, may have other arcs now, and turns other copies.
    kept = r.along is None and graph.rows is not None and not r.semiring.boolean
    kept &= turned is None or (r.turned is not None and turned.graph.rows is r.turned.graph.rows)
    wants = Wants.of(
        callback=callback, threads=getattr(like, "threads", None), dtype=None if natural else r.dtype,
        device=r.plan.device if available else None, sources=i, targets=j, limit=r.engine.limit,
        like=like if kept else None, engine=like.name if like is not None and same else "auto",
        hub_labels=getattr(like, "hubs", None) is not None,
    )  # fmt: skip
    if turned is not None:
        graph, wants = turned.graph, over_copies(wants, turned)
    return Question(graph, r.semiring, wants)


def _with_entries(graph: Graph, weights: Array, s: Semiring) -> Graph:
    """The graph of a matrix with some entries changed, as a matrix over the semiring."""
    if not isinstance(weights, Mapping):
        raise ShapeError(
            f"update: a matrix must have a mapping {{(u, v): weight}} of what changes, got {came(weights)}. For all "
            "new weights, pass the new matrix to shortest_paths."
        )
    tails, heads, new = changes_of(graph, weights)
    refuse_nan(new, tails, heads, graph.labels)
    A = graph.matrix(s)
    fits = s.boolean or np.can_cast(new.dtype, A.dtype, "same_kind") or not np.isfinite(new).any()
    A = (A if fits else conform(A, s, np.result_type(A.dtype, new.dtype), where="update")).copy()
    values = conform(new, s, A.dtype, where="update").tolist()
    for i, j in ((tails, heads), (heads, tails))[: 1 if graph.directed else 2]:
        put(A, dict(zip(zip(i.tolist(), j.tolist(), strict=True), values, strict=True)))
    return replace(graph, dense=A, unit=False, nulls=())


def changed(graph: Graph, engine: Engine, weights: Mapping[Any, Scalar]) -> tuple[Engine, Graph] | None:
    """Engine and graph after changing few edges, or None to recompute; raises as `reweighted`."""
    if weighted(graph) is None or not 0 < len(weights) <= FEW:
        return None
    tails, heads, new = changes_of(graph, weights)
    if new.dtype != weighted(graph) or (new.dtype.kind == "f" and np.isnan(new).any()):
        return None
    found = engine.changed(graph, tails, heads, new)
    if found is None:
        return None
    made, edges, values = found
    return made, Reweighted.of(graph, edges, values)


def changes_of(graph: Graph, weights: Mapping[Any, Scalar]) -> Edges:
    """Positions of both ends, and weights (in the graph's dtype if exact)."""
    ends = list(weights)
    for pair in ends:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise VertexError(f"update: a mapping must lead from edges (u, v) to weights, got the key {came(pair)}.")
        back = weights[pair] if graph.directed else weights.get(pair[::-1], weights[pair])
        if back is not weights[pair] and np.all(back != weights[pair]) and np.all(back == back):  # NaN: below
            raise ShapeError(
                f"update: an edge must have one weight, which leads both ways here, got {came(weights[pair])} for "
                f"{came(pair)} and {came(back)} for {came(pair[::-1])}. Leave one of them out."
            )
    tails, heads = (graph.labels.positions([pair[side] for pair in ends]) for side in (0, 1))
    values, floats = list(weights.values()), weighted(graph) == np.float64
    new = numbers(values).astype(np.float64) if floats else with_ends(values, numbers)
    return tails, heads, new


def _of_mapping(graph: Graph, weights: Mapping[Any, Scalar]) -> np.ndarray:
    """All weights, with those of the mapping replaced."""
    rows, cols = graph.ends
    old = np.ones(len(rows), np.int64) if graph.weights is None else graph.weights
    if not weights:
        return old
    ends = list(weights)
    tails, heads, new = changes_of(graph, weights)
    ways = [tails * graph.n + heads] if graph.directed else [tails * graph.n + heads, heads * graph.n + tails]
    wanted = np.stack(ways, axis=1)
    code = rows * graph.n + cols
    order = np.argsort(code, kind="stable")
    first, last = (np.searchsorted(code[order], wanted, side) for side in ("left", "right"))
    count = last - first  # parallel edges all get the weight
    if (missing := count.sum(axis=1) == 0).any():
        missing_edge = ends[int(missing.argmax())]
        raise VertexError(
            f"update: an edge must be one of the graph's, got {came(missing_edge)}. List it as the graph is made, of "
            "weight inf until it is updated."
        )
    count, first = count.ravel(), first.ravel()
    if new.dtype.kind == "f":
        old = conform(old, min_plus, np.float64, where="update: weights next to a fraction or inf")
    values = old.astype(np.result_type(old, new))
    values[order[positions(first, count)]] = np.repeat(np.repeat(new, len(ways)), count)
    return values


def _turned(r: Result, graph: Graph, turns: Any) -> Expansion | None:
    """The copies for new weights, and for turns that change."""
    known = r.turned
    if turns is None:
        return None if known is None else known.of(graph, r.semiring)
    new = turns_of(turns, graph)
    made = expand(graph, new if known is None else known.turns.followed_by(new), r.semiring)
    same = known is not None and all(
        np.array_equal(*(getattr(x, side) for x in (made.graph, known.graph))) for side in ("rows", "cols")
    )  # then an elimination keeps its structure
    return replace(made, graph=replace(made.graph, rows=known.graph.rows)) if same and known else made


def _changed(engine: Engine, new: Graph, old: Graph) -> Engine | None:
    """The engine after few arcs of the copies weigh something else; None to find new numbers for all."""
    assert new.weights is not None
    differ = new.weights != old.weights
    if not 0 < (count := np.count_nonzero(differ)) <= FEW:
        return None if count else engine
    arcs = np.flatnonzero(differ)
    found = engine.changed(old, *(np.asarray(x)[arcs] for x in (old.rows, old.cols, new.weights)))
    return found[0] if found is not None and np.array_equal(np.sort(found[1]), arcs) else None
