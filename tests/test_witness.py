"""Products that know their witness: C and K against uncompiled loops, bit for bit."""

from __future__ import annotations

import itertools
import shutil
import sys

import cases
import emulated
import numpy as np
import pytest

from semiring import AlgebraError, DTypeError, Op, Semiring, ShapeError, get, matmul
from semiring.kernels.backend import bind

#: A kind of step each: floats, sums that saturate, two bytes, eight bytes, ordered values, factors, truth values.
CHOSEN = ("min_plus-float32", "max_plus-int32", "min_plus-int16", "min_max-int64", "max_times-float64", "lor_land-bool")
SELECTIVE = [c for c in cases.CASES if c.semiring.add.selects]
KINDS = [pytest.param(c, id=str(c), marks=() if str(c) in CHOSEN else pytest.mark.release) for c in SELECTIVE]
SHAPES = [(0, 3, 2), (3, 0, 2), (1, 1, 1), (7, 3, 5), (17, 66, 33), (5, 259, 70)]
LATER = Semiring(
    "later",
    add=Op("later", python=lambda a, b: b if b > a else a, cuda="max(a, b)", selects="greatest", ufunc=np.maximum),
    mul=Op("sooner", python=lambda a, b: b if b < a else a, cuda="min(a, b)", ufunc=np.minimum),
    zero=0,
    one=100,
    dtypes=("int32",),
    domain=(0, 100),
    samples=(0, 1, 7, 100),
)


def oracle(case, A, B):
    """C, and the smallest k of each entry: column by row, the last first."""
    C = cases.product(case, A, B)
    K = np.full(C.shape, -1, np.int32)
    for k in reversed(range(A.shape[1])):
        K[cases.product(case, A[:, k : k + 1], B[k : k + 1]) == C] = k
    K[case.zero == C] = -1
    return C, K


def agree(case, found, expected):
    cases.same(case, np.array(found[0]), expected[0])
    assert found[1].dtype == np.int32
    np.testing.assert_array_equal(np.array(found[1]), expected[1])


def operands(case, m, k, n, **options):
    return (cases.random_matrix(case, shape, seed, **options) for seed, shape in enumerate(((m, k), (k, n))))


@pytest.mark.parametrize("case", KINDS)
def test_smallest_k_that_attains_each_entry(case):
    for shape in SHAPES:
        A, B = operands(case, *shape, density=0.4, negative=True)
        agree(case, matmul(A, B, case.semiring, witness=True), oracle(case, A, B))


def test_operations_compiled_from_python():
    case = cases.Case(LATER, np.dtype(np.int32))
    rng = np.random.default_rng(1)
    for m, k, n in SHAPES[2:]:
        A, B = (rng.integers(0, 9, shape).astype(np.int32) for shape in ((m, k), (k, n)))
        agree(case, matmul(A, B, LATER, witness=True, threads=2), oracle(case, A, B))


def test_operands_and_results_in_every_layout():
    case = next(c for c in SELECTIVE if str(c) == "min_plus-float32")
    A, B = operands(case, 19, 23, 18)
    C, K = oracle(case, A, B)
    for (_, a), (_, b) in itertools.product(cases.layouts(A), cases.layouts(B)):
        agree(case, matmul(a, b, witness=True), (C, K))
    for out in ((np.empty((18, 19), np.float32).T, None), (None, np.empty((19, 36), np.int32)[:, ::2])):
        found = matmul(A, B, witness=True, out=out)
        assert all(given is None or given is got for given, got in zip(out, found, strict=True))
        agree(case, found, (C, K))


def test_batches_broadcast():
    rng = np.random.default_rng(1)
    A, B = rng.integers(0, 9, (2, 1, 3, 4)), rng.integers(0, 9, (5, 4, 2))
    C, K = matmul(A, B, witness=True)
    sums = A[..., :, :, None] + B[..., None, :, :]
    np.testing.assert_array_equal(C, sums.min(-2))
    np.testing.assert_array_equal(K, sums.argmin(-2))
    c, k = matmul(A[0, 0, 0], B[0, :, 0], witness=True)
    assert (c, k) == ((A[0, 0, 0] + B[0, :, 0]).min(), (A[0, 0, 0] + B[0, :, 0]).argmin())


def test_two_vectors_of_truth_values():
    x, y = np.array([True, False, True]), np.array([False, True, True])
    C, K = matmul(x, y, "boolean", witness=True)
    assert (C.shape, C.dtype, bool(C), int(K)) == ((), np.dtype(bool), True, 2)


def test_sums_at_the_ends_of_a_dtype():
    """Those beyond an end saturate: the first of them is the witness below, above there is no sum."""
    low, high = -32768, 32767
    A = np.array([[-20000, -30000, -30000, 5], [high, 30000, 30000, high], [high, high, high, 0]], np.int16)
    B = np.array([[-20000], [-30000], [high], [32766]], np.int16)
    C, K = matmul(A, B, witness=True)
    assert C.tolist() == [[low], [0], [32766]]
    assert K.tolist() == [[0], [1], [3]]
    assert [x.tolist() for x in matmul(np.array([[30000]], np.int16), np.array([[30000]], np.int16), witness=True)] == [
        [[high]],
        [[-1]],
    ]


