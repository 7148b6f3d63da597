"""Matrices of graphs on disk, in a store of tiles or a `.npy` file, read by windows."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.dense.bits import BitMatrix, packed_strips
from semiring.host.errors import FormatError
from semiring.host.memory import require
from semiring.host.types import Array, DType
from semiring.stores.archives import map_array
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.file import ending
from semiring.stores.tiles.folder import is_store

from .entries import present
from .nulls import Nulls, without_nulls

#: Bytes read at a time.
STRIP = 4 << 20


@dataclass(frozen=True)
class OnDisk:
    """A square matrix at an absolute `path` (store or `.npy`), opened on first read; `identity` detects replacement."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype
    identity: str
    semiring: str | None = None

    ndim = 2

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> OnDisk:
        """The matrix at this path; raises FormatError or OSError."""
        return cls.of(_opened(path), path)

    @classmethod
    def of(cls, found: Any, path: str | os.PathLike[str]) -> OnDisk:
        """The matrix of a store or mapped file, which lies at this path."""
        place = os.path.abspath(path)
        identity, name = _identity(place, found), None
        if isinstance(found, TileStore):
            found.require_closed()
            name = found.attributes.get("semiring")
        declared = name if name in catalog.names() and found.dtype.name in catalog.get(name).dtypes else None
        return cls(place, (found.shape[0], found.shape[1]), found.dtype, identity, declared)

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> Any:
        return OnDisk, (self.path, self.shape, self.dtype, self.identity, self.semiring)

    @cached_property
    def matrix(self) -> Any:
        """The store, or the mapped file; FormatError if missing or replaced."""
        try:
            found = _opened(self.path)
        except FileNotFoundError:
            found = None
        now = "" if found is None else _identity(self.path, found)
        if self.identity not in (now, now.partition(" ")[0]):  # earlier releases knew a store by its first word
            what = "nothing" if found is None else "another"
            raise FormatError(self.path, None, f"the matrix of this graph is required, which lay here, got {what}.")
        return found

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __getitem__(self, key: Any) -> np.ndarray:
        """`A[a:b]`, `A[a:b, c:d]`: entries as stored, in memory."""
        return np.asarray(self.matrix[key])

    def over(self, s: Semiring, dtype: DType = None, nulls: Nulls = None, *, where: str = "Graph.matrix") -> Windows:
        """The matrix over a semiring in the computing dtype, converted by windows; DTypeError if unsupported."""
        if s.dtypes == ("bool",):
            return Windows(self, s, np.dtype(bool), where, nulls)
        return Windows(self, s, dtypes.resolve(s, dtype, self.dtype, where=where), where, nulls)

    def to_array(self) -> np.ndarray:
        """All entries as stored; raises MemoryNeeded."""
        return _read_all(self, self)


@dataclass(frozen=True)
class Windows:
    """A matrix on disk over a semiring: `A[a:b, c:d]` are NumPy arrays with its zero for missing edges."""

    of: OnDisk
    semiring: Semiring
    dtype: np.dtype
    where: str
    nulls: Nulls = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.of.shape

    def __getitem__(self, key: Any) -> np.ndarray:
        s, found = self.semiring, self.of[key]
        return without_nulls(self._over(found, key), found, self.nulls, s, where=self.where)

    def _over(self, found: np.ndarray, key: Any) -> np.ndarray:
        s = self.semiring
        if self.dtype.kind == "b" != found.dtype.kind and self.nulls is not None and self.of.semiring is None:
            return np.asarray(present(found))
        own = None if self.of.semiring is None else catalog.get(self.of.semiring)
        rows = key[0] if isinstance(key, tuple) else key
        first = (rows.start or 0) if isinstance(rows, slice) else 0
        if own is not None and self.dtype.kind == "b" != found.dtype.kind:
            return np.asarray(found != dtypes.zero(own, found.dtype))
        if own is None or own.zero == s.zero:
            return np.asarray(conform(found, s, self.dtype, where=self.where, first=first))
        missing = found == dtypes.zero(own, found.dtype)
        neutral = np.where(missing, found.dtype.type(1), found)
        part = np.array(conform(neutral, s, self.dtype, where=self.where, first=first))
        part[missing] = dtypes.zero(s, self.dtype)
        return part

    def to_array(self) -> np.ndarray:
        """All entries in the semiring; raises MemoryNeeded."""
        return _read_all(self, self.of)

    def packed(self) -> BitMatrix:
        """The edges as a BitMatrix, packed strip by strip."""
        (m, n), zero = self.shape, dtypes.zero(self.semiring, self.dtype)
        step = height(n * self.dtype.itemsize, together(self.of))
        return packed_strips((self[start : start + step] != zero for start in range(0, m, step)), (m, n))


def refuse_overwriting(matrix: Array, output: str | os.PathLike[str] | None, *, where: str) -> None:
    """Raise ValueError if a result would overwrite its input."""
    path = matrix.path if isinstance(matrix, (OnDisk, TileStore)) else None
    if path is not None and output is not None and os.path.realpath(path) == os.path.realpath(output):
        raise ValueError(f"{where}: the output must be another place than the matrix's, got {path} for both.")


def _read_all(matrix: OnDisk | Windows, stored: OnDisk) -> np.ndarray:
    (m, n), dtype = matrix.shape, matrix.dtype
    hint = "Say memory= (--memory) and output='tiles/' (--output): the closure of all pairs then streams."
    require(m * n * dtype.itemsize, where=f"read {stored.path}", hint=hint)
    out = np.empty((m, n), dtype)
    step = height(n * dtype.itemsize, together(stored))
    for start in range(0, m, step):
        out[start : start + step] = matrix[start : min(start + step, m)]
    return out


def height(row: int, together: int = 1) -> int:
    """The number of rows of `row` bytes read at a time, a multiple of `together`."""
    return max(1, STRIP // max(1, row) // together) * together


def together(matrix: Array) -> int:
    """The number of rows that cost as much to read as one: a band of a store's tiles."""
    matrix = matrix.matrix if isinstance(matrix, OnDisk) else matrix
    return matrix.layout.band(min(matrix.block[1], max(1, matrix.shape[1]))) if isinstance(matrix, TileStore) else 1


def _opened(path: str | os.PathLike[str]) -> Any:
    return TileStore(path) if is_store(path) else map_array(path, "the matrix of a graph")


def _identity(path: str, matrix: Array) -> str:
    if isinstance(matrix, TileStore):
        ends = b"".join(map(ending, sorted(matrix.path.glob("*.tile"))))  # not as many as a description claims
        return f"{matrix.layout.identity.hex()} {zlib.crc32(ends):08x}"
    now = Path(path).stat()
    return f"{now.st_size} {now.st_mtime_ns}"
