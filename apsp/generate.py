"""Graph generators: cycles, random graphs of exact density, grids, road-like graphs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from semiring.host.memory import require
from semiring.host.spelling import came

from .io.graph import Graph

#: Points triangulated together; beyond that, points per square.
TOGETHER, SQUARE = 1 << 18, 2000


def cycle(n: int, *, directed: bool = True, weight: float = 1) -> Graph:
    """The n-cycle 0 → 1 → … → n − 1 → 0.

    Parameters
    ----------
    n : int
        Number of vertices; a single vertex has a loop.
    directed : bool
    weight : int or float
        Of every edge.

    Raises
    ------
    ValueError, MemoryNeeded
        If n is negative; if the edges do not fit.

    See Also
    --------
    grid, random_graph, road_like : Other graphs.

    Notes
    -----
    O(n) time and memory.

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
        tails, (tails + 1) % max(n, 1), np.full(len(tails), weight), n=n, directed=directed,
        name=f"{'directed' if directed else 'undirected'} {n}-cycle",
    )  # fmt: skip


def random_graph(
    n: int,
    density: float,
    *,
    seed: int | np.random.Generator,
    weights: tuple[float, float] | None = (1, 100),
    integer: bool = True,
    directed: bool = True,
) -> Graph:
    """A uniformly random graph of n vertices and exactly round(density / 100 · n (n − 1)) arcs.

    Parameters
    ----------
    n : int
    density : float
        Percent, 0 … 100, of the n (n − 1) possible arcs, or n (n − 1) / 2 undirected edges; no loops, no duplicates.
    seed : int or numpy.random.Generator
        The same seed gives the same graph.
    weights : (low, high) or None
        Uniform: integers from low to high inclusive, or floats in [low, high). None for unweighted edges.
    integer : bool
        Whether weights are integers.
    directed : bool

    Raises
    ------
    ValueError, MemoryNeeded
        If an argument is out of range, or low > high; if the edges do not fit.

    See Also
    --------
    cycle, grid, road_like : Other graphs.
    semiring.random_matrix : Over any semiring.

    Notes
    -----
    Memory proportional to the edges: arc indices are drawn until enough differ; above half density, those to omit.

    Examples
    --------
    >>> random_graph(100, 5, seed=1).edge_count
    495
    """
    _require("random_graph", "n", n)
    if not 0 <= density <= 100:
        raise ValueError(f"random_graph: density is in percent and must lie in 0 … 100, got {density}.")
    rng = generator(seed, "random_graph")
    possible = n * (n - 1) if directed else n * (n - 1) // 2
    size = round(density / 100 * possible)
    # A byte for each possible arc, unless they are few: see _subset.
    _fits("random_graph", size, extra=possible if possible < 16 * size else 0)
    chosen = _subset(rng, possible, size)
    rows, cols = _arcs(chosen, n) if directed else _pairs(chosen)
    return Graph.from_arrays(
        rows, cols, _weights(rng, len(chosen), weights, integer), n=n, directed=directed,
        name=f"random {n} at {density:g} %",
    )  # fmt: skip


def grid(rows: int, cols: int, *, weight: float = 1) -> Graph:
    """The rows × cols grid, neighbours joined both ways; vertex r · cols + c is at (r, c).

    Parameters
    ----------
    rows, cols : int, at least 0
    weight : float
        Of every edge.

    Returns
    -------
    Graph
        With 2 · rows · cols − rows − cols edges.

    Raises
    ------
    ValueError, MemoryNeeded
        If a size is negative; if the edges do not fit.

    See Also
    --------
    cycle, random_graph, road_like : Other graphs.

    Notes
    -----
    O(rows · cols) time and memory. The distance from (r, c) to (s, d) is weight · (`|r − s| + |c − d|`).

    Examples
    --------
    >>> grid(2, 3).edge_count
    7
    """
    _require("grid", "rows", rows)
    _require("grid", "cols", cols)
    _fits("grid", 2 * rows * cols)
    vertices = np.arange(rows * cols).reshape(rows, cols)
    tails = np.concatenate((vertices[:, :-1].ravel(), vertices[:-1].ravel()))
    heads = np.concatenate((vertices[:, 1:].ravel(), vertices[1:].ravel()))
    return Graph.from_arrays(
        tails, heads, np.full(len(tails), weight), n=vertices.size, directed=False, name=f"{rows} × {cols} grid"
    )


