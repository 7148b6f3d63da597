"""Contractions of tensors over a semiring, their gradients, and linear chains."""
