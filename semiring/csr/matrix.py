"""`CSR`: a sparse matrix of SciPy's or CuPy's in compressed rows, its entries in the order in which they came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import dtypes, memory
from ..algebra import Semiring
from ..arrays import refuse_padding
from ..conversion import conform
from ..devices import module
from ..dtypes import index_dtype
from ..errors import DTypeError, ShapeError
from ..signals import load
from ..survey import survey
from ..types import Array, DType

#: Formats that are taken, all entries of which are stored.
FORMATS = ("csr", "csc", "coo", "bsr")


def is_sparse(source: Any) -> bool:
    """Whether this is a sparse matrix or array of SciPy's or CuPy's."""
    return hasattr(source, "tocsr") and hasattr(source, "format")


@dataclass(frozen=True)
class CSR:
    """Entries row by row; a position may occur several times, which means their sum ⊕.

    Attributes
    ----------
    shape : (m, n)
    starts : int64 array (m + 1,)
        Where each row begins.
    indices : int32 or int64 array
        The column of each entry; 32 bits wherever n allows it.
    data : array
        The entries; arrays are NumPy's or CuPy's, contiguous and of native byte order.
    source : object
        The matrix that came, in whose kind results go back.
    """

    shape: tuple[int, int]
    starts: Any
    indices: Any
    data: Any
    source: Any

    @property
    def on_gpu(self) -> bool:
        return not isinstance(self.data, np.ndarray)

    def conformed(self, s: Semiring, dtype: DType, *, where: str) -> CSR:
        """With entries in a dtype of the semiring, all of which belong to it.

        Raises
        ------
        DTypeError, DomainError
        """
        data = conform(self.data, s, dtype, where=f"{where}: the entries of a sparse matrix")
        survey(data, s, where=f"{where}: the stored entries of a sparse matrix")
        return replace(self, data=module(data).ascontiguousarray(data))

    def sent(self, device: str) -> CSR:
        """On a device."""
        if self.on_gpu == (device == "cuda"):
            return self
        if device == "cuda":
            import cupy

            return replace(self, **{name: cupy.asarray(getattr(self, name)) for name in ("starts", "indices", "data")})
        return replace(self, starts=self.starts.get(), indices=self.indices.get(), data=self.data.get())

    def pattern(self) -> CSR:
        """As a mask: entries that are False are none, all others are."""
        if self.data.dtype.kind != "b" or bool(self.data.all()):
            return self
        xp = module(self.data)
        kept = xp.zeros(len(self.data) + 1, xp.int64)
        xp.cumsum(self.data, out=kept[1:])
        return replace(self, starts=kept[self.starts], indices=self.indices[self.data], data=self.data[self.data])

    def rows(self) -> Any:
        """The row of each entry."""
        xp, m = module(self.data), self.shape[0]
        if xp is np:
            return np.repeat(np.arange(m, dtype=index_dtype(m)), np.diff(self.starts))
        places = xp.arange(len(self.indices), dtype=xp.int64)
        return (xp.searchsorted(self.starts, places, side="right") - 1).astype(index_dtype(m))

    def take(self, rows: Array) -> CSR:
        """Those of its rows, in that order."""
        xp = module(self.data)
        lengths = (self.starts[1:] - self.starts[:-1])[rows]
        starts = xp.zeros(len(rows) + 1, xp.int64)
        xp.cumsum(lengths, out=starts[1:])
        chosen = CSR((len(rows), self.shape[1]), starts, xp.arange(int(starts[-1])), self.data, None)
        places = (self.starts[:-1][rows] - starts[:-1])[chosen.rows()] + chosen.indices
        return replace(chosen, indices=self.indices[places], data=self.data[places])

    def dense(self, s: Semiring, *, where: str) -> Any:
        """As an array; no position may occur twice."""
        xp, (m, n) = module(self.data), self.shape
        size = m * n * self.data.dtype.itemsize
        memory.require(size, "cuda" if self.on_gpu else "cpu", where=where, hint="Use a smaller dtype.")
        array = xp.full((m, n), dtypes.zero(s, self.data.dtype), self.data.dtype)
        array[self.rows(), self.indices] = self.data
        return array

    def transposed(self) -> CSR:
        """Aᵀ, its rows sorted."""
        m, n = self.shape
        device = "cuda" if self.on_gpu else "cpu"
        memory.require(
            16 * (len(self.data) + n), device, where="transpose", hint="Pass fewer columns, or a matrix of rows."
        )
        starts, order = arranged(self.indices, n, device)
        return replace(self, shape=(n, m), starts=starts, indices=self.rows()[order], data=self.data[order])

    def give_back(self, *, where: str) -> Any:
        """SciPy's or CuPy's matrix in the kind of what came: csr, an array for an array and a matrix for a matrix."""
        kind, starts = _family(self.source), self.starts
        if len(self.indices) <= np.iinfo(self.indices.dtype).max:
            starts = starts.astype(self.indices.dtype)
        try:
            if not self.on_gpu:
                return kind((self.data, self.indices, starts), shape=self.shape)
            made = kind(self.shape, dtype=self.data.dtype)  # of arrays CuPy would wait to look at them again
            made.data, made.indices, made.indptr = self.data, self.indices.astype(starts.dtype, copy=False), starts
        except ValueError as error:
            raise DTypeError(f"{where}: {kind.__module__} must hold {self.data.dtype}, got {error}.") from error
        return made


def stacked(A: CSR, B: CSR) -> CSR:
    """[A; B], of two on one device; of which nobody knows whether positions are distinct."""
    xp = module(A.data)
    return CSR(
        (A.shape[0] + B.shape[0], A.shape[1]),
        xp.concatenate([A.starts, A.starts[-1] + B.starts[1:]]),
        xp.concatenate([A.indices, B.indices]),
        xp.concatenate([A.data, B.data]),
        None,
    )


def arranged(keys: Array, count: int, device: str) -> tuple[Any, Any]:
    """Where each of `count` keys begins in their stable order, and that order."""
    return load(f"semiring.{device}.csr.backend").arranged(keys, count)


def _family(source: Any) -> Any:
    """The class of csr that goes with a sparse matrix or array."""
    if type(source).__module__.partition(".")[0] == "cupyx":
        from cupyx.scipy import sparse

        return sparse.csr_matrix
    from scipy import sparse

    return sparse.csr_array if isinstance(source, sparse.sparray) else sparse.csr_matrix


def take_in(source: Any, *, where: str) -> CSR:
    """A sparse matrix as `CSR`: all of its indices checked, nothing summed, nothing copied that need not be.

    Raises
    ------
    DTypeError
        For a format of which it is not known which entries are stored, and entries that are no real numbers.
    ShapeError
        If it is no matrix, its indices contradict each other, or blocks of it hold zeros.
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


