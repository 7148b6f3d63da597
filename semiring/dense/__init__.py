"""Verbs on dense matrices, and what is built of them: products, closures by special structure, paths, packed bits."""
