"""C ← C ∨ A ∧ B on packed bits by Four Russians with tables in the L1 cache, for processors without 64 byte lanes.

Four rows of B have 16 disjunctions, each `WIDTH` bytes wide; four bits of a row of A choose one. The 16 tables of 64
rows of B stay in cache while all rows of a block of A pass, one word each. Addresses and strides are bytes; m and n
count rows and words, k the rows of B (bits of a row of A).
"""

from __future__ import annotations

from llvmlite import ir

from ..compile import kernel
from ..instructions import Builder, Int, instruction
from .planes import copy_words
from .vectors import I8, I64, clear, load, store, words_at

WORDS = 16  # words of a row of B per table
WIDTH = 8 * WORDS
TABLE = 16 * WIDTH
DEPTH = 8  # words of A at a time, a cache line


@instruction
def build_table(b: Builder, rows: Int, table: Int) -> None:
    """Four rows of B → table: entry x is ⋁ of the rows in bit set x."""
    vector = ir.VectorType(I8, WIDTH)
    entries = [ir.Constant(vector, [0] * WIDTH)]
    for i in range(4):
        row = load(b, rows, vector, WIDTH * i)
        entries += [b.or_(row, entry) for entry in entries]
    for x, entry in enumerate(entries):
        store(b, entry, table, WIDTH * x)


@instruction
def unite(b: Builder, c: Int, word: Int, tables: Int) -> None:
    """C ← C ∨ the table entries chosen by the 16 nibbles of a word of A."""
    vector, shift = ir.VectorType(I64, WORDS), WIDTH.bit_length() - 1
    total = load(b, c, vector)
    for g in range(16):
        by = 4 * g - shift
        offset = b.and_(b.lshr(word, I64(by)) if by >= 0 else b.shl(word, I64(-by)), I64(15 << shift))
        total = b.or_(total, load(b, b.add(tables, offset), vector, TABLE * g))
    store(b, total, c)


@kernel
def multiply_block(
    C: int, ldc: int, A: int, lda: int, B: int, ldb: int, m: int, k: int, n: int, fresh: bool, work: int
) -> None:
    """C ← C ∨ A ∧ B, or C ← A ∧ B if `fresh`: one block of m rows × n words, in `block_bytes(m, n)` of workspace.

    C is written last: it may alias A or B.
    """
    tables, rows = work, work + 16 * TABLE
    columns = rows + 64 * WIDTH
    strips = columns + 8 * DEPTH * m
    for j in range(0, n, WORDS):
        strip = strips + j * 8 * m
        clear(strip, WIDTH * m)
        if not fresh:
            copy_words(C + 8 * j, ldc, strip, WIDTH, m, min(WORDS, n - j))
    for k0 in range(0, k, 64 * DEPTH):
        depth = min(DEPTH, (k - k0 + 63) // 64)
        for i in range(m):
            row = words_at(A + i * lda + k0 // 8)
            for w in range(depth):
                words_at(columns + 8 * (w * m + i))[0] = row[w]
        for j in range(0, n, WORDS):
            for w in range(depth):
                first = k0 + 64 * w
                clear(rows, 64 * WIDTH)
                copy_words(B + first * ldb + 8 * j, ldb, rows, WIDTH, min(64, k - first), min(WORDS, n - j))
                for g in range(16):
                    build_table(rows + 4 * g * WIDTH, tables + g * TABLE)
                column, strip = words_at(columns + 8 * w * m), strips + j * 8 * m
                for i in range(m):
                    if column[i]:
                        unite(strip + i * WIDTH, column[i], tables)
    for j in range(0, n, WORDS):
        copy_words(strips + j * 8 * m, WIDTH, C + 8 * j, ldc, m, min(WORDS, n - j))


def block_bytes(m: int, n: int) -> int:
    return 16 * TABLE + 64 * WIDTH + 8 * m * (DEPTH + -(-n // WORDS) * WORDS)
