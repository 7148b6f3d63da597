"""Columns of edge directions: Gephi's `Type`, `directed`, `oneway`, and the like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semiring.host.spelling import came
from semiring.host.types import Label

from ..graph import Graph
from .options import Reading, folded

#: Columns where true means one-way, where it means both ways, and where values name a direction.
_ONE_WAY = ("directed", "is_directed", "oneway", "one_way", "is_oneway")
_BOTH_WAYS = ("undirected", "is_undirected", "bidirectional", "is_bidirectional", "two_way", "twoway")
_BY_NAME = ("type", "edge_type", "edgetype", "direction")
_TRUE, _FALSE = ("true", "yes", "y", "1", "1.0"), ("false", "no", "n", "0", "0.0")
#: Direction of a row.
_FORWARDS, _BACKWARDS, _BOTH = 1, -1, 0
_NAMED = {"directed": _FORWARDS, "undirected": _BOTH, "mutual": _BOTH}


def direction_columns(names: Sequence[Label], column: Callable[[int], Iterable[Any]]) -> list[int]:
    """Positions of direction columns, which are no weights."""
    known = [k for k, name in enumerate(names) if folded(name) in (*_ONE_WAY, *_BOTH_WAYS)]
    others = [k for k, name in enumerate(names) if folded(name) in _BY_NAME]
    return known + [k for k in others if any(folded(value) in _NAMED for value in column(k))]


def turned(
    graph: Graph,
    columns: Mapping[Any, Sequence[Any]],
    reading: Reading,
    refuse: Callable[[str, int], Exception],
) -> Graph:
    """The graph with edges turned as direction columns say, unless the caller gave `directed`.

    `refuse(problem, row)` makes the error for unknown values, contradictory columns, or two-way edges listed both ways
    with different weights.
    """
    if reading.directed is not None or not columns:
        return graph
    way = "Say directed=True if all lead one way, directed=False if both."
    said = [
        [_said(name, value, row, way, refuse) for row, value in enumerate(values)] for name, values in columns.items()
    ]
    says = np.array(said[0], np.int64)
    if (differ := (np.array(said) != says).any(axis=0)).any():
        names = " and ".join(map(came, columns))
        raise refuse(f"{names} must say the same of each edge, and do not. {way}", int(np.argmax(differ)))
    (rows, cols), back = graph.ends, says == _BACKWARDS
    tails, heads = np.where(back, cols, rows), np.where(back, rows, cols)
    weights = np.ones(len(tails), np.int64) if graph.weights is None else graph.weights
    listed: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        listed[u, v].append(w)
    more = []
    for row in np.flatnonzero((says == _BOTH) & (tails != heads)).tolist():
        u, v = int(tails[row]), int(heads[row])
        if (v, u) not in listed:
            more.append(row)
        elif sorted(listed[u, v]) != sorted(listed[v, u]):
            ends = f"{came(graph.labels[u])} and {came(graph.labels[v])}"
            raise refuse(f"an edge that leads both ways must weigh the same both ways, got {ends} twice. {way}", row)
    if more and len(more) == len(tails):
        return replace(graph, rows=tails, cols=heads, directed=False)
    return replace(
        graph,
        rows=np.concatenate((tails, heads[more])),
        cols=np.concatenate((heads, tails[more])),
        weights=None if graph.weights is None else np.concatenate((weights, weights[more])),
    )


def _said(name: Any, value: Any, row: int, way: str, refuse: Callable[[str, int], Exception]) -> int:
    text = folded(value)
    if folded(name) in _BY_NAME or text in _NAMED:
        found = _NAMED.get(text)
    elif text in ("-1", "-1.0", "reverse") and "way" in folded(name):
        found = _BACKWARDS
    else:
        ways = (_FORWARDS, _BOTH) if folded(name) in _ONE_WAY else (_BOTH, _FORWARDS)
        found = ways[0] if text in _TRUE else ways[1] if text in _FALSE else None
    if found is None and text in ("", "none", "nan"):
        way = f"Write yes or no where it is blank. {way}"
    if found is None:
        raise refuse(f"{came(name)} must say of each edge whether it leads both ways, got {came(value)}. {way}", row)
    return found
