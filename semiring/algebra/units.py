"""Common unit of lengths, so that their sums are exact integers."""

from __future__ import annotations

import numpy as np

from .dtypes import parts

#: Number of lengths whose gcd is tried first: it is usually 1.
CHECKED = 1000


def exact(
    lengths: np.ndarray, n: int, bits: int = 53, longest: float | None = None, *, whole: bool = False
) -> np.ndarray | None:
    """Lengths as integer multiples of a unit, such that all sums during an elimination fit `bits` bits; else None.

    longest: greatest |length|, whole: all are integers; if known.

    Examples
    --------
    >>> exact(np.array([0.5, 1.25, 10.0]), 100)
    array([ 2.,  5., 40.])
    >>> exact(np.array([0.1, 0.3]), 100)
    """
    if longest is None:
        longest = float(np.abs(lengths).max(initial=0.0))
    if not longest:
        return lengths
    unit = 0
    if 2.0 * n * longest >= 2.0**bits or not (whole or all((x == np.floor(x)).all() for x in parts(lengths))):
        mantissa, exponent = np.frexp(lengths[lengths != 0])
        digits = np.ldexp(mantissa, 53).astype(np.int64)
        unit = int((exponent - 53 + np.log2(digits & -digits).astype(np.int64)).min())
    if 2.0 * n * longest >= np.ldexp(1.0, bits + unit):
        return None
    units = np.ldexp(lengths, -unit) if unit else lengths
    common = np.gcd.reduce(units[:CHECKED].astype(np.int64))
    if common != 1:
        common = np.gcd.reduce(units.astype(np.int64))
    return units / float(common) if common != 1 else units
