"""Out-of-core closure: a matrix in slow memory streams in windows through a few buffers of fast memory.

For each super-block k of t pivots, with T = A(k,k)*, kept in its buffer and closed by R-Kleene:

    A(k,k) ← T      A(k,j) ← T A(k,j)      A(i,j) ← A(i,j) ⊕ A(i,k) A(k,j)      A(i,k) ← A(i,k) T

As in the blocked schedule nothing is multiplied by T twice: right in every closed semiring.

Triple buffering of windows A(i,j) and row panels A(k,j): one is fetched, one computed on, one written back. Bands of
rows i alternate direction, so the panel at the turn is already in its buffer. The column panel A(i,k) stays for its
band, which begins with A(i,k) T. All rounds form one sequence of tasks, and the next task's inputs are prefetched, also
across rounds: the windows of a round's last band no longer need T.

Each of the n/t rounds reads and writes the matrix once, and reads its row panel once a band. Larger super-blocks move
less; lower bound: Hong and Kung 1981.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from semiring.algebra.ranges import local, overlap
from semiring.kernels.backend import Backend
from semiring.kernels.observed import Callback
from semiring.stores.tiles.windows import SlowMatrix, WindowIO

from ...road.schedules import recursive
from ...road.schedules.blocks import pivots

#: Buffers of windows and row panels (in, computing, out), and of column panels (never written back).
WINDOWS, PANELS, COLUMNS = 3, 3, 2
#: Maximum tile size, and the unit of tile sizes.
TILE, UNIT = 2048, 64


@dataclass(frozen=True, order=True)
class Cut:
    """Window sizes: `block` pivots a super-block, rows × columns, multiples of `tile`; `bytes` of all buffers."""

    block: int
    rows: int
    columns: int
    tile: int
    bytes: int


def fit(n: int, ops: Backend, memory: int, *, tile: int | None = None) -> Cut | None:
    """The largest super-blocks within `memory` bytes, or None; `tile` is that of an existing store."""
    if tile is not None:
        most = max(1, -(-n // tile))
        cuts = (_cut_of(n, ops, tile, count) for count in range(1, most + 1))
        fits = list(takewhile(lambda cut: cut.bytes <= memory, cuts))
        rounds = min((-(-n // cut.block) for cut in fits), default=0)
        equal = min((cut for cut in fits if -(-n // cut.block) == rounds), default=None)  # equalise super-blocks
        return equal and _widest(n, ops, memory, equal)
    unit = _unit(n, ops)
    for size in range(min(TILE, unit * -(-n // (4 * unit))), 0, -unit):
        found = fit(n, ops, memory, tile=size)
        if found is not None and (found.block >= 4 * size or size <= unit):
            even = -(-n // -(-n // found.block))  # equal super-blocks for the same number of rounds
            return fit(n, ops, memory, tile=min(size, unit * -(-even // (4 * unit))))
    return None


def least(n: int, ops: Backend) -> int:
    return _cut_of(n, ops, _unit(n, ops), 1).bytes


def _unit(n: int, ops: Backend) -> int:
    return max(min(UNIT, -(-n // 8)), ops.grain)


def _cut_of(n: int, ops: Backend, tile: int, count: int) -> Cut:
    """Super-blocks of `count` tiles; windows of half by a quarter of that."""
    t, h, w = tile * count, tile * max(1, count // 2), tile * max(1, count // 4)
    return Cut(t, h, w, tile, _fast_bytes(n, ops, t, h, w))


def _widest(n: int, ops: Backend, memory: int, cut: Cut) -> Cut:
    """The cut with the largest windows that fit: larger products use the device better."""
    t, tile = cut.block, cut.tile
    sizes = {tile * -(-(t // tile) // parts) for parts in range(2, t // tile + 1)}
    cuts = [Cut(t, h, w, tile, _fast_bytes(n, ops, t, h, w)) for h in sizes for w in sizes if w <= h]
    fits = [cut, *(wider for wider in cuts if wider.bytes <= memory)]
    return max(fits, key=lambda cut: (cut.rows * cut.columns, -cut.bytes))


def _fast_bytes(n: int, ops: Backend, t: int, h: int, w: int) -> int:
    t, h, w = (min(n, size) for size in (t, h, w))
    size = ops.matrix_bytes
    buffers = WINDOWS * size(h, w) + PANELS * size(t, w) + COLUMNS * size(h, t)
    return size(t, t) + buffers + max(ops.workspace(t), size(t, w))


def closure(
    slow: SlowMatrix,
    ops: Backend,
    cut: Cut,
    *,
    begun: int = 0,
    after: Callable[[slice], None] | None = None,
    callback: Callback | None = None,
) -> None:
    """A ← A* in place, in slow memory.

    `begun` pivots (a multiple of the tile) are done; windows a round ahead are skipped. `after(pivots)` is called
    when a round is written, `callback(done, total)`, in pairs, for every window.
    """
    n = slow.shape[0]
    done, total = begun * n**2, n**3
    with ops.window_io(slow, cut.tile) as io:
        for task in _ahead(_rounds(ops, io, cut, begun, after), io):
            task.run(io)
            done = min(total, done + task.pairs)
            if callback is not None:
                callback(done, total)
        io.flush()


@dataclass(frozen=True)
class Window:
    """A window of the matrix in a buffer."""

    buffer: str
    X: Any
    rows: slice
    columns: slice

    def meets(self, other: Window) -> bool:
        return overlap(self.rows, other.rows) and overlap(self.columns, other.columns)


@dataclass
class Task:
    """verb(result, *operands) on windows, `missing` ones read first, then write-back, after `round` pivots in all."""

    verb: Callable[..., None]
    result: Window
    operands: tuple[Window, ...]
    missing: list[Window]
    round: int
    pairs: int
    tickets: list[Any] = field(default_factory=list)

    def waits_for(self, before: Task) -> bool:
        """Whether a missing window is written by `before`, or its buffer is used by it."""
        buffers = {window.buffer for window in (before.result, *before.operands)}
        return any(window.buffer in buffers or window.meets(before.result) for window in self.missing)

    def prefetch(self, io: WindowIO) -> None:
        self.tickets = [io.prefetch(w.X, w.rows, w.columns, w.buffer) for w in self.missing]

    def run(self, io: WindowIO) -> None:
        for ticket in (*self.tickets, io.pending(self.result.buffer)):
            io.wait(ticket)
        self.verb(self.result.X, *(window.X for window in self.operands))
        io.write_back(self.result.X, self.result.rows, self.result.columns, self.result.buffer, self.round)


def _ahead(tasks: Iterator[Task | None], io: WindowIO) -> Iterator[Task]:
    """Each task, after the next one's reads have begun; None is a barrier."""
    before = None
    for task in tasks:
        if before is not None and (task is None or task.waits_for(before)):
            yield before
            before = None
        if task is not None:
            task.prefetch(io)
        if before is not None:
            yield before
        before = task
    if before is not None:
        yield before


