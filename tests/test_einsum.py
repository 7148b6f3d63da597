"""`einsum`, `sum`, `prod` and `outer` against uncompiled loops over all indices, and their gradients."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import sys
from functools import reduce

import cases
import numpy as np
import pytest
from scipy.sparse import csr_array

import semiring
from semiring import (
    DeviceError,
    DomainError,
    DTypeError,
    MemoryNeeded,
    SemiringError,
    ShapeError,
    einsum,
    einsum_path,
    get,
)
from semiring.tensors.contraction import planned

INF = np.inf
ORDERED = pytest.mark.skipif(importlib.util.find_spec("opt_einsum") is None, reason="opt_einsum is not installed")
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
#: How long an index is: "d" 1, "e" 0.
SIZES = dict(zip("abcdef", (3, 2, 4, 1, 0, 5), strict=True))
SUBSCRIPTS = (
    *("ac,cf->af", "bac,bcf->baf", "bac,bcf->afb", "ac,cf", "ac->ca", "ac->", "ac->c", "aa->a", "aa", "caa->c"),
    *("a,c->ac", "ac,ac->ca", "ac,ac->a", "ac,bc->", "ad,df->af", "ae,ef->af", "ce->c", "e,e->", "ba,bca->bc"),
    *("bac,c->ba", "bac,bfc->ba", "aab,bcc->ac", "dac,dcf->af", "a->a", ",a->a", "->"),
)
CHAINS = (
    "ab,bc,cf->af",
    "ab,bc,cf->fa",
    "ac,bc,fc->abf",
    "ab,ac,af->bcf",
    "b,ba,ac,c->",
    "ba,b,bc,bf->acf",
    "a,a,a->a",
)
FEW = [c for c in (*cases.CASES, *cases.USER_CASES) if str(c) in cases.FEW | {"min_plus-int64"}]


def loops(case, subscripts, operands):
    """Every assignment of the indices, one after the other, in Python's numbers."""
    left, arrow, output = subscripts.partition("->")
    inputs = left.split(",")
    if not arrow:
        output = "".join(sorted(x for x in set(left) - {","} if left.count(x) == 1))
    lengths = {}
    for letters, X in zip(inputs, operands, strict=True):
        for x, n in zip(letters, X.shape, strict=True):
            lengths[x] = n if lengths.get(x, 1) == 1 else lengths[x]
    add, mul = case.semiring.add.python, cases.scalar_mul(case)
    letters = [*output, *(x for x in lengths if x not in output)]
    found = np.full([lengths[x] for x in output], case.zero.item(), dtype=object)
    for index in itertools.product(*(range(lengths[x]) for x in letters)):
        which = dict(zip(letters, index, strict=True))
        entries = [
            X[tuple(which[x] if n > 1 else 0 for x, n in zip(part, X.shape, strict=True))].item()
            for part, X in zip(inputs, operands, strict=True)
        ]
        to = tuple(which[x] for x in output)
        found[to] = add(found[to], reduce(mul, entries))
    return found.astype(case.dtype)


def operands_of(case, subscripts, seed=0):
    shapes = [[SIZES[x] for x in part] for part in subscripts.partition("->")[0].split(",")]
    return [
        cases.random_matrix(case, (1, *s), seed + k, density=0.7, negative=True).reshape(s)
        for k, s in enumerate(shapes)
    ]


@pytest.mark.parametrize("case", FEW, ids=str)
def test_one_operand_or_two_agree_with_loops(case):
    for subscripts in SUBSCRIPTS:
        operands = operands_of(case, subscripts)
        found = einsum(subscripts, *operands, semiring=case.semiring)
        cases.same(case, found, loops(case, subscripts, operands))
        assert not any(np.shares_memory(found, X) for X in operands)


@ORDERED
@pytest.mark.parametrize("case", FEW, ids=str)
def test_chains_and_stars_agree_with_loops(case):
    for subscripts in CHAINS:
        operands = operands_of(case, subscripts, seed=5)
        cases.same(case, einsum(subscripts, *operands, semiring=case.semiring), loops(case, subscripts, operands))


