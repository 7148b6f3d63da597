"""A closure D after one arc (u, v) of its matrix changes: what improves by it, what may have led over it.

An entry may lead over an arc of weight w if D[i,u] ⊗ w ⊗ D[v,j] is as good as D[i,j], and then so is D[i,u] ⊗ w as
D[i,v], and w ⊗ D[v,j] as D[u,j]. `Arc.repair` computes these from the entries that stay. Which entries to visit follows
Ramalingam and Reps 1996, "On the computational complexity of dynamic graph problems".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS, largest_finite
from ....algebra.records import Semiring
from ....host.types import Scalar
from ..annotations import Array
from ..intrinsics import kernel, one, part, plus, row, times, zero
from ..kinds import Kind, choose
from ..pool import run
from .code import compiled
from .equality import better, tight

#: Entries per edge from which edges are listed.
SPARSE = 8
#: Steps per call, so that Ctrl-C is handled.
CALL = 1 << 28
#: Rows or columns of D looked at together.
TOGETHER = 64


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
                j = cols[t]
                found += tight(kind, times(kind, a, D[v, j]), D[i, j], slack, floor) & (i != j)
        counts[i] = found
    return listed


@kernel
def close(kind: Kind, K: Array, first: int, last: int) -> None:
    """Walks through the vertices first ≤ k < last; K ← K* once all had their turn."""
    n, size = len(K), K.itemsize
    for k in range(first, last):
        K[k, k] = one(kind)
        for i in range(n):
            if i != k and K[i, k] != zero(kind):
                row(kind, n, K.ctypes.data + i * n * size, K[i, k], K.ctypes.data + k * n * size)


@part
def kept(
    kind: Kind, D: Array, i: int, a: Any, v: int, slack: Scalar, floor: Scalar, cols: Array, d: Array, at: Array
) -> None:
    """d[at[t]] ← zero where D[i,j], j = cols[t], may lead over the arc; a = D[i,u] ⊗ w."""
    if tight(kind, a, D[i, v], slack, floor):
        for t in range(len(cols)):
            j = cols[t]
            if tight(kind, times(kind, a, D[v, j]), D[i, j], slack, floor) and i != j:
                d[at[t]] = zero(kind)


@kernel
def from_rows(
    kind: Kind, D: Array, A: Array, K: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, rows: Array,
    cols: Array, starts: Array, heads: Array, weights: Array, found: Array, lost: Array, d: Array, reached: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """found[r] ← row i = rows[r] anew at `cols`; lost[r] ← where it may have led over the arc; first ≤ r < last.

    An edge into a column from a vertex whose entry stays, then K = A[cols,cols]*. A has the columns of the matrix; if
    edges are few, they are in CSC form, too.
    """
    m, size = len(cols), d.itemsize
    for r in range(first, last):
        i = rows[r]
        d[:], reached[:] = D[i], zero(kind)
        kept(kind, D, i, times(kind, D[i, u], w), v, slack, floor, cols, d, cols)
        if len(starts):
            for t in range(m):
                for e in range(starts[t], starts[t + 1]):
                    reached[t] = plus(kind, reached[t], times(kind, d[heads[e]], weights[e]))
        else:
            for k in range(len(d)):
                if d[k] != zero(kind):
                    row(kind, m, reached.ctypes.data, d[k], A.ctypes.data + k * m * size)
        found[r] = zero(kind)
        for t in range(m):
            lost[r, t] = (d[cols[t]] == zero(kind)) & (cols[t] != i)
            if reached[t] != zero(kind):
                row(kind, m, found.ctypes.data + r * m * size, reached[t], K.ctypes.data + t * m * size)


@kernel
def from_cols(
    kind: Kind, D: Array, A: Any, K: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, rows: Array,
    cols: Array, starts: Array, heads: Array, weights: Array, found: Array, lost: Array, d: Array, reached: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """`from_rows` from the other end, for columns first ≤ t < last: K = A[rows,rows]*, then an edge to what stays.

    The edges of the rows of the matrix, A, are in CSC form.
    """
    count, width, size = len(rows), last - first, d.itemsize
    chosen, at, near = cols[first:last], np.arange(width), reached.ctypes.data
    reached[:] = zero(kind)
    for k in range(len(starts) - 1):
        if starts[k] < starts[k + 1]:
            for t in range(width):
                d[t] = D[k, chosen[t]]
            kept(kind, D, k, times(kind, D[k, u], w), v, slack, floor, chosen, d, at)
            for e in range(starts[k], starts[k + 1]):
                row(kind, width, near + heads[e] * width * size, weights[e], d.ctypes.data)
    for r in range(count):
        i, to = rows[r], found.ctypes.data + (r * len(cols) + first) * size
        for t in range(width):
            d[t] = D[i, chosen[t]]
            found[r, first + t] = zero(kind)
        kept(kind, D, i, times(kind, D[i, u], w), v, slack, floor, chosen, d, at)
        for t in range(width):
            lost[r, first + t] = (d[t] == zero(kind)) & (chosen[t] != i)
        for s in range(count):
            if K[r, s] != zero(kind):
                row(kind, width, to, K[r, s], near + s * width * size)


_SIGNATURES = {gain: "Aiixl", affected: "Aiixxxll", close: "Aii"}
_SIGNATURES |= dict.fromkeys((from_rows, from_cols), "AAAiixxxllllaABaaii")


class Arc:
    """An arc (u, v) of weight w in the closure D, C-contiguous."""

    def __init__(self, semiring: Semiring, D: np.ndarray, u: int, v: int, w: Any) -> None:
        self.kind, self.D, self.n, self.arc = choose(semiring, D.dtype, False), D, len(D), (u, v, D.dtype.type(w))

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
        few, many, size = *sorted((len(self.rows), len(self.cols))), self.D.itemsize
        listed = few * self.n // (SPARSE if len(self.cols) <= len(self.rows) else 1)
        return size * few * (self.n + few + 3 * many) + few * (self.n + 2 * many) + (24 + size) * listed

    def repair(self, part: Callable[..., np.ndarray], threads: int) -> float | None:
        """Compute these anew; a bound of all sums of integers.

        part(rows, cols): those rows and columns of the matrix, contiguous, None for all. Let k be the last vertex of a
        best walk from i to j whose entry (i, k) stays: all behind it are in `cols`, so that D'[i,j] = D[i,k] ⊗ A[k,·] ⊗
        K with K = A[cols,cols]*. With fewer rows than columns, the same from the other end.
        """
        rows, cols, n, D = self.rows, self.cols, self.n, self.D
        r, m, by_rows = len(rows), len(cols), len(cols) <= len(rows)
        A = part(None, cols) if by_rows else part(rows, None)
        K = np.ascontiguousarray(A[cols] if by_rows else A[:, rows])
        few, code = len(K), self._code(close)
        each = max(1, CALL // few**2)
        for first in range(0, few, each):
            code(K, first, min(first + each, few))
        none = np.array(self.kind.zero, D.dtype)
        present = none != A
        starts, heads, weights = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, D.dtype)
        if not by_rows or np.count_nonzero(present) * SPARSE <= A.size:
            ends, heads = present.T.nonzero()
            starts, weights = np.searchsorted(ends, np.arange(A.shape[1] + 1)), A[heads, ends]
            heads = np.ascontiguousarray(heads)
        self.found, self.lost = np.empty((r, m), D.dtype), np.empty((r, m), bool)
        code = self._code(from_rows if by_rows else from_cols)
        given = D, A, K, *self.arc, *self.equal, rows, cols, starts, heads, weights, self.found, self.lost
        length = r if by_rows else m

        def several(_: int, first: int, last: int) -> None:
            reached = np.empty(m if by_rows else r * (last - first), D.dtype)
            code(*given, np.empty(n, D.dtype), reached, first, last)

        each = max(1, min(CALL // (few * (n + few)), -(-length // (4 * threads))))
        run(several, [(first, min(first + each, length)) for first in range(0, length, each)], threads)
        if not SCALARS[D.dtype].integer:
            return 0.0
        lines, axis = (rows, 0) if by_rows else (cols, 1)
        parts = (D.take(lines[k : k + TOGETHER], axis) for k in range(0, length, TOGETHER))
        return max(map(largest_finite, parts)) + sum(map(largest_finite, (A, K)))

    def settle(self) -> int:
        """Write the new values to D; 0."""
        place = np.ix_(self.rows, self.cols)
        self.D[place] = np.where(self.lost, self.found, self.D[place])
        return 0

    def longest(self) -> float:
        """Length of the longest new entry, or more."""
        return largest_finite(self.found)
