"""Sparse products, row by row (Gustavson 1978, "Two fast algorithms for sparse matrices"): counts, then entries.

Indices are 32 or 64 bits wide, starts 64. C is written in place: per row, a table maps each column met to its entry of
C. Tables are not cleared between rows, since entries of earlier rows lie further left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import kernel as own
from ..instructions import Array
from ..intrinsics import itemsize, jump, kernel, load, part, plus, store, times, zero
from ..kinds import Kind


@own
def arrange(keys: Array, starts: Array, order: Array) -> None:
    """Counting sort: order ← stable order of keys 0 … len(starts) − 2; starts (zeros) ← start of each key."""
    for p in range(len(keys)):
        starts[keys[p] + 1] += 1
    for c in range(1, len(starts)):
        starts[c] += starts[c - 1]
    for p in range(len(keys)):
        c = keys[p]
        order[starts[c]] = p
        starts[c] += 1
    for c in range(len(starts) - 1, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0


@own
def count_products(a_starts: Array, a_indices: Array, lengths: Array, products: Array, start: int, stop: int) -> None:
    """products[i] ← products of row i of A ⊗ B, start ≤ i < stop; `lengths` are those of B's rows."""
    for i in range(start, stop):
        total = 0
        for p in range(a_starts[i], a_starts[i + 1]):
            total += lengths[np.uint64(a_indices[np.uint64(p)])]
        products[i] = total


