"""Turns of a result: its question over copies of vertices, and what is told by vertex again (docs/turns.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from semiring.host.errors import DivergenceError
from semiring.host.spelling import came

from ...io.display import output
from ...io.expansion import Expansion
from ...road.question import Question
from ...road.road import answer
from ...road.wants import Wants
from ..flows import Sums


def folded(turned: Expansion, sums: Any, sources: np.ndarray, unit: np.ndarray) -> Sums:
    """Sums over copies, by vertex, but for those of vertices to themselves: what ends at a goal has passed a copy."""
    goal, n = turned.goal[turned.split], len(turned.goal)
    own = unit[goal] * np.isin(turned.split, sources)
    arrived = sums.ending[goal] - own
    through, ending = (np.bincount(turned.origin, x, n).astype(float) for x in (sums.through, sums.ending))
    through[turned.split] = np.maximum(through[turned.split] - arrived, 0.0)
    ending[turned.split] -= 2 * own
    return Sums(through, ending, sums.along)


def cut_off(r: Any, u: int, v: int) -> str:
    """The limit, or how far v is from u without turns, for an error that says that there is no way."""
    if r.turned is None or r.engine.limit is not None:
        return "." if r.engine.limit is None else f" within the limit of {r.engine.limit}."
    asked = Question(r.graph, r.semiring, Wants(sources=np.array([u]), targets=np.array([v])))
    try:
        found = output.number(answer(asked).engine.entry(0, 0), r.semiring)
    except DivergenceError:
        return " that turns allow."
    return "." if found == r.semiring.zero else f" that turns allow: without them, its distance is {came(found)}."


def refuse_turns(r: Any, where: str, way: str) -> None:
    """Raise ValueError if a result has turns."""
    if r.turned is not None:
        raise ValueError(
            f"{where}: a result with turns has none, as walks to a vertex go on from several copies. {way}"
        )
