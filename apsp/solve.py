"""The road that every closure takes: take in → look → plan → schedule → settle → give back.

`pose` (apsp/problem.py) makes the problem: the matrix, taken in and looked at. `solve` plans, follows the schedule and
settles; `give_back` returns the result in kind. `closure` and `plan` are the public face.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.backend import Backend, bind, device_of
from semiring.bits import BitMatrix
from semiring.catalog import get
from semiring.cycles import restore, reweight
from semiring.devices import module
from semiring.errors import DivergenceError
from semiring.memory import require
from semiring.observed import Callback, Clock, Observed, Observer, Progress
from semiring.tiles import TileStore

from . import schedules
from .choosing import Asked, Question
from .convergence import settle
from .eliminating import eliminated
from .engines.base import host
from .graph import Graph
from .inputs import as_graph, is_array
from .large.closing import Large, Limits
from .large.sources import Source, has_windows
from .log import tell
from .plans import Plan, make_plan
from .problem import HINT, Memory, Problem, Request, at, lies, pose

if TYPE_CHECKING:
    from .distributed.solving import Places


@dataclass(frozen=True)
class Solved:
    """A closure with how it came about: the plan, the seconds it took, and those of each verb where timed."""

    matrix: Any
    plan: Plan
    seconds: float
    phases: dict[str, float]


def closure(
    A: Any,
    semiring: str | Semiring = "min_plus",
    *,
    schedule: str = "auto",
    block: int | None = None,
    dtype: Any = None,
    device: str | None = None,
    overwrite: bool = False,
    callback: Callback | None = None,
    threads: int | None = None,
    per_thread: int | None = None,
    unweighted: bool = False,
    gpus: Places | None = None,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Any:
    """A* = I ⊕ A ⊕ A² ⊕ …: all-pairs shortest paths in min-plus, reachability in the Boolean semiring.

    Parameters
    ----------
    A : array_like, shape (n, n) or (batch, n, n), or a graph
        Entry (i, j) is the edge from i to j; a missing edge is the semiring's zero (inf in min-plus). NumPy, CuPy,
        PyTorch and JAX arrays, anything with DLPack or `__cuda_array_interface__`; also whatever `as_graph` takes.
        Over the Boolean semiring, a `BitMatrix` on either device: the closure of 2²⁰ vertices fits on one GPU so.
    semiring : str or Semiring
        A name or alias from the catalog ("tropical", "boolean", "bottleneck", …), or your own.
    schedule : str
        "auto", "recursive" (R-Kleene), "blocked", or "iterative". A graph with a list of edges is eliminated instead
        where that is predicted to take less (see `shortest_paths`).
    block : int, optional
        The pivot block, at least 1; the backend's own by default.
    dtype : dtype, optional
        The dtype to compute in; A's own where the semiring allows it.
    device : {"cpu", "cuda"}, optional
        Where to compute; by default where A lies.
    overwrite : bool
        Compute in A's own memory and return that very object. A must then be writeable (JAX arrays never are) and
        already of the computing dtype.
    callback : callable, optional
        `callback(done, total)`, called as work proceeds, in pairs (n³ in total).
    threads : int, optional
        CPU threads; all available by default.
    per_thread : int, optional
        Elements a GPU thread updates in one step of the iterative schedule: 1 or 4.
    unweighted : bool
        Every edge weighs 1, and a matrix of bool is a graph: see `as_graph`.
    gpus : int, sequence of int or World, optional
        Spread one matrix on the host over so many GPUs of this machine, over those of these numbers, or over the ranks
        of an `apsp.distributed.world`; each fetches its own part. `schedule` and `device` play no part then.
    memory : int or str, optional
        Bytes, or such as "16GiB", to which the computation is held: on a GPU those of the device, through which the
        matrix then streams from memory of the host; else those of this process, through which it streams from a
        `semiring.tiles.TileStore`. Of a `np.memmap`, a `TileStore`, or anything with `shape`, `dtype` and A[a:b, c:d]
        (an array of Zarr or HDF5, or an object that makes entries up), windows alone are read.
    checkpoint : path, optional
        A directory that keeps what the closure has come to. The same call goes on from there after whatever has ended
        it, with any block, memory and device (docs/stores.md).
    every : float, optional
        Seconds between two checkpoints of a matrix in memory; 60 by default. A matrix on disk is its own.
    output : path, optional
        A directory for the result, as a store of tiles.

    Returns
    -------
    TileStore
        With `output`, or where only the checkpoint holds the result. Otherwise:
    array, shape of A
        Of the library that A is from, on its device and in the order of its stream: NumPy, CuPy, PyTorch, JAX or any
        with the array API. Numbers of 16 bits, float16 and bfloat16, are computed and returned in float32. The
        diagonal is `one` or better: a closure is reflexive.

    Raises
    ------
    DivergenceError
        If the closure does not exist; in min-plus `NegativeCycleError`, which names a cycle.
    ShapeError, DTypeError, DomainError
        If A is not square, is not defined on this semiring, or holds NaN or values outside it.
    ValueError
        If arguments do not go together.
    MemoryNeeded
        If it does not fit, before any work.

    Notes
    -----
    Integers saturate at the dtype's maximum, which stands for ∞. A cycle of m edges that only rounding makes negative,
    by no more than 2√m · eps times the largest sum along a part of it, is none; where its sums are exact, the sign
    decides. In (+, ×) there is no limit where rounding cannot tell the spectral radius from 1. The recursion is
    D'Alberto and Nicolau 2007, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from apsp import closure
    >>> closure([[0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    array([[0., 4., 5.],
           [3., 0., 1.],
           [2., 6., 0.]])
    """
    s = get(semiring)
    request = Request.of(schedule=schedule, block=block, callback=callback, threads=threads, per_thread=per_thread)
    limits = Limits.of(memory, checkpoint, output, every)
    if overwrite and limits is not None:
        raise ValueError(
            "closure: overwrite=True computes in A's own memory, got memory=, checkpoint= or output= beside it, which "
            "compute elsewhere. Leave one of them out."
        )
    if gpus is not None:
        from .distributed import solving

        asked: dict[str, Any] = {"dtype": dtype, "overwrite": overwrite, "unweighted": unweighted}
        return solving.closure(A, s, request, gpus, limits, **asked)
    if limits is not None:
        return _within(A, s, request, limits, dtype=dtype, device=device, unweighted=unweighted)
    with at(A):
        if not overwrite and is_sparse(A):
            graph = as_graph(A, unweighted=unweighted)
            question = Question(graph, s, request, Asked(dtype=dtype, device=device))
            if not question.matrix_alone and question.plan.engine == "elimination":
                hint = "Use a smaller dtype, or shortest_paths, whose Result answers without a matrix."
                require(graph.n**2 * question.dtype.itemsize, where="closure", hint=hint)
                tell(question.plan, callback, stacklevel=3)
                return host(eliminated(question).table())
            A = graph
            del question
        posed = pose(A, s, request, dtype=dtype, device=device, overwrite=overwrite, unweighted=unweighted)
        return posed.in_kind(solve(posed.problem, request).matrix)


def _within(A: Any, s: Semiring, request: Request, limits: Limits, *, unweighted: bool, **asked: Any) -> Any:
    """The closure within limits of memory, kept and written as they say."""
    source = A if has_windows(A) or (is_array(A) and not unweighted) else as_graph(A, unweighted=unweighted)
    large = Large.asked(source, s, limits, request, **asked)
    if not large.ordinary:
        return large.close(request.callback, stacklevel=4)
    large.check()
    options = {**request.options, "schedule": request.schedule, "block": request.block, "callback": request.callback}
    A = large.source.whole() if has_windows(source) else source
    return large.given(np.asarray(closure(A, s, **options, **asked)))


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
    unweighted: bool = False,
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
    semiring, schedule, block, dtype, device, overwrite, threads, unweighted, memory, checkpoint, output
        As in `closure`.
    sources, targets, engine, order
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
    s = get(semiring)
    request = Request.of(schedule=schedule, block=block, threads=threads)
    limits = Limits.of(memory, checkpoint, output)
    if limits is not None:
        limits.refuse_others(where="plan", engine=engine, order=order, sources=sources, targets=targets)
        if gpus is not None:
            limits.refuse_memory(where="plan")
            limits = None  # a checkpoint and an output change nothing of what ranks do
    if limits is not None and not isinstance(A, (int, np.integer)):
        source = A if has_windows(A) or is_array(A) else as_graph(A, unweighted=unweighted)
        return Large.asked(source, s, limits, request, dtype=dtype, device=device).plan
    if isinstance(A, (int, np.integer)):
        preferred = "float64" if "float64" in s.dtypes else s.dtypes[0]
        resolved = dtypes.resolve(s, dtype or preferred, where="plan")
        if gpus is not None:
            from .distributed import solving

            return solving.plan(int(A), s, resolved, gpus, request)
        if limits is not None:
            return Large.asked(Source(int(A), s, resolved, None), s, limits, request, device=device).plan
        ops = bind(s, resolved, device=device_of(None, device), nonnegative=True, **request.options)
        n, packed = int(A), ops.grain > 1
        held: dict[str, Any] = {
            "in_place": overwrite and not packed,
            "copies": n * n if packed and not overwrite else 0,
        }
        return make_plan(n, s, ops, schedule=schedule, block=block, **held)
    if isinstance(A, (str, os.PathLike, TileStore)):
        A = as_graph(A, unweighted=unweighted)
    if isinstance(A, Graph) and A.windows(s, dtype, where="plan") is not None:
        return _plan_from_disk(Source.of(A, s, dtype, where="plan"), request, gpus, device)
    if gpus is not None:
        from .distributed import solving

        given = pose(A, s, request, dtype=dtype, move=False, where="plan", unweighted=unweighted).problem
        return solving.plan(given.n, s, given.dtype, gpus, request, nonnegative=given.nonnegative)
    with at(A):
        if is_sparse(A):
            A = as_graph(A, unweighted=unweighted)
            i, j = (None if x is None else A.labels.several(x, where="plan") for x in (sources, targets))
            question = Question(A, s, request, Asked(dtype, device, engine, order, i, j))
            if not question.matrix_alone:
                return question.plan
            if A.dense is None and question.device == "cpu":
                return question.dense_plan
        asked: dict[str, Any] = {"dtype": dtype, "device": device, "unweighted": unweighted}
        problem = pose(A, s, request, move=False, where="plan", **asked).problem
        problem = replace(problem, memory=Memory.LENT) if overwrite else problem
        return problem.plan(problem.bind(request), request)


def _plan_from_disk(source: Source, request: Request, gpus: Places | None, device: str | None) -> Plan:
    """The plan of a matrix that stays on disk until it is closed; its entries are looked at."""
    seen, shape_only = source.looked_at[0], np.broadcast_to(np.zeros((), source.dtype), (source.n,) * 2)
    problem = Problem(shape_only, source.semiring, device_of(None, device), Memory.OURS, seen)
    if gpus is None:
        return problem.plan(problem.bind(request), request)
    from .distributed import solving

    return solving.plan(source.n, source.semiring, source.dtype, gpus, request, nonnegative=problem.nonnegative)


def is_sparse(A: Any) -> bool:
    """Whether A is a graph with a list of edges, or will be one: neither a matrix nor packed bits."""
    if isinstance(A, (np.ndarray, BitMatrix)) or device_of(A) != "cpu":
        return False
    return A.dense is None if isinstance(A, Graph) else not is_array(A)


def solve(problem: Problem, request: Request) -> Solved:
    """The closure of a problem, given back in kind, with its plan and times."""
    if problem.batch:
        return _solve_batch(problem, request)
    start = time.perf_counter()
    landing = None if problem.origin is None or problem.lent else _landing(problem)
    solved = _solve_one(problem, request)
    home = give_back(problem, solved.matrix, landing)
    if problem.origin is None:
        return solved if home is solved.matrix else replace(solved, matrix=home)
    return replace(solved, matrix=home, seconds=time.perf_counter() - start)


def _solve_one(problem: Problem, request: Request) -> Solved:
    """plan → schedule → settle, where the problem lies."""
    s, A = problem.semiring, problem.matrix
    ops, plan = _prepare(problem, request)  # what does not fit is refused before entries are searched
    if not request.told:
        tell(plan, request.callback, stacklevel=5)
    if not problem.may_diverge:
        return _follow(problem, ops, plan, request)
    lent = problem.memory is Memory.LENT
    potential = settle.precaution(A, s, problem.seen, overwrite=lent)
    try:
        solved = _follow(problem, ops, plan, request, potential)
    except DivergenceError as error:  # a star of integers that has no value
        written = problem.in_place and problem.there and ops.grain == 1
        raise settle.lost(error) if lent and written else error from None
    try:
        potential = settle.settle(solved.matrix, A if problem.kept else None, s, problem.seen)
    except DivergenceError as error:
        raise settle.lost(error) if lent and solved.matrix is A else error from None
    if potential is not None:
        del solved
        solved = _follow(problem, ops, plan, request, potential)
    return solved


def _prepare(problem: Problem, request: Request) -> tuple[Backend, Plan]:
    """Verbs and plan; what does not fit is refused."""
    ops = problem.bind(request)
    plan = problem.plan(ops, request)
    hint = HINT
    if isinstance(problem.matrix, BitMatrix):
        hint = "Pass overwrite=True, or close the graph's components with transitive_closure."
    require(plan.beside_bytes - problem.made, problem.device, where="closure", hint=hint)
    return ops, plan


def _follow(
    problem: Problem, ops: Backend, plan: Plan, request: Request, potential: np.ndarray | None = None
) -> Solved:
    """M ← M* as planned, with M the matrix itself where it may be written, else a copy.

    With potentials, on Johnson's weights, and back: cycles of length about 0 cannot feed on each other's rounding.
    """
    s = problem.semiring
    if potential is not None:  # the reweighted matrix is another one: its lengths are not negative
        nonnegative = s.lengths and s.add.selects == "least"
        ops = bind(s, problem.dtype, device=problem.device, nonnegative=nonnegative, **request.options)
    start = time.perf_counter()
    M = ops.upload(problem.matrix, copy=not problem.in_place)
    if potential is not None:
        reweight(M, s, potential)
    phases = run(plan, M, ops, request)
    if potential is not None:
        restore(M, s, potential)
        settle.reflexive(M, s)
    seconds = time.perf_counter() - start
    if not isinstance(problem.matrix, BitMatrix) and (ops.grain > 1 or not problem.there):  # goes back as it came
        room = problem.matrix if problem.in_place else module(problem.matrix).empty((problem.n,) * 2, problem.dtype)
        M = ops.download(M, out=room)
    return Solved(M, plan, seconds, phases)


def run(plan: Plan, M: Any, ops: Backend, request: Request) -> dict[str, float]:
    """M ← M* by the plan's schedule; waits for it. The seconds of each verb, where the request is timed."""
    schedule, clock = schedules.get(plan.schedule), Clock(ops)
    observers: list[Observer] = [clock] if request.timed else []
    if request.callback:
        observers.append(Progress(plan.pairs, request.callback))
    verbs: Any = Observed(ops, *observers, apart=request.timed) if observers else ops
    ops.prepare(plan.n)
    schedule(M, verbs, block=plan.block)
    ops.synchronize()
    return clock.seconds


def _landing(problem: Problem) -> Any:
    """Room for the result where the matrix came from; its pages are asked for while the device works."""
    require(
        problem.origin.nbytes, lies(problem.origin), where="closure", hint="Use a smaller dtype, or overwrite=True."
    )
    if lies(problem.origin) != "cpu":
        return None
    return bind(problem.semiring, problem.dtype, device=problem.device).landing(problem.origin.shape)


def give_back(problem: Problem, D: Any, landing: Any = None) -> Any:
    """The result in kind: on the device from which the matrix came, in its memory where that was lent."""
    if problem.origin is None:
        if problem.memory is Memory.LENT and D is not problem.matrix:
            problem.matrix[...] = D
            return problem.matrix
        return D
    if lies(problem.origin) == "cpu":
        room, ready = landing or (problem.origin, None)
        if ready:
            ready.result()
        return bind(problem.semiring, problem.dtype, device=problem.device).download(D, out=room)
    back = bind(problem.semiring, problem.dtype, device=lies(problem.origin)).upload(D)
    if not problem.lent:
        return back
    problem.origin[...] = back
    return problem.origin


def _solve_batch(problem: Problem, request: Request) -> Solved:
    """The closures of (batch, n, n): together where the backend's verb is enough, else one after the other.

    One after the other: what may diverge (each is then examined), schedules and blocks that were asked for, and truth
    values, which go to the device one matrix at a time.
    """
    start = time.perf_counter()
    ops = problem.bind(request)
    plan = problem.plan(ops, request)
    asked = request.schedule != "auto" or request.block is not None
    require(plan.beside_bytes if problem.memory is Memory.THEIRS else 0, problem.device, where="closure", hint=HINT)
    tell(replace(plan, seconds=plan.seconds * len(problem.matrix)), request.callback, stacklevel=4)
    apart = problem.may_diverge or asked or ops.grain > 1 or problem.n > ops.pivot
    if apart or not problem.there or not problem.matrix.size:
        D = _one_by_one(problem, request)
    else:
        D = _together(problem, ops, request)
    landing = None if problem.origin is None or problem.lent else _landing(problem)
    D = give_back(problem, D, landing)
    return Solved(D, plan, time.perf_counter() - start, {})


def _together(problem: Problem, ops: Backend, request: Request) -> Any:
    """All matrices by one verb."""
    A = problem.matrix
    D = A if problem.memory is not Memory.THEIRS else ops.empty(A.shape)
    ops.closure_batch(A, schedules.get("blocked"), out=None if D is A else D)
    ops.synchronize()
    if request.callback:
        pairs = len(A) * problem.n**3
        request.callback(pairs, pairs)
    return D


def _one_by_one(problem: Problem, request: Request) -> Any:
    """One matrix after the other, each in its place of the batch or of a copy of it."""
    A, lent = problem.matrix, problem.memory is Memory.LENT
    problem = problem if problem.memory is not Memory.THEIRS else replace(problem, matrix=A.copy(), memory=Memory.OURS)
    D, total = problem.matrix, len(A) * problem.n**3
    for index in range(len(D)):
        report = _reporting(request.callback, index * problem.n**3, total)
        part = replace(problem.part(index), origin=None)
        try:
            closed = solve(part, replace(request, callback=report, told=True)).matrix
        except DivergenceError as error:
            before = ", those before it are closed" if lent and index else ""
            told = f"{error} It is matrix {index} of the batch{before}."
            raise type(error)(told, error.vertex, error.cycle) from None
        if closed is not part.matrix:
            part.matrix[...] = closed
        del closed  # before the next one is made
    return D


def _reporting(callback: Callback | None, before: int, total: int) -> Callback | None:
    """The callback for a part of the work: what was done before counts."""
    if callback is None:
        return None
    return lambda done, _: callback(before + done, total)
