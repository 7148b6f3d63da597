"""Rows of A*, many at once: a climb to the roots and a sweep back down, over closed panels.

    climb, children first, on the sources' root paths:   z_R ← z_R ⊕ z_C U
    sweep, parents first, everywhere:                    y_C = z_C D ⊕ y_R L          (z_C = 0 off the root paths)

The lanes of a vector are sources. A tile is one strip of a panel, at most STRIP columns, by all lanes; it loads whole
rows of y, found by their place on the path from the root. Parents go before children in an order in which the ancestors
of a supernode are exactly the present path, so y is a stack of as many rows as the tree is high. Columns of A* are the
same on the panels changed about, [D U]ᵀ for [D; L], with the operands of ⊗ in the other order: `mirrored`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .compile import kernel as own
from .fronts import STRIP, clear, lanes, one, transposed
from .kinds import vector_bytes
from .vectors import I32, I64, Vectors, emit, loop
from .words import itemsize, kernel, load, part, plus, store, times, zero


def wide() -> int:
    """Vectors of lanes that a tile holds for each of its columns: all of them accumulate in registers."""
    return 4 if vector_bytes() == 64 else 2


@intrinsic
def sweep_tile(
    typing: Any, kind: Any, mirrored: Any, columns: Any, count: Any, w: Any, z: Any, d: Any,
    r: Any, slots: Any, stack: Any, l: Any, y: Any, out: Any, labels: Any, pitch: Any,
) -> Any:  # fmt: skip
    """y[c] = ⊕ z[k] D[k, c] over w rows ⊕ stack[slots[k]] L[k, c] over r; each also to row labels[c] of `out`.

    `slots` and `labels` are addresses of 32-bit integers; rows of z, y and the stack are `lanes` entries, those of
    `out` `pitch` bytes. Where y is 0 it is not needed.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _sweep_generic, signature, args)
        _dispatch(builder, kind, "sweep", _emit_sweep, args[2], args[3:])
        return context.get_dummy_value()

    return types.none(kind, types.boolean, *(types.intp,) * 13), codegen


