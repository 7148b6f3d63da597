"""Sparse elimination: symbolic analysis, fronts, sweeps; hub labels; searches."""
