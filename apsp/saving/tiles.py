"""Results whose distances stay on disk as a directory of tiles, from which they are read.

Next to the tiles is an archive of the other arrays of a `Result`, as in an `.npz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from semiring import catalog
from semiring.algebra import Semiring
from semiring.archives import load_arrays
from semiring.errors import FormatError
from semiring.files import writing
from semiring.tiles import TileStore, folder
from semiring.tiles.bits import COLUMNS

from ..graph import Graph
from ..graph.ondisk import OnDisk
from ..labels import Labels
from .base import Arrays, Store, StrPath, Table, gathered
from .encoding import decode, encode, square

#: Rows and columns of a tile.
TILE = 1024
#: Those of tiles that are written by rows within a limit of memory; and as many tiles' rows are held.
TILES, HELD = (64, 128, 256, 512, 1024), 3
#: The file in a store with the other arrays of a result.
ARCHIVE = "result.npz"
#: The array in it with the identity of its store.
_STORE = "store"


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table as a tile store; the archive is written last.

    Raises
    ------
    OSError
        If it cannot be written, or does not fit on its disk.
    """
    named = more or encode(table.rows, path)
    with building(path) as directory:
        save_archive(rows_as_store(table, directory, TILE), named)


def building(path: StrPath) -> AbstractContextManager[Path]:
    """A directory in which a store with its archive is made; it then replaces the one at `path`.

    Raises
    ------
    OSError
        As `semiring.tiles.folder.building` does.
    """
    return folder.building(path, ARCHIVE)


def as_store(D: np.ndarray, output: StrPath, semiring: Semiring) -> TileStore:
    """A result in memory, written as a store of tiles."""
    store = new_store(output, (len(D), len(D)), D.dtype, semiring, block=TILE)
    store.put(D, round=len(D))
    store.sync()
    return store


def rows_held(n: int, itemsize: int) -> int:
    """Bytes of the rows that are held at least, while rows of n entries are written."""
    return HELD * min(n, TILES[0]) * n * itemsize


def rows_as_store(table: Table, output: StrPath, tile: int) -> TileStore:
    """A table written as a store of tiles, row after row; as many rows as HELD tiles have are held."""
    store = new_store(output, table.shape, table.dtype, table.semiring, block=tile)
    offset = 0
    for part in gathered(table.streamed(), tile):
        store.put(part, offset, 0, round=table.shape[1])
        offset += len(part)
    return store


def new_store(
    path: StrPath, shape: tuple[int, int], dtype: np.dtype, semiring: Semiring | None, *, block: int
) -> TileStore:
    """A store without tiles for a result over a semiring; it replaces any result at the path."""
    attributes = {} if semiring is None else {"semiring": catalog.recorded_as(semiring)}
    forget_result(path)
    return TileStore.create(path, shape, dtype, block=block, attributes=attributes)


def forget_result(path: StrPath) -> None:
    """Remove the archive of a store, which will hold another matrix."""
    (Path(path) / ARCHIVE).unlink(missing_ok=True)


def save_archive(store: TileStore, arrays: Arrays) -> None:
    """Write the archive of a result, with the identity of its store.

    Raises
    ------
    FormatError
        If another store has been made in its place meanwhile.
    """
    identity = store.layout.identity
    if TileStore(store.path).layout.identity != identity:
        problem = "save: a store must stay where it is until it is a result, and another one has been made there. "
        raise FormatError(store.path, None, f"{problem}Write each result to a place of its own.")
    with writing(store.path / ARCHIVE) as file:
        named: dict[str, Any] = {_STORE: np.frombuffer(identity, np.uint8), **arrays}
        np.savez(file, **named)


def load_archive(store: TileStore, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays in the archive of a store, or those of these names.

    Raises
    ------
    FormatError
        If they are damaged, or belong to another store.
    """
    wanted = None if names is None else (*names, _STORE)
    found = load_arrays(store.path / ARCHIVE, "what belongs to a store of a Result", wanted)
    identity = found.pop(_STORE, None)
    if identity is not None and identity.tobytes() != store.layout.identity:
        raise FormatError(store.path, None, f"{ARCHIVE} must belong to this store, and is of another.")
    return found


def load(path: StrPath) -> tuple[TileStore, dict[str, np.ndarray]]:
    """A store and the arrays of its archive.

    Raises
    ------
    FormatError
        If the directory is no store, or one without a result.
    """
    store = TileStore(path)
    store.require_closed()
    if not (store.path / ARCHIVE).is_file():
        raise FormatError(
            path,
            None,
            f"a store that `save` wrote is required, got one without {ARCHIVE}: its writing was cut short, or it is a "
            "matrix alone. semiring.tiles.TileStore reads it.",
        )
    return store, load_archive(store)


def read(path: StrPath) -> Graph:
    """The graph whose matrix is in a store: windows of it are read on use.

    A missing edge is the zero of the store's semiring, or, if it has none, of that which the graph is used with. Labels
    are 0 … n − 1, or those of the `Result` between all vertices that is in the store.

    Raises
    ------
    FormatError
        If the store holds packed bits, which are an answer, or no square matrix between the same vertices.
    """
    store = TileStore(path)
    if COLUMNS in store.attributes:
        problem = "a matrix of numbers is required, got the packed bits of a closure, which Reachability.load reads."
        raise FormatError(path, None, problem)
    m, n = store.shape
    if m != n:
        raise FormatError(path, None, f"a matrix must be square, (n, n), got shape {store.shape}.")
    return Graph.from_matrix(OnDisk.from_path(path), labels=_labels(store), name=Path(path).resolve().name)


def _labels(store: TileStore) -> Labels | None:
    """The labels of all vertices, of the result in the same store."""
    if not (store.path / ARCHIVE).is_file():
        return None
    found = load_archive(store, ("labels", "labels_json", "sources", "targets"))
    try:
        return square(found, decode(found))
    except ValueError as error:
        raise FormatError(store.path, None, str(error)) from error


STORE = Store(
    (".tiles", "/"), save, load, folder=True, check=folder.check_place, check_labels=encode,
    recognises=folder.is_store, read=read,
)  # fmt: skip
