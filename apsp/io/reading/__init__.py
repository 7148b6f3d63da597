"""Shared code of readers of files (apsp/io/formats) and of objects (apsp/io/inputs)."""
