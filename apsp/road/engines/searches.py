"""Engine: searches by weight from 32 sources at a time, for graphs neither road-like nor dense."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from semiring import sparse
from semiring.algebra import dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.dense.cycles import Lengths, searchable
from semiring.host.devices import module, on_device
from semiring.host.memory import require
from semiring.host.types import Array, Blocks, Edges, Fields

from .. import estimates, rates
from ..estimates import Estimate
from ..question import Question
from .base import BLOCK, Kind, counting, offer
from .elimination import potentials
from .part import as_limit
from .scipy import Searching, lengths_of

#: Trial searches: sources a batch, largest share of the total time, number of batches.
SAMPLED, LOOK, TRIED = 4, 1 / 16, 4


class Relaxed(Searching):
    """Rows of distances, searched again on every request.

    `arcs` are (tails, heads, weights), or a non-negative CSR matrix, made non-negative by `potential` (n,). `dtype` is
    that of the search: the weights', or wider integers that hold every sum. `limit` cuts searches; worse distances are
    no path. `labels` by position are for errors; `device` is that of searches and blocks of rows; `backwards`: the arcs
    are reversed.
    """

    name = "searches"

    def __init__(
        self, arcs: Array, n: int, semiring: Semiring, dtype: np.dtype, threads: int | None = None,
        limit: float | None = None, labels: object = None, potential: np.ndarray | None = None, device: str = "cpu", *,
        backwards: bool = False,
    ) -> None:  # fmt: skip
        self._given, self.semiring, self.threads, self.searched, self.device = arcs, semiring, threads, dtype, device
        self.shape, self.dtype = (n, n), (arcs.data if hasattr(arcs, "indptr") else arcs[2]).dtype
        self.furthest, self._labels = limit, range(n) if labels is None else labels
        self._potential, self._backwards = potential, backwards

    def __setstate__(self, state: Fields) -> None:
        """Compatibility: pickles from before CSR input have `arcs`."""
        vars(self).update(state)
        self._given = state.get("_given", state.get("arcs"))

    @cached_property
    def arcs(self) -> Edges:
        if hasattr(self._given, "indptr"):
            coo = self._given.tocoo(copy=False)
            return coo.row, coo.col, coo.data
        tails, heads, weights = self._given
        return tails, heads, weights

    @cached_property
    def searches(self) -> sparse.Searches:
        if hasattr(self._given, "indptr"):
            return sparse.Searches(self._given, self.semiring, threads=self.threads, device=self.device)
        tails, heads, weights = self.arcs
        return sparse.Searches(
            (tails, heads),
            self.semiring,
            n=self.shape[0],
            weights=conform(weights, self.semiring, self.searched, where="shortest_paths"),  # a closed arc stays closed
            threads=self.threads,
            potentials=self._potential,
            device=self.device,
        )

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        block = block or (BLOCK if self.device == "cpu" else None)
        for positions, D in self.searches.rows(wanted, block=block, limit=self.furthest):
            yield positions, self._fitted(D, positions)

    def column(self, j: int) -> np.ndarray:
        return self._turned.row(j)

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """One search from all at once, where lengths are added up."""
        plain = self.device == "cpu" and self.semiring.lengths and self.semiring.add.selects == "least"
        if not plain or self._potential is not None:
            return None
        limit = np.inf if self.furthest is None else self.furthest
        matrix = (self._turned if towards else self)._lengths
        return self._nearest(matrix, wanted, limit)

    @cached_property
    def _lengths(self) -> Array:
        return lengths_of(self._given, self.shape[0], self.semiring)

    def panels(self, *, columns: bool = False, share: tuple[int, int] = (0, 1)) -> Blocks:
        """Lines in an order that keeps neighbours together, or the k-th of equal parts; columns by backward search."""
        lines = self._turned if columns else self
        for positions, D in lines.rows(np.array_split(lines.searches.order(), share[1])[share[0]]):
            yield positions, D.T

    @cached_property
    def _turned(self) -> Relaxed:
        tails, heads, weights = self.arcs
        return Relaxed(
            (heads, tails, weights), self.shape[0], self.semiring, self.searched, self.threads, self.furthest,
            self._labels, None if self._potential is None else -self._potential, self.device, backwards=True,
        )  # fmt: skip

    def table(self) -> Array:
        """All entries, in an order of sources that suits the searches."""
        if self.searched != self.dtype or self.furthest is not None:
            return super().table() if self.device == "cpu" else self._on_gpu()
        return self.searches.to_dense()

    def _on_gpu(self) -> Array:
        out: Array = None
        for positions, D in self.rows(np.arange(self.shape[0])):
            if out is None:
                require(
                    self.shape[0] ** 2 * self.dtype.itemsize, "cuda", where="distances", hint="Stream them by rows()."
                )
                with on_device(D):
                    out = module(D).empty(self.shape, self.dtype)
            out[positions[0] : positions[-1] + 1] = D
        return out

    def _fitted(self, D: Array, sources: np.ndarray) -> Array:
        if self.searched == self.dtype:
            return D
        reached = D != dtypes.zero(self.semiring, self.searched)
        return self._narrowed(D, reached, sources, backwards=self._backwards)


def wide(question: Question) -> np.dtype | None:
    """The dtype of the search: the question's, or integers that hold every sum, or None."""
    dtype = question.dtype
    if not dtypes.SCALARS[dtype].integer or not question.semiring.mul.saturating:
        return dtype
    seen, wider = question.arcs.survey, (np.dtype(np.int32), np.dtype(np.int64))
    for most in (question.n * max(abs(seen.least), abs(seen.greatest)), question.arcs.longest):
        for d in wider:
            if d.itemsize >= dtype.itemsize and 2 * most < dtypes.SCALARS[d].high // 2:
                return d
    return None


