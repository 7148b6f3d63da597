"""Products of sparse matrices in compressed rows on one GPU."""
