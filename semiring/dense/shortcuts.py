"""Closures of some dense matrices in less than n³: few relevant arcs, few distances, a spanning tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..algebra.records import Semiring
from ..host.types import Array

if TYPE_CHECKING:
    from ..kernels.cuda.sparse.thinning import Listed
    from .levels import Levels


def best_arcs(A: Array, semiring: Semiring, count: int, rows: np.ndarray | None = None) -> Listed:
    """Best arcs of each vertex, or of `rows`, of a CuPy matrix; see `semiring.kernels.cuda.sparse.thinning.Listed`."""
    from ..kernels.cuda.sparse.thinning import Listed

    return Listed(A, semiring, count, rows)


def bottlenecks(A: Array, semiring: Semiring, out: Array, threads: int) -> None:
    """out ← A* of a symmetric matrix over (max, min) or (min, max); see `semiring.kernels.cpu.dense.spanning.close`."""
    from ..kernels.cpu.dense.spanning import close

    close(A, semiring, out, threads)


def levels(A: Array, semiring: Semiring) -> Levels:
    """`Levels` of a matrix, for closure by bit products if distances are few; see `semiring.dense.levels`."""
    if isinstance(A, np.ndarray):
        from ..kernels.cpu.bits.levels import LevelsOnHost

        return LevelsOnHost(A, semiring)
    from ..kernels.cuda.bits.levels import LevelsOnGpu

    return LevelsOnGpu(A, semiring)
