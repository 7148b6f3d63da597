"""Gradients of products and closures: against finite differences, NetworkX's betweenness and sums written out."""

from __future__ import annotations

import importlib.util
from functools import partial
from itertools import product

import networkx as nx
import numpy as np
import pytest

import semiring
from apsp import closure, predecessors
from semiring import (
    AlgebraError,
    DeviceError,
    DomainError,
    DTypeError,
    NegativeCycleError,
    ShapeError,
    einsum,
    get,
    matmul,
)
from semiring.kernels.cpu.routes import gradients as kernels
from semiring.tensors import gradients

INF = np.inf
SELECTING = ("min_plus", "max_plus", "max_times", "min_times")
SUMMING = ("log_plus", "plus_times")
#: Of each pair a kernel of sums is compiled, for eight seconds: the others wait for a release.
DIAGONAL = [("min_plus", "float32"), ("max_plus", "float64"), ("max_times", "float64")]


def weights(name, shape, seed=0):
    """Random weights without ties, whose closure exists."""
    W, n = np.random.default_rng(seed).random(shape), shape[-1]
    return {
        "min_plus": W + 0.1,
        "max_plus": -W - 0.1,
        "max_times": 0.9 * W + 0.02,
        "min_times": W + 1.1,
        "log_plus": np.log(W / n / 1.5 + 1e-3),
        "plus_times": (W - 0.3) / n,
    }[name]


