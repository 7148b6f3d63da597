"""Algebra: closures, products, powers and factorisations over every semiring, held to oracles that are not ours.

Each drawn problem comes with its verdict (the closure exists, does not, or rounding may decide) and its value, exact
where the dtype is. What is drawn beside: dtype, size, memory layout, byte order, batch, schedule, block, threads,
`overwrite`, device.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cases
import numpy as np

import semiring
from apsp import closure, schedules
from semiring import BitMatrix, Semiring
from semiring.arrays import module
from semiring.errors import AlgebraError, DivergenceError, DomainError, DTypeError, SemiringError

from . import oracle, rings
from .draw import Draw

SIZES = (3, 2, 1, 0, 4, 5, 7, 8, 12, 16, 17, 24, 31, 33, 48, 63, 64, 65, 70)
_MIN_PLUS, _MAX_PLUS, _MAX_MIN, _MIN_MAX = (semiring.get(s) for s in ("min_plus", "max_plus", "max_min", "min_max"))
_MAX_TIMES, _MIN_TIMES, _PLUS_TIMES, _LOG_PLUS = (
    semiring.get(s) for s in ("max_times", "min_times", "plus_times", "log_plus")
)
_TIMES = (_MAX_TIMES, _MIN_TIMES)
#: Rings whose closures follow from lengths: as they are, negated, or as exponents of two.
_LENGTHS = (_MIN_PLUS, _MAX_PLUS, *_TIMES, rings.PLAIN, rings.LENGTHS)
_device = "cpu"


def prepare(device: str) -> None:
    """Where to compute; kernels are compiled as cases ask for them."""
    global _device
    _device = device
    warnings.simplefilter("ignore")
    closure(np.zeros((2, 2)), device=device)


def case(draw: Draw) -> None:
    """One call."""
    draw.pick((_closure, _closure, _closure, _matmul, _power, _matvec, _lu, _bits, _outside))(draw)


FAR = np.int64(oracle.FAR)

# What is drawn.


@dataclass(frozen=True)
class Problem:
    """A matrix to close, and what is known of its closure."""

    ring: Semiring
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


def _ring(draw: Draw) -> cases.Case:
    users = draw.chance(8)
    ring = draw.pick(rings.USERS if users else semiring.CATALOG)
    return cases.Case(ring, np.dtype(draw.pick(ring.dtypes)))


def _entries(draw: Draw, case: cases.Case, shape: tuple[int, ...]) -> np.ndarray:
    """Random entries for products: signs, absent ones, and at times the ends of the dtype."""
    ring, dtype, rng = case.semiring, case.dtype, draw.rng()
    density = draw.pick((0.5, 1.0, 0.1, 0.0))
    if dtype.kind == "b":
        return rng.random(shape) < density
    if ring is rings.RELATIONS:
        values: Any = rng.integers(0, 16, shape)
    elif ring in rings.USERS[:2]:
        values = rng.choice(ring.samples, shape)
    elif ring in _TIMES:
        values = np.exp2(rng.integers(-3, 4, shape).astype(float))
    elif ring is _LOG_PLUS:
        values = rng.random(shape) * 8 - 6
    else:
        values = rng.integers(-30, 31, shape)
    if dtype.kind == "i" and ring in (_MIN_PLUS, _MAX_PLUS, _MAX_MIN, _MIN_MAX) and draw.chance(25):
        info = np.iinfo(dtype)
        ends = np.array([info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1, info.min // 2], dtype)
        values = np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), values)
    return np.where(rng.random(shape) < density, values.astype(dtype), case.zero).astype(dtype)


def _problem(draw: Draw) -> Problem:
    case = _ring(draw)
    ring = case.semiring
    if ring in _LENGTHS:
        kind = draw.pick((_integers, _integers, _rounded, _saturated))
        return kind(draw, case)
    if not ring.idempotent:
        return draw.pick((_contraction, _nilpotent, _scaled, _signed))(draw, case)
    n = draw.pick(SIZES[:14])
    A = _entries(draw, case, (n, n))
    if ring is rings.RELATIONS:  # beyond `one` on a cycle it has no closure that this library gives
        A = np.triu(A, 1)
    return Problem(ring, A, True, cases.closure(case, A))


def _lengths(draw: Draw, n: int, top: int) -> np.ndarray:
    """An integer matrix of lengths, FAR where there is no edge, every finite one at most `top` in size."""
    rng = draw.rng()
    kind = draw.pick(("positive", "shifted", "signed", "planted", "ring", "zero cycles"))
    draw.note(lengths=kind)
    scale = max(1, min(top // 4, draw.pick((9, 1, 100, 10**6, 10**9))))
    if kind == "zero cycles":
        h = rng.integers(-scale, scale + 1, n)
        return np.where(rng.random((n, n)) < draw.pick((1.0, 0.4)), h[None, :] - h[:, None], FAR)
    W = rng.integers(-scale // 8 if kind == "signed" else 0, scale + 1, (n, n))
    if kind in ("shifted", "planted"):
        h = rng.integers(-scale, scale + 1, n)
        W = W + h[None, :] - h[:, None]
    W = np.where(rng.random((n, n)) < draw.pick((0.4, 1.0, 0.1, 2 / max(n, 2))), W, FAR)
    if kind in ("planted", "ring") and n:
        length = n if kind == "ring" else draw.between(1, min(n, 6))
        cycle = rng.permutation(n)[:length]
        for u, v in zip(cycle, np.roll(cycle, -1), strict=True):
            W[u, v] = min(W[u, v], rng.integers(0, 3))
        u, v = cycle[-1], cycle[0]
        W[u, v] = -draw.pick((1, 0, 5, 4 * length)) - sum(
            W[a, b] for a, b in zip(cycle[:-1], cycle[1:], strict=True)
        ) * draw.below(2)
    return W


def _integers(draw: Draw, case: cases.Case) -> Problem:
    """Lengths that are exact in the dtype; for products, powers of two. At times one huge one stands for no edge."""
    ring, dtype = case.semiring, case.dtype
    times = ring in _TIMES
    n = draw.pick(SIZES[:12] if times else SIZES)
    exact = 12 if times else (1 << 22 if dtype == np.float32 else 1 << 50) if dtype.kind == "f" else np.iinfo(dtype).max // 2
    W = _lengths(draw, n, max(2, exact // (2 * n + 2)) if not times else 2)
    rtol = 0.0
    if not times and draw.chance(15):
        # Somebody's "no edge", or another component's scale: 1e18 in floats, a quarter of the range in integers.
        huge = 10**18 if dtype.kind == "f" else int(np.iinfo(dtype).max // 4) // max(n, 1)
        where = draw.rng().random((n, n)) < draw.pick((1.0, 0.3))
        W = np.where((W == FAR) & where & (huge < oracle.FAR), min(huge, oracle.FAR - 1), W)
        rtol = 4 * n * float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
        draw.note(huge=huge)
    D = oracle.shortest(W)
    if D is None:
        return Problem(ring, _as_entries(case, W), False)
    return Problem(ring, _as_entries(case, W), True, _as_entries(case, D), rtol)


def _as_entries(case: cases.Case, W: np.ndarray) -> np.ndarray:
    """Lengths to be minimised as entries of a semiring: negated, or powers of two, where it maximises or multiplies."""
    ring, dtype = case.semiring, case.dtype
    absent = np.array(W >= oracle.FAR, dtype=bool)
    signed = -W if ring in (_MAX_PLUS, _MAX_TIMES) else W
    if ring in _TIMES:
        values = np.exp2(np.where(absent, 0, signed).astype(float))
    elif dtype.kind == "i":
        info = np.iinfo(dtype)
        values = np.clip(np.where(absent, 0, signed), info.min, info.max)
    else:
        values = np.where(absent, 0, signed)
    out: np.ndarray = np.where(absent, case.zero, values.astype(dtype)).astype(dtype)
    return out


def _rounded(draw: Draw, case: cases.Case) -> Problem:
    """Real lengths that add up to 0 around every cycle but for rounding, or by a slack beyond it; floats alone."""
    ring, dtype, n = case.semiring, case.dtype, draw.pick(SIZES)
    if dtype.kind != "f" or ring in _TIMES:
        return _integers(draw, case)
    rng, scale = draw.rng(), draw.pick((1.0, 1e-3, 1e6, 1e12))
    h = (rng.random(n) * scale).astype(dtype)
    more = rng.random((n, n)) * scale * draw.pick((0.0, 1e-7, 1.0))
    W = (h[None, :] - h[:, None]).astype(dtype) + more.astype(dtype)
    absent = rng.random((n, n)) < draw.pick((0.0, 0.5, 0.9))
    np.fill_diagonal(W, 0)
    sign = -1 if ring is _MAX_PLUS else 1
    A = np.where(absent, case.zero, sign * W).astype(dtype)
    # Every weight is off by half an ulp at most, and so are the sums of a walk.
    atol = float(8 * n * np.finfo(dtype).eps * scale)
    exact = [[None if gone else Fraction(float(w)) for w, gone in zip(*rows, strict=True)] for rows in zip(W, absent, strict=True)]
    if n > 12:
        value = None
        if not more.any() and not absent.any():
            value = (sign * (h[None, :].astype(float) - h[:, None].astype(float))).astype(dtype)
        return Problem(ring, A, True, value, 0.0, atol)
    D = oracle.exact_shortest(exact)
    if D is None:  # rounding alone: Johnson's weights must have it solved
        return Problem(ring, A, True, None)
    value = np.array([[case.zero if d is None else sign * float(d) for d in row] for row in D], dtype).reshape(n, n)
    return Problem(ring, A, True, value, 0.0, atol)


def _saturated(draw: Draw, case: cases.Case) -> Problem:
    """Integers near the ends of their dtype: sums saturate at ∞, and never wrap to something better."""
    ring, dtype, n = case.semiring, case.dtype, draw.pick(SIZES[:12])
    if dtype.kind != "i":
        return _integers(draw, case)
    info, rng = np.iinfo(dtype), draw.rng()
    top = int(info.max)
    ends = np.array([top - 1, top // 2, top // 2 + 1, top // 3, top // 4, 1, 0], object)
    W = rng.choice(ends, (n, n))
    mixed = draw.chance(40)
    if mixed:
        W = np.where(rng.random((n, n)) < 0.15, -rng.choice(ends[:5], (n, n)), W)
    absent = rng.random((n, n)) < draw.pick((0.4, 0.0, 0.8))
    W = np.where(absent, 1 << 70, W)
    A = np.where(absent, case.zero, np.where(absent, 0, -W if ring is _MAX_PLUS else W).astype(dtype)).astype(dtype)
    D = _shortest_objects(W)
    if D is None:
        return Problem(ring, A, None)
    low = int(info.min) + (ring is _MAX_PLUS)
    value = np.array([[min(max(int(d), low), top) for d in row] for row in D], object).reshape(n, n)
    signed = np.where(value >= top, 0, -value if ring is _MAX_PLUS else value).astype(dtype)
    known = np.where(value >= top, case.zero, signed).astype(dtype)
    if not mixed and ring is _MIN_PLUS:
        return Problem(ring, A, True, known)
    # A walk that saturates on its way may be lost, and another take its place; none may be better than the truth.
    return Problem(ring, A, None if mixed else True, None, bound=known)


def _shortest_objects(W: np.ndarray) -> np.ndarray | None:
    exact = [[None if w >= 1 << 70 else Fraction(int(w)) for w in row] for row in W]
    D = oracle.exact_shortest(exact)
    return None if D is None else np.array([[1 << 70 if d is None else int(d) for d in row] for row in D], object).reshape(W.shape)


def _logs(case: cases.Case, A: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return (np.log(A) if case.semiring is _LOG_PLUS else A).astype(case.dtype)


def _real(case: cases.Case, A: np.ndarray) -> np.ndarray:
    """Entries as the real numbers they are, float64, as the dtype holds them."""
    return np.exp(A.astype(float)) if case.semiring is _LOG_PLUS else A.astype(float)


def _inverse(case: cases.Case, A: np.ndarray, room: float) -> Problem:
    """(I − A)⁻¹ by NumPy, in float64; `room` is how far the spectral radius stays below 1."""
    n, eps = len(A), float(np.finfo(case.dtype).eps)
    real = _real(case, A)
    value = np.linalg.inv(np.eye(n) - real) if n else real
    condition = float(np.abs(value).max(initial=1.0))
    rtol = 50 * (n + 5) * eps * condition / max(room, eps)
    if case.semiring is _LOG_PLUS:
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
    huge = draw.chance(30) and case.semiring is not _LOG_PLUS
    if case.semiring is not _LOG_PLUS:
        A *= rng.choice([-1, 1], (n, n))
    if huge:
        A *= draw.pick((1e3, 1e9, 1e30) if case.dtype == np.float32 else (1e10, 1e100))
    order = rng.permutation(n)
    A = _logs(case, A[np.ix_(order, order)])
    if huge:
        return Problem(case.semiring, A, True)
    real = np.round(_real(case, A))
    value = oracle.nilpotent_sum(real)
    rtol = 100 * (n + 1) * float(np.finfo(case.dtype).eps)
    # Of terms that cancel, the larger ones round.
    atol = rtol * float(np.abs(oracle.nilpotent_sum(np.abs(real))).max(initial=1.0))
    if case.semiring is _LOG_PLUS:
        with np.errstate(divide="ignore"):
            return Problem(case.semiring, A, True, np.log(value), rtol, rtol)
    return Problem(case.semiring, A, True, value, rtol, atol)


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
    if c > 1 or case.semiring is _PLUS_TIMES:
        return Problem(case.semiring, entries, False)
    return Problem(case.semiring, entries, None)  # a user's, or logarithms: rounding of 1 decides


def _signed(draw: Draw, case: cases.Case) -> Problem:
    """Entries of both signs, with a spectral radius that is clearly on one side of 1."""
    if case.semiring is _LOG_PLUS:
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
        return Problem(case.semiring, A, None if case.semiring is rings.SUMS else False)
    powers = np.linalg.matrix_power(np.abs(A.astype(float)), 8).max(initial=1.0)
    known = _inverse(case, A, 1 - target)
    return Problem(known.ring, A, True, known.value, known.rtol * max(powers, 1), known.atol * max(powers, 1))


# How it is called.


def _layout(draw: Draw, A: np.ndarray) -> Any:
    """The same numbers as memory may hold them; `A` itself is left alone."""
    how = draw.pick(("C", "Fortran", "step", "window", "reversed", "read-only", "swapped", "unaligned", "list"))
    draw.note(layout=how)
    out: Any = A.copy()
    if how == "Fortran":
        out = np.asfortranarray(A)
    elif how == "step":
        wide = np.zeros((*A.shape[:-1], 2 * A.shape[-1] + 3), A.dtype)
        wide[..., 1 : 2 * A.shape[-1] + 1 : 2] = A
        out = wide[..., 1 : 2 * A.shape[-1] + 1 : 2]
    elif how == "window":
        tall = np.zeros(tuple(size + 5 for size in A.shape), A.dtype)
        inside = tuple(slice(2, 2 + size) for size in A.shape)
        tall[inside] = A
        out = tall[inside]
    elif how == "reversed":
        out = np.ascontiguousarray(A[..., ::-1])[..., ::-1]
    elif how == "read-only":
        out.flags.writeable = False
    elif how == "swapped" and _device == "cpu":
        out = A.astype(A.dtype.newbyteorder())
    elif how == "unaligned" and _device == "cpu":
        raw = np.zeros(A.nbytes + 1, np.uint8)
        out = raw[1:].view(A.dtype).reshape(A.shape)
        out[...] = A
    elif how == "list" and A.size and A.size < 100 and A.dtype in (np.float64, np.int64, np.bool_):
        return A.tolist()
    return out


def _place(draw: Draw, view: Any) -> Any:
    """On a GPU, half of the arrays lie there already, with the strides that they have here."""
    if _device == "cpu" or isinstance(view, list) or not draw.chance(50):
        return view
    import cupy

    base = cupy.empty(view.shape, view.dtype, order="F" if view.flags.f_contiguous else "C")
    base[...] = cupy.asarray(np.ascontiguousarray(view))
    if view.ndim and draw.chance(30):
        wide = cupy.zeros((*view.shape[:-1], 2 * view.shape[-1] + 1), view.dtype)
        wide[..., 1::2] = base
        base = wide[..., 1::2]
    draw.note(lies="on the GPU")
    return base


def _host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def _where(array: Any) -> dict[str, Any]:
    return {} if _device == "cpu" else {"device": _device}


def _closure(draw: Draw) -> None:
    """A*, alone or in a batch, in A's memory or in new."""
    problem = _problem(draw)
    ring, A = problem.ring, problem.A
    draw.note(semiring=repr(ring), A=A, exists=problem.exists)
    batch = draw.chance(10) and problem.exists is not None
    view = _place(draw, _layout(draw, np.stack([A] * draw.between(1, 4)) if batch else A))
    options: dict[str, Any] = {
        "schedule": draw.pick(("auto", *schedules.names())),
        "block": draw.pick((None, None, 1, 2, 3, 7, 10, 64)),
        **_where(view),
    }
    if _device == "cpu":
        options["threads"] = draw.pick((None, 1, 2, 3))
    elif draw.chance(20):
        options["per_thread"] = draw.pick((1, 4))
    writeable = isinstance(view, list) is False and (not isinstance(view, np.ndarray) or view.flags.writeable and view.dtype.isnative)
    options["overwrite"] = overwrite = draw.chance(30) and writeable
    draw.note(options=options)
    before = np.array(_host(view)) if not isinstance(view, list) else A
    try:
        got = closure(view, ring, **options)
    except DivergenceError as error:
        draw.note(error=str(error))
        assert problem.exists is not True, "the closure exists, and was refused"
        _explained(problem, error)
        if overwrite and not _equal(_host(view), before):
            assert re.search(r"overwrit|no longer|lost|not whole|destroyed|changed", str(error)), "A was lost without a word"
        elif not isinstance(view, list):
            assert _equal(_host(view), before), "the input was changed"
        return
    draw.note(got=_host(got))
    assert problem.exists is not False, "the closure does not exist, and was given"
    if overwrite:
        assert got is view, "overwrite=True must return A"
    elif not isinstance(view, list):
        assert _equal(_host(view), before), "the input was changed"
        assert type(got) is type(view)
    assert got.dtype == A.dtype
    assert got.dtype.isnative or overwrite
    for one in _host(got) if batch else [_host(got)]:
        _holds(problem, one)


