"""Predecessors of arrays on a GPU, by its own kernels: every path walked, the rule word by word, the host's bits."""

from __future__ import annotations

import numpy as np
import pytest
from test_routes import (
    CERTAINTY,
    GRAPHS,
    SIGNED,
    WHOLE,
    by_the_rule,
    closure,
    entries,
    graph,
    next_hops,
    predecessors,
    walk,
)

import apsp
from semiring import get
from semiring.algebra import dtypes
from semiring.dense.routes import hops, lengths
from semiring.host.errors import DivergenceError, DomainError, NoPathError
from semiring.kernels.cuda.routes import predecessors as routes

pytestmark = pytest.mark.gpu

INF = np.inf


#: By a block a matrix, which does all, as small ones are; else how the third line is searched, level by level for all
#: pairs or source by source, by a block or a warp each; and how edges are read, from bits alone or from lists first.
WAYS = {
    "as it comes": {},
    "levels": {"SMALL": 0, "FEW": 0, "LEVELS": 1 << 30, "WORTH": 0, "GATHERED": 5},
    "warps after levels": {"SMALL": 0, "FEW": 0, "LEVELS": 2, "WORTH": 0},
    "blocks": {"SMALL": 0, "FEW": 1 << 30, "LARGE": 0},
    "warps after blocks after a level": {"SMALL": 0, "FEW": 0, "LEVELS": 1, "LARGE": 0, "WIDE": 2},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(routes, name, value)


def matrix(s, dtype, name, n):
    lengths = graph(name, n)
    return lengths.astype(dtype) if s.lengths and np.dtype(dtype).kind == "f" else entries(s, dtype, lengths)


def found(cp, A, s):
    """The closure and the predecessors that the device finds."""
    D = closure(cp.asarray(A), s)
    P = predecessors(cp.asarray(A), D, s)
    assert isinstance(P, cp.ndarray)
    assert P.dtype == np.int32
    return D.get(), P.get()


class TestEveryPath:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_of_shortest_paths_in_floats(self, cp, name, way):
        A = graph(name, 51).astype(np.float32)
        walk(A, *found(cp, A, get("min_plus")), get("min_plus"))

    @pytest.mark.parametrize("name", WHOLE)
    @pytest.mark.parametrize("dtype", ["int16", "int32"])
    def test_of_integers_by_the_rule(self, cp, name, dtype, way):
        s = get("min_plus")
        A = entries(s, dtype, graph(name, 40))
        D, P = found(cp, A, s)
        np.testing.assert_array_equal(P, by_the_rule(A, D, s))

    @pytest.mark.parametrize("name", [name for name in GRAPHS if name not in SIGNED])
    @pytest.mark.parametrize(("semiring", "dtype"), [("max_min", "float32"), ("min_max", "int64"), ("boolean", "bool")])
    def test_where_nothing_is_summed_by_the_rule(self, cp, name, semiring, dtype):
        s = get(semiring)
        A = matrix(s, dtype, name, 40)
        D, P = found(cp, A, s)
        np.testing.assert_array_equal(P, by_the_rule(A, D, s))

    @pytest.mark.parametrize("name", ["geometric", "half zeros", "ring of zeros", "twins"])
    def test_over_other_semirings(self, cp, name):
        for s, dtype in ((get("max_times"), "float32"), (get("max_plus"), "float64"), (CERTAINTY, "int32")):
            A = matrix(s, dtype, name, 33)
            if s.name == "max_plus":
                A = entries(s, dtype, graph(name, 33))
            walk(A, *found(cp, A, s), s)

    @pytest.mark.parametrize("seed", range(4))
    def test_of_small_graphs_full_of_ties(self, cp, seed):
        rng = np.random.default_rng(seed)
        for n in (1, 2, 3, 5, 11):
            A = np.where(rng.random((n, n)) < 0.4, rng.integers(0, 3, (n, n)), INF).astype(np.float32)
            walk(A, *found(cp, A, get("min_plus")), get("min_plus"))


class TestTheHostsBits:
    @pytest.mark.parametrize("n", [1, 31, 32, 33, 128, 129, 300])
    @pytest.mark.parametrize(
        ("semiring", "dtype", "name"),
        [
            ("min_plus", "float32", "geometric"),
            ("min_plus", "float32", "tiny and large"),
            ("min_plus", "float32", "negative fractions"),
            ("min_plus", "int32", "half zeros"),
            ("max_min", "float32", "integers"),
            ("boolean", "bool", "0 or 1"),
        ],
    )
    def test_of_one_closure(self, cp, semiring, dtype, name, n):
        s = get(semiring)
        A = matrix(s, dtype, name, n)
        D = closure(A, s)
        for find in (predecessors, next_hops):
            there = find(cp.asarray(A), cp.asarray(D), s)
            np.testing.assert_array_equal(there.get(), find(A, D, s))

    @pytest.mark.parametrize(
        ("semiring", "dtype"),
        [("min_plus", "float32"), ("min_plus", "int32"), ("max_min", "float32"), ("boolean", "bool")],
    )
    def test_of_batches_in_which_one_has_negative_edges(self, cp, semiring, dtype):
        s, n = get(semiring), 45
        names = ("negative", "half zeros", "geometric", "ring of zeros") if s.lengths else ("half zeros", "geometric")
        A = np.stack([entries(s, dtype, np.round(graph(name, n) * 8)) for name in names])
        D = closure(A, s)
        for find in (predecessors, next_hops):
            there = find(cp.asarray(A), cp.asarray(D), s)
            np.testing.assert_array_equal(there.get(), find(A, D, s))
            np.testing.assert_array_equal(find(A, cp.asarray(D), s).get(), there.get())

    def test_what_is_no_closure_is_refused_alike(self, cp):
        A = entries(get("min_plus"), "float32", graph("geometric", 70))
        for dtype in ("float32", "int32"):
            a = np.full(A.shape, dtypes.zero(get("min_plus"), dtype))
            a[np.isfinite(A)] = np.ceil(A[np.isfinite(A)] * 9)
            D = closure(a)
            D[11, 60] -= 1
            D[40, 3] -= 1
            said = []
            for xp in (np, cp):
                with pytest.raises(DomainError, match=r"D must be the closure of A over min_plus, got") as error:
                    predecessors(xp.asarray(a), xp.asarray(D))
                said.append(str(error.value))
            assert said[0] == said[1]


class TestWalks:
    def test_edges_are_counted_and_weighed_where_they_are(self, cp):
        rng = np.random.default_rng(0)
        A = rng.integers(1, 50, (3, 70, 70)).astype(np.int32)
        A[rng.random(A.shape) < 0.9] = dtypes.zero(get("min_plus"), A.dtype)
        D = closure(A)
        P = predecessors(A, D)
        there = cp.asarray(P)
        for k in range(len(A)):
            np.testing.assert_array_equal(hops(cp.asarray(P[k])).get(), hops(P[k]))
        np.testing.assert_array_equal(lengths(get("min_plus"), there, None, A.dtype, A=cp.asarray(A)).get(), D)

    def test_what_is_no_tree_is_refused(self, cp):
        A = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], np.float32)
        for row in ([-9999, 2, 1], [-9999, 0, 7], [-9999, 0, 2]):
            P = cp.asarray(np.array([row, [1, -9999, 1], [2, 2, -9999]], np.int32))
            with pytest.raises(DomainError, match="must lead back to their source, got others in row 0"):
                hops(P)
            with pytest.raises(DomainError, match="must lead back to their source, got others in row 0"):
                lengths(get("min_plus"), P, None, A.dtype, A=cp.asarray(A))

    def test_a_wrong_result_is_told_by_its_paths(self, cp):
        A = np.random.default_rng(0).random((90, 90)).astype(np.float32)
        r = apsp.shortest_paths(cp.asarray(A))
        assert r.verify("all", paths=True)
        assert "90 rows; each of the 8010 paths attains its distance" in str(r.verify("all", paths=True))
        far = int((r.predecessors[5].get() > 5).nonzero()[0][-1])
        r.predecessors[5, far] = 5
        told = r.verify("all", paths=True)
        assert not told
        assert told.pair[0] == 5


