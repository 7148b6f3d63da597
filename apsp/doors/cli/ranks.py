"""Commands whose closure is distributed over GPUs, or over processes under MPI."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from semiring.host.types import Fields

from .exit_codes import ABORT_JOB, NO, ending
from .reporting import quiet

if TYPE_CHECKING:
    import numpy as np

    from semiring.distributed import World

    from ...answers.result import Result
    from ...big.distributed.matrix import DistributedMatrix


def ranks_of(options: Fields) -> World | None:
    """The ranks of these options, which are removed; None for one device. Under MPI only rank 0 prints."""
    gpus, distributed, grid = (options.pop(name) for name in ("gpus", "distributed", "grid"))
    if gpus is not None and distributed:
        raise click.UsageError("give either --gpus or --distributed.")
    if gpus is not None and options["device"] == "cpu":
        raise click.UsageError("--gpus computes on GPUs, got --device cpu as well. Give one of them.")
    if gpus is None and not distributed:
        if grid is not None:
            raise click.UsageError("--grid goes with --gpus or --distributed.")
        return None
    from semiring.distributed import Grid, world

    if gpus is not None:
        return world(gpus=gpus, grid=grid)
    from semiring.distributed.mpi import mpi
    from semiring.distributed.processes import Processes
    from semiring.kernels.backend import cuda_available

    device = options["device"] or ("cuda" if cuda_available() else "cpu")
    shape = None if grid is None else Grid.parse(grid)
    try:
        ranks = Processes(shape, device, options["threads"], failed=lambda error: getattr(ending(error), "code", NO))
    except ValueError:  # of the grid, in every rank
        if mpi().COMM_WORLD.Get_rank():
            _silence()
        raise
    click.get_current_context().meta[ABORT_JOB] = ranks.abort
    if ranks.rank:
        _silence()
    elif not quiet():
        click.echo("\n".join(f"rank {k}: {address}" for k, address in enumerate(ranks.addresses)), err=True)
    return ranks


def _silence() -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open until the process ends)


class Served:
    """A distributed matrix in rank 0's process, by `shape`, `dtype` and `[a:b, c:d]`; other processes run `serve`."""

    def __init__(self, matrix: DistributedMatrix) -> None:
        self._matrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        from semiring.algebra.ranges import sliced

        rows, columns = (sliced(k, n, where="DistributedMatrix") for k, n in zip(key, self.shape, strict=True))
        self._matrix.world.allgather([(rows.start, rows.stop, columns.start, columns.stop)])
        return self._matrix.window(rows, columns, everywhere=False)

    def close(self) -> None:
        self._matrix.world.allgather([None])


def serve(matrix: DistributedMatrix) -> None:
    """Send rank 0 the pieces of requested windows, until `Served.close`."""
    while window := matrix.world.allgather([None])[0]:
        a, b, c, d = window
        matrix.window(slice(a, b), slice(c, d), everywhere=False)


def prints_answers(r: Result, ranks: World | None, reduction: str | None) -> bool:
    """Whether this process prints. Rank 0 does; the others send it their parts until it is done."""
    if ranks is None or ranks.in_one_process:
        return True
    from ...road.engines.stored import Stored

    engine, first = r.engine.all_pairs, 0 in ranks.local_ranks
    if not isinstance(engine, Stored):  # an elimination: replicated, only reductions are distributed
        if not first and reduction is not None:
            r.reduce(reduction)
        return first
    if not first:
        serve(engine.matrix)
        return False
    engine.matrix = Served(engine.matrix)
    click.get_current_context().call_on_close(engine.matrix.close)
    return True