@intrinsic
def climb_tile(
    typing: Any, kind: Any, mirrored: Any, columns: Any, count: Any, z: Any, r: Any, index: Any, all_z: Any, u: Any
) -> Any:
    """all_z[index[k]] ← all_z[index[k]] ⊕ z[c] U[c, k] over r rows of the transposed strip and its columns c."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _climb_generic, signature, args)
        _dispatch(builder, kind, "climb", _emit_climb, args[2], args[3:])
        return context.get_dummy_value()

    return types.none(kind, types.boolean, *(types.intp,) * 7), codegen


def _dispatch(builder: Any, kind: Any, name: str, emit: Callable[..., None], columns: Any, args: list[Any]) -> None:
    """Call the tile of so many columns; each is a function apart."""
    done = builder.append_basic_block("tile_done")
    switch = builder.switch(columns, done)
    for c in range(1, STRIP + 1):
        block = builder.append_basic_block(f"tile_{c}")
        switch.add_case(I64(c), block)
        builder.position_at_end(block)
        codes = f"{kind.label}.{kind.dtype}.{kind.add}.{kind.mul}.{kind.tile_add}.{kind.tile_mul}"
        label = f"semiring.{name}.{c}.{codes}.{kind.tile.width}"
        function = builder.module.globals.get(label)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [I64] * len(args)), label)
            function.linkage = "linkonce_odr"
            function.attributes.add("noinline")
            own = ir.IRBuilder(function.append_basic_block("entry"))
            _each_group(
                own,
                kind,
                lambda v, vectors, offset, own=own, c=c, f=function: emit(own, v, vectors, c, offset, *f.args),
            )
            own.ret_void()
        builder.call(function, args)
        builder.branch(done)
    builder.position_at_end(done)


def _each_group(builder: Any, kind: Any, body: Callable[..., None]) -> None:
    """All lanes, their number the first argument: groups of `wide` vectors, then single vectors, then single lanes."""
    lanes, many = builder.function.args[0], wide()
    vectors = builder.sdiv(lanes, I64(kind.lanes))
    groups = builder.sdiv(vectors, I64(many))
    grouped = builder.mul(groups, I64(many))
    single = builder.mul(vectors, I64(kind.lanes))
    for count, start, stop, width in (
        (many, I64(0), groups, kind.lanes), (1, grouped, vectors, kind.lanes), (1, single, lanes, 1)
    ):  # fmt: skip
        v = Vectors(builder, kind, image=kind.image == "same", lanes=width)
        with loop(builder, start, stop) as j:
            body(v, count, builder.mul(j, I64(count * width * kind.itemsize)))


@contextmanager
def _accumulate(builder: Any, count: Any, given: list[Any]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """for k in range(count), with values that each round replaces: fill the last list; it then holds the results."""
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    k = builder.phi(I64)
    held = [builder.phi(value.type) for value in given]
    builder.cbranch(builder.icmp_signed("<", k, count), body, done)
    builder.position_at_end(body)
    after: list[Any] = []
    yield k, held, after
    for phi, first, then in zip([k, *held], [I64(0), *given], [builder.add(k, I64(1)), *after], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    after[:] = held


def _index(builder: Any, table: Any, k: Any) -> Any:
    """The k-th of 32-bit integers."""
    pointer = builder.inttoptr(builder.add(table, builder.mul(k, I64(4))), I32.as_pointer())
    return builder.sext(builder.load(pointer), I64)


def _emit_sweep(
    builder: Any, v: Vectors, vectors: int, columns: int, offset: Any,
    lanes: Any, w: Any, z: Any, d: Any, r: Any, slots: Any, stack: Any, l: Any,
    y: Any, out: Any, labels: Any, pitch: Any,
) -> None:  # fmt: skip
    size = v.kind.itemsize
    width = v.type.count * size
    row = builder.mul(lanes, I64(size))
    held: list[Any] = [v.zero()] * (columns * vectors)
    for count, base, panel, table in ((w, z, d, None), (r, stack, l, slots)):
        with _accumulate(builder, count, held) as (k, before, after):
            at = k if table is None else _index(builder, table, k)
            here = builder.add(builder.add(base, offset), builder.mul(at, row))
            X = [v.load(here, i * width) for i in range(vectors)]
            strip = builder.add(panel, builder.mul(k, I64(columns * size)))
            for c in range(columns):
                factor = v.splat(v.load(strip, c * size, type=v.type.element))
                after += [v.step(before[c * vectors + i], X[i], factor) for i in range(vectors)]
        held = after
    with builder.if_then(builder.icmp_signed("!=", y, I64(0))):
        for c in range(columns):
            here = builder.add(builder.add(y, offset), builder.mul(I64(c), row))
            for i in range(vectors):
                v.store(held[c * vectors + i], here, i * width)
    for c in range(columns):
        there = builder.add(builder.add(out, offset), builder.mul(_index(builder, labels, I64(c)), pitch))
        for i in range(vectors):
            _stream(v, held[c * vectors + i], builder.add(there, I64(i * width)))


def _stream(v: Vectors, value: Any, address: Any) -> None:
    """Store past the caches, where a whole vector is stored: then the address is aligned."""
    builder, width = v.builder, v.type.count * v.kind.itemsize
    written = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    written.align = v.kind.itemsize
    if width == v.kind.tile.width:
        written.align = width
        written.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))


def _emit_climb(
    builder: Any, v: Vectors, vectors: int, columns: int, offset: Any,
    lanes: Any, z: Any, r: Any, index: Any, all_z: Any, u: Any,
) -> None:  # fmt: skip
    size = v.kind.itemsize
    width = v.type.count * size
    row = builder.mul(lanes, I64(size))
    Z = [
        [v.load(builder.add(builder.add(z, offset), builder.mul(I64(c), row)), i * width) for i in range(vectors)]
        for c in range(columns)
    ]
    with loop(builder, I64(0), r) as k:
        here = builder.add(builder.add(all_z, offset), builder.mul(_index(builder, index, k), row))
        strip = builder.add(u, builder.mul(k, I64(columns * size)))
        met = [v.load(here, i * width) for i in range(vectors)]
        for c in range(columns):
            factor = v.splat(v.load(strip, c * size, type=v.type.element))
            met = [v.step(met[i], Z[c][i], factor) for i in range(vectors)]
        for i in range(vectors):
            v.store(met[i], here, i * width)


@intrinsic
def _short(typing: Any, table: Any, k: Any) -> Any:
    """The k-th of the 32-bit integers at an address."""
    return types.intp(types.intp, types.intp), lambda c, builder, s, args: _index(builder, *args)


def _sweep_generic(
    kind: Any, mirrored: bool, columns: int, lanes: int, w: int, z: int, d: int,
    r: int, slots: int, stack: int, l: int, y: int, out: int, labels: int, pitch: int,
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
                x = stack + _short(slots, k) * row + lane * size
                value = plus(kind, value, _times(kind, mirrored, x, l + (k * columns + c) * size))
            if y:
                store(kind, y + c * row + lane * size, value)
            store(kind, out + _short(labels, c) * pitch + lane * size, value)


def _climb_generic(
    kind: Any, mirrored: bool, columns: int, lanes: int, z: int, r: int, index: int, all_z: int, u: int
) -> None:
    size = itemsize(kind)
    row = lanes * size
    for k in range(r):
        for lane in range(lanes):
            to = all_z + _short(index, k) * row + lane * size
            value = load(kind, to)
            for c in range(columns):
                value = plus(
                    kind, value, _times(kind, mirrored, z + c * row + lane * size, u + (k * columns + c) * size)
                )
            store(kind, to, value)


@part
def _times(kind: Any, mirrored: bool, x: int, panel: int) -> Any:
    """x ⊗ p, or p ⊗ x."""
    return times(kind, load(kind, panel), load(kind, x)) if mirrored else times(kind, load(kind, x), load(kind, panel))


@own
def prepare(sources: Any, owner: Any, parent: Any, first: Any, at: Any, path: Any) -> Any:
    """The supernodes on the sources' root paths, ascending, and for each where its columns begin among theirs.

    `at` has −1 for every supernode, and gets those places. Returns how many supernodes and columns are on the paths.
    """
    found = 0
    for p in sources:
        s = owner[p]
        while s >= 0 and at[s] < 0:
            at[s] = 0
            path[found] = s
            found += 1
            s = parent[s]
    path[:found].sort()
    columns = 0
    for q in range(found):
        s = path[q]
        at[s] = columns
        columns += first[s + 1] - first[s]
    return found, columns


@kernel
def climb(
    kind: Any, mirrored: bool, start: int, stop: int, path: Any, at: Any, first: Any, begin: Any, rows: Any, owner: Any,
    panel: Any, index: Any, up: int, z: int, lanes: int,
) -> None:  # fmt: skip
    """z_R ← z_R ⊕ z_C U for supernodes path[start] … path[stop]; row p of z is that of place p on the paths."""
    size = itemsize(kind)
    row = lanes * size
    for q in range(start, stop):
        s = path[q]
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        for k in range(r):
            o = owner[rows[low + k]]
            index[k] = at[o] + rows[low + k] - first[o]
        for j in range(0, w, STRIP):
            columns = min(STRIP, w - j)
            u = up + (panel[s] + j * (w + r) + w * columns) * size
            climb_tile(kind, mirrored, columns, lanes, z + (at[s] + j) * row, r, index.ctypes.data, z, u)


@kernel
def sweep(
    kind: Any, mirrored: bool, start: int, stop: int, at: Any,
    first: Any, child: Any, begin: Any, slot: Any, base: Any, panel: Any, label: Any,
    down: int, z: int, stack: int, out: int, pitch: int, lanes: int,
) -> None:  # fmt: skip
    """y_C = z_C D ⊕ y_R L for supernodes stop − 1 … start; row v of `out` is that of vertex v."""
    size = itemsize(kind)
    row = lanes * size
    for s in range(stop - 1, start - 1, -1):
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        on_path = w if at[s] >= 0 else 0
        for j in range(0, w, STRIP):
            columns = min(STRIP, w - j)
            strip = down + (panel[s] + j * (w + r)) * size
            y = stack + (base[s] + j) * row if child[s] >= 0 else 0  # nobody asks a leaf
            sweep_tile(
                kind, mirrored, columns, lanes, on_path, z + at[s] * row, strip,
                r, slot.ctypes.data + 4 * low, stack, strip + w * columns * size,
                y, out, label.ctypes.data + 4 * (first[s] + j), pitch,
            )  # fmt: skip


@kernel
def fill(kind: Any, count: int, target: int) -> None:
    """`count` entries become 0, in whole vectors."""
    clear(kind, count, target)


@intrinsic
def bilinear(typing: Any, kind: Any, columns: Any, w: Any, z: Any, d: Any, y: Any) -> Any:
    """⊕ z[k] D[k, c] y[c] over w rows and the columns of a strip: z and y are vectors of entries."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not kind.vector:
            return context.compile_internal(builder, _bilinear_generic, signature, args)
        name = f"semiring.bilinear.{kind.label}.{kind.dtype}.{kind.add}.{kind.mul}"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(kind.llvm, [I64] * 5), name)
            function.linkage = "linkonce_odr"
            function.attributes.add("noinline")
            _emit_bilinear(ir.IRBuilder(function.append_basic_block("entry")), kind, *function.args)
        return builder.call(function, args[1:])

    return kind.scalar(kind, *(types.intp,) * 5), codegen


