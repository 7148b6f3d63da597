"""`TileStore`: a matrix as a directory of tiles, of which any window is read; every tile is checked on every read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...algebra.ranges import blocks, local, meet, sliced
from ...host.arrays import check_out, refuse_masked
from ...host.errors import FormatError, ShapeError, TileError
from ...host.spelling import came
from ...host.types import Array, DType
from ..files import sync_names
from . import file
from .file import Reader
from .folder import CLOSED, SOURCE, clear, describe, described, layout_of, replacing, require_disk_space

#: Default rows and columns of a tile.
BLOCK = 1024


@dataclass(frozen=True)
class Inspection:
    """State of a store's tiles.

    rounds: int64 (grid), pivots applied to each tile, −1 if it is missing or damaged; errors: TileError by tile.
    """

    rounds: np.ndarray
    errors: dict[tuple[int, int], TileError]

    def __repr__(self) -> str:
        tiles = " × ".join(map(str, self.rounds.shape))
        return f"<Inspection: {tiles} tiles, {len(self.errors)} missing or damaged, round {self.oldest}>"

    @property
    def oldest(self) -> int:
        """Least round of a sound tile; 0 if there is none."""
        sound = self.rounds[self.rounds >= 0]
        return int(sound.min()) if sound.size else 0


class TileStore:
    """Matrix on disk: one file a tile, written atomically, with a header and checksums.

    A tile that is missing, truncated, damaged or foreign is an error that names it, never ∞ or 0. A window is read by
    rows of each tile it meets, at least about 256 KiB each. Threads and processes may concurrently read and write
    different tiles.

    Parameters
    ----------
    path : path
        The directory.
    unfinished : bool
        Allow reads from a store whose closure has not ended, as the closure itself does.

    Attributes
    ----------
    shape, dtype : (int, int), numpy.dtype
    block : (int, int)
        Rows and columns of a tile; the last ones may be smaller.
    grid : (int, int)
        Rows and columns of tiles.
    attributes : dict
        Anything JSON holds, such as the name of the semiring.

    Raises
    ------
    FormatError, OSError
        If the directory is no store, its description is damaged, or it cannot be read.
    TileError, FormatError
        In `read` and `window`, if a tile is missing, truncated, damaged or foreign; if a closure in this store has not
        ended.
    ShapeError, DTypeError, DomainError, OSError
        In `read` and `window`, if `out` does not fit; in `write` and `put`, if shape or dtype do not match the tile,
        the window is not made of complete tiles, or the dtype does not hold the entries; if these, the description in
        `annotate`, or the copy in `linked` cannot be written.
    IndexError, ValueError
        For tiles or windows beyond the matrix; in `linked` to its own place.

    See Also
    --------
    create, linked : New stores; `apsp.closure` makes one by `output`.
    write, put, read, window : A tile; entries of a range of rows and columns.
    inspect, annotate : State of all tiles; attributes.

    Notes
    -----
    `read`, `write` and `put` move the bytes of their tiles once, with checksums; `window` the rows that it meets of a
    tile. `annotate` rewrites `store.json`. `linked` is O(tiles): bytes are copied only to another disk, or where the
    disk has no links, for tiles are never changed in place.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = TileStore.create(folder.name, (5, 4), "int32", block=2)
    >>> store.put(np.arange(20).reshape(5, 4))
    >>> TileStore(folder.name)[3:, 1]
    array([13, 17], dtype=int32)
    >>> folder.cleanup()
    """

    ndim = 2

    def __init__(self, path: str | os.PathLike[str], *, unfinished: bool = False) -> None:
        self.path, self._unfinished = Path(path), unfinished
        self.layout, self.attributes = described(self.path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        shape: tuple[int, int],
        dtype: DType,
        *,
        block: int | tuple[int, int] = BLOCK,
        attributes: Mapping[str, Any] | None = None,
    ) -> TileStore:
        """New store without tiles; replaces a store at `path`, and nothing else.

        Parameters
        ----------
        path : path
            A directory: new, empty, or a store.
        shape : (int, int)
        dtype : dtype
        block : int or (int, int)
            Rows and columns of a tile.
        attributes : mapping, optional
            Anything JSON holds.

        Raises
        ------
        ShapeError, DTypeError
            If shape or block is invalid; if entries are no numbers.
        FileExistsError
            If the directory holds something else.
        OSError
            If it cannot be written, or its disk has no space for the entire matrix; if a closure is at work there.

        Notes
        -----
        Disk space for the entire matrix must be free; nothing is reserved.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.grid
        (1, 2)
        """
        place, layout = Path(path), layout_of(shape, dtype, block)
        held = json.loads(json.dumps(dict(attributes or {})))  # before a store that is there makes room
        temporary = 4 * layout.file_size(*map(min, layout.block, layout.shape))  # a few tiles at a time
        with replacing(place) as freed:
            require_disk_space(place, layout.nbytes() + temporary - freed)
            clear(place)
            describe(place, layout, held)
        return cls(place, unfinished=True)

    def annotate(self, **attributes: Any) -> None:
        """Set attributes, also on disk.

        Parameters
        ----------
        **attributes
            Anything JSON holds, by name.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.annotate(semiring="min_plus")
        ...     TileStore(folder).attributes["semiring"]
        'min_plus'
        """
        updated = {**self.attributes, **attributes}
        describe(self.path, self.layout, updated)
        self.attributes = updated

    def require_closed(self) -> None:
        """Raise FormatError if a closure in this store has not ended: its numbers are no result."""
        if SOURCE in self.attributes and not self.attributes.get(CLOSED) and not self._unfinished:
            problem = (
                "TileStore: a matrix is required, got the checkpoint of an unfinished closure, "
                f"{self.inspect(entries=False).oldest} of {self.shape[0]} pivots done. Call closure or "
                f"shortest_paths again as before, with checkpoint={str(self.path)!r}: it continues there, and "
                "leaves its result there."
            )
            raise FormatError(self.path, None, problem)

    @property
    def shape(self) -> tuple[int, int]:
        return self.layout.shape

    @property
    def block(self) -> tuple[int, int]:
        return self.layout.block

    @property
    def dtype(self) -> np.dtype:
        return self.layout.dtype

    @property
    def grid(self) -> tuple[int, int]:
        return self.layout.grid

    @cached_property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        (m, n), (a, b) = self.shape, self.block
        return f"<TileStore: {m} × {n} {self.dtype} in tiles of {a} × {b} at {self.path}>"

    def tile_path(self, i: int, j: int) -> Path:
        return self.path / f"{i:05d}-{j:05d}.tile"

    def tiles(self) -> Iterator[tuple[int, int]]:
        """Indices of all tiles, row by row."""
        p, q = self.grid
        return ((i, j) for i in range(p) for j in range(q))

    # Tiles

    def write(self, i: int, j: int, entries: np.ndarray, *, round: int = 0, durable: bool = True) -> None:
        """Write a tile atomically.

        Parameters
        ----------
        i, j : int
            Row and column of tiles.
        entries : array
            In the tile's shape and the store's dtype.
        round : int
            Number of pivots applied to them.
        durable : bool
            Flush to disk before returning; otherwise a crash of the machine (not of the process) may leave a torn tile,
            which reading detects.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.write(0, 1, np.zeros((2, 2), "int32"))
        ...     int(store.read(0, 1).sum())
        0
        """
        m, n = self.layout.size(i, j)
        refuse_masked(entries, where="TileStore")
        if entries.shape != (m, n) or entries.dtype != self.dtype:
            raise ShapeError(
                f"TileStore: the tile {i}, {j} is {m} × {n} of {self.dtype}, got {entries.shape} of {entries.dtype}."
            )
        file.write(self.tile_path(i, j), self.layout, i, j, entries, round, durable=durable)

    def read(self, i: int, j: int, out: np.ndarray | None = None) -> np.ndarray:
        """Tile in a new array or in `out`.

        Parameters
        ----------
        i, j : int
            Row and column of tiles.
        out : array, optional
            In the tile's shape and the store's dtype.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.read(0, 1)
        array([[2, 3],
               [6, 7]], dtype=int32)
        """
        self.require_closed()
        m, n = self.layout.size(i, j)
        buffer = self._buffer((m, n), out)
        with self.opened(i, j) as tile:
            tile.read(slice(0, m), slice(0, n), buffer)
        return buffer

    def opened(self, i: int, j: int) -> Reader:
        """Reader of a tile: header and footer are verified, entries as they are read."""
        return Reader(self.tile_path(i, j), self.layout, i, j)

    def round(self, i: int, j: int) -> int:
        """Number of pivots applied to a tile; TileError if it is damaged."""
        with self.opened(i, j) as tile:
            return tile.round

    def inspect(self, *, entries: bool = True) -> Inspection:
        """Rounds and errors of all tiles.

        Parameters
        ----------
        entries : bool
            Also verify entries; otherwise only headers and footers.

        Returns
        -------
        Inspection
            `rounds`, int64, by tile, −1 if damaged; and `errors`, by tile.

        Notes
        -----
        Reads all bytes, a tile at a time; without `entries` headers and footers only.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.inspect().errors
        {}
        """
        rounds = np.full(self.grid, -1, np.int64)
        errors: dict[tuple[int, int], TileError] = {}
        for i, j in self.tiles():
            try:
                with self.opened(i, j) as tile:
                    if entries:
                        m, n = self.layout.size(i, j)
                        tile.read(slice(0, m), slice(0, n), np.empty((m, n), self.dtype))
                    rounds[i, j] = tile.round
            except TileError as error:
                errors[i, j] = error
        return Inspection(rounds, errors)

    # Windows

    def window(self, rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """Entries of a range of rows and columns, in a new array or in `out`.

        Parameters
        ----------
        rows, columns : slice
            With start and stop, within the matrix.
        out : array, optional
            In the window's shape and the store's dtype.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.window(slice(0, 1), slice(1, 3))
        array([[1, 2]], dtype=int32)
        """
        self.require_closed()
        within = [0 <= x.start <= x.stop <= n for x, n in zip((rows, columns), self.shape, strict=True)]
        if not all(within) or not {rows.step, columns.step} <= {None, 1}:
            raise IndexError(f"TileStore: a window must lie within {self.shape}, by steps of 1, got {rows}, {columns}.")
        shape = rows.stop - rows.start, columns.stop - columns.start
        buffer = self._buffer(shape, out)
        if not buffer.size:
            return buffer
        for i, j in blocks(rows, columns, self.block):
            its_rows, its_columns = self.layout.window(i, j)
            r, c = meet(rows, its_rows), meet(columns, its_columns)
            with self.opened(i, j) as tile:
                tile.read(local(r, its_rows), local(c, its_columns), buffer[local(r, rows), local(c, columns)])
        return buffer

    def _buffer(self, shape: tuple[int, int], out: np.ndarray | None) -> np.ndarray:
        if out is None:
            return np.empty(shape, self.dtype)
        check_out(out, shape, self.dtype, where="TileStore")
        return out

    def put(self, entries: Array, rows: int = 0, columns: int = 0, *, round: int = 0, durable: bool = True) -> None:
        """Write a window of complete tiles.

        Parameters
        ----------
        entries : array_like, shape (m, n)
            Converted to the store's dtype.
        rows, columns : int
            First row and column.
        round, durable
            As in `write`.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(folder, (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.put(np.ones((2, 2), "int32"), columns=2)
        ...     store[0]
        array([0, 1, 1, 1], dtype=int32)
        """
        entries = entries if hasattr(entries, "shape") and not hasattr(entries, "iloc") else np.asarray(entries)
        if len(entries.shape) != 2:
            raise ShapeError(f"TileStore: a window must have two dimensions, got shape {entries.shape}.")
        m, n = entries.shape
        for start, size, step, most in zip((rows, columns), (m, n), self.block, self.shape, strict=True):
            if start < 0 or start % step or ((start + size) % step and start + size != most) or start + size > most:
                raise ShapeError(
                    f"TileStore: a window must be complete tiles of {self.block}, got {m} × {n} at {rows}, {columns}."
                )
        window = slice(rows, rows + m), slice(columns, columns + n)
        for i, j in blocks(*window, self.block):
            part = entries[tuple(map(local, self.layout.window(i, j), window))]
            self.write(i, j, file.converted(part, self.dtype), round=round, durable=durable)

    def __getitem__(self, key: Any) -> Array:
        """`store[i]`, `store[i, j]`, `store[a:b, c:d]` as in NumPy; slices of step 1, else IndexError."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > 2 or any(k is Ellipsis for k in keys):
            raise IndexError(f"TileStore: rows and columns are required, got {came(key)}.")
        r, c = (_ranged(k, n) for k, n in zip((*keys, slice(None))[:2], self.shape, strict=True))
        found = self.window(r, c)
        lost = tuple(0 if not isinstance(k, slice) else slice(None) for k in (*keys, slice(None))[:2])
        return found[lost]

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("TileStore: an array of it is a copy, got copy=False.")
        return np.asarray(self[:], dtype)

    def sync(self) -> None:
        """Flush the directory: a crash of the machine would otherwise lose the names of tiles."""
        sync_names(self.path)

    def linked(self, path: str | os.PathLike[str]) -> TileStore:
        """Copy of the store by hard links where possible; neither copy sees writes to the other.

        Parameters
        ----------
        path : path
            A directory: new, empty, or a store.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = TileStore.create(f"{folder}/one", (2, 4), "int32", block=2)
        ...     store.put(np.arange(8).reshape(2, 4))
        ...     store.linked(f"{folder}/other")[1]
        array([4, 5, 6, 7], dtype=int32)
        """
        place = Path(path)
        if os.path.realpath(place) == os.path.realpath(self.path):
            raise ValueError(f"TileStore: a copy must be in another place, got {came(str(path))} for both.")
        with replacing(place):
            clear(place)
            for i, j in self.tiles():
                copy = place / self.tile_path(i, j).name
                try:
                    os.link(self.tile_path(i, j), copy)
                except OSError:
                    shutil.copyfile(self.tile_path(i, j), copy)
            describe(place, self.layout, self.attributes)
        return TileStore(place)


def _ranged(key: Any, size: int) -> slice:
    if isinstance(key, slice):
        return sliced(key, size, where="TileStore")
    try:
        if isinstance(key, bool):  # to NumPy another axis
            raise TypeError
        index = key.__index__()
    except (AttributeError, TypeError):
        raise IndexError(f"TileStore: an index or a slice is required, got {came(key)}.") from None
    if not -size <= index < size:
        raise IndexError(f"TileStore: an index must lie within {size}, got {key}.")
    return slice(index % size, index % size + 1)
