"""Searches by weight from many sources: against the definition of A*, and the engine against the dense closure."""

from __future__ import annotations

import pickle

import cases
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import apsp
import semiring
from apsp import Graph, plan, shortest_paths
from semiring import AlgebraError, DomainError, DTypeError, NegativeCycleError, ShapeError, VertexError, get
from semiring.algebra import dtypes
from semiring.kernels.cpu.sparse import growth
from semiring.sparse import Searches

rng = np.random.default_rng(30)

#: Weights over which A* exists, and is exact in every dtype.
WEIGHTS = {
    "min_plus": lambda m: rng.integers(0, 9, m),
    "max_plus": lambda m: -rng.integers(0, 9, m),
    "max_min": lambda m: rng.integers(-5, 99, m),
    "min_max": lambda m: rng.integers(-5, 9, m),
    "max_times": lambda m: rng.choice([0.25, 0.5, 1], m),
    "reliability": lambda m: rng.choice([0.0, 0.25, 0.5, 1], m),
    "min_times": lambda m: rng.choice([1, 2, 4], m),
}
#: Every semiring and every dtype; the others' kernels, of which each dtype has its own, wait for a release.
CASES = [
    pytest.param(
        name,
        dtype,
        id=one,
        marks=[] if name == "min_plus" or one in {*cases.TRAITS, "reliability-float32"} else pytest.mark.release,
    )
    for name in WEIGHTS
    for dtype in ("int16", "int32", "int64", "float32", "float64")
    if dtype in get(name).dtypes and (one := f"{name}-{dtype}")
]


def star(n, tails, heads, weights, semiring):
    """A* by its definition: rounds over all arcs until nothing changes, in Python's numbers."""
    s = get(semiring)
    add, mul = s.add.python, s.mul.python
    zero, one = (value(s, weights.dtype).item() for value in (dtypes.zero, dtypes.one))
    D = [[one if i == j else zero for j in range(n)] for i in range(n)]
    arcs = [(u, v, w) for u, v, w in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True) if w != zero]
    for row in D:
        changed = True
        while changed:
            changed = False
            for u, v, w in arcs:
                if row[u] != zero and (best := add(row[v], mul(row[u], w))) != row[v]:
                    row[v], changed = best, True
    return np.array(D, weights.dtype).reshape(n, n)


def random_arcs(name, dtype, n, m):
    return rng.integers(0, n, m), rng.integers(0, n, m), WEIGHTS[name](m).astype(dtype)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_entry_is_that_of_the_closure(name, dtype):
    """Parallel arcs, loops, ties, zero weights, vertices that nothing reaches; more sources than lanes, and few."""
    for n, m in ((1, 3), (7, 20), (66, 99)):
        tails, heads, weights = random_arcs(name, dtype, n, m)
        S = Searches((tails, heads), name, n=n, weights=weights)
        expected = star(n, tails, heads, weights, name)
        D = S.to_dense()
        assert D.dtype == S.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(D, expected)
        i = int(rng.integers(n))
        np.testing.assert_array_equal(S.row(i), expected[i])
        np.testing.assert_array_equal(S.column(i), expected[:, i])
        wanted = rng.integers(0, n, 5)
        np.testing.assert_array_equal(np.concatenate([D for _, D in S.rows(wanted, block=2)]), expected[wanted])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("min_plus", "float64"), ("min_plus", "int32"), ("max_min", "int32"), ("reliability", "float64")],
)
def test_a_csr_matrix_is_searched_through_as_a_list_of_its_entries(name, dtype):
    """Parallel and absent entries in no order; its indices and pointers are copied. Also backwards, and pickled."""
    n, m = 66, 250
    tails, heads, weights = random_arcs(name, dtype, n, m)
    tails.sort()
    starts = np.searchsorted(tails, np.arange(n + 1)).astype(np.int32)
    expected = star(n, tails, heads, weights, name)
    A = scipy.sparse.csr_array((weights, heads.astype(np.int32), starts), shape=(n, n))
    S = Searches(A, name)
    A.indices[:] = 0
    A.indptr[1:-1] = 0
    for searches in (S, pickle.loads(pickle.dumps(S))):
        assert searches.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(np.concatenate([D for _, D in searches.rows(range(3))]), expected[:3])
        np.testing.assert_array_equal(searches.to_dense(), expected)
        np.testing.assert_array_equal(searches.column(5), expected[:, 5])
    assert [x.tolist() for x in S.arcs[:2]] == [
        x[weights != dtypes.zero(get(name), S.dtype)].tolist() for x in (tails, heads)
    ]
    A.indices[3] = n
    with pytest.raises(ShapeError, match="consistent"):
        Searches(A, name)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_a_pickle_keeps_potentials(dtype):
    tails, heads, weights = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), np.array([5, -2, 3, 7], dtype)
    S = Searches((tails, heads), n=5, weights=weights)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(S)).to_dense(), star(5, tails, heads, weights, "min_plus"))


