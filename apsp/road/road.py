"""The entry point of every question: `Question` → choice of an engine → answer.

`closure` is the table of the answer in kind, `plan` the choice, `shortest_paths` a `Result` over the engine. Each
engine is a record in apsp/road/engines/ with its refusals, its estimate, and its constructor.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.host.compiling import Missing, expected, uncounted
from semiring.host.errors import AlgebraError, DeviceError, DivergenceError, DTypeError, MemoryNeeded
from semiring.host.memory import LEAST, available, granted, require, shown
from semiring.host.spelling import came, did_you_mean

from ..io.display import bars, output
from ..io.graph import Graph
from . import engines
from .arcs import proven
from .engines import pruned
from .engines.base import Engine, Kind, planned
from .engines.dense import Dense
from .engines.elimination import charge
from .engines.part import Found, Limit, Part
from .estimates import Estimate, in_units
from .log import PATIENCE, Watch, report_plan
from .plans import Plan
from .problem import ROUTES, on_device_of
from .question import Question
from .repeated import remember, repeat


class Answer(NamedTuple):
    """An engine, its plan, and the seconds until it could answer."""

    engine: Engine
    plan: Plan
    seconds: float


def choose(question: Question) -> Plan:
    """The plan of the fastest engine by prediction that can answer and fits, or of the engine requested.

    ValueError or DTypeError for incompatible options; ValueError, AlgebraError or DeviceError if the requested engine
    is unknown, cannot answer, or lacks the device; MemoryNeeded if none fits.
    """
    wants = question.wants
    if wants.limits is not None and not wants.packed:
        wants.limits.check(wants)
    if wants.overwrite and question.listed:
        raise DTypeError(
            f"{wants.where}: overwrite=True must be given an array to write to, got a graph. Leave overwrite out."
        )
    spread, bounded = wants.gpus is not None, wants.limits is not None
    if wants.packed:  # all its engines take both
        spread = bounded = False
    if wants.engine == "auto" and not wants.ordered:
        shape = getattr(getattr(question.source, "dense", question.source), "shape", ()) or (0,)  # of a matrix
        kinds = engines.candidates(
            gpus=spread, limits=bounded, listed=question.listed or question.picks or wants.packed,
            large=shape[-1] >= engines.MANY, numbers=not (question.semiring.boolean or wants.packed),
            scheduled=wants.scheduled, saved=wants.limits is not None and wants.limits.checkpoint is not None,
            device=question.device if question.is_graph else "",
        )  # fmt: skip
        little = _at_once(question, kinds) if len(kinds) > 1 else None
        found, reason = [little] if little else _offers(question, kinds), "the least predicted"
    else:
        kind = _named(engines.kinds(gpus=spread, limits=bounded, listed=question.is_graph), question)
        kinds, found, reason, little = (kind,), [_offer(kind, question)], "as asked", None
        made = wants.paths or question.columns or wants.hub_labels  # otherwise rows are streamed
        if not kind.schedules and made:
            hint = ROUTES if wants.paths else "Ask for fewer sources or targets."
            hint = "Leave hub_labels out: pairs are answered without them too." if wants.hub_labels else hint
            (only,) = found
            require(only.bytes, _device(question, only), where=wants.where, hint=hint)
            require(only.host_bytes, where=wants.where, hint=hint)
    best = found[0]
    if len(found) > 1 or (bounded and not _within(question, best)):
        best = _least(question, found)
    plan = best.plan
    if plan is not None and best.kernels:
        plan = replace(plan, kernels=best.kernels, compiling=best.compiling)
    if plan is not None and plan.block and len(found) == 1:
        return plan
    if len(kinds) > 1 and not (little or engines.get(best.engine).compiles) and _others_compile(kinds, question):
        reason += "; others would compile first"
    considered = tuple([replace(e, plan=None) if e.plan else e for e in found])
    if plan is None:
        return planned(question, best, reason, considered)
    return replace(plan, reason=plan.reason if plan.block else reason + plan.reason, considered=considered)


def _least(question: Question, found: list[Estimate]) -> Estimate:
    """The estimate of least cost that fits; the system is not asked about the others."""
    for estimate in sorted(found, key=lambda e: _cost(e, question)):
        if _within(question, estimate):
            return estimate
    raise _too_large(question, found)


def answer(question: Question) -> Answer:
    """Plan, report and open the engine; raises as `shortest_paths` and `closure`."""
    start = perf_counter() - uncounted.seconds
    if question.wants.plain and (repeated := repeat(question)) is not None:
        D, plan = repeated
        return Answer(Dense(D), plan, perf_counter() - uncounted.seconds - start)
    if question.wants.on_negative_cycle != "raise":
        pruned.check(question)
    try:
        try:
            engine, plan = _opened(question)
        except DivergenceError as error:
            with on_device_of(question.source):
                engine, plan = pruned.reopened(question, error, _opened)
    except DivergenceError as error:
        raise _as_asked(error, question) from None
    wants = question.wants
    if isinstance(question.source, Graph) and (wants.partial or wants.limit is not None or wants.ends is not None):
        engine = _part(question, engine)
    if wants.plain:
        remember(question, plan)
    seconds = perf_counter() - uncounted.seconds - start if engine.seconds is None else engine.seconds
    return Answer(engine, plan, seconds)


def _opened(question: Question) -> tuple[Engine, Plan]:
    """The engine of all pairs, and its plan."""
    with on_device_of(question.source):
        plan = choose(question)
        if plan.dtype == "int32" and not (engines.get(plan.engine).proves or question.once(proven)):
            question = question.widened()
            plan = choose(question)
        if question.wants.callback is None and (bars.chosen or plan.seconds > 1):
            told = Watch(f"{question.wants.where}: {plan.n:,} vertices", 0, None, warns=False)
            question = copy(question)  # with what is known of it
            object.__setattr__(question, "wants", replace(question.wants, callback=told))
        late = plan.seconds > PATIENCE and not _fits(
            question, plan.beside_bytes, plan.device
        )  # or refused by the engine
        if not late:
            report_plan(plan, question.wants.callback)
        kind = engines.get(plan.engine)
        token = expected.set(lambda: _expected(kind, question))
        try:
            engine = kind.open(question, plan)
            computed = SCALARS[engine.dtype].name
            plan = plan if computed == plan.dtype else replace(plan, dtype=computed)
        finally:
            expected.reset(token)
        if not kind.compiles:
            _uncompiled[_expected(kind, question)[0]] += plan.seconds
        if "arcs" in vars(question) and plan.engine != "elimination":
            charge(question, plan.seconds)
        if late:
            report_plan(plan, question.wants.callback)
        return engine, plan


#: Seconds spent without kernels, by subject of compilation; once they reach the cost of compiling, it is not put off.
_uncompiled: defaultdict[str, float] = defaultdict(float)


def _expected(kind: Kind, question: Question) -> tuple[str, Missing]:
    """The subject of compilation, as backends name it, and its kernels."""
    return f"{question.semiring.name} in {SCALARS[question.dtype].name}", question.missing(kind.compiles)


def _charged(kind: Kind, question: Question) -> float:
    """Seconds charged for compilation, a one-time cost."""
    if not question.missing(kind.compiles).kernels:
        return 0.0
    subject, missing = _expected(kind, question)
    return max(0.0, missing.seconds - _uncompiled[subject])


def _cost(estimate: Estimate, question: Question) -> float:
    """Seconds not spent yet, with the charge for compilation."""
    return estimate.seconds - estimate.spent + _charged(engines.get(estimate.engine), question)


def _offer(kind: Kind, question: Question) -> Estimate:
    """A kind's estimate, with kernels still to be compiled."""
    token = expected.set(lambda: _expected(kind, question))
    try:
        found = kind.estimate(question)
    finally:
        expected.reset(token)
    missing = question.missing(kind.compiles)
    return replace(found, kernels=missing.kernels, compiling=missing.seconds) if missing.kernels else found


