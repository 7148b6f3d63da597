"""Engine: one search after the other for few sources: Dijkstra, Johnson for negative arcs, SciPy's for hops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import module, on_device
from semiring.host.spelling import came
from semiring.host.types import Array, Fields, Matrix
from semiring.sparse.cycles import Weighted
from semiring.sparse.dijkstra import dijkstra, neighbours
from semiring.sparse.dijkstra import nearest as searched

from ...answers.neighbourhoods import Neighbourhoods
from .. import estimates, rates
from ..convergence.saturation import too_far
from ..estimates import Estimate
from ..plans import Plan
from ..question import Question
from .base import BLOCK, Engine, Kind, counting, offer
from .elimination import spent
from .hops import known_levels, search
from .part import as_limit

#: Searches below which estimating costs more.
FEW = 16
#: Sources from which levels are counted by our own search, if arcs are sorted.
SAMPLED = 64
#: Levels from which a search by weight competes for equal weights, and its `spread`.
DEEP, ALIKE = 16, 0.3
#: Passes over all arcs for ties between the nearest of several sources.
PASSES = 32
#: Sources from which searches within a limit are tried, and their share, 1 / SHARE, of what all settle without it.
TRIED, SHARE = 2, 32
#: Nothing is known of how searches grow.
ANYWHERE = Neighbourhoods()
#: Seconds of a call into SciPy, and bytes of its rows, approximately.
STRETCH, PANEL = 0.3, 1 << 27


class Searching(Engine):
    """Rows of distances by searches, which are repeated on every request; `labels` by position are for errors."""

    repeats = True
    semiring: Semiring
    _labels: Any

    def _narrowed(self, D: Array, reached: Array, sources: np.ndarray, *, backwards: bool) -> Array:
        """Rows of distances in an integer dtype, zero if not reached; DomainError if it cannot hold one."""
        low, high = dtypes.SCALARS[self.dtype].bounds
        wrong = reached & ((D <= low) | (D >= high))
        if wrong.any():
            k, j = np.argwhere(wrong)[0].tolist()
            ends = [self._labels[int(sources[k])], self._labels[j]]
            u, v = ends[::-1] if backwards else ends
            raise too_far(f"{int(D[k, j])} from {came(u)} to {came(v)}", self.dtype, where="shortest_paths")
        with on_device(D):
            out = module(D).full(D.shape, dtypes.zero(self.semiring, self.dtype), self.dtype)
        out[reached] = D[reached]
        return out

    def _nearest(self, A: Array, wanted: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray] | None:
        """(which, best) of `Engine.nearest`, by one search from all of `wanted` at once.

        A (n, n) is CSR of lengths ≥ 0 in float64. The search's source of a vertex is any of several as near. The first
        is found along tight arcs, by a pass over all arcs for each arc of a path along which sources tie. None after
        `PASSES`, where the dtype does not hold a distance, and for float32, in which more distances are equal.
        """
        n, record = A.shape[0], dtypes.SCALARS[self.dtype]
        if self.dtype == np.float32 or not len(wanted):
            return None
        sources, positions = np.unique(wanted, return_index=True)
        D, nearest_one = searched(A, sources, max(limit, 0.0))
        reached = np.isfinite(D)
        if record.integer and reached.any() and D[reached].max() >= min(record.high, 1 << 53):
            return None
        which = np.append(positions, len(wanted))[nearest_one]  # −1 is the last
        many = np.diff(A.indptr)
        tight = np.flatnonzero(np.repeat(D, many) + A.data == D[A.indices])
        tails, heads = np.repeat(np.arange(n), many)[tight], A.indices[tight]
        tied = bool((reached[heads] & (which[tails] < which[heads])).any())
        for _ in range(PASSES if tied else 0):
            before = which.copy()
            np.minimum.at(which, heads, before[tails])
            tied = not np.array_equal(which, before)
            if not tied:
                break
        if tied:
            return None
        best = np.full(n, dtypes.zero(self.semiring, self.dtype), self.dtype)
        best[reached] = D[reached]
        return np.where(reached, which, -1), best


class Searches(Searching):
    """Rows of distances, each by a search in float64; nothing is cached.

    `arcs` are (tails, heads, weights) in the dtype of the distances, or a non-negative float64 CSR matrix; ⊕ of
    `semiring` keeps the least of lengths. `method` is "dijkstra", "johnson" or "breadth-first". `limit` cuts searches
    if no arc is negative; vertices beyond may be unreachable. `labels` by position are for errors. `potential` (n,)
    makes arcs non-negative for "johnson" (Johnson 1977); distances are restored. Integer sums must be below 2⁵³;
    distances beyond the integer dtype raise DomainError.
    """

    name = "scipy"

    def __init__(
        self,
        arcs: Array,
        n: int,
        semiring: Semiring,
        method: str,
        limit: float = np.inf,
        labels: Any = None,
        potential: np.ndarray | None = None,
    ) -> None:
        self.arcs: Any = arcs
        self.semiring, self.method, self._furthest = semiring, method, limit
        self.dtype = self._weights.dtype
        if self.dtype == np.float32 and np.isfinite(limit):  # up to values that round to the limit
            with np.errstate(over="ignore"):
                self._furthest = float(np.nextafter(np.float32(limit), np.float32(np.inf)))
        self._labels, self._potential = range(n) if labels is None else labels, potential
        self.shape = (n, n)

    def __setstate__(self, state: Fields) -> None:
        """Old pickles lack potentials: recompute them."""
        vars(self).update(state)
        if "_potential" not in state:
            johnson = self.method == "johnson" and self.shape[0]
            tails, heads, weights = self.arcs
            arcs = Weighted(tails, heads, weights, self.shape[0], self.semiring)
            self._potential = arcs.potentials(where="shortest_paths") if johnson else None

    @property
    def _weights(self) -> np.ndarray:
        weights: np.ndarray = self.arcs.data if hasattr(self.arcs, "indptr") else self.arcs[2]
        return weights

    @cached_property
    def _forward(self) -> Matrix:
        return lengths_of(self.arcs, self.shape[0], self.semiring, self._potential)

    @cached_property
    def _backward(self) -> Matrix:
        return self._forward.T.tocsr()

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        most = min(self._together(), block or BLOCK)
        for start in range(0, len(wanted), most):
            part = wanted[start : start + most]
            yield part, self._search(self._forward, part)

    def _all(self) -> np.ndarray:
        """All rows by one call if short, without copying."""
        n = self.shape[0]
        return self._search(self._forward, np.arange(n)) if 0 < n <= self._together() else super()._all()

    def _together(self) -> int:
        return together(self.shape[0], len(self._weights), self.method)

    def column(self, j: int) -> np.ndarray:
        return self._search(self._backward, np.array([j]), backwards=True)[0]

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """One search from all at once."""
        if self._potential is not None:
            return None
        return self._nearest(self._backward if towards else self._forward, wanted, self._furthest)

    def _search(self, A: Array, sources: np.ndarray, *, backwards: bool = False) -> np.ndarray:
        """Distances from the sources, or `backwards` to them, shape (sources, n)."""
        D = self._lengths(A, sources, backwards)
        if not dtypes.SCALARS[self.dtype].integer:
            return D.astype(self.dtype, copy=False)
        low, high = dtypes.SCALARS[self.dtype].bounds
        representable = (D > low) & (D < high)
        # Beyond the limit is no path only if certain: negative arcs may lead back within.
        reached = representable | ((D <= self._furthest) & np.isfinite(D))
        return self._narrowed(D, reached, sources, backwards=backwards)

    def _lengths(self, A: Array, sources: np.ndarray, backwards: bool) -> np.ndarray:
        if self.method == "breadth-first":
            unit = float(self._weights[0]) if len(self._weights) else 1.0
            return np.stack([_levels(A, source) for source in sources.tolist()]) * unit
        if (h := self._potential) is None:
            return dijkstra(A, sources, max(self._furthest, 0.0))
        shift = h[sources, None] - h  # ℓ(i, j) = ℓ'(i, j) − h(i) + h(j)
        return dijkstra(A, sources) + (shift if backwards else -shift)


def together(n: int, arcs: int, method: str = "dijkstra") -> int:
    """Rows per call into SciPy, which ignores Ctrl-C within one; they are float64."""
    return max(1, min(int(STRETCH / estimates.search(n, arcs, method)), PANEL // max(8 * n, 1)))


def lengths_of(arcs: Array, n: int, semiring: Semiring, h: np.ndarray | None = None) -> Matrix:
    """(tails, heads, weights) as CSR for SciPy: the shortest of parallel ones, zeros stored, no arc of weight ∞.

    A CSR matrix is returned unchanged. With potentials, lengths are ℓ'(u, v) = max(ℓ(u, v) + h(u) − h(v), 0): rounding
    makes no cycle negative.
    """
    if hasattr(arcs, "indptr"):
        return arcs
    tails, heads, weights = arcs
    present = weights != dtypes.zero(semiring, weights.dtype)
    if not present.all():
        tails, heads, weights = tails[present], heads[present], weights[present]
    tails, lengths = tails.astype(np.int64, copy=False), weights.astype(np.float64, copy=False)
    if h is not None:
        lengths = np.maximum(lengths + (h[tails] - h[heads]), 0.0)
    return csr(*canonical(tails, heads, lengths, n), n)


def canonical(
    tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arcs sorted by tail, then head, with the least weight of parallel ones."""
    code = tails.astype(np.int64, copy=False) * n + heads
    if not (code[1:] > code[:-1]).all():
        order = np.argsort(code, kind="stable")
        code, weights = code[order], weights[order]
        first = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        weights = np.minimum.reduceat(weights, first)
        tails, heads = np.divmod(code[first], n)
    return tails, heads, weights


