"""Closures that fast memory does not hold, or that must survive an interruption: windows, super-blocks, checkpoints."""
