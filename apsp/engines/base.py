"""The protocol between a `Result` and what computes its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from semiring.memory import require

#: Rows of a block, by default.
BLOCK = 64


class Engine(ABC):
    """A table of distances, shape (rows, columns), of which parts are computed or read when asked for.

    Positions count from 0 along each axis. Entries are exact, in `dtype`, where no path is the semiring's zero.

    Attributes
    ----------
    name : {"dense", "elimination", "scipy", "hops"}
    shape : (int, int)
    dtype : numpy.dtype
    whole : Engine
        The square table over all vertices of which this is a part; itself where it is whole.
    held : bool
        Whether the table is there already, and `table` costs nothing.
    stored : bool
        Whether all entries are there to be read, in memory or on disk.
    limit : float or None
        What is worse is no path.
    workspace : int
        Bytes held beside all entries while they are found.
    """

    name = ""
    shape: tuple[int, int]
    dtype: np.dtype
    held = False
    stored = False
    limit: float | None = None
    workspace = 0

    @property
    def whole(self) -> Engine:
        """The table over all vertices."""
        return self

    @property
    def vertices(self) -> int:
        """Rows and columns of the table over all vertices."""
        return self.whole.shape[0]

    def to(self, vertex: int) -> np.ndarray:
        """The column of a vertex in the table over all vertices, on the host."""
        return self.whole.column(vertex)

    @abstractmethod
    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Blocks of complete rows in the order wanted: (positions (k,), entries (k, columns)), k at most `block`."""

    @abstractmethod
    def column(self, j: int) -> np.ndarray:
        """One column, on the host."""

    def row(self, i: int) -> np.ndarray:
        """One row, on the host."""
        return next(host(D)[0] for _, D in self.rows(np.array([i])))

    def entry(self, i: int, j: int) -> Any:
        """One entry, a scalar of the dtype."""
        return self.entries(np.array([i]), np.array([j]))[0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries (i[q], j[q]), of positions in one shape, on the host."""
        out = np.empty(i.size, self.dtype)
        sources, targets = i.ravel(), j.ravel()
        known, which = np.unique(sources, return_inverse=True)
        order = np.argsort(which, kind="stable")
        start = np.searchsorted(which[order], np.arange(len(known) + 1))
        row = 0
        for _, D in self.rows(known):
            for line in host(D):
                here = order[start[row] : start[row + 1]]
                out[here] = line[targets[here]]
                row += 1
        return out.reshape(i.shape)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The entries of rows i and columns j, shape (len(i), len(j)), on the host."""
        out = np.empty((len(i), len(j)), self.dtype)
        if not out.size:
            return out
        if 4 * len(j) < len(i):
            for k, column in enumerate(j.tolist()):
                out[:, k] = self.column(column)[i]
            return out
        at = 0
        for positions, D in self.rows(i):
            np.take(host(D), j, axis=1, out=out[at : at + len(positions)], mode="clip")  # straight into its place
            at += len(positions)
        return out

    def panels(self, *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """All lines, some at a time, in whatever order is fastest: (positions (k,), panel), panel[:, q] being line q.

        Lines are rows, or with `columns` columns.
        """
        if columns:
            for j in range(self.shape[1]):
                yield np.array([j]), self.column(j)[:, None]
            return
        for positions, D in self.rows(np.arange(self.shape[0])):
            yield positions, D.T

    def reduced(self, of: Callable[[Any], Any], *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """What `of` makes of each panel: (positions, of(panel)). It may be called on several threads at a time."""
        return ((positions, of(panel)) for positions, panel in self.panels(columns=columns))

    def worst(self, of: Callable[[Any], Any], *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """The worst entry of each line, which `of` finds in a panel: (positions, entries)."""
        return self.reduced(of, columns=columns)

    def table(self) -> Any:
        """All entries, where they lie.

        Raises
        ------
        MemoryNeeded
            If they do not fit, naming `rows`, which streams them.
        """
        require(
            self.shape[0] * self.shape[1] * self.dtype.itemsize + self.workspace,
            where="distances",
            hint="Stream them by rows(), look at all by reduce(), or write them by save('d.npy'): none of these holds "
            "them all, nor do distance(u, v) and path(u, v).",
        )
        return self._all()

    def _all(self) -> Any:
        return self.block(np.arange(self.shape[0]), np.arange(self.shape[1]))


def host(D: Any) -> np.ndarray:
    """An array in main memory."""
    there: np.ndarray = D if isinstance(D, np.ndarray) else D.get()
    return there
