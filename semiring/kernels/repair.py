"""Entries of a closure that may lead over an arc that gets worse, computed anew; subclasses have a device's kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algebra.dtypes import largest_finite
from ..host.devices import module
from ..host.types import Array, Scalar
from .contract import Backend


class Around(NamedTuple):
    """An arc (u, v) in a closure D of a matrix A.

    closed : whether D has `one` on its diagonal
    nulls : whether row u of A has zeros, outside its diagonal, that would improve D
    least, greatest : of D[:,u] and D[v]
    distance, weight : D[u,v] and A[u,v]
    """

    closed: bool
    nulls: bool
    least: Scalar
    greatest: Scalar
    distance: Scalar
    weight: Scalar


class Repair(ABC):
    """An arc (u, v) of weight w in the closure D, C-contiguous.

    `affected` lists the `rows` and `cols` of entries that may lead over it; `keep` counts those `found`, `repair` those
    `changed`, and tells whether all that it adds are `lengths` ≥ 0. Of them `block` are computed together; `pivot`
    vertices may be in both. `verbs` are for any numbers, and for lengths; `beside` the bytes that products take, per
    entry of edges.
    """

    D: Array
    zero: Any
    rows: np.ndarray
    cols: np.ndarray
    verbs: tuple[Backend, Backend]
    block: float
    pivot: float
    found: int
    changed: int
    lengths: bool
    beside: float = 0

    @abstractmethod
    def keep(self, rows: np.ndarray, cols: np.ndarray, X: Array) -> Array:
        """X ← D[rows,cols], but for entries that may lead over the arc."""

    @abstractmethod
    def look(self, X: Array) -> Any:
        """A record of the matrix X: of integers `longest`, the largest |entry| or more, and if they are `lengths`."""

    @abstractmethod
    def times(self, A: Any, B: Any) -> Array:
        """A ⊗ B of two such records."""

    @abstractmethod
    def settle(self) -> int:
        """Write the new values to D; 0."""

    @cached_property
    def both(self) -> np.ndarray:
        """Vertices in `rows` and `cols`."""
        return np.intersect1d(self.rows, self.cols, assume_unique=True)

    @property
    def workspace(self) -> int:
        """Bytes that `repair` and `settle` need: edges, distances of the smaller side, new entries."""
        n, (few, many) = len(self.D), sorted((len(self.rows), len(self.cols)))
        entries = few * (2 * n + 2 * few + many) + 3 * n * min(many, self.block)
        return int(self.D.itemsize * entries + self.beside * few * n)

    def repair(self, part: Callable[..., Array]) -> float | None:
        """Compute these anew; a bound of all sums of integers. None if more than `pivot` vertices are in rows and cols.

        part(rows, cols): those rows and columns of the matrix, contiguous, None for all. Let k be the last vertex of a
        best walk from i to j whose entry (i, k) stays: all behind it are in `cols`, so that D'[i,j] = D[i,k] ⊗ A[k,·] ⊗
        K where K has the distances among `cols`, which stay but for rows that are in `rows`. With fewer rows than
        columns, the same from the other end.
        """
        n, by_rows = len(self.D), len(self.cols) <= len(self.rows)
        lines, others = (self.rows, self.cols) if by_rows else (self.cols, self.rows)
        if len(self.both) > self.pivot:
            return None
        stay = np.setdiff1d(others, self.both, assume_unique=True)
        others = np.r_[stay, self.both]
        edges = part(None, others) if by_rows else part(others, None)
        K = edges.take(module(self.D).asarray(others), axis=int(not by_rows))
        _close(self.verbs[0], self.keep(others, others, K), len(stay), by_rows)
        near = np.flatnonzero(self.occupied(edges, int(by_rows)))
        if len(near) < n:
            edges = edges.take(near, axis=int(not by_rows))
        steps, sums, self.blocks, self.changed = (self.look(edges), self.look(K)), 0.0, [], 0
        block, self.lengths = int(min(self.block, len(lines))), all(step.lengths for step in steps)
        for first in range(0, len(lines), block):
            chosen = lines[first : first + block]
            rows, cols = (chosen, near) if by_rows else (near, chosen)
            X = self.keep(rows, cols, np.full_like(self.D, self.zero, shape=(len(rows), len(cols))))
            for step in steps:
                seen = self.look(X)
                sums, self.lengths = max(sums, seen.longest), self.lengths and seen.lengths
                X = self.times(seen, step) if by_rows else self.times(step, seen)
            rows, cols = (chosen, others) if by_rows else (others, chosen)
            self.blocks.append((rows, cols, self.keep(rows, cols, X)))
            self.changed += self.found
        return float(sums + sum(step.longest for step in steps))

    def occupied(self, X: Array, axis: int) -> np.ndarray:
        """Whether a line across an axis of X may have entries."""
        return np.ones(X.shape[1 - axis], bool)

    def longest(self) -> float:
        """Length of the longest new entry, or more."""
        return max(largest_finite(found) for *_, found in self.blocks)


def _close(verbs: Backend, K: Array, exact: int, by_rows: bool) -> None:
    """K ← K*, whose first `exact` rows, or columns unless `by_rows`, are those of the closure already."""
    if exact == len(K):
        return
    if by_rows:
        rest = K[exact:]
        verbs.gemm(rest, rest[:, :exact].copy(), K[:exact])
        corner = rest[:, exact:].copy()
        verbs.closure(corner)
        verbs.left_mul(corner, rest)
    else:
        rest = K[:, exact:]
        verbs.gemm(rest, K[:, :exact], rest[:exact].copy())
        corner = rest[exact:].copy()
        verbs.closure(corner)
        verbs.right_mul(rest, corner)
