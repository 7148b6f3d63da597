"""Closure of a matrix on disk: it streams from a store of tiles, which is its own checkpoint."""

from __future__ import annotations

import numpy as np

from semiring.kernels.backend import Backend
from semiring.kernels.observed import Callback
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.windows import InStore

from ...io.saving.tiles import forget_result
from ...road.convergence import divergence
from . import checkpoints, streaming
from .limits import Limits
from .sources import Source
from .streaming import Cut


def close(source: Source, ops: Backend, limits: Limits, *, cut: Cut, callback: Callback | None) -> TileStore:
    n, place = source.n, limits.works_in
    assert place is not None
    if limits.in_checkpoint:
        forget_result(place)  # remove a result of another closure
    state = checkpoints.opened(place, source, ops, tile=cut.tile)
    begun = state.begun_in(cut.tile)
    state.fill(source)
    slow = InStore(state.store, durable=limits.checkpoint is not None)
    streaming.closure(slow, ops, cut, begun=begun, step=streaming.reporting(callback, n, begun))
    state.store.sync()
    if divergence.may_diverge(source.semiring, source.surveyed[0], n):
        blocks = [state.store.read(k, k).diagonal() for k in range(state.store.grid[0])]
        divergence.refuse_beaten(np.concatenate(blocks), source.semiring, where="closure", apart=state.store.dtype)
    state.close()
    return state.store if limits.target is None or limits.checkpoint is None else state.store.linked(limits.target)
