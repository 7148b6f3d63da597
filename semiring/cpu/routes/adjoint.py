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
from typing import Any

import numpy as np

from ... import dtypes
from ...algebra import Semiring
from ...errors import DivergenceError, DomainError
from ..intrinsics import kernel, one, times, zero
from ..kinds import choose
from ..pool import run
from .code import compiled
from .equality import better, inexact, larger, limit, rounds

#: Sources whose sums are added up before they join those of others: the same for any number of threads.
CHUNK = 64
#: A call takes at most about this many steps, so that Ctrl-C is handled.
CALL = 1 << 26
#: How much an entry of D may be off, as a power of the rounding error of one operation: relative to the entry, 2e-12 in
#: float64 and 6e-6 in float32.
SLACK = 0.75


@kernel
def tight_order(
    kind: Any, d: Any, s: int, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, worst: Any, x: Any,
    waiting: Any, order: Any, first: Any, arcs: Any, paths: Any,
) -> int:  # fmt: skip
    """order ← the vertices that s reaches, tails of tight arcs before heads; how many before a cycle of them.

    arcs[first[k] : first[k + 1]] are the arcs out of k that may be tight: those with x(k) ⊗ w = x(j) are. paths[j] is
    σ(j); waiting[j] the arcs into j from vertices that are not in the order.
    """
    n = len(d)
    for j in range(n):
        worst[j] = limit(kind, d[j], larger(kind, d[j], floor), slack)
        waiting[j], x[j], paths[j] = 0, zero(kind), 0.0
    found = np.uint64(0)
    for k in range(n):
        first[k] = found
        if d[k] == zero(kind):
            continue
        for e in range(starts[k], starts[k + 1]):
            y = times(kind, d[k], weights[e])
            arcs[found] = e
            # Without a branch, which could not be predicted.
            found += np.uint64((y != zero(kind)) & (not better(kind, worst[heads[e]], y)))
    first[n] = found
    for c in range(found):
        waiting[heads[arcs[c]]] += np.uint32(1)
    x[s], paths[s] = one(kind), 1.0
    known = done = 0
    if waiting[s] == 0:
        order[0] = s
        known = 1
    while done < known:
        k = order[done]
        done += 1
        for c in range(first[k], first[k + np.uint32(1)]):
            e = arcs[c]
            j = heads[e]
            if inexact(kind):
                y = times(kind, x[k], weights[e])
                if better(kind, y, x[j]):
                    x[j], paths[j] = y, paths[k]
                elif y == x[j]:
                    paths[j] += paths[k]
            else:
                paths[j] += paths[k]
            waiting[j] -= np.uint32(1)
            if waiting[j] == 0:
                order[known] = j
                known += 1
    return known


@kernel
def search(kind: Any, s: int, starts: Any, heads: Any, weights: Any, x: Any, queue: Any, queued: Any) -> None:
    """x ← the best of the sums along walks from s, each added up from s on; n rounds at most."""
    n = len(x)
    for j in range(n):
        x[j], queued[j] = zero(kind), 0
    x[s], queue[0], queued[s] = one(kind), s, 1
    head, size = 0, 1
    for _ in range(n):
        for _ in range(size):
            k = queue[head]
            head = head + 1 if head + 1 < n else 0
            size -= 1
            queued[k] = 0
            for e in range(starts[k], starts[k + np.uint32(1)]):
                j = heads[e]
                y = times(kind, x[k], weights[e])
                if better(kind, y, x[j]):
                    x[j] = y
                    if queued[j] == 0:
                        queued[j] = 1
                        tail = head + size
                        queue[tail if tail < n else tail - n] = j
                        size += 1
        if size == 0:
            break


@kernel
def settle(
    kind: Any, d: Any, s: int, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, again: Any, worst: Any,
    x: Any, waiting: Any, order: Any, first: Any, arcs: Any, paths: Any,
) -> int:  # fmt: skip
    """The order of what s reaches, and its tight arcs alone; −1 − how many are in it, where none has all vertices."""
    n, reached = len(d), 0
    for j in range(n):
        reached += d[j] != zero(kind)
    known = tight_order(
        kind, d, s, starts, heads, weights, slack, floor, worst, x, waiting, order, first, arcs, paths
    )  # fmt: skip
    if not inexact(kind):
        return known if known == reached else -1 - known
    if known != reached:
        search(kind, s, starts, heads, weights, again, order, waiting)
        none = slack - slack
        known = tight_order(
            kind, again, s, starts, heads, weights, none, none, worst, x, waiting, order, first, arcs, paths
        )  # fmt: skip
        if known != reached:
            return -1 - known
    found = begin = np.uint64(0)
    for k in range(n):
        end = first[k + 1]
        for c in range(begin, end):
            e = arcs[c]
            arcs[found] = e
            found += np.uint64(times(kind, x[k], weights[e]) == x[heads[e]])
        begin, first[k + 1] = end, found
    return known