def _equal(a: Any, b: Any) -> bool:
    return bool(((np.asarray(a) == np.asarray(b)) | (np.asarray(a) != np.asarray(a))).all())


def _holds(problem: Problem, got: np.ndarray) -> None:
    """The value that is known, bit for bit where it is exact."""
    if problem.value is not None and not problem.rtol and not problem.atol:
        np.testing.assert_array_equal(got, problem.value)
    elif problem.value is not None:
        known = ~np.isnan(np.asarray(problem.value, dtype=float))
        np.testing.assert_allclose(
            got[known].astype(float), np.asarray(problem.value, float)[known], rtol=problem.rtol, atol=problem.atol
        )
    if problem.bound is not None:
        better = got > problem.bound if problem.ring is _MAX_PLUS else got < problem.bound
        assert not better.any(), "a sum wrapped, or beats the best there is"
    if not problem.ring.idempotent or problem.ring is rings.RELATIONS:
        return
    case = cases.Case(problem.ring, got.dtype)
    diagonal = got.diagonal()
    assert (diagonal == case.one).all() or problem.ring in (cases.COLOURS, rings.RELATIONS), "the diagonal must be one"


def _explained(problem: Problem, error: DivergenceError) -> None:
    """A cycle that is named is one, and has no limit."""
    ring, A, cycle = problem.ring, problem.A, error.cycle
    if ring in (_MIN_PLUS, _MAX_PLUS, rings.LENGTHS) and problem.exists is False:
        assert cycle, "a cycle must be named"
    if not cycle:
        return
    assert len(set(cycle)) == len(cycle), "the cycle visits a vertex twice"
    case = cases.Case(ring, A.dtype)
    steps = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert all(A[u, v] != case.zero for u, v in steps), "the cycle takes an edge that is not there"
    weight = oracle.weight(A.tolist(), cycle)
    assert weight > 0 if ring is _MAX_PLUS else weight < 0, f"the cycle named has weight {float(weight)}"


