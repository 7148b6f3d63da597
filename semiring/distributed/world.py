"""Where the ranks of a grid are: threads of this process, one for each GPU or on the host; or processes under MPI."""

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
    mine : tuple of int
        The ranks in this process.
    neighbours : int
        The ranks that share a machine's memory with this process's, and these.
    processes : int
        The processes in which those are.
    options : dict
        The backend's own, for every rank: `threads` on the CPU.
    """

    grid: Grid
    device: str
    mine: tuple[int, ...]
    neighbours: int
    options: dict[str, Any]

    @property
    def processes(self) -> int:
        """The processes of a machine: each has copies of its own of what its ranks share."""
        return -(-self.neighbours // len(self.mine))

    @abstractmethod
    def each(self, work: Callable[[Comm], Found]) -> list[Found]:
        """What `work(comm)` returns in each rank of this process, concurrently."""

    @abstractmethod
    def everyone(self, values: list[Found]) -> list[Found]:
        """The values of the ranks of this process, and those of all others, in the order of ranks."""

    def first(self, values: list[Found]) -> list[Found] | None:
        """The same in the process of rank 0; None elsewhere."""
        return self.everyone(values)


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
        self.mine = tuple(range(grid.size))
        self.neighbours = grid.size
        self.options = {} if threads is None or devices else {"threads": threads}
        self._streams: dict[int, Any] = {}

    def each(self, work: Callable[[Comm], Found]) -> list[Found]:
        """What `work(comm)` returns in each rank: in a thread each, on its GPU and a stream of its own."""
        return run(self.grid, work, None if self.devices is None else self._device_context)

    def everyone(self, values: list[Found]) -> list[Found]:
        """They are all here."""
        return values

    def _device_context(self, rank: int) -> AbstractContextManager[None]:
        from ..cuda import gpu

        assert self.devices is not None
        device = self.devices[rank]
        if rank not in self._streams:
            with gpu.device_context(device):
                self._streams[rank] = gpu.stream()
        return gpu.device_context(device, self._streams[rank])
