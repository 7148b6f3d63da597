"""Hub labels on one GPU, made from the panels of an elimination there; pairs answered from them. See hubs.cu."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...algebra import Semiring
from ...compiling import about
from ...types import Array
from .. import compile, gpu
from .sweep import Tree, step_of

#: Threads of a block that makes labels, and of one that answers pairs.
THREADS, ANSWERING = 128, 256
#: Bytes of a label on average from which 8 threads answer a pair, and 16; fewer take 4.
LONG = 512, 1536
#: Steps of two rows and four columns that a thread takes for a level's labels; and blocks of a level at most.
STEPS, BLOCKS = 16, 1 << 14
#: Bytes of a line: labels begin at one.
LINE = 64


def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    """The translation unit."""
    return compile.source("hubs.cu", step_of(semiring, dtype, nonnegative))


@lru_cache(maxsize=64)
def kernels(semiring: Semiring, dtype: np.dtype, nonnegative: bool, device: int) -> dict[str, Any]:
    """The entry functions on a device."""
    with about(f"{semiring.name} in {dtype}"):
        module = compile.functions(text(semiring, dtype, nonnegative), name="hubs.cu")
    return {name: module.get_function(name) for name in ("label_supernodes", "label_pairs")}


def stretches(begin: np.ndarray, slot: np.ndarray, height: int) -> np.ndarray:
    """The two stretches low … low_end, high … high_end of places below `height` in which each supernode's rows are.

    They are apart by the largest gap; where there are no rows, both are empty.
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
    """Where the labels of a structure are, and which columns pairs have in common: of any weights of one size.

    Parameters
    ----------
    tree : Tree
    label, places, base : int64 arrays
        Of `semiring.sparse.hubs.located`.

    Attributes
    ----------
    entries : int
        Of all labels of one direction.
    places, base : int64 arrays
        On the host.
    on_device : uint32 array (n, 4)
        The same places, with lines in place of entries: `Place` in hubs.cu.
    tops : int32 array (numbers, 8)
        `Top` in hubs.cu, by number.
    parts : list of int
        In how many blocks each supernode of a level is cut, parents first.
    """

    def __init__(self, tree: Tree, label: np.ndarray, places: np.ndarray, base: np.ndarray) -> None:
        import cupy

        S, w, r = tree.S, tree.w, tree.r
        b, self.entries, self.places, self.base = S.base.astype(np.int64), int(label[-1]), places, base
        compact = self.places.astype(np.uint32)
        compact[:, 0] = self.places[:, 0] // (LINE // tree.itemsize)
        top = np.zeros(len(self.base), np.int64)
        top[self.places[S.permutation[S.first[:-1]], 1]] = np.arange(len(S))  # the last one of a number is the topmost
        used = self.base > 0  # below a root there is nothing in common
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
    """Hub labels of panels on the current device.

    Parameters
    ----------
    tree : Tree
    layout : Layout
    lower, upper : arrays
        The panels.
    semiring, dtype, nonnegative
        As of the panels.

    Attributes
    ----------
    device : int
    out, into : CuPy arrays
        As of `HubLabels`.
    """

    def __init__(
        self, tree: Tree, layout: Layout, lower: Any, upper: Any, semiring: Semiring, dtype: np.dtype, nonnegative: bool
    ) -> None:
        import cupy

        self.layout, self.n, self.dtype, self.device = layout, tree.n, dtype, gpu.current()
        self._kernels = kernels(semiring, dtype, nonnegative, self.device)
        self.out, self.into = self.arrays = tuple(cupy.empty(layout.entries, dtype) for _ in range(2))
        self.entries = layout.entries
        tables = tree.nodes, tree.parent, tree.slots, tree.rows, tree.labels, layout.on_device, lower, upper
        addresses = [table.data.ptr for table in (*tables, self.out, self.into)]
        for level, parts in zip(tree.every_level, layout.parts, strict=True):
            for stages in (3,) if parts == 1 else (1, 2):
                grid, arguments = (len(level), parts), (level.data.ptr, *addresses, np.int32(stages))
                self._kernels["label_supernodes"](grid, (THREADS,), arguments)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and of what finds them."""
        arrays = self.out, self.into, self.layout.on_device, self.layout.tops
        return sum(int(array.nbytes) for array in arrays)

    def pairs(self, i: Array, j: Array) -> tuple[Any, Any]:
        """A*[i[q], j[q]], and an array that is 1 if there is no such vertex; of contiguous int32 or int64 arrays."""
        import cupy

        found, outside = cupy.empty(i.size, self.dtype), cupy.zeros(1, np.int32)
        if i.size:
            ends = i.data.ptr, j.data.ptr, np.int32(i.itemsize), np.int64(i.size)
            tables = (x.data.ptr for x in (self.layout.on_device, self.layout.tops))
            labels = (x.data.ptr for x in (self.out, self.into, found, outside))
            bits = 2 + sum(self.out.nbytes >= size * self.n for size in LONG)
            arguments = *ends, *tables, np.int32(self.n), *labels, np.int32(bits)
            self._kernels["label_pairs"]((-((-i.size << bits) // ANSWERING),), (ANSWERING,), arguments)
        return found, outside
