"""Saved results. A store is a module of this package with a record `STORE`, or `STORES`, found by being here.

| module | suffixes         | contents                                       | loaded           |
|--------|------------------|------------------------------------------------|------------------|
| csv    | .csv             | labels and numbers as text                     | no               |
| npy    | .npy, .txt       | the matrix                                     | no               |
|        | .npz             | everything that answers queries                | into memory      |
| tiles  | .tiles, or "x/"  | the same, in a directory of tiles              | in windows       |
| zarr   | .zarr            | the same, in a Zarr group                      | in windows       |
| hubs   | .hubs            | hub labels in place of the matrix, a directory | mapped           |

`Result.save` and `load`, `read`, the command line and error messages use the records. `base` has the record `Store` and
the `Table` that is written; `encoding` stores labels, and a `Plan`, in an archive.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from semiring.host.devices import host
from semiring.host.spelling import came
from semiring.host.types import Array, Label
from semiring.stores.files import check_replaceable, check_writable

from ...road.registry import records
from .base import Arrays, Store, StrPath, Table


@cache
def stores() -> tuple[Store, ...]:
    several = chain.from_iterable(records(__name__, "STORES").values())
    found: list[Store] = [*records(__name__, "STORE").values(), *several]
    return tuple(sorted(found, key=lambda store: (store.folder, store.suffixes)))


def suffixes(*, folders: bool = True) -> tuple[str, ...]:
    """The suffixes of a Result; without folders, those of any table."""
    found = (store.suffixes for store in stores() if folders or not store.folder)
    return tuple(suffix for several in found for suffix in several if suffix != "/")


def recognised(path: StrPath) -> Store | None:
    return next((store for store in stores() if store.recognises is not None and store.recognises(path)), None)


@dataclass(frozen=True)
class InFormat(os.PathLike[str]):
    """A path that is written in the format of another suffix."""

    path: str
    suffix: str

    def __fspath__(self) -> str:
        return self.path


def store_of(path: StrPath) -> Store | None:
    """The store by content, else by suffix: "d.zarr/" is Zarr, "d/" tiles; or None."""
    if isinstance(path, InFormat):
        return next(store for store in stores() if path.suffix in store.suffixes)
    text = os.fspath(path)
    directory = text.endswith(("/", os.sep))
    ends = (Path(text).suffix.lower(), *("/" * directory))
    named = (s for end in ends for s in stores() if end in s.suffixes and s.folder >= directory)
    return recognised(path) or next(named, None)


def suffix_of(path: StrPath) -> str:
    """The canonical suffix of the store of a path; else the path's own suffix."""
    store = store_of(path)
    return Path(path).suffix if store is None else store.suffixes[0]


#: Suffixes of files that a data frame writes.
_OF_PANDAS = {".xlsx": "to_excel", ".parquet": "to_parquet", ".feather": "to_feather", ".html": "to_html"}


def _saved(path: StrPath) -> str:
    """The call that writes a result there."""
    writer = _OF_PANDAS.get(Path(path).suffix.lower())
    return f"r.to_frame().{writer}({str(path)!r})" if writer else f"r.save({str(path)!r})"


def check_output(path: StrPath, allowed: Sequence[str] | None = None) -> None:
    """Raise for a path that cannot be written, or whose suffix is not `allowed` (default: those of files)."""
    store, allowed = store_of(path), suffixes(folders=False) if allowed is None else allowed
    if suffix_of(path) not in allowed:
        name = Path(path).name
        tabular = ".csv" in allowed and Path(path).suffix.lower() in _OF_PANDAS
        way = f"; in Python, {_saved(path)}" if ".hubs" in allowed else ""
        way = f" A spreadsheet opens .csv{way}." if tabular else ""
        raise ValueError(f"save: the suffix must be one of {', '.join(allowed)}, got {came(name)}.{way}")
    if store is not None and store.check is not None:
        store.check(path)
    (check_replaceable if store is not None and store.folder else check_writable)(Path(path))


def check_tiles(path: StrPath, *, where: str) -> None:
    """ValueError for a directory of tiles under the name of another kind of file."""
    place = Path(path)
    if place.suffix.lower() in {*suffixes(), *_OF_PANDAS} and suffix_of(place) != ".tiles":
        way = f"Say output={str(place.with_suffix('.tiles'))!r}, or {_saved(place)} of a result r."
        raise ValueError(f"{where}: output= makes a directory of tiles, got {came(str(path))}. {way}")


def check_labels(labels: Sequence[Label], path: StrPath) -> None:
    """Raise FormatError for labels that the store cannot hold (in `.csv`: two of the same text)."""
    store = store_of(path)
    if store is not None and store.check_labels is not None:
        store.check_labels(labels, path)


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write a table to the store of a path, atomically; raises as `check_output` and `check_labels`."""
    check_output(path, suffixes())
    store = store_of(path)
    assert store is not None
    store.save(table, path, more)


def save_matrix(matrix: Array, labels: Sequence[Label], path: StrPath) -> None:
    """Write a matrix with its labels; raises as `check_output` and `check_labels`."""
    array = host(matrix)
    save(Table(array.shape, array.dtype, lambda: iter((array,)), labels, labels), path, {})


def load(path: StrPath) -> tuple[Array, dict[str, np.ndarray]]:
    """The distances in a store, and the arrays that make them a result; FormatError unless a known store or `.npz`."""
    store = store_of(path)
    if store is None or store.load is None:
        store = store_of("result.npz")
    assert store is not None
    assert store.load is not None
    return store.load(path)
