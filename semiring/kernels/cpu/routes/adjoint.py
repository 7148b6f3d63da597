"""Sums along best paths, source by source: Brandes' dependencies, shared among tied paths.

An arc (k, j) is *tight* for a source s if D[s,k] ⊗ w(k,j) = D[s,j]; best paths from s are walks along tight arcs. In a
topological order of these (Kahn 1962), path counts go forward and sums come back (Brandes 2001, "A faster algorithm for
betweenness centrality"):

    σ(j) = Σ σ(k)        δ(k) = σ(k) Σ (q(j) + δ(j)) / σ(j)        over tight arcs (k, j), q(j) the demand at j.

If ⊗ rounds, D need not be the sum along any path, so it only selects candidate arcs, within the tolerance `SLACK`. Arcs
are compared by sums from the source, x(j) = ⊕ x(k) ⊗ w(k,j): bit for bit those of Dijkstra's algorithm, ties included.
If candidates form a cycle, being lighter than the tolerance, x is searched for (Bellman 1958, Ford, Moore), exactly. If
they still do, since x(k) ⊗ w = x(k), equidistant vertices are ordered by sums along such arcs alone. Integral floats
whose sums are representable have tolerance 0.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ....algebra import dtypes
from ....algebra.records import Semiring
from ....host.errors import DivergenceError, DomainError
from ....host.memory import require
from ..csr.backend import arranged
from ..intrinsics import kernel, one, times, zero
from ..kinds import choose
from ..pool import run
from ..vectors import I64, Vectors, compare, emit, multiply, splat, transposed
from .code import compiled
from .equality import SLACK, better, emit_better, emit_limit, emit_size, inexact, larger, limit, rounds

#: Sources summed before joining the total: fixed, so that sums do not depend on the number of threads.
CHUNK = 64
#: Sources whose arcs are tested together; arcs per word of one source's hits.
LANES, WORD = 16, 64
#: Arcs listed per unrolled step.
AHEAD = 8
#: Most vertices for joint tests: beyond, the records outgrow the caches.
TOGETHER = 1 << 16
#: Counting sort applies to integral distances below FAR · n.
FAR = 4
#: Steps per call, so that Ctrl-C is handled.
CALL = 1 << 26
#: No arc.
NONE = np.uint32(2**32 - 1)

_ONE = np.uint32(1)


@cache
def vertex_of(dtype: str) -> np.dtype:
    """Record of a vertex j: x(j), σ(j) in `paths`, δ(j) in `owed`, and its range of the list of tight arcs."""
    ends = ("begin", np.uint32), ("end", np.uint32)
    return np.dtype([("x", dtype), ("paths", np.float64), ("owed", np.float64), *ends], align=True)


@intrinsic
def _tight(typing: Any, kind: Any, near: Any, worst: Any, w: Any) -> Any:
    """Per-source bits: near ⊗ w is a distance no worse than `worst`; LANES entries at both addresses."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, near, worst, w = args
        if not kind.vector:
            return I64(0)
        v = Vectors(builder, kind, lanes=LANES)
        y, most = multiply(builder, kind.mul, v.load(near), v.splat(w), v.zero()), v.load(worst)
        present, worse = compare(builder, kind, "!=", y, v.zero()), emit_better(builder, kind, most, y)
        tight = builder.and_(present, builder.not_(worse))
        return builder.zext(builder.bitcast(tight, ir.IntType(LANES)), I64)

    return types.uint64(kind, types.intp, types.intp, kind.scalar), codegen


