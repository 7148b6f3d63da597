"""`closure`, `shortest_paths` and `transitive_closure` over several ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.bits import BitMatrix
from semiring.distributed import World, world
from semiring.host.errors import AlgebraError, DivergenceError
from semiring.host.types import DType, Fields, Input
from semiring.kernels.backend import bind

from ...io.graph.ondisk import refuse_overwriting
from ...io.saving.tiles import TILE, as_store
from ...road.log import logger
from ...road.plans import Plan
from ...road.wants import Request, Wants
from ..large.limits import Limits
from ..large.sources import Source
from . import checkpoints, closing, plans
from .matrix import DistributedMatrix

#: Accepted values of `gpus=`.
WorldLike = int | Sequence[int] | World


def world_of(gpus: WorldLike, options: Fields | None = None) -> World:
    """The ranks of `gpus=`, with additional backend options for this call."""
    ranks = gpus if isinstance(gpus, World) else world(gpus=gpus)
    if options:
        ranks = copy(ranks)
        ranks.options = ranks.options | options
    return ranks


def plan(
    n: int,
    semiring: Semiring,
    dtype: DType,
    ranks: World,
    request: Request,
    extra: plans.OnHost = plans.NOTHING,
    *,
    nonnegative: bool = True,
) -> Plan:
    ops = bind(semiring, dtype, device=ranks.device, nonnegative=nonnegative, **ranks.options)
    return plans.plan(n, semiring, ops, ranks, block=request.block, extra=extra)


def closed(
    source: Input, semiring: Semiring, wants: Wants, ranks: World, on_survey: Callable[[Survey], None]
) -> DistributedMatrix | np.ndarray:
    """The distributed closure, written if `limits` have an output; gathered if only all of it shows convergence."""
    limits, where = wants.limits, wants.where
    if limits is None:

        def parts() -> DistributedMatrix:
            # `on_survey` warns of zeros in the caller's name instead.
            graph = source.having(nulls=()) if source.null_undeclared else source
            M = DistributedMatrix.from_graph(graph, semiring, world=ranks, dtype=wants.dtype, block=wants.block)
            if source.null_undeclared:
                on_survey(M.seen)
            return M.close(callback=wants.callback)

        return _closed(parts, lambda: source.matrix(semiring, wants.dtype), semiring, wants, ranks, None)
    windows = Source.of(source, semiring, wants.dtype, nulls=wants.nulls, where=where)
    return _closed(
        lambda: _within_limits(windows, wants, ranks, limits, on_survey), windows.to_array, semiring, wants, ranks,
        limits,
    )  # fmt: skip


def _closed(
    parts: Callable[[], DistributedMatrix],
    to_dense: Callable[[], np.ndarray],
    semiring: Semiring,
    request: Request,
    ranks: World,
    limits: Limits | None,
) -> DistributedMatrix | np.ndarray:
    """The closure by `parts`, or of the whole matrix if convergence needs it: ⊕ not idempotent, or possible rounding.

    AlgebraError for such a ⊕ over several processes; DivergenceError if there is no closure, or rounding may have made
    a cycle negative over several processes.
    """
    gathers = ranks.in_one_process
    if semiring.idempotent:
        try:
            return parts()
        except DivergenceError:
            if not gathers:
                raise
    elif not gathers:
        raise AlgebraError(
            f"closure: over several processes ⊕ must be idempotent, got {semiring.name}, whose sums may have no limit, "
            "which is looked for in the entire matrix. Use the GPUs of one machine."
        )
    if limits is not None and limits.checkpoint is not None:
        logger.warning("%s: no checkpoint is written of a closure that needs the entire matrix", limits.checkpoint)
    D: np.ndarray = closing.close(to_dense(), semiring, ranks, block=request.block, callback=request.callback)
    if limits is not None and limits.made_in is not None:
        as_store(D, limits.made_in, semiring)
    return D


def _within_limits(
    source: Source, request: Request, ranks: World, limits: Limits, on_survey: Callable[[Survey], None]
) -> DistributedMatrix:
    """The closure of a source with the checkpoint and output of `limits`; ValueError for a memory limit."""
    limits.refuse_memory(where="closure")
    refuse_overwriting(source.origin, limits.output, where="closure")
    block, callback = request.block, request.callback
    if limits.checkpoint is not None:
        M = checkpoints.close(source, ranks, limits, block=block, callback=callback, on_survey=on_survey)
    else:
        M = DistributedMatrix.filled(
            source.n, source.semiring, source.dtype, source.window, world=ranks, block=block, rows_at_a_time=True,
            unit=TILE,
        )  # fmt: skip
        if source.nulls is None:
            on_survey(M.seen)
        M.close(callback=callback)
    if limits.made_in is not None and not limits.in_checkpoint:
        checkpoints.write(M, limits.made_in)
    return M


def close_bits(closed: BitMatrix, request: Request, gpus: WorldLike) -> None:
    """closed ← its reflexive closure, on the host, by several ranks."""
    arguments: Fields = {"block": request.block, "overwrite": True, "callback": request.callback}
    closing.close(closed, get("lor_land"), world_of(gpus), **arguments)
