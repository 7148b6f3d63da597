"""C ← C ∨ A ∧ B on packed bits by table look-up: the method of Four Russians with its tables in registers.

Arlazarov, Dinic, Kronrod, Faradzhev 1970, "On economical construction of the transitive closure of an oriented
graph". Take g rows of B, and of each one byte (8 columns). Their 2^g possible disjunctions are a table of 2^g
bytes; g bits of a row of A choose from it what these g rows add to 8 columns of C. With g = 6 the table is one
AVX-512 register and `vpermb` looks up 64 rows at once: 6 × 8 × 64 = 3072 and-or pairs an instruction, against
512 for `vpternlog`. With g = 4 it is 16 bytes, the register of `pshufb` (SSSE3, AVX2) and `tbl` (NEON).

Three layouts, all in a workspace that fits the second-level cache:

- planes, of C: plane j of a strip of 128 rows holds byte j of a word, row after row (8 × 128 bytes a word);
- indices, of A: `GROUPS` vectors of 128 bytes a word; byte i of vector g is the g-th index of row i;
- tables, of B: 8 × `GROUPS` tables a word of 64 rows.

Matrices come as addresses and strides in bytes, so one compilation serves every layout, and caches on disk.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from .compile import kernel

I1, I8, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
BYTES, WORDS = ir.VectorType(I8, 64), ir.VectorType(I64, 8)  # one row of either: 64 bytes, 8 words


def look_up_instruction() -> tuple[str | None, int, int]:
    """The machine's byte look-up as (LLVM intrinsic, bytes a register, bits an index).

    `NUMBA_CPU_FEATURES` (say, `+avx2,+ssse3`) forces another than the host's; with none there is a plain loop.
    """
    features = (config.CPU_FEATURES if config.CPU_FEATURES is not None else get_host_cpu_features()).split(",")
    if "+avx512vbmi" in features:
        return "llvm.x86.avx512.permvar.qi.512", 64, 6
    if "+avx2" in features:
        return "llvm.x86.avx2.pshuf.b", 32, 4
    if "+ssse3" in features:
        return "llvm.x86.ssse3.pshuf.b.128", 16, 4
    if platform.machine().lower() in ("aarch64", "arm64"):
        return "llvm.aarch64.neon.tbl1.v16i8", 16, 4
    return None, 16, 4


INSTRUCTION, LANES, INDEX = look_up_instruction()
STRIP = 128  # rows of C whose planes lie together
TABLE = 1 << INDEX  # bytes a table
# The bits of a word that each index takes. Six of every byte stand where `vpermb` reads them (it ignores the top
# two), and the pairs left over, of three bytes each, make three indices more; four bits take either half of a byte.
if INDEX == 6:
    BITS = [[8 * p + i for i in range(6)] for p in range(8)]
    BITS += [[8 * p + i for p in range(t, min(t + 3, 8)) for i in (6, 7)] for t in (0, 3, 6)]
else:
    BITS = [[8 * p + 4 * h + i for i in range(4)] for h in (0, 1) for p in range(8)]
GROUPS = len(BITS)
INDICES, TABLES, PLANES = GROUPS * STRIP, GROUPS * 8 * TABLE, 8 * STRIP  # bytes a word in each layout
ROWS_AT_ONCE, COLUMNS_AT_ONCE = (128, 8) if LANES == 64 else (2 * LANES, 4)  # accumulators: 16, or 8 of 16 registers


# Vector code, as a small vocabulary over llvmlite's builder.


def _pointer(b: Any, address: Any, vector: Any, offset: int = 0) -> Any:
    return b.inttoptr(b.add(address, I64(offset)) if offset else address, vector.as_pointer())


def _load(b: Any, address: Any, vector: Any, offset: int = 0) -> Any:
    return b.load(_pointer(b, address, vector, offset), align=1)


def _store(b: Any, value: Any, address: Any, offset: int = 0) -> None:
    b.store(value, _pointer(b, address, value.type, offset), align=1)


def _shuffle(b: Any, x: Any, y: Any, lanes: list[int]) -> Any:
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _splat(b: Any, scalar: Any, lanes: int) -> Any:
    vector = ir.VectorType(scalar.type, lanes)
    return _shuffle(
        b,
        b.insert_element(ir.Constant(vector, ir.Undefined), scalar, I64(0)),
        ir.Constant(vector, ir.Undefined),
        [0] * lanes,
    )


def _shift_right(b: Any, x: Any, bits: int, keep: int) -> Any:
    shifted = b.lshr(x, ir.Constant(BYTES, [bits] * 64)) if bits else x
    return b.and_(shifted, ir.Constant(BYTES, [keep] * 64))


def _transpose_words(b: Any, rows: list[Any]) -> list[Any]:
    """8 × 8 words transposed: three rounds of exchanging halves."""
    for d in (1, 2, 4):
        low = [k if not k & d else k - d + 8 for k in range(8)]
        high = [k + d if not k & d else k + 8 for k in range(8)]
        paired = list(rows)
        for k in range(8):
            if not k & d:
                paired[k] = _shuffle(b, rows[k], rows[k + d], low)
                paired[k + d] = _shuffle(b, rows[k], rows[k + d], high)
        rows = paired
    return rows


def _transpose_bytes(b: Any, word_rows: Any) -> Any:
    """The 8 × 8 bytes of one register transposed."""
    x = b.bitcast(word_rows, BYTES)
    return b.bitcast(_shuffle(b, x, x, [8 * (k % 8) + k // 8 for k in range(64)]), WORDS)


def _union(b: Any, vectors: list[Any]) -> Any:
    """The disjunction of all."""
    total = vectors[0]
    for vector in vectors[1:]:
        total = b.or_(total, vector)
    return total


def _any(b: Any, x: Any) -> Any:
    """1 if a bit of eight words is set, else 0."""
    nonzero = b.bitcast(b.icmp_unsigned("!=", x, ir.Constant(WORDS, [0] * 8)), I8)
    return b.zext(b.icmp_unsigned("!=", nonzero, I8(0)), I64)


def _look_up(b: Any, table: Any, index: Any) -> Any:
    """table[index] for every lane."""
    vector = ir.VectorType(I8, LANES)
    if INSTRUCTION is not None:
        function = b.module.globals.get(INSTRUCTION) or ir.Function(
            b.module, ir.FunctionType(vector, [vector, vector]), INSTRUCTION
        )
        return b.call(function, [table, index])
    found = ir.Constant(vector, ir.Undefined)
    for lane in range(LANES):
        entry = b.extract_element(table, b.extract_element(index, I64(lane)))
        found = b.insert_element(found, entry, I64(lane))
    return found


def _code(emit: Callable[..., Any], arguments: int, returns: Any = types.void) -> Any:
    """`emit(builder, *integers)` as what numba's `intrinsic` returns."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        result = emit(builder, *values)
        return context.get_dummy_value() if result is None else result

    return returns(*[types.int64] * arguments), generate


