"""Graphs of NetworkX, igraph and rustworkx whose edges carry attributes of every kind: which of them is the weight?

The one that is all numbers; of several such, the one whose name says so; else an error that lists them. Distances by
what is chosen are held to plain loops.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np

from apsp import shortest_paths
from semiring.host.errors import SemiringError

from .draw import Draw

try:
    import igraph
except ImportError:
    igraph = None
try:
    import rustworkx
except ImportError:
    rustworkx = None

#: Names that say that they are weights (docs/graphs.md), and those that do not.
KNOWN = ("weight", "length", "cost", "distance", "dist", "w", "value", "km")
OTHERS = ("osmid", "speed_kph", "capacity", "lanes", "year", "Länge", "a b")
NOT_NUMBERS = ("name", "highway", "oneway", "osmids", "geometry", "nothing", "code")

_device = "cpu"  # else as `worker.load` says


def case(draw: Draw) -> None:
    """One graph."""
    n, rng = draw.pick((4, 3, 2, 1, 6)), draw.rng()
    m = draw.between(0, 3 * n)
    ends = list(map(tuple, rng.integers(0, n, (m, 2)).tolist()))
    numeric = list(dict.fromkeys(draw.pick(KNOWN + OTHERS) for _ in range(draw.pick((1, 2, 0, 3)))))
    others = list(dict.fromkeys(draw.pick(NOT_NUMBERS) for _ in range(draw.pick((1, 0, 2)))))
    kind = draw.pick(("int", "float", "np.float64", "np.int32", "Fraction"))
    edges = [
        {name: _number(kind, int(rng.integers(30))) for name in numeric}
        | {name: _no_number(draw, name) for name in others}
        for _ in ends
    ]
    directed = not draw.chance(40)
    made = draw.pick(("networkx", "multigraph", "igraph", "rustworkx", "dict of dicts"))
    draw.note(made=made, directed=directed, ends=ends, edges=edges)
    source, ends, edges = _graph(made, n, ends, edges, directed)
    if source is None:
        return
    options, name = _said(draw, numeric if edges else [])
    draw.note(options=options, weight=name)
    if made == "dict of dicts" and not directed:
        options["directed"] = False
    if _device != "cpu":
        options["device"] = _device
    try:
        r = shortest_paths(source, **options)
    except SemiringError as refusal:
        assert isinstance(name, list), f"the weight is {name!r}, and the graph was refused"
        assert not [x for x in name if x not in str(refusal)], "not all attributes are listed"
        assert "weight=" in str(refusal), "the way out is missing"
        return
    assert not isinstance(name, list), f"one of {name} was guessed in silence"
    W = np.full((n, n), math.inf)
    for (u, v), attributes in zip(ends, edges, strict=True):
        w = 1.0 if name is None else float(attributes[name])
        W[u, v] = min(W[u, v], w)
        if not directed:
            W[v, u] = min(W[v, u], w)
    np.fill_diagonal(W, 0)
    for k in range(n):
        W = np.minimum(W, W[:, k, None] + W[None, k])
    at = [list(r.labels).index(_label(made, v)) for v in range(n)]
    np.testing.assert_array_equal(np.asarray(r)[np.ix_(at, at)], W)


def _number(kind: str, k: int) -> Any:
    return {
        "int": k, "float": k / 4, "np.float64": np.float64(k / 2), "np.int32": np.int32(k), "Fraction": Fraction(k, 2),
    }[kind]  # fmt: skip


def _no_number(draw: Draw, name: str) -> Any:
    """A value that can be no weight; `oneway` is True or False, as OpenStreetMap's."""
    k = draw.below(5)
    return {
        "name": "High Street", "highway": ["residential", "primary"], "oneway": k > 2, "osmids": [k, 7],
        "geometry": object(), "nothing": None, "code": str(k),
    }[name]  # fmt: skip


def _label(made: str, v: int) -> Any:
    return v if made in ("igraph", "rustworkx") else f"v{v}"


def _said(draw: Draw, numeric: list[str]) -> tuple[dict[str, Any], str | list[str] | None]:
    """What is said of the weight, and which it is then: a name, None for hops, or all that cannot be told apart."""
    how = draw.pick(("nothing", "nothing", "nothing", "none", "name"))
    if how == "none":
        return {"weight": None}, None
    if how == "name" and numeric:
        name = numeric[draw.below(len(numeric))]
        return {"weight": name}, name
    telling = [name for name in numeric if name in KNOWN]
    if len(numeric) > 1:
        return {}, telling[0] if len(telling) == 1 else numeric
    return {}, numeric[0] if numeric and numeric[0] != "osmid" else None  # an id is no weight


def _graph(
    made: str, n: int, ends: list[tuple[int, int]], edges: list[dict[str, Any]], directed: bool
) -> tuple[Any, list[tuple[int, int]], list[dict[str, Any]]]:
    """The graph, with the edges that it kept; None where its library is missing."""
    names = [f"v{k}" for k in range(n)]
    if made in ("networkx", "multigraph"):
        G: Any = {
            ("networkx", True): nx.DiGraph, ("networkx", False): nx.Graph,
            ("multigraph", True): nx.MultiDiGraph, ("multigraph", False): nx.MultiGraph,
        }[made, directed]()  # fmt: skip
        G.add_nodes_from(names)
        for (u, v), attributes in zip(ends, edges, strict=True):
            G.add_edge(names[u], names[v], **attributes)
        kept = [(int(u[1:]), int(v[1:]), attributes) for u, v, attributes in G.edges(data=True)]
    elif made == "igraph" and igraph is not None:
        G = igraph.Graph(n=n, edges=ends, directed=directed)
        for name in edges[0] if edges else ():
            G.es[name] = [attributes[name] for attributes in edges]
        return G, ends, edges
    elif made == "rustworkx" and rustworkx is not None:
        G = (rustworkx.PyDiGraph if directed else rustworkx.PyGraph)()
        G.add_nodes_from(list(range(n)))
        G.add_edges_from([(u, v, attributes) for (u, v), attributes in zip(ends, edges, strict=True)])
        return G, ends, edges
    elif made == "dict of dicts":
        D: dict[str, dict[str, Any]] = {name: {} for name in names}
        for (u, v), attributes in zip(ends, edges, strict=True):
            D[names[u]][names[v]] = attributes
            if not directed:
                D[names[v]][names[u]] = attributes
        G, kept = D, [(int(u[1:]), int(v[1:]), attributes) for u in D for v, attributes in D[u].items()]
    else:
        return None, [], []
    return G, [(u, v) for u, v, _ in kept], [attributes for *_, attributes in kept]
