"""Simple paths from the best on, with ties, zeros, parallel edges and parts: held to NetworkX's, and to every one."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np

from apsp import Graph, csgraph, shortest_paths
from semiring.host.errors import NoPathError

from .draw import Draw

WEIGHTS = {"ties": (1, 2), "zeros": (0, 0, 1, 3), "integers": tuple(range(1, 60)), "floats": (0.1, 0.2, 0.3, 0.7)}


def case(draw: Draw) -> None:
    """One graph and a pair of it."""
    rng, n, kind = draw.rng(), draw.pick((4, 1, 2, 3, 5, 6, 7)), draw.pick(tuple(WEIGHTS))
    directed, parts = draw.chance(50), draw.chance(30)
    ends = rng.integers(0, n, (draw.below(3 * n) + 1, 2))
    if parts:
        ends = ends[(ends[:, 0] < n // 2) == (ends[:, 1] < n // 2)]
    weights = rng.choice(WEIGHTS[kind], len(ends))
    u, v = draw.below(n), draw.below(n)
    engine = draw.pick(("dense", "elimination", "searches", "auto"))
    draw.note(n=n, edges=list(zip(*ends.T.tolist(), weights.tolist(), strict=True)), u=u, v=v, directed=directed)
    graph = Graph.from_arrays(*ends.T, weights, n=n, directed=directed)
    r, (lengths, least) = shortest_paths(graph, engine=engine), every(n, ends, weights, directed, u, v)
    try:
        paths = list(r.k_paths(u, v))
    except NoPathError:
        paths = []
    check(paths, lengths, least, exact=kind != "floats")
    some = draw.between(1, 4)
    assert list(itertools.islice(paths, some)) == (list(r.k_paths(u, v, some)) if paths else [])
    assert list(r.k_paths([(u, v), (v, u)], some)[0]) == paths[:some]
    if len(ends) and kind != "zeros":  # which SciPy adds up, or drops
        A = np.zeros((n, n))
        for (a, b), w in least.items():
            A[a, b] = w
        np.testing.assert_allclose(csgraph.yen(A, u, v, len(paths) + 1), lengths, rtol=1e-12)


def every(
    n: int, ends: np.ndarray, weights: np.ndarray, directed: bool, u: int, v: int
) -> tuple[list[Any], dict[tuple[int, int], Any]]:
    """The lengths of all simple paths, by NetworkX, and the least weight of each arc."""
    G: Any = nx.DiGraph() if directed else nx.Graph()
    G.add_nodes_from(range(n))
    for (a, b), w in zip(ends.tolist(), weights.tolist(), strict=True):
        if a != b:
            G.add_edge(a, b, weight=min(w, G[a][b]["weight"] if G.has_edge(a, b) else w))
    least = {(a, b): w for a, b, w in G.edges.data("weight")}
    least |= {} if directed else {(b, a): w for (a, b), w in least.items()}
    try:
        paths = list(nx.shortest_simple_paths(G, u, v, weight="weight"))
    except nx.NetworkXNoPath:
        paths = []
    return [sum(least[arc] for arc in itertools.pairwise(path)) for path in paths], least


def check(paths: list[list[int]], lengths: list[Any], least: dict[tuple[int, int], Any], *, exact: bool) -> None:
    """Each is simple, and there once; of equal lengths, those whose last vertices come first; all lengths are there."""
    assert all(len(set(path)) == len(path) for path in paths)
    assert len({tuple(path) for path in paths}) == len(paths)
    found = [sum(least[arc] for arc in itertools.pairwise(path)) for path in paths]
    if not exact:
        np.testing.assert_allclose(found, sorted(lengths), rtol=1e-12)
        return
    assert found == sorted(lengths)
    order = [(length, path[::-1]) for length, path in zip(found, paths, strict=True)]
    assert order == sorted(order)
