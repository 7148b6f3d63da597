"""Engine: sparse elimination; its structure, time and memory, and the closure in factored form (`factored`)."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import replace
from functools import partial

import numpy as np

from semiring import sparse
from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.dense.cycles import Lengths
from semiring.host.errors import DivergenceError
from semiring.host.memory import shown
from semiring.sparse.answers import require_hubs
from semiring.sparse.cycles import Weighted
from semiring.sparse.order import even

from .. import estimates
from ..arcs import farthest, narrowed, proven
from ..convergence import saturation
from ..estimates import Estimate
from ..plans import Plan
from ..question import Question
from .base import MANY_ARCS, Kind, counting, offer
from .factored import Eliminated

#: Share of the other engines' time that symbolic analysis may take, in general and for planar-like graphs.
LOOK, LOOK_IN_PLANE = 1 / 4, 0.45
#: Maximum number of arcs whose structure is always cached: a few megabytes.
REMEMBERED = 1 << 18


#: Structures cached, and patterns with counted time.
CAPACITY, PATTERNS = 4, 64
#: Heads sampled for a pattern's hash.
SAMPLE = 1 << 8


class Structures:
    """Cached structures, and seconds spent on other patterns, which are known by the heads of their arcs."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, sparse.Analysis] = OrderedDict()
        self._spent: OrderedDict[int, float] = OrderedDict()
        self._lost: dict[int, int] = {}
        self._lock = threading.Lock()

    def spent(self, heads: np.ndarray, lines: float = float("inf")) -> float:
        """Seconds spent on this pattern so far.

        ∞ if its structure is cached; 0 if searches were faster with it, from as many vertices as `lines`.
        """
        name = _name(heads)
        with self._lock:
            if name in self._cached:
                return float("inf") if lines > self._lost.get(name, 0) else 0
            return self._spent.get(name, 0.0)

    def spend(self, heads: np.ndarray, seconds: float, lines: int = 0) -> None:
        """Charge seconds to a pattern; if its structure is cached, searches from `lines` vertices are faster."""
        name = _name(heads)
        with self._lock:
            if name in self._cached:
                self._lost[name] = max(lines, self._lost.get(name, 0))
                return
            self._spent[name] = self._spent.pop(name, 0) + seconds
            while len(self._spent) > PATTERNS:
                self._spent.popitem(last=False)

    def of(self, tails: np.ndarray, heads: np.ndarray, n: int, threads: int | None = None) -> sparse.Analysis:
        """The structure of these arcs, cached or computed."""
        name = _name(heads)
        with self._lock:
            cached = self._cached.get(name)
            if cached is not None and _same(cached, tails, heads, n):
                self._cached.move_to_end(name)
                return cached
        made = sparse.analyse((tails, heads), n, threads=threads)
        with self._lock:
            self._spent.pop(name, None)
            self._lost.pop(name, None)
            self._cached[name] = made
            while len(self._cached) > CAPACITY:
                self._lost.pop(self._cached.popitem(last=False)[0], None)
        return made


