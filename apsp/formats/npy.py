"""NumPy's `.npy`: a square matrix, a missing edge being the zero of the semiring it is used with (inf in min-plus)."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from semiring.errors import FormatError

from ..files import Source
from ..graph import Graph, as_graph
from .base import Format

_CHUNK = 1 << 20


def sniff(head: bytes) -> bool:
    """NumPy's magic."""
    return head.startswith(b"\x93NUMPY")


def read(source: Source) -> Graph:
    """The matrix, in its own dtype."""
    try:
        with source.open() as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # a damaged header raises whatever its bytes come to
        raise source.error(f"must be a complete .npy file of numbers, got {error}.") from error
    return matrix(source, array)


def matrix(source: Source, array: np.ndarray) -> Graph:
    """The graph of a matrix from a file: square, numbers, no NaN."""
    try:
        graph = as_graph(array)
    except (ValueError, TypeError) as error:
        raise source.error(str(error)) from error
    rows = max(1, _CHUNK // max(len(array), 1))
    if array.dtype.kind == "f":
        for start in range(0, len(array), rows):
            wrong = np.argwhere(np.isnan(array[start : start + rows]))
            if len(wrong):
                raise source.error(f"entries must be numbers, got NaN at ({start + wrong[0, 0]}, {wrong[0, 1]}).")
    return graph


def write(graph: Graph, file: IO[bytes]) -> None:
    """The matrix as it is; of a list of edges, its min-plus matrix."""
    np.lib.format.write_array(file, np.ascontiguousarray(dense(graph)), allow_pickle=False)


def dense(graph: Graph) -> Any:
    """The matrix on the host."""
    A = graph.matrix("min_plus") if graph.dense is None else graph.dense
    if A.dtype.kind not in "biuf":
        raise FormatError("npy", None, f"write: entries must be numbers, got {A.dtype}.")
    return A if isinstance(A, np.ndarray) else A.get()


FORMAT = Format("npy", (".npy",), "NumPy: a square matrix, inf where there is no edge", sniff, read, write)
