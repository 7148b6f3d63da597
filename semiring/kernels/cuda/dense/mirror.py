"""Symmetric matrices on the GPU: test for symmetry, and mirroring of the lower half; see mirror.cu."""

from __future__ import annotations

import numpy as np

from .. import compile, gpu
from .matrix import Matrix

#: Tile side; block size.
SIDE, THREADS = 32, 256


@compile.unit("mirror.cu")
def text(itemsize: int) -> str:
    word = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}[itemsize]
    return compile.source("mirror.cu", f"using T = {word};\n")


def turn(X: Matrix, Y: Matrix, itemsize: int, *, upper: bool = False) -> None:
    """X ← Yᵀ, or only its entries above the diagonal; then X and Y may be the same."""
    given = X.address, X.ld, Y.address, Y.ld, np.int32(X.rows), np.int32(X.columns), np.int32(upper)
    text.functions(itemsize)["turn"]((-(-X.columns // SIDE), -(-X.rows // SIDE)), (THREADS,), given)


def symmetric(X: Matrix, itemsize: int) -> bool:
    """Whether X = Xᵀ, bitwise; waits for the device."""
    differs, side = gpu.memory(4, zeros=4), -(-X.rows // SIDE)
    given = X.address, X.ld, np.int32(X.rows), differs.ptr
    text.functions(itemsize)["compare"]((side, side), (THREADS,), given)
    return not gpu.number(differs.ptr)
