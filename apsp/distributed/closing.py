"""The closure of a NumPy array over several ranks: each takes its part, and puts it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semiring.algebra import Semiring
from semiring.bits import BitMatrix
from semiring.cycles import restore, reweight
from semiring.distributed import World
from semiring.errors import DivergenceError, DTypeError, ShapeError
from semiring.observed import Callback
from semiring.survey import Survey
from semiring.types import Array

from ..convergence import divergence, settle
from .matrix import DistributedMatrix


def close(
    A: Array,
    semiring: Semiring,
    world: World,
    *,
    block: int | None = None,
    overwrite: bool = False,
    made_here: bool = False,
    callback: Callback | None = None,
    look: Callable[[Survey], None] = lambda seen: None,
) -> Any:
    """A* as a new array, or in A's memory.

    Parameters
    ----------
    A : NumPy array in the dtype to compute in, shape (n, n), or BitMatrix on the host
    overwrite : bool
        Whether the result is written into A's memory.
    made_here : bool
        Whether A may be overwritten where it need not be asked for its cycles afterwards.
    look : callable
        Called with what was seen of the entries, before the work.

    Raises
    ------
    DivergenceError
        If the closure does not exist, as `apsp.closure` has it.
    ShapeError, DTypeError
        If A is a batch, or on a device.
    """
    if not isinstance(A.words if isinstance(A, BitMatrix) else A, np.ndarray):
        raise DTypeError(
            "closure: gpus= takes a matrix on the host, a part to each card, got one on a GPU. Take .get()."
        )
    if len(A.shape) != 2:
        raise ShapeError(f"closure: gpus= takes one matrix, (n, n), got shape {A.shape}. Close a batch on one GPU.")
    M = DistributedMatrix.from_array(A, semiring, world=world, block=block, null_value=None)
    seen = M.seen
    look(seen)
    diverges = divergence.may_diverge(semiring, seen, M.n)
    potential = settle.precaution(A, semiring, seen, overwrite=overwrite) if diverges else None
    D, ready = (A, None) if overwrite or (made_here and not diverges) else _landing(M, A)
    if potential is None:
        M.run(callback=callback)
        if ready:
            ready.result()
        M.gather(D)
        if not diverges:
            return D
        try:
            potential = settle.settle(D, None if overwrite else A, semiring, seen)
        except DivergenceError as error:
            raise settle.lost(error) if overwrite else error from None
    if potential is None:
        return D
    # Cycles of length about 0 feed on each other's rounding: on Johnson's lengths, which are not negative, none does.
    del M  # before its parts are made again
    if not overwrite:
        D[...] = A
    reweight(D, semiring, potential)
    M = DistributedMatrix.from_array(D, semiring, world=world, block=block, null_value=None)
    M.run(callback=callback)
    M.gather(D)
    restore(D, semiring, potential)
    settle.reflexive(D, semiring)
    return D


def _landing(M: DistributedMatrix, A: Array) -> tuple[Any, Any]:
    """A buffer for the result, and the future of its pages, which are allocated while devices work."""
    if isinstance(A, BitMatrix):
        return BitMatrix.zeros(A.shape), None
    return M.landing()
