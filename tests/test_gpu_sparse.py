"""Sparse eliminations on a GPU against uncompiled loops and SciPy: kinds of semiring, shapes of graph, queries."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cases
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case
from compiling import compile_all
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay
from test_hops import expected, random
from test_searches import CASES, WEIGHTS, star
from test_sparse import SHAPES, made

import apsp
import semiring
from apsp.answers.result.flowing import Flowing
from apsp.generate import road_like
from semiring import DivergenceError, NegativeCycleError, eliminate, get
from semiring.kernels.cuda import compile, gpu
from semiring.kernels.cuda.sparse import fronts, products, searches, sweep
from semiring.sparse import Hops, Searches

pytestmark = pytest.mark.gpu

#: One of each way to compute.
KINDS = [
    Case(get(name), np.dtype(dtype))
    for name, dtype in (
        *(("min_plus", dtype) for dtype in ("int16", "int32", "int64", "float32", "float64")),
        *(("max_plus", "int32"), ("max_times", "float32"), ("max_min", "int16"), ("plus_times", "float64")),
        ("lor_land", "bool"),
    )
] + list(cases.USER_CASES[:1])
#: Stacks of all sizes: with few rows nearly all supernodes are the top, with many none.
STACKS = (4, 24)
#: Where all sizes are those of the device.
TUNED = ("int16", "int32", "float32", "float64")


def small(stack, of=sweep.Shape.of):
    """Sizes of kernels with so short a stack."""
    sizes = {"warps": 2, "stack": stack, "program": 4 << 10, "run": 2}
    return lambda itemsize, arch="sm_90": replace(of(itemsize, arch), **sizes)


@pytest.fixture(scope="module")
def warm():
    """Compile all kernels side by side before the first test asks for one."""
    arch = compile.device_arch(0)
    units = set()
    for case in KINDS:
        for nonnegative in (False, True):
            units.add(fronts.text(case.semiring, case.dtype, nonnegative))
            for shape in map(small, STACKS):
                for mirrored in (False, True):
                    given = case.semiring, case.dtype, nonnegative, shape(case.dtype.itemsize)
                    units.add(sweep.text(*given, mirrored=mirrored))
            units |= {products.text(case.semiring, case.dtype, nonnegative, mirrored) for mirrored in (False, True)}
    for dtype in map(np.dtype, TUNED):
        units.add(sweep.text(get("min_plus"), dtype, True, sweep.Shape.of(dtype.itemsize, arch), mirrored=True))
    compile_all(units, arch)


def agree(case, got, expected):
    cases.same(case, got.get(), expected)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("case", KINDS, ids=str)
def test_every_kind_on_every_shape_of_graph(cp, warm, case, stack, monkeypatch):
    monkeypatch.setattr(sweep.Shape, "of", small(stack))
    monkeypatch.setattr(fronts, "CLASSES", ((8, 32), (12, 64)))  # so that some fronts are large
    monkeypatch.setattr(sweep, "WIDE", 5)  # and roots wide
    for seed, name in enumerate(SHAPES):
        E, A = made(case, name, seed, device="cuda")
        n, want = len(A), cases.closure(case, A)
        D = E.to_dense()
        assert isinstance(D, cp.ndarray)
        agree(case, D, want)
        some = np.arange(n)[::-2]
        for index, rows in E.rows(some, block=7):
            agree(case, rows, want[index])
        for index, panel in E.panels():
            agree(case, panel, want[index].T)
        if n:
            i, j = np.divmod(np.arange(0, n * n, 3), n)
            agree(case, E.entries(i, j), want[i, j])
            agree(case, E.column(n - 1), want[:, n - 1])
            x = np.ascontiguousarray(want[:, :3] if n > 2 else want)
            agree(case, E.matvec(x), cases.product(case, want, x))
            agree(case, E.rmatvec(x[:, 0]), cases.product(case, x[:, :1].T.copy(), want)[0])


@pytest.mark.parametrize("case", [case for case in KINDS if case.semiring.idempotent], ids=str)
def test_hub_labels_of_every_kind(cp, case):
    """All pairs of every shape, of positions on the host and on the device."""
    for seed, name in enumerate(SHAPES):
        E, A = made(case, name, seed, device="cuda")
        H, every, want = E.hub_labels(), np.arange(len(A)), cases.closure(case, A)
        assert isinstance(H.out, cp.ndarray)
        cases.same(case, H.entries(every[:, None], every), want)
        agree(case, H.entries(cp.asarray(every)[:, None], every), want)


def test_hub_labels_answer_on_the_device(cp):
    """A road network of large fronts too: pairs, tables, new weights, runs that repeat, and what is refused."""
    n = 9000
    graph = road_like(n, seed=5)
    ends = np.concatenate((graph.rows, graph.cols)), np.concatenate((graph.cols, graph.rows))
    A = sp.csr_array((np.tile(graph.weights.astype(float), 2), ends), shape=(n, n))
    some = np.arange(0, n, 501)
    want = dijkstra(A, indices=some)
    for dtype in ("int32", "float32"):
        r = apsp.shortest_paths(graph, device="cuda", hub_labels=True, dtype=dtype)
        assert (r.plan.engine, r.plan.device) == ("elimination", "cuda")
        found = r.distance(cp.asarray(some)[:, None], cp.arange(n))
        assert isinstance(found, cp.ndarray)
        np.testing.assert_allclose(found.get(), want, rtol=1e-5 if dtype == "float32" else 0)
        np.testing.assert_array_equal(r.table(some[:9], some), found.get()[:9, some])
        assert r.distance(501, 7) == found[1, 7]
        again = r.engine.elimination.hub_labels()
        assert (again.out == r.engine.hubs.out).all()
        assert (again.into == r.engine.hubs.into).all()
        np.testing.assert_array_equal(
            r.update(2 * graph.weights).distance(cp.asarray(some), 9).get(), 2 * found.get()[:, 9]
        )
        with pytest.raises(semiring.VertexError, match="0 … 8999, got 9000"):
            r.distance(cp.asarray([9000]), 0)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_the_nearest_of_several_is_scipys(cp, dtype):
    n = 9001
    (tails, heads, weights), A = mesh(n)
    sources = np.random.default_rng(1).integers(0, n, 60)
    r = apsp.shortest_paths(
        apsp.Graph.from_arrays(tails, heads, weights, n=n), device="cuda", engine="elimination", dtype=dtype
    )
    for towards in (False, True):
        found, D = r.nearest(sources, towards=towards), dijkstra(A.T if towards else A, indices=sources)
        assert found.source == sources[D.argmin(axis=0)].tolist()
        np.testing.assert_array_equal(found.distance, D.min(axis=0))


def test_a_road_network_is_scipys(cp):
    n = 3000
    graph = road_like(n, seed=3)
    tails, heads = np.concatenate((graph.rows, graph.cols)), np.concatenate((graph.cols, graph.rows))
    weights = np.random.default_rng(0).integers(0, 1000, len(tails))  # zeros are arcs
    keep = np.lexsort((weights, heads, tails))
    first = np.concatenate(([True], (np.diff(tails[keep]) != 0) | (np.diff(heads[keep]) != 0)))
    A = sp.csr_array((weights[keep[first]].astype(float), (tails[keep[first]], heads[keep[first]])), shape=(n, n))
    want = dijkstra(A)
    for dtype in ("int32", "float32"):
        E = semiring.Elimination.from_arrays(tails, heads, weights, n, dtype=dtype, device="cuda")
        np.testing.assert_array_equal(E.to_dense().get(), want)
        out = cp.empty((n, n), dtype)
        assert E.to_dense(out) is out
        np.testing.assert_array_equal(out.get(), want)
        x = np.random.default_rng(1).integers(0, 5000, n)
        np.testing.assert_array_equal(E.matvec(x).get(), (want + x).min(axis=1))
        np.testing.assert_array_equal(E.matvec(x - 4000).get(), (want + x - 4000).min(axis=1))
        np.testing.assert_array_equal(E.rmatvec(np.stack((x, x)).T)[:, 1].get(), (want + x[:, None]).min(axis=0))
        np.testing.assert_array_equal(E.update(2 * weights).row(7).get(), 2 * want[7])
        assert E.entry(5, 2995) == want[5, 2995]


def mesh(n):
    """Triangles between random points, lengths at random: tails, heads, weights; and the matrix."""
    rng = np.random.default_rng(0)
    sides = Delaunay(rng.random((n, 2))).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    tails, heads = np.unique(np.concatenate((sides, sides[:, ::-1])), axis=0).T
    weights = rng.integers(1, 100, len(tails))
    return (tails, heads, weights), sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n))


def test_a_mesh_is_scipys(cp, warm, monkeypatch):
    """Supernodes of many columns, a wide root by products of matrices or not, some of the columns in any order."""
    monkeypatch.setattr(sweep.Shape, "of", small(24))
    n, rng = 1201, np.random.default_rng(0)
    arcs, A = mesh(n)
    want = dijkstra(A)
    for wide in (1 << 20, 16):
        monkeypatch.setattr(sweep, "WIDE", wide)
        E = semiring.Elimination.from_arrays(*arcs, n, dtype="float32", device="cuda")
        np.testing.assert_array_equal(E.to_dense().get(), want)
        for some in (rng.permutation(n)[:900], rng.permutation(n)[:70], rng.integers(0, n, 400)):
            np.testing.assert_array_equal(E.on_device.batch(some).get()[:, : len(some)], want[some].T)


@pytest.mark.parametrize("dtype", TUNED)
def test_a_larger_mesh_is_scipys(cp, warm, dtype):
    """In the sizes that the device's tuning data has."""
    n = 9001
    arcs, A = mesh(n)
    D = semiring.Elimination.from_arrays(*arcs, n, dtype=dtype, device="cuda").to_dense()
    some = np.arange(0, n, 397)
    np.testing.assert_array_equal(D[some].get(), dijkstra(A, indices=some))


