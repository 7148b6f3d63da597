"""Products over (+, ×) and (log-sum-exp, +) on a GPU: their kernels on the processor, against NumPy in float64.

Tensor cores are computed by NumPy here, from the parts that the library's kernels make, rounded as Hopper's round.
"""

from __future__ import annotations

import ctypes
import shutil
import sys

import emulated
import numpy as np
import pytest

from semiring import get

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)


def logsumexp(A, B, C=None):
    """log(exp C + exp A exp B) in float64, a row after the other."""
    out = np.empty((len(A), B.shape[1]))
    for i, row in enumerate(A.astype(float)):
        terms = row[:, None] + B
        if C is not None:
            terms = np.vstack([terms, C[i]])
        high = terms.max(0)
        shift = np.where(np.isinf(high), 0, high)
        with np.errstate(divide="ignore"):
            out[i] = np.log(np.exp(terms - shift).sum(0)) + shift
    return out


def bound(k, expected, dtype="float32"):
    """What a logarithm may be off: of the sum, and a rounding of the result."""
    unit = np.finfo(dtype).eps
    return (2 if unit > 1e-10 else 8) * unit * (1 + np.log2(k)) + unit * np.abs(
        np.where(np.isinf(expected), 0, expected)
    )


def close(got, expected, k):
    """Equal, or within `bound`."""
    got = np.array(got)
    assert not np.isnan(got).any()
    different = got != expected
    error = np.abs(got[different] - expected[different])
    assert (error <= bound(k, expected, got.dtype)[different]).all(), error.max()


