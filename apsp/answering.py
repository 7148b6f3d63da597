"""A graph and a question → the engine that answers: `shortest_paths` without its Result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import there
from semiring.errors import DivergenceError, DomainError

from .engines import Dense, Engine
from .engines.base import host
from .graph import Graph
from .plans import Plan
from .problem import Memory, Request, matrix_of, pose_array
from .solve import solve

#: What `engine=` may be.
ENGINES = ("auto", "dense", "elimination")


@dataclass(frozen=True)
class Asked:
    """What a caller asked for beside a `Request`: see `shortest_paths`."""

    dtype: Any = None
    device: str | None = None
    engine: str = "auto"
    order: Any = "auto"


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
    if asked.engine not in ENGINES:
        raise ValueError(f"shortest_paths: engine must be one of {', '.join(ENGINES)}, got {asked.engine!r}.")
    try:
        if asked.engine == "elimination":
            return _eliminated(graph, s, request, asked)
        with there(graph.dense):
            return _dense(graph, s, request, asked)
    except DivergenceError as error:
        raise _by_label(error, graph) from None


def _dense(graph: Graph, s: Semiring, request: Request, asked: Asked) -> Answer:
    """The closure of the graph's matrix."""
    matrix, ours = matrix_of(graph, s, asked.dtype, request, where="shortest_paths")
    risky = _may_saturate(matrix, s)
    problem = pose_array(matrix, s, Memory.OURS if ours else Memory.THEIRS, device=asked.device)
    solved = solve(problem, request)
    if risky:
        _refuse_saturated(solved.matrix, graph, s)
    return Answer(Dense(solved.matrix), solved.plan, solved.seconds)


def _eliminated(graph: Graph, s: Semiring, request: Request, asked: Asked) -> Answer:
    """The graph's arcs, eliminated."""
    from semiring.sparse import Analysis

    from .engines.elimination import Eliminated

    start = time.perf_counter()
    tails, heads, weights = graph.edges(s, asked.dtype)
    analysis = Analysis(tails.astype(np.int32), heads.astype(np.int32), graph.n, asked.order)
    engine = Eliminated(analysis, weights, s, request.options.get("threads"), asked.order)
    cost = analysis.cost
    plan = Plan(
        graph.n, s.name, engine.dtype.name, "cpu", "elimination", 0, "general", engine.nbytes, 0, 0.0, "as asked",
        engine.nbytes, cost.elimination,
    )  # fmt: skip
    return Answer(engine, plan, time.perf_counter() - start)


def _may_saturate(matrix: Any, s: Semiring) -> bool:
    """Whether a walk of n − 1 edges can weigh more than the matrix's integers hold; it would seem to be no walk."""
    if matrix.dtype.kind != "i" or not s.mul.saturating:
        return False
    return len(matrix) * dtypes.largest_finite(matrix) >= np.iinfo(matrix.dtype).max


def _refuse_saturated(D: Any, graph: Graph, s: Semiring) -> None:
    """Refuse distances in which a best walk has saturated: the zero where there is a walk, or the other end.

    None is missed. Parts of a best walk are best walks, so that where no best walk saturates, none of its parts does.

    Raises
    ------
    DomainError
        Naming two vertices.
    """
    from .reach import transitive_closure

    tails, heads, weights = graph.edges(s, D.dtype)
    info, zero = np.iinfo(D.dtype), dtypes.zero(s, D.dtype)
    walked = weights != zero
    t = transitive_closure(Graph.from_arrays(tails[walked], heads[walked], n=graph.n), reflexive=True)
    component = t.condensation.component
    for i in range(graph.n):
        row = host(D[i])
        wrong = ((row == info.min) | (row == info.max)) & t.closed.rows(int(component[i]))[component]
        if wrong.any():
            u, v = graph.labels[i], graph.labels[int(wrong.argmax())]
            raise DomainError(
                f"shortest_paths: every distance must fit {D.dtype}, got a walk from {u!r} to {v!r} beyond "
                f"{info.max}. Say dtype='float64', which rounds, or a wider integer."
            )


def _by_label(error: DivergenceError, graph: Graph) -> DivergenceError:
    """The same error in the graph's own names."""
    if error.vertex is None or graph.labels == range(graph.n):
        return error
    names = [graph.labels[v] for v in error.cycle]
    vertex = graph.labels[error.vertex]
    where = f"the cycle {' → '.join(str(v) for v in [*names, names[0]])}" if names else f"vertex {vertex!r}"
    return type(error)(f"{error} By label: {where}.", vertex, names)
