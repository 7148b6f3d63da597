"""Paths by predecessors, on the GPU: lengths and numbers of edges. See walks.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra import catalog
from ....algebra.records import Semiring
from ....host.types import Array
from .. import algebra, compile
from ..library import cupy

#: Threads of a block, and of one with at least MUCH bytes of room.
THREADS, WIDE, MUCH = 256, 1024, 28 << 10


def lengths(semiring: Semiring, P: Array, A: Array) -> tuple[Any, int]:
    """Products of edges along P, CuPy (…, n, n), the semiring's zero without a path; waits for the device.

    Also the last row of P that is no tree, counted over all matrices, or −1.
    """
    return _walk(semiring, P, cupy.empty(P.shape, A.dtype), cupy.ascontiguousarray(A))


def hops(P: Array) -> tuple[Any, int]:
    """Number of edges along P, −9999 without a path; else as `lengths`."""
    return _walk(catalog.min_plus, P, cupy.empty(P.shape, np.int32))


@compile.unit("walks.cu")
def text(semiring: Semiring, dtype: np.dtype) -> str:
    return compile.source("walks.cu", algebra.text(semiring, dtype))


def _walk(semiring: Semiring, P: Array, out: Array, *edges: Any) -> tuple[Any, int]:
    if not P.size:
        return out, -1
    P, wrong = cupy.ascontiguousarray(P), cupy.zeros(1, np.uint64)
    n, size = P.shape[-1], 2 * P.shape[-1] * (4 + max(4, out.dtype.itemsize))  # starts and values, now and next
    rows, threads = P.size // n, WIDE if size >= MUCH else THREADS
    function = text.functions(semiring, out.dtype)["weigh" if edges else "hops"]
    blocks, buffer, shared = compile.rooms(function, threads, size, rows)
    arguments = P, *edges, np.int32(n), rows, buffer.ptr if buffer else 0, out, wrong
    function((blocks,), (threads,), arguments, shared)
    return out, int(wrong.get()[0]) - 1