def _others_compile(kinds: tuple[Kind, ...], question: Question) -> bool:
    """Whether a kind that could answer lacks compiled kernels."""
    return any([question.missing(kind.compiles).kernels and not kind.refuses(question) for kind in kinds])


def _looks(kind: Kind, question: Question) -> float:
    """Seconds of a kind's estimate and compilation: a lower bound of its cost."""
    return kind.looks(question) + _charged(kind, question)


def _named(kinds: tuple[Kind, ...], question: Question) -> Kind:
    """The kind requested by name or by an order, if it can answer."""
    wants = question.wants
    names = engines.names()
    if wants.engine not in ("auto", *names):
        hint = did_you_mean(wants.engine, names)
        raise ValueError(
            f"{wants.where}: engine must be one of auto, {', '.join(names)}, got {came(wants.engine)}.{hint}"
        )
    if wants.engine == "auto":
        found = [k for k in kinds if k.orders]
    else:
        found = [k for k in kinds if wants.engine in (k.name, k.answers_to)]
    if not found and not question.is_graph:
        raise ValueError(
            f"{wants.where}: engine={came(wants.engine)} takes a graph, got a matrix. Pass a graph, or leave it out."
        )
    if not found:
        able = " or ".join(f"engine={name!r}" for name in dict.fromkeys(k.answers_to or k.name for k in kinds))
        what = "memory=, checkpoint= and output= come" if wants.gpus is None else "gpus= comes"
        way = "Take another engine." if wants.gpus is None else "Leave gpus out: one device searches."
        raise ValueError(f"{wants.where}: {what} with {able}, got engine={came(wants.engine)}. {way}")
    kind = found[0]
    if wants.hub_labels and kind.name != "elimination":
        raise ValueError(
            f"{wants.where}: hub_labels=True comes with engine='elimination' on one device, got engine="
            f"{came(wants.engine)}{'' if wants.gpus is None else ' with gpus='}. Leave one of them out."
        )
    if wants.scheduled and not kind.schedules:
        raise ValueError(
            f"{wants.where}: a schedule and a block are the dense closure's, got them with engine={came(kind.name)}. "
            "Leave one of them out."
        )
    if wants.packed and not kind.packed:
        able = ", ".join(k.name for k in kinds if k.packed)
        raise ValueError(f"{wants.where}: engine must be one of auto, {able}, got {came(wants.engine)}.")
    if question.is_graph and question.device not in kind.devices:
        raise DeviceError(
            f"{wants.where}: engine={came(kind.name)} computes on the CPU, got device={came(wants.device)}. "
            "Leave it out."
        )
    if why := kind.refuses(question):
        raise AlgebraError(f"{wants.where}: engine={came(kind.name)} {why}. Leave it out.")
    return kind


