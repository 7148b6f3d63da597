"""Graphs: inputs and labels of every kind; distances, paths and reachability against NetworkX and plain loops."""

from __future__ import annotations

import csv
import itertools
import math
import tempfile
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from apsp import Reachability, Result, as_graph, shortest_paths, transitive_closure
from apsp.io.formats import read
from apsp.io.graph import Graph
from semiring.algebra.catalog import get
from semiring.host.errors import AlgebraError, DivergenceError, NoPathError, SemiringError, VertexError

from . import inputs, oracle
from .draw import Draw
from .layouts import host

#: What each semiring does with the weights of a walk, and which of two walks it prefers.
SEMIRINGS = {
    "min_plus": (lambda a, b: a + b, min),
    "max_min": (min, max),
    "min_max": (max, min),
    "max_plus": (lambda a, b: a + b, max),
    "max_times": (lambda a, b: a * b, max),
}

#: How distances are computed: from the matrix of all, in some order, or from the elimination of the sparse graph.
HOW: tuple[dict[str, Any], ...] = (
    *({"schedule": schedule} for schedule in ("auto", "recursive", "blocked", "iterative")),
    {"engine": "elimination"},
)


_device = "cpu"  # else as `worker.load` says
#: How reachability is.
REACHED: tuple[dict[str, Any], ...] = (
    *({"schedule": schedule} for schedule in ("auto", "recursive", "blocked", "iterative")),
    *({"engine": engine} for engine in ("united", "indexed")),
)


def prepare() -> None:
    """Compile what every case needs."""
    transitive_closure(np.eye(3, dtype=bool), device=_device)
    for s in SEMIRINGS:
        shortest_paths([(0, 1, 1)], s, device=_device)
        shortest_paths([(0, 1, 0.5)], s, device=_device)


def case(draw: Draw) -> None:
    """One graph, as one kind of input."""
    draw.pick((_paths, _paths, _reachability, _damaged_edges))(draw)


def _source(draw: Draw, given: inputs.Listed, absent: Any = math.inf) -> tuple[Any, dict[str, Any], inputs.Listed]:
    """The graph as some kind of input, how to read it, and the graph as that kind can hold it."""
    kind = draw.pick(
        ("Graph", "tuples", "from_edges", "matrix", "lists", "networkx", "multigraph", "sparse", "iterator")
    )
    draw.note(kind=kind, names=given.names, arcs=given.arcs(), directed=given.directed)
    weights = given.weights
    ends = [(given.names[u], given.names[v]) for u, v in zip(given.rows, given.cols, strict=True)]
    edges = ends if weights is None else [(u, v, w) for (u, v), w in zip(ends, weights, strict=True)]
    reading = {} if given.directed else {"directed": False}
    if kind == "tuples" and edges:
        return edges, reading, _without_lone(given)
    if kind == "iterator":
        return iter(edges), reading, _without_lone(given)
    if kind == "from_edges":
        return Graph.from_edges(edges, labels=given.names, directed=given.directed), {}, given
    if kind in ("matrix", "lists") and given.names:
        A, null = _matrix(given, absent), draw.pick((None, 0))
        if null == 0:  # no edge of weight 0 is left then
            A = np.where(A == absent, 0, A) if A.dtype.kind != "b" else A
        numbered = inputs.Listed(list(range(len(A))), *_listed_matrix(A, absent if null is None else 0), True)
        draw.note(null_value=null)
        return (A.tolist() if kind == "lists" else A), {"null_value": null}, numbered
    if kind in ("networkx", "multigraph"):
        G: Any = {
            ("networkx", True): nx.DiGraph, ("networkx", False): nx.Graph,
            ("multigraph", True): nx.MultiDiGraph, ("multigraph", False): nx.MultiGraph,
        }[kind, given.directed]()  # fmt: skip
        if None in given.names:  # NetworkX has no such node
            return given.graph(), {}, given
        G.add_nodes_from(given.names)
        attribute = draw.pick(("weight", "length"))
        for k, (u, v) in enumerate(ends):
            more = {"osmid": k, "oneway": True} if attribute == "length" else {}
            G.add_edge(u, v, **({} if weights is None else {attribute: weights[k], **more}))
        position = {name: k for k, name in enumerate(given.names)}
        arcs = [(position[u], position[v], w) for u, v, w in G.edges(data=attribute, default=1)]
        rows, cols, w = (list(column) for column in zip(*arcs, strict=True)) if arcs else ([], [], [])
        return (
            G,
            draw.pick(({}, {"weight": None if weights is None or not ends else attribute})),
            inputs.Listed(given.names, rows, cols, w, given.directed),
        )
    if kind == "sparse" and given.names and given.directed:
        n = len(given.names)
        w = np.array([1] * len(ends) if weights is None else weights)
        coo = sp.coo_array((w, (given.rows, given.cols)), shape=(n, n))
        return coo, {}, inputs.Listed(list(range(n)), given.rows, given.cols, list(w.tolist()), True)
    return given.graph(), {}, given


