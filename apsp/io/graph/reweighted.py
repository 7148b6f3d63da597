"""A graph with few changed weights; the full list of weights is made on first use."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from semiring.host.types import Values

from . import Graph

#: Changes from which the full list is made at once.
MOST = 1024


class Reweighted(Graph):
    """The edges of `base` with some weights changed: `changes` by edge number, in the dtype of the others."""

    base: Any = None
    changes: dict[int, Any]

    @staticmethod
    def of(graph: Graph, edges: np.ndarray, weights: np.ndarray) -> Reweighted:
        base, changes = graph, {}
        if isinstance(graph, Reweighted) and _lazy(graph):
            base, changes = graph.base, graph.changes
        made = object.__new__(Reweighted)
        vars(made).update({f.name: getattr(base, f.name) for f in fields(Graph) if f.name != "weights"})
        vars(made).update(base=base, changes=changes | dict(zip(edges.tolist(), weights.tolist(), strict=True)))
        if len(made.changes) > MOST:
            _ = made.weights
        return made

    @cached_property
    def weights(self) -> np.ndarray:
        weights: np.ndarray = self.base.weights.copy()
        weights[list(self.changes)] = list(self.changes.values())
        return weights

    def __reduce__(self) -> Values:
        return Graph, tuple(getattr(self, field.name) for field in fields(Graph))

    def __repr__(self) -> str:
        return "Graph" + super().__repr__().removeprefix(type(self).__qualname__)


def _lazy(graph: Graph) -> bool:
    return isinstance(graph, Reweighted) and "weights" not in vars(graph)


def weights_of(graph: Graph, edges: np.ndarray) -> np.ndarray:
    """The weights of some edges, by number."""
    if not _lazy(graph):
        assert graph.weights is not None
        return graph.weights[edges]
    assert isinstance(graph, Reweighted)
    found: np.ndarray = graph.base.weights[edges]
    for k, edge in enumerate(edges.tolist()):
        if edge in graph.changes:
            found[k] = graph.changes[edge]
    return found


def weighted(graph: Graph) -> np.dtype | None:
    weights = graph.base.weights if isinstance(graph, Reweighted) and _lazy(graph) else graph.weights
    return None if weights is None else weights.dtype
