"""Fronts: assembled from arcs and updates, eliminated, and split into panels.

A front of supernode s is a dense matrix on its columns C and rows R. Eliminating C leaves

    [[D, U], [L, A_RR ⊕ L A_CR]]   with   D = A_CC*,  U = D ⊗ A_CR,  L = A_RC ⊗ D

(Duff and Reid 1983, "The multifrontal solution of indefinite sparse symmetric linear equations"), by the kernels of
`abreast`. The panels hold [D; L] and [D U]ᵀ; the remainder at R is the update for the parent. A panel of (w + r) × w
entries is stored in strips of STRIP columns, row by row, the last strip narrower.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..features import vector_bytes
from ..instructions import Array, Builder, Int, instruction
from ..intrinsics import itemsize, jump, kernel, load, one, part, plus, short, store, zero
from ..kinds import Kind
from ..vectors import I64, Vectors, emit, entries, expanded, loop, short_at
from .abreast import BLOCK

# Per kind, called by address


@instruction
def _met(builder: Builder, kind: Kind, count: Int, target: Int, source: Int) -> None:
    for v, (here, there) in entries(builder, kind, count, target, source):
        v.store(v.plus(v.load(here), v.load(there)), here)


@instruction
def _window(builder: Builder, kind: Kind) -> Int:
    """Columns of a front per scatter of an update, a constant; 0: contiguous columns only.

    AVX-512 expands contiguous entries to the lanes of a mask in one instruction.
    """
    return I64(kind.lanes if kind.vector and kind.itemsize >= 4 and vector_bytes() == 64 else 0)


@instruction
def _spread(
    builder: Builder, kind: Kind, rows: Int, mask: Int, local: Int, front: Int, wide: Int, update: Int, pitch: Int
) -> None:
    """Rows local[i] of a front ⊕= rows of an update, in the masked columns of one vector."""
    if not kind.vector:
        return
    v = Vectors(builder, kind)
    lanes = builder.bitcast(builder.trunc(mask, ir.IntType(kind.lanes)), ir.VectorType(ir.IntType(1), kind.lanes))
    with loop(builder, I64(0), rows) as i:
        here = builder.add(front, builder.mul(short_at(builder, local, i), wide))
        values = expanded(v, builder.add(update, builder.mul(i, pitch)), lanes)
        v.store(emit(builder, kind.add, v.load(here), values), here)


@kernel
def extend(kind: Kind, r: int, local: int, front: int, wide: int, update: int) -> None:
    """Rows and columns local[i] of a front ⊕= an update, r × r.

    `local` is the address of r int32 in ascending order; rows of the front are `wide` bytes apart.
    """
    size, window = itemsize(kind), _window(kind)
    j = 0
    while j < r:
        first, k = short(local, j), j + 1
        if window:
            first &= -window
            mask = 1 << (short(local, j) - first)
            while k < r and short(local, k) < first + window:
                mask |= 1 << (short(local, k) - first)
                k += 1
            _spread(kind, r, mask, local, front + first * size, wide, update + j * size, r * size)
        else:  # runs of contiguous columns
            while k < r and short(local, k) == first + k - j:
                k += 1
            for i in range(r):
                _met(kind, k - j, front + short(local, i) * wide + first * size, update + (i * r + j) * size)
        j = k


@kernel
def place(kind: Kind, start: int, stop: int, arc_row: int, arc_col: int, weights: int, front: int, wide: int) -> None:
    """Front ⊕= weights of arcs start … stop − 1."""
    size = itemsize(kind)
    for a in range(start, stop):
        to = front + short(arc_row, a) * wide + short(arc_col, a) * size
        store(kind, to, plus(kind, load(kind, to), load(kind, weights + a * size)))


@kernel
def leaf(
    kind: Kind, m: int, start: int, stop: int, arc_row: int, arc_col: int, weights: int, lower: int, upper: int
) -> None:
    """Panels of one column with arcs start … stop − 1, all of them in, or all out: D = 1, and U or L zero."""
    size = itemsize(kind)
    for k in range(m):
        value = zero(kind) if k > 0 else one(kind)
        store(kind, lower + k * size, value)
        store(kind, upper + k * size, value)
    for a in range(start, stop):
        row, col = short(arc_row, a), short(arc_col, a)
        to = (lower if row > 0 else upper) + (row + col) * size
        store(kind, to, plus(kind, load(kind, to), load(kind, weights + a * size)))


# For all kinds: `steps` holds the addresses of the kernels of a kind.

FILL, PLACE, EXTEND, PIVOTS, OTHERS, APART, LEAF = range(7)


@part
def pitch_of(m: int, lanes: int) -> int:
    """Row stride of a front in entries: full vectors of `lanes`, a power of two."""
    return (m + lanes - 1) & -lanes


@part
def gather(
    steps: Array, size: int, lanes: int, s: int, first: Array, begin: Array, local: Array, child: Array, sibling: Array,
    where: Array, arcs: Array, arc_row: Array, arc_col: Array, weights: int, front: int,
) -> None:  # fmt: skip
    """The front of supernode s: ⊕ of arcs and of the children's updates."""
    m = first[s + 1] - first[s] + begin[s + 1] - begin[s]
    pitch = pitch_of(m, lanes)
    wide = pitch * size
    jump(steps[FILL], (m * pitch, front, -1))
    jump(steps[PLACE], (arcs[s], arcs[s + 1], arc_row.ctypes.data, arc_col.ctypes.data, weights, front, wide))
    c = child[s]
    while c >= 0:
        low = begin[c]
        if where[c] != 0:
            jump(steps[EXTEND], (begin[c + 1] - low, local.ctypes.data + 4 * low, front, wide, where[c]))
        c = sibling[c]


