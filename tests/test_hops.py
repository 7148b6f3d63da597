"""Hop distances by searches of 64 and 512 sources at a time, against NetworkX's breadth-first search."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from semiring.host.errors import DeviceError, DomainError, DTypeError, ShapeError, VertexError
from semiring.sparse import Hops, Searches, eliminate, hops


def expected(arcs, n, dtype):
    """By NetworkX, one source at a time."""
    G = nx.DiGraph()
    G.add_nodes_from(range(n))
    G.add_edges_from(np.asarray(arcs).T.tolist())
    out = np.full((n, n), np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max, dtype)
    for v, found in nx.all_pairs_shortest_path_length(G):
        for u, count in found.items():
            out[v, u] = count
    return out


def random(n, degree, seed=0):
    """Parallel arcs and loops among them."""
    return np.random.default_rng(seed).integers(0, max(n, 1), (2, int(degree * n)))


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 131, 577])
def test_hops_of_directed_graphs(n):
    for degree in (0, 0.7, 1.5, 4, 20) if n < 500 else (1.5, 8):
        arcs = random(n, degree, seed=n)
        np.testing.assert_array_equal(Hops(tuple(arcs), n).to_dense(), expected(arcs, n, np.int16))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32", "float64"])
def test_every_dtype_with_its_infinity(dtype):
    arcs = random(150, 1.3)
    D = Hops(tuple(arcs), 150, dtype=dtype).to_dense()
    np.testing.assert_array_equal(D, expected(arcs, 150, dtype))
    assert D.dtype == dtype


def test_rows_in_the_order_wanted_by_any_block_and_number_of_threads(monkeypatch):
    n = 1300
    arcs = random(n, 3)
    A = sp.coo_array((np.zeros(arcs.shape[1]), arcs), shape=(n, n))  # a stored 0 is an arc
    D = expected(arcs, n, np.int16)
    wanted = np.random.default_rng(1).integers(0, n, 700)  # some twice
    for threads in (1, 3):
        H = Hops(A, threads=threads)
        for block in (None, 7, 64, 600):
            kept = list(H.rows(wanted, block=block))
            np.testing.assert_array_equal(np.concatenate([i for i, _ in kept]), wanted)
            np.testing.assert_array_equal(np.concatenate([rows for _, rows in kept]), D[wanted])
        np.testing.assert_array_equal(H.row(5), D[5])
        np.testing.assert_array_equal(H.to_dense(np.empty((n, n), np.int16, order="F")), D)
    monkeypatch.setattr(hops, "PANEL", 1)  # one word a vertex
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in Hops(A).rows(wanted)]), D[wanted])
    assert list(H.rows([])) == []


def test_many_levels_in_many_short_calls(monkeypatch):
    """Between two calls Ctrl-C is handled."""
    n = 1200
    i = np.arange(n - 1)
    D = np.where(np.arange(n) >= np.arange(n)[:, None], np.arange(n) - np.arange(n)[:, None], np.iinfo(np.int16).max)
    for call, levels in ((hops.CALL, hops.LEVELS), (1, hops.LEVELS), (hops.CALL, 1)):
        monkeypatch.setattr(hops, "CALL", call)
        monkeypatch.setattr(hops, "LEVELS", levels)
        np.testing.assert_array_equal(Hops((i, i + 1), n).to_dense(), D)


@pytest.mark.parametrize("n", [127, 128, 129, 600])
def test_int8_holds_126_hops_or_says_so(n):
    i = np.arange(n - 1)
    H, D = Hops((i, i + 1), n, dtype="int8"), np.arange(n) - np.arange(n)[:, None]
    np.testing.assert_array_equal(H.to_dense(limit=126), np.where((D < 0) | (D > 126), 127, D))
    np.testing.assert_array_equal(H.row(n - 127), np.where(D[n - 127] < 0, 127, D[n - 127]))
    if n == 127:
        np.testing.assert_array_equal(H.to_dense(), np.where(D < 0, 127, D))
        return
    for search in (lambda: H.row(n - 128), lambda: H.row(0, limit=127), H.to_dense):
        with pytest.raises(DomainError, match="int8 must hold every number of hops, up to 126"):
            search()


def test_int16_beyond_32767_vertices():
    n = 33_000
    i = np.arange(n - 1)
    H = Hops((i, i + 1), n, dtype="int16")
    assert H.row(n - 32_767)[-2:].tolist() == [32_765, 32_766]
    with pytest.raises(DomainError, match="up to 32766, got a vertex"):
        H.row(n - 32_768)


def test_distances_in_int16_beyond_32767_vertices():
    """As SciPy's; a path that is too long is told from one that is not wanted."""
    from scipy.sparse import csgraph

    from apsp import Graph, shortest_paths

    n = 40_000
    near = np.random.default_rng(5).integers(0, n, (2, 4 * n))
    want = csgraph.dijkstra(sp.csr_array((np.ones(4 * n), near), (n, n)), unweighted=True, indices=[3, n - 1])
    r = shortest_paths(Graph.from_arrays(*near, n=n), dtype="int16", engine="hops", sources=[3, n - 1])
    assert r.distances.dtype == np.int16
    np.testing.assert_array_equal(r.distances, np.where(np.isinf(want), 32_767, want))
    path = Graph.from_arrays(np.arange(n - 1), np.arange(1, n), n=n)
    with pytest.raises(DomainError, match="int16 must hold every number of hops"):
        _ = shortest_paths(path, dtype="int16", engine="hops", sources=[0]).distances
    D = shortest_paths(path, dtype="int16", engine="hops", sources=[0], limit=2.5).distances
    assert D[0, :4].tolist() == [0, 1, 2, 32_767]


