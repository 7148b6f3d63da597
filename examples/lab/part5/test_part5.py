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
    found, right = closure(rows), packed(reached)
    assert found is not None, "closure returns nothing"
    assert len(found) == n
    for i, (row, own) in enumerate(zip(found, right, strict=True)):
        j = ((row ^ own) & -(row ^ own)).bit_length() - 1  # the first bit that differs
        assert row == own, (
            f"bit {j} of rows[{i}] is {row >> j & 1}: does a walk of one arc or more lead from {i} to {j}?"
        )


def test_a_cycle_reaches_itself_and_a_chain_does_not():
    assert closure([0b010, 0b100, 0b001]) == [0b111] * 3
    assert closure([0b010, 0b100, 0b000]) == [0b110, 0b100, 0]


def test_there_is_no_loop_over_single_entries():
    """2,000 vertices: seconds by words, an hour by entries."""
    n = 2000
    rows = closure([1 << (i + 1) % n for i in range(n)])
    assert all(row == (1 << n) - 1 for row in rows), "on a cycle everything reaches everything"
