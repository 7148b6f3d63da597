"""What a rank does in tests under mpiexec: `python tests/mpi_ranks.py WHAT`."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np

from apsp.big.distributed import DistributedMatrix, world
from apsp.doors.cli.checksum import crc32
from semiring import MemoryNeeded


def matrix(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((n, n)) < 0.05, rng.integers(1, 100, (n, n)), 32767).astype(np.int16)


def main(what: str) -> None:
    here = world(mpi=True, device="cpu", threads=1)
    if what == "close":
        M = DistributedMatrix.from_array(matrix(150), world=here, block=64).close()
        rows, pairs, D = M.rows([149, 3]), M.pairs([1, 149], [149, 0]), M.gather()
        assert (rows == D[[149, 3]]).all()
        assert pairs.tolist() == [D[1, 149], D[149, 0]]
        if here.rank == 0:
            print(f"{crc32(D):08x}")
        return

    def work(comm):
        if comm.rank == 1 and what == "fail":
            raise ValueError("one has had enough")
        if what == f"interrupt {comm.rank}":
            raise KeyboardInterrupt
        if comm.rank == 1 and what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if what == "refuse":
            comm.fail_together(lambda: (_ for _ in ()).throw(MemoryNeeded("no room")) if comm.rank == 1 else None)
        comm.barrier()

    try:
        here.run(work)
    except MemoryError as error:
        print(f"rank {here.rank}: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
