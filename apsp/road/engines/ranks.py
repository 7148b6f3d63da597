"""Engine: the dense closure over several ranks, each with its part (apsp/big/distributed)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from semiring.algebra.survey import fast
from semiring.dense.bits import BitMatrix
from semiring.distributed import World
from semiring.host.compiling import clock
from semiring.host.memory import require

from ...big.distributed.plans import OnHost
from ...big.large.sources import Source
from ...io.graph.ondisk import STRIP
from .. import estimates
from ..convergence import divergence
from ..estimates import Estimate
from ..plans import Plan
from ..problem import ROUTES, Memory
from ..question import Question
from .base import Engine, Kind
from .dense import Dense
from .saturation import refuse_after
from .stored import Stored

#: Bytes an arc while building parts from an edge list, unsorted and by tail.
_SORTED = 56


def _windows(question: Question) -> Source | None:
    """The matrix by windows if within limits or on disk, else None."""
    s, wants, source = question.semiring, question.wants, question.source
    on_disk = question.is_graph and source.windows(s, wants.dtype, where=wants.where) is not None
    return (
        Source.of(source, s, wants.dtype, nulls=wants.nulls, where=wants.where)
        if wants.limits is not None or on_disk
        else None
    )


def _estimate(question: Question) -> Estimate:
    """The plan over ranks; entries are surveyed only for a dry plan."""
    from ...big.distributed import solving

    s, wants, nonnegative = question.semiring, question.wants, True
    if isinstance(question.source, (int, np.integer)):
        n, dtype = question.n, question.dtype
    elif (windows := question.once(_windows)) is not None:
        n, dtype = windows.n, windows.dtype
        nonnegative = not wants.dry or fast(windows.surveyed[0], s, dtype, n)
    else:
        n, dtype = question.n, question.dtype
        if wants.dry:  # no matrix is built for this
            nonnegative = fast(question.arcs.survey, s, dtype, n) if question.listed else question.problem.nonnegative
    ranks = solving.world_of(wants.gpus, wants.options)
    plan = solving.plan(n, s, dtype, ranks, wants, _on_host(question, n, dtype, ranks), nonnegative=nonnegative)
    return estimates.dense(replace(plan, engine=ENGINE.name), _made(question))


def _on_host(question: Question, n: int, dtype: np.dtype, ranks: World) -> OnHost:
    """Host memory beside the parts."""
    wants, source, listed = question.wants, question.source, question.listed
    dense = source.nbytes if isinstance(source, BitMatrix) else n * n * dtype.itemsize
    windows = not isinstance(source, (int, np.integer)) and question.once(_windows) is not None
    array = not isinstance(source, (int, np.integer, BitMatrix))
    if wants.table and wants.limits is None:
        owned = listed or (array and not windows and question.intake.memory is Memory.OWNED)
        if owned:  # closed there, unless needed to name a cycle, which is known only later
            seen = (question.arcs.survey if listed else question.problem.seen) if wants.dry else None
            table = dense if seen is not None and divergence.may_diverge(question.semiring, seen, n) else 0
        else:
            table = 0 if wants.overwrite else dense
        pieces = 0 if ranks.in_one_process else dense  # pieces from other processes
        return OnHost(made=dense if owned else 0, after=table + pieces)
    after = 0
    if wants.paths:
        if question.is_graph:  # edges on disk: few are needed, checked when counted
            arcs = 0 if windows else source.arc_count
        else:
            arcs = n * n
        after = estimates.predecessors(n, dtype.itemsize, arcs, table=False)
        after += 0 if listed else STRIP  # of a matrix, while its edges are listed
        after += 4 * wants.partial * math.prod(question.shape)
    if wants.limits is not None or windows or listed:
        after += dense if wants.table and wants.limits.output is None else 0
        return OnHost(before=_SORTED * question.graph.edge_count if listed else 0, by_rows=True, after=after)
    if question.is_graph:
        converted = source.dense.dtype != dtype or source.unit or bool(source.nulls)
    else:
        converted = array and question.intake.memory is Memory.OWNED
    return OnHost(before=dense if converted else 0, after=after)


def _made(question: Question) -> int:
    """Bytes of the matrix converted from the input, if any."""
    owned = "intake" in vars(question) and question.intake.memory is Memory.OWNED
    return int(question.intake.taken.array.nbytes) if owned else 0


def _open(question: Question, plan: Plan) -> Engine:
    from ...big.distributed import solving

    s, wants, limits, begun = question.semiring, question.wants, question.wants.limits, clock()
    ranks, report = solving.world_of(wants.gpus, wants.options), partial(wants.report_zeros, semiring=s)
    hint = ROUTES if wants.paths else "Use more machines, a smaller dtype, or overwrite=True."
    here = plan.beside_bytes if plan.device == "cpu" else plan.host_bytes
    require(here - ranks.processes_on_node * _made(question), where=wants.where, hint=hint)
    if wants.table and limits is None:
        bits = isinstance(question.source, BitMatrix)
        A = question.source if bits else question.intake.taken.array
        D = solving.close(
            A, s, ranks, block=wants.block, overwrite=wants.overwrite,
            owned=not bits and question.intake.memory is Memory.OWNED, callback=wants.callback,
            on_survey=(lambda seen: None) if bits or not question.intake.null_undeclared else report,
        )  # fmt: skip
        return Dense(D, clock() - begun)
    found = solving.closed(question.source, question.once(_windows), s, wants, ranks, report)
    engine: Engine = Dense(found) if isinstance(found, np.ndarray) else Stored(found)
    refuse_after(question, engine, question.once(_windows))
    engine.seconds = getattr(found, "seconds", clock() - begun)
    return engine


ENGINE = Kind(
    "ranks", _estimate, _open, devices=("cpu", "cuda"), matrices=True, schedules=True, gpus=True, limits=None,
    answers_to="dense",
)  # fmt: skip