def _without_lone(given: inputs.Listed) -> inputs.Listed:
    """A list of edges alone: vertices without one are not in it; names in order where they compare."""
    used = list(dict.fromkeys(given.names[k] for pair in zip(given.rows, given.cols, strict=True) for k in pair))
    with suppress(TypeError):
        used = sorted(used)
    at = {name: k for k, name in enumerate(used)}
    rows, cols = ([at[given.names[k]] for k in side] for side in (given.rows, given.cols))
    return inputs.Listed(used, rows, cols, given.weights, given.directed)


def _matrix(given: inputs.Listed, absent: Any) -> np.ndarray:
    """The last of several edges stays."""
    n = len(given.names)
    A = np.full((n, n), absent)
    for u, v, w in given.arcs():
        A[u, v] = w if absent is not False else True
    return A


def _listed_matrix(A: np.ndarray, absent: Any) -> tuple[list[int], list[int], list[Any]]:
    rows, cols = (x.tolist() for x in (A != absent).nonzero())
    return rows, cols, [A[u, v].item() for u, v in zip(rows, cols, strict=True)]


def _paths(draw: Draw) -> None:
    """Distances, and a path for each pair: simple, made of edges, as long as the distance says."""
    s = draw.pick(tuple(SEMIRINGS))
    kinds = {
        "min_plus": ("small", None, "signed", "binary", "fractions", "wide"),
        "max_plus": ("small", "signed", "binary"),
        "max_times": ("binary",),
    }.get(s, ("small", None, "signed", "binary", "fractions"))
    given = inputs.listed(draw, of=kinds)
    if s == "max_times" and given.weights:
        given = inputs.Listed(given.names, given.rows, given.cols, [w / 8 for w in given.weights], given.directed)
    if s == "max_plus" and draw.chance(70):  # longest walks exist where no cycle does
        keep = [k for k, (u, v) in enumerate(zip(given.rows, given.cols, strict=True)) if u < v]
        rows, cols = ([side[k] for k in keep] for side in (given.rows, given.cols))
        weights = given.weights and [given.weights[k] for k in keep]
        given = inputs.Listed(given.names, rows, cols, weights, True)
    source, reading, seen = _source(draw, given, float(get(s).zero))
    how = draw.pick(HOW)
    draw.note(semiring=s, how=how)
    best = _best(seen, s)
    try:
        r = shortest_paths(source, s, device=_device, **how, **reading)
    except DivergenceError as error:
        assert best is None, "the closure exists, and was refused"
        _names_a_cycle(seen, error, s)
        return
    assert best is not None, "the closure does not exist, and was given"
    _labels_are(r.labels, seen)
    if s == "min_plus":
        _as_networkx(r, seen)
    for u, v in itertools.product(range(len(seen.names)), repeat=2):
        _one_path(r, seen, u, v, best[u][v], s)
    _unknown_vertex(draw, lambda name: r.distance(name, name), seen)
    _many_pairs(draw, r, seen.names)
    if draw.chance(30):
        _saved(draw, r)


#: An elimination adds up a row and a single distance in another order.
_SUMS = 1e-14