def test_what_is_refused():
    A = np.zeros((2, 2))
    with pytest.raises(AlgebraError, match="select"):
        matmul(A, A, "plus_times", witness=True)
    with pytest.raises(ShapeError, match="accumulate"):
        matmul(A, A, witness=True, accumulate=True, out=A)
    with pytest.raises(DTypeError, match=r"tuple \(C, K\), got ndarray"):
        matmul(A, A, witness=True, out=A)
    C = np.zeros((2, 2), np.int32)
    with pytest.raises(ShapeError, match="two arrays, one for C and one for K, got one memory for both"):
        matmul(C, C, witness=True, out=(C, C))
    memory = np.zeros(5)
    with pytest.raises(ShapeError, match="two arrays, one for C and one for K"):
        matmul(A, A, witness=True, out=(memory[:4].reshape(2, 2), memory.view(np.int32)[6:].reshape(2, 2)))
    pairs = np.zeros((2, 2), [("C", float), ("K", np.int32)])  # apart, though in one memory
    assert matmul(A, A, witness=True, out=(pairs["C"], pairs["K"]))[1].tolist() == [[0, 0], [0, 0]]
    with pytest.raises(DTypeError, match="int32, got int64"):
        matmul(A, A, witness=True, out=(None, np.zeros((2, 2), np.int64)))


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
class TestOnAGpu:
    """The GPU's kernels on the processor."""

    KINDS = (
        ("min_plus", "float32", True),
        ("max_plus", "int32", True),
        ("min_max", "int64", False),
        *(
            pytest.param(*kind, marks=pytest.mark.release)
            for kind in (("min_plus", "int16", True), ("min_plus", "int32", False))
        ),
        *(
            pytest.param(*kind, marks=pytest.mark.release)
            for kind in (("max_times", "float32", False), ("lor_land", "bool", False))
        ),
    )

    @pytest.mark.parametrize(("name", "dtype", "nonnegative"), KINDS)
    def test_kernels(self, emulated_kernels, name, dtype, nonnegative):
        case, rng = cases.Case(get(name), np.dtype(dtype)), np.random.default_rng()
        with emulated.installed(emulated_kernels):
            cp = sys.modules["cupy"]
            from semiring.kernels.cuda.dense.backend import CudaBackend

            ops = CudaBackend(case.semiring, case.dtype, nonnegative)
            some = [tuple(map(int, rng.integers(1, 80, 3))) for _ in range(3)]
            for m, k, n in [(1, 1, 1), (65, 37, 66), (3, 100, 33), (64, 64, 64), (70, 3, 2), (4, 0, 5), *some]:
                A, B = operands(case, m, k, n, density=0.5)
                if nonnegative and name == "max_plus":
                    A, B = (np.where(X == case.zero, X, -X) for X in (A, B))
                C, K = cp.empty((m, n), case.dtype), cp.empty((m, n), np.int32)
                wide = cp.empty((k, n + 3), case.dtype)
                wide[:, :n] = B
                ops.matmul_with_witness(C, K, cp.asarray(A), wide[:, :n])
                agree(case, (C, K), oracle(case, A, B))

    @pytest.mark.parametrize("name", ["min_plus", "max_plus"])
    def test_integers_by_keys(self, emulated_kernels, name):
        """Sums and k together in an integer, as long as they fit; at the ends of the dtype they do not."""
        from semiring.algebra import survey
        from semiring.dense import witness

        rng = np.random.default_rng()
        with emulated.installed(emulated_kernels):
            cp = sys.modules["cupy"]
            for dtype, most in (("int16", 16000), ("int32", 1 << 21), ("int64", 99), ("int32", 1 << 30)):
                case = cases.Case(get(name), np.dtype(dtype))
                m, k, n = map(int, rng.integers(2, 70, 3))
                A, B = (rng.integers(-most, most, shape).astype(dtype) for shape in ((m, k), (k, n)))
                A[rng.random(A.shape) < 0.5] = case.zero
                A[0], B[:, 0] = case.zero, case.zero
                A[-1, 0] = B[0, -1] = most  # else all may be left out
                C, K = cp.empty((m, n), dtype), cp.empty((m, n), np.int32)
                looks = [survey.survey(X, case.semiring, where="test") for X in (A, B)]
                done = witness._by_keys(C, K, cp.asarray(A), cp.asarray(B), case.semiring, looks)
                assert done == (most < 1 << 22)
                if done:
                    agree(case, (C, K), oracle(case, A, B))
            sign = 1 if name == "min_plus" else -1
            A, B = np.array([[sign << 29, 0]], np.int32), np.array([[sign * ((1 << 29) - 1)], [0]], np.int32)
            looks = [survey.survey(X, case.semiring, where="test") for X in (A, B)]
            C, K = cp.empty((1, 1), A.dtype), cp.empty((1, 1), np.int32)
            # Beside a bit for k, the longest sum would be what stands for no path.
            assert not witness._by_keys(C, K, cp.asarray(A), cp.asarray(B), case.semiring, looks)


@pytest.mark.gpu
@pytest.mark.parametrize("case", SELECTIVE, ids=str)
def test_a_gpu_agrees(case):
    import cupy

    for shape in (*SHAPES, (257, 300, 513)):
        A, B = operands(case, *shape, density=0.4, negative=True)
        C, K = matmul(cupy.asarray(A), cupy.asarray(B), case.semiring, witness=True)
        agree(case, (C.get(), K.get()), oracle(case, A, B))


def test_a_backend_counts_no_more_threads_than_it_has():
    ops = bind(get("min_plus"), "float32", threads=2)
    A = np.ones((300, 300), np.float32)
    C, K = np.empty_like(A), np.empty((300, 300), np.int32)
    ops.matmul_with_witness(C, K, A, A)
    assert (C == 2).all()
    assert (K == 0).all()
