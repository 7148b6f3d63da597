"""Matrices made by windows on demand, never in full."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, merge, survey
from semiring.dense.bits import BitMatrix
from semiring.host.arrays import require_square
from semiring.host.errors import ShapeError
from semiring.host.types import Array, DType
from semiring.stores.tiles import TileStore

from ...io.graph import Graph
from ...io.graph.entries import combine
from ...io.graph.nulls import Nulls, without_nulls
from ...io.graph.ondisk import OnDisk, height, together
from ...io.inputs import as_graph, is_array
from ...io.inputs.matrix import names_of
from ...road.wants import Wants


@dataclass(frozen=True)
class Source:
    """A square matrix over a semiring, by windows.

    `fill(rows, columns)` returns a window in any dtype of the semiring; None if only the size is known (lengths are
    then assumed non-negative). `together` rows cost as much to read as one. `origin` is the input. `nulls` are entries
    of `fill` that are no edges besides the semiring's zero, None if undeclared. `strip_limit` bounds the bytes of rows
    while surveying, None for no bound. `viewed`: windows are views of a matrix in memory. `where` is the user's
    function, for errors.
    """

    n: int
    semiring: Semiring
    dtype: np.dtype
    fill: Callable[[slice, slice], Any] | None
    together: int = 1
    origin: Any = None
    nulls: Nulls = ()
    strip_limit: int | None = None
    viewed: bool = False
    where: str = "closure"

    @classmethod
    def of(cls, A: Array, semiring: Semiring, dtype: DType = None, *, nulls: Nulls = None, where: str) -> Source:
        """From an array (np.memmap is lazy), a BitMatrix, an object that `has_windows`, or a `Graph`.

        Raises ShapeError, DTypeError.
        """
        origin = A = OnDisk.from_path(A.path) if isinstance(A, TileStore) else A
        if isinstance(A, OnDisk):  # a store declares its missing edges
            A, nulls = A.over(semiring, dtype, nulls, where=where), None if nulls is None is A.semiring else ()
        if isinstance(A, Graph) and A.dense is not None:
            origin, windows, nulls = A.dense, A.windows(semiring, dtype, where=where), None if A.null_undeclared else ()
            A = A.matrix(semiring, dtype) if windows is None else windows
        if isinstance(A, Graph):
            target = A.target(semiring, dtype, where=where)
            return cls(A.n, semiring, target, arcs_of(A, semiring, target), where=where)
        viewed = not has_windows(A)
        matrix = np.asanyarray(A) if viewed and not isinstance(A, BitMatrix) else A
        require_square(matrix.shape, where=where)
        natural = np.dtype(bool) if semiring.dtypes == ("bool",) else matrix.dtype
        target = dtypes.resolve(semiring, dtype, natural, where=where)
        fill = lambda rows, columns: matrix[rows, columns]  # noqa: E731
        n = matrix.shape[0]
        return cls(n, semiring, target, fill, together(origin), origin, nulls, viewed=viewed, where=where)

    @property
    def nbytes(self) -> int:
        return self.n * self.n * self.dtype.itemsize

    def window(self, rows: slice, columns: slice) -> np.ndarray:
        assert self.fill is not None
        found, shape = np.asarray(self.fill(rows, columns)), (rows.stop - rows.start, columns.stop - columns.start)
        if found.shape != shape:
            raise ShapeError(
                f"{self.where}: A[{rows.start}:{rows.stop}, {columns.start}:{columns.stop}] must be of shape {shape}, "
                f"got {found.shape}."
            )
        made = np.asarray(conform(found, self.semiring, self.dtype, where=self.where, first=rows.start))
        return np.asarray(without_nulls(made, found, self.nulls, self.semiring, where=self.where))

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
        out = np.empty((self.n, self.n), self.dtype)
        for rows, part in self.strips():
            out[rows] = part
        return out

    @cached_property
    def surveyed(self) -> tuple[Survey, int]:
        """The survey of all entries and their CRC-32; DomainError for entries outside the semiring."""
        seen, crc = [], 0
        if self.fill is None:
            return Survey(0, 1, True), 0
        for rows, part in self.strips():
            if part.size:
                undeclared = self.nulls is None
                first = (rows.start,)
                seen.append(survey(part, self.semiring, where=self.where, first=first, null_undeclared=undeclared))
                crc = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, crc)
            del part  # before the next is read
        return merge(seen), crc


def matrix_or_graph(A: Array, wants: Wants) -> Array:
    """A if it is a matrix, or has windows and limits are given; else its graph."""
    limited = wants.limits is not None
    known = (Graph, int, np.integer) if limited else (Graph, int, np.integer, np.ndarray, BitMatrix)
    if isinstance(A, known) or (limited and has_windows(A)):
        source = A
    elif not is_array(A):
        source = as_graph(A, unweighted=wants.unweighted)
    else:
        names_of(A)  # a row must be the vertex that its column is
        source = Graph.from_matrix(A).having(weighted=False) if limited and wants.unweighted else A
    return source.having(nulls=wants.nulls) if isinstance(source, Graph) and wants.nulls is not None else source


def has_windows(A: Array) -> bool:
    """Whether A is no array but has shape, dtype and windows A[a:b, c:d]: tile store, Zarr, HDF5, your own."""
    if isinstance(A, (np.ndarray, Graph)) or any(
        hasattr(A, sign) for sign in ("__cuda_array_interface__", "__dlpack__", "tocoo")
    ):
        return False
    return len(getattr(A, "shape", ())) == 2 and hasattr(A, "dtype") and hasattr(A, "__getitem__")


def arcs_of(graph: Graph, semiring: Semiring, dtype: np.dtype) -> Callable[[slice, slice], np.ndarray]:
    """Windows of the matrix of an edge list, as `Graph.matrix`."""
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