def test_results_on_a_gpu_tell_routes_and_measures(cp):
    rng = np.random.default_rng(0)
    A = rng.integers(1, 50, (90, 90)).astype(np.int32)
    here, there = apsp.shortest_paths(A), apsp.shortest_paths(A, device="cuda")
    for name in ("predecessors", "next_hops", "hops"):
        np.testing.assert_array_equal(np.asarray(getattr(here, name)), cp.asnumpy(getattr(there, name)))
    assert list(there.paths()) == list(here.paths())
    assert there.verify("all", paths=True)
    assert there.eccentricity() == here.eccentricity()
    assert there.closeness() == pytest.approx(here.closeness())
    assert there.global_efficiency() == pytest.approx(here.global_efficiency())
    on_device = cp.asarray(there.distances)
    assert apsp.answers.measures.center(on_device).tolist() == apsp.answers.measures.center(here.distances).tolist()


class TestSumsOverBestPaths:
    """Betweenness, flows and counts on a device: NetworkX's values, and what the host finds."""

    @pytest.mark.parametrize(
        "kind", ["uniform", "integers", "alike", "thousands of ties", "tiny and large", "points", "lattice"]
    )
    def test_of_a_matrix(self, cp, kind):
        n, rng = 1100 if kind == "points" else 300, np.random.default_rng(3)
        x, y = rng.random((2, n)) if kind == "points" else np.divmod(rng.permutation(n), 20)
        A = {
            "uniform": lambda: rng.random((n, n)),
            "integers": lambda: rng.integers(1, 100, (n, n)),
            "alike": lambda: np.where(rng.random((n, n)) < 0.3, 2.0, INF),
            "thousands of ties": lambda: np.where(rng.random((n, n)) < 0.04, rng.integers(1, 3, (n, n)), INF),
            "tiny and large": lambda: np.where(rng.random((n, n)) < 0.03, rng.choice([1e-4, 1, 1e3], (n, n)), INF),
            "points": lambda: np.hypot(x - x[:, None], y - y[:, None]),
            "lattice": lambda: abs(x - x[:, None]) + 0.5 * abs(y - y[:, None]),
        }[kind]().astype(np.float32)
        np.fill_diagonal(A, INF)
        here, there = apsp.shortest_paths(A, engine="dense"), apsp.shortest_paths(cp.asarray(A), engine="dense")
        q = rng.random((n, n))
        q[~np.isfinite(here.distances)] = 0
        carried = there.flows(cp.asarray(q))
        assert isinstance(carried, cp.ndarray)
        np.testing.assert_allclose(carried.get(), here.flows(q), rtol=1e-9, atol=1e-9)
        assert float((carried * cp.where(cp.isinf(cp.asarray(A)), 0, cp.asarray(A))).sum()) == pytest.approx(
            float((q * np.where(np.isfinite(here.distances), here.distances, 0)).sum()), rel=1e-5
        )
        assert list(there.betweenness().values()) == pytest.approx(
            list(here.betweenness().values()), rel=1e-9, abs=1e-14
        )
        np.testing.assert_array_equal(there.counts, here.counts)
        again = apsp.shortest_paths(cp.asarray(A), engine="dense").flows(cp.asarray(q))
        assert again.tobytes() == carried.tobytes()

    @pytest.mark.parametrize(("engine", "dtype"), [("searches", "float32"), ("searches", "int32"), ("hops", "float32")])
    def test_of_rows(self, cp, engine, dtype):
        import networkx as nx

        G = nx.barabasi_albert_graph(200, 3, seed=1)
        rng = np.random.default_rng(0)
        for _, _, data in G.edges(data=True):
            data["weight"] = 1 if engine == "hops" else int(rng.integers(1, 9))
        r = apsp.shortest_paths(G, engine=engine, dtype=dtype, device="cuda")
        weight = None if engine == "hops" else "weight"
        assert r.betweenness() == pytest.approx(nx.betweenness_centrality.orig_func(G, weight=weight), abs=1e-12)
        some = apsp.shortest_paths(
            G, engine=engine, dtype=dtype, device="cuda", sources=[5, 9, 77], targets=list(range(90))
        )
        same = apsp.shortest_paths(G, dtype=dtype, sources=[5, 9, 77], targets=list(range(90)))
        np.testing.assert_allclose(some.edge_betweenness(), same.edge_betweenness(), rtol=1e-12)
        demand = {(5, 7): 3, (77, 0): 2}
        np.testing.assert_allclose(some.flows(demand), same.flows(demand), rtol=1e-12)
        np.testing.assert_array_equal(some.counts, same.counts)

    def test_errors_are_the_hosts(self, cp):
        A = np.full((4, 4), INF, np.float32)
        A[0, 1], A[1, 2], A[2, 1] = 1, 0, 0
        r = apsp.shortest_paths(cp.asarray(A), null_value=None)
        with pytest.raises(DivergenceError, match="costs nothing"):
            r.betweenness()
        with pytest.raises(NoPathError, match="from 0 to 3"):
            r.flows({(0, 3): 1})
        with pytest.raises(DomainError, match="finite"):
            r.flows(cp.asarray(np.full((4, 4), np.nan)))


