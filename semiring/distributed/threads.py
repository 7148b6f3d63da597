"""Ranks as threads of one process: on the host, or one a GPU.

A broadcast is two barriers of its ranks: after the first the root's data is available, after the second every rank has
it. On the host each rank copies in between. On GPUs each card copies over NVLink or PCIe on its own stream without
blocking the host: the root's stream waits for the events of those copies before its memory is overwritten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from operator import itemgetter
from typing import Any

import numpy as np

from ..host.types import Array
from .comm import Comm, Found
from .grid import Grid

#: Seconds between polls for the end of a thread.
POLL = 0.05


class Group:
    """Threads of a row, a column or an entire grid: barrier and exchange slots.

    After the second barrier of a broadcast the next one may begin, with another root, before this root has read the
    copies' events. Hence separate fields `sent` and `slots`: `slots` is overwritten only after the next broadcast's
    first barrier, which this root reaches after reading.
    """

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count)
        self.sent: Any = None
        self.slots: list[Any] = [None] * count


class Groups:
    """Groups of a grid: all threads, each row, each column."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.all = Group(grid.size)
        self.rows = [Group(grid.columns) for _ in range(grid.rows)]
        self.columns = [Group(grid.rows) for _ in range(grid.columns)]

    def abort(self) -> None:
        """Break all barriers: threads that wait at or reach one get an error."""
        for group in (self.all, *self.rows, *self.columns):
            group.barrier.abort()


class ThreadComm(Comm):
    """Communicator of one thread."""

    def __init__(self, groups: Groups, rank: int) -> None:
        super().__init__(rank, groups.grid)
        self._groups = groups

    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        in_row = along == "row"
        group = self._groups.rows[self.row] if in_row else self._groups.columns[self.column]
        own = self.column if in_row else self.row
        transport = _transport(memory)
        if own == root:
            group.sent = transport.send(memory)
        group.barrier.wait()
        if own != root:
            group.slots[own] = transport.receive(memory, group.sent)
        group.barrier.wait()
        if own == root:
            transport.wait([event for i, event in enumerate(group.slots) if i != root])

    def allgather(self, value: Found) -> list[Found]:
        group = self._groups.all
        group.slots[self.rank] = value
        group.barrier.wait()
        found = list(group.slots)
        group.barrier.wait()
        return found


class _HostMemory:
    """Broadcasts in host memory: each rank copies from the root."""

    @staticmethod
    def send(memory: np.ndarray) -> np.ndarray:
        return memory

    @staticmethod
    def receive(memory: np.ndarray, sent: np.ndarray) -> None:
        np.copyto(memory, sent)

    @staticmethod
    def wait(events: list[None]) -> None:
        """No-op: all ranks have copied."""


def _transport(memory: Array) -> Any:
    if isinstance(memory, np.ndarray):
        return _HostMemory
    from ..kernels.cuda import peers

    return peers


def run(
    grid: Grid, work: Callable[[Comm], Found], device: Callable[[int], AbstractContextManager[Any]] | None = None
) -> list[Found]:
    """Results of work(comm) in one thread a rank, in rank order; device(rank) is that rank's context, such as its GPU.

    Raises the first error of any rank, after the others have ended. Ctrl-C ends each after its current verb.
    """
    groups = Groups(grid)
    if grid.size == 1:
        with device(0) if device else nullcontext():
            return [work(ThreadComm(groups, 0))]
    found: list[Any] = [None] * grid.size
    errors: list[tuple[int, BaseException]] = []

    def one(rank: int) -> None:
        try:
            with device(rank) if device else nullcontext():
                found[rank] = work(ThreadComm(groups, rank))
        except threading.BrokenBarrierError:
            pass  # another rank has failed, and its error is raised
        except BaseException as error:
            errors.append((rank, error))
            groups.abort()

    threads = [threading.Thread(target=one, args=(r,), name=f"rank {r}", daemon=True) for r in range(grid.size)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(POLL)  # in between, Ctrl-C is handled
    except BaseException:
        groups.abort()
        raise
    if errors:
        raise min(errors, key=itemgetter(0))[1]
    return found
