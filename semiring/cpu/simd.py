"""Explicit vector code: the micro-kernel and the row update, as LLVM IR for whatever vectors the machine has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from .kinds import Kind
from .scalar import itemsize, kernel, load, plus, store, times

#: Depth of the panels that are multiplied at a time; a row of a packed A panel holds that many entries. B's panel,
#: DEPTH × columns, stays in the nearest caches.
DEPTH = 192

_I32, _I64, _BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()


def emit(builder: Any, code: str, x: Any, y: Any) -> Any:
    """One instruction on two vectors.

    `fmin fmax` compare floats and `smin smax umin` integers, signed or unsigned; `bmin bmax` the bit patterns of
    floats as signed integers. Written as compare and select, each becomes a single instruction: `llvm.minnum` would
    spend two more on NaN, which is refused on input. A NaN in x (∞ − ∞, 0 · ∞ after overflow) loses to y.
    """
    if code in ("fadd", "fmul", "add"):
        return getattr(builder, code)(x, y)
    if code == "saturate":
        return _saturating_add(builder, x, y)
    relation = "<" if code.endswith("min") else ">"
    if code[0] == "f":
        return builder.select(builder.fcmp_ordered(relation, x, y), x, y)
    if code[0] == "u":
        return builder.select(builder.icmp_unsigned(relation, x, y), x, y)
    if code[0] == "b":
        bits = ir.VectorType(ir.IntType(64 if isinstance(x.type.element, ir.DoubleType) else 32), x.type.count)
        return builder.bitcast(emit(builder, "s" + code[1:], *(builder.bitcast(v, bits) for v in (x, y))), x.type)
    return builder.select(builder.icmp_signed(relation, x, y), x, y)


def _saturating_add(builder: Any, x: Any, y: Any) -> Any:
    function = _declare(builder, f"llvm.sadd.sat.v{x.type.count}i{x.type.element.width}", x.type, [x.type] * 2)
    return builder.call(function, [x, y])


def _declare(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


class _Vectors:
    """Vectors of a kind's entries, or of their images: loads, stores, splats and the semiring's step."""

    def __init__(self, builder: Any, kind: Kind, *, image: bool) -> None:
        self.builder, self.kind = builder, kind
        self.add, self.mul = (kind.tile_add, kind.tile_mul) if image else (kind.add, kind.mul)
        self.sorted = image and kind.image == "sorted"
        self.element = ir.IntType(8 * kind.itemsize) if self.sorted else kind.llvm
        self.type = ir.VectorType(self.element, kind.lanes)

    def at(self, address: Any, offset: int = 0, *, aligned: bool = False, type: Any = None) -> Any:
        """The vector at address + offset."""
        type = type or self.type
        pointer = self.builder.inttoptr(self.builder.add(address, _I64(offset)), type.as_pointer())
        value = self.builder.load(pointer)
        value.align = self.kind.tile.width if aligned else self.kind.itemsize
        return value

    def put(self, value: Any, address: Any, offset: int = 0) -> None:
        pointer = self.builder.inttoptr(self.builder.add(address, _I64(offset)), value.type.as_pointer())
        self.builder.store(value, pointer).align = self.kind.itemsize

    def entry(self, address: Any, offset: int) -> Any:
        """One entry, at address + offset."""
        pointer = self.builder.inttoptr(self.builder.add(address, _I64(offset)), self.element.as_pointer())
        value = self.builder.load(pointer)
        value.align = self.kind.itemsize
        return value

    def prefetch(self, address: Any, offset: int) -> None:
        """Bring the line at address + offset near, to be written."""
        function = _declare(self.builder, "llvm.prefetch.p0", ir.VoidType(), [_BYTES, _I32, _I32, _I32])
        pointer = self.builder.inttoptr(self.builder.add(address, _I64(offset)), _BYTES)
        self.builder.call(function, [pointer, _I32(1), _I32(3), _I32(1)])

    def splat(self, scalar: Any) -> Any:
        undefined = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, _I32(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, self.kind.lanes), None))

    def zero(self) -> Any:
        value = self.kind.zero
        if self.sorted:  # the images of −∞ and +∞
            value = sorted_image(value, self.kind.itemsize)
        return ir.Constant(self.type, [value] * self.kind.lanes)

    def step(self, c: Any, a: Any, b: Any) -> Any:
        """c ⊕ a ⊗ b."""
        if (self.add, self.mul) == ("fadd", "fmul"):
            bits = 32 if self.kind.itemsize == 4 else 64
            fused = _declare(self.builder, f"llvm.fmuladd.v{self.kind.lanes}f{bits}", self.type, [self.type] * 3)
            return self.builder.call(fused, [a, b, c])
        t = emit(self.builder, self.mul, a, b)
        if self.mul == "saturate":  # 0 ⊗ x = 0
            nil = self.zero()
            absent = self.builder.or_(*(self.builder.icmp_signed("==", v, nil) for v in (a, b)))
            t = self.builder.select(absent, nil, t)
        return emit(self.builder, self.add, t, c)


def sorted_image(value: float, itemsize: int) -> int:
    """The integer that stands for ±∞ among the images of floats."""
    top = 0x7F800000 if itemsize == 4 else 0x7FF0000000000000
    return top if value > 0 else -top - 1


@intrinsic
def _vector_tile(
    typing: Any, kind: Any, depth: Any, a: Any, b: Any, old: Any, old_row: Any, out: Any, out_row: Any
) -> Any:
    """out ← old ⊕ A ⊗ B on one tile: A a packed panel of `rows`, B one of `columns`, `depth` ≤ DEPTH deep.

    The accumulators start at 0 and meet `old` at the end only, so the loop holds nothing but loads, ⊗ and ⊕.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, depth, a, b, old, old_row, out, out_row = args
        v, (rows, vectors, width), size = _Vectors(builder, kind, image=True), kind.tile, kind.itemsize
        plain = ir.VectorType(kind.llvm, kind.lanes)
        cells = [(i, j) for i in range(rows) for j in range(vectors)]
        sources = [builder.add(old, builder.mul(old_row, _I64(i))) for i in range(rows)]
        targets = [builder.add(out, builder.mul(out_row, _I64(i))) for i in range(rows)]
        for i, j in cells:  # C is far away, and needed only when the loop is done
            v.prefetch(sources[i], j * width)
        before = builder.block
        loop, meet = builder.append_basic_block("k"), builder.append_basic_block("meet")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, pa, pb = (builder.phi(_I64) for _ in range(3))
        C = {cell: builder.phi(v.type) for cell in cells}
        for phi, start in [(k, _I64(0)), (pa, a), (pb, b), *((phi, v.zero()) for phi in C.values())]:
            phi.add_incoming(start, before)
        B = [v.at(pb, j * width, aligned=True) for j in range(vectors)]
        A = [v.splat(v.entry(pa, i * DEPTH * size)) for i in range(rows)]
        stepped = {(i, j): v.step(C[i, j], A[i], B[j]) for i, j in cells}
        onwards = [(phi, builder.add(phi, _I64(by))) for phi, by in ((k, 1), (pa, size), (pb, vectors * width))]
        for phi, value in [*onwards, *((C[cell], stepped[cell]) for cell in cells)]:
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", onwards[0][1], depth), loop, meet)
        builder.position_at_end(meet)
        for i, j in cells:
            x = from_sorted(builder, stepped[i, j], plain) if v.sorted else stepped[i, j]
            v.put(emit(builder, kind.add, x, v.at(sources[i], j * width, type=plain)), targets[i], j * width)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 7), codegen


