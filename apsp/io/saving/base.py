"""The record `Store` of a kind of storage, and the `Table` it writes by rows."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semiring.algebra.records import Semiring
from semiring.host.memory import shown
from semiring.host.types import Array, Label
from semiring.kernels.observed import Callback

from ...road.log import Watch
from ..display import output
from ..graph import Graph

StrPath = str | os.PathLike[str]
#: Further arrays of a result, by name.
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Store:
    """A way to store a table on disk.

    `suffixes` have the dot, canonical first; "/" is a directory without a suffix. `save(table, path, more)` writes a
    `Table`, and the other arrays of a result, atomically (`stores.files.writing`, `writing_folder`); `load(path)`
    returns the distances, in memory or on disk, and those arrays, or raises FormatError; None if write-only. `folder`:
    a directory, which refers to a graph's matrix on disk by path; a file contains that matrix, and may hold other
    tables. `check(path)` and `check_labels(labels, path)` refuse early to overwrite, and unsupported labels.
    `recognises(path)`: whether the content is this store. `labelled`: holds hub labels, no table. `read(path)` returns
    the Graph of a recognised matrix; files are read by `apsp.io.formats`.
    """

    suffixes: tuple[str, ...]
    save: Callable[[Table, StrPath, Arrays], None]
    load: Callable[[StrPath], tuple[Array, dict[str, np.ndarray]]] | None = None
    folder: bool = False
    labelled: bool = False
    check: Callable[[StrPath], object] | None = None
    check_labels: Callable[[Sequence[Label], StrPath], object] | None = None
    recognises: Callable[[StrPath], bool] | None = None
    read: Callable[[StrPath], Graph] | None = None


@dataclass(frozen=True)
class Table:
    """A table as `blocks()` of complete rows on the host; `semiring` names infinities; `callback` counts entries."""

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]
    rows: Sequence[Label]
    columns: Sequence[Label]
    semiring: Semiring | None = None
    callback: Callback | None = None

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def streamed(self) -> Iterator[np.ndarray]:
        """The blocks, with progress by callback, or a warning before more than a minute."""
        watch = Watch(f"save: {shown(self.nbytes)}", self.shape[0] * self.shape[1], self.callback)
        return watch.each(self.blocks(), lambda part: part.size)

    def lines(self) -> Iterator[list[Any]]:
        """The rows as Python numbers, inf for no path, with progress as in `streamed`."""
        s = self.semiring
        for part in self.streamed():
            for entries in part:
                yield entries.tolist() if s is None else output.row(entries, s)


def require_only(path: StrPath, known: set[str], what: str) -> None:
    """FileExistsError for a directory that holds anything but `known` entries, of `what` that `save` wrote."""
    place = Path(path)
    if place.is_dir() and not {entry.name for entry in place.iterdir()} <= known:
        problem = f"it must be {what} that `save` wrote, or nothing yet"
        raise FileExistsError(errno.EEXIST, problem, os.fspath(path))


def gathered(blocks: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The rows in blocks of `size`, so that each tile is written once."""
    pending: list[np.ndarray] = []
    count = 0
    for block in blocks:
        pending.append(block.copy())  # the memory may be reused
        count += len(block)
        if count >= size:
            joined = np.concatenate(pending)
            for start in range(0, len(joined) - size + 1, size):
                yield joined[start : start + size]
            rest = joined[len(joined) - len(joined) % size :]
            pending, count = [rest], len(rest)
    if count:
        yield np.concatenate(pending)
