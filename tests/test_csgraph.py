"""`apsp.csgraph` against SciPy, case by case, and against a plain loop where SciPy is wrong."""

from __future__ import annotations

import inspect
import itertools
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.csgraph as scipys

import apsp
from apsp import csgraph
from apsp.csgraph import engines, shortest
from apsp.csgraph.conversion import network
from apsp.csgraph.engines import potentials
from apsp.generate import road_like
from apsp.road.engines import elimination

inf, nan = np.inf, np.nan


def some(n: int, degree: float, seed: int = 0, low: float = 0.5) -> sparse.csr_array:
    """A random digraph of whole-number weights, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    A = sparse.random_array((n, n), density=min(1.0, degree / n), rng=rng, format="csr")
    A.data = np.floor(A.data * 50) + low
    return A


def slow(edges: dict[tuple[int, int], float], n: int) -> np.ndarray:
    """Floyd–Warshall, one number at a time."""
    D = [[0.0 if i == j else edges.get((i, j), inf) for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i][j] = min(D[i][j], D[i][k] + D[k][j])
    return np.array(D).reshape(n, n)


def walked(D: np.ndarray, P: np.ndarray, A: np.ndarray, sources: np.ndarray) -> None:
    """Each row of predecessors is a tree whose paths have the lengths D; A has inf for no edge."""
    for row, (i, before) in enumerate(zip(sources, P, strict=True)):
        assert before[i] == -9999
        for j in range(len(A)):
            length, at, steps = 0.0, j, 0
            while before[at] != -9999:
                length, at, steps = length + A[before[at], at], before[at], steps + 1
                assert steps < len(A)
            if at == i:
                assert length == pytest.approx(D[row, j], rel=1e-12, abs=1e-9)
            else:
                assert at == j
                assert D[row, j] == inf


# Signatures and names


@pytest.mark.parametrize("name", ["shortest_path", "floyd_warshall", "dijkstra", "bellman_ford", "johnson"])
def test_scipys_parameters_come_first(name):
    ours, theirs = (list(inspect.signature(getattr(m, name)).parameters.values()) for m in (csgraph, scipys))
    assert [(p.name, p.kind) for p in ours[: len(theirs)]] == [(p.name, p.kind) for p in theirs]
    assert [p.default for p in ours[: len(theirs)]] == [p.default for p in theirs]
    assert [(p.name, p.kind.name) for p in ours[len(theirs) :]] == [
        (name, "KEYWORD_ONLY") for name in ("device", "dtype", "threads", "callback")
    ]


@pytest.mark.parametrize(
    "name",
    ["reconstruct_path", "construct_dist_matrix", "csgraph_from_dense", "csgraph_to_dense", "csgraph_from_masked"],
)
def test_the_other_signatures_are_scipys(name):
    ours, theirs = (inspect.signature(getattr(m, name)).parameters.values() for m in (csgraph, scipys))
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


def test_every_name_of_scipys_is_there():
    assert set(csgraph.__all__) == set(scipys.__all__)
    assert set(dir(csgraph)) >= set(dir(scipys))
    assert csgraph.connected_components is scipys.connected_components
    with pytest.raises(AttributeError, match="nonsense"):
        _ = csgraph.nonsense
    assert apsp.csgraph is csgraph


# What is an edge

DENSE = np.array([[0, 3.0, nan, 0], [inf, 0, 1, 2], [0, -inf, 5, 0], [7, 0, 0, 0]])
COO = sparse.coo_array(
    ([4.0, 2.0, 0.0, 9.0, 9.0], ([0, 0, 1, 2, 2], [1, 1, 2, 3, 3])), shape=(4, 4)
)  # two of one place, and a stored 0
INPUTS = {
    "dense": (DENSE, {(0, 1): 3, (1, 2): 1, (1, 3): 2, (3, 0): 7}),
    "list": (DENSE.tolist(), {(0, 1): 3, (1, 2): 1, (1, 3): 2, (3, 0): 7}),
    "fortran": (np.asfortranarray(DENSE), {(0, 1): 3, (1, 2): 1, (1, 3): 2, (3, 0): 7}),
    "window": (np.pad(DENSE, 1)[1:-1, 1:-1], {(0, 1): 3, (1, 2): 1, (1, 3): 2, (3, 0): 7}),
    "swapped": (DENSE.astype(">f8"), {(0, 1): 3, (1, 2): 1, (1, 3): 2, (3, 0): 7}),
    "integers": (np.array([[0, 3], [0, 0]]), {(0, 1): 3}),
    "bool": (np.array([[False, True], [False, False]]), {(0, 1): 1}),
    "masked": (np.ma.array([[9.0, 0.0], [4.0, 9.0]], mask=[[1, 1], [0, 1]]), {(1, 0): 4}),
    "masked list of rows": (np.ma.masked_equal([[0, 3], [5, 0]], 3), {(1, 0): 5}),
    "tiny": (np.array([[0, 1e-9], [1e-300, 0]]), {(0, 1): 1e-9, (1, 0): 1e-300}),
    "objects": (np.array([[0, 3], [None, 0]], dtype=object), {(0, 1): 3}),
    "matrix": (np.matrix([[0, 3], [0, 0]]), {(0, 1): 3}),
    "masked integers": (np.ma.array([[0, 3], [5, 0]], mask=[[0, 1], [0, 0]]), {(1, 0): 5}),
    "masked inf": (np.ma.array([[0, inf], [5, 0]], mask=[[1, 0], [0, 0]]), {(1, 0): 5}),
    "coo": (COO, {(0, 1): 6, (1, 2): 0, (2, 3): 18}),
    "csr of two of one place": (sparse.csr_array(([4.0, 2.0], [1, 1], [0, 2, 2]), shape=(2, 2)), {(0, 1): 2}),
    "csc of two of one place": (sparse.csc_array(([4.0, 2.0], [0, 0], [0, 0, 2]), shape=(2, 2)), {(0, 1): 2}),
    "dok": (sparse.dok_array(np.array([[0, 3.0], [0, 0]])), {(0, 1): 3}),
    "lil": (sparse.lil_array(np.array([[0, 3.0], [0, 0]])), {(0, 1): 3}),
    "csc": (sparse.csc_array(np.array([[0, 3.0], [0, 0]])), {(0, 1): 3}),
    "old matrix": (sparse.csr_matrix(np.array([[0, 3.0], [0, 0]])), {(0, 1): 3}),
    "sparse bool": (sparse.csr_array(np.array([[0, 1], [0, 0]], bool)), {(0, 1): 1}),
    "stored inf": (sparse.csr_array(([inf, nan, 2.0], [1, 2, 0], [0, 2, 2, 3]), shape=(3, 3)), {(2, 0): 2}),
    "float32": (np.array([[0, 0.1], [0, 0]], np.float32), {(0, 1): float(np.float32(0.1))}),
    "one": (np.array([[5.0]]), {}),
    "none": (np.zeros((0, 0)), {}),
    "no entries": (sparse.csr_array((3, 3)), {}),
}


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_an_edge(name):
    given, edges = INPUTS[name]
    n = np.shape(given)[0] if not sparse.issparse(given) else given.shape[0]
    both = edges | {(j, i): min(w, edges.get((j, i), inf)) for (i, j), w in edges.items()}
    one_way, two_ways, hops = (slow(arcs, n) for arcs in (edges, both, dict.fromkeys(edges, 1.0)))
    for method in ("auto", "FW", "D", "BF", "J"):
        D = csgraph.shortest_path(given, method)
        assert type(D) is np.ndarray
        assert D.dtype == np.float64
        np.testing.assert_array_equal(D, one_way)
        np.testing.assert_array_equal(csgraph.shortest_path(given, method, directed=False), two_ways)
        if name not in ("masked inf", "stored inf"):
            np.testing.assert_array_equal(csgraph.shortest_path(given, method, unweighted=True), hops)
    if n:
        np.testing.assert_array_equal(csgraph.dijkstra(given, indices=[0], min_only=True), one_way[0])


SEARCHES = ("dijkstra", "bellman_ford", "johnson")
#: SciPy's manual: vertices 0 and 2 are joined by an edge of weight 0.
G2 = np.array(
    [[nan, 2, 0, nan, nan], [2, nan, nan, 3, nan], [0, nan, nan, nan, nan], [nan, 3, nan, nan, nan], [nan] * 5]
)
G2_MASKED = np.ma.masked_invalid(G2)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
def test_a_zero_that_is_not_masked_is_an_edge_as_in_scipys_manual(directed, unweighted):
    options = {"directed": directed, "unweighted": unweighted}
    for name in ("shortest_path", *SEARCHES):
        expected = getattr(scipys, name)(G2_MASKED, **options)
        np.testing.assert_array_equal(getattr(csgraph, name)(G2_MASKED, **options), expected)
    assert expected[0, 2] == unweighted
    D, _, nearest = csgraph.dijkstra(G2_MASKED, indices=[2, 3], min_only=True, return_predecessors=True, **options)
    theirs = scipys.dijkstra(G2_MASKED, indices=[2, 3], min_only=True, return_predecessors=True, **options)
    np.testing.assert_array_equal((D, nearest), (theirs[0], theirs[2]))
    P = csgraph.dijkstra(G2_MASKED, return_predecessors=True, **options)[1]
    np.testing.assert_array_equal(P, scipys.dijkstra(G2_MASKED, return_predecessors=True, **options)[1])


def test_zeros_that_scipys_functions_do_not_agree_on_are_refused():
    full = np.ma.array(np.eye(3)[::-1] * 0, mask=np.eye(3))
    for refused in (
        lambda: csgraph.floyd_warshall(G2_MASKED),
        lambda: csgraph.shortest_path(G2_MASKED, "FW"),
        lambda: csgraph.shortest_path(full),  # SciPy's takes Floyd–Warshall
        lambda: csgraph.construct_dist_matrix(G2_MASKED, np.full((5, 5), -9999, np.int32)),
        lambda: csgraph.reconstruct_path(G2_MASKED, np.full(5, -9999, np.int32)),
    ):
        with pytest.raises(apsp.DomainError, match=r"csgraph_from_masked\(A\).*np.ma.masked_equal\(A, 0\)"):
            refused()
    there = csgraph.csgraph_from_masked(G2_MASKED)
    np.testing.assert_array_equal(csgraph.floyd_warshall(there), scipys.dijkstra(G2_MASKED))
    absent = np.ma.masked_equal(G2_MASKED, 0)
    np.testing.assert_array_equal(csgraph.floyd_warshall(absent), scipys.floyd_warshall(absent))


def entries(format: str, dtype: str, seed: int) -> sparse.sparray:
    """Entries of which many share a place, and a few are 0."""
    rng = np.random.default_rng(seed)
    n, m = 6, 24
    rows, cols = rng.integers(0, n, m), np.sort(rng.integers(0, n, m))
    values = rng.integers(1, 6, m) * (rng.random(m) < 0.9)
    if format == "coo":
        return sparse.coo_array((values.astype(dtype), (rows, cols)), shape=(n, n))
    if format == "bsr":
        return sparse.bsr_array((values.astype(dtype).reshape(m, 1, 1), rows, 4 * np.arange(n + 1)), shape=(n, n))
    make = sparse.csr_array if format == "csr" else sparse.csc_array
    return make((values.astype(dtype), rows, 4 * np.arange(n + 1)), shape=(n, n))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float64", "int16"])
@pytest.mark.parametrize("format", ["coo", "csr", "csc", "bsr"])
def test_entries_of_one_place_are_scipys_or_refused(format, dtype, seed):
    A = entries(format, dtype, seed)
    for directed in (True, False):
        for name in (*SEARCHES, "floyd_warshall", "shortest_path"):
            for unweighted in (False, True):
                if format != "coo" and dtype == "int16" and not unweighted:
                    with pytest.raises(apsp.DomainError, match=r"A\.sum_duplicates\(\)"):
                        getattr(csgraph, name)(A, directed=directed)
                    continue
                ours = getattr(csgraph, name)(A.copy(), directed=directed, unweighted=unweighted)
                dense = name in ("floyd_warshall", "shortest_path")  # SciPy's takes not every format there
                B = A.copy().tocsr() if dense else A.copy()
                expected = getattr(scipys, name)(B, directed=directed, unweighted=unweighted)
                np.testing.assert_array_equal(ours, expected)
        P = scipys.dijkstra(A.copy(), directed=directed, return_predecessors=True)[1]
        for theirs, ours in (
            (lambda P=P, d=directed: scipys.construct_dist_matrix(A.copy().tocsr(), P, directed=d),
             lambda P=P, d=directed: csgraph.construct_dist_matrix(A, P, directed=d)),
            (lambda P=P, d=directed: scipys.reconstruct_path(A.copy().tocsr(), P[0], directed=d).toarray(),
             lambda P=P, d=directed: csgraph.reconstruct_path(A, P[0], directed=d).toarray()),
        ):  # fmt: skip
            try:
                found = ours()
            except apsp.DomainError:
                assert format != "coo" or not directed
            else:
                np.testing.assert_array_equal(found, theirs())
    for null in (0, inf, nan, 2.0):
        np.testing.assert_array_equal(
            csgraph.csgraph_to_dense(A, null), scipys.csgraph_to_dense(A.copy().tocsr(), null)
        )


def test_conversions_keep_what_scipys_keep():
    for A in (
        sparse.csr_array(([inf, 2.0, -inf], [1, 0, 1], [0, 1, 1, 3]), shape=(3, 3)),
        sparse.csr_array(([nan, 2.0, 1.0], [1, 0, 1], [0, 1, 1, 3]), shape=(3, 3)),
        sparse.csr_array(([True, False], ([0, 2], [2, 1])), shape=(3, 3)),
    ):
        for null in (0, inf, nan, 2.0):
            np.testing.assert_array_equal(csgraph.csgraph_to_dense(A, null), scipys.csgraph_to_dense(A, null))
    theirs = scipys.csgraph_from_masked(G2_MASKED)
    ours = csgraph.csgraph_from_masked(G2_MASKED)
    assert (ours != theirs).nnz == 0
    assert ours.nnz == theirs.nnz == 6
    for null in (0, inf, nan, 2):
        assert (csgraph.csgraph_from_dense(G2, null) != scipys.csgraph_from_dense(G2, null)).nnz == 0


@pytest.mark.parametrize(
    ("given", "options", "match"),
    [
        (np.ma.array([[0, nan], [1, 0]]), {}, r"got NaN\. Say np\.ma\.masked_invalid\(A\)"),
        (np.ma.array([[0, -inf], [1, 0]]), {}, r"must be above -inf, got -inf\. Say np\.ma\.masked_invalid\(A\)"),
        (np.ma.array([[0, inf], [1, 0]]), {"unweighted": True}, "must be finite where unweighted=True"),
        (sparse.csr_array(([-inf], [1], [0, 1, 1]), shape=(2, 2)), {}, "must be above -inf"),
        (sparse.csr_array(([inf], [1], [0, 1, 1]), shape=(2, 2)), {"unweighted": True}, "must be finite"),
        (sparse.csr_array(([nan], [1], [0, 1, 1]), shape=(2, 2)), {"unweighted": True}, "must be finite"),
        (sparse.csr_array(([True, False], [1, 0], [0, 1, 2]), shape=(2, 2)), {}, r"A\.eliminate_zeros\(\)"),
        (sparse.coo_array((np.array([100, 100], np.int8), ([0, 0], [1, 1])), shape=(2, 2)), {}, "int8 must hold"),
    ],
)
def test_what_scipys_functions_make_no_distance_of_is_refused(given, options, match):
    for name in ("shortest_path", *SEARCHES):
        with pytest.raises(apsp.DomainError, match=match):
            getattr(csgraph, name)(given, **options)


def test_the_way_out_of_infinities_in_a_sparse_matrix_works():
    A = sparse.csr_array(([inf, 0.0, 3.0], [1, 2, 1], [0, 2, 2, 3]), shape=(3, 3))
    with pytest.raises(apsp.DomainError, match="Say C = ") as caught:
        csgraph.dijkstra(A, unweighted=True)
    names = {"A": A, "np": np}
    exec(str(caught.value).partition("Say ")[2].removesuffix("."), names)
    np.testing.assert_array_equal(csgraph.dijkstra(names["A"]), csgraph.dijkstra(A))
    assert names["A"].nnz == 2


def test_inputs_stay_as_they_are():
    for given, _ in INPUTS.values():
        before = given.copy() if hasattr(given, "copy") else given
        csgraph.shortest_path(given)
        if sparse.issparse(given):
            assert (given != before).nnz == 0 or np.isnan(given.data).any()
        else:
            np.testing.assert_array_equal(np.ma.getdata(given), np.ma.getdata(before))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_index_arrays_of_both_widths(kind):
    A = some(40, 3)
    wide = sparse.csr_array((A.data, A.indices.astype(kind), A.indptr.astype(kind)), shape=A.shape)
    expected = scipys.shortest_path(A)
    np.testing.assert_array_equal(csgraph.shortest_path(wide), expected)
    np.testing.assert_array_equal(csgraph.dijkstra(wide, indices=[3, 4], return_predecessors=True)[0], expected[3:5])
    np.testing.assert_array_equal(csgraph.shortest_path(wide.tocoo()), expected)


# Engines: each must answer what the others do


@pytest.fixture(params=["dense", "elimination", "scipy"])
def engine(request, monkeypatch):
    """Every question is answered by one engine."""
    monkeypatch.setattr(shortest, "Options", partial(engines.Options, engine=request.param))
    return request.param


@pytest.mark.parametrize("n", [0, 1, 2, 60, 300])
def test_engines_agree_with_scipy(engine, n):
    A = some(n, 4, seed=n) if n else sparse.csr_array((0, 0))
    expected = scipys.dijkstra(A)
    np.testing.assert_array_equal(csgraph.dijkstra(A), expected)
    if n > 2:
        at = np.array([[5, 0], [n - 1, 5]])
        np.testing.assert_array_equal(csgraph.dijkstra(A, indices=at), expected[at])
        dense = np.where(A.toarray() == 0, inf, A.toarray())
        np.testing.assert_array_equal(csgraph.shortest_path(np.asfortranarray(dense)), expected)
        np.testing.assert_array_equal(csgraph.johnson(A, directed=False), scipys.floyd_warshall(A, directed=False))


@pytest.mark.parametrize("weights", ["negative", "rounding"])
def test_engines_take_negative_weights(engine, weights):
    n, rng = 300, np.random.default_rng(3)
    A = some(n, 4, seed=5)
    h = rng.integers(0, 40, n).astype(float) if weights == "negative" else rng.random(n)
    C = A.tocoo()
    base = C.data if weights == "negative" else np.where(rng.random(C.nnz) < 0.7, 0.0, 0.3)
    w = base + h[C.row] - h[C.col]
    assert (w < 0).any()
    B = sparse.coo_array((w, (C.row, C.col)), shape=(n, n))
    truth = scipys.dijkstra(sparse.coo_array((base, (C.row, C.col)), shape=(n, n)).tocsr()) + h[:, None] - h
    rows = [7, 250]
    for found, expected in (
        (csgraph.shortest_path(B), truth), (csgraph.bellman_ford(B, indices=rows), truth[rows])
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=0, atol=0 if weights == "negative" else 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.coo_array], ids=["dense", "csr", "coo"])
def test_a_negative_cycle_that_no_source_reaches_matters_to_none(make, dtype):
    """SciPy's Bellman and Ford answer; whoever reaches the cycle is told of it."""
    rng, n = np.random.default_rng(0), 40
    A = np.where(rng.random((n, n)) < 0.15, rng.integers(1, 9, (n, n)), 0)
    A[:20, 20:] = 0  # 0 … 19 reach none of the others
    A[21, 22], A[22, 21] = -3, 2
    A[0, 1], A[1, 2], A[2, 0] = -1, 4, 7
    graph, sources = make(A), np.array([3, 0, 19, 3])
    D, P = scipys.bellman_ford(A, indices=sources, return_predecessors=True)
    for function in (csgraph.shortest_path, csgraph.bellman_ford, csgraph.johnson, csgraph.dijkstra):
        found = function(graph, indices=sources, dtype=dtype).astype(float)
        found[found == np.iinfo(np.int32).max] = np.inf
        np.testing.assert_array_equal(found, D)
        again, before = function(graph, indices=sources, return_predecessors=True)
        np.testing.assert_array_equal(again, D)
        np.testing.assert_array_equal(before >= 0, P >= 0)
        with pytest.raises(csgraph.NegativeCycleError) as caught:
            function(graph, indices=[3, 30], dtype=dtype)
        assert set(caught.value.cycle) == {21, 22}
    nearest = csgraph.dijkstra(graph, indices=sources, min_only=True)
    np.testing.assert_array_equal(nearest, D.min(axis=0))
    with pytest.raises(csgraph.NegativeCycleError):
        csgraph.shortest_path(graph)
    for function in (csgraph.shortest_path, csgraph.bellman_ford, csgraph.johnson, csgraph.dijkstra):
        found, before = function(graph, indices=[], dtype=dtype, return_predecessors=True)
        assert found.shape == before.shape == (0, n)


