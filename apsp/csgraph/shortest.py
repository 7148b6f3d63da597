"""Common steps of the shortest-path functions: conversion → distances or paths → limit → SciPy's shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.algebra.catalog import min_plus
from semiring.host import errors
from semiring.host.arrays import checked_sparse, consistent
from semiring.host.devices import host
from semiring.host.errors import DTypeError
from semiring.host.memory import require
from semiring.host.types import Array, DType
from semiring.kernels.backend import device_of
from semiring.kernels.observed import Callback

from ..answers.neighbourhoods import Neighbourhoods, around
from ..io.graph.compressed import Compressed
from ..io.reading.from_sparse import compressed
from ..road import estimates, road
from ..road.question import SINGLE, SMALL, Question
from ..road.wants import Wants
from .conversion import FLOAT, Network, network, overwritable
from .engines import BATCH_SECONDS, Options, distances, remembered
from .routes import NONE, with_predecessors

Found = TypeVar("Found")


class NegativeCycleError(errors.NegativeCycleError, scipys.NegativeCycleError):
    """A cycle of negative weight, as this library's and SciPy's error; `cycle` has its vertices, `vertex` one of them.

    `csgraph.NegativeCycleError` is SciPy's own class.
    """


def answer(
    csgraph: Array,
    where: str,
    directed: bool,
    indices: Array,
    return_predecessors: bool,
    unweighted: bool,
    *,
    limit: float = np.inf,
    min_only: bool = False,
    overwrite: bool = False,
    dense: bool = False,
    device: str | None = None,
    dtype: DType = None,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Any:
    """The results of the function `where`; `dense`: SciPy would use Floyd–Warshall."""
    device = None if device is None else device_of(None, device)
    if indices is not None and not (unweighted or callback) and device != "cuda":
        given = {"directed": directed, "return_predecessors": return_predecessors, "min_only": min_only}
        if (few := _few(csgraph, indices, dtype, threads, where, limit, **given)) is not None:
            return few if min_only else _shaped(few, np.shape(indices))
    overwrite = overwrite and indices is None  # some rows do not fill it
    graph = network(
        csgraph, directed=directed, unweighted=unweighted, dtype=dtype, overwrite=overwrite, dense=dense, where=where
    )
    overwritten = overwrite and overwritable(csgraph, graph.dtype)
    options = Options(device, threads, callback, graph.dense is csgraph)
    sources = None if indices is None else indices_in(indices, graph.n, where)
    wanted = None if sources is None else sources.ravel()

    def found(graph: Network) -> Any:
        if min_only:
            return nearest(graph, wanted, return_predecessors, limit, options)
        if return_predecessors:
            return with_predecessors(graph, wanted, options)
        return distances(graph, wanted, options), None

    answered = within_reach(graph, wanted, found, overwritten=overwritten)
    if min_only:
        return answered if return_predecessors else answered[0]
    D, P = answered
    if limit < np.inf:
        beyond = limit < D
        D[beyond] = graph.zero
        if P is not None:
            P[beyond] = NONE
    if sources is not None:
        return _shaped(D if P is None else (D, P), sources.shape)
    if overwritten and D is not csgraph:
        csgraph[...] = D
        D = csgraph
    return D if P is None else (D, P)


def within_reach(
    graph: Network, sources: np.ndarray | None, found: Callable[[Network], Found], *, overwritten: bool = False
) -> Found:
    """`found(graph)`, or `found` of the part within the sources' reach; NegativeCycleError if they reach a cycle."""
    try:
        try:
            return found(graph)
        except errors.NegativeCycleError:
            if sources is None:
                raise
            return found(graph.within_reach(sources))  # may be empty
    except errors.NegativeCycleError as error:
        message = f"{error} With overwrite=True the entries of csgraph are lost by now." if overwritten else str(error)
        raise NegativeCycleError(message, error.vertex, error.cycle) from None


