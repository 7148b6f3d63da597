"""Decisions about dense closures, reused for matrices with equal properties.

Planning takes many times as long as a small closure. It depends on semiring, dtype, shape and survey, so plan and verbs
are cached by these; each matrix is surveyed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.algebra.survey import fast, survey, surveys
from semiring.host.devices import current, is_plain
from semiring.host.errors import DivergenceError
from semiring.host.memory import LEAST, granted
from semiring.host.types import Array
from semiring.kernels.backend import Backend

from ..io.display import bars
from ..io.graph import Graph
from .convergence.divergence import may_diverge
from .convergence.series import Series
from .convergence.series import sums as begin_sums
from .engines.base import MANY, Engine
from .engines.dense import Dense
from .log import report_plan
from .plans import Plan
from .question import Question
from .solve import conversions, run
from .wants import Wants

#: Largest matrix in entries, on the host and on a GPU: of fewer than MANY vertices, one pivot block, or sums.
ENTRIES, ON_DEVICE = MANY * MANY - 1, 1 << 24
#: Longest closure that is repeated, in seconds: beyond, progress is shown.
LONGEST = 0.5
#: Maximum number of cached decisions.
DECISIONS = 1024


class Decision(NamedTuple):
    """A plan of the dense closure, and its verbs."""

    plan: Plan
    ops: Backend


class Decided(NamedTuple):
    """Decisions about matrices of one semiring, dtype, shape and device, by whether they permit non-negative steps."""

    semiring: Semiring
    by_sign: dict[bool, Decision]

    def closed(self, A: Array, wants: Wants) -> tuple[Engine, Plan] | None:
        """The closure of such a matrix, and its plan; None if it must be examined."""
        semiring, by_sign = self
        n, on_host = len(A), type(A) is np.ndarray
        if wants.overwrite and not (on_host and A.flags.c_contiguous and A.flags.writeable):
            return None
        sums = ahead = None
        if on_host:
            seen = survey(A, semiring, where=wants.where, null_undeclared=wants.nulls is None)
        else:  # the device begins with the only decision there is while its survey is waited for
            sums = None if semiring.idempotent else begin_sums(A, semiring)
            looks = surveys((A,), semiring, where=wants.where, null_undeclared=wants.nulls is None)
            ahead = _closed(A, next(iter(by_sign.values())), wants, wait=False) if len(by_sign) == 1 else None
            (seen,) = looks()
        decision = by_sign.get(fast(seen, semiring, A.dtype, n))
        examined = may_diverge(semiring, seen, n)
        if decision is None or seen.ambiguous or (examined and (semiring.idempotent or wants.overwrite)):
            return None
        try:
            if examined:
                Series(semiring, seen).precaution(A, sums)
            report_plan(decision.plan)
            D = _closed(A, decision, wants, wait=not examined) if ahead is None else ahead
            if D is None:
                return None
            if examined:
                Series(semiring, seen).check(D)
            elif ahead is not None:
                decision.ops.synchronize()
        except DivergenceError:  # the full computation explains it
            return None
        return Dense(D), decision.plan


#: By semiring, dtype, shape, device, and whether the matrix is overwritten.
_decisions: dict[tuple[Any, ...], Decided] = {}


def repeat(question: Question) -> tuple[Engine, Plan] | None:
    """The closure by an earlier decision, and its plan; None if there is none, or the matrix must be examined."""
    A = _matrix(question)
    decided = None if A is None else _decisions.get(_key(A, question))
    return None if decided is None or bars.chosen else decided.closed(A, question.wants)


def _closed(A: Array, decision: Decision, wants: Wants, *, wait: bool) -> Array:
    """The closure of A by a decision, awaited or not; None if memory is short."""
    plan, ops = decision
    if (plan.beside_bytes > LEAST or plan.device != "cpu") and not granted(plan.beside_bytes, plan.device):
        return None
    D = ops.upload(A, copy=not wants.overwrite)
    run(plan, D, ops, wants, wait=wait)
    return D


def decided(question: Question) -> bool:
    """Whether there is an earlier decision for such a matrix."""
    A = _matrix(question)
    return A is not None and _key(A, question) in _decisions


def remember(question: Question, plan: Plan) -> None:
    """Cache the decision for a matrix closed unexamined, small, in one pivot block, or of sums."""
    if plan.engine != "dense" or plan.seconds > LONGEST or _matrix(question) is None:
        return
    problem = question.problem
    examined = problem.may_diverge and (problem.semiring.idempotent or not SCALARS[problem.dtype].floating)
    if problem.matrix is not _matrix(question) or problem.batch or examined:
        return
    ops, one_block = problem.bind(question.wants), 0 < plan.n <= plan.block
    if conversions(problem) and not (one_block and problem.device == "cpu"):
        return
    few = one_block or (problem.device == "cpu" and plan.n) or not problem.semiring.idempotent
    if ops.grain == 1 and few:
        if len(_decisions) >= DECISIONS:
            _decisions.clear()
        decided = _decisions.setdefault(_key(problem.matrix, question), Decided(problem.semiring, {}))
        decided.by_sign[problem.nonnegative] = Decision(plan, ops)


def _matrix(question: Question) -> Array:
    """The matrix of a question that asks for no more than its closure, uncopied; None if it has none."""
    A, wants = question.source, question.wants
    if isinstance(A, Graph):
        whole = A.directed and A.nulls is None and not A.unit
        A = A.dense if whole else None
    if type(A) is np.ndarray:
        suits = A.size <= ENTRIES
    else:
        suits = is_plain(A) and A.size <= ON_DEVICE and A.data.device_id == current()
    # Integers that may saturate are refused where no table is asked for.
    return A if suits and wants.plain and (wants.table or not SCALARS[A.dtype].integer) else None


def _key(A: Array, question: Question) -> tuple[Any, ...]:
    device = -1 if type(A) is np.ndarray else A.data.device_id
    return question.semiring, A.dtype, A.shape, device, question.wants.overwrite
