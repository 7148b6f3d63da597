"""Matrices: arrays of any library, lists of lists, sparse matrices; and a `Graph`, unchanged."""

from __future__ import annotations

from collections.abc import Set
from itertools import islice

import numpy as np

from semiring.host.errors import DTypeError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Array, Input, Label

from ..graph import Graph
from ..graph.entries import present
from ..reading.from_sparse import from_sparse
from ..reading.options import EDGE, Reading
from .base import Kind
from .edges import of_records


def _is_array(source: Input, reading: Reading) -> bool:
    if isinstance(source, (np.ndarray, list, tuple, memoryview)):
        return True
    signs = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return any(hasattr(source, sign) for sign in signs)


def _of_array(source: Input, reading: Reading) -> Graph:
    """The matrix, labelled as an xarray is; refused if it may be edges, unless nulls are declared."""
    dtype = getattr(source, "dtype", None)
    if getattr(dtype, "names", None):
        return of_records(source, reading)
    if (isinstance(source, (list, tuple)) or str(dtype) == "object") and any(
        isinstance(x, str) for row in source[:3] if np.iterable(row) for x in islice(row, 2)
    ):
        unordered = " with directed=False, as a set has no order" if isinstance(source[0], Set) else ""
        way = f"Edges are tuples: pass list(map(tuple, edges)){unordered}."
        raise DTypeError(f"as_graph: the rows of a matrix must be real numbers, got {came(source[0])}. {way}")
    graph = Graph.from_matrix(source, labels=names_of(source))
    if reading.nulls is None and not isinstance(source, (list, tuple)) and may_be_edges(graph.dense):
        rows = graph.n
        raise ShapeError(
            f"as_graph: integers of shape ({rows}, {rows}) may be a matrix or {rows} edges {EDGE[rows]}. Pass "
            "Graph.from_matrix(A) for the matrix, Graph.from_edges(A) for the edges."
        )
    return graph


def names_of(source: Input) -> list[Label] | None:
    """An xarray's labels along both dimensions, or along one; else None. ShapeError if they differ."""
    coords, dims = getattr(source, "coords", None), getattr(source, "dims", ())
    if coords is None or len(dims) != 2:
        return None
    rows, cols = (np.asarray(coords[name]).tolist() if name in coords else None for name in dims)
    if rows is not None and cols is not None and rows != cols:
        raise ShapeError(
            f"as_graph: a matrix must have the same names along both axes, got {came(rows)} and {came(cols)}. "
            "Pass source.values for one without names."
        )
    return cols if rows is None else rows


def may_be_edges(A: Array) -> bool:
    """Whether a square matrix may be edges: two or three rows of finite integers."""
    return len(A) in EDGE and A.dtype.kind in "iu" and bool(present(A).all())


KINDS = {
    "graph": Kind(
        "a Graph",
        lambda source, reading: isinstance(source, Graph),
        lambda source, reading: source,
    ),
    "sparse": Kind(
        "a SciPy sparse matrix",
        lambda source, reading: hasattr(source, "tocoo"),
        lambda source, reading: from_sparse(source),
    ),
    "matrix": Kind("a matrix, as an array or a list of lists", _is_array, _of_array, arrays=True),
}
