"""Hub labels from closed panels, parents first, and distances from labels. See `semiring.sparse.hubs`.

X and Y are the squares of A* between the columns of the current path from the root, X by rows and Y by columns.
Supernode s has its columns C at the end of that path, P above, and R ⊂ P:

    X_C,P = U X_R,P        Y_C,P∪C = (X_P∪C,R L ⊕ D)ᵀ        X_C,C = Y_C,Cᵀ

Rows of X, Y and labels are contiguous: vectors run along the path.
"""

from __future__ import annotations

from llvmlite import ir

from ..instructions import Array, Builder, Entry, Flag, Int, Value, instruction
from ..intrinsics import copy, itemsize, jump, kernel, load, long, part, plus, prefetch, store, zero
from ..kinds import Kind, imaged
from ..vectors import I32, I64, Vectors, accumulate, across, short_at, splat
from .strips import STRIP, tiles

#: Pairs between the prefetch of labels and their use, and entries of a label that are prefetched.
AHEAD, NEAR = 4, 64


@imaged
@kernel
def combine_strip(
    kind: Kind, mirrored: bool, columns: int, lanes: int, r: int, slots: int, square: int, pitch: int, l: int, y: int
) -> None:
    combine_tile(kind, mirrored, columns, lanes, r, slots, square, pitch, l, y)


@kernel
def add_pivots(kind: Kind, w: int, m: int, d: int, y: int, pitch: int) -> None:
    """y[c, k] ← y[c, k] ⊕ D[k, c] for the w × w block D of a panel of m rows in strips."""
    size = itemsize(kind)
    for j in range(0, w, STRIP):
        columns = min(STRIP, w - j)
        for c in range(columns):
            row, strip = y + (j + c) * pitch, d + (j * m + c) * size
            for k in range(w):
                value = load(kind, strip + k * columns * size)
                store(kind, row + k * size, plus(kind, load(kind, row + k * size), value))


@kernel
def put_labels(kind: Kind, rows: int, count: int, padded: int, square: int, pitch: int, target: int) -> None:
    """Copy the first `count` entries of each row, padded with 0 to `padded`."""
    size = itemsize(kind)
    for c in range(rows):
        row = target + c * padded * size
        copy(kind, count, square + c * pitch, row)
        for k in range(count, padded):
            store(kind, row + k * size, zero(kind))


@kernel
def meet(kind: Kind, count: int, x: int, y: int, out: int) -> None:
    """out ← ⊕ x[k] ⊗ y[k] over the first `count` entries of two labels."""
    store(kind, out, inner(kind, count, x, y))


@instruction
def combine_tile(
    builder: Builder, kind: Kind, mirrored: Flag, columns: Int, lanes: Int, r: Int, slots: Int, square: Int,
    pitch: Int, l: Int, y: Int,
) -> None:  # fmt: skip
    """y[c] ← ⊕ square[slots[k]] ⊗ l[k, c], operands swapped if mirrored; rows of y and square `pitch` bytes apart."""
    for v, vectors, many, offset in tiles(builder, kind, mirrored, columns, lanes):
        size = v.kind.itemsize
        width = v.type.count * size
        with accumulate(builder, r, [v.zero()] * (many * vectors)) as (k, before, values):
            row = builder.mul(short_at(builder, slots, k), pitch)
            here = builder.add(builder.add(square, offset), row)
            X = [v.load(here, i * width) for i in range(vectors)]
            strip = builder.add(l, builder.mul(k, I64(many * size)))
            for c in range(many):
                factor = v.splat(v.load(strip, c * size, type=v.type.element))
                values += [v.step(before[c * vectors + i], X[i], factor) for i in range(vectors)]
        for c in range(many):
            here = builder.add(builder.add(y, offset), builder.mul(I64(c), pitch))
            for i in range(vectors):
                v.store(values[c * vectors + i], here, i * width)


