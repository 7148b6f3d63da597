"""Predecessors of all pairs: every path walked by an uncompiled loop, the rule by another; SciPy besides."""

from __future__ import annotations

import itertools
import math
import sys
from functools import partial
from typing import Any

import cases
import numpy as np
import pytest
from processes import python
from scipy.sparse.csgraph import floyd_warshall

import apsp
from apsp.road import schedules
from semiring import Op, Semiring, get
from semiring.algebra import dtypes
from semiring.dense.routes import hops, of_rows, walks
from semiring.host.errors import DeviceError, DomainError

INF = math.inf
NONE = -9999
#: Zeros are edges here.
closure, predecessors, next_hops = (
    partial(f, null_value=None) for f in (apsp.closure, apsp.predecessors, apsp.next_hops)
)

#: A user's own, neither vectorised nor cancellative: ⊕ = max, ⊗ = Łukasiewicz's and, in hundredths.
CERTAINTY = Semiring(
    "certainty",
    add=Op("best", python=lambda a, b: a if a > b else b, cuda="max(a, b)", selects="greatest"),
    mul=Op("luk", python=lambda a, b: a + b - 100 if a + b > 100 else 0, cuda="a + b > 100 ? a + b - 100 : 0"),
    zero=0,
    one=100,
    dtypes=("int32",),
    domain=(0, 100),
    samples=(0, 30, 60, 90, 100),
)


