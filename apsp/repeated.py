"""Small matrices in main memory: what was chosen for one is done with the next of which the same is known.

The road to so small a closure takes many times as long as the closure itself. What it chooses depends on the semiring,
dtype, shape, and on what a survey finds; so the plan and the verbs are looked up by these. Each matrix is surveyed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semiring.backend import Backend
from semiring.survey import fast, survey

from .convergence.divergence import may_diverge
from .log import report_plan
from .plans import Plan
from .question import Question
from .solve import run
from .wants import Wants

#: So many entries at most: one pivot block, whatever the dtype, and no memory that would have to be asked for.
ENTRIES = 1 << 14
#: Of so many shapes, dtypes and semirings decisions are kept.
DECISIONS = 1024
#: What is wanted of them.
WANTS = Wants(where="closure", table=True)


class Decision(NamedTuple):
    """What the road chose: a plan of the dense closure, and its verbs."""

    plan: Plan
    ops: Backend


#: By semiring, dtype and shape; then by whether the entries permit the steps for non-negative ones.
_decisions: dict[tuple[Any, ...], dict[bool, Decision]] = {}


def repeat(question: Question) -> np.ndarray | None:
    """The closure of a small matrix as decided for an earlier one; None where nothing is, or it must be examined."""
    A, semiring = question.source, question.semiring
    decided = _decisions.get((semiring, A.dtype, A.shape))
    if decided is None:
        return None
    n = len(A)
    seen = survey(A, semiring, where="closure", null_undeclared=True)
    decision = decided.get(fast(seen, semiring, A.dtype, n))
    if decision is None or seen.ambiguous or may_diverge(semiring, seen, n):
        return None
    report_plan(decision.plan)
    D: np.ndarray = decision.ops.upload(A)
    run(decision.plan, D, decision.ops, question.wants)
    return D


def remember(question: Question, plan: Plan) -> None:
    """Keep what was chosen for a matrix, where it was closed at once and as it is, in one pivot block."""
    problem = question.problem
    if problem.matrix is not question.source or problem.batch or problem.may_diverge or not problem.is_on_device:
        return
    ops = problem.bind(question.wants)
    if plan.engine == "dense" and ops.grain == 1 and 0 < plan.n <= plan.block:
        if len(_decisions) >= DECISIONS:
            _decisions.clear()
        decided = _decisions.setdefault((problem.semiring, problem.dtype, problem.matrix.shape), {})
        decided[problem.nonnegative] = Decision(plan, ops)
