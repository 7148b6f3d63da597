"""LLVM IR generators for vectors of any width; nothing here runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from . import generic
from .instructions import Builder, Value
from .kinds import Kind
from .logarithm import logaddexp

I32, I64, BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()


def emit(builder: Builder, code: str, x: Value, y: Value) -> Value:
    """An operation on two vectors or scalars, one instruction except `logaddexp`.

    `fmin fmax` compare floats, `smin smax umin umax` signed or unsigned integers, `bmin bmax` bit patterns of floats as
    signed integers. As compare and select, each is one instruction: `llvm.minnum` would spend two more on NaN, which
    input checks exclude. A NaN in x (∞ − ∞, 0 · ∞ after overflow) loses to y.
    """
    if code in ("fadd", "fmul", "add"):
        return getattr(builder, code)(x, y)
    if code.endswith("saturate"):
        name = f"llvm.{'u' if code[0] == 'u' else 's'}add.sat.{_suffix(x.type)}"
        return builder.call(declared(builder, name, x.type, [x.type] * 2), [x, y])
    if code == "logaddexp":
        return logaddexp(builder, x, y)
    relation = "<" if code.endswith("min") else ">"
    if code[0] == "f":
        return builder.select(builder.fcmp_ordered(relation, x, y), x, y)
    if code[0] == "u":
        return builder.select(builder.icmp_unsigned(relation, x, y), x, y)
    if code[0] == "b":
        bits = ir.VectorType(ir.IntType(_bits(x.type.element)), x.type.count)
        return builder.bitcast(emit(builder, "s" + code[1:], *(builder.bitcast(v, bits) for v in (x, y))), x.type)
    return builder.select(builder.icmp_signed(relation, x, y), x, y)


def compare(builder: Builder, kind: Kind, relation: str, x: Value, y: Value) -> Value:
    """Comparison of entries in the dtype's order; false for NaN."""
    by = {"s": builder.icmp_signed, "u": builder.icmp_unsigned, "f": builder.fcmp_ordered}
    return by[kind.record.order](relation, x, y)


def multiply(builder: Builder, code: str, a: Value, b: Value, zero: Value) -> Value:
    """a ⊗ b of two scalars; a saturating sum selects 0 explicitly, since ∞ + (−5) must stay ∞."""
    t = emit(builder, code, a, b)
    if code != "saturate":
        return t
    return builder.select(builder.or_(*(builder.icmp_signed("==", x, zero) for x in (a, b))), zero, t)


def declared(builder: Builder, name: str, result: Value, arguments: list[Value]) -> Value:
    return builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def _bits(element: Any) -> int:
    return element.width if isinstance(element, ir.IntType) else 32 if isinstance(element, ir.FloatType) else 64


def _suffix(type: Any) -> str:
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{_suffix(type.element)}"
    return f"{'i' if isinstance(type, ir.IntType) else 'f'}{_bits(type)}"


def prefetch(builder: Builder, address: Value, *, write: bool = False) -> None:
    function = declared(builder, "llvm.prefetch.p0", ir.VoidType(), [BYTES, I32, I32, I32])
    builder.call(function, [builder.inttoptr(address, BYTES), I32(int(write)), I32(3), I32(1)])


