"""Local matrix in slow memory, streamed through a few buffers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ...algebra.ranges import overlap
from ...distributed import Comm, Grid, Layout, LocalMatrix, SingleProcess
from ...host.types import Array
from ...kernels.contract import Backend
from .windows import SlowMatrix

#: Window buffers: one is read, one computed on, one written back.
BUFFERS = 3
#: Granularity (or the backend's own pivot, if less) and largest size of pivot blocks.
UNIT, LARGEST = 1024, 8192
#: Most columns of a window, in blocks: wide products use the device better, but hide less I/O at the ends.
WIDEST = 4


class Streamed(LocalMatrix):
    """Windows of a slow matrix pass through three buffers of fast memory in every round.

    Those of the next pivot's row and column come early, so that they are written by the time they are taken; the others
    in boustrophedon order: the last of a round is first in the next, and is not read again. Windows are complete blocks
    of the layout and of the slow matrix. As a context manager, waits for all transfers on exit.
    """

    ahead = False  # no memory for the panels of two pivots

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
        return cls(slow, ops, Layout(slow.shape[0], block, Grid(1, 1)), SingleProcess(), window)

    def __enter__(self) -> Streamed:
        self._io.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._io.__exit__(kind, error, trace)

    def take(self, rows: slice, columns: slice, out: Array) -> None:
        self._io.wait(self._io.prefetch(out, rows, columns))

    def windows(self, following: slice | None) -> Iterator[tuple[slice, slice, Array]]:
        """All windows, each once; two are read or written while one is computed on."""
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
        self._io.flush()

    def _prefetch(self, index: tuple[int, int]) -> tuple[int, tuple[int, int], Array, Any]:
        """Least recently used buffer, its window, and the ticket of the read."""
        io, (buffer, loaded) = self._io, self._idle.popleft()
        rows, columns = self._bands[index[0]], self._stacks[index[1]]
        m, n = rows.stop - rows.start, columns.stop - columns.start
        X = self._buffers[buffer][0, : m * n].reshape(m, n)
        # A loaded window may still be written back, and must not change before.
        return buffer, index, X, io.pending(buffer) if loaded == index else io.prefetch(X, rows, columns, buffer)

    def _order(self, following: slice | None) -> list[tuple[int, int]]:
        """Windows loaded; those of the next pivot's row and column; the others, boustrophedon."""
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
    """Cut of a matrix for streaming: pivot block, window (rows, columns), bytes of panels, buffers and workspace."""

    block: int
    window: tuple[int, int]
    bytes: int


def fit(n: int, ops: Backend, memory: int, *, block: int | None = None) -> Cut | None:
    """Largest pivot block, up to 8192, that streams within `memory` bytes, with the widest windows; None if none.

    A round moves the matrix in and out once and computes n² · block pairs: the larger the block, the less traffic.
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
    panels = sum(  # panels of the smaller last block coexist with the others
        ops.matrix_bytes(n, k) + 2 * ops.matrix_bytes(k, n) + ops.matrix_bytes(k, k) for k in (b, n % b)
    )
    buffers = BUFFERS * ops.matrix_bytes(min(n, window[0]), min(n, window[1]))
    return panels + buffers + ops.workspace(b)
