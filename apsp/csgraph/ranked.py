"""Yen's k shortest simple paths, in SciPy's shapes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from semiring.algebra.catalog import min_plus
from semiring.dense.ranking import Ranking, take_all
from semiring.dense.routes import NONE
from semiring.host.spelling import came
from semiring.host.types import Array

from .conversion import network
from .engines import Rows
from .shortest import within_reach


def yen(
    csgraph: Array,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """The lengths of Yen's K shortest simple paths from source to sink: `scipy.sparse.csgraph.yen`.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse array or matrix, shape (n, n)
        As in `shortest_path`.
    source, sink : int
    K : int
        How many at most.
    directed : bool
        If False, an edge leads both ways, and the lesser of its two weights counts.
    return_predecessors : bool
    unweighted : bool
        Every edge weighs 1.

    Returns
    -------
    dist_array : float64 array, shape (M,)
        The best first; M ≤ K where there are fewer.
    predecessors : int32 array, shape (M, n)
        With `return_predecessors`: the vertex before j on path i, −9999 where j is not on it or is the source.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight that the source reaches; other negative edges are right.
    ValueError
        If source or sink is out of range, or K is negative.
    ShapeError, DTypeError, DomainError
        As `shortest_path`.
    MemoryNeeded
        If the tree of candidate paths does not fit.

    See Also
    --------
    apsp.shortest_paths : `Result.k_paths`, which keeps the distances, and lists paths by name.
    scipy.sparse.csgraph.yen : SciPy's own.

    Notes
    -----
    Cost and sources are those of `Result.k_paths`. SciPy before 1.14 has no such function.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.yen([[0, 1, 2, 0], [0, 0, 0, 1], [2, 0, 0, 3], [0, 0, 0, 0]], 0, 3, 5, return_predecessors=True)
    (array([2., 5.]), array([[-9999,     0, -9999,     1],
           [-9999, -9999,     0,     2]], dtype=int32))
    """
    graph = network(csgraph, directed=directed, unweighted=unweighted, where="yen")
    n, (source, sink, count) = graph.n, map(operator.index, (source, sink, K))
    if not (0 <= source < n and 0 <= sink < n):
        raise ValueError(f"yen: must have 0 <= source, sink < {n}, got {came(source)} and {came(sink)}.")
    if count < 0:
        raise ValueError(f"yen: K must be at least 0, got {count}.")
    rows = Rows(graph.canonical_arcs, np.array([source]))  # before the matrix is written to
    arcs, row = within_reach(rows, lambda part: (part.network, part.distances()[0]))
    ranking = Ranking(min_plus, (arcs.tails, arcs.heads, arcs.weights), n, where="yen")
    search = ranking.search(row, source, sink)
    take_all([search], count, 1)
    starts, vertices, steps = search.take()
    lengths = ranking.lengths(starts, steps)[:count]  # from a vertex to itself one is there from the start
    if not return_predecessors:
        return lengths
    P, inner = np.full((len(starts) - 1, n), NONE, np.int32), np.ones(len(vertices), bool)
    inner[starts[:-1]] = False
    path = np.repeat(np.arange(len(P)), np.diff(starts))
    P[path[inner], vertices[inner]] = vertices[np.flatnonzero(inner) - 1]
    return lengths, P[:count]
