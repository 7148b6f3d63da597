"""Paths by predecessors, on the GPU: what each weighs, and how many edges it has. See walks.cu."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import catalog
from ...algebra import Semiring
from ...compiling import about
from ...types import Array
from .. import algebra, compile, gpu

#: Threads of a block, and blocks that are on a multiprocessor at once.
THREADS, RESIDENT = 256, 4
#: Copies of each value and its pointer, which takes as many bytes.
_COPIES = 2


def lengths(semiring: Semiring, P: Array, A: Array) -> tuple[Any, int]:
    """The products of edges along P, a CuPy array of shape (…, n, n), the semiring's zero where there is no path.

    And the last row of P that is no tree, counted over all matrices, or −1; waits for the device.
    """
    import cupy

    return _walk(semiring, P, cupy.empty(P.shape, A.dtype), cupy.ascontiguousarray(A))


def hops(P: Array) -> tuple[Any, int]:
    """How many edges there are along P, −9999 where there is no path; and as `lengths`."""
    import cupy

    return _walk(catalog.min_plus, P, cupy.empty(P.shape, np.int32))


def text(semiring: Semiring, dtype: np.dtype) -> str:
    """The translation unit of walks."""
    return compile.source("walks.cu", algebra.text(semiring, dtype))


@lru_cache(maxsize=256)
def _module(semiring: Semiring, dtype: np.dtype, device: int) -> Any:
    with about(f"{semiring.name} in {dtype}"):
        return compile.functions(text(semiring, dtype), name="walks.cu")


def _walk(semiring: Semiring, P: Array, out: Array, *edges: Any) -> tuple[Any, int]:
    import cupy

    if not P.size:
        return out, -1
    P = cupy.ascontiguousarray(P)
    n = P.shape[-1]
    rows, device = P.size // n, gpu.current()
    blocks = min(rows, RESIDENT * gpu.multiprocessors(device))
    each = 2 * max(4, out.dtype.itemsize)
    buffer, wrong = gpu.memory(_COPIES * n * each * blocks), cupy.zeros(1, np.uint64)
    arguments = P.data.ptr, *(A.data.ptr for A in edges), np.int32(n), rows, buffer.ptr, out.data.ptr, wrong.data.ptr
    function = _module(semiring, out.dtype, device).get_function("weigh" if edges else "hops")
    function((blocks,), (THREADS,), arguments)
    return out, int(wrong.get()[0]) - 1
