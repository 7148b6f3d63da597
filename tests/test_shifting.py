"""Integers as lengths that are not negative: the same products bit for bit, and none where sums may leave the dtype."""

from __future__ import annotations

import cases
import numpy as np
import pytest

from semiring import get, matmul
from semiring.algebra.shifting import shift_of
from semiring.algebra.survey import survey
from semiring.dense import product


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    monkeypatch.setattr(product, "LENGTHS", {"cpu": -1, "cuda": -1})


def entries(case, shape, low, high, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(low, high, shape, endpoint=True, dtype=case.dtype)
    X[rng.random(shape) < 0.4] = case.zero
    X[..., 0, :] = case.zero
    return X


@pytest.mark.parametrize(("name", "dtype"), [("min_plus", "int16"), ("max_plus", "int32"), ("max_plus", "int64")])
def test_products_are_the_same_bits(name, dtype):
    case, most = cases.Case(get(name), np.dtype(dtype)), np.iinfo(dtype).max
    for seed, bounds in enumerate([(-9, 9), (-1000, -5), (5, 1000), (-most // 4, most // 4), (-most - 1, most)]):
        A, B = entries(case, (17, 23), *bounds, seed), entries(case, (23, 70), *bounds, seed + 9)
        C = entries(case, (17, 70), *bounds, seed + 20)
        cases.same(case, matmul(A, B, name), cases.product(case, A, B))
        out = C.copy()
        matmul(A, B, name, out=out, accumulate=True)
        cases.same(case, out, cases.product(case, A, B, C))
        batch = np.stack([A, A[::-1]])
        cases.same(case, matmul(batch, B, name)[1], cases.product(case, A[::-1], B))


@pytest.mark.parametrize("name", ["min_plus", "max_plus"])
def test_random_bounds_and_shapes(name):
    rng = np.random.default_rng()
    for _ in range(30):
        case = cases.Case(get(name), np.dtype(rng.choice(["int16", "int32", "int64"])))
        powers = rng.integers(1, 8 * case.dtype.itemsize, 2).tolist()
        low, high = sorted(int(rng.integers(-(2**b), 2**b)) for b in powers)
        m, k, n = map(int, rng.integers(1, 40, 3))
        A, B = entries(case, (m, k), low, high, int(rng.integers(99))), entries(case, (k, n), low, high, 1)
        cases.same(case, matmul(A, B, name), cases.product(case, A, B))


def test_headroom_decides():
    """A sum of two must stay inside the dtype, below what stands for no edge; what is no edge does not count."""
    s = get("min_plus")

    def fits(a, b):
        A, B = np.array([[a, 32767]], np.int16), np.array([[b], [32767]], np.int16)
        return shift_of(A, B, [survey(X, s, where="test") for X in (A, B)], s) is not None

    assert fits(-16384, -16383)
    assert not fits(-16384, -16384)
    assert fits(16383, 16383)
    assert not fits(16384, 16383)
    assert shift_of(np.zeros((1, 1)), np.zeros((1, 1)), [], s) is None
    A = np.full((2, 2), 32767, np.int16)
    assert shift_of(A, A, [survey(A, s, where="test")] * 2, s) == (1, 0, 0, 0)
    A, B = np.array([[3, 7]], np.int16), np.array([[-5], [400]], np.int16)
    for name, expected in (("min_plus", (1, 0, -5, 7 + 405)), ("max_plus", (-1, 7, 400, 4 + 405))):
        s = get(name)
        assert shift_of(A, B, [survey(X, s, where="test") for X in (A, B)], s) == expected