def test_a_matrix_there_finds_its_engine(cp):
    """The same one by either function; one with few arcs, of which most matter, is not thinned in vain."""
    n, rng = 6400, np.random.default_rng(0)
    A = cp.asarray(1 - rng.random((n, n), dtype=np.float32))  # none is 0
    cp.fill_diagonal(A, cp.inf)
    assert apsp.plan(A).engine == apsp.shortest_paths(A).plan.engine == "essential"
    x, y = rng.random((2, n))
    d = np.hypot(x[:, None] - x, y[:, None] - y)
    assert apsp.plan(cp.asarray(np.where(d < 0.06, d, INF).astype(np.float32))).engine == "dense"


@pytest.mark.parametrize(("dtype", "n"), [("int64", 1500), ("float64", 1530), ("int32", 1700), ("int16", 1850)])
def test_sums_whose_shared_memory_is_just_below_48_kb(cp, dtype, n):
    """With the kernel's own variables it is above. On a path, as many pairs lead over a vertex as are on both sides."""
    A = np.full((n, n), dtypes.zero(get("min_plus"), np.dtype(dtype)), dtype)
    k = np.arange(n - 1)
    A[k, k + 1] = A[k + 1, k] = 1 + k % 2
    found = apsp.shortest_paths(cp.asarray(A), engine="dense").betweenness(normalized=False)
    place = np.arange(n)
    np.testing.assert_allclose([found[v] for v in place.tolist()], 2 * place * (n - 1 - place))
