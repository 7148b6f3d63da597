"""Engine: the dense closure with limited memory, checkpoints or output (apsp/big/large); output of rows for others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semiring.algebra.records import Semiring
from semiring.host.compiling import clock
from semiring.host.memory import require
from semiring.kernels.observed import Callback

from ...big.large.closing import Large
from ...big.large.limits import Limits
from ...big.large.sources import Source, has_windows
from ...io.graph import Graph
from ...io.graph.ondisk import OnDisk
from ...io.saving.base import Table
from ...io.saving.tiles import HELD, TILES, rows_as_store
from .. import estimates
from ..estimates import Estimate
from ..plans import Plan
from ..problem import ROUTES
from ..question import Question
from . import dense
from .base import BLOCK, Engine, Kind
from .dense import Dense
from .saturation import refuse_after
from .stored import Stored

if TYPE_CHECKING:
    from ..road import Answer


def _large(question: Question) -> Large:
    wants, source = question.wants, question.source
    if isinstance(source, (int, np.integer)):
        s = question.semiring
        source = Source(int(source), s, question.dtype, None)
    large = Large.of(source, question.semiring, wants)
    if not wants.dry:
        large.check_places()  # before all entries are looked at, which may take long
    return large


def _estimate(question: Question) -> Estimate:
    large, wants = question.once(_large), question.wants
    plan = replace(large.plan, engine=ENGINE.name)
    if wants.paths:  # in host memory, after the closure
        n = large.source.n
        on_disk = isinstance(large.source.origin, OnDisk)  # few edges on disk are needed
        arcs = 0 if on_disk else question.graph.arc_count
        size = large.source.dtype.itemsize
        routes = estimates.predecessors(n, size, arcs, table=False) + BLOCK * n * size  # rows are read, then transposed
        require(routes, where=wants.where, hint=ROUTES)
        on_host = large.device != "cpu"
        plan = replace(plan, beside_bytes=max(plan.beside_bytes, 0 if on_host else routes), host_bytes=on_host * routes)
    return estimates.dense(plan)


def _open(question: Question, plan: Plan) -> Engine:
    wants, large, begun = question.wants, question.once(_large), clock()
    large.check()
    question.wants.report_zeros(large.source.surveyed[0], question.semiring)
    if large.ordinary:  # an output is all that the dense engine lacks
        source = question.source
        if isinstance(source, Graph):
            source = source.having(nulls=()) if source.null_undeclared else source
        elif has_windows(source) or wants.nulls:
            source = large.source.to_array()
        inner = replace(question, source=source, wants=replace(wants, limits=None, nulls=()))  # zeros were reported
        found = dense.ENGINE.open(inner, dense.ENGINE.estimate(inner).plan)  # type: ignore[arg-type] # it has one
        D = large.as_requested(np.asarray(found.storage))
    else:
        D = large.close(wants.callback)
    engine: Engine = Dense(D) if isinstance(D, np.ndarray) else Stored(D)
    if not large.ordinary:
        refuse_after(question, engine, large.source)
    engine.seconds = clock() - begun
    return engine


def written(answered: Answer, limits: Limits, semiring: Semiring, callback: Callback | None) -> Answer:
    """Write the output of an engine that stores nothing, by as many rows as fit."""
    engine, begun = answered.engine, clock()
    if limits.made_in is None or engine.stored:
        return answered
    more = math.inf if limits.memory is None else limits.memory - answered.plan.beside_bytes  # beyond the minimum
    row = HELD * engine.shape[1] * engine.dtype.itemsize
    tile = max(tile for tile in TILES if tile == TILES[0] or (tile - TILES[0]) * row <= more)
    table = Table(engine.shape, engine.dtype, engine.blocks, (), (), semiring, callback)
    store = rows_as_store(table, limits.made_in, tile)
    store.sync()
    return answered._replace(engine=Stored(store), seconds=answered.seconds + clock() - begun)


ENGINE = Kind(
    "streamed", _estimate, _open, devices=("cpu", "cuda"), matrices=True, schedules=True, limits=True,
    answers_to="dense", compiles="closure",
)  # fmt: skip
