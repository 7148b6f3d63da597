"""The closure of a matrix in slow memory: super-blocks stream through a few rooms of fast memory, two levels deep.

For every super-block k of t pivots, with T = A(k,k)*, which stays in its room:

    A(k,k) ← T      A(k,j) ← T A(k,j)      A(i,j) ← A(i,j) ⊕ A(i,k) A(k,j)      A(i,k) ← A(i,k) T

The order is that of the blocked schedule (apsp/schedules/blocked.py): no entry meets T twice, so it is right in every
closed semiring. T is closed by R-Kleene where it lies. Windows of A(i,j) and A(k,j) come and go while others are worked
on, three rooms each, in boustrophedon order, so that the panel of a turn is there already; A(i,k) stays for a band.

A round reads the matrix once, and its row panel once a band; it writes the matrix once. With t/n of it in fast memory
that is n/t rounds: of all that is moved, the fewest rounds need the least (Hong and Kung 1981 have the lower bound).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from semiring.backend import Backend
from semiring.tiles.courier import Courier, Slow

from .blocks import pivots
from .schedules import recursive

#: Rooms for windows and for row panels: one is on its way in, one is worked on, one is on its way back; and for
#: column panels, which do not go back.
WINDOWS, PANELS, COLUMNS = 3, 3, 2
#: Rows and columns of a tile at most, where tiles are made for the purpose, and what they are multiples of.
TILE, UNIT = 2048, 64


@dataclass(frozen=True, order=True)
class Cut:
    """How a matrix streams through so much memory.

    Attributes
    ----------
    block : int
        t, the pivots of a super-block.
    rows, columns : int
        Of a window.
    tile : int
        Of which all of them are multiples.
    bytes : int
        What is held: T, the rooms, and what verbs hold.
    """

    block: int
    rows: int
    columns: int
    tile: int
    bytes: int


def fit(n: int, ops: Backend, memory: int, *, tile: int | None = None) -> Cut | None:
    """The largest super-blocks that stream through so many bytes; None where not even the smallest do.

    Parameters
    ----------
    n : int
    ops : Backend
    memory : int
    tile : int, optional
        The tiles of which the matrix is made already.
    """
    if tile is not None:
        most = max(1, -(-n // tile))
        fits = [cut for cut in (_cut_of(n, ops, tile, count) for count in range(1, most + 1)) if cut.bytes <= memory]
        rounds = min((-(-n // cut.block) for cut in fits), default=0)
        return min((cut for cut in fits if -(-n // cut.block) == rounds), default=None)  # of about equal super-blocks
    unit = max(UNIT if n >= 4 * UNIT else 1, ops.grain)
    for size in range(min(TILE, unit * -(-n // (4 * unit))), 0, -unit):
        found = fit(n, ops, memory, tile=size)
        if found is not None and (found.block >= 4 * size or size <= unit):
            even = -(-n // -(-n // found.block))  # as many rounds of about equal super-blocks
            return fit(n, ops, memory, tile=min(size, unit * -(-even // (4 * unit))))
    return None


def _cut_of(n: int, ops: Backend, tile: int, count: int) -> Cut:
    """Super-blocks of so many tiles, windows of half of that by a quarter."""
    t, h, w = tile * count, tile * max(1, count // 2), tile * max(1, count // 4)
    return Cut(t, h, w, tile, _held(n, ops, t, h, w))


def _held(n: int, ops: Backend, t: int, h: int, w: int) -> int:
    t, h, w = (min(n, size) for size in (t, h, w))
    size = ops.matrix_bytes
    rooms = WINDOWS * size(h, w) + PANELS * size(t, w) + COLUMNS * size(h, t)
    return size(t, t) + rooms + max(ops.workspace(t), size(t, w))


def closure(
    slow: Slow,
    ops: Backend,
    cut: Cut,
    *,
    begun: int = 0,
    after: Callable[[int, slice], None] | None = None,
    step: Callable[[int], None] | None = None,
) -> None:
    """A ← A* where it lies.

    Parameters
    ----------
    slow : Slow
    ops : Backend
    cut : Cut
    begun : int
        How many pivots are done, a multiple of the tile. Windows that are ahead of that by a round are left alone.
    after : callable, optional
        `after(round, pivots)` when everything of a round is back.
    step : callable, optional
        `step(pairs)` for every window.
    """
    n = slow.shape[0]
    todo = list(pivots(n, cut.block, begun))
    before = list(pivots(begun, cut.block))
    with ops.courier(slow, cut.tile) as courier:
        rooms = Rooms(ops, courier, min(n, cut.block), min(n, cut.rows), min(n, cut.columns))
        for index, k in enumerate(todo):
            others = [
                *todo[index + 1 :],
                *before,
                *todo[:index],
            ]  # the next super-block's rows are back when it is their turn
            for pairs in rooms.round(k, others, cut, begun=index == 0):
                if step is not None:
                    step(pairs)
            if after is not None:
                courier.finish()
                after(index, k)
        courier.finish()


class Ring:
    """Rooms that are used in turn; what is in one is found there until it is used again."""

    def __init__(self, ops: Backend, count: int, size: int, name: str) -> None:
        self._rooms = deque((f"{name} {index}", ops.empty((1, size))) for index in range(count))
        self._there: dict[str, tuple[slice, slice]] = {}

    def next(self, rows: slice, columns: slice) -> tuple[str, Any, bool]:
        """(room, matrix, whether this window is in it already); else the room that was used the longest ago."""
        window = rows, columns
        at = next((at for at, (name, _) in enumerate(self._rooms) if self._there.get(name) == window), 0)
        known = self._there.get(self._rooms[at][0]) == window
        name, room = self._rooms[at]
        del self._rooms[at]
        self._rooms.append((name, room))
        self._there[name] = window
        m, n = rows.stop - rows.start, columns.stop - columns.start
        return name, room[0, : m * n].reshape(m, n), known

    def forget(self) -> None:
        """What is in the rooms is no longer what the matrix has there."""
        self._there.clear()


class Rooms:
    """Fast memory: T, and rings for windows, row panels and column panels."""

    def __init__(self, ops: Backend, courier: Courier, t: int, h: int, w: int) -> None:
        self._ops, self._courier = ops, courier
        self._pivot = ops.empty((1, t * t))
        self._windows = Ring(ops, WINDOWS, h * w, "window")
        self._panels = Ring(ops, PANELS, t * w, "panel")
        self._columns = Ring(ops, COLUMNS, h * t, "column")

    def round(self, k: slice, others: list[slice], cut: Cut, *, begun: bool) -> Iterator[int]:
        """All that a super-block of pivots does; yields the pairs of each window."""
        ops, courier, turn, b = self._ops, self._courier, k.stop, k.stop - k.start
        T = self._pivot[0, : b * b].reshape(b, b)
        courier.arrived(courier.bring(T, k, k, "pivot"))
        recursive.closure(T, ops, block=ops.pivot)  # T ← A(k,k)*
        courier.take_back(T, k, k, "pivot", turn)
        yield b**3

        def left(rows: slice, columns: slice) -> bool:
            """Whether a window has still to go through this round."""
            return not begun or courier.slow.turn(rows, columns) < turn

        stacks = [j for p in others for j in _cut(p, cut.columns)]
        for ring in (self._windows, self._panels, self._columns):
            ring.forget()
        for room, R, j in self._ahead(self._panel(k, j) for j in stacks if left(k, j)):
            ops.left_mul(T, R)  # A(k,j) ← T A(k,j)
            courier.take_back(R, k, j, room, turn)
            yield b * b * (j.stop - j.start)
        within, forwards = _cut(k, cut.columns), True
        tasks: list[tuple[slice, slice]] = []
        for i in (i for p in others for i in _cut(p, cut.rows)):
            row = [*(stacks if forwards else reversed(stacks)), *within]
            tasks += [(i, j) for j in row if left(i, j)]
            forwards = not forwards
        for room, X, C, P, i, j in self._ahead(self._window(i, j, k, within) for i, j in tasks):
            if P is None:
                ops.matmul(X, C, T[:, j.start - k.start : j.stop - k.start])  # A(i,k) ← A(i,k) T
            else:
                ops.gemm(X, C, P)  # A(i,j) ← A(i,j) ⊕ A(i,k) A(k,j)
            courier.take_back(X, i, j, room, turn)
            yield X.shape[0] * X.shape[1] * b

    def _panel(self, k: slice, j: slice) -> tuple[list[Any], tuple[Any, ...]]:
        room, R, _ = self._panels.next(k, j)
        return [self._courier.bring(R, k, j, room)], (room, R, j)

    def _window(self, i: slice, j: slice, k: slice, within: list[slice]) -> tuple[list[Any], tuple[Any, ...]]:
        """A window, and the panels that it is updated by: what of them is not there is sent for."""
        sent = []

        def there(ring: Ring, rows: slice, columns: slice) -> tuple[str, Any]:
            room, X, known = ring.next(rows, columns)
            if not known:
                sent.append(self._courier.bring(X, rows, columns, room))
            return room, X

        _, C = there(self._columns, i, k)
        if j in within:
            room, X, _ = self._windows.next(i, j)
            return [*sent, self._courier.freed(room)], (room, X, C, None, i, j)
        _, P = there(self._panels, k, j)
        room, X = there(self._windows, i, j)
        return sent, (room, X, C, P, i, j)

    def _ahead(self, tasks: Iterable[tuple[list[Any], tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
        """Tasks whose matrices are there, each when those of the next are on their way."""
        before = None
        for task in tasks:
            if before is not None:
                yield self._arrived(before)
            before = task
        if before is not None:
            yield self._arrived(before)

    def _arrived(self, task: tuple[list[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        for sent in task[0]:
            self._courier.arrived(sent)
        return task[1]


def _cut(span: slice, size: int) -> list[slice]:
    """A range in parts of so many."""
    return [slice(at, min(at + size, span.stop)) for at in range(span.start, span.stop, size)]
