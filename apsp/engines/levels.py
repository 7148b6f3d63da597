"""Dense matrices whose arcs all weigh the same: hop counts by Boolean products of packed bits, one a level.

With R₁ = I ∨ A the pairs that one arc joins, Rₖ₊₁ = Rₖ R₁ are those that k + 1 arcs join, and what Rₖ₊₁ has and Rₖ has
not is k + 1 hops away. A product of bits does a hundred times as many pairs a second as one of numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import BitMatrix, dtypes, shortcuts
from semiring.backend import bind
from semiring.catalog import lor_land
from semiring.types import Array

from .. import estimates
from ..estimates import Estimate
from ..problem import on_device_of
from .base import Engine, Kind, offer
from .essential import filled, filled_on_gpu, in_place, lengths_of_matrix

if TYPE_CHECKING:
    from ..plans import Plan
    from ..question import Question

#: Entries that are looked at a time.
CHUNK = 1 << 20
#: Levels of one vertex from which on they are too many; of a matrix, before it is closed otherwise. Vertices from which
#: on bits are faster on a GPU; where two arcs lead to each so many times, two levels are all, but in graphs of parts.
DEEP, MOST, LARGE_ON_GPU, MANY_WALKS = 24, 100, 2500, 30


def weight(question: Question) -> Any:
    """What all arcs weigh, as a scalar of the dtype; None where they differ, or where a level more may not fit."""
    lengths = question.once(lengths_of_matrix)
    if lengths is None or (question.device == "cuda" and question.n < LARGE_ON_GPU):
        return None
    n, on_host = question.n, isinstance(question.problem.matrix, np.ndarray)
    w = _weight_on_host(question) if on_host else _weight_on_gpu(question)
    if w is None or not lengths.sign * w > 0:
        return None
    return w if w.dtype.kind == "f" or n * abs(int(w)) < np.iinfo(w.dtype).max else None


def _weight_on_gpu(question: Question) -> Any:
    """What all arcs weigh; None where they differ, of which the first few tell most."""
    with on_device_of(question.problem.matrix):
        alike = question.once(on_gpu).first_weight() is not None
        return question.once(packed_on_gpu)[0] if alike else None


def _weight_on_host(question: Question) -> Any:
    """The same."""
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
    return w


def on_gpu(question: Question) -> Any:
    """The matrix there, and what is done with it."""
    return shortcuts.levels(question.problem.matrix, question.semiring)


def packed_on_gpu(question: Question) -> tuple[Any, Array, int]:
    """What all its arcs weigh, its arcs as bits there, and how many these are."""
    found: tuple[Any, Array, int] = question.once(on_gpu).pack()
    return found


def depth(question: Question) -> int:
    """Levels of a search from a vertex of most arcs; on a GPU from the first, and 2 where arcs are many."""
    A, w = question.problem.matrix, question.once(weight)
    if not isinstance(A, np.ndarray):
        _, arcs, count = question.once(packed_on_gpu)
        if (count / question.n) ** 2 >= MANY_WALKS * question.n:
            return 2
        with on_device_of(A):
            return int(question.once(on_gpu).depth(arcs, 0, DEEP))
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
    return "counts hops in matrices of which all entries off the diagonal are alike and few levels deep"


def _looks(question: Question) -> float:
    if question.device == "cuda":  # entries are looked at only if they may be alike
        suits = question.n >= LARGE_ON_GPU and question.once(lengths_of_matrix) is not None
        return estimates.LOOKED_ON_GPU if suits else np.inf
    return 0.0 if question.once(weight) is not None else np.inf


def _estimate(question: Question) -> Estimate:
    n, size, deep = question.n, question.dtype.itemsize, question.once(depth)
    if question.device == "cuda":
        taken = estimates.levels_on_gpu(n, deep, size)
    else:
        taken = estimates.levels(n, deep, size, threads=question.threads)
    return offer(question, taken, "bits", f", {deep} levels from one vertex", in_place=in_place(question))


def _open(question: Question, plan: Plan) -> Engine:
    return filled(question, lambda: (_counted_on_gpu if question.device == "cuda" else _counted)(question))


def _counted_on_gpu(question: Question) -> Array:
    n, report, (w, arcs, _) = question.n, question.wants.callback, question.once(packed_on_gpu)

    def progress(joined: int) -> None:
        if report:
            report(joined, n * n)

    return filled_on_gpu(question, lambda D: question.once(on_gpu).close(arcs, w, D, MOST, progress))


def _counted(question: Question) -> Array:
    ops = bind(lor_land, np.dtype(bool), **question.wants.options)
    problem, s, n, w = question.problem, question.semiring, question.n, question.once(weight)
    A, report = problem.matrix, question.wants.callback
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
        hops = s.mul.vectorized(hops, w)
        np.copyto(D, hops, where=new.to_bool(joined))
        R = more
        if report:
            report(R.counts(), n * n)
    if report:
        report(n * n, n * n)
    return D


ENGINE = Kind(
    "levels",
    _estimate,
    _open,
    refuses=_refuses,
    looks=_looks,
    devices=("cpu", "cuda"),
    matrices=True,
    large=True,
    compiles="bits",
)
