"""A single best path from distances and edges, without predecessors."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Op, Semiring
from semiring.algebra.selection import require_selection
from semiring.host.devices import host
from semiring.host.errors import NoPathError
from semiring.host.types import Edges, Scalar

from ...io.graph import Graph

_INT64 = np.iinfo(np.int64)
#: `neighbours(x)`: heads and weights of x's out-edges.
Neighbours = Callable[[int], tuple[np.ndarray, np.ndarray]]


def best_path(u: int, v: int, to_v: np.ndarray, neighbours: Neighbours, semiring: Semiring) -> list[int]:
    """A best path u, …, v, given to_v = D[:, v].

    An edge (x, y) of weight w loses |D[x,v] − w ⊗ D[y,v]|, 0 on best walks. Dijkstra's algorithm finds the path of
    least total loss, fewest edges first among equals: edges and cycles of weight 0 cannot trap it, rounding causes only
    tiny losses, and no vertex repeats. This is A* (Hart, Nilsson, Raphael 1968) with a perfect heuristic: vertices off
    the best paths are not expanded. Raises AlgebraError if ⊕ is not selective, NoPathError.
    """
    require_selection(semiring, where="path")
    if u == v:
        return [u]
    zero = dtypes.zero(semiring, to_v.dtype)
    if dtypes.SCALARS[to_v.dtype].integer:
        to_v, zero = to_v.astype(np.int64), np.int64(zero)  # sums of two may not fit the original dtype
    mul = _exact_mul(semiring.mul) if dtypes.SCALARS[to_v.dtype].integer else semiring.mul.vectorized
    previous: dict[int, int] = {}
    settled: set[int] = set()
    queue: list[tuple[float, int, int, int]] = [(0.0, 0, u, u)]
    while queue:
        lost, edges, x, before = heapq.heappop(queue)
        if x in settled:
            continue
        settled.add(x)
        previous[x] = before
        if x == v:
            return trace(previous, u, v)
        heads, weights = neighbours(x)
        for y, loss in _losses(heads, weights, x, to_v, mul, zero):
            if y not in settled:
                heapq.heappush(queue, (lost + loss, edges + 1, y, x))
    raise NoPathError(
        f"path: distances must be those of the graph, got one for the vertices {u} and {v}, "
        "which its edges do not connect."
    )


def neighbours(graph: Graph, s: Semiring, dtype: np.dtype, edges: Edges | None) -> Neighbours:
    """Out-edges by vertex from CSR, or from the rows of a matrix."""
    if edges is None:
        windows, zero = graph.windows(s, dtype, where="path"), dtypes.zero(s, dtype)
        dense = graph.matrix(s, dtype) if windows is None else windows

        def row(x: int) -> tuple[np.ndarray, np.ndarray]:
            weights = host(dense[x : x + 1])[0]
            heads = np.flatnonzero(weights != zero)
            return heads, weights[heads]

        return row
    start, heads, weights = edges
    return lambda x: (heads[start[x] : start[x + 1]], weights[start[x] : start[x + 1]])


def _losses(
    heads: np.ndarray, weights: np.ndarray, x: int, to_v: np.ndarray, mul: Callable, zero: Scalar
) -> Iterable[tuple[int, float]]:
    """The loss of each out-edge of x whose head reaches v; exact for integers, as floats would round beyond 2⁵³."""
    with np.errstate(all="ignore"):
        walk = mul(weights, to_v[heads])
        rounded = np.nan if dtypes.SCALARS[to_v.dtype].integer else np.abs(walk.astype(np.float64) - float(to_v[x]))
        loss = np.where((walk == to_v[x]).astype(bool), 0.0, rounded)
    useful = np.flatnonzero((to_v[heads] != zero) & ~np.isnan(loss))
    return zip(heads[useful].tolist(), loss[useful].tolist(), strict=True)


def _exact_mul(mul: Op) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """⊗ on int64 vectors (on objects without a ufunc), saturating."""
    ufunc = mul.ufunc
    if ufunc is None:
        return np.frompyfunc(mul.python, 2, 1)
    if not mul.saturating:
        return ufunc

    def saturating(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        fitted, real = ufunc(a, b), ufunc(a.astype(np.float64), b.astype(np.float64))
        wrapped = np.abs(real - fitted) > 2.0**62  # by 2⁶⁴ or more, unlike rounding
        return np.where(wrapped, np.where(real > 0, _INT64.max, _INT64.min), fitted)

    return saturating


def trace(previous: Mapping[int, int] | np.ndarray, u: int, v: int) -> list[int]:
    """The walk u, …, v, each vertex behind its predecessor."""
    path = [v]
    while path[-1] != u:
        path.append(int(previous[path[-1]]))
    return path[::-1]
