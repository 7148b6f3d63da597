"""numba: the rows of an acyclic graph's closure, each united from those below it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import BitMatrix
from .compile import kernel

#: Rows between two looks at the clock and at Ctrl-C.
_ROWS = 256


def unite_rows(closed: BitMatrix, start: np.ndarray, heads: np.ndarray) -> None:
    """Row v ← row v ∪ the rows of heads[start[v] : start[v + 1]], for v in ascending order."""
    for first in range(0, len(closed), _ROWS):
        _unite(closed.words, start, heads, first, min(first + _ROWS, len(closed)))


@kernel
def _unite(words: Any, start: Any, heads: Any, first: int, last: int) -> None:
    for v in range(first, last):
        row = words[v]
        for e in range(start[v], start[v + 1]):
            u = heads[e]
            if not (row[u >> 6] >> np.uint64(u & 63)) & np.uint64(1):
                below = words[u]
                for w in range((u >> 6) + 1):  # row u has no bit above u
                    row[w] |= below[w]
