"""Packed Boolean matrices on the GPU: products on tensor cores or by word logic, and the other kernels."""
