"""Has I ⊕ A ⊕ A² ⊕ … a limit, where ⊕ is not idempotent?

Only walks round cycles are without end, so each strongly connected component is looked at by itself: an acyclic matrix
is nilpotent, and its closure exists whatever its entries are. Within a component,

- where nothing cancels, elimination itself meets an infinite star (I − A is then no M-matrix), and a spectral radius
  that rounding cannot tell from 1 shows in a pivot that it cannot tell from `one`. Rows that all sum to `one` or more
  say so beforehand: the least row sum bounds the spectral radius from below (Collatz 1942, Wielandt 1950);
- where entries of both signs cancel, the spectral radius decides;
- where the semiring does not say, its partial sums must settle.

"Within rounding" is m · eps for m vertices, the bound on the error of a sum of m numbers (on logarithms
m · eps · |log eps|).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.backend import bind, device_of
from semiring.bits import BitMatrix
from semiring.catalog import lor_land
from semiring.devices import host, module
from semiring.errors import DivergenceError
from semiring.memory import require
from semiring.survey import Survey
from semiring.types import Array, DType

from .. import schedules


def precaution(A: Array, semiring: Semiring, survey: Survey) -> None:
    """Refuse a matrix over a semiring that is not idempotent if it can be seen to have no closure, before any work.

    Raises
    ------
    DivergenceError
    AlgebraError
        If there is a cycle, and the semiring has no star.
    """
    if not semiring.closed:
        for members in components(A, semiring):
            raise semiring.starless("closure", int(members[0]))
    if A.dtype.kind == "b":
        return
    if semiring.series == "real" and _norm(A, semiring) < _near_one(semiring, A.dtype, len(A)):
        return
    for members in components(A, semiring):
        if semiring.series is None:
            _require_settled(_block(A, members, copies=6), members, semiring)
        elif semiring.series == "real" and not survey.nonnegative:
            _require_spectrum(_block(A, members, copies=4), members)
        else:
            _require_rows_below_one(A, members, semiring)


def check(D: Array, diagonal: np.ndarray, semiring: Semiring, survey: Survey) -> None:
    """Refuse a closure whose diagonal shows the star of a pivot that was `one` or more, within rounding.

    Raises
    ------
    DivergenceError
    """
    bad = np.flatnonzero(~np.isfinite(diagonal))
    if bad.size:
        raise _error(f"a closed walk at vertex {bad[0]} weighs {diagonal[bad[0]]}", int(bad[0]))
    if semiring.series is None or (semiring.series == "real" and not survey.nonnegative):
        return
    if semiring.series == "real":  # I − A is an M-matrix exactly if its inverse has no entry below 0
        for part in dtypes.chunks(D.shape):
            if bool((below := (D[part] < 0).any(axis=1)).any()):
                raise _error("elimination met a pivot above 1", part[0].start + int(below.argmax()))
    zero = dtypes.zero(semiring, D.dtype)
    # D[v, v] is at least the star of v's pivot. The fewer vertices are on cycles with v, the nearer to `one` it may be.
    for vertex in np.flatnonzero(diagonal >= _star(_near_one(semiring, D.dtype, len(D)), semiring)).tolist():
        together = int(((D[vertex] != zero) & (D[:, vertex] != zero)).sum())
        if diagonal[vertex] >= _star(_near_one(semiring, D.dtype, together), semiring):
            raise _error(
                f"a pivot at vertex {vertex} is {semiring.one:g} within rounding: closed walks weigh "
                f"{diagonal[vertex]:g}",
                vertex,
            )


def components(A: Array, semiring: Semiring) -> Iterator[np.ndarray]:
    """The vertices of each strongly connected component of A that has a cycle, as indices.

    u and v reach each other exactly if they reach the same vertices: equal rows of the closure of A's edges, as bits.
    """
    xp, n, zero = module(A), len(A), dtypes.zero(semiring, A.dtype)
    looped = A.diagonal() != zero
    words = xp.empty((n, -(-n // 64)), np.uint64)
    rows = max(1, (1 << 20) // max(n, 1))
    for start in range(0, n, rows):
        words[start : start + rows] = BitMatrix.from_bool(A[start : start + rows] != zero).words
    reach = BitMatrix(words, (n, n))
    ops = bind(lor_land, bool, device=device_of(A))
    schedules.get("recursive")(reach, ops, block=ops.pivot)
    ops.synchronize()
    host, looped = (x if isinstance(x, np.ndarray) else x.get() for x in (reach.words, looped))
    _, label, sizes = np.unique(host, axis=0, return_inverse=True, return_counts=True)
    label = label.reshape(-1)
    order = np.argsort(label, kind="stable")
    for members in np.split(order, np.cumsum(sizes)[:-1]):
        if len(members) > 1 or looped[members[0]]:
            yield members


def _block(A: Array, members: np.ndarray, *, copies: int) -> Any:
    """The entries between these vertices, where there is memory for so many float64 matrices of that size."""
    m = len(members)
    require(8 * copies * m * m, device_of(A), where="closure", hint="To see whether a limit exists takes copies of A.")
    if m == len(A):
        return A
    index = module(A).asarray(members)
    return A[index[:, None], index[None, :]]


def _near_one(semiring: Semiring, dtype: DType, m: int) -> float:
    """`one` less the rounding of a sum of m numbers.

    On logarithms too, where one = log 1 = 0. Numbers down to eps matter for a sum near 1, and their logarithms, as
    large as |log eps|, are rounded.
    """
    eps = _eps(dtype)
    size = abs(math.log(eps)) if eps and semiring.mul.ufunc is np.add else 1.0
    return float(semiring.one) - m * eps * size


def _eps(dtype: DType) -> float:
    return float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0


def _star(value: float, semiring: Semiring) -> float:
    """The star of a number, infinite where Python's functions are not defined."""
    try:
        return float(semiring.closure_of(value))
    except (ArithmeticError, ValueError):
        return math.inf