def test_rows_alone_overwrite_nothing():
    """A matrix that they do not fill is kept, and so a negative cycle out of their reach matters to none."""
    A = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, -1], [0, 0, -1.0, 0]])
    given = A.copy()
    found = csgraph.shortest_path(given, overwrite=True, indices=[0])
    np.testing.assert_array_equal(found, scipys.bellman_ford(A, indices=[0]))
    np.testing.assert_array_equal(given, A)


def test_engines_name_a_negative_cycle(engine):
    n = 400
    A = some(n, 3, seed=9).tolil()
    cycle = [11, 300, 42]
    for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        A[u, v] = -0.125
    for found in (lambda: csgraph.shortest_path(A), lambda: csgraph.johnson(A, indices=11)):
        with pytest.raises(csgraph.NegativeCycleError) as caught:
            found()
        assert caught.value.cycle
        assert isinstance(caught.value, apsp.NegativeCycleError)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_engines_compute_in_other_dtypes(engine, dtype):
    A = some(300, 4, low=1)
    D = csgraph.shortest_path(A, dtype=dtype)
    expected = scipys.dijkstra(A)
    assert D.dtype == dtype
    largest = np.iinfo(dtype).max if dtype == "int32" else inf
    np.testing.assert_array_equal(D, np.where(np.isinf(expected), largest, expected))
    assert (D == largest).any()


