"""Predecessors, paths and negative cycles, and what must be so of a closure."""