@intrinsic
def words_at(context: Any, address: Any) -> Any:
    """The memory at an address as an array of words without bounds."""

    def generate(context: Any, b: Any, signature: Any, values: Any) -> Any:
        return b.inttoptr(values[0], I64.as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def byte_at(context: Any, address: Any) -> Any:
    """The memory at an address as an array of bytes without bounds."""

    def generate(context: Any, b: Any, signature: Any, values: Any) -> Any:
        return b.inttoptr(values[0], I8.as_pointer())

    return types.CPointer(types.uint8)(types.int64), generate


@intrinsic
def spread(context: Any, source: Any, stride: Any, target: Any, pitch: Any) -> Any:
    """8 rows of 8 words → 8 registers `pitch` apart, one a word: byte q of row r stands at 8q + r."""

    def emit(b: Any, source: Any, stride: Any, target: Any, pitch: Any) -> None:
        rows = [_load(b, b.add(source, b.mul(stride, I64(r))), WORDS) for r in range(8)]
        for w, word in enumerate(_transpose_words(b, rows)):
            _store(b, _transpose_bytes(b, word), b.add(target, b.mul(pitch, I64(w))))

    return _code(emit, 4)


@intrinsic
def collect(context: Any, source: Any, pitch: Any, target: Any, stride: Any) -> Any:
    """The inverse of `spread`: 8 registers `pitch` apart → 8 rows of 8 words."""

    def emit(b: Any, source: Any, pitch: Any, target: Any, stride: Any) -> None:
        words = [_transpose_bytes(b, _load(b, b.add(source, b.mul(pitch, I64(w))), WORDS)) for w in range(8)]
        for r, row in enumerate(_transpose_words(b, words)):
            _store(b, row, b.add(target, b.mul(stride, I64(r))))

    return _code(emit, 4)


@intrinsic
def exchange(context: Any, source: Any, stride: Any, target: Any, pitch: Any) -> Any:
    """8 × 8 words transposed; between spread registers of one word (8 rows each) and its planes (64 rows each)."""

    def emit(b: Any, source: Any, stride: Any, target: Any, pitch: Any) -> None:
        rows = [_load(b, b.add(source, b.mul(stride, I64(r))), WORDS) for r in range(8)]
        for w, word in enumerate(_transpose_words(b, rows)):
            _store(b, word, b.add(target, b.mul(pitch, I64(w))))

    return _code(emit, 4)


def _store_indices(b: Any, words: list[Any], indices: Any) -> Any:
    """The 8 planes of one word, 64 rows of them, as all `GROUPS` indices; whether any bit was set."""
    planes = [b.bitcast(x, BYTES) for x in words]
    if INDEX == 6:  # the top two bits of three planes make an index of their own; `vpermb` ignores them below
        for t, first in enumerate((0, 3, 6)):
            index = _shift_right(b, planes[first], 6, 0b000011)
            index = b.or_(index, _shift_right(b, planes[first + 1], 4, 0b001100))
            if first + 2 < 8:
                index = b.or_(index, _shift_right(b, planes[first + 2], 2, 0b110000))
            _store(b, index, indices, STRIP * (8 + t))
    for p, plane in enumerate(planes):
        if INDEX == 4:
            _store(b, _shift_right(b, plane, 4, 15), indices, STRIP * (8 + p))
            plane = _shift_right(b, plane, 0, 15)
        _store(b, plane, indices, STRIP * p)
    return _any(b, _union(b, words))


@intrinsic
def exchange_indices(context: Any, source: Any, indices: Any) -> Any:
    """`exchange` of one word of A, 64 rows of it, straight into indices; whether any bit was set."""

    def emit(b: Any, source: Any, indices: Any) -> Any:
        words = _transpose_words(b, [_load(b, source, WORDS, 64 * r) for r in range(8)])
        return _store_indices(b, words, indices)

    return _code(emit, 2, types.int64)


@intrinsic
def plane_indices(context: Any, planes: Any, indices: Any) -> Any:
    """64 rows of planes as indices; whether any bit was set."""

    def emit(b: Any, planes: Any, indices: Any) -> Any:
        return _store_indices(b, [_load(b, planes, WORDS, STRIP * p) for p in range(8)], indices)

    return _code(emit, 2, types.int64)


@intrinsic
def plane_column(context: Any, planes: Any, column: Any) -> Any:
    """64 rows of planes as the 64 words they are."""

    def emit(b: Any, planes: Any, column: Any) -> None:
        registers = _transpose_words(b, [_load(b, planes, WORDS, STRIP * p) for p in range(8)])
        for a, rows in enumerate(registers):
            _store(b, _transpose_bytes(b, rows), column, 64 * a)

    return _code(emit, 2)


@intrinsic
def any_word(context: Any, address: Any) -> Any:
    """Whether one of 64 words in a row is not zero."""

    def emit(b: Any, address: Any) -> Any:
        return _any(b, _union(b, [_load(b, address, WORDS, 64 * k) for k in range(8)]))

    return _code(emit, 1, types.int64)


@intrinsic
def build_tables(context: Any, rows: Any, tables: Any) -> Any:
    """One word of each of 64 rows of B → tables: entry x of table (g, j) is ⋁ of byte j of the rows that x names."""

    def emit(b: Any, rows: Any, tables: Any) -> None:
        half = INDEX // 2
        combinations = 1 << half
        some = ir.VectorType(I64, combinations)

        def disjunctions(bits: list[int]) -> Any:
            """Words e[x] = ⋁ of the rows k whose bit in x is set, for the 2^half values of x; as bytes 8x + j."""
            total = ir.Constant(some, [0] * combinations)
            for s, k in enumerate(bits):
                row = _load(b, rows, I64, 8 * k)
                chosen = ir.Constant(some, [-(x >> s & 1) for x in range(combinations)])
                total = b.or_(total, b.and_(_splat(b, row, combinations), chosen))
            return b.bitcast(total, ir.VectorType(I8, 8 * combinations))

        for g, bits in enumerate(BITS):
            low, high = disjunctions(bits[:half]), disjunctions(bits[half:])
            for j in range(8):
                by_low = _shuffle(b, low, low, [8 * (x % combinations) + j for x in range(TABLE)])
                by_high = _shuffle(b, high, high, [8 * (x // combinations) + j for x in range(TABLE)])
                _store(b, b.or_(by_low, by_high), tables, TABLE * (8 * g + j))

    return _code(emit, 2)


@intrinsic
def accumulate(context: Any, planes: Any, indices: Any, tables: Any, mask: Any) -> Any:
    """C ← C ∨ A ∧ B, `ROWS_AT_ONCE` × `COLUMNS_AT_ONCE` bytes of planes, over the words of k that `mask` names."""

    def emit(b: Any, planes: Any, indices: Any, tables: Any, mask: Any) -> None:
        lane, table = ir.VectorType(I8, LANES), ir.VectorType(I8, TABLE)
        rows, columns = range(ROWS_AT_ONCE // LANES), range(COLUMNS_AT_ONCE)
        first = {(r, j): _load(b, planes, lane, STRIP * j + LANES * r) for j in columns for r in rows}
        entry, loop, done = b.block, b.append_basic_block("k"), b.append_basic_block("done")
        b.branch(loop)

        b.position_at_end(loop)
        left = b.phi(I64)
        left.add_incoming(mask, entry)
        c = {at: b.phi(lane) for at in first}
        for at, phi in c.items():
            phi.add_incoming(first[at], entry)
        k = b.cttz(left, I1(1))
        index_at, table_at = b.add(indices, b.mul(k, I64(INDICES))), b.add(tables, b.mul(k, I64(TABLES)))

        def chosen(g: int) -> dict[tuple[int, int], Any]:
            index = [_load(b, index_at, lane, STRIP * g + LANES * r) for r in rows]
            found = {}
            for j in columns:
                entries = _load(b, table_at, table, TABLE * (8 * g + j))
                if TABLE < LANES:  # `pshufb` looks up within each 16 bytes
                    entries = _shuffle(b, entries, entries, [x % TABLE for x in range(LANES)])
                for r in rows:
                    found[r, j] = _look_up(b, entries, index[r])
            return found

        total: dict[tuple[int, int], Any] = dict(c)
        for g in range(0, GROUPS, 2):  # two look-ups, one three-way or
            one = chosen(g)
            if g + 1 < GROUPS:
                two = chosen(g + 1)
                one = {at: b.or_(one[at], two[at]) for at in one}
            total = {at: b.or_(total[at], one[at]) for at in total}

        rest = b.and_(left, b.sub(left, I64(1)))
        left.add_incoming(rest, b.block)
        for at, phi in c.items():
            phi.add_incoming(total[at], b.block)
        b.cbranch(b.icmp_unsigned("!=", rest, I64(0)), loop, done)

        b.position_at_end(done)
        for (r, j), value in total.items():
            _store(b, value, planes, STRIP * j + LANES * r)

    return _code(emit, 4)


# Kernels. Addresses and strides are bytes; m and n count rows and words, k the rows of B (bits of a row of A).

DEPTH = 8  # words of k at a time
HALF = 4  # of which the tables of this many (22 KB) lie in the first-level cache
COLUMN = 64 * DEPTH * 8 + 64  # bytes from one column of words of B to the next; a power of two would strain the cache


@intrinsic
def copy(context: Any, source: Any, target: Any, size: Any) -> Any:
    """`size` bytes."""

    def emit(b: Any, source: Any, target: Any, size: Any) -> None:
        cgutils.raw_memcpy(b, _pointer(b, target, I8), _pointer(b, source, I8), size, 1)

    return _code(emit, 3)


@intrinsic
def clear(context: Any, target: Any, size: Any) -> Any:
    """`size` bytes of zero."""

    def emit(b: Any, target: Any, size: Any) -> None:
        cgutils.memset(b, _pointer(b, target, I8), size, 0)

    return _code(emit, 2)


@kernel
def copy_words(source: int, stride: int, target: int, pitch: int, rows: int, words: int) -> None:
    """`rows` × `words` words from one stride to another."""
    for r in range(rows):
        copy(source + r * stride, target + r * pitch, 8 * words)


@kernel
def copy_column(source: int, stride: int, target: int, pitch: int, rows: int) -> None:
    """`rows` single words from one stride to another."""
    for r in range(rows):
        words_at(target + r * pitch)[0] = words_at(source + r * stride)[0]


@kernel
def spread_rows(source: int, stride: int, rows: int, words: int, target: int, edge: int) -> None:
    """`spread` 64 rows × 8 words; what lies beyond `rows` and `words` is zero."""
    for a in range(8):
        here, left = source + 8 * a * stride, rows - 8 * a
        if left >= 8 and words >= 8:
            spread(here, stride, target + 64 * a, 512)
        else:
            clear(edge, 512)
            copy_words(here, stride, edge, 64, max(0, min(left, 8)), min(words, 8))
            spread(edge, 64, target + 64 * a, 512)


@kernel
def collect_rows(source: int, target: int, stride: int, rows: int, words: int, edge: int) -> None:
    """The inverse of `spread_rows`, of what lies within `rows` and `words`."""
    for a in range(8):
        there, left = target + 8 * a * stride, rows - 8 * a
        if left >= 8 and words >= 8:
            collect(source + 64 * a, 512, there, stride)
        elif left > 0:
            collect(source + 64 * a, 512, edge, 64)
            copy_words(edge, 64, there, stride, min(left, 8), min(words, 8))


@kernel
def load_planes(C: int, ldc: int, m: int, n: int, planes: int, spare: int) -> None:
    """C (m rows × n words) → planes, strip after strip within each word."""
    strips = (m + STRIP - 1) // STRIP
    for i in range(0, STRIP * strips, 64):
        for j in range(0, n, 8):
            spread_rows(C + i * ldc + 8 * j, ldc, m - i, n - j, spare, spare + 4096)
            for w in range(min(8, n - j)):
                at = planes + ((j + w) * strips + i // STRIP) * PLANES + i % STRIP
                exchange(spare + 512 * w, 64, at, STRIP)


@kernel
def store_planes(planes: int, C: int, ldc: int, m: int, n: int, spare: int) -> None:
    """Planes → C (m rows × n words)."""
    strips = (m + STRIP - 1) // STRIP
    for i in range(0, m, 64):
        for j in range(0, n, 8):
            for w in range(min(8, n - j)):
                at = planes + ((j + w) * strips + i // STRIP) * PLANES + i % STRIP
                exchange(at, STRIP, spare + 512 * w, 64)
            collect_rows(spare, C + i * ldc + 8 * j, ldc, m - i, n - j, spare + 4096)


@kernel
def load_indices(A: int, lda: int, m: int, words: int, indices: int, masks: int, spare: int) -> None:
    """A (m rows × at most `DEPTH` words) → indices; bit w of a strip's mask says that word w is not all zero."""
    some = words_at(masks)
    for s in range((m + STRIP - 1) // STRIP):
        some[s] = 0
        for half in range(0, STRIP, 64):
            i = s * STRIP + half
            spread_rows(A + i * lda, lda, m - i, words, spare, spare + 4096)
            for w in range(words):
                at = indices + (s * DEPTH + w) * INDICES + half
                some[s] |= exchange_indices(spare + 512 * w, at) << w


@kernel
def load_columns(B: int, ldb: int, rows: int, n: int, columns: int, edge: int) -> None:
    """B (at most 64 · `DEPTH` rows × n words) → its words column by column; rows of zeros up to a multiple of 64."""
    for k in range(0, (rows + 63) // 64 * 64, 8):
        for j in range(0, n, 8):
            here, there, left, words = B + k * ldb + 8 * j, columns + j * COLUMN + 8 * k, rows - k, n - j
            if left >= 8 and words >= 8:
                exchange(here, ldb, there, COLUMN)
            else:
                clear(edge, 512)
                copy_words(here, ldb, edge, 64, max(0, min(left, 8)), min(words, 8))
                exchange(edge, 64, edge + 512, 64)
                copy_words(edge + 512, 64, there, COLUMN, min(words, 8), 8)


@kernel
def load_tables(column: int, words: int, tables: int) -> int:
    """A column of 64 · `words` words → tables; returns the mask of the words of k that are not all zero."""
    mask = 0
    for w in range(words):
        here = column + 512 * w
        if any_word(here):
            mask |= 1 << w
            build_tables(here, tables + w * TABLES)
    return mask


@kernel
def accumulate_strip(planes: int, indices: int, tables: int, mask: int) -> None:
    """`accumulate` one strip of one word of C."""
    for r in range(0, STRIP, ROWS_AT_ONCE):
        for p in range(0, 8, COLUMNS_AT_ONCE):
            accumulate(planes + r + p * STRIP, indices + r, tables + p * TABLE, mask)


@kernel
def multiply_block(
    C: int, ldc: int, A: int, lda: int, B: int, ldb: int, m: int, k: int, n: int, fresh: bool, work: int
) -> None:
    """C ← C ∨ A ∧ B, or C ← A ∧ B where `fresh`: one block of m rows × n words, in `block_bytes(m, n)` of workspace.

    C is written last: it may be B itself, and A itself where k ≤ 64 · `DEPTH`.
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
        some = words_at(masks)
        for j in range(n):
            for w in range(0, words, HALF):
                names = load_tables(right + COLUMN * j + 512 * w, min(HALF, words - w), tables)
                if not names:
                    continue
                for s in range(strips):
                    mask = (some[s] >> w) & names
                    if mask:
                        c, a = planes + (j * strips + s) * PLANES, indices + (s * DEPTH + w) * INDICES
                        accumulate_strip(c, a, tables, mask)
    store_planes(planes, C, ldc, m, n, spare)


def block_bytes(m: int, n: int) -> int:
    """The workspace of `multiply_block` for m rows × n words."""
    strips = -(-m // STRIP)
    return strips * (n * PLANES + DEPTH * INDICES + 8) + HALF * TABLES + COLUMN * n + 4608


# Warshall's closure, 64 pivots at a time, on planes: what is multiplied next is packed already.


@kernel
def close_word(diagonal: int) -> None:
    """64 × 64 bits ← their reflexive closure, one pivot after the other."""
    d = words_at(diagonal)
    for k in range(64):
        d[k] |= 1 << k
    for k in range(64):
        pivot = d[k]
        for i in range(64):
            d[i] |= -((d[i] >> k) & 1) & pivot


@kernel
def index_column(planes: int, strips: int, indices: int, masks: int) -> None:
    """One word of every row → indices; masks[s] says whether strip s has a bit."""
    some = words_at(masks)
    for s in range(strips):
        some[s] = 0
        for half in range(0, STRIP, 64):
            some[s] |= plane_indices(planes + s * PLANES + half, indices + s * INDICES + half)


@kernel
def update_column(planes: int, strips: int, indices: int, masks: int, column: int, tables: int) -> None:
    """One word of every row ← itself ∨ what the indices choose of 64 words."""
    some = words_at(masks)
    if any_word(column):
        build_tables(column, tables)
        for s in range(strips):
            if some[s]:
                accumulate_strip(planes + s * PLANES, indices + s * INDICES, tables, some[s])


@kernel
def close_planes(planes: int, n: int, spare: int) -> None:
    """A ← A* on planes. For each 64 pivots P: D = A[P, P]*; A[:, P] ← A[:, P] D; A ← A ∨ A[:, P] A[P, :].

    The last product uses the pivots' rows as they were before it, which is enough: its left factor holds D.
    """
    words, strips = (n + 63) // 64, (n + STRIP - 1) // STRIP
    indices, tables = spare, spare + strips * INDICES
    column, masks = tables + TABLES, tables + TABLES + 512
    for k in range(n):  # A ← I ∨ A: bit k % 8 of byte k / 8 of row k
        at = planes + ((k >> 6) * strips + k // STRIP) * PLANES + (k >> 3 & 7) * STRIP + k % STRIP
        byte_at(at)[0] |= 1 << (k & 7)
    for w in range(words):
        here, pivots = planes + w * strips * PLANES, 64 * w // STRIP * PLANES + 64 * w % STRIP
        plane_column(here + pivots, column)
        close_word(column)
        index_column(here, strips, indices, masks)
        update_column(here, strips, indices, masks, column, tables)
        index_column(here, strips, indices, masks)
        for j in range(words):
            if j != w:
                there = planes + j * strips * PLANES
                plane_column(there + pivots, column)
                update_column(there, strips, indices, masks, column, tables)


@kernel
def close_block(D: int, ldd: int, n: int, work: int) -> None:
    """D ← D* of n rows, in `closure_bytes(n)` of workspace."""
    words, strips = (n + 63) // 64, (n + STRIP - 1) // STRIP
    spare = work + strips * words * PLANES
    load_planes(D, ldd, n, words, work, spare)
    close_planes(work, n, spare)
    store_planes(work, D, ldd, n, words, spare)


def closure_bytes(n: int) -> int:
    """The workspace of `close_block`."""
    words, strips = -(-n // 64), -(-n // STRIP)
    return strips * words * PLANES + max(4608, strips * (INDICES + 8) + TABLES + 512)


@kernel
def or_pivot_row(A: int, lda: int, m: int, words: int, k: int, pivot: int) -> None:
    """A ← A ∨ A[:, k] ∧ pivot row: the rows that have bit k, of m rows × n words."""
    row = words_at(pivot)
    for i in range(m):
        x = words_at(A + i * lda)
        if (x[k >> 6] >> (k & 63)) & 1:
            for w in range(words):
                x[w] |= row[w]


# Bytes to bits and back, bits transposed, counted and set.


@intrinsic
def pack_word(context: Any, source: Any) -> Any:
    """64 bytes → the word of those that are not zero."""

    def emit(b: Any, source: Any) -> Any:
        return b.bitcast(b.icmp_unsigned("!=", _load(b, source, BYTES), ir.Constant(BYTES, [0] * 64)), I64)

    return _code(emit, 1, types.int64)


@intrinsic
def unpack_word(context: Any, word: Any, target: Any) -> Any:
    """A word → 64 bytes of 0 and 1."""

    def emit(b: Any, word: Any, target: Any) -> None:
        _store(b, b.zext(b.bitcast(word, ir.VectorType(I1, 64)), BYTES), target)

    return _code(emit, 2)


@intrinsic
def byte_columns(context: Any, plane: Any, target: Any, stride: Any) -> Any:
    """64 bytes → 8 words: bit i of word s is bit s of byte i."""

    def emit(b: Any, plane: Any, target: Any, stride: Any) -> None:
        x = _load(b, plane, BYTES)
        for s in range(8):
            bit = b.and_(x, ir.Constant(BYTES, [1 << s] * 64))
            word = b.bitcast(b.icmp_unsigned("!=", bit, ir.Constant(BYTES, [0] * 64)), I64)
            _store(b, word, b.add(target, b.mul(stride, I64(s))))

    return _code(emit, 3)


@intrinsic
def count_word(context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def emit(b: Any, word: Any) -> Any:
        return b.ctpop(word)

    return _code(emit, 1, types.int64)


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
    """Bits → `rows` × `columns` bytes of 0 and 1."""
    for r in range(rows):
        x, y = words_at(source + r * pitch), target + r * stride
        for w in range(columns // 64):
            unpack_word(x[w], y + 64 * w)
        if columns % 64:
            last = byte_at(y + columns // 64 * 64)
            for j in range(columns % 64):
                last[j] = (x[columns // 64] >> j) & 1


@kernel
def transpose_tile(A: int, lda: int, m: int, n: int, tile: int, spare: int) -> None:
    """Tile of 512 rows × 8 words ← Aᵀ of at most 512 rows × 512 bits; zero beyond them."""
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
    """B ← Aᵀ of m rows × n bits, through tiles whose rows are whole cache lines, in `TRANSPOSE_BYTES`."""
    for i in range(0, m, 512):
        for j in range(0, n, 512):
            transpose_tile(A + i * lda + j // 8, lda, min(512, m - i), n - j, tile, tile + 32768)
            copy_words(tile, 64, B + j * ldb + i // 8, ldb, min(512, n - j), min(8, (m - i + 63) // 64))


TRANSPOSE_BYTES = 32768 + 5120


@kernel
def count_columns(A: int, lda: int, m: int, n: int, counts: int, tile: int) -> None:
    """counts ← counts + how many of m rows have each of n bits, in `TRANSPOSE_BYTES`."""
    c, columns = words_at(counts), words_at(tile)
    for i in range(0, m, 512):
        for j in range(0, n, 512):
            transpose_tile(A + i * lda + j // 8, lda, min(512, m - i), n - j, tile, tile + 32768)
            for x in range(min(512, n - j)):
                for w in range(8):
                    c[j + x] += count_word(columns[8 * x + w])


@kernel
def count_rows(A: int, lda: int, m: int, words: int, counts: int) -> None:
    """counts ← how many bits each of m rows has."""
    c = words_at(counts)
    for i in range(m):
        x = words_at(A + i * lda)
        total = 0
        for w in range(words):
            total += count_word(x[w])
        c[i] = total


@kernel
def list_columns(A: int, lda: int, m: int, words: int, columns: int) -> None:
    """columns ← the columns of all set bits, row after row."""
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
    """Set bit (rows[e], columns[e]) for each of `count` pairs."""
    r, c = words_at(rows), words_at(columns)
    for e in range(count):
        x = words_at(A + r[e] * lda)
        x[c[e] >> 6] |= 1 << (c[e] & 63)