@ORDERED
def test_every_order_is_the_same():
    case = next(c for c in FEW if str(c) == "max_plus-int32")
    operands = operands_of(case, "ab,bc,cf->af")
    wanted = loops(case, "ab,bc,cf->af", operands)
    for order in ("optimal", "greedy", [(0, 1), (0, 1)], [(1, 2), (0, 1)], [(0, 2), (0, 1)], [(0, 1, 2)]):
        cases.same(case, einsum("ab,bc,cf->af", *operands, semiring="max_plus", order=order), wanted)


def test_operands_stay_in_order_where_multiplication_does_not_commute():
    left = dataclasses.replace(
        get("max_min"),
        name="leftmost",
        aliases=(),
        mul=semiring.Op("left", python=lambda a, b: a if b > -INF else b, cuda="b > -INFINITY ? a : b"),
        dtypes=("float64",),
        samples=(-INF, 0.0, 3.0, 8.0, INF),
    )
    x, y, z = np.array([[1.0, 2.0]]), np.array([[5.0], [7.0]]), np.array([[9.0]])
    for order in ("auto", [(1, 2), (0, 1)]):
        assert einsum("ab,bc,cd->ad", x, y, z, semiring=left, order=order) == 2
    assert einsum("bc,ab->ac", y, x, semiring=left) == 7
    assert einsum("b,b->b", y[:, 0], x[0], semiring=left).tolist() == [5, 7]


def test_integers_saturate_and_zero_absorbs():
    for dtype in (np.int16, np.int32, np.int64):
        top, low = np.iinfo(dtype).max, np.iinfo(dtype).min
        x = np.array([top, top - 1, -5, low + 1, low + 1], dtype)
        y = np.array([-5, 7, top, -7, 3], dtype)
        assert einsum("i,i->i", x, y).tolist() == [top, top, top, low, low + 4]
        assert einsum("i,i->i", -x, -y, semiring="max_plus").tolist()[1:3] == [low, -top + 5]


def chained(X, s):
    """The product of matrices by Python's integers, as their dtype holds it: an end is what lies beyond, or no sum."""
    info, n = np.iinfo(X[0].dtype), len(X[0])
    zero, best = (info.max, min) if s == "min_plus" else (info.min, max)
    numbers = [A.tolist() for A in X]
    D = [[zero] * n for _ in range(n)]
    for walk in itertools.product(range(n), repeat=len(X) + 1):
        legs = [A[i][j] for A, (i, j) in zip(numbers, itertools.pairwise(walk), strict=True)]
        if zero not in legs:
            old = D[walk[0]][walk[-1]]
            D[walk[0]][walk[-1]] = sum(legs) if old == zero else best(old, sum(legs))
    return np.array([[max(info.min, min(info.max, x)) for x in row] for row in D], X[0].dtype)


