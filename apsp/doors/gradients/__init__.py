"""Differentiable `closure`, and the data its derivative needs (docs/gradients.md)."""

from __future__ import annotations

from semiring.algebra.records import Semiring
from semiring.host.types import Array

from ...io.reading.options import BY_RULE, nulls_of
from ...road.question import Question
from ...road.road import answer
from ...road.wants import Wants


def closed(A: Array, s: Semiring, zeros: bool, schedule: str, block: int | None, threads: int | None) -> Array:
    """A*, in kind; `zeros`: zeros are edges (`null_value=None`)."""
    nulls = nulls_of(None if zeros else BY_RULE)
    wants = Wants.of(where="closure", schedule=schedule, block=block, threads=threads, nulls=nulls, table=True)
    question = Question(A, s, wants)
    return question.in_kind(answer(question).engine.storage)
