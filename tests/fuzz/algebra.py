"""Algebra: closures, products, powers and factorisations over every semiring, held to oracles that are not ours.

Each drawn problem comes with its verdict (the closure exists, does not, or rounding may decide) and its value, exact
where the dtype is. What is drawn beside: dtype, size, memory layout, byte order, batch, schedule, block, threads,
`overwrite`, device.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cases
import numpy as np

import semiring
from apsp import closure
from apsp.road import schedules
from semiring import BitMatrix
from semiring.host.devices import module
from semiring.host.errors import AlgebraError, DivergenceError, DomainError, DTypeError, SemiringError

from . import oracle, problems, semirings
from .draw import Draw
from .layouts import host, layout, place
from .problems import LOG_PLUS, MAX_PLUS, MAX_TIMES, MIN_PLUS, SIZES, TIMES, Problem, entries, ring_and_dtype

_device = "cpu"  # else as `worker.load` says


def prepare() -> None:
    """Compile what loads the compiler."""
    closure(np.zeros((2, 2)), device=_device)


def case(draw: Draw) -> None:
    """One call."""
    draw.pick((_closure, _closure, _closure, _matmul, _power, _matvec, _lu, _bits, _outside))(draw)


def _laid(draw: Draw, A: np.ndarray) -> Any:
    return place(draw, layout(draw, A, _device), _device)


def _there(A: Any, dtype: np.dtype) -> Any:
    """An operand of a product on the device; products have no `device`."""
    if _device == "cpu":
        return A
    import cupy

    return cupy.asarray(np.asarray(A, dtype))


def _closure(draw: Draw) -> None:
    """A*, alone or in a batch, in A's memory or in new."""
    problem = problems.draw_problem(draw)
    s, A = problem.semiring, problem.A
    draw.note(semiring=repr(s), A=A, exists=problem.exists)
    batch = draw.chance(10) and problem.exists is not None
    view = _laid(draw, np.stack([A] * draw.between(1, 4)) if batch else A)
    options: dict[str, Any] = {
        "schedule": draw.pick(("auto", *cases.schedules_of(s))),
        "block": draw.pick((None, None, 1, 2, 3, 7, 10, 64)),
        "device": None if _device == "cpu" else _device,
    }
    if _device == "cpu":
        options["threads"] = draw.pick((None, 1, 2, 3))
    elif draw.chance(20):
        options["per_thread"] = draw.pick((1, 4))
    writeable = not isinstance(view, list) and (
        not isinstance(view, np.ndarray) or (view.flags.writeable and view.dtype.isnative)
    )
    options["overwrite"] = overwrite = draw.chance(30) and writeable
    draw.note(options=options)
    before = np.array(host(view)) if not isinstance(view, list) else A
    try:
        got = closure(view, s, **options)
    except (DivergenceError, DomainError) as error:
        draw.note(error=str(error))
        if isinstance(error, DomainError):
            assert problem.far, "no walk is beyond the dtype, and one was said to be"
            assert overwrite or A.dtype.itemsize == 8, "a wider dtype holds all walks, and the closure was refused"
        else:
            assert problem.exists is not True, "the closure exists, and was refused"
            _explained(problem, error)
        if overwrite and not _equal(host(view), before):
            assert re.search(r"overwrit|no longer|lost|not whole|destroyed|changed", str(error)), (
                "A was lost without a word"
            )
        elif not isinstance(view, list):
            assert _equal(host(view), before), "the input was changed"
        return
    draw.note(got=host(got))
    assert problem.exists is not False, "the closure does not exist, and was given"
    if overwrite:
        assert got is view, "overwrite=True must return A"
    elif not isinstance(view, list):
        assert _equal(host(view), before), "the input was changed"
        assert type(got) is type(view)
    assert got.dtype == A.dtype
    assert got.dtype.isnative or overwrite
    for one in host(got) if batch else [host(got)]:
        holds(problem, one)


def _equal(a: Any, b: Any) -> bool:
    return bool(((np.asarray(a) == np.asarray(b)) | (np.asarray(a) != np.asarray(a))).all())


