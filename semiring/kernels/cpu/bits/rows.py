"""Single passes over packed bits: pack, unpack, transpose, count, list and set."""

from __future__ import annotations

from llvmlite import ir

from ..compile import inner, kernel
from ..instructions import Builder, Int, instruction
from .planes import copy_words, exchange, spread_rows
from .vectors import BYTES, I1, I64, byte_at, clear, load, store, words_at

#: Workspace of `transpose_rows` and `count_columns`.
TRANSPOSE_BYTES = 32768 + 5120


@instruction
def pack_word(b: Builder, source: Int) -> Int:
    return b.bitcast(b.icmp_unsigned("!=", load(b, source, BYTES), ir.Constant(BYTES, [0] * 64)), I64)


@instruction
def unpack_word(b: Builder, word: Int, target: Int) -> None:
    store(b, b.zext(b.bitcast(word, ir.VectorType(I1, 64)), BYTES), target)


@instruction
def byte_columns(b: Builder, plane: Int, target: Int, stride: Int) -> None:
    """64 bytes → 8 words: bit i of word s is bit s of byte i."""
    x = load(b, plane, BYTES)
    for s in range(8):
        bit = b.and_(x, ir.Constant(BYTES, [1 << s] * 64))
        word = b.bitcast(b.icmp_unsigned("!=", bit, ir.Constant(BYTES, [0] * 64)), I64)
        store(b, word, b.add(target, b.mul(stride, I64(s))))


@instruction
def count_word(b: Builder, word: Int) -> Int:
    return b.ctpop(word)


@kernel
def pack_rows(source: int, stride: int, target: int, pitch: int, rows: int, columns: int) -> None:
    """`rows` × `columns` bytes → bits; the tail of the last word is zero."""
    for r in range(rows):
        x, y = source + r * stride, words_at(target + r * pitch)
        for w in range(columns // 64):
            y[w] = pack_word(x + 64 * w)
        if columns % 64:
            last, tail = byte_at(x + columns // 64 * 64), 0
            for j in range(columns % 64):
                tail |= (1 if last[j] else 0) << j
            y[columns // 64] = tail


@kernel
def unpack_rows(source: int, pitch: int, target: int, stride: int, rows: int, columns: int) -> None:
    for r in range(rows):
        x, y = words_at(source + r * pitch), target + r * stride
        for w in range(columns // 64):
            unpack_word(x[w], y + 64 * w)
        if columns % 64:
            last = byte_at(y + columns // 64 * 64)
            for j in range(columns % 64):
                last[j] = (x[columns // 64] >> j) & 1


@inner
def transpose_tile(A: int, lda: int, m: int, n: int, tile: int, spare: int) -> None:
    """Tile of 512 rows × 8 words ← Aᵀ of at most 512 rows × 512 bits, zero-padded."""
    if m < 512:
        clear(tile, 32768)
    for i in range(0, m, 64):
        spread_rows(A + i * lda, lda, m - i, (n + 63) // 64, spare, spare + 4096)
        for w in range(8):
            exchange(spare + 512 * w, 64, spare + 4608, 64)
            for p in range(8):
                byte_columns(spare + 4608 + 64 * p, tile + 64 * (64 * w + 8 * p) + i // 8, 64)


@kernel
def transpose_rows(A: int, lda: int, m: int, n: int, B: int, ldb: int, tile: int) -> None:
    """B ← Aᵀ of m rows × n bits, through tiles whose rows are full cache lines, in `TRANSPOSE_BYTES`."""
    for i in range(0, m, 512):
        for j in range(0, n, 512):
            transpose_tile(A + i * lda + j // 8, lda, min(512, m - i), n - j, tile, tile + 32768)
            copy_words(tile, 64, B + j * ldb + i // 8, ldb, min(512, n - j), min(8, (m - i + 63) // 64))


@kernel
def count_columns(A: int, lda: int, m: int, n: int, counts: int, tile: int) -> None:
    """counts += set bits in each of n columns of m rows, in `TRANSPOSE_BYTES`."""
    c, columns = words_at(counts), words_at(tile)
    for i in range(0, m, 512):
        for j in range(0, n, 512):
            transpose_tile(A + i * lda + j // 8, lda, min(512, m - i), n - j, tile, tile + 32768)
            for x in range(min(512, n - j)):
                for w in range(8):
                    c[j + x] += count_word(columns[8 * x + w])


@kernel
def count_rows(A: int, lda: int, m: int, words: int, counts: int) -> None:
    c = words_at(counts)
    for i in range(m):
        x = words_at(A + i * lda)
        total = 0
        for w in range(words):
            total += count_word(x[w])
        c[i] = total


@kernel
def list_columns(A: int, lda: int, m: int, words: int, columns: int) -> None:
    c, e = words_at(columns), 0
    for i in range(m):
        x = words_at(A + i * lda)
        for w in range(words):
            left = x[w]
            while left:
                c[e] = 64 * w + count_word(~left & (left - 1))
                e += 1
                left &= left - 1


@kernel
def set_bits(A: int, lda: int, rows: int, columns: int, count: int) -> None:
    r, c = words_at(rows), words_at(columns)
    for e in range(count):
        x = words_at(A + r[e] * lda)
        x[c[e] >> 6] |= 1 << (c[e] & 63)