@pytest.mark.parametrize("limit", [0, 1, 2, 2.5, 3, 1e9])
def test_nothing_is_reached_beyond_the_limit(limit):
    arcs = random(300, 2.5)
    D = expected(arcs, 300, np.int32)
    H = Hops(tuple(arcs), 300, dtype="int32")
    np.testing.assert_array_equal(H.to_dense(limit=limit), np.where(D <= limit, D, np.iinfo(np.int32).max))


def test_errors_name_what_is_wrong():
    assert Hops(([0], [1]), 40_000).dtype == np.int32
    for dtype in ("bool", "uint8", "uint32", "float16", "complex64"):
        with pytest.raises(DTypeError, match="dtype must be one of int8"):
            Hops(([0], [1]), 2, dtype=dtype)
    with pytest.raises(DeviceError, match="threads"):
        Hops(([0], [1]), 2, threads=0)
    with pytest.raises(VertexError, match="got 7"):
        Hops(([0], [7]), 2)
    with pytest.raises(ShapeError, match="Pass n"):
        Hops(([0], [1]))
    H = Hops(([0], [1]), 2)
    with pytest.raises(VertexError, match="got 2"):
        H.rows([2])
    for limit in (-1, np.nan, "3", [1], 2j):
        with pytest.raises(DomainError, match="limit must be"):
            H.rows(limit=limit)
    with pytest.raises(ShapeError, match="block"):
        H.rows(block=0)
    with pytest.raises(ShapeError, match="out must have shape"):
        H.to_dense(np.empty((1, 2)))
    with pytest.raises(DTypeError, match="out must have dtype int16"):
        H.to_dense(np.empty((2, 2), np.int32))
    with pytest.raises(ValueError, match="to_dense: out must be writeable"):
        H.to_dense(np.broadcast_to(H.dtype.type(0), (2, 2)))
    with pytest.raises(ValueError, match="do not overlap in memory"):
        H.to_dense(np.lib.stride_tricks.as_strided(np.zeros(2, H.dtype), (2, 2), (0, 2)))


def test_all_rows_report_their_progress():
    told = []
    H = Hops(([0, 1], [1, 2]), 700, threads=1)
    D = H.to_dense(callback=lambda *done: told.append(done))
    assert np.array_equal(D, H.to_dense())
    assert told == [(512, 700), (700, 700)]


@pytest.mark.parametrize("i", [[0, 1], [], np.array([[1, 2]]), np.array([0.5]), "0", 1.0])
def test_a_row_is_that_of_one_vertex(i):
    path = [0, 1, 2], [1, 2, 3]
    found = eliminate(sp.coo_array(([1.0, 1.0, 1.0], path), shape=(4, 4)))
    for call in (
        Hops(path, 4).row, Searches(path, n=4, weights=[1.0, 1.0, 1.0]).row, found.row, found.column,
        lambda i: found.entry(i, 0), lambda i: found.hub_labels().entry(0, i),
    ):  # fmt: skip
        with pytest.raises(VertexError, match="a vertex must be an integer below 4, got"):
            call(i)