def memory(address, dtype, shape):
    """What is at an address."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype).reshape(shape)


def truncated(X):
    """To float32, towards 0."""
    with np.errstate(over="ignore"):
        rounded = X.astype(np.float32)
    over = np.isfinite(rounded) & (np.abs(rounded.astype(float)) > np.abs(X))
    rounded[over] = np.nextafter(rounded[over], np.float32(0))
    return rounded


def whole(address, pitch, width, rows, box):
    """What the copy engine would read, as 16-bit numbers."""
    return memory(address, np.uint16, (rows, pitch // 2))[:, : width // 2]


def tensor_cores(logarithms):
    """`product` of sums_wgmma.cu: launch(grid, block, arguments, shared)."""
    pairs = ((0, 1), (1, 0), (0, 0)) if logarithms else ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0))

    def number(words):
        if logarithms:
            return words.view(np.float16).astype(float)
        return (words.astype(np.uint32) << 16).view(np.float32).astype(float)

    def launch(grid, block, given, shared):
        a, b = given[:2]
        c, ldc, stride, a_scales, b_scales, flags, m, n, count, steps, a_rows, a_part, b_rows, b_part, add = map(
            int, given[2:]
        )
        assert grid[0] <= 132
        assert shared <= emulated.SHARED
        A, B = number(a), number(b)
        tiles = memory(flags, np.uint8, (count, -(-m // 128), -(-n // 128)))
        for batch in range(count):
            # What is beyond an operand's columns arrives as zeros: a shorter slice here.
            sums, top, left = np.zeros((m, n), np.float32), batch * a_rows, batch * b_rows
            for k in range(0, 64 * steps, 64):
                some = np.zeros((m, n), np.float32)
                for p, q in pairs:
                    if logarithms and (p, q) == (0, 0):
                        some *= np.float32(2.0**-11)
                    for at in range(k, k + 64, 16):
                        x = A[p * a_part + top : p * a_part + top + m, at : at + 16]
                        y = B[q * b_part + left : q * b_part + left + n, at : at + 16]
                        some = truncated(some + x @ y.T)
                sums += some
            C = np.lib.stride_tricks.as_strided(
                memory(c + 4 * batch * stride, np.float32, (1,)), (m, n), (4 * ldc, 4), writeable=True
            )
            if logarithms:
                sums *= np.float32(2.0**-30)
                rows, columns = (
                    memory(at + 16 * first, np.float32, (size, 4)).astype(float)
                    for at, first, size in ((a_scales, top, m), (b_scales, left, n))
                )
                lost = np.outer(rows[:, 2], columns[:, 1]) + np.outer(rows[:, 1], columns[:, 2])
                bad = ~(sums >= 2.0**-29 * lost)
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = rows[:, :1] + columns[:, 0] + np.log(sums.astype(float))
                values = values.astype(np.float32)
            else:
                bad, values = ~np.isfinite(sums), sums
            for i in range(0, m, 128):
                for j in range(0, n, 128):
                    tile = slice(i, i + 128), slice(j, j + 128)
                    tiles[batch, i // 128, j // 128] = bad[tile].any()
                    if not bad[tile].any():
                        was = C[tile] if add else (-np.inf if logarithms else 0)
                        C[tile] = np.logaddexp(was, values[tile]) if logarithms else was + values[tile]
        launch.flagged.append(tiles.mean())

    launch.flagged = []
    return launch


@pytest.fixture
def cp(emulated_kernels):
    with emulated.installed(emulated_kernels):
        yield sys.modules["cupy"]


@pytest.fixture
def cores(cp, monkeypatch):
    """The model of tensor cores, one for sums and one for logarithms; products of every size are by them."""
    from semiring.kernels.cuda import tensor_maps
    from semiring.kernels.cuda.dense import registry, sums

    models, compiled = {False: tensor_cores(False), True: tensor_cores(True)}, registry.Kernels.function

    def function(self, entry, text, file, *rest, **options):
        if file == "sums_wgmma.cu":
            return models[self.semiring.name == "log_plus"]
        return compiled(self, entry, text, file, *rest, **options)

    monkeypatch.setattr(registry.Kernels, "function", function)
    monkeypatch.setattr(tensor_maps, "tensor_map", whole)
    monkeypatch.setattr(sums, "LEAST", (0, 0))
    monkeypatch.setattr(sums, "ORDINARY", 1)
    return models


def verbs(name, dtype):
    from semiring.kernels.cuda.dense.backend import CudaBackend

    return CudaBackend(get(name), np.dtype(dtype), False)


def ranges(kind, m, k, n, rng):
    """Entries of log_plus: moderate, wide, and such as scaled exponentials do not hold."""
    A, B = -5 * rng.random((m, k)), -5 * rng.random((k, n))
    if kind == "wide":
        A, B = 8 * A, 8 * B
    if kind == "one huge":
        A[:, k // 3] = 80
    if kind == "all equal":
        A[...], B[...] = 3.7, -2.2
    if kind == "alternating rows":
        A[::2] -= 50
        B[:, 1::2] += 70
        A[:, ::2] -= 8
    if kind == "against":  # the largest of A meet the smallest of B, whose exponentials are 0
        A[:, ::2] -= 150
        B[1::2] -= 160
    if kind == "far":
        A, B = 120 * A, 120 * B
    if kind == "infinite":
        A[rng.random((m, k)) < 0.5] = B[rng.random((k, n)) < 0.5] = -np.inf
        A[3] = B[:, 5] = -np.inf
    return A, B


KINDS = ("moderate", "wide", "one huge", "all equal", "alternating rows", "infinite")


class TestLogarithms:
    @pytest.mark.parametrize("kind", [*KINDS, "against", "far"])
    def test_by_tensor_cores(self, cp, cores, kind):
        """Sums that are tiny beside their operands are found, and computed again."""
        m, k, n = 135, 200, 150
        A, B = (X.astype(np.float32) for X in ranges(kind, m, k, n, np.random.default_rng(1)))
        C = cp.full((m, n + 3), np.nan, np.float32)[:, :n]
        verbs("log_plus", "float32").matmul(C, cp.asarray(A), cp.asarray(B))
        expected = logsumexp(A, B)
        close(C, expected, k)
        assert (cores[True].flagged == [0]) == (kind in KINDS)
        if kind in ("moderate", "against"):
            verbs("log_plus", "float32").gemm(C, cp.asarray(A), cp.asarray(B))
            close(C, logsumexp(A, B, expected), k)

    def test_operands_in_strips(self, cp, cores, monkeypatch):
        from semiring.kernels.cuda.dense import sums

        monkeypatch.setattr(sums, "PARTS", 128 * 4 * 64)
        monkeypatch.setattr(sums, "DEPTH", 64)
        A, B = (X.astype(np.float32) for X in ranges("moderate", 150, 130, 260, np.random.default_rng(2)))
        C = cp.full((150, 260), np.nan, np.float32)
        verbs("log_plus", "float32").matmul(C, cp.asarray(A), cp.asarray(B))
        close(C, logsumexp(A, B), 130)
        assert (
            len(cores[True].flagged) == 2 * 3 * 2 + 1
        )  # strips of k, of columns, of rows; of the last two of k all at once

    @pytest.mark.parametrize("shared", [False, True])
    def test_batches_by_tensor_cores(self, cp, cores, shared):
        """Matrices with odd rows apart, one of them flagged; or all times one matrix."""
        rng = np.random.default_rng(3)
        A, B = (X.astype(np.float32) for X in ranges("moderate", 3 * 70, 80, 65, rng))
        A = A.reshape(3, 70, 80)
        A[1, :, ::2] -= 60
        B = np.stack([B, B - 70 * (np.arange(80) % 2)[:, None], B[::-1]]).astype(np.float32)
        B = B[1] if shared else B
        C = cp.full((3, 70, 65), np.nan, np.float32)
        B3 = np.broadcast_to(cp.asarray(B), (3, 80, 65), subok=True)
        verbs("log_plus", "float32").matmul_batch(C, cp.asarray(A), B3)
        for i in range(3):
            close(C[i], logsumexp(A[i], B if shared else B[i]), 80)
        assert len(cores[True].flagged) == 1
        assert 0 < cores[True].flagged[0] < 1

    @pytest.mark.parametrize(("dtype", "side"), [("float32", 70), ("float32", 25), ("float32", 5), ("float64", 70)])
    def test_term_by_term(self, cp, dtype, side):
        """Small products and small batches, whatever their entries are; ∞, as a star leaves it, is no NaN."""
        m, k, n = side, side + 7, side + 1
        for kind in ("far", "infinite"):
            A, B = (X.astype(dtype) for X in ranges(kind, m, k, n, np.random.default_rng(4)))
            C = cp.full((2, m, n), np.nan, dtype)
            verbs("log_plus", dtype).matmul_batch(C, *(cp.asarray(np.stack([X, X])) for X in (A, B)))
            close(C[1], logsumexp(A, B), k)
        A[2, 3], B[3], B[3, 0] = np.inf, 1, -np.inf
        C = cp.full((m, n), np.nan, dtype)
        verbs("log_plus", dtype).matmul(C, cp.asarray(A), cp.asarray(B))
        assert (np.array(C)[2, 1:] == np.inf).all()
        A[2, 3] = -np.inf
        close(C[2, 0], logsumexp(A, B)[2, 0], k)

    @pytest.mark.parametrize("kind", ["wide", "infinite", "far"])
    def test_in_float64(self, cp, monkeypatch, kind):
        from semiring.kernels.cuda.dense import sums

        monkeypatch.setattr(sums, "LEAST", (0, 0))
        A, B = ranges(kind, 130, 70, 140, np.random.default_rng(5))
        A[:, ::2] -= 700 * (kind == "far")
        B[1::2] -= 700 * (kind == "far")
        C, ops = cp.full((130, 140), np.nan, float), verbs("log_plus", "float64")
        ops.matmul(C, cp.asarray(A), cp.asarray(B))
        expected = logsumexp(A, B)
        close(C, expected, 70)
        ops.gemm(C, cp.asarray(A), cp.asarray(B))
        close(C, logsumexp(A, B, expected), 70)


class TestSums:
    def test_the_error_is_that_of_a_loop(self, cp, cores):
        """Three parts hold all bits: of products that cancel, too, the error is as that of float32."""
        from semiring.kernels.cuda.dense import matrix

        rng, ops = np.random.default_rng(6), verbs("plus_times", "float32")
        A, B = (
            (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape)).astype(np.float32)
            for shape in ((140, 300), (300, 130))
        )
        C, D = cp.full((140, 130), np.nan, np.float32), cp.full((140, 130), np.nan, np.float32)
        ops.matmul(C, cp.asarray(A), cp.asarray(B))
        operands = [cp.asarray(X) for X in (D, A, B)]
        ops.multiply(ops.tile_table[0], *map(matrix.view, operands), accumulate=False)
        exact, scale = A.astype(float) @ B, np.abs(A).astype(float) @ np.abs(B)
        by_parts, by_loop = (np.abs(np.array(X) - exact) / scale for X in (C, D))
        assert by_parts.max() <= max(by_loop.max(), 2.0**-22)
        assert cores[False].flagged == [0]

    def test_what_overflows_is_computed_as_before(self, cp, cores):
        A, B = np.full((135, 300), 2.0, np.float32), np.full((300, 130), 3.0, np.float32)
        A[2, 7], B[7, :3] = 3e38, (2, -2, 0)
        C, ops = cp.full((135, 130), 1, np.float32), verbs("plus_times", "float32")
        ops.gemm(C, cp.asarray(A), cp.asarray(B))
        got = np.array(C)
        assert got[2, :2].tolist() == [np.inf, -np.inf]
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(got, (1 + A.astype(float) @ B).astype(np.float32), rtol=1e-6)
        assert 0 < cores[False].flagged[0] < 1


@pytest.mark.parametrize("name", ["log_plus", "plus_times"])
def test_in_place(cp, cores, monkeypatch, name):
    """A tile that is computed again reads operands that others have not written to."""
    from semiring.kernels.cuda.dense import backend

    monkeypatch.setattr(backend, "COPIED", 100)
    rng, ops = np.random.default_rng(7), verbs(name, "float32")
    D, R = (X.astype(np.float32) for X in ranges("against", 260, 260, 264, rng))
    if name == "plus_times":
        D, R = np.exp(D), np.exp(R)
    multiplied = logsumexp if name == "log_plus" else lambda A, B: A.astype(float) @ B
    for verb, operands in (("left_mul", (D, R)), ("right_mul", (R.T.copy(), D))):
        d, r = (cp.asarray(X.copy()) for X in operands)
        getattr(ops, verb)(d, r)
        got = r if verb == "left_mul" else d
        if name == "log_plus":
            close(got, multiplied(*operands), 260)
        else:
            np.testing.assert_allclose(np.array(got), multiplied(*operands), rtol=1e-5)
    assert len(cores[name == "log_plus"].flagged) == 6


def test_when_sums_are_by_tensor_cores(cp):
    """Where they were measured to be faster on an H200; not where few tiles take all of k."""
    fast = verbs("plus_times", "float32").sums.fast
    assert all(fast(*shape) for shape in ((2048,) * 3, (4096,) * 3, (8192, 256, 8192), (65536, 1024, 256)))
    assert not any(fast(*shape) for shape in ((1024,) * 3, (1300,) * 3, (256, 65536, 256), (8192, 8192, 128)))
