"""Closures over (log-sum-exp, +) by exponentials over (+, ×) in float64, in one launch, where exact."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....algebra.catalog import max_min, plus_times
from .. import gpu
from . import sums_text
from .launches import Launches, others
from .matrix import Matrix

#: Flags set by exponentials.cu.
INEXACT, ZEROS = 1, 2
_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def workspace(n: int) -> int:
    return 12 * n * n + others(plus_times, _DOUBLE).kernels.geometry(n).workspace(n)


def close(ops: Launches, A: Matrix) -> bool:
    """A ← A* if exponentials are exact, else A unchanged; returns whether they were. Waits for the device.

    Zeros of X* are verified by the closure of arcs.
    """
    n, kernels = A.rows, ops.kernels
    text, blocks = partial(sums_text.exponentials, ops.dtype), min(n, 4 * kernels.multiprocessors)

    def launch(entry: str, grid: int, *arguments: Any) -> None:
        kernels.function(entry, text, "exponentials.cu")((grid,), (256,), arguments)

    found, memory = gpu.memory(4, zeros=4), gpu.memory(8 * n * n)
    X, rows = Matrix(memory.ptr, n, n, n), np.int32(n)
    launch("enter", n, A.address, A.ld, X.address, rows, found.ptr)
    others(plus_times, _DOUBLE).close_in_one_launch(X)
    launch("judge", blocks, X.address, n * n, found.ptr)
    seen = gpu.number(found.ptr)
    if seen == ZEROS:
        arcs = gpu.memory(4 * n * n)
        launch("arcs", n, A.address, A.ld, arcs.ptr, rows)
        others(max_min, _SINGLE).close_in_one_launch(Matrix(arcs.ptr, n, n, n))
        launch("compare", n, X.address, arcs.ptr, rows, found.ptr)
        seen = gpu.number(found.ptr)
    if seen & INEXACT:
        return False
    launch("leave", n, A.address, A.ld, X.address, rows)
    return True
