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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.algebra.catalog import recorded_as
from semiring.host.errors import FormatError, TileError
from semiring.host.spelling import came
from semiring.kernels.backend import Backend
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.folder import CLOSED, SOURCE, is_store
from semiring.stores.tiles.store import Inspection

from ...road.schedules import recursive
from .sources import Source

logger = logging.getLogger("apsp")
#: Seconds between checkpoints, and the largest share of the time that they may take.
EVERY, SHARE = 60.0, 0.1


@dataclass(frozen=True)
class Checkpoint:
    """The store of a closure's state; `begun` is the number of pivots applied to the oldest tile."""

    store: TileStore
    begun: int


def opened(
    path: str | os.PathLike[str], source: Source, ops: Backend, *, tile: int | None, fit: Callable[[int], bool]
) -> Checkpoint:
    """The store at `path`, repaired, or a new one of tiles of size `tile`.

    `ops` recompute lost tiles; `fit(size)` tells whether tiles suit the work. Raises FormatError if the store is of
    another matrix, semiring or dtype, or its tiles are too large; OSError if it cannot be written or does not fit on
    the disk.
    """
    n, s = source.n, source.semiring
    attributes = {"semiring": recorded_as(s), SOURCE: source.surveyed[1]}
    if not is_store(path):
        store = TileStore.create(path, (n, n), source.dtype, block=tile or 1, attributes=attributes)
        return Checkpoint(store, 0)
    store = TileStore(path, unfinished=True)
    matches = store.shape == (n, n) and store.dtype == source.dtype and attributes.items() <= store.attributes.items()
    if not matches:
        raise FormatError(
            path,
            None,
            f"a checkpoint of this closure is required, {n} × {n} over {s.name} in {source.dtype}, got {came(store)} "
            "of another. Remove the directory, or name a new one.",
        )
    if not fit(store.block[0]):
        raise FormatError(path, None, f"tiles of {store.block[0]} rows are too large for this much memory. Give more.")
    found = store.inspect()
    if not s.idempotent:
        logger.warning("%s: over %s, whose sums are not idempotent, a closure starts over", path, s.name)
        return Checkpoint(TileStore.create(path, (n, n), source.dtype, block=store.block, attributes=attributes), 0)
    if store.attributes.get(CLOSED) and (found.errors or found.oldest < n):
        store.annotate(**{CLOSED: False})
    if found.errors:
        found = mended(store, found, source, ops)
    begun = found.oldest
    if begun:
        logger.info("%s: goes on after %d of %d pivots", path, begun, n)
    return Checkpoint(store, begun)


def fill(checkpoint: Checkpoint, source: Source) -> None:
    """Write missing tiles from the matrix, also after an interrupted start."""
    store = checkpoint.store
    for i, j in store.tiles():
        try:
            with store.opened(i, j):
                continue
        except TileError:
            store.write(i, j, source.window(*store.layout.window(i, j)), round=0)


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


def rounds_done(begun: int, block: int, n: int) -> int:
    """The number of complete rounds after `begun` pivots."""
    return -(-n // block) if begun >= n else begun // block


class CheckpointWriter:
    """Writer of a matrix in memory every `every` seconds, or less often if that takes more than a tenth of the time."""

    def __init__(self, store: TileStore, every: float = EVERY) -> None:
        self._store, self._every = store, every
        self._ended, self._took = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        least = self._every if self._every <= 0 else max(self._every, self._took * (1 - SHARE) / SHARE)
        return time.monotonic() - self._ended >= least

    def write(self, rows: slice, columns: slice, fetch: Callable[[slice, slice], Any], done: int) -> None:
        """Write the window (complete tiles) of this process after `done` pivots; `fetch` copies global windows."""
        begun, step = time.monotonic(), self._store.block[0]
        for start in range(rows.start, rows.stop, step):
            band = slice(start, min(start + step, rows.stop))
            self._store.put(fetch(band, columns), start, columns.start, round=done)
        self._store.sync()
        self._ended = time.monotonic()
        self._took = self._ended - begun


class CheckpointRounds:
    """Rounds that write the windows `parts`, of ranks or one of all, periodically, and after the last round."""

    def __init__(self, store: TileStore, every: float, n: int, parts: Mapping[int, tuple[slice, slice]]) -> None:
        self._n, self._parts = n, parts
        self._writers = {rank: CheckpointWriter(store, every) for rank in parts}
        self._due: dict[int, bool] = {}

    def due(self, rank: int) -> bool:
        """Whether a checkpoint is due; kept for the following `after`."""
        self._due[rank] = self._writers[rank].due
        return self._due[rank]

    def after(self, rank: int, done: int, fetch: Callable[[slice, slice], np.ndarray]) -> None:
        """Write the rank's tiles if a checkpoint is due."""
        due = self._due.pop(rank) if rank in self._due else self._writers[rank].due
        rows, columns = self._parts[rank]
        if (due or done == self._n) and rows.start < rows.stop and columns.start < columns.stop:
            self._writers[rank].write(rows, columns, fetch, done)
