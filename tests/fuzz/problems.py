"""Matrices to close, each with its verdict and its closure, exact where the dtype is; entries for products."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import cases
import numpy as np

import semiring
from semiring import Semiring

from . import oracle, semirings
from .draw import Draw

SIZES = (3, 2, 1, 0, 4, 5, 7, 8, 12, 16, 17, 24, 31, 33, 48, 63, 64, 65, 70)
MIN_PLUS, MAX_PLUS, MAX_MIN, MIN_MAX = (semiring.get(s) for s in ("min_plus", "max_plus", "max_min", "min_max"))
MAX_TIMES, MIN_TIMES, PLUS_TIMES, LOG_PLUS = (
    semiring.get(s) for s in ("max_times", "min_times", "plus_times", "log_plus")
)
RELIABILITY = semiring.get("reliability")
TIMES = (MAX_TIMES, MIN_TIMES)
#: Semirings whose closures follow from lengths: as they are, negated, or as exponents of two.
LENGTHS = (MIN_PLUS, MAX_PLUS, *TIMES, semirings.PLAIN, semirings.LENGTHS)


@dataclass(frozen=True)
class Problem:
    """A matrix to close, and what is known of its closure."""

    semiring: Semiring
    A: np.ndarray
    #: Whether the closure exists; None where rounding may decide.
    exists: bool | None
    #: The closure, where it is known.
    value: np.ndarray | None = None
    #: How far results may lie from `value`: relative and absolute.
    rtol: float = 0.0
    atol: float = 0.0
    #: Values that a result must not beat (saturation may only lose).
    bound: np.ndarray | None = None
    #: Whether a best walk is beyond the dtype, so that `closure` may refuse; of integers of both signs near its ends.
    far: bool | None = None


def ring_and_dtype(draw: Draw) -> cases.Case:
    users = draw.chance(8)
    s = draw.pick(semirings.USERS if users else semiring.CATALOG)
    return cases.Case(s, np.dtype(draw.pick(s.dtypes)))


def entries(draw: Draw, case: cases.Case, shape: tuple[int, ...]) -> np.ndarray:
    """Random entries for products: signs, absent ones, and at times the ends of the dtype."""
    s, dtype, rng = case.semiring, case.dtype, draw.rng()
    density = draw.pick((0.5, 1.0, 0.1, 0.0))
    if dtype.kind == "b":
        return rng.random(shape) < density
    if s is semirings.RELATIONS:
        values: Any = rng.integers(0, 16, shape)
    elif s in (*semirings.USERS[:2], RELIABILITY):
        values = rng.choice(s.samples, shape)
    elif s in TIMES:
        values = np.exp2(rng.integers(-3, 4, shape).astype(float))
    elif s is LOG_PLUS:
        values = rng.random(shape) * 8 - 6
    else:
        values = rng.integers(-30, 31, shape)
    if dtype.kind == "i" and s in (MIN_PLUS, MAX_PLUS, MAX_MIN, MIN_MAX) and draw.chance(25):
        info = np.iinfo(dtype)
        ends = np.array([info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1, info.min // 2], dtype)
        values = np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), values)
    return np.where(rng.random(shape) < density, values.astype(dtype), case.zero).astype(dtype)


def draw_problem(draw: Draw) -> Problem:
    case = ring_and_dtype(draw)
    s = case.semiring
    if s in LENGTHS:
        kind = draw.pick((_integers, _integers, _rounded, _saturated))
        return kind(draw, case)
    if not s.idempotent:
        return draw.pick((_contraction, _nilpotent, _scaled, _signed))(draw, case)
    n = draw.pick(SIZES[:14])
    A = entries(draw, case, (n, n))
    if s is semirings.RELATIONS:  # beyond `one` on a cycle it has no closure that this library gives
        A = np.triu(A, 1)
    return Problem(s, A, True, cases.closure(case, A))


def certain_problem(draw: Draw, case: cases.Case) -> Problem:
    """Of one of the catalog's semirings and a dtype; rounding decides on nothing but whether a sum has a limit."""
    if case.semiring in LENGTHS:
        problem = draw.pick((_integers, _integers, _saturated))(draw, case)
        # A walk that saturates on its way is lost in an elimination, and another may take its place.
        return problem if problem.far is None else replace(problem, exists=None, value=None)
    if not case.semiring.idempotent:
        return draw.pick((_contraction, _nilpotent, _scaled))(draw, case)
    n = draw.pick(SIZES[:14])
    A = entries(draw, case, (n, n))
    return Problem(case.semiring, A, True, cases.closure(case, A))


