"""A closure D on a GPU after one arc (u, v) of its matrix changes; see changed.cu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS, zero
from ....algebra.records import Semiring
from ...repair import Around, Found, Repair, Seen
from .. import algebra, compile, gpu
from ..binding import bind
from ..library import cupy
from .predecessors import OPTIONS, THREADS, constants

#: Most blocks of a look at a matrix.
WIDE = 2048
#: Threads of the only block of a look at two lines.
WHOLE = 1024


@compile.unit("changed.cu", options=OPTIONS)
def text(semiring: Semiring, dtype: np.dtype) -> str:
    return compile.source("changed.cu", algebra.text(semiring, dtype), constants(semiring, dtype))


def around(semiring: Semiring, D: Any, A: Any, u: int, v: int) -> Around:
    size = D.dtype.itemsize
    found, row = gpu.memory(4 * size + 2, zeros=2), cupy.ascontiguousarray(A[u])
    arguments = D.data.ptr, row.data.ptr, np.int32(len(D)), np.int32(u), np.int32(v), found.ptr
    text.functions(semiring, D.dtype)["survey"]((1,), (WHOLE,), arguments)
    numbers = gpu.fetch(found.ptr, 4 * size + 2, np.uint8)
    opened, nulls = numbers[4 * size :].tolist()
    return Around(not opened, bool(nulls), *numbers[: 4 * size].view(D.dtype).tolist())


class Arc(Repair):
    """Kernels on CuPy matrices, on the current device."""

    def __init__(self, semiring: Semiring, D: Any, u: int, v: int, w: Any, threads: int) -> None:
        self.semiring, self.D, self.n, self.register = semiring, D, len(D), algebra.register(D.dtype)
        self.arc: tuple[Any, ...] = D.data.ptr, np.int32(self.n), np.int32(u), np.int32(v), self.register(w)
        lengths = semiring.zero != -math.inf  # as on the CPU
        self.verbs = bind(semiring, D.dtype), bind(semiring, D.dtype, nonnegative=lengths)
        self.zero, self.block = zero(semiring, D.dtype), math.inf
        self.pivot = -1 if semiring.boolean else self.verbs[0].pivot
        self._there: dict[int, tuple[Any, np.ndarray]] = {}

    def _launch(self, name: str, blocks: int, *arguments: Any) -> None:
        text.functions(self.semiring, self.D.dtype)[name]((blocks,), (THREADS,), arguments)

    def gain(self, fit: bool) -> int:
        """Improve D; the number of entries that do, −1 (D as before) if a cycle beats `one`."""
        improved = gpu.memory(8, zeros=8)
        self._launch("gain", self.n, *self.arc, improved.ptr)
        return int(gpu.fetch(improved.ptr, 1, np.int64)[0])

    def affected(self, slack: float, floor: float) -> bool:
        """Whether entries may lead over the arc; equality as on the CPU."""
        self.arc = (*self.arc, self.register(slack), self.register(floor))
        self.listed = cupy.zeros((2, self.n), np.int32)
        self._launch("affected", self.n, *self.arc, self.listed.data.ptr, self.listed[1].data.ptr)
        counts, listed = self.listed.get()
        self.rows, self.cols = np.flatnonzero(counts), np.flatnonzero(listed)
        self.found = int(counts.sum())
        return self.found > 0

    def there(self, lines: np.ndarray) -> Any:
        if id(lines) not in self._there:
            self._there[id(lines)] = cupy.asarray(lines.astype(np.int32)), lines
        return self._there[id(lines)][0]

    def occupied(self, seen: Seen, axis: int) -> np.ndarray:
        every = np.arange(self.n)
        self._there[id(every)] = cupy.arange(self.n, dtype=np.int32), every
        return every

    def keep(self, rows: np.ndarray, cols: np.ndarray, X: Any) -> Any:
        ends = self.there(rows).data.ptr, self.there(cols).data.ptr, np.int32(len(cols)), X.data.ptr
        self._launch("keep", len(rows), *self.arc, self.listed.data.ptr, *ends)
        return X

    def look(self, X: Any) -> Seen:
        if not SCALARS[X.dtype].integer:
            return Seen(X, lambda: Found(0.0, False))
        memory = gpu.memory(16, zeros=16)
        self._launch("look", min(len(X), WIDE), X.data.ptr, np.int64(X.size), memory.ptr)

        def found() -> Found:
            longest, below = gpu.fetch(memory.ptr, 2, np.uint64).tolist()
            return Found(float(longest), not below)

        return Seen(X, found)

    def times(self, A: Seen, B: Seen) -> Seen:
        C, lengths = cupy.empty((len(A.X), B.X.shape[1]), A.X.dtype), A.found.lengths and B.found.lengths
        self.verbs[lengths].matmul(C, A.X, B.X)
        return Seen(C, lambda: Found(A.found.longest + B.found.longest, lengths))

    def settle(self) -> int:
        for rows, cols, X in self.blocks:
            ends = self.there(rows).data.ptr, self.there(cols).data.ptr, np.int32(len(cols)), X.data.ptr
            self._launch("settle", len(rows), *self.arc[:2], *ends)
        return 0
