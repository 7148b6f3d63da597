"""`plan`: what `closure` would do, for everything that it takes and for a number of vertices alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.backend import bind, device_of
from semiring.catalog import get
from semiring.tiles import TileStore

from .choosing import Asked, Question
from .graph import Graph
from .inputs import as_graph
from .large.closing import Large
from .large.limits import Limits
from .large.sources import Source, matrix_or_graph
from .plans import Plan, make_plan
from .problem import Memory, Problem, Request, at, is_sparse, pose
from .reading.options import BY_RULE, NullValue, nulls_of

if TYPE_CHECKING:
    from .distributed.solving import Places


def plan(
    A: Any,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: Any = None,
    device: str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    sources: Any = None,
    targets: Any = None,
    engine: str = "auto",
    order: Any = "auto",
    paths: bool = False,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    gpus: Places | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Plan:
    """What `closure` would do with these arguments, and why; nothing is computed.

    Parameters
    ----------
    A : array_like, graph, or int
        What `closure` takes, or the number of vertices alone (weights are then taken to be non-negative). Of a batch,
        the plan is that of one matrix after the other, and `beside_bytes` is what all of them take.
    semiring, schedule, block, dtype, device, overwrite, threads, unweighted, null_value, memory, checkpoint, output
        As in `closure`.
    sources, targets, engine, order, paths
        As in `shortest_paths`.
    gpus
        As in `closure`: the plan then says the grid, each rank's bytes, and what travels.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from apsp import plan
    >>> plan(4096, dtype="float32").schedule
    'recursive'
    """
    s, nulls = get(semiring), nulls_of(null_value)
    request = Request.of(schedule=schedule, block=block, threads=threads, paths=paths)
    limits = Limits.of(memory, checkpoint, output)
    if limits is not None:
        limits.refuse_others(where="plan", engine=engine, order=order, sources=sources, targets=targets)
        if gpus is not None:
            limits.refuse_memory(where="plan")
            limits = None  # a checkpoint and an output change nothing of what ranks do
    if isinstance(A, (int, np.integer)):
        alone = sources is None and targets is None and not unweighted and nulls is None
        if engine not in ("auto", "dense") or not alone:
            raise ValueError(
                "plan: engine=, sources=, targets=, unweighted= and null_value= must come with a graph, got "
                f"{A} vertices without edges. Pass the graph, or leave them out."
            )
        resolved = dtypes.resolve(s, dtype or _preferred(s), where="plan")
        return _of_size(int(A), s, resolved, request, device, overwrite=overwrite, gpus=gpus, limits=limits)
    if limits is not None:
        source = matrix_or_graph(A, unweighted=unweighted, nulls=nulls)
        return Large.asked(source, s, limits, request, dtype=dtype, device=device, nulls=nulls).plan
    if isinstance(A, (str, os.PathLike, TileStore)):
        A = as_graph(A, unweighted=unweighted, null_value=null_value)
    if isinstance(A, Graph) and A.windows(s, dtype, where="plan") is not None:
        return _from_disk(Source.of(A, s, dtype, where="plan"), request, gpus, device)
    asked: dict[str, Any] = {"dtype": dtype, "unweighted": unweighted, "nulls": nulls}
    if gpus is not None:
        given = pose(A, s, request, move=False, where="plan", **asked).problem
        return _over_ranks(given.n, s, given.dtype, gpus, request, nonnegative=given.nonnegative)
    with at(A):
        if is_sparse(A) or engine != "auto":
            A = as_graph(A, unweighted=unweighted, null_value=null_value)
            table = engine == "auto" and sources is None and targets is None and not paths  # as `closure` returns it
            i, j = (None if x is None else A.labels.several(x, where="plan") for x in (sources, targets))
            question = Question(A, s, request, Asked(dtype, device, engine, order, i, j, table=table))
            if not question.matrix_alone:
                return question.plan
            if A.dense is None and question.device == "cpu":
                return question.dense_plan
        problem = pose(A, s, request, device=device, move=False, where="plan", **asked).problem
        problem = replace(problem, memory=Memory.LENT) if overwrite else problem
        return problem.plan(problem.bind(request), request)


def _preferred(s: Semiring) -> str:
    """The dtype of a matrix of which nothing but the size is known."""
    return "float64" if "float64" in s.dtypes else s.dtypes[0]


def _of_size(
    n: int,
    s: Semiring,
    dtype: np.dtype,
    request: Request,
    device: str | None,
    *,
    overwrite: bool,
    gpus: Places | None,
    limits: Limits | None,
) -> Plan:
    """The plan of any n vertices, whose weights are taken to be non-negative."""
    if gpus is not None:
        return _over_ranks(n, s, dtype, gpus, request)
    if limits is not None:
        return Large.asked(Source(n, s, dtype, None), s, limits, request, device=device).plan
    ops = bind(s, dtype, device=device_of(None, device), nonnegative=True, **request.options)
    packed = ops.grain > 1  # truth values: bits are packed beside the matrix, and unpacked into the result
    copies = n * n if packed and not overwrite else 0
    in_place = overwrite and not packed
    return make_plan(n, s, ops, schedule=request.schedule, block=request.block, in_place=in_place, copies=copies)


def _from_disk(source: Source, request: Request, gpus: Places | None, device: str | None) -> Plan:
    """The plan of a matrix that stays on disk until it is closed; its entries are looked at."""
    seen, shape_only = source.looked_at[0], np.broadcast_to(np.zeros((), source.dtype), (source.n,) * 2)
    problem = Problem(shape_only, source.semiring, device_of(None, device), Memory.OURS, seen)
    if gpus is None:
        return problem.plan(problem.bind(request), request)
    return _over_ranks(source.n, source.semiring, source.dtype, gpus, request, nonnegative=problem.nonnegative)


def _over_ranks(
    n: int, s: Semiring, dtype: np.dtype, gpus: Places, request: Request, *, nonnegative: bool = True
) -> Plan:
    """The plan of one matrix over several ranks."""
    from .distributed import solving

    return solving.plan(n, s, dtype, gpus, request, nonnegative=nonnegative)
