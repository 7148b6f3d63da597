"""Distances from few sources in a CSR matrix of lengths ≥ 0, one search after the other or one from all."""

from __future__ import annotations

import numpy as np

from ..host.types import Matrix


def dijkstra(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> np.ndarray:
    """Distances ≤ limit from each source, float64 (sources, n), ∞ beyond; every stored entry of A is an arc."""
    found, look = np.empty((len(sources), A.shape[0])), _Search(A, limit)
    for k, row in enumerate(found):
        row[:] = look(sources[k : k + 1])["distance"]
    return found


def nearest(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each vertex from the nearest of several sources, and its index among them, any of equals or −1."""
    found = _Search(A, limit)(sources)
    return found["distance"].copy(), found["source"]


class _Search:
    """Searches of one matrix, in one workspace."""

    def __init__(self, A: Matrix, limit: float) -> None:
        from ..kernels.cpu.sparse.dijkstra import NODE, search

        n, self.search = A.shape[0], search
        arcs = A.indptr, A.indices, np.ascontiguousarray(A.data, np.float64)
        self.arcs = [x if x.flags.writeable else x.copy() for x in arcs]  # as the kernel is compiled for
        self.limit, self.workspace = float(limit), (np.empty(n, NODE), np.empty(n), np.empty(n, np.int32))

    def __call__(self, sources: np.ndarray) -> np.ndarray:
        self.search(*self.arcs, sources.astype(np.int32), self.limit, *self.workspace)
        return self.workspace[0]
