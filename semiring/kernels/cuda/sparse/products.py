"""A* times vectors, from a sparse elimination on the GPU: one climb and one sweep; see products.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algebra.records import Semiring
from .. import algebra, compile
from ..library import cupy
from .fronts import Fronts
from .sweep import step_of

#: Block size.
THREADS = 128


@compile.unit("products.cu")
def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool, mirrored: bool) -> str:
    constants = algebra.constants(mirrored=mirrored)
    return compile.source("products.cu", step_of(semiring, dtype, nonnegative), constants)


def product(
    fronts: Fronts, up: Any, down: Any, x: Any, semiring: Semiring, *, nonnegative: bool, mirrored: bool
) -> Any:
    """A* ⊗ x if mirrored, else xᵀ ⊗ A*, for contiguous device vectors x (k, n); `up`, `down`: panels by pass."""
    tree, arrays, (count, n) = fronts.tree, fronts.arrays, x.shape
    found = text.functions(semiring, x.dtype, nonnegative, mirrored)
    y, v, left = cupy.empty(x.shape, x.dtype), cupy.empty(x.shape, x.dtype), cupy.empty((count, fronts.places), x.dtype)
    tables = [arrays[name] for name in ("child", "sibling", "local", "begin", "place")]
    climbing = *tables, tree.labels, up, x, left, v, np.int32(n), np.int64(fronts.places)
    sweeping = tree.rows, tree.labels, down, v, y, np.int32(n)
    for level in reversed(tree.every_level):
        found["climb_fronts"]((len(level), count), (THREADS,), (level, tree.nodes, *climbing))
    for level in tree.every_level:
        found["sweep_fronts"]((len(level), count), (THREADS,), (level, tree.nodes, *sweeping))
    return y