def graph(n, seed, *, greatest=9):
    """A digraph with integer weights, so with many ties, as a matrix."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.4, rng.integers(1, greatest + 1, (n, n)), INF)
    np.fill_diagonal(A, INF)
    return A


class TestSums:
    """The sums along paths, of NumPy's arrays."""

    @pytest.mark.parametrize("n", [0, 1, 2, 31, 65, 130])
    def test_what_paths_carry_is_what_goes_over_edges(self, n):
        """Path by path; Σ flow · weight = Σ demand · distance; and the same bits by any number of threads."""
        A, rng = graph(n, n), np.random.default_rng(1)
        D = closure(A)
        P = predecessors(A, D, null_value=None)
        for dtype in (np.float32, np.float64):
            Q = rng.standard_normal((n, n)).astype(dtype)
            F = kernels.collected(P, kernels.subtrees(P, Q, 1), n, 1)
            wanted = np.zeros((n, n))
            for s, t in np.argwhere(P >= 0):
                j = t
                while j != s:
                    wanted[P[s, j], j] += Q[s, t]
                    j = P[s, j]
            tolerance = 1e-5 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(F, wanted, rtol=tolerance, atol=tolerance * n)
            carried = (F[F != 0] * A[F != 0]).sum(), (Q[P >= 0] * D[P >= 0]).sum()
            np.testing.assert_allclose(*carried, rtol=tolerance, atol=tolerance * n * n)
            for threads in (2, 3):
                same = kernels.collected(P, kernels.subtrees(P, Q, threads), n, threads)
                assert same.tobytes() == F.tobytes()

    def test_demand_without_a_path_counts_nowhere(self):
        A = np.array([[INF, 1, INF], [INF, INF, INF], [INF, 2, INF]])
        D = closure(A)
        P, Q = predecessors(A, D), np.where(np.isinf(D), np.nan, 1)
        F = kernels.collected(P, kernels.subtrees(P, Q, 1), 3, 1)
        np.testing.assert_array_equal(F, np.where(np.isinf(A), 0, 1))

    @pytest.mark.parametrize("seed", range(4))
    def test_shares_among_ties_are_networkx_betweenness(self, seed):
        A = graph(24, seed, greatest=3)
        D = closure(A)
        F = gradients.paths_by_closure(get("min_plus"), "shared", None, A, D, None, np.ones_like(D))
        G = nx.from_numpy_array(np.where(np.isinf(A), 0, A), create_using=nx.DiGraph)
        wanted = np.zeros_like(A)
        for (i, j), value in nx.edge_betweenness_centrality(G, weight="weight", normalized=False).items():
            wanted[i, j] = value
        np.testing.assert_allclose(F, wanted, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize(
        ("name", "dtype"),
        [
            pytest.param(*pair, marks=() if pair in DIAGONAL else pytest.mark.release)
            for pair in product(SELECTING, ("float32", "float64"))
        ],
    )
    def test_where_nothing_ties_shares_are_those_of_the_only_paths(self, name, dtype):
        s, A, times = get(name), weights(name, (30, 30), 5).astype(dtype), name.endswith("times")
        A[np.random.default_rng(6).random(A.shape) < 0.5] = s.zero
        D, G = closure(A, name, null_value=None), np.random.default_rng(7).standard_normal(A.shape)
        P, wanted = predecessors(A, D, name, null_value=None), np.zeros(A.shape)
        for i, t in np.argwhere(P >= 0):
            j = t
            while j != i:
                wanted[P[i, j], j] += G[i, t] * D[i, t] / A[P[i, j], j] if times else G[i, t]
                j = P[i, j]
        F = gradients.paths_by_closure(s, "shared", 2, A, D, None, G)
        np.testing.assert_allclose(F, wanted, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-12)

    def test_paths_without_number_are_refused(self):
        A = np.array([[INF, 1, INF, INF], [INF, INF, 0, 1], [INF, 0, INF, INF], [INF] * 4])
        D = closure(A, null_value=None)
        with pytest.raises(
            DomainError, match=r"a cycle among those that costs nothing, through vertex 1\. Say ties='one'"
        ):
            gradients.paths_by_closure(get("min_plus"), "shared", None, A, D, None, np.ones_like(D))

    @pytest.mark.parametrize("name", SELECTING)
    @pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (9, 0, 4), (2, 40, 600)])
    def test_the_first_of_the_best_products_is_chosen(self, name, shape):
        s, (m, k, n), rng = get(name), shape, np.random.default_rng(0)
        A, B = rng.integers(1, 5, (m, k)).astype(np.float32), rng.integers(1, 5, (k, n)).astype(np.float32)
        if k > 1:
            A[0], B[:, 0] = s.zero, s.zero
        times = name.endswith("times")
        options = {"greatest": s.add.selects == "greatest", "times": times, "zero": float(s.zero), "threads": 2}
        T = A[:, :, None] * B if times else A[:, :, None] + B
        best = (T.argmax if options["greatest"] else T.argmin)(axis=1) if k else np.full((m, n), -1)
        best[matmul(A, B, name) == s.zero] = -1
        np.testing.assert_array_equal(kernels.chosen(A, B, **options), best)

    @pytest.mark.parametrize("scale", [1, 400])
    def test_sums_of_exponentials_whatever_their_size(self, scale):
        rng = np.random.default_rng(0)
        U, V = rng.standard_normal((2, 6, 6))
        M = scale * rng.standard_normal((6, 6))
        L, N = (scale * rng.random((6, 6)) - X for X in (M.max(axis=1)[:, None] + scale, np.zeros((6, 6))))
        L[1], N[:, 2] = -INF, -INF
        exponents = L[:, :, None] + N + M[:, None, :]
        for u, v in ((U, V), (U, None), (None, V), (None, None)):
            factors = (1 if u is None else u[:, :, None]) * (1 if v is None else v)
            wanted = (factors * np.exp(exponents)).sum(axis=1)
            np.testing.assert_allclose(gradients.softsum(u, v, L, N, M), wanted, rtol=1e-9)
        U[3, 3] = INF  # as of a loss whose scale was too large
        assert np.isnan(gradients.softsum(U, None, L, N, M)).all()


def test_unknown_ties_are_refused():
    for call in (lambda: closure(np.ones((2, 2)), ties="all"), lambda: matmul(np.eye(2), np.eye(2), ties="all")):
        with pytest.raises(ValueError, match="ties must be 'one' or 'shared', got 'all'"):
            call()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
