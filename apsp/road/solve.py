"""Every dense closure: convert → survey → plan → run the schedule → settle → return.

A `Problem` (apsp/road/problem.py) is converted and surveyed. `solve` plans, runs the schedule and settles; `give_back`
returns the result to its origin. The engine `dense` calls this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import max_min, min_plus
from semiring.algebra.saturation import compares, compressed, expanded, narrowed, widened, wider
from semiring.algebra.shifting import finite, sign_of
from semiring.algebra.survey import survey
from semiring.dense.bits import BitMatrix
from semiring.dense.cycles import restore, reweight
from semiring.dense.potentials import potentials_of
from semiring.host.compiling import clock, uncounted
from semiring.host.devices import host, module
from semiring.host.errors import DivergenceError, DomainError, MemoryNeeded
from semiring.host.memory import available, require
from semiring.host.types import Array
from semiring.kernels.backend import Backend, bind
from semiring.kernels.observed import Callback, Clock, Observed, Observer, Progress

from . import schedules
from .convergence import saturation, series, settle
from .plans import Plan
from .problem import HINT, ROUTES, Memory, Problem, location
from .wants import Request

#: Maximum n of GPU batches of truth values closed as ordinals.
ORDINALS = 1024
#: n from which a GPU copies int64 to int32.
INT32 = 1536


@dataclass(frozen=True)
class Solved:
    """A closure, its plan, its seconds, and those of each verb if timed."""

    matrix: Any
    plan: Plan
    seconds: float
    phases: dict[str, float]


def solve(problem: Problem, request: Request, plan: Plan | None = None) -> Solved:
    """Close a problem (planning if necessary) and return the result in kind, with plan and times."""
    if problem.batch:
        return _solve_batch(problem, request)
    start = perf_counter() - uncounted.seconds
    buffer = None if problem.origin is None or problem.overwrite_origin else allocate_result(problem)
    solved = _solve_one(problem, request, plan)
    home = give_back(problem, solved.matrix, buffer)
    if problem.origin is None:
        return solved if home is solved.matrix else replace(solved, matrix=home)
    return replace(solved, matrix=home, seconds=clock() - start)


def _solve_one(problem: Problem, request: Request, plan: Plan | None) -> Solved:
    """plan → schedule → settle, on the problem's device."""
    s, A = problem.semiring, problem.matrix
    ops = problem.bind(request)
    plan = plan or problem.plan(ops, request)
    _require(problem, plan, request)  # what does not fit is refused before entries are searched
    for convert in conversions(problem):
        converted = convert(problem, plan, request)
        if converted is not None:
            return converted
    if not problem.may_diverge:
        return _follow(problem, ops, plan, request)
    overwritten, loses = problem.memory is Memory.OVERWRITE, request.table and problem.may_lose
    potential = settle.precaution(A, s, problem.seen, overwrite=overwritten)
    try:
        solved = _follow(problem, ops, plan, request, potential)
    except DivergenceError as error:  # a star of integers without value
        written = problem.in_place and problem.is_on_device and ops.grain == 1
        raise settle.lost(error) if overwritten and written else error from None
    try:
        potential = settle.settle(solved.matrix, A if problem.preserved else None, s, problem.seen)
    except DivergenceError as error:
        raise settle.lost(error) if overwritten and solved.matrix is A else error from None
    if potential is not None:
        del solved
        solved = _follow(problem, ops, plan, request, potential)
    return _exact(problem, solved, request) if loses else solved


def conversions(problem: Problem) -> Sequence[Callable[[Problem, Plan, Request], Solved | None]]:
    """Closures by other integers, tried first: of 32 bits on a GPU, and without negative lengths."""
    wide = problem.dtype == np.int64 and problem.device == "cuda" and problem.n >= INT32
    signed = dtypes.SCALARS[problem.dtype].integer and not problem.nonnegative
    return [_in_int32] * wide + [_by_potentials] * signed


def _exact(problem: Problem, solved: Solved, request: Request) -> Solved:
    """The closure of integers of both signs, in a wider dtype if any saturate; DomainError if that is impossible."""
    s, D, A = problem.semiring, solved.matrix, problem.matrix
    try:
        saturation.refuse_in_matrix(D, s, where=getattr(request, "where", "closure"))
        return solved
    except DomainError as error:
        if problem.memory is Memory.OVERWRITE:
            raise settle.lost(error) from None
        wide = wider(problem.n << 8 * A.dtype.itemsize, s)
        if wide is None:
            raise
        try:
            matrix = widened(A, wide, s)
            seen = survey(matrix, s, where="closure")
            found = _solve_one(replace(problem, matrix=matrix, memory=Memory.OWNED, seen=seen), request, None)
        except MemoryNeeded:
            raise error from None
    narrowed(found.matrix, D.dtype, D)
    return replace(solved, seconds=solved.seconds + found.seconds)


