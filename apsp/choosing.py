"""Which engine answers a question about a graph: the one whose counted cost is least of those that fit.

The dense closure takes n³ pairs. Elimination takes what its symbolic structure says, which is found before any number
is touched. SciPy's searches take one row at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.backend import device_of
from semiring.cycles import Lengths
from semiring.errors import AlgebraError, DeviceError, MemoryNeeded
from semiring.memory import available, require, shown
from semiring.spelling import did_you_mean
from semiring.survey import Survey, survey

from . import estimates
from .engines.base import BLOCK
from .estimates import Estimate, in_units
from .graph import Graph
from .graph.nulls import refuse_ambiguous
from .plans import Plan
from .problem import ROUTES, Memory, Problem, Request

if TYPE_CHECKING:
    from semiring.sparse import Analysis

    from .engines.hops import Searched

#: What `engine=` may be.
ENGINES = ("auto", "dense", "elimination", "scipy", "hops")
#: Graphs of so few vertices are closed as matrices without counting: that takes a millisecond, as counting does.
FEW = 512
#: Counting may take so much of what another engine takes.
_FEWER = "Ask for fewer sources or targets."
_SHARE = {"dense": 0.1, "scipy": 1.0, "hops": 1.0}


@dataclass(frozen=True)
class Asked:
    """What a caller asked for beside a `Request`.

    Attributes
    ----------
    dtype, device, engine, order
        As in `shortest_paths`.
    sources, targets : int64 arrays or None
        Positions; None for all.
    limit : float or None
    like : Engine or None
        The engine that answered for other weights of the same edges.
    gpus
        Several ranks, as in `closure`.
    limits : Limits or None
        What these keep and write.
    table : bool
        Whether all entries are wanted in one array, as `closure` returns them.
    """

    dtype: Any = None
    device: str | None = None
    engine: str = "auto"
    order: Any = "auto"
    sources: np.ndarray | None = None
    targets: np.ndarray | None = None
    limit: Any = None
    like: Any = None
    gpus: Any = None
    limits: Any = None
    table: bool = False

    @property
    def partial(self) -> bool:
        """Whether some rows or columns are wanted, not all."""
        return self.sources is not None or self.targets is not None


@dataclass(frozen=True)
class Question:
    """A graph whose best walks are asked for, and what is known of it before any work."""

    graph: Graph
    semiring: Semiring
    request: Request
    asked: Asked = field(default_factory=Asked)

    @cached_property
    def dtype(self) -> np.dtype:
        """What is computed in."""
        if self.asked.dtype is None:
            graph = self.graph
            if graph.dense is None:
                return graph.target(self.semiring)
            return dtypes.resolve(self.semiring, np.int32 if graph.unit else graph.dense.dtype, where="shortest_paths")
        return dtypes.resolve(self.semiring, self.asked.dtype, where="shortest_paths")

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tails, heads and weights of all arcs, undirected edges both ways; weights in the dtype to compute in."""
        arcs, n = self.graph.edges(self.semiring, self.dtype), self.graph.n
        if self.graph.null_unsaid and len(arcs[2]) == n * n:  # in the order of the matrix
            seen = survey(arcs[2].reshape(n, n), self.semiring, where="shortest_paths", null_unsaid=True)
            refuse_ambiguous(seen, self.semiring, where="shortest_paths")
        return arcs

    @cached_property
    def seen(self) -> Survey:
        """What a look at the weights finds."""
        return survey(self.arcs[2], self.semiring, where="shortest_paths")

    @cached_property
    def analysis(self) -> Analysis:
        """The structure of its elimination."""
        from semiring.sparse import analyse

        if self.asked.engine == "elimination" and self.asked.like is not None:
            known: Analysis = self.asked.like.analysis
            return known
        return analyse(self.arcs[:2], self.graph.n, order=self.asked.order)

    @property
    def device(self) -> str:
        """Where it is to be computed."""
        return device_of(None, self.asked.device)

    @property
    def wanted(self) -> str:
        """The engine that was asked for; an order is one of elimination."""
        asked = self.asked
        ordered = not isinstance(asked.order, str) or asked.order != "auto"
        return "elimination" if ordered and asked.engine == "auto" else asked.engine

    @property
    def threads(self) -> int:
        """Threads that will work."""
        from semiring.backend import bind

        return int(self.request.options.get("threads") or getattr(bind(self.semiring, self.dtype), "threads", 1) or 1)

    @property
    def lines(self) -> int:
        """Rows or columns that have to be computed."""
        n, asked = self.graph.n, self.asked
        return min(n if x is None else len(x) for x in (asked.sources, asked.targets))

    @cached_property
    def longest(self) -> float:
        """No simple path weighs more than this: the sum of the heaviest arc out of each vertex; of integers exactly."""
        tails, _, weights = self.arcs
        finite = weights != dtypes.zero(self.semiring, weights.dtype)
        # In 64 bits |−2⁶³| is itself, and 2⁶³ without a sign.
        sizes = (
            np.abs(weights[finite].astype(np.int64)).view(np.uint64) if weights.dtype.kind == "i" else weights[finite]
        )
        most = np.zeros(self.graph.n, np.uint64 if weights.dtype.kind == "i" else np.float64)
        np.maximum.at(most, tails[finite], np.abs(sizes))
        return sum(most.tolist())

    @cached_property
    def search(self) -> str | None:
        """The search of SciPy's that answers it; None where none does."""
        lengths = Lengths.of(self.semiring)
        if lengths is None or lengths.logarithmic or lengths.sign < 0 or not self.semiring.lengths:
            return None
        # SciPy computes in float64; Johnson's lengths are up to twice as long.
        if self.dtype.kind == "i" and self.longest * (2 if self.seen.least < 0 else 1) >= 2.0**53:
            return None
        weights = self.arcs[2]
        if self.seen.least < 0:
            return "johnson"
        alike = not len(weights) or (self.seen.least == self.seen.greatest and 0 < self.seen.least < np.inf)
        return "breadth-first" if alike else "dijkstra"

    @cached_property
    def hops(self) -> Searched | None:
        """The engine that counts hops; None where edges differ, or where the dtype does not hold the longest path."""
        longest = max(self.longest, self.graph.n)  # searches count up to n, of whatever weight edges are
        if self.search != "breadth-first" or (self.dtype.kind == "i" and longest >= np.iinfo(self.dtype).max):
            return None
        if self.dtype.kind == "f" and longest > 2.0 ** (np.finfo(self.dtype).nmant + 1):
            return None
        from .engines.hops import Searched

        threads = self.request.options.get("threads")
        return Searched(self.arcs, self.graph.n, self.semiring, threads, self.device)

    # What each engine would take

    @cached_property
    def dense_plan(self) -> Plan:
        """The plan of the closure of the matrix."""
        return self._closure(self.seen)

    def _closure(self, seen: Survey) -> Plan:
        shape_only = np.broadcast_to(np.zeros((), self.dtype), (self.graph.n,) * 2)
        problem = Problem(shape_only, self.semiring, self.device, Memory.OURS, seen)
        return problem.plan(problem.bind(self.request), self.request)

    def dense(self) -> Estimate:
        """The closure of its matrix."""
        plan = self.dense_plan
        return estimates.dense(plan.pairs, plan.beside_bytes, plan.seconds)

    def elimination(self) -> Estimate:
        """Elimination, and the rows or columns wanted."""
        if self.device == "cuda":
            cost, size = self.analysis.cost, self.dtype.itemsize
            return estimates.elimination_on_gpu(cost, self.graph.n, len(self.arcs[0]), self.lines, size)
        return estimates.elimination(
            self.analysis.cost,
            self.graph.n,
            len(self.arcs[0]),
            self.lines,
            self.dtype.itemsize,
            threads=self.threads,
            vector=estimates.vector_rate(self.semiring),
        )

    def searches(self) -> Estimate:
        """SciPy's searches from every source, or backwards from every target."""
        assert self.search is not None
        n, (tails, heads, _) = self.graph.n, self.arcs
        reach = estimates.reached(tails, heads, n)
        return estimates.searches(
            n,
            len(tails),
            self.lines,
            self._kept,
            self.dtype.itemsize,
            self.search,
            reach=reach,
            levels=self.levels or 0,
        )

    def counted(self) -> Estimate:
        """Hops from every source, or backwards from every target."""
        assert self.hops is not None
        assert self.levels is not None
        n, size = self.graph.n, self.dtype.itemsize
        batch = self.hops.batch(self.lines)
        if self.device == "cuda":
            return estimates.hops_on_gpu(n, len(self.arcs[0]), self.lines, size, self.levels, batch)
        arcs = len(self.arcs[0])
        return estimates.hops(n, arcs, self.lines, self._kept, size, self.levels, batch, self.threads)

    @property
    def _kept(self) -> int:
        """Entries of each row or column searched for that are kept; none where all are, which are streamed."""
        n, asked = self.graph.n, self.asked
        return max(n if x is None else len(x) for x in (asked.sources, asked.targets)) if asked.partial else 0

    def _made(self, found: Estimate) -> Estimate:
        """What an engine would take, with what is made of its distances at once; the dense plan counts that itself."""
        n, size, asked, made = self.graph.n, self.dtype.itemsize, self.asked, 0
        if found.engine == "dense":
            return found
        if asked.table:
            from semiring.sparse.queries import panel_bytes

            panels = (
                0 if self.device == "cuda" else self.threads * panel_bytes(self.analysis, self.semiring, self.dtype)
            )
            made += n * n * size + panels
        if self.request.paths:
            part = math.prod(n if x is None else len(x) for x in (asked.sources, asked.targets)) if asked.partial else 0
            block = self.hops.batch(n) if self.hops and found.engine == "hops" else BLOCK
            made += estimates.predecessors(n, size, len(self.arcs[0]), table=False, block=block) + 4 * part
        return replace(found, bytes=found.bytes + made)

    @cached_property
    def levels(self) -> int | None:
        """Levels of a search for hops; None where hops do not answer, or do not fit and are not asked for."""
        try:
            return self.hops.levels if self.hops else None
        except MemoryNeeded:
            if self.wanted == "hops":
                raise
            return None

    # The choice

    @cached_property
    def matrix_alone(self) -> bool:
        """Whether nothing but the closure of the matrix is asked: it was wanted, or nothing else can be less."""
        request, asked = self.request, self.asked
        if asked.engine not in ENGINES:
            hint = did_you_mean(asked.engine, ENGINES)
            raise ValueError(f"shortest_paths: engine must be one of {', '.join(ENGINES)}, got {asked.engine!r}.{hint}")
        if self.wanted in ("elimination", "scipy", "hops"):
            self._require_able(self.wanted)
            return False
        if asked.engine == "dense" or request.schedule != "auto" or request.block is not None:
            return True
        if self.graph.dense is not None or self.semiring.boolean:
            return True
        if asked.partial:
            return False
        # With as many edges as dense graphs have, even copying them is work that the matrix does not need.
        counting = estimates.counting(self.graph.n, self.graph.edge_count)
        return self.graph.n <= FEW or counting > _SHARE["dense"] * self._closure(Survey(0, 1, True)).seconds

    @cached_property
    def plan(self) -> Plan:
        """What answers, why, and what the others would have taken; not for a question that is the matrix's alone.

        Raises
        ------
        ValueError, AlgebraError, DeviceError
            If the engine that was asked for is unknown, cannot answer this, or cannot do it on that device.
        MemoryNeeded
            If no engine fits, from the counts.
        """
        assert not self.matrix_alone
        found = self._estimates()
        if self.wanted != "auto":
            best = next(e for e in found if e.engine == self.wanted)
            if self.request.paths or self._kept:  # else rows are found when they are asked for, as many as fit
                require(best.bytes, self.device, where="shortest_paths", hint=ROUTES if self.request.paths else _FEWER)
            return self._plan_of(best, "as asked", tuple(found))
        fitting = [e for e in found if self._fits(e)]
        if not fitting:
            raise self._too_large(found)
        return self._plan_of(min(fitting, key=lambda e: e.seconds), "the least predicted", tuple(found))

    def _require_able(self, wanted: str) -> None:
        if self.request.schedule != "auto" or self.request.block is not None:
            raise ValueError(
                f"shortest_paths: a schedule and a block are the dense closure's, got them with engine={wanted!r}. "
                "Leave one of them out."
            )
        if self.device == "cuda" and wanted not in ("elimination", "hops"):
            raise DeviceError(
                f"shortest_paths: engine={wanted!r} computes on the CPU, got device='cuda'. Leave it out."
            )
        if wanted == "scipy" and self.search is None:
            raise AlgebraError(
                f"shortest_paths: engine='scipy' finds shortest paths, over lengths whose sums stay below 2⁵³, got "
                f"{self.semiring.name} in {self.dtype}. Leave it out."
            )

        if wanted == "hops" and self.hops is None:
            raise AlgebraError(
                f"shortest_paths: engine='hops' finds shortest paths where all edges weigh the same, and {self.dtype} "
                f"must hold the longest of them; got {self.semiring.name} of weights {self.seen.least:g} … "
                f"{self.seen.greatest:g}. Leave it out."
            )

    def _estimates(self) -> list[Estimate]:
        """What the engines would take; elimination is left out where counting it would be most of the work."""
        found = [self.dense()]
        found += [self.searches()] if self.search and self.device == "cpu" else []
        found += [self.counted()] if self.levels is not None else []
        # Worth it: a tenth of the dense closure, and less than what SciPy takes; of those only that fit.
        worth = min((_SHARE[e.engine] * e.seconds for e in found if self._fits(e)), default=math.inf)
        # Where entries cancel, or ⊕ says nothing of its sums, the matrix tells whether there is a limit.
        s = self.semiring
        told = s.idempotent or (s.series is not None and self.seen.nonnegative)
        counting = estimates.counting(self.graph.n, len(self.arcs[0]))
        if self.wanted == "elimination" or (told and counting < worth):
            found.insert(1, self.elimination())
        return [self._made(estimate) for estimate in found]

    def _plan_of(self, best: Estimate, reason: str, found: tuple[Estimate, ...]) -> Plan:
        if best.engine == "dense":
            return replace(self.dense_plan, considered=found)
        schedule = "elimination" if best.engine == "elimination" else str(self.search)
        pairs = self.analysis.cost.elimination if best.engine == "elimination" else best.pairs
        seconds = best.start if best.engine == "elimination" else best.seconds
        if best.engine == "elimination":
            reason += f", order {self.analysis.order}"
        return Plan(
            n=self.graph.n,
            semiring=self.semiring.name,
            dtype=self.dtype.name,
            device=self.device,
            schedule=schedule,
            block=0,
            variant="general",
            matrix_bytes=best.bytes,
            workspace_bytes=0,
            seconds=seconds,
            reason=reason,
            beside_bytes=best.bytes,
            pairs=pairs,
            engine=best.engine,
            considered=found,
        )

    def _too_large(self, found: list[Estimate]) -> MemoryNeeded:
        free = available(self.device)
        needs = "; ".join(f"{e.engine} {shown(e.bytes)} and {in_units(e.seconds)}" for e in found)
        return MemoryNeeded(
            f"shortest_paths: what is held must fit on {self.device}, got {shown(free or 0)} free and a graph for "
            f"which it is {needs}. Ask for some rows, sources=[…]: SciPy's Dijkstra then takes no more than those."
        )

    def _fits(self, estimate: Estimate) -> bool:
        free = available(self.device)
        return free is None or estimate.bytes <= free