@kernel
def sums(
    kind: Any, D: Any, sources: Any, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, demand: Any,
    evenly: bool, through: Any, ending: Any, along: Any, owed: Any, state: Any, again: Any, worst: Any, x: Any,
    waiting: Any, order: Any, first: Any, arcs: Any, paths: Any, begin: int, end: int,
) -> int:  # fmt: skip
    """Add what rows begin … end send through vertices, to their ends, and along arcs; a row that has no order, or −1.

    `demand` has a row for each source, or one for all. −2 − row is one with more best paths than a float64 counts, to
    vertex state[0]. Where shared `evenly`, a vertex that asks for nothing is served by all its tight arcs alike.
    """
    for r in range(begin, end):
        s = sources[r]
        known = settle(
            kind, D[r], s, starts, heads, weights, slack, floor, again, worst, x, waiting, order, first, arcs, paths
        )  # fmt: skip
        if known < 0:
            state[0] = -1 - known
            return r
        asked = demand[r if len(demand) > 1 else 0]
        if evenly:
            for c in range(first[len(order)]):
                waiting[heads[arcs[c]]] += np.uint32(1)
        for i in range(known - 1, 0, -1):
            k = order[i]
            total = 0.0
            for c in range(first[k], first[k + np.uint32(1)]):
                e = arcs[c]
                j = heads[e]
                share = owed[j] if evenly and asked[j] == 0.0 else paths[k] * owed[j]
                along[e] += share
                total += share
            through[k] += total
            ending[k] += asked[k]
            owed[k] = (asked[k] + total) / (waiting[k] if evenly and asked[k] == 0.0 else paths[k])
            if paths[k] == np.inf:
                state[0] = k
                return -2 - r
        for c in range(first[s], first[s + np.uint32(1)]):
            share = owed[heads[arcs[c]]]
            along[arcs[c]] += share
            ending[s] += share
    return -1


@kernel
def counts(
    kind: Any, D: Any, sources: Any, starts: Any, heads: Any, weights: Any, slack: Any, floor: Any, C: Any, state: Any,
    again: Any, worst: Any, x: Any, waiting: Any, order: Any, first: Any, arcs: Any, paths: Any, begin: int, end: int,
) -> int:  # fmt: skip
    """C[r,j] ← the best paths from sources[r] to j, for rows begin … end; a row that has no order, or −1.

    −2 − row is one where an int64 does not hold those to vertex state[0].
    """
    for r in range(begin, end):
        known = settle(
            kind, D[r], sources[r], starts, heads, weights, slack, floor, again, worst, x, waiting, order, first, arcs,
            paths,
        )  # fmt: skip
        if known < 0:
            state[0] = -1 - known
            return r
        count = C[r]
        for j in range(len(count)):
            count[j] = 0
        count[sources[r]] = 1
        for i in range(known):
            k = order[i]
            for c in range(first[k], first[k + np.uint32(1)]):
                j = heads[arcs[c]]
                count[j] += count[k]
                if count[j] < 0:
                    state[0] = j
                    return -2 - r
    return -1


_INPUT, _WORKSPACE = "Auwuaxx", "laaauuwwf"
_SIGNATURES = {
    sums: f"{_INPUT}Ftffff{_WORKSPACE}ii",
    counts: f"{_INPUT}L{_WORKSPACE}ii",
}
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
        self.starts, self.heads = starts.astype(np.uint64), heads.astype(np.uint32)
        self.weights = np.ascontiguousarray(weights, dtype)
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

        def piece(worker: int, number: int) -> None:
            last = evenly, *parts[number], np.empty(self.n)
            self._call(sums, worker, D, sources, (*arguments, np.ascontiguousarray(demand), *last), *pieces[number])

        run(piece, [(number,) for number in range(len(pieces))], self.threads)
        self._rows += len(D)
        for number, part in enumerate(parts):
            if number < len(parts) - 1 or self._rows % CHUNK == 0:
                self._join(part)
                self._spare.append(part)
        if len(D):
            self._open = parts[-1] if self._rows % CHUNK else self._spare.pop()

    def finish(self) -> None:
        """Add the sources of the last chunk."""
        self._join(self._open)

    def counts(self, D: np.ndarray, sources: np.ndarray, out: np.ndarray) -> None:
        """out ← the number of best paths from each source to every vertex, int64; errors as of `add`."""
        arguments = *self._input(D, sources), out
        step = -(-len(D) // (4 * self.threads))
        pieces = [(first, min(first + step, len(D))) for first in range(0, len(D), step)]
        run(lambda worker, *ends: self._call(counts, worker, D, sources, arguments, *ends), pieces, self.threads)

    def tight(self, d: np.ndarray, source: int) -> tuple[np.ndarray, np.ndarray]:
        """The tails and heads of all tight arcs for one source, by tail; errors as of `add`."""
        D, sources, space = d[None], np.array([source]), self._workspace(0)
        call, out = compiled(counts, self.kind, _SIGNATURES[counts]), np.empty((1, self.n), np.int64)
        if call(*self._input(D, sources), out, *space, 0, 1) == 0:
            self._refuse(d, source, space)
        first, arcs = space[6:8]
        return np.repeat(np.arange(self.n), np.diff(first.astype(np.int64))), self.heads[arcs[: int(first[-1])]]

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

    def _workspace(self, worker: int) -> Any:
        if worker not in self._workspaces:
            n, dtype = self.n, self.weights.dtype
            short, long = (
                np.empty((2, n), np.uint32),
                (np.empty(n + 1, np.uint64), np.empty(len(self.heads), np.uint64)),
            )
            self._workspaces[worker] = np.zeros(1, np.int64), *np.empty((3, n), dtype), *short, *long, np.empty(n)
        return self._workspaces[worker]

    def _call(
        self,
        part: Any,
        worker: int,
        D: np.ndarray,
        sources: np.ndarray,
        arguments: tuple[Any, ...],
        begin: int,
        end: int,
    ) -> None:
        """A kernel on these rows, some at a time; its errors."""
        call, space = compiled(part, self.kind, _SIGNATURES[part]), self._workspace(worker)
        step = max(1, CALL // (len(self.heads) + 16 * self.n))
        for first in range(begin, end, step):
            row = call(*arguments, *space, first, min(first + step, end))
            if row < -1:
                source, target = (self.names[int(v)] for v in (sources[-2 - row], space[0][0]))
                limit = "2⁶³ − 1" if part is counts else "1.8e308, which float64 holds"
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
        (known,), (order, first, arcs) = space[0], space[5:8]
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
