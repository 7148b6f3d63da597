"""Convergence of I ⊕ A ⊕ A² ⊕ … where ⊕ is not idempotent.

Only walks round cycles are unbounded, so each strongly connected component is tested alone (an acyclic matrix is
nilpotent). Within a component,

- without cancellation, elimination itself meets an infinite star (I − A is then no M-matrix), and a spectral radius
  within rounding of 1 shows as a pivot within rounding of `one`. Rows that all sum to `one` or more tell beforehand:
  the least row sum bounds the spectral radius from below (Collatz 1942, Wielandt 1950);
- with entries of both signs, the spectral radius decides;
- over other semirings, the partial sums must settle.

"Within rounding" is m · eps for m vertices, the error bound of a sum of m numbers (on logarithms m · eps · |log eps|).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import lor_land, max_min
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, extremes
from semiring.dense.bits import packed_strips
from semiring.dense.margins import begun, greatest, margins, radius_below_one
from semiring.host.devices import host, module
from semiring.host.errors import DivergenceError
from semiring.host.memory import require
from semiring.host.types import Array, DType
from semiring.kernels.backend import bind, device_of

from .. import schedules

#: Entries of matrices whose components are found together, and the largest n for that.
TOGETHER, SMALL = 1 << 24, 512


def sums(A: Array, semiring: Semiring) -> Callable[[], np.ndarray] | None:
    """Begin the row sums of a matrix for `Series.precaution`; None on the CPU and where they tell nothing."""
    if type(A) is np.ndarray or not (
        dtypes.SCALARS[A.dtype].floating and semiring.closed and semiring.series and semiring.add.ufunc
    ):
        return None
    return begun(A[None], semiring)


class Series(NamedTuple):
    """Existence of closures over a semiring whose ⊕ sums, of matrices or batches, (n, n) or (batch, n, n).

    It raises DivergenceError, which names a vertex, and in a batch the matrix.
    """

    semiring: Semiring
    seen: Survey

    @property
    def _by_pivots(self) -> bool:
        """Whether numbers of one sign are summed: a pivot ≥ `one` then shows that there is no limit."""
        return bool(self.semiring.series) and (self.semiring.series != "real" or self.seen.nonnegative)

    def precaution(self, A: Array, rows: Callable[[], np.ndarray] | None = None) -> None:
        """Raise if A visibly has no closure, before any work; AlgebraError without star. rows: `sums`."""
        semiring, batch = self.semiring, A if A.ndim == 3 else A[None]
        undecided = np.arange(len(batch))
        if semiring.closed and dtypes.SCALARS[A.dtype].boolean:
            return
        if semiring.closed and semiring.series and semiring.add.ufunc:
            undecided = np.flatnonzero(~_sums_below_one(batch, semiring, rows))
        together = max(1, TOGETHER // max(1, A.shape[-1] ** 2))
        for start in range(0, len(undecided), together):
            index = undecided[start : start + together]
            part = batch if len(index) == len(batch) else batch[module(A).asarray(index)]
            labels = components(part, semiring)
            if semiring.closed and self._by_pivots:
                _require_rows_below_one(part, labels, semiring, index if A.ndim == 3 else None)
                continue
            for at, matrix, row in zip(index.tolist(), part, host(labels), strict=True):
                for members in _members(matrix, row, semiring):
                    self._require(matrix, members, at if A.ndim == 3 else None)

    def _require(self, A: Array, members: np.ndarray, at: int | None) -> None:
        """Raise for a strongly connected component whose series diverges, whatever cancels in it."""
        semiring = self.semiring
        if not semiring.closed:
            raise semiring.starless("closure", int(members[0]))
        which = f"of vertex {members[0]}'s strongly connected component"
        if semiring.series is None:
            if not _settles(_block(A, members, copies=8), semiring):
                raise _error(f"the partial sums {which} do not settle", int(members[0]), at)
        elif semiring.series == "real":
            rounding = len(members) * dtypes.SCALARS[A.dtype].eps
            if not radius_below_one(_block(A, members, copies=4).astype(np.float64), rounding):
                raise _error(f"the spectral radius {which} is not below 1", int(members[0]), at)

    def check(self, D: Array) -> None:
        """Raise for a closure D (or batch) whose diagonal shows a pivot ≥ `one` − rounding."""
        if dtypes.SCALARS[D.dtype].boolean:
            return
        semiring, by_pivots, way = self.semiring, self._by_pivots, self.semiring.order
        limit = _limit(semiring, D.dtype, D.shape[-1]) if by_pivots else math.inf
        signed = semiring.series == "real" and by_pivots
        lowest = 0.0 if signed else semiring.zero if semiring.series == "positive" else -sys.float_info.max
        least, most = sorted(way * x for x in extremes(D))
        if way * lowest <= least and most < limit:  # then the diagonals are, too
            return
        diagonals = host(module(D).diagonal(D, 0, -2, -1))
        batch, diagonals = (D, diagonals) if D.ndim == 3 else (D[None], diagonals[None])
        suspect = ~(np.isfinite(diagonals) & (way * diagonals < limit)).all(axis=1)
        suspect |= signed and not least >= 0
        for at in np.flatnonzero(suspect).tolist():
            self._check(batch[at], diagonals[at], limit, at if D.ndim == 3 else None)

    def _check(self, D: Array, diagonal: np.ndarray, limit: float, at: int | None) -> None:
        """Check one closure by its diagonal and, over the reals, its negative entries."""
        semiring, bad = self.semiring, np.flatnonzero(~np.isfinite(diagonal))
        if bad.size:
            raise _error(f"a closed walk at vertex {bad[0]} weighs {diagonal[bad[0]]}", int(bad[0]), at)
        if not self._by_pivots:
            return
        if semiring.series == "real":  # I − A is an M-matrix iff its inverse is nonnegative
            for part in dtypes.chunks(D):
                if bool((below := (D[part] < 0).any(axis=1)).any()):
                    vertex = part[0].start + int(below.argmax())
                    raise _error("elimination met a pivot above 1", vertex, at)
        zero = dtypes.zero(semiring, D.dtype)
        # D[v, v] is at least the star of v's pivot; the fewer vertices share cycles with v, the nearer to `one` it is.
        for vertex in np.flatnonzero(semiring.order * diagonal >= limit).tolist():
            together = int(((D[vertex] != zero) & (D[:, vertex] != zero)).sum())
            if semiring.order * diagonal[vertex] >= _limit(semiring, D.dtype, together):
                weight = f"closed walks weigh {diagonal[vertex]:g}"
                raise _error(f"a pivot at vertex {vertex} is {semiring.one:g} within rounding: {weight}", vertex, at)


def components(A: Array, semiring: Semiring) -> Array:
    """The least vertex of each strongly connected component: (batch, n, n) → int32 (batch, n), on A's device."""
    xp, (count, n, _) = module(A), A.shape
    labels = xp.empty((count, n), np.int32)
    if count > 1 and n <= SMALL:
        reach = xp.where(dtypes.zero(semiring, A.dtype) != A, np.float32(1), np.float32(0))
        bind(max_min, np.float32, device=device_of(A)).closure_batch(reach)  # its diagonal is ∞
        both = (reach > 0) & (reach.transpose(0, 2, 1) > 0)
        labels[...] = both.argmax(axis=2)
    else:
        for matrix, label in zip(A, labels, strict=True):
            _label(matrix, label, semiring)
    return labels


