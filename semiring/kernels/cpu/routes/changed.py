"""A closure D after one arc (u, v) of its matrix changes: what improves by it, what may have led over it.

An entry may lead over an arc of weight w if D[i,u] ⊗ w ⊗ D[v,j] is as good as D[i,j], and then so is D[i,u] ⊗ w as
D[i,v], and w ⊗ D[v,j] as D[u,j]. In each row these entries begin anew, with a step from the others of the row, and
settle as in Dijkstra's search (Ramalingam and Reps 1996, "On the computational complexity of dynamic graph problems").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....algebra.dtypes import largest_finite
from ....algebra.records import Semiring
from ..intrinsics import kernel, one, row, times, zero
from ..kinds import choose
from ..pool import run
from .code import compiled
from .equality import better, tight

#: Vertices taken per entry that begins anew; one where no arc beats `one`.
MOST = 16
#: Time of a step between entries that begin anew, and of one from others (a vector of them), in entries of a closure.
SETTLED, BEGUN = 8.0, 1.5
#: Steps per call, so that Ctrl-C is handled.
CALL = 1 << 28


@kernel
def gain(kind: Any, D: Any, u: int, v: int, w: Any, cols: Any) -> int:
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
def affected(kind: Any, D: Any, u: int, v: int, w: Any, slack: Any, floor: Any, cols: Any, counts: Any) -> int:
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
def repair(
    kind: Any, D: Any, A: Any, u: int, v: int, w: Any, slack: Any, floor: Any, cols: Any, rows: Any, starts: Any,
    heads: Any, found: Any, d: Any, reached: Any, first: int, last: int,
) -> bool:  # fmt: skip
    """found[e] ← D[i,j] anew for i = rows[r] and j = cols[heads[e]], starts[r] ≤ e < starts[r + 1]; whether all settle.

    A has the columns `cols` of the matrix; d and reached are workspace, as long as the rows of D and A.
    """
    size, m = d.itemsize, len(cols)
    for r in range(first, last):
        i, begin, end = rows[r], starts[r], starts[r]
        a = times(kind, D[i, u], w)
        d[:], reached[:] = D[i], zero(kind)
        for t in range(m):
            j = cols[t]
            if tight(kind, times(kind, a, D[v, j]), D[i, j], slack, floor) and i != j:
                heads[end], d[j] = t, zero(kind)
                end += 1
        for k in range(len(d)):
            if d[k] != zero(kind):
                row(kind, m, reached.ctypes.data, d[k], A.ctypes.data + k * m * size)
        near = begin
        for e in range(begin, end):
            found[e] = reached[heads[e]]
            near = e if better(kind, found[e], found[near]) else near
        left = MOST * (end - begin)
        while near >= 0:
            left -= 1
            if left < 0:  # arcs better than `one` open many again, and cycles that rounding made negative without end
                return False
            e, near = near, -1
            j, heads[e] = cols[heads[e]], -1 - heads[e]  # settled
            for f in range(begin, end):
                t = heads[f] if heads[f] >= 0 else -1 - heads[f]
                x = times(kind, found[e], A[j, t])
                if better(kind, x, found[f]):
                    found[f], heads[f] = x, t
                if heads[f] >= 0 and (near < 0 or better(kind, found[f], found[near])):
                    near = f
    return True


_SIGNATURES = {gain: "Aiixl", affected: "Aiixxxll", repair: "AAiixxxllllaaaii"}


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
        cols, self.counts = np.empty(self.n + 1, np.int64), np.empty(self.n, np.int64)
        self.cols = cols[: self._code(affected)(self.D, *self.arc, *self.equal, cols, self.counts)]
        return int(self.counts.sum())

    def cost(self, found: int) -> float:
        """Time for `found` entries, those of which that settle one another, and rows, in entries of a closure."""
        rows, settled = np.count_nonzero(self.counts), float((self.counts**2.0).sum()) / self.n
        return found + SETTLED * settled + BEGUN * rows * (len(self.cols) + 16)

    def repair(self, part: Callable[..., np.ndarray], threads: int) -> float | None:
        """Compute these anew; a bound of all sums of integers. None if it takes too many steps.

        part(rows, cols): those rows and columns of the matrix, contiguous, None for all.
        """
        rows, n, m = np.flatnonzero(self.counts), self.n, len(self.cols)
        A = part(None, self.cols)
        starts = np.concatenate(([0], self.counts[rows].cumsum()))
        heads, found, dtype = np.empty(starts[-1], np.int64), np.empty(starts[-1], self.D.dtype), self.D.dtype
        arguments = self.D, A, *self.arc, *self.equal, self.cols, rows, starts, heads, found
        size, settled = max(1, min(CALL // (m * (n + m)), -(-len(rows) // (4 * threads)))), []

        def several(_: int, first: int, last: int) -> None:
            workspace = np.empty(n, dtype), np.empty(m, dtype)
            settled.append(self._code(repair)(*arguments, *workspace, first, last))

        run(several, [(first, min(first + size, len(rows))) for first in range(0, len(rows), size)], threads)
        if not all(settled):
            return None
        self.anew = np.repeat(rows, self.counts[rows]), self.cols[-1 - heads], found
        return max(map(largest_finite, (found, self.D[rows]))) + largest_finite(A) if dtype.kind == "i" else 0.0

    def longest(self) -> float:
        """Length of the longest new entry."""
        return largest_finite(self.anew[2])

    def settle(self) -> None:
        """Write the new values to D."""
        rows, cols, found = self.anew
        self.D[rows, cols] = found
