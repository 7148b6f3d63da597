"""A graph and a question → the engine that answers: `shortest_paths` without its Result."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.bits import BitMatrix
from semiring.devices import there
from semiring.errors import DivergenceError
from semiring.memory import available, require

from . import estimates, saturation
from .choosing import Asked, Question
from .closures import closure
from .display import output
from .eliminating import eliminated, potentials
from .engines import Dense, Engine
from .engines.base import host
from .engines.hops import Searched
from .engines.part import Limit, Part, as_limit
from .engines.searches import Searches
from .engines.stored import Stored
from .estimates import Estimate
from .graph import Graph
from .graph.nulls import refuse_ambiguous
from .large.closing import Large
from .large.limits import Limits
from .log import tell
from .plans import Plan
from .problem import ROUTES, Memory, Request, matrix_of, pose_array
from .solve import solve


@dataclass(frozen=True)
class Answer:
    """An engine with how it came about."""

    engine: Engine
    plan: Plan
    seconds: float


def answer(graph: Graph, s: Semiring, request: Request, asked: Asked) -> Answer:
    """The engine that answers, by the plan or as asked.

    Raises
    ------
    As `shortest_paths`.
    """
    start = time.perf_counter()
    if asked.like is not None:
        # Other weights may differ from one another, and then are no hops.
        asked = replace(asked, engine="auto" if isinstance(asked.like, Searched) else asked.like.name)
    try:
        with there(graph.dense):
            found = (
                _answer(Question(graph, s, request, asked)) if asked.gpus is None else _spread(graph, s, request, asked)
            )
    except DivergenceError as error:
        raise _by_label(error, graph) from None
    if asked.partial or asked.limit is not None:
        found = replace(found, engine=_part(graph, s, asked, found.engine))
    elif isinstance(found.engine, Dense):
        return found  # the seconds of the closure alone
    return replace(found, seconds=time.perf_counter() - start)  # counting and planning are part of the others' work


def anew(graph: Graph, s: Semiring, dtype: np.dtype, targets: np.ndarray | None) -> Engine:
    """The engine of some columns, or of all, in a dtype."""
    return answer(graph, s, Request(), Asked(dtype=dtype, targets=targets)).engine


def within(graph: Graph, s: Semiring, request: Request, limits: Limits, **asked: Any) -> Answer:
    """The closure of the graph's matrix within limits of memory, kept and written as they say.

    Raises
    ------
    As `shortest_paths`.
    """
    start = time.perf_counter()
    _require_routes(graph, request)
    large = Large.asked(graph, s, limits, request, **asked)
    refuse_ambiguous(large.source.looked_at[0], s, where="shortest_paths")
    try:
        if large.ordinary:
            large.check()
            found = _dense(graph, s, request, Asked(**asked), ())
            D, plan = large.given(host(found.engine.table())), found.plan
        else:
            D, plan = large.close(request.callback, stacklevel=5), large.plan
    except DivergenceError as error:
        raise _by_label(error, graph) from None
    engine = Dense(D) if isinstance(D, np.ndarray) else Stored(D)
    if not large.ordinary:  # else that has been looked at
        _refuse_where_far(engine, graph, s, limits.memory)
    return Answer(engine, plan, time.perf_counter() - start)


def _require_routes(graph: Graph, request: Request) -> None:
    """Refuse predecessors on the host that do not fit, where the distances lie elsewhere.

    Raises
    ------
    MemoryNeeded
    """
    if request.paths:
        require(estimates.predecessors(graph.n, 8, table=False), where="shortest_paths", hint=ROUTES)


def _answer(question: Question) -> Answer:
    """The engine of the whole table."""
    graph, s, request, asked = question.graph, question.semiring, question.request, question.asked
    plan = None if question.matrix_alone else question.plan
    if plan is None or plan.engine == "dense":
        del question  # and the arcs and the structure that it has counted
        return _dense(graph, s, request, asked, () if plan is None else plan.considered)
    tell(plan, request.callback, stacklevel=5)
    if plan.engine == "hops":
        assert question.hops is not None
        return Answer(question.hops, plan, 0.0)
    return _eliminated(question) if plan.engine == "elimination" else _searched(question)


def _spread(graph: Graph, s: Semiring, request: Request, asked: Asked) -> Answer:
    """The closure over several ranks, each of which keeps its part."""
    from .distributed import solving

    _require_routes(graph, request)
    if asked.engine == "elimination":
        from .distributed import sweeping

        eliminations, plan = sweeping.engine(graph, s, request, solving.world_of(asked.gpus), asked)
        return Answer(eliminations, plan, 0.0)
    engine, plan, seconds = solving.engine(graph, s, request, asked.gpus, asked.dtype, asked.limits)
    _refuse_where_far(engine, graph, s)
    return Answer(engine, plan, seconds)


def _dense(graph: Graph, s: Semiring, request: Request, asked: Asked, considered: tuple[Estimate, ...]) -> Answer:
    """The closure of the graph's matrix."""
    matrix, ours = matrix_of(graph, s, asked.dtype, request, where="shortest_paths")
    risky = saturation.possible(matrix, s, graph.n)
    memory = Memory.OURS if ours else Memory.THEIRS
    problem = pose_array(matrix, s, memory, device=asked.device, null_unsaid=graph.null_unsaid)
    refuse_ambiguous(problem.seen, s, where="shortest_paths")
    solved = solve(problem, request)
    if risky:
        _refuse_saturated(Dense(solved.matrix), graph, s)
    return Answer(Dense(solved.matrix), replace(solved.plan, considered=considered), solved.seconds)