def _many_pairs(draw: Draw, r: Result, names: list[Any]) -> None:
    """Distances of lists of pairs, and of a table, are those of one pair after the other."""
    one_by_one = [r.distance(u, v) for u, v in zip(names, names[::-1], strict=True)]
    np.testing.assert_allclose(list(r.distance(names, names[::-1])), one_by_one, rtol=_SUMS)
    rng = draw.rng()
    us, vs = ([names[k] for k in rng.integers(0, len(names), size)] if names else [] for size in (3, 4))
    column = np.empty((len(us), 1), object)
    for k, u in enumerate(us):
        column[k, 0] = u
    table = r.distance(column, vs)
    assert table.shape == (len(us), len(vs))
    np.testing.assert_allclose(table.tolist(), [[r.distance(u, v) for v in vs] for u in us], rtol=_SUMS)
    if us and not isinstance(us[0], (list, np.ndarray)):
        np.testing.assert_allclose(list(r.distance(us[0], vs)), [r.distance(us[0], v) for v in vs], rtol=_SUMS)


def _best(seen: inputs.Listed, s: str) -> list[list[Fraction | None]] | None:
    """The best weight of a walk for every pair, in fractions, by loops; None where the closure does not exist."""
    mul, choose = SEMIRINGS[s]
    n = len(seen.names)
    D: list[list[Any]] = [[None] * n for _ in range(n)]
    for u, v, w in seen.arcs():
        if math.isinf(w) or (s == "max_times" and w == 0):
            continue
        D[u][v] = Fraction(w) if D[u][v] is None else choose(D[u][v], Fraction(w))
    one = {"min_plus": 0, "max_plus": 0, "max_times": 1}.get(s)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if D[i][k] is not None and D[k][j] is not None:
                    via = mul(D[i][k], D[k][j])
                    D[i][j] = via if D[i][j] is None else choose(D[i][j], via)
        if one is not None and any(D[i][i] is not None and choose(D[i][i], one) != one for i in range(n)):
            return None
    return D


def _one_path(r: Result, seen: inputs.Listed, u: int, v: int, best: Fraction | None, s: str) -> None:
    a, b = seen.names[u], seen.names[v]
    if u == v:
        assert r.path(a, b) == [a]
        return
    distance = r.distance(a, b)
    if best is None:
        assert math.isinf(distance) or s == "max_times" or abs(distance) >= np.iinfo(r.distances.dtype).max
        try:
            r.path(a, b)
        except NoPathError:
            return
        raise AssertionError(f"a path from {a!r} to {b!r}, where there is none")
    assert distance == best or math.isclose(distance, best, rel_tol=1e-12, abs_tol=1e-12), (a, b, distance, best)
    path = r.path(a, b)
    assert (path[0], path[-1]) == (a, b)
    assert len(set(path)) == len(path), f"the path {path} visits a vertex twice"
    mul, choose = SEMIRINGS[s]
    at = {name: k for k, name in enumerate(seen.names)}
    edges: dict[tuple[int, int], Fraction] = {}
    for x, y, w in seen.arcs():
        if not math.isinf(w):
            edges[x, y] = Fraction(w) if (x, y) not in edges else choose(edges[x, y], Fraction(w))
    steps = [(at[x], at[y]) for x, y in itertools.pairwise(path)]
    assert all(step in edges for step in steps), f"the path {path} takes an edge that is not there"
    total = edges[steps[0]]
    for step in steps[1:]:
        total = mul(total, edges[step])
    assert math.isclose(total, best, rel_tol=1e-12, abs_tol=1e-12), f"the path {path} weighs {total}, not {best}"


def _names_a_cycle(seen: inputs.Listed, error: DivergenceError, s: str) -> None:
    """By label, and one that has no limit."""
    if s not in ("min_plus", "max_plus"):
        return
    assert error.cycle, "a cycle must be named"
    at = {name: k for k, name in enumerate(seen.names)}
    _, choose = SEMIRINGS[s]
    edges: dict[tuple[int, int], Any] = {}
    for u, v, w in seen.arcs():
        edges[u, v] = w if (u, v) not in edges else choose(edges[u, v], w)
    weights: dict[int, dict[int, Any]] = {}
    for (u, v), w in edges.items():
        weights.setdefault(u, {})[v] = w
    total = oracle.weight(weights, [at[name] for name in error.cycle])
    assert total < 0 if s == "min_plus" else total > 0, f"the cycle {error.cycle} weighs {total}"
    assert error.vertex in error.cycle


