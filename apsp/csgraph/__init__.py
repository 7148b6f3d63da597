"""`scipy.sparse.csgraph` on the engines of `apsp`: `from apsp import csgraph` is all that changes.

>>> from apsp import csgraph
>>> csgraph.shortest_path([[0, 3, 0], [0, 0, 4], [1, 0, 0]])
array([[0., 3., 7.],
       [5., 0., 4.],
       [1., 4., 0.]])

These functions have SciPy's signatures, conventions and results, plus `device`, `dtype`, `threads` and `callback`; all
other names are SciPy's own (differences: docs/scipy-networkx.md). Whatever `method` says, the engine of least predicted
time computes: dense closure, sparse elimination, or Dijkstra's algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.csgraph as _scipys
from scipy.sparse.csgraph import NegativeCycleError

from semiring.host.spelling import came
from semiring.host.types import Array, DType
from semiring.kernels.observed import Callback

from .conversion import as_number
from .graphs import csgraph_from_dense, csgraph_from_masked, csgraph_to_dense
from .routes import construct_dist_matrix, reconstruct_path, yen
from .shortest import answer

__all__ = [
    "NegativeCycleError", "bellman_ford", "construct_dist_matrix", "csgraph_from_dense", "csgraph_from_masked",
    "csgraph_to_dense", "dijkstra", "floyd_warshall", "johnson", "reconstruct_path", "shortest_path", "yen",
]  # fmt: skip
__all__ += [name for name in _scipys.__all__ if name not in __all__]

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
        Weights of any sign. Dense 0, NaN and ±inf are no edges; unmasked or stored entries are, also 0, but not inf or
        NaN. Duplicates add up in COO; elsewhere the least counts.
    method : {"auto", "FW", "D", "BF", "J"}
        Only validated ("FW" excludes `indices`): the engine of least predicted time computes.
    directed : bool
        If False, edges lead both ways, with the lesser of the two weights.
    return_predecessors : bool
    unweighted : bool
        Every edge weighs 1.
    overwrite : bool
        Overwrite a writeable NumPy array of the result's dtype by the distances of all pairs, and return it.
    indices : array_like of int or int, optional
        Rows to compute; negative ones count from the end. A scalar drops the axis.
    device : {"cpu", "cuda"}, optional
        The CPU by default. The result is a NumPy array in any case.
    dtype : dtype, optional
        Of the computation; float64 by default. The largest integer is no path; overflow is a DomainError.
    threads : int, optional
        CPU threads; all available by default.
    callback : callable, optional
        `callback(done, total)`.

    Returns
    -------
    dist_matrix : array, shape (n, n), or indices.shape + (n,)
        inf for no path.
    predecessors : int32 array of the same shape
        With `return_predecessors`: the vertex before j on a shortest path from i, −9999 if none.

    Raises
    ------
    NegativeCycleError
        For a negative cycle, named by vertices (with `indices`, if reachable from one); cycles negative only by
        rounding are ignored. Also SciPy's error.
    ShapeError, DTypeError
        If csgraph is not square, or does not hold real numbers.
    DomainError
        For masked or sparse entries on which SciPy's functions disagree or fail: -inf; unmasked NaN; infinities with
        unweighted=True; stored False; unmasked zeros where SciPy uses Floyd–Warshall, which drops them.
    ValueError, MemoryNeeded
        If the method is unknown, or an index out of range; if it does not fit, before any work.

    See Also
    --------
    scipy.sparse.csgraph.shortest_path, apsp.shortest_paths : SciPy's own; labels, single distances, paths.
    reconstruct_path : A tree from the predecessors.

    Notes
    -----
    Costs and sources as of `apsp.shortest_paths`: O(n³) pairs for a dense closure, O((m + n) log n) a source searched.
    8 bytes a float64 entry, 4 a predecessor.

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
    # SciPy's own choice: it decides whether zeros that are not masked are refused.
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
    dist_matrix, predecessors : arrays, shape (n, n)
        As from `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path, apsp.closure : With `indices`; over any semiring.

    Notes
    -----
    At most O(n³) pairs, n² entries. Named after Floyd 1962 and Warshall 1962; the engine is the fastest by prediction.

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
        At least 0; greater distances are inf.
    min_only : bool
        The distance from the nearest source, shape (n,); with `return_predecessors` also that source, −9999 if none.
    csgraph, directed, indices, return_predecessors, unweighted, device, dtype, threads, callback
        As in `shortest_path`; negative weights are allowed.

    Returns
    -------
    dist_matrix : array, shape (n, n), indices.shape + (n,), or (n,) with `min_only`
    predecessors : int32 array of the same shape
        With `return_predecessors`.
    sources : int32 array, shape (n,)
        With `return_predecessors` and `min_only`.

    Raises
    ------
    ValueError, NegativeCycleError, ShapeError, DTypeError, DomainError, MemoryNeeded
        As `shortest_path`, and if the limit is negative.

    See Also
    --------
    shortest_path, apsp.shortest_paths : Without a limit; `Result.nearest`, by label and over other semirings.

    Notes
    -----
    O((m + n) log n) a source, n entries a row. Named after Dijkstra 1959; the engine is the fastest by prediction.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.dijkstra([[0, 1, 0], [0, 0, 2], [0, 0, 0]], indices=[0, -1], limit=2)
    array([[ 0.,  1., inf],
           [inf, inf,  0.]])
    """
    limit = limit if type(limit) is float else as_number(limit, "dijkstra", "limit")
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
    dist_matrix, predecessors
        As from `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, ValueError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path, apsp.negative_cycle : The same; only the cycle.

    Notes
    -----
    Cost as of `shortest_path`, whatever the name.

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
    dist_matrix, predecessors
        As from `shortest_path`.

    Raises
    ------
    NegativeCycleError, ShapeError, DTypeError, DomainError, ValueError, MemoryNeeded
        As `shortest_path`.

    See Also
    --------
    shortest_path, apsp.shortest_paths : The same; labels, single distances, paths.

    Notes
    -----
    Cost as of `shortest_path`. Named after Johnson 1977, whose potentials serve searches with negative arcs.

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