def road_like(n: int, *, seed: int | np.random.Generator) -> Graph:
    """A planar, connected graph like a road network: n crossings, 1.3 edges a vertex, dense in towns.

    The Urquhart graph (Delaunay triangulation without the longest side of each triangle) of points, half in clusters.
    Vertices are numbered along a Z-order curve; weights are distances in whole metres, at least 1, on a square of 1 km²
    for every 10 crossings.

    Parameters
    ----------
    n : int
    seed : int or numpy.random.Generator
        The same seed gives the same graph.

    Returns
    -------
    Graph
        Undirected; integer weights.

    Raises
    ------
    ValueError
        If n is negative, or the seed is invalid.

    See Also
    --------
    cycle, grid, random_graph : Other graphs.

    Notes
    -----
    O(n log n) time, mostly SciPy's Delaunay triangulations; O(n) memory. Source: Urquhart 1980, "Algorithms for
    computation of relative neighbourhood graph".

    Examples
    --------
    >>> roads = road_like(1000, seed=1)
    >>> 1.1 < roads.edge_count / 1000 < 1.4
    True
    """
    _require("road_like", "n", n)
    side = 1000 * np.sqrt(n / 10)
    points, code = _towns(generator(seed, "road_like"), n)
    points = points * side
    if n < 3:
        edges = np.array([[0, 1]])[: max(n - 1, 0)]
    else:
        triangles = _delaunay(points, code, side)
        ends = [np.sort(triangles[:, pair], axis=1) for pair in ([1, 2], [2, 0], [0, 1])]
        length = np.stack([np.linalg.norm(points[u] - points[v], axis=1) for u, v in (x.T for x in ends)])
        longest = np.arange(3)[:, None] == length.argmax(axis=0)
        # A side of two triangles appears twice, first where it is the longest.
        sides = np.sort(np.concatenate([2 * (x[:, 0] * n + x[:, 1]) for x in ends]) + ~longest.ravel())
        first = np.concatenate(([True], sides[1:] >> 1 != sides[:-1] >> 1))
        edges = np.stack(np.divmod(sides[first & (sides & 1 == 1)] >> 1, n), axis=1)
    tails, heads = edges.reshape(-1, 2).T
    metres = np.linalg.norm(points[tails] - points[heads], axis=1)
    return Graph.from_arrays(
        tails, heads, np.maximum(metres.round(), 1).astype(np.int64), n=n, directed=False, name=f"{n} crossings"
    )