class TestTorch:
    @staticmethod
    def tensor(array, **options):
        import torch

        return torch.tensor(array, requires_grad=True, **options)

    @pytest.mark.parametrize("ties", gradients.TIES)
    @pytest.mark.parametrize("name", SELECTING + SUMMING)
    def test_finite_differences(self, name, ties):
        from torch.autograd import gradcheck, gradgradcheck

        for shape in ((5, 5), (2, 3, 3), (1, 1)):
            A = self.tensor(weights(name, shape))
            assert gradcheck(lambda A: closure(A, name, ties=ties), A)
            if name in SUMMING:
                assert gradgradcheck(lambda A: closure(A, name, ties=ties), A, fast_mode=True)
        for left, right in (((3, 5), (5, 4)), ((2, 2, 4), (4, 3)), ((4,), (2, 4, 3)), ((2, 4), (4,))):
            A, B = self.tensor(weights(name, left, 1)), self.tensor(weights(name, right, 2))
            assert gradcheck(lambda A, B: matmul(A, B, name, ties=ties), (A, B))
            if name in SUMMING:
                assert gradgradcheck(lambda A, B: matmul(A, B, name, ties=ties), (A, B), fast_mode=True)

    @pytest.mark.parametrize("scale", [1.0, 300.0])
    def test_logarithms_of_any_size_and_no_edges(self, scale):
        import torch
        from torch.autograd import gradcheck, gradgradcheck

        edges = torch.rand(6, 6, generator=torch.Generator().manual_seed(0)) < 0.5
        w = self.tensor(weights("log_plus", (6, 6))[edges.numpy()])

        def distances(w):
            A = torch.full((6, 6), -INF, dtype=torch.float64).masked_scatter(edges, scale * w)
            D = closure(A, "log_plus")
            return D[torch.isfinite(D)]

        assert gradcheck(distances, w, eps=1e-7, atol=1e-4)
        assert gradgradcheck(distances, w, eps=1e-8, atol=1e-2 * scale)

    @pytest.mark.parametrize("name", ["max_times", "log_plus"])
    def test_compiled_is_the_same(self, name):
        import torch

        torch._dynamo.reset()
        A, B = (self.tensor(weights(name, (5, 5), seed)) for seed in (0, 1))

        def loss(A, B):
            D = closure(A, name, schedule="blocked", block=2, threads=1)
            return (matmul(D, B, name, threads=1) ** 2).sum() + semiring.sum(A, name, axis=(0, -1))

        found = torch.autograd.grad(torch.compile(loss, fullgraph=True, backend="aot_eager")(A, B), (A, B))
        for x, y in zip(found, torch.autograd.grad(loss(A, B), (A, B)), strict=True):
            assert torch.equal(x, y)
        plain = torch.compile(lambda A: closure(A, "max_min") + 1, fullgraph=True, backend="aot_eager")
        assert torch.equal(plain(A.detach()), closure(A.detach(), "max_min") + 1)

    def test_wrong_options_are_refused_by_the_function_that_was_called(self):
        A = self.tensor(np.ones((3, 3)))
        for wrong in ({"block": "a"}, {"block": 2.5}, {"block": 0}, {"schedule": 5}, {"schedule": "x"}):
            with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be .* got "):
                closure(A, **wrong)
        assert closure(A, block=np.int64(2), schedule="blocked").requires_grad
        calls = {"closure": closure, "matmul": partial(matmul, A), "einsum": partial(semiring.einsum, "ij->i")}
        calls |= {"sum": semiring.sum, "prod": semiring.prod, "outer": partial(semiring.outer, A)}
        for name, call in calls.items():
            for threads in (0, "2"):
                with pytest.raises(DeviceError, match=f"^{name}: threads must be a positive integer, got {threads!r}"):
                    call(A, threads=threads)

    def test_no_path_no_gradient(self):
        import torch

        for name in ("min_plus", "max_times", "log_plus"):
            zero, A = get(name).zero, weights(name, (6, 6))
            A[:3, 3:] = zero
            A = self.tensor(A)
            D = closure(A, name)
            D.backward(torch.where(D == zero, torch.nan, 1.0))
            assert torch.isfinite(A.grad).all()
            assert not A.grad[:3, 3:].any()
            assert name == "log_plus" or not A.grad.diagonal().any()

    def test_ties(self):
        X = self.tensor([[0, 1, 1, INF], [INF, 0, INF, 1], [INF, INF, 0, 1], [INF, INF, INF, 0]])
        for ties, wanted in (("one", [1, 0, 1, 0]), ("shared", [0.5, 0.5, 0.5, 0.5])):
            X.grad = None
            closure(X, ties=ties)[0, 3].backward()
            assert [X.grad[0, 1], X.grad[0, 2], X.grad[1, 3], X.grad[2, 3]] == wanted
            Y = self.tensor([[1.0, 1.0]])
            matmul(Y, [[0.0], [0.0]], ties=ties).backward()
            assert Y.grad.tolist() == [[1, 0] if ties == "one" else [0.5, 0.5]]

    def test_in_what_dtypes_and_where_gradients_are_off(self):
        import torch

        A = self.tensor(weights("min_plus", (4, 4)), dtype=torch.bfloat16)
        D = closure(A)
        assert D.dtype == torch.float32
        D.sum().backward()
        assert A.grad.dtype == torch.bfloat16
        with torch.no_grad():
            assert not closure(A).requires_grad
            assert not closure(A, "max_min").requires_grad  # which has no gradient
        B = self.tensor(weights("min_plus", (4, 4)))
        turned = closure(B.mT)
        assert torch.equal(torch.autograd.grad(turned.sum(), B)[0], torch.autograd.grad(closure(B).sum(), B)[0])

    def test_a_semiring_of_ones_own(self):
        import dataclasses

        import torch

        own = dataclasses.replace(get("min_plus"), name="own", aliases=())
        A = self.tensor(weights("min_plus", (5, 5)))
        found, wanted = (torch.autograd.grad(closure(A, s).sum(), A)[0] for s in (own, "min_plus"))
        assert torch.equal(found, wanted)
        compiled = torch.compile(lambda A: closure(A, own), fullgraph=True, backend="aot_eager")
        assert torch.equal(torch.autograd.grad(compiled(A).sum(), A)[0], wanted)

    def test_what_is_refused(self):
        A = self.tensor([[0.0, 3.0], [1.0, 0.0]])
        for options, words in (
            ({"overwrite": True}, "overwrite must be left out"),
            ({"null_value": 0}, "null_value must be left out"),
            ({"dtype": "float64"}, r"Convert the tensor first, or pass A\.detach"),
        ):
            with pytest.raises(ValueError, match=words):
                closure(A, **options)
        with pytest.raises(ValueError, match="out must be left out"):
            matmul(A, A, out=A)
        for call in (lambda: closure(A, "max_min"), lambda: matmul(A, A, "max_min")):
            with pytest.raises(AlgebraError, match=r"got max_min.*A\.detach"):
                call()
        with pytest.raises(NegativeCycleError, match="0 → 1 → 0"):
            closure(self.tensor([[0.0, -1.0], [0.5, 0.0]]))
        with pytest.raises(DTypeError, match=r"one library and dtype.*float64"):
            matmul(A, np.eye(2))

    @pytest.mark.gpu
    @pytest.mark.parametrize("ties", gradients.TIES)
    @pytest.mark.parametrize("name", SELECTING + SUMMING)
    def test_a_gpu_says_the_same(self, name, ties):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        for shape, scale in (((70, 70), 1.0), ((3, 130, 130), 1.0), ((300, 300), 99.0 if name == "log_plus" else 1.0)):
            both = []
            for device in ("cpu", "cuda", "cuda"):
                A = self.tensor(scale * weights(name, shape), device=device)
                B = self.tensor(scale * weights(name, shape, 1), device=device)
                C = matmul(closure(A, name, ties=ties), B, name, ties=ties)
                both.append([x.cpu() for x in torch.autograd.grad(C.sum() + C[..., 0].sum(), (A, B))])
            for host, device, again in zip(*both, strict=True):
                torch.testing.assert_close(host, device, rtol=1e-9, atol=1e-9)
                assert torch.equal(device, again)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
