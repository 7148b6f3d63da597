"""Sums over best paths on the GPU for distances of few multiples of a unit: all sources together, by distance.

Best paths to distance d end with arcs of weight w from distance d − w, so that counts go forward and sums come back one
distance at a time (Brandes 2001), without lists of tight arcs per source. See by_distance.cu.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.records import Semiring
from ....host.memory import available
from ....host.types import Array
from .. import algebra, compile
from ..library import cupy

#: Most units and vertices; most passes over the arcs, within their weights.
LEVELS, VERTICES, ROUNDS = 64, 1 << 25, 8
#: Powers of two tried below the least weight.
FINER = 8
#: Block size, warps, sources per warp.
THREADS, WARPS, GROUP = 256, 8, 128


def unit_of(weights: Array, ends: tuple[float, ...], *, least: bool) -> float:
    """Common unit of the weights, if they worsen walks and are at most LEVELS units; else 0. `ends`: their range."""
    if not len(weights):
        return 0.0
    nearest, farthest = sorted(map(abs, ends))
    if not (ends[0] > 0 if least else ends[1] < 0) or farthest > LEVELS * nearest:
        return 0.0
    first, exact = int(np.frexp(nearest)[1]) - 1, abs(weights.astype(np.float64))
    for power in (2.0**exponent for exponent in range(first, first - FINER, -1)):
        if bool((exact % power == 0).all()):
            multiples = np.flatnonzero(cupy.bincount((exact / power).astype(np.int64), minlength=1).get())
            unit = power * int(np.gcd.reduce(multiples))
            return unit if farthest <= LEVELS * unit else 0.0
    return 0.0


class Sums:
    """Flow over arcs, into and out of vertices, and the number of sources that reach each vertex.

    edges : CuPy (tails, heads, weights); unit : common divisor of the weights
    """

    def __init__(self, semiring: Semiring, dtype: np.dtype, edges: tuple[Any, Any, Any], unit: float, n: int) -> None:
        self.semiring, self.dtype, self.unit, self.n = semiring, dtype, unit, n
        tails, heads, weights = edges
        units = abs(weights.astype(np.float64) / unit).astype(np.int64)
        self.count, self._shortest = len(units), int(units.min())
        self._up_to = np.cumsum(cupy.bincount(units, minlength=LEVELS + 1).get())
        self._in, order = self._lists(heads, tails, units)
        self._out, _ = self._lists(tails, heads, units)
        self._order, self._heads = order, heads[order].astype(np.uint32)
        self.along = cupy.zeros(self.count)
        self.arrivals = cupy.zeros(n, np.int32)
        self.entering, self.leaving = cupy.zeros((2, n))

    def _lists(self, of: Any, others: Any, units: Any) -> tuple[tuple[Any, Any], Any]:
        """Arcs by one end and by weight: starts, packed arcs, and their indices."""
        ends = of.astype(np.int64)
        order = cupy.argsort(ends * (2 * LEVELS) + units, kind="stable")
        starts = ends[order].searchsorted(cupy.arange(self.n + 1)).astype(np.int64)
        return (starts, ((units << VERTICES.bit_length() - 1) + others)[order].astype(np.uint32)), order

    def of_vertices(self) -> tuple[np.ndarray, np.ndarray]:
        return self.entering.get(), self.leaving.get()

    def levels(self, largest: float) -> int:
        """The largest distance in units; 0 if that, or its passes over the arcs, are too many."""
        levels = largest / self.unit
        if not 0 < levels <= LEVELS:
            return 0
        visits = sum(int(self._up_to[level - self._shortest]) for level in range(self._shortest, int(levels) + 1))
        return int(levels) if visits <= ROUNDS * self.count else 0

    def add(self, D: Array, sources: np.ndarray, demand: Array, largest: float, *, along: bool) -> bool:
        """Add the sums of rows whose distances are at most `largest`; flow over arcs only if `along`.

        False if memory is short, if path counts are inexact in float32, or if rows are no distances.
        """
        rows, n, levels = len(D), self.n, self.levels(largest)
        width, groups = -(-rows // GROUP) * GROUP, -(-rows // GROUP)
        if not levels or 13 * n * width + 16 * n * groups > (available("cuda") or 0):
            return False
        row = np.full(n, -1, np.int32)
        row[sources] = np.arange(rows)
        row, failed = cupy.asarray(row), cupy.zeros(1, np.int32)
        H, paths = cupy.empty((n, width), np.uint8), cupy.zeros((n, width), np.float32)
        each, sums = cupy.empty((n, width)), cupy.zeros((2, groups, n))
        known, grid = (H, np.int32(n), np.int32(width)), (-(-n // WARPS), groups)
        given: tuple[Any, ...] = D, D.strides[0] // D.itemsize, np.int32(n), np.int32(rows), np.int32(width)
        self._launch("turn", (-(-n // 32), width // 32), *given, np.float64(self.unit), H, failed)
        starts, arcs = self._in
        blocks = (-(-max(n, self.count) // THREADS),)
        self._launch("begin", blocks, *known, arcs, self._heads, self.count, row, paths)
        for level in range(1, levels + 1):
            given = np.int32(level), np.int32(level - self._shortest), paths, failed
            self._launch("count_paths", grid, *known, arcs, starts, *given)
        if int(failed[0]):
            return False
        starts, leaving = self._out
        asked = demand, demand.shape[1] if len(demand) > 1 else 0
        for level in range(levels, -1, -1):
            given = np.int32(level), np.int32(levels - level), paths, *asked, each, *sums, self.arrivals
            self._launch("hand_back", grid, *known, leaving, starts, *given)
        entering, leaving = sums.sum(axis=1)
        self.entering += entering
        self.leaving += leaving
        if along:
            ends = arcs, self._heads, self._order, self.count, paths, each, self.along
            self._launch("carry", (-(-self.count // WARPS),), H, np.int32(width), *ends)
        return True

    def _launch(self, entry: str, grid: tuple[int, ...], *arguments: Any) -> None:
        text.functions(self.semiring, self.dtype)[entry](grid, (THREADS,), arguments)


@compile.unit("by_distance.cu")
def text(semiring: Semiring, dtype: np.dtype) -> str:
    return compile.source("by_distance.cu", algebra.text(semiring, dtype))
