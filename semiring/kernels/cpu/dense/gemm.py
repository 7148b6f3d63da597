"""C ← C ⊕ A ⊗ B on packed panels (Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication").

Arguments but the kind are addresses, sizes and byte strides, so that one compilation serves every layout. Only `panel`
depends on the operations, `pack` on what is packed; `block` calls both by address.

Along the depth, packing cuts an operand into slabs of DEPTH, and a slab into panels as high, or as wide, as a tile. A
panel of A holds its rows with a stride of DEPTH entries; one of B holds, for each k, its `columns` entries. With
`padded` the rows or columns in full panels and kc ≤ DEPTH the depth, entry (i, k) of A's slab at k0 lies at k0 · padded
+ i · DEPTH + k, in units of `left_itemsize`; entry (k, j) of B's panel at j0 at k0 · padded + j0 · kc + k · columns +
j.
"""

from __future__ import annotations

from ....host.types import Function
from ..instructions import Builder, Int, instruction
from ..intrinsics import (
    clear,
    itemsize,
    jump,
    kernel,
    left_itemsize,
    load,
    move,
    move_left,
    part,
    plus,
    row,
    store,
    tile_columns,
    tile_rows,
)
from ..kinds import Kind, imaged, left_size
from ..vectors import I64, Vectors, emit

#: Depth of packed panels. B's panel, DEPTH × columns, stays in the nearest caches.
DEPTH = 256


@instruction(generic=lambda kind: _generic_tile(kind))
def tile(
    builder: Builder, kind: Kind, depth: Int, a: Int, b: Int, old: Int, old_row: Int, out: Int, out_row: Int
) -> None:
    """out ← old ⊕ A ⊗ B on one tile: A a packed panel of `rows`, B one of `columns`, `depth` ≤ DEPTH deep.

    The accumulators start at 0, and `old` is added last, so that the loop holds only loads, ⊗ and ⊕.
    """
    v, (rows, vectors, width), size = Vectors(builder, kind, image=True), kind.tile, left_size(kind.itemsize)
    cells = [(i, j) for i in range(rows) for j in range(vectors)]
    sources = [builder.add(old, builder.mul(old_row, I64(i))) for i in range(rows)]
    targets = [builder.add(out, builder.mul(out_row, I64(i))) for i in range(rows)]
    for i, j in cells:  # C is far away, and needed only after the loop
        v.prefetch(sources[i], j * width)
    before = builder.block
    body, finish = builder.append_basic_block("k"), builder.append_basic_block("finish")
    builder.branch(body)
    builder.position_at_end(body)
    k, pa, pb = (builder.phi(I64) for _ in range(3))
    C = {cell: builder.phi(v.type) for cell in cells}
    for phi, start in [(k, I64(0)), (pa, a), (pb, b), *((phi, v.zero()) for phi in C.values())]:
        phi.add_incoming(start, before)
    B = [v.load(pb, j * width, align=width) for j in range(vectors)]
    A = [v.splat_left(pa, i * DEPTH * size) for i in range(rows)]
    stepped = {(i, j): v.step(C[i, j], A[i], B[j]) for i, j in cells}
    onwards = [(phi, builder.add(phi, I64(by))) for phi, by in ((k, 1), (pa, size), (pb, vectors * width))]
    for phi, value in [*onwards, *((C[cell], stepped[cell]) for cell in cells)]:
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", onwards[0][1], depth), body, finish)
    builder.position_at_end(finish)
    for i, j in cells:
        total = emit(builder, kind.add, v.from_image(stepped[i, j]), v.load(sources[i], j * width, type=v.plain))
        v.store(total, targets[i], j * width)


def _generic_tile(kind: Kind) -> Function:
    size, left, rows, columns = kind.itemsize, left_size(kind.itemsize), kind.tile.rows, kind.columns

    def scalars(kind: Kind, depth: int, a: int, b: int, old: int, old_row: int, out: int, out_row: int) -> None:
        for i in range(rows):
            target = out + i * out_row
            for j in range(columns):
                store(kind, target + j * size, load(kind, old + i * old_row + j * size))
            for k in range(depth):
                row(kind, columns, target, load(kind, a + (i * DEPTH + k) * left), b + k * columns * size)

    return scalars


