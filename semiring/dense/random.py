"""Random matrices over any semiring, for tests and benchmarks."""

from __future__ import annotations

import math

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.records import Semiring
from ..host.errors import AlgebraError, DTypeError
from ..host.spelling import came
from ..host.types import DType


def random_matrix(
    semiring: str | Semiring,
    shape: tuple[int, ...],
    dtype: DType,
    *,
    seed: int | np.random.Generator,
    density: float = 1.0,
) -> np.ndarray:
    """Random matrix over a semiring; if square, its closure exists.

    Parameters
    ----------
    semiring : str or Semiring
        Entries come from its `draw`, or else from those samples that do not beat `one`.
    shape : tuple of int
    dtype : dtype
        One of the semiring's.
    seed : int or numpy.random.Generator
    density : float
        Expected share of entries other than zero, 0 … 1.

    Returns
    -------
    array, in that shape and dtype

    Raises
    ------
    DTypeError, ValueError
        If the semiring is not defined on the dtype; if the density lies outside 0 … 1.
    AlgebraError
        If neither `draw` nor samples tell which entries have a closure.

    See Also
    --------
    apsp.random_graph : Graphs of exact density.
    check_axioms : The laws, on samples.

    Notes
    -----
    O(entries) time and memory.

    Examples
    --------
    >>> random_matrix("reliability", (2, 3), "float64", seed=1)
    array([[0.5 , 0.5 , 1.  ],
           [1.  , 0.25, 0.25]])
    """
    s, rng, dtype = get(semiring), np.random.default_rng(seed), np.dtype(dtype)
    if dtype.name not in s.dtypes:
        raise DTypeError(f"random_matrix: {s.name} is defined on {', '.join(s.dtypes)}, got {dtype}.")
    if not 0 <= density <= 1:
        raise ValueError(f"random_matrix: density must lie in 0 … 1, got {came(density)}.")
    entries = s.draw(rng, shape) if s.draw is not None else rng.choice(_harmless(s, dtype), shape)
    matrix: np.ndarray = np.asarray(entries).astype(dtype)
    if density < 1:
        matrix[rng.random(shape) >= density] = dtypes.zero(s, dtype)
    return matrix


def _harmless(s: Semiring, dtype: np.dtype) -> np.ndarray:
    """Samples whose cycles change nothing: 1 ⊕ a = 1."""
    if not s.idempotent:
        raise AlgebraError(
            f"random_matrix: {s.name} is not idempotent, so that not all of its matrices have a closure. Declare "
            "which: draw=lambda rng, shape: rng.random(shape) / (2 * shape[-1]), or the like."
        )
    finite = [a for a in s.samples if not (isinstance(a, float) and math.isinf(a))]
    found = [a for a in finite if s.add.python(s.one, a) == s.one and a != s.zero] or [s.one]
    return np.array([dtypes.encode(a, dtype) for a in found])
