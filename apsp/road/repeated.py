"""Small matrices: reuse of earlier decisions for matrices with equal properties.

Planning takes many times as long as a small closure. It depends on semiring, dtype, shape and survey, so plan and verbs
are cached by these; each matrix is surveyed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.algebra.survey import fast, survey
from semiring.host.devices import UNCHANGED, is_plain, on_device
from semiring.host.errors import DivergenceError
from semiring.host.memory import granted
from semiring.host.types import Array, Values
from semiring.kernels.backend import Backend

from .convergence import series
from .convergence.divergence import may_diverge
from .log import report_plan
from .plans import Plan
from .question import Question
from .solve import run
from .wants import Wants

#: Largest matrix in entries, on the host and on a GPU: one pivot block, of sums several.
ENTRIES, ON_DEVICE = 1 << 14, 1 << 24
#: Maximum number of cached decisions.
DECISIONS = 1024
#: The wants of repeated closures.
WANTS = Wants(where="closure", table=True)


class Decision(NamedTuple):
    """A plan of the dense closure, and its verbs."""

    plan: Plan
    ops: Backend


#: By semiring, dtype and shape, then by whether entries permit non-negative steps.
_decisions: dict[Values, dict[bool, Decision]] = {}


def on_current_device(A: Array) -> bool:
    return is_plain(A) and A.size <= ON_DEVICE and on_device(A) is UNCHANGED


def repeat(question: Question) -> Any:
    """The closure of a small matrix by an earlier decision; None if there is none, or A must be examined."""
    A, semiring = question.source, question.semiring
    decided = _decisions.get(_key(A, semiring))
    if decided is None:
        return None
    n = len(A)
    sums = series.sums(A, semiring)
    seen = survey(A, semiring, where="closure", null_undeclared=True)
    decision = decided.get(fast(seen, semiring, A.dtype, n))
    examined = may_diverge(semiring, seen, n)
    if decision is None or seen.ambiguous or (examined and semiring.idempotent):
        return None
    if type(A) is not np.ndarray and not granted(decision.plan.beside_bytes, "cuda"):
        return None
    try:
        if examined:
            series.precaution(A, semiring, seen, sums)
        report_plan(decision.plan)
        D = decision.ops.upload(A)
        run(decision.plan, D, decision.ops, question.wants, wait=not examined)
        if examined:
            series.check(D, semiring, seen)
    except DivergenceError:  # the full computation explains it
        return None
    return D


def remember(question: Question, plan: Plan) -> None:
    """Cache the decision for a matrix closed unexamined, in one pivot block, or of sums."""
    problem = question.problem
    examined = problem.may_diverge and (problem.semiring.idempotent or not SCALARS[problem.dtype].floating)
    if problem.matrix is not question.source or problem.batch or examined or not problem.is_on_device:
        return
    ops = problem.bind(question.wants)
    if plan.engine == "dense" and ops.grain == 1 and (0 < plan.n <= plan.block or not problem.semiring.idempotent):
        if len(_decisions) >= DECISIONS:
            _decisions.clear()
        decided = _decisions.setdefault(_key(problem.matrix, problem.semiring), {})
        decided[problem.nonnegative] = Decision(plan, ops)


def _key(A: Array, semiring: Semiring) -> Values:
    return semiring, A.dtype, A.shape, -1 if type(A) is np.ndarray else A.data.device_id
