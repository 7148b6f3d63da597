"""The closure over several ranks, each of which keeps its part: apsp/distributed's."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semiring.bits import BitMatrix
from semiring.survey import Survey, fast

from .. import estimates
from ..estimates import Estimate
from ..large.sources import Source
from ..plans import Plan
from ..problem import Memory
from .base import Engine, Kind, require_routes
from .dense import Dense, dtype_of_size
from .saturation import refuse_where_far
from .stored import Stored

if TYPE_CHECKING:
    from ..question import Question


def _windows(question: Question) -> Source | None:
    """The matrix in windows, where it is read so: within limits, and from a disk."""
    s, wants, source = question.semiring, question.wants, question.source
    on_disk = question.is_graph and source.windows(s, wants.dtype, where=wants.where) is not None
    return (
        Source.of(source, s, wants.dtype, nulls=wants.nulls, where=wants.where)
        if wants.limits is not None or on_disk
        else None
    )


def _estimate(question: Question) -> Estimate:
    """The plan over the ranks; entries are looked at where nothing but the plan is wanted."""
    from ..distributed import solving

    require_routes(question)
    s, wants, nonnegative = question.semiring, question.wants, True
    if isinstance(question.source, (int, np.integer)):
        n, dtype = question.n, dtype_of_size(question)
    elif (windows := question.once(_windows)) is not None:
        n, dtype = windows.n, windows.dtype
        nonnegative = not wants.dry or fast(windows.looked_at[0], s, dtype, n)
    else:
        n, dtype = question.n, question.dtype
        nonnegative = not wants.dry or question.problem.nonnegative
    plan = solving.plan(n, s, dtype, wants.gpus, wants, nonnegative=nonnegative)
    return estimates.dense(replace(plan, engine=ENGINE.name))


def _unseen(seen: Survey) -> None:
    """Nothing is said of zeros."""


def _open(question: Question, plan: Plan) -> Engine:
    from ..distributed import closing, solving

    s, wants, limits, begun = question.semiring, question.wants, question.wants.limits, time.perf_counter()
    ranks = solving.world_of(wants.gpus)
    if wants.table and limits is None:
        bits = isinstance(question.source, BitMatrix)
        A = question.source if bits else question.taken.array
        D = closing.close(
            A,
            s,
            ranks,
            block=wants.block,
            overwrite=wants.overwrite,
            made_here=not bits and question.memory is Memory.OURS,
            callback=wants.callback,
            look=_unseen if bits or not question.null_unsaid else question.tell_zeros,
        )
        return Dense(D, time.perf_counter() - begun)
    found = solving.closed(question.source, s, wants, ranks, question.tell_zeros)
    engine: Engine = Dense(found) if isinstance(found, np.ndarray) else Stored(found)
    if not wants.table:
        refuse_where_far(engine, question.graph, s)
    engine.seconds = getattr(found, "seconds", time.perf_counter() - begun)
    return engine


ENGINE = Kind(
    "ranks",
    _estimate,
    _open,
    devices=("cpu", "cuda"),
    matrices=True,
    schedules=True,
    gpus=True,
    limits=None,
    answers_to="dense",
)
