"""Engine: dense matrices with few essential arcs: searches through those, and a comparison of the others.

An arc is essential if no walk is better: A[k, j] = A*[k, j]. In a complete graph with random weights a vertex has about
ln n of them, among its best arcs. So the best arcs K of each vertex are searched, D = K*. If no arc of A beats D, then
D = A*. Otherwise the arcs that do are added, and D is found again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from semiring import BitMatrix, sparse
from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.dense import shortcuts
from semiring.dense.cycles import Lengths, searchable
from semiring.host.compiling import clock
from semiring.host.devices import host, module
from semiring.host.memory import require
from semiring.host.types import Array, Edges

from ...answers.neighbourhoods import around
from .. import estimates
from ..estimates import Estimate
from ..log import logger
from ..plans import Plan
from ..problem import Memory, on_device_of
from ..question import Question
from ..solve import allocate_result, give_back, solve
from .base import MANY, Engine, Kind, offer
from .dense import Dense

#: Best arcs kept a vertex, in ln n (for random weights nearly all essential ones); and at most.
KEPT, MOST = 3, 128
#: On a GPU additional arcs are cheap, so fewer are kept; n from which it pays.
KEPT_ON_GPU, LARGE_ON_GPU = 1.1, 6144
#: Maximum degree at which the GPU keeps all arcs.
SPARSE = 32
#: Vertices sampled first, and then; best arcs tested a vertex; share of arcs that may remain.
FIRST, LOOKED, BEST, LEFT = 4, 16, 32, 1 / 8
#: Entries compared at a time.
CHUNK = 1 << 20


class Thinned(NamedTuple):
    """Best arcs of a matrix: number, searches, essential ones a vertex, arcs relaxed by a batch, levels of a search."""

    arcs: int
    searches: Any
    matter: float
    relaxed: float = 0
    levels: float = 0


def thinned(question: Question) -> Thinned | None:
    """The initial arcs; None if sampled vertices have too many essential arcs."""
    A, s, n = question.problem.matrix, question.semiring, question.n
    few = np.linspace(0, n - 1, LOOKED).astype(np.int64)
    if question.device == "cuda":
        return _thinned_on_gpu(A, s, few)
    if any(_left(A, s, int(k)) > LEFT * n for k in few[:: LOOKED // FIRST]):
        return None
    kept = math.ceil(KEPT * math.log(n))
    while kept <= MOST:
        arcs = best_arcs(A, s, kept)
        if len(arcs[0]) > 2 * kept * n:  # ties
            return None
        searches = _searches(question, arcs)
        rows = next(D for _, D in searches.rows(few, block=LOOKED))
        if not _beats(s, A[few], rows).any():
            same = (rows == A[few]) & (rows != dtypes.zero(s, rows.dtype))
            relaxed = float(searches.effort(few[:: LOOKED // FIRST])[0])
            return Thinned(len(searches.arcs[0]), searches, float(same.sum()) / LOOKED, relaxed)
        kept *= 2
    return None


def _thinned_on_gpu(A: Array, s: Semiring, few: np.ndarray) -> Thinned | None:
    """`thinned` on a GPU; a matrix on the host, only planned for, is judged by its rows."""
    n, on_host = len(A), isinstance(A, np.ndarray)
    kept = math.ceil(KEPT_ON_GPU * math.log(n))
    with on_device_of(A):
        few = few[:: LOOKED // FIRST] if on_host else few
        left = np.array([_left(A, s, int(k)) for k in few]) if on_host else shortcuts.best_arcs(A, s, BEST, few).left()
        arcs = host((A[few if on_host else module(A).asarray(few)] != dtypes.zero(s, A.dtype)).sum(axis=1))
        if (left > np.maximum(kept, LEFT * arcs)).any():
            if arcs.max() > SPARSE:  # nearly all of them are essential
                return None
            kept = SPARSE
        if on_host:
            return Thinned(kept * n, None, kept)
        found = shortcuts.best_arcs(A, s, kept).thinned()
        if found is None:
            return None
        start, heads, _ = found.graph
        near = around(host(start), host(heads), few)
    deep = n / near.width if near.width <= estimates.PATH else near.deep(n)
    return Thinned(found.arcs, found, found.arcs / n, levels=deep if near.cut else 0)


def _left(A: np.ndarray, s: Semiring, k: int) -> int:
    """The number of a vertex's arcs not beaten by a walk of two arcs that begins with one of its best."""
    least = s.add.selects == "least"
    count = min(BEST, A.shape[0] - 1)
    best = np.argpartition(A[k] if least else -A[k], count)[:count]
    best = best[best != k]
    with np.errstate(over="ignore"):
        by_two = A[k, best][:, None] + A[best]
    beaten = _beats(s, by_two.min(axis=0) if least else by_two.max(axis=0), A[k])
    return int((~beaten & (A[k] != dtypes.zero(s, A.dtype))).sum())