@pytest.mark.parametrize("dtype", ["int16", "int32"])
@pytest.mark.parametrize("s", ["min_plus", "max_plus"])
def test_integers_of_both_signs_that_saturate_on_the_way_are_exact(dtype, s):
    """In int16 −20000 − 20000 saturates, and + 20000 fits: of einsum, prod and power, dense and sparse."""
    rng, top = np.random.default_rng(5), np.iinfo(dtype).max
    zero = np.iinfo(dtype).max if s == "min_plus" else np.iinfo(dtype).min
    X = [rng.integers(-top, top, (3, 3)).astype(dtype) for _ in range(3)]
    X[0][0, 1] = X[1][2] = zero
    expected = chained(X, s)
    for order in ([(0, 1), (0, 1)], [(1, 2), (0, 1)]):
        out = np.empty_like(expected)
        assert einsum("ab,bc,cd->ad", *X, semiring=s, order=order, out=out) is out
        np.testing.assert_array_equal(out, expected)
        stored = csr_array((X[2].ravel(), np.tile(np.arange(3), 3), [0, 3, 6, 9]), shape=(3, 3))
        np.testing.assert_array_equal(einsum("ab,bc,cd->ad", *X[:2], stored, semiring=s, order=order), expected)
    x = (np.array([-20000, -20000, 20000]) * (top // 32767)).astype(dtype)
    assert semiring.prod(x, s) == semiring.prod(x[:, None], s, axis=0)[0] == x[0]
    assert einsum("a,a,a->a", *x[:, None], semiring=s, order=[(0, 1), (0, 1)]).tolist() == [x[0]]
    for k in (3, 4):
        held = chained([X[0]] * k, s)
        np.testing.assert_array_equal(semiring.power(X[0], k, s), held)
        rows, columns = (X[0] != zero).nonzero()
        sparse = csr_array((X[0][rows, columns], (rows, columns)), shape=(3, 3))
        found = semiring.power(sparse, k, s)
        found = found if isinstance(found, np.ndarray) else found.toarray()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found[held != zero], held[held != zero])


def test_integers_of_64_bits_of_both_signs_are_refused_where_they_may_not_fit():
    x = np.array([-(2**62), -(2**62) - 1, 2**62])
    A = np.diag(x)
    for call in (
        lambda x: semiring.prod(x),
        lambda x: einsum("a,a,a->a", x, x, x, order=[(0, 1), (0, 1)]),
        lambda x: semiring.power(np.diag(x), 3),
        lambda x: semiring.power(csr_array(np.diag(x)), 3),
        lambda x: einsum("ab,bc,cd->ad", csr_array(A), np.diag(x), A, order=[(0, 1), (0, 1)]),
    ):
        with pytest.raises(
            DomainError, match=r"of both signs must .* fit int64, got entries whose products of 3 .* Pass floats"
        ):
            call(x)
    assert semiring.prod(x.astype(float)) == -(2.0**62)
    assert semiring.prod(-np.abs(x)) == -(2**63)  # of one sign, what is beyond an end stays there


def test_ellipses_and_axes_of_size_one():
    rng = np.random.default_rng(0)
    A, B, C = rng.random((5, 1, 3, 4)), rng.random((2, 4, 3)), rng.random((1, 4))
    for subscripts, operands in (
        ("...ij,...jk->...ik", (A, B)),
        ("...ij,...jk", (A, B)),
        ("i...j,kj...->...ik", (A, B)),
        ("...i->...", (A,)),
        ("...,...->...", (B, C[0, 0])),
    ):
        found = einsum(subscripts, *operands, semiring="plus_times")
        np.testing.assert_allclose(found, np.einsum(subscripts, *operands), rtol=1e-12)
    wide = np.broadcast_to(C, (6, 4))
    for X in (C, wide, wide[::-1, ::-1]):  # size 1; stride 0; reversed
        full = np.broadcast_to(X, (6, 4))
        np.testing.assert_array_equal(einsum("ij,ij->ji", X, rng.random((6, 4)) * 0).T, full)
        np.testing.assert_array_equal(einsum("ij,kj->ik", full, full), (full[:, None] + full).min(axis=2))
    once = einsum("ij,ij->", np.ones((1, 3)), np.ones((4, 3)), semiring="plus_times")
    assert once == 12  # 1 goes with any: as often as the other has entries
    for row in (C, C.T):  # of an index that is there twice, too
        assert einsum("ii->i", row).tolist() == C[0].tolist()
        assert einsum("ii->", row) == C.min()


def test_out_which_may_be_an_operand():
    A = np.arange(9.0).reshape(3, 3)
    wanted = loops(cases.CASES[4], "ij,kj->ki", (A, A))
    assert einsum("ij,kj->ki", A, A, out=A) is A
    np.testing.assert_array_equal(A, wanted)
    B = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(einsum("ij->ji", B, out=B), np.arange(9.0).reshape(3, 3).T)
    with pytest.raises(ShapeError, match=r"out must have shape \(3,\)"):
        einsum("ij->i", A, out=np.empty(4))
    with pytest.raises(DTypeError, match="out must have dtype float64"):
        einsum("ij->i", A, out=np.empty(3, np.float32))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "words"),
    [
        ("ij,jk->ik", [(2, 3)], "as many parts as operands, 1"),
        ("ij", [(2, 3, 4)], "name each axis of an operand of shape"),
        ("i1->i", [(2, 3)], "must be letters"),
        ("i......->i", [(2, 3)], "one '...' an operand"),
        ("ij->ik", [(2, 3)], "different ones of the operands'"),
        ("ij->ii", [(2, 3)], "different ones of the operands'"),
        ("i...->i", [(2, 3)], "must have '...' where operands have"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "of one size, or 1, got 3 and 4 of 'j'"),
        ("ij,jk->ik", [(2, 5), (3, 4)], "of one size, or 1, got 5 and 3 of 'j'"),  # the later one is shorter
        ("ij,jk,kl->il", [(2, 3), (3, 5), (4, 2)], "of one size, or 1, got 5 and 4 of 'k'"),
        ("i,i->i", [(5,), (3,)], "of one size, or 1, got 5 and 3 of 'i'"),
        ("...,...->...", [(2, 5), (3,)], "of one size, or 1, got 5 and 3"),
        ("ii->i", [(5, 3)], "of one size, or 1, got 5 and 3 of 'i'"),
        ("i,j,ij->", [(1,), (4,), (2, 3)], "of one size, or 1, got 4 and 3 of 'j'"),
        (3, [(2, 3)], "subscripts must be a text"),
        (["ij,jk->ik"], [(2, 3)], "subscripts must be a text"),
    ],
)
def test_subscripts_that_do_not_fit_are_refused(subscripts, shapes, words):
    with pytest.raises(ShapeError, match=words):
        einsum(subscripts, *map(np.ones, shapes))