@part
def _pack_rows(kind: Kind, m: int, kc: int, source: int, row: int, col: int, target: int) -> None:
    """Pack a slab of A. A ragged panel repeats its last row; results of the copies are never stored."""
    rows, size = tile_rows(kind), left_itemsize(itemsize(kind))
    move_left(kind, m, kc, source, row, col, target, DEPTH * size, size)
    for i in range(m, -(-m // rows) * rows):
        move_left(kind, 1, kc, source + (m - 1) * row, row, col, target + i * DEPTH * size, 0, size)


@part
def _pack_columns(kind: Kind, n: int, kc: int, source: int, row: int, col: int, target: int) -> None:
    """Pack a slab of B. A ragged panel repeats its last column."""
    columns, size = tile_columns(kind), itemsize(kind)
    for j in range(0, n, columns):
        here, first, wide = min(columns, n - j), source + j * col, columns * size
        if col == size:
            move(kind, kc, here, first, row, col, target, wide, size)
        else:  # transposed in pieces that keep the 16 rows being written in the L1 cache
            for k in range(0, kc, 16):
                move(kind, here, min(16, kc - k), first + k * row, col, row, target + k * wide, size, wide)
        for i in range(here, columns):
            move(kind, kc, 1, first + (here - 1) * col, row, col, target + i * size, wide, size)
        target += kc * wide


@kernel
def pack(
    kind: Kind, left: bool, padded: int, start: int, count: int, depth: int, source: int, row: int, col: int,
    target: int,
) -> None:  # fmt: skip
    """Pack `count` rows of A (`left`) or columns of B, from `start` on, to their full depth."""
    size = left_itemsize(itemsize(kind)) if left else itemsize(kind)
    source += start * (row if left else col)
    for k0 in range(0, depth, DEPTH):
        kc, slab = min(DEPTH, depth - k0), target + k0 * padded * size
        if left:
            _pack_rows(kind, count, kc, source + k0 * col, row, col, slab + start * DEPTH * size)
        else:
            _pack_columns(kind, count, kc, source + k0 * row, row, col, slab + start * kc * size)


@part
def _meet(
    kind: Kind, m: int, n: int, source: int, source_row: int, c: int, c_row: int, c_col: int, fresh: bool
) -> None:
    """C ← C ⊕ S, or C ← S if fresh, entry by entry: at edges of C, or for strided rows."""
    size = itemsize(kind)
    for i in range(m):
        for j in range(n):
            value, target = load(kind, source + i * source_row + j * size), c + i * c_row + j * c_col
            store(kind, target, value if fresh else plus(kind, load(kind, target), value))


@imaged
@kernel
def panel(
    kind: Kind, m: int, n: int, depth: int, a: int, b: int, c: int, c_row: int, c_col: int, fresh: bool, work: int
) -> None:
    """C ← C ⊕ A ⊗ B, or A ⊗ B if fresh, on at most one tile's columns: A a packed slab, B one packed panel.

    `work` holds a row of zeros and a tile.
    """
    rows, columns, size = tile_rows(kind), tile_columns(kind), itemsize(kind)
    nil, buffer = work, work + columns * size
    clear(kind, columns, nil)
    for i in range(0, m, rows):
        target = c + i * c_row
        full = i + rows <= m and n == columns and c_col == size
        # A tile that fits goes straight to C; one that does not goes through the buffer.
        out, out_row = (target, c_row) if full else (buffer, columns * size)
        old, old_row = (target, c_row) if full and not fresh else (nil, 0)
        tile(kind, depth, a + i * DEPTH * left_itemsize(size), b, old, old_row, out, out_row)
        if not full:
            _meet(kind, min(rows, m - i), n, buffer, columns * size, target, c_row, c_col, fresh)


@kernel
def block(
    pack: int, panel: int, rows: int, columns: int, size: int, left: bool, packed: int, padded: int, i0: int, j0: int,
    m: int, n: int, depth: int, a: int, a_row: int, a_col: int, c: int, c_row: int, c_col: int, fresh: bool, work: int,
) -> None:  # fmt: skip
    """C[i0:i0+m, j0:j0+n] ← C ⊕ A ⊗ B, or A ⊗ B if fresh.

    `pack` and `panel` are addresses of a kind's kernels with tiles of `rows` × `columns` entries of `size` bytes. One
    operand comes packed, A if `left`. The other, at `a`, is packed here slab by slab into `work`, behind a row of zeros
    and a tile.
    """
    slab, wide = work + columns * (1 + rows) * size, left_itemsize(size)
    for k0 in range(0, depth, DEPTH):
        kc, again = min(DEPTH, depth - k0), fresh and k0 == 0
        before = packed + k0 * padded * (wide if left else size)
        if left:
            jump(pack, (False, n, 0, n, kc, a + j0 * a_col + k0 * a_row, a_row, a_col, slab))
            pa, pb = before + i0 * DEPTH * wide, slab
        else:
            jump(pack, (True, m, 0, m, kc, a + i0 * a_row + k0 * a_col, a_row, a_col, slab))
            pa, pb = slab, before + j0 * kc * size
        for j in range(0, n, columns):
            target = c + i0 * c_row + (j0 + j) * c_col
            jump(panel, (m, min(columns, n - j), kc, pa, pb + j * kc * size, target, c_row, c_col, again, work))
