"""C ← A ⊗ B with sparse operands: shapes, dtypes, device, masks and accumulation."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...algebra import dtypes
from ...algebra.conversion import conform
from ...algebra.records import Semiring
from ...algebra.saturation import holding, narrowed, widened
from ...algebra.survey import survey
from ...dense import product
from ...host import memory
from ...host.arrays import Taken, check_out, consistent, refuse_masked, take_in
from ...host.devices import is_plain, module, on_device, to_device
from ...host.errors import DTypeError, ShapeError
from ...host.signals import load
from ...host.types import Array, DType, Matrix
from ...kernels.backend import device_of
from .matrix import CSR, as_csr, common_dtype, is_sparse, stacked

_log = logging.getLogger("semiring")
#: Density from which a dense matrix is smaller and faster to multiply.
FULL = 0.25
HINT = "Use a smaller dtype, or multiply in parts."


def multiplied(
    A: Matrix, B: Matrix, s: Semiring, out: Matrix = None, *, mask: Matrix = None, complement: bool = False,
    accumulate: bool = False, dtype: DType = None, device: str | None = None, threads: int | None = None,
    where: str = "matmul",
) -> Matrix:  # fmt: skip
    """`matmul` with a sparse operand: sparse if both are, else of the dense operand's kind."""
    plain = mask is None and out is None and not (complement or accumulate)
    if plain and (C := _as_they_came(A, B, s, dtype, device, threads, where)) is not None:
        return C
    a = _operand(A, where)
    b = a if B is A else _operand(B, where)
    left, right = _shape(a), _shape(b)
    if (len(left), len(right)) not in ((2, 2), (2, 1), (1, 2)) or left[-1] != right[0]:
        raise ShapeError(
            f"{where}: two matrices, or a matrix and a vector, whose inner sizes match are required where one is "
            f"sparse, got A {left} and B {right}."
        )
    if accumulate and out is None:
        raise ShapeError(f"{where}: accumulate=True must have an array to add to, got out=None. Pass out=C.")
    if complement and mask is None:
        raise ShapeError(f"{where}: complement=True must have a mask, got mask=None.")
    if isinstance(_entries(a), np.ndarray) != isinstance(_entries(b), np.ndarray):
        raise DTypeError(f"{where}: both operands must be on the CPU or both on a GPU, got one of each. Move one.")
    dtype = common_dtype(s, dtype, _entries(a), _entries(b), where=where)
    with on_device(_entries(a)):
        target = device_of(_entries(a), device)
        shape = (*left[:-1], *right[1:])
        x = _conformed(a, s, dtype, target, where)
        y = x if b is a else _conformed(b, s, dtype, target, where)
        if isinstance(a, CSR) and isinstance(b, CSR):
            allowed = None if mask is None else _sparse_mask(mask, shape, where).move(target)
            C = product_of(x, y, s, allowed, complement, threads, where)
            return _given_back(C, a, out, s, accumulate, threads, where)
        dense = b if isinstance(a, CSR) else a
        allowed = None if mask is None else _dense_mask(mask, shape, complement, where)
        Y = _with_dense(x, y, s, shape, allowed, threads, where)
        return _put(Y, dense, out, s, accumulate, threads, where)


def product_of(A: CSR, B: CSR, s: Semiring, mask: CSR | None, complement: bool, threads: int | None, where: str) -> CSR:
    """A ⊗ B on one device, at the mask's positions, or with `complement` at all others."""
    multiply = load(f"semiring.kernels.{A.device}.csr.backend").multiply
    starts, indices, data = multiply(A, B, s, mask, complement, threads, where)
    return CSR((A.shape[0], B.shape[1]), starts, indices, data, A.source)


def added(A: CSR, B: CSR, s: Semiring, threads: int | None, where: str) -> CSR:
    """A ⊕ B = [I I] ⊗ [A; B], on one device."""
    m, xp = A.shape[0], module(A.data)
    entries, size = len(A.indices) + len(B.indices), A.data.dtype.itemsize
    # Stacked entries and sums; [I I], and the row counts.
    needed = 2 * entries * (size + A.indices.dtype.itemsize) + m * (2 * size + 64)
    memory.require(needed, A.device, where=where, hint=HINT)
    units = xp.full(2 * m, dtypes.one(s, A.data.dtype), A.data.dtype)
    both = xp.arange(2 * m, dtype=dtypes.index_dtype(2 * m)).reshape(2, m).T.ravel()
    sums = CSR((m, 2 * m), 2 * xp.arange(m + 1, dtype=xp.int64), xp.ascontiguousarray(both), units, A.source)
    return product_of(sums, stacked(A, B), s, None, False, threads, where)


