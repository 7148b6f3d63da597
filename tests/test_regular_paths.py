"""Regular path queries against NetworkX's searches of the product with an automaton that Python's `re` decides."""

from __future__ import annotations

import itertools
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from apsp import DTypeError, NoPathError, ShapeError, VertexError, reachable
from apsp.answers.reach.patterns import automaton
from semiring.dense import acyclic

PATTERNS = ("a (b|c)* d", "a", "(a|b)+ c?", "a* b*", "(a b)* | d+", ". c .", "(a? b)+ (c|d a)*", "((a|b) c*)*")


def arcs_of(machine):
    """(state, state) of each step."""
    return [(p, q) for q, before in enumerate(machine.before, 1) for p in before.tolist()]


def accepts(machine, word):
    """Whether the automaton takes a word: its states one letter after the other."""
    states, arcs = {0}, arcs_of(machine)
    for letter in word:
        states = {q for p, q in arcs if p in states and machine.steps[q - 1].label in (letter, None)}
    return bool(states & machine.accepting)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_automata_accept_what_pythons_expressions_match(pattern):
    machine, expression = automaton(pattern), re.compile(pattern.replace(" ", ""))
    for length in range(6):
        for word in itertools.product("abcd", repeat=length):
            assert accepts(machine, word) == bool(expression.fullmatch("".join(word))), word


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("(" * 5000 + "a" + ")" * 5000, "a"),
        ("(" * 5000 + "a" + ")*" * 5000, "aaa"),
        ("(a? " * 500 + ")" * 500, "aa"),
        ("a? " * 700, "aa"),
        ("(" + "a?|" * 500 + "b)+", "ba"),
    ],
    ids=["brackets", "stars in stars", "nested", "in a row", "either"],
)
def test_long_patterns(pattern, word):
    """Neither brackets in brackets nor parts that may be empty limit a pattern."""
    machine = automaton(pattern)
    assert accepts(machine, word)
    assert not accepts(machine, word + "d")
    r = reachable([(0, 1, "a"), (1, 2, "b"), (1, 0, "a")], f"{pattern} b")
    assert r.reaches(0, 2)
    assert not r.reaches(2, 0)
    with pytest.raises(ValueError, match="bracket"):
        automaton(f"{pattern} )")
    with pytest.raises(ValueError, match="a closing bracket"):
        automaton(f"({pattern}")


def product_graph(edges, machine):
    """The product as NetworkX's graph."""
    G = nx.DiGraph()
    for u, v, label in edges:
        for p, q in arcs_of(machine):
            step = machine.steps[q - 1]
            if step.label in (label, None):
                G.add_edge((p, v) if step.backwards else (p, u), (q, u) if step.backwards else (q, v))
    return G


def random_edges(n, m, seed):
    rng = np.random.default_rng(seed)
    return [
        (int(u), int(v), "abcd"[k]) for u, v, k in zip(*rng.integers(0, n, (2, m)), rng.integers(0, 4, m), strict=True)
    ]


@pytest.mark.parametrize("pattern", [*PATTERNS, "a ^b (c|^a)*"])
def test_pairs_and_witnesses_are_networkx(pattern, monkeypatch):
    monkeypatch.setattr(acyclic, "STRIP", 1)  # strips of few words
    monkeypatch.setattr(acyclic, "LEAST", 1)
    n, machine = 90, automaton(pattern)
    edges = random_edges(n, 160, 1)
    names = sorted({x for u, v, _ in edges for x in (u, v)})
    r, G = reachable(edges, pattern), product_graph(edges, machine)
    have = set(edges)
    for u in names:
        lengths = nx.single_source_shortest_path_length(G, (0, u)) if (0, u) in G else {(0, u): 0}
        expected: dict[int, int] = {}
        for (state, v), steps in lengths.items():
            if state in machine.accepting:
                expected[v] = min(steps, expected.get(v, steps))
        assert sorted(r.descendants(u)) == sorted(expected)
        for v in [*expected][:5]:
            walk = r.path(u, v)
            assert len(walk) == expected[v]
            word, at = [], u
            for x, y, label in walk:
                assert x == at
                assert ((y, x, label[1:]) if label[0] == "^" else (x, y, label)) in have
                word.append(label)
                at = y
            assert at == v
    np.testing.assert_array_equal(r.counts(), [len(r.descendants(u)) for u in r.labels])
    assert r.counts(0).sum() == r.counts().sum()
    few = reachable(edges, pattern, sources=names[3:7])
    assert [few.descendants(u) for u in names[3:7]] == [r.descendants(u) for u in names[3:7]]
    with pytest.raises(ShapeError, match="sources"):
        few.descendants(names[0])


