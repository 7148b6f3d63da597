"""Intrinsics of the kernels: load and store, ⊕, ⊗, star, and products of rows and tiles.

Explicit vector code if the kind has instructions for its operations, else compiled from `Op.python` through `generic`.
Addresses and strides are in bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.types.misc import unliteral
from numba.extending import intrinsic

from . import generic
from .kinds import left_size
from .vectors import I32, I64, Vectors, compare, emit, loop, multiply, opaque, scalar_zero, short_at, splat

#: Depth of packed panels. B's panel, DEPTH × columns, stays in the nearest caches.
DEPTH = 256
#: Largest matrix closed in full rows.
SMALL = 16

#: Compile a function that others call; division by zero gives ∞ or NaN, as in NumPy, never an exception.
kernel = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
#: The same, inlined into the callers.
part = njit(inline="always", error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@intrinsic
def load(typing: Any, kind: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        return context.unpack_value(builder, kind.scalar, pointer)

    return kind.scalar(kind, types.intp), codegen


@intrinsic
def store(typing: Any, kind: Any, address: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], context.get_data_type(kind.scalar).as_pointer())
        context.pack_value(builder, kind.scalar, args[2], pointer)
        return context.get_dummy_value()

    return types.none(kind, types.intp, kind.scalar), codegen


@intrinsic
def short(typing: Any, table: Any, k: Any) -> Any:
    return types.intp(types.intp, types.intp), lambda c, builder, s, args: short_at(builder, *args)


@intrinsic
def long(typing: Any, table: Any, k: Any) -> Any:
    """k-th of the 64-bit integers at `table`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(builder.add(args[0], builder.mul(args[1], I64(8))), I64.as_pointer())
        return builder.load(pointer)

    return types.intp(types.intp, types.intp), codegen


@intrinsic
def load_index(typing: Any, address: Any) -> Any:
    return types.intp(types.intp), lambda c, builder, s, args: short_at(builder, args[0], I64(0))