def _rounds(
    ops: Backend, io: WindowIO, cut: Cut, begun: int, after: Callable[[slice], None] | None
) -> Iterator[Task | None]:
    n = io.slow.shape[0]
    todo = list(pivots(n, cut.block, begun))
    before = list(pivots(begun, cut.block))
    fast = FastMemory(ops, min(n, cut.block), min(n, cut.rows), min(n, cut.columns))
    for index, k in enumerate(todo):

        def left(rows: slice, columns: slice, first: bool = index == 0, round: int = k.stop) -> bool:
            """Whether a window still lacks this round."""
            return not first or io.slow.round(rows, columns) < round

        # The next super-block's rows first: they are needed next.
        yield from fast.round(k, [*todo[index + 1 :], *before, *todo[:index]], cut, left)
        if after is not None:
            yield None
            io.flush()
            after(k)


class Ring:
    """An LRU cache of windows in a ring of buffers."""

    def __init__(self, ops: Backend, count: int, size: int, name: str) -> None:
        self._buffers = deque((f"{name} {index}", ops.empty((1, size))) for index in range(count))
        self._contents: dict[str, tuple[slice, slice]] = {}

    def next(self, rows: slice, columns: slice) -> tuple[Window, list[Window]]:
        """The window in a buffer (of the least recently used one), and [window] if it must be read, else []."""
        key = rows, columns
        index = next((index for index, (name, _) in enumerate(self._buffers) if self._contents.get(name) == key), 0)
        name, buffer = self._buffers[index]
        present = self._contents.get(name) == key
        del self._buffers[index]
        self._buffers.append((name, buffer))
        self._contents[name] = key
        m, n = rows.stop - rows.start, columns.stop - columns.start
        window = Window(name, buffer[0, : m * n].reshape(m, n), rows, columns)
        return window, [] if present else [window]

    def forget(self) -> None:
        self._contents.clear()


class FastMemory:
    """Fast memory: T, and rings for windows, row panels and column panels."""

    def __init__(self, ops: Backend, t: int, h: int, w: int) -> None:
        self._ops = ops
        self._pivot = Ring(ops, 1, t * t, "pivot")
        self._windows = Ring(ops, WINDOWS, h * w, "window")
        self._panels = Ring(ops, PANELS, t * w, "panel")
        self._columns = Ring(ops, COLUMNS, h * t, "column")

    def round(self, k: slice, others: list[slice], cut: Cut, left: Callable[[slice, slice], bool]) -> Iterator[Task]:
        """The tasks of a super-block of pivots, for windows that are `left`."""
        ops, b = self._ops, k.stop - k.start
        for ring in (self._pivot, self._windows, self._panels, self._columns):
            ring.forget()

        def task(verb: Callable[..., None], result: Window, operands: tuple[Window, ...], *missing: Window) -> Task:
            return Task(verb, result, operands, list(missing), k.stop, result.X.size * b)

        T, missing = self._pivot.next(k, k)
        # T ← A(k,k)*; a test of symmetry would synchronise with the device.
        yield task(lambda T: recursive.closure(T, ops, block=ops.pivot, mirrored=False), T, (), *missing)
        stacks, within = _parts(others, cut.columns), _parts([k], cut.columns)
        for j in (j for j in stacks if left(k, j)):
            R, missing = self._panels.next(k, j)
            yield task(lambda R, T: ops.left_mul(T, R), R, (T,), *missing)  # A(k,j) ← T A(k,j)
        for i in _parts(others, cut.rows):
            for j in (j for j in within if left(i, j)):
                C, missing = self._columns.next(i, k)
                X, _ = self._windows.next(i, j)
                right = Window(T.buffer, T.X[:, local(j, k)], k, j)
                yield task(ops.matmul, X, (C, right), *missing)  # A(i,k) ← A(i,k) T; C is unchanged
            for j in (j for j in stacks if left(i, j)):
                C, missing = self._columns.next(i, k)
                P, more = self._panels.next(k, j)
                X, rest = self._windows.next(i, j)
                yield task(ops.gemm, X, (C, P), *missing, *more, *rest)  # A(i,j) ← A(i,j) ⊕ A(i,k) A(k,j)
            stacks.reverse()


def _parts(spans: list[slice], size: int) -> list[slice]:
    return [slice(start, min(start + size, p.stop)) for p in spans for start in range(p.start, p.stop, size)]
