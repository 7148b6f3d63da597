"""Tight arcs of a source, in order of their heads: the protocol of sums over best paths.

An arc (k, j) is *tight* for a source s if D[s,k] ⊗ w(k,j) = D[s,j]; best paths from s are walks along tight arcs.
`settle` lists them by head, with heads before tails (Kahn 1962), and counts paths: σ(j) = Σ σ(k).

If ⊗ rounds, D need not be the sum along any path, so it only selects candidate arcs, within the tolerance `SLACK`. Arcs
are compared by sums from the source, x(j) = ⊕ x(k) ⊗ w(k,j): bit for bit those of Dijkstra's algorithm, ties included.
If candidates form a cycle, being lighter than the tolerance, x is searched for (Bellman 1958, Ford, Moore), exactly. If
they still do, since x(k) ⊗ w = x(k), equidistant vertices are ordered by sums along such arcs alone. Integral floats
whose sums are representable have tolerance 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from ....host.types import Scalar
from ..instructions import Array, Builder, Entry, Int, Word, instruction
from ..intrinsics import kernel, one, times, zero
from ..kinds import Kind
from ..vectors import I64, Vectors, compare, emit, multiply, splat, transposed
from .equality import better, emit_better, emit_limit, emit_size, inexact, larger, limit, rounds

#: Sources whose arcs are tested together; arcs per word of one source's hits.
LANES, WORD = 16, 64
#: Arcs listed per unrolled step.
AHEAD = 8
_ONE = np.uint32(1)


@cache
def vertex_of(dtype: str) -> np.dtype:
    """Record of a vertex j: x(j), σ(j) in `paths`, δ(j) in `owed`, and its range of the list of tight arcs."""
    ends = ("begin", np.uint32), ("end", np.uint32)
    return np.dtype([("x", dtype), ("paths", np.float64), ("owed", np.float64), *ends], align=True)


@instruction
def _tight(builder: Builder, kind: Kind, near: Int, worst: Int, w: Entry) -> Word:
    """Per-source bits: near ⊗ w is a distance no worse than `worst`; LANES entries at both addresses."""
    if not kind.vector:
        return I64(0)
    v = Vectors(builder, kind, lanes=LANES)
    y, most = multiply(builder, kind.mul, v.load(near), v.splat(w), v.zero()), v.load(worst)
    present, worse = compare(builder, kind, "!=", y, v.zero()), emit_better(builder, kind, most, y)
    tight = builder.and_(present, builder.not_(worse))
    return builder.zext(builder.bitcast(tight, ir.IntType(LANES)), I64)


@instruction
def _turned(
    builder: Builder, kind: Kind, rows: Int, source: Int, row: Int, slack: Entry, floor: Entry, near: Int, worst: Int
) -> None:
    """Transpose LANES columns of `rows` rows, `row` bytes apart, into `near`, and their tolerance limits into `worst`.

    Lanes beyond the last row repeat it.
    """
    if not kind.vector:
        return
    v, last, lines = Vectors(builder, kind, lanes=LANES), builder.sub(rows, I64(1)), []
    for r in range(LANES):
        at = emit(builder, "smin", I64(r), last)
        lines.append(v.load(builder.add(source, builder.mul(at, row))))
    doubt = (v.splat(slack), emit_size(builder, v.splat(floor))) if rounds(kind) else None
    for j, line in enumerate(transposed(builder, lines)):
        size = emit(builder, "fmax", emit_size(builder, line), doubt[1]) if doubt else None
        v.store(line, near, j * LANES * kind.itemsize)
        v.store(emit_limit(builder, kind, line, size, doubt and doubt[0]), worst, j * LANES * kind.itemsize)


@instruction
def _of_lane(builder: Builder, address: Int, lane: Int) -> Word:
    """Bits of one source for WORD arcs, whose LANES-bit hits are at an address."""
    kind = ir.VectorType(ir.IntType(LANES), WORD)
    bits = builder.load(builder.inttoptr(address, kind.as_pointer()), align=LANES // 8)
    bit = splat(builder, builder.trunc(builder.shl(I64(1), lane), kind.element), WORD)
    hits = builder.icmp_unsigned("!=", builder.and_(bits, bit), ir.Constant(kind, None))
    return builder.bitcast(hits, I64)


@instruction
def _lowest(builder: Builder, bits: Word) -> Word:
    """Count trailing zeros; 64 for 0."""
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 0))


@instruction
def _ones(builder: Builder, bits: Word) -> Word:
    return builder.ctpop(bits)


@kernel
def try_alone(
    kind: Kind, d: Array, lane: int, tails: Array, heads: Array, weights: Array, slack: Scalar, floor: Scalar,
    cut: bool, bound: Array, hits: Array,
) -> None:  # fmt: skip
    """Bit `lane` of hits[e] ← whether arc e is a candidate of one source; if `cut`, never into an unreached vertex."""
    for j in range(len(d)):
        bound[j] = limit(kind, d[j], larger(kind, d[j], floor), slack)
    bit = np.uint16(1 << lane)
    for e in range(len(heads)):
        y = times(kind, d[tails[e]], weights[e])
        hit = (y != zero(kind)) & (not better(kind, bound[heads[e]], y)) & ((not cut) | (d[heads[e]] != zero(kind)))
        hits[e] = (hits[e] & ~bit) | (bit * np.uint16(hit))  # branchless: unpredictable


@kernel
def try_together(
    kind: Kind, D: Array, begin: int, end: int, begins: Array, tails: Array, weights: Array, slack: Scalar,
    floor: Scalar, cut: bool, near: Array, worst: Array, hits: Array,
) -> None:  # fmt: skip
    """hits[e] ← candidate bits for rows begin … end − 1, at most LANES; near[j] and worst[j] have an entry for each."""
    n, rows = D.shape[1], end - begin
    here, limits, row = np.intp(near.ctypes.data), np.intp(worst.ctypes.data), LANES * near.itemsize
    source, wide = np.intp(D.ctypes.data) + begin * n * D.itemsize, n * D.itemsize
    for j in range(0, n // LANES * LANES, LANES):
        _turned(kind, rows, source + j * D.itemsize, wide, slack, floor, here + j * row, limits + j * row)
    for j in range(n // LANES * LANES, n):
        for r in range(LANES):
            near[j, r] = D[begin + min(r, rows - 1), j]
            worst[j, r] = limit(kind, near[j, r], larger(kind, near[j, r], floor), slack)
    for j in range(n):
        lanes = np.uint64((1 << LANES) - 1)
        if cut:
            for r in range(LANES):
                lanes ^= np.uint64(near[j, r] == zero(kind)) << np.uint64(r)
        for e in range(begins[j], begins[j + 1]):
            hits[e] = _tight(kind, here + np.intp(tails[e]) * row, limits + j * row, weights[e]) & lanes


@kernel
def flattened(lane: int, count: int, hits: Array, found: Array) -> Any:
    """found ← candidate arcs of a lane, ascending, with garbage behind; returns their number."""
    arcs = np.intp(0)
    for begin in range(0, count, WORD):
        word = _of_lane(np.intp(hits.ctypes.data) + begin * hits.itemsize, lane)
        here, arcs = arcs, arcs + np.intp(_ones(word))
        while here < arcs:
            for i in range(AHEAD):  # fixed-size, partly wasted: the count is unpredictable
                found[here + i] = np.uint32(begin + np.intp(_lowest(word)))
                word &= word - np.uint64(1)
            here += AHEAD
    return arcs


@kernel
def into(
    lane: int, hits: Array, begins: Array, tails: Array, arcs: int, found: Array, origins: Array, words: Array,
    before: Array, V: Array,
) -> None:  # fmt: skip
    """V[j].begin … V[j].end ← range of found arcs into j, origins ← their tails; V[j].owed ← 0.

    Workspace: `words`, a bit per arc, and `before`, a prefix count of found arcs per word. A loop over each vertex'
    arcs is unpredictable, a tenth slower with many ties.
    """
    for c in range(arcs):
        origins[c] = tails[found[c]]
    last = np.uint32(0)
    for w in range(len(words)):
        words[w], before[w] = _of_lane(np.intp(hits.ctypes.data) + w * WORD * hits.itemsize, lane), last
        last += np.uint32(_ones(words[w]))
    last = np.uint32(0)
    for j in range(len(V)):
        stop = begins[j + 1]
        at, above = np.intp(stop // np.uint64(WORD)), stop % np.uint64(WORD)
        first, last = last, before[at] + np.uint32(_ones(words[at] & ((np.uint64(1) << above) - np.uint64(1))))
        V[j].begin, V[j].end, V[j].owed = first, last, 0.0


@kernel
def left_by_none(kind: Kind, d: Array, waiting: Array, order: Array) -> Any:
    """order ← reached vertices with waiting[j] = 0, ascending; returns their number."""
    known = np.uint32(0)
    for j in range(len(d)):
        order[known] = j
        known += np.uint32((waiting[j] == 0) & (d[j] != zero(kind)))
    return known


@kernel
def farthest_first(kind: Kind, d: Array, tally: Array, order: Array) -> Any:
    """order ← reached vertices by integral distance, farthest first; returns their number, 0 if `tally` is short."""
    far: Any = 0
    for j in range(len(d)):
        far = max(far, abs(np.intp(d[j])) if d[j] != zero(kind) else 0)
    if far >= len(tally):
        return np.intp(0)
    for x in range(far + 1):
        tally[x] = 0
    for j in range(len(d)):
        if d[j] != zero(kind):
            tally[far - abs(np.intp(d[j]))] += _ONE
    known = np.uint32(0)
    for x in range(far + 1):
        tally[x], known = known, known + tally[x]
    for j in range(len(d)):
        if d[j] != zero(kind):
            x = far - abs(np.intp(d[j]))
            order[tally[x]] = j
            tally[x] += _ONE
    return np.intp(known)


@kernel
def heads_first(kind: Kind, d: Array, arcs: int, origins: Array, V: Array, waiting: Array, order: Array) -> Any:
    """order ← reached vertices, heads of arcs before tails; returns their number, excluding ancestors of a cycle."""
    for j in range(len(d)):
        waiting[j] = 0
    for c in range(arcs):
        waiting[origins[c]] += _ONE
    known, done = left_by_none(kind, d, waiting, order), np.uint32(0)
    while done < known:
        j = order[done]
        done += _ONE
        for c in range(V[j].begin, V[j].end):
            k = origins[c]
            waiting[k] -= _ONE
            order[known] = k  # branchless: unpredictable
            known += np.uint32(waiting[k] == 0)
    return np.intp(known)


@kernel
def tight_order(
    kind: Kind, d: Array, s: int, arcs: Any, weights: Array, slack: Scalar, found: Array, origins: Array, V: Array,
    waiting: Array, order: Array, tally: Array,
) -> Any:  # fmt: skip
    """order ← reached vertices, heads of tight arcs before tails; returns their number, excluding ancestors of a cycle.

    V keeps those candidates that are tight, x(k) ⊗ w = x(j). Returns −1 if a vertex has none. `tally` is nonempty if
    distances are integral and monotone along walks.
    """
    known = farthest_first(kind, d, tally, order) if len(tally) else np.intp(0)
    if known == 0:
        known = heads_first(kind, d, arcs, origins, V, waiting, order)
    if known == 0 or order[known - 1] != s:
        return known - 1
    V[s].x, V[s].paths, V[s].owed = one(kind), 1.0, 0.0
    arcs -= np.intp(V[s].end - V[s].begin)
    for i in range(known - 2, -1, -1):
        j = order[i]
        arcs -= np.intp(V[j].end - V[j].begin)
        x, paths, kept = zero(kind), 0.0, V[j].begin
        if kept == V[j].end:
            return -1
        if slack == 0:  # nothing was rounded: all are tight
            for c in range(kept, V[j].end):
                paths += V[origins[c]].paths
            V[j].paths = paths
            continue
        for c in range(kept, V[j].end):
            e, k = found[c], origins[c]
            y = times(kind, V[k].x, weights[e])
            if better(kind, y, x):
                x, paths, kept = y, 0.0, V[j].begin
            if y == x:
                paths += V[k].paths
                found[kept], origins[kept] = e, k
                kept += _ONE
        V[j].x, V[j].paths, V[j].end = x, paths, kept
    return -1 if arcs else known  # some arc leads to an unreached vertex


@kernel
def search(
    kind: Kind, starts: Array, leaving: Array, heads: Array, weights: Array, used: Array, x: Array, queue: Array,
    waiting: Array,
) -> None:  # fmt: skip
    """x ← best sums along walks of arcs in use, starting from x; Bellman–Ford with a queue, at most n rounds."""
    n, head, size = len(x), 0, 0
    for j in range(n):
        waiting[j] = x[j] != zero(kind)
        queue[size] = j
        size += waiting[j]
    for _ in range(n):
        for _ in range(size):
            k = queue[head]
            head = head + 1 if head + 1 < n else 0
            size -= 1
            waiting[k] = 0
            for i in range(starts[k], starts[k + _ONE]):
                e = leaving[i]
                j = heads[e]
                y = times(kind, x[k], weights[e])
                if used[e] and better(kind, y, x[j]):
                    x[j] = y
                    if waiting[j] == 0:
                        waiting[j] = 1
                        tail = head + size
                        queue[tail if tail < n else tail - n] = j
                        size += 1
        if size == 0:
            break


@kernel
def refine(
    kind: Kind, s: int, lane: int, starts: Array, leaving: Array, tails: Array, heads: Array, weights: Array, x: Array,
    hits: Array, level: Array, queue: Array, waiting: Array,
) -> None:  # fmt: skip
    """Among tight arcs lost in rounding, x(k) ⊗ w = x(k), keep those of best walks between equidistant vertices.

    Such walks begin at the head of another tight arc, or at s, and are summed from there; ties among them are kept.
    Overwrites x; level[e] is whether arc e is tight between equidistant vertices.
    """
    bit, dropped = np.uint16(1 << lane), True
    for e in range(len(heads)):
        level[e] = (hits[e] & bit) != 0
    while dropped:
        dropped = False
        for e in range(len(heads)):
            level[e] &= np.uint32(x[tails[e]] == x[heads[e]])
        for j in range(len(x)):
            x[j] = zero(kind)
        x[s] = one(kind)
        for e in range(len(heads)):
            if hits[e] & bit and not level[e]:
                x[heads[e]] = one(kind)
        search(kind, starts, leaving, heads, weights, level, x, queue, waiting)
        for e in range(len(heads)):
            if level[e] and times(kind, x[tails[e]], weights[e]) != x[heads[e]]:
                hits[e] &= ~bit
                level[e], dropped = 0, True


@kernel
def settle(
    kind: Kind, d: Array, s: int, reached: int, lane: int, arcs: int, starts: Array, leaving: Array, begins: Array,
    tails: Array, heads: Array, weights: Array, slack: Scalar, cut: bool, again: Array, bound: Array, hits: Array,
    found: Array, origins: Array, words: Array, before: Array, V: Array, waiting: Array, order: Array, tally: Array,
) -> Any:  # fmt: skip
    """`tight_order` of all vertices reached from s; −1 if there is none, with all candidates in V."""
    none = one(kind) - one(kind)
    for attempt in range(3 if inexact(kind) and slack != 0 else 1):
        if attempt == 1:
            for e in range(len(heads)):
                origins[e] = (not cut) | (d[heads[e]] != zero(kind))
            for j in range(len(d)):
                again[j] = zero(kind)
            again[s] = one(kind)
            search(kind, starts, leaving, heads, weights, origins, again, order, waiting)
            try_alone(kind, again, lane, tails, heads, weights, none, none, cut, bound, hits)
        elif attempt == 2:
            refine(kind, s, lane, starts, leaving, tails, heads, weights, again, hits, origins, order, waiting)
        if attempt:
            arcs = flattened(lane, len(heads), hits, found)
        into(lane, hits, begins, tails, arcs, found, origins, words, before, V)
        if tight_order(kind, d, s, arcs, weights, slack, found, origins, V, waiting, order, tally) == reached:
            return reached
    arcs = flattened(lane, len(heads), hits, found)
    into(lane, hits, begins, tails, arcs, found, origins, words, before, V)
    return -1
