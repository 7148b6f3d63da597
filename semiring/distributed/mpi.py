"""What travels by MPI: the data of ranks on the host, and small Python objects of all.

Waiting is by `Test`: MPI moves no data of a broadcast by itself, a rank that waits should leave its processor to
others, and Ctrl-C is heard.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, TypeVar

from ..errors import DeviceError
from .comm import Comm
from .grid import Grid

Found = TypeVar("Found")

#: Seconds of waiting without sleep, and of one sleep after that.
AWAKE, NAP = 2e-3, 2e-4


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
        wait(self._all.Ibarrier())  # nobody spins until all have come
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
    """Say why, and end all processes of the job."""
    if message:
        print(f"apsp: {message}", file=sys.__stderr__, flush=True)
    mpi().COMM_WORLD.Abort(code)
    os._exit(code)  # Abort may return before this process is ended


def mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DeviceError(
            f"world: several processes need mpi4py and an MPI, got {problem}. "
            'Install with pip install "semiring-apsp[mpi]".'
        ) from problem
    return MPI
