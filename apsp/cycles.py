"""A cycle that beats `one` in a list of arcs, by Bellman and Ford's rounds on vectors: for errors that name it."""

from __future__ import annotations

import numpy as np

from semiring.cycles import Lengths


def beating_cycle(
    tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, n: int, lengths: Lengths, absent: object
) -> list[int]:
    """The vertices of a cycle of negative length in order, the first not repeated; empty if there is none.

    Labels begin at 0 everywhere, as from a source tied to every vertex. A round relaxes all arcs; a cycle among the
    predecessors is one of negative length (Cherkassky and Goldberg 1999, section 3).
    """
    length = lengths.of_entries(weights, absent)
    label, before = np.zeros(n), np.full(n, -1, np.int64)
    for turn in range(n + 1):
        reached = label[tails] + length
        best = label.copy()
        np.minimum.at(best, heads, reached)
        attained = np.flatnonzero((reached == best[heads]) & (best[heads] < label[heads]))
        if not len(attained):
            return []
        before[heads[attained]] = tails[attained]
        label = best
        if turn & (turn + 1) == 0 or turn % 64 == 0 or turn == n:
            cycle = _cycle(before)
            if cycle:
                return cycle
    return []


def _cycle(before: np.ndarray) -> list[int]:
    """A cycle of the graph in which every vertex leads to the one before it; empty if there is none."""
    # Who still leads somewhere after 2^k ≥ n steps leads to a cycle.
    end = np.append(before, -1)
    step = end.copy()
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
