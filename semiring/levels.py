"""Closures of dense matrices whose distances are few multiples of a unit: Boolean products, level by level.

Level d are the pairs at most d units apart. An arc of d units leads there, or the last arc of a path of several, of w
units, from a pair of level d − w: R_d = A_d ∨ ⋁_w R_(d−w) R_w for the w that arcs weigh, as all buckets of Dial 1969
("Algorithm 360: shortest-path forest with topological ordering") for all sources together. A product of bits does a
hundred times as many pairs a second as one of numbers. Where all arcs weigh the same, a level is one product.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes
from .algebra import Semiring
from .types import Array
from .units import exact

if TYPE_CHECKING:
    from .bits import BitMatrix
    from .contract import Backend

#: Products after which a matrix is closed otherwise, and so the units of the longest distance that is found.
MOST = 100


class Levels(ABC):
    """A matrix, and of what unit its lengths are multiples.

    Parameters
    ----------
    A : array, shape (n, n)
        Its rows are contiguous.
    semiring : Semiring
        One over lengths, of which none is negative.

    Attributes
    ----------
    start : int
        The vertex from which levels are counted first.
    followed : int
        From how many vertices of a level arcs are followed to find how many levels there are.
    widest : int or float
        How many units an arc weighs at most, as far as they are counted; ∞ where that is more than MOST.
    joined : int
        Arcs of one unit, and the diagonal; 0 where they are not counted.
    """

    followed = 256

    def __init__(self, A: Array, semiring: Semiring) -> None:
        self.A, self.semiring, self.n, self.dtype = A, semiring, len(A), A.dtype
        self.absent = dtypes.zero(semiring, A.dtype)
        self.one = dtypes.one(semiring, A.dtype)
        self.widest: float = 0
        self.joined = self.start = 0

    @cached_property
    def unit(self) -> Any:
        """What lengths of up to MOST units are multiples of; None where there is none, or where sums are rounded."""
        some = self._some()
        unit = common_unit(some[some != self.absent])
        if unit is None or not _fits(unit):
            return None
        self.widest = self._look(unit)
        return unit if self.widest == 1 or (self.widest > 1 and _exact(unit)) else None

    def depth(self, most: int) -> int:
        """Levels of a search from `start`; one more than `most` if they are more, or nothing would tell that all are.

        Of each level, arcs from so many vertices are followed that there may seem to be more; see `followed`.
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
        """Products until so many levels are known."""
        return int(sum(min(level - 1, self.widest) for level in range(2, levels + 1)))

    def held(self, levels: int) -> int:
        """Bytes of the bits of so many levels and one more, as far as they are held at a time, and of a transpose."""
        return math.ceil((min(levels + 1, 2 * self.widest + 1) + 1) * self.n**2 / 8)

    def close(self, ops: Backend, out: Array, report: Callable[[int], object], most: int) -> bool:
        """out ← A*, in so many products at most, or MOST; on a GPU `out` may be A.

        Parameters
        ----------
        ops : Backend
            Of bits, on the device.
        report : callable
            Called with the number of pairs that are joined so far.

        Returns
        -------
        bool
            Whether these are all distances. Else there are more levels: then on a GPU `out` has the same closure as A,
            and on a CPU nothing is written.
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
        raise AssertionError  # lengths do not end

    def _lengths(self) -> Iterator[Any]:
        """Of two units, of three and so on, as walks sum up."""
        length = self.unit
        while True:
            length = self.dtype.type(self.semiring.mul.vectorized(length, self.unit))
            yield length

    @abstractmethod
    def _some(self) -> np.ndarray:
        """Some entries between two vertices, on the host."""

    @abstractmethod
    def _look(self, unit: Any) -> float:
        """How many units an arc weighs at most, see `widest`; 0 where one is less, or no multiple and no more."""

    @abstractmethod
    def _nearest(self, front: np.ndarray) -> np.ndarray:
        """The least units of an arc from one of these vertices to each, float64; ∞ where there is none."""

    @abstractmethod
    def _pack(self, level: int, ops: Backend) -> tuple[BitMatrix, bool]:
        """Arcs of so many units; of 1, with the diagonal. And whether there is one."""

    @abstractmethod
    def _begin(self, joined: BitMatrix) -> int:
        """How many pairs the first level has."""

    @abstractmethod
    def _write(self, more: BitMatrix, fewer: BitMatrix, length: Any, out: Array) -> int:
        """Pairs that are in one level and not in that before are so far apart; how many the level has."""

    @abstractmethod
    def _end(self, out: Array) -> None:
        """All levels are known."""


def common_unit(lengths: np.ndarray) -> Any:
    """What lengths of up to MOST times the least are multiples of, a scalar; None where the least is not one of few."""
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


def _fits(unit: Any) -> bool:
    """Whether the dtype holds so many units; where they are integers, float64 does, too."""
    most = (MOST + 2) * abs(float(unit))
    return most < (float(np.finfo(unit.dtype).max) if unit.dtype.kind == "f" else min(np.iinfo(unit.dtype).max, 2**53))


def _exact(unit: Any) -> bool:
    """Whether sums of so many units are exact."""
    if unit.dtype.kind != "f":
        return True
    numerator = abs(unit.item()).as_integer_ratio()[0]
    return (numerator // (numerator & -numerator)) * (MOST + 2) < 2 ** (np.finfo(unit.dtype).nmant + 1)
