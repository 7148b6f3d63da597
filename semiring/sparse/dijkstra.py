"""Distances from few sources in a CSR matrix of lengths ≥ 0, one search after the other or one from all."""

from __future__ import annotations

import numpy as np

from ..host.types import Matrix

#: Vertices and arcs of searches between which Ctrl-C is heard.
TOGETHER = 1 << 22


def dijkstra(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> np.ndarray:
    """Distances ≤ limit from each source, float64 (sources, n), ∞ beyond; every stored entry of A is an arc."""
    return _search(A, sources, np.arange(1, len(sources) + 1), limit)[0]


def nearest(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each vertex from the nearest of several sources, and its index among them, any of equals or −1."""
    found, nodes = _search(A, sources, np.array([len(sources)]), limit)
    return found[0], nodes["source"]


def _search(A: Matrix, sources: np.ndarray, ends: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances from the sources that end there, a row each, and the records of the last row."""
    from ..kernels.cpu.sparse.dijkstra import NODE, search

    n, sources = A.shape[0], sources.astype(np.int32)
    arcs = [x if x.flags.writeable else x.copy() for x in (A.indptr, A.indices, np.ascontiguousarray(A.data, float))]
    workspace, found = (np.empty(n, NODE), np.empty(n), np.empty(n, np.int32)), np.empty((len(ends), n))
    step = 1 + TOGETHER // (1 + n + len(arcs[1]))
    for row in range(0, len(ends), step):
        first = ends[row - 1] if row else 0
        here = ends[row : row + step] - first
        search(*arcs, sources[first : first + here[-1]], here, float(limit), *workspace, found[row : row + step])
    return found, workspace[0]