@pytest.mark.parametrize(
    ("name", "wrong"), [("min_plus", -np.inf), ("max_plus", np.inf), ("max_times", -1.0), ("min_plus", np.nan)]
)
def test_weights_outside_the_semiring_are_refused(name, wrong):
    """As a list and as a matrix: they would be searched through like others, in no order."""
    weights = np.array([0.5, wrong, 0.25])
    tails, heads = [0, 1, 0], [1, 2, 2]
    with pytest.raises(DomainError, match=f"{wrong:g}"):
        Searches((tails, heads), name, n=3, weights=weights)
    with pytest.raises(DomainError, match=f"{wrong:g}"):
        Searches(scipy.sparse.csr_array((weights, (tails, heads)), shape=(3, 3)), name)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_come_in_the_order_wanted(threads):
    """Sources that are searched from together are chosen by where they are; what comes back is not."""
    n, m = 500, 3000
    tails, heads, weights = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 99, m)
    A = scipy.sparse.coo_array((weights.astype(float), (tails, heads)), shape=(n, n))
    order = np.lexsort((weights, heads, tails))
    first = np.flatnonzero(np.append(True, (np.diff(tails[order]) != 0) | (np.diff(heads[order]) != 0)))
    least = scipy.sparse.coo_array(
        (weights[order][first].astype(float), (tails[order][first], heads[order][first])), shape=A.shape
    ).tocsr()
    expected = csgraph.dijkstra(least)
    S = Searches((tails, heads), n=n, weights=weights.astype(float), threads=threads)
    wanted = rng.permutation(n)[:333]
    blocks = [(sources.tolist(), D.copy()) for sources, D in S.rows(wanted, block=50)]
    assert [v for sources, _ in blocks for v in sources] == wanted.tolist()
    np.testing.assert_array_equal(np.concatenate([D for _, D in blocks]), expected[wanted])
    np.testing.assert_array_equal(S.to_dense(), expected)


@pytest.mark.parametrize("weights", ["zeros", "one large", "powers", "tiny"])
def test_weights_of_any_spread(weights):
    """Buckets of any width end with the same distances: all in one, or a bucket for hardly any."""
    n, m = 300, 1500
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    w = {
        "zeros": np.zeros(m),
        "one large": np.where(np.arange(m) == 7, 2.0**60, 1.0),
        "powers": 2.0 ** rng.integers(-40, 40, m),
        "tiny": np.full(m, 2.0**-1070),
    }[weights]
    expected = star(n, tails, heads, w, "min_plus")
    for lanes in ([0], range(n)):
        rows = np.concatenate([D for _, D in Searches((tails, heads), n=n, weights=w).rows(lanes)])
        np.testing.assert_array_equal(rows, expected[list(lanes)])


def test_a_path_of_many_vertices_and_a_hub_of_many_arcs():
    n = 100_000
    S = Searches((np.arange(n - 1), np.arange(1, n)), n=n, weights=np.ones(n - 1))
    np.testing.assert_array_equal(S.row(0), np.arange(n))
    hub = np.zeros(n - 1, int)
    S = Searches((np.r_[hub, np.arange(1, n)], np.r_[np.arange(1, n), hub]), n=n, weights=np.full(2 * n - 2, 3))
    assert S.row(5)[:7].tolist() == [3, 6, 6, 6, 6, 0, 6]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_negative_arcs(dtype):
    """Potentials make them non-negative; integers stay exact."""
    n, m = 90, 500
    height = rng.integers(-20, 20, n)
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    weights = (rng.integers(0, 9, m) + height[tails] - height[heads]).astype(dtype)
    D = Searches((tails, heads), n=n, weights=weights).to_dense()
    np.testing.assert_array_equal(D, star(n, tails, heads, weights, "min_plus"))
    with pytest.raises(NegativeCycleError, match="0 → 1 → 0 of weight -1"):
        Searches(([0, 1], [1, 0]), n=2, weights=np.array([1, -2], dtype))


def test_factors_that_make_walks_better():
    S = Searches(([0, 1, 2], [1, 2, 3]), "max_times", n=4, weights=[4.0, 0.5, 8.0])
    np.testing.assert_allclose(S.row(0), [1, 4, 2, 16], rtol=1e-12)


