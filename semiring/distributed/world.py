"""The ranks of a grid: threads of this process, one for each GPU or on the host; or processes under MPI."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from .comm import Comm
from .grid import Grid
from .threads import run

Found = TypeVar("Found")


class World(ABC):
    """A grid of ranks, of which one or more are in this process.

    Attributes
    ----------
    grid : Grid
    device : {"cpu", "cuda"}
        Where each rank's part is.
    local_ranks : tuple of int
        The ranks in this process.
    ranks_on_node : int
        The ranks on this machine, which share its memory.
    options : dict
        Those of every rank's backend: `threads` on the CPU.
    """

    grid: Grid
    device: str
    local_ranks: tuple[int, ...]
    ranks_on_node: int
    options: dict[str, Any]

    @property
    def in_one_process(self) -> bool:
        """Whether all ranks are in this process."""
        return len(self.local_ranks) == self.grid.size

    @property
    def processes_on_node(self) -> int:
        """The processes on this machine: each has a copy of what its ranks share."""
        return -(-self.ranks_on_node // len(self.local_ranks))

    @abstractmethod
    def run(self, work: Callable[[Comm], Found]) -> list[Found]:
        """What `work(comm)` returns in each rank of this process, concurrently."""

    @abstractmethod
    def allgather(self, values: list[Found]) -> list[Found]:
        """The values of all ranks, in the order of ranks, from those of the ranks of each process."""

    def gather(self, values: list[Found]) -> list[Found] | None:
        """The same in the process of rank 0; None elsewhere."""
        return self.allgather(values)


class Threads(World):
    """All ranks in this process.

    Parameters
    ----------
    grid : Grid
    devices : sequence of int, optional
        The GPU of each rank; on the host where left out.
    threads : int, optional
        CPU threads of each rank on the host.
    """

    def __init__(self, grid: Grid, devices: tuple[int, ...] | None = None, threads: int | None = None) -> None:
        self.grid, self.devices = grid, devices
        self.device = "cpu" if devices is None else "cuda"
        self.local_ranks = tuple(range(grid.size))
        self.ranks_on_node = grid.size
        self.options = {} if threads is None or devices else {"threads": threads}
        self._streams: dict[int, Any] = {}

    def run(self, work: Callable[[Comm], Found]) -> list[Found]:
        """What `work(comm)` returns in each rank: a thread, with a GPU and a stream of its own."""
        return run(self.grid, work, None if self.devices is None else self._device_context)

    def allgather(self, values: list[Found]) -> list[Found]:
        """The values: all ranks are in this process."""
        return values

    def _device_context(self, rank: int) -> AbstractContextManager[None]:
        from ..cuda import gpu

        assert self.devices is not None
        device = self.devices[rank]
        if rank not in self._streams:
            with gpu.device_context(device):
                self._streams[rank] = gpu.stream()
        return gpu.device_context(device, self._streams[rank])
