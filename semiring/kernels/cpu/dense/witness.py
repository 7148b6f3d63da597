"""(C, K) ← A ⊗ B with K[i,j] the smallest k that attains C[i,j], on packed panels as in gemm.py; ⊕ must select.

A tile takes a group of k at once, compares each sum before and after, and records the first k of the last group that
changed it. `refine` then finds k within the group.
"""

from __future__ import annotations

from llvmlite import ir

from ....host.types import Function
from ..instructions import Builder, Entry, Int, Value, instruction
from ..intrinsics import (
    itemsize,
    jump,
    kernel,
    left_itemsize,
    load,
    load_index,
    part,
    plus,
    store,
    store_index,
    tile_columns,
    tile_rows,
    times,
)
from ..kinds import Kind, imaged, left_size
from ..vectors import I32, I64, Vectors, compare, emit, opaque, splat
from .gemm import DEPTH


@instruction
def group_depth(builder: Builder, kind: Kind) -> Int:
    """Unroll factor along k of the witness product, a constant."""
    return I64(kind.group)


@instruction(generic=lambda kind: _generic_tile_with_witness(kind))
def tile_with_witness(
    builder: Builder, kind: Kind, k0: Int, depth: Int, a: Int, b: Int, c: Int, c_row: Int, w: Int, w_row: Int
) -> None:
    """C ← C ⊕ A ⊗ B on one tile, packed as for `tile`; K ← k0 + the first k of a group where that changes C.

    The last group of k overlaps the one before; below one group, each k is repeated: ⊕ is idempotent.
    """
    group = kind.group
    v, (rows, vectors, width), size = Vectors(builder, kind, image=True), kind.tile, kind.itemsize
    left = left_size(size)
    index = ir.VectorType(ir.IntType(8 * size), kind.lanes)
    cells = [(i, j) for i in range(rows) for j in range(vectors)]
    targets = [builder.add(c, builder.mul(c_row, I64(i))) for i in range(rows)]
    indices = [builder.add(w, builder.mul(w_row, I64(i))) for i in range(rows)]
    several = builder.icmp_signed(">=", depth, I64(group))
    by = builder.select(several, I64(group), I64(1))
    last = builder.sub(depth, by)
    apart_a, apart_b = (builder.select(several, I64(x), I64(0)) for x in (left, vectors * width))
    for i, j in cells:  # C and K are far away, and needed only after the loop
        v.prefetch(targets[i], j * width)
        v.prefetch(indices[i], j * kind.lanes * 4)
    before = builder.block
    body, finish = builder.append_basic_block("k"), builder.append_basic_block("finish")
    builder.branch(body)
    builder.position_at_end(body)
    k = builder.phi(I64)
    k.add_incoming(I64(0), before)
    C = {cell: builder.phi(v.type) for cell in cells}
    K = {cell: builder.phi(index) for cell in cells}
    now = builder.select(builder.icmp_signed("<", k, last), k, last)
    number = splat(builder, builder.trunc(now, index.element) if size < 8 else now, kind.lanes)
    pa, pb = [builder.add(a, builder.mul(now, I64(left)))], [builder.add(b, builder.mul(now, I64(vectors * width)))]
    for _ in range(group - 1):
        pa.append(builder.add(pa[-1], apart_a))
        pb.append(builder.add(pb[-1], apart_b))
    B = [[v.load(address, j * width, align=width) for j in range(vectors)] for address in pb]
    sums, noted = dict(C), {}
    for i in range(rows):  # row by row: few old sums are live at a time
        for e in range(group):
            A = v.splat_left(pa[e], i * DEPTH * left)
            for j in range(vectors):
                sums[i, j] = v.step(sums[i, j], A, B[e][j])
        for j in range(vectors):
            noted[i, j] = builder.select(_differ(builder, sums[i, j], C[i, j]), number, K[i, j])
    onwards = builder.add(k, by)
    for cell in cells:
        for phi, start, value in (
            (C[cell], v.zero(), sums[cell]),
            (K[cell], ir.Constant(index, None), noted[cell]),
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
    k.add_incoming(onwards, body)
    builder.cbranch(builder.icmp_signed("<", onwards, depth), body, finish)
    builder.position_at_end(finish)
    short = ir.VectorType(I32, kind.lanes)
    first = splat(builder, builder.trunc(k0, I32), kind.lanes)
    for i, j in cells:
        old = v.load(targets[i], j * width, type=v.plain)
        total = emit(builder, kind.add, sums[i, j], old)
        v.store(total, targets[i], j * width)
        found = noted[i, j]
        if size != 4:
            found = builder.zext(found, short) if size < 4 else builder.trunc(found, short)
        held = v.load(indices[i], j * kind.lanes * 4, type=short, align=4)
        changed = builder.select(_differ(builder, total, old), builder.add(found, first), held)
        pointer = builder.inttoptr(builder.add(indices[i], I64(j * kind.lanes * 4)), short.as_pointer())
        builder.store(opaque(builder, changed), pointer).align = 4


@instruction
def first_attaining(builder: Builder, kind: Kind, x: Int, y: Int, best: Entry) -> Int:
    """The first e of a group with x[e] ⊗ y[e] = best, else the group's size."""
    lanes = kind.group if kind.vector else 1
    v, found = Vectors(builder, kind, lanes=lanes), I64(kind.group)
    for e in reversed(range(0, kind.group, lanes)):
        products = v.product(*(v.load(address, e * kind.itemsize) for address in (x, y)))
        equal = builder.bitcast(compare(builder, kind, "==", products, v.splat(best)), ir.IntType(lanes))
        if kind.vector:
            return builder.cttz(builder.zext(equal, I64), ir.IntType(1)(0))
        found = builder.select(equal, I64(e), found)
    return found


def _differ(builder: Builder, x: Value, y: Value) -> Value:
    if isinstance(x.type.element, ir.IntType):
        return builder.icmp_signed("!=", x, y)
    return builder.fcmp_ordered("!=", x, y)


def _generic_tile_with_witness(kind: Kind) -> Function:
    size, left, rows, columns = kind.itemsize, left_size(kind.itemsize), kind.tile.rows, kind.columns

    def scalars(kind: Kind, k0: int, depth: int, a: int, b: int, c: int, c_row: int, w: int, w_row: int) -> None:
        for i in range(rows):
            for k in range(depth):
                for j in range(columns):
                    target = c + i * c_row + j * size
                    before = load(kind, target)
                    x, y = load(kind, a + (i * DEPTH + k) * left), load(kind, b + (k * columns + j) * size)
                    total = plus(kind, before, times(kind, x, y))
                    if total != before:
                        store(kind, target, total)
                        store_index(w + i * w_row + 4 * j, k0 + k)

    return scalars


@part
def _copy(
    kind: Kind, m: int, n: int, c: int, c_row: int, w: int, w_row: int, to: int, row: int, wto: int, wrow: int
) -> None:
    size = itemsize(kind)
    for i in range(m):
        for j in range(n):
            store(kind, to + i * row + j * size, load(kind, c + i * c_row + j * size))
            store_index(wto + i * wrow + 4 * j, load_index(w + i * w_row + 4 * j))


@imaged
@kernel
def panel(
    kind: Kind, m: int, n: int, k0: int, depth: int, a: int, b: int, c: int, c_row: int, w: int, w_row: int, work: int
) -> None:
    """C ← C ⊕ A ⊗ B on at most one tile's columns, K where C changes: A a packed slab, B one packed panel.

    Their first k is k0. `work` holds a tile of C and one of K.
    """
    rows, columns, size = tile_rows(kind), tile_columns(kind), itemsize(kind)
    row, wbuffer = columns * size, work + rows * columns * size
    for i in range(0, m, rows):
        pa, target, wtarget = a + i * DEPTH * left_itemsize(size), c + i * c_row, w + i * w_row
        if i + rows <= m and n == columns:
            tile_with_witness(kind, k0, depth, pa, b, target, c_row, wtarget, w_row)
        else:
            high = min(rows, m - i)
            _copy(kind, high, n, target, c_row, wtarget, w_row, work, row, wbuffer, 4 * columns)
            tile_with_witness(kind, k0, depth, pa, b, work, row, wbuffer, 4 * columns)
            _copy(kind, high, n, work, row, wbuffer, 4 * columns, target, c_row, wtarget, w_row)


@kernel
def block(
    pack: int, panel: int, columns: int, size: int, packed: int, padded: int, i0: int, j0: int, m: int, n: int,
    first: int, depth: int, a: int, a_row: int, a_col: int, c: int, c_row: int, w: int, w_row: int, buffer: int,
    slab: int,
) -> None:  # fmt: skip
    """Rows i0 … i0 + m and columns j0 … j0 + n of C and K, as `gemm.block`; B comes packed, from row `first` on.

    `buffer` holds two tiles, `slab` a packed slab of A.
    """
    for k0 in range(0, depth, DEPTH):
        kc, before = min(DEPTH, depth - k0), packed + k0 * padded * size
        jump(pack, (True, m, 0, m, kc, a + i0 * a_row + k0 * a_col, a_row, a_col, slab))
        for j in range(j0, j0 + n, columns):
            target, wtarget = c + i0 * c_row + j * size, w + i0 * w_row + 4 * j
            wide = min(columns, j0 + n - j)
            # fmt: off
            jump(panel, (
                m, wide, first + k0, kc, slab, before + j * kc * size, target, c_row, wtarget, w_row, buffer,
            ))
            # fmt: on


@kernel
def refine(
    kind: Kind, m: int, n: int, depth: int, a: int, a_row: int, b: int, b_row: int, c: int, c_row: int, w: int,
    w_row: int,
) -> None:  # fmt: skip
    """K ← the first k of its group that attains C; A and the transposed B have contiguous rows."""
    size, group = itemsize(kind), group_depth(kind)
    for j0 in range(0, n, 64):  # keeps the operands of a block of entries in cache
        for i in range(m):
            for j in range(j0, min(j0 + 64, n)):
                target = w + i * w_row + 4 * j
                first = load_index(target)
                if first >= 0:
                    start = min(first, depth - group)  # no k before the group's first attains C
                    if start >= 0:
                        x, y = a + i * a_row + start * size, b + j * b_row + start * size
                        found = first_attaining(kind, x, y, load(kind, c + i * c_row + j * size))
                        if found < group:
                            store_index(target, start + found)