def _in_int32(problem: Problem, plan: Plan, request: Request) -> Solved | None:
    """M ← M* of int64 by int32 on a GPU, four times as fast; None if it may diverge, or sums or copies do not fit."""
    s, A, narrow = problem.semiring, problem.matrix, np.dtype(np.int32)
    sign = sign_of(s, A.dtype)
    if problem.may_diverge or not (compares(s) or sign):
        return None
    start = perf_counter() - uncounted.seconds
    if 3 * A.nbytes > (available(problem.device) or 0):
        return None
    M = compressed(A, narrow)
    if M is None:
        return None
    end = dtypes.SCALARS[narrow].high
    seen = problem.seen._replace(least=max(problem.seen.least, -end - 1), greatest=min(problem.seen.greatest, end))
    if sign and problem.n * max(map(abs, finite(M, seen, sign))) >= end:
        return None
    found = _solve_one(replace(problem, matrix=M, memory=Memory.OWNED, seen=seen), request, None)
    D = expanded(found.matrix, A.dtype, A if problem.in_place else None)
    return Solved(D, plan, perf_counter() - uncounted.seconds - start, found.phases)


def _require(problem: Problem, plan: Plan, request: Request) -> None:
    hint = ROUTES if request.paths else HINT
    if isinstance(problem.matrix, BitMatrix):
        hint = "Pass overwrite=True, or close the graph's components with transitive_closure."
    require(plan.beside_bytes - problem.made, problem.device, where="closure", hint=hint)


def _follow(
    problem: Problem, ops: Backend, plan: Plan, request: Request, potential: np.ndarray | None = None
) -> Solved:
    """M ← M* by the plan, in place if permitted, else in a copy.

    With potentials, on Johnson's weights, and restored: cycles of length about 0 cannot amplify each other's rounding.
    """
    s = problem.semiring
    if potential is not None:  # the reweighted lengths are non-negative
        nonnegative = s.lengths and s.add.selects == "least"
        ops = bind(s, problem.dtype, device=problem.device, nonnegative=nonnegative, **request.options)
    start = perf_counter() - uncounted.seconds
    M = ops.upload(problem.matrix, copy=not problem.in_place)
    if potential is not None:
        reweight(M, s, potential)
    phases = run(plan, M, ops, request)
    if potential is not None:
        restore(M, s, potential)
        settle.reflexive(M, s)
    seconds = perf_counter() - uncounted.seconds - start
    if not isinstance(problem.matrix, BitMatrix) and (ops.grain > 1 or not problem.is_on_device):
        out = problem.matrix if problem.in_place else module(problem.matrix).empty((problem.n,) * 2, problem.dtype)
        M = ops.download(M, out=out)
    return Solved(M, plan, seconds, phases)


def _by_potentials(problem: Problem, plan: Plan, request: Request) -> Solved | None:
    """M ← M* of integers with negative lengths, by reweighting; None if that may not fit."""
    start = perf_counter() - uncounted.seconds
    potentials = potentials_of(problem.matrix, problem.seen, problem.semiring)
    if potentials is None or (problem.in_place and not potentials.certain):
        return None
    ops = bind(min_plus, problem.dtype, device=problem.device, nonnegative=True, **request.options)
    M = ops.upload(problem.matrix, copy=not problem.in_place)
    potentials.reweight(M)
    phases = run(plan, M, ops, request)
    if not potentials.restore(M):
        return None
    return Solved(M, plan, perf_counter() - uncounted.seconds - start, phases)


def run(plan: Plan, M: Array, ops: Backend, request: Request, *, wait: bool = True) -> dict[str, float]:
    """M ← M* by the plan's schedule; waits for the device unless told not to; the seconds of each verb if timed."""
    schedule = schedules.get(plan.schedule)
    clock = Clock(ops) if request.timed else None
    observers: list[Observer] = [] if clock is None else [clock]
    if request.callback:
        observers.append(Progress(plan.pairs, request.callback))
    verbs: Any = Observed(ops, *observers, apart=request.timed) if observers else ops
    ops.prepare(plan.n)
    working = ops.aligned(M) if ops.aligns else M
    schedule(working, verbs, block=plan.block)
    if working is not M:
        ops.copy(M, working)
    if wait:
        ops.synchronize()
    return {} if clock is None else clock.seconds


def allocate_result(problem: Problem) -> Array:
    """A buffer for the result at its origin; its pages are mapped while the device works."""
    require(
        problem.origin.nbytes, location(problem.origin), where="closure", hint="Use a smaller dtype, or overwrite=True."
    )
    if location(problem.origin) != "cpu":
        return None
    return bind(problem.semiring, problem.dtype, device=problem.device).allocate_result(problem.origin.shape)