def _emit_bilinear(builder: Any, kind: Any, columns: Any, w: Any, z: Any, d: Any, y: Any) -> None:
    size, chains = kind.itemsize, 4  # independent sums, as each waits for the one before
    whole = builder.icmp_signed("==", columns, I64(STRIP))
    four, one = Vectors(builder, kind, lanes=STRIP), Vectors(builder, kind, lanes=1)
    nil = ir.Constant(kind.llvm, kind.zero)
    with builder.if_else(whole) as (then, otherwise):
        with then:
            rounds = builder.sdiv(w, I64(chains))
            with _accumulate(builder, rounds, [four.zero()] * chains) as (k, before, after):
                for i in range(chains):
                    at = builder.add(builder.mul(k, I64(chains)), I64(i))
                    factor = four.splat(four.load(builder.add(z, builder.mul(at, I64(size))), type=kind.llvm))
                    panel = four.load(builder.add(d, builder.mul(at, I64(STRIP * size))))
                    after.append(four.step(before[i], factor, panel))
            held = after
            first = builder.mul(rounds, I64(chains))
            with _accumulate(builder, builder.sub(w, first), held[:1]) as (k, before, after):
                at = builder.add(first, k)
                factor = four.splat(four.load(builder.add(z, builder.mul(at, I64(size))), type=kind.llvm))
                after.append(
                    four.step(before[0], factor, four.load(builder.add(d, builder.mul(at, I64(STRIP * size)))))
                )
            total = after[0]
            for part_sum in held[1:]:
                total = emit(builder, kind.add, total, part_sum)
            met = four.step(four.zero(), total, four.load(y))
            value = builder.extract_element(met, I32(0))
            for i in range(1, STRIP):
                value = emit(builder, kind.add, value, builder.extract_element(met, I32(i)))
            left, from_left = value, builder.block
        with otherwise:
            with _accumulate(builder, columns, [nil]) as (c, outer, sums):
                with _accumulate(builder, w, [one.zero()]) as (k, before, after):
                    entry = builder.add(builder.mul(k, columns), c)
                    x = one.load(builder.add(z, builder.mul(k, I64(size))))
                    after.append(one.step(before[0], x, one.load(builder.add(d, builder.mul(entry, I64(size))))))
                met = one.step(one.zero(), after[0], one.load(builder.add(y, builder.mul(c, I64(size)))))
                sums.append(emit(builder, kind.add, outer[0], builder.extract_element(met, I32(0))))
            right, from_right = sums[0], builder.block
    result = builder.phi(kind.llvm)
    result.add_incoming(left, from_left)
    result.add_incoming(right, from_right)
    builder.ret(result)


