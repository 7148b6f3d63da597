"""Local matrix: one process's part, in host or device memory."""

from __future__ import annotations

from ..algebra.ranges import local
from ..host.types import Array
from ..kernels.contract import Backend
from .comm import Comm, SingleProcess
from .grid import Grid, Layout


class LocalMatrix:
    """One process's part of an n × n matrix, updated in place; `rows` and `columns` are its global range."""

    def __init__(self, matrix: Array, ops: Backend, layout: Layout, comm: Comm) -> None:
        self.matrix, self._ops, self.layout, self.comm = matrix, ops, layout, comm
        self.rows, self.columns = layout.part(comm.rank)

    @classmethod
    def single_process(cls, matrix: Array, ops: Backend, block: int) -> LocalMatrix:
        return cls(matrix, ops, Layout(len(matrix), block, Grid(1, 1)), SingleProcess())

    def part(self, rows: slice, columns: slice) -> Array:
        """View of global rows and columns."""
        return self.matrix[local(rows, self.rows), local(columns, self.columns)]

    def take(self, rows: slice, columns: slice, out: Array) -> None:
        """out ← entries at these global rows and columns, all local."""
        self._ops.copy(out, self.part(rows, columns))
