"""C ← C ∨ A ∧ B on packed bits by table look-up: the method of Four Russians with its tables in registers.

Arlazarov, Dinic, Kronrod, Faradzhev 1970, "On economical construction of the transitive closure of an oriented graph".
C lies in planes and A in indices (`planes`); B becomes 8 × `GROUPS` tables per word of 64 rows, which fit the L2 cache.
Addresses and strides are bytes; m and n count rows and words, k the rows of B (bits of a row of A).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..compile import inner, kernel
from ..instructions import Builder, Int, Value, instruction
from ..vectors import shuffle, splat
from .planes import (
    INDICES,
    PLANES,
    STRIP,
    copy_words,
    exchange,
    exchange_indices,
    load_planes,
    spread_rows,
    store_planes,
)
from .vectors import (
    BITS,
    GROUPS,
    I1,
    I8,
    I64,
    INDEX,
    LANES,
    TABLE,
    any_word,
    clear,
    load,
    look_up,
    store,
    words_at,
)

TABLES = GROUPS * 8 * TABLE  # table bytes per word of B
ROWS_AT_ONCE, COLUMNS_AT_ONCE = (128, 8) if LANES == 64 else (2 * LANES, 4)  # accumulators: 16, or 8 of 16 registers
DEPTH = 8  # words of k at a time
HALF = 4  # words of k whose tables (22 KB) fit the L1 cache
COLUMN = 64 * DEPTH * 8 + 64  # column stride of B in bytes; a power of two would cause cache conflicts


@instruction
def build_tables(b: Builder, rows: Int, tables: Int) -> None:
    """One word of each of 64 rows of B → tables: entry x of table (g, j) is ⋁ of byte j of the rows in bit set x."""
    half = INDEX // 2
    combinations = 1 << half
    vector = ir.VectorType(I64, combinations)

    def disjunctions(bits: list[int]) -> Value:
        """Words e[x] = ⋁ of the rows k whose bit in x is set, for the 2^half values of x; as bytes 8x + j."""
        total = ir.Constant(vector, [0] * combinations)
        for s, k in enumerate(bits):
            row = load(b, rows, I64, 8 * k)
            chosen = ir.Constant(vector, [-(x >> s & 1) for x in range(combinations)])
            total = b.or_(total, b.and_(splat(b, row, combinations), chosen))
        return b.bitcast(total, ir.VectorType(I8, 8 * combinations))

    for g, bits in enumerate(BITS):
        low, high = disjunctions(bits[:half]), disjunctions(bits[half:])
        for j in range(8):
            by_low = shuffle(b, low, low, [8 * (x % combinations) + j for x in range(TABLE)])
            by_high = shuffle(b, high, high, [8 * (x // combinations) + j for x in range(TABLE)])
            store(b, b.or_(by_low, by_high), tables, TABLE * (8 * g + j))


@instruction
def accumulate(b: Builder, planes: Int, indices: Int, tables: Int, mask: Int) -> None:
    """C ← C ∨ A ∧ B, `ROWS_AT_ONCE` × `COLUMNS_AT_ONCE` bytes of planes, over the words of k in `mask`."""
    lane, table = ir.VectorType(I8, LANES), ir.VectorType(I8, TABLE)
    rows, columns = range(ROWS_AT_ONCE // LANES), range(COLUMNS_AT_ONCE)
    first = {(r, j): load(b, planes, lane, STRIP * j + LANES * r) for j in columns for r in rows}
    entry, loop, done = b.block, b.append_basic_block("k"), b.append_basic_block("done")
    b.branch(loop)

    b.position_at_end(loop)
    left = b.phi(I64)
    left.add_incoming(mask, entry)
    c = {position: b.phi(lane) for position in first}
    for position, phi in c.items():
        phi.add_incoming(first[position], entry)
    k = b.cttz(left, I1(1))
    index_at, table_at = b.add(indices, b.mul(k, I64(INDICES))), b.add(tables, b.mul(k, I64(TABLES)))

    def chosen(g: int) -> dict[tuple[int, int], Value]:
        index = [load(b, index_at, lane, STRIP * g + LANES * r) for r in rows]
        found = {}
        for j in columns:
            entries = load(b, table_at, table, TABLE * (8 * g + j))
            if TABLE < LANES:  # `pshufb` looks up within each 16 bytes
                entries = shuffle(b, entries, entries, [x % TABLE for x in range(LANES)])
            for r in rows:
                found[r, j] = look_up(b, entries, index[r])
        return found

    total: dict[tuple[int, int], Any] = dict(c)
    for g in range(0, GROUPS, 2):  # two look-ups, one three-way or
        one = chosen(g)
        if g + 1 < GROUPS:
            two = chosen(g + 1)
            one = {position: b.or_(one[position], two[position]) for position in one}
        total = {position: b.or_(total[position], one[position]) for position in total}

    rest = b.and_(left, b.sub(left, I64(1)))
    left.add_incoming(rest, b.block)
    for position, phi in c.items():
        phi.add_incoming(total[position], b.block)
    b.cbranch(b.icmp_unsigned("!=", rest, I64(0)), loop, done)

    b.position_at_end(done)
    for (r, j), value in total.items():
        store(b, value, planes, STRIP * j + LANES * r)


@inner
def load_indices(A: int, lda: int, m: int, words: int, indices: int, masks: int, spare: int) -> None:
    """A (m rows × at most `DEPTH` words) → indices; bit w of a strip's mask: word w is nonzero."""
    strip_masks = words_at(masks)
    for s in range((m + STRIP - 1) // STRIP):
        strip_masks[s] = 0
        for half in range(0, STRIP, 64):
            i = s * STRIP + half
            spread_rows(A + i * lda, lda, m - i, words, spare, spare + 4096)
            for w in range(words):
                target = indices + (s * DEPTH + w) * INDICES + half
                strip_masks[s] |= exchange_indices(spare + 512 * w, target) << w


@inner
def load_columns(B: int, ldb: int, rows: int, n: int, columns: int, edge: int) -> None:
    """B (at most 64 · `DEPTH` rows × n words) → columns of words, rows zero-padded to a multiple of 64."""
    for k in range(0, (rows + 63) // 64 * 64, 8):
        for j in range(0, n, 8):
            here, target, left, words = B + k * ldb + 8 * j, columns + j * COLUMN + 8 * k, rows - k, n - j
            if left >= 8 and words >= 8:
                exchange(here, ldb, target, COLUMN)
            else:
                clear(edge, 512)
                copy_words(here, ldb, edge, 64, max(0, min(left, 8)), min(words, 8))
                exchange(edge, 64, edge + 512, 64)
                copy_words(edge + 512, 64, target, COLUMN, min(words, 8), 8)


@inner
def load_tables(column: int, words: int, tables: int) -> int:
    """A column of 64 · `words` words → tables; returns the mask of nonzero words of k."""
    mask = 0
    for w in range(words):
        here = column + 512 * w
        if any_word(here):
            mask |= 1 << w
            build_tables(here, tables + w * TABLES)
    return mask


@inner
def accumulate_strip(planes: int, indices: int, tables: int, mask: int) -> None:
    for r in range(0, STRIP, ROWS_AT_ONCE):
        for p in range(0, 8, COLUMNS_AT_ONCE):
            accumulate(planes + r + p * STRIP, indices + r, tables + p * TABLE, mask)


@kernel
def multiply_block(
    C: int, ldc: int, A: int, lda: int, B: int, ldb: int, m: int, k: int, n: int, fresh: bool, work: int
) -> None:
    """C ← C ∨ A ∧ B, or C ← A ∧ B if `fresh`: one block of m rows × n words, in `block_bytes(m, n)` of workspace.

    C is written last: it may alias B, and A if k ≤ 64 · `DEPTH`.
    """
    strips = (m + STRIP - 1) // STRIP
    planes = work
    indices = planes + strips * n * PLANES
    tables = indices + strips * DEPTH * INDICES
    right = tables + HALF * TABLES
    spare = right + COLUMN * n
    masks = spare + 4608
    if fresh:
        clear(planes, strips * n * PLANES)
    else:
        load_planes(C, ldc, m, n, planes, spare)
    for k0 in range(0, k, 64 * DEPTH):
        rows = min(64 * DEPTH, k - k0)
        words = (rows + 63) // 64
        load_indices(A + k0 // 8, lda, m, words, indices, masks, spare)
        load_columns(B + k0 * ldb, ldb, rows, n, right, spare)
        strip_masks = words_at(masks)
        for j in range(n):
            for w in range(0, words, HALF):
                names = load_tables(right + COLUMN * j + 512 * w, min(HALF, words - w), tables)
                if not names:
                    continue
                for s in range(strips):
                    mask = (strip_masks[s] >> w) & names
                    if mask:
                        c, a = planes + (j * strips + s) * PLANES, indices + (s * DEPTH + w) * INDICES
                        accumulate_strip(c, a, tables, mask)
    store_planes(planes, C, ldc, m, n, spare)


def block_bytes(m: int, n: int) -> int:
    strips = -(-m // STRIP)
    return strips * (n * PLANES + DEPTH * INDICES + 8) + HALF * TABLES + COLUMN * n + 4608
