"""Checks before and after a closure: existence, and rounding on the diagonal."""

from __future__ import annotations

from typing import TypeVar

from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.cycles import Johnson
from semiring.host.errors import SemiringError
from semiring.host.types import Array

from . import divergence, series

E = TypeVar("E", bound=SemiringError)


def precaution(A: Array, semiring: Semiring, survey: Survey, *, overwrite: bool) -> Johnson | None:
    """Raise DivergenceError (A unchanged) for visible divergence; return lengths for an A closed in its own memory.

    An overwritten A cannot tell later which cycles are negative and which only by rounding, so that is decided first;
    with cycles of length about 0, A is closed on Johnson's non-negative lengths.
    """
    if semiring.idempotent:
        return divergence.precaution(A, semiring) if overwrite else None
    series.precaution(A, semiring, survey)
    return None


def settle(D: Array, A: Array, semiring: Semiring, survey: Survey) -> Johnson | None:
    """Raise DivergenceError, naming a cycle or vertex, if D is no closure of A; `one` on its diagonal for idempotent ⊕.

    A is None if D is in its memory. Returns lengths if cycles negative by rounding may have amplified each other in
    D (the error doubles per pivot): the closure must then be repeated on the reweighted A.
    """
    if semiring.idempotent:
        return divergence.settle(D, A, semiring)
    series.check(D, semiring, survey)
    return None


def lost(error: E) -> E:
    """The error, noting that the matrix is overwritten."""
    return noted(error, " With overwrite=True the entries of A are lost by now; leave it out to keep them.")


def noted(error: E, note: str) -> E:
    error.args = (f"{error}{note}", *error.args[1:])
    return error
