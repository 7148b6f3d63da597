"""Vector code for packed bits: the machine's byte look-up, and helpers over llvmlite's builder.

Take one byte (8 columns) from each of g rows of B. Their 2^g disjunctions are a table of 2^g bytes; g bits of a row of
A choose the contribution of these g rows to 8 columns of C. With g = 6 the table is one AVX-512 register and `vpermb`
looks up 64 rows at once: 6 × 8 × 64 = 3072 and-or pairs an instruction, against 512 for `vpternlog`. With g = 4 it is
16 bytes, the register of `pshufb` (SSSE3, AVX2) and `tbl` (NEON).
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..features import arm, features
from ..instructions import Builder, Context, Int, Intrinsic, Signature, Type, Typing, Value, Values, instruction
from ..vectors import declared, shuffle

I1, I8, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
BYTES, WORDS = ir.VectorType(I8, 64), ir.VectorType(I64, 8)  # one row of either: 64 bytes, 8 words


def look_up_instruction() -> tuple[str | None, int, int]:
    """The machine's byte look-up as (LLVM intrinsic, bytes a register, bits an index); no intrinsic: a plain loop."""
    if "avx512vbmi" in features():
        return "llvm.x86.avx512.permvar.qi.512", 64, 6
    if "avx2" in features():
        return "llvm.x86.avx2.pshuf.b", 32, 4
    if "ssse3" in features():
        return "llvm.x86.ssse3.pshuf.b.128", 16, 4
    if arm():
        return "llvm.aarch64.neon.tbl1.v16i8", 16, 4
    return None, 16, 4


INSTRUCTION, LANES, INDEX = look_up_instruction()
TABLE = 1 << INDEX  # bytes a table
# Bits of a word in each index. Six of every byte stand where `vpermb` reads them (it ignores the top two); the pairs
# left over, of three bytes each, make three more indices; indices of four bits take either half of a byte.
if INDEX == 6:
    BITS = [[8 * p + i for i in range(6)] for p in range(8)]
    BITS += [[8 * p + i for p in range(t, min(t + 3, 8)) for i in (6, 7)] for t in (0, 3, 6)]
else:
    BITS = [[8 * p + 4 * h + i for i in range(4)] for h in (0, 1) for p in range(8)]
GROUPS = len(BITS)


def pointer(b: Builder, address: Value, vector: ir.Type, offset: int = 0) -> Value:
    return b.inttoptr(b.add(address, I64(offset)) if offset else address, vector.as_pointer())


def load(b: Builder, address: Value, vector: ir.Type, offset: int = 0) -> Value:
    return b.load(pointer(b, address, vector, offset), align=1)


def store(b: Builder, value: Value, address: Value, offset: int = 0) -> None:
    b.store(value, pointer(b, address, value.type, offset), align=1)


def shift_right(b: Builder, x: Value, bits: int, mask: int) -> Value:
    shifted = b.lshr(x, ir.Constant(BYTES, [bits] * 64)) if bits else x
    return b.and_(shifted, ir.Constant(BYTES, [mask] * 64))


def transpose_words(b: Builder, rows: list[Value]) -> list[Value]:
    """Transpose 8 × 8 words: three rounds of exchanging halves."""
    for d in (1, 2, 4):
        low = [k if not k & d else k - d + 8 for k in range(8)]
        high = [k + d if not k & d else k + 8 for k in range(8)]
        paired = list(rows)
        for k in range(8):
            if not k & d:
                paired[k] = shuffle(b, rows[k], rows[k + d], low)
                paired[k + d] = shuffle(b, rows[k], rows[k + d], high)
        rows = paired
    return rows


def transpose_bytes(b: Builder, word_rows: Value) -> Value:
    x = b.bitcast(word_rows, BYTES)
    return b.bitcast(shuffle(b, x, x, [8 * (k % 8) + k // 8 for k in range(64)]), WORDS)


def union(b: Builder, vectors: list[Value]) -> Value:
    total = vectors[0]
    for vector in vectors[1:]:
        total = b.or_(total, vector)
    return total


def any_bit(b: Builder, x: Value) -> Value:
    """1 if any bit of eight words is set, else 0."""
    nonzero = b.bitcast(b.icmp_unsigned("!=", x, ir.Constant(WORDS, [0] * 8)), I8)
    return b.zext(b.icmp_unsigned("!=", nonzero, I8(0)), I64)


def look_up(b: Builder, table: Value, index: Value) -> Value:
    vector = ir.VectorType(I8, LANES)
    if INSTRUCTION is not None:
        return b.call(declared(b, INSTRUCTION, vector, [vector, vector]), [table, index])
    found = ir.Constant(vector, ir.Undefined)
    for lane in range(LANES):
        entry = b.extract_element(table, b.extract_element(index, I64(lane)))
        found = b.insert_element(found, entry, I64(lane))
    return found


@intrinsic
def words_at(context: Typing, address: Type) -> Intrinsic:
    def generate(context: Context, b: Builder, signature: Signature, values: Values) -> Value:
        return b.inttoptr(values[0], I64.as_pointer())

    return types.CPointer(types.int64)(types.int64), generate


@intrinsic
def byte_at(context: Typing, address: Type) -> Intrinsic:
    def generate(context: Context, b: Builder, signature: Signature, values: Values) -> Value:
        return b.inttoptr(values[0], I8.as_pointer())

    return types.CPointer(types.uint8)(types.int64), generate


@instruction
def copy(b: Builder, source: Int, target: Int, size: Int) -> None:
    cgutils.raw_memcpy(b, pointer(b, target, I8), pointer(b, source, I8), size, 1)


@instruction
def clear(b: Builder, target: Int, size: Int) -> None:
    cgutils.memset(b, pointer(b, target, I8), size, 0)


@instruction
def any_word(b: Builder, address: Int) -> Int:
    return any_bit(b, union(b, [load(b, address, WORDS, 64 * k) for k in range(8)]))
