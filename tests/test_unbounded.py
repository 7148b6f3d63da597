"""Where a negative cycle stands: −∞ on request, numbers elsewhere; and nothing to those who do not reach it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import apsp
from apsp import closure, shortest_paths
from semiring.host.errors import AlgebraError, DivergenceError, DTypeError, NegativeCycleError, NoPathError, VertexError

INF = np.inf
ENGINES = ["dense", "elimination", "searches", "scipy"]


def oracle(A):
    """Bellman and Ford's rounds from each vertex; a label that still falls after n of them is −∞, and so beyond it."""
    n = len(A)
    edges = [(u, v, A[u, v]) for u in range(n) for v in range(n) if A[u, v] < INF]
    D = np.full((n, n), INF)
    for s in range(n):
        label = [INF] * n
        label[s] = 0.0
        for turn in range(2 * n):
            for u, v, w in edges:
                if label[u] + w < label[v]:
                    label[v] = label[u] + w if turn < n else -INF
        D[s] = label
    return D


def with_cycles(rng, n, share):
    """Whole numbers of both signs; often several components, loops, cycles that cost nothing or less."""
    A = np.where(rng.random((n, n)) < share, rng.integers(-2, 9, (n, n)), INF).astype(float)
    order = rng.permutation(n)
    if rng.random() < 0.7:  # a few blocks, and arcs from earlier ones to later ones only
        block = np.sort(rng.integers(0, 4, n))
        A[block[:, None] > block] = INF
        A = A[np.ix_(order, order)]
    loops = rng.random(n) < rng.choice([0.0, 0.1, 0.3])
    A[loops, loops] = rng.choice([-1.0, 0.0, 2.0], loops.sum())
    return A


def graphs():
    rng = np.random.default_rng(5)
    return [with_cycles(rng, n, share) for n in (1, 2, 5, 9, 14) for share in (0.05, 0.12, 0.2, 0.4) for _ in range(6)]


def test_the_cases_have_all_there_is():
    tables = [oracle(A) for A in graphs()]
    mixed = [D for D in tables if (D == -INF).any() and ((D > -INF) & (D < INF) & (D != 0)).any()]
    assert len(mixed) > 15
    assert sum(not (D == -INF).any() for D in tables) > 20
    several = [D for D in mixed if np.unique(D[np.diag(D) == -INF], axis=0).shape[0] > 1]
    assert len(several) > 5


def test_closure_has_minus_infinity_where_a_cycle_stands():
    for A in graphs():
        D = oracle(A)
        np.testing.assert_array_equal(closure(A, null_value=None, on_negative_cycle="-inf"), D)
        found = closure(A.astype(np.float32), null_value=None, on_negative_cycle="-inf")
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, D)
        if (D == -INF).any():
            with pytest.raises(NegativeCycleError):
                closure(A, null_value=None)


def test_closure_of_sparse_matrices_and_graphs():
    for A in graphs()[::3]:
        i, j = np.nonzero(A < INF)
        S = sparse.coo_array((A[i, j], (i, j)), shape=A.shape).tocsr()
        np.testing.assert_array_equal(closure(S, on_negative_cycle="-inf"), oracle(A))


def test_closure_of_batches_and_lists():
    rng = np.random.default_rng(1)
    batch = np.stack([with_cycles(rng, 8, 0.2) for _ in range(6)])
    before = batch.copy()
    D = closure(batch, null_value=None, on_negative_cycle="-inf")
    np.testing.assert_array_equal(D, np.stack(list(map(oracle, batch))))
    np.testing.assert_array_equal(batch, before)
    parts = [A[:k, :k] for A, k in zip(batch, (3, 8, 5, 8, 1, 7), strict=True)]
    for found, A in zip(closure(parts, null_value=None, on_negative_cycle="-inf"), parts, strict=True):
        np.testing.assert_array_equal(found, oracle(A))


@pytest.mark.parametrize("schedule", ["recursive", "blocked", "iterative", "squaring"])
def test_closure_by_schedules(schedule):
    A = graphs()[-1]
    found = closure(A, null_value=None, schedule=schedule, on_negative_cycle="-inf")
    np.testing.assert_array_equal(found, oracle(A))


