"""Dense matrices: arrays of any library, and lists of lists."""

from __future__ import annotations

from typing import Any

from ..graph import Graph
from ..reading.options import Reading
from .base import Kind


def recognises(source: Any, reading: Reading) -> bool:
    """An array, or a list."""
    signs = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return isinstance(source, (list, tuple)) or any(hasattr(source, sign) for sign in signs)


KIND = Kind("a matrix, as an array or a list of lists", recognises, lambda source, reading: Graph.from_matrix(source))
