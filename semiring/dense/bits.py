"""`BitMatrix`: Boolean matrix at one bit an entry, with sums and products over (∨, ∧).

Bit j of row i is bit j mod 64 of `words[i, j // 64]`, least significant first; bits of a row's last word beyond the
last column are zero. A matrix is on the device of its words: NumPy words go to `semiring.kernels.cpu.bits.words`,
CuPy words by `semiring.kernels.cuda.bits.words`, imported on first use.
"""

from __future__ import annotations

import importlib
import os
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

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WORD = np.dtype(np.uint64)


class BitMatrix:
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

    __slots__ = ("shape", "words")
    __hash__ = None  # type: ignore[assignment] # mutable
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, words: Array, shape: tuple[int, int]) -> None:
        m, n = _shape(shape, "BitMatrix")
        if getattr(words, "dtype", None) != _WORD:
            raise DTypeError(f"BitMatrix: words must be an array of native uint64, got {_describe(words)}.")
        if words.shape != (m, _words(n)):
            raise ShapeError(f"BitMatrix: a {m} × {n} matrix has words ({m}, {_words(n)}), got {words.shape}.")
        if words.shape[1] > 1 and words.strides[1] != 8:
            raise ShapeError(f"BitMatrix: the words of a row must be contiguous, got strides {words.strides}.")
        if n % 64 and bool((words[:, -1] >> np.uint64(n % 64)).any()):
            raise ShapeError(f"BitMatrix: bits from column {n} on must be zero, got set ones. Mask the words.")
        self.words, self.shape = words, (m, n)

    @classmethod
    def _of(cls, words: Array, shape: tuple[int, int]) -> BitMatrix:
        """Construct without checks."""
        new = object.__new__(cls)
        new.words, new.shape = words, shape
        return new

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
            8 * m * _words(n),
            where=f"BitMatrix of {m} × {n} bits",
            hint="Use fewer vertices, or the condensation of the graph.",
        )
        return cls._of(np.zeros((m, _words(n)), _WORD), (m, n))

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
        >>> import numpy as np
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
        cols = (_cpu() if self._on_cpu else _cuda()).columns(self, int(counts.sum()))
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
        cols = (_cpu() if self._on_cpu else _cuda()).columns(self, int(counts.sum()))
        if not self._on_cpu:
            counts, cols = counts.get(), cols.get()
        return csr((np.ones(len(cols), bool), cols, np.concatenate([[0], np.cumsum(counts)])), shape=self.shape)

    # Indexing.

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the words."""
        return int(self.words.nbytes)

    @property
    def T(self) -> BitMatrix:
        """Transpose, as a new matrix."""
        return self.transpose()

    @property
    def _on_cpu(self) -> bool:
        return isinstance(self.words, np.ndarray)

    @property
    def _xp(self) -> ModuleType:
        """NumPy, or CuPy if the words are on the GPU."""
        return np if self._on_cpu else importlib.import_module("cupy")

    def __getitem__(self, key: Any) -> Array:
        """`m[i, j]` → bool; `m[rows, cols]` (arrays) → bool array; `m[i]` → row i as bools; slices → a view.

        Views cut columns only at multiples of 64 and at the right edge.
        """
        rows, cols = _of_two(key)
        if type(rows) is int and type(cols) is int and 0 <= rows < self.shape[0] and 0 <= cols < self.shape[1]:
            return bool(int(self.words[rows, cols >> 6]) >> (cols & 63) & 1)
        if isinstance(rows, slice) and isinstance(cols, slice):
            return self._view(rows, cols)
        if isinstance(cols, slice):
            return self.rows(rows)[..., cols]
        if isinstance(rows, slice):
            return self.column(cols)[rows]
        i, j = (
            self._xp.asarray(x) for x in (_indices(rows, self.shape[0], "row"), _indices(cols, self.shape[1], "column"))
        )
        bits = (self.words[i, j >> 6] >> (j & 63).astype(_WORD)) & np.uint64(1) != 0
        return bits if bits.ndim else bool(bits)

    def __setitem__(self, key: Any, value: Any) -> None:
        """`m[i, j] = bool` for indices or arrays; `m[a:b, c:d] = BitMatrix` for views."""
        rows, cols = _of_two(key)
        if isinstance(rows, slice) and isinstance(cols, slice):
            view = self._view(rows, cols)
            if not isinstance(value, BitMatrix) or value.shape != view.shape:
                got = value.shape if isinstance(value, BitMatrix) else _describe(value)
                raise ShapeError(
                    f"BitMatrix: a block of shape {view.shape} takes a BitMatrix of that shape, got {got}."
                )
            view.words[...] = value.words
            return
        if isinstance(rows, slice) or isinstance(cols, slice):
            raise ShapeError("BitMatrix: set single bits m[i, j], arrays of them, or blocks m[a:b, c:d] = BitMatrix.")
        i, j = _indices(rows, self.shape[0], "row"), _indices(cols, self.shape[1], "column")
        i, j, on = (x.ravel() for x in np.broadcast_arrays(i, j, np.asarray(value, dtype=bool)))
        if on.any() and not on.all():  # of a bit that is set several times, the last counts
            last = len(on) - 1 - np.unique((i * self.shape[1] + j)[::-1], return_index=True)[1]
            i, j, on = i[last], j[last], on[last]
        place, bit = (i, j >> 6), np.uint64(1) << (j & 63).astype(_WORD)
        np.bitwise_or.at(self.words, (place[0][on], place[1][on]), bit[on])
        np.bitwise_and.at(self.words, (place[0][~on], place[1][~on]), ~bit[~on])

    def _view(self, rows: slice, cols: slice) -> BitMatrix:
        n = self.shape[1]
        start, stop, step = cols.indices(n)
        stop = max(start, stop)
        if step != 1 or (start % 64 and start != n) or (stop % 64 and stop != n):
            raise ShapeError(
                f"BitMatrix: columns can be cut at multiples of 64 and at the right edge, {n}, got {start}:{stop}"
                f"{f':{step}' if step != 1 else ''}. Take m.to_bool() to cut anywhere."
            )
        words = self.words[rows, start // 64 : start // 64 + _words(stop - start)]
        return BitMatrix._of(words, (words.shape[0], stop - start))

    def rows(self, i: Array) -> Array:
        """Row i as a bool array (columns,); (len, columns) for an integer array or a slice.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.rows(0)
        array([False,  True, False])
        """
        if not isinstance(i, slice):
            i = self._xp.asarray(_indices(i, self.shape[0], "row"))
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
        return self.rows(i).nonzero()[0]

    def column(self, j: int) -> Array:
        """Column j as a bool array (rows,).

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.column(2)
        array([False,  True, False])
        """
        j = int(_indices(j, self.shape[1], "column"))
        return (self.words[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0

    def diagonal(self) -> Array:
        """Diagonal as a bool array (min(rows, columns),).

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> int(m.diagonal().sum())
        0
        """
        k = self._xp.arange(min(self.shape))
        return (self.words[k, k >> 6] >> (k & 63).astype(_WORD)) & np.uint64(1) != 0

    def set_diagonal(self, value: Array) -> None:
        """Diagonal ← value, a bool or a bool array (min(rows, columns),).

        Raises
        ------
        ValueError
            If an array has another length.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.set_diagonal(True)
        >>> m.counts()
        5
        """
        xp = self._xp
        k = xp.arange(min(self.shape))
        bit = np.uint64(1) << (k & 63).astype(_WORD)
        on = xp.broadcast_to(xp.asarray(value, dtype=bool), k.shape)
        cleared = self.words[k, k >> 6] & ~bit  # one word a row: no duplicate indices
        self.words[k, k >> 6] = xp.where(on, cleared | bit, cleared)

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
        counts = (_cpu() if self._on_cpu else _cuda()).count(self, 0 if axis == 0 else 1)
        return int(counts.sum()) if axis is None else counts

    def any(self) -> bool:
        """Whether any bit is set.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.any()
        True
        """
        return bool(self.words.any())

    def copy(self) -> BitMatrix:
        """Copy with new words.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.copy() == m
        True
        """
        return BitMatrix._of(self.words.copy(), self.shape)

    def get(self) -> BitMatrix:
        """Matrix in NumPy; itself if it is already.

        Examples
        --------
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.get() is m
        True
        """
        return self if self._on_cpu else BitMatrix._of(self.words.get(), self.shape)

    # The algebra.

    def __and__(self, other: Any) -> BitMatrix:
        return BitMatrix._of(self.words & self._partner(other, "&").words, self.shape)

    def __or__(self, other: Any) -> BitMatrix:
        return BitMatrix._of(self.words | self._partner(other, "|").words, self.shape)

    def __xor__(self, other: Any) -> BitMatrix:
        return BitMatrix._of(self.words ^ self._partner(other, "^").words, self.shape)

    def __iand__(self, other: Any) -> BitMatrix:
        self.words &= self._partner(other, "&=").words
        return self

    def __ior__(self, other: Any) -> BitMatrix:
        self.words |= self._partner(other, "|=").words
        return self

    def __ixor__(self, other: Any) -> BitMatrix:
        self.words ^= self._partner(other, "^=").words
        return self

    def __invert__(self) -> BitMatrix:
        words, tail = ~self.words, self.shape[1] % 64
        if tail:
            words[:, -1] &= np.uint64((1 << tail) - 1)
        return BitMatrix._of(words, self.shape)

    def _partner(self, other: Any, sign: str) -> BitMatrix:
        if not isinstance(other, BitMatrix):
            raise DTypeError(f"BitMatrix: {sign} needs a BitMatrix, got {_describe(other)}. Use BitMatrix.from_bool.")
        if other.shape != self.shape:
            raise ShapeError(f"BitMatrix: {sign} needs equal shapes, got {self.shape} and {other.shape}.")
        return other

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
        x = x if hasattr(x, "__cuda_array_interface__") else np.asarray(x)
        if x.dtype != np.dtype(bool) or x.shape != self.shape[1:]:
            raise ShapeError(
                f"BitMatrix: @ needs a BitMatrix or a bool vector of {self.shape[1]} entries, got {_describe(x)}."
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

    def __eq__(self, other: object) -> bool:
        """Equality of shape and all bits."""
        if not isinstance(other, BitMatrix):
            return NotImplemented
        return self.shape == other.shape and bool((self.words == other.words).all())

    def __repr__(self) -> str:
        place = "" if self._on_cpu else ", on the GPU"
        return f"BitMatrix({self.shape[0]} × {self.shape[1]}, {memory.shown(self.nbytes)}{place})"

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
            if words.dtype.newbyteorder("=") != _WORD or shape.dtype.kind not in "iu" or shape.shape != (2,):
                raise ShapeError(f"`words` of {words.dtype} and `shape` {shape!r}")
            return cls(np.ascontiguousarray(words, _WORD), (int(shape[0]), int(shape[1])))
        except (KeyError, ShapeError) as error:
            raise FormatError(path, None, f"a BitMatrix that `save` wrote is required, got {error!r}.") from error


def _words(columns: int) -> int:
    return -(-columns // 64)


def _of_two(key: Any) -> tuple[Array, Array]:
    """(rows, columns) of an index; all columns if only rows are given."""
    if not isinstance(key, tuple):
        return key, slice(None)
    if len(key) != 2:
        raise IndexError(f"BitMatrix: an index must be m[rows, columns] or m[rows], got {len(key)} of them.")
    return key


def _shape(shape: Any, where: str) -> tuple[int, int]:
    try:
        m, n = (int(x) for x in shape)
    except (TypeError, ValueError):
        raise ShapeError(f"{where}: shape must be (rows, columns), got {shape!r}.") from None
    if m < 0 or n < 0:
        raise ShapeError(f"{where}: shape must not be negative, got {shape!r}.")
    return m, n


def _index_list(source: Array, name: str) -> np.ndarray:
    """1-D integers as contiguous int64."""
    index = np.asarray(source)
    if index.size == 0:
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"BitMatrix.from_edges: {name} must be integers, got {index.dtype}.")
    if index.ndim != 1:
        raise ShapeError(f"BitMatrix.from_edges: {name} must have one axis, got shape {index.shape}.")
    return np.ascontiguousarray(index, dtype=np.int64)


def _indices(index: Array, size: int, name: str) -> Array:
    """Index or array of indices, checked; negative ones count from the end."""
    array = np.asarray(index.get() if hasattr(index, "__cuda_array_interface__") else index)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"BitMatrix: a {name} index must be an integer or an array of them, got {_describe(index)}.")
    array = array.astype(np.int64)
    if array.size and (array.min() < -size or array.max() >= size):
        wrong = array[(array < -size) | (array >= size)].flat[0] if array.ndim else array
        raise IndexError(f"BitMatrix: a {name} must lie in 0 … {size - 1}, got {int(wrong)}.")
    return np.where(array < 0, array + size, array)


def _describe(thing: Any) -> str:
    if hasattr(thing, "dtype"):
        return f"{type(thing).__name__} of {thing.dtype}, shape {getattr(thing, 'shape', '?')}"
    return type(thing).__name__


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
