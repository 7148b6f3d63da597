"""NumPy's `.npy`: a square matrix; a missing edge is the zero of the semiring in use (inf in min-plus)."""

from __future__ import annotations

import errno
import math
import os
import re
from typing import IO, Any

import numpy as np

from semiring.host.memory import LEAST, available, require
from semiring.stores.archives import header

from ..graph import Graph
from ..graph.entries import refuse_nan_in
from ..graph.ondisk import OnDisk
from ..reading.files import Source
from .base import Format, unwritten
from .tokens import show

sniff = re.compile(rb"\x93NUMPY").match


def read(source: Source) -> Graph:
    """The matrix in its dtype; if larger than half of the free memory, it stays in the file."""
    what = "a complete .npy file of real numbers"
    with source.open() as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        free = available("cpu") if source.stays and size > LEAST else None
        if free is None or 2 * size <= free:
            return matrix(source, array(source, file, size, "biuf", what))
        promised(source, file, size, "biuf", what)
    return matrix(source, OnDisk.from_path(source.path))


def array(source: Source, file: IO[bytes], size: int, kinds: str, what: str) -> np.ndarray:
    """The array in a stream, allocated only if its `size` bytes hold it; FormatError unless `what`; MemoryNeeded."""
    needed, _ = promised(source, file, size, kinds, what)
    require(needed, "cpu", where=str(source.path), hint="Read it on a machine with more memory.")
    try:
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:
        raise refused(source, what, error) from error


def promised(source: Source, file: IO[bytes], size: int, kinds: str, what: str) -> tuple[int, tuple[int, ...]]:
    """Bytes and shape of the array in a stream, by its header; FormatError if those bytes are missing."""
    try:
        shape, dtype = header(file)
        needed = math.prod(shape) * dtype.itemsize
        if dtype.kind not in kinds or min(shape, default=0) < 0:
            raise ValueError(f"dtype {dtype} and shape {shape}")
        if needed > size - file.tell() or (not dtype.itemsize and math.prod(shape) > 1):
            raise ValueError(f"{size - file.tell()} bytes for shape {shape} of {dtype}")
    except Exception as error:  # a damaged header raises anything
        raise refused(source, what, error) from error
    if needed < size - file.tell():
        raise source.error(f"must be {what}, got {size - file.tell() - needed} bytes behind the array.")
    return needed, shape


def refused(source: Source, what: str, error: Exception) -> Exception:
    """A FormatError, or the system's error (other than an impossible seek) with the file name."""
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return OSError(error.errno, error.strerror, str(source.path))
    return source.error(f"must be {what}, got {show(str(error), 200)}.")


def matrix(source: Source, A: np.ndarray | OnDisk) -> Graph:
    try:
        graph = Graph.from_matrix(A)
        refuse_nan_in(A)
    except (ValueError, TypeError) as error:
        raise source.error(str(error)) from error
    return graph


def write(graph: Graph, file: IO[bytes]) -> None:
    np.lib.format.write_array(file, np.ascontiguousarray(dense(graph)), allow_pickle=False)


def dense(graph: Graph) -> Any:
    A = graph.matrix("min_plus") if graph.dense is None or graph.unit or graph.nulls else graph.dense
    if isinstance(A, OnDisk):
        A = A.to_array()
    if A.dtype.kind not in "biuf":
        raise unwritten("npy", f"entries must be numbers, got {A.dtype}.")
    return A if isinstance(A, np.ndarray) else A.get()


FORMAT = Format("npy", (".npy",), "NumPy: a square matrix, inf where there is no edge", sniff, read, write, rank=0)