def test_a_callback_sees_the_work(engine):
    seen = []
    csgraph.shortest_path(some(300, 4), callback=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert seen == sorted(seen)


# Potentials, against a loop


def test_potentials_make_every_length_nonnegative():
    n = 200
    C = some(n, 3, seed=2).tocoo()
    h = np.random.default_rng(1).integers(0, 90, n)
    own = network(sparse.coo_array((C.data + h[C.row] - h[C.col], (C.row, C.col)), shape=(n, n)), where="test")
    found = potentials(own)
    assert (own.weights + found[own.tails] - found[own.heads] >= 0).all()
    assert (found <= 0).all()


@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_potentials_name_the_cycle(length):
    tails = np.arange(length)
    weights = np.full(length, 1.0)
    weights[0] = -length
    ring = sparse.coo_array((weights, (tails, np.roll(tails, -1))), shape=(length + 3, length + 3))
    with pytest.raises(apsp.NegativeCycleError) as caught:
        potentials(network(ring, where="test"))
    assert sorted(caught.value.cycle) == list(range(length))
    first = caught.value.cycle
    assert all((b - a) % length == 1 % length for a, b in itertools.pairwise(first))


# What SciPy gets wrong


def test_fortran_order_gives_distances_not_those_of_the_transpose():
    A = some(50, 5).toarray()
    np.testing.assert_array_equal(csgraph.floyd_warshall(np.asfortranarray(A)), csgraph.floyd_warshall(A.copy()))
    np.testing.assert_array_equal(csgraph.floyd_warshall(A.T), csgraph.floyd_warshall(A).T * 0 + csgraph.floyd_warshall(
        np.ascontiguousarray(A.T)))  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "FW", "D", "BF", "J"])