def opaque(builder: Builder, value: Value) -> Value:
    """The value behind a fence for instruction selection.

    Else a store of a minimum with the stored value becomes a comparison and a masked store: 12 cycles on AMD's Zen 2
    and 3. Empty inline assembly would do, but prevents unrolling.
    """
    if value.type.count == 1:
        return value
    floats = ir.VectorType(ir.FloatType(), value.type.count * _bits(value.type.element) // 32)
    fence = declared(builder, f"llvm.arithmetic.fence.{_suffix(floats)}", floats, [floats])
    return builder.bitcast(builder.call(fence, [builder.bitcast(value, floats)]), value.type)


def shuffle(builder: Builder, x: Value, y: Value, lanes: list[int]) -> Value:
    """Lanes by number of x, and, from x's lane count on, of y."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))


@contextmanager
def loop(builder: Builder, start: Value, stop: Value) -> Iterator[Value]:
    with accumulate(builder, stop, [], start) as (j, _, _):
        yield j


@contextmanager
def accumulate(
    builder: Builder, stop: Value, initial: list[Value], start: Value = None
) -> Iterator[tuple[Value, list[Value], list[Value]]]:
    """Loop with carried values: fill the yielded list with successors; it then holds the results."""
    start, before = start or I64(0), builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    k, *values = (builder.phi(value.type) for value in (start, *initial))
    builder.cbranch(builder.icmp_signed("<", k, stop), body, done)
    builder.position_at_end(body)
    after: list[Value] = []
    yield k, values, after
    for phi, first, then in zip([k, *values], [start, *initial], [builder.add(k, I64(1)), *after], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    after[:] = values


def short_at(builder: Builder, table: Value, k: Value) -> Value:
    pointer = builder.inttoptr(builder.add(table, builder.mul(k, I64(4))), I32.as_pointer())
    return builder.sext(builder.load(pointer), I64)


def splat(builder: Builder, scalar: Value, count: int) -> Value:
    undefined = ir.Constant(ir.VectorType(scalar.type, count), ir.Undefined)
    first = builder.insert_element(undefined, scalar, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, count), None))


def across(builder: Builder, code: str, value: Value) -> Value:
    """Reduce a vector's lanes by an operation, halving."""
    lanes = value.type.count
    while lanes > 1:
        lanes //= 2
        halves = (shuffle(builder, value, value, list(range(k, k + lanes))) for k in (0, lanes))
        value = emit(builder, code, *halves)
    return builder.extract_element(value, I32(0))


def lanes_of(builder: Builder, kind: Kind, count: Value) -> list[tuple[int, Value, Value]]:
    """Loops over `count` entries, vectors then scalars: lanes, start and stop."""
    vectors = builder.sdiv(count, I64(kind.lanes))
    loops = [(kind.lanes, I64(0), vectors), (1, builder.mul(vectors, I64(kind.lanes)), count)]
    return loops if kind.lanes > 1 else loops[:1]


def entries(builder: Builder, kind: Kind, count: Value, *addresses: Value) -> Iterator[tuple[Vectors, list[Value]]]:
    """Loops over contiguous entries, vectors then scalars: yields (vectors, addresses)."""
    for lanes, start, stop in lanes_of(builder, kind, count):
        with loop(builder, start, stop) as j:
            offset = builder.mul(j, I64(lanes * kind.itemsize))
            yield Vectors(builder, kind, lanes=lanes), [builder.add(address, offset) for address in addresses]


class Vectors:
    """Vectors of a kind's entries or images: load, store, splat and the semiring's step.

    The image of an entry is its stand-in in the micro-kernel: a float without negative zero, whose bit pattern sorts
    wrongly, and, if the kind is "sorted", the integer of the same order.
    """

    #: Whether operands of a ⊗ that is a function are swapped.
    swapped: Value | None = None

    def __init__(self, builder: Builder, kind: Kind, *, image: bool = False, lanes: int | None = None) -> None:
        self.builder, self.kind = builder, kind
        self.add, self.mul = (kind.tile_add, kind.tile_mul) if image else (kind.add, kind.mul)
        self.sorted = image and kind.image == "sorted"
        lanes = lanes or kind.lanes
        self.plain = ir.VectorType(kind.llvm, lanes)
        self.type = ir.VectorType(ir.IntType(8 * kind.itemsize), lanes) if self.sorted else self.plain

    def load(self, address: Value, offset: int = 0, *, type: ir.Type = None, align: int = 0) -> Value:
        """A vector, or value of `type`, at address + offset."""
        pointer = self.builder.inttoptr(self.builder.add(address, I64(offset)), (type or self.type).as_pointer())
        value = self.builder.load(pointer)
        value.align = align or self.kind.itemsize
        return value

    def store(self, value: Value, address: Value, offset: int = 0) -> None:
        pointer = self.builder.inttoptr(self.builder.add(address, I64(offset)), value.type.as_pointer())
        self.builder.store(opaque(self.builder, value), pointer).align = self.kind.itemsize

    def prefetch(self, address: Value, offset: int) -> None:
        prefetch(self.builder, self.builder.add(address, I64(offset)), write=True)

    def splat(self, scalar: Value) -> Value:
        return splat(self.builder, scalar, self.type.count)

    def splat_left(self, address: Value, offset: int) -> Value:
        """Broadcast an entry of a packed left operand; two-byte entries are stored twice."""
        if self.kind.itemsize != 2:
            return self.splat(self.load(address, offset, type=self.type.element))
        twice = splat(self.builder, self.load(address, offset, type=I32), self.type.count // 2)
        return self.builder.bitcast(twice, self.type)

    def zero(self) -> Value:
        value = int(self.kind.zero) if self.kind.record.boolean else self.kind.zero
        if self.sorted:
            bits = np.dtype(self.kind.dtype).type(value + 0.0).view(f"i{self.kind.itemsize}").item()
            value = bits ^ (2 ** (8 * self.kind.itemsize - 1) - 1) if bits < 0 else bits
        return ir.Constant(self.type, [value] * self.type.count)

    def step(self, c: Value, a: Value, b: Value) -> Value:
        """c ⊕ a ⊗ b."""
        if (self.add, self.mul) == ("fadd", "fmul"):
            fused = declared(self.builder, f"llvm.fmuladd.{_suffix(self.type)}", self.type, [self.type] * 3)
            return self.builder.call(fused, [a, b, c])
        if self.mul == "saturate":
            return self._saturating_step(c, a, b)
        if not self.add:
            return self.plus(c, self.times(a, b))
        return emit(self.builder, self.add, emit(self.builder, self.mul, a, b), c)

    def plus(self, x: Value, y: Value) -> Value:
        if self.add:
            return emit(self.builder, self.add, x, y)
        return generic.emit(self.builder, self.kind, generic.plus(self.kind), x, y)

    def product(self, a: Value, b: Value) -> Value:
        """a ⊗ b."""
        return multiply(self.builder, self.mul, a, b, self.zero()) if self.add else self.times(a, b)

    def times(self, a: Value, b: Value) -> Value:
        """a ⊗ b, neither 0."""
        if self.add:
            return emit(self.builder, self.mul, a, b)
        if self.swapped is not None:
            a, b = self.builder.select(self.swapped, b, a), self.builder.select(self.swapped, a, b)
        return generic.emit(self.builder, self.kind, generic.times(self.kind), a, b)

    def _saturating_step(self, c: Value, a: Value, b: Value) -> Value:
        """c ⊕ clamp(a + b), or c where a or b is 0.

        Only two-byte integers have an instruction for it. Else a is clamped first, to [lo, hi] such that a + b stays in
        the dtype; bounds depend on b alone, and are computed once per row or column of a tile. Both are 0 where b is
        the semiring's 0, which then is the sum.
        """
        builder, nil, bits = self.builder, self.zero(), 8 * self.kind.itemsize
        least, most = (ir.Constant(self.type, [v] * self.type.count) for v in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
        absent, none = builder.icmp_signed("==", b, nil), ir.Constant(self.type, None)
        if bits == 16:
            t = builder.select(absent, nil, emit(builder, "saturate", a, b))
        else:
            negative = builder.icmp_signed("<", b, none)
            low = builder.select(absent, none, builder.select(negative, builder.sub(least, b), least))
            high = builder.select(absent, none, builder.select(negative, most, builder.sub(most, b)))
            t = builder.add(emit(builder, "smax", emit(builder, "smin", a, high), low), b)
        return builder.select(builder.icmp_signed("==", a, nil), c, emit(builder, self.add, t, c))

    def to_image(self, x: Value) -> Value:
        if not isinstance(self.kind.llvm, ir.IntType):
            x = self.builder.fadd(x, ir.Constant(x.type, [0.0] * x.type.count))  # −0 + 0 = +0
        return self._flip(self.builder.bitcast(x, self.type)) if self.sorted else x

    def from_image(self, x: Value) -> Value:
        return self.builder.bitcast(self._flip(x), self.plain) if self.sorted else x

    def _flip(self, x: Value) -> Value:
        """x ^ (0x7f… where x < 0): float bit patterns ↔ integers of the same order."""
        width = x.type.element.width
        sign = self.builder.ashr(x, ir.Constant(x.type, [width - 1] * x.type.count))
        return self.builder.xor(x, self.builder.and_(sign, ir.Constant(x.type, [2 ** (width - 1) - 1] * x.type.count)))


def scalar_zero(kind: Kind) -> Any:
    return ir.Constant(kind.llvm, kind.zero)


def transposed(builder: Builder, rows: list[Value]) -> list[Value]:
    """Transpose a square of vectors by exchanging blocks of doubling size."""
    rows, count, distance = list(rows), len(rows), 1
    while distance < count:
        for i in range(count):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                low = [j if not j & distance else count + j - distance for j in range(count)]
                high = [j + distance if not j & distance else count + j for j in range(count)]
                for position, mask in ((i, low), (i + distance, high)):
                    rows[position] = shuffle(builder, a, b, mask)
        distance *= 2
    return rows


def stream(v: Vectors, value: Any, address: Any) -> None:
    """Non-temporal store of full vectors, whose address must be aligned; a plain store of others."""
    builder, width = v.builder, v.type.count * v.kind.itemsize
    written = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    written.align = v.kind.itemsize
    if width == v.kind.tile.width:
        written.align = width
        written.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))


def expanded(v: Vectors, address: Any, mask: Any) -> Any:
    """Expand contiguous entries to the masked lanes, 0 elsewhere."""
    builder, pointer = v.builder, v.type.element.as_pointer()
    name = f"llvm.masked.expandload.{_suffix(v.type)}"
    function = declared(builder, name, v.type, [pointer, mask.type, v.type])
    return builder.call(function, [builder.inttoptr(address, pointer), mask, v.zero()])