def reduced(A: CSR, s: Semiring, threads: int | None, where: str) -> Matrix:
    """Row sums: A ⊗ 1, with one shared entry 1."""
    xp = module(A.data)
    unit = xp.full((1, 1), dtypes.one(s, A.data.dtype), A.data.dtype)
    first = replace(A, indices=xp.zeros(len(A.indices), xp.int32))
    return _gathered(first, unit, s, True, threads, where)[:, 0]


def powered(A: Matrix, k: int, s: Semiring, dtype: DType, device: str | None, threads: int | None) -> Matrix:
    """`power` of a sparse matrix: sparse until it fills, then dense."""
    taken = as_csr(A, where="power")
    with on_device(taken.data):
        dtype = common_dtype(s, dtype, taken.data, where="power")
        base: Any = taken.conformed(s, dtype, where="power")
        own, wide = base.data.dtype, holding([base.data], s, where="power", times=k)
        base = base if wide == own else replace(base, data=widened(base.data, wide, s))
        base = base.move(device_of(taken.data, device))
        result, n = None, taken.shape[0]
        if k < 2:
            xp = module(base.data)
            unit = xp.full(n, dtypes.one(s, base.data.dtype), base.data.dtype)
            eye = CSR(base.shape, xp.arange(n + 1, dtype=xp.int64), xp.arange(n, dtype=dtypes.index_dtype(n)), unit, A)
            # A may have duplicates, and the result must not share its memory.
            result, k = product_of(eye, base, s, None, False, threads, "power") if k else eye, 0
        exponent = 1
        while k:
            if k & 1:
                result = base if result is None else _power_step(result, base, s, threads, f"A^{exponent}")
            k >>= 1
            exponent *= 2
            if k:
                base = _power_step(base, base, s, threads, f"A^{exponent}")
        if isinstance(result, CSR):
            result = result if wide == own else replace(result, data=narrowed(result.data, own))
            return result.move(taken.device).give_back(where="power")
        result = result if wide == own else narrowed(result, own)
        return to_device(result, taken.device)


def _power_step(A: Matrix, B: Matrix, s: Semiring, threads: int | None, name: str) -> Matrix:
    """One product of a power; dense where it fills."""
    if not isinstance(A, CSR) and not isinstance(B, CSR):
        return product.multiplied(A, B, s, threads=threads)
    if not isinstance(A, CSR) or not isinstance(B, CSR):
        return _with_dense(A, B, s, (A.shape[0], B.shape[1]), None, threads, "power")
    C = product_of(A, B, s, None, False, threads, "power")
    share = len(C.indices) / max(1, C.shape[0] * C.shape[1])
    if share < FULL:
        return C
    _log.info("power: %s has %.0f %% of its entries, and is dense from here", name, 100 * share)
    return C.dense(s, where="power")


# Operands


def _operand(source: Matrix, where: str) -> Matrix:
    return as_csr(source, where=where) if is_sparse(source) else take_in(source, where=where)


def _shape(operand: Matrix) -> tuple[int, ...]:
    return operand.shape if isinstance(operand, CSR) else operand.array.shape


def _entries(operand: Matrix) -> Matrix:
    return operand.data if isinstance(operand, CSR) else operand.array


def _conformed(operand: Matrix, s: Semiring, dtype: DType, device: str, where: str) -> Matrix:
    """Operand in the product's dtype and device; dense ones as arrays."""
    if isinstance(operand, CSR):
        return operand.conformed(s, dtype, where=where).move(device)
    array = conform(operand.array, s, dtype, where=where)
    survey(array, s, where=where)
    return to_device(array, device)


def _sparse_mask(mask: Matrix, shape: tuple[int, ...], where: str) -> CSR:
    """Mask positions: True entries of a Boolean array, or entries of a sparse mask."""
    _require_shape(mask, shape, where)
    if is_sparse(mask):
        return as_csr(mask, where=f"{where}: mask").pattern()
    array = _boolean(mask, where)
    xp = module(array)
    columns = array.nonzero()[1].astype(dtypes.index_dtype(shape[1]))
    starts = xp.zeros(shape[0] + 1, xp.int64)
    xp.cumsum(array.sum(1), out=starts[1:])
    return CSR(array.shape, starts, columns, xp.ones(len(columns), bool), None)


