"""Counts of pairs, and the transitive reduction, of a `Reachability`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from semiring.dense.bits import BitMatrix
from semiring.sparse.reach import ReachIndex
from semiring.stores.tiles import StoredBits

from ...io.graph import Graph
from ...road.engines.condensation import FEW
from ...road.estimates import in_units, uniting

if TYPE_CHECKING:
    from .reachability import Reachability

#: Predicted seconds from which counts of an index are refused.
PATIENCE = 60


def counts(t: Reachability, axis: int) -> np.ndarray:
    """See `Reachability.counts`."""
    c = t.condensation
    reached, others = np.zeros(c.count, np.int64), c.sizes.astype(np.int64) - 1  # a component counts as one vertex
    for columns, bits in _strips(t):
        rows = slice(c.count - len(bits), c.count)
        reached[rows if axis else columns] += bits.counts(axis=axis)
        if axis and (large := np.flatnonzero(others[columns])).size:
            more = others[columns][large]
            reached[rows] += np.concatenate([dense[:, large] @ more for dense in dense_rows(bits)])
        elif not axis:
            for k in np.flatnonzero(others[rows]).tolist():
                reached[columns] += bits.rows(k) * others[rows][k]
    if not t.reflexive:
        reached = reached - ~c.cyclic
    return reached[c.component]


def _strips(t: Reachability) -> Iterator[tuple[slice, BitMatrix | StoredBits]]:
    """The components' closure by columns; of few, all. Rows end with the last one."""
    if not isinstance(t.closed, ReachIndex):
        yield slice(0, len(t.closed)), t.closed
        return
    seconds = uniting(max(t.closed.shape[0], len(t.closed.tails)) * t.closed.shape[0])
    if seconds > PATIENCE:
        raise ValueError(
            f"counts: rows must be united within {PATIENCE} s, got {t.closed.shape[0]} components, for which "
            f"{in_units(seconds)} are predicted. Ask len(t.descendants(u)), len(t.ancestors(u)) of some vertices."
        )
    yield from t.closed.strips()


def reduction(t: Reachability) -> Graph:
    """See `Reachability.reduction`."""
    component = t._classes
    first = np.full(t.component_count, t.n)
    np.minimum.at(first, component, np.arange(t.n))
    c, index = t.condensation, t.closed
    if 0 < len(c.tails) <= FEW * c.count and not isinstance(index, ReachIndex):
        index = ReachIndex(c.count, c.tails, c.heads, c.sizes)
    if isinstance(index, ReachIndex):
        tails, heads = index.reduction()
    else:
        strict = _strict(t, first, component)
        tails, heads = (strict & ~(strict @ strict)).to_edges()  # R − R ⊗ R
    rows, cols = [first[tails]], [first[heads]]
    members = np.argsort(component, kind="stable")
    own = component[members]
    start, last = np.searchsorted(own, own), np.append(own[1:], -1) != own
    following = members[np.where(last, start, np.arange(1, t.n + 1) % max(1, t.n))]
    ring = c.cyclic[c.component[members]] & ((following != members) | (not t.reflexive))
    rows.append(members[ring])
    cols.append(following[ring])
    return Graph.from_arrays(np.concatenate(rows), np.concatenate(cols), n=t.n, labels=t.labels)


def _strict(t: Reachability, first: np.ndarray, component: np.ndarray) -> BitMatrix:
    """The irreflexive reachability of classes."""
    c = t.condensation
    if len(first) == c.count and (component == c.component).all():
        strict = t._bits.copy()
    else:
        components = c.component[first]
        parts = [t.closed.rows(components[k : k + 4096])[:, components] for k in range(0, len(components), 4096)]
        strict = BitMatrix.from_bool(np.concatenate(parts))
    strict.set_diagonal(False)
    return strict


def dense_rows(matrix: BitMatrix | StoredBits) -> Iterator[np.ndarray]:
    """Rows as bool arrays, about 1 MiB at a time: int64 sums take eight times as much."""
    height = max(1, (1 << 20) // max(matrix.shape[1], 1))
    for start in range(0, len(matrix), height):
        yield matrix.rows(slice(start, start + height))
