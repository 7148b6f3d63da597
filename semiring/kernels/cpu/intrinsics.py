"""Intrinsics of the kernels: load and store, ⊕, ⊗, star, rows, packing, and calls by address.

Explicit vector code if the kind has instructions for its operations, else compiled from `Op.python` through `generic`.
Addresses and strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.types.misc import unliteral
from numba.extending import intrinsic

from ...host.types import Function
from . import generic, vectors
from .instructions import Builder, Context, Entry, Int, Intrinsic, Signature, Type, Typing, Value, Values, instruction
from .kinds import Kind, left_size
from .vectors import I32, I64, Vectors, emit, entries, loop, multiply, scalar_zero, short_at

#: Compile a function that others call; division by zero gives ∞ or NaN, as in NumPy, never an exception.
kernel = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
#: The same, inlined into the callers.
part = njit(inline="always", error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@intrinsic
def load(typing: Typing, kind: Kind, address: Type) -> Intrinsic:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        return context.unpack_value(builder, kind.scalar, pointer)

    return kind.scalar(kind, types.intp), codegen


@intrinsic
def store(typing: Typing, kind: Kind, address: Type, value: Type) -> Intrinsic:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        context.pack_value(builder, kind.scalar, args[2], pointer)
        return context.get_dummy_value()

    return types.none(kind, types.intp, kind.scalar), codegen


@instruction
def short(builder: Builder, table: Int, k: Int) -> Int:
    return short_at(builder, table, k)


@instruction
def long(builder: Builder, table: Int, k: Int) -> Int:
    """k-th of the 64-bit integers at `table`."""
    pointer = builder.inttoptr(builder.add(table, builder.mul(k, I64(8))), I64.as_pointer())
    return builder.load(pointer)


@instruction
def load_index(builder: Builder, address: Int) -> Int:
    return short_at(builder, address, I64(0))


@instruction
def store_index(builder: Builder, address: Int, value: Int) -> None:
    builder.store(builder.trunc(value, I32), builder.inttoptr(address, I32.as_pointer())).align = 4


@instruction
def prefetch(builder: Builder, address: Int) -> None:
    vectors.prefetch(builder, address)


@intrinsic
def write(typing: Typing, address: Type, value: Type) -> Intrinsic:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        pointer = builder.inttoptr(args[0], context.get_data_type(value).as_pointer())
        context.pack_value(builder, value, args[1], pointer)
        return context.get_dummy_value()

    return types.none(types.intp, value), codegen


@instruction
def itemsize(builder: Builder, kind: Kind) -> Int:
    return I64(kind.itemsize)


#: `left_size` in kernels.
left_itemsize = part(left_size)


@instruction
def tile_rows(builder: Builder, kind: Kind) -> Int:
    return I64(kind.tile.rows)


@instruction
def tile_columns(builder: Builder, kind: Kind) -> Int:
    return I64(kind.columns)


@intrinsic
def zero(typing: Typing, kind: Kind) -> Intrinsic:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        return context.get_constant(kind.scalar, kind.zero)

    return kind.scalar(kind), codegen


@intrinsic
def one(typing: Typing, kind: Kind) -> Intrinsic:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        return context.get_constant(kind.scalar, kind.one)

    return kind.scalar(kind), codegen


@instruction(generic=generic.plus)
def plus(builder: Builder, kind: Kind, a: Entry, b: Entry) -> Entry:
    """a ⊕ b."""
    return emit(builder, kind.add, a, b)


@instruction(generic=generic.times)
def times(builder: Builder, kind: Kind, a: Entry, b: Entry) -> Entry:
    return multiply(builder, kind.mul, a, b, scalar_zero(kind))


@intrinsic
def star(typing: Typing, kind: Kind, a: Type) -> Intrinsic:
    """a* = 1 ⊕ a ⊕ a² ⊕ …; 1 ⊕ a unless the semiring declares a star."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        if generic.declared_star(kind) is None and kind.vector:
            return emit(builder, kind.add, context.get_constant(kind.scalar, kind.one), args[1])
        return context.compile_internal(builder, generic.star(kind), signature, args)

    return kind.scalar(kind, kind.scalar), codegen


@instruction
def row(builder: Builder, kind: Kind, count: Int, c: Int, a: Entry, r: Int) -> None:
    """C[j] ← C[j] ⊕ a ⊗ R[j] for `count` contiguous entries."""
    for v, (here, there) in entries(builder, kind, count, c, r):
        v.store(v.step(v.load(here), v.splat(a), v.load(there)), here)


@instruction
def clear(builder: Builder, kind: Kind, count: Int, target: Int) -> None:
    """`count` entries ← 0; vector code rounds up to full vectors."""
    v = Vectors(builder, kind)
    for offset in _full(v, count):
        v.store(v.zero(), builder.add(target, offset))


@instruction
def copy_vectors(builder: Builder, kind: Kind, count: Int, source: Int, target: Int) -> None:
    """Copy `count` entries, rounded up to full vectors."""
    _copy(Vectors(builder, kind), count, source, target)


