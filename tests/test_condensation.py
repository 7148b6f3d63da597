"""Condensations against NetworkX's."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from apsp.road.engines import condensation
from semiring.dense.acyclic import close_acyclic, expand_acyclic
from semiring.dense.bits import BitMatrix
from semiring.kernels.cpu.bits import expansion


def edges(graph: nx.DiGraph) -> tuple[np.ndarray, np.ndarray]:
    arcs = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return arcs[:, 0], arcs[:, 1]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60, 300])
@pytest.mark.parametrize("degree", [0.5, 1.2, 3])
def test_components_and_arcs_agree_with_networkx(n, degree):
    graph = nx.gnp_random_graph(n, min(1, degree / max(n, 1)), seed=n, directed=True)
    if n:
        graph.add_edge(0, 0)
    c = condensation.condense(n, *edges(graph))
    expected = nx.condensation(graph)
    assert c.count == len(expected)
    assert {frozenset(np.flatnonzero(c.component == k).tolist()) for k in range(c.count)} == {
        frozenset(members) for _, members in expected.nodes(data="members")
    }
    members = {k: frozenset(np.flatnonzero(c.component == k).tolist()) for k in range(c.count)}
    got = {(members[u], members[v]) for u, v in zip(c.tails.tolist(), c.heads.tolist(), strict=True)}
    name = dict(expected.nodes(data="members"))
    assert got == {(frozenset(name[u]), frozenset(name[v])) for u, v in expected.edges}
    assert len(got) == len(c.tails)
    assert (c.tails > c.heads).all()
    for k in range(c.count):
        assert c.sizes[k] == len(members[k])
        assert c.cyclic[k] == (len(members[k]) > 1 or graph.has_edge(*list(members[k]) * 2))


@pytest.mark.parametrize(
    ("n", "degree"), [(0, 1), (1, 1), (2, 3), (63, 1), (64, 1.4), (65, 2), (300, 1.1), (5000, 0.9)]
)
def test_the_matrix_of_all_vertices_out_of_their_components(n, degree, monkeypatch):
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, max(n, 1), (2, int(n * degree)))
    c = condensation.condense(n, tails, heads)
    closed = close_acyclic(c.count, c.tails, c.heads)
    expected = closed.to_bool()[c.component][:, c.component]
    for threads in ("1", "3"):
        monkeypatch.setenv("SEMIRING_NUM_THREADS", threads)
        for found in (condensation.expanded(closed, c), condensation._gathered(closed, c.component)):
            assert (found.to_bool() == expected).all()


@pytest.mark.parametrize(
    ("rings", "chain", "alone", "beside"),
    [(3, 3, 500, True), (17, 3, 900, True), (18, 3, 900, False), (2, 300, 9, False), (0, 300, 0, False)],
)
def test_rows_beside_those_of_large_components(rings, chain, alone, beside):
    """Rings of 70 vertices, one leading to the next, chains into them and out of them, and vertices on their own."""
    ring, rng = np.arange(70), np.random.default_rng(rings)
    n = 70 * rings + 2 * chain * (rings + 1) + alone
    vertex = rng.permutation(n)
    ends = [(70 * k + ring, 70 * k + (ring + 1) % 70) for k in range(rings)]
    ends += [(70 * k + ring[:1], 70 * k + 75 + ring[:1]) for k in range(rings - 1)]
    for k in range(rings + 1):
        path = 70 * rings + 2 * chain * k + np.arange(2 * chain)
        path[chain] = min(70 * k, 70 * rings)  # into a ring, and out of it again
        ends.append((path[:-1], path[1:]))
    tails, heads = (vertex[np.concatenate(side)] for side in zip(*ends, strict=True))
    c = condensation.condense(n, tails, heads)
    closed = close_acyclic(c.count, c.tails, c.heads)
    members = np.argsort(c.component, kind="stable")
    bounds = np.searchsorted(c.component[members], np.arange(c.count + 1))
    given = (closed, members, bounds, c.component)
    assert expansion.expand_from_large(BitMatrix.zeros((n, n)), *given) is beside
    expected = closed.to_bool()[c.component][:, c.component]
    np.testing.assert_array_equal(expand_acyclic(closed, c.component, c.tails, c.heads).to_bool(), expected)


def test_many_arcs_between_components_are_no_reason_to_wait():
    """A complete acyclic graph with a ring of two at its end: n² / 2 arcs, of which one a vertex is needed."""
    n = 200
    tails, heads = np.nonzero(np.tri(n, k=-1, dtype=bool))
    tails, heads = np.append(tails, [0, n]), np.append(heads, [n, 0])
    c = condensation.condense(n + 1, tails, heads)
    closed = close_acyclic(c.count, c.tails, c.heads)
    expected = closed.to_bool()[c.component][:, c.component]
    np.testing.assert_array_equal(condensation.expanded(closed, c).to_bool(), expected)
    np.testing.assert_array_equal(expand_acyclic(closed, c.component, c.tails, c.heads).to_bool(), expected)
