"""`CSR`: a sparse matrix of SciPy or CuPy in compressed rows, entries in their original order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...algebra import dtypes
from ...algebra.conversion import conform
from ...algebra.dtypes import index_dtype
from ...algebra.records import Semiring
from ...algebra.survey import survey
from ...host import memory
from ...host.arrays import refuse_padding
from ...host.devices import module, to_device
from ...host.errors import DTypeError, ShapeError
from ...host.signals import load
from ...host.types import Array, DType, Matrix

#: Accepted formats: those in which every entry is stored.
FORMATS = ("csr", "csc", "coo", "bsr")


def is_sparse(source: Matrix) -> bool:
    return hasattr(source, "tocsr") and hasattr(source, "format")


@dataclass(frozen=True)
class CSR:
    """Entries row by row; duplicates mean their sum ⊕.

    starts (m + 1,) int64; indices int32 wherever n allows, else int64; data; all contiguous, native byte order, on one
    device. `source`: the original matrix, whose kind results take.
    """

    shape: tuple[int, int]
    starts: Any
    indices: Any
    data: Any
    source: Any

    @property
    def device(self) -> str:
        return "cpu" if isinstance(self.data, np.ndarray) else "cuda"

    def conformed(self, s: Semiring, dtype: DType, *, where: str) -> CSR:
        """Convert entries to a dtype of the semiring and check them (DTypeError, DomainError)."""
        data = conform(self.data, s, dtype, where=f"{where}: the entries of a sparse matrix")
        survey(data, s, where=f"{where}: the stored entries of a sparse matrix")
        return replace(self, data=module(data).ascontiguousarray(data))

    def move(self, device: str) -> CSR:
        if device == self.device:
            return self
        arrays = {name: to_device(getattr(self, name), device) for name in ("starts", "indices", "data")}
        return replace(self, **arrays)

    def pattern(self) -> CSR:
        """Interpretation as a mask: drop entries that are False."""
        if self.data.dtype.kind != "b" or bool(self.data.all()):
            return self
        xp = module(self.data)
        kept = xp.zeros(len(self.data) + 1, xp.int64)
        xp.cumsum(self.data, out=kept[1:])
        return replace(self, starts=kept[self.starts], indices=self.indices[self.data], data=self.data[self.data])

    def rows(self) -> Matrix:
        """Row of each entry."""
        xp, m = module(self.data), self.shape[0]
        if xp is np:
            return np.repeat(np.arange(m, dtype=index_dtype(m)), np.diff(self.starts))
        places = xp.arange(len(self.indices), dtype=xp.int64)
        return (xp.searchsorted(self.starts, places, side="right") - 1).astype(index_dtype(m))

    def take(self, rows: Array) -> CSR:
        """Given rows, in that order."""
        xp = module(self.data)
        lengths = (self.starts[1:] - self.starts[:-1])[rows]
        starts = xp.zeros(len(rows) + 1, xp.int64)
        xp.cumsum(lengths, out=starts[1:])
        chosen = CSR((len(rows), self.shape[1]), starts, xp.arange(int(starts[-1])), self.data, None)
        places = (self.starts[:-1][rows] - starts[:-1])[chosen.rows()] + chosen.indices
        return replace(chosen, indices=self.indices[places], data=self.data[places])

    def dense(self, s: Semiring, *, where: str) -> Matrix:
        """Dense array; entries must be free of duplicates."""
        xp, (m, n) = module(self.data), self.shape
        size = m * n * self.data.dtype.itemsize
        memory.require(size, self.device, where=where, hint="Use a smaller dtype.")
        array = xp.full((m, n), dtypes.zero(s, self.data.dtype), self.data.dtype)
        array[self.rows(), self.indices] = self.data
        return array

    def transposed(self) -> CSR:
        """Aᵀ, rows sorted."""
        m, n = self.shape
        hint = "Pass fewer columns, or a matrix of rows."
        memory.require(16 * (len(self.data) + n), self.device, where="transpose", hint=hint)
        starts, order = arranged(self.indices, n, self.device)
        return replace(self, shape=(n, m), starts=starts, indices=self.rows()[order], data=self.data[order])

    def give_back(self, *, where: str) -> Matrix:
        """Export as csr in the library and kind (array or matrix) of `source`."""
        kind, starts = _family(self.source), self.starts
        if len(self.indices) <= np.iinfo(self.indices.dtype).max:
            starts = starts.astype(self.indices.dtype, copy=False)
        try:
            if self.device == "cpu":
                return kind((self.data, self.indices, starts), shape=self.shape)
            # CuPy's constructor from arrays synchronises to check them; from a matrix it allocates nothing.
            like = getattr(self.source, "format", None) == "csr" and self.source.shape == self.shape
            made = kind(self.source if like else self.shape, dtype=self.data.dtype)
            made.data, made.indices, made.indptr = self.data, self.indices.astype(starts.dtype, copy=False), starts
        except ValueError as error:
            raise DTypeError(f"{where}: {kind.__module__} must hold {self.data.dtype}, got {error}.") from error
        return made


def stacked(A: CSR, B: CSR) -> CSR:
    """[A; B] on one device; may have duplicates."""
    xp = module(A.data)
    return CSR(
        (A.shape[0] + B.shape[0], A.shape[1]),
        xp.concatenate([A.starts, A.starts[-1] + B.starts[1:]]),
        xp.concatenate([A.indices, B.indices]),
        xp.concatenate([A.data, B.data]),
        None,
    )


def arranged(keys: Array, count: int, device: str) -> tuple[Matrix, Matrix]:
    """Counting sort: start of each of `count` keys, and the stable order."""
    return load(f"semiring.kernels.{device}.csr.backend").arranged(keys, count)


def _family(source: Matrix) -> Any:
    """csr class matching a sparse matrix or array."""
    if type(source).__module__.partition(".")[0] == "cupyx":
        from cupyx.scipy import sparse

        return sparse.csr_matrix
    from scipy import sparse

    return sparse.csr_array if isinstance(source, sparse.sparray) else sparse.csr_matrix


def as_csr(source: Matrix, *, where: str) -> CSR:
    """`CSR` of a sparse matrix: indices checked, duplicates kept, no needless copy.

    Raises DTypeError for formats with implicit zeros and for entries that are not real; ShapeError for other
    dimensions, inconsistent indices, or padded blocks.
    """
    if source.format not in FORMATS:
        raise DTypeError(
            f"{where}: a sparse matrix must be one of {', '.join(FORMATS)}, got {source.format}, in which zeros may "
            "be absent entries or stored ones. Convert it: A.tocsr()."
        )
    if source.ndim != 2:
        raise ShapeError(
            f"{where}: a sparse operand must be a matrix, got shape {source.shape}. Reshape it: x.reshape(1, -1)."
        )
    if source.dtype.kind not in "biuf":
        raise DTypeError(f"{where}: entries must be real numbers or booleans, got dtype {source.dtype}.")
    refuse_padding(source, where)
    if source.format == "bsr":
        source = source.tocsr()  # entry by entry
    m, n = source.shape
    if source.format == "coo":
        rows, columns = checked_ends(source.row, m, where), checked_ends(source.col, n, where)
        device = "cpu" if isinstance(rows, np.ndarray) else "cuda"
        starts, order = arranged(rows, m, device)
        return CSR((m, n), starts, columns[order], _native(source.data)[order], source)
    major, minor = (m, n) if source.format == "csr" else (n, m)
    xp = module(source.data)
    starts = xp.ascontiguousarray(source.indptr.astype(np.int64))
    indices, data = _native(source.indices), _native(source.data)
    used = _checked(starts, indices, major, minor, len(data), where)
    indices = indices[:used].astype(index_dtype(minor), copy=False)
    found = CSR((major, minor), starts, indices, data[:used], source)
    return found if source.format == "csr" else found.transposed()


def _native(array: Array) -> Matrix:
    """Contiguous, native byte order, writeable."""
    xp = module(array)
    array = xp.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return array if xp is not np or array.flags.writeable else array.copy()


def checked_ends(indices: Array, size: int, where: str) -> Matrix:
    """Indices below `size`, else ShapeError."""
    indices = _native(indices)
    if len(indices) and _largest(indices) >= size:
        raise ShapeError(f"{where}: the indices of a sparse matrix must be from 0 to {size - 1}, got others.")
    return indices.astype(index_dtype(size), copy=False)


def _largest(indices: Array) -> int:
    """Largest index as unsigned: negative ones exceed all others."""
    return int(indices.view(f"u{indices.itemsize}").max())


def _inspected(starts: Array, indices: Array) -> tuple[int, bool, int]:
    """(number of entries, whether starts ascend from 0, largest index)."""
    if not isinstance(starts, np.ndarray):
        return load("semiring.kernels.cuda.csr.backend").inspected(starts, indices)
    used = int(starts[-1])
    ordered = int(starts[0]) == 0 and not (starts[1:] < starts[:-1]).any()
    return used, ordered, _largest(indices[:used]) if len(indices[:used]) else 0


def _checked(starts: Array, indices: Array, rows: int, columns: int, entries: int, where: str) -> int:
    """Number of entries; ShapeError for inconsistent indices. Kernels do no further checks."""
    used, wrong = 0, len(starts) != rows + 1
    if not wrong:
        used, ordered, largest = _inspected(starts, indices)
        wrong = not ordered or used > min(len(indices), entries) or (used > 0 and largest >= columns)
    if wrong:
        raise ShapeError(
            f"{where}: the indices of a sparse matrix must be consistent, got indptr of {len(starts)} numbers for "
            f"{rows} rows, and {len(indices)} indices for {columns} columns. A.check_format() says what is wrong."
        )
    return used


def common_dtype(s: Semiring, dtype: DType, *operands: Matrix, where: str) -> DType:
    """Dtype to compute in: requested, else the operands' common one as the semiring resolves it."""
    if s.dtypes == ("bool",):
        return dtype
    if dtype is None:
        dtype = np.result_type(*(x.dtype for x in operands))
    return dtypes.resolve(s, dtype, where=where)