def _matmul(draw: Draw) -> None:
    """A ⊗ B for any shapes that fit, added to C or written to it."""
    case = _ring(draw)
    m, k, n = (draw.pick((2, 1, 0, 3, 5, 9, 17, 33)) for _ in range(3))
    batch = draw.pick(((), (), (2,), (2, 1), (0,), (3, 2)))
    A = _entries(draw, case, (*batch[draw.below(len(batch) + 1) :], m, k))
    B = _entries(draw, case, (*batch, k, n))
    draw.note(semiring=repr(case.semiring), A=A, B=B)
    value = oracle.product(case, A, B)
    left, right = _layout(draw, A), _layout(draw, B)
    if _device != "cpu":
        import cupy

        left, right = cupy.asarray(np.asarray(left, case.dtype)), cupy.asarray(np.asarray(right, case.dtype))
    if value.size and draw.chance(30):
        C = _entries(draw, case, value.shape)
        draw.note(C=C)
        value = oracle.product(case, A, B, C)
        out = _layout(draw, C)
        if isinstance(out, list) or not out.flags.writeable or not out.dtype.isnative:
            out = C.copy()
        if _device != "cpu":
            out = module(left).asarray(out)
        got = semiring.matmul(left, right, case.semiring, out=out, accumulate=True)
        assert got is out
    else:
        got = semiring.matmul(left, right, case.semiring)
    _near(case, _host(got), value, k)