def _at_once(question: Question, kinds: tuple[Kind, ...]) -> Estimate | None:
    """The estimate of a kind too cheap for others to be worth estimating, or None."""
    for kind in kinds:
        little = question.once(kind.at_once) if kind.at_once else None
        if little and not kind.refuses(question):
            return little
    return None


def _offers(question: Question, kinds: tuple[Kind, ...]) -> list[Estimate]:
    """The estimates of kinds that can answer; slow estimates only if worthwhile."""
    if len(kinds) == 1:
        return [_offer(kinds[0], question) if question.wants.dry else kinds[0].estimate(question)]
    found: list[tuple[float, Estimate]] = []
    refusal: MemoryNeeded | None = None
    # A kind whose estimate takes longer than an engine that is known to fit is skipped, and all after it.
    for looks, _, kind in sorted([(_looks(k, question), k.name, k) for k in kinds]):
        if math.isinf(looks) or any([share <= looks and _within(question, e) for share, e in found]):
            break
        if kind.refuses(question):
            continue
        try:
            estimate = _offer(kind, question)
        except MemoryNeeded as error:  # not even the estimate fits
            refusal = error
            continue
        # Rows alone may need much less than the matrix.
        share = 1.0 if question.picks else kind.share
        found.append((share * (estimate.seconds - estimate.spent) + _charged(kind, question), estimate))
    if not found:
        assert refusal is not None
        raise refusal
    return sorted([estimate for _, estimate in found], key=attrgetter("engine"))


def _within(question: Question, estimate: Estimate) -> bool:
    """Whether an engine's memory is free, and within the limit unless the engine enforces it."""
    limit = getattr(question.wants.limits, "memory", None)
    if limit is not None and estimate.bytes > limit and engines.get(estimate.engine).writes_rows:
        return False
    return _fits(question, estimate.bytes, _device(question, estimate))


def _fits(question: Question, needed: int, device: str) -> bool:
    """Whether a device has this memory free; the system is asked once, and only if necessary."""
    if needed <= LEAST or granted(needed, device):
        return True
    free = question.once(_free)(device)
    return free is None or needed <= free


def _free(question: Question) -> Callable[[str], int | None]:
    """Free bytes by device, as first reported for this question."""
    return cache(available)


def _device(question: Question, estimate: Estimate) -> str:
    return question.device if estimate.plan is None else estimate.plan.device


def _too_large(question: Question, found: list[Estimate]) -> MemoryNeeded:
    device = _device(question, found[0])
    limit = getattr(question.wants.limits, "memory", None)
    free = available(device) if limit is None else limit
    needs = "; ".join(f"{e.engine} {shown(e.bytes)} and {in_units(e.seconds)}" for e in found)
    way = "Ask for some rows, sources=[…]: Dijkstra's algorithm then takes no more than those."
    if limit is not None:
        dense = "" if question.wants.engine == "auto" else ", or take engine='dense', which streams through less"
        way = f"Give more memory=, or leave it out{dense}."
    return MemoryNeeded(
        f"{question.wants.where}: what is held must fit on {device}, got {shown(free or 0)} free and a graph "
        f"for which it is {needs}. {way}"
    )


def _part(question: Question, engine: Engine) -> Part | Found:
    """The requested rows and columns; computed now if the engine would repeat searches."""
    wants = question.wants
    i = wants.sources
    if i is None:
        i = np.arange(question.n if wants.ends is None else len(wants.ends))
    j = wants.ends if wants.targets is None else wants.targets
    limit = None if wants.limit is None else Limit(wants.limit, question.semiring, engine.dtype)
    part = Part(engine, i, j, limit)
    return Found(part) if engine.repeats and wants.partial and not wants.table else part


def _as_asked(error: DivergenceError, question: Question) -> DivergenceError:
    """The error with the user's function, and the graph's labels."""
    source, message = question.source, f"{question.wants.where}:{str(error).partition(':')[2]}"
    if error.vertex is None or not isinstance(source, Graph) or source.labels == range(source.n):
        return type(error)(message, error.vertex, error.cycle)
    names = [source.labels[v] for v in error.cycle]
    vertex = source.labels[error.vertex]
    where = f"the cycle {output.walk([*names, names[0]])}" if names else f"vertex {vertex!r}"
    return type(error)(f"{message} By label: {where}.", vertex, names)
