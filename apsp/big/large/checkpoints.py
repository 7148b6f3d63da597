"""Checkpoints of a long closure in a store of tiles, and recovery after an interruption.

Every tile records the number of pivots applied to it. Work continues from the round of the *oldest*: for an idempotent
⊕ and monotone ⊗, each stored number is the weight of a real walk, so never better than the result, and repeating all
rounds from the oldest on makes it at least as good as an uninterrupted run. Newer tiles are merely ahead. Any pivot
block, grid and backend may finish it.

A lost tile (rows I, columns J, v pivots done) is recomputed by one product; walks leave I for the last time, then enter
J for the first time:

    D(I,J) = D(I,I) ⊗ (A(I,J) ⊕ D(I,u) ⊗ D(u,J) over all pivots u < v outside of I and J) ⊗ D(J,J)

where D(I,I), and likewise D(J,J), is omitted if its block has no pivot done.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from semiring.algebra.catalog import recorded_as
from semiring.host.errors import FormatError, TileError
from semiring.host.spelling import came
from semiring.kernels.backend import Backend
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import CLOSED, SOURCE, is_store
from semiring.stores.tiles.store import Inspection

from ...io.graph.ondisk import together
from ...io.saving import tiles
from ...road.schedules import recursive
from .sources import Source

logger = logging.getLogger("apsp")
#: Seconds between checkpoints, and the largest share of the time that they may take.
EVERY, SHARE = 60.0, 0.1


@dataclass(frozen=True)
class Checkpoint:
    """The state of a closure in a store, written every `every` seconds; its oldest tile has gone through `begun`."""

    store: TileStore
    begun: int
    every: float = EVERY

    def begun_in(self, block: int) -> int:
        """The number of pivots done in complete blocks."""
        n = len(self.store)
        return n if self.begun >= n else self.begun // block * block

    def fill(self, source: Source) -> None:
        """Write missing tiles from the matrix, also after an interrupted start."""
        store = self.store
        for i, j in store.tiles():
            try:
                with store.opened(i, j):
                    continue
            except TileError:
                store.write(i, j, source.window(*store.layout.window(i, j)), round=0)

    def continued(self, source: Source) -> Source:
        """The matrix from which the closure goes on: the state, or the source if no pivot is done."""
        if not self.begun:
            return source
        return replace(source, fill=self.store.window, nulls=(), together=together(self.store), viewed=False)

    def writer(self, rows: slice, columns: slice) -> PartWriter:
        return PartWriter(self.store, rows, columns, self.every)

    def close(self) -> None:
        """Mark the state as the closure."""
        self.store.annotate(**{CLOSED: True})


def opened(
    path: str | os.PathLike[str], source: Source, ops: Backend, *, tile: int | None = None, every: float = EVERY
) -> Checkpoint:
    """The store at `path`, repaired, or a new one; `tile` is the size of its tiles, None for any.

    `ops` recompute lost tiles. Raises FormatError if the store is of another matrix, semiring or dtype, or its tiles
    are too large; OSError if it cannot be written or does not fit on the disk.
    """
    n, s = source.n, source.semiring
    attributes = {"semiring": recorded_as(s), SOURCE: source.surveyed[1]}
    if not is_store(path):
        store = TileStore.create(path, (n, n), source.dtype, block=tile or tiles.TILE, attributes=attributes)
        return Checkpoint(store, 0, every)
    store = TileStore(path, unfinished=True)
    matches = store.shape == (n, n) and store.dtype == source.dtype and attributes.items() <= store.attributes.items()
    if not matches:
        raise FormatError(
            path,
            None,
            f"a checkpoint of this closure is required, {n} × {n} over {s.name} in {source.dtype}, got {came(store)} "
            "of another. Remove the directory, or name a new one.",
        )
    if tile not in (None, store.block[0]):
        raise FormatError(path, None, f"tiles of {store.block[0]} rows are too large for this much memory. Give more.")
    found = store.inspect()
    if not s.idempotent:
        logger.warning("%s: over %s, whose sums are not idempotent, a closure starts over", path, s.name)
        store = TileStore.create(path, (n, n), source.dtype, block=store.block, attributes=attributes)
        return Checkpoint(store, 0, every)
    if store.attributes.get(CLOSED) and (found.errors or found.oldest < n):
        store.annotate(**{CLOSED: False})
    if found.errors:
        found = mended(store, found, source, ops)
    begun = found.oldest
    if begun:
        logger.info("%s: goes on after %d of %d pivots", path, begun, n)
    return Checkpoint(store, begun, every)


def mended(store: TileStore, found: Inspection, source: Source, ops: Backend) -> Inspection:
    """The store with lost tiles recomputed, or reset to the matrix, which restarts all work."""
    lost, rounds = found.errors, found.rounds.copy()
    v = found.oldest
    alone = len(lost) == 1 and v > 0
    for (i, j), error in lost.items():
        if v == 0 or not alone:
            if v:
                logger.warning("%s It is taken from the matrix again.", error)
            store.write(i, j, source.window(*store.layout.window(i, j)), round=0)
            rounds[i, j] = 0
            continue
        logger.warning("%s It is computed again by one product.", error)
        store.write(i, j, recomputed_tile(store, i, j, v, source, ops), round=v)
        rounds[i, j] = v
    return Inspection(rounds, {})


def recomputed_tile(store: TileStore, i: int, j: int, v: int, source: Source, ops: Backend) -> np.ndarray:
    """A tile after at least v pivots, from the matrix and all other tiles (see module)."""
    rows, columns = store.layout.window(i, j)
    X = ops.upload(source.window(rows, columns))
    for u in range(store.grid[0]):
        pivots, _ = store.layout.window(u, j)
        pivots = slice(pivots.start, min(pivots.stop, v))
        if u in (i, j) or pivots.start >= pivots.stop:
            continue
        ops.gemm(X, ops.upload(store.window(rows, pivots)), ops.upload(store.window(pivots, columns)))
    if i == j:
        done = slice(0, max(0, min(rows.stop, v) - rows.start))
        if done.stop == len(X):
            recursive.closure(X, ops, block=ops.pivot)
        elif done.stop:  # a tile with half of its pivots applied
            D, R, C, rest = X[done, done], X[done, done.stop :], X[done.stop :, done], X[done.stop :, done.stop :]
            recursive.closure(D, ops, block=ops.pivot)
            ops.eliminate(D, R, C, rest)
        return np.asarray(ops.download(X))
    left, right = (slice(span.start, min(span.stop, v)) for span in (rows, columns))
    if left.start < left.stop:  # D(I,I) over the pivots of I; ⊕ keeps its other rows
        D, P = ops.upload(store.window(rows, left)), ops.upload(ops.download(X[: left.stop - left.start, :]))
        ops.gemm(X, D, P)
    if right.start < right.stop:
        D, P = ops.upload(store.window(right, columns)), ops.upload(ops.download(X[:, : right.stop - right.start]))
        ops.gemm(X, P, D)
    return np.asarray(ops.download(X))


class PartWriter:
    """Writer of a part in memory, complete tiles of a store, to be called after each round.

    It writes every `every` seconds, less often if that takes more than a tenth of the time, and after the last round.
    """

    def __init__(self, store: TileStore, rows: slice, columns: slice, every: float = EVERY) -> None:
        self._store, self._rows, self._columns, self._every = store, rows, columns, every
        self._ended, self._took = time.monotonic(), 0.0
        self._due: bool | None = None

    def due(self) -> bool:
        """Whether the part is written after this round; kept for the following `after`."""
        least = self._every if self._every <= 0 else max(self._every, self._took * (1 - SHARE) / SHARE)
        self._due = time.monotonic() - self._ended >= least
        return self._due

    def after(self, done: int, fetch: Callable[[slice, slice], np.ndarray]) -> None:
        """Write the part after `done` pivots if that is due; `fetch` copies global windows of it to the host."""
        due = self.due() if self._due is None else self._due
        self._due = None
        if due or done == len(self._store):
            self.write(done, fetch)

    def write(self, done: int, fetch: Callable[[slice, slice], np.ndarray]) -> None:
        begun, rows, columns, step = time.monotonic(), self._rows, self._columns, self._store.block[0]
        if columns.start < columns.stop:
            for start in range(rows.start, rows.stop, step):
                band = slice(start, min(start + step, rows.stop))
                self._store.put(fetch(band, columns), start, columns.start, round=done)
        self._store.sync()
        self._ended = time.monotonic()
        self._took = self._ended - begun
