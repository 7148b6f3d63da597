"""`Comm`: communication between the processes of a grid, of bytes and small Python objects; `LocalMatrix`: their parts.

Three transports: threads of one process (`threads`: host memory, or a thread a GPU with peer copies), MPI (`mpi`: host
memory), and NCCL for device data with MPI for everything else (`mpi`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from ..algebra.ranges import local
from ..host.errors import SemiringError
from ..host.types import Array
from ..kernels.contract import Backend
from .grid import Grid, Layout

Found = TypeVar("Found")


class RankError(SemiringError, RuntimeError):
    """A process of a grid (`rank`) failed, died or hangs, so that the others cannot continue."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class Comm(ABC):
    """Communicator of one process, at (row, column) of its grid.

    Collective: all processes make the same calls in the same order, or those of the row (column) of a broadcast.
    """

    def __init__(self, rank: int, grid: Grid) -> None:
        self.rank, self.grid = rank, grid
        self.row, self.column = grid.place(rank)

    def broadcast_along_row(self, panel: Array, ops: Backend, column: int) -> None:
        """Broadcast a panel from process column `column` to this process row.

        `ops.panel` allocated it, in one size in every process; on a device, ordered by the current stream.
        """
        if self.grid.columns > 1:
            self._broadcast(ops.flat(panel), column, "row")

    def broadcast_along_column(self, panel: Array, ops: Backend, row: int) -> None:
        """Broadcast a panel from process row `row` to this process column."""
        if self.grid.rows > 1:
            self._broadcast(ops.flat(panel), row, "column")

    @abstractmethod
    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        """Broadcast a contiguous 1-D array from position `root` of a "row" or a "column"; sizes are equal."""

    @abstractmethod
    def allgather(self, value: Found) -> list[Found]:
        """Each rank's value, in every rank, in rank order."""

    def gather(self, value: Found) -> list[Found] | None:
        """Values in rank 0; None elsewhere."""
        found = self.allgather(value)
        return found if self.rank == 0 else None

    def barrier(self) -> None:
        self.allgather(None)

    def fail_together(self, work: Callable[[], Found]) -> Found:
        """Run `work`; if it raises in any process, every process raises the error of the first such rank."""
        error, found = None, None
        try:
            found = work()
        except Exception as problem:
            error = problem
        failed = [e for e in self.allgather(error) if e is not None]
        if failed:
            failed[0].on_every_rank = True  # type: ignore[attr-defined]
            raise failed[0]
        return found  # type: ignore[return-value] # `work` has returned it


def on_every_rank(error: BaseException) -> bool:
    """Whether an error was raised by `Comm.fail_together`, so that every rank has it."""
    return getattr(error, "on_every_rank", False)


class SingleProcess(Comm):
    """Grid of one process: nothing is sent."""

    def __init__(self) -> None:
        super().__init__(0, Grid(1, 1))

    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        """No-op."""

    def allgather(self, value: Found) -> list[Found]:
        return [value]


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
