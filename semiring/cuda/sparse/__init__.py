"""Elimination of sparse matrices, its queries, and breadth-first searches; and the kernels."""
