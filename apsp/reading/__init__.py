"""Shared code of readers of files (apsp/formats) and of objects (apsp/inputs)."""
