"""Packed Boolean matrices: products by table look-up, closures, row unions, counts and lists."""