def test_the_other_end_where_the_greatest_is_best():
    for A in graphs()[::4]:
        D = oracle(A)
        np.testing.assert_array_equal(closure(-A, "max_plus", null_value=None, on_negative_cycle="-inf"), -D)
        with np.errstate(over="ignore"):
            powers, expected = np.exp2(-A), np.exp2(-D)  # products of powers of two are exact
        found = closure(powers, "max_times", null_value=None, on_negative_cycle="-inf")
        np.testing.assert_array_equal(found, expected)
        found = closure(np.exp2(A), "min_times", null_value=None, on_negative_cycle="-inf")
        np.testing.assert_array_equal(found, np.exp2(D))


def test_rounding_is_no_cycle_and_limits_of_floats():
    A = np.full((6, 6), INF)
    A[0, 1], A[1, 2], A[2, 0] = 0.1, 0.7, -0.8  # −1.1e-16
    A[2, 3], A[3, 4], A[4, 3], A[5, 0] = 1.0, 1e300, -1.1e300, -1e300
    D = closure(A, on_negative_cycle="-inf")
    assert (D[:, [3, 4]][[0, 1, 2, 3, 4, 5]] == -INF).all()
    assert np.isfinite(D[:3, :3]).all()
    assert D[5, 0] == pytest.approx(-1e300, rel=1e-14)
    assert (np.diag(D)[[0, 1, 2, 5]] == 0).all()
    tiny = np.array([[0, 5e-324], [-1e-323, INF]])
    assert (closure(tiny, null_value=None, on_negative_cycle="-inf") == -INF).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_shortest_paths_has_minus_infinity_by_each_engine(engine):
    for A in graphs()[::4]:
        D, (i, j) = oracle(A), np.nonzero(A < INF)
        names = [f"v{k}" for k in range(len(A))]
        g = apsp.Graph.from_arrays(i, j, A[i, j], n=len(A), labels=names)
        r = shortest_paths(g, engine=engine, dtype="float64", on_negative_cycle="-inf")
        np.testing.assert_array_equal(np.asarray(r), D)
        np.testing.assert_array_equal(np.vstack([rows for _, rows in r.rows()]), D)
        i, j = np.indices(D.shape)
        np.testing.assert_array_equal(
            r.distance([names[k] for k in i.ravel()], [names[k] for k in j.ravel()]), D.ravel()
        )
        part = shortest_paths(g, engine=engine, sources=names[:2], targets=names[-3:], on_negative_cycle="-inf")
        np.testing.assert_array_equal(np.asarray(part), D[:2, -3:])
        for u, v in zip(i.ravel().tolist(), j.ravel().tolist(), strict=True):
            assert r.distance(names[u], names[v]) == D[u, v]
            if D[u, v] == -INF:
                with pytest.raises(NegativeCycleError) as caught:
                    r.path(names[u], names[v])
                walk = [names.index(x) for x in caught.value.cycle]
                assert sum(A[a, b] for a, b in zip(walk, [*walk[1:], walk[0]], strict=True)) < 0
                assert D[u, walk[0]] < INF
                assert D[walk[0], v] < INF
            elif D[u, v] == INF:
                with pytest.raises(NoPathError):
                    r.path(names[u], names[v])
            else:
                walk = [names.index(x) for x in r.path(names[u], names[v])]
                assert (walk[0], walk[-1]) == (u, v)
                assert sum(A[a, b] for a, b in pairwise(walk)) == D[u, v]