def _bilinear_generic(kind: Any, columns: int, w: int, z: int, d: int, y: int) -> Any:
    size = itemsize(kind)
    value = zero(kind)
    for c in range(columns):
        inner = zero(kind)
        for k in range(w):
            inner = plus(kind, inner, times(kind, load(kind, z + k * size), load(kind, d + (k * columns + c) * size)))
        value = plus(kind, value, times(kind, inner, load(kind, y + c * size)))
    return value


@part
def _climb_alone(
    kind: Any, mirrored: bool, p: int, unit: Any, parent: Any, owner: Any, first: Any, begin: Any, slot: Any, base: Any,
    panel: Any, up: int, z: int,
) -> None:  # fmt: skip
    """The climb of one source, with z as the path from the root."""
    size = itemsize(kind)
    s = owner[p]
    clear(kind, base[s] + first[s + 1] - first[s], z)
    store(kind, z + (base[s] + p - first[s]) * size, unit)
    while s >= 0:
        w, low = first[s + 1] - first[s], begin[s]
        r = begin[s + 1] - low
        if r:
            for j in range(0, w, STRIP):
                columns = min(STRIP, w - j)
                u = up + (panel[s] + j * (w + r) + w * columns) * size
                climb_tile(
                    kind, mirrored, columns, 1, z + (base[s] + j) * size, r, slot.ctypes.data + 4 * low, z, u
                )  # fmt: skip
        s = parent[s]


