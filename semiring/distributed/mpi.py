"""Communication of ranks in processes: of host data and small Python objects by MPI, of device data by NCCL.

Requests are polled with `Test`, which progresses a broadcast; in between, a waiting rank sleeps, which frees its
processor and lets Ctrl-C be handled.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from ..host.errors import DeviceError
from ..host.escaping import one_line
from ..host.types import Array
from .comm import Comm, Found
from .grid import Grid

#: Seconds of busy polling, and of one sleep thereafter.
SPIN, SLEEP = 2e-3, 2e-4
#: Seconds for the launcher to read a process's last message; between polls for asynchronous errors of NCCL.
DRAIN, POLL = 5.0, 1.0


class MpiComm(Comm):
    """Communicator of one process; data in host memory."""

    def __init__(self, communicator: Any, grid: Grid) -> None:
        super().__init__(communicator.Get_rank(), grid)
        split = communicator.Split
        self._communicator = communicator
        self._along = {"row": split(self.row, self.column), "column": split(self.column, self.row)}

    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        wait(self._along[along].Ibcast([memory.view("u1"), mpi().BYTE], root))

    def allgather(self, value: Found) -> list[Found]:
        wait(self._communicator.Ibarrier())  # no rank spins until all have arrived
        return self._communicator.allgather(value)

    def gather(self, value: Found) -> list[Found] | None:
        wait(self._communicator.Ibarrier())
        return self._communicator.gather(value)


def wait(request: Any) -> None:
    begun = time.perf_counter()
    while not request.Test():
        time.sleep(SLEEP if time.perf_counter() - begun > SPIN else 0)


def abort(message: str, code: int) -> None:
    """Print the message and end all processes of the job."""
    if message:
        print(f"apsp: {one_line(message)}", file=sys.__stderr__, flush=True)
        wait_for_reader(2, DRAIN)
    mpi().COMM_WORLD.Abort(code)
    os._exit(code)  # Abort may return before this process is ended


def wait_for_reader(descriptor: int, seconds: float) -> None:
    """Wait, at most `seconds`, until a pipe has been read; return at once for anything else.

    A launcher reads its processes' stderr from pipes, and their Abort from another channel. MPICH's may see the Abort
    first, and then ends at once without reading the rest.
    """
    with suppress(ImportError, OSError):  # Windows has no fcntl; a closed descriptor no reader
        import fcntl
        import termios

        begun = time.monotonic()
        while stat.S_ISFIFO(os.fstat(descriptor).st_mode) and time.monotonic() - begun < seconds:
            unread = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
            if not any(unread):
                return
            time.sleep(SLEEP)


def mpi() -> ModuleType:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DeviceError(
            f"world: several processes need mpi4py and an MPI, got {problem}. Install them: `pip install mpi4py mpich`."
        ) from problem
    return MPI


class NcclComm(MpiComm):
    """Communicator of one process; data in its GPU's memory, ordered by streams.

    Ranks of a row (column) enqueue their broadcasts in one order. If a card or a process is lost, so that a broadcast
    never ends, NCCL reports an asynchronous error, which ends the job.
    """

    def __init__(self, communicator: Any, grid: Grid) -> None:
        super().__init__(communicator, grid)
        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
        nccl = _nccl()
        self._communicators = {}
        for along, comm in self._along.items():
            if comm.Get_size() > 1:
                unique_id = comm.bcast(nccl.get_unique_id() if comm.Get_rank() == 0 else None, 0)
                self._communicators[along] = nccl.NcclCommunicator(comm.Get_size(), unique_id, comm.Get_rank())
        threading.Thread(target=self._watch, name="nccl watch", daemon=True).start()

    def _broadcast(self, memory: Array, root: int, along: str) -> None:
        if isinstance(memory, np.ndarray):
            super()._broadcast(memory, root, along)
            return
        import cupy

        nccl = _nccl()
        stream = cupy.cuda.get_current_stream().ptr
        self._communicators[along].bcast(memory.data.ptr, memory.nbytes, nccl.NCCL_UINT8, root, stream)

    def _watch(self) -> None:
        nccl = _nccl()
        while True:
            for communicator in self._communicators.values():
                try:
                    communicator.check_async_error()
                except nccl.NcclError as error:
                    abort(f"rank {self.rank}: NCCL failed: {error}.", 4)
            time.sleep(POLL)


def _nccl() -> ModuleType:
    from cupy.cuda import nccl

    if not nccl.available:
        raise DeviceError(
            "world: GPUs of several processes need NCCL, got a CuPy without. "
            "Install it: `pip install nvidia-nccl-cu13`; or take closure(A, gpus=…) inside one machine."
        )
    return nccl
