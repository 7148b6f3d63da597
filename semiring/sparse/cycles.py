"""Cycles that beat `one` in an arc list, or potentials that exclude them: vectorised Bellman–Ford rounds.

Sparse counterpart of `semiring.dense.cycles`; called where an elimination may diverge.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..dense.cycles import Lengths, Tolerance, cycle_error, headroom


@dataclass(frozen=True)
class Weighted:
    """Arcs of a graph over a semiring that has `Lengths`."""

    tails: np.ndarray
    heads: np.ndarray
    weights: np.ndarray
    n: int
    semiring: Semiring

    @property
    def longest(self) -> float:
        """Upper bound of a simple path's weight: the sum of the heaviest arc out of each vertex; exact for integers."""
        finite = self.weights != dtypes.zero(self.semiring, self.weights.dtype)
        tails, weights = (x if finite.all() else x[finite] for x in (self.tails, self.weights))
        if integer := dtypes.SCALARS[weights.dtype].integer:  # in 64 bits |−2⁶³| is itself, and 2⁶³ without a sign
            sizes = np.abs(weights.astype(np.int64, copy=False)).view(np.uint64)
        else:
            sizes = np.abs(weights)
        most = np.zeros(self.n, np.uint64 if integer else np.float64)
        np.maximum.at(most, tails, sizes)
        return int(most.sum()) if integer and int(most.max(initial=0)) * self.n < 2**64 else sum(most.tolist())

    def farthest(self) -> tuple[float, int]:
        """Upper bound of all distances by two searches, and the vertex searched from; (∞, 0) if a length is negative.

        d(u, w) ≤ d(u, v) + d(v, w) through v of the largest strong component. A path from a vertex that cannot reach v
        has none but such vertices, all of one weak component: at most the heaviest arc out of each of them; likewise
        those that v does not reach.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components, dijkstra

        tails, heads, length = self._finite()
        if not len(length) or length.min() < 0:
            return 0.0 if not len(length) else math.inf, 0
        # A stored 0 is no arc to SciPy, and arcs of one place are added up: longer, but lengths of walks.
        A = coo_array((np.maximum(length, 1.0), (tails, heads)), shape=(self.n, self.n)).tocsr()
        _, component = connected_components(A, connection="strong")
        v = int((component == np.bincount(component).argmax()).argmax())
        into, out = (dijkstra(X, indices=np.array([v]))[0] for X in (A.T.tocsr(), A))
        joined, apart = 0.0, 0.0
        for line in (into, out):
            missing = line == np.inf
            joined += float(line[~missing].max())
            inside = np.flatnonzero(missing[tails])
            inside = inside[missing[heads[inside]]]
            most = np.zeros(self.n)
            np.maximum.at(most, tails[inside], length[inside])
            among = coo_array((length[inside], (tails[inside], heads[inside])), shape=A.shape)
            _, part = connected_components(among, directed=False)
            apart = max(apart, float(np.bincount(part, most).max()))
        return max(joined, apart), v

    def _finite(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tails, heads and float64 lengths of present arcs."""
        finite = self.weights != dtypes.zero(self.semiring, self.weights.dtype)
        lengths = Lengths.required(self.semiring).sign * self.weights[finite].astype(np.float64)
        return self.tails[finite], self.heads[finite], lengths

    def potentials(self, *, where: str, tolerance: Tolerance | None = None) -> np.ndarray:
        """h with ℓ(u, v) + h(u) − h(v) ≥ 0 for every arc, but for rounding; DivergenceError for a cycle.

        A negative cycle is judged by its own arcs (`Lengths.rounding`, or `tolerance`). If it is rounding, every arc is
        granted one rounding, then twice as much, until no cycle is negative. In min-plus the error is a
        NegativeCycleError.
        """
        lengths, dtype = Lengths.required(self.semiring), self.weights.dtype
        nonzero = self.weights != dtypes.zero(self.semiring, dtype)
        tails, heads, weights = self.tails[nonzero], self.heads[nonzero], self.weights[nonzero]
        length = lengths.of_entries(weights, np.nan)
        largest = float(np.abs(length).max(initial=0.0))
        if dtypes.SCALARS[dtype].integer and not lengths.logarithmic and largest * (self.n + 1) < 2.0**62:
            length = int(lengths.sign) * weights.astype(np.int64)  # exactly
        base, rate = lengths.slack(dtype, 1.0)
        slack = base + rate * np.abs(length) if tolerance is None else tolerance.slack(length, dtype, self.n)
        judge, allowed = (tolerance or lengths).rounding, 0.0
        while True:
            cycle, potential = search(tails, heads, length + allowed * slack if allowed else length, self.n)
            if not cycle:
                return potential
            total, rounding = judge(weights[cycle])
            if not rounding or allowed > 2 * self.n:
                raise cycle_error(tails[cycle].tolist(), total, self.semiring, where=where)
            allowed = max(1.0, 2 * allowed)


def search(tails: np.ndarray, heads: np.ndarray, length: np.ndarray, n: int) -> tuple[list[int], np.ndarray]:
    """Arcs of a negative cycle, in order from its least vertex; or none, and potentials.

    Labels begin at 0, as from a source tied to every vertex; each round lowers them to the least that an arc brings.
    The last arcs to lower a label form a predecessor graph, in which a cycle is negative (Cherkassky and Goldberg 1999,
    section 3); without one, labels are lengths of simple walks, so rounds end.

    Examples
    --------
    >>> search(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1, -3, 1]), 3)[0]
    [0, 1, 2]
    >>> search(np.array([0, 1]), np.array([1, 2]), np.array([-3, 1]), 3)
    ([], array([ 0, -3, -2]))
    """
    if length.dtype.kind == "f" and (down := headroom(float(abs(length).max(initial=0.0)), n)) < 1:
        cycle, label = search(tails, heads, length * down, n)
        with np.errstate(over="ignore"):
            return cycle, label / down
    label, came = np.zeros(n, length.dtype), np.full(n, -1, np.int64)
    if not len(heads):
        return [], label
    order = np.argsort(heads, kind="stable")
    tails, heads, length = tails[order], heads[order], length[order]
    first = np.flatnonzero(np.concatenate(([True], heads[1:] != heads[:-1])))
    ends, counts = heads[first], np.diff(np.append(first, len(heads)))
    for turn in itertools.count(1):
        reached = label[tails] + length
        best = np.minimum.reduceat(reached, first)
        lower = best < label[ends]
        if not lower.any():
            break
        attained = np.flatnonzero(np.repeat(lower, counts) & (reached == np.repeat(best, counts)))
        came[heads[attained]] = attained
        label[ends[lower]] = best[lower]
        if turn & (turn - 1) == 0 or turn % 64 == 0 or turn > n:
            cycle = _cycle(came, tails)
            if cycle:
                return order[cycle].tolist(), label
    return [], label


def _cycle(came: np.ndarray, tails: np.ndarray) -> list[int]:
    """Arcs of a cycle of v ← tails[came[v]], in walk order; empty if acyclic."""
    # A vertex with an ancestor 2^k ≥ n steps back leads to a cycle.
    before = np.append(np.where(came >= 0, tails[came], -1), -1)
    step = before
    for _ in range(len(came).bit_length()):
        step = step[step]
    alive = np.flatnonzero(step[:-1] >= 0)
    if not len(alive):
        return []
    start = v = int(step[alive[0]])
    arcs: list[int] = []
    while not arcs or v != start:
        arcs.append(int(came[v]))
        v = int(before[v])
    arcs.reverse()
    least = int(tails[arcs].argmin())
    return arcs[least:] + arcs[:least]
