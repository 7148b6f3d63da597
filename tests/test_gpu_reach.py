"""Reachability on a GPU: bool arrays, bit matrices and graphs by their public functions, against SciPy and the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from test_gpu_bits import closure, product, random_bool

import apsp
from semiring import BitMatrix, DeviceError, DTypeError, MemoryNeeded, ShapeError, matmul
from semiring.algebra.catalog import lor_land, max_min
from semiring.kernels.backend import bind

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("n", [0, 1, 64, 65, 300, 1031])
@pytest.mark.parametrize("schedule", ["auto", "iterative", "blocked", "recursive"])
def test_closure_of_bool_arrays(cp, n, schedule):
    A = random_bool((n, n), n, 1.2 / max(n, 1))
    expected, there = closure(A), cp.asarray(A)
    got = apsp.closure(there, "boolean", schedule=schedule)
    assert isinstance(got, cp.ndarray)
    assert got.dtype == bool
    np.testing.assert_array_equal(got.get(), expected)
    np.testing.assert_array_equal(there.get(), A)
    home = apsp.closure(A, "boolean", schedule=schedule, device="cuda")
    assert isinstance(home, np.ndarray)
    np.testing.assert_array_equal(home, expected)
    assert apsp.closure(there, "boolean", schedule=schedule, overwrite=True) is there
    np.testing.assert_array_equal(there.get(), expected)


def test_closure_of_views_and_batches(cp):
    A = random_bool((90, 180), 1, 0.01)
    wide = cp.asarray(A)
    np.testing.assert_array_equal(apsp.closure(wide[:, ::2], "boolean").get(), closure(A[:, ::2]))
    np.testing.assert_array_equal(apsp.closure(wide[:, :90].T, "boolean").get(), closure(A[:, :90].T))
    batch = np.stack([random_bool((70, 70), i, 0.02) for i in range(3)])
    np.testing.assert_array_equal(apsp.closure(cp.asarray(batch), "boolean").get(), [closure(one) for one in batch])


def test_closure_of_a_bit_matrix(cp):
    A = random_bool((700, 700), 3, 0.002)
    there = BitMatrix.from_bool(cp.asarray(A))
    got = apsp.closure(there, "boolean")
    np.testing.assert_array_equal(got.to_bool().get(), closure(A))
    np.testing.assert_array_equal(there.to_bool().get(), A)
    assert apsp.closure(there, "boolean", overwrite=True) is there
    assert there == got
    assert got.get() == apsp.closure(BitMatrix.from_bool(A), "boolean")
    with pytest.raises(DTypeError, match="a BitMatrix is closed over the Boolean semiring, got min_plus"):
        apsp.closure(there)
    with pytest.raises(DTypeError, match="on its own device, cuda, got device='cpu'"):
        apsp.closure(there, "boolean", device="cpu")
    with pytest.raises(ShapeError, match="A must be square"):
        apsp.closure(BitMatrix.from_bool(cp.zeros((3, 4), bool)), "boolean")


def test_products_of_bool_arrays(cp):
    A, B = random_bool((130, 200), 1), random_bool((200, 70), 2)
    np.testing.assert_array_equal(matmul(cp.asarray(A), cp.asarray(B), "boolean").get(), product(A, B))


def test_the_kernel_can_be_forced():
    for name in ("logic", "mma"):
        assert bind(lor_land, bool, device="cuda", instructions=name).instructions == name
    with pytest.raises(DeviceError, match="instructions must be one of wgmma, mma, logic, got 'abacus'"):
        bind(lor_land, bool, device="cuda", instructions="abacus")
    with pytest.raises(DTypeError, match="instructions='mma' is for packed bits"):
        bind(max_min, "float32", device="cuda", instructions="mma")


@pytest.mark.parametrize("reflexive", [False, True])
@pytest.mark.parametrize("schedule", ["auto", "recursive", "blocked"])
@pytest.mark.parametrize("density", [0.002, 0.05])
def test_graphs(reflexive, schedule, density, tmp_path):
    n = 400
    graph = apsp.as_graph(np.where(random_bool((n, n), 7, density), 1.0, np.inf))
    t = apsp.transitive_closure(graph, device="cuda", schedule=schedule, reflexive=reflexive)
    u = apsp.transitive_closure(graph, device="cpu", schedule=schedule, reflexive=reflexive)
    assert t.plan.device == "cuda"
    assert t.matrix == u.matrix
    np.testing.assert_array_equal(t.counts(), u.counts())
    assert t.components() == u.components()
    assert t.descendants(3) == u.descendants(3)
    assert t.ancestors(3) == u.ancestors(3)
    t.save(tmp_path / "t.npz")
    assert apsp.Reachability.load(tmp_path / "t.npz").matrix == u.matrix


def test_what_does_not_fit_is_said(cp):
    n = 1 << 22  # 2 TiB of bits
    words = cp.lib.stride_tricks.as_strided(cp.zeros(1, np.uint64), (n, n // 64), (0, 0))
    with pytest.raises(MemoryNeeded, match=r"closure: .*TiB must fit on cuda, got .* free"):
        apsp.closure(BitMatrix._of(words, (n, n)), "boolean")


def test_compare_shows_bits():
    table = apsp.compare(random_bool((300, 300), 1, 0.01), "boolean", devices=["cuda"])
    assert {"recursive", "blocked", "iterative"} <= {row.contender.schedule for row in table.rows}
    assert all(row.same is not False for row in table.rows)


def test_regular_paths_of_matrices_on_a_gpu(cp):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    A, B = random_bool((40, 40), 1, 0.05), random_bool((40, 40), 2, 0.05)
    found = apsp.reachable({"a": sparse.csr_matrix(cp.asarray(A, np.float32)), "b": cp.asarray(B)}, "a b* a")
    assert found.matrix == apsp.reachable({"a": A, "b": B}, "a b* a").matrix


@pytest.mark.parametrize("reflexive", [False, True])
def test_pairs_by_an_index(cp, reflexive):
    rng = np.random.default_rng(1)
    n = 2000
    u, v = rng.integers(0, n, (2, 2 * n))
    t = apsp.transitive_closure(apsp.Graph.from_arrays(u, v, n=n), engine="indexed", reflexive=reflexive)
    i, j = rng.integers(0, n, (2, 3, 5000))
    found = t.reaches(cp.asarray(i), cp.asarray(j))
    assert isinstance(found, cp.ndarray)
    np.testing.assert_array_equal(found.get(), t.reaches(i, j))
    np.testing.assert_array_equal(t.reaches(cp.arange(n), 5).get(), t.reaches(np.arange(n), 5))
    np.testing.assert_array_equal(
        t.reaches(cp.arange(9, dtype="int32")[:, None], np.arange(7)).get(),
        t.reaches(np.arange(9)[:, None], np.arange(7)),
    )
    for wrong in (-1, n):
        with pytest.raises(apsp.VertexError, match=str(wrong)):
            t.reaches(cp.asarray([0, wrong]), cp.asarray([1, 1]))
    bits = apsp.transitive_closure(apsp.Graph.from_arrays(u, v, n=n), reflexive=reflexive)
    np.testing.assert_array_equal(bits.reaches(cp.asarray(i), cp.asarray(j)).get(), t.reaches(i, j))
    named = apsp.transitive_closure([("a", "b"), ("b", "c")], engine="indexed")
    assert named.reaches("a", "c")
