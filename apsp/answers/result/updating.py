"""The result for new weights or turns: only what changes is computed, where the engine can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.kernels.observed import Callback

from ...io.expansion import Expansion, expand
from ...io.graph import Graph
from ...io.graph.reweighted import weighted
from ...io.turns import turns_of
from ...road.engines import Engine
from ...road.log import PATIENCE
from ...road.road import answer
from .along import carried
from .reweighting import FEW, asked_anew, changed, reweighted

if TYPE_CHECKING:
    from . import Result


def updated(r: Result, weights: Any, turns: Any, callback: Callback | None) -> Result:
    """The result for new weights, by a mapping or all, and turns; None leaves them as they are."""
    start, a = perf_counter(), r.along
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
    found, along = carried(ask(), a.weight, _told(r, turned), a.ordered, r) if a else (answer(ask()), None)
    plan = replace(found.plan, reason=f"{found.plan.reason}; all computed anew")
    return replace(r, engine=found.engine, graph=graph, plan=plan, seconds=found.seconds, along=along, turned=turned)


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
    arcs = np.flatnonzero(new.weights != old.weights)
    if not 0 < len(arcs) <= FEW:
        return None if len(arcs) else engine
    found = engine.changed(old, *(np.asarray(x)[arcs] for x in (old.rows, old.cols, new.weights)))
    return found[0] if found is not None and np.array_equal(np.sort(found[1]), arcs) else None


def _told(r: Result, turned: Expansion | None) -> Mapping[str, np.ndarray]:
    """The quantities along the paths of a result, by arc of new copies."""
    assert r.along is not None
    return {
        name: x if turned is None else turned.along(x if r.turned is None else r.turned.by_edge(x, r.graph.edge_count))
        for name, x in r.along.quantities.items()
    }
