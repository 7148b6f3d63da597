"""Matrix entries as edges, and edges combined into entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.algebra.survey import off_diagonal
from semiring.dense.cycles import Lengths
from semiring.host import memory
from semiring.host.devices import module
from semiring.host.errors import DomainError
from semiring.host.types import Array, DType, Edges

from .nulls import Nulls, without_nulls


def over(
    A: Array, s: Semiring, dtype: DType = None, *, nulls: Nulls = None, unweighted: bool = False, where: str
) -> Array:
    """A matrix or batch over a semiring, with its zero for no edge; A itself if so already."""
    if unweighted:
        return unit_lengths(A, s, dtype, nulls, where=where)
    if is_boolean(s):
        return conform(finite_entries(A, nulls), s, dtype, where=where)
    return without_nulls(conform(A, s, dtype, where=where), A, nulls, s, where=where)


def finite_entries(A: Array, nulls: Nulls = None) -> Array:
    """The mask of edges of a matrix or batch; A itself if its zeros are undeclared and ambiguous.

    Infinities on the diagonal prove nothing, as in `semiring.algebra.survey`; zeros there alone are no edges, unless an
    infinity there is none.
    """
    if A.dtype.kind == "b":
        return A
    parts = list(dtypes.chunks(A))
    ends = _infinities(A.dtype)
    if nulls is None and not any(off_diagonal(A, end) for end in ends):
        if off_diagonal(A, 0):
            return A
        nulls = () if any(bool((A[part] == end).any()) for part in parts for end in ends) else (0,)
    where = "cpu" if isinstance(A, np.ndarray) else "cuda"
    memory.require(A.size, where, where="Graph.matrix", hint="Pass a matrix of bool.")
    mask = module(A).empty(A.shape, bool)
    for part in parts:
        _refuse_nan_entries(A[part], part)
        mask[part] = present(A[part], nulls)
    return mask


def unit_dtype(n: int, s: Semiring) -> Any:
    """int16 if it holds every simple path of n vertices with unit weights, else int32."""
    lengths = Lengths.of(s)
    return np.int16 if lengths is not None and not lengths.logarithmic and n < np.iinfo(np.int16).max else np.int32


def unit_lengths(A: Array, s: Semiring, dtype: DType = None, nulls: Nulls = None, *, where: str) -> Array:
    """The matrix or batch with 1 for each edge of A and the semiring's zero elsewhere.

    `dtype` is by default `unit_dtype`, or the smallest safe one of the semiring. DTypeError for a numeric matrix other
    than 0/1, without infinities or nulls.
    """
    mask = conform(finite_entries(A, nulls), catalog.get("boolean"), where=f"{where}: unweighted")
    if is_boolean(s):
        return mask
    target = dtypes.resolve(s, dtype, unit_dtype(A.shape[-1], s), where=where)
    device = "cpu" if isinstance(A, np.ndarray) else "cuda"
    memory.require(mask.size * target.itemsize, device, where=where, hint="Use a smaller dtype.")
    out = module(A).full(A.shape, dtypes.zero(s, target), dtype=target)
    for part in dtypes.chunks(A):
        out[part][mask[part]] = 1
    return out


def present(A: Array, nulls: Nulls = None) -> Array:
    """The mask of edges: all but infinities and nulls, or the True entries."""
    if A.dtype.kind == "b":
        return A
    if nulls:
        return present(A) & (A != nulls[0])
    if A.dtype.kind == "f":
        return abs(A) != np.inf
    ends = _infinities(A.dtype)
    return (A != ends[0]) & (A != ends[1]) if ends else A >= 0  # without a sign


def _infinities(dtype: np.dtype) -> tuple[float, ...]:
    """The infinities of a numeric dtype: the ends of a signed integer; none if unsigned."""
    if dtype.kind == "f":
        return np.inf, -np.inf
    record = dtypes.SCALARS.get(dtype.newbyteorder("="))
    return tuple(record.infinities.values()) if record else ()


def listed(A: Array, s: Semiring) -> Edges:
    """The edges of a matrix, on the host; counted first, to allocate exactly."""
    zero, parts = dtypes.zero(s, A.dtype), list(dtypes.chunks(A))
    counts = [int((A[part] != zero).sum()) for part in parts]
    total = sum(counts)
    memory.require(total * (16 + A.dtype.itemsize), where="Graph.edges", hint="Keep the matrix.")
    rows, cols, weights = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, A.dtype)
    end = 0
    for part, count in zip(parts, counts, strict=True):
        rows_here = A[part]
        i, j = (rows_here != zero).nonzero()
        w = rows_here[i, j]
        i, j, w = (x if isinstance(x, np.ndarray) else x.get() for x in (i, j, w))
        here = slice(end, end + count)
        rows[here], cols[here], weights[here] = i + part[0].start, j, w
        end += count
    return rows, cols, weights


def refuse_nan_in(A: Array) -> None:
    """DomainError for NaN in a matrix, also on disk."""
    for part in dtypes.chunks(A) if A.dtype.kind == "f" else ():
        _refuse_nan_entries(A[part], part)


def _refuse_nan_entries(A: Array, part: tuple[slice, ...]) -> None:
    """DomainError for NaN; `part` is A's place in the full matrix."""
    wrong = A != A
    if wrong.any():
        index = [int(axis[0]) for axis in wrong.nonzero()]
        entry = tuple(i + (part[axis].start if axis < len(part) else 0) for axis, i in enumerate(index))
        raise DomainError(f"Graph: entries must be numbers, got NaN at {entry}. A missing edge is inf.")


def both_ways(rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> Edges:
    """Edges, and those that lead back; a loop leads back to where it began, once."""
    back = np.flatnonzero(rows != cols)
    both = np.concatenate
    return both((rows, cols[back])), both((cols, rows[back])), both((values, values[back]))


def combine(flat: np.ndarray, offsets: np.ndarray, weights: np.ndarray, s: Semiring) -> None:
    """flat[offsets] ← flat[offsets] ⊕ weights, with repeated offsets combined."""
    add = s.add
    if dtypes.SCALARS[flat.dtype].boolean:
        flat[offsets[weights]] = True
        return
    # Integer sums saturate, unlike NumPy's.
    if add.ufunc is not None and (add.selects is not None or dtypes.SCALARS[flat.dtype].floating):
        add.ufunc.at(flat, offsets, weights)
        return
    order = np.argsort(offsets, kind="stable")
    offsets, weights = offsets[order], weights[order]
    again = flat[offsets] != dtypes.zero(s, flat.dtype)
    again[1:] |= offsets[1:] == offsets[:-1]
    flat[offsets[~again]] = weights[~again]
    for index in np.flatnonzero(again):
        flat[offsets[index]] = add.python(flat[offsets[index]].item(), weights[index].item())


def is_boolean(s: Semiring) -> bool:
    return s.dtypes == ("bool",)
