"""Products in place on panels: strip by strip, each with a workspace of its own, several at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from . import gpu, matrix
from .matrix import Matrix
from .tiles import Tile

if TYPE_CHECKING:
    from .launch import CudaBackend

#: How many strips are computed at the same time, and how many times they fill the device together.
UNDER_WAY, FILLING = 6, 2
#: In matrices of so many columns and more, the rooms of all strips are at most 3 % of the matrix.
LARGE = 16384


def left_mul(ops: CudaBackend, D: Matrix, R: Matrix) -> None:
    """R ← D ⊗ R."""
    with Ring(ops, R.rows, R.columns, R.ld) as ring:
        _columns_of_product(ops, ring, D, R)


def right_mul(ops: CudaBackend, C: Matrix, D: Matrix) -> None:
    """C ← C ⊗ D."""
    with Ring(ops, C.columns, C.rows, C.ld) as ring:
        for rows in ring.strips(C.rows):
            with ring.room() as room:
                part = matrix.rows(C, *rows, ops.dtype.itemsize)
                ring.product(part, _copy_of(ops, part, room), D)


def eliminate(ops: CudaBackend, D: Matrix, R: Matrix, C: Matrix, rest: Matrix) -> None:
    """R ← D ⊗ R; then rest ← rest ⊕ C ⊗ R and C ← C ⊗ D, from one copy of each strip of C.

    Only rest needs R: the strips of C begin while those of R come to their end.
    """
    with Ring(ops, D.rows, R.columns, R.ld) as ring:
        _columns_of_product(ops, ring, D, R)
        multiplied = ring.reached()
        for rows in ring.strips(C.rows):
            with ring.room() as room:
                part = matrix.rows(C, *rows, ops.dtype.itemsize)
                was = _copy_of(ops, part, room)
                ring.product(part, was, D)
                wait(multiplied)
                ring.product(matrix.rows(rest, *rows, ops.dtype.itemsize), was, R, accumulate=True)


def _columns_of_product(ops: CudaBackend, ring: Ring, D: Matrix, R: Matrix) -> None:
    for columns in ring.strips(R.columns):
        with ring.room() as room:
            part = matrix.columns(R, *columns, ops.dtype.itemsize)
            beside = _beside(part, room)
            ring.product(beside, D, part)
            ops.copy_rows(part, beside)


def _copy_of(ops: CudaBackend, part: Matrix, room: int) -> Matrix:
    copy = _beside(part, room)
    ops.copy_rows(copy, part)
    return copy


def _beside(part: Matrix, room: int) -> Matrix:
    return Matrix(room, part.columns, part.rows, part.columns)


def sizes(tile: Tile, multiprocessors: int, along: int, across: int, apart: int) -> tuple[int, int]:
    """How many of a panel's `across` rows (columns) make a strip, and how many strips have a room.

    `along` is the panel's other side, and `apart` from row to row: the panel is part of a matrix of so many columns or
    more. Strips are `tile.bn` wide or a multiple.
    """
    most = max(1, FILLING * multiprocessors * tile.blocks // (UNDER_WAY * -(-along // tile.bm)))
    rooms = UNDER_WAY * most
    if apart >= LARGE:
        rooms = 3 * apart * apart // (100 * along * tile.bn)
        most = max(1, min(most, rooms // UNDER_WAY))
    count = -(-across // (most * tile.bn))
    width = matrix.evenly(across, count, tile.bn)
    return width, max(1, min(UNDER_WAY, count, rooms // -(-width // tile.bn)))


class Ring:
    """Rooms for strips of a panel, each with a stream on which what happens in it is done in turn."""

    def __init__(self, ops: CudaBackend, along: int, across: int, apart: int) -> None:
        import cupy

        self._ops = ops
        self._width, rooms = sizes(ops.tile_table[0], ops.multiprocessors, along, across, apart)
        self._alone = self._width >= across
        self._size = along * self._width * ops.dtype.itemsize
        self._memory = cupy.empty(rooms * self._size, np.uint8)
        self._here, self._streams = cupy.cuda.get_current_stream(), _streams(gpu.current())[:rooms]
        self._turn = 0

    def __enter__(self) -> Ring:
        begun = self._here.record()
        for stream in self._streams:
            stream.wait_event(begun)
        return self

    def __exit__(self, *exception: object) -> None:
        for done in self.reached():
            self._here.wait_event(done)

    def strips(self, across: int) -> Iterator[tuple[int, int]]:
        """From where to where each strip goes."""
        return matrix.strips(across, self._width)

    @contextmanager
    def room(self) -> Iterator[int]:
        """The next room's address; its stream is the current one meanwhile."""
        index = self._turn % len(self._streams)
        self._turn += 1
        with self._streams[index]:
            yield self._memory.data.ptr + index * self._size

    def product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool = False) -> None:
        """C ← A ⊗ B or C ⊕ A ⊗ B: a strip among others leaves to them what it cannot fill of the device."""
        if self._alone:
            self._ops.product(C, A, B, accumulate=accumulate)
        else:
            self._ops.multiply(self._ops.tile_table[0], C, A, B, accumulate=accumulate, whole=True)
        self._ops.pace(C.rows * A.columns * C.columns)

    def reached(self) -> list[Any]:
        """Events: what was begun so far is done."""
        return [stream.record() for stream in self._streams]


def wait(events: list[Any]) -> None:
    """What is begun on the current stream from now on comes after these."""
    import cupy

    stream = cupy.cuda.get_current_stream()
    for event in events:
        stream.wait_event(event)


_own = threading.local()


def _streams(device: int) -> list[Any]:
    """Streams on which work runs beside the caller's; each thread has its own, for one may be capturing a graph."""
    import cupy

    streams: dict[int, list[Any]] = _own.__dict__.setdefault("streams", {})
    if device not in streams:
        streams[device] = [cupy.cuda.Stream(non_blocking=True) for _ in range(UNDER_WAY)]
    return streams[device]
