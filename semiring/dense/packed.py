"""Rows of bits in words: entries, blocks, the diagonal and bitwise logic of a Boolean matrix, without kernels."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, Self

import numpy as np

from ..host import memory
from ..host.arrays import refuse_masked
from ..host.errors import DTypeError, ShapeError
from ..host.types import Array

#: Dtype of the words.
WORD = np.dtype(np.uint64)


class Packed:
    """Words and shape of a Boolean matrix, 64 columns a word: see `BitMatrix`."""

    __slots__ = ("shape", "words")
    __hash__ = None  # type: ignore[assignment] # mutable

    words: Array
    shape: tuple[int, int]

    @classmethod
    def _of(cls, words: Array, shape: tuple[int, int]) -> Self:
        """Construct without checks."""
        new = object.__new__(cls)
        new.words, new.shape = words, shape
        return new

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the words."""
        return int(self.words.nbytes)

    @property
    def _on_cpu(self) -> bool:
        return isinstance(self.words, np.ndarray)

    @property
    def _xp(self) -> ModuleType:
        """NumPy, or CuPy if the words are on the GPU."""
        return np if self._on_cpu else importlib.import_module("cupy")

    def __setitem__(self, key: Any, value: Any) -> None:
        """`m[i, j] = bool` for indices or arrays; `m[a:b, c:d] = BitMatrix` for views."""
        rows, cols = pair_of(key)
        if isinstance(rows, slice) and isinstance(cols, slice):
            view = self._view(rows, cols)
            if not isinstance(value, Packed) or value.shape != view.shape:
                got = value.shape if isinstance(value, Packed) else described(value)
                raise ShapeError(
                    f"BitMatrix: a block of shape {view.shape} takes a BitMatrix of that shape, got {got}."
                )
            view.words[...] = value.words
            return
        if isinstance(rows, slice) or isinstance(cols, slice):
            raise ShapeError("BitMatrix: set single bits m[i, j], arrays of them, or blocks m[a:b, c:d] = BitMatrix.")
        if self._on_cpu and not self.words.flags.writeable:  # which `ufunc.at` does not ask
            raise ValueError("BitMatrix: words must be writeable to set bits, got read-only ones. Take m.copy() first.")
        refuse_masked(value, where="BitMatrix", way="values.filled(False)")
        i, j = indices_of(rows, self.shape[0], "row"), indices_of(cols, self.shape[1], "column")
        i, j, on = (x.ravel() for x in np.broadcast_arrays(i, j, np.asarray(value, dtype=bool)))
        if on.any() and not on.all():  # of a bit that is set several times, the last counts
            last = len(on) - 1 - np.unique((i * self.shape[1] + j)[::-1], return_index=True)[1]
            i, j, on = i[last], j[last], on[last]
        place, bit = (i, j >> 6), np.uint64(1) << (j & 63).astype(WORD)
        np.bitwise_or.at(self.words, (place[0][on], place[1][on]), bit[on])
        np.bitwise_and.at(self.words, (place[0][~on], place[1][~on]), ~bit[~on])

    def _view(self, rows: slice, cols: slice) -> Self:
        n = self.shape[1]
        start, stop, step = cols.indices(n)
        stop = max(start, stop)
        if step != 1 or (start % 64 and start != n) or (stop % 64 and stop != n):
            raise ShapeError(
                f"BitMatrix: columns can be cut at multiples of 64 and at the right edge, {n}, got {start}:{stop}"
                f"{f':{step}' if step != 1 else ''}. Take m.to_bool() to cut anywhere."
            )
        words = self.words[rows, start // 64 : start // 64 + words_of(stop - start)]
        return self._of(words, (words.shape[0], stop - start))

    def column(self, j: int) -> Array:
        """Column j as a bool array (rows,).

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.column(2)
        array([False,  True, False])
        """
        j = one_index(j, self.shape[1], "column")
        return (self.words[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0

    def diagonal(self) -> Array:
        """Diagonal as a bool array (min(rows, columns),).

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> int(m.diagonal().sum())
        0
        """
        k = self._xp.arange(min(self.shape))
        return (self.words[k, k >> 6] >> (k & 63).astype(WORD)) & np.uint64(1) != 0

    def set_diagonal(self, value: Array) -> None:
        """Diagonal ← value, a bool or a bool array (min(rows, columns),).

        Raises
        ------
        ValueError
            If an array has another length.

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.set_diagonal(True)
        >>> m.counts()
        5
        """
        xp = self._xp
        k = xp.arange(min(self.shape))
        bit = np.uint64(1) << (k & 63).astype(WORD)
        refuse_masked(value, where="BitMatrix", way="value.filled(False)")
        on = xp.broadcast_to(xp.asarray(value, dtype=bool), k.shape)
        cleared = self.words[k, k >> 6] & ~bit  # one word a row: no duplicate indices
        self.words[k, k >> 6] = xp.where(on, cleared | bit, cleared)

    def any(self) -> bool:
        """Whether any bit is set.

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.any()
        True
        """
        return bool(self.words.any())

    def copy(self) -> Self:
        """Copy with new words.

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.copy() == m
        True
        """
        return self._of(self.words.copy(), self.shape)

    def get(self) -> Self:
        """Matrix in NumPy; itself if it is already.

        Examples
        --------
        >>> from semiring import BitMatrix
        >>> m = BitMatrix.from_edges([0, 1], [1, 2], (3, 3))
        >>> m.get() is m
        True
        """
        return self if self._on_cpu else self._of(self.words.get(), self.shape)

    def __and__(self, other: object) -> Self:
        return self._of(self.words & self._partner(other, "&").words, self.shape)

    def __or__(self, other: object) -> Self:
        return self._of(self.words | self._partner(other, "|").words, self.shape)

    def __xor__(self, other: object) -> Self:
        return self._of(self.words ^ self._partner(other, "^").words, self.shape)

    def __iand__(self, other: object) -> Self:
        self.words &= self._partner(other, "&=").words
        return self

    def __ior__(self, other: object) -> Self:
        self.words |= self._partner(other, "|=").words
        return self

    def __ixor__(self, other: object) -> Self:
        self.words ^= self._partner(other, "^=").words
        return self

    def __invert__(self) -> Self:
        words, tail = ~self.words, self.shape[1] % 64
        if tail:
            words[:, -1] &= np.uint64((1 << tail) - 1)
        return self._of(words, self.shape)

    def _partner(self, other: object, sign: str) -> Packed:
        if not isinstance(other, Packed):
            raise DTypeError(f"BitMatrix: {sign} needs a BitMatrix, got {described(other)}. Use BitMatrix.from_bool.")
        if other.shape != self.shape:
            raise ShapeError(f"BitMatrix: {sign} needs equal shapes, got {self.shape} and {other.shape}.")
        return other

    def __eq__(self, other: object) -> bool:
        """Equality of shape and all bits."""
        if not isinstance(other, Packed):
            return NotImplemented
        return self.shape == other.shape and bool((self.words == other.words).all())

    def __repr__(self) -> str:
        place = "" if self._on_cpu else ", on the GPU"
        return f"BitMatrix({self.shape[0]} × {self.shape[1]}, {memory.shown(self.nbytes)}{place})"


def words_of(columns: int) -> int:
    return -(-columns // 64)


def pair_of(key: Any) -> tuple[Array, Array]:
    """(rows, columns) of an index; all columns if only rows are given."""
    if not isinstance(key, tuple):
        return key, slice(None)
    if len(key) != 2:
        raise IndexError(f"BitMatrix: an index must be m[rows, columns] or m[rows], got {len(key)} of them.")
    return key


def indices_of(index: Array, size: int, name: str) -> Array:
    """Index or array of indices, checked; negative ones count from the end."""
    refuse_masked(index, where=f"BitMatrix: a {name} index", way="index.compressed()")
    array = np.asarray(index.get() if hasattr(index, "__cuda_array_interface__") else index)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"BitMatrix: a {name} index must be an integer or an array of them, got {described(index)}.")
    if array.size and (array.min() < -size or array.max() >= size):
        wrong = array[(array < -size) | (array >= size)].flat[0] if array.ndim else array
        raise IndexError(f"BitMatrix: a {name} must lie in 0 … {size - 1}, got {int(wrong)}.")
    array = array.astype(np.int64)  # not before: the greatest uint64 would be −1
    return np.where(array < 0, array + size, array)


def one_index(index: Array, size: int, name: str) -> int:
    """A single index, checked; DTypeError for arrays and slices."""
    array = indices_of(index, size, name)
    if array.ndim:
        raise DTypeError(f"BitMatrix: one {name} index is required, got {described(index)}. Say m[i[:, None], j].")
    return int(array)


def described(thing: object) -> str:
    if hasattr(thing, "dtype"):
        return f"{type(thing).__name__} of {thing.dtype}, shape {getattr(thing, 'shape', '?')}"
    return type(thing).__name__
