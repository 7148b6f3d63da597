"""The entry point of every question: `Question` → choice of an engine → answer.

`closure` is the table of the answer in kind, `plan` the choice, `shortest_paths` a `Result` over the engine. Each
engine is a record in apsp/road/engines/ with its refusals, its estimate, and its constructor.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from semiring.algebra.dtypes import SCALARS
from semiring.host.compiling import Missing, expected, uncounted
from semiring.host.errors import AlgebraError, DeviceError, DivergenceError, DTypeError, MemoryNeeded
from semiring.host.memory import available, require, shown
from semiring.host.spelling import came, did_you_mean

from ..io.display import bars, output
from ..io.graph import Graph
from . import engines
from .arcs import proven
from .engines import pruned
from .engines.base import Engine, Kind, planned
from .engines.elimination import charge
from .engines.part import part_of
from .estimates import Estimate, in_units
from .log import PATIENCE, Watch, report_plan
from .plans import Plan
from .problem import ROUTES
from .question import Question
from .repeated import remember, repeat

T = TypeVar("T")


class Answer(NamedTuple):
    """An engine, its plan, and the seconds until it could answer."""

    engine: Engine
    plan: Plan
    seconds: float


@dataclass(frozen=True)
class Offer:
    """A kind of engine for a question: the cost of its answer, found on first use; `known` is an estimate made already.

    `looks` is a lower bound of the cost, from the seconds of the estimate itself; `share` the part of the cost that
    another estimate may take.
    """

    kind: Kind
    question: Question
    known: Estimate | None = None

    @property
    def subject(self) -> str:
        """The subject of compilation, as backends name it."""
        return f"{self.question.semiring.name} in {SCALARS[self.question.dtype].name}"

    @property
    def missing(self) -> Missing:
        """Kernels still to be compiled."""
        return self.question.missing(self.kind.compiles)

    @property
    def charge(self) -> float:
        """Seconds charged for compilation, a one-time cost."""
        missing = self.missing
        return max(0.0, missing.seconds - _uncompiled[self.subject]) if missing.kernels else 0.0

    def charge_others(self, seconds: float) -> None:
        """Charge an answer to what it did without, kernels and a structure, until they would have taken as long."""
        if not self.kind.compiles:
            _uncompiled[self.subject] += seconds
        if "arcs" in vars(self.question) and self.kind.name != "elimination":
            charge(self.question, seconds)

    def compiling(self, work: Callable[..., T], *of: Any) -> T:
        """work(*of), whose notices of compilation name the missing kernels."""
        token = expected.set(lambda: (self.subject, self.missing))
        try:
            return work(*of)
        finally:
            expected.reset(token)

    @cached_property
    def looks(self) -> float:
        return self.kind.looks(self.question) + self.charge

    @cached_property
    def refusal(self) -> str:
        return self.kind.refuses(self.question)

    @cached_property
    def estimate(self) -> Estimate:
        if self.known is not None:
            return self.known
        found, missing = self.compiling(self.kind.estimate, self.question), self.missing
        return replace(found, kernels=missing.kernels, compiling=missing.seconds) if missing.kernels else found

    @property
    def cost(self) -> float:
        """Seconds not spent yet, with the charge for compilation."""
        return self.estimate.seconds - self.estimate.spent + self.charge

    @cached_property
    def share(self) -> float:
        share = 1.0 if self.question.picks else self.kind.share  # rows alone may need much less than the matrix
        return share * (self.estimate.seconds - self.estimate.spent) + self.charge

    @property
    def device(self) -> str:
        return self.question.device if self.estimate.plan is None else self.estimate.plan.device

    @property
    def fits(self) -> bool:
        """Whether the memory is free, and within the limit unless the engine enforces it."""
        limit = getattr(self.question.wants.limits, "memory", None)
        if limit is not None and self.estimate.bytes > limit and self.kind.writes_rows:
            return False
        return self.question.fits(self.estimate.bytes, self.device)


#: Seconds spent without kernels, by subject of compilation; once they reach the cost of compiling, it is not put off.
_uncompiled: defaultdict[str, float] = defaultdict(float)


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
    bounded, kinds = wants.limits is not None and not wants.packed, engines.candidates(question)
    if wants.engine == "auto" and not wants.ordered:
        offers, reason = _offers(question, kinds), "the least predicted"
    else:
        kind = _named(kinds, question)
        kinds, offers, reason = (kind,), [Offer(kind, question)], "as asked"
        made = wants.paths or question.columns or wants.hub_labels  # otherwise rows are streamed
        if not kind.schedules and made:
            hint = ROUTES if wants.paths else "Ask for fewer sources or targets."
            hint = "Leave hub_labels out: pairs are answered without them too." if wants.hub_labels else hint
            only = offers[0].estimate
            require(only.bytes, offers[0].device, where=wants.where, hint=hint)
            require(only.host_bytes, where=wants.where, hint=hint)
    best = offers[0]
    if len(offers) > 1 or (bounded and not best.fits):
        best = _least(offers)
    found, plan = best.estimate, best.estimate.plan
    if plan is not None and found.kernels:
        plan = replace(plan, kernels=found.kernels, compiling=found.compiling)
    if plan is not None and plan.block and len(offers) == 1:
        return plan
    if len(kinds) > 1 and not (best.known or best.kind.compiles):
        others = [Offer(kind, question) for kind in kinds]
        if any([other.missing.kernels and not other.refusal for other in others]):
            reason += "; others would compile first"
    considered = tuple([replace(e, plan=None) if e.plan else e for e in [offer.estimate for offer in offers]])
    if plan is None:
        return planned(question, found, reason, considered)
    return replace(plan, reason=plan.reason if plan.block else reason + plan.reason, considered=considered)


def _least(offers: list[Offer]) -> Offer:
    """The offer of least cost that fits; the system is not asked about the others."""
    for offer in sorted(offers, key=attrgetter("cost")):
        if offer.fits:
            return offer
    raise _too_large(offers)


def answer(question: Question) -> Answer:
    """Plan, report and open the engine; raises as `shortest_paths` and `closure`."""
    start = perf_counter() - uncounted.seconds
    if question.wants.plain and (repeated := repeat(question)) is not None:
        engine, plan = repeated
        return Answer(engine, plan, perf_counter() - uncounted.seconds - start)
    if question.wants.on_negative_cycle != "raise":
        pruned.refuse_options(question)
    with question.on_device:
        try:
            try:
                engine, plan = _opened(question)
            except DivergenceError as error:
                engine, plan = pruned.reopened(question, error, _opened)
        except DivergenceError as error:
            raise _as_asked(error, question) from None
    wants = question.wants
    if isinstance(question.source, Graph) and (wants.partial or wants.limit is not None or wants.ends is not None):
        engine = part_of(question, engine)
    if wants.plain:
        remember(question, plan)
    seconds = perf_counter() - uncounted.seconds - start if engine.seconds is None else engine.seconds
    return Answer(engine, plan, seconds)


def _opened(question: Question) -> tuple[Engine, Plan]:
    """The engine of all pairs, and its plan."""
    plan = choose(question)
    kind = engines.get(plan.engine)
    if plan.dtype == "int32" and not (kind.proves or question.once(proven)):
        return _opened(question.widened())
    if question.wants.callback is None and (bars.chosen or plan.seconds > 1):
        told = Watch(f"{question.wants.where}: {plan.n:,} vertices", 0, None, warns=False)
        question = copy(question)  # with its cached facts
        object.__setattr__(question, "wants", replace(question.wants, callback=told))
    late = plan.seconds > PATIENCE and not question.fits(plan.beside_bytes, plan.device)  # or refused on opening
    if not late:
        report_plan(plan, question.wants.callback)
    offer = Offer(kind, question)
    engine = offer.compiling(kind.open, question, plan)
    offer.charge_others(plan.seconds)
    computed = SCALARS[engine.dtype].name
    plan = plan if computed == plan.dtype else replace(plan, dtype=computed)
    if late:
        report_plan(plan, question.wants.callback)
    return engine, plan


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


def _offers(question: Question, kinds: tuple[Kind, ...]) -> list[Offer]:
    """The offers of kinds that can answer; slow estimates only if worthwhile."""
    if len(kinds) == 1:
        return [Offer(kinds[0], question, None if question.wants.dry else kinds[0].estimate(question))]
    for kind in kinds:  # too cheap for others to be worth estimating
        little = question.once(kind.at_once) if kind.at_once else None
        if little and not kind.refuses(question):
            return [Offer(kind, question, little)]
    found: list[Offer] = []
    refused: MemoryNeeded | None = None
    # A kind whose estimate takes longer than an engine that is known to fit is skipped, and all after it.
    for offer in sorted([Offer(kind, question) for kind in kinds], key=attrgetter("looks", "kind.name")):
        if math.isinf(offer.looks) or any([other.share <= offer.looks and other.fits for other in found]):
            break
        if offer.refusal:
            continue
        try:
            offer.estimate  # noqa: B018  # a cached property: computed here, where it may be refused
        except MemoryNeeded as error:  # not even the estimate fits
            refused = error
            continue
        found.append(offer)
    if not found:
        assert refused is not None
        raise refused
    return sorted(found, key=attrgetter("kind.name"))


def _too_large(offers: list[Offer]) -> MemoryNeeded:
    device, wants = offers[0].device, offers[0].question.wants
    limit = getattr(wants.limits, "memory", None)
    free = min(x for x in (available(device), limit, math.inf) if x is not None)
    needs = "; ".join(f"{e.engine} {shown(e.bytes)} and {in_units(e.seconds)}" for e in [o.estimate for o in offers])
    way = "Ask for some rows, sources=[…]: Dijkstra's algorithm then takes no more than those."
    if free == limit:
        dense = "" if wants.engine == "auto" else ", or take engine='dense', which streams through less"
        way = f"Give more memory=, or leave it out{dense}."
    elif limit is not None:
        way = f"Free memory, or say less than memory={came(shown(limit))}."
    return MemoryNeeded(
        f"{wants.where}: the memory of an engine must fit on {device}, got {shown(free)} free and a graph "
        f"for which it is {needs}. {way}"
    )


def _as_asked(error: DivergenceError, question: Question) -> DivergenceError:
    """The error with the user's function, and the graph's labels."""
    source, message = question.source, f"{question.wants.where}:{str(error).partition(':')[2]}"
    if error.vertex is None or not isinstance(source, Graph) or source.labels == range(source.n):
        return type(error)(message, error.vertex, error.cycle)
    names = [source.labels[v] for v in error.cycle]
    vertex = source.labels[error.vertex]
    where = f"the cycle {output.walk([*names, names[0]])}" if names else f"vertex {vertex!r}"
    return type(error)(f"{message} By label: {where}.", vertex, names)
