"""Common steps of the shortest-path functions: conversion → distances or paths → limit → SciPy's shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse.csgraph as scipys

from semiring.host import errors
from semiring.host.errors import DTypeError
from semiring.host.spelling import refuse_texts
from semiring.host.types import Array, DType
from semiring.kernels.backend import device_of
from semiring.kernels.observed import Callback

from .conversion import network, overwritable
from .engines import Options, Rows

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
    if str in map(type, (directed, return_predecessors, unweighted, min_only, overwrite)):
        flags = {"directed": directed, "return_predecessors": return_predecessors, "unweighted": unweighted}
        refuse_texts(where, **flags, min_only=min_only, overwrite=overwrite)
    device = None if device is None else device_of(None, device)
    overwrite = overwrite and indices is None  # some rows do not fill it
    graph = network(
        csgraph, directed=directed, unweighted=unweighted, dtype=dtype, overwrite=overwrite, dense=dense, where=where
    )
    overwritten = overwrite and overwritable(csgraph, graph.dtype)
    options = Options(device, threads, callback, graph.dense is csgraph, limit=limit)
    sources = None if indices is None else indices_in(indices, graph.n, where)
    rows = Rows(graph, None if sources is None else sources.ravel(), options)
    find: Any = Rows.nearest if min_only else Rows.with_predecessors if return_predecessors else Rows.distances
    found = within_reach(rows, find, where, overwritten=overwritten)
    if min_only:
        return found if return_predecessors else found[0]
    D, P = found if return_predecessors else (found, None)
    if sources is not None:
        shape = (*sources.shape, graph.n)
        D, P = D.reshape(shape), P if P is None else P.reshape(shape)
    elif overwritten and D is not csgraph:
        csgraph[...] = D
        D = csgraph
    return D if P is None else (D, P)


def within_reach(rows: Rows, find: Callable[[Rows], Found], where: str, *, overwritten: bool = False) -> Found:
    """`find(rows)`, or `find` of the part within the sources' reach; NegativeCycleError if they reach a cycle."""
    try:
        try:
            return find(rows)
        except errors.NegativeCycleError:
            if rows.sources is None:
                raise
            return find(rows._replace(network=rows.network.within_reach(rows.sources)))  # may be empty
    except errors.NegativeCycleError as error:
        message = f"{where}:{str(error).partition(':')[2]}"
        message += " With overwrite=True the entries of csgraph are lost by now." if overwritten else ""
        raise NegativeCycleError(message, error.vertex, error.cycle) from None


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
