"""What travels along best paths, source by source: Brandes' sums, which best paths share where several are as good.

An arc (k, j) is *tight* for a source s where D[s,k] ⊗ w(k,j) = D[s,j]; best paths from s are walks along tight arcs. In
a topological order of these (Kahn 1962), counts of best paths go forward and sums come back (Brandes 2001, "A faster
algorithm for betweenness centrality"):

    σ(j) = Σ σ(k)        δ(k) = σ(k) Σ (q(j) + δ(j)) / σ(j)        over tight arcs (k, j), q(j) being what j asks for.

Where ⊗ rounds, D need not be the sum along any path, so it only says which arcs may be tight, `SLACK` being the doubt.
What is compared are sums along arcs from the source on, x(j) = ⊕ x(k) ⊗ w(k,j): those of Dijkstra's algorithm, bit for
bit, and so are the ties. Where arcs that may be tight form a cycle, since they weigh less than the doubt, x is searched
for (Bellman 1958, Ford, Moore) and has no doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ... import dtypes
from ...algebra import Semiring
from ...errors import DivergenceError, DomainError
from ...memory import require
from ..intrinsics import kernel, one, times, zero
from ..kinds import choose
from ..pool import run
from ..vectors import I64, Vectors, multiply
from .code import compiled
from .equality import SLACK, better, emit_better, inexact, larger, limit, rounds

#: Sources whose sums are added up before they join those of others: the same for any number of threads.
CHUNK = 64
#: Sources for which arcs are tried together.
LANES = 16
#: Arcs a vertex below which they are tried for each source alone: most are then tight for one of LANES.
FEW = 24
#: A call takes at most about this many steps, so that Ctrl-C is handled.
CALL = 1 << 26
#: No arc.
NONE = np.uint32(2**32 - 1)
#: Another tight arc into a vertex: the arc, its tail, and the next one.
MORE = np.dtype([("arc", np.uint32), ("tail", np.uint32), ("next", np.uint32)])

_ONE, _FRESH = np.uint32(1), np.uint32(2**31)


@cache
def vertex_of(dtype: str) -> np.dtype:
    """What is known of a vertex j, for it is read together.

    `x` and `paths`: x(j) and σ(j). `owed`: what later vertices ask of it. `arc` and `tail`: the first of the tight arcs
    into it; `more`: others, in a list of MORE.
    """
    places = [("arc", np.uint32), ("tail", np.uint32), ("more", np.uint32)]
    return np.dtype([("x", dtype), ("paths", np.float64), ("owed", np.float64), *places], align=True)


@intrinsic
def _tight(typing: Any, kind: Any, near: Any, worst: Any, w: Any) -> Any:
    """A bit for each source for which near ⊗ w is a distance no worse than `worst`; LANES entries at addresses."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, near, worst, w = args
        if not kind.vector:
            return I64(0)
        v = Vectors(builder, kind, lanes=LANES)
        y, most = multiply(builder, kind.mul, v.load(near), v.splat(w), v.zero()), v.load(worst)
        differ = builder.fcmp_ordered if kind.dtype.startswith("float") else builder.icmp_signed
        tight = builder.and_(differ("!=", y, v.zero()), builder.not_(emit_better(builder, kind, most, y)))
        return builder.zext(builder.bitcast(tight, ir.IntType(LANES)), I64)

    return types.uint64(kind, types.intp, types.intp, kind.scalar), codegen


@intrinsic
def _lowest(typing: Any, bits: Any) -> Any:
    """The position of the lowest bit that is set."""
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))


@kernel
def list_alone(
    kind: Any, d: Any, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, bound: Any, first: Any, arcs: Any
) -> None:
    """arcs[first[k] : first[k + 1]] ← the arcs out of k that may be tight, for one source."""
    n, found = len(d), np.uint32(0)
    for j in range(n):
        bound[j] = limit(kind, d[j], larger(kind, d[j], floor), slack)
    for k in range(n):
        first[k] = found
        if d[k] == zero(kind):
            continue
        for e in range(starts[k], starts[k + 1]):
            y = times(kind, d[k], weights[e])
            arcs[found] = e
            # Without a branch, which could not be predicted.
            found += np.uint32((y != zero(kind)) & (not better(kind, bound[heads[e]], y)))
    first[n] = found