@instruction
def inner(builder: Builder, kind: Kind, count: Int, x: Int, y: Int) -> Entry:
    """⊕ x[k] ⊗ y[k] over `count` entries; reads full vectors."""
    builder.function.attributes.add("optsize")
    v = Vectors(builder, kind)
    width = v.type.count * kind.itemsize

    def loaded(base: Value, vector: ir.Type) -> Value:
        return v.load(builder.add(base, builder.mul(vector, I64(width))))

    # All full vectors but the last; its entries beyond `count` are of other columns, and are masked to 0: all, of none.
    some = builder.zext(builder.icmp_signed(">", count, I64(0)), I64)
    full = builder.sdiv(builder.sub(count, some), I64(kind.lanes))
    with accumulate(builder, full, [v.zero()]) as (k, before, sums):
        sums.append(v.step(before[0], loaded(x, k), loaded(y, k)))
    lanes = ir.Constant(ir.VectorType(I32, kind.lanes), list(range(kind.lanes)))
    rest = builder.trunc(builder.sub(count, builder.mul(full, I64(kind.lanes))), I32)
    within = builder.icmp_signed("<", lanes, splat(builder, rest, kind.lanes))
    left = builder.select(within, loaded(x, full), v.zero())
    return across(builder, kind.add, v.step(sums[0], left, loaded(y, full)))


@part
def _across_square(kind: Kind, w: int, low: int, high: int, source: int, target: int, pitch: int) -> None:
    """target[k, c] ← source[c, k] for w rows c, low ≤ k < high."""
    size = itemsize(kind)
    for k in range(low, high):
        for c in range(w):
            store(kind, target + k * pitch + c * size, load(kind, source + c * pitch + k * size))


@part
def _labels(table: int, shift: int, start: int, size: int) -> int:
    """Address of the labels at entry `start`; see `semiring.sparse.buffers.Pages`."""
    return long(table, start >> shift) + start * size


@part
def _open_path(
    kind: Kind, p: int, first: Array, base: Array, parent: Array, label: Array, present: Array, path: Array, x: int,
    y: int, pitch: int, line: int, out: int, into: int, shift: int,
) -> None:  # fmt: skip
    """Load X and Y of the path from the root to supernode p from labels, where they hold another path."""
    size, count = itemsize(kind), 0
    while p >= 0:
        path[count] = p
        count += 1
        p = parent[p]
    known = True
    for k in range(count - 1, -1, -1):
        p = path[k]
        known = known and present[base[p]] == p
        if not known:
            present[base[p]] = p
            w, b = first[p + 1] - first[p], base[p]
            padded = (b + w + line - 1) // line * line
            for c in range(w):
                start = label[p] + c * padded
                copy(kind, b + w, _labels(out, shift, start, size), x + (b + c) * pitch)
                copy(kind, b + w, _labels(into, shift, start, size), y + (b + c) * pitch)
            _across_square(kind, w, 0, b, x + b * pitch, y + b * size, pitch)
            _across_square(kind, w, 0, b, y + b * pitch, x + b * size, pitch)


@part
def _combine(
    kind: Kind, combine: int, pivots: int, s: int, first: Array, begin: Array, slot: Array, base: Array, child: Array,
    panel: Array, present: Array, lower: int, upper: int, x: int, y: int, pitch: int, unit: int,
) -> None:  # fmt: skip
    """X and Y of the columns of supernode s, given those of its parent's path."""
    size = itemsize(kind)
    w, low, b = first[s + 1] - first[s], begin[s], base[s]
    r = begin[s + 1] - low
    m, inside, slots = w + r, child[s] >= 0, slot.ctypes.data + 4 * low
    X, Y = x + b * pitch, y + b * pitch
    present[b] = s
    above, along = (b + unit - 1) // unit * unit, (b + w + unit - 1) // unit * unit
    for j in range(0, w if b else 0, STRIP):
        columns = min(STRIP, w - j)
        u = upper + (panel[s] + j * m + w * columns) * size
        jump(combine, (True, columns, above, r, slots, x, pitch, u, X + j * pitch))
    if inside:
        _across_square(kind, w, 0, b, X, y + b * size, pitch)
    else:
        for k in range(r):
            p = slot[low + k]
            _across_square(kind, w, p, p + 1, X, y + b * size, pitch)
    for j in range(0, w, STRIP):
        columns = min(STRIP, w - j)
        l = lower + (panel[s] + j * m + w * columns) * size
        jump(combine, (False, columns, along, r, slots, y, pitch, l, Y + j * pitch))
    jump(pivots, (w, m, lower + panel[s] * size, Y + b * size, pitch))
    _across_square(kind, w, 0 if inside else b, b + w, Y, x + b * size, pitch)