def test_a_cycle_that_rounding_makes_negative_is_none(method):
    A = np.array([[0, 0.1, 0], [0, 0, 0.7], [-0.8, 0, 0]])
    D = csgraph.shortest_path(A, method)
    np.testing.assert_allclose(D, [[0, 0.1, 0.8], [-0.1, 0, 0.7], [-0.8, -0.7, 0]], atol=1e-15)


@pytest.mark.parametrize("method", ["auto", "FW", "D", "BF", "J"])
@pytest.mark.parametrize("make", [np.array, sparse.coo_array, sparse.csr_array, np.asfortranarray])
def test_a_negative_loop_is_a_negative_cycle(method, make):
    with pytest.raises(csgraph.NegativeCycleError) as caught:
        csgraph.shortest_path(make(np.array([[-1.0, 2], [0, 0]])), method)
    assert caught.value.vertex == 0
    assert str(caught.value).startswith("shortest_path: no cycle may")
    with pytest.raises(scipys.NegativeCycleError):
        csgraph.shortest_path(make(np.array([[0, -1.0], [0, 0]])), method, directed=False)
    assert pickle.loads(pickle.dumps(caught.value)).cycle == [0]


def test_dijkstra_is_right_for_negative_weights():
    A = np.array([[0, 4, 2, 0], [0, 0, 0, 1], [0, -3, 0, 0], [0, 0, 0, 0.0]])
    np.testing.assert_array_equal(csgraph.dijkstra(A, indices=0), [0, -1, 2, 0])
    D, P = csgraph.dijkstra(A, return_predecessors=True)
    walked(D, P, np.where(A == 0, inf, A), np.arange(4))


