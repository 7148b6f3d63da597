"""Reachability after edges are added or removed: rows of bits united, or the components closed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra.catalog import lor_land
from semiring.dense.bits import BitMatrix
from semiring.host.errors import DomainError
from semiring.host.spelling import came
from semiring.host.types import Array, Label

from ...io.graph import Graph
from ...io.graph.entries import present
from ...road.engines.condensation import Condensation
from ...road.engines.packed import Packed
from ...road.question import Question
from ...road.road import answer
from ...road.wants import Wants
from ..result.reweighting import changes_of, reweighted

if TYPE_CHECKING:
    from .reachability import Reachability


def updated(t: Reachability, graph: Graph, changes: Mapping[tuple[Label, Label], Any]) -> Reachability:
    """The answer for its `graph` after changes {(u, v): whether there is an edge}."""
    start = perf_counter()
    if not isinstance(changes, Mapping):
        raise TypeError(f"update: changes must be {{(u, v): True or False}}, got {came(changes)}.")
    for ends, kept in changes.items():
        if not isinstance(kept, (np.generic, int, float)) or kept not in (0, 1):
            raise DomainError(
                "update: {(u, v): True or False} must say whether there is an edge, got "
                f"{came(kept)} for {came(ends)}. Weights change by Result.update."
            )
    there = np.array(list(changes.values()), bool)
    weights = dict(zip(changes, there.astype(int).tolist(), strict=True))
    tails, heads, _ = changes_of(graph, weights)
    if graph.dense is None:
        after = _listed(graph, tails, heads, there)
    else:
        after = reweighted(graph, weights, lor_land)
    if not graph.directed:
        tails, heads = np.append(tails, heads), np.append(heads, tails)
    c, closed = t.condensation, t.closed
    if not there.all():
        found = _closed(after, t.plan.engine)
    elif isinstance(closed, BitMatrix) and c.count == t.n and not len(c.tails):
        found = _unite(c, closed, tails, heads)
    else:
        found = _condensed(t, tails, heads)
    reason = f"{t.plan.reason.partition('; updated')[0]}; updated by {len(changes)} edges"
    plan, seconds = replace(t.plan, reason=reason), perf_counter() - start
    return replace(t, condensation=found[0], closed=found[1], graph=after, plan=plan, seconds=seconds)


def _unite(c: Condensation, closed: BitMatrix, tails: np.ndarray, heads: np.ndarray) -> tuple[Condensation, Array]:
    """Bits of all vertices after edges are added: what reaches a tail reaches all that its head does."""
    bits, cyclic = BitMatrix(closed.words.copy(), closed.shape), c.cyclic.copy()
    for i, j in zip(tails.tolist(), heads.tolist(), strict=True):
        if not bits[i, j]:
            bits.words[bits.column(i)] |= bits.words[j]
        if bits[j, i]:
            cyclic |= bits.rows(j) & bits.column(i)
    return replace(c, cyclic=cyclic), bits


def _condensed(t: Reachability, tails: np.ndarray, heads: np.ndarray) -> tuple[Condensation, Array]:
    """Components after edges are added, and their closure: as it was if it implies them, else that of the new arcs."""
    c, cyclic = t.condensation, t.condensation.cyclic.copy()
    cyclic[c.component[tails[tails == heads]]] = True
    a, b = c.component[tails], c.component[heads]
    if np.all(t.closed[a, b]):
        return replace(c, cyclic=cyclic), t.closed
    graph = Graph.from_arrays(np.append(c.tails, a), np.append(c.heads, b), n=c.count)
    d, closed = _closed(graph, "united" if isinstance(t.closed, BitMatrix) else "indexed")
    sizes = np.bincount(d.component, c.sizes, d.count).astype(np.int32)
    joined = sizes > 1
    joined[d.component[cyclic]] = True
    return Condensation(d.component[c.component], sizes, joined, d.tails, d.heads), closed


def _closed(graph: Graph, engine: str) -> tuple[Condensation, Array]:
    found = answer(Question(graph, lor_land, Wants.of(where="update", engine=engine, packed=True))).engine
    assert isinstance(found, Packed)
    return found.condensation, found.closed


def _listed(graph: Graph, tails: np.ndarray, heads: np.ndarray, there: np.ndarray) -> Graph:
    """The graph of a list with new edges, which weigh 1, and without those removed and their parallel ones."""
    (rows, cols), weights = graph.ends, graph.weights

    def codes(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (u if graph.directed else np.minimum(u, v)) * graph.n + (v if graph.directed else np.maximum(u, v))

    old, changed = codes(rows, cols), codes(tails, heads)
    real = old if weights is None else old[present(weights)]
    kept, new = ~np.isin(old, changed[~there]), there & ~np.isin(changed, real[np.isin(real, changed)])
    rows, cols = (np.append(x[kept], ends[new]) for x, ends in ((rows, tails), (cols, heads)))
    if weights is not None:
        weights = np.append(weights[kept], np.ones(new.sum(), weights.dtype))
    return replace(graph, rows=rows, cols=cols, weights=weights)