def _name(heads: np.ndarray) -> int:
    step = max(1, len(heads) // SAMPLE)  # matches are compared with all arcs
    return hash((len(heads), heads[::step].astype(np.int64).tobytes()))


def _same(cached: sparse.Analysis, tails: np.ndarray, heads: np.ndarray, n: int) -> bool:
    return cached.n == n and np.array_equal(cached.tails, tails) and np.array_equal(cached.heads, heads)


STRUCTURES = Structures()


def remembers(question: Question) -> bool:
    """Whether the structure is cached across questions."""
    wants, count = question.wants, question.arcs.count
    return (wants.remembers or (count <= REMEMBERED and not wants.ordered)) and count <= MANY_ARCS * question.n


def analysis(question: Question) -> sparse.Analysis:
    """The symbolic structure of the question, of a previous engine, cached, or computed."""
    known = getattr(question.wants.like, "analysis", None)
    if known is not None:
        return known
    threads = question.wants.options.get("threads")
    if question.once(remembers):
        return STRUCTURES.of(*question.arcs.listed[:2], question.n, threads)
    return sparse.analyse(question.arcs.listed[:2], question.n, order=question.wants.order, threads=threads)


def spent(question: Question) -> float:
    """Seconds spent on these arcs without a structure so far; ∞ if it is cached, and did not lose for as few lines."""
    return STRUCTURES.spent(question.arcs.heads, question.lines) if question.once(remembers) else 0


def charge(question: Question, seconds: float) -> None:
    """Charge an answer without a structure to its arcs, to be analysed once that would have taken as long."""
    wants = question.wants
    if (wants.partial or wants.table) and question.once(remembers):
        STRUCTURES.spend(question.arcs.heads, seconds, question.lines if wants.partial else 0)


def eliminated(question: Question) -> Eliminated:
    """The elimination engine; DivergenceError by position, DomainError for overflow, MemoryNeeded from counts."""
    s, dtype = question.semiring, question.dtype
    careful = Lengths.of(s) is not None and dtypes.SCALARS[dtype].floating
    try:
        engine = _engine(question, check=not careful)
    except DivergenceError as error:
        raise named(question, error) from None
    if not careful or engine.elimination.divergence is None:
        if dtypes.SCALARS[dtype].integer and s.mul.saturating and not _fits_integers(question, engine):
            if question.once(narrowed):
                del engine
                question.once(analysis).panels.release()
                return eliminated(question.widened(analysis))
            labels, zero = question.graph.labels, dtypes.zero(s, dtype)
            every = saturation.Distances(partial(engine.rows, np.arange(question.n)), labels, zero)
            every.refuse(lambda: _reached(question))
        return engine
    # A closed walk beats `one`: truly, or by rounding only, which Johnson's weights prevent.
    del engine
    return _engine(question, potential=potentials(question))


def named(question: Question, error: DivergenceError) -> DivergenceError:
    """The error with its cycle, if found."""
    if Lengths.of(question.semiring) is None:
        return error
    try:
        potentials(question)
    except DivergenceError as found:
        return found
    return error


def potentials(question: Question) -> np.ndarray:
    """Johnson potentials of the arcs; raises DivergenceError naming a cycle negative beyond rounding."""
    arcs = Weighted(*question.arcs.listed, question.graph.n, question.semiring)
    return arcs.potentials(where="shortest_paths")


def _engine(question: Question, *, check: bool = True, potential: np.ndarray | None = None) -> Eliminated:
    return Eliminated(
        question.once(analysis), question.arcs.listed[2], question.semiring, question.wants.options.get("threads"),
        question.wants.order, check=check, potential=potential, device=question.device,
    )  # fmt: skip


def _fits_integers(question: Question, engine: Eliminated) -> bool:
    """Whether the integer dtype provably holds all distances; records the proof."""
    like = question.wants.like
    engine.narrowed, engine.centre = question.once(narrowed), getattr(like, "centre", engine.centre)
    if not engine.narrowed:
        engine.longest = question.arcs.longest
    if engine.holds or engine.proves(*question.arcs.listed):
        return True
    if not engine.narrowed or getattr(like, "narrowed", False) or not question.once(proven):
        return False
    engine.centre = question.once(farthest)[1]
    return engine.proves(*question.arcs.listed)


def _reached(question: Question) -> saturation.Reach:
    """Reachability by the same elimination over the Boolean semiring."""
    weights = question.arcs.listed[2]
    walked = weights != dtypes.zero(question.semiring, weights.dtype)
    E = Eliminated(question.once(analysis), walked, get("boolean"), question.wants.options.get("threads"))
    return lambda sources: np.concatenate([D for _, D in E.rows(sources)])


def _looks(question: Question) -> float:
    """Seconds of analysis over its allowed share (in vain if the graph fills in)."""
    # With cancellation, or ⊕ silent on its sums, only the matrix shows convergence.
    s = question.semiring
    if math.isinf(question.once(counting)) or not (
        s.idempotent or (s.series is not None and question.arcs.survey.nonnegative)
    ):
        return math.inf
    if question.wants.remembers and not question.once(remembers):
        return math.inf
    A = question.arcs.compressed
    orders = 2 if A is not None and even(A.indptr) else 1
    looks = estimates.counting(question.n, question.graph.arc_count, orders)
    worth = LOOK_IN_PLANE if question.arcs.near.planar else LOOK
    return max(0.0, looks / worth - question.once(spent))


def _estimate(question: Question) -> Estimate:
    known = math.isinf(question.once(spent))
    found, n, size = question.once(analysis), question.n, question.dtype.itemsize
    arcs = len(found.tails)
    if question.device == "cuda":
        taken = estimates.elimination_on_gpu(found.cost, n, arcs, question.lines, size)
    else:
        vector = estimates.vector_rate(question.semiring)
        taken = estimates.elimination(
            found.cost, n, arcs, question.lines, size, threads=question.threads, vector=vector, known=known,
            orders=found.orders,
        )  # fmt: skip
        if question.arcs.compressed is None:  # arcs both ways, and as they are put in order
            taken = replace(taken, bytes=taken.bytes + arcs * (24 + size))
    panels = 0
    if question.wants.table and question.device == "cpu":
        from semiring.sparse.queries import panel_bytes  # with numba

        panels = question.threads * panel_bytes(found, question.semiring, question.dtype)
    note = f", order {found.order}"
    if question.wants.hub_labels:
        from semiring.sparse.hubs import hub_cost  # with numba

        require_hubs(question.semiring, where=question.wants.where)
        labels = hub_cost(found.structure, question.dtype)
        on_gpu, vector = question.device == "cuda", estimates.vector_rate(question.semiring)
        taken = estimates.with_hub_labels(taken, labels, size, threads=question.threads, vector=vector, gpu=on_gpu)
        note += f", hub labels of {shown(labels.gpu_bytes(size) if on_gpu else labels.bytes(size, threads=0))}"
    return offer(question, taken, "elimination", note, pairs=found.cost.elimination, panels=panels)


def _opened(question: Question, plan: Plan) -> Eliminated:
    engine = eliminated(question)
    if question.wants.hub_labels:
        engine.hub_labels()
    return engine


ENGINE = Kind(
    "elimination", _estimate, _opened, looks=_looks, devices=("cpu", "cuda"), limits=None, orders=True,
    compiles="elimination", proves=True,
)  # fmt: skip