def test_sizes_without_a_hash_are_planned():
    class Size(int):  # as a compiler has them that leaves sizes open
        __hash__ = None

    assert planned("ij,jk->ik", [(Size(2), Size(3)), (3, 4)], get("min_plus"), "f4", "auto").shape == (2, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_entry_outside_plus_times_is_refused_wherever_it_stands(bad, dtype):
    """Though products alone are looked at in their result; what overflows is no such entry."""
    cases = {
        "ij,jk->ik": [(3, 4), (4, 5)], "ij,jl->il": [(3, 1), (4, 5)], "ij,ij->ij": [(3, 4), (3, 4)], "ij->i": [(3, 4)],
        "bij,bj->bi": [(2, 3, 4), (2, 4)], "ii,ik->ik": [(3, 3), (3, 4)], "ij,kl->jl": [(3, 4), (5, 6)],
        "ab,bc->ac": [(3, 4), (4, 0)], "ij,jk,kl->il": [(3, 4), (4, 5), (5, 6)],
        "ab,bc,cd->ad": [(3, 4), (4, 0), (0, 2)],
    }  # fmt: skip
    for text, shapes in cases.items():
        fine = [np.ones(shape, dtype) for shape in shapes]
        out = np.full(einsum(text, *fine, semiring="plus_times").shape, 7, dtype)
        for k, X in enumerate(fine):
            if X.size:
                X = X.copy()
                X[0, -1] = bad
                with pytest.raises(DomainError, match="einsum: entries of a plus_times matrix must lie in"):
                    einsum(text, *fine[:k], X, *fine[k + 1 :], semiring="plus_times", out=out)
        assert (out == 7).all()
    large = np.full((3, 3), np.finfo(dtype).max)
    assert (einsum("ij,jk->ik", large, large, semiring="plus_times") == np.inf).all()


def test_what_else_is_refused(monkeypatch):
    with pytest.raises(ShapeError, match="at least one operand"):
        einsum("->")
    with pytest.raises(DomainError, match=r"einsum: .*got nan at \(0, 1\)"):
        einsum("ij->i", np.array([[0, np.nan]]))
    with pytest.raises(ValueError, match="ties must be"):
        einsum("i->", np.ones(2), ties="all")
    for threads in (0, -1, 2.5, "2"):
        with pytest.raises(DeviceError, match="threads must be a positive integer"):
            einsum("ij->i", np.eye(2), threads=threads)
    with pytest.raises(ShapeError, match=r"order must be a name that opt_einsum knows .*, got 'best'"):
        einsum("i,i,i->i", *[np.ones(2)] * 3, order="best")
    with pytest.raises(MemoryNeeded, match=r"einsum: .*einsum_path"):
        einsum("i,j,k,l->ijkl", *[np.ones(30_000)] * 4, order=[(0, 1), (0, 1), (0, 1)])
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    with pytest.raises(SemiringError, match=r"opt_einsum.*order=\[\(0, 1\), \(0, 1\)\]"):
        einsum("i,i,i->i", *[np.ones(2)] * 3)


@ORDERED
def test_the_plan_counts_and_prints():
    plan = einsum_path("ij,jk,kl->il", (3, 4), (4, 5), (5, 2), dtype="float32")
    assert plan.pairs == 40 + 24
    assert plan.bytes == 4 * (8 + 6)
    assert [step.way for step in plan.steps] == ["product", "product"]
    assert "jk,kl->jl" in str(plan)
    assert einsum_path("bij,bjk->bik", np.ones((2, 3, 4), "f4"), np.ones((2, 4, 5), "f4")).bytes == 4 * 2 * 3 * 5
    wide = (np.int32(100_000),) * 2  # numbers of pairs that int32 would wrap
    assert einsum_path("ij,jk->ik", wide, wide).pairs == 10**15
    for wrong in ((-2, 3), (2.0, 3), ("a", 3), ((1, 2), (3, 4))):
        with pytest.raises(ShapeError, match="einsum_path: sizes must be integers of at least 0, got"):
            einsum_path("ij,jk->ik", wrong, (3, 4))


def test_sum_prod_and_outer():
    A = np.random.default_rng(0).integers(1, 9, (3, 4, 5)).astype(float)
    for axis in (0, -1, (0, 2), None):
        np.testing.assert_allclose(semiring.sum(A, "plus_times", axis=axis), A.sum(axis=axis), rtol=1e-12)
        np.testing.assert_array_equal(semiring.sum(A, "max_plus", axis=axis), A.max(axis=axis))
    for axis in range(3):
        np.testing.assert_array_equal(semiring.prod(A, "min_plus", axis=axis), A.sum(axis=axis))
        np.testing.assert_array_equal(semiring.prod(A, "plus_times", axis=axis), A.prod(axis=axis))
    assert semiring.prod(np.ones((2, 0)), "plus_times").tolist() == [1, 1]
    for axis in ((0, 0), (0, -3)):  # of NumPy too
        with pytest.raises(ValueError, match="duplicate"):
            A.sum(axis=axis)
        with pytest.raises(ShapeError, match="sum: axes must be different ones"):
            semiring.sum(A, axis=axis)
    assert semiring.sum(np.ones((2, 0)), "min_plus", axis=1).tolist() == [INF, INF]
    np.testing.assert_array_equal(semiring.outer(A[0], A[1], "plus_times"), A[0][:, :, None] * A[1][:, None])
    with pytest.raises(ShapeError, match="sum: axis must be one of the array's, 3 in all, got 3"):
        semiring.sum(A, axis=3)
    with pytest.raises(ShapeError, match=r"sum: axis must be one of the array's, 3 in all, got array\(1\)"):
        semiring.sum(A, axis=np.array(1))
    with pytest.raises(ShapeError, match="prod: axis must be one of the array's, 3 in all, got True"):
        semiring.prod(A, axis=True)
    with pytest.raises(ShapeError, match=r"outer: both operands must be vectors, or arrays of them, got 3"):
        semiring.outer(3, [1])


def test_frames_are_arrays():
    pandas = pytest.importorskip("pandas")
    X = np.arange(6.0).reshape(3, 2)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    for axis in (0, 1):
        assert semiring.prod(frame, axis=axis).tolist() == X.sum(axis=axis).tolist()
        assert semiring.sum(frame, axis=axis).tolist() == X.min(axis=axis).tolist()
    assert semiring.outer(frame["a"], frame["b"]).tolist() == np.add.outer(X[:, 0], X[:, 1]).tolist()


def test_other_libraries_get_their_own():
    xp = pytest.importorskip("array_api_strict")
    A = xp.asarray([[0.0, 5.0], [2.0, 0.0]])
    found = einsum("ij,jk->ki", A, A)
    assert type(found) is type(A)
    np.testing.assert_array_equal(np.from_dlpack(found), [[0, 2], [5, 0]])


SELECTING, SMOOTH = ("min_plus", "max_plus", "max_times", "min_times"), ("log_plus", "plus_times")


@TORCH
class TestTorch:
    @staticmethod
    def tensors(name, *shapes, dtype=None):
        import torch

        rng = np.random.default_rng(3)
        shift = 0.1 if name.endswith("times") else -0.5
        return [torch.tensor(rng.random(s) + shift, dtype=dtype or torch.float64, requires_grad=True) for s in shapes]

    @pytest.mark.parametrize("ties", ["one", "shared"])
    @pytest.mark.parametrize("name", SELECTING + SMOOTH)
    def test_finite_differences(self, name, ties):
        from torch.autograd import gradcheck, gradgradcheck

        for subscripts, *shapes in (
            ("bij,bjk->bki", (2, 3, 4), (2, 4, 2)),
            ("ij,ij->i", (3, 4), (3, 4)),
            ("iij,j->i", (3, 3, 2), (2,)),
            ("ij,j->", (3, 4), (1,)),
            ("ij->j", (3, 4)),
        ):
            X = self.tensors(name, *shapes)

            def call(*X, subscripts=subscripts):
                return einsum(subscripts, *X, semiring=name, ties=ties)

            assert gradcheck(call, X)
            if name in SMOOTH:
                assert gradgradcheck(call, X, fast_mode=True)
            np.testing.assert_allclose(
                call(*X).detach(), einsum(subscripts, *(x.detach().numpy() for x in X), semiring=name), rtol=1e-12
            )

    @ORDERED
    def test_a_chain_keeps_few_products_and_has_the_same_gradient(self):
        import torch

        X = self.tensors("log_plus", *[(6, 6)] * 17)
        subscripts = f"{','.join(a + b for a, b in itertools.pairwise('abcdefghijklmnopqr'))}->ar"
        order = [(0, 1)] + [(0, k) for k in range(15, 0, -1)]
        kept, grads, own = [], [], {x.data_ptr() for x in X}
        for checkpoint in (False, True):
            found: dict[int, int] = {}

            def keep(x, found=found):
                found[x.data_ptr()] = x.numel()
                return x

            with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
                Z = einsum(subscripts, *X, semiring="log_plus", order=order, checkpoint=checkpoint)
            kept.append(len(found.keys() - own))
            grads.append(torch.autograd.grad(Z.sum(), X))
        for x, y in zip(*grads, strict=True):
            torch.testing.assert_close(x, y)
        assert kept == [16, 3]

    @pytest.mark.parametrize("name", SELECTING + SMOOTH)
    def test_nothing_but_zero_has_no_gradient_and_no_nan(self, name):
        import torch

        zero = get(name).zero
        A, B = self.tensors(name, (3, 4), (3, 4))
        with torch.no_grad():
            A[1], B[2, :2] = zero, zero
        for subscripts in ("ij,kj->ik", "ij,ij->i", "ij,ij->ij", "ij,ij->"):
            for X in (A, B):  # one of them requires a gradient
                other = (B if X is A else A).detach()
                Z = einsum(subscripts, X, other, semiring=name)
                (g,) = torch.autograd.grad(torch.where(zero == Z, 0, Z).sum() if name != "plus_times" else Z.sum(), X)
                assert torch.isfinite(g).all()
                assert name == "plus_times" or not g[zero == X].any()
        if name != "plus_times":
            for subscripts, shape in (("ij->ji", (3, 4)), ("ij->i", (3, 1)), ("ii->i", (3, 3)), ("ij->i", (3, 4))):
                (X,) = self.tensors(name, shape)
                with torch.no_grad():
                    X[1] = zero
                Z = einsum(subscripts, X, semiring=name)
                (g,) = torch.autograd.grad(Z, X, torch.where(zero == Z, np.nan, 1.0).to(Z))
                assert torch.isfinite(g).all()
                assert g.any()
                assert not g[1].any()

    @pytest.mark.parametrize("name", ["log_plus", "max_plus"])
    def test_compiled_is_the_same(self, name):
        import torch

        torch._dynamo.reset()
        A, B = self.tensors(name, (2, 3, 4), (2, 4, 3))

        def loss(A, B):
            return (einsum("bij,bjk->bik", A, B, semiring=name) ** 2).sum() + einsum("bij->", A, semiring=name)

        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        for x, y in zip(
            torch.autograd.grad(compiled(A, B), (A, B)), torch.autograd.grad(loss(A, B), (A, B)), strict=True
        ):
            torch.testing.assert_close(x, y, rtol=1e-12, atol=0)
        plain = torch.compile(lambda X: einsum("ij->i", X, semiring="max_min") + 1, fullgraph=True, backend="aot_eager")
        X = torch.arange(6).reshape(2, 3)
        assert plain(X).tolist() == [3, 6]

    def test_products_along_an_empty_axis_are_one(self):
        (A,) = self.tensors("min_plus", (3, 0))
        assert semiring.prod(A).tolist() == [0, 0, 0]
        assert semiring.prod(A, "max_times").tolist() == [1, 1, 1]
        assert semiring.prod(A, axis=0).shape == (0,)

    def test_halves_and_autocast_are_computed_in_float32(self):
        import torch

        A, B = self.tensors("log_plus", (3, 4), (4, 2), dtype=torch.bfloat16)
        wanted = einsum("ij,jk->ik", A.detach().float(), B.detach().float(), semiring="log_plus")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for X, Y in ((A, B), (A, B.detach().float()), (A.detach(), B.detach())):
                found = einsum("ij,jk->ik", X, Y, semiring="log_plus")
                assert found.dtype == torch.float32
                torch.testing.assert_close(found.detach(), wanted)
        found = einsum("ij,jk->ik", A, B, semiring="log_plus")
        found.sum().backward()
        assert A.grad.dtype == torch.bfloat16

    def test_empty_and_strided_operands(self):
        import torch
        from torch.autograd import gradcheck

        for name, zero in (("min_plus", INF), ("log_plus", -INF), ("plus_times", 0)):
            A, B = self.tensors(name, (3, 0), (0, 2))
            Z = einsum("ij,jk->ik", A, B, semiring=name)
            assert (Z == zero).all()
            Z.sum().backward()
            assert A.grad.shape == (3, 0)
            (x,) = self.tensors(name, (1, 4))

            def call(x, name=name):
                wide = x.expand(3, 4)
                return einsum("ij,kj->ik", wide, wide.flip(1).T.contiguous().T[:, :4], semiring=name)

            assert gradcheck(call, [x])
        (own,) = (einsum("ij->j", torch.ones(1, 1)),)
        assert own.tolist() == [1]

    def test_what_has_no_gradient_is_refused(self):
        (A,) = self.tensors("max_min", (2, 2))
        with pytest.raises(semiring.AlgebraError, match="einsum: derivatives are defined where"):
            einsum("ij,jk", A, A, semiring="max_min")
        with pytest.raises(ValueError, match="out must be left out"):
            einsum("ij->i", A, out=A.detach())


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
class TestJax:
    @pytest.mark.parametrize("name", SELECTING + SMOOTH)
    def test_gradients_under_jit_and_in_kind(self, name):
        import jax
        import jax.numpy as jnp

        rng = np.random.default_rng(0)
        A, B = (jnp.asarray(rng.random(s) + 0.1, jnp.float32) for s in ((2, 3, 4), (2, 4, 3)))
        A = A.at[0, 1].set(get(name).zero)
        assert isinstance(einsum("bij,bjk->bik", A, B, semiring=name), jax.Array)

        def loss(A, B):
            Z = einsum("bij,bjk->bik", A, B, semiring=name)
            Y = einsum("bij,bji->bi", A, B, semiring=name)
            return sum(jnp.where(X == get(name).zero, 0, X).sum() for X in (Z, Y))

        found = jax.jit(jax.grad(loss, argnums=(0, 1)))(A, B)
        assert all(bool(jnp.isfinite(g).all()) for g in found)
        step = 2e-3 * jnp.ones_like(B)  # shorter than from any best term to the next
        moved = (loss(A, B + step) - loss(A, B - step)) / 4e-3
        np.testing.assert_allclose(found[1].sum(), moved, rtol=2e-3)


def test_a_plan_counts_results_until_they_are_used():
    shapes, order = ((2, 3), (3, 4), (4, 5), (5, 6)), [(0, 1), (0, 2), (0, 1)]
    held = einsum_path(
        "ab,bc,cd,de->ea", *shapes, dtype="float32", order=order
    )  # of 8, 10 and 12 entries: two at a time
    assert held.bytes == 4 * (10 + 12)


def test_steps_hold_what_the_plan_says():
    """The bytes of a plan, by hand: the result, and copies of operands whose axes are grouped to rows."""
    s = get("min_plus")
    plan = planned("abc,cd->abd", [(3, 2, 4), (4, 5)], s, np.float64, "auto")
    assert plan.bytes == 8 * (30 + 24 + 20)
    assert planned("ij,j->i", [(3, 4), (4,)], s, np.float64, "auto").bytes == 8 * 3


def test_scalars_of_several_dtypes_and_outside_the_semiring():
    assert einsum(",->", 1, 2.5) == 3.5
    assert einsum(",->", np.array(1, ">i2"), np.array(2, np.int16)) == 3
    assert einsum(",i->i", -np.inf, [1.0], semiring="max_plus").tolist() == [-np.inf]
    with pytest.raises(DomainError, match="got nan at 0"):
        einsum(",->", np.nan, 2.5)
    with pytest.raises(ShapeError, match="prod: axis"):
        semiring.prod(3)


@pytest.mark.parametrize("name", ["min_plus", "plus_times", "log_plus", "boolean"])
def test_a_result_without_axes_is_an_array_of_none(name):
    s, x = get(name), [True] if name == "boolean" else [1.0]
    for subscripts, operands in (
        ("->", [x[0]]),
        ("i->", [x]),
        (",->", [x[0], x[0]]),
        ("i,i->", [x, x]),
        (",,->", [x[0]] * 3),
        ("i,j,,->", [x, x, x[0], x[0]]),
        ("i,i,i->", [x] * 3),
    ):
        found = einsum(subscripts, *operands, semiring=s)
        assert (type(found), found.shape) == (np.ndarray, ()), subscripts
        assert found == reduce(s.mul.python, [x[0]] * len(operands)), subscripts
    for integers in (np.int32, np.int64) if name == "min_plus" else ():
        found = einsum("i,j,,->", *(np.asarray(y, integers) for y in ([2], [3], 4, 5)), semiring=s)
        assert (type(found), found.dtype, int(found)) == (np.ndarray, integers, reduce(s.mul.python, [2, 3, 4, 5]))
    for found in (semiring.sum(x, s), semiring.prod(x, s), semiring.matmul(x, x, s)):
        assert (type(found), found.shape) == (np.ndarray, ())


#: All that take a nested list.
LISTS = {
    "sum": semiring.sum,
    "prod": semiring.prod,
    "outer": lambda A: semiring.outer(A, A),
    "einsum": lambda A: einsum("ij->i", A),
    "einsum_path": lambda A: einsum_path("ij->i", A),
    "matmul": lambda A: semiring.matmul(A, A),
    "BitMatrix.from_bool": semiring.BitMatrix.from_bool,
}


@pytest.mark.parametrize("name", LISTS)
def test_rows_that_are_not_equally_long_are_counted(name):
    for rows, lengths in (([[1.0, 2.0], [3.0]], "1, 2"), ([[1, 2], 3], "0, 2"), ([[[1], [2]], [[3], []]], "0, 1")):
        with pytest.raises(ShapeError, match=rf"^{name}: rows must be equally long, got lengths {lengths}\.$"):
            LISTS[name](rows)


@pytest.mark.parametrize("name", LISTS)
def test_memoryviews_are_arrays(name):
    A = np.array([[True, False], [False, True]]) if "Bit" in name else np.array([[1.0, 2], [3, 4]])
    found, expected = LISTS[name](memoryview(A)), LISTS[name](A)
    np.testing.assert_array_equal(
        *(x.to_bool() if "Bit" in name else x.shape if "path" in name else x for x in (found, expected))
    )


def test_an_order_is_numpys_own_or_refused():
    text, X = "ij,jk,kl->il", [np.eye(2), np.ones((2, 3)), np.ones((3, 2))]
    path, _ = np.einsum_path(text, *X)
    np.testing.assert_array_equal(einsum(text, *X, semiring="plus_times", order=path), np.full((2, 2), 3.0))
    orders = (
        *([], [(0, 1)], [(0, 1)] * 3, [(0, 5), (0, 1)], [(0, 3), (0, 1)], [(0, 0), (0, 1)]),
        *([()], [(-1, 0), (0, 1)], [("a", "b")], 7),
    )
    for order in (*orders, [(0, 1, 2), (0, 1)]):
        with pytest.raises(ShapeError, match=r"order=\[\(0, 1\), \(0, 1\)\] is one"):
            einsum(text, *X, order=order)
