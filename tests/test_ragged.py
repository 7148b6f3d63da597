"""`hops` of many graphs, and `closure` of lists of matrices, against SciPy and one matrix after the other."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

from apsp import AmbiguityWarning, closure, hops
from semiring import DivergenceError, DomainError, DTypeError, MemoryNeeded, ShapeError, VertexError

INF = np.inf


def batch(count, n, seed=0, density=0.1):
    return np.random.default_rng(seed).random((count, n, n)) < density


def lists(M, sizes):
    """Edge indices of the first so many vertices of each; the last vertex has an edge, so that all are named."""
    found = []
    for m, n in zip(M, sizes, strict=True):
        index = np.array(np.nonzero(m[:n, :n])).reshape(2, -1)
        found.append(np.concatenate([index, [[n - 1] * (n > 0), [0] * (n > 0)]], axis=1).astype(np.int64))
    return found


def scipys(index, n):
    A = np.zeros((n, n))
    A[index[0], index[1]] = 1
    return csgraph.shortest_path(A, unweighted=True) if n else np.zeros((0, 0))


def padded(tables, n, unreachable=-1):
    out = np.full((len(tables), n, n), unreachable, np.int16)
    for into, D in zip(out, tables, strict=True):
        into[: len(D), : len(D)] = np.where(np.isinf(D), unreachable, D)
    return out


@pytest.mark.parametrize("n", [1, 5, 32, 65])
def test_a_batch_is_scipys_one_by_one(n):
    M = batch(7, n, density=2 / n)
    wanted = padded([scipys(np.array(np.nonzero(m)), n) for m in M], n)
    found = hops(M)
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(hops(M, limit=2**15 - 1), wanted)
    np.testing.assert_array_equal(hops(M[:, ::-1, ::-1])[:, ::-1, ::-1], wanted)  # any strides
    np.testing.assert_array_equal(hops(M, unreachable=510, limit=1), np.where((wanted < 0) | (wanted > 1), 510, wanted))


@pytest.mark.parametrize("name", ["unreachable", "limit", "paths"])
@pytest.mark.parametrize("value", [True, "1", 1.0, 2**15])
def test_options_must_be_integers(name, value):
    with pytest.raises(DomainError, match=f"hops: {name} must be an integer from"):
        hops(np.zeros((1, 2, 2), bool), **{name: value})


def test_there_must_be_an_entry_for_no_path():
    with pytest.raises(DomainError, match="hops: unreachable must be an integer from -32768 to 32,767, got None"):
        hops(np.zeros((1, 2, 2), bool), unreachable=None)


def test_lists_are_padded():
    sizes = [3, 9, 1, 5]
    M = batch(4, 9, seed=1, density=0.15)
    indices = lists(M, sizes)
    wanted = padded([scipys(x, n) for x, n in zip(indices, sizes, strict=True)], 9, 510)
    for graphs in (
        indices,
        [x.astype(np.int32) for x in indices],
        [(x, None) for x in indices],
        [
            nx.from_numpy_array(D == 1, create_using=nx.DiGraph)
            for D in (scipys(*a) for a in zip(indices, sizes, strict=True))
        ],
        [csr_array(scipys(*a) == 1) for a in zip(indices, sizes, strict=True)],
        [scipys(*a) == 1 for a in zip(indices, sizes, strict=True)],
    ):
        np.testing.assert_array_equal(hops(graphs, unreachable=510), wanted)
    assert hops([]).shape == (0, 0, 0)
    assert hops(np.zeros((3, 0, 0), bool)).shape == (3, 0, 0)
    empty = np.empty((2, 0), int)
    ring, none = np.array([[0, 1, 2], [1, 2, 0]]), np.full((3, 3), -1)
    around = [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    for order in ([empty, ring], [ring, empty, empty, ring], [empty, ring, empty, ring, empty]):
        np.testing.assert_array_equal(hops(order), [around if x is ring else none for x in order])


def test_graphs_may_come_one_by_one():
    graphs = [nx.path_graph(3), nx.cycle_graph(4)]
    np.testing.assert_array_equal(hops(iter(graphs)), hops(graphs))


def test_two_rows_of_two_integers_are_one_graph_or_refused():
    three, both = np.array([[0, 1, 2], [1, 2, 0]]), np.array([[0, 1], [1, 0]])
    wanted = [[0, 1, -1], [1, 0, -1], [-1, -1, -1]]
    for graphs in (
        [three, both],
        [both, three],
        [three, (both, None)],
        [three, both == 1],
        [three, both.astype(float)],
    ):
        assert hops(graphs)[0 if graphs[0] is both else 1].tolist() == wanted
    assert hops([both, both])[1].tolist() == [[0, 1], [1, 0]]
    for ends in ([[1, 1], [0, 1]], [[1, 0], [0, 1]], [[0, 0], [1, 1]], [[0, 1], [1, 2]], [[0, 0], [0, 0]]):
        for graphs in ([three, np.array(ends)], [np.array(ends), three, both], [np.array(ends)]):
            with pytest.raises(ShapeError, match=r"\(2, 2\) may be .* Pass A == 1 for a matrix, \(edge_index, None\)"):
                hops(graphs)
        edges = hops([three, (np.array(ends), None)])[1]  # the ways out
        assert (edges == 1).sum() == len({(u, v) for u, v in zip(*ends, strict=True) if u != v})
        assert (hops([three, np.array(ends) == 1])[1] == 1).sum() == (ends[0][1] == 1) + (ends[1][0] == 1)


def test_floats_are_a_matrix():
    A = np.array([[0, 2.5, 1], [1, 0, 3], [4, 1, 0]])  # a complete one: no entry may be none
    np.testing.assert_array_equal(hops([A, A[:2, :2]])[0], 1 - np.eye(3))
    np.testing.assert_array_equal(hops([A > 2, (A == 2.5).astype(float)])[1], [[0, 1, -1], [-1, 0, -1], [-1, -1, 0]])
    A[0, 1] = 0
    with pytest.raises(DTypeError, match=r"Say which entries are edges, for instance A < np\.inf or A != 0"):
        hops([A])
    assert hops([A != 0])[0, 0, 1] == 2


def test_paths_are_shortest_and_lead_from_edge_to_edge():
    M = batch(5, 12, seed=3, density=0.15)
    H, heads = hops(M, paths=4, limit=6)
    assert heads.shape == (5, 12, 12, 4)
    for b, i, j in np.ndindex(*H.shape):
        went = [int(v) for v in heads[b, i, j] if v >= 0]
        assert len(went) == max(0, min(4, H[b, i, j]))
        assert (heads[b, i, j, len(went) :] == -1).all()
        assert all(M[b, u, v] for u, v in zip([i, *went], went, strict=False))
        if 0 < H[b, i, j] <= 4:
            assert went[-1] == j


def test_an_edge_into_another_graph_of_a_batch_is_refused():
    """As PyTorch Geometric's batch has them: one list of edges, and where each graph begins."""
    ends, ptr = np.array([[0, 1, 2, 3], [1, 0, 3, 4]]), np.array([0, 2, 5])
    assert hops(SimpleNamespace(edge_index=ends, ptr=ptr))[1].tolist() == [[0, 1, 2], [-1, 0, 1], [-1, -1, 0]]
    for edge, wrong in (([1, 2], "1 → 2 in graph 0 of 2"), ([2, 1], "0 → -1 in graph 1 of 3")):
        beside = np.column_stack([ends, edge])
        with pytest.raises(VertexError, match=f"got {wrong} vertices"):
            hops(SimpleNamespace(edge_index=beside, ptr=ptr))


