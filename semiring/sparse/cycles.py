"""Cycles that beat `one` in a list of arcs, or potentials that rule them out: Bellman and Ford's rounds on vectors.

What `semiring.cycles` does with a matrix; asked for where an elimination shows that something is wrong, or may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import dtypes
from ..algebra import Semiring
from ..cycles import Lengths, cycle_error


@dataclass(frozen=True)
class Weighted:
    """The arcs of a graph over a semiring that has `Lengths`."""

    tails: np.ndarray
    heads: np.ndarray
    weights: np.ndarray
    n: int
    semiring: Semiring

    def potentials(self, *, where: str) -> np.ndarray:
        """h with ℓ(u, v) + h(u) − h(v) ≥ 0 for every arc, but for rounding; or the error of a cycle that has none.

        A cycle of negative length is judged by its own arcs, by `Lengths.rounding`. If it is rounding, every arc is
        granted one rounding, then twice as much, until no cycle is negative.

        Raises
        ------
        DivergenceError
            Naming the cycle; in min-plus it is a `NegativeCycleError`.
        """
        lengths = Lengths.required(self.semiring)
        length = lengths.of_entries(self.weights, dtypes.zero(self.semiring, self.weights.dtype))
        base, rate = lengths.slack(self.weights.dtype, 1.0)
        finite = np.isfinite(length)
        slack = np.where(finite, base + rate * np.abs(np.where(finite, length, 0.0)), 0.0)
        allowed = 0.0
        while True:
            cycle, potential = search(self.tails, self.heads, length + allowed * slack, self.n)
            if not cycle:
                return potential
            total, rounding = lengths.rounding(self._along(cycle, length))
            if not rounding or allowed > 2 * self.n:
                raise cycle_error(cycle, total, self.semiring, where=where)
            allowed = max(1.0, 2 * allowed)

    def _along(self, cycle: list[int], length: np.ndarray) -> np.ndarray:
        """The weights along a cycle, of parallel arcs the best."""
        best: dict[tuple[int, int], int] = {}
        steps = set(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        inside = np.isin(self.tails, cycle) & np.isin(self.heads, cycle)
        for arc in np.flatnonzero(inside).tolist():
            step = int(self.tails[arc]), int(self.heads[arc])
            if step in steps and (step not in best or length[arc] < length[best[step]]):
                best[step] = arc
        return self.weights[[best[step] for step in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]]


def search(tails: np.ndarray, heads: np.ndarray, length: np.ndarray, n: int) -> tuple[list[int], np.ndarray]:
    """A cycle of negative length in order, the first vertex not repeated; or none, and potentials.

    Labels begin at 0 everywhere, as from a source tied to every vertex. A round relaxes all arcs; a cycle among the
    predecessors is one of negative length (Cherkassky and Goldberg 1999, section 3).

    Examples
    --------
    >>> search(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, -3.0, 1.0]), 3)[0]
    [0, 1, 2]
    """
    label, before = np.zeros(n), np.full(n, -1, np.int64)
    for turn in range(n + 1):
        reached = label[tails] + length
        best = label.copy()
        np.minimum.at(best, heads, reached)
        attained = np.flatnonzero((reached == best[heads]) & (best[heads] < label[heads]))
        if not len(attained):
            break
        before[heads[attained]] = tails[attained]
        label = best
        if turn & (turn + 1) == 0 or turn % 64 == 0 or turn == n:
            cycle = _cycle(before)
            if cycle:
                return cycle, label
    return [], label


def _cycle(before: np.ndarray) -> list[int]:
    """A cycle of the graph in which every vertex leads to the one before it; empty if there is none."""
    # Who still leads somewhere after 2^k ≥ n steps leads to a cycle.
    step = np.append(before, -1)
    for _ in range(max(len(before), 1).bit_length()):
        step = step[step]
    alive = np.flatnonzero(step[:-1] >= 0)
    if not len(alive):
        return []
    first = int(step[alive[0]])
    cycle, v = [first], int(before[first])
    while v != first:
        cycle.append(v)
        v = int(before[v])
    cycle.reverse()
    at = cycle.index(min(cycle))
    return cycle[at:] + cycle[:at]
