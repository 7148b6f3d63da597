"""Closures of dense matrices with few distances, all multiples of a unit: Boolean products, level by level.

Level d holds the pairs at most d units apart. They are arcs of d units, or paths whose last arc has w units, from level
d − w: R_d = A_d ∨ ⋁_w R_(d−w) R_w over the arc weights w, as all buckets of Dial 1969 ("Algorithm 360: shortest-path
forest with topological ordering") for all sources at once. Bit products are a hundred times as fast as numeric ones. If
all arcs weigh the same, a level is one product.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..algebra.units import exact
from ..host.types import Array, Scalar

if TYPE_CHECKING:
    from ..kernels.contract import Backend
    from .bits import BitMatrix

#: Largest number of products, and so of units of the longest distance found.
MOST = 100


class Levels(ABC):
    """Matrix over lengths, none negative, with the unit of its lengths; rows are contiguous.

    start     source of the first count of levels
    followed  vertices of a level from which arcs are followed in `depth`
    widest    units of the heaviest arc; ∞ beyond MOST
    joined    number of arcs of one unit and of the diagonal; 0 if not counted
    """

    followed = 256

    def __init__(self, A: Array, semiring: Semiring) -> None:
        self.A, self.semiring, self.n, self.dtype = A, semiring, len(A), A.dtype
        self.absent = dtypes.zero(semiring, A.dtype)
        self.one = dtypes.one(semiring, A.dtype)
        self.widest: float = 0
        self.joined = self.start = 0

    @cached_property
    def unit(self) -> Scalar:
        """Unit that divides lengths of up to MOST units; None if there is none, or sums are rounded."""
        some = self._some()
        unit = common_unit(some[some != self.absent])
        if unit is None or not _fits(unit):
            return None
        self.widest = self._look(unit)
        return unit if self.widest == 1 or (self.widest > 1 and _exact(unit)) else None

    def depth(self, most: int) -> int:
        """Levels of a search from `start`, or `most` + 1 if more, or if completeness could not be detected.

        Arcs from at most `followed` vertices of each level are followed, so the count may be too high.
        """
        reached = np.full(self.n, math.inf)
        reached[self.start] = farthest = 0
        for level in range(most + 1):
            front = np.flatnonzero(reached == level)[: self.followed]
            if len(front):
                np.minimum(reached, level + self._nearest(front), out=reached)
                farthest = reached.max()
                if farthest <= level + 1:
                    break
            elif not ((reached > level) & (reached < math.inf)).any():
                break
        if farthest == math.inf and self.widest < math.inf:
            farthest = reached[reached < math.inf].max()
        return math.ceil(min(farthest, most + 1))

    def products(self, levels: int) -> int:
        return int(sum(min(level - 1, self.widest) for level in range(2, levels + 1)))

    def held(self, levels: int) -> int:
        """Peak bytes of the bits of that many levels plus one, and of a transpose."""
        return math.ceil((min(levels + 1, 2 * self.widest + 1) + 1) * self.n**2 / 8)

    def close(self, ops: Backend, out: Array, report: Callable[[int], object], most: int) -> bool:
        """out ← A* in at most min(most, MOST) products; on a GPU `out` may be A.

        ops: verbs on bits on the device; report(joined pairs so far). Returns whether all distances were found; if not,
        on a GPU `out` has the same closure as A, on a CPU it is not written.
        """
        assert self.unit is not None
        reached, weights = {1: self._pack(1, ops)[0]}, [1]
        joined, last, done = self._begin(reached[1]), 1, 0
        for level, length in enumerate(self._lengths(), 2):
            ways = [w for w in weights if w < level]
            done += len(ways)
            if done > min(most, MOST):
                return False
            more, any_arc = self._pack(level, ops) if level <= self.widest else (ops.empty((self.n, self.n)), False)
            if any_arc:
                weights.append(level)
            for w in ways:
                ops.gemm(more, reached[level - w], reached[w])
            before, joined = joined, self._write(more, reached[level - 1], length, out)
            last = level if joined > before else last
            report(joined)
            if joined == self.n**2 or level - last >= self.widest:
                self._end(out)
                return True
            reached[level] = more
            reached = {k: R for k, R in reached.items() if k > level - self.widest or k in weights}
        raise AssertionError  # unreachable: lengths are endless

    def _lengths(self) -> Iterator[Array]:
        """Lengths of 2, 3, … units, summed as walks are."""
        length = self.unit
        while True:
            length = self.dtype.type(self.semiring.mul.vectorized(length, self.unit))
            yield length

    @abstractmethod
    def _some(self) -> np.ndarray:
        """Sample of off-diagonal entries, on the host."""

    @abstractmethod
    def _look(self, unit: Scalar) -> float:
        """`widest`; 0 if a length is less than the unit, or no multiple of it while at most MOST units."""

    @abstractmethod
    def _nearest(self, front: np.ndarray) -> np.ndarray:
        """Least units of an arc from any of these vertices to each, float64; ∞ for none."""

    @abstractmethod
    def _pack(self, level: int, ops: Backend) -> tuple[BitMatrix, bool]:
        """Arcs of `level` units (of 1: with the diagonal), and whether there are any."""

    @abstractmethod
    def _begin(self, joined: BitMatrix) -> int:
        """Number of pairs of the first level."""

    @abstractmethod
    def _write(self, more: BitMatrix, fewer: BitMatrix, length: Scalar, out: Array) -> int:
        """Write `length` at pairs of `more` not in `fewer`; number of pairs of `more`."""

    @abstractmethod
    def _end(self, out: Array) -> None:
        """Finish after the last level."""


def common_unit(lengths: np.ndarray) -> Scalar:
    """Unit that divides all lengths up to MOST times the least, a scalar; None if the least is over MOST units."""
    sizes = abs(lengths)
    least = sizes.min() if len(sizes) else 0
    if not 0 < least < math.inf:
        return None
    if (lengths == lengths[0]).all():
        return lengths[0]
    units = exact(np.append(sizes[sizes <= MOST * float(least)][:MOST], least).astype(np.float64), 1)
    if units is None or units.min() > MOST:
        return None
    return lengths.dtype.type(least / units.min() * np.sign(lengths[0]))


def _fits(unit: Scalar) -> bool:
    """Whether the dtype holds MOST units; integers must also fit float64."""
    most = (MOST + 2) * abs(float(unit))
    record = dtypes.SCALARS[unit.dtype]
    return most < (float(np.finfo(unit.dtype).max) if record.floating else min(record.high, 2**53))


def _exact(unit: Scalar) -> bool:
    """Whether sums of MOST units are exact."""
    if not dtypes.SCALARS[unit.dtype].floating:
        return True
    numerator = abs(unit.item()).as_integer_ratio()[0]
    return (numerator // (numerator & -numerator)) * (MOST + 2) < 2 ** (np.finfo(unit.dtype).nmant + 1)
