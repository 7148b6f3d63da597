"""The state of a closure over ranks, in a store of tiles: each rank writes its own, and any grid continues from it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from semiring.backend import Backend, bind
from semiring.distributed import Comm, World
from semiring.survey import Survey
from semiring.tiles import TileStore
from semiring.tiles.folder import CLOSED

from ..large import checkpoints
from ..large.checkpoints import CheckpointWriter, rounds_done
from ..large.limits import Limits
from ..large.sources import Source
from ..saving.tiles import TILE, new_store
from .matrix import DistributedMatrix


class CheckpointRounds:
    """Writes each rank's part when it is time, and after the last round: `Rounds` of a distributed matrix."""

    def __init__(self, store: TileStore, every: float, M: DistributedMatrix) -> None:
        self._writers = {rank: CheckpointWriter(store, every) for rank in M.world.mine}
        self._parts = {rank: M.layout.part(rank) for rank in M.world.mine}
        self._due: dict[int, bool] = {}
        self._n = M.n

    def due(self, rank: int) -> bool:
        """Whether it is time; the answer holds for the `after` that follows."""
        self._due[rank] = self._writers[rank].due
        return self._due[rank]

    def after(self, rank: int, done: int, fetch: Callable[[slice, slice], np.ndarray]) -> None:
        """Write the rank's tiles, if it is time."""
        due = self._due.pop(rank) if rank in self._due else self._writers[rank].due
        rows, columns = self._parts[rank]
        if (due or done == self._n) and rows.start < rows.stop and columns.start < columns.stop:
            self._writers[rank].write(rows, columns, fetch, done)


def close(
    source: Source,
    world: World,
    limits: Limits,
    *,
    block: int | None,
    callback: Callable[[int, int], None] | None,
    look: Callable[[Survey], None],
) -> DistributedMatrix:
    """The closure of a source from where its checkpoint stands; `look` is called with what was seen of its entries.

    Raises
    ------
    FormatError
        If a closure of another matrix was left there; in every rank.
    OSError
        If it cannot be written.
    """
    path, s = limits.checkpoint, source.semiring
    assert path is not None

    def opened() -> tuple[int, int, Survey]:
        ops = bind(s, source.dtype, device=world.device, **world.options)
        state = checkpoints.opened(path, source, ops, tile=TILE, fit=lambda _: True)
        return state.begun, state.store.block[0], source.surveyed[0]

    def work(comm: Comm) -> tuple[int, int, Survey] | None:
        return comm.together(lambda: opened() if comm.rank == 0 else None)

    begun, tile, seen = next(found for found in world.everyone(world.each(work)) if found)
    look(seen)
    store = TileStore(path, unfinished=True)
    fill = store.window if begun else source.window
    M = DistributedMatrix.filled(
        source.n, s, source.dtype, fill, world=world, block=block, rows_at_a_time=True, unit=tile
    )
    first = rounds_done(begun, M.layout.block, M.n)
    M.close(callback=callback, first=first, rounds=CheckpointRounds(store, limits.every, M))

    def ended(comm: Comm) -> None:
        comm.barrier()  # all tiles are there
        comm.together(lambda: store.annotate(**{CLOSED: True}) if comm.rank == 0 else None)

    world.each(ended)
    return M


def write(M: DistributedMatrix, path: str | os.PathLike[str]) -> None:
    """The matrix as a store of tiles, of which each rank writes its own.

    Raises
    ------
    OSError
        If it cannot be written; in every rank.
    """
    layout = M.layout
    tile = TILE if math.lcm(layout.block, layout.unit) % TILE == 0 else layout.block  # a tile is of one rank

    def create(comm: Comm) -> None:
        shape = M.shape

        def new() -> None:
            if comm.rank == 0:
                new_store(path, shape, M.dtype, M.semiring, block=tile)

        comm.together(new)

    M.world.each(create)
    store = TileStore(path, unfinished=True)

    def put(ops: Backend, part: Any, rows: slice, columns: slice) -> None:
        if rows.start < rows.stop and columns.start < columns.stop:
            CheckpointWriter(store).write(rows, columns, M.reader(ops, part, rows, columns), M.n)

    M.each_part(put)
    M.world.everyone([None for _ in M.world.mine])  # all tiles are there
