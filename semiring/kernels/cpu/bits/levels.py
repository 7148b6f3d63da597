"""Levels of CPU matrices whose distances are small multiples of a unit, by bit products and NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from ....dense.levels import MOST, Levels
from ....host.types import Array

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix
    from ...contract import Backend

#: Entries per pass, a cache full; number of vertices sampled for a start.
CHUNK, FEW = 1 << 16, 64


class LevelsOnHost(Levels):
    """Levels of a NumPy matrix. The number of levels that contain a pair determines its distance."""

    def __init__(self, A: Array, semiring: Semiring) -> None:
        super().__init__(A, semiring)
        few = np.arange(0, self.n, max(1, self.n // FEW))
        arcs = A[few] != self.absent
        arcs[np.arange(len(few)), few] = False
        self.start = int(few[arcs.sum(axis=1).argmax()])  # the sampled vertex of highest out-degree

    def _some(self) -> np.ndarray:
        return np.delete(self.A[self.start], self.start)

    def _look(self, unit: Any) -> float:
        step, widest = max(1, CHUNK // self.n), 1.0
        whole = SCALARS[self.dtype].integer and unit > 0
        for start in range(0, self.n, step):
            part = self.A[start : start + step]
            rows = np.arange(len(part))
            units = part // unit if whole else np.divide(part, unit, dtype=np.float64)
            units[rows, start + rows] = 1
            farther = units > MOST
            fine = ((units if whole else np.rint(units)) * unit == part) | farther
            fine[rows, start + rows] = True
            if units.min() < 1 or not fine.all():
                return 0
            if farther.any():
                widest = math.inf if (farther & (part != self.absent)).any() else widest
                units = np.where(farther, 1, units)
            widest = max(widest, float(units.max()))
        return widest

    def _nearest(self, front: np.ndarray) -> np.ndarray:
        rows = self.A[front]
        best = rows.min(axis=0) if self.semiring.add.selects == "least" else rows.max(axis=0)
        return np.where(best == self.absent, math.inf, np.divide(best, self.unit, dtype=np.float64))

    def _pack(self, level: int, ops: Backend) -> tuple[BitMatrix, bool]:
        if level == 1:
            self._found = np.empty(self.A.shape, bool)
        np.equal(self.A, self.dtype.type(level * self.unit), out=self._found)
        if level == 1:
            np.fill_diagonal(self._found, True)
        packed = ops.upload(self._found)
        return packed, packed.any()

    def _begin(self, joined: BitMatrix) -> int:
        self._levels = self._found.astype(np.uint8)  # `_pack` left the first level here
        self._values = [self.one, self.unit]
        return int(joined.counts())

    def _write(self, more: BitMatrix, fewer: BitMatrix, length: Any, out: Array) -> int:
        self._levels += more.to_bool(self._found).view(np.uint8)
        self._values.append(length)
        return int(more.counts())

    def _end(self, out: Array) -> None:
        np.fill_diagonal(self._levels, len(self._values))
        table = np.array([self.absent, *self._values[:0:-1], self.one], self.dtype)
        step = max(1, CHUNK // self.n)
        for k in range(0, self.n, step):
            np.take(table, self._levels[k : k + step], out=out[k : k + step], mode="clip")
