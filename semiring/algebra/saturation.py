"""Integers that saturate midway: with both signs, ⊗ of several may leave the dtype and return to a wrong number.

Such products are computed in a wider dtype, and clamped to the ends of the original one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..host import memory
from ..host.devices import module
from ..host.errors import DomainError
from ..host.types import Array
from . import dtypes
from .records import Semiring

#: Advice where no integer dtype is wide enough.
FLOATS = "Pass floats, which round; a missing edge is then infinite."


def extremes(A: Array, s: Semiring) -> tuple[int, int]:
    """Least and greatest of integers and 0, without the semiring's zero."""
    return dtypes.hull(A, (dtypes.zero(s, A.dtype),))


def wider(most: int, s: Semiring) -> np.dtype | None:
    """Narrowest integer dtype of the semiring for ±most besides its ends; None if there is none."""
    records = (dtypes.SCALARS[t] for t in dtypes.of(s))
    return next((np.dtype(x.name) for x in records if x.integer and x.signed and most < x.high), None)


def holding(factors: Sequence[Array], s: Semiring, *, where: str, times: int = 1) -> np.dtype:
    """Dtype in which ⊗ of an entry of each factor, `times` over, is exact or beyond its end.

    The factors' own for two entries or a single sign: a value beyond an end stays there. DomainError if none is wide
    enough.
    """
    dtype: np.dtype = factors[0].dtype
    if not dtypes.SCALARS[dtype].integer or not s.mul.saturating or len(factors) * times < 3:
        return dtype
    ends = [extremes(X, s) for X in factors]
    if min(low for low, _ in ends) == 0 or (s.mul.ufunc is np.add and max(high for _, high in ends) == 0):
        return dtype
    sizes = [max(-low, high) for low, high in ends]
    most = sum(sizes) * times if s.mul.ufunc is np.add else math.prod(sizes) ** min(times, 64)
    if most < dtypes.SCALARS[dtype].high:
        return dtype
    found = wider(most, s)
    if found is None:
        raise DomainError(
            f"{where}: integers of both signs must have products over {s.name} that fit {dtype}, got entries "
            f"whose products of {len(factors) * times} may reach ±{most:.3g}. {FLOATS}"
        )
    return found


def widened(A: Array, dtype: np.dtype, s: Semiring) -> Array:
    """Integers in a wider dtype, with its zero for the semiring's zero."""
    memory.require(
        A.size * dtype.itemsize,
        "cpu" if isinstance(A, np.ndarray) else "cuda",
        where=f"integers that may saturate: a copy in {dtype}",
        hint=f"Pass {dtype}, or fewer at a time.",
    )
    out, zero = module(A).empty(A.shape, dtype), dtypes.zero(s, A.dtype)
    for index in dtypes.chunks(A):
        part = A[index].astype(dtype)
        part[A[index] == zero] = dtypes.zero(s, dtype)
        out[index] = part
    return out


def narrowed(D: Array, dtype: np.dtype, out: Array = None) -> Array:
    """Integers clamped to a narrower dtype, into `out` or new memory."""
    record = dtypes.SCALARS[dtype]
    out = module(D).empty(D.shape, dtype) if out is None else out
    for index in dtypes.chunks(D):
        out[index] = D[index].clip(record.low, record.high)
    return out


def compares(s: Semiring) -> bool:
    """Whether ⊕ and ⊗ both select by order, so that they commute with order-preserving maps."""
    return {s.add.ufunc, s.mul.ufunc} == {np.minimum, np.maximum}


def compressed(A: Array, dtype: np.dtype) -> Array:
    """Integers in a narrower dtype, ends mapped to ends; None if others do not fit."""
    out = narrowed(A, dtype)
    return out if bool((expanded(out, A.dtype) == A).all()) else None


def expanded(D: Array, dtype: np.dtype, out: Array = None) -> Array:
    """Integers in a wider dtype, ends mapped to ends, into `out` or new memory."""
    few, many = dtypes.SCALARS[D.dtype].infinities, dtypes.SCALARS[dtype].infinities
    out = module(D).empty(D.shape, dtype) if out is None else out
    out[...] = D
    for x, end in few.items():
        out[D == end] = many[x]
    return out
