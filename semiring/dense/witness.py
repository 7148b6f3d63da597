"""(C, K) ← A ⊗ B with the smallest k that attains each entry, on NumPy or CuPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algebra.catalog import max_min, min_plus
from ..algebra.records import Semiring
from ..algebra.selection import require_selection
from ..algebra.shifting import shift_of
from ..algebra.survey import Survey, fast, surveys
from ..host import memory
from ..host.arrays import share_memory
from ..host.devices import module, to_device
from ..host.errors import ShapeError
from ..host.types import Array, DType
from ..kernels.backend import bind, device_of
from .product import Factors, check_result, common, each, product_shape

#: Dtype of K, as of predecessors; and of keys, lengths with k in their lowest bits.
INDEX, KEY = np.dtype(np.int32), np.dtype(np.int32)


def multiplied(
    A: Array, B: Array, s: Semiring, out: Sequence[Array] = (None, None), *, dtype: DType = None,
    device: str | None = None, threads: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """`matmul(…, witness=True)` of NumPy or CuPy arrays, each result into `out` or new memory."""
    require_selection(s, where="matmul: witness=True")
    shape = product_shape(A, B)
    A, B = common((A, B), s, dtype, where="matmul")
    for array, kind in zip(out, (A.dtype, INDEX), strict=True):
        if array is not None:
            check_result(array, A, shape, kind)
    if out[0] is not None and out[1] is not None and share_memory(*out):
        raise ShapeError("matmul: out must be two arrays, one for C and one for K, got one memory for both.")
    home, there = device_of(A), device_of(A, device)
    found = _product(Factors(to_device(A, there), to_device(B, there), s, shape, there, threads))
    found = to_device(found[0], home), to_device(found[1], home)
    for array, result in zip(out, found, strict=True):
        if array is not None:
            array[...] = result
    C, K = (result if array is None else array for array, result in zip(out, found, strict=True))
    return C, K


def _product(factors: Factors) -> tuple[Array, Array]:
    s, dtype = factors.semiring, factors.A.dtype
    if s.boolean:  # as numbers with −∞ for False
        numbers, absent = [X.astype(np.int16) for X in factors[:2]], np.int16(np.iinfo(np.int16).min)
        left, right = (X + (np.int16(1) - X) * absent for X in numbers)
        C, K = _product(factors._replace(A=left, B=right, semiring=max_min))
        return module(C).asarray(C > 0), K
    looks = surveys(factors[:2], s, where="matmul")()
    left, right, (C, K) = factors.as_matrices(dtype, INDEX)
    ops: Any = factors.bind(nonnegative=all(fast(x, s, dtype, 2) for x in looks))
    for X, W, Y, Z in each((C, K), left, right):
        if factors.device == "cpu" or not _by_keys(X, W, Y, Z, s, looks):
            ops.matmul_with_witness(X, W, Y, Z)
    return C.reshape(factors.shape), K.reshape(factors.shape)


def _by_keys(C: Array, K: Array, A: Array, B: Array, s: Semiring, looks: list[Survey]) -> bool:
    """C and K by one int32 product of keys on a GPU: length · 2^b + k; False if keys do not fit.

    The least key has the least sum and, among those, the smallest k.
    """
    factor = 1 << max(0, len(B) - 1).bit_length()
    infinity = np.iinfo(KEY).max // factor
    shift = shift_of(A, B, looks, s) if A.size and B.size else None
    if shift is None or shift.longest >= infinity:
        return False
    size = (A.size + B.size + 2 * C.size) * KEY.itemsize
    memory.require(size, "cuda", where="matmul", hint="Use a smaller dtype, or multiply in parts.")
    a, b = (shift.lengths(X, by, KEY, infinity) for X, by in ((A, shift.left), (B, shift.right)))
    a *= KEY.type(factor)
    b *= KEY.type(factor)
    b += module(B).arange(len(B), dtype=KEY)[:, None]
    keys = np.empty_like(C, KEY)
    bind(min_plus, KEY, device="cuda", nonnegative=True).matmul(keys, a, b)
    lengths = keys // KEY.type(factor)
    K[...] = np.where(lengths >= infinity, KEY.type(-1), keys & KEY.type(factor - 1))
    shift.restore(C, lengths, infinity)
    return True
