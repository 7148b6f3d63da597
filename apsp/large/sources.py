"""A matrix of which windows are made on demand, never all of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.bits import BitMatrix
from semiring.conversion import conform
from semiring.errors import ShapeError
from semiring.survey import Survey, survey, united
from semiring.tiles import TileStore
from semiring.types import Array, DType

from ..graph import Graph
from ..graph.entries import combine
from ..graph.nulls import Nulls, without_nulls
from ..graph.ondisk import OnDisk, height, refuse_overwriting, together
from ..inputs import as_graph, is_array
from ..wants import Wants


@dataclass(frozen=True)
class Source:
    """A square matrix over a semiring, in windows.

    Attributes
    ----------
    n : int
    semiring : Semiring
    dtype : numpy.dtype
        What is computed in.
    fill : callable or None
        `fill(rows, columns)`: the entries in these rows and columns, in any dtype that the semiring takes; None where
        nothing but the size is known, and lengths are taken to be non-negative.
    together : int
        So many rows cost no more to read than one of them.
    origin : object
        What it came as.
    nulls : tuple of number, or None
        What `fill` has where no edge is, other than the semiring's zero; None where the caller has not said.
    strip_limit : int or None
        Bytes that complete rows may take when all entries are looked at; None for any.
    """

    n: int
    semiring: Semiring
    dtype: np.dtype
    fill: Callable[[slice, slice], Any] | None
    together: int = 1
    origin: Any = None
    nulls: Nulls = ()
    strip_limit: int | None = None

    @classmethod
    def of(cls, A: Array, semiring: Semiring, dtype: DType = None, *, nulls: Nulls = None, where: str) -> Source:
        """Of an array (np.memmap is read as it is wanted), whatever `has_windows`, or a `Graph`, which has its nulls.

        Raises
        ------
        ShapeError, DTypeError
            If it is not square, or not defined on this semiring.
        """
        origin = A = OnDisk.from_path(A.path) if isinstance(A, TileStore) else A
        if isinstance(A, OnDisk):  # a store knows what a missing edge is in it
            A, nulls = A.over(semiring, dtype, nulls, where=where), None if nulls is None is A.semiring else ()
        if isinstance(A, Graph) and A.dense is not None:
            origin, windows, nulls = A.dense, A.windows(semiring, dtype, where=where), None if A.null_undeclared else ()
            A = A.matrix(semiring, dtype) if windows is None else windows
        if isinstance(A, Graph):
            target = A.target(semiring, dtype, where=where)
            return cls(A.n, semiring, target, arcs_of(A, semiring, target))
        matrix = A if has_windows(A) else np.asanyarray(A)
        if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ShapeError(f"{where}: A must be square, (n, n), got shape {matrix.shape}.")
        target = dtypes.resolve(semiring, dtype, matrix.dtype, where=where)
        step = origin.together if isinstance(origin, OnDisk) else together(origin)
        return cls(matrix.shape[0], semiring, target, lambda rows, columns: matrix[rows, columns], step, origin, nulls)

    @property
    def nbytes(self) -> int:
        """What all of it takes."""
        return self.n * self.n * self.dtype.itemsize

    def refuse_overwriting(self, output: Any, *, where: str) -> None:
        """Refuse to write a result over the matrix.

        Raises
        ------
        ValueError
        """
        refuse_overwriting(self.origin, output, where=where)

    def window(self, rows: slice, columns: slice) -> np.ndarray:
        """The entries in these rows and columns, in the dtype computed in."""
        assert self.fill is not None
        found = filled(self.fill, rows, columns)
        made = np.asarray(conform(found, self.semiring, self.dtype, where="closure", first=rows.start))
        return np.asarray(without_nulls(made, found, self.nulls, self.semiring, where="closure"))

    def strips(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Strips of complete rows, converted, within `strip_limit`."""
        row = max(1, self.n * self.dtype.itemsize)
        step = height(row, self.together)
        if self.strip_limit is not None and 2 * step * row > self.strip_limit:
            fits = max(1, self.strip_limit // (2 * row))
            step = fits // self.together * self.together or fits
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            yield rows, self.window(rows, slice(0, self.n))

    def to_array(self) -> np.ndarray:
        """All of it, as a new array."""
        out = np.empty((self.n, self.n), self.dtype)
        for rows, part in self.strips():
            out[rows] = part
        return out

    @cached_property
    def surveyed(self) -> tuple[Survey, int]:
        """What a look at all entries finds, and their CRC-32.

        Raises
        ------
        DomainError
            If one lies outside of the semiring.
        """
        seen, crc = [], 0
        if self.fill is None:
            return Survey(0, 1, True), 0
        for rows, part in self.strips():
            if part.size:
                undeclared = self.nulls is None
                first = (rows.start,)
                seen.append(survey(part, self.semiring, where="closure", first=first, null_undeclared=undeclared))
                crc = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, crc)
            del part  # before the next is read
        return united(seen), crc


def filled(fill: Callable[[slice, slice], Any], rows: slice, columns: slice) -> np.ndarray:
    """The window of an array-like object, checked.

    Raises
    ------
    ShapeError
        If it is of another shape.
    """
    found, shape = np.asarray(fill(rows, columns)), (rows.stop - rows.start, columns.stop - columns.start)
    if found.shape != shape:
        raise ShapeError(
            f"closure: A[{rows.start}:{rows.stop}, {columns.start}:{columns.stop}] must be of shape {shape}, got "
            f"{found.shape}."
        )
    return found


def matrix_or_graph(A: Array, wants: Wants) -> Any:
    """A where it is a matrix, or windows of one are read within limits; else the graph that it is."""
    limited = wants.limits is not None
    known = (Graph, int, np.integer) if limited else (Graph, int, np.integer, np.ndarray, BitMatrix)
    if isinstance(A, known) or (limited and has_windows(A)):
        source = A
    elif not is_array(A):
        source = as_graph(A, unweighted=wants.unweighted)
    else:
        source = as_graph(Graph.from_matrix(A), unweighted=True) if limited and wants.unweighted else A
    return source.having(nulls=wants.nulls) if isinstance(source, Graph) and wants.nulls is not None else source


def has_windows(A: Array) -> bool:
    """Whether A has a shape, a dtype and windows A[a:b, c:d], and is no array: a tile store, Zarr, HDF5, one's own."""
    if isinstance(A, (np.ndarray, Graph)) or any(
        hasattr(A, sign) for sign in ("__cuda_array_interface__", "__dlpack__", "tocoo")
    ):
        return False
    return len(getattr(A, "shape", ())) == 2 and hasattr(A, "dtype") and hasattr(A, "__getitem__")


def arcs_of(graph: Graph, semiring: Semiring, dtype: np.dtype) -> Callable[[slice, slice], np.ndarray]:
    """Windows of the matrix of a graph with a list of edges, as `Graph.matrix` has it."""
    arcs = graph.edges(semiring, dtype)
    order = np.argsort(arcs[0], kind="stable")
    i, j, weights = (x[order] for x in arcs)

    def fill(rows: slice, columns: slice) -> np.ndarray:
        here = slice(*np.searchsorted(i, (rows.start, rows.stop)))
        inside = (j[here] >= columns.start) & (j[here] < columns.stop)
        width = columns.stop - columns.start
        window = np.full((rows.stop - rows.start, width), dtypes.zero(semiring, dtype), dtype)
        offsets = (i[here][inside] - rows.start) * width + j[here][inside] - columns.start
        combine(window.reshape(-1), offsets, weights[here][inside], semiring)
        return window

    return fill
