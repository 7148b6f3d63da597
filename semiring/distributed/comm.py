"""`Comm`: how the processes of a grid communicate. What travels is bytes, and small Python objects.

Three transports: threads of one process (`threads`: host memory, or a thread a GPU with copies from card to card),
MPI (`mpi`: host memory), and NCCL for the cards' data with MPI for everything else (`nccl`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from ..contract import Backend
from ..errors import SemiringError
from ..types import Array
from .grid import Grid

Found = TypeVar("Found")


class RankError(SemiringError, RuntimeError):
    """A process of a grid failed, died or hangs: none of them can go on.

    Attributes
    ----------
    rank : int
        Which one.
    """

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class Comm(ABC):
    """One process's view of its grid.

    All processes must make the same calls in the same order, but for broadcasts along rows (columns) of the grid,
    which are between the processes of that row (column) alone.

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

    def along_row(self, panel: Array, ops: Backend, column: int) -> None:
        """panel ← that of process column `column`, in every process of this process row.

        What `ops.panel` made, of one size everywhere; on a device in the order of the current stream.
        """
        if self.grid.columns > 1:
            self._broadcast(ops.flat(panel), column, "row")

    def along_column(self, panel: Array, ops: Backend, row: int) -> None:
        """panel ← that of process row `row`, in every process of this process column."""
        if self.grid.rows > 1:
            self._broadcast(ops.flat(panel), row, "column")

    @abstractmethod
    def _broadcast(self, memory: Any, root: int, along: str) -> None:
        """Between the processes along a "row" or a "column" of the grid, from the one that is `root` of them.

        A flat array, contiguous, of one size everywhere.
        """

    @abstractmethod
    def everyone(self, value: Found) -> list[Found]:
        """Each rank's value, in the order of ranks."""

    def first(self, value: Found) -> list[Found] | None:
        """Each rank's value in rank 0, in the order of ranks; None elsewhere."""
        found = self.everyone(value)
        return found if self.rank == 0 else None

    def barrier(self) -> None:
        """Wait until all processes have called it."""
        self.everyone(None)

    def together(self, work: Callable[[], Found]) -> Found:
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
        failed = [e for e in self.everyone(error) if e is not None]
        if failed:
            failed[0].everywhere = True  # type: ignore[attr-defined] # for the caller that catches it
            raise failed[0]
        return found  # type: ignore[return-value] # `work` has returned it


def everywhere(error: BaseException) -> bool:
    """Whether every rank has this error, as `Comm.together` raises it."""
    return getattr(error, "everywhere", False)


class Alone(Comm):
    """A grid of one process: every broadcast is done."""

    def __init__(self) -> None:
        super().__init__(0, Grid(1, 1))

    def _broadcast(self, memory: Any, root: int, along: str) -> None:
        """There are no other processes."""

    def everyone(self, value: Found) -> list[Found]:
        """This rank's value."""
        return [value]
