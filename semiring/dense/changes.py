"""A closure after some arcs of its matrix change: the entries that change alone, one arc after the other.

A better arc (u, v) of weight w: D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:], O(n²). A worse one: the entries that may have led over it
are counted, and computed anew (`changed.py` in `semiring/kernels/cpu/routes/` and `cuda/routes/`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from operator import call
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..host.devices import host, module
from ..host.memory import fits
from ..host.signals import load
from ..host.types import Array, Scalar
from ..kernels.backend import device_of
from ..kernels.cpu.processors import default_threads
from ..kernels.repair import Around, Repair
from .cycles import Lengths

#: Share of the entries from which an update takes as long as a closure; of truth values, closed as bits.
SHARE, OF_BITS = 1 / 20, 1 / 1000
#: Time of an arc that gets better, and of one that gets worse, without that of entries, relative to an entry's.
ARC = {"cpu": (256.0, 256.0), "cuda": (65536.0, 524288.0)}
#: Time of n pairs of a repair, likewise: twice that of a closure's; of its own closure, row by row, relative to these.
PAIR, ROW = 2 * SHARE, {"cpu": 8, "cuda": 18}
#: Entries read or written one by one; a repair is long from this part of what a closure takes on.
FEW, LONG = 4, 16

Ends = tuple[int, int]
#: Weights of arcs by their ends.
Weights = Mapping[Ends, Any]
#: What writes to D; −1 if it did not.
Step = Callable[[], int]


def put(A: Array, weights: Weights) -> None:
    """Entries of A ← weights."""
    if len(weights) <= FEW:
        for ends, weight in weights.items():
            A[ends] = weight
    else:
        i, j = module(A).asarray(list(weights)).T
        A[i, j] = module(A).asarray(list(weights.values()), A.dtype)


def follow(
    D: Array,
    A: Array,
    changes: Weights,
    s: Semiring,
    *,
    threads: int | None = None,
    write: Callable[[Step], int] = call,
    share: Callable[[], float] | None = None,
    seen: Around | None = None,
) -> int | None:
    """D ← the closure of A after `changes`, from that before; the number of entries computed anew. A stays.

    All in D's dtype, D C-contiguous; `write(step)` runs a step that writes to D; `share()` is the time of this closure
    over that of any of its size, asked before long repairs; `seen` is the one change, if it was looked at. None, with D
    spoilt unless there is one change, if the matrix is to be closed anew: where that is cheaper or memory is short, ⊕
    does not select, sums might leave the integers, or a cycle might beat `one`.
    """
    if s.add.selects is None or (dtypes.SCALARS[D.dtype].floating and s.mul.selects is None and Lengths.of(s) is None):
        return None
    table = _Table(D, A, s, changes, threads, write, share, seen)
    old = _entries(A, list(changes)) if seen is None else dict.fromkeys(changes, seen.weight)
    worse = {ends: w for ends, w in changes.items() if old[ends] != w and s.add.python(old[ends], w) != w}
    if (len(changes) - len(worse)) * table.arc[0] + len(worse) * table.arc[1] > table.left:
        return None  # a closure takes less time
    steps = [partial(table.worsen, A, old, ends, w) for ends, w in worse.items()]
    steps += [partial(table.improve, *ends, w) for ends, w in changes.items() if ends not in worse]
    return table.found if all(step() for step in steps) else None


class _Table:
    """A closure that follows changes; steps return whether they did, else leave it as it was."""

    def __init__(
        self, D: Array, A: Array, s: Semiring, changes: Weights, threads: int | None, write: Callable[[Step], int],
        share: Callable[[], float] | None, seen: Around | None,
    ) -> None:  # fmt: skip
        self.D, self.s, self.n, self.found, self.slack, self.write, self.share = D, s, len(D), 0, 0.0, write, share
        self.A, self.changes, self.zero, self.seen = A, changes, dtypes.zero(s, D.dtype), seen
        self.threads = threads or default_threads()
        self.device = device_of(D)
        self.arc, self.left = ARC[self.device], D.size * (OF_BITS if s.boolean else SHARE)
        lengths, self.relative = Lengths.of(s), False
        if dtypes.SCALARS[D.dtype].floating and lengths is not None:
            # Up to n sums on the way, each at most twice as long as a walk over the arc, are rounded by eps / 2.
            self.slack, self.relative = 4 * self.n * dtypes.SCALARS[D.dtype].eps, lengths.logarithmic
        several = len(changes) > 1 and self.slack and not self.relative
        self.far = dtypes.largest_finite(D) if several else math.inf  # no distance is longer

    def _beats(self, a: Any, b: Any) -> Scalar:
        return a < b if self.s.add.selects == "least" else a > b

    def _lines(self, u: int, v: int, *weights: Scalar) -> tuple[np.ndarray, ...]:
        """Distances to an arc, distances from it, and its weights."""
        into, out = host(module(self.D).concatenate((self.D[:, u], self.D[v]))).reshape(2, -1)
        return into, out, np.array(weights, self.D.dtype)

    def _entry(self, u: int, v: int) -> Any:
        return self.seen.distance if self.seen else self.D[u, v].item()

    @cached_property
    def _complete(self) -> bool:
        """Whether integers are zero only where no walk leads: unless sums of both signs saturate."""
        new, record = np.array(list(self.changes.values()), self.D.dtype), dtypes.SCALARS[self.D.dtype]
        if not (record.integer and self.s.mul.saturating):
            return True
        if not any(map(self._any_beats_one, (self.D, new))):
            return True
        return self.n * max(map(dtypes.largest_finite, (self.A, new))) < record.high

    def _any_beats_one(self, entries: Array) -> bool:
        """Whether an entry beats `one`, so that a walk may come back from a sum that saturates."""
        best = entries.min() if self.s.add.selects == "least" else entries.max()
        return bool(self._beats(best.item(), dtypes.one(self.s, self.D.dtype)))

    def _leaves(self, longest: float) -> bool:
        """Whether a sum might leave the integers."""
        record = dtypes.SCALARS[self.D.dtype]
        return record.integer and self.s.mul.saturating and longest >= record.high

    def _keeps(self, u: int, v: int, *weights: Scalar) -> bool:
        """Whether no sum over an arc leaves the integers, and none that saturates counts as no walk."""
        lines = self._lines(u, v, *weights)
        # Lines without a zero join all vertices by way of the arc, by sums that do not saturate.
        hidden = any((x == self.zero).any() for x in lines) and any(map(self._any_beats_one, lines))
        return not self._leaves(_longest(lines)) and (not hidden or self._complete)

    def _spend(self, cost: float) -> bool:
        self.left -= cost
        return self.left >= 0

    def improve(self, u: int, v: int, w: Array) -> bool:
        """D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:]."""
        d, record, fit = self._entry(u, v), dtypes.SCALARS[self.D.dtype], False
        if not self._beats(w, d):
            return True
        if not self._spend(self.arc[0]):
            return False
        if record.integer and self.s.mul.saturating:
            seen = self.seen or around(self.s, self.D, self.A, u, v)
            fit = 3 * max(map(abs, (seen.least, seen.greatest, d, w))) < record.high  # then none is zero, either
            if not fit and not self._keeps(u, v, w, d):
                return False
        found = self.write(partial(self._arc(u, v, w).gain, fit))
        self.found += found
        return bool(found >= 0)

    def worsen(self, A: Array, old: dict[Ends, Array], ends: Ends, new: Array) -> bool:
        """Compute anew what may lead over an arc; A has the entries `old` when this begins, and one is new then."""
        (u, v), w, D = ends, old[ends], self.D
        d, old[ends] = self._entry(u, v), new
        margin = self.slack * (abs(d) if self.relative else 2 * self.far + abs(w))
        if u == v or (self._beats(d, w) and not abs(w - d) <= margin) or d == self.zero:
            return True  # no best walk leads over it
        pairs = int((D[:, u] != 0).sum()) * int((D[v] != 0).sum()) if self.s.boolean else 0
        if not self._spend(self.arc[1]) or pairs > self.left:
            return False
        floor = 0.0
        if self.slack:
            floor = float(np.finfo(D.dtype).tiny) if self.relative else _longest(self._lines(u, v, w))
        arc = self._arc(u, v, w)
        if not arc.affected(self.slack, floor):
            return True
        cost = self._cost(arc)
        if self.share and cost > self.left / LONG:
            self.left, self.share = self.left * min(1.0, self.share()), None
        if not self._spend(cost) or not fits(arc.workspace, self.device):
            return False
        bound = arc.repair(partial(_part, A, old))
        # Vertices with negative lengths to or from the arc are among those looked at.
        if bound is None or self._leaves(bound) or not (arc.lengths or self._complete):
            return False
        self.write(arc.settle)
        self.found += arc.changed
        self.far = self.far if self.far == math.inf else max(self.far, arc.longest())
        return True

    def _cost(self, arc: Repair) -> float:
        """Estimated time of a repair: its two products, and the closure of the vertices on both sides of the arc."""
        few, many = sorted((len(arc.rows), len(arc.cols)))
        both = len(arc.both)
        pairs = few * many * (self.n + few) + few * both * (few + both) + ROW[self.device] * both**3
        return PAIR * pairs / self.n

    def _arc(self, u: int, v: int, w: Scalar) -> Any:
        arc = load(f"semiring.kernels.{self.device}.routes.changed").Arc
        return arc(self.s, self.D, u, v, w, self.threads)


def around(s: Semiring, D: Array, A: Array, u: int, v: int) -> Around:
    """An arc in D and A, in one pass of O(n)."""
    return load(f"semiring.kernels.{device_of(D)}.routes.changed").around(s, D, A, u, v)


def _longest(lines: tuple[np.ndarray, ...]) -> float:
    """A bound of walks over an arc."""
    return sum(map(dtypes.largest_finite, lines))


def _entries(A: Array, ends: list[Ends]) -> dict[Ends, Any]:
    """Entries of A by their places."""
    if len(ends) <= FEW:
        return {pair: A[pair].item() for pair in ends}
    i, j = module(A).asarray(ends).T
    return dict(zip(ends, host(A[i, j]).tolist(), strict=True))


def _part(A: Array, changed: Weights, lines: np.ndarray, there: Array, axis: int) -> Array:
    """Rows or columns of the changed matrix, contiguous; `there` are the lines on its device."""
    part = module(A).take(A, there, axis=axis)
    place = np.full(len(A), -1)
    place[lines] = np.arange(len(lines))
    at = [(i, int(place[j])) if axis else (int(place[i]), j) for i, j in changed]
    put(part, {ends: x for ends, x in zip(at, changed.values(), strict=True) if min(ends) >= 0})
    return module(A).ascontiguousarray(part)
