"""Every schedule over every semiring, on a backend of uncompiled loops: the order of the verbs alone is on trial."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from reference import Reference

from apsp import blocks, schedules
from apsp.progress import Metered
from semiring.backend import in_turn

ALL = [*cases.CASES, *cases.USER_CASES]


def test_the_schedules_are_the_files():
    assert {"blocked", "iterative", "recursive"} <= set(schedules.names())
    with pytest.raises(ValueError, match=r"recursive.*got 'fastest'"):
        schedules.get("fastest")


@pytest.mark.parametrize("name", schedules.names())
@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize(("n", "block"), [(0, 4), (1, 4), (5, 1), (7, 2), (13, 4), (16, 4)])
def test_a_schedule_computes_the_closure(name, case, n, block):
    A = cases.random_matrix(case, (n, n), seed=n + block)
    expected = cases.closure(case, A)
    schedules.get(name)(A, Reference(case), block=block)
    cases.same(case, A, expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_recursion_hands_over_to_the_blocked_schedule(case):
    A = cases.random_matrix(case, (23, 23), seed=3)
    expected = cases.closure(case, A)
    schedules.get("recursive")(A, Reference(case, cutover=12), block=3)
    cases.same(case, A, expected)


@pytest.mark.parametrize(("n", "block"), [(2, 1), (5, 4), (65, 64), (127, 64), (128, 64), (1000, 64), (129, 128)])
def test_halving_leaves_whole_blocks_first_and_nothing_empty(n, block):
    h = blocks.half(n, block)
    assert 0 < h < n
    assert h % block == 0
    assert h >= n - h or h + block > n - h


def test_pivots_and_what_lies_around_them_cover_the_diagonal():
    covered = np.zeros(10, dtype=int)
    for k in blocks.pivots(10, 4):
        covered[k] += 1
        assert sum(s.stop - s.start for s in blocks.around(10, k)) == 10 - (k.stop - k.start)
    assert (covered == 1).all()


class Eliminates(Reference):
    """A reference with an elimination of its own, as backends may have."""

    eliminations = 0

    def eliminate(self, D, R, C, rest):
        self.eliminations += 1
        in_turn(self, D, R, C, rest)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_recursion_takes_a_backend_s_own_elimination(case):
    A = cases.random_matrix(case, (17, 17), seed=5)
    expected = cases.closure(case, A)
    ops = Eliminates(case)
    schedules.get("recursive")(A, ops, block=4)
    cases.same(case, A, expected)
    assert ops.eliminations == 8  # four matrices are halved


@pytest.mark.parametrize("timed", [False, True])
def test_an_elimination_is_counted_as_its_three_products(timed):
    case = ALL[0]
    A = cases.random_matrix(case, (17, 17), seed=5)
    ops, seen = Eliminates(case), []
    metered = Metered(ops, 17**3, lambda done, total: seen.append(done), timed=timed)
    schedules.get("recursive")(A, metered, block=4)
    assert metered.done == seen[-1] == 17**3
    assert ("eliminate" in metered.seconds) is not timed
    assert (ops.eliminations > 0) is not timed
