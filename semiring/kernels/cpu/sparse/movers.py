"""Type-agnostic copies by entry size: squares, strips of fronts, transposes."""

from __future__ import annotations

from ..instructions import Array, Builder, Flag, Int, instruction
from ..intrinsics import copy_vectors, itemsize, kernel, load, move, store
from ..kinds import Kind
from ..vectors import I64, Vectors, loop, stream, transposed
from .strips import STRIP


@kernel
def copy_square(
    kind: Kind, n: int, columns: int, source: int, row: int, col: int, target: int, to_row: int, to_col: int
) -> None:
    """Copy n × n entries between strides, repeating the last column up to `columns`."""
    move(kind, n, n, source, row, col, target, to_row, to_col)
    for j in range(n, columns):
        move(kind, n, 1, source + (n - 1) * col, row, col, target + j * to_col, to_row, to_col)


@instruction
def strip_down(builder: Builder, kind: Kind, m: Int, source: Int, row: Int, target: Int) -> None:
    v = Vectors(builder, kind, lanes=STRIP)
    with loop(builder, I64(0), m) as i:
        x = v.load(builder.add(source, builder.mul(i, row)))
        v.store(x, builder.add(target, builder.mul(i, I64(STRIP * kind.itemsize))))


@instruction
def strip_across(builder: Builder, kind: Kind, m: Int, source: Int, row: Int, target: Int) -> None:
    """STRIP rows of m entries, transposed; m is a multiple of STRIP."""
    v, size = Vectors(builder, kind, lanes=STRIP), kind.itemsize
    with loop(builder, I64(0), builder.sdiv(m, I64(STRIP))) as i:
        here = builder.add(source, builder.mul(i, I64(STRIP * size)))
        square = builder.add(target, builder.mul(i, I64(STRIP * STRIP * size)))
        rows = [v.load(builder.add(here, builder.mul(row, I64(k)))) for k in range(STRIP)]
        for k, column in enumerate(transposed(builder, rows)):
            v.store(column, square, k * STRIP * size)


@instruction
def _side(builder: Builder, kind: Kind) -> Int:
    return I64(kind.lanes if kind.itemsize > 1 else 1)


@kernel
def collect(kind: Kind, count: int, index: Array, source: int, target: int) -> None:
    size = itemsize(kind)
    for k in range(count):
        store(kind, target + k * size, load(kind, source + index[k] * size))


@kernel
def copy_entries(kind: Kind, count: int, source: int, target: int) -> None:
    for k in range(count):
        store(kind, target + k * itemsize(kind), load(kind, source + k * itemsize(kind)))


@kernel
def take_apart(
    kind: Kind, by_vectors: bool, w: int, m: int, front: int, wide: int, lower: int, upper: int, update: int
) -> None:
    """[D; L] and [D U]ᵀ of an eliminated front, in strips, and the update. Rows of the front are `wide` bytes apart.

    `by_vectors`: rows are full vectors, read and written as such.
    """
    size, r = itemsize(kind), m - w
    for j in range(0, w, STRIP):
        columns = min(STRIP, w - j)
        done_lower = done_upper = 0
        if columns == STRIP:
            done_lower, done_upper = m, m // STRIP * STRIP
            strip_down(kind, m, front + j * size, wide, lower + j * m * size)
            strip_across(kind, done_upper, front + j * wide, wide, upper + j * m * size)
        for k in range(columns):
            for i in range(done_lower, m):
                store(kind, lower + (j * m + i * columns + k) * size, load(kind, front + i * wide + (j + k) * size))
            for i in range(done_upper, m):
                store(kind, upper + (j * m + i * columns + k) * size, load(kind, front + (j + k) * wide + i * size))
    for i in range(r):  # excess of a row is overwritten by the next
        source, target = front + (w + i) * wide + w * size, update + i * r * size
        if by_vectors:
            copy_vectors(kind, r, source, target)
        else:
            for j in range(r):
                store(kind, target + j * size, load(kind, source + j * size))


@instruction
def transpose_tile(
    builder: Builder, kind: Kind, source: Int, source_row: Int, target: Int, target_row: Int, streamed: Flag
) -> None:
    """Transpose a square tile, with non-temporal stores if `streamed`."""
    count = kind.lanes if kind.itemsize > 1 else 1
    v = Vectors(builder, kind, lanes=count)
    rows = [v.load(builder.add(source, builder.mul(I64(i), source_row))) for i in range(count)]
    rows = transposed(builder, rows)
    with builder.if_else(streamed) as (past, near):
        for branch, put in ((past, lambda *to: stream(v, *to)), (near, v.store)):
            with branch:
                for i in range(count):
                    put(rows[i], builder.add(target, builder.mul(I64(i), target_row)))


@kernel
def transpose(kind: Kind, m: int, n: int, source: int, source_row: int, target: int, target_row: int) -> None:
    """Bᵀ of m × n entries, in cached pieces; non-temporal stores if B is vector-aligned."""
    size, side = itemsize(kind), _side(kind)
    streamed = target % (side * size) == 0 and target_row % (side * size) == 0
    for top in range(0, m, 16 * side):
        bottom = min(top + 16 * side, m)
        for j in range(0, n, side):
            i = top
            if j + side <= n:
                while i + side <= bottom:
                    transpose_tile(
                        kind, source + i * source_row + j * size, source_row,
                        target + j * target_row + i * size, target_row, streamed,
                    )  # fmt: skip
                    i += side
            for a in range(i, bottom):
                for b in range(j, min(j + side, n)):
                    value = load(kind, source + a * source_row + b * size)
                    store(kind, target + b * target_row + a * size, value)
