"""Graphs to try things on: cycles, random graphs of exact density, grids. Every one is a `Graph`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semiring.memory import require

from .graph import Graph


def cycle(n: int, *, directed: bool = True, weight: float = 1) -> Graph:
    """The n-cycle 0 → 1 → … → n − 1 → 0; undirected, its edges lead both ways.

    Parameters
    ----------
    n : int
        Vertices, 0 or more; one vertex has a loop.
    directed : bool
    weight : int or float
        Of every edge.

    Raises
    ------
    ValueError
        If n is negative.

    Examples
    --------
    >>> cycle(3).matrix("min_plus", "float64")
    array([[inf,  1., inf],
           [inf, inf,  1.],
           [ 1., inf, inf]])
    """
    _require("cycle", "n", n)
    _fits("cycle", n)
    tails = np.arange(n)
    if n == 2 and not directed:
        tails = tails[:1]  # 0 — 1 and 1 — 0 are one edge
    return Graph.from_arrays(
        tails,
        (tails + 1) % max(n, 1),
        np.full(len(tails), weight),
        n=n,
        directed=directed,
        name=f"{'directed' if directed else 'undirected'} {n}-cycle",
    )


def random_graph(
    n: int,
    density: float,
    *,
    seed: int | np.random.Generator,
    weights: tuple[float, float] | None = (1, 100),
    integer: bool = True,
    directed: bool = True,
) -> Graph:
    """n vertices and exactly round(density / 100 · n (n − 1)) arcs, every such graph equally likely.

    Parameters
    ----------
    n : int
        Vertices, 0 or more.
    density : float
        In percent, 0 … 100, of the n (n − 1) possible arcs; undirected, of the n (n − 1) / 2 possible edges. There
        are no loops and no duplicates.
    seed : int or numpy.random.Generator
        The same seed gives the same graph.
    weights : (low, high) or None
        Uniform: integers from low to high, both included, or floats in [low, high). None leaves edges unweighted.
    integer : bool
        Whether weights are integers.
    directed : bool

    Raises
    ------
    ValueError
        If n or the density lies outside its range, or low > high.

    Notes
    -----
    Memory is proportional to the edges: indices of arcs are drawn until enough differ. Above half density the arcs
    to leave out are drawn so instead.

    Examples
    --------
    >>> random_graph(100, 5, seed=1).edge_count
    495
    """
    _require("random_graph", "n", n)
    if not 0 <= density <= 100:
        raise ValueError(f"random_graph: density is in percent and must lie in 0 … 100, got {density}.")
    rng = np.random.default_rng(seed)
    possible = n * (n - 1) if directed else n * (n - 1) // 2
    size = round(density / 100 * possible)
    # A byte for each possible arc, unless they are few: see _subset.
    _fits("random_graph", size, extra=possible if possible < 16 * size else 0)
    chosen = _subset(rng, possible, size)
    rows, cols = _arcs(chosen, n) if directed else _pairs(chosen)
    return Graph.from_arrays(
        rows,
        cols,
        _weights(rng, len(chosen), weights, integer),
        n=n,
        directed=directed,
        name=f"random {n} at {density:g} %",
    )


def grid(rows: int, cols: int, *, weight: float = 1) -> Graph:
    """The rows × cols grid, neighbours joined both ways; vertex r · cols + c stands at (r, c).

    The distance from (r, c) to (s, d) is weight · (|r − s| + |c − d|).

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> grid(2, 3).edge_count
    7
    """
    _require("grid", "rows", rows)
    _require("grid", "cols", cols)
    _fits("grid", 2 * rows * cols)
    at = np.arange(rows * cols).reshape(rows, cols)
    tails = np.concatenate((at[:, :-1].ravel(), at[:-1].ravel()))
    heads = np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))
    return Graph.from_arrays(
        tails, heads, np.full(len(tails), weight), n=at.size, directed=False, name=f"{rows} × {cols} grid"
    )


def _subset(rng: np.random.Generator, possible: int, size: int) -> np.ndarray:
    """`size` of the integers below `possible`, sorted, every subset equally likely."""
    if 2 * size > possible:
        keep = np.ones(possible, dtype=bool)
        keep[_subset(rng, possible, possible - size)] = False
        return np.flatnonzero(keep)
    # Drawn one by one until enough differ; that only as many as are missing are drawn at once makes it the same.
    if possible < 16 * size:  # a byte for each of them costs no more than the edges
        taken = np.zeros(possible, dtype=bool)
        while missing := size - np.count_nonzero(taken):
            taken[rng.integers(possible, size=missing)] = True
        return np.flatnonzero(taken)
    found = np.sort(rng.integers(possible, size=size))
    while True:
        again = np.flatnonzero(found[1:] == found[:-1]) + 1
        if not len(again):
            return found
        found[again] = rng.integers(possible, size=len(again))
        found.sort()


def _arcs(index: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Arc k of n (n − 1): tail ⌊k / (n − 1)⌋; the heads of each tail are all vertices but itself."""
    tails, heads = np.divmod(index, max(n - 1, 1))
    return tails, heads + (heads >= tails)


def _pairs(index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair k: the greatest u with u (u − 1) / 2 ≤ k, and v = k − u (u − 1) / 2 < u."""
    u = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    # The square root rounds: one step either way puts it right.
    u -= u * (u - 1) // 2 > index
    u += u * (u + 1) // 2 <= index
    return index - u * (u - 1) // 2, u


def _weights(rng: np.random.Generator, size: int, weights: tuple[float, float] | None, integer: bool) -> Any:
    if weights is None:
        return None
    low, high = weights
    if not (low <= high and math.isfinite(high - low)):
        raise ValueError(f"random_graph: weights must be (low, high), finite, with low ≤ high, got {weights}.")
    if not integer:
        return rng.uniform(low, high, size=size)
    if low != int(low) or high != int(high):
        raise ValueError(f"random_graph: integer weights must have integer bounds, got {weights}. Pass integer=False.")
    if not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"random_graph: integer weights must fit int64, got {weights}. Pass integer=False.")
    return rng.integers(int(low), int(high), size=size, endpoint=True)


def _require(what: str, name: str, size: int) -> None:
    if size < 0:
        raise ValueError(f"{what}: {name} must be 0 or more, got {size}.")


#: What making a graph of that many edges holds, in bytes an edge: ends, weights, and a second copy of the ends.
_EDGE = 64


def _fits(what: str, edges: int, extra: int = 0) -> None:
    require(edges * _EDGE + extra, where=what, hint="Ask for fewer vertices or edges.")
