"""Symbolic kernels: counting sort, product and entry counts. Indices are 32 or 64 bits wide, starts 64."""

from __future__ import annotations

import numpy as np

from ..annotations import Array
from ..compile import kernel


@kernel
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


@kernel
def count_products(a_starts: Array, a_indices: Array, lengths: Array, products: Array, start: int, stop: int) -> None:
    """products[i] ← products of row i of A ⊗ B, start ≤ i < stop; `lengths` are those of B's rows."""
    for i in range(start, stop):
        total = 0
        for p in range(a_starts[i], a_starts[i + 1]):
            total += lengths[np.uint64(a_indices[np.uint64(p)])]
        products[i] = total


@kernel
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
