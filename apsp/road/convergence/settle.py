"""Checks before and after a closure: existence, and rounding on the diagonal."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.cycles import Johnson, Lengths
from semiring.host.errors import SemiringError
from semiring.host.memory import require
from semiring.host.types import Array

from . import divergence, series

E = TypeVar("E", bound=SemiringError)


def precaution(A: Array, semiring: Semiring, survey: Survey, *, overwrite: bool) -> Johnson | None:
    """Raise DivergenceError (A unchanged) for visible divergence; return lengths for an A closed in its own memory.

    An overwritten A cannot tell later which cycles are negative and which only by rounding, so that is decided first;
    with cycles of length about 0, A is closed on Johnson's non-negative lengths.
    """
    if not semiring.idempotent:
        series.precaution(A, semiring, survey)
        return None
    if not overwrite or Lengths.of(semiring) is None:
        return None
    potential = divergence.potentials(_host(A), semiring, careful=True)
    return None if potential is None else Johnson(semiring, potential)


def settle(D: Array, A: Array, semiring: Semiring, survey: Survey) -> Johnson | None:
    """Raise DivergenceError, naming a cycle or vertex, if D is no closure of A; `one` on its diagonal for idempotent ⊕.

    A is None if D is in its memory. Returns lengths if cycles negative by rounding may have amplified each other in
    D (the error doubles per pivot): the closure must then be repeated on the reweighted A.
    """
    if not semiring.idempotent:
        series.check(D, semiring, survey)
        return None
    diagonal = _host(D.diagonal())
    vertex = divergence.beaten(diagonal, semiring)
    if vertex is None:
        return None
    if A is not None and Lengths.of(semiring):
        potential = divergence.potentials(_host(A), semiring)
        if potential is None or not dtypes.SCALARS[A.dtype].floating:
            raise divergence.vertex_error(vertex, diagonal[vertex], semiring, where="closure")
        return Johnson(semiring, potential)
    loop = None if A is None else divergence.beaten(_best_of_one(_host(A.diagonal()), semiring), semiring)
    if loop is not None:  # a loop is not rounded
        raise divergence.vertex_error(loop, A[loop, loop].item(), semiring, where="closure")
    if divergence.beyond_rounding(D, D if A is None else A, vertex, semiring):
        raise divergence.vertex_error(vertex, diagonal[vertex], semiring, where="closure")
    D[range(len(D)), range(len(D))] = dtypes.one(semiring, D.dtype)
    return None


def lost(error: E) -> E:
    """The error, noting that the matrix is overwritten."""
    return noted(error, " With overwrite=True the entries of A are lost by now; leave it out to keep them.")


def noted(error: E, note: str) -> E:
    error.args = (f"{error}{note}", *error.args[1:])
    return error


def _best_of_one(diagonal: np.ndarray, semiring: Semiring) -> np.ndarray:
    """1 ⊕ a for every entry of a diagonal."""
    one = dtypes.one(semiring, diagonal.dtype).item()
    return np.array([semiring.add.python(one, a) for a in diagonal.tolist()], diagonal.dtype)


def _host(A: Array) -> np.ndarray:
    if not isinstance(A, np.ndarray):
        require(A.nbytes, where="closure", hint="Its cycles are looked at on the CPU. Use a smaller dtype.")
        A = A.get()
    host: np.ndarray = A
    return host
