import math

import numpy as np
import pytest
from pass_heights import declare

from apsp import closure
from semiring import check_axioms


def test_the_laws_hold():
    check_axioms(declare())


def test_neutral_elements():
    s = declare()
    assert s.zero == math.inf, "no way at all is worse than any height"
    assert s.one == -math.inf, "who stays passes nothing, which is better than any height"


@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_of_the_highest_passes(seed):
    """By trying which vertices are reached if passes above a height are closed."""
    rng = np.random.default_rng(seed)
    n = 9
    A = np.where(rng.random((n, n)) < 0.3, rng.integers(-50, 3000, (n, n)).astype(float), np.inf)
    D = closure(A, declare())
    for i, j in np.ndindex(n, n):
        if i == j:
            continue
        least = math.inf
        for height in sorted({*A[np.isfinite(A)].tolist()}):
            reached, front = {i}, [i]
            while front:
                u = front.pop()
                fresh = {v for v in range(n) if A[u, v] <= height} - reached
                reached |= fresh
                front += fresh
            if j in reached:
                least = height
                break
        assert D[i, j] == least, f"from {i} to {j}: {least}, not {D[i, j]}"
