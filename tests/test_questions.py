"""Questions that threads ask: measures over connected pairs, distances within a limit, ties within a tolerance."""

import pickle

import networkx as nx
import numpy as np
import pytest

import apsp
from apsp import Result, as_graph, shortest_paths
from semiring.host.errors import DomainError, FormatError, SemiringError

EDGES = [("A", "B", 4), ("B", "C", 7)]


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
@pytest.mark.parametrize("name", ["eccentricity", "diameter", "closeness", "average_path_length", "global_efficiency"])
def test_measures_of_what_is_no_distance_are_refused(name, wrong):
    D = np.array([[0, 1, 3], [1, 0, wrong], [3, 2, 0.0]])
    with pytest.raises(DomainError, match="measures: D must hold distances, inf for no path, got"):
        getattr(apsp.answers.measures, name)(D)


def test_measures_over_connected_pairs():
    r = shortest_paths([*EDGES, ("D", "A", 1)])
    D = dict(
        nx.all_pairs_dijkstra_path_length(nx.DiGraph([(u, v, {"weight": w}) for u, v, w in [*EDGES, ("D", "A", 1)]]))
    )
    pairs = [d for u in D for v, d in D[u].items() if u != v]
    mean, efficiency = r.average_path_length(connected=True), r.global_efficiency(connected=True)
    assert mean == pytest.approx(np.mean(pairs))
    assert efficiency == pytest.approx(np.mean(1 / np.array(pairs)))
    assert repr(r.diameter(connected=True)) == "12.0 over 6 of 12 pairs"
    assert (mean.pairs, mean.of) == (6, 12)
    assert repr(pickle.loads(pickle.dumps(mean))) == repr(mean)
    assert r.farthest_pair(connected=True) == ("D", "C", 12, ["D", "A", "B", "C"])
    apart = shortest_paths([("A", "A", 1), ("B", "B", 1)], targets=["B", "A"])
    assert apart.farthest_pair(connected=True) == ("A", "A", 0, ["A"])
    with pytest.raises(SemiringError, match="connected=True"):
        r.diameter()
    with pytest.raises(SemiringError, match="farthest_pair: every vertex must reach"):
        r.farthest_pair()
    assert apsp.answers.measures.average_path_length(r.distances, connected=True) == mean
    assert apsp.answers.measures.diameter(r.distances, connected=True) == 12


@pytest.mark.parametrize("engine", ["elimination", "searches", "dense"])
def test_distances_within_a_limit_are_sparse(engine):
    G = nx.gnp_random_graph(40, 0.1, seed=3, directed=True)
    edges = [(u, v, 1 + (u * v) % 7) for u, v in G.edges]
    r = shortest_paths(as_graph(edges), engine=engine)
    near, D = r.within(9), np.asarray(r)
    assert near.nnz == (D <= 9).sum()
    np.testing.assert_array_equal(near.toarray(), np.where(D <= 9, D, 0))


def counted(G, s, within):
    """Paths from s along edges that are longer than their distances by `within` at most, and Brandes' sums of them."""
    d = nx.single_source_dijkstra_path_length(G, s)
    order = sorted(d, key=d.get)
    before = {j: [k for k in G.predecessors(j) if k in d and d[k] + G[k][j]["weight"] <= d[j] + within] for j in order}
    paths = {s: 1}
    for j in order[1:]:
        paths[j] = sum(paths[k] for k in before[j])
    owed = dict.fromkeys(order, 0.0)
    for j in reversed(order[1:]):
        for k in before[j]:
            owed[k] += paths[k] / paths[j] * (1 + owed[j])
    return paths, {j: owed[j] for j in order[1:]}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("engine", ["elimination", "searches", "dense"])
def test_ties_within_a_tolerance(engine, whole):
    for seed in range(3):
        G, n = nx.gnp_random_graph(12, 0.35, seed=seed, directed=True), 12
        for u, v in G.edges:
            G[u][v]["weight"] = 10 + (7 * u + 5 * v) % 23 if whole else (10 + (7 * u + 5 * v) % 23) / 10
        within = 3 if whole else 0.25
        r = shortest_paths(G, engine=engine).tied(within)
        through = dict.fromkeys(range(n), 0.0)
        for s in range(n):
            paths, owed = counted(G, s, within + 1e-12)
            assert r.counts[s].tolist() == [paths.get(j, 0) for j in range(n)]
            for j, x in owed.items():
                through[j] += x
        assert r.betweenness(normalized=False) == pytest.approx(through)


def test_rounding_no_longer_breaks_ties(tmp_path):
    edges = [("A", "B", 0.1), ("B", "C", 0.2), ("A", "C", 0.3)]
    for source in (edges, as_graph(edges).matrix()):
        r = shortest_paths(source)
        u, v = r.labels[0], r.labels[2]
        assert len(list(r.all_paths(u, v))) == 1
        assert len(list(r.tied(1e-9).all_paths(u, v))) == 2
        assert pickle.loads(pickle.dumps(r.tied(1e-9))).counts[0, 2] == 2
        r.tied(1e-9).save(tmp_path / "r.npz")
        assert Result.load(tmp_path / "r.npz").counts[0, 2] == 2
        np.savez(tmp_path / "r.npz", **dict(np.load(tmp_path / "r.npz")) | {"ties_within": np.array(-1.0)})
        with pytest.raises(FormatError, match="ties"):
            Result.load(tmp_path / "r.npz")
    for wrong, words in ((0.1, "below all lengths"), (-1, "at least 0"), ("x", "at least 0")):
        with pytest.raises(SemiringError, match=words):
            _ = shortest_paths(edges).tied(wrong).counts


def test_what_a_tolerance_becomes_beside_other_weights():
    """A fraction counts as soon as lengths have some; with turns, arcs that weigh nothing lead to goals."""
    r = shortest_paths([("A", "B", 3), ("B", "C", 2), ("A", "C", 5)]).tied(1.5)
    for weight, count in ((6, 2), (7, 1), (6.5, 2), (6.75, 1)):
        assert r.update({("A", "C"): weight}).counts[0, 2] == count
    turns = {("A", "B", "C"): 1}
    with pytest.raises(ValueError, match=r"r\.tied\(0\)\.update\(turns=…\)"):
        r.update(turns=turns)
    assert r.tied(0).update(turns=turns).counts[0, 2] == 1
