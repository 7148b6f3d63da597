"""The one table of cases: semirings × dtypes × schedules × awkward sizes, and the slow oracle they are held to.

Tests and benchmarks both read it, so they cannot drift apart.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

import semiring
from apsp.road import schedules
from semiring import CATALOG, Op, Semiring, Star
from semiring.algebra import dtypes as _dtypes

#: Sizes around a pivot block of b = 64 and a few tiles: 0, 1, b − 1, b, b + 1, 2b + 3, and primes.
SIZES = (0, 1, 2, 5, 31, 63, 64, 65, 131)
SMALL = (0, 1, 2, 7, 33)


@dataclass(frozen=True)
class Case:
    """One semiring in one dtype."""

    semiring: Semiring
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.semiring.name}-{self.dtype.name}"

    @property
    def zero(self) -> Any:
        return _dtypes.zero(self.semiring, self.dtype)

    @property
    def one(self) -> Any:
        return _dtypes.one(self.semiring, self.dtype)


def _colours() -> Semiring:
    """A user's own: subsets of eight colours as bits, ⊕ = union, ⊗ = intersection; any lattice does."""
    return Semiring(
        "colours",
        add=Op("bit_or", python=lambda a, b: a | b, cuda="a | b"),
        mul=Op("bit_and", python=lambda a, b: a & b, cuda="a & b"),
        zero=0,
        one=255,
        dtypes=("int32", "int64"),
        domain=(0, 255),
        samples=(0, 1, 6, 85, 255),
    )


#: Stars that have a value at 0 alone, over int32: in Python and in C++.
STARLESS = {
    "inf": Star(python=lambda a: 1 if a == 0 else math.inf, cuda="a == T(0) ? T(1) : T(INFINITY)"),
    "nan": Star(python=lambda a: 1 if a == 0 else math.nan, cuda='a == T(0) ? T(1) : T(nan(""))'),
    "beyond": Star(python=lambda a: 1 if a == 0 else 2.0**31, cuda="a == T(0) ? 1 : 2147483648.0"),
    "fraction": Star(python=lambda a: 1 if a == 0 else 0.5, cuda="a == T(0) ? T(1) : T(1) / T(2)"),
}


@functools.cache
def counting(star: Star) -> Semiring:
    """Walks counted in integers; round a cycle there is no end of them."""
    return Semiring(
        "counting",
        add=Op("plus", python=lambda a, b: a + b, cuda="a + b", ufunc=np.add),
        mul=Op("times", python=lambda a, b: a * b, cuda="a * b"),
        zero=0,
        one=1,
        dtypes=("int32",),
        idempotent=False,
        star=star,
        samples=(0,),  # of others these stars are none
    )


#: Not in the catalog: subsets of eight colours, ⊕ = union, ⊗ = intersection. Which colours survive a walk?
COLOURS = _colours()

CASES = tuple(Case(s, np.dtype(name)) for s in CATALOG for name in s.dtypes)
USER_CASES = tuple(Case(COLOURS, np.dtype(name)) for name in COLOURS.dtypes)

#: Ways to compute that are timed: semiring and dtype, and whether weights are ≥ 0, which permits faster steps.
TIMED = tuple(
    (Case(semiring.get(name), np.dtype(dtype)), nonnegative)
    for name, dtype, nonnegative in (
        ("min_plus", "float32", False),
        ("min_plus", "float32", True),
        ("min_plus", "int32", True),
        ("min_plus", "int16", True),
        ("min_plus", "float64", False),
        ("min_plus", "float64", True),
        ("max_plus", "float32", False),
        ("max_plus", "float32", True),
        ("max_plus", "int32", True),
        ("max_plus", "int16", True),
        ("max_plus", "float64", False),
        ("max_min", "float32", False),
        ("min_max", "float32", False),
        ("max_times", "float32", False),
        ("min_times", "float32", False),
        ("plus_times", "float32", False),
        ("log_plus", "float32", False),
        ("min_plus", "int32", False),
        ("min_plus", "int16", False),
        ("min_plus", "int64", False),
        ("max_min", "int32", False),
        ("min_max", "float64", False),
        ("min_times", "float64", False),
        ("lor_land", "bool", False),
    )
)

#: Each semiring (reliability computes as max_times), dtype, kind of ⊕ and ⊗ (by instructions, saturating, general) and
#: star, in a third of all cases.
FEW = frozenset(
    (
        *("min_plus-int16", "min_plus-float32", "max_plus-int32", "max_min-float64", "min_max-int64"),
        *("max_times-float32", "min_times-float64", "lor_land-bool", "plus_times-float64", "log_plus-float32"),
        "colours-int64",
    )
)


#: Of those, each trait that kernels ask for: ⊗ saturates, rounds, selects; ⊕ takes the least, the greatest, or sums.
TRAITS = FEW - {"min_max-int64", "min_times-float64"}