def _few(
    csgraph: Array,
    indices: Array,
    dtype: DType,
    threads: int | None,
    where: str,
    limit: float,
    *,
    directed: bool,
    return_predecessors: bool,
    min_only: bool,
) -> Any:
    """Rows of a CSR matrix by SciPy's search, if fastest by prediction; else None."""
    if getattr(csgraph, "format", "") != "csr" or np.dtype(dtype or FLOAT) != FLOAT or csgraph.dtype != FLOAT:
        return None
    matrix = csgraph if consistent(csgraph) else checked_sparse(csgraph, where=where)
    n, arcs = csgraph.shape[0], csgraph.nnz
    if csgraph.shape[1] != n or not compressed(matrix) or not matrix.data.min(initial=0.0) >= 0:
        return None  # a negative or NaN weight
    rows = indices_in(indices, n, where)
    plain, searches = not (return_predecessors or min_only), 1 if min_only else rows.size
    size = FLOAT.itemsize if plain else FLOAT.itemsize + 4  # predecessors too
    require(searches * n * size, where="csgraph", hint="Ask for fewer rows, by `indices`.")
    search = partial(
        scipys.dijkstra,
        matrix,
        directed=directed,
        indices=rows.ravel(),
        return_predecessors=return_predecessors,
        limit=limit,
        min_only=min_only,
    )
    # At most this: where distances take as long as a question, or where the one call would be SciPy's anyway.
    if searches * estimates.search(n, arcs, "dijkstra") <= (
        2 * estimates.ROAD if plain and (directed or rows.size > 1) else BATCH_SECONDS
    ):
        return search()
    if not (plain and directed):
        return None
    closed = estimates.closure(n, min_plus, FLOAT, pairs=n**3) + estimates.entering(arcs)
    near = around(matrix.indptr, matrix.indices, rows.ravel()) if n >= SMALL else Neighbourhoods()
    reach = near.cut + near.few / max(1, n)
    spread = estimates.spread(matrix.data)
    relaxed = estimates.guessed(n, arcs, reach, near.width, spread)
    searched = estimates.lanes(
        n, arcs, rows.size, 0, FLOAT.itemsize, relaxed, ordered=True, followed=near.arcs, tried=False
    ).seconds
    others = min(searched, closed, estimates.least_elimination(n, arcs))
    one = estimates.search(n, arcs, "dijkstra", reach=reach, width=near.width, followed=near.arcs, spread=spread)
    if rows.size * one <= others:
        return search()
    many = rows.size >= SINGLE  # otherwise a lookup costs more than it gains
    wants = Wants.of(where="csgraph", dtype=FLOAT, threads=threads, sources=rows.ravel(), remembers=many)
    question = Question(Compressed.around(matrix), min_plus, wants)
    with remembered(question):
        D = host(road.answer(question).engine.table())
        D[limit < D] = np.inf
        return D


def _shaped(found: Any, shape: tuple[int, ...]) -> Any:
    """Rows of distances, of predecessors too, as (*shape, n)."""
    if isinstance(found, tuple):
        return tuple(_shaped(table, shape) for table in found)
    return found.reshape(*shape, found.shape[-1])


def nearest(
    graph: Network, sources: np.ndarray | None, paths: bool, limit: float, options: Options
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By vertex the distance from the nearest source, the predecessor, and that source."""
    sources = np.arange(graph.n) if sources is None else sources
    if graph.least >= 0 and graph.dtype.kind == "f":
        D, P, nearest_one = scipys.dijkstra(
            graph.csr, indices=sources, min_only=True, limit=limit, return_predecessors=True
        )
        return D.astype(graph.dtype, copy=False), P, nearest_one
    if not len(sources):
        nothing = np.full(graph.n, NONE, np.int32)
        return np.full(graph.n, graph.zero, graph.dtype), nothing, nothing.copy()
    D, P = with_predecessors(graph, sources, options)
    best, every = D.argmin(axis=0), np.arange(graph.n)
    D = D[best, every]
    beyond = (graph.zero == D) | (limit < D)
    D[beyond] = graph.zero
    return D, np.where(beyond, NONE, P[best, every]), np.where(beyond, NONE, sources[best]).astype(np.int32)


def indices_in(indices: Array, n: int, where: str) -> np.ndarray:
    """Row numbers from `indices`, in its shape; ValueError if out of range, DTypeError for non-integers."""
    array = np.asarray(indices)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and (array == np.floor(array)).all()):
        raise DTypeError(f"{where}: indices must be integers, got dtype {array.dtype}.")
    low, high = int(array.min()), int(array.max())
    if low < -n or high >= n:
        raise ValueError(f"{where}: indices out of range: they must lie in {-n} … {n - 1}, got {low} … {high}.")
    positions = array.astype(np.int64)
    positions[positions < 0] += n
    return positions
