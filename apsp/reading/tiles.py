"""A matrix in a tile store as a graph; it stays where it is."""

from __future__ import annotations

import os
from pathlib import Path

from semiring.errors import FormatError
from semiring.tiles import TileStore
from semiring.tiles.bits import COLUMNS

from ..graph import Graph
from ..graph.ondisk import OnDisk
from ..labels import Labels
from ..saving.encoding import decode, square
from ..saving.stores import ARCHIVE, load_archive


def read(path: str | os.PathLike[str]) -> Graph:
    """The graph whose matrix lies in a store: windows of it are read when they are wanted.

    A missing edge is the zero of the store's semiring; of that which the graph is used with, where the store names
    none. Vertices are called 0 … n − 1, or, in the store of a `Result` between all of them, what that calls them.

    Raises
    ------
    FormatError
        If the store holds packed bits, which are an answer, or no square matrix between the same vertices.
    """
    store, place = TileStore(path), Path(path)
    if COLUMNS in store.attributes:
        problem = "a matrix of numbers is required, got the packed bits of a closure, which Reachability.load reads."
        raise FormatError(path, None, problem)
    m, n = store.shape
    if m != n:
        raise FormatError(path, None, f"a matrix must be square, (n, n), got shape {store.shape}.")
    return Graph.from_matrix(OnDisk.at(path), labels=_labels(store), name=place.resolve().name)


def _labels(store: TileStore) -> Labels | None:
    """What the result that lies in the same store calls all vertices."""
    if not (store.path / ARCHIVE).is_file():
        return None
    found = load_archive(store, ("labels", "labels_json", "sources", "targets"))
    try:
        return square(found, decode(found))
    except ValueError as error:
        raise FormatError(store.path, None, str(error)) from error
