"""A graph that came as a compressed sparse matrix, of which few searches need no list of edges."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..labels import Labels
from . import Graph
from .nulls import Nulls

#: Weights that are copied and looked at together: they stay in a core's cache.
TOGETHER = 1 << 15


class Compressed(Graph):
    """The graph of a csr matrix of float64 without NaN, whose list of edges is made when it is first looked at.

    Attributes
    ----------
    compressed : scipy.sparse.csr_array, or None
        With indices of 32 bits; read only. None once other edges or weights replaced its own.
    bounds : (float, float), or None
        The least and the greatest of its weights, where they are known.
    """

    compressed: Any = None
    bounds: tuple[float, float] | None = None

    @staticmethod
    def of(matrix: Any) -> Compressed | None:
        """The graph of a copy of a csr matrix, whose row pointers are consistent and fit 32 bits.

        None if an index is out of range, or a weight is NaN.
        """
        data, indices, n = matrix.data, matrix.indices, matrix.shape[1]
        weights, heads = np.empty_like(data, subok=False), np.empty(len(indices), np.int32)
        least, greatest, unsigned = [], [], f"u{indices.itemsize}"
        for first in range(0, len(weights), TOGETHER):
            last = first + TOGETHER
            part, ends = weights[first:last], indices[first:last]
            part[:], heads[first:last] = data[first:last], ends
            if np.maximum.reduce(ends.view(unsigned)) >= n:  # as unsigned integers, those below 0 are too large
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
        """The graph of a matrix that nobody else writes to, of which nothing is checked or copied."""
        n, graph = own.shape[0], object.__new__(Compressed)
        vars(graph).update(_defaults(), n=n, labels=Labels(range(n)), compressed=own, bounds=bounds)
        return graph

    @cached_property
    def rows(self) -> np.ndarray:
        """The positions that each edge leaves."""
        return np.repeat(np.arange(self.n), np.diff(self.compressed.indptr))

    @cached_property
    def cols(self) -> np.ndarray:
        """The positions that each edge enters."""
        return self.compressed.indices.astype(np.int64)

    @cached_property
    def weights(self) -> np.ndarray:
        """One weight an edge."""
        weights: np.ndarray = self.compressed.data
        return weights

    @property
    def edge_count(self) -> int:
        """Edges, duplicates too."""
        return len(self.weights)

    def having(
        self,
        *,
        directed: bool | None = None,
        weighted: bool = True,
        nulls: Nulls = None,
        name: str = "",
        places: Any = None,
    ) -> Graph:
        """As of any graph, listed; itself if nothing else is known of it."""
        if directed is not False and weighted and not nulls and not name and places is None:
            return self
        make, edges = self.__reduce__()
        listed: Graph = make(*edges)
        return listed.having(directed=directed, weighted=weighted, nulls=nulls, name=name, places=places)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a list of edges."""
        return Graph, tuple(getattr(self, field.name) for field in fields(Graph))

    def __repr__(self) -> str:
        return "Graph" + super().__repr__().removeprefix(type(self).__qualname__)


@cache
def _defaults() -> dict[str, Any]:
    """What is said of a graph of which nothing is known but its edges."""
    listed = {"n", "labels", "rows", "cols", "weights"}
    return {field.name: field.default for field in fields(Graph) if field.name not in listed}
