"""Packed Boolean matrices: products by table look-up, closures, rows of bits united, counted and listed."""
