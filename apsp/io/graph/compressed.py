"""A graph from a CSR matrix; a few searches need no list of edges."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from semiring.host.types import Array, Fields, Values

from ..labels import Labels
from . import Graph

#: Weights copied and checked at a time, within a core's cache.
TOGETHER = 1 << 15


class Compressed(Graph):
    """The graph of a float64 CSR matrix without NaN; its edge list is made on first use.

    `compressed` has 32-bit indices and is read-only, None once replaced; `bounds` are the extreme weights, if known.
    """

    compressed: Any = None
    bounds: tuple[float, float] | None = None

    @staticmethod
    def of(matrix: Array) -> Compressed | None:
        """The graph of a copy of a consistent CSR matrix; None if an index is out of range, or a weight is NaN."""
        data, indices, n = matrix.data, matrix.indices, matrix.shape[1]
        weights, heads = np.empty_like(data, subok=False), np.empty(len(indices), np.int32)
        least, greatest, unsigned = [], [], f"u{indices.itemsize}"
        for first in range(0, len(weights), TOGETHER):
            last = first + TOGETHER
            part, ends = weights[first:last], indices[first:last]
            part[:], heads[first:last] = data[first:last], ends
            if np.maximum.reduce(ends.view(unsigned)) >= n:  # as unsigned integers, negative ones are too large
                return None
            least.append(np.minimum.reduce(part))
            greatest.append(np.maximum.reduce(part))
        bounds = (np.minimum.reduce(least).item(), np.maximum.reduce(greatest).item()) if least else None
        if bounds is not None and bounds[0] != bounds[0]:
            return None
        own = copy(matrix)
        own.data, own.indices, own.indptr = weights, heads, matrix.indptr.astype(np.int32)
        return Compressed.around(own, bounds)

    @staticmethod
    def around(own: Any, bounds: tuple[float, float] | None = None) -> Compressed:
        """The graph of a matrix that nobody else writes to, unchecked and uncopied."""
        n, graph = own.shape[0], object.__new__(Compressed)
        vars(graph).update(_DEFAULTS, n=n, labels=Labels(range(n)), compressed=own, bounds=bounds)
        return graph

    @cached_property
    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.n), np.diff(self.compressed.indptr))

    @cached_property
    def cols(self) -> np.ndarray:
        return self.compressed.indices.astype(np.int64)

    @cached_property
    def weights(self) -> np.ndarray:
        weights: np.ndarray = self.compressed.data
        return weights

    @property
    def edge_count(self) -> int:
        return len(self.weights)

    def __reduce__(self) -> Values:
        return Graph, tuple(getattr(self, field.name) for field in fields(Graph))

    def __repr__(self) -> str:
        return "Graph" + super().__repr__().removeprefix(type(self).__qualname__)


#: Defaults of the fields that a graph given by its edges leaves out.
_DEFAULTS: Fields = {
    f.name: f.default for f in fields(Graph) if f.name not in ("n", "labels", "rows", "cols", "weights")
}
