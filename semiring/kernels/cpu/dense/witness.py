"""(C, K) ← A ⊗ B with K[i,j] the smallest k that attains C[i,j], on packed panels as in gemm.py; ⊕ must select.

A tile takes a group of k at once, compares each sum before and after, and records the first k of the last group that
changed it. `refine` then finds k within the group.
"""

from __future__ import annotations

from typing import Any

from ..intrinsics import (
    DEPTH,
    first_attaining,
    group_depth,
    itemsize,
    jump,
    kernel,
    left_itemsize,
    load,
    load_index,
    part,
    store,
    store_index,
    tile_columns,
    tile_rows,
    tile_with_witness,
)


@part
def _copy(
    kind: Any, m: int, n: int, c: int, c_row: int, w: int, w_row: int, to: int, row: int, wto: int, wrow: int
) -> None:
    size = itemsize(kind)
    for i in range(m):
        for j in range(n):
            store(kind, to + i * row + j * size, load(kind, c + i * c_row + j * size))
            store_index(wto + i * wrow + 4 * j, load_index(w + i * w_row + 4 * j))


@kernel
def panel(
    kind: Any, m: int, n: int, k0: int, depth: int, a: int, b: int, c: int, c_row: int, w: int, w_row: int, work: int
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
    pack: int,
    panel: int,
    columns: int,
    size: int,
    packed: int,
    padded: int,
    i0: int,
    j0: int,
    m: int,
    n: int,
    first: int,
    depth: int,
    a: int,
    a_row: int,
    a_col: int,
    c: int,
    c_row: int,
    w: int,
    w_row: int,
    buffer: int,
    slab: int,
) -> None:
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
    kind: Any,
    m: int,
    n: int,
    depth: int,
    a: int,
    a_row: int,
    b: int,
    b_row: int,
    c: int,
    c_row: int,
    w: int,
    w_row: int,
) -> None:
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
