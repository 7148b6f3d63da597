"""Hop distances, where every edge weighs the same: breadth-first searches from hundreds of vertices at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes, sparse
from semiring.algebra import Semiring

from .base import Engine

if TYPE_CHECKING:
    from semiring.sparse import Hops


class Searched(Engine):
    """Rows of the table of distances, found anew whenever they are asked for.

    Parameters
    ----------
    arcs : (tails, heads, weights)
        All of one weight, in the dtype of the distances, which holds the longest path.
    n : int
    semiring : Semiring
        One over lengths, of which ⊕ keeps the least.
    threads : int, optional
    """

    name = "hops"

    def __init__(
        self,
        arcs: tuple[np.ndarray, np.ndarray, np.ndarray],
        n: int,
        semiring: Semiring,
        threads: int | None = None,
    ) -> None:
        self.arcs, self.semiring, self.threads = arcs, semiring, threads
        self.shape, self.dtype = (n, n), arcs[2].dtype
        self._unit = arcs[2][0] if len(arcs[2]) else self.dtype.type(1)
        self._zero = dtypes.zero(semiring, self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_forward", "_backward")}

    @cached_property
    def _forward(self) -> Hops:
        return sparse.Hops(self.arcs[:2], self.shape[0], dtype=self.dtype, threads=self.threads)

    @cached_property
    def _backward(self) -> Hops:
        return sparse.Hops(self.arcs[1::-1], self.shape[0], dtype=self.dtype, threads=self.threads)

    @cached_property
    def levels(self) -> int:
        """Hops to the vertex farthest from one of most edges: about half of the greatest number of all."""
        if not len(self.arcs[0]):
            return 0
        row = self._forward.row(int(np.bincount(self.arcs[0]).argmax()))
        return int(row[row != self._zero].max())

    def batch(self, lines: int) -> int:
        """Vertices that are searched from at a time, of so many."""
        return self._forward.batch(lines)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Searches from all of a block."""
        for positions, D in self._forward.rows(wanted, block=block):
            yield positions, self._weighed(D)

    def column(self, j: int) -> np.ndarray:
        """A search backwards."""
        return self._weighed(self._backward.row(j))

    def _weighed(self, D: np.ndarray) -> np.ndarray:
        if self._unit == 1:
            return D
        return np.multiply(D, self._unit, out=D, where=D != self._zero)