@intrinsic
def _turned(
    typing: Any, kind: Any, rows: Any, source: Any, row: Any, slack: Any, floor: Any, near: Any, worst: Any
) -> Any:
    """Transpose LANES columns of `rows` rows, `row` bytes apart, into `near`, and their tolerance limits into `worst`.

    Lanes beyond the last row repeat it.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, rows, source, row, slack, floor, near, worst = args
        if not kind.vector:
            return context.get_dummy_value()
        v, last, lines = Vectors(builder, kind, lanes=LANES), builder.sub(rows, I64(1)), []
        for r in range(LANES):
            at = emit(builder, "smin", I64(r), last)
            lines.append(v.load(builder.add(source, builder.mul(at, row))))
        doubt = (v.splat(slack), emit_size(builder, v.splat(floor))) if rounds(kind) else None
        for j, line in enumerate(transposed(builder, lines)):
            size = emit(builder, "fmax", emit_size(builder, line), doubt[1]) if doubt else None
            v.store(line, near, j * LANES * kind.itemsize)
            v.store(emit_limit(builder, kind, line, size, doubt and doubt[0]), worst, j * LANES * kind.itemsize)
        return context.get_dummy_value()

    return types.none(kind, *(types.intp,) * 3, kind.scalar, kind.scalar, types.intp, types.intp), codegen


@intrinsic
def _of_lane(typing: Any, address: Any, lane: Any) -> Any:
    """Bits of one source for WORD arcs, whose LANES-bit hits are at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, lane = args
        kind = ir.VectorType(ir.IntType(LANES), WORD)
        bits = builder.load(builder.inttoptr(address, kind.as_pointer()), align=LANES // 8)
        bit = splat(builder, builder.trunc(builder.shl(I64(1), lane), kind.element), WORD)
        hits = builder.icmp_unsigned("!=", builder.and_(bits, bit), ir.Constant(kind, None))
        return builder.bitcast(hits, I64)

    return types.uint64(types.intp, types.intp), codegen


@intrinsic
def _lowest(typing: Any, bits: Any) -> Any:
    """Count trailing zeros; 64 for 0."""
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))


@intrinsic
def _ones(typing: Any, bits: Any) -> Any:
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.ctpop(args[0])


@kernel
def try_alone(
    kind: Any, d: Any, lane: int, tails: Any, heads: Any, weights: Any, slack: Any, floor: Any, cut: bool, bound: Any,
    hits: Any,
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
    kind: Any, D: Any, begin: int, end: int, begins: Any, tails: Any, weights: Any, slack: Any, floor: Any, cut: bool,
    near: Any, worst: Any, hits: Any,
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
def flattened(lane: int, count: int, hits: Any, found: Any) -> Any:
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
    lane: int, hits: Any, begins: Any, tails: Any, arcs: int, found: Any, origins: Any, words: Any, before: Any, V: Any
) -> None:
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
def left_by_none(kind: Any, d: Any, waiting: Any, order: Any) -> Any:
    """order ← reached vertices with waiting[j] = 0, ascending; returns their number."""
    known = np.uint32(0)
    for j in range(len(d)):
        order[known] = j
        known += np.uint32((waiting[j] == 0) & (d[j] != zero(kind)))
    return known


@kernel
def planted(
    kind: Any, d: Any, s: int, arcs: int, tails: Any, heads: Any, found: Any, above: Any, owed: Any, waiting: Any
) -> bool:
    """above[j] ← candidate arc into j, waiting[k] ← number leaving k; owed ← 0.

    Given one arc fewer than reached vertices, returns whether the arcs form a tree: each to a different reached vertex
    other than the source, from a nearer one.
    """
    nearer = True
    for j in range(len(d)):
        above[j], owed[j], waiting[j] = NONE, 0.0, 0
    above[s] = 0
    for i in range(arcs):
        e = found[i]
        j, k = heads[e], tails[e]
        nearer &= (above[j] == NONE) & (d[j] != zero(kind)) & better(kind, d[k], d[j])
        above[j] = e
        waiting[k] += _ONE
    return nearer


@kernel
def tree(
    kind: Any, d: Any, s: int, tails: Any, asked: Any, through: Any, ending: Any, along: Any, above: Any, owed: Any,
    waiting: Any, order: Any,
) -> None:  # fmt: skip
    """Add the sums of one source, demand asked[j] at vertex j, when candidate arcs form a tree."""
    known, done, of_vertices = left_by_none(kind, d, waiting, order), np.uint32(0), len(through) > 0
    while order[done] != s:
        j = order[done]
        done += _ONE
        total, q, e = owed[j], asked[j], above[j]
        if of_vertices:
            through[j] += total
            ending[j] += q
        total += q
        k = tails[e]
        along[e] += total
        owed[k] += total
        waiting[k] -= _ONE
        order[known] = k  # branchless: unpredictable
        known += np.uint32(waiting[k] == 0)
    if of_vertices:
        ending[s] += owed[s]


