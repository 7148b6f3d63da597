"""A closure after some arcs of its matrix change: the entries that change alone, one arc after the other.

A better arc (u, v) of weight w: D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:], O(n²). A worse one: the entries that may have led over it
are counted, and computed anew (`semiring/kernels/cpu/routes/changed.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..host.devices import diagonal, module
from ..host.signals import load
from ..host.types import Array
from ..kernels.cpu.processors import default_threads
from .cycles import Lengths
from .product import multiplied

#: Share of the entries from which an update takes as long as a closure; of truth values, closed as bits.
SHARE, OF_BITS = 1 / 20, 1 / 1000
#: Time of a step between entries that begin anew, and of one from others (a vector of them), relative to SHARE's.
SETTLED, BEGUN = 8.0, 0.5

#: Weights of arcs by their ends.
Weights = Mapping[tuple[int, int], Any]


def put(A: Array, weights: Weights) -> None:
    """Entries of A ← weights."""
    if weights:
        i, j = module(A).asarray(list(weights)).T
        A[i, j] = module(A).asarray(list(weights.values()), A.dtype)


def follow(D: Array, A: Array, changes: Weights, s: Semiring, *, threads: int | None = None) -> int | None:
    """D ← the closure of A after `changes`, from that before; the number of entries computed anew. A stays.

    All in D's dtype, D C-contiguous. None, with D spoilt unless there is one change, if the matrix is to be closed
    anew: where that is cheaper, ⊕ does not select, sums might leave the integers, a cycle might beat `one`, or an arc
    gets worse on a GPU.
    """
    if s.add.selects is None or (_rounds(s, D.dtype) and Lengths.of(s) is None):
        return None
    better, done, left = s.add.python, 0, D.size * (OF_BITS if s.boolean else SHARE)
    old = {ends: A[ends].item() for ends in changes}
    for ends in (ends for ends, w in changes.items() if better(old[ends], w) != w):
        found = _worsened(D, A, {**old, ends: changes[ends]}, (*ends, old[ends]), s, left, threads)
        if found is None:
            return None
        old[ends], done, left = changes[ends], done + found, left - found
    for ends, w in changes.items():
        if old[ends] != w:
            found = _improved(D, (*ends, w), s)
            if found is None:
                return None
            done += found
    return done


def _rounds(s: Semiring, dtype: np.dtype) -> bool:
    return dtype.kind == "f" and s.mul.selects is None


def _longest(D: Array, arc: tuple[int, int, Any]) -> float:
    """A bound of walks over an arc."""
    u, v, w = arc
    return sum(dtypes.largest_finite(part) for part in (D[:, u], D[v], np.array([w], D.dtype)))


def _leaves(s: Semiring, dtype: np.dtype, longest: float) -> bool:
    return dtype.kind == "i" and s.mul.saturating and longest >= np.iinfo(dtype).max


def _improved(D: Array, arc: tuple[int, int, Any], s: Semiring) -> int | None:
    """The number of entries that improve by an arc; None, with D as before, if the matrix is to be closed anew."""
    (u, v, w), xp = arc, module(D)
    if _leaves(s, D.dtype, _longest(D, arc)):
        return None
    if isinstance(D, np.ndarray):
        found: int = load("semiring.kernels.cpu.routes.changed").Arc(s, D, *arc).gain()
        return None if found < 0 else found
    beats = operator.lt if s.add.selects == "least" else operator.gt
    over = multiplied(xp.ascontiguousarray(D[:, u : u + 1]), xp.full((1, 1), w, D.dtype), s)
    if bool(beats(over[v, 0], dtypes.one(s, D.dtype))):
        return None
    by = multiplied(over, D[v : v + 1], s)
    gains = beats(by, D)
    diagonal(gains)[...] = False
    D[...] = xp.where(gains, by, D)
    return int(gains.sum())


def _worsened(
    D: Array, A: Array, given: Weights, arc: tuple[int, int, Any], s: Semiring, left: float, threads: int | None
) -> int | None:
    """The number of entries computed anew, at most `left`, after an arc of this old weight got worse; None as above.

    `given` are entries that A has by now.
    """
    if arc[0] == arc[1]:
        return 0
    if not isinstance(D, np.ndarray):
        return None
    n, slack, floor = len(D), 0.0, 0.0
    if _rounds(s, D.dtype):  # up to n sums on the way, at most twice as long, are each rounded by eps / 2
        lengths, info = Lengths.required(s), np.finfo(D.dtype)
        slack, floor = 4 * n * float(info.eps), float(info.tiny) if lengths.logarithmic else _longest(D, arc)
    if s.boolean and np.count_nonzero(D[:, arc[0]]) * np.count_nonzero(D[arc[1]]) > left:
        return None
    over = load("semiring.kernels.cpu.routes.changed").Arc(s, D, *arc)
    cols, counts = over.affected(slack, floor)
    found, m = int(counts.sum()), len(cols)
    if not found:
        return 0
    if found + SETTLED * float((counts**2.0).sum()) / n + BEGUN * np.count_nonzero(counts) * m > left:
        return None
    edges, place = np.take(A, cols, axis=1), np.full(n, -1)
    place[cols] = np.arange(m)
    for (u, v), w in given.items():
        if place[v] >= 0:
            edges[u, place[v]] = w
    anew = over.repair(np.ascontiguousarray(edges), threads or default_threads())
    if anew is None:
        return None
    ways = dtypes.largest_finite(D[counts > 0]) if D.dtype.kind == "i" else 0.0
    if _leaves(s, D.dtype, max(ways, dtypes.largest_finite(anew[2])) + dtypes.largest_finite(edges)):
        return None
    D[anew[:2]] = anew[2]
    return found