def _delaunay(points: np.ndarray, code: np.ndarray, side: float) -> np.ndarray:
    """Delaunay triangles, counterclockwise, of points in a square sorted along a Z-order curve (`code`).

    Each of 4ᵏ squares is triangulated alone, in cache (a quarter of the time). A triangle whose circumcircle lies in
    its square is final. Vertices of the others are triangulated together; of these triangles, those on the known side
    of a known edge are dropped.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import Delaunay

    n = len(points)
    k = round(math.log(n / SQUARE, 4)) if n > TOGETHER else 0
    squares = code >> np.uint64(2 * (16 - k))
    starts = np.flatnonzero(np.concatenate(([True], squares[1:] != squares[:-1])))
    complete, known = np.ones(n, bool), [np.empty((0, 3), np.int64)]
    for start, stop in itertools.pairwise([*starts.tolist(), n] if k else ()):
        if stop - start < 4:
            complete[start:stop] = False
            continue
        local = points[start:stop]
        low = np.floor(local.min(axis=0) * (2**k / side)) * (side / 2**k)
        found = Delaunay(local - low)  # small numbers, whose squares are rounded less
        inside = _inside(found.points[found.simplices], side / 2**k)
        vertices = np.concatenate((found.simplices[~inside].ravel(), found.convex_hull.ravel(), found.coplanar[:, 0]))
        complete[start + vertices] = False
        known.append(found.simplices[inside].astype(np.int64) + start)
    triangles = np.concatenate(known)
    if not len(triangles):
        whole: np.ndarray = Delaunay(points).simplices.astype(np.int64)
        return whole
    others = np.flatnonzero(~complete)
    joined = Delaunay(points[others])
    rest = others[joined.simplices]
    # Edge j is opposite vertex j; a known triangle and its neighbour traverse it in opposite directions.
    shared = triangles[(~complete[triangles]).sum(axis=1) > 1]
    left = _edges(shared, n).ravel()
    left = np.setdiff1d(left, left % n * n + left // n, assume_unique=True)
    edges = _edges(rest, n)
    missing, behind = np.isin(edges % n * n + edges // n, left), np.isin(edges, left)
    i, j = np.nonzero((joined.neighbors >= 0) & ~missing & ~behind)
    pairs = coo_array((np.ones(len(i), bool), (i, joined.neighbors[i, j])), shape=(len(rest), len(rest)))
    _, part = connected_components(pairs, directed=False)
    return np.concatenate((triangles, rest[np.isin(part, part[missing.any(axis=1)])]))


def _edges(triangles: np.ndarray, n: int) -> np.ndarray:
    """Edge keys tail · n + head, opposite each vertex."""
    edges: np.ndarray = triangles[:, [1, 2, 0]] * n + triangles[:, [2, 0, 1]]
    return edges


def _inside(corners: np.ndarray, side: float) -> np.ndarray:
    """Mask of triangles (k, 3, 2) whose circumcircle lies in [0, side]², with a margin."""
    a, (b, c) = corners[:, 0], np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 0.5 / (b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0])
        bb, cc = (b**2).sum(axis=1) * scale, (c**2).sum(axis=1) * scale
        offset = np.stack((c[:, 1] * bb - b[:, 1] * cc, b[:, 0] * cc - c[:, 0] * bb), axis=1)
        reach = 1.000001 * np.hypot(*offset.T)[:, None]
        found: np.ndarray = ((a + offset - reach >= 0) & (a + offset + reach <= side)).all(axis=1)
    return found


def _towns(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n points of the unit square, half in clusters, sorted by Z-order code; and the codes."""
    count = max(1, n // 1000)
    centres, spread = rng.random((count, 2)), 0.3 / np.sqrt(count) * rng.random(count)
    town = rng.integers(count, size=n // 2)
    around = centres[town] + spread[town, None] * rng.normal(size=(n // 2, 2))
    points = np.concatenate((around % 1.0, rng.random((n - n // 2, 2))))
    cells = (points * 2**16).astype(np.uint64)
    code = np.zeros(n, np.uint64)
    for bit in range(16):
        for axis in range(2):
            code |= ((cells[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(2 * bit + axis)
    order = np.argsort(code, kind="stable")
    return points[order], code[order]


def _subset(rng: np.random.Generator, possible: int, size: int) -> np.ndarray:
    if 2 * size > possible:
        mask = np.ones(possible, dtype=bool)
        mask[_subset(rng, possible, possible - size)] = False
        return np.flatnonzero(mask)
    # Equivalent to drawing one by one until enough differ: each round draws only the missing number.
    if possible < 16 * size:  # a byte each costs no more than the edges
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
    """Arc k of n (n − 1): tail ⌊k / (n − 1)⌋; heads are all other vertices."""
    tails, heads = np.divmod(index, max(n - 1, 1))
    return tails, heads + (heads >= tails)


def _pairs(index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair k: the greatest u with u (u − 1) / 2 ≤ k, and v = k − u (u − 1) / 2 < u."""
    u = ((1 + np.sqrt(1 + 8 * index.astype(np.float64))) / 2).astype(np.int64)
    # Correct the rounding of the square root by one step.
    u -= u * (u - 1) // 2 > index
    u += u * (u + 1) // 2 <= index
    return index - u * (u - 1) // 2, u


def _weights(rng: np.random.Generator, size: int, weights: tuple[float, float] | None, integer: bool) -> Any:
    if weights is None:
        return None
    low, high = weights if len(weights) == 2 else (math.inf, 0)
    if not (low <= high and math.isfinite(high - low)):
        raise ValueError(f"random_graph: weights must be (low, high), finite, with low ≤ high, got {came(weights)}.")
    if not integer:
        return rng.uniform(low, high, size=size)
    if low != int(low) or high != int(high):
        raise ValueError(
            f"random_graph: integer weights must have integer bounds, got {came(weights)}. Pass integer=False."
        )
    if not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"random_graph: integer weights must fit int64, got {came(weights)}. Pass integer=False.")
    return rng.integers(int(low), int(high), size=size, endpoint=True)


def _require(what: str, name: str, size: int) -> None:
    if not (hasattr(size, "__index__") and size >= 0):
        raise ValueError(f"{what}: {name} must be an integer of 0 or more, got {came(size)}.")


#: Bytes an edge while building: ends, weights, a second copy of the ends.
_EDGE = 64


def _fits(what: str, edges: int, extra: int = 0) -> None:
    require(edges * _EDGE + extra, where=what, hint="Ask for fewer vertices or edges.")


def generator(seed: int | np.random.Generator, where: str) -> np.random.Generator:
    """Random numbers of a seed; ValueError for what is none."""
    try:
        return np.random.default_rng(seed)
    except (ValueError, TypeError):
        raise ValueError(f"{where}: seed must be an integer from 0 on, or a Generator, got {came(seed)}.") from None
