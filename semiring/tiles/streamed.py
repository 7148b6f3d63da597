"""A part of a matrix in slow memory, which streams through a few buffers while a schedule works on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ..contract import Backend
from ..distributed import Comm, Grid, Layout, LocalMatrix, SingleProcess
from ..ranges import overlap
from ..types import Array
from .windows import SlowMatrix

#: Buffers for windows: one is read, one is worked on, one is written back.
BUFFERS = 3
#: Pivot blocks are multiples of this (or the backend's own pivot where that is less), and at most so large.
UNIT, LARGEST = 1024, 8192
#: Columns of a window, in blocks, at most: wide products keep a device busier, and more of them hide less at the ends.
WIDEST = 4


class Streamed(LocalMatrix):
    """Windows of a slow matrix pass through three buffers of fast memory in every round.

    Those of the next pivot's row and column come early, so that they are written when they are taken; the others in
    boustrophedon order: what was last in a round is first in the next, and is not read again.

    Parameters
    ----------
    slow : SlowMatrix
        The entire matrix; this process works on the part that the layout gives it.
    ops : Backend
    layout : Layout
    comm : Comm
    window : (int, int)
        Rows and columns of a window: complete blocks of the layout, and of what the slow matrix is made of.

    Notes
    -----
    A context manager: leaving it waits for all transfers under way.
    """

    ahead = False  # there is no memory for the panels of two pivots

    def __init__(self, slow: SlowMatrix, ops: Backend, layout: Layout, comm: Comm, window: tuple[int, int]) -> None:
        super().__init__(layout, comm)
        self._ops = ops
        cuts = [
            [slice(start, min(start + step, span.stop)) for start in range(span.start, span.stop, step)]
            for span, step in ((self.rows, window[0]), (self.columns, window[1]))
        ]
        self._bands, self._stacks = cuts
        count = min(BUFFERS, len(self._bands) * len(self._stacks))
        size = min(window[0], self.rows.stop - self.rows.start) * min(window[1], self.columns.stop - self.columns.start)
        self._buffers = [ops.empty((1, size)) for _ in range(count)]
        self._idle: deque[tuple[int, tuple[int, int] | None]] = deque((buffer, None) for buffer in range(count))
        self._io = ops.window_io(slow, layout.block)
        self._forwards = True

    @classmethod
    def single_process(cls, slow: SlowMatrix, ops: Backend, block: int, window: tuple[int, int]) -> Streamed:
        """A matrix that one process works on alone."""
        return cls(slow, ops, Layout(slow.shape[0], block, Grid(1, 1)), SingleProcess(), window)

    def __enter__(self) -> Streamed:
        self._io.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._io.__exit__(kind, error, trace)

    def take(self, rows: slice, columns: slice, out: Array) -> None:
        """out ← a window."""
        self._io.wait(self._io.prefetch(out, rows, columns))

    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        """All windows, each once; two are read or written while one is worked on."""
        round = self.layout.n if following is None else following.start
        todo, io = iter(self._order(following)), self._io
        queue: deque[tuple[int, tuple[int, int], Array, Any]] = deque()

        def fill() -> None:
            while self._idle and (index := next(todo, None)) is not None:
                queue.append(self._prefetch(index))

        fill()
        while queue:
            buffer, index, X, ticket = queue.popleft()
            io.wait(ticket)
            rows, columns = self._bands[index[0]], self._stacks[index[1]]
            yield rows, columns, X
            io.write_back(X, rows, columns, buffer, round)
            self._idle.append((buffer, index))
            fill()

    def flush(self) -> None:
        """Wait for all writes."""
        self._io.flush()

    def _prefetch(self, index: tuple[int, int]) -> tuple[int, tuple[int, int], Array, Any]:
        """The least recently used buffer, its window, and the ticket of the read."""
        io, (buffer, loaded) = self._io, self._idle.popleft()
        rows, columns = self._bands[index[0]], self._stacks[index[1]]
        m, n = rows.stop - rows.start, columns.stop - columns.start
        X = self._buffers[buffer][0, : m * n].reshape(m, n)
        # A window that is loaded already may still be written back, and is not changed before.
        return buffer, index, X, io.pending(buffer) if loaded == index else io.prefetch(X, rows, columns, buffer)

    def _order(self, following: slice | None) -> list[tuple[int, int]]:
        """The windows that are loaded; those of the next pivot's row, and column; the others, back and forth."""
        loaded = [index for _, index in self._idle if index is not None]
        bands, stacks = range(len(self._bands)), range(len(self._stacks))
        rest = [(i, j) for i in bands for j in (stacks if i % 2 == 0 else reversed(stacks))]
        if not self._forwards:
            rest.reverse()
        self._forwards = not self._forwards
        if following is None:
            early = []
        else:
            early = [index for index in rest if overlap(self._bands[index[0]], following)]
            early += [index for index in rest if overlap(self._stacks[index[1]], following)]
        return list(dict.fromkeys([*loaded, *early, *rest]))


@dataclass(frozen=True)
class Cut:
    """How a matrix is cut to stream through so much memory.

    Attributes
    ----------
    block : int
        Of the pivots.
    window : (int, int)
        Rows and columns that pass through a buffer.
    bytes : int
        Memory in use: three panels of a pivot, its block, three buffers, and the workspace of verbs.
    """

    block: int
    window: tuple[int, int]
    bytes: int


def fit(n: int, ops: Backend, memory: int, *, block: int | None = None) -> Cut | None:
    """The largest pivot block, up to 8192, that streams through so many bytes, with the widest windows; None if none.

    Every round moves the matrix in and out once, and does n² times the block in pairs: the larger the block, the less
    is moved.
    """
    unit = min(ops.pivot, UNIT) if n >= UNIT else max(1, ops.grain)
    largest = min(LARGEST, -(-n // unit) * unit)
    for size in [block] if block else range(largest, 0, -unit):
        for wide in range(WIDEST, 0, -1):
            window = size, min(wide * size, -(-n // size) * size)
            needed = _bytes(n, ops, size, window)
            if needed <= memory:
                return Cut(size, window, needed)
    return None


def _bytes(n: int, ops: Backend, block: int, window: tuple[int, int]) -> int:
    b = min(n, block)
    panels = sum(  # those of a last, smaller block are made while the others are in memory
        ops.matrix_bytes(n, k) + 2 * ops.matrix_bytes(k, n) + ops.matrix_bytes(k, k) for k in (b, n % b)
    )
    buffers = BUFFERS * ops.matrix_bytes(min(n, window[0]), min(n, window[1]))
    return panels + buffers + ops.workspace(b)
