"""Closure of a matrix on disk: it streams from a store of tiles, which is its own checkpoint."""

from __future__ import annotations

import numpy as np

from semiring.backend import Backend
from semiring.observed import Callback
from semiring.tiles import TileStore
from semiring.tiles.folder import CLOSED
from semiring.tiles.windows import InStore

from ..convergence import divergence
from ..saving.tiles import forget_result
from . import checkpoints, streaming
from .limits import Limits
from .sources import Source
from .streaming import Cut


def close(source: Source, ops: Backend, limits: Limits, *, cut: Cut, callback: Callback | None) -> TileStore:
    n, place = source.n, limits.works_in
    assert place is not None
    if limits.in_checkpoint:
        forget_result(place)  # remove a result of another closure
    state = checkpoints.opened(place, source, ops, tile=cut.tile, fit=lambda size: size == cut.tile)
    begun = n if state.begun >= n else state.begun // cut.tile * cut.tile
    checkpoints.fill(state, source)
    slow = InStore(state.store, durable=limits.checkpoint is not None)
    streaming.closure(slow, ops, cut, begun=begun, step=streaming.reporting(callback, n, begun))
    state.store.sync()
    _require_limit(source, state.store)
    state.store.annotate(**{CLOSED: True})
    return state.store if limits.target is None or limits.checkpoint is None else state.store.linked(limits.target)


def _require_limit(source: Source, store: TileStore) -> None:
    """Raise DivergenceError if the diagonal shows that there is no closure."""
    s = source.semiring
    if not divergence.may_diverge(s, source.surveyed[0], source.n):
        return
    diagonal = np.concatenate([store.read(k, k).diagonal() for k in range(store.grid[0])])
    vertex = divergence.beaten(diagonal, s)
    if vertex is not None:
        raise divergence.vertex_error(vertex, diagonal[vertex].item(), s, where="closure", apart=store.dtype)
