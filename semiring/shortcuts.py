"""What closes some dense matrices on a GPU in less than n³: few arcs that matter, or arcs that all weigh the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .algebra import Semiring
from .types import Array

if TYPE_CHECKING:
    from .cuda.bits.levels import Levels
    from .cuda.sparse.thinning import Listed


def best_arcs(A: Array, semiring: Semiring, count: int, rows: np.ndarray | None = None) -> Listed:
    """The best arcs of each vertex of a CuPy matrix, or of some; see `semiring.cuda.sparse.thinning.Listed`."""
    from .cuda.sparse.thinning import Listed

    return Listed(A, semiring, count, rows)


def levels(A: Array, semiring: Semiring) -> Levels:
    """A CuPy matrix whose hops are counted by products of bits; see `semiring.cuda.bits.levels.Levels`."""
    from .cuda.bits.levels import Levels

    return Levels(A, semiring)
