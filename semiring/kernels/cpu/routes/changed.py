"""A closure D after one arc (u, v) of its matrix changes: what improves by it, what may have led over it.

An entry may lead over an arc of weight w if D[i,u] ⊗ w ⊗ D[v,j] is as good as D[i,j], and then so is D[i,u] ⊗ w as
D[i,v], and w ⊗ D[v,j] as D[u,j]. `Arc.repair` computes these from the entries that stay. Which entries to visit follows
Ramalingam and Reps 1996, "On the computational complexity of dynamic graph problems".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from ....host.types import Scalar
from ...repair import Around, Found, Repair, Seen
from ..code import compiled
from ..dense.backend import CpuBackend
from ..instructions import Array
from ..intrinsics import kernel, one, part, plus, row, times, zero
from ..kinds import Kind, choose
from .equality import better, tight

#: Entries per edge from which products follow edges one by one.
LISTED = 32
#: Rows or columns computed together.
BLOCK = 256


@kernel
def survey(kind: Kind, D: Array, row: Array, u: int, v: int) -> tuple[bool, bool, Any, Any]:
    """Whether D's diagonal has others than `one`, a 0 in row u of A would improve D; extremes of D[:,u] and D[v]."""
    none = D.dtype.type(0)
    opened, nulls, least, greatest = False, False, D[v, u], D[v, u]
    for i in range(len(D)):
        opened |= D[i, i] != one(kind)
        nulls |= (row[i] == none) & better(kind, none, D[u, i]) & (i != u)
        into, out = D[i, u], D[v, i]
        low, high = (into, out) if into < out else (out, into)
        least, greatest = low if low < least else least, high if high > greatest else greatest
    return opened, nulls, least, greatest


@kernel
def gain(kind: Kind, D: Array, u: int, v: int, w: Any, cols: Array, near: Array) -> int:
    """D[i,j] ← D[i,j] ⊕ D[i,u] ⊗ w ⊗ D[v,j]; the number of entries that improve, −1 if a cycle beats `one`."""
    listed, improved = 0, 0
    if better(kind, times(kind, D[v, u], w), one(kind)):
        return -1
    for j in range(len(D)):
        cols[listed], near[listed] = j, D[v, j]
        listed += better(kind, times(kind, w, D[v, j]), D[u, j]) & (j != u)
    for i in range(len(D)):
        a = times(kind, D[i, u], w)
        if listed and i != v and better(kind, a, D[i, v]):
            for t in range(listed):
                j = cols[t]
                x = times(kind, a, near[t])
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
    kind: Kind, D: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, rows: Array, cols: Array
) -> None:
    """Whether entries of row i, of column j, may lead over the arc."""
    leads_on = tight(kind, w, D[u, v], slack, floor)
    for i in range(len(D)):
        rows[i] = leads_on & tight(kind, times(kind, D[i, u], w), D[i, v], slack, floor)
        cols[i] = leads_on & tight(kind, times(kind, w, D[v, i]), D[u, i], slack, floor)


@kernel
def keep(
    kind: Kind, D: Array, u: int, v: int, w: Any, slack: Scalar, floor: Scalar, may: Array, rows: Array, cols: Array,
    X: Array,
) -> int:  # fmt: skip
    """X ← D[rows,cols], but for entries that may lead over the arc, and their number.

    They are in rows may[0,i] and columns may[1,j].
    """
    found = 0
    for r in range(len(rows)):
        i = rows[r]
        a = times(kind, D[i, u], w)
        for t in range(len(cols)):
            j = cols[t]
            if may[0, i] & may[1, j] and leads(kind, D, i, j, a, v, slack, floor):
                found += 1
            else:
                X[r, t] = D[i, j]
    return found


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
def to_edges(kind: Kind, X: Array, heads: Array, tails: Array, weights: Array, C: Array) -> None:
    """C ← X ⊗ Y of the entries of Y, from heads[e] to tails[e]."""
    C[:] = zero(kind)
    for r in range(len(X)):
        for e in range(len(heads)):
            C[r, tails[e]] = plus(kind, C[r, tails[e]], times(kind, X[r, heads[e]], weights[e]))


@kernel
def from_edges(kind: Kind, heads: Array, tails: Array, weights: Array, X: Array, C: Array) -> None:
    """C ← Y ⊗ X of the entries of Y, from heads[e] to tails[e]."""
    C[:] = zero(kind)
    width, size = X.shape[1], X.itemsize
    for e in range(len(heads)):
        row(kind, width, C.ctypes.data + heads[e] * width * size, weights[e], X.ctypes.data + tails[e] * width * size)


@kernel
def write(kind: Kind, D: Array, rows: Array, cols: Array, found: Array) -> None:
    """D[rows,cols] ← found."""
    for r in range(len(rows)):
        for t in range(len(cols)):
            D[rows[r], cols[t]] = found[r, t]


