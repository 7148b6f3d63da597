"""A closure D after one arc (u, v) of its matrix changes: what improves by it, what may have led over it.

An entry may lead over an arc of weight w if D[i,u] ⊗ w ⊗ D[v,j] is as good as D[i,j], and then so is D[i,u] ⊗ w as
D[i,v], and w ⊗ D[v,j] as D[u,j]. `Arc.repair` computes these from the entries that stay. Which entries to visit follows
Ramalingam and Reps 1996, "On the computational complexity of dynamic graph problems".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ....algebra.dtypes import SCALARS, largest_finite
from ....algebra.records import Semiring
from ....host.types import Scalar
from ..annotations import Array
from ..dense.backend import CpuBackend
from ..intrinsics import kernel, one, part, plus, row, times, zero
from ..kinds import Kind, choose
from .code import compiled
from .equality import better, tight

#: Entries per edge from which products follow edges one by one.
LISTED = 32
#: Rows or columns computed together.
BLOCK = 256


@kernel
def gain(kind: Kind, D: Array, u: int, v: int, w: Any, cols: Array) -> int:
    """D[i,j] ← D[i,j] ⊕ D[i,u] ⊗ w ⊗ D[v,j]; the number of entries that improve, −1 if a cycle beats `one`."""
    listed, improved = 0, 0
    if better(kind, times(kind, D[v, u], w), one(kind)):
        return -1
    for j in range(len(D)):
        cols[listed] = j
        listed += better(kind, times(kind, w, D[v, j]), D[u, j]) & (j != u)
    for i in range(len(D)):
        a = times(kind, D[i, u], w)
        if listed and i != v and better(kind, a, D[i, v]):
            for t in range(listed):
                j = cols[t]
                x = times(kind, a, D[v, j])
                if better(kind, x, D[i, j]) and i != j:
                    D[i, j] = x
                    improved += 1
    return improved


@part
def leads(kind: Kind, D: Array, i: int, j: int, a: Any, v: int, slack: Scalar, floor: Scalar) -> bool:
    """Whether entry (i, j) may lead over the arc, a = D[i,u] ⊗ w being as good as D[i,v]."""
    return tight(kind, times(kind, a, D[v, j]), D[i, j], slack, floor) & (i != j)


@kernel
def affected(
    kind: Kind, D: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, cols: Array, counts: Array
) -> int:
    """counts[i] ← entries of row i that may lead over the arc; the number of `cols` that do."""
    listed = 0
    if tight(kind, w, D[u, v], slack, floor):
        for j in range(len(D)):
            cols[listed] = j
            listed += tight(kind, times(kind, w, D[v, j]), D[u, j], slack, floor)
    for i in range(len(D)):
        found, a = 0, times(kind, D[i, u], w)
        if listed and tight(kind, a, D[i, v], slack, floor):
            for t in range(listed):
                found += leads(kind, D, i, cols[t], a, v, slack, floor)
        counts[i] = found
    return listed


@kernel
def keep(
    kind: Kind, D: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, may: Array, rows: Array, cols: Array,
    X: Array,
) -> None:  # fmt: skip
    """X ← D[rows,cols], but for entries that may lead over the arc: in rows may[0,i] and columns may[1,j]."""
    for r in range(len(rows)):
        i = rows[r]
        a = times(kind, D[i, u], w)
        for t in range(len(cols)):
            j = cols[t]
            if not (may[0, i] & may[1, j] and leads(kind, D, i, j, a, v, slack, floor)):
                X[r, t] = D[i, j]


@kernel
def look(kind: Kind, X: Array, rows: Array, cols: Array) -> tuple[int, Any, Any]:
    """rows[i], cols[j] ← whether any entry there is not zero; their number, the least and greatest of them and of 0."""
    none = least = greatest = X.dtype.type(0)
    cols[:], count = False, 0
    for i in range(len(X)):
        before = count
        for j in range(X.shape[1]):
            here = X[i, j] != zero(kind)
            x = X[i, j] if here else none
            cols[j] |= here
            count += here
            least, greatest = x if x < least else least, x if x > greatest else greatest
        rows[i] = count > before
    return count, least, greatest


@kernel
def along_edges(kind: Kind, kept: Array, heads: Array, tails: Array, weights: Array, by_rows: bool, C: Array) -> None:
    """C ← kept ⊗ edges from heads[e] to tails[e]; Cᵀ ← keptᵀ ⊗ edges unless `by_rows`."""
    C[:] = zero(kind)
    if by_rows:
        for r in range(len(kept)):
            for e in range(len(heads)):
                C[r, tails[e]] = plus(kind, C[r, tails[e]], times(kind, kept[r, heads[e]], weights[e]))
    else:
        width, size = kept.shape[1], kept.itemsize
        for e in range(len(heads)):
            to = C.ctypes.data + tails[e] * width * size
            row(kind, width, to, weights[e], kept.ctypes.data + heads[e] * width * size)


@kernel
def write(kind: Kind, D: Array, rows: Array, cols: Array, found: Array) -> None:
    """D[rows,cols] ← found."""
    for r in range(len(rows)):
        for t in range(len(cols)):
            D[rows[r], cols[t]] = found[r, t]


_SIGNATURES = {
    gain: "Aiixl", affected: "Aiixxxll", keep: "AiixxxBllA", look: "Abb", along_edges: "AllatA", write: "AllA",
}  # fmt: skip


class Arc:
    """An arc (u, v) of weight w in the closure D, C-contiguous."""

    def __init__(self, semiring: Semiring, D: np.ndarray, u: int, v: int, w: Any) -> None:
        # Sums of lengths ≥ 0 take other steps, unless an integer represents −∞, which these might reach.
        self.kinds = [choose(semiring, D.dtype, x and semiring.zero != -math.inf) for x in (False, True)]
        self.kind, self.D, self.n, self.arc = self.kinds[0], D, len(D), (u, v, D.dtype.type(w))

    def _code(self, part: Any) -> Any:
        return compiled(part, self.kind, _SIGNATURES[part])

    def gain(self) -> int:
        """Improve D; the number of entries that do, −1 (D as before) if a cycle beats `one`."""
        found: int = self._code(gain)(self.D, *self.arc, np.empty(self.n + 1, np.int64))
        return found

    def affected(self, slack: float, floor: float) -> int:
        """The number of entries that may lead over the arc.

        If ⊗ rounds, entries are equal within slack · max(|D|, floor).
        """
        self.equal = self.D.dtype.type(slack), self.D.dtype.type(floor)
        cols, counts = np.empty(self.n + 1, np.int64), np.empty(self.n, np.int64)
        self.cols = cols[: self._code(affected)(self.D, *self.arc, *self.equal, cols, counts)]
        self.rows = np.flatnonzero(counts)
        return int(counts.sum())

    @property
    def workspace(self) -> int:
        """Bytes that `repair` and `settle` need: edges, also as lists, the closure of the smaller side, new entries."""
        few, many = sorted((len(self.rows), len(self.cols)))
        block = min(many, BLOCK) * 3 * self.n
        return self.D.itemsize * (few * (2 * self.n + 2 * few + many) + block) + 24 * few * self.n // LISTED

    def repair(self, part: Callable[..., np.ndarray], threads: int) -> float | None:
        """Compute these anew; a bound of all sums of integers.

        part(rows, cols): those rows and columns of the matrix, contiguous, None for all. Let k be the last vertex of a
        best walk from i to j whose entry (i, k) stays: all behind it are in `cols`, so that D'[i,j] = D[i,k] ⊗ A[k,·] ⊗
        K where K has the distances among `cols`, which stay but for rows that are in `rows`. With fewer rows than
        columns, the same of the transpose.
        """
        by_rows = len(self.cols) <= len(self.rows) or not self.kind.vector
        order: Literal["C", "F"] = "C" if by_rows else "F"
        turned: Callable[[np.ndarray], np.ndarray] = (lambda X: X) if by_rows else np.transpose
        lines, others = (self.rows, self.cols) if by_rows else (self.cols, self.rows)
        self.may = np.zeros((2, self.n), bool)
        self.may[0, self.rows] = self.may[1, self.cols] = True
        both = np.logical_and(*self.may)[others]
        others = np.r_[others[~both], others[both]]
        self.ops = [CpuBackend(kind, threads) for kind in self.kinds]
        edges = turned(part(None, others) if by_rows else part(others, None))
        K = self._keep(by_rows, others, others, np.array(edges[others], order=order))
        _close(self.ops[False], K, len(others) - int(both.sum()))
        near = np.flatnonzero(_Look(self, edges).rows)
        steps = _Look(self, np.array(edges[near], order=order)), _Look(self, K)
        sums, self.blocks = 0.0, []
        for first in range(0, len(lines), BLOCK):
            chosen = lines[first : first + BLOCK]
            X = np.full((len(chosen), len(near)), self.kind.zero, self.D.dtype, order)
            reach = _Look(self, self._keep(by_rows, chosen, near, X))
            sums = max(sums, reach.longest)
            for step in steps:
                found = reach.times(step, np.empty((len(chosen), len(others)), self.D.dtype, order))
                reach = _Look(self, found)
            found = self._keep(by_rows, chosen, others, found)
            self.blocks.append((chosen, others, found) if by_rows else (others, chosen, found.T))
        return sums + steps[0].longest + steps[1].longest

    def _keep(self, by_rows: bool, rows: np.ndarray, cols: np.ndarray, X: np.ndarray) -> np.ndarray:
        """X with those entries of D, or its transpose, that do not lead over the arc."""
        ends, Y = ((rows, cols), X) if by_rows else ((cols, rows), X.T)
        self._code(keep)(self.D, *self.arc, *self.equal, self.may, *ends, Y)
        return X

    def settle(self) -> int:
        """Write the new values to D; 0."""
        for block in self.blocks:
            self._code(write)(self.D, *block)
        return 0

    def longest(self) -> float:
        """Length of the longest new entry, or more."""
        return max(largest_finite(found) for _, _, found in self.blocks)


def _close(ops: CpuBackend, K: np.ndarray, exact: int) -> None:
    """K ← K*, of which rows before `exact` are exact."""
    if exact < len(K):
        below = K[exact:]
        ops.gemm(below, below[:, :exact].copy(), K[:exact])
        corner = below[:, exact:].copy()
        ops.closure(corner)
        ops.left_mul(corner, below)


class _Look:
    """A matrix X and where it has entries; X, or its transpose, is contiguous."""

    def __init__(self, arc: Arc, X: np.ndarray) -> None:
        self.arc, self.X, self.upright = arc, X, X.flags.c_contiguous
        self.rows, self.cols = np.empty(X.shape[0], bool), np.empty(X.shape[1], bool)
        Y, seen = (X, (self.rows, self.cols)) if self.upright else (X.T, (self.cols, self.rows))
        self.count, self.least, self.greatest = arc._code(look)(Y, *seen)

    @property
    def longest(self) -> float:
        return float(max(-self.least, self.greatest)) if SCALARS[self.X.dtype].integer else 0.0

    @cached_property
    def listed(self) -> tuple[np.ndarray, ...]:
        """Heads, tails and weights of the edges."""
        heads, tails = (np.ascontiguousarray(x) for x in (self.X != self.arc.kind.zero).nonzero())
        return heads, tails, self.X[heads, tails]

    def times(self, other: _Look, C: np.ndarray) -> np.ndarray:
        """C ← X ⊗ Y: along the edges of Y if these are few, else by columns of X and rows of Y that have entries."""
        X, Y = self.X, other.X
        used = np.flatnonzero(self.cols & other.rows)
        ops = self.arc.ops[min(self.least, other.least) >= 0]
        if other.count * LISTED < len(used) * Y.shape[1]:
            A, B = (X, C) if self.upright else (X.T, C.T)
            self.arc._code(along_edges)(A, *other.listed, self.upright, B)
        else:
            whole = 4 * len(used) > 3 * len(Y)
            ops.matmul(C, X if whole else X[:, used], Y if whole else Y[used])
        return C
