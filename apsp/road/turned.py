"""Turns of a question: its graph of copies of vertices, and the request as one of copies (docs/turns.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.algebra.records import Semiring
from semiring.host.errors import DomainError, DTypeError, FormatError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Input

from ..io.expansion import Expansion, expand
from ..io.graph import Graph
from ..io.inputs import as_graph
from ..io.quantities import quantities, refuse_misplaced
from ..io.turns import turns_of
from .wants import Wants

#: Options that the copies of vertices do not take, and the way out.
_REFUSED = {
    "gpus": "Say device='cuda' for one.",
    "limits": "Without memory= and checkpoint=, r.save(path) streams rows.",
    "on_negative_cycle": "Leave it out.",
    "paths": "Say r.paths(pairs).",
}


def expanded(
    source: Input, graph: Graph, s: Semiring, turns: Any, u_turns: float | None, ways: Any, reading: Mapping[str, Any]
) -> Expansion:
    """The copies of the vertices of a graph that turns ask for."""
    if turns is None and ways is not None:
        raise ValueError("shortest_paths: ways must come with turns, which name them, got them alone. Leave them out.")
    if isinstance(ways, (str, int)):
        ways = _ways_of(source, graph, ways, reading)
    refuse_misplaced("turns: ways", ways, source)
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