_SIGNATURES = {
    survey: "Aaii", gain: "Aiixla", affected: "Aiixxxoo", keep: "AiixxxOllA", look: "Aoo", to_edges: "AllaA",
    from_edges: "llaAA", write: "AllA",
}  # fmt: skip


def around(semiring: Semiring, D: np.ndarray, A: np.ndarray, u: int, v: int) -> Around:
    call = compiled(survey, choose(semiring, D.dtype, False), _SIGNATURES[survey])
    opened, nulls, least, greatest = call(D, np.ascontiguousarray(A[u]), u, v)
    return Around(not opened, nulls, least, greatest, D[u, v].item(), A[u, v].item())


class Arc(Repair):
    """Kernels on NumPy matrices."""

    beside = 24 / LISTED

    def __init__(self, semiring: Semiring, D: np.ndarray, u: int, v: int, w: Any, threads: int) -> None:
        # Sums of lengths ≥ 0 take other steps, unless an integer represents −∞, which these might reach.
        self.kinds = [choose(semiring, D.dtype, x and semiring.zero != -math.inf) for x in (False, True)]
        self.verbs = CpuBackend(self.kinds[0], threads), CpuBackend(self.kinds[1], threads)
        self.D, self.n, self.zero = D, len(D), self.kinds[0].zero
        self.arc: tuple[Any, ...] = u, v, D.dtype.type(w)
        self.block, self.pivot = BLOCK, math.inf

    def _code(self, part: Any, lengths: bool = False) -> Any:
        return compiled(part, self.kinds[lengths], _SIGNATURES[part])

    def gain(self, fit: bool) -> int:
        """Improve D; the number of entries that do, −1 (D as before) if a cycle beats `one`.

        `fit`: no sum of integers D[:,u], w, D[v] saturates; then the instructions of lengths serve either sign.
        """
        return self._code(gain, fit)(
            self.D, *self.arc, np.empty(self.n + 1, np.int64), np.empty(self.n + 1, self.D.dtype)
        )

    def affected(self, slack: float, floor: float) -> bool:
        """Whether entries may lead over the arc.

        If ⊗ rounds, entries are equal within slack · max(|D|, floor).
        """
        self.arc = (*self.arc, self.D.dtype.type(slack), self.D.dtype.type(floor))
        self.may = np.empty((2, self.n), bool)
        self._code(affected)(self.D, *self.arc, *self.may)
        self.rows, self.cols = map(np.flatnonzero, self.may)
        return bool(len(self.rows))

    def keep(self, rows: np.ndarray, cols: np.ndarray, X: np.ndarray) -> np.ndarray:
        self.found = self._code(keep)(self.D, *self.arc, self.may, rows, cols, X)
        return X

    def look(self, X: np.ndarray) -> _Seen:
        def found() -> Found:
            rows, cols = (np.empty(length, bool) for length in X.shape)
            count, least, greatest = self._code(look)(X, rows, cols)
            longest = max(-least, greatest) if SCALARS[X.dtype].integer else 0
            return Found(float(longest), bool(least >= 0), count, rows, cols)

        return _Seen(X, found)

    def there(self, lines: np.ndarray) -> np.ndarray:
        return lines

    def occupied(self, seen: _Seen, axis: int) -> np.ndarray:
        return np.flatnonzero(seen.found.rows if axis else seen.found.cols)

    def times(self, A: _Seen, B: _Seen) -> _Seen:
        """A ⊗ B: along the entries of one of few, else by columns of A and rows of B that have entries."""
        C = np.empty((len(A.X), B.X.shape[1]), A.X.dtype)
        used = np.flatnonzero(A.found.cols & B.found.rows)
        if B.found.entries * LISTED < len(used) * B.X.shape[1]:
            self._code(to_edges)(A.X, *B.listed(self.zero), C)
        elif A.found.entries * LISTED < len(used) * len(A.X):
            self._code(from_edges)(*A.listed(self.zero), B.X, C)
        else:
            whole = 4 * len(used) > 3 * len(B.X)
            verbs = self.verbs[A.found.lengths and B.found.lengths]
            verbs.matmul(C, A.X if whole else A.X[:, used], B.X if whole else B.X[used])
        return self.look(C)

    def settle(self) -> int:
        for block in self.blocks:
            self._code(write)(self.D, *block)
        return 0


class _Seen(Seen):
    """A matrix whose entries may be listed."""

    _listed: tuple[np.ndarray, ...] = ()

    def listed(self, zero: Scalar) -> tuple[np.ndarray, ...]:
        """Rows, columns and entries."""
        if not self._listed:
            rows, cols = (np.ascontiguousarray(x) for x in (self.X != zero).nonzero())
            self._listed = rows, cols, self.X[rows, cols]
        return self._listed