def test_graphs_of_every_kind():
    edges = [("x", "y", "a"), ("y", "z", "b"), ("z", "y", "b"), ("z", "w", "c")]
    G = nx.MultiDiGraph()
    for u, v, label in edges:
        G.add_edge(u, v, kind=label)
    pattern = "a b* c"
    r = reachable(G, pattern, label="kind")
    assert r.descendants("x") == ["w"]
    assert r.path("x", "w") == [("x", "y", "a"), ("y", "z", "b"), ("z", "w", "c")]
    position = {name: k for k, name in enumerate("xyzw")}
    matrices = {
        name: sp.coo_array((np.zeros(len(ends)), tuple(zip(*ends, strict=True))), shape=(4, 4))
        for name in "abc"
        for ends in [[(position[u], position[v]) for u, v, label in edges if label == name]]
    }
    m = reachable(matrices, pattern)
    assert m.descendants(0) == [3]
    assert m.reaches([0, 1], 3).tolist() == [True, False]
    assert reachable({name: A.toarray() == 0 for name, A in matrices.items()}, "a").matrix.shape == (4, 4)
    some = sp.csr_array(([True, False, True], [1, 2, 2], [0, 2, 3, 3]), shape=(3, 3))  # a stored False is no edge
    assert reachable({"a": some}, "a").matrix.to_bool().tolist() == some.toarray().tolist()
    one, other = (np.eye(3, k=k) for k in (1, 2))
    same = reachable({1: one, "1": sp.csr_array(other)}, "1")  # labels are text: both hold edges of one
    assert same.matrix.to_bool().tolist() == ((one + other) > 0).tolist()
    U = nx.Graph([(0, 1, {"label": "a"})])
    assert reachable(U, "a a").descendants(0) == [0]
    assert reachable([], ".*").counts().tolist() == []
    assert reachable(edges, "'a' / b?").descendants("x") == ["y", "z"]
    none = reachable(edges, pattern, sources=[])
    assert (none.counts().tolist(), none.counts(0).tolist()) == ([], [0] * 4)
    for u in "wy":  # behind the only source, in the order of the vertices, and beside it
        with pytest.raises(ShapeError, match=f"one of the 1 sources, got '{u}'"):
            reachable(edges, pattern, sources=["x"]).reaches(u, "w")
    with pytest.raises(ShapeError, match="0 sources"):
        none.reaches("x", "w")


def test_the_empty_walk_matches_where_the_pattern_allows_it():
    r = reachable([(0, 1, "a"), (2, 2, "b")], "a*")
    assert [r.descendants(v) for v in range(3)] == [[0, 1], [1], [2]]
    assert r.path(1, 1) == []


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        ("a (b", "closing bracket"),
        ("a )", "opening bracket"),
        ("*", "label"),
        ("a | ", "label"),
        ("a & b", "quoted"),
        ("^ |", "after"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern, match):
    with pytest.raises(ValueError, match=match):
        reachable([(0, 1, "a"), (0, 1, "b")], pattern)


@pytest.mark.parametrize("pattern", [None, b"a", 7])
def test_a_pattern_is_text(pattern):
    with pytest.raises(
        DTypeError, match=re.escape(f'the pattern must be a text such as "a (b|c)* d", got {pattern!r}.')
    ):
        reachable([(0, 1, "a")], pattern)


def test_what_is_no_labelled_graph_is_refused():
    with pytest.raises(ValueError, match=r"must be among knows.*Did you mean"):
        reachable([(0, 1, "knows")], "know")
    with pytest.raises(ShapeError, match="label"):
        reachable([(0, 1)], "a")
    with pytest.raises(ShapeError, match="Pass a table's rows"):
        reachable(pd.DataFrame({"from": ["x"], "to": ["y"], "label": ["a"]}), "a")
    with pytest.raises(ShapeError, match="label"):
        reachable(nx.path_graph(3), "a")
    with pytest.raises(ShapeError, match=r"square and of one size, got \[\(2, 3\)\]"):
        reachable({"a": np.ones((2, 3))}, "a")
    with pytest.raises(ShapeError, match=r"got \[\(2, 2\), \(3, 3\)\]\."):
        reachable({"a": np.ones((2, 2)), "b": np.ones((3, 3))}, "a")
    with pytest.raises(ShapeError, match=r"got \[\]\."):
        reachable({}, "a")
    r = reachable([(0, 1, "a")], "a")
    with pytest.raises(NoPathError, match="matches"):
        r.path(1, 0)
    with pytest.raises(VertexError):
        r.reaches(0, 7)
