"""Hop counts on the GPU of matrices whose arcs all weigh the same: Boolean products of packed bits; see levels.cu."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...algebra import Semiring
from ...types import Array
from .. import compile, gpu
from ..sparse.searches import Form
from . import words

#: Threads of a block, as in levels.cu; entries that are looked at before all.
THREADS, FIRST = 256, 1024
_NAMES = "pack_arcs", "unite_rows", "write_hops"


def form_of(semiring: Semiring, dtype: np.dtype) -> Form:
    """What keys are made of."""
    return Form(semiring, dtype, np.dtype(np.int32) if dtype == np.int16 else dtype)


def text(form: Form) -> str:
    """The translation unit."""
    return compile.source("levels.cu", form.prelude())


@lru_cache(maxsize=16)
def kernels(form: Form, device: int) -> dict[str, Any]:
    """The entry functions on a device."""
    module = compile.functions(text(form), name="levels.cu")
    return {name: module.get_function(name) for name in _NAMES}


class Levels:
    """A matrix on the current device.

    Parameters
    ----------
    A : CuPy array, shape (n, n)
        Its rows are contiguous.
    semiring : Semiring
        One over lengths, of which none is negative.
    """

    def __init__(self, A: Array, semiring: Semiring) -> None:
        self.A, self.semiring, self.n, self.dtype = A, semiring, len(A), A.dtype
        self.absent = dtypes.zero(semiring, A.dtype)
        self.one = dtypes.one(semiring, A.dtype)
        self._lda = np.int64(A.strides[0] // A.itemsize)

    @cached_property
    def kernels(self) -> dict[str, Any]:
        """Compiled once a matrix looks as if they were of use."""
        return kernels(form_of(self.semiring, self.dtype), gpu.current())

    def first_weight(self) -> Any:
        """What some arcs of the first vertex to others weigh; None where they differ, or where there are none."""
        first = self.A[0, 1 : 1 + FIRST].get()
        some = first[first != self.absent]
        return some[0] if some.size and (some == some[0]).all() else None

    def pack(self) -> tuple[Any, Array, int]:
        """What all arcs between two vertices weigh, or None; a bit for each arc and vertex; how many those are."""
        import cupy

        packed, found = words.zeros((self.n, self.n)), cupy.zeros(3, np.uint64)
        X, matrix = words.bits_of(packed, self.n), (self.A.data.ptr, self._lda, np.int32(self.n))
        arguments = *matrix, np.int32(X.words), X.address, X.ld, found.data.ptr, self.absent
        self.kernels["pack_arcs"]((self.n,), (THREADS,), arguments)
        least, most, bits = found.get().tolist()
        if ~least & (1 << 64) - 1 != most:
            return None, packed, bits
        form = form_of(self.semiring, self.dtype)
        length = np.array([most], form.key).view(form.weights)[0]
        return self.dtype.type(-length if form.greatest else length), packed, bits

    def depth(self, arcs: Array, vertex: int, most: int) -> int:
        """Levels of a search from a vertex, if they are no more than `most`; else one more."""
        import cupy

        X = words.bits_of(arcs, self.n)
        front = np.zeros(X.words, np.uint64)
        front[vertex // 64] = 1 << vertex % 64
        seen, level = front, 0
        while front.any() and level <= most:
            ends = cupy.asarray(front), cupy.zeros(X.words, np.uint64)
            grid = -(-X.words // THREADS), -(-self.n // THREADS)
            arguments = X.address, X.ld, np.int32(self.n), np.int32(X.words), *(x.data.ptr for x in ends)
            self.kernels["unite_rows"](grid, (THREADS,), arguments)
            front = ends[1].get() & ~seen
            seen = seen | front
            level += bool(front.any())
        return level

    def close(
        self, arcs: Array, weight: Any, out: Array, most: int, report: Callable[[int], object] | None = None
    ) -> bool:
        """out ← what the fewest hops between two vertices weigh; `out` may be A, whose `arcs` are packed.

        Returns
        -------
        bool
            Whether these are all; else there are more than `most` levels, and `out` has the same closure as A.
        """
        import cupy

        n, mul = self.n, self.semiring.mul.ufunc
        assert mul is not None
        products, reached, hops = words.Products(), arcs, weight
        total = n * n
        for level in range(2, most + 1):
            more = words.zeros((n, n))
            C, A, B = (words.bits_of(x, n) for x in (more, reached, arcs))
            products.accumulate(C, A, B)
            hops = mul(hops, weight)
            counts = cupy.zeros(2, np.uint64)
            sizes = np.int64(C.ld), np.int32(n), np.int32(C.words)
            ends = out.data.ptr, np.int64(out.strides[0] // out.itemsize), self.dtype.type(hops)
            values = np.int32(level == 2), weight, self.one, self.absent
            self.kernels["write_hops"](
                (n,), (THREADS,), (C.address, A.address, *sizes, *ends, *values, counts.data.ptr)
            )
            added, joined = counts.get().tolist()
            if report:
                report(joined)
            if not added or joined == total:
                return True
            reached = more
        return False