@intrinsic
def _vector_copy(typing: Any, kind: Any, count: Any, source: Any, target: Any) -> Any:
    """The images of `count` vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, count, source, target = args
        width, plain = kind.tile.width, ir.VectorType(kind.llvm, kind.lanes)
        v = _Vectors(builder, kind, image=True)
        with _loop(builder, count) as j:
            offset = builder.mul(j, _I64(width))
            x = to_image(builder, kind, v.at(builder.add(source, offset), type=plain))
            v.put(x, builder.add(target, offset))
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 3), codegen


@intrinsic
def _entry_copy(typing: Any, kind: Any, source: Any, target: Any) -> Any:
    """The image of one entry."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v = _Vectors(builder, kind, image=True)
        v.put(to_image(builder, kind, v.at(args[1], type=ir.VectorType(kind.llvm, 1))), args[2])
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp), codegen


def to_image(builder: Any, kind: Kind, x: Any) -> Any:
    """What the micro-kernel computes with in place of the entries x."""
    if not isinstance(x.type.element, ir.IntType):
        # −0 + 0 = +0: the one float whose bit pattern does not sort where its value does.
        x = builder.fadd(x, ir.Constant(x.type, [0.0] * x.type.count))
    if kind.image == "sorted":
        return _flip(builder, builder.bitcast(x, ir.VectorType(ir.IntType(8 * kind.itemsize), x.type.count)))
    return x


def from_sorted(builder: Any, x: Any, floats: Any) -> Any:
    """The floats whose images are x."""
    return builder.bitcast(_flip(builder, x), floats)


