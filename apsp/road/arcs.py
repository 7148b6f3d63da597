"""Arcs of a question's graph in the computing dtype, and statistics of them for the planner."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, survey
from semiring.dense.cycles import Lengths
from semiring.host.types import Edges, Matrix
from semiring.sparse.cycles import Weighted

from ..answers.neighbourhoods import ENOUGH, FEW, TRIED, Neighbourhoods, around
from ..io.graph import Graph
from ..io.graph.compressed import Compressed
from . import estimates
from .wants import Wants

if TYPE_CHECKING:
    from .question import Question

#: Degree of a hub, relative to the mean.
HUB = 8
#: Number of searches, and n, below which statistics cost more than they save.
SINGLE, SMALL = 16, 1000


class Arcs:
    """Arcs of a graph (undirected ones both ways), and their statistics, each computed on first use.

    `compressed` is the source's CSR matrix where it is in the computing dtype, else None. `lines` is the number of rows
    or columns to be searched.
    """

    def __init__(self, graph: Graph, semiring: Semiring, dtype: np.dtype, wants: Wants, lines: int) -> None:
        self.graph, self.semiring, self.dtype, self.wants, self.lines = graph, semiring, dtype, wants, lines
        self.compressed: Matrix = None
        if isinstance(graph, Compressed) and graph.directed and graph.weights.dtype == dtype:
            self.compressed = graph.compressed

    @cached_property
    def count(self) -> int:
        return len(self.listed[0]) if self.compressed is None else int(self.compressed.nnz)

    @cached_property
    def listed(self) -> Edges:
        """Tails, heads and weights."""
        graph, n = self.graph, self.graph.n
        tails, heads, weights = arcs = graph.edges(self.semiring, self.dtype)
        pairs = n * (n - 1)
        if graph.null_undeclared and len(weights) >= pairs and len(row := weights[tails != heads]) == pairs:
            off = survey(row[None], self.semiring, where=self.wants.where, first=(pairs,), null_undeclared=True)
            self.wants.report_zeros(off, self.semiring)  # all off-diagonal entries are present; zeros are ambiguous
        return arcs

    @property
    def heads(self) -> np.ndarray:
        heads: np.ndarray = self.listed[1] if self.compressed is None else self.compressed.indices
        return heads

    @property
    def weights(self) -> np.ndarray:
        weights: np.ndarray = self.listed[2] if self.compressed is None else self.compressed.data
        return weights

    @cached_property
    def survey(self) -> Survey:
        bounds = getattr(self.graph, "bounds", None) if self.compressed is not None else None
        return survey(self.weights, self.semiring, where=self.wants.where, bounds=bounds)

    @cached_property
    def spread(self) -> float:
        return estimates.spread(self.weights)

    @cached_property
    def near(self) -> Neighbourhoods:
        """Statistics of a few steps from some sources; empty without CSR."""
        A, n, sources = self.compressed, self.graph.n, self.wants.sources
        if A is None or n < SMALL:
            return Neighbourhoods()
        if sources is None:
            sources = np.random.default_rng(n).integers(0, n, TRIED)
        return around(A.indptr, A.indices, sources, FEW if self.lines <= SINGLE else ENOUGH)

    @cached_property
    def reach(self) -> float:
        """The estimated share of vertices that a search reaches."""
        A, near, n = self.compressed, self.near, self.graph.n
        if A is None:
            return estimates.reached(*self.listed[:2], n)
        far = 0.0
        if near.cut:
            leads = A.indptr[1:] != A.indptr[:-1]
            if self.lines < SINGLE:  # a look at the arcs would cost more than a few searches
                far = near.cut * np.count_nonzero(leads) / max(1, n)
            else:
                far = near.cut * estimates.reached(np.flatnonzero(leads), A.indices, n)
        return far + near.few / max(1, n)

    @cached_property
    def hubs(self) -> bool:
        """Whether hubs exist, at which searches soon meet."""
        A, n = self.compressed, max(1, self.graph.n)
        leaving = np.bincount(self.listed[0], minlength=n) if A is None else np.diff(A.indptr)
        return bool(leaving.max(initial=0) > HUB * self.count / n)

    @cached_property
    def longest(self) -> float:
        """An upper bound on simple paths: the sum over vertices of the heaviest out-arc (exact for integers)."""
        return Weighted(*self.listed, self.graph.n, self.semiring).longest


def narrowed(question: Question) -> bool:
    """Whether int32 holds all distances, though not all sums of simple paths.

    Proven by the engine of previous weights, or by one search each way; where likely, left to an engine that `proves`.
    """
    wants, source, s = question.wants, question.source, question.semiring
    if wants.dtype is not None or wants.table or wants.partial or wants.packed or not question.listed:
        return False
    weights = source.weights
    if weights is None or not dtypes.SCALARS[weights.dtype].integer or not len(weights):
        return False
    lengths = Lengths.of(s)
    if lengths is None or lengths.logarithmic:
        return False
    most = np.iinfo(np.int32).max
    if "int32" not in s.dtypes or dtypes.largest_finite(weights) >= most:
        return False
    if getattr(wants.like, "narrowed", False):
        return True
    if question.n > 4 * len(weights) or source.target(s) != np.int64:
        return False
    # Of a square lattice of n vertices, the farthest are 2 √n arcs apart.
    likely = not wants.dry and 2 * source._longest(s) < most * math.isqrt(question.n)
    if likely and (weights.min() >= 0 if lengths.sign > 0 else weights.max() <= 0):
        return True
    return question.once(farthest)[0] < most


def proven(question: Question) -> bool:
    """Whether searches prove that int32 holds all distances, if they are `narrowed`."""
    return not question.once(narrowed) or question.once(farthest)[0] < np.iinfo(np.int32).max


def farthest(question: Question) -> tuple[float, int]:
    """An upper bound on distances, by searches from and to a vertex, and that vertex."""
    s = question.semiring
    return Weighted(*question.graph.edges(s, np.int64), question.n, s).farthest()