@own
def count_entries(
    a_starts: Array, a_indices: Array, b_starts: Array, b_indices: Array, mask_starts: Array, mask_indices: Array,
    factor: int, shift: int, seen: Array, keys: Array, counts: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """counts[i] ← entries of row i of A ⊗ B outside the mask, start ≤ i < stop.

    `seen` is initially −1, then holds numbers of earlier rows. Without a shift it has a slot per column; else it is a
    hash table of a power of two slots, hashed by `factor` and `shift`, with its columns in `keys`.
    """
    last = np.uint64(len(seen) - 1)
    for i in range(start, stop):
        stamp, count = i, 0
        if shift == 0:
            for q in range(mask_starts[i], mask_starts[i + 1]):
                seen[np.uint64(mask_indices[np.uint64(q)])] = stamp
            for p in range(a_starts[i], a_starts[i + 1]):
                k = a_indices[np.uint64(p)]
                for q in range(b_starts[k], b_starts[k + 1]):
                    slot = np.uint64(b_indices[np.uint64(q)])
                    count += seen[slot] != stamp
                    seen[slot] = stamp
        else:
            blocked = 0
            for turn in range(2):
                first, end = (mask_starts[i], mask_starts[i + 1]) if turn == 0 else (a_starts[i], a_starts[i + 1])
                for p in range(first, end):
                    q, stop_q = p, p + 1
                    if turn == 1:
                        k = a_indices[np.uint64(p)]
                        q, stop_q = b_starts[k], b_starts[k + 1]
                    while q < stop_q:
                        c = mask_indices[np.uint64(q)] if turn == 0 else b_indices[np.uint64(q)]
                        slot = np.uint64(np.uint32(np.uint32(c) * np.uint32(factor)) >> np.uint32(shift))
                        while seen[slot] == stamp and keys[slot] != c:
                            slot = (slot + np.uint64(1)) & last
                        if seen[slot] != stamp:
                            seen[slot], keys[slot] = stamp, c
                            count += 1
                        q += 1
                if turn == 0:
                    blocked = count
            count -= blocked
        counts[i] = count


@part
def slot_of(table: Array, keys: Array, factor: int, shift: int, j: int, row: int, blocked: int) -> Any:
    """Slot of column j by linear probing; a slot is free if less than `row` and not `blocked`."""
    slot = np.uint64(j)
    if shift != 0:
        slot = np.uint64(np.uint32(np.uint32(j) * np.uint32(factor)) >> np.uint32(shift))
        while (table[slot] >= row or table[slot] == blocked) and keys[slot] != j:
            slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    return slot


@kernel
def multiply_rows(
    kind: Kind, a_starts: Array, a_indices: Array, a: int, b_starts: Array, b_indices: Array, b: int,
    mask_starts: Array, mask_indices: Array, factor: int, shift: int, table: Array, keys: Array, counts: Array,
    c_indices: Array, c: int, free: int, start: int, stop: int,
) -> None:  # fmt: skip
    """Rows start … stop − 1 of C ← A ⊗ B off the mask, from entry `free` of C on; counts[i] ← entries of row i.

    `table` is −1, or as earlier rows left it; see `count_entries`. `a`, `b` and `c` are addresses of entries.
    """
    size = itemsize(kind)
    plain = shift == 0 and len(mask_indices) == 0
    for i in range(start, stop):
        row = free
        blocked = -2 - i
        for q in range(mask_starts[i], mask_starts[i + 1]):
            j = mask_indices[np.uint64(q)]
            slot = slot_of(table, keys, factor, shift, j, row, blocked)
            table[slot] = blocked
            if shift != 0:
                keys[slot] = j
        for p in range(a_starts[i], a_starts[i + 1]):
            k = a_indices[np.uint64(p)]
            left = load(kind, a + p * size)
            if plain:
                for q in range(b_starts[k], b_starts[k + 1]):
                    j = np.uint64(b_indices[np.uint64(q)])
                    product = times(kind, left, load(kind, b + q * size))
                    where = table[j]
                    if where < row:
                        table[j] = free
                        c_indices[np.uint64(free)] = j
                        store(kind, c + free * size, product)
                        free += 1
                    else:
                        to = c + where * size
                        store(kind, to, plus(kind, load(kind, to), product))
                continue
            for q in range(b_starts[k], b_starts[k + 1]):
                j = b_indices[np.uint64(q)]
                slot = slot_of(table, keys, factor, shift, j, row, blocked)
                where = table[slot]
                product = times(kind, left, load(kind, b + q * size))
                if where >= row:
                    to = c + where * size
                    store(kind, to, plus(kind, load(kind, to), product))
                elif where != blocked:
                    table[slot] = free
                    c_indices[np.uint64(free)] = j
                    store(kind, c + free * size, product)
                    if shift != 0:
                        keys[slot] = j
                    free += 1
        counts[i] = free - row


@kernel
def multiply_masked(
    kind: Kind, a_starts: Array, a_indices: Array, a: int, b_starts: Array, b_indices: Array, b: int, c_starts: Array,
    c_indices: Array, factor: int, shift: int, table: Array, keys: Array, met: Array, c: int, start: int, stop: int,
) -> None:  # fmt: skip
    """Rows start … stop − 1 of C ← A ⊗ B at C's positions; met[p] ← whether entry p has a product. `table` as above."""
    size = itemsize(kind)
    for i in range(start, stop):
        row = c_starts[i]
        for q in range(c_starts[i], c_starts[i + 1]):
            j = c_indices[np.uint64(q)]
            slot = slot_of(table, keys, factor, shift, j, row, row)
            if shift != 0:
                keys[slot] = j
            if table[slot] < row:
                table[slot] = q
                store(kind, c + q * size, zero(kind))
        if c_starts[i] == c_starts[i + 1]:
            continue
        for p in range(a_starts[i], a_starts[i + 1]):
            k = a_indices[np.uint64(p)]
            left = load(kind, a + p * size)
            for q in range(b_starts[k], b_starts[k + 1]):
                where = table[slot_of(table, keys, factor, shift, b_indices[np.uint64(q)], row, row)]
                if where >= row:
                    to = c + where * size
                    store(kind, to, plus(kind, load(kind, to), times(kind, left, load(kind, b + q * size))))
                    met[np.uint64(where)] = True


@kernel
def gather_rows(
    tile: int, size: int, starts: Array, indices: Array, a: int, x: int, pitch: int, y: int, y_pitch: int, lanes: int,
    mirrored: bool, start: int, stop: int,
) -> None:  # fmt: skip
    """Rows start … stop − 1 of Y ← A ⊗ X, or X ⊗ A if not mirrored, gathering X's rows of `lanes` entries.

    `tile` is the address of `sparse.hubs.combine_strip` for the kind, which keeps the sums in registers.
    """
    for i in range(start, stop):
        p = starts[i]
        count = starts[i + 1] - p
        jump(
            tile, (mirrored, 1, lanes, count, indices.ctypes.data + 4 * p, x, pitch, a + p * size, y + i * y_pitch)
        )  # fmt: skip


@kernel
def gather_column(
    kind: Kind, starts: Array, indices: Array, a: int, x: int, columns: int, y: int, mirrored: bool, start: int,
    stop: int,
) -> bool:  # fmt: skip
    """Entries start … stop − 1 of y ← A ⊗ x, or x ⊗ A if not mirrored.

    False at an index not below `columns`, or at a start that is less than the one before it, or beyond the entries.
    """
    size, count = itemsize(kind), len(indices)
    p = starts[np.uint64(start)]
    for i in range(start, stop):
        total = zero(kind)
        end = starts[np.uint64(i) + np.uint64(1)]
        if p < 0 or end < p or end > count:
            return False
        while p < end:
            k = np.uint64(indices[np.uint64(p)])
            if k >= np.uint64(columns):
                return False
            left, right = load(kind, a + p * size), load(kind, x + np.int64(k) * size)
            total = plus(kind, total, times(kind, left, right) if mirrored else times(kind, right, left))
            p += 1
        store(kind, y + i * size, total)
    return True


@kernel
def largest_magnitude(words: Array, start: int, stop: int) -> int:
    """Largest of words start … stop − 1 without their sign bit: of floats, beyond ∞'s where one is NaN."""
    largest = 0
    most = np.iinfo(words.dtype).max
    for p in range(start, stop):
        largest = max(largest, words[np.uint64(p)] & most)
    return largest
