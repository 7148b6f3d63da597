"""Range of matrices on the GPU in one pass: extremes, and facts that permit fast steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...algebra.dtypes import SCALARS
from ...host.types import Array
from . import algebra, compile, gpu
from .library import cuda, cupy


class Seen(NamedTuple):
    """Facts about entries; `negative` ignores the semiring's zero, `zeros` counts 0, `missing` the semiring's zeros."""

    least: Any
    greatest: Any
    nan: bool
    negative: bool
    minus_zero: bool
    zeros: int
    missing: int


#: Thread blocks per pass, enough for any device; arrays per pass.
BLOCKS, TOGETHER = 1024, 3


def survey(arrays: Sequence[Array], zero: np.generic) -> Callable[[], list[Seen]]:
    """Survey every entry of nonempty numeric CuPy arrays of one dtype; `zero`: a missing edge.

    Passes are launched at once. Call the result, once, to wait for the facts, before this thread launches others.
    """
    device = gpu.current()
    contiguous = [A if A.flags.c_contiguous else cupy.ascontiguousarray(A) for A in arrays]
    function, record = _function(contiguous[0].dtype, zero.item(), device)
    stream = cupy.cuda.get_current_stream()
    scratch, size = _scratch(device, stream.ptr), record.itemsize
    try:
        for i in range(0, len(contiguous), TOGETHER):
            batch = contiguous[i : i + TOGETHER]
            blocks = min(BLOCKS, -(-max(array.size for array in batch) // 1024))
            operands = [x for array in batch for x in (array.data.ptr, array.size)] + [0, 0] * (TOGETHER - len(batch))
            function(
                (blocks, len(batch)), (256,), (*operands, scratch.result + i * size, scratch.records, scratch.done)
            )
    except BaseException:
        stream.synchronize()
        raise
    scratch.event.record(stream)

    def found() -> list[Seen]:
        scratch.event.synchronize()
        records = scratch.host[: len(contiguous) * size].view(record).tolist()
        return [
            Seen(least, greatest, bool(f & 1), bool(f & 2), bool(f & 4), *counts)
            for least, greatest, f, *counts in records
        ]

    return found


class Scratch(NamedTuple):
    """Buffers of the passes on one stream, which are serialised. Results go to pinned host memory, without a copy."""

    host: np.ndarray
    result: int
    records: int
    done: int
    event: Any
    owners: tuple[Any, ...]


#: Most bytes per record; most arrays per call.
RECORD, ARRAYS = 40, 8

_own = threading.local()


def _scratch(device: int, stream: int) -> Scratch:
    """This thread's buffers for a stream of the current device, so that concurrent passes share none."""
    cached: dict[tuple[int, int], Scratch] = _own.__dict__.setdefault("scratch", {})
    found = cached.get((device, stream))
    if found is None:
        size = TOGETHER * BLOCKS * RECORD
        pinned, memory = cuda.alloc_pinned_memory(ARRAYS * RECORD), gpu.memory(size + 16, zeros=16)
        host, done = np.frombuffer(pinned, np.uint8, ARRAYS * RECORD), memory.ptr + size
        found = cached[device, stream] = Scratch(
            host, pinned.ptr, memory.ptr, done, cuda.Event(disable_timing=True), (pinned, memory)
        )
    return found


def text(dtype: str, zero: Any) -> str:
    kind = np.dtype(dtype)
    memory, register, _ = algebra.spelled(kind)
    sign = {4: "__float_as_int(a) == (int)0x80000000", 8: "__double_as_longlong(a) == (long long)0x8000000000000000"}
    minus_zero = sign[kind.itemsize] if SCALARS[kind].floating else "false"
    prelude = f"""\
using T = {memory};
__device__ inline T zero() {{ return {algebra.literal(kind.type(zero), register)}; }}
__device__ inline int negative_zero(T a) {{ return {minus_zero}; }}
"""
    return compile.source("survey.cu", prelude)


@cache
def _function(dtype: np.dtype, zero: Any, device: int) -> tuple[Any, np.dtype]:
    function = compile.functions(text(dtype.name, zero), name="survey.cu").get_function("survey")
    fields = [("least", dtype), ("greatest", dtype), ("flags", np.int32), ("zeros", np.int64), ("missing", np.int64)]
    return function, np.dtype(fields, align=True)
