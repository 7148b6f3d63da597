"""Packed Boolean matrix in a tile store, whose entries are its words: 64 columns each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dense.bits import BitMatrix
from ...dense.packed import indices_of, one_index, pair_of
from ...host.errors import FormatError
from ...host.types import Array
from .store import TileStore

#: Rows and words of a tile: 2 MiB; a matrix row costs an eighth of each of its tiles.
ROWS, WORDS = 1024, 256
#: Attribute of a bit store: the number of columns.
COLUMNS = "packed columns"
#: Bytes of words processed together.
STRIP = 16 << 20


class StoredBits:
    """Boolean matrix on disk, in a store made by `create` (else FormatError), read and checked like a `BitMatrix`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> bits = StoredBits.create(folder.name, (3, 70))
    >>> bits.put(slice(0, 70), BitMatrix.from_edges([2], [69], (3, 70)))
    >>> bits[2, 69], bits[0, 69], bits.counts().tolist()
    (True, False, [0, 0, 1])
    >>> folder.cleanup()
    """

    def __init__(self, words: TileStore) -> None:
        m, width = words.shape
        columns = words.attributes.get(COLUMNS)
        if words.dtype != np.uint64 or not isinstance(columns, int) or -(-columns // 64) != width:
            raise FormatError(words.path, None, f"a store of packed bits is required, got {words!r}.")
        self.words, self.shape = words, (m, columns)

    @classmethod
    def create(cls, path: str | os.PathLike[str], shape: tuple[int, int], *, width: int = WORDS) -> StoredBits:
        """New store without tiles, `width` words wide each; OSError as `TileStore.create`."""
        m, n = shape
        block = (max(1, min(ROWS, m)), max(1, min(width, -(-n // 64))))
        return cls(TileStore.create(path, (m, -(-n // 64)), np.uint64, block=block, attributes={COLUMNS: n}))

    def put(self, columns: slice, bits: BitMatrix) -> None:
        """Write a range of columns, complete tiles; `bits` are the last rows, and rows above them are zero."""
        step, first = self.words.block[0], len(self) - len(bits)
        for start in range(0, len(self), step):
            stop = min(start + step, len(self))
            if start >= first:
                part = bits.words[start - first : stop - first]
            else:
                part = np.zeros((stop - start, bits.words.shape[1]), np.uint64)
                part[max(0, first - start) :] = bits.words[: max(0, stop - first)]
            self.words.put(part, start, columns.start // 64)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<StoredBits: {self.shape[0]} × {self.shape[1]} at {self.words.path}>"

    @property
    def nbytes(self) -> int:
        return self.words.nbytes

    def __getitem__(self, key: tuple[Any, Any]) -> Array:
        """`b[i, j]` → bool; for arrays, an array of their broadcast shape."""
        places = zip(pair_of(key), self.shape, ("row", "column"), strict=True)
        i, j = np.broadcast_arrays(*(indices_of(*place) for place in places))
        rows, columns = i.ravel(), j.ravel()
        found, order = np.empty(rows.size, bool), np.argsort(rows, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1) if rows.size else ():
            word, bit = columns[here] >> 6, (columns[here] & 63).astype(np.uint64)
            row, first = int(rows[here[0]]), int(word.min())
            words = self.words.window(slice(row, row + 1), slice(first, int(word.max()) + 1))[0]
            found[here] = (words[word - first] >> bit) & np.uint64(1) != 0
        return found.reshape(i.shape) if i.ndim else bool(found[0])

    def rows(self, i: Array) -> np.ndarray:
        """Row i as bools (columns,); (len, columns) for an array or a slice."""
        index = np.atleast_1d(np.arange(len(self))[i])
        words = np.empty((len(index), self.words.shape[1]), np.uint64)
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) != 1) + 1) if len(index) else ():
            first = int(index[run[0]])
            self.words.window(slice(first, first + len(run)), slice(0, words.shape[1]), words[run[0] : run[-1] + 1])
        dense = BitMatrix(words, (len(index), self.shape[1])).to_bool()
        return np.asarray(dense[0] if np.ndim(i) == 0 and not isinstance(i, slice) else dense)

    def column(self, j: int) -> np.ndarray:
        """Column j as bools (rows,)."""
        j = one_index(j, self.shape[1], "column")
        words = self.words.window(slice(0, len(self)), slice(j >> 6, (j >> 6) + 1))[:, 0]
        return (words >> np.uint64(j & 63)) & np.uint64(1) != 0

    def counts(self, axis: int = 1) -> np.ndarray:
        """Number of set bits in each row (axis 1) or column (axis 0), int64."""
        parts = [bits.counts(axis=axis) for bits in self._bands()]
        none = np.zeros(self.shape[1] if axis == 0 else 0, np.int64)
        return sum(parts, none) if axis == 0 else np.concatenate([*parts, none])

    def to_bit_matrix(self) -> BitMatrix:
        """Load all bits; MemoryNeeded if they do not fit."""
        bits = BitMatrix.zeros(self.shape)
        self.words.window(slice(0, len(self)), slice(0, self.words.shape[1]), bits.words)
        return bits

    def _bands(self) -> Iterator[BitMatrix]:
        step = max(1, STRIP // max(1, 8 * self.words.shape[1]))
        for start in range(0, len(self), step):
            rows = slice(start, min(start + step, len(self)))
            words = self.words.window(rows, slice(0, self.words.shape[1]))
            yield BitMatrix(words, (len(words), self.shape[1]))