@instruction
def copy(builder: Builder, kind: Kind, count: Int, source: Int, target: Int) -> None:
    """`copy_vectors`, or entry by entry without vector code."""
    _copy(Vectors(builder, kind, lanes=kind.lanes if kind.vector else 1), count, source, target)


def _copy(v: Vectors, count: Value, source: Value, target: Value) -> None:
    for offset in _full(v, count):
        v.store(v.load(v.builder.add(source, offset)), v.builder.add(target, offset))


def _full(v: Vectors, count: Value) -> Iterator[Value]:
    """Loop over full vectors of `count` entries or more: yields their offsets."""
    builder, lanes = v.builder, v.plain.count
    with loop(builder, I64(0), builder.sdiv(builder.add(count, I64(lanes - 1)), I64(lanes))) as j:
        yield builder.mul(j, I64(lanes * v.kind.itemsize))


@intrinsic
def move(
    typing: Typing, kind: Kind, m: Type, n: Type, source: Type, row: Type, col: Type, target: Type, to_row: Type,
    to_col: Type,
) -> Intrinsic:  # fmt: skip
    """Pack m × n entries, as images, between strides."""
    return types.none(kind, *(types.intp,) * 8), partial(_move, kind.itemsize)


@intrinsic
def move_left(
    typing: Typing, kind: Kind, m: Type, n: Type, source: Type, row: Type, col: Type, target: Type, to_row: Type,
    to_col: Type,
) -> Intrinsic:  # fmt: skip
    """`move` for a packed left operand; see `left_size`."""
    return types.none(kind, *(types.intp,) * 8), partial(_move, left_size(kind.itemsize))


def _move(to_size: int, context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
    kind = signature.args[0]
    name = f"semiring.move.{kind.dtype}.{to_size}.{kind.image}.{kind.tile.width}"
    function = builder.module.globals.get(name) or _mover(builder.module, name, kind, to_size)
    builder.call(function, args[1:])
    return context.get_dummy_value()


def _mover(module: Any, name: str, kind: Kind, to_size: int) -> Any:
    """A noinline function, so that each place that packs does not compile it again."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 8), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    m, n, source, row, col, target, to_row, to_col = function.args
    size, twice = kind.itemsize, to_size > kind.itemsize
    dense = builder.and_(builder.icmp_signed("==", col, I64(size)), builder.icmp_signed("==", to_col, I64(to_size)))
    vectors = builder.select(dense, builder.sdiv(n, I64(kind.lanes)), I64(0))
    rest = builder.mul(vectors, I64(kind.lanes))
    with loop(builder, I64(0), m) as i:
        read, write = builder.add(source, builder.mul(i, row)), builder.add(target, builder.mul(i, to_row))
        for lanes, start, stop in ((kind.lanes, I64(0), vectors), (1, rest, n)):
            v = Vectors(builder, kind, image=True, lanes=lanes)
            with loop(builder, start, stop) as j:
                k = builder.mul(j, I64(lanes))
                x = v.load(builder.add(read, builder.mul(k, col)), type=v.plain)
                image = v.to_image(x)
                if twice:
                    image = builder.zext(image, ir.VectorType(I32, lanes))
                    image = builder.or_(image, builder.shl(image, ir.Constant(image.type, [8 * size] * lanes)))
                v.store(image, builder.add(write, builder.mul(k, to_col)))
    builder.ret_void()
    return function


def _by_address(kind: Kind, arguments: Any, parameter_types: list[Any]) -> Function:
    """A call of existing machine code; a callee by name would be compiled again for each caller.

    The last two of `args` are its address and its arguments, which are cast to `parameter_types`.
    """

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        values = [
            context.cast(builder, value, t, to)
            for value, t, to in zip(
                cgutils.unpack_tuple(builder, args[-1]), arguments.types, parameter_types, strict=True
            )
        ]
        callee_type = context.call_conv.get_function_type(types.none, [kind, *parameter_types])
        callee = builder.inttoptr(args[-2], callee_type.as_pointer())
        values = [context.get_dummy_value(), *values]
        status, _ = context.call_conv.call_function(builder, callee, types.none, [kind, *parameter_types], values)
        with cgutils.if_unlikely(builder, status.is_error):  # a star without a value
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return codegen


@intrinsic
def call(typing: Typing, kind: Kind, address: Type, arguments: Any) -> Intrinsic:
    """Call the kernel of this kind at `address`."""
    return types.none(kind, types.intp, arguments), _by_address(
        kind, arguments, [unliteral(t) for t in arguments.types]
    )


@intrinsic
def jump(typing: Typing, address: Type, arguments: Any) -> Intrinsic:
    """`call` without a kind: all arguments are 64-bit integers or booleans."""
    parameter_types = [types.boolean if unliteral(t) == types.boolean else types.intp for t in arguments.types]
    return types.none(types.intp, arguments), _by_address(types.voidptr, arguments, parameter_types)
