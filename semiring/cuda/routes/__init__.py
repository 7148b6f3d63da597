"""Predecessors, and lengths and hops along them; and the kernels."""
