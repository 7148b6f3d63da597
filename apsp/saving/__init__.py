"""Answers on disk, and back: NumPy archives, text, Zarr groups, stores of tiles; with their labels."""
