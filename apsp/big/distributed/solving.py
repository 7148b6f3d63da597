"""`closure`, `shortest_paths` and `transitive_closure` over several ranks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from semiring.algebra.catalog import get
from semiring.algebra.ranges import local
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.bits import BitMatrix
from semiring.distributed import World, world
from semiring.host.errors import AlgebraError, DivergenceError
from semiring.host.types import Array, DType, Fields, Input
from semiring.kernels.backend import Backend, bind

from ...io.graph.ondisk import refuse_overwriting
from ...io.saving import tiles
from ...road.log import logger
from ...road.plans import Plan
from ...road.wants import Request, Wants
from ..large import checkpoints
from ..large.limits import Limits
from ..large.sources import Source
from . import closing, plans
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
    source: Input,
    matrix: Source | None,
    semiring: Semiring,
    wants: Wants,
    ranks: World,
    on_survey: Callable[[Survey], None],
) -> DistributedMatrix | np.ndarray:
    """The closure over ranks of `matrix`, by default that of a graph, with the checkpoint and output of its limits.

    All of it in this process if convergence needs that: ⊕ not idempotent, or possible rounding. Raises AlgebraError for
    such a ⊕ over several processes; DivergenceError if there is no closure, or rounding may have made a cycle negative
    over several processes; FormatError in every rank for a checkpoint of another; OSError.
    """
    limits = wants.limits or Limits()
    undeclared = source.null_undeclared if matrix is None else matrix.nulls is None
    if matrix is None:  # zeros are warned of in the caller's name
        source = source.having(nulls=()) if undeclared else source
        matrix = Source.of(source, semiring, wants.dtype, where=wants.where)
    refuse_overwriting(matrix.origin, limits.output, where="closure")
    if semiring.idempotent:
        try:
            return _in_parts(matrix, wants, ranks, limits, on_survey if undeclared else None)
        except DivergenceError:
            if not ranks.in_one_process:
                raise
    elif not ranks.in_one_process:
        raise AlgebraError(
            f"closure: over several processes ⊕ must be idempotent, got {semiring.name}, whose sums may have no limit, "
            "which is looked for in the entire matrix. Use the GPUs of one machine."
        )
    if limits.checkpoint is not None:
        logger.warning("%s: no checkpoint is written of a closure that needs the entire matrix", limits.checkpoint)
    A = matrix.to_array() if wants.limits else source.matrix(semiring, wants.dtype)
    D: np.ndarray = closing.close(A, semiring, ranks, block=wants.block, callback=wants.callback)
    if limits.made_in is not None:
        tiles.as_store(D, limits.made_in, semiring)
    return D


def _in_parts(
    matrix: Source, wants: Wants, ranks: World, limits: Limits, on_survey: Callable[[Survey], None] | None
) -> DistributedMatrix:
    checkpoint, unit = None, 1 if limits.output is None else tiles.TILE
    if limits.checkpoint is not None:
        checkpoint, seen = ranks.on_first(lambda: _opened(matrix, ranks, limits))
        unit, matrix = checkpoint.store.block[0], checkpoint.continued(matrix)
    M = DistributedMatrix.from_source(matrix, world=ranks, block=wants.block, unit=unit)
    if on_survey is not None:
        on_survey(M.seen if checkpoint is None else seen)
    M.close(callback=wants.callback, checkpoint=checkpoint)
    if limits.made_in is not None and not limits.in_checkpoint:
        write(M, limits.made_in)
    return M


def _opened(source: Source, ranks: World, limits: Limits) -> tuple[checkpoints.Checkpoint, Survey]:
    """The checkpoint of a closure over ranks, and the survey of the source; raises FormatError, OSError."""
    assert limits.checkpoint is not None
    ops = bind(source.semiring, source.dtype, device=ranks.device, **ranks.options)
    return checkpoints.opened(limits.checkpoint, source, ops, every=limits.every), source.surveyed[0]


def write(M: DistributedMatrix, path: str | os.PathLike[str]) -> None:
    """Write the matrix as a store of tiles, each rank its own; OSError in every rank."""
    owned = math.lcm(M.layout.block, M.layout.unit)  # tiles belong to one rank each
    tile = tiles.TILE if owned % tiles.TILE == 0 else M.layout.block
    store = M.world.on_first(lambda: tiles.new_store(path, M.shape, M.dtype, M.semiring, block=tile))

    def put(ops: Backend, part: Array, rows: slice, columns: slice) -> None:
        def fetch(r: slice, c: slice) -> np.ndarray:
            return np.asarray(ops.download(part[local(r, rows), local(c, columns)]))

        checkpoints.PartWriter(store, rows, columns).write(M.n, fetch)

    M.each_part(put)
    M.world.allgather([None for _ in M.world.local_ranks])  # all tiles are written


def close_bits(closed: BitMatrix, request: Request, gpus: WorldLike) -> None:
    """closed ← its reflexive closure, on the host, by several ranks."""
    arguments: Fields = {"block": request.block, "overwrite": True, "callback": request.callback}
    closing.close(closed, get("lor_land"), world_of(gpus), **arguments)