# Rows


@pytest.mark.parametrize("function", ["dijkstra", "bellman_ford", "johnson", "shortest_path"])
@pytest.mark.parametrize("indices", [0, -1, np.int64(3), [], [2], [-1, 0, 0], [[1, 2], [3, -4]], 2.0])
def test_indices(function, indices):
    A = some(9, 3, seed=4)
    ours, theirs = getattr(csgraph, function), getattr(scipys, function)
    expected = theirs(A, indices=indices)
    found, P = ours(A, indices=indices, return_predecessors=True)
    assert found.shape == P.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    assert P.dtype == np.int32


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shift", [0, 2], ids=["positive", "negative"])
def test_predecessors_from_some_vertices_in_integers(dtype, shift):
    A = some(30, 2, seed=4, low=1).tocsr()
    h = shift * (np.arange(30) % 3)
    A.data += (h[:, None] - h)[np.repeat(np.arange(30), np.diff(A.indptr)), A.indices]
    wanted, largest = [3, -1, 3], np.iinfo(dtype).max
    expected = scipys.johnson(A)
    assert np.isinf(expected[wanted]).any()
    for function in (csgraph.dijkstra, csgraph.johnson):
        D, P = function(A, indices=wanted, return_predecessors=True, dtype=dtype)
        assert D.dtype == dtype
        np.testing.assert_array_equal(D, np.where(np.isinf(expected), largest, expected)[wanted])
        walked(np.where(largest == D, inf, D), P, np.where(A.toarray() == 0, inf, A.toarray()), np.array(wanted) % 30)
    D = csgraph.dijkstra(A, indices=wanted, min_only=True, dtype=dtype)
    np.testing.assert_array_equal(D, np.where(np.isinf(expected), largest, expected)[wanted].min(axis=0))


def test_integers_that_no_float_holds_are_exact():
    A = sparse.coo_array((np.array([2**53, 1]), ([0, 1], [1, 2])), shape=(3, 3))
    D, P = csgraph.dijkstra(A, indices=0, return_predecessors=True, dtype="int64")
    assert (D.tolist(), P.tolist()) == ([0, 2**53, 2**53 + 1], [-9999, 0, 1])


@pytest.mark.parametrize("indices", [9, -10, [0, 9]])
def test_indices_out_of_range(indices):
    with pytest.raises(ValueError, match="out of range"):
        csgraph.dijkstra(some(9, 3), indices=indices)


def test_indices_are_integers():
    for wrong in ([True, False], [0.5], ["a"]):
        with pytest.raises(TypeError, match="integers"):
            csgraph.dijkstra(some(9, 3), indices=wrong)


