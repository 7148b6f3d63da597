"""Single shortest walks, in edges, by breadth-first search (Moore 1959)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semiring.algebra.catalog import lor_land
from semiring.host.devices import host
from semiring.host.types import Array

from ...io.graph import Graph
from ..result.paths import trace

#: `walks(u, v)`: positions u, …, v along a walk of the fewest edges, at least one; it must exist.
Walks = Callable[[int, int], list[int]]


def walks_of(graph: Graph) -> Walks:
    """Walks of a graph: SciPy searches an edge list, a matrix is searched by rows."""
    return _of_list(graph) if graph.dense is None else _of_matrix(graph)


def walk_to_nearest(A: Array, u: int, ends: np.ndarray) -> list[int]:
    """Positions from u to the nearest vertex in the mask `ends`, along a SciPy sparse matrix."""
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(A, u)
    return trace(before, u, int(order[ends[order].argmax()]))  # vertices are found in order of distance


def _of_list(graph: Graph) -> Walks:
    A = graph.to_scipy(lor_land)

    def walk(u: int, v: int) -> list[int]:
        leads = np.zeros(graph.n, bool)
        leads[np.repeat(np.arange(graph.n), np.diff(A.indptr))[A.indices == v]] = True
        return [*walk_to_nearest(A, u, leads), v]

    return walk


def _of_matrix(graph: Graph) -> Walks:
    windows = graph.windows(lor_land)
    A = graph.matrix(lor_land) if windows is None else windows

    def walk(u: int, v: int) -> list[int]:
        before, fresh = np.full(graph.n, -1), np.ones(graph.n, bool)
        fresh[u] = False
        level = [u]
        while level:
            following: list[int] = []
            for x in level:
                row = host(A[x : x + 1])[0]
                if row[v]:
                    return [*trace(before, u, x), v]
                new = np.flatnonzero(row & fresh)
                before[new], fresh[new] = x, False
                following += new.tolist()
            level = following
        raise AssertionError(f"no walk from {u} to {v}")

    return walk
