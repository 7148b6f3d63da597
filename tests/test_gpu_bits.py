"""Packed Boolean matrices on a GPU, by every kernel, against NumPy's counts, uncompiled loops and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import apsp
from semiring import BitMatrix, DeviceError, DTypeError, ShapeError
from semiring.kernels.backend import cuda_available

pytestmark = pytest.mark.gpu

#: Around the sizes of words, fragments, tiles and stages, and primes.
SIZES = (1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 521, 1023, 1024, 1025)


@pytest.fixture(scope="module", params=["wgmma", "mma", "logic"])
def ops(request):
    if not cuda_available():
        pytest.skip("no NVIDIA GPU with CuPy on this machine")
    from semiring.kernels.cuda.bits.backend import CudaBitBackend

    try:
        return CudaBitBackend(instructions=request.param)
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def bits(cp):
    from semiring.kernels.cuda.bits import words

    return words


def random_bool(shape, seed, density=0.1):
    return np.random.default_rng(seed).random(shape) < density


def product(A, B):
    """Entry (i, j) is whether Σₖ A[i, k] B[k, j] > 0; counts are exact in float32."""
    return A.astype(np.float32) @ B.astype(np.float32) > 0


def closure(A):
    """A*, by breadth-first search from every vertex."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    if not len(A):
        return A
    return np.isfinite(shortest_path(csr_array(A.astype(np.int8)), unweighted=True))


