"""A matrix in a tile store as a graph: its edges, found some rows at a time."""

from __future__ import annotations

import os

import numpy as np

from semiring import catalog, dtypes
from semiring.errors import FormatError
from semiring.memory import require
from semiring.tiles import TileStore
from semiring.tiles.bits import COLUMNS

from ..graph import Graph

#: Bytes of entries that are looked at together.
STRIP = 4 << 20


def read(path: str | os.PathLike[str]) -> Graph:
    """The graph whose matrix lies in a store: its edges are the entries that are not the zero of the store's semiring.

    (min_plus, where the store names none.) A dense matrix larger than memory is none that can be listed: `closure`
    takes the `TileStore` itself.

    Raises
    ------
    FormatError
        If the store holds packed bits, which are an answer.
    MemoryNeeded
        If the edges do not fit.
    TileError
        If a tile is missing or damaged.
    """
    store = TileStore(path)
    if COLUMNS in store.attributes:
        problem = "a matrix of numbers is required, got the packed bits of a closure, which Reachability.load reads."
        raise FormatError(path, None, problem)
    name = store.attributes.get("semiring", "min_plus")
    s = catalog.get(name if name in catalog.names() else "min_plus")
    zero = dtypes.zero(s, store.dtype) if store.dtype.name in s.dtypes else 0
    step = max(1, STRIP // max(1, store.shape[1] * store.dtype.itemsize))
    rows, columns, weights, count = [], [], [], 0
    for start in range(0, len(store), step):
        part = store[start : start + step]
        i, j = np.nonzero(part != zero)
        count += len(i)
        require(24 * count, where=f"read {path}", hint="Pass closure(TileStore(path), memory=…) the store itself.")
        rows.append(i + start)
        columns.append(j)
        weights.append(part[i, j])
    none = np.empty(0, np.int64)
    i, j = (np.concatenate(x) if x else none for x in (rows, columns))
    w = np.concatenate(weights) if weights else np.empty(0, store.dtype)
    return Graph.from_arrays(i, j, w, n=len(store), name=store.path.name)
