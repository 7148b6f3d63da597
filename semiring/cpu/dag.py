"""numba: the rows of an acyclic graph's closure, and of the graph it condenses, each united from those below it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import BitMatrix
from .compile import kernel
from .pool import run
from .processors import default_threads

#: Rows between two looks at the clock and at Ctrl-C.
_ROWS = 256
#: Words of a row that a thread writes at least.
_STRIP = 64


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


def expand(
    expanded: BitMatrix,
    closed: BitMatrix,
    members: np.ndarray,
    bounds: np.ndarray,
    component: np.ndarray,
    start: np.ndarray,
    heads: np.ndarray,
) -> None:
    """expanded[i, j] ← closed[component[i], component[j]], all bits of `expanded` being 0.

    members[bounds[v] : bounds[v + 1]] are the vertices of component v; its first one's row is united, then copied.
    """
    needed, words, threads = np.zeros(len(heads), np.bool_), expanded.words, default_threads()
    row = np.zeros(closed.words.shape[1], np.uint64)
    for v in range(0, len(closed), _ROWS):
        _mark(closed.words, row, start, heads, needed, v, min(v + _ROWS, len(closed)))
    start, heads = np.concatenate([[0], np.cumsum(needed)])[start], heads[needed]
    width, first = words.shape[1], members[bounds[:-1]]

    def united(worker: int, left: int, right: int) -> None:
        for v in range(0, len(first), _ROWS):
            _unite_members(words, members, bounds, start, heads, left, right, v, min(v + _ROWS, len(first)))

    def copied(worker: int, i: int) -> None:
        _copy(words, first, component, i, min(i + _ROWS, len(words)))

    def touched(worker: int, i: int) -> None:
        _touch(words, i, min(i + _ROWS, len(words)))

    # The system clears a page for whoever asks first, which takes half of the time: each thread asks for other ones.
    run(touched, [(i,) for i in range(0, len(words), _ROWS)], threads if width > _STRIP else 1)
    # Words of different columns do not depend on each other.
    strip = max(_STRIP, -(-width // threads))
    run(united, [(left, min(left + strip, width)) for left in range(0, width, strip)], threads)
    run(copied, [(i,) for i in range(0, len(words), _ROWS)], threads if width > _STRIP else 1)


@kernel
def _mark(closed: Any, row: Any, start: Any, heads: Any, needed: Any, first: int, last: int) -> None:
    """Which arcs lead to what no arc before them of the same tail reaches."""
    for v in range(first, last):
        alone = start[v + 1] - start[v] == 1
        if not alone:
            row[:] = 0
        for e in range(start[v], start[v + 1]):
            u = heads[e]
            needed[e] = alone or not (row[u >> 6] >> np.uint64(u & 63)) & np.uint64(1)
            if needed[e] and not alone:
                below = closed[u]
                for w in range((u >> 6) + 1):
                    row[w] |= below[w]


@kernel
def _unite_members(
    words: Any, members: Any, bounds: Any, start: Any, heads: Any, left: int, right: int, first: int, last: int
) -> None:
    """Words left … right − 1 of the rows of components first … last − 1."""
    for v in range(first, last):
        row = words[members[bounds[v]]]
        for e in range(start[v], start[v + 1]):
            below = words[members[bounds[heads[e]]]]
            for w in range(left, right):
                row[w] |= below[w]
        for k in range(bounds[v], bounds[v + 1]):
            j = members[k]
            if left <= j >> 6 < right:
                row[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@kernel
def _touch(words: Any, first: int, last: int) -> None:
    """Write a zero into every row."""
    for i in range(first, last):
        words[i, 0] = 0


@kernel
def _copy(words: Any, source: Any, component: Any, first: int, last: int) -> None:
    """Row i ← row source[component[i]]."""
    for i in range(first, last):
        k = source[component[i]]
        if k != i:
            row, other = words[k], words[i]
            for w in range(len(row)):
                other[w] = row[w]
