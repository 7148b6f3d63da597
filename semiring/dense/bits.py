"""`BitMatrix`: Boolean matrix at one bit an entry, with sums and products over (∨, ∧).

Bit j of row i is bit j mod 64 of `words[i, j // 64]`, least significant first; bits of a row's last word beyond the
last column are zero. A matrix is on the device of its words: NumPy words go to `semiring.kernels.cpu.bits.words`,
CuPy words by `semiring.kernels.cuda.bits.words`, imported on first use.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.conversion import from_sequence
from ..host import memory
from ..host.arrays import check_out, checked_sparse, refuse_masked
from ..host.errors import DeviceError, DTypeError, FormatError, ShapeError
from ..host.signals import load
from ..host.types import Array, DType
from ..stores.archives import load_arrays
from ..stores.files import writing
from .packed import WORD, Packed, described, indices_of, one_index, pair_of, words_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class BitMatrix(Packed):
    """Boolean matrix packed along its rows, 64 columns a word.

    Parameters
    ----------
    words : array of uint64, shape (rows, ceil(columns / 64))
        NumPy or CuPy, not copied; rows must be contiguous.
    shape : (rows, columns)

    Raises
    ------
    DTypeError, ShapeError
        If `words` are not native uint64, do not fit `shape`, have rows that are not contiguous, or a bit set beyond the
        last column; in `zeros` and `eye`, if the shape is no pair of non-negative integers.
    MemoryNeeded
        In `zeros`, `eye`, `from_sparse` and `transpose`, if the words do not fit in memory.
    IndexError
        In `rows`, `indices` and `column`, if an index is out of range.

    See Also
    --------
    zeros, eye, from_bool, from_edges, from_sparse, load : Construction; `semiring.eye` is over any semiring.
    to_bool, to_edges, to_sparse, save : Conversion, the inverses.
    rows, indices, column, diagonal, set_diagonal : Parts.
    counts, any, transpose, copy, get : Reductions and copies.

    Notes
    -----
    `zeros`, `eye` and `copy` write the 8 rows ⌈columns / 64⌉ bytes once; `counts`, `any`, `get`, `save` and `load` read
    them once, and so does `transpose`, by tiles of 64 bits. `from_edges` and `from_sparse` clear them and take O(m) for
    m edges. `from_bool` and `to_bool` take a byte an entry; `to_edges` 16 bytes and `to_sparse` a bool and an index a
    set bit. `rows` and `indices` are O(columns) a row; `column`, `diagonal` and `set_diagonal` take one word a row.

    Examples
    --------
    >>> from semiring import BitMatrix
    >>> A = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
    >>> (A @ A)[0, 2]
    True
    >>> (A | A.T).counts(axis=1)
    array([1, 2, 1])
    >>> A.rows(0)
    array([False,  True, False])
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, words: Array, shape: tuple[int, int]) -> None:
        m, n = _shape(shape, "BitMatrix")
        if getattr(words, "dtype", None) != WORD:
            raise DTypeError(f"BitMatrix: words must be an array of native uint64, got {described(words)}.")
        if words.shape != (m, words_of(n)):
            raise ShapeError(f"BitMatrix: a {m} × {n} matrix has words ({m}, {words_of(n)}), got {words.shape}.")
        if words.shape[1] > 1 and words.strides[1] != 8:
            raise ShapeError(f"BitMatrix: the words of a row must be contiguous, got strides {words.strides}.")
        if n % 64 and bool((words[:, -1] >> np.uint64(n % 64)).any()):
            raise ShapeError(f"BitMatrix: bits from column {n} on must be zero, got set ones. Mask the words.")
        self.words, self.shape = words, (m, n)

    # Construction.

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> BitMatrix:
        """Matrix of shape (rows, columns) without set bits, in NumPy.

        Examples
        --------
        >>> BitMatrix.zeros((1000, 1000)).nbytes
        128000
        """
        m, n = _shape(shape, "BitMatrix")
        memory.require(
            8 * m * words_of(n),
            where=f"BitMatrix of {m} × {n} bits",
            hint="Use fewer vertices, or the condensation of the graph.",
        )
        return cls._of(np.zeros((m, words_of(n)), WORD), (m, n))

    @classmethod
    def eye(cls, n: int) -> BitMatrix:
        """Identity matrix of shape (n, n), in NumPy.

        Examples
        --------
        >>> BitMatrix.eye(3).counts()
        3
        """
        new = cls.zeros((n, n))
        new.set_diagonal(True)
        return new

    @classmethod
    def from_bool(cls, array: Array) -> BitMatrix:
        """Pack a bool `array` (rows, columns) of any strides, in NumPy or CuPy as given.

        Raises
        ------
        DTypeError, ShapeError, MemoryNeeded
            If the array is not bool or is masked, is not 2-D, or the words do not fit in memory.

        Examples
        --------
        >>> BitMatrix.from_bool(np.eye(3, dtype=bool)).words.ravel()
        array([1, 2, 4], dtype=uint64)
        """
        refuse_masked(array, where="BitMatrix.from_bool")
        if not hasattr(array, "__cuda_array_interface__"):
            array = from_sequence(array, where="BitMatrix.from_bool")
        if array.dtype != np.dtype(bool):
            raise DTypeError(
                f"BitMatrix.from_bool: the array must be bool, got {array.dtype}. Say which entries are set: A != 0."
            )
        if array.ndim != 2:
            raise ShapeError(f"BitMatrix.from_bool: the array must have two axes, got shape {array.shape}.")
        if not isinstance(array, np.ndarray):
            return cls._of(_cuda().pack(array), array.shape)
        new = cls.zeros(array.shape)
        _cpu().pack(array, new)
        return new

    @classmethod
    def from_edges(cls, rows: Array, cols: Array, shape: tuple[int, int]) -> BitMatrix:
        """Set bit (rows[e], cols[e]) for every e; repeats are allowed.

        Parameters
        ----------
        rows, cols : array_like of int, shape (edges,)
            The matrix is on the GPU if `rows` is a CuPy array.
        shape : (rows, columns)

        Raises
        ------
        DTypeError, ShapeError
            If the indices are not integers, or not two lists of one length.
        IndexError
            If an index is out of range; negative ones are.
        MemoryNeeded
            If the words do not fit in memory.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.to_bool().astype(int)
        array([[0, 1, 0],
               [0, 0, 1],
               [0, 0, 0]])
        """
        if hasattr(rows, "__cuda_array_interface__"):
            m, n = _shape(shape, "BitMatrix")
            return cls._of(_cuda().from_edges(rows, cols, (m, n)), (m, n))
        new = cls.zeros(shape)
        r, c = (_index_list(x, name) for x, name in ((rows, "rows"), (cols, "cols")))
        if len(r) != len(c):
            raise ShapeError(f"BitMatrix.from_edges: rows and cols must be of one length, got {len(r)} and {len(c)}.")
        for index, bound, name in ((r, new.shape[0], "row"), (c, new.shape[1], "column")):
            if len(index) and (index.min() < 0 or index.max() >= bound):
                wrong = int(index[(index < 0) | (index >= bound)][0])
                raise IndexError(f"BitMatrix.from_edges: a {name} must lie in 0 … {bound - 1}, got {wrong}.")
        if len(r):
            _cpu().set_bits(new, r, c)
        return new

    @classmethod
    def from_sparse(cls, matrix: Array) -> BitMatrix:
        """Nonzero pattern of a SciPy sparse `matrix`, in NumPy; no dense form is built.

        Examples
        --------
        >>> import scipy.sparse
        >>> BitMatrix.from_sparse(scipy.sparse.coo_array(([1], ([0], [1])), shape=(2, 2))).counts()
        1
        """
        if not hasattr(matrix, "tocoo"):
            raise DTypeError(
                f"BitMatrix.from_sparse: a sparse matrix is required, got {described(matrix)}. Use BitMatrix.from_bool."
            )
        coo = checked_sparse(matrix, where="BitMatrix").tocoo()
        nonzero = coo.data != 0
        return cls.from_edges(coo.row[nonzero], coo.col[nonzero], coo.shape)

    # Conversion.

    def to_bool(self, out: Array = None) -> Array:
        """Unpack to a bool array of this shape, in NumPy or CuPy as the words, or into `out` of any strides.

        Raises
        ------
        ShapeError, DTypeError, ValueError, MemoryNeeded
            If `out` has another shape or dtype or is read-only, or the result does not fit in memory.

        Examples
        --------
        >>> BitMatrix.eye(2).to_bool()
        array([[ True, False],
               [False,  True]])
        """
        if out is not None:
            check_out(out, self.shape, bool, where="BitMatrix.to_bool")
        if not self._on_cpu:
            return _cuda().unpack(self, out)
        if out is None:
            hint = "Take rows, counts or edges instead."
            memory.require(self.shape[0] * self.shape[1], where="BitMatrix.to_bool", hint=hint)
            out = np.empty(self.shape, bool)
        _cpu().unpack(self, out)
        return out

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("BitMatrix: as an array of bytes it must be a copy, got copy=False. Take m.words.")
        dense: np.ndarray = self.to_bool()
        return dense if dtype is None else dense.astype(dtype)

    def to_edges(self) -> tuple[Array, Array]:
        """(rows, cols): indices of the set bits in row-major order, two int64 arrays.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.to_edges()
        (array([0, 1]), array([1, 2]))
        """
        counts = self.counts(axis=1)
        cols = self._kernels.columns(self, int(counts.sum()))
        xp = self._xp
        return xp.repeat(xp.arange(len(self)), counts if self._on_cpu else counts.tolist()), cols

    def to_sparse(self) -> csr_array:
        """SciPy `csr_array` of bool; no dense form is built.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.to_sparse().nnz
        2
        """
        from scipy.sparse import csr_array as csr

        counts = self.counts(axis=1)
        cols = self._kernels.columns(self, int(counts.sum()))
        if not self._on_cpu:
            counts, cols = counts.get(), cols.get()
        return csr((np.ones(len(cols), bool), cols, np.concatenate([[0], np.cumsum(counts)])), shape=self.shape)

    @property
    def _kernels(self) -> ModuleType:
        return _cpu() if self._on_cpu else _cuda()

    # Indexing.

    @property
    def T(self) -> BitMatrix:
        """Transpose, as a new matrix."""
        return self.transpose()

    def __getitem__(self, key: Any) -> Array:
        """`m[i, j]` → bool; `m[rows, cols]` (arrays) → bool array; `m[i]` → row i as bools; slices → a view.

        Views cut columns only at multiples of 64 and at the right edge.
        """
        rows, cols = pair_of(key)
        if type(rows) is int and type(cols) is int and 0 <= rows < self.shape[0] and 0 <= cols < self.shape[1]:
            return bool(int(self.words[rows, cols >> 6]) >> (cols & 63) & 1)
        if isinstance(rows, slice) and isinstance(cols, slice):
            return self._view(rows, cols)
        if isinstance(cols, slice):
            return self.rows(rows)[..., cols]
        if isinstance(rows, slice):
            return self.column(cols)[rows]
        places = indices_of(rows, self.shape[0], "row"), indices_of(cols, self.shape[1], "column")
        i, j = map(self._xp.asarray, places)
        bits = (self.words[i, j >> 6] >> (j & 63).astype(WORD)) & np.uint64(1) != 0
        return bits if bits.ndim else bool(bits)

    def rows(self, i: Array) -> Array:
        """Row i as a bool array (columns,); (len, columns) for an integer array or a slice.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.rows(0)
        array([False,  True, False])
        """
        if not isinstance(i, slice):
            i = self._xp.asarray(indices_of(i, self.shape[0], "row"))
        words = self.words[i]
        wide = words[None] if words.ndim == 1 else words
        dense = BitMatrix._of(wide, (wide.shape[0], self.shape[1])).to_bool()
        return dense[0] if words.ndim == 1 else dense

    def indices(self, i: int) -> Array:
        """Columns of the set bits of row i, ascending, as an integer array.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.indices(1)
        array([2])
        """
        return self.rows(one_index(i, self.shape[0], "row")).nonzero()[0]

    def counts(self, axis: int | None = None) -> Array:
        """Number of set bits: an int in all, int64 arrays by column (`axis=0`) or by row (`axis=1`).

        Raises
        ------
        ShapeError
            If the axis is invalid.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.counts(), m.counts(axis=1)
        (2, array([1, 1, 0]))
        """
        if axis not in (None, 0, 1):
            raise ShapeError(f"BitMatrix.counts: axis must be 0, 1 or None, got {axis!r}.")
        counts = self._kernels.count(self, 0 if axis == 0 else 1)
        return int(counts.sum()) if axis is None else counts

    # The algebra.

    def __matmul__(self, other: Any) -> Array:
        """C[i, j] = ⋁ₖ A[i, k] ∧ B[k, j]; with a bool vector, y[i] = ⋁ₖ A[i, k] ∧ x[k]."""
        if not isinstance(other, BitMatrix):
            return self._matvec(other)
        (m, k), (l, n) = self.shape, other.shape
        if k != l:
            raise ShapeError(f"BitMatrix: @ needs equal inner sizes, got A {self.shape} and B {other.shape}.")
        if self._on_cpu != other._on_cpu:
            raise DTypeError("BitMatrix: @ needs both operands on one device, got one on the CPU and one on the GPU.")
        if not self._on_cpu:
            return BitMatrix._of(_cuda().multiply(self, other), (m, n))
        C = BitMatrix.zeros((m, n))
        _cpu().multiply(C, self, other)
        return C

    def _matvec(self, x: Array) -> Array:
        refuse_masked(x, where="BitMatrix: @", way="x.filled(False)")
        x = x if hasattr(x, "__cuda_array_interface__") else np.asarray(x)
        if x.dtype != np.dtype(bool) or x.shape != self.shape[1:]:
            raise ShapeError(
                f"BitMatrix: @ needs a BitMatrix or a bool vector of {self.shape[1]} entries, got {described(x)}."
            )
        return (self.words & BitMatrix.from_bool(x[None, :]).words).any(axis=1)

    def transpose(self) -> BitMatrix:
        """Transpose, as a new matrix.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.transpose().to_edges()
        (array([1, 2]), array([0, 1]))
        """
        if not self._on_cpu:
            return BitMatrix._of(_cuda().transpose(self), self.shape[::-1])
        B = BitMatrix.zeros((self.shape[1], self.shape[0]))
        _cpu().transpose(self, B)
        return B

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write atomically to `path` as an `.npz` archive, whatever the file's suffix.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BitMatrix.eye(3).save(f"{folder}/eye.npz")
        ...     BitMatrix.load(f"{folder}/eye.npz") == BitMatrix.eye(3)
        True
        """
        words = self.words if self._on_cpu else self.words.get()
        with writing(path) as file:
            np.savez(file, words=np.ascontiguousarray(words), shape=np.array(self.shape, np.int64))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BitMatrix:
        """Read the file `path`, written by `save`, to NumPy.

        Raises
        ------
        FormatError, OSError
            If the file is damaged or of another kind, or cannot be read.

        Examples
        --------
        >>> BitMatrix.load("bits.npz").counts()  # doctest: +SKIP
        """
        arrays = load_arrays(path, "a BitMatrix")
        try:
            words, shape = arrays["words"], arrays["shape"]
            if words.dtype.newbyteorder("=") != WORD or shape.dtype.kind not in "iu" or shape.shape != (2,):
                raise ShapeError(f"`words` of {words.dtype} and `shape` {shape!r}")
            return cls(np.ascontiguousarray(words, WORD), (int(shape[0]), int(shape[1])))
        except (KeyError, ShapeError) as error:
            raise FormatError(path, None, f"a BitMatrix that `save` wrote is required, got {error!r}.") from error


def _shape(shape: Any, where: str) -> tuple[int, int]:
    try:
        m, n = map(operator.index, shape)
    except (TypeError, ValueError):
        raise ShapeError(f"{where}: shape must be (rows, columns), got {shape!r}.") from None
    if m < 0 or n < 0:
        raise ShapeError(f"{where}: shape must not be negative, got {shape!r}.")
    return m, n


def _index_list(source: Array, name: str) -> np.ndarray:
    """1-D integers as contiguous int64."""
    refuse_masked(source, where=f"BitMatrix.from_edges: {name}", way="A.compressed()")
    index = np.asarray(source)
    if index.size == 0:
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"BitMatrix.from_edges: {name} must be integers, got {index.dtype}.")
    if index.ndim != 1:
        raise ShapeError(f"BitMatrix.from_edges: {name} must have one axis, got shape {index.shape}.")
    return np.ascontiguousarray(index, dtype=np.int64)


def _cpu() -> ModuleType:
    return load("semiring.kernels.cpu.bits.words")


def _cuda() -> ModuleType:
    try:
        from ..kernels.cuda.bits import words
    except ImportError as problem:
        raise DeviceError(
            f"BitMatrix: this needs kernels on the GPU, got {problem}. Move it: words.get()."
        ) from problem
    return words


def packed_strips(strips: Iterable[Array], shape: tuple[int, int]) -> BitMatrix:
    """Pack bool arrays of a matrix's rows, from the first on."""
    new, end = None, 0
    for strip in strips:
        part = BitMatrix.from_bool(strip).words
        if new is None:
            on_host = isinstance(part, np.ndarray)
            new = BitMatrix.zeros(shape) if on_host else BitMatrix._of(_cuda().zeros(shape), shape)
        new.words[end : end + len(part)] = part
        end += len(part)
    return BitMatrix.zeros(shape) if new is None else new
