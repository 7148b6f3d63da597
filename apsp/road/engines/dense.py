"""Engine: the closure of the matrix, a table on the host or on a device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.dense.changes import follow
from semiring.host.devices import host, module, on_device, to_device
from semiring.host.errors import SemiringError
from semiring.host.memory import require
from semiring.host.types import Array, Blocks, Scalar
from semiring.kernels.backend import bind, device_of

from ...big.large.sources import Source
from ...io.graph import Graph
from .. import estimates, rates
from ..estimates import Estimate
from ..plans import Plan, make_plan
from ..problem import ROUTES, Memory, Problem
from ..question import Question
from ..solve import solve
from .base import BLOCK, Engine, Kind
from .packed import closed_uncondensed, plan_of_all
from .saturation import refuse_saturated

#: Instead of a matrix that does not fit.
SPARSE = (
    "A sparse graph does without its matrix: shortest_paths(graph, engine='elimination'). Else use a smaller dtype, or "
    "transitive_closure if only reachability matters."
)
#: Most arcs of an update, by vertex.
EACH = 4
#: Default rows of a block on a GPU, where each block costs launches.
ON_DEVICE = 1024


class Dense(Engine):
    """A table of distances, NumPy or CuPy, and the seconds that it took."""

    name = "dense"

    in_memory = stored = True

    def __init__(self, matrix: Array, seconds: float | None = None) -> None:
        self.matrix, self.seconds = matrix, seconds
        self.shape, self.dtype = matrix.shape, np.dtype(getattr(matrix, "dtype", bool))
        self.device = device_of(matrix)

    def renewed(self, graph: Graph, before: Graph, semiring: Semiring) -> Dense | None:
        """A copy in which what changes is computed anew."""
        n, device = graph.n, device_of(self.matrix)
        if self.shape != (n, n) or self.all_pairs is not self:
            return None
        try:
            old, new = (to_device(g.matrix(semiring, self.dtype), device) for g in (before, graph))
            require(2 * self.matrix.nbytes, device, where="update", hint="apsp.update has overwrite=True.")
        except SemiringError:  # raised again by the full computation
            return None
        with on_device(self.matrix):
            where = module(old).flatnonzero(old != new)
            if len(where) > EACH * n:
                return None
            weights = zip(host(where).tolist(), host(new[where // n, where % n]).tolist(), strict=True)
            D, taken, ops = self.matrix.copy(), self.seconds, bind(semiring, self.dtype, device=self.device)
            share = (lambda: taken / estimates.closing(n, ops)) if taken else None
            found = follow(D, old, {divmod(k, n): w for k, w in weights}, semiring, share=share)
        if found is None:
            return None
        made = Dense(D, self.seconds)
        made.updated = f"{found:,} of {n * n:,} entries computed anew"
        return made

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Views or gathers, on the matrix's device."""
        block = block or (BLOCK if self.device == "cpu" else ON_DEVICE)
        for start in range(0, len(wanted), block):
            part = wanted[start : start + block]
            first, last = int(part[0]), int(part[-1])
            together = last - first + 1 == len(part) and bool((np.diff(part) == 1).all())
            yield part, self.matrix[first : last + 1] if together else self._gathered(part)

    def column(self, j: int) -> np.ndarray:
        return host(self.matrix[:, j])

    def row(self, i: int) -> np.ndarray:
        """One row."""
        return host(self.matrix[i])

    def entry(self, i: int, j: int) -> Scalar:
        """As it stands in the matrix."""
        return self.matrix[i, j]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return host(self._gathered(i, j))

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return host(self.part(i, j))

    def part(self, i: np.ndarray, j: np.ndarray) -> Array:
        return self._gathered(i[:, None], j)

    def _gathered(self, *index: np.ndarray) -> Array:
        xp = module(self.matrix)
        with on_device(self.matrix):  # the index is on the same device
            return self.matrix[tuple(xp.asarray(i) for i in index)]

    def panels(self, *, columns: bool = False) -> Blocks:
        D = self.matrix if columns else self.matrix.T
        for start in range(0, D.shape[1], BLOCK):
            part = D[:, start : start + BLOCK]
            yield np.arange(start, start + part.shape[1]), part

    def table(self) -> Array:
        return self.matrix

    @property
    def storage(self) -> Array:
        return self.matrix


