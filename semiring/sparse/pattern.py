"""The undirected pattern of a set of arcs: who is beside whom, whichever way the arcs lead and whatever they weigh."""

from __future__ import annotations

import numpy as np

from ..cpu import symbolic


def neighbours(tails: np.ndarray, heads: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(start, beside): the neighbours of v are beside[start[v] : start[v + 1]], without v, each once.

    Parameters
    ----------
    tails, heads : int32 arrays, one item an arc
    n : int
        Vertices.
    """
    start, beside = symbolic.neighbours(tails, heads, n)
    return start, beside