@kernel
def pairs(
    kind: Any, start: int, stop: int, sources: Any, targets: Any, parent: Any, owner: Any, first: Any, begin: Any,
    slot: Any, base: Any, panel: Any, lower: int, upper: int, z: int, y: int, out: int,
) -> None:  # fmt: skip
    """out[q] = A*[sources[q], targets[q]]: two climbs, z from the source and y from the target, that meet in z_C D y_C.

    z and y have room for a path from the root, in whole vectors.
    """
    size = itemsize(kind)
    unit = one(kind)
    for q in range(start, stop):
        i, j = sources[q], targets[q]
        s, t = owner[i], owner[j]
        while s != t and s >= 0 and t >= 0:  # to the lowest supernode on both paths
            if s < t:
                s = parent[s]
            else:
                t = parent[t]
        value = zero(kind)
        if s >= 0 and t >= 0:
            _climb_alone(kind, False, i, unit, parent, owner, first, begin, slot, base, panel, upper, z)
            _climb_alone(kind, True, j, unit, parent, owner, first, begin, slot, base, panel, lower, y)
            while s >= 0:
                w = first[s + 1] - first[s]
                m = w + begin[s + 1] - begin[s]
                for k in range(0, w, STRIP):
                    d = lower + (panel[s] + k * m) * size
                    here = base[s] * size
                    met = bilinear(kind, min(STRIP, w - k), w, z + here, d, y + here + k * size)
                    value = plus(kind, value, met)
                s = parent[s]
        store(kind, out + q * size, value)


@intrinsic
def transpose_tile(
    typing: Any, kind: Any, source: Any, source_row: Any, target: Any, target_row: Any, streamed: Any
) -> Any:
    """A square of as many rows as a vector has lanes, transposed; past the caches where `streamed`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, source, source_row, target, target_row, streamed = args
        count = kind.lanes if kind.vector else 1
        v = Vectors(builder, kind, lanes=count)
        rows = [v.load(builder.add(source, builder.mul(I64(i), source_row))) for i in range(count)]
        rows = transposed(builder, rows)
        with builder.if_else(streamed) as (past, near):
            for branch, put in ((past, lambda *to: _stream(v, *to)), (near, v.store)):
                with branch:
                    for i in range(count):
                        put(rows[i], builder.add(target, builder.mul(I64(i), target_row)))
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 4, types.boolean), codegen


@kernel
def transpose(kind: Any, m: int, n: int, source: int, source_row: int, target: int, target_row: int) -> None:
    """Bᵀ of m × n entries, in pieces that stay near; past the caches where whole vectors are aligned in B."""
    size, side = itemsize(kind), lanes(kind)
    streamed = target % (side * size) == 0 and target_row % (side * size) == 0
    for top in range(0, m, 16 * side):
        bottom = min(top + 16 * side, m)
        for j in range(0, n, side):
            i = top
            if j + side <= n:
                while i + side <= bottom:
                    transpose_tile(
                        kind, source + i * source_row + j * size, source_row,
                        target + j * target_row + i * size, target_row, streamed,
                    )  # fmt: skip
                    i += side
            for a in range(i, bottom):
                for b in range(j, min(j + side, n)):
                    value = load(kind, source + a * source_row + b * size)
                    store(kind, target + b * target_row + a * size, value)
