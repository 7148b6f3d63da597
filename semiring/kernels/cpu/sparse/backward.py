"""Sweeps of lengths and best-walk counts, and their adjoint passes to L and F.

One walk over the supernodal tree does both, for a batch of sources as lanes: rows are computed on the way down, and
dependencies are passed on once a subtree is done. So only the path from the root is in memory: y, its counts and G of
each column. See `counted` for G and the quantities; z is the climb's. Lengths are float64, or int32 ≥ 0 with ∞ = 2³¹ −
1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ....host.types import Function
from ..annotations import Builder, Context, Intrinsic, Signature, Type, Typing, Value, Values
from ..instructions import Int, instruction
from ..intrinsics import itemsize, kernel, long, part, short, write
from ..kinds import Kind
from ..vectors import I32, I64, _declare, accumulate, across, loop, short_at, splat
from .strips import STRIP, cases

F64 = ir.DoubleType()
#: Byte offsets of the second, third and fourth of four vectors.
_SECOND, _THIRD, _FOURTH = 128, 256, 384
#: int32 lengths below this may be added twice.
SHORT = 2**30


class _Lanes:
    """Vector operations on lengths, and on float64 counts of the same lanes."""

    def __init__(self, builder: Builder, kind: Kind) -> None:
        self.builder, self.kind, self.count = builder, kind, kind.tile.width // kind.itemsize
        self.whole = kind.dtype == "int32"
        self.lengths, self.numbers = ir.VectorType(kind.llvm, self.count), ir.VectorType(F64, self.count)
        nil = 2**31 - 1 if self.whole else float("inf")
        self.infinite = ir.Constant(self.lengths, [nil] * self.count)
        self.nothing = ir.Constant(self.numbers, [0.0] * self.count)
        self.unit = ir.Constant(self.numbers, [1.0] * self.count)

    def load(self, base: Value, row: Value, group: Value, lanes: Value, type: ir.Type, offset: int = 0) -> Value:
        value = self.builder.load(self._place(base, row, group, lanes, type, offset))
        value.align = 8 if type == self.numbers else self.kind.itemsize
        return value

    def store(self, value: Value, base: Value, row: Value, group: Value, lanes: Value, offset: int = 0) -> None:
        self.builder.store(value, self._place(base, row, group, lanes, value.type, offset)).align = self.kind.itemsize

    def _place(self, base: Value, row: Value, group: Value, lanes: Value, type: ir.Type, offset: int) -> Value:
        b, size = self.builder, 8 if type == self.numbers else self.kind.itemsize
        entry = b.add(b.mul(row, lanes), b.mul(group, I64(self.count)))
        return b.inttoptr(b.add(b.add(base, I64(offset)), b.mul(entry, I64(size))), type.as_pointer())

    def splat(self, base: Value, entry: Value, type: ir.Type) -> Value:
        b, size = self.builder, 8 if type == self.numbers else self.kind.itemsize
        x = b.load(b.inttoptr(b.add(base, b.mul(entry, I64(size))), type.element.as_pointer()))
        return splat(b, x, self.count)

    def sum(self, x: Value, y: Value) -> Value:
        return self.builder.add(x, y) if self.whole else self.builder.fadd(x, y)

    def less(self, x: Value, y: Value) -> Value:
        """Compare sums of two lengths, which may exceed int32: unsigned."""
        return self.builder.icmp_unsigned("<", x, y) if self.whole else self.builder.fcmp_ordered("<", x, y)

    def least(self, x: Value, y: Value) -> Value:
        return self.builder.select(self.less(x, y), x, y)

    scale: Any = None

    def bound(self, x: Value) -> Value:
        """The greatest length equal to x: `scale` times it, unless lengths are exact."""
        return x if self.whole else self.builder.fmul(x, self.scale)

    def within(self, x: Value, most: Value) -> Value:
        """Whether a length ≥ the minimum is within its `bound`."""
        return self.builder.icmp_signed("==", x, most) if self.whole else self.builder.fcmp_ordered("<=", x, most)

    def same(self, x: Value, y: Value) -> Value:
        return self.builder.icmp_signed("==", x, y) if self.whole else self.builder.fcmp_ordered("==", x, y)

    def added(self, where: Value, total: Value, x: Value, y: Value) -> Value:
        name = f"llvm.fmuladd.v{self.count}f64"
        fused = self.builder.call(_declare(self.builder, name, self.numbers, [self.numbers] * 3), [x, y, total])
        return self.builder.select(where, fused, total)

    def quotient(self, x: Value, y: Value) -> Value:
        """x / y for counts y: with AVX-512 by two Newton steps, a quarter of the time; exact for y = 1."""
        b = self.builder
        if self.kind.tile.width != 64:
            return b.fdiv(x, y)
        half = ir.VectorType(F64, 8)
        name = "llvm.x86.avx512.rcp14.pd.512"
        first = _declare(b, name, half, [half, half, ir.IntType(8)])
        parts = []
        for k in range(0, self.count, 8):
            part = b.shuffle_vector(y, y, ir.Constant(ir.VectorType(I32, 8), list(range(k, k + 8))))
            parts.append(b.call(first, [part, ir.Constant(half, None), ir.Constant(ir.IntType(8), -1)]))
        r = parts[0]
        if len(parts) > 1:
            r = b.shuffle_vector(*parts, ir.Constant(ir.VectorType(I32, self.count), list(range(self.count))))
        fused = _declare(b, f"llvm.fma.v{self.count}f64", self.numbers, [self.numbers] * 3)
        minus = b.fneg(y)
        for _ in range(2):
            r = b.call(fused, [r, b.call(fused, [minus, r, self.unit]), r])
        return b.fmul(x, r)

    def all_one(self, values: list[Value]) -> Value:
        b, bits = self.builder, ir.VectorType(I64, self.count)
        unit, differ = b.bitcast(self.unit, bits), ir.Constant(bits, None)
        for x in values:
            differ = b.or_(differ, b.xor(b.bitcast(x, bits), unit))
        mask = b.bitcast(b.icmp_unsigned("!=", differ, ir.Constant(bits, None)), ir.IntType(self.count))
        return b.icmp_unsigned("==", mask, ir.Constant(mask.type, 0))


def by_columns(emit: Callable[..., None]) -> Function:
    """Decorator: emit(builder, lanes, columns, *integers) as an instruction of (kind, columns, *integers).

    A switch over noinline functions, one per number of columns.
    """
    count = emit.__code__.co_argcount - 3

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Value:
        kind = signature.args[0]
        for columns in cases(builder, args[1]):
            builder.call(_made(builder.module, kind, columns), args[2:])
        return context.get_dummy_value()

    def _made(module: Any, kind: Kind, columns: int) -> Any:
        called = f"semiring.flows{emit.__name__}.{kind.dtype}.{kind.tile.width}.{columns}"
        if called in module.globals:
            return module.globals[called]
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * count), called)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        emit(inside, _Lanes(inside, kind), columns, *function.args)
        inside.ret_void()
        return function

    @wraps(emit)
    def define(typing: Typing, kind: Kind, *given: Type) -> Intrinsic:
        return types.none(kind, *(types.intp,) * (count + 1)), codegen

    return intrinsic(define)


@by_columns
def _forward(
    b: Builder, v: _Lanes, columns: int, lanes: Value, count: Value, index: Value, d: Value, p: Value, y: Value,
    s: Value, g: Value, at: Value, z: Value, zs: Value, q: Value, q_step: Value, label: Value, ends: Value, most: Value,
    members: Value,
) -> None:  # fmt: skip
    """y[at + c] = z ⊕ (one column only) ⊕ y[index[k]] + d[k, c], its counts s, and g = q / s where that is finite.

    Rows of y, s, g, z, zs and q are `lanes` entries, column c's row of q is label[c] q_step; ends[label[c]] accumulates
    the members of finite lanes, float64, followed by 64-bit sums per vector of them; `most` holds the largest counts, 1
    for demand at y = ∞, the farthest y, and the factor up to which lengths are equal.
    """
    none, every = I64(0), range(columns)
    v.scale = v.load(most, none, none, lanes, v.numbers, _FOURTH)
    targets = [b.add(at, I64(c)) for c in every]
    vertices = [short_at(b, label, I64(c)) for c in every]
    with loop(b, none, b.sdiv(lanes, I64(v.count))) as group:
        starts = [v.load(z, none, group, lanes, v.lengths)] if columns == 1 else [v.infinite] * columns
        with accumulate(b, count, starts) as (k, before, found):
            x, first = v.load(y, short_at(b, index, k), group, lanes, v.lengths), b.mul(k, I64(columns))
            found += [v.least(v.sum(x, v.splat(d, b.add(first, I64(c)), v.lengths)), before[c]) for c in every]
        if v.whole:
            found = [v.least(x, v.infinite) for x in found]
        bounds = [v.bound(x) for x in found]
        own = [v.nothing] * columns
        if columns == 1:
            own = [b.select(v.within(starts[0], bounds[0]), v.load(zs, none, group, lanes, v.numbers), v.nothing)]
        with accumulate(b, count, own) as (k, before, numbers):
            row, places = short_at(b, index, k), [b.add(b.mul(k, I64(columns)), I64(c)) for c in every]
            x, n = v.load(y, row, group, lanes, v.lengths), v.load(s, row, group, lanes, v.numbers)
            tight = [v.within(v.sum(x, v.splat(d, here, v.lengths)), f) for here, f in zip(places, bounds, strict=True)]
            numbers += [v.added(tight[c], before[c], n, v.splat(p, places[c], v.numbers)) for c in every]
        asked = [v.load(q, b.mul(vertex, q_step), group, lanes, v.numbers) for vertex in vertices]
        farthest = v.load(most, none, none, lanes, v.lengths, _THIRD)
        for target, x in zip(targets, found, strict=True):
            v.store(x, y, target, group, lanes)
            if v.whole:
                finite = b.select(v.less(x, v.infinite), x, farthest)
                farthest = b.select(v.less(farthest, finite), finite, farthest)
        if v.whole:
            v.store(farthest, most, none, none, lanes, _THIRD)
        with b.if_else(v.all_one(numbers)) as (then, otherwise):  # the common case, and then all are reached
            with then:
                for c in every:
                    v.store(v.unit, s, targets[c], group, lanes)
                    v.store(asked[c], g, targets[c], group, lanes)
                    _add(b, ends, vertices[c], b.load(_place_of(b, b.add(members, b.mul(lanes, I64(8))), group)))
            with otherwise:
                greatest = v.load(most, none, none, lanes, v.numbers)
                lost = v.load(most, none, none, lanes, v.numbers, _SECOND)
                for c in every:
                    reached = b.not_(v.same(found[c], v.infinite))
                    number = b.select(reached, numbers[c], v.nothing)
                    v.store(number, s, targets[c], group, lanes)
                    v.store(b.select(reached, v.quotient(asked[c], number), v.nothing), g, targets[c], group, lanes)
                    own = v.load(members, none, group, lanes, v.numbers)
                    total = across(b, "fadd", b.select(reached, own, v.nothing))
                    _add(b, ends, vertices[c], b.fptosi(total, I64))
                    greatest = b.select(b.fcmp_ordered(">", number, greatest), number, greatest)
                    missed = b.and_(b.not_(reached), b.fcmp_ordered("!=", asked[c], v.nothing))
                    lost = b.select(missed, v.unit, lost)
                v.store(greatest, most, none, none, lanes)
                v.store(lost, most, none, none, lanes, _SECOND)


def _add(b: Builder, base: Value, entry: Value, value: Value) -> None:
    here = _place_of(b, base, entry)
    b.store(b.add(b.load(here), value), here)


def _place_of(b: Builder, base: Value, entry: Value) -> Value:
    return b.inttoptr(b.add(base, b.mul(entry, I64(8))), I64.as_pointer())


@by_columns
def _backward(
    b: Builder, v: _Lanes, columns: int, lanes: Value, count: Value, index: Value, d: Value, p: Value, owed: Value,
    y: Value, s: Value, g: Value, at: Value,
) -> None:  # fmt: skip
    """Dependencies of y[at + c] passed to y[index[k]] and d[k, c], where y[index[k]] + d[k, c] is as long."""
    groups = b.sdiv(lanes, I64(v.count))
    with loop(b, I64(0), count) as k:
        row, entry = short_at(b, index, k), b.mul(k, I64(columns))
        places = [b.add(entry, I64(c)) for c in range(columns)]
        lengths = [v.splat(d, place, v.lengths) for place in places]
        numbers = [v.splat(p, place, v.numbers) for place in places]
        with accumulate(b, groups, [v.nothing] * columns) as (group, before, sums):
            x, n = v.load(y, row, group, lanes, v.lengths), v.load(s, row, group, lanes, v.numbers)
            total = v.load(g, row, group, lanes, v.numbers)
            for c in range(columns):
                column = b.add(at, I64(c))
                tight = v.same(v.sum(x, lengths[c]), v.load(y, column, group, lanes, v.lengths))
                own = v.load(g, column, group, lanes, v.numbers)
                total = v.added(tight, total, numbers[c], own)
                sums.append(v.added(tight, before[c], n, own))
            v.store(total, g, row, group, lanes)
        for c, place in enumerate(places):
            here = b.inttoptr(b.add(owed, b.mul(place, I64(8))), F64.as_pointer())
            b.store(b.fadd(b.load(here), across(b, "fadd", sums[c])), here)


@by_columns
def _push(
    b: Builder, v: _Lanes, columns: int, lanes: Value, count: Value, index: Value, d: Value, p: Value, z: Value,
    zs: Value, at: Value, most: Value,
) -> None:  # fmt: skip
    """z[index[k]] ← z[index[k]] ⊕ z[at] + d[k], with counts; `columns` is 1."""
    v.scale = v.load(most, I64(0), I64(0), lanes, v.numbers, _FOURTH)
    with loop(b, I64(0), count) as k:
        row, length, number = short_at(b, index, k), v.splat(d, k, v.lengths), v.splat(p, k, v.numbers)
        with loop(b, I64(0), b.sdiv(lanes, I64(v.count))) as group:
            t = v.sum(v.load(z, at, group, lanes, v.lengths), length)
            old, n = v.load(z, row, group, lanes, v.lengths), v.load(zs, row, group, lanes, v.numbers)
            new = v.least(t, old)
            most_of = v.bound(new)
            n = b.select(v.within(old, most_of), n, v.nothing)
            n = v.added(v.within(t, most_of), n, number, v.load(zs, at, group, lanes, v.numbers))
            v.store(new, z, row, group, lanes)
            v.store(n, zs, row, group, lanes)


@by_columns
def _push_back(
    b: Builder, v: _Lanes, columns: int, lanes: Value, count: Value, index: Value, d: Value, p: Value, owed: Value,
    z: Value, zs: Value, zg: Value, at: Value,
) -> None:  # fmt: skip
    """Dependencies of z[index[k]] passed to z[at] and d[k], where z[at] + d[k] is as long; `columns` is 1."""
    with loop(b, I64(0), count) as k:
        row, length, number = short_at(b, index, k), v.splat(d, k, v.lengths), v.splat(p, k, v.numbers)
        with accumulate(b, b.sdiv(lanes, I64(v.count)), [v.nothing]) as (group, before, sums):
            t = v.sum(v.load(z, at, group, lanes, v.lengths), length)
            tight = v.same(t, v.load(z, row, group, lanes, v.lengths))
            own = v.load(zg, row, group, lanes, v.numbers)
            v.store(v.added(tight, v.load(zg, at, group, lanes, v.numbers), number, own), zg, at, group, lanes)
            sums.append(v.added(tight, before[0], v.load(zs, at, group, lanes, v.numbers), own))
        here = b.inttoptr(b.add(owed, b.mul(k, I64(8))), F64.as_pointer())
        b.store(b.fadd(b.load(here), across(b, "fadd", sums[0])), here)


@instruction
def _taken(builder: Builder, kind: Kind, lanes: Int, z: Int, y: Int, g: Int, owed: Int) -> None:
    """owed ← g where z is as long as y, else 0; one row of each."""
    v, none = _Lanes(builder, kind), I64(0)
    with loop(builder, none, builder.sdiv(lanes, I64(v.count))) as group:
        tight = v.same(v.load(z, none, group, lanes, v.lengths), v.load(y, none, group, lanes, v.lengths))
        own = v.load(g, none, group, lanes, v.numbers)
        v.store(builder.select(tight, own, v.nothing), owed, none, group, lanes)


# Tables are addresses: passing an array on in a loop would count references, a fifth of the time.


@part
def _listed(s: int, offset: int, first: int, begin: int, rows: int, owner: int, index: int) -> None:
    """index ← the rows of z of supernode s: its columns, then its R."""
    w, low = short(first, s + 1) - short(first, s), long(begin, s)
    for c in range(w):
        write(index + 4 * c, np.int32(short(offset, s) + c))
    for k in range(long(begin, s + 1) - low):
        row = short(rows, low + k)
        o = short(owner, row)
        write(index + 4 * (w + k), np.int32(short(offset, o) + row - short(first, o)))


@kernel
def climb(
    kind: Kind, lanes: int, count: int, path: int, offset: int, first: int, begin: int, rows: int, owner: int,
    factor: int, index: int, upper: int, upper_counts: int, z: int, zs: int, most: int,
) -> None:  # fmt: skip
    """z_R ← z_R ⊕ z_C U with counts, column by column, for the supernodes of a path, children first."""
    size = itemsize(kind)
    for q in range(count):
        s = short(path, q)
        w = short(first, s + 1) - short(first, s)
        m, at = w + long(begin, s + 1) - long(begin, s), long(factor, s)
        _listed(s, offset, first, begin, rows, owner, index)
        for c in range(w):
            below = m - c - 1
            _push(
                kind, 1, lanes, below, index + 4 * (c + 1), upper + at * size, upper_counts + at * 8, z, zs,
                short(offset, s) + c, most,
            )  # fmt: skip
            at += below


@kernel
def climb_back(
    kind: Kind, lanes: int, count: int, path: int, offset: int, first: int, begin: int, rows: int, owner: int,
    factor: int, index: int, upper: int, upper_counts: int, upper_sums: int, z: int, zs: int, zg: int,
) -> None:  # fmt: skip
    """Dependencies of the climb, passed to F and to the sources."""
    size = itemsize(kind)
    for q in range(count - 1, -1, -1):
        s = short(path, q)
        w = short(first, s + 1) - short(first, s)
        m = w + long(begin, s + 1) - long(begin, s)
        at = long(factor, s) + w * (m - 1) - w * (w - 1) // 2
        _listed(s, offset, first, begin, rows, owner, index)
        for c in range(w - 1, -1, -1):
            below = m - c - 1
            at -= below
            _push_back(
                kind, 1, lanes, below, index + 4 * (c + 1), upper + at * size, upper_counts + at * 8,
                upper_sums + at * 8, z, zs, zg, short(offset, s) + c,
            )  # fmt: skip


@part
def _stacked(x: int, w: int, r: int, low: int, slot: int, own: int, index: int) -> None:
    """index ← the rows of y of supernode x: its columns, then its R."""
    for c in range(w):
        write(index + 4 * c, np.int32(own + c))
    for k in range(r):
        write(index + 4 * (w + k), np.int32(short(slot, low + k)))


@kernel
def sweep(
    kind: Kind, lanes: int, start: int, stop: int, lowest: int, begun: int, last: int, offset: int, first: int,
    parent: int, begin: int, slot: int, base: int, strips: int, kept: int, spans: int, slots: int, factor: int,
    label: int, index: int, lower: int, lower_counts: int, lower_sums: int, closed: int, closed_counts: int,
    closed_sums: int, y: int, s: int, g: int, z: int, zs: int, zg: int, nothing: int, q: int, q_step: int, ends: int,
    most: int, members: int,
) -> None:  # fmt: skip
    """Sweep supernodes stop − 1 … start, parents first, and their dependencies; zg collects the climb's share.

    The last call starts at `lowest`. `begun` is the supernode that the previous call swept last, −1 at first;
    supernodes above `last` stay open, −1 for none. Strips of L have the rows kept by `counted.kept`. See `_forward` for
    q, ends, most and members; a source's demand at itself is dropped.
    """
    size = itemsize(kind)
    row = lanes * size
    for x in range(stop - 1, start - (2 if start == lowest else 1), -1):
        above, next_up = begun if x == stop - 1 else x + 1, short(parent, x) if x >= lowest else last
        while above != -1 and above != next_up:  # all below it is done
            f, low = short(first, above), long(begin, above)
            w, r, own, at = (
                short(first, above + 1) - f,
                long(begin, above + 1) - low,
                short(base, above),
                short(offset, above),
            )
            if at < 0:
                for j in range(0, w, STRIP):
                    strip = short(strips, above) + j // STRIP
                    k, here = long(kept, strip), long(spans, strip)
                    _backward(
                        kind, min(STRIP, w - j), lanes, long(kept, strip + 1) - k, slots + 4 * k, closed + here * size,
                        closed_counts + here * 8, closed_sums + here * 8, y, s, g, own + j,
                    )  # fmt: skip
            else:
                _stacked(above, w, r, low, slot, own, index)
                for c in range(w):
                    here = long(factor, above) + c * (w + r - 1) - c * (c - 1) // 2
                    _backward(
                        kind, 1, lanes, w + r - c - 1, index + 4 * (c + 1), lower + here * size,
                        lower_counts + here * 8, lower_sums + here * 8, y, s, g, own + c,
                    )  # fmt: skip
                    ours = (own + c) * lanes
                    _taken(
                        kind, lanes, z + (at + c) * row, y + ours * size, g + ours * 8, zg + (at + c) * lanes * 8
                    )  # fmt: skip
            above = short(parent, above)
        if x < lowest:
            break
        f, low = short(first, x), long(begin, x)
        w, r, own, at = short(first, x + 1) - f, long(begin, x + 1) - low, short(base, x), short(offset, x)
        if at < 0:
            for j in range(0, w, STRIP):
                strip = short(strips, x) + j // STRIP
                k, here = long(kept, strip), long(spans, strip)
                _forward(
                    kind, min(STRIP, w - j), lanes, long(kept, strip + 1) - k, slots + 4 * k, closed + here * size,
                    closed_counts + here * 8, y, s, g, own + j, nothing, nothing + row, q, q_step, label + 4 * (f + j),
                    ends, most, members,
                )  # fmt: skip
            continue
        _stacked(x, w, r, low, slot, own, index)
        for c in range(w - 1, -1, -1):
            here = long(factor, x) + c * (w + r - 1) - c * (c - 1) // 2
            _forward(
                kind, 1, lanes, w + r - c - 1, index + 4 * (c + 1), lower + here * size, lower_counts + here * 8,
                y, s, g, own + c, z + (at + c) * row, zs + (at + c) * lanes * 8, q, q_step, label + 4 * (f + c), ends,
                most, members,
            )  # fmt: skip
