"""Generators: closed forms, exact counts, uniformity."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import Delaunay

from apsp import generate
from apsp.generate import _pairs, cycle, grid, random_graph, road_like


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 32])
@pytest.mark.parametrize("directed", [True, False])
def test_cycle_against_networkx(n, directed):
    graph = cycle(n, directed=directed, weight=3)
    G = nx.cycle_graph(n, create_using=nx.DiGraph if directed else nx.Graph)
    expected = nx.to_numpy_array(G, nonedge=np.inf) if n else np.zeros((0, 0))
    np.testing.assert_array_equal(graph.matrix("min_plus", "float64"), np.where(expected == 1, 3, expected))
    assert graph.edge_count == G.number_of_edges()


@pytest.mark.parametrize("n", [0, 1, 2, 5, 17, 64])
def test_random_graph_has_its_exact_density(n):
    for density, directed in product((0, 0.7, 5, 50, 51, 97.5, 100), (True, False)):
        graph = random_graph(n, density, seed=1, directed=directed)
        possible = n * (n - 1) if directed else n * (n - 1) // 2
        rows, cols = graph.rows, graph.cols
        assert graph.edge_count == round(density / 100 * possible)
        assert graph.n == n
        assert not (rows == cols).any()
        ends = zip(rows.tolist(), cols.tolist(), strict=True)
        distinct = {(u, v) if directed else frozenset((u, v)) for u, v in ends}
        assert len(distinct) == graph.edge_count
        assert graph.weights.dtype == np.int64
        assert all(1 <= w <= 100 for w in graph.weights)


def test_seeds():
    same, again, other = (random_graph(40, 10, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(same.matrix(), again.matrix())
    assert (same.matrix() != other.matrix()).any()
    assert random_graph(40, 10, seed=np.random.default_rng(5)).edge_count == same.edge_count


def test_every_arc_is_equally_likely():
    n, rounds = 6, 3000
    rng = np.random.default_rng(0)
    count = np.zeros((n, n))
    for _ in range(rounds):
        graph = random_graph(n, 30, seed=rng, weights=None)
        count[graph.rows, graph.cols] += 1
    assert np.all(np.diag(count) == 0)
    # 30 % of 30 arcs are 9 a graph; the spread of one arc's count is √(rounds · 0.3 · 0.7) = 25.
    assert abs(count[~np.eye(n, dtype=bool)] - 0.3 * rounds).max() < 5 * 25


def test_weights():
    floats = random_graph(50, 20, seed=2, weights=(-1.5, 2.5), integer=False).weights
    assert floats.dtype == np.float64
    assert floats.min() >= -1.5
    assert floats.max() < 2.5
    assert set(random_graph(50, 20, seed=2, weights=(3, 5)).weights) == {3, 4, 5}
    assert random_graph(50, 20, seed=2, weights=None).weights is None


def test_sparse_graphs_cost_their_edges_alone():
    graph = random_graph(1_000_000, 1e-5, seed=0)
    assert graph.edge_count == round(1e-7 * 1_000_000 * 999_999)


def test_pairs_are_exact_far_out():
    for index in (np.arange(2000), np.array([10**17, 10**17 + 1, 2**56])):
        v, u = _pairs(index)
        np.testing.assert_array_equal(u * (u - 1) // 2 + v, index)
        assert (0 <= v).all()
        assert (v < u).all()


@pytest.mark.parametrize(("rows", "cols"), [(0, 0), (0, 3), (1, 1), (1, 5), (4, 3)])
def test_grid_against_networkx(rows, cols):
    graph = grid(rows, cols, weight=2)
    G = nx.grid_2d_graph(rows, cols)
    assert graph.edge_count == G.number_of_edges()
    expected = nx.to_numpy_array(G, nodelist=sorted(G), nonedge=np.inf) if len(G) else np.zeros((0, 0))
    np.testing.assert_array_equal(graph.matrix("min_plus", "float64"), np.where(expected == 1, 2, expected))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cycle(-1), "n must be an integer of 0 or more"),
        (lambda: grid(2, -1), "cols must be an integer of 0 or more"),
        (lambda: random_graph(-5, 10, seed=0), "n must be an integer of 0 or more"),
        (lambda: random_graph(5, 101, seed=0), "density is in percent"),
        (lambda: random_graph(5, -1, seed=0), "density is in percent"),
        (lambda: random_graph(5, float("nan"), seed=0), "density is in percent"),
        (lambda: random_graph(5, 10, seed=0, weights=(5, 1)), "low ≤ high"),
        (lambda: random_graph(5, 10, seed=0, weights=(0.5, 1)), "integer=False"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 17, 3000])
def test_roads_are_planar_connected_and_few(n):
    roads = road_like(n, seed=5)
    G = nx.Graph(zip(roads.rows.tolist(), roads.cols.tolist(), strict=True))
    G.add_nodes_from(range(n))
    assert roads.n == n
    assert G.number_of_edges() == roads.edge_count
    assert n == 0 or nx.is_connected(G)
    assert nx.check_planarity(G)[0]
    assert n < 3000 or 1.2 < roads.edge_count / n < 1.4
    assert n < 2 or (roads.weights >= 1).all()
    again = road_like(n, seed=5)
    np.testing.assert_array_equal(roads.rows, again.rows)
    np.testing.assert_array_equal(roads.weights, again.weights)


@pytest.mark.parametrize("each", [3, 40, 700])
def test_maps_in_squares_are_triangulated_as_one(monkeypatch, each):
    monkeypatch.setattr(generate, "TOGETHER", 0)
    monkeypatch.setattr(generate, "SQUARE", each)
    for n in (4, 37, 1000, 6000):
        for seed in range(4):
            points, code = generate._towns(np.random.default_rng(seed), n)
            if (
                seed == 3 and n > 100
            ):  # three quarters of the squares are empty, and much lies outside of all that are known
                points, code = points[code < 2**30], code[code < 2**30]
            found = generate._delaunay(points, code, 1.0)
            a, b, c = np.moveaxis(points[found], 1, 0)
            assert (np.linalg.det(np.stack((b - a, c - a), axis=1)) > 0).all()
            expected = np.sort(Delaunay(points).simplices, axis=1)
            np.testing.assert_array_equal(np.unique(np.sort(found, axis=1), axis=0), np.unique(expected, axis=0))
            assert len(found) == len(expected)


def test_roads_lie_near_one_another_in_their_order():
    roads = road_like(3000, seed=1)
    assert np.median(np.abs(roads.rows - roads.cols)) < 30


def test_sizes_are_integers():
    for make in (
        lambda n: cycle(n),
        lambda n: grid(2, n),
        lambda n: random_graph(n, 50, seed=0),
        lambda n: road_like(n, seed=0),
    ):
        for wrong in (3.5, "3", -1):
            with pytest.raises(ValueError, match=f"must be an integer of 0 or more, got {wrong!r}"):
                make(wrong)
