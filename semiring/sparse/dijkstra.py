"""Distances from few sources in a CSR matrix of lengths ≥ 0, one search after the other or one from all."""

from __future__ import annotations

import numpy as np

from ..host.types import Matrix

#: Vertices and arcs of searches between which Ctrl-C is heard.
TOGETHER = 1 << 22


def dijkstra(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> np.ndarray:
    """Distances ≤ limit from each source, float64 (sources, n), ∞ beyond; every stored entry of A is an arc."""
    return _search(A, sources, np.arange(1, len(sources) + 1), limit)[0]


def neighbours(A: Matrix, sources: np.ndarray, limit: float, most: int) -> float | None:
    """Mean number of vertices within the limit of a source; None if one has more than `most`."""
    found, _, rows = _search(A, sources, np.arange(1, len(sources) + 1), limit, most)
    return np.count_nonzero(np.isfinite(found)) / max(1, rows) if rows == len(sources) else None


def nearest(A: Matrix, sources: np.ndarray, limit: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each vertex from the nearest of several sources, and its index among them, any of equals or −1."""
    found, nodes, _ = _search(A, sources, np.array([len(sources)]), limit)
    return found[0], nodes["source"]


def _search(
    A: Matrix, sources: np.ndarray, ends: np.ndarray, limit: float, most: int = 1 << 32
) -> tuple[np.ndarray, np.ndarray, int]:
    """Distances from the sources that end there, a row each, the records of the last row, and the number of rows.

    Rows end before the first that settles more than `most` vertices.
    """
    from ..kernels.cpu.sparse.dijkstra import NODE, search

    n, sources = A.shape[0], sources.astype(np.int32)
    arcs = [x if x.flags.writeable else x.copy() for x in (A.indptr, A.indices, np.ascontiguousarray(A.data, float))]
    workspace = np.empty(n, NODE), np.empty(n), np.empty(n, np.int32)
    found, step = np.empty((len(ends), n)), 1 + TOGETHER // (1 + n + len(arcs[1]))
    for row in range(0, len(ends), step):
        first = ends[row - 1] if row else 0
        here = ends[row : row + step] - first
        given = sources[first : first + here[-1]], here, float(limit), most, *workspace, found[row : row + step]
        if (rows := search(*arcs, *given)) < len(here):
            return found, workspace[0], row + rows
    return found, workspace[0], len(ends)
