"""Numeric sparse elimination on the GPU; see fronts.cu."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.ranges import runs
from ....algebra.records import Semiring
from ....host.types import Array
from .. import algebra, compile, gpu
from ..dense import registry
from ..dense.backend import CudaBackend
from ..library import cupy
from .sweep import Tree, addresses, step_of

if TYPE_CHECKING:
    from ....sparse.structure import Arcs

#: Classes (order, block size) of fronts in shared memory, launched per class and level; larger ones use the dense
#: verbs.
CLASSES = ((16, 32), (32, 64), (64, 128), (112, 256), (140, 512), (200, 1024))
#: Blocks that assemble a large front, or split it.
PARTS = 64

_TABLES = ("nodes", "child", "sibling", "local", "begin", "arcs", "arc", "arc_row", "arc_col", "weights", "update")


def _prepare(found: compile.Functions, semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> None:
    device = gpu.current()
    registry.kernels(semiring, dtype, nonnegative, "tuned", 1, device).count_stars_of(found.module)
    compile.allow_shared(found["eliminate_fronts"], gpu.most_shared(device))


@compile.unit("fronts.cu", prepare=_prepare)
def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    return compile.source("fronts.cu", step_of(semiring, dtype, nonnegative))


def classes(itemsize: int, limit: int) -> list[tuple[int, int]]:
    return [(most, threads) for most, threads in CLASSES if shared(most, itemsize) <= limit]


def shared(m: int, itemsize: int) -> int:
    return (m * (m | 1) + 2 * m) * itemsize


class Fronts:
    """The fronts of a structure on the current device: grouping, and addresses."""

    def __init__(self, tree: Tree, arcs: Arcs) -> None:
        S = tree.S
        self.tree, self.classes = tree, classes(tree.itemsize, gpu.most_shared(gpu.current()))
        self.order = (tree.w + tree.r).astype(np.int64)
        squares = tree.r * tree.r
        self.entries, self.places = int(squares.sum()), int(self.order.sum())
        tables = {
            "child": S.child, "sibling": S.sibling, "local": S.local, "begin": S.begin,
            "arcs": arcs.begin.astype(np.int32), "arc": arcs.arc, "arc_row": arcs.row, "arc_col": arcs.col,
            "update": np.cumsum(squares) - squares, "place": np.cumsum(self.order) - self.order,
        }  # fmt: skip
        self.arrays = {name: cupy.asarray(array) for name, array in tables.items()} | {"nodes": tree.nodes}
        depth = tree.depth
        self.steps: list[tuple[Any, int, int] | int] = []  # (supernodes, count, class), or a large one
        kind = np.searchsorted([most for most, _ in self.classes], self.order)
        key = (depth.max(initial=0) - depth) * (len(self.classes) + 1) + kind  # deepest first, then by class
        key = key.astype(np.min_scalar_type(int(key.max(initial=0))))  # 16-bit keys are radix-sorted
        sorted_by = np.argsort(key, kind="stable")
        lists = cupy.asarray(sorted_by.astype(np.int32))
        for run in runs(key[sorted_by]):
            which = int(kind[sorted_by[run.start]])
            if which == len(self.classes):
                self.steps += sorted_by[run].tolist()
            else:
                self.steps.append((lists[run], run.stop - run.start, which))

    @cached_property
    def diagonal(self) -> Any:
        """Positions of the diagonal of each D in the panels, by column, on the device."""
        tree = self.tree
        positions = tree.S.diagonal_of(4 * tree.panel[:-1], tree.w + tree.r + tree.r % 2, 4, True)
        return cupy.asarray(positions)

    def numbers(self, weights: Any, semiring: Semiring, nonnegative: bool) -> tuple[Any, Any]:
        """The panels [D; L] and [D U]ᵀ for device weights, by arc; DivergenceError if an integer star has no value."""
        dtype = weights.dtype
        found = text.functions(semiring, dtype, nonnegative)
        ops = CudaBackend(semiring, dtype, nonnegative)
        assert ops.kernels is not None  # starts the count of stars without a value
        updates = cupy.empty(max(self.entries, 1), dtype)
        lower, upper = (cupy.empty((max(int(self.tree.panel[-1]), 1), 4), dtype) for _ in range(2))
        arrays = self.arrays | {"weights": weights}
        given = *(arrays[name] for name in _TABLES), updates, lower, upper
        tables = cupy.asarray(np.array(addresses(*given), np.uint64))
        for step in self.steps:
            if isinstance(step, int):
                m, w = int(self.order[step]), int(self.tree.w[step])
                unit = 16 // min(16, dtype.itemsize)
                pitch = -(-m // unit) * unit
                F = cupy.empty((m, pitch), dtype)
                arguments = tables, np.int32(step), F, np.int32(pitch)
                found["gather_front"]((PARTS,), (256,), arguments)
                D = F[:w, :w]
                closure(ops, D)
                if w < m:
                    ops.eliminate(D, F[:w, w:m], F[w:, :w], F[w:, w:m])
                found["part_front"]((PARTS,), (256,), arguments)
            else:
                supernodes, count, which = step
                most, threads = self.classes[which]
                found["eliminate_fronts"]((count,), (threads,), (tables, supernodes), shared(most, dtype.itemsize))
        if algebra.counts_stars(semiring, dtype):
            ops.synchronize()
        return lower, upper


def closure(ops: CudaBackend, A: Array) -> None:
    """A ← A* by R-Kleene: close each diagonal quadrant in turn, and eliminate it from the others."""
    n = len(A)
    if n <= ops.pivot:
        ops.closure(A)
        return
    h = -(-n // 2 // ops.pivot) * ops.pivot
    A11, A12, A21, A22 = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    closure(ops, A11)
    ops.eliminate(A11, A12, A21, A22)
    closure(ops, A22)
    ops.eliminate(A22, A21, A12, A11)
