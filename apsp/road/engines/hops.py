"""Engine: breadth-first searches from hundreds of sources at a time, for edges of equal weight."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from semiring import sparse
from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.dense.cycles import Lengths
from semiring.host.devices import host
from semiring.host.errors import MemoryNeeded
from semiring.host.types import Array, Blocks, Edges

from .. import estimates
from ..estimates import Estimate
from ..question import Question
from .base import Engine, Kind, counting, offer
from .part import as_limit


class Searched(Engine):
    """Rows of distances, searched again on every request.

    `arcs` have one common weight, in a dtype that holds the longest path (unless it is the integer 1); ⊕ keeps the
    least of lengths. `device` is that of searches and blocks of rows; `limit` cuts searches if edges weigh 1.
    """

    name = "hops"

    repeats = True
    renews = False

    def __init__(
        self, arcs: Edges, n: int, semiring: Semiring, threads: int | None = None, device: str = "cpu",
        limit: float | None = None,
    ) -> None:  # fmt: skip
        self.arcs, self.semiring, self.threads, self.device = arcs, semiring, threads, device
        self.shape, self.dtype = (n, n), arcs[2].dtype
        self._unit = arcs[2][0] if len(arcs[2]) else self.dtype.type(1)
        self._limit = max(limit, 0) if limit is not None and self._unit == 1 else None
        self._zero = dtypes.zero(semiring, self.dtype)

    @cached_property
    def _forward(self) -> sparse.Hops:
        return self._hops(*self.arcs[:2])

    @cached_property
    def _backward(self) -> sparse.Hops:
        return self._hops(*self.arcs[1::-1])

    def _hops(self, tails: np.ndarray, heads: np.ndarray) -> sparse.Hops:
        n = self.shape[0]
        return sparse.Hops((tails, heads), n, dtype=self.dtype, threads=self.threads, device=self.device)

    @cached_property
    def levels(self) -> int:
        """Hops to the farthest vertex from one of maximum degree: about half the diameter."""
        if not len(self.arcs[0]):
            return 0
        row = self._forward.row(int(np.bincount(self.arcs[0]).argmax()), limit=self._forward.end - 1)
        return int(row[row != self._zero].max())

    def batch(self, lines: int) -> int:
        """Sources searched at a time."""
        return self._forward.batch(lines)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        for positions, D in self._forward.rows(wanted, limit=self._limit, block=block):
            yield positions, self._weighed(D)

    def column(self, j: int) -> np.ndarray:
        return host(self._weighed(self._backward.row(j, limit=self._limit)))

    def table(self) -> Array:
        # GPU searches allocate by themselves.
        return super().table() if self.device == "cpu" else self._weighed(self._forward.to_dense(limit=self._limit))

    def _weighed(self, D: Array) -> Array:
        if self._unit == 1:
            return D
        if self.device != "cpu":
            return np.where(D == self._zero, D, D * self._unit)
        return np.multiply(D, self._unit, out=D, where=D != self._zero)


def search(question: Question) -> str:
    """SciPy's search that can answer a question, or ""."""
    s, lengths = question.semiring, Lengths.of(question.semiring)
    if lengths is None or lengths.logarithmic or lengths.sign < 0 or not s.lengths:
        return ""
    # SciPy computes in float64; Johnson's lengths are up to twice as long.
    seen = question.arcs.survey
    if dtypes.SCALARS[question.dtype].integer and question.arcs.longest * (2 if seen.least < 0 else 1) >= 2.0**53:
        return ""
    if seen.least < 0:
        return "johnson"
    alike = not question.arcs.count or (seen.least == seen.greatest and 0 < seen.least < np.inf)
    return "breadth-first" if alike else "dijkstra"


def searched(question: Question) -> Searched:
    wants = question.wants
    limit = None if wants.limit is None else as_limit(wants.limit)
    return Searched(
        question.arcs.listed, question.n, question.semiring, wants.options.get("threads"), question.device, limit
    )


def known_levels(question: Question) -> int:
    """Levels of a search from a vertex of maximum degree; 0 if the engine refuses, does not fit, or must compile."""
    try:
        return 0 if _refuses(question) or question.missing("hops").kernels else question.once(searched).levels
    except MemoryNeeded:
        return 0


def _refuses(question: Question) -> str:
    """Refuse unequal weights, or a dtype too small for the longest path (integers of weight 1 are checked later)."""
    dtype, seen = question.dtype, question.arcs.survey
    if question.once(search) == "breadth-first":
        record = dtypes.SCALARS[dtype]
        most = record.high - 1 if record.integer else 2.0 ** (np.finfo(dtype).nmant + 1)
        counted = record.integer and seen.least == seen.greatest == 1
        if counted or max(question.arcs.longest, question.n) <= most:  # searches count up to n for any weight
            return ""
    return (
        f"finds shortest paths where all edges weigh the same, and {dtype} must hold the longest of them; got "
        f"{question.semiring.name} of weights {question.arcs.survey.least:g} … {question.arcs.survey.greatest:g}"
    )


def _estimate(question: Question) -> Estimate:
    engine, n, arcs, lines = question.once(searched), question.n, len(question.arcs.listed[0]), question.lines
    size, deep, batch = question.dtype.itemsize, engine.levels, engine.batch(lines)
    if question.device == "cuda":
        taken = estimates.hops_on_gpu(n, arcs, lines, size, deep, batch)
    else:
        taken = estimates.hops(n, arcs, lines, question.columns, size, deep, batch, question.threads)
    return offer(question, taken, "breadth-first", block=engine.batch(n))


def _looks(question: Question) -> float:
    """At least the time to sort the arcs, needed to count levels, plus one level."""
    looks, arcs = question.once(counting), question.graph.edge_count
    if math.isinf(looks):
        return looks
    if question.device == "cuda":
        return max(looks, estimates.adjacent(arcs))
    size, batch = question.dtype.itemsize, estimates.WORD
    return max(looks, estimates.hops(question.n, arcs, question.lines, 0, size, 1, batch, question.threads).seconds)


ENGINE = Kind(
    "hops", _estimate, lambda question, plan: question.once(searched), refuses=_refuses, looks=_looks,
    devices=("cpu", "cuda"), limits=None, compiles="hops",
)  # fmt: skip
