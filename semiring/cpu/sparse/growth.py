"""How fast searches by weight grow, which tells how much earlier some of them have to begin.

From vertex v about W(v) exp(rate · t) vertices are reached within length t, where W(v) = Σ exp(−rate · w) W(u) over its
arcs (v, u): the right eigenvector of exp(−rate · A) for the eigenvalue 1, as of branching processes (Nerman 1981).
"""

from __future__ import annotations

import numpy as np

#: Steps of Newton's method, arcs for which it is solved, and times that arcs are followed.
STEPS, SAMPLE, TIMES = 20, 512, 4
#: The least share of vertices; and a bucket is this part of the median arc.
LEAST, WIDTH = 1e-30, 1 / 16


def scale(lengths: np.ndarray) -> float:
    """Buckets a unit of length, of some arcs of such lengths."""
    sizes = lengths[lengths > 0]
    return min(1 / max(WIDTH * float(np.median(sizes)), 2.0**-99), 2.0**99) if len(sizes) else 1.0  # as float32


def rate(lengths: np.ndarray, degree: float) -> float | None:
    """For which the arcs of a vertex, of such lengths, are Σ exp(−rate · length) = 1; None if there is none above 0.

    Parameters
    ----------
    lengths : float64 array
        Those of some arcs; ∞ is passed over.
    degree : float
        Arcs of a vertex, on average.
    """
    lengths = lengths[np.isfinite(lengths)]
    lengths = lengths[:: max(1, len(lengths) // SAMPLE)]
    found = 0.0
    for _ in range(STEPS):  # from the left, where the sum is convex
        shares = np.exp(-found * lengths)
        slope = degree * float((lengths * shares).sum())
        if not slope > 0:
            return None
        found += (degree * float(shares.sum()) - len(lengths)) / slope
    return found if 0 < found < np.inf else None


def delays(tails: np.ndarray, heads: np.ndarray, lengths: np.ndarray, n: int) -> np.ndarray | None:
    """How much later a search from each vertex may begin, in units of length; None where that cannot be told."""
    found = rate(lengths, len(lengths) / max(1, n))
    if found is None:
        return None
    shares, W = np.exp(-found * lengths), np.ones(n)
    for _ in range(TIMES):
        W = np.maximum(np.bincount(tails, shares * W[heads], n), LEAST)
    return later(W, found)


def later(W: np.ndarray, rate: float) -> np.ndarray:
    """The same of W."""
    logarithms = np.log(W.astype(np.float64))
    found: np.ndarray = (logarithms - logarithms.min()) / rate
    return found
