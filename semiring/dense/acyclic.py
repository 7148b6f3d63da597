"""Transitive closures of sparse acyclic graphs by uniting rows, and of graphs from their condensation."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from ..algebra.ranges import steps
from ..host.errors import ShapeError
from ..host.memory import require
from ..host.signals import load
from .bits import BitMatrix


def close_acyclic(count: int, tails: np.ndarray, heads: np.ndarray) -> BitMatrix:
    """A* of an acyclic graph on `count` vertices, tails[e] > heads[e] for every arc (else ShapeError).

    Row v is {v} united with the complete rows of its heads; a head that an earlier one reaches adds nothing and is
    skipped (Goralčíková and Koubek 1979). Reads at most m · n / 64 words for m arcs.

    Examples
    --------
    >>> close_acyclic(3, np.array([2, 1]), np.array([1, 0]))[2, 0]
    True
    """
    _check_down(tails, heads)
    closed = BitMatrix.eye(count)
    load("semiring.kernels.cpu.bits.expansion").unite_rows(closed, *_by_tail(count, tails, heads))
    return closed


def acyclic_strips(count: int, tails: np.ndarray, heads: np.ndarray, width: int) -> Iterator[tuple[slice, BitMatrix]]:
    """`close_acyclic` strip by strip of `width` columns (a multiple of 64), one strip in memory at a time.

    Yields (columns, rows from columns.start on); rows above have no bit set. The next strip reuses the memory.

    Examples
    --------
    >>> strips = acyclic_strips(100, np.array([99, 70]), np.array([70, 1]), 64)
    >>> [(columns.start, strip.shape, int(strip.counts())) for columns, strip in strips]
    [(0, (100, 64), 66), (64, (36, 36), 37)]
    """
    _check_down(tails, heads)
    start, sorted_heads = _by_tail(count, tails, heads)
    buffer = BitMatrix.zeros((count, min(width, count))).words.reshape(-1)
    for first in range(0, count, width):
        columns = slice(first, min(first + width, count))
        words = buffer[: (count - first) * -(-(columns.stop - first) // 64)].reshape(count - first, -1)
        words[...] = 0
        strip = BitMatrix(words, (count - first, columns.stop - first))
        strip.set_diagonal(True)
        load("semiring.kernels.cpu.bits.expansion").unite_rows(strip, start, sorted_heads, first)
        yield columns, strip


#: Bytes of a thread's strip of rows, and least words of a row.
STRIP, LEAST = 1 << 27, 8


def unite_targets(
    count: int, tails: np.ndarray, heads: np.ndarray, targets: np.ndarray, columns: np.ndarray, n: int, rows: np.ndarray
) -> BitMatrix:
    """Reachability of targets in an acyclic graph: bit (i, columns[k]) is set where rows[i] reaches targets[k].

    Arcs as in `close_acyclic`, sorted by tail; every vertex reaches itself. columns[k] < n; targets may share a column.
    Shape (len(rows), n); ShapeError, MemoryNeeded.

    Examples
    --------
    >>> tails, heads = np.array([1, 2]), np.array([0, 1])
    >>> unite_targets(3, tails, heads, np.array([0]), np.array([4]), 5, np.array([2]))[0, 4]
    True
    """
    _check_down(tails, heads)
    start = np.searchsorted(tails, np.arange(count + 1)).astype(np.int64)
    threads, wide = load("semiring.kernels.cpu.processors").default_threads(), -(-n // 64)
    width = max(1, min(wide, max(LEAST, STRIP // max(1, 8 * count))))
    together = min(threads, -(-wide // width))
    require(8 * (len(rows) * wide + together * count * width), where="reachable", hint="Ask for fewer rows at a time.")
    order = np.argsort(columns, kind="stable")
    targets, columns = targets[order].astype(np.int64), columns[order].astype(np.int64)
    found = BitMatrix.zeros((len(rows), n))
    heads, rows, out = heads.astype(np.int64), rows.astype(np.int64), found.words
    kernel, own = load("semiring.kernels.cpu.bits.expansion").unite_targets, threading.local()

    def unite(worker: int, first: int, last: int) -> None:
        if not hasattr(own, "words"):
            own.words = np.empty((count, width), np.uint64)
        within = slice(*np.searchsorted(columns, (64 * first, 64 * last)))
        words = own.words.reshape(-1)[: count * (last - first)].reshape(count, last - first)
        kernel(start, heads, targets[within], columns[within], rows, first, words, out)

    strips = steps(out.shape[1], width)
    load("semiring.kernels.cpu.pool").run(unite, strips, threads)
    return found


def _check_down(tails: np.ndarray, heads: np.ndarray) -> None:
    if (tails <= heads).any():
        index = int((tails <= heads).argmax())
        raise ShapeError(f"close_acyclic: arcs must lead to lower numbers, got {tails[index]} → {heads[index]}.")


def expand_acyclic(closed: BitMatrix, component: np.ndarray, tails: np.ndarray, heads: np.ndarray) -> BitMatrix:
    """Closure of a graph from that of its condensation: M[i, j] = closed[component[i], component[j]].

    Where most vertices reach a large component, their rows are its row and a few bits more. Else a component's row is
    its members united with the rows of its heads, except those an earlier head reaches, and is shared by all members.
    Components are not empty; (tails, heads) are the condensation's arcs, from higher to lower numbers.

    Examples
    --------
    >>> tails, heads = np.array([1]), np.array([0])
    >>> M = expand_acyclic(close_acyclic(2, tails, heads), np.array([1, 0, 1]), tails, heads)
    >>> M[0, 2], M[2, 1], M[1, 0]
    (True, True, False)
    """
    n, count, component = len(component), len(closed), component.astype(np.int64, copy=False)
    members = np.argsort(component, kind="stable")
    bounds = np.searchsorted(component[members], np.arange(count + 1))
    expanded, kernels = BitMatrix.zeros((n, n)), load("semiring.kernels.cpu.bits.expansion")
    if not kernels.expand_from_large(expanded, closed, members, bounds, component):
        kernels.unite(expanded, closed, members, bounds, component, *_by_tail(count, tails, heads))
    return expanded


def _by_tail(count: int, tails: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR (start, heads), higher heads first: they reach lower ones, which are then skipped."""
    order = np.lexsort((-heads, tails))
    return np.searchsorted(tails[order], np.arange(count + 1)).astype(np.int64), heads[order].astype(np.int64)
