import numpy as np
import pytest
from bits import closure


def packed(A):
    return [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in A]


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 100])
def test_what_reaches_what(n):
    A = np.random.default_rng(n).random((n, n)) < 1.5 / max(n, 1)
    rows = packed(A)
    reached = A.copy()
    for k in range(n):
        reached |= reached[:, k, None] & reached[None, k, :]
    assert closure(rows) == packed(reached)


def test_a_cycle_reaches_itself_and_a_chain_does_not():
    assert closure([0b010, 0b100, 0b001]) == [0b111] * 3
    assert closure([0b010, 0b100, 0b000]) == [0b110, 0b100, 0]


def test_there_is_no_loop_over_single_entries():
    """2,000 vertices: seconds by words, an hour by entries."""
    n = 2000
    rows = closure([1 << (i + 1) % n for i in range(n)])
    assert rows == [(1 << n) - 1] * n
