"""Integers with negative lengths, closed as lengths that are not: the same distances, or the general step."""

from __future__ import annotations

import shutil
import sys

import emulated
import numpy as np
import pytest

import apsp.road.solve
from apsp import NegativeCycleError, closure
from semiring import DomainError, get
from semiring.algebra import dtypes
from semiring.algebra.survey import survey
from semiring.dense import potentials

#: Kinds of entries: their dtype, where ⊕ keeps the least or the greatest.
KINDS = [("min_plus", "int16"), ("max_plus", "int32"), ("min_plus", "int64")]


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    monkeypatch.setattr(potentials, "SMALLEST", {"cpu": 1, "cuda": 1})


@pytest.fixture
def found(monkeypatch):
    """What was found of every matrix that was closed."""
    seen, search = [], apsp.road.solve.potentials_of
    monkeypatch.setattr(apsp.road.solve, "potentials_of", lambda *given: seen.append(search(*given)) or seen[-1])
    return seen


def entries(name, dtype, n, seed, *, most=100, missing=0.4):
    """Edges of both signs, but no cycle whose length is negative."""
    rng = np.random.default_rng(seed)
    h = rng.integers(0, most, n)
    lengths = rng.integers(0, most, (n, n)) + h[:, None] - h
    X = (lengths if name == "min_plus" else -lengths).astype(dtype)
    X[rng.random((n, n)) < missing] = dtypes.zero(get(name), X.dtype)
    return X


def expected(A, name):
    """The closure by Python's integers; a distance that the dtype does not hold is infinite."""
    best, absent = (min, np.inf) if name == "min_plus" else (max, -np.inf)
    zero = dtypes.zero(get(name), A.dtype)
    D = [[absent if x == zero else x for x in row] for row in A.tolist()]
    n = len(D)
    for k in range(n):
        D[k][k] = best(D[k][k], 0)
        for i in range(n):
            D[i] = [best(x, D[i][k] + y) for x, y in zip(D[i], D[k], strict=True)]
    return np.array([[zero if abs(x) > np.iinfo(A.dtype).max else x for x in row] for row in D], A.dtype)


@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_closures_are_exact(name, dtype, found):
    for seed, (n, missing) in enumerate([(1, 0), (23, 0), (40, 0.4), (70, 0.95)]):
        A = entries(name, dtype, n, seed, missing=missing)
        for X in (A, np.asfortranarray(A), np.stack([A, A])[1]):
            assert np.array_equal(closure(X, name, null_value=None), expected(A, name))
        assert np.array_equal(closure(A.copy(), name, null_value=None, overwrite=True), expected(A, name))
    assert None not in found


def test_one_that_may_not_fit_is_closed_as_before(found):
    """A walk of 31000 to a vertex that another one reaches by −9000: as ℓ′ it is too long for 16 bits.

    And one of 33000 from such a vertex: it is too long, but not as ℓ′.
    """
    A, B = np.full((2, 7, 7), np.iinfo(np.int16).max, np.int16)
    A[range(4), range(1, 5)] = 8000
    A[4, 5], A[6, 5] = -1000, -9000
    B[range(5), range(1, 6)], B[6, 0] = 6600, -9000
    for X in (A, B):
        assert np.array_equal(closure(X, null_value=None), expected(X, "min_plus"))
    assert np.array_equal(closure(A.copy(), null_value=None, overwrite=True), expected(A, "min_plus"))
    with pytest.raises(DomainError, match="every distance must fit int16"):  # in place there is no wider dtype
        closure(B.copy(), null_value=None, overwrite=True)
    C = np.full((5, 5), np.iinfo(np.int16).max, np.int16)  # lengths that wrap were taken for those of a cycle
    C[[0, 0, 0, 1, 2, 2, 3, 4], [1, 2, 4, 0, 1, 3, 1, 2]] = 1517, 462, 4961, 11151, 22807, 5281, 15778, -4879
    with pytest.raises(DomainError, match="every distance must fit int16"):
        closure(C, null_value=None, overwrite=True)
    assert [p.certain for p in found] == [False, False, True, False, False, False]  # B again, in a wider dtype
    assert expected(A, "min_plus")[0, 5] == 31000
    A[4, 5], A[6, 5] = -24000, 9000  # now ℓ′ itself is too long
    assert np.array_equal(closure(A, null_value=None), expected(A, "min_plus"))
    assert found[-1] is None


def test_negative_cycles_are_named_as_before(found):
    A = entries("min_plus", "int32", 30, 5)
    A[3, 4], A[4, 3] = 5, -6
    with pytest.raises(NegativeCycleError, match="3 → 4 → 3 of weight -1"):
        closure(A, null_value=None)
    assert found == [None]


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_potentials_on_a_gpu(name, dtype, emulated_kernels):
    s, sign = get(name), 1 if name == "min_plus" else -1
    for n, missing in ((70, 0.3), (67, 0.97)):
        A = entries(name, dtype, n, n, missing=missing)
        known = potentials.potentials_of(A, survey(A, s, where="test"), s)
        infinity = np.iinfo(dtype).max
        with emulated.installed(emulated_kernels):
            from semiring.kernels.cuda.dense import lengths

            cupy = sys.modules["cupy"]
            for X in (cupy.asarray(A), cupy.asarray(np.hstack([A, A]))[:, :n]):  # rows in one piece, and with gaps
                h, least = lengths.potentials(X, sign, -infinity // 2, 100)
                assert np.array_equal(h, known.values)
                assert least == known.values.min()
            assert lengths.potentials(X, sign, int(known.values.min()) + 1, 100) is None
            X[5, 5] = -sign  # a loop that is negative
            assert lengths.potentials(X, sign, -infinity // 2, 9) is None
            X, record = cupy.asarray(A), cupy.zeros(1, np.uint64)
            lengths.to_lengths(X, X, sign, infinity, potential=h)
            own = A.copy()
            known.reweight(own)
            assert np.array_equal(X, own)
            lengths.to_entries(X, X, sign, infinity, potential=h, greatest=record)
            assert np.array_equal(X, A)
            assert record[0] == own[own < infinity].max()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
@pytest.mark.parametrize(("entry", "length", "sign"), [("int16", "int32", 1), ("int64", "int16", -1)])
def test_lengths_in_another_dtype_on_a_gpu(entry, length, sign, emulated_kernels):
    A = np.random.default_rng(0).integers(-50, 51, 1003).astype(entry)
    end = np.iinfo(entry).max if sign > 0 else np.iinfo(entry).min
    A[::7], offset = end, 50
    with emulated.installed(emulated_kernels):
        from semiring.kernels.cuda.dense import lengths

        cupy = sys.modules["cupy"]
        for skipped in (0, 1):  # aligned, and not
            X, L = cupy.asarray(A)[skipped:], cupy.empty(1003 - skipped, length)
            lengths.to_lengths(X, L, sign, 200, offset)
            assert np.array_equal(L, np.where(A == end, 200, sign * A.astype(length) + 50)[skipped:])
            back = cupy.empty(len(L), entry)
            lengths.to_entries(L, back, sign, 200, offset)
            assert np.array_equal(back, X)
