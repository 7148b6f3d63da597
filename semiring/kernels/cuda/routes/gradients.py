"""Gradients as sums along best paths, on the GPU; equal operands give the same bits. See gradients.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....host.types import Array
from .. import algebra, compile, gpu
from ..library import cupy

#: Block size.
THREADS = 256
#: Rows per thread of a column; tile side of products; most blocks along grid z.
BAND, SIDE, MOST = 64, 64, 65535


def subtrees(P: Array, Q: Array, threads: int) -> Any:
    """sums[s,j] ← Σ Q[s,t] over the t whose path in P passes j or ends there; (…, n, n)."""
    sums, n = cupy.empty(P.shape, Q.dtype), P.shape[-1]
    if not P.size:
        return sums
    rows, size, function = P.size // n, 8 * (n + (n + 1) // 2), text.functions(Q.dtype)["subtrees"]
    blocks, buffer, shared = compile.rooms(function, THREADS, size, rows)
    P, Q = cupy.ascontiguousarray(P), cupy.ascontiguousarray(Q)
    arguments = P, Q, np.int32(n), rows, buffer.ptr if buffer else 0, sums
    function((blocks,), (THREADS,), arguments, shared)
    return sums


def collected(K: Array, values: Array, rows: int, threads: int) -> Any:
    """F[k,j] ← Σ values[i,j] over the i with K[i,j] = k; (…, rows, n). Negative k are skipped."""
    m, n = K.shape[-2:]
    out = cupy.empty((*K.shape[:-2], rows, n), values.dtype)
    if not out.size:
        return out
    batch = out.size // (rows * n)
    greatest, F = (gpu.memory(8 * size, zeros=8 * size) for size in (batch * n, out.size))
    K, values = cupy.ascontiguousarray(K), cupy.ascontiguousarray(values)
    sizes = [np.int32(x) for x in (m, n, rows, batch)]
    for entry, high, arguments in (
        ("columns", m, (K, values, *sizes[:2], sizes[3], greatest.ptr)),
        ("collect", m, (K, values, *sizes, greatest.ptr, F.ptr)),
        ("unscale", rows, (F.ptr, *sizes, greatest.ptr, out)),
    ):
        grid = -(-n // THREADS), -(-max(high, 1) // BAND), min(batch, MOST)
        text.functions(values.dtype)[entry](grid, (THREADS,), arguments)
    return out


def chosen(A: Array, B: Array, *, greatest: bool, times: bool, zero: float, threads: int) -> Any:
    """K[i,j] ← the least k of the best A[i,k] ⊗ B[k,j], or −1 if none beats zero; int32 (…, m, n)."""
    (m, inner), n, scalar = A.shape[-2:], B.shape[-1], A.dtype.type
    K = cupy.empty((*A.shape[:-1], n), np.int32)
    if not K.size:
        return K
    batch, sign = K.size // (m * n), -1 if greatest else 1
    A, B = cupy.ascontiguousarray(A), cupy.ascontiguousarray(B)
    sizes = (np.int32(x) for x in (m, inner, n, batch, times))
    arguments = A, B, *sizes, scalar(sign), scalar(sign * zero), K
    grid = -(-n // SIDE), -(-m // SIDE), min(batch, MOST)
    text.functions(A.dtype)["choose"](grid, (THREADS,), arguments)
    return K


@compile.unit("gradients.cu")
def text(dtype: np.dtype) -> str:
    return compile.source("gradients.cu", f"using T = {algebra.spelled(dtype)[0]};\n")
