"""Engine: searches by weight on several ranks, each from a share of the sources."""

from __future__ import annotations

import copy
from dataclasses import replace

from semiring.distributed import Comm

from ..estimates import Estimate
from ..plans import Plan
from ..question import Question
from . import searches
from .base import Kind
from .searches import Relaxed
from .shared import Spread, on_one, ranks_of, spread


class SharedSearches(Spread, Relaxed):
    """Searches by weight on each of several ranks."""


def _estimate(question: Question) -> Estimate:
    found, ranks = searches.estimate(question.once(on_one)), ranks_of(question).grid.size
    seconds = found.seconds if question.wants.partial else found.seconds / ranks
    return spread(question, ENGINE.name, replace(found, seconds=seconds))


def _open(question: Question, plan: Plan) -> SharedSearches:
    ranks = ranks_of(question)
    first = question.once(on_one).once(searches.opened)
    if ranks.device == "cpu" and ranks.in_one_process:
        return SharedSearches(ranks, [first] * ranks.grid.size)
    first.searches.order()  # computed on the host once for all

    def copied(comm: Comm) -> Relaxed:
        engine, own = copy.copy(first), copy.copy(first.searches)
        vars(own).pop("_gpu", None)  # the arcs on another device
        vars(engine).update(searches=own)
        vars(engine).pop("_turned", None)
        return engine

    return SharedSearches(ranks, ranks.run(copied))


ENGINE = Kind(
    "sharded", _estimate, _open, refuses=lambda question: searches.ENGINE.refuses(question.once(on_one)),
    devices=("cpu", "cuda"), gpus=True, answers_to="searches", on_request_only=True,
)  # fmt: skip
