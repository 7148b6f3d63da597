"""A graph that came as a compressed sparse matrix, of which few searches need no list of edges."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from ..labels import Labels
from . import Graph
from .nulls import Nulls


class Compressed(Graph):
    """The graph of a csr matrix of float64 without NaN, whose list of edges is made when it is first looked at.

    Attributes
    ----------
    compressed : scipy.sparse.csr_array, or None
        With indices of 32 bits; read only. None once other edges or weights replaced its own.
    """

    compressed: Any = None

    @staticmethod
    def of(matrix: Any) -> Compressed:
        """The graph of a matrix whose indices are consistent, and fit 32 bits; it is copied."""
        n = matrix.shape[0]
        graph = object.__new__(Compressed)
        indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        own = type(matrix)((matrix.data.copy(), indices, starts), shape=matrix.shape)
        listed = {"rows", "cols", "weights"}
        vars(graph).update({field.name: field.default for field in fields(Graph) if field.name not in listed})
        vars(graph).update(n=n, labels=Labels(range(n)), compressed=own)
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
        if directed is not False and weighted and nulls is None and not name and places is None:
            return self
        make, edges = self.__reduce__()
        listed: Graph = make(*edges)
        return listed.having(directed=directed, weighted=weighted, nulls=nulls, name=name, places=places)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a list of edges."""
        return Graph, tuple(getattr(self, field.name) for field in fields(Graph))

    def __repr__(self) -> str:
        return "Graph" + super().__repr__().removeprefix(type(self).__qualname__)
