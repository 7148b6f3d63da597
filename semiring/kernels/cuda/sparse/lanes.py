"""Lanes of a batch: its vertices in elimination order, and the climbs that they need; see sweep.cu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ....host.errors import ShapeError
from ..library import cupy

if TYPE_CHECKING:
    from .sweep import Tree

#: Threads per warp; warps per block of kernels that stream rows.
WARP, WARPS = 32, 4
#: Granularity of lanes.
LANES = 32


class Lanes:
    """The vertices of a batch, sorted by column, and each caller's lane."""

    def __init__(self, tree: Tree, columns: np.ndarray) -> None:
        self.count = len(columns)
        self.padded = -(-self.count // LANES) * LANES
        starts, places = (np.full(self.padded, -1, np.int32) for _ in range(2))
        self.every = columns is tree.S.position
        if self.every:
            starts[: self.count], places[: self.count] = np.arange(tree.n), columns
        else:
            order = _order(columns, tree.n)
            starts[: self.count] = columns[order]
            places[: self.count][order] = np.arange(self.count)
        self.starts, self.places = cupy.asarray(starts), cupy.asarray(places)
        self.columns = starts[: self.count]
        # Range of lanes below each supernode's columns.
        self.ranges = tree.bounds
        if not self.every:
            positions = self.starts[: self.count].searchsorted(tree.bounds.ravel())
            self.ranges = positions.astype(np.int32).reshape(-1, 2)
        self.climbs = list(self._climbs(tree, starts[: self.count]))

    def _climbs(self, tree: Tree, columns: np.ndarray) -> Iterator[tuple[Any, int, int, int]]:
        """Per level of the top, deepest first: supernodes, count, start of `before`, work."""
        wide = WARP * tree.shape.each
        low, high = tree.above if self.every else np.searchsorted(columns, tree.above)
        groups = np.where(high > low, -(-high // wide) - low // wide, 0)
        total = np.concatenate(([0], np.cumsum(groups * tree.pieces)))
        counts: list[tuple[Any, int, int, int]] = []
        start, parts = 0, []
        for level, on_device in tree.levels:
            stop = start + len(level)
            parts.append(warps_before(total, start, stop))
            counts.append((on_device, len(level), start + len(counts), int(parts[-1][-1])))
            start = stop
        if parts:
            self.before = cupy.asarray(np.concatenate(parts))
        return reversed(counts)


def warps_before(total: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Warps of a climb before each supernode of a level; `total` is over all levels. ShapeError beyond 32 bits."""
    found = total[start : stop + 1] - total[start]
    if found[-1] > np.iinfo(np.int32).max - WARPS:
        raise ShapeError(f"cuda: a climb takes fewer than 2³¹ warps, got {found[-1]:,}. Ask for fewer rows at a time.")
    return found.astype(np.int32)


def _order(columns: np.ndarray, n: int) -> np.ndarray:
    """Stable sort of columns of 0 … n − 1; in linear time if many and distinct."""
    if len(columns) < n // 8 or (columns[1:] >= columns[:-1]).all():
        return np.argsort(columns, kind="stable")
    position = np.full(n, -1, np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
    order = position[position >= 0]
    return order if len(order) == len(columns) else np.argsort(columns, kind="stable")
