"""Breadth-first searches from many sources at once, one bit each (Then et al. 2014, "The more the merrier").

A vertex has a row of words, one bit per source. With F the frontier, S the seen set, N the next frontier and A the
arcs, a level is

    push:  N[u] ← N[u] | (F[v] & ~S[u])   for every arc v → u of a vertex v in the frontier
    pull:  N[u] ← (| F[v]) & ~S[u]        over the arcs v → u of every vertex u that a source has not seen

whichever reads fewer arcs (Beamer et al. 2012, "Direction-optimizing breadth-first search"). The hop counts of a vertex
are contiguous by source, so that N[u] is the mask of full-vector stores.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from ..instructions import Array, Builder, Flag, Int, Value, instruction
from ..intrinsics import kernel
from ..kinds import without_value
from ..vectors import I32, I64, opaque, short_at

#: Sources per word.
BITS = 64
#: Cost of a pushed arc in pulled arcs, which only read, and stop early.
PUSH = 3


class Width(types.Type):
    """Words per vertex and bytes per hop count, as a type that selects code and has no run-time value."""

    def __init__(self, words: int, itemsize: int) -> None:
        self.words, self.itemsize = words, itemsize
        super().__init__(name=f"Width({words}, {itemsize})")


without_value(Width)


class _Rows:
    def __init__(self, builder: Builder, width: Width) -> None:
        self.builder, self.width = builder, width
        self.type = ir.VectorType(I64, width.words)
        self.none, self.all = (ir.Constant(self.type, [bits] * width.words) for bits in (0, -1))

    def pointer(self, base: Value, vertex: Value) -> Value:
        address = self.builder.add(base, self.builder.mul(vertex, I64(8 * self.width.words)))
        return self.builder.inttoptr(address, self.type.as_pointer())

    def load(self, base: Value, vertex: Value) -> Value:
        value = self.builder.load(self.pointer(base, vertex))
        value.align = 8
        return value

    def store(self, value: Value, base: Value, vertex: Value) -> None:
        self.builder.store(value, self.pointer(base, vertex)).align = 8

    def any(self, value: Value) -> Value:
        name, b = f"llvm.vector.reduce.or.v{self.width.words}i64", self.builder
        reduce = b.module.globals.get(name) or ir.Function(b.module, ir.FunctionType(I64, [self.type]), name)
        return b.icmp_signed("!=", b.call(reduce, [value]), I64(0))


@instruction
def _push(builder: Builder, width: Width, frontier: Int, v: Int, seen: Int, following: Int, u: Int) -> Flag:
    """N[u] ← N[u] | (F[v] & ~S[u]); returns whether these are the first bits of N[u]."""
    rows = _Rows(builder, width)
    fresh = builder.and_(rows.load(frontier, v), builder.xor(rows.load(seen, u), rows.all))
    before = rows.load(following, u)
    rows.store(builder.or_(before, fresh), following, u)
    return builder.and_(rows.any(fresh), builder.not_(rows.any(before)))


@instruction
def _pull(
    builder: Builder, width: Width, frontier: Int, heads: Int, start: Int, stop: Int, seen: Int, following: Int, u: Int
) -> Flag:
    """N[u] ← (| F[v]) & ~S[u] over v in heads[start:stop], until no more can come; returns whether a bit is set."""
    rows = _Rows(builder, width)
    missing = builder.xor(rows.load(seen, u), rows.all)
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.cbranch(rows.any(missing), head, done)
    builder.position_at_end(head)
    k, met = builder.phi(I64), builder.phi(rows.type)
    left = rows.any(builder.and_(missing, builder.xor(met, rows.all)))
    builder.cbranch(builder.and_(builder.icmp_signed("<", k, stop), left), body, done)
    builder.position_at_end(body)
    then = builder.or_(met, rows.load(frontier, short_at(builder, heads, k)))
    for phi, first, later in ((k, start, builder.add(k, I64(1))), (met, rows.none, then)):
        phi.add_incoming(first, before)
        phi.add_incoming(later, body)
    builder.branch(head)
    builder.position_at_end(done)
    found = builder.phi(rows.type)
    found.add_incoming(rows.none, before)
    found.add_incoming(met, head)
    fresh = builder.and_(found, missing)
    rows.store(fresh, following, u)
    return rows.any(fresh)


@instruction
def _settle(builder: Builder, width: Width, following: Int, seen: Int, u: Int, out: Int, code: Int) -> None:
    """S[u] ← S[u] | N[u]; hop counts of N[u] ← `code`, the bits of a number."""
    rows, size = _Rows(builder, width), width.itemsize
    fresh = rows.load(following, u)
    rows.store(builder.or_(rows.load(seen, u), fresh), seen, u)
    item = ir.IntType(8 * size)
    block = ir.VectorType(item, BITS)
    hops = builder.insert_element(
        ir.Constant(block, ir.Undefined), builder.trunc(code, item) if size < 8 else code, I32(0)
    )
    hops = builder.shuffle_vector(hops, ir.Constant(block, ir.Undefined), ir.Constant(ir.VectorType(I32, BITS), None))
    row = builder.add(out, builder.mul(u, I64(BITS * size * width.words)))
    for word in range(width.words):
        bits = builder.extract_element(fresh, I32(word))
        with builder.if_then(builder.icmp_signed("!=", bits, I64(0))):
            address = builder.inttoptr(builder.add(row, I64(word * BITS * size)), block.as_pointer())
            before = builder.load(address)
            before.align = size
            mask = builder.bitcast(bits, ir.VectorType(ir.IntType(1), BITS))
            builder.store(opaque(builder, builder.select(mask, hops, before)), address).align = size


@instruction
def _wipe(builder: Builder, width: Width, frontier: Int, v: Int) -> None:
    rows = _Rows(builder, width)
    rows.store(rows.none, frontier, v)


@kernel
def levels(
    width: Width, state: Array, codes: Array, budget: int, start_out: Array, heads: Array, start_in: Array,
    tails: Array, vertices: Array, frontier: int, following: int, seen: int, out: int,
) -> None:  # fmt: skip
    """Search one level per entry of `codes`, until the frontier is empty or about `budget` arcs have been visited.

    state = [frontier size, levels done, current half of `vertices`]; F and N swap with the halves. out[u, source] ←
    codes[level] where the source reaches u at that level.
    """
    n, arcs, met = len(start_out) - 1, len(heads), 0
    count, done, half = state[0], state[1], state[2]
    while count and done < len(codes) and met < budget:
        source, target = (frontier, following) if half == 0 else (following, frontier)
        old, new, found, onward = half * n, (1 - half) * n, 0, 0
        for q in range(count):
            v = vertices[old + q]
            onward += start_out[v + 1] - start_out[v]
        if PUSH * onward < arcs:
            for q in range(count):
                v = vertices[old + q]
                for k in range(start_out[v], start_out[v + 1]):
                    u = heads[k]
                    if _push(width, source, v, seen, target, u):
                        vertices[new + found] = u
                        found += 1
            met += onward
        else:
            for u in range(n):
                if _pull(width, source, tails.ctypes.data, start_in[u], start_in[u + 1], seen, target, u):
                    vertices[new + found] = u
                    found += 1
            met += arcs
        for q in range(found):
            _settle(width, target, seen, vertices[new + q], out, codes[done])
        for q in range(count):
            _wipe(width, source, vertices[old + q])
        count, half = found, 1 - half
        done += 1
        met += n // 8
    state[0], state[1], state[2] = count, done, half