def give_back(problem: Problem, D: Array, buffer: Any = None) -> Array:
    """The result in kind: on the original device, in the original memory if overwritten."""
    if problem.origin is None:
        if problem.memory is Memory.OVERWRITE and D is not problem.matrix:
            problem.matrix[...] = D
            return problem.matrix
        return D
    if location(problem.origin) == "cpu":
        out, ready = buffer or (problem.origin, None)
        if ready:
            ready.result()
        return bind(problem.semiring, problem.dtype, device=problem.device).download(D, out=out)
    back = bind(problem.semiring, problem.dtype, device=location(problem.origin)).upload(D)
    if not problem.overwrite_origin:
        return back
    problem.origin[...] = back
    return problem.origin


def _solve_batch(problem: Problem, request: Request) -> Solved:
    """The closures of (batch, n, n): by the backend's batched verb, or one by one.

    One by one: possible divergence where ⊕ is idempotent or in integers (each is examined), requested schedules and
    blocks, and truth values, which go to the device singly.
    """
    start = clock()
    ops = problem.bind(request)
    plan = problem.plan(ops, request)
    fixed = request.schedule != "auto" or request.block is not None or "per_thread" in request.options
    if (
        ops.grain > 1
        and problem.device == "cuda"
        and not fixed
        and 0 < problem.n <= ORDINALS
        and len(problem.matrix) > 1
    ):
        return Solved(_by_ordinals(problem, request), plan, clock() - start, {})
    require(plan.beside_bytes if problem.memory is Memory.READ_ONLY else 0, problem.device, where="closure", hint=HINT)
    examined = problem.may_diverge and (problem.semiring.idempotent or dtypes.SCALARS[problem.dtype].integer)
    apart = examined or fixed or ops.grain > 1 or problem.n > ops.pivot
    if apart or not problem.is_on_device or not problem.matrix.size:
        D = _one_by_one(problem, request)
    else:
        D = _close_batch(problem, ops, request)
    buffer = None if problem.origin is None or problem.overwrite_origin else allocate_result(problem)
    D = give_back(problem, D, buffer)
    return Solved(D, plan, clock() - start, {})


def _by_ordinals(problem: Problem, request: Request) -> Array:
    """Small Boolean matrices in one batch over (max, min): packed singly, they would be bound by launches."""
    A = problem.matrix
    require(4 * A.size, problem.device, where="closure", hint=HINT)
    ends = (dtypes.zero(max_min, np.int16), dtypes.one(max_min, np.int16))
    ops = bind(max_min, np.dtype(np.int16), device=problem.device)
    W = ops.upload(module(A).where(A, *map(np.int16, ends[::-1])), copy=False)
    ordinals = replace(problem, matrix=W, semiring=max_min, memory=Memory.OWNED, origin=None)
    found = _solve_batch(replace(ordinals, seen=survey(W, max_min, where="closure")), request).matrix == ends[1]
    D = A if problem.memory is not Memory.READ_ONLY else module(A).empty_like(A)
    D[...] = found if problem.is_on_device else host(found)
    return D


def _close_batch(problem: Problem, ops: Backend, request: Request) -> Array:
    A, s = problem.matrix, problem.semiring
    if problem.may_diverge:
        series.precaution(A, s, problem.seen)
    D = A if problem.memory is not Memory.READ_ONLY else ops.empty(A.shape)
    ops.closure_batch(A, schedules.get("blocked"), out=None if D is A else D)
    ops.synchronize()
    if problem.may_diverge:
        try:
            series.check(D, s, problem.seen)
        except DivergenceError as error:
            raise settle.lost(error) if problem.memory is Memory.OVERWRITE else error from None
    if request.callback:
        pairs = len(A) * problem.n**3
        request.callback(pairs, pairs)
    return D


def _one_by_one(problem: Problem, request: Request) -> Array:
    """Matrices one by one, each in its place of the batch or of a copy."""
    A, overwritten = problem.matrix, problem.memory is Memory.OVERWRITE
    problem = (
        problem if problem.memory is not Memory.READ_ONLY else replace(problem, matrix=A.copy(), memory=Memory.OWNED)
    )
    D, total = problem.matrix, len(A) * problem.n**3
    for index in range(len(D)):
        report = _reporting(request.callback, index * problem.n**3, total)
        part = replace(problem.part(index), origin=None)
        try:
            closed = solve(part, replace(request, callback=report)).matrix
        except (DivergenceError, DomainError) as error:
            before = ", those before it are closed" if overwritten and index else ""
            raise settle.noted(error, f" It is matrix {index} of the batch{before}.") from None
        if closed is not part.matrix:
            part.matrix[...] = closed
        del closed  # before the next one is made
    return D


def _reporting(callback: Callback | None, before: int, total: int) -> Callback | None:
    """The callback for a part, offset by earlier work."""
    if callback is None:
        return None
    return lambda done, _: callback(before + done, total)
