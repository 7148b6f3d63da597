"""What a matrix on the GPU holds, in one pass: its least and greatest entry, and which fast steps it permits."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import algebra, compile, gpu


class Seen(NamedTuple):
    """What a pass over the entries found; `negative` leaves out the semiring's zero."""

    least: Any
    greatest: Any
    nan: bool
    negative: bool
    minus_zero: bool


#: Blocks of a pass: enough for any device; each leaves a record.
BLOCKS = 1024


def survey(A: Any, zero: Any) -> Seen:
    """Look once at every entry of a CuPy array of numbers, any shape but empty; `zero` marks a missing edge.

    Waits for the device: its answer decides what is launched next.
    """
    import cupy

    whole = cupy.ascontiguousarray(A)
    record = np.dtype([("least", A.dtype), ("greatest", A.dtype), ("flags", np.int32)], align=True)
    blocks = min(BLOCKS, -(-whole.size // 1024))
    room = cupy.empty(blocks * record.itemsize, np.uint8)
    function = _function(A.dtype.name, A.dtype.type(zero).item(), gpu.current())
    function((blocks,), (256,), (whole.data.ptr, whole.size, room.data.ptr))
    records = room.get().view(record)
    flags = int(np.bitwise_or.reduce(records["flags"]))
    least, greatest = records["least"].min().item(), records["greatest"].max().item()
    return Seen(least, greatest, bool(flags & 1), bool(flags & 2), bool(flags & 4))


def text(dtype: str, zero: Any) -> str:
    """The translation unit for a dtype and its zero."""
    memory, register, _ = algebra._TYPES[dtype]
    kind = np.dtype(dtype)
    sign = {4: "__float_as_int(a) == (int)0x80000000", 8: "__double_as_longlong(a) == (long long)0x8000000000000000"}
    minus_zero = sign[kind.itemsize] if kind.kind == "f" else "false"
    prelude = f"""\
using T = {memory};
#define INFINITY __int_as_float(0x7f800000)
__device__ inline T zero() {{ return {algebra._literal(kind.type(zero), register)}; }}
__device__ inline int negative_zero(T a) {{ return {minus_zero}; }}
"""
    return prelude + compile.source("survey.cu")


@cache
def _function(dtype: str, zero: Any, device: int) -> Any:
    return compile.functions(text(dtype, zero), name="survey.cu").get_function("survey")
