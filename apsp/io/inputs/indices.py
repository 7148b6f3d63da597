"""An edge_index as in PyTorch Geometric: an integer array of shape (2, m), with separate weights."""

from __future__ import annotations

import numpy as np

from semiring.host.arrays import asarray
from semiring.host.errors import ShapeError
from semiring.host.types import Array, Input

from ..graph import Graph
from ..reading.options import BY_RULE, Reading
from .base import Kind


def recognises(source: Input, reading: Reading) -> bool:
    """Two arrays that fit together; or one, with weights that exclude a matrix."""
    if isinstance(source, (tuple, list)):
        fits = len(source) == 2 and len(index := _shape(source[0])) == 2 and index[0] == 2
        return fits and (source[1] is None or _one_column(_shape(source[1])))
    index, weight = _shape(source), reading.weight
    if weight is None and index == (2, 2) and "int" not in str(getattr(source, "dtype", "")):
        return False  # a matrix: edge ends are integers
    return len(index) == 2 and index[0] == 2 and (weight is None or len(_shape(weight)) == 1)


def convert(source: Input, reading: Reading) -> Graph:
    """The graph; n is the largest number + 1."""
    if reading.weight is None and _shape(source) == (2, 2):
        refuse_ambiguous(_host(source), where="as_graph")
    index, weights = source if isinstance(source, (tuple, list)) else (source, reading.weight)
    if reading.weight is not BY_RULE and isinstance(source, (tuple, list)):
        weights = reading.weight
    return from_indices(index, weights)


def refuse_ambiguous(ends: np.ndarray, *, where: str) -> None:
    """ShapeError for a 2 × 2 integer array that is another graph as a matrix than as two edges."""
    if not np.array_equal(ends, [[0, 1], [1, 0]]):
        raise ShapeError(
            f"{where}: unweighted integers of shape (2, 2) may be the matrix of two vertices or the ends of two edges, "
            f"got {ends.tolist()}. Pass A == 1 for a matrix, (edge_index, None) for edges."
        )


def from_indices(index: Array, weights: Array, *, n: int | None = None) -> Graph:
    """The graph of an edge_index and weights of shape (m,) or (m, 1), on any device."""
    rows, cols = _host(index)
    values = None if weights is None else _host(weights)
    if values is not None and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return Graph.from_arrays(rows, cols, values, n=n)


def _host(array: Array) -> np.ndarray:
    found = asarray(array, where="as_graph")
    return found if isinstance(found, np.ndarray) else found.get()


def _one_column(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _shape(array: Array) -> tuple[int, ...]:
    if isinstance(array, (list, tuple)):
        return (len(array),) if all(isinstance(x, (int, float, np.number)) for x in array) else ()
    return tuple(getattr(array, "shape", ()))


KIND = Kind(
    "(edge_index, weights)",
    recognises,
    convert,
    weights="an array of one weight an edge",
    accepts=lambda weight: len(_shape(weight)) == 1,
    arrays=True,
)