def _native(array: Array) -> Any:
    """Contiguous, in native byte order, and to be written as far as a compiler knows."""
    xp = module(array)
    array = xp.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return array if xp is not np or array.flags.writeable else array.copy()


def checked_ends(indices: Array, size: int, where: str) -> Any:
    """Indices of a list of entries, none of which is out of bounds.

    Raises
    ------
    ShapeError
    """
    indices = _native(indices)
    if len(indices) and _largest(indices) >= size:
        raise ShapeError(f"{where}: the indices of a sparse matrix must be from 0 to {size - 1}, got others.")
    return indices.astype(index_dtype(size), copy=False)


def _largest(indices: Any) -> int:
    """The largest of some indices as unsigned numbers, as which negative ones are larger than all others."""
    return int(indices.view(f"u{indices.itemsize}").max())


def _inspected(starts: Any, indices: Any) -> tuple[int, bool, int]:
    """How many entries rows have, whether rows are in order from 0 on, and the largest index of the entries."""
    if not isinstance(starts, np.ndarray):
        found: tuple[int, bool, int] = load("semiring.cuda.csr.backend").inspected(starts, indices)
        return found
    used = int(starts[-1])
    ordered = int(starts[0]) == 0 and not (starts[1:] < starts[:-1]).any()
    return used, ordered, _largest(indices[:used]) if len(indices[:used]) else 0


def _checked(starts: Any, indices: Any, rows: int, columns: int, entries: int, where: str) -> int:
    """How many entries there are, of indices that do not contradict each other; no kernel looks at that again.

    Raises
    ------
    ShapeError
    """
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


def common_dtype(s: Semiring, dtype: DType, *operands: Any, where: str) -> DType:
    """The dtype to compute in: the one requested, else the operands' common one as the semiring resolves it."""
    if s.dtypes == ("bool",):
        return dtype
    if dtype is None:
        dtype = np.result_type(*(x.dtype for x in operands))
    return dtypes.resolve(s, dtype, where=where)
