"""Closure of a matrix in device memory, or in host memory streaming through a GPU; optionally with checkpoints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semiring.dense.cycles import restore, reweight
from semiring.host.memory import require
from semiring.kernels.backend import Backend
from semiring.kernels.observed import Callback
from semiring.stores.tiles.windows import InArray

from ...road.convergence import divergence, settle
from ...road.schedules import distributed
from . import checkpoints, streaming
from .limits import Limits
from .sources import Source
from .streaming import Cut


def close(
    source: Source, ops: Backend, limits: Limits, *, block: int, cut: Cut | None, callback: Callback | None
) -> np.ndarray:
    """A* in host memory: by pivot blocks of `block` on the device, or streamed by `cut`. Raises as `Large.close`."""
    s, n, seen = source.semiring, source.n, source.surveyed[0]
    require(source.nbytes, "cpu", where="closure", hint="Say output='tiles/' and memory=…: it then streams.")
    place, every = limits.checkpoint, slice(0, n)
    state = None if place is None else checkpoints.opened(place, source, ops, every=limits.every)
    writer = None if state is None else state.writer(every, every)
    begun = state.begun if state else 0
    risky = divergence.may_diverge(s, seen, n)
    D = source.to_array() if risky or not begun else np.empty((n, n), source.dtype)
    # Cycles of length about 0 amplify each other's rounding, but not on Johnson's lengths.
    potential = settle.precaution(D, s, seen, overwrite=True) if risky else None
    if state and begun:
        state.store.window(every, every, D)
    if potential is not None:
        reweight(D, s, potential)

    def keep(done: int, fetch: Callable[[slice, slice], np.ndarray]) -> None:
        """A checkpoint, if one is due, with Johnson's reweighting undone: any run can continue from it or return it."""

        def original(rows: slice, columns: slice) -> np.ndarray:
            X = fetch(rows, columns)
            if potential is not None:
                X = X.copy()
                restore(X, s, potential, rows, columns)
            return X

        if writer is not None:
            writer.after(done, original)

    if cut is None:  # on the device at once
        M = ops.upload(D, copy=False)
        ops.prepare(n)

        def after(pivot: slice) -> None:
            if callback is not None:
                callback(pivot.stop * n**2, n**3)
            keep(pivot.stop, lambda r, c: ops.download(M[r, c]))

        complete = None if writer is None else writer.due
        distributed.closure(M, ops, block=block, begun=begun, after=after, complete=complete)
        ops.synchronize()
        if M is not D:
            ops.download(M, out=D)
        del M
    else:  # through the device by windows
        step = streaming.reporting(callback, n, begun)
        write = None if writer is None else lambda pivots: keep(pivots.stop, lambda r, c: D[r, c])
        streaming.closure(InArray(D), ops, cut, begun=begun, after=write, step=step)
    if potential is not None:
        restore(D, s, potential)
        settle.reflexive(D, s)
    elif risky:
        settle.settle(D, None, s, seen)
    if state is not None:
        state.close()
    return D