class TestJax:
    @pytest.fixture(autouse=True)
    def double(self):
        import jax

        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield
        jax.config.update("jax_enable_x64", before)

    @pytest.mark.parametrize("ties", gradients.TIES)
    @pytest.mark.parametrize("name", SELECTING + SUMMING)
    def test_finite_differences(self, name, ties):
        import jax
        from jax.test_util import check_grads

        order = 2 if name in SUMMING else 1
        A, B = (jax.numpy.asarray(weights(name, (2, 4, 4), seed)) for seed in (0, 1))

        def loss(A, B):
            return (matmul(closure(A, name, ties=ties), B[0], name, ties=ties) ** 2).sum()

        check_grads(jax.jit(loss), (A, B), order, modes=["rev"], eps=1e-6)
        np.testing.assert_array_equal(jax.jit(jax.grad(loss))(A, B), jax.grad(loss)(A, B))

    def test_what_is_refused(self):
        import jax

        A = jax.numpy.asarray(weights("min_plus", (3, 3)))
        with pytest.raises(AlgebraError, match="got max_min"):
            jax.grad(lambda A: closure(A, "max_min").sum())(A)
        for wrong in (A[0], A[:2], A[None, None]):
            with pytest.raises(ShapeError, match="closure: A must be square"):
                jax.jit(closure)(wrong)
        with pytest.raises(ValueError, match="device must be left out"):
            jax.jit(lambda A: closure(A, device="cpu"))(A)
        np.testing.assert_array_equal(jax.jit(lambda A: closure(A, "max_min"))(A), closure(np.asarray(A), "max_min"))
        for call in (closure, lambda A: matmul(A, A), lambda A: einsum("ij,jk->ik", A, A)):
            with pytest.raises(AlgebraError, match="second derivatives are defined over log_plus"):
                jax.grad(lambda A, call=call: jax.grad(lambda A: (call(A) ** 2).sum())(A).sum())(A)

    @pytest.mark.parametrize("name", ["min_plus", "log_plus"])
    @pytest.mark.parametrize("ties", gradients.TIES)
    def test_vmap(self, name, ties):
        import jax

        A = jax.numpy.asarray(weights(name, (2, 3, 4, 4)))

        def loss(A):
            return (matmul(closure(A, name, ties=ties), A, name, ties=ties) ** 2).sum()

        twice = jax.vmap(jax.vmap(jax.value_and_grad(loss)))
        for found in (twice(A), jax.jit(twice)(A)):
            for i, j in np.ndindex(2, 3):
                value, slope = jax.value_and_grad(loss)(A[i, j])
                np.testing.assert_allclose(found[0][i, j], value, rtol=1e-12)
                np.testing.assert_allclose(found[1][i, j], slope, rtol=1e-12)

    @pytest.mark.parametrize("call", [closure, lambda A, s="min_plus": matmul(A, A, s)], ids=["closure", "matmul"])
    def test_dtypes_are_known_before_numbers(self, call):
        """Small integers are widened as outside of jit; what no semiring takes is refused while JAX traces."""
        import jax

        A = jax.numpy.asarray([[0, 3, 90], [70, 0, 40], [1, 2, 0]], "int8")
        for dtype in ("int8", "uint8", "uint16", "uint32", "float16", "bfloat16"):
            found, wanted = jax.jit(call)(A.astype(dtype)), call(A.astype(dtype))
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
        for wrong, name in ((A < 5, "min_plus"), (A.astype(float), "boolean"), (A.astype(complex), "min_plus")):
            with pytest.raises(DTypeError, match="is defined on"):
                jax.jit(lambda A, s=name: call(A, s))(wrong)
        jax.config.update("jax_enable_x64", False)  # `double` restores it
        with pytest.raises(DTypeError, match="jax_enable_x64"):
            jax.jit(call)(A.astype("uint32"))
