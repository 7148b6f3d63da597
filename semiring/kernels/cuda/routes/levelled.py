"""Sums over best paths for dense arcs of one weight: matrix products on the GPU, level by level.

Targets of best paths of h arcs are H = h; A has a 1 per arc. Counts go forward, σ_h+1 = (σ_h A) [H = h+1], sums come
back, δ_h = σ_h (g_h+1 Aᵀ) with g = (q + δ) / σ, and arcs carry A (σ_hᵀ g_h+1), summed over levels: Brandes 2001, "A
faster algorithm for betweenness centrality", for all sources together.

Products with a 0-1 matrix use tensor cores: the other factor is split into small integers in float16 whose sums, at
most 2²⁴, are exact in float32 (Ozaki, Ogita, Oishi and Rump 2012, "Error-free transformations of matrix
multiplication"). A product takes a tenth of one in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....host.types import Array
from ..library import cupy

#: Most levels, and density of arcs from which products beat lists.
LEVELS, DENSE = 8, 1 / 32
#: Bound of exact integers in float64; range of numbers that may be split.
EXACT, ORDINARY = 2.0**53, (1e-200, 1e200)


def suits(arcs: int, n: int) -> bool:
    return arcs >= DENSE * n * n > 0


def needed(rows: int, n: int) -> int:
    return 8 * (3 * n * n + 10 * rows * n)


def multiply(X: Array, Y: Array) -> Any:
    """X Y of float16 matrices in float32, exact for integers with sums up to 2²⁴; each contiguous or transposed."""
    from cupy.cuda import cublas, device, runtime

    (rows, inner), columns = X.shape, Y.shape[1]
    out, factors = cupy.empty((rows, columns), np.float32), np.array([1, 0], np.float32)
    # cuBLAS is column-major: its first operand is Yᵀ. 0 and 1: whether an operand is transposed.
    first, second = ((0, Z.shape[1]) if Z.flags.c_contiguous else (1, Z.shape[0]) for Z in (Y, X))
    half, single = runtime.CUDA_R_16F, runtime.CUDA_R_32F
    cublas.gemmEx(
        device.get_cublas_handle(), first[0], second[0], columns, rows, inner, factors[:1].ctypes.data,
        Y.data.ptr, half, first[1], X.data.ptr, half, second[1], factors[1:].ctypes.data,
        out.data.ptr, single, columns, cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip
    return out


def pieces(X: Array, greatest: float, least: float, inner: int) -> Iterator[tuple[Any, float]]:
    """Split X into float16 integers times powers of two, up to an error of half of `least`.

    No entry of X exceeds `greatest`; sums of `inner` integers are at most 2²⁴.
    """
    bits = min(11, 24 - (inner - 1).bit_length())
    unit = 2.0 ** (math.frexp(greatest)[1] - bits)
    left = X / unit
    while True:
        integers = left.round()
        yield integers.astype(np.float16), unit
        if unit <= least:
            return
        left -= integers
        left *= 2.0 ** (bits + 1)
        unit /= 2.0 ** (bits + 1)


class Sums:
    """Flow over arcs, as a matrix valid at arcs, and the number of other sources that reach each vertex."""

    def __init__(self, tails: Array, heads: Array, n: int) -> None:
        self.arcs, self.n = (tails.astype(np.int64), heads.astype(np.int64)), n
        self.A, self.carried = cupy.zeros((n, n), np.float16), cupy.zeros((n, n), np.float64)
        self.A[self.arcs] = 1.0
        self.arrivals: Any = cupy.zeros(n, np.int64)

    @property
    def along(self) -> Any:
        return self.carried[self.arcs]

    def of_vertices(self) -> tuple[np.ndarray, np.ndarray]:
        self.carried *= self.A
        entering, leaving = (self.carried.sum(axis=axis).get() for axis in (0, 1))
        return entering, leaving

    def add(self, H: Array, sources: slice | Array, demand: Array) -> bool:
        """Add the sums of rows; False if there are too many levels, or H are no hops.

        H : CuPy int8 (k, n), hops; −1 without a path, clipped above LEVELS
        sources : slice, or CuPy int array (k,), distinct
        demand : CuPy float64 (k, n) or (1, n)
        """
        reached = H > 0
        levels = int(H.max())
        if levels > LEVELS:
            return False
        near = (H == 1).astype(np.float16)
        paths = near.astype(np.float64)
        for h in range(1, levels):
            paths += self._ahead(paths * (H == h)) * (h + 1 == H)
        if bool(((paths == 0) & reached).any()) or not float(paths.max()) < np.inf:
            return False
        owed = demand * reached / (paths + (paths == 0))  # per best path
        for h in range(levels, 1, -1):
            passed, before = owed * (h == H), h - 1 == H
            owed += self._back(passed, near if h == 2 else None) * before
            if h > 2:
                self.carried += (paths * before).T @ passed
        self.carried[sources] += owed * (H == 1)  # the only arc from a source
        self.arrivals += reached.sum(axis=0)
        return True

    def _ahead(self, paths: Array) -> Any:
        greatest = float(paths.max())
        if not 0 < greatest < EXACT:
            return paths @ self.A.astype(np.float64)
        return sum(
            multiply(part, self.A).astype(np.float64) * unit for part, unit in pieces(paths, greatest, 1, self.n)
        )

    def _back(self, passed: Array, near: Array | None) -> Any:
        """Dependencies times Aᵀ; with `near`, also add nearᵀ times them to the flow."""
        greatest, found = float(abs(passed).max()), 0.0
        if not ORDINARY[0] < greatest < ORDINARY[1]:
            if near is not None:
                self.carried += near.T.astype(np.float64) @ passed
            return passed @ self.A.T.astype(np.float64)
        for part, unit in pieces(passed, greatest, greatest / EXACT, max(passed.shape)):
            found += multiply(part, self.A.T).astype(np.float64) * unit
            if near is not None:
                self.carried += multiply(near.T, part).astype(np.float64) * unit
        return found
