"""Sweep kernels of one panel strip, per kind; the rest of a sweep, see `sweep`, is independent of kinds.

The lanes of a vector are sources. A tile is one strip of a panel, at most STRIP columns, by all lanes; it loads whole
rows through an index. Kernels are called by address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from ..annotations import Builder, Value, Values
from ..features import vector_bytes
from ..instructions import Entry, Flag, Int, instruction
from ..intrinsics import clear, itemsize, kernel, load, one, part, plus, short, store, times, zero
from ..kinds import Kind, imaged
from ..vectors import I32, I64, Vectors, emit, loop, short_at, stream

#: Contiguous columns of a panel, computed by one tile.
STRIP = 4


@imaged
@kernel
def sweep_strip(
    kind: Kind, mirrored: bool, columns: int, lanes: int, w: int, z: int, d: int, r: int, slots: int, stack: int,
    l: int, y: int, out: int, labels: int, pitch: int,
) -> None:  # fmt: skip
    sweep_tile(kind, mirrored, columns, lanes, w, z, d, r, slots, stack, l, y, out, labels, pitch)


@imaged
@kernel
def climb_strip(
    kind: Kind, mirrored: bool, columns: int, lanes: int, z: int, r: int, index: int, all_z: int, u: int
) -> None:
    climb_tile(kind, mirrored, columns, lanes, z, r, index, all_z, u)


@kernel
def fill(kind: Kind, count: int, target: int, unit: int) -> None:
    """`count` entries ← 0, in full vectors; entry `unit` ← 1, if ≥ 0."""
    clear(kind, count, target)
    if unit >= 0:
        store(kind, target + unit * itemsize(kind), one(kind))


@kernel
def pair_strip(kind: Kind, columns: int, w: int, z: int, d: int, y: int, out: int) -> None:
    store(kind, out, plus(kind, load(kind, out), bilinear(kind, columns, w, z, d, y)))


def wide(kind: Kind) -> int:
    """Vectors of lanes per tile column, all accumulated in registers.

    Two if ⊕ is many instructions: with the columns enough to keep the processor busy.
    """
    if kind.add == "logaddexp":
        return 2
    return 4 if vector_bytes() == 64 else 2


@instruction(generic=lambda kind: _sweep_generic)
def sweep_tile(
    builder: Builder, kind: Kind, mirrored: Flag, columns: Int, count: Int, w: Int, z: Int, d: Int, r: Int, slots: Int,
    stack: Int, l: Int, y: Int, out: Int, labels: Int, pitch: Int,
) -> None:  # fmt: skip
    """y[c] = ⊕ z[k] D[k, c] over w rows ⊕ stack[slots[k]] L[k, c] over r; each also to row labels[c] ≥ 0 of `out`.

    `slots` and `labels` are int32 addresses; rows of z, y and the stack are `lanes` entries, those of `out` `pitch`
    bytes. y may be 0 (null).
    """
    dispatch(builder, kind, _emit_sweep, columns, (count, w, z, d, r, slots, stack, l, y, out, labels, pitch))


@instruction(generic=lambda kind: _climb_generic)
def climb_tile(
    builder: Builder, kind: Kind, mirrored: Flag, columns: Int, count: Int, z: Int, r: Int, index: Int, all_z: Int,
    u: Int,
) -> None:  # fmt: skip
    """all_z[index[k]] ← all_z[index[k]] ⊕ z[c] U[c, k] over r rows of the transposed strip and its columns c."""
    dispatch(builder, kind, _emit_climb, columns, (count, z, r, index, all_z, u))


def dispatch(builder: Builder, kind: Kind, emit: Callable[..., None], columns: Value, args: Values) -> None:
    """Switch over tiles by number of columns; optsize, since unrolling would only cost compile time."""
    builder.function.attributes.add("optsize")
    done = builder.append_basic_block("tile_done")
    switch = builder.switch(columns, done)
    for c in range(1, STRIP + 1):
        block = builder.append_basic_block(f"tile_{c}")
        switch.add_case(I64(c), block)
        builder.position_at_end(block)
        _each_group(builder, kind, args[0], lambda v, vectors, offset, c=c: emit(builder, v, vectors, c, offset, *args))
        builder.branch(done)
    builder.position_at_end(done)


def _each_group(builder: Builder, kind: Kind, lanes: Value, body: Callable[..., None]) -> None:
    """Loop over all lanes: groups of `wide` vectors, then single vectors, then single lanes."""
    many = wide(kind)
    vectors = builder.sdiv(lanes, I64(kind.lanes))
    groups = builder.sdiv(vectors, I64(many))
    grouped = builder.mul(groups, I64(many))
    single = builder.mul(vectors, I64(kind.lanes))
    parts = [(many, I64(0), groups, kind.lanes), (1, grouped, vectors, kind.lanes), (1, single, lanes, 1)]
    for count, start, stop, width in parts if many > 1 else [parts[0], parts[2]]:
        v = Vectors(builder, kind, image=kind.image == "same", lanes=width)
        with loop(builder, start, stop) as j:
            body(v, count, builder.mul(j, I64(count * width * kind.itemsize)))


@contextmanager
def accumulate(
    builder: Builder, count: Value, initial: list[Value]
) -> Iterator[tuple[Value, list[Value], list[Value]]]:
    """Loop over range(count) with carried values: fill the yielded list with successors; it then holds the results."""
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    k = builder.phi(I64)
    values = [builder.phi(value.type) for value in initial]
    builder.cbranch(builder.icmp_signed("<", k, count), body, done)
    builder.position_at_end(body)
    after: list[Any] = []
    yield k, values, after
    for phi, first, then in zip([k, *values], [I64(0), *initial], [builder.add(k, I64(1)), *after], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    after[:] = values


def _emit_sweep(
    builder: Builder, v: Vectors, vectors: int, columns: int, offset: Value, lanes: Value, w: Value, z: Value, d: Value,
    r: Value, slots: Value, stack: Value, l: Value, y: Value, out: Value, labels: Value, pitch: Value,
) -> None:  # fmt: skip
    size = v.kind.itemsize
    width = v.type.count * size
    row = builder.mul(lanes, I64(size))
    values: list[Any] = [v.zero()] * (columns * vectors)
    for count, base, panel, table in ((w, z, d, None), (r, stack, l, slots)):
        with accumulate(builder, count, values) as (k, before, after):
            position = k if table is None else short_at(builder, table, k)
            here = builder.add(builder.add(base, offset), builder.mul(position, row))
            X = [v.load(here, i * width) for i in range(vectors)]
            strip = builder.add(panel, builder.mul(k, I64(columns * size)))
            for c in range(columns):
                factor = v.splat(v.load(strip, c * size, type=v.type.element))
                after += [v.step(before[c * vectors + i], X[i], factor) for i in range(vectors)]
        values = after
    with builder.if_then(builder.icmp_signed("!=", y, I64(0))):
        for c in range(columns):
            here = builder.add(builder.add(y, offset), builder.mul(I64(c), row))
            for i in range(vectors):
                v.store(values[c * vectors + i], here, i * width)
    for c in range(columns):
        label = short_at(builder, labels, I64(c))
        with builder.if_then(builder.icmp_signed(">=", label, I64(0))):
            target = builder.add(builder.add(out, offset), builder.mul(label, pitch))
            for i in range(vectors):
                stream(v, values[c * vectors + i], builder.add(target, I64(i * width)))


def _emit_climb(
    builder: Builder, v: Vectors, vectors: int, columns: int, offset: Value, lanes: Value, z: Value, r: Value,
    index: Value, all_z: Value, u: Value,
) -> None:  # fmt: skip
    size = v.kind.itemsize
    width = v.type.count * size
    row = builder.mul(lanes, I64(size))
    Z = [
        [v.load(builder.add(builder.add(z, offset), builder.mul(I64(c), row)), i * width) for i in range(vectors)]
        for c in range(columns)
    ]
    with loop(builder, I64(0), r) as k:
        here = builder.add(builder.add(all_z, offset), builder.mul(short_at(builder, index, k), row))
        strip = builder.add(u, builder.mul(k, I64(columns * size)))
        met = [v.load(here, i * width) for i in range(vectors)]
        for c in range(columns):
            factor = v.splat(v.load(strip, c * size, type=v.type.element))
            met = [v.step(met[i], Z[c][i], factor) for i in range(vectors)]
        for i in range(vectors):
            v.store(met[i], here, i * width)


def _sweep_generic(
    kind: Kind, mirrored: bool, columns: int, lanes: int, w: int, z: int, d: int, r: int, slots: int, stack: int,
    l: int, y: int, out: int, labels: int, pitch: int,
) -> None:  # fmt: skip
    size = itemsize(kind)
    row = lanes * size
    for c in range(columns):
        for lane in range(lanes):
            value = zero(kind)
            for k in range(w):
                value = plus(
                    kind, value, _times(kind, mirrored, z + k * row + lane * size, d + (k * columns + c) * size)
                )
            for k in range(r):
                x = stack + short(slots, k) * row + lane * size
                value = plus(kind, value, _times(kind, mirrored, x, l + (k * columns + c) * size))
            if y:
                store(kind, y + c * row + lane * size, value)
            if short(labels, c) >= 0:
                store(kind, out + short(labels, c) * pitch + lane * size, value)


def _climb_generic(
    kind: Kind, mirrored: bool, columns: int, lanes: int, z: int, r: int, index: int, all_z: int, u: int
) -> None:
    size = itemsize(kind)
    row = lanes * size
    for k in range(r):
        for lane in range(lanes):
            to = all_z + short(index, k) * row + lane * size
            value = load(kind, to)
            for c in range(columns):
                value = plus(
                    kind, value, _times(kind, mirrored, z + c * row + lane * size, u + (k * columns + c) * size)
                )
            store(kind, to, value)


@part
def _times(kind: Kind, mirrored: bool, x: int, panel: int) -> Any:
    """x ⊗ p, or p ⊗ x if mirrored."""
    return times(kind, load(kind, panel), load(kind, x)) if mirrored else times(kind, load(kind, x), load(kind, panel))


@instruction(generic=lambda kind: _bilinear_generic)
def bilinear(builder: Builder, kind: Kind, columns: Int, w: Int, z: Int, d: Int, y: Int) -> Entry:
    """⊕ z[k] D[k, c] y[c] over w rows and the columns of a strip."""
    builder.function.attributes.add("optsize")
    return _emit_bilinear(builder, kind, columns, w, z, d, y)


def _emit_bilinear(builder: Builder, kind: Kind, columns: Value, w: Value, z: Value, d: Value, y: Value) -> Value:
    size, chains = kind.itemsize, 4  # independent chains of sums hide latency
    full = builder.icmp_signed("==", columns, I64(STRIP))
    four, one = Vectors(builder, kind, lanes=STRIP), Vectors(builder, kind, lanes=1)
    nil = ir.Constant(kind.llvm, kind.zero)
    with builder.if_else(full) as (then, otherwise):
        with then:
            rounds = builder.sdiv(w, I64(chains))
            with accumulate(builder, rounds, [four.zero()] * chains) as (k, before, after):
                for i in range(chains):
                    position = builder.add(builder.mul(k, I64(chains)), I64(i))
                    factor = four.splat(four.load(builder.add(z, builder.mul(position, I64(size))), type=kind.llvm))
                    panel = four.load(builder.add(d, builder.mul(position, I64(STRIP * size))))
                    after.append(four.step(before[i], factor, panel))
            values = after
            first = builder.mul(rounds, I64(chains))
            with accumulate(builder, builder.sub(w, first), values[:1]) as (k, before, after):
                position = builder.add(first, k)
                factor = four.splat(four.load(builder.add(z, builder.mul(position, I64(size))), type=kind.llvm))
                after.append(
                    four.step(before[0], factor, four.load(builder.add(d, builder.mul(position, I64(STRIP * size)))))
                )
            total = after[0]
            for part_sum in values[1:]:
                total = emit(builder, kind.add, total, part_sum)
            met = four.step(four.zero(), total, four.load(y))
            value = builder.extract_element(met, I32(0))
            for i in range(1, STRIP):
                value = emit(builder, kind.add, value, builder.extract_element(met, I32(i)))
            left, from_left = value, builder.block
        with otherwise:
            with accumulate(builder, columns, [nil]) as (c, outer, sums):
                with accumulate(builder, w, [one.zero()]) as (k, before, after):
                    entry = builder.add(builder.mul(k, columns), c)
                    x = one.load(builder.add(z, builder.mul(k, I64(size))))
                    after.append(one.step(before[0], x, one.load(builder.add(d, builder.mul(entry, I64(size))))))
                met = one.step(one.zero(), after[0], one.load(builder.add(y, builder.mul(c, I64(size)))))
                sums.append(emit(builder, kind.add, outer[0], builder.extract_element(met, I32(0))))
            right, from_right = sums[0], builder.block
    result = builder.phi(kind.llvm)
    result.add_incoming(left, from_left)
    result.add_incoming(right, from_right)
    return result


def _bilinear_generic(kind: Kind, columns: int, w: int, z: int, d: int, y: int) -> Any:
    size = itemsize(kind)
    value = zero(kind)
    for c in range(columns):
        inner = zero(kind)
        for k in range(w):
            inner = plus(kind, inner, times(kind, load(kind, z + k * size), load(kind, d + (k * columns + c) * size)))
        value = plus(kind, value, times(kind, inner, load(kind, y + c * size)))
    return value
