"""Sums along best paths, source by source: Brandes' dependencies, shared among tied paths.

Over tight arcs (k, j), in the order of `tight_arcs`, path counts go forward and sums come back (Brandes 2001, "A faster
algorithm for betweenness centrality"):

    σ(j) = Σ σ(k)        δ(k) = σ(k) Σ (q(j) + δ(j)) / σ(j)        q(j) the demand at j.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ....algebra import dtypes
from ....algebra.ranges import steps
from ....algebra.records import Semiring
from ....host.errors import DivergenceError, DomainError
from ....host.memory import require
from ....host.types import Scalar
from ..code import compiled
from ..csr.backend import arranged
from ..instructions import Array
from ..intrinsics import kernel, zero
from ..kinds import Kind, choose
from ..pool import run
from .equality import SLACK, better, rounds
from .tight_arcs import AHEAD, LANES, WORD, flattened, left_by_none, settle, try_alone, try_together, vertex_of

#: Sources summed before joining the total: fixed, so that sums do not depend on the number of threads.
CHUNK = 64
#: Most vertices for joint tests: beyond, the records outgrow the caches.
TOGETHER = 1 << 16
#: Counting sort applies to integral distances below FAR · n.
FAR = 4
#: Steps per call, so that Ctrl-C is handled.
CALL = 1 << 26
#: No arc.
NONE = np.uint32(2**32 - 1)

_ONE = np.uint32(1)


@kernel
def planted(
    kind: Kind, d: Array, s: int, arcs: int, tails: Array, heads: Array, found: Array, above: Array, owed: Array,
    waiting: Array,
) -> bool:  # fmt: skip
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
    kind: Kind, d: Array, s: int, tails: Array, asked: Array, through: Array, ending: Array, along: Array, above: Array,
    owed: Array, waiting: Array, order: Array,
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
def hand_back(
    known: int, asked: Array, evenly: bool, through: Array, ending: Array, along: Array, state: Array, found: Array,
    origins: Array, V: Array, order: Array,
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
def count(known: int, counts: Array, state: Array, origins: Array, V: Array, order: Array) -> bool:
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
    kind: Kind, D: Array, sources: Array, starts: Array, leaving: Array, begins: Array, tails: Array, heads: Array,
    weights: Array, slack: Scalar, floor: Scalar, cut: bool, demand: Array, evenly: bool, through: Array, ending: Array,
    along: Array, C: Array, state: Array, near: Array, worst: Scalar, again: Array, bound: Array, hits: Array,
    found: Array, origins: Array, words: Array, before: Array, above: Array, owed: Array, V: Array, waiting: Array,
    order: Array, tally: Array, begin: int, end: int,
) -> int:  # fmt: skip
    """Add the sums of rows begin … end − 1 to vertices, ends and arcs; or count paths, if C has rows.

    `demand` has a row per source, or one for all. Arcs are by head; `leaving` lists them by tail, from starts[k] on.
    Returns a row without an order; −2 − row for one with too many best paths; else −1.
    """
    together = len(near) > 0
    for r in range(begin, end):
        lane = (r - begin) % LANES if together else np.intp(0)
        if not together:
            try_alone(kind, D[r], lane, tails, heads, weights, slack, floor, cut, bound, hits)
        elif lane == 0:
            rows = r, min(r + LANES, end)
            try_together(kind, D, *rows, begins, tails, weights, slack, floor, cut, near, worst, hits)
        d, s, reached, asked = D[r], sources[r], np.intp(0), demand[r if len(demand) > 1 else 0]
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
_SIGNATURE = "AuwuwuuaxxbFbfffLlAAaahuuwuuf0uuuii"
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
        return self._total[2][self._place]

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
        pieces = steps(len(D), step)
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
        self, worker: int, D: np.ndarray, sources: np.ndarray, arguments: tuple[Any, ...], begin: int, end: int
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
