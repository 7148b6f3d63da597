"""Closure of a NumPy array over several ranks: each reads its part and writes it back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.bits import BitMatrix
from semiring.distributed import World
from semiring.host.errors import DivergenceError, DomainError, DTypeError, ShapeError
from semiring.host.types import Array
from semiring.kernels.observed import Callback

from ...road.convergence import divergence, saturation, settle
from .matrix import DistributedMatrix


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
