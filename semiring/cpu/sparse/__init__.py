"""Elimination of sparse matrices: orders and trees without weights, fronts, sweeps; and breadth-first searches."""
