"""Sparse matrices → `Graph`, an edge per explicit entry; for objects and archives."""

from __future__ import annotations

import numpy as np

from semiring.algebra.catalog import min_plus
from semiring.algebra.conversion import conform
from semiring.host.arrays import checked_sparse, consistent, refuse_padding
from semiring.host.errors import ShapeError
from semiring.host.types import Array, Input

from ..graph import Graph
from ..graph.compressed import Compressed


def from_sparse(source: Input) -> Graph:
    """The graph of a SciPy or CuPy sparse matrix; stored zeros are edges, duplicates are kept; raises ShapeError."""
    if source.ndim != 2 or source.shape[0] != source.shape[1]:
        raise ShapeError(f"as_graph: a sparse matrix must be square, (n, n), got shape {source.shape}.")
    if consistent(source, indices=False) and compressed(source) and (graph := Compressed.of(source)):
        return graph
    refuse_padding(source, "as_graph")
    checked = checked_sparse(source, where="as_graph")
    if compressed(checked) and (graph := Compressed.of(checked)):
        return graph
    coo = checked.tocoo()
    coo = coo.get() if hasattr(coo, "get") and not isinstance(coo.data, np.ndarray) else coo
    # CSR would add up duplicates.
    return from_entries(coo.row, coo.col, coo.data, source.shape[0])


def compressed(source: Input) -> bool:
    """Whether SciPy can search this matrix (up to NaN): full float64 CSR, with 32-bit indices."""
    if getattr(source, "format", "") != "csr" or not isinstance(source.data, np.ndarray):
        return False
    data, used = source.data, int(source.indptr[-1])
    short = max(used, *source.shape) <= np.iinfo(np.int32).max and used == len(data) == len(source.indices)
    return short and data.dtype == np.float64 and data.dtype.isnative


def from_entries(rows: Array, cols: Array, values: Array, n: int) -> Graph:
    """The graph of sparse entries; True is an unweighted edge, False and infinite ones none."""
    if values.dtype.kind == "b":
        rows, cols, values = rows[values], cols[values], None
    elif values.dtype.kind == "i":
        values = conform(values, min_plus, np.int64, where="as_graph")  # its ends are then int64's infinities
    return Graph.from_arrays(rows, cols, values, n=n)
