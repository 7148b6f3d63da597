"""Sparse matrices → `Graph`: each explicit entry is an edge. Objects and archives both hold such matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from semiring.arrays import checked_sparse, consistent, refuse_padding
from semiring.catalog import min_plus
from semiring.conversion import conform
from semiring.errors import ShapeError

from ..graph import Graph
from ..graph.compressed import Compressed


def from_sparse(source: Any) -> Graph:
    """The graph of a SciPy or CuPy sparse matrix; explicit zeros are edges of weight 0, duplicates are kept.

    Raises
    ------
    ShapeError
        If it is not square, or its indices contradict each other, or its blocks hold zeros.
    """
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
    # Not through CSR, which would add duplicates up.
    return from_entries(coo.row, coo.col, coo.data, source.shape[0])


def compressed(source: Any) -> bool:
    """Whether SciPy searches through such a matrix, if none is NaN: csr of float64, all used, indices fit 32 bits."""
    if getattr(source, "format", "") != "csr" or not isinstance(source.data, np.ndarray):
        return False
    data, used = source.data, int(source.indptr[-1])
    short = max(used, *source.shape) <= np.iinfo(np.int32).max and used == len(data) == len(source.indices)
    return short and data.dtype == np.float64 and data.dtype.isnative


def from_entries(rows: Any, cols: Any, values: Any, n: int) -> Graph:
    """The graph of a sparse matrix's entries: True ones are unweighted edges, False ones and infinite ones none."""
    if values.dtype.kind == "b":
        rows, cols, values = rows[values], cols[values], None
    elif values.dtype.kind == "i":
        values = conform(values, min_plus, np.int64, where="as_graph")  # whose ends are then the infinities of that
    return Graph.from_arrays(rows, cols, values, n=n)