def _dense_mask(mask: Matrix, shape: tuple[int, ...], complement: bool, where: str) -> Matrix:
    """Mask of a dense product as bools, on its own device."""
    _require_shape(mask, shape, where)
    if is_sparse(mask):
        found = as_csr(mask, where=f"{where}: mask").pattern()
        xp = module(found.data)
        array = xp.zeros(shape, bool)
        array[found.rows(), found.indices] = True
    else:
        array = _boolean(mask, where)
    return ~array if complement else array


def _require_shape(mask: Matrix, shape: tuple[int, ...], where: str) -> None:
    if (came := tuple(mask.shape if is_sparse(mask) else np.shape(mask))) != shape:
        raise ShapeError(f"{where}: mask must have the product's shape {shape}, got {came}.")


def _boolean(mask: Matrix, where: str) -> Matrix:
    refuse_masked(mask, where=f"{where}: mask", way="mask.filled(False)")
    array = take_in(mask, where=f"{where}: mask").array
    if array.dtype.kind != "b":
        raise DTypeError(f"{where}: a dense mask must be of truth values, got {array.dtype}. Pass mask != 0, say.")
    return array


# Products with a dense operand


def _as_they_came(
    A: Matrix, B: Matrix, s: Semiring, dtype: DType, device: str | None, threads: int | None, where: str
) -> Matrix:
    """A ⊗ B with the operands checked by the product itself.

    None unless A is csr, and B a vector or, on a GPU, csr, both of one float dtype in one library; or if one of them
    needs a longer look.
    """
    vector = is_plain(B) and B.ndim == 1
    if getattr(A, "format", None) != "csr" or not (vector or getattr(B, "format", None) == "csr"):
        return None
    entries = B if vector else B.data
    alike = type(entries) is type(A.data) and entries.dtype == A.dtype and (A.ndim, A.shape[-1]) == (2, B.shape[0])
    if not alike or entries.dtype.kind != "f" or common_dtype(s, dtype, entries, where=where) != entries.dtype:
        return None
    if device not in (None, "cpu" if type(entries) is np.ndarray else "cuda"):
        return None
    if type(entries) is np.ndarray:
        return _on_host(A, B, s, threads, where) if vector else None
    return None if threads is not None else _on_gpu(A, B, s, where)


def _on_host(A: Any, x: np.ndarray, s: Semiring, threads: int | None, where: str) -> Any:
    if not consistent(A, indices=False, pointers=False) or not A.data.flags.writeable:
        return None
    entries = CSR(A.shape, A.indptr.astype(np.int64, copy=False), A.indices, A.data, A)
    cpu, x, every = load("semiring.kernels.cpu.csr.backend"), np.ascontiguousarray(x), s.domain == (-math.inf, math.inf)
    if not every or not cpu.finite(x, 0, len(x)):
        survey(x, s, where=where)
    memory.require(A.shape[0] * x.itemsize, where=where, hint=HINT)
    y = np.empty(A.shape[0], x.dtype)
    looked = cpu.gather_column(entries, x, y, s, mirrored=True, threads=threads, where=where, looks=True)
    if looked is None:
        return None
    if not looked or not every:
        survey(A.data, s, where=f"{where}: the stored entries of a sparse matrix")
    return y


def _on_gpu(A: Matrix, B: Matrix, s: Semiring, where: str) -> Matrix:
    matrices = [A, B] if B is not A and is_sparse(B) else [A]
    arrays = [Y for X in matrices for Y in (X.indptr, X.indices, X.data)] + ([] if is_sparse(B) else [B])
    if not all(is_plain(X) and X.flags.c_contiguous for X in arrays):
        return None
    if len({X.data.device_id for X in arrays}) > 1 or not all(_readable(X) for X in matrices):
        return None
    backend = load("semiring.kernels.cuda.csr.backend")
    with on_device(A.data):
        if not is_sparse(B):
            memory.require(A.shape[0] * B.itemsize, "cuda", where=where, hint=HINT)
            return backend.gather_vector(A, B, s)
        a, b = (CSR(X.shape, X.indptr, X.indices, X.data, X) for X in (A, B))
        found = backend.multiply_checked(a, a if B is A else b, s, where)
        if found is None:
            return None
        starts, entries, data = found
        return CSR((A.shape[0], B.shape[1]), starts, entries, data, A).give_back(where=where)


def _readable(A: Matrix) -> bool:
    """Whether a kernel can check the entries of A."""
    fit = len(A.indptr) == A.shape[0] + 1 and len(A.indices) == len(A.data) > 0 and max(A.shape) < (1 << 31) - 1
    return fit and all(X.dtype in (np.int32, np.int64) for X in (A.indptr, A.indices))


