"""The record that declares a store, and the table that stores write in blocks of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semiring.algebra import Semiring
from semiring.memory import shown
from semiring.observed import Callback
from semiring.types import Array, Label

from ..log import Watch

if TYPE_CHECKING:
    from ..graph import Graph

StrPath = str | os.PathLike[str]
#: The other arrays of a result, by name.
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Store:
    """A way to store a table on disk.

    Parameters
    ----------
    suffixes : tuple of str
        With the dot; the first is its name. "/" is a directory without a suffix.
    save : callable
        `save(table, path, more)` writes a `Table`, and the other arrays of a result, if it is one. It appears complete
        or not at all: see `semiring.files.writing` and `writing_folder`.
    load : callable or None
        `load(path)` returns the distances, in memory or on disk, and those arrays; or raises FormatError. None if only
        the table is written.
    folder : bool
        Whether it is a directory, which refers to a graph's matrix on disk by its path. A file contains it, and may
        hold other tables: predecessors, reachability.
    check : callable or None
        `check(path)` refuses before the work a path that may not be overwritten.
    check_labels : callable or None
        `check_labels(labels, path)` refuses before the work labels that it cannot hold.
    recognises : callable or None
        `recognises(path)`: whether the content of a path is this store.
    labelled : bool
        Whether it has the hub labels of a result in place of its table.
    read : callable or None
        `read(path)` returns the Graph whose matrix is at a path that it recognises. Files are read by `apsp.formats`.
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
    """A table to be written in blocks of rows.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
    blocks : callable
        Makes an iterator over blocks of complete rows, on the host.
    rows, columns : sequences of labels
    semiring : Semiring, optional
        Its dtype's numbers for infinities are written as such to a `.csv`.
    callback : callable, optional
        `callback(done, total)` in entries.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]
    rows: Sequence[Label]
    columns: Sequence[Label]
    semiring: Semiring | None = None
    callback: Callback | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its entries."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def streamed(self) -> Iterator[np.ndarray]:
        """Its blocks, reported to the callback; without one, a warning says if it will take more than a minute."""
        done = 0
        watch = Watch(f"save: {shown(self.nbytes)}", self.shape[0] * self.shape[1], self.callback)
        for part in self.blocks():
            yield part
            done += part.size
            watch(done)


def gathered(blocks: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The same rows in blocks of `size` rows, so that each tile is written once."""
    pending: list[np.ndarray] = []
    count = 0
    for block in blocks:
        pending.append(block.copy())  # its memory may be used again
        count += len(block)
        if count >= size:
            joined = np.concatenate(pending)
            for start in range(0, len(joined) - size + 1, size):
                yield joined[start : start + size]
            rest = joined[len(joined) - len(joined) % size :]
            pending, count = [rest], len(rest)
    if count:
        yield np.concatenate(pending)