@intrinsic
def store_index(typing: Any, address: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(builder.trunc(args[1], I32), builder.inttoptr(args[0], I32.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.none(types.intp, types.intp), codegen


@intrinsic
def write(typing: Any, address: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_data_type(value).as_pointer())
        context.pack_value(builder, value, args[1], pointer)
        return context.get_dummy_value()

    return types.none(types.intp, value), codegen


@intrinsic
def itemsize(typing: Any, kind: Any) -> Any:
    return types.intp(kind), lambda context, builder, signature, args: I64(kind.itemsize)


#: `left_size` in kernels.
left_itemsize = part(left_size)


@intrinsic
def tile_rows(typing: Any, kind: Any) -> Any:
    return types.intp(kind), lambda context, builder, signature, args: I64(kind.tile.rows)


@intrinsic
def tile_columns(typing: Any, kind: Any) -> Any:
    return types.intp(kind), lambda context, builder, signature, args: I64(kind.columns)


@intrinsic
def group_depth(typing: Any, kind: Any) -> Any:
    """Unroll factor along k of the witness product, a constant."""
    return types.intp(kind), lambda context, builder, signature, args: I64(kind.group)


@intrinsic
def zero(typing: Any, kind: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(kind.scalar, kind.zero)

    return kind.scalar(kind), codegen


@intrinsic
def one(typing: Any, kind: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant(kind.scalar, kind.one)

    return kind.scalar(kind), codegen


@intrinsic
def plus(typing: Any, kind: Any, a: Any, b: Any) -> Any:
    """a ⊕ b."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if kind.vector:
            return emit(builder, kind.add, *args[1:])
        return context.compile_internal(builder, generic.plus(kind), signature, args)

    return kind.scalar(kind, kind.scalar, kind.scalar), codegen


@intrinsic
def times(typing: Any, kind: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if kind.vector:
            _, a, b = args
            return multiply(builder, kind.mul, a, b, scalar_zero(kind))
        return context.compile_internal(builder, generic.times(kind), signature, args)

    return kind.scalar(kind, kind.scalar, kind.scalar), codegen


@intrinsic
def star(typing: Any, kind: Any, a: Any) -> Any:
    """a* = 1 ⊕ a ⊕ a² ⊕ …; 1 ⊕ a unless the semiring declares a star."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if generic.declared_star(kind) is None and kind.vector:
            return emit(builder, kind.add, context.get_constant(kind.scalar, kind.one), args[1])
        return context.compile_internal(builder, generic.star(kind), signature, args)

    return kind.scalar(kind, kind.scalar), codegen


@intrinsic
def row(typing: Any, kind: Any, count: Any, c: Any, a: Any, r: Any) -> Any:
    """C[j] ← C[j] ⊕ a ⊗ R[j] for `count` contiguous entries."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _generic_row(kind), signature, args)
        _, count, c, a, r = args
        vectors = builder.sdiv(count, I64(kind.lanes))
        rest = builder.mul(vectors, I64(kind.lanes))
        for lanes, start, stop in ((kind.lanes, I64(0), vectors), (1, rest, count)):
            v = Vectors(builder, kind, lanes=lanes)
            factor = v.splat(a)
            with loop(builder, start, stop) as j:
                offset = builder.mul(j, I64(lanes * kind.itemsize))
                here = builder.add(c, offset)
                v.store(v.step(v.load(here), factor, v.load(builder.add(r, offset))), here)
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, kind.scalar, types.intp), codegen


@intrinsic
def pivot(typing: Any, kind: Any, n: Any, k: Any, a: Any, s: Any, b: Any, t: Any) -> Any:
    """One step of Floyd–Warshall–Kleene (see `dense.pivot`) on A, with s = A[k,k]*, and on B, with t = B[k,k]*.

    Both are n contiguous rows of SMALL entries. Rows are loaded and stored whole, column k included, since a load
    stalls on stores to parts of it. Two matrices hide each other's latency.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, n, k, a, s, b, t = args
        v, size = Vectors(builder, kind, lanes=min(kind.lanes, SMALL)), kind.itemsize
        lanes, pitch = v.type.count, SMALL * size
        index = ir.VectorType(ir.IntType(8 * size), lanes)
        position = splat(builder, k if size == 8 else builder.trunc(k, index.element), lanes)
        vectors = [  # byte offset and mask of column k
            (j * size, builder.icmp_signed("==", position, ir.Constant(index, list(range(j, j + lanes)))))
            for j in range(0, SMALL, lanes)
        ]
        # Idempotent ⊕ needs no exception at column k: 1 ⊕ s = s, so c ⊕ c ⊗ s = c ⊗ s.
        idempotent = kind.add not in ("fadd", "logaddexp")

        def update(here: Any, column: Any, c: Any, r: Any) -> None:
            x = v.step(v.load(here), c, r)
            v.store(x if idempotent else builder.select(column, emit(builder, kind.mul, c, r), x), here)

        own, pivot_rows = builder.mul(k, I64(pitch)), []
        for matrix, closed in ((a, s), (b, t)):
            here, stars = builder.add(matrix, own), v.splat(closed)
            rows = [multiply(builder, kind.mul, stars, v.load(here, offset), v.zero()) for offset, _ in vectors]
            rows = [builder.select(column, stars, r) for r, (_, column) in zip(rows, vectors, strict=True)]
            for r, (offset, _) in zip(rows, vectors, strict=True):
                v.store(r, here, offset)
            pivot_rows.append((matrix, rows))
        for start, stop in ((I64(0), k), (builder.add(k, I64(1)), n)):
            with loop(builder, start, stop) as i:
                for matrix, rows in pivot_rows:
                    here = builder.add(matrix, builder.mul(i, I64(pitch)))
                    c = v.splat(v.load(builder.add(here, builder.mul(k, I64(size))), type=v.type.element))
                    for r, (offset, column) in zip(rows, vectors, strict=True):
                        update(builder.add(here, I64(offset)), column, c, r)
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, types.intp, kind.scalar, types.intp, kind.scalar), codegen


@intrinsic
def clear(typing: Any, kind: Any, count: Any, target: Any) -> Any:
    """`count` entries ← 0; vector code rounds up to full vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _clear_generic, signature, args)
        v = Vectors(builder, kind)
        with loop(builder, I64(0), _in_vectors(builder, kind, args[1])) as j:
            v.store(v.zero(), builder.add(args[2], builder.mul(j, I64(kind.tile.width))))
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp), codegen


@intrinsic
def copy_vectors(typing: Any, kind: Any, count: Any, source: Any, target: Any) -> Any:
    """Copy `count` entries, rounded up to full vectors."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v = Vectors(builder, kind)
        with loop(builder, I64(0), _in_vectors(builder, kind, args[1])) as j:
            offset = builder.mul(j, I64(kind.tile.width))
            v.store(v.load(builder.add(args[2], offset)), builder.add(args[3], offset))
        return context.get_dummy_value()

    return types.none(kind, types.intp, types.intp, types.intp), codegen


@intrinsic
def copy(typing: Any, kind: Any, count: Any, source: Any, target: Any) -> Any:
    """`copy_vectors`, or entry by entry without vector code."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def scalars(kind: Any, count: int, source: int, target: int) -> None:
            for j in range(count):
                store(kind, target + j * itemsize(kind), load(kind, source + j * itemsize(kind)))

        def vectors(kind: Any, count: int, source: int, target: int) -> None:
            copy_vectors(kind, count, source, target)

        return context.compile_internal(builder, vectors if kind.vector else scalars, signature, args)

    return types.none(kind, types.intp, types.intp, types.intp), codegen


def _in_vectors(builder: Any, kind: Any, count: Any) -> Any:
    return builder.sdiv(builder.add(count, I64(kind.lanes - 1)), I64(kind.lanes))


def _clear_generic(kind: Any, count: int, target: int) -> None:
    for j in range(count):
        store(kind, target + j * itemsize(kind), zero(kind))


@intrinsic
def move(
    typing: Any, kind: Any, m: Any, n: Any, source: Any, row: Any, col: Any, target: Any, to_row: Any, to_col: Any
) -> Any:
    """Pack m × n entries, as images, between strides."""
    return types.none(kind, *(types.intp,) * 8), partial(_move, kind.itemsize)


@intrinsic
def move_left(
    typing: Any, kind: Any, m: Any, n: Any, source: Any, row: Any, col: Any, target: Any, to_row: Any, to_col: Any
) -> Any:
    """`move` for a packed left operand; see `left_size`."""
    return types.none(kind, *(types.intp,) * 8), partial(_move, left_size(kind.itemsize))


def _move(to_size: int, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    name = f"semiring.move.{kind.dtype}.{to_size}.{kind.image}.{kind.tile.width}"
    function = builder.module.globals.get(name) or _mover(builder.module, name, kind, to_size)
    builder.call(function, args[1:])
    return context.get_dummy_value()


def _mover(module: Any, name: str, kind: Any, to_size: int) -> Any:
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


@intrinsic
def tile(typing: Any, kind: Any, depth: Any, a: Any, b: Any, old: Any, old_row: Any, out: Any, out_row: Any) -> Any:
    """out ← old ⊕ A ⊗ B on one tile: A a packed panel of `rows`, B one of `columns`, `depth` ≤ DEPTH deep.

    The accumulators start at 0, and `old` is added last, so that the loop holds only loads, ⊗ and ⊕.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _generic_tile(kind), signature, args)
        _, depth, a, b, old, old_row, out, out_row = args
        v, (rows, vectors, width), size = Vectors(builder, kind, image=True), kind.tile, left_size(kind.itemsize)
        cells = [(i, j) for i in range(rows) for j in range(vectors)]
        sources = [builder.add(old, builder.mul(old_row, I64(i))) for i in range(rows)]
        targets = [builder.add(out, builder.mul(out_row, I64(i))) for i in range(rows)]
        for i, j in cells:  # C is far away, and needed only after the loop
            v.prefetch(sources[i], j * width)
        before = builder.block
        body, finish = builder.append_basic_block("k"), builder.append_basic_block("finish")
        builder.branch(body)
        builder.position_at_end(body)
        k, pa, pb = (builder.phi(I64) for _ in range(3))
        C = {cell: builder.phi(v.type) for cell in cells}
        for phi, start in [(k, I64(0)), (pa, a), (pb, b), *((phi, v.zero()) for phi in C.values())]:
            phi.add_incoming(start, before)
        B = [v.load(pb, j * width, align=width) for j in range(vectors)]
        A = [v.splat_left(pa, i * DEPTH * size) for i in range(rows)]
        stepped = {(i, j): v.step(C[i, j], A[i], B[j]) for i, j in cells}
        onwards = [(phi, builder.add(phi, I64(by))) for phi, by in ((k, 1), (pa, size), (pb, vectors * width))]
        for phi, value in [*onwards, *((C[cell], stepped[cell]) for cell in cells)]:
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", onwards[0][1], depth), body, finish)
        builder.position_at_end(finish)
        for i, j in cells:
            total = emit(builder, kind.add, v.from_image(stepped[i, j]), v.load(sources[i], j * width, type=v.plain))
            v.store(total, targets[i], j * width)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 7), codegen


@intrinsic
def tile_with_witness(
    typing: Any, kind: Any, k0: Any, depth: Any, a: Any, b: Any, c: Any, c_row: Any, w: Any, w_row: Any
) -> Any:
    """C ← C ⊕ A ⊗ B on one tile, packed as for `tile`; K ← k0 + the first k of a group where that changes C.

    The last group of k overlaps the one before; below one group, each k is repeated: ⊕ is idempotent.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _generic_tile_with_witness(kind), signature, args)
        _, k0, depth, a, b, c, c_row, w, w_row = args
        group = kind.group
        v, (rows, vectors, width), size = Vectors(builder, kind, image=True), kind.tile, kind.itemsize
        left = left_size(size)
        index = ir.VectorType(ir.IntType(8 * size), kind.lanes)
        cells = [(i, j) for i in range(rows) for j in range(vectors)]
        targets = [builder.add(c, builder.mul(c_row, I64(i))) for i in range(rows)]
        indices = [builder.add(w, builder.mul(w_row, I64(i))) for i in range(rows)]
        several = builder.icmp_signed(">=", depth, I64(group))
        by = builder.select(several, I64(group), I64(1))
        last = builder.sub(depth, by)
        apart_a, apart_b = (builder.select(several, I64(x), I64(0)) for x in (left, vectors * width))
        for i, j in cells:  # C and K are far away, and needed only after the loop
            v.prefetch(targets[i], j * width)
            v.prefetch(indices[i], j * kind.lanes * 4)
        before = builder.block
        body, finish = builder.append_basic_block("k"), builder.append_basic_block("finish")
        builder.branch(body)
        builder.position_at_end(body)
        k = builder.phi(I64)
        k.add_incoming(I64(0), before)
        C = {cell: builder.phi(v.type) for cell in cells}
        K = {cell: builder.phi(index) for cell in cells}
        now = builder.select(builder.icmp_signed("<", k, last), k, last)
        number = splat(builder, builder.trunc(now, index.element) if size < 8 else now, kind.lanes)
        pa, pb = [builder.add(a, builder.mul(now, I64(left)))], [builder.add(b, builder.mul(now, I64(vectors * width)))]
        for _ in range(group - 1):
            pa.append(builder.add(pa[-1], apart_a))
            pb.append(builder.add(pb[-1], apart_b))
        B = [[v.load(address, j * width, align=width) for j in range(vectors)] for address in pb]
        sums, noted = dict(C), {}
        for i in range(rows):  # row by row: few old sums are live at a time
            for e in range(group):
                A = v.splat_left(pa[e], i * DEPTH * left)
                for j in range(vectors):
                    sums[i, j] = v.step(sums[i, j], A, B[e][j])
            for j in range(vectors):
                noted[i, j] = builder.select(_differ(builder, sums[i, j], C[i, j]), number, K[i, j])
        onwards = builder.add(k, by)
        for cell in cells:
            for phi, start, value in (
                (C[cell], v.zero(), sums[cell]),
                (K[cell], ir.Constant(index, None), noted[cell]),
            ):
                phi.add_incoming(start, before)
                phi.add_incoming(value, body)
        k.add_incoming(onwards, body)
        builder.cbranch(builder.icmp_signed("<", onwards, depth), body, finish)
        builder.position_at_end(finish)
        short = ir.VectorType(I32, kind.lanes)
        first = splat(builder, builder.trunc(k0, I32), kind.lanes)
        for i, j in cells:
            old = v.load(targets[i], j * width, type=v.plain)
            total = emit(builder, kind.add, sums[i, j], old)
            v.store(total, targets[i], j * width)
            found = noted[i, j]
            if size != 4:
                found = builder.zext(found, short) if size < 4 else builder.trunc(found, short)
            held = v.load(indices[i], j * kind.lanes * 4, type=short, align=4)
            changed = builder.select(_differ(builder, total, old), builder.add(found, first), held)
            pointer = builder.inttoptr(builder.add(indices[i], I64(j * kind.lanes * 4)), short.as_pointer())
            builder.store(opaque(builder, changed), pointer).align = 4
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 8), codegen


@intrinsic
def first_attaining(typing: Any, kind: Any, x: Any, y: Any, best: Any) -> Any:
    """The first e of a group with x[e] ⊗ y[e] = best, else the group's size."""

    def scalars(kind: Any, x: int, y: int, best: Any) -> int:
        found = group_depth(kind)
        for e in range(group_depth(kind) - 1, -1, -1):
            k = e * itemsize(kind)
            found = e if times(kind, load(kind, x + k), load(kind, y + k)) == best else found
        return found

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, scalars, signature, args)
        v, bits = Vectors(builder, kind, lanes=kind.group), ir.IntType(kind.group)
        products = multiply(builder, kind.mul, v.load(args[1]), v.load(args[2]), v.zero())
        equal = builder.bitcast(compare(builder, kind, "==", products, v.splat(args[3])), bits)
        return builder.cttz(builder.zext(equal, I64), ir.IntType(1)(0))

    return types.intp(kind, types.intp, types.intp, kind.scalar), codegen


def _differ(builder: Any, x: Any, y: Any) -> Any:
    if isinstance(x.type.element, ir.IntType):
        return builder.icmp_signed("!=", x, y)
    return builder.fcmp_ordered("!=", x, y)


def _by_address(kind: Any, arguments: Any, parameter_types: list[Any]) -> Any:
    """A call of existing machine code; a callee by name would be compiled again for each caller.

    The last two of `args` are its address and its arguments, which are cast to `parameter_types`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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
def call(typing: Any, kind: Any, address: Any, arguments: Any) -> Any:
    """Call the kernel of this kind at `address`."""
    return types.none(kind, types.intp, arguments), _by_address(
        kind, arguments, [unliteral(t) for t in arguments.types]
    )


@intrinsic
def jump(typing: Any, address: Any, arguments: Any) -> Any:
    """`call` without a kind: all arguments are 64-bit integers or booleans."""
    parameter_types = [types.boolean if unliteral(t) == types.boolean else types.intp for t in arguments.types]
    return types.none(types.intp, arguments), _by_address(types.voidptr, arguments, parameter_types)


def _generic_row(kind: Any) -> Any:
    size = kind.itemsize

    def scalars(kind: Any, count: int, c: int, a: Any, r: int) -> None:
        for j in range(count):
            store(kind, c + j * size, plus(kind, load(kind, c + j * size), times(kind, a, load(kind, r + j * size))))

    return scalars


def _generic_tile(kind: Any) -> Any:
    size, left, rows, columns = kind.itemsize, left_size(kind.itemsize), kind.tile.rows, kind.columns

    def scalars(kind: Any, depth: int, a: int, b: int, old: int, old_row: int, out: int, out_row: int) -> None:
        for i in range(rows):
            target = out + i * out_row
            for j in range(columns):
                store(kind, target + j * size, load(kind, old + i * old_row + j * size))
            for k in range(depth):
                row(kind, columns, target, load(kind, a + (i * DEPTH + k) * left), b + k * columns * size)

    return scalars


def _generic_tile_with_witness(kind: Any) -> Any:
    size, left, rows, columns = kind.itemsize, left_size(kind.itemsize), kind.tile.rows, kind.columns

    def scalars(kind: Any, k0: int, depth: int, a: int, b: int, c: int, c_row: int, w: int, w_row: int) -> None:
        for i in range(rows):
            for k in range(depth):
                for j in range(columns):
                    target = c + i * c_row + j * size
                    before = load(kind, target)
                    x, y = load(kind, a + (i * DEPTH + k) * left), load(kind, b + (k * columns + j) * size)
                    total = plus(kind, before, times(kind, x, y))
                    if total != before:
                        store(kind, target, total)
                        store_index(w + i * w_row + 4 * j, k0 + k)

    return scalars