def test_a_large_sparse_graph_is_searched(monkeypatch):
    monkeypatch.setattr("apsp.answers.ragged.LARGE", 4)
    monkeypatch.delattr("apsp.answers.ragged.closure")
    M = batch(2, 9, seed=4, density=0.2)
    indices = lists(M, [9, 6])
    np.testing.assert_array_equal(hops(indices), padded([scipys(indices[0], 9), scipys(indices[1], 6)], 9))


def test_what_hops_refuses():
    with pytest.raises(DTypeError, match=r"list of graphs, or a bool array of shape \(B, n, n\), got shape \(2, 2\)"):
        hops(np.eye(2))
    with pytest.raises(ShapeError, match=r"\(2, 2\) may be"):
        hops([np.array([[0, 0], [1, 0]])])
    with pytest.raises(VertexError, match="got -1 → 0 in graph 1 of 2 vertices"):
        hops([np.array([[0, 1, 2], [1, 2, 0]]), np.array([[-1, 0, 1], [0, 1, 0]])])
    with pytest.raises(ShapeError, match=r"at most 32,767 vertices.*shortest_paths"):
        hops([np.array([[0, 1, 2], [1, 2, 40_000]])])
    with pytest.raises(MemoryNeeded, match="fewer graphs"):
        hops([np.array([[0, 1, 2], [1, 2, 32_000]])] * 100_000)
    for wrong in ({"unreachable": 40_000}, {"limit": -1}, {"paths": 0}, {"limit": 1.5}):
        with pytest.raises(DomainError, match=f"hops: {next(iter(wrong))} must be an integer"):
            hops(batch(1, 3), **wrong)