def few(all_cases: Iterable[Case], chosen: frozenset[str] = FEW) -> list[Any]:
    """Cases as parameters, where each costs seconds, or many are alike: all but the chosen wait for a release."""
    import pytest

    return [pytest.param(c, id=str(c), marks=[] if str(c) in chosen else pytest.mark.release) for c in all_cases]


def schedules_of(semiring: Semiring) -> list[str]:
    """The names of the schedules that are right over a semiring."""
    return [name for name in schedules.names() if not schedules.get(name).refuses(semiring)]


def few_by_schedule(all_cases: Iterable[Case], chosen: frozenset[str] = FEW) -> list[Any]:
    """Schedules × semirings, each in a dtype, as parameters: all but the chosen wait for a release."""
    import pytest

    return [
        pytest.param(name, *one.values, id=f"{name}-{one.id}", marks=one.marks)
        for one in few(all_cases, chosen)
        for name in schedules_of(one.values[0].semiring)
    ]


def random_matrix(
    case: Case, shape: tuple[int, ...], seed: int, *, density: float = 0.4, negative: bool = False
) -> np.ndarray:
    """Entries of the semiring, `density` of them not its zero; small integers where floats can then be exact.

    The closure of a square one exists: no entry beats `one`, unless `negative` asks for products only.
    """
    out = semiring.random_matrix(case.semiring, shape, case.dtype, seed=seed, density=density)
    if negative and case.semiring.idempotent and case.semiring.domain[0] < 0:
        signed = np.random.default_rng(seed + 1).integers(-50, 50, shape).astype(case.dtype)
        out = np.where(out == case.zero, case.zero, signed)
    return out


def scalar_mul(case: Case) -> Any:
    """⊗ on Python scalars as the dtype defines it: exact, clamped to the dtype's range, zero absorbing."""
    mul, zero = case.semiring.mul.python, case.zero.item()
    if case.dtype.kind not in "iu" or not case.semiring.mul.saturating:
        return mul
    info = np.iinfo(case.dtype)
    low, high = info.min, info.max  # looked up once: they are slow

    def clamped(a: int, b: int) -> int:
        if a == zero or b == zero:
            return zero
        exact = mul(a, b)
        return low if exact < low else high if exact > high else exact

    return clamped


def product(case: Case, A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """C ⊕ A ⊗ B by uncompiled loops on Python scalars, k by k; the zeros of A, which add nothing, are passed over."""
    add, mul, zero = case.semiring.add.python, scalar_mul(case), case.zero.item()
    others, columns = B.tolist(), B.shape[1]
    out = [[zero] * columns for _ in A] if C is None else C.tolist()
    for i, row in enumerate(A.tolist()):
        for a, other in zip(row, others, strict=True):
            if a != zero:
                out[i] = list(map(add, out[i], map(mul, repeat(a), other)))
    return np.array(out, dtype=case.dtype).reshape(len(A), columns)


def check_product(case: Case, A: Any, B: Any, C: Any, *, columns: int = 2048) -> None:
    """A few rows of C = A ⊗ B, NumPy's or CuPy's, by one ⊗ of a column and one ⊕-reduction in NumPy each.

    The last row is among them, and the last of so many columns.
    """
    add, mul, rng = case.semiring.add.ufunc, case.semiring.mul.ufunc, np.random.default_rng(1)
    wide = {"i": np.int64, "f": np.float64, "b": np.bool_}[case.dtype.kind]
    seen = np.unique([*rng.choice(C.shape[1], min(C.shape[1], columns), replace=False), C.shape[1] - 1])
    right = _host(B[:, seen])
    for i in np.unique([*rng.integers(0, len(C), 3), len(C) - 1]):
        left = _host(A[int(i)])
        row = mul(left.astype(wide)[:, None], right.astype(wide))
        row[left == case.zero] = row[right == case.zero] = case.zero  # 0 ⊗ x = 0, in integers too
        expected, got = add.reduce(row, axis=0), _host(C[int(i)])[seen]
        if case.semiring.tolerance:
            np.testing.assert_allclose(got, expected, rtol=1e-3 if case.dtype.itemsize < 8 else 1e-9)
        else:
            np.testing.assert_array_equal(got, expected.astype(case.dtype))


def check_distances(A: Any, D: Any, rows: Iterable[int] = (0, -1)) -> None:
    """Rows of D, NumPy or CuPy, solve d[j] = min over i of d[i] + A[i, j], d[k] = 0; once, if cycles are positive."""
    for k in map(int, rows):
        d = D[k].astype(np.float64)
        parts = [(d[i : i + 1024, None] + A[i : i + 1024]).min(axis=0) for i in range(0, len(A), 1024)]
        expected = np.minimum.reduce([_host(part) for part in parts])
        expected[k] = 0
        np.testing.assert_array_equal(_host(d), expected)


def infinity(dtype: Any) -> Any:
    """As a length, the greatest integer stands for it."""
    return np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max


def lengths(n: int, arcs: Iterable[Any], weights: Any) -> np.ndarray:
    """The matrix of arcs, (tails, heads): of parallel ones the shortest, ∞ where there is none."""
    A = np.full((n, n), np.inf)
    np.minimum.at(A, tuple(arcs), weights)
    return A


def distances(A: np.ndarray, rows: Any = None, dtype: Any = None) -> np.ndarray:
    """SciPy's distances from these rows, or all, in the dtype of A or another: infinity is no arc, and 0 is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    arcs, dtype = np.nonzero(infinity(A.dtype) != A), np.dtype(dtype or A.dtype)
    weights = A[arcs].astype(np.float64)
    method = "J" if (weights < 0).any() else "D"
    D = shortest_path(csr_array((weights, arcs), shape=A.shape), method=method, indices=rows) if len(A) else A
    return in_dtype(D, dtype)


def floyd_warshall(A: np.ndarray) -> np.ndarray:
    """Distances by a loop over the vertices, in NumPy's float64."""
    D = np.where(infinity(A.dtype) == A, np.inf, A).astype(np.float64)
    np.fill_diagonal(D, np.minimum(D.diagonal(), 0))
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[k])
    return D


