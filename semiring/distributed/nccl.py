"""NCCL communication of device data between MPI ranks; MPI for everything else."""

from __future__ import annotations

import os
import threading
import time
from types import ModuleType
from typing import Any

import numpy as np

from ..host.errors import DeviceError
from ..host.types import Array
from .grid import Grid
from .mpi import MpiComm, abort

#: Seconds between polls for asynchronous errors.
POLL = 1.0


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
