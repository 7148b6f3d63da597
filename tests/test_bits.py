"""Packed Boolean matrices against plain loops, NumPy's bool arrays and SciPy's sparse products."""

from __future__ import annotations

import platform
import zipfile
from pathlib import Path

import cases
import numpy as np
import pytest
from damage import check_damaged
from processes import python
from scipy import sparse

from semiring import BitMatrix, DTypeError, FormatError, MemoryNeeded, ShapeError, get
from semiring.kernels.backend import bind
from semiring.kernels.cpu.bits import gemm, nibbles
from semiring.kernels.cpu.bits import words as products

BOOLEAN = get("boolean")
CASE = cases.Case(BOOLEAN, np.dtype(bool))
#: Around a word, two, a strip of rows, eight words; a prime.
SIZES = (0, 1, 63, 64, 65, 127, 128, 131, 191, 256, 257, 513)
SHAPES = ((0, 5), (5, 0), (1, 1), (1, 200), (200, 1), (64, 64), (63, 65), (130, 129), (257, 600), (8, 512), (9, 513))
#: m, k, n of products; the last two have several blocks of rows, of words, of depth.
PRODUCTS = (
    (0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (2, 65, 3), (64, 64, 64), (65, 63, 129), (128, 512, 512),
    (131, 513, 257), (300, 64, 1100), (2100, 700, 70), (70, 1100, 1500),
)  # fmt: skip


def random_bool(shape: tuple[int, ...], seed: int = 0, density: float = 0.3) -> np.ndarray:
    out: np.ndarray = np.random.default_rng(seed).random(shape) < density
    return out


def random_digraph(n: int, seed: int, degree: float = 1.5) -> np.ndarray:
    return random_bool((n, n), seed, degree / max(n, 1))


def tails_are_zero(A: BitMatrix) -> bool:
    tail = A.shape[1] % 64
    return not tail or not (A.words[:, -1] >> np.uint64(tail)).any()


def scipy_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    out: np.ndarray = (sparse.csr_array(A.astype(np.int64)) @ sparse.csr_array(B.astype(np.int64))).toarray() > 0
    return out


def scipy_closure(A: np.ndarray) -> np.ndarray:
    """A*: who a breadth-first search from each vertex meets."""
    graph = sparse.csr_array(A)
    out = np.zeros(A.shape, bool)
    for i in range(len(A)):
        out[i, sparse.csgraph.breadth_first_order(graph, i, return_predecessors=False)] = True
    return out


# Bits in and out.


def test_the_layout_is_the_documented_one():
    A = random_bool((70, 130), 1)
    words = BitMatrix.from_bool(A).words
    assert words.shape == (70, 3)
    for i, j in np.ndindex(A.shape):
        assert bool(int(words[i, j // 64]) >> (j % 64) & 1) == A[i, j]


@pytest.mark.parametrize("shape", [*SHAPES, *((n, n) for n in SIZES)])
def test_bools_go_in_and_come_out_in_every_layout(shape):
    A = random_bool(shape, 2)
    expected = BitMatrix.from_bool(A)
    for name, layout in cases.layouts(A):
        packed = BitMatrix.from_bool(layout)
        assert packed == expected, name
        assert tails_are_zero(packed)
        np.testing.assert_array_equal(packed.to_bool(), A)
        out = np.zeros_like(layout)
        if out.flags.writeable:
            assert packed.to_bool(out) is out
            np.testing.assert_array_equal(out, A)
    wide = np.zeros((shape[0], 2 * shape[1]), bool)
    expected.to_bool(wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], A)
    assert not wide[:, 1::2].any()
    np.testing.assert_array_equal(np.asarray(expected), A)


def test_any_byte_that_is_not_zero_counts_as_true():
    A = np.array([[0, 1, 2, 128, 255] * 20], np.uint8).view(bool)
    assert BitMatrix.from_bool(A).counts() == 80


@pytest.mark.parametrize("shape", SHAPES)
def test_edges_and_sparse_matrices(shape):
    A = random_bool(shape, 3)
    expected = BitMatrix.from_bool(A)
    rows, cols = A.nonzero()
    twice = np.random.default_rng(0).permutation(np.tile(np.arange(len(rows)), 2))
    for dtype in (np.int64, np.int32, np.uint16):
        assert BitMatrix.from_edges(rows[twice].astype(dtype), cols[twice].astype(dtype), shape) == expected
    assert BitMatrix.from_edges(rows.tolist(), cols.tolist(), shape) == expected
    for got, wanted in zip(expected.to_edges(), (rows, cols), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert BitMatrix.from_sparse(sparse.csr_array(A)) == expected
    assert BitMatrix.from_sparse(sparse.coo_array(A * 2.5)) == expected
    back = expected.to_sparse()
    assert back.dtype == bool
    np.testing.assert_array_equal(back.toarray(), A)


def test_stored_zeros_of_a_sparse_matrix_are_no_bits():
    A = sparse.coo_array(([0.0, 3.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert BitMatrix.from_sparse(A).to_bool().tolist() == [[False, False], [True, False]]


# Reading, writing, views.


@pytest.mark.parametrize("shape", [s for s in SHAPES if min(s)])
def test_bits_rows_columns_and_pairs_are_read(shape):
    A = random_bool(shape, 4)
    P = BitMatrix.from_bool(A)
    m, n = shape
    rng = np.random.default_rng(5)
    i, j = rng.integers(-m, m, 300), rng.integers(-n, n, 300)
    np.testing.assert_array_equal(P[i, j], A[i, j])
    np.testing.assert_array_equal(P[i[:6, None], j[None, :7]], A[i[:6, None], j[None, :7]])
    assert all(P[int(a), int(b)] is bool(A[a, b]) for a, b in zip(i[:20], j[:20], strict=True))
    np.testing.assert_array_equal(P[m - 1], A[-1])
    np.testing.assert_array_equal(P.rows(-1), A[-1])
    np.testing.assert_array_equal(P.rows(i[:9]), A[i[:9]])
    np.testing.assert_array_equal(P.rows(slice(1, 4)), A[1:4])
    np.testing.assert_array_equal(P.indices(0), np.flatnonzero(A[0]))
    np.testing.assert_array_equal(P.column(n - 1), A[:, -1])
    np.testing.assert_array_equal(P[:, 0], A[:, 0])
    np.testing.assert_array_equal(P[0, 1:], A[0, 1:])
    np.testing.assert_array_equal(P.diagonal(), A.diagonal())
    assert len(P) == m
    assert P.nbytes == m * -(-n // 64) * 8


def test_bits_are_written():
    A = random_bool((90, 150), 6)
    P = BitMatrix.from_bool(A)
    P[3, 149], A[3, 149] = True, True
    P[-1, -2], A[-1, -2] = False, False
    rows, cols = np.arange(90), np.arange(90) % 7  # several bits of one word at once
    P[rows, cols] = A[rows, cols] = rows % 3 == 0
    P[5, [1, 2, 3]] = A[5, [1, 2, 3]] = True
    P.set_diagonal(rows % 2 == 0)
    A[rows, rows] = rows % 2 == 0
    np.testing.assert_array_equal(P.to_bool(), A)
    P.set_diagonal(False)
    np.fill_diagonal(A, False)
    P[10:20, 64:128] = BitMatrix.from_bool(random_bool((10, 64), 7))
    A[10:20, 64:128] = random_bool((10, 64), 7)
    np.testing.assert_array_equal(P.to_bool(), A)


def test_of_a_bit_that_is_set_several_times_the_last_value_counts():
    rng = np.random.default_rng(5)
    M, dense = BitMatrix.zeros((3, 70)), np.zeros((3, 70), bool)
    for _ in range(20):
        i, j, values = rng.integers(0, 3, 40), rng.integers(60, 70, 40), rng.random(40) < 0.5
        M[i, j] = values
        for k in range(40):  # NumPy does not promise an order
            dense[i[k], j[k]] = values[k]
        np.testing.assert_array_equal(M.to_bool(), dense)


def test_what_is_no_index_of_a_matrix_is_refused():
    M = BitMatrix.eye(3)
    for wrong in ((0, 1, 2), (), (0,)):
        with pytest.raises(IndexError, match=r"m\[rows, columns\]"):
            M[wrong]
        with pytest.raises(IndexError, match=r"m\[rows, columns\]"):
            M[wrong] = True
    with pytest.raises(DTypeError, match="must be an integer"):
        M[True, 0]
    with pytest.raises(ValueError, match="must be a copy"):
        np.asarray(M, copy=False)
    for several in (lambda: M.indices([0, 1]), lambda: M.column([1]), lambda: M[:, [0, 1]]):
        with pytest.raises(DTypeError, match=r"one (row|column) index is required, got list. Say m\[i\[:, None\], j\]"):
            several()
    assert M[np.arange(3)[:, None], [0, 1]].tolist() == np.eye(3, dtype=bool)[:, [0, 1]].tolist()
    for beyond in (np.uint64(2**64 - 1), np.array([2**64 - 1], np.uint64)):
        for read in (lambda k: M[k, 2], M.rows, lambda k: M[2, k]):
            with pytest.raises(IndexError, match="must lie in 0 … 2, got 18446744073709551615"):
                read(beyond)
    with pytest.raises(DTypeError, match="row index must be an integer"):
        M.indices(slice(0, 1))


def test_no_mask_is_lost():
    M, mask = BitMatrix.eye(3), [False, True, False]
    index, bits = np.ma.masked_array([0, 1, 2], mask), np.ma.masked_array([True] * 3, mask)
    for call in (
        lambda: M[index, 0],
        lambda: M.rows(index),
        lambda: BitMatrix.from_edges(index, [0, 1, 2], (3, 3)),
        lambda: M @ bits,
        lambda: M.set_diagonal(bits),
        lambda: M.__setitem__(([0, 1, 2], [2, 1, 0]), bits),
        lambda: M.to_bool(np.ma.masked_array(np.zeros((3, 3), bool))),
    ):
        with pytest.raises(DTypeError, match="plain array"):
            call()
    assert M == BitMatrix.eye(3)


def test_slices_are_views_that_cut_columns_at_words():
    A = random_bool((200, 300), 8)
    P = BitMatrix.from_bool(A)
    for rows in (slice(None), slice(10, 77), slice(-5, None), slice(None, None, 3), slice(None, None, -1), slice(9, 2)):
        for cols in (slice(None), slice(64, 128), slice(128, 300), slice(192, None), slice(0, 0), slice(300, 300)):
            view = P[rows, cols]
            assert view.shape == A[rows, cols].shape
            np.testing.assert_array_equal(view.to_bool(), A[rows, cols])
    assert np.shares_memory(P[64:, 64:128].words, P.words)
    P[0:64, 64:128] |= BitMatrix.from_bool(np.ones((64, 64), bool))
    assert P[:64, 64:128].counts() == 64 * 64
    assert P[5:9].shape == (4, 300)
    for cols in (slice(1, 64), slice(0, 65), slice(0, 256, 2), slice(10, None)):
        with pytest.raises(ShapeError, match="multiples of 64"):
            P[:, cols]


# The algebra.


@pytest.mark.parametrize("shape", SHAPES)
def test_bitwise_operators(shape):
    A, B = random_bool(shape, 9), random_bool(shape, 10)
    P, Q = BitMatrix.from_bool(A), BitMatrix.from_bool(B)
    for got, wanted in ((P & Q, A & B), (P | Q, A | B), (P ^ Q, A ^ B), (~P, ~A)):
        np.testing.assert_array_equal(got.to_bool(), wanted)
        assert tails_are_zero(got)
    R = P.copy()
    R |= Q
    R &= ~P
    R ^= Q
    np.testing.assert_array_equal(R.to_bool(), ((A | B) & ~A) ^ B)
    assert P == BitMatrix.from_bool(A)
    assert (P == Q) == np.array_equal(A, B)
    assert P.any() == A.any()


@pytest.mark.parametrize("shape", [*SHAPES, (700, 1030)])
def test_transpose_and_counts(shape):
    A = random_bool(shape, 11)
    P = BitMatrix.from_bool(A)
    assert tails_are_zero(P.T)
    np.testing.assert_array_equal(P.T.to_bool(), A.T)
    assert P.T.T == P
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(P.counts(axis), A.sum(axis))
    if min(shape) > 2:
        np.testing.assert_array_equal(P[1:, :].T.to_bool(), A[1:].T)
        np.testing.assert_array_equal(P[1::2].counts(0), A[1::2].sum(0))


def test_a_small_product_is_three_loops():
    A, B = random_bool((9, 70), 12, 0.05), random_bool((70, 11), 13)
    expected = cases.product(CASE, A, B)
    np.testing.assert_array_equal((BitMatrix.from_bool(A) @ BitMatrix.from_bool(B)).to_bool(), expected)


@pytest.mark.parametrize("density", [0.002, 0.02, 0.6])
@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
def test_products_agree_with_scipy(sizes, density):
    m, k, n = sizes
    A, B = random_bool((m, k), 14, density), random_bool((k, n), 15, density)
    P, Q = BitMatrix.from_bool(A), BitMatrix.from_bool(B)
    C = P @ Q
    expected = scipy_product(A, B)
    np.testing.assert_array_equal(C.to_bool(), expected)
    assert tails_are_zero(C)
    x = random_bool((k,), 16)
    np.testing.assert_array_equal(P @ x, (A & x).any(axis=1))
    old = BitMatrix.from_bool(random_bool((m, n), 17))
    for threads in (1, 2, 3):
        C = old.copy()
        bind(BOOLEAN, bool, threads=threads).gemm(C, P, Q)
        np.testing.assert_array_equal(C.to_bool(), expected | old.to_bool())


@pytest.mark.parametrize("which", ["upper", "lower", "band"])
def test_zero_blocks_are_skipped_and_nothing_else(which):
    A = random_bool((900, 900), 18, 0.01)
    A = {"upper": np.triu(A), "lower": np.tril(A), "band": np.triu(np.tril(A, 70), -70)}[which]
    P = BitMatrix.from_bool(A)
    np.testing.assert_array_equal((P @ P).to_bool(), scipy_product(A, A))


@pytest.mark.parametrize(("m", "n"), [(0, 0), (1, 1), (65, 64), (64, 200), (131, 513), (700, 600), (2200, 130)])
def test_in_place_products(m, n):
    D, R = random_bool((m, m), 19, 2 / max(m, 1)), random_bool((m, n), 20, 0.05)
    for threads in (1, 2):
        ops = bind(BOOLEAN, bool, threads=threads)
        packed = ops.upload(R)
        ops.left_mul(ops.upload(D), packed)
        np.testing.assert_array_equal(packed.to_bool(), scipy_product(D, R))
        packed = ops.upload(R.T)
        ops.right_mul(packed, ops.upload(D))
        np.testing.assert_array_equal(packed.to_bool(), scipy_product(R.T, D))
        assert tails_are_zero(packed)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (65, 63, 64), (130, 517, 200), (37, 1100, 1090)], ids=str)
def test_products_by_tables_in_the_cache(sizes, monkeypatch):
    """As processors with registers of 32 bytes have them of large matrices: `semiring.kernels.cpu.bits.nibbles`."""
    monkeypatch.setattr(products, "_kernel", lambda m, k, n: nibbles)
    for density in (0.002, 0.6):
        test_products_agree_with_scipy(sizes, density)
    test_in_place_products(*sizes[1:])
    test_verbs_touch_their_own_view_alone()


def test_which_tables_a_product_has(monkeypatch):
    for lanes, sizes, expected in (
        *((64, (4096, 4096, 64), gemm), (32, (4096, 4096, 64), nibbles), (32, (1024, 1024, 16), nibbles)),
        *((32, (1023, 4096, 64), gemm), (32, (4096, 4096, 15), gemm), (16, (4096, 4096, 64), gemm)),
    ):
        monkeypatch.setattr(products, "LANES", lanes)
        assert products._kernel(*sizes) is expected


def test_verbs_touch_their_own_view_alone():
    A = random_bool((330, 450), 21, 0.02)
    P, expected = BitMatrix.from_bool(A), A.copy()
    ops = bind(BOOLEAN, bool)
    ops.gemm(P[64:193, 64:192], P[64:193, 192:320], P[192:320, 320:448])
    expected[64:193, 64:192] |= scipy_product(A[64:193, 192:320], A[192:320, 320:448])
    ops.left_mul(P[0:64, 0:64], P[0:64, 384:450])
    expected[0:64, 384:450] = scipy_product(A[0:64, 0:64], A[0:64, 384:450])
    ops.right_mul(P[193:330, 128:192], P[128:192, 128:192])
    expected[193:330, 128:192] = scipy_product(expected[193:330, 128:192], expected[128:192, 128:192])
    ops.closure(P[0:64, 320:384])
    expected[0:64, 320:384] = scipy_closure(A[0:64, 320:384])
    np.testing.assert_array_equal(P.to_bool(), expected)


# The closure.


@pytest.mark.parametrize("n", [*SIZES, 1100])
def test_the_pivot_closure_is_reflexive_and_right(n):
    for degree in (0.5, 1.5, 6):
        A = random_digraph(n, n, degree)
        ops = bind(BOOLEAN, bool)
        D = ops.upload(A)
        ops.closure(D)
        np.testing.assert_array_equal(ops.download(D), scipy_closure(A))
        assert tails_are_zero(D)


@pytest.mark.parametrize("n", [0, 1, 2, 40, 65])
def test_the_closure_is_the_oracles(n):
    A = random_digraph(n, n + 1)
    D = BitMatrix.from_bool(A)
    bind(BOOLEAN, bool).closure(D)
    np.testing.assert_array_equal(D.to_bool(), cases.closure(CASE, A))


@pytest.mark.parametrize("shape", ["path", "cycle", "reversed path"])
@pytest.mark.parametrize("n", [63, 64, 65, 200])
def test_long_walks_are_found(shape, n):
    A = np.eye(n, k=-1 if shape == "reversed path" else 1, dtype=bool)
    A[n - 1, 0] |= shape == "cycle"
    D = BitMatrix.from_bool(A)
    bind(BOOLEAN, bool).closure(D)
    every = np.ones((n, n), bool)
    expected = {"path": np.triu(every), "cycle": every, "reversed path": np.tril(every)}[shape]
    np.testing.assert_array_equal(D.to_bool(), expected)


@pytest.mark.parametrize("n", [1, 64, 131])
def test_a_step_is_one_round_of_warshall(n):
    A = random_digraph(n, 3)
    ops = bind(BOOLEAN, bool)
    D = ops.upload(A)
    for k in range(n):
        ops.step(D, k)
        A[k, k] = True
        A |= A[:, k, None] & A[None, k]
        np.testing.assert_array_equal(D.to_bool(), A)


@pytest.mark.parametrize("n", [0, 1, 65, 129, 577])
@pytest.mark.parametrize("block", [64, 128])
@pytest.mark.parametrize("name", ["iterative", "blocked", "recursive"])
def test_schedules_on_bits(name, block, n, monkeypatch):
    from apsp.road import schedules

    A = random_digraph(n, n)
    ops = bind(BOOLEAN, bool)
    monkeypatch.setattr(ops, "cutover", 64)
    D = ops.upload(A)
    schedules.get(name)(D, ops, block=block)
    np.testing.assert_array_equal(D.to_bool(), scipy_closure(A))


def test_the_backend_keeps_the_contract():
    ops = bind(BOOLEAN, bool, threads=2)
    assert (ops.device, ops.grain, ops.dtype, ops.semiring) == ("cpu", 64, np.dtype(bool), BOOLEAN)
    assert ops.pivot % 64 == 0
    assert ops.workspace(0) >= 0
    assert ops.workspace(1 << 15) < (1 << 30) // 8 // 10
    A = BitMatrix.from_bool(random_bool((5, 70)))
    assert ops.upload(A, copy=False) is A
    assert not np.shares_memory(ops.upload(A).words, A.words)
    assert not ops.empty((3, 100)).any()
    ops.synchronize()


def test_nothing_is_written_through_read_only_memory():
    A = BitMatrix.from_bool(random_bool((70, 70)))
    frozen = A.copy()
    frozen.words.flags.writeable = False
    ops = bind(BOOLEAN, bool)
    for write in (
        lambda: ops.gemm(frozen, A, A),
        lambda: ops.left_mul(A, frozen),
        lambda: ops.right_mul(frozen, A),
        lambda: ops.closure(frozen),
        lambda: ops.step(frozen, 3),
        lambda: A.to_bool(np.broadcast_to(np.zeros((), bool), (70, 70))),
        lambda: frozen.__setitem__((0, 1), not frozen[0, 1]),
        lambda: frozen.__setitem__((slice(None), slice(None)), ~A),
        lambda: frozen.set_diagonal(~A.diagonal()),
        lambda: frozen.__ior__(~A),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert frozen == A
    assert (frozen @ frozen) == (A @ A)


# Files, errors, other machines.


def test_save_and_load(tmp_path):
    P = BitMatrix.from_bool(random_bool((77, 140), 22))
    path = tmp_path / "closure.bits"
    P.save(path)
    assert BitMatrix.load(path) == P
    assert [p.name for p in tmp_path.iterdir()] == ["closure.bits"]
    P[10:20, 64:128].save(path)
    assert BitMatrix.load(path) == P[10:20, 64:128]
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(FormatError, match=r"other\.npz.*BitMatrix that `save` wrote"):
        BitMatrix.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        BitMatrix.load(tmp_path / "missing.npz")


def test_a_damaged_file_is_a_format_error_that_names_it(tmp_path):
    P, path = BitMatrix.from_bool(random_bool((20, 70), 3)), tmp_path / "bits.npz"
    P.save(path)
    check_damaged(path, lambda: BitMatrix.load(path) == P)
    for words, shape in (
        (np.zeros((2, 1), np.int64), [2, 64]),
        (np.zeros((2, 1), np.uint64), [2, 65]),
        (np.zeros((2, 1), np.uint64), [2, 64, 1]),
        (np.full((2, 1), 2, np.uint64), [2, 1]),
    ):
        np.savez(path, words=words, shape=np.array(shape))
        with pytest.raises(FormatError, match=r"bits\.npz"):
            BitMatrix.load(path)


def test_a_header_that_claims_more_than_the_file_holds_allocates_nothing(tmp_path):
    path = tmp_path / "bits.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("words.npy", "w") as file:
        header = {"descr": "<u8", "fortran_order": False, "shape": (1 << 36, 1)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(64))
    with pytest.raises(FormatError, match=r"bits\.npz.*68719476736"):
        BitMatrix.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "bits.npz"
    old = BitMatrix.eye(70)
    old.save(path)

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        BitMatrix.zeros((70, 70)).save(path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["bits.npz"]
    assert BitMatrix.load(path) == old


def test_errors_say_what_came_and_the_way_out():
    A = BitMatrix.zeros((3, 70))
    for error, words, call in (
        (DTypeError, r"native uint64, got ndarray of int64", lambda: BitMatrix(np.zeros((3, 2), np.int64), (3, 70))),
        (
            ShapeError,
            r"3 × 70 matrix has words \(3, 2\), got \(3, 1\)",
            lambda: BitMatrix(np.zeros((3, 1), np.uint64), (3, 70)),
        ),
        (ShapeError, "contiguous", lambda: BitMatrix(np.zeros((3, 4), np.uint64)[:, ::2], (3, 70))),
        (ShapeError, "from column 70 on must be zero", lambda: BitMatrix(~np.zeros((3, 2), np.uint64), (3, 70))),
        (DTypeError, "got a masked one", lambda: BitMatrix.from_bool(np.ma.array([[True]], mask=[[True]]))),
        (DTypeError, r"must be bool, got float64.*A != 0", lambda: BitMatrix.from_bool(np.zeros((2, 2)))),
        (ShapeError, "two axes", lambda: BitMatrix.from_bool(np.zeros(2, bool))),
        (ShapeError, r"inner sizes, got A \(3, 70\) and B \(3, 70\)", lambda: A @ A),
        (ShapeError, "equal shapes", lambda: A | A.T),
        (DTypeError, r"Use BitMatrix.from_bool", lambda: A & np.zeros((3, 70), bool)),
        (IndexError, r"row must lie in 0 … 2, got 3", lambda: A[3, 0]),
        (IndexError, r"column must lie in 0 … 69, got -71", lambda: A[[0, 1], [5, -71]]),
        (IndexError, r"column must lie in 0 … 69, got 70", lambda: BitMatrix.from_edges([0, 1], [3, 70], (3, 70))),
        (IndexError, "got -1", lambda: BitMatrix.from_edges([0, -1], [3, 7], (3, 70))),
        (DTypeError, "must be integers, got float64", lambda: BitMatrix.from_edges([0.5], [1.0], (3, 70))),
        (ShapeError, "one length, got 2 and 1", lambda: BitMatrix.from_edges([0, 1], [1], (3, 70))),
        (ShapeError, "out must have shape", lambda: A.to_bool(np.zeros((70, 3), bool))),
        (DTypeError, "plain array to write to, got list", lambda: A.to_bool([[True]])),
        (
            DTypeError,
            r"sparse matrix is required, got ndarray of bool.*BitMatrix\.from_bool",
            lambda: BitMatrix.from_sparse(np.eye(2, dtype=bool)),
        ),
        (ShapeError, "must not be negative", lambda: BitMatrix.zeros((-1, 3))),
    ):
        with pytest.raises(error, match=words):
            call()
    for half in (lambda: BitMatrix.zeros((2.5, 3)), lambda: BitMatrix.eye(2.5)):
        with pytest.raises(ShapeError, match=r"must be \(rows, columns\), got \(2\.5"):
            half()
    with pytest.raises(ShapeError, match=r"set single bits"):
        A[0, :] = True
    with pytest.raises(MemoryNeeded, match=r"bits: .* must fit on cpu, got .* free"):
        BitMatrix.zeros((1 << 27, 1 << 27))
    with pytest.raises(TypeError):
        hash(A)


FORCED = """
import numpy as np
from semiring import BitMatrix, get
from semiring.kernels.backend import bind
from semiring.kernels.cpu.bits.vectors import INSTRUCTION
rng = np.random.default_rng(0)
A, B = rng.random((300, 530)) < 0.02, rng.random((530, 150)) < 0.02
P, Q = BitMatrix.from_bool(A), BitMatrix.from_bool(B)
assert ((P @ Q).to_bool() == (A.astype(int) @ B > 0)).all()
assert (P.T.to_bool() == A.T).all() and (P.counts(0) == A.sum(0)).all()
D = BitMatrix.from_bool(np.eye(200, k=1, dtype=bool))
bind(get("boolean"), bool).closure(D)
assert (D.to_bool() == np.triu(np.ones((200, 200), bool))).all()
print(INSTRUCTION)
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names x86's instruction sets")
@pytest.mark.parametrize(
    ("cpu", "features", "instruction"),
    [
        pytest.param("haswell", "+avx2,+ssse3,+popcnt", "llvm.x86.avx2.pshuf.b", marks=pytest.mark.release),
        pytest.param("nehalem", "+ssse3,+popcnt", "llvm.x86.ssse3.pshuf.b.128", marks=pytest.mark.release),
        pytest.param("generic", ",", "None", marks=pytest.mark.release),
    ],
    ids=["AVX2", "SSSE3", "plain"],
)
def test_machines_with_less_compute_the_same(cpu, features, instruction, request, tmp_path):
    """Code for an older machine runs on a newer one; the kernels' look-up follows what numba compiles for."""
    available = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if cpu != "generic" and features.split(",")[0][1:] not in available:
        pytest.skip(f"this machine is no {cpu}")
    kept = getattr(request.config, "cache", None)  # compiled for 5 to 9 s; for the next run too
    folder = Path(kept.mkdir("older")) / cpu if kept else tmp_path
    environment = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder)}
    assert python(FORCED, env=environment) == f"{instruction}\n"