@kernel
def farthest_first(kind: Any, d: Any, tally: Any, order: Any) -> Any:
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
def heads_first(kind: Any, d: Any, arcs: int, origins: Any, V: Any, waiting: Any, order: Any) -> Any:
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
    kind: Any, d: Any, s: int, arcs: Any, weights: Any, slack: Any, found: Any, origins: Any, V: Any, waiting: Any,
    order: Any, tally: Any,
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
    kind: Any, starts: Any, leaving: Any, heads: Any, weights: Any, used: Any, x: Any, queue: Any, waiting: Any
) -> None:
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
    kind: Any, s: int, lane: int, starts: Any, leaving: Any, tails: Any, heads: Any, weights: Any, x: Any, hits: Any,
    level: Any, queue: Any, waiting: Any,
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
    kind: Any, d: Any, s: int, reached: int, lane: int, arcs: int, starts: Any, leaving: Any, begins: Any, tails: Any,
    heads: Any, weights: Any, slack: Any, cut: bool, again: Any, bound: Any, hits: Any, found: Any, origins: Any,
    words: Any, before: Any, V: Any, waiting: Any, order: Any, tally: Any,
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


@kernel
def hand_back(
    known: int, asked: Any, evenly: bool, through: Any, ending: Any, along: Any, state: Any, found: Any, origins: Any,
    V: Any, order: Any,
) -> bool:  # fmt: skip
    """Add the sums of one source, demand asked[j] at vertex j; False if the paths to vertex state[1] overflow float64.

    If shared `evenly`, a vertex without demand divides equally among its tight arcs.
    """
    of_vertices = len(through) > 0
    for i in range(known - 1):
        j = order[i]
        total, q, begin, end = V[j].owed, asked[j], V[j].begin, V[j].end
        if of_vertices:
            through[j] += total
            ending[j] += q
        total += q
        if end - begin == 1:
            along[found[begin]] += total
            V[origins[begin]].owed += total
            continue
        alike, parts = evenly and q == 0.0, V[j].paths
        if parts == np.inf:
            state[1] = j
            return False
        if alike:
            parts = np.float64(end - begin)
        for c in range(begin, end):
            k = origins[c]
            share = total / parts * (1.0 if alike else V[k].paths)
            along[found[c]] += share
            V[k].owed += share
    s = order[known - 1]
    if of_vertices:
        ending[s] += V[s].owed
    return True


@kernel
def count(known: int, counts: Any, state: Any, origins: Any, V: Any, order: Any) -> bool:
    """counts[j] ← number of best paths from one source to j; False if those to vertex state[1] overflow int64."""
    for j in range(len(counts)):
        counts[j] = 0
    counts[order[known - 1]] = 1
    for i in range(known - 2, -1, -1):
        j = order[i]
        for c in range(V[j].begin, V[j].end):
            counts[j] += counts[origins[c]]
            if counts[j] < 0:
                state[1] = j
                return False
    return True


@kernel
def sums(
    kind: Any, D: Any, sources: Any, starts: Any, leaving: Any, begins: Any, tails: Any, heads: Any, weights: Any,
    slack: Any, floor: Any, cut: bool, demand: Any, evenly: bool, through: Any, ending: Any, along: Any, C: Any,
    state: Any, near: Any, worst: Any, again: Any, bound: Any, hits: Any, found: Any, origins: Any, words: Any,
    before: Any, above: Any, owed: Any, V: Any, waiting: Any, order: Any, tally: Any, begin: int, end: int,
) -> int:  # fmt: skip
    """Add the sums of rows begin … end − 1 to vertices, ends and arcs; or count paths, if C has rows.

    `demand` has a row per source, or one for all. Arcs are by head; `leaving` lists them by tail, from starts[k] on.
    Returns a row without an order; −2 − row for one with too many best paths; else −1.
    """
    together = len(near) > 0
    for r in range(begin, end):
        lane = (r - begin) % LANES if together else 0
        if not together:
            try_alone(kind, D[r], 0, tails, heads, weights, slack, floor, cut, bound, hits)
        elif lane == 0:
            rows = r, min(r + LANES, end)
            try_together(kind, D, *rows, begins, tails, weights, slack, floor, cut, near, worst, hits)
        d, s, reached, asked = D[r], sources[r], 0, demand[r if len(demand) > 1 else 0]
        for j in range(len(d)):
            reached += d[j] != zero(kind)
        arcs = flattened(lane, len(heads), hits, found)
        one_each = arcs + 1 == reached and not len(C)
        if one_each and planted(kind, d, s, arcs, tails, heads, found, above, owed, waiting):
            tree(kind, d, s, tails, asked, through, ending, along, above, owed, waiting, order)
            continue
        known = settle(
            kind, d, s, reached, lane, arcs, starts, leaving, begins, tails, heads, weights, slack, cut, again, bound,
            hits, found, origins, words, before, V, waiting, order, tally,
        )  # fmt: skip
        state[0] = known
        if known < 0:
            return r
        if len(C):
            held = count(known, C[r], state, origins, V, order)
        else:
            held = hand_back(known, asked, evenly, through, ending, along, state, found, origins, V, order)
        if not held:
            return -2 - r
    return -1


