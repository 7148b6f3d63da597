"""Kernels of sparse matrices in compressed rows: on positions alone, and on entries of a kind."""