def test_what_has_no_closure_is_refused_as_on_the_cpu(cp):
    tails, heads = [0, 1, 2, 3], [1, 2, 0, 0]
    for dtype in ("int32", "float32"):
        with pytest.raises(NegativeCycleError, match=r"vertex [012] beats|0 → 1 → 2 → 0 of weight -1"):
            eliminate(sp.coo_array((np.array([1, -4, 2, 5], dtype), (tails, heads)), shape=(4, 4)), device="cuda")
    weights = np.array([2.0, 1.0, 1.0, 1.0])
    with pytest.raises(DivergenceError):
        eliminate(sp.coo_array((weights, (tails, heads)), shape=(4, 4)), "plus_times", device="cuda")


def test_results_stay_on_the_device(cp):
    n = 900
    graph = road_like(n, seed=5)
    here = apsp.shortest_paths(graph, engine="elimination")
    there = apsp.shortest_paths(graph, engine="elimination", device="cuda")
    assert there.plan.device == "cuda"
    D = here.distances
    assert isinstance(there.distances, cp.ndarray)
    np.testing.assert_allclose(there.distances.get(), D, rtol=1e-6)
    for labels, rows in there.rows(sources=[3, 800, 3]):
        assert isinstance(rows, cp.ndarray)
        np.testing.assert_allclose(rows.get(), D[labels], rtol=1e-6)
    np.testing.assert_allclose(there.table([1, 2], [3, 4, 5]), here.table([1, 2], [3, 4, 5]), rtol=1e-6)
    for name in ("eccentricity", "closeness", "harmonic", "total", "reached"):
        np.testing.assert_allclose(there.reduce(name), here.reduce(name), rtol=1e-5)
    assert there.nearest([1, 500]).source == here.nearest([1, 500]).source
    assert there.path(0, n - 1) == here.path(0, n - 1)
    assert there.distance(0, n - 1) == pytest.approx(here.distance(0, n - 1))
    part = apsp.shortest_paths(graph, sources=[5, 6], targets=[7], engine="elimination", device="cuda")
    np.testing.assert_allclose(cp.asnumpy(part.distances), D[[5, 6]][:, [7]], rtol=1e-6)
    np.testing.assert_allclose(there.update(graph.weights * 2).distances.get(), 2 * D, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int16", "float32", "int64"])
def test_hops_are_networkxs(cp, dtype):
    for n, degree in ((1, 0), (70, 1.3), (700, 3)):
        arcs = random(n, degree)
        H = Hops(tuple(arcs), n, dtype=dtype, device="cuda")
        want = expected(arcs, n, dtype)
        D = H.to_dense()
        assert isinstance(D, cp.ndarray)
        np.testing.assert_array_equal(D.get(), want)
        wanted = np.arange(n)[::-1]
        for index, rows in H.rows(wanted, block=65):
            np.testing.assert_array_equal(rows.get(), want[index])
        zero = want.max() if want.dtype.kind == "i" else np.inf
        np.testing.assert_array_equal(H.row(0, limit=2).get(), np.where(want[0] <= 2, want[0], zero) if n > 1 else [0])


def test_hops_of_many_levels(cp):
    n = 1500
    i = np.arange(n)
    D = Hops((i[:-1], i[1:]), n, dtype="int32", device="cuda").to_dense().get()
    np.testing.assert_array_equal(D, np.where(i >= i[:, None], i - i[:, None], np.iinfo(np.int32).max))


@pytest.mark.parametrize("unit", [1, 3])
def test_hops_answer_shortest_paths(cp, unit):
    g = nx.gnp_random_graph(300, 0.01, seed=3, directed=True)
    nx.set_edge_attributes(g, unit, "weight")
    found = dict(nx.all_pairs_shortest_path_length(g))
    want = np.array([[unit * found[u].get(v, np.inf) for v in range(300)] for u in range(300)])
    r = apsp.shortest_paths(g, engine="hops", device="cuda", dtype="float32")
    assert (r.plan.engine, r.plan.device) == ("hops", "cuda")
    assert isinstance(r.distances, cp.ndarray)
    np.testing.assert_array_equal(r.distances.get(), want)
    for labels, rows in r.rows(sources=[3, 299, 3]):
        assert isinstance(rows, cp.ndarray)
        np.testing.assert_array_equal(rows.get(), want[labels])
    np.testing.assert_array_equal(r.engine.column(7), want[:, 7])
    np.testing.assert_array_equal(r.reduce(np.maximum, axis=0), want.max(axis=0))
    u, v = np.argwhere(np.isfinite(want) & (want > 2 * unit))[0]
    assert r.distance(u, v) == want[u, v]
    assert len(r.path(u, v)) == 1 + want[u, v] / unit
    some = {"sources": [5, 6], "targets": [7, 9], "limit": 4 * unit}
    part = apsp.shortest_paths(g, engine="hops", device="cuda", dtype="float32", **some)
    within = want[5:7, 7:10:2]
    np.testing.assert_array_equal(cp.asnumpy(part.distances), np.where(within <= 4 * unit, within, np.inf))
    ends = np.random.default_rng(0).integers(0, 30_000, (2, 300_000))
    large = sp.csr_array((np.ones(300_000), tuple(ends)), shape=(30_000, 30_000))
    large.data[:] = unit
    assert apsp.plan(large, device="cuda", dtype="float32").engine == "hops"


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_searches_find_every_entry_of_the_closure(cp, name, dtype):
    """Parallel arcs, loops, ties, zero weights, vertices that nothing reaches; fewer sources than lanes, and more."""
    rng = np.random.default_rng(0)
    for n, m in ((0, 0), (1, 3), (7, 20), (66, 99), (200, 900)):
        tails, heads = rng.integers(0, n or 1, (2, m))
        weights = WEIGHTS[name](m).astype(dtype)
        S = Searches((tails, heads), name, n=n, weights=weights, device="cuda")
        want = star(n, tails, heads, weights, name).reshape(n, n)
        D = S.to_dense()
        assert isinstance(D, cp.ndarray)
        assert D.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(D.get(), want)
        if n:
            np.testing.assert_array_equal(S.row(n - 1).get(), want[n - 1])
            np.testing.assert_array_equal(S.column(n - 1).get(), want[:, n - 1])


@pytest.fixture(scope="module")
def attached():
    """A graph with hubs, and its distances: weights of 0 on some arcs, some vertices that others do not reach."""
    rng, n = np.random.default_rng(0), 4001
    edges = np.array(nx.barabasi_albert_graph(n - 100, 8, seed=0).edges()).T
    tails, heads = np.concatenate((edges, edges[::-1]), axis=1)
    away = rng.integers(n - 100, n, 200), rng.integers(0, n, 200)  # from vertices to which no arc leads
    tails, heads = np.concatenate((tails, away[0])), np.concatenate((heads, away[1]))
    _, first = np.unique(tails * n + heads, return_index=True)  # SciPy would add up parallel arcs
    tails, heads = tails[first], heads[first]
    weights = rng.integers(0, 1000, len(tails))
    return (tails, heads), weights, dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))