@pytest.mark.parametrize("limit", [0, 20, 20.5, inf])
@pytest.mark.parametrize("min_only", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_limit_and_min_only(limit, min_only, directed):
    A = some(60, 2, seed=6, low=1)
    S = A.minimum(A.T) + 0 * A if directed else A.maximum(A.T).tocsr()
    for graph in (A if directed else S, (A if directed else S).toarray()):
        options = {"indices": [3, 50, 7], "limit": limit, "min_only": min_only, "return_predecessors": True}
        found, theirs = csgraph.dijkstra(graph, directed, **options), scipys.dijkstra(graph, directed, **options)
        assert len(found) == len(theirs) == 2 + min_only
        np.testing.assert_array_equal(found[0], theirs[0])
        np.testing.assert_array_equal(found[1] == -9999, theirs[1] == -9999)
        if min_only:
            np.testing.assert_array_equal(found[2], theirs[2])


def test_min_only_of_all_of_none_and_of_negative_weights():
    A = some(20, 2)
    np.testing.assert_array_equal(csgraph.dijkstra(A, min_only=True), np.zeros(20))
    for found, theirs in zip(
        csgraph.dijkstra(A, indices=[], min_only=True, return_predecessors=True),
        scipys.dijkstra(A, indices=[], min_only=True, return_predecessors=True),
        strict=True,
    ):
        np.testing.assert_array_equal(found, theirs)
    M = np.array([[0, 4, 2.0, 0], [0, 0, 0, 0], [0, -3, 0, 0], [5, 0, 0, 0]])
    D, P, S = csgraph.dijkstra(M, indices=[0, 3], min_only=True, return_predecessors=True)
    assert (D.tolist(), P.tolist(), S.tolist()) == ([0, -1, 2, 0], [-9999, 2, 0, -9999], [0, 0, 0, 3])


def test_what_is_refused():
    for wrong in (-1, nan):
        with pytest.raises(ValueError, match="limit"):
            csgraph.dijkstra([[0, 1], [1, 0]], limit=wrong)
    with pytest.raises(ValueError, match="FW"):
        csgraph.shortest_path([[0, 1], [1, 0]], "FW", indices=[0])
    with pytest.raises(ValueError, match="method"):
        csgraph.shortest_path([[0, 1], [1, 0]], "X")
    for wrong in ([[0, 1]], [0, 1], [[[0]]], sparse.csr_array((2, 3))):
        with pytest.raises(ValueError, match="square"):
            csgraph.shortest_path(wrong)
    for wrong in ([["a"]], [[1j]], np.array([[object()]])):
        with pytest.raises(TypeError, match="real numbers"):
            csgraph.shortest_path(wrong)
    with pytest.raises(apsp.DeviceError, match="device"):
        csgraph.shortest_path([[0]], device="tpu")
    broken = sparse.csr_array(np.array([[0, 1.0], [1.0, 0]]))
    broken.indices[0] = 7
    with pytest.raises(ValueError, match="indices"):
        csgraph.shortest_path(broken)


# overwrite


@pytest.mark.parametrize("layout", ["C", "F", "window", "reversed"])
@pytest.mark.parametrize("n", [5, 300])
def test_overwrite_of_any_strides(layout, n):
    A = some(n, n / 3).toarray()
    expected = csgraph.shortest_path(A)
    room = np.full((n + 2, 2 * n), -7.0)
    place = {
        "C": np.empty((n, n)), "F": np.empty((n, n), order="F"), "window": room[1:-1, 1::2], "reversed":
        np.empty((n, n))[::-1, ::-1],
    }[layout]  # fmt: skip
    place[...] = A
    assert csgraph.shortest_path(place, overwrite=True) is place
    np.testing.assert_array_equal(place, expected)
    assert (room[0] == -7).all()
    assert (room[:, ::2] == -7).all()


def test_overwrite_where_it_cannot_be():
    A = some(5, 2).toarray()
    A.flags.writeable = False
    for given in (A, A.tolist(), A.astype(int), sparse.csr_array(A), np.ma.masked_equal(A, 0)):
        kept = np.array(given.toarray() if sparse.issparse(given) else given)
        D = csgraph.shortest_path(given, overwrite=True)
        assert D is not given
        np.testing.assert_array_equal(given.toarray() if sparse.issparse(given) else given, kept)
    with pytest.raises(csgraph.NegativeCycleError, match="overwrite"):
        csgraph.floyd_warshall(np.array([[0, -2.0], [1, 0]]), overwrite=True)


# Predecessors, and what is made of them


@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("directed", [True, False])
def test_predecessors(n, sign, directed):
    A = some(n, 3, seed=n).toarray()
    h = sign * directed * np.random.default_rng(n).integers(0, 30, n)
    A = np.where(A == 0, inf, A + h[:, None] - h)
    own = A if directed else np.minimum(A, A.T)
    D, P = csgraph.shortest_path(A, directed=directed, return_predecessors=True)
    C = csgraph.shortest_path(A, directed=directed)
    np.testing.assert_array_equal(D, C)
    walked(D, P, own, np.arange(n))
    np.testing.assert_allclose(csgraph.construct_dist_matrix(A, P, directed), D, atol=1e-9)
    tree = csgraph.reconstruct_path(A, P[3], directed)
    np.testing.assert_array_equal(np.sort(tree.indices), np.flatnonzero(P[3] >= 0))
    assert all(own[i, j] == tree[i, j] for i, j in zip(*tree.nonzero(), strict=True))


def test_predecessors_where_every_entry_is_stored_zeros_among_them():
    """Nothing tells of missing edges, and nothing has to: what is stored is one."""
    A = sparse.csr_array((np.array([5.0, 0, 2, 7]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    D, P = csgraph.floyd_warshall(A, return_predecessors=True)
    expected = scipys.dijkstra(A, return_predecessors=True)
    assert (D.tolist(), P.tolist()) == (expected[0].tolist(), expected[1].tolist()) == (
        [[0, 0], [2, 0]], [[-9999, 0], [1, -9999]]
    )  # fmt: skip


def test_construct_dist_matrix_refuses():
    A = np.array([[0, 5, 0], [0, 0, 4], [1, 0, 0.0]])
    P = csgraph.shortest_path(A, return_predecessors=True)[1]
    np.testing.assert_array_equal(csgraph.construct_dist_matrix(A, P), scipys.construct_dist_matrix(A, P))
    P[0, 2] = -9999
    assert csgraph.construct_dist_matrix(A, P, null_value=-1)[0, 2] == -1
    cycle = np.array([[-9999, 2, 1], [-9999, -9999, 1], [2, 0, -9999]], np.int32)
    full = np.ones((3, 3)) - np.eye(3)
    with pytest.raises(ValueError, match="cycle"):
        csgraph.construct_dist_matrix(full, cycle)
    with pytest.raises(ValueError, match="edges of the graph"):
        csgraph.construct_dist_matrix(A, np.array([[-9999, 0, 0], [2, -9999, 1], [2, 0, -9999]], np.int32))
    with pytest.raises(TypeError, match="int32"):
        csgraph.construct_dist_matrix(A, P.astype(np.int64))
    with pytest.raises(ValueError, match="shape"):
        csgraph.construct_dist_matrix(A, P[:2])


def test_reconstruct_path_is_scipys():
    A = some(15, 4, seed=3)
    for directed in (True, False):
        graph = A if directed else A.maximum(A.T)
        P = scipys.dijkstra(graph, indices=2, return_predecessors=True)[1]
        ours, theirs = (m.reconstruct_path(graph, P, directed) for m in (csgraph, scipys))
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
        assert type(ours) is sparse.csr_array
        assert type(csgraph.reconstruct_path(sparse.csc_matrix(graph), P, directed)) is sparse.csr_matrix  # * is @
    zero = sparse.coo_array(([0.0], ([0], [1])), shape=(2, 2))
    assert csgraph.reconstruct_path(zero, np.array([-9999, 0])).nnz == 1
    with pytest.raises(ValueError, match="edges of the graph"):
        csgraph.reconstruct_path(zero, np.array([1, -9999]))


@pytest.mark.parametrize("null", [0, None, nan, inf, 3])
def test_csgraph_from_dense_is_scipys(null):
    A = np.array([[0, 3, nan], [inf, 0, -inf], [2, 5, 3.0]])
    for options in ({}, {"nan_null": False}, {"infinity_null": False}):
        ours, theirs = (m.csgraph_from_dense(A, null, **options) for m in (csgraph, scipys))
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
        np.testing.assert_array_equal(ours.indptr, theirs.indptr)


def test_conversions():
    M = np.ma.array([[1.0, 0], [0, 2]], mask=[[0, 0], [1, 1]])
    ours, theirs = (m.csgraph_from_masked(M) for m in (csgraph, scipys))
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    assert csgraph.csgraph_from_dense([[1e-9]]).nnz == 1
    matrix = INPUTS["matrix"][0]  # whose * is @, that of its sparse graph too
    assert type(csgraph.csgraph_from_dense(matrix)) is type(scipys.csgraph_from_dense(matrix)) is sparse.csr_matrix
    assert csgraph.csgraph_from_masked(np.ma.masked_equal(matrix, 0)).toarray().tolist() == [[0, 3], [0, 0]]
    expected = np.full((4, 4), nan)
    expected[0, 1], expected[1, 2], expected[2, 3] = 6, 0, 18
    np.testing.assert_array_equal(csgraph.csgraph_to_dense(COO, nan), expected)
    with pytest.raises(TypeError, match="sparse"):
        csgraph.csgraph_to_dense([[0]])


# The choice


def test_a_pattern_is_looked_at_once_it_has_cost_as_much_as_looking(monkeypatch):
    remembered = elimination.Structures()
    own, other = (network(some(2000, 2, seed=seed), where="test") for seed in (0, 1))
    mine, others = own.heads, other.heads
    assert remembered.spent(mine) == 0
    remembered.spend(mine, 0.25)
    remembered.spend(mine, 0.5)
    assert (remembered.spent(mine), remembered.spent(others)) == (0.75, 0)
    made = remembered.of(own.tails, mine, own.n)
    assert remembered.of(own.tails, mine, own.n) is made
    assert (remembered.spent(mine), remembered.spent(others)) == (inf, 0)
    remembered.spend(mine, 1.0)  # no charge for a cached structure
    assert remembered.spent(mine) == remembered.spent(mine, lines=1) == inf
    remembered.spend(mine, 1.0, lines=16)  # searches from 16 vertices were faster
    assert [remembered.spent(mine, lines) for lines in (4, 16, 17, inf)] == [0, 0, inf, inf]
    monkeypatch.setattr(elimination, "_name", lambda heads: 0)  # a hash alone is no structure's name
    for net, n in ((own, own.n), (other, other.n), (other, other.n + 1)):
        found = remembered.of(net.tails, net.heads, n)
        assert (found.n, found.tails.tolist()) == (n, net.tails.tolist())
    monkeypatch.undo()
    lines = [(np.array([k]), np.array([k + 1])) for k in range(elimination.CAPACITY + 1)]
    for line in lines:
        remembered.of(*line, 10)
    assert [remembered.spent(heads) for _, heads in lines] == [0, *[inf] * elimination.CAPACITY]


def test_a_structure_is_looked_for_where_questions_have_taken_longer(monkeypatch):
    monkeypatch.setattr(elimination, "STRUCTURES", remembered := elimination.Structures())
    n = 150_000  # of a ring one search takes longer than a thought, and looking for its structure longer than that
    A = sparse.coo_array((np.arange(1.0, n + 1), (np.arange(n), np.roll(np.arange(n), 1))))
    arcs = network(A, where="test").canonical_arcs
    for spent, known in ((0.0, False), (100.0, True)):
        remembered.spend(arcs.heads, spent)
        csgraph.shortest_path(A, indices=[3])
        assert (remembered.spent(arcs.heads) == inf) == known


def test_rows_of_a_graph_asked_again_and_again_get_its_structure(monkeypatch):
    """Once searches have taken as long as its analysis would; where they stay faster, they go on."""
    monkeypatch.setattr(elimination, "STRUCTURES", remembered := elimination.Structures())
    roads, islands = road_like(20_000, seed=1), [some(40, 3, seed) for seed in range(50)]
    weights = np.random.default_rng(0).integers(1, 9, len(roads.rows)).astype(float)
    oneway = sparse.coo_array((weights, (roads.rows, roads.cols)), shape=(20_000, 20_000))
    A = (oneway + oneway.T).tocsr()
    B = sparse.block_diag(islands, format="csr")
    for matrix, structure in ((A, True), (B, False)):
        indices = np.arange(16) * 125
        expected = scipys.dijkstra(matrix, indices=indices)
        for _ in range(30):
            np.testing.assert_array_equal(csgraph.dijkstra(matrix, indices=indices), expected)
        assert (remembered.spent(matrix.indices) == inf) == structure
        engine = apsp.shortest_paths(matrix, sources=indices).plan.engine
        assert engine == ("elimination" if structure else "scipy")
        apsp.plan(matrix, sources=indices)  # costs nothing, and is not charged


def test_choices(monkeypatch):
    """The planner is everybody's; which matrix or graph it is asked about is csgraph's."""
    chosen = []
    answer = engines.answer
    monkeypatch.setattr(engines, "answer", lambda question: (found := answer(question), chosen.append(found.plan))[0])
    n = 20000
    weights = np.random.default_rng(1).integers(1, 9, n).astype(float)
    ring = sparse.coo_array((weights, (np.arange(n), np.roll(np.arange(n), 1))))
    csgraph.shortest_path(np.ones((600, 600)) - np.eye(600))
    for matrix in np.random.default_rng(1).random((2000, 2000)), some(600, 4):
        csgraph.shortest_path(matrix, indices=[3])  # not worth a thought
    csgraph.shortest_path(ring, indices=np.arange(3000))
    assert [plan.engine for plan in chosen] == ["dense", "elimination"]


@pytest.mark.parametrize("A", [np.ones((3, 3)), sparse.coo_array(np.ones((3, 3)))])
def test_what_scipys_searches_get_has_indices_of_32_bits(A):
    """The least SciPy takes no others."""
    G = network(A, where="test").csr
    assert G.indices.dtype == G.indptr.dtype == np.int32


@pytest.mark.parametrize("indices", [None, [0, 2]])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_do_not_hold_a_distance_are_refused(sign, indices):
    """It was no path, or the least integer; where distances fit, they are exact, whatever walks may weigh."""
    far = sparse.coo_array((np.array([2**30, 2**30 + 1]) * sign, ([0, 1], [1, 2])), shape=(3, 3))
    for given in (far, far.toarray()):
        with pytest.raises(apsp.DomainError, match="from 0 to 2"):
            csgraph.shortest_path(given, dtype="int32", indices=indices)
    near = [[0, 14 * 10**8, 0], [0, 0, -(10**9)], [7 * 10**8, 0, 0]]
    expected = scipys.johnson(np.array(near, float), indices=indices)
    D, P = csgraph.johnson(near, dtype="int32", indices=indices, return_predecessors=True)
    np.testing.assert_array_equal(D, expected)
    np.testing.assert_array_equal(P, scipys.johnson(np.array(near), indices=indices, return_predecessors=True)[1])


@pytest.mark.parametrize("n", [1, 30, 400])
def test_a_few_rows_are_those_of_scipy(n):
    rng = np.random.default_rng(n)
    A = sparse.random_array((n, n), density=min(1, 4 / n), format="csr", rng=rng)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    for indices in (0, [0], [-1, 0, n // 2], [[0, n - 1], [n // 2, 0]], []):
        rows = np.asarray(indices, int) % n
        for options in ({}, {"directed": False}, {"limit": 0.7}, {"return_predecessors": True, "limit": 0.7}):
            mine, theirs = csgraph.dijkstra(A, indices=indices, **options), scipys.dijkstra(A, indices=rows, **options)
            np.testing.assert_array_equal(mine, theirs)
        if rows.size:
            options = {"min_only": True, "return_predecessors": True}
            for mine, theirs in zip(
                csgraph.dijkstra(A, indices=indices, **options),
                scipys.dijkstra(A, indices=rows.ravel(), **options),
                strict=True,
            ):
                np.testing.assert_array_equal(mine, theirs)


def test_the_nearest_of_many_takes_one_row(monkeypatch):
    asked = []
    monkeypatch.setattr(engines, "require", lambda needed, **words: asked.append(needed))
    n = 3000
    A = sparse.random_array((n, n), density=4 / n, format="csr", rng=np.random.default_rng(0))
    found = csgraph.dijkstra(A, indices=np.arange(n - 1), min_only=True)
    np.testing.assert_array_equal(found, scipys.dijkstra(A, indices=np.arange(n - 1), min_only=True))
    assert asked == [12 * n]


@pytest.mark.parametrize("n", [10, 60, 100])
def test_rows_of_a_small_full_matrix_are_those_of_its_closure(monkeypatch, n):
    # To list its arcs for a search takes longer.
    A = np.random.default_rng(n).integers(1, 99, (n, n)).astype(float)
    expected = scipys.dijkstra(A, indices=[2, -1], limit=40)
    monkeypatch.setattr("apsp.csgraph.engines.dijkstra", None)
    np.testing.assert_array_equal(csgraph.dijkstra(A, indices=[2, -1], limit=40), expected)


A3 = np.array([[0, 1.0, 4], [0, 0, 2], [0, 0, 0]])
NAMED = [
    *((name, {flag: "no"}, f"{flag} must be True or False, got 'no'") for name, flag in (
        ("shortest_path", "directed"), ("floyd_warshall", "overwrite"), ("dijkstra", "min_only"),
        ("bellman_ford", "unweighted"), ("johnson", "return_predecessors"), ("csgraph_from_dense", "nan_null"),
    )),
    ("yen", {"source": 0, "sink": 2, "K": 1, "directed": "False"}, "directed must be True or False, got 'False'"),
    ("yen", {"source": 0.5, "sink": 2, "K": 1}, r"source, sink and K must be integers, got \(0\.5, 2, 1\)"),
    ("reconstruct_path", {"predecessors": [-9999, 0, 1], "directed": "no"}, "directed must be True or False"),
    ("dijkstra", {"limit": "3"}, "limit must be a number, got '3'"),
    ("dijkstra", {"limit": None}, "limit must be a number, got None"),
    ("csgraph_from_dense", {"null_value": "0"}, "null_value must be a number, got '0'"),
    ("csgraph_from_dense", {"null_value": []}, r"null_value must be a number, got \[\]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "words"), NAMED)
def test_parameters_that_are_none_are_named(name, options, words):
    with pytest.raises((ValueError, TypeError), match=f"^{name}: {words}"):
        getattr(csgraph, name)(A3, **options)


@pytest.mark.parametrize("name", ["floyd_warshall", "bellman_ford", "yen"])
def test_a_negative_cycle_is_told_by_the_function_that_meets_it(name):
    more = {"source": 0, "sink": 1, "K": 1} if name == "yen" else {}
    with pytest.raises(csgraph.NegativeCycleError, match=f"^{name}: no cycle may have a negative weight"):
        getattr(csgraph, name)(np.array([[0, 1.0], [-2, 0]]), **more)


def test_several_entries_of_objects_at_one_place_are_refused_as_those_of_other_dtypes_are():
    A = sparse.csr_array((np.array([1.0, 2.0]).astype(object), [1, 1], [0, 2, 2]), shape=(2, 2))
    assert scipys.dijkstra(A, indices=0)[1] == 3 != scipys.floyd_warshall(np.array([[0, 1.0], [0, 0]]))[0, 1]
    with pytest.raises(apsp.DomainError, match=r"dijkstra: a sparse matrix of another dtype .* no duplicate entries"):
        csgraph.dijkstra(A, indices=0)
