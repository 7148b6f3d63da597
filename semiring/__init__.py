"""Semiring linear algebra on NumPy and CuPy arrays. (Public names are loaded on first use.)"""
