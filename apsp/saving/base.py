"""What stores share: the record that declares one, and a table that is written some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import Semiring
from semiring.memory import shown
from semiring.observed import Callback

from ..log import Watch

if TYPE_CHECKING:
    from ..graph import Graph

StrPath = str | os.PathLike[str]
#: What else a result has, by name.
Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Store:
    """One way to keep a table on disk.

    Parameters
    ----------
    suffixes : tuple of str
        With the dot; the first is what it is called. "/" is a directory whose name says nothing else.
    save : callable
        `save(table, path, more)` writes a `Table`, and the arrays by name that make it a result, where there are any.
        What appears is complete or not there at all: see `semiring.files.writing` and `writing_folder`.
    load : callable or None
        `load(path)` returns the distances, in memory or on disk, and those arrays; or raises FormatError. None
        where what is written is a table and no more.
    folder : bool
        Whether it is a directory, which refers to a graph's matrix on disk by its path. A file contains it, and
        takes any other table: predecessors, who reaches whom.
    check : callable or None
        `check(path)` refuses before the work what may not be written over.
    check_labels : callable or None
        `check_labels(labels, path)` refuses before the work labels that would not be given back.
    recognises : callable or None
        `recognises(path)`: whether the path is one, whatever it is called.
    read : callable or None
        `read(path)` returns the Graph whose matrix is at a path that it recognises. Files are read by `apsp.formats`.
    """

    suffixes: tuple[str, ...]
    save: Callable[[Table, StrPath, Arrays], None]
    load: Callable[[StrPath], tuple[Any, dict[str, np.ndarray]]] | None = None
    folder: bool = False
    check: Callable[[StrPath], Any] | None = None
    check_labels: Callable[[Sequence[Any], StrPath], Any] | None = None
    recognises: Callable[[StrPath], bool] | None = None
    read: Callable[[StrPath], Graph] | None = None


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

    def streamed(self) -> Iterator[np.ndarray]:
        """Its blocks, reported to the callback; without one, a warning says if it will take more than a minute."""
        done = 0
        watch = Watch(f"save: {shown(self.nbytes)}", self.shape[0] * self.shape[1], self.callback)
        for part in self.blocks():
            yield part
            done += part.size
            watch(done)


def gathered(blocks: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The rows of the blocks in blocks of so many, so that each tile is written once."""
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
