"""Pairs of an index of reachability on the GPU, by labels; the host searches for the others. See reach.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....host.types import Array
from ...cpu.sparse.reach import OPEN
from .. import compile, gpu
from ..library import cupy

#: Block size, as in reach.cu.
THREADS = 256


@compile.unit("reach.cu")
def text() -> str:
    return compile.source("reach.cu")


def answers(index: Any, sources: Array, targets: Array) -> Array:
    """Whether CuPy vertices `sources` of a `ReachIndex` reach `targets`, of one shape: bool."""
    device = gpu.current()
    if device not in index.on_devices:
        index.on_devices[device] = (
            cupy.asarray(index.labels.view(np.uint32)) if len(index) else cupy.empty(0, np.uint32)
        )
    i, j = (cupy.ascontiguousarray(x, np.uint32).ravel() for x in (sources, targets))
    found = cupy.empty(len(i), np.uint8)
    if len(i):
        decide = text.functions()["decide"]
        decide((-(-len(i) // THREADS),), (THREADS,), (index.on_devices[device], i, j, found, np.int64(len(i))))
        left = cupy.flatnonzero(found == OPEN)
        if len(left):
            found[left] = cupy.asarray(index[i[left].get(), j[left].get()].view(np.uint8))
    return found.view(np.bool_).reshape(sources.shape)
