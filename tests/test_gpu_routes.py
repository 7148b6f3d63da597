"""Predecessors of arrays on a GPU: found on the host, the same as there, and back where the distances lie."""

from __future__ import annotations

import numpy as np
import pytest

import apsp

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize(
    ("semiring", "dtype"), [("min_plus", "float32"), ("min_plus", "int32"), ("max_min", "float32"), ("boolean", "bool")]
)
def test_they_are_the_hosts(cp, semiring, dtype):
    rng = np.random.default_rng(0)
    A = rng.integers(0, 5, (70, 70)).astype(dtype)
    for a in (A, np.stack([A, A[::-1]])):
        D = apsp.closure(a, semiring)
        for find in (apsp.predecessors, apsp.next_hops):
            there = find(cp.asarray(a), cp.asarray(D), semiring)
            assert isinstance(there, cp.ndarray)
            np.testing.assert_array_equal(there.get(), find(a, D, semiring))
            np.testing.assert_array_equal(find(a, cp.asarray(D), semiring).get(), there.get())


def test_results_on_a_gpu_tell_routes_and_measures(cp):
    rng = np.random.default_rng(0)
    A = rng.integers(1, 50, (90, 90)).astype(np.int32)
    here, there = apsp.shortest_paths(A), apsp.shortest_paths(A, device="cuda")
    for name in ("predecessors", "next_hops", "hops"):
        np.testing.assert_array_equal(np.asarray(getattr(here, name)), cp.asnumpy(getattr(there, name)))
    assert list(there.paths()) == list(here.paths())
    assert there.verify("all", paths=True)
    assert there.eccentricity() == here.eccentricity()
    assert there.closeness() == pytest.approx(here.closeness())
    assert there.global_efficiency() == pytest.approx(here.global_efficiency())
    on_device = cp.asarray(there.distances)
    assert apsp.measures.center(on_device).tolist() == apsp.measures.center(here.distances).tolist()
