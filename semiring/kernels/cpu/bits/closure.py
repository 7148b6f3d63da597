"""Warshall's closure of packed bits, 64 pivots at a time, on planes, which products read without repacking."""

from __future__ import annotations

from ..compile import inner, kernel
from ..intrinsics import part
from .gemm import TABLES, accumulate_strip, build_tables
from .planes import INDICES, PLANES, STRIP, load_planes, plane_column, plane_indices, store_planes
from .vectors import any_word, byte_at, words_at


@part
def close_word(diagonal: int) -> None:
    d = words_at(diagonal)
    for k in range(64):
        d[k] |= 1 << k
    for k in range(64):
        pivot = d[k]
        for i in range(64):
            d[i] |= -((d[i] >> k) & 1) & pivot


@inner
def index_column(planes: int, strips: int, indices: int, masks: int) -> None:
    """Column of words → indices; masks[s]: whether strip s has a set bit."""
    strip_masks = words_at(masks)
    for s in range(strips):
        strip_masks[s] = 0
        for half in range(0, STRIP, 64):
            strip_masks[s] |= plane_indices(planes + s * PLANES + half, indices + s * INDICES + half)


@inner
def update_column(planes: int, strips: int, indices: int, masks: int, column: int, tables: int) -> None:
    """Column of words ← itself ∨ the table entries that the indices choose, tables built from 64 words."""
    strip_masks = words_at(masks)
    if any_word(column):
        build_tables(column, tables)
        for s in range(strips):
            if strip_masks[s]:
                accumulate_strip(planes + s * PLANES, indices + s * INDICES, tables, strip_masks[s])


@part
def close_planes(planes: int, n: int, spare: int) -> None:
    """A ← A* on planes. For each 64 pivots P: D = A[P, P]*; A[:, P] ← A[:, P] D; A ← A ∨ A[:, P] A[P, :].

    The last product may use the pivot rows from before it, since its left factor contains D.
    """
    words, strips = (n + 63) // 64, (n + STRIP - 1) // STRIP
    indices, tables = spare, spare + strips * INDICES
    column, masks = tables + TABLES, tables + TABLES + 512
    for k in range(n):  # A ← I ∨ A: bit k % 8 of byte k / 8 of row k
        address = planes + ((k >> 6) * strips + k // STRIP) * PLANES + (k >> 3 & 7) * STRIP + k % STRIP
        byte_at(address)[0] |= 1 << (k & 7)
    for w in range(words):
        here, pivots = planes + w * strips * PLANES, 64 * w // STRIP * PLANES + 64 * w % STRIP
        plane_column(here + pivots, column)
        close_word(column)
        index_column(here, strips, indices, masks)
        update_column(here, strips, indices, masks, column, tables)
        index_column(here, strips, indices, masks)
        for j in range(words):
            if j != w:
                other = planes + j * strips * PLANES
                plane_column(other + pivots, column)
                update_column(other, strips, indices, masks, column, tables)


@kernel
def close_block(D: int, ldd: int, n: int, work: int) -> None:
    """D ← D* of n rows, in `closure_bytes(n)` of workspace."""
    words, strips = (n + 63) // 64, (n + STRIP - 1) // STRIP
    spare = work + strips * words * PLANES
    load_planes(D, ldd, n, words, work, spare)
    close_planes(work, n, spare)
    store_planes(work, D, ldd, n, words, spare)


def closure_bytes(n: int) -> int:
    words, strips = -(-n // 64), -(-n // STRIP)
    return strips * words * PLANES + max(4608, strips * (INDICES + 8) + TABLES + 512)


@kernel
def or_pivot_row(A: int, lda: int, m: int, words: int, k: int, pivot: int) -> None:
    """A ← A ∨ A[:, k] ∧ pivot row; m rows of `words` words."""
    row = words_at(pivot)
    for i in range(m):
        x = words_at(A + i * lda)
        if (x[k >> 6] >> (k & 63)) & 1:
            for w in range(words):
                x[w] |= row[w]
