"""Validation of edges from tuples or arrays: positions and numbers, or a precise error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from semiring.algebra.conversion import exact, from_sequence
from semiring.host.arrays import refuse_masked
from semiring.host.errors import DomainError, DTypeError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Array, Label, Scalar

from ..labels import Labels

_TRUTH = frozenset((bool, np.bool_))


def from_tuples(edges: Iterable[Any]) -> tuple[list[tuple[Label, Label]], list[Scalar] | None]:
    """Pairs and weights; None for weights if no edge has one."""
    listed = list(edges)
    for index, edge in enumerate(listed):
        if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) not in (2, 3):
            raise ShapeError(f"Graph: edge {index} must be (u, v) or (u, v, weight), got {came(edge)}.")
    lengths = {len(edge) for edge in listed}
    if len(lengths) > 1:
        index = next(k for k, edge in enumerate(listed) if len(edge) == 2)
        raise ShapeError(
            f"Graph: all edges must have a weight or none, got {came(listed[index])} for edge {index}. "
            "Give it a weight."
        )
    return [(edge[0], edge[1]) for edge in listed], [edge[2] for edge in listed] if 3 in lengths else None


def from_array(edges: np.ndarray) -> tuple[list[tuple[Label, Label]], np.ndarray | None]:
    refuse_masked(edges, where="Graph: edges")
    if edges.ndim != 2 or edges.shape[1] not in (2, 3):
        raise ShapeError(f"Graph: an array of edges must have shape (m, 2) or (m, 3), got {edges.shape}.")
    if edges.dtype.kind in "OSU":
        raise DTypeError(f"Graph: an array of edges must hold numbers, got dtype {edges.dtype}. Pass a list of tuples.")
    with np.errstate(invalid="ignore"):
        ends = edges[:, :2].astype(np.int64)
    if (ends != edges[:, :2]).any():
        raise DomainError("Graph: the first two columns of an array of edges must be integers, the vertices.")
    return list(map(tuple, ends.tolist())), edges[:, 2] if edges.shape[1] == 3 else None


def positions(x: Array, side: str) -> np.ndarray:
    refuse_masked(x, where=f"Graph: {side}")
    array = x if isinstance(x, np.ndarray) else from_sequence(x, where=f"Graph: {side}")
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ShapeError(
            f"Graph: {side} must be a 1-D array of integers, got {array.dtype} of shape {array.shape}. "
            "Edges with names go through Graph.from_edges."
        )
    return array.astype(np.int64, copy=False)


def numbers(weights: Array) -> np.ndarray:
    """Weights as int64 if all are and fit, else as float64, exact in every integer; durations in seconds."""
    where = "Graph: weights"
    refuse_masked(weights, where=where)
    array = weights if isinstance(weights, np.ndarray) else from_sequence(weights, where=where)
    if array.ndim > 1 and isinstance(weights, (list, tuple)):
        raise ShapeError(f"{where} must be one number an edge, got {came(weights[0])} on edge 0.")
    kind = array.dtype.kind
    listed = weights if isinstance(weights, (list, tuple)) else array.ravel() if kind in "bO" else ()
    if not _TRUTH.isdisjoint(map(type, listed)):  # beside numbers NumPy makes 1 and 0 of them
        edge, truth = next((k, value) for k, value in enumerate(listed) if type(value) in _TRUTH)
        raise DTypeError(
            f"{where} must be real numbers, got {came(truth)} on edge {edge}. Say inf for no edge, else 1."
        )
    if kind == "m" or (kind == "O" and array.size and all(isinstance(x, timedelta) for x in array.flat)):
        array = _seconds(array)
        kind = array.dtype.kind
    if not array.size:  # an empty list has no dtype
        return array.astype(np.int64 if kind in "iu" or isinstance(weights, (list, tuple)) else np.float64)
    if kind == "u" and array.max() > np.iinfo(np.int64).max:
        return exact(array.astype(object), where=where)
    if kind in "iu":
        return array.astype(np.int64, copy=False)
    if kind == "f":
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64, copy=False)
        if array.dtype.itemsize > floats.dtype.itemsize and (beyond := np.isinf(floats) & ~np.isinf(array)).any():
            edge = int(np.argmax(beyond))
            raise DTypeError(
                f"{where} must be numbers that float64 holds, got {array[edge]!s} on edge {edge}. Choose a larger unit."
            )
        return floats
    if kind == "O":
        # Fractions, decimals and NumPy scalars are numbers; None and text are not.
        for index, value in enumerate(array.flat):
            if not hasattr(value, "__float__"):
                raise DTypeError(
                    f"Graph: weights must be real numbers, got {came(value)} on edge {index}. Make numbers of them, "
                    "as by float(…), or leave them out for unweighted edges."
                )
        return exact(array, where=where)
    texts = (k for k, value in enumerate(weights) if isinstance(value, (str, bytes)))
    text = next(texts, None) if array.ndim == 1 else None
    got = f"dtype {array.dtype}" if text is None else f"{came(weights[text])} on edge {text}"
    raise DTypeError(
        f"Graph: weights must be real numbers that fit 64 bits, got {got}. Make numbers of them, as by float(…), or "
        "leave them out for unweighted edges."
    )


def _seconds(durations: np.ndarray) -> np.ndarray:
    """Durations in seconds: int64 if all are integral, else float64."""
    if durations.dtype.kind == "O":
        found = np.array([duration.total_seconds() for duration in durations.flat])
    else:
        if np.datetime_data(durations.dtype)[0] in ("Y", "M", "generic"):
            raise DTypeError(f"Graph: weights must be durations of a length in seconds, got dtype {durations.dtype}.")
        if np.isnat(durations).any():
            edge = int(np.argmax(np.isnat(durations)))
            raise DomainError(f"Graph: weights must be durations, got NaT on edge {edge}. Leave the edge out.")
        found = durations / np.timedelta64(1, "s")
    integral = np.rint(found) == found
    return found.astype(np.int64) if integral.all() and (np.abs(found) < 2.0**53).all() else found


def refuse_reordered(weights: Array, need: str, way: str = "x.sort_index(), or x.to_numpy() if it is theirs") -> None:
    """ShapeError for a pandas Series that was sorted, as its index 0 … m − 1 tells, or that ends of edges name."""
    index = getattr(weights, "index", ())
    sorted_ = not getattr(index, "is_monotonic_increasing", True) and set(index) == set(range(len(index)))
    if getattr(index, "nlevels", 1) > 1 or sorted_:
        raise ShapeError(f"{need}, got that of {came(list(index))}. Say {way}.")


def refuse_nan(weights: np.ndarray, rows: np.ndarray, cols: np.ndarray, labels: Labels) -> None:
    wrong = np.isnan(weights) if weights.dtype.kind == "f" else np.zeros(0, bool)
    if wrong.any():
        edge = int(np.argmax(wrong))
        ends = f"{labels[int(rows[edge])]!r} → {labels[int(cols[edge])]!r}"
        raise DomainError(f"Graph: weights must be numbers, got NaN on edge {edge}, {ends}. Leave the edge out.")