def _estimate(question: Question) -> Estimate:
    """The plan of the closure, less the bytes that are allocated already."""
    s, wants, source = question.semiring, question.wants, question.source
    if wants.packed:
        return estimates.dense(plan_of_all(question))
    if isinstance(source, (int, np.integer)):
        return estimates.dense(_of_size(question))
    entering = 0.0
    if question.listed:  # no matrix yet: use its shape, and at most the weights
        seen = question.arcs.survey
        entering = estimates.entering(question.graph.edge_count)
    elif wants.dry and question.is_graph and source.windows(s, wants.dtype, where=wants.where) is not None:
        seen = Source.of(source, s, wants.dtype, where=wants.where).surveyed[0]
    else:
        problem = question.problem
        plan = problem.plan(problem.bind(wants), wants)
        plan = replace(plan, seconds=plan.seconds * len(problem.matrix)) if problem.batch else plan
        return estimates.dense(plan, problem.made)
    shape_only = np.broadcast_to(np.zeros((), question.dtype), (question.n,) * 2)
    problem = Problem(shape_only, s, question.device, Memory.OWNED, seen)
    plan = problem.plan(problem.bind(wants), wants)
    return estimates.dense(replace(plan, seconds=plan.seconds + entering))


def _looks(question: Question) -> float:
    """For a list of arcs, at least the seconds of the closure's pairs."""
    if not question.listed or question.wants.packed:
        return 0.0
    n, threads = question.n, question.threads if question.device == "cpu" else 1
    return estimates.closure(n, question.semiring, question.dtype, pairs=n**3, device=question.device, threads=threads)


def _at_once(question: Question) -> Estimate | None:
    """All pairs of a few vertices, which take no longer than counting."""
    wants = question.wants
    if not question.listed or wants.partial or wants.packed or question.semiring.boolean:
        return None
    least = 2 * rates.processor.comparison  # counting the arcs, and comparing engines, would take as long
    return _estimate(question) if _looks(question) <= least and not question.missing("closure").kernels else None


def _of_size(question: Question) -> Plan:
    """The plan for n vertices, assuming non-negative weights."""
    n, s, wants = question.n, question.semiring, question.wants
    ops = bind(s, question.dtype, device=device_of(None, wants.device), nonnegative=True, **wants.options)
    packed = ops.grain > 1  # truth values are packed beside the matrix, and unpacked into the result
    copies = n * n if packed and not wants.overwrite else 0
    in_place = wants.overwrite and not packed
    return make_plan(n, s, ops, schedule=wants.schedule, block=wants.block, in_place=in_place, copies=copies)


def _open(question: Question, plan: Plan) -> Engine:
    if question.wants.packed:
        return closed_uncondensed(question, plan)
    if question.listed:
        hint = ROUTES if question.wants.paths else SPARSE
        require(plan.beside_bytes, question.device, where=question.wants.where, hint=hint)
        question.forget()
    problem = question.problem
    if problem.seen.ambiguous:
        question.wants.report_zeros(problem.seen, question.semiring)
    far = SCALARS[problem.dtype].integer and not question.wants.table and problem.may_saturate
    solved = solve(problem, question.wants, plan)
    engine = Dense(solved.matrix, solved.seconds)
    if far:
        refuse_saturated(engine, question.graph.labels, question.semiring)
    return engine


ENGINE = Kind(
    "dense", _estimate, _open, looks=_looks, at_once=_at_once, share=0.1, devices=("cpu", "cuda"), matrices=True,
    packed=True, schedules=True, answers_to="dense", compiles="closure",
)  # fmt: skip
