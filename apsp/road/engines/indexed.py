"""Engine: reachability by labels of strongly connected components and searches that they prune, without n² bits."""

from __future__ import annotations

import math

import numpy as np

from semiring.host.memory import require
from semiring.sparse.reach import ARC, VERTEX, ReachIndex

from .. import estimates, rates
from ..estimates import Estimate
from ..question import Question
from .base import Kind, offer
from .packed import HINT, Packed, arcs_of, condensing, may_shrink, within
from .united import condensed

#: Pairs tried before the choice; pairs that are assumed to be asked for, a vertex.
TRIED, ASKED = 1000, 16


def _index(question: Question) -> ReachIndex:
    c = question.once(condensed)
    return ReachIndex(c.count, c.tails, c.heads, c.sizes, question.wants.options.get("threads"))


def _refuses(question: Question) -> str:
    wants = question.wants
    if not wants.packed or not question.listed:
        return "tells who reaches whom in a list of edges, asked by transitive_closure"
    if wants.gpus is not None:
        return "stays on one CPU, where gpus= is for bits"
    if wants.limits is not None and wants.limits.output is not None:
        return "stays in memory, where output= is a store of bits"
    return ""


def _looks(question: Question) -> float:
    """The time to build the index, at most; ∞ where bits are few."""
    if _refuses(question) or not may_shrink(question):
        return math.inf
    arcs = question.once(arcs_of)
    return estimates.condensing(arcs) + (question.n + arcs) * rates.processor.index_vertex


def _estimate(question: Question) -> Estimate:
    """The index, built and tried: as many arcs are looked at as there are, about, at most."""
    c, arcs, n = question.once(condensed), question.once(arcs_of), question.n
    between = len(c.tails)
    work, needed = c.count + between, VERTEX * c.count + ARC * between
    within(needed, question.wants, "Say output='reach/' for bits, and no engine=.")
    held = max(condensing(question, between), needed + 9 * n)
    require(held, where=question.wants.where, hint=HINT)
    sources, targets = c.component[np.random.default_rng(n).integers(n, size=(2, TRIED if n else 0))]
    tried, searched, seen = question.once(_index).tried(sources, targets, work)
    steps, cpu = seen / max(1, tried), rates.processor
    built = work * cpu.index_vertex
    start, asked = estimates.condensing(arcs) + built, ASKED * n * (cpu.index_pair + steps * cpu.index_arc)
    note = (
        f"; {n} vertices shrink to {c.count} components; labels decide {1 - searched / max(1, tried):.1%} of {tried} "
        f"random pairs, {steps:.3g} arcs a pair are searched"
    )
    taken = Estimate(ENGINE.name, work, held, start + asked, start, 0, spent=built)
    return offer(question, taken, "labels", note, pairs=work)


ENGINE = Kind(
    "indexed", _estimate, lambda question, plan: Packed(question.once(condensed), question.once(_index)),
    refuses=_refuses, looks=_looks, devices=("cpu", "cuda"), packed=True, numbers=False, compiles="index",
)  # fmt: skip