def graph(name: str, n: int, seed: int = 0) -> np.ndarray:
    """A matrix of lengths, ∞ where there is no edge."""
    rng = np.random.default_rng(seed)

    def some(p: float, weights: Any) -> np.ndarray:
        return np.where(rng.random((n, n)) < p, weights, INF)

    points, potential = rng.random((n, 2)), rng.integers(0, 50, n)
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    if name == "uniform":
        return rng.random((n, n))
    if name == "integers":
        return rng.integers(1, 100, (n, n)).astype(float)
    if name == "Euclidean":
        return distance
    if name == "geometric":
        return np.where(distance < 3 / math.sqrt(n), distance, INF)
    if name == "unweighted":
        return some(0.3, 1.0)
    if name == "half zeros":
        return np.where(rng.random((n, n)) < 0.5, 0.0, rng.integers(1, 9, (n, n)))
    if name == "0 or 1":
        return some(4 / n, rng.integers(0, 2, (n, n)))
    if name == "tiny and large":
        return some(8 / n, rng.choice([1e-9, 1, 1000], (n, n)))
    if name == "ring of zeros":
        A = np.full((n, n), INF)
        A[np.arange(n), (np.arange(n) + 1) % n] = 0
        return A
    if name == "twins":  # every vertex twice, an edge of weight 0 either way between the two
        half = n // 2
        A = np.full((n, n), INF)
        A[:half, :half] = A[half : 2 * half, half : 2 * half] = some(0.3, 1.0)[:half, :half]
        at = np.arange(half)
        A[at, at + half] = A[at + half, at] = 0
        return A
    if name == "two components":
        A = rng.integers(1, 9, (n, n)).astype(float)
        A[: n // 2, n // 2 :] = A[n // 2 :, : n // 2] = INF
        return A
    if name == "negative":
        return some(0.3, rng.integers(0, 4, (n, n)) + (potential - potential[:, None]))
    if name == "negative fractions":
        return some(0.3, rng.random((n, n)) * 3 + (potential - potential[:, None]) * 1.1)
    assert name == "one long path"
    A = np.full((n, n), INF)
    A[np.arange(n - 1), np.arange(1, n)] = rng.random(n - 1)
    return A


GRAPHS = (
    *("uniform", "integers", "Euclidean", "geometric", "unweighted", "half zeros", "0 or 1", "tiny and large"),
    *("ring of zeros", "twins", "two components", "negative", "negative fractions", "one long path"),
)
SIGNED = ("negative", "negative fractions")
#: Those whose weights are integers.
WHOLE = ("integers", "unweighted", "half zeros", "0 or 1", "ring of zeros", "twins", "two components", "negative")


def entries(semiring: Semiring, dtype: str, lengths: np.ndarray) -> np.ndarray:
    """Lengths as entries of a semiring: longer is no better."""
    zero, edge = dtypes.zero(semiring, dtype), ~np.isinf(lengths)
    finite = np.where(edge, lengths, 0)
    if semiring.boolean:
        return edge
    if semiring is CERTAINTY:
        values = 100 - np.minimum(np.ceil(finite * 20), 99)
    elif semiring.mul.name == "times":
        values = np.exp2(-finite / 64 if semiring.add.name == "max" else np.minimum(finite, 1000) / 64)
    else:
        values = -finite if semiring.add.name == "max" else finite
    return np.where(edge, values.astype(dtype), zero).astype(dtype)


def walk(A: np.ndarray, D: np.ndarray, P: np.ndarray, s: Semiring) -> None:
    """Every path of every pair: simple, of edges, and as long as D says; to n · eps · max|D| where ⊗ rounds."""
    n, zero = len(A), dtypes.zero(s, D.dtype).item()
    mul = cases.scalar_mul(cases.Case(s, D.dtype))
    rounds = D.dtype.kind == "f" and s.mul.selects is None
    bound = n * np.finfo(D.dtype).eps * dtypes.largest_finite(D) if rounds else 0
    edges, closed = A.tolist(), D.tolist()
    for i, row in enumerate(P.tolist()):
        for j in range(n):
            if i == j or closed[i][j] == zero:
                assert row[j] == NONE
                continue
            path = [j]
            while path[-1] != i:
                path.append(row[path[-1]])
                assert 0 <= path[-1] < n
                assert len(path) <= n, f"a cycle on the way from {i} to {j}"
            path.reverse()
            weights = [edges[x][y] for x, y in itertools.pairwise(path)]
            assert zero not in weights
            length = weights[0]
            for weight in weights[1:]:
                length = mul(length, weight)
            assert abs(length - closed[i][j]) <= bound


def by_the_rule(A: np.ndarray, D: np.ndarray, s: Semiring) -> np.ndarray:
    """The rule of docs/routes.md word by word, in loops; for operations that do not round."""
    n, zero, one = len(A), dtypes.zero(s, D.dtype).item(), dtypes.one(s, D.dtype).item()
    mul, add = cases.scalar_mul(cases.Case(s, D.dtype)), s.add.python
    a, d = A.tolist(), D.tolist()

    def better(x: Any, y: Any) -> bool:
        return bool(x != y and add(x, y) == x)

    tight = [[k for k in range(n) if k != j and a[k][j] == d[k][j] != zero] for j in range(n)]
    signed = any(better(x, one) for row in a for x in row)
    P = np.full((n, n), NONE, np.int32)
    for i in range(n):
        targets = [j for j in range(n) if j != i and d[i][j] != zero]
        for j in targets:
            ways = [k for k in tight[j] if k != i and mul(d[i][k], a[k][j]) == d[i][j]]
            nearer = [] if signed else [k for k in ways if better(d[i][k], d[i][j])]
            P[i, j] = i if i in tight[j] else nearer[0] if nearer else NONE
        while True:
            reached = {
                j: k
                for j in targets
                if P[i, j] == NONE
                for k in reversed(tight[j])
                if P[i, k] != NONE and mul(d[i][k], a[k][j]) == d[i][j]
            }
            if not reached:
                break
            for j, k in reached.items():
                P[i, j] = k
    return P


def _ordinal_sum(a, b):
    """(ω k + m) + (ω k' + m') = ω (k + k') + m' where there is a k', else ω k + m + m'."""
    if a == math.inf or b == math.inf:
        return math.inf
    return a // 1000 * 1000 + b if b >= 1000 else a + b


ORDINALS = Semiring(
    "ordinals",
    add=get("min_plus").add,
    mul=Op(
        "ordinal_sum",
        python=_ordinal_sum,
        cuda="isinf(a) || isinf(b) ? T(INFINITY) : b >= T(1000) ? floor(a / T(1000)) * T(1000) + b : a + b",
    ),
    zero=math.inf,
    one=0,
    dtypes=("float64",),
    domain=(0, math.inf),
    samples=(0.0, 1.0, 3.0, 1000.0, 2001.0, math.inf),
)


class TestEveryPath:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_of_shortest_paths(self, name, dtype):
        A = graph(name, 51).astype(dtype)
        D = closure(A)
        P = predecessors(A, D)
        assert P.dtype == np.int32
        walk(A, D, P, get("min_plus"))

    @pytest.mark.parametrize("name", WHOLE)
    def test_of_the_longest(self, name):
        A = entries(get("max_plus"), "int32", graph(name, 40))
        D = closure(A, "max_plus")
        walk(A, D, predecessors(A, D, "max_plus"), get("max_plus"))

    @pytest.mark.parametrize("name", [name for name in GRAPHS if name not in SIGNED])
    @pytest.mark.parametrize(
        ("semiring", "dtype"),
        [
            *(("max_min", "float64"), ("max_times", "float32")),
            *(
                pytest.param(*pair, marks=pytest.mark.release)
                for pair in (("min_max", "int64"), ("min_times", "float64"))
            ),
        ],
    )
    def test_over_other_semirings(self, name, semiring, dtype):
        s = get(semiring)
        A = entries(s, dtype, graph(name, 40))
        D = closure(A, s)
        walk(A, D, predecessors(A, D, s), s)

    @pytest.mark.parametrize("name", ["geometric", "0 or 1", "ring of zeros", "two components", "one long path"])
    def test_of_reachability(self, name):
        s = get("boolean")
        A = entries(s, "bool", graph(name, 40))
        D = closure(A, s)
        P = predecessors(A, D, s)
        walk(A, D, P, s)
        fewest = floyd_warshall(A, unweighted=True)  # breadth first: no path has more edges than it must
        np.testing.assert_array_equal(hops(P)[D], fewest[D].astype(int))

    @pytest.mark.parametrize("name", ["integers", "geometric", "half zeros", "0 or 1", "ring of zeros", "twins"])
    def test_over_a_semiring_of_ones_own(self, name):
        A = entries(CERTAINTY, "int32", graph(name, 33))
        D = closure(A, CERTAINTY)
        P = predecessors(A, D, CERTAINTY)
        walk(A, D, P, CERTAINTY)
        np.testing.assert_array_equal(P, by_the_rule(A, D, CERTAINTY))

    @pytest.mark.parametrize("seed", range(4))
    def test_over_sums_of_ordinals_which_do_not_commute(self, seed):
        """1 + ω = ω is less than ω + 1: what is short before a long edge costs nothing. ω is 1000 here."""
        rng, n = np.random.default_rng(seed), 14
        A = np.where(rng.random((n, n)) < 0.3, rng.choice([0.0, 1, 2, 1000, 1001, 2000], (n, n)), np.inf)
        D = closure(A, ORDINALS)
        P, N = predecessors(A, D, ORDINALS), next_hops(A, D, ORDINALS)
        plus = ORDINALS.mul.python
        for i, j in itertools.product(range(n), repeat=2):
            if i == j or D[i, j] == np.inf:
                assert P[i, j] == N[i, j] == -9999
                continue
            assert plus(D[i, P[i, j]], A[P[i, j], j]) == plus(A[i, N[i, j]], D[N[i, j], j]) == D[i, j]
            v, steps = i, 0
            while v != j:
                v, steps = int(N[v, j]), steps + 1
                assert steps < n

    def test_where_half_of_the_weights_are_zero_any_k_that_attains_the_minimum_would_not_do(self):
        A = graph("half zeros", 60)
        D = closure(A)
        attains = [[int(np.flatnonzero(D[i] + A[:, j] == D[i, j])[0]) for j in range(60)] for i in range(60)]
        lost = 0
        for i in range(60):
            for j in range(60):
                v, steps = j, 0
                while v != i and steps < 60:
                    v, steps = attains[i][v], steps + 1
                lost += v != i
        assert lost > 1000  # the trap is one
        walk(A, D, predecessors(A, D), get("min_plus"))

    @pytest.mark.parametrize("seed", range(8))
    def test_of_small_graphs_full_of_ties(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 12))
        A = np.where(rng.random((n, n)) < 0.4, rng.integers(0, 3, (n, n)), INF).astype(np.float32)
        D = closure(A)
        walk(A, D, predecessors(A, D), get("min_plus"))

    def test_through_rounding_that_hides_edges(self):
        """Sums in which an edge is lost: 1000 + 1e-9 is 1000 in float32, along long chains and around cycles."""
        n = 64
        A = np.full((n, n), np.inf, np.float32)
        at = np.arange(n - 1)
        A[at, at + 1], A[at + 1, at] = 1e-9, 3e-9
        A[0, 1] = 1000
        A[0, 40] = 1000.0001
        D = closure(A)
        walk(A, D, predecessors(A, D), get("min_plus"))


