from functools import cache
from pathlib import Path

import pytest

from apsp import emulate, random_graph


@cache
def emulated(n):
    return emulate(Path(__file__).with_name("mine.cu"), random_graph(n, 20, seed=n), "max_min", limit=60)


@pytest.mark.parametrize("n", [1, 33, 64])
def test_the_table_is_right(n):
    found = emulated(n)
    assert found, str(found)
    assert found.run.kernels, "kernels do the work, not the host"


def test_nothing_is_left_to_chance():
    found = emulated(64)
    assert found.run.kernels
    assert not found.run.hazards, str(found)


def test_neighbours_in_a_warp_read_neighbours_in_memory():
    kernels = emulated(64).run.kernels
    assert kernels
    for kernel in kernels:
        assert kernel.total("sectors", "global") <= 1.5 * kernel.total("least", "global"), kernel.name


def test_shared_memory_is_read_many_times():
    found = emulated(64)
    assert found
    assert found.words <= 0.5, str(found)
