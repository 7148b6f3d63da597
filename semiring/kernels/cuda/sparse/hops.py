"""Breadth-first searches from thousands of sources at once on the GPU; see hops.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.catalog import get
from ....algebra.dtypes import SCALARS, too_many_hops
from ....host.types import Array
from .. import algebra, compile, gpu
from ..library import cupy
from .searches import Blocks

#: Words of 64 sources searched together.
WORDS = 32
#: Initial bit planes of level numbers; levels between tests for completion.
PLANES, LEVELS = 6, 4


@compile.unit("hops.cu")
def text(dtype: np.dtype) -> str:
    return compile.source("hops.cu", algebra.text(get("min_plus"), dtype))


class Searches(Blocks):
    """Searches on the current device; the tails of the arcs into v are tails[start[v] : start[v + 1]]."""

    where = "Hops"

    def __init__(self, start: np.ndarray, tails: np.ndarray, dtype: np.dtype) -> None:
        self.number, self.n, self.dtype = gpu.current(), len(start) - 1, dtype
        self.start, self.tails = cupy.asarray(start), cupy.asarray(tails)

    def batch(self, sources: int) -> int:
        return 64 * min(WORDS, max(1, -(-sources // 64)))

    @gpu.on_device
    def into(self, sources: np.ndarray, rows: Array, most: int) -> None:
        """rows[k] ← hops from sources[k], at most `most`."""
        step = self.batch(len(sources))
        for start in range(0, len(sources), step):
            self._search(sources[start : start + step], rows[start : start + step], most)

    def _search(self, sources: np.ndarray, rows: Any, most: int) -> None:
        n, count = self.n, len(sources)
        words = -(-count // 64)
        found, origins = text.functions(self.dtype), cupy.asarray(sources.astype(np.int32))
        sizes = np.int32(n), np.int32(words)
        F, S = (cupy.zeros((n, words), np.uint64) for _ in range(2))
        following = cupy.empty((n, words), np.uint64)
        found["begin_search"]((-(-max(count, n) // 256),), (256,), (origins, np.int32(count), F, S, *sizes))
        planes, last = cupy.zeros((PLANES, n, words), np.uint64), cupy.zeros(1, np.int32)
        done, group = 0, LEVELS
        while done < most:
            stop = min(done + group, most)
            if stop >> len(planes):
                planes = cupy.concatenate((planes, cupy.zeros(planes.shape, np.uint64)))
            for level in range(done + 1, stop + 1):
                tables = self.start, self.tails, F, following, S, planes
                found["search_level"]((-(-n * words // 256),), (256,), (*tables, *sizes, np.int32(level), last))
                F, following = following, F
            done, group = stop, min(2 * group, 64)
            if int(last.get()[0]) < done:  # no vertex was reached
                break
        if int(last.get()[0]) == SCALARS[self.dtype].high:
            raise too_many_hops(self.dtype)
        bits = done.bit_length()
        apart = rows.strides[0] // rows.itemsize
        arguments = S, planes, np.int32(min(bits, len(planes))), rows, apart
        found["write_levels"]((-(-n // 32), -(-words // 8)), (256,), (*arguments, *sizes, np.int32(count)))