def distances(D):
    """As float64, with infinity where integers have none."""
    D = D.get()
    return np.where(np.iinfo(D.dtype).max == D, np.inf, D) if D.dtype.kind == "i" else D.astype(float)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_searches_of_a_graph_with_hubs_are_scipys(cp, attached, dtype):
    arcs, weights, want = attached
    if dtype == "int16":  # holds the heaviest arc out of each vertex together
        weights, want = np.minimum(weights, 1), None
    S = Searches(arcs, n=4001, weights=weights.astype(dtype), device="cuda")
    if want is None:
        A = sp.csr_array((weights.astype(float), arcs), shape=(4001, 4001))
        want = dijkstra(A)
    out = cp.empty((4001, 4096), dtype)[:, :4001]
    assert S.to_dense(out) is out
    np.testing.assert_array_equal(distances(cp.ascontiguousarray(out)), want)
    wanted = np.random.default_rng(1).permutation(4001)[:1500]
    for index, rows in S.rows(wanted, block=999):
        np.testing.assert_array_equal(distances(rows), want[index])
    for limit in (0, 100.5, 600):
        np.testing.assert_array_equal(distances(S.to_dense(limit=limit)), np.where(want > limit, np.inf, want))


@pytest.mark.parametrize("threads", [64, 512, 1024])
def test_searches_in_other_sizes_and_places(cp, attached, monkeypatch, threads):
    """Bitmaps in global memory, several launches, and fewer thread blocks than batches."""
    arcs, weights, want = attached
    monkeypatch.setattr(searches.Shape, "of", lambda itemsize, arch: searches.Shape(threads, 1, 2))
    weights = weights.astype(np.float32)
    S = Searches(arcs, n=4001, weights=weights, device="cuda")
    np.testing.assert_array_equal(distances(S.to_dense()), want)
    monkeypatch.setattr(gpu, "most_shared", lambda device: 1024)
    monkeypatch.setattr(searches, "LAUNCH", 1000 * len(weights))
    np.testing.assert_array_equal(distances(S.to_dense()), want)
    monkeypatch.setattr(gpu, "resident", lambda *given: 1)
    monkeypatch.setattr(gpu, "multiprocessors", lambda device: 3)
    np.testing.assert_array_equal(distances(S.to_dense()), want)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_searches_over_negative_arcs(cp, dtype):
    rng, n = np.random.default_rng(2), 300
    tails, heads = rng.integers(0, n, (2, 1500))
    height = rng.integers(-20, 20, n)
    weights = (rng.integers(0, 9, 1500) + height[tails] - height[heads]).astype(dtype)
    D = Searches((tails, heads), n=n, weights=weights, device="cuda").to_dense()
    np.testing.assert_array_equal(D.get(), star(n, tails, heads, weights, "min_plus"))
    with pytest.raises(NegativeCycleError, match="0 → 1 → 0 of weight -1"):
        Searches(([0, 1], [1, 0]), n=2, weights=np.array([1, -2], dtype), device="cuda")


