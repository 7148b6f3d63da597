"""Growth rates of weighted searches, from which their start delays follow.

From vertex v about W(v) exp(rate · t) vertices are reached within length t, with W(v) = Σ exp(−rate · w) W(u) over its
arcs (v, u): the right eigenvector of exp(−rate · A) for the eigenvalue 1, as of branching processes (Nerman 1981).
"""

from __future__ import annotations

import numpy as np

#: Newton steps, sampled arcs, and power iterations.
STEPS, SAMPLE, TIMES = 20, 512, 4
#: Floor of W; bucket width relative to the median arc.
LEAST, WIDTH = 1e-30, 1 / 16


def scale(lengths: np.ndarray) -> float:
    """Buckets per unit of length."""
    sizes = lengths[lengths > 0]
    return min(1 / max(WIDTH * float(np.median(sizes)), 2.0**-99), 2.0**99) if len(sizes) else 1.0  # as float32


def rate(lengths: np.ndarray, degree: float) -> float | None:
    """Solution of Σ exp(−rate · length) = 1 over a vertex' arcs, `degree` arcs of sampled lengths; None if not > 0."""
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
    """Start delay of a search from each vertex, in units of length; None if undetermined."""
    found = rate(lengths, len(lengths) / max(1, n))
    if found is None:
        return None
    shares, W = np.exp(-found * lengths), np.ones(n)
    for _ in range(TIMES):
        W = np.maximum(np.bincount(tails, shares * W[heads], n), LEAST)
    return later(W, found)


def later(W: np.ndarray, rate: float) -> np.ndarray:
    logarithms = np.log(W.astype(np.float64))
    return (logarithms - logarithms.min()) / rate
