"""Integer saturation in an engine's distances: `apsp.road.convergence.saturation` by rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.host.memory import available

from ...big.large.sources import Source
from ..convergence.saturation import Distances, Reach, loses, possible
from ..question import Question
from .base import Engine


def refuse_after(question: Question, D: Engine, source: Source | None) -> None:
    """Raise for saturation in a closure within limits or in parts; for a table, only for wrong values."""
    s, limits, where = question.semiring, question.wants.limits, question.wants.where
    memory = None if limits is None else limits.memory
    if question.wants.table:
        strips = () if source is None else (part for _, part in source.strips())
        if source is not None and loses(source.surveyed[0], strips, D.dtype, s, source.n):
            refuse_saturated(D, range(source.n), s, memory, where=where)
        return
    if not dtypes.SCALARS[D.dtype].integer or not s.mul.saturating:
        return
    graph = question.graph
    weights: Any = graph.windows(s, D.dtype)  # of a matrix on disk
    if weights is None:
        weights = graph.matrix(s, D.dtype) if graph.dense is not None else graph.edges(s, D.dtype)[2]
    if possible(dtypes.parts(weights), D.dtype, s, graph.n):
        refuse_saturated(D, graph.labels, s, memory)


def refuse_saturated(
    D: Engine, labels: Any, s: Semiring, memory: int | None = None, *, where: str = "shortest_paths"
) -> None:
    """DomainError, naming two vertices, if a best walk saturated; the log names suspects if no memory to decide."""
    n = len(labels)

    def reach() -> Reach | None:
        most = available() if memory is None else memory
        if most is not None and n * n // 8 > most // 2:
            return None
        return every.reached()

    block = None if D.device == "cpu" else 1 + dtypes.ON_GPU // n
    every = Distances(lambda: D.rows(np.arange(n), block), labels, dtypes.zero(s, D.dtype))
    every.refuse(reach, where=where)