def _near(case: cases.Case, got: np.ndarray, value: np.ndarray, terms: int) -> None:
    """Bit for bit where operations are exact; sums and logarithms to rounding."""
    assert got.shape == value.shape
    if case.semiring.idempotent or (case.semiring is not _LOG_PLUS and case.dtype == np.float64):
        np.testing.assert_array_equal(got, value)
        return
    rtol = 20 * (terms + 5) * float(np.finfo(case.dtype).eps)
    np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol * 100)


def _power(draw: Draw) -> None:
    """Aᵏ, one factor after the other."""
    case = _ring(draw)
    n, k = draw.pick((2, 1, 0, 3, 5, 9)), draw.between(0, 6)
    A = _entries(draw, case, (n, n))
    if not case.semiring.idempotent:
        A = np.where(np.isfinite(A), A / (1 if case.semiring is _LOG_PLUS else 16), A).astype(case.dtype)
    draw.note(semiring=repr(case.semiring), A=A, k=k)
    if case.semiring.mul.saturating and case.dtype.kind == "i":
        A = np.where(np.abs(A.astype(float)) > 1000, case.zero, A)  # clamped products depend on their order
    got = semiring.power(_place(draw, _layout(draw, A)), k, case.semiring)
    value = oracle.power(case, A, k)
    if case.semiring.idempotent:
        np.testing.assert_array_equal(_host(got), value)
    else:
        rtol = 200 * (n + 5) * float(np.finfo(case.dtype).eps)
        np.testing.assert_allclose(_host(got), value, rtol=rtol, atol=rtol * float(np.abs(value[np.isfinite(value)]).max(initial=1.0)))


