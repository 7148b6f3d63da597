"""A command whose closure is spread over GPUs, or over processes under MPI."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from .answers import quiet
from .exit_codes import EVERY_RANK, NO, ending

if TYPE_CHECKING:
    from ..result import Result


def spread_over(options: dict[str, Any]) -> Any:
    """The ranks over which the closure is spread; None for one place.

    Of processes under MPI, errors end all of them, and only rank 0 is heard.
    """
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
    from semiring.backend import cuda_available
    from semiring.distributed.mpi import mpi
    from semiring.distributed.processes import Processes

    device = options["device"] or ("cuda" if cuda_available() else "cpu")
    shape = None if grid is None else Grid.parse(grid)
    try:
        ranks = Processes(shape, device, options["threads"], failed=lambda error: getattr(ending(error), "code", NO))
    except ValueError:  # of the grid, in every rank
        if mpi().COMM_WORLD.Get_rank():
            _be_silent()
        raise
    click.get_current_context().meta[EVERY_RANK] = ranks.abort
    if ranks.rank:
        _be_silent()
    elif not quiet():
        click.echo("\n".join(f"rank {k}: {at}" for k, at in enumerate(ranks.addresses)), err=True)
    return ranks


def _be_silent() -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open until the process ends)


def answers_here(r: Result, places: Any, reduction: str | None) -> bool:
    """Whether this process prints the answers. The others return when rank 0, which reads their parts, is done."""
    if places is None or places.in_one_process:
        return True
    from ..distributed.serving import Served, serve
    from ..engines.stored import Stored

    engine: Any = r.engine.all_pairs
    if not isinstance(engine, Stored):  # an elimination, which every process has; they share out reductions alone
        if places.rank and reduction is not None:
            r.reduce(reduction)
        return not places.rank
    if places.rank:
        serve(engine.matrix)
        return False
    engine.matrix = Served(engine.matrix)
    click.get_current_context().call_on_close(engine.matrix.close)
    return True
