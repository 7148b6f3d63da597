"""Ranks as MPI processes, on one machine or several: `mpiexec -n 8 …`.

MPI starts the processes and sends host data; device data goes through NCCL, as an MPI from a package index has
no device support.

All processes of a job end together. A rank that alone raises writes the error to stderr, with its number, and `Abort`
ends the others. Every process sends a heartbeat to the rank before it each second; one silent for `TIMEOUT` seconds
(stopped, swapped out, machine lost) is named, and the job ends; APSP_RANK_SILENCE sets other seconds.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..host.errors import DeviceError
from ..kernels.cpu.processors import default_threads
from .comm import Comm, Found, on_every_rank
from .grid import Grid
from .mpi import MpiComm, NcclComm, abort, mpi
from .world import World

#: Seconds between heartbeats, and of silence until a rank counts as hung.
HEARTBEAT, TIMEOUT = 1.0, float(os.environ.get("APSP_RANK_SILENCE", "20"))
#: Seconds within which all ranks report a common error.
AGREEMENT = 2.0
#: Environment variables with the number of processes: Open MPI, MPICH and derivatives, Slurm step.
LAUNCHER_SIZES = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"
#: Exit code of a job with a hung rank.
HUNG = 4


class Processes(World):
    """Ranks of MPI's world, one in this process.

    On "cuda", the ranks of a machine take its GPUs in turn; `threads` defaults to a machine's processors divided among
    its ranks; failed(error) gives the exit code of a job that an error of this rank alone ends. Raises DeviceError if
    mpi4py or an MPI is missing, or differs from the launcher's; ValueError if the grid has another number of ranks.
    """

    def __init__(
        self,
        grid: Grid | None = None,
        device: str = "cpu",
        threads: int | None = None,
        failed: Callable[[BaseException], int] | None = None,
    ) -> None:
        MPI = mpi()
        communicator = MPI.COMM_WORLD.Dup()
        size = communicator.Get_size()
        if size == 1:
            _check_launcher(MPI.Get_library_version())
        self.grid, self.device, self._failed = grid or Grid.of(size), device, failed
        if self.grid.size != size:
            raise ValueError(f"world: a grid of {size} ranks is required, got {self.grid}.")
        node = communicator.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.ranks_on_node, self._rank_on_node = communicator.Get_rank(), node.Get_size(), node.Get_rank()
        self.local_ranks, self.options = (self.rank,), {}
        self._stream: Any = None
        self._failures = MPI.COMM_WORLD.Dup()
        if device == "cpu":
            self.options = {"threads": threads or max(1, default_threads() // self.ranks_on_node)}
            self._comm: Comm = MpiComm(communicator, self.grid)
        else:
            with self._device_context():
                self._comm = NcclComm(communicator, self.grid)
        self.addresses: list[str] = self._comm.allgather(f"process {os.getpid()} on {socket.gethostname()}")
        if self.grid.size > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            _Heartbeats(MPI.COMM_WORLD.Dup(), self.addresses).start()

    def run(self, work: Callable[[Comm], Found]) -> list[Found]:
        try:
            with self._device_context() if self.device == "cuda" else nullcontext():
                return [work(self._comm)]
        except BaseException as error:
            self.abort(error)
            raise

    def allgather(self, values: list[Found]) -> list[Found]:
        return self._comm.allgather(values[0])

    def gather(self, values: list[Found]) -> list[Found] | None:
        return self._comm.gather(values[0])

    def abort(self, error: BaseException) -> None:
        """End the job for an error of this rank alone; return if all ranks have one."""
        interrupt = isinstance(error, KeyboardInterrupt)  # usually sent to every rank; rank 0 reports it
        seconds = AGREEMENT / 4 if interrupt and self.rank == 0 else AGREEMENT
        if self.grid.size > 1 and not on_every_rank(error) and not self._all_failed(seconds):
            message = str(error) or ("interrupted." if interrupt else type(error).__name__)
            if not interrupt or self.rank:
                message = f"rank {self.rank} ({self.addresses[self.rank]}): {message}"
            abort(message, self._failed(error) if self._failed else 1)

    def _all_failed(self, seconds: float) -> bool:
        """Whether every rank has an error within `seconds`."""
        request, begun = self._failures.Ibarrier(), time.monotonic()
        while not request.Test():
            if time.monotonic() - begun > seconds:
                return False
            time.sleep(HEARTBEAT / 100)
        return True

    def _device_context(self) -> AbstractContextManager[None]:
        from ..kernels.cuda import gpu

        count = gpu.count()
        if not count:
            raise DeviceError("world: ranks with GPUs need one on every machine, got none here. Use device='cpu'.")
        device = self._rank_on_node % count
        if self._stream is None:
            with gpu.device_context(device):
                self._stream = gpu.stream()
        return gpu.device_context(device, self._stream)


def _check_launcher(library: str) -> None:
    """DeviceError for processes of one launcher that are each alone in their world: they would write the same files."""
    for name in LAUNCHER_SIZES:
        count = os.environ.get(name, "1")
        if count.isdecimal() and int(count) > 1:
            own = library.splitlines()[0].split(",")[0].strip("\0 ") if library else "?"
            raise DeviceError(
                f"world: the MPI of the launcher must be that of mpi4py, got {count} processes ({name}={count}), each "
                f"alone in its own, {own}. Start them by the mpiexec of that MPI, or set MPI4PY_LIBMPI to the library "
                "of the launcher's."
            )


class _Heartbeats(threading.Thread):
    """Sends a heartbeat to the rank before this one every second, and expects those of the rank after it."""

    def __init__(self, communicator: Any, addresses: list[str]) -> None:
        super().__init__(name="heartbeats", daemon=True)
        rank, size = communicator.Get_rank(), communicator.Get_size()
        self._comm, self._before, self._after = communicator, (rank - 1) % size, (rank + 1) % size
        self._addresses = addresses

    def run(self) -> None:
        MPI = mpi()
        received = last = due = time.monotonic()
        while not MPI.Is_finalized():
            now = time.monotonic()
            if now - last > TIMEOUT / 2:  # this process itself was stopped
                received = now
            last = now
            if now >= due:
                self._comm.isend(None, self._before)
                due = now + HEARTBEAT
            while self._comm.iprobe(self._after):
                self._comm.recv(source=self._after)
                received = now
            if now - received > TIMEOUT:
                where = self._addresses[self._after]
                abort(f"rank {self._after} ({where}) has given no sign of life for {TIMEOUT:.0f} s.", HUNG)
            time.sleep(HEARTBEAT / 4)