def _flip(builder: Any, x: Any) -> Any:
    """x ^ (0x7f… where x < 0): from bit patterns of floats to integers that sort alike, and back."""
    width = x.type.element.width
    sign = builder.ashr(x, ir.Constant(x.type, [width - 1] * x.type.count))
    return builder.xor(x, builder.and_(sign, ir.Constant(x.type, [2 ** (width - 1) - 1] * x.type.count)))


@contextmanager
def _loop(builder: Any, count: Any) -> Iterator[Any]:
    """for j in range(count)"""
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    j = builder.phi(_I64)
    j.add_incoming(_I64(0), before)
    builder.cbranch(builder.icmp_signed("<", j, count), body, done)
    builder.position_at_end(body)
    yield j
    j.add_incoming(builder.add(j, _I64(1)), body)
    builder.branch(head)
    builder.position_at_end(done)


@intrinsic
def _vector_row(typing: Any, kind: Any, count: Any, c: Any, a: Any, r: Any) -> Any:
    """C[j] ← C[j] ⊕ a ⊗ R[j] for `count` vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, count, c, a, r = args
        v, width = _Vectors(builder, kind, image=False), kind.tile.width
        row = v.splat(a)
        with _loop(builder, count) as j:
            offset = builder.mul(j, _I64(width))
            here = builder.add(c, offset)
            v.put(v.step(v.at(here), row, v.at(builder.add(r, offset))), here)
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, kind.scalar, types.intp), codegen


def tile(kind: Any, depth: int, a: int, b: int, old: int, old_row: int, out: int, out_row: int) -> None:
    """out ← old ⊕ A ⊗ B on one tile, from packed panels."""
    raise NotImplementedError("compiled code only")


def tile_shape(kind: Any) -> tuple[int, int]:
    """The rows and columns of a tile, constants in compiled code."""
    raise NotImplementedError("compiled code only")


@overload(tile_shape, strict=False)
def _tile_shape(kind: Any) -> Any:
    shape = kind.tile.rows, kind.columns
    return lambda kind: shape


def copy(kind: Any, count: int, source: int, step: int, target: int, pitch: int) -> None:
    """The images of `count` entries that lie `step` bytes apart, `pitch` bytes apart."""
    raise NotImplementedError("compiled code only")


def row(kind: Any, count: int, c: int, a: Any, r: int) -> None:
    """C[j] ← C[j] ⊕ a ⊗ R[j] for `count` entries side by side."""
    raise NotImplementedError("compiled code only")


@kernel
def _scalar_row(kind: Any, start: int, count: int, c: int, a: Any, r: int) -> None:
    size = itemsize(kind)
    for j in range(start, count):
        store(kind, c + j * size, plus(kind, load(kind, c + j * size), times(kind, a, load(kind, r + j * size))))


@overload(row, strict=False)
def _row(kind: Any, count: Any, c: Any, a: Any, r: Any) -> Any:
    lanes = kind.lanes
    if not kind.vector:
        return lambda kind, count, c, a, r: _scalar_row(kind, 0, count, c, a, r)

    def vectors_then_rest(kind: Any, count: int, c: int, a: Any, r: int) -> None:
        _vector_row(kind, count // lanes, c, a, r)
        _scalar_row(kind, count // lanes * lanes, count, c, a, r)

    return vectors_then_rest


@overload(copy, strict=False)
def _copy(kind: Any, count: Any, source: Any, step: Any, target: Any, pitch: Any) -> Any:
    size, lanes = kind.itemsize, kind.lanes

    def vectors_then_rest(kind: Any, count: int, source: int, step: int, target: int, pitch: int) -> None:
        done = 0
        if step == size and pitch == size:
            _vector_copy(kind, count // lanes, source, target)
            done = count // lanes * lanes
        for j in range(done, count):
            _entry_copy(kind, source + j * step, target + j * pitch)

    return vectors_then_rest


@overload(tile, strict=False)
def _tile(kind: Any, depth: Any, a: Any, b: Any, old: Any, old_row: Any, out: Any, out_row: Any) -> Any:
    if kind.vector:

        def vectors(kind: Any, depth: int, a: int, b: int, old: int, old_row: int, out: int, out_row: int) -> None:
            _vector_tile(kind, depth, a, b, old, old_row, out, out_row)

        return vectors
    size, rows, columns = kind.itemsize, kind.tile.rows, kind.columns

    def scalars(kind: Any, depth: int, a: int, b: int, old: int, old_row: int, out: int, out_row: int) -> None:
        for i in range(rows):
            target = out + i * out_row
            for j in range(columns):
                store(kind, target + j * size, load(kind, old + i * old_row + j * size))
            for k in range(depth):
                entry = load(kind, a + (i * DEPTH + k) * size)
                _scalar_row(kind, 0, columns, target, entry, b + k * columns * size)

    return scalars
