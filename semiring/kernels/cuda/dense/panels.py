"""In-place products on panels: concurrent strips, each with its workspace and stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....algebra.ranges import steps
from .. import gpu
from ..library import cupy
from . import matrix, mirror
from .launches import Launches
from .matrix import Matrix
from .tiles import Tile

#: Concurrent strips; waves of the device that they fill together.
UNDER_WAY, FILLING = 6, 2
#: Columns from which the workspaces of all strips are limited to 3 % of the matrix.
LARGE = 16384


def left_mul(ops: Launches, D: Matrix, R: Matrix) -> None:
    with Strips(ops, R.rows, R.columns, R.ld) as strips:
        _columns_of_product(ops, strips, D, R)


def right_mul(ops: Launches, C: Matrix, D: Matrix) -> None:
    with Strips(ops, C.columns, C.rows, C.ld) as strips:
        for rows in strips.bounds(C.rows):
            with strips.workspace() as workspace:
                part = matrix.rows(C, *rows, ops.dtype.itemsize)
                strips.product(part, _copy_of(ops, part, workspace), D)


def eliminate(ops: Launches, D: Matrix, R: Matrix, C: Matrix, rest: Matrix) -> None:
    """R ← D ⊗ R; then rest ← rest ⊕ C ⊗ R and C ← C ⊗ D, from one copy of each strip of C.

    Only rest depends on R: strips of C begin while those of R finish.
    """
    with Strips(ops, D.rows, R.columns, R.ld) as strips:
        _columns_of_product(ops, strips, D, R)
        multiplied = strips.reached()
        for rows in strips.bounds(C.rows):
            with strips.workspace() as workspace:
                part = matrix.rows(C, *rows, ops.dtype.itemsize)
                was = _copy_of(ops, part, workspace)
                strips.product(part, was, D)
                gpu.follow(multiplied)
                strips.product(matrix.rows(rest, *rows, ops.dtype.itemsize), was, R, accumulate=True)


def eliminate_mirrored(ops: Launches, D: Matrix, R: Matrix, C: Matrix, rest: Matrix) -> None:
    """`eliminate` for R = Cᵀ and symmetric D and rest: rest up to its diagonal, then mirrored."""
    size = ops.dtype.itemsize
    with Strips(ops, D.rows, R.columns, R.ld) as strips:
        _columns_of_product(ops, strips, D, R)
        multiplied = strips.reached()
        for start, stop in reversed(list(strips.bounds(C.rows))):  # the longest first
            with strips.workspace():
                gpu.follow(multiplied)
                part, columns = matrix.rows(rest, start, stop, size), matrix.columns(R, 0, stop, size)
                part = matrix.columns(part, 0, stop, size)
                strips.product(part, matrix.rows(C, start, stop, size), columns, accumulate=True)
    mirror.turn(rest, rest, size, upper=True)
    mirror.turn(C, R, size)


def _columns_of_product(ops: Launches, strips: Strips, D: Matrix, R: Matrix) -> None:
    for columns in strips.bounds(R.columns):
        with strips.workspace() as workspace:
            part = matrix.columns(R, *columns, ops.dtype.itemsize)
            product = _in_workspace(part, workspace)
            strips.product(product, D, part)
            ops.copy_rows(part, product)


def _copy_of(ops: Launches, part: Matrix, workspace: int) -> Matrix:
    copy = _in_workspace(part, workspace)
    ops.copy_rows(copy, part)
    return copy


def _in_workspace(part: Matrix, workspace: int) -> Matrix:
    return Matrix(workspace, part.columns, part.rows, part.columns)


def sizes(tile: Tile, multiprocessors: int, along: int, across: int, ld: int) -> tuple[int, int]:
    """Strip width of a panel with `across` rows (columns), and number of concurrent workspaces.

    `along` is the panel's other side, `ld` the leading dimension of its matrix. Widths are multiples of `tile.bn`.
    """
    most = max(1, FILLING * multiprocessors * tile.blocks // (UNDER_WAY * -(-along // tile.bm)))
    tiles_at_once = UNDER_WAY * most
    if ld >= LARGE:
        tiles_at_once = 3 * ld * ld // (100 * along * tile.bn)
        most = max(1, min(most, tiles_at_once // UNDER_WAY))
    count = -(-across // (most * tile.bn))
    width = matrix.evenly(across, count, tile.bn)
    return width, max(1, min(UNDER_WAY, count, tiles_at_once // -(-width // tile.bn)))


class Strips:
    """Workspaces for strips of a panel, each serialised by its stream."""

    def __init__(self, ops: Launches, along: int, across: int, ld: int) -> None:
        self._ops = ops
        self._width, count = sizes(ops.tile_table[0], ops.multiprocessors, along, across, ld)
        self._alone = self._width >= across
        self._size = along * self._width * ops.dtype.itemsize
        self._memory = cupy.empty(count * self._size, np.uint8)
        self._here, self._streams = cupy.cuda.get_current_stream(), _streams(gpu.current())[:count]
        self._turn = 0

    def __enter__(self) -> Strips:
        begun = self._here.record()
        for stream in self._streams:
            stream.wait_event(begun)
        return self

    def __exit__(self, *exception: object) -> None:
        for done in self.reached():
            self._here.wait_event(done)

    def bounds(self, across: int) -> list[tuple[int, int]]:
        return steps(across, self._width)

    @contextmanager
    def workspace(self) -> Iterator[int]:
        """Address of the next workspace, with its stream as the current one."""
        index = self._turn % len(self._streams)
        self._turn += 1
        with self._streams[index]:
            yield self._memory.data.ptr + index * self._size

    def product(self, C: Matrix, A: Matrix, B: Matrix, *, accumulate: bool = False) -> None:
        """C ← A ⊗ B or C ⊕ A ⊗ B; concurrent strips fill the device together."""
        if self._alone:
            self._ops.product(C, A, B, accumulate=accumulate)
        else:
            self._ops.multiply(self._ops.tile_table[0], C, A, B, accumulate=accumulate, unsplit=True)
        self._ops.pace(C.rows * A.columns * C.columns)

    def reached(self) -> list[Any]:
        """Events after all work begun so far."""
        return [stream.record() for stream in self._streams]


def side_by_side(works: Sequence[Callable[[], None]]) -> None:
    """Run each on its own stream, as far as there are; the current stream continues after all."""
    here, streams = cupy.cuda.get_current_stream(), _streams(gpu.current())[: len(works)]
    begun = here.record()
    for stream in streams:
        stream.wait_event(begun)
    for index, work in enumerate(works):
        with streams[index % len(streams)]:
            work()
    for stream in streams:
        here.wait_event(stream.record())


_own = threading.local()


def _streams(device: int) -> list[Any]:
    """Per-thread streams for concurrent work: another thread may be capturing a graph."""
    streams: dict[int, list[Any]] = _own.__dict__.setdefault("streams", {})
    if device not in streams:
        streams[device] = [cupy.cuda.Stream(non_blocking=True) for _ in range(UNDER_WAY)]
    return streams[device]