def holds(problem: Problem, got: np.ndarray) -> None:
    """The value that is known, bit for bit where it is exact."""
    if problem.value is not None and problem.semiring in TIMES and (got > 1).any():
        # Factors on both sides of one may have been scaled, as Johnson does, and then round.
        np.testing.assert_allclose(got, problem.value, rtol=8 * (len(got) + 4) * float(np.finfo(got.dtype).eps))
    elif problem.value is not None and not problem.rtol and not problem.atol:
        np.testing.assert_array_equal(got, problem.value)
    elif problem.value is not None:
        known = ~np.isnan(np.asarray(problem.value, dtype=float))
        np.testing.assert_allclose(
            got[known].astype(float), np.asarray(problem.value, float)[known], rtol=problem.rtol, atol=problem.atol
        )
    if problem.bound is not None:
        better = got > problem.bound if problem.semiring is MAX_PLUS else got < problem.bound
        assert not better.any(), "a sum wrapped, or beats the best there is"
    if not problem.semiring.idempotent or problem.semiring is semirings.RELATIONS:
        return
    case = cases.Case(problem.semiring, got.dtype)
    diagonal = got.diagonal()
    assert (diagonal == case.one).all() or problem.semiring in (cases.COLOURS, semirings.RELATIONS), (
        "the diagonal must be one"
    )


def _explained(problem: Problem, error: DivergenceError) -> None:
    """A cycle that is named is one, and has no limit."""
    s, A, cycle = problem.semiring, problem.A, error.cycle
    if s in (MIN_PLUS, MAX_PLUS, semirings.LENGTHS) and problem.exists is False:
        assert cycle, "a cycle must be named"
    if not cycle:
        return
    assert len(set(cycle)) == len(cycle), "the cycle visits a vertex twice"
    case = cases.Case(s, A.dtype)
    steps = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert all(A[u, v] != case.zero for u, v in steps), "the cycle takes an edge that is not there"
    if s in TIMES:
        factor = math.prod(Fraction(A[u, v].item()) for u, v in steps)
        assert factor > 1 if s is MAX_TIMES else factor < 1, f"the cycle named has weight {float(factor)}"
        return
    weight = oracle.weight(A.tolist(), cycle)
    assert weight > 0 if s is MAX_PLUS else weight < 0, f"the cycle named has weight {float(weight)}"


def _matmul(draw: Draw) -> None:
    """A ⊗ B for any shapes that fit, added to C or written to it."""
    case = ring_and_dtype(draw)
    m, k, n = (draw.pick((2, 1, 0, 3, 5, 9, 17, 33)) for _ in range(3))
    batch = draw.pick(((), (), (2,), (2, 1), (0,), (3, 2)))
    A = entries(draw, case, (*batch[draw.below(len(batch) + 1) :], m, k))
    B = entries(draw, case, (*batch, k, n))
    draw.note(semiring=repr(case.semiring), A=A, B=B)
    value = oracle.product(case, A, B)
    left, right = (_there(layout(draw, X, _device), case.dtype) for X in (A, B))
    if value.size and draw.chance(30):
        C = entries(draw, case, value.shape)
        draw.note(C=C)
        value = oracle.product(case, A, B, C)
        out = layout(draw, C, _device)
        if isinstance(out, list) or not out.flags.writeable or not out.dtype.isnative:
            out = C.copy()
        out = _there(out, case.dtype)
        got = semiring.matmul(left, right, case.semiring, out=out, accumulate=True)
        assert got is out
    else:
        got = semiring.matmul(left, right, case.semiring)
    _near(case, host(got), value, k)


def _near(case: cases.Case, got: np.ndarray, value: np.ndarray, terms: int) -> None:
    """Bit for bit where operations are exact; sums and logarithms to rounding."""
    assert got.shape == value.shape
    if case.semiring.idempotent or (case.semiring is not LOG_PLUS and case.dtype == np.float64):
        np.testing.assert_array_equal(got, value)
        return
    rtol = 20 * (terms + 5) * float(np.finfo(case.dtype).eps)
    np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol * 100)


