"""Predecessors from a matrix and its closure, on the CPU; closures carry none.

An edge (k, j) is *tight* if A[k,j] = D[k,j]; every best path has the weight of some path of tight edges alone (McGeoch
1995, "All-pairs shortest paths and the essential subgraph"). For i ≠ j with a path between them,

    P[i,j] = i             if (i, j) is tight, else
             the least k   of a tight edge (k, j) with D[i,k] ⊗ A[k,j] = D[i,j] and D[i,k] better than D[i,j], else
             the least k   settled on the level before, breadth first: (k, j) tight, D[i,k] ⊗ A[k,j] = D[i,j].

Back along a path D gets better or the level falls, so that no cycle closes. If an edge beats `one`, as negative ones
do, line two is skipped. If ⊗ rounds, equality is within a few eps; a source left with open pairs restarts, breadth
first from its own edges. See docs/routes.md.

`nearest.py` has the first two lines, target by target; `plateaus.py` all three, source by source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ....algebra import dtypes
from ....algebra.ranges import steps
from ....algebra.records import Semiring
from ....algebra.selection import refuse, require_selection
from ....host.memory import require
from ....host.types import Edges as CSR
from ..code import compiled, machine_code
from ..instructions import Array
from ..intrinsics import kernel, one, plus, times, zero
from ..kinds import Kind, choose, raw, semiring_of
from ..pool import calls, run
from ..sparse import movers
from .equality import better, rounds
from .nearest import GROUP, LANES, OPEN, best, nearest
from .plateaus import begin, count_into, count_tight, levels, list_into, list_tight, near

#: Steps per call, so that Ctrl-C is handled.
CALL = 1 << 28
#: Vertices below which a second thread does not pay.
ALONE = 192
#: Tolerance of a sum, in eps.
ALLOWED = 4.0
#: Columns of a matrix looked at together: a line of a cache, or two.
TOGETHER = 16


@kernel
def product(
    kind: Kind, D: Array, sources: Array, B: Array, ends: Array, tails: Array, entering: Array, first: int, last: int
) -> None:
    """B[r,·] ← (I ⊕ D ⊗ A)[r,·] for rows first … last − 1."""
    for r in range(first, last):
        d, b = D[r], B[r]
        for j in range(len(d)):
            s = one(kind) if j == sources[r] else zero(kind)
            for e in range(ends[j], ends[j + 1]):
                s = plus(kind, s, times(kind, d[tails[e]], entering[e]))
            b[j] = s


@kernel
def weight(kind: Kind, ends: Array, tails: Array, entering: Array, k: int, j: int) -> Any:
    """Weight of the edge (k, j), the best of parallel ones; 0 without one."""
    low, high = ends[j], ends[j + 1]
    while low < high:
        middle = (low + high) // 2
        if tails[middle] < k:
            low = middle + 1
        else:
            high = middle
    w = zero(kind)
    while low < ends[j + 1] and tails[low] == k:
        w = entering[low] if better(kind, entering[low], w) else w
        low += 1
    return w


@kernel
def attain(
    kind: Kind, P: Array, sources: Array, L: Array, A: Array, dense: bool, ends: Array, tails: Array, entering: Array,
    climbed: Array, known: Array, first: int, last: int,
) -> int:  # fmt: skip
    """L[r,j] ← product of the edges from sources[r] to j along P, 0 without a path; −1, or a row that is no tree.

    If a step of P is no edge, L is 0 from there on, as 0 absorbs.
    """
    n = P.shape[1]
    for left in range(0, n, TOGETHER):  # L ← last edges, of all rows while those of a matrix are in a cache
        for r in range(first, last):
            for j in range(left, min(left + TOGETHER, n)):
                k = np.uint32(P[r, j])
                L[r, j] = A[k, j] if dense and k < n else zero(kind)
    for r in range(first, last):
        p, length = P[r], L[r]
        for j in range(n):
            known[j] = p[j] < 0
        known[sources[r]], length[sources[r]] = True, one(kind)
        for j in range(n):
            v, steps = np.uint32(j), 0
            while not known[v]:
                if steps == n or p[v] >= n:
                    return r
                climbed[steps] = v
                steps += 1
                v = np.uint32(p[v])
            value = length[v]
            for s in range(steps - 1, -1, -1):
                u = np.uint32(climbed[s])
                value = times(kind, value, length[u] if dense else weight(kind, ends, tails, entering, v, u))
                length[u], known[u], v = value, True, u
    return -1


#: Argument letters of kernels: see `code.compiled`.
_SIGNATURES = {
    best: "Aaii",
    nearest: "AAaSbbxxASsaaii",
    count_tight: "AAxxlii",
    list_tight: "AAxxlsasii",
    list_into: "lsalsaii",
    begin: "ASslsaxxsii",
    near: "ASlsabxsii",
    levels: "ASlsalsabbxxsoosssii",
    product: "AsAlsaii",
    attain: "SsAAblsasoii",
}


def _code(part: Any, kind: Kind) -> Callable[..., Any]:
    """Machine code; what only moves entries is compiled for integers of the same size."""
    return compiled(part, raw(kind.itemsize) if part is list_into else kind, _SIGNATURES[part])


def _bits(entries: np.ndarray) -> np.ndarray:
    return entries.view(f"i{entries.itemsize}")


class Edges(NamedTuple):
    """Edges by tail and by head, ascending."""

    starts: np.ndarray
    heads: np.ndarray
    leaving: np.ndarray
    ends: np.ndarray
    tails: np.ndarray
    entering: np.ndarray

    @classmethod
    def of(cls, kind: Kind, starts: np.ndarray, heads: np.ndarray, leaving: np.ndarray) -> Edges:
        """From CSR: heads[starts[k] : starts[k + 1]] are the heads of k's edges."""
        n, edges = len(starts) - 1, len(heads)
        tails, entering, ends = np.empty(edges, np.int32), np.empty_like(leaving), np.zeros(n + 1, np.int64)
        count_into(heads, ends)
        np.cumsum(ends, out=ends)
        arguments = starts, heads, _bits(leaving), ends[:-1].copy(), tails, _bits(entering)
        rows = max(1, (CALL >> 3) * n // max(1, n + edges))
        for first in range(0, n, rows):
            _code(list_into, kind)(*arguments, first, min(first + rows, n))
        return cls(starts, heads, leaving, ends, tails, entering)


class Routes:
    """Predecessors of rows of a closure.

    D, P : (m, n), contiguous; P int32 is written. sources : int32 (m,), of the rows. improving : whether an edge beats
    `one`. mirrored : whether ⊗ swaps its operands.
    """

    def __init__(
        self, kind: Kind, D: np.ndarray, P: np.ndarray, sources: np.ndarray, improving: bool, mirrored: bool,
        threads: int,
    ) -> None:  # fmt: skip
        self.kind, self.D, self.P, self.sources = kind, D, P, sources
        self.improving, self.mirrored = improving, mirrored
        self.n, self.threads = D.shape[1], threads if D.size >= ALONE**2 else 1
        self.scalar = np.dtype(kind.dtype).type
        self.eps = kind.record.eps if rounds(kind) else 0.0
        # Lengths of both signs cancel, so that a small sum may carry the rounding error of large ones.
        cancels = improving and rounds(kind) and semiring_of(kind).lengths
        self.floor = dtypes.largest_finite(D) if cancels else 0.0
        self.equal = self._equal(ALLOWED, self.floor)

    def of_matrix(self, A: np.ndarray) -> tuple[int, int] | None:
        """P ← predecessors, given D the whole closure of A; or a pair whose D no edge attains."""
        if not self._nearest(A):
            return None
        rows = np.flatnonzero((self.P == OPEN).any(axis=1)).astype(np.int32)
        return self._settle(rows, lambda equal: self._listed(A, equal), begun=True)

    def of_edges(self, edges: Edges) -> tuple[int, int] | None:
        """P ← predecessors from all edges of the graph; or a pair whose D no edge attains."""
        return self._settle(np.arange(len(self.D), dtype=np.int32), lambda equal: edges, begun=False)

    def _settle(self, rows: np.ndarray, listed: Callable[[Any], Edges], begun: bool) -> tuple[int, int] | None:
        """The rule for these rows; if `begun`, line three only, and the whole rule where that fails."""
        equal, edges = self.equal, listed(self.equal)
        if not begun:
            self._begin(edges, equal, rows)
            if not self.improving:
                cost = edges.heads.size + self.n
                self._share(near, len(rows), cost, self.D, self.P, *edges[3:], self.mirrored, equal[0], rows)
        rows = self._levels(edges, equal, rows, self.improving)
        for equal in self._wider():
            if not len(rows):
                return None
            edges = listed(equal)
            self._begin(edges, equal, rows)
            rows = self._levels(edges, equal, rows, True)
        if not len(rows):
            return None
        row = int(rows[0])
        return int(self.sources[row]), int((self.P[row] == OPEN).argmax())

    def _equal(self, allowed: float, floor: float) -> tuple[Any, Any]:
        """(slack, floor) for a tolerance of `allowed` eps relative to the larger operand, or to `floor`."""
        return self.scalar(allowed * self.eps), self.scalar(floor)

    def _wider(self) -> Iterator[tuple[Any, Any]]:
        if rounds(self.kind):
            largest = dtypes.largest_finite(self.D)
            if not self.improving:
                yield self.equal
            for allowed, floor in ((16, self.floor), (256, self.floor), (4, largest), (64, largest), (self.n, largest)):
                yield self._equal(ALLOWED * allowed, floor)

    def _share(
        self, part: Any, total: int, each: int, *arguments: Any, unit: int = 1, workspace: Callable[[], Any] = tuple
    ) -> None:
        """Run a kernel or a function on ranges of `total` items of `each` steps."""
        call = _code(part, self.kind) if part in _SIGNATURES else part
        parts = calls(total, each, self.threads, unit)
        run(lambda _, first, last: call(*arguments, *workspace(), first, last), parts, self.threads)

    def _nearest(self, A: np.ndarray) -> bool:
        """Lines one and two of the rule; whether pairs are left open."""
        n, call, entry, row = self.n, _code(nearest, self.kind), self.D.itemsize, self.D.strides[0]
        T, top, left = np.empty_like(self.D), np.empty(n, self.D.dtype), [0] * n
        turn, D = machine_code(movers.transpose, raw(entry), "iiiiii").call, self.D.ctypes.data

        def turned(first: int, last: int) -> None:
            turn(raw(entry), n, last - first, D + first * entry, row, T.ctypes.data + first * row, row)

        self._share(turned, n, n, unit=GROUP)
        if not self.improving:
            self._share(best, n, n, T, top, unit=LANES)
        arguments = A, T, top, self.P, not self.improving, self.mirrored, *self.equal

        def chunk(first: int, last: int) -> None:
            rows, goals = np.empty((GROUP, n), A.dtype), np.empty((2, LANES), A.dtype)
            before, heads = np.empty((GROUP, n), np.int32), np.empty(n, np.int32)
            left[first] = call(*arguments, rows, before, heads, *goals, first, last)

        self._share(chunk, n, n * n, unit=GROUP)
        return any(left)

    def _listed(self, A: np.ndarray, equal: tuple[Any, Any]) -> Edges:
        n, D = self.n, self.D
        starts = np.zeros(n + 1, np.int64)
        self._share(count_tight, n, n, A, D, *equal, starts)
        np.cumsum(starts, out=starts)
        edges = int(starts[-1])
        require(2 * edges * (4 + D.itemsize), where="predecessors", hint="Use a smaller dtype.")
        heads, leaving = np.empty(edges, np.int32), np.empty(edges, D.dtype)
        listed = A, D, *equal, starts, heads, leaving
        self._share(list_tight, n, n, *listed, workspace=lambda: (np.empty(n, np.int32),))
        return Edges.of(self.kind, starts, heads, leaving)

    def _begin(self, edges: Edges, equal: tuple[Any, Any], rows: np.ndarray) -> None:
        self._share(begin, len(rows), self.n, self.D, self.P, self.sources, *edges[:3], *equal, rows)

    def _levels(self, edges: Edges, equal: tuple[Any, Any], rows: np.ndarray, improving: bool) -> np.ndarray:
        """Line three of the rule; returns the rows with open pairs."""
        n, failed = self.n, np.zeros(len(self.D), np.bool_)
        arguments = self.D, self.P, *edges, improving, self.mirrored, *equal, rows, failed

        def workspace() -> Any:
            return np.empty(n, np.bool_), *np.empty((3, n), np.int32)

        self._share(levels, len(rows), edges.heads.size + n, *arguments, workspace=workspace)
        return np.flatnonzero(failed).astype(np.int32)


def beats_one(semiring: Semiring, weights: np.ndarray) -> bool:
    """Whether an edge is better than `one`, so that D may improve along a path."""
    if not weights.size or dtypes.SCALARS[weights.dtype].boolean:
        return False
    one = dtypes.one(semiring, weights.dtype)
    return bool(weights.min() < one if semiring.add.selects == "least" else weights.max() > one)


def predecessors(semiring: Semiring, P: np.ndarray, A: np.ndarray, D: np.ndarray, mirrored: bool, threads: int) -> None:
    require_selection(semiring, where="predecessors")
    refuse(of_matrix(semiring, A, D, P, threads=threads, mirrored=mirrored), semiring)


def of_matrix(
    semiring: Semiring, A: np.ndarray, D: np.ndarray, P: np.ndarray, *, threads: int, mirrored: bool = False
) -> tuple[int, int] | None:
    """P ← the predecessors of D, the closure of A: shape (…, n, n), A and D of one dtype, P int32.

    Returns a pair whose D no edge attains, or None; with a pair, D is not the closure of A, and P is incomplete.
    `mirrored` is for transposed matrices of a semiring whose ⊗ need not commute.
    """
    if not D.size:
        return None
    kind, sources = choose(semiring, D.dtype, False), np.arange(D.shape[-1], dtype=np.int32)

    def one(a: np.ndarray, d: np.ndarray, p: np.ndarray, threads: int) -> tuple[int, int] | None:
        a, d = np.ascontiguousarray(a), np.ascontiguousarray(d)
        buffer = p if p.flags.c_contiguous else np.empty(p.shape, np.int32)
        wrong = Routes(kind, d, buffer, sources, beats_one(semiring, a), mirrored, threads).of_matrix(a)
        if buffer is not p:
            p[...] = buffer
        return wrong

    if D.ndim == 2:
        return one(A, D, P, threads)
    wrong: list[tuple[int, int]] = []

    def batch(_: int, first: int, last: int) -> None:
        alone = threads if D.shape[-1] >= ALONE else 1
        wrong.extend(pair for k in range(first, last) if (pair := one(A[k], D[k], P[k], alone)))

    if D.shape[-1] >= ALONE:
        batch(0, 0, len(D))
    else:
        size = max(1, -(-len(D) // (8 * threads)))
        run(batch, steps(len(D), size), threads)
    return min(wrong, default=None)


def of_rows(
    semiring: Semiring, edges: CSR, D: np.ndarray, sources: np.ndarray, P: np.ndarray, *, threads: int,
    mirrored: bool = False,
) -> tuple[int, int] | None:  # fmt: skip
    """P ← the predecessors of rows of a closure, from CSR edges (starts, heads, weights)."""
    if not D.size:
        return None
    kind = choose(semiring, D.dtype, False)
    D, sources, improving = np.ascontiguousarray(D), sources.astype(np.int32), beats_one(semiring, edges[2])
    return Routes(kind, D, P, sources, improving, mirrored, threads).of_edges(_both_ways(kind, edges))


def product_of_rows(semiring: Semiring, edges: CSR, D: np.ndarray, sources: np.ndarray, threads: int) -> np.ndarray:
    """Rows of I ⊕ D ⊗ A from rows of D and the CSR edges of A."""
    kind, B = choose(semiring, D.dtype, False), np.empty(D.shape, D.dtype)
    if D.size:
        listed, call = _both_ways(kind, edges), _code(product, kind)
        arguments = np.ascontiguousarray(D), sources.astype(np.int32), B, *listed[3:]
        run(lambda _, first, last: call(*arguments, first, last), _rows(D, listed.heads.size // len(D.T)), threads)
    return B


def lengths(
    semiring: Semiring, P: np.ndarray, sources: np.ndarray, A: np.ndarray | None, edges: CSR | None, dtype: np.dtype,
    threads: int,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Products of edges along P, of a matrix or of CSR edges; and a row of P that is no tree, or −1."""
    kind, L = choose(semiring, dtype, False), np.empty(P.shape, dtype)
    if not P.size:
        return L, -1
    dense, call, wrong = A is not None, _code(attain, kind), [-1] * len(P)
    matrix = np.ascontiguousarray(A) if A is not None else np.empty((0, 0), dtype)
    if edges is None:
        edges = np.zeros(P.shape[1] + 1, np.int64), np.empty(0, np.int32), np.empty(0, dtype)
    arguments = np.ascontiguousarray(P), sources.astype(np.int32), L, matrix, dense, *_both_ways(kind, edges)[3:]

    def chunk(_: int, first: int, last: int) -> None:
        n = P.shape[1]
        wrong[first] = call(*arguments, np.empty(n, np.int32), np.empty(n, np.bool_), first, last)

    run(chunk, _rows(P, 8), threads)
    return L, max(wrong)


def _both_ways(kind: Kind, edges: CSR) -> Edges:
    starts, heads, weights = edges
    return Edges.of(
        kind, starts.astype(np.int64, copy=False), heads.astype(np.int32, copy=False), np.ascontiguousarray(weights)
    )


def _rows(D: np.ndarray, each: int) -> list[tuple[int, int]]:
    m, n = D.shape
    size = max(1, min((CALL >> 3) // (n * max(1, each)), -(-m // 8)))
    return steps(m, size)
