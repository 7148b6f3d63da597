"""Sparse elimination on the GPU: its queries, searches and kernels."""