class TestTheRule:
    @pytest.mark.parametrize("name", WHOLE)
    @pytest.mark.parametrize(
        ("semiring", "dtype"), [("min_plus", "int16"), ("min_plus", "float32"), ("max_min", "float64")]
    )
    def test_is_what_the_documentation_says(self, name, semiring, dtype):
        s = get(semiring)
        if semiring == "max_min" and name in SIGNED:
            pytest.skip("no lengths")
        A = entries(s, dtype, graph(name, 29))
        D = closure(A, s)
        np.testing.assert_array_equal(predecessors(A, D, s), by_the_rule(A, D, s))

    @pytest.mark.parametrize("name", ["integers", "half zeros", "0 or 1", "negative"])
    def test_gives_the_same_bits_for_every_schedule_and_number_of_threads(self, name):
        A = entries(get("min_plus"), "int16", graph(name, 210))
        first = predecessors(A, closure(A), threads=1)
        for schedule in schedules.names():
            D = closure(A, schedule=schedule, block=16)
            for threads in (1, 2, 5):
                np.testing.assert_array_equal(predecessors(A, D, threads=threads), first)

    def test_refuses_threads_that_are_none(self):
        for count, (name, call) in itertools.product(
            (0, "2"), (("predecessors", predecessors), ("next_hops", next_hops))
        ):
            with pytest.raises(DeviceError, match=f"{name}: threads must be a positive integer, got {count!r}"):
                call(np.zeros((2, 2)), np.zeros((2, 2)), threads=count, null_value=None)

    @pytest.mark.parametrize("name", ["uniform", "geometric", "tiny and large", "negative fractions"])
    def test_gives_floats_the_same_bits_for_any_number_of_threads(self, name):
        A = graph(name, 210).astype(np.float32)
        D = closure(A)
        np.testing.assert_array_equal(predecessors(A, D, threads=1), predecessors(A, D, threads=3))

    @pytest.mark.parametrize("name", ["integers", "half zeros", "0 or 1", "twins", "negative", "geometric"])
    def test_row_by_row_is_the_same(self, name):
        s = get("min_plus")
        A = graph(name, 50).astype(np.float64 if name == "geometric" else np.float32)
        D = closure(A)
        np.fill_diagonal(A, INF)
        sources = np.array([7, 0, 49, 7])
        starts = np.concatenate([[0], np.isfinite(A).sum(1).cumsum()])
        tails, heads = np.isfinite(A).nonzero()
        P = of_rows(s, (starts, heads, A[tails, heads]), D[sources], sources)
        np.testing.assert_array_equal(P, predecessors(A, D)[sources])


