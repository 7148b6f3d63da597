"""Products of small plain matrices: kernels chosen once per semiring, dtype, shapes and device; entries seen each time.

Choosing takes many times as long as a small product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.records import Semiring
from ..algebra.survey import fast, survey, surveys
from ..host.devices import current, is_plain
from ..host.memory import LEAST, granted
from ..host.types import Algebra, Array
from ..kernels.backend import bind
from .product import while_looking

#: Pairs (m n k) and bytes of a product that is small, by device; a larger one is worth a choice by its entries.
PAIRS, BYTES = {"cpu": 1 << 19, "cuda": 1 << 30}, {"cpu": LEAST, "cuda": 1 << 26}


def multiplied(A: Array, B: Array, semiring: Algebra) -> Array:
    """A ⊗ B in new memory; None unless small, contiguous matrices of one dtype of the semiring, on one device."""
    if type(A) is not type(B) or not is_plain(A) or A.dtype != B.dtype or A.ndim != 2 or B.ndim != 2:
        return None
    (m, k), (depth, n) = A.shape, B.shape
    if k != depth or not (A.flags.c_contiguous and B.flags.c_contiguous):
        return None
    s = get(semiring)
    if type(A) is np.ndarray:
        choice = _on_host(s, A.dtype, m, n, k) if A.flags.aligned and B.flags.aligned else None
    else:
        device = current()
        there = A.data.device_id == device == B.data.device_id
        choice = _on_device(s, A.dtype, m, n, k, device) if there else None
    return choice and choice(A, B)


def _kernel(
    s: Semiring, dtype: np.dtype, m: int, n: int, k: int, device: str
) -> Callable[[bool], Callable[..., None]] | None:
    """C ← A ⊗ B, chosen by whether no operand has negative entries; None if not small."""
    small = 0 < m * n * k <= PAIRS[device] and m * n * dtype.itemsize <= BYTES[device]
    if dtype not in dtypes.of(s) or s.boolean or not small:
        return None

    @cache
    def chosen(nonnegative: bool) -> Callable[..., None]:
        ops = bind(s, dtype, device=device, nonnegative=nonnegative)
        return ops.prepared(m, n, k) or ops.matmul

    return chosen


@lru_cache(1024)
def _on_host(s: Semiring, dtype: np.dtype, m: int, n: int, k: int) -> Callable[[Array, Array], Array] | None:
    if (kernel := _kernel(s, dtype, m, n, k, "cpu")) is None:
        return None
    (low, high), infinite = s.domain, -math.inf in (s.zero, s.one)
    at_zero = low < 0 or (low == 0 and not s.open_low)
    bounded = infinite or high < math.inf or s.open_high or not at_zero
    least, shape = np.minimum.reduce, (m, n)

    def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        # Without −∞ and an upper end, a least entry ≥ 0 says all, NaN included.
        plain = not bounded and least(A, axis=None) >= 0 and least(B, axis=None) >= 0
        if not plain:
            plain = all([fast(survey(X, s, where="matmul"), s, dtype, 2) for X in (A, B)])
        C = np.empty(shape, dtype)
        kernel(plain)(C, A, B)
        return C

    return product


@lru_cache(1024)
def _on_device(
    s: Semiring, dtype: np.dtype, m: int, n: int, k: int, device: int
) -> Callable[[Array, Array], Array] | None:
    """As on the host; the kernel that the last operands permitted starts while these are surveyed."""
    import cupy

    if (kernel := _kernel(s, dtype, m, n, k, "cuda")) is None:
        return None
    size = m * n * dtype.itemsize

    def product(A: Array, B: Array) -> Array:
        if size > LEAST and not granted(size, "cuda"):
            return None
        C, looks = cupy.empty((m, n), dtype), surveys((A, B), s, where="matmul")
        while_looking(lambda plain: kernel(plain)(C, A, B), looks, s, dtype)
        return C

    return product
