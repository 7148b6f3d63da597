"""Every dense closure: convert → survey → plan → run the schedule → settle → return.

A `Problem` (apsp/road/problem.py) is converted and surveyed. `solve` plans, runs the schedule and settles; `give_back`
returns the result to its origin. The engine `dense` calls this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import max_min
from semiring.algebra.saturation import compares, compressed, expanded, narrowed, widened, wider
from semiring.algebra.shifting import finite, sign_of
from semiring.dense.bits import BitMatrix
from semiring.dense.cycles import Johnson
from semiring.dense.potentials import LengthsOverflowError, Potentials, potentials_of
from semiring.host.compiling import clock
from semiring.host.devices import host, module
from semiring.host.errors import DivergenceError, DomainError, MemoryNeeded
from semiring.host.memory import available, require
from semiring.host.types import Array
from semiring.kernels.backend import Backend, bind
from semiring.kernels.observed import Callback, Clock, Observed, Observer, Progress

from . import schedules
from .convergence import saturation, settle
from .plans import Plan
from .problem import HINT, ROUTES, Memory, Problem
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
    if problem.origin is None and problem.memory is not Memory.OVERWRITE:
        return _solve(problem, request, plan)
    start = clock()
    buffer = allocate_result(problem)
    solved = _solve(problem, request, plan)
    home = give_back(problem, solved.matrix, buffer)
    return solved if home is solved.matrix else replace(solved, matrix=home, seconds=clock() - start)


def _solve(problem: Problem, request: Request, plan: Plan | None = None) -> Solved:
    """plan → schedule → settle, on the problem's device."""
    s, A, ops = problem.semiring, problem.matrix, problem.bind(request)
    plan = plan or problem.plan(ops, request)
    _require(problem, plan, request)  # what does not fit is refused before entries are searched
    for convert in conversions(problem):
        converted = convert(problem, plan, request)
        if converted is not None:
            return converted
    overwritten = problem.memory is Memory.OVERWRITE
    existence = settle.Existence(A, s, problem.seen, overwritten) if problem.may_diverge else None
    loses = existence is not None and s.idempotent and request.table and problem.may_lose
    lengths = existence and existence.precaution()
    try:
        solved = _follow(problem, ops, plan, request, lengths)
    except DivergenceError as error:  # a star of integers without value
        written = problem.in_place and problem.is_on_device and ops.grain == 1
        raise settle.lost(error) if overwritten and written else error from None
    if existence is None:
        return solved
    try:
        lengths = existence.settle(solved.matrix)
    except DivergenceError as error:
        raise settle.lost(error) if overwritten and solved.matrix is A else error from None
    if lengths is not None:
        del solved
        solved = _follow(problem, ops, plan, request, lengths)
    return _exact(problem, solved, request) if loses else solved


def conversions(problem: Problem) -> Sequence[Callable[[Problem, Plan, Request], Solved | None]]:
    """Other ways, tried first: of a batch as ordinals, or one by one; in int32 on a GPU; without negative lengths."""
    if problem.batch:
        return [_by_ordinals, _one_by_one] if problem.device == "cuda" else [_one_by_one]
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
            W = widened(A, wide, s)
            found = _solve(problem.about(W), request)
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
    start = clock()
    if 3 * A.nbytes > (available(problem.device) or 0):
        return None
    M = compressed(A, narrow)
    if M is None:
        return None
    end = dtypes.SCALARS[narrow].high
    seen = problem.seen._replace(least=max(problem.seen.least, -end - 1), greatest=min(problem.seen.greatest, end))
    if sign and problem.n * max(map(abs, finite(M, seen, sign))) >= end:
        return None
    found = _solve(problem.about(M, seen), request)
    D = expanded(found.matrix, A.dtype, A if problem.in_place else None)
    return Solved(D, plan, clock() - start, found.phases)


def _require(problem: Problem, plan: Plan, request: Request) -> None:
    hint = ROUTES if request.paths else HINT
    if isinstance(problem.matrix, BitMatrix):
        hint = "Pass overwrite=True, or close the graph's components with transitive_closure."
    made = problem.made if problem.memory is Memory.OWNED else 0
    require(plan.beside_bytes - made, problem.device, where="closure", hint=hint)


def _follow(
    problem: Problem, ops: Backend, plan: Plan, request: Request, lengths: Johnson | Potentials | None = None
) -> Solved:
    """M ← M* by the plan, in place if permitted, else in a copy; by way of Johnson's lengths, if there are any.

    On these, cycles of length about 0 cannot amplify each other's rounding. LengthsOverflowError if they do not fit.
    """
    start, A = clock(), problem.matrix
    if problem.batch:
        D = A if problem.memory is not Memory.READ_ONLY else ops.empty(A.shape)
        ops.closure_batch(A, schedules.get("blocked"), out=None if D is A else D)
        ops.synchronize()
        if request.callback:
            request.callback(len(A) * problem.n**3, len(A) * problem.n**3)
        return Solved(D, plan, clock() - start, {})
    if lengths is not None:
        s, nonnegative = lengths.verbs
        ops = bind(s, problem.dtype, device=problem.device, nonnegative=nonnegative, **request.options)
    M = ops.upload(A, copy=not problem.in_place)
    if lengths is not None:
        lengths.reweight(M)
    phases = run(plan, M, ops, request)
    if lengths is not None:
        lengths.restore(M)
    seconds = clock() - start
    if not isinstance(A, BitMatrix) and (ops.grain > 1 or not problem.is_on_device):
        M = ops.download(M, out=A if problem.in_place else module(A).empty((problem.n,) * 2, problem.dtype))
    return Solved(M, plan, seconds, phases)