def window(ops, A, left=128, right=64):
    """A on the device inside ones, and a check that nothing around it was written."""
    m, n = A.shape
    outer = np.ones((m + 4, left + n + right), bool)
    outer[2 : m + 2, left : left + n] = A
    # A view's last word ends with its columns, so the ones to its right start at the next word.
    outer[2 : m + 2, left + n : left + n + -n % 64] = False
    whole = ops.upload(outer)
    inner = BitMatrix._of(whole.words[2 : m + 2, left // 64 : (left + n + 63) // 64], (m, n))

    def untouched():
        after = whole.to_bool().get()
        after[2 : m + 2, left : left + n] = A
        np.testing.assert_array_equal(after, outer)

    return inner, untouched


def check(got, expected):
    np.testing.assert_array_equal(got.to_bool().get(), expected)
    n = expected.shape[1]
    if n % 64:  # tails of words are zero
        assert not (got.words[:, -1] >> np.uint64(n % 64)).any()


@pytest.mark.parametrize("n", SIZES)
def test_square_products(ops, n):
    A, B, C = (random_bool((n, n), seed, min(1.0, 0.8 / n**0.5)) for seed in range(3))
    got = ops.upload(C)
    ops.gemm(got, ops.upload(A), ops.upload(B))
    check(got, C | product(A, B))


def test_products_that_give_way(ops, monkeypatch):
    """In blocks that end, here, after a tile or two."""
    from semiring.kernels.cuda.bits import product as bitproduct

    monkeypatch.setattr(bitproduct, "STAY", 1)
    m, k, n = 4095, 200, 4100
    A, B, C = (random_bool(shape, seed, 0.05) for seed, shape in enumerate(((m, k), (k, n), (m, n))))
    got, columns = ops.upload(C), ops.upload(C[:, :128])
    ops.gemms([(got, ops.upload(A), ops.upload(B)), (columns, ops.upload(A), ops.upload(B[:, :128]))])
    check(got, C | product(A, B))
    check(columns, (C | product(A, B))[:, :128])


SHAPES = [
    *((1, 1, 1), (3, 1, 70), (33, 17, 9), (130, 3000, 70), (70, 5, 1000), (257, 65, 513), (1, 2049, 1)),
    *((600, 129, 300), (0, 3, 2), (2, 3, 0), (4, 0, 5)),
]


@pytest.mark.parametrize(("m", "k", "n"), SHAPES)
def test_products_of_any_shape(ops, m, k, n):
    A, B, C = (random_bool(shape, 7, min(1.0, 1 / max(k, 1) ** 0.5)) for shape in ((m, k), (k, n), (m, n)))
    got = ops.upload(C)
    ops.gemm(got, ops.upload(A), ops.upload(B))
    check(got, C | product(A, B))


def test_products_agree_with_loops(ops):
    A, B = random_bool((19, 70), 1), random_bool((70, 23), 2)
    got = ops.empty((19, 23))
    ops.gemm(got, ops.upload(A), ops.upload(B))
    expected = [[any(A[i, k] and B[k, j] for k in range(70)) for j in range(23)] for i in range(19)]
    check(got, np.array(expected))


@pytest.mark.parametrize("left", [64, 128, 256])
@pytest.mark.parametrize("right", [0, 64, 192])
def test_views_and_what_is_around_them(ops, left, right):
    """Rows that start at 8, 16 and 32 bytes, of odd and even numbers of words."""
    m, k, n = 150, 333, 270
    A, B, C = (random_bool(shape, 3, 0.05) for shape in ((m, k), (k, n), (m, n)))
    (a, _), (b, _), (got, untouched) = (window(ops, X, left, right) for X in (A, B, C))
    ops.gemm(got, a, b)
    check(got, C | product(A, B))
    untouched()


@pytest.mark.parametrize(("m", "n"), [(1, 3), (63, 130), (64, 257), (65, 40), (131, 200), (1030, 700), (256, 0)])
def test_products_in_place(ops, m, n):
    D, R = random_bool((m, m), 1, min(1.0, m**-0.5)), random_bool((m, n), 2, min(1.0, m**-0.5))
    row, untouched = window(ops, R)
    ops.left_mul(ops.upload(D), row)
    check(row, product(D, R))
    untouched()
    column, untouched = window(ops, R.T)
    ops.right_mul(column, ops.upload(D))
    check(column, product(R.T, D))
    untouched()


def test_products_by_strips(ops, bits, monkeypatch):
    monkeypatch.setattr(bits, "LEAST", 1 << 14)
    m, n = 1000, 900
    D, R, C = random_bool((m, m), 1, 0.03), random_bool((m, n), 2, 0.03), random_bool((n, m), 3, 0.03)
    row, column, both = ops.upload(R), ops.upload(C), ops.empty((n, n))
    assert bits.strip_size(n, m, bits.MOST_COPIED) < n
    ops.gemm(both, column, row)
    ops.left_mul(ops.upload(D), row)
    ops.right_mul(column, ops.upload(D))
    check(row, product(D, R))
    check(column, product(C, D))
    check(both, product(C, R))


@pytest.mark.parametrize("n", [0, *SIZES, 2049])
def test_pivot_blocks(ops, n):
    for density in (1.5 / max(n, 1), 0.01):
        A = random_bool((n, n), n, density)
        got, untouched = window(ops, A)
        ops.closure(got)
        check(got, closure(A))
        untouched()


def test_pivot_block_of_one_long_path(ops):
    n = 700
    order = np.random.default_rng(0).permutation(n)
    A = np.zeros((n, n), bool)
    A[order[:-1], order[1:]] = True
    got, expected = ops.upload(A), np.zeros((n, n), bool)
    expected[np.ix_(order, order)] = np.triu(np.ones((n, n), bool))
    ops.closure(got)
    check(got, expected)


@pytest.mark.parametrize("left", [64, 128])
def test_pivot_block_of_unaligned_rows(ops, left):
    A = random_bool((300, 300), 1, 0.004)
    got, untouched = window(ops, A, left, 0 if left == 64 else 64)
    ops.closure(got)
    check(got, closure(A))
    untouched()


@pytest.mark.parametrize("n", [1, 7, 67, 521])
def test_single_steps(ops, n):
    A = random_bool((n, n), n, 2 / n)
    got, untouched = window(ops, A)
    expected = A.copy()
    for k in {0, n // 2, n - 1}:
        ops.step(got, k)
        expected |= np.outer(expected[:, k], expected[k])
        expected[k, k] = True
    check(got, expected)
    untouched()


@pytest.mark.parametrize("schedule", ["iterative", "blocked", "recursive"])
@pytest.mark.parametrize(("n", "block"), [(1, None), (257, 128), (1031, 256), (1500, 300)])
def test_closures_by_every_schedule(ops, schedule, n, block):
    from apsp.road import schedules

    block = -(-(block or ops.pivot) // ops.grain) * ops.grain
    A = random_bool((n, n), n, 1.2 / n)
    got = ops.upload(A)
    schedules.get(schedule)(got, ops, block=block)
    check(got, closure(A))


def test_closure_beyond_the_cutover(ops, monkeypatch):
    from apsp.road import schedules

    monkeypatch.setattr(ops, "cutover", 256)
    n = 2600
    A = random_bool((n, n), 5, 1.1 / n)
    got = ops.upload(A)
    schedules.get("recursive")(got, ops, block=256)
    check(got, closure(A))


def test_work_goes_to_the_callers_stream(ops, cp):
    A, B = random_bool((500, 500), 1, 0.02), random_bool((500, 500), 2, 0.02)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        a, b = ops.upload(A), ops.upload(B)
        ops.left_mul(a, b)
        ops.right_mul(b, a)
        got = ops.download(b)
    np.testing.assert_array_equal(got, product(product(A, B), A))


def test_wrong_operands(ops, cp):
    a, b = ops.empty((3, 4)), ops.empty((5, 6))
    with pytest.raises(ShapeError, match="gemm: sizes must fit"):
        ops.gemm(ops.empty((3, 6)), a, b)
    with pytest.raises(DTypeError, match="must be BitMatrix on the GPU"):
        ops.gemm(a, cp.zeros((3, 3), bool), a)
    with pytest.raises(DTypeError, match="must be BitMatrix on the GPU"):
        ops.closure(BitMatrix.zeros((3, 3)))
    with pytest.raises(ShapeError, match="step: k must"):
        ops.step(ops.empty((3, 3)), 3)


def test_unknown_kernel(cp):
    from semiring.kernels.cuda.bits.backend import CudaBitBackend

    with pytest.raises(DeviceError, match="instructions must be one of"):
        CudaBitBackend(instructions="magic")


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (3, 63), (70, 64), (65, 65), (513, 700), (1025, 2049)])
def test_packing_transposition_and_counts(bits, cp, shape):
    A = random_bool(shape, 4, 0.3)
    for given in (
        A,
        np.asfortranarray(A),
        cp.asarray(A),
        cp.asarray(A).T.copy().T,
        cp.asarray(np.repeat(A, 2, 1))[:, ::2],
    ):
        a = BitMatrix._of(bits.pack(given), shape)
        check(a, A)
    check(BitMatrix._of(bits.transpose(a), shape[::-1]), A.T)
    np.testing.assert_array_equal(bits.count(a, 0).get(), A.sum(0))
    np.testing.assert_array_equal(bits.count(a, 1).get(), A.sum(1))
    np.testing.assert_array_equal(bits.columns(a, int(A.sum())).get(), np.nonzero(A)[1])
    out = np.ones(shape, bool)
    assert bits.unpack(a, out) is out
    np.testing.assert_array_equal(out, A)
    wide = cp.ones((shape[0], 2 * shape[1]), bool)
    bits.unpack(a, wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2].get(), A)
    assert wide[:, 1::2].all()


def test_host_arrays_in_parts(bits, monkeypatch):
    monkeypatch.setattr(bits, "TRANSFER", 1000)
    A = random_bool((300, 70), 4, 0.3)
    a = BitMatrix._of(bits.pack(A), A.shape)
    check(a, A)
    np.testing.assert_array_equal(bits.unpack(a, np.empty(A.shape, bool)), A)


def test_edges(bits, cp):
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(0, 700, 3000), rng.integers(0, 333, 3000)
    expected = np.zeros((700, 333), bool)
    expected[rows, cols] = True
    check(BitMatrix._of(bits.from_edges(rows, cols, (700, 333)), (700, 333)), expected)
    check(BitMatrix.from_edges(cp.asarray(rows), cp.asarray(cols), (700, 333)), expected)
    check(BitMatrix._of(bits.from_edges([], [], (3, 4)), (3, 4)), np.zeros((3, 4), bool))
    for wrong in ([700], [-1]):
        with pytest.raises(IndexError, match="a row must lie in 0 … 699"):
            bits.from_edges(wrong, [0], (700, 333))
    with pytest.raises(ShapeError, match="two lists of one length"):
        bits.from_edges([1, 2], [0], (700, 333))


def test_bit_matrices_on_the_device(cp):
    A, B = random_bool((130, 200), 1), random_bool((200, 70), 2)
    a, b = BitMatrix.from_bool(cp.asarray(A)), BitMatrix.from_bool(cp.asarray(B))
    check(a @ b, product(A, B))
    check(a.T, A.T)
    check(a & ~a, np.zeros_like(A))
    check(~a | a, np.ones_like(A))
    check(a ^ a.copy(), np.zeros_like(A))
    assert a == a.copy()
    assert a != ~a
    np.testing.assert_array_equal(a.counts(axis=0).get(), A.sum(0))
    np.testing.assert_array_equal(a.counts(axis=1).get(), A.sum(1))
    assert a.counts() == A.sum()
    rows, cols = a.to_edges()
    np.testing.assert_array_equal((rows.get(), cols.get()), np.nonzero(A))
    np.testing.assert_array_equal(a.to_sparse().toarray(), A)
    np.testing.assert_array_equal(a.rows(3).get(), A[3])
    np.testing.assert_array_equal(a.column(70).get(), A[:, 70])
    assert a[5, 7] == A[5, 7]
    i, j = np.array([1, 2, 129]), np.array([0, 199, 64])
    np.testing.assert_array_equal(cp.asnumpy(a[i, j]), A[i, j])
    square = BitMatrix.from_bool(cp.asarray(A[:, :130]))
    square.set_diagonal(True)
    check(square, A[:, :130] | np.eye(130, dtype=bool))
    np.testing.assert_array_equal(cp.asnumpy(square.diagonal()), np.ones(130, bool))
    x = random_bool(200, 5)
    np.testing.assert_array_equal((a @ cp.asarray(x)).get(), product(A, x[:, None])[:, 0])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_bit_matrices_of_nothing(cp, shape):
    A = np.zeros(shape, bool)
    a = BitMatrix.from_bool(cp.asarray(A))
    for got, expected in ((a, A), (a.T, A.T), (a | a, A), (a @ a.T, A @ A.T)):
        check(got, expected)
    np.testing.assert_array_equal(cp.asnumpy(cp.stack(a.to_edges())), np.array(np.nonzero(A)))
    np.testing.assert_array_equal(a.counts(axis=0).get(), A.sum(0))
    np.testing.assert_array_equal(a.to_sparse().toarray(), A)
    assert a.counts() == 0
    if shape[0] == shape[1]:
        a.set_diagonal(True)
        check(a, np.eye(shape[0], dtype=bool))
        check(apsp.closure(a, "boolean"), np.eye(shape[0], dtype=bool))
