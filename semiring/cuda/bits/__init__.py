"""Packed Boolean matrices: products by tensor cores or by words, and the kernels."""
