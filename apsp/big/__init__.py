"""Closures larger than memory and over several ranks."""