def in_dtype(D: np.ndarray, dtype: Any) -> np.ndarray:
    """Distances in another dtype, which has its own infinity."""
    return np.where(np.isinf(D), infinity(dtype), np.where(np.isinf(D), 0, D).astype(dtype))


def _host(X: Any) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.get()


def closure(case: Case, A: np.ndarray) -> np.ndarray:
    """A* by uncompiled loops: Kleene's elimination, one vertex at a time, right without idempotence.

    With a = D[k,k]*: D[i,j] ← D[i,j] ⊕ D[i,k] a D[k,j] for all i, j ≠ k; then row and column k; then D[k,k] = a.
    """
    add, mul, star = case.semiring.add.python, scalar_mul(case), case.semiring.closure_of
    D, n, one, zero = A.tolist(), len(A), case.one.item(), case.zero.item()

    def scalar_star(a: Any) -> Any:
        return star(a) if case.semiring.star else add(one, a)

    for k in range(n):
        a = scalar_star(D[k][k])
        D[k] = [mul(a, x) for x in D[k]]
        for i in range(n):
            c = D[i][k]
            if i != k and c != zero:
                D[i] = list(map(add, D[i], map(mul, repeat(c), D[k])))
                D[i][k] = mul(c, a)
        D[k][k] = a
    return np.array(D, dtype=case.dtype).reshape(n, n)


def same(case: Case, got: Any, expected: np.ndarray) -> None:
    """Bit for bit where operations are exact; otherwise to rounding."""
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if case.dtype.kind == "f" and case.semiring.tolerance:
        rtol = 2e-5 if case.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, expected)


def layouts(A: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same matrix in every way memory can hold it."""
    yield "C", np.array(A, order="C")
    yield "Fortran", np.array(A, order="F")
    m, n = A.shape
    wide = np.zeros((m, 2 * n + 3), dtype=A.dtype)
    wide[:, 1 : 2 * n + 1 : 2] = A
    yield "every second column", wide[:, 1 : 2 * n + 1 : 2]
    tall = np.zeros((m + 4, n + 5), dtype=A.dtype)
    tall[2 : m + 2, 3 : n + 3] = A
    yield "a window", tall[2 : m + 2, 3 : n + 3]
    yield "reversed", np.array(A[::-1, ::-1], order="C")[::-1, ::-1]
    frozen = np.array(A)
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "byte-swapped", A.astype(A.dtype.newbyteorder())


#: The six-vertex graph of the classic CUDA teaching program.
SIX_LABELS = "ABCDEF"
SIX_EDGES = tuple(
    (text[0], text[1], int(text[2:])) for text in "AB4 AD5 AE5 BC7 BD3 CF4 DA7 DC3 DE4 DF3 EA2 ED6 FD2 FE1".split()
)


#: In a file of the format "named".
SIX_NAMED = "".join(f"{u} {v} {w}\n" for u, v, w in SIX_EDGES) + "--END--\n"


def listed(graph: Any) -> list[tuple[Any, Any, Any]]:
    """(label, label, weight) of each edge of a graph, in the order of its list; 1 where it has no weights."""
    weights = [1] * len(graph.rows) if graph.weights is None else graph.weights.tolist()
    ends = ([graph.labels[k] for k in side.tolist()] for side in (graph.rows, graph.cols))
    return list(zip(*ends, weights, strict=True))


def six_matrix(dtype: Any = np.float64) -> np.ndarray:
    """Its 6 × 6 matrix, zero on the diagonal."""
    infinity = math.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    A = np.full((6, 6), infinity, dtype=dtype)
    np.fill_diagonal(A, 0)
    for u, v, w in SIX_EDGES:
        A[SIX_LABELS.index(u), SIX_LABELS.index(v)] = w
    return A