def csr(tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, n: int) -> Matrix:
    """Arcs sorted by tail as a CSR array; the oldest SciPy supported searches with 32-bit indices only."""
    from scipy.sparse import csr_array

    index = np.int32 if len(weights) < 2**31 else np.int64
    starts = np.zeros(n + 1, index)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    return csr_array((weights, heads.astype(index, copy=False), starts), shape=(n, n))


def _levels(A: Array, source: int) -> np.ndarray:
    """Hops from a vertex, ∞ for no path: in breadth-first order a level ends at the previous level's last child."""
    from scipy.sparse import csgraph

    order, before = csgraph.breadth_first_order(A, source)
    place = np.empty(A.shape[0], np.int64)
    place[order] = np.arange(len(order))
    parents = place[before[order[1:]]]
    hops = np.full(A.shape[0], np.inf)
    start, end, level = 0, 1, 0
    while start < end:
        hops[order[start:end]] = level
        start, end, level = end, 1 + int(np.searchsorted(parents, end)), level + 1
    return hops


def _refuses(question: Question) -> str:
    if question.once(search):
        return ""
    return (
        f"finds shortest paths, over lengths whose sums stay below 2⁵³, got {question.semiring.name} in "
        f"{question.dtype}"
    )


def _estimate(question: Question) -> Estimate:
    """Searches from every source, or backwards from every target."""
    if (reach := question.once(within)) is not None:
        return offer(question, _taken(question, "dijkstra", reach), "dijkstra")
    method, near = question.once(search), question.arcs.near
    few = question.lines < SAMPLED and question.arcs.compressed is not None
    levels = int(near.deep(question.n)) if few else known_levels(question)

    def by(method: str, spread: float) -> Estimate:
        taken = _taken(question, method, question.arcs.reach, near, levels=levels, spread=spread)
        return offer(question, taken, method)

    found = by(method, question.arcs.spread if method == "dijkstra" else 1.0)
    if method != "breadth-first" or levels < DEEP:
        return found
    # Levels are counted in Python, one by one; if many, a search by weight is faster.
    return min(found, by("dijkstra", ALIKE), key=lambda estimate: estimate.seconds)