#: Placeholders for counts when sums are added, and for sums when paths are counted.
_NO_COUNTS = np.empty((0, 0), np.int64)
_NO_SUMS = np.empty((1, 0)), False, np.empty(0), np.empty(0), np.empty(0)
_SIGNATURE = "AuwuwuuaxxtFtfffLlAAaahuuwuuf0uuuii"
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]


class Space(NamedTuple):
    """A thread's workspace, in the order of `sums`."""

    state: np.ndarray
    near: np.ndarray
    worst: np.ndarray
    again: np.ndarray
    bound: np.ndarray
    hits: np.ndarray
    found: np.ndarray
    origins: np.ndarray
    words: np.ndarray
    before: np.ndarray
    above: np.ndarray
    owed: np.ndarray
    vertices: np.ndarray
    waiting: np.ndarray
    order: np.ndarray
    tally: np.ndarray


class Adjoint:
    """Sums over best paths from sources, accumulated by blocks of rows of D.

    The semiring's ⊕ selects and its ⊗ does not. `edges`: CSR (starts, heads, weights) without loops or parallel edges;
    `names` of vertices, and `where`, the operation, for errors. `of_vertices`, whether vertex sums are wanted, and
    `cut`, whether rows are truncated at a limit, so that arcs may leave the reached vertices, are set before rows are
    added.

    through, ending : float64 (n,), sums passing each vertex, and beginning or ending there; empty if not `of_vertices`
    along : float64, one entry per edge
    """

    def __init__(
        self, semiring: Semiring, dtype: np.dtype, edges: Edges, threads: int, names: Sequence[Any], where: str
    ) -> None:
        self.of_vertices, self.cut = True, False
        self.semiring, self.threads, self.names, self.where = semiring, threads, names, where
        self.kind, (starts, heads, weights) = choose(semiring, dtype, False), edges
        self.n, self._rows = len(starts) - 1, 0
        self._side = self.n if self.kind.vector and self.n <= TOGETHER else 0
        begins, by_head = arranged(np.ascontiguousarray(heads, np.int32), self.n)
        self.heads, self.weights = heads[by_head].astype(np.uint32), weights[by_head].astype(dtype, copy=False)
        self.tails = np.repeat(np.arange(self.n, dtype=np.uint32), np.diff(starts))[by_head]
        self._place = np.empty(len(heads), np.uint32)  # of each arc, in input order
        self._place[by_head] = np.arange(len(heads))
        self._starts, self._begins = (x.astype(np.uint64) for x in (starts, begins))
        each = 2 * LANES * self._side * dtype.itemsize + (68 + 4 * FAR) * self.n + 11 * len(heads)
        require(threads * each, where=where, hint="Let fewer threads do it: SEMIRING_NUM_THREADS=1.")
        self._open: Any = None  # sums of an incomplete chunk
        self._spare: list[Any] = []
        self._workspaces: dict[int, Space] = {}
        worse = bool(len(weights)) and (weights.min() < dtypes.one(semiring, dtype))
        self._slack = self.kind.record.eps**SLACK if rounds(self.kind) and not self._whole(semiring) else 0.0
        # Whether distances are integral and monotone along best walks.
        away = len(weights) and (weights.min() > 0 if semiring.add.selects == "least" else weights.max() < 0)
        self._away = semiring.lengths and not self._slack and bool(away)
        self._cancels = rounds(self.kind) and semiring.lengths and (worse or semiring.add.selects == "greatest")
        for worker in range(threads):  # allocated before rows take the memory
            self._workspace(worker)

    def loosen(self) -> None:
        """Take all arcs as tight that are no worse than their distances, of weights lowered by a tolerance."""
        self._slack, self._away = 0.0, False
        self._workspaces.clear()

    def _whole(self, semiring: Semiring) -> bool:
        """Whether path sums are integers that floats represent exactly."""
        w = self.weights
        most = float(np.abs(w).max(initial=0)) * self.n
        return semiring.lengths and most < 2.0 ** (np.finfo(w.dtype).nmant + 1) and bool((w == np.floor(w)).all())

    @cached_property
    def _total(self) -> tuple[np.ndarray, ...]:
        return self._sums()

    @property
    def through(self) -> np.ndarray:
        return self._total[0]

    @property
    def ending(self) -> np.ndarray:
        return self._total[1]

    @property
    def along(self) -> np.ndarray:
        along: np.ndarray = self._total[2][self._place]
        return along

    def add(self, D: np.ndarray, sources: np.ndarray, demand: np.ndarray, *, evenly: bool = False) -> None:
        """Add the sums of these rows of D, with demand[r, j], or demand[0, j] for all rows, at vertex j.

        The order of summation is fixed, however rows are spread over threads, and over calls of multiples of CHUNK
        rows. Raises DivergenceError if tight arcs form a cycle, so that best paths do not end, and DomainError if D is
        not the closure, or best paths are too many for float64.
        """
        if self._open is None:
            self._open = self._sums()
        ends = [*range(CHUNK - self._rows % CHUNK, len(D), CHUNK), len(D)] if len(D) else []
        pieces = list(zip([0, *ends], ends, strict=False))
        fresh = max(0, len(pieces) - 1 - len(self._spare))
        require(fresh * 8 * (2 * self.n + len(self.heads)), where=self.where, hint="Take fewer sources.")
        parts = [self._open, *(self._spare.pop() if self._spare else self._sums() for _ in pieces[1:])]
        *rows, _, cut = self._input(D, sources)
        self._code()  # compiled once, before threads start

        def piece(worker: int, number: int) -> None:
            arguments = *rows, self._floor(D[slice(*pieces[number])]), cut
            into = np.ascontiguousarray(demand), evenly, *parts[number], _NO_COUNTS
            self._call(worker, D, sources, (*arguments, *into), *pieces[number])

        run(piece, [(number,) for number in range(len(pieces))], self.threads)
        self._rows += len(D)
        for number, part in enumerate(parts):
            if number < len(parts) - 1 or self._rows % CHUNK == 0:
                self._join(part)
                self._spare.append(part)
        if len(D):
            self._open = parts[-1] if self._rows % CHUNK else self._spare.pop()

    def finish(self) -> None:
        """Add the last chunk's sums and release workspaces."""
        if self._open is not None:
            self._join(self._open)
        self._spare.clear()
        self._workspaces.clear()

    def counts(self, D: np.ndarray, sources: np.ndarray, out: np.ndarray) -> None:
        """out ← the number of best paths from each source to every vertex, int64; errors as in `add`."""
        arguments = *self._input(D, sources), *_NO_SUMS, out
        self._code()  # compiled once, before threads start
        step = -(-len(D) // (4 * self.threads))
        pieces = [(first, min(first + step, len(D))) for first in range(0, len(D), step)]
        run(lambda worker, *ends: self._call(worker, D, sources, arguments, *ends), pieces, self.threads)

    def tight(self, d: np.ndarray, source: int) -> tuple[np.ndarray, np.ndarray]:
        """Tails and heads of one source's tight arcs, in topological order of the heads; errors as in `add`."""
        D, sources, space = d[None], np.array([source]), self._workspace(0)
        out = np.empty((1, self.n), np.int64)
        if self._code()(*self._input(D, sources), *_NO_SUMS, out, *space, 0, 1) == 0:
            self._refuse(d, source, space)
        tails, arcs = self._arcs_into(space.order[: space.state[0] - 1], space)
        return tails, self.heads[arcs]

    def _arcs_into(self, vertices: np.ndarray, space: Space) -> tuple[np.ndarray, np.ndarray]:
        begin, end = (space.vertices[name][vertices].astype(np.int64) for name in ("begin", "end"))
        count = end - begin
        arcs = space.found[np.repeat(end - np.cumsum(count), count) + np.arange(count.sum())]
        return self.tails[arcs], arcs

    def _sums(self) -> tuple[np.ndarray, ...]:
        vertices = self.n if self.of_vertices else 0
        return np.zeros(vertices), np.zeros(vertices), np.zeros(len(self.heads))

    def _join(self, part: Any) -> None:
        for total, added in zip(self._total, part, strict=True):
            total += added
            added[:] = 0.0

    def _floor(self, D: np.ndarray) -> np.generic:
        """If lengths of both signs cancel, a small sum may carry the rounding error of the largest."""
        return np.dtype(self.kind.dtype).type(dtypes.largest_finite(D) if self._cancels else 0)

    def _input(self, D: np.ndarray, sources: np.ndarray) -> tuple[Any, ...]:
        slack = np.dtype(self.kind.dtype).type(self._slack)
        rows = np.ascontiguousarray(D), sources.astype(np.uint32)
        arcs = self._starts, self._place, self._begins, self.tails, self.heads, self.weights
        return *rows, *arcs, slack, self._floor(D), self.cut

    def _code(self) -> Any:
        return compiled(sums, self.kind, _SIGNATURE, vertex_of(self.kind.dtype))

    def _workspace(self, worker: int) -> Space:
        if worker not in self._workspaces:
            n, m, dtype = self.n, len(self.heads), self.weights.dtype
            words = m // WORD + 1
            near, worst = np.empty((2, self._side, LANES), dtype)
            again, bound = np.empty((2, n), dtype)
            waiting, order = np.empty((2, n + 1), np.uint32)
            self._workspaces[worker] = Space(
                np.zeros(2, np.int64), near, worst, again, bound, np.zeros(m + WORD, np.uint16),
                np.empty(m + AHEAD, np.uint32), np.empty(m, np.uint32), np.empty(words, np.uint64),
                np.empty(words, np.uint32), np.empty(n, np.uint32), np.empty(n), np.empty(n, vertex_of(dtype.name)),
                waiting, order, np.empty(FAR * n if self._away else 0, np.uint32),
            )  # fmt: skip
        return self._workspaces[worker]

    def _call(
        self,
        worker: int,
        D: np.ndarray,
        sources: np.ndarray,
        arguments: tuple[Any, ...],
        begin: int,
        end: int,
    ) -> None:
        call, space, counted = self._code(), self._workspace(worker), arguments[-1] is not _NO_COUNTS
        step = max(1, CALL // (len(self.heads) + 16 * self.n))
        for first in range(begin, end, step):
            row = call(*arguments, *space, first, min(first + step, end))
            if row < -1:
                source, target = (self.names[int(v)] for v in (sources[-2 - row], space.state[1]))
                limit = "2⁶³ − 1" if counted else "1.8e308, which float64 holds"
                raise DomainError(
                    f"{self.where}: the best paths from {source!r} to {target!r} must be at most {limit}, got more. "
                    "Take weights that tie less often, or leave the pair out."
                )
            if row >= 0:
                self._refuse(D[row], int(sources[row]), space)

    def _refuse(self, d: np.ndarray, source: int, space: Space) -> None:
        """Raise DivergenceError naming a cycle of tight arcs, or DomainError for an unattained distance."""
        reached = np.flatnonzero(d != dtypes.zero(self.semiring, d.dtype))
        tails, arcs = self._arcs_into(np.arange(self.n), space)
        heads = self.heads[arcs]
        if len(wrong := np.setxor1d(reached, np.append(heads, source))):
            raise DomainError(
                f"{self.where}: D must be the closure of the graph over {self.semiring.name}, got an entry from "
                f"{self.names[source]!r} to {self.names[int(wrong[0])]!r} that no edge attains."
            )
        before: dict[int, list[int]] = {}
        for k, j in zip(tails.tolist(), heads.tolist(), strict=True):
            before.setdefault(j, []).append(k)
        try:
            graphlib.TopologicalSorter(before).prepare()
        except graphlib.CycleError as error:
            found = error.args[1][1:]
            least = found.index(min(found))
            cycle = [self.names[v] for v in found[least:] + found[:least]]
        shown = " → ".join(map(repr, [*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]]))
        raise DivergenceError(
            f"{self.where}: best paths must be finite in number, got a cycle that costs nothing, {shown}. "
            "Make its vertices one, or let its edges cost something.",
            cycle[0],
            cycle,
        )
