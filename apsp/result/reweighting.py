"""The same edges with other weights: traffic, a closed road, what if."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.errors import ShapeError, VertexError

from ..graph import Graph


def reweighted(graph: Graph, weights: Any) -> Graph:
    """The graph with one weight an edge, in the order of its list; or, from a mapping, new ones for some edges.

    Raises
    ------
    ShapeError
        If the graph is a matrix, or there is not one weight an edge.
    VertexError
        If no edge leads from u to v.
    DTypeError, DomainError
        If a weight is no number.

    Examples
    --------
    >>> g = Graph.from_edges([("A", "B", 4), ("B", "C", 7)])
    >>> reweighted(g, {("B", "C"): 9}).weights
    array([4, 9])
    """
    if graph.rows is None or graph.cols is None:
        raise ShapeError("update: a graph must have a list of edges, got a matrix. Close the changed matrix anew.")
    values = _of_some(graph, weights) if isinstance(weights, Mapping) else weights
    if (shape := np.shape(values)) != (len(graph.rows),):
        raise ShapeError(
            f"update: there must be one weight an edge, shape ({len(graph.rows)},), got {shape}. "
            "Pass {(u, v): weight} to change some."
        )
    found = Graph.from_arrays(
        graph.rows, graph.cols, values, n=graph.n, labels=graph.labels, directed=graph.directed, name=graph.name
    )
    assert found.weights is not None
    return replace(graph, weights=found.weights)


def _of_some(graph: Graph, weights: Mapping[Any, Any]) -> Any:
    """All weights, those of the mapping new."""
    assert graph.rows is not None
    assert graph.cols is not None
    new = list(weights.values())
    ends = list(weights)
    for pair in ends:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise VertexError(f"update: a mapping must lead from edges (u, v) to weights, got the key {pair!r}.")
    rows, cols = graph.rows, graph.cols
    tails, heads = (graph.labels.positions([pair[side] for pair in ends]) for side in (0, 1))
    code = rows * graph.n + cols
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    old = np.ones(len(rows), np.int64) if graph.weights is None else graph.weights
    values = old.astype(np.float64) if any(isinstance(x, (float, np.floating)) for x in new) else old.copy()
    ways = ((tails, heads),) if graph.directed else ((tails, heads), (heads, tails))
    for k, weight in enumerate(new):
        at = [
            order[slice(*np.searchsorted(ordered, [c, c + 1]).tolist())]
            for c in {int(a[k]) * graph.n + int(b[k]) for a, b in ways}
        ]
        found = np.concatenate(at)
        if not len(found):
            raise VertexError(f"update: an edge must be one of the graph's, got {ends[k]!r}, which it does not have.")
        values[found] = weight
    return values
