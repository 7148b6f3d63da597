"""What travels by MPI: the data of ranks on the host, and small Python objects of all.

Waiting is by `Test`: MPI moves no data of a broadcast by itself, a rank that waits should leave its processor to
others, and Ctrl-C is handled.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from typing import Any, TypeVar

from ..errors import DeviceError
from ..escaping import one_line
from .comm import Comm
from .grid import Grid

Found = TypeVar("Found")

#: Seconds of waiting without sleep, and of one sleep after that.
AWAKE, NAP = 2e-3, 2e-4
#: Seconds in which the launcher reads the last message of a process.
LAST = 5.0


class MpiComm(Comm):
    """One process's view of the grid; data in the memory of the host."""

    def __init__(self, everybody: Any, grid: Grid) -> None:
        super().__init__(everybody.Get_rank(), grid)
        self._all = everybody
        self._along = {"row": everybody.Split(self.row, self.column), "column": everybody.Split(self.column, self.row)}

    def _broadcast(self, memory: Any, root: int, along: str) -> None:
        wait(self._along[along].Ibcast([memory.view("u1"), mpi().BYTE], root))

    def everyone(self, value: Found) -> list[Found]:
        """Each rank's value, in the order of ranks."""
        wait(self._all.Ibarrier())  # no rank spins until all have arrived
        found: list[Found] = self._all.allgather(value)
        return found

    def first(self, value: Found) -> list[Found] | None:
        """Each rank's value in rank 0; None elsewhere."""
        wait(self._all.Ibarrier())
        found: list[Found] | None = self._all.gather(value)
        return found


def wait(request: Any) -> None:
    """Until a request is done."""
    begun = time.perf_counter()
    while not request.Test():
        time.sleep(NAP if time.perf_counter() - begun > AWAKE else 0)


def end(message: str, code: int) -> None:
    """Print why, and end all processes of the job."""
    if message:
        print(f"apsp: {one_line(message)}", file=sys.__stderr__, flush=True)
        wait_for_reader(2, LAST)
    mpi().COMM_WORLD.Abort(code)
    os._exit(code)  # Abort may return before this process is ended


def wait_for_reader(descriptor: int, seconds: float) -> None:
    """Until all that was written to a pipe is read, at most so many seconds; return at once for what is no pipe.

    A launcher reads stderr of its processes from pipes, and their Abort from another channel. MPICH's, which may see
    the Abort first, ends at once and drops what it has not read.
    """
    with suppress(ImportError, OSError):  # Windows has no fcntl; a closed descriptor no reader
        import fcntl
        import termios

        begun = time.monotonic()
        while stat.S_ISFIFO(os.fstat(descriptor).st_mode) and time.monotonic() - begun < seconds:
            unread = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
            if not any(unread):
                return
            time.sleep(NAP)


def mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DeviceError(
            f"world: several processes need mpi4py and an MPI, got {problem}. Install them: `pip install mpi4py mpich`."
        ) from problem
    return MPI
