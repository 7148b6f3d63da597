"""`closure`, `shortest_paths` and `transitive_closure` over several ranks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.ranges import local
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.bits import BitMatrix
from semiring.distributed import World, world
from semiring.host.errors import AlgebraError, DivergenceError, DomainError, DTypeError, ShapeError
from semiring.host.types import Array, DType, Fields, Input
from semiring.kernels.backend import Backend, bind
from semiring.kernels.observed import Callback

from ...io.graph.ondisk import refuse_overwriting
from ...io.saving import tiles
from ...road.convergence import divergence, saturation, settle
from ...road.log import logger
from ...road.plans import Plan
from ...road.wants import Request, Wants
from ..large import checkpoints
from ..large.limits import Limits
from ..large.sources import Source
from . import plans
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
    D: np.ndarray = close(A, semiring, ranks, block=wants.block, callback=wants.callback)
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


def close(
    A: Array,
    semiring: Semiring,
    world: World,
    *,
    block: int | None = None,
    overwrite: bool = False,
    owned: bool = False,
    callback: Callback | None = None,
    on_survey: Callable[[Survey], None] = lambda seen: None,
) -> Array:
    """A* of a host array or BitMatrix in the computing dtype, in a new array or (`overwrite`) in A.

    `owned`: A may be overwritten unless needed to name a cycle. `on_survey` receives the survey of the entries first.
    Raises DivergenceError as `apsp.closure`, ShapeError for a batch, DTypeError for a device array.
    """
    if not isinstance(A.words if isinstance(A, BitMatrix) else A, np.ndarray):
        raise DTypeError(
            "closure: gpus= takes a matrix on the host, a part to each card, got one on a GPU. Take .get()."
        )
    if len(A.shape) != 2:
        raise ShapeError(f"closure: gpus= takes one matrix, (n, n), got shape {A.shape}. Close a batch on one GPU.")
    M = DistributedMatrix.from_array(A, semiring, world=world, block=block, null_value=None)
    seen = M.seen
    on_survey(seen)
    diverges = divergence.may_diverge(semiring, seen, M.n)
    loses = diverges and saturation.loses(seen, dtypes.parts(A), A.dtype, semiring, M.n)
    existence = settle.Existence(A, semiring, seen, overwrite)
    lengths = existence.precaution() if diverges else None
    if overwrite or (owned and not diverges):
        D, ready = A, None
    else:
        D, ready = (BitMatrix.zeros(A.shape), None) if isinstance(A, BitMatrix) else M.allocate_result()
    if lengths is None:
        M.run(callback=callback)
        if ready:
            ready.result()
        M.gather(D)
        if not diverges:
            return D
        try:
            lengths = existence.settle(D)
            if loses:
                saturation.refuse_in_matrix(D, semiring, where="closure")
        except (DivergenceError, DomainError) as error:
            raise settle.lost(error) if overwrite else error from None
    if lengths is None:
        return D
    # Cycles of length about 0 amplify rounding; Johnson's non-negative lengths have none.
    del M  # before its parts are allocated again
    if not overwrite:
        D[...] = A
    lengths.reweight(D)
    M = DistributedMatrix.from_array(D, semiring, world=world, block=block, null_value=None)
    M.run(callback=callback)
    M.gather(D)
    lengths.restore(D)
    return D
