"""Bellman and Ford's rounds, from many sources at a time: an engine in one file, to show that this is all it takes.

Ford 1956; Bellman 1958, "On a routing problem". Every round looks at each arc once, and n − 1 of them are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.conversion import conform
from semiring.dense.cycles import Lengths
from semiring.sparse.cycles import Weighted

from ..estimates import Estimate
from ..plans import Plan
from .base import BLOCK, Engine, Kind, offer

if TYPE_CHECKING:
    from ..question import Question


class Rounds(Engine):
    """Rows, found again whenever they are asked for."""

    name = "rounds"
    repeats = True

    def __init__(self, question: Question) -> None:
        self.arcs, self.semiring = question.arcs.listed, question.semiring
        self.shape, self.dtype = (question.n,) * 2, question.dtype

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Rounds from a block of sources."""
        for start in range(0, len(wanted), block or BLOCK):
            part = wanted[start : start + (block or BLOCK)]
            yield part, self._found(part, *self.arcs).T

    def column(self, j: int) -> np.ndarray:
        """Rounds from one target, against the arcs; ⊗ commutes in every semiring here."""
        tails, heads, weights = self.arcs
        return self._found(np.array([j]), heads, tails, weights)[:, 0]

    def _found(self, sources: np.ndarray, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """D[:, q] ← the best walks from source q, in float64, which holds what integers below 2⁵³ add up to."""
        s = self.semiring
        lengths = np.where(weights == dtypes.zero(s, self.dtype), s.zero, weights.astype(np.float64))[:, None]
        D = np.full((self.shape[0], len(sources)), float(s.zero))
        D[sources, np.arange(len(sources))] = s.one
        for _ in range(self.shape[0]):
            before = D.copy()
            s.add.ufunc.at(D, heads, s.mul.ufunc(before[tails], lengths))
            if (before == D).all():
                break
        found: np.ndarray = conform(D, s, self.dtype, where="shortest_paths")
        return found


def _refuses(question: Question) -> str:
    s = question.semiring
    able = s.add.selects and s.add.ufunc and s.mul.ufunc and not s.boolean
    return "" if able else f"takes a semiring of numbers whose ⊕ selects, got {s.name}"


def _estimate(question: Question) -> Estimate:
    n, arcs = question.n, len(question.arcs.listed[0])
    row = n * arcs * 5e-9
    taken = Estimate("rounds", n * arcs * question.lines, 40 * arcs + 24 * n * BLOCK, question.lines * row, row, row)
    return offer(question, taken, "rounds")


def _open(question: Question, plan: Plan) -> Rounds:
    """A cycle that makes walks ever better is named first, where weights are lengths."""
    if question.arcs.survey.least < 0 and Lengths.of(question.semiring) is not None:
        Weighted(*question.arcs.listed, question.n, question.semiring).potentials(where=question.wants.where)
    return Rounds(question)


ENGINE = Kind("rounds", _estimate, _open, refuses=_refuses, on_request_only=True)
