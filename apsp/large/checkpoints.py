"""The state of a long closure, kept in a store of tiles, and how the closure continues from it after an interruption.

Every tile records how many pivots it has gone through. Work continues from the round of the *oldest*: where ⊕ is
idempotent and ⊗ monotone, each stored number is the weight of a real walk, so never better than the result, and going
through all rounds from the oldest on makes each of them at least as good as an uninterrupted run does. Newer tiles are
simply ahead. Any pivot block, any grid and any backend may finish it.

A tile that is missing or damaged is computed again. For rows I and columns J, of v pivots done, walks leave I for the
last time and then enter J for the first time:

    D(I,J) = D(I,I) ⊗ (A(I,J) ⊕ D(I,u) ⊗ D(u,J) over all pivots u < v outside of I and J) ⊗ D(J,J)

where D(I,I) is left out if I holds no pivot that is done, and so is D(J,J). That is one product.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.backend import Backend
from semiring.catalog import recorded_as
from semiring.errors import FormatError, TileError
from semiring.spelling import came
from semiring.tiles import TileStore
from semiring.tiles.folder import CLOSED, SOURCE, is_store
from semiring.tiles.store import Inspection

from ..schedules import recursive
from .sources import Source

logger = logging.getLogger("apsp")
#: Seconds between two checkpoints, and the most of the time that they may take.
EVERY, SHARE = 60.0, 0.1


@dataclass(frozen=True)
class Checkpoint:
    """A store that a closure works on, or into which it writes its state.

    Attributes
    ----------
    store : TileStore
    begun : int
        How many pivots the oldest tile has gone through.
    """

    store: TileStore
    begun: int


def opened(
    path: str | os.PathLike[str], source: Source, ops: Backend, *, tile: int | None, fit: Callable[[int], bool]
) -> Checkpoint:
    """The store of a closure: the one that was left there, mended; or a new one.

    Parameters
    ----------
    path : path
    source : Source
        The matrix.
    ops : Backend
        To compute lost tiles.
    tile : int or None
        Rows and columns of the tiles of a new store.
    fit : callable
        Whether tiles of so many rows suit the work.

    Raises
    ------
    FormatError
        If a closure of another matrix was left there, or one over another semiring or dtype, or in tiles too large.
    OSError
        If it cannot be written, or does not fit on its disk.
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
    """Tiles ← the matrix, where there are none: those of a new store, or where writing them was cut short."""
    store = checkpoint.store
    for i, j in store.tiles():
        try:
            with store.opened(i, j):
                continue
        except TileError:
            store.write(i, j, source.window(*store.layout.window(i, j)), round=0)


def mended(store: TileStore, found: Inspection, source: Source, ops: Backend) -> Inspection:
    """The store with every lost tile computed again, or as it was in the matrix: then all begins there."""
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
    """A tile as it is after v pivots at least, from the matrix and from all other tiles (see above)."""
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
        elif done.stop:  # a tile through which the pivots have come half of the way
            D, R, C, rest = X[done, done], X[done, done.stop :], X[done.stop :, done], X[done.stop :, done.stop :]
            recursive.closure(D, ops, block=ops.pivot)
            ops.eliminate(D, R, C, rest)
        return np.asarray(ops.download(X))
    left, right = (slice(span.start, min(span.stop, v)) for span in (rows, columns))
    if left.start < left.stop:  # D(I,I) over the pivots of I: ⊕ with what is there, for the others of its rows
        D, P = ops.upload(store.window(rows, left)), ops.upload(ops.download(X[: left.stop - left.start, :]))
        ops.gemm(X, D, P)
    if right.start < right.stop:
        D, P = ops.upload(store.window(right, columns)), ops.upload(ops.download(X[:, : right.stop - right.start]))
        ops.gemm(X, P, D)
    return np.asarray(ops.download(X))


def rounds_done(begun: int, block: int, n: int) -> int:
    """How many rounds of so many pivots are done where `begun` pivots are."""
    return -(-n // block) if begun >= n else begun // block


class CheckpointWriter:
    """Writes a matrix in memory into its store, when it is time.

    Parameters
    ----------
    store : TileStore
    every : float
        Seconds between the end of one and the begin of the next; more where one takes more than a tenth of that.
    """

    def __init__(self, store: TileStore, every: float = EVERY) -> None:
        self._store, self._every = store, every
        self._ended, self._took = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        least = self._every if self._every <= 0 else max(self._every, self._took * (1 - SHARE) / SHARE)
        return time.monotonic() - self._ended >= least

    def write(self, rows: slice, columns: slice, fetch: Callable[[slice, slice], Any], done: int) -> None:
        """Write the part of the matrix that a process owns: these rows and columns, complete tiles.

        Parameters
        ----------
        fetch : callable
            `fetch(rows, columns)`: entries of the entire matrix, on the host.
        done : int
            How many pivots they have gone through.
        """
        begun, step = time.monotonic(), self._store.block[0]
        for start in range(rows.start, rows.stop, step):
            band = slice(start, min(start + step, rows.stop))
            self._store.put(fetch(band, columns), start, columns.start, round=done)
        self._store.sync()
        self._ended = time.monotonic()
        self._took = self._ended - begun
