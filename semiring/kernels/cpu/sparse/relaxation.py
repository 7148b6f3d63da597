"""Label-correcting searches on a weighted graph from many sources at once, one vector lane each.

Entries are laid out [vertex][lane], so that an arc u → v is relaxed for all sources by few instructions:

    D[v, ·] ← D[v, ·] ⊕ D[u, ·] ⊗ w(u, v)

Improved vertices wait in buckets, by the best of the improved entries; the first bucket goes first, in order of arrival
(delta-stepping without phases: Meyer and Sanders 2003). Any order gives the same entries; it decides how often a vertex
is scanned. The bucket of an entry is

    ⌊scale · x + shift[lane]⌋

with x the entry as a number, or its bits as an integer, which grow like its logarithm. Shifts delay sources nearer to a
landmark, so that all reach it in the same bucket: most vertices then improve for all sources at about the same time,
and are scanned once for all.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from ..instructions import Array, Builder, Int, Value, instruction
from ..intrinsics import itemsize, kernel, one, store
from ..kinds import Kind, without_value
from ..vectors import I32, I64, Vectors, compare

#: Bucket of a vertex that does not wait; greatest bucket.
NONE, LAST = 2**31 - 1, 2**30
#: Prefetch distance in arcs.
AHEAD = 8


class Lanes(types.Type):
    """A kind and a number of sources, as a type that selects code and has no run-time value."""

    def __init__(self, kind: Kind, lanes: int) -> None:
        self.kind, self.lanes, self.label, self.dtype = kind, lanes, kind.label, kind.dtype
        self.scalar, self.itemsize, self.one = kind.scalar, kind.itemsize, kind.one
        super().__init__(name=f"Lanes({kind.name}, {lanes})")

    @property
    def code(self) -> Lanes:
        return Lanes(self.kind.code, self.lanes)

    @property
    def tag(self) -> str:
        return f"{self.kind.tag}.{self.lanes}"


without_value(Lanes)


@instruction
def _lanes(builder: Builder, width: Lanes) -> Int:
    return I64(width.lanes)


@instruction
def _clear(builder: Builder, width: Lanes, row: Int) -> None:
    v = Vectors(builder, width.kind, lanes=width.lanes)
    v.store(v.zero(), row)


@instruction
def _prefetch(builder: Builder, width: Lanes, row: Int) -> None:
    v = Vectors(builder, width.kind, lanes=width.lanes)
    for offset in range(0, width.lanes * width.kind.itemsize, 64):
        v.prefetch(row, offset)


def _buckets(builder: Builder, v: Vectors, entries: Value, order: Value) -> Value:
    """Buckets of a vector of entries, int32; `order` is the address of the shifts, followed by the scale."""
    kind, count = v.kind, v.type.count
    floats, shorts = (ir.VectorType(t, count) for t in (ir.FloatType(), I32))
    if kind.record.integer:
        x = (builder.sitofp if kind.record.signed else builder.uitofp)(entries, floats)
    elif kind.mul == "fmul":  # bits of floats ≥ 0
        bits = ir.VectorType(ir.IntType(8 * kind.itemsize), count)
        x = builder.sitofp(builder.bitcast(entries, bits), floats)
    else:
        x = entries if kind.dtype == "float32" else builder.fptrunc(entries, floats)
    plain = Vectors(builder, _FLOAT, lanes=count)
    scale = plain.splat(plain.load(order, 4 * count, type=ir.FloatType()))
    x = builder.fadd(builder.fmul(x, scale), plain.load(order))
    for relation, bound in (("<", float(LAST)), (">", float(-LAST))):
        most = ir.Constant(floats, [bound] * count)
        x = builder.select(builder.fcmp_ordered(relation, x, most), x, most)
    return builder.fptosi(x, shorts)


class _Float:
    """float32 in place of a kind, for `Vectors`."""

    itemsize, dtype, zero, lanes, llvm = 4, "float32", 0.0, 1, ir.FloatType()
    add = mul = tile_add = tile_mul = ""
    image = "same"


_FLOAT: Any = _Float()


@instruction
def _relax(builder: Builder, width: Lanes, source: Int, target: Int, weight: Int, order: Int) -> Int:
    """D[v, ·] ← D[v, ·] ⊕ D[u, ·] ⊗ w; returns the first bucket of an improved entry, or NONE."""
    v = Vectors(builder, width.kind, lanes=width.lanes)
    old = v.load(target)
    new = v.step(old, v.load(source), v.splat(v.load(weight, type=v.type.element)))
    better = compare(builder, width.kind, "!=", new, old)
    mask = builder.bitcast(better, ir.IntType(width.lanes))
    before = builder.block
    found, done = builder.append_basic_block("found"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("!=", mask, ir.Constant(mask.type, 0)), found, done)
    builder.position_at_end(found)
    v.store(new, target)
    shorts = ir.VectorType(I32, width.lanes)
    buckets = builder.select(better, _buckets(builder, v, new, order), ir.Constant(shorts, [NONE] * width.lanes))
    name = f"llvm.vector.reduce.smin.v{width.lanes}i32"
    module = builder.module
    reduce = module.globals.get(name) or ir.Function(module, ir.FunctionType(I32, [shorts]), name)
    least = builder.sext(builder.call(reduce, [buckets]), I64)
    builder.branch(done)
    builder.position_at_end(done)
    bucket = builder.phi(I64)
    bucket.add_incoming(I64(NONE), before)
    bucket.add_incoming(least, found)
    return bucket


@kernel
def search(
    width: Lanes, state: Array, sources: Array, budget: int, most: int, start: Array, heads: Array, weights: int,
    panel: int, order: int, bucket: Array, after: Array, before: Array,
) -> None:  # fmt: skip
    """Search until no vertex waits up to bucket `most`, or about `budget` arcs have been relaxed.

    state = [waiting vertices, or −1 before the start; next list; bucket of the first list; arcs relaxed]. A vertex
    waits in list bucket[v] − state[2]; the last list also holds all later buckets, and is redistributed once the others
    are empty. Lists are circular through `after` and `before`, with node n + k as the head of list k (Knuth 1997,
    2.2.5).
    """
    n, size = len(start) - 1, itemsize(width)
    lists, row = len(after) - n - 1, size * _lanes(width)
    count, place, base = state[0], state[1], state[2]
    if count < 0:
        count = 0
        for v in range(n):
            _clear(width, panel + v * row)
            bucket[v] = NONE
        for k in range(n, len(after)):
            after[k] = before[k] = k
        for k in range(len(sources)):
            v = sources[k]
            store(width, panel + v * row + k * size, one(width))
            if bucket[v] == NONE:
                bucket[v] = base
                p = before[n]
                after[p] = before[n] = v
                before[v], after[v] = p, n
                count += 1
    met = 0
    while count > 0 and met < budget:
        while place < lists and after[n + place] == n + place:
            place += 1
        if place == lists:
            u, base, place = after[n + lists], NONE, 0
            while u < n:
                base = min(base, bucket[u])
                u = after[u]
            u = after[n + lists]
            after[n + lists] = before[n + lists] = n + lists
            while u < n:
                following = after[u]
                q = n + min(bucket[u] - base, lists)
                p = before[q]
                after[p] = before[q] = u
                before[u], after[u] = p, q
                u = following
        if base + place > most:
            count = 0
            break
        u = after[n + place]
        q = after[u]
        after[n + place] = q
        before[q] = n + place
        bucket[u] = NONE
        count -= 1
        met += start[u + 1] - start[u] + 1
        here = panel + u * row
        for k in range(start[u], start[u + 1]):
            v = heads[k]
            _prefetch(width, panel + heads[k + AHEAD] * row)
            b = _relax(width, here, panel + v * row, weights + k * size, order)
            if b != NONE:
                b = max(b, base + place)
                old = bucket[v]
                if b < old:
                    if old == NONE:
                        count += 1
                    else:
                        p, q = before[v], after[v]
                        after[p] = q
                        before[q] = p
                    bucket[v] = b
                    q = n + min(b - base, lists)
                    p = before[q]
                    after[p] = before[q] = v
                    before[v], after[v] = p, q
    state[0], state[1], state[2] = count, place, base
    state[3] += met


@kernel
def preorder(order: Array, parent: Array, size: Array, place: Array) -> None:
    """place[v] ← preorder position of v, children in the order given.

    Parents precede children in `order`; a root's parent is −1; `size` is workspace.
    """
    size[:] = 1
    for k in range(len(order) - 1, -1, -1):
        v = order[k]
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    free = 0
    for k in range(len(order)):
        v = order[k]
        p, count = parent[v], size[v]
        if p < 0:
            place[v] = free
            free += count
        else:
            place[v] = size[p]
            size[p] += count
        size[v] = place[v] + 1  # from here on, the place of its next child
