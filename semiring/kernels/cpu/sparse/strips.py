"""Sweep kernels of one panel strip, per kind; the rest of a sweep, see `sweep`, is independent of kinds.

The lanes of a vector are sources. A tile is one strip of a panel, at most STRIP columns, by all lanes; it loads whole
rows through an index. Kernels are called by address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..features import vector_bytes
from ..instructions import Builder, Entry, Flag, Int, Value, instruction
from ..intrinsics import clear, itemsize, kernel, load, one, plus, store
from ..kinds import Kind, imaged
from ..vectors import I32, I64, Vectors, accumulate, emit, loop, short_at, stream

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

    Two if ⊕ is many instructions: with the columns enough to keep the processor busy; one if it is a function.
    """
    if kind.add == "logaddexp" or not kind.vector:
        return 2 if kind.vector else 1
    return 4 if vector_bytes() == 64 else 2


@instruction
def sweep_tile(
    builder: Builder, kind: Kind, mirrored: Flag, columns: Int, lanes: Int, w: Int, z: Int, d: Int, r: Int, slots: Int,
    stack: Int, l: Int, y: Int, out: Int, labels: Int, pitch: Int,
) -> None:  # fmt: skip
    """y[c] = ⊕ z[k] D[k, c] over w rows ⊕ stack[slots[k]] L[k, c] over r; each also to row labels[c] ≥ 0 of `out`.

    `slots` and `labels` are int32 addresses; rows of z, y and the stack are `lanes` entries, those of `out` `pitch`
    bytes. y may be 0 (null).
    """
    for v, vectors, many, offset in tiles(builder, kind, mirrored, columns, lanes):
        size = v.kind.itemsize
        width = v.type.count * size
        row = builder.mul(lanes, I64(size))
        values: list[Any] = [v.zero()] * (many * vectors)
        for count, base, panel, table in ((w, z, d, None), (r, stack, l, slots)):
            with accumulate(builder, count, values) as (k, before, after):
                position = k if table is None else short_at(builder, table, k)
                here = builder.add(builder.add(base, offset), builder.mul(position, row))
                X = [v.load(here, i * width) for i in range(vectors)]
                strip = builder.add(panel, builder.mul(k, I64(many * size)))
                for c in range(many):
                    factor = v.splat(v.load(strip, c * size, type=v.type.element))
                    after += [v.step(before[c * vectors + i], X[i], factor) for i in range(vectors)]
            values = after
        with builder.if_then(builder.icmp_signed("!=", y, I64(0))):
            for c in range(many):
                here = builder.add(builder.add(y, offset), builder.mul(I64(c), row))
                for i in range(vectors):
                    v.store(values[c * vectors + i], here, i * width)
        for c in range(many):
            label = short_at(builder, labels, I64(c))
            with builder.if_then(builder.icmp_signed(">=", label, I64(0))):
                target = builder.add(builder.add(out, offset), builder.mul(label, pitch))
                for i in range(vectors):
                    stream(v, values[c * vectors + i], builder.add(target, I64(i * width)))


@instruction
def climb_tile(
    builder: Builder, kind: Kind, mirrored: Flag, columns: Int, lanes: Int, z: Int, r: Int, index: Int, all_z: Int,
    u: Int,
) -> None:  # fmt: skip
    """all_z[index[k]] ← all_z[index[k]] ⊕ z[c] U[c, k] over r rows of the transposed strip and its columns c."""
    for v, vectors, many, offset in tiles(builder, kind, mirrored, columns, lanes):
        size = v.kind.itemsize
        width = v.type.count * size
        row = builder.mul(lanes, I64(size))
        Z = [
            [v.load(builder.add(builder.add(z, offset), builder.mul(I64(c), row)), i * width) for i in range(vectors)]
            for c in range(many)
        ]
        with loop(builder, I64(0), r) as k:
            here = builder.add(builder.add(all_z, offset), builder.mul(short_at(builder, index, k), row))
            strip = builder.add(u, builder.mul(k, I64(many * size)))
            met = [v.load(here, i * width) for i in range(vectors)]
            for c in range(many):
                factor = v.splat(v.load(strip, c * size, type=v.type.element))
                met = [v.step(met[i], Z[c][i], factor) for i in range(vectors)]
            for i in range(vectors):
                v.store(met[i], here, i * width)


def tiles(
    builder: Builder, kind: Kind, mirrored: Value, columns: Value, lanes: Value
) -> Iterator[tuple[Vectors, int, int, Value]]:
    """Loops over all lanes, by number of columns: vectors, their number, columns, offset.

    optsize, since unrolling would only cost compile time.
    """
    builder.function.attributes.add("optsize")
    for c in cases(builder, columns):
        for v, vectors, offset in _groups(builder, kind, lanes):
            v.swapped = mirrored
            yield v, vectors, c, offset


