"""Trees and lengths of paths from SciPy's predecessors: P[i, j] is the vertex before j on a path from i."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

from semiring.algebra.catalog import min_plus
from semiring.dense.ranking import Ranking, take_all
from semiring.dense.routes import NONE
from semiring.host.errors import DomainError, DTypeError, ShapeError
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Matrix

from .conversion import FLOAT, Network, as_number, network
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
    refuse_texts("yen", directed=directed, return_predecessors=return_predecessors, unweighted=unweighted)
    graph = network(csgraph, directed=directed, unweighted=unweighted, where="yen")
    n = graph.n
    try:
        source, sink, count = map(operator.index, (source, sink, K))
    except TypeError:
        raise DTypeError(f"yen: source, sink and K must be integers, got {came((source, sink, K))}.") from None
    if not (0 <= source < n and 0 <= sink < n):
        raise ValueError(f"yen: must have 0 <= source, sink < {n}, got {came(source)} and {came(sink)}.")
    if count < 0:
        raise ValueError(f"yen: K must be at least 0, got {count}.")
    rows = Rows(graph.canonical_arcs, np.array([source]))  # before the matrix is written to
    arcs, row = within_reach(rows, lambda part: (part.network, part.distances()[0]), "yen")
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


def reconstruct_path(csgraph: Array, predecessors: Array, directed: bool = True) -> Matrix:
    """The shortest-path tree of one vertex with the graph's weights: `scipy.sparse.csgraph.reconstruct_path`.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse array or matrix, shape (n, n)
        As in `shortest_path`.
    predecessors : array_like of int, shape (n,)
        One row of predecessors; negative for none.
    directed : bool
        If False, the lesser weight of both directions.

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
        A csr_matrix if csgraph is a sparse matrix.

    Raises
    ------
    ShapeError, DTypeError, ValueError
        If predecessors do not fit the graph, or use a missing edge.

    See Also
    --------
    shortest_path, construct_dist_matrix : Predecessors; lengths of their paths.
    scipy.sparse.csgraph.reconstruct_path : SciPy's own.

    Notes
    -----
    At most n − 1 arcs of 12 bytes.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.reconstruct_path([[0, 1, 2], [0, 0, 0], [0, 0, 0]], [-9999, 0, 0]).toarray()
    array([[0., 1., 2.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    where = "reconstruct_path"
    graph = _network_of(csgraph, directed, where)
    before = np.asarray(predecessors)
    if before.shape != (graph.n,):
        raise ShapeError(f"{where}: predecessors must have shape ({graph.n},), got {before.shape}.")
    _check_predecessors(before, graph.n, where)
    heads = np.flatnonzero(before >= 0)
    tails = before[heads].astype(np.int64)
    weights = _weights(graph, tails, heads, where)
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(graph.n + 1)).astype(np.int32)
    kind = scipy.sparse.csr_matrix if scipy.sparse.isspmatrix(csgraph) else scipy.sparse.csr_array
    return kind((weights[order], heads[order].astype(np.int32), starts), shape=(graph.n, graph.n))


def construct_dist_matrix(
    graph: Array, predecessors: Array, directed: bool = True, null_value: float = np.inf
) -> np.ndarray:
    """The lengths of the paths in a predecessor matrix: `scipy.sparse.csgraph.construct_dist_matrix`.

    Parameters
    ----------
    graph : array_like, masked array, or sparse array or matrix, shape (n, n)
        As in `shortest_path`.
    predecessors : int32 array, shape (n, n)
    directed : bool
        If False, the lesser weight of both directions.
    null_value : float
        The entry for no path.

    Returns
    -------
    float64 array, shape (n, n)

    Raises
    ------
    TypeError, ShapeError, ValueError
        If predecessors are not int32, do not fit the graph, use a missing edge, or form a cycle.

    See Also
    --------
    shortest_path, reconstruct_path : Predecessors; the tree of one row.
    scipy.sparse.csgraph.construct_dist_matrix : SciPy's own.

    Notes
    -----
    Pointer jumping with log₂ n doublings: O(n² log n) time, O(n²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import csgraph
    >>> A = [[0, 5, 0], [0, 0, 4], [0, 0, 0]]
    >>> csgraph.construct_dist_matrix(A, csgraph.shortest_path(A, return_predecessors=True)[1])
    array([[ 0.,  5.,  9.],
           [inf,  0.,  4.],
           [inf, inf,  0.]])
    """
    where = "construct_dist_matrix"
    null_value = as_number(null_value, where, "null_value")
    own, before = _network_of(graph, directed, where), np.asarray(predecessors)
    n = own.n
    if before.dtype != np.int32:
        raise DTypeError(f"{where}: predecessors must be int32, got {before.dtype}.")
    if before.shape != (n, n):
        raise ShapeError(f"{where}: predecessors must have shape {(n, n)}, got {before.shape}.")
    _check_predecessors(before, n, where)
    M, D = own.matrix, np.zeros((n, n))
    for i, row in enumerate(before):
        has_path = row >= 0
        has_path[i] = False
        ancestor = np.where(has_path, row, np.arange(n))
        length = np.where(has_path, M[ancestor, np.arange(n)], 0.0)
        for _ in range(max(n - 1, 1).bit_length()):
            length, ancestor = length + length[ancestor], ancestor[ancestor]
        D[i] = length
        if has_path[ancestor].any():
            raise ValueError(f"{where}: predecessors must lead back to the source, got a cycle in row {i}.")
        if np.isinf(length).any():
            raise ValueError(f"{where}: predecessors must follow edges of the graph, got others in row {i}.")
    D[(before < 0) & ~np.eye(n, dtype=bool)] = null_value
    return D


def _network_of(csgraph: Array, directed: bool, where: str) -> Network:
    """The network of the paths; raises DomainError where SciPy's weights here differ from its searches'."""
    refuse_texts(where, directed=directed)
    graph = network(csgraph, dense=True, where=where)
    if graph.dense is None:
        if not directed and ((graph.weights == 0) & (graph.tails != graph.heads)).any():
            raise DomainError(
                f"{where}: edges of weight 0 that lead both ways are none to SciPy here, and edges to its searches. "
                "Say directed=True, with a matrix that holds both directions."
            )
        graph.without_duplicates("to walk in", where)
    return graph if directed else graph.symmetrized()


def _check_predecessors(before: np.ndarray, n: int, where: str) -> None:
    if before.dtype.kind not in "iu":
        raise DTypeError(f"{where}: predecessors must be integers, got dtype {before.dtype}.")
    if before.size and before.max() >= n:
        raise ValueError(f"{where}: predecessors must be vertices below {n}, got {before.max()}.")


def _weights(graph: Network, tails: np.ndarray, heads: np.ndarray, where: str) -> np.ndarray:
    own = graph.canonical_arcs
    keys = own.tails.astype(np.int64) * graph.n + own.heads
    wanted = tails * graph.n + heads
    index = np.searchsorted(keys, wanted)
    found = index < len(keys)
    found[found] = keys[index[found]] == wanted[found]
    if not found.all():
        k = int(np.argmin(found))
        raise ValueError(f"{where}: predecessors must follow edges of the graph, got {tails[k]} before {heads[k]}.")
    return own.weights[index].astype(FLOAT)
