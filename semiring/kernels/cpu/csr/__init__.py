"""Kernels of CSR matrices: symbolic ones on positions, numeric ones on the entries of a kind."""