def cases(builder: Builder, columns: Value) -> Iterator[int]:
    """Switch over the number of columns of a strip."""
    done = builder.append_basic_block("tile_done")
    switch = builder.switch(columns, done)
    for c in range(1, STRIP + 1):
        block = builder.append_basic_block(f"tile_{c}")
        switch.add_case(I64(c), block)
        builder.position_at_end(block)
        yield c
        builder.branch(done)
    builder.position_at_end(done)


def _groups(builder: Builder, kind: Kind, lanes: Value) -> Iterator[tuple[Vectors, int, Value]]:
    """Loop over all lanes: groups of `wide` vectors, then single vectors, then single lanes."""
    many = wide(kind)
    vectors = builder.sdiv(lanes, I64(kind.lanes))
    groups = builder.sdiv(vectors, I64(many))
    grouped = builder.mul(groups, I64(many))
    single = builder.mul(vectors, I64(kind.lanes))
    parts = [(many, I64(0), groups, kind.lanes), (1, grouped, vectors, kind.lanes), (1, single, lanes, 1)]
    for count, start, stop, width in parts if many > 1 else parts[: 2 * (kind.lanes > 1) + 1 : 2]:
        v = Vectors(builder, kind, image=kind.image == "same", lanes=width)
        with loop(builder, start, stop) as j:
            yield v, count, builder.mul(j, I64(count * width * kind.itemsize))


@instruction
def bilinear(builder: Builder, kind: Kind, columns: Int, w: Int, z: Int, d: Int, y: Int) -> Entry:
    """⊕ z[k] D[k, c] y[c] over w rows and the columns of a strip."""
    builder.function.attributes.add("optsize")
    if not kind.vector:
        return _emit_by_columns(builder, kind, columns, w, z, d, y)
    with builder.if_else(builder.icmp_signed("==", columns, I64(STRIP))) as (then, otherwise):
        with then:
            left, from_left = _emit_full(builder, kind, w, z, d, y), builder.block
        with otherwise:
            right, from_right = _emit_by_columns(builder, kind, columns, w, z, d, y), builder.block
    result = builder.phi(kind.llvm)
    result.add_incoming(left, from_left)
    result.add_incoming(right, from_right)
    return result


def _emit_full(builder: Builder, kind: Kind, w: Value, z: Value, d: Value, y: Value) -> Value:
    size, chains = kind.itemsize, 4  # independent chains of sums hide latency
    v = Vectors(builder, kind, lanes=STRIP)

    def stepped(total: Value, k: Value) -> Value:
        factor = v.splat(v.load(builder.add(z, builder.mul(k, I64(size))), type=kind.llvm))
        return v.step(total, factor, v.load(builder.add(d, builder.mul(k, I64(STRIP * size)))))

    rounds = builder.sdiv(w, I64(chains))
    with accumulate(builder, rounds, [v.zero()] * chains) as (k, before, values):
        first = builder.mul(k, I64(chains))
        values += [stepped(before[i], builder.add(first, I64(i))) for i in range(chains)]
    first = builder.mul(rounds, I64(chains))
    with accumulate(builder, builder.sub(w, first), values[:1]) as (k, before, rest):
        rest.append(stepped(before[0], builder.add(first, k)))
    total = rest[0]
    for value in values[1:]:
        total = emit(builder, kind.add, total, value)
    met = v.step(v.zero(), total, v.load(y))
    value = builder.extract_element(met, I32(0))
    for i in range(1, STRIP):
        value = emit(builder, kind.add, value, builder.extract_element(met, I32(i)))
    return value


def _emit_by_columns(builder: Builder, kind: Kind, columns: Value, w: Value, z: Value, d: Value, y: Value) -> Value:
    size, v = I64(kind.itemsize), Vectors(builder, kind, lanes=1)
    with accumulate(builder, columns, [v.zero()]) as (c, outer, sums):
        with accumulate(builder, w, [v.zero()]) as (k, before, after):
            entry = builder.add(builder.mul(k, columns), c)
            x, p = (v.load(builder.add(base, builder.mul(e, size))) for base, e in ((z, k), (d, entry)))
            after.append(v.step(before[0], x, p))
        met = v.step(v.zero(), after[0], v.load(builder.add(y, builder.mul(c, size))))
        sums.append(v.plus(outer[0], met))
    return builder.extract_element(sums[0], I32(0))
