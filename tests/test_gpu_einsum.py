"""einsum, chains and hops on an NVIDIA GPU, against the same on the host, which other tests hold to loops and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import apsp
import semiring
from semiring import get
from semiring.tensors.chains import chain, trace, unchain

pytestmark = pytest.mark.gpu
SUBSCRIPTS = (
    *(("bij,bjk->bik", (5, 33, 17), (5, 17, 40)), ("bij,bjk->bki", (3, 64, 64), (3, 64, 64)), ("bij->b", (5, 7, 9))),
    *(("bij,jk->bik", (5, 33, 17), (17, 40)), ("ij,bjk->bik", (9, 17), (4, 17, 40)), ("bi,bij->bj", (5, 7), (5, 7, 9))),
    *(("abij,abjk->abik", (2, 3, 8, 9), (2, 3, 9, 7)), ("bij,bkj->bik", (5, 33, 16), (5, 20, 16)), ("ii->i", (4, 4))),
)


@pytest.mark.parametrize("name", ["min_plus", "log_plus", "plus_times", "max_times"])
def test_einsum(name):
    import cupy

    rng = np.random.default_rng(0)
    for subscripts, *shapes in SUBSCRIPTS:
        operands = [rng.random(shape, np.float32) for shape in shapes]
        found = semiring.einsum(subscripts, *map(cupy.asarray, operands), semiring=name)
        np.testing.assert_allclose(found.get(), semiring.einsum(subscripts, *operands, semiring=name), rtol=2e-5)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_integers_saturate(dtype):
    import cupy

    rng = np.random.default_rng(0)
    A, B = (rng.integers(-30000, 30000, shape).astype(dtype) for shape in ((4, 5, 6), (4, 6, 7)))
    A[0, 0] = np.iinfo(dtype).max
    for subscripts, operands in (("bij,bjk->bik", (A, B)), ("bij,bij->bij", (A, A)), ("bij->j", (A,))):
        found = semiring.einsum(subscripts, *map(cupy.asarray, operands))
        np.testing.assert_array_equal(found.get(), semiring.einsum(subscripts, *operands))


@pytest.mark.parametrize("states", [5, 64, 300])
def test_chains(states):
    import cupy

    rng = np.random.default_rng(states)
    E, G = rng.normal(size=(2, 3, 9, states))
    for shape in ((), (3,), (3, 8)):
        M = rng.normal(size=(*shape, states, states))
        M[..., 0, 1:] = -np.inf
        there = [cupy.asarray(X) for X in (E, M)]
        for name in ("max_plus", "log_plus"):
            found, wanted = chain(*there, get(name)), chain(E, M, get(name))
            for x, y in zip(found, wanted, strict=True):
                np.testing.assert_allclose(x.get(), y, rtol=1e-12, atol=1e-12)
            if name == "max_plus":
                ends = np.array([8, 0, 4]), np.array([states - 1, 0, 2])
                paths = trace(there[1], found[0], *map(cupy.asarray, ends), get(name))
                np.testing.assert_array_equal(paths.get(), trace(M, wanted[0], *ends, get(name)))
        for x, y in zip(unchain(*there, *found, cupy.asarray(G)), unchain(E, M, *wanted, G), strict=True):
            np.testing.assert_allclose(x.get(), y, rtol=1e-9, atol=1e-12)


def test_hops_and_lists():
    import cupy

    rng = np.random.default_rng(0)
    A = rng.random((50, 32, 32)) < 0.05
    indices = [np.array(np.nonzero(a)) for a in A]
    for there, here in ((cupy.asarray(A), A), ([cupy.asarray(x) for x in indices], indices)):
        found = apsp.hops(there, paths=3, limit=9)
        for x, y in zip(found, apsp.hops(here, paths=3, limit=9), strict=True):
            np.testing.assert_array_equal(x.get(), y)
    matrices = [rng.random((n, n)) for n in (3, 40, 7)]
    for D, B in zip(apsp.closure([cupy.asarray(B) for B in matrices]), matrices, strict=True):
        np.testing.assert_array_equal(D.get(), apsp.closure(B))