@kernel
def descend(
    kind: Kind, combine: int, pivots: int, put: int, start: int, stop: int, wanted: Array, first: Array, begin: Array,
    slot: Array, base: Array, parent: Array, child: Array, panel: Array, label: Array, present: Array, path: Array,
    lower: int, upper: int, x: int, y: int, pitch: int, unit: int, line: int, out: int, into: int, shift: int,
) -> None:  # fmt: skip
    """The labels of supernodes wanted[start:stop], in descending order, so that parents come first.

    `kind` gives only the entry size; `combine`, `pivots` and `put` are the addresses of `combine_strip`, `add_pivots`
    and `put_labels`. Parents not among them have labels already, which are read. `out` and `into` are page tables
    (`semiring.sparse.buffers.Pages`). `present` is the supernode at each place of the path in X and Y, or −1; labels of
    supernode s begin at label[s], padded to multiples of `line` entries a column.
    """
    size = itemsize(kind)
    for q in range(start, stop):
        s = wanted[q]
        p = parent[s]
        if p >= 0 and present[base[p]] != p:
            _open_path(kind, p, first, base, parent, label, present, path, x, y, pitch, line, out, into, shift)
        _combine(
            kind, combine, pivots, s, first, begin, slot, base, child, panel, present, lower, upper, x, y, pitch, unit
        )
        w, b = first[s + 1] - first[s], base[s]
        padded = (b + w + line - 1) // line * line
        jump(put, (w, b + w, padded, x + b * pitch, pitch, _labels(out, shift, label[s], size)))
        jump(put, (w, b + w, padded, y + b * pitch, pitch, _labels(into, shift, label[s], size)))


