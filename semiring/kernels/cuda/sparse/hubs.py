"""Hub labels on one GPU, from the panels of an elimination, and distances from labels. See hubs.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.records import Semiring
from ....host.types import Array
from .. import compile, gpu
from ..library import cupy
from .sweep import Tree, step_of

#: Block sizes of label construction and of queries.
THREADS, ANSWERING = 128, 256
#: Mean label bytes from which 8, and 16, threads answer a query; else 4.
LONG = 512, 1536
#: Steps (two rows, four columns) per thread and level; most blocks per level.
STEPS, BLOCKS = 16, 1 << 14
#: Alignment of labels in bytes, a cache line.
LINE = 64


@compile.unit("hubs.cu")
def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    return compile.source("hubs.cu", step_of(semiring, dtype, nonnegative))


def stretches(begin: np.ndarray, slot: np.ndarray, height: int) -> np.ndarray:
    """Ranges low … low_end and high … high_end of places below `height` that cover each supernode's rows.

    They are separated by the largest gap; both are empty without rows.
    """
    count, nonempty = len(begin) - 1, np.diff(begin) > 0
    node = np.repeat(np.arange(count), np.diff(begin))
    places = np.sort(node * (height + 1) + slot) - node * (height + 1)
    gap = np.diff(places, prepend=0)
    gap[begin[:-1][nonempty]] = 0  # before the first
    found = np.zeros((count, 4), np.int64)
    found[nonempty, 0], found[nonempty, 3] = places[begin[:-1][nonempty]], places[begin[1:][nonempty] - 1] + 1
    widest = np.zeros(count, gap.dtype)
    widest[nonempty] = np.maximum.reduceat(gap, begin[:-1][nonempty])
    after = np.flatnonzero(gap == widest[node])
    found[node[after], 1], found[node[after], 2] = places[after - 1] + 1, places[after]
    single = nonempty & (np.diff(begin) == 1)
    found[single, 1], found[single, 2] = found[single, 3], found[single, 3]
    return found


class Layout:
    """Label layout of a structure, for any weights of one size; see `semiring.sparse.hubs.located` for its arguments.

    entries : of all labels of one direction
    places, base : int64, on the host
    on_device : uint32 (n, 4), the places, with lines instead of entries: `Place` in hubs.cu
    tops : int32 (numbers, 8), `Top` in hubs.cu, by number
    parts : blocks per supernode of each level, parents first
    """

    def __init__(self, tree: Tree, label: np.ndarray, places: np.ndarray, base: np.ndarray) -> None:
        S, w, r = tree.S, tree.w, tree.r
        b, self.entries, self.places, self.base = S.base.astype(np.int64), int(label[-1]), places, base
        compact = self.places.astype(np.uint32)
        compact[:, 0] = self.places[:, 0] // (LINE // tree.itemsize)
        top = np.zeros(len(self.base), np.int64)
        top[self.places[S.permutation[S.first[:-1]], 1]] = np.arange(len(S))  # the last of a number is the topmost
        used = self.base > 0  # nothing is shared below a root
        tops = np.zeros((len(self.base), 8), np.int32)
        tops[:, 0] = self.base
        tops[used, 1:5] = stretches(S.begin, S.slot, S.height)[top[used]]
        self.on_device, self.tops = cupy.asarray(compact), cupy.asarray(tops)
        steps = (np.maximum(-(-w // 4) * b, w * w) * (r // 2 + 2)).astype(float)
        most = np.zeros(int(tree.depth.max(initial=-1)) + 1)
        np.maximum.at(most, tree.depth, steps)
        limit = np.maximum(1, BLOCKS // np.maximum(1, np.bincount(tree.depth)))
        self.parts = np.clip(np.ceil(most / (THREADS * STEPS)), 1, limit).astype(int).tolist()


class Labels:
    """Hub labels of panels (lower, upper) on the current device; `out` and `into` as in `HubLabels`."""

    def __init__(
        self, tree: Tree, layout: Layout, lower: Any, upper: Any, semiring: Semiring, dtype: np.dtype, nonnegative: bool
    ) -> None:
        self.layout, self.n, self.dtype, self.device = layout, tree.n, dtype, gpu.current()
        self._kernels = text.functions(semiring, dtype, nonnegative)
        self.out, self.into = self.arrays = tuple(cupy.empty(layout.entries, dtype) for _ in range(2))
        self.entries = layout.entries
        tables = tree.nodes, tree.parent, tree.slots, tree.rows, tree.labels, layout.on_device, lower, upper
        for level, parts in zip(tree.every_level, layout.parts, strict=True):
            for stages in (3,) if parts == 1 else (1, 2):
                arguments = level, *tables, *self.arrays, np.int32(stages)
                self._kernels["label_supernodes"]((len(level), parts), (THREADS,), arguments)

    @property
    def nbytes(self) -> int:
        arrays = self.out, self.into, self.layout.on_device, self.layout.tops
        return sum(int(array.nbytes) for array in arrays)

    def pairs(self, i: Array, j: Array) -> tuple[Any, Any]:
        """A*[i[q], j[q]], and an array that is 1 if a vertex is out of range; contiguous int32 or int64 arrays."""
        found, outside = cupy.empty(i.size, self.dtype), cupy.zeros(1, np.int32)
        if i.size:
            ends = i, j, np.int32(i.itemsize), np.int64(i.size), self.layout.on_device, self.layout.tops
            bits = 2 + sum(self.out.nbytes >= size * self.n for size in LONG)
            arguments = *ends, np.int32(self.n), self.out, self.into, found, outside, np.int32(bits)
            self._kernels["label_pairs"]((-((-i.size << bits) // ANSWERING),), (ANSWERING,), arguments)
        return found, outside