def _taken(question: Question, method: str, reach: float, near: Neighbourhoods = ANYWHERE, **more: float) -> Estimate:
    """Searches that reach a share of the vertices; `more` are options of `estimates.search`."""
    entire = question.wants.partial and question.columns == question.n  # see `Part._all`
    return estimates.searches(
        question.n, question.arcs.count, question.lines, question.columns, question.dtype.itemsize, method,
        reach=reach, width=near.width, followed=near.arcs, ordered=question.picks,
        compressed=question.arcs.compressed is not None, block=BLOCK * (4 if entire else 1), **more,
    )  # fmt: skip


def within(question: Question) -> float | None:
    """Share of the vertices within the limit of a source, by searches from a few; None unless it is small."""
    wants, arcs, n = question.wants, question.arcs, question.n
    if wants.limit is None or question.once(search) not in ("dijkstra", "breadth-first"):
        return None
    ends = min((x for x in (wants.sources, wants.targets) if x is not None), key=len, default=np.arange(n))
    if not len(ends):
        return None
    some = ends[:: -(-len(ends) // TRIED)]
    most = n * min(len(ends), SHARE) // (SHARE * len(some))
    A = lengths_of(arcs.listed, n, question.semiring) if arcs.compressed is None else arcs.compressed
    found = neighbours(A, some, max(as_limit(wants.limit), 0), most)
    return None if found is None else found / n


@lru_cache(1024)
def little(n: int, arcs: int, lines: int, columns: int, itemsize: int) -> Estimate | None:
    """Searches by weight of a CSR matrix, if our engine could save a moment at most, by counts alone; else None."""
    taken = estimates.searches(n, arcs, lines, columns, itemsize, "dijkstra", compressed=True)
    ours = estimates.lanes(n, arcs, lines, columns, itemsize, 0.0, ordered=True)  # at least
    return taken if taken.seconds - ours.seconds <= rates.processor.comparison else None


def at_once(question: Question) -> Estimate | None:
    """Searches by weight of a CSR matrix: a few, or fewer than any other engine could take as long as."""
    wants, n, size = question.wants, question.n, question.dtype.itemsize
    if not (wants.partial and question.listed) or wants.paths or wants.limits or question.arcs.compressed is None:
        return None
    taken, note = (
        little(n, question.arcs.count, question.lines, question.columns, size),
        "too little for a look at others",
    )
    if taken is None and (reach := question.once(within)) is not None and reach * SHARE <= 1:
        return offer(question, _taken(question, "dijkstra", reach), "dijkstra", ", few vertices lie within the limit")
    if taken is None:
        taken, note = _before_others(question), "no other can be faster"
    if taken is None or question.once(search) != "dijkstra":
        return None
    return offer(question, taken, "dijkstra", f", {note}")


def _before_others(question: Question) -> Estimate | None:
    """Searches near the sources, if they take less than what other engines do at least by counts; else None."""
    arcs, n, size = question.arcs, question.n, question.dtype.itemsize
    near, spread, reach = arcs.near, arcs.spread, arcs.near.cut + arcs.near.few / max(1, n)
    taken = _taken(question, "dijkstra", reach, near, spread=spread)
    relaxed = estimates.guessed(n, arcs.count, reach, near.width, spread)
    ours = estimates.lanes(
        n, arcs.count, question.lines, 0, size, relaxed, ordered=True, followed=near.arcs, tried=False
    ).seconds
    closed = estimates.entering(arcs.count) + estimates.closure(n, question.semiring, question.dtype, pairs=n**3)
    eliminated = estimates.least_elimination(n, arcs.count, question.once(spent))
    before = rates.processor.question
    others = min(ours, before + min(closed, eliminated))
    return taken if taken.seconds - before <= others else None  # a look at others takes as long


def _open(question: Question, plan: Plan) -> Searches:
    """Open for all rows if none were requested; each is searched on demand."""
    wants, method = question.wants, plan.schedule
    arcs = question.arcs.listed if method == "johnson" or question.arcs.compressed is None else question.arcs.compressed
    h = (
        Weighted(*question.arcs.listed, question.n, question.semiring).potentials(where=wants.where)
        if method == "johnson"
        else None
    )
    limit = math.inf if wants.limit is None else as_limit(wants.limit)
    return Searches(arcs, question.n, question.semiring, method, limit, question.graph.labels, h)


def _looks(question: Question) -> float:
    """Counting levels by our own search outweighs a few searches, except of a CSR matrix."""
    looks = question.once(counting)
    floating = dtypes.SCALARS[question.dtype].floating and question.arcs.compressed is None
    if math.isinf(looks) or question.lines >= FEW or not floating or question.once(search) != "breadth-first":
        return looks
    return looks + estimates.adjacent(question.graph.edge_count)


ENGINE = Kind("scipy", _estimate, _open, refuses=_refuses, looks=_looks, at_once=at_once, limits=None)