def test_a_limit_ends_searches():
    n, m = 200, 900
    tails, heads, weights = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 50, m).astype(float)
    expected = star(n, tails, heads, weights, "min_plus")
    S = Searches((tails, heads), n=n, weights=weights)
    for limit in (-1, 0, 17, 1000):
        cut = np.where(expected > limit, np.inf, expected)
        np.testing.assert_array_equal(S.to_dense(limit=limit), cut)
        np.testing.assert_array_equal(S.row(3, limit=limit), cut[3])
    factors = rng.choice([0.5, 0.75, 1], m)
    expected = star(n, tails, heads, factors, "max_times")
    S = Searches((tails, heads), "max_times", n=n, weights=factors)
    for limit in (0.3, 0, -1, 2):
        np.testing.assert_array_equal(S.to_dense(limit=limit), np.where(expected < limit, 0, expected))
    S = Searches(([0], [1]), "min_times", n=2, weights=[2.0])
    for limit, reached in ((2, [1, 2]), (1, [1, np.inf]), (0, [np.inf] * 2), (-1, [np.inf] * 2)):
        assert S.row(0, limit=limit).tolist() == reached


@pytest.mark.parametrize(
    ("name", "limit", "reached"),
    [("max_min", 1e9, []), ("min_max", -1e9, []), ("max_min", 2.5, [2]), ("min_max", 2.5, [1])],
)
def test_a_limit_that_integers_do_not_hold(name, limit, reached):
    """The walk of no arcs is infinitely good, and within any limit."""
    S = Searches(([0, 0], [1, 2]), name, n=3, weights=np.array([2, 3], np.int16))
    one, zero = (value(get(name), np.dtype("int16")).item() for value in (dtypes.one, dtypes.zero))
    assert S.row(0, limit=limit).tolist() == [one, *(v + 1 if v in reached else zero for v in (1, 2))]


def test_what_is_refused():
    arcs, weights = (np.array([0, 1]), np.array([1, 2])), np.array([1.0, 2.0])
    with pytest.raises(AlgebraError, match="got plus_times"):
        Searches(arcs, "plus_times", n=3, weights=weights)
    with pytest.raises(ShapeError, match=r"one weight an arc is required, \(2,\), got shape \(1,\)"):
        Searches(arcs, n=3, weights=weights[:1])
    with pytest.raises(DTypeError, match="int16 must hold the heaviest arc out of each vertex together"):
        Searches(arcs, n=3, weights=np.array([30000, 30000], np.int16))
    with pytest.raises(DomainError, match="got nan"):
        next(Searches(arcs, n=3, weights=weights).rows(limit=float("nan")))
    with pytest.raises(VertexError, match="0 … 2, got 3"):
        Searches(arcs, n=3, weights=weights).row(3)


def test_few_searches_tell_what_many_take():
    """What reaches little is seen to; a ring is relaxed once for each source."""
    ring = Searches((np.arange(50), (np.arange(50) + 1) % 50), n=50, weights=np.ones(50))
    relaxed, reached = ring.effort([0, 10, 20, 30])
    assert reached == 200
    assert 200 <= relaxed <= 500  # and as much for taking vertices
    apart = Searches((np.arange(0, 50, 2), np.arange(1, 50, 2)), n=50, weights=np.ones(25))
    assert apart.effort([0, 2])[1] == 4


# The engine


def test_integers_are_searched_in_as_many_bits_as_sums_need():
    line = [(k, k + 1, 30000) for k in range(5)]
    assert shortest_paths(line, engine="searches", dtype="int32").distance(0, 5) == 150000
    assert shortest_paths(line[:1], engine="searches", dtype="int16").distance(0, 1) == 30000
    with pytest.raises(DomainError, match="every distance must fit int16, got 60000 from 0 to 2"):
        shortest_paths(line, engine="searches", dtype="int16").table([0])
    with pytest.raises(DomainError, match="got 60000 from 0 to 2"):
        shortest_paths(line, engine="searches", dtype="int16").engine.column(2)
    with pytest.raises(AlgebraError, match="64 bits hold every sum"):
        shortest_paths([(0, 1, 2**62), (1, 2, 2**62)], engine="searches", dtype="int64")


def test_a_graph_with_hubs_is_searched_and_a_road_is_not():
    n, m = 4000, 8
    tails, heads = (n * rng.random((2, m * n)) ** 2).astype(np.int64)
    graph = Graph.from_arrays(tails, heads, rng.integers(1, 999, m * n), n=n)
    plan = apsp.plan(graph, sources=range(400))
    assert (plan.engine, plan.schedule) == ("searches", "label-correcting")
    assert apsp.plan(apsp.road_like(4000, seed=1)).engine == "elimination"


