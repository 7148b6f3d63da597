"""Closure of a matrix in device memory, or in host memory streaming through a GPU; optionally with checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semiring.dense.cycles import restore, reweight
from semiring.host.memory import require
from semiring.kernels.backend import Backend
from semiring.kernels.observed import Callback
from semiring.stores.tiles.folder import CLOSED
from semiring.stores.tiles.windows import InArray

from ...io.saving.tiles import TILE
from ...road.convergence import divergence, settle
from ...road.schedules import distributed
from . import checkpoints, streaming
from .checkpoints import CheckpointWriter
from .limits import Limits
from .sources import Source
from .streaming import Cut


def close(
    source: Source, ops: Backend, limits: Limits, *, block: int, cut: Cut | None, callback: Callback | None
) -> np.ndarray:
    """A* in host memory: by pivot blocks of `block` on the device, or streamed by `cut`. Raises as `Large.close`."""
    s, n, seen = source.semiring, source.n, source.surveyed[0]
    require(source.nbytes, "cpu", where="closure", hint="Say output='tiles/' and memory=…: it then streams.")
    place = limits.checkpoint
    state = None if place is None else checkpoints.opened(place, source, ops, tile=TILE, fit=lambda _: True)
    writer = None if state is None else CheckpointWriter(state.store, limits.every)
    begun = state.begun if state else 0
    risky = divergence.may_diverge(s, seen, n)
    D = source.to_array() if risky or not begun else np.empty((n, n), source.dtype)
    # Cycles of length about 0 amplify each other's rounding, but not on Johnson's lengths.
    potential = settle.precaution(D, s, seen, overwrite=True) if risky else None
    if state and begun:
        state.store.window(slice(0, n), slice(0, n), D)
    if potential is not None:
        reweight(D, s, potential)

    def original(X: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
        """A window with Johnson's reweighting undone, for checkpoints: any run can continue from it or return it."""
        if potential is None:
            return X
        X = X.copy()
        restore(X, s, potential, rows, columns)
        return X

    if cut is None:  # on the device at once
        M = ops.upload(D, copy=False)
        ops.prepare(n)
        rounds = _Rounds(writer, lambda r, c: original(ops.download(M[r, c]), r, c), n, callback)
        distributed.closure(M, ops, block=block, begun=begun, after=rounds.after, complete=rounds.due)
        ops.synchronize()
        if M is not D:
            ops.download(M, out=D)
        del M
    else:  # through the device by windows
        rounds = _Rounds(writer, lambda r, c: original(D[r, c], r, c), n, None)
        step = streaming.reporting(callback, n, begun)
        streaming.closure(InArray(D), ops, cut, begun=begun, after=rounds.after if writer else None, step=step)
    if potential is not None:
        restore(D, s, potential)
        settle.reflexive(D, s)
    elif risky:
        settle.settle(D, None, s, seen)
    if state is not None:
        state.store.annotate(**{CLOSED: True})
    return D


class _Rounds:
    """Hooks after a round: the callback, and periodic and final checkpoints."""

    def __init__(
        self, writer: CheckpointWriter | None, fetch: Callable[[slice, slice], Any], n: int, callback: Callback | None
    ) -> None:
        self._writer, self._fetch, self._n, self._callback = writer, fetch, n, callback
        self._due: dict[int, bool] = {}

    def due(self, index: int) -> bool:
        """Whether the matrix is written after this round; decided before its verbs."""
        if index not in self._due:
            self._due[index] = self._writer is not None and self._writer.due
        return self._due[index]

    def after(self, index: int, pivot: slice) -> None:
        if self._callback is not None:
            self._callback(pivot.stop * self._n**2, self._n**3)
        if self._writer is not None and (self.due(index) or pivot.stop == self._n):
            every = slice(0, self._n)
            self._writer.write(every, every, self._fetch, pivot.stop)
