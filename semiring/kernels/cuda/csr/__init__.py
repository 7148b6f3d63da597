"""Products of CSR matrices on one GPU."""