def _lengths(draw: Draw, n: int, top: int) -> np.ndarray:
    """An integer matrix of lengths, FAR where there is no edge, every finite one at most `top` in size."""
    rng = draw.rng()
    kind = draw.pick(("positive", "shifted", "signed", "planted", "ring", "zero cycles"))
    draw.note(lengths=kind)
    scale = max(1, min(top // 4, draw.pick((9, 1, 100, 10**6, 10**9))))
    if kind == "zero cycles":
        h = rng.integers(-scale, scale + 1, n)
        return np.where(rng.random((n, n)) < draw.pick((1.0, 0.4)), h[None, :] - h[:, None], oracle.FAR)
    W = rng.integers(-scale // 8 if kind == "signed" else 0, scale + 1, (n, n))
    if kind in ("shifted", "planted"):
        h = rng.integers(-scale, scale + 1, n)
        W = W + h[None, :] - h[:, None]
    W = np.where(rng.random((n, n)) < draw.pick((0.4, 1.0, 0.1, 2 / max(n, 2))), W, oracle.FAR)
    if kind in ("planted", "ring") and n:
        length = n if kind == "ring" else draw.between(1, min(n, 6))
        cycle = rng.permutation(n)[:length]
        for u, v in zip(cycle, np.roll(cycle, -1), strict=True):
            W[u, v] = min(W[u, v], rng.integers(0, 3))
        u, v = cycle[-1], cycle[0]
        W[u, v] = -draw.pick((1, 0, 5, 4 * length)) - sum(W[a, b] for a, b in itertools.pairwise(cycle)) * draw.below(2)
    return W


def _integers(draw: Draw, case: cases.Case) -> Problem:
    """Lengths that are exact in the dtype; for products, powers of two. At times a huge one stands for no edge.

    Not for a semiring that does not say that it has lengths: what rounding is depends on its largest entry then.
    """
    s, dtype = case.semiring, case.dtype
    times = s in TIMES
    n = draw.pick(SIZES[:12] if times else SIZES)
    exact = (
        12
        if times
        else (1 << 22 if dtype == np.float32 else 1 << 50)
        if dtype.kind == "f"
        else np.iinfo(dtype).max // 2
    )
    W = _lengths(draw, n, max(2, exact // (2 * n + 2)) if not times else 2)
    rtol = 0.0
    if not times and s is not semirings.PLAIN and draw.chance(15):
        # Somebody's "no edge", or another component's scale: 1e18 in floats, a quarter of the range in integers.
        huge = 10**18 if dtype.kind == "f" else int(np.iinfo(dtype).max // 4) // max(n, 1)
        where = draw.rng().random((n, n)) < draw.pick((1.0, 0.3))
        W = np.where((W == oracle.FAR) & where, huge, W)
        rtol = 4 * n * float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
        draw.note(huge=huge)
    D = oracle.shortest(W)
    if D is None:
        return Problem(s, _as_entries(case, W), False)
    return Problem(s, _as_entries(case, W), True, _as_entries(case, D), rtol)


def _as_entries(case: cases.Case, W: np.ndarray) -> np.ndarray:
    """Lengths to be minimised as entries of a semiring: negated, or powers of two, where it maximises or multiplies."""
    s, dtype = case.semiring, case.dtype
    absent = oracle.absent(W)
    signed = -W if s in (MAX_PLUS, MAX_TIMES) else W
    if s in TIMES:
        values = np.exp2(np.where(absent, 0, signed).astype(float))
    elif dtype.kind == "i":
        info = np.iinfo(dtype)
        values = np.clip(np.where(absent, 0, signed), info.min, info.max)
    else:
        values = np.where(absent, 0, signed)
    out: np.ndarray = np.where(absent, case.zero, values.astype(dtype)).astype(dtype)
    return out


def _rounded(draw: Draw, case: cases.Case) -> Problem:
    """Real lengths that add up to 0 around every cycle but for rounding, or by a slack beyond it; floats alone.

    Of a semiring that does not say that it has lengths, nobody knows what rounding is.
    """
    s, dtype, n = case.semiring, case.dtype, draw.pick(SIZES)
    if dtype.kind != "f" or s in TIMES or s is semirings.PLAIN:
        return _integers(draw, case)
    rng, scale = draw.rng(), draw.pick((1.0, 1e-3, 1e6, 1e12))
    h = (rng.random(n) * scale).astype(dtype)
    more = rng.random((n, n)) * scale * draw.pick((0.0, 1e-7, 1.0))
    W = (h[None, :] - h[:, None]).astype(dtype) + more.astype(dtype)
    absent = rng.random((n, n)) < draw.pick((0.0, 0.5, 0.9))
    np.fill_diagonal(W, 0)
    sign = -1 if s is MAX_PLUS else 1
    A = np.where(absent, case.zero, sign * W).astype(dtype)
    # Every weight is off by half an ulp at most, and so are the sums of a walk.
    atol = float(8 * n * np.finfo(dtype).eps * scale)
    exact = [
        [None if gone else Fraction(float(w)) for w, gone in zip(*rows, strict=True)]
        for rows in zip(W, absent, strict=True)
    ]
    if n > 12:
        value = None
        if not more.any() and not absent.any():
            value = (sign * (h[None, :].astype(float) - h[:, None].astype(float))).astype(dtype)
        return Problem(s, A, True, value, 0.0, atol)
    D = oracle.exact_shortest(exact)
    if D is None:  # rounding alone: Johnson's weights must have it solved
        return Problem(s, A, True, None)
    value = np.array([[case.zero if d is None else sign * float(d) for d in row] for row in D], dtype).reshape(n, n)
    return Problem(s, A, True, value, 0.0, atol)


def _saturated(draw: Draw, case: cases.Case) -> Problem:
    """Integers near the ends of their dtype: sums saturate at ∞, and never wrap to something better."""
    s, dtype, n = case.semiring, case.dtype, draw.pick(SIZES[:12])
    if dtype.kind != "i":
        return _integers(draw, case)
    rng, top = draw.rng(), int(np.iinfo(dtype).max)
    ends = np.array([top - 1, top // 2, top // 2 + 1, top // 3, top // 4, 1, 0], object)
    W = rng.choice(ends, (n, n))
    mixed = draw.chance(40)
    if mixed:
        W = np.where(rng.random((n, n)) < 0.15, -rng.choice(ends[:5], (n, n)), W)
    absent = rng.random((n, n)) < draw.pick((0.4, 0.0, 0.8))
    W = np.where(absent, math.inf, W)
    A = np.where(absent, case.zero, np.where(absent, 0, -W if s is MAX_PLUS else W).astype(dtype)).astype(dtype)
    D = oracle.shortest(W)
    if D is None:
        return Problem(s, A, False, far=True)
    known = _as_entries(case, D)
    far = bool((~oracle.absent(D) & np.isin(known, (top, -top - 1))).any()) if mixed else None
    return Problem(s, A, True, known, bound=known, far=far)


def _logs(case: cases.Case, A: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return (np.log(A) if case.semiring is LOG_PLUS else A).astype(case.dtype)


def _real(case: cases.Case, A: np.ndarray) -> np.ndarray:
    """Entries as the real numbers they are, float64, as the dtype holds them."""
    return np.exp(A.astype(float)) if case.semiring is LOG_PLUS else A.astype(float)


def _inverse(case: cases.Case, A: np.ndarray, room: float) -> Problem:
    """(I − A)⁻¹ by NumPy, in float64; `room` is how far the spectral radius stays below 1."""
    n, eps = len(A), float(np.finfo(case.dtype).eps)
    real = _real(case, A)
    value = np.linalg.inv(np.eye(n) - real) if n else real
    condition = float(np.abs(value).max(initial=1.0))
    rtol = 50 * (n + 5) * eps * condition / max(room, eps)
    if case.semiring is LOG_PLUS:
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = cases.closure(cases.Case(semiring.get("boolean"), np.dtype(bool)), real > 0)
            value = np.where(reached, np.log(np.maximum(value, 1e-300)), -np.inf)
        # Small sums of products lose digits in NumPy's inverse, not in logarithms.
        keep = value > np.log(1e-6)
        value = np.where(keep | ~reached, value, np.nan)
        return Problem(case.semiring, A, True, value, rtol * 10, rtol * 100)
    return Problem(case.semiring, A, True, value, rtol, rtol * condition)


def _contraction(draw: Draw, case: cases.Case) -> Problem:
    """Row sums of at most a half."""
    n, rng = draw.pick(SIZES[:14]), draw.rng()
    A = rng.random((n, n)) / max(2 * n, 1) * (rng.random((n, n)) < draw.pick((0.5, 1.0)))
    return _inverse(case, _logs(case, A), 0.5)


def _nilpotent(draw: Draw, case: cases.Case) -> Problem:
    """No cycle, so the sum ends, whatever the entries: also huge ones and those that cancel."""
    n, rng = draw.pick(SIZES[:11]), draw.rng()
    A = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    if case.semiring is not LOG_PLUS:
        A *= rng.choice([-1, 1], (n, n))
    if case.semiring is not LOG_PLUS and draw.chance(30):
        A *= draw.pick((1e3, 1e9, 1e30) if case.dtype == np.float32 else (1e10, 1e100))
    order = rng.permutation(n)
    A = _logs(case, A[np.ix_(order, order)])
    real = np.round(_real(case, A)) if case.semiring is LOG_PLUS else _real(case, A)
    value, terms = oracle.nilpotent_sum(real), oracle.nilpotent_sum(np.abs(real))
    largest = float(terms.max(initial=1.0))
    if largest > float(np.finfo(case.dtype).max) / 8:  # the dtype may not hold it
        return Problem(case.semiring, A, None)
    rtol = 100 * (n + 1) * float(np.finfo(case.dtype).eps)
    if case.semiring is LOG_PLUS:
        with np.errstate(divide="ignore"):
            return Problem(case.semiring, A, True, np.log(value), rtol, rtol)
    return Problem(case.semiring, A, True, value, rtol, rtol * largest)  # of terms that cancel, the larger ones round


def _scaled(draw: Draw, case: cases.Case) -> Problem:
    """c P with P stochastic: a spectral radius of c."""
    n, rng = draw.pick(SIZES[:14]), draw.rng()
    c = draw.pick((0.5, 1.0, 0.9, 0.99, 1.01, 1.5, 2.0, 40.0))
    P = rng.random((n, n)) * (rng.random((n, n)) < draw.pick((0.5, 1.0))) + np.eye(n) * draw.pick((0.0, 1e-3))
    if n and draw.chance(30):  # permutations of the vertices: each cycle has weight c
        P = np.eye(n)[rng.permutation(n)]
    P[P.sum(axis=1) == 0] = 1.0
    A = c * P / P.sum(axis=1, keepdims=True) if n else P
    entries = _logs(case, A)
    draw.note(radius=c)
    if n == 0 or c < 1:
        return _inverse(case, entries, 1 - c if n else 0.5)
    if c > 1 or case.semiring is PLUS_TIMES:
        return Problem(case.semiring, entries, False)
    return Problem(case.semiring, entries, None)  # a user's, or logarithms: rounding of 1 decides


def _signed(draw: Draw, case: cases.Case) -> Problem:
    """Entries of both signs, with a spectral radius that is clearly on one side of 1."""
    if case.semiring is LOG_PLUS:
        return _contraction(draw, case)
    n, rng = draw.pick(SIZES[:14]), draw.rng()
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < draw.pick((0.5, 1.0, 0.1)))
    radius = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)) if n else 0.0
    target = draw.pick((0.5, 0.9, 1.2, 3.0))
    if radius < 1e-6:
        return _nilpotent(draw, case)
    A = (A * (target / radius)).astype(case.dtype)
    draw.note(radius=target)
    if target > 1:
        return Problem(case.semiring, A, None if case.semiring is semirings.SUMS else False)
    if _largest_pivot(A) > 0.99:  # a limit that docs/promises.md names
        return Problem(case.semiring, A, None)
    powers = np.linalg.matrix_power(np.abs(A.astype(float)), 8).max(initial=1.0)
    known = _inverse(case, A, 1 - target)
    return Problem(known.semiring, A, True, known.value, known.rtol * max(powers, 1), known.atol * max(powers, 1))


def _largest_pivot(A: np.ndarray) -> float:
    """The largest pivot that Kleene's elimination meets: that of a leading submatrix, which may have no closure."""
    D, largest = A.astype(float), 0.0
    for k in range(len(D)):
        largest = max(largest, D[k, k])
        if D[k, k] == 1:
            break
        D[k + 1 :, k + 1 :] += np.outer(D[k + 1 :, k], D[k, k + 1 :]) / (1 - D[k, k])
    return largest