def _power(draw: Draw) -> None:
    """Aᵏ, one factor after the other."""
    case = ring_and_dtype(draw)
    n, k = draw.pick((2, 1, 0, 3, 5, 9)), draw.between(0, 6)
    A = entries(draw, case, (n, n))
    if not case.semiring.idempotent:
        A = np.where(np.isfinite(A), A / (1 if case.semiring is LOG_PLUS else 16), A).astype(case.dtype)
    draw.note(semiring=repr(case.semiring), A=A, k=k)
    if case.semiring.mul.saturating and case.dtype.kind == "i":
        A = np.where(np.abs(A.astype(float)) > 1000, case.zero, A)  # clamped products depend on their order
    got = semiring.power(_laid(draw, A), k, case.semiring)
    value = oracle.power(case, A, k)
    if case.semiring.idempotent:
        np.testing.assert_array_equal(host(got), value)
    else:
        rtol = 200 * (n + 5) * float(np.finfo(case.dtype).eps)
        np.testing.assert_allclose(
            host(got), value, rtol=rtol, atol=rtol * float(np.abs(value[np.isfinite(value)]).max(initial=1.0))
        )


def _matvec(draw: Draw) -> None:
    """A ⊗ x."""
    case = ring_and_dtype(draw)
    m, n = (draw.pick((2, 1, 0, 3, 9, 40)) for _ in range(2))
    A, x = entries(draw, case, (m, n)), entries(draw, case, (n,))
    draw.note(semiring=repr(case.semiring), A=A, x=x)
    left, right = (_there(layout(draw, X, _device), case.dtype) for X in (A, x))
    got = semiring.matvec(left, right, case.semiring)
    _near(case, host(got), oracle.product(case, A, x[:, None])[:, 0], n)


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
        L, U = map(host, semiring.lu(_laid(draw, A)))
    except AlgebraError:
        assert singular, "no pivot vanishes, and was said to"
        return
    eps = float(np.finfo(L.dtype).eps)
    growth = max(float(np.abs(np.abs(L.astype(float)) @ np.abs(U.astype(float))).max(initial=1.0)), 1.0)
    assert (L == np.tril(L)).all()
    assert (U == np.triu(U)).all()
    assert (L.diagonal() == 1).all()
    np.testing.assert_allclose(
        L.astype(float) @ U.astype(float), A.astype(float), rtol=0, atol=20 * (n + 1) * eps * growth
    )


def _bits(draw: Draw) -> None:
    """Packed bits: the closure, the product, and both ways back."""
    n, m, rng = draw.pick((*SIZES, 100, 127, 128, 129, 130)), draw.pick((1, 0, 64, 65, 130)), draw.rng()
    A = rng.random((n, n)) < draw.pick((0.1, 0.02, 0.5, 0.9))
    B = rng.random((n, m)) < 0.3
    draw.note(A=A)
    packed = BitMatrix.from_bool(place(draw, A, _device))
    other = BitMatrix.from_bool(module(packed.words).asarray(B))
    assert (host((packed @ other).to_bool()) == (A.astype(int) @ B.astype(int) > 0)).all()
    reach = A | np.eye(n, dtype=bool)
    for k in range(n):
        reach |= reach[:, k, None] & reach[None, k]
    overwrite = draw.chance(30)
    options = {
        "schedule": draw.pick(("auto", *schedules.names())),
        "block": draw.pick((None, 1, 64, 70)),
        "overwrite": overwrite,
    }
    draw.note(options=options)
    got = closure(packed, "boolean", **options)
    assert (host(got.to_bool()) == reach).all()
    assert overwrite or (host(packed.to_bool()) == A).all()
    assert (got is packed) or not overwrite


def _outside(draw: Draw) -> None:
    """What lies outside of the semiring is refused, and never computed with."""
    case = ring_and_dtype(draw)
    if case.dtype.kind != "f":
        return
    n = draw.between(1, 9)
    A = entries(draw, case, (n, n))
    low, high = case.semiring.domain
    wrong = [
        np.nan,
        *([-np.inf] if case.semiring.open_low or low > -np.inf else []),
        *([np.inf] if case.semiring.open_high or high < np.inf else []),
    ]
    A[draw.below(n), draw.below(n)] = draw.pick(wrong)
    draw.note(semiring=repr(case.semiring), A=A)
    call: Callable[[], Any] = draw.pick(
        (
            lambda: closure(A, case.semiring, device=_device),
            lambda: semiring.matmul(A, A, case.semiring),
            lambda: semiring.power(A, 2, case.semiring),
        )
    )
    try:
        call()
    except (DomainError, DTypeError) as refusal:
        assert str(refusal)
        return
    except SemiringError as error:
        raise AssertionError(f"refused as {type(error).__name__}") from error
    raise AssertionError("computed with what is outside of the semiring")
