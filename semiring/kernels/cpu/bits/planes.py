"""Layouts of packed bits for table look-up: rows of words ↔ planes of bytes, and table indices.

Matrices are addresses and byte strides, so that one compilation, cached on disk, serves every layout; m counts rows and
n words.
- planes, of C: plane j of a strip of 128 rows holds byte j of a word, row after row (8 × 128 bytes a word);
- indices, of A: `GROUPS` vectors of 128 bytes a word; byte i of vector g is the g-th index of row i.
"""

from __future__ import annotations

from ..compile import inner, kernel
from ..instructions import Builder, Int, Value, instruction
from .vectors import (
    BYTES,
    GROUPS,
    I64,
    INDEX,
    WORDS,
    any_bit,
    clear,
    copy,
    load,
    shift_right,
    store,
    transpose_bytes,
    transpose_words,
    union,
)

STRIP = 128  # rows of C whose planes are contiguous
INDICES, PLANES = GROUPS * STRIP, 8 * STRIP  # bytes a word in each layout


@instruction
def spread(b: Builder, source: Int, stride: Int, target: Int, pitch: Int) -> None:
    """8 rows of 8 words → 8 registers, one a word, `pitch` bytes apart: byte q of row r at 8q + r."""
    rows = [load(b, b.add(source, b.mul(stride, I64(r))), WORDS) for r in range(8)]
    for w, word in enumerate(transpose_words(b, rows)):
        store(b, transpose_bytes(b, word), b.add(target, b.mul(pitch, I64(w))))


@instruction
def collect(b: Builder, source: Int, pitch: Int, target: Int, stride: Int) -> None:
    """Inverse of `spread`: 8 registers `pitch` bytes apart → 8 rows of 8 words."""
    words = [transpose_bytes(b, load(b, b.add(source, b.mul(pitch, I64(w))), WORDS)) for w in range(8)]
    for r, row in enumerate(transpose_words(b, words)):
        store(b, row, b.add(target, b.mul(stride, I64(r))))


@instruction
def exchange(b: Builder, source: Int, stride: Int, target: Int, pitch: Int) -> None:
    """Transpose 8 × 8 words: spread registers of one word (8 rows each) ↔ its planes (64 rows each)."""
    rows = [load(b, b.add(source, b.mul(stride, I64(r))), WORDS) for r in range(8)]
    for w, word in enumerate(transpose_words(b, rows)):
        store(b, word, b.add(target, b.mul(pitch, I64(w))))


def store_indices(b: Builder, words: list[Value], indices: Value) -> Value:
    """The 8 planes of one word, 64 rows, as `GROUPS` indices; returns whether any bit is set."""
    planes = [b.bitcast(x, BYTES) for x in words]
    if INDEX == 6:  # the top bit pairs of three planes make one more index; `vpermb` ignores them below
        for t, first in enumerate((0, 3, 6)):
            index = shift_right(b, planes[first], 6, 0b000011)
            index = b.or_(index, shift_right(b, planes[first + 1], 4, 0b001100))
            if first + 2 < 8:
                index = b.or_(index, shift_right(b, planes[first + 2], 2, 0b110000))
            store(b, index, indices, STRIP * (8 + t))
    for p, plane in enumerate(planes):
        if INDEX == 4:
            store(b, shift_right(b, plane, 4, 15), indices, STRIP * (8 + p))
            plane = shift_right(b, plane, 0, 15)
        store(b, plane, indices, STRIP * p)
    return any_bit(b, union(b, words))


@instruction
def exchange_indices(b: Builder, source: Int, indices: Int) -> Int:
    """`exchange` 64 rows of one word of A straight into indices; returns whether any bit is set."""
    words = transpose_words(b, [load(b, source, WORDS, 64 * r) for r in range(8)])
    return store_indices(b, words, indices)


@instruction
def plane_indices(b: Builder, planes: Int, indices: Int) -> Int:
    return store_indices(b, [load(b, planes, WORDS, STRIP * p) for p in range(8)], indices)


@instruction
def plane_column(b: Builder, planes: Int, column: Int) -> None:
    registers = transpose_words(b, [load(b, planes, WORDS, STRIP * p) for p in range(8)])
    for a, rows in enumerate(registers):
        store(b, transpose_bytes(b, rows), column, 64 * a)


@kernel
def copy_words(source: int, stride: int, target: int, pitch: int, rows: int, words: int) -> None:
    for r in range(rows):
        copy(source + r * stride, target + r * pitch, 8 * words)


@inner
def spread_rows(source: int, stride: int, rows: int, words: int, target: int, edge: int) -> None:
    """`spread` 64 rows × 8 words, zero-padded beyond `rows` and `words`."""
    for a in range(8):
        here, left = source + 8 * a * stride, rows - 8 * a
        if left >= 8 and words >= 8:
            spread(here, stride, target + 64 * a, 512)
        else:
            clear(edge, 512)
            copy_words(here, stride, edge, 64, max(0, min(left, 8)), min(words, 8))
            spread(edge, 64, target + 64 * a, 512)


@inner
def collect_rows(source: int, target: int, stride: int, rows: int, words: int, edge: int) -> None:
    """Inverse of `spread_rows`, clipped to `rows` and `words`."""
    for a in range(8):
        address, left = target + 8 * a * stride, rows - 8 * a
        if left >= 8 and words >= 8:
            collect(source + 64 * a, 512, address, stride)
        elif left > 0:
            collect(source + 64 * a, 512, edge, 64)
            copy_words(edge, 64, address, stride, min(left, 8), min(words, 8))


@inner
def load_planes(C: int, ldc: int, m: int, n: int, planes: int, spare: int) -> None:
    """C (m rows × n words) → planes, word-major, strips within each word."""
    strips = (m + STRIP - 1) // STRIP
    for i in range(0, STRIP * strips, 64):
        for j in range(0, n, 8):
            spread_rows(C + i * ldc + 8 * j, ldc, m - i, n - j, spare, spare + 4096)
            for w in range(min(8, n - j)):
                address = planes + ((j + w) * strips + i // STRIP) * PLANES + i % STRIP
                exchange(spare + 512 * w, 64, address, STRIP)


@inner
def store_planes(planes: int, C: int, ldc: int, m: int, n: int, spare: int) -> None:
    strips = (m + STRIP - 1) // STRIP
    for i in range(0, m, 64):
        for j in range(0, n, 8):
            for w in range(min(8, n - j)):
                address = planes + ((j + w) * strips + i // STRIP) * PLANES + i % STRIP
                exchange(address, STRIP, spare + 512 * w, 64)
            collect_rows(spare, C + i * ldc + 8 * j, ldc, m - i, n - j, spare + 4096)
