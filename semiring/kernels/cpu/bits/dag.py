"""Closure of an acyclic graph in packed bits: each row the union of its successors' rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..annotations import Array
from ..compile import kernel

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix

#: Rows per call, so that Ctrl-C is handled.
_ROWS = 256


def unite_rows(closed: BitMatrix, start: np.ndarray, heads: np.ndarray, begin: int = 0) -> None:
    """Row v ← row v ∪ the rows of heads[start[v] : start[v + 1]], for v in ascending order.

    `closed` holds rows and columns from `begin` on; heads are sorted in descending order.
    """
    for first in range(0, len(closed), _ROWS):
        _unite(closed.words, start, heads, begin, first, min(first + _ROWS, len(closed)))


@kernel
def _unite(words: Array, start: Array, heads: Array, begin: int, first: int, last: int) -> None:
    width = words.shape[1]
    for v in range(first, last):
        row = words[v]
        for e in range(start[begin + v], start[begin + v + 1]):
            u = heads[e] - begin
            if u < 0:
                break  # neither this head nor the lower ones have a bit in these columns
            word = u >> 6
            if word >= width or not (row[word] >> np.uint64(u & 63)) & np.uint64(1):
                below = words[u]
                for w in range(min(word + 1, width)):  # row u has no bit above u
                    row[w] |= below[w]


@kernel
def unite_targets(
    start: Array, heads: Array, targets: Array, columns: Array, rows: Array, first: int, words: Array, out: Array
) -> None:
    """Words first … of out[i] ← the bits `columns` of the `targets` reachable from vertex rows[i], itself included.

    heads[start[v] : start[v + 1]] are lower than v; `words` is workspace, a row per vertex and a column per word of
    `out`.
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
