"""LU factorisation on the GPU, right-looking, by blocks of 64; waits for the device once, at the end."""

from __future__ import annotations

import numpy as np

from ....algebra.catalog import plus_times
from ....host.types import Array
from .. import algebra, compile
from ..library import cupy
from . import matrix
from .launches import others
from .matrix import Matrix

#: Block size.
SIZE = 64
_FAILURE = np.dtype([("row", np.int32), ("pivot", np.float64)], align=True)


def factor(A: Array) -> tuple[int, float] | None:
    """A ← its factors L and U in place, C-contiguous; returns row and value of the first vanishing pivot, or None."""
    n, size = len(A), A.dtype.itemsize
    names, product = text.functions(A.dtype), others(plus_times, A.dtype).product
    failure = cupy.full(_FAILURE.itemsize, 0xFF, np.uint8)  # row −1
    scratch = cupy.empty((max(n - SIZE, 1), SIZE), A.dtype)
    X, negative = Matrix(*matrix.contiguous(A)), Matrix(*matrix.contiguous(scratch))
    for first in range(0, n, SIZE):
        count, rest = min(SIZE, n - first), n - first - SIZE
        rows, below = (
            matrix.rows(X, start, stop, size) for start, stop in ((first, first + count), (first + count, n))
        )
        D = matrix.columns(rows, first, first + count, size)
        names["factor"]((1,), (256,), (D.address, D.ld, np.int32(count), np.int32(first), failure.data.ptr))
        if rest <= 0:
            break
        R, C = matrix.columns(rows, first + SIZE, n, size), matrix.columns(below, first, first + SIZE, size)
        N = matrix.rows(negative, 0, rest, size)
        arguments = (D.address, R.address, C.address, D.ld, N.address, np.int32(rest))
        names["panels"]((2 * -(-rest // SIZE),), (SIZE,), arguments)
        product(matrix.columns(below, first + SIZE, n, size), N, R, accumulate=True)
    row, pivot = failure.get().view(_FAILURE)[0].item()
    return None if row < 0 else (row, pivot)


@compile.unit("lu.cu")
def text(dtype: np.dtype) -> str:
    return compile.source("lu.cu", f"using T = {algebra.spelled(dtype)[0]};\n")
