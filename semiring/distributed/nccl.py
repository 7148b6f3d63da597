"""Ranks under MPI whose parts are on GPUs: NCCL carries those, MPI everything else."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np

from ..errors import DeviceError
from .grid import Grid
from .mpi import MpiComm, end

#: Seconds between looks at whether a card or a connection has failed.
LOOK = 1.0


class NcclComm(MpiComm):
    """One process's view of the grid; data in the memory of its GPU, in the order of its streams.

    All ranks of a row (column) of the grid enqueue their broadcasts in one order. One that can never end, because a
    card or a process is gone, is reported by NCCL's asynchronous error, and ends the job.
    """

    def __init__(self, everybody: Any, grid: Grid) -> None:
        super().__init__(everybody, grid)
        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
        nccl = _nccl()
        self._channels = {}
        for along, comm in self._along.items():
            if comm.Get_size() > 1:
                name = comm.bcast(nccl.get_unique_id() if comm.Get_rank() == 0 else None, 0)
                self._channels[along] = nccl.NcclCommunicator(comm.Get_size(), name, comm.Get_rank())
        threading.Thread(target=self._watch, name="nccl watch", daemon=True).start()

    def _broadcast(self, memory: Any, root: int, along: str) -> None:
        if isinstance(memory, np.ndarray):
            super()._broadcast(memory, root, along)
            return
        import cupy

        nccl = _nccl()
        stream = cupy.cuda.get_current_stream().ptr
        self._channels[along].bcast(memory.data.ptr, memory.nbytes, nccl.NCCL_UINT8, root, stream)

    def _watch(self) -> None:
        nccl = _nccl()
        while True:
            for channel in self._channels.values():
                try:
                    channel.check_async_error()
                except nccl.NcclError as error:
                    end(f"rank {self.rank}: NCCL failed: {error}.", 4)
            time.sleep(LOOK)


def _nccl() -> Any:
    from cupy.cuda import nccl

    if not nccl.available:
        raise DeviceError(
            "world: GPUs of several processes need NCCL, got a CuPy without. "
            "Install it: `pip install nvidia-nccl-cu13`; or take closure(A, gpus=…) inside one machine."
        )
    return nccl