def _as_networkx(r: Result, seen: inputs.Listed) -> None:
    G: Any = nx.MultiDiGraph()
    G.add_nodes_from(range(len(seen.names)))
    G.add_weighted_edges_from((u, v, w) for u, v, w in seen.arcs() if not math.isinf(w))
    for u, lengths in nx.all_pairs_bellman_ford_path_length(G):
        for v in range(len(seen.names)):
            got = r.distances[u, v].item()
            if v in lengths:
                assert math.isclose(got, lengths[v], rel_tol=1e-12, abs_tol=1e-12), (u, v, got, lengths[v])


def _labels_are(labels: Any, seen: inputs.Listed) -> None:
    assert list(labels) == seen.names
    assert [type(x) for x in labels] == [type(x) for x in seen.names], "a label changed its type"


def _unknown_vertex(draw: Draw, ask: Any, seen: inputs.Listed) -> None:
    name = draw.pick(("nobody", 10**9, -1, None, ("t", -1), 2**80, 0.123))
    if name in seen.names:
        return
    try:
        ask(name)
    except VertexError:
        return
    raise AssertionError(f"{name!r} is no vertex, and was taken for one")


def _saved(draw: Draw, r: Result) -> None:
    """Saved distances are read back with the labels that they had, or refused beforehand."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d.{draw.pick(('npz', 'npy', 'csv'))}"
        rows = [host(D) for _, D in r.rows()]
        np.testing.assert_allclose(
            np.reshape(rows and np.concatenate(rows), r.distances.shape), host(r.distances), _SUMS
        )
        try:
            r.save(path)
        except (SemiringError, ValueError) as refusal:
            draw.note(refusal=str(refusal))
            assert not list(Path(folder).iterdir()), "a refused result left a file"
            return
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
        if path.suffix == ".npy":
            np.testing.assert_array_equal(np.load(path), host(r.distances))
        elif path.suffix == ".npz":
            again, loaded = read(path), Result.load(path)
            for distances, labels in ((again.dense, again.labels), (loaded.distances, loaded.labels)):
                np.testing.assert_array_equal(host(distances), host(r.distances))
                assert list(map(repr, labels)) == list(map(repr, r.labels)), "labels changed on saving"
            for u, v in itertools.product(list(r.labels)[:3], repeat=2):
                assert _path_or_none(loaded, u, v) == _path_or_none(r, u, v)
        else:
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            assert rows[0][1:] == list(map(str, r.labels))
            names = list(r.labels)
            pairs = [[str(u), *(str(r.distance(u, v)) for v in names)] for u in names]
            if rows[1:] != pairs:  # of floats a pair may be summed in another order
                assert ([row[0] for row in rows[1:]], r.dtype.kind) == ([row[0] for row in pairs], "f")
                told, alone = ([list(map(float, row[1:])) for row in table] for table in (rows[1:], pairs))
                np.testing.assert_allclose(told, alone, _SUMS)


def _path_or_none(r: Result, u: Any, v: Any) -> list[Any] | None:
    with suppress(NoPathError):
        return r.path(u, v)
    return None


def _reachability(draw: Draw) -> None:
    """Every question that a Reachability answers, against NetworkX; and the same after it was saved."""
    given = inputs.listed(draw, most=draw.pick((6, 9, 30)), of=(None, "small"))
    source, reading, seen = _source(draw, given, False)
    reflexive, how = draw.chance(30), draw.pick(REACHED)
    draw.note(reflexive=reflexive, how=how)
    try:
        t = transitive_closure(source, reflexive=reflexive, device=_device, **how, **reading)
    except AlgebraError as refusal:  # an index takes lists of edges
        if how.get("engine") != "indexed":
            raise
        draw.note(refusal=str(refusal))
        return
    _labels_are(t.labels, seen)
    n = len(seen.names)
    G: Any = nx.DiGraph()
    G.add_nodes_from(range(n))
    G.add_edges_from((u, v) for u, v, _ in seen.arcs())
    expected = np.zeros((n, n), bool)
    for u in range(n):
        expected[u, [v for x in G[u] for v in (x, *nx.descendants(G, x))]] = True
    expected |= np.eye(n, dtype=bool) & reflexive
    _answers(t, G, expected, seen.names)
    if draw.chance(30):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.npz"
            try:
                t.save(path)
            except (SemiringError, ValueError) as refusal:
                draw.note(refusal=str(refusal))
                return
            again = Reachability.load(path)
            _labels_are(again.labels, seen)
            _answers(again, G, expected, seen.names)
    _unknown_vertex(draw, t.descendants, seen)


def _answers(t: Reachability, G: Any, expected: np.ndarray, names: list[Any]) -> None:
    n = len(names)
    np.testing.assert_array_equal(host(t.to_bool()), expected)
    np.testing.assert_array_equal(host(t.counts()), expected.sum(axis=1))
    np.testing.assert_array_equal(host(t.counts(axis=0)), expected.sum(axis=0))
    assert t.to_edges() == [(names[u], names[v]) for u, v in np.argwhere(expected).tolist()]
    np.testing.assert_array_equal(t.to_sparse().toarray(), expected)
    for u in range(n):
        assert t.descendants(names[u]) == [names[v] for v in np.flatnonzero(expected[u])]
        assert t.ancestors(names[u]) == [names[v] for v in np.flatnonzero(expected[:, u])]
        assert t.reaches(names[u], names[n - 1 - u]) == expected[u, n - 1 - u]
    if n:
        np.testing.assert_array_equal(host(t.reaches(names, names[::-1])), expected[np.arange(n), np.arange(n)[::-1]])
    classes = {frozenset(part) for part in nx.strongly_connected_components(G)}
    at = {name: k for k, name in enumerate(names)}
    assert {frozenset(at[name] for name in part) for part in t.components()} == classes
    reduced = t.reduction()
    R: Any = nx.DiGraph()
    R.add_nodes_from(range(n))
    R.add_edges_from(zip(reduced.rows.tolist(), reduced.cols.tolist(), strict=True))
    same = np.zeros((n, n), bool)
    for u in range(n):
        same[u, [v for x in R[u] for v in (x, *nx.descendants(R, x))]] = True
    same |= np.eye(n, dtype=bool) & t.reflexive
    np.testing.assert_array_equal(same, expected)
    if nx.is_directed_acyclic_graph(G):
        assert set(R.edges) == set(nx.transitive_reduction(G).edges)


def _damaged_edges(draw: Draw) -> None:
    """What is no graph is refused by our own errors."""
    odd = (
        None,
        math.nan,
        "x",
        (),
        [],
        {},
        2**1100,
        -(2**63),
        2**64,
        1e400,
        b"",
        object,
        1j,
        True,
        Fraction(1, 3),
        "1",
        np.float32(0.1),
    )
    rng = draw.rng()
    kind = draw.pick(("edges", "lists", "array", "objects"))
    some = [odd[k] for k in rng.integers(0, len(odd), 9)]
    if kind == "edges":
        source: Any = [("a", "b", 1), ("b", "c", some[0]), tuple(some[1 : 1 + draw.below(5)])][: draw.between(1, 3)]
    elif kind == "lists":
        source = [[0, 1, 2], [3, some[0], 5], [6, 7, 8][: draw.between(1, 3)]][: draw.between(1, 3)]
    elif kind == "array":
        dtype = draw.pick(("uint64", "complex128", "U3", "M8[s]", "f2", "O", "i1", "longdouble"))
        source = rng.integers(0, 5, (3, draw.pick((3, 2, 4)))).astype(dtype)
        if dtype == "uint64" and draw.chance(50):
            source[0, 1] = 2**53 + 1
    else:
        source = draw.pick(
            (
                *(7, "no such file", None, {}, object(), {1: 2}, np.float64(3), b"bytes", [[[]]]),
                *([[1, 2], [3]], iter([1, 2]), np.ma.masked_array(np.eye(2))),
            )
        )
    draw.note(source=source)
    try:
        graph = as_graph(source)
        A = graph.matrix("max_min")
        shortest_paths(graph, "max_min")
    except (SemiringError, FileNotFoundError) as refusal:
        assert str(refusal)
        return
    assert not (A != A).any(), "NaN was let in"
    if isinstance(source, np.ndarray) and source.dtype == np.uint64 and source.shape == (3, 3):
        assert [[int(x) for x in row] for row in A.tolist()] == source.tolist(), "integers were rounded in silence"
