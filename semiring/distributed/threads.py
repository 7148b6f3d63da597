"""The processes of a grid as threads of one process: on the host, or one for each of its GPUs.

Every broadcast is two barriers of its ranks: after the first the root's data is available, after the second every rank
has it. On the host each copies it in between. On GPUs each card fetches it over NVLink or PCIe, in the order of its own
stream, and the host waits for no copy: the root's stream waits for the others' instead, before what they read
is written again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from .comm import Comm
from .grid import Grid

Found = TypeVar("Found")
#: Seconds between looks at whether a thread has ended.
LOOK = 0.05


class Meeting:
    """A barrier of a row, a column or all threads of a grid, used over and over, and the data exchanged at it.

    After the second barrier of a broadcast the next one may begin, with another root, before this one's root has read
    the events of those that took what it offered. So `offered` and `each` are apart; `each` is written again only when
    this root, too, has come to the next broadcast.
    """

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count)
        self.offered: Any = None
        self.each: list[Any] = [None] * count


class Team:
    """What the threads of a grid share."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.all = Meeting(grid.size)
        self.rows = [Meeting(grid.columns) for _ in range(grid.rows)]
        self.columns = [Meeting(grid.rows) for _ in range(grid.columns)]

    def abort(self) -> None:
        """Every thread that waits for another, or will, gets an error."""
        for meeting in (self.all, *self.rows, *self.columns):
            meeting.barrier.abort()


class ThreadComm(Comm):
    """One thread's view of the grid."""

    def __init__(self, team: Team, rank: int) -> None:
        super().__init__(rank, team.grid)
        self._team = team

    def _broadcast(self, memory: Any, root: int, along: str) -> None:
        meeting, me = (
            (self._team.rows[self.row], self.column) if along == "row" else (self._team.columns[self.column], self.row)
        )
        mover = _mover(memory)
        if me == root:
            meeting.offered = mover.offer(memory)
        meeting.barrier.wait()
        if me != root:
            meeting.each[me] = mover.take(memory, meeting.offered)
        meeting.barrier.wait()
        if me == root:
            mover.release([taken for i, taken in enumerate(meeting.each) if i != root])

    def everyone(self, value: Found) -> list[Found]:
        """Each rank's value, in the order of ranks."""
        meeting = self._team.all
        meeting.each[self.rank] = value
        meeting.barrier.wait()
        found = list(meeting.each)
        meeting.barrier.wait()
        return found


class _Host:
    """Memory of the host: each rank copies what it needs."""

    @staticmethod
    def offer(memory: np.ndarray) -> np.ndarray:
        return memory

    @staticmethod
    def take(memory: np.ndarray, offered: np.ndarray) -> None:
        np.copyto(memory, offered)

    @staticmethod
    def release(taken: list[None]) -> None:
        """Nothing to wait for: all ranks have copied."""


def _mover(memory: Any) -> Any:
    if isinstance(memory, np.ndarray):
        return _Host
    from ..cuda import peers

    return peers


def run(
    grid: Grid,
    work: Callable[[Comm], Found],
    device: Callable[[int], AbstractContextManager[Any]] | None = None,
) -> list[Found]:
    """What `work` returns in each of a grid's threads, in the order of ranks.

    Parameters
    ----------
    grid : Grid
    work : callable
        `work(comm)`, called in a thread for each rank.
    device : callable, optional
        `device(rank)`: a context in which that rank works, such as its GPU.

    Raises
    ------
    Exception
        The first error of any rank; the others have ended then. Ctrl-C ends all of them, after the verb each is at.
    """
    team = Team(grid)
    if grid.size == 1:
        with device(0) if device else nullcontext():
            return [work(ThreadComm(team, 0))]
    found: list[Any] = [None] * grid.size
    errors: list[tuple[int, BaseException]] = []

    def one(rank: int) -> None:
        try:
            with device(rank) if device else nullcontext():
                found[rank] = work(ThreadComm(team, rank))
        except threading.BrokenBarrierError:
            pass  # another rank has failed, and its error is raised
        except BaseException as error:
            errors.append((rank, error))
            team.abort()

    threads = [threading.Thread(target=one, args=(r,), name=f"rank {r}", daemon=True) for r in range(grid.size)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(LOOK)  # in between, Ctrl-C is handled
    except BaseException:
        team.abort()
        raise
    if errors:
        raise errors[0][1]
    return found
