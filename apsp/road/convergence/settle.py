"""Checks before and after a closure: existence, and rounding on the diagonal."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey
from semiring.dense.cycles import Johnson
from semiring.host.errors import SemiringError
from semiring.host.types import Array

from . import divergence
from .series import Series

E = TypeVar("E", bound=SemiringError)


class Existence(NamedTuple):
    """Whether the closure of A exists; `overwrite`: it is computed in A's memory."""

    A: Array
    semiring: Semiring
    seen: Survey
    overwrite: bool

    def precaution(self) -> Johnson | None:
        """Raise DivergenceError (A unchanged) for visible divergence; lengths for an A closed in its own memory.

        An overwritten A cannot tell later which cycles are negative and which only by rounding, so that is decided
        first; with cycles of length about 0, A is closed on Johnson's non-negative lengths.
        """
        if self.semiring.idempotent:
            return divergence.precaution(self.A, self.semiring) if self.overwrite else None
        Series(self.semiring, self.seen).precaution(self.A)
        return None

    def settle(self, D: Array) -> Johnson | None:
        """Raise DivergenceError, naming a cycle or vertex, if D is no closure; `one` on its diagonal for idempotent ⊕.

        Returns lengths if cycles negative by rounding may have amplified each other in D (the error doubles per
        pivot): the closure must then be repeated on the reweighted A.
        """
        if self.semiring.idempotent:
            return divergence.settle(D, None if self.overwrite else self.A, self.semiring)
        Series(self.semiring, self.seen).check(D)
        return None


def lost(error: E) -> E:
    """The error, noting that the matrix is overwritten."""
    return noted(error, " With overwrite=True the entries of A are lost by now; leave it out to keep them.")


def noted(error: E, note: str) -> E:
    error.args = (f"{error}{note}", *error.args[1:])
    return error
