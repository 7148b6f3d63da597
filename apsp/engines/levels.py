"""Dense matrices whose arcs all weigh the same: hop counts by Boolean products of packed bits, one a level.

With R₁ = I ∨ A the pairs that one arc joins, Rₖ₊₁ = Rₖ R₁ are those that k + 1 arcs join, and what Rₖ₊₁ has and Rₖ has
not is k + 1 hops away. A product of bits does a hundred times as many pairs a second as one of numbers.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import BitMatrix, dtypes
from semiring.backend import bind
from semiring.catalog import lor_land
from semiring.compiling import uncounted

from .. import estimates
from ..estimates import Estimate
from .base import Engine, Kind, offer
from .dense import Dense
from .essential import lengths_of_matrix

if TYPE_CHECKING:
    from ..plans import Plan
    from ..question import Question

#: Entries that are looked at a time.
CHUNK = 1 << 20
#: Levels of one vertex from which on they are too many.
DEEP = 24


def weight(question: Question) -> Any:
    """What all arcs weigh, as a scalar of the dtype; None where they differ, or where a level more may not fit."""
    lengths = question.once(lengths_of_matrix)
    if lengths is None:
        return None
    A, n, zero = question.problem.matrix, question.n, dtypes.zero(question.semiring, question.dtype)
    step, w = max(1, CHUNK // n), None
    for start in range(0, n, step):
        part = A[start : start + step]
        arcs = part != zero
        rows = np.arange(len(part))
        arcs[rows, start + rows] = False
        if w is None and arcs.any():
            w = part[arcs][0]
        if w is not None and (arcs & (part != w)).any():
            return None
    if w is None or not lengths.sign * w > 0:
        return None
    return w if w.dtype.kind == "f" or n * abs(int(w)) < np.iinfo(w.dtype).max else None


def depth(question: Question) -> int:
    """Levels of a search from a vertex of most arcs."""
    A, w = question.problem.matrix, question.once(weight)
    start = int((A[:: max(1, question.n // 64)] == w).sum(axis=1).argmax()) * max(1, question.n // 64)
    seen = np.zeros(question.n, bool)
    seen[start] = True
    front, level = np.array([start]), 0
    while len(front) and level <= DEEP:
        reached = np.zeros(question.n, bool)
        for k in range(0, len(front), 64):
            reached |= (A[front[k : k + 64]] == w).any(axis=0)
            if (reached | seen).all():
                break
        front = np.flatnonzero(reached & ~seen)
        seen |= reached
        level += bool(len(front))
    return level


def _refuses(question: Question) -> str:
    if question.once(weight) is not None and question.once(depth) <= DEEP:
        return ""
    return "counts hops in matrices on the host, of which all entries off the diagonal are alike and few levels deep"


def _looks(question: Question) -> float:
    return 0.0 if question.once(weight) is not None else np.inf


def _estimate(question: Question) -> Estimate:
    n, size = question.n, question.dtype.itemsize
    taken = estimates.levels(n, question.once(depth), size, threads=question.threads)
    return offer(question, taken, "bits", f", {question.once(depth)} levels from one vertex")


def _open(question: Question, plan: Plan) -> Engine:
    """The table, filled level by level."""
    ops = bind(lor_land, np.dtype(bool), **question.wants.options)
    problem, s, n, w = question.problem, question.semiring, question.n, question.once(weight)
    if problem.seen.ambiguous:
        question.report_zeros(problem.seen)
    start, A, report = perf_counter() - uncounted.seconds, problem.matrix, question.wants.callback
    joined = A == w
    D = np.where(joined, w, dtypes.zero(s, A.dtype))
    np.fill_diagonal(D, dtypes.one(s, A.dtype))
    np.fill_diagonal(joined, True)
    R = arcs = BitMatrix.from_bool(joined)
    hops = w
    while True:
        more = BitMatrix.zeros((n, n))
        ops.gemm(more, R, arcs)
        new = R ^ more
        if not new.any():
            break
        hops = s.mul.ufunc(hops, w)  # type: ignore[misc]
        np.copyto(D, hops, where=new.to_bool(joined))
        R = more
        if report:
            report(R.counts(), n * n)
    if report:
        report(n * n, n * n)
    return Dense(D, perf_counter() - uncounted.seconds - start)


ENGINE = Kind(
    "levels",
    _estimate,
    _open,
    refuses=_refuses,
    looks=_looks,
    matrices=True,
    large=True,
    compiles="bits",
)
