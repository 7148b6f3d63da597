"""`scipy.sparse.csgraph` on the engines of `apsp`: `from apsp import csgraph` is all that changes.

>>> from apsp import csgraph
>>> csgraph.shortest_path([[0, 3, 0], [0, 0, 4], [1, 0, 0]])
array([[0., 3., 7.],
       [5., 0., 4.],
       [1., 4., 0.]])

The functions here have SciPy's signatures, conventions and results, and more keyword arguments: `device`, `dtype`,
`threads` and `callback`. Every other name is SciPy's own. docs/scipy-networkx.md says what differs.

The engine with the least predicted time computes, whatever `method` says: the dense closure, elimination of a sparse
graph, or SciPy's Dijkstra.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.csgraph as _scipys
from scipy.sparse.csgraph import NegativeCycleError

from semiring.observed import Callback
from semiring.spelling import came
from semiring.types import Array, DType

from .graphs import csgraph_from_dense, csgraph_from_masked, csgraph_to_dense
from .ranked import yen
from .routes import construct_dist_matrix, reconstruct_path
from .shortest import answer

_OWN = (
    *("shortest_path", "floyd_warshall", "dijkstra", "bellman_ford", "johnson", "NegativeCycleError"),
    *("reconstruct_path", "construct_dist_matrix", "csgraph_from_dense", "csgraph_to_dense", "csgraph_from_masked"),
    "yen",
)
__all__ = [
    "NegativeCycleError",
    "bellman_ford",
    "construct_dist_matrix",
    "csgraph_from_dense",
    "csgraph_from_masked",
    "csgraph_to_dense",
    "dijkstra",
    "floyd_warshall",
    "johnson",
    "reconstruct_path",
    "shortest_path",
    "yen",
]
__all__ += [name for name in _scipys.__all__ if name not in _OWN]

_METHODS = ("auto", "FW", "D", "BF", "J")


def __getattr__(name: str) -> Any:
    try:
        return getattr(_scipys, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has scipy.sparse.csgraph.") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_scipys)})


def shortest_path(
    csgraph: Array,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Array = None,
    *,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """Lengths of shortest paths between all pairs, or from some vertices: `scipy.sparse.csgraph.shortest_path`.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse array or matrix, shape (n, n)
        Weights of any sign. Dense 0, NaN and ±inf are no edge; what a masked array does not mask and a sparse matrix
        stores is one, a 0 too, but inf and a stored NaN are none. Duplicate entries add up in COO; elsewhere the
        least counts.
    method : {"auto", "FW", "D", "BF", "J"}
        As in SciPy, where it names an algorithm. Here all give the same distances, by the engine of least predicted
        time; "FW" knows no `indices`.
    directed : bool
        If False, an edge leads both ways, and the lesser of its two weights counts.
    return_predecessors : bool
    unweighted : bool
        Every edge weighs 1.
    overwrite : bool
        A writeable NumPy array of the dtype of the result, of any strides, is overwritten by the distances of all
        pairs and returned. Other input is not modified, as in SciPy, and none where `indices` are given.
    indices : array_like of int or int, optional
        Rows that are wanted; negative ones count from the end. A scalar drops the axis.
    device : {"cpu", "cuda"}, optional
        Where to compute; the CPU by default. The result is a NumPy array in any case.
    dtype : dtype, optional
        In which to compute; float64 by default. Of integers the largest value is no path, and a distance
        that they do not hold is a DomainError.
    threads : int, optional
        CPU threads; all available by default.
    callback : callable, optional
        `callback(done, total)`, called as work proceeds.

    Returns
    -------
    dist_matrix : array, shape (n, n), or indices.shape + (n,)
        inf where there is no path.
    predecessors : int32 array of the same shape
        With `return_predecessors`: the vertex before j on a shortest path from i, −9999 where there is none.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, a negative loop too; with `indices`, if one of these reaches it. Cycles
        that only rounding makes negative are none. It is SciPy's error and `apsp.NegativeCycleError`, and names the
        cycle.
    ShapeError, DTypeError
        If csgraph is not square, or does not hold real numbers.
    DomainError
        If SciPy's functions disagree on entries of a masked or sparse csgraph, or make no distances of them: -inf; NaN
        that is not masked; infinities with unweighted=True; a stored False; zeros that are not masked, where SciPy
        takes Floyd–Warshall, which drops them.
    ValueError
        If the method is unknown, or an index out of range.
    MemoryNeeded
        If it does not fit, before any work.

    See Also
    --------
    scipy.sparse.csgraph.shortest_path : SciPy's own.
    apsp.shortest_paths : Graphs with names, single distances and paths.
    reconstruct_path : A tree of the predecessors.

    Notes
    -----
    Costs and sources are those of `apsp.shortest_paths`: O(n³) pairs for a dense closure, O((m + n) log n) for each
    source of a search. The result takes 8 bytes an entry in float64, and predecessors 4.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.shortest_path([[0, 2, 0], [0, 0, 2], [0, 0, 0]], indices=0, return_predecessors=True)
    (array([0., 2., 4.]), array([-9999,     0,     1], dtype=int32))
    """
    if method not in _METHODS:
        raise ValueError(f"shortest_path: method must be one of {', '.join(_METHODS)}, got {came(method)}.")
    if method == "FW" and indices is not None:
        raise ValueError("shortest_path: method 'FW' gives all rows, got indices. Leave them out, or the method.")
    # SciPy's own choice, which matters to it where zeros are not masked.
    dense = method == "FW" or (
        method == "auto" and indices is None and np.ma.isMaskedArray(csgraph) and 4 * csgraph.count() >= csgraph.size
    )
    return answer(
        csgraph, "shortest_path", directed, indices, return_predecessors, unweighted,
        overwrite=overwrite, dense=dense, device=device, dtype=dtype, threads=threads, callback=callback,
    )  # fmt: skip


def floyd_warshall(
    csgraph: Array,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    *,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """Lengths of shortest paths between all pairs: `scipy.sparse.csgraph.floyd_warshall`.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, overwrite, device, dtype, threads, callback
        As in `shortest_path`.

    Returns
    -------
    dist_matrix : array, shape (n, n)
    predecessors : int32 array, shape (n, n)
        With `return_predecessors`; as in `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path : The same with `indices`.
    apsp.closure : Over any semiring.

    Notes
    -----
    O(n³) pairs and n² entries at most: the name is that of Floyd 1962 and Warshall 1962, the engine is that of least
    predicted time.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.floyd_warshall([[0, 3, 0], [0, 0, -1], [0, 0, 0]])
    array([[ 0.,  3.,  2.],
           [inf,  0., -1.],
           [inf, inf,  0.]])
    """
    return answer(
        csgraph, "floyd_warshall", directed, None, return_predecessors, unweighted,
        overwrite=overwrite, dense=True, device=device, dtype=dtype, threads=threads, callback=callback,
    )  # fmt: skip


def dijkstra(
    csgraph: Array,
    directed: bool = True,
    indices: Array = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
    *,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """Lengths of shortest paths from some vertices, within a limit: `scipy.sparse.csgraph.dijkstra`.

    Parameters
    ----------
    limit : float
        Distances greater than it are inf; at least 0.
    min_only : bool
        The distance from the nearest of the sources, shape (n,), instead of a row each; with `return_predecessors`
        also which source that is, −9999 where there is none.
    csgraph, directed, indices, return_predecessors, unweighted, device, dtype, threads, callback
        As in `shortest_path`, as are results and errors. Negative weights are right here too.

    Returns
    -------
    dist_matrix : array, shape (n, n), indices.shape + (n,), or (n,) with `min_only`
    predecessors : int32 array of the same shape
        With `return_predecessors`.
    sources : int32 array, shape (n,)
        With `return_predecessors` and `min_only`.

    Raises
    ------
    ValueError
        If the limit is negative, or as `shortest_path`.
    NegativeCycleError, ShapeError, DTypeError, DomainError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path : The same without a limit.
    apsp.shortest_paths : `Result.nearest`, by label and over other semirings.

    Notes
    -----
    O((m + n) log n) for each source of a search, and a row of n entries. The name is that of Dijkstra 1959, the engine
    is that of least predicted time.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.dijkstra([[0, 1, 0], [0, 0, 2], [0, 0, 0]], indices=[0, -1], limit=2)
    array([[ 0.,  1., inf],
           [inf, inf,  0.]])
    """
    if not limit >= 0:
        raise ValueError(f"dijkstra: limit must be >= 0, got {limit}.")
    return answer(
        csgraph, "dijkstra", directed, indices, return_predecessors, unweighted, limit=limit, min_only=min_only,
        device=device, dtype=dtype, threads=threads, callback=callback,
    )  # fmt: skip


def bellman_ford(
    csgraph: Array,
    directed: bool = True,
    indices: Array = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """Lengths of shortest paths over weights of any sign: `scipy.sparse.csgraph.bellman_ford`.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, device, dtype, threads, callback
        As in `shortest_path`.

    Returns
    -------
    dist_matrix : array, shape (n, n), or indices.shape + (n,)
    predecessors : int32 array of the same shape
        With `return_predecessors`; as in `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, ValueError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path : The same under another name.
    apsp.negative_cycle : Only whether there is such a cycle, and which.

    Notes
    -----
    Costs are those of `shortest_path`: the engine is that of least predicted time, whatever the name.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.bellman_ford([[0, 3, 0], [0, 0, -1], [0, 0, 0]], indices=0)
    array([0., 3., 2.])
    """
    return answer(
        csgraph, "bellman_ford", directed, indices, return_predecessors, unweighted,
        device=device, dtype=dtype, threads=threads, callback=callback,
    )  # fmt: skip


def johnson(
    csgraph: Array,
    directed: bool = True,
    indices: Array = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """Lengths of shortest paths over weights of any sign: `scipy.sparse.csgraph.johnson`.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted, device, dtype, threads, callback
        As in `shortest_path`.

    Returns
    -------
    dist_matrix : array, shape (n, n), or indices.shape + (n,)
    predecessors : int32 array of the same shape
        With `return_predecessors`; as in `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, ValueError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path : The same under another name.
    apsp.shortest_paths : Graphs with names, single distances and paths.

    Notes
    -----
    Costs are those of `shortest_path`. The name is that of Johnson 1977, whose potentials searches take for negative
    arcs; the engine is that of least predicted time.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.johnson([[0, 3, 0], [0, 0, -1], [0, 0, 0]], indices=[1])
    array([[inf,  0., -1.]])
    """
    return answer(
        csgraph, "johnson", directed, indices, return_predecessors, unweighted,
        device=device, dtype=dtype, threads=threads, callback=callback,
    )  # fmt: skip
