"""Edges as tuples (u, v) or (u, v, weight) in any iterable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..graph import Graph
from ..reading.options import Reading
from .base import Kind


def recognises(source: Any, reading: Reading) -> bool:
    """A list containing a tuple, or an iterator."""
    if isinstance(source, (list, tuple, set, frozenset)):
        return any(isinstance(item, tuple) for item in source) or isinstance(source, (set, frozenset))
    arrays = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return (
        isinstance(source, Iterable)
        and not isinstance(source, memoryview)
        and not any(hasattr(source, sign) for sign in arrays)
    )


KIND = Kind("edges as tuples", recognises, lambda source, reading: Graph.from_edges(source), lists=True)
