"""A `Graph`, unchanged."""

from __future__ import annotations

from ..graph import Graph
from .base import Kind

KIND = Kind(
    "a Graph",
    lambda source, reading: isinstance(source, Graph),
    lambda source, reading: source,
)