def _matvec(draw: Draw) -> None:
    """A ⊗ x."""
    case = _ring(draw)
    m, n = (draw.pick((2, 1, 0, 3, 9, 40)) for _ in range(2))
    A, x = _entries(draw, case, (m, n)), _entries(draw, case, (n,))
    draw.note(semiring=repr(case.semiring), A=A, x=x)
    left, right = _layout(draw, A), _layout(draw, x)
    if _device != "cpu":
        import cupy

        left, right = cupy.asarray(np.asarray(left, case.dtype)), cupy.asarray(np.asarray(right, case.dtype))
    got = semiring.matvec(left, right, case.semiring)
    _near(case, _host(got), oracle.product(case, A, x[:, None])[:, 0], n)


def _lu(draw: Draw) -> None:
    """A = L U of integers: exact factors tell whether a pivot vanishes."""
    n, dtype, rng = draw.pick((2, 1, 0, 3, 5, 8)), draw.pick(("float64", "float32", "int32", "int64")), draw.rng()
    A = rng.integers(-4, 5, (n, n)).astype(dtype)
    if draw.chance(50):
        A[np.arange(n), np.arange(n)] = np.abs(A).sum(axis=1) + 1
    draw.note(A=A)
    F, singular = [[Fraction(x) for x in row] for row in A.tolist()], False
    for k in range(n):
        singular = singular or F[k][k] == 0
        for i in range(k + 1, n if not singular else 0):
            F[i][k] /= F[k][k]
            for j in range(k + 1, n):
                F[i][j] -= F[i][k] * F[k][j]
    try:
        L, U = map(_host, semiring.lu(_place(draw, _layout(draw, A))))
    except AlgebraError:
        assert singular, "no pivot vanishes, and was said to"
        return
    eps = float(np.finfo(L.dtype).eps)
    growth = max(float(np.abs(np.abs(L.astype(float)) @ np.abs(U.astype(float))).max(initial=1.0)), 1.0)
    assert (L == np.tril(L)).all()
    assert (U == np.triu(U)).all()
    assert (L.diagonal() == 1).all()
    np.testing.assert_allclose(L.astype(float) @ U.astype(float), A.astype(float), rtol=0, atol=20 * (n + 1) * eps * growth)


