"""Tables on disk, in the formats of `RESULTS`; what could not be written is refused before the work."""

from __future__ import annotations

import csv
import errno
import io
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.devices import host
from semiring.errors import FormatError
from semiring.files import check_replaceable, check_writable, writing
from semiring.memory import shown
from semiring.observed import Callback
from semiring.tiles.folder import check_place

from ..display import output
from ..log import Watch
from .encoding import encode
from .stores import check_zarr_place, save_tiles, save_zarr, suffix_of

#: What distances and reachability are written as.
SUFFIXES = (".npy", ".npz", ".csv")
#: What a Result is written as.
RESULTS = (*SUFFIXES, ".zarr", ".tiles")


def check_output(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> None:
    """Refuse a path that cannot be written to.

    Raises
    ------
    ValueError
        If its suffix is none of `suffixes`.
    OSError
        As `semiring.files.check_writable` does.
    """
    suffix, path = suffix_of(path), Path(path)
    if suffix not in suffixes:
        raise ValueError(f"save: the suffix must be one of {', '.join(suffixes)}, got {path.name!r}.")
    if suffix in (".tiles", ".zarr"):
        (check_place if suffix == ".tiles" else check_zarr_place)(path)
        check_replaceable(path)
    else:
        check_writable(path)


def check_labels(labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Refuse labels that a file of that suffix would not give back.

    Raises
    ------
    FormatError
        In `.npz`, as `encode` does; in `.csv`, if two labels are the same text.
    """
    suffix = Path(path).suffix
    if suffix == ".npz":
        encode(labels, path)
    elif suffix == ".csv":
        _texts(labels, path)


def save_matrix(matrix: Any, labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write a matrix with its labels: `.npy`, `.npz` (see `encode`) or `.csv`.

    Raises
    ------
    ValueError, FormatError, OSError
        As `check_output` and `check_labels` do.
    """
    there = host(matrix)
    save(Table(there.shape, there.dtype, lambda: iter((there,)), labels, labels), path, {})


@dataclass(frozen=True)
class Table:
    """A table to be written, some rows at a time.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
    blocks : callable
        Makes an iterator over blocks of complete rows, on the host.
    rows, columns : sequences of labels
    semiring : Semiring, optional
        Over which numbers stand for an infinity, which a `.csv` says.
    callback : callable, optional
        `callback(done, total)` in entries.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]
    rows: Sequence[Any]
    columns: Sequence[Any]
    semiring: Semiring | None = None
    callback: Callback | None = None

    @property
    def nbytes(self) -> int:
        """What its entries take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def streamed(self, block: int | None = None) -> Iterator[np.ndarray]:
        """Its blocks, reported to the callback; without one, a warning says if it will take more than a minute."""
        done = 0
        watch = Watch(f"save: {shown(self.nbytes)}", self.shape[0] * self.shape[1], self.callback)
        for part in self.blocks():
            yield part
            done += part.size
            watch(done)


def save(table: Table, path: str | os.PathLike[str], more: Mapping[str, Any]) -> None:
    """Write a table by the suffix of its file; the file appears whole or not at all."""
    check_output(path, RESULTS)
    suffix = suffix_of(path)
    if suffix in (".npy", ".npz"):
        _require_room(table.nbytes, path)
    if suffix == ".npy":
        with writing(path) as file:
            _write_npy(file, table)
    elif suffix == ".npz":
        named = more or encode(table.rows, path)
        with writing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            with archive.open("distances.npy", "w", force_zip64=True) as member:
                _write_npy(member, table)
            for name, array in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    elif suffix == ".zarr":
        save_zarr(table, path, more)
    elif suffix == ".tiles":
        save_tiles(table, path, more)
    else:
        rows, columns = _texts(table.rows, path), _texts(table.columns, path)
        s, names = table.semiring, iter(rows)
        with _table(path) as out:
            out.writerow(["", *columns])
            for part in table.streamed():
                for entries in part:
                    out.writerow([next(names), *(entries.tolist() if s is None else output.row(entries, s))])


def _write_npy(file: Any, table: Table) -> None:
    """The table as `np.save` writes it, block by block."""
    header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": tuple(table.shape)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in table.streamed():
        for row in part:
            file.write(np.ascontiguousarray(row).data)


def _require_room(size: int, path: str | os.PathLike[str]) -> None:
    """Refuse before the work what does not fit on the disk.

    Raises
    ------
    OSError
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a pipe, a device
        return
    try:
        free = shutil.disk_usage(place.parent).free
    except OSError:
        return
    if size > free:
        raise OSError(errno.ENOSPC, f"{shown(size)} must fit on its disk, and {shown(free)} are free", os.fspath(path))


def save_pairs(pairs: Iterable[tuple[int, list[int]]], labels: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write (source, its targets), given by position, as a `.csv` of labels, a pair a line."""
    names = _texts(labels, path)
    with _table(path) as table:
        table.writerow(("source", "target"))
        for source, targets in pairs:
            table.writerows((names[source], names[target]) for target in targets)


def save_lines(headings: Sequence[str], lines: Iterable[Sequence[Any]], path: str | os.PathLike[str]) -> None:
    """Write a `.csv` of headings and lines."""
    with _table(path) as table:
        table.writerow(headings)
        table.writerows(lines)


@contextmanager
def _table(path: str | os.PathLike[str]) -> Iterator[Any]:
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        yield csv.writer(text)


def _texts(labels: Sequence[Any], path: object) -> list[str]:
    """The labels as text; no two may be the same text."""
    names = [str(label) for label in labels]
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        raise FormatError(path, None, f"save: labels must be UTF-8 text, got {error}. Save an .npz instead.") from None
    first: dict[str, Any] = {}
    for name, label in zip(names, labels, strict=True):
        if name in first:
            raise FormatError(
                path,
                None,
                f"save: labels must differ as text, got {first[name]!r} and {label!r}. Save an .npz instead.",
            )
        first[name] = label
    return names
