"""Sums over best paths where all arcs weigh the same and are many: products of matrices on the GPU, a level at a time.

What best paths of h arcs lead to is H = h; A has a 1 for each arc. Counts go forward, σ_h+1 = (σ_h A) [H = h+1], sums
come back, δ_h = σ_h (g_h+1 Aᵀ) with g = (q + δ) / σ, and arcs carry A (σ_hᵀ g_h+1), added up over levels: Brandes
2001, "A faster algorithm for betweenness centrality", for all sources together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...types import Array

#: Levels up to which, and arcs as a share of all pairs from which on products take less than lists.
LEVELS, DENSE = 8, 1 / 32


def suits(arcs: int, n: int) -> bool:
    """Whether there are so many."""
    return arcs >= DENSE * n * n > 0


def needed(rows: int, n: int) -> int:
    """Bytes that so many rows take."""
    return 8 * (2 * n * n + 8 * rows * n)


def matrix(tails: Array, heads: Array, n: int) -> Any:
    """A, float64."""
    import cupy

    A = cupy.zeros((n, n), np.float64)
    A[tails.astype(np.int64), heads.astype(np.int64)] = 1.0
    return A


class Sums:
    """What arcs carry, as a matrix of which entries count where there are arcs; how many others reach each vertex."""

    def __init__(self, A: Array) -> None:
        import cupy

        self.A, self.n = A, len(A)
        self.carried = cupy.zeros(A.shape, np.float64)
        self.arrivals: Any = cupy.zeros(self.n, np.int64)

    def of_vertices(self) -> tuple[np.ndarray, np.ndarray]:
        """What arrives at each vertex along arcs, and what leaves it."""
        self.carried *= self.A
        entering, leaving = (self.carried.sum(axis=axis).get() for axis in (0, 1))
        return entering, leaving

    def add(self, H: Array, sources: slice | Array, demand: Array) -> bool:
        """Add what rows send; False where that takes more levels, or they are no hops.

        Parameters
        ----------
        H : CuPy int8 array, shape (k, n)
            Their hops; −1 where there is no path, and more than LEVELS where there are more.
        sources : slice, or CuPy int array, shape (k,)
            All different.
        demand : CuPy float64 array, shape (k, n) or (1, n)

        """
        reached = H > 0
        levels = int(H.max())
        if levels > LEVELS:
            return False
        paths = (H == 1).astype(np.float64)
        for h in range(1, levels):
            paths += ((paths * (H == h)) @ self.A) * (h + 1 == H)
        if bool(((paths == 0) & reached).any()) or not float(paths.max()) < np.inf:
            return False
        owed = demand * reached / (paths + (paths == 0))  # for each best path
        for h in range(levels, 1, -1):
            passed = owed * (h == H)
            self.carried += (paths * (h - 1 == H)).T @ passed
            owed += (passed @ self.A.T) * (h - 1 == H)
        self.carried[sources] += owed * (H == 1)  # the only arc from a source
        self.arrivals += reached.sum(axis=0)
        return True