@pytest.mark.parametrize("name", ["min_plus", "max_times", "log_plus", "lor_land"])
def test_closures_of_a_list_are_those_of_each(name):
    from semiring import random_matrix

    dtype = "bool" if name == "lor_land" else "float64"
    matrices = [random_matrix(name, (n, n), dtype, seed=n, density=0.5) for n in (3, 1, 7, 0, 7)]
    found = closure(matrices, name)
    assert isinstance(found, list)
    for D, A in zip(found, matrices, strict=True):
        np.testing.assert_allclose(D, closure(A, name), rtol=1e-12)
    far = [matrices[0], random_matrix(name, (70, 70), dtype, seed=1, density=0.02)]  # padded to two sizes
    for D, A in zip(closure(far, name), far, strict=True):
        np.testing.assert_allclose(D, closure(A, name), rtol=1e-12)


def test_a_list_says_which_entries_are_edges_as_a_matrix_does():
    A, B = np.array([[0, 4.0, 0], [0, 0, 1], [0, 0, 0]]), np.array([[0.0, 3], [2, 0]])
    with pytest.warns(AmbiguityWarning):
        closure([A, B])
    assert closure([A, B], null_value=0)[0].tolist() == [[0, 4, 5], [INF, 0, 1], [INF, INF, 0]]
    assert closure([A > 0, B > 0], unweighted=True)[1].tolist() == [[0, 1], [1, 0]]
    assert closure([A.astype(np.int32), B], null_value=0)[0].dtype == np.float64
    with pytest.raises(DivergenceError):
        closure([B, np.array([[0, -3.0], [2, 0]])])
    with pytest.raises(ValueError, match="output must be left out of a list"):
        closure([A, B], output="x")


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_tensors_go_in_and_come_out():
    import torch

    sizes = [3, 9, 5]
    indices = [torch.from_numpy(x) for x in lists(batch(3, 9, seed=1, density=0.15), sizes)]
    H = hops(indices)
    assert H.dtype == torch.int16
    wanted = padded([scipys(x.numpy(), n) for x, n in zip(indices, sizes, strict=True)], 9)
    np.testing.assert_array_equal(H, wanted)
    mixed = [torch.rand(n, n, dtype=torch.float64) + 0.1 for n in sizes]
    mixed[1].requires_grad_()
    D = closure(mixed)
    D[1].sum().backward()
    alone = mixed[1].detach().requires_grad_()
    closure(alone).sum().backward()
    torch.testing.assert_close(mixed[1].grad, alone.grad)
    zeros = [torch.zeros(2, 2, requires_grad=True), torch.ones(3, 3)]
    with pytest.warns(AmbiguityWarning):
        closure(zeros)
    assert closure(zeros, null_value=None)[0].shape == (2, 2)
    with pytest.raises(ValueError, match="null_value must be left out"):
        closure(zeros, null_value=0)
    ptr = np.cumsum([0, *sizes])
    one = SimpleNamespace(edge_index=torch.cat([x + k for x, k in zip(indices, ptr[:-1], strict=True)], 1))
    one.ptr = torch.from_numpy(ptr)  # as PyTorch Geometric's Batch; and its Data:
    data = [SimpleNamespace(edge_index=x, num_nodes=n) for x, n in zip(indices, sizes, strict=True)]
    for graphs in (one, data):
        np.testing.assert_array_equal(hops(graphs), wanted)
        assert isinstance(hops(graphs), torch.Tensor)


def test_indices_of_unsigned_numbers():
    path, arc = np.array([[0, 1, 0], [1, 2, 1]]), np.array([[1], [0]])
    expected = [[[0, 1, 2], [-1, 0, 1], [-1, -1, 0]], [[0, -1, -1], [1, 0, -1], [-1, -1, -1]]]
    for first, second in (("u8", "u8"), ("u8", "i8"), ("u1", "i1")):
        assert hops([path.astype(first), arc.astype(second)]).tolist() == expected