@kernel
def follow(
    kind: Kind, combine: int, pivots: int, begun: int, most: int, again: Array, computed: Array, touched: Array,
    leaf: Array, owned: Array, first: Array, begin: Array, slot: Array, base: Array, parent: Array, child: Array,
    panel: Array, label: Array, present: Array, path: Array, lower: int, upper: int, x: int, y: int, pitch: int,
    unit: int, line: int, out: int, into: int, shift: int,
) -> int:  # fmt: skip
    """Update labels after the panels of supernodes `again`, in descending order, have changed.

    From supernode `begun` down, until about `most` pairs, or until a page must be written that is not owned, whose
    owned[k] becomes 2; returns the next supernode, or −1. computed[s] ← 1 for computed labels. touched[k] is the
    supernode whose labels have a changed entry at place k of the path. If no row of a supernode is touched, neither are
    its labels, nor those below it except `again`.
    """
    size, q, s, done = itemsize(kind), 0, begun, 0
    while s >= 0:
        while q < len(again) and again[q] > s:
            q += 1
        p, below = parent[s], again[q] if q < len(again) else -1
        if below != s:
            if p < 0 or computed[p] == 0:
                s = max(below, leaf[p] - 1) if p >= 0 else below
                continue
            near = False
            for k in range(begin[s], begin[s + 1]):
                t = touched[slot[k]]
                near |= t > s and leaf[t] <= s  # above s, and so still on the path
            if not near:
                s = max(below, leaf[s] - 1)
                continue
        if done > most:
            return s
        if p >= 0 and present[base[p]] != p:
            _open_path(kind, p, first, base, parent, label, present, path, x, y, pitch, line, out, into, shift)
        _combine(
            kind, combine, pivots, s, first, begin, slot, base, child, panel, present, lower, upper, x, y, pitch, unit
        )
        w, b = first[s + 1] - first[s], base[s]
        padded = (b + w + line - 1) // line * line
        computed[s] = 1
        shared = False
        for side in range(2):
            square, table = (y if side else x) + b * pitch, into if side else out
            for c in range(w):
                start = label[s] + c * padded
                page = side * (len(owned) // 2) + (start >> shift)
                if owned[page] != 1 and _differs(kind, b + w, square + c * pitch, _labels(table, shift, start, size)):
                    owned[page] = 2
                    shared = True
        if shared:
            return s
        for side in range(2):
            square, table = (y if side else x) + b * pitch, into if side else out
            for c in range(w):
                start = label[s] + c * padded
                row, old = square + c * pitch, _labels(table, shift, start, size)
                if owned[side * (len(owned) // 2) + (start >> shift)] == 0 or not _differs(kind, b + w, row, old):
                    continue
                for k in range(b + w):
                    if load(kind, row + k * size) != load(kind, old + k * size):
                        t = touched[k]
                        if t <= s or leaf[t] > s:
                            touched[k] = s
                        touched[b + c] = s
                copy(kind, b + w, row, old)
        done += w * (begin[s + 1] - begin[s] + 1) * (2 * b + w)
        s -= 1
    return -1


@part
def _differs(kind: Kind, count: int, x: int, y: int) -> bool:
    size, other = itemsize(kind), False
    for k in range(count):
        other |= load(kind, x + k * size) != load(kind, y + k * size)
    return other


@instruction
def _highest(builder: Builder, x: Int) -> Int:
    """2ᵏ for the highest bit k of a positive number."""
    return builder.lshr(I64(-(2**63)), builder.ctlz(x, ir.Constant(ir.IntType(1), 1)))


@part
def _end(number: int, above: int, end: int, common: int, base: int) -> int:
    """Columns of a vertex' path down to its last node within the common part; see `common_path`."""
    if number & -number == common:
        return end
    k = _highest(above & (common - 1))
    return long(base, (number & -2 * k) | k)


@part
def common_path(u: int, v: int, places: int, base: int) -> int:
    """Number of columns that the paths of two vertices share.

    The tree is mapped onto a complete binary tree, where a few bits give the lowest common ancestor (Schieber and
    Vishkin 1988). A row of `places` holds a vertex' label offset, its number, the bits of the numbers above, and the
    columns on its path; `base` the columns above the topmost node of each number.
    """
    x, y = long(places, 4 * u + 1), long(places, 4 * v + 1)
    left, right = long(places, 4 * u + 3), long(places, 4 * v + 3)
    most = min(left, right)
    if x == y:
        return most
    above, other = long(places, 4 * u + 2), long(places, 4 * v + 2)
    i = _highest(x ^ y)
    shared = above & other & -i
    common = shared & -shared
    left = _end(x, above, left, common, base)
    return min(most, left, _end(y, other, right, common, base))


@part
def pair(
    u: int, v: int, found: int, step: int, size: int, places: int, base: int, out: int, into: int, shift: int
) -> None:
    count = common_path(u, v, places, base)
    x, y = _labels(out, shift, long(places, 4 * u), size), _labels(into, shift, long(places, 4 * v), size)
    jump(step, (count, x, y, found))


@part
def _fetch(v: int, size: int, places: int, labels: int, shift: int) -> None:
    """Prefetch the label of a vertex, at most NEAR entries."""
    label = _labels(labels, shift, long(places, 4 * v), size)
    for k in range(0, min(NEAR, long(places, 4 * v + 3)) * size, 64):
        prefetch(label + k)


@kernel
def pairs(
    start: int, stop: int, sources: Array, targets: Array, found: int, step: int, size: int, places: int, base: int,
    out: int, into: int, shift: int,
) -> None:  # fmt: skip
    """found[q] ← A*[sources[q], targets[q]] from labels; `step` is the address of `meet`."""
    for q in range(start, stop):
        if q + AHEAD < stop:  # labels are far away: those of later pairs come while this one is found
            _fetch(sources[q + AHEAD], size, places, out, shift)
            _fetch(targets[q + AHEAD], size, places, into, shift)
        pair(sources[q], targets[q], found + q * size, step, size, places, base, out, into, shift)