def _bits(draw: Draw) -> None:
    """Packed bits: the closure, the product, and both ways back."""
    n, m, rng = draw.pick((*SIZES, 100, 127, 128, 129, 130)), draw.pick((1, 0, 64, 65, 130)), draw.rng()
    A = rng.random((n, n)) < draw.pick((0.1, 0.02, 0.5, 0.9))
    B = rng.random((n, m)) < 0.3
    draw.note(A=A)
    packed = BitMatrix.from_bool(_place(draw, A))
    other = BitMatrix.from_bool(module(packed.words).asarray(B))
    assert (_host((packed @ other).to_bool()) == (A.astype(int) @ B.astype(int) > 0)).all()
    reach = A | np.eye(n, dtype=bool)
    for k in range(n):
        reach |= reach[:, k, None] & reach[None, k]
    overwrite = draw.chance(30)
    options = {"schedule": draw.pick(("auto", *schedules.names())), "block": draw.pick((None, 1, 64, 70)), "overwrite": overwrite}
    draw.note(options=options)
    got = closure(packed, "boolean", **options)
    assert (_host(got.to_bool()) == reach).all()
    assert overwrite or (_host(packed.to_bool()) == A).all()
    assert (got is packed) or not overwrite


def _outside(draw: Draw) -> None:
    """What lies outside of the semiring is refused, and never computed with."""
    case = _ring(draw)
    if case.dtype.kind != "f":
        return
    n = draw.between(1, 9)
    A = _entries(draw, case, (n, n))
    low, high = case.semiring.domain
    wrong = [np.nan, *([-np.inf] if case.semiring.open_low or low > -np.inf else []), *([np.inf] if case.semiring.open_high or high < np.inf else [])]
    A[draw.below(n), draw.below(n)] = draw.pick(wrong)
    draw.note(semiring=repr(case.semiring), A=A)
    call: Callable[[], Any] = draw.pick(
        (lambda: closure(A, case.semiring, **_where(A)), lambda: semiring.matmul(A, A, case.semiring), lambda: semiring.power(A, 2, case.semiring))
    )
    try:
        call()
    except (DomainError, DTypeError) as refusal:
        assert str(refusal)
        return
    except SemiringError as error:
        raise AssertionError(f"refused as {type(error).__name__}") from error
    raise AssertionError("computed with what is outside of the semiring")
