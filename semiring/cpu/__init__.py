"""The CPU backend: packed panels, explicit vector code compiled by numba, and threads over blocks."""
