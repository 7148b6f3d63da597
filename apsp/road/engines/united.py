"""Engine: reachability by strongly connected components, closed by uniting rows or by products."""

from __future__ import annotations

import math
from dataclasses import replace

from semiring.algebra.catalog import lor_land
from semiring.dense.acyclic import acyclic_strips, close_acyclic
from semiring.dense.bits import BitMatrix
from semiring.host.devices import to_device
from semiring.host.errors import MemoryNeeded
from semiring.host.memory import available, require, shown
from semiring.kernels.backend import Backend
from semiring.stores.tiles import StoredBits
from semiring.stores.tiles.bits import WORDS

from ...big.large.closing import SHARE
from .. import estimates
from ..estimates import Estimate
from ..plans import Plan, make_plan
from ..question import Question
from ..wants import Wants
from . import packed
from .base import Kind
from .condensation import Condensation, condense

#: Bytes an arc between components, sorted, for uniting rows.
_UNITING = 26

#: Schedule name of uniting rows.
UNITED = "acyclic"


def condensed(question: Question) -> Condensation:
    (graph, _), arcs = question.once(packed.of_truth), question.once(packed.arcs_of)
    require(packed.condensing(question, arcs), where=question.wants.where, hint=packed.HINT)
    tails, heads, _ = graph.edges(lor_land)
    return condense(graph.n, tails, heads)


def _refuses(question: Question) -> str:
    wants = question.wants
    if not question.is_graph or not question.semiring.boolean:
        return f"tells who reaches whom in a graph, over the Boolean semiring, got {question.semiring.name}"
    if wants.packed:
        return "" if wants.schedule == "auto" else "shrinks the graph, which a schedule for all vertices does not"
    if wants.scheduled or question.device != "cpu" or not question.listed:
        return "takes a list of edges on the CPU, and no schedule"
    return ""


def _looks(question: Question) -> float:
    """Free if condensing may pay, else ∞."""
    return math.inf if _refuses(question) or not packed.may_shrink(question) else 0.0


def _unites(c: Condensation) -> bool:
    """Whether arcs are so few that uniting rows beats products."""
    return len(c.tails) * 16 <= c.count**2


def _planned(question: Question) -> tuple[Plan, int]:
    """The plan of the components' closure, and the columns per strip."""
    wants, c, ops = question.wants, question.once(condensed), packed.verbs(question)
    shrunk = f"{question.n} vertices shrink to {c.count} components"
    plan = make_plan(c.count, lor_land, ops, block=wants.block)
    if not _unites(c):
        return replace(plan, reason=f"{shrunk}; {plan.reason}"), c.count
    reason = f"{shrunk}, and {len(c.tails)} arcs unite their rows"
    pairs = max(len(c.tails), c.count) * c.count
    plan = replace(
        plan, device="cpu", schedule=UNITED, workspace_bytes=_UNITING * len(c.tails), seconds=estimates.uniting(pairs),
        pairs=pairs, reason=reason,
    )  # fmt: skip
    strip = _strip(c.count, plan, wants)
    if strip < c.count:
        assert wants.limits is not None
        reason += f"; {shown(plan.matrix_bytes)} go to {wants.limits.output} in strips of {strip} columns"
        plan = replace(plan, matrix_bytes=strip * c.count // 8, reason=reason)
    return plan, strip


def _estimate(question: Question) -> Estimate:
    """The closure of the condensation: by uniting rows for few arcs, else by Boolean products."""
    wants, c, (plan, strip) = question.wants, question.once(condensed), question.once(_planned)
    arcs, (_, made) = question.once(packed.arcs_of), question.once(packed.of_truth)
    needed = plan.matrix_bytes + plan.workspace_bytes
    if strip == c.count:
        packed.within(
            needed, wants, "Say output='reach/', where the answer will be." if _unites(c) else packed.UNCONDENSED
        )
    peak = max(packed.condensing(question, len(c.tails)), needed + 17 * question.n + 16 * len(c.tails)) + made
    if wants.table or wants.paths:
        peak += question.n**2 * 9 // 8
    seconds = estimates.condensing(arcs) + plan.seconds
    plan = replace(plan, beside_bytes=peak)
    plan = replace(plan if _unites(c) else packed.over_ranks(plan, wants), engine=ENGINE.name, seconds=seconds)
    return Estimate(ENGINE.name, plan.pairs, plan.beside_bytes, seconds, seconds, 0.0, plan)


def _strip(count: int, plan: Plan, wants: Wants) -> int:
    """Columns united at a time, in complete tiles; all if they fit, or without an output."""
    limits = wants.limits
    if not wants.packed or wants.gpus is not None or limits is None or limits.output is None:
        return count
    limit = limits.memory
    if limit is None:
        free = available("cpu")
        limit = plan.matrix_bytes + plan.workspace_bytes if free is None else int(SHARE * free)
    if plan.matrix_bytes + plan.workspace_bytes <= limit:
        return count
    words = (limit - plan.workspace_bytes) // (8 * max(1, count))
    if words < 1:
        raise MemoryNeeded(
            f"{wants.where}: {shown(8 * count + plan.workspace_bytes)} must fit into memory, 64 columns of "
            f"{count} components and their arcs, got {shown(limit)}. Give more memory."
        )
    return 64 * (words // WORDS * WORDS if words > WORDS else words)


def _open(question: Question, plan: Plan) -> packed.Packed:
    wants, c, (plan, strip), ops = (
        question.wants,
        question.once(condensed),
        question.once(_planned),
        packed.verbs(question),
    )
    device = "cpu" if _unites(c) else ops.device
    require(plan.matrix_bytes + plan.workspace_bytes, device, where=wants.where, hint=packed.HINT)
    return packed.Packed(c, closed(c, ops, wants) if strip == c.count else _in_strips(c, strip, wants))


def closed(c: Condensation, ops: Backend, wants: Wants) -> BitMatrix:
    if _unites(c):
        return close_acyclic(c.count, c.tails, c.heads)
    tails, heads = (to_device(x, ops.device) for x in (c.tails, c.heads))
    bits = BitMatrix.from_edges(tails, heads, (c.count, c.count))
    packed.close(bits, ops, wants)
    return bits.get()


def _in_strips(c: Condensation, strip: int, wants: Wants) -> StoredBits:
    """The closure of the components by strips of columns, each written when united."""
    assert wants.limits is not None
    assert wants.limits.made_in is not None
    stored = StoredBits.create(wants.limits.made_in, (c.count, c.count), width=strip // 64)
    for columns, bits in acyclic_strips(c.count, c.tails, c.heads, strip):
        stored.put(columns, bits)
        if wants.callback is not None:
            wants.callback(columns.stop, c.count)
    return stored


ENGINE = Kind(
    "united",
    _estimate,
    _open,
    refuses=_refuses,
    looks=_looks,
    devices=("cpu", "cuda"),
    schedules=True,
    packed=True,
    numbers=False,
    compiles="closure",  # where components are closed by products
)
