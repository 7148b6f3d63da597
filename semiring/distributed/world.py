"""`World`: the ranks of a grid as threads of this process (on the host or one a GPU) or MPI processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..host.types import Fields
from .comm import Comm, Found
from .grid import Grid
from .threads import run


class World(ABC):
    """Grid of ranks, one or more in this process.

    local_ranks: in this process; ranks_on_node: on this machine, sharing its memory; options: of every rank's backend.
    """

    grid: Grid
    device: str
    local_ranks: tuple[int, ...]
    ranks_on_node: int
    options: Fields

    @property
    def in_one_process(self) -> bool:
        return len(self.local_ranks) == self.grid.size

    @property
    def processes_on_node(self) -> int:
        """Processes on this machine; each has a copy of what its ranks share."""
        return -(-self.ranks_on_node // len(self.local_ranks))

    @abstractmethod
    def run(self, work: Callable[[Comm], Found]) -> list[Found]:
        """Results of work(comm) in this process's ranks, run concurrently."""

    @abstractmethod
    def allgather(self, values: list[Found]) -> list[Found]:
        """Values of all ranks in rank order, from those of this process's ranks."""

    def on_first(self, work: Callable[[], Found]) -> Found:
        """work() of rank 0 alone, in every process; if it raises, in every rank."""
        found = self.run(lambda comm: comm.fail_together(lambda: [work()] if comm.rank == 0 else []))
        return next(first[0] for first in self.allgather(found) if first)

    def gather(self, values: list[Found]) -> list[Found] | None:
        """Values of all ranks in the process of rank 0; None elsewhere."""
        return self.allgather(values)


class Threads(World):
    """All ranks in this process; `devices`: the GPU of each rank, or None for the host."""

    def __init__(self, grid: Grid, devices: tuple[int, ...] | None = None, threads: int | None = None) -> None:
        self.grid, self.devices = grid, devices
        self.device = "cpu" if devices is None else "cuda"
        self.local_ranks = tuple(range(grid.size))
        self.ranks_on_node = grid.size
        self.options = {} if threads is None or devices else {"threads": threads}
        self._streams: dict[int, Any] = {}

    def run(self, work: Callable[[Comm], Found]) -> list[Found]:
        """Results of work(comm), each rank a thread, with a GPU and stream if on GPUs."""
        return run(self.grid, work, None if self.devices is None else self._device_context)

    def allgather(self, values: list[Found]) -> list[Found]:
        return values

    def _device_context(self, rank: int) -> AbstractContextManager[None]:
        from ..kernels.cuda import gpu

        assert self.devices is not None
        device = self.devices[rank]
        if rank not in self._streams:
            with gpu.device_context(device):
                self._streams[rank] = gpu.stream()
        return gpu.device_context(device, self._streams[rank])