@kernel
def list_together(
    kind: Any, D: Any, begin: int, end: int, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, near: Any,
    worst: Any, bound: Any, first: Any, arcs: Any,
) -> None:  # fmt: skip
    """The same for rows begin … end, of which there are at most LANES; near[j] and worst[j] have an entry for each.

    Where there is room for the arcs of one row, it is that of `begin`.
    """
    n, rows = D.shape[1], end - begin
    if len(first) == 1:
        list_alone(kind, D[begin], starts, heads, weights, slack, floor, bound, first[0], arcs[0])
        return
    for j in range(n):
        for r in range(LANES):
            near[j, r] = D[begin + min(r, rows - 1), j]
    for j in range(n):
        for r in range(LANES):
            worst[j, r] = limit(kind, near[j, r], larger(kind, near[j, r], floor), slack)
    for r in range(LANES):
        first[r, 0] = 0
    here, limits, row = np.intp(near.ctypes.data), np.intp(worst.ctypes.data), LANES * near.itemsize
    for k in range(n):
        for r in range(LANES):
            first[r, k + 1] = first[r, k]
        for e in range(starts[k], starts[k + 1]):
            hit = _tight(kind, here + k * row, limits + np.intp(heads[e]) * row, weights[e])
            while hit != 0:
                r = _lowest(hit)
                hit &= hit - np.uint64(1)
                arcs[r, first[r, k + 1]] = e
                first[r, k + 1] += _ONE


@kernel
def tight_order(
    kind: Any, s: int, heads: Any, weights: Any, first: Any, arcs: Any, V: Any, waiting: Any, order: Any, more: Any
) -> Any:
    """order ← the vertices that s reaches, tails of tight arcs before heads; how many, before a cycle of such arcs.

    Arcs that may be tight are arcs[first[k] : first[k + 1]]; those with x(k) ⊗ w = x(j) are, and V has them by head.
    """
    for j in range(len(V)):
        waiting[j] = _FRESH
    for c in range(first[len(V)]):
        waiting[heads[arcs[c]]] += _ONE
    V[s].x, V[s].paths, V[s].owed = one(kind), 1.0, 0.0
    known = done = ties = np.uint32(0)
    if waiting[s] == _FRESH:
        order[0] = s
        known = _ONE
    while done < known:
        k = order[done]
        done += _ONE
        x, paths = V[k].x, V[k].paths
        for c in range(first[k], first[k + _ONE]):
            e = arcs[c]
            j = heads[e]
            y, left = times(kind, x, weights[e]), waiting[j] - _ONE
            if left >= _FRESH or better(kind, y, V[j].x):
                left &= _FRESH - _ONE
                V[j].x, V[j].paths, V[j].owed = y, paths, 0.0
                V[j].arc, V[j].tail, V[j].more = e, k, NONE
            elif y == V[j].x:
                V[j].paths += paths
                more[ties].arc, more[ties].tail, more[ties].next = e, k, V[j].more
                V[j].more = ties
                ties += _ONE
            waiting[j] = left
            if left == 0:
                order[known] = j
                known += _ONE
    return known


@kernel
def search(kind: Any, s: int, starts: Any, heads: Any, weights: Any, x: Any, queue: Any, waiting: Any) -> None:
    """x ← the best of the sums along walks from s, each added up from s on; n rounds at most."""
    n = len(x)
    for j in range(n):
        x[j], waiting[j] = zero(kind), 0
    x[s], queue[0], waiting[s] = one(kind), s, 1
    head, size = 0, 1
    for _ in range(n):
        for _ in range(size):
            k = queue[head]
            head = head + 1 if head + 1 < n else 0
            size -= 1
            waiting[k] = 0
            for e in range(starts[k], starts[k + _ONE]):
                j = heads[e]
                y = times(kind, x[k], weights[e])
                if better(kind, y, x[j]):
                    x[j] = y
                    if waiting[j] == 0:
                        waiting[j] = 1
                        tail = head + size
                        queue[tail if tail < n else tail - n] = j
                        size += 1
        if size == 0:
            break