def _with_dense(
    A: Matrix, B: Matrix, s: Semiring, shape: tuple[int, ...], allowed: Any, threads: int | None, where: str
) -> Matrix:
    """A ⊗ B with one dense operand; zero at positions that the mask excludes."""
    if isinstance(A, CSR):
        X = B[:, None] if B.ndim == 1 else B
        Y = _masked(A, X, s, True, allowed, threads, where)
        return Y.reshape(shape)
    X = A[None, :] if A.ndim == 1 else A
    turned = None if allowed is None else allowed.reshape(X.shape[0], B.shape[1]).T
    Y = _masked(B.transposed(), X.T, s, False, turned, threads, where).T
    return module(Y).ascontiguousarray(Y).reshape(shape)


def _masked(A: CSR, X: Array, s: Semiring, mirrored: bool, allowed: Any, threads: int | None, where: str) -> Matrix:
    """`_gathered` restricted to rows with allowed entries."""
    if allowed is None:
        return _gathered(A, X, s, mirrored, threads, where)
    xp = module(A.data)
    allowed = xp.asarray(allowed).reshape(A.shape[0], X.shape[1])
    rows = allowed.any(1).nonzero()[0]
    Y = xp.full((A.shape[0], X.shape[1]), dtypes.zero(s, A.data.dtype), A.data.dtype)
    found = _gathered(A.take(rows), X, s, mirrored, threads, where)
    Y[rows] = xp.where(allowed[rows], found, dtypes.zero(s, A.data.dtype))
    return Y


def _gathered(A: CSR, X: Array, s: Semiring, mirrored: bool, threads: int | None, where: str) -> Matrix:
    """A ⊗ X; with mirrored=False the operands of ⊗ are swapped."""
    xp, device = module(A.data), A.device
    if A.indices.dtype != np.int32:
        raise ShapeError(f"{where}: a dense operand must have less than 2³¹ rows, got {A.shape[1]}.")
    memory.require(A.shape[0] * X.shape[1] * A.data.dtype.itemsize, device, where=where, hint=HINT)
    Y = xp.empty((A.shape[0], X.shape[1]), A.data.dtype)
    gather = load(f"semiring.kernels.{device}.csr.backend").gather
    gather(A, xp.ascontiguousarray(X), Y, s, mirrored=mirrored, threads=threads, where=where)
    return Y


# Results


def _given_back(C: CSR, a: CSR, out: Matrix, s: Semiring, accumulate: bool, threads: int | None, where: str) -> Matrix:
    """Sparse product in kind; with `out`, its arrays are replaced."""
    if out is None:
        return C.move(a.device).give_back(where=where)
    if not is_sparse(out) or out.format != "csr" or tuple(out.shape) != C.shape or out.dtype != C.data.dtype:
        shown = f"{out.format} of shape {out.shape} in {out.dtype}" if is_sparse(out) else type(out).__name__
        raise ShapeError(
            f"{where}: out must be a csr matrix of shape {C.shape} in {C.data.dtype}, as two sparse operands have a "
            f"sparse product, got {shown}."
        )
    if accumulate:
        old = as_csr(out, where=where).conformed(s, C.data.dtype, where=where)
        C = added(old.move(C.device), C, s, threads, where)
    made = replace(C, source=out).move(a.device).give_back(where=where)
    out.data, out.indices, out.indptr = made.data, made.indices, made.indptr
    for flag in ("has_sorted_indices", "has_canonical_format"):
        out.__dict__.pop(f"_{flag}", None)
    return out


def _put(Y: Array, dense: Taken, out: Matrix, s: Semiring, accumulate: bool, threads: int | None, where: str) -> Matrix:
    """Dense product in kind; with `out`, stored or accumulated there."""
    Y = to_device(Y, device_of(dense.array))
    if out is None:
        return dense.give_back(Y, where=where)
    output = take_in(out, where=where)
    if output.unwritable or output.made:
        raise DTypeError(
            f"{where}: out must be an array of {Y.dtype} to write to, got {output.unwritable or out.dtype}."
        )
    check_out(output.array, Y.shape, Y.dtype, where=where)
    if accumulate:
        unit = module(Y).full((1, 1), dtypes.one(s, Y.dtype), Y.dtype)
        flat = module(Y).ascontiguousarray(output.array).reshape(1, -1).copy()
        Y = product.multiplied(unit, Y.reshape(1, -1), s, flat, accumulate=True, threads=threads).reshape(Y.shape)
    output.array[...] = Y
    return output.give_back(output.array, where=where)