def test_searches_on_the_device_are_those_of_the_cpu(cp):
    """Sums that are rounded are the same, bit for bit."""
    rng, n = np.random.default_rng(3), 2000
    tails, heads, weights = rng.integers(0, n, 20000), rng.integers(0, n, 20000), rng.random(20000)
    for name, dtype in (
        ("min_plus", "float32"),
        ("min_plus", "float64"),
        ("max_times", "float32"),
        ("max_min", "float32"),
    ):
        D, want = (
            Searches((tails, heads), name, n=n, weights=weights.astype(dtype), device=device).to_dense()
            for device in ("cuda", "cpu")
        )
        np.testing.assert_array_equal(D.get(), want)
    S = Searches(([0, 1, 2], [1, 2, 3]), "max_times", n=4, weights=[4.0, 0.5, 8.0], device="cuda")
    np.testing.assert_allclose(S.row(0).get(), [1, 4, 2, 16], rtol=1e-12)


def test_searches_by_the_road(cp, attached):
    """An engine on a GPU as on the CPU: tables, rows, columns, reductions, limits, paths, wider sums."""
    (tails, heads), weights, want = attached
    g = apsp.as_graph(sp.csr_array((weights.astype(np.float32), (tails, heads)), shape=(4001, 4001)))
    r = apsp.shortest_paths(g, engine="searches", device="cuda", dtype="float32")
    assert isinstance(r.distances, cp.ndarray)
    np.testing.assert_array_equal(r.distances.get(), want)
    for labels, rows in r.rows(sources=[3, 299, 3]):
        assert isinstance(rows, cp.ndarray)
        np.testing.assert_array_equal(rows.get(), want[labels])
    np.testing.assert_array_equal(r.engine.column(7), want[:, 7])
    np.testing.assert_array_equal(r.reduce("eccentricity"), want.max(axis=1))
    np.testing.assert_array_equal(r.reduce(np.maximum, axis=0), want.max(axis=0))
    u, v = np.argwhere(np.isfinite(want) & (want > 100))[0]
    path = r.path(u, v)
    assert r.distance(u, v) == want[u, v] == sum(want[a, b] for a, b in pairwise(path))
    some = {"sources": [5, 6], "targets": [7, 9], "limit": 300}
    part = apsp.shortest_paths(g, engine="searches", device="cuda", dtype="float32", **some)
    within = want[5:7, 7:10:2]
    np.testing.assert_array_equal(cp.asnumpy(part.distances), np.where(within <= 300, within, np.inf))
    ends = np.random.default_rng(0).integers(0, 30_000, (2, 300_000))
    large = sp.csr_array((ends[0] + 1.0, tuple(ends)), shape=(30_000, 30_000))
    assert apsp.plan(large, device="cuda", dtype="float32").engine == "searches"
    small = sp.csr_array((weights.astype(np.int16), (tails, heads)), shape=(4001, 4001))
    D = apsp.shortest_paths(small, engine="searches", device="cuda", dtype="int16").distances
    np.testing.assert_array_equal(distances(D), want)


