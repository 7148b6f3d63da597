"""A dtype is one record: uint16, which the library lacks, is added by one, and right in every verb; or refused."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace

import cases
import numpy as np
import pytest
import scipy.sparse as sp
from test_sparse_products import multiplied, table
from test_sparse_products_emulated import on_gpu, same, sent  # noqa: F401 (a fixture)

import apsp
import semiring
from apsp.road import schedules
from semiring import AlgebraError, DomainError, DTypeError, Semiring
from semiring.algebra import dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.survey import survey
from semiring.kernels.backend import bind
from semiring.sparse import Searches

INFINITY = 65535
#: The record.
UINT16 = dtypes.DTypeRecord("uint16", ("unsigned short", "int", "long long"))


@pytest.fixture
def shorts(monkeypatch):
    """Lengths in uint16, most of them beyond int16."""
    monkeypatch.setitem(dtypes.SCALARS, np.dtype("uint16"), UINT16)
    both = ("uint16", "int32", "float64")
    s = replace(semiring.min_plus, name="short_lengths", aliases=(), dtypes=both, samples=(0, 1, np.inf), variants=())
    return cases.Case(s, np.dtype("uint16"))


@pytest.fixture
def widths(monkeypatch):
    """Bottlenecks in uint16, where 0 is no edge."""
    monkeypatch.setitem(dtypes.SCALARS, np.dtype("uint16"), UINT16)
    options = {"dtypes": ("uint16",), "domain": (0, np.inf), "samples": (0, 1, np.inf)}
    return cases.Case(
        Semiring("short_widths", semiring.max_min.add, semiring.max_min.mul, 0, np.inf, **options), np.dtype("uint16")
    )


def entries(case, shape, seed, density=0.3, most=INFINITY):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < density, rng.integers(0, most, shape), case.zero).astype(case.dtype)


def sparse_of(case, A):
    edges = np.nonzero(A != case.zero)
    return sp.csr_array((A[edges], edges), shape=A.shape)


def predecessors_fit(case, A, D, P):
    mul = cases.scalar_mul(case)
    for i, j in zip(*np.nonzero(~np.eye(len(A), dtype=bool)), strict=True):
        k = P[i, j]
        assert (k < 0) if D[i, j] == case.zero else (k != j and mul(D[i, k].item(), A[k, j].item()) == D[i, j])


def witnesses_fit(case, A, B, C, W):
    cases.same(case, C, cases.product(case, A, B))
    for i, j in zip(*np.nonzero(C != case.zero), strict=True):
        assert cases.scalar_mul(case)(A[i, W[i, j]].item(), B[W[i, j], j].item()) == C[i, j]


def test_a_record_adds_a_dtype(shorts):
    case, s = shorts, shorts.semiring
    for n in (0, 1, 65, 131):
        A = entries(case, (n, n), n)
        cases.same(case, apsp.closure(A, s), cases.closure(case, A))
        cases.same(case, semiring.matmul(A, A, s), cases.product(case, A, A))
    heavy = entries(case, (40, 40), 3, 0.1)
    cases.same(case, apsp.closure(heavy, s), cases.closure(case, heavy))
    with pytest.raises(DomainError, match="every distance must fit uint16"):
        apsp.shortest_paths(heavy, s)


@pytest.mark.release
@pytest.mark.parametrize("name", ["shorts", "widths"])
def test_a_record_adds_a_dtype_to_every_verb(name, request):
    case = request.getfixturevalue(name)
    s, mul = case.semiring, cases.scalar_mul(case)
    A, B, heavy = entries(case, (40, 40), 1, 0.1, 5000), entries(case, (40, 33), 2), entries(case, (40, 40), 3, 0.1)
    D, S, thrice = cases.closure(case, A), sparse_of(case, A), cases.product(case, cases.product(case, A, A), A)
    witnesses_fit(case, A, B, *semiring.matmul(A, B, s, witness=True))
    cases.same(case, semiring.matmul(S, B, s), cases.product(case, A, B))
    cases.same(case, semiring.einsum("ij,jk,kl->il", A, A, A, semiring=s), thrice)
    cases.same(case, semiring.power(A, 3, s), thrice)
    pairs = [mul(*x) for x in heavy[:, :2].tolist()]
    assert semiring.prod(heavy[:, :2], s, axis=1).tolist() == pairs
    cases.same(case, semiring.eliminate(S, s).to_dense(), D)
    cases.same(case, apsp.shortest_paths(A, s).distances, D)
    predecessors_fit(case, A, D, apsp.shortest_paths(A, s).predecessors)
    for engine in ("elimination", "searches"):
        cases.same(case, apsp.shortest_paths(S, s, dtype="uint16", engine=engine).distances, D)
    cases.same(case, apsp.closure(heavy, s), cases.closure(case, heavy))


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
@pytest.mark.parametrize("name", ["shorts", pytest.param("widths", marks=pytest.mark.release)])
def test_a_record_adds_a_dtype_on_an_emulated_gpu(name, request):
    case, cp = map(request.getfixturevalue, (name, "on_gpu"))
    from semiring.kernels.cuda.csr import backend as sparse

    s, ops, send = case.semiring, bind(case.semiring, case.dtype, device="cuda", nonnegative=True), cp.asarray
    for m, k, n in ((1, 1, 1), (33, 40, 67)):
        A, B, C = (entries(case, shape, seed) for seed, shape in enumerate(((m, k), (k, n), (m, n))))
        c = send(C)
        ops.gemm(c, send(A), send(B))
        cases.same(case, np.array(c), cases.product(case, A, B, C))
    A = entries(case, (67, 67), 5, 0.1)
    D, d, P = cases.closure(case, A), send(A), cp.empty((67, 67), np.int32)
    ops.closure_batch(d[None], schedules.get("blocked"))
    cases.same(case, np.array(d), D)
    ops.predecessors(P, send(A), d)
    predecessors_fit(case, A, D, np.array(P))
    C, W = semiring.matmul(send(A), send(A), s, witness=True)
    witnesses_fit(case, A, A, np.array(C), np.array(W))
    S = sparse_of(case, A)
    cases.same(case, np.array(semiring.eliminate(S, s, device="cuda").to_dense()), D)
    same(case, sparse.multiply(sent(S), sent(S), s, None, False, None, "test"), multiplied(case, *[table(case, S)] * 2))
    if name == "widths":  # sums of heaviest arcs must fit
        cases.same(case, np.array(Searches(S, s, device="cuda").to_dense()), D)
    assert survey(d, s, where="test") == survey(D, s, where="test")


def test_conversions_keep_infinity(shorts):
    s, to = shorts.semiring, {"dtype": "uint16", "where": "test"}
    assert conform(np.array([0, 3, np.inf]), s, **to).tolist() == [0, 3, INFINITY]
    assert conform(np.array([0, 3, 2**31 - 1], np.int32), s, **to).tolist() == [0, 3, INFINITY]
    for dtype, infinity in (("int32", 2**31 - 1), ("float64", np.inf)):
        assert conform(np.array([0, 3, INFINITY], np.uint16), s, dtype, where="test").tolist() == [0, 3, infinity]
    with pytest.raises(DomainError, match=r"must lie in \(-inf, inf\], got -inf at \(0,\)"):
        conform(np.array([-np.inf]), s, **to)
    for values in ([0.5], [-1.0], [65535.0], np.array([-1]), np.array([65535]), np.array([-(2**31)], np.int32)):
        with pytest.raises(DTypeError, match="uint16 must hold every entry exactly"):
            conform(np.asarray(values), s, **to)


def test_a_dtype_without_a_record_or_without_kernels_is_refused(monkeypatch):
    options = {"name": "lengths", "aliases": (), "samples": (0, 1, np.inf), "variants": ()}
    with pytest.raises(AlgebraError, match=r"dtypes must be among int16, .*, bool, got uint16"):
        replace(semiring.min_plus, dtypes=("uint16",), **options)
    with pytest.raises(DTypeError, match=r"entries must be of int16, .* got uint16"):
        dtypes.SCALARS[np.dtype("uint16")]
    monkeypatch.setitem(dtypes.SCALARS, np.dtype("uint16"), dtypes.DTypeRecord("uint16", cpu=False))
    s = replace(semiring.min_plus, dtypes=("uint16",), **options)
    with pytest.raises(DTypeError, match="the CPU has no instructions for uint16"):
        apsp.closure(np.zeros((2, 2), np.uint16), s)
    with pytest.raises(DTypeError, match="the GPU has no kernels for uint16"):
        bind(s, "uint16", device="cuda")
    for name in ("max_plus", "max_min"):  # of no sign, without −∞
        with pytest.raises(AlgebraError, match="zero must be a number that uint16 holds, got -inf"):
            replace(semiring.get(name), dtypes=("uint16",), **options)