def negative(question: Question) -> bool:
    """Whether an arc improves walks (a negative length)."""
    lengths, seen = Lengths.of(question.semiring), question.arcs.survey
    if lengths is None:
        return False
    best = seen.least if lengths.sign > 0 else seen.greatest
    return bool(lengths.sign * best < (lengths.sign if lengths.logarithmic else 0))


def opened(question: Question) -> Relaxed:
    """The engine with sorted arcs; raises for a negative cycle."""
    dtype, wants = question.once(wide), question.wants
    potential = potentials(question) if question.once(negative) else None
    assert dtype is not None
    limit = None if wants.limit is None or potential is not None else as_limit(wants.limit)
    in_rows = question.arcs.compressed is not None and potential is None and dtype == question.dtype
    return Relaxed(
        question.arcs.compressed if in_rows else question.arcs.listed, question.n, question.semiring, dtype,
        wants.options.get("threads"), limit, question.graph.labels, potential, question.device,
    )  # fmt: skip


def batches(question: Question, arcs: int) -> int:
    """The number of trial batches of SAMPLED searches; 0 if not a small part of all."""
    n, lines, size = question.n, question.lines, question.dtype.itemsize
    if lines < SAMPLED / LOOK:
        return 0
    most, guess = max(1, min(TRIED, int(lines * LOOK / SAMPLED))), estimates.guessed(n, arcs, 1.0)
    trial = rates.processor.search_trial + most * estimates.relaxing(n, arcs, SAMPLED, size, guess)
    return most if trial <= LOOK * estimates.relaxing(n, arcs, lines, size, guess, tried=False) else 0


def effort(question: Question) -> tuple[float, bool]:
    """Arcs relaxed by a batch of SAMPLED searches, and whether that is known (shallow tree, or trial) or guessed."""
    n, arcs = question.n, question.arcs.count
    count = batches(question, arcs)
    if not count or question.once(negative) or question.missing("searches").kernels:
        near = question.arcs.near
        shallow = estimates.in_shallow_tree(n, arcs, question.arcs.reach, near.levels)
        spread = 1.0 if question.arcs.compressed is None else question.arcs.spread or 1.0  # equal weights are hops
        return (
            (shallow, True) if shallow else (estimates.guessed(n, arcs, question.arcs.reach, near.width, spread), False)
        )
    sources = np.random.default_rng(n).choice(n, (count, SAMPLED), replace=n < count * SAMPLED)
    searches = question.once(opened).searches
    return sum(searches.effort(batch)[0] for batch in sources) / count, True


def _refuses(question: Question) -> str:
    if searchable(question.semiring) and question.once(wide) is not None:
        return ""
    return (
        f"finds best walks where ⊕ selects and 64 bits hold every sum of weights, got {question.semiring.name} in "
        f"{question.dtype}"
    )


def _looks(question: Question) -> float:
    """At least the time to sort the arcs; with a trial, its share of the total."""
    if np.isinf(question.once(counting)) or not searchable(question.semiring):
        return float("inf")
    arcs = question.graph.arc_count
    if question.device == "cuda":
        return estimates.ordering(arcs)  # sorted on the host; no trial
    n, size = question.n, question.dtype.itemsize
    ordered = question.arcs.compressed is not None
    least = estimates.lanes(n, arcs, question.lines, 0, size, 0.0, threads=question.threads, ordered=ordered).seconds
    few = estimates.relaxing(n, arcs, SAMPLED, size, estimates.guessed(n, arcs, 1.0))
    return max(least, few / (LOOK * 4)) if batches(question, arcs) else least


def estimate(question: Question) -> Estimate:
    n, arcs, lines = question.n, question.arcs.count, question.lines
    dtype = question.once(wide)
    assert dtype is not None
    rounds = n if question.once(negative) else 0
    if question.device == "cuda":
        taken = estimates.lanes_on_gpu(n, arcs, lines, dtype.itemsize, rounds=rounds)
        return offer(question, taken, "label-correcting", block=min(lines, 32 * estimates.GPU_BATCHES))
    relaxed, tried = question.once(effort)
    taken = estimates.lanes(
        n, arcs, lines, question.columns, dtype.itemsize, relaxed, threads=question.threads, rounds=rounds,
        ordered=question.arcs.compressed is not None, followed=question.arcs.near.arcs, tried=tried,
        hubs=tried and question.arcs.hubs,
    )  # fmt: skip
    return offer(question, taken, "label-correcting")


ENGINE = Kind(
    "searches", estimate, lambda question, plan: question.once(opened), refuses=_refuses, looks=_looks,
    devices=("cpu", "cuda"), limits=None, compiles="searches",
)  # fmt: skip
