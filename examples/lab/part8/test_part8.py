from functools import cache
from pathlib import Path

import pytest

from apsp import emulate, random_graph


@cache
def emulated(n):
    return emulate(Path(__file__).with_name("mine.cu"), random_graph(n, 20, seed=n), "max_min", limit=20)


def right(n):
    """The emulator's record of a right table that kernels computed; fails with its first fault otherwise."""
    found = emulated(n)
    if not found:
        pytest.fail(str(found), pytrace=False)
    if not found.run.kernels:
        pytest.fail("closure launches no kernel: kernels do the work, not the host", pytrace=False)
    return found


@pytest.mark.parametrize("n", [1, 33, 64])
def test_the_table_is_right(n):
    right(n)


def test_nothing_is_left_to_chance():
    hazards = right(64).run.hazards
    assert not hazards, "\n".join(hazards)


def test_neighbours_in_a_warp_read_neighbours_in_memory():
    for kernel in right(64).run.kernels:
        sectors, least = kernel.total("sectors", "global"), kernel.total("least", "global")
        assert sectors <= 1.5 * least, f"{kernel.name} touches {sectors:,} sectors where {least:,} would do"


def test_shared_memory_is_read_many_times():
    words = right(64).words
    assert words <= 0.5, f"a pair reads and writes {words:.3g} numbers of global memory, and 0.5 are allowed"
