"""Engines of what was saved: tables on disk, read by windows; parts and hub labels, with the rest recomputed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from semiring import sparse
from semiring.host.types import Array, Blocks, Scalar

from .base import BLOCK, Engine, forwarded
from .factored import Eliminated


class Stored(Engine):
    """Distances in a tile store, Zarr array, or any object with `shape`, `dtype` and `matrix[a:b, c:d]`."""

    name = "dense"

    stored = True

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.shape, self.dtype = tuple(matrix.shape), np.dtype(matrix.dtype)

    @property
    def storage(self) -> Array:
        """The store; a distributed matrix is gathered."""
        return self.matrix.gather() if hasattr(self.matrix, "gather") else self.matrix

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Rows from disk, runs of consecutive ones together."""
        step = block or BLOCK
        for start in range(0, len(wanted), step):
            part = wanted[start : start + step]
            yield part, self._gathered(part, slice(0, self.shape[1]))

    def column(self, j: int) -> np.ndarray:
        return self._read(slice(0, self.shape[0]), slice(j, j + 1))[:, 0]

    def entry(self, i: int, j: int) -> Scalar:
        return self._read(slice(i, i + 1), slice(j, j + 1))[0, 0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Entries, one read per row between its first and last requested column."""
        out = np.empty(i.size, self.dtype)
        sources, targets = i.ravel(), j.ravel()
        order = np.lexsort((targets, sources))
        for here in np.split(order, np.flatnonzero(np.diff(sources[order])) + 1) if i.size else ():
            row, first, last = int(sources[here[0]]), int(targets[here[0]]), int(targets[here[-1]])
            line = self._read(slice(row, row + 1), slice(first, last + 1))[0]
            out[here] = line[targets[here] - first]
        return out.reshape(i.shape)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """The rows, read between the first and last column."""
        if not (len(i) and len(j)):
            return np.empty((len(i), len(j)), self.dtype)
        first, last = int(j.min()), int(j.max())
        return self._gathered(i, slice(first, last + 1))[:, j - first]

    def _gathered(self, wanted: np.ndarray, columns: slice) -> np.ndarray:
        if not len(wanted):
            return np.empty((0, columns.stop - columns.start), self.dtype)
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) != 1) + 1)
        parts = [self._read(slice(int(run[0]), int(run[-1]) + 1), columns) for run in runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _read(self, rows: slice, columns: slice) -> np.ndarray:
        return np.asarray(self.matrix[rows, columns])


class Saved(Engine):
    """A saved part of a table; `recompute(targets)` opens an engine of columns, or (None) of everything."""

    name = "dense"

    def __init__(self, engine: Engine, limit: float | None, recompute: Callable[[np.ndarray | None], Engine]) -> None:
        self.engine, self.limit, self._recompute = engine, limit, recompute
        self.shape, self.dtype = engine.shape, engine.dtype
        self.in_memory, self.stored = engine.in_memory, engine.stored

    @cached_property
    def all_pairs(self) -> Engine:
        """The complete table, recomputed."""
        return self._recompute(None)

    def to(self, vertex: int) -> np.ndarray:
        """A column of the complete table, recomputed alone unless the whole has been."""
        recomputed = "all_pairs" in vars(self)
        return self.all_pairs.column(vertex) if recomputed else self._recompute(np.array([vertex])).column(0)

    rows, column, entry, entries, block, panels, table = map(
        forwarded, ("rows", "column", "entry", "entries", "block", "panels", "table")
    )


class Labelled(Eliminated):
    """An elimination known only by its hub labels, which answer pairs; `recompute()` opens the engine itself."""

    hubs: sparse.HubLabels
    device, order, potential = "cpu", "auto", None

    def __init__(self, hubs: sparse.HubLabels, recompute: Callable[[], Any]) -> None:
        self.hubs, self._recompute = hubs, recompute
        self.semiring, self.dtype, self.shape, self.threads = hubs.semiring, hubs.dtype, (hubs.n, hubs.n), hubs.threads

    @cached_property
    def _recomputed(self) -> Eliminated:
        found: Eliminated = self._recompute()
        return found

    @cached_property
    def elimination(self) -> sparse.Elimination:  # type: ignore[override]  # an attribute there, made on demand here
        """The elimination, made when more than pairs is requested."""
        return self._recomputed.elimination

    @cached_property
    def analysis(self) -> sparse.Analysis:  # type: ignore[override]  # as above
        return self._recomputed.analysis

    def entry(self, i: int, j: int) -> Scalar:
        return self.hubs.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.hubs.entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.hubs.entries(i[:, None], j)
