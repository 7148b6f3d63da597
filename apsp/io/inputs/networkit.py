"""NetworKit's `Graph`."""

from __future__ import annotations

import numpy as np

from semiring.host.types import Input

from ..graph import Graph
from ..reading.options import Reading
from .base import Kind


def convert(source: Input, reading: Reading) -> Graph:
    """Vertices by NetworKit's numbers, with gaps after removals."""
    places = np.fromiter(source.iterNodes(), dtype=np.int64)
    arcs = list(source.iterEdgesWeights())
    rows, cols = (np.searchsorted(places, np.array([arc[side] for arc in arcs], dtype=np.int64)) for side in (0, 1))
    weights = [w for _, _, w in arcs] if source.isWeighted() else None
    return Graph.from_arrays(rows, cols, weights, n=len(places), labels=places.tolist(), directed=source.isDirected())


KIND = Kind(
    "a NetworKit graph",
    lambda source, reading: hasattr(source, "iterEdgesWeights") and hasattr(source, "isDirected"),
    convert,
)
