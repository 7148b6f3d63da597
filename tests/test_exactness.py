"""What docs/promises.md promises of exactness, one test each; oracles are fractions, and arithmetic by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from apsp import closure, predecessors, shortest_paths
from apsp.road import schedules
from semiring.host.errors import DomainError, NegativeCycleError

INF = math.inf


def exact_closure(A: np.ndarray) -> list[list[Fraction | None]]:
    """Shortest distances in fractions, by Floyd and Warshall; None where there is no path."""
    n = len(A)
    D = [[None if np.isinf(x) else Fraction(float(x)) for x in row] for row in A]
    for k in range(n):
        D[k][k] = Fraction(0)
    for k in range(n):
        for i in range(n):
            if D[i][k] is None:
                continue
            for j in range(n):
                if D[k][j] is not None:
                    way = D[i][k] + D[k][j]
                    if D[i][j] is None or way < D[i][j]:
                        D[i][j] = way
    return D


@pytest.mark.parametrize("schedule", schedules.names())
def test_float_sums_of_non_negative_lengths_stay_within_their_bound(schedule):
    """A distance is a sum of at most n − 1 edges: |D − exact| ≤ (n − 2) u / (1 − (n − 2) u) · exact, u = eps / 2."""
    n = 30
    rng = np.random.default_rng(0)
    A = np.full((n, n), np.inf, np.float32)
    at = np.arange(n - 1)
    A[at, at + 1] = rng.random(n - 1)  # a long path, so that there are long sums
    A[rng.integers(0, n, 60), rng.integers(0, n, 60)] = 10 ** rng.uniform(-6, 6, 60)
    D = closure(A, schedule=schedule, block=7)
    u = Fraction(1, 2**24)
    bound = (n - 2) * u / (1 - (n - 2) * u)
    for row, exact in zip(D.tolist(), exact_closure(A), strict=True):
        for d, e in zip(row, exact, strict=True):
            assert (d == INF) is (e is None)
            if e is not None:
                assert abs(Fraction(d) - e) <= bound * e


@pytest.mark.parametrize("schedule", schedules.names())
def test_sums_that_are_exact_are_the_same_bits_by_every_schedule_block_and_number_of_threads(schedule):
    rng = np.random.default_rng(0)
    A = np.where(rng.random((70, 70)) < 0.2, rng.integers(0, 1000, (70, 70)) / 8, np.inf)
    D = closure(A, schedule="iterative", threads=1)
    P = predecessors(A, D)
    for dtype in (np.float32, np.float64):
        for block, threads in ((16, 1), (64, 2), (33, 2)):
            other = closure(A.astype(dtype), schedule=schedule, block=block, threads=threads)
            np.testing.assert_array_equal(other, D)
            np.testing.assert_array_equal(predecessors(A.astype(dtype), other, threads=threads), P)


@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_a_cycle_that_only_rounding_makes_negative_never_raises(schedule, scale):
    A = np.full((3, 3), np.inf)
    A[0, 1], A[1, 2], A[2, 0] = 0.1 * scale, 0.7 * scale, -0.8 * scale
    D = closure(A, schedule=schedule)
    assert (np.diagonal(D) == 0).all()
    np.testing.assert_allclose(D[0], [0, 0.1 * scale, 0.8 * scale], rtol=1e-15)


@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.parametrize("dtype", ["int16", "int32", "float32", "float64"])
def test_a_negative_loop_always_raises(schedule, dtype):
    A = np.full((5, 5), np.iinfo(dtype).max if dtype.startswith("int") else np.inf, dtype)
    A[3, 3] = -1
    with pytest.raises(NegativeCycleError, match="3"):
        closure(A, schedule=schedule)
    A[3, 3] = 1  # a loop that is none: of no use, and no harm
    assert closure(A, schedule=schedule)[3, 3] == 0


@pytest.mark.parametrize("engine", ["dense", "elimination"])
def test_zero_and_tiny_weights_are_edges(engine):
    """SciPy takes dense weights up to 1e-8 for no edge."""
    arcs = [(0, 1, 0.0), (1, 2, 1e-9), (2, 3, 1e-300), (3, 4, 5e-324)]
    A = np.full((5, 5), np.inf)
    for u, v, w in arcs:
        A[u, v] = w
    sparse = csr_array(([w for _, _, w in arcs], ([0, 1, 2, 3], [1, 2, 3, 4])), shape=(5, 5))  # a stored zero
    for source in (arcs, A, sparse):
        r = shortest_paths(source, engine=engine)
        assert [r.distance(0, v) for v in range(5)] == [0, 0, 1e-9, 1e-9, 1e-9]
        assert r.distance(2, 4) == 1e-300
        assert r.distance(4, 0) == INF
        assert r.path(0, 4) == r.paths([(0, 4)])[0] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("engine", ["dense", "elimination"])
def test_of_several_edges_between_two_vertices_the_better_counts(engine):
    arcs = [("a", "b", 5), ("a", "b", 3), ("a", "b", 4), ("b", "c", 1)]
    assert shortest_paths(arcs, engine=engine).distance("a", "c") == 4
    assert shortest_paths(arcs, "max_min", dtype="float64", engine=engine).distance("a", "b") == 5


def test_nan_raises_wherever_it_is():
    A = np.zeros((4, 4))
    A[1, 2] = np.nan
    for work in (closure, shortest_paths, lambda A: predecessors(A, np.zeros((4, 4)))):
        with pytest.raises(DomainError, match=r"nan.*\(1, 2\)"):
            work(A)
    with pytest.raises(DomainError):
        predecessors(np.zeros((4, 4)), A)
    with pytest.raises(DomainError):
        shortest_paths([("a", "b", math.nan)])


@pytest.mark.parametrize(
    ("semiring", "wrong"), [("min_plus", -math.inf), ("max_plus", math.inf), ("max_min", math.nan)]
)
def test_what_is_outside_of_the_semiring_is_no_integer_either(semiring, wrong):
    A = np.full((3, 3), wrong if semiring == "max_min" else -wrong)
    A[A != A] = 0
    A[0, 1] = wrong
    for dtype in ("int16", "float64"):
        with pytest.raises(DomainError, match=r"must lie in [\[(]-inf, inf[)\]], got (-?inf|nan) at \(0, 1\)"):
            closure(A, semiring, dtype=dtype)


def test_graphs_of_zero_cycles_end():
    """Cycles of weight 0, all around, twice and nested: distances, predecessors, next hops and paths come to an end."""
    n = 48
    A = np.full((n, n), np.inf)
    at = np.arange(n)
    A[at, (at + 1) % n] = A[(at + 1) % n, at] = A[at, (at + 7) % n] = 0
    r = shortest_paths(A)
    assert not r.distances.any()
    assert r.hops.max() <= n // 2
    assert all(len(set(path)) == len(path) for path in r.paths())
    hop = at.copy()
    for _ in range(n):
        hop = np.where(hop == 5, 5, r.next_hops[hop, 5])
    assert (hop == 5).all()
