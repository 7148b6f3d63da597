"""`order`: topological orders by the definition, cycles by their edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from apsp import DivergenceError, as_graph, order


@pytest.mark.parametrize("seed", range(20))
def test_every_edge_leads_forwards_or_a_cycle_is_named(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    edges = [(f"v{a}", f"v{b}") for a, b in rng.integers(0, n, (int(rng.integers(1, n + 2)), 2)).tolist()]
    G = nx.DiGraph(edges)
    if nx.is_directed_acyclic_graph(G):
        place = {v: k for k, v in enumerate(order(edges))}
        assert place.keys() == set(G)
        assert all(place[u] < place[v] for u, v in edges)
    else:
        with pytest.raises(DivergenceError, match="order: there must be no cycle, got v") as caught:
            order(edges)
        cycle = caught.value.cycle
        assert len({*cycle}) == len(cycle)
        assert all((u, v) in edges for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def test_the_diagonal_of_a_matrix_is_no_cycle_and_a_loop_of_a_list_is():
    A = np.array([[0, np.inf, 3], [2, 0, np.inf], [np.inf, np.inf, 0]])
    assert order(A) == [1, 0, 2]
    assert order(np.array([[1, 0], [1, 0]]), null_value=0) == [1, 0]
    assert order(as_graph([])) == []
    with pytest.raises(DivergenceError, match="a → a"):
        order([("a", "a"), ("a", "b")])
