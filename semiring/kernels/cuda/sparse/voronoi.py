"""The nearest of several sources, from a sparse elimination on the GPU: one climb, one sweep; see voronoi.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.records import Semiring
from .. import algebra, compile
from ..library import cupy
from .lanes import Lanes
from .sweep import Sweeps, step_of

#: Supernodes per block, one per warp.
TOGETHER = 4


@compile.unit("voronoi.cu")
def text(semiring: Semiring, dtype: np.dtype, mirrored: bool) -> str:
    flags = algebra.constants(mirrored=mirrored, greatest=semiring.add.selects == "greatest")
    return compile.source("voronoi.cu", step_of(semiring, dtype, False), flags)


def nearest(sweeps: Sweeps, columns: np.ndarray, semiring: Semiring, mirrored: bool) -> tuple[Any, Any]:
    """First nearest source of every vertex, −1 for none, and its distance, on the device.

    `sweeps` are of rows, or of columns if mirrored, for walks to a source; `columns` of the sources in elimination
    order, nonempty.
    """
    tree, dtype = sweeps.tree, sweeps.dtype
    order = np.argsort(columns, kind="stable")
    lanes, names = Lanes(tree, columns[order]), cupy.asarray(order.astype(np.int32))
    _, v = sweeps.climb(lanes)
    y, sources = cupy.empty(tree.n, dtype), cupy.empty(tree.n, np.int32)
    tables = tree.nodes, tree.rows, tree.labels, lanes.ranges, names, sweeps.down, v
    arguments = *tables, np.int64(v.strides[0] // v.itemsize), y, sources
    function = text.functions(semiring, dtype, mirrored)["sweep_sources"]
    for level, strips in zip(tree.every_level, tree.strips_of_levels, strict=True):
        grid = -(-len(level) // TOGETHER), strips
        function(grid, (32 * TOGETHER,), (level, np.int32(len(level)), *arguments))
    return sources, y
