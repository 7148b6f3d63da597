"""Sweeps of lengths and best-walk counts, and their adjoint passes to F.

One walk over the supernodal tree does both, for a batch of sources as lanes: rows are computed on the way down, and
dependencies are passed on once a subtree is done. So only the path from the root is in memory: y, its counts and G of
each column. See `counted` for G and the quantities; z is the climb's. Lengths are float64, or int32 ≥ 0 with ∞ = 2³¹ −
1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ..instructions import Builder, Int, Value, instruction
from ..intrinsics import itemsize, kernel, long, part, short, write
from ..kinds import Kind
from ..vectors import I32, I64, accumulate, across, declared, loop, short_at, splat

F64 = ir.DoubleType()
#: Byte offsets of the second, third and fourth of four vectors.
_SECOND, _THIRD, _FOURTH = 128, 256, 384
#: Vectors of lanes, and entries of a column, that are taken together.
WIDE = 2
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
        fused = self.builder.call(declared(self.builder, name, self.numbers, [self.numbers] * 3), [x, y, total])
        return self.builder.select(where, fused, total)

    def quotient(self, x: Value, y: Value) -> Value:
        """x / y for counts y: with AVX-512 by two Newton steps, a quarter of the time; exact for y = 1."""
        b = self.builder
        if self.kind.tile.width != 64:
            return b.fdiv(x, y)
        half = ir.VectorType(F64, 8)
        name = "llvm.x86.avx512.rcp14.pd.512"
        first = declared(b, name, half, [half, half, ir.IntType(8)])
        parts = []
        for k in range(0, self.count, 8):
            part = b.shuffle_vector(y, y, ir.Constant(ir.VectorType(I32, 8), list(range(k, k + 8))))
            parts.append(b.call(first, [part, ir.Constant(half, None), ir.Constant(ir.IntType(8), -1)]))
        r = parts[0]
        if len(parts) > 1:
            r = b.shuffle_vector(*parts, ir.Constant(ir.VectorType(I32, self.count), list(range(self.count))))
        fused = declared(b, f"llvm.fma.v{self.count}f64", self.numbers, [self.numbers] * 3)
        minus = b.fneg(y)
        for _ in range(2):
            r = b.call(fused, [r, b.call(fused, [minus, r, self.unit]), r])
        return b.fmul(x, r)

    def all_one(self, x: Value) -> Value:
        mask = self.builder.bitcast(self.builder.fcmp_unordered("!=", x, self.unit), ir.IntType(self.count))
        return self.builder.icmp_unsigned("==", mask, ir.Constant(mask.type, 0))


@instruction
def _forward(
    b: Builder, kind: Kind, lanes: Int, count: Int, index: Int, d: Int, p: Int, y: Int, s: Int, g: Int, at: Int, z: Int,
    zs: Int, q: Int, q_step: Int, label: Int, ends: Int, most: Int, members: Int,
) -> None:  # fmt: skip
    """y[at] = z ⊕ y[index[k]] + d[k], its counts s, and g = q / s where that is finite.

    Rows of y, s, g, z, zs and q are `lanes` entries, the column's row of q is label[0] q_step; ends[label[0]]
    accumulates the members of finite lanes, float64, followed by 64-bit sums per vector of them; `most` holds the
    largest counts, 1 for demand at y = ∞, the farthest y, and the factor up to which lengths are equal.
    """
    v, none = _Lanes(b, kind), I64(0)
    v.scale = v.load(most, none, none, lanes, v.numbers, _FOURTH)
    vertex, groups = short_at(b, label, none), b.sdiv(lanes, I64(v.count))
    wide = b.sdiv(groups, I64(WIDE))
    for many, first, last in ((WIDE, none, wide), (1, b.mul(wide, I64(WIDE)), groups)):
        with accumulate(b, last, [], first) as (j, _, _):
            each = [b.add(b.mul(j, I64(many)), I64(i)) for i in range(many)]
            starts = [v.load(z, none, group, lanes, v.lengths) for group in each]
            with accumulate(b, count, starts) as (k, before, found):
                row, length = short_at(b, index, k), v.splat(d, k, v.lengths)
                sums = [v.sum(v.load(y, row, group, lanes, v.lengths), length) for group in each]
                found += [v.least(x, y) for x, y in zip(sums, before, strict=True)]
            found = [v.least(x, v.infinite) if v.whole else x for x in found]
            bounds = [v.bound(x) for x in found]
            own = [v.load(zs, none, group, lanes, v.numbers) for group in each]
            own = [b.select(v.within(*x), n, v.nothing) for *x, n in zip(starts, bounds, own, strict=True)]
            with accumulate(b, count, own) as (k, before, numbers):
                row, length, number = short_at(b, index, k), v.splat(d, k, v.lengths), v.splat(p, k, v.numbers)
                for group, x, bound in zip(each, before, bounds, strict=True):
                    tight = v.within(v.sum(v.load(y, row, group, lanes, v.lengths), length), bound)
                    numbers.append(v.added(tight, x, v.load(s, row, group, lanes, v.numbers), number))
            for group, x, number in zip(each, found, numbers, strict=True):
                asked = v.load(q, b.mul(vertex, q_step), group, lanes, v.numbers)
                v.store(x, y, at, group, lanes)
                if v.whole:
                    farthest = v.load(most, none, none, lanes, v.lengths, _THIRD)
                    finite = b.select(v.less(x, v.infinite), x, farthest)
                    v.store(b.select(v.less(farthest, finite), finite, farthest), most, none, none, lanes, _THIRD)
                with b.if_else(v.all_one(number)) as (then, otherwise):  # the common case, and then all are reached
                    with then:
                        v.store(v.unit, s, at, group, lanes)
                        v.store(asked, g, at, group, lanes)
                        _add(b, ends, vertex, b.load(_place_of(b, b.add(members, b.mul(lanes, I64(8))), group)))
                    with otherwise:
                        reached = b.not_(v.same(x, v.infinite))
                        number = b.select(reached, number, v.nothing)
                        v.store(number, s, at, group, lanes)
                        v.store(b.select(reached, v.quotient(asked, number), v.nothing), g, at, group, lanes)
                        share = b.select(reached, v.load(members, none, group, lanes, v.numbers), v.nothing)
                        _add(b, ends, vertex, b.fptosi(across(b, "fadd", share), I64))
                        greatest = v.load(most, none, none, lanes, v.numbers)
                        greatest = b.select(b.fcmp_ordered(">", number, greatest), number, greatest)
                        v.store(greatest, most, none, none, lanes)
                        missed = b.and_(b.not_(reached), b.fcmp_ordered("!=", asked, v.nothing))
                        lost = b.select(missed, v.unit, v.load(most, none, none, lanes, v.numbers, _SECOND))
                        v.store(lost, most, none, none, lanes, _SECOND)


def _add(b: Builder, base: Value, entry: Value, value: Value) -> None:
    here = _place_of(b, base, entry)
    b.store(b.add(b.load(here), value), here)


def _place_of(b: Builder, base: Value, entry: Value) -> Value:
    return b.inttoptr(b.add(base, b.mul(entry, I64(8))), I64.as_pointer())


@instruction
def _backward(
    b: Builder, kind: Kind, lanes: Int, count: Int, index: Int, d: Int, p: Int, owed: Int, y: Int, s: Int, g: Int,
    at: Int,
) -> None:  # fmt: skip
    """Dependencies of y[at] passed to y[index[k]] and d[k], where y[index[k]] + d[k] is as long."""
    v, wide = _Lanes(b, kind), b.sdiv(count, I64(WIDE))
    for many, first, last in ((WIDE, I64(0), wide), (1, b.mul(wide, I64(WIDE)), count)):
        with accumulate(b, last, [], first) as (j, _, _):
            entries = [b.add(b.mul(j, I64(many)), I64(i)) for i in range(many)]
            rows = [short_at(b, index, k) for k in entries]
            lengths = [v.splat(d, k, v.lengths) for k in entries]
            walks = [v.splat(p, k, v.numbers) for k in entries]
            with accumulate(b, b.sdiv(lanes, I64(v.count)), [v.nothing] * many) as (group, before, sums):
                found, own = v.load(y, at, group, lanes, v.lengths), v.load(g, at, group, lanes, v.numbers)
                for row, length, number, total in zip(rows, lengths, walks, before, strict=True):
                    tight = v.same(v.sum(v.load(y, row, group, lanes, v.lengths), length), found)
                    passed = v.added(tight, v.load(g, row, group, lanes, v.numbers), number, own)
                    v.store(passed, g, row, group, lanes)
                    sums.append(v.added(tight, total, v.load(s, row, group, lanes, v.numbers), own))
            for k, total in zip(entries, sums, strict=True):
                _give(b, owed, k, total)


def _give(b: Builder, owed: Value, k: Value, sums: Value) -> None:
    here = b.inttoptr(b.add(owed, b.mul(k, I64(8))), F64.as_pointer())
    b.store(b.fadd(b.load(here), across(b, "fadd", sums)), here)


@instruction
def _push(
    b: Builder, kind: Kind, lanes: Int, count: Int, index: Int, d: Int, p: Int, z: Int, zs: Int, at: Int, most: Int
) -> None:
    """z[index[k]] ← z[index[k]] ⊕ z[at] + d[k], with counts."""
    v = _Lanes(b, kind)
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


@instruction
def _push_back(
    b: Builder, kind: Kind, lanes: Int, count: Int, index: Int, d: Int, p: Int, owed: Int, z: Int, zs: Int, zg: Int,
    at: Int,
) -> None:  # fmt: skip
    """Dependencies of z[index[k]] passed to z[at] and d[k], where z[at] + d[k] is as long."""
    v = _Lanes(b, kind)
    with loop(b, I64(0), count) as k:
        row, length, number = short_at(b, index, k), v.splat(d, k, v.lengths), v.splat(p, k, v.numbers)
        with accumulate(b, b.sdiv(lanes, I64(v.count)), [v.nothing]) as (group, before, sums):
            t = v.sum(v.load(z, at, group, lanes, v.lengths), length)
            tight = v.same(t, v.load(z, row, group, lanes, v.lengths))
            own = v.load(zg, row, group, lanes, v.numbers)
            v.store(v.added(tight, v.load(zg, at, group, lanes, v.numbers), number, own), zg, at, group, lanes)
            sums.append(v.added(tight, before[0], v.load(zs, at, group, lanes, v.numbers), own))
        _give(b, owed, k, sums[0])


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
                kind, lanes, below, index + 4 * (c + 1), upper + at * size, upper_counts + at * 8, z, zs,
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
                kind, lanes, below, index + 4 * (c + 1), upper + at * size, upper_counts + at * 8,
                upper_sums + at * 8, z, zs, zg, short(offset, s) + c,
            )  # fmt: skip


@kernel
def sweep(
    kind: Kind, lanes: int, start: int, stop: int, lowest: int, begun: int, last: int, offset: int, first: int,
    parent: int, base: int, starts: int, slots: int, label: int, lower: int, lower_counts: int, lower_sums: int, y: int,
    s: int, g: int, z: int, zs: int, zg: int, nothing: int, q: int, q_step: int, ends: int, most: int, members: int,
) -> None:  # fmt: skip
    """Sweep supernodes stop − 1 … start, parents first, and their dependencies; zg collects the climb's share.

    The last call starts at `lowest`. `begun` is the supernode that the previous call swept last, −1 at first;
    supernodes above `last` stay open, −1 for none. `lower` has the entries of `counted.kept`, from starts[c] on. See
    `_forward` for q, ends, most and members; a source's demand at itself is dropped.
    """
    size = itemsize(kind)
    row = lanes * size
    for x in range(stop - 1, start - (2 if start == lowest else 1), -1):
        above, next_up = begun if x == stop - 1 else x + 1, short(parent, x) if x >= lowest else last
        while above != -1 and above != next_up:  # all below it is done
            f, own, at = short(first, above), short(base, above), short(offset, above)
            for c in range(short(first, above + 1) - f):
                here, ours = long(starts, f + c), (own + c) * lanes
                _backward(
                    kind, lanes, long(starts, f + c + 1) - here, slots + 4 * here, lower + here * size,
                    lower_counts + here * 8, lower_sums + here * 8, y, s, g, own + c,
                )  # fmt: skip
                if at >= 0:
                    _taken(
                        kind, lanes, z + (at + c) * row, y + ours * size, g + ours * 8, zg + (at + c) * lanes * 8
                    )  # fmt: skip
            above = short(parent, above)
        if x < lowest:
            break
        f, own, at = short(first, x), short(base, x), short(offset, x)
        for c in range(short(first, x + 1) - f - 1, -1, -1):
            here, path = long(starts, f + c), z + (at + c) * row
            numbers = zs + (at + c) * lanes * 8
            if at < 0:
                path, numbers = nothing, nothing + row
            _forward(
                kind, lanes, long(starts, f + c + 1) - here, slots + 4 * here, lower + here * size,
                lower_counts + here * 8, y, s, g, own + c, path, numbers, q, q_step, label + 4 * (f + c), ends, most,
                members,
            )  # fmt: skip
