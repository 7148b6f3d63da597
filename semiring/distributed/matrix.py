"""The part of a matrix that one process holds: in memory of the host or of a device, or in tiles on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from ..contract import Backend
from ..ranges import local
from ..types import Array
from .comm import Comm, SingleProcess
from .grid import Grid, Layout


class LocalMatrix(ABC):
    """A process's part of an n × n matrix, as schedules see it.

    Attributes
    ----------
    layout : Layout
    comm : Comm
    rows, columns : slice
        Those of the entire matrix that the part holds.
    ahead : bool
        Whether there is memory for the panels of two pivots: look-ahead.
    """

    ahead: bool = True

    def __init__(self, layout: Layout, comm: Comm) -> None:
        self.layout, self.comm = layout, comm
        self.rows, self.columns = layout.part(comm.rank)

    @abstractmethod
    def take(self, rows: slice, columns: slice, out: Array) -> None:
        """out ← the entries in these rows and columns of the entire matrix, all of which this process holds."""

    @abstractmethod
    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        """(rows, columns, X) for windows X that cover the part, each once; what is written to X goes into the matrix.

        `following` is the next pivot block, whose row and column will be taken after this: where they are not all
        in memory, their windows may come first, or stay in memory.
        """


class InMemory(LocalMatrix):
    """A part that the verbs can work on in place: one window."""

    def __init__(self, matrix: Array, ops: Backend, layout: Layout, comm: Comm) -> None:
        super().__init__(layout, comm)
        self.matrix, self._ops = matrix, ops

    @classmethod
    def single_process(cls, matrix: Array, ops: Backend, block: int) -> InMemory:
        """A matrix that one process holds alone."""
        return cls(matrix, ops, Layout(len(matrix), block, Grid(1, 1)), SingleProcess())

    def part(self, rows: slice, columns: slice) -> Array:
        """The window of these rows and columns of the entire matrix, as a view."""
        return self.matrix[local(rows, self.rows), local(columns, self.columns)]

    def take(self, rows: slice, columns: slice, out: Array) -> None:
        """out ← a window."""
        self._ops.copy(out, self.part(rows, columns))

    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        """The part itself."""
        yield self.rows, self.columns, self.matrix
