"""The GPU's kernels where there is no GPU, and what launches them: against uncompiled loops and NumPy."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from itertools import pairwise, product
from types import SimpleNamespace

import cases
import emulated
import fake_cupy
import numpy as np
import pytest
from test_gpu_routes import WAYS
from test_logarithmic import closable, eliminated
from test_routes import WHOLE, by_the_rule, entries, graph, walk
from test_searches import WEIGHTS, star

from semiring import MemoryNeeded, get
from semiring.algebra import dtypes
from semiring.dense.bits import BitMatrix
from semiring.sparse import Searches

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)


@pytest.fixture
def cp(emulated_kernels):
    with emulated.installed(emulated_kernels):
        yield sys.modules["cupy"]


def kind(name, dtype, nonnegative=False):
    case = cases.Case(get(name), np.dtype(dtype))
    return pytest.param(case, nonnegative, id=f"{case}{'-nonnegative' * nonnegative}")


def released(*given):
    return [pytest.param(*p.values, id=p.id, marks=pytest.mark.release) for p in given]


#: Each way to hold words and to step: floats by their bits, two lanes a word, operands that are made from memory,
#: sums kept negated, ⊕ and ⊗ as they are declared; then those that differ little from one of them.
KINDS = [
    kind("min_plus", "float32", True),
    kind("min_plus", "int16", True),
    kind("max_plus", "int32", True),
    kind("max_times", "float32"),
    kind("plus_times", "float64"),
    *released(
        kind("max_plus", "int16", True),
        kind("max_plus", "float32", True),
        kind("min_plus", "int32", True),
        kind("min_plus", "int16"),
        kind("min_plus", "int64", True),
        kind("min_times", "float32"),
        kind("max_min", "int64"),
        kind("max_min", "float32", True),
        kind("min_max", "float32", True),
        kind("max_min", "int16"),
        kind("min_max", "int16"),
        kind("min_max", "float64"),
        kind("lor_land", "bool"),
        kind("log_plus", "float32"),
    ),
]


def bound(case, nonnegative, **options):
    """The general backend: over bits, too, a byte an entry."""
    from semiring.kernels.cuda.dense.backend import CudaBackend

    return CudaBackend(case.semiring, case.dtype, nonnegative, **options)


def entries_of(case, nonnegative, shape, seed, density=0.4):
    """Random ones; where they must not be negative, and sums grow round a cycle, there is none."""
    X = cases.random_matrix(case, shape, seed, density=density)
    if nonnegative and case.semiring.name == "max_plus":
        X = np.where(X == case.zero, X, -X)
        if shape[-1] == shape[-2]:
            order = np.random.default_rng(seed).permutation(shape[-1])
            X = np.where(np.less.outer(order, order), X, case.zero)
    return X


def window(cp, X, apart=0):
    """X on the device, its rows so many entries apart; what lies between them, and whether it is what it was."""
    rows, columns = X.shape
    held = cp.empty((rows, max(apart, columns)), X.dtype)
    held[:, :columns] = X
    before = np.array(held)

    def kept():
        now = np.array(held)
        return now[:, columns:].tobytes() == before[:, columns:].tobytes()

    return held[:, :columns], kept


class TestProducts:
    @pytest.mark.parametrize(
        ("way", "case", "nonnegative"),
        [
            pytest.param(way, *p.values, id=f"{way}-{p.id}", marks=p.marks if k in few else pytest.mark.release)
            for way, few in (("aligned", (0, 2, 4)), ("as it lies", (0, 1, 3)))
            for k, p in enumerate(KINDS)
        ],
    )
    def test_a_tile_and_one_entry_more_or_less(self, cp, case, nonnegative, way):
        self.multiplied(cp, case, nonnegative, way)

    @pytest.mark.parametrize(("case", "nonnegative"), KINDS[:1])
    def test_in_parts_of_k(self, cp, case, nonnegative):
        self.multiplied(cp, case, nonnegative, "split-K")

    @staticmethod
    def multiplied(cp, case, nonnegative, way):
        ops = bound(case, nonnegative)
        from semiring.kernels.cuda.dense import matrix, tiles

        tile = ops.tile_table[1]
        bm, bn, bk = tile.bm, tile.bn, tile.bk
        sizes = [(1, 1, 1), (bm - 1, bk + 1, bn + 1), (bm + 1, 2 * bk, bn - 1), (3, 16, 2 * bn - 16), (bm + 1, 8, bn)]
        if way == "split-K":
            tiles.SHORTEST, sizes = 40, [(bm + 3, 4 * bk + 5, bn + 2), (5, 3 * bk, 7)]
        for m, k, n in sizes:
            A, B, C = (
                entries_of(case, nonnegative, shape, seed) for seed, shape in enumerate(((m, k), (k, n), (m, n)))
            )
            # Rows that begin at multiples of 16 bytes; others, which may end where memory does.
            apart = (k + 5, n + k % 2, n) if way == "as it lies" else (-(-k // 16) * 16, -(-n // 16) * 16, n + 3)
            for accumulate in (False, True):
                (a, _), (b, _), (c, kept) = (window(cp, X, by) for X, by in zip((A, B, C), apart, strict=True))
                views = [matrix.view(X) for X in (c, a, b)]
                if way == "split-K":
                    assert tiles.splits(tile, m, n, k, ops.multiprocessors) > 1
                ops.multiply(tile, *views, accumulate=accumulate, unsplit=way != "split-K")
                cases.same(case, np.array(c), cases.product(case, A, B, C if accumulate else None))
                assert kept()

    @pytest.mark.parametrize("name", ["max_min", "min_max"])
    @pytest.mark.parametrize("dtype", ["int16", "float32"])
    def test_the_greatest_of_least_entries_of_either_sign(self, cp, name, dtype):
        """Two integers a word; bit patterns of floats where none is below 0, and −∞ among them."""
        case = cases.Case(get(name), np.dtype(dtype))
        kept = np.array([case.zero, case.one, 0, 3, 7], dtype)
        values = np.append(kept, [-5, -32767] if dtype == "int16" else []).astype(dtype)
        ops, rng = bound(case, True), np.random.default_rng(0)
        assert ops.variant == ("packed" if dtype == "int16" else "nonnegative")
        for m, k, n in ((3, 5, 4), (33, 40, 67)):
            A, B, C = (rng.choice(values, shape) for shape in ((m, k), (k, n), (m, n)))
            for accumulate in (False, True):
                c = cp.asarray(C)
                (ops.gemm if accumulate else ops.matmul)(c, cp.asarray(A), cp.asarray(B))
                np.testing.assert_array_equal(np.array(c), cases.product(case, A, B, C if accumulate else None))
        A = rng.choice(values, (37, 37))
        D = cp.asarray(A)
        ops.closure_batch(D[None], None)
        np.testing.assert_array_equal(np.array(D), cases.closure(case, A))

    def test_rows_of_any_length(self, cp):
        """Large matrices are closed, large operands multiplied, in copies whose rows begin at multiples of 16 bytes."""
        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops = bound(case, True)
        kernels, limits = ops.kernels, ops.limits
        kernels.__dict__["limits"] = dataclasses.replace(limits, one_launch=64, strip_pairs=0)
        try:
            A = entries_of(case, True, (67, 67), 1)
            small, large = cp.asarray(A[:64, :64]), cp.asarray(A)
            assert ops.aligned(small) is small
            copy = ops.aligned(large)
            assert copy.strides == (272, 4)
            assert ops.aligned(copy) is copy
            np.testing.assert_array_equal(np.array(copy), A)
            C = cp.empty((67, 67), np.float32)
            ops.matmul(C, large, large)
            cases.same(case, np.array(C), cases.product(case, A, A))
        finally:
            kernels.__dict__["limits"] = limits

    def test_few_columns_of_any_length_are_split_along_k(self, cp, monkeypatch):
        """Parts of k keep a GPU busy with one tile; where the right operand is unaligned it is copied for them."""
        from semiring.kernels.cuda.dense import launches

        case, k, ways = cases.Case(get("min_plus"), np.dtype("int32")), 600, []
        ops = bound(case, False)
        product = ops.kernels.product
        monkeypatch.setitem(ops.kernels.__dict__, "product", lambda *given: ways.append(given[-1]) or product(*given))
        A, B = (entries_of(case, False, shape, 1) for shape in ((4, k), (k, 3)))
        C = cp.empty((4, 3), np.int32)
        for deep in (k + 1, k):
            monkeypatch.setattr(launches, "DEEP", deep)
            ops.matmul(C, cp.asarray(A), cp.asarray(B))
            cases.same(case, np.array(C), cases.product(case, A, B))
        assert ways == ["unsplit", "split-K"]

    def test_a_crowd_of_small_matrices(self, cp):
        """Many matrices beyond a pivot block are closed by the same launches for all, few by a thread block each."""
        from apsp.road import schedules

        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops = bound(case, True)
        kernels, limits = ops.kernels, ops.limits
        kernels.__dict__["limits"] = dataclasses.replace(limits, crowd=4)
        taken = []

        def blocked(views, *given, **options):
            taken.append(views.shape[-1])
            schedules.get("blocked")(views, *given, **options)

        try:
            for count in (3, 4):
                A = np.stack([entries_of(case, True, (70, 70), seed) for seed in range(count)])
                D = cp.asarray(A)
                ops.closure_batch(D, blocked)
                for X, found in zip(A, D, strict=True):
                    cases.same(case, np.array(found), cases.closure(case, X))
        finally:
            kernels.__dict__["limits"] = limits
        assert taken == [4]

    def test_many_at_once(self, cp):
        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops = bound(case, True)
        from semiring.kernels.cuda.dense.batch import Batch

        A = cases.random_matrix(case, (3, 70, 70), 0)
        held = cp.asarray(A)
        X, together = held.transpose(1, 2, 0), Batch(ops)
        together.gemm(X[64:, 64:], X[64:, :64], X[:64, 64:])
        want = A.copy()
        for k in range(3):
            want[k, 64:, 64:] = cases.product(case, A[k, 64:, :64], A[k, :64, 64:], A[k, 64:, 64:])
        np.testing.assert_array_equal(held.get(), want)

    def test_a_batch_of_products_in_one_launch(self, cp):
        """Matrices of each operand as far apart as they are: strided, padded, or one for all; and as many launches."""
        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops = bound(case, True)
        A, B = (cases.random_matrix(case, shape, k) for k, shape in enumerate(((6, 5, 40), (3, 40, 12))))
        wide, C = cp.asarray(A), cp.asarray(np.zeros((4, 5, 12), np.float32))
        once = cp.asarray(B[:1])
        ops.matmul_batch(C[:3], wide[::2], cp.asarray(B))
        for k in range(3):
            np.testing.assert_array_equal(C[k].get(), cases.product(case, A[2 * k], B[k]))
        assert not C[3].get().any()
        ops.matmul_batch(C[1:], wide[3:], np.broadcast_to(once, B.shape, subok=True))
        for k in range(3):
            np.testing.assert_array_equal(C[1 + k].get(), cases.product(case, A[3 + k], B[0]))
        ops.matmul_batch(C[1:, :, :4], cp.asarray(A[3:, :, :1]), cp.asarray(B[:, :1, 4:8]))
        np.testing.assert_array_equal(C[1, :, :4].get(), cases.product(case, A[3, :, :1], B[0, :1, 4:8]))

    @pytest.mark.parametrize(("states", "steps"), [(5, 7), (33, 4), (300, 3), (1, 2), (4, 1)])
    def test_chains_and_their_derivatives(self, cp, states, steps, monkeypatch):
        """As on the host, which tests/test_torch.py holds to PyTorch: matrices of all, of each, of each step."""
        from semiring.kernels.cuda.dense import chain as launched
        from semiring.tensors.chains import chain, trace, unchain

        rng = np.random.default_rng(states)
        E, G = rng.normal(size=(2, 3, steps, states))
        for shape in ((), (3,), (3, steps - 1)):
            M = rng.normal(size=(*shape, states, states))
            M[..., 0, 1:] = -np.inf
            given = [cp.asarray(X) for X in (E, M)]
            for shared in (launched.SHARED, 0) if states == 5 else (launched.SHARED,):
                monkeypatch.setattr(launched, "SHARED", shared)
                for name in ("max_plus", "log_plus"):
                    found, wanted = chain(*given, get(name)), chain(E, M, get(name))
                    for x, y in zip(found, wanted, strict=True):
                        np.testing.assert_allclose(np.array(x), y, rtol=1e-12, atol=1e-12)
                    if name == "max_plus":
                        ends = np.array([steps - 1, 0, steps // 2]), np.array([states - 1, 0, states // 2])
                        paths = trace(given[1], found[0], *map(cp.asarray, ends), get(name))
                        np.testing.assert_array_equal(np.array(paths), trace(M, wanted[0], *ends, get(name)))
                back = unchain(*given, *found, cp.asarray(G)), unchain(E, M, *wanted, G)
                for x, y in zip(*back, strict=True):
                    np.testing.assert_allclose(np.array(x), y, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("verb", ["left_mul", "right_mul", "eliminate"])
    def test_products_in_place(self, cp, verb):
        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops, A = bound(case, True), cases.random_matrix(case, (99, 99), 0)
        X, h = cp.asarray(A), 41
        D, R, C, rest = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
        d, r, c, x = X[:h, :h], X[:h, h:], X[h:, :h], X[h:, h:]
        if verb == "left_mul":
            ops.left_mul(d, r)
            np.testing.assert_array_equal(r, cases.product(case, D, R))
        elif verb == "right_mul":
            ops.right_mul(c, d)
            np.testing.assert_array_equal(c, cases.product(case, C, D))
        else:
            ops.eliminate(d, r, c, x)
            np.testing.assert_array_equal(r, cases.product(case, D, R))
            np.testing.assert_array_equal(c, cases.product(case, C, D))
            np.testing.assert_array_equal(x, cases.product(case, C, cases.product(case, D, R), rest))


class TestClosures:
    @pytest.mark.parametrize(
        ("name", "dtype"),
        [
            ("min_plus", "int16"),
            ("max_times", "float32"),
            pytest.param("min_plus", "float32", marks=pytest.mark.release),
            pytest.param("max_min", "float64", marks=pytest.mark.release),
        ],
    )
    def test_of_symmetric_matrices(self, cp, name, dtype, monkeypatch):
        """By half of the products, which leave a symmetric matrix; where one entry differs, by all."""
        from apsp.road.schedules import recursive
        from semiring.kernels.cuda.dense import panels

        s, rng = get(name), np.random.default_rng(0)
        case = cases.Case(s, np.dtype(dtype))
        ops = bound(case, True)
        vars(ops).update(pivot=72, cutover=72)
        called = []
        for verb in ("eliminate", "eliminate_mirrored"):
            run = getattr(ops, verb)
            monkeypatch.setattr(ops, verb, lambda *X, run=run, verb=verb: called.append(verb) or run(*X))
        for n, strips in ((73, (64, 1)), (131, (32, 3))):
            monkeypatch.setattr(panels, "sizes", lambda *panel, strips=strips: strips)
            A = 2.0 ** -rng.integers(1, 5, (n, n)) if name == "max_times" else rng.integers(1, 99, (n, n)).astype(float)
            A = np.where(rng.random((n, n)) < 0.1, np.maximum(A, A.T), case.zero).astype(dtype)
            symmetric = np.where(np.tri(n) > 0, A, A.T)
            for one_way in (False, True):
                B = symmetric.copy()
                if one_way:
                    B[n - 1, 0] = 1 if name != "max_times" else 0.5
                    B[0, n - 1] = case.zero
                X, kept = window(cp, B, n + n % 3)
                called.clear()
                recursive.closure(X, ops, block=72)
                assert set(called) == {"eliminate" if one_way else "eliminate_mirrored"}
                assert kept()
                cases.same(case, np.array(X), cases.closure(case, B))
                assert one_way or np.array_equal(X, X.T)
            # Sums that are rounded, in whatever order: they are the same both ways.
            rounded = np.where(
                symmetric == case.zero, symmetric, rng.random((n, n)) / 8 if case.dtype.kind == "f" else symmetric
            )
            rounded = np.where(np.tri(n) > 0, rounded, rounded.T).astype(dtype)
            X = cp.asarray(rounded)

            def close(D, closed=ops.closure):
                closed(D)
                if case.dtype.kind == "f":  # as other kernels may do
                    D[0, 1:] = np.nextafter(D[0, 1:], np.inf)

            with monkeypatch.context() as patched:
                patched.setattr(ops, "closure", close)
                recursive.closure(X, ops, block=72)
            np.testing.assert_array_equal(np.array(X), np.array(X).T)
            np.testing.assert_allclose(np.array(X), cases.closure(case, rounded), rtol=1e-5)
        assert not bound(case, False).mirrored(cp.asarray(symmetric)) or name == "max_times"

    @pytest.mark.parametrize(("case", "nonnegative"), KINDS)
    def test_of_a_pivot_block(self, cp, case, nonnegative):
        """One that is alone, and as many as there are: threads have other shares of those."""
        ops = bound(case, nonnegative)
        for n in (1, 2, 7, 63, 64):
            A = entries_of(case, nonnegative, (2, n, n), n)
            want = [cases.closure(case, a) for a in A]
            X, kept = window(cp, A[0], 64 + n % 2)
            ops.closure(X)
            cases.same(case, np.array(X), want[0])
            assert kept()
            if case.dtype.itemsize > 2:
                many = cp.asarray(A)
                ops.closure_batch(many)
                cases.same(case, many.get(), np.stack(want))

    @pytest.mark.parametrize(("case", "nonnegative"), [*KINDS[:2], KINDS[4], *released(*KINDS[2:4], *KINDS[5:])])
    def test_in_one_launch_whose_tiles_are_loaded_and_stored(self, cp, case, nonnegative):
        self.streamed(cp, case, nonnegative, (65, 131))

    @pytest.mark.parametrize(
        ("multiprocessors", "case", "nonnegative"), [(3, *KINDS[0].values), (1, *KINDS[1].values)], ids=["3", "1"]
    )
    def test_in_one_launch_of_few_blocks(self, cp, monkeypatch, case, nonnegative, multiprocessors):
        monkeypatch.setitem(fake_cupy.ATTRIBUTES, 16, multiprocessors)
        self.streamed(cp, case, nonnegative, (130,))

    @staticmethod
    def streamed(cp, case, nonnegative, sizes):
        ops = bound(case, nonnegative)
        for n in sizes:
            ops.kernels._chosen[n] = next(g for g in ops.kernels.geometries if not g.resident)
            A = entries_of(case, nonnegative, (n, n), n, 0.05)
            X, kept = window(cp, A, n + n % 3)
            ops.closure(X)
            cases.same(case, np.array(X), cases.closure(case, A))
            assert kept()

    @pytest.mark.parametrize(("case", "nonnegative"), [KINDS[0], *released(KINDS[1], KINDS[2], KINDS[4])])
    def test_in_one_launch_that_keeps_its_tiles(self, cp, case, nonnegative):
        ops = bound(case, nonnegative)
        geometry = next((g for g in ops.kernels.geometries if g.resident), None)
        if geometry is None:
            pytest.skip("its steps need the registers")
        for n in (129, 193):
            ops.kernels._chosen[n] = geometry
            A = entries_of(case, nonnegative, (n, n), n, 0.03)
            X, kept = window(cp, A, n + 3)
            ops.closure(X)
            cases.same(case, np.array(X), cases.closure(case, A))
            assert kept()

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_of_logarithms_by_exponentials_or_pair_by_pair(self, cp, dtype, monkeypatch):
        from semiring.kernels.cuda.dense import backend, sums

        ops, exact = bound(cases.Case(get("log_plus"), np.dtype(dtype)), False), []
        close = backend.close_by_exponentials
        monkeypatch.setattr(backend, "close_by_exponentials", lambda *X: exact.append(close(*X)) or exact[-1])
        acyclic = np.where(np.triu(np.ones((70, 70)), 1) > 0, -5.0, -np.inf)
        short = np.full((70, 70), -np.inf)
        short[0, 1] = short[1, 2] = -373  # whose product no float64 holds
        for name, _, A in [*closable(70), ("acyclic", None, acyclic), ("two far arcs", None, short)]:
            X, kept = window(cp, A.astype(dtype), 73)
            with np.errstate(all="ignore"):
                ops.closure(X)
            unfit = {"vertices of other scales", "two far arcs", "∞"} | (
                {"a loop of a weight near 1"} if dtype == "float64" else set()
            )
            assert exact.pop() == (name not in unfit), name
            want = eliminated(A.astype(dtype))
            np.testing.assert_array_equal(np.isfinite(X), np.isfinite(want), name)
            finite = np.isfinite(want)
            unit = np.finfo(dtype).eps * (1 << 16 if name in unfit else 16)  # pair by pair rounding is amplified
            np.testing.assert_allclose(X[finite], want[finite], rtol=unit, atol=4 * unit, err_msg=name)
            assert kept()
        monkeypatch.setattr(sums, "PAIRWISE", 65)
        A = np.where(np.roll(np.eye(130), 1, 0) > 0, -20.0, -np.inf)  # a ring, whose weights no float64 has: by halves
        X = cp.asarray(A.astype(dtype))
        ops.closure(X)
        np.testing.assert_allclose(X, eliminated(A), rtol=1e-6, atol=1e-6)

    def test_of_many_by_a_block_each(self, cp):
        case = cases.Case(get("min_plus"), np.dtype("float32"))
        ops, A = bound(case, True), cases.random_matrix(case, (3, 70, 70), 0, density=0.1)
        X = cp.asarray(A)
        ops.closure_batch(X)
        for got, a in zip(X.get(), A, strict=True):
            np.testing.assert_array_equal(got, cases.closure(case, a))

    @pytest.mark.parametrize(("case", "options"), [
        (cases.Case(get("min_plus"), np.dtype("int16")), {}),
        (cases.Case(get("plus_times"), np.dtype("float64")), {"per_thread": 4, "access": "shared"}),
        (cases.Case(get("min_plus"), np.dtype("int16")), {"access": "columns"}),
    ], ids=str)  # fmt: skip
    def test_step_by_step(self, cp, case, options):
        ops, A = bound(case, False, **options), cases.random_matrix(case, (35, 35), 0)
        X, kept = window(cp, A, 37)
        for k in range(len(A)):
            ops.step(X, k)
        cases.same(case, np.array(X), cases.closure(case, A))
        assert kept()

    def test_integers_without_a_star_are_counted(self, cp):
        from semiring.host.errors import DivergenceError

        case = cases.Case(cases.counting(cases.STARLESS["inf"]), np.dtype("int32"))
        ops = bound(case, False)
        X = cp.asarray(np.array([[0, 1], [0, 0]], np.int32))
        ops.closure(X)
        ops.synchronize()
        assert X.get().tolist() == [[1, 1], [0, 1]]
        ops.closure(cp.asarray(np.array([[0, 1], [1, 0]], np.int32)))
        with pytest.raises(DivergenceError):
            ops.synchronize()


class TestBits:
    """Those by tensor memory (wgmma) have no stand-in here."""

    @staticmethod
    def bits(cp, X):
        from semiring.kernels.cuda.bits import words

        return BitMatrix._of(words.pack(cp.asarray(X)), X.shape)

    @pytest.mark.parametrize("instructions", ["logic", "mma"])
    def test_products(self, cp, instructions):
        from semiring.kernels.cuda.bits import product as bitproduct
        from semiring.kernels.cuda.bits.backend import CudaBitBackend

        rng, ops = np.random.default_rng(0), CudaBitBackend(instructions)
        high, wide = bitproduct.PRODUCTS[instructions].tile
        for m, k, n in ((1, 1, 1), (high - 1, 65, wide + 1), (high + 1, 515, 63), (7, 1100, 130)):
            A, B, C = (rng.random(shape) < p for shape, p in (((m, k), 0.08), ((k, n), 0.08), ((m, n), 0.1)))
            want = (A.astype(int) @ B.astype(int)) > 0
            a, b, c = (self.bits(cp, X) for X in (A, B, C))
            ops.gemm(c, a, b)
            np.testing.assert_array_equal(c.to_bool().get(), want | C)
            assert n % 64 == 0 or not (np.array(c.words)[:, -1] >> np.uint64(n % 64)).any()
            if m <= k:
                square = self.bits(cp, A[:, :m])
                right = self.bits(cp, B[:m])
                ops.left_mul(square, right)
                np.testing.assert_array_equal(right.to_bool().get(), (A[:, :m].astype(int) @ B[:m].astype(int)) > 0)

    def test_transposed_counted_listed_and_unpacked(self, cp):
        from semiring.kernels.cuda.bits import words

        rng = np.random.default_rng(1)
        for m, n in ((1, 1), (5, 44), (63, 65), (513, 130), (33, 1025)):
            A = rng.random((m, 2 * n)) < 0.2
            strided = A[::-1, ::2] if m % 2 else A[:, ::2]
            held = emulated.asarray(A)
            X = BitMatrix._of(words.pack(held[::-1, ::2] if m % 2 else held[:, ::2]), (m, n))
            np.testing.assert_array_equal(X.to_bool().get(), strided)
            np.testing.assert_array_equal(X.T.to_bool().get(), strided.T)
            np.testing.assert_array_equal(words.count(X, 1).get(), strided.sum(axis=1))
            np.testing.assert_array_equal(words.count(X, 0).get(), strided.sum(axis=0))
            np.testing.assert_array_equal(words.columns(X, int(strided.sum())).get(), strided.nonzero()[1])
            into = np.zeros((n, m), bool)
            X.to_bool(into.T)
            np.testing.assert_array_equal(into, strided.T)

    def test_edges(self, cp):
        from semiring.kernels.cuda.bits import words

        rows, columns = np.random.default_rng(2).integers(0, 97, (2, 300))
        want = np.zeros((97, 97), bool)
        want[rows, columns] = True
        np.testing.assert_array_equal(
            BitMatrix._of(words.from_edges(rows, columns, (97, 97)), (97, 97)).to_bool().get(), want
        )

    @pytest.mark.parametrize("n", [1, 31, 64, 129, 300])
    def test_closures(self, cp, n):
        """By blocks of 256, and step by step."""
        from semiring.kernels.cuda.bits.backend import CudaBitBackend

        A = np.random.default_rng(n).random((n, n)) < 1.5 / n
        want = A | np.eye(n, dtype=bool)
        for k in range(n):
            want |= want[:, k : k + 1] & want[k]
        ops, X = CudaBitBackend("logic"), self.bits(cp, A)
        assert isinstance(X, BitMatrix)
        ops.closure(X)
        np.testing.assert_array_equal(X.to_bool().get(), want)
        if n < 100:
            Y = self.bits(cp, A)
            for k in range(n):
                ops.step(Y, k)
            np.testing.assert_array_equal(Y.to_bool().get(), want)


class TestPredecessors:
    @staticmethod
    def found(cp, s, A, way):
        from semiring.kernels.cuda.routes import predecessors as routes

        for name, value in WAYS[way].items():
            setattr(routes, name, value)
        A = A if A.ndim == 3 else A[None]
        D = np.stack([cases.closure(cases.Case(s, a.dtype), a) for a in A])
        P = cp.empty(D.shape, np.int32)
        assert routes.of_matrix(s, cp.asarray(A), cp.asarray(D), P) is None
        return D, P.get()

    @pytest.mark.parametrize("way", WAYS)
    def test_of_integers_by_the_rule(self, cp, way):
        """Of each kind of graph one, all at a time."""
        s = get("min_plus")
        A = np.stack([entries(s, "int32", graph(name, 35)) for name in WHOLE])
        D, P = self.found(cp, s, A, way)
        for a, d, p in zip(A, D, P, strict=True):
            np.testing.assert_array_equal(p, by_the_rule(a, d, s))

    @pytest.mark.parametrize("way", WAYS)
    def test_every_path_of_floats(self, cp, way):
        s = get("min_plus")
        for name in ("geometric", "tiny and large", "negative fractions"):
            A = graph(name, 33).astype(np.float32)
            D, P = self.found(cp, s, A, way)
            walk(A, D[0], P[0], s)

    @pytest.mark.parametrize(
        ("name", "dtype"),
        [("max_min", "int64"), ("boolean", "bool"), pytest.param("min_max", "float64", marks=pytest.mark.release)],
    )
    def test_where_nothing_is_summed_by_the_rule(self, cp, name, dtype):
        s = get(name)
        for way in ("as it comes", "levels", "blocks"):
            A = entries(s, dtype, graph("0 or 1", 40))
            D, P = self.found(cp, s, A, way)
            np.testing.assert_array_equal(P[0], by_the_rule(A, D[0], s))

    def test_beyond_a_group_of_sources(self, cp):
        s = get("min_plus")
        A = entries(s, "int32", graph("half zeros", 130))
        D, P = self.found(cp, s, A, "levels")
        np.testing.assert_array_equal(P[0], by_the_rule(A, D[0], s))

    def test_what_is_no_closure_has_an_open_pair(self, cp):
        from semiring.kernels.cuda.routes import predecessors as routes

        s = get("min_plus")
        A = entries(s, "int32", graph("integers", 70))
        D = cases.closure(cases.Case(s, A.dtype), A)
        D[11, 0] -= 1
        assert routes.of_matrix(s, cp.asarray(A), cp.asarray(D), cp.empty(D.shape, np.int32)) == (11, 0)


class TestWalks:
    @staticmethod
    def trees(rng, batch, n):
        """Random trees of predecessors, some vertices unreached."""
        P = np.full((batch, n, n), -9999, np.int32)
        for tree in P.reshape(-1, n):
            i = int((tree.ctypes.data - P.ctypes.data) // (4 * n) % n)
            order = rng.permutation(np.delete(np.arange(n), i))
            reached = [i, *order[: rng.integers(0, n)]]
            for before, j in pairwise(reached):
                tree[j] = before if rng.random() < 0.7 else reached[rng.integers(0, reached.index(j))]
        return P

    @pytest.mark.parametrize(
        ("name", "dtype", "shared"),
        [("min_plus", "float32", emulated.SHARED), ("max_times", "float64", 2048), ("max_min", "int16", 2048)],
        ids=["min_plus-float32", "max_times-float64", "max_min-int16"],
    )
    def test_edges_are_counted_and_weighed(self, cp, name, dtype, shared):
        """Pointers and values in shared memory or not, by blocks of both sizes."""
        from semiring.kernels.cuda import gpu
        from semiring.kernels.cuda.routes import walks

        gpu.most_shared = lambda number: shared
        walks.MUCH = 1000
        s, rng, n = get(name), np.random.default_rng(0), 70
        case = cases.Case(s, np.dtype(dtype))
        P = self.trees(rng, 2, n)
        A = (rng.integers(1, 50, P.shape) / (64 if name == "max_times" else 1)).astype(dtype)
        hops, lengths = np.full(P.shape, -9999), np.full(P.shape, case.zero)
        mul = cases.scalar_mul(case)
        for b, i, j in np.ndindex(P.shape):
            path = [j]
            while path[-1] != i and path[-1] >= 0:
                path.append(int(P[b, i, path[-1]]))
            if path[-1] == i:
                hops[b, i, j], length = len(path) - 1, case.one.item()
                for v, u in pairwise(path[::-1]):
                    length = mul(length, A[b, v, u].item())
                lengths[b, i, j] = length
        counted, wrong = walks.hops(cp.asarray(P))
        np.testing.assert_array_equal(counted.get(), hops)
        weighed, broken = walks.lengths(s, cp.asarray(P), cp.asarray(A))
        np.testing.assert_allclose(weighed.get(), lengths.astype(dtype), rtol=1e-12)
        assert wrong == broken == -1

    @pytest.mark.parametrize("row", [[-9999, 2, 1], [-9999, 0, 7]])
    def test_the_last_row_that_is_no_tree_is_told(self, cp, row):
        from semiring.kernels.cuda.routes import walks

        P = np.array([row, [1, -9999, 1], [2, 2, -9999]], np.int32)
        assert walks.hops(cp.asarray(P))[1] == 0
        assert walks.hops(cp.asarray(np.stack([P, P])))[1] == 3


class TestGradients:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shared", [emulated.SHARED, 2048], ids=["shared", "global"])
    def test_sums_along_trees_are_the_hosts(self, cp, dtype, shared):
        """Sums in shared memory or not; the same bits again, though threads then run in another order."""
        from semiring.kernels.cpu.routes import gradients as host
        from semiring.kernels.cuda import gpu
        from semiring.kernels.cuda.routes import gradients as device

        gpu.most_shared = lambda number: shared
        tolerance = 100 * np.finfo(dtype).eps
        for n in (1, 2, 70, 300):
            P = TestWalks.trees(np.random.default_rng(n), 2, n)
            Q = np.where(P < 0, np.nan, np.random.default_rng(n).standard_normal(P.shape)).astype(dtype)
            sums = [device.subtrees(cp.asarray(P), cp.asarray(Q), 1) for _ in range(2)]
            assert sums[0].tobytes() == sums[1].tobytes()
            wanted = host.subtrees(P, Q, 1)
            np.testing.assert_allclose(sums[0].get()[P >= 0], wanted[P >= 0], rtol=tolerance, atol=n * tolerance)
            flows = [device.collected(cp.asarray(P), sums[0], n, 1) for _ in range(2)]
            assert flows[0].tobytes() == flows[1].tobytes()
            np.testing.assert_allclose(
                flows[0].get(), host.collected(P, wanted, n, 1), rtol=tolerance, atol=n * tolerance
            )

    def test_numbers_of_any_size(self, cp):
        """Small and large, and NaN, which spoils the column that it is in."""
        from semiring.kernels.cuda.routes import gradients as device

        K = np.array([[0, 1, 0, 1], [0, -9999, 1, 1], [1, 1, 1, 0]], np.int32)
        for size in (1e-280, 1.0, 1e300):
            F = device.collected(cp.asarray(K), cp.asarray(np.full(K.shape, size)), 2, 1).get()
            np.testing.assert_allclose(F, np.array([[2, 0, 1, 1], [1, 2, 2, 2]]) * size, rtol=1e-15)
        values = np.ones(K.shape)
        values[1] = np.nan
        F = device.collected(cp.asarray(K), cp.asarray(values), 2, 1).get()
        np.testing.assert_array_equal(F, [[np.nan, 0, np.nan, np.nan], [np.nan, 2, np.nan, np.nan]])

    @pytest.mark.parametrize("name", ["min_plus", "max_plus", "max_times", "min_times"])
    @pytest.mark.parametrize("shape", [(1, 1, 1), (70, 33, 65), (5, 0, 3), (64, 16, 128)])
    def test_the_first_of_the_best_products_is_chosen(self, cp, name, shape):
        from semiring.kernels.cpu.routes import gradients as host
        from semiring.kernels.cuda.routes import gradients as device

        s, (m, k, n), rng = get(name), shape, np.random.default_rng(0)
        A, B = (rng.integers(1, 9, (2, *sides)).astype(np.float32) for sides in ((m, k), (k, n)))
        if k > 1:
            A[:, 0], B[:, :, 0] = s.zero, s.zero
        rule = {"greatest": s.add.selects == "greatest", "times": name.endswith("times"), "zero": float(s.zero)}
        found = device.chosen(cp.asarray(A), cp.asarray(B), **rule, threads=1).get()
        np.testing.assert_array_equal(found, host.chosen(A, B, **rule, threads=1))


def loop_of_sums(A, D, q):
    """What each arc carries and how many best paths there are, by a loop; every sum is exact."""
    n = len(A)
    carried, counts = np.zeros((n, n)), np.zeros((n, n), np.int64)
    for s in range(n):
        order = [int(j) for j in np.argsort(D[s], kind="stable") if np.isfinite(D[s, j])]
        before = {j: [k for k in np.flatnonzero(D[s] + A[:, j] == D[s, j]).tolist() if k != j] for j in order}
        counts[s, s] = 1
        for j in order[1:]:
            counts[s, j] = sum(counts[s, k] for k in before[j])
        owed = np.where(np.arange(n) == s, 0.0, q[s])
        for j in order[:0:-1]:
            for k in before[j]:
                share = owed[j] * (counts[s, k] / counts[s, j])
                carried[k, j] += share
                owed[k] += share
    return carried, counts


class TestSumsOverBestPaths:
    @pytest.fixture(autouse=True)
    def few_threads(self, cp, monkeypatch):
        from semiring.kernels.cuda.routes import adjoint

        monkeypatch.setattr(adjoint, "SHAPES", dict.fromkeys(range(3), (64, 1)))
        monkeypatch.setattr(adjoint, "CHUNK", 16)

    @staticmethod
    def network(name):
        """A matrix of arcs whose weights are in eighths, and its distances by SciPy."""
        from scipy.sparse.csgraph import shortest_path

        n = {"one vertex": 1, "path": 70, "hubs": 70}.get(name, 45)
        rng, A = np.random.default_rng(n), np.full((n, n), np.inf)
        if name == "path":
            A[np.arange(n - 1), np.arange(1, n)] = 1 / 8
        elif name == "hubs":  # all best paths lead through one of two
            for hub in (0, 5):
                A[hub], A[:, hub] = rng.integers(1, 4, n), rng.integers(1, 4, n)
        elif name != "one vertex":
            chosen = rng.random((n, n)) < {"ties": 0.9, "alike": 0.3}.get(name, 0.1)
            A[chosen] = 3 if name == "alike" else rng.integers(1, 4 if name == "ties" else 99, chosen.sum()) / 8
            A[7], A[:, 4] = np.inf, np.inf
        np.fill_diagonal(A, np.inf)
        if name == "one vertex":
            return A, np.zeros((1, 1))
        return A, shortest_path(np.where(np.isfinite(A), A, 0), method="D")

    @pytest.mark.parametrize(
        ("name", "near", "dtype", "semiring"),
        [
            ("one vertex", 2, "float32", "min_plus"),
            ("path", 2, "float32", "min_plus"),
            ("hubs", 2, "float32", "min_plus"),
            ("ties", 2, "float64", "max_plus"),
            ("alike", 2, "int16", "min_plus"),
            ("few", 1, "int64", "min_plus"),
            ("ties", 1, "int64", "min_plus"),
            ("hubs", 1, "int64", "min_plus"),
            ("path", 0, "int32", "max_plus"),
            ("ties", 0, "float32", "min_plus"),
            ("alike", 0, "int32", "max_plus"),
            ("few", 0, "int32", "max_plus"),
            ("as of many", 0, "float32", "min_plus"),
        ],
    )
    def test_they_are_those_of_a_loop(self, cp, name, near, dtype, semiring, monkeypatch):
        """With all, some, or none of what is known of vertices in shared memory; the same bits again."""
        from semiring.kernels.cuda import gpu
        from semiring.kernels.cuda.routes import adjoint, by_distance

        monkeypatch.setattr(by_distance, "LEVELS", 0)
        if name == "as of many":  # vertices of which 16 bits count too few
            monkeypatch.setattr(adjoint, "index_of", lambda n: np.dtype(np.uint32))
        s, dtype = get(semiring), np.dtype(dtype)
        A, D = self.network(name)
        if dtype.kind == "i":
            A, D = 8 * A, 8 * D
        n, sign, zero = len(A), 1 if semiring == "min_plus" else -1, dtypes.zero(s, dtype)
        gpu.most_shared = lambda device: {2: emulated.SHARED, 1: 15 * n + 16 + adjoint.OWN, 0: 8}[near]
        q = np.random.default_rng(1).integers(0, 3, (n, n)).astype(float)
        q[~np.isfinite(D)] = 0
        want, counts = loop_of_sums(A, D, q)
        tails, heads = np.nonzero(np.isfinite(A))
        starts = np.searchsorted(tails, np.arange(n + 1))
        edges = starts, heads, (sign * A[tails, heads]).astype(dtype)
        rows = np.full((n, n), zero, dtype)
        rows[np.isfinite(D)] = sign * D[np.isfinite(D)]
        sources = np.random.default_rng(2).permutation(n)

        def found(demand, rows_tried=1 << 13, *, of_edges=True):
            monkeypatch.setattr(adjoint, "MANY", rows_tried)
            sums = adjoint.Adjoint(s, dtype, edges, 1, range(n), "flows")
            sums.of_edges = of_edges
            half = n // 2
            for part in (sources[:half], sources[half:]):
                if len(part):
                    sums.add(cp.asarray(rows[part]), part, cp.asarray(demand if len(demand) == 1 else demand[part]))
            sums.finish()
            return sums

        first = found(q)
        assert first._near == near or n == 1
        assert ("_by_level" in vars(first)) == (name == "alike")
        assert "_on_host" not in vars(first)
        np.testing.assert_allclose(first.along.get(), want[tails, heads], rtol=1e-12, atol=1e-13)
        assert bool(first._slacks) == (name in ("ties", "alike"))
        assert found(q, rows_tried=32).along.tobytes() == first.along.tobytes()
        if name == "ties":
            with monkeypatch.context() as patched:
                patched.setattr(adjoint, "ROOM", 2)  # too little for some sources or all
                assert found(q).along.tobytes() == first.along.tobytes()
        if name == "ties" and dtype.kind == "f":  # farther from sums along arcs than is thought at first
            exactly = rows.copy()
            rows[:, ::2] *= 1 + 12 * np.finfo(dtype).eps
            assert found(q).along.tobytes() == first.along.tobytes()
            rows[...] = exactly
        monkeypatch.setattr(adjoint, "CHUNK", 64)
        np.testing.assert_allclose(found(q, rows_tried=32).along.get(), want[tails, heads], rtol=1e-12, atol=1e-13)
        unit = found(np.ones((1, n)))
        along = unit.along.get()
        for sums in (unit, found(np.ones((1, n)), of_edges=False)):
            np.testing.assert_array_equal(sums.arrivals, np.isfinite(D).sum(axis=0) - 1)
            entering, leaving = sums.of_vertices()
            np.testing.assert_allclose(entering, np.bincount(heads, along, n), rtol=1e-13)
            np.testing.assert_allclose(leaving, np.bincount(tails, along, n), rtol=1e-13)
        out = np.empty((n, n), np.int64)
        first.counts(cp.asarray(rows), np.arange(n), out)
        np.testing.assert_array_equal(out, counts)

    @pytest.mark.parametrize(
        ("kind", "dtype"),
        [
            ("both ways", "int64"),
            *product(("dearer one way", "some missing", "max_plus", "nearly ties"), ("float32",)),
            pytest.param("both ways", "float32", marks=pytest.mark.release),
            *(
                pytest.param(kind, "int64", marks=pytest.mark.release)
                for kind in ("dearer one way", "some missing", "max_plus")
            ),
        ],
    )
    def test_all_pairs_in_an_order_of_near_ones(self, cp, kind, dtype, monkeypatch):
        """Complete graphs of points of four lattices, by tiles of which some are left out, and both ways together."""
        from semiring.host.errors import DivergenceError
        from semiring.kernels.cuda.dense.tiles import Tile
        from semiring.kernels.cuda.routes import adjoint, by_distance, pairs

        for name in ("NARROW", "WIDE"):
            monkeypatch.setattr(pairs, name, Tile(32, 32, 16, 4, 4, 2, 1.0))
        monkeypatch.setattr(by_distance, "LEVELS", 0)
        rng, dtype, n = np.random.default_rng(5), np.dtype(dtype), 128
        x, y = np.array([divmod(v, 8) for v in rng.permutation(n)]).T
        x = x + 40 * (x // 4)
        across, up = abs(x - x[:, None]), y - y[:, None]
        A = across + np.where(up > 0, up, (2 if kind == "dearer one way" else 1) * -up).astype(float)
        np.fill_diagonal(A, np.inf)
        if kind == "some missing":  # which others replace
            A[(rng.random(A.shape) < 0.4) & (A > 3)] = np.inf
            A[[1, 2], [2, 1]] = A[1, 2] if np.isfinite(A[1, 2] + A[2, 1]) else 99
        elif kind == "nearly ties":  # of sums that are exact, and differ by less than sums may be off by
            A = A / 8 + rng.integers(0, 3, A.shape) * 2.0**-19
        D = cases.floyd_warshall(A)
        s, sign = (get("max_plus"), -1) if kind == "max_plus" else (get("min_plus"), 1)
        tails, heads = np.nonzero(np.isfinite(A))
        starts, q = np.searchsorted(tails, np.arange(n + 1)), rng.integers(0, 3, (n, n)).astype(float)
        arcs, rows = (starts, heads, (sign * A[tails, heads]).astype(dtype)), cp.asarray((sign * D).astype(dtype))

        def found(edges=True, **sizes):
            for name, value in sizes.items():
                monkeypatch.setattr(pairs if name == "SORTED" else adjoint, name, value)
            sums = adjoint.Adjoint(s, dtype, arcs, 1, range(n), "flows")
            sums.of_edges = edges
            sums.add(rows, np.arange(n), cp.asarray(q))
            sums.finish()
            assert "_on_host" not in vars(sums)
            return sums

        want, counts = loop_of_sums(A, D, q)
        first, out = found(), np.empty((n, n), np.int64)
        np.testing.assert_allclose(first.along.get(), want[tails, heads], rtol=1e-12, atol=1e-13)
        for got, axis in zip(first.of_vertices(), (0, 1), strict=True):
            np.testing.assert_allclose(got, want.sum(axis=axis), rtol=1e-13)
        first.counts(rows, np.arange(n), out)
        np.testing.assert_array_equal(out, counts)
        vertices = found(edges=False)
        assert not vertices.carried
        for got, axis in zip(vertices.of_vertices(), (0, 1), strict=True):
            np.testing.assert_allclose(got, want.sum(axis=axis), rtol=1e-13)
        assert found(SORTED=0).along.tobytes() == first.along.tobytes()  # as they come
        np.testing.assert_allclose(
            found(SORTED=1 << 13, ROOM=2).along.get(), want[tails, heads], rtol=1e-12, atol=1e-13
        )
        monkeypatch.setattr(adjoint, "ROOM", 16)
        A[[1, 2], [2, 1]] = 0
        arcs[2][:], rows[...] = sign * A[tails, heads], sign * cases.floyd_warshall(A)
        with pytest.raises(DivergenceError, match="costs nothing"):
            found()

    def test_layers_that_cost_nothing(self, cp):
        """All are as far as the source, and more than a block takes at a time have several best paths."""
        from semiring.kernels.cuda.routes import adjoint

        layers = np.arange(1, 3), np.arange(3, 103), np.arange(103, 203)
        pairs = [(np.array([0]), layers[0]), *pairwise(layers)]
        tails = np.concatenate([np.repeat(a, len(b)) for a, b in pairs])
        heads = np.concatenate([np.tile(b, len(a)) for a, b in pairs])
        n, D = 203, np.full((1, 203), 0, np.float32)
        arcs = np.searchsorted(tails, np.arange(n + 1)), heads, np.zeros(len(tails), np.float32)
        sums = adjoint.Adjoint(get("min_plus"), np.dtype(np.float32), arcs, 1, range(n), "flows")
        sums.add(cp.asarray(D), np.array([0]), cp.asarray(np.ones((1, n))))
        sums.finish()
        assert "_on_host" not in vars(sums)
        entering, leaving = sums.of_vertices()
        want = np.repeat([101.0, 2.0, 1.0], [2, 100, 100])
        np.testing.assert_allclose(entering[1:], want, rtol=1e-12)
        np.testing.assert_allclose(leaving, [202, *(want - 1)], rtol=1e-12, atol=1e-12)

    def test_two_that_are_one(self, cp):
        """A cycle that costs nothing, which no others tell of."""
        from semiring.host.errors import DivergenceError
        from semiring.kernels.cuda.routes import adjoint

        arcs = np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2, np.float32)
        sums = adjoint.Adjoint(get("min_plus"), np.float32, arcs, 1, "AB", "flows")
        with pytest.raises(DivergenceError, match="costs nothing, 'A' → 'B' → 'A'"):
            sums.add(cp.asarray(np.zeros((2, 2), np.float32)), np.arange(2), cp.asarray(np.ones((1, 2))))

    @pytest.mark.parametrize(
        ("name", "dtype", "semiring", "times"),
        [("ties", "float32", "min_plus", 1), ("hubs", "int16", "max_plus", 24), ("apart", "float32", "min_plus", 1)],
    )
    def test_where_distances_are_few(self, cp, name, dtype, semiring, times):
        """Of arcs and of vertices alone, from all and from some sources, in two blocks; the same bits again."""
        from scipy.sparse.csgraph import shortest_path

        from semiring.kernels.cuda.routes import adjoint

        A, D = (times * X for X in self.network("hubs" if name == "hubs" else "ties"))
        if name == "apart":  # from 3 to 5 eighths
            A += 2 / 8
            D = shortest_path(np.where(np.isfinite(A), A, 0), method="D")
        s, n, sign = get(semiring), len(A), 1 if semiring == "min_plus" else -1
        q = np.random.default_rng(1).integers(0, 3, (n, n)) * np.isfinite(D)
        q[np.arange(n) % 7 == 3] = 0
        tails, heads = np.nonzero(np.isfinite(A))
        edges = np.searchsorted(tails, np.arange(n + 1)), heads, (sign * A[tails, heads]).astype(dtype)
        wide = np.full((n, n + 3), dtypes.zero(s, np.dtype(dtype)), dtype)
        rows = wide[:, :n]
        rows[np.isfinite(D)] = sign * D[np.isfinite(D)]
        sources = np.random.default_rng(2).permutation(np.flatnonzero(q.any(axis=1)))

        def found(demand, of_edges=True):
            sums = adjoint.Adjoint(s, np.dtype(dtype), edges, 1, range(n), "flows")
            sums.of_edges = of_edges
            for part in (sources[: n // 2], sources[n // 2 :]):
                asked = demand if len(demand) == 1 else demand[part]
                sums.add(cp.asarray(wide[part])[:, :n], part, cp.asarray(np.asarray(asked, float)))
            sums.finish()
            assert "_listed" not in vars(sums)
            assert sums.carried == of_edges
            return sums

        for demand in (q, np.full((1, n), 3.0)):
            asked = np.broadcast_to(demand, (n, n)) * np.isfinite(D) * q.any(axis=1)[:, None]
            np.fill_diagonal(asked, 0)
            want, _ = loop_of_sums(A, D, asked)
            first, vertices = found(demand), found(demand, of_edges=False)
            np.testing.assert_allclose(first.along.get(), want[tails, heads], rtol=1e-13, atol=1e-13)
            assert found(demand).along.tobytes() == first.along.tobytes()
            np.testing.assert_array_equal(vertices.arrivals, (np.isfinite(D[sources]) & (D[sources] > 0)).sum(axis=0))
            assert not vertices.along.any()
            for sums in (first, vertices):
                entering, leaving = sums.of_vertices()
                np.testing.assert_allclose(entering, want.sum(axis=0), rtol=1e-13)
                np.testing.assert_allclose(leaving, want.sum(axis=1), rtol=1e-13)

    def test_units_of_weights(self, cp):
        from semiring.kernels.cuda.routes.by_distance import unit_of

        def ends(weights):
            return cp.asarray(weights), tuple(map(float, (weights.min(), weights.max()))) if len(weights) else ()

        for weights, unit in (([3, 5, 60], 1), ([6, 10], 2), ([9, 15], 3), ([0.375, 0.5], 0.125), ([64, 4096], 64)):
            for dtype in ("float32", "float64"):
                assert unit_of(*ends(np.array(weights, dtype)), least=True) == unit
                assert unit_of(*ends(-np.array(weights, dtype)), least=False) == unit
        for weights in ([], [0, 1], [-1, 1], [1, 65], [1 / 3, 1], [63, 64.51], [1, 1 + 1e-4]):
            assert unit_of(*ends(np.array(weights, "float32")), least=True) == 0

    def test_what_has_to_be_searched_for(self, cp):
        """Arcs that weigh less than distances are off by; a cycle that costs nothing, which the host names."""
        from semiring.host.errors import DivergenceError
        from semiring.kernels.cuda.routes import adjoint

        def sums(arcs, D):
            tails, heads, weights = (np.array(x) for x in zip(*arcs, strict=True))
            starts, dtype = np.searchsorted(tails, np.arange(5)), np.dtype("float32")
            found = adjoint.Adjoint(get("min_plus"), dtype, (starts, heads, weights), 1, "abcd", "flows")
            found.add(cp.asarray(np.array(D, np.float32)), np.arange(4), cp.asarray(np.ones((1, 4))))
            found.finish()
            return found

        inf = np.inf
        arcs = [(0, 1, 1000), (1, 2, 1e-4), (2, 1, 1e-4), (2, 3, 1)]
        D = [[0, 1000, 1000, 1001], [inf, 0, 1e-4, 1], [inf, 1e-4, 0, 1], [inf, inf, inf, 0]]
        found = sums(arcs, D)
        assert "_on_host" not in vars(found)
        np.testing.assert_array_equal(found.along.get(), [3, 4, 1, 3])
        np.testing.assert_array_equal(found.arrivals, [0, 2, 2, 3])
        arcs = [(0, 1, 1), (1, 2, 1e-20), (2, 1, 1e-20), (2, 3, 1)]  # which the host tells apart
        D = [[0, 1, 1, 2], [inf, 0, 1e-20, 1], [inf, 1e-20, 0, 1], [inf, inf, inf, 0]]
        found = sums(arcs, D)
        assert "_on_host" in vars(found)
        np.testing.assert_array_equal(found.along.get(), [3, 4, 1, 3])
        np.testing.assert_array_equal(found.arrivals, [0, 2, 2, 3])
        D = [[0, 1, 1, 2], [inf, 0, 0, 1], [inf, 0, 0, 1], [inf, inf, inf, 0]]
        with pytest.raises(DivergenceError, match="costs nothing, 'b' → 'c'"):
            sums([(0, 1, 1), (1, 2, 0), (2, 1, 0), (2, 3, 1)], D)

    @pytest.mark.parametrize("inner", [1, 300, 8192, 8193, 30_000])
    def test_pieces_are_small_and_add_up(self, cp, inner):
        """Counts exactly, other numbers as far as a float64 goes; sums of what is multiplied are at most 2^24."""
        from semiring.kernels.cuda.routes import levelled

        rng = np.random.default_rng(inner)
        counts = np.append(np.round(2.0 ** (53 * rng.random(500))), [0, 1, 2**53 - 1])
        amounts = rng.normal(size=500) * 2.0 ** rng.integers(-60, 3, 500)
        for X, least in ((counts, 1), (amounts, abs(amounts).max() / 2**53)):
            greatest, left = float(abs(X).max()), X.copy()
            for part, unit in levelled.pieces(cp.asarray(X), greatest, least, inner):
                assert part.dtype == np.float16
                assert float(abs(part).max()) * inner <= 2**24
                np.testing.assert_array_equal(part, part.astype(int))
                left -= part.astype(float) * unit
            assert abs(left).max() <= (0 if least == 1 else least / 2)

    def test_amounts_beyond_what_is_cut(self, cp):
        """Where all arcs weigh the same; greater and smaller than pieces are made of."""
        from semiring.kernels.cuda.routes import levelled

        rng = np.random.default_rng(0)
        A = (rng.random((30, 30)) < 0.3) & ~np.eye(30, dtype=bool)
        H = np.where(A, 1, np.where((A.astype(int) @ A) > 0, 2, -1)).astype(np.int8)
        np.fill_diagonal(H, 0)

        def carried(scale):
            sums = levelled.Sums(*map(cp.asarray, np.nonzero(A)), len(A))
            assert sums.add(cp.asarray(H), slice(0, 30), cp.asarray(np.full((1, 30), scale)))
            return sums.carried.get() * A

        assert carried(1.0).sum() == H[H > 0].sum()
        for scale in (2.0**-1000, 2.0**1000):
            np.testing.assert_allclose(carried(scale) / scale, carried(1.0), rtol=1e-13)

    def test_of_no_vertices_and_no_edges(self, cp):
        from semiring.kernels.cuda.routes import adjoint

        for n in (0, 3):
            A = np.full((n, n), np.inf, np.float32)
            np.fill_diagonal(A, 0)
            found = adjoint.essential(get("min_plus"), cp.asarray(A), cp.asarray(A), 16)
            edges = found.starts, found.heads, found.weights
            sums = adjoint.Adjoint(get("min_plus"), A.dtype, edges, 1, range(n), "flows")
            if n:
                sums.add(cp.asarray(A), np.arange(n), cp.asarray(np.ones((1, n))))
            sums.finish()
            assert sums.along.get().tolist() == []
            assert sums.arrivals.tolist() == [0] * n
            assert [x.tolist() for x in sums.of_vertices()] == [[0.0] * n] * 2

    @pytest.mark.parametrize("dtype", ["float32", "int32"])
    def test_edges_that_are_as_good_as_their_closure(self, cp, dtype):
        from semiring.kernels.cuda.routes import adjoint

        A, D = self.network("few")
        zero = dtypes.zero(get("min_plus"), np.dtype(dtype))
        given, (A, D) = (A, D), np.full((2, *A.shape), zero, dtype)
        for X, values in zip((A, D), given, strict=True):
            X[np.isfinite(values)] = 8 * values[np.isfinite(values)]
        A[3, 3] = 0
        found = adjoint.essential(get("min_plus"), cp.asarray(A), cp.asarray(D), 16)
        good = (A == D) & (zero != A) & ~np.eye(len(A), dtype=bool)
        np.testing.assert_array_equal(np.stack([found.tails.get(), found.heads.get()]), np.nonzero(good))
        np.testing.assert_array_equal(found.weights.get(), A[good])
        np.testing.assert_array_equal(found.starts.get(), np.concatenate([[0], good.sum(axis=1).cumsum()]))


class TestHops:
    def test_int8_holds_126_hops_or_says_so(self, cp):
        from semiring.host.errors import DomainError
        from semiring.kernels.cuda.sparse import hops

        n = 131
        into = np.minimum(np.arange(n + 1), n - 1), np.arange(n - 1)  # a path, backwards: v + 1 leads to v
        found = hops.Searches(into[0].astype(np.int64), into[1].astype(np.int32) + 1, np.dtype("int8"))
        rows = cp.empty((1, n), np.dtype("int8"))
        found.into(np.array([126]), rows, 127)
        np.testing.assert_array_equal(rows.get()[0], [*range(126, -1, -1), *[127] * 4])
        with pytest.raises(DomainError, match="int8 must hold every number of hops"):
            found.into(np.array([127]), rows, 127)
        found.into(np.array([127]), rows, 126)
        assert rows.get()[0, :2].tolist() == [127, 126]

    @pytest.mark.parametrize("dtype", ["int16", "float32"])
    def test_rows_are_scipys(self, cp, dtype):
        """More sources than a word has bits; a path longer than the levels that there is room for at first; islands."""
        import scipy.sparse as sp
        from scipy.sparse.csgraph import shortest_path

        from semiring.kernels.cuda.sparse import hops

        rng = np.random.default_rng(0)
        edges = {(i, i + 1) for i in range(300)} | {tuple(e) for e in rng.integers(301, 390, (150, 2)).tolist()}
        tails, heads = np.array(sorted(edges)).T
        n, sources = 391, np.append(rng.permutation(391)[:69], 0)
        G = sp.csr_array((np.ones(len(tails)), (tails, heads)), shape=(n, n))
        want = shortest_path(G, unweighted=True, indices=sources)
        into = G.T.tocsr()
        found = hops.Searches(into.indptr.astype(np.int64), into.indices.astype(np.int32), np.dtype(dtype))
        rows = cp.empty((70, n), np.dtype(dtype))
        found.into(sources, rows, n)
        got = rows.get().astype(float)
        got[rows.get() == dtypes.zero(get("min_plus"), np.dtype(dtype))] = np.inf
        np.testing.assert_array_equal(got, want)


#: Each way to compute keys and entries; then those that differ in a width or a sign.
SEARCHED = [
    kind("min_plus", "float32"),
    kind("max_plus", "int16"),
    kind("max_min", "int32"),
    kind("max_times", "float64"),
    *released(
        kind("min_plus", "int16"),
        kind("min_plus", "int32"),
        kind("min_plus", "int64"),
        kind("min_plus", "float64"),
        kind("max_plus", "float32"),
        kind("min_max", "float32"),
        kind("max_times", "float32"),
        kind("min_times", "float32"),
    ),
]


class TestSearches:
    @pytest.fixture(autouse=True)
    def few_threads(self, cp, monkeypatch):
        """Which the emulator takes less time for."""
        from semiring.kernels.cuda.sparse import searches

        self.shape(monkeypatch, 64)
        return searches

    @staticmethod
    def shape(monkeypatch, threads):
        from semiring.kernels.cuda.sparse import searches

        monkeypatch.setattr(searches.Shape, "of", lambda itemsize, arch: searches.Shape(threads, 2, 4))

    @staticmethod
    def arcs(n, m, seed, most=50):
        """Tails, heads and weights; and the distances. Some weights are 0, some arcs parallel, some vertices alone."""
        rng = np.random.default_rng(seed)
        tails, heads, weights = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, most, m)
        return (tails, heads), weights, star(n, tails, heads, weights.astype(float), "min_plus")

    @pytest.mark.parametrize(("case", "nonnegative"), SEARCHED)
    def test_every_entry_is_that_of_the_closure(self, cp, case, nonnegative):
        name, dtype, rng = case.semiring.name, case.dtype.name, np.random.default_rng(0)
        for n, m in ((0, 0), (1, 3), (7, 20), (66, 150)):
            tails, heads = rng.integers(0, n or 1, (2, m))
            weights = WEIGHTS[name](m).astype(dtype)
            S = Searches((tails, heads), name, n=n, weights=weights, device="cuda")
            D, want = S.to_dense(), star(n, tails, heads, weights, name)
            assert isinstance(D, cp.ndarray)
            assert D.dtype == case.dtype
            np.testing.assert_array_equal(D.get(), want.reshape(n, n))
            if n:
                np.testing.assert_array_equal(S.row(n - 1).get(), want[n - 1])
                np.testing.assert_array_equal(S.column(n - 1).get(), want[:, n - 1])

    @pytest.mark.parametrize("dtype", ["int32", "float32"])
    def test_negative_arcs(self, cp, dtype):
        n, rng = 40, np.random.default_rng(1)
        tails, heads = rng.integers(0, n, (2, 150))
        height = rng.integers(-20, 20, n)
        weights = (rng.integers(0, 9, 150) + height[tails] - height[heads]).astype(dtype)
        D = Searches((tails, heads), n=n, weights=weights, device="cuda").to_dense()
        np.testing.assert_array_equal(D.get(), star(n, tails, heads, weights, "min_plus"))

    @pytest.mark.parametrize("name", ["max_times", pytest.param("min_times", marks=pytest.mark.release)])
    def test_factors_that_make_walks_better(self, cp, name):
        weights = np.array([4.0, 0.5, 8.0])
        S = Searches(([0, 1, 2], [1, 2, 3]), name, n=4, weights=weights, device="cuda")
        np.testing.assert_allclose(S.row(0).get(), [1, 4, 2, 16], rtol=1e-12)

    @pytest.mark.parametrize("threads", [96, 1024])
    def test_vertices_of_as_many_arcs_as_a_segment_and_one_more_or_less(self, cp, monkeypatch, threads):
        """Hubs of which all or some vertices are heads, that improve each other; and as many threads as blocks have."""
        self.shape(monkeypatch, threads)
        rng, degrees, n = np.random.default_rng(2), (31, 32, 33, 63, 64, 65, 149), 150
        tails = np.concatenate((np.repeat(np.arange(7), degrees), np.arange(7, n), np.arange(7)))
        heads = np.concatenate(
            [rng.permutation(n)[:d] for d in degrees] + [rng.integers(0, 7, n - 7), (np.arange(7) + 1) % 7]
        )
        weights = rng.integers(0, 30, len(tails)).astype(np.float32)
        S = Searches((tails, heads), n=n, weights=weights, device="cuda")
        for sources in (np.arange(9), np.arange(n if threads < 1024 else 70)):
            D = np.concatenate([np.asarray(D) for _, D in S.rows(sources)])
            np.testing.assert_array_equal(D, star(n, tails, heads, weights, "min_plus")[sources])

    def test_rows_come_in_the_order_wanted(self, cp):
        arcs, weights, want = self.arcs(90, 300, 3)
        S = Searches(arcs, n=90, weights=weights.astype(np.float32), device="cuda")
        wanted = np.random.default_rng(0).permutation(np.r_[np.arange(90), 5, 5])
        blocks = [(sources.tolist(), np.array(D)) for sources, D in S.rows(wanted, block=70)]
        assert [v for sources, _ in blocks for v in sources] == wanted.tolist()
        np.testing.assert_array_equal(np.concatenate([D for _, D in blocks]), want[wanted])
        for out in (cp.empty((90, 97), np.float32)[:, :90], cp.empty((90, 90), np.float32).T):
            assert S.to_dense(out) is out
            np.testing.assert_array_equal(np.array(out), want)

    def test_several_launches_whose_bitmaps_are_in_global_memory(self, cp, monkeypatch, few_threads):
        from semiring.kernels.cuda import gpu

        arcs, weights, want = self.arcs(100, 400, 4)
        monkeypatch.setattr(gpu, "most_shared", lambda device: 2048)
        monkeypatch.setattr(few_threads, "LAUNCH", 32 * 500)
        S = Searches(arcs, n=100, weights=weights.astype(np.float32), device="cuda")
        np.testing.assert_array_equal(S.to_dense().get(), want)

    def test_a_limit_ends_searches(self, cp):
        arcs, weights, want = self.arcs(90, 300, 5)
        S = Searches(arcs, n=90, weights=weights.astype(np.float32), device="cuda")
        for limit in (-1, 0, 17, 60.5):
            cut = np.where(want > limit, np.inf, want)
            np.testing.assert_array_equal(S.to_dense(limit=limit).get(), cut)
            np.testing.assert_array_equal(S.row(3, limit=limit).get(), cut[3])

    @pytest.mark.parametrize("weights", ["zeros", "one large", "powers"])
    def test_weights_of_any_spread(self, cp, weights):
        n, m, rng = 70, 300, np.random.default_rng(6)
        tails, heads = rng.integers(0, n, (2, m))
        w = {
            "zeros": np.zeros(m, np.float32),
            "one large": np.where(np.arange(m) == 7, 2.0**60, 1.0).astype(np.float32),
            "powers": 2.0 ** rng.integers(-40, 40, m),
        }[weights]
        D = Searches((tails, heads), n=n, weights=w, device="cuda").to_dense()
        np.testing.assert_array_equal(D.get(), star(n, tails, heads, w, "min_plus"))

    def test_what_does_not_fit_is_refused(self, cp, monkeypatch):
        monkeypatch.setattr(cp.cuda.runtime, "memGetInfo", lambda: (1 << 20, 1 << 36))
        monkeypatch.setattr(cp, "get_default_memory_pool", lambda: SimpleNamespace(free_bytes=lambda: 0))
        S = Searches((np.arange(10**5 - 1), np.arange(1, 10**5)), n=10**5, weights=np.ones(10**5 - 1), device="cuda")
        with pytest.raises(MemoryNeeded, match=r"Searches: .* must fit on cuda"):
            S.row(0)


def lengths(D, zero):
    """As float64, with infinity where there is no walk."""
    D = np.asarray(D)
    return np.where(zero == D, np.inf, np.abs(D.astype(float)))


class TestDense:
    """Matrices of which the arcs that matter are searched, or that are counted in hops."""

    KINDS = (("min_plus", "float32"), ("max_plus", "int64"))

    @staticmethod
    def matrix(name, dtype, n):
        """A complete matrix without a few arcs, and its closure by a loop, in float64."""
        rng, zero = np.random.default_rng(0), dtypes.zero(get(name), np.dtype(dtype))
        A = rng.integers(1, 30001, (n, n)).astype(float)
        A[5, 9] = A[60, 60] = A[7] = np.inf
        A[7, 3] = 5
        D = cases.floyd_warshall(A)
        signed = np.where(np.isinf(A), 0, A) * (1 if name == "min_plus" else -1)
        return np.where(np.isinf(A), zero, signed.astype(dtype)), D, zero

    @pytest.mark.parametrize(("name", "dtype"), KINDS)
    def test_arcs_that_matter(self, cp, name, dtype, monkeypatch):
        """Enough of them at first; a few too few, which the certificate finds, in place; far too few."""
        from semiring.kernels.cuda.sparse import searches, thinning

        monkeypatch.setattr(searches.Shape, "of", lambda itemsize, arch: searches.Shape(64, 2, 4))
        A, D, zero = self.matrix(name, dtype, 66)
        for count, better in ((30, 0), (6, 1), (2, -1)):
            X = cp.asarray(A.copy())
            found = thinning.Listed(X, get(name), count).thinned()
            out = X if count == 6 else cp.empty(A.shape, dtype)
            assert np.sign(found.into(out)) == better
            if better < 0:  # the better of each entry has the same closure
                assert (lengths(out, zero) <= np.where(np.eye(66, dtype=bool), 0, lengths(A, zero))).all()
                assert (lengths(out, zero) >= D).all()
            else:
                np.testing.assert_array_equal(lengths(out, zero), D)

    def test_listed_arcs_are_the_best(self, cp):
        from semiring.kernels.cuda.sparse import thinning

        A, _, zero = self.matrix("min_plus", "float32", 130)
        listed = thinning.Listed(cp.asarray(A), get("min_plus"), 9)
        for v, degree in enumerate(listed.degrees.get()):
            others = np.delete(A[v], v)
            others = np.sort(others[others != zero])
            assert degree >= min(9, len(others))
            heads = listed.heads.get()[v, :degree]
            assert v not in heads
            np.testing.assert_array_equal(np.sort(A[v, heads]), others[:degree])
        rows = np.array([7, 20, 129])
        by_two = [np.where(np.arange(130) == k, np.inf, A[k])[:, None] + A for k in rows]  # by any first arc
        best = [np.argsort(np.where(np.arange(130) == k, np.inf, A[k]))[:9] for k in rows]
        want = [
            ((A[k] <= x[b].min(axis=0)) & (A[k] != zero) & (np.arange(130) != k)).sum()
            for k, x, b in zip(rows, by_two, best, strict=True)
        ]
        left = thinning.Listed(cp.asarray(A), get("min_plus"), 9, rows).left()
        assert (np.abs(left - want) <= 2).all()  # a tenth arc may be listed
        ties = thinning.Listed(cp.asarray(np.ones((200, 200), np.float32)), get("min_plus"), 9)
        assert ties.thinned() is None
        heavy = np.full((130, 130), np.iinfo(np.int32).max // 100, np.int32)
        heavy[:, ::9] -= 1
        assert thinning.Listed(cp.asarray(heavy), get("min_plus"), 9).thinned() is None

    @pytest.mark.parametrize(("name", "dtype"), [KINDS[0], pytest.param(*KINDS[1], marks=pytest.mark.release)])
    def test_levels_by_bits(self, cp, name, dtype, monkeypatch):
        import scipy.sparse as sp
        from scipy.sparse.csgraph import dijkstra

        from semiring.kernels.backend import bind
        from semiring.kernels.cuda.bits import product
        from semiring.kernels.cuda.bits.levels import LevelsOnGpu

        monkeypatch.setattr(product, "default", lambda device: "logic")
        rng, zero = np.random.default_rng(0), dtypes.zero(get(name), np.dtype(dtype))
        sign, ops = 1 if name == "min_plus" else -1, bind(get("lor_land"), np.dtype(bool), device="cuda")
        for n, arcs, weights in (
            (70, 250, [3]),
            (97, 3000, [1]),
            (64, 70, [2]),
            (40, 1000, range(1, 8)),
            (33, 150, [4, 6]),
        ):
            A = np.full((n, n), zero, dtype)
            A.flat[rng.choice(n * n, arcs, replace=False)] = sign * rng.choice(weights, arcs)
            A[0, 1:3] = sign * weights[0], sign * weights[-1]
            joined = (A != zero) & ~np.eye(n, dtype=bool)
            want = dijkstra(sp.csr_array(np.where(joined, abs(A.astype(float)), 0)))
            X, reports = cp.asarray(A.copy()), []
            found = LevelsOnGpu(X, get(name))
            unit = np.gcd.reduce(weights)
            assert found.unit == sign * unit
            assert found.widest == abs(A[joined].astype(int)).max() / unit
            exact = len(weights) == 1 or want[0].max() < 20
            assert (found.depth(90) * unit == want[0][np.isfinite(want[0])].max()) or not exact
            out = cp.asarray(np.full((n, n), 7, dtype))
            assert LevelsOnGpu(X, get(name)).close(ops, out, reports.append, 100)
            assert reports[-1] == np.isfinite(want).sum()
            np.testing.assert_array_equal(lengths(out, zero), want)
            np.testing.assert_array_equal(X.get(), A)
            assert found.close(ops, X, reports.append, 100)
            np.testing.assert_array_equal(lengths(X, zero), want)
            if n == 70:  # what is left open has the same closure
                X = cp.asarray(A.copy())
                assert not LevelsOnGpu(X, get(name)).close(ops, X, reports.append, 2)
                np.testing.assert_array_equal(lengths(X, zero), np.where(want > 9, np.inf, want))
            last = tuple(np.argwhere(joined)[-1])
            for other in (unit + 1 if unit > 1 else 0, unit * 1000 + 1):
                A[last] = sign * other
                found = LevelsOnGpu(cp.asarray(A), get(name))
                assert (found.unit is None) == (other < 1000)
                assert found.widest == (0 if other < 1000 else np.inf)


class TestFactors:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_lu(self, cp, dtype):
        from semiring.kernels.cuda.dense.lu import factor

        rng = np.random.default_rng(0)
        for n in (1, 2, 63, 64, 65, 129, 200):
            A = rng.standard_normal((n, n)).astype(dtype) + n * np.eye(n, dtype=dtype)
            F = cp.asarray(A.copy())
            assert factor(F) is None
            L, U = np.tril(F, -1).astype(float) + np.eye(n), np.triu(F).astype(float)
            np.testing.assert_allclose(L @ U, A, atol=50 * n * np.finfo(dtype).eps)
        for row in (0, 63, 64, 128):
            A = rng.standard_normal((130, 130)).astype(dtype) + 130 * np.eye(130, dtype=dtype)
            A[row], A[:, row] = 0, 0
            assert factor(cp.asarray(A)) == (row, 0.0)


class TestMargins:
    @pytest.mark.parametrize("name", ["log_plus", "plus_times"])
    def test_sums_of_rows_and_columns(self, cp, name, monkeypatch):
        from semiring.dense.margins import greatest, margins
        from semiring.kernels.cuda import margins as device

        monkeypatch.setattr(device, "DEPTH", 40)
        s, rng = get(name), np.random.default_rng(0)
        log = np.log if name == "log_plus" else np.asarray
        for shape in ((1, 1), (33, 33), (101, 101), (3, 1, 1), (5, 34, 34)):
            A = rng.standard_normal(shape).astype("float32")
            A[rng.random(shape) < 0.2] = s.zero
            for labels in (None, rng.integers(0, 3, shape[:-1]).astype(np.int32)):
                B = A if labels is None else np.where(labels[..., None] == labels[..., None, :], A, s.zero)
                B = np.exp(B.astype(float)) if name == "log_plus" else np.abs(B.astype(float))
                want = np.stack([B.sum(axis=-1), B.sum(axis=-2)])
                on_device = device.margins(cp.asarray(A), s, None if labels is None else cp.asarray(labels))
                np.testing.assert_allclose(on_device, want, rtol=1e-12)
                with np.errstate(divide="ignore"):
                    np.testing.assert_allclose(margins(A, s, labels), log(want), rtol=1e-12)
            for columns in (False, True):
                most = (
                    np.abs(np.exp(A.astype(float)) if name == "log_plus" else A.astype(float))
                    .sum(axis=-2 if columns else -1)
                    .max(axis=-1)
                )
                got = device.greatest(cp.asarray(A), s, columns=columns)()
                np.testing.assert_allclose(got.reshape(most.shape), most, rtol=1e-12)
                with np.errstate(divide="ignore"):
                    np.testing.assert_allclose(greatest(A, s, columns=columns), log(most), rtol=1e-12)


class TestSurvey:
    @pytest.mark.parametrize("dtype", ["float32", "int16", "float64"])
    def test_what_is_seen(self, cp, dtype):
        from semiring.kernels.cuda import survey

        rng, zero = np.random.default_rng(0), dtypes.zero(get("min_plus"), np.dtype(dtype))
        for size in (1, 2, 255, 4099):
            for start in (0, 1):  # not where 16 bytes begin
                A, B = (rng.integers(5, 100, size + start).astype(dtype) for _ in range(2))
                X, Y = cp.asarray(A)[start:], cp.asarray(B)[start:]
                for place in {0, size // 2, size - 1}:
                    X[...], Y[...] = A[start:], B[start:]
                    X[place], Y[place] = 3, 200
                    first, second = survey.survey([X, Y], zero)()
                    assert (first.least, second.greatest) == (3, 200)
                    assert (first.greatest, second.least) == (np.asarray(X).max(), np.asarray(Y).min())
                    assert not (first.nan)
                    assert not (first.negative)
                    assert not (first.minus_zero)
                    X[place], Y[place] = -1, zero
                    first, second = survey.survey([X, Y], zero)()
                    assert (first.negative, first.least, second.greatest) == (True, -1, zero)
                    X[...] = rng.integers(0, 3, len(X)).astype(dtype)
                    (first,) = survey.survey([X], zero)()
                    assert (first.zeros, second.zeros) == (np.count_nonzero(np.asarray(X) == 0), 0)
                    assert (first.missing, second.missing) == (0, 1)
                    if np.dtype(dtype).kind == "f":
                        X[place], Y[place] = np.nan, -0.0
                        first, second = survey.survey([X, Y], zero)()
                        assert (first.nan, first.minus_zero, second.nan, second.minus_zero) == (
                            True,
                            False,
                            False,
                            True,
                        )