def _sums(A: Array, semiring: Semiring, members: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The ⊕ of each row, and of each column, of entries or, where they cancel, of their absolute values.

    Of all of A, or of its entries between some vertices; a few rows at a time.
    """
    add: Any = semiring.add.ufunc
    xp, n = module(A), len(A) if members is None else len(members)
    index = None if members is None or n == len(A) else xp.asarray(members)
    by_row, by_column = xp.empty(n), xp.full(n, float(semiring.zero))
    rows = max(1, (1 << 14) // max(n, 1))
    for start in range(0, n, rows):
        i = slice(start, start + rows)
        part = (A[i] if index is None else A[index[i, None], index[None, :]]).astype(np.float64)
        if semiring.series == "real":
            xp.abs(part, out=part)
        by_row[i] = _fold(part.T, add)
        add(by_column, _fold(part, add), out=by_column)
    return host(by_row), host(by_column)


def _norm(A: Array, semiring: Semiring) -> float:
    """The lesser of the greatest row sum and the greatest column sum: an upper bound of the spectral radius."""
    return min(float(sums.max()) for sums in _sums(A, semiring))


def _fold(part: Any, add: Any) -> Any:
    """The ⊕ of all rows; by halves where ufuncs have no `reduce`, as CuPy's."""
    if isinstance(part, np.ndarray):
        return add.reduce(part, axis=0)
    while len(part) > 1:
        half = len(part) // 2
        odd = part[2 * half :]
        part = add(part[:half], part[half : 2 * half])
        if len(odd):
            part[:1] = add(part[:1], odd)
    return part[0]


def _require_rows_below_one(A: Array, members: np.ndarray, semiring: Semiring) -> None:
    """Where nothing cancels, the spectral radius is at least the least row sum, and the least column sum."""
    if semiring.add.ufunc is None:
        return
    near = _near_one(semiring, A.dtype, len(members))
    least = max(float(sums.min()) for sums in _sums(A, semiring, members))
    if not (least < near if semiring.series == "real" else _star(least, semiring) < _star(near, semiring)):
        raise _error(
            f"all rows, or all columns, of vertex {members[0]}'s component sum to {least:.9g} or more, "
            f"which is not below {semiring.one:g} beyond rounding",
            int(members[0]),
        )


def _require_spectrum(A: Array, members: np.ndarray) -> None:
    """Refuse a real matrix of m rows whose spectral radius is not below 1 by more than m · eps.

    By Gelfand's formula ρ(A) = lim ‖Aᵏ‖^(1/k), squaring A until its norm falls below ½, or its trace proves that some
    |λ| > 1, as |tr Aᵏ| ≤ m ρᵏ; for so many squarings as tell ρ from 1 within rounding.
    """
    xp, m = module(A), len(A)
    _require_memory(3 * 8 * m * m, A)  # a power, its absolute values or the next one
    power = _balanced(A.astype(np.float64))
    for _ in range(1 + math.ceil(-math.log2(m * _eps(A.dtype)))):
        norm = float(abs(power).sum(axis=1).max())
        if norm < 0.5:
            return
        if not norm < 1e150 or abs(float(xp.trace(power))) > m:
            break
        power = power @ power
    raise _error(
        f"the spectral radius of vertex {members[0]}'s strongly connected component is not below 1", int(members[0])
    )


def _balanced(A: Array) -> Any:
    """A matrix of the same eigenvalues, whose rows and columns have norms of one size; exactly, by powers of 2."""
    if float(abs(A).max()) < 1e6:
        return A
    from scipy.linalg import matrix_balance

    host = A if isinstance(A, np.ndarray) else A.get()
    with np.errstate(invalid="ignore"):  # SciPy takes factors for indices, unused ones
        return module(A).asarray(matrix_balance(host, permute=False)[0])


def _require_settled(A: Array, members: np.ndarray, semiring: Semiring) -> None:
    """Refuse a matrix whose partial sums S(k) = I ⊕ A ⊕ … ⊕ Aᵏ⁻¹ do not settle: S(2k) = S(k) ⊕ Aᵏ S(k), A²ᵏ = Aᵏ Aᵏ."""
    xp, m = module(A), len(A)
    _require_memory(7 * A.dtype.itemsize * m * m, A)  # unit, two sums, two powers, and what compares them
    ops = bind(semiring, A.dtype, device=device_of(A))
    unit = xp.full((m, m), dtypes.zero(semiring, A.dtype))
    unit[range(m), range(m)] = dtypes.one(semiring, A.dtype)
    total, power = unit.copy(), A.copy()
    for _ in range(64 if A.dtype.kind != "f" else math.ceil(-math.log2(_eps(A.dtype)))):
        doubled, more = total.copy(), xp.full((m, m), dtypes.zero(semiring, A.dtype))
        ops.gemm(doubled, power, total)
        ops.gemm(more, power, power)
        beyond = doubled.copy()
        ops.gemm(beyond, more, unit)  # S(2k) ⊕ A²ᵏ = S(2k + 1): no sums that settle on the even terms alone
        if _close(total, doubled) and _close(doubled, beyond):
            return
        total, power = doubled, more
        if A.dtype.kind == "f" and not bool((xp.isfinite(total) | (total == unit.dtype.type(semiring.zero))).all()):
            break
    raise _error(
        f"the partial sums of vertex {members[0]}'s strongly connected component do not settle", int(members[0])
    )


def _require_memory(needed: int, A: Array) -> None:
    hint = "Scale the matrix down, or close its strongly connected components one by one."
    require(needed, device_of(A), where="closure: telling whether the sum has a limit", hint=hint)


def _close(A: Array, B: Array) -> bool:
    if A.dtype.kind != "f":
        return bool((A == B).all())
    tolerance = math.sqrt(_eps(A.dtype))
    with np.errstate(invalid="ignore"):
        return bool(((A == B) | (abs(A - B) < tolerance * abs(B)) & (abs(B) < math.inf)).all())


def _error(cause: str, vertex: int) -> DivergenceError:
    return DivergenceError(
        f"closure: I ⊕ A ⊕ A² ⊕ … must have a limit, got a matrix of which {cause}. "
        "Scale the matrix down, or compute in float64 where it is float32.",
        vertex,
    )
