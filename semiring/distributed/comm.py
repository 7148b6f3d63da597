"""`Comm`: how the processes of a grid communicate. What travels is bytes, and small Python objects.

Three transports: threads of one process (`threads`: host memory, or a thread a GPU with copies from card to card),
MPI (`mpi`: host memory), and NCCL for the cards' data with MPI for everything else (`nccl`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from ..contract import Backend
from ..errors import SemiringError
from ..types import Array
from .grid import Grid

Found = TypeVar("Found")


class RankError(SemiringError, RuntimeError):
    """A process of a grid failed, died or hangs: the others cannot go on.

    Attributes
    ----------
    rank : int
        That process.
    """

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class Comm(ABC):
    """One process's view of its grid.

    Calls are collective: all processes make the same ones in the same order. Broadcasts along a row (column) of the
    grid are collective over the processes of that row (column).

    Attributes
    ----------
    rank : int
    grid : Grid
    row, column : int
        The process row and the process column of this rank.
    """

    def __init__(self, rank: int, grid: Grid) -> None:
        self.rank, self.grid = rank, grid
        self.row, self.column = grid.place(rank)

    def broadcast_along_row(self, panel: Array, ops: Backend, column: int) -> None:
        """panel ← that of process column `column`, in every process of this process row.

        `ops.panel` allocated it, of one size in every process; on a device, in the order of the current stream.
        """
        if self.grid.columns > 1:
            self._broadcast(ops.flat(panel), column, "row")

    def broadcast_along_column(self, panel: Array, ops: Backend, row: int) -> None:
        """panel ← that of process row `row`, in every process of this process column."""
        if self.grid.rows > 1:
            self._broadcast(ops.flat(panel), row, "column")

    @abstractmethod
    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        """Broadcast a contiguous array of one axis from the process at position `root` of a "row" or a "column".

        It has one size in all processes of that row or column.
        """

    @abstractmethod
    def allgather(self, value: Found) -> list[Found]:
        """Each rank's value, in every rank, in the order of ranks."""

    def gather(self, value: Found) -> list[Found] | None:
        """Each rank's value in rank 0, in the order of ranks; None elsewhere."""
        found = self.allgather(value)
        return found if self.rank == 0 else None

    def barrier(self) -> None:
        """Wait until all processes have called it."""
        self.allgather(None)

    def fail_together(self, work: Callable[[], Found]) -> Found:
        """What `work` returns; where it raises in one process, every process raises that error.

        Raises
        ------
        Exception
            The error of the first rank that failed.
        """
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
    """Whether every rank has this error, as `Comm.fail_together` raises it."""
    return getattr(error, "on_every_rank", False)


class SingleProcess(Comm):
    """A grid of one process: nothing is sent."""

    def __init__(self) -> None:
        super().__init__(0, Grid(1, 1))

    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        """There are no other processes."""

    def allgather(self, value: Found) -> list[Found]:
        """This rank's value."""
        return [value]
