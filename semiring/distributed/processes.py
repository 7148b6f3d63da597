"""The ranks of a grid as processes under MPI, on one machine or several: `mpiexec -n 8 …`.

MPI is the launcher, and carries what ranks on the host send; the data of GPUs goes through NCCL (`nccl`), for an MPI
out of a package index knows no device memory.

All processes of a job end together. An error that one rank alone meets is written to stderr there, with the rank, and
`Abort` ends the others. Every process sends its neighbour a message each second; one that is silent for `SILENCE`
seconds (stopped, swapped out, on a machine that is gone) is named, and the job ends; APSP_RANK_SILENCE sets other
seconds.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from ..errors import DeviceError
from .comm import Comm, everywhere
from .grid import Grid
from .mpi import MpiComm, end, mpi
from .world import World

Found = TypeVar("Found")

#: Seconds between signs of life, and those of silence after which a rank counts as hung.
BEAT, SILENCE = 1.0, float(os.environ.get("APSP_RANK_SILENCE", "20"))
#: Seconds within which ranks that meet the same error report it.
AGREE = 2.0
#: Where launchers (Open MPI's, those of MPICH and its kin, a step of Slurm) say how many processes they have started.
LAUNCHED = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"
#: Exit code of a job that ends because a rank is silent.
LOST = 4


class Processes(World):
    """The ranks of MPI's world, one in this process.

    Parameters
    ----------
    grid : Grid, optional
        By default the squarest of as many ranks as there are processes.
    device : {"cpu", "cuda"}
        On "cuda", the ranks of a machine take its GPUs in turn.
    threads : int, optional
        CPU threads of this rank; by default a machine's processors are shared out among its ranks.
    failed : callable, optional
        `failed(error)` → the exit code of a job that an error of this rank alone ends.

    Raises
    ------
    DeviceError
        If mpi4py or an MPI is not installed, or it is another MPI than that of the launcher.
    ValueError
        If the grid has another number of ranks.
    """

    def __init__(
        self,
        grid: Grid | None = None,
        device: str = "cpu",
        threads: int | None = None,
        failed: Callable[[BaseException], int] | None = None,
    ) -> None:
        MPI = mpi()
        everybody = MPI.COMM_WORLD.Dup()
        if everybody.Get_size() == 1:
            _check_launcher(MPI.Get_library_version())
        self.grid, self.device, self._failed = grid or Grid.of(everybody.Get_size()), device, failed
        if self.grid.size != everybody.Get_size():
            raise ValueError(f"world: a grid of {everybody.Get_size()} ranks is required, got {self.grid}.")
        here = everybody.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.neighbours, self._number = everybody.Get_rank(), here.Get_size(), here.Get_rank()
        self.mine, self.options = (self.rank,), {}
        self._stream: Any = None
        self._ends = MPI.COMM_WORLD.Dup()
        if device == "cpu":
            from ..cpu.processors import default_threads

            self.options = {"threads": threads or max(1, default_threads() // self.neighbours)}
            self._comm: Comm = MpiComm(everybody, self.grid)
        else:
            from .nccl import NcclComm

            with self._device_context():
                self._comm = NcclComm(everybody, self.grid)
        self.addresses: list[str] = self._comm.everyone(f"process {os.getpid()} on {socket.gethostname()}")
        if self.grid.size > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            _Watch(MPI.COMM_WORLD.Dup(), self.addresses).start()

    def each(self, work: Callable[[Comm], Found]) -> list[Found]:
        """What `work(comm)` returns in this process's rank."""
        try:
            with self._device_context() if self.device == "cuda" else nullcontext():
                return [work(self._comm)]
        except BaseException as error:
            self.end(error)
            raise

    def everyone(self, values: list[Found]) -> list[Found]:
        """The values of all ranks, in order."""
        return self._comm.everyone(values[0])

    def first(self, values: list[Found]) -> list[Found] | None:
        """The values of all ranks in rank 0; None elsewhere."""
        return self._comm.first(values[0])

    def end(self, error: BaseException) -> None:
        """End the entire job for an error that this rank alone has met; return where all ranks have met one."""
        interrupt = isinstance(error, KeyboardInterrupt)  # mostly comes to every rank, and rank 0 reports it
        patience = AGREE / 4 if interrupt and self.rank == 0 else AGREE
        if self.grid.size > 1 and not everywhere(error) and not self._all_end(patience):
            message = str(error) or ("interrupted." if interrupt else type(error).__name__)
            if not interrupt or self.rank:
                message = f"rank {self.rank} ({self.addresses[self.rank]}): {message}"
            end(message, self._failed(error) if self._failed else 1)

    def _all_end(self, patience: float) -> bool:
        """Whether every rank ends by an error, within so many seconds."""
        request, begun = self._ends.Ibarrier(), time.monotonic()
        while not request.Test():
            if time.monotonic() - begun > patience:
                return False
            time.sleep(BEAT / 100)
        return True

    def _device_context(self) -> AbstractContextManager[None]:
        from ..cuda import gpu

        count = gpu.count()
        if not count:
            raise DeviceError("world: ranks with GPUs need one on every machine, got none here. Use device='cpu'.")
        device = self._number % count
        if self._stream is None:
            with gpu.device_context(device):
                self._stream = gpu.stream()
        return gpu.device_context(device, self._stream)


def _check_launcher(library: str) -> None:
    """Refuse to be one of several processes that all believe to be alone: each would do all, and write the same files.

    Raises
    ------
    DeviceError
    """
    for name in LAUNCHED:
        count = os.environ.get(name, "1")
        if count.isdecimal() and int(count) > 1:
            mine = library.splitlines()[0].split(",")[0].strip("\0 ") if library else "?"
            raise DeviceError(
                f"world: the MPI of the launcher must be that of mpi4py, got {count} processes ({name}={count}), each "
                f"alone in its own, {mine}. Start them by the mpiexec of that MPI, or set MPI4PY_LIBMPI to the library "
                "of the launcher's."
            )


class _Watch(threading.Thread):
    """Sends a message to the rank before this one every second, and expects as many from the one after it."""

    def __init__(self, everybody: Any, addresses: list[str]) -> None:
        super().__init__(name="rank watch", daemon=True)
        rank, size = everybody.Get_rank(), everybody.Get_size()
        self._comm, self._before, self._after = everybody, (rank - 1) % size, (rank + 1) % size
        self._addresses = addresses

    def run(self) -> None:
        MPI = mpi()
        received = beat = time.monotonic()
        last = received
        while not MPI.Is_finalized():
            now = time.monotonic()
            if now - last > SILENCE / 2:  # this process itself was stopped: messages of others could not be received
                received = now
            last = now
            if now >= beat:
                self._comm.isend(None, self._before)
                beat = now + BEAT
            while self._comm.iprobe(self._after):
                self._comm.recv(source=self._after)
                received = now
            if now - received > SILENCE:
                where = self._addresses[self._after]
                end(f"rank {self._after} ({where}) has given no sign of life for {SILENCE:.0f} s.", LOST)
            time.sleep(BEAT / 4)