def test_what_paths_with_no_best_have_is_refused(tmp_path):
    edges = [("a", "b", 1.0), ("b", "c", -3.0), ("c", "b", 2.0), ("c", "d", 4.0), ("d", "e", 1.0)]
    r = shortest_paths(edges, on_negative_cycle="-inf")
    asked = [lambda: r.predecessors, lambda: r.next_hops, lambda: r.hops, lambda: r.counts, r.paths, r.betweenness]
    asked += [r.edge_betweenness, r.verify, r.closeness, r.diameter, lambda: list(r.all_paths("d", "e"))]
    asked += [
        lambda: r.flows({("a", "d"): 1.0}),
        lambda: r.save(tmp_path / "r.npz"),
        lambda: r.update({("a", "b"): 2.0}),
    ]
    for ask in asked:
        with pytest.raises(NegativeCycleError) as caught:
            ask()
        assert sorted(caught.value.cycle) == ["b", "c"]
    assert r.path("d", "e") == ["d", "e"]
    limited = shortest_paths(edges, limit=0, on_negative_cycle="-inf")
    assert limited.distance("a", "d") == -INF
    assert limited.distance("d", "e") == INF
    with pytest.raises(NegativeCycleError):
        _ = limited.predecessors
    r.save(tmp_path / "r.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), np.asarray(r))
    calm = shortest_paths(edges[3:], on_negative_cycle="-inf")
    assert calm.paths([("c", "e")])[0] == ["c", "d", "e"]


def test_what_does_not_go_together_is_refused_with_a_way_out():
    A = np.array([[INF, -3.0], [2.0, INF]])
    for word in ("inf", None, "nan"):
        with pytest.raises(ValueError, match="must be 'raise' or '-inf'"):
            closure(A, on_negative_cycle=word)
        with pytest.raises(ValueError, match="must be 'raise' or '-inf'"):
            shortest_paths(A, on_negative_cycle=word)
    for more in ({"overwrite": True}, {"memory": "1GiB"}, {"gpus": 1}, {"steps": True}):
        with pytest.raises(ValueError, match="Leave one of them out"):
            closure(A, on_negative_cycle="-inf", **more)
    for name in ("max_min", "plus_times", "boolean"):
        with pytest.raises(AlgebraError, match="Leave it out"):
            closure(np.abs(A) if name != "boolean" else A < 9, name, on_negative_cycle="-inf")
    whole = [("a", "b", -3), ("b", "a", 2), ("b", "c", 1)]
    for ask in (closure, shortest_paths):
        with pytest.raises(DTypeError, match="dtype='float64'"):
            ask(whole, on_negative_cycle="-inf")
    assert (closure(whole, dtype="float64", on_negative_cycle="-inf")[:2] == -INF).all()
    assert shortest_paths(whole, dtype="float64", on_negative_cycle="-inf").distance("a", "c") == -INF


def test_a_tensor_with_gradient_is_refused():
    torch = pytest.importorskip("torch")
    A = torch.tensor([[9.0, -3.0], [2.0, 9.0]], requires_grad=True)
    with pytest.raises(ValueError, match="on_negative_cycle"):
        closure(A, null_value=None, on_negative_cycle="-inf")
    found = closure(A.detach(), null_value=None, on_negative_cycle="-inf")
    assert isinstance(found, torch.Tensor)
    assert bool((found == -INF).all())


def far_cycle(seed=0):
    """Vertices 0 … 19 reach none of 20 … 39, among which a cycle is negative."""
    rng, n = np.random.default_rng(seed), 40
    A = np.where(rng.random((n, n)) < 0.15, rng.integers(1, 9, (n, n)), INF).astype(float)
    A[:20, 20:] = INF
    A[21, 22], A[22, 21] = -3, 2
    A[0, 1], A[1, 2], A[2, 0] = -1, 4, 7
    A[25, 3] = 1.0
    return A


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_a_negative_cycle_that_no_source_reaches_matters_to_none(engine):
    A = far_cycle()
    D, (i, j) = oracle(A), np.nonzero(A < INF)
    names = [f"v{k}" for k in range(40)]
    g = apsp.Graph.from_arrays(i, j, A[i, j].astype(int), n=40, labels=names)
    with pytest.raises(NegativeCycleError):
        shortest_paths(g, engine=engine)
    with pytest.raises(NegativeCycleError) as caught:
        shortest_paths(g, engine=engine, sources=["v3", "v30"])
    assert set(caught.value.cycle) == {"v21", "v22"}
    sources = ["v3", "v0", "v19"]
    r = shortest_paths(g, engine=engine, sources=sources)
    np.testing.assert_array_equal(np.asarray(r), D[[3, 0, 19]])
    for k, u in enumerate((3, 0, 19)):
        for v in range(40):
            if D[u, v] < INF:
                walk = [names.index(x) for x in r.path(names[u], names[v])]
                assert (walk[0], walk[-1]) == (u, v)
                assert sum(A[a, b] for a, b in pairwise(walk)) == D[u, v]
                assert (r.predecessors[k, v] == -9999) == (u == v)
            else:
                assert r.predecessors[k, v] == r.next_hops[k, v] == -9999
    inside = np.ix_(range(20), range(20))
    calm = apsp.Graph.from_matrix(A[inside], labels=names[:20]).having(nulls=())
    same = shortest_paths(calm, sources=sources, engine="dense")
    np.testing.assert_array_equal(r.counts[:, :20], same.counts)
    between, alone = r.betweenness(normalized=False), same.betweenness(normalized=False)
    assert [between[name] for name in names] == pytest.approx([*alone.values(), *[0.0] * 20])
    positions, P = next(iter(r.predecessor_rows(["v5"])))
    assert positions.tolist() == [5]
    assert (P[0] >= 0).sum() == (D[5] < INF).sum() - 1
    with pytest.raises(VertexError, match="within reach"):
        list(r.predecessor_rows(["v25"]))
    part = shortest_paths(g, engine=engine, sources=sources, targets=["v7", "v30"], limit=9)
    expected = D[np.ix_([3, 0, 19], [7, 30])]
    np.testing.assert_array_equal(np.asarray(part), np.where(expected > 9, INF, expected))
    many = shortest_paths(g, engine=engine, sources=names[:12])  # read in panels of all that reach no cycle
    for axis in (0, 1):
        np.testing.assert_array_equal(many.reduce(np.maximum, axis=axis), D[:12].max(axis=axis))
    changed = r.update({(names[i[0]], names[j[0]]): 50})
    B = A.copy()
    B[i[0], j[0]] = 50
    np.testing.assert_array_equal(np.asarray(changed), oracle(B)[[3, 0, 19]])


def test_a_matrix_and_a_greater_one_are_pruned_too():
    A = far_cycle(1)
    D = oracle(A)
    np.testing.assert_array_equal(np.asarray(shortest_paths(A, sources=[4, 9], null_value=None)), D[[4, 9]])
    found = shortest_paths(-A, "max_plus", sources=[4, 9], null_value=None)
    np.testing.assert_array_equal(np.asarray(found), -D[[4, 9]])
    with pytest.raises(DivergenceError):
        shortest_paths(-A, "max_plus", sources=[4, 39], null_value=None)
    # Σ over walks: 3 and 4 diverge, and no walk from 0 meets them.
    S = np.zeros((5, 5))
    S[0, 1], S[1, 2], S[3, 4], S[4, 3] = 0.5, 0.25, 2.0, 1.0
    found = shortest_paths(S, "plus_times", sources=[0], null_value=None)
    np.testing.assert_array_equal(np.asarray(found), [[1.0, 0.5, 0.125, 0.0, 0.0]])


def test_a_part_that_was_saved_has_its_paths(tmp_path):
    A = far_cycle(2)
    r = shortest_paths(A, sources=[0, 9], null_value=None)
    r.save(tmp_path / "part.npz")
    far = oracle(A)[0]
    end = int(np.where(far < INF, far, -1).argmax())
    assert far[end] > 0
    for asked in ("path", "predecessors"):
        loaded = apsp.Result.load(tmp_path / "part.npz")
        if asked == "predecessors":
            np.testing.assert_array_equal(loaded.predecessors, r.predecessors)
        assert loaded.path(0, end) == r.path(0, end)


def test_networkx_tells_of_a_cycle_that_its_first_node_does_not_reach():
    nx = pytest.importorskip("networkx")
    G = nx.DiGraph()
    G.add_weighted_edges_from([(0, 1, 1), (2, 3, 1), (3, 2, -2), (3, 0, 1)])
    for name in ("all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length", "johnson"):
        with pytest.raises(nx.NetworkXUnbounded):
            dict(getattr(nx, name)(G.copy(), backend="apsp"))