def best_arcs(A: np.ndarray, s: Semiring, count: int) -> Edges:
    """Tails, heads and weights of the `count` best arcs of each vertex, with ties."""
    n, least = A.shape[0], s.add.selects == "least"
    place = min(count, n - 1) if least else n - 1 - min(count, n - 1)

    def best(part: np.ndarray, rows: slice) -> np.ndarray:
        last = np.partition(part, place, axis=1)[:, place, None]
        return (part <= last if least else part >= last) & (part != dtypes.zero(s, A.dtype))

    return _listed(A, best)


def better(A: np.ndarray, D: np.ndarray, s: Semiring) -> Edges:
    """The arcs of A that beat D; none if D is A*."""
    return _listed(A, lambda part, rows: _beats(s, part, D[rows]))


def _beats(s: Semiring, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    beats: np.ndarray = x < y if s.add.selects == "least" else x > y
    return beats


def _listed(A: np.ndarray, wanted: Callable[[np.ndarray, slice], np.ndarray]) -> Edges:
    """Tails, heads and weights of arcs selected by `wanted`, called for blocks of rows."""
    n, found = A.shape[0], []
    step = max(1, CHUNK // n)
    for start in range(0, n, step):
        part = A[start : start + step]
        where = np.flatnonzero(wanted(part, slice(start, start + step)))
        tails, heads = np.divmod(where, n)
        found.append((tails + start, heads, part[tails, heads]))
    tails, heads, weights = (np.concatenate(x) for x in zip(*found, strict=True))
    return tails, heads, weights


def _searches(question: Question, arcs: Edges) -> sparse.Searches:
    tails, heads, weights = arcs
    return sparse.Searches(
        (tails, heads), question.semiring, n=question.n, weights=weights, threads=question.threads, dtype=question.dtype
    )


def lengths_of_matrix(question: Question) -> Lengths | None:
    """The lengths of a non-negative matrix, if the engine applies (on the host only for a closure in a new matrix)."""
    wants, lengths = question.wants, Lengths.of(question.semiring)
    if wants.packed or wants.partial or isinstance(question.source, int) or question.listed:
        return None
    if lengths is None or lengths.logarithmic or not searchable(question.semiring):
        return None
    if question.n < MANY or (question.device == "cpu" and wants.overwrite):
        return None
    problem = question.problem
    if problem.batch or isinstance(problem.matrix, BitMatrix):
        return None
    if question.device == "cpu" and not isinstance(problem.matrix, np.ndarray):
        return None
    if problem.matrix.strides[1] != problem.matrix.itemsize and question.device == "cuda":
        return None
    least, greatest = problem.seen.least, problem.seen.greatest
    return lengths if (least if lengths.sign > 0 else -greatest) >= 0 else None


def _suits(question: Question) -> bool:
    """Whether searches through some arcs are exact."""
    if question.once(lengths_of_matrix) is None or question.dtype.itemsize == 2:
        return False
    if question.device == "cuda":  # integer overflow is checked with the arcs kept
        return question.n >= LARGE_ON_GPU
    return question.n * dtypes.largest_finite(question.problem.matrix) < dtypes.SCALARS[question.dtype].high


def _refuses(question: Question) -> str:
    if question.once(_suits) and question.once(thinned) is not None:
        return ""
    return f"closes matrices of {MANY} vertices or more, {LARGE_ON_GPU} on a GPU, in which few arcs matter"


def _looks(question: Question) -> float:
    """Finding the best arcs, and trial searches."""
    if not question.once(_suits):
        return np.inf
    return estimates.thinning(question.n, device=question.device)


def _estimate(question: Question) -> Estimate:
    found, n, size = question.once(thinned), question.n, question.dtype.itemsize
    assert found is not None
    if question.device == "cuda":
        taken = estimates.essential_on_gpu(n, found.arcs, size, found.levels)
    else:
        taken = estimates.essential(n, found.arcs, size, found.relaxed, threads=question.threads)
    note = f", essential arcs: {found.matter:.0f} a vertex of {n - 1:,}"
    return offer(question, taken, "label-correcting", note, in_place=in_place(question), table=n * n * size)


def in_place(question: Question) -> bool:
    """Whether a GPU result overwrites the matrix."""
    return question.device == "cuda" and question.problem.memory is not Memory.READ_ONLY


def _open(question: Question, plan: Plan) -> Engine:
    found = question.once(thinned)
    assert found is not None
    return filled(question, plan, lambda: (_closed_on_gpu if question.device == "cuda" else _closed)(question, found))


def filled(question: Question, plan: Plan, fill: Callable[[], Array]) -> Dense:
    """A table from `fill`, with its seconds; raises MemoryNeeded."""
    hint = "Leave engine out: another may hold less."
    require(plan.beside_bytes, plan.device, where=question.wants.where, hint=hint)
    if question.problem.seen.ambiguous:
        question.wants.report_zeros(question.problem.seen, question.semiring)
    start = clock()
    return Dense(fill(), clock() - start)


def filled_on_gpu(question: Question, fill: Callable[[Array], bool]) -> Array:
    """The result in kind, written by `fill`; closed in place if `fill` reports it incomplete."""
    problem = question.problem
    buffer = allocate_result(problem)
    ops = problem.bind(question.wants)
    with on_device_of(problem.matrix):
        D = problem.matrix if in_place(question) else ops.empty(problem.matrix.shape)
        if not fill(D):
            solve(replace(problem, matrix=D, memory=Memory.OVERWRITE, origin=None), question.wants)
        ops.synchronize()
        return give_back(problem, D, buffer)


def _closed_on_gpu(question: Question, found: Thinned) -> Array:
    """If too many arcs are essential after all, close the better of each entry and of the distances found."""
    wants = question.wants

    def fill(D: Array) -> bool:
        count = found.searches.into(D)
        if count:
            logger.info("%s: %s arcs matter", wants.where, "too many" if count < 0 else f"{count} more")
        if wants.callback and count >= 0:
            wants.callback(question.n, question.n)
        return bool(count >= 0)

    return filled_on_gpu(question, fill)


def _closed(question: Question, found: Thinned) -> Array:
    """Add essential arcs and repeat rows once (no entry of A then beats D); or close A if there are too many."""
    problem, s, A, n = question.problem, question.semiring, question.problem.matrix, question.n
    D = found.searches.to_dense(callback=question.wants.callback)
    more = better(A, D, s)
    count = len(more[0])
    if count:
        logger.info("%s: %d more arcs matter", question.wants.where, count)
    if count > MOST * n:
        return solve(problem, question.wants).matrix
    if count:
        worse = np.full(n, count > n // 4)  # testing each costs as much as a search
        for k, j, w in zip(*more, strict=True) if not worse.all() else ():
            worse |= _beats(s, s.mul.vectorized(D[:, k], w), D[:, j])
        tails, heads, weights = (np.concatenate(x) for x in zip(found.searches.arcs, more, strict=True))
        for rows, entries in _searches(question, (tails, heads, weights)).rows(np.flatnonzero(worse)):
            D[rows] = entries
    return D


ENGINE = Kind(
    "essential", _estimate, _open, refuses=_refuses, looks=_looks, devices=("cpu", "cuda"), matrices=True,
    compiles="searches", large=True,
)  # fmt: skip