def test_searches_on_several_gpus(cp, attached):
    """On two, where there are as many."""
    (tails, heads), weights, want = attached
    g = sp.csr_array((weights.astype(np.float32), (tails, heads)), shape=(4001, 4001))
    gpus = list(range(min(2, cp.cuda.runtime.getDeviceCount())))
    r = apsp.shortest_paths(g, engine="searches", gpus=gpus, dtype="float32")
    assert r.plan.engine == "sharded"
    np.testing.assert_array_equal(r.reduce("eccentricity"), want.max(axis=1))
    np.testing.assert_array_equal(r.reduce("eccentricity", axis=0), want.max(axis=0))
    assert r.distance(3, 5) == want[3, 5]


#: Semirings and dtypes of matrices in which few arcs matter.
THIN = [("min_plus", "float32"), ("min_plus", "float64"), ("min_plus", "int32"), ("max_plus", "int64")]


@pytest.mark.parametrize(("name", "dtype"), THIN)
def test_closures_by_the_arcs_that_matter(cp, name, dtype, monkeypatch):
    """A complete matrix, two halves joined by their heaviest arc; in place, from the host, and as a graph."""
    from apsp.road.engines import essential

    monkeypatch.setattr(essential, "LARGE_ON_GPU", 1024)
    rng, n, sign = np.random.default_rng(0), 1500, 1 if name == "min_plus" else -1
    zero = semiring.algebra.dtypes.zero(get(name), np.dtype(dtype))
    A = sign * rng.integers(1, 30001, (n, n)).astype(dtype)
    np.fill_diagonal(A, 0)
    B = A.copy()
    B[: n // 2, n // 2 :] = B[n // 2 :, : n // 2] = zero
    B[17, n // 2 + 3] = sign * 10**6
    for M in (A, B):
        absent = zero == M
        G = sp.csr_array((np.abs(M[~absent]).astype(float), np.nonzero(~absent)), shape=(n, n))
        want = dijkstra(G, indices=[0, 17, n - 1])
        want = np.where(np.isinf(want), zero, sign * np.where(np.isinf(want), 0, want)).astype(dtype)
        closed = apsp.closure(cp.asarray(M), name, schedule="blocked", null_value=None).get()
        np.testing.assert_array_equal(closed[[0, 17, n - 1]], want)
        for given in (cp.asarray(M), M):
            g = apsp.as_graph(given, null_value=None)
            r = apsp.shortest_paths(g, name, engine="essential", device="cuda", dtype=dtype)
            np.testing.assert_array_equal(cp.asnumpy(r.distances), closed)


def test_the_look_says_no_where_all_arcs_matter(cp):
    X = cp.random.default_rng(0).random((7000, 3), dtype=cp.float32)
    A = cp.abs(X[:, None] - X).sum(axis=2)
    p = apsp.plan(A, null_value=None)
    assert (p.engine, "essential" in {e.engine for e in p.considered}) == ("dense", False)
    B = cp.random.default_rng(0).random((7000, 7000), dtype=cp.float32)
    p = apsp.plan(B, null_value=None)
    assert p.engine == "essential"
    assert "a vertex of 6,999" in p.reason
    D = apsp.closure(B, null_value=None)
    want = apsp.closure(B, null_value=None, schedule="recursive")
    cp.testing.assert_allclose(D, want, rtol=1e-5)
    assert apsp.closure(B, null_value=None, overwrite=True) is B
    cp.testing.assert_array_equal(B, D)


@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
@pytest.mark.parametrize("arcs", [1_500_000, 12_000])
def test_closures_of_hops_by_bits(cp, dtype, arcs):
    rng, n = np.random.default_rng(0), 2600
    zero = semiring.algebra.dtypes.zero(get("min_plus"), np.dtype(dtype))
    A = np.full((n, n), zero, dtype)
    A.flat[rng.choice(n * n, arcs, replace=False)] = 3
    A[0, 0] = zero
    A[0, 1] = 3
    joined = (A != zero) & ~np.eye(n, dtype=bool)
    want = 3 * dijkstra(sp.csr_array(joined.astype(float)), unweighted=True, indices=[0, 5, n - 1])
    X = cp.asarray(A)
    if dtype != "int16" and arcs > 100_000:  # of which the closure takes half the time, and of many levels no more
        p = apsp.plan(X, null_value=None)
        assert (p.engine, p.schedule) == ("levels", "bits")
    D = apsp.shortest_paths(apsp.as_graph(X, null_value=None), engine="levels", device="cuda", dtype=dtype).distances
    np.testing.assert_array_equal(distances(D)[[0, 5, n - 1]], want)
    cp.testing.assert_array_equal(D, apsp.closure(X, null_value=None, schedule="blocked"))
    assert apsp.closure(X, null_value=None, overwrite=True) is X
    cp.testing.assert_array_equal(X, D)


@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
@pytest.mark.parametrize(("weights", "share"), [(range(1, 100), 1.0), ((2, 3), 0.05), ((2, 4, 9, 2001), 0.4)])
def test_closures_of_few_units_by_bits(cp, dtype, weights, share):
    rng, n = np.random.default_rng(0), 4201
    zero = semiring.algebra.dtypes.zero(get("min_plus"), np.dtype(dtype))
    A = np.where(rng.random((n, n)) < share, rng.choice(weights, (n, n)), zero).astype(dtype)
    A[0, 1:3] = weights[0], weights[1]
    joined = np.where(A != zero, A, 0).astype(float)
    np.fill_diagonal(joined, 0)
    want = dijkstra(sp.csr_array(joined), indices=[0, 5, n - 1])
    X = cp.asarray(A)
    if dtype != "int16":  # of which the closure takes half the time
        assert apsp.plan(X, null_value=None).engine == "levels"
    D = apsp.shortest_paths(apsp.as_graph(X, null_value=None), engine="levels", device="cuda", dtype=dtype).distances
    np.testing.assert_array_equal(distances(D)[[0, 5, n - 1]], want)
    cp.testing.assert_array_equal(X, A)
    cp.testing.assert_array_equal(D, apsp.closure(X, null_value=None, schedule="blocked"))
    assert apsp.closure(X, null_value=None, overwrite=True) is X
    cp.testing.assert_array_equal(X, D)


def test_more_levels_than_bits_are_worth(cp, monkeypatch):
    """Of a graph of twenty layers four levels are counted. The rest is closed in place."""
    monkeypatch.setattr("semiring.dense.levels.MOST", 3)
    layer = np.arange(2600) // 130
    A = np.where(layer[:, None] + 1 == layer, np.float32(1), np.float32(np.inf))
    want = apsp.closure(A, schedule="blocked")
    r = apsp.shortest_paths(apsp.as_graph(cp.asarray(A)), engine="levels", device="cuda", dtype="float32")
    np.testing.assert_array_equal(cp.asnumpy(r.distances), want)


@pytest.mark.parametrize("weights", ["integers", "halves", "floats"])
def test_betweenness_of_streets_is_the_processors(cp, weights, monkeypatch):
    monkeypatch.delattr(Flowing, "_summed")  # rows are not needed
    graph = road_like(3000, seed=3)
    lengths = {
        "integers": graph.weights,
        "halves": graph.weights / 2,
        "floats": graph.weights + np.random.default_rng(0).random(graph.edge_count),
    }
    graph = apsp.Graph.from_arrays(graph.rows, graph.cols, lengths[weights], n=graph.n, directed=False)
    here, there = (apsp.shortest_paths(graph, engine="elimination", device=device) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there.edge_betweenness(), here.edge_betweenness(), rtol=1e-12)
    assert list(there.betweenness().values()) == pytest.approx(list(here.betweenness().values()), rel=1e-12, abs=1e-15)
    again = apsp.shortest_paths(graph, engine="elimination", device="cuda")
    np.testing.assert_array_equal(again.edge_betweenness(), there.edge_betweenness())


def test_betweenness_of_a_grid_is_networkxs(cp):
    """Of which most pairs have many best paths; some vertices are not reached."""
    G = nx.convert_node_labels_to_integers(nx.grid_2d_graph(23, 31)).to_directed()
    G.remove_edges_from([edge for edge in G.edges if sum(edge) % 7 == 0])
    nx.set_edge_attributes(G, 1, "weight")
    r = apsp.shortest_paths(G, engine="elimination", device="cuda")
    assert r.betweenness() == pytest.approx(nx.betweenness_centrality(G, weight="weight"), rel=1e-12, abs=1e-15)
    part = apsp.shortest_paths(G, sources=list(range(0, 700, 3)), engine="elimination", device="cuda")
    want = nx.betweenness_centrality_subset(G, range(0, 700, 3), list(G), weight="weight")
    assert part.betweenness(normalized=False) == pytest.approx(want, rel=1e-12, abs=1e-9)
