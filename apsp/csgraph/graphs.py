"""SciPy's conversions between dense, masked and sparse graphs; every weight but the null value is an edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from semiring.algebra.conversion import from_sequence
from semiring.host.arrays import require_square
from semiring.host.errors import DTypeError
from semiring.host.memory import require
from semiring.host.spelling import refuse_texts
from semiring.host.types import Array, Matrix

from ..road.engines.scipy import csr
from .conversion import FLOAT, _numbers, as_number, stored


def csgraph_from_dense(
    graph: Array, null_value: float | None = 0, nan_null: bool = True, infinity_null: bool = True
) -> Matrix:
    """Convert a dense graph to a sparse one: `scipy.sparse.csgraph.csgraph_from_dense`.

    Parameters
    ----------
    graph : array_like, shape (n, n)
    null_value : float or None
        The non-edge, compared exactly: 1e-9 is not 0.
    nan_null, infinity_null : bool
        Whether NaN, and ±inf, are non-edges.

    Returns
    -------
    scipy.sparse.csr_array, float64; a csr_matrix if graph is a matrix

    Raises
    ------
    ShapeError, DTypeError
        If it is not square, or does not hold real numbers.

    See Also
    --------
    csgraph_to_dense, csgraph_from_masked, apsp.as_graph : The inverse; masked arrays; labelled graphs.

    Notes
    -----
    O(n²) time; 12 bytes an edge.

    Examples
    --------
    >>> from apsp import csgraph
    >>> csgraph.csgraph_from_dense([[0, 1e-9], [2, 0]]).nnz
    2
    """
    where = "csgraph_from_dense"
    refuse_texts(where, nan_null=nan_null, infinity_null=infinity_null)
    array = from_sequence(graph, where=where)
    require_square(array.shape, where=where, what="csgraph")
    values = _numbers(array, where).astype(FLOAT, copy=False)
    null_value = None if null_value is None else as_number(null_value, where, "null_value")
    if null_value is not None and np.isnan(null_value):
        null_value, nan_null = None, True
    elif null_value is not None and np.isinf(null_value):
        null_value, infinity_null = None, True
    absent = np.zeros(values.shape, bool) if null_value is None else values == null_value
    if infinity_null:
        absent |= np.isinf(values)
    if nan_null:
        absent |= np.isnan(values)
    made = _compressed(values, ~absent)
    return scipy.sparse.csr_matrix(made) if isinstance(graph, np.matrix) else made


def csgraph_from_masked(graph: Array) -> scipy.sparse.csr_array:
    """Convert a masked graph to a sparse one: `scipy.sparse.csgraph.csgraph_from_masked`.

    Parameters
    ----------
    graph : numpy.ma.MaskedArray, shape (n, n)

    Returns
    -------
    scipy.sparse.csr_array, float64

    Raises
    ------
    ShapeError, DTypeError
        If it is not square, or does not hold real numbers.

    See Also
    --------
    csgraph_from_dense, csgraph_to_dense : By null value; the inverse.

    Notes
    -----
    O(n²) time; 12 bytes an edge.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import csgraph
    >>> csgraph.csgraph_from_masked(np.ma.masked_equal([[0, 1], [2, 0]], 0)).nnz
    2
    """
    where = "csgraph_from_masked"
    array = np.ma.asarray(graph)
    require_square(array.shape, where=where, what="csgraph")
    values = _numbers(np.asarray(array.data), where).astype(FLOAT, copy=False)
    return _compressed(values, ~np.asarray(np.ma.getmaskarray(array)))


def csgraph_to_dense(csgraph: Any, null_value: float = 0) -> np.ndarray:
    """Convert a sparse graph to a dense one: `scipy.sparse.csgraph.csgraph_to_dense`.

    Parameters
    ----------
    csgraph : sparse array or matrix, shape (n, n)
        Duplicate entries add up in COO; elsewhere the least counts.
    null_value : float
        The entry for no edge.

    Returns
    -------
    float64 array, shape (n, n)

    Raises
    ------
    DTypeError, ShapeError, MemoryNeeded
        If it is not sparse, or not square; if the matrix does not fit.

    See Also
    --------
    csgraph_from_dense, apsp.Graph.matrix : The inverse; over a semiring.

    Notes
    -----
    O(n² + m) time; 9 n² bytes.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from apsp import csgraph
    >>> csgraph.csgraph_to_dense(scipy.sparse.coo_array(([0.0, 5.0], ([0, 1], [1, 0]))), np.inf)
    array([[inf,  0.],
           [ 5., inf]])
    """
    if not hasattr(csgraph, "tocoo"):
        raise DTypeError(f"csgraph_to_dense: a sparse matrix is required, got {type(csgraph).__name__}.")
    null_value = as_number(null_value, "csgraph_to_dense", "null_value")
    require_square(csgraph.shape, where="csgraph_to_dense", what="csgraph")
    tails, heads, weights, _ = stored(csgraph, "csgraph_to_dense")
    n = csgraph.shape[0]
    require(9 * n**2, where="csgraph_to_dense", hint="Keep it sparse.")
    M, present = np.full((n, n), np.inf), np.zeros((n, n), bool)
    np.fmin.at(M, (tails, heads), _numbers(weights, "csgraph_to_dense").astype(FLOAT, copy=False))
    present[tails, heads] = True
    M[~present] = null_value
    return M


def _compressed(values: np.ndarray, present: np.ndarray) -> scipy.sparse.csr_array:
    tails, heads = np.nonzero(present)
    return csr(tails, heads, values[present], len(values))
