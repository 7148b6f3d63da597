"""Checkpoints of a distributed closure: each rank writes its tiles, and any grid can continue."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from semiring.algebra.survey import Survey
from semiring.distributed import Comm, World
from semiring.host.types import Array
from semiring.kernels.backend import Backend, bind
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import CLOSED

from ...io.saving.tiles import TILE, new_store
from ..large import checkpoints
from ..large.checkpoints import CheckpointRounds, CheckpointWriter, rounds_done
from ..large.limits import Limits
from ..large.sources import Source
from .matrix import DistributedMatrix


def close(
    source: Source,
    world: World,
    limits: Limits,
    *,
    block: int | None,
    callback: Callable[[int, int], None] | None,
    on_survey: Callable[[Survey], None],
) -> DistributedMatrix:
    """The closure of a source, continued from its checkpoint; raises FormatError in every rank, OSError."""
    path, s = limits.checkpoint, source.semiring
    assert path is not None

    def open_checkpoint() -> tuple[int, int, Survey]:
        ops = bind(s, source.dtype, device=world.device, **world.options)
        state = checkpoints.opened(path, source, ops, tile=TILE, fit=lambda _: True)
        return state.begun, state.store.block[0], source.surveyed[0]

    def work(comm: Comm) -> tuple[int, int, Survey] | None:
        return comm.fail_together(lambda: open_checkpoint() if comm.rank == 0 else None)

    begun, tile, seen = next(found for found in world.allgather(world.run(work)) if found)
    on_survey(seen)
    store = TileStore(path, unfinished=True)
    fill = store.window if begun else source.window
    M = DistributedMatrix.filled(
        source.n, s, source.dtype, fill, world=world, block=block, rows_at_a_time=True, unit=tile
    )
    first = rounds_done(begun, M.layout.block, M.n)
    parts = {rank: M.layout.part(rank) for rank in M.world.local_ranks}
    rounds = CheckpointRounds(store, limits.every, M.n, parts)
    M.close(callback=callback, first=first, rounds=rounds)

    def finish(comm: Comm) -> None:
        comm.barrier()  # all tiles are written
        comm.fail_together(lambda: store.annotate(**{CLOSED: True}) if comm.rank == 0 else None)

    world.run(finish)
    return M


def write(M: DistributedMatrix, path: str | os.PathLike[str]) -> None:
    """Write the matrix as a store of tiles, each rank its own; OSError in every rank."""
    layout = M.layout
    tile = TILE if math.lcm(layout.block, layout.unit) % TILE == 0 else layout.block  # tiles belong to one rank each

    def create(comm: Comm) -> None:
        shape = M.shape

        def new() -> None:
            if comm.rank == 0:
                new_store(path, shape, M.dtype, M.semiring, block=tile)

        comm.fail_together(new)

    M.world.run(create)
    store = TileStore(path, unfinished=True)

    def put(ops: Backend, part: Array, rows: slice, columns: slice) -> None:
        if rows.start < rows.stop and columns.start < columns.stop:
            CheckpointWriter(store).write(rows, columns, M.reader(ops, part, rows, columns), M.n)

    M.each_part(put)
    M.world.allgather([None for _ in M.world.local_ranks])  # all tiles are written
