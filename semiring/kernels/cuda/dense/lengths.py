"""Integers as nonnegative lengths and back, on the GPU, and potentials for them. See lengths.cu."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....host.types import Array
from .. import algebra, compile, gpu
from ..library import cupy
from . import matrix

#: Block size; columns and rows per block of `relax`; as in lengths.cu.
THREADS, COLUMNS, ROWS = 256, 1024, 64
#: Blocks per multiprocessor; passes launched between waits.
RESIDENT, TOGETHER = 8, 16
#: Bytes of the state of `relax`, padded for alignment.
_STATE = 16


@compile.unit("lengths.cu")
def text(entries: np.dtype, lengths: np.dtype, sign: int) -> str:
    """Translation unit for two integer dtypes; `sign` is −1 if ⊕ keeps the greatest."""
    wide = max(entries.itemsize, lengths.itemsize) > 4
    types = {
        "X": algebra.spelled(entries)[0],
        "Y": algebra.spelled(lengths)[0],
        "H": "long long" if entries.itemsize > 4 else "int",
        "U": "unsigned long long" if wide else "unsigned",
    }
    nothing = algebra.literal(SCALARS[entries].infinities[sign * math.inf], types["X"])
    prelude = "".join(f"using {name} = {spelled};\n" for name, spelled in types.items())
    return compile.source("lengths.cu", f"{prelude}constexpr int sign = {sign};\nconstexpr X absent = {nothing};\n")


def to_lengths(A: Array, L: Array, sign: int, infinity: int, offset: int = 0, potential: Array = None) -> None:
    """L ← sign · A + offset, or sign · A[i,j] + h[i] − h[j]; contiguous CuPy arrays, possibly the same."""
    _each("lengths", A, L, (A.dtype, L.dtype, sign), infinity, offset, potential)


def to_entries(
    L: Array, A: Array, sign: int, infinity: int, offset: int = 0, potential: Array = None, greatest: Array = None
) -> None:
    """Inverse of `to_lengths`; greatest[0] (uint64) ← max with the greatest finite length."""
    record = 0 if greatest is None else greatest.data.ptr
    _each("entries", L, A, (A.dtype, L.dtype, sign), infinity, offset, potential, record)


def _each(
    entry: str, source: Array, out: Array, kind: Any, infinity: int, offset: int, potential: Array, *others: int
) -> None:
    blocks = min(-(-source.size // THREADS), RESIDENT * gpu.multiprocessors(gpu.current()))
    h, n = (0, 1) if potential is None else (potential.data.ptr, len(potential))
    arguments = source.data.ptr, out.data.ptr, source.size, infinity, offset, h, np.int32(n), *others
    text.functions(*kind)[entry]((blocks,), (THREADS,), arguments)


def unpack(D: Array, out: Array, none: Any, lost: Any, shift: int, bits: int, unit: tuple[float, int]) -> None:
    """out ← multiples of a unit, a quotient, in `bits` above `shift` of D, or in all above; D may be `out`.

    `lost` where D is `none`.
    """
    mask = (1 << bits) - 1 if bits else -1
    _unpacking()(D, none, lost, np.int64(shift), np.int64(mask), float(unit[0]), float(unit[1]), out)


@cache
def _unpacking() -> Any:
    return cupy.ElementwiseKernel(
        "T x, T none, U lost, int64 shift, int64 mask, float64 unit, float64 parts",
        "U y",
        "const long long k = (long long)x >> shift & mask;"
        "y = x == none ? lost : unit == 1 && parts == 1 ? U(k) : U(k * unit / parts);",
        "unpack",
    )


def potentials(A: Array, sign: int, floor: int, passes: int) -> tuple[Any, int] | None:
    """Potentials h(j), the length of the shortest walk to j, at most 0, of a square CuPy matrix; and the least h.

    None if `passes` do not suffice, if an h is below `floor`, or if rows of A are not contiguous. Waits for the device.
    """
    found = matrix.view(A)
    if found is None:
        return None
    n, kind = len(A), np.dtype(np.int64 if A.itemsize > 4 else np.int32)
    end = _STATE + n * kind.itemsize
    buffer = cupy.zeros(end + 4 * n, np.uint8)  # kernel state, h, and the pass of each last change
    state, h, changed = (buffer.data.ptr + offset for offset in (0, _STATE, end))
    relax = text.functions(A.dtype, A.dtype, sign)["relax"]
    grid, operands = (-(-n // COLUMNS), -(-n // ROWS)), (found.address, found.ld, np.int32(n), kind.type(floor))
    for first in range(1, passes + 1, TOGETHER):
        last = first + TOGETHER - 1
        for number in range(first, last + 1):
            relax(grid, (THREADS,), (*operands, np.int32(number), h, changed, state))
        host = buffer[:end].get()
        changing, below = host[:8].view(np.int32).tolist()
        if below:
            return None
        if changing < last:  # the last pass changed nothing
            return buffer[_STATE:end].view(kind), int(host[_STATE:].view(kind).min())
    return None
