"""Transitive closures in packed bits: of an acyclic graph, and of a graph expanded from that of its condensation.

In an acyclic graph each row is the union of its successors' rows. Of a condensation, if few bits distinguish a row from
that of a large component, it is that row plus those bits, written once: fresh memory costs mostly page clearing, and a
page just cleared is in cache. Else rows are united along arcs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....algebra.ranges import steps
from ..compile import kernel
from ..instructions import Array
from ..pool import run
from ..processors import default_threads
from .rows import count_word

if TYPE_CHECKING:
    from ....dense.bits import BitMatrix

#: Rows, or components, per call, so that Ctrl-C is handled.
_ROWS = 256
#: Bytes of rows per task: many pages, so that threads seldom share one.
_BYTES = 1 << 24
#: Least words of a row per thread in unions.
_STRIP = 64
#: Maximum number of large components, and the least size of one.
_LARGEST, _MEMBERS = 16, 64
#: Cost of setting a bit in words united; capacity for extra components per vertex.
_BIT, _EXTRA = 8, 4


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


def expand_from_large(
    expanded: BitMatrix, closed: BitMatrix, members: np.ndarray, bounds: np.ndarray, component: np.ndarray
) -> bool:
    """expanded[i, j] ← closed[component[i], component[j]], each row the row of a large component plus extra bits.

    members[bounds[v] : bounds[v + 1]] are the vertices of component v. Returns False, nothing written, if the extra
    bits were too many.
    """
    words, sizes = expanded.words, np.diff(bounds)
    large = _large(closed, sizes)
    # Rows of the large components, expanded and condensed; the last row is empty, for components that reach none.
    reached = np.concatenate([closed.words[large], np.zeros((1, closed.words.shape[1]), np.uint64)])
    rows = np.zeros((len(reached), words.shape[1]), np.uint64)
    near, begin = np.empty(len(closed), np.int64), np.zeros(len(closed) + 1, np.int64)
    extra, most = np.empty(_EXTRA * len(words), np.int32), words.size // _BIT
    for v in range(0, len(closed), _ROWS):
        last = min(v + _ROWS, len(closed))
        most -= _choose(closed.words, sizes, large, reached, near, begin, extra, v, last, most)
        if most < 0:
            return False
    for row, v in zip(rows, large, strict=False):
        _set(row, np.flatnonzero(closed.rows(int(v))), members, bounds)

    def write(worker: int, first: int, last: int) -> None:
        _write(words, rows, near, begin, extra, members, bounds, component, first, last)

    run(write, _parts(words), default_threads())
    return True


def _large(closed: BitMatrix, sizes: np.ndarray) -> np.ndarray:
    large = np.argsort(-sizes, kind="stable")[:_LARGEST]
    large = large[sizes[large] >= _MEMBERS]
    reach = closed.rows(large) @ sizes
    return large[np.argsort(-reach, kind="stable")]


def unite(
    expanded: BitMatrix,
    closed: BitMatrix,
    members: np.ndarray,
    bounds: np.ndarray,
    component: np.ndarray,
    start: np.ndarray,
    heads: np.ndarray,
) -> None:
    """As `expand_from_large`, from zeros: each component's first row is united along arcs, then copied to the others.

    heads[start[v] : start[v + 1]] are the heads of v's arcs.
    """
    words = expanded.words
    needed, row, threads = np.zeros(len(heads), np.bool_), np.zeros(closed.words.shape[1], np.uint64), default_threads()
    for v in range(0, len(closed), _ROWS):
        _mark(closed.words, row, start, heads, needed, v, min(v + _ROWS, len(closed)))
    start, heads = np.concatenate([[0], np.cumsum(needed)])[start], heads[needed]
    width, source = words.shape[1], members[bounds[:-1]]

    def touched(worker: int, first: int, last: int) -> None:
        _touch(words, first, last)

    def united(worker: int, left: int, right: int) -> None:
        for v in range(0, len(source), _ROWS):
            _unite_members(words, members, bounds, start, heads, left, right, v, min(v + _ROWS, len(source)))

    def copied(worker: int, first: int, last: int) -> None:
        _copy(words, source, component, first, last)

    # First touch: the system clears a page for the thread that first writes it.
    run(touched, _parts(words), threads)
    strip = max(_STRIP, -(-width // threads))
    run(united, steps(width, strip), threads)
    run(copied, _parts(words), threads)


def _parts(words: np.ndarray) -> list[tuple[int, int]]:
    return steps(len(words), max(1, _BYTES // max(words.shape[1] * 8, 1)))


@kernel
def _choose(
    closed: Array, sizes: Array, large: Array, reached: Array, near: Array, begin: Array, extra: Array, first: int,
    last: int, most: int,
) -> int:  # fmt: skip
    """near[v] ← first large component reachable from v; extra[begin[v] : begin[v + 1]] ← components beyond its reach.

    Returns the number of extra bits in all rows, or `most` + 1 if they exceed `most` or the capacity of `extra`.
    """
    total = 0
    for v in range(first, last):
        k = 0
        while k < len(large) and not (closed[v, large[k] >> 6] >> np.uint64(large[k] & 63)) & np.uint64(1):
            k += 1
        end, bits = begin[v], 0
        for w in range((v >> 6) + 1):  # row v has no bit above v
            left = closed[v, w] & ~reached[k, w]
            while left:
                u = (w << 6) + count_word((left - np.uint64(1)) & ~left)
                left &= left - np.uint64(1)
                if end == len(extra):
                    return most + 1
                extra[end] = u
                end += 1
                bits += sizes[u]
        near[v], begin[v + 1] = k, end
        total += sizes[v] * bits
        if total > most:
            return most + 1
    return total


@kernel
def _write(
    words: Array, rows: Array, near: Array, begin: Array, extra: Array, members: Array, bounds: Array, component: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    for i in range(first, last):
        v = component[i]
        row, source = words[i], rows[near[v]]
        for w in range(len(row)):
            row[w] = source[w]
        if begin[v] < begin[v + 1]:
            _set(row, extra[begin[v] : begin[v + 1]], members, bounds)


@kernel
def _set(row: Array, components: Array, members: Array, bounds: Array) -> None:
    for u in components:
        for k in range(bounds[u], bounds[u + 1]):
            j = members[k]
            row[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@kernel
def _mark(closed: Array, row: Array, start: Array, heads: Array, needed: Array, first: int, last: int) -> None:
    """needed[e] ← whether arc e reaches a vertex that no earlier arc of its tail reaches."""
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
    words: Array, members: Array, bounds: Array, start: Array, heads: Array, left: int, right: int, first: int,
    last: int,
) -> None:  # fmt: skip
    """Unite words left … right − 1 of the rows of components first … last − 1."""
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
def _touch(words: Array, first: int, last: int) -> None:
    for i in range(first, last):
        words[i, 0] = 0


@kernel
def _copy(words: Array, source: Array, component: Array, first: int, last: int) -> None:
    for i in range(first, last):
        k = source[component[i]]
        if k != i:
            row, other = words[k], words[i]
            for w in range(len(row)):
                other[w] = row[w]
