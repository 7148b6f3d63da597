"""Reachability in acyclic graphs without n² bits: labels that decide most pairs, and searches that they prune."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ..algebra.ranges import steps
from ..dense.acyclic import acyclic_strips, close_acyclic
from ..dense.bits import BitMatrix
from ..host.signals import load
from ..host.types import Fields

#: Pairs of a thread at a time; steps of a call into compiled code, so that Ctrl-C is handled; bytes of a strip of bits.
PAIRS, STEPS, STRIP = 1 << 14, 1 << 22, 1 << 27
#: Bytes of a vertex and of an arc.
VERTEX, ARC = 64, 12

_kernels = partial(load, "semiring.kernels.cpu.sparse.reach")


class ReachIndex:
    """A* of an acyclic graph of `count` vertices, pair by pair, by labels: O(count + arcs) to build.

    `tails`, `heads` (int32) are distinct arcs to lower numbers, sorted by tail, then by head; of `sizes` (int32),
    heavier vertices are asked for more often. Labels and sources: semiring/kernels/cpu/sparse/reach.py.

    >>> index = ReachIndex(3, np.array([1, 2], np.int32), np.array([0, 1], np.int32), np.ones(3, np.int32))
    >>> index[np.array([2, 0]), np.array([0, 2])], index.rows(1)
    (array([ True, False]), array([ True,  True, False]))
    """

    def __init__(
        self, count: int, tails: np.ndarray, heads: np.ndarray, sizes: np.ndarray, threads: int | None = None
    ) -> None:
        self.shape, self.tails, self.heads, self.threads = (count, count), tails, heads, threads
        self.on_devices: dict[int, Any] = {}  # the labels, by GPU
        kernels, ends = _kernels(), (tails.view(np.uint32), heads.view(np.uint32))
        #: CSR from and against the arcs: starts, and the other ends.
        self._starts, self._ends = zip((_starts(count, tails), ends[1]), grouped(count, *ends[::-1]), strict=True)
        self._spaces: list[tuple[np.ndarray, np.ndarray]] = []
        self.labels = L = np.zeros(count, kernels.LABEL)
        for bit in range(kernels.BITS):
            kernels.choose(*self._starts, sizes, L, bit)
        for part in steps(count, STEPS):
            kernels.ascend(self._starts[0], self._ends[0], L, *part)
        for part in steps(count, STEPS)[::-1]:
            kernels.descend(self._starts[0], self._ends[0], L, *part)

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> Fields:
        """State without workspace."""
        return {**vars(self), "_spaces": [], "on_devices": {}}

    def __getitem__(self, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Whether vertices i reach vertices j, or are these: bool arrays of one shape, of CuPy if these are."""
        if type(pairs[0]).__module__ == "cupy":
            return load("semiring.kernels.cuda.sparse.reach").answers(self, *pairs)
        sources, targets = (np.ascontiguousarray(x, np.uint32).ravel() for x in pairs)
        found = np.empty(len(sources), np.uint8)

        def answer(worker: int, low: int, high: int) -> None:
            part = sources[low:high], targets[low:high], found[low:high]
            if self._decide(*part):
                for _ in self._searched(*part, STEPS):
                    pass

        parts, threads = steps(len(found), PAIRS), self.threads
        if len(parts) > 1 and threads is None:
            threads = load("semiring.kernels.cpu.processors").default_threads()
        load("semiring.kernels.cpu.pool").run(answer, parts, threads or 1)
        return found.view(bool).reshape(np.shape(pairs[0]))

    def _decide(self, sources: np.ndarray, targets: np.ndarray, answers: np.ndarray) -> int:
        """Answers by labels alone, or OPEN; the number of these."""
        kernels = _kernels()
        kernels.decide(self.labels, sources, targets, answers)
        return int(np.count_nonzero(answers == kernels.OPEN))

    def tried(self, sources: np.ndarray, targets: np.ndarray, budget: int) -> tuple[int, int, int]:
        """The numbers of pairs answered, of those searched, and of arcs seen, until these are about `budget`."""
        pairs, answers = (sources.astype(np.uint32), targets.astype(np.uint32)), np.empty(len(sources), np.uint8)
        self._decide(*pairs, answers)
        searched = answers == _kernels().OPEN
        done, seen = next(self._searched(*pairs, answers, budget), (0, 0))
        return done, int(np.count_nonzero(searched[:done])), seen

    def rows(self, which: int | np.ndarray) -> np.ndarray:
        """The vertices that each reaches, itself too, by a search: bool (…, count)."""
        return self._reached(0, which)

    def column(self, which: int | np.ndarray) -> np.ndarray:
        """The vertices that reach each, as in `rows`."""
        return self._reached(1, which)

    def strips(self) -> Iterator[tuple[slice, BitMatrix]]:
        """All pairs by strips of columns, as in `acyclic_strips`."""
        width = 64 * max(1, STRIP // (8 * max(1, len(self))))
        return acyclic_strips(len(self), self.tails, self.heads, width)

    def to_bit_matrix(self) -> BitMatrix:
        """All pairs, as bits."""
        return close_acyclic(len(self), self.tails, self.heads)

    def reduction(self) -> tuple[np.ndarray, np.ndarray]:
        """The arcs (tails, heads) that no other walk replaces; pairs of arcs of one tail are asked about."""
        needed, left, space = np.ones(len(self.tails), bool), len(self.tails), self._space()
        ends = self.tails.view(np.uint32)
        while left:
            left = _kernels().reduce(self._starts, self._ends, self.labels, ends, needed, *space, left, STEPS)
        return self.tails[needed], self.heads[needed]

    def _space(self) -> tuple[np.ndarray, np.ndarray]:
        """Workspace of a search, of which only what it meets is touched: one that another search has left, or new."""
        with suppress(IndexError):
            return self._spaces.pop()
        return np.zeros(len(self), np.uint8), np.empty((2, len(self)), np.uint32)

    def _searched(
        self, sources: np.ndarray, targets: np.ndarray, answers: np.ndarray, budget: int
    ) -> Iterator[tuple[int, int]]:
        """Search open answers in turn: how many are done, and the arcs seen, in a call."""
        done, pairs, space = 0, (sources, targets, answers), self._space()
        while done < len(answers):
            done, seen = _kernels().search(self._starts, self._ends, self.labels, *pairs, *space, done, budget)
            yield done, seen
        self._spaces.append(space)

    def _reached(self, side: int, which: int | np.ndarray) -> np.ndarray:
        found, stack = np.zeros((np.size(which), len(self)), bool), np.empty(len(self), np.uint32)
        for row, v in zip(found, np.ravel(which).tolist(), strict=True):
            row[v], stack[0], left = True, v, 1
            while left:
                left = _kernels().spread(self._starts[side], self._ends[side], row, stack, left, STEPS)
        return found.reshape(*np.shape(which), len(self))


def components(n: int, tails: np.ndarray, heads: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strongly connected components, and that of each vertex, int32: arcs lead to lower numbers.

    O(n + m) (Tarjan 1972; Pearce 2016, "A space-efficient algorithm for finding strongly connected components").

    Examples
    --------
    >>> components(3, np.array([0, 1, 1]), np.array([1, 0, 2]))
    (2, array([1, 1, 0], dtype=int32))
    """
    kernels, last = _kernels(), np.iinfo(np.uint32).max
    start, ends = grouped(n, tails, heads)
    low, held, frames = np.zeros(n, np.uint32), np.empty(n, np.uint32), np.empty(n, kernels.FRAME)
    state = np.array([0, -1, 1, 0, last], np.int64)
    while not kernels.components(start, ends, low, frames, held, state, STEPS):
        pass
    return int(last - state[-1]), np.invert(low, out=low).view(np.int32)


def grouped(n: int, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR (start int64, values uint32) by key, of n keys; values of a key in order."""
    start, found = _starts(n, keys), np.empty(len(keys), np.uint32)
    place = start[:-1].copy()
    for part in steps(len(keys), STEPS):
        _kernels().group(keys, values, place, found, *part)
    return start, found


def _starts(n: int, keys: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(np.bincount(keys, minlength=n), dtype=np.int64))
