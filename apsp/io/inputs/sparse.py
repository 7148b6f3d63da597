"""Sparse matrices of SciPy and CuPy."""

from __future__ import annotations

from ..reading.from_sparse import from_sparse
from .base import Kind

KIND = Kind(
    "a SciPy sparse matrix",
    lambda source, reading: hasattr(source, "tocoo"),
    lambda source, reading: from_sparse(source),
)
