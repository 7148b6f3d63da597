"""Bottlenecks of symmetric matrices by a spanning tree: those of a loop, bit for bit; others are closed by products."""

from __future__ import annotations

import cases
import networkx as nx
import numpy as np
import pytest

from apsp import closure, plan, shortest_paths
from semiring import get
from semiring.host.errors import AlgebraError
from semiring.kernels.cpu.dense import spanning

NAMES = ("max_min", "min_max")


def symmetric(case, n, seed, values):
    A = np.random.default_rng(seed).choice(np.array(values, case.dtype), (n, n))
    return np.where(np.tri(n) > 0, A, A.T)


def check(case, A, D):
    expected = A.copy()
    np.fill_diagonal(expected, case.one)
    for k in range(len(A)):
        through = case.semiring.mul.ufunc(expected[:, k, None], expected[k])
        expected = case.semiring.add.ufunc(expected, through)
    np.testing.assert_array_equal(D, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "int16", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 65, 300])
@pytest.mark.parametrize("threads", [1, 2])
def test_all_bottlenecks_are_those_of_a_loop(name, dtype, n, threads):
    """Ties, infinite edges, parts that nothing joins, rows that are apart, any diagonal."""
    case = cases.Case(get(name), np.dtype(dtype))
    for seed, values in enumerate(([-3, 0, 5, 7, case.one, case.zero], [case.zero] * 30 + [1, 2], range(100))):
        A = symmetric(case, n, seed, values)
        wide, D = np.zeros((n, n + 3), A.dtype)[:, :n], np.empty_like(A)
        wide[...] = A
        spanning.close(wide, case.semiring, D, threads)
        check(case, A, D)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_chosen_where_it_may_be(name, monkeypatch):
    monkeypatch.setattr("apsp.road.engines.MANY", 40)
    case = cases.Case(get(name), np.dtype("float32"))
    A = symmetric(case, 200, 1, np.arange(1, 500))
    before = A.copy()
    told = []
    D = closure(A, name, null_value=None, callback=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    check(case, A, D)
    np.testing.assert_array_equal(A, before)
    assert plan(A, name).engine == "spanning"
    assert "spanning" in str(shortest_paths(A, name, null_value=None).plan)
    A[3, 7] += 1
    assert plan(A, name).engine == "dense"
    check(case, A, closure(A, name, null_value=None))
    assert plan(before.astype("f8"), "min_plus").engine != "spanning"
    for source, semiring in ((A, name), (before, "min_plus")):
        with pytest.raises(AlgebraError, match="engine='spanning' closes symmetric matrices over"):
            shortest_paths(source, semiring, engine="spanning", null_value=None)
    assert closure(before, name, null_value=None, overwrite=True) is before  # in place there is no room for it


@pytest.mark.parametrize("name", NAMES)
def test_paths_have_the_bottleneck(name):
    case = cases.Case(get(name), np.dtype("int32"))
    A = symmetric(case, 60, 2, [case.zero] * 20 + [*range(1, 9)])
    r = shortest_paths(A, name, engine="spanning", paths=True, null_value=None)
    worst = min if name == "max_min" else max
    G = nx.from_numpy_array((A != case.zero) & ~np.eye(60, dtype=bool))
    for u in range(0, 60, 7):
        for v in range(60):
            if u != v and nx.has_path(G, u, v):
                path = r.path(u, v)
                assert worst(A[x, y] for x, y in nx.utils.pairwise(path)) == r.distance(u, v)
            elif u != v:
                assert r.distances[u, v] == case.zero
