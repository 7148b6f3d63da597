"""Engine: dense matrices with few distinct distances (multiples of a unit), by Boolean products per level.

Boolean products do a hundred times the pairs a second of numeric ones; see `semiring.dense.levels`.
"""

from __future__ import annotations

import numpy as np

from semiring.algebra.catalog import lor_land
from semiring.dense import shortcuts
from semiring.host.types import Array
from semiring.kernels.backend import bind

from .. import estimates, rates
from ..estimates import Estimate
from ..plans import Plan
from ..problem import on_device_of
from ..question import Question
from ..solve import solve
from .base import MANY, Engine, Kind, offer
from .essential import filled, filled_on_gpu, in_place, lengths_of_matrix

#: Maximum levels of a vertex; n from which bits are faster on a GPU, and n per product there; walks of two equal arcs a
#: pair from which two levels suffice, except for disconnected graphs.
DEEP, LARGE_ON_GPU, EACH_ON_GPU, MANY_WALKS = 24, 2500, 100, 30
#: Products beyond twice the expected number before giving up.
SPARE = 10


def levels_of(question: Question) -> Array:
    """The matrix as `semiring.dense.levels.Levels` if its lengths are multiples of a unit, else None."""
    lengths = question.once(lengths_of_matrix)
    if lengths is None or (question.device == "cuda" and question.n < LARGE_ON_GPU):
        return None
    A = question.problem.matrix
    with on_device_of(A):
        found = shortcuts.levels(A, question.semiring)
        return found if found.unit is not None and lengths.sign * found.unit > 0 else None


def depth(question: Question) -> int:
    """Levels of a search from a vertex; more than DEEP if they take too many products."""
    found, most = question.once(levels_of), DEEP
    if found.widest == 1 and (found.joined / question.n) ** 2 >= MANY_WALKS * question.n:
        return 2
    while question.device == "cuda" and found.products(most) * EACH_ON_GPU > question.n:
        most -= 1
    with on_device_of(question.problem.matrix):
        levels = int(found.depth(most))
    return levels if levels <= most else DEEP + 1


def _refuses(question: Question) -> str:
    if question.once(levels_of) is not None and question.once(depth) <= DEEP:
        return ""
    size = f"{MANY} vertices or more, {LARGE_ON_GPU} on a GPU"
    return f"closes matrices of {size}, whose lengths are multiples of one length, and distances small multiples of it"


def _looks(question: Question) -> float:
    if question.device == "cuda":  # look at entries only if they may be levels
        suits = question.n >= LARGE_ON_GPU and question.once(lengths_of_matrix) is not None
        return rates.card.latency if suits else np.inf
    return 0.0 if question.once(levels_of) is not None else np.inf


def expected(question: Question) -> int:
    """The expected number of levels: more than the sample's if they are narrow."""
    deep, found = question.once(depth), question.once(levels_of)
    return deep + deep // 2 if found.widest == 1 else deep


def _estimate(question: Question) -> Estimate:
    n, size, count, found = question.n, question.dtype.itemsize, expected(question), question.once(levels_of)
    told = n, count, found.products(count), found.held(count)
    if question.device == "cuda":
        taken = estimates.levels_on_gpu(*told, size)
    else:
        taken = estimates.levels(*told, threads=question.threads)
    note = f", {question.once(depth)} levels from one vertex"
    return offer(question, taken, "bits", note, in_place=in_place(question), table=n * n * size)


def _open(question: Question, plan: Plan) -> Engine:
    if question.device == "cuda":
        return filled(question, plan, lambda: filled_on_gpu(question, lambda D: _close(question, D)))
    return filled(question, plan, lambda: _counted(question))


def _close(question: Question, out: Array) -> bool:
    """Write distances to `out`; returns whether few levels were all."""
    n, report = question.n, question.wants.callback
    ops = bind(lor_land, np.dtype(bool), device=question.device, **question.wants.options)

    def progress(joined: int) -> None:
        if report:
            report(joined, n * n)

    found = question.once(levels_of)
    complete = bool(found.close(ops, out, progress, 2 * found.products(expected(question)) + SPARE))
    if complete:
        progress(n * n)
    return complete


def _counted(question: Question) -> Array:
    A = question.problem.matrix
    D = np.empty(A.shape, A.dtype)
    return D if _close(question, D) else solve(question.problem, question.wants).matrix


ENGINE = Kind(
    "levels", _estimate, _open, refuses=_refuses, looks=_looks, devices=("cpu", "cuda"), matrices=True, large=True,
    compiles="levels", share=0.1,
)  # fmt: skip