def _label(A: Array, labels: Array, semiring: Semiring) -> None:
    """The least vertex of each component of one matrix, by Boolean closure."""
    n, zero = len(A), dtypes.zero(semiring, A.dtype)
    rows = max(1, (1 << 20) // max(n, 1))
    reach = packed_strips((A[start : start + rows] != zero for start in range(0, n, rows)), (n, n))
    ops = bind(lor_land, bool, device=device_of(A))
    schedules.get("recursive")(reach, ops, block=ops.pivot)
    ops.synchronize()
    dense = reach.to_bool()
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        labels[part] = (dense[part] & dense[:, part].T).argmax(axis=1)


def _members(A: Array, labels: np.ndarray, semiring: Semiring) -> Iterator[np.ndarray]:
    """The vertices of each cyclic component."""
    looped = host(A.diagonal()) != dtypes.zero(semiring, A.dtype)
    sorted_by = np.argsort(labels, kind="stable")
    for members in np.split(sorted_by, np.flatnonzero(np.diff(labels[sorted_by])) + 1):
        if len(members) > 1 or looped[members].any():
            yield members


def _block(A: Array, members: np.ndarray, *, copies: int) -> Array:
    """The submatrix of these vertices, after checking memory for `copies` of it in float64."""
    m = len(members)
    require(8 * copies * m * m, device_of(A), where="closure", hint="To see whether a limit exists takes copies of A.")
    if m == len(A):
        return A
    index = module(A).asarray(members)
    return A[index[:, None], index[None, :]]


def _near_one(semiring: Semiring, dtype: DType, m: int) -> float:
    """`one` less the rounding of a sum of m numbers.

    On logarithms (one = log 1 = 0), summands down to eps matter, and their logarithms, up to |log eps|, are rounded.
    """
    eps = dtypes.SCALARS[dtype].eps
    size = abs(math.log(eps)) if eps and semiring.mul.ufunc is np.add else 1.0
    return float(semiring.one) - semiring.order * m * eps * size


def _limit(semiring: Semiring, dtype: DType, m: int) -> float:
    """Bound of a closure in ⊕'s order: the star of `one` less rounding; infinite where Python raises."""
    try:
        return semiring.order * float(semiring.closure_of(_near_one(semiring, dtype, m)))
    except (ArithmeticError, ValueError):
        return semiring.order * math.inf


def _sums_below_one(A: Array, semiring: Semiring, rows: Callable[[], np.ndarray] | None) -> np.ndarray:
    """Mask of matrices whose row (or column) sums are all below `one`, and so is the spectral radius."""
    near, way = _near_one(semiring, A.dtype, A.shape[-1]), semiring.order
    found: np.ndarray = way * (rows() if rows else greatest(A, semiring)) < way * near
    if not found.all():
        found |= way * greatest(A, semiring, columns=True) < way * near
    return found


def _require_rows_below_one(A: Array, labels: Array, semiring: Semiring, index: np.ndarray | None) -> None:
    """Without cancellation, the least row or column sum bounds the spectral radius from below."""
    if semiring.add.ufunc is None:
        return
    way, (count, n) = semiring.order, labels.shape
    component = (host(labels) + n * np.arange(count)[:, None]).reshape(-1)
    size, least = np.bincount(component, minlength=count * n), np.full(count * n, -np.inf)
    for sums in margins(A, semiring, labels):
        lowest = np.full(count * n, np.inf)
        np.minimum.at(lowest, component, way * sums.reshape(-1))
        least = np.maximum(least, lowest)
    near = np.array([way * _near_one(semiring, A.dtype, m) for m in range(n + 1)])
    bad = np.flatnonzero((size > 0) & ~(least < near[size]))
    if bad.size:
        at, first = divmod(int(bad[0]), n)
        raise _error(
            f"all rows, or all columns, of vertex {first}'s component sum to {way * least[bad[0]]:.9g} or more, "
            f"which is not below {semiring.one:g} beyond rounding",
            first,
            None if index is None else int(index[at]),
        )


def _settles(A: Array, semiring: Semiring) -> bool:
    """Whether S(k) = I ⊕ A ⊕ … ⊕ Aᵏ⁻¹ settles, by S(2k) = S(k) ⊕ Aᵏ S(k), A²ᵏ = Aᵏ Aᵏ."""
    xp, m = module(A), len(A)
    ops = bind(semiring, A.dtype, device=device_of(A))
    unit = xp.full((m, m), dtypes.zero(semiring, A.dtype))
    unit[range(m), range(m)] = dtypes.one(semiring, A.dtype)
    total, power = unit.copy(), A.copy()
    for _ in range(math.ceil(-math.log2(dtypes.SCALARS[A.dtype].eps or 2.0**-64))):
        doubled, more = total.copy(), xp.full((m, m), dtypes.zero(semiring, A.dtype))
        ops.gemm(doubled, power, total)
        ops.gemm(more, power, power)
        beyond = doubled.copy()
        ops.gemm(beyond, more, unit)  # S(2k + 1) = S(2k) ⊕ A²ᵏ excludes sums that settle only at even k
        if _close(total, doubled) and _close(doubled, beyond):
            return True
        total, power = doubled, more
        if dtypes.SCALARS[A.dtype].floating and not bool(
            (xp.isfinite(total) | (total == unit.dtype.type(semiring.zero))).all()
        ):
            break
    return False


def _close(A: Array, B: Array) -> bool:
    if not dtypes.SCALARS[A.dtype].floating:
        return bool((A == B).all())
    tolerance = math.sqrt(dtypes.SCALARS[A.dtype].eps)
    with np.errstate(invalid="ignore"):
        return bool(((A == B) | (abs(A - B) < tolerance * abs(B)) & (abs(B) < math.inf)).all())


def _error(cause: str, vertex: int, at: int | None) -> DivergenceError:
    which = "" if at is None else f" It is matrix {at} of the batch."
    return DivergenceError(
        f"closure: I ⊕ A ⊕ A² ⊕ … must have a limit, got a matrix of which {cause}. "
        f"Scale the matrix down, or compute in float64 where it is float32.{which}",
        vertex,
    )