def _by_potentials(problem: Problem, plan: Plan, request: Request) -> Solved | None:
    """M ← M* of integers with negative lengths, by reweighting; None if that may not fit."""
    start = clock()
    potentials = potentials_of(problem.matrix, problem.seen, problem.semiring)
    if potentials is None or (problem.in_place and not potentials.certain):
        return None
    try:
        return replace(_follow(problem, problem.bind(request), plan, request, potentials), seconds=clock() - start)
    except LengthsOverflowError:
        return None


def run(plan: Plan, M: Array, ops: Backend, request: Request, *, wait: bool = True) -> dict[str, float]:
    """M ← M* by the plan's schedule; waits for the device unless told not to; the seconds of each verb if timed."""
    schedule = schedules.known(plan.schedule)
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
    """A buffer for the result on the host where it came from there; its pages are mapped while the device works."""
    origin = problem.origin
    if origin is None or problem.overwrite_origin:
        return None
    require(origin.nbytes, problem.home, where="closure", hint="Use a smaller dtype, or overwrite=True.")
    if problem.home != "cpu":
        return None
    return bind(problem.semiring, problem.dtype, device=problem.device).allocate_result(origin.shape)


def give_back(problem: Problem, D: Array, buffer: Any = None) -> Array:
    """The result in kind: on the original device, in the original memory if overwritten."""
    origin = problem.origin
    if origin is None:
        if problem.memory is not Memory.OVERWRITE or D is problem.matrix:
            return D
        origin, back = problem.matrix, D
    elif problem.home == "cpu":
        out, ready = buffer or (origin, None)
        if ready:
            ready.result()
        return bind(problem.semiring, problem.dtype, device=problem.device).download(D, out=out)
    else:
        back = bind(problem.semiring, problem.dtype, device=problem.home).upload(D)
        if not problem.overwrite_origin:
            return back
    origin[...] = back
    return origin


def _by_ordinals(problem: Problem, plan: Plan, request: Request) -> Solved | None:
    """Small Boolean matrices in one batch over (max, min): packed singly, they would be bound by launches."""
    start, A, ops = clock(), problem.matrix, problem.bind(request)
    if ops.grain == 1 or request.fixed or not 0 < problem.n <= ORDINALS or len(A) < 2:
        return None
    require(4 * A.size, problem.device, where="closure", hint=HINT)
    ends = (dtypes.zero(max_min, np.int16), dtypes.one(max_min, np.int16))
    ops = bind(max_min, np.dtype(np.int16), device=problem.device)
    W = ops.upload(module(A).where(A, *map(np.int16, ends[::-1])), copy=False)
    found = _solve(problem.about(W, semiring=max_min), request).matrix == ends[1]
    D = A if problem.memory is not Memory.READ_ONLY else module(A).empty_like(A)
    D[...] = found if problem.is_on_device else host(found)
    return Solved(D, plan, clock() - start, {})


def _one_by_one(problem: Problem, plan: Plan, request: Request) -> Solved | None:
    """Matrices one by one, each in its place of the batch or of a copy; None where the batched verb closes them.

    One by one: possible divergence where ⊕ is idempotent or in integers (each is examined), requested schedules and
    blocks, and truth values, which go to the device singly.
    """
    A, ops, overwritten = problem.matrix, problem.bind(request), problem.memory is Memory.OVERWRITE
    examined = problem.may_diverge and (problem.semiring.idempotent or dtypes.SCALARS[problem.dtype].integer)
    if not (examined or request.fixed or ops.grain > 1) and problem.n <= ops.pivot and problem.is_on_device and A.size:
        return None
    start = clock()
    if problem.memory is Memory.READ_ONLY:
        problem = replace(problem, matrix=A.copy(), memory=Memory.OWNED)
    D, pairs = problem.matrix, problem.n**3
    for index in range(len(D)):
        report = _reporting(request.callback, index * pairs, len(D) * pairs)
        part = problem.about(D[index], memory=problem.memory)
        try:
            closed = _solve(part, replace(request, callback=report)).matrix
        except (DivergenceError, DomainError) as error:
            before = ", those before it are closed" if overwritten and index else ""
            raise settle.noted(error, f" It is matrix {index} of the batch{before}.") from None
        if closed is not part.matrix:
            part.matrix[...] = closed
        del closed  # before the next one is made
    return Solved(D, plan, clock() - start, {})


def _reporting(callback: Callback | None, before: int, total: int) -> Callback | None:
    """The callback for a part, offset by earlier work."""
    if callback is None:
        return None
    return lambda done, _: callback(before + done, total)
