"""Entries of a closure that may lead over an arc that gets worse, computed anew; subclasses have a device's kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..algebra.dtypes import largest_finite
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


class Found(NamedTuple):
    """Entries of a matrix other than zero.

    longest, lengths : of integers the largest |entry| or more, and whether none is below 0
    entries, rows, cols : on a CPU their number, and the rows and columns that have any, as masks
    """

    longest: float
    lengths: bool
    entries: int = 0
    rows: np.ndarray = np.empty(0, bool)
    cols: np.ndarray = np.empty(0, bool)


class Seen:
    """A matrix X with the facts that a pass over its entries finds, evaluated on first use."""

    def __init__(self, X: Array, look: Callable[[], Found]) -> None:
        self.X, self._look = X, look

    @cached_property
    def found(self) -> Found:
        return self._look()


class Repair(ABC):
    """An arc (u, v) of weight w in the closure D, C-contiguous.

    `affected` lists the `rows` and `cols` of entries that may lead over it; `keep` counts those `found`, `repair` those
    `changed`, and tells whether all that it adds are `lengths` ≥ 0. Of them `block` are computed together; `pivot`
    vertices may be in both. `verbs` are for any numbers, and for lengths; `beside` the bytes that products take, per
    entry of edges.
    """

    D: Array
    n: int
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
        """The matrix X as a `Seen`."""

    @abstractmethod
    def times(self, A: Any, B: Any) -> Any:
        """The product A ⊗ B of two of these, as a `Seen`."""

    @abstractmethod
    def there(self, lines: np.ndarray) -> Array:
        """Numbers of lines on the device of D, moved there once."""

    @abstractmethod
    def occupied(self, seen: Any, axis: int) -> np.ndarray:
        """Numbers of the lines across an axis of a `Seen` that have entries; all of them where that is not known."""

    @abstractmethod
    def settle(self) -> int:
        """Write the new values to D; 0."""

    @cached_property
    def both(self) -> np.ndarray:
        """Vertices in `rows` and `cols`."""
        return self.cols[self._among(self.rows)[self.cols]]

    def _among(self, lines: np.ndarray) -> np.ndarray:
        """Whether each vertex is among the lines."""
        found = np.zeros(self.n, bool)
        found[lines] = True
        return found

    @property
    def workspace(self) -> int:
        """Bytes that `repair` and `settle` need: edges, distances of the smaller side, new entries."""
        few, many = sorted((len(self.rows), len(self.cols)))
        entries = few * (2 * self.n + 2 * few + many) + 3 * self.n * min(many, self.block)
        return int(self.D.itemsize * entries + self.beside * few * self.n)

    def repair(self, part: Callable[..., Array]) -> float | None:
        """Compute these anew; a bound of all sums of integers. None if more than `pivot` vertices are in rows and cols.

        part(lines, there, axis): those lines of the matrix, contiguous. Let k be the last vertex of a best walk from i
        to j whose entry (i, k) stays: all behind it are in `cols`, so that D'[i,j] = D[i,k] ⊗ A[k,·] ⊗ K where K has
        the distances among `cols`, which stay but for rows that are in `rows`. With fewer rows than columns, the same
        from the other end.
        """
        by_rows = len(self.cols) <= len(self.rows)
        lines, others = (self.rows, self.cols) if by_rows else (self.cols, self.rows)
        if len(self.both) > self.pivot:
            return None
        stay = others[~self._among(self.both)[others]]
        others = np.concatenate((stay, self.both))
        along, across = int(by_rows), int(not by_rows)
        edges = part(others, self.there(others), along)
        K = self.keep(others, others, edges.take(self.there(others), axis=across))
        _close(self.verbs[0], K, len(stay), by_rows)
        steps = self.look(edges), self.look(K)
        near = self.occupied(steps[0], along)
        if len(near) < self.n:
            steps = self.look(edges.take(near, axis=across)), steps[1]
        longest, self.blocks, self.changed, self.lengths = 0.0, [], 0, True
        block = int(min(self.block, len(lines)))
        for first in range(0, len(lines), block):
            # A slice of all would be another array, moved to the device again.
            chosen = lines[first : first + block] if block < len(lines) else lines
            rows, cols = (chosen, near) if by_rows else (near, chosen)
            X = self.keep(rows, cols, np.full_like(self.D, self.zero, shape=(len(rows), len(cols))))
            seen = self.look(X)
            longest, self.lengths = max(longest, seen.found.longest), self.lengths and seen.found.lengths
            for step in steps:
                seen = self.times(seen, step) if by_rows else self.times(step, seen)
            rows, cols = (chosen, others) if by_rows else (others, chosen)
            self.blocks.append((rows, cols, self.keep(rows, cols, seen.X)))
            self.changed += self.found
        self.lengths &= all(step.found.lengths for step in steps)
        return float(longest + sum(step.found.longest for step in steps))

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