@kernel
def settle(
    kind: Any, d: Any, s: int, starts: Any, heads: Any, weights: Any, again: Any, bound: Any, first: Any, arcs: Any,
    V: Any, waiting: Any, order: Any, more: Any,
) -> Any:  # fmt: skip
    """`tight_order` of all vertices that s reaches; −1 − how many are in it, where there is none of all."""
    n, reached = len(d), 0
    for j in range(n):
        reached += d[j] != zero(kind)
    known = np.intp(tight_order(kind, s, heads, weights, first, arcs, V, waiting, order, more))
    if known == reached:
        return known
    if inexact(kind):
        search(kind, s, starts, heads, weights, again, order, waiting)
        none = one(kind) - one(kind)
        list_alone(kind, again, starts, heads, weights, none, none, bound, first, arcs)
        known = np.intp(tight_order(kind, s, heads, weights, first, arcs, V, waiting, order, more))
        if known == reached:
            return known
    return -1 - known


@kernel
def hand_back(
    known: int, asked: Any, evenly: bool, through: Any, ending: Any, along: Any, state: Any, V: Any, order: Any,
    more: Any,
) -> bool:  # fmt: skip
    """Add what one source sends, asked[j] to vertex j; False if a float64 does not hold the paths to vertex state[2].

    Where shared `evenly`, a vertex that asks for nothing is served by all its tight arcs alike.
    """
    for i in range(known - 1, 0, -1):
        j = order[i]
        total, q = V[j].owed, asked[j]
        through[j] += total
        ending[j] += q
        total += q
        if V[j].more == NONE:
            along[V[j].arc] += total
            V[V[j].tail].owed += total
            continue
        alike, parts = evenly and q == 0.0, V[j].paths
        if parts == np.inf:
            state[2] = j
            return False
        m = V[j].more
        if alike:
            parts = 1.0
            while m != NONE:
                parts += 1.0
                m = more[m].next
            m = V[j].more
        e, k = V[j].arc, V[j].tail
        while True:
            share = total / parts * (1.0 if alike else V[k].paths)
            along[e] += share
            V[k].owed += share
            if m == NONE:
                break
            e, k, m = more[m].arc, more[m].tail, more[m].next
    ending[order[0]] += V[order[0]].owed
    return True


@kernel
def count(known: int, counts: Any, state: Any, V: Any, order: Any, more: Any) -> bool:
    """counts[j] ← the best paths of one source to j; False where an int64 does not hold those to vertex state[2]."""
    for j in range(len(counts)):
        counts[j] = 0
    counts[order[0]] = 1
    for i in range(1, known):
        j = order[i]
        counts[j] = counts[V[j].tail]
        m = V[j].more
        while m != NONE:
            counts[j] += counts[more[m].tail]
            if counts[j] < 0:
                state[2] = j
                return False
            m = more[m].next
    return True


@kernel
def sums(
    kind: Any, D: Any, sources: Any, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, demand: Any,
    evenly: bool, through: Any, ending: Any, along: Any, C: Any, state: Any, near: Any, worst: Any, again: Any,
    bound: Any, first: Any, arcs: Any, V: Any, waiting: Any, order: Any, more: Any, begin: int, end: int,
) -> int:  # fmt: skip
    """Add what rows begin … end send through vertices, to ends, and along arcs; or, where C has rows, count paths.

    `demand` has a row for each source, or one for all. Returns a row that has no order; −2 − row of one with too many
    best paths; else −1.
    """
    for r in range(begin, end):
        lane = (r - begin) % len(first)
        if lane == 0:
            list_together(
                kind, D, r, min(r + LANES, end), starts, heads, weights, slack, floor, near, worst, bound, first, arcs
            )
        known = settle(
            kind, D[r], sources[r], starts, heads, weights, again, bound, first[lane], arcs[lane], V, waiting, order,
            more,
        )  # fmt: skip
        state[0], state[1] = abs(known) - (known < 0), lane
        if known < 0:
            return r
        if len(C):
            held = count(known, C[r], state, V, order, more)
        else:
            asked = demand[r if len(demand) > 1 else 0]
            held = hand_back(known, asked, evenly, through, ending, along, state, V, order, more)
        if not held:
            return -2 - r
    return -1


#: What stands for the counts where sums are added, and for the sums where paths are counted.
_NO_COUNTS = np.empty((0, 0), np.int64)
_NO_SUMS = np.empty((1, 0)), False, np.empty(0), np.empty(0), np.empty(0)
_SIGNATURE = "AuwuaxxFtfffLlAAaaUU0uu1ii"
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]


