"""numba: the rows of an acyclic graph's closure, each united from those below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile import kernel

if TYPE_CHECKING:
    from ...bits import BitMatrix

#: Rows between two looks at the clock and at Ctrl-C.
_ROWS = 256


def unite_rows(closed: BitMatrix, start: np.ndarray, heads: np.ndarray, begin: int = 0) -> None:
    """Row v ← row v ∪ the rows of heads[start[v] : start[v + 1]], for v in ascending order.

    `closed` has the rows and the columns from `begin` on, all of them or a subset; heads are sorted, higher ones first.
    """
    for first in range(0, len(closed), _ROWS):
        _unite(closed.words, start, heads, begin, first, min(first + _ROWS, len(closed)))


@kernel
def _unite(words: Any, start: Any, heads: Any, begin: int, first: int, last: int) -> None:
    width = words.shape[1]
    for v in range(first, last):
        row = words[v]
        for e in range(start[begin + v], start[begin + v + 1]):
            u = heads[e] - begin
            if u < 0:
                break  # that row, and those of the heads after it, have no bit in these columns
            word = u >> 6
            if word >= width or not (row[word] >> np.uint64(u & 63)) & np.uint64(1):
                below = words[u]
                for w in range(min(word + 1, width)):  # row u has no bit above u
                    row[w] |= below[w]


@kernel
def unite_targets(
    start: Any, heads: Any, targets: Any, columns: Any, rows: Any, first: int, words: Any, out: Any
) -> None:
    """Words first … of out[i] ← the bits `columns` of the `targets` that vertex rows[i] reaches, itself included.

    heads[start[v] : start[v + 1]] are lower than v; `words` has a row a vertex and as many columns as are wanted, and
    targets and columns are those within them.
    """
    width = words.shape[1]
    for v in range(len(words)):
        for w in range(width):
            words[v, w] = 0
    for k in range(len(targets)):
        word = (columns[k] >> 6) - first
        words[targets[k], word] |= np.uint64(1) << np.uint64(columns[k] & 63)
    for v in range(len(words)):
        for e in range(start[v], start[v + 1]):
            u = heads[e]
            for w in range(width):
                words[v, w] |= words[u, w]
    for i in range(len(rows)):
        for w in range(width):
            out[i, first + w] = words[rows[i], w]
