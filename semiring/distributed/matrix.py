"""Local matrix: one process's part, in host or device memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from ..algebra.ranges import local
from ..host.types import Array
from ..kernels.contract import Backend
from .comm import Comm, SingleProcess
from .grid import Grid, Layout


class LocalMatrix(ABC):
    """One process's part of an n × n matrix, as schedules see it.

    rows, columns: its global range. ahead: whether memory holds the panels of two pivots (look-ahead).
    """

    ahead: bool = True

    def __init__(self, layout: Layout, comm: Comm) -> None:
        self.layout, self.comm = layout, comm
        self.rows, self.columns = layout.part(comm.rank)

    @abstractmethod
    def take(self, rows: slice, columns: slice, out: Array) -> None:
        """out ← entries at these global rows and columns, all local."""

    @abstractmethod
    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        """Windows (rows, columns, X) that cover the part, each once; writes to X update the matrix.

        `following`: next pivot block, whose row and column will be taken afterwards; their windows may come first.
        """


class InMemory(LocalMatrix):
    """Part in memory, updated in place: a single window."""

    def __init__(self, matrix: Array, ops: Backend, layout: Layout, comm: Comm) -> None:
        super().__init__(layout, comm)
        self.matrix, self._ops = matrix, ops

    @classmethod
    def single_process(cls, matrix: Array, ops: Backend, block: int) -> InMemory:
        return cls(matrix, ops, Layout(len(matrix), block, Grid(1, 1)), SingleProcess())

    def part(self, rows: slice, columns: slice) -> Array:
        """View of global rows and columns."""
        return self.matrix[local(rows, self.rows), local(columns, self.columns)]

    def take(self, rows: slice, columns: slice, out: Array) -> None:
        self._ops.copy(out, self.part(rows, columns))

    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        yield self.rows, self.columns, self.matrix
