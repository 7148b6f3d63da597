"""Results with distances on disk, in a directory of tiles, beside an archive of their other arrays, as in `.npz`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from semiring.algebra import catalog
from semiring.algebra.records import Semiring
from semiring.host.errors import FormatError
from semiring.host.types import Fields
from semiring.stores.archives import load_arrays
from semiring.stores.files import writing
from semiring.stores.tiles import TileStore, folder
from semiring.stores.tiles.bits import COLUMNS

from ..graph import Graph
from ..graph.ondisk import OnDisk
from ..labels import Labels
from .base import Arrays, Store, StrPath, Table, gathered
from .encoding import decode, encode, square

#: Tile size.
TILE = 1024
#: Tile sizes for writing rows within limited memory, and tile rows held.
TILES, HELD = (64, 128, 256, 512, 1024), 3
#: File name of the archive in a store.
ARCHIVE = "result.npz"
#: Archive entry with the identity of its store.
_STORE = "store"


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table as a tile store, the archive last; raises OSError."""
    named = more or encode(table.rows, path)
    with building(path) as directory:
        save_archive(rows_as_store(table, directory, TILE), named)


def building(path: StrPath) -> AbstractContextManager[Path]:
    """A temporary directory for a store with archive, which then replaces the one at `path`; raises OSError."""
    return folder.building(path, ARCHIVE)


def as_store(D: np.ndarray, output: StrPath, semiring: Semiring) -> TileStore:
    store = new_store(output, (len(D), len(D)), D.dtype, semiring, block=TILE)
    store.put(D, round=len(D))
    store.sync()
    return store


def rows_held(n: int, itemsize: int) -> int:
    """Minimum bytes held while rows of n entries are written."""
    return HELD * min(n, TILES[0]) * n * itemsize


def rows_as_store(table: Table, output: StrPath, tile: int) -> TileStore:
    """A table written row by row as a store of tiles; HELD tile rows are held."""
    store = new_store(output, table.shape, table.dtype, table.semiring, block=tile)
    for k, part in enumerate(gathered(table.streamed(), tile)):
        store.put(part, k * tile, 0, round=table.shape[1])
    return store


def new_store(
    path: StrPath, shape: tuple[int, int], dtype: np.dtype, semiring: Semiring | None, *, block: int
) -> TileStore:
    """An empty store for a result over a semiring, replacing any result at the path."""
    attributes = {} if semiring is None else {"semiring": catalog.recorded_as(semiring)}
    forget_result(path)
    return TileStore.create(path, shape, dtype, block=block, attributes=attributes)


def forget_result(path: StrPath) -> None:
    (Path(path) / ARCHIVE).unlink(missing_ok=True)


def save_archive(store: TileStore, arrays: Arrays) -> None:
    """Write a result's archive, with the identity of its store; FormatError if that has been replaced meanwhile."""
    identity = store.layout.identity
    if TileStore(store.path).layout.identity != identity:
        problem = "save: another store has been written to this path meanwhile. "
        raise FormatError(store.path, None, f"{problem}Write each result to a different path.")
    with writing(store.path / ARCHIVE) as file:
        named: Fields = {_STORE: np.frombuffer(identity, np.uint8), **arrays}
        np.savez(file, **named)


def load_archive(store: TileStore, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The (named) arrays in a store's archive; FormatError if damaged or of another store."""
    wanted = None if names is None else (*names, _STORE)
    found = load_arrays(store.path / ARCHIVE, "what belongs to a store of a Result", wanted)
    identity = found.pop(_STORE, None)
    if identity is not None and identity.tobytes() != store.layout.identity:
        raise FormatError(store.path, None, f"{ARCHIVE} must belong to this store, and is of another.")
    return found


def load(path: StrPath) -> tuple[TileStore, dict[str, np.ndarray]]:
    store = TileStore(path)
    store.require_closed()
    if not (store.path / ARCHIVE).is_file():
        raise FormatError(
            path,
            None,
            f"a store that `save` wrote is required, got one without {ARCHIVE}: its writing was cut short, or it is a "
            "matrix alone. semiring.stores.tiles.TileStore reads it.",
        )
    return store, load_archive(store)


def read(path: StrPath) -> Graph:
    """The graph of a stored matrix, read by windows on use.

    A missing edge is the zero of the store's semiring, or else of the semiring in use. Labels are 0 … n − 1, or those
    of a `Result` of all vertices in the store. FormatError for packed bits, which are an answer, or a non-square
    matrix.
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
