"""A closure D on a GPU after one arc (u, v) of its matrix changes; see changed.cu."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS, largest_finite
from ....algebra.records import Semiring
from ....host.compiling import about
from .. import algebra, compile, gpu
from ..binding import bind
from .predecessors import OPTIONS, THREADS, constants


def text(semiring: Semiring, dtype: np.dtype) -> str:
    return compile.source("changed.cu", algebra.text(semiring, dtype), constants(semiring, dtype))


@lru_cache(maxsize=256)
def _module(semiring: Semiring, dtype: np.dtype, device: int) -> Any:
    with about(f"{semiring.name} in {dtype}"):
        return compile.functions(text(semiring, dtype), options=OPTIONS, name="changed.cu")


class Arc:
    """An arc (u, v) of weight w in the closure D, C-contiguous, on the current device."""

    def __init__(self, semiring: Semiring, D: Any, u: int, v: int, w: Any) -> None:
        self.semiring, self.D, self.n, self.register = semiring, D, len(D), algebra.register(D.dtype)
        self.arc: tuple[Any, ...] = D.data.ptr, np.int32(self.n), np.int32(u), np.int32(v), self.register(w)

    def _launch(self, name: str, blocks: int, *arguments: Any) -> None:
        function = _module(self.semiring, self.D.dtype, gpu.current()).get_function(name)
        function((blocks,), (THREADS,), arguments)

    def gain(self) -> int:
        """Improve D; the number of entries that do, −1 (D as before) if a cycle beats `one`."""
        import cupy

        improved = cupy.zeros(1, np.int64)
        self._launch("gain", self.n, *self.arc, improved.data.ptr)
        return int(improved.get()[0])

    def affected(self, slack: float, floor: float) -> int:
        """The number of entries that may lead over the arc; equality as on the CPU."""
        import cupy

        self.arc = (*self.arc, self.register(slack), self.register(floor))
        found = cupy.zeros(2 * self.n, np.int32)
        self._launch("affected", self.n, *self.arc, found.data.ptr, found.data.ptr + 4 * self.n)
        counts, listed = found.get().reshape(2, self.n)
        self.rows, self.cols = np.flatnonzero(counts), np.flatnonzero(listed)
        return int(counts.sum())

    @property
    def workspace(self) -> int:
        """Bytes that `repair` needs."""
        r, m = len(self.rows), len(self.cols)
        few = min(r, m)
        return int((r + m + few) * (self.n + few) * self.D.dtype.itemsize)

    def repair(self, part: Callable[..., Any], threads: int) -> float | None:
        """Compute these anew; a bound of all sums of integers. None if there are too many rows and columns.

        By products and a closure, as on the CPU.
        """
        import cupy

        s, dtype = self.semiring, self.D.dtype
        self.lists = [cupy.asarray(x.astype(np.int32)) for x in (self.rows, self.cols)]
        rows, cols = (x.data.ptr for x in self.lists)
        r, m = len(self.rows), len(self.cols)
        self.of_rows, few, ops = m <= r, min(r, m), bind(s, dtype)
        if s.boolean or few > ops.pivot:
            return None
        shape = (r, self.n) if self.of_rows else (self.n, m)
        self.kept = cupy.empty(shape, dtype)
        lists = (rows, 0) if self.of_rows else (0, cols)
        self._launch("keep", shape[0], *self.arc, *lists, np.int32(shape[1]), self.kept.data.ptr)
        edges = part(None, self.cols) if self.of_rows else part(self.rows, None)
        among = cupy.ascontiguousarray(edges[self.lists[1]] if self.of_rows else edges[:, self.lists[0]])
        ops.closure(among)
        product, self.found = cupy.empty((r, m), dtype), cupy.empty((r, m), dtype)
        ops.matmul(product, *((self.kept, edges) if self.of_rows else (edges, self.kept)))
        ops.matmul(self.found, *((product, among) if self.of_rows else (among, product)))
        return sum(map(largest_finite, (self.kept, edges, among))) if SCALARS[dtype].integer else 0.0

    def longest(self) -> float:
        """Length of the longest new entry, or more."""
        return largest_finite(self.found)

    def settle(self) -> int:
        """Write the new values to D; 0."""
        lists = (x.data.ptr for x in self.lists)
        r, m = self.found.shape
        ends = np.int32(m), self.kept.data.ptr, np.int32(self.of_rows), self.found.data.ptr
        self._launch("settle", r, *self.arc[:2], *lists, *ends)
        return 0