class Adjoint:
    """Sums over the best paths from sources, added a block of rows of D at a time.

    Parameters
    ----------
    semiring : Semiring
        One whose ⊕ selects and whose ⊗ does not.
    dtype : dtype
        Of D and of the weights.
    edges : (starts, heads, weights)
        Those that leave k are at starts[k] … starts[k + 1]; no loops, and no two from one vertex to another.
    threads : int
    names : sequence
        Of the vertices, for errors.
    where : str
        The operation, for errors.

    Attributes
    ----------
    through, ending : float64 arrays, shape (n,)
        What passes each vertex, and what begins or ends there.
    along : float64 array, one entry an edge
    """

    def __init__(
        self, semiring: Semiring, dtype: np.dtype, edges: Edges, threads: int, names: Sequence[Any], where: str
    ) -> None:
        self.semiring, self.threads, self.names, self.where = semiring, threads, names, where
        self.kind, (starts, heads, weights) = choose(semiring, dtype, False), edges
        self.n, self._rows = len(starts) - 1, 0
        self._lanes = LANES if self.kind.vector and len(heads) >= FEW * self.n > 0 else 1
        self.starts, self.heads = starts.astype(np.uint64), heads.astype(np.uint32)
        self.weights = np.ascontiguousarray(weights, dtype)
        each = self._lanes * (4 * (self.n + len(heads)) + 2 * self.n * dtype.itemsize) + 64 * self.n + 20 * len(heads)
        require(threads * each, where=where, hint="Let fewer threads do it: SEMIRING_NUM_THREADS=1.")
        self._total = self._sums()
        self.through, self.ending, self.along = self._total
        self._open = self._sums()  # of sources that do not make a chunk yet
        self._spare: list[Any] = []
        self._workspaces: dict[int, Any] = {}
        worse = bool(len(weights)) and (weights.min() < dtypes.one(semiring, dtype))
        self._cancels = rounds(self.kind) and semiring.lengths and (worse or semiring.add.selects == "greatest")

    def add(self, D: np.ndarray, sources: np.ndarray, demand: np.ndarray, *, evenly: bool = False) -> None:
        """Add what these rows of D send: to vertex j demand[r, j] of row r, or demand[0, j] of each.

        The same sums in the same order, however rows are spread over calls and threads.

        Raises
        ------
        DivergenceError
            If tight arcs form a cycle, so that there is no end of best paths.
        DomainError
            If D is not the closure, or best paths are more than a float64 counts.
        """
        ends = [*range(CHUNK - self._rows % CHUNK, len(D), CHUNK), len(D)] if len(D) else []
        pieces = list(zip([0, *ends], ends, strict=False))
        parts = [self._open, *(self._spare.pop() if self._spare else self._sums() for _ in pieces[1:])]
        arguments = self._input(D, sources)
        self._code()  # compiled once, and not by each thread

        def piece(worker: int, number: int) -> None:
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
        """Add the sources of the last chunk, and let go of what was only needed for that."""
        self._join(self._open)
        self._spare.clear()
        self._workspaces.clear()

    def counts(self, D: np.ndarray, sources: np.ndarray, out: np.ndarray) -> None:
        """out ← the number of best paths from each source to every vertex, int64; errors as of `add`."""
        arguments = *self._input(D, sources), *_NO_SUMS, out
        self._code()  # compiled once, and not by each thread
        step = -(-len(D) // (4 * self.threads))
        pieces = [(first, min(first + step, len(D))) for first in range(0, len(D), step)]
        run(lambda worker, *ends: self._call(worker, D, sources, arguments, *ends), pieces, self.threads)

    def tight(self, d: np.ndarray, source: int) -> tuple[np.ndarray, np.ndarray]:
        """The tails and heads of all tight arcs for one source, by tail; errors as of `add`."""
        D, sources, space = d[None], np.array([source]), self._workspace(0)
        out = np.empty((1, self.n), np.int64)
        if self._code()(*self._input(D, sources), *_NO_SUMS, out, *space, 0, 1) == 0:
            self._refuse(d, source, space)
        known, (V, _, order, more) = space[0][0], space[7:]
        reached = V[order[1:known]]
        tails, arcs, left = [reached["tail"]], [reached["arc"]], reached["more"]
        while len(left := left[left != NONE]):
            tails.append(more["tail"][left])
            arcs.append(more["arc"][left])
            left = more["next"][left]
        return np.concatenate(tails), self.heads[np.concatenate(arcs)]

    def _sums(self) -> tuple[np.ndarray, ...]:
        return np.zeros(self.n), np.zeros(self.n), np.zeros(len(self.heads))

    def _join(self, part: Any) -> None:
        """The total, and the sums of a chunk, which begin again."""
        for total, added in zip(self._total, part, strict=True):
            total += added
            added[:] = 0.0

    def _input(self, D: np.ndarray, sources: np.ndarray) -> tuple[Any, ...]:
        scalar = np.dtype(self.kind.dtype).type
        slack = float(np.finfo(self.kind.dtype).eps) ** SLACK if rounds(self.kind) else 0
        # Where lengths of both signs cancel, a small sum may have been rounded as large ones are.
        floor = dtypes.largest_finite(D) if self._cancels else 0
        rows = np.ascontiguousarray(D), sources.astype(np.uint32)
        return *rows, self.starts, self.heads, self.weights, scalar(slack), scalar(floor)

    def _code(self) -> Any:
        return compiled(sums, self.kind, _SIGNATURE, vertex_of(self.kind.dtype), MORE)

    def _workspace(self, worker: int) -> Any:
        if worker not in self._workspaces:
            n, m, dtype = self.n, len(self.heads), self.weights.dtype
            side = n if self._lanes > 1 else 0
            panels = np.empty((side, LANES), dtype), np.empty((side, LANES), dtype), *np.empty((2, n), dtype)
            lists = np.empty((self._lanes, n + 1), np.uint32), np.empty((self._lanes, m + 1), np.uint32)
            vertices = np.empty(n, vertex_of(dtype.name)), *np.empty((2, n), np.uint32), np.empty(m, MORE)
            self._workspaces[worker] = np.zeros(3, np.int64), *panels, *lists, *vertices
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
        """A kernel on these rows, some at a time; its errors."""
        call, space, counted = self._code(), self._workspace(worker), arguments[-1] is not _NO_COUNTS
        step = max(1, CALL // (len(self.heads) + 16 * self.n))
        for first in range(begin, end, step):
            row = call(*arguments, *space, first, min(first + step, end))
            if row < -1:
                source, target = (self.names[int(v)] for v in (sources[-2 - row], space[0][2]))
                limit = "2⁶³ − 1" if counted else "1.8e308, which float64 holds"
                raise DomainError(
                    f"{self.where}: the best paths from {source!r} to {target!r} must be at most {limit}, got more. "
                    "Take weights that tie less often, or leave the pair out."
                )
            if row >= 0:
                self._refuse(D[row], int(sources[row]), space)

    def _refuse(self, d: np.ndarray, source: int, space: Any) -> None:
        """Name a cycle of tight arcs, or a vertex whose distance none attains.

        Raises
        ------
        DivergenceError, DomainError
        """
        known, lane, _ = space[0]
        first, arcs, order = space[5][lane], space[6][lane], space[9]
        left = d != dtypes.zero(self.semiring, d.dtype)
        left[order[:known]] = False
        before: dict[int, int] = {}
        for k in np.flatnonzero(left).tolist():
            before.update((int(j), k) for j in self.heads[arcs[int(first[k]) : int(first[k + 1])]] if left[j])
        if len(before) < np.count_nonzero(left):
            v = next(int(v) for v in np.flatnonzero(left) if int(v) not in before)
            raise DomainError(
                f"{self.where}: D must be the closure of the graph over {self.semiring.name}, got an entry from "
                f"{self.names[source]!r} to {self.names[v]!r} that no edge attains."
            )
        seen, v = [], next(iter(before))
        while v not in seen:
            seen.append(v)
            v = before[v]
        cycle = [self.names[v] for v in reversed(seen[seen.index(v) :])]
        shown = " → ".join(map(repr, [*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]]))
        raise DivergenceError(
            f"{self.where}: best paths must be finite in number, got a cycle that costs nothing, {shown}. "
            "Make its vertices one, or let its edges cost something.",
            cycle[0],
            cycle,
        )