@part
def is_leaf(s: int, child: Array, sibling: Array, where: Array, arcs: Array, arc_row: Array, arc_col: Array) -> bool:
    """Whether the only column of s has no arcs in, or none out, and no child with an update."""
    sides, c = 0, child[s]
    while c >= 0:
        sides |= 0 if where[c] == 0 else 3
        c = sibling[c]
    for a in range(arcs[s], arcs[s + 1]):
        sides |= (arc_row[a] == 0) | (arc_col[a] == 0) << 1
    return sides != 3


@part
def close(steps: Array, w: int, m: int, pitch: int, front: int, work: int) -> None:
    """Eliminate the first w of a front's m vertices."""
    for k in range(0, w, BLOCK):
        depth = min(BLOCK, w - k)
        jump(steps[PIVOTS], (steps[OTHERS], k, k + depth, pitch, front, work))
        if k:
            jump(steps[OTHERS], (k, depth, 0, k, pitch, front, work))
        jump(steps[OTHERS], (k, depth, k + depth, m, pitch, front, work))


@kernel
def eliminate(
    steps: Array, size: int, lanes: int, start: int, stop: int, first: Array, begin: Array, local: Array, child: Array,
    sibling: Array, where: Array, panel: Array, arcs: Array, arc_row: Array, arc_col: Array, weights: int, lower: int,
    upper: int, front: int, work: int,
) -> None:  # fmt: skip
    """Eliminate supernodes start … stop − 1; where[s] is the address of the update of s, ← 0 if that is zero."""
    for s in range(start, stop):
        w = first[s + 1] - first[s]
        m = w + begin[s + 1] - begin[s]
        pitch = pitch_of(m, lanes)
        wide = pitch * size
        below, above = lower + panel[s] * size, upper + panel[s] * size
        if w == 1 and is_leaf(s, child, sibling, where, arcs, arc_row, arc_col):
            ends = arc_row.ctypes.data, arc_col.ctypes.data
            jump(steps[LEAF], (m, arcs[s], arcs[s + 1], ends[0], ends[1], weights, below, above))
            where[s] = 0
            continue
        gather(
            steps, size, lanes, s, first, begin, local, child, sibling, where, arcs, arc_row, arc_col, weights,
            front,
        )  # fmt: skip
        close(steps, w, m, pitch, front, work)
        jump(steps[APART], (lanes > 1, w, m, front, wide, below, above, where[s]))


@kernel
def renew(
    steps: Array, size: int, lanes: int, path: Array, dirty: Array, first: Array, begin: Array, local: Array,
    child: Array, sibling: Array, where: Array, parent: Array, panel: Array, slot: Array, updates: Array, fresh: Array,
    arcs: Array, arc_row: Array, arc_col: Array, weights: int, lower: int, upper: int, front: int, work: int,
) -> None:  # fmt: skip
    """Renew the dirty (1) supernodes of the ascending `path`, marking them 2, and parents of changed updates.

    The update of supernode s is word slot[s] of `updates`, at address where[s], or 0 if it is zero; `fresh` holds one.
    """
    for s in path:
        if dirty[s] == 0:
            continue
        dirty[s] = 2
        r = begin[s + 1] - begin[s]
        w = first[s + 1] - first[s]
        pitch = pitch_of(w + r, lanes)
        gather(
            steps, size, lanes, s, first, begin, local, child, sibling, where, arcs, arc_row, arc_col, weights,
            front,
        )  # fmt: skip
        close(steps, w, w + r, pitch, front, work)
        to = panel[s] * size
        jump(steps[APART], (lanes > 1, w, w + r, front, pitch * size, lower + to, upper + to, fresh.ctypes.data))
        changed = False
        old, words = slot[s], slot[s + 1] - slot[s] if where[s] != 0 else 0
        for k in range(words):
            changed |= updates[old + k] != fresh[k]
            updates[old + k] = fresh[k]
        if changed:  # never without rows, so s is no root
            dirty[parent[s]] = 1


@kernel
def bring(
    copy: int, size: int, stale: Any, first: Array, begin: Array, panel: Array, slot: Array, arcs: Array, source: Array,
    target: Array,
) -> None:  # fmt: skip
    """Copy supernodes; `source` and `target` hold addresses: lower and upper panels, updates, arc weights."""
    for s in stale:
        w = first[s + 1] - first[s]
        entries = w * (w + begin[s + 1] - begin[s])
        place = panel[s] * size
        jump(copy, (entries, source[0] + place, target[0] + place))
        jump(copy, (entries, source[1] + place, target[1] + place))
        jump(copy, ((slot[s + 1] - slot[s]) * 4 // size, source[2] + slot[s] * 4, target[2] + slot[s] * 4))
        place = arcs[s] * size
        jump(copy, (arcs[s + 1] - arcs[s], source[3] + place, target[3] + place))