def test_a_graph_that_reaches_little_takes_little():
    """Three layers: a source reaches a few vertices of the next two. Arcs alone would tell otherwise."""
    n = 3000
    tails = np.r_[rng.integers(0, 1000, 9000), rng.integers(1000, 2000, 9000)]
    heads = np.r_[rng.integers(1000, 2000, 9000), rng.integers(2000, 3000, 9000)]
    graph = Graph.from_arrays(tails, heads, rng.integers(1, 99, 18000), n=n)
    full = Graph.from_arrays(tails, rng.integers(0, n, 18000), rng.integers(1, 99, 18000), n=n)
    few, many = (
        next(e.seconds for e in apsp.plan(g, engine="auto").considered if e.engine == "searches") for g in (graph, full)
    )
    assert few < many / 2


def test_many_sources_begin_as_their_searches_grow():
    """Arcs of weight 0, vertices without arcs, sources that grow slowly: what is found is the same."""
    rng, n = np.random.default_rng(8), 1200
    tails, heads = rng.integers(0, n - 50, (2, 6 * n))
    weights = rng.integers(0, 100, 6 * n).astype(float)
    S = Searches((tails, heads), n=n, weights=weights)
    begun = S._aligned[0]
    assert begun is not S._landmark[0]
    assert np.isfinite(begun).all()
    assert (begun >= 0).all()
    want = cases.distances(cases.lengths(n, (tails, heads), weights), range(0, n, 7))
    np.testing.assert_array_equal(S.to_dense()[::7], want)
    found = growth.rate(np.arange(1.0, 200.0), 40.0)
    assert abs(40 * np.exp(-found * np.arange(1.0, 200.0)).mean() - 1) < 1e-9
    assert growth.rate(np.zeros(9), 5.0) is None  # no rate is enough
    assert growth.rate(np.ones(9), 0.5) is None
    assert growth.rate(np.full(3, np.inf), 5.0) is None


@pytest.mark.parametrize(("sources", "tried"), [(4, 0), (64, 0), (None, 4)])
def test_searches_are_tried_where_they_are_a_small_part(monkeypatch, sources, tried):
    """What a batch of four relaxes tells what all rows take; of some rows it would be a large part, and is guessed."""
    asked = []
    effort = Searches.effort
    monkeypatch.setattr(Searches, "effort", lambda S, some: (asked.append(len(some)), effort(S, some))[1])
    tails, heads, weights = np.random.default_rng(1).integers(0, 2000, (3, 20_000))
    graph = Graph.from_arrays(tails, heads, weights, n=2000)
    shortest_paths(graph, sources=range(20), engine="searches")  # kernels are compiled
    asked.clear()
    p = plan(graph, sources=sources and range(sources), engine="searches")
    assert asked == [4] * tried
    assert p.considered[0].seconds > 0


def test_options_that_contradict_the_matrix_are_refused():
    A = scipy.sparse.csr_array(([-1.0, -1.0], ([0, 1], [1, 2])), shape=(3, 3))
    for make in (lambda: Searches(A, n=7), lambda: semiring.sparse.Hops(A, 7), lambda: semiring.sparse.analyse(A, 7)):
        with pytest.raises(ShapeError, match="n must be that of the matrix, 3, got 7"):
            make()
    with pytest.raises(ShapeError, match="an Analysis has its order, got order='natural'"):
        semiring.eliminate(semiring.sparse.analyse(A), weights=[1, 1], order="natural")
    for wrong in ([0.0, 0.0, 0.0], [np.nan] * 3, [0.0, -1.0, -1.5]):
        with pytest.raises(DomainError, match="potentials must leave no length below 0, got"):
            Searches(A, potentials=np.array(wrong))
    assert Searches(A, potentials=np.array([0.0, -1.0, -2.0])).row(0).tolist() == [0, -1, -2]
    whole = ([0, 1], [1, 2]), {"n": 3, "weights": [-1, -1]}
    for given in ([0, -1, -2], [0.0, -1.0, -2.0], np.array([2, 1, 0], np.uint8)):
        assert Searches(whole[0], **whole[1], potentials=given).row(0).tolist() == [0, -1, -2]
    for wrong in ([0, -1], [0, -1, -2, -3], [[0], [-1], [-2]]):
        for source, more in ((A, {}), whole):
            with pytest.raises(ShapeError, match=r"one potential a vertex is required, \(3,\), got shape"):
                Searches(source, **more, potentials=wrong)
    for limit in ("1", np.nan):
        with pytest.raises(DomainError, match="limit must be a number, got"):
            Searches(A).row(0, limit=limit)