def _eliminated(question: Question) -> Answer:
    """The graph's arcs, eliminated."""
    return Answer(eliminated(question), question.plan, 0.0)


def _searched(question: Question) -> Answer:
    """SciPy's searches; of all rows where none were asked for, each when it is wanted."""
    graph, limit = question.graph, math.inf if question.asked.limit is None else as_limit(question.asked.limit)
    h = potentials(question) if question.search == "johnson" else None
    engine = Searches(question.arcs, graph.n, question.semiring, str(question.search), limit, graph.labels, h)
    return Answer(engine, question.plan, 0.0)


def _part(graph: Graph, s: Semiring, asked: Asked, engine: Engine) -> Engine:
    """The rows and columns asked for; found now where they would be searched for again."""
    every = np.arange(graph.n)
    i, j = (every if x is None else x for x in (asked.sources, asked.targets))
    limit = None if asked.limit is None else Limit(asked.limit, s, engine.dtype)
    part = Part(engine, i, j, limit)
    return (
        Part(engine, i, j, limit, part.table()) if isinstance(engine, (Searches, Searched)) and asked.partial else part
    )


def _refuse_where_far(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """`_refuse_saturated` where a walk can be so long; the matrix of the graph need not be at hand."""
    if D.dtype.kind != "i" or not s.mul.saturating:
        return
    weights: Any = graph.windows(s, D.dtype)
    if weights is None:
        weights = graph.matrix(s, D.dtype) if graph.dense is not None else graph.edges(s, D.dtype)[2]
    if saturation.possible(weights, s, graph.n):
        _refuse_saturated(D, graph, s, memory)


def _refuse_saturated(D: Engine, graph: Graph, s: Semiring, memory: int | None = None) -> None:
    """Refuse distances in which a best walk has saturated.

    Where a matrix on disk is so large that not even its edges' bits fit `memory`, or what there is where that is not
    said, the log tells what may have.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    rows = D.rows(np.arange(graph.n))
    saturation.refuse(rows, D.dtype, graph.labels, lambda: _reached(graph, s, D.dtype, memory))


def _reached(graph: Graph, s: Semiring, dtype: np.dtype, memory: int | None) -> saturation.Reach | None:
    """Which vertices walks from others reach; None where a matrix on disk is too large to tell."""
    from .reach import transitive_closure

    windows, zero, n = graph.windows(s, dtype), dtypes.zero(s, dtype), graph.n
    if windows is not None:
        most = available() if memory is None else memory
        if most is not None and n * n // 8 > most // 2:
            return None
        closed = closure(windows.packed(), "boolean", overwrite=True)
        return lambda sources: host(closed.rows(sources))
    if graph.dense is not None:  # whose edges may be too many to be listed
        closed = closure(BitMatrix.from_bool(host(graph.matrix(s, dtype) != zero)), "boolean", overwrite=True)
        return lambda sources: host(closed.rows(sources))
    tails, heads, weights = graph.edges(s, dtype)
    walked = weights != zero
    t = transitive_closure(Graph.from_arrays(tails[walked], heads[walked], n=n), reflexive=True)
    component = t.condensation.component
    return lambda sources: host(t.closed.rows(component[sources]))[:, component]


def _by_label(error: DivergenceError, graph: Graph) -> DivergenceError:
    """The same error in the graph's own names."""
    if error.vertex is None or graph.labels == range(graph.n):
        return error
    names = [graph.labels[v] for v in error.cycle]
    vertex = graph.labels[error.vertex]
    where = f"the cycle {output.walk([*names, names[0]])}" if names else f"vertex {vertex!r}"
    return type(error)(f"{error} By label: {where}.", vertex, names)
