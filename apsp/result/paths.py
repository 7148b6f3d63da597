"""One best path at a time, from distances and edges alone; no predecessor matrix is kept."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Op, Semiring
from semiring.errors import NoPathError
from semiring.selection import require_selection

_INT64 = np.iinfo(np.int64)
#: `neighbours(x)` → the heads of x's edges, and their weights.
Neighbours = Callable[[int], tuple[np.ndarray, np.ndarray]]


def best_path(u: int, v: int, to_v: np.ndarray, neighbours: Neighbours, semiring: Semiring) -> list[int]:
    """A best path u, …, v, given the best weights `to_v` of walks from every vertex to v.

    An edge (x, y) of weight w loses |D[x,v] − w ⊗ D[y,v]| against the best walk from x: nothing, if a best walk
    takes it. The path that loses least in all is found as Dijkstra's, fewest edges first among equals. Edges of
    weight 0 and cycles of them cannot trap it, rounding only makes losses tiny, and no vertex is visited twice.
    This is A* (Hart, Nilsson, Raphael 1968) with a perfect heuristic: vertices off the best paths are not expanded.

    Parameters
    ----------
    u, v : int
    to_v : array, shape (n,)
        D[:, v].
    neighbours : callable
        The out-edges of a vertex, in the dtype of `to_v`.
    semiring : Semiring
        One whose ⊕ selects: the best of two walks is one of them.

    Raises
    ------
    AlgebraError
        If ⊕ does not select (in plus_times a sum over paths is no path).
    NoPathError
        If there is no path.
    """
    require_paths(semiring)
    if u == v:
        return [u]
    zero = dtypes.zero(semiring, to_v.dtype)
    if to_v.dtype.kind == "i":
        to_v, zero = to_v.astype(np.int64), np.int64(zero)  # sums of two need not fit the dtype they came in
    mul = _exact_mul(semiring.mul) if to_v.dtype.kind == "i" else semiring.mul.vectorized
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
            return _trace(previous, u, v)
        heads, weights = neighbours(x)
        for y, loss in _losses(heads, weights, x, to_v, mul, zero):
            if y not in settled:
                heapq.heappush(queue, (lost + loss, edges + 1, y, x))
    raise NoPathError(
        f"path: distances must be those of the graph, got one for the vertices {u} and {v}, "
        "which its edges do not connect."
    )


def require_paths(semiring: Semiring) -> None:
    """Refuse a semiring whose sums belong to no single path."""
    require_selection(semiring, where="path")


def _losses(
    heads: np.ndarray, weights: np.ndarray, x: int, to_v: np.ndarray, mul: Callable, zero: Any
) -> Iterable[tuple[int, float]]:
    """What each edge out of x loses; edges from whose head v cannot be reached are left out.

    Integers are exact: a best path is made of edges that lose nothing, and the difference of others is not looked at,
    which floats would round to nothing beyond 2⁵³.
    """
    with np.errstate(all="ignore"):
        walk = mul(weights, to_v[heads])
        rounded = np.nan if to_v.dtype.kind == "i" else np.abs(walk.astype(np.float64) - float(to_v[x]))
        loss = np.where((walk == to_v[x]).astype(bool), 0.0, rounded)
    useful = np.flatnonzero((to_v[heads] != zero) & ~np.isnan(loss))
    return zip(heads[useful].tolist(), loss[useful].tolist(), strict=True)


def _exact_mul(mul: Op) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """⊗ on vectors of int64, or of integers of any size where there is no ufunc; what does not fit saturates."""
    ufunc = mul.ufunc
    if ufunc is None:
        return np.frompyfunc(mul.python, 2, 1)
    if not mul.saturating:
        return ufunc

    def saturating(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        fitted, real = ufunc(a, b), ufunc(a.astype(np.float64), b.astype(np.float64))
        wrapped = np.abs(real - fitted) > 2.0**62  # by 2⁶⁴ or more, which rounding is not
        return np.where(wrapped, np.where(real > 0, _INT64.max, _INT64.min), fitted)

    return saturating


def _trace(previous: dict[int, int], u: int, v: int) -> list[int]:
    path = [v]
    while path[-1] != u:
        path.append(previous[path[-1]])
    return path[::-1]