#: `best` of half of the sources, whose other half, another thread's, may be read alone.
HALVES = """
import ctypes, mmap
import numpy as np
from semiring import get
from semiring.kernels.cpu.kinds import choose
from semiring.kernels.cpu.routes.predecessors import _code, best

memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
top = np.frombuffer(memory, np.float64)
half = len(top) // 2
T = np.random.default_rng(0).random((2 * half, 2 * half))
assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(top.ctypes.data + mmap.PAGESIZE), mmap.PAGESIZE, mmap.PROT_READ)
_code(best, choose(get("min_plus"), T.dtype, False))(T, top, 0, half)
np.fill_diagonal(T, np.inf)
assert (top[:half] == T.min(axis=0)[:half]).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by Linux's call")
def test_no_thread_writes_to_anothers_sources():
    python(HALVES)


class TestAgainstOthers:
    @pytest.mark.parametrize("name", ["uniform", "integers", "geometric", "negative", "two components"])
    def test_scipy_finds_paths_of_the_same_lengths(self, name):
        A = graph(name, 48)
        np.fill_diagonal(A, 0)
        D = closure(A)
        theirs, previous = floyd_warshall(np.ascontiguousarray(A), return_predecessors=True)
        P = predecessors(A, D)
        np.testing.assert_array_equal(P == NONE, previous == NONE)
        np.testing.assert_allclose(D, theirs, rtol=1e-12, atol=1e-12)
        walk(A, D, previous.astype(np.int32), get("min_plus"))  # the walk takes SciPy's as well
        walk(A, D, P, get("min_plus"))

    def test_scipy_rebuilds_a_tree_from_them(self):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reconstruct_path

        A = graph("integers", 20)
        np.fill_diagonal(A, 0)
        P = predecessors(A, closure(A))
        tree = reconstruct_path(csr_array(A), P[3], directed=True).toarray()
        assert np.count_nonzero(tree) == 19


class TestArrays:
    @pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 255, 256, 257])
    def test_of_awkward_sizes(self, n):
        A = graph("integers", n).astype(np.float32)
        D = closure(A)
        P = predecessors(A, D)
        assert P.shape == (n, n)
        if n < 20:
            walk(A, D, P, get("min_plus"))
        elif n:
            H = hops(P)
            at = np.arange(n)
            before = np.where(P == NONE, at[:, None], P)
            last = np.where(P == NONE, 0, A[before, at])
            np.testing.assert_array_equal(D[at[:, None], before] + last, D)
            assert H.max() < 20

    def test_of_every_layout_of_memory(self):
        A = graph("half zeros", 37)
        D = closure(A)
        P = predecessors(A, D)
        for (_, a), (_, d) in zip(cases.layouts(A), reversed(list(cases.layouts(D))), strict=True):
            np.testing.assert_array_equal(predecessors(a, d), P)

    def test_of_batches(self):
        A = np.stack([graph(name, 21) for name in ("integers", "0 or 1", "geometric")])
        D = closure(A)
        P = predecessors(A, D)
        assert P.shape == (3, 21, 21)
        for k in range(3):
            np.testing.assert_array_equal(P[k], predecessors(A[k], D[k]))

    def test_inputs_stay_as_they_are(self):
        A = graph("0 or 1", 30)
        D = closure(A)
        before = A.copy(), D.copy()
        predecessors(A, D)
        np.testing.assert_array_equal(A, before[0])
        np.testing.assert_array_equal(D, before[1])

    def test_lists_are_arrays_and_the_matrix_is_taken_in_the_closures_dtype(self):
        assert predecessors([[0, 3], [1, 0]], [[0, 3], [1, 0]]).tolist() == [[NONE, 0], [1, NONE]]
        A = graph("uniform", 30)
        D = closure(A, dtype=np.float32)
        walk(A.astype(np.float32), D, predecessors(A, D), get("min_plus"))


class TestHops:
    @pytest.mark.parametrize("name", ["geometric", "0 or 1", "ring of zeros"])
    def test_are_the_edges_of_each_path(self, name):
        A = graph(name, 45)
        P = predecessors(A, closure(A))
        H = hops(P, threads=2)
        at = np.arange(45)
        pairs = np.array([(i, j) for i in at for j in at])
        vertices, starts = walks(P, pairs[:, 0], pairs[:, 0], pairs[:, 1], threads=2)
        lengths = np.diff(starts).reshape(45, 45)
        np.testing.assert_array_equal(H, np.where(lengths == 0, NONE, lengths - 1))
        for x, (i, j) in enumerate(pairs.tolist()):
            path = vertices[starts[x] : starts[x + 1]].tolist()
            if path:
                assert path[0] == i
                assert path[-1] == j
                assert all(P[i, b] == a for a, b in itertools.pairwise(path))

    @pytest.mark.parametrize("P", [[[-9999, 2, 1], [1, -9999, 1], [2, 2, -9999]], [[-9999, 7, 1]] * 3])
    def test_predecessors_that_lead_nowhere_are_refused(self, P):
        with pytest.raises(DomainError, match="lead back to their source"):
            hops(np.array(P, np.int32))
        with pytest.raises(DomainError, match="lead back to their source"):
            walks(np.array(P, np.int32), [0], [0], [1])


class TestErrors:
    @pytest.mark.parametrize("dtype", ["float32", "int16"])
    def test_what_is_no_closure_is_refused(self, dtype):
        A = graph("integers", 9)
        A[4] = 500  # no way leads on from there
        A = A.astype(dtype)
        D = closure(A)
        D[3, 4] = 0 if dtype == "float32" else -5
        with pytest.raises(DomainError, match=r"closure of A .*, 4\)"):
            predecessors(A, D)

    @pytest.mark.parametrize("dtype", ["float32", "int16"])
    def test_a_closure_that_was_cut_is_refused(self, dtype):
        A = graph("integers", 9).astype(dtype)
        D = closure(A)
        i, j = np.argwhere((D == A) & ~np.eye(9, dtype=bool))[-1]
        D[i, j] = np.inf if dtype == "float32" else np.iinfo(dtype).max
        for table in (predecessors, next_hops):
            with pytest.raises(
                DomainError, match=rf"{table.func.__name__}: .* no path at \({i}, {j}\), where A has an edge"
            ):
                table(A, D)
            with pytest.raises(DomainError, match=rf"no path at \(1, {i}, {j}\)"):
                table(np.stack((A, A)), np.stack((closure(A), D)))
