"""Turns of a result: its question over copies of vertices, and what is told by vertex again (docs/turns.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.algebra.records import Semiring
from semiring.host.errors import DivergenceError, DomainError, DTypeError, FormatError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Input

from ...io.display import output
from ...io.expansion import Expansion, expand
from ...io.graph import Graph
from ...io.inputs import as_graph
from ...io.quantities import quantities
from ...io.turns import turns_of
from ...road.question import Question
from ...road.road import answer
from ...road.wants import Wants
from ..flows import Sums

#: Options that the copies of vertices do not take, and the way out.
_REFUSED = {
    "gpus": "Say device='cuda' for one.",
    "limits": "Without memory= and checkpoint=, r.save(path) streams rows.",
    "on_negative_cycle": "Leave it out.",
    "paths": "Say r.paths(pairs).",
}


def expanded(
    source: Input, graph: Graph, s: Semiring, turns: Any, u_turns: Any, ways: Any, reading: Mapping[str, Any]
) -> Expansion:
    """The copies of the vertices of a graph that turns ask for."""
    if turns is None and ways is not None:
        raise ValueError("shortest_paths: ways must come with turns, which name them, got them alone. Leave them out.")
    if isinstance(ways, (str, int)):
        ways = _ways_of(source, graph, ways, reading)
    return expand(graph, turns_of(turns, graph, u_turns=u_turns, ways=ways), s)


def _ways_of(source: Input, graph: Graph, name: str | int, reading: Mapping[str, Any]) -> list[Any]:
    """The way of each edge, by a column or attribute; in a graph of NetworkX also texts and lists."""
    if isinstance(source, Graph) or not hasattr(source, "nodes"):
        try:
            return quantities(source, graph, {"ways": name}, **reading)["ways"].tolist()
        except (FormatError, DTypeError, DomainError) as error:  # which says to leave such edges out
            said = str(error).partition(". ")[0].rstrip(".")
            raise ShapeError(
                f"turns: ways={came(name)} must be numbers, got: {said}. Pass a list, the way of each."
            ) from error
    listed = [data for *_, data in source.edges(data=True)]
    if not any(name in data for data in listed):
        raise ShapeError(f"turns: ways must be an attribute of edges, got {came(name)}. Pass a list, the way of each.")
    every = as_graph(source, weight=None, **reading)
    if not all(np.array_equal(np.asarray(getattr(every, x)), np.asarray(getattr(graph, x))) for x in ("rows", "cols")):
        raise ShapeError(f"turns: ways={came(name)} must be of the edges that have a weight, got others. Pass a list.")
    return [data.get(name) for data in listed]


def over_copies(wants: Wants, turned: Expansion) -> Wants:
    """The request of vertices as one of copies; ValueError for options that these do not take."""
    defaults = Wants()
    for name, way in _REFUSED.items():
        if getattr(wants, name) != getattr(defaults, name):
            name = "memory=, checkpoint= and output=" if name == "limits" else f"{name}="
            raise ValueError(f"shortest_paths: turns must come without {name}, got both. {way}")
    if not isinstance(wants.order, str):
        raise ValueError("shortest_paths: order must be a name with turns, got one of vertices. Say order='degree'.")
    targets = None if wants.targets is None else turned.goal[wants.targets]
    return replace(wants, targets=targets, ends=turned.goal)


def folded(turned: Expansion, sums: Any, sources: np.ndarray, unit: np.ndarray) -> Sums:
    """Sums over copies, by vertex, but for those of vertices to themselves: what ends at a goal has passed a copy."""
    goal, n = turned.goal[turned.split], len(turned.goal)
    own = unit[goal] * np.isin(turned.split, sources)
    arrived = sums.ending[goal] - own
    through, ending = (np.bincount(turned.origin, x, n) for x in (sums.through, sums.ending))
    through[turned.split] = np.maximum(through[turned.split] - arrived, 0.0)
    ending[turned.split] -= 2 * own
    return Sums(through, ending, sums.along)


def cut_off(r: Any, u: int, v: int) -> str:
    """How far v is from u without turns, for an error that says that there is no way."""
    if r.turned is None or r.engine.limit is not None:
        return "."
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
