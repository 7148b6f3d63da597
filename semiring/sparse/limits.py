"""Existence of A*: by the pivots; where entries cancel, by the spectral radius of each strong component."""

from __future__ import annotations

import math

import numpy as np

from ..algebra import dtypes
from ..algebra.records import Semiring
from ..dense.margins import radius_below_one
from ..host.errors import DivergenceError, NegativeCycleError, SemiringError

#: Largest component checked by a dense matrix.
LARGEST = 2000


def worst_pivot(diagonal: np.ndarray, semiring: Semiring, vertices: int) -> tuple[int, float] | None:
    """Column whose diagonal entry of D shows most clearly that A* does not exist, and its gap; None if A* exists.

    Where ⊕ is idempotent, D's diagonal is `one` unless a closed walk beats it; the walk's last vertex shows it.
    Elsewhere it is the star of a pivot, which diverges from `one` on, within the rounding of a sum of `vertices` terms;
    a semiring without a star has only that of `zero`, which is `one`.
    """
    one = float(dtypes.one(semiring, diagonal.dtype))
    if semiring.idempotent:
        if (diagonal == one).all():
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(diagonal == one, 0.0, np.abs(diagonal.astype(np.float64) - one))
    elif not semiring.closed:  # no cycle has a star
        gap = np.where(diagonal == one, 0.0, math.inf)
    elif not dtypes.SCALARS[diagonal.dtype].floating:
        return None
    else:
        with np.errstate(invalid="ignore"):
            gap = np.where(
                np.isfinite(diagonal), np.where(diagonal < _most(semiring, diagonal, vertices), 0.0, 1), math.inf
            )
    gap = np.where(np.isnan(gap), math.inf, gap)
    worst = int(gap.argmax()) if len(gap) else 0
    return (worst, float(gap[worst])) if len(gap) and gap[worst] else None


def _most(semiring: Semiring, diagonal: np.ndarray, vertices: int) -> float:
    """Star of the greatest number below `one` beyond rounding; ∞ where the semiring has no series."""
    if semiring.series is None:
        return math.inf
    eps = dtypes.SCALARS[diagonal.dtype].eps
    size = abs(math.log(eps)) if semiring.mul.ufunc is np.add else 1.0  # logarithms near eps are rounded as large ones
    return float(semiring.closure_of(float(semiring.one) - vertices * eps * size))


def error(semiring: Semiring, vertex: int, gap: float) -> SemiringError:
    if not semiring.closed:
        return semiring.starless("eliminate", vertex)
    where = f"eliminate: the closure over {semiring.name} does not exist: "
    if not semiring.idempotent:
        return DivergenceError(
            f"{where}the sum over all closed walks at vertex {vertex} has no limit. Scale the weights down.", vertex
        )
    kind = NegativeCycleError if semiring.lengths and semiring.add.selects == "least" else DivergenceError
    return kind(
        f"{where}a closed walk at vertex {vertex} beats one = {semiring.one} by {gap:g}. "
        "Remove the cycle, or check the sign and scale of the weights.",
        vertex,
    )


def require_spectrum(tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, n: int) -> None:
    """Raise DivergenceError for a real matrix with entries of both signs unless its spectral radius is below 1.

    By strongly connected component, as an acyclic matrix is nilpotent: ρ(A) ≤ ‖A‖ < 1, or by Gelfand's formula, ρ(A) =
    lim ‖Aᵏ‖^(1/k), on a dense copy.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    nonzero = weights != 0  # a stored zero joins nothing
    tails, heads, weights = tails[nonzero], heads[nonzero], weights[nonzero]
    A = csr_array(coo_array((weights.astype(np.float64), (tails, heads)), shape=(n, n)))  # duplicates are added up
    _, label = connected_components(A, connection="strong")
    inside = label[tails] == label[heads]
    A = csr_array(coo_array((weights[inside].astype(np.float64), (tails[inside], heads[inside])), shape=(n, n)))
    sums = [np.asarray(abs(A).sum(axis=axis)).ravel() for axis in (0, 1)]
    rounding = dtypes.SCALARS[weights.dtype].eps
    for component in np.unique(label[tails[inside]]).tolist():
        members = np.flatnonzero(label == component)
        if min(float(s[members].max()) for s in sums) < 1 - len(members) * rounding:
            continue
        if len(members) > LARGEST:
            raise DivergenceError(
                f"eliminate: the spectral radius must be below 1, got entries of both signs in a strongly connected "
                f"component of {len(members)} vertices, where it is not looked for. Scale the weights down until all "
                "rows sum to less than 1, or pass check=False if you know it.",
                int(members[0]),
            )
        if not radius_below_one(A[members][:, members].toarray(), len(members) * rounding):
            raise DivergenceError(
                "eliminate: the spectral radius must be below 1 for I + A + A² + … to have a limit, got one of at "
                f"least 1 in the strongly connected component of vertex {members[0]}. Scale the weights down.",
                int(members[0]),
            )
