"""Levels of GPU matrices whose distances are small multiples of a unit, by bit products; see levels.cu."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from ....dense.levels import MOST, Levels
from ....host.types import Array
from .. import compile
from ..library import cupy
from ..sparse.searches import Form
from . import words
from .product import Bits

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix
    from ...contract import Backend

#: Block size and rows per block of `nearest`, as in levels.cu; arcs sampled first.
THREADS, ROWS, FIRST = 256, 32, 1024


def form_of(semiring: Semiring, dtype: np.dtype) -> Form:
    return Form(semiring, dtype, np.dtype(np.int32) if dtype == np.int16 else dtype)


@compile.unit("levels.cu")
def text(form: Form) -> str:
    return compile.source("levels.cu", form.prelude())


class LevelsOnGpu(Levels):
    """A CuPy matrix, on the current device."""

    followed = 1024

    def __init__(self, A: Array, semiring: Semiring) -> None:
        super().__init__(A, semiring)
        self._matrix = A.data.ptr, np.int64(A.strides[0] // A.itemsize), np.int32(self.n)
        self._form = form_of(semiring, self.dtype)

    @cached_property
    def kernels(self) -> compile.Functions:
        """Compiled once a matrix looks suitable."""
        return text.functions(self._form)

    def _some(self) -> np.ndarray:
        return self.A[0, 1 : 1 + FIRST].get()

    def _look(self, unit: Any) -> float:
        self._first = words.zeros((self.n, self.n))
        self.joined, least, greatest, other = self._packed(words.bits_of(self._first, self.n), unit, unit, MOST)
        if other or not greatest:
            return 0
        least, greatest = self._units(
            np.array([~least & (1 << 64) - 1, greatest], np.uint64).astype(self._form.key), unit
        )
        return 0 if least < 1 else greatest if greatest <= MOST else math.inf

    def _packed(self, X: Bits, length: Any, unit: Any = 0, most: int = 0) -> list[int]:
        """X ← arcs of a length; returns their number.

        With `unit` X has the diagonal too, and ~ least key, greatest key, and whether there are other lengths follow.
        """
        seen, size = cupy.zeros(4, np.uint64), abs(float(unit))
        sizes = np.float64(size), np.float64(1 / size if size else 0), np.int32(most), self.absent
        arguments = *self._matrix, np.int32(X.words), X.address, X.ld, seen.data.ptr, self.dtype.type(length), *sizes
        self.kernels["pack_arcs"]((self.n,), (THREADS,), arguments)
        return seen.get().tolist()

    def _units(self, keys: np.ndarray, unit: Any) -> np.ndarray:
        lengths = keys.view(self._form.weights)
        units: np.ndarray = lengths / abs(float(unit))
        units[lengths == SCALARS[lengths.dtype].high] = math.inf
        return units

    def _nearest(self, front: np.ndarray) -> np.ndarray:
        rows, keys = cupy.asarray(front.astype(np.int32)), cupy.zeros(self.n, self._form.key)
        grid = -(-self.n // THREADS), -(-len(front) // ROWS)
        self.kernels["nearest"](
            grid, (THREADS,), (*self._matrix, rows.data.ptr, np.int32(len(front)), keys.data.ptr, self.absent)
        )
        return self._units(~keys.get(), self.unit)

    def _pack(self, level: int, ops: Backend) -> tuple[BitMatrix, bool]:
        if level == 1:
            first: BitMatrix = ops.empty((0, 0))._of(self._first, (self.n, self.n))
            return first, True
        arcs: BitMatrix = ops.empty((self.n, self.n))
        return arcs, self._packed(words.bits_of(arcs.words, self.n), level * self.unit)[0] > 0

    def _begin(self, joined: BitMatrix) -> int:
        self._written = False
        return self.joined

    def _write(self, more: BitMatrix, fewer: BitMatrix, length: Any, out: Array) -> int:
        count = cupy.zeros(1, np.uint64)
        m, f = (words.bits_of(x.words, self.n) for x in (more, fewer))
        ends = out.data.ptr, np.int64(out.strides[0] // out.itemsize), length
        # The first call also writes the other entries: those of arcs, unless there are none.
        others = np.int32(not self._written), *self._matrix[:2], np.int32(self.widest > 1)
        values = self.unit, self.one, self.absent, count.data.ptr
        self.kernels["write_level"](
            (self.n,),
            (THREADS,),
            (m.address, f.address, m.ld, np.int32(self.n), np.int32(m.words), *ends, *others, *values),
        )
        self._written = True
        return int(count.get()[0])

    def _end(self, out: Array) -> None:
        """No-op: all is written."""
